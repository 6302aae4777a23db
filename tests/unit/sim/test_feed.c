/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet over a network holds what its files hold, in the order of time; and its protobuf. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "base/time.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tc_json_parser *parser;
static struct tc_error err;

static int make_parser(void **state)
{
    (void)state;
    parser = tc_json_parser_create();
    return parser == NULL ? -1 : 0;
}

static int drop_parser(void **state)
{
    (void)state;
    tc_json_parser_destroy(parser);
    return 0;
}

static struct tc_sim *make_sim(void)
{
    struct tc_sim_options options = {.nodes = 6,
                                     .gpus_per_node = 4,
                                     .minutes = 30,
                                     .seed = 3,
                                     .start_ns = TC_SIM_START,
                                     .faults = TC_LIT("mixed"),
                                     .label = TC_LIT("mixed")};
    struct tc_sim *sim = NULL;
    assert_int_equal(tc_sim_create(&options, &sim, &err), TC_OK);
    return sim;
}

/* ---- the same as the files ----------------------------------------------------------------- */

struct counted {
    int64_t last_ns;
    uint64_t records[2];
    uint64_t marks[2]; /* of what every record has */
    uint64_t dumps;
    uint64_t items;
    uint64_t fail_at;
};

static uint64_t count_text(struct tc_slice text, struct tc_slice what)
{
    uint64_t count = 0;
    for (size_t at; (at = tc_slice_find(text, what)) != TC_NPOS;) {
        count++;
        text = tc_slice_from(text, at + what.len);
    }
    return count;
}

static tc_status count_item(void *context, const struct tc_sim_item *item)
{
    struct counted *c = context;
    if (++c->items == c->fail_at) {
        return TC_E_IO;
    }
    assert_true(item->at_ns >= c->last_ns);
    assert_true(item->at_ns < TC_SIM_START + 40 * 60 * TC_SECOND); /* some arrive late */
    c->last_ns = item->at_ns;
    if (item->signal == TC_SIM_DUMP) {
        c->dumps++;
        return TC_OK;
    }
    assert_true(item->records > 0);
    struct tc_json root;
    assert_int_equal(tc_json_parse(parser, item->text, &root, &err), TC_OK);
    c->records[item->signal] += item->records;
    c->marks[item->signal] += count_text(item->text, TC_LIT("{\"timeUnixNano\":")) +
                              count_text(item->text, TC_LIT(",\"timeUnixNano\":"));
    return TC_OK;
}

struct text {
    char *data;
    size_t len;
};

static tc_status keep(void *context, struct tc_slice bytes)
{
    struct text *t = context;
    t->data = realloc(t->data, t->len + bytes.len);
    memcpy(t->data + t->len, bytes.ptr, bytes.len);
    t->len += bytes.len;
    return TC_OK;
}

static void the_feed_holds_what_the_files_hold(void **state)
{
    (void)state;
    struct tc_sim *sim = make_sim();
    uint64_t logs = 0;
    uint64_t points = 0;
    uint64_t dumps = 0;
    for (size_t i = 0; i < tc_sim_file_count(sim); i++) {
        char path[256];
        struct tc_buf b = tc_buf_make(path, sizeof path);
        struct text text = {0};
        tc_sim_file_path(sim, i, &b);
        assert_int_equal(tc_sim_file_write(sim, i, keep, &text), TC_OK);
        struct tc_slice all = tc_slice_make(text.data, text.len);
        if (tc_slice_starts(tc_buf_slice(&b), TC_LIT("kernel/"))) {
            logs += count_text(all, TC_LIT("\n"));
        } else if (tc_slice_starts(tc_buf_slice(&b), TC_LIT("dcgm/"))) {
            points += count_text(all, TC_LIT("\n")) - count_text(all, TC_LIT("# TYPE"));
        } else if (tc_slice_starts(tc_buf_slice(&b), TC_LIT("dumps/"))) {
            dumps++;
        } else if (!tc_slice_starts(tc_buf_slice(&b), TC_LIT("truth"))) {
            logs += count_text(all, TC_LIT("{\"timeUnixNano\":")) +
                    count_text(all, TC_LIT(",\"timeUnixNano\":")) +
                    count_text(all, TC_LIT("{\"observedTimeUnixNano\":"));
        }
        free(text.data);
    }
    struct tc_sim_feed *feed = tc_sim_feed_create(sim, TC_SIM_AS_OTLP);
    struct counted c = {0};
    while (tc_sim_feed_time(feed) != TC_TIME_MAX) {
        assert_int_equal(tc_sim_feed_next(feed, count_item, &c), TC_OK);
    }
    assert_int_equal(tc_sim_feed_next(feed, count_item, &c), TC_OK); /* nothing more */
    tc_sim_feed_destroy(feed);
    assert_true(logs > 1000 && points > 10000 && dumps > 0);
    assert_int_equal(c.records[TC_SIM_LOGS], logs);
    assert_int_equal(c.records[TC_SIM_METRICS], points);
    assert_int_equal(c.marks[TC_SIM_METRICS], points);
    assert_int_equal(c.dumps, dumps);
    tc_sim_destroy(sim);
}

