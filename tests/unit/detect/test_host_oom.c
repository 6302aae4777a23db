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

#define KEY(name) "tracecore.alert.host_oom." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define WINDOW 60
#define UID "eded8c65-6e8e-4c6e-a889-3e427565c740"
#define SLICE "kubepods-burstable-podeded8c65_6e8e_4c6e_a889_3e427565c740.slice"
#define POD_LIMIT                                                                      \
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1,"  \
    "oom_memcg=/kubepods.slice/" SLICE ",task_memcg=/kubepods.slice/" SLICE "/c.scope" \
    ",task=python,pid=4711,uid=0"
#define NODE_LIMIT                                                                    \
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1," \
    "oom_memcg=/kubepods.slice,task_memcg=/kubepods.slice/" SLICE "/c.scope"          \
    ",task=python,pid=4711,uid=0"

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_host_oom, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

/* The line with the cgroup. */
static struct tc_event oom_line(int64_t seconds, int64_t pid)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_OOM_KILL);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.pid = pid;
    ev.scope.pod_uid = TC_LIT(UID);
    ev.oom.process = TC_LIT("python");
    ev.oom.constraint = TC_LIT("CONSTRAINT_MEMCG");
    ev.oom.cgroup = TC_LIT("/kubepods.slice/" SLICE "/c.scope");
    ev.oom.container_id = TC_LIT("ec9ee266");
    ev.oom.message = TC_LIT(POD_LIMIT);
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)pid * 1000, .length = 200};
    return ev;
}

/* The line with the size: it does not know the pod. */
static struct tc_event killed_line(int64_t seconds, int64_t pid)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_OOM_KILL);
    ev.time_ns = AT(seconds) + 1000;
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.pid = pid;
    ev.oom.process = TC_LIT("python");
    ev.oom.constraint = TC_LIT("CONSTRAINT_MEMCG");
    ev.oom.anon_rss_kb = 97517568;
    ev.oom.message = TC_LIT("Memory cgroup out of memory: Killed process 4711 (python)");
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)pid * 1000 + 500, .length = 90};
    return ev;
}

static struct tc_event oom_killed(int64_t seconds)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.time_ns = AT(seconds);
    ev.uid = TC_LIT(UID "/trainer");
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.ns = TC_LIT("train");
    ev.scope.pod = TC_LIT("worker-3");
    ev.scope.pod_uid = TC_LIT(UID);
    ev.scope.container = TC_LIT("trainer");
    ev.pod.phase = TC_LIT("Running");
    ev.pod.reason = TC_LIT("OOMKilled");
    ev.pod.exit_code = 137;
    ev.pod.signal = 9;
    return ev;
}

static struct tc_event node_event(int64_t seconds, const char *reason, const char *message)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = AT(seconds);
    ev.uid = TC_LIT("event-1");
    ev.k8s.object_kind = TC_LIT("Node");
    ev.k8s.object_name = TC_LIT("gpu-07");
    ev.k8s.reason = tc_slice_cstr(reason);
    ev.k8s.message = tc_slice_cstr(message);
    return ev;
}

static struct tc_event place(int64_t seconds, int64_t pid, int32_t rank)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.job = TC_LIT("llm-7");
    ev.scope.rank = rank;
    ev.scope.pid = pid;
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

static size_t findings_at(struct tc_harness *h, int64_t seconds)
{
    tc_harness_tick(h, AT(seconds));
    return tc_harness_count(h);
}

