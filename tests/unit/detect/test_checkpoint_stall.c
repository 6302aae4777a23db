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

#define KEY(name) "tracecore.alert.checkpoint_stall." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define THRESHOLD 600
#define WINDOW 300

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event checkpoint(int64_t seconds, int32_t rank, const char *what)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_CHECKPOINT);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-03");
    ev.scope.ns = TC_LIT("train");
    ev.scope.pod = TC_LIT("worker-0");
    ev.scope.job = TC_LIT("job-1");
    ev.scope.rank = rank;
    ev.train.state = tc_slice_cstr(what);
    ev.train.step = 1200;
    ev.train.path = TC_LIT("/ckpt/step-1200");
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds + 10000), .length = 80};
    return ev;
}

static struct tc_event kernel(int64_t seconds, const char *fault, const char *device)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_STORAGE_ERROR);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-03");
    ev.fault.fault = tc_slice_cstr(fault);
    ev.fault.device = tc_slice_cstr(device);
    ev.raw = (struct tc_raw){.source = 2, .offset = (uint64_t)(seconds + 10000), .length = 70};
    return ev;
}

static struct tc_event mount_event(int64_t seconds, const char *reason, const char *message)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = AT(seconds);
    ev.uid = TC_LIT("event-1");
    ev.scope.node = TC_LIT("gpu-03");
    ev.scope.ns = TC_LIT("train");
    ev.scope.pod = TC_LIT("worker-0");
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.reason = tc_slice_cstr(reason);
    ev.k8s.message = tc_slice_cstr(message);
    return ev;
}

static struct tc_event metric(int64_t seconds, enum tc_metric which, const char *device,
                              double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-03");
    ev.metric.metric = (uint16_t)which;
    ev.metric.device = tc_slice_cstr(device);
    ev.metric.value = value;
    return ev;
}

static struct tc_event step(int64_t seconds, int64_t number)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_TRAIN_STEP);
    ev.time_ns = AT(seconds);
    ev.scope.job = TC_LIT("job-1");
    ev.train.step = number;
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

static void tick(struct tc_harness *h, int64_t seconds)
{
    tc_harness_tick(h, AT(seconds));
}

static void scrape(struct tc_harness *h, int64_t seconds, double writes, double spent)
{
    feed(h, metric(seconds, TC_METRIC_STORAGE_WRITES, "nvme1n1", writes));
    feed(h, metric(seconds, TC_METRIC_STORAGE_WRITE_SECONDS, "nvme1n1", spent));
}

static void a_stall_with_a_mount_event_is_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, mount_event(60, "FailedMount", "MountVolume.SetUp failed for volume \"pvc-1\" : x"));
    tick(h, THRESHOLD - 1);
    assert_int_equal(tc_harness_count(h), 0);
    tick(h, THRESHOLD);
    tick(h, THRESHOLD + 100);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->pattern_id, "11");
    assert_text(f->key, "job-1|1200");
    assert_text(f->discriminator, "storage_event");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_text(f->headline, "Checkpoint of step 1200 of job job-1 has not ended for 10 min on "
                             "rank 0: volume pvc-1 could not be mounted on node gpu-03");
    assert_says(f->remediation, "On node gpu-03: ");
    assert_text(tc_harness_text(f, KEY("volume")), "pvc-1");
    assert_text(tc_harness_text(f, KEY("path")), "/ckpt/step-1200");
    assert_text(tc_harness_text(f, KEY("outcome")), "stalled");
    assert_int_equal(tc_harness_int(f, KEY("stall_seconds")), THRESHOLD);
    assert_int_equal(f->evidence_count, 2);
    assert_text(f->evidence[1].uid, "event-1");
    assert_text(f->scope.pod, "worker-0");
    assert_int_equal(f->scope.rank, 0);
}

static void a_stall_alone_is_silent(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    tick(h, THRESHOLD);
    tick(h, 10 * THRESHOLD);
    tc_harness_finish(h, AT(20 * THRESHOLD));
    assert_int_equal(tc_harness_count(h), 0);
}

static void trouble_alone_is_silent(void **state)
{
    struct tc_harness *h = *state;
    feed(h, kernel(0, "io_error", "sda"));
    feed(h, mount_event(0, "FailedMount", "x"));
    scrape(h, 0, 0, 0);
    scrape(h, 30, 1, 100);
    tick(h, 2 * THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
}

static void an_end_before_the_threshold_is_silent(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "io_error", "sda"));
    feed(h, checkpoint(THRESHOLD - 1, 0, "end"));
    tick(h, THRESHOLD);
    tick(h, 3 * THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
}