static tc_status keep_item(void *context, const struct tc_sim_item *item)
{
    struct text *files = context;
    return item->signal == TC_SIM_DUMP ? TC_OK : keep(&files[item->file], item->text);
}

static void as_files_the_feed_is_what_they_hold(void **state)
{
    (void)state;
    struct tc_sim *sim = make_sim();
    size_t count = tc_sim_file_count(sim);
    struct text *files = calloc(count, sizeof *files);
    struct tc_sim_feed *feed = tc_sim_feed_create(sim, TC_SIM_AS_FILES);
    while (tc_sim_feed_time(feed) != TC_TIME_MAX) {
        assert_int_equal(tc_sim_feed_next(feed, keep_item, files), TC_OK);
    }
    tc_sim_feed_destroy(feed);
    size_t compared = 0;
    for (size_t i = 0; i < count; i++) {
        char path[256];
        struct tc_buf b = tc_buf_make(path, sizeof path);
        struct text text = {0};
        tc_sim_file_path(sim, i, &b);
        assert_int_equal(tc_sim_file_write(sim, i, keep, &text), TC_OK);
        /* Files of Kubernetes have several records a line. */
        if (files[i].len > 0 && !tc_slice_starts(tc_buf_slice(&b), TC_LIT("k8s/"))) {
            assert_int_equal(files[i].len, text.len);
            assert_memory_equal(files[i].data, text.data, text.len);
            compared++;
        }
        free(text.data);
        free(files[i].data);
    }
    assert_true(compared > 12);
    free(files);
    tc_sim_destroy(sim);
}

static void a_failing_taker_stops_the_feed(void **state)
{
    (void)state;
    struct tc_sim *sim = make_sim();
    struct tc_sim_feed *feed = tc_sim_feed_create(sim, TC_SIM_AS_OTLP);
    struct counted c = {.fail_at = 500};
    tc_status status = TC_OK;
    while (status == TC_OK) {
        status = tc_sim_feed_next(feed, count_item, &c);
    }
    assert_int_equal(status, TC_E_IO);
    assert_int_equal(c.items, 500);
    tc_sim_feed_destroy(feed);
    tc_sim_destroy(sim);
}

/* ---- protobuf ------------------------------------------------------------------------------ */

