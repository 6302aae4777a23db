/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/scrape/priv.h"
#include "support/http_peer.h"

#include "unit/source/source_testing.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TEXT \
    "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\"} 41\n"
#define REPLY "HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\n" TEXT

static struct world *w;
static struct peer *peer;
static struct tc_error err;

static int begin(void **state)
{
    (void)state;
    assert_int_equal(strlen(TEXT), 80);
    w = world_create();
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (w->port != NULL) {
        world_stop(w);
    }
    if (peer != NULL) {
        peer_stop(peer);
        peer = NULL;
    }
    world_destroy(w);
    return 0;
}

/* ---- what is written in the configuration ---- */

static void targets_are_read(void **state)
{
    static const struct {
        const char *line;
        const char *name;
        const char *base;
        const char *path;
        const char *node;
        const char *token_file;
    } CASES[] = {
        {"http://gpu-07:9400/metrics", "http://gpu-07:9400/metrics", "http://gpu-07:9400",
         "/metrics", "gpu-07", ""},
        {"  dcgm=https://gpu-07.example.com/a/b?x=1&y=2 ", "dcgm", "https://gpu-07.example.com",
         "/a/b?x=1&y=2", "gpu-07.example.com", ""},
        {"http://127.0.0.1:9400", "http://127.0.0.1:9400", "http://127.0.0.1:9400", "/metrics",
         "here", ""},
        {"http://LocalHost:1/m", "http://LocalHost:1/m", "http://LocalHost:1", "/m", "here", ""},
        {"http://[::1]:9/m", "http://[::1]:9/m", "http://[::1]:9", "/m", "here", ""},
        {"http://[fd00::7]:9/m", "http://[fd00::7]:9/m", "http://[fd00::7]:9", "/m", "fd00::7", ""},
        {"http://h?q=1", "http://h?q=1", "http://h", "/?q=1", "h", ""},
        {"x=http://127.1.2.3/m  node=gpu-9 token_file=/run/t", "x", "http://127.1.2.3", "/m",
         "gpu-9", "/run/t"},
    };
    struct tc__target_address at;
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        assert_int_equal(tc__target_read(tc_slice_cstr(CASES[i].line), TC_LIT("here"), &at, &err),
                         TC_OK);
        assert_string_equal(at.name, CASES[i].name);
        assert_string_equal(at.base, CASES[i].base);
        assert_string_equal(at.path, CASES[i].path);
        assert_string_equal(at.node, CASES[i].node);
        assert_string_equal(at.token_file, CASES[i].token_file);
    }
}

static void what_is_no_target_is_refused(void **state)
{
    static const char *const CASES[] = {
        "gpu-07:9400/metrics",         "ftp://gpu-07/metrics",        "a b=http://gpu-07/metrics",
        "=http://gpu-07/metrics",      "a\"b=http://gpu-07/metrics",  "http://gpu-07/metrics#part",
        "http://gpu-07/metrics job=x", "http://gpu-07/metrics node=", "http://gpu-07/metrics node",
    };
    struct tc__target_address at;
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        assert_int_equal(tc__target_read(tc_slice_cstr(CASES[i]), TC_EMPTY, &at, &err), TC_E_USAGE);
    }
}

/* An address of `len` bytes in all. */
static struct tc_slice long_address(char *out, const char *begin, size_t len)
{
    size_t used = strlen(begin);
    memcpy(out, begin, used);
    memset(out + used, 'a', len - used);
    return tc_slice_make(out, len);
}

