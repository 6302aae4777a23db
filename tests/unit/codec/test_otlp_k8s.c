/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes through OpenTelemetry: what the Collector's k8seventsreceiver and
 * k8sobjectsreceiver write. Fixtures are invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TESTED_CODEC tc_codec_otlp
#include "unit/codec/k8s_testing.h"

#define GPU "GPU-01234567-89ab-cdef-0123-456789abcdef"

static void empty_requests_have_no_events(void **state)
{
    (void)state;
    static const char *const empty[] = {"",
                                        " \n\t",
                                        "[]",
                                        "{\"resourceLogs\":[]}",
                                        "{\"resourceMetrics\":null}",
                                        "{\"resourceLogs\":[{\"scopeLogs\":[]}]}"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        assert_int_equal(decode(empty[i]), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 0);
    }
}

static void broken_logs_are_an_error_with_its_offset(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
    } cases[] = {
        {"{\"resourceLogs\":[{\"resource\":{]},\"scopeLogs\":[]}]}", 29},
        {"{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{:}]}]}]}", 46},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_E_MALFORMED);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.err.offset, cases[i].offset);
        assert_true(strlen(t.err.message) > 0);
    }
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
    assert_int_equal(decode(LOGS("{}", FLAT_RECORD("\"observedTimeUnixNano\":\"5\",",
                                                   "")) "\n" LOGS("{}", FLAT_RECORD("", ""))),
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

static void pulled_event_is_no_log_line_for_its_message(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(
            "{}",
            "{\"observedTimeUnixNano\":\"7000000000\",\"body\":" KVLIST(
                KV("apiVersion", STR("v1")) "," KV("kind", STR("Event")) "," KV(
                    "reason", STR("FailedMount")) "," KV("message", STR("no such volume"))) "}")),
        TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].kind, TC_EVENT_K8S_EVENT);
    SAME(t.events[0].k8s.reason, "FailedMount");
    SAME(t.events[0].k8s.message, "no such volume");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(empty_requests_have_no_events, setup),
        cmocka_unit_test_setup(broken_logs_are_an_error_with_its_offset, setup),
        cmocka_unit_test_setup(flattened_event_is_read_with_its_resource, setup),
        cmocka_unit_test_setup(flattened_event_takes_the_time_it_has, setup),
        cmocka_unit_test_setup(flattened_event_names_its_node_or_nothing, setup),
        cmocka_unit_test_setup(severity_number_names_the_type_when_no_text_does, setup),
        cmocka_unit_test_setup(resource_after_its_logs_still_counts, setup),
        cmocka_unit_test_setup(object_as_anyvalue_is_the_same_object, setup),
        cmocka_unit_test_setup(pulled_event_is_no_log_line_for_its_message, setup),
        cmocka_unit_test_setup(malformed_anyvalues_are_absent, setup),
        cmocka_unit_test_setup(body_as_json_text_is_read_and_other_text_is_not, setup),
        cmocka_unit_test_setup(a_bad_record_or_resource_is_skipped_and_told_at_the_end, setup),
        cmocka_unit_test_setup(torn_logs_give_the_records_before_the_cut, setup),
        cmocka_unit_test_setup(time_of_a_record_ends_with_it, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
