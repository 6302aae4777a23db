/* SPDX-License-Identifier: Apache-2.0 */
/* Every event here is invented, but for the notes that are read from the samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY(name) "tracecore.alert.pod_evicted." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define WINDOW 300
#define LOW_MEMORY                                                                       \
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi. " \
    "Container loader was using 43Gi, request is 4Gi, has larger consumption of memory. "

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_pod_evicted, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event evicted(int64_t seconds, const char *note)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = AT(seconds);
    ev.uid = TC_LIT("event-1");
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = TC_LIT("loader-3");
    ev.scope.pod_uid = TC_LIT("pod-uid-3");
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.object_name = ev.scope.pod;
    ev.k8s.reason = TC_LIT("Evicted");
    ev.k8s.message = tc_slice_cstr(note);
    ev.raw = (struct tc_raw){.source = 1, .offset = 7, .length = 300};
    return ev;
}

static struct tc_event other_pod(struct tc_event ev, const char *pod)
{
    ev.scope.pod = tc_slice_cstr(pod);
    ev.scope.pod_uid = ev.scope.pod;
    ev.k8s.object_name = ev.scope.pod;
    ev.uid = ev.scope.pod;
    return ev;
}

static struct tc_event evicted_state(int64_t seconds, const char *note)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.time_ns = AT(seconds);
    ev.uid = TC_LIT("pod-uid-3");
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = TC_LIT("loader-3");
    ev.scope.pod_uid = TC_LIT("pod-uid-3");
    ev.pod.phase = TC_LIT("Failed");
    ev.pod.reason = TC_LIT("Evicted");
    ev.pod.message = tc_slice_cstr(note);
    return ev;
}

static struct tc_event condition(int64_t seconds, const char *type, const char *status)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-04");
    ev.k8s.type = tc_slice_cstr(type);
    ev.k8s.status = tc_slice_cstr(status);
    ev.k8s.reason = TC_LIT("KubeletSaysSo");
    ev.raw = (struct tc_raw){.source = 2, .offset = (uint64_t)(seconds + 1000), .length = 90};
    return ev;
}

static struct tc_event node_event(int64_t seconds, const char *reason, const char *message)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = AT(seconds);
    ev.k8s.object_kind = TC_LIT("Node");
    ev.k8s.object_name = TC_LIT("gpu-04");
    ev.k8s.reason = tc_slice_cstr(reason);
    ev.k8s.message = tc_slice_cstr(message);
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

static struct tc_event place(int32_t rank, const char *pod)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    ev.time_ns = TC_TIME_NONE;
    ev.scope.rank = rank;
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = tc_slice_cstr(pod);
    return ev;
}

static void the_eviction_of_a_rank_is_critical(void **state)
{
    struct tc_harness *h = *state;
    feed(h, place(5, "loader-3"));
    feed(h, evicted(41, LOW_MEMORY));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->severity, TC_SEVERITY_CRITICAL);
    feed(h, place(5, "loader-3"));
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_rank_that_is_told_late_makes_the_eviction_critical(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted(41, LOW_MEMORY));
    feed(h, place(6, "loader-4"));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->severity, TC_SEVERITY_WARNING);
    feed(h, place(5, "loader-3"));
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, 1)->severity, TC_SEVERITY_CRITICAL);
    assert_true(tc_slice_eq(tc_harness_finding(h, 1)->key, tc_harness_finding(h, 0)->key));
}

static void the_eviction_of_a_pod_with_gpus_is_critical(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted(41, LOW_MEMORY));
    struct tc_event ev = evicted_state(42, LOW_MEMORY);
    ev.pod.gpus = 8;
    feed(h, ev);
    assert_int_equal(tc_harness_finding(h, -1)->severity, TC_SEVERITY_CRITICAL);
}

static void an_eviction_after_its_condition_is_full(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, evicted(41, LOW_MEMORY));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->pattern_id, "8");
    assert_text(f->key, "ml/loader-3/pod-uid-3");
    assert_text(f->discriminator, "memory_pressure");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_false(f->incomplete);
    assert_text(f->headline, "Pod ml/loader-3 was evicted from node gpu-04 at 00:00:41, "
                             "41 s after MemoryPressure: the node was low on memory");
    assert_says(f->remediation, "On node gpu-04: ");
    assert_says(f->remediation,
                "Start with container loader, which used 43Gi with a request of 4Gi.");
    assert_text(tc_harness_text(f, KEY("pressure")), "memory");
    assert_text(tc_harness_text(f, KEY("container")), "loader");
    assert_text(tc_harness_text(f, KEY("usage")), "43Gi");
    assert_text(tc_harness_text(f, KEY("request")), "4Gi");
    assert_text(tc_harness_text(f, KEY("threshold")), "100Mi");
    assert_text(tc_harness_text(f, KEY("available")), "60Mi");
    assert_int_equal(tc_harness_int(f, KEY("seconds_after_condition")), 41);
    assert_int_equal(f->first_ns, AT(0));
    assert_int_equal(f->last_ns, AT(41));
    assert_text(f->scope.node, "gpu-04");
    assert_text(f->scope.container, "loader");
    assert_int_equal(f->evidence_count, 2);
    assert_text(f->evidence[0].kind, "node_condition");
    assert_text(f->evidence[0].uid, "node_condition:gpu-04:MemoryPressure:2026-01-01T00:00:00Z");
    assert_text(f->evidence[0].description,
                "Node gpu-04 was under MemoryPressure, reason KubeletSaysSo");
    assert_int_equal(f->evidence[0].raw.offset, 1000);
    assert_text(f->evidence[1].kind, "pod_event");
    assert_text(f->evidence[1].uid, "event-1");
    assert_says(f->evidence[1].description, "The node was low on resource: memory.");
}

static void an_eviction_without_its_condition_is_partial(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted(41, LOW_MEMORY));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_text(f->headline, "Pod ml/loader-3 was evicted from node gpu-04 at 00:00:41: "
                             "the node was low on memory");
    assert_false(tc_harness_has(f, KEY("seconds_after_condition")));
    assert_int_equal(f->evidence_count, 1);
    assert_int_equal(f->first_ns, AT(41));
}

static void the_condition_must_be_of_that_type_on_that_node_and_true(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event elsewhere = condition(0, "MemoryPressure", "True");
    elsewhere.scope.node = TC_LIT("gpu-05");
    feed(h, elsewhere);
    feed(h, condition(0, "DiskPressure", "True"));
    feed(h, condition(0, "Ready", "True"));
    feed(h, condition(0, "MemoryPressure", "False"));
    feed(h, condition(0, "MemoryPressure", "Unknown"));
    feed(h, evicted(41, LOW_MEMORY));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(tc_harness_stats(h).ignored, 0);
}

static void the_window_includes_its_edge_and_nothing_beyond(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    struct tc_event over = other_pod(evicted(WINDOW, LOW_MEMORY), "over");
    over.time_ns += 1;
    feed(h, evicted(WINDOW, LOW_MEMORY));
    feed(h, over);
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_PARTIAL);
}

static void a_transition_after_the_eviction_never_joins(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted(41, LOW_MEMORY));
    struct tc_event after = condition(41, "MemoryPressure", "True");
    after.time_ns += 1;
    feed(h, after);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
    feed(h, condition(41, "MemoryPressure", "True")); /* the same instant does */
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_FULL);
    assert_says(tc_harness_finding(h, 1)->headline, ", at the time of MemoryPressure");
}

