#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated fleets through the detectors, scored: the figures of docs/accuracy.md.

  accuracy.py [--seeds N] [--nodes N] [--hours H] [--faults SPEC] [--update]
  accuracy.py --troubles [--seeds N] [--nodes N] [--update]
                          the same with what is wrong with the telemetry itself
  accuracy.py --compare   simulated comparisons of runs: false alarms and power, the tables of
                          docs/statistics.md
  accuracy.py --fleet     1,250 nodes for an hour: events a second and peak memory

One fleet at a time: each is written, read by `tracecore detect`, and taken away again. --update
writes the table into docs/accuracy.md. Exit status 1 when a figure is below what we promise.
The program is $TC_BINARY, or build/release/tracecore.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/accuracy.md"
PROMISED_IN_TROUBLE = ("--min-precision", "0.97", "--min-recall", "0.97", "--min-culprit", "0.97")
PROMISED = ("--min-precision", "0.98", "--min-recall", "0.95", "--min-culprit", "0.97", "--min-root", "0.95")


def binary():
    return os.environ.get("TC_BINARY", str(ROOT / "build/release/tracecore"))


def say(text):
    print(text, file=sys.stderr, flush=True)


def simulate(options, seed, out):
    command = [binary(), "simulate", "-q", "--nodes", str(options.nodes), "--hours", options.hours,
               "--seed", str(seed), "--faults", options.faults, "--trouble", options.trouble,
               "--out", str(out)]
    subprocess.run(command, check=True)


def detect(fleet, verdicts):
    """What the program said on standard error, and how long it took."""
    before = time.monotonic()
    with open(verdicts, "wb") as out:
        run = subprocess.run([binary(), "detect", "--json", str(fleet)], stdout=out,
                             stderr=subprocess.PIPE, check=False)
    # 2: some files cannot be read; the rest was.
    if run.returncode not in (0, 1, 2) or not re.search(rb"\d events", run.stderr):
        sys.exit(f"detect failed on {fleet}: {run.stderr.decode()}")
    return run.stderr.decode().strip(), time.monotonic() - before


def size_of(fleet):
    return sum(p.stat().st_size for p in fleet.rglob("*") if p.is_file())


def score(pairs, *more):
    command = [binary(), "score", *more]
    for truth, verdicts in pairs:
        command += ["--truth", str(truth), str(verdicts)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False)


def gather(options, folder):
    pairs = []
    for seed in range(1, options.seeds + 1):
        fleet = folder / f"fleet-{seed}"
        simulate(options, seed, fleet)
        said, took = detect(fleet, folder / f"{seed}.verdicts")
        shutil.move(fleet / "truth.ndjson", folder / f"{seed}.truth")
        say(f"seed {seed}: {size_of(fleet) / 1e9:.2f} GB in {took:.0f} s; {said.splitlines()[-1]}")
        shutil.rmtree(fleet)
        pairs.append((folder / f"{seed}.truth", folder / f"{seed}.verdicts"))
    return pairs


def share(value):
    return "-" if value is None else f"{value:.3f}"


def seconds(value):
    return "-" if value is None else f"{value:.1f} s"


def row(name, r):
    return (f"| {name} | {r['faults']} | {r['true_positives']} | {r['false_positives']} | "
            f"{r['false_negatives']} | {r['true_negatives']} | {r['explained']} | {share(r['precision'])} | "
            f"{share(r['recall'])} | {share(r['culprit_accuracy'])} | "
            f"{seconds(r['time_to_detection_median_seconds'])} | "
            f"{seconds(r['time_to_detection_p95_seconds'])} |")


def table(figures, options):
    head = ("| pattern | faults | TP | FP | FN | TN | explained | precision | recall | culprit | "
            "TTD median | TTD p95 |")
    lines = [f"{options.seeds} seeds x {options.nodes} nodes x {options.hours} h, `{options.faults}`, full noise:",
             "", head, "| --- " * 12 + "|"]
    lines += [row(r["pattern"], r) for r in figures["patterns"]]
    lines.append(row("**all**", figures["all"]))
    if figures["all"]["cascades"] > 0:
        lines += ["", f"Of {figures['all']['cascades']} faults that caused others, {figures['all']['roots_first']} "
                      f"are told as the root of their story ({share(figures['all']['root_accuracy'])})."]
    return "\n".join(lines) + "\n"


def update(text, mark="figures"):
    page = PAGE.read_text()
    marked = re.compile(rf"(<!-- {mark}: begin -->\n).*(<!-- {mark}: end -->)", re.S)
    PAGE.write_text(marked.sub(lambda m: m[1] + text + m[2], page))


def accuracy(options):
    with tempfile.TemporaryDirectory(prefix="tc_accuracy_") as name:
        pairs = gather(options, pathlib.Path(name))
        sys.stdout.buffer.write(score(pairs, "--list", "200").stdout)
        figures = json.loads(score(pairs, "--json").stdout)
        if options.update:
            update(table(figures, options))
        return score(pairs, *PROMISED).returncode


