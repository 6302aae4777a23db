/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes codec on real files: the golden files of the OpenTelemetry
 * Collector's receivers and the API's own samples of Event. They are read in
 * place; without them these tests are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/codec/k8s_testing.h"

#define SAMPLE_MAX ((size_t)64 << 10)
#define OTEL "k8s/otel/receiver_"
#define E2E "_testdata_e2e_"
#define API "results/kubernetes-events/"

static char sample[SAMPLE_MAX];

/* Reads a sample; skips the test when there are no samples here. */
static size_t load(const char *name)
{
    char path[4096];
    const char *root = getenv("TC_SAMPLES");
    const char *source = getenv("TC_SOURCE_DIR");
    if (root != NULL && root[0] != '\0') {
        (void)snprintf(path, sizeof path, "%s/%s", root, name);
    } else {
        (void)snprintf(path, sizeof path, "%s/../shared/samples/%s", source == NULL ? "." : source,
                       name);
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        print_message("skipped: no sample %s (set TC_SAMPLES)\n", path);
        skip();
    }
    size_t len = fread(sample, 1, sizeof sample, file);
    assert_true(len > 0 && len < sizeof sample);
    assert_int_equal(fclose(file), 0);
    return len;
}

static int sniff_sample(size_t len)
{
    return tc_codec_sniff(&tc_codec_k8s, tc_slice_make(sample, len), true, TC_EMPTY);
}

/* Recognised, read without error, all of it. */
static void read_sample(const char *name, int score)
{
    size_t len = load(name);
    assert_int_equal(sniff_sample(len), score);
    assert_int_equal(decode_bytes(sample, len), TC_OK);
    assert_true(t.cursor.done);
}

static void events_receiver_golden_is_one_event(void **state)
{
    (void)state;
    read_sample(OTEL "k8seventsreceiver" E2E "expected_watch_events.yaml", TC_SNIFF_LIKELY);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.unknown, 0);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, TC_EVENT_K8S_EVENT);
    /* The golden file has placeholders for uid and time. */
    assert_true(ev->time_ns == TC_TIME_NONE);
    assert_true(ev->k8s.first_ns == TC_TIME_NONE);
    SAME(ev->uid, "placeholder");
    SAME(ev->k8s.reason, "TestEvent");
    SAME(ev->k8s.type, "Normal");
    SAME(ev->k8s.message, "Test event for k8seventsreceiver e2e testing");
    SAME(ev->k8s.object_kind, "Pod");
    SAME(ev->k8s.object_name, "test-pod");
    SAME(ev->k8s.object_uid, "fb799e35-7187-4a02-a07d-0f1fa4153b99");
    SAME(ev->k8s.component, "");
    assert_int_equal(ev->k8s.count, 1);
    SAME(ev->scope.node, "test-node");
    SAME(ev->scope.ns, "test-k8sevents-e2e");
    SAME(ev->scope.pod, "test-pod");
    SAME(ev->scope.pod_uid, "fb799e35-7187-4a02-a07d-0f1fa4153b99");
    assert_true(tc_slice_starts(raw_of(0), TC_LIT("body:\n              stringValue: \"Test")));
    assert_true(tc_slice_ends(raw_of(0), TC_LIT("traceId: \"\"\n            spanId: \"\"")));
}

static void event_manifest_is_one_event(void **state)
{
    (void)state;
    read_sample(OTEL "k8seventsreceiver" E2E "testobjects_event.yaml", TC_SNIFF_LIKELY);
    assert_int_equal(t.count, 1);
    const struct tc_event *ev = &t.events[0];
    assert_true(ev->time_ns == at("2099-01-01T00:00:00Z"));
    assert_true(ev->k8s.first_ns == at("2099-01-01T00:00:00Z"));
    SAME(ev->uid, "");
    SAME(ev->k8s.reason, "TestEvent");
    SAME(ev->k8s.message, "Test event for k8seventsreceiver e2e testing");
    SAME(ev->k8s.component, "e2etest");
    SAME(ev->scope.node, "test-node");
    SAME(ev->scope.ns, "test-k8sevents-e2e");
    SAME(ev->scope.pod, "test-pod");
    assert_int_equal(ev->raw.offset, 0);
    assert_true(tc_slice_ends(raw_of(0), TC_LIT("lastTimestamp: \"2099-01-01T00:00:00Z\"")));
}

static void objects_receiver_events_are_read_in_both_apis(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        const char *name;
        const char *uid;
        const char *component;
    } cases[] = {
        {OTEL "k8sobjectsreceiver" E2E "expected_watch_events.yaml", "test-k8sobjects-receiver",
         "fb799e35-7187-4a02-a07d-0f1fa4153b99", "e2etest"},
        {OTEL "k8sobjectsreceiver" E2E "expected_watch_events_core.yaml",
         "test-k8sobjects-receiver-events-core", "035355e1-07a3-4e86-95d0-d7a2bec7d6f0",
         "e2etest-events-core"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_sample(cases[i].file, TC_SNIFF_LIKELY);
        assert_int_equal(t.count, 1);
        assert_int_equal(t.unknown, 0);
        const struct tc_event *ev = &t.events[0];
        assert_int_equal(ev->kind, TC_EVENT_K8S_EVENT);
        assert_true(ev->time_ns == at("2023-01-01T00:00:00Z"));
        SAME(ev->uid, "12345");
        SAME(ev->k8s.reason, "TestEvent");
        SAME(ev->k8s.type, "Warning");
        SAME(ev->k8s.message, "test event of type warning");
        SAME(ev->k8s.object_kind, "customresource");
        SAME(ev->k8s.object_name, cases[i].name);
        SAME(ev->k8s.object_uid, cases[i].uid);
        SAME(ev->k8s.component, cases[i].component);
        SAME(ev->scope.pod, "");
        SAME(ev->scope.node, "");
        assert_true(tc_slice_starts(raw_of(0), TC_LIT("observedTimeUnixNano: \"16967192868584")));
        assert_true(tc_slice_ends(raw_of(0), TC_LIT("spanId: \"\"")));
    }
}

