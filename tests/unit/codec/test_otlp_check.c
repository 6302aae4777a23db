/* SPDX-License-Identifier: Apache-2.0 */
/* What is a well-formed request and what is not, in both notations, with each limit on both sides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/otlp/tape_priv.h"
#include "codec/otlp/wire.h"
#include "support/otlp_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX ((size_t)1 << 20)

static struct {
    struct tc_otlp_reader *reader;
    struct tc_otlp_counts counts;
    struct tc_otlp_tape tape; /* of the last body, whose bytes are gone */
    struct tc_error err;
} t;

static int setup(void **state)
{
    (void)state;
    t.reader = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, BODY_MAX);
    return t.reader == NULL;
}

static int teardown(void **state)
{
    (void)state;
    tc_otlp_reader_destroy(t.reader);
    return 0;
}

/* A copy that ends where its block ends, so that a read past it is seen. */
static tc_status check(enum tc_otlp_signal signal, enum tc_otlp_form form, const char *bytes,
                       size_t len)
{
    char *copy = malloc(len == 0 ? 1 : len);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    t.err = (struct tc_error){0};
    struct tc_otlp_tape tape = {0};
    tc_status status =
        tc_otlp_check(t.reader, signal, form, tc_slice_make(copy, len), &tape, &t.err);
    t.counts = tape.counts;
    t.tape = tape;
    assert_true(status == TC_OK || t.err.offset <= len);
    assert_true(status == t.err.status);
    free(copy);
    return status;
}

static tc_status json(const char *text)
{
    return check(TC_OTLP_LOGS, TC_OTLP_JSON, text, strlen(text));
}

static tc_status metrics_json(const char *text)
{
    return check(TC_OTLP_METRICS, TC_OTLP_JSON, text, strlen(text));
}

/* ---- protobuf, put together by hand ---- */

struct bytes {
    char data[BODY_MAX / 2];
    size_t len;
};

static struct bytes made[2];

static void put(struct bytes *b, const char *from, size_t len)
{
    assert_true(b->len + len <= sizeof b->data);
    memmove(b->data + b->len, from, len);
    b->len += len;
}

