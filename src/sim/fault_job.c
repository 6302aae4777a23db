/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that stop or slow a whole job. */
#include "sim/kernel_priv.h"
#include "sim/spec_priv.h"
#include "sim/train_priv.h"

static uint32_t rank_of(const struct tc_sim *s, const struct sim_ask *ask)
{
    const struct sim_job *j = tc__sim_job(s, ask->job);
    return (ask->node - j->first_node) * s->options.gpus_per_node + ask->gpu;
}

static struct sim_pod pod_of(const struct tc_sim *s, const struct sim_ask *ask)
{
    return tc__sim_job_pod(s, ask->job, ask->node - tc__sim_job(s, ask->job)->first_node);
}

static void blame_pod(struct sim_truth *t, const struct sim_ask *ask)
{
    t->pod_job = ask->job;
    t->pod_node = ask->node;
    t->affected_job = ask->job;
}

static void blame_gpu(struct sim_truth *t, const struct sim_ask *ask)
{
    t->node = ask->node;
    t->gpu = ask->gpu;
}

static void stop_job(struct sim_job *j, enum sim_stop stop, int64_t at_ns, int64_t resume_ns)
{
    j->stop = stop;
    j->stop_ns = at_ns;
    j->resume_ns = resume_ns;
}

/* The step that a job is in at a time. */
static uint32_t step_at(const struct tc_sim *s, const struct sim_job *j, int64_t at_ns)
{
    struct sim_clock c = tc__sim_clock(s, j);
    struct sim_beat beat = {SIM_BEAT_STEP, j->first_step, 0, 0};
    while (tc__sim_clock_next(&c, &beat) && beat.end_ns <= at_ns) {
    }
    return beat.step;
}

/* The time, or the next at which the job is well inside of a step: not in a pause, nor at its edge.
 */
static int64_t within_step(const struct tc_sim *s, const struct sim_job *j, int64_t at_ns)
{
    struct sim_clock c = tc__sim_clock(s, j);
    struct sim_beat beat;
    int64_t edge = j->step_ns / 6;
    while (tc__sim_clock_next(&c, &beat)) {
        if (beat.kind == SIM_BEAT_STEP && beat.end_ns - edge > at_ns) {
            return at_ns > beat.start_ns + edge ? at_ns : beat.start_ns + edge;
        }
    }
    return at_ns;
}

/* ---- nccl_hang ----------------------------------------------------------------------------- */

/* The rank stops for ever; the others wait, dump and abort when the watchdog's time is up. */
static struct sim_truth *hang(struct tc_sim *s, const struct sim_ask *ask, enum sim_hang how,
                              int64_t at_ns, int64_t watchdog_ns)
{
    static const struct {
        const char *discriminator;
        const char *what;
    } HOW[] = {
        [SIM_HANG_HOST] = {"missing_rank", "a rank's process stands still; its peers wait"},
        [SIM_HANG_DEVICE] = {"lagging_rank", "a rank's device stands still inside a collective"},
        [SIM_HANG_GONE] = {"missing_rank", "a rank is gone, with its dump"},
        [SIM_HANG_MISMATCH] = {"size_mismatch", "a rank calls a collective with another size"},
    };
    struct sim_job *j = tc__sim_job(s, ask->job);
    stop_job(j, SIM_STOP_HANG, at_ns, TC_TIME_MAX);
    j->watchdog_ns = watchdog_ns;
    j->culprit = rank_of(s, ask);
    j->hang = how;
    j->fate = SIM_FATE_ALL;
    j->end_ns = at_ns + watchdog_ns + sim_between(ask->luck, 15, 45) * TC_SECOND;
    struct sim_truth *t = tc__sim_truth(s, false, "nccl_hang", HOW[how].discriminator, at_ns,
                                        j->end_ns, HOW[how].what);
    t->job = ask->job;
    t->rank = j->culprit;
    t->affected_job = ask->job;
    return t;
}