static void the_window_is_a_knob(void **state)
{
    (void)state;
    struct tc_harness_options options = {.param = "window", .value = 10 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, &options);
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, evicted(11, LOW_MEMORY));
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
    feed(h, condition(12, "MemoryPressure", "True"));
    feed(h, other_pod(evicted(22, LOW_MEMORY), "edge"));
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_FULL);
    tc_harness_destroy(h);
}

static void a_late_condition_makes_a_partial_verdict_full(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted(41, LOW_MEMORY));
    feed(h, other_pod(evicted(42, LOW_MEMORY), "loader-4"));
    feed(h, condition(0, "DiskPressure", "True"));
    assert_int_equal(tc_harness_count(h), 2);
    feed(h, condition(10, "MemoryPressure", "True"));
    assert_int_equal(tc_harness_count(h), 4);
    assert_int_equal(tc_harness_finding(h, 2)->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(tc_harness_finding(h, 3)->confidence, TC_CONFIDENCE_FULL);
    feed(h, condition(5, "MemoryPressure", "True")); /* no better than what is known */
    assert_int_equal(tc_harness_count(h), 4);
    feed(h, condition(20, "MemoryPressure", "True")); /* nearer: better */
    assert_int_equal(tc_harness_count(h), 6);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 5), KEY("seconds_after_condition")), 22);
    feed(h, condition(-270, "MemoryPressure", "True")); /* out of the window of both */
    assert_int_equal(tc_harness_count(h), 6);
}

static void every_wording_of_the_note_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *note;
        const char *discriminator;
        const char *condition; /* that joins; NULL none */
        const char *container;
        const char *limit;
    } cases[] = {
        {LOW_MEMORY, "memory_pressure", "MemoryPressure", "loader", NULL},
        {"the NODE was LOW on resource: MEMORY.", "memory_pressure", "MemoryPressure", NULL, NULL},
        {"The node was low on resource: memory. Container disk-agent was using 43536Ki, which "
         "exceeds its request of 0.",
         "memory_pressure", "MemoryPressure", "disk-agent", NULL},
        {"The node was low on resource: ephemeral-storage. Container a was using 1Ki, request is "
         "0, has larger consumption of ephemeral-storage. ",
         "ephemeral_storage", "DiskPressure", "a", NULL},
        {"The node was low on resource: inodes. ", "disk_pressure", "DiskPressure", NULL, NULL},
        {"The node was low on resource: nodefs. ", "disk_pressure", "DiskPressure", NULL, NULL},
        {"The node was low on resource: imagefs. ", "disk_pressure", "DiskPressure", NULL, NULL},
        {"The node was low on resource: pids. Threshold quantity: 5, available: 1. "
         "Container memory-hog was using 9, request is 0, has larger consumption of pids. ",
         "pid_pressure", "PIDPressure", "memory-hog", NULL},
        {"The node was low on resource: [DiskPressure].", "disk_pressure", "DiskPressure", NULL,
         NULL},
        {"The node had condition: [DiskPressure]. ", "disk_pressure", "DiskPressure", NULL, NULL},
        {"Pod was rejected: The node had condition: [MemoryPressure]. ", "memory_pressure",
         "MemoryPressure", NULL, NULL},
        {"The node had condition: [PIDPressure]. ", "pid_pressure", "PIDPressure", NULL, NULL},
        {"Container loader exceeded its local ephemeral storage limit \"1Gi\". ", "pod_limit",
         "DiskPressure", "loader", "1Gi"},
        {"Pod ephemeral local storage usage exceeds the total limit of containers 2Gi. ",
         "pod_limit", "DiskPressure", NULL, "2Gi"},
        {"Usage of EmptyDir volume \"cache\" exceeds the limit \"512Mi\". ", "pod_limit",
         "DiskPressure", NULL, "512Mi"},
        {"evicted: disk is nearly full", "disk_pressure", "DiskPressure", NULL, NULL},
        {"too many PIDs in use", "pid_pressure", "PIDPressure", NULL, NULL},
        {"rapid growth", "unknown_pressure", NULL, NULL, NULL},
        {"The node was low on resource: bananas. Container memory-hog was using 1, request is 0, ",
         "unknown_pressure", NULL, NULL, NULL},
        {"", "unknown_pressure", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const char *const types[] = {"MemoryPressure", "DiskPressure", "PIDPressure"};
        for (size_t k = 0; k < 3; k++) {
            struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, NULL);
            feed(h, condition(0, types[k], "True"));
            feed(h, evicted(41, cases[i].note));
            assert_int_equal(tc_harness_count(h), 1);
            const struct tc_finding *f = tc_harness_finding(h, 0);
            tc_harness_conforms(f);
            assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(cases[i].discriminator)));
            bool joins = cases[i].condition != NULL && strcmp(cases[i].condition, types[k]) == 0;
            assert_int_equal(f->confidence, joins ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL);
            assert_int_equal(tc_harness_has(f, KEY("container")), cases[i].container != NULL);
            if (cases[i].container != NULL) {
                assert_true(tc_slice_eq(tc_harness_text(f, KEY("container")),
                                        tc_slice_cstr(cases[i].container)));
            }
            assert_int_equal(tc_harness_has(f, KEY("limit")), cases[i].limit != NULL);
            if (cases[i].limit != NULL) {
                assert_true(
                    tc_slice_eq(tc_harness_text(f, KEY("limit")), tc_slice_cstr(cases[i].limit)));
            }
            tc_harness_destroy(h);
        }
    }
}