static void varint(struct bytes *b, uint64_t v)
{
    do {
        char byte = (char)(unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        put(b, &byte, 1);
        v >>= 7;
    } while (v > 0);
}

/* Puts the message b under a field of a new one, in place. */
static void wrap(struct bytes *b, unsigned number)
{
    struct bytes *other = &made[1];
    other->len = 0;
    varint(other, (uint64_t)number << 3 | 2);
    varint(other, b->len);
    put(other, b->data, b->len);
    memcpy(b->data, other->data, other->len);
    b->len = other->len;
}

/* A request with one log record, metric or span of these bytes. */
static tc_status record(enum tc_otlp_signal signal, const char *bytes, size_t len)
{
    made[0].len = 0;
    put(&made[0], bytes, len);
    wrap(&made[0], 2);
    wrap(&made[0], 2);
    wrap(&made[0], 1);
    return check(signal, TC_OTLP_PROTOBUF, made[0].data, made[0].len);
}

#define LOG(bytes) record(TC_OTLP_LOGS, bytes, sizeof(bytes) - 1)
#define METRIC(bytes) record(TC_OTLP_METRICS, bytes, sizeof(bytes) - 1)
#define SPAN(bytes) record(TC_OTLP_TRACES, bytes, sizeof(bytes) - 1)
#define SAYS(text) assert_non_null(strstr(t.err.message, text))

static void protobuf_that_is_malformed_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *why;
    } cases[] = {
#define CASE(bytes, why) {bytes, sizeof(bytes) - 1, why}
        CASE("\x02\x00", "field number 0"),
        CASE("\x00", "field number 0"),
        CASE("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", "more than 64 bits"),
        CASE("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "more than 64 bits"),
        CASE("\xf8\xff\xff\xff\xff\x01\x00", "too large"),
        CASE("\x10\x80", "cut off inside a varint"),
        CASE("\x10", "cut off inside a varint"),
        CASE("\x09\x01\x02", "cut off inside a number"),
        CASE("\x45\x01", "cut off inside a number"),
        CASE("\x1a\x05"
             "ab",
             "past the end"),
        CASE("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "past the end"),
        CASE("\x2a\x7f", "past the end"),
        CASE("\x0b", "group"),
        CASE("\x0c", "group"),
        CASE("\xa3\x06", "group"),     /* of an unknown field */
        CASE("\xa6\x06", "wire type"), /* 6 is none */
        CASE("\x08\x01", "wire type"), /* timeUnixNano as a varint */
        CASE("\x18\x01", "wire type"), /* severityText */
        CASE("\x28\x01", "wire type"), /* body */
        CASE("\x4a\x03"
             "abc",
             "id of a wrong length"),
        CASE("\x52\x03"
             "abc",
             "id of a wrong length"),
        CASE("\x52\x10"
             "0123456789abcdef",
             "id of a wrong length"),
        CASE("\x2a\x02\x0a\x05", "past the end"),  /* inside of the body */
        CASE("\x2a\x03\x2a\x01\x08", "wire type"), /* a value in an array */
        CASE("\x32\x04\x0a\x01"
             "k\x08",
             "wire type"), /* behind a key */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(record(TC_OTLP_LOGS, cases[i].bytes, cases[i].len), TC_E_MALFORMED);
        if (strstr(t.err.message, cases[i].why) == NULL) {
            print_error("case %zu: %s\n", i, t.err.message);
        }
        SAYS(cases[i].why);
        SAYS("resourceLogs.scopeLogs.logRecords");
        assert_true(t.err.offset >= 6);
    }
    assert_int_equal(SPAN("\x0a\x03"
                          "abc"),
                     TC_E_MALFORMED);
    SAYS("traceId");
    assert_int_equal(SPAN("\x6a\x05\x12\x03"
                          "abc"),
                     TC_E_MALFORMED);
    SAYS("links.spanId");
    assert_int_equal(METRIC("\x0a\x01n\x4a\x06\x0a\x04\x32\x02\x01\x02"), TC_E_MALFORMED);
    SAYS("bucketCounts");
    /* Cut off anywhere. */
    static const char whole[] = "\x09\x01\x02\x03\x04\x05\x06\x07\x08\x1a\x02hi\x2a\x04\x0a\x02hi"
                                "\x32\x0a\x0a\x03key\x12\x03\x0a\x01v";
    assert_int_equal(LOG(whole), TC_OK);
    struct bytes request = made[0];
    for (size_t cut = 1; cut < request.len; cut++) {
        assert_int_equal(check(TC_OTLP_LOGS, TC_OTLP_PROTOBUF, request.data, cut), TC_E_MALFORMED);
    }
}

static void protobuf_that_is_odd_but_right_is_taken(void **state)
{
    (void)state;
    assert_int_equal(check(TC_OTLP_LOGS, TC_OTLP_PROTOBUF, "", 0), TC_OK);
    assert_int_equal(t.counts.records, 0);
    assert_int_equal(check(TC_OTLP_LOGS, TC_OTLP_PROTOBUF, "\x0a\x00", 2), TC_OK);
    assert_int_equal(LOG(""), TC_OK);
    assert_int_equal(t.counts.records, 1);
    /* Unknown fields of each wire type; an attribute without value, without key; empty ids. */
    assert_int_equal(LOG("\xa0\x06\x01\xa1\x06\x01\x02\x03\x04\x05\x06\x07\x08\xa2\x06\x01x\xa5\x06"
                         "\x01\x02\x03\x04"),
                     TC_OK);
    assert_int_equal(LOG("\x32\x03\x0a\x01k"), TC_OK);
    assert_int_equal(LOG("\x32\x00\x32\x02\x12\x00\x2a\x00"), TC_OK);
    assert_int_equal(LOG("\x4a\x00\x52\x00"), TC_OK);
    assert_int_equal(LOG("\x4a\x10"
                         "0123456789abcdef"
                         "\x52\x08"
                         "01234567"),
                     TC_OK);
    /* The longest varint; bytes that are no UTF-8. */
    assert_int_equal(LOG("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), TC_OK);
    assert_int_equal(LOG("\x1a\x03\xff\xfe\x00"), TC_OK);
    /* Packed numbers and single ones. */
    assert_int_equal(METRIC("\x4a\x0c\x0a\x0a\x32\x08\x01\x00\x00\x00\x00\x00\x00\x00"), TC_OK);
    assert_int_equal(METRIC("\x4a\x0b\x0a\x09\x31\x01\x00\x00\x00\x00\x00\x00\x00"), TC_OK);
    assert_int_equal(t.counts.records, 1);
    assert_int_equal(METRIC("\x2a\x04\x0a\x00\x0a\x00"), TC_OK);
    assert_int_equal(t.counts.records, 2);
    assert_int_equal(SPAN("\x0a\x10"
                          "0123456789abcdef"),
                     TC_OK);
    assert_int_equal(t.counts.records, 1);
}

#define RECORD(members) "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{" members "}]}]}]}"
#define POINT(members)                                                                   \
    "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"m\",\"gauge\":{" \
    "\"dataPoints\":[{" members "}]}}]}]}]}"

static void json_that_is_malformed_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"[]", "an object"},
        {"{", "a string"},
        {"{}x", "more behind"},
        {"{\"resourceLogs\"}", "colon"},
        {"{\"resourceLogs\":{}}", "resourceLogs: a list"},
        {"{\"resourceLogs\":[1]}", "resourceLogs: an object"},
        {"{\"resourceLogs\":[{}{}]}", "comma"},
        {"{\"resourceLogs\":[{},]}", "an object"},
        {"{\"resourceLogs\":[],}", "a string"},
        {"{\"resourceLogs\":[]", "comma"},
        {RECORD("\"timeUnixNano\":true"), "number"},
        {RECORD("\"timeUnixNano\":\"-1\""), "out of range"},
        {RECORD("\"timeUnixNano\":\"18446744073709551616\""), "out of range"},
        {RECORD("\"timeUnixNano\":1.5"), "out of range"},
        {RECORD("\"timeUnixNano\":\"abc\""), "timeUnixNano: an integer"},
        {RECORD("\"timeUnixNano\":\"\""), "an integer"},
        {RECORD("\"timeUnixNano\":01"), "begins with 0"},
        {RECORD("\"timeUnixNano\":1."), "behind its point"},
        {RECORD("\"timeUnixNano\":1e"), "exponent"},
        {RECORD("\"timeUnixNano\":-"), "a number"},
        {RECORD("\"severityNumber\":2147483648"), "out of range"},
        {RECORD("\"severityText\":5"), "severityText: a string"},
        {RECORD("\"flags\":4294967296"), "out of range"},
        {RECORD("\"flags\":-1"), "out of range"},
        {RECORD("\"body\":\"text\""), "body: an object"},
        {RECORD("\"body\":{\"intValue\":\"9223372036854775808\"}"), "out of range"},
        {RECORD("\"body\":{\"intValue\":\"-9223372036854775809\"}"), "out of range"},
        {RECORD("\"body\":{\"boolValue\":1}"), "true or false"},
        {RECORD("\"body\":{\"doubleValue\":\"x\"}"), "a number"},
        {RECORD("\"body\":{\"doubleValue\":1e999}"), "out of range"},
        {RECORD("\"body\":{\"bytesValue\":\"a\"}"), "base64"},
        {RECORD("\"body\":{\"bytesValue\":\"ab*=\"}"), "base64"},
        {RECORD("\"body\":{\"arrayValue\":[]}"), "arrayValue: an object"},
        {RECORD("\"body\":{\"stringValue\":\"a\\x\"}"), "escape"},
        {RECORD("\"body\":{\"stringValue\":\"a\\u12g4\"}"), "escape"},
        {RECORD("\"body\":{\"stringValue\":\"a\nb\"}"), "control character"},
        {RECORD("\"body\":{\"stringValue\":\"a"), "does not end"},
        {RECORD("\"attributes\":{}"), "attributes: a list"},
        {RECORD("\"attributes\":[{\"key\":1}]"), "attributes.key: a string"},
        {RECORD("\"traceId\":\"abc\""), "wrong length"},
        {RECORD("\"traceId\":\"0123456789abcdef0123456789abcdeg\""), "hex"},
        {RECORD("\"spanId\":\"0123456789abcdef0123456789abcdef\""), "wrong length"},
        {RECORD("\"unknown\":[1,{\"a\":tru}]"), "number"},
        {RECORD("\"unknown\":[1 2]"), "comma"},
        {RECORD("\"unknown\":{\"a\" 2}"), "colon"},
        {RECORD("\"unknown\":{1:2}"), "string"},
        {RECORD("\"unknown\":[1}"), "comma"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tc_status status = json(cases[i].text);
        if (status != TC_E_MALFORMED || strstr(t.err.message, cases[i].why) == NULL) {
            print_error("case %zu: %s\n%s\n", i, t.err.message, cases[i].text);
        }
        assert_int_equal(status, TC_E_MALFORMED);
        SAYS(cases[i].why);
    }
    assert_int_equal(json(RECORD("\"severityText\":5")), TC_E_MALFORMED);
    assert_string_equal(t.err.message,
                        "resourceLogs.scopeLogs.logRecords.severityText: a string is expected");
    assert_int_equal(t.err.offset, strlen("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{"
                                          "\"severityText\":"));
    assert_int_equal(metrics_json(POINT("\"asDouble\":\"x\"")), TC_E_MALFORMED);
    assert_int_equal(metrics_json(POINT("\"flags\":-1")), TC_E_MALFORMED);
    static const char whole[] =
        RECORD("\"timeUnixNano\":\"1\",\"severityNumber\":9,\"body\":{\"arrayValue\":{\"values\":["
               "{\"intValue\":1},{\"stringValue\":\"a\\n\"}]}},\"x\":[{\"y\":null},true,-1.5e3]");
    assert_int_equal(json(whole), TC_OK);
    for (size_t cut = 1; cut < sizeof whole - 1; cut++) {
        assert_int_equal(check(TC_OTLP_LOGS, TC_OTLP_JSON, whole, cut), TC_E_MALFORMED);
    }
}

static void json_that_is_odd_but_right_is_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        " \n\t\r{ } ",
        "{\"resourceLogs\":null}",
        "{ \"resourceLogs\" : [ { } , { } ] }",
        RECORD(""),
        RECORD("\"timeUnixNano\":1772359501000000000,\"observedTimeUnixNano\":\"0\""),
        RECORD("\"timeUnixNano\":\"18446744073709551615\""),
        RECORD("\"timeUnixNano\":1e3,\"flags\":4294967295,\"severityNumber\":-2147483648"),
        RECORD("\"severityNumber\":\"SEVERITY_NUMBER_WARN\""),
        RECORD("\"body\":{},\"attributes\":[{},{\"key\":\"k\"},{\"key\":\"k\",\"value\":null},"
               "{\"value\":{}}]"),
        RECORD("\"body\":{\"intValue\":-9223372036854775808}"),
        RECORD("\"body\":{\"intValue\":\"9223372036854775807\"}"),
        RECORD("\"body\":{\"doubleValue\":\"NaN\"}"),
        RECORD("\"body\":{\"doubleValue\":\"-Infinity\"}"),
        RECORD("\"body\":{\"doubleValue\":-0.5e-10}"),
        RECORD("\"body\":{\"bytesValue\":\"AQID/-_+\"}"),
        RECORD("\"body\":{\"bytesValue\":\"AQI=\"}"),
        RECORD("\"body\":{\"boolValue\":false}"),
        RECORD("\"body\":{\"stringValue\":\"\\ud83d\\ude00 \\ud83d \\u00e9\\/\\\"\"}"),
        RECORD("\"body\":{\"stringValue\":\"\xff\xfe\"}"),
        RECORD("\"traceId\":\"\",\"spanId\":\"0123456789abcDEF\""),
        RECORD("\"unknown\":{\"a\":[1,2.5,\"x\",null,true,{}],\"b\":{}},\"more\":[]"),
        RECORD("\"\\u0062ody\":{\"stringValue\":\"x\"}"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (json(texts[i]) != TC_OK) {
            print_error("case %zu: %s\n%s\n", i, t.err.message, texts[i]);
        }
        assert_int_equal(t.err.status, TC_OK);
    }
    assert_int_equal(check(TC_OTLP_LOGS, TC_OTLP_JSON, "", 0), TC_OK);
    assert_int_equal(metrics_json(POINT("\"asInt\":\"-5\",\"exemplars\":[{\"spanId\":\"\"}]")),
                     TC_OK);
    assert_int_equal(t.counts.records, 1);
}

