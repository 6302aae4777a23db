# SPDX-License-Identifier: Apache-2.0
"""straggler: ranks that come late to collectives."""

import datetime
import json
import pickle

from field import Pattern
from metrics import GPUS
from otlp import ndjson, otlp_logs
from when import START, millis, moment, stamp

case = Pattern("straggler")


def dump(rank, world, n, late, started=None, dur=40, skew=0, seq0=100, base_step=1.0,
         extra=None, fmt="json", completed_after=0.05):
    ents = []
    for i in range(n):
        st = START.timestamp() + i * base_step + (extra(i) if extra else 0)
        arr = {r: st + late(r, i) for r in range(world)}
        begin = max(arr.values())
        c = int((arr[rank] + skew) * 1000000000.0)
        s = c + 20000
        e = int((begin + skew + completed_after) * 1000000000.0)
        ents.append(
            dict(
                record_id=i,
                pg_id=0,
                process_group=("0", "default_pg"),
                thread_name="",
                thread_id="",
                collective_seq_id=seq0 + i,
                p2p_seq_id=0,
                op_id=seq0 + i,
                profiling_name="nccl:all_reduce",
                time_created_ns=c,
                input_sizes=[[4096, 4096]],
                input_dtypes=["BFloat16"],
                output_sizes=[[4096, 4096]],
                output_dtypes=["BFloat16"],
                state="completed",
                time_discovered_started_ns=s,
                time_discovered_completed_ns=e,
                duration_ms=(e - s) / 1000000.0,
                retired=True,
                timeout_ms=600000,
                is_p2p=False,
            ),
        )
    ents = (
        [dict(x, process_group=list(x["process_group"])) for x in ents]
        if fmt == "json"
        else [dict(x, frames=[{"name": "train", "filename": "train.py", "line": 10}]) for x in ents]
    )
    last = seq0 + n - 1
    v = lambda x: str(x) if fmt == "json" else x
    d = dict(
        version="2.9" if fmt == "json" else "2.10",
        pg_config={"0": dict(name="0", desc="default_pg", ranks=str(list(range(world))))},
        pg_status={
            "0": dict(
                last_enqueued_collective=v(last),
                last_started_collective=v(last),
                last_completed_collective=v(last),
            ),
        },
        entries=ents,
    )
    d["nccl_version" if fmt == "json" else "comm_lib_version"] = "2.21.5"
    return json.dumps(d) if fmt == "json" else pickle.dumps(d, protocol=2)


jitter = lambda r, i: (r * 7919 + i * 104729) % 1000 * 1e-06
WORLD = 8

case.fires(
    "st_f01_fr_pickle_late",
    {
        "nccl_trace_rank_%d" % r: dump(
            r,
            WORLD,
            30,
            lambda r, i: jitter(r, i) + (0.4 if r == 5 else 0),
            fmt="pickle",
        )
        for r in range(WORLD)
    },
    disc="slow_host", rank=5,
)

case.fires(
    "st_f02_fr_json_late_skew",
    {
        "nccl_trace_rank_%d.json" % r: dump(
            r,
            WORLD,
            30,
            lambda r, i: jitter(r, i) + (0.4 if r == 2 else 0),
            skew=r % 3 * 1.7,
        )
        for r in range(WORLD)
    },
    rank=2,
)


