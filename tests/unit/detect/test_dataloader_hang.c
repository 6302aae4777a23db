/* SPDX-License-Identifier: Apache-2.0 */
/* Every event here is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <stdio.h>
#include <string.h>

#define STALL_SECONDS "tracecore.alert.dataloader_hang.stall_seconds"
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define THRESHOLD 120
#define WINDOW 300

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_dataloader_hang, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event in_pod(enum tc_event_kind kind, int64_t seconds, const char *pod)
{
    struct tc_event ev;
    tc_event_init(&ev, kind);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.ns = TC_LIT("train");
    ev.scope.pod = tc_slice_cstr(pod);
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds + 100000), .length = 80};
    return ev;
}

static struct tc_event stall(int64_t seconds, double without_progress)
{
    struct tc_event ev = in_pod(TC_EVENT_TRAIN_STALL, seconds, "worker-3");
    ev.train.step = 812;
    ev.train.phase = TC_LIT("train");
    ev.train.seconds = without_progress;
    return ev;
}

static struct tc_event loader_error(int64_t seconds)
{
    struct tc_event ev = in_pod(TC_EVENT_LOADER_ERROR, seconds, "worker-3");
    ev.train.error_class = TC_LIT("worker_killed");
    ev.train.message = TC_LIT("DataLoader worker (pid 4711) is killed by signal: Killed.");
    return ev;
}

/* Of another pod on the node: its mount failed, the node is what counts. */
static struct tc_event failed_mount(int64_t seconds)
{
    struct tc_event ev = in_pod(TC_EVENT_K8S_EVENT, seconds, "worker-9");
    ev.uid = TC_LIT("event-9");
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.object_name = ev.scope.pod;
    ev.k8s.reason = TC_LIT("FailedMount");
    ev.k8s.type = TC_LIT("Warning");
    ev.k8s.message = TC_LIT("MountVolume.SetUp failed for volume \"data\": connection timed out");
    return ev;
}

static struct tc_event step(int64_t seconds, int64_t number)
{
    struct tc_event ev = in_pod(TC_EVENT_TRAIN_STEP, seconds, "worker-3");
    ev.train.step = number;
    ev.train.phase = TC_LIT("train");
    return ev;
}

static struct tc_event sample(int64_t seconds, double number, int32_t rank)
{
    struct tc_event ev = in_pod(TC_EVENT_METRIC, seconds, "worker-3");
    ev.scope.rank = rank;
    ev.metric.metric = TC_METRIC_STEP;
    ev.metric.value = number;
    return ev;
}

/* The pod is there: something is still measured in it. */
static struct tc_event heartbeat(int64_t seconds)
{
    struct tc_event ev = in_pod(TC_EVENT_METRIC, seconds, "worker-3");
    ev.metric.metric = TC_METRIC_GPU_UTIL;
    return ev;
}

static struct tc_event checkpoint(int64_t seconds, const char *what)
{
    struct tc_event ev = in_pod(TC_EVENT_CHECKPOINT, seconds, "worker-3");
    ev.train.state = tc_slice_cstr(what);
    return ev;
}

static struct tc_event pod_state(int64_t seconds, const char *phase, const char *reason)
{
    struct tc_event ev = in_pod(TC_EVENT_POD_STATE, seconds, "worker-3");
    ev.scope.pod_uid = TC_LIT("uid-3");
    ev.pod.phase = tc_slice_cstr(phase);
    ev.pod.reason = tc_slice_cstr(reason);
    return ev;
}

static struct tc_event on_node(struct tc_event ev, const char *node)
{
    ev.scope.node = tc_slice_cstr(node);
    return ev;
}

static struct tc_event of_pod(struct tc_event ev, const char *pod)
{
    ev.scope.pod = tc_slice_cstr(pod);
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

/* Lets a second pass, so that what follows from the events is said. */
static size_t findings_at(struct tc_harness *h, int64_t seconds)
{
    tc_harness_tick(h, AT(seconds));
    return tc_harness_count(h);
}

static void steps(struct tc_harness *h, int64_t from, int64_t to)
{
    for (int64_t i = from; i <= to; i++) {
        feed(h, step(i, 700 + i - from));
    }
}

/* ---- the cases of the seed ------------------------------------------------------------------ */

static void canonical_worker_killed(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(10));
    feed(h, stall(200, 190));
    assert_int_equal(findings_at(h, 201), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->pattern_id, "7");
    assert_text(f->discriminator, "worker_killed");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(tc_harness_int(f, STALL_SECONDS), 190);
    assert_false(tc_harness_has(f, "event.reason"));
    assert_text(f->key, "train/worker-3/@2026-01-01T00:00:10Z");
    assert_text(f->headline,
                "Training in pod train/worker-3 on node gpu-07 has stood still for 3 min 10 s at "
                "step 812: its data loader failed (worker killed)");
    assert_says(f->remediation, "In pod train/worker-3 on node gpu-07: ");
    assert_int_equal(f->first_ns, AT(10));
    assert_int_equal(f->last_ns, AT(200));
    assert_text(f->scope.node, "gpu-07");
    assert_text(f->scope.pod, "worker-3");
    assert_int_equal(f->evidence_count, 2);
    assert_text(f->evidence[0].kind, "dataloader_error");
    assert_text(f->evidence[0].uid, "dataloader_error:train/worker-3:2026-01-01T00:00:10Z");
    assert_text(f->evidence[0].description,
                "The data loader failed (worker killed): DataLoader worker (pid 4711) is killed "
                "by signal: Killed.");
    assert_int_equal(f->evidence[0].raw.offset, 100010);
    assert_text(f->evidence[1].kind, "training_step_stall");
    assert_text(f->evidence[1].uid, "train_stall:train/worker-3:2026-01-01T00:03:20Z");
    assert_text(f->evidence[1].description, "No step ended for 3 min 10 s after step 812");
}

