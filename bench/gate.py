#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark gates: see USAGE below and docs/performance.md."""
import argparse
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PROGRAM = os.environ.get("TC_BINARY", str(ROOT / "build/release/tracecore"))
BENCH = PROGRAM + "-bench"

WINDOWS = 200  # per measurement: what is counted does not change with more of them
WINDOWS_COUNTED = 4  # instructions; the twelve windows before them, which fill tables, are not counted
TOLERANCE = 0.10
TIMES_LESS_THAN_GO = 8

USAGE = """usage: ./dev bench [OPTIONS]

Measures every detector of src/detect/detectors.def and checks two gates:
  1. heap allocations per event are at most the ceiling in bench/registry.tsv;
  2. instructions (callgrind) and heap bytes per event are within 10 % of
     bench/baseline/detectors.tsv. Time is printed, never gated.
A ceiling or baseline more than 10 % above the measurement fails as well: lower it.

  --allocs             only gate 1; needs no valgrind
  --measure FILE       only measure, into FILE
  --check FILE         only check the measurements in FILE
  --registry FILE      other ceilings
  --baseline FILE      another baseline
  --detectors FILE     another list of detectors
  --update-baseline    write the measured instructions and bytes as the new baseline
  --against-go         also run the Go re-creation of the nccl_hang detector (needs
                       golang-go) and print how many times less time this one takes; it must
                       be eight times less to the same output
  --all                also: linearity, 1 GB kernel log, start-up time
  --serve [OPTIONS]    instead: the daemon under load: records a second, memory, latency
                       (--serve --help)
  --serve-count [OPTIONS]
                       instead: the daemon's instructions per record, by callgrind
                       (--serve-count --help)
  --api [OPTIONS]      instead: the HTTP API at 200 requests/s while telemetry comes in (--api --help)
  --chaos [OPTIONS]    instead: kill -9 under load, amid 20,000 incidents, and power cuts: nothing
                       that was acknowledged is lost, each incident is opened once
                       (--part kill|storm|power|once, --rounds N, --incidents N, --cuts N, --seed S)
  --sources [OPTIONS]  instead: file tails over 1,000 rotations under load with kill -9 in between: every
                       line once (--rotations N, --kills N, --lines N, --seed S)
  --agent [OPTIONS]    instead: what a daemon costs that only watches a node (--agent --help)
  --soak [OPTIONS]     instead: a simulated day of 256 nodes through all sources at 100 times real time: level
                       memory, nothing lost, the verdicts of detect (--soak --help)
  --paint [OPTIONS]    instead: how soon the incident page has its first rows, in Chromium (--paint --help)
  --warehouse [OPTIONS]
                       instead: ten million telemetry slices, then as many requests: load, room on
                       disk, queries
                       (--rows N, --dir DIR, --json; --keep DIR: the slices stay there and are
                       loaded once)
  --clickhouse [OPTIONS]
                       instead: ten million telemetry slices into a ClickHouse, and the pivot (--clickhouse --help)
  --compare [OPTIONS]  instead: a comparison of 10,000 runs x 50 metrics, reading included
                       (--runs N, --dir DIR, --json; --power: false alarms and power)

Exit status: 0 within the gates, 1 a gate is breached, 2 something could not be measured or
a table does not name every detector once.
"""


class CannotMeasure(Exception):
    """Exit status 2: no statement about the gates can be made."""


def number(text, where):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise CannotMeasure(f"{where}: {text!r} is not a number from 0 up")
    return value