static void lengths_have_bounds(void **state)
{
    static char line[2048];
    struct tc__target_address at;
    (void)state;
    struct tc_slice text = long_address(line, "http://h/", TC__TARGET_NAME_MAX - 1);
    assert_int_equal(tc__target_read(text, TC_EMPTY, &at, &err), TC_OK);
    text = long_address(line, "http://h/", TC__TARGET_NAME_MAX);
    assert_int_equal(tc__target_read(text, TC_EMPTY, &at, &err), TC_E_USAGE);
    text = long_address(line, "n=http://h/", TC__TARGET_URL_MAX - 1 + 2);
    assert_int_equal(tc__target_read(text, TC_EMPTY, &at, &err), TC_OK);
    text = long_address(line, "n=http://h/", TC__TARGET_URL_MAX + 2);
    assert_int_equal(tc__target_read(text, TC_EMPTY, &at, &err), TC_E_USAGE);
    text = long_address(line, "n=http://", 9 + TC__TARGET_NODE_MAX - 1);
    assert_int_equal(tc__target_read(text, TC_EMPTY, &at, &err), TC_OK);
    text = long_address(line, "n=http://", 9 + TC__TARGET_NODE_MAX);
    assert_int_equal(tc__target_read(text, TC_EMPTY, &at, &err), TC_E_USAGE);
    text = long_address(line, "n=http://h/ token_file=", 23 + TC__TARGET_URL_MAX);
    assert_int_equal(tc__target_read(text, TC_EMPTY, &at, &err), TC_E_USAGE);
}

static tc_status create(const char *targets, void **out)
{
    struct tc_scrape_config config = {.targets = tc_slice_cstr(targets),
                                      .node = TC_LIT("gpu-07"),
                                      .interval_ns = TC_SECOND / 20,
                                      .timeout_ns = 10 * TC_SECOND};
    return tc_scrape_create(&config, out, &err);
}

static void as_many_as_there_may_be(void **state)
{
    char text[TC_SCRAPE_TARGETS_MAX * 24 + 64] = "";
    size_t used = 0;
    void *scrape = NULL;
    (void)state;
    for (int i = 0; i < TC_SCRAPE_TARGETS_MAX; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "http://h%d:1/m\n", i);
    }
    assert_int_equal(create(text, &scrape), TC_OK);
    tc_source_scrape.destroy(scrape);
    (void)snprintf(text + used, sizeof text - used, "http://more:1/m\n");
    assert_int_equal(create(text, &scrape), TC_E_USAGE);
    assert_int_equal(create("a=http://h/m\na=http://h/n\n", &scrape), TC_E_USAGE);
    assert_int_equal(create("http://h:99999/m\n", &scrape), TC_E_USAGE);
    assert_int_equal(create("http://me:secret@h/m\n", &scrape), TC_E_USAGE);
    tc_source_scrape.destroy(NULL);
}

/* ---- when ---- */

static void turns_are_spread_and_kept(void **state)
{
    (void)state;
    /* Four targets, an interval of 100, from 1000 on: 1000, 1025, 1050, 1075. */
    for (size_t i = 0; i < 4; i++) {
        int64_t first = 1000 + 25 * (int64_t)i;
        assert_int_equal(tc__target_turn(1000, 100, i, 4, 999), first);
        assert_int_equal(tc__target_turn(1000, 100, i, 4, first), first + 100);
        assert_int_equal(tc__target_turn(1000, 100, i, 4, first + 99), first + 100);
        /* It took two and a half intervals: two turns are left out. */
        assert_int_equal(tc__target_turn(1000, 100, i, 4, first + 250), first + 300);
    }
    assert_int_equal(tc__target_turn(1000, 100, 63, 64, 999), 1063);
}

/* ---- what an answer is ---- */

static void samples_are_counted(void **state)
{
    (void)state;
    assert_int_equal(tc__answer_samples(TC_EMPTY), 0);
    assert_int_equal(tc__answer_samples(TC_LIT("# HELP a b\n\n  \r\n# EOF")), 0);
    assert_int_equal(tc__answer_samples(TC_LIT("# TYPE a gauge\na 1\na{b=\"c\"} 2")), 2);
}