static void canonical_storage_event(void **state)
{
    (void)state;
    static const char *const reasons[] = {"FailedMount", "VolumeMountFailure"};
    for (size_t i = 0; i < 2; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        struct tc_event mount = failed_mount(150);
        mount.k8s.reason = tc_slice_cstr(reasons[i]);
        feed(h, mount);
        feed(h, stall(200, 190));
        assert_int_equal(findings_at(h, 201), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_text(f->discriminator, "storage_event");
        assert_true(tc_slice_eq(tc_harness_text(f, "event.reason"), tc_slice_cstr(reasons[i])));
        assert_says(f->headline, ": a volume could not be mounted on the node (");
        assert_says(f->remediation, "On node gpu-07: ");
        assert_int_equal(f->evidence_count, 2);
        assert_text(f->evidence[0].kind, "storage_event");
        assert_text(f->evidence[0].uid, "event-9");
        assert_says(f->evidence[0].description, " on node gpu-07: MountVolume.SetUp failed");
        tc_harness_destroy(h);
    }
}

static void a_stall_alone_never_fires(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 100; i++) {
        feed(h, stall(200 + 30 * i, (double)(190 + 30 * i)));
    }
    assert_int_equal(findings_at(h, 10000), 0);
}

static void evidence_without_a_stall_never_fires(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(10));
    feed(h, failed_mount(11));
    assert_int_equal(findings_at(h, 1000), 0);
}

static void warm_up_steps_are_left_out(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(190));
    for (int64_t number = 0; number <= 1; number++) {
        struct tc_event ev = stall(200, 190);
        ev.train.step = number;
        feed(h, ev);
    }
    assert_int_equal(findings_at(h, 201), 0);
    struct tc_event ev = stall(202, 192);
    ev.train.step = 2;
    feed(h, ev);
    assert_int_equal(findings_at(h, 203), 1);
}

static void evaluation_is_left_out(void **state)
{
    struct tc_harness *h = *state;
    static const char *const phases[] = {"eval", "EVAL", "validation", "done", "checkpoint"};
    feed(h, loader_error(190));
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        struct tc_event ev = stall(200, 190);
        ev.train.phase = tc_slice_cstr(phases[i]);
        feed(h, ev);
    }
    assert_int_equal(findings_at(h, 201), 0);
}

static void a_missing_phase_does_not_suppress(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = stall(200, 190);
    ev.train.phase = TC_EMPTY;
    ev.train.step = -1;
    feed(h, loader_error(190));
    feed(h, ev);
    assert_int_equal(findings_at(h, 201), 1);
    assert_text(tc_harness_finding(h, 0)->evidence[1].description, "No step ended for 3 min 10 s");
}

static void below_the_threshold_is_cadence(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(190));
    feed(h, stall(200, THRESHOLD - 0.001));
    assert_int_equal(findings_at(h, 201), 0);
    feed(h, stall(202, THRESHOLD)); /* the threshold itself is over it */
    assert_int_equal(findings_at(h, 203), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), STALL_SECONDS), THRESHOLD);
}

static void an_error_joins_its_own_pod_only(void **state)
{
    struct tc_harness *h = *state;
    feed(h, of_pod(loader_error(190), "worker-4"));
    struct tc_event other_space = loader_error(190);
    other_space.scope.ns = TC_LIT("other");
    feed(h, other_space);
    feed(h, stall(200, 190));
    assert_int_equal(findings_at(h, 201), 0);
}

static void a_mount_joins_its_own_node_only(void **state)
{
    struct tc_harness *h = *state;
    feed(h, on_node(failed_mount(190), "gpu-08"));
    struct tc_event other = failed_mount(190);
    other.k8s.reason = TC_LIT("FailedScheduling");
    feed(h, other);
    feed(h, stall(200, 190));
    assert_int_equal(findings_at(h, 201), 0);
    struct tc_event nowhere = of_pod(stall(202, 192), "no-node");
    nowhere.scope.node = TC_EMPTY;
    feed(h, failed_mount(202));
    feed(h, nowhere);
    assert_int_equal(findings_at(h, 203), 1); /* of worker-3 */
    assert_text(tc_harness_finding(h, 0)->scope.pod, "worker-3");
}

static void the_window_reaches_both_ways_with_its_edges(void **state)
{
    (void)state;
    static const struct {
        int64_t offset_ns;
        size_t count;
    } cases[] = {
        {-WINDOW * TC_SECOND, 1},
        {-WINDOW * TC_SECOND - 1, 0},
        {WINDOW * TC_SECOND, 1},
        {WINDOW * TC_SECOND + 1, 0},
    };
    for (size_t i = 0; i < 8; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        struct tc_event sign = i < 4 ? loader_error(1000) : failed_mount(1000);
        sign.time_ns += cases[i % 4].offset_ns;
        bool before = cases[i % 4].offset_ns < 0;
        feed(h, before ? sign : stall(1000, 190));
        feed(h, before ? stall(1000, 190) : sign);
        assert_int_equal(findings_at(h, 2000), cases[i % 4].count);
        tc_harness_destroy(h);
    }
}

