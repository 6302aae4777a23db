/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus text and OpenMetrics. All exporters and values here are made up. */
#include "base/limits.h"
#include "base/time.h"
#include "codec/codec.h"
#include "codec/prometheus/prometheus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVENTS_MAX 256
#define T0 INT64_C(1772600760000000000) /* 2026-03-04T05:06:00Z */
#define GPU0 "gpu=\"0\",UUID=\"GPU-0\",Hostname=\"gpu-07\""
#define TEMP "DCGM_FI_DEV_GPU_TEMP{" GPU0 "}"

struct result {
    struct tc_event events[EVENTS_MAX];
    size_t count;
    const char *whys[EVENTS_MAX];
    uint64_t why_at[EVENTS_MAX];
    size_t why_len[EVENTS_MAX];
    size_t why_count;
    struct tc_codec_cursor cursor;
    struct tc_error err;
    tc_status status;
    struct tc_codec_out out;
    bool pause;
};

static struct result got;
static char strings_block[1 << 16];
static char *scratch_block;
static struct tc_arena strings;
static struct tc_arena scratch;
#define SCRATCH_BYTES ((size_t)4 << 20)

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct result *r = context;
    assert_true(r->count < EVENTS_MAX);
    r->events[r->count++] = *ev;
    r->out.pause = r->pause;
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    struct result *r = context;
    assert_true(r->why_count < EVENTS_MAX);
    r->why_at[r->why_count] = offset;
    r->why_len[r->why_count] = length;
    r->whys[r->why_count++] = why;
    return TC_OK;
}

static struct tc_codec_input input_of(const char *text)
{
    return (struct tc_codec_input){.bytes = tc_slice_cstr(text),
                                   .source = 3,
                                   .boot_ns = TC_TIME_NONE,
                                   .now_ns = TC_TIME_NONE,
                                   .taken_ns = T0,
                                   .want_unknown = true};
}

static const struct result *decode_input(struct tc_codec_input in, bool pause)
{
    got = (struct result){.pause = pause};
    tc_arena_reset(&strings);
    got.out = (struct tc_codec_out){.event = on_event,
                                    .unknown = on_unknown,
                                    .context = &got,
                                    .arena = &strings,
                                    .scratch = &scratch};
    for (unsigned calls = 0; !got.cursor.done && got.status == TC_OK; calls++) {
        assert_true(calls < 10000);
        tc_arena_reset(&scratch);
        got.status = tc_codec_prometheus.decode(&in, &got.cursor, &got.out, &got.err);
    }
    assert_int_equal(got.cursor.events, got.count);
    return &got;
}

static const struct result *decode_text(const char *text)
{
    return decode_input(input_of(text), false);
}

static const struct tc_event *one(const char *text)
{
    const struct result *r = decode_text(text);
    assert_int_equal(r->status, TC_OK);
    assert_int_equal(r->why_count, 0);
    assert_int_equal(r->count, 1);
    assert_int_equal(r->events[0].kind, TC_EVENT_METRIC);
    return &r->events[0];
}

static void assert_unknown(const char *text, const char *why)
{
    const struct result *r = decode_text(text);
    assert_int_equal(r->count, 0);
    assert_int_equal(r->why_count, 1);
    assert_string_equal(r->whys[0], why);
}

#define assert_slice(slice, text)                                              \
    do {                                                                       \
        struct tc_slice got_ = (slice);                                        \
        assert_int_equal(got_.len, strlen(text));                              \
        assert_true(got_.len == 0 || memcmp(got_.ptr, (text), got_.len) == 0); \
    } while (0)

static struct tc_prom_scrapes scrapes_in(const char *text)
{
    struct tc_prom_count count;
    tc_prom_count_begin(&count, tc_slice_cstr(text));
    while (tc_prom_count_more(&count)) {
    }
    return count.scrapes;
}

static int64_t at(const char *text)
{
    int64_t ns = 0;
    assert_true(tc_time_parse(tc_slice_cstr(text), 0, &ns) == strlen(text));
    return ns;
}

