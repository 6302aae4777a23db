#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the nccl_hang cases; --check compares only."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from fr import Job  # noqa: E402
from making import k8s_list, lines, main, pod, when  # noqa: E402

# Peers of a pipeline of four stages, each of two tensor-parallel ranks.
STAGES = [(0, 1), (2, 3), (4, 5), (6, 7)]


def small_job(size=4, last=6):
    """One group; everybody completed collectives 1 to `last`."""
    job = Job(size)
    job.history("0", "all_reduce", 1, last, at=0)
    return job


def missing_rank():
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, ranks=[0, 1, 3], state="started")
    return job


def fires_on_missing_rank():
    """Ranks 0, 1 and 3 wait in all_reduce 7; rank 2 completed 6 and issued nothing more."""
    return missing_rank().json_files()


def fires_on_missing_rank_pickle():
    """The same job in pickles of protocol 2, with rank 2's recorder empty, as it is when the
    interpreter lock is held: only pg_status says that it got as far as collective 6."""
    job = missing_rank()
    job.forget(2)
    return job.pickle_files()


def fires_on_missing_first_rank():
    """Rank 0 is the one that is missing: peers' tools then take rank 0 as the measure and blame
    the healthy ones."""
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, ranks=[1, 2, 3], state="started")
    return job.json_files()


def fires_on_op_mismatch():
    """As collective 7, rank 3 calls a broadcast where the others call an all_reduce."""
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, ranks=[0, 1, 2], state="started")
    job.issue("0", "broadcast", 7, at=10, ranks=[3], state="started")
    return job.json_files()


def fires_on_op_mismatch_of_first_rank():
    """As collective 7, rank 0 calls a broadcast where the others call an all_reduce: the collective
    is an all_reduce, and rank 0 is the odd one."""
    job = small_job()
    job.issue("0", "broadcast", 7, at=10, ranks=[0], state="started")
    job.issue("0", "all_reduce", 7, at=10, ranks=[1, 2, 3], state="started")
    return job.json_files()


def fires_on_op_mismatch_that_holds_up_another_group():
    """As collective 7 of the whole job, rank 3 calls a broadcast where the others call an
    all_reduce. Rank 2 went on to issue all_reduce 5 of the group it has with rank 3, who is stuck
    before it."""
    job = Job(4)
    job.group("1", "TENSOR_PARALLEL_GROUP", [2, 3])
    job.history("0", "all_reduce", 1, 6, at=0)
    job.history("1", "all_reduce", 1, 4, at=0)
    job.issue("0", "all_reduce", 7, at=10, ranks=[0, 1, 2], state="started")
    job.issue("0", "broadcast", 7, at=10, ranks=[3], state="started")
    job.issue("1", "all_reduce", 5, at=11, ranks=[2], state="scheduled")
    return job.json_files()


def fires_on_size_mismatch():
    """As collective 7, rank 1 reduces half as many rows as the others: its batch was short."""
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, ranks=[0, 2, 3], state="started")
    job.issue("0", "all_reduce", 7, at=10, ranks=[1], state="started", sizes=[[512, 4096]])
    return job.json_files()


def fires_on_dtype_mismatch():
    """As collective 7, rank 2 reduces Float where the others reduce BFloat16."""
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, ranks=[0, 1, 3], state="started")
    job.issue("0", "all_reduce", 7, at=10, ranks=[2], state="started", dtypes=["Float"])
    return job.json_files()


def fires_on_lagging_rank():
    """Everybody issued 7, 8 and 9. The device of rank 3 stopped in 7, which the others completed:
    they wait in 8."""
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, ranks=[0, 1, 2])
    job.issue("0", "all_reduce", 7, at=10, ranks=[3], state="started")
    job.issue("0", "all_reduce", 8, at=11, state="started", ranks=[0, 1, 2])
    job.issue("0", "all_reduce", 8, at=11, state="scheduled", ranks=[3])
    job.issue("0", "all_reduce", 9, at=12, state="scheduled")
    return job.json_files()