static void a_kill_and_the_state_of_its_pod_are_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    feed(h, oom_line(10, 4711));
    feed(h, killed_line(10, 4711));
    feed(h, oom_killed(11));
    assert_int_equal(findings_at(h, 15), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->pattern_id, "12");
    assert_text(f->discriminator, "container_limit");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_text(f->key, UID "@2026-01-01T00:00:10Z");
    assert_text(f->headline, "The kernel killed python (pid 4711, 93.0 GiB) of pod train/worker-3 "
                             "on node gpu-07: the container hit its memory limit");
    assert_says(f->remediation, "For pod train/worker-3: raise the memory limit of container "
                                "trainer, or use less: fewer data loader workers");
    assert_text(f->scope.pod, "worker-3");
    assert_text(f->scope.pod_uid, UID);
    assert_text(f->scope.container, "trainer");
    assert_int_equal(f->scope.pid, 4711);
    assert_int_equal(tc_harness_int(f, KEY("kills")), 1);
    assert_int_equal(tc_harness_int(f, KEY("anon_rss_kb")), 97517568);
    assert_text(tc_harness_text(f, KEY("constraint")), "MEMCG");
    assert_text(tc_harness_text(f, KEY("container_id")), "ec9ee266");
    assert_text(tc_harness_text(f, KEY("tied_by")), "cgroup");
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[0].kind, "oom_kill");
    assert_text(f->evidence[0].uid, "oom_kill:gpu-07:4711:2026-01-01T00:00:10Z");
    assert_text(f->evidence[0].description, "The kernel killed python, pid 4711, constraint MEMCG");
    assert_int_equal(f->evidence[0].raw.offset, 4711000);
    assert_says(f->evidence[1].description, "which held 93.0 GiB");
    assert_text(f->evidence[2].kind, "pod_state");
    assert_text(f->evidence[2].uid, UID "/trainer");
    assert_text(f->evidence[2].description,
                "Container trainer of pod train/worker-3 ended as OOMKilled with exit code 137");
    assert_int_equal(f->first_ns, AT(10));
    assert_int_equal(f->last_ns, AT(11));
}

static void the_cgroup_alone_ties_the_kill(void **state)
{
    struct tc_harness *h = *state;
    feed(h, oom_line(10, 4711));
    assert_int_equal(tc_harness_count(h), 0); /* the other line may follow */
    assert_int_equal(findings_at(h, 13), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_says(f->headline, "of the pod with uid " UID " on node gpu-07");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_false(tc_harness_has(f, KEY("anon_rss_kb")));
    feed(h, oom_killed(20)); /* its name, and one more piece of evidence */
    assert_int_equal(findings_at(h, 23), 2);
    assert_says(tc_harness_finding(h, 1)->headline, "of pod train/worker-3 ");
    assert_true(tc_slice_eq(tc_harness_finding(h, 1)->key, f->key));
}

static void a_name_that_was_told_before_is_known(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event started = node_event(0, "Started", "Started container trainer");
    started.k8s.object_kind = TC_LIT("Pod");
    started.k8s.object_name = TC_LIT("worker-3");
    started.k8s.object_uid = TC_LIT(UID);
    started.scope.ns = TC_LIT("train");
    feed(h, started);
    feed(h, oom_line(5000, 4711));
    assert_int_equal(findings_at(h, 5003), 1);
    assert_text(tc_harness_finding(h, 0)->scope.pod, "worker-3");
}

static void what_ran_out_is_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *constraint;
        const char *message;
        const char *discriminator;
        const char *says;
    } cases[] = {
        {"CONSTRAINT_MEMCG", POD_LIMIT, "container_limit", "The node is not at fault."},
        {"CONSTRAINT_MEMCG", "", "container_limit", "raise the memory limit"},
        {"CONSTRAINT_MEMCG", NODE_LIMIT, "node_memory", "On node gpu-07: find what holds"},
        {"CONSTRAINT_NONE", "", "node_memory", "then restart the pod with uid"},
        {"CONSTRAINT_CPUSET", "", "cpuset_numa", "Widen cpuset.mems"},
        {"CONSTRAINT_MEMORY_POLICY", "", "cpuset_numa", "NUMA node"},
        {"OOMD_PRESSURE", "", "memory_pressure", "oomctl shows"},
        {"OOMD_SWAP", "", "memory_pressure", "oomctl shows"},
        {"", "Out of memory: Killed process 4711 (python)", "node_memory", "On node gpu-07: "},
        {"", "Killed process 4711 (python)", "container_limit", "raise the memory limit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, NULL);
        struct tc_event ev = oom_line(10, 4711);
        ev.oom.constraint = tc_slice_cstr(cases[i].constraint);
        ev.oom.message = tc_slice_cstr(cases[i].message);
        feed(h, ev);
        assert_int_equal(findings_at(h, 13), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(cases[i].discriminator)));
        assert_true(tc_slice_contains(f->remediation, tc_slice_cstr(cases[i].says)));
        tc_harness_destroy(h);
    }
}

