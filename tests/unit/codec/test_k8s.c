/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes codec: what objects become. Fixtures are invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/codec/k8s_testing.h"

static void core_event_is_read_whole(void **state)
{
    (void)state;
    assert_int_equal(decode(EVICTED), TC_OK);
    assert_int_equal(t.count, 1);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, TC_EVENT_K8S_EVENT);
    assert_true(ev->time_ns == at("2026-03-01T10:05:01Z"));
    assert_true(ev->k8s.first_ns == at("2026-03-01T10:00:01Z"));
    assert_true(ev->uptime_ns == TC_TIME_NONE);
    assert_int_equal(ev->k8s.count, 3);
    SAME(ev->uid, "e-1");
    SAME(ev->k8s.reason, "Evicted");
    SAME(ev->k8s.type, "Warning");
    SAME(ev->k8s.message, "The node was low on resource: memory. Container \"c\" was using "
                          "43536Ki, which exceeds its request of 0.");
    SAME(ev->k8s.object_kind, "Pod");
    SAME(ev->k8s.object_name, "w-0");
    SAME(ev->k8s.object_uid, "p-1");
    SAME(ev->k8s.component, "kubelet");
    SAME(ev->scope.node, "gpu-01");
    SAME(ev->scope.ns, "train");
    SAME(ev->scope.pod, "w-0");
    SAME(ev->scope.pod_uid, "p-1");
    SAME(ev->scope.container, "trainer");
    SAME(raw_of(0), EVICTED);
}

/* As a watch sends them, and as the daemon stores objects of a list, which have no kind. */
static void events_of_a_watch_are_read_as_what_they_hold(void **state)
{
    static const char first[] = "{\"type\":\"MODIFIED\",\"object\":" EVICTED "}";
    static const char second[] =
        "{\"type\":\"ADDED\",\"object\":{\"reason\":\"R\",\"involvedObject\":{\"kind\":\"Node\","
        "\"name\":\"n\"}}}";
    char text[4096];
    (void)state;
    (void)snprintf(text, sizeof text, "%s\n%s\n", first, second);
    assert_int_equal(sniff(text), TC_SNIFF_SURE);
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.events[0].kind, TC_EVENT_K8S_EVENT);
    SAME(t.events[0].k8s.reason, "Evicted");
    SAME(t.events[0].scope.pod, "w-0");
    SAME(raw_of(0), first);
    SAME(t.events[1].k8s.reason, "R");
    SAME(t.events[1].scope.node, "n");
    SAME(raw_of(1), second);
}

static void modern_event_is_read_with_its_own_names(void **state)
{
    (void)state;
    assert_int_equal(
        decode(
            "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"uid\":\"m\","
            "\"namespace\":\"ns\"},\"regarding\":{\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u\"},"
            "\"note\":\"Attempting to reclaim memory\",\"reason\":\"R\",\"type\":\"Normal\","
            "\"eventTime\":\"2026-03-01T10:00:00.123456Z\",\"series\":{\"count\":4,"
            "\"lastObservedTime\":\"2026-03-01T11:00:00.000001Z\"},"
            "\"deprecatedSource\":{\"component\":\"old\",\"host\":\"h\"},"
            "\"deprecatedFirstTimestamp\":\"2026-03-01T09:00:00Z\","
            "\"deprecatedLastTimestamp\":\"2026-03-01T12:00:00Z\",\"deprecatedCount\":9,"
            "\"reportingController\":\"new\",\"reportingInstance\":\"i\"}"),
        TC_OK);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(t.count, 1);
    assert_true(ev->time_ns == at("2026-03-01T11:00:00.000001Z"));
    assert_true(ev->k8s.first_ns == at("2026-03-01T09:00:00Z"));
    assert_int_equal(ev->k8s.count, 4);
    SAME(ev->k8s.message, "Attempting to reclaim memory");
    SAME(ev->k8s.component, "new");
    SAME(ev->scope.node, "h");
    SAME(ev->scope.ns, "ns");
    SAME(ev->scope.pod, "p");
}

/* An event with these members added. */
static const struct tc_event *event_with(const char *api, const char *members)
{
    char text[2048];
    int len =
        snprintf(text, sizeof text,
                 "{\"kind\":\"Event\",\"apiVersion\":\"%s\",\"reason\":\"R\",%s}", api, members);
    assert_true(len > 0 && (size_t)len < sizeof text);
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.count, 1);
    return &t.events[0];
}