void tc__sim_fault_nccl_hang(struct tc_sim *s, const struct sim_ask *ask)
{
    enum sim_hang how = (enum sim_hang)ask->variant;
    int64_t at = within_step(s, tc__sim_job(s, ask->job), ask->at_ns);
    (void)hang(s, ask, how, at, SIM_WATCHDOG);
}

/* ---- xid_correlation ----------------------------------------------------------------------- */

void tc__sim_fault_xid_correlation(struct tc_sim *s, const struct sim_ask *ask)
{
    struct sim_job *j = tc__sim_job(s, ask->job);
    int64_t fails = ask->at_ns + sim_between(ask->luck, 4, 60) * TC_SECOND;
    if (ask->variant == 0) {
        tc__sim_xid(s, ask->node, ask->gpu, ask->at_ns, 79, "GPU has fallen off the bus.");
        tc__sim_set(s, ask->node, ask->gpu, ask->at_ns, SIM_LOST, 1);
    } else {
        tc__sim_xid(s, ask->node, ask->gpu, ask->at_ns, 119,
                    "Timeout after 6s of waiting for RPC response from GPU GSP! Expected function "
                    "76 (GSP_RM_CONTROL) (0x2080a0d1 0x4).");
    }
    struct sim_pod pod = pod_of(s, ask);
    tc__sim_rank_says(s, &pod, rank_of(s, ask), fails - 2 * TC_SECOND,
                      "torch.AcceleratorError: CUDA error: unspecified launch failure");
    stop_job(j, SIM_STOP_ENDS, ask->at_ns, TC_TIME_MAX);
    j->end_ns = fails;
    j->fate = SIM_FATE_ONE;
    j->fate_node = pod.k;
    struct sim_truth *t = tc__sim_truth(
        s, false, "gpu_fault", ask->variant == 0 ? "off_the_bus" : "firmware", ask->at_ns,
        ask->at_ns, ask->variant == 0 ? "a GPU falls off the bus" : "a GPU's firmware hangs");
    blame_gpu(t, ask);
    uint32_t root = t->number;
    t = tc__sim_truth(s, false, "xid_correlation", "hardware_xid", ask->at_ns, fails,
                      "a hardware Xid; the pod that used the GPU fails");
    blame_pod(t, ask);
    blame_gpu(t, ask);
    t->causes[0] = root;
}

/* ---- straggler ----------------------------------------------------------------------------- */

/* A GPU that heat slows down, for a while. */
static struct sim_truth *heat_up(struct tc_sim *s, const struct sim_ask *ask, int64_t until_ns,
                                 int64_t clock_percent)
{
    tc__sim_slow(s, ask->node, ask->gpu, ask->at_ns, until_ns, 0x20, 24, clock_percent);
    struct sim_truth *t = tc__sim_truth(s, false, "thermal_throttle", "sw_thermal", ask->at_ns,
                                        until_ns, "a GPU is slowed down by heat");
    blame_gpu(t, ask);
    return t;
}

void tc__sim_fault_straggler(struct tc_sim *s, const struct sim_ask *ask)
{
    static const char *const KINDS[] = {"slow_host", "slow_gpu", "slow_link"};
    struct sim_job *j = tc__sim_job(s, ask->job);
    bool link = ask->variant == 2;
    uint32_t cause = SIM_NONE;
    j->slow_from = ask->at_ns;
    j->slow_until = ask->at_ns + sim_between(ask->luck, 15 * 60, 21 * 60) * TC_SECOND;
    j->slow_percent = (uint32_t)sim_between(tc_random_mix(ask->luck), 30, 80);
    j->slow_first = rank_of(s, ask);
    j->slow_count = 1;
    if (link) {
        /* Both ends in neighbouring stages of one pipeline. */
        uint32_t stage = j->ranks / j->pipe;
        j->slow_peer =
            j->slow_first + stage < j->ranks ? j->slow_first + stage : j->slow_first - stage;
        j->live_dump = true;
        j->stop = SIM_STOP_HANG;
        j->stop_ns = j->slow_until - SIM_MINUTE;
        j->slow_percent *= 10;
    } else if (ask->variant == 1) {
        cause = heat_up(s, ask, j->slow_until, 100 * 100 / (100 + j->slow_percent))->number;
    }
    struct sim_truth *t = tc__sim_truth(s, false, "straggler", KINDS[ask->variant], ask->at_ns,
                                        j->slow_until, "a rank is slower than its peers");
    t->causes[0] = cause;
    t->job = ask->job;
    t->rank = j->slow_first;
    t->affected_job = ask->job;
    if (link) {
        t->what = "the link between two ranks of a pipeline is slow";
        t->rank = j->slow_first < j->slow_peer ? j->slow_first : j->slow_peer;
        t->other_rank = j->slow_first + j->slow_peer - t->rank;
    }
}

