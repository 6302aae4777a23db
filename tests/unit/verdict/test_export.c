/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "verdict/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char room[1 << 16];
static struct tc_buf b;
static struct tc_json_out j;
static struct tc_error err;
static struct tc_json_parser *parser;

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

static void begin(size_t cap)
{
    struct tc_export_origin origin = {.instance_id = TC_LIT("node \"7\""),
                                      .version = TC_LIT("1.2")};
    b = tc_buf_make(room, cap);
    j = tc_json_out_make(&b);
    tc_export_begin(&j, &origin);
}

static const char *text(void)
{
    room[b.len] = '\0';
    return room;
}

/* It is JSON, and has so many records. */
static void assert_request(size_t records)
{
    struct tc_json root;
    struct tc_json v;
    tc_export_end(&j);
    assert_false(b.overflowed);
    assert_int_equal(tc_json_parse(parser, tc_buf_slice(&b), &root, &err), TC_OK);
    assert_true(tc_json_get(root, TC_LIT("resourceLogs"), &v));
    struct tc_json_iter resources = tc_json_iter_make(v);
    assert_true(tc_json_iter_next(&resources, NULL, &v));
    assert_true(tc_json_get(v, TC_LIT("scopeLogs"), &v));
    struct tc_json_iter scopes = tc_json_iter_make(v);
    assert_true(tc_json_iter_next(&scopes, NULL, &v));
    assert_true(tc_json_get(v, TC_LIT("logRecords"), &v));
    struct tc_json_iter it = tc_json_iter_make(v);
    size_t count = 0;
    while (tc_json_iter_next(&it, NULL, &v)) {
        count++;
    }
    assert_int_equal(count, records);
}

static tc_status add(const char *line)
{
    return tc_export_add(&j, parser, tc_slice_cstr(line), 7 * TC_SECOND, &err);
}

static void a_verdict_becomes_a_log_record(void **state)
{
    (void)state;
    begin(sizeof room);
    assert_int_equal(
        add("{\"pattern.id\":\"3\",\"incident_id\":\"ab\",\"status\":\"open\",\"severity\":"
            "\"critical\",\"headline\":\"GPU 3 \\\"broke\\\"\",\"last_seen\":"
            "\"1970-01-01T00:00:09Z\",\"detected_at\":\"1970-01-01T00:00:10Z\",\"root\":true,"
            "\"rank\":-5,\"ratio\":0.5,\"none\":null,\"big\":18446744073709551615,\"ranks\":[1,2],"
            "\"evidence_trail\":[{\"kind\":\"k\",\"raw\":{\"digest\":\"d\",\"offset\":9}},{}]}"),
        TC_OK);
    assert_string_equal(
        strstr(text(), "{\"timeUnixNano\""),
        "{\"timeUnixNano\":\"10000000000\",\"observedTimeUnixNano\":\"7000000000\","
        "\"severityNumber\":18,\"severityText\":\"critical\",\"eventName\":\"tracecore.verdict\","
        "\"body\":{\"stringValue\":\"GPU 3 \\\"broke\\\"\"},\"attributes\":["
        "{\"key\":\"pattern.id\",\"value\":{\"stringValue\":\"3\"}},"
        "{\"key\":\"incident_id\",\"value\":{\"stringValue\":\"ab\"}},"
        "{\"key\":\"status\",\"value\":{\"stringValue\":\"open\"}},"
        "{\"key\":\"severity\",\"value\":{\"stringValue\":\"critical\"}},"
        "{\"key\":\"headline\",\"value\":{\"stringValue\":\"GPU 3 \\\"broke\\\"\"}},"
        "{\"key\":\"last_seen\",\"value\":{\"stringValue\":\"1970-01-01T00:00:09Z\"}},"
        "{\"key\":\"detected_at\",\"value\":{\"stringValue\":\"1970-01-01T00:00:10Z\"}},"
        "{\"key\":\"root\",\"value\":{\"boolValue\":true}},"
        "{\"key\":\"rank\",\"value\":{\"intValue\":\"-5\"}},"
        "{\"key\":\"ratio\",\"value\":{\"doubleValue\":0.5}},"
        "{\"key\":\"none\",\"value\":{}},"
        "{\"key\":\"big\",\"value\":{\"doubleValue\":1.8446744073709552e+19}},"
        "{\"key\":\"ranks\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"1\"},"
        "{\"intValue\":\"2\"}]}}},"
        "{\"key\":\"evidence_trail\",\"value\":{\"arrayValue\":{\"values\":["
        "{\"kvlistValue\":{\"values\":[{\"key\":\"kind\",\"value\":{\"stringValue\":\"k\"}},"
        "{\"key\":\"raw\",\"value\":{\"kvlistValue\":{\"values\":[{\"key\":\"digest\",\"value\":"
        "{\"stringValue\":\"d\"}},{\"key\":\"offset\",\"value\":{\"intValue\":\"9\"}}]}}}]}},"
        "{\"kvlistValue\":{\"values\":[]}}]}}}]}");
    assert_request(1);
}

