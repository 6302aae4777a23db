# SPDX-License-Identifier: Apache-2.0
"""nccl_hang: collectives that do not end."""

import json
import pickle

from field import Pattern
from otlp import event
from when import nanos, second

case = Pattern("nccl_hang")


def entry(rid, seq, state, s, op="nccl:all_reduce", pg=("0", "default_pg"), sizes=[[1024]],
          dt=["BFloat16"], js=False, started=True):
    c = int(nanos(s))
    return {
        "record_id": rid,
        "pg_id": 0,
        "process_group": list(pg) if js else tuple(pg),
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": seq,
        "profiling_name": op,
        "time_created_ns": c,
        "input_sizes": sizes,
        "input_dtypes": dt,
        "output_sizes": sizes,
        "output_dtypes": dt,
        "state": state,
        "time_discovered_started_ns": c + 10 ** 6 if state != "scheduled" else 0 if js else None,
        "time_discovered_completed_ns": (
            c + 2 * 10 ** 6
            if state == "completed"
            else 0 if js else None
        ),
        "retired": state == "completed",
        "timeout_ms": 600000,
        "is_p2p": False,
        **(
            {}
            if js
            else {"frames": [{"name": "train", "filename": "t.py", "line": 3}], "duration_ms": None}
        ),
    }


def dump(rank, ents, ranks, last, js=False, desc="default_pg", ver="2.9"):
    st = {
        "last_enqueued_collective": last[0],
        "last_started_collective": last[1],
        "last_completed_collective": last[2],
    }
    if js:
        st = {k: str(v) for k, v in st.items()}
    d = {
        "version": ver,
        "nccl_version": "2.21.5",
        "pg_config": {"0": {"name": "0", "desc": desc, "ranks": str(ranks)}},
        "pg_status": {"0": st},
        "entries": ents,
    }
    return json.dumps(d) if js else pickle.dumps(d, protocol=2)


def job(n, miss, js, state="started", group=None):
    g = list(range(n))
    f = {}
    for r in g:
        ents = [entry(i, i + 1, "completed", i, js=js) for i in range(5)]
        if r not in miss:
            ents.append(entry(5, 6, state, 6, js=js))
            last = (6, 6 if state == "started" else 5, 5)
        else:
            last = (5, 5, 5)
        f["nccl_trace_rank_%d" % r + (".json" if js else "")] = dump(r, ents, g, last, js)
    return f


case.fires("nccl_f1_pickle_missing", job(4, {2}, False), disc="missing_rank", rank=2)
case.fires("nccl_f2_json_missing", job(4, {0}, True), disc="missing_rank", rank=0)
case.fires("nccl_f3_allstuck", job(4, set(), False), disc="all_stuck")


def other_op(js):
    f = job(4, set(), js)
    ents = (
        [entry(i, i + 1, "completed", i, js=js) for i in range(5)]
        + [entry(5, 6, "started", 6, op="nccl:all_gather", js=js)]
    )
    f["nccl_trace_rank_3" + (".json" if js else "")] = dump(3, ents, [0, 1, 2, 3], (6, 6, 5), js)
    return f


case.fires("nccl_f4_opmismatch", other_op(False), disc="op_mismatch", rank=3)


def other_size(js):
    f = job(4, set(), js)
    ents = (
        [entry(i, i + 1, "completed", i, js=js) for i in range(5)]
        + [entry(5, 6, "started", 6, sizes=[[999]], js=js)]
    )
    f["nccl_trace_rank_1" + (".json" if js else "")] = dump(1, ents, [0, 1, 2, 3], (6, 6, 5), js)
    return f


case.fires("nccl_f5_size", other_size(True), disc="size_mismatch", rank=1)


def rank_record(rank, s, seq, state, group="tp", **k):
    return event(
        kind="nccl_record",
        time=second(s),
        **{
            "job.id": "j9",
            "rank": rank,
            "nccl.group": group,
            "nccl.op": "all_reduce",
            "nccl.seq": seq,
            "nccl.state": state,
            **k,
        },
    )


case.fires(
    "nccl_f6_ndjson",
    {
        "e.ndjson": (
            "".join((rank_record(r, 0, 10, "completed") for r in range(4)))
            + "".join((rank_record(r, 10, 11, "started") for r in (0, 1, 3)))
            + rank_record(0, 10, 11, "started", group="dp")
            + rank_record(1, 10, 11, "started", group="dp")
            + rank_record(0, 310, 12, "completed", group="zz")
            + rank_record(1, 310, 12, "completed", group="zz")
        ),
    },
    disc="missing_rank", rank=2,
    others=["nccl_hang"], why="group dp waits as well, for the same rank: one incident per group",
)