def fires_with_places_of_two_culprits():
    """The devices of ranks 2 and 3 stopped in 7. The map names node, pod and GPU of both. What was
    read of the node of rank 2 has no Xid of its GPU, and one of another: nobody is sent there for
    Xids."""
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, ranks=[0, 1])
    job.issue("0", "all_reduce", 7, at=10, ranks=[2, 3], state="started")
    job.issue("0", "all_reduce", 8, at=11, state="started", ranks=[0, 1])
    places = [
        (0, "gpu-00", 0, "0000:1b:00.0"),
        (1, "gpu-00", 1, "0000:43:00.0"),
        (2, "gpu-01", 0, "0000:1b:00.0"),
        (3, "gpu-02", 1, "0000:43:00.0"),
    ]
    rows = [
        f"{rank},{node},{index},GPU-0000000{rank}-0000-4000-8000-000000000000,{pci},"
        f"worker-{rank},train"
        for rank, node, index, pci in places
    ]
    log = lines(
        {
            "kind": "xid",
            "time": when(5),
            "k8s.node.name": "gpu-01",
            "pci.bdf": "0000:43:00.0",
            "code": 31,
        },
    )
    return job.json_files() | {
        "input/kernel.ndjson": log,
        "map.csv": "rank,node,gpu_index,gpu_uuid,pci,pod,namespace\n" + "\n".join(rows) + "\n",
        "args": "--map=map.csv\n",
    }


def fires_on_all_stuck():
    """All four ranks entered all_reduce 7 and none completed it: the links or the kernel, and no
    rank is to blame."""
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, state="started")
    return job.json_files()


def fires_on_absent_dump():
    """Ranks 0, 1 and 2 wait in all_reduce 7; rank 3 is a member and left no dump at all."""
    job = small_job()
    job.issue("0", "all_reduce", 7, at=10, ranks=[0, 1, 2], state="started")
    return job.json_files(without=[3])


def fires_on_two_culprits_in_two_groups():
    """Two data-parallel groups of four, each with a missing rank of its own: 1 and 6. Neither
    explains the other, so there are two roots."""
    job = Job(8)
    for name, members, culprit in (("1", [0, 1, 2, 3], 1), ("2", [4, 5, 6, 7], 6)):
        job.group(name, "DATA_PARALLEL_GROUP", members)
        job.history(name, "all_reduce", 1, 6, at=0)
        waiting = [rank for rank in members if rank != culprit]
        job.issue(name, "all_reduce", 7, at=10, ranks=waiting, state="started")
    return job.json_files()


def fires_on_culprit_behind_another():
    """Rank 0 never issues all_reduce 7 of the whole job: 1, 2 and 3 wait for it. Without waiting
    for that, ranks 1 and 3 go on and issue reduce-scatter 5 of their own group; rank 2 has 7
    pending like them but never issues 5. So rank 2 is a culprit as well, behind rank 0."""
    job = Job(4)
    job.group("1", "OPTIMIZER_GROUP", [1, 2, 3])
    job.history("0", "all_reduce", 1, 6, at=0)
    job.history("1", "_reduce_scatter_base", 1, 4, at=6)
    job.issue("0", "all_reduce", 7, at=12, ranks=[1, 2, 3], state="started")
    job.issue("1", "_reduce_scatter_base", 5, at=13, ranks=[1, 3], state="scheduled")
    return job.json_files()


def fires_on_cycle_between_groups():
    """Ranks 0 and 1 are in two groups together. Rank 0 issues all_gather 5 of one first, rank 1
    all_reduce 9 of the other: each waits for the other. Ranks 2 and 3 wait for both and are
    innocent."""
    job = Job(4)
    job.group("1", "TENSOR_PARALLEL_GROUP", [0, 1])
    job.group("2", "CONTEXT_PARALLEL_GROUP", [0, 1])
    job.history("0", "all_reduce", 1, 6, at=0)
    job.history("1", "_all_gather_base", 1, 4, at=0)
    job.history("2", "all_reduce", 1, 8, at=0)
    job.issue("1", "_all_gather_base", 5, at=10, ranks=[0], state="started")
    job.issue("2", "all_reduce", 9, at=10, ranks=[1], state="started")
    job.issue("0", "all_reduce", 7, at=11, ranks=[2, 3], state="started")
    return job.json_files()