static void knobs_are_knobs(void **state)
{
    (void)state;
    struct tc_harness_options threshold = {.param = "threshold", .value = 60 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, &threshold);
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "io_error", "sda"));
    tick(h, 59);
    assert_int_equal(tc_harness_count(h), 0);
    tick(h, 60);
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
    struct tc_harness_options window = {.param = "window", .value = 10 * TC_SECOND};
    h = tc_harness_create(&tc_detector_checkpoint_stall, &window);
    feed(h, kernel(-11, "io_error", "sda"));
    feed(h, checkpoint(0, 0, "begin"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_destroy(h);
    struct tc_harness_options slow = {.param = "slow_write", .value = 3 * TC_SECOND};
    h = tc_harness_create(&tc_detector_checkpoint_stall, &slow);
    feed(h, checkpoint(0, 0, "begin"));
    scrape(h, 30, 100, 0);
    scrape(h, 60, 110, 29.9);
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
    scrape(h, THRESHOLD + 30, 120, 59.9);
    tick(h, THRESHOLD + 31);
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
}

static void the_window_includes_its_edge_and_nothing_beyond(void **state)
{
    (void)state;
    for (int64_t before = WINDOW; before <= WINDOW + 1; before++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        feed(h, kernel(-before, "io_error", "sda"));
        feed(h, checkpoint(0, 0, "begin"));
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), before == WINDOW);
        tc_harness_destroy(h);
    }
}

static void each_kind_of_trouble_counts_on_its_node(void **state)
{
    static const struct {
        const char *fault;
        bool expected;
    } faults[] = {{"io_error", true},     {"nfs_not_responding", true}, {"fs_readonly", true},
                  {"nvme_timeout", true}, {"raid_failure", true},       {"nfs_ok", false}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof faults / sizeof faults[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        struct tc_event ev = kernel(10, faults[i / 2].fault, "x");
        bool elsewhere = i % 2 == 1;
        ev.scope.node = elsewhere ? TC_LIT("gpu-04") : ev.scope.node;
        feed(h, checkpoint(0, 0, "begin"));
        feed(h, ev);
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), faults[i / 2].expected && !elsewhere);
        tc_harness_destroy(h);
    }
}

static void a_server_that_answers_again_is_no_trouble(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "nfs_not_responding", "10.0.0.5"));
    feed(h, kernel(20, "nfs_ok", "10.0.0.5"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, kernel(THRESHOLD + 10, "nfs_not_responding", "10.0.0.5"));
    feed(h, kernel(THRESHOLD + 11, "nfs_ok", "10.0.0.6")); /* another */
    tick(h, THRESHOLD + 12);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_text(tc_harness_finding(h, 0), KEY("device")), "10.0.0.5");
}

static void a_target_of_lustre_that_is_back_is_no_trouble(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "lustre_lost", "fs-OST0007"));
    feed(h, kernel(11, "nfs_ok", "fs-OST0007")); /* of something else */
    feed(h, kernel(20, "lustre_ok", "fs-OST0007"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, kernel(THRESHOLD + 10, "lustre_lost", "fs-OST0007"));
    feed(h, kernel(THRESHOLD + 11, "nfs_ok", "fs-OST0007"));
    tick(h, THRESHOLD + 12);
    assert_int_equal(tc_harness_count(h), 1);
}

static void mount_events_of_other_reasons_or_for_configuration_are_no_trouble(void **state)
{
    static const struct {
        const char *reason;
        const char *message;
        bool expected;
    } cases[] = {
        {"FailedMount", "Unable to attach or mount volumes: unmounted volumes=[data tmp]", true},
        {"FailedAttachVolume", "AttachVolume.Attach failed for volume \"pvc-9\" : x", true},
        {"VolumeMountFailure", "", true},
        {"FailedMapVolume", "", true},
        {"VolumeConditionAbnormal", "", true},
        {"FailedMount", "MountVolume.SetUp failed for volume \"s\" : secret \"s\" not found",
         false},
        {"FailedMount", "MountVolume.SetUp failed for volume \"c\" : configmap \"c\" not found",
         false},
        {"FailedScheduling", "", false},
        {"SuccessfulAttachVolume", "", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        feed(h, checkpoint(0, 0, "begin"));
        feed(h, mount_event(10, cases[i].reason, cases[i].message));
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), cases[i].expected);
        tc_harness_destroy(h);
    }
}