/* ---- dataloader_hang ----------------------------------------------------------------------- */

/* Steps stop from `from` to `until`; every pod's watchdog says so, once a minute. */
static void stall(struct tc_sim *s, const struct sim_ask *ask, int64_t from, int64_t until)
{
    struct sim_job *j = tc__sim_job(s, ask->job);
    stop_job(j, SIM_STOP_LOADER, from, until);
    uint32_t step = step_at(s, j, from);
    for (uint32_t k = 0; k < j->nodes; k++) {
        struct sim_pod pod = tc__sim_job_pod(s, ask->job, k);
        for (int64_t at = from + 2 * SIM_MINUTE; at < until; at += SIM_MINUTE) {
            tc__sim_rank_stalls(s, &pod, k * s->options.gpus_per_node, at + k * 37 * SIM_MS, step,
                                from);
        }
    }
}

static struct sim_truth *kill_worker(struct tc_sim *s, const struct sim_ask *ask, int64_t at_ns,
                                     int64_t until_ns)
{
    struct sim_pod pod = pod_of(s, ask);
    tc__sim_rank_says(s, &pod, rank_of(s, ask), at_ns,
                      "RuntimeError: DataLoader worker (pid {}) is killed by signal: Killed. ",
                      1000 + sim_below(ask->luck, 9000));
    stall(s, ask, at_ns, until_ns);
    struct sim_truth *t = tc__sim_truth(s, false, "dataloader_hang", "worker_killed", at_ns,
                                        until_ns, "a loader's worker was killed; steps stop");
    blame_pod(t, ask);
    return t;
}

void tc__sim_fault_dataloader_hang(struct tc_sim *s, const struct sim_ask *ask)
{
    int64_t until = ask->at_ns + sim_between(ask->luck, 5 * 60, 9 * 60) * TC_SECOND;
    if (ask->variant == 0) {
        (void)kill_worker(s, ask, ask->at_ns, until);
        return;
    }
    struct sim_pod pod = pod_of(s, ask);
    stall(s, ask, ask->at_ns, until);
    for (int64_t at = ask->at_ns + 20 * TC_SECOND; at < until; at += 2 * SIM_MINUTE) {
        tc__sim_pod_event(s, &pod, at, true, "kubelet", "FailedMount",
                          TC_LIT("MountVolume.SetUp failed for volume \"dataset\" : rpc error: "
                                 "code = DeadlineExceeded desc = context deadline exceeded"));
    }
    struct sim_truth *t =
        tc__sim_truth(s, false, "dataloader_hang", "storage_event", ask->at_ns, until,
                      "the volume of the data cannot be mounted; steps stop");
    blame_pod(t, ask);
}

/* ---- checkpoint_stall ---------------------------------------------------------------------- */

