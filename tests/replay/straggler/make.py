#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the straggler cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import lines, main, nanoseconds, when  # noqa: E402

JOB = "pretrain-70b"
KEY = "00000000000000a7"
GPUS = [f"GPU-5f0e2a00-0000-4000-8000-{i:012d}" for i in range(16)]


def node_of(rank, per_node=4):
    return f"gpu-{rank // per_node:02d}"


def members(ranks, group="0", key=KEY):
    return {
        "kind": "nccl_group",
        "job.id": JOB,
        "nccl.group": group,
        "nccl.group_key": key,
        "nccl.ranks": str(list(ranks)),
    }


def record(rank, seq, created, completed, skew=0, group="0", key=KEY, node=True, **more):
    """skew: seconds by which the clock of the rank's node is wrong."""
    ev = {"kind": "nccl_record", "time": nanoseconds(created + skew)}
    if node:
        ev["k8s.node.name"] = node_of(rank)
    ev |= {"job.id": JOB, "rank": rank, "nccl.group": group, "nccl.group_key": key}
    ev |= {"nccl.op": "all_reduce", "nccl.seq": seq}
    if completed is not None:
        ev |= {"nccl.state": "completed", "nccl.completed": nanoseconds(completed + skew)}
    return ev | more


def collectives(count, lateness, ranks=range(8), first=100, at=0.0, skew=lambda r: 0, **more):
    """One all_reduce a second of work; lateness(rank, i) is how much later a rank enters."""
    out = []
    for i in range(count):
        entries = {r: at + 1 + lateness(r, i) for r in ranks}
        at = max(entries.values()) + 0.02
        for r in ranks:
            out.append(record(r, first + i, entries[r], at, skew(r), **more))
    return out


def written(*events):
    """By time, as a collector would."""
    whole = [e for e in events if "time" not in e]
    return {
        "input/events.ndjson": lines(
            *whole, *sorted((e for e in events if "time" in e), key=lambda e: e["time"])
        )
    }


def one_late(late, who=5, until=10**9):
    return lambda r, i: late if r == who and i < until else 0.002 * (r % 3)


def fires_on_late_rank():
    """Rank 5 enters every all_reduce 400 ms later than the others, which need a second."""
    return written(members(range(8)), *collectives(14, one_late(0.4)))


def fires_with_clock_skew():
    """The same, and the clock of its node is seven seconds fast: waiting is measured on one clock."""
    skew = {"gpu-00": -2.5, "gpu-01": 7.0}
    return written(
        members(range(8)), *collectives(14, one_late(0.4), skew=lambda r: skew[node_of(r)])
    )


def fires_on_late_node():
    """All four ranks of gpu-02 are late together, of twelve: the node is named."""
    return written(
        members(range(12)),
        *collectives(14, lambda r, i: 0.4 if r >= 8 else 0.002 * r, ranks=range(12)),
    )


def fires_by_kernel_start():
    """Calls are queued far ahead; when their kernels start shows that rank 2 is late."""
    events = []
    for i in range(14):
        end = 10 + 1.42 * (i + 1)
        for r in range(4):
            started = end - (0.02 if r == 2 else 0.42)
            events.append(
                record(r, 100 + i, 5 + 0.01 * i, end, **{"nccl.started": nanoseconds(started)})
            )
    return written(members(range(4)), *events)