static void the_pod_or_the_node_joins(void **state)
{
    static const struct {
        const char *node;
        const char *pod;
        bool expected;
    } cases[] = {{"gpu-03", "worker-0", true}, {"", "worker-0", true},
                 {"gpu-09", "worker-0", true}, {"gpu-03", "other", true},
                 {"gpu-09", "other", false},   {"", "other", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        struct tc_event ev = mount_event(10, "FailedMount", "");
        ev.scope.node = tc_slice_cstr(cases[i].node);
        ev.scope.pod = tc_slice_cstr(cases[i].pod);
        feed(h, checkpoint(0, 0, "begin"));
        feed(h, ev);
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), cases[i].expected);
        if (cases[i].expected) {
            tc_harness_conforms(tc_harness_finding(h, 0));
        }
        tc_harness_destroy(h);
    }
}

static void the_mount_event_goes_before_the_kernel_and_that_before_slow_writes(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    scrape(h, 30, 100, 0);
    scrape(h, 60, 110, 20);
    tick(h, THRESHOLD);
    assert_text(tc_harness_finding(h, -1)->discriminator, "slow_write");
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("write_ms")), 2000);
    tc_harness_conforms(tc_harness_finding(h, -1));
    feed(h, kernel(THRESHOLD + 1, "io_error", "sda"));
    tick(h, THRESHOLD + 2);
    assert_text(tc_harness_finding(h, -1)->discriminator, "storage_error");
    feed(h, mount_event(THRESHOLD + 3, "FailedMount", ""));
    tick(h, THRESHOLD + 4);
    assert_text(tc_harness_finding(h, -1)->discriminator, "storage_event");
    tc_harness_conforms(tc_harness_finding(h, -1));
    assert_int_equal(tc_harness_count(h), 3);
    assert_int_equal(tc_harness_finding(h, -1)->evidence_count, 4);
}

static void writes_are_slow_from_a_second_on_and_resets_are_not(void **state)
{
    (void)state;
    static const struct {
        double writes;
        double spent;
        bool expected;
    } cases[] = {{110, 10, true}, {110, 9.99, false}, {100, 50, false},
                 {50, 50, false}, {110, -5, false},   {1e300, 1e301, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        feed(h, checkpoint(0, 0, "begin"));
        scrape(h, 30, 100, 0);
        scrape(h, 60, cases[i].writes, cases[i].spent);
        scrape(h, 60, 0, 99); /* not newer */
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), cases[i].expected);
        tc_harness_destroy(h);
    }
}

static void a_mount_that_became_read_only_counts_below_its_path(void **state)
{
    (void)state;
    static const struct {
        const char *mount;
        double before;
        bool expected;
    } cases[] = {{"/ckpt", 0, true}, {"/", 0, true},      {"/ckpt/step-1200", 0, true},
                 {"/ck", 0, false},  {"/boot", 0, false}, {"/ckpt", 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        feed(h, checkpoint(0, 0, "begin"));
        feed(h, metric(10, TC_METRIC_FS_READONLY, cases[i].mount, cases[i].before));
        feed(h, metric(40, TC_METRIC_FS_READONLY, cases[i].mount, 1));
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), cases[i].expected);
        tc_harness_destroy(h);
    }
}

static void a_failure_needs_no_threshold_but_evidence(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, checkpoint(40, 0, "failed"));
    tick(h, 41);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, kernel(40 + WINDOW + 1, "io_error", "sdb")); /* too late to explain it */
    tick(h, 40 + WINDOW + 1);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, kernel(40 + WINDOW, "io_error", "sda"));
    tick(h, 40 + WINDOW + 2);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(tc_harness_text(f, KEY("outcome")), "failed");
    assert_says(f->headline, " failed after 40 s on rank 0: I/O error of sda on node gpu-03");
    struct tc_event next = checkpoint(900, 0, "begin");
    next.train.step = 1300;
    feed(h, next);
    tick(h, 901);
    assert_int_equal(tc_harness_count(h), 1); /* another attempt is no success */
    next = checkpoint(930, 0, "end");
    next.train.step = 1300;
    feed(h, next);
    tick(h, 931);
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_harness_finding(h, 1)->resolved);
    tc_harness_conforms(tc_harness_finding(h, 1));
}

