# SPDX-License-Identifier: Apache-2.0
"""What the independent readings of training logs share: statistics over the steps after the tenth."""

import re

from reading import percentile

WARM_UP = 10


def plain(path):
    with open(path, encoding="utf-8", newline="") as file:
        return re.sub(r"\x1b\[[0-9;]*m", "", file.read())


def later(steps, first):
    """steps: {step: value}; those after the first ten, or all."""
    return [value for step, value in steps.items() if step >= first + WARM_UP] or list(steps.values())


def mean(values):
    return sum(values) / len(values)


def add_reliability(row, times, step_ms, first):
    """times: [(datetime, step)] of the lines of steps."""
    seconds = (max(when for when, _ in times) - min(when for when, _ in times)).total_seconds() if times else 0
    if seconds > 0 and step_ms:
        productive = (max(step for _, step in times) - times[0][1]) * percentile(sorted(later(step_ms, first)), 50) / 1000
        row["training_reliability_pct"] = min(100.0, 100 * productive / seconds)


def show(row, steps, first, step_ms, columns):
    """steps: {metric: {step: value}}; columns: {column: metric} of means."""
    print("row training_outcome_fact")
    for column, metric in columns.items():
        if steps.get(metric):
            row[column] = mean(later(steps[metric], first))
    if step_ms:
        times = later(step_ms, first)
        row["step_time_mean_ms"] = mean(times)
        for p in (50, 95, 99):
            row[f"step_time_p{p}_ms"] = percentile(sorted(times), p)
    for column, value in row.items():
        print(f"{column}={value!r}")
    for metric, values in [*steps.items(), ("step_time", step_ms)]:
        values = sorted(later(values, first)) if values else []
        if values:
            print(f"row telemetry_slice_fact\nmetric={metric}\ncount={len(values)}")
            print(f"min={values[0]!r}\nmax={values[-1]!r}\nmean={mean(values)!r}")
            for p in (50, 95, 99):
                print(f"p{p}={percentile(values, p)!r}")
