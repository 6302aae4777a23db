/* SPDX-License-Identifier: Apache-2.0 */
/* What the tape of log records leaves out: attributes that nobody reads, but not where a record is
 * one of tracecore's events, wherever it says so. And where it has the resource. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/codec.h"
#include "codec/otlp/wire.h"
#include "support/otlp_same.h"
#include "support/otlp_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KV(key, value) "{\"key\":\"" key "\",\"value\":" value "}"
#define STR(text) "{\"stringValue\":\"" text "\"}"
#define INT(text) "{\"intValue\":\"" text "\"}"
#define TIME "\"timeUnixNano\":\"1772359501000000000\""
#define XID "NVRM: Xid (PCI:0000:3b:00): 79, pid=100, GPU has fallen off the bus."
#define BODY_MAX ((size_t)1 << 20)

/* A record with these attributes and a line of the kernel, as a request. */
static void request_of(char *out, size_t size, const char *attributes)
{
    (void)snprintf(out, size,
                   "{\"resourceLogs\":[{\"resource\":{\"attributes\":[" KV(
                       "k8s.node.name",
                       STR("n1")) "]},\"scopeLogs\":[{\"logRecords\":[{" TIME
                                  ",\"body\":" STR(
                                      XID) ",\"attributes\":[%s],\"severityText\":\"ERROR\"}]}]}]}",
                   attributes);
}

/* As both notations and by the codec of files, which has no tape. */
static void expect_same(const char *text)
{
    struct tc_otlp_same same = {0};
    tc_otlp_same(tc_slice_cstr(text), &same);
    assert_int_equal(same.requests, 1);
    assert_int_equal(same.protobuf, 1);
    assert_int_equal(same.events, 1);
}

/* Bytes of the tape. */
static size_t tape_of(const char *text, enum tc_otlp_form form)
{
    struct tc_otlp_reader *reader = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, BODY_MAX);
    struct tc_otlp_tape tape = {0};
    struct tc_error err;
    char *bytes = NULL;
    size_t length = 0;
    assert_true(tc_otlp_write(tc_slice_cstr(text), false, &bytes, &length));
    struct tc_slice body =
        form == TC_OTLP_JSON ? tc_slice_cstr(text) : tc_slice_make(bytes, length);
    assert_int_equal(tc_otlp_check(reader, TC_OTLP_LOGS, form, body, &tape, &err), TC_OK);
    size_t out = tc_otlp_tape_bytes(&tape);
    tc_otlp_reader_destroy(reader);
    free(bytes);
    return out;
}

static void attributes_that_nobody_reads_are_left_out(void **state)
{
    (void)state;
    static const char *const plain = KV("gpu.index", INT("3")) "," KV("rank", INT("7"));
    static const char *const more =
        KV("thread.name", STR("01HX")) "," KV("gpu.index", INT("3")) "," KV(
            "logtag", STR("F")) "," KV("stream.seq",
                                       INT("12345")) "," KV("rank",
                                                            INT("7")) "," KV("score",
                                                                             "{\"doubleValue\""
                                                                             ":0.5}");
    char few[4096];
    char many[4096];
    request_of(few, sizeof few, plain);
    request_of(many, sizeof many, more);
    for (int form = TC_OTLP_PROTOBUF; form <= TC_OTLP_JSON; form++) {
        size_t wanted = tape_of(few, (enum tc_otlp_form)form);
        assert_int_equal(tape_of(many, (enum tc_otlp_form)form), wanted);
    }
    expect_same(few);
    expect_same(many);
}

/* The attributes in every rotation: the one that makes it an event comes first, last, between. */
static void events_keep_all_attributes(void **state)
{
    (void)state;
    static const char *const pairs[] = {
        KV("tracecore.kind", STR("xid")),
        KV("xid", INT("79")),
        KV("pid", INT("4711")),
        KV("process", STR("python")),
        KV("unread", STR("x")),
        KV("message", STR("GPU has fallen off the bus")),
        KV("flag", "{\"boolValue\":true}"),
        KV("map", "{\"kvlistValue\":{\"values\":[" KV("a", INT("1")) "]}}"),
    };
    enum { COUNT = sizeof pairs / sizeof pairs[0] };
    /* Without the last two, which are read the long way, too. */
    for (size_t count = COUNT - 2; count <= COUNT; count++) {
        for (size_t first = 0; first < count; first++) {
            char attributes[2048] = "";
            char text[4096];
            for (size_t i = 0; i < count; i++) {
                (void)strcat(attributes, i == 0 ? "" : ",");
                (void)strcat(attributes, pairs[(first + i) % count]);
            }
            request_of(text, sizeof text, attributes);
            expect_same(text);
        }
    }
}

