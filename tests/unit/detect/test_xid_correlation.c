/* SPDX-License-Identifier: Apache-2.0 */
/* Every event here is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "event/xid.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <stdio.h>

#define KEY(name) "tracecore.alert.xid_correlation." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define WINDOW 300
#define UUID "GPU-8d5f3a10-0000-4000-8000-00000000b300"

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_xid_correlation, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event xid(int64_t seconds, int64_t code)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_XID);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    assert_int_not_equal(tc_bdf_parse(TC_LIT("0000:b3:00.0"), &ev.scope.pci), 0);
    ev.xid.code = code;
    ev.raw = (struct tc_raw){.source = 0, .offset = (uint64_t)(seconds + 1000), .length = 80};
    return ev;
}

static struct tc_event pod_event(int64_t seconds, const char *reason, const char *pod)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = AT(seconds);
    ev.uid = TC_LIT("event-1");
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = tc_slice_cstr(pod);
    ev.scope.pod_uid = TC_LIT("pod-uid-1");
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.object_name = ev.scope.pod;
    ev.k8s.reason = tc_slice_cstr(reason);
    ev.raw = (struct tc_raw){.source = 1, .offset = 7, .length = 300};
    return ev;
}

static struct tc_event pod_state(int64_t seconds, const char *reason, int64_t exit_code)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.time_ns = AT(seconds);
    ev.uid = TC_LIT("pod-uid-1/trainer");
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = TC_LIT("train-7");
    ev.scope.pod_uid = TC_LIT("pod-uid-1");
    ev.scope.container = TC_LIT("trainer");
    ev.pod.phase = TC_LIT("Running");
    ev.pod.reason = tc_slice_cstr(reason);
    ev.pod.exit_code = exit_code;
    return ev;
}

static struct tc_event inventory(const char *uuid)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_GPU_INVENTORY);
    ev.scope.node = TC_LIT("gpu-07");
    assert_int_not_equal(tc_bdf_parse(TC_LIT("0000:b3:00.0"), &ev.scope.pci), 0);
    ev.scope.gpu_uuid = tc_slice_cstr(uuid);
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

/* What has no GPU does not fail for one; that its node threw it out may be for the Xid all the
 * same. */
static void a_pod_without_a_gpu_failed_of_something_else(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event end = pod_state(41, "Error", 1);
    end.pod.gpus = 0;
    feed(h, xid(0, 79));
    feed(h, end);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, pod_event(60, "Evicted", "train-7"));
    assert_int_equal(tc_harness_count(h), 1);
}

static void an_xid_before_an_eviction_is_a_partial_verdict(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, pod_event(41, "Evicted", "train-7"));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->pattern_id, "2");
    assert_text(f->key, "gpu-07/ml/train-7/pod-uid-1");
    assert_text(f->discriminator, "hardware_xid");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_false(f->incomplete);
    assert_false(f->resolved);
    assert_text(f->headline,
                "Pod ml/train-7 on gpu-07 was evicted 41 s after Xid 79 (GPU has fallen "
                "off the bus) on 0000:b3:00.0");
    assert_says(f->remediation, "On node gpu-07, GPU 0000:b3:00.0: ");
    assert_true(tc_slice_contains(f->remediation, tc_slice_cstr(tc_xid_find(79)->action)));
    assert_says(f->remediation, "nothing seen ties the two");
    assert_int_equal(tc_harness_int(f, KEY("xid")), 79);
    assert_int_equal(tc_harness_int(f, KEY("seconds_before")), 41);
    assert_int_equal(tc_harness_int(f, KEY("xid_count")), 1);
    assert_text(tc_harness_text(f, KEY("xid_class")), "hardware");
    assert_text(tc_harness_text(f, KEY("pod_reason")), "Evicted");
    assert_int_equal(f->first_ns, AT(0));
    assert_int_equal(f->last_ns, AT(41));
    assert_text(f->scope.node, "gpu-07");
    assert_text(f->scope.pod, "train-7");
    assert_text(f->scope.pod_uid, "pod-uid-1");
    assert_int_equal(f->scope.pid, -1);
    assert_int_equal(f->evidence_count, 2);
    assert_text(f->evidence[0].kind, "xid");
    assert_text(f->evidence[0].uid, "xid:gpu-07:0000:b3:00.0:79:2026-01-01T00:00:00Z");
    assert_int_equal(f->evidence[0].raw.offset, 1000);
    assert_text(f->evidence[1].kind, "pod_event");
    assert_text(f->evidence[1].uid, "event-1");
    assert_int_equal(f->evidence[1].raw.length, 300);
}

static void a_lone_symptom_is_silent(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    assert_int_equal(tc_harness_count(h), 0);
    struct tc_event elsewhere = pod_event(10, "Evicted", "train-7");
    elsewhere.scope.node = TC_LIT("gpu-08");
    feed(h, elsewhere);
    assert_int_equal(tc_harness_count(h), 0);
}

static void application_and_information_xids_alone_never_blame(void **state)
{
    struct tc_harness *h = *state;
    static const int64_t codes[] = {13, 31, 43, 45, 154};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        feed(h, xid((int64_t)i, codes[i]));
    }
    feed(h, pod_event(41, "Evicted", "train-7"));
    assert_int_equal(tc_harness_count(h), 0);
    /* They are counted beside one that does. */
    feed(h, xid(50, 48));
    feed(h, pod_event(60, "Evicted", "train-8"));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid")), 48);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid_count")), 6);
}

static void the_window_includes_its_edge_and_nothing_beyond(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    struct tc_event over = pod_event(WINDOW, "Evicted", "over");
    over.time_ns += 1;
    feed(h, pod_event(WINDOW, "Evicted", "edge"));
    feed(h, over);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_finding(h, 0)->scope.pod, "edge");
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("seconds_before")), WINDOW);
}

static void an_xid_after_the_pod_event_never_joins(void **state)
{
    struct tc_harness *h = *state;
    feed(h, pod_event(10, "Evicted", "train-7"));
    feed(h, xid(11, 79)); /* what is in the same second may not be after it: see below */
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, xid(10, 79)); /* the same instant does */
    assert_int_equal(tc_harness_count(h), 1);
    assert_says(tc_harness_finding(h, 0)->headline, "was evicted at the time of Xid 79");
}

static void the_window_is_a_knob(void **state)
{
    (void)state;
    struct tc_harness_options options = {.param = "window", .value = 10 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, &options);
    feed(h, xid(0, 79));
    feed(h, pod_event(11, "Evicted", "over"));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, xid(12, 79));
    feed(h, pod_event(22, "Evicted", "edge"));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
}