def stopped_stage(at):
    """A pipeline of four stages of two ranks. Rank 5 stops in stage 2: rank 4 waits for it in the
    all_reduce that it issued `at` seconds into the morning, the other stages wait to receive."""
    job = Job(8)
    for stage, members in enumerate(STAGES):
        job.group(str(1 + stage), "TENSOR_PARALLEL_GROUP", members)
        job.history(str(1 + stage), "all_reduce", 1, 6, at=0)
    for side in (0, 1):
        name = str(5 + side)
        column = [members[side] for members in STAGES]
        job.group(name, "PIPELINE_PARALLEL_GROUP", column)
        for i in range(3):  # the batch before went through
            job.transfer(name, column[i], column[i + 1], True, 1, at=6 + i, state="completed")
            job.transfer(name, column[i + 1], column[i], False, 1, at=6 + i, state="completed")
        job.transfer(name, column[3], column[2], False, 2, at=11)  # activations
        job.transfer(name, column[1], column[2], False, 2, at=11)  # gradients
        job.transfer(name, column[0], column[1], False, 2, at=11)
    job.issue("3", "all_reduce", 7, at=at, ranks=[4], state="started")
    return job.json_files()


def fires_not_on_healthy_pipeline_stage():
    """A pipeline of four stages of two ranks. Rank 5 stops in stage 2: rank 4 waits for it in
    their all_reduce, stage 3 waits to receive from stage 2, stages 0 and 1 wait for gradients
    to come back. Rank 5 is the only culprit, in every verdict."""
    return stopped_stage(10)


def fires_on_root_that_is_the_youngest():
    """Four stages of two ranks, of which rank 5 stops. The transfers between the stages hang some
    seconds before the all_reduce that explains them, and the log of another job lets time go by
    meanwhile: they reach the threshold first, and one of them is told as the cause of the others.
    Once the all_reduce reaches it, that is the cause of all."""
    steps = [
        {"kind": "train_step", "time": when(at), "job.id": "other", "rank": 0, "step": at}
        for at in range(12, 332)
    ]
    return stopped_stage(15) | {"input/other.ndjson": lines(*steps)}


def batched_pipeline(last, flagged, stopped=None):
    """Four stages that receive and send in one batch a micro-batch. A stage that stopped does not
    issue the last one, and its neighbours stand in it."""
    job = Job(4)
    job.group("1", "PIPELINE_PARALLEL_GROUP", range(4))
    job.history("0", "all_reduce", 1, 6, at=0)
    for seq in range(1, last + 1):
        for rank in range(4):
            peers = [(rank - 1, False)] * (rank > 0) + [(rank + 1, True)] * (rank < 3)
            held = seq == last and stopped in [peer for peer, _ in peers]
            if seq < last or rank != stopped:
                state = "started" if held else "completed"
                job.batch("1", rank, peers, seq, 7 + seq, state, flagged)
    return job


def stays_quiet_on_batched_pipeline():
    """Stages that receive and send in one batch, ten times. The records of the single transfers stay
    scheduled for ever; the one that closes each batch says that all is well."""
    return batched_pipeline(10, flagged=True).json_files() | {"args": f"--now={when(3600)}\n"}


def stays_quiet_on_batched_pipeline_of_older_torch():
    """The same, where the record that closes a batch is not flagged as p2p."""
    files = batched_pipeline(10, flagged=False).pickle_files()
    return files | {"args": f"--now={when(3600)}\n"}


