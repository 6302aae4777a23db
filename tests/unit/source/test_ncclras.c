/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/ncclras/priv.h"

#include "unit/source/source_testing.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define WELL                                                                      \
    "NCCL version 2.24.3 compiled with CUDA 12.6\n\nJob summary\n===========\n\n" \
    "      2          2            1          4        4\n\n"                     \
    "Communicators... (0.00s)\n=============\n\n"                                 \
    "    0         1         2         2         4         4   RUNNING      OK\n\n"
#define NONE "Errors\n======\n\nWarnings\n========\n\n"
#define FAULT                                                \
    "Errors\n======\n\n#0-0 (27a079b828ff1a75) INCOMPLETE\n" \
    "  Missing communicator data from 1 job process\n\nWarnings\n========\n\n"

static struct tc_error err;

/* ---- what is written in the configuration ---- */

static void targets_are_read(void **state)
{
    static const struct {
        const char *line;
        const char *host;
        const char *port;
        const char *node;
        const char *job;
    } CASES[] = {
        {"gpu-07:28028", "gpu-07", "28028", "gpu-07", ""},
        {" 127.0.0.1:1  job=7 ", "127.0.0.1", "1", "here", "7"},
        {"[::1]:65535", "::1", "65535", "here", ""},
        {"[fd00::7]:9 node=n job=j", "fd00::7", "9", "n", "j"},
    };
    struct tc__ras_address at;
    (void)state;
    for (size_t i = 0; i < TC_COUNT(CASES); i++) {
        assert_int_equal(
            tc__ras_address_read(tc_slice_cstr(CASES[i].line), TC_LIT("here"), &at, &err), TC_OK);
        assert_string_equal(at.host, CASES[i].host);
        assert_string_equal(at.port, CASES[i].port);
        assert_string_equal(at.node, CASES[i].node);
        assert_string_equal(at.job, CASES[i].job);
    }
}

static void what_is_no_target_is_refused(void **state)
{
    static const char *const CASES[] = {
        "gpu-07",    ":28028",   "gpu-07:", "gpu-07:0",     "h:65536", "h:1x",    "fd00::7:9",
        "h:1 node=", "h:1 rank", "h:1 x=",  "h:1 node=a b", "[]:1",    "h\x01:1", "h:1 node=\x7f"};
    static char line[TC__RAS_HOST_MAX + 8];
    struct tc__ras_address at;
    void *source = NULL;
    (void)state;
    for (size_t i = 0; i < TC_COUNT(CASES); i++) {
        assert_int_equal(tc__ras_address_read(tc_slice_cstr(CASES[i]), TC_EMPTY, &at, &err),
                         TC_E_USAGE);
    }
    memset(line, 'h', sizeof line);
    memcpy(line + TC__RAS_HOST_MAX - 1, ":1", 3);
    assert_int_equal(tc__ras_address_read(tc_slice_cstr(line), TC_EMPTY, &at, &err), TC_OK);
    memcpy(line + TC__RAS_HOST_MAX - 1, "h:1", 4);
    assert_int_equal(tc__ras_address_read(tc_slice_cstr(line), TC_EMPTY, &at, &err), TC_E_USAGE);
    char text[(TC_NCCLRAS_TARGETS_MAX + 1) * 8] = "";
    for (size_t i = 0; i < TC_NCCLRAS_TARGETS_MAX; i++) {
        memcpy(text + 4 * i, "h:1\n", 5);
    }
    struct tc_ncclras_config config = {.targets = tc_slice_cstr(text)};
    assert_int_equal(tc_ncclras_create(&config, &source, &err), TC_OK);
    tc_source_ncclras.destroy(source);
    memcpy(text + strlen(text), "h:1\n", 5);
    config.targets = tc_slice_cstr(text);
    assert_int_equal(tc_ncclras_create(&config, &source, &err), TC_E_USAGE);
}

static void reports_differ_in_substance(void **state)
{
    struct tc__ras_report a;
    struct tc__ras_report b;
    (void)state;
    assert_true(tc__ras_report_read(TC_LIT(WELL NONE), &a));
    assert_true(a.is_well);
    char slow[] = WELL NONE;
    memcpy(strstr(slow, "(0.00s)"), "(1.25s)", 7);
    assert_true(tc__ras_report_read(tc_slice_cstr(slow), &b));
    assert_true(a.hash == b.hash && b.is_well);
    memcpy(strstr(slow, "RUNNING"), "FINALIZ", 7);
    assert_true(tc__ras_report_read(tc_slice_cstr(slow), &b));
    assert_true(a.hash != b.hash);
    assert_true(tc__ras_report_read(TC_LIT(WELL FAULT), &b));
    assert_true(!b.is_well && a.hash != b.hash);
    assert_true(tc__ras_report_read(TC_LIT(WELL), &b));
    assert_true(b.is_well);
    assert_false(tc__ras_report_read(TC_LIT("HTTP/1.1 400 Bad Request\n"), &b));
    assert_false(tc__ras_report_read(TC_EMPTY, &b));
}

/* ---- a service that says what the test wants ---- */

static struct world *w;
static int listener = -1;
static pthread_t server;
static const char *_Atomic hello;
static const char *_Atomic report;
static atomic_int asked;
static atomic_bool is_endless;
static bool server_is_joined;

