/* SPDX-License-Identifier: Apache-2.0 */
/* Every sample of metrics, under its own name. All exporters and values here are made up. */
#include "base/limits.h"
#include "base/time.h"
#include "codec/codec.h"
#include "codec/otlp/wire.h"
#include "codec/samples.h"
#include "support/otlp_writer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEPT 64
#define TEXT 256
#define T0 (INT64_C(1772600760) * TC_SECOND)

struct kept {
    char name[TEXT];
    char unit[TEXT];
    char labels[TEXT]; /* key=value; in order */
    char identity[TEXT];
    struct tc_sample sample;
};

static struct kept got[KEPT];
static size_t got_count;
static uint64_t bad_at[KEPT];
static size_t bad_count;
static struct tc_samples_counts counts;
static struct tc_error err;
static char *block;
static size_t block_bytes = (size_t)4 << 20;

static void put(char *to, struct tc_slice s)
{
    size_t len = s.len < TEXT - 1 ? s.len : TEXT - 1;
    if (len > 0) {
        memcpy(to, s.ptr, len);
    }
    to[len] = '\0';
}

static tc_status take(void *context, const struct tc_sample *sample)
{
    (void)context;
    if (got_count == KEPT) {
        return TC_OK;
    }
    struct kept *k = &got[got_count++];
    k->sample = *sample;
    put(k->name, sample->name);
    put(k->unit, sample->unit);
    put(k->identity, sample->identity);
    size_t at = 0;
    k->labels[0] = '\0';
    for (size_t i = 0; i < sample->label_count; i++) {
        int len = snprintf(k->labels + at, TEXT - at, "%.*s=%.*s;", TC_FMT(sample->labels[i].key),
                           TC_FMT(sample->labels[i].value));
        at += (size_t)len < TEXT - at ? (size_t)len : TEXT - 1 - at;
    }
    return TC_OK;
}

static void bad(void *context, uint64_t offset, const char *why)
{
    (void)context;
    assert_non_null(why);
    if (bad_count < KEPT) {
        bad_at[bad_count++] = offset;
    }
}

static tc_status read_with(struct tc_slice bytes, int64_t taken_ns)
{
    struct tc_samples_input in = {.bytes = bytes, .taken_ns = taken_ns};
    struct tc_samples_out out = {.take = take, .bad = bad};
    struct tc_arena arena;
    block = malloc(block_bytes);
    assert_non_null(block);
    tc_arena_init(&arena, "samples", block, block_bytes);
    got_count = 0;
    bad_count = 0;
    memset(&counts, 0, sizeof counts);
    memset(&err, 0, sizeof err);
    tc_status status = tc_samples_read(&in, &arena, &out, &counts, &err);
    tc_arena_fini(&arena);
    free(block);
    return status;
}

static void read_text(const char *text)
{
    assert_int_equal(read_with(tc_slice_cstr(text), T0), TC_OK);
}

static void expect(size_t at, const char *name, enum tc_sample_type type, double value,
                   int64_t time_ns, const char *labels)
{
    assert_true(at < got_count);
    assert_string_equal(got[at].name, name);
    assert_int_equal(got[at].sample.type, type);
    if (isnan(value)) {
        assert_true(isnan(got[at].sample.value));
    } else if (got[at].sample.value != value) {
        fail_msg("%s is %g, expected %g", name, got[at].sample.value, value);
    }
    assert_int_equal(got[at].sample.time_ns, time_ns);
    assert_string_equal(got[at].labels, labels);
}

/* ---- text ---- */