def fires_on_missing_rank_in_batched_pipeline():
    """The same stages; rank 2 does not issue the tenth batch. Ranks 1 and 3 stand in it. Rank 0, whom
    rank 1 receives from in the same batch, has completed its part and is innocent."""
    return batched_pipeline(10, flagged=False, stopped=2).json_files()


def stays_quiet_when_only_the_status_tells():
    """Records of a backend that never says that what was issued together has completed. There are no
    transfers, so that pg_status speaks of the same collectives: all have completed."""
    job = Job(2)
    for seq in range(1, 11):
        for size in ([[1, 2]], [[2, 2]]):
            job.issue("0", "_broadcast_oop", seq, seq, state="scheduled", sizes=size)
    for rank in job.ranks:
        job.statuses[rank, "0"] = dict.fromkeys(
            ("last_enqueued_collective", "last_started_collective", "last_completed_collective"), 10
        )
    return job.json_files() | {"args": f"--now={when(3600)}\n"}


def fires_on_missing_rank_in_uneven_all_to_all():
    """Experts get uneven shares, so the sizes of all_to_all differ by design. Rank 3 is missing
    from all_to_all 7, and that is what is said: not that sizes differ."""
    job = Job(4)
    job.history("0", "all_to_all", 1, 6, at=0)
    for rank in (0, 1, 2):
        job.issue("0", "all_to_all", 7, 10, [rank], "started", sizes=[[100 + 37 * rank, 4096]])
    return job.json_files()


def fires_at_threshold():
    """The missing rank again, seen exactly 300 seconds after the first rank began to wait."""
    return missing_rank().json_files() | {"args": f"--now={when(310)}\n"}


def fires_with_configured_threshold():
    """Seen 60 seconds after the first rank began to wait, with the threshold set to 60 s."""
    args = f"--now={when(70)}\n--set=nccl_hang.threshold=60s\n"
    return missing_rank().json_files() | {"args": args}


def stays_quiet_below_threshold():
    """The missing rank again, seen 299 seconds after the first rank began to wait."""
    return missing_rank().json_files() | {"args": f"--now={when(309)}\n"}


def stays_quiet_when_completed():
    """Everybody completed everything, and an hour has passed: the job is over."""
    return small_job().json_files() | {"args": f"--now={when(3600)}\n"}


def placed(files, *done):
    """Two ranks per pod, by the map; those of `done` have succeeded."""
    rows = [f"{rank},gpu-0{rank // 2},worker-{rank // 2},train" for rank in range(4)]
    ended = [("main", 0, "Completed", 40)]
    pods = [
        pod(f"worker-{i}", f"gpu-0{i}", "Succeeded", ended)
        if i in done
        else pod(f"worker-{i}", f"gpu-0{i}", "Running")
        for i in range(2)
    ]
    return files | {
        "input/pods.json": k8s_list(*pods),
        "map.csv": "rank,node,pod,namespace\n" + "\n".join(rows) + "\n",
        "args": f"--now={when(3600)}\n--map=map.csv\n",
    }


def stays_quiet_when_all_pods_succeeded():
    """The missing rank again; half a minute later every pod of the job has succeeded. What was dumped
    had completed by then."""
    return placed(missing_rank().json_files(), 0, 1)


def fires_when_only_its_pod_succeeded():
    """The pod of rank 2 has succeeded, that of ranks 0 and 1 runs: they wait for a rank that left."""
    return placed(missing_rank().json_files(), 1)


def training_done(at):
    return lines(
        {
            "kind": "train_step",
            "time": when(at),
            "k8s.namespace.name": "train",
            "k8s.pod.name": "worker-0",
            "phase": "done",
        }
    )


def stays_quiet_when_training_is_done():
    """The missing rank again; half a minute later the log of rank 0 says that training is done, which
    Megatron-LM says after a barrier of all ranks."""
    return placed(missing_rank().json_files()) | {"input/log.ndjson": training_done(40)}


def fires_after_training_is_done():
    """The same line, but all_reduce 7 was issued after it: by an evaluation at the end."""
    return placed(missing_rank().json_files()) | {"input/log.ndjson": training_done(8)}