static void prefers_worker_killed_over_storage(void **state)
{
    struct tc_harness *h = *state;
    feed(h, failed_mount(180));
    feed(h, loader_error(190));
    feed(h, stall(200, 190));
    assert_int_equal(findings_at(h, 201), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "worker_killed");
    assert_false(tc_harness_has(f, "event.reason"));
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[0].kind, "storage_event");
    assert_text(f->evidence[1].kind, "dataloader_error");
    assert_text(f->evidence[2].kind, "training_step_stall");
    assert_says(f->remediation, "A mount failed on the node as well");
}

static void an_error_that_comes_later_takes_over_from_the_mount(void **state)
{
    struct tc_harness *h = *state;
    feed(h, failed_mount(180));
    feed(h, stall(200, 190));
    feed(h, loader_error(210));
    assert_int_equal(findings_at(h, 211), 2);
    assert_text(tc_harness_finding(h, 0)->discriminator, "storage_event");
    const struct tc_finding *f = tc_harness_finding(h, 1);
    assert_text(f->discriminator, "worker_killed");
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_int_equal(f->evidence_count, 3);
}

static void the_threshold_is_a_knob(void **state)
{
    (void)state;
    struct tc_harness_options options = {.param = "threshold", .value = 10 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, &options);
    feed(h, loader_error(10));
    feed(h, stall(20, 9.9));
    assert_int_equal(findings_at(h, 21), 0);
    feed(h, stall(22, 10));
    assert_int_equal(findings_at(h, 23), 1);
    tc_harness_destroy(h);
}

static void the_window_is_a_knob(void **state)
{
    (void)state;
    struct tc_harness_options options = {.param = "window", .value = 10 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, &options);
    feed(h, loader_error(189));
    feed(h, stall(200, 190));
    assert_int_equal(findings_at(h, 201), 0);
    feed(h, of_pod(loader_error(190), "edge"));
    feed(h, of_pod(stall(200, 190), "edge"));
    assert_int_equal(findings_at(h, 202), 1);
    tc_harness_destroy(h);
}

static void a_knob_below_a_second_is_refused_with_its_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < tc_detector_dataloader_hang.param_count; i++) {
        const struct tc_knob *param = &tc_detector_dataloader_hang.params[i];
        char path[64];
        (void)snprintf(path, sizeof path, "dataloader_hang.%s", param->name);
        struct tc_error err = {0};
        int64_t value = 0;
        assert_int_not_equal(tc_param_parse(param, path, TC_LIT("0.5s"), &value, &err), TC_OK);
        assert_non_null(strstr(err.message, path));
        assert_int_equal(tc_param_parse(param, path, TC_LIT("1s"), &value, &err), TC_OK);
    }
}

/* ---- one incident ---------------------------------------------------------------------------- */

static void repeated_reports_are_one_incident_that_grows_in_coarse_steps(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(10));
    for (int64_t i = 0; i < 60; i++) {
        struct tc_event ev = stall(130 + 30 * i, (double)(120 + 30 * i + i % 3));
        feed(h, ev);
        feed(h, ev); /* replayed */
    }
    assert_int_equal(findings_at(h, 3000), 4); /* 120, 240, 480, 960 */
    for (long i = 0; i < 4; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        tc_harness_conforms(f);
        assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
        assert_int_equal(f->evidence_count, 2);
    }
    assert_in_range(tc_harness_int(tc_harness_finding(h, 3), STALL_SECONDS), 960, 1100);
}

static void the_ranks_of_a_pod_are_one_incident(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(10));
    for (int32_t rank = 0; rank < 8; rank++) {
        struct tc_event ev = stall(200, 185 + rank);
        ev.scope.rank = rank;
        feed(h, ev);
    }
    assert_int_equal(findings_at(h, 201), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), STALL_SECONDS), 192);
}

static void a_step_resolves_and_the_next_stall_is_another_incident(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(10));
    feed(h, stall(200, 190));
    feed(h, stall(230, 220));
    feed(h, step(300, 813));
    assert_int_equal(findings_at(h, 301), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_int_equal(tc_harness_int(f, STALL_SECONDS), 290);
    assert_says(f->headline, " stood still for 4 min 50 s ");
    assert_int_equal(f->last_ns, AT(300));
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[2].description, "Step 813 ended: training goes on");
    assert_int_equal(f->evidence[2].raw.offset, 100300);
    feed(h, loader_error(900));
    feed(h, stall(1000, 180));
    assert_int_equal(findings_at(h, 1001), 3);
    assert_false(tc_slice_eq(tc_harness_finding(h, 2)->key, f->key));
    assert_false(tc_harness_finding(h, 2)->resolved);
}

static void a_report_that_counts_anew_tells_of_a_step_between(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(10));
    feed(h, stall(200, 190));
    feed(h, stall(230, 5));
    assert_int_equal(findings_at(h, 231), 2);
    assert_true(tc_harness_finding(h, 1)->resolved);
    assert_text(tc_harness_finding(h, 1)->evidence[2].description,
                "A step ended: training goes on");
    feed(h, loader_error(390));
    feed(h, stall(400, 150)); /* a new one at once, after another */
    assert_int_equal(findings_at(h, 401), 3);
    feed(h, stall(700, 130));
    assert_int_equal(findings_at(h, 701), 4); /* over; the next has no evidence in reach */
    assert_true(tc_harness_finding(h, 3)->resolved);
}

