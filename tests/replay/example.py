#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes examples/incident, which ./dev run shows. --check compares only, and replays it.

The story: eight ranks, tensor-parallel on two nodes, data-parallel between them. The memory of rank
5's GPU on gpu-07 has an uncorrectable error in the middle of an all_reduce: the driver logs it, the
exporter counts it, and the pod dies. Its three neighbours had completed that all_reduce and wait in
the next; the four ranks of gpu-06 wait for their partners on gpu-07.
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
from making import MORNING, event, k8s_list, pod, uid, when  # noqa: E402

TARGET = ROOT / "examples"
NODES = ("gpu-06", "gpu-07")
BUSES = ("1b:00", "43:00", "52:00", "b3:00")
BROKEN = 5
STEP = 4211  # the all_reduce in which the memory fails
FAILED = 41  # seconds into the morning
DIED = FAILED + 22  # the pod, when its process has written what it can


def gpu(rank):
    return "GPU-" + uid("gpu", NODES[rank // 4], BUSES[rank % 4])


def dumps():
    job = Job(8)
    for i in (0, 1):
        job.group(str(1 + i), "TENSOR_PARALLEL_GROUP", range(4 * i, 4 * i + 4))
        job.history(str(1 + i), "all_reduce", STEP - 4, STEP - 1, at=FAILED - 4)
    for i in range(4):
        job.group(str(3 + i), "DATA_PARALLEL_GROUP", [i, 4 + i])
        job.history(str(3 + i), "all_reduce", 210, 211, at=FAILED - 9)
    job.issue("1", "all_reduce", STEP, at=FAILED)
    job.issue("1", "all_reduce", STEP + 1, at=FAILED + 1)
    for i in range(4):
        job.issue(str(3 + i), "all_reduce", 212, FAILED + 2, [i], "started")
    job.issue("2", "all_reduce", STEP, FAILED, [4, 6, 7])
    job.issue("2", "all_reduce", STEP, FAILED, [BROKEN], "started")
    job.issue("2", "all_reduce", STEP + 1, FAILED + 1, [4, 6, 7], "started")
    job.issue("2", "all_reduce", STEP + 1, FAILED + 1, [BROKEN], "scheduled")
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
    where = "GPU in the framebuffer at physical address 0x1a2b3c00 partition 3, subpartition 1."
    error = "An uncorrectable double bit error (DBE) has been detected on "
    text += line(FAILED, xid % 48 + error + where)
    remap = "Row Remapper: New row marked for remapping, reset gpu to activate."
    text += line(FAILED, xid % 63 + remap)
    text += line(FAILED + 1, xid % 94 + "Contained: CE User Channel (0x9). RST: No, D-RST: No")
    return text


METRICS = (
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C)."),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Total number of double-bit volatile ECC errors."),
    ("DCGM_FI_DEV_ROW_REMAP_PENDING", "gauge", "Whether remapping of rows is pending."),
)


def scrapes():
    """dcgm-exporter on gpu-07, every 30 s, one scrape after the other."""
    text = ""
    for at in range(-30, 120, 30):
        for number, (name, sort, about) in enumerate(METRICS):
            text += f"# HELP {name} {about}\n# TYPE {name} {sort}\n"
            for rank in range(4, 8):
                i = rank % 4
                labels = (
                    f'gpu="{i}",UUID="{gpu(rank)}",pci_bus_id="00000000:{BUSES[i].upper()}.0",'
                    f'device="nvidia{i}",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-07"'
                )
                if rank != BROKEN or at < DIED:
                    labels += f',container="trainer",namespace="train",pod="{worker(rank)}"'
                stuck = 14 if at > FAILED else 0  # who waits keeps cool
                value = int(rank == BROKEN and at > FAILED) if number else 61 + i - stuck
                text += f"{name}{{{labels}}} {value} {(int(MORNING.timestamp()) + at) * 1000}\n"
    return text


def worker(rank):
    return f"llama-pretrain-worker-{rank}"