static void the_notes_of_the_samples_are_read(void **state)
{
    struct tc_harness *h = *state;
    const char *samples = getenv("TC_SAMPLES");
    const char *root = getenv("TC_SOURCE_DIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s%s/k8s/evicted_failedmount_real.md",
                   samples != NULL ? samples : (root == NULL ? "." : root),
                   samples != NULL ? "" : "/../shared/samples");
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        print_message("skipped: no samples at %s (TC_SAMPLES)\n", path);
        skip();
    }
    char line[4096];
    int64_t count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "The node was low on resource", 28) == 0) {
            struct tc_event ev = evicted_state(count++, line);
            ev.scope.pod_uid = tc_slice_make(line, 40); /* memory and ephemeral: two pods */
            feed(h, ev);
        }
    }
    (void)fclose(file);
    assert_true(tc_harness_count(h) >= 2);
    for (long i = 0; i < (long)tc_harness_count(h); i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        tc_harness_conforms(f);
        assert_false(tc_slice_eq(f->discriminator, TC_LIT("unknown_pressure")));
        assert_true(tc_harness_has(f, KEY("container")));
        assert_true(tc_harness_has(f, KEY("usage")));
        assert_text(tc_harness_text(f, KEY("request")), "0");
    }
}

static void node_events_are_signs_of_pressure_too(void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        const char *message;
        const char *note;
        bool joins;
    } cases[] = {
        {"NodeHasInsufficientMemory", "Node status is now", LOW_MEMORY, true},
        {"NodeHasDiskPressure", "", "The node had condition: [DiskPressure]. ", true},
        {"NodeHasInsufficientPID", "", "The node was low on resource: pids. ", true},
        {"EvictionThresholdMet", "Attempting to reclaim memory", LOW_MEMORY, true},
        {"EvictionThresholdMet", "Attempting to reclaim ephemeral-storage",
         "The node was low on resource: ephemeral-storage. ", true},
        {"EvictionThresholdMet", "Attempting to reclaim inodes",
         "The node was low on resource: inodes. ", true},
        {"EvictionThresholdMet", "Attempting to reclaim pids",
         "The node was low on resource: pids. ", true},
        {"EvictionThresholdMet", "Attempting to reclaim memory",
         "The node was low on resource: pids. ", false},
        {"EvictionThresholdMet", "", LOW_MEMORY, false},
        {"NodeHasSufficientMemory", "", LOW_MEMORY, false},
        {"NodeNotReady", "", LOW_MEMORY, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, NULL);
        feed(h, node_event(0, cases[i].reason, cases[i].message));
        feed(h, evicted(41, cases[i].note));
        assert_int_equal(tc_harness_count(h), 1);
        tc_harness_conforms(tc_harness_finding(h, 0));
        assert_int_equal(tc_harness_finding(h, 0)->confidence,
                         cases[i].joins ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL);
        tc_harness_destroy(h);
    }
}

static void the_beginning_of_a_condition_beats_a_threshold_and_the_latest_wins(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, condition(10, "MemoryPressure", "True"));
    feed(h, node_event(10, "NodeHasInsufficientMemory", ""));
    feed(h, node_event(40, "EvictionThresholdMet", "Attempting to reclaim memory"));
    feed(h, evicted(41, LOW_MEMORY));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_int_equal(tc_harness_int(f, KEY("seconds_after_condition")), 31);
    assert_says(f->evidence[0].description, "KubeletSaysSo");
    assert_int_equal(f->evidence[0].raw.offset, 1010);
}

static void a_threshold_is_not_told_as_a_condition(void **state)
{
    struct tc_harness *h = *state;
    feed(h, node_event(40, "EvictionThresholdMet", "Attempting to reclaim memory"));
    feed(h, evicted(41, LOW_MEMORY));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_says(f->headline, ", 1 s after its eviction threshold was met");
    assert_text(f->evidence[0].description,
                "Node gpu-04 met the eviction threshold of MemoryPressure, reason "
                "EvictionThresholdMet");
    feed(h, other_pod(evicted(40, LOW_MEMORY), "loader-4"));
    assert_says(tc_harness_finding(h, 1)->headline, ", as its eviction threshold was met");
}

static void the_event_and_the_state_of_a_pod_are_one_incident(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted(41, LOW_MEMORY));
    feed(h, evicted(41, LOW_MEMORY));       /* replayed */
    feed(h, evicted_state(43, LOW_MEMORY)); /* the same from the other side */
    feed(h, evicted_state(103, LOW_MEMORY));
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_state_alone_is_enough(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "DiskPressure", "True"));
    feed(h, evicted_state(41, "The node was low on resource: ephemeral-storage. "));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
    assert_text(tc_harness_finding(h, 0)->discriminator, "ephemeral_storage");
}