static void a_failure_whose_begin_was_not_seen_is_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, kernel(10, "io_error", "sda"));
    feed(h, checkpoint(40, 0, "failed"));
    tick(h, 41);
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_conforms(tc_harness_finding(h, 0));
}

static void it_is_resolved_when_it_ends(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "io_error", "sda"));
    tick(h, THRESHOLD);
    feed(h, checkpoint(700, 0, "end"));
    tick(h, 701);
    tick(h, 702);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_says(f->headline, " ended after 11 min 40 s");
    assert_int_equal(f->last_ns, AT(700));
    assert_int_equal(f->evidence_count, 3);
}

static void many_ranks_are_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t rank = 99; rank >= 0; rank--) {
        struct tc_event ev = checkpoint(0, rank, "begin");
        ev.scope.node = rank % 2 == 0 ? TC_LIT("gpu-03") : TC_LIT("gpu-04");
        ev.scope.pod = rank % 2 == 0 ? TC_LIT("worker-0") : TC_LIT("worker-1");
        feed(h, ev);
    }
    struct tc_event ev = kernel(10, "io_error", "sda");
    ev.scope.node = TC_LIT("gpu-04");
    feed(h, ev);
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_says(f->headline, "on 100 ranks: I/O error of sda on node gpu-04");
    assert_text(f->scope.node, "gpu-04");
    assert_int_equal(f->scope.pod.len, 0);
    assert_int_equal(f->scope.rank, -1);
    assert_int_equal(tc_harness_int(f, KEY("writers")), 100);
    for (int32_t rank = 0; rank < 100; rank++) {
        feed(h, checkpoint(800, rank, "end"));
    }
    tick(h, 801);
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_harness_finding(h, 1)->resolved);
}

static void the_next_checkpoint_takes_its_place(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "io_error", "sda"));
    struct tc_event next = checkpoint(THRESHOLD - 1, 0, "begin");
    next.train.step = 1300;
    feed(h, next);
    tick(h, THRESHOLD);
    tick(h, THRESHOLD + 500);
    assert_int_equal(tc_harness_count(h), 0);
    tick(h, 2 * THRESHOLD); /* the next one stalls as well */
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, kernel(2 * THRESHOLD + 1, "io_error", "sda"));
    tick(h, 2 * THRESHOLD + 2);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_finding(h, 0)->key, "job-1|1300");
    next.time_ns = AT(2 * THRESHOLD + 60);
    next.train.step = 1400;
    feed(h, next);
    tick(h, 2 * THRESHOLD + 61);
    assert_int_equal(tc_harness_count(h), 2);
    assert_says(tc_harness_finding(h, 1)->headline, "was followed by the next one after ");
    tc_harness_conforms(tc_harness_finding(h, 1));
}

static void steps_that_go_on_make_it_partial(void **state)
{
    struct tc_harness *h = *state;
    feed(h, step(-5, 1200));
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "io_error", "sda"));
    feed(h, step(20, 1201));
    tick(h, THRESHOLD);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_says(f->remediation, "Steps go on: ");
}

static void of_steps_at_one_time_the_highest_counts(void **state)
{
    (void)state;
    for (int64_t first = 0; first < 2; first++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        feed(h, checkpoint(0, 0, "begin"));
        feed(h, kernel(10, "io_error", "sda"));
        feed(h, step(20, 1200 + first));
        feed(h, step(20, 1201 - first));
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
        tc_harness_destroy(h);
    }
}

static void a_job_or_pod_that_ended_is_silent(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "io_error", "sda"));
    struct tc_event end = checkpoint(300, -1, "end"); /* of the whole job */
    feed(h, end);
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
    struct tc_event begin = checkpoint(1000, 0, "begin");
    begin.train.step = 1300;
    feed(h, begin);
    feed(h, kernel(1010, "io_error", "sda"));
    struct tc_event pod;
    tc_event_init(&pod, TC_EVENT_POD_STATE);
    pod.time_ns = AT(1200);
    pod.scope.ns = TC_LIT("train");
    pod.scope.pod = TC_LIT("worker-0");
    pod.pod.phase = TC_LIT("Failed");
    feed(h, pod);
    tick(h, 1000 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
}