static void a_sample_is_a_metric_and_its_line_the_proof(void **state)
{
    (void)state;
    const char *text = "# HELP DCGM_FI_DEV_GPU_TEMP temperature\n"
                       "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n" TEMP " 66\n";
    const struct tc_event *ev = one(text);
    assert_int_equal(ev->metric.metric, TC_METRIC_GPU_TEMP);
    assert_true(ev->metric.value == 66);
    assert_slice(ev->scope.node, "gpu-07");
    assert_slice(ev->scope.gpu_uuid, "GPU-0");
    assert_int_equal(ev->scope.gpu_index, 0);
    assert_int_equal(ev->time_ns, T0);
    assert_int_equal(ev->raw.source, 3);
    assert_slice(tc_slice_make(text + ev->raw.offset, ev->raw.length), TEMP " 66");
}

static void values_are_read_as_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+7", 7},
        {"8.969000", 8.969},
        {".5", 0.5},
        {"5.", 5},
        {"1e3", 1000},
        {"1E+3", 1000},
        {"1.5e-07", 1.5e-07},
        {"3.0000000000000004", 3.0000000000000004},
        {"0.1000000000000000055511151231257827", 0.1},
        {"123456789012345678901234", 123456789012345678901234.0},
        {"9007199254740993", 9007199254740993.0},
        {"1e-320", 1e-320},
        {"00000000000000000000012", 12},
        {"1e22", 1e22},
        {"2147483647", 2147483647},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "node_vmstat_oom_kill %s\n", cases[i].text);
        assert_true(one(text)->metric.value == cases[i].value);
    }
}

static void what_is_no_number_is_told(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    "x",       "1x",    "e5",    "1e",
                                      "1e+", "--1",     "0x10",  "1_000", "1e999999",
                                      "na",  "infinit", "1.2.3", "+",     "."};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "node_vmstat_oom_kill %s\nup 1\n", bad[i]);
        const struct result *r = decode_text(text);
        assert_int_equal(r->status, TC_OK);
        assert_int_equal(r->count, 0);
        assert_int_equal(r->why_count, 2);
        assert_string_equal(r->whys[0], "its value is not a number");
    }
    static const char *const unmeasured[] = {"NaN", "nan",      "+Inf", "-Inf",
                                             "Inf", "infinity", "1e400"};
    for (size_t i = 0; i < sizeof unmeasured / sizeof unmeasured[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "node_vmstat_oom_kill %s\n", unmeasured[i]);
        assert_unknown(text, "its value is not a finite number");
    }
}

static void what_dcgm_writes_for_no_value_is_dropped_and_counted(void **state)
{
    (void)state;
    static const char *const blanks[] = {"9223372036854775794", "9.223372036854776e+18",
                                         "9223372036854775792", "2147483634", "140737488355330"};
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, TEMP " %s\n", blanks[i]);
        assert_unknown(text, "the exporter has no value for it (not supported)");
        assert_int_equal(got.cursor.unknown, 1);
    }
}

static void times_are_milliseconds_or_seconds_with_a_fraction(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *time;
    } cases[] = {
        {"1772600760000", "2026-03-04T05:06:00Z"},
        {"1772600760123", "2026-03-04T05:06:00.123Z"},
        {"1772600760", "2026-03-04T05:06:00Z"},
        {"1772600760.123456789", "2026-03-04T05:06:00.123456789Z"},
        {"1772600760.5", "2026-03-04T05:06:00.5Z"},
        {"1.772600760789e+09", "2026-03-04T05:06:00.789Z"},
        {"1.772600760e9", "2026-03-04T05:06:00Z"},
        {"0", "1970-01-01T00:00:00Z"},
        {"1772600760000.25", "2026-03-04T05:06:00.00025Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, TEMP " 66 %s\n", cases[i].text);
        assert_int_equal(one(text)->time_ns, at(cases[i].time));
    }
    static const char *const bad[] = {"x",  "-5", "1e40", "99999999999999999", "1772600760 9",
                                      "5 x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, TEMP " 66 %s\n", bad[i]);
        const struct result *r = decode_text(text);
        assert_int_equal(r->count, 0);
        assert_int_equal(r->why_count, 1);
    }
}