static void the_kubelets_event_knows_the_time_better_than_the_state(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted_state(0, LOW_MEMORY)); /* when the pod was made */
    feed(h, condition(1000, "MemoryPressure", "True"));
    feed(h, evicted(1041, LOW_MEMORY));
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_says(f->headline, "at 00:17:21");
}

static void what_one_telling_lacks_the_other_adds(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event bare = evicted(41, "");
    bare.scope.node = TC_EMPTY;
    bare.scope.pod_uid = TC_EMPTY;
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, bare);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "unknown_pressure");
    assert_says(f->headline, "from its node at ");
    assert_says(f->remediation, "On its node: ");
    assert_int_equal(f->scope.node.len, 0);
    feed(h, evicted_state(43, LOW_MEMORY));
    assert_int_equal(tc_harness_count(h), 2);
    f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->discriminator, "memory_pressure");
    assert_text(f->scope.node, "gpu-04");
    assert_text(f->scope.pod_uid, "pod-uid-3");
    assert_int_equal(f->last_ns, AT(41)); /* the event's own time */
}

static void a_telling_that_changes_the_resource_drops_the_old_join(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, evicted_state(41, LOW_MEMORY));
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
    feed(h, evicted(41, "The node was low on resource: pids. "));
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_PARTIAL);
    assert_text(tc_harness_finding(h, 1)->discriminator, "pid_pressure");
}

static void without_a_uid_a_later_eviction_is_another_pods(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event first = evicted(0, LOW_MEMORY);
    first.scope.pod_uid = TC_EMPTY;
    struct tc_event second = first;
    second.time_ns = AT(WINDOW);
    struct tc_event third = first;
    third.time_ns = AT(WINDOW) + 1;
    third.uid = TC_LIT("event-2"); /* the same event again would be the same eviction */
    feed(h, first);
    feed(h, second);
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, third);
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(tc_harness_finding(h, 0)->key, "ml/loader-3@gpu-04@2026-01-01T00:00:00Z");
    assert_false(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
    struct tc_event before = first;
    before.time_ns = AT(-WINDOW) - 1; /* late, and too far before any */
    feed(h, before);
    assert_int_equal(tc_harness_count(h), 3);
    assert_says(tc_harness_finding(h, 2)->key, "@2025-12-31T23:54:59.999999999Z");
}

static void pods_with_other_uids_or_nodes_are_other_pods(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = evicted(41, LOW_MEMORY);
    feed(h, ev);
    ev.scope.pod_uid = TC_LIT("pod-uid-4");
    feed(h, ev);
    ev.scope.pod_uid = TC_EMPTY;
    ev.scope.node = TC_LIT("gpu-05");
    feed(h, ev);
    ev.scope.ns = TC_LIT("other");
    feed(h, ev);
    assert_int_equal(tc_harness_count(h), 4);
}

static void planned_evictions_are_silent(void **state)
{
    struct tc_harness *h = *state;
    static const char *const reasons[] = {
        "Killing", "Preempted", "Preempting", "TaintManagerEviction", "Failed", "evicted"};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        struct tc_event ev = evicted(41, LOW_MEMORY);
        ev.k8s.reason = tc_slice_cstr(reasons[i]);
        feed(h, ev);
    }
    static const char *const states[] = {"PreemptionByScheduler", "DeletionByTaintManager",
                                         "EvictionByEvictionAPI", "Terminated",
                                         "TerminationByKubelet",  "OOMKilled"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct tc_event ev = evicted_state(41, LOW_MEMORY);
        ev.pod.reason = tc_slice_cstr(states[i]);
        feed(h, ev);
    }
    static const char *const notes[] = {"Eviction API: evicting",
                                        "preempting to accommodate a higher priority pod",
                                        "Taint manager: deleting due to NoExecute taint"};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        feed(h, evicted(41, notes[i]));
        feed(h, evicted_state(41, notes[i]));
    }
    struct tc_event node = evicted(41, LOW_MEMORY);
    node.k8s.object_kind = TC_LIT("Node");
    feed(h, node);
    node.k8s.object_kind = TC_EMPTY;
    node.scope.pod = TC_EMPTY;
    feed(h, node);
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 0);
}

static void the_end_of_the_condition_resolves_what_it_caused(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, evicted(41, LOW_MEMORY));
    feed(h, other_pod(evicted(42, LOW_MEMORY), "loader-4"));
    feed(h, condition(10000, "DiskPressure", "False"));
    assert_int_equal(tc_harness_count(h), 2);
    feed(h, condition(10000, "MemoryPressure", "False")); /* long after the window */
    assert_int_equal(tc_harness_count(h), 4);
    for (long i = 2; i < 4; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        tc_harness_conforms(f);
        assert_true(f->resolved);
        assert_int_equal(f->last_ns, AT(10000));
        assert_int_equal(f->first_ns, AT(0));
        assert_int_equal(f->evidence_count, 3);
        assert_text(f->evidence[2].kind, "node_condition");
        assert_text(f->evidence[2].description,
                    "Node gpu-04 left MemoryPressure, reason KubeletSaysSo");
    }
    assert_text(tc_harness_finding(h, 3)->key, "ml/loader-3/pod-uid-3");
    /* Said again, and told again: nothing. */
    feed(h, condition(10000, "MemoryPressure", "False"));
    feed(h, condition(20000, "MemoryPressure", "False"));
    feed(h, evicted_state(20001, LOW_MEMORY));
    struct tc_event better = evicted(20, LOW_MEMORY);
    better.uid = TC_LIT("event-0");
    feed(h, better);
    assert_int_equal(tc_harness_count(h), 4);
}

static void node_events_resolve_too(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"MemoryPressure", "NodeHasSufficientMemory", LOW_MEMORY},
        {"DiskPressure", "NodeHasNoDiskPressure", "The node was low on resource: inodes."},
        {"PIDPressure", "NodeHasSufficientPID", "The node was low on resource: pids."},
    };
    for (size_t i = 0; i < 3; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, NULL);
        feed(h, condition(0, cases[i][0], "True"));
        feed(h, evicted(41, cases[i][2]));
        feed(h, node_event(400, cases[i][1], ""));
        assert_int_equal(tc_harness_count(h), 2);
        assert_true(tc_harness_finding(h, 1)->resolved);
        tc_harness_destroy(h);
    }
}