def fires_on_first_cause():
    """Rank 1 is late in its tensor-parallel group, so rank 0 is late for its data-parallel
    group: only rank 1 is named."""
    events = [members([0, 1, 2, 3], "tp0", "00000000000000b0"), members([4, 5, 6, 7], "tp1", "00000000000000b1")]
    events += [members([r, r + 4, r + 8, r + 12], f"dp{r}", f"00000000000000c{r}") for r in range(4)]
    at = 0.0
    for i in range(14):
        tp = {r: at + 1 + (0.5 if r == 1 else 0.001 * (r % 4)) for r in range(16)}
        done = {g: max(tp[r] for r in range(4 * g, 4 * g + 4)) + 0.01 for g in range(4)}
        for r in range(16):
            g = r // 4
            events.append(record(r, 100 + i, tp[r], done[g], group=f"tp{g}", key=f"00000000000000b{g}"))
        enter = {r: done[r // 4] + 0.05 for r in range(16)}
        at = max(enter.values()) + 0.02
        for r in range(16):
            c = r % 4
            events.append(record(r, 100 + i, enter[r], at, group=f"dp{c}", key=f"00000000000000c{c}"))
    return written(*events)


def gpu(rank, **more):
    return {"kind": "rank_place", "time": nanoseconds(0), "job.id": JOB, "rank": rank, "k8s.node.name": node_of(rank),
            "k8s.namespace.name": "train", "k8s.pod.name": f"pretrain-worker-{rank // 4}",
            "gpu.uuid": GPUS[rank], "gpu.index": rank % 4, "origin": "map"} | more


def throttled(rank, at, bits):
    return {"kind": "metric", "time": nanoseconds(at), "k8s.node.name": node_of(rank),
            "gpu.uuid": GPUS[rank], "gpu.index": rank % 4, "pci.bdf": f"0000:{0x10 + rank:02x}:00.0",
            "metric": "gpu_throttle_reasons", "value": bits}


def fires_on_throttled_gpu():
    """Rank 5 is late, and its GPU reports hw thermal slowdown; the others only their power cap."""
    return written(
        members(range(8)),
        *(gpu(r) for r in range(8)),
        *(throttled(r, 3 + r / 100, 0x48 if r == 5 else 4) for r in range(8)),
        *collectives(14, one_late(0.4)),
    )


def transfers(count, took, at=0.0):
    """A pipeline of four stages; took(a, b) seconds for the link from a to b."""
    out = []
    for i in range(count):
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
            start = at + i + 0.1 * a
            end = start + 0.03 + took(a, b)
            for rank, peer, send, entered in ((a, b, True, start), (b, a, False, start + 0.03)):
                more = {"nccl.op": f"send {a}->{b}" if send else f"recv {b}<-{a}", "nccl.p2p": True,
                        "nccl.send": send, "nccl.peer": peer, "nccl.sizes_in": "[[2048, 1, 5120]]",
                        "nccl.started": nanoseconds(entered)}
                out.append(record(rank, 50 + 2 * i + (not send), entered - 0.01, end, group="pp", **more))
    return out


def fires_on_slow_link():
    """Transfers from rank 1 to rank 2 take 90 ms, all others 20 ms, whoever waits for whom."""
    return written(*transfers(14, lambda a, b: 0.09 if (a, b) == (1, 2) else 0.02))


def fires_on_slow_link_there_and_back():
    """The last stage of a pipeline has one neighbour: the way there and the way back are one
    link, and the rank is not blamed for it."""
    events = []
    for i in range(14):
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 0)):
            start = i + 0.1 * a + (0.5 if a > b else 0)
            end = start + 0.03 + (0.09 if 3 in (a, b) else 0.02)
            for rank, peer, send, entered in ((a, b, True, start), (b, a, False, start + 0.03)):
                more = {"nccl.op": f"send {a}->{b}" if send else f"recv {b}<-{a}", "nccl.p2p": True,
                        "nccl.send": send, "nccl.peer": peer, "nccl.sizes_in": "[[2048, 1, 5120]]",
                        "nccl.started": nanoseconds(entered)}
                seq = 50 + 12 * i + 2 * (a + (3 if a > b else 0)) + (not send)
                events.append(record(rank, seq, entered - 0.01, end, group="pp", **more))
    return written(*events)


def fires_on_slow_links_of_rank():
    """Both links of rank 2 are slow: the rank is named. (A fifth and sixth link are as usual.)"""
    events = transfers(14, lambda a, b: 0.09 if 2 in (a, b) else 0.02)
    for e in transfers(14, lambda a, b: 0.02):
        e["rank"] += 4
        e["nccl.peer"] += 4
        e["k8s.node.name"] = node_of(e["rank"])
        events.append(e)
    return written(*events)


def step(rank, n, at, seconds, phase="train", **more):
    return {"kind": "train_step", "time": nanoseconds(at), "k8s.node.name": node_of(rank),
            "job.id": JOB, "rank": rank, "step": n, "phase": phase, "duration": seconds} | more