static void openmetrics_adds_suffixes_exemplars_and_an_end(void **state)
{
    (void)state;
    const struct result *r = decode_text(
        "# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER counter\n"
        "# UNIT DCGM_FI_DEV_PCIE_REPLAY_COUNTER retries\n"
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER_total{" GPU0 "} 7.0 1772600760.25 # {trace_id=\"a\"} 1 5\n"
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER_total{" GPU0 "} 8 # {trace_id=\"a b\"} 0.5\n"
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER_created{" GPU0 "} 1.7e9\n"
        "# EOF\n");
    assert_int_equal(r->count, 2);
    assert_int_equal(r->events[0].time_ns, at("2026-03-04T05:06:00.25Z"));
    assert_true(r->events[0].metric.value == 7);
    assert_true(r->events[1].metric.value == 8);
    assert_int_equal(r->events[1].time_ns, T0);
    assert_int_equal(r->why_count, 1);
    assert_string_equal(r->whys[0], "not a metric that any pattern reads");
}

static void labels_are_read_with_blanks_escapes_and_any_bytes(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one("\tDCGM_FI_DEV_GPU_UTIL { gpu = \"1\" ,\tUUID=\"GPU-1\", Hostname=\"a\\\\b\\\"c\\nd\","
            "modelName=\"x}y,z=\\\"{\", pod=\"\", } \t 5 \t \r\n");
    assert_int_equal(ev->scope.gpu_index, 1);
    assert_slice(ev->scope.node, "a\\b\"c\nd");
    assert_slice(ev->scope.pod, "");
    assert_true(ev->metric.value == 5);
    ev = one("DCGM_FI_DEV_GPU_UTIL{}5");
    assert_true(ev->metric.value == 5);
    ev = one("{\"DCGM_FI_DEV_GPU_UTIL\",\"k8s.node.name\"=\"n\"} 5");
    assert_slice(ev->scope.node, "n");
    ev = one("{__name__=\"DCGM_FI_DEV_GPU_UTIL\", gpu=\"3\"} 5 1772600760000");
    assert_int_equal(ev->scope.gpu_index, 3);
    ev = one("DCGM_FI_DEV_GPU_UTIL{Hostname=\"\xff\xfe\"} 5");
    assert_slice(ev->scope.node, "\xff\xfe");
}

static void lines_that_do_not_parse_are_told_and_the_others_read(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *why;
    } cases[] = {
        {"...", "not a sample"},
        {"DCGM_FI_DEV_GPU_TEMP", "not a sample"},
        {"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"", "its labels do not end"},
        {"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\", ", "its labels do not end"},
        {"DCGM_FI_DEV_GPU_TEMP{", "its labels do not end"},
        {"DCGM_FI_DEV_GPU_TEMP{gpu=\"0} 5", "its labels cannot be read"},
        {"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\\", "its labels cannot be read"},
        {"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\\\"} 5", "its labels cannot be read"},
        {"DCGM_FI_DEV_GPU_TEMP{=\"0\"} 5", "its labels cannot be read"},
        {"DCGM_FI_DEV_GPU_TEMP{gpu=0} 5", "its labels cannot be read"},
        {"DCGM_FI_DEV_GPU_TEMP{gpu} 5", "its labels cannot be read"},
        {"DCGM_FI_DEV_GPU_TEMP{,} 5", "its labels cannot be read"},
        {"DCGM_FI_DEV_GPU_TEMP{a=\"1\" b=\"2\"} 5", "its labels cannot be read"},
        {"DCGM_FI_DEV_GPU_TEMP{a=\"1\"} 5 6 7", "something follows its time"},
        {"{a=\"1\"} 5", "no name of a metric"},
        {"up{\"DCGM_FI_DEV_GPU_TEMP\"} 5", "it has two names"},
        {"DCGM_FI_DEV_GPU_TEMP{__name__=\"up\"} 5", "it has two names"},
        {"{\"\"} 5", "no name of a metric"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, TEMP " 1\n%s\n" TEMP " 2", cases[i].line);
        const struct result *r = decode_text(text);
        assert_int_equal(r->status, TC_OK);
        assert_int_equal(r->count, 2);
        assert_int_equal(r->why_count, 1);
        assert_string_equal(r->whys[0], cases[i].why);
        assert_int_equal(r->why_at[0], sizeof(TEMP " 1\n") - 1);
        assert_int_equal(r->why_len[0], strlen(cases[i].line));
        assert_int_equal(r->cursor.unknown, 1);
    }
}

