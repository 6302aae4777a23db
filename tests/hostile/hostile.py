#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs that are meant to hurt: each ends in a clear word or in bounded work.

  hostile.py           run all
  hostile.py CASE...   run these
  hostile.py --list    their names

A case writes files and says what the program may do with them: its exit status, and a text that
standard error must contain. In every case the program ends by itself, a sanitizer says nothing,
and processor time and memory stay below their bounds. The program is $TC_BINARY, or build/release/tracecore.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Seconds until a run counts as endless.
ENDLESS = 300
# Processor seconds that no run may take. With sanitizers the longest takes 4; work that grows with
# the square of 150,000 lines takes more than this, at one nanosecond a step.
PROCESSOR_MAX = 20
# Resident bytes that no run may reach: the program takes 1 GiB, sanitizers as much again.
RESIDENT_MAX = 4 << 30
FINE = (0, 1)
REFUSED = (2,)
MILLION = 1_000_000


class Case:
    def __init__(self, files, args=(), status=FINE, says=""):
        self.files = files
        self.args = args
        self.status = status
        self.says = says


def by_map(text, **more):
    """A map beside a dump-less run: one Xid, so that there is something to read."""
    line = "Mar  4 05:06:00 gpu-07 kernel: NVRM: Xid (PCI:0000:1b:00): 48, pid=1, name=x, DBE\n"
    args = ("--map=map.csv", "--now=2026-03-04T06:00:00Z")
    return Case({"map.csv": text, "kern.log": line}, args, **more)


# ---- maps ----


def map_of_a_hundred_and_fifty_thousand_lines():
    rows = "".join(f"{i},node-{i // 8},{i % 8}\n" for i in range(150000))
    return by_map("rank,node,gpu\n" + rows, status=FINE + REFUSED)


def map_with_a_rank_twice():
    return by_map("rank,node\n0,a\n1,b\n0,c\n", status=REFUSED, says="there twice")


def map_with_a_rank_a_million_times():
    return by_map("rank,node\n" + "7,a\n" * MILLION, status=REFUSED, says="mistakes more")


def map_with_huge_numbers():
    return by_map("rank,node,gpu\n99999999999999999999999,a,1\n", status=REFUSED, says="line 2")


def map_with_a_huge_gpu():
    return by_map("rank,node,gpu\n1,a," + "9" * 100000 + "\n", status=REFUSED, says="line 2")


def map_with_nul_bytes():
    return by_map("rank,node\n0,a\0b\n1,\0\n", status=FINE + REFUSED)


def map_of_nul_bytes():
    return by_map("\0" * MILLION, status=REFUSED)


def map_with_names_in_a_circle():
    """Each pod is called like the next node, the last like the first: names are not things."""
    rows = "".join(f"{i},n{i},n{(i + 1) % 1000}\n" for i in range(1000))
    return by_map("rank,node,pod\n" + rows)


def map_of_one_endless_cell():
    return by_map("rank,node\n0," + "a" * (64 * MILLION), status=FINE + REFUSED)


def hostfile_with_a_billion_slots():
    return by_map("gpu-07 slots=1000000000\n", status=REFUSED)


# ---- scrapes ----

PROMETHEUS = ("--format=prometheus",)
SAMPLE = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",Hostname="%s"%s} 50 1772600760000\n'


def label_of_a_megabyte():
    return Case({"m.prom": SAMPLE % ("h" * MILLION, "") * 20}, PROMETHEUS)


def ten_thousand_labels():
    labels = "".join(f',label_{i}="{i}"' for i in range(10000))
    return Case({"m.prom": SAMPLE % ("gpu-07", labels) * 20}, PROMETHEUS)


def label_without_an_end():
    cut = 'DCGM_FI_DEV_GPU_TEMP{gpu="' + "x" * (32 * MILLION)
    return Case({"m.prom": SAMPLE % ("gpu-07", "") + cut}, status=FINE + REFUSED)