def steps(durs, skew=0, phase=None, job="llm-7", start=1000, wall=None, nodes=True, jobattr=True):
    "durs(r,i)->step seconds; NDJSON train_step"
    ev = []
    for r in range(WORLD):
        tt = 0
        for i in range(40):
            tt += (wall or durs)(r, i)
            e = {
                "kind": "train_step",
                "time": stamp(tt + skew * r),
                "rank": r,
                "step": start + i,
                "duration": round(durs(r, i), 4),
            }
            if nodes:
                e["k8s.node.name"] = "gpu-%02d" % (r // 4)
            if jobattr:
                e["job.id"] = job
            if phase and phase(i):
                e["phase"] = phase(i)
            ev.append(e)
    ev.sort(key=lambda e: e["time"])
    return ev


case.fires(
    "st_f03_ndjson_steps",
    {"e.ndjson": ndjson(steps(lambda r, i: 1.0 + jitter(r, i) + (0.3 if r == 3 else 0)))},
    rank=3,
)

case.fires(
    "st_f03b_ndjson_steps_nojob",
    {
        "e.ndjson": ndjson(
            steps(
                lambda r, i: 1.0 + jitter(r, i) + (0.3 if r == 3 else 0),
                nodes=False,
                jobattr=False,
            ),
        ),
    },
    rank=3,
)


def seconds_of(event):
    at = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00"))
    return (at - START).total_seconds()


def step_records(events):
    """The same steps as log records, by the names of the semantic conventions."""
    text = ""
    for e in events:
        fields = {"rank": e["rank"], "training.step": e["step"]}
        fields["training.step.duration"] = e["duration"]
        if "phase" in e:
            fields["training.phase"] = e["phase"]
        resource = {
            "k8s.node.name": e["k8s.node.name"],
            "k8s.pod.name": f"llm-7-worker-{e['rank']}",
            "k8s.namespace.name": "train",
            "k8s.job.name": "llm-7",
        }
        text += otlp_logs([(seconds_of(e), f"step {e['step']} done", fields)], resource)
    return text


case.fires(
    "st_f04_otlp_steps",
    {"l.json": step_records(steps(lambda r, i: 1.0 + jitter(r, i) + (0.25 if r == 6 else 0)))},
    rank=6,
)


def plain_step_records(events):
    """By plain names."""
    text = ""
    for e in events:
        fields = {"rank": e["rank"], "step": e["step"], "duration": e["duration"]}
        resource = {
            "k8s.node.name": e["k8s.node.name"],
            "k8s.pod.name": f"llm-7-worker-{e['rank']}",
            "job.id": "llm-7",
        }
        text += otlp_logs([(seconds_of(e), "step done", fields)], resource)
    return text


case.fires(
    "st_f05_otlp_plain_attr",
    {
        "l.json": plain_step_records(
            steps(lambda r, i: 1.0 + jitter(r, i) + (0.25 if r == 6 else 0)),
        ),
    },
    rank=6,
)


def records(late, n=30, world=WORLD, skew=lambda r: 0, comp=0.05, dur=None, step=1.0,
            keyed=True, noev=lambda i: 0):
    ev = []
    for i in range(n):
        st = i * step + noev(i)
        arr = {r: st + late(r, i) for r in range(world)}
        b = max(arr.values())
        for r in range(world):
            e = {
                "kind": "nccl_record",
                "time": stamp(arr[r] + skew(r)),
                "k8s.node.name": "gpu-%02d" % (r // 4),
                "job.id": "llm-7",
                "rank": r,
                "nccl.group": "0",
                "nccl.op": "all_reduce",
                "nccl.seq": 100 + i,
                "nccl.state": "completed",
                "nccl.started": stamp(arr[r] + skew(r)),
                "nccl.completed": stamp(b + skew(r) + comp + (dur(r, i) if dur else 0)),
            }
            ev.append(e)
    ev.sort(key=lambda e: e["time"])
    return ev


case.fires(
    "st_f06_records_late",
    {"e.ndjson": ndjson(records(lambda r, i: jitter(r, i) + (0.35 if r == 1 else 0)))},
    disc="slow_host", rank=1,
)

case.fires(
    "st_f07_records_no_completed",
    {
        "e.ndjson": ndjson(
            [
                {k: v for k, v in e.items() if k not in ("nccl.started", "nccl.completed")}
                for e in records(lambda r, i: jitter(r, i) + (0.35 if r == 1 else 0))
            ],
        ),
    },
    rank=1,
)
heat = lambda node, u: [
    {
        "kind": "metric",
        "time": stamp(s),
        "k8s.node.name": node,
        "gpu.uuid": u,
        "gpu.index": 1,
        "rank": -1,
        "metric": m,
        "value": v,
    }
    for s in range(0, 40, 5)
    for m, v in (("gpu_throttle_reasons", 72), ("gpu_temperature", 93))
]
case.fires(
    "st_f08_slow_gpu",
    {
        "a.ndjson": ndjson(records(lambda r, i: jitter(r, i) + (0.35 if r == 1 else 0), n=40)),
        "b.ndjson": ndjson(heat("gpu-00", GPUS[1])),
        "c.ndjson": ndjson(
            [
                {
                    "kind": "rank_place",
                    "time": stamp(-5),
                    "k8s.node.name": "gpu-%02d" % (r // 4),
                    "job.id": "llm-7",
                    "rank": r,
                    "gpu.uuid": GPUS[r],
                    "gpu.index": r % 4,
                }
                for r in range(WORLD)
            ],
        ),
    },
    disc="slow_gpu", rank=1,
    others=["thermal_throttle"], why="the heat is an incident of its own, and the root",
)

case.fires(
    "st_f09_slow_node",
    {"e.ndjson": ndjson(records(lambda r, i: jitter(r, i) + (0.35 if r >= 4 else 0)))},
)

case.fires(
    "st_f10_exact10steps",
    {
        "e.ndjson": ndjson(
            steps(lambda r, i: 1.0 + jitter(r, i) + (0.5 if r == 3 and i >= 30 else 0)),
        ),
    },
    rank=3,
)

case.fires(
    "st_f11_step_seconds_metric",
    {
        "p.prom": "".join(
            'training_step_seconds{rank="%d",node="gpu-%02d",job_id="llm-7"} %.3f %d\n' % (
                r,
                r // 4,
                1.0 + jitter(r, i) + (0.4 if r == 3 else 0),
                millis(i * 2),
            )
            for i in range(40)
            for r in range(WORLD)
        ),
    },
    rank=3,
)

case.fires(
    "st_f12_megatron_logs",
    {
        "rank%d.log" % r: "".join(
            (
                "[%s] iteration %d/ 5000 | consumed samples: 100 | elapsed time per iteration "
                "(ms): %.1f | learning rate: 1.0E-4 |\n"
            ) % (
                moment(i * 2).strftime("%Y-%m-%d %H:%M:%S"),
                100 + i,
                1000 * (1.0 + jitter(r, i) + (0.4 if r == 3 else 0)),
            )
            for i in range(40)
        )
        for r in range(WORLD)
    },
    rank=3,
)

case.silent(
    "st_q01_even",
    {
        "nccl_trace_rank_%d" % r: dump(r, WORLD, 30, lambda r, i: jitter(r, i), fmt="pickle")
        for r in range(WORLD)
    },
)

case.silent(
    "st_q02_const_skew",
    {
        "nccl_trace_rank_%d" % r: dump(
            r,
            WORLD,
            30,
            lambda r, i: jitter(r, i),
            skew=r * 0.8,
            fmt="pickle",
        )
        for r in range(WORLD)
    },
)

case.silent(
    "st_q02b_records_skew",
    {"e.ndjson": ndjson(records(lambda r, i: jitter(r, i), skew=lambda r: 2.0 if r >= 4 else 0))},
)

case.silent(
    "st_q03_rotating_last",
    {"e.ndjson": ndjson(records(lambda r, i: jitter(r, i) + (0.4 if r == i % WORLD else 0)))},
)

case.silent(
    "st_q04_10pct",
    {"e.ndjson": ndjson(steps(lambda r, i: 1.0 + jitter(r, i) + (0.1 if r == 3 else 0)))},
)

case.silent(
    "st_q05_eval_ckpt",
    {
        "e.ndjson": ndjson(
            steps(
                lambda r, i: 1.0 + jitter(r, i) + (9 if r == 0 and 10 <= i < 22 else 0),
                phase=lambda i: "eval" if 10 <= i < 22 else "train",
            ),
        ),
    },
)

case.silent(
    "st_q06_warmup",
    {
        "e.ndjson": ndjson(
            steps(lambda r, i: 1.0 + jitter(r, i) + (9 if r == 0 and i < 3 else 0), start=0),
        ),
    },
)

case.silent(
    "st_q07_nine",
    {
        "e.ndjson": ndjson(
            steps(lambda r, i: 1.0 + jitter(r, i) + (0.5 if r == 3 and 20 <= i < 29 else 0)),
        ),
    },
)

case.silent(
    "st_q08_ckpt_steps_rank0",
    {
        "e.ndjson": ndjson(
            sorted(
                (
                    steps(lambda r, i: 1.0 + jitter(r, i) + (8 if r == 0 and i % 10 == 9 else 0))
                    + [
                        {
                            "kind": "checkpoint",
                            "time": stamp(i * 1.0 + 8 * (i // 10)),
                            "job.id": "llm-7",
                            "rank": 0,
                            "step": 1000 + i,
                            "state": s,
                        }
                        for i in (9, 19, 29, 39)
                        for s in ("begin", "end")
                    ]
                ),
                key=lambda e: e["time"],
            ),
        ),
    },
)

case.silent(
    "st_q09_one_rank_only",
    {
        "e.ndjson": ndjson(
            [
                e
                for e in steps(lambda r, i: 1.0 + jitter(r, i) + (0.5 if i > 20 else 0))
                if e["rank"] == 3
            ],
        ),
    },
)

case.silent(
    "st_q10_all_slow_together",
    {"e.ndjson": ndjson(steps(lambda r, i: 1.0 + jitter(r, i) + (1.0 if i >= 15 else 0)))},
)

case.silent(
    "st_q11_few_spikes",
    {
        "l.json": step_records(
            steps(lambda r, i: 1.0 + jitter(r, i) + (3 if r == 6 and i in (5, 12, 30) else 0)),
        ),
    },
)

case.silent(
    "st_q12_two_jobs",
    {
        "e.ndjson": ndjson(
            sorted(
                (
                    steps(lambda r, i: 1.0 + jitter(r, i), job="a")
                    + steps(lambda r, i: 2.0 + jitter(r, i), job="b")
                ),
                key=lambda e: e["time"],
            ),
        ),
    },
)

case.silent(
    "st_q13_first_seq_init",
    {
        "nccl_trace_rank_%d" % r: dump(
            r,
            WORLD,
            14,
            lambda r, i: jitter(r, i) + (20 if r == 3 and i < 2 else 0),
            seq0=1,
            fmt="pickle",
            extra=lambda i: 40 if i > 1 else 0,
        )
        for r in range(WORLD)
    },
)
