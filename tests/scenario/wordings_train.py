# SPDX-License-Identifier: Apache-2.0
"""Training: plain logs of five programs, other dumps than the Flight Recorder's usual ones."""

from formats import (
    core_event,
    deepspeed,
    deepspeed_said,
    events_k8s_io,
    exposition,
    kernel,
    nemo,
    pod,
    pod_log,
    quiet,
)
from nccl_hang import dump, entry, ras
from training import megatron_step, titan_line, titan_step
from when import plain


def trains(c, line, start, until, every, first=100):
    """Adds the line of each step; returns the next step."""
    step = first
    at = start
    while at <= until:
        c(at, line(at, step))
        step += 1
        at += every
    return step


def log_of(c, name, node, namespace="research", phase="Running", end=None):
    """Where a pod of the cluster writes; the pod is among kubectl's."""
    c.has("kubectl/pods.json", pod(name, node, namespace, phase=phase, end=end))
    path = pod_log(namespace, name)
    return lambda at, text: c.say(path, at, text)


# ---- dataloader_hang --------------------------------------------------------------------------


def worker_exits_under_titan(c):
    say = log_of(c, "titan-0", "dgx-i01")
    step = trains(say, titan_step, 0, 1200, 4)
    say(1204, "[rank0]: RuntimeError: DataLoader worker (pid(s) 3319) exited unexpectedly\n")
    say(1700, titan_line(1700, "heartbeat"))
    trains(say, titan_step, 1760, 2400, 4, step)
    c.fault("dataloader_hang", 1200, "a loader's process is gone; nothing for nine minutes",
            end=1760, disc="worker_killed", ns="research", pod="titan-0")


def mount_fails_under_nemo(c):
    """The volume of the data, as the newer API tells it, as a series."""
    say = log_of(c, "nemo-1", "dgx-i02")
    step = trains(say, lambda at, s: nemo(at, s, 7.5), 0, 1500, 8)
    trains(say, lambda at, s: nemo(at, s, 7.5), 1980, 2600, 8, step)
    c.has("kubectl/events.json",
          events_k8s_io(1515, "FailedMount", 'MountVolume.SetUp failed for volume "corpus" : '
                                             'mount failed: '
                        "exit status 32", "nemo-1", "dgx-i02", "research", last=1900, count=9))
    c.fault("dataloader_hang", 1500, "the data cannot be mounted; nothing for eight minutes",
            end=1980, disc="storage_event", ns="research", pod="nemo-1")


def loader_times_out_under_deepspeed(c):
    say = log_of(c, "ds-2", "dgx-i03")
    step = trains(say, deepspeed, 0, 900, 6)
    say(1200, "RuntimeError: DataLoader timed out after 300 seconds\n")
    say(1201, deepspeed_said(1201, "waiting for data"))
    trains(say, deepspeed, 1260, 2400, 6, step)
    c.fault("dataloader_hang", 900, "no batch within the loader's own time", end=1260,
            disc="worker_killed", ns="research", pod="ds-2")


def pauses_that_are_none(c):
    """Evaluation; an error that training survives; a mount that fails for a pod that starts."""
    say = log_of(c, "eval-0", "dgx-i04")
    step = trains(say, lambda at, s: megatron_step(at, s, 5000.0), 0, 1000, 5)
    say(1005, f"(min, max) time across ranks (ms):\n[{plain(1005)}] Evaluating on 8192 samples\n")
    say(1010, "RuntimeError: DataLoader worker (pid 55) is killed by signal: Terminated.\n")
    trains(say, lambda at, s: megatron_step(at, s, 5000.0), 1400, 2000, 5, step)
    c.noise("dataloader_hang", 1005, "evaluation for minutes", end=1400, ns="research",
            pod="eval-0")

    say = log_of(c, "brave-0", "dgx-i05")
    step = trains(say, titan_step, 0, 1000, 4)
    say(1001, titan_line(1001, "ERROR: Unexpected segmentation fault encountered in worker."))
    trains(say, titan_step, 1008, 2400, 4, step)
    c.has("kubectl/events.json",
          core_event(1000, "FailedMount", "Unable to attach or mount volumes: unmounted "
                     "volumes=[data], unattached volumes=[data]: timed out waiting for the "
                     "condition", "late-0",
                     "dgx-i05",
                     "research", kind="Pod", type_="Warning"))
    c.noise("dataloader_hang", 1000, "steps go on", end=1010, ns="research", pod="brave-0")

    say = log_of(c, "ready-0", "dgx-i06", phase="Succeeded", end=(1001, 0, "Completed"))
    trains(say, titan_step, 0, 996, 4)
    say(999, "RuntimeError: Pin memory thread exited unexpectedly\n")
    c.noise("dataloader_hang", 999, "the job was done", end=1001, ns="research", pod="ready-0")