static void steps_that_we_saw_outweigh_a_report(void **state)
{
    struct tc_harness *h = *state;
    steps(h, 0, 100);
    feed(h, loader_error(100));
    feed(h, stall(200, 190));
    assert_int_equal(findings_at(h, 201), 0);
    /* But another rank's steps do not speak for a rank that has its own. */
    struct tc_event ev = of_pod(step(0, 600), "two");
    ev.scope.rank = 1;
    feed(h, ev);
    ev = of_pod(step(100, 700), "two");
    ev.scope.rank = 0;
    feed(h, ev);
    feed(h, of_pod(loader_error(190), "two"));
    ev = of_pod(stall(200, 190), "two");
    ev.scope.rank = 1;
    feed(h, ev);
    assert_int_equal(findings_at(h, 202), 1);
    assert_int_equal(tc_harness_finding(h, 0)->scope.rank, 1);
}

/* ---- steps that we count ourselves ----------------------------------------------------------- */

static void steps_that_stop_are_a_stall_with_an_error(void **state)
{
    struct tc_harness *h = *state;
    steps(h, 0, 60);
    feed(h, loader_error(62));
    assert_int_equal(findings_at(h, 60 + THRESHOLD - 1), 0);
    assert_int_equal(findings_at(h, 60 + THRESHOLD), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_int_equal(tc_harness_int(f, STALL_SECONDS), THRESHOLD);
    assert_text(f->evidence[0].description, "The last step 760 ended; none did in the 2 min since");
    assert_int_equal(f->evidence[0].raw.offset, 100060);
    for (int64_t t = 181; t < 600; t++) {
        tc_harness_tick(h, AT(t));
    }
    assert_int_equal(tc_harness_count(h), 3); /* 240 s, 480 s */
    feed(h, step(700, 761));
    assert_int_equal(findings_at(h, 701), 4);
    assert_true(tc_harness_finding(h, 3)->resolved);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 3), STALL_SECONDS), 640);
}

static void steps_that_stop_alone_never_fire(void **state)
{
    struct tc_harness *h = *state;
    steps(h, 0, 60);
    assert_int_equal(findings_at(h, 10000), 0);
}

static void a_failed_mount_needs_a_sign_of_life(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        struct tc_event first = step(0, 700);
        first.scope.job = TC_LIT("llm-7");
        feed(h, first);
        steps(h, 1, 60);
        feed(h, i == 3 ? of_pod(failed_mount(100), "worker-9") : failed_mount(100));
        if (i == 1) {
            feed(h, heartbeat(200));
        } else if (i == 2) {
            struct tc_event far = on_node(of_pod(heartbeat(200), "worker-1"), "gpu-01");
            far.scope.job = TC_LIT("llm-7");
            feed(h, far);
        } else if (i == 3) {
            struct tc_event own = of_pod(failed_mount(101), "worker-3");
            own.k8s.object_name = own.scope.pod;
            own.time_ns = AT(100);
            own.uid = TC_LIT("event-3");
            feed(h, own);
        }
        size_t count = 0;
        for (int64_t t = 201; t < 260; t++) {
            count = findings_at(h, t);
        }
        assert_int_equal(count, i == 0 ? 0 : 1);
        tc_harness_destroy(h);
    }
}

static void the_mount_of_the_pod_itself_says_which_node_it_is_on(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 1; i <= 60; i++) {
        feed(h, on_node(step(i, 700 + i), ""));
    }
    struct tc_event own = of_pod(failed_mount(100), "worker-3");
    own.k8s.object_name = own.scope.pod;
    feed(h, own);
    for (int64_t t = 101; t < 200; t += 10) {
        (void)findings_at(h, t);
    }
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_finding(h, 0)->discriminator, "storage_event");
    assert_text(tc_harness_finding(h, 0)->scope.node, "gpu-07");
}

/* The step that ends a stall shows that the pod was there. */
static void a_step_after_the_stall_is_the_sign_of_life(void **state)
{
    (void)state;
    /* The next step, a run that begins anew, and a step before the threshold. */
    static const struct {
        int64_t seconds;
        int64_t step;
        size_t count;
    } cases[] = {{300, 760, 2}, {300, 700, 0}, {170, 760, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        for (int64_t t = 1; t < 60; t++) {
            feed(h, step(t, 700 + t));
        }
        feed(h, failed_mount(100));
        feed(h, step(cases[i].seconds, cases[i].step));
        assert_int_equal(findings_at(h, cases[i].seconds + 5), cases[i].count);
        if (cases[i].count == 2) {
            assert_text(tc_harness_finding(h, 0)->discriminator, "storage_event");
            assert_true(tc_harness_finding(h, 1)->resolved);
            assert_int_equal(findings_at(h, cases[i].seconds + 60), 2);
        }
        tc_harness_destroy(h);
    }
}

/* A log names its rank; a map, which may name the job too, says where that runs. */
static void the_place_of_a_rank_is_learned(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        struct tc_event place = in_pod(TC_EVENT_RANK_PLACE, 0, "worker-3");
        place.time_ns = TC_TIME_NONE;
        place.scope.rank = 3;
        place.scope.job = i == 0 ? TC_EMPTY : TC_LIT("llm-7");
        feed(h, place);
        if (i == 2) { /* of two jobs with that rank none is meant */
            place.scope.job = TC_LIT("llm-8");
            place.scope.pod = TC_LIT("worker-4");
            feed(h, place);
        }
        for (int64_t t = 1; t < 60; t++) {
            struct tc_event ev = of_pod(on_node(step(t, 700 + t), ""), "");
            ev.scope.rank = 3;
            feed(h, ev);
        }
        struct tc_event error = of_pod(on_node(loader_error(60), ""), "");
        error.scope.rank = 3;
        feed(h, error);
        assert_int_equal(findings_at(h, 200), i == 2 ? 0 : 1);
        if (i < 2) {
            assert_text(tc_harness_finding(h, 0)->scope.pod, "worker-3");
            assert_text(tc_harness_finding(h, 0)->scope.node, "gpu-07");
        }
        tc_harness_destroy(h);
    }
}