/* {"arrayValue":{"values":[ ... ]}} to that depth. */
static tc_status nested_json(size_t depth)
{
    static char text[BODY_MAX];
    size_t len = 0;
    len += (size_t)snprintf(text, sizeof text, "%s",
                            "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"body\":");
    for (size_t i = 1; i < depth; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "{\"arrayValue\":{\"values\":[");
    }
    len += (size_t)snprintf(text + len, sizeof text - len, "{}");
    for (size_t i = 1; i < depth; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "]}}");
    }
    len += (size_t)snprintf(text + len, sizeof text - len, "}]}]}]}");
    return check(TC_OTLP_LOGS, TC_OTLP_JSON, text, len);
}

static tc_status nested_protobuf(size_t depth, bool pairs)
{
    made[0].len = 0;
    for (size_t i = 1; i < depth; i++) {
        if (pairs) {
            wrap(&made[0], 2); /* KeyValue.value */
        }
        wrap(&made[0], 1);
        wrap(&made[0], pairs ? 6 : 5);
    }
    wrap(&made[0], 5);
    wrap(&made[0], 2);
    wrap(&made[0], 2);
    wrap(&made[0], 1);
    return check(TC_OTLP_LOGS, TC_OTLP_PROTOBUF, made[0].data, made[0].len);
}

