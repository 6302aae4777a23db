#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the stories; --check compares only.

The chain: the memory of rank 5's GPU on gpu-07 fails (its exporter counts an uncorrectable error),
the driver logs Xid 48, the rank stops in the middle of an all_reduce, and two minutes later its pod
is evicted. Four files from machines whose clocks differ by up to 2 s.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "nccl_hang"))

from fr import Job  # noqa: E402
from making import MORNING, event, k8s_list, main, uid, when  # noqa: E402

NODES = ("gpu-06", "gpu-07")
BUSES = ("1b:00", "43:00", "52:00", "b3:00")
BROKEN = 5
FAILED = 41  # seconds into the morning, by the clock of the cluster
MAP_ARGS = "--map=map.csv\n"


def node(rank):
    return NODES[rank // 4]


def gpu(rank):
    return "GPU-" + uid("gpu", node(rank), BUSES[rank % 4])


def worker(rank):
    return f"llama-worker-{rank}"


def dumps(broken=BROKEN, at=FAILED):
    """Eight ranks in one group; one is stuck in an all_reduce that the others have completed."""
    job = Job(8)
    job.history("0", "all_reduce", 1, 9, at=at - 10)
    healthy = [rank for rank in range(8) if rank != broken]
    job.issue("0", "all_reduce", 10, at, healthy)
    job.issue("0", "all_reduce", 10, at, [broken], "started")
    job.issue("0", "all_reduce", 11, at + 1, healthy, "started")
    job.issue("0", "all_reduce", 11, at + 1, [broken], "scheduled")
    return job.json_files("input/llama")


def scrapes(skew=2, rank=BROKEN, failed=FAILED, pods=True):
    """dcgm-exporter on gpu-07, every 15 s, with the samples' own times."""
    start = int(MORNING.timestamp())
    text = "# HELP DCGM_FI_DEV_ECC_DBE_VOL_TOTAL Total number of double-bit volatile ECC errors.\n"
    text += "# TYPE DCGM_FI_DEV_ECC_DBE_VOL_TOTAL counter\n"
    for at in range(0, 180, 15):
        for i in range(4, 8):
            labels = (
                f'gpu="{i - 4}",UUID="{gpu(i)}",pci_bus_id="00000000:{BUSES[i % 4].upper()}.0",'
                f'device="nvidia{i - 4}",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-07"'
            )
            if pods:
                labels += f',container="trainer",namespace="train",pod="{worker(i)}"'
            value = 1 if i == rank and at >= failed else 0
            time = (start + at + skew) * 1000
            text += f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{labels}}} {value} {time}\n"
    return text


def kernel_log(skew=-2, rank=BROKEN, at=FAILED):
    def line(seconds, text):
        return f"{when(seconds)[:-1]},{(seconds * 7919 + 104729) % 1000000:06d}+00:00 {text}\n"

    text = line(-93580, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07")
    for i in range(4, 8):
        text += line(-93570, f"NVRM: GPU at PCI:0000:{BUSES[i % 4]}: {gpu(i)}")
    text += line(
        at + skew,
        f"NVRM: Xid (PCI:0000:{BUSES[rank % 4]}): 48, pid=48211, name=python3, An uncorrectable "
        "double bit error (DBE) has been detected on GPU in the framebuffer at physical address "
        "0x1a2b3c00 partition 3, subpartition 1.",
    )
    return text


def events(skew=1, rank=BROKEN, at=FAILED + 120):
    message = "The node had condition: [GPUUnhealthy]. "
    return k8s_list(event(worker(rank), "Evicted", message, at + skew, node(rank)))


def rank_map():
    rows = ["rank,node,gpu_uuid,pod,namespace"]
    rows += [f"{rank},{node(rank)},{gpu(rank)},{worker(rank)},train" for rank in range(8)]
    return "\n".join(rows) + "\n"


def chain(*without):
    files = dict(dumps())
    files["input/metrics.prom"] = scrapes()
    files["input/dmesg-gpu-07.txt"] = kernel_log()
    files["input/events.json"] = events()
    files["map.csv"] = rank_map()
    files["args"] = MAP_ARGS
    return {path: files[path] for path in files if not path.startswith(tuple(without) or "-")}


def fires_chain_of_four_files():
    """HBM error, Xid 48, hang on that rank, evicted pod; four files, clocks up to 2 s apart. One
    story, and the ECC error is its root."""
    return chain()


def degrades_chain_without_metrics():
    """Without the exporter Xid 48 alone tells of the ECC error."""
    return chain("input/metrics")


def degrades_chain_without_kernel_log():
    """Without the kernel log the exporter's counter tells of the ECC error; no Xid, so no
    xid_correlation."""
    return chain("input/dmesg")


def degrades_chain_without_dumps():
    """Without dumps nobody knows of the hang: ECC error, Xid and evicted pod remain."""
    return chain("input/llama")


def degrades_chain_without_events():
    """Without events nobody knows of the eviction: ECC error and hang remain."""
    return chain("input/events")


def stays_quiet_other_gpu_of_the_node():
    """The ECC error is on the GPU of rank 6, the hang on rank 5 of the same node: two stories."""
    return {
        **dumps(),
        "input/dmesg-gpu-07.txt": kernel_log(rank=6),
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def stays_quiet_without_a_place():
    """ECC error and hang at the same time, but nothing says where rank 5 ran: coincidence."""
    return {**dumps(), "input/dmesg-gpu-07.txt": kernel_log()}


def stays_quiet_when_the_error_comes_later():
    """The GPU fails ten minutes after the rank had stopped: that did not stop it."""
    return {
        **dumps(),
        "input/dmesg-gpu-07.txt": kernel_log(at=FAILED + 600),
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def fires_on_a_switch_of_the_node():
    """An NVSwitch of gpu-07 reports a fatal error, and everybody stands in the same all_reduce. The
    map names the GPUs of the ranks, and the switch is none of them: it serves the whole node."""
    job = Job(8)
    job.history("0", "all_reduce", 1, 9, at=FAILED - 10)
    job.issue("0", "all_reduce", 10, FAILED, state="started")
    text = "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    return {
        **job.json_files("input/llama"),
        "input/dmesg-gpu-07.txt": f"{when(FAILED - 2)[:-1]},104729+00:00 {text}\n",
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def fires_by_directory_names():
    """No map: a directory of dumps a node, and the exporter's labels, say where rank 5 ran."""
    files = {}
    for path, text in dumps().items():
        name = path.rsplit("/", 1)[1]
        rank = int(name.split("_")[-1].split(".")[0])
        files[f"input/llama/{node(rank)}/{name}"] = text
    files["input/dmesg-gpu-07.txt"] = kernel_log()
    return files


PREFIXES = ("fires_", "degrades_", "stays_quiet_")
CASES = [made for name, made in list(globals().items()) if name.startswith(PREFIXES)]

if __name__ == "__main__":
    main(__file__, CASES)
