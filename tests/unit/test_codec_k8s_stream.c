/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes codec: streams of JSON documents, whole and torn, and
 * OpenTelemetry logs. Fixtures are invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec_k8s_testing.h"

#define GPU "GPU-01234567-89ab-cdef-0123-456789abcdef"

static void watch_streams_of_all_shapes_are_read_with_exact_bytes(void **state)
{
    (void)state;
    static const char stream[] = "\xef\xbb\xbf"
                                 "{\n \"type\": \"ADDED\",\n \"object\": " EVICTED "\n}\n"
                                 "{\"type\":\"DELETED\",\"object\":" EVICTED "}" EVICTED
                                 "\r\n\n[" EVICTED " , " EVICTED "]\n";
    assert_int_equal(decode(stream), TC_OK);
    assert_int_equal(t.count, 5);
    assert_true(tc_slice_starts(raw_of(0), TC_LIT("{\n \"type\"")));
    assert_true(tc_slice_ends(raw_of(0), TC_LIT("\n}")));
    SAME(raw_of(1), "{\"type\":\"DELETED\",\"object\":" EVICTED "}");
    for (size_t i = 2; i < 5; i++) {
        SAME(raw_of(i), EVICTED);
    }
    assert_int_equal(t.cursor.offset, sizeof stream - 1);
}

static void pause_stops_between_documents_and_loses_nothing(void **state)
{
    (void)state;
    t.pause_after_each = true;
    assert_int_equal(decode(EVICTED "\n" EVICTED "\n" EVICTED), TC_OK);
    assert_int_equal(t.count, 3);
    /* The fourth finds the end. */
    assert_int_equal(t.calls, 4);
}

static void empty_input_has_no_events(void **state)
{
    (void)state;
    static const char *const empty[] = {"",
                                        " \n\t",
                                        "[]",
                                        "{\"items\":[]}",
                                        "{\"items\":null}",
                                        "{\"resourceLogs\":[]}",
                                        "# only a comment\n",
                                        "---\n",
                                        "---\n---\n~\n"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        assert_int_equal(decode(empty[i]), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 0);
    }
}

static void torn_list_gives_all_whole_items_wherever_it_is_cut(void **state)
{
    (void)state;
    static const char list[] =
        "{\"apiVersion\":\"v1\",\"items\":[" EVICTED "," EVICTED "],\"kind\":\"List\"}";
    size_t first = (size_t)(strstr(list, "[") - list) + 1;
    size_t one = strlen(EVICTED);
    for (size_t cut = 1; cut < sizeof list - 1; cut++) {
        assert_int_equal(decode_bytes(list, cut), TC_E_MALFORMED);
        size_t whole = cut < first + one ? 0 : cut < first + 2 * one + 1 ? 1 : 2;
        assert_int_equal(t.count, whole);
        assert_int_equal(t.err.status, TC_E_MALFORMED);
        assert_true(t.err.offset <= cut);
        assert_true(strstr(t.err.message, "cut off") != NULL);
        assert_false(t.cursor.done);
    }
    assert_int_equal(decode_bytes(list, first + one + 5), TC_E_MALFORMED);
    assert_string_equal(t.err.message, "items[1] is cut off or is not JSON");
    assert_int_equal(t.err.offset, first + one + 1);
}

static void broken_json_is_an_error_with_its_offset(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        size_t offset;
    } cases[] = {
        {EVICTED "\n{\"kind\": nonsense}", 1, sizeof EVICTED},
        {EVICTED "\n}", 1, sizeof EVICTED},
        {EVICTED "\n\"text\"", 1, sizeof EVICTED},
        {"{\"kind\"}", 0, 0},
        {"{kind:1}", 0, 0},
        {"{\"a\":1 \"b\":2}", 0, 0},
        {"{\"items\":[1 2]}", 0, 12},
        {"{\"items\":[1,]}", 0, 12},
        {"[{]}", 0, 1},
        {"{\"resourceLogs\":[{\"resource\":{]},\"scopeLogs\":[]}]}", 0, 29},
        {"{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{:}]}]}]}", 0, 46},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_E_MALFORMED);
        assert_int_equal(t.count, cases[i].count);
        if (t.err.offset != cases[i].offset) {
            print_error("case %zu: %s\n", i, t.err.message);
        }
        assert_int_equal(t.err.offset, cases[i].offset);
        assert_true(strlen(t.err.message) > 0);
    }
}