static void assert_bytes(enum tc_sim_signal signal, const char *json, const char *hex)
{
    char bytes[4096];
    char got[8193];
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    assert_int_equal(tc_sim_protobuf(&b, parser, signal, tc_slice_cstr(json), &err), TC_OK);
    for (size_t i = 0; i < b.len; i++) {
        (void)snprintf(got + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
    }
    got[2 * b.len] = '\0';
    assert_string_equal(got, hex);
}

static void messages_have_their_bytes(void **state)
{
    (void)state;
    assert_bytes(TC_SIM_LOGS, "{}", "0a00");
    /* resource: attributes: one, a string */
    assert_bytes(TC_SIM_LOGS,
                 "{\"resource\":{\"attributes\":[{\"key\":\"a\",\"value\":{\"stringValue\":\"b\"}}]"
                 "}}",
                 "0a0c0a0a0a080a016112030a0162");
    /* a record: fixed64, a varint, the body as a map with a negative integer, a double, a list */
    assert_bytes(
        TC_SIM_LOGS,
        "{\"scopeLogs\":[{\"scope\":{},\"logRecords\":[{\"timeUnixNano\":\"258\","
        "\"severityNumber\":17,\"body\":{\"kvlistValue\":{\"values\":[{\"key\":\"i\","
        "\"value\":{\"intValue\":\"-1\"}},{\"key\":\"d\",\"value\":{\"doubleValue\":1.5}},{"
        "\"key\":\"l\",\"value\":{\"arrayValue\":{\"values\":[{\"boolValue\":true},{}]}}}]}"
        "}}]}]}",
        "0a46"               /* resource_logs */
        "1244"               /* scope_logs */
        "0a00"               /* scope */
        "1240"               /* log_records */
        "090201000000000000" /* time */
        "1011"               /* severity */
        "2a333231"           /* body: kvlist */
        "0a100a0169120b18ffffffffffffffffff01"
        "0a0e0a0164120921000000000000f83f"
        "0a0d0a016c12082a060a0210010a00");
    assert_bytes(TC_SIM_METRICS,
                 "{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"m\",\"sum\":{"
                 "\"aggregationTemporality\":2,\"isMonotonic\":true,\"dataPoints\":[{"
                 "\"timeUnixNano\":\"1\",\"asDouble\":2,\"attributes\":[]}]}}]}]}",
                 "0a21121f121d0a016d3a18"
                 "10021801"
                 "0a12"
                 "190100000000000000"
                 "210000000000000040");
}

/* Lengths of one, two and three bytes. */
static void long_messages_have_long_lengths(void **state)
{
    (void)state;
    static char json[40000];
    static char bytes[40000];
    static const size_t SIZES[] = {100, 113, 127, 128, 129, 16000, 16383, 16384, 20000};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        int head = snprintf(json, sizeof json,
                            "{\"resource\":{\"attributes\":[{\"key\":\"a\",\"value\":{"
                            "\"stringValue\":\"");
        memset(json + head, 'x', SIZES[i]);
        (void)snprintf(json + head + SIZES[i], 100, "\"}}]}}");
        struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
        assert_int_equal(tc_sim_protobuf(&b, parser, TC_SIM_LOGS, tc_slice_cstr(json), &err),
                         TC_OK);
        /* Down the five messages: each length is what is left of the one around it. */
        size_t at = 0;
        for (int depth = 0; depth < 5; depth++) {
            if (depth == 3) {
                at += 3; /* the key */
            }
            at++;
            size_t len = 0;
            for (unsigned shift = 0;; shift += 7) {
                unsigned char byte = (unsigned char)bytes[at++];
                len |= (size_t)(byte & 0x7f) << shift;
                if (byte < 0x80) {
                    break;
                }
            }
            assert_int_equal(at + len, b.len);
        }
        /* Too little room is said, wherever it ends. */
        b = tc_buf_make(bytes, b.len - 1);
        assert_int_equal(tc_sim_protobuf(&b, parser, TC_SIM_LOGS, tc_slice_cstr(json), &err),
                         TC_OK);
        assert_true(b.overflowed);
    }
}

static void what_is_no_otlp_is_refused(void **state)
{
    (void)state;
    static const char *const BAD[] = {
        "",
        "[]",
        "1",
        "{\"scopeLogs\":[{\"logRecords\":[{\"unknown\":1}]}]}",
        "{\"scopeLogs\":[1]}",
        "{\"scopeLogs\":[[{}]]}",
        "{\"scopeLogs\":[{\"logRecords\":[{\"timeUnixNano\":\"soon\"}]}]}",
        "{\"scopeLogs\":[{\"logRecords\":[{\"severityNumber\":true}]}]}",
        "{\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"stringValue\":1}}]}]}",
        "{\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"boolValue\":1}}]}]}",
        "{\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"doubleValue\":\"x\"}}]}]}",
        "{\"scopeMetrics\":[]}",
    };
    char bytes[256];
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
        assert_int_equal(tc_sim_protobuf(&b, parser, TC_SIM_LOGS, tc_slice_cstr(BAD[i]), &err),
                         TC_E_MALFORMED);
    }
}

/* As deep as JSON may be: the walk has room for it. */
static void the_deepest_value_is_taken(void **state)
{
    (void)state;
    char json[4096] = "{\"scopeLogs\":[{\"logRecords\":[{\"body\":";
    char bytes[4096];
    for (int i = 0; i < 19; i++) {
        (void)snprintf(json + strlen(json), 64, "{\"arrayValue\":{\"values\":[");
    }
    (void)snprintf(json + strlen(json), 64, "{}");
    for (int i = 0; i < 19; i++) {
        (void)snprintf(json + strlen(json), 64, "]}}");
    }
    (void)snprintf(json + strlen(json), 64, "}]}]}");
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    assert_int_equal(tc_sim_protobuf(&b, parser, TC_SIM_LOGS, tc_slice_cstr(json), &err), TC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_feed_holds_what_the_files_hold),
        cmocka_unit_test(as_files_the_feed_is_what_they_hold),
        cmocka_unit_test(a_failing_taker_stops_the_feed),
        cmocka_unit_test(messages_have_their_bytes),
        cmocka_unit_test(long_messages_have_long_lengths),
        cmocka_unit_test(what_is_no_otlp_is_refused),
        cmocka_unit_test(the_deepest_value_is_taken),
    };
    return cmocka_run_group_tests(tests, make_parser, drop_parser);
}
