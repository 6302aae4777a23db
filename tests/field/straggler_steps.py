# SPDX-License-Identifier: Apache-2.0
"""straggler: ranks whose steps take longer, by what training reports."""

from field import Pattern
from kubernetes import node
from otlp import event, log_request, pod_resource, record
from training import titan_step
from when import second

case = Pattern("straggler")


def steps(slow, n=30, rank=5, ranks=8, slowdur=1.4, phase=None, jitter=None, start=10,
          node=lambda r: "gpu-f%d" % (r // 4), dur=1.0, only=None, job_="j7"):
    out = ""
    for i in range(n):
        for r in range(ranks):
            d = dur
            if r == rank and (only is None or i in only):
                d = slowdur
            if slow is False:
                d = dur
            k = {"rank": r, "k8s.node.name": node(r), "job.id": job_}
            if phase:
                k["phase"] = phase
            out += event(kind="train_step", time=second(i * 2), step=start + i, duration=d, **k)
    return out


case.fires("st_f1_ndjson", {"e.ndjson": steps(True)}, disc="slow_host", rank=5)


def otlpsteps(n=30, rank=3, ranks=4, slow=1.5, phase="train", attr="gen_ai.training.step.duration"):
    out = ""
    for i in range(n):
        for r in range(ranks):
            out += log_request(
                pod_resource("tr-%d" % r, node="gpu-f%d" % r, **{"k8s.job.name": "tr"}),
                [
                    record(
                        i * 2,
                        "step",
                        {
                            "gen_ai.training.step": 100 + i,
                            "gen_ai.training.phase": phase,
                            "rank": r,
                            attr: slow if r == rank else 1.0,
                        },
                    ),
                ],
            )
    return out


case.fires("st_f2_otlp", {"l.json": otlpsteps()}, disc="slow_host", rank=3)


def megatron_log(r, n=30, slow=1.0):
    return "".join(
        (
            " [%s] iteration %8d/   10000 | consumed samples: %12d | elapsed time per iteration "
            "(ms): %.1f | learning rate: 1.0E-4 | global batch size:  1024 | lm loss: 2.1E+00 | "
            "loss scale: 1.0 | grad norm: 0.4 | number of skipped iterations:   0 | number of "
            "nan iterations:   0 |\n"
        ) % (second(2 * i)[:19].replace("T", " "), 100 + i, i * 1024, 1000 * slow)
        for i in range(n)
    )


case.fires(
    "st_f3_megatron_ranks",
    {
        "rank_%d.log" % r: "".join(
            "[rank%d]:" % r + l + "\n"
            for l in megatron_log(r, slow=1.6 if r == 2 else 1.0).splitlines()
        )
        for r in range(4)
    },
    disc="slow_host", rank=2,
)

case.fires(
    "st_f4_node",
    {
        "e.ndjson": "".join(
            event(
                kind="train_step",
                time=second(i * 2),
                step=50 + i,
                duration=1.5 if r // 2 == 1 else 1.0,
                **{"rank": r, "k8s.node.name": "gpu-f%d" % (r // 2), "job.id": "j7"},
            )
            for i in range(30)
            for r in range(8)
        ),
    },
    disc="slow_host", node="gpu-f1",
)

case.fires(
    "st_f5_metric",
    {
        "e.ndjson": "".join(
            event(
                kind="metric",
                metric="step_seconds",
                time=second(i * 2),
                value=(1.5 if r == 6 else 1.0) + i * 0.001,
                **{"rank": r, "k8s.node.name": "gpu-f%d" % (r // 4), "job.id": "j7"},
            )
            for i in range(30)
            for r in range(8)
        ),
    },
    rank=6,
)

case.fires("st_f6_121", {"e.ndjson": steps(True, slowdur=1.21)}, rank=5)
case.fires(
    "st_f7_gpu",
    {
        "e.ndjson": (
            steps(True)
            + "".join(
                event(
                    kind="metric",
                    metric="gpu_throttle_reasons",
                    time=second(i * 5),
                    value=64,
                    **{"k8s.node.name": "gpu-f1", "gpu.uuid": "GPU-5", "gpu.index": 1},
                )
                for i in range(10)
            )
            + event(
                kind="rank_place",
                rank=5,
                **{"k8s.node.name": "gpu-f1", "gpu.uuid": "GPU-5", "gpu.index": 1, "job.id": "j7"},
            )
        ),
    },
    disc="slow_gpu", rank=5, others=["thermal_throttle"],
)

case.fires("st_f8_exactly10", {"e.ndjson": steps(True, n=12)}, rank=5)
case.silent("st_q1_even", {"e.ndjson": steps(False)})
case.silent("st_q2_one_step", {"e.ndjson": steps(True, only={12})})
case.silent("st_q3_exact20", {"e.ndjson": steps(True, slowdur=1.2)})
case.silent("st_q4_eval", {"e.ndjson": steps(True, phase="eval")})
case.silent("st_q5_9steps", {"e.ndjson": steps(True, n=9)})
case.silent("st_q6_two_ranks", {"e.ndjson": steps(True, ranks=2, rank=1)})
case.silent("st_q7_all_slow", {"e.ndjson": steps(False, dur=9.0)})
case.silent(
    "st_q8_alternating",
    {
        "e.ndjson": "".join(
            event(
                kind="train_step",
                time=second(i * 2),
                step=50 + i,
                duration=1.5 if r == i % 8 else 1.0,
                **{"rank": r, "k8s.node.name": "gpu-f%d" % (r // 4), "job.id": "j7"},
            )
            for i in range(40)
            for r in range(8)
        ),
    },
)

case.silent(
    "st_q9_titan_rank0",
    {"t.log": "".join((titan_step(i * 2 if i < 20 else i * 6, 100 + i) for i in range(40)))},
)

case.silent(
    "st_q10_megatron_even",
    {
        "rank_%d.log" % r: "".join(
            "[rank%d]:" % r + l + "\n"
            for l in megatron_log(r).splitlines()
        )
        for r in range(4)
    },
)