static void a_sample_has_so_many_labels_at_most(void **state)
{
    (void)state;
    char text[2048];
    size_t at = (size_t)snprintf(text, sizeof text, "DCGM_FI_DEV_GPU_TEMP{");
    for (unsigned i = 0; i < 63; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "l%u=\"x\",", i);
    }
    size_t end = at;
    (void)snprintf(text + end, sizeof text - end, "Hostname=\"h\"} 1\n");
    assert_slice(one(text)->scope.node, "h");
    (void)snprintf(text + end, sizeof text - end, "l=\"x\",Hostname=\"h\"} 1\nup 1\n");
    const struct result *r = decode_text(text);
    assert_int_equal(r->count, 0);
    assert_string_equal(r->whys[0], "it has more labels than are read");
}

static void a_file_without_a_single_sample_is_malformed(void **state)
{
    (void)state;
    const struct result *r = decode_text("# a comment\n\nhello, world\nmore\n");
    assert_int_equal(r->status, TC_E_MALFORMED);
    assert_int_equal(r->err.offset, 13);
    assert_true(r->cursor.done);
    assert_int_equal(decode_text("")->status, TC_OK);
    assert_int_equal(decode_text("# EOF\n")->status, TC_OK);
}

static void a_line_longer_than_a_line_is_cut_and_counted(void **state)
{
    (void)state;
    size_t size = TC_LINE_MAX + 100;
    char *text = malloc(size + sizeof(TEMP " 5\n"));
    assert_non_null(text);
    memset(text, 'a', size);
    text[size - 1] = '\n';
    memcpy(text + size, TEMP " 5\n", sizeof(TEMP " 5\n"));
    const struct result *r = decode_text(text);
    assert_int_equal(r->count, 1);
    assert_int_equal(r->cursor.cut, 1);
    assert_int_equal(r->why_count, 1);
    assert_int_equal(r->why_len[0], TC_LINE_MAX);
    free(text);
}

static void comments_say_when_the_samples_behind_them_were_taken(void **state)
{
    (void)state;
    static const char *const comments[] = {
        "# scraped at 2026-01-02T03:04:05Z",  "# Scrape time: 2026-01-02T03:04:05Z",
        "# time: 2026-01-02 03:04:05",        "#timestamp 1767323045",
        "# timestamp=1767323045000",          "# collected at: 2026-01-02T04:04:05+01:00",
        "# scraped_at 2026-01-02T03:04:05Z ", "# date: 2026-01-02 03:04:05 UTC",
    };
    for (size_t i = 0; i < sizeof comments / sizeof comments[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "%s\n" TEMP " 1\n", comments[i]);
        assert_int_equal(one(text)->time_ns, at("2026-01-02T03:04:05Z"));
        assert_false(scrapes_in(text).undated);
    }
    static const char *const others[] = {
        "# timestamp 9767312300",
        "# time: 2250-01-01T00:00:00Z",
        "# time flies",
        "# TYPE time gauge",
        "# at 5",
        "# timestamp 17",
        "# 2026-01-02T03:04:05Z",
        "# SOURCE 1: x",
        "# time",
        "# time: 2026-01-02T03:04:05Z ago",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "%s\n" TEMP " 1\n", others[i]);
        assert_int_equal(one(text)->time_ns, T0);
    }
}

static void scrapes_in_one_file_are_an_interval_apart(void **state)
{
    (void)state;
    const char *text = "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n" TEMP " 1\n"
                       "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n" TEMP " 2\n"
                       /* GPU 0 is gone, and the next one comes first. */
                       "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 3\n"
                       "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n" TEMP " 4\n";
    for (unsigned pause = 0; pause < 2; pause++) {
        const struct result *r = decode_input(input_of(text), pause == 1);
        assert_int_equal(r->count, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(r->events[i].time_ns, T0 - (int64_t)(3 - i) * 15 * TC_SECOND);
        }
    }
    struct tc_codec_input in = input_of(text);
    in.interval_ns = 60 * TC_SECOND;
    assert_int_equal(decode_input(in, false)->events[0].time_ns, T0 - 180 * TC_SECOND);
    struct tc_prom_scrapes scrapes = scrapes_in(text);
    assert_true(scrapes.undated);
    assert_int_equal(scrapes.count, 4);
    in.scrapes = &scrapes;
    assert_int_equal(decode_input(in, false)->events[0].time_ns, T0 - 180 * TC_SECOND);
    /* Without lines about metrics the first series tells. */
    const struct result *r = decode_text("up 1\n" TEMP " 1\nup 1\n" TEMP " 2\nup_total 1\n");
    assert_int_equal(r->events[0].time_ns, T0 - 15 * TC_SECOND);
    assert_int_equal(r->events[1].time_ns, T0);
    r = decode_text("\xef\xbb\xbf# TYPE up gauge\nup 1\n" TEMP " 1\n# TYPE up gauge\nup 1\n" TEMP
                    " 2\n");
    assert_int_equal(r->count, 2);
    assert_int_equal(r->events[0].time_ns, T0 - 15 * TC_SECOND);
    assert_int_equal(r->events[1].time_ns, T0);
    /* Two nodes one after the other are one scrape each. */
    r = decode_text("# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n" TEMP " 1\n"
                    "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{Hostname=\"b\"} 2\n");
    assert_int_equal(r->events[0].time_ns, T0);
    assert_int_equal(r->events[1].time_ns, T0);
}