static void times_are_preferred_in_order_and_bad_ones_fall_through(void **state)
{
    (void)state;
    static const struct {
        const char *api;
        const char *members;
        const char *want; /* NULL: none */
    } cases[] = {
        {"v1",
         "\"lastTimestamp\":\"2026-01-01T00:00:01Z\",\"eventTime\":\"2026-01-01T00:00:02Z\","
         "\"series\":{\"lastObservedTime\":\"2026-01-01T00:00:03Z\"}",
         "2026-01-01T00:00:01Z"},
        {"v1",
         "\"lastTimestamp\":null,\"eventTime\":\"2026-01-01T00:00:02Z\","
         "\"series\":{\"lastObservedTime\":\"2026-01-01T00:00:03Z\"}",
         "2026-01-01T00:00:03Z"},
        {"v1", "\"lastTimestamp\":\"yesterday\",\"eventTime\":\"2026-01-01T00:00:02Z\"",
         "2026-01-01T00:00:02Z"},
        {"v1", "\"lastTimestamp\":17,\"firstTimestamp\":\"2026-01-01T00:00:04Z\"",
         "2026-01-01T00:00:04Z"},
        {"v1",
         "\"lastTimestamp\":\"0001-01-01T00:00:00Z\",\"metadata\":{\"creationTimestamp\":"
         "\"2026-01-01T00:00:05Z\"}",
         "2026-01-01T00:00:05Z"},
        {"v1", "\"lastTimestamp\":\"1970-01-01T00:00:00Z\"", NULL},
        {"v1", "\"lastTimestamp\":\"2026-01-01T00:00:01Z and more\"", NULL},
        {"v1", "\"lastTimestamp\":\"2026-01-01T01:00:01+01:00\"", "2026-01-01T00:00:01Z"},
        {"events.k8s.io/v1",
         "\"regarding\":{},\"lastTimestamp\":\"2026-01-01T00:00:01Z\","
         "\"eventTime\":\"2026-01-01T00:00:02Z\"",
         "2026-01-01T00:00:02Z"},
        {"events.k8s.io/v1",
         "\"deprecatedLastTimestamp\":\"2026-01-01T00:00:06Z\","
         "\"deprecatedFirstTimestamp\":\"2026-01-01T00:00:07Z\"",
         "2026-01-01T00:00:06Z"},
        {"events.k8s.io/v1", "\"deprecatedFirstTimestamp\":\"2026-01-01T00:00:07Z\"",
         "2026-01-01T00:00:07Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tc_event *ev = event_with(cases[i].api, cases[i].members);
        int64_t want = cases[i].want == NULL ? TC_TIME_NONE : at(cases[i].want);
        if (ev->time_ns != want) {
            print_error("case %zu\n", i);
        }
        assert_true(ev->time_ns == want);
        assert_int_equal(t.cursor.undated, cases[i].want == NULL);
    }
}

static void the_first_time_of_a_series_is_when_it_was_first_seen(void **state)
{
    (void)state;
    static const char series[] = "\"eventTime\":\"2026-01-01T00:00:02.5Z\",\"series\":{\"count\":9,"
                                 "\"lastObservedTime\":\"2026-01-01T00:05:00Z\"}";
    int64_t want = at("2026-01-01T00:00:02.5Z");
    assert_true(event_with("events.k8s.io/v1", series)->k8s.first_ns == want);
    assert_true(event_with("v1", series)->k8s.first_ns == want);
    /* What was seen once has no first time but its own. */
    const struct tc_event *once = event_with("v1", "\"eventTime\":\"2026-01-01T00:00:02.5Z\"");
    assert_true(once->time_ns == want);
    assert_true(once->k8s.first_ns == TC_TIME_NONE);
}

static void count_is_what_its_own_api_says_and_at_least_one(void **state)
{
    (void)state;
    assert_int_equal(event_with("v1", "\"count\":7,\"series\":{\"count\":9}")->k8s.count, 7);
    assert_int_equal(event_with("v1", "\"count\":0,\"series\":{\"count\":9}")->k8s.count, 9);
    assert_int_equal(event_with("v1", "\"count\":\"12\"")->k8s.count, 12);
    assert_int_equal(event_with("v1", "\"count\":\"many\"")->k8s.count, 1);
    assert_int_equal(event_with("v1", "\"count\":-4")->k8s.count, 1);
    assert_int_equal(event_with("v1", "\"count\":{}")->k8s.count, 1);
    assert_int_equal(event_with("v1", "\"type\":\"Normal\"")->k8s.count, 1);
    assert_int_equal(event_with("events.k8s.io/v1", "\"deprecatedCount\":5")->k8s.count, 5);
    assert_int_equal(
        event_with("events.k8s.io/v1", "\"deprecatedCount\":5,\"series\":{\"count\":2}")->k8s.count,
        2);
}

static void node_comes_from_host_then_kubelet_then_the_node_itself(void **state)
{
    (void)state;
    SAME(event_with("v1", "\"source\":{\"component\":\"x\",\"host\":\"a\"},"
                          "\"involvedObject\":{\"kind\":\"Node\",\"name\":\"b\"}")
             ->scope.node,
         "a");
    SAME(event_with("v1", "\"reportingComponent\":\"kubelet\",\"reportingInstance\":\"c\"")
             ->scope.node,
         "c");
    SAME(event_with("v1", "\"reportingComponent\":\"default-scheduler\",\"reportingInstance\":"
                          "\"scheduler-7\"")
             ->scope.node,
         "");
    const struct tc_event *ev =
        event_with("v1", "\"involvedObject\":{\"kind\":\"Node\",\"name\":\"b\",\"uid\":\"b\","
                         "\"namespace\":\"default\"}");
    SAME(ev->scope.node, "b");
    SAME(ev->scope.pod, "");
    SAME(ev->scope.ns, "");
    SAME(event_with("v1", "\"involvedObject\":{\"kind\":\"Job\",\"name\":\"b\"}")->scope.node, "");
}

static void container_is_read_from_well_formed_field_paths_only(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *want;
    } cases[] = {
        {"spec.containers{a}", "a"}, {"spec.initContainers{b-c}", "b-c"},
        {"spec.containers{}", ""},   {"spec.containers{a", ""},
        {"spec.containers", ""},     {"spec.volumes{a}", ""},
        {"xspec.containers{a}", ""}, {"}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char members[128];
        (void)snprintf(members, sizeof members, "\"involvedObject\":{\"fieldPath\":\"%s\"}",
                       cases[i].path);
        SAME(event_with("v1", members)->scope.container, cases[i].want);
    }
}

static void wrong_types_count_as_absent_until_nothing_is_left(void **state)
{
    (void)state;
    const struct tc_event *ev =
        event_with("v1", "\"message\":{\"a\":1},\"type\":[],\"involvedObject\":\"w-0\","
                         "\"metadata\":7,\"source\":null");
    SAME(ev->k8s.reason, "R");
    SAME(ev->k8s.message, "");
    SAME(ev->k8s.type, "");
    SAME(ev->uid, "");
    assert_int_equal(
        decode("{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"reason\":1,\"message\":{}}"), TC_OK);
    assert_int_equal(t.count, 0);
    assert_int_equal(t.unknown, 1);
    assert_string_equal(t.why, "an Event without reason, message and object");
}

#define POD(meta, spec, status)                                                             \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"w-0\",\"namespace\":" \
    "\"train\",\"uid\":\"p-1\",\"creationTimestamp\":\"2026-03-01T08:00:00Z\"" meta "},"    \
    "\"spec\":{\"nodeName\":\"gpu-01\"" spec "},\"status\":{" status "}}"

static void evicted_pod_in_a_list_is_reported_without_any_event(void **state)
{
    (void)state;
    static const char list[] = "{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n" POD(
        "", "",
        "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"ok\",\"state\":"
        "{\"running\":{}},\"lastState\":{}}]") ",\n    " POD("", "",
                                                             "\"phase\":\"Failed\",\"reason\":"
                                                             "\"Evicted\",\"message\":\"The node "
                                                             "was low on "
                                                             "resource: ephemeral-storage. "
                                                             "Threshold quantity: 30Gi, available: "
                                                             "24094024Ki. \","
                                                             "\"startTime\":\"2026-03-01T08:00:"
                                                             "05Z\"") "\n  ],\n  \"kind\": "
                                                                      "\"List\"\n}\n";
    assert_int_equal(sniff(list), TC_SNIFF_SURE);
    assert_int_equal(decode(list), TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].pod.phase, "Running");
    const struct tc_event *ev = &t.events[1];
    assert_int_equal(ev->kind, TC_EVENT_POD_STATE);
    assert_true(ev->time_ns == at("2026-03-01T08:00:05Z"));
    SAME(ev->uid, "p-1");
    SAME(ev->pod.phase, "Failed");
    SAME(ev->pod.reason, "Evicted");
    SAME(ev->pod.message, "The node was low on resource: ephemeral-storage. Threshold quantity: "
                          "30Gi, available: 24094024Ki. ");
    assert_int_equal(ev->pod.exit_code, -1);
    assert_int_equal(ev->pod.signal, 0);
    SAME(ev->scope.node, "gpu-01");
    SAME(ev->scope.ns, "train");
    SAME(ev->scope.pod, "w-0");
    SAME(ev->scope.pod_uid, "p-1");
    SAME(ev->scope.container, "");
    assert_true(tc_slice_starts(raw_of(1), TC_LIT("{\"apiVersion\":\"v1\",\"kind\":\"Pod\"")));
    assert_true(tc_slice_ends(raw_of(1), TC_LIT("\"2026-03-01T08:00:05Z\"}}")));
    assert_int_equal(t.unknown, 0);
}