static void types_are_of_type_lines(void **state)
{
    (void)state;
    read_text("# TYPE c counter\nc 1\n"
              "# TYPE g gauge\ng 2\n"
              "# TYPE h histogram\nh_bucket{le=\"1\"} 3\nh_sum 4\nh_count 5\n"
              "# TYPE s summary\ns{quantile=\"0.5\"} 6\ns_sum 7\ns_count 8\n"
              "# TYPE om counter\nom_total 9\nom_created 10\n"
              "# TYPE gh gaugehistogram\ngh_gsum 11\ngh_bucket{le=\"1\"} 12\n"
              "# TYPE u unknown\nu 13\nnobody_says 14\ng_sum 15\n");
    static const enum tc_sample_type types[] = {
        TC_SAMPLE_COUNTER, TC_SAMPLE_GAUGE,   TC_SAMPLE_COUNTER, TC_SAMPLE_COUNTER,
        TC_SAMPLE_COUNTER, TC_SAMPLE_GAUGE,   TC_SAMPLE_COUNTER, TC_SAMPLE_COUNTER,
        TC_SAMPLE_COUNTER, TC_SAMPLE_GAUGE,   TC_SAMPLE_GAUGE,   TC_SAMPLE_GAUGE,
        TC_SAMPLE_UNTYPED, TC_SAMPLE_UNTYPED, TC_SAMPLE_UNTYPED,
    };
    assert_int_equal(got_count, 15);
    for (size_t i = 0; i < 15; i++) {
        assert_true(got[i].sample.value == (double)(i + 1));
        if (got[i].sample.type != types[i]) {
            fail_msg("%s is of type %d", got[i].name, (int)got[i].sample.type);
        }
    }
    assert_int_equal(counts.samples, 15);
    assert_int_equal(counts.undated, 15);
}

static void type_lines_may_stand_anywhere_above(void **state)
{
    (void)state;
    read_text("# TYPE a counter\n# TYPE b gauge\n# UNIT a_seconds seconds\n# TYPE a_seconds "
              "counter\na 1\nb 2\na 3\na_seconds_total 4\n");
    expect(0, "a", TC_SAMPLE_COUNTER, 1, T0 - 15 * TC_SECOND, "");
    expect(1, "b", TC_SAMPLE_GAUGE, 2, T0 - 15 * TC_SECOND, "");
    expect(2, "a", TC_SAMPLE_COUNTER, 3, T0, "");
    expect(3, "a_seconds_total", TC_SAMPLE_COUNTER, 4, T0, "");
    assert_string_equal(got[3].unit, "seconds");
    assert_int_equal(counts.scrapes, 2);
}

static void labels_are_unescaped(void **state)
{
    (void)state;
    read_text("m{a=\"x\\\"y\\\\z\\n\",b=\"\"} NaN 1772600760000\n{\"q.r\",c=\"1\"} +Inf 1.5\n");
    assert_int_equal(got_count, 2);
    expect(0, "m", TC_SAMPLE_UNTYPED, (double)NAN, T0, "a=x\"y\\z\n;b=;");
    expect(1, "q.r", TC_SAMPLE_UNTYPED, HUGE_VAL, 3 * TC_SECOND / 2, "c=1;");
    assert_string_equal(got[0].identity, "m{a=\"x\\\"y\\\\z\\n\",b=\"\"}");
    assert_int_equal(counts.undated, 0);
}

static void scrapes_without_times_go_back_from_the_last(void **state)
{
    (void)state;
    read_text("a 1\nb 2\na 3\nb 4\na 5\nb 6\n");
    assert_int_equal(counts.scrapes, 3);
    assert_int_equal(got[0].sample.time_ns, T0 - 30 * TC_SECOND);
    assert_int_equal(got[1].sample.time_ns, T0 - 30 * TC_SECOND);
    assert_int_equal(got[5].sample.time_ns, T0);
    assert_int_equal(read_with(TC_LIT("a 1\n"), 0), TC_OK);
    assert_int_equal(got[0].sample.time_ns, TC_TIME_NONE);
    assert_int_equal(read_with(TC_LIT("a 1\n"), TC_TIME_NONE), TC_OK);
    assert_int_equal(got[0].sample.time_ns, TC_TIME_NONE);
}