def a_hundred_thousand_hosts():
    return Case({"m.prom": "".join(SAMPLE % (f"host-{i}", "") for i in range(100000))})


# ---- OpenTelemetry ----


def request(body):
    head = '{"resourceLogs":[{"resource":{},"scopeLogs":[{"logRecords":[{"timeUnixNano":'
    return head + '"1772600760000000000","body":' + body + "}]}]}]}\n"


def nested_arrays():
    deep = '{"arrayValue":{"values":[' * 200000 + "]}}" * 200000
    return Case({"l.json": request(deep)}, status=REFUSED, says="nested deeper")


def nested_brackets():
    return Case({"l.json": request("[" * (8 * MILLION))}, status=FINE + REFUSED)


def ten_million_elements():
    values = '{"intValue":"1"},' * (10 * MILLION)
    return Case({"l.json": request('{"arrayValue":{"values":[' + values[:-1] + "]}}")},
                status=REFUSED, says="the limit is")


def a_million_numbers_as_records():
    head = '{"resourceLogs":[{"resource":{},"scopeLogs":[{"logRecords":['
    return Case({"l.json": head + "1," * MILLION + "1]}]}]}\n"}, status=FINE + REFUSED)


def a_million_attributes():
    pairs = '{"key":"rank","value":{"intValue":"1"}},' * MILLION
    record = request('{"stringValue":"x"},"attributes":[' + pairs[:-1] + "]")
    return Case({"l.json": record}, status=REFUSED, says="the limit is")


# ---- NCCL's monitor ----


def monitor(size, ranks, missing="[]"):
    comm = f'{{"hash":"0x1","size":{size},"ranks_count":{size},"missing_ranks_count":0,'
    comm += f'"ranks":{ranks},"missing_ranks":{missing}}}'
    head = '{"nccl_version":"2.29.1","timestamp":"2026-03-04 05:06:00","communicators_count":1,'
    return head + f'"communicators":[{comm}]}}\n'


def rank(number):
    return (f'{{"rank":{number},"host":"h{number // 8}","pid":{number},"cuda_dev":0,"nvml_dev":0,'
            '"status":{"init_state":0},"collective_counts":{"AllReduce":1}}')


def monitor_that_claims_ten_million_ranks():
    few = "[" + ",".join(rank(i) for i in (0, 1, 9_999_999)) + "]"
    return Case({"ras.json": monitor(10 * MILLION, few)}, status=REFUSED, says="number of ranks")


def monitor_of_a_hundred_thousand_ranks():
    many = "[" + ",".join(rank(i) for i in range(100000)) + "]"
    return Case({"ras.json": monitor(100000, many)}, status=FINE + REFUSED)


def monitor_that_misses_ten_million_ranks():
    return Case({"ras.json": monitor(10 * MILLION, "[]", "[" + "7," * (10 * MILLION) + "7]")},
                status=FINE + REFUSED)


# ---- Kubernetes ----


def pod_with_a_million_annotations():
    notes = {f"note-{i}": f"GPU-{i}" for i in range(MILLION)}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": notes},
        "spec": {"nodeName": "gpu-07", "containers": [{"name": "c"}]},
        "status": {"phase": "Failed", "reason": "Evicted", "startTime": "2026-03-04T05:06:00Z",
                   "message": "The node was low on resource: memory. "},
    }
    return Case({"pods.json": json.dumps(pod)}, status=FINE + REFUSED)


def node_with_a_hundred_and_fifty_thousand_addresses():
    addresses = [{"type": "InternalIP", "address": f"10.{i}"} for i in range(150000)]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-07"}}
    ready = [{"type": "Ready", "status": "True"}]
    # In several objects: the limit of one is not what should end it.
    items = [
        {**node, "status": {"addresses": addresses[i : i + 50000], "conditions": ready}}
        for i in range(0, len(addresses), 50000)
    ]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    return Case({"nodes.json": json.dumps(whole)}, status=FINE + REFUSED)


# ---- logs ----