static bool expect(int fd, const char *line, const char *answer)
{
    char got[64] = "";
    size_t used = 0;
    while (used < sizeof got - 1 && strchr(got, '\n') == NULL) {
        ssize_t n = recv(fd, got + used, sizeof got - 1 - used, 0);
        if (n <= 0) {
            return false;
        }
        used += (size_t)n;
    }
    return strcmp(got, line) == 0 &&
           send(fd, answer, strlen(answer), MSG_NOSIGNAL) == (ssize_t)strlen(answer);
}

static void *serve(void *context)
{
    (void)context;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        if (expect(fd, "CLIENT PROTOCOL 2\n", hello) && expect(fd, "TIMEOUT 5\n", "OK\n") &&
            expect(fd, "VERBOSE STATUS\n", report)) {
            while (is_endless && send(fd, WELL, strlen(WELL), MSG_NOSIGNAL) > 0) {
            }
        }
        asked++;
        (void)close(fd);
    }
}

static int begin(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    char target[64];
    void *source = NULL;
    (void)state;
    hello = "SERVER PROTOCOL 2\n";
    report = WELL NONE;
    asked = 0;
    is_endless = server_is_joined = false;
    w = world_create();
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    (void)snprintf(target, sizeof target, "127.0.0.1:%u job=7", ntohs(at.sin_port));
    struct tc_ncclras_config config = {.targets = tc_slice_cstr(target),
                                       .node = TC_LIT("here"),
                                       .interval_ns = TC_SECOND / 50,
                                       .timeout_ns = 10 * TC_SECOND};
    assert_int_equal(tc_ncclras_create(&config, &source, &err), TC_OK);
    world_start(w, &tc_source_ncclras, source);
    return 0;
}

static void serve_now(void)
{
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
}

static int end(void **state)
{
    (void)state;
    if (w->port != NULL) {
        world_stop(w);
    }
    (void)shutdown(listener, SHUT_RDWR);
    if (!server_is_joined) {
        assert_int_equal(pthread_join(server, NULL), 0);
    }
    (void)close(listener);
    world_destroy(w);
    return 0;
}

static void await_asked(int more)
{
    int until = asked + more;
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    while (asked < until) {
        assert_true(tc_mono_ns() < until_ns);
        (void)usleep(2000);
    }
}

static void a_job_that_is_well_is_stored_once_and_a_fault_each_time(void **state)
{
    (void)state;
    (void)await_health(w, TC_SOURCE_OK); /* nobody listens: there is no job */
    assert_int_equal(w->chunks, 0);
    serve_now();
    await_text(w, WELL NONE);
    await_asked(5);
    assert_true(has_text(w, WELL NONE));
    report = WELL FAULT;
    await_asked(5);
    world_stop(w);
    assert_true(w->chunks >= 4);
    assert_int_equal(w->health.state, TC_SOURCE_OK);
    char note[128];
    int n = snprintf(note, sizeof note, "|here|7|ncclras|\n");
    assert_true(tc_slice_contains(tc_grow_slice(&w->notes), tc_slice_make(note, (size_t)n)));
}

static void what_is_no_service_is_failing(void **state)
{
    (void)state;
    hello = "HTTP/1.1 400 Bad Request\n";
    serve_now();
    struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "something else"));
    hello = "server protocol 3\n"; /* of a later version: asked all the same */
    (void)await_health(w, TC_SOURCE_OK);
    report = "garbage\n";
    h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "no report"));
    is_endless = true;
    await_asked(3);
    await_asked(1);
    tc_port_health(w->port, &h);
    assert_non_null(strstr(h.error, "more than 1 MiB"));
    is_endless = false;
    report = WELL NONE;
    (void)await_health(w, TC_SOURCE_OK);
    world_stop(w);
    assert_int_equal(w->chunks, 1);
}

/* A report that ends with empty lines, `len` bytes in all. */
static const char *long_report(size_t len)
{
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, '\n', len);
    memcpy(text, WELL, strlen(WELL));
    text[len] = '\0';
    return text;
}

static void as_long_as_a_report_may_be(void **state)
{
    const char *most = long_report(TC__RAS_ANSWER_MAX);
    const char *more = long_report(TC__RAS_ANSWER_MAX + 1);
    (void)state;
    report = most;
    serve_now();
    (void)await_health(w, TC_SOURCE_OK);
    await_asked(3);
    assert_int_equal(w->chunks, 1);
    report = more;
    struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "more than 1 MiB"));
    world_stop(w);
    (void)shutdown(listener, SHUT_RDWR);
    assert_int_equal(pthread_join(server, NULL), 0);
    server_is_joined = true;
    free((void *)(uintptr_t)most);
    free((void *)(uintptr_t)more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_read),
        cmocka_unit_test(what_is_no_target_is_refused),
        cmocka_unit_test(reports_differ_in_substance),
        cmocka_unit_test_setup_teardown(a_job_that_is_well_is_stored_once_and_a_fault_each_time,
                                        begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_service_is_failing, begin, end),
        cmocka_unit_test_setup_teardown(as_long_as_a_report_may_be, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