# ---- checkpoint_stall -------------------------------------------------------------------------


def megatron_saves_to_xfs(c):
    node = "dgx-j01"
    say = log_of(c, "pre-0", node)
    step = trains(say, lambda at, s: megatron_step(at, s, 9000.0), 0, 900, 9)
    say(905, f"saving checkpoint at iteration {step - 1:7d} to /scratch/ckpt in torch_dist "
        "format\n")
    quiet(c, node, "shortiso")
    for at in (940, 1300, 1600):
        kernel(c, node, "shortiso", at,
               'XFS (nvme3n1): metadata I/O error in "xfs_trans_read_buf_map" at daddr 0x1e3c len '
               '32 error 5')
    c.fault("checkpoint_stall", 900, "the file system of the checkpoint fails", end=2500,
            disc="storage_error", node=node, pods=["research/pre-0"])


def nemo_saves_to_nvme(c):
    node = "dgx-j02"
    say = log_of(c, "mix-0", node)
    trains(say, lambda at, s: nemo(at, s, 9.5), 0, 800, 10)
    say(802, f"[NeMo I {plain(802)} nemo_logging:381] Scheduled async checkpoint save for "
        "/local/ckpt/step=180.ckpt\n")
    quiet(c, node, "dmesgT")
    for at in (830, 861, 1150):
        kernel(c, node, "dmesgT", at,
               "nvme nvme1: I/O tag 611 (a263) opcode 0x1 (I/O Cmd) QID 14 timeout, aborting "
               "req_op:WRITE(1) size:131072")
    c.fault("checkpoint_stall", 802, "the disk does not answer", end=2500, disc="storage_error",
            node=node, pods=["research/mix-0"])


def deepspeed_saves_to_lustre(c):
    node = "dgx-j03"
    say = log_of(c, "ds-9", node)
    trains(say, deepspeed, 0, 1000, 10)
    say(1002, deepspeed_said(1002, "[Torch] Checkpoint global_step200 is about to be saved!"))
    quiet(c, node, "syslog")
    kernel(c, node, "syslog", 1040,
           "LustreError: 11-0: scratch-OST0007-osc-ffff9a3e4c8b1000: operation ost_write to node "
           "10.9.0.17@o2ib failed: rc = -107",
           "Lustre: scratch-OST0007-osc-ffff9a3e4c8b1000: Connection to scratch-OST0007 (at "
           "10.9.0.17@o2ib) was lost; in progress operations using this service will wait for "
           "recovery to complete")
    c.fault("checkpoint_stall", 1002, "a target of Lustre is gone", end=2500, disc="storage_error",
            node=node, pods=["research/ds-9"])


def titan_saves_to_slow_nfs(c):
    """What the kernel's own counters of the mount say."""
    node = "dgx-j04"
    say = log_of(c, "tt-3", node)
    trains(say, titan_step, 0, 1100, 5)
    say(1102, titan_line(1102, "Saving the checkpoint (or staging if async is enabled)."))
    where = 'export="filer:/ckpt",protocol="tcp",mountaddr="10.9.0.3",operation="WRITE"'
    for at in range(0, 2700, 60):
        written = at * 20 if at <= 1102 else 22040 + (at - 1102) // 6
        spent = at * 0.4 if at <= 1102 else 440.8 + (at - 1102) * 0.9
        samples = [
            ("node_mountstats_nfs_operations_requests_total", "counter", where, written),
            ("node_mountstats_nfs_operations_request_time_seconds_total", "counter", where,
             f"{spent:.3f}"),
        ]
        c.say(f"scrapes/node_exporter-{node}.prom", at, exposition(samples, at))
    c.fault("checkpoint_stall", 1102, "a write takes five seconds", end=2700, disc="slow_write",
            node=node, pods=["research/tt-3"])