static void namespaces_are_read_and_say_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        size_t records;
    } cases[] = {
        {OTEL "k8sobjectsreceiver" E2E "expected_pull_namespaces.yaml", 5},
        {OTEL "k8sobjectsreceiver" E2E "expected_watch_namespaces.yaml", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_sample(cases[i].file, TC_SNIFF_LIKELY);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, cases[i].records);
        assert_string_equal(t.why, "a Namespace says nothing we use");
    }
}

static void api_samples_are_read_in_both_apis(void **state)
{
    (void)state;
    read_sample(API "core.v1.Event.json", TC_SNIFF_SURE);
    assert_int_equal(t.count, 1);
    struct tc_event *ev = &t.events[0];
    assert_true(ev->time_ns == at("2007-01-01T01:01:01Z"));
    assert_true(ev->k8s.first_ns == at("2006-01-01T01:01:01Z"));
    assert_int_equal(ev->k8s.count, 8);
    SAME(ev->uid, "uidValue");
    SAME(ev->k8s.reason, "reasonValue");
    SAME(ev->k8s.type, "typeValue");
    SAME(ev->k8s.message, "messageValue");
    SAME(ev->k8s.object_kind, "kindValue");
    SAME(ev->k8s.object_name, "nameValue");
    SAME(ev->k8s.component, "componentValue");
    SAME(ev->scope.node, "hostValue");
    SAME(ev->scope.container, "");
    assert_int_equal(ev->raw.length, t.text.len);

    read_sample(API "events.k8s.io.v1.Event.json", TC_SNIFF_SURE);
    assert_int_equal(t.count, 1);
    assert_true(ev->time_ns == at("2002-01-01T01:01:01.000002Z"));
    assert_true(ev->k8s.first_ns == at("2013-01-01T01:01:01Z"));
    assert_int_equal(ev->k8s.count, 1);
    SAME(ev->k8s.message, "noteValue");
    SAME(ev->k8s.object_name, "nameValue");
    SAME(ev->k8s.component, "reportingControllerValue");
    SAME(ev->scope.node, "hostValue");
}

static void every_cut_of_a_sample_ends_in_order(void **state)
{
    (void)state;
    size_t len = load(API "core.v1.Event.json");
    for (size_t cut = 1; cut < len; cut++) {
        assert_int_equal(decode_bytes(sample, cut), TC_E_MALFORMED);
        assert_int_equal(t.count, 0);
    }
    /* A cut YAML text may still be whole; it never gives more than the one event. */
    len = load(OTEL "k8seventsreceiver" E2E "expected_watch_events.yaml");
    for (size_t cut = 1; cut < len; cut++) {
        tc_status status = decode_bytes(sample, cut);
        assert_true(status == TC_OK || status == TC_E_MALFORMED);
        assert_true(t.count <= 1);
    }
}

static void prose_about_kubernetes_is_not_ours(void **state)
{
    (void)state;
    static const char *const prose[] = {"k8s/evicted_failedmount_real.md", "k8s/README.md",
                                        API "PROVENANCE.txt"};
    for (size_t i = 0; i < sizeof prose / sizeof prose[0]; i++) {
        assert_int_equal(sniff_sample(load(prose[i])), TC_SNIFF_NO);
    }
}

/* The page of real quotes is no input, but its sentences are: each survives as an event's text. */
static void quoted_messages_pass_through_unchanged(void **state)
{
    (void)state;
    size_t len = load("k8s/evicted_failedmount_real.md");
    static const char *const starts[] = {
        "The node was low on resource: ephemeral-storage.",
        "The node was low on resource: memory. Container citadel",
        "MountVolume.SetUp failed for volume",
        "Unable to attach or mount volumes",
    };
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct tc_slice page = tc_slice_make(sample, len);
        struct tc_slice rest;
        size_t found = tc_slice_find(page, tc_slice_cstr(starts[i]));
        assert_true(found != TC_NPOS);
        struct tc_slice message = tc_slice_cut(tc_slice_from(page, found), '\n', &rest);
        char text[1024];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_lit(&b, "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"reason\":\"R\",\"message\":");
        tc_buf_json(&b, message);
        tc_buf_lit(&b, "}");
        assert_false(b.overflowed);
        assert_int_equal(decode_bytes(text, b.len), TC_OK);
        assert_int_equal(t.count, 1);
        assert_true(tc_slice_eq(t.events[0].k8s.message, message));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(events_receiver_golden_is_one_event, setup),
        cmocka_unit_test_setup(event_manifest_is_one_event, setup),
        cmocka_unit_test_setup(objects_receiver_events_are_read_in_both_apis, setup),
        cmocka_unit_test_setup(namespaces_are_read_and_say_nothing, setup),
        cmocka_unit_test_setup(api_samples_are_read_in_both_apis, setup),
        cmocka_unit_test_setup(every_cut_of_a_sample_ends_in_order, setup),
        cmocka_unit_test_setup(prose_about_kubernetes_is_not_ours, setup),
        cmocka_unit_test_setup(quoted_messages_pass_through_unchanged, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