static void oom_killed_container_is_reported_with_signal_and_time(void **state)
{
    (void)state;
    assert_int_equal(
        decode(POD("", "",
                   "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"trainer\",\"state\":"
                   "{\"running\":{}},\"lastState\":{\"terminated\":{\"exitCode\":137,\"reason\":"
                   "\"OOMKilled\",\"finishedAt\":\"2026-03-01T09:10:11Z\"}}}]")),
        TC_OK);
    assert_int_equal(t.count, 1);
    const struct tc_event *ev = &t.events[0];
    assert_true(ev->time_ns == at("2026-03-01T09:10:11Z"));
    SAME(ev->uid, "p-1/trainer");
    SAME(ev->scope.container, "trainer");
    SAME(ev->pod.reason, "OOMKilled");
    SAME(ev->pod.phase, "Running");
    assert_int_equal(ev->pod.exit_code, 137);
    assert_int_equal(ev->pod.signal, 9);
}

static void every_bad_end_and_the_pods_own_reason_are_one_event_each(void **state)
{
    (void)state;
    assert_int_equal(
        decode(POD("", "",
                   "\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\",\"message\":\"too long\","
                   "\"containerStatuses\":[{\"name\":\"a\",\"lastState\":{\"terminated\":"
                   "{\"exitCode\":1,\"reason\":\"Error\",\"finishedAt\":\"2026-03-01T09:00:00Z\","
                   "\"message\":\"boom\"}},\"state\":{\"terminated\":{\"exitCode\":0,\"reason\":"
                   "\"Completed\",\"finishedAt\":\"2026-03-01T09:30:00Z\"}}}],"
                   "\"initContainerStatuses\":[{\"name\":\"i\",\"state\":{\"terminated\":"
                   "{\"exitCode\":2,\"signal\":15,\"finishedAt\":\"2026-03-01T08:30:00Z\"}}}]")),
        TC_OK);
    assert_int_equal(t.count, 3);
    SAME(t.events[0].uid, "p-1/i");
    assert_int_equal(t.events[0].pod.exit_code, 2);
    assert_int_equal(t.events[0].pod.signal, 15);
    SAME(t.events[1].uid, "p-1/a");
    SAME(t.events[1].pod.message, "boom");
    assert_int_equal(t.events[1].pod.signal, 0);
    SAME(t.events[2].uid, "p-1");
    SAME(t.events[2].pod.reason, "DeadlineExceeded");
    /* The newest end of any container, bad or not. */
    assert_true(t.events[2].time_ns == at("2026-03-01T09:30:00Z"));
}