static void comments_may_say_the_time(void **state)
{
    (void)state;
    read_text("# scraped at 2026-03-04T05:00:00Z\na 1\n# scraped at 2026-03-04T05:01:00Z\na 2\n");
    assert_int_equal(got[0].sample.time_ns, T0 - 360 * TC_SECOND);
    assert_int_equal(got[1].sample.time_ns, T0 - 300 * TC_SECOND);
    assert_int_equal(counts.undated, 0);
}

static void bad_lines_are_left_out(void **state)
{
    (void)state;
    char *text = malloc(TC_LINE_MAX * 2);
    assert_non_null(text);
    int head = snprintf(text, 64, "# TYPE a gauge\na 1\nb 1\nc 1\nnot a sample\n");
    memset(text + head, 'x', TC_LINE_MAX + 1);
    size_t len = (size_t)head + TC_LINE_MAX + 1;
    memcpy(text + len, "\nd 1\n", 5);
    assert_int_equal(read_with(tc_slice_make(text, len + 5), T0), TC_OK);
    free(text);
    assert_int_equal(got_count, 4);
    assert_int_equal(counts.bad, 2);
    assert_int_equal(bad_at[0], 27);
    assert_int_equal(bad_at[1], 40);
}

static void what_is_no_metrics_is_refused(void **state)
{
    (void)state;
    assert_int_equal(tc_samples_form(TC_EMPTY), TC_SAMPLES_NONE);
    assert_int_equal(read_with(TC_EMPTY, T0), TC_E_UNSUPPORTED);
    assert_int_equal(read_with(TC_LIT("{\"a\": 1}"), T0), TC_E_UNSUPPORTED);
    assert_int_equal(read_with(TC_LIT("replicas: 3\n"), T0), TC_E_UNSUPPORTED);
    assert_int_equal(read_with(TC_LIT("{\"resourceLogs\": []}"), T0), TC_E_UNSUPPORTED);
    assert_int_equal(read_with(TC_LIT("\n\n"), T0), TC_E_UNSUPPORTED);
}

static void empty_lines_are_no_protobuf(void **state)
{
    (void)state;
    read_text("\n\n\n\n\n\n\n\n\n\n\n\n\na{b=\"c\"} 1\n");
    assert_int_equal(got_count, 1);
}

static void more_types_than_are_kept_do_no_harm(void **state)
{
    (void)state;
    size_t bytes = (size_t)9000 * 48;
    char *text = malloc(bytes);
    assert_non_null(text);
    size_t at = 0;
    for (int i = 0; i < 9000; i++) {
        at += (size_t)snprintf(text + at, bytes - at, "# TYPE m%d counter\nm%d 1 1000\n", i, i);
    }
    assert_int_equal(read_with(tc_slice_make(text, at), T0), TC_OK);
    free(text);
    assert_int_equal(counts.samples, 9000);
}

/* ---- OTLP ---- */

#define POINT(rest) "{\"timeUnixNano\":\"1772600760000000000\"," rest "}"
#define ATTR(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define REQUEST(metrics)                                                                          \
    "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[" ATTR("k8s.node.name", "n1") "," ATTR( \
        "x", "resource") "]},\"scopeMetrics\":[{\"metrics\":[" metrics "]}]}]}"