static tc_status unknown_json(size_t depth)
{
    static char text[BODY_MAX];
    size_t len = (size_t)snprintf(text, sizeof text, "{\"x\":");
    memset(text + len, '[', depth);
    memset(text + len + depth, ']', depth);
    len += 2 * depth;
    text[len++] = '}';
    return check(TC_OTLP_LOGS, TC_OTLP_JSON, text, len);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(nested_json(64), TC_OK);
    assert_int_equal(nested_json(65), TC_E_MALFORMED);
    SAYS("nested too deeply");
    assert_int_equal(nested_json(15000), TC_E_MALFORMED);
    assert_int_equal(nested_protobuf(64, false), TC_OK);
    assert_int_equal(nested_protobuf(65, false), TC_E_MALFORMED);
    SAYS("nested too deeply");
    assert_int_equal(nested_protobuf(64, true), TC_OK);
    assert_int_equal(nested_protobuf(65, true), TC_E_MALFORMED);
    assert_int_equal(nested_protobuf(10001, false), TC_E_MALFORMED);
    assert_int_equal(unknown_json(64), TC_OK);
    assert_int_equal(unknown_json(65), TC_E_MALFORMED);
    assert_int_equal(unknown_json(100000), TC_E_MALFORMED);
    struct tc_otlp_limits limits = TC_OTLP_LIMITS_DEFAULT;
    limits.depth_max = 1000000;
    tc_otlp_reader_limit(t.reader, &limits);
    assert_int_equal(nested_json(1024), TC_OK);
    assert_int_equal(nested_json(1025), TC_E_MALFORMED);
    assert_int_equal(nested_protobuf(1024, true), TC_OK);
    assert_int_equal(nested_protobuf(1025, true), TC_E_MALFORMED);
    assert_int_equal(unknown_json(1024), TC_OK);
    assert_int_equal(unknown_json(1025), TC_E_MALFORMED);
}

