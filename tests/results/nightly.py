#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files of examples/nightly, the story of docs/tutorial.md. --check compares only.

The story: a nightly of an inference server with two nodes, five replicates a night. On Tuesday an
NVLink of gpu-12 breaks (Xid 74), and what that node serves takes longer. Nothing else has changed.
All of it is made up. The contract is written by hand.
"""

import datetime
import json
import random

from example import statistics, write_files

NIGHTS = {"monday": datetime.datetime(2026, 3, 2, 2, tzinfo=datetime.timezone.utc), "tuesday": datetime.datetime(2026, 3, 3, 2, tzinfo=datetime.timezone.utc)}
REPLICATES = 5
GPUS = [(node, index) for node in ("gpu-11", "gpu-12") for index in (0, 1)]
BROKEN = ("gpu-12", 1)
PCI = ("1B", "43")
TOKENS_IN, TOKENS_OUT = 1024, 128


def requests(chance, concurrency, is_broken):
    """Lists of TTFT, TPOT, gaps and whole latency in ms. Every other request goes to gpu-12."""
    load = 1 + concurrency / 64
    night = chance.lognormvariate(0, 0.008)  # nights differ a little
    lists = [], [], [], []
    for number in range(20 * concurrency):
        slow = 1.3 if is_broken and number % 2 == 1 else 1.0
        first = chance.lognormvariate(4.2, 0.25) * load * night * slow
        each = chance.lognormvariate(2.2, 0.06) * load * night * slow
        gaps = [chance.lognormvariate(2.2, 0.3) * load * night * slow for _ in range(4)]
        for values, new in zip(lists, ([first], [each], gaps, [first + each * (TOKENS_OUT - 1)])):
            values.extend(new)
    return lists


def serve(chance, began, concurrency, is_broken):
    """One file of `vllm bench serve`, and how long it ran."""
    ttft, tpot, itl, e2e = requests(chance, concurrency, is_broken)
    count = len(ttft)
    duration = sum(e2e) / 1000 / concurrency * 1.03
    result = {
        "date": (began + datetime.timedelta(seconds=duration)).strftime("%Y%m%d-%H%M%S"),
        "backend": "vllm",
        "model_id": "example/llama-8b",
        "tokenizer_id": "example/llama-8b",
        "num_prompts": count,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": concurrency,
        "duration": duration,
        "completed": count,
        "failed": 0,
        "total_input_tokens": count * TOKENS_IN,
        "total_output_tokens": count * TOKENS_OUT,
        "request_throughput": count / duration,
        "output_throughput": count * TOKENS_OUT / duration,
        "total_token_throughput": count * (TOKENS_IN + TOKENS_OUT) / duration,
    }
    for name, values in (("ttft", ttft), ("tpot", tpot), ("itl", itl), ("e2el", e2e)):
        result.update(statistics(name, values))
    return json.dumps(result, indent=2) + "\n", duration


def uuid_of(node, index):
    return f"GPU-00000000-0000-0000-0000-{node[-2:]}{index:010d}"


def scrapes(chance, began, seconds, is_broken):
    """dcgm-exporter on both nodes every thirty seconds, with the times of the scrapes."""
    gauges = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_PROF_NVLINK_RX_BYTES")
    text = "".join(f"# TYPE {name} gauge\n" for name in gauges)
    text += "# TYPE DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL counter\n"
    for second in range(0, int(seconds) + 30, 30):
        stamp = int(began.timestamp() * 1000) + second * 1000
        for node, index in GPUS:
            broken = is_broken and (node, index) == BROKEN
            labels = f'gpu="{index}",UUID="{uuid_of(node, index)}",pci_bus_id="00000000:{PCI[index]}:00.0",Hostname="{node}"'
            received = chance.uniform(0.97, 1.03) * (41e9 if broken else 118e9)
            errors = int(second * 9.5) if broken else 0
            values = (61 + chance.randrange(4), 90 + chance.randrange(10), 1980 - 15 * chance.randrange(3), int(received))
            for name, value in zip((*gauges, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"), (*values, errors)):
                text += f"{name}{{{labels}}} {value} {stamp}\n"
    return text


def kernel_log():
    """`dmesg --time-format iso` of gpu-12 on Tuesday."""
    start = NIGHTS["tuesday"] - datetime.timedelta(seconds=45)

    def line(seconds, text):
        at = start + datetime.timedelta(seconds=seconds)
        return at.strftime("%Y-%m-%dT%H:%M:%S,%f") + "+00:00 " + text + "\n"

    xid = "NVRM: Xid (PCI:0000:43:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 4(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    return (
        line(-7200.2, "systemd[1]: Started Daily apt download activities.")
        + line(-3600.1, "nvidia-nvlink: Nvlink Core is being initialized, major device number 511")
        + line(0.418, xid)
        + line(1.902, "NVRM: Xid (PCI:0000:43:00): 45, pid=20117, name=python3, Ch 0000000a")
        + line(640.55, "perf: interrupt took too long (2511 > 2500), lowering kernel.perf_event_max_sample_rate to 79500")
    )


def probe():
    return json.dumps(
        {
            "tracecore_probe": 1,
            "software": {"driver_version": "570.124.06", "cuda_version": "12.8", "nccl_version": "2.26.2", "image_digest": "sha256:" + "5d" * 32},
            "hardware": {"gpu_model": "NVIDIA H100 80GB HBM3", "gpu_count": 4},
        },
        indent=2,
    ) + "\n"


def files():
    out = {"dmesg-gpu-12.txt": kernel_log(), "probe.json": probe()}
    for night, start in NIGHTS.items():
        began = start
        for replicate in range(1, REPLICATES + 1):
            chance = random.Random(f"{night}-{replicate}")
            spent = 0.0
            for concurrency in (16, 64):
                text, duration = serve(chance, began + datetime.timedelta(seconds=int(spent)), concurrency, night == "tuesday")
                out[f"{night}-{replicate}/vllm-c{concurrency}.json"] = text
                spent += duration + 10
            out[f"{night}-{replicate}/dcgm.prom"] = scrapes(chance, began, spent, night == "tuesday")
            began += datetime.timedelta(minutes=3)
    return out


if __name__ == "__main__":
    write_files("nightly", files())