def resolved_when_the_job_exits():
    """Collective 5 hung for more than the threshold; then the job was done."""
    end = {
        "kind": "train_step",
        "time": when(420),
        "job.id": "pretrain",
        "phase": "done",
    }
    return stream(
        *(record(rank, 5, 0, "started") for rank in (0, 1)),
        *(ended(rank, 1, 400) | {"nccl.group": "heartbeat"} for rank in (0, 1)),
        end,
    )


def stays_quiet_for_group_of_one():
    """Rank 0 is alone in a group and has an all_reduce of it pending: it waits for nobody."""
    job = Job(2)
    job.group("1", "EXPERT_DATA_PARALLEL_GROUP", [0])
    job.history("0", "all_reduce", 1, 6, at=0)
    job.issue("1", "all_reduce", 1, at=10, state="started")
    return job.json_files()


def stays_quiet_on_uneven_all_to_all():
    """Every rank completed all_to_all 1 to 3 with sizes of its own: that is how experts work."""
    job = Job(4)
    for seq in (1, 2, 3):
        for rank in job.ranks:
            job.issue("0", "all_to_all", seq, seq, [rank], sizes=[[100 + 37 * rank + seq, 4096]])
    return job.json_files()


def degrades_torn_dump():
    """The missing rank again, but the disk of rank 0 was full: its dump ends after 87 bytes. The
    culprit is named all the same, rank 0 is listed as unreadable, the exit status is 2."""
    files = missing_rank().json_files()
    torn = missing_rank().pickle_files()["input/pretrain/comm_lib_trace_rank_0"][:87]
    del files["input/pretrain/nccl_trace_rank_0.json"]
    files["input/pretrain/nccl_trace_rank_0"] = torn
    return files | {"exit": "2\n", "stderr": "input/pretrain/nccl_trace_rank_0: \n"}


def degrades_torn_dump_beside_an_absent_rank():
    """Rank 6 left nothing, and everybody waits for it. The dump of rank 1 is torn: the group that it
    shares with 0, 2 and 3 is stuck as well, but not for want of rank 1. Only rank 6 is blamed."""
    job = Job(8)
    job.group("1", "tp_0", [0, 1, 2, 3])
    job.group("2", "tp_1", [4, 5, 6, 7])
    for name in ("0", "1", "2"):
        job.history(name, "all_reduce", 1, 9, at=0)
    there = [rank for rank in range(8) if rank != 6]
    job.issue("0", "all_reduce", 10, 20, there, "scheduled")
    job.issue("1", "all_reduce", 10, 21, [0, 1, 2, 3], "scheduled")
    job.issue("2", "all_reduce", 10, 21, [4, 5, 7], "scheduled")
    files = job.json_files(without=(1, 6))
    files["input/pretrain/nccl_trace_rank_1"] = job.pickle_files()["input/pretrain/comm_lib_trace_rank_1"][:87]
    return files | {"exit": "2\n", "stderr": "input/pretrain/nccl_trace_rank_1: \n"}


# ---- records from a stream, which come late, twice or not at all ------------------------------


def record(rank, seq, at, state, op="all_reduce", **more):
    return {
        "kind": "nccl_record",
        "time": when(at),
        "job.id": "pretrain",
        "rank": rank,
        "nccl.group": "0",
        "nccl.op": op,
        "nccl.seq": seq,
        "nccl.state": state,
    } | more


def ended(rank, seq, at, after=1):
    """A record carries the time of issue; when it completed is told beside it."""
    return record(rank, seq, at, "completed", **{"nccl.completed": when(at + after)})


def stream(*items):
    return {"input/nccl.ndjson": lines(*items)}


def degrades_late_completion():
    """Collective 5 was issued and completed in time, but the completions are the last lines of the
    file, behind those of collective 6, ten minutes younger: nothing hangs."""
    return stream(
        *(record(rank, 5, 0, "started") for rank in (0, 1)),
        *(ended(rank, 6, 600) for rank in (0, 1)),
        *(ended(rank, 5, 0) for rank in (0, 1)),
    )


