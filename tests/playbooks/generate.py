# SPDX-License-Identifier: Apache-2.0
"""Scenarios with a known cause, as files that `tracecore run add` reads: a run, and one to three runs
before it that were well.

  generate.py DIR [--seed N] [--cause PLAYBOOK:CAUSE]   writes one case and prints where it is
"""
import argparse
import json
import pathlib
import random

import scheduling
import serving
import training

PLAYBOOKS = {
    "tail_latency_regression": (serving.case, serving.CAUSES),
    "low_gpu_utilization": (training.case, training.LOW_UTILIZATION),
    "distributed_straggler": (training.case, training.STRAGGLER),
    "scheduler_backpressure": (scheduling.case, scheduling.CAUSES),
}
CAUSES = [f"{p}:{c}" for p, (_, causes) in PLAYBOOKS.items() for c in causes]
START = 1772589600  # 2026-03-04T02:00:00Z


def write_case(folder, seed, cause, kind="cause"):
    """kind: "cause"; "nothing" (the run is as well as those before); "blind" (the cause acts, and what
    would show it was not recorded)."""
    rng = random.Random(f"{seed} {cause} {kind}")
    playbook, name = cause.split(":")
    make, _ = PLAYBOOKS[playbook]
    plan, families, decisive, world = make(rng, name)
    present = [f for f in families if f in decisive or rng.random() < 0.65]
    if kind == "blind":
        present = [f for f in present if f == "dcgm" and name != "thermal"]  # which DCGM shows
    folder = pathlib.Path(folder)
    before = [world(rng, plan, None, START + n * 86400) for n in range(rng.choice([1, 1, 3]))]
    bases = [w.write(folder / f"base-{n + 1}", present) for n, w in enumerate(before)]
    run = world(rng, plan, None if kind == "nothing" else name, START + 4 * 86400)
    while kind != "nothing" and hasattr(run, "shows") and not run.shows(before[0]):
        plan["severity"] *= 0.8 if plan["severity"] > 0.1 else 10  # shorter, until it is only a tail
        run = world(rng, plan, name, START + 4 * 86400)
    case = {"seed": seed, "kind": kind, "cause": cause if kind == "cause" else None, "playbook": playbook,
            "present": present, "bases": bases, "run": run.write(folder / "run", present)}
    if isinstance(run, serving.Serving):
        case["culprit"] = run.nodes[run.victim] if name in ("throttling", "restarts") else None
    elif name in training.STRAGGLER:
        case["culprit"] = run.slow_node
    (folder / "case.json").write_text(json.dumps(case, indent=1), encoding="utf-8")
    return case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cause", default=CAUSES[0], choices=CAUSES)
    parser.add_argument("--kind", default="cause", choices=("cause", "nothing", "blind"))
    args = parser.parse_args()
    case = write_case(args.dir, args.seed, args.cause, args.kind)
    print(json.dumps({k: v for k, v in case.items() if k not in ("bases", "run")}))


if __name__ == "__main__":
    main()