#define BAD_BEFORE "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"reason\":"

static void a_bad_item_is_skipped_and_told_at_the_end(void **state)
{
    (void)state;
    static const char *const bad[] = {
        BAD_BEFORE "\"\xff\"}", BAD_BEFORE "\"\\ud800\"}", BAD_BEFORE "\"\x01\"}",
        BAD_BEFORE "01}",       BAD_BEFORE "{]}",          BAD_BEFORE "nonsense}",
    };
    static const struct {
        const char *before;
        const char *between;
        const char *after;
    } shapes[] = {
        {"{\"items\":[" EVICTED ",", "," EVICTED "," EVICTED, "]}"},
        {"[" EVICTED ",", "," EVICTED "," EVICTED, "]"},
        {EVICTED "\n", "\n" EVICTED "\n" EVICTED, "\n"},
        {EVICTED, EVICTED EVICTED, ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t j = 0; j < sizeof shapes / sizeof shapes[0]; j++) {
            char text[4096];
            (void)snprintf(text, sizeof text, "%s%s%s%s", shapes[j].before, bad[i],
                           shapes[j].between, shapes[j].after);
            assert_int_equal(decode(text), TC_E_MALFORMED);
            assert_int_equal(t.count, 3);
            assert_int_equal(t.err.status, TC_E_MALFORMED);
            assert_int_equal(t.err.offset, strlen(shapes[j].before));
            assert_true(strlen(t.err.message) > 0);
            assert_true(t.cursor.done);
            t.pause_after_each = true;
            assert_int_equal(decode(text), TC_E_MALFORMED);
            assert_int_equal(t.count, 3);
            assert_int_equal(t.err.offset, strlen(shapes[j].before));
            t.pause_after_each = false;
        }
    }
}

static void the_first_of_several_bad_things_is_told(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"items\":[{\"a\":x}," EVICTED ",{\"b\":y}]}\n{\"c\"}\n" EVICTED),
                     TC_E_MALFORMED);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.err.offset, 10);
    /* A torn tail still ends the walk. */
    assert_int_equal(decode("{\"items\":[{\"a\":x}," EVICTED ",{\"b\":"), TC_E_MALFORMED);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.err.offset, 10);
    assert_false(t.cursor.done);
    /* A document that cannot be walked, but whose end is known. */
    assert_int_equal(decode(EVICTED "{\"kind\"}{\"items\":[1 2]}" EVICTED), TC_E_MALFORMED);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.err.offset, strlen(EVICTED));
    /* What the sink says comes before what the input says. */
    t.refuse = TC_E_IO;
    assert_int_equal(decode("[{\"a\":x}," EVICTED "]"), TC_E_IO);
}

static void nesting_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    char text[512] = "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"reason\":\"R\",\"x\":";
    size_t len = strlen(text);
    for (size_t levels = 50; levels < 90; levels += 20) {
        memset(text + len, '[', levels);
        memset(text + len + levels, ']', levels);
        text[len + 2 * levels] = '}';
        assert_int_equal(decode_bytes(text, len + 2 * levels + 1),
                         levels < TC_JSON_DEPTH_MAX - 2 ? TC_OK : TC_E_LIMIT);
        assert_int_equal(t.count, levels < TC_JSON_DEPTH_MAX - 2 ? 1 : 0);
    }
}

static void full_arena_and_refusing_sink_stop_the_decoding(void **state)
{
    (void)state;
    t.arena_bytes = 64;
    assert_int_equal(decode(EVICTED), TC_E_NOMEM);
    assert_int_equal(t.count, 0);
    t.arena_bytes = ARENA_BYTES;
    t.refuse = TC_E_IO;
    assert_int_equal(decode(EVICTED EVICTED), TC_E_IO);
    assert_int_equal(t.count, 1);
    t.refuse = TC_OK;
    t.scratch_bytes = 8;
    assert_int_equal(decode("{\"kind\":\"Node\",\"metadata\":{\"name\":\"a-long-node-name\"},"
                            "\"status\":{\"conditions\":[{\"type\":\"Ready\"}]}}"),
                     TC_E_NOMEM);
}