static void long_answers_are_cut_between_metrics(void **state)
{
    static char text[TC_SOURCE_CHUNK_MAX * 2];
    struct tc_slice all = tc_slice_make(text, sizeof text);
    (void)state;
    memset(text, 'a', sizeof text);
    /* No line ends at all, then one line end, then metrics. */
    assert_int_equal(tc__answer_cut(tc_slice_head(all, TC_SOURCE_CHUNK_MAX)), TC_SOURCE_CHUNK_MAX);
    assert_int_equal(tc__answer_cut(tc_slice_head(all, TC_SOURCE_CHUNK_MAX + 1)),
                     TC_SOURCE_CHUNK_MAX);
    text[1000] = '\n';
    assert_int_equal(tc__answer_cut(all), 1001);
    size_t metric = TC_SOURCE_CHUNK_MAX - 5000;
    memcpy(text + metric - 1, "\n# TYPE b c\n# HELP b d\nb 1\nb 2\n", 31);
    assert_int_equal(tc__answer_cut(all), metric);
    /* One metric alone fills it: between its samples then. */
    memcpy(text + metric - 1, "\nX TYPE b c\nX", 13);
    assert_int_equal(tc__answer_cut(all), metric + 30);
    memcpy(text, "\n# TYPE b c\nx", 13);
    assert_int_equal(tc__answer_cut(all), metric + 30);
}

static unsigned told_gone;
static unsigned told_back;

static void tell(void *context, const char *gpu, bool is_gone)
{
    assert_string_equal(gpu, context);
    told_gone += is_gone;
    told_back += !is_gone;
}

static void a_gpu_that_is_missing_twice_is_told(void **state)
{
    static struct tc__gpus gpus;
    struct tc_slice both = TC_LIT("DCGM_X{gpu=\"0\",UUID=\"GPU-1\"} 1\n"
                                  "DCGM_X{gpu=\"1\", UUID=\"GPU-2\"} 1\n"
                                  "nvidia_smi_x{uuid=\"GPU-1\"} 1\n"
                                  "node_btrfs_info{uuid=\"GPU-9\"} 1\n"
                                  "DCGM_X{MY_UUID=\"GPU-8\"} 1\n# DCGM_X{UUID=\"GPU-7\"}\n");
    struct tc_slice one = TC_LIT("dcgm_x{UUID=\"GPU-1\"} 1");
    char missing[] = "GPU-2";
    (void)state;
    gpus = (struct tc__gpus){0};
    told_gone = told_back = 0;
    tc__gpus_look(&gpus, both, tell, missing);
    assert_int_equal(gpus.count, 2);
    tc__gpus_look(&gpus, one, tell, missing);
    tc__gpus_look(&gpus, both, tell, missing); /* it was there again in time */
    tc__gpus_look(&gpus, one, tell, missing);
    assert_int_equal(told_gone, 0);
    tc__gpus_look(&gpus, one, tell, missing);
    tc__gpus_look(&gpus, one, tell, missing);
    assert_int_equal(told_gone, 1);
    assert_int_equal(told_back, 0);
    tc__gpus_look(&gpus, both, tell, missing);
    assert_int_equal(told_back, 1);
    assert_int_equal(gpus.gone_total, 1);
}

static void more_gpus_than_a_host_has_are_left_out(void **state)
{
    static struct tc__gpus gpus;
    static char text[TC__TARGET_GPUS_MAX * 40 + 200];
    size_t used = 0;
    (void)state;
    gpus = (struct tc__gpus){0};
    for (int i = 0; i < TC__TARGET_GPUS_MAX + 2; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "DCGM_X{UUID=\"GPU-%d\"} 1\n", i);
    }
    char none[] = "";
    tc__gpus_look(&gpus, tc_slice_make(text, used), tell, none);
    assert_int_equal(gpus.count, TC__TARGET_GPUS_MAX);
}

/* ---- against a server ---- */