FABRIC = "[Mar 04 2026 05:06:00] [INFO] [tid 100] Fabric Manager version 550.54.15 is running\n"


def sparse(path, head, size):
    """A file of that size whose rest is a hole."""
    with open(path, "wb") as f:
        f.write(head.encode())
        f.truncate(size)


def fabric_manager_line_of_a_gigabyte():
    return Case({"fabricmanager.log": lambda path: sparse(path, FABRIC * 20, 1 << 30)},
                ("--format=fabric_manager",), status=FINE + REFUSED)


def fabric_manager_line_of_text():
    return Case({"fabricmanager.log": FABRIC * 20 + "x" * (128 * MILLION)},
                ("--format=fabric_manager",), status=FINE + REFUSED)


def kernel_log_without_a_line_end():
    line = "Mar  4 05:06:00 gpu-07 kernel: NVRM: Xid (PCI:0000:1b:00): 48, pid=1, name=x, DBE "
    return Case({"kern.log": line + "NVRM: Xid " * (10 * MILLION)}, ("--now=2026-03-04T06:00:00Z",),
                status=FINE + REFUSED)


def kernel_log_of_candidates():
    line = "Mar  4 05:06:00 gpu-07 kernel: NVRM: Xid (PCI:0000:1b:00): \n"
    return Case({"kern.log": line * 300000}, ("--now=2026-03-04T06:00:00Z",))


def training_log_without_a_line_end():
    line = "2026-03-04 05:06:00 step: 1  loss: " + "step: 2  loss: " * (4 * MILLION)
    return Case({"train.log": line}, ("--format=train_log",), status=FINE + REFUSED)


HELPERS = {"by_map", "request", "monitor", "rank", "sparse", "main", "run", "binary",
           "bound_processor_time"}


def all_cases():
    """Every function above that is no helper."""
    return {
        name: made
        for name, made in globals().items()
        if type(made) is type(all_cases) and name not in HELPERS and name != "all_cases"
    }


def binary():
    return os.environ.get("TC_BINARY", str(ROOT / "build/release/tracecore"))


def bound_processor_time():
    """In the child: the kernel ends it with SIGXCPU, which no case allows."""
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_MAX, PROCESSOR_MAX + 1))


def run(case):
    """What is wrong, as words; empty when the case holds. And what was said."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        for name, content in case.files.items():
            path = pathlib.Path(folder) / name
            if callable(content):
                content(path)
            else:
                path.write_text(content)
        with open(pathlib.Path(folder) / "said", "wb") as said:
            command = [binary(), "detect", *case.args, *sorted(set(case.files) - {"map.csv"})]
            child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=said,
                                     preexec_fn=bound_processor_time)
            try:
                child.wait(ENDLESS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                return ["it does not end"], ""
        text = (pathlib.Path(folder) / "said").read_text(errors="replace")
    wrong = []
    if child.returncode not in case.status:
        wrong.append(f"exit status {child.returncode}, not of {case.status}")
    if "Sanitizer" in text or "runtime error" in text:
        wrong.append("a sanitizer speaks")
    if case.says not in text:
        wrong.append(f"says nothing of {case.says!r}")
    if child.returncode in REFUSED and not text.strip():
        wrong.append("refuses without a word")
    if len(text) > 1 << 20:
        wrong.append(f"{len(text)} bytes of words")
    return wrong, text


def main(names):
    cases = all_cases()
    if names == ["--list"]:
        print("\n".join(cases))
        return 0
    failed = 0
    for name in names or cases:
        wrong, text = run(cases[name]())
        first = text.splitlines()[0][:160] if text else ""
        print(f"{'FAIL' if wrong else 'ok  '} {name}: {'; '.join(wrong) or first}")
        if wrong:
            failed += 1
            print(text[:2000])
    # Of all children; ru_maxrss is in KiB.
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    if resident > RESIDENT_MAX:
        print(f"FAIL {resident >> 20} MiB were resident")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