#define ATTR(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define FLAT_RESOURCE                                                           \
    "{\"attributes\":[" ATTR("k8s.node.name", "gpu-02") "," ATTR(               \
        "k8s.object.kind",                                                      \
        "Pod") "," ATTR("k8s.object.name",                                      \
                        "w-1") "," ATTR("k8s.object.uid",                       \
                                        "p-2") "," ATTR("k8s.object.fieldpath", \
                                                        "spec.containers{main}") "]}"
#define FLAT_RECORD(head, attrs)                                                                   \
    "{" head "\"severityNumber\":13,\"severityText\":\"Warning\",\"body\":{\"stringValue\":"       \
    "\"MountVolume.SetUp failed\"},\"attributes\":[" ATTR(                                         \
        "k8s.event.reason", "FailedMount") "," ATTR("k8s.event.uid",                               \
                                                    "e-9") "," ATTR("k8s.namespace.name", "train") \
        attrs "]}"
#define LOGS(resource, records)                                                                 \
    "{\"resourceLogs\":[{\"resource\":" resource ",\"scopeLogs\":[{\"scope\":{\"name\":\"s\"}," \
    "\"logRecords\":[" records "]}]}]}"

static void flattened_event_is_read_with_its_resource(void **state)
{
    (void)state;
    static const char record[] =
        FLAT_RECORD("\"timeUnixNano\":\"1772359501000000000\",\"observedTimeUnixNano\":\"1\",",
                    "," ATTR("k8s.event.start_time", "2026-03-01 11:00:00.5 +0100 CET") "," ATTR(
                        "k8s.event.reporting_controller",
                        "kubelet") ","
                                   "{\"key\":\"k8s.event.count\",\"value\":{\"intValue\":\"17\"}}");
    char text[4096];
    (void)snprintf(text, sizeof text, LOGS(FLAT_RESOURCE, "%s") "\n" LOGS(FLAT_RESOURCE, "%s"),
                   record, record);
    assert_int_equal(sniff(text), TC_SNIFF_SURE);
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.count, 2);
    const struct tc_event *ev = &t.events[1];
    assert_int_equal(ev->kind, TC_EVENT_K8S_EVENT);
    assert_true(ev->time_ns == at("2026-03-01T10:05:01Z"));
    assert_true(ev->k8s.first_ns == at("2026-03-01T10:00:00.5Z"));
    SAME(ev->uid, "e-9");
    SAME(ev->k8s.reason, "FailedMount");
    SAME(ev->k8s.type, "Warning");
    SAME(ev->k8s.message, "MountVolume.SetUp failed");
    SAME(ev->k8s.object_kind, "Pod");
    SAME(ev->k8s.component, "kubelet");
    assert_int_equal(ev->k8s.count, 17);
    SAME(ev->scope.node, "gpu-02");
    SAME(ev->scope.ns, "train");
    SAME(ev->scope.pod, "w-1");
    SAME(ev->scope.pod_uid, "p-2");
    SAME(ev->scope.container, "main");
    SAME(raw_of(1), record);
    assert_int_equal(t.events[0].raw.length, sizeof record - 1);
}

static void flattened_event_takes_the_time_it_has(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        const char *start;
        int64_t want;
    } cases[] = {
        {"\"timeUnixNano\":2000000000,", "2026-03-01 10:00:00 +0000 UTC", 2000000000},
        {"\"timeUnixNano\":\"0\",", "1970-01-01 00:00:03 +0000 UTC", 3000000000},
        {"\"timeUnixNano\":\"-5\",", "1970-01-01T00:00:04Z", 4000000000},
        {"\"observedTimeUnixNano\":\"5000000000\",", "placeholder", 5000000000},
        {"\"observedTimeUnixNano\":\"18446744073709551615\",", "2026-03-01 +0000", TC_TIME_NONE},
        {"", "1970-01-01 00:00:03 +0000 UTC m=+0.5", 3000000000},
        {"", "1970-01-01 00:00:03", 3000000000},
        {"", "", TC_TIME_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       LOGS("{}", FLAT_RECORD("%s", "," ATTR("k8s.event.start_time", "%s"))),
                       cases[i].head, cases[i].start);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 1);
        if (t.events[0].time_ns != cases[i].want) {
            print_error("case %zu\n", i);
        }
        assert_true(t.events[0].time_ns == cases[i].want);
        assert_int_equal(t.events[0].k8s.count, 1);
    }
}