/* Whoever writes a checkpoint with a pod that is gone waits for that pod, not for a disk. */
static void trouble_after_a_writer_is_gone_does_not_join(void **state)
{
    (void)state;
    static const struct {
        int64_t trouble;
        int64_t written; /* by the pod that ends, before it does; -1 not */
        size_t findings;
    } cases[] = {{99, -1, 1}, {100, -1, 1}, {101, -1, 0}, {900, -1, 0}, {900, 50, 1}};
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        struct tc_event peer = checkpoint(0, 1, "begin");
        peer.scope.pod = TC_LIT("worker-1");
        feed(h, checkpoint(0, 0, "begin"));
        feed(h, peer);
        if (cases[i].written >= 0) {
            struct tc_event end = checkpoint(cases[i].written, 1, "end");
            end.scope.pod = TC_LIT("worker-1");
            feed(h, end);
        }
        struct tc_event pod;
        tc_event_init(&pod, TC_EVENT_POD_STATE);
        pod.time_ns = AT(100);
        pod.scope.ns = TC_LIT("train");
        pod.scope.pod = TC_LIT("worker-1");
        pod.pod.phase = TC_LIT("Failed");
        if (cases[i].trouble < 100) {
            feed(h, kernel(cases[i].trouble, "io_error", "sda"));
        }
        feed(h, pod);
        if (cases[i].trouble >= 100) {
            feed(h, kernel(cases[i].trouble, "io_error", "sda"));
        }
        tick(h, 1000);
        assert_int_equal(tc_harness_count(h), cases[i].findings);
        tc_harness_destroy(h);
    }
}

static void a_pod_that_ends_resolves_what_was_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "io_error", "sda"));
    tick(h, THRESHOLD);
    struct tc_event pod;
    tc_event_init(&pod, TC_EVENT_POD_STATE);
    pod.time_ns = AT(900);
    pod.scope.ns = TC_LIT("train");
    pod.scope.pod = TC_LIT("worker-0");
    pod.pod.phase = TC_LIT("Succeeded");
    feed(h, pod);
    feed(h, pod);
    tick(h, 901);
    assert_int_equal(tc_harness_count(h), 2);
    assert_says(tc_harness_finding(h, 1)->headline, "its pod ended after 15 min");
    tc_harness_conforms(tc_harness_finding(h, 1));
}

static void the_place_of_a_rank_is_learned(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event place;
    tc_event_init(&place, TC_EVENT_RANK_PLACE);
    place.scope = checkpoint(0, 0, "").scope;
    feed(h, place);
    feed(h, place);
    struct tc_event begin = checkpoint(0, 0, "begin");
    begin.scope.node = TC_EMPTY;
    begin.scope.ns = TC_EMPTY;
    begin.scope.pod = TC_EMPTY;
    feed(h, begin);
    feed(h, kernel(10, "io_error", "sda"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_finding(h, 0)->scope.pod, "worker-0");
}

/* Neither the log nor the map names a job. */
static void the_place_of_a_rank_needs_no_job(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event place;
    tc_event_init(&place, TC_EVENT_RANK_PLACE);
    place.scope = checkpoint(0, 0, "").scope;
    place.scope.job = TC_EMPTY;
    feed(h, place);
    struct tc_event begin = checkpoint(0, 0, "begin");
    begin.scope = TC_SCOPE_NONE;
    begin.scope.rank = 0;
    feed(h, begin);
    feed(h, kernel(10, "io_error", "sda"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_finding(h, 0)->scope.node, "gpu-03");
}

/* DeepSpeed names the rank where a checkpoint begins, and not where it ends. */
static void an_end_without_a_rank_ends_those_of_its_pod(void **state)
{
    (void)state;
    static const struct {
        const char *pod;
        int64_t step;
        size_t count;
    } cases[] = {{"worker-0", 1200, 0}, {"worker-1", 1200, 1}, {"worker-0", 1100, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        struct tc_event begin = checkpoint(0, 0, "begin");
        struct tc_event end = checkpoint(30, -1, "end");
        begin.scope.job = TC_EMPTY;
        end.scope.job = TC_EMPTY;
        end.scope.pod = tc_slice_cstr(cases[i].pod);
        end.train.step = cases[i].step;
        feed(h, begin);
        feed(h, end);
        feed(h, kernel(60, "nfs_not_responding", "10.0.0.5"));
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), cases[i].count);
        tc_harness_destroy(h);
    }
}

/* The training waits for it: a step that ended shows that it is over, told or not. */
static void a_step_ends_what_the_training_waits_for(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        struct tc_event begin = checkpoint(0, 0, "begin");
        begin.train.phase = TC_LIT("train");
        feed(h, begin);
        feed(h, kernel(60, "nfs_not_responding", "10.0.0.5"));
        if (i == 0) {
            feed(h, step(100, -1));
        }
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), i == 0 ? 0 : 1);
        if (i == 2) {
            feed(h, step(THRESHOLD + 10, 1201));
            tick(h, THRESHOLD + 11);
            assert_int_equal(tc_harness_count(h), 2);
            assert_true(tc_harness_finding(h, 1)->resolved);
        }
        tc_harness_destroy(h);
    }
}

