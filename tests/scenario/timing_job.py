# SPDX-License-Identifier: Apache-2.0
"""Jobs: steps of 0.4 s and of 90 s, checkpoints and watchdogs of minutes, late evidence."""

from cluster import uid
from formats import pod
from nccl_hang import dump, entry, ras
from otlp import KILLED, log_request, pod_resource, record
from timing_node import event, kernel, objects

STEP = 0.4


class Job:
    """Ranks on one node each, logging to the Collector."""

    def __init__(self, c, name, nodes):
        self.c = c
        self.name = name
        self.nodes = nodes
        self.step = 1000

    def pod(self, rank):
        return f"{self.name}-{rank}"

    def log(self, rank, *records):
        """records: (seconds, body, attributes)"""
        where = pod_resource(self.pod(rank), node=self.nodes[rank], **{"job.id": self.name})
        made = [record(at, body, {"rank": rank, **fields}) for at, body, fields in records]
        self.c.say(f"training/{self.name}.json", records[0][0], log_request(where, made))

    def run(self, start, until, took, slow=None):
        """Steps until then; slow: (rank, seconds) of one that takes longer. Returns the last."""
        at = start
        while at + took <= until + 1e-6:
            at += took
            for rank in range(len(self.nodes)):
                own = slow[1] if slow and slow[0] == rank else took
                fields = {"training.step": self.step, "training.step.duration": round(own, 4)}
                self.log(rank, (at, f"step {self.step}", fields | {"training.phase": "train"}))
            self.step += 1
        return at

    def finish(self, at):
        """The job is done: its pods end well."""
        for rank, name in enumerate(self.nodes):
            done = pod(self.pod(rank), name, "ml", phase="Succeeded", end=(at, 0, "Completed"))
            objects(self.c, at, done)

    def checkpoint(self, at, state, rank=0):
        fields = {"checkpoint.state": state, "checkpoint.step": self.step - 1}
        fields["checkpoint.path"] = f"/checkpoints/{self.name}/{self.step - 1}"
        self.log(rank, (at, f"checkpoint {state}", fields))

    def loader_fails(self, at, rank=0):
        self.log(rank, (at, KILLED, {"dataloader.error_class": "worker_killed"}))


# ---- dataloader_hang --------------------------------------------------------------------------


def stalls_of_121_and_119_seconds(c):
    """Steps of 0.4 s; the loader's error comes with the stall."""
    for name, seconds, fires in (("quick", 121, True), ("quack", 119, False)):
        job = Job(c, name, [f"{name}-n0"])
        last = job.run(1000, 1060, STEP)
        job.loader_fails(last + 1)
        job.finish(job.run(last + seconds - STEP, last + seconds + 60, STEP) + 1)
        c.edge(fires, "dataloader_hang", last, f"no step for {seconds} s", end=last + seconds,
               ns="ml", pod=job.pod(0), disc="worker_killed")


def evidence_minutes_before_and_after(c):
    """The mount failed four minutes before it counted as a stall; an error is told as late."""
    early = Job(c, "early", ["early-n0"])
    last = early.run(1500, 1560, STEP)
    event(c, last - 110, "FailedMount", 'MountVolume.SetUp failed for volume "shards" : rpc '
                                        'error: code = Internal',
          early.pod(0), "early-n0")
    early.finish(early.run(last + 200, last + 260, STEP) + 1)
    c.fault("dataloader_hang", last, "the mount failed before", end=last + 200,
            disc="storage_event", ns="ml",
            pod=early.pod(0))
    late = Job(c, "late", ["late-n0"])
    last = late.run(1500, 1560, STEP)
    late.loader_fails(last + 240)
    late.finish(late.run(last + 400, last + 460, STEP) + 1)
    c.fault("dataloader_hang", last, "the error is told four minutes late", end=last + 400,
            disc="worker_killed", ns="ml", pod=late.pod(0))


def steps_of_ninety_seconds(c):
    """A step that takes 170 s is no stall where 90 s are usual; ten minutes are one."""
    slow = Job(c, "tortoise", ["tortoise-n0"])
    last = slow.run(500, 500 + 10 * 90, 90)
    slow.loader_fails(last + 100)
    last = slow.run(last + 80, last + 80 + 5 * 90, 90)
    slow.loader_fails(last + 60)
    slow.finish(slow.run(last + 600, last + 600 + 5 * 90, 90) + 30)
    c.noise("dataloader_hang", 1400, "170 s where 90 s are usual", end=1570, ns="ml",
            pod=slow.pod(0))
    c.fault("dataloader_hang", last, "ten minutes where 90 s are usual", end=last + 690,
            disc="worker_killed", ns="ml", pod=slow.pod(0))


# ---- checkpoint_stall -------------------------------------------------------------------------