static const char EVERYTHING[] =
    REQUEST("{\"name\":\"g\",\"unit\":\"C\",\"gauge\":{\"dataPoints\":[" POINT(
        "\"asDouble\":1.5,"
        "\"attributes\":"
        "[" ATTR(
            "x",
            "poin"
            "t") "]") "," POINT("\"asInt\":\"-7\",\"flags\":1") "]}},"
                                                                "{\"name\":\"up_down\",\"sum\":{"
                                                                "\"aggregationTemporality\":"
                                                                "2,\"isMonotonic\":false,"
                                                                "\"dataPoints\":[" POINT(
                                                                    "\"asInt\":\"-7\"") "]}},"
                                                                                        "{\"name\":"
                                                                                        "\"up\","
                                                                                        "\"sum\":{"
                                                                                        "\"dataPoin"
                                                                                        "ts\":"
                                                                                        "[" POINT(
                                                                                            "\"asIn"
                                                                                            "t\":"
                                                                                            "\"9\"") "],"
                                                                                                     "\"aggregati"
                                                                                                     "onTemporali"
                                                                                                     "ty\":2,"
                                                                                                     "\"isMonoton"
                                                                                                     "ic\":true}}"
                                                                                                     ","
                                                                                                     "{\"name\":"
                                                                                                     "\"d\","
                                                                                                     "\"sum\":{"
                                                                                                     "\"aggregati"
                                                                                                     "onTemporali"
                                                                                                     "ty\":1,"
                                                                                                     "\"isMonoton"
                                                                                                     "ic\":true,"
                                                                                                     "\"dataPoint"
                                                                                                     "s\":"
                                                                                                     "[" POINT(
                                                                                                         "\"start"
                                                                                                         "TimeUni"
                                                                                                         "xNano\""
                                                                                                         ":\"1772"
                                                                                                         "6007500"
                                                                                                         "0000000"
                                                                                                         "0\","
                                                                                                         "\"asDou"
                                                                                                         "ble\":"
                                                                                                         "3") "]}"
                                                                                                              "},"
                                                                                                              "{"
                                                                                                              "\""
                                                                                                              "na"
                                                                                                              "me"
                                                                                                              "\""
                                                                                                              ":"
                                                                                                              "\""
                                                                                                              "h"
                                                                                                              "\""
                                                                                                              ","
                                                                                                              "\""
                                                                                                              "un"
                                                                                                              "it"
                                                                                                              "\""
                                                                                                              ":"
                                                                                                              "\""
                                                                                                              "s"
                                                                                                              "\""
                                                                                                              ","
                                                                                                              "\""
                                                                                                              "hi"
                                                                                                              "st"
                                                                                                              "og"
                                                                                                              "ra"
                                                                                                              "m"
                                                                                                              "\""
                                                                                                              ":{"
                                                                                                              "\""
                                                                                                              "ag"
                                                                                                              "gr"
                                                                                                              "eg"
                                                                                                              "at"
                                                                                                              "io"
                                                                                                              "nT"
                                                                                                              "em"
                                                                                                              "po"
                                                                                                              "ra"
                                                                                                              "li"
                                                                                                              "ty"
                                                                                                              "\""
                                                                                                              ":2"
                                                                                                              ","
                                                                                                              "\""
                                                                                                              "da"
                                                                                                              "ta"
                                                                                                              "Po"
                                                                                                              "in"
                                                                                                              "ts"
                                                                                                              "\""
                                                                                                              ":"
                                                                                                              "[" POINT("\"count\":\"4\",\"sum\":2.5,\"bucketCounts\":[\"1\",\"3\"],\"explicitBounds\":[1]") "]}},"
                                                                                                                                                                                                             "{\"name\":\"e\",\"exponentialHistogram\":{\"aggregationTemporality\":1,\"dataPoints\":"
                                                                                                                                                                                                             "[" POINT("\"count\":\"5\",\"startTimeUnixNano\":\"1772600750000000000\"") "]}},"
                                                                                                                                                                                                                                                                                        "{\"name\":\"s\",\"summary\":{\"dataPoints\":[" POINT("\"count\":\"6\",\"sum\":7,\"quantileValues\":"
                                                                                                                                                                                                                                                                                                                                              "[{\"quantile\":0.5,\"value\":8},"
                                                                                                                                                                                                                                                                                                                                              "{\"quantile\":0.99,\"value\":9}]") "]}}");