static void the_most_severe_xid_wins_and_the_latest_of_equals(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));  /* fatal */
    feed(h, xid(10, 79)); /* the later of two alike */
    feed(h, xid(20, 94)); /* less severe, later still */
    feed(h, pod_event(41, "Evicted", "train-7"));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_int_equal(tc_harness_int(f, KEY("xid")), 79);
    assert_int_equal(tc_harness_int(f, KEY("seconds_before")), 31);
    assert_int_equal(tc_harness_int(f, KEY("xid_count")), 3);
    assert_int_equal(f->evidence[0].raw.offset, 1010);
    struct tc_event other = xid(60, 79);
    other.scope.pci.bus = 0x17;
    feed(h, other);
    feed(h, pod_event(70, "Evicted", "train-8"));
    assert_int_equal(tc_harness_finding(h, 1)->scope.pci.bus, 0x17);
}

static void among_equals_the_xid_of_the_pods_own_gpu_wins(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = xid(10, 79);
    other.scope.pci.bus = 0x17;
    feed(h, xid(0, 79));
    feed(h, other);
    struct tc_event pod = pod_event(41, "Evicted", "train-7");
    assert_int_not_equal(tc_bdf_parse(TC_LIT("b3:00.0"), &pod.scope.pci), 0);
    feed(h, pod);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_int_equal(f->scope.pci.bus, 0xb3);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
}

static void a_shared_gpu_or_process_makes_it_full(void **state)
{
    (void)state;
    for (int how = 0; how < 5; how++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        struct tc_event x = xid(0, 79);
        struct tc_event pod = pod_state(41, "Error", 1);
        if (how == 0) {
            x.scope.gpu_uuid = TC_LIT(UUID);
            pod.scope.gpu_uuid = TC_LIT(UUID);
        } else if (how == 1) { /* the inventory says which GPU it was */
            feed(h, inventory(UUID));
            pod.scope.gpu_uuid = TC_LIT(UUID);
        } else if (how == 2) {
            pod.scope.pci = x.scope.pci;
        } else if (how == 3) {
            x.scope.pid = 4711;
            pod.scope.pid = 4711;
        } else { /* the pod's address leads to the UUID of the Xid */
            feed(h, inventory(UUID));
            pod.scope.pci = x.scope.pci;
            x.scope.pci = (struct tc_bdf){0};
            x.scope.gpu_uuid = TC_LIT(UUID);
        }
        feed(h, x);
        feed(h, pod);
        assert_int_equal(tc_harness_count(h), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
        assert_int_equal(f->scope.pid, how == 3 ? 4711 : -1);
        assert_int_equal(f->scope.gpu_uuid.len, how == 2 || how == 3 ? 0 : sizeof UUID - 1);
        assert_false(tc_slice_contains(f->remediation, TC_LIT("nothing seen ties")));
        tc_harness_destroy(h);
    }
}

static void a_gpu_of_unknown_place_or_no_process_ties_nothing(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79)); /* pid unknown, -1, like the pod's */
    struct tc_event pod = pod_state(41, "Error", 1);
    pod.scope.gpu_uuid = TC_LIT("GPU-8d5f3a10-0000-4000-8000-00000000ffff");
    feed(h, pod);
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
}

static void an_inventory_that_comes_late_ties_the_gpu(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    struct tc_event pod = pod_state(41, "Error", 1);
    pod.scope.gpu_uuid = TC_LIT(UUID);
    feed(h, pod);
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_PARTIAL);
    feed(h, inventory(UUID));
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_FULL);
    feed(h, inventory(UUID)); /* again: nothing new */
    assert_int_equal(tc_harness_count(h), 2);
}

static void a_swapped_board_has_its_new_uuid(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory("GPU-old"));
    feed(h, inventory(UUID));
    feed(h, xid(0, 79));
    feed(h, pod_event(41, "Evicted", "train-7"));
    assert_text(tc_harness_finding(h, 0)->scope.gpu_uuid, UUID);
}

static void an_unknown_code_is_a_partial_warning(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event pod = pod_event(41, "Evicted", "train-7");
    pod.scope.pid = 7;
    struct tc_event x = xid(0, 99999);
    x.scope.pid = 7;
    feed(h, x);
    feed(h, pod);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "unknown_xid");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_text(tc_harness_text(f, KEY("xid_class")), "unknown");
    assert_false(tc_harness_has(f, KEY("xid_name")));
    assert_says(f->remediation, "look up Xid 99999");
    /* Any code of the catalogue is above it. */
    feed(h, xid(50, 63));
    feed(h, pod_event(60, "Evicted", "train-8"));
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("xid")), 63);
}

static void a_driver_xid_says_so(void **state)
{
    struct tc_harness *h = *state;
    const struct tc_xid *driver = NULL;
    size_t count = 0;
    const struct tc_xid *table = tc_xid_table(&count);
    for (size_t i = 0; i < count && driver == NULL; i++) {
        driver = table[i].class == TC_XID_DRIVER ? &table[i] : NULL;
    }
    assert_non_null(driver);
    feed(h, xid(0, driver->code));
    feed(h, pod_event(41, "Evicted", "train-7"));
    assert_text(tc_harness_finding(h, 0)->discriminator, "driver_xid");
    tc_harness_conforms(tc_harness_finding(h, 0));
}

static void events_that_mean_nothing_here_are_silent(void **state)
{
    struct tc_harness *h = *state;
    static const char *const reasons[] = {"Killing", "Preempted",   "Preempting",
                                          "BackOff", "Unhealthy",   "Scheduled",
                                          "Started", "FailedMount", "FailedKillPod"};
    feed(h, xid(0, 79));
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        feed(h, pod_event(10, reasons[i], "train-7"));
    }
    static const char *const states[] = {
        "OOMKilled",  "Completed", "DeadlineExceeded",     "OutOfcpu",   "NodeAffinity",
        "Terminated", "NodeLost",  "TerminationByKubelet", "Preempting", "EvictionByEvictionAPI"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct tc_event ev = pod_state(10, states[i], -1);
        ev.pod.phase = TC_LIT("Failed");
        feed(h, ev);
    }
    feed(h, pod_state(10, "", 0));
    feed(h, pod_state(10, "", -1));
    struct tc_event node = pod_event(10, "Evicted", "train-7");
    node.k8s.object_kind = TC_LIT("Node");
    feed(h, node);
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 0);
}