def degrades_duplicate_records():
    """The collector restarted and sent everything twice. Rank 1 is missing from collective 6, and
    each record is evidence once."""
    sent = [ended(rank, 5, 0) for rank in (0, 1, 2)]
    sent += [record(rank, 6, 10, "started") for rank in (0, 2)]
    sent += [record(0, 1, 400, "completed") | {"nccl.group": "heartbeat"}]
    return stream(*sent, *sent)


def degrades_lost_completion():
    """Rank 1's completion of collective 5 was lost on the way. It went on to complete 6 to 10 with
    rank 0, a minute and a half each, so 5 does not hang."""
    return stream(
        ended(0, 5, 0),
        record(1, 5, 0, "started"),
        *(ended(rank, seq, (seq - 5) * 90) for seq in range(6, 11) for rank in (0, 1)),
    )


def resolved_when_completion_comes():
    """Collective 5 hung for more than the threshold and then completed on both ranks."""
    return stream(
        *(record(rank, 5, 0, "started") for rank in (0, 1)),
        *(ended(rank, 1, 400) | {"nccl.group": "heartbeat"} for rank in (0, 1)),
        *(record(rank, 5, 420, "completed") for rank in (0, 1)),
    )


def hang_flag(at, rank, value):
    return {
        "kind": "metric",
        "time": when(at),
        "k8s.node.name": f"gpu-{rank // 8:02}",
        "job.id": "llm-7",
        "rank": rank,
        "metric": "hang_flag",
        "value": value,
    }


def flags(*samples):
    """samples: (seconds, the value of each rank)"""
    return {
        "input/flags.ndjson": lines(
            *(hang_flag(at, rank, v) for at, values in samples for rank, v in enumerate(values))
        )
    }


def fires_on_watchdog_flag():
    """The watchdogs of seven of eight ranks raise their flag; the eighth is not blamed for that."""
    return flags((0, [0] * 8), (60, [1] * 7 + [0]), (120, [1] * 7 + [0]))


def stays_quiet_watchdog_normal():
    """No watchdog ever raises its flag."""
    return flags(*((60 * i, [0] * 8) for i in range(10)))


def resolved_when_watchdogs_calm_down():
    """Two ranks raise their flag, and both lower it again."""
    return flags((0, [1, 0]), (60, [1, 1]), (120, [0, 0]))


def ras_rank(rank, count):
    return {
        "rank": rank,
        "host": f"10.0.0.{5 + rank // 2}",
        "pid": 8800 + rank,
        "cuda_dev": rank % 2,
        "nvml_dev": rank % 2,
        "status": {
            "init_state": 0,
            "async_error": 0,
            "finalize_called": False,
            "destroy_flag": False,
            "abort_flag": False,
        },
        "collective_counts": {
            "Broadcast": 2,
            "Reduce": 0,
            "AllGather": 0,
            "ReduceScatter": 0,
            "AllReduce": count,
        },
    }


def ras_missing(rank, dead):
    known = ras_rank(rank, 0)
    del known["collective_counts"]
    return known | {"status": {"unresponsive": True, "considered_dead": dead}}


def ras_report(at, counts, missing=(), subset=None):
    """counts: by rank; missing: (rank, dead). The subset is a second communicator of some ranks."""

    def communicator(number, ranks, gone):
        return {
            "hash": f"0x{number:x}",
            "secondary_hash": "0x1:0x2",
            "size": len(ranks) + len(gone),
            "ranks_count": len(ranks),
            "missing_ranks_count": len(gone),
            "ranks": ranks,
            "missing_ranks": gone,
        }

    comms = [
        communicator(
            0xA7, [ras_rank(r, c) for r, c in counts.items()], [ras_missing(*m) for m in missing]
        )
    ]
    if subset:
        ranks = [ras_rank(r, counts[r]) | {"rank": i} for i, r in enumerate(subset) if r in counts]
        gone = [
            ras_missing(*m) | {"rank": subset.index(m[0])} for m in missing if m[0] in subset
        ]
        comms.append(communicator(0xB1, ranks, gone))
    report = {
        "nccl_version": "2.28.9",
        "cuda_runtime_version": 12090,
        "cuda_driver_version": 13000,
        "timestamp": when(at).replace("T", " ")[:-1],
        "communicators_count": len(comms),
        "communicators": comms,
        "ras": {"collection_time_sec": 0.002, "timeouts_count": 0},
    }
    return json.dumps(report, indent=2) + "\n"