/* A list of so many of `item`, and `last` behind them, where JSON has `before` and `behind`. */
static tc_status listed_json(const char *before, const char *item, size_t count, const char *behind)
{
    static char text[BODY_MAX];
    size_t len = (size_t)snprintf(text, sizeof text, "%s", before);
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i == 0 ? "" : ",", item);
    }
    len += (size_t)snprintf(text + len, sizeof text - len, "%s", behind);
    return check(TC_OTLP_LOGS, TC_OTLP_JSON, text, len);
}

/* The same in protobuf: the item's bytes, then the fields around them, innermost first. */
static tc_status listed_protobuf(const char *item, size_t item_len, size_t count,
                                 const char *fields)
{
    made[0].len = 0;
    for (size_t i = 0; i < count; i++) {
        put(&made[0], item, item_len);
    }
    for (; *fields != '\0'; fields++) {
        wrap(&made[0], (unsigned)(*fields - '0'));
    }
    return check(TC_OTLP_LOGS, TC_OTLP_PROTOBUF, made[0].data, made[0].len);
}

#define TO_RECORDS "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":["

static void objects_are_counted_while_they_are_read(void **state)
{
    (void)state;
    struct tc_otlp_limits limits = TC_OTLP_LIMITS_DEFAULT;
    limits.objects_max = 1000;
    tc_otlp_reader_limit(t.reader, &limits);
    assert_int_equal(listed_json("{\"resourceLogs\":[", "{}", 1000, "]}"), TC_OK);
    assert_int_equal(listed_json("{\"resourceLogs\":[", "{}", 1001, "]}"), TC_E_LIMIT);
    SAYS("more than 1000 objects in one request (limits.objects)");
    assert_true(t.err.offset < 1001 * 3 + 20);
    assert_int_equal(listed_json("{\"resourceLogs\":[", "{}", 300000, "]}"), TC_E_LIMIT);
    assert_true(t.err.offset < 1001 * 3 + 20); /* the rest is not read */
    assert_int_equal(listed_protobuf("\x0a\x00", 2, 1000, ""), TC_OK);
    assert_int_equal(listed_protobuf("\x0a\x00", 2, 200000, ""), TC_E_LIMIT);
    SAYS("limits.objects");
    assert_int_equal(t.err.offset, 2002);
    /* A resource, a scope, and records. */
    assert_int_equal(listed_json(TO_RECORDS, "{}", 998, "]}]}]}"), TC_OK);
    assert_int_equal(listed_json(TO_RECORDS, "{}", 999, "]}]}]}"), TC_E_LIMIT);
    assert_int_equal(listed_protobuf("\x12\x00", 2, 998, "21"), TC_OK);
    assert_int_equal(listed_protobuf("\x12\x00", 2, 999, "21"), TC_E_LIMIT);
    /* An attribute is two, in the common form and in any other, in both notations. */
    const char *common = "{\"key\":\"a\",\"value\":{\"intValue\":\"1\"}}";
    const char *other = "{\"value\": {\"intValue\":1}, \"key\":\"a\"}";
    const char *before = TO_RECORDS "{\"attributes\":[";
    assert_int_equal(listed_json(before, common, 498, "]}]}]}]}"), TC_OK);
    assert_int_equal(listed_json(before, common, 499, "]}]}]}]}"), TC_E_LIMIT);
    assert_int_equal(listed_json(before, other, 498, "]}]}]}]}"), TC_OK);
    assert_int_equal(listed_json(before, other, 499, "]}]}]}]}"), TC_E_LIMIT);
    const char quick[] = "\x32\x07\x0a\x01"
                         "a\x12\x02\x18\x01";
    const char slow[] = "\x32\x07\x12\x02\x18\x01\x0a\x01"
                        "a";
    assert_int_equal(listed_protobuf(quick, sizeof quick - 1, 498, "221"), TC_OK);
    assert_int_equal(listed_protobuf(quick, sizeof quick - 1, 499, "221"), TC_E_LIMIT);
    assert_int_equal(listed_protobuf(slow, sizeof slow - 1, 498, "221"), TC_OK);
    assert_int_equal(listed_protobuf(slow, sizeof slow - 1, 499, "221"), TC_E_LIMIT);
    /* Without a bound only the tape is one. */
    limits.objects_max = 0;
    tc_otlp_reader_limit(t.reader, &limits);
    assert_int_equal(listed_json(TO_RECORDS, "{}", 300000, "]}]}]}"), TC_OK);
    assert_int_equal(t.counts.records, 300000);
}