static void kills_of_cgroups_are_told_apart_without_a_pid(void **state)
{
    struct tc_harness *h = *state;
    static const char *const pods[] = {"aaaaaaaa-1111-2222-3333-444444444444",
                                       "bbbbbbbb-1111-2222-3333-444444444444"};
    for (int64_t at = 0; at < 4; at++) { /* each told by two collectors */
        struct tc_event ev = oom_line(10 + at / 2, 1);
        ev.scope.pid = -1;
        ev.scope.pod_uid = tc_slice_cstr(pods[at / 2]);
        ev.oom.constraint = TC_LIT("OOMD_PRESSURE");
        ev.oom.process = TC_EMPTY;
        feed(h, ev);
    }
    assert_int_equal(findings_at(h, 60), 2);
    for (int i = 0; i < 2; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        tc_harness_conforms(f);
        assert_true(tc_slice_starts(f->headline, TC_LIT("systemd-oomd killed all processes of a "
                                                        "cgroup of the pod with uid ")));
        assert_int_equal(tc_harness_int(f, KEY("kills")), 1);
        assert_text(tc_harness_text(f, KEY("constraint")), "OOMD_PRESSURE");
    }
}

static void the_second_line_does_not_change_whose_limit_it_was(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = oom_line(10, 4711);
    ev.oom.message = TC_LIT(NODE_LIMIT);
    feed(h, ev);
    feed(h, killed_line(10, 4711));
    assert_int_equal(findings_at(h, 14), 1);
    assert_text(tc_harness_finding(h, 0)->discriminator, "node_memory");
}

static void a_kill_in_no_pod_is_nobodys(void **state)
{
    struct tc_harness *h = *state;
    static const char *const cgroups[] = {"/system.slice/postgresql.service", "/user.slice/x.scope",
                                          "/docker/ec9ee266"};
    for (size_t i = 0; i < 3; i++) {
        struct tc_event ev = oom_line(10, 100 + (int64_t)i);
        ev.scope.pod_uid = TC_EMPTY;
        ev.oom.cgroup = tc_slice_cstr(cgroups[i]);
        ev.oom.message = TC_EMPTY;
        feed(h, ev);
        feed(h, killed_line(10, 100 + (int64_t)i));
    }
    assert_int_equal(findings_at(h, 14), 0);
    feed(h, oom_killed(11)); /* a pod of the node, but not of this cgroup */
    assert_int_equal(findings_at(h, 16), 0);
}

static void a_pod_that_was_oomkilled_alone_is_silent(void **state)
{
    struct tc_harness *h = *state;
    feed(h, oom_killed(10));
    assert_int_equal(findings_at(h, 1002), 0);
}

static void a_kill_without_cgroup_is_partial_with_an_oomkilled_pod_on_the_node(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, NULL);
        feed(h, i == 0 ? killed_line(10, 4711) : oom_killed(11));
        feed(h, i == 0 ? oom_killed(11) : killed_line(12, 4711));
        assert_int_equal(findings_at(h, 16), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
        assert_text(tc_harness_text(f, KEY("tied_by")), "node");
        assert_says(f->headline, ", it seems of pod train/worker-3, on node gpu-07: ");
        assert_int_equal(f->evidence_count, 2);
        tc_harness_destroy(h);
    }
}

static void partial_needs_the_node_the_window_and_a_likely_process(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, NULL);
        struct tc_event kill = killed_line(10, 4711);
        struct tc_event end = oom_killed(11);
        bool fires = i == 1 || i == 5;
        if (i == 0) {
            end.scope.node = TC_LIT("gpu-08");
        } else if (i == 1) {
            end.time_ns = kill.time_ns + WINDOW * TC_SECOND;
        } else if (i == 2) {
            end.time_ns = kill.time_ns + WINDOW * TC_SECOND + 1;
        } else if (i == 3) {
            end.time_ns = kill.time_ns - WINDOW * TC_SECOND - 1;
        } else { /* the node ran out: many may have been killed for it */
            kill.oom.constraint = TC_EMPTY;
            kill.oom.message = TC_LIT("Out of memory: Killed process 4711");
            kill.oom.process = i == 4 ? TC_LIT("postgres") : TC_LIT("pt_data_worker");
        }
        feed(h, i == 3 ? end : kill);
        feed(h, i == 3 ? kill : end);
        assert_int_equal(findings_at(h, 202), fires ? 1 : 0);
        tc_harness_destroy(h);
    }
}

static void the_nearest_kill_is_put_down_to_the_pod(void **state)
{
    struct tc_harness *h = *state;
    feed(h, killed_line(5, 99));
    feed(h, killed_line(10, 4711));
    feed(h, killed_line(10, 4712));
    feed(h, killed_line(30, 98));
    struct tc_event end = oom_killed(11);
    feed(h, end); /* late */
    assert_int_equal(findings_at(h, 42), 1);
    assert_int_equal(tc_harness_finding(h, 0)->scope.pid, 4711);
}

