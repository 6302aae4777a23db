/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over real sockets on loopback: client and server in one thread, stepped by the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEPS_MAX 2000
#define GET "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

static struct net_probe probe;
static struct tc_net_limits limits;
static uint16_t port;

static int setup(void **state)
{
    struct tc_error err = {0};
    (void)state;
    limits = net_probe_limits();
    net_probe_init(&probe, &limits, (size_t)8 << 20);
    assert_int_equal(
        tc_net_listen(probe.net, "127.0.0.1:0", &tc_proto_http, &probe.service, NULL, &port, &err),
        TC_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_probe_fini(&probe);
    return 0;
}

static void step(void)
{
    assert_int_not_equal(event_base_loop(tc_net_base(probe.net), EVLOOP_NONBLOCK), -1);
}

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads until `until` was heard, or with NULL until the end; false when the end or an error came
 * first. The text is in *out. */
static bool hear(int fd, char *out, size_t cap, const char *until)
{
    size_t len = 0;
    out[0] = '\0';
    for (int i = 0; i < STEPS_MAX; i++) {
        ssize_t got = recv(fd, out + len, cap - 1 - len, 0);
        if (got > 0) {
            len += (size_t)got;
            out[len] = '\0';
            if (until != NULL && strstr(out, until) != NULL) {
                return true;
            }
        } else if (got == 0) {
            return until == NULL;
        } else if (errno != EAGAIN) {
            return false;
        }
        step();
    }
    return false;
}

static void wait_connections(size_t count)
{
    for (int i = 0; i < STEPS_MAX && tc_net_connections(probe.net) != count; i++) {
        step();
    }
    assert_int_equal(tc_net_connections(probe.net), count);
}

static void a_request_over_a_socket(void **state)
{
    (void)state;
    char text[1024];
    int fd = dial();
    for (int i = 0; i < 3; i++) {
        say(fd, "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
        assert_true(hear(fd, text, sizeof text, "\r\n\r\nhello"));
    }
    assert_int_equal(probe.handled, 3);
    (void)close(fd);
    wait_connections(0);
}

static void a_large_body_there_and_back(void **state)
{
    (void)state;
    size_t len = 1 << 20;
    char *body = malloc(len);
    char *back = malloc(len + 1024);
    assert_true(body != NULL && back != NULL);
    for (size_t i = 0; i < len; i++) {
        body[i] = (char)(i * 17 + i / 255);
    }
    int fd = dial();
    say(fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\nConnection: close\r\n\r\n");
    size_t sent = 0;
    size_t got = 0;
    bool ended = false;
    for (int i = 0; i < STEPS_MAX * 10 && !ended; i++) {
        ssize_t n = sent < len ? send(fd, body + sent, len - sent, MSG_NOSIGNAL) : 0;
        sent += n > 0 ? (size_t)n : 0;
        n = recv(fd, back + got, len + 1024 - got, 0);
        ended = n == 0;
        got += n > 0 ? (size_t)n : 0;
        step();
    }
    assert_true(ended);
    assert_true(got > len);
    assert_memory_equal(back + got - len, body, len);
    (void)close(fd);
    wait_connections(0);
    free(body);
    free(back);
}

static void a_client_that_still_sends_can_read_why_it_is_refused(void **state)
{
    (void)state;
    static char more[1 << 16];
    char text[1024];
    int fd = dial();
    say(fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
    /* As much as the sockets take, without reading: like a client that sends first. */
    size_t sent = 0;
    for (int i = 0; i < 100; i++) {
        ssize_t n = send(fd, more, sizeof more, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        assert_true(n > 0 || errno == EAGAIN);
        step();
    }
    assert_true(sent > sizeof more);
    assert_true(hear(fd, text, sizeof text, NULL)); /* to a clean end, not a reset */
    assert_non_null(strstr(text, "HTTP/1.1 413 "));
    (void)close(fd);
    wait_connections(0);
}

static void half_close_before_the_answer(void **state)
{
    (void)state;
    char text[1024];
    int fd = dial();
    probe.holds = true;
    say(fd, GET);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    for (int i = 0; i < 20; i++) {
        step();
    }
    assert_int_equal(probe.held_count, 1);
    net_probe_answer(&probe);
    assert_true(hear(fd, text, sizeof text, NULL));
    assert_non_null(strstr(text, "HTTP/1.1 200 OK"));
    (void)close(fd);
    wait_connections(0);
}

static void a_reset_while_a_request_is_handled(void **state)
{
    (void)state;
    int fd = dial();
    probe.holds = true;
    say(fd, GET);
    for (int i = 0; i < 20 && probe.held_count == 0; i++) {
        step();
    }
    struct linger now = {.l_onoff = 1};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    (void)close(fd);
    for (int i = 0; i < 20; i++) {
        step();
    }
    net_probe_answer(&probe);
    wait_connections(0);
}

static void a_thousand_connections(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    static int fds[MANY];
    char text[256];
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_cur < 2 * MANY + 64) {
        rlim_t before = files.rlim_cur;
        files.rlim_cur = files.rlim_max < 4096 ? files.rlim_max : 4096;
        if (files.rlim_cur < 2 * MANY + 64 || setrlimit(RLIMIT_NOFILE, &files) != 0) {
            print_message("only %lu files\n", (unsigned long)before);
            skip();
        }
    }
    limits.connections_max = MANY;
    tc_net_limit(probe.net, &limits);
    for (int round = 0; round < 2; round++) { /* the second finds all states there already */
        for (size_t i = 0; i < MANY; i++) {
            fds[i] = dial();
            if (i % 100 == 0) {
                step();
            }
        }
        wait_connections(MANY);
        for (size_t i = 0; i < MANY; i++) {
            say(fds[i], GET);
        }
        for (size_t i = 0; i < MANY; i++) {
            assert_true(hear(fds[i], text, sizeof text, "\r\n\r\n"));
        }
        for (size_t i = 0; i < MANY; i++) {
            (void)close(fds[i]);
        }
        wait_connections(0);
    }
    assert_int_equal(probe.handled, 2 * MANY);
}

/* A connection that has had an answer. */
static int dial_and_get(void)
{
    char text[1024];
    int fd = dial();
    say(fd, GET);
    assert_true(hear(fd, text, sizeof text, "200 OK"));
    return fd;
}

static void one_too_many_is_told_so(void **state)
{
    (void)state;
    char text[1024];
    int fds[4];
    uint64_t refused = tc_counter_value(TC_COUNT_CONN_REFUSED_LIMIT);
    limits.connections_max = 3;
    tc_net_limit(probe.net, &limits);
    for (size_t i = 0; i < 4; i++) {
        fds[i] = i < 3 ? dial_and_get() : dial();
    }
    assert_true(hear(fds[3], text, sizeof text, NULL));
    assert_non_null(strstr(text, "HTTP/1.1 503 "));
    const char *body = strstr(text, "\r\n\r\n");
    const char *length = strstr(text, "Content-Length: ");
    assert_true(body != NULL && length != NULL);
    assert_int_equal(strtol(length + 16, NULL, 10), strlen(body + 4));
    assert_int_equal(tc_counter_value(TC_COUNT_CONN_REFUSED_LIMIT) - refused, 1);
    (void)close(fds[3]);
    assert_int_equal(tc_net_connections(probe.net), 3);
    /* Where one leaves another comes in. */
    (void)close(fds[0]);
    wait_connections(2);
    fds[0] = dial();
    say(fds[0], GET);
    assert_true(hear(fds[0], text, sizeof text, "200 OK"));
    for (size_t i = 0; i < 3; i++) {
        (void)close(fds[i]);
    }
    wait_connections(0);
}

static void assert_closed(int fd)
{
    char text[1024];
    assert_true(hear(fd, text, sizeof text, NULL));
    assert_string_equal(text, "");
    (void)close(fd);
}

static void settle(void)
{
    for (int i = 0; i < 10; i++) {
        step();
    }
}

static void connections_make_room_in_their_order(void **state)
{
    (void)state;
    char text[1024];
    limits.connections_max = 6;
    tc_net_limit(probe.net, &limits);
    int handled = dial();
    probe.holds = true;
    say(handled, GET);
    settle();
    probe.holds = false;
    int idle = dial_and_get();
    int slow = dial();
    say(slow, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc");
    int steady = dial();
    char body[8192] = "";
    say(steady, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    assert_int_equal(write(steady, body, sizeof body), (ssize_t)sizeof body);
    int half = dial();
    say(half, "GET / HT");
    int silent = dial();
    wait_connections(6);
    settle();
    probe.mono_ns += TC_NET_EVICT_NS;
    /* Those that have completed nothing, then who is idle, then who dribbles. */
    int fresh[4];
    fresh[0] = dial_and_get();
    fresh[1] = dial_and_get();
    assert_closed(half);
    assert_closed(silent);
    fresh[2] = dial_and_get();
    assert_closed(idle);
    fresh[3] = dial_and_get();
    assert_closed(slow);
    /* Who has just been served, is served, or sends as one should, stays. */
    int refused = dial();
    assert_true(hear(refused, text, sizeof text, NULL));
    assert_non_null(strstr(text, "HTTP/1.1 503 "));
    (void)close(refused);
    net_probe_answer(&probe);
    assert_true(hear(handled, text, sizeof text, "200 OK"));
    (void)close(handled);
    (void)close(steady);
    for (size_t i = 0; i < 4; i++) {
        (void)close(fresh[i]);
    }
    wait_connections(0);
}

static void silence_is_replaced_at_once(void **state)
{
    (void)state;
    int silent[64];
    limits.connections_max = 3;
    tc_net_limit(probe.net, &limits);
    for (size_t i = 0; i < 64; i++) { /* no time passes */
        silent[i] = dial();
        settle();
    }
    int served = dial_and_get();
    for (size_t i = 0; i < 64; i++) {
        (void)close(silent[i]);
    }
    (void)close(served);
    wait_connections(0);
}

static void a_full_listener_leaves_the_others_reachable(void **state)
{
    (void)state;
    struct tc_error err = {0};
    char text[1024];
    uint16_t first = port;
    uint16_t second = 0;
    int fds[40];
    size_t count = 0;
    limits.connections_max = 32;
    tc_net_limit(probe.net, &limits);
    assert_int_equal(tc_net_listen(probe.net, "127.0.0.1:0", &tc_proto_http, &probe.service, NULL,
                                   &second, &err),
                     TC_OK);
    for (; count < 31; count++) { /* of 32, two are the other one's */
        fds[count] = count < 30 ? dial_and_get() : dial();
    }
    assert_true(hear(fds[30], text, sizeof text, NULL));
    assert_non_null(strstr(text, "HTTP/1.1 503 "));
    assert_int_equal(tc_net_connections(probe.net), 30);
    port = second;
    for (; count < 33; count++) {
        fds[count] = dial();
        say(fds[count], GET);
        assert_true(hear(fds[count], text, sizeof text, "200 OK"));
    }
    assert_int_equal(tc_net_connections(probe.net), 32);
    fds[count++] = dial();
    assert_true(hear(fds[33], text, sizeof text, NULL));
    assert_non_null(strstr(text, "HTTP/1.1 503 "));
    /* Who makes room is never of the other one's share. */
    probe.mono_ns += TC_SECOND * 2;
    port = first;
    for (size_t i = 0; i < 3; i++) {
        fds[count] = dial();
        say(fds[count], GET);
        assert_true(hear(fds[count++], text, sizeof text, "200 OK"));
    }
    for (size_t i = 31; i < 33; i++) {
        say(fds[i], GET);
        assert_true(hear(fds[i], text, sizeof text, "200 OK"));
    }
    for (size_t i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
    wait_connections(0);
}

/* A listener with connections and memory of its own. */
static void open_apart(const struct tc_service *service, struct tc_pool *pool, uint16_t *out_port)
{
    struct tc_error err = {0};
    assert_int_equal(tc_net_listen_apart(probe.net, "127.0.0.1:0", &tc_proto_http, service, NULL,
                                         pool, out_port, &err),
                     TC_OK);
}

static void a_listener_apart_has_room_of_its_own(void **state)
{
    (void)state;
    char text[16384];
    char head[4096];
    struct tc_pool *pool = tc_pool_create((size_t)1 << 20, (size_t)1 << 20);
    struct tc_buffer *taken = NULL;
    uint16_t first = port;
    uint16_t apart = 0;
    int fds[4];
    limits.connections_max = 2;
    limits.own_connections_max = 2;
    tc_net_limit(probe.net, &limits);
    open_apart(&probe.service, pool, &apart);
    fds[0] = dial_and_get();
    fds[1] = dial_and_get();
    /* The others' memory is gone too: a long head needs some. */
    for (struct tc_buffer *b = tc_pool_take(probe.pool, 4096); b != NULL;
         b = tc_pool_take(probe.pool, 4096)) {
        b->next = taken;
        taken = b;
    }
    (void)snprintf(head, sizeof head, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: %02000d\r\n\r\n",
                   0);
    say(fds[0], head);
    assert_true(hear(fds[0], text, sizeof text, NULL));
    assert_non_null(strstr(text, "HTTP/1.1 503 "));
    port = apart;
    for (size_t i = 2; i < 4; i++) {
        fds[i] = dial();
        say(fds[i], head);
        assert_true(hear(fds[i], text, sizeof text, "200 OK"));
    }
    /* Its own are counted apart: it is full, the others are not made to leave, nor it by them. */
    int refused = dial();
    assert_true(hear(refused, text, sizeof text, NULL));
    assert_non_null(strstr(text, "HTTP/1.1 503 "));
    (void)close(refused);
    while (taken != NULL) {
        struct tc_buffer *next = taken->next;
        tc_buffer_give(taken);
        taken = next;
    }
    port = first;
    (void)close(fds[0]);
    wait_connections(3);
    fds[0] = dial_and_get();
    probe.mono_ns += TC_NET_EVICT_NS;
    int evicts = dial_and_get();
    (void)close(evicts);
    for (size_t i = 2; i < 4; i++) {
        say(fds[i], GET);
        assert_true(hear(fds[i], text, sizeof text, "200 OK"));
    }
    for (size_t i = 0; i < 4; i++) {
        (void)close(fds[i]);
    }
    wait_connections(0);
    tc_net_destroy(probe.net);
    probe.net = NULL;
    tc_pool_destroy(pool);
}

/* How much the others were served when the listener apart was. */
static size_t handled_before;

static void answer_and_note(void *context, struct tc_request *r)
{
    (void)context;
    handled_before = probe.handled;
    tc_request_respond(r, &(struct tc_response){.answer = TC_ANSWER_OK});
}

static void pipelines_of_others_do_not_hold_up_a_listener_apart(void **state)
{
    (void)state;
    enum { MANY = 100, EACH = 1000 };
    struct tc_pool *pool = tc_pool_create((size_t)1 << 20, (size_t)1 << 20);
    static char pipeline[EACH * (sizeof GET - 1) + 1];
    struct tc_service service = {.handle = answer_and_note};
    char text[1024];
    uint16_t apart = 0;
    int fds[MANY];
    limits.connections_max = MANY + 8;
    limits.own_connections_max = 2;
    tc_net_limit(probe.net, &limits);
    open_apart(&service, pool, &apart);
    for (size_t i = 0; i < EACH; i++) {
        memcpy(pipeline + i * (sizeof GET - 1), GET, sizeof GET);
    }
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = dial();
    }
    wait_connections(MANY);
    for (size_t i = 0; i < MANY; i++) {
        say(fds[i], pipeline);
    }
    port = apart;
    int fd = dial();
    say(fd, GET);
    assert_true(hear(fd, text, sizeof text, "200 OK"));
    /* Of a hundred thousand that wait, only a few turns' worth came before it. */
    assert_true(handled_before < (size_t)MANY * EACH / 2);
    (void)close(fd);
    for (size_t i = 0; i < MANY; i++) {
        (void)close(fds[i]);
    }
    wait_connections(0);
    tc_net_destroy(probe.net);
    probe.net = NULL;
    tc_pool_destroy(pool);
}

static void without_files_the_listener_rests(void **state)
{
    (void)state;
    char text[1024];
    struct rlimit before;
    uint64_t refused = tc_counter_value(TC_COUNT_CONN_REFUSED_RESOURCES);
    int fd = dial();
    int lowest = dup(fd);
    assert_true(lowest >= 0);
    (void)close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 50; i++) {
        step();
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(tc_net_connections(probe.net), 0);
    /* Tried once, and not again before its time. */
    assert_int_equal(tc_counter_value(TC_COUNT_CONN_REFUSED_RESOURCES) - refused, 1);
    for (int i = 0; i < 50; i++) {
        step();
    }
    assert_int_equal(tc_net_connections(probe.net), 0);
    net_probe_wait(&probe, TC_NET_ACCEPT_REST_NS);
    say(fd, GET);
    assert_true(hear(fd, text, sizeof text, "200 OK"));
    (void)close(fd);
    wait_connections(0);
}

static void addresses_that_cannot_be(void **state)
{
    (void)state;
    static const char *const bad[] = {"",      ":",          "127.0.0.1",   "4318",
                                      ":4318", "127.0.0.1:", "::1:4318",    "[::1]",
                                      "[]:80", "host:port",  "127.0.0.1:x", "192.0.2.1:0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tc_error err = {0};
        tc_status status =
            tc_net_listen(probe.net, bad[i], &tc_proto_http, &probe.service, NULL, NULL, &err);
        assert_int_not_equal(status, TC_OK);
        assert_non_null(strstr(err.message, bad[i]));
        assert_true(strlen(err.message) > 20);
    }
    char taken[32];
    struct tc_error err = {0};
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%u", port);
    assert_int_equal(
        tc_net_listen(probe.net, taken, &tc_proto_http, &probe.service, NULL, NULL, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "stop what listens there"));
}

static void listeners_have_a_number(void **state)
{
    (void)state;
    struct tc_error err = {0};
    tc_status status = TC_OK;
    for (int i = 0; i < TC_NET_LISTENERS_MAX && status == TC_OK; i++) {
        status = tc_net_listen(probe.net, "127.0.0.1:0", &tc_proto_http, &probe.service, NULL, NULL,
                               &err);
    }
    assert_int_equal(status, TC_E_LIMIT);
}

static void after_the_end_nobody_is_let_in(void **state)
{
    (void)state;
    char text[256];
    int fd = dial();
    wait_connections(1);
    tc_net_shutdown(probe.net);
    wait_connections(0);
    assert_true(hear(fd, text, sizeof text, NULL));
    (void)close(fd);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), -1);
    (void)close(fd);
}

/* The loop's own timer: no test waits for a time, but for what happens at it. */
static void deadlines_fire_by_themselves(void **state)
{
    (void)state;
    struct tc_net_limits quick = limits;
    struct tc_error err = {0};
    char text[64];
    quick.idle_timeout_ns = 1;
    struct tc_net *real = tc_net_create(&quick, probe.pool);
    assert_non_null(real);
    assert_int_equal(
        tc_net_listen(real, "127.0.0.1:0", &tc_proto_http, &probe.service, NULL, &port, &err),
        TC_OK);
    int fd = dial();
    for (int i = 0; i < STEPS_MAX && (i == 0 || tc_net_connections(real) > 0); i++) {
        assert_int_not_equal(event_base_loop(tc_net_base(real), EVLOOP_ONCE), -1);
    }
    assert_int_equal(tc_net_connections(real), 0);
    assert_int_equal(recv(fd, text, sizeof text, 0), 0);
    (void)close(fd);
    tc_net_destroy(real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_over_a_socket, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_body_there_and_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_that_still_sends_can_read_why_it_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(half_close_before_the_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reset_while_a_request_is_handled, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thousand_connections, setup, teardown),
        cmocka_unit_test_setup_teardown(one_too_many_is_told_so, setup, teardown),
        cmocka_unit_test_setup_teardown(connections_make_room_in_their_order, setup, teardown),
        cmocka_unit_test_setup_teardown(silence_is_replaced_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_listener_apart_has_room_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(pipelines_of_others_do_not_hold_up_a_listener_apart, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_full_listener_leaves_the_others_reachable, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_files_the_listener_rests, setup, teardown),
        cmocka_unit_test_setup_teardown(addresses_that_cannot_be, setup, teardown),
        cmocka_unit_test_setup_teardown(listeners_have_a_number, setup, teardown),
        cmocka_unit_test_setup_teardown(after_the_end_nobody_is_let_in, setup, teardown),
        cmocka_unit_test_setup_teardown(deadlines_fire_by_themselves, setup, teardown),
    };
    return cmocka_run_group_tests_name("server_net", tests, NULL, NULL);
}