static void the_run_before_comes_before_this_one(void **state)
{
    (void)state;
    assert_int_equal(
        decode(POD("", "",
                   "\"containerStatuses\":[{\"name\":\"a\",\"state\":{\"terminated\":"
                   "{\"exitCode\":2}},\"lastState\":{\"terminated\":{\"exitCode\":1}}}]")),
        TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.events[0].pod.exit_code, 1);
    assert_int_equal(t.events[1].pod.exit_code, 2);
}

static void a_pod_that_did_its_work_is_told_with_the_time_of_its_end(void **state)
{
    (void)state;
    assert_int_equal(
        decode(POD("", "",
                   "\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"a\",\"state\":"
                   "{\"terminated\":{\"exitCode\":0,\"reason\":\"Completed\","
                   "\"finishedAt\":\"2026-03-01T09:10:11Z\"}}}]")),
        TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].kind, TC_EVENT_POD_STATE);
    SAME(t.events[0].pod.phase, "Succeeded");
    SAME(t.events[0].pod.reason, "");
    assert_int_equal(t.events[0].pod.exit_code, -1);
    assert_int_equal(t.events[0].time_ns, INT64_C(1772356211) * TC_SECOND);
}

/* The kernel knows a pod by its uid: that it runs is how its name is learned. */
static void a_pod_that_runs_tells_its_name(void **state)
{
    (void)state;
    assert_int_equal(decode(POD("", "", "\"phase\":\"Running\",\"containerStatuses\":7")), TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].pod.phase, "Running");
    SAME(t.events[0].pod.reason, "");
    SAME(t.events[0].scope.pod, "w-0");
    SAME(t.events[0].scope.pod_uid, "p-1");
    assert_int_equal(t.events[0].pod.exit_code, -1);
    assert_true(t.events[0].time_ns == at("2026-03-01T08:00:00Z"));
}

static void a_pod_says_how_many_gpus_it_asks_for(void **state)
{
    (void)state;
#define SPEC(container) ",\"containers\":[{\"name\":\"c\"," container "}]"
    static const struct {
        const char *pod;
        int64_t gpus;
    } cases[] = {
        {POD("", SPEC("\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"8\"}}"),
             "\"phase\":\"Running\""),
         8},
        {POD("", SPEC("\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}"), "\"phase\":\"Running\""),
         0},
        /* Nobody wrote down what it needs, or it may have what it does not ask for. */
        {POD("", SPEC("\"image\":\"x\""), "\"phase\":\"Running\""), -1},
        {POD("", "", "\"phase\":\"Running\""), -1},
        {POD("",
             SPEC("\"resources\":{\"limits\":{\"memory\":\"1Gi\"}},\"env\":[{\"name\":"
                  "\"NVIDIA_VISIBLE_DEVICES\",\"value\":\"all\"}]"),
             "\"phase\":\"Running\""),
         -1},
        {POD("", SPEC("\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}") ",\"resourceClaims\":[{}]",
             "\"phase\":\"Running\""),
         -1},
    };
#undef SPEC
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].pod), TC_OK);
        assert_int_equal(t.count, 1);
        assert_int_equal(t.events[0].pod.gpus, cases[i].gpus);
    }
}