def steps(count, seconds, first=2, ranks=4, phase="train"):
    return [
        step(r, first + i, 60 + 2 * i + 0.01 * r, seconds(r, i), phase)
        for i in range(count)
        for r in range(ranks)
    ]


def fires_on_step_times():
    """No collectives were seen. Rank 3 takes 1.3 s a step, its peers 1 s, for ten steps."""
    return written(*steps(10, lambda r, i: 1.3 if r == 3 else 1.0 + 0.01 * r))


def megatron(slow, names):
    """Megatron's log of each of 8 ranks: most lines of two ranks are the same, to the letter."""
    def line(rank, i):
        took = 1400.0 if rank == slow else 1000.0
        return (f"[{when(2 * i)[:-1].replace('T', ' ')}] iteration {100 + i}/ 5000 | consumed samples: {100 + i} | "
                f"elapsed time per iteration (ms): {took:.1f} | learning rate: 1.0E-4 |\n")
    return {f"input/{names(r)}": "".join(line(r, i) for i in range(15)) for r in range(8)}


def fires_on_logs_of_ranks():
    """A log for each rank, named after it; the lines name none."""
    return megatron(3, lambda r: f"rank{r}.log")


def stays_quiet_on_equal_logs_of_ranks():
    """The same without a straggler."""
    return megatron(None, lambda r: f"rank{r}.log")


def stays_quiet_on_logs_of_nobody():
    """Logs that say nothing of ranks, neither in their lines nor in their names."""
    return megatron(3, lambda r: f"output-{chr(97 + r)}.log")


def fires_on_scraped_steps():
    """training_step_seconds of each rank, as its program exports it."""
    rows = [
        f'training_step_seconds{{rank="{r}",node="{node_of(r)}",job_id="{JOB}"}} {1.4 if r == 3 else 1.0} {nanoseconds(15 * i) // 1_000_000}\n'
        for i in range(12)
        for r in range(8)
    ]
    return {"input/steps.prom": "".join(rows)}


def fires_on_step_metric():
    """Scraped: step_seconds of rank 3 is 2.6, that of its peers 2.0; a scrape every 15 s."""
    return written(
        *(
            {"kind": "metric", "time": nanoseconds(15 * i + 0.1 * r), "k8s.node.name": node_of(r),
             "job.id": JOB, "rank": r, "metric": "step_seconds", "value": 2.6 if r == 3 else 2.0}
            for i in range(12)
            for r in range(5)
        )
    )


def resolved_when_rank_keeps_up():
    """Rank 5 is late for 14 collectives and then keeps up."""
    return written(members(range(8)), *collectives(26, one_late(0.4, until=14)))


def stays_quiet_at_margin():
    """Twenty percent later than its peers is not more than twenty percent."""
    return written(*steps(20, lambda r, i: 1.2 if r == 3 else 1.0))


def stays_quiet_below_steps():
    """Late for seven steps of the last ten."""
    return written(*steps(20, lambda r, i: 1.5 if r == 3 and 5 <= i < 12 else 1.0))


def stays_quiet_on_skewed_clocks():
    """Nobody is late; the clocks of the nodes are 400 ms and more apart."""
    skew = {"gpu-00": 0, "gpu-01": 0.4}
    lateness = lambda r, i: 0.002 * ((r + i) % 5)  # noqa: E731
    return written(
        members(range(8)), *collectives(16, lateness, skew=lambda r: skew[node_of(r)])
    )


def stays_quiet_on_skew_without_ends():
    """Only arrivals are known, of two nodes whose clocks differ: nothing can be said."""
    skew = {"gpu-00": 0, "gpu-01": 0.4}
    events = collectives(16, lambda r, i: 0, skew=lambda r: skew[node_of(r)])
    for e in events:
        del e["nccl.completed"], e["nccl.state"]
    return written(members(range(8)), *events)


def stays_quiet_on_changing_last():
    """Someone is late in each collective, but another one each time: jitter."""
    return written(members(range(8)), *collectives(24, lambda r, i: 0.5 if i % 8 == r else 0))