static void a_mount_that_failed_before_the_pod_was_known_is_remembered(void **state)
{
    struct tc_harness *h = *state;
    feed(h, failed_mount(0));
    steps(h, 1, 60);
    feed(h, heartbeat(185));
    assert_int_equal(findings_at(h, 190), 1);
    assert_text(tc_harness_finding(h, 0)->discriminator, "storage_event");
}

static void samples_of_the_step_are_progress_only_when_they_change(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 300; t += 15) {
        for (int32_t rank = 0; rank < 8; rank++) {
            feed(h, sample(t, t < 60 ? 100 + (double)t : 160, rank));
        }
    }
    feed(h, loader_error(70));
    feed(h, failed_mount(70));
    assert_int_equal(findings_at(h, 301), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), STALL_SECONDS), 240);
    feed(h, sample(315, 90, 0)); /* from a checkpoint: training goes on */
    assert_int_equal(findings_at(h, 316), 2);
    assert_true(tc_harness_finding(h, 1)->resolved);
}

static void a_restart_at_an_older_step_is_progress(void **state)
{
    struct tc_harness *h = *state;
    feed(h, sample(0, 1000, 0));
    feed(h, loader_error(5));
    for (int64_t t = 15; t <= 600; t += 15) {
        feed(h, sample(t, 900 + (double)t, 0));
    }
    assert_int_equal(findings_at(h, 601), 0);
}

static void slow_steps_are_given_more_time(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 5; i++) {
        feed(h, step(100 * i, 700 + i));
    }
    feed(h, loader_error(401));
    assert_int_equal(findings_at(h, 599), 0);
    assert_int_equal(findings_at(h, 600), 1);
    struct tc_event slow = of_pod(step(600, 5), "slow");
    slow.train.seconds = 90;
    feed(h, slow);
    feed(h, of_pod(loader_error(601), "slow"));
    assert_int_equal(findings_at(h, 779), 1);
    assert_int_equal(findings_at(h, 780), 2);
}

static void warm_up_and_evaluation_are_left_out_of_our_count(void **state)
{
    struct tc_harness *h = *state;
    feed(h, step(0, 0));
    feed(h, step(5, 1));
    feed(h, loader_error(6));
    assert_int_equal(findings_at(h, 400), 0);
    feed(h, of_pod(step(400, 500), "eval"));
    struct tc_event ev = of_pod(step(402, 500), "eval");
    ev.train.phase = TC_LIT("eval");
    feed(h, ev);
    feed(h, of_pod(loader_error(403), "eval"));
    assert_int_equal(findings_at(h, 700), 0);
    ev = of_pod(stall(701, 298), "eval");
    ev.train.phase = TC_EMPTY; /* whoever did not say saw the same pause */
    feed(h, ev);
    assert_int_equal(findings_at(h, 702), 0);
    ev.train.phase = TC_LIT("train");
    feed(h, ev);
    assert_int_equal(findings_at(h, 703), 1);
}

static void a_report_of_evaluation_stops_our_count(void **state)
{
    struct tc_harness *h = *state;
    steps(h, 0, 60);
    feed(h, loader_error(61));
    struct tc_event ev = stall(100, 40);
    ev.train.phase = TC_LIT("eval");
    feed(h, ev);
    assert_int_equal(findings_at(h, 400), 0);
}

/* ---- what explains a stall ------------------------------------------------------------------- */

static void a_checkpoint_being_written_explains_a_stall(void **state)
{
    struct tc_harness *h = *state;
    steps(h, 0, 60);
    feed(h, checkpoint(61, "begin"));
    feed(h, loader_error(62));
    feed(h, stall(200, 139));
    assert_int_equal(findings_at(h, 201), 0);
    feed(h, checkpoint(210, "end"));
    feed(h, stall(230, 169)); /* 20 s of it are not the checkpoint's */
    assert_int_equal(findings_at(h, 231), 0);
    feed(h, loader_error(320));
    feed(h, stall(330, 269));
    assert_int_equal(findings_at(h, 331), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), STALL_SECONDS), 120);
}

static void a_checkpoint_of_the_job_explains_the_stall_of_its_pods(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        struct tc_event begin = of_pod(checkpoint(15, "begin"), "worker-0");
        struct tc_event ev = stall(200, 190);
        begin.scope.job = TC_LIT("llm-7");
        ev.scope.job = i == 0 ? TC_LIT("llm-7") : TC_LIT("llm-8");
        feed(h, begin);
        feed(h, loader_error(190));
        feed(h, ev);
        assert_int_equal(findings_at(h, 201), i);
        tc_harness_destroy(h);
    }
}

static void a_checkpoint_that_began_late_or_long_ago_explains_nothing(void **state)
{
    struct tc_harness *h = *state;
    steps(h, 0, 200);
    feed(h, checkpoint(100, "begin")); /* written while steps went on */
    feed(h, loader_error(201));
    assert_int_equal(findings_at(h, 320), 1);
    tc_harness_clear(h);
    struct tc_event ev = of_pod(checkpoint(520, "begin"), "late");
    feed(h, of_pod(loader_error(390), "late"));
    feed(h, ev);
    feed(h, of_pod(stall(530, 150), "late"));
    assert_int_equal(findings_at(h, 531), 2); /* the first has grown */
    assert_text(tc_harness_finding(h, 1)->scope.pod, "late");
}