static void flattened_event_names_its_node_or_nothing(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(
            "{}",
            FLAT_RECORD(
                "",
                "," ATTR("k8s.event.reporting_controller", "kubelet") "," ATTR(
                    "k8s.event.reporting_instance",
                    "gpu-03")) "," FLAT_RECORD("",
                                               "," ATTR("k8s.event.reporting_controller",
                                                        "scheduler") "," ATTR("k8s.event.reporting_"
                                                                              "instance",
                                                                              "scheduler-1")))),
        TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].scope.node, "gpu-03");
    SAME(t.events[1].scope.node, "");
    assert_int_equal(decode(LOGS("{}", "{\"attributes\":[" ATTR("k8s.event.action", "a") "]}")),
                     TC_OK);
    assert_int_equal(t.count, 0);
    assert_string_equal(t.why, "an Event without reason, message and object");
    /* The namespace of the resource serves records that have none. */
    assert_int_equal(decode(LOGS("{\"attributes\":[" ATTR("k8s.namespace.name", "n") "," ATTR(
                                     "k8s.object.kind", "Pod") "]}",
                                 "{\"attributes\":[" ATTR("k8s.event.reason", "R") "]}")),
                     TC_OK);
    SAME(t.events[0].scope.ns, "n");
}

static void time_of_a_record_ends_with_it(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS("{}",
                    FLAT_RECORD("\"observedTimeUnixNano\":\"5\",",
                                "")) "\n"
                                     "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"reason\":\"R\"}"),
        TC_OK);
    assert_int_equal(t.count, 2);
    assert_true(t.events[0].time_ns == 5);
    assert_true(t.events[1].time_ns == TC_TIME_NONE);
}

static void severity_number_names_the_type_when_no_text_does(void **state)
{
    (void)state;
    static const struct {
        const char *severity;
        const char *want;
    } cases[] = {{"\"severityNumber\":9", "Normal"},
                 {"\"severityNumber\":13", "Warning"},
                 {"\"severityNumber\":17", ""},
                 {"\"severityText\":\"Odd\",\"severityNumber\":9", "Odd"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       LOGS("{}", "{%s,\"attributes\":[" ATTR("k8s.event.reason", "R") "]}"),
                       cases[i].severity);
        assert_int_equal(decode(text), TC_OK);
        SAME(t.events[0].k8s.type, cases[i].want);
    }
}

static void resource_after_its_logs_still_counts(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[" FLAT_RECORD(
            "", "") "]}],\"resource\":" FLAT_RESOURCE
                    "},{\"scopeLogs\":[{\"logRecords\":[" FLAT_RECORD("", "") "]}]}]}"),
        TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].scope.pod, "w-1");
    SAME(t.events[1].scope.pod, "");
}

#define KV(key, value) "{\"key\":\"" key "\",\"value\":" value "}"
#define KVLIST(pairs) "{\"kvlistValue\":{\"values\":[" pairs "]}}"
#define STR(text) "{\"stringValue\":\"" text "\"}"
#define INT(text) "{\"intValue\":\"" text "\"}"
#define DBL(text) "{\"doubleValue\":" text "}"
#define LIST(values) "{\"arrayValue\":{\"values\":[" values "]}}"

/* A pod whose container was killed, in parts: each as an AnyValue. */
#define KV_END \
    KVLIST(    \
        KV("exitCode", INT("137")) "," KV("signal", DBL("15")) "," KV("reason", STR("OOMKilled")))
#define KV_CONTAINER \
    KVLIST(KV("name", STR("trainer")) "," KV("state", KVLIST(KV("terminated", KV_END))))
#define KV_META                                                                   \
    KVLIST(KV("name", STR("w-0")) "," KV("uid", STR("p-1")) "," KV("annotations", \
                                                                   KVLIST(KV("gpu", STR(GPU)))))
#define KV_SPEC KVLIST(KV("nodeName", STR("gpu-01")))
#define KV_STATUS KVLIST(KV("containerStatuses", LIST(KV_CONTAINER)))