def pods():
    items = []
    for rank in range(8):
        node = NODES[rank // 4]
        env = {"RANK": str(rank), "NVIDIA_VISIBLE_DEVICES": gpu(rank)}
        failed = [("trainer", 134, "Error", DIED)] if rank == BROKEN else []
        items.append(pod(worker(rank), node, "Failed" if failed else "Running", failed, env=env))
    return k8s_list(*items)


def events():
    started = event(worker(BROKEN), "Started", "Started container trainer", -7190, "gpu-07")
    started["type"] = "Normal"
    full = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    waiting = event("eval-nightly-0", "FailedScheduling", full, 12, "gpu-06")
    return k8s_list(started, waiting)


README = """\
# Examples

Everything here is made up; scripts under `tests/` write the files, and tests compare them.

| folder | what it is |
| --- | --- |
| `incident/` | a job that hangs, [below](#an-example-incident) |
| `benchmark/` | three runs of a server with an old runtime and three with a new one, [docs/runs.md](../docs/runs.md) |
| `nightly/` | a nightly with a contract, five runs each on Monday and on Tuesday; on Tuesday an NVLink of gpu-12 breaks: [docs/tutorial.md](../docs/tutorial.md) |

## An example incident

`./dev run` diagnoses the files of `incident/`. They are made up: no such cluster, job or fault
exists. `tests/replay/example.py` writes them.

Eight ranks train a model, one pod and one GPU each, four on `gpu-06` and four on `gpu-07`. At
05:06:41 the job stops making progress. One pod fails; the other seven show no error for ten minutes.

| file | what it is |
| --- | --- |
| `incident/llama-pretrain/nccl_trace_rank_*.json` | the Flight Recorder dump of each rank |
| `incident/dmesg-gpu-07.txt` | the kernel log of gpu-07, `dmesg --time-format iso` |
| `incident/dcgm-gpu-07.prom` | five scrapes of dcgm-exporter on gpu-07, with their times |
| `incident/pods.json`, `incident/events.json` | `kubectl get pods -o json`, `kubectl get events -o json` |

The dumps name ranks, the kernel log names a PCI address, the exporter names a GPU, and
Kubernetes names a pod. The `RANK` of each pod and the labels of the exporter connect the four, so
there is one story, and it begins with the memory of a GPU. If nothing in your data connects them,
give a table of your own with `--map ranks.csv`; see [docs/ranks.md](../docs/ranks.md).

What to try next:

```
tracecore detect --json examples/incident   one verdict per line, for programs
tracecore detect --all examples/incident    also show the consequences in full
tracecore decode examples/incident          the events that were read
```
"""


def files():
    made = {f"incident/{path}": text.encode() for path, text in dumps().items()}
    made["incident/dmesg-gpu-07.txt"] = kernel_log().encode()
    made["incident/dcgm-gpu-07.prom"] = scrapes().encode()
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
    told = {v["incident_id"]: v for v in verdicts}
    roots = [v for v in verdicts if v.get("root")]
    blamed = {r for v in verdicts for r in v.get("tracecore.alert.nccl_hang.culprit_ranks", [])}
    xids = [v for v in verdicts if v["pattern.name"] == "xid_correlation"]
    if run.returncode != 1 or blamed != {BROKEN}:
        yield f"exit status {run.returncode}, ranks blamed {blamed}"
    if [v["pattern.name"] for v in roots] != ["hbm_ecc"] or roots != verdicts[:1]:
        yield "the memory error is not the only root, or not the first"
    elif roots[0]["gpu.uuid"] != gpu(BROKEN):
        yield "another GPU is blamed"
    if any(v.get("incident_group") != verdicts[0]["incident_id"] for v in verdicts):
        yield "not all verdicts are one story"
    causes = {
        (told[cause["incident_id"]]["pattern.name"], v["pattern.name"])
        for v in verdicts
        for cause in v.get("caused_by", [])
    }
    if not causes >= {("hbm_ecc", "xid_correlation"), ("xid_correlation", "nccl_hang")}:
        yield f"the links are {causes}"
    if [(v["k8s.pod.name"], v["confidence"]) for v in xids] != [(worker(BROKEN), "full")]:
        yield "the pod of the GPU is not named"


def main():
    made = files()
    have = {
        str(p.relative_to(TARGET)): p
        for p in sorted(TARGET.rglob("*"))
        if p.is_file() and p.relative_to(TARGET).parts[0] not in ("benchmark", "nightly")  # tests/results
    }
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
