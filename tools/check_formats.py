#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that every format of src/ has as many "{}" as arguments.

usage: check_formats.py [--root DIR] [--selftest] [--help]

The compiler checks the types of the arguments of tc_format and its kin (MACROS), not their number, which would only abort when the sentence is first written. A format that is chosen with ?:
counts with each of its strings; one that is a variable is left to run time. Prints file:line for
each breach and exits 1 if there is one. --selftest proves that the check goes red.
"""
import argparse
import pathlib
import re
import sys

# Name of the macro, and which of its arguments is the format.
MACROS = {"tc_format": 1, "tc_grow_format": 1, "tc_output_format": 1, "tc_run_table_format": 1,
          "tc__draft_format": 1, "tc_when": 1, "tc__sim_text": 1, "tc__sim_kernel": 3,
          "tc__sim_put": 2, "tc__sim_rank_says": 4}
CALL = re.compile(r"\b(" + "|".join(MACROS) + r")\s*\(")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|[()\[\]{},?:]', re.S)
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')


def split(text, start, separators):
    """The parts of a bracket's content from `start`, cut at separators that are not nested."""
    parts, depth, at = [], 0, start
    for token in TOKEN.finditer(text, start):
        word = token.group()
        if word in separators and depth == 0:
            parts.append(text[at:token.start()])
            at = token.end()
        elif word in "([{":
            depth += 1
        elif word in ")]}":
            depth -= 1
            if depth < 0:
                return parts + [text[at:token.start()]]
    return parts + [text[at:]]


def breaches(text):
    """(offset, message) for each call whose numbers differ."""
    for call in CALL.finditer(text):
        line = text[text.rfind("\n", 0, call.start()) + 1:call.start()]
        if line.lstrip().startswith(("#define", "*", "/*")):
            continue
        args = split(text, call.end(), ",")
        at = MACROS[call.group(1)]
        if len(args) <= at:
            yield call.start(), f"{call.group(1)} has no format"
            continue
        for choice in split(args[at] + ")", 0, "?:"):
            strings = STRING.findall(choice)
            if not strings:
                continue
            wanted, given = "".join(strings).count("{}"), len(args) - at - 1
            if wanted != given:
                yield call.start(), f"{wanted} {{}} and {given} arguments"


def selftest():
    good = ['tc_format(b, "x")', 'tc_format(b, "{} {}", f(1, 2), "a, {}")',
            'tc_format(b, c ? "{}" : "({})", x)', "tc_format(b, word, x)",
            'tc_when(a > 0, " {}" " {}", x[i, 2], y)', '#define tc_format(b, ...) f(b)']
    bad = ['tc_format(b, "{}")', 'tc_format(b, "x", 1)', 'tc_format(b, c ? "{}" : "x", 1)',
           'tc_when(a, "{}", 1, 2)', 'tc__draft_format(&d, "{}" "{}", 1)',
           'tc_format(b, "{}", tc_when(a, "{}"))']
    failed = [s for s in good if list(breaches(s))] + [s for s in bad if not list(breaches(s))]
    for case in failed:
        print(f"check_formats: selftest: {case}")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--selftest", action="store_true")
    options = parser.parse_args()
    if options.selftest:
        return selftest()
    found = 0
    for path in sorted((options.root / "src").rglob("*.[ch]")):
        text = path.read_text(encoding="utf-8")
        for offset, message in breaches(text):
            line = text.count("\n", 0, offset) + 1
            print(f"{path.relative_to(options.root)}:{line}: {message}")
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