def fires_on_ras_missing_rank():
    """ncclras twice, six minutes apart: rank 2 has issued one collective less than the others, and
    nothing has moved."""
    counts = {0: 41, 1: 41, 2: 40, 3: 41}
    return {
        "input/ras-1.json": ras_report(0, counts),
        "input/ras-2.json": ras_report(360, counts),
    }


def fires_on_ras_dead_rank():
    """One report of ncclras, in which rank 3 is considered dead. NCCL 2.28.9 leaves out a comma there.
    Both communicators of the rank have lost it: one verdict."""
    text = ras_report(0, {0: 41, 1: 41, 2: 41}, [(3, True)], subset=[2, 3])
    torn = text.replace('"nvml_dev": 1,\n          "status": {\n            "unresponsive"',
                        '"nvml_dev": 1\n          "status": {\n            "unresponsive"')
    assert torn != text
    return {"input/ras.json": torn}


def stays_quiet_ras_idle():
    """Equal counts that do not move: idle or stuck, nobody can tell."""
    counts = dict.fromkeys(range(4), 41)
    return {f"input/ras-{i}.json": ras_report(400 * i, counts) for i in range(3)}


def stays_quiet_ras_moving():
    """Rank 2 is behind in every report, but all go on."""
    return {
        f"input/ras-{i}.json": ras_report(400 * i, {0: 41 + i, 1: 41 + i, 2: 40 + i, 3: 41 + i})
        for i in range(3)
    }


def degrades_ras_torn_report():
    """The second report is cut off: what is whole in the first is not enough."""
    counts = {0: 41, 1: 41, 2: 40, 3: 41}
    return {
        "input/ras-1.json": ras_report(0, counts),
        "input/ras-2.json": ras_report(360, counts)[:900],
        "exit": "2\n",
        "stderr": "the report is cut off\n",
    }


def resolved_when_ras_counts_move():
    """Rank 2 was behind for six minutes and then caught up."""
    counts = {0: 41, 1: 41, 2: 40, 3: 41}
    return {
        "input/ras-1.json": ras_report(0, counts),
        "input/ras-2.json": ras_report(360, counts),
        "input/ras-3.json": ras_report(600, dict.fromkeys(range(4), 44)),
    }


# ---- PyTorch's watchdog and NCCL in training logs ----------------------------------------------


def watchdog(rank, seq, op, ran=600061):
    return (f"[rank{rank}]:[E ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog "
            f"caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=64, "
            f"NumelOut=64, Timeout(ms)=600000) ran for {ran} milliseconds before timing out.\n")


def monitor(rank, text):
    return (f"[rank{rank}]:[E ProcessGroupNCCL.cpp:1870] "
            f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] {text}\n")


def got_to(enqueued, completed):
    return f"Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."


SIGNAL = "Received a dump signal due to a collective timeout from "


def fires_on_missing_rank_in_logs():
    """Logs of ranks, without dates: 1 and 3 timed out in collective 22, 2 waits there too, and 0
    was told of it and has completed all that it enqueued."""
    return {
        "input/rank0.log": monitor(0, SIGNAL + " rank 1 and we will try our best to dump the debug "
                                   "info. " + got_to(21, 21)),
        "input/rank1.log": watchdog(1, 22, "ALLREDUCE")
        + monitor(1, "Timeout at NCCL work: 22, last enqueued NCCL work: 23, last completed NCCL "
                  "work: 21."),
        "input/rank2.log": monitor(2, SIGNAL + " rank 1 and we will try our best to dump the debug "
                                   "info. " + got_to(22, 21)),
        "input/rank3.log": watchdog(3, 22, "ALLREDUCE")
        + monitor(3, "Timeout at NCCL work: 22, last enqueued NCCL work: 23, last completed NCCL "
                  "work: 21."),
    }