static void a_comment_dates_its_scrape_and_those_behind_it(void **state)
{
    (void)state;
    const struct result *r =
        decode_text("# scraped at 2026-01-02T00:00:00Z\n" TEMP " 1\n" TEMP
                    " 2\n# scraped at 2026-01-02T00:05:00Z\n" TEMP " 3\n" TEMP " 4\n");
    static const char *const times[] = {"2026-01-02T00:00:00Z", "2026-01-02T00:00:15Z",
                                        "2026-01-02T00:05:00Z", "2026-01-02T00:05:15Z"};
    assert_int_equal(r->count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(r->events[i].time_ns, at(times[i]));
    }
}

static void nobody_knows_the_time_of_samples_without_any(void **state)
{
    (void)state;
    struct tc_codec_input in = input_of(TEMP " 1\n");
    in.taken_ns = TC_TIME_NONE;
    assert_true(decode_input(in, false)->events[0].time_ns == TC_TIME_NONE);
    in = input_of(TEMP " 1\n" TEMP " 2\n");
    in.taken_ns = 5 * TC_SECOND; /* the one before would be before 1970 */
    assert_true(decode_input(in, false)->events[0].time_ns == TC_TIME_NONE);
    assert_int_equal(got.events[1].time_ns, 5 * TC_SECOND);
}

static void the_node_of_the_input_is_that_of_samples_without_one(void **state)
{
    (void)state;
    struct tc_codec_input in = input_of("node_vmstat_oom_kill 1\n" TEMP " 1\n");
    in.node = TC_LIT("gpu-99");
    const struct result *r = decode_input(in, false);
    assert_slice(r->events[0].scope.node, "gpu-99");
    assert_slice(r->events[1].scope.node, "gpu-07");
}

static void a_rank_is_placed_once_a_file(void **state)
{
    (void)state;
#define HANG(rank) \
    "XPU_TIMER_COMMON_HANG{ip=\"10.0.0.1\",job_name=\"j\",pod_name=\"p\",rank=\"" rank "\"} 0\n"
    const char *text = HANG("0")
        HANG("1") "XPU_TIMER_OTHER{rank=\"9\",pod_name=\"p\"} 1\n" HANG("0") HANG("1") HANG("2");
    for (unsigned pause = 0; pause < 2; pause++) {
        const struct result *r = decode_input(input_of(text), pause == 1);
        size_t places = 0;
        assert_int_equal(r->count, 8);
        for (size_t i = 0; i < r->count; i++) {
            const struct tc_event *ev = &r->events[i];
            if (ev->kind == TC_EVENT_RANK_PLACE) {
                assert_int_equal(ev->scope.rank, (int)places);
                assert_slice(ev->place.origin, "labels");
                assert_slice(ev->scope.job, "j");
                places++;
            }
        }
        assert_int_equal(places, 3);
        assert_int_equal(r->why_count, 1);
    }
#undef HANG
}

static void visiting_only_what_is_read_gives_the_same_events(void **state)
{
    (void)state;
    struct tc_codec_input in = input_of("up 1\nx{a=\"1\"} 5\n" TEMP " 1\nbad\n" TEMP " 2\ny\t7\n");
    decode_input(in, false);
    struct result all = got;
    in.want_unknown = false;
    decode_input(in, false);
    assert_int_equal(got.count, all.count);
    assert_int_equal(got.cursor.unknown, all.cursor.unknown);
    assert_int_equal(got.why_count, 0);
    for (size_t i = 0; i < all.count; i++) {
        assert_int_equal(tc_event_cmp(&got.events[i], &all.events[i]), 0);
    }
}