static void a_cgroup_that_comes_later_makes_it_full(void **state)
{
    struct tc_harness *h = *state;
    feed(h, killed_line(10, 4711));
    feed(h, oom_killed(11));
    assert_int_equal(findings_at(h, 16), 1);
    feed(h, oom_line(10, 4711));
    assert_int_equal(findings_at(h, 18), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(tc_harness_int(f, KEY("kills")), 1);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
}

static void a_process_that_somebody_placed_is_tied_by_its_pid(void **state)
{
    struct tc_harness *h = *state;
    feed(h, place(0, 4711, 3));
    struct tc_event kill = oom_line(5000, 4711);
    kill.scope.pod_uid = TC_EMPTY;
    kill.oom.cgroup = TC_LIT("/system.slice/slurmstepd.scope/job_7");
    kill.oom.container_id = TC_EMPTY;
    feed(h, kill);
    assert_int_equal(findings_at(h, 5003), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(tc_harness_text(f, KEY("tied_by")), "pid");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(f->scope.rank, 3);
    assert_text(f->scope.job, "llm-7");
    assert_int_equal(f->scope.pod_uid.len, 0);
    assert_says(f->headline, "of rank 3 on node gpu-07");
    /* Another pid, or the same on another node, is another process. */
    kill.scope.pid = 4712;
    feed(h, kill);
    kill.scope.pid = 4711;
    kill.scope.node = TC_LIT("gpu-08");
    feed(h, kill);
    assert_int_equal(findings_at(h, 5005), 1);
    /* With a pod it is the pod's. */
    struct tc_event in_pod = place(5004, 5000, 4);
    in_pod.scope.ns = TC_LIT("train");
    in_pod.scope.pod = TC_LIT("worker-4");
    feed(h, in_pod);
    feed(h, in_pod);
    feed(h, killed_line(5005, 5000));
    assert_int_equal(findings_at(h, 5009), 2);
    assert_text(tc_harness_finding(h, 1)->scope.pod, "worker-4");
    assert_int_equal(tc_harness_finding(h, 1)->scope.rank, 4);
}

static void a_line_that_names_the_pod_is_taken_at_its_word(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event kill = killed_line(10, 4711);
    kill.scope.ns = TC_LIT("train");
    kill.scope.pod = TC_LIT("worker-3");
    feed(h, kill);
    assert_int_equal(findings_at(h, 14), 1);
    assert_text(tc_harness_finding(h, 0)->key, "train/worker-3@2026-01-01T00:00:10.000001Z");
}

static void many_processes_of_a_pod_are_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    static const char *const names[] = {"python", "pt_data_worker", "python", "a", "z", "b"};
    for (int64_t i = 0; i < 6; i++) {
        struct tc_event kill = oom_line(10 + 50 * i, 4711 + i);
        kill.oom.process = tc_slice_cstr(names[i]);
        feed(h, kill);
    }
    tc_harness_finish(h, TC_TIME_NONE);
    for (long i = 1; i < (long)tc_harness_count(h); i++) {
        assert_true(tc_slice_eq(tc_harness_finding(h, i)->key, tc_harness_finding(h, 0)->key));
    }
    const struct tc_finding *f = tc_harness_finding(h, -1);
    tc_harness_conforms(f);
    assert_int_equal(tc_harness_int(f, KEY("kills")), 6);
    assert_says(f->headline,
                "The kernel killed 6 processes (a, b, pt_data_worker, python) of the pod");
    assert_int_equal(f->scope.pid, -1);
    assert_int_equal(f->evidence_count, 2);         /* the first and the last */
    feed(h, oom_line(10 + 250 + WINDOW + 1, 9999)); /* another burst */
    tc_harness_finish(h, TC_TIME_NONE);
    assert_false(tc_slice_eq(tc_harness_finding(h, -1)->key, f->key));
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("kills")), 1);
}

static void the_edge_of_the_window_belongs_to_the_burst(void **state)
{
    struct tc_harness *h = *state;
    feed(h, oom_line(10, 1));
    feed(h, oom_line(10 + WINDOW, 2));
    struct tc_event over = oom_line(10 + 2 * WINDOW, 3);
    over.time_ns += 1;
    feed(h, over);
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("kills")), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -2), KEY("kills")), 2);
}