def ras(s, counts, size=None, missing=(), commsize=None, flags={}):
    n = size or len(counts)
    return (
        json.dumps(
            {
                "nccl_version": "2.29.1",
                "cuda_runtime_version": 13000,
                "cuda_driver_version": 13000,
                "timestamp": second(s)[:19].replace("T", " "),
                "communicators_count": 1,
                "communicators": [
                    {
                        "hash": "0xae94423cfbb2ef4a",
                        "secondary_hash": "0xb7e7187447156001:0xb8242ed28a71381e",
                        "size": n,
                        "ranks_count": len(counts),
                        "missing_ranks_count": len(missing),
                        "ranks": [
                            {
                                "rank": r,
                                "host": "172.16.64.%d" % (10 + r // 2),
                                "pid": 15000 + r,
                                "cuda_dev": r % 2,
                                "nvml_dev": r % 2,
                                "status": {
                                    "init_state": 0,
                                    "async_error": 0,
                                    "finalize_called": False,
                                    "destroy_flag": False,
                                    "abort_flag": False,
                                },
                                "collective_counts": {
                                    "Broadcast": 0,
                                    "Reduce": 0,
                                    "AllGather": 0,
                                    "ReduceScatter": 0,
                                    "AllReduce": c,
                                },
                            }
                            for r, c in counts.items()
                        ],
                        "missing_ranks": [
                            {
                                "rank": r,
                                "host": "172.16.64.%d" % (10 + r // 2),
                                "pid": 15000 + r,
                                "cuda_dev": r % 2,
                                "nvml_dev": r % 2,
                                "status": {"unresponsive": True, "considered_dead": True},
                            }
                            for r in missing
                        ],
                    },
                ],
                "ras": {"collection_time_sec": 0.01, "timeouts_count": 0},
            },
            indent=2,
        )
        + "\n"
    )


case.fires(
    "nccl_f7_ras_behind",
    {
        "ras_1.json": ras(0, {0: 101, 1: 100, 2: 101, 3: 101}),
        "ras_2.json": ras(300, {0: 101, 1: 100, 2: 101, 3: 101}),
    },
    disc="missing_rank", rank=1,
)

case.fires(
    "nccl_f8_ras_dead",
    {"ras.json": ras(0, {0: 101, 1: 101, 3: 101}, 4, (2,))},
    disc="missing_rank", rank=2,
)


def xpu(s, vals):
    return (
        "# TYPE XPU_TIMER_COMMON_HANG gauge\n"
        + "".join(
            (
                'XPU_TIMER_COMMON_HANG{ip="11.36.23.0",job_name="aistudio-1",local_rank="%d",'
                'pod_name="aistudio-worker-0",rank="%d"} %d\n'
            ) % (r, r, v)
            for r, v in enumerate(vals)
        )
    )


case.fires(
    "nccl_f9_xpu",
    {"xpu_timer_20260512T080000Z.prom": xpu(0, [1, 1, 1, 1])},
    disc="watchdog",
)

case.fires(
    "nccl_f10_dtype_ndjson",
    {
        "e.ndjson": (
            "".join(
                rank_record(
                    r,
                    0,
                    11,
                    "started",
                    **{
                        "nccl.dtypes_in": "[Float]" if r == 2 else "[BFloat16]",
                        "nccl.sizes_in": "[[8]]",
                    },
                )
                for r in range(4)
            )
            + rank_record(0, 301, 1, "completed", group="zz")
        ),
    },
    disc="dtype_mismatch", rank=2,
)

case.silent("nccl_q1_completed", job(4, set(), False, "completed"))
case.silent(
    "nccl_q2_young",
    {
        "e.ndjson": (
            "".join((rank_record(r, 10, 11, "started") for r in (0, 1, 3)))
            + rank_record(2, 309, 3, "completed", group="zz")
        ),
    },
    args=["--now", second(309)],
)

case.silent(
    "nccl_q2b_young_events",
    {
        "e.ndjson": (
            "".join((rank_record(r, 0, 10, "completed") for r in range(4)))
            + "".join((rank_record(r, 10, 11, "started") for r in (0, 1, 3)))
            + rank_record(2, 309, 3, "completed", group="zz")
        ),
    },
)

case.silent(
    "nccl_q3_completed_later",
    {
        "e.ndjson": (
            "".join((rank_record(r, 10, 11, "started") for r in (0, 1, 3)))
            + "".join(
                rank_record(r, 10, 11, "completed", **{"nccl.completed": second(500)})
                for r in range(4)
            )
            + rank_record(2, 900, 3, "completed", group="zz")
        ),
    },
)


def solo(js):
    return {
        "nccl_trace_rank_0" + (".json" if js else ""): dump(
            0,
            [entry(0, 1, "started", 0, js=js)],
            [0],
            (1, 1, 0),
            js,
        ),
    }


case.silent("nccl_q4_solo_pickle", solo(False))
case.silent("nccl_q5_solo_json", solo(True))
case.silent(
    "nccl_q6_ras_equal",
    {
        "ras_1.json": ras(0, {0: 101, 1: 101, 2: 101, 3: 101}),
        "ras_2.json": ras(300, {0: 101, 1: 101, 2: 101, 3: 101}),
    },
)

case.silent(
    "nccl_q7_ras_299",
    {
        "ras_1.json": ras(0, {0: 101, 1: 100, 2: 101, 3: 101}),
        "ras_2.json": ras(299, {0: 101, 1: 100, 2: 101, 3: 101}),
    },
)

case.silent("nccl_q8_xpu0", {"xpu_timer_20260512T080000Z.prom": xpu(0, [0, 0, 0, 0])})
case.silent("nccl_q9_young_now", job(4, {2}, False), args=["--now", second(200)])
case.silent(
    "nccl_q10_ras_moving",
    {
        "ras_1.json": ras(0, {0: 101, 1: 100, 2: 101, 3: 101}),
        "ras_2.json": ras(400, {0: 301, 1: 300, 2: 301, 3: 301}),
    },
)

case.silent("nccl_q11_json_completed", job(4, set(), True, "completed"))
case.silent("nccl_q12_ras_single", {"ras_1.json": ras(0, {0: 101, 1: 100, 2: 101, 3: 101})})