static void pods_that_wait_give_no_event(void **state)
{
    (void)state;
    static const char *const healthy[] = {
        POD("", "", "\"phase\":\"Pending\""),
        POD("", "",
            "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"DisruptionTarget\","
            "\"status\":\"False\"},{\"type\":\"Ready\",\"status\":\"False\"}]"),
        POD("", "", "\"phase\":\"Pending\",\"reason\":\"\",\"containerStatuses\":7"),
    };
    for (size_t i = 0; i < sizeof healthy / sizeof healthy[0]; i++) {
        assert_int_equal(decode(healthy[i]), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 0);
    }
    assert_int_equal(decode("{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}"), TC_OK);
    assert_int_equal(t.unknown, 1);
}

static void a_bad_end_is_a_code_or_one_of_three_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        size_t count;
    } cases[] = {
        {"\"exitCode\":1", 1},
        {"\"exitCode\":0,\"reason\":\"OOMKilled\"", 1},
        {"\"exitCode\":0,\"reason\":\"Error\"", 1},
        {"\"reason\":\"ContainerCannotRun\"", 1},
        {"\"exitCode\":0,\"reason\":\"Completed\"", 0},
        {"\"exitCode\":\"x\"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       POD("", "",
                           "\"ephemeralContainerStatuses\":[{\"name\":\"d\",\"state\":"
                           "{\"terminated\":{%s}}}]"),
                       cases[i].end);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, cases[i].count);
    }
    assert_int_equal(decode(POD("", "",
                                "\"containerStatuses\":[{\"name\":\"d\",\"state\":"
                                "{\"terminated\":{\"reason\":\"Error\"}}}]")),
                     TC_OK);
    assert_int_equal(t.events[0].pod.exit_code, -1);
    /* No date of its own: that of the pod. */
    assert_true(t.events[0].time_ns == at("2026-03-01T08:00:00Z"));
}

static void exit_codes_129_to_159_name_a_signal(void **state)
{
    (void)state;
    static const int cases[][2] = {{128, 0}, {129, 1}, {159, 31}, {160, 0}, {255, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       POD("", "",
                           "\"containerStatuses\":[{\"name\":\"d\",\"state\":"
                           "{\"terminated\":{\"exitCode\":%d}}}]"),
                       cases[i][0]);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.events[0].pod.signal, cases[i][1]);
    }
}

static void failed_pod_without_a_reason_speaks_through_its_containers(void **state)
{
    (void)state;
    assert_int_equal(decode(POD("", "",
                                "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"a\","
                                "\"state\":{\"terminated\":{\"exitCode\":1}}}]")),
                     TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].scope.container, "a");
    SAME(t.events[0].pod.phase, "Failed");
    assert_int_equal(decode(POD("", "", "\"phase\":\"Failed\"")), TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].scope.container, "");
    SAME(t.events[0].pod.phase, "Failed");
    SAME(t.events[0].pod.reason, "");
}