static void the_window_is_a_knob(void **state)
{
    (void)state;
    struct tc_harness_options options = {.param = "window", .value = 5 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, &options);
    feed(h, killed_line(10, 4711));
    feed(h, oom_killed(16));
    assert_int_equal(findings_at(h, 22), 0);
    feed(h, killed_line(30, 4711));
    feed(h, oom_killed(35));
    assert_int_equal(findings_at(h, 42), 1);
    tc_harness_destroy(h);
    struct tc_error err = {0};
    int64_t value = 0;
    assert_int_not_equal(tc_param_parse(&tc_detector_host_oom.params[0], "host_oom.window",
                                        TC_LIT("0.5s"), &value, &err),
                         TC_OK);
    assert_non_null(strstr(err.message, "host_oom.window"));
}

static void told_by_three_it_is_one_kill(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 2; i++) { /* and by two collectors */
        feed(h, oom_line(10, 4711));
        feed(h, killed_line(10, 4711));
        feed(h, node_event(10, "OOMKilling",
                           "Memory cgroup out of memory: Killed process 4711 (python) total-vm:9kB,"
                           " anon-rss:97517568kB, file-rss:0kB"));
        feed(h, oom_killed(11));
    }
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("kills")), 1);
    assert_int_equal(tc_harness_finding(h, 0)->evidence_count, 3);
}

static struct tc_event slurm_line(int64_t seconds, const char *node, const char *job)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_OOM_KILL);
    ev.time_ns = AT(seconds);
    ev.scope.node = tc_slice_cstr(node);
    ev.scope.job = tc_slice_cstr(job);
    ev.oom.constraint = TC_LIT("SLURM_STEP");
    ev.oom.message = TC_LIT("slurmstepd: error: Detected 1 oom_kill event in StepId=47.0.");
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)seconds * 100, .length = 60};
    return ev;
}

static void a_batch_job_that_hit_its_limit_stands_for_a_pod(void **state)
{
    struct tc_harness *h = *state;
    feed(h, slurm_line(10, "gpu-07", "47"));
    feed(h, slurm_line(10, "gpu-07", "47")); /* slurmstepd and srun */
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "container_limit");
    assert_text(f->headline,
                "The kernel killed a process of job 47 on node gpu-07: it hit its memory limit");
    assert_says(f->remediation, "For job 47: raise the memory limit (--mem");
    assert_text(f->scope.node, "gpu-07");
    assert_text(f->scope.job, "47");
    assert_text(f->scope.pod_uid, "");
    assert_int_equal(tc_harness_int(f, KEY("kills")), 1);
}

static void batch_jobs_are_told_apart_and_need_a_name(void **state)
{
    struct tc_harness *h = *state;
    feed(h, slurm_line(10, "gpu-07", "47"));
    feed(h, slurm_line(10, "gpu-07", "48"));
    feed(h, slurm_line(10, "gpu-08", "48"));
    feed(h, slurm_line(10, "", "49"));
    feed(h, slurm_line(10, "", ""));
    /* A pod of the node that was OOMKilled then is another matter. */
    feed(h, oom_killed(11));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 4);
}

/* sacct knows neither the node nor, often, the time; srun's line in the log of the job does. */
static void a_batch_job_is_told_once_whoever_knows_its_node(void **state)
{
    (void)state;
    static const struct {
        int64_t first;
        const char *first_node;
        int64_t second;
        const char *second_node;
        size_t incidents;
    } cases[] = {
        {-1, "", 10, "gpu-07", 1}, /* undated */
        {10, "", 10, "gpu-07", 1},       {10, "gpu-07", 10, "", 1}, {10, "gpu-07", 70, "", 1},
        {10, "gpu-07", 71, "", 2},       {10, "", 70, "gpu-07", 1}, {10, "", 71, "gpu-07", 2},
        {10, "gpu-07", 10, "gpu-08", 2},
    };
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, NULL);
        struct tc_event first = slurm_line(cases[i].first, cases[i].first_node, "47");
        struct tc_event second = slurm_line(cases[i].second, cases[i].second_node, "47");
        first.time_ns = cases[i].first < 0 ? TC_TIME_UNDATED_MIN + 5 : first.time_ns;
        first.scope.rank = first.scope.node.len > 0 ? 3 : -1;
        second.scope.rank = second.scope.node.len > 0 ? 3 : -1;
        feed(h, first);
        feed(h, second);
        feed(h, second);
        tc_harness_finish(h, TC_TIME_NONE);
        long count = (long)tc_harness_count(h);
        const struct tc_finding *last = tc_harness_finding(h, count - 1);
        size_t incidents = 1;
        for (long k = 1; k < count; k++) {
            incidents +=
                !tc_slice_eq(tc_harness_finding(h, k)->key, tc_harness_finding(h, k - 1)->key);
        }
        assert_int_equal(incidents, cases[i].incidents);
        if (incidents == 1) {
            assert_text(last->scope.node, "gpu-07");
            assert_int_equal(last->scope.rank, 3);
            assert_int_equal(tc_harness_int(last, KEY("kills")), 1);
            assert_true(tc_time_is_date(last->first_ns));
        }
        tc_harness_destroy(h);
    }
}