static void verifying_says_the_same_and_keeps_nothing(void **state)
{
    (void)state;
    struct tc_otlp_reader *small = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, 4096);
    struct tc_otlp_counts counts = {0};
    struct tc_slice good = TC_LIT(TO_RECORDS "{\"body\":{\"stringValue\":\"x\"}},{}]}]}]}");
    struct tc_slice bad = TC_LIT(TO_RECORDS "{\"body\":{\"intValue\":\"x\"}}]}]}]}");
    assert_non_null(small);
    assert_int_equal(tc_otlp_verify(small, TC_OTLP_LOGS, TC_OTLP_JSON, good, &counts, &t.err),
                     TC_OK);
    assert_int_equal(counts.records, 2);
    assert_int_equal(tc_otlp_verify(small, TC_OTLP_LOGS, TC_OTLP_JSON, bad, &counts, &t.err),
                     TC_E_MALFORMED);
    tc_otlp_reader_destroy(small);
}

#define SMALL                 \
    ((struct tc_otlp_limits){ \
        .depth_max = 4, .attributes_max = 2, .key_bytes_max = 4, .value_bytes_max = 8})
#define KV(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"

static void assert_counts(const char *text, uint64_t records, uint64_t rejected, const char *why)
{
    tc_otlp_reader_limit(t.reader, &SMALL);
    assert_int_equal(json(text), TC_OK);
    assert_int_equal(t.counts.records, records);
    assert_int_equal(t.counts.rejected, rejected);
    if (why == NULL) {
        assert_null(t.counts.why);
    } else {
        assert_non_null(strstr(t.counts.why, why));
    }
}

static void records_over_a_limit_are_rejected_and_the_rest_is_taken(void **state)
{
    (void)state;
    assert_counts(RECORD("\"attributes\":[" KV("abcd", "12345678") "," KV("b", "") "]"), 1, 0,
                  NULL);
    assert_counts(RECORD("\"attributes\":[" KV("a", "") "," KV("b", "") "," KV("c", "") "]"), 1, 1,
                  "too many attributes");
    assert_counts(RECORD("\"attributes\":[" KV("abcde", "") "]"), 1, 1, "key");
    assert_counts(RECORD("\"attributes\":[" KV("a", "123456789") "]"), 1, 1, "string");
    assert_counts(RECORD("\"body\":{\"stringValue\":\"123456789\"}},{"), 2, 1, "string");
    assert_counts(RECORD("\"body\":{\"kvlistValue\":{\"values\":[" KV("abcde", "") "]}}},{},{"), 3,
                  1, "key");
    /* A resource or a scope over a limit takes its records with it. */
    assert_counts(
        "{\"resourceLogs\":[{\"resource\":{\"attributes\":[" KV(
            "abcde", "") "]},"
                         "\"scopeLogs\":[{\"logRecords\":[{},{}]},{\"logRecords\":[{}]}]},"
                         "{\"scopeLogs\":[{\"logRecords\":[{}]}]}]}",
        4, 3, "key");
    assert_counts("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{},{}],\"scope\":{"
                  "\"attributes\":[" KV("abcde", "") "]}},{\"logRecords\":[{}]}]}]}",
                  3, 2, "key");
    /* The same in protobuf: a body of nine bytes, of eight. */
    assert_int_equal(LOG("\x2a\x0b\x0a\x09"
                         "123456789"),
                     TC_OK);
    assert_int_equal(t.counts.rejected, 1);
    assert_int_equal(LOG("\x2a\x0a\x0a\x08"
                         "12345678"),
                     TC_OK);
    assert_int_equal(t.counts.rejected, 0);
    assert_int_equal(LOG("\x32\x00\x32\x00\x32\x00"), TC_OK);
    assert_int_equal(t.counts.rejected, 1);
    assert_int_equal(SPAN("\x4a\x00\x4a\x00\x4a\x00"), TC_OK);
    assert_int_equal(t.counts.rejected, 1);
}

#define DATA_POINT(a, b) "{\"attributes\":[" KV("a", a) "," KV("b", b) "],\"asDouble\":1}"
#define SCRAPED(points) "{\"name\":\"m\",\"gauge\":{\"dataPoints\":[" points "]}}"

/* The attributes of the tape in the order of its nodes: "a=1,b=2;". How many were not read again.
 */