static void a_drive_without_a_medium_is_no_trouble(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(10, "io_error", "fd0"));
    feed(h, kernel(11, "io_error", "sr0"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, kernel(THRESHOLD + 1, "io_error", "sda"));
    tick(h, THRESHOLD + 2);
    assert_int_equal(tc_harness_count(h), 1);
}

static void the_place_of_a_pod_is_learned_from_its_address(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event address;
    tc_event_init(&address, TC_EVENT_ADDRESS);
    address.time_ns = AT(-86400);
    address.address.address = TC_LIT("10.0.0.7");
    address.scope.node = TC_LIT("gpu-03"); /* that of the node itself */
    feed(h, address);
    address.scope.ns = TC_LIT("train");
    address.scope.pod = TC_LIT("worker-0");
    address.scope.pod_uid = TC_LIT("uid-0");
    feed(h, address);
    feed(h, address);
    struct tc_event begin = checkpoint(0, -1, "begin");
    begin.scope.node = TC_EMPTY;
    begin.scope.job = TC_EMPTY;
    begin.scope.pod_uid = TC_LIT("uid-0");
    feed(h, begin);
    begin.scope.pod = TC_LIT("worker-1"); /* nobody says where */
    feed(h, begin);
    begin.scope.pod = TC_LIT("worker-2"); /* another one of that name is */
    address.scope.pod = TC_LIT("worker-2");
    address.scope.pod_uid = TC_LIT("uid-2");
    feed(h, address);
    feed(h, begin);
    feed(h, kernel(10, "io_error", "sda"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_finding(h, 0)->scope.node, "gpu-03");
    assert_text(tc_harness_finding(h, 0)->scope.pod, "worker-0");
}

static void without_a_job_the_pod_or_the_node_is_the_writer(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = checkpoint(0, -1, "begin");
    ev.scope.job = TC_EMPTY;
    ev.train.step = -1;
    feed(h, ev);
    ev.scope.pod = TC_EMPTY;
    ev.scope.ns = TC_EMPTY;
    feed(h, ev);
    feed(h, kernel(10, "io_error", "sda"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    tc_harness_conforms(tc_harness_finding(h, 0));
    tc_harness_conforms(tc_harness_finding(h, 1));
    assert_text(tc_harness_finding(h, 0)->key, "train/worker-0|2026-01-01T00:00:00Z");
    assert_text(tc_harness_finding(h, 1)->key, "/gpu-03|2026-01-01T00:00:00Z");
    assert_says(tc_harness_finding(h, 1)->headline, "Checkpoint on node gpu-03 has not ended");
}

static void the_input_that_ends_has_its_newest_time_or_the_users(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    feed(h, kernel(THRESHOLD - 1, "io_error", "sda"));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_finish(h, AT(THRESHOLD));
    assert_int_equal(tc_harness_count(h), 1);
}

static void what_is_told_again_changes_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (unsigned i = 0; i < 3; i++) {
        feed(h, checkpoint(0, 0, "begin"));
        feed(h, mount_event(60, "FailedMount", ""));
        feed(h, kernel(10, "io_error", "sda"));
        tick(h, THRESHOLD + i);
    }
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, checkpoint(60, 0, "begin")); /* told by another */
    tick(h, 901);
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, checkpoint(1000, 0, "begin")); /* the job was restarted and tries again */
    tick(h, 1001);
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_harness_finding(h, 1)->resolved);
}