static void ways_to_fail_that_join(void **state)
{
    (void)state;
    for (int how = 0; how < 9; how++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        struct tc_event ev = pod_state(10, "", -1);
        bool evicted = false;
        if (how == 0) {
            ev.pod.phase = TC_LIT("Failed");
        } else if (how == 1) {
            ev.pod.exit_code = 1;
        } else if (how == 2) {
            ev.pod.signal = 9;
        } else if (how == 3) {
            ev.pod.reason = TC_LIT("Error");
        } else if (how == 4) {
            ev.pod.reason = TC_LIT("ContainerCannotRun");
        } else if (how == 5) {
            ev.pod.reason = TC_LIT("Evicted");
            evicted = true;
        } else if (how == 6) {
            ev = pod_event(10, "Failed", "train-7");
            ev.k8s.message = TC_LIT("Error: failed to create task: nvml error: unknown error");
        } else if (how == 7) {
            ev = pod_event(10, "TaintManagerEviction", "train-7");
            ev.k8s.message = TC_LIT("Marking for deletion Pod ml/train-7");
            evicted = true;
        } else { /* an event that forgot what it is about, but names a pod */
            ev = pod_event(10, "Evicted", "train-7");
            ev.k8s.object_kind = TC_EMPTY;
            evicted = true;
        }
        feed(h, xid(0, 79));
        feed(h, ev);
        assert_int_equal(tc_harness_count(h), 1);
        tc_harness_conforms(tc_harness_finding(h, 0));
        assert_true(tc_slice_contains(tc_harness_finding(h, 0)->headline,
                                      evicted ? TC_LIT(" was evicted ") : TC_LIT(" failed ")));
        tc_harness_destroy(h);
    }
}

static void setup_faults_and_cancelled_evictions_do_not_join(void **state)
{
    struct tc_harness *h = *state;
    static const char *const messages[] = {
        "Failed to pull image \"registry.example/train:1\": not found", "Error: ErrImagePull",
        "Error: configmap \"settings\" not found", "Error: secret \"token\" not found"};
    feed(h, xid(0, 79));
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        struct tc_event ev = pod_event(10, "Failed", "train-7");
        ev.k8s.message = tc_slice_cstr(messages[i]);
        feed(h, ev);
    }
    struct tc_event ev = pod_event(10, "TaintManagerEviction", "train-7");
    ev.k8s.message = TC_LIT("Cancelling deletion of Pod ml/train-7");
    feed(h, ev);
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_container_asked_to_stop_did_not_fail(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, pod_state(10, "Error", 143));
    feed(h, pod_state(10, "Error", 130));
    struct tc_event by_signal = pod_state(10, "Error", -1);
    by_signal.pod.signal = 15;
    feed(h, by_signal);
    assert_int_equal(tc_harness_count(h), 0);
}

static void what_ends_after_a_request_to_stop_is_silent_but_an_eviction_is_not(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event killing = pod_event(5, "Killing", "train-7");
    killing.k8s.message = TC_LIT("Stopping container trainer");
    feed(h, xid(0, 79));
    feed(h, killing);
    feed(h, pod_state(10, "Error", 137));
    assert_int_equal(tc_harness_count(h), 0);
    struct tc_event evicted = pod_event(11, "Evicted", "train-7");
    evicted.uid = TC_LIT("event-2");
    feed(h, evicted);
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_request_to_stop_after_the_failure_changes_nothing(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event killing = pod_event(12, "Killing", "train-7");
    killing.k8s.message = TC_LIT("Stopping container trainer");
    feed(h, pod_state(10, "Error", 1));
    feed(h, killing);
    feed(h, xid(0, 79)); /* late */
    assert_int_equal(tc_harness_count(h), 1);
    struct tc_event probe = pod_event(20, "Killing", "train-8");
    probe.k8s.message = TC_LIT("Container trainer failed liveness probe, will be restarted");
    feed(h, probe);
    struct tc_event ended = pod_state(21, "Error", 137);
    ended.scope.pod = TC_LIT("train-8");
    feed(h, ended);
    assert_int_equal(tc_harness_count(h), 2);
}

static void one_pod_is_one_incident(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, pod_event(41, "Evicted", "train-7"));
    feed(h, pod_event(41, "Evicted", "train-7")); /* the same, replayed */
    struct tc_event restamped = pod_event(99, "Evicted", "train-7");
    feed(h, restamped); /* same uid and count at another time */
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, pod_state(50, "Error", 137));
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_int_equal(f->last_ns, AT(50));
    assert_int_equal(f->evidence_count, 3);
    assert_says(f->evidence[2].description, "exit code 137");
    assert_text(f->scope.container, "trainer");
    /* Older news than the newest changes nothing. */
    struct tc_event older = pod_event(45, "Failed", "train-7");
    older.uid = TC_LIT("event-3");
    feed(h, older);
    assert_int_equal(tc_harness_count(h), 2);
}

static void a_count_that_grows_is_news(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, pod_event(41, "Failed", "train-7"));
    struct tc_event again = pod_event(61, "Failed", "train-7");
    again.k8s.count = 2;
    feed(h, again);
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, 1)->last_ns, AT(61));
}

static void a_count_that_grows_is_one_record(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 94));
    for (int64_t i = 0; i < 20000; i++) {
        bool even = i % 2 == 0;
        struct tc_event ev = pod_event(1, "Failed", even ? "train-7" : "train-8");
        ev.uid = even ? TC_LIT("event-1") : TC_LIT("event-2");
        ev.scope.pod_uid = even ? TC_LIT("pod-uid-1") : TC_LIT("pod-uid-2");
        ev.time_ns += i * TC_SECOND / 100;
        ev.k8s.count = i / 2 + 1;
        feed(h, ev);
        if (i == 1) {
            struct tc_event once = pod_event(1, "Failed", "train-9");
            once.scope.pod_uid = TC_LIT("pod-uid-3");
            feed(h, once);
        }
    }
    assert_int_equal(tc_harness_stats(h).dropped, 0);
    assert_int_equal(tc_harness_finding(h, -1)->last_ns, AT(201) - TC_SECOND / 100);
    tc_harness_clear(h);
    /* A worse Xid that comes late finds both, behind a pod that ended before it. */
    feed(h, xid(150, 79));
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid")), 79);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 1), KEY("xid")), 79);
}

static void the_state_of_a_failed_pod_read_again_is_no_news(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event failed = pod_state(0, "Error", 1);
    failed.pod.phase = TC_LIT("Failed");
    feed(h, failed);
    feed(h, xid(100, 79));
    failed.time_ns = AT(120); /* a collector that stamps what it reads */
    feed(h, failed);
    assert_int_equal(tc_harness_count(h), 0);
}

static void pods_with_other_uids_are_other_pods(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event second = pod_event(50, "Evicted", "train-7");
    second.scope.pod_uid = TC_LIT("pod-uid-2");
    second.uid = TC_LIT("event-2");
    feed(h, xid(0, 79));
    feed(h, pod_event(41, "Evicted", "train-7"));
    feed(h, second);
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(tc_harness_finding(h, 1)->key, "gpu-07/ml/train-7/pod-uid-2");
}