static void a_full_arena_stops_at_the_line_and_goes_on_from_there(void **state)
{
    (void)state;
    char tiny[64];
    struct tc_arena small;
    tc_arena_init(&small, "tiny", tiny, sizeof tiny);
    const char *text = TEMP " 1\nDCGM_FI_DEV_GPU_TEMP{Hostname=\"a long name with \\\\ in it, "
                            "longer than what is there for strings\"} 2\n";
    struct tc_codec_input in = input_of(text);
    got = (struct result){0};
    got.out = (struct tc_codec_out){.event = on_event,
                                    .unknown = on_unknown,
                                    .context = &got,
                                    .arena = &small,
                                    .scratch = &scratch};
    assert_int_equal(tc_codec_prometheus.decode(&in, &got.cursor, &got.out, &got.err), TC_E_NOMEM);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.cursor.offset, sizeof(TEMP " 1\n") - 1);
    got.out.arena = &strings;
    tc_arena_reset(&strings);
    assert_int_equal(tc_codec_prometheus.decode(&in, &got.cursor, &got.out, &got.err), TC_OK);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.events[0].time_ns, got.events[1].time_ns);
    /* A scrape that begins with such a line is counted once. */
#define LONG                                                                                    \
    "DCGM_FI_DEV_GPU_TEMP{Hostname=\"a \\\\ and what is longer than what is there, by far and " \
    "without any doubt\"}"
    in = input_of(LONG " 1\n" LONG " 2\n");
    tc_arena_reset(&small);
    got.cursor = (struct tc_codec_cursor){0};
    got.count = 0;
    got.out.arena = &small;
    assert_int_equal(tc_codec_prometheus.decode(&in, &got.cursor, &got.out, &got.err), TC_E_NOMEM);
    assert_int_equal(got.count, 0);
    got.out.arena = &strings;
    assert_int_equal(tc_codec_prometheus.decode(&in, &got.cursor, &got.out, &got.err), TC_OK);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.events[0].time_ns, T0 - 15 * TC_SECOND);
    assert_int_equal(got.events[1].time_ns, T0);
#undef LONG
    tc_arena_fini(&small);
}

static int sniff(const char *text)
{
    return tc_codec_sniff(&tc_codec_prometheus, tc_slice_cstr(text), true, TC_EMPTY);
}

