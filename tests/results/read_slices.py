#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slices of telemetry files, beside a reading that shares nothing with ours.

usage: read_slices.py PRINT_SLICES [FILE...]

Reads each file with a parser of its own (regular expressions, dictionaries, fsum, sorted), makes
windows and numbers as docs/telemetry.md says, and compares every row of print_slices with them:
numbers to 1e-12. Without files: the Prometheus-like samples in TC_SAMPLES, scrapes made of the names
of Kueue's, Slinky's and DCGM's metrics there, and scrapes made up at random, as text and as OTLP.
"""
import collections
import csv
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TAKEN = 1772600760 * 10**9
WINDOW = 60 * 10**9
INTERVAL = 15 * 10**9
STATS = ("count", "min", "max", "mean", "p50", "p95", "p99", "last")

SAMPLE = re.compile(r'^([A-Za-z_:][\w:]*)\s*(\{.*\})?\s+(\S+)(?:\s+(-?[\d.]+))?\s*(?:#.*)?$')
LABEL = re.compile(r'\s*([A-Za-z_][\w]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')

# The producer's name: ours, and what one of its units is in ours. By hand, from the exporters' help.
OURS = {
    "DCGM_FI_DEV_SM_CLOCK": ("gpu_sm_clock", 1, "gauge"),
    "DCGM_FI_DEV_GPU_TEMP": ("gpu_temperature", 1, "gauge"),
    "DCGM_FI_DEV_MEMORY_TEMP": ("gpu_memory_temperature", 1, "gauge"),
    "DCGM_FI_DEV_POWER_USAGE": ("gpu_power", 1, "gauge"),
    "DCGM_FI_DEV_GPU_UTIL": ("gpu_utilization", 1, "gauge"),
    "DCGM_FI_DEV_XID_ERRORS": ("gpu_xid_last", 1, "gauge"),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": ("gpu_pcie_replays", 1, "counter"),
    "DCGM_FI_DEV_THERMAL_VIOLATION": ("gpu_thermal_violation", 1, "counter"),
    "DCGM_FI_DEV_POWER_VIOLATION": ("gpu_power_violation", 1, "counter"),
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": ("gpu_throttle_reasons", 1, "gauge"),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": ("gpu_throttle_reasons", 1, "gauge"),
    "DCGM_EXP_XID_ERRORS_COUNT": ("gpu_xid_count", 1, "gauge"),
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": ("nvlink_bandwidth", 1, "gauge"),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": ("gpu_rows_remapped_uncorrected", 1, "counter"),
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": ("gpu_rows_remapped_corrected", 1, "counter"),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": ("gpu_row_remap_failure", 1, "gauge"),
    "DCGM_FI_DEV_ROW_REMAP_PENDING": ("gpu_row_remap_pending", 1, "gauge"),
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": ("gpu_ecc_corrected", 1, "counter"),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": ("gpu_ecc_uncorrected", 1, "counter"),
    "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": ("gpu_ecc_corrected_lifetime", 1, "counter"),
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": ("gpu_ecc_uncorrected_lifetime", 1, "counter"),
    "DCGM_FI_DEV_RETIRED_PENDING": ("gpu_pages_pending", 1, "gauge"),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("gpu_utilization", 100, "gauge"),
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": ("nvlink_crc_flit_errors", 1, "counter"),
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": ("nvlink_crc_data_errors", 1, "counter"),
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": ("nvlink_replay_errors", 1, "counter"),
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": ("nvlink_recovery_errors", 1, "counter"),
    **{name: (name, 1, "gauge") for name in (
        "DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES", "DCGM_FI_PROF_NVLINK_TX_BYTES", "DCGM_FI_PROF_NVLINK_RX_BYTES",
        "DCGM_FI_DEV_PCIE_TX_THROUGHPUT", "DCGM_FI_DEV_PCIE_RX_THROUGHPUT", "dcgm_pcie_tx_throughput", "dcgm_pcie_rx_throughput")},
    "ping_rtt_mean_seconds": ("ping_rtt_mean", 1000, "gauge"),
    "ping_rtt_worst_ms": ("ping_rtt_worst", 1, "gauge"),
    "ping_loss_ratio": ("ping_loss", 1, "gauge"),
}
# Labels that have a column, that say nothing of the series, and that are never kept.
COLUMNS = {"UUID": "gpu_uuid", "Hostname": "node_name", "node": "node_name", "rank": "rank_id",
           "run_id": "run_id", "pod_uid": "pod_uid"}
ABOUT = re.compile(r"^(modelName|DCGM_FI_.*|os_.*|process_.*)$")
DCGM_BLANK = [(2147483632, 2147483647), (2**47, 2**47 + 15), (2.0**63 - 1024, math.inf)]


def family_of(name, ours):
    plain = name.lower()
    if ours.startswith("gpu_pcie") or (plain.startswith("dcgm") and "pcie" in plain):
        return "node-pci"
    for start, family in (("kueue", "kueue"), ("slurm", "slinky"), ("ping", "ping")):
        if plain.startswith(start):
            return family
    if plain.startswith("dcgm"):
        return "nvlink" if "nvlink" in plain else "dcgm"
    if re.match(r"(disk|host|problem|memory|cpu)_", plain):
        return "node-problem-detector"
    return "other"


def parse(text):
    """[(name, labels, value, time or None, type)], with the number of the scrape each is in."""
    types, samples, seen, scrape = {}, [], None, -1
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()[:4]
            types[name] = kind
            continue
        match = SAMPLE.match(line)
        if line.startswith("#") or not match:
            continue
        name, raw, value, time = match.groups()
        labels = {k: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], v)
                  for k, v in LABEL.findall((raw or "")[1:-1])}
        labels = {k: v for k, v in labels.items() if v}
        if seen is None:
            seen = (name, raw)
        scrape += (name, raw) == seen
        kind = types.get(name)
        if kind is None:
            base = re.sub(r"_(sum|count|bucket|total)$", "", name)
            kind = types.get(base)
            if base != name and kind in ("histogram", "summary", "counter"):
                kind = "counter"
        if kind == "summary":
            kind = "gauge"
        if kind not in ("gauge", "counter"):
            up = re.search(r"_(total|sum|count|bucket)$", name) and not name.startswith("slurm")
            kind = "counter" if up else "gauge"
        samples.append((name, labels, float(value), time, kind, max(scrape, 0)))
    return samples


def percentile(values, p):
    return sorted(values)[max(math.ceil(p * len(values) / 100), 1) - 1]


def expected(text):
    samples = parse(text)
    last = max(s[5] for s in samples)
    series = collections.defaultdict(list)
    for name, labels, value, time, kind, scrape in samples:
        ours, factor, kind = OURS.get(name, (name, 1, kind))
        if math.isnan(value) or math.isinf(value):
            continue
        if name.lower().startswith("dcgm") and any(a <= value <= b for a, b in DCGM_BLANK):
            continue
        row = {"metric": ours}
        point = {}
        for key, text_value in labels.items():
            if key in COLUMNS:
                row[COLUMNS[key]] = int(text_value) if key == "rank" else text_value
            elif not ABOUT.match(key):
                point[key] = text_value
        if "gpu_uuid" in row:
            point.pop("gpu", None)
            point.pop("pci_bus_id", None)
            if point.get("device", "").startswith("nvidia"):
                point.pop("device")
        if "xid" in point and ours == "gpu_xid_count":
            point["device"] = point.pop("xid")
        if factor == 100:
            point["source"] = name
        row["point"] = ",".join(f"{k}={v}" for k, v in sorted(point.items()))
        row["family"] = family_of(name, ours)
        if time is not None:
            number = float(time)
            ns = int(time) * 10**6 if number >= 1e11 else round(number * 1000) * 10**6
        else:
            ns = TAKEN - (last - scrape) * INTERVAL
        key = tuple(sorted(row.items(), key=str))
        series[(key, kind)].append((ns, value * factor))
    rows = {}
    for (key, kind), points in series.items():
        points = sorted(set(points))
        before = None
        windows = collections.OrderedDict()
        for ns, value in points:
            window = windows.setdefault(ns // WINDOW * WINDOW, ([], []))
            window[0].append(value)
            if kind == "gauge":
                window[1].append(value)
            elif before and ns > before[0] and value >= before[1]:
                window[1].append((value - before[1]) / ((ns - before[0]) / 1e9))
            before = (ns, value)
        for start, (raw, values) in windows.items():
            got = {"count": len(raw), "last": raw[-1]}
            if values:
                got.update(min=min(values), max=max(values), mean=math.fsum(values) / len(values),
                           p50=percentile(values, 50), p95=percentile(values, 95),
                           p99=percentile(values, 99))
            if (key, start) in rows:
                sys.exit(f"two rows for {key}")
            rows[(key, start)] = got
    return rows


def near(a, b, scale):
    return a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b), scale)


def compare(program, path, text):
    """What is wrong with the slices of the file at path, whose samples are those of text."""
    run = subprocess.run([program, str(path), str(TAKEN), str(WINDOW)], capture_output=True,
                         text=True, timeout=120, check=False)
    if run.returncode != 0:
        return [f"print_slices failed: {run.stderr.strip()}"]
    want = expected(text)
    wrong = []
    order = []
    for line in run.stdout.splitlines():
        row = json.loads(line)
        if "metric" not in row:
            continue
        start = row["window_start"] * 1000
        if row["window_end"] * 1000 - start != WINDOW:
            wrong.append(f"a window of another length: {row}")
        order.append((start, row["family"], row["metric"]))
        key = {k: row[k] for k in ("metric", "family", "node_name", "gpu_uuid", "rank_id",
                                   "pod_uid", "run_id") if k in row}
        key["point"] = row.get("point", "")
        expect = want.pop((tuple(sorted(key.items(), key=str)), start), None)
        if expect is None:
            wrong.append(f"not expected: {row}")
            continue
        size = max((abs(v) for v in expect.values()), default=1)
        for stat in STATS:
            a, b = row.get(stat), expect.get(stat)
            if (a is None) != (b is None) or (a is not None and not near(a, b, size)):
                wrong.append(f"{stat} is {a}, expected {b}: {row}")
    wrong += [f"missing: {key}" for key in want]
    if order != sorted(order):
        wrong.append("rows are not in the order of time, then series")
    return wrong


def made_up(seed):
    """Scrapes with everything that happens: resets, gaps, repeats, disorder, NaN, histograms."""
    rng = random.Random(seed)
    gpus = [f"GPU-{rng.getrandbits(32):08x}" for _ in range(rng.randint(1, 4))]
    head = ["# TYPE DCGM_FI_DEV_GPU_TEMP gauge", "# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER counter",
            "# TYPE DCGM_FI_DEV_FB_USED gauge", "# TYPE kueue_pending_workloads gauge",
            "# TYPE kueue_admission_wait_time_seconds histogram",
            "# TYPE kueue_admitted_workloads_total counter", "# TYPE app_latency summary"]
    counters = collections.Counter()
    lines = []
    dated = rng.random() < 0.8
    start = TAKEN - rng.randint(0, 600) * 10**9
    scrapes = rng.randint(1, 40)
    for i in range(scrapes):
        ms = (start + i * INTERVAL) // 10**6 + rng.randint(-3000, 3000)
        stamp = f" {ms}" if dated else ""
        block = ['anchor_metric{a="1"} %r%s' % (rng.random(), stamp)]
        for gpu in gpus:
            if rng.random() < 0.1 and dated:
                continue
            labels = f'gpu="0",UUID="{gpu}",Hostname="node-{gpu[-1]}"'
            counters[gpu] = 0 if rng.random() < 0.1 else counters[gpu] + rng.randint(0, 50)
            temp = rng.choice(["NaN", "9223372036854775794", "+Inf"]) if rng.random() < 0.1 else \
                repr(rng.uniform(-5, 95))
            block.append(f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} {temp}{stamp}")
            block.append(f"DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{labels}}} {counters[gpu]}{stamp}")
            block.append(f"DCGM_FI_DEV_FB_USED{{{labels}}} {rng.randint(0, 81920)}{stamp}")
            block.append(f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{labels}}} {rng.random()!r}{stamp}")
        for queue in ("a", "b,c", 'd\\"e'):
            counters[queue] += rng.randint(0, 9)
            label = f'cluster_queue="{queue}"' if queue != "b,c" else 'cluster_queue="bc"'
            if "\\" in queue:
                label = 'cluster_queue="de"'
            block.append(f"kueue_pending_workloads{{{label},status=\"active\"}} "
                         f"{rng.randint(0, 100)}{stamp}")
            block.append(f"kueue_admitted_workloads_total{{{label}}} {counters[queue]}{stamp}")
            block.append(f"kueue_admission_wait_time_seconds_sum{{{label}}} "
                         f"{counters[queue] * 1.5!r}{stamp}")
            block.append(f"kueue_admission_wait_time_seconds_bucket{{{label},le=\"0.1\"}} "
                         f"{counters[queue] // 2}{stamp}")
        block.append(f'app_latency{{quantile="0.99"}} {rng.expovariate(1)!r}{stamp}')
        block.append(f"ping_rtt_mean_seconds{{target=\"t1\",ip=\"10.0.0.1\"}} {rng.random()!r}{stamp}")
        for ip in ("10.0.0.1", "10.0.0.2"):
            block.append(f"ping_loss_ratio{{target=\"t1\",ip=\"{ip}\",ip_version=\"4\"}} "
                         f"{rng.random()!r}{stamp}")
        block.append(f"slurm_nodes_total {rng.randint(0, 9)}{stamp}")
        block.append(f"untyped_things_total {counters['a']}{stamp}")
        lines += block
    if dated:
        lines += rng.sample(lines, min(len(lines), 20))
        rng.shuffle(lines)
    return "\n".join(head + lines) + "\n"


def as_otlp(text, rng):
    """The same samples as the Collector's file exporter writes them, a request per line."""
    def value(v):
        if math.isnan(v) or math.isinf(v):
            return {"asDouble": "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"}
        if v == int(v) and abs(v) < 2**53 and rng.random() < 0.5:
            return {"asInt": str(int(v))}
        return {"asDouble": v}

    def attributes(labels):
        return [{"key": k, "value": {"stringValue": v}} for k, v in labels]
    lines = []
    for name, labels, number, time, kind, _ in parse(text):
        pairs = list(labels.items())
        rng.shuffle(pairs)
        cut = rng.randint(0, len(pairs))
        point = {"attributes": attributes(pairs[:cut]), "timeUnixNano": str(int(time) * 10**6),
                 **value(number)}
        data = {"gauge": {"dataPoints": [point]}} if kind == "gauge" else {
            "sum": {"dataPoints": [point], "aggregationTemporality": 2, "isMonotonic": True}}
        lines.append(json.dumps({"resourceMetrics": [{
            "resource": {"attributes": attributes(pairs[cut:])},
            "scopeMetrics": [{"scope": {"name": "s"}, "metrics": [{"name": name, **data}]}]}]}))
    return "\n".join(lines) + "\n"