static void a_uid_learned_later_is_the_same_pod(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event bare = pod_event(41, "Evicted", "train-7");
    bare.scope.pod_uid = TC_EMPTY;
    feed(h, xid(0, 79));
    feed(h, bare);
    feed(h, pod_state(41, "Evicted", -1));
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    assert_text(f->key, "gpu-07/ml/train-7@2026-01-01T00:00:41Z");
    assert_text(f->scope.pod_uid, "pod-uid-1");
}

static void a_gpu_learned_later_makes_it_full(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event x = xid(0, 79);
    x.scope.gpu_uuid = TC_LIT(UUID);
    struct tc_event pod = pod_state(41, "Evicted", -1);
    pod.scope.gpu_uuid = TC_LIT(UUID);
    feed(h, x);
    feed(h, pod_event(41, "Evicted", "train-7"));
    feed(h, pod);
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_FULL);
}

static void an_event_without_a_uid_is_about_the_newest_pod_of_the_name(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    static const char *const uids[] = {"a", "b", "c", "d"};
    for (int64_t i = 0; i < 4; i++) {
        struct tc_event ev = pod_event(10 + i, "Evicted", "train-7");
        ev.uid = tc_slice_cstr(uids[i]);
        ev.scope.pod_uid = tc_slice_cstr(uids[i]);
        feed(h, ev);
    }
    struct tc_event bare = pod_event(20, "Failed", "train-7");
    bare.uid = TC_LIT("e");
    bare.scope.pod_uid = TC_EMPTY;
    feed(h, bare);
    assert_int_equal(tc_harness_count(h), 5);
    assert_text(tc_harness_finding(h, 4)->scope.pod_uid, "d");
}

static void a_later_failure_with_a_worse_xid_raises_the_verdict(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 94));
    feed(h, pod_state(10, "Error", 1));
    feed(h, xid(20, 79));
    struct tc_event again = pod_state(30, "Error", 1);
    feed(h, again);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    assert_int_equal(tc_harness_int(f, KEY("xid")), 79);
    assert_int_equal(tc_harness_int(f, KEY("seconds_before")), 10);
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->evidence_count, 2);
}

static void a_late_xid_opens_and_updates(void **state)
{
    struct tc_harness *h = *state;
    feed(h, pod_event(41, "Evicted", "train-7"));
    feed(h, pod_event(42, "Evicted", "train-8"));
    feed(h, xid(100, 79)); /* after both */
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, xid(5, 94));
    assert_int_equal(tc_harness_count(h), 2);
    feed(h, xid(4, 94)); /* no better than what is known */
    assert_int_equal(tc_harness_count(h), 2);
    feed(h, xid(3, 79));
    assert_int_equal(tc_harness_count(h), 4);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 3), KEY("xid")), 79);
    feed(h, xid(-300, 79)); /* outside the window of both */
    assert_int_equal(tc_harness_count(h), 4);
}

static void a_storm_that_comes_late_is_not_a_storm_of_verdicts(void **state)
{
    struct tc_harness *h = *state;
    feed(h, pod_event(41, "Evicted", "train-7"));
    for (int64_t i = 0; i < 1000; i++) {
        struct tc_event ev = xid(0, 94);
        ev.time_ns += i * TC_SECOND / 100;
        feed(h, ev);
    }
    assert_in_range(tc_harness_count(h), 1, 17);
    tc_harness_clear(h);
    feed(h, xid(1, 79)); /* a worse one is told all the same */
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid_count")), 1001);

    /* Nor for a pod whose GPU may yet turn out to be the one. */
    struct tc_event pod = pod_state(41, "Error", 1);
    pod.scope.node = TC_LIT("gpu-08");
    pod.scope.gpu_uuid = TC_LIT("GPU-other");
    feed(h, pod);
    tc_harness_clear(h);
    for (int64_t i = 0; i < 1000; i++) {
        struct tc_event ev = xid(0, 94);
        ev.scope.node = TC_LIT("gpu-08");
        ev.time_ns += i * TC_SECOND / 100;
        feed(h, ev);
    }
    assert_in_range(tc_harness_count(h), 1, 17);
}

static void a_late_pod_event_joins_what_was_before_it(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(100, 79));
    feed(h, xid(110, 79));
    feed(h, xid(400, 94));
    feed(h, pod_event(105, "Evicted", "train-7"));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("seconds_before")), 5);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid_count")), 1);
}

static void an_earlier_event_that_comes_late_may_be_the_one_to_join(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event first = pod_event(10, "Evicted", "train-7");
    first.uid = TC_LIT("event-0");
    feed(h, pod_event(400, "Evicted", "train-7"));
    feed(h, first);
    feed(h, xid(5, 79));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("seconds_before")), 5);
    assert_int_equal(tc_harness_finding(h, 0)->last_ns, AT(400));
}

static void what_comes_after_two_windows_is_late(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, xid(2 * WINDOW, 94));
    assert_int_equal(tc_harness_stats(h).late, 0);
    feed(h, pod_event(0, "Evicted", "edge")); /* exactly two windows late */
    assert_int_equal(tc_harness_count(h), 1);
    struct tc_event late = pod_event(0, "Evicted", "late");
    late.time_ns -= 1;
    feed(h, late);
    assert_int_equal(tc_harness_stats(h).late, 1);
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_tick(h, AT(10 * WINDOW));
    feed(h, pod_event(2 * WINDOW, "Evicted", "forgotten"));
    assert_int_equal(tc_harness_stats(h).late, 2);
}