static void pod_time_prefers_disruption_then_newest_of_end_and_readiness_then_start(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        const char *want;
    } cases[] = {
        {"\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
         "\"TerminationByKubelet\",\"message\":\"m\",\"lastTransitionTime\":"
         "\"2026-03-01T00:00:01Z\"}],\"containerStatuses\":[{\"state\":{\"terminated\":"
         "{\"finishedAt\":\"2026-03-01T00:00:02Z\"}}}]",
         "2026-03-01T00:00:01Z"},
        {"\"reason\":\"Preempted\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
         "\"lastTransitionTime\":\"2026-03-01T00:00:03Z\"}],\"containerStatuses\":[{\"state\":"
         "{\"terminated\":{\"finishedAt\":\"2026-03-01T00:00:02Z\"}}}]",
         "2026-03-01T00:00:03Z"},
        {"\"reason\":\"Preempted\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
         "\"lastTransitionTime\":\"2026-03-01T00:00:03Z\"}],\"containerStatuses\":[{\"state\":"
         "{\"terminated\":{\"finishedAt\":\"2026-03-01T00:00:04Z\"}}}]",
         "2026-03-01T00:00:04Z"},
        /* The run before this one does not date the pod, however late or early it ended. */
        {"\"reason\":\"Evicted\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
         "\"lastTransitionTime\":\"2026-03-01T00:00:03Z\"}],\"containerStatuses\":[{\"lastState\":"
         "{\"terminated\":{\"finishedAt\":\"2026-03-01T00:00:08Z\"}}}]",
         "2026-03-01T00:00:03Z"},
        {"\"reason\":\"Evicted\",\"startTime\":\"2026-03-01T00:00:09Z\",\"containerStatuses\":["
         "{\"lastState\":{\"terminated\":{\"finishedAt\":\"2026-02-01T00:00:08Z\"}}}]",
         "2026-03-01T00:00:09Z"},
        {"\"reason\":\"NodeLost\",\"startTime\":\"2026-03-01T00:00:09Z\",\"conditions\":["
         "{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":\"2026-03-01T00:00:03Z\"}"
         ","
         "{\"type\":\"ContainersReady\",\"status\":\"False\",\"lastTransitionTime\":"
         "\"2026-03-01T00:00:04Z\"},{\"type\":\"Ready\",\"status\":\"True\","
         "\"lastTransitionTime\":\"2026-03-01T00:00:05Z\"}]",
         "2026-03-01T00:00:04Z"},
        {"\"reason\":\"Terminated\",\"startTime\":\"2026-03-01T00:00:09Z\"",
         "2026-03-01T00:00:09Z"},
        {"\"reason\":\"Terminated\",\"startTime\":\"soon\"", "2026-03-01T08:00:00Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, POD("", "", "%s"), cases[i].status);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 1);
        assert_true(t.events[0].time_ns == at(cases[i].want));
        if (i == 0) {
            SAME(t.events[0].pod.reason, "TerminationByKubelet");
            SAME(t.events[0].pod.message, "m");
        }
    }
}

/* A deleted pod whose container ended then. */
#define DELETED_POD(grace, end)                                                                  \
    POD(",\"deletionTimestamp\":\"2026-03-01T10:00:50Z\"" grace, "",                             \
        "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"a\",\"state\":{\"terminated\":" \
        "{" end "}}}]")

static void what_ends_after_a_deletion_was_asked_for_is_deleted(void **state)
{
    (void)state;
    static const struct {
        const char *grace;
        const char *end;
        const char *reason;
        const char *message;
    } cases[] = {
        {",\"deletionGracePeriodSeconds\":30",
         "\"reason\":\"Error\",\"finishedAt\":\"2026-03-01T10:00:50Z\"", "Deleted", "Error"},
        {",\"deletionGracePeriodSeconds\":30",
         "\"reason\":\"Error\",\"finishedAt\":\"2026-03-01T10:00:20Z\"", "Deleted", "Error"},
        {",\"deletionGracePeriodSeconds\":30",
         "\"reason\":\"Error\",\"finishedAt\":\"2026-03-01T10:00:19Z\"", "Error", ""},
        {"", "\"reason\":\"Error\",\"finishedAt\":\"2026-03-01T10:00:49Z\"", "Error", ""},
        {"", "\"message\":\"m\",\"finishedAt\":\"2026-03-01T10:00:50Z\"", "Deleted", "m"},
        {"", "\"reason\":\"R\",\"message\":\"m\",\"finishedAt\":\"2026-03-01T10:00:51Z\"",
         "Deleted", "R: m"},
        {",\"deletionGracePeriodSeconds\":-9",
         "\"reason\":\"Error\",\"finishedAt\":\"2026-03-01T10:00:49Z\"", "Error", ""},
        {",\"deletionGracePeriodSeconds\":9223372036854775807",
         "\"reason\":\"Error\",\"finishedAt\":\"2026-02-01T10:00:49Z\"", "Deleted", "Error"},
        {"", "\"reason\":\"Error\"", "Error", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, DELETED_POD("%s", "\"exitCode\":137,%s"), cases[i].grace,
                       cases[i].end);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 1);
        if (!tc_slice_eq(t.events[0].pod.reason, tc_slice_cstr(cases[i].reason))) {
            print_error("case %zu\n", i);
        }
        SAME(t.events[0].pod.reason, cases[i].reason);
        SAME(t.events[0].pod.message, cases[i].message);
        assert_int_equal(t.events[0].pod.exit_code, 137);
        assert_int_equal(t.events[0].pod.signal, 9);
    }
    static char text[8192] = DELETED_POD("", "\"exitCode\":1,\"reason\":\"R\",\"finishedAt\":"
                                             "\"2026-03-01T10:00:50Z\",\"message\":\"");
    char *message = strstr(text, "\"message\":\"") + strlen("\"message\":\"");
    memset(message, 'x', 4097);
    (void)snprintf(message + 4097, 16, "\"}}}]}}");
    assert_int_equal(decode(text), TC_OK);
    SAME(t.events[0].pod.message, "R");
    (void)snprintf(message + 4096, 16, "\"}}}]}}");
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.events[0].pod.message.len, 4099);
}