/* Records of both sorts after each other: what one of them keeps is not the next one's. */
static void records_are_told_apart(void **state)
{
    (void)state;
    static const char *const sorts[] = {
        ",\"attributes\":[" KV("u1", STR("x")) "," KV("rank", INT("7")) "," KV("u2", STR("y")) "]",
        ",\"attributes\":[" KV("u1", STR("x")) "," KV("xid", INT("31")) "," KV(
            "pid", INT("9")) "," KV("kind", STR("xid")) "]",
        ",\"attributes\":[" KV("u1", STR("x")) "," KV("flag", "{\"boolValue\":true}") "," KV(
            "gpu.index", INT("2")) "]",
        "",
    };
    enum { SORTS = sizeof sorts / sizeof sorts[0] };
    for (size_t i = 0; i < SORTS * SORTS * SORTS; i++) {
        char text[4096];
        struct tc_otlp_same same = {0};
        (void)snprintf(text, sizeof text,
                       "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":["
                       "{" TIME ",\"body\":" STR(XID) "%s},{" TIME ",\"body\":" STR(
                           XID) "%s},{" TIME ",\"body\":" STR(XID) "%s}]}]}]}",
                       sorts[i % SORTS], sorts[i / SORTS % SORTS], sorts[i / SORTS / SORTS]);
        tc_otlp_same(tc_slice_cstr(text), &same);
        assert_int_equal(same.protobuf, 1);
        assert_int_equal(same.events, 3);
    }
}

struct taken {
    size_t count;
    char node[32];
};

static tc_status take(void *context, const struct tc_event *ev)
{
    struct taken *taken = context;
    taken->count++;
    (void)snprintf(taken->node, sizeof taken->node, "%.*s", TC_FMT(ev->scope.node));
    return TC_OK;
}

#define OF_NODE(name) "\"resource\":{\"attributes\":[" KV("k8s.node.name", STR(name)) "]}"
#define RECORDS                              \
    "\"scopeLogs\":[{\"logRecords\":[{" TIME \
    ",\"body\":" STR(XID) ",\"attributes\":[" KV("_TRANSPORT", STR("kernel")) "]}]}]"

/* Of several resources the last counts, before or behind the records. */
static void the_resource_is_found_wherever_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *entry;
        const char *node;
    } cases[] = {
        {OF_NODE("a") "," RECORDS, "a"},
        {RECORDS "," OF_NODE("a"), "a"},
        {OF_NODE("a") "," OF_NODE("b") "," RECORDS, "b"},
        {OF_NODE("a") "," RECORDS "," OF_NODE("b"), "b"},
        {RECORDS, ""},
    };
    static char strings[1 << 16];
    static char scratch[1 << 18];
    struct tc_otlp_reader *reader = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, BODY_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        struct tc_arena arenas[2];
        struct tc_otlp_tape tape;
        struct tc_error err;
        struct taken taken = {0};
        (void)snprintf(text, sizeof text, "{\"resourceLogs\":[{%s}]}", cases[i].entry);
        tc_arena_init(&arenas[0], "strings", strings, sizeof strings);
        tc_arena_init(&arenas[1], "scratch", scratch, sizeof scratch);
        assert_int_equal(
            tc_otlp_check(reader, TC_OTLP_LOGS, TC_OTLP_JSON, tc_slice_cstr(text), &tape, &err),
            TC_OK);
        struct tc_codec_input in = {.bytes = tc_slice_cstr(text), .boot_ns = TC_TIME_NONE};
        struct tc_codec_out out = {
            .event = take, .context = &taken, .arena = &arenas[0], .scratch = &arenas[1]};
        assert_int_equal(tc_otlp_events(reader, &tape, &in, &out, &err), TC_OK);
        assert_int_equal(taken.count, 1);
        assert_string_equal(taken.node, cases[i].node);
        tc_arena_fini(&arenas[0]);
        tc_arena_fini(&arenas[1]);
    }
    tc_otlp_reader_destroy(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_that_nobody_reads_are_left_out),
        cmocka_unit_test(events_keep_all_attributes),
        cmocka_unit_test(records_are_told_apart),
        cmocka_unit_test(the_resource_is_found_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