static void events_without_time_node_or_pod_are_counted(void **state)
{
    struct tc_harness *h = *state;
    static char longest[300];
    memset(longest, 'n', sizeof longest);
    struct tc_event ev = xid(0, 79);
    ev.time_ns = TC_TIME_NONE;
    feed(h, ev);
    ev = xid(0, 79);
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    ev = pod_event(1, "Evicted", "");
    feed(h, ev);
    ev = pod_event(1, "Evicted", "train-7");
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    ev = pod_event(1, "Evicted", "");
    ev.k8s.object_name = tc_slice_make(longest, sizeof longest);
    feed(h, ev);
    ev = pod_event(1, "Evicted", "train-7");
    ev.scope.pod_uid = tc_slice_make(longest, sizeof longest);
    feed(h, ev);
    ev = inventory("");
    feed(h, ev);
    ev = inventory(UUID);
    ev.scope.pci.known = false;
    feed(h, ev);
    ev = xid(0, -1);
    feed(h, ev);
    assert_int_equal(tc_harness_stats(h).ignored, 9);
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_storm_costs_one_record_a_step_and_counts_all(void **state)
{
    struct tc_harness *h = *state;
    /* 10,000 lines of two codes on eight GPUs within the window. */
    for (int64_t i = 0; i < 10000; i++) {
        struct tc_event ev = xid(0, i % 2 == 0 ? 79 : 94);
        ev.time_ns += i * TC_SECOND / 100;
        ev.scope.pci.bus = (uint8_t)(i % 8);
        feed(h, ev);
    }
    feed(h, pod_event(100, "Evicted", "train-7"));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_int_equal(tc_harness_int(f, KEY("xid_count")), 10000);
    assert_int_equal(tc_harness_int(f, KEY("xid")), 79);
    assert_false(f->incomplete);
    assert_int_equal(tc_harness_stats(h).dropped, 0);
}

/* One Xid that two sources tell of, apart by less than a second, wherever steps begin. */
static void an_xid_told_twice_at_the_edge_of_a_step_is_one(void **state)
{
    static const int64_t windows[] = {1, WINDOW};
    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        struct tc_harness_options options = {.param = "window", .value = windows[i] * TC_SECOND};
        int64_t step = windows[i] * TC_SECOND / 16;
        for (int order = 0; order < 2; order++) {
            struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, &options);
            struct tc_event kernel = xid(0, 79);
            kernel.time_ns = AT(0) / step * step + step - 1;
            struct tc_event journal = kernel;
            journal.time_ns += TC_SECOND / 3;
            journal.raw.source = 5;
            feed(h, order == 0 ? kernel : journal);
            feed(h, order == 0 ? journal : kernel);
            struct tc_event pod = pod_event(0, "Evicted", "train-7");
            pod.time_ns = kernel.time_ns + TC_SECOND / 2;
            feed(h, pod);
            assert_int_equal(tc_harness_count(h), 1);
            assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid_count")), 1);
            tc_harness_destroy(h);
        }
    }
}

static void what_one_source_tells_on_both_sides_of_an_edge_is_two(void **state)
{
    struct tc_harness *h = *state;
    int64_t step = WINDOW * TC_SECOND / 16;
    struct tc_event before = xid(0, 79);
    before.time_ns = AT(0) / step * step + step - 1;
    struct tc_event after = before;
    after.time_ns += 1;
    feed(h, before);
    feed(h, after);
    feed(h, pod_event(41, "Evicted", "train-7"));
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid_count")), 2);
}

static void xids_before_the_window_are_not_counted(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, xid(2, 79)); /* same step: one record reaches over the edge */
    feed(h, pod_event(WINDOW + 1, "Evicted", "train-7"));
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid_count")), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("seconds_before")), WINDOW - 1);
}

static void a_flood_drops_the_oldest_and_says_so(void **state)
{
    struct tc_harness *h = *state;
    char node[16];
    feed(h, xid(0, 79));
    for (int i = 0; i < 20000; i++) {
        struct tc_event ev = xid(1, 79);
        (void)snprintf(node, sizeof node, "n%d", i);
        ev.scope.node = tc_slice_cstr(node);
        feed(h, ev);
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    feed(h, pod_event(2, "Evicted", "train-7"));
    assert_int_equal(tc_harness_count(h), 0); /* its Xid is gone */
    struct tc_event pod = pod_event(2, "Evicted", "train-8");
    pod.scope.node = tc_slice_cstr(node);
    feed(h, pod);
    assert_int_equal(tc_harness_count(h), 1);
    assert_true(tc_harness_finding(h, 0)->incomplete);
    /* A window later nothing that was dropped matters any more. */
    feed(h, xid(2 + WINDOW, 79));
    feed(h, pod_event(2 + WINDOW, "Evicted", "train-9"));
    assert_false(tc_harness_finding(h, -1)->incomplete);
}

static void floods_of_pods_and_gpus_are_bounded(void **state)
{
    struct tc_harness *h = *state;
    char name[16];
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        struct tc_event ev = pod_event(1, "Evicted", name);
        feed(h, ev);
        ev = inventory(UUID);
        ev.scope.node = tc_slice_cstr(name);
        feed(h, ev);
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    feed(h, xid(1, 79)); /* looks at a bounded number of the pods */
    assert_in_range(tc_harness_count(h), 1, 512);
}

static void more_xids_than_may_be_visited_is_incomplete(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 600; i++) {
        struct tc_event ev = xid(1, 79);
        ev.scope.pid = 100 + i;
        feed(h, ev);
        if (i == 400) {
            feed(h, pod_event(1, "Evicted", "few"));
        }
    }
    feed(h, pod_event(2, "Evicted", "many"));
    assert_false(tc_harness_finding(h, 0)->incomplete);
    assert_true(tc_harness_finding(h, -1)->incomplete);
}

/* The same events at the same times in several orders: what is known in the end is the same. */
static void the_order_of_equal_times_does_not_matter(void **state)
{
    (void)state;
    struct tc_event events[6] = {
        xid(0, 79),
        xid(0, 79),
        xid(0, 94),
        pod_event(0, "Evicted", "train-7"),
        pod_state(0, "Evicted", -1),
        pod_event(0, "Evicted", "train-8"),
    };
    events[1].scope.pci.bus = 0x17;
    events[5].scope.pod_uid = TC_LIT("pod-uid-8");
    char first[2][4096];
    size_t first_len[2] = {0};
    for (unsigned order = 0; order < 720; order++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        unsigned left[6] = {0, 1, 2, 3, 4, 5};
        unsigned code = order;
        for (unsigned i = 6; i > 0; i--) {
            unsigned pick = code % i;
            code /= i;
            tc_harness_feed(h, &events[left[pick]]);
            memmove(left + pick, left + pick + 1, (5 - pick) * sizeof left[0]);
        }
        /* The last word about each pod. */
        for (unsigned pod = 0; pod < 2; pod++) {
            const struct tc_finding *last = NULL;
            struct tc_slice name = pod == 0 ? TC_LIT("train-7") : TC_LIT("train-8");
            for (size_t i = 0; i < tc_harness_count(h); i++) {
                const struct tc_finding *f = tc_harness_finding(h, (long)i);
                last = tc_slice_eq(f->scope.pod, name) ? f : last;
            }
            assert_non_null(last);
            char text[4096];
            int len = snprintf(text, sizeof text, "%.*s|%.*s|%.*s|%.*s|%.*s|%lld",
                               TC_FMT(last->headline), TC_FMT(last->remediation),
                               TC_FMT(last->evidence[0].uid), TC_FMT(last->evidence[1].uid),
                               TC_FMT(last->evidence[1].description), (long long)last->last_ns);
            assert_true(len > 0 && (size_t)len < sizeof text);
            if (order == 0) {
                memcpy(first[pod], text, sizeof text);
                first_len[pod] = (size_t)len;
            }
            assert_int_equal((size_t)len, first_len[pod]);
            assert_memory_equal(text, first[pod], (size_t)len);
        }
        tc_harness_destroy(h);
    }
}

