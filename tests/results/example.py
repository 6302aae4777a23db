#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the result files and scrapes of examples/benchmark. --check compares only.

The story: a nightly of an inference server, three replicates of the old runtime and three of the
new one, each at concurrency 16 and 64. With the new runtime the tail at 64 is twice as long and
the rest is as before. But one GPU of gpu-12 ran hot that night, too: more than one thing has
changed. All of it is made up.
"""

import datetime
import json
import pathlib
import random
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
NIGHT = datetime.datetime(2026, 3, 4, 1, 0, 0, tzinfo=datetime.timezone.utc)
GPUS = [(node, index) for node in ("gpu-11", "gpu-12") for index in (0, 1)]
HOT = ("gpu-12", 1)


def percentile(ordered, p):
    """As numpy does it: linear between the two neighbours."""
    at = (len(ordered) - 1) * p / 100
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def statistics(name, values):
    ordered = sorted(values)
    mean = sum(ordered) / len(ordered)
    spread = (sum((v - mean) ** 2 for v in ordered) / len(ordered)) ** 0.5
    out = {f"mean_{name}_ms": mean, f"median_{name}_ms": percentile(ordered, 50), f"std_{name}_ms": spread}
    for p in (90, 95, 99):
        out[f"p{p}_{name}_ms"] = percentile(ordered, p)
    return out


def serve(chance, began, concurrency, slow_tail):
    """One file of `vllm bench serve`."""
    count, tokens_in, tokens_out = 40 * concurrency, 1024, 128
    load = 1 + concurrency / 64
    ttft, tpot, itl, e2e = [], [], [], []
    for _ in range(count):
        tail = chance.random() < 0.02
        first = chance.lognormvariate(4.2, 0.25) * load * (2.0 if tail and slow_tail else 1.0) * (1.6 if tail else 1.0)
        each = chance.lognormvariate(2.2, 0.06) * load
        ttft.append(first)
        tpot.append(each)
        itl.extend(chance.lognormvariate(2.2, 0.3) * load for _ in range(4))
        e2e.append(first + each * (tokens_out - 1))
    duration = sum(e2e) / 1000 / concurrency * 1.03
    result = {
        "date": (began + datetime.timedelta(seconds=duration)).strftime("%Y%m%d-%H%M%S"),
        "endpoint_type": "vllm",
        "backend": "vllm",
        "label": None,
        "model_id": "example/llama-8b",
        "tokenizer_id": "example/llama-8b",
        "num_prompts": count,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": concurrency,
        "duration": duration,
        "completed": count,
        "failed": 0,
        "total_input_tokens": count * tokens_in,
        "total_output_tokens": count * tokens_out,
        "request_throughput": count / duration,
        "request_goodput": None,
        "output_throughput": count * tokens_out / duration,
        "total_token_throughput": count * (tokens_in + tokens_out) / duration,
    }
    for name, values in (("ttft", ttft), ("tpot", tpot), ("itl", itl), ("e2el", e2e)):
        result.update(statistics(name, values))
    return json.dumps(result, indent=2) + "\n", duration


def scrapes(chance, began, seconds, is_hot):
    """dcgm-exporter on both nodes every fifteen seconds, with the times of the scrapes."""
    text = (
        "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
        "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
    )
    for second in range(0, int(seconds), 15):
        stamp = int(began.timestamp() * 1000) + second * 1000
        for node, index in GPUS:
            hot = is_hot and (node, index) == HOT
            labels = f'gpu="{index}",UUID="GPU-00000000-0000-0000-0000-{node[-2:]}{index:010d}",modelName="NVIDIA H100 80GB HBM3",Hostname="{node}"'
            for name, value in (
                ("GPU_TEMP", (84 if hot else 61) + chance.randrange(4)),
                ("GPU_UTIL", 90 + chance.randrange(10)),
                ("SM_CLOCK", (1395 if hot else 1980) - 15 * chance.randrange(3)),
            ):
                text += f"DCGM_FI_DEV_{name}{{{labels}}} {value} {stamp}\n"
    return text


def files():
    out = {}
    for side in ("base", "candidate"):
        for replicate in (1, 2, 3):
            chance = random.Random(f"{side}-{replicate}")
            began = NIGHT + datetime.timedelta(days=side == "candidate", hours=replicate)
            folder = f"{side}-{replicate}"
            spent = 0.0
            for concurrency in (16, 64):
                text, duration = serve(
                    chance, began + datetime.timedelta(seconds=int(spent)), concurrency, side == "candidate" and concurrency == 64
                )
                out[f"{folder}/vllm-c{concurrency}.json"] = text
                spent += duration + 30
            out[f"{folder}/dcgm.prom"] = scrapes(chance, began, spent, side == "candidate")
    return out


def write_files(folder, made):
    """Into examples/FOLDER; with --check they are only compared."""
    wrong = 0
    for name, text in made.items():
        path = EXAMPLES / folder / name
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                print(f"{path}: not what {pathlib.Path(sys.argv[0]).name} writes")
                wrong += 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    write_files("benchmark", files())
