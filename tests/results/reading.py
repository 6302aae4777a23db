# SPDX-License-Identifier: Apache-2.0
"""How the independent readings print what they find, and read files that Python's json wrote."""

import json
import sys

STATISTICS = ("mean", "p50", "p90", "p95", "p99")


def load(path):
    """The documents of a file: one, a list's, or one a line."""
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


def show(rows):
    """rows: (table, {column: value}), in the order of the file."""
    for table, row in rows:
        print(f"row {table}")
        for column, value in row.items():
            print(f"{column}={value!r}" if isinstance(value, float) else f"{column}={value}")


def main(read):
    for path in sys.argv[1:]:
        show(read(path))