static void an_end_before_the_eviction_or_without_a_join_resolves_nothing(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, evicted(41, LOW_MEMORY));
    feed(h, condition(41, "MemoryPressure", "False")); /* not after it */
    feed(h, condition(20, "MemoryPressure", "False"));
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, other_pod(evicted(1000, LOW_MEMORY), "unjoined"));
    feed(h, condition(1100, "MemoryPressure", "False"));
    assert_int_equal(tc_harness_count(h), 3);
    assert_true(tc_harness_finding(h, 2)->resolved);
    assert_text(tc_harness_finding(h, 2)->scope.pod, "loader-3");
    /* A late sign still joins the other, and the next end resolves it. */
    feed(h, condition(990, "MemoryPressure", "True"));
    assert_int_equal(tc_harness_count(h), 4);
    feed(h, condition(1200, "MemoryPressure", "False"));
    assert_int_equal(tc_harness_count(h), 5);
    assert_text(tc_harness_finding(h, 4)->scope.pod, "unjoined");
    assert_true(tc_harness_finding(h, 4)->resolved);
}

static void late_evictions_are_told_and_late_signs_are_not_kept(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted(10000, LOW_MEMORY));
    feed(h, other_pod(evicted(10000 - 2 * WINDOW, LOW_MEMORY), "edge"));
    assert_int_equal(tc_harness_stats(h).late, 0);
    feed(h, condition(10000 - 2 * WINDOW - 1, "MemoryPressure", "True"));
    assert_int_equal(tc_harness_stats(h).late, 1);
    feed(h, other_pod(evicted(0, LOW_MEMORY), "old"));
    assert_int_equal(tc_harness_stats(h).late, 2);
    assert_int_equal(tc_harness_count(h), 3);
    feed(h, condition(10000 - 2 * WINDOW, "MemoryPressure", "True"));
    assert_int_equal(tc_harness_stats(h).late, 2);
    assert_int_equal(tc_harness_count(h), 4);
    assert_text(tc_harness_finding(h, 3)->scope.pod, "edge");
}

static void signs_and_evictions_expire(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, evicted(41, LOW_MEMORY));
    tc_harness_tick(h, AT(100000)); /* more than a day */
    feed(h, condition(100000, "MemoryPressure", "False"));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_stats(h).dropped, 0);
}

static void events_without_time_node_or_pod_are_counted(void **state)
{
    struct tc_harness *h = *state;
    static char longest[300];
    memset(longest, 'n', sizeof longest);
    struct tc_event ev = evicted(0, LOW_MEMORY);
    ev.time_ns = TC_TIME_NONE;
    feed(h, ev);
    ev = evicted(0, "gone");
    ev.scope.pod = TC_EMPTY;
    ev.k8s.object_name = TC_EMPTY;
    feed(h, ev);
    ev = evicted_state(0, "");
    ev.scope.pod = TC_EMPTY;
    feed(h, ev);
    ev = condition(0, "MemoryPressure", "True");
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    ev = node_event(0, "NodeHasDiskPressure", "");
    ev.k8s.object_name = tc_slice_make(longest, sizeof longest);
    feed(h, ev);
    ev = evicted(0, LOW_MEMORY);
    ev.scope.pod_uid = TC_EMPTY;
    ev.k8s.object_uid = tc_slice_make(longest, sizeof longest);
    feed(h, ev);
    ev = evicted(0, LOW_MEMORY);
    ev.scope.ns = tc_slice_make(longest, sizeof longest);
    feed(h, ev);
    assert_int_equal(tc_harness_stats(h).ignored, 7);
    assert_int_equal(tc_harness_count(h), 0);
}

/* A ticket with the top of `kubectl describe` cut off. */
static void a_note_proves_the_eviction_of_a_pod_without_a_name(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = evicted_state(0, LOW_MEMORY);
    ev.time_ns = TC_TIME_UNDATED_MIN;
    ev.uid = TC_EMPTY;
    ev.scope = TC_SCOPE_NONE;
    feed(h, ev);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_text(f->discriminator, "memory_pressure");
    assert_says(f->headline, "A pod was evicted from its node, undated: ");
}

static void evictions_without_a_date_are_told_and_join_nothing(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event pressure = condition(0, "MemoryPressure", "True");
    pressure.time_ns = TC_TIME_UNDATED_MIN;
    feed(h, pressure);
    struct tc_event ev = evicted(0, LOW_MEMORY);
    ev.time_ns = TC_TIME_UNDATED_MIN + 1000;
    feed(h, ev);
    assert_int_equal(tc_harness_stats(h).ignored, 1);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_false(tc_harness_has(f, KEY("seconds_after_condition")));
    /* Told again without a date, by its state or in another file, it is the same. */
    ev = evicted_state(0, LOW_MEMORY);
    ev.time_ns = TC_TIME_UNDATED_MIN + 7200 * TC_SECOND;
    ev.uid = TC_EMPTY;
    ev.scope.pod_uid = TC_EMPTY;
    feed(h, ev);
    assert_int_equal(tc_harness_count(h), 1);
    /* Who knows when it was tells it better. */
    feed(h, evicted_state(41, LOW_MEMORY));
    assert_int_equal(tc_harness_count(h), 2);
    f = tc_harness_finding(h, 1);
    assert_int_equal(f->last_ns, AT(41));
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
}

static void a_condition_without_reason_or_message_joins(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = condition(0, "MemoryPressure", "True");
    ev.k8s.reason = TC_EMPTY;
    feed(h, ev);
    ev = evicted(41, LOW_MEMORY);
    ev.uid = TC_EMPTY;
    ev.scope.ns = TC_EMPTY;
    feed(h, ev);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->evidence[0].description, "Node gpu-04 was under MemoryPressure");
    assert_text(f->evidence[1].uid, "pod:/loader-3:2026-01-01T00:00:41Z");
    assert_says(f->headline, "Pod loader-3 was evicted");
}