static void expect_everything(void)
{
    const char *resource = "k8s.node.name=n1;x=resource;";
    assert_int_equal(got_count, 12);
    expect(0, "g", TC_SAMPLE_GAUGE, 1.5, T0, "x=point;k8s.node.name=n1;");
    assert_string_equal(got[0].unit, "C");
    expect(1, "g", TC_SAMPLE_GAUGE, (double)NAN, T0, resource);
    expect(2, "up_down", TC_SAMPLE_GAUGE, -7, T0, resource);
    expect(3, "up", TC_SAMPLE_COUNTER, 9, T0, resource);
    expect(4, "d", TC_SAMPLE_DELTA, 3, T0, resource);
    assert_int_equal(got[4].sample.start_ns, T0 - 10 * TC_SECOND);
    expect(5, "h_count", TC_SAMPLE_COUNTER, 4, T0, resource);
    expect(6, "h_sum", TC_SAMPLE_COUNTER, 2.5, T0, resource);
    expect(7, "e_count", TC_SAMPLE_DELTA, 5, T0, resource);
    expect(8, "s_count", TC_SAMPLE_COUNTER, 6, T0, resource);
    expect(9, "s_sum", TC_SAMPLE_COUNTER, 7, T0, resource);
    expect(10, "s", TC_SAMPLE_GAUGE, 8, T0, "k8s.node.name=n1;x=resource;quantile=0.5;");
    expect(11, "s", TC_SAMPLE_GAUGE, 9, T0, "k8s.node.name=n1;x=resource;quantile=0.99;");
}

static void every_sort_of_metric_is_read(void **state)
{
    (void)state;
    read_text(EVERYTHING);
    expect_everything();
    assert_int_equal(counts.bad, 0);
}

static void protobuf_reads_as_json_does(void **state)
{
    (void)state;
    char *body = NULL;
    size_t len = 0;
    assert_true(
        tc_otlp_write(tc_slice_make(EVERYTHING, sizeof EVERYTHING - 1), false, &body, &len));
    assert_int_equal(tc_samples_form(tc_slice_make(body, len)), TC_SAMPLES_OTLP_PROTOBUF);
    assert_int_equal(read_with(tc_slice_make(body, len), T0), TC_OK);
    expect_everything();

    /* With a length before each request, and the last one cut off. */
    size_t framed_len = 2 * (len + 4);
    char *framed = malloc(framed_len);
    assert_non_null(framed);
    for (size_t i = 0; i < 2; i++) {
        char *at = framed + i * (len + 4);
        at[0] = 0;
        at[1] = 0;
        at[2] = (char)(len >> 8);
        at[3] = (char)len;
        memcpy(at + 4, body, len);
    }
    assert_int_equal(read_with(tc_slice_make(framed, framed_len), T0), TC_OK);
    assert_int_equal(counts.samples, 24);
    assert_int_equal(counts.bad, 0);
    assert_int_equal(read_with(tc_slice_make(framed, framed_len - 1), T0), TC_OK);
    assert_int_equal(counts.samples, 12);
    assert_int_equal(counts.bad, 1);
    free(framed);
    free(body);
}

#define ONE(name) \
    REQUEST("{\"name\":\"" name "\",\"gauge\":{\"dataPoints\":[" POINT("\"asInt\":1") "]}}")

static void a_reader_may_be_lent(void **state)
{
    (void)state;
    static char room[1 << 20];
    struct tc_otlp_limits limits = TC_OTLP_LIMITS_DEFAULT;
    struct tc_otlp_reader *reader = tc_otlp_reader_create(&limits, sizeof EVERYTHING);
    assert_non_null(reader);
    for (int i = 0; i < 2; i++) {
        struct tc_samples_input in = {.bytes = tc_slice_make(EVERYTHING, sizeof EVERYTHING - 1),
                                      .reader = reader};
        struct tc_samples_out out = {.take = take};
        struct tc_arena arena;
        tc_arena_init(&arena, "samples", room, sizeof room);
        got_count = 0;
        assert_int_equal(tc_samples_read(&in, &arena, &out, &counts, &err), TC_OK);
        expect_everything();
        got_count = 0;
        struct tc_otlp_tape tape;
        assert_int_equal(
            tc_otlp_check(reader, TC_OTLP_METRICS, TC_OTLP_JSON, in.bytes, &tape, &err), TC_OK);
        assert_int_equal(tc_otlp_samples(&tape, &arena, &out, &counts, &err), TC_OK);
        expect_everything();
        assert_int_equal(counts.samples, 12);
        tc_arena_fini(&arena);
    }
    tc_otlp_reader_destroy(reader);
}