static void the_order_of_equal_times_does_not_matter(void **state)
{
    (void)state;
    static char first[1 << 14];
    size_t first_len = 0;
    for (unsigned shuffle = 0; shuffle < 6; shuffle++) {
        static const unsigned char orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        struct tc_event events[3] = {checkpoint(0, 0, "begin"), kernel(0, "io_error", "sda"),
                                     mount_event(0, "FailedMount", "")};
        for (unsigned i = 0; i < 3; i++) {
            feed(h, events[orders[shuffle][i]]);
        }
        tick(h, THRESHOLD);
        struct tc_slice dump = tc_harness_dump(h);
        assert_true(dump.len > 0 && dump.len <= sizeof first);
        if (shuffle == 0) {
            memcpy(first, dump.ptr, dump.len);
            first_len = dump.len;
        }
        assert_true(tc_slice_eq(dump, tc_slice_make(first, first_len)));
        tc_harness_destroy(h);
    }
}

static void events_that_lack_what_is_needed_are_counted(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = checkpoint(0, 0, "begin");
    ev.time_ns = TC_TIME_NONE;
    feed(h, ev);
    feed(h, checkpoint(0, 0, "paused"));
    ev = checkpoint(0, 0, "begin");
    ev.scope = TC_SCOPE_NONE;
    feed(h, ev);
    ev = kernel(0, "io_error", "sda");
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    ev = metric(0, TC_METRIC_STORAGE_WRITES, "sda", 1);
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    ev = mount_event(0, "FailedMount", "");
    ev.scope.node = TC_EMPTY;
    ev.scope.pod = TC_EMPTY;
    feed(h, ev);
    assert_int_equal(tc_harness_stats(h).ignored, 6);
}

static void a_storm_of_errors_is_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    feed(h, checkpoint(0, 0, "begin"));
    for (unsigned i = 0; i < 10000; i++) {
        struct tc_event ev = kernel(0, "io_error", "sda");
        ev.time_ns += i * TC_SECOND / 10;
        feed(h, ev);
        if (i % 10 == 0) {
            tc_harness_tick(h, ev.time_ns);
        }
    }
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_stats(h).dropped, 0);
}

static void a_flood_is_bounded_and_counted(void **state)
{
    struct tc_harness *h = *state;
    static char names[20000][16];
    for (size_t i = 0; i < 20000; i++) {
        (void)snprintf(names[i], sizeof names[i], "n-%zu", i);
        struct tc_event ev = checkpoint(0, 0, "begin");
        ev.scope.job = tc_slice_cstr(names[i]);
        feed(h, ev);
        ev = kernel(0, "io_error", names[i]);
        feed(h, ev);
    }
    tick(h, THRESHOLD);
    assert_true(tc_harness_count(h) <= 256);
    assert_true(tc_harness_stats(h).dropped > 0);
}

static void memory_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_harness_options small = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, &small);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);
}

static void a_sink_or_scratch_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options bad = {.sink_status = TC_E_IO};
    struct tc_harness_options tight = {.scratch_bytes = 2048};
    const struct tc_harness_options *all[] = {&bad, &tight};
    for (size_t i = 0; i < 2; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, all[i]);
        feed(h, checkpoint(0, 0, "begin"));
        feed(h, kernel(10, "io_error", "sda"));
        assert_int_equal(tc_harness_try_finish(h, AT(THRESHOLD)), i == 0 ? TC_E_IO : TC_E_NOMEM);
        tc_harness_destroy(h);
    }
    struct tc_harness_options none = {.scratch_bytes = 64};
    struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, &none);
    feed(h, checkpoint(0, 0, "begin")); /* what is kept needs none, what is told does */
    feed(h, kernel(10, "io_error", "sda"));
    feed(h, metric(10, TC_METRIC_STORAGE_WRITES, "sda", 1));
    feed(h, step(0, 1));
    assert_int_equal(tc_harness_try_finish(h, AT(THRESHOLD)), TC_E_NOMEM);
    tc_harness_destroy(h);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static void an_end_at_the_time_of_its_begin_ends_it(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 2; before++) {
        for (unsigned first = 0; first < 2; first++) {
            struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
            if (before == 1) { /* one that was written, or is still */
                struct tc_event old = checkpoint(-100, 0, "begin");
                old.train.step = 1000;
                feed(h, old);
            }
            feed(h, checkpoint(0, 0, first == 0 ? "begin" : "end"));
            feed(h, checkpoint(0, 0, first == 0 ? "end" : "begin"));
            feed(h, kernel(10, "io_error", "sda"));
            tick(h, THRESHOLD);
            assert_int_equal(tc_harness_count(h), 0);
            tc_harness_destroy(h);
        }
    }
}