static void the_same_events_give_the_same_findings(void **state)
{
    struct tc_harness *h = *state;
    struct tc_harness *again = tc_harness_create(&tc_detector_xid_correlation, NULL);
    for (int round = 0; round < 2; round++) {
        struct tc_harness *now = round == 0 ? h : again;
        for (int64_t i = 0; i < 200; i++) {
            feed(now, xid(i * 7 % 50, i % 3 == 0 ? 79 : 48));
            struct tc_event pod = pod_event(i, "Evicted", i % 2 == 0 ? "train-7" : "train-8");
            pod.k8s.count = i;
            feed(now, pod);
        }
    }
    assert_true(tc_harness_count(h) > 2);
    assert_true(tc_slice_eq(tc_harness_dump(h), tc_harness_dump(again)));
    tc_harness_destroy(again);
}

static void hostile_text_is_quoted_and_cut(void **state)
{
    struct tc_harness *h = *state;
    static char message[70000];
    memset(message, '\xc3', sizeof message);
    struct tc_event x = xid(0, 79);
    x.xid.process = tc_slice_make(message, sizeof message);
    struct tc_event pod = pod_event(41, "Evicted", "train-7");
    pod.k8s.message = tc_slice_make(message, sizeof message);
    pod.uid = tc_slice_make(message, sizeof message);
    feed(h, x);
    feed(h, pod);
    assert_int_equal(tc_harness_count(h), 1);
    assert_in_range(tc_harness_finding(h, 0)->evidence[1].description.len, 1, 400);
    assert_in_range(tc_harness_finding(h, 0)->evidence[1].uid.len, 1, 256);
}

static void a_message_is_not_cut_inside_a_character(void **state)
{
    struct tc_harness *h = *state;
    char message[200];
    for (size_t i = 0; i < sizeof message; i += 2) {
        memcpy(message + i, "\xc3\xa9", 2);
    }
    struct tc_event pod = pod_event(41, "Evicted", "train-7");
    pod.k8s.message = tc_slice_make(message, sizeof message);
    memmove(message + 1, message, sizeof message - 1);
    message[0] = 'x';
    feed(h, xid(0, 79));
    feed(h, pod);
    struct tc_slice text = tc_harness_finding(h, 0)->evidence[1].description;
    assert_true((unsigned char)text.ptr[text.len - 1] == 0xa9);
}

static void a_pod_without_a_namespace_or_uid_is_named_as_far_as_known(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event pod = pod_event(41, "Failed", "static-1");
    pod.scope.ns = TC_EMPTY;
    pod.scope.pod_uid = TC_EMPTY;
    pod.uid = TC_EMPTY;
    struct tc_event x = xid(0, 79);
    x.scope.pci.known = false;
    x.scope.pid = 12;
    x.xid.process = TC_LIT("python");
    feed(h, x);
    feed(h, pod);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->headline,
                "Pod static-1 on gpu-07 failed 41 s after Xid 79 (GPU has fallen off the bus)");
    assert_says(f->remediation, "On node gpu-07: ");
    assert_text(f->evidence[1].uid, "pod:/static-1:2026-01-01T00:00:41Z");
    assert_says(f->evidence[0].description, ", pid 12, process python");
    assert_text(f->evidence[0].uid, "xid:gpu-07::79:2026-01-01T00:00:00Z");
}

static void memory_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_harness_options small_window = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, &small_window);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);

    /* Every size of scratch either works or says that it does not. */
    bool worked = false;
    for (size_t bytes = 64; bytes < 16384; bytes += 64) {
        struct tc_harness_options options = {.scratch_bytes = bytes};
        h = tc_harness_create(&tc_detector_xid_correlation, &options);
        struct tc_event events[] = {inventory(UUID), xid(0, 79),
                                    pod_event(41, "Evicted", "train-7")};
        tc_status status = TC_OK;
        for (size_t i = 0; i < 3 && status == TC_OK; i++) {
            status = tc_harness_try_feed(h, &events[i]);
        }
        assert_true(status == TC_OK || status == TC_E_NOMEM);
        assert_int_equal(tc_harness_count(h), status == TC_OK ? 1 : 0);
        assert_false(worked && status != TC_OK);
        worked = status == TC_OK;
        tc_harness_destroy(h);
    }
    assert_true(worked);
}

static void a_sink_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options options = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, &options);
    struct tc_event x = xid(0, 79);
    struct tc_event pod = pod_event(41, "Evicted", "train-7");
    assert_int_equal(tc_harness_try_feed(h, &x), TC_OK);
    assert_int_equal(tc_harness_try_feed(h, &pod), TC_E_IO);
    tc_harness_destroy(h);
}

static struct tc_event without_node(struct tc_event ev)
{
    ev.scope.node = TC_EMPTY;
    return ev;
}

static void a_request_of_the_control_plane_names_no_node_and_still_counts(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, without_node(pod_event(5, "Preempted", "train-7")));
    feed(h, pod_state(10, "Error", 137));
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 0);
    /* Nor does it need a uid. */
    struct tc_event bare = without_node(pod_event(5, "Preempted", "train-8"));
    bare.scope.pod_uid = TC_EMPTY;
    feed(h, bare);
    struct tc_event ended = pod_state(10, "Error", 137);
    ended.scope.pod = TC_LIT("train-8");
    ended.scope.pod_uid = TC_LIT("pod-uid-8");
    feed(h, ended);
    assert_int_equal(tc_harness_count(h), 0);
    /* A pod of the same name with another uid was not asked. */
    feed(h, without_node(pod_event(5, "Preempted", "train-9")));
    ended.scope.pod = TC_LIT("train-9");
    ended.scope.pod_uid = TC_LIT("pod-uid-9");
    feed(h, ended);
    assert_int_equal(tc_harness_count(h), 1);
}

static void an_eviction_without_a_node_joins_when_another_event_names_it(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        struct tc_event taint = without_node(pod_event(10, "TaintManagerEviction", "train-7"));
        struct tc_event planned = pod_event(12, "Killing", "train-7");
        planned.k8s.message = TC_LIT("Stopping container trainer");
        planned.uid = TC_LIT("event-2");
        feed(h, xid(0, 79));
        feed(h, first == 0 ? taint : planned);
        assert_int_equal(tc_harness_count(h), 0);
        assert_int_equal(tc_harness_stats(h).ignored, first == 0);
        feed(h, first == 0 ? planned : taint);
        assert_int_equal(tc_harness_count(h), 1);
        assert_text(tc_harness_finding(h, 0)->scope.node, "gpu-07");
        assert_says(tc_harness_finding(h, 0)->headline, "was evicted 10 s after Xid 79");
        tc_harness_destroy(h);
    }
}