static void requests_come_as_lines_lists_and_one_after_another(void **state)
{
    (void)state;
    read_text(ONE("a") "\n" ONE("b") "\n");
    assert_int_equal(got_count, 2);
    read_text("[" ONE("a") ",\n" ONE("b") "]");
    assert_int_equal(got_count, 2);
    read_text(ONE("a") ONE("b"));
    assert_int_equal(got_count, 2);
    read_text("\xef\xbb\xbf \n" ONE("a"));
    assert_int_equal(got_count, 1);
}

static void a_torn_line_costs_nothing_but_itself(void **state)
{
    (void)state;
    static const char torn[] = "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metr\n";
    char text[4096];
    (void)snprintf(text, sizeof text, "%s\n%s%s\n%s", ONE("a"), torn, ONE("b"), torn);
    read_text(text);
    assert_int_equal(got_count, 2);
    assert_string_equal(got[1].name, "b");
    assert_int_equal(counts.bad, 2);
    assert_int_equal(read_with(tc_slice_cstr(torn), T0), TC_E_MALFORMED);
    assert_true(err.message[0] != '\0');
}

static void nameless_metrics_are_left_out(void **state)
{
    (void)state;
    read_text(REQUEST("{\"gauge\":{\"dataPoints\":[" POINT(
        "\"asInt\":1") "]}},"
                       "{\"name\":\"a\",\"gauge\":{\"dataPoints\":[{\"asInt\":1}]}}"));
    assert_int_equal(got_count, 1);
    assert_int_equal(counts.bad, 1);
    assert_int_equal(counts.undated, 1);
    assert_int_equal(got[0].sample.time_ns, TC_TIME_NONE);
}

static void other_values_of_attributes_have_a_text(void **state)
{
    (void)state;
    read_text(REQUEST("{\"name\":\"a\",\"gauge\":{\"dataPoints\":[" POINT(
        "\"asInt\":1,\"attributes\":[{\"key\":\"i\",\"value\":{\"intValue\":\"7\"}},"
        "{\"key\":\"b\",\"value\":{\"boolValue\":true}},{\"key\":\"d\",\"value\":{\"doubleValue\":"
        "0.5}},{\"key\":\"l\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"1\"}]}}},"
        "{\"key\":\"n\"}]") "]}}"));
    assert_string_equal(got[0].labels, "i=7;b=true;d=0.5;k8s.node.name=n1;x=resource;");
}

static void a_small_arena_is_an_error_and_no_crash(void **state)
{
    (void)state;
    block_bytes = 4;
    tc_status text = read_with(TC_LIT("m{a=\"long \\\\ enough to need some room\"} 1\n"), T0);
    tc_status otlp = read_with(tc_slice_make(EVERYTHING, sizeof EVERYTHING - 1), T0);
    block_bytes = (size_t)4 << 20;
    assert_int_equal(text, TC_E_NOMEM);
    assert_int_equal(otlp, TC_E_NOMEM);
}

static tc_status refuse(void *context, const struct tc_sample *sample)
{
    (void)context;
    (void)sample;
    return TC_E_IO;
}