static void start_on(const struct peer_step *steps, size_t count, const char *words, bool is_guess)
{
    char target[256];
    void *scrape = NULL;
    peer = peer_start(steps, count);
    (void)snprintf(target, sizeof target, "t=http://127.0.0.1:%u/metrics %s", peer_port(peer),
                   words);
    struct tc_scrape_config config = {.targets = tc_slice_cstr(target),
                                      .node = TC_LIT("gpu-07"),
                                      .interval_ns = TC_SECOND / 4, /* and so the timeout */
                                      .timeout_ns = 10 * TC_SECOND,
                                      .is_guess = is_guess};
    assert_int_equal(tc_scrape_create(&config, &scrape, &err), TC_OK);
    world_start(w, &tc_source_scrape, scrape);
}

static void answers_are_put_with_what_is_known(void **state)
{
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = REPLY},
                                             {.act = PEER_SILENT}};
    char note[128];
    (void)state;
    append(w, "token", "s3cret\n");
    char words[256];
    (void)snprintf(words, sizeof words, "token_file=%s", world_path(w, "token"));
    start_on(STEPS, COUNT(STEPS), words, false);
    await_text(w, TEXT);
    (void)await_health(w, TC_SOURCE_OK);
    world_stop(w); /* while the next answer does not come */
    assert_int_equal(w->health.records, 1);
    assert_int_equal(w->health.streams, 1);
    (void)snprintf(note, sizeof note, "http://127.0.0.1:%u/metrics|gpu-07||prometheus|\n",
                   peer_port(peer));
    assert_true(tc_slice_eq(tc_grow_slice(&w->notes), tc_slice_cstr(note)));
    char *request = peer_request(peer, 0);
    assert_non_null(strstr(request, "GET /metrics HTTP/1.1\r\n"));
    assert_non_null(strstr(request, "\r\nAuthorization: Bearer s3cret\r\n"));
    assert_non_null(strstr(request, "\r\nAccept-Encoding: gzip\r\n"));
    free(request);
}