static void node_events_stand_for_the_kernels_line(void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        const char *message;
        const char *discriminator;
        int64_t pid;
    } cases[] = {
        {"OOMKilling",
         "Memory cgroup out of memory: Killed process 35048 (python) total-vm:7kB, anon-rss:5kB",
         "container_limit", 35048},
        {"SystemOOM", "System OOM encountered, victim process: python, pid: 77", "node_memory", 77},
        {"SystemOOM", "System OOM encountered", "node_memory", -1},
    };
    for (size_t i = 0; i < 3; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, NULL);
        feed(h, node_event(10, cases[i].reason, cases[i].message));
        assert_int_equal(findings_at(h, 14), 0);
        feed(h, oom_killed(12));
        assert_int_equal(findings_at(h, 16), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
        assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(cases[i].discriminator)));
        assert_text(f->evidence[0].kind, "k8s_event");
        assert_text(f->evidence[0].uid, "event-1");
        assert_int_equal(f->scope.pid, cases[i].pid);
        tc_harness_destroy(h);
    }
}

static void an_event_about_the_pod_is_the_word_of_its_kubelet(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = node_event(12, "OOMKilling", "");
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.ns = TC_LIT("train");
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.object_name = TC_LIT("worker-3");
    feed(h, killed_line(10, 4711));
    feed(h, ev);
    assert_int_equal(findings_at(h, 16), 1);
    assert_text(tc_harness_finding(h, 0)->evidence[1].kind, "k8s_event");
    feed(h, node_event(20, "Rebooted", ""));
    assert_int_equal(findings_at(h, 24), 1);
}

static void an_old_state_told_again_is_not_of_this_burst(void **state)
{
    struct tc_harness *h = *state;
    feed(h, oom_killed(10)); /* the run before */
    feed(h, oom_line(1000, 4711));
    feed(h, oom_killed(10));
    assert_int_equal(findings_at(h, 1004), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_int_equal(f->evidence_count, 1);
    assert_text(f->scope.pod, "worker-3"); /* but its name is known */
    feed(h, oom_killed(1002));
    feed(h, killed_line(2000, 4800)); /* the next, without a cgroup */
    feed(h, oom_killed(2001));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_PARTIAL);
    assert_false(tc_slice_eq(tc_harness_finding(h, -1)->key, f->key));
}

static void a_late_kill_of_long_ago_is_counted(void **state)
{
    struct tc_harness *h = *state;
    feed(h, oom_line(1000, 4711));
    feed(h, oom_line(1000 - WINDOW - 1, 4712));
    assert_int_equal(findings_at(h, 1004), 1);
    assert_int_equal(tc_harness_stats(h).late, 1);
    feed(h, oom_line(1000 - WINDOW, 4713));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("kills")), 2);
}

static void the_pid_may_be_used_again(void **state)
{
    struct tc_harness *h = *state;
    feed(h, oom_line(10, 4711));
    struct tc_event other = oom_line(10 + WINDOW + 1, 4711);
    other.scope.pod_uid = TC_LIT("bbbbbbbb-1111-2222-3333-444444444444");
    feed(h, other);
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(tc_harness_finding(h, 1)->scope.pod_uid, "bbbbbbbb-1111-2222-3333-444444444444");
}