static void a_container_of_a_deleted_pod_ended_by_request(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, pod_state(10, "Deleted", 137));
    struct tc_event other = pod_state(10, "Error", 1);
    other.uid = TC_LIT("pod-uid-1/sidecar");
    feed(h, other);
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_request_that_repeats_was_made_when_first_seen(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event killing = pod_event(20, "Killing", "train-7");
    killing.k8s.message = TC_LIT("Stopping container trainer");
    killing.k8s.count = 2;
    killing.k8s.first_ns = AT(11);
    feed(h, xid(0, 79));
    feed(h, pod_state(10, "Error", 137));
    feed(h, killing); /* first asked after the end */
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->severity, TC_SEVERITY_CRITICAL);
    killing.k8s.first_ns = AT(10);
    feed(h, killing);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_int_equal(f->severity, TC_SEVERITY_INFO);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_text(f->headline, "Pod ml/train-7 on gpu-07: not put down to Xid 79 (GPU has fallen off "
                             "the bus) on 0000:b3:00.0 any more, it had been asked to stop");
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[0].kind, "xid");
    assert_says(f->evidence[2].description, "reason Killing: Stopping container trainer");
    feed(h, killing); /* said once */
    assert_int_equal(tc_harness_count(h), 2);
}

static void the_old_wording_of_a_request_to_stop_is_known(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event killing = pod_event(5, "Killing", "train-7");
    killing.k8s.message = TC_LIT("Killing container with id docker://trainer:Need to kill Pod");
    feed(h, xid(0, 79));
    feed(h, killing);
    feed(h, pod_state(10, "Error", 137));
    assert_int_equal(tc_harness_count(h), 0);
}

static void what_dies_soon_after_an_oom_of_its_pod_is_silent(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        struct tc_event oom = pod_state(10, "OOMKilled", 137);
        if (kernel == 1) {
            tc_event_init(&oom, TC_EVENT_OOM_KILL);
            oom.time_ns = AT(10);
            oom.scope.node = TC_LIT("gpu-07");
            oom.scope.pod_uid = TC_LIT("pod-uid-1");
            oom.scope.pid = 99;
        }
        feed(h, xid(0, 79));
        feed(h, oom);
        feed(h, pod_state(10, "Error", 1));
        feed(h, pod_state(40, "Error", 1));
        assert_int_equal(tc_harness_count(h), 0);
        struct tc_event over = pod_state(40, "Error", 1);
        over.time_ns += 1;
        feed(h, over); /* a container that was restarted since may well fail for its GPU */
        assert_int_equal(tc_harness_count(h), 1);
        assert_text(tc_harness_finding(h, 0)->scope.pod, "train-7");
        assert_text(tc_harness_finding(h, 0)->scope.container, "trainer");
        tc_harness_destroy(h);
    }
}

static void an_oom_told_after_what_it_caused_takes_the_verdict_back(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event oom = pod_state(10, "OOMKilled", 137);
    oom.uid = TC_LIT("pod-uid-1/loader");
    feed(h, xid(0, 79));
    feed(h, pod_state(10, "Error", 1));
    feed(h, oom);
    assert_int_equal(tc_harness_count(h), 2);
    assert_says(tc_harness_finding(h, 1)->headline, "it ran out of host memory");
    struct tc_event nobody;
    tc_event_init(&nobody, TC_EVENT_OOM_KILL); /* of a pod that is not known */
    nobody.time_ns = AT(11);
    nobody.scope.node = TC_LIT("gpu-07");
    feed(h, nobody);
    assert_int_equal(tc_harness_stats(h).ignored, 0);
}

static void an_eviction_by_a_controller_is_a_request(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event foreign = pod_event(10, "Evicted", "train-7");
    foreign.k8s.component = TC_LIT("sigs.k8s.io/descheduler");
    feed(h, xid(0, 79));
    feed(h, foreign);
    feed(h, pod_state(12, "Error", 137));
    assert_int_equal(tc_harness_count(h), 0);
    struct tc_event own = pod_event(10, "Evicted", "train-8");
    own.k8s.component = TC_LIT("kubelet");
    feed(h, own);
    assert_int_equal(tc_harness_count(h), 1);
}

static void the_xid_of_a_gpu_that_is_not_the_pods_is_not_its_cause(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event mig = pod_state(41, "Error", 1);
    mig.scope.pod = TC_LIT("slice");
    mig.scope.pod_uid = TC_LIT("slice");
    mig.scope.gpu_uuid = TC_LIT("MIG-8d5f3a10-0000-4000-8000-00000000ffff");
    struct tc_event by_address = pod_state(41, "Error", 1);
    by_address.scope.pod = TC_LIT("address");
    by_address.scope.pod_uid = TC_LIT("address");
    assert_int_not_equal(tc_bdf_parse(TC_LIT("0000:1b:00.0"), &by_address.scope.pci), 0);
    feed(h, inventory(UUID));
    feed(h, xid(0, 79));
    feed(h, by_address);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, mig); /* a slice may be one of that GPU */
    assert_int_equal(tc_harness_count(h), 1);
    /* A less severe Xid of the pod's own GPU is. */
    struct tc_event own = xid(1, 94);
    own.scope.pci = by_address.scope.pci;
    feed(h, own);
    assert_text(tc_harness_finding(h, -1)->scope.pod, "address");
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("xid")), 94);
}

static void an_inventory_that_shows_another_gpu_takes_the_verdict_back(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event pod = pod_state(41, "Error", 1);
    pod.scope.gpu_uuid = TC_LIT("GPU-8d5f3a10-0000-4000-8000-00000000ffff");
    feed(h, xid(0, 79));
    feed(h, pod);
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, inventory(UUID));
    assert_int_equal(tc_harness_count(h), 2);
    tc_harness_conforms(tc_harness_finding(h, 1));
    assert_says(tc_harness_finding(h, 1)->headline, "its own GPU is another");
    assert_int_equal(tc_harness_finding(h, 1)->evidence_count, 2);
}

static void an_inventory_that_flaps_is_looked_at_a_few_times_only(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79));
    feed(h, pod_event(41, "Evicted", "train-7"));
    for (int i = 0; i < 1000; i++) {
        char uuid[32];
        (void)snprintf(uuid, sizeof uuid, "GPU-%06d", i);
        feed(h, inventory(uuid));
    }
    assert_in_range(tc_harness_count(h), 2, 17);
}

static void a_time_of_whole_seconds_may_mean_any_part_of_the_second(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event late = xid(11, 79);
    late.time_ns -= 1;
    feed(h, pod_event(10, "Evicted", "whole"));
    struct tc_event exact = pod_event(10, "Evicted", "exact");
    exact.time_ns += TC_SECOND / 2;
    feed(h, exact);
    feed(h, late);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->scope.pod, "whole");
    assert_says(f->headline, "was evicted at the time of Xid 79");
    assert_int_equal(tc_harness_int(f, KEY("seconds_before")), 0);
    assert_int_equal(f->first_ns, AT(10));
    assert_int_equal(f->last_ns, AT(10));
    assert_text(f->evidence[0].kind, "pod_event"); /* in order of the times as told */
    assert_text(f->evidence[1].kind, "xid");
}