def io_error(c, name, at):
    kernel(c, name, at, "blk_update_request: I/O error, dev nvme2n1, sector 88123 op 0x1:(WRITE) "
           "flags 0x8800 phys_seg 3 prio class 0")


def checkpoint(c, name, seconds, trouble, fires, what):
    """trouble: seconds from the begin to an error of the disk, or None"""
    job = Job(c, name, [f"{name}-n0"])
    last = job.run(2000, 2060, 1.5)
    job.checkpoint(last + 1, "begin")
    if trouble is not None:
        io_error(c, f"{name}-n0", last + 1 + trouble)
    job.checkpoint(last + 1 + seconds, "end")
    job.finish(job.run(last + 2 + seconds, last + 60 + seconds, 1.5) + 1)
    c.edge(fires, "checkpoint_stall", last + 1, what, end=last + 1 + seconds, node=f"{name}-n0",
           disc="storage_error")


def checkpoints_of_minutes(c):
    checkpoint(c, "save-a", 601, 300, True, "601 s, and the disk errs")
    checkpoint(c, "save-b", 601, None, False, "601 s, and nothing is wrong")
    checkpoint(c, "save-c", 599, 300, False, "599 s, and the disk errs")
    checkpoint(c, "save-d", 480, 30, False, "eight minutes are usual, though the disk errs")
    checkpoint(c, "save-e", 900, -240, True, "the disk erred four minutes before")
    checkpoint(c, "save-f", 900, -310, False, "the disk erred long before")


# ---- straggler --------------------------------------------------------------------------------


def late_by_21_and_19_percent(c):
    for name, took, percent, fires in (
        ("race", STEP, 21, True),
        ("rally", STEP, 19, False),
        ("march", 90, 21, True),
        ("hike", 90, 19, False),
    ):
        job = Job(c, name, [f"{name}-n{rank}" for rank in range(4)])
        start = job.run(1000, 1000 + 15 * took, took)
        end = job.run(start, start + 25 * took, took, slow=(2, took * (1 + percent / 100)))
        job.finish(end + 5)
        c.edge(fires, "straggler", start, f"{percent} % late at steps of {took} s", end=end,
               job=name, rank=2, disc="slow_host")


# ---- nccl_hang --------------------------------------------------------------------------------


def hang(c, name, at, watchdog, clocks, missing=None):
    """Dumps that the watchdog asked for; clocks: how far ahead each rank's is."""
    ranks = list(range(len(clocks)))
    for rank, ahead in zip(ranks, clocks):
        entries = [entry(i, i + 1, "completed", at - 5 + i + ahead) for i in range(5)]
        last = (5, 5, 5)
        if missing is not None and rank != missing:
            entries.append(entry(5, 6, "started", at + ahead))
            last = (6, 6, 5)
        for one in entries:
            one["timeout_ms"] = watchdog * 1000
        c.write(f"dumps/{name}/nccl_trace_rank_{rank}", dump(rank, entries, ranks, last),
                taken=at + watchdog)


def watchdogs_of_2_and_30_minutes(c):
    hang(c, "impatient", 3000, 120, [0, 2, -2, 1.3], missing=3)
    c.fault("nccl_hang", 3000, "given up after two minutes", end=3120, disc="missing_rank",
            job="impatient", ranks=[3])
    hang(c, "patient", 3000, 1800, [2, -2, 0, -1.7, 0.4, 0, 0, 2], missing=0)
    c.fault("nccl_hang", 3000, "given up after half an hour", end=4800, disc="missing_rank",
            job="patient", ranks=[0])
    hang(c, "asked", 3000, 1800, [2, -2, 0, 1])
    c.noise("nccl_hang", 3000, "dumps of a job that is well", end=3600, job="asked")


def monitor_of_301_and_298_seconds(c):
    """Two reports of NCCL's monitor in which nothing has moved."""
    for name, seconds, fires in (("still", 301, True), ("brief", 298, False)):
        for i, at in enumerate((6000, 6000 + seconds)):
            report = ras(at, {0: 77, 1: 76, 2: 77, 3: 77, 4: 77})
            own = report.replace("0xae94423cfbb2ef4a",
                                 "0x" + uid("comm", name)[:8]).replace("172.16.64.", f"{name}-")
            c.write(f"ras/{name}_{i}.json", own)
        c.edge(fires, "nccl_hang", 6000, f"one rank behind for {seconds} s", end=6000 + seconds,
               ranks=[1], disc="missing_rank")


STORIES = [
    stalls_of_121_and_119_seconds,
    evidence_minutes_before_and_after,
    steps_of_ninety_seconds,
    checkpoints_of_minutes,
    late_by_21_and_19_percent,
    watchdogs_of_2_and_30_minutes,
    monitor_of_301_and_298_seconds,
]