static void deleted_pod_has_no_event_of_its_own_without_a_reason(void **state)
{
    (void)state;
    assert_int_equal(
        decode(POD(",\"deletionTimestamp\":\"2026-03-01T10:00:50Z\"", "", "\"phase\":\"Failed\"")),
        TC_OK);
    assert_int_equal(t.count, 0);
    assert_int_equal(decode(POD(",\"deletionTimestamp\":\"2026-03-01T10:00:50Z\"", "",
                                "\"phase\":\"Failed\",\"reason\":\"Evicted\"")),
                     TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].pod.reason, "Evicted");
}

#define GPU_A "GPU-01234567-89ab-cdef-0123-456789abcdef"
#define GPU_B "GPU-11234567-89ab-cdef-0123-456789abcdef"

static void gpu_is_known_when_the_pod_names_exactly_one(void **state)
{
    (void)state;
    static const struct {
        const char *annotations;
        const char *one;
        const char *two;
        const char *want;
    } cases[] = {
        {"{}", GPU_A, "", GPU_A},
        {"{}", GPU_A, GPU_A, GPU_A},
        {"{}", GPU_A, GPU_B, ""},
        {"{}", GPU_A "," GPU_B, "", ""},
        {"{}", "all", "0", ""},
        {"{}", "GPU-0123456789ab-cdef-0123-456789abcdef0", "", ""},
        {"{}", "GPU-01234567-89ab-cdef-0123-456789abcdeg", "", ""},
        {"{\"example.com/gpu\":\"" GPU_B "\"}", "none", "", GPU_B},
        {"{\"example.com/gpu\":\"" GPU_B "\"}", GPU_A, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       POD(",\"annotations\":%s",
                           ",\"containers\":[{\"env\":[{\"name\":\"NVIDIA_VISIBLE_DEVICES\","
                           "\"value\":\"%s\"},{\"name\":\"OTHER\",\"value\":\"" GPU_B "\"}]},"
                           "{\"env\":[{\"name\":\"NVIDIA_VISIBLE_DEVICES\",\"value\":\"%s\"}]}]",
                           "\"reason\":\"Evicted\""),
                       cases[i].annotations, cases[i].one, cases[i].two);
        assert_int_equal(decode(text), TC_OK);
        SAME(t.events[0].scope.gpu_uuid, cases[i].want);
    }
}

static void pod_without_uid_gives_events_without_uid(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"status\":{"
                            "\"containerStatuses\":[{\"name\":\"a\",\"state\":{\"terminated\":"
                            "{\"exitCode\":1}}}]}}"),
                     TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].uid, "");
    assert_true(t.events[0].time_ns == TC_TIME_NONE);
    assert_int_equal(t.cursor.undated, 1);
}

static void each_node_condition_is_an_event(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":"
               "\"gpu-01\",\"labels\":{\"rack\":\"x\",\"topology.kubernetes.io/rack\":\"r7\"}},"
               "\"status\":{\"nodeInfo\":{},\"conditions\":["
               "{\"type\":\"MemoryPressure\",\"status\":\"True\",\"reason\":"
               "\"KubeletHasInsufficientMemory\",\"message\":\"kubelet has insufficient memory "
               "available\",\"lastHeartbeatTime\":\"2026-03-01T10:10:00Z\","
               "\"lastTransitionTime\":\"2026-03-01T10:00:00Z\"},"
               "{\"type\":\"Ready\",\"status\":\"Unknown\"},{\"status\":\"True\"},"
               "{\"type\":\"XIDHealth\",\"status\":\"False\",\"lastTransitionTime\":\"x\"}]}}]}"),
        TC_OK);
    assert_int_equal(t.count, 3);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, TC_EVENT_NODE_CONDITION);
    assert_true(ev->time_ns == at("2026-03-01T10:00:00Z"));
    SAME(ev->uid, "gpu-01/MemoryPressure");
    SAME(ev->scope.node, "gpu-01");
    SAME(ev->k8s.type, "MemoryPressure");
    SAME(ev->k8s.rack, "r7");
    SAME(ev->k8s.status, "True");
    SAME(ev->k8s.reason, "KubeletHasInsufficientMemory");
    SAME(ev->k8s.message, "kubelet has insufficient memory available");
    SAME(t.events[1].k8s.status, "Unknown");
    SAME(t.events[2].uid, "gpu-01/XIDHealth");
    assert_true(t.events[2].time_ns == TC_TIME_NONE);
}