static void object_as_anyvalue_is_the_same_object(void **state)
{
    (void)state;
    static const char pod[] = KVLIST(KV("kind", STR("Pod")) "," KV("apiVersion", STR("v1")) "," KV(
        "metadata", KV_META) "," KV("spec", KV_SPEC) "," KV("status", KV_STATUS));
    char text[4096];
    (void)snprintf(
        text, sizeof text,
        LOGS("{}", "{\"observedTimeUnixNano\":\"7000000000\",\"body\":%s},"
                   "{\"body\":" KVLIST(KV("type", STR("ADDED")) "," KV(
                       "object", "%s")) ",\"attributes\":[" ATTR("k8s.resource.name", "pods") "]}"),
        pod, pod);
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct tc_event *ev = &t.events[i];
        assert_int_equal(ev->kind, TC_EVENT_POD_STATE);
        SAME(ev->uid, "p-1/trainer");
        SAME(ev->scope.node, "gpu-01");
        SAME(ev->scope.gpu_uuid, GPU);
        SAME(ev->pod.reason, "OOMKilled");
        assert_int_equal(ev->pod.exit_code, 137);
        assert_int_equal(ev->pod.signal, 15);
        /* It bears no time: the record was seen then. And that ends with the record. */
        assert_true(ev->time_ns == (i == 0 ? 7000000000 : TC_TIME_NONE));
    }
}

static void malformed_anyvalues_are_absent(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"kvlistValue\":7}",
        "{\"kvlistValue\":{\"values\":{\"a\":1}}}",
        "{\"kvlistValue\":{\"values\":[7,{},{\"key\":\"kind\"},{\"key\":7,\"value\":7}]}}",
        "{\"kvlistValue\":{}}",
        "{\"arrayValue\":{\"values\":[]}}",
        "{}",
        "7",
        "null",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, LOGS("{}", "{\"body\":%s}"), bodies[i]);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 1);
    }
    static const char *const logs[] = {
        "{\"resourceLogs\":[7]}",
        "{\"resourceLogs\":[{\"scopeLogs\":[[]]}]}",
        LOGS("{\"attributes\":7}", "{\"attributes\":{\"a\":1}}"),
        LOGS("7", "7"),
    };
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        assert_int_equal(decode(logs[i]), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 1);
    }
}

static void body_as_json_text_is_read_and_other_text_is_not(void **state)
{
    (void)state;
    static const char body[] = " {\\\"kind\\\":\\\"Event\\\",\\\"apiVersion\\\":\\\"v1\\\","
                               "\\\"reason\\\":\\\"FailedMount\\\"} ";
    char text[1024];
    (void)snprintf(text, sizeof text,
                   LOGS("{}", "{\"body\":{\"stringValue\":\"%s\"},\"timeUnixNano\":\"9\"},"
                              "{\"body\":{\"stringValue\":\"{not json\"}},"
                              "{\"body\":{\"stringValue\":\"GET / 200\"}}"),
                   body);
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.unknown, 2);
    SAME(t.events[0].k8s.reason, "FailedMount");
    assert_true(t.events[0].time_ns == 9);
    t.scratch_bytes = 8;
    assert_int_equal(decode(text), TC_E_LIMIT);
    assert_int_equal(
        decode(LOGS("{\"attributes\":[" ATTR("k8s.node.name", "a-long-node-name") "]}", "")),
        TC_E_LIMIT);
}

static void a_bad_record_or_resource_is_skipped_and_told_at_the_end(void **state)
{
    (void)state;
    static const char logs[] =
        LOGS(FLAT_RESOURCE, FLAT_RECORD("", "") ",{\"body\":x}," FLAT_RECORD("", ""));
    assert_int_equal(decode(logs), TC_E_MALFORMED);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.err.offset, strstr(logs, "{\"body\":x}") - logs);
    SAME(t.events[1].scope.pod, "w-1");
    assert_int_equal(decode(LOGS("{\"a\":x}", FLAT_RECORD("", ""))), TC_E_MALFORMED);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].scope.pod, "");
}