static void a_flood_of_signs_drops_the_oldest_and_says_so(void **state)
{
    struct tc_harness *h = *state;
    char node[16];
    feed(h, condition(0, "MemoryPressure", "True"));
    for (int i = 0; i < 30000; i++) {
        struct tc_event ev = condition(1, "MemoryPressure", "True");
        (void)snprintf(node, sizeof node, "n%d", i);
        ev.scope.node = tc_slice_cstr(node);
        feed(h, ev);
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    feed(h, evicted(2, LOW_MEMORY)); /* its sign is gone */
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
    assert_true(tc_harness_finding(h, 0)->incomplete);
    struct tc_event ev = other_pod(evicted(2, LOW_MEMORY), "other");
    ev.scope.node = tc_slice_cstr(node);
    feed(h, ev);
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_FULL);
    assert_true(tc_harness_finding(h, 1)->incomplete);
    feed(h, other_pod(evicted(2 + WINDOW, LOW_MEMORY), "later"));
    assert_false(tc_harness_finding(h, 2)->incomplete);
}

static void a_flood_of_evictions_is_bounded(void **state)
{
    struct tc_harness *h = *state;
    char name[16];
    feed(h, condition(0, "MemoryPressure", "True"));
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        feed(h, other_pod(evicted(41, LOW_MEMORY), name));
    }
    assert_int_equal(tc_harness_count(h), 20000);
    assert_true(tc_harness_stats(h).dropped > 0);
    tc_harness_clear(h);
    /* Each end resolves a bounded number, and in the end all that are left. */
    size_t before = 1;
    for (int i = 0; i < 20 && before != tc_harness_count(h); i++) {
        before = tc_harness_count(h);
        feed(h, condition(100 + i, "MemoryPressure", "False"));
        assert_in_range(tc_harness_count(h) - before, 0, 1024);
    }
    assert_int_equal(before, tc_harness_count(h));
    assert_true(before > 1024);
}

static void a_storm_of_thresholds_costs_one_record_a_step(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 30000; i++) {
        struct tc_event ev = node_event(0, "EvictionThresholdMet", "Attempting to reclaim memory");
        ev.time_ns += i * TC_SECOND / 100;
        feed(h, ev);
    }
    feed(h, evicted(WINDOW, LOW_MEMORY));
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
    assert_false(tc_harness_finding(h, 0)->incomplete);
    assert_int_equal(tc_harness_stats(h).dropped, 0);
}

static void a_storm_that_comes_late_is_not_a_storm_of_verdicts(void **state)
{
    struct tc_harness *h = *state;
    feed(h, evicted(WINDOW, LOW_MEMORY));
    for (int64_t i = 0; i < 1000; i++) {
        struct tc_event ev = node_event(0, "EvictionThresholdMet", "Attempting to reclaim memory");
        ev.time_ns += i * TC_SECOND / 10;
        feed(h, ev);
    }
    assert_in_range(tc_harness_count(h), 2, 17);
    tc_harness_clear(h);
    feed(h, condition(50, "MemoryPressure", "True")); /* a better sign is told all the same */
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("seconds_after_condition")), 250);
}

/* The same events at the same time in every order: the last word is the same. */
static void the_order_of_equal_times_does_not_matter(void **state)
{
    (void)state;
    struct tc_event events[5] = {
        condition(0, "MemoryPressure", "True"),
        node_event(0, "NodeHasInsufficientMemory", ""),
        node_event(0, "EvictionThresholdMet", "Attempting to reclaim memory"),
        evicted(0, LOW_MEMORY),
        evicted_state(0, ""),
    };
    char first[4096];
    size_t first_len = 0;
    for (unsigned order = 0; order < 120; order++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, NULL);
        unsigned left[5] = {0, 1, 2, 3, 4};
        unsigned code = order;
        for (unsigned i = 5; i > 0; i--) {
            unsigned pick = code % i;
            code /= i;
            tc_harness_feed(h, &events[left[pick]]);
            memmove(left + pick, left + pick + 1, (4 - pick) * sizeof left[0]);
        }
        const struct tc_finding *f = tc_harness_finding(h, -1);
        char text[4096];
        int len = snprintf(text, sizeof text, "%.*s|%.*s|%.*s|%.*s|%.*s|%.*s", TC_FMT(f->key),
                           TC_FMT(f->headline), TC_FMT(f->remediation), TC_FMT(f->evidence[0].uid),
                           TC_FMT(f->evidence[0].description), TC_FMT(f->evidence[1].description));
        assert_true(len > 0 && (size_t)len < sizeof text);
        if (order == 0) {
            memcpy(first, text, sizeof text);
            first_len = (size_t)len;
        }
        assert_int_equal((size_t)len, first_len);
        assert_memory_equal(text, first, (size_t)len);
        tc_harness_destroy(h);
    }
}

static void the_same_events_give_the_same_findings(void **state)
{
    struct tc_harness *h = *state;
    struct tc_harness *again = tc_harness_create(&tc_detector_pod_evicted, NULL);
    for (int round = 0; round < 2; round++) {
        struct tc_harness *now = round == 0 ? h : again;
        for (int64_t i = 0; i < 200; i++) {
            char name[16];
            (void)snprintf(name, sizeof name, "p%d", (int)(i % 70));
            feed(now, condition(i * 7 % 50, "MemoryPressure", i % 5 == 0 ? "False" : "True"));
            feed(now, other_pod(evicted(i, LOW_MEMORY), name));
        }
    }
    assert_true(tc_harness_count(h) > 70);
    assert_true(tc_slice_eq(tc_harness_dump(h), tc_harness_dump(again)));
    tc_harness_destroy(again);
}