static void labels_of_a_node_say_where_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *labels;
        const char *rack;
        const char *zone;
    } cases[] = {
        {"\"topology.kubernetes.io/zone\":\"z1\",\"topology.kubernetes.io/region\":\"r\"", "",
         "z1"},
        {"\"topology.kubernetes.io/region\":\"r\"", "", "r"},
        {"\"failure-domain.beta.kubernetes.io/zone\":\"z2\",\"rack\":\"a\"", "a", "z2"},
        {"\"oci.oraclecloud.com/host.rack_id\":\"116\",\"topology.kubernetes.io/rack\":\"\"", "116",
         ""},
        {"\"topology.k8s.aws/network-node-layer-3\":\"nn-1\",\"nvidia.com/gpu.clique\":\"c.1\"", "",
         ""},
        /* Of the API, so as they are written: no other spelling is this label. */
        {"\"topology_kubernetes_io_rack\":\"a\",\"Rack\":\"b\",\"rack\":7", "", ""},
    };
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\","
                       "\"labels\":{%s}},\"status\":{\"conditions\":[{\"type\":\"Ready\"}]}}",
                       cases[i].labels);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 1);
        SAME(t.events[0].k8s.rack, cases[i].rack);
        SAME(t.events[0].k8s.zone, cases[i].zone);
    }
}

static void node_without_name_or_conditions_is_unknown(void **state)
{
    (void)state;
    static const char *const useless[] = {
        "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}",
        "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"status\":{\"conditions\":[{\"type\":\"Ready\"}]"
        "}}",
    };
    for (size_t i = 0; i < sizeof useless / sizeof useless[0]; i++) {
        assert_int_equal(decode(useless[i]), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 1);
    }
}

static void other_kinds_are_read_without_error_and_named_unknown(void **state)
{
    (void)state;
    static const char *const others[] = {
        "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\"}",
        "{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"spec\":{}}",
        "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"reason\":\"x\"}",
        ("{\"kind\":\"Node\",\"apiVersion\":\"longhorn.io/v1beta2\",\"metadata\":{\"name\":\"n\"},"
         "\"status\":{\"conditions\":[{\"type\":\"Ready\"}]}}"),
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\"}}",
        "{\"a\":1}",
        "[1]",
        "{\"items\":[null]}",
        "{\"items\":[[]]}",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(decode(others[i]), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 1);
    }
    assert_int_equal(decode("{\"items\":[\n {\"kind\":\"Namespace\",\"apiVersion\":\"v1\"}]}"),
                     TC_OK);
    assert_string_equal(t.why, "a Namespace says nothing we use");
    assert_int_equal(t.unknown_at, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(core_event_is_read_whole, setup),
        cmocka_unit_test_setup(events_of_a_watch_are_read_as_what_they_hold, setup),
        cmocka_unit_test_setup(modern_event_is_read_with_its_own_names, setup),
        cmocka_unit_test_setup(times_are_preferred_in_order_and_bad_ones_fall_through, setup),
        cmocka_unit_test_setup(the_first_time_of_a_series_is_when_it_was_first_seen, setup),
        cmocka_unit_test_setup(count_is_what_its_own_api_says_and_at_least_one, setup),
        cmocka_unit_test_setup(node_comes_from_host_then_kubelet_then_the_node_itself, setup),
        cmocka_unit_test_setup(container_is_read_from_well_formed_field_paths_only, setup),
        cmocka_unit_test_setup(wrong_types_count_as_absent_until_nothing_is_left, setup),
        cmocka_unit_test_setup(evicted_pod_in_a_list_is_reported_without_any_event, setup),
        cmocka_unit_test_setup(oom_killed_container_is_reported_with_signal_and_time, setup),
        cmocka_unit_test_setup(every_bad_end_and_the_pods_own_reason_are_one_event_each, setup),
        cmocka_unit_test_setup(the_run_before_comes_before_this_one, setup),
        cmocka_unit_test_setup(a_pod_that_did_its_work_is_told_with_the_time_of_its_end, setup),
        cmocka_unit_test_setup(a_pod_that_runs_tells_its_name, setup),
        cmocka_unit_test_setup(a_pod_says_how_many_gpus_it_asks_for, setup),
        cmocka_unit_test_setup(pods_that_wait_give_no_event, setup),
        cmocka_unit_test_setup(a_bad_end_is_a_code_or_one_of_three_reasons, setup),
        cmocka_unit_test_setup(exit_codes_129_to_159_name_a_signal, setup),
        cmocka_unit_test_setup(failed_pod_without_a_reason_speaks_through_its_containers, setup),
        cmocka_unit_test_setup(
            pod_time_prefers_disruption_then_newest_of_end_and_readiness_then_start, setup),
        cmocka_unit_test_setup(what_ends_after_a_deletion_was_asked_for_is_deleted, setup),
        cmocka_unit_test_setup(deleted_pod_has_no_event_of_its_own_without_a_reason, setup),
        cmocka_unit_test_setup(gpu_is_known_when_the_pod_names_exactly_one, setup),
        cmocka_unit_test_setup(pod_without_uid_gives_events_without_uid, setup),
        cmocka_unit_test_setup(each_node_condition_is_an_event, setup),
        cmocka_unit_test_setup(labels_of_a_node_say_where_it_stands, setup),
        cmocka_unit_test_setup(node_without_name_or_conditions_is_unknown, setup),
        cmocka_unit_test_setup(other_kinds_are_read_without_error_and_named_unknown, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