def troubles(options):
    """Each kind of trouble by itself, then all at once."""
    lines = [f"{options.seeds} seeds x {options.nodes} nodes x {options.hours} h, `{options.faults}`, full noise:",
             "", "| trouble | faults | precision | recall | culprit | root |", "| --- " * 6 + "|"]
    status = 0
    for options.trouble in ("", "names", "clocks", "torn", "missing", "all"):
        with tempfile.TemporaryDirectory(prefix="tc_accuracy_") as name:
            pairs = gather(options, pathlib.Path(name))
            all_of_it = json.loads(score(pairs, "--json").stdout)["all"]
            status |= score(pairs, *PROMISED_IN_TROUBLE).returncode
            lines.append(f"| {options.trouble or 'none'} | {all_of_it['faults']} | "
                         f"{share(all_of_it['precision'])} | {share(all_of_it['recall'])} | "
                         f"{share(all_of_it['culprit_accuracy'])} | {share(all_of_it['root_accuracy'])} |")
            say(lines[-1])
    print("\n".join(lines))
    if options.update:
        update("\n".join(lines) + "\n", "troubles")
    return status


def fleet(options):
    with tempfile.TemporaryDirectory(prefix="tc_accuracy_") as name:
        folder = pathlib.Path(name)
        before = time.monotonic()
        simulate(options, 1, folder / "fleet")
        wrote = time.monotonic() - before
        size = size_of(folder / "fleet")
        built = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        said, took = detect(folder / "fleet", folder / "verdicts")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        events = int(re.search(r"(\d+) events", said)[1])
        print(f"simulate: {size / 1e9:.2f} GB in {wrote:.1f} s ({size / wrote / 1e6:.0f} MB/s), "
              f"peak memory {built / 1024:.0f} MiB")
        print(f"detect: {events} events in {took:.1f} s, {events / took:.0f} events/s "
              f"({size / took / 1e6:.0f} MB/s), peak memory {peak / 1024:.0f} MiB with mapped input")
        print(said)
        run = score([(folder / "fleet/truth.ndjson", folder / "verdicts")])
        rows = run.stdout.decode().splitlines()
        print("\n".join([rows[0]] + [line for line in rows if line.startswith("all ")]))
        return run.returncode


COMPARE_PAGE = ROOT / "docs/statistics.md"
COMPARE_MARK = "<!-- figures of compare -->"


def compare_tables(lines):
    same = [line for line in lines if "any_false_call_pct" in line]
    found = [line for line in lines if "found_pct" in line]
    spreads = sorted({line["spread_pct"] for line in found})
    rows = ["| runs a side that do not differ | p up to 0.05 | comparisons with any false difference | multimodal |",
            "| --- | --- | --- | --- |"]
    rows += [f"| {line['runs']} ({line['comparisons']:,} comparisons) | {line['p_below_alpha_pct']:.2f} % of tests "
             f"| {line['any_false_call_pct']:.2f} % | {line['multimodal_pct']:.2f} % of series |" for line in same]
    rows += ["", "One main metric of twelve is 5 % worse, and nothing else; how often it is called worse:", "",
             "| runs a side | " + " | ".join(f"spread {spread:g} %" for spread in spreads) + " |",
             "| --- |" + " --- |" * len(spreads)]
    for runs in sorted({line["runs"] for line in found}):
        cells = {line["spread_pct"]: line["found_pct"] for line in found if line["runs"] == runs}
        rows.append(f"| {runs} | " + " | ".join(f"{cells[spread]:.0f} %" for spread in spreads) + " |")
    return "\n".join(rows) + "\n"


def compare(options):
    program = pathlib.Path(binary()).parent / "bench/bench_compare"
    run = subprocess.run([program, "--power", "--json"], stdout=subprocess.PIPE, check=False)
    table = compare_tables([json.loads(line) for line in run.stdout.splitlines()])
    print(table)
    if options.update:
        page = COMPARE_PAGE.read_text()
        head, rest = page.split(COMPARE_MARK + "\n", 1)
        COMPARE_PAGE.write_text(head + COMPARE_MARK + "\n" + table + "\n" + rest[rest.index("## "):])
    return run.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--hours")
    parser.add_argument("--faults", default="mixed")
    parser.add_argument("--trouble", default="")
    parser.add_argument("--troubles", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--fleet", action="store_true")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    options.nodes = options.nodes or (1250 if options.fleet else 256)
    options.hours = options.hours or ("1" if options.fleet else "2")
    how = compare if options.compare else fleet if options.fleet else troubles if options.troubles else accuracy
    sys.exit(how(options))


if __name__ == "__main__":
    main()