/* What lies nearer to where the stall begins is what stopped the training. */
static void a_loader_that_fails_during_a_checkpoint_outweighs_it(void **state)
{
    (void)state;
    /* The checkpoint begins at 61, and the watchdog counts from 101 on. */
    static const struct {
        int64_t error;
        size_t findings;
    } cases[] = {{101, 1}, {62, 1}, {61, 0}, {60, 0}, {140, 1}, {141, 0}};
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        bool before = cases[i].error < 61;
        steps(h, 0, 50);
        if (before) {
            feed(h, loader_error(cases[i].error));
        }
        feed(h, checkpoint(61, "begin"));
        if (!before) {
            feed(h, loader_error(cases[i].error));
        }
        feed(h, stall(231, 130));
        assert_int_equal(findings_at(h, 232), cases[i].findings);
        tc_harness_destroy(h);
    }
}

static void a_pod_that_ended_does_not_hang(void **state)
{
    (void)state;
    static const char *const ends[][2] = {{"Succeeded", ""},
                                          {"Failed", "Error"},
                                          {"", "Deleted"},
                                          {"", "Evicted"},
                                          {"Running", "Error"}};
    for (size_t i = 0; i < 5; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        bool restarts = i == 4;
        steps(h, 0, 60);
        feed(h, loader_error(62));
        feed(h, pod_state(65, ends[i][0], ends[i][1]));
        assert_int_equal(findings_at(h, 400), 0);
        feed(h, stall(401, 341)); /* only a container that is started again can hang */
        feed(h, loader_error(401));
        assert_int_equal(findings_at(h, 402), restarts ? 1 : 0);
        feed(h, stall(403, 343));
        assert_int_equal(findings_at(h, 404), restarts ? 1 : 0);
        feed(h, step(500, 1000)); /* another run under the same name */
        feed(h, loader_error(501));
        size_t before = findings_at(h, 502);
        assert_int_equal(findings_at(h, 500 + 900), before + 1);
        tc_harness_destroy(h);
    }
}

static void a_container_that_is_killed_stops_our_count(void **state)
{
    struct tc_harness *h = *state;
    steps(h, 0, 60);
    feed(h, loader_error(62));
    struct tc_event killing = in_pod(TC_EVENT_K8S_EVENT, 63, "worker-3");
    killing.k8s.object_kind = TC_LIT("Pod");
    killing.k8s.object_name = killing.scope.pod;
    killing.k8s.reason = TC_LIT("Killing");
    feed(h, killing);
    assert_int_equal(findings_at(h, 400), 0);
}

static void the_end_of_the_pod_resolves(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(10));
    feed(h, stall(200, 190));
    feed(h, pod_state(260, "Failed", "Error"));
    assert_int_equal(findings_at(h, 261), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_text(f->evidence[2].description, "The pod ended");
    assert_text(f->scope.pod_uid, "uid-3");
}

/* ---- disorder, bounds ------------------------------------------------------------------------ */

static void evidence_may_come_after_the_stall(void **state)
{
    struct tc_harness *h = *state;
    feed(h, stall(200, 190));
    assert_int_equal(findings_at(h, 300), 0);
    feed(h, failed_mount(10)); /* late */
    assert_int_equal(findings_at(h, 301), 1);
    feed(h, loader_error(20)); /* and later still */
    assert_int_equal(findings_at(h, 302), 2);
}

static void an_error_before_an_old_one_is_joined(void **state)
{
    struct tc_harness *h = *state;
    feed(h, loader_error(0));
    feed(h, loader_error(250));
    feed(h, loader_error(10));
    feed(h, stall(400, 190));
    assert_int_equal(findings_at(h, 401), 1);
    assert_int_equal(tc_harness_finding(h, 0)->evidence[0].time_ns, AT(250));
}

static void a_mount_that_fails_again_and_again_stands_for_the_time_between(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        struct tc_event mount = failed_mount(4000);
        mount.k8s.first_ns = AT(0);
        mount.k8s.count = i == 0 ? 30 : 2;
        feed(h, stall(2000, 190));
        feed(h, mount);
        /* The stall is long past when the event is read, but it is not over. */
        assert_int_equal(findings_at(h, 4001), i == 0 ? 1 : 0);
        tc_harness_destroy(h);
    }
}