static void scrapes_are_recognised_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(sniff("# TYPE up gauge\nup 1\n"), TC_SNIFF_SURE);
    assert_int_equal(sniff("# HELP up\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniff("# anything\r\n" TEMP " 1\r\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniff("node_vmstat_oom_kill 1"), TC_SNIFF_LIKELY);
    assert_int_equal(sniff("{__name__=\"up\",a=\"b\"} 1 1772600760000\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniff("go_goroutines 12\ngo_threads 7\n"), TC_SNIFF_MAYBE);
    static const char *const others[] = {
        "",
        "\n\n",
        "# only a comment\n",
        "{\"kind\":\"metric\",\"value\":1}\n",
        "{\"apiVersion\":\"v1\"}\n",
        "{\n  \"a\": 1\n}\n",
        "[1, 2]\n",
        "apiVersion: v1\nkind: Pod\n",
        "replicas: 3\nport: 80\n",
        "a,b,c\n1,2,3\n",
        "[   12.5] NVRM: Xid (PCI:0000:b3:00): 79, pid=1\n",
        "Nov 15 03:04:05 gpu-07 kernel: NVRM: x\n",
        "2026-11-15T03:04:05,123456+00:00 NVRM: Xid 79\n",
        "hello 1 world\nthe 2nd line\n",
        "MemTotal:       1056 kB\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(sniff(others[i]), TC_SNIFF_NO);
        assert_true(tc_codec_recognise(tc_slice_cstr(others[i]), TC_EMPTY) != &tc_codec_prometheus);
    }
    /* A line torn by the end of what was read does not count. */
    struct tc_slice torn = TC_LIT(TEMP " 1\n" TEMP " 2\nDCGM_FI_DEV{gp");
    assert_int_equal(tc_codec_sniff(&tc_codec_prometheus, torn, false, TC_EMPTY), TC_SNIFF_LIKELY);
}

static void a_dump_by_series_is_not_in_order(void **state)
{
    (void)state;
    assert_true(tc_codec_prometheus.in_order(TC_LIT(TEMP " 1\n" TEMP " 2\n")));
    assert_true(tc_codec_prometheus.in_order(
        TC_LIT(TEMP " 1 1772600760000\nup 1 1772600760000\n" TEMP " 2 1772600775000\n")));
    assert_false(
        tc_codec_prometheus.in_order(TC_LIT(TEMP " 1 1772600760000\n" TEMP " 2 1772600775000\n")));
    assert_false(tc_codec_prometheus.in_order(
        TC_LIT("a 1 1772600760000\nb 2 1772600775000\nc 1 1772600000000\n")));
}

static int setup(void **state)
{
    (void)state;
    scratch_block = malloc(SCRATCH_BYTES);
    if (scratch_block == NULL) {
        return 1;
    }
    tc_arena_init(&strings, "strings", strings_block, sizeof strings_block);
    tc_arena_init(&scratch, "scratch", scratch_block, SCRATCH_BYTES);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_arena_fini(&strings);
    tc_arena_fini(&scratch);
    free(scratch_block);
    return 0;
}

static void kube_state_metrics_say_how_pods_and_nodes_are(void **state)
{
    (void)state;
    const struct result *r = decode_text(
        "kube_node_status_condition{node=\"n1\",condition=\"DiskPressure\",status=\"true\"} 1\n"
        "kube_node_status_condition{node=\"n1\",condition=\"DiskPressure\",status=\"false\"} 0\n"
        "kube_pod_status_reason{namespace=\"t\",pod=\"w-0\",uid=\"u\",reason=\"Evicted\"} 1\n"
        "kube_pod_status_phase{namespace=\"t\",pod=\"w-0\",phase=\"Running\"} 1\n"
        "kube_pod_container_status_terminated_reason{pod=\"w-0\",reason=\"Completed\"} 1\n");
    assert_int_equal(r->status, TC_OK);
    assert_int_equal(r->count, 2);
    assert_int_equal(r->events[0].kind, TC_EVENT_NODE_CONDITION);
    assert_true(tc_slice_eq(r->events[0].k8s.type, TC_LIT("DiskPressure")));
    assert_true(tc_slice_eq(r->events[0].k8s.status, TC_LIT("True")));
    assert_true(r->events[0].time_ns == T0);
    assert_int_equal(r->events[1].kind, TC_EVENT_POD_STATE);
    assert_true(tc_slice_eq(r->events[1].pod.reason, TC_LIT("Evicted")));
    assert_true(tc_slice_eq(r->events[1].scope.pod_uid, TC_LIT("u")));
    assert_true(r->events[1].time_ns == TC_TIME_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_a_metric_and_its_line_the_proof),
        cmocka_unit_test(kube_state_metrics_say_how_pods_and_nodes_are),
        cmocka_unit_test(values_are_read_as_they_are),
        cmocka_unit_test(what_is_no_number_is_told),
        cmocka_unit_test(what_dcgm_writes_for_no_value_is_dropped_and_counted),
        cmocka_unit_test(times_are_milliseconds_or_seconds_with_a_fraction),
        cmocka_unit_test(openmetrics_adds_suffixes_exemplars_and_an_end),
        cmocka_unit_test(labels_are_read_with_blanks_escapes_and_any_bytes),
        cmocka_unit_test(lines_that_do_not_parse_are_told_and_the_others_read),
        cmocka_unit_test(a_sample_has_so_many_labels_at_most),
        cmocka_unit_test(a_file_without_a_single_sample_is_malformed),
        cmocka_unit_test(a_line_longer_than_a_line_is_cut_and_counted),
        cmocka_unit_test(comments_say_when_the_samples_behind_them_were_taken),
        cmocka_unit_test(scrapes_in_one_file_are_an_interval_apart),
        cmocka_unit_test(a_comment_dates_its_scrape_and_those_behind_it),
        cmocka_unit_test(nobody_knows_the_time_of_samples_without_any),
        cmocka_unit_test(the_node_of_the_input_is_that_of_samples_without_one),
        cmocka_unit_test(a_rank_is_placed_once_a_file),
        cmocka_unit_test(visiting_only_what_is_read_gives_the_same_events),
        cmocka_unit_test(a_full_arena_stops_at_the_line_and_goes_on_from_there),
        cmocka_unit_test(scrapes_are_recognised_and_nothing_else),
        cmocka_unit_test(a_dump_by_series_is_not_in_order),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
