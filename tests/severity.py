#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of severities in docs/patterns/README.md, and whether verdicts follow it.

  severity.py             every golden of tests/replay follows the table, every discriminator of a
                          schema has a row, every row has a golden
  severity.py --selftest  a verdict, a pattern and a row that leave the scale are noticed

tests/field/run.py asks `complaint` about every verdict that its cases produce.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/patterns/README.md"
HEAD = "| pattern | discriminator | situation | severity |"


def read_table(text):
    """Rows of pattern, discriminators (none: all of them) and severity, one per situation."""
    table = []
    lines = text[text.index(HEAD) :].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            break
        pattern, names, _, severity = (cell.strip() for cell in line.strip("|").split("|"))
        table.append((pattern.strip("`"), re.findall(r"`(\w+)`", names), severity.strip("`")))
    return table


def allowed(table, pattern, discriminator):
    rows = [row for row in table if row[0] == pattern]
    return [severity for _, names, severity in rows if not names or discriminator in names]


def complaint(table, verdict):
    """Why a verdict does not follow the table; None when it does."""
    pattern, name = verdict["pattern.name"], verdict["discriminator"]
    resolved = verdict["status"] == "resolved"
    wanted = ["info"] if resolved else allowed(table, pattern, name)
    if verdict["severity"] in wanted:
        return None
    what = f"{pattern} {name}{', resolved,' if resolved else ''}"
    return f"{what} is {verdict['severity']}, docs/patterns/README.md says {wanted or 'nothing'}"


def schemas():
    for path in sorted((ROOT / "schemas/verdict").glob("*.schema.json")):
        fields = json.loads(path.read_text())["properties"]
        if "const" in fields.get("pattern.name", {}):
            yield fields["pattern.name"]["const"], fields["discriminator"]["enum"]


def goldens():
    for path in sorted((ROOT / "tests/replay").glob("*/*/expected.ndjson")):
        for line in path.read_text().splitlines():
            yield json.loads(line)


def complaints(table, verdicts, patterns):
    told = set()
    for verdict in verdicts:
        told.add((verdict["pattern.name"], verdict["discriminator"], verdict["severity"]))
        wrong = complaint(table, verdict)
        if wrong:
            yield f"{wrong}: {verdict['headline']}"
    for pattern, names in patterns.items():
        for name in names:
            if not allowed(table, pattern, name):
                yield f"the table has no row for {pattern} {name}"
    for pattern, names, severity in table:
        known = patterns.get(pattern, [])
        for name in names:
            if name not in known:
                yield f"the table has a row for {pattern} {name}, which is in no schema"
        if not any((pattern, name, severity) in told for name in names or known):
            yield f"no golden shows that {pattern} {' or '.join(names)} is {severity}"


def selftest():
    table = [("a", ["x"], "warning"), ("a", ["y"], "warning"), ("a", ["y"], "critical")]
    patterns = {"a": ["x", "y"]}

    def verdict(name, severity, status="open", pattern="a"):
        return {
            "pattern.name": pattern,
            "discriminator": name,
            "severity": severity,
            "status": status,
            "headline": "",
        }

    good = [verdict("x", "warning"), verdict("y", "warning"), verdict("y", "critical")]
    missed = []
    if list(complaints(table, [*good, verdict("x", "info", "resolved")], patterns)):
        missed.append("that all is well")
    for what, verdicts, others in (
        ("a severity that leaves the table", [*good, verdict("x", "critical")], patterns),
        ("a resolved warning", [*good, verdict("x", "warning", "resolved")], patterns),
        ("a pattern without rows", [*good, verdict("x", "warning", pattern="b")], patterns),
        ("a discriminator without a row", good, {"a": ["x", "y", "z"]}),
        ("a row without a discriminator", good, {"a": ["x"]}),
        ("a row that no golden shows", good[:2], patterns),
    ):
        if not list(complaints(table, verdicts, others)):
            missed.append(what)
    return [f"not noticed: {what}" for what in missed]


def main(arguments):
    if arguments not in ([], ["--selftest"]):
        print(__doc__)
        return 2
    if arguments:
        wrong = selftest()
    else:
        wrong = list(complaints(read_table(PAGE.read_text()), goldens(), dict(schemas())))
    print("\n".join(wrong) if wrong else "ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