static void a_rank_without_a_pod_is_known_by_its_node(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event hang = stall(200, 190);
    struct tc_event error = loader_error(190);
    hang.scope.pod = error.scope.pod = TC_EMPTY;
    hang.scope.ns = error.scope.ns = TC_EMPTY;
    hang.scope.rank = 3;
    error.scope.rank = 4;
    feed(h, hang);
    feed(h, error);
    assert_int_equal(findings_at(h, 201), 0);
    error.scope.rank = 3;
    feed(h, error);
    assert_int_equal(findings_at(h, 202), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_says(f->headline, "Training of rank 3 on node gpu-07 ");
    assert_int_equal(f->scope.pod_uid.len, 0);
    assert_int_equal(f->scope.rank, 3);
    hang.scope.rank = -1;
    feed(h, hang);
    assert_int_equal(tc_harness_stats(h).ignored, 1);
}

static void what_one_event_lacks_another_adds(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event bare = stall(200, 190);
    bare.scope.node = TC_EMPTY;
    feed(h, bare);
    feed(h, failed_mount(201));
    assert_int_equal(findings_at(h, 202), 0); /* where the pod runs is not known */
    struct tc_event more = heartbeat(203);
    more.scope.pod_uid = TC_LIT("uid-3");
    more.scope.job = TC_LIT("llm-7");
    more.scope.container = TC_LIT("trainer");
    feed(h, more);
    assert_int_equal(findings_at(h, 204), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_text(f->scope.pod_uid, "uid-3");
    assert_text(f->scope.job, "llm-7");
    assert_text(f->scope.container, "trainer");
    assert_text(f->scope.node, "gpu-07");
}

static void hostile_numbers_and_texts_do_no_harm(void **state)
{
    struct tc_harness *h = *state;
    static char huge[70000];
    memset(huge, 'x', sizeof huge);
    static const double values[] = {-1e308, -1, 0, 1e-9, 119.999, 1e18, 1e308};
    struct tc_event error = loader_error(195);
    error.train.message = tc_slice_make(huge, sizeof huge);
    error.train.error_class = error.train.message;
    error.uid = error.train.message;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char pod[16];
        (void)snprintf(pod, sizeof pod, "p%zu", i);
        feed(h, of_pod(error, pod));
        struct tc_event ev = of_pod(stall(200, values[i]), pod);
        ev.train.step = i % 2 == 0 ? INT64_MAX : INT64_MIN;
        feed(h, ev);
        ev = of_pod(sample(100, values[i], (int32_t)i * 100000), pod);
        feed(h, ev);
    }
    assert_int_equal(findings_at(h, 201), 0 + 2);
    for (long i = 0; i < 2; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        tc_harness_conforms(f);
        assert_in_range(f->headline.len, 1, 400);
        assert_int_equal(tc_harness_int(f, STALL_SECONDS), 31 * 86400);
    }
    struct tc_event ev = stall(0, 190);
    ev.time_ns = TC_TIME_NONE;
    feed(h, ev);
    ev = loader_error(201);
    ev.scope.pod = tc_slice_make(huge, 300);
    feed(h, ev);
    ev = failed_mount(201);
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    ev = stall(201, 190);
    ev.scope.job = tc_slice_make(huge, 300);
    feed(h, ev);
    assert_int_equal(tc_harness_stats(h).ignored, 4);
}

static void times_from_1970_to_2200_are_fine(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event early = stall(0, 1e9);
    early.time_ns = 0;
    struct tc_event error = loader_error(0);
    error.time_ns = 0;
    struct tc_event last_step = of_pod(step(0, 5), "p");
    last_step.time_ns = TC_TIME_MAX;
    feed(h, early);
    feed(h, error);
    feed(h, last_step);
    tc_harness_tick(h, TC_TIME_MAX);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->first_ns, 0);
}

static void a_storm_of_errors_is_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    feed(h, stall(200, 190));
    for (int64_t i = 0; i < 10000; i++) {
        struct tc_event ev = i % 2 == 0 ? loader_error(200) : failed_mount(200);
        ev.time_ns += i * 6 * TC_SECOND / 1000;
        feed(h, ev);
    }
    assert_int_equal(findings_at(h, 261), 2); /* the error, then the mount as well */
    assert_int_equal(tc_harness_stats(h).dropped, 0);
}

static void a_flood_of_pods_is_bounded_and_counted(void **state)
{
    struct tc_harness *h = *state;
    char pod[16];
    for (int i = 0; i < 8000; i++) {
        (void)snprintf(pod, sizeof pod, "p%d", i);
        feed(h, of_pod(loader_error(200), pod));
        feed(h, of_pod(stall(200, 190), pod));
    }
    size_t count = findings_at(h, 201);
    struct tc_detector_stats stats = tc_harness_stats(h);
    assert_true(stats.dropped > 0);
    assert_in_range(count, 1000, 8000);
    feed(h, loader_error(202));
    feed(h, stall(203, 193));
    assert_int_equal(findings_at(h, 204), count + 1);
    assert_true(tc_harness_finding(h, -1)->incomplete);
}

static void a_pod_that_steps_is_not_pushed_out(void **state)
{
    struct tc_harness *h = *state;
    char pod[16];
    for (int i = 0; i < 8000; i++) {
        (void)snprintf(pod, sizeof pod, "p%d", i);
        feed(h, of_pod(step(i / 100, 10), pod));
        feed(h, step(i / 100, 700 + i / 100));
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    feed(h, loader_error(80));
    assert_int_equal(findings_at(h, 300), 1);
    assert_int_equal(tc_harness_finding(h, 0)->evidence[0].raw.offset, 100079);
}

/* Logs that tell seconds have several steps at one time: the last one is where it stopped. */
static void steps_that_end_in_one_second_are_all_progress(void **state)
{
    (void)state;
    for (int64_t first = 19; first <= 20; first++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        feed(h, step(0, first));
        feed(h, step(0, 39 - first));
        feed(h, heartbeat(700));
        feed(h, loader_error(701));
        tc_harness_tick(h, AT(800));
        assert_true(tc_harness_count(h) > 0);
        assert_says(tc_harness_finding(h, -1)->headline, "at step 20");
        tc_harness_destroy(h);
    }
}

/* The same events at the same time in every order: the same findings. */
static void the_order_of_equal_times_does_not_matter(void **state)
{
    (void)state;
    struct tc_event events[5] = {stall(200, 190), stall(200, 185), loader_error(200),
                                 loader_error(200), failed_mount(200)};
    events[1].scope.rank = 2;
    events[3].train.error_class = TC_LIT("timeout");
    char first[8192];
    size_t first_len = 0;
    for (unsigned order = 0; order < 120; order++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
        unsigned left[5] = {0, 1, 2, 3, 4};
        unsigned code = order;
        for (unsigned i = 5; i > 0; i--) {
            unsigned pick = code % i;
            code /= i;
            tc_harness_feed(h, &events[left[pick]]);
            memmove(left + pick, left + pick + 1, (4 - pick) * sizeof left[0]);
        }
        assert_int_equal(findings_at(h, 201), 1);
        struct tc_slice dump = tc_harness_dump(h);
        assert_true(dump.len < sizeof first);
        if (order == 0) {
            memcpy(first, dump.ptr, dump.len);
            first_len = dump.len;
        }
        assert_int_equal(dump.len, first_len);
        assert_memory_equal(dump.ptr, first, first_len);
        tc_harness_destroy(h);
    }
}

static void the_end_of_the_input_is_the_last_word(void **state)
{
    (void)state;
    struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
    feed(h, loader_error(10));
    feed(h, stall(130, 120));
    feed(h, stall(160, 150));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), STALL_SECONDS), 150);
    tc_harness_destroy(h);
    h = tc_harness_create(&tc_detector_dataloader_hang, NULL);
    steps(h, 0, 60);
    feed(h, loader_error(61));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_finish(h, AT(1000)); /* now, as the user says */
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), STALL_SECONDS), 940);
    tc_harness_destroy(h);
}