void tc__sim_fault_checkpoint_stall(struct tc_sim *s, const struct sim_ask *ask)
{
    struct sim_job *j = tc__sim_job(s, ask->job);
    stop_job(j, SIM_STOP_CHECKPOINT, ask->at_ns,
             ask->at_ns + sim_between(ask->luck, 14 * 60, 20 * 60) * TC_SECOND);
    struct sim_clock c = tc__sim_clock(s, j);
    struct sim_beat beat = {SIM_BEAT_STEP, 0, ask->at_ns, 0};
    while (tc__sim_clock_next(&c, &beat) &&
           (beat.kind != SIM_BEAT_CHECKPOINT || beat.start_ns < ask->at_ns)) {
    }
    int64_t begin = beat.start_ns;
    for (int64_t at = begin + 9 * TC_SECOND; at < j->resume_ns; at += 3 * SIM_MINUTE) {
        if (ask->variant == 0) {
            tc__sim_nfs(s, ask->node, at, false);
        } else {
            tc__sim_io_error(s, ask->node, at,
                             sim_below(tc_random_mix(ask->luck + (uint64_t)at), 1u << 30));
        }
    }
    if (ask->variant == 0) {
        tc__sim_nfs(s, ask->node, j->resume_ns - TC_SECOND, true);
    }
    struct sim_truth *t = tc__sim_truth(s, false, "checkpoint_stall", NULL, begin, j->resume_ns,
                                        "a checkpoint does not end; a node's storage has trouble");
    t->node = ask->node;
    t->affected_job = ask->job;
}

/* ---- chains -------------------------------------------------------------------------------- */

/* A memory error, its Xid, the hang of that rank, and the node's pod evicted after the dumps. */
static void chain_of_memory(struct tc_sim *s, const struct sim_ask *ask)
{
    int64_t at = within_step(s, tc__sim_job(s, ask->job), ask->at_ns);
    int64_t evicted = at + SIM_WATCHDOG_SHORT + sim_between(ask->luck, 20, 40) * TC_SECOND;
    struct sim_pod pod = pod_of(s, ask);
    tc__sim_raise(s, ask->node, ask->gpu, at, SIM_DBE, 1);
    tc__sim_xid(s, ask->node, ask->gpu, at, 48,
                "An uncorrectable double bit error (DBE) has been detected on GPU in the "
                "framebuffer at partition 3, subpartition 0.");
    struct sim_truth *t = tc__sim_truth(s, false, "hbm_ecc", "uncorrectable", at, at,
                                        "an uncorrectable memory error");
    blame_gpu(t, ask);
    uint32_t root = t->number;
    t = hang(s, ask, SIM_HANG_DEVICE, at + TC_SECOND, SIM_WATCHDOG_SHORT);
    t->causes[0] = root;
    uint32_t hung = t->number;
    tc__sim_job(s, ask->job)->end_ns = evicted;
    struct tc_slice why = TC_LIT("The node had condition: [GPUUnhealthy]. ");
    tc__sim_pod_event(s, &pod, evicted, true, "kubelet", "Evicted", why);
    tc__sim_pod_object(s, &pod, evicted, SIM_POD_EVICTED, 137, "Error", why);
    t = tc__sim_truth(s, false, "xid_correlation", "hardware_xid", at, evicted,
                      "the pod is evicted after the Xid");
    blame_pod(t, ask);
    blame_gpu(t, ask);
    t->causes[0] = root;
    t = tc__sim_truth(s, false, "pod_evicted", NULL, evicted, evicted,
                      "the pod is evicted from the node");
    blame_pod(t, ask);
    t->causes[0] = root;
    t->causes[1] = hung;
}

/* The kernel kills a loader's process; training waits for its data. */
static void chain_of_loader(struct tc_sim *s, const struct sim_ask *ask)
{
    struct sim_pod pod = pod_of(s, ask);
    int64_t until = ask->at_ns + sim_between(ask->luck, 5 * 60, 9 * 60) * TC_SECOND;
    tc__sim_oom(s, &pod, ask->at_ns, false, "pt_data_worker", 61000 + sim_below(ask->luck, 900));
    struct sim_truth *t =
        tc__sim_truth(s, false, "host_oom", NULL, ask->at_ns, ask->at_ns,
                      "the kernel kills a loader's process at the memory limit of its pod");
    blame_pod(t, ask);
    uint32_t root = t->number;
    kill_worker(s, ask, ask->at_ns + 3 * TC_SECOND, until)->causes[0] = root;
}

void tc__sim_fault_chain(struct tc_sim *s, const struct sim_ask *ask)
{
    if (ask->variant == 0) {
        chain_of_memory(s, ask);
    } else {
        chain_of_loader(s, ask);
    }
}