static void events_that_lack_what_is_needed_are_counted(void **state)
{
    struct tc_harness *h = *state;
    static char huge[70000];
    memset(huge, 'x', sizeof huge);
    struct tc_event ev = oom_line(10, 4711);
    ev.time_ns = TC_TIME_NONE;
    feed(h, ev);
    ev = killed_line(10, 4711);
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    ev = oom_killed(10);
    ev.scope.pod = TC_EMPTY;
    feed(h, ev);
    ev = oom_line(10, 4711);
    ev.scope.node = tc_slice_make(huge, 300);
    feed(h, ev);
    ev = oom_line(10, 4711);
    ev.oom.container_id = tc_slice_make(huge, 300);
    feed(h, ev);
    ev = oom_line(10, 4711);
    ev.scope.job = tc_slice_make(huge, 300);
    feed(h, ev);
    assert_int_equal(tc_harness_stats(h).ignored, 6);
    ev = oom_line(10, INT64_MAX);
    ev.scope.node = TC_EMPTY; /* the pod is enough */
    ev.oom.process = ev.oom.message = ev.uid = tc_slice_make(huge, sizeof huge);
    ev.oom.constraint = ev.uid;
    ev.oom.anon_rss_kb = INT64_MAX;
    feed(h, ev);
    feed(h, node_event(11, "OOMKilling", "Killed process 99999999999999999999 ("));
    ev = node_event(11, "SystemOOM", "");
    ev.k8s.message = tc_slice_make(huge, sizeof huge);
    feed(h, ev);
    assert_int_equal(findings_at(h, 15), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_in_range(f->headline.len, 1, 400);
    assert_says(f->headline, "on a node that is not named: ");
}

static void times_from_1970_to_2200_are_fine(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = oom_line(0, 1);
    ev.time_ns = 0;
    feed(h, ev);
    ev.time_ns = TC_TIME_MAX;
    feed(h, ev);
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 2);
}

static void a_storm_is_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 10000; i++) {
        struct tc_event ev = oom_line(10, 1000 + i);
        ev.time_ns += i * 6 * TC_SECOND / 1000;
        feed(h, ev);
    }
    tc_harness_finish(h, TC_TIME_NONE);
    assert_in_range(tc_harness_count(h), 2, 16);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("kills")), 10000);
    assert_true(tc_harness_stats(h).dropped > 0); /* single kills; the pod knows their number */
}

static void a_flood_of_pods_is_bounded_and_counted(void **state)
{
    struct tc_harness *h = *state;
    char uid[24];
    for (int64_t i = 0; i < 8000; i++) {
        struct tc_event ev = oom_line(10, 1000 + i);
        (void)snprintf(uid, sizeof uid, "pod-%d", (int)i);
        ev.scope.pod_uid = tc_slice_cstr(uid);
        feed(h, ev);
    }
    size_t count = findings_at(h, 14);
    assert_int_equal(count, 8000);
    assert_true(tc_harness_stats(h).dropped > 0);
    feed(h, oom_line(13, 7));
    assert_int_equal(findings_at(h, 17), count + 1);
    assert_true(tc_harness_finding(h, -1)->incomplete);
}

/* The same events at the same time in every order: the same findings. */
static void the_order_of_equal_times_does_not_matter(void **state)
{
    (void)state;
    struct tc_event events[5] = {
        oom_line(10, 4711),
        killed_line(10, 4711),
        oom_killed(10),
        oom_line(10, 4712),
        node_event(10, "OOMKilling",
                   "Memory cgroup out of memory: Killed process 4711 (python) total-vm:9kB, "
                   "anon-rss:97517568kB"),
    };
    events[1].time_ns = AT(10);
    events[3].oom.process = TC_LIT("pt_data_worker");
    char first[8192];
    size_t first_len = 0;
    for (unsigned order = 0; order < 120; order++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, NULL);
        unsigned left[5] = {0, 1, 2, 3, 4};
        unsigned code = order;
        for (unsigned i = 5; i > 0; i--) {
            unsigned pick = code % i;
            code /= i;
            tc_harness_feed(h, &events[left[pick]]);
            memmove(left + pick, left + pick + 1, (4 - pick) * sizeof left[0]);
        }
        assert_int_equal(findings_at(h, 14), 1);
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

static void memory_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_harness_options small_window = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, &small_window);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);

    /* Every size of scratch either works or says that it does not. */
    bool worked = false;
    for (size_t bytes = 64; bytes < 32768; bytes += 128) {
        struct tc_harness_options options = {.scratch_bytes = bytes};
        h = tc_harness_create(&tc_detector_host_oom, &options);
        struct tc_event events[] = {place(0, 1, 1),     oom_line(10, 4711), killed_line(10, 4711),
                                    killed_line(11, 1), oom_killed(20),     oom_line(100, 8),
                                    oom_killed(110),    oom_killed(200)};
        tc_status status = TC_OK;
        for (size_t i = 0; i < sizeof events / sizeof events[0] && status == TC_OK; i++) {
            status = tc_harness_try_feed(h, &events[i]);
        }
        assert_true(status == TC_OK || status == TC_E_NOMEM);
        assert_false(worked && status != TC_OK);
        worked = status == TC_OK;
        assert_true(!worked || tc_harness_count(h) >= 3);
        tc_harness_destroy(h);
    }
    assert_true(worked);
}