static void memory_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_harness_options small_window = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, &small_window);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);

    /* Every size of scratch either works or says that it does not. */
    bool worked = false;
    for (size_t bytes = 64; bytes < 32768; bytes += 128) {
        struct tc_harness_options options = {.scratch_bytes = bytes};
        h = tc_harness_create(&tc_detector_dataloader_hang, &options);
        struct tc_event events[] = {loader_error(10), failed_mount(11), stall(200, 190),
                                    step(201, 813), step(202, 814)};
        events[0].scope.job = TC_LIT("llm-7");
        tc_status status = TC_OK;
        for (size_t i = 0; i < 5 && status == TC_OK; i++) {
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
    struct tc_harness *h = tc_harness_create(&tc_detector_dataloader_hang, &options);
    feed(h, loader_error(10));
    feed(h, stall(200, 190));
    struct tc_event ev = step(201, 813);
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_E_IO);
    tc_harness_destroy(h);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(canonical_worker_killed),
        CASE(canonical_storage_event),
        CASE(a_stall_alone_never_fires),
        CASE(evidence_without_a_stall_never_fires),
        CASE(warm_up_steps_are_left_out),
        CASE(evaluation_is_left_out),
        CASE(a_missing_phase_does_not_suppress),
        CASE(below_the_threshold_is_cadence),
        CASE(an_error_joins_its_own_pod_only),
        CASE(a_mount_joins_its_own_node_only),
        CASE(the_window_reaches_both_ways_with_its_edges),
        CASE(prefers_worker_killed_over_storage),
        CASE(an_error_that_comes_later_takes_over_from_the_mount),
        CASE(the_threshold_is_a_knob),
        CASE(the_window_is_a_knob),
        CASE(a_knob_below_a_second_is_refused_with_its_path),
        CASE(repeated_reports_are_one_incident_that_grows_in_coarse_steps),
        CASE(the_ranks_of_a_pod_are_one_incident),
        CASE(a_step_resolves_and_the_next_stall_is_another_incident),
        CASE(a_report_that_counts_anew_tells_of_a_step_between),
        CASE(steps_that_we_saw_outweigh_a_report),
        CASE(steps_that_stop_are_a_stall_with_an_error),
        CASE(steps_that_stop_alone_never_fire),
        CASE(a_failed_mount_needs_a_sign_of_life),
        CASE(the_mount_of_the_pod_itself_says_which_node_it_is_on),
        CASE(a_step_after_the_stall_is_the_sign_of_life),
        CASE(the_place_of_a_rank_is_learned),
        CASE(a_mount_that_failed_before_the_pod_was_known_is_remembered),
        CASE(samples_of_the_step_are_progress_only_when_they_change),
        CASE(a_restart_at_an_older_step_is_progress),
        CASE(slow_steps_are_given_more_time),
        CASE(warm_up_and_evaluation_are_left_out_of_our_count),
        CASE(a_report_of_evaluation_stops_our_count),
        CASE(a_checkpoint_being_written_explains_a_stall),
        CASE(a_checkpoint_of_the_job_explains_the_stall_of_its_pods),
        CASE(a_checkpoint_that_began_late_or_long_ago_explains_nothing),
        CASE(a_loader_that_fails_during_a_checkpoint_outweighs_it),
        CASE(a_pod_that_ended_does_not_hang),
        CASE(a_container_that_is_killed_stops_our_count),
        CASE(the_end_of_the_pod_resolves),
        CASE(evidence_may_come_after_the_stall),
        CASE(an_error_before_an_old_one_is_joined),
        CASE(a_mount_that_fails_again_and_again_stands_for_the_time_between),
        CASE(a_rank_without_a_pod_is_known_by_its_node),
        CASE(what_one_event_lacks_another_adds),
        CASE(hostile_numbers_and_texts_do_no_harm),
        CASE(times_from_1970_to_2200_are_fine),
        CASE(a_storm_of_errors_is_one_verdict),
        CASE(a_flood_of_pods_is_bounded_and_counted),
        CASE(a_pod_that_steps_is_not_pushed_out),
        CASE(steps_that_end_in_one_second_are_all_progress),
        CASE(the_order_of_equal_times_does_not_matter),
        CASE(the_end_of_the_input_is_the_last_word),
        CASE(memory_that_is_too_small_is_reported),
        CASE(a_sink_that_fails_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