def long_but_well(c):
    """A long checkpoint on healthy storage, and trouble of storage without a checkpoint."""
    say = log_of(c, "slow-0", "dgx-j05")
    step = trains(say, lambda at, s: megatron_step(at, s, 9000.0), 0, 900, 9)
    say(905, f"saving checkpoint at iteration {step - 1:7d} to /big/ckpt in torch format\n")
    say(1950, f"  successfully saved checkpoint from iteration {step - 1:7d} to /big/ckpt\n")
    trains(say, lambda at, s: megatron_step(at, s, 9000.0), 1960, 2600, 9, step)
    c.noise("checkpoint_stall", 905, "17 minutes, and nothing wrong", end=1950, ns="research",
            pod="slow-0")

    node = "dgx-j06"
    say = log_of(c, "fine-0", node)
    step = trains(say, titan_step, 0, 1000, 5)
    say(1002, titan_line(1002, "Saving the checkpoint (or staging if async is enabled)."))
    say(1190, titan_line(1190, "Finished saving the checkpoint in 188.02 seconds."))
    trains(say, titan_step, 1195, 2600, 5, step)
    quiet(c, node, "dmesgT")
    for at in (1010, 2100):
        kernel(c, node, "dmesgT", at, "XFS (sdb1): log I/O error -5")
    c.noise("checkpoint_stall", 1002, "a disk errs, the checkpoint ends in time", end=1190,
            node=node)


def lustre_is_back(c):
    """The connection was lost for a second; the checkpoint is long for other reasons."""
    node = "dgx-j07"
    say = log_of(c, "ds-8", node)
    step = trains(say, deepspeed, 0, 1000, 10)
    say(1002, deepspeed_said(1002, "[Torch] Checkpoint global_step201 is about to be saved!"))
    say(1800, deepspeed_said(1800, "[Torch] Checkpoint global_step201 is ready now!"))
    trains(say, deepspeed, 1810, 2600, 10, step)
    quiet(c, node, "syslog")
    client = "Lustre: scratch-OST0003-osc-ffff9a3e4c8b1000: Connection "
    kernel(c, node, "syslog", 1040,
           client + "to scratch-OST0003 (at 10.9.0.13@o2ib) was lost; in progress operations using "
           "this service will wait for recovery to complete")
    kernel(c, node, "syslog", 1041, client + "restored to  (at 10.9.0.13@o2ib)")
    c.noise("checkpoint_stall", 1002, "Lustre was away for a second", end=1800, node=node)


# ---- straggler --------------------------------------------------------------------------------


def megatron_rank_lags(c):
    """Each rank's own log under torchrun; three of four are as fast as ever."""
    for rank in range(4):
        name = f"mg-{rank}"
        c.has("kubectl/pods.json", pod(name, f"dgx-k0{rank}", env={"RANK": rank}, gpus=1))
        for i in range(60):
            took = 8000.0 * (1.5 if rank == 2 and i >= 20 else 1.0) + 10 * rank
            line = megatron_step(100 + 15 * i, 500 + i, took)
            c.say(pod_log("research", name), 100 + 15 * i, f"[rank{rank}]:{line}")
    c.fault("straggler", 400, "rank 2 needs half as much again", end=1000, disc="slow_host", rank=2)


def gauges_of_steps(c):
    """Step times as a program's own metrics; one rank is slow, another one only once."""
    for i in range(60):
        at = 200 + 10 * i
        samples = []
        for rank in range(8):
            labels = f'rank="{rank}",job_name="vit-h",node="dgx-k1{rank // 4}"'
            took = 3.2 + 0.001 * ((i * 7 + rank) % 5)
            took *= 1.35 if rank == 6 and i >= 20 else 1
            took *= 3 if rank == 1 and i == 11 else 1
            samples.append(("training_step_time_seconds", "gauge", labels, f"{took:.4f}"))
        c.say("scrapes/trainer.prom", at, exposition(samples, at))
    c.fault("straggler", 400, "rank 6 needs a third more", end=800, disc="slow_host", job="vit-h",
            rank=6)
    c.noise("straggler", 310, "one slow step", job="vit-h", rank=1)