static void its_resource_names_this_program(void **state)
{
    (void)state;
    begin(sizeof room);
    assert_request(0);
    assert_non_null(
        strstr(text(), "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"tracecore\"}}"));
    assert_non_null(strstr(text(), "{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":"
                                   "\"node \\\"7\\\"\"}}"));
    assert_non_null(
        strstr(text(), "\"scope\":{\"name\":\"tracecore.verdict\",\"version\":\"1.2\"}"));
    struct tc_export_origin nobody = {0};
    b = tc_buf_make(room, sizeof room);
    j = tc_json_out_make(&b);
    tc_export_begin(&j, &nobody);
    assert_null(strstr(text(), "service.instance.id"));
    assert_null(strstr(text(), "version"));
    assert_request(0);
}

static void the_time_is_that_of_what_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *time;
    } CASES[] = {
        {"{\"status\":\"open\",\"detected_at\":\"1970-01-01T00:00:10Z\",\"last_seen\":\"1970-01-"
         "01T00:00:09Z\"}",
         "10000000000"},
        {"{\"status\":\"open\",\"last_seen\":\"1970-01-01T00:00:09Z\"}", "9000000000"},
        {"{\"status\":\"updated\",\"detected_at\":\"1970-01-01T00:00:10Z\",\"last_seen\":\"1970-01-"
         "01T00:00:19Z\"}",
         "19000000000"},
        {"{\"status\":\"resolved\",\"detected_at\":\"1970-01-01T00:00:10Z\",\"last_seen\":\"1970-"
         "01-01T00:00:29Z\"}",
         "29000000000"},
        {"{\"status\":\"open\",\"detected_at\":\"soon\",\"last_seen\":\"later\"}", "7000000000"},
        {"{}", "7000000000"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        begin(sizeof room);
        assert_int_equal(add(CASES[i].line), TC_OK);
        char want[64];
        (void)snprintf(want, sizeof want, "{\"timeUnixNano\":\"%s\"", CASES[i].time);
        assert_non_null(strstr(text(), want));
    }
}

static void severities_have_their_numbers(void **state)
{
    (void)state;
    begin(sizeof room);
    assert_int_equal(add("{\"severity\":\"info\"}"), TC_OK);
    assert_non_null(strstr(text(), "\"severityNumber\":9,\"severityText\":\"info\""));
    assert_int_equal(add("{\"severity\":\"warning\"}"), TC_OK);
    assert_non_null(strstr(text(), "\"severityNumber\":13,\"severityText\":\"warning\""));
    begin(sizeof room);
    assert_int_equal(add("{\"severity\":\"odd\"}"), TC_OK);
    assert_null(strstr(text(), "severityNumber"));
    assert_request(1);
}

static void what_is_no_verdict_adds_nothing(void **state)
{
    (void)state;
    begin(sizeof room);
    assert_int_equal(add("{\"a\":1}"), TC_OK);
    size_t len = b.len;
    assert_int_equal(add("{\"a\":"), TC_E_MALFORMED);
    assert_int_equal(add("[1]"), TC_E_MALFORMED);
    assert_int_equal(add(""), TC_E_MALFORMED);
    /* Sixteen levels are taken, with the verdict itself; seventeen are not. */
    assert_int_equal(add("{\"a\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]}"), TC_OK);
    b.len = len;
    assert_int_equal(add("{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}"), TC_E_MALFORMED);
    assert_int_equal(b.len, len);
    assert_request(1);
}

/* Whatever the room is, the request can be ended. */
static void a_full_request_can_still_be_ended(void **state)
{
    (void)state;
    begin(sizeof room);
    size_t head = b.len;
    for (size_t cap = head + 8; cap < head + 600; cap++) {
        begin(cap);
        size_t records = 0;
        while (add("{\"a\":1,\"b\":[\"x\"]}") == TC_OK) {
            records++;
        }
        assert_int_equal(err.status, TC_E_LIMIT);
        assert_request(records);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_becomes_a_log_record),
        cmocka_unit_test(its_resource_names_this_program),
        cmocka_unit_test(the_time_is_that_of_what_is_told),
        cmocka_unit_test(severities_have_their_numbers),
        cmocka_unit_test(what_is_no_verdict_adds_nothing),
        cmocka_unit_test(a_full_request_can_still_be_ended),
    };
    return cmocka_run_group_tests(tests, make_parser, drop_parser);
}