def of_names(rows):
    """A scrape of three times of metrics (name, type)."""
    lines = []
    for i in range(3):
        ms = TAKEN // 10**6 + i * 30000
        for n, (name, kind) in enumerate(rows):
            lines.append(f"# TYPE {name} {kind.lower()}")
            label = f'queue="q{n}"'
            if kind.lower() == "histogram":
                lines += [f'{name}_bucket{{{label},le="1"}} {i * n} {ms}',
                          f'{name}_sum{{{label}}} {i * n * 0.5} {ms}',
                          f'{name}_count{{{label}}} {i * n} {ms}']
            else:
                lines.append(f'{name}{{{label}}} {i * n + 1} {ms}')
    return "\n".join(lines) + "\n"


def cases(samples):
    for file in ("dcgm/sample_exposition.prom", "results/dcgm-exporter/readme_exposition_excerpt.prom",
                 "results/node-problem-detector/sample_metrics.txt"):
        yield file, (samples / file).read_text(encoding="utf-8")
    with open(samples / "results/kueue/kueue_metric_names_types.csv", encoding="utf-8") as f:
        rows = [r for r in csv.reader(f) if len(r) == 2 and r[0].startswith("kueue")]
    yield f"kueue, {len(rows)} names", of_names(rows)
    text = (samples / "results/slurm/slinky_slurm_exporter_metric_names.txt").read_text()
    names = sorted(set(re.findall(r'"(slurm_\w+)"', text)))
    yield f"slinky, {len(names)} names", of_names([(n, "gauge") for n in names])
    for file in ("default-counters.csv", "dcp-metrics-included.csv"):
        rows = []
        for line in (samples / "results/dcgm-exporter" / file).read_text().splitlines():
            parts = [p.strip() for p in line.lstrip("# ").split(",")]
            if len(parts) >= 3 and parts[0].startswith("DCGM_FI") and parts[1] in ("gauge", "counter"):
                rows.append((parts[0], parts[1]))
        yield f"dcgm {file}, {len(rows)} names", of_names(sorted(set(rows)))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    todo = [(f, pathlib.Path(f).read_text(encoding="utf-8")) for f in sys.argv[2:]]
    samples = pathlib.Path(os.environ.get("TC_SAMPLES", "/nowhere"))
    if not todo:
        todo = [(f"made up {seed}", made_up(seed)) for seed in range(60)]
        if samples.is_dir():
            todo += cases(samples)
        else:
            print("skipped: the recorded files (TC_SAMPLES)")
    failed = 0
    otlp = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in todo:
            path = pathlib.Path(folder) / "telemetry"
            path.write_text(text, encoding="utf-8")
            wrong = compare(program, path, text)
            if name.startswith("made up") and all(s[3] for s in parse(text)):
                path.write_text(as_otlp(text, random.Random(name)), encoding="utf-8")
                wrong += compare(program, path, text)
                otlp += 1
            failed += bool(wrong)
            for line in wrong[:5]:
                print(f"{name}: {line}")
    print(f"{len(todo) - failed} of {len(todo)} files read alike, {otlp} of them also as OTLP")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