def two_ranks_and_all_ranks(c):
    """Of two ranks nobody knows which is odd; and a pause that all ranks share blames none."""
    for i in range(60):
        at = 1500 + 10 * i
        samples = []
        for rank in range(2):
            labels = f'rank="{rank}",job_name="duo",node="dgx-k20"'
            samples.append(("training_step_time_seconds", "gauge", labels,
                            f"{2 + 1.5 * rank + 0.001 * (i % 3):.4f}"))
        for rank in range(4):
            labels = f'rank="{rank}",job_name="quartet",node="dgx-k21"'
            took = (9.0 if 20 <= i < 40 else 2.5) + 0.001 * ((i + rank) % 3)
            samples.append(("training_step_time_seconds", "gauge", labels, f"{took:.4f}"))
        c.say("scrapes/trainer_pairs.prom", at, exposition(samples, at))
    c.noise("straggler", 1500, "one of two is slower", end=2100, job="duo", rank=1)
    c.noise("straggler", 1700, "all are slow for a while", end=1900, job="quartet")


# ---- nccl_hang --------------------------------------------------------------------------------


def dumps_by_another_name(c):
    """JSON, in files that a sidecar named after the pods."""
    ranks = list(range(8))
    for rank in ranks:
        entries = [entry(i, i + 1, "completed", 900 + i, js=True) for i in range(5)]
        last = (5, 5, 5)
        if rank != 5:
            entries.append(entry(5, 6, "started", 906, js=True))
            last = (6, 6, 5)
        c.write(f"fr/llm-a/llm-a-{rank // 4}_dump_{rank}.json",
                dump(rank, entries, ranks, last, js=True))
    c.fault("nccl_hang", 906, "rank 5 never comes", disc="missing_rank", job="llm-a", ranks=[5])


def idle_dumps(c):
    """Everything had ended when somebody asked for dumps."""
    for rank in range(4):
        entries = [entry(i, i + 1, "completed", 900 + i, js=True) for i in range(6)]
        c.write(f"fr/llm-b/llm-b-0_dump_{rank}.json",
                dump(rank, entries, [0, 1, 2, 3], (6, 6, 6), js=True))
    c.noise("nccl_hang", 900, "all collectives ended", end=906, job="llm-b")


def ras_says_who_is_behind(c):
    c.write("ras/ras_1.json", ras(1000, {0: 4101, 1: 4101, 2: 4101, 3: 4100}))
    c.write("ras/ras_2.json", ras(1400, {0: 4101, 1: 4101, 2: 4101, 3: 4100}))
    c.fault("nccl_hang", 1000, "rank 3 is one collective behind, and stays so", end=1400,
            disc="missing_rank", ranks=[3])


def ras_of_an_idle_job(c):
    """Everybody issued as many: at rest."""
    for i, at in enumerate((1000, 1500)):
        report = ras(at, {0: 52, 1: 52, 2: 52})
        c.write(f"ras/rest_{i}.json", report.replace("0xae94423cfbb2ef4a", "0xae94423cfbb2ef4b"))
    c.noise("nccl_hang", 1000, "no rank is behind", end=1500, ranks=[0])


STORIES = [
    worker_exits_under_titan,
    mount_fails_under_nemo,
    loader_times_out_under_deepspeed,
    pauses_that_are_none,
    megatron_saves_to_xfs,
    nemo_saves_to_nvme,
    deepspeed_saves_to_lustre,
    titan_saves_to_slow_nfs,
    long_but_well,
    lustre_is_back,
    megatron_rank_lags,
    gauges_of_steps,
    two_ranks_and_all_ranks,
    dumps_by_another_name,
    idle_dumps,
    ras_says_who_is_behind,
    ras_of_an_idle_job,
]