def fires_on_op_mismatch_in_log():
    """One log of all ranks: in collective 80 rank 3 calls a broadcast, the others an all_reduce."""
    text = "".join(f"{when(r)} stderr F " + watchdog(r, 80, "BROADCAST" if r == 3 else "ALLREDUCE") for r in range(4))
    return {"input/train.log": "epoch 3\n" + text}


def fires_on_size_mismatch_in_nccl_log():
    """NCCL finds that two nodes do not agree on the size of a message."""
    line = ("gpu07:1307367:1307586 [0] transport/net_ib.cc:1038 NCCL WARN NET/IB : req 0/1 tag {} "
            "peer 10.20.0.6<58683> collective mismatch error, local size 496640 remote size 65536\n")
    return {"input/nccl.log": line.format(0) + line.format(1)
            + "gpu07:1307367:1307586 [0] NCCL INFO transport/net.cc:890 -> 5\n"}


def stays_quiet_on_watchdog_exception():
    """A peer has died: the watchdogs of the others say how far they got, and nothing timed out."""
    return {"input/train.log": "".join(
        monitor(r, "Exception (either an error or timeout) detected by watchdog at work: 22, last "
                "enqueued NCCL work: 23, last completed NCCL work: 21.") for r in range(3))}


CASES = [
    fires_on_missing_rank_in_logs,
    fires_on_op_mismatch_in_log,
    fires_on_size_mismatch_in_nccl_log,
    stays_quiet_on_watchdog_exception,
    fires_on_missing_rank,
    fires_on_missing_rank_pickle,
    fires_on_missing_first_rank,
    fires_on_op_mismatch,
    fires_on_op_mismatch_of_first_rank,
    fires_on_op_mismatch_that_holds_up_another_group,
    fires_on_size_mismatch,
    fires_on_dtype_mismatch,
    fires_on_lagging_rank,
    fires_with_places_of_two_culprits,
    fires_on_all_stuck,
    fires_on_absent_dump,
    fires_on_two_culprits_in_two_groups,
    fires_on_culprit_behind_another,
    fires_on_cycle_between_groups,
    fires_not_on_healthy_pipeline_stage,
    fires_on_root_that_is_the_youngest,
    stays_quiet_on_batched_pipeline,
    stays_quiet_on_batched_pipeline_of_older_torch,
    fires_on_missing_rank_in_batched_pipeline,
    stays_quiet_when_only_the_status_tells,
    fires_on_missing_rank_in_uneven_all_to_all,
    fires_at_threshold,
    fires_with_configured_threshold,
    stays_quiet_below_threshold,
    stays_quiet_when_completed,
    stays_quiet_when_all_pods_succeeded,
    fires_when_only_its_pod_succeeded,
    stays_quiet_when_training_is_done,
    fires_after_training_is_done,
    resolved_when_the_job_exits,
    stays_quiet_for_group_of_one,
    stays_quiet_on_uneven_all_to_all,
    degrades_torn_dump,
    degrades_torn_dump_beside_an_absent_rank,
    degrades_late_completion,
    degrades_duplicate_records,
    degrades_lost_completion,
    resolved_when_completion_comes,
    fires_on_watchdog_flag,
    stays_quiet_watchdog_normal,
    resolved_when_watchdogs_calm_down,
    fires_on_ras_missing_rank,
    fires_on_ras_dead_rank,
    stays_quiet_ras_idle,
    stays_quiet_ras_moving,
    degrades_ras_torn_report,
    resolved_when_ras_counts_move,
]

if __name__ == "__main__":
    main(__file__, CASES)