static void hostile_notes_are_read_and_cut(void **state)
{
    struct tc_harness *h = *state;
    static char note[70000];
    static const char *const starts[] = {
        "The node was low on resource: memory. Container ", "The node had condition: [",
        "Container ", "Usage of EmptyDir volume exceeds the limit ", "available: "};
    static const char fillers[] = {'"', ' ', '.', 'x', '\xff', '\0'};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        for (size_t k = 0; k < sizeof fillers; k++) {
            size_t len = strlen(starts[i]);
            memset(note, fillers[k], sizeof note);
            memcpy(note, starts[i], len);
            struct tc_event ev = evicted(41, "");
            ev.scope.pod_uid = tc_slice_make(note, 16 + i * 8 + k);
            ev.k8s.message = tc_slice_make(note, sizeof note);
            ev.uid = ev.k8s.message;
            feed(h, ev);
            tc_harness_conforms(tc_harness_finding(h, -1));
            assert_in_range(tc_harness_finding(h, -1)->evidence[0].description.len, 1, 400);
            assert_in_range(tc_harness_finding(h, -1)->evidence[0].uid.len, 1, 256);
        }
    }
}

static void memory_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_harness_options small_window = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, &small_window);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);

    /* Every size of scratch either works or says that it does not. */
    bool worked = false;
    for (size_t bytes = 64; bytes < 16384; bytes += 64) {
        struct tc_harness_options options = {.scratch_bytes = bytes};
        h = tc_harness_create(&tc_detector_pod_evicted, &options);
        struct tc_event events[] = {condition(0, "MemoryPressure", "True"), evicted(41, LOW_MEMORY),
                                    condition(400, "MemoryPressure", "False")};
        tc_status status = TC_OK;
        for (size_t i = 0; i < 3 && status == TC_OK; i++) {
            status = tc_harness_try_feed(h, &events[i]);
        }
        assert_true(status == TC_OK || status == TC_E_NOMEM);
        assert_false(worked && status != TC_OK);
        worked = status == TC_OK;
        assert_int_equal(tc_harness_count(h) == 2, worked);
        tc_harness_destroy(h);
    }
    assert_true(worked);
}

static void a_sink_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options options = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, &options);
    struct tc_event ev = evicted(41, LOW_MEMORY);
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_E_IO);
    tc_harness_destroy(h);
}

static struct tc_event repeated(struct tc_event ev, int64_t first_seconds)
{
    ev.k8s.count = 9;
    ev.k8s.first_ns = AT(first_seconds);
    return ev;
}

static void a_node_event_that_repeats_stands_for_all_its_time(void **state)
{
    (void)state;
    static const struct {
        int64_t first;
        int64_t last;
        int64_t
            after; /* seconds_after_condition of an eviction at 1000; -1 when it does not join */
    } cases[] = {
        {970, 1060, 30},  /* went on over the eviction */
        {970, 990, 30},   /* ended before it, began in the window */
        {700, 1060, 300}, /* the edge */
        {600, 990, 10},   /* began before the window: its last time counts */
        {600, 1060, 400}, /* the same, but it was ongoing */
        {1000, 1060, 0},  /* the same instant */
        {1001, 1060, -1}, /* all of it after */
        {600, 699, -1},   /* all of it before the window */
    };
    static const char *const reasons[] = {"EvictionThresholdMet", "NodeHasInsufficientMemory"};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, NULL);
        struct tc_event sign = node_event(cases[i / 2].last, reasons[i % 2], "memory");
        sign = repeated(sign, cases[i / 2].first);
        bool before = cases[i / 2].last < 1000;
        if (before) {
            feed(h, sign);
        }
        feed(h, evicted(1000, LOW_MEMORY));
        if (!before) {
            feed(h, sign);
        }
        const struct tc_finding *f = tc_harness_finding(h, -1);
        tc_harness_conforms(f);
        bool joins = cases[i / 2].after >= 0;
        assert_int_equal(f->confidence, joins ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL);
        if (joins) {
            assert_int_equal(tc_harness_int(f, KEY("seconds_after_condition")), cases[i / 2].after);
        }
        tc_harness_destroy(h);
    }
}

static void pressure_that_was_ongoing_stays_joined_when_more_is_told(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event bare = evicted(1000, LOW_MEMORY);
    bare.scope.pod_uid = TC_EMPTY;
    feed(h, bare);
    feed(h, repeated(node_event(1060, "NodeHasInsufficientMemory", ""), 600));
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_FULL);
    feed(h, evicted(1000, LOW_MEMORY)); /* the uid is news */
    assert_int_equal(tc_harness_count(h), 3);
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("seconds_after_condition")),
                     400);
}

static void every_condition_that_the_note_names_may_join(void **state)
{
    (void)state;
    static const struct {
        const char *note;
        const char *condition;
        const char *discriminator;
        bool joins;
    } cases[] = {
        {"The node had condition: [DiskPressure MemoryPressure]. ", "MemoryPressure",
         "memory_pressure", true},
        {"The node had condition: [DiskPressure MemoryPressure]. ", "DiskPressure", "disk_pressure",
         true},
        {"The node had condition: [MemoryPressure, DiskPressure]. ", "DiskPressure",
         "disk_pressure", true},
        {"The node had condition: MemoryPressure, PIDPressure. ", "PIDPressure", "pid_pressure",
         true},
        {"The node had condition: [MemoryPressure]. Not DiskPressure. ", "DiskPressure",
         "memory_pressure", false},
        {"The node had condition: MemoryPressure. Not DiskPressure. ", "DiskPressure",
         "memory_pressure", false},
        {"The node had condition: [DiskPressure MemoryPressure", "PIDPressure", "disk_pressure",
         false},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_pod_evicted, NULL);
        bool late = i % 2 == 1;
        if (!late) {
            feed(h, condition(0, cases[i / 2].condition, "True"));
        }
        feed(h, evicted(41, cases[i / 2].note));
        if (late) {
            feed(h, condition(0, cases[i / 2].condition, "True"));
        }
        const struct tc_finding *f = tc_harness_finding(h, -1);
        tc_harness_conforms(f);
        assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(cases[i / 2].discriminator)));
        assert_int_equal(f->confidence,
                         cases[i / 2].joins ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL);
        if (cases[i / 2].joins) {
            assert_true(tc_slice_contains(f->headline, tc_slice_cstr(cases[i / 2].condition)));
            feed(h, condition(60, "PIDPressure", "False"));
            feed(h, condition(60, cases[i / 2].condition, "False"));
            assert_true(tc_harness_finding(h, -1)->resolved);
        }
        tc_harness_destroy(h);
    }
}