def read_table(path, columns, detectors):
    """{detector: [number, ...]} of a file of tab-separated columns: one row for each detector."""
    rows = {}
    for at, line in enumerate(Path(path).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        name, *cells = line.split("\t")
        where = f"{path}:{at}"
        if len(cells) != columns:
            raise CannotMeasure(f"{where}: {columns} numbers are needed after the name")
        if name in rows:
            raise CannotMeasure(f"{where}: {name} has two rows")
        rows[name] = [number(cell, where) for cell in cells]
    need_all(path, rows, detectors)
    return rows


def need_all(path, found, detectors):
    for name in detectors:
        if name not in found:
            raise CannotMeasure(f"{path}: no row for detector {name}")
    for name in found:
        if name not in detectors:
            raise CannotMeasure(f"{path}: {name} is not a detector")


def read_detectors(path):
    names = re.findall(r"^DETECTOR\((\w+)\)$", Path(path).read_text(), re.M)
    if not names or len(set(names)) != len(names):
        raise CannotMeasure(f"{path}: no list of detectors")
    return names


def run_bench(name, windows):
    """What tracecore-bench measured."""
    result = subprocess.run([BENCH, f"--windows={windows}", name], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise CannotMeasure(f"{name}: {BENCH} ended with {result.returncode}")
    return json.loads(result.stdout)


def count_instructions(name):
    """Of the windows alone: tracecore-bench turns the counting on for them."""
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null",
               BENCH, f"--windows={WINDOWS_COUNTED}", name]
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected : ([1-9]\d*)", result.stderr)
    if result.returncode != 0 or not found:
        raise CannotMeasure(f"{name}: callgrind counted nothing; was tracecore-bench built where "
                            f"valgrind/callgrind.h is?\n{result.stderr}")
    return int(found[1])


def measure(registry, allocs_only):
    """One object for each row of the registry."""
    if not allocs_only and not shutil.which("valgrind"):
        raise CannotMeasure("instructions are counted by valgrind, which is not installed; "
                            "--allocs checks the first gate without it")
    for name, (window, _) in registry.items():
        line = run_bench(name, WINDOWS)
        line.pop("instructions_per_event", None)  # the machine's own counter, where it has one
        if not allocs_only:
            line["instructions_per_event"] = round(count_instructions(name) / (WINDOWS_COUNTED * window), 1)
        yield line


def read_measurements(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def judge(name, what, limit_name, measured, limit, tolerance):
    """What is wrong with one figure: it may be a tolerance above its limit, the limit not far above it."""
    if measured > limit * (1 + tolerance):
        yield f"BREACH {name}: {what} {measured:g} > {limit_name} {limit:g}"
    elif limit > measured * (1 + TOLERANCE):
        yield f"BREACH {name}: {limit_name} {limit:g} of {what} is far above {measured:g}: lower it"


def check(lines, registry, baseline):
    """Prints a table; the sentences on breaches. baseline None: gate 1 only."""
    measured = {line["bench"]: line for line in lines}
    if len(measured) != len(lines):
        raise CannotMeasure("a detector was measured twice")
    need_all("the measurements", measured, registry)
    breaches = []
    print(f"{'bench':<18} {'allocs/event':>12} {'ceiling':>8} {'instr/event':>12} {'baseline':>10} "
          f"{'ns/event':>9}")
    for name, (window, ceiling) in registry.items():
        line = measured[name]

        def value(key):
            if key not in line:
                raise CannotMeasure(f"no {key} was measured for {name}")
            return number(line[key], f"{name}: {key}")

        if value("events") != WINDOWS * window:
            raise CannotMeasure(f"{name}: {line['events']} events were measured, not {WINDOWS} windows "
                                f"of {window:g} as the registry has it")
        allocs = value("allocs_per_event")
        breaches += judge(name, "allocs/event", "ceiling", allocs, ceiling, 0)
        shown = ("", "")
        if baseline is not None:
            instructions, heap_bytes = baseline[name]
            shown = (f"{value('instructions_per_event'):.1f}", f"{instructions:.1f}")
            breaches += judge(name, "instructions/event", "baseline", value("instructions_per_event"),
                              instructions, TOLERANCE)
            breaches += judge(name, "bytes/event", "baseline", value("bytes_per_event"), heap_bytes,
                              TOLERANCE)
        print(f"{name:<18} {allocs:>12g} {ceiling:>8g} {shown[0]:>12} {shown[1]:>10} "
              f"{value('ns_per_event'):>9g}")
    return breaches


def write_baseline(path, lines):
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout
    text = ("# SPDX-License-Identifier: Apache-2.0\n"
            f"# Gate 2, made by './dev bench --update-baseline'; {platform.machine()}, "
            f"{compiler.splitlines()[0]}\n"
            "# bench\tinstructions_per_event\tbytes_per_event\n")
    for line in lines:
        text += f"{line['bench']}\t{line['instructions_per_event']}\t{line['bytes_per_event']}\n"
    Path(path).write_text(text)
    print(text, end="")


def go_ns_per_event(folder):
    """The best of the anchor: on one core, and with its collector on a core of its own."""
    env = dict(os.environ, GOFLAGS="-mod=mod", GOCACHE=f"{folder}/cache")
    out = subprocess.run(["go", "test", "-bench=.", "-benchtime=1s", "-cpu=1,2"], cwd=f"{folder}/go",
                         env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    return min(float(ns) / 1024 for ns in re.findall(r"^Benchmark\S+\s+\d+\s+([\d.]+) ns", out, re.M))


def against_go():
    """Whether nccl_hang takes little enough time. The Go detector ends at verdict structs with their
    strings: our findings. It numbers no incidents and renders no JSON, so both are shown beside."""
    anchor = ROOT.parent / "shared/anchors/go-nccl-hang"
    if not shutil.which("go") or not anchor.is_dir():
        raise CannotMeasure(f"--against-go needs Go (apt-get install golang-go) and {anchor}")
    turns = {"the same: findings with every string": ["--no-incidents"],
             "and numbered as incidents, with SHA-256 ids": ["--no-render"],
             "and rendered as JSON": []}
    best = dict.fromkeys(turns, math.inf)
    go = math.inf
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(anchor, f"{folder}/go")
        for _ in range(5):  # turn by turn, so that both see the same machine
            go = min(go, go_ns_per_event(folder))
            for what, options in turns.items():
                out = subprocess.run([BENCH, *options, "nccl_hang"], stdout=subprocess.PIPE, check=True)
                best[what] = min(best[what], json.loads(out.stdout)["ns_per_event"])
    print(f"nccl_hang: go {go:.0f} ns/event; tracecore:")
    for what, ns in best.items():
        print(f"  {what:<44} {ns:6.1f} ns/event, {go / ns:4.1f} times less")
    return go / next(iter(best.values())) >= TIMES_LESS_THAN_GO


def run_instead(argv):
    """The benchmarks that have programs of their own; does not return when one is asked for."""
    if argv[:1] == ["--warehouse"]:
        programs = [Path(PROGRAM).parent / "bench" / name for name in ("bench_warehouse", "bench_requests")]
        codes = [subprocess.run([program, *argv[1:]], check=False).returncode for program in programs]
        sys.exit(max(codes))
    if argv[:1] == ["--compare"]:
        program = Path(PROGRAM).parent / "bench/bench_compare"
        os.execv(program, [program, *argv[1:]])
    if argv[:1] in (["--serve"], ["--serve-count"], ["--chaos"], ["--api"], ["--sources"],
                    ["--agent"], ["--soak"], ["--paint"], ["--clickhouse"]):
        node = shutil.which("node")
        if not node or not (ROOT / "tests/node_modules").is_dir():
            raise CannotMeasure(f"{argv[0]} needs Node and the packages of tests/: ./dev bench installs them")
        os.environ.update(TC_BINARY=PROGRAM, TC_SOURCE_DIR=str(ROOT))
        os.execv(node, [node, str(HERE / f"{argv[0][2:].replace('-', '_')}.mjs"), *argv[1:]])


def read_options(argv):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.format_usage = parser.format_help = lambda: USAGE
    for flag in ("--help", "--allocs", "--update-baseline", "--against-go", "--all"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("-h", dest="help", action="store_true")
    for option in ("--measure", "--check"):
        parser.add_argument(option)
    parser.add_argument("--registry", default=HERE / "registry.tsv")
    parser.add_argument("--baseline", default=HERE / "baseline/detectors.tsv")
    parser.add_argument("--detectors", default=ROOT / "src/detect/detectors.def")
    return parser.parse_args(argv)


def main(argv):
    run_instead(argv)
    o = read_options(argv)
    if o.help:
        print(USAGE, end="")
        return 0
    detectors = read_detectors(o.detectors)
    registry = read_table(o.registry, 2, detectors)
    lines = read_measurements(o.check) if o.check else list(measure(registry, o.allocs))
    if o.measure:
        Path(o.measure).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return 0
    if o.update_baseline:
        write_baseline(o.baseline, lines)
        return 0
    baseline = None if o.allocs else read_table(o.baseline, 2, detectors)
    breaches = check(lines, registry, baseline)
    for breach in breaches:
        print(breach, file=sys.stderr)
    if o.all:
        subprocess.run([BENCH, "scale", "startup"], check=True)
        subprocess.run([sys.executable, str(ROOT / "bench/kernel_log.py")], check=True)
    good = (not o.against_go or against_go()) and not breaches
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (CannotMeasure, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