static void the_end_of_the_one_before_ends_no_other(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event next = checkpoint(0, 0, "begin");
    next.train.step = 1300;
    feed(h, checkpoint(-100, 0, "begin"));
    feed(h, checkpoint(0, 0, "end"));
    feed(h, next);
    feed(h, kernel(10, "io_error", "sda"));
    tick(h, THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("step")), 1300);
}

static void of_begins_at_one_time_the_higher_step_is_told(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_checkpoint_stall, NULL);
        struct tc_event a = checkpoint(0, 0, "begin");
        struct tc_event b = checkpoint(0, 0, "begin");
        struct tc_event c = checkpoint(0, 0, "begin");
        b.train.step = 1300;
        c.train.step = 1300;
        c.train.path = TC_LIT("/ckpt/z");
        feed(h, first == 0 ? a : c);
        feed(h, b);
        feed(h, first == 0 ? c : a);
        feed(h, kernel(10, "io_error", "sda"));
        tick(h, THRESHOLD);
        assert_int_equal(tc_harness_count(h), 1);
        assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("step")), 1300);
        assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("writers")), 1);
        assert_text(tc_harness_text(tc_harness_finding(h, 0), KEY("path")), "/ckpt/z");
        tc_harness_destroy(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stall_with_a_mount_event_is_told),
        TEST(a_stall_alone_is_silent),
        TEST(trouble_alone_is_silent),
        TEST(an_end_before_the_threshold_is_silent),
        TEST(knobs_are_knobs),
        TEST(the_window_includes_its_edge_and_nothing_beyond),
        TEST(each_kind_of_trouble_counts_on_its_node),
        TEST(a_target_of_lustre_that_is_back_is_no_trouble),
        TEST(a_server_that_answers_again_is_no_trouble),
        TEST(mount_events_of_other_reasons_or_for_configuration_are_no_trouble),
        TEST(the_pod_or_the_node_joins),
        TEST(the_mount_event_goes_before_the_kernel_and_that_before_slow_writes),
        TEST(writes_are_slow_from_a_second_on_and_resets_are_not),
        TEST(a_mount_that_became_read_only_counts_below_its_path),
        TEST(a_failure_needs_no_threshold_but_evidence),
        TEST(a_failure_whose_begin_was_not_seen_is_told),
        TEST(it_is_resolved_when_it_ends),
        TEST(many_ranks_are_one_verdict),
        TEST(the_next_checkpoint_takes_its_place),
        TEST(steps_that_go_on_make_it_partial),
        TEST(of_begins_at_one_time_the_higher_step_is_told),
        TEST(the_end_of_the_one_before_ends_no_other),
        TEST(an_end_at_the_time_of_its_begin_ends_it),
        TEST(of_steps_at_one_time_the_highest_counts),
        TEST(a_job_or_pod_that_ended_is_silent),
        TEST(trouble_after_a_writer_is_gone_does_not_join),
        TEST(a_pod_that_ends_resolves_what_was_told),
        TEST(the_place_of_a_pod_is_learned_from_its_address),
        TEST(the_place_of_a_rank_is_learned),
        TEST(the_place_of_a_rank_needs_no_job),
        TEST(an_end_without_a_rank_ends_those_of_its_pod),
        TEST(a_step_ends_what_the_training_waits_for),
        TEST(a_drive_without_a_medium_is_no_trouble),
        TEST(without_a_job_the_pod_or_the_node_is_the_writer),
        TEST(the_input_that_ends_has_its_newest_time_or_the_users),
        TEST(what_is_told_again_changes_nothing),
        TEST(the_order_of_equal_times_does_not_matter),
        TEST(events_that_lack_what_is_needed_are_counted),
        TEST(a_storm_of_errors_is_one_verdict),
        TEST(a_flood_is_bounded_and_counted),
        TEST(memory_that_is_too_small_is_reported),
        TEST(a_sink_or_scratch_that_fails_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