static void a_sink_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options options = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, &options);
    feed(h, oom_line(10, 4711));
    struct tc_event ev = oom_line(12, 4712);
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_E_IO);
    tc_harness_destroy(h);
}

/* Two facts of one time, in both orders. */
static void expect_container(struct tc_event a, struct tc_event b, const char *id, const char *name)
{
    for (unsigned first = 0; first < 2; first++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_host_oom, NULL);
        feed(h, first == 0 ? a : b);
        feed(h, first == 0 ? b : a);
        feed(h, oom_line(0, 4711));
        assert_int_equal(findings_at(h, 10), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        assert_true(tc_slice_eq(tc_harness_text(f, KEY("container_id")), tc_slice_cstr(id)));
        assert_true(tc_slice_eq(f->scope.container, tc_slice_cstr(name)));
        tc_harness_destroy(h);
    }
}

static void of_containers_killed_at_one_time_the_first_by_name_is_told(void **state)
{
    (void)state;
    struct tc_event a = oom_line(0, 4711);
    struct tc_event b = oom_line(0, 4712);
    a.oom.container_id = TC_LIT("ffff");
    b.oom.container_id = TC_LIT("0000");
    expect_container(a, b, "0000", "");
    a = oom_killed(0);
    b = oom_killed(0);
    b.scope.container = TC_LIT("sidecar");
    expect_container(a, b, "ec9ee266", "sidecar");
    b.scope.container = TC_EMPTY;
    expect_container(a, b, "ec9ee266", "trainer");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_kill_and_the_state_of_its_pod_are_one_verdict),
        CASE(the_cgroup_alone_ties_the_kill),
        CASE(a_name_that_was_told_before_is_known),
        CASE(what_ran_out_is_told_apart),
        CASE(kills_of_cgroups_are_told_apart_without_a_pid),
        CASE(the_second_line_does_not_change_whose_limit_it_was),
        CASE(a_kill_in_no_pod_is_nobodys),
        CASE(a_pod_that_was_oomkilled_alone_is_silent),
        CASE(a_kill_without_cgroup_is_partial_with_an_oomkilled_pod_on_the_node),
        CASE(partial_needs_the_node_the_window_and_a_likely_process),
        CASE(the_nearest_kill_is_put_down_to_the_pod),
        CASE(a_cgroup_that_comes_later_makes_it_full),
        CASE(a_process_that_somebody_placed_is_tied_by_its_pid),
        CASE(a_line_that_names_the_pod_is_taken_at_its_word),
        CASE(many_processes_of_a_pod_are_one_verdict),
        CASE(the_edge_of_the_window_belongs_to_the_burst),
        CASE(the_window_is_a_knob),
        CASE(told_by_three_it_is_one_kill),
        CASE(a_batch_job_that_hit_its_limit_stands_for_a_pod),
        CASE(batch_jobs_are_told_apart_and_need_a_name),
        CASE(a_batch_job_is_told_once_whoever_knows_its_node),
        CASE(node_events_stand_for_the_kernels_line),
        CASE(an_event_about_the_pod_is_the_word_of_its_kubelet),
        CASE(an_old_state_told_again_is_not_of_this_burst),
        CASE(a_late_kill_of_long_ago_is_counted),
        CASE(the_pid_may_be_used_again),
        CASE(events_that_lack_what_is_needed_are_counted),
        CASE(times_from_1970_to_2200_are_fine),
        CASE(a_storm_is_one_verdict),
        CASE(a_flood_of_pods_is_bounded_and_counted),
        CASE(of_containers_killed_at_one_time_the_first_by_name_is_told),
        CASE(the_order_of_equal_times_does_not_matter),
        CASE(memory_that_is_too_small_is_reported),
        CASE(a_sink_that_fails_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