static void torn_logs_give_the_records_before_the_cut(void **state)
{
    (void)state;
    static const char logs[] = LOGS(FLAT_RESOURCE, FLAT_RECORD("", "") "," FLAT_RECORD("", ""));
    size_t len = sizeof logs - 1;
    size_t record = sizeof(FLAT_RECORD("", "")) - 1;
    size_t tail = strlen("]}]}]}");
    for (size_t cut = 1; cut < len; cut++) {
        assert_int_equal(decode_bytes(logs, cut), TC_E_MALFORMED);
        size_t left = len - cut;
        assert_int_equal(t.count, left > tail + record + 1 ? 0 : left > tail ? 1 : 2);
        if (t.count > 0) {
            SAME(t.events[0].scope.pod, "w-1");
        }
    }
}

static void unknown_is_counted_even_when_nobody_asks(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\"}"), TC_OK);
    struct tc_codec_input in = {.bytes = t.text};
    t.cursor = (struct tc_codec_cursor){0};
    t.unknown = 0;
    assert_int_equal(tc_codec_k8s.decode(&in, &t.cursor, &t.out, NULL), TC_OK);
    assert_int_equal(t.unknown, 0);
    assert_int_equal(t.cursor.unknown, 1);
    t.out.unknown = NULL;
    in.want_unknown = true;
    t.cursor = (struct tc_codec_cursor){0};
    assert_int_equal(tc_codec_k8s.decode(&in, &t.cursor, &t.out, NULL), TC_OK);
    assert_int_equal(t.cursor.unknown, 1);
}

static void typed_lists_are_known_by_the_shape_of_their_items(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"kind\":\"List\",\"items\":[{\"involvedObject\":{\"name\":\"a\"}},"
               "{\"regarding\":{\"name\":\"b\"}},"
               "{\"spec\":{\"containers\":[]},\"status\":{\"reason\":\"Evicted\"}},"
               "{\"metadata\":{\"name\":\"n\"},\"status\":{\"nodeInfo\":{},\"conditions\":"
               "[{\"type\":\"Ready\"}]}}]}"),
        TC_OK);
    assert_int_equal(t.count, 4);
    assert_int_equal(t.events[0].kind, TC_EVENT_K8S_EVENT);
    assert_int_equal(t.events[1].kind, TC_EVENT_K8S_EVENT);
    SAME(t.events[1].k8s.object_name, "b");
    assert_int_equal(t.events[2].kind, TC_EVENT_POD_STATE);
    assert_int_equal(t.events[3].kind, TC_EVENT_NODE_CONDITION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(watch_streams_of_all_shapes_are_read_with_exact_bytes, setup),
        cmocka_unit_test_setup(pause_stops_between_documents_and_loses_nothing, setup),
        cmocka_unit_test_setup(empty_input_has_no_events, setup),
        cmocka_unit_test_setup(torn_list_gives_all_whole_items_wherever_it_is_cut, setup),
        cmocka_unit_test_setup(broken_json_is_an_error_with_its_offset, setup),
        cmocka_unit_test_setup(a_bad_item_is_skipped_and_told_at_the_end, setup),
        cmocka_unit_test_setup(the_first_of_several_bad_things_is_told, setup),
        cmocka_unit_test_setup(a_bad_record_or_resource_is_skipped_and_told_at_the_end, setup),
        cmocka_unit_test_setup(nesting_beyond_the_limit_is_refused, setup),
        cmocka_unit_test_setup(full_arena_and_refusing_sink_stop_the_decoding, setup),
        cmocka_unit_test_setup(flattened_event_is_read_with_its_resource, setup),
        cmocka_unit_test_setup(flattened_event_takes_the_time_it_has, setup),
        cmocka_unit_test_setup(flattened_event_names_its_node_or_nothing, setup),
        cmocka_unit_test_setup(time_of_a_record_ends_with_it, setup),
        cmocka_unit_test_setup(severity_number_names_the_type_when_no_text_does, setup),
        cmocka_unit_test_setup(resource_after_its_logs_still_counts, setup),
        cmocka_unit_test_setup(object_as_anyvalue_is_the_same_object, setup),
        cmocka_unit_test_setup(malformed_anyvalues_are_absent, setup),
        cmocka_unit_test_setup(body_as_json_text_is_read_and_other_text_is_not, setup),
        cmocka_unit_test_setup(torn_logs_give_the_records_before_the_cut, setup),
        cmocka_unit_test_setup(unknown_is_counted_even_when_nobody_asks, setup),
        cmocka_unit_test_setup(typed_lists_are_known_by_the_shape_of_their_items, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