static size_t list_attributes(const struct tc_otlp_tape *tape, char *out, size_t size)
{
    size_t len = 0;
    size_t again = 0;
    out[0] = '\0';
    for (size_t at = 0; at < tape->count; at++) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        bool is_again = n->type == TC__OTLP_N_AGAIN;
        size_t from = is_again ? n->at : at;
        size_t to = is_again ? from + n->length : n->type == TC__OTLP_N_PAIR ? at + 2 : at;
        assert_true(!is_again || (to <= at && n->length > 0));
        again += is_again;
        for (; from < to; from += 2) {
            n = &tape->nodes[from];
            assert_int_equal(n->type, TC__OTLP_N_PAIR);
            assert_int_equal(n->next, from + 2);
            assert_int_equal(n[1].next, from + 2);
            assert_int_equal(n[1].type, TC__OTLP_N_STRING);
            struct tc_slice key = tc__otlp_node_text(tape, n);
            struct tc_slice value = tc__otlp_node_text(tape, n + 1);
            len +=
                (size_t)snprintf(out + len, size - len, "%.*s=%.*s ", TC_FMT(key), TC_FMT(value));
        }
    }
    return again;
}

/* Data points with the attributes of the metric before, some of them over a limit. */
static void attributes_that_come_again_are_what_they_were(void **state)
{
    (void)state;
    static const struct {
        const char *metrics;
        const char *attributes;
        uint64_t rejected;
        size_t again[2]; /* in protobuf, in JSON */
    } cases[] = {
        {SCRAPED(DATA_POINT("1", "2") "," DATA_POINT("3", "4")) "," SCRAPED(
             DATA_POINT("1", "2") "," DATA_POINT("3", "4") "," DATA_POINT("5", "6")) "," //
         SCRAPED(DATA_POINT("3", "4") "," DATA_POINT("1", "2") "," DATA_POINT("5", "6")),
         "a=1 b=2 a=3 b=4 a=1 b=2 a=3 b=4 a=5 b=6 a=3 b=4 a=1 b=2 a=5 b=6 ",
         0,
         {3, 3}},
        {SCRAPED(
             DATA_POINT("1", "2") "," DATA_POINT("3", "123456789") "," DATA_POINT("5", "6")) "," //
         SCRAPED(DATA_POINT("1", "2") "," DATA_POINT("3", "4") "," DATA_POINT("5", "6")),
         "a=1 b=2 a=5 b=6 a=1 b=2 a=3 b=4 a=5 b=6 ",
         1,
         {0, 0}},
        /* A point that was taken back is not read from again. */
        {SCRAPED(DATA_POINT("1", "2") "," DATA_POINT("3", "123456789")) "," //
         SCRAPED(DATA_POINT("1", "2")) "," SCRAPED(DATA_POINT("1", "2")),
         "a=1 b=2 a=1 b=2 a=1 b=2 ",
         1,
         {1, 1}},
        /* More attributes and fewer: in protobuf those of a shorter list are read once. */
        {SCRAPED(DATA_POINT("1", "2")) "," SCRAPED("{\"attributes\":[" KV(
             "a", "1") "],"
                       "\"asDouble\":"
                       "1}") "," SCRAPED(DATA_POINT("1",
                                                    "2")) "," SCRAPED("{\"attributes\":"
                                                                      "[" KV("a", "1") "," KV(
                                                                          "c",
                                                                          "2") "],\"asDouble\":1}"),
         "a=1 b=2 a=1 a=1 b=2 a=1 c=2 ",
         0,
         {2, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        char list[1024];
        char *bytes = NULL;
        size_t length = 0;
        struct tc_otlp_tape tape = {0};
        (void)snprintf(text, sizeof text,
                       "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[%s]}]}]}",
                       cases[i].metrics);
        assert_true(tc_otlp_write(tc_slice_cstr(text), false, &bytes, &length));
        tc_otlp_reader_limit(t.reader, &SMALL);
        for (int json = 0; json < 2; json++) {
            struct tc_slice body = json ? tc_slice_cstr(text) : tc_slice_make(bytes, length);
            assert_int_equal(tc_otlp_check(t.reader, TC_OTLP_METRICS,
                                           json ? TC_OTLP_JSON : TC_OTLP_PROTOBUF, body, &tape,
                                           &t.err),
                             TC_OK);
            assert_int_equal(tape.counts.rejected, cases[i].rejected);
            assert_int_equal(list_attributes(&tape, list, sizeof list), cases[i].again[json]);
            assert_string_equal(list, cases[i].attributes);
        }
        free(bytes);
    }
}

/* The number of the tape's node of that sort; there is one. */
static const struct tc__otlp_node *only_node(const struct tc_otlp_tape *tape, unsigned type)
{
    const struct tc__otlp_node *found = NULL;
    for (size_t at = 0; at < tape->count; at++) {
        if (tape->nodes[at].type == type) {
            assert_null(found);
            found = &tape->nodes[at];
        }
    }
    assert_non_null(found);
    return found;
}

/* Around what the quick way reads: 2^53, 22 digits behind the point. */
static void numbers_in_json_are_what_strtod_makes_of_them(void **state)
{
    (void)state;
    static const char *const numbers[] = {
        "0.1",
        "-0.0",
        "-0.1",
        "61.5",
        "0.30000000000000004",
        "123456.789012345",
        "9007199254740992.0",
        "9007199254740993.0",
        "900719925474099.3",
        "9.007199254740993",
        "0.0000000000000000000001",
        "0.00000000000000000000001",
        "0.9007199254740991000000",
        "90071992547409.91000000000000000000",
        "1.5e3",
        "1E-7",
        "1.7976931348623157e308",
        "2.2250738585072014e-308",
        "4.9e-324",
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[512];
        struct tc_otlp_tape tape = {0};
        (void)snprintf(text, sizeof text,
                       "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"gauge\":"
                       "{\"dataPoints\":[{\"asDouble\":%s}]}}]}]}]}",
                       numbers[i]);
        tc_otlp_reader_limit(t.reader, &TC_OTLP_LIMITS_DEFAULT);
        assert_int_equal(tc_otlp_check(t.reader, TC_OTLP_METRICS, TC_OTLP_JSON, tc_slice_cstr(text),
                                       &tape, &t.err),
                         TC_OK);
        double wanted = strtod(numbers[i], NULL);
        assert_memory_equal(&only_node(&tape, TC__OTLP_N_DOUBLE)->number, &wanted, sizeof wanted);
    }
}

/* Lengths of a value around those that the quick way reads, and at the end of the body. */
static void short_values_of_protobuf_are_read_whichever_way(void **state)
{
    (void)state;
    assert_int_equal(LOG("\x32\x0a\x0a\x04rank\x12\x02\x18\x05"), TC_OK);
    assert_int_equal(only_node(&t.tape, TC__OTLP_N_INT)->integer, 5);
    assert_int_equal(LOG("\x32\x0a\x0a\x04rank\x12\x02\x18\x7f"), TC_OK);
    assert_int_equal(only_node(&t.tape, TC__OTLP_N_INT)->integer, 127);
    assert_int_equal(LOG("\x32\x06\x0a\x00\x12\x02\x18\x7f"), TC_OK);
    assert_int_equal(LOG("\x32\x0b\x0a\x04rank\x12\x03\x18\x80\x01"), TC_OK);
    assert_int_equal(only_node(&t.tape, TC__OTLP_N_INT)->integer, 128);
    assert_int_equal(LOG("\x32\x0a\x0a\x04rank\x12\x02\x0a\x00"), TC_OK);
    assert_int_equal(only_node(&t.tape, TC__OTLP_N_STRING)->length, 0);
    assert_int_equal(LOG("\x32\x0a\x0a\x04rank\x12\x02\x10\x01"), TC_OK);
    assert_int_equal(only_node(&t.tape, TC__OTLP_N_BOOL)->integer, 1);
    assert_int_equal(LOG("\x32\x08\x0a\x04rank\x12\x00"), TC_OK);
    assert_int_equal(LOG("\x32\x0a\x0a\x04rank\x12\x02\x18\x85"), TC_E_MALFORMED);
    assert_int_equal(LOG("\x32\x0a\x0a\x04rank\x12\x02\x0a\x85"), TC_E_MALFORMED);
    assert_int_equal(LOG("\x32\x09\x0a\x04rank\x12\x01\x18"), TC_E_MALFORMED);
    assert_int_equal(LOG("\x32\x0a\x0a\x04rank\x12\x03\x18\x05"), TC_E_MALFORMED);
}

static void bodies_that_are_too_large_or_too_full_are_refused(void **state)
{
    (void)state;
    struct tc_otlp_reader *r = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, 8192);
    struct tc_error err = {0};
    struct tc_otlp_tape tape;
    char bytes[8193];
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(tc_otlp_check(r, TC_OTLP_LOGS, TC_OTLP_PROTOBUF,
                                   tc_slice_make(bytes, sizeof bytes), &tape, &err),
                     TC_E_LIMIT);
    /* Four thousand empty log records in two bytes each. */
    made[0].len = 0;
    for (int i = 0; i < 4000; i++) {
        put(&made[0], "\x12\x00", 2);
    }
    wrap(&made[0], 2);
    wrap(&made[0], 1);
    assert_true(made[0].len < 8192);
    assert_int_equal(tc_otlp_check(r, TC_OTLP_LOGS, TC_OTLP_PROTOBUF,
                                   tc_slice_make(made[0].data, made[0].len), &tape, &err),
                     TC_E_LIMIT);
    tc_otlp_reader_destroy(r);
    tc_otlp_reader_destroy(NULL);
    assert_null(tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(protobuf_that_is_malformed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(protobuf_that_is_odd_but_right_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(json_that_is_malformed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(json_that_is_odd_but_right_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(nesting_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(objects_are_counted_while_they_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(verifying_says_the_same_and_keeps_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(records_over_a_limit_are_rejected_and_the_rest_is_taken,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(attributes_that_come_again_are_what_they_were, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(numbers_in_json_are_what_strtod_makes_of_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(short_values_of_protobuf_are_read_whichever_way, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(bodies_that_are_too_large_or_too_full_are_refused, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