def stays_quiet_on_queue_depth():
    """Rank 0 queues its calls later than the others (it logs), but all are queued before the one
    before has ended: nobody waits for it."""
    events = []
    for i in range(16):
        for r in range(8):
            created = i - (0.2 if r == 0 else 0.9)
            events.append(record(r, 100 + i, 10 + created, 10 + i + 1.0))
    return written(members(range(8)), *events)


def stays_quiet_on_evaluation():
    """Rank 0 evaluates alone for twenty steps."""
    return written(*steps(20, lambda r, i: 3.0 if r == 0 else 1.0, phase="eval"))


def stays_quiet_on_checkpoints():
    """Rank 0 writes a checkpoint each time before it goes on: its being late is excused."""
    events = [members(range(4))]
    at = 0.0
    for i in range(20):
        entries = {r: at + 1 + (0.6 if r == 0 else 0) for r in range(4)}
        for state, when in (("begin", at + 0.9), ("end", at + 1.55)):
            events.append({"kind": "checkpoint", "time": nanoseconds(when), "job.id": JOB, "rank": 0,
                           "step": i, "state": state})
        at = max(entries.values()) + 0.02
        events += [record(r, 100 + i, entries[r], at) for r in range(4)]
    return written(*events)


def stays_quiet_on_one_slow_step():
    """One step is three times as long for rank 2, with eighty collectives in it."""
    events = []
    at = 0.0
    for i in range(110):
        slow = 0.02 if 20 <= i < 100 else 0
        entries = {r: at + 0.01 + (slow if r == 2 else 0) for r in range(4)}
        at = max(entries.values()) + 0.0005
        events += [record(r, 100 + i, entries[r], at) for r in range(4)]
    return written(members(range(4)), *events)


def stays_quiet_on_pair():
    """Of two ranks, one is late: which of them is the odd one cannot be told."""
    return written(members([0, 1]), *collectives(20, lambda r, i: 0.4 * r, ranks=[0, 1]))


def stays_quiet_on_root_of_broadcast():
    """The root of a broadcast does not wait for anyone."""
    events = collectives(20, one_late(0.4))
    for e in events:
        e["nccl.op"] = "broadcast"
    return written(members(range(8)), *events)


def degrades_to_arrivals_on_one_node():
    """No ends are known, but all ranks run on one node and share its clock: partial."""
    events = collectives(14, one_late(0.4, who=2), ranks=range(4))
    for e in events:
        del e["nccl.completed"], e["nccl.state"]
    return written(members(range(4)), *events)


def degrades_without_one_dump():
    """Nothing is known of rank 7: the others are compared."""
    events = collectives(14, one_late(0.4))
    return written(members(range(8)), *(e for e in events if e["rank"] != 7))


def degrades_replayed_events():
    """Told twice, by two collectors: one verdict, as if once."""
    events = collectives(14, one_late(0.4))
    both = written(members(range(8)), *events)
    return {"input/a.ndjson": both["input/events.ndjson"], "input/b.ndjson": both["input/events.ndjson"]}


CASES = [
    fires_on_late_rank,
    fires_on_logs_of_ranks,
    fires_on_scraped_steps,
    stays_quiet_on_equal_logs_of_ranks,
    stays_quiet_on_logs_of_nobody,
    fires_with_clock_skew,
    fires_on_late_node,
    fires_by_kernel_start,
    fires_on_first_cause,
    fires_on_throttled_gpu,
    fires_on_slow_link,
    fires_on_slow_link_there_and_back,
    fires_on_slow_links_of_rank,
    fires_on_step_times,
    fires_on_step_metric,
    resolved_when_rank_keeps_up,
    stays_quiet_at_margin,
    stays_quiet_below_steps,
    stays_quiet_on_skewed_clocks,
    stays_quiet_on_skew_without_ends,
    stays_quiet_on_changing_last,
    stays_quiet_on_queue_depth,
    stays_quiet_on_evaluation,
    stays_quiet_on_checkpoints,
    stays_quiet_on_one_slow_step,
    stays_quiet_on_pair,
    stays_quiet_on_root_of_broadcast,
    degrades_to_arrivals_on_one_node,
    degrades_without_one_dump,
    degrades_replayed_events,
]

if __name__ == "__main__":
    main(__file__, CASES)
