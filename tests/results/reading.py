# SPDX-License-Identifier: Apache-2.0
"""How the independent readings print what they find, and read files that Python's json wrote."""

import json
import sys

STATISTICS = ("mean", "p50", "p90", "p95", "p99")


def load(path):
    """The documents of a file: one, a list's, or one per line."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return document if isinstance(document, list) else [document]


def number(value):
    """A finite number, or None; numbers may be written as strings."""
    if value is None or isinstance(value, bool):
        return None
    try:
        value = float(value)
    except (TypeError, ValueError):
        return None
    return value if value == value and abs(value) != float("inf") else None


def put(row, column, value, factor=1.0):
    value = number(value)
    if value is not None:
        row[column] = value * factor if factor != 1.0 else value


def percentile(ordered, p):
    """numpy's: linear between the two values next to it."""
    at = (len(ordered) - 1) * p / 100
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def add_details(row, run):
    """The lists of single requests, in seconds: what the summary lacks."""
    if "ttfts" not in run:
        return
    errors = run.get("errors")
    good = [i for i, ttft in enumerate(run["ttfts"]) if (not errors[i] if errors else ttft > 0)]
    if len(good) != row.get("completed"):
        return
    series = {"ttft": [run["ttfts"][i] for i in good], "itl": [gap for i in good for gap in run["itls"][i]]}
    if "latencies" in run:
        series["e2e"] = [run["latencies"][i] for i in good]
        series["tpot"] = [(run["latencies"][i] - run["ttfts"][i]) / (run["output_lens"][i] - 1) for i in good
                          if run["output_lens"][i] > 1]
    for measure, values in series.items():
        ordered = sorted(values)
        if ordered:
            row.setdefault(f"{measure}_mean_ms", sum(ordered) / len(ordered) * 1000.0)
            for p in (50, 90, 95, 99):
                row.setdefault(f"{measure}_p{p}_ms", percentile(ordered, p) * 1000.0)
    if errors:
        row.setdefault("errors", float(len(errors) - len(good)))
        row.setdefault("requests", float(len(errors)))


def show(rows):
    """rows: (table, {column: value}), in the order of the file."""
    for table, row in rows:
        print(f"row {table}")
        for column, value in row.items():
            print(f"{column}={value!r}" if isinstance(value, float) else f"{column}={value}")


def main(read):
    for path in sys.argv[1:]:
        show(read(path))