static int64_t count_of(struct tc_harness *h)
{
    tc_harness_tick(h, AT(100));
    return tc_harness_int(tc_harness_finding(h, -1), KEY("xid_count"));
}

static void xids_of_the_moment_count_whether_before_or_after_the_pod(void **state)
{
    (void)state;
    for (unsigned before = 0; before <= 3; before++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        for (unsigned i = 0; i < 4; i++) {
            struct tc_event x = xid(41, 79);
            x.raw.offset = i;
            feed(h, i == before ? pod_event(41, "Evicted", "train-7") : x);
        }
        assert_int_equal(count_of(h), 3);
        tc_harness_destroy(h);
    }
}

static void a_storm_at_the_moment_of_the_pod_is_few_verdicts(void **state)
{
    struct tc_harness *h = *state;
    feed(h, pod_event(41, "Evicted", "train-7"));
    for (unsigned i = 0; i < 10000; i++) {
        struct tc_event x = xid(41, 79);
        x.time_ns += i * 50000;
        x.raw.offset = i;
        feed(h, x);
    }
    assert_int_equal(count_of(h), 10000);
    assert_in_range(tc_harness_count(h), 1, 64);
}

/* Two sources tell of one moment, one of them twice: the first source counts, in any order. */
static void of_sources_at_one_moment_the_first_counts(void **state)
{
    (void)state;
    static const uint32_t orders[][3] = {{1, 2, 2}, {2, 1, 2}, {2, 2, 1}};
    for (size_t i = 0; i < 2 * (sizeof orders / sizeof orders[0]); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        bool swapped = i >= 3;
        for (unsigned k = 0; k < 3; k++) {
            struct tc_event x = xid(0, 79);
            x.raw.source = swapped ? 3 - orders[i % 3][k] : orders[i % 3][k];
            x.raw.offset = k;
            feed(h, x);
        }
        feed(h, pod_event(41, "Evicted", "train-7"));
        assert_int_equal(count_of(h), swapped ? 2 : 1);
        tc_harness_destroy(h);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_request_of_the_control_plane_names_no_node_and_still_counts),
        TEST(an_eviction_without_a_node_joins_when_another_event_names_it),
        TEST(a_container_of_a_deleted_pod_ended_by_request),
        TEST(a_request_that_repeats_was_made_when_first_seen),
        TEST(the_old_wording_of_a_request_to_stop_is_known),
        TEST(what_dies_soon_after_an_oom_of_its_pod_is_silent),
        TEST(an_oom_told_after_what_it_caused_takes_the_verdict_back),
        TEST(an_eviction_by_a_controller_is_a_request),
        TEST(the_xid_of_a_gpu_that_is_not_the_pods_is_not_its_cause),
        TEST(an_inventory_that_shows_another_gpu_takes_the_verdict_back),
        TEST(an_inventory_that_flaps_is_looked_at_a_few_times_only),
        TEST(a_time_of_whole_seconds_may_mean_any_part_of_the_second),
        TEST(an_xid_before_an_eviction_is_a_partial_verdict),
        TEST(a_pod_without_a_gpu_failed_of_something_else),
        TEST(a_lone_symptom_is_silent),
        TEST(application_and_information_xids_alone_never_blame),
        TEST(the_window_includes_its_edge_and_nothing_beyond),
        TEST(an_xid_after_the_pod_event_never_joins),
        TEST(the_window_is_a_knob),
        TEST(the_most_severe_xid_wins_and_the_latest_of_equals),
        TEST(among_equals_the_xid_of_the_pods_own_gpu_wins),
        TEST(a_shared_gpu_or_process_makes_it_full),
        TEST(a_gpu_of_unknown_place_or_no_process_ties_nothing),
        TEST(an_inventory_that_comes_late_ties_the_gpu),
        TEST(a_swapped_board_has_its_new_uuid),
        TEST(an_unknown_code_is_a_partial_warning),
        TEST(a_driver_xid_says_so),
        TEST(events_that_mean_nothing_here_are_silent),
        TEST(ways_to_fail_that_join),
        TEST(setup_faults_and_cancelled_evictions_do_not_join),
        TEST(a_container_asked_to_stop_did_not_fail),
        TEST(what_ends_after_a_request_to_stop_is_silent_but_an_eviction_is_not),
        TEST(a_request_to_stop_after_the_failure_changes_nothing),
        TEST(one_pod_is_one_incident),
        TEST(a_count_that_grows_is_news),
        TEST(a_count_that_grows_is_one_record),
        TEST(the_state_of_a_failed_pod_read_again_is_no_news),
        TEST(pods_with_other_uids_are_other_pods),
        TEST(a_uid_learned_later_is_the_same_pod),
        TEST(a_gpu_learned_later_makes_it_full),
        TEST(an_event_without_a_uid_is_about_the_newest_pod_of_the_name),
        TEST(a_later_failure_with_a_worse_xid_raises_the_verdict),
        TEST(a_late_xid_opens_and_updates),
        TEST(a_storm_that_comes_late_is_not_a_storm_of_verdicts),
        TEST(a_late_pod_event_joins_what_was_before_it),
        TEST(an_earlier_event_that_comes_late_may_be_the_one_to_join),
        TEST(what_comes_after_two_windows_is_late),
        TEST(events_without_time_node_or_pod_are_counted),
        TEST(a_storm_costs_one_record_a_step_and_counts_all),
        TEST(an_xid_told_twice_at_the_edge_of_a_step_is_one),
        TEST(what_one_source_tells_on_both_sides_of_an_edge_is_two),
        TEST(xids_before_the_window_are_not_counted),
        TEST(a_flood_drops_the_oldest_and_says_so),
        TEST(floods_of_pods_and_gpus_are_bounded),
        TEST(more_xids_than_may_be_visited_is_incomplete),
        TEST(the_order_of_equal_times_does_not_matter),
        TEST(of_sources_at_one_moment_the_first_counts),
        TEST(a_storm_at_the_moment_of_the_pod_is_few_verdicts),
        TEST(xids_of_the_moment_count_whether_before_or_after_the_pod),
        TEST(the_same_events_give_the_same_findings),
        TEST(hostile_text_is_quoted_and_cut),
        TEST(a_message_is_not_cut_inside_a_character),
        TEST(a_pod_without_a_namespace_or_uid_is_named_as_far_as_known),
        TEST(memory_that_is_too_small_is_reported),
        TEST(a_sink_that_fails_is_passed_on),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