static void the_end_of_another_condition_resolves_nothing(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    feed(h, evicted(41, "The node had condition: [DiskPressure MemoryPressure]. "));
    feed(h, condition(60, "DiskPressure", "False"));
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, condition(60, "MemoryPressure", "False"));
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_harness_finding(h, 1)->resolved);
}

static void an_eviction_by_another_than_the_kubelet_is_silent(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = evicted(41, "Evicted by drain: node memory upgrade");
    ev.k8s.component = TC_LIT("node-maintenance");
    feed(h, ev);
    ev.k8s.component = TC_LIT("sigs.k8s.io/descheduler");
    feed(h, ev);
    assert_int_equal(tc_harness_count(h), 0);
    ev.k8s.component = TC_LIT("kubelet");
    feed(h, ev);
    assert_int_equal(tc_harness_count(h), 1);
}

/* One event that the API server counts on, and one of a pod whose uid it does not tell. */
static void a_count_that_grows_is_one_eviction(void **state)
{
    struct tc_harness *h = *state;
    feed(h, condition(0, "MemoryPressure", "True"));
    for (int64_t i = 0; i < 20000; i++) {
        struct tc_event ev = evicted(1 + i / 10, LOW_MEMORY);
        ev.k8s.count = i + 1;
        ev.k8s.first_ns = AT(1);
        feed(h, ev);
        ev = other_pod(ev, "loader-4");
        ev.scope.pod_uid = TC_EMPTY;
        feed(h, ev);
        struct tc_event pressure = node_event(1 + i / 10, "NodeHasInsufficientMemory", "");
        pressure.uid = TC_LIT("event-9");
        pressure.k8s.count = i + 1;
        pressure.k8s.first_ns = AT(0);
        feed(h, pressure);
    }
    assert_int_equal(tc_harness_stats(h).dropped, 0);
    for (size_t i = 0; i < tc_harness_count(h); i++) {
        struct tc_slice key = tc_harness_finding(h, (long)i)->key;
        assert_true(tc_slice_eq(key, TC_LIT("ml/loader-3/pod-uid-3")) ||
                    tc_slice_eq(key, tc_harness_finding(h, 1)->key));
    }
    assert_in_range(tc_harness_count(h), 2, 2 + 2 * 16);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_count_that_grows_is_one_eviction),
        TEST(a_node_event_that_repeats_stands_for_all_its_time),
        TEST(pressure_that_was_ongoing_stays_joined_when_more_is_told),
        TEST(every_condition_that_the_note_names_may_join),
        TEST(the_end_of_another_condition_resolves_nothing),
        TEST(an_eviction_by_another_than_the_kubelet_is_silent),
        TEST(an_eviction_after_its_condition_is_full),
        TEST(the_eviction_of_a_rank_is_critical),
        TEST(a_rank_that_is_told_late_makes_the_eviction_critical),
        TEST(the_eviction_of_a_pod_with_gpus_is_critical),
        TEST(an_eviction_without_its_condition_is_partial),
        TEST(the_condition_must_be_of_that_type_on_that_node_and_true),
        TEST(the_window_includes_its_edge_and_nothing_beyond),
        TEST(a_transition_after_the_eviction_never_joins),
        TEST(the_window_is_a_knob),
        TEST(a_late_condition_makes_a_partial_verdict_full),
        TEST(every_wording_of_the_note_is_read),
        TEST(the_notes_of_the_samples_are_read),
        TEST(node_events_are_signs_of_pressure_too),
        TEST(the_beginning_of_a_condition_beats_a_threshold_and_the_latest_wins),
        TEST(a_threshold_is_not_told_as_a_condition),
        TEST(the_event_and_the_state_of_a_pod_are_one_incident),
        TEST(a_state_alone_is_enough),
        TEST(the_kubelets_event_knows_the_time_better_than_the_state),
        TEST(what_one_telling_lacks_the_other_adds),
        TEST(a_telling_that_changes_the_resource_drops_the_old_join),
        TEST(without_a_uid_a_later_eviction_is_another_pods),
        TEST(pods_with_other_uids_or_nodes_are_other_pods),
        TEST(planned_evictions_are_silent),
        TEST(the_end_of_the_condition_resolves_what_it_caused),
        TEST(node_events_resolve_too),
        TEST(an_end_before_the_eviction_or_without_a_join_resolves_nothing),
        TEST(late_evictions_are_told_and_late_signs_are_not_kept),
        TEST(signs_and_evictions_expire),
        TEST(events_without_time_node_or_pod_are_counted),
        TEST(a_note_proves_the_eviction_of_a_pod_without_a_name),
        TEST(evictions_without_a_date_are_told_and_join_nothing),
        TEST(a_condition_without_reason_or_message_joins),
        TEST(a_flood_of_signs_drops_the_oldest_and_says_so),
        TEST(a_flood_of_evictions_is_bounded),
        TEST(a_storm_of_thresholds_costs_one_record_a_step),
        TEST(a_storm_that_comes_late_is_not_a_storm_of_verdicts),
        TEST(the_order_of_equal_times_does_not_matter),
        TEST(the_same_events_give_the_same_findings),
        TEST(hostile_notes_are_read_and_cut),
        TEST(memory_that_is_too_small_is_reported),
        TEST(a_sink_that_fails_is_passed_on),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