/* What the target's failure is said to be, after three tries, nothing having been put. */
static void assert_fails(const struct peer_step *steps, const char *words, const char *part)
{
    start_on(steps, 1, words, false);
    struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
    if (strstr(h.error, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", h.error, part);
    }
    world_stop(w);
    assert_int_equal(w->chunks, 0);
    peer_stop(peer);
    peer = NULL;
}

static void what_is_no_answer_is_a_failure(void **state)
{
    static const struct {
        struct peer_step step;
        const char *part;
    } CASES[] = {
        {{.act = PEER_REPLY,
          .text = "HTTP/1.1 302 Found\r\nLocation: http://h/\r\nContent-Length: 0\r\n\r\n"},
         "redirects are not followed"},
        {{.act = PEER_REPLY, .text = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"}, "404"},
        {{.act = PEER_REPLY, .text = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"},
         "token_file="},
        {{.act = PEER_REPLY,
          .text = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n<html><body>no</body>"},
         "neither Prometheus text nor OpenMetrics"},
        {{.act = PEER_REPLY_CLOSE, .text = "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" TEXT},
         ""},
        {{.act = PEER_REPLY,
          .text = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                  "Content-Length: 80\r\n\r\n" TEXT},
         ""},
        {{.act = PEER_CLOSE}, ""},
        {{.act = PEER_RESET}, ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        assert_fails(&CASES[i].step, "", CASES[i].part);
    }
    static const struct peer_step GOOD = {.act = PEER_REPLY, .text = REPLY};
    assert_fails(&GOOD, "token_file=/no/such/file", "/no/such/file");
    assert_fails(&GOOD, "token_file=/dev/null", "holds no bearer token");
}

static void an_answer_that_is_too_long_is_a_failure(void **state)
{
    static char text[TC_HTTP_REPLY_MAX + 128];
    int head = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
                        TC_HTTP_REPLY_MAX);
    (void)state;
    for (size_t i = (size_t)head; i < (size_t)head + TC_HTTP_REPLY_MAX; i++) {
        text[i] = "a 1\n"[(i - (size_t)head) % 4];
    }
    struct peer_step step = {
        .act = PEER_REPLY, .text = text, .len = (size_t)head + TC_HTTP_REPLY_MAX};
    assert_fails(&step, "", "too long");
}

static void a_target_that_comes_back_is_well_again(void **state)
{
    static const struct peer_step BAD = {.act = PEER_REPLY,
                                         .text = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"};
    static const struct peer_step GOOD = {.act = PEER_REPLY, .text = REPLY};
    const struct peer_step steps[] = {BAD, BAD, GOOD, BAD, BAD, BAD, GOOD, {.act = PEER_SILENT}};
    (void)state;
    start_on(steps, COUNT(steps), "", false);
    /* Two failures in a row are none yet; three are. */
    assert_true(peer_wait(peer, 7));
    await_text(w, TEXT TEXT);
    struct tc_source_health h = await_health(w, TC_SOURCE_OK);
    assert_int_equal(h.errors, 1);
    assert_string_equal(h.error, "");
}

static void an_empty_answer_is_one(void **state)
{
    static const struct peer_step STEP = {.act = PEER_REPLY,
                                          .text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
    (void)state;
    start_on(&STEP, 1, "", false);
    (void)await_health(w, TC_SOURCE_OK);
    world_stop(w);
    assert_int_equal(w->chunks, 0);
}

static void a_wrong_guess_is_dropped_without_noise(void **state)
{
    static const struct peer_step STEP = {.act = PEER_CLOSE};
    char page[4096];
    struct tc_buf b = tc_buf_make(page, sizeof page);
    (void)state;
    start_on(&STEP, 1, "", true);
    struct tc_source_health h = await_health(w, TC_SOURCE_OK);
    assert_int_equal(h.streams, 0);
    assert_int_equal(h.errors, 0);
    tc_source_scrape.metrics(w->state, &b);
    assert_int_equal(b.len, 0);
}

static void a_slow_target_delays_no_other(void **state)
{
    static const struct peer_step SLOW = {.act = PEER_SILENT};
    static const struct peer_step GOOD = {.act = PEER_REPLY, .text = REPLY};
    char targets[256];
    void *scrape = NULL;
    (void)state;
    struct peer *slow = peer_start(&SLOW, 1);
    peer = peer_start(&GOOD, 1);
    (void)snprintf(targets, sizeof targets, "slow=http://127.0.0.1:%u/m\nt=http://127.0.0.1:%u/m\n",
                   peer_port(slow), peer_port(peer));
    struct tc_scrape_config config = {.targets = tc_slice_cstr(targets),
                                      .node = TC_LIT("gpu-07"),
                                      .interval_ns = TC_SECOND,
                                      .timeout_ns = 3600 * TC_SECOND};
    assert_int_equal(tc_scrape_create(&config, &scrape, &err), TC_OK);
    world_start(w, &tc_source_scrape, scrape);
    /* Its first try has not ended by then: it has the whole interval. */
    await_text(w, TEXT);
    world_stop(w);
    peer_stop(slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_read),
        cmocka_unit_test(what_is_no_target_is_refused),
        cmocka_unit_test(lengths_have_bounds),
        cmocka_unit_test(as_many_as_there_may_be),
        cmocka_unit_test(turns_are_spread_and_kept),
        cmocka_unit_test(samples_are_counted),
        cmocka_unit_test(long_answers_are_cut_between_metrics),
        cmocka_unit_test(a_gpu_that_is_missing_twice_is_told),
        cmocka_unit_test(more_gpus_than_a_host_has_are_left_out),
        cmocka_unit_test_setup_teardown(answers_are_put_with_what_is_known, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_answer_is_a_failure, begin, end),
        cmocka_unit_test_setup_teardown(an_answer_that_is_too_long_is_a_failure, begin, end),
        cmocka_unit_test_setup_teardown(a_target_that_comes_back_is_well_again, begin, end),
        cmocka_unit_test_setup_teardown(an_empty_answer_is_one, begin, end),
        cmocka_unit_test_setup_teardown(a_wrong_guess_is_dropped_without_noise, begin, end),
        cmocka_unit_test_setup_teardown(a_slow_target_delays_no_other, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
