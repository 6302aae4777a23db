#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes examples/incident, which ./dev run shows. --check compares only, and replays it.

The story: eight ranks, tensor-parallel on two nodes, data-parallel between them. The GPU of rank 5
falls off the bus of gpu-07 in the middle of an all_reduce. Its three neighbours had completed that
one and wait in the next; the four ranks of gpu-06 wait for their partners on gpu-07.
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE / "nccl_hang"))

from fr import Job  # noqa: E402
from making import event, k8s_list, pod, uid, when  # noqa: E402

TARGET = ROOT / "examples"
NODES = ("gpu-06", "gpu-07")
BUSES = ("1b:00", "43:00", "52:00", "b3:00")
BROKEN = 5
STEP = 4211  # the all_reduce in which the GPU is lost
LOST = 41  # seconds into the morning


def gpu(rank):
    return "GPU-" + uid("gpu", NODES[rank // 4], BUSES[rank % 4])


def dumps():
    job = Job(8)
    for i in (0, 1):
        job.group(str(1 + i), "TENSOR_PARALLEL_GROUP", range(4 * i, 4 * i + 4))
        job.history(str(1 + i), "all_reduce", STEP - 4, STEP - 1, at=LOST - 4)
    for i in range(4):
        job.group(str(3 + i), "DATA_PARALLEL_GROUP", [i, 4 + i])
        job.history(str(3 + i), "all_reduce", 210, 211, at=LOST - 9)
    job.issue("1", "all_reduce", STEP, at=LOST)
    job.issue("1", "all_reduce", STEP + 1, at=LOST + 1)
    for i in range(4):
        job.issue(str(3 + i), "all_reduce", 212, LOST + 2, [i], "started")
    job.issue("2", "all_reduce", STEP, LOST, [4, 6, 7])
    job.issue("2", "all_reduce", STEP, LOST, [BROKEN], "started")
    job.issue("2", "all_reduce", STEP + 1, LOST + 1, [4, 6, 7], "started")
    job.issue("2", "all_reduce", STEP + 1, LOST + 1, [BROKEN], "scheduled")
    return job.json_files("llama-pretrain")


def kernel_log():
    def line(at, text):
        return f"{when(at)[:-1]},{(at * 7919 + 104729) % 1000000:06d}+00:00 {text}\n"

    text = line(-93600, "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)")
    text += line(-93588, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07")
    for rank in range(4, 8):
        text += line(-93580, f"NVRM: GPU at PCI:0000:{BUSES[rank % 4]}: {gpu(rank)}")
    text += line(-7190, "eth0: renamed from veth3f1a2b7")
    bus = BUSES[BROKEN % 4]
    xid = f"NVRM: Xid (PCI:0000:{bus}): %d, pid=48211, name=python3, "
    change = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    text += line(LOST, xid % 79 + "GPU has fallen off the bus.")
    text += line(LOST, f"NVRM: GPU 0000:{bus}.0: GPU has fallen off the bus.")
    text += line(LOST + 1, xid % 154 + change)
    return text


def worker(rank):
    return f"llama-pretrain-worker-{rank}"


def pods():
    items = []
    for rank in range(8):
        node = NODES[rank // 4]
        env = {"RANK": str(rank), "NVIDIA_VISIBLE_DEVICES": gpu(rank)}
        failed = [("trainer", 134, "Error", LOST + 22)] if rank == BROKEN else []
        items.append(pod(worker(rank), node, "Failed" if failed else "Running", failed, env=env))
    return k8s_list(*items)


def events():
    started = event(worker(BROKEN), "Started", "Started container trainer", -7190, "gpu-07")
    started["type"] = "Normal"
    full = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    waiting = event("eval-nightly-0", "FailedScheduling", full, 12, "gpu-06")
    return k8s_list(started, waiting)


README = """\
# An example incident

`./dev run` diagnoses the files of `incident/`. They are made up: no such cluster, job or fault
exists. `tests/replay/example.py` writes them.

Eight ranks train a model, one pod and one GPU each, four on `gpu-06` and four on `gpu-07`. At
05:06:41 the job stands still, and nobody gets an error for ten minutes.

| file | what it is |
| --- | --- |
| `incident/llama-pretrain/nccl_trace_rank_*.json` | the Flight Recorder dump of each rank |
| `incident/dmesg-gpu-07.txt` | the kernel log of gpu-07, `dmesg --time-format iso` |
| `incident/pods.json`, `incident/events.json` | `kubectl get pods -o json`, `kubectl get events -o json` |

What to try next:

```
tracecore detect --json examples/incident   one verdict a line, for programs
tracecore detect --all examples/incident    the consequences in full, too
tracecore decode examples/incident          the events that were read
```
"""


def files():
    made = {f"incident/{path}": text.encode() for path, text in dumps().items()}
    made["incident/dmesg-gpu-07.txt"] = kernel_log().encode()
    made["incident/pods.json"] = pods().encode()
    made["incident/events.json"] = events().encode()
    made["README.md"] = README.encode()
    return made


def replay():
    """Says what the program misses in it."""
    binary = os.environ.get("TC_BINARY", str(ROOT / "build/release/tracecore"))
    command = [binary, "detect", "--json", "examples/incident"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False)
    verdicts = [json.loads(line) for line in run.stdout.splitlines()]
    roots = [v for v in verdicts if v.get("root")]
    blamed = {r for v in verdicts for r in v.get("tracecore.alert.nccl_hang.culprit_ranks", [])}
    xids = [v for v in verdicts if v["pattern.name"] == "xid_correlation"]
    if run.returncode != 1 or blamed != {BROKEN} or len(roots) != 1:
        yield f"exit status {run.returncode}, ranks blamed {blamed}, {len(roots)} roots"
    if [(v["k8s.pod.name"], v["confidence"]) for v in xids] != [(worker(BROKEN), "full")]:
        yield "the pod of the lost GPU is not named"


def main():
    made = files()
    have = {str(p.relative_to(TARGET)): p for p in sorted(TARGET.rglob("*")) if p.is_file()}
    if sys.argv[1:] == ["--check"]:
        wrong = [
            f"examples/{path} is not as example.py writes it"
            for path in sorted(made.keys() | have.keys())
            if path not in have or made.get(path) != have[path].read_bytes()
        ]
        wrong += replay()
        print("\n".join(wrong) or "ok")
        return 1 if wrong else 0
    for path in have.keys() - made.keys():
        have[path].unlink()
    for path, content in made.items():
        (TARGET / path).parent.mkdir(parents=True, exist_ok=True)
        (TARGET / path).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