static void what_take_says_is_returned(void **state)
{
    (void)state;
    static char room[1 << 20];
    static const char *const texts[] = {"a 1\n", ONE("a")};
    for (size_t i = 0; i < 2; i++) {
        struct tc_samples_input in = {.bytes = tc_slice_cstr(texts[i])};
        struct tc_samples_out out = {.take = refuse};
        struct tc_arena arena;
        tc_arena_init(&arena, "samples", room, sizeof room);
        assert_int_equal(tc_samples_read(&in, &arena, &out, NULL, NULL), TC_E_IO);
        tc_arena_fini(&arena);
    }
}

/* ---- meaning ---- */

static void a_series_says_what_it_is(void **state)
{
    (void)state;
    static char room[4096];
    static const struct tc_sample_label labels[] = {
        {{"UUID", 4}, {"GPU-1", 5}}, {{"other", 5}, {"x", 1}}, {{"Hostname", 8}, {"n1", 2}}};
    struct tc_sample sample = {
        .name = TC_LIT("DCGM_FI_PROF_GR_ENGINE_ACTIVE"), .labels = labels, .label_count = 3};
    struct tc_series_meaning m;
    struct tc_arena arena;
    tc_arena_init(&arena, "meaning", room, sizeof room);
    assert_true(tc_series_read(&sample, &arena, &m));
    assert_int_equal(m.metric, TC_METRIC_GPU_UTIL);
    assert_int_equal(m.used, 5);
    double value = 0.5;
    assert_true(tc_series_value(m.how, m.scale, &value));
    assert_true(value == 50);
    value = 9223372036854775794.0;
    assert_false(tc_series_value(m.how, m.scale, &value));
    value = (double)NAN;
    assert_false(tc_series_value(m.how, m.scale, &value));
    value = 1.7e308; /* the scale is too much for it */
    assert_false(tc_series_value(m.how, m.scale, &value));

    /* A rack is a part of what a series is, a zone stays the label that it was. */
    static const struct tc_sample_label place[] = {
        {{"k8s.node.label.topology.rook.io/rack", 36}, {"r1", 2}},
        {{"cloud.availability_zone", 23}, {"z1", 2}}};
    sample.labels = place;
    sample.label_count = 2;
    assert_true(tc_series_read(&sample, &arena, &m));
    assert_true(tc_slice_eq(m.rack, TC_LIT("r1")));
    assert_int_equal(m.used, 1);

    /* Of NFS operations only writes are a metric of ours. */
    static const struct tc_sample_label read_op[] = {{{"operation", 9}, {"READ", 4}}};
    sample = (struct tc_sample){.name = TC_LIT("node_mountstats_nfs_operations_requests_total"),
                                .labels = read_op,
                                .label_count = 1};
    assert_true(tc_series_read(&sample, &arena, &m));
    assert_int_equal(m.metric, TC_METRIC_NONE);
    assert_int_equal(m.used, 0);
    tc_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_of_type_lines),
        cmocka_unit_test(type_lines_may_stand_anywhere_above),
        cmocka_unit_test(labels_are_unescaped),
        cmocka_unit_test(scrapes_without_times_go_back_from_the_last),
        cmocka_unit_test(comments_may_say_the_time),
        cmocka_unit_test(bad_lines_are_left_out),
        cmocka_unit_test(what_is_no_metrics_is_refused),
        cmocka_unit_test(empty_lines_are_no_protobuf),
        cmocka_unit_test(more_types_than_are_kept_do_no_harm),
        cmocka_unit_test(every_sort_of_metric_is_read),
        cmocka_unit_test(protobuf_reads_as_json_does),
        cmocka_unit_test(a_reader_may_be_lent),
        cmocka_unit_test(requests_come_as_lines_lists_and_one_after_another),
        cmocka_unit_test(a_torn_line_costs_nothing_but_itself),
        cmocka_unit_test(nameless_metrics_are_left_out),
        cmocka_unit_test(other_values_of_attributes_have_a_text),
        cmocka_unit_test(a_small_arena_is_an_error_and_no_crash),
        cmocka_unit_test(what_take_says_is_returned),
        cmocka_unit_test(a_series_says_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
