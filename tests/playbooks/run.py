#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `tracecore diagnose` name the true cause first? Writes scenarios (generate.py), adds them with
`tracecore run add`, asks `tracecore diagnose RUN --against BASE --json` and counts.

  run.py [--cases N] [--seed N] [--jobs N] [--only PLAYBOOK[:CAUSE]] [--update]

N cases of each playbook have one of its causes; a tenth as many have none (the run is as well as those before
it), and as many have one that nothing recorded. --update writes the figures into docs/accuracy.md. Exits 1 when
a playbook has its true cause first in less than 95 % of its cases, or claims one where there is none."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import generate

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
GOAL = 0.95


def tracecore(*args):
    binary = os.environ.get("TC_BINARY", str(ROOT / "build" / "release" / "tracecore"))
    done = subprocess.run([binary, *args], capture_output=True, text=True, check=False)
    if done.returncode > 1 and not done.stdout:  # diagnose answers without telemetry too, and exits 2
        raise SystemExit(f"tracecore {' '.join(args)}: {done.stderr}")
    return done.stdout


def add(folder, name, files):
    args = ["run", "add", "--json", "-q", "--data-dir", str(folder / "data"), "--name", name]
    for role in ("result", "telemetry"):
        for path in files[role]:
            args += [f"--{role}", path]
    return json.loads(tracecore(*args))["run_id"]


def load(folder, case):
    """The run's id; the runs before it are all named "base"."""
    for files in case["bases"]:
        add(folder, "base", files)
    return add(folder, "candidate", case["run"])


def diagnose(folder, run):
    return json.loads(tracecore("diagnose", run, "--against", "base", "--json", "--data-dir", str(folder / "data")))


class Score:
    def __init__(self):
        self.cases = self.first = self.right_playbook = self.culprits = self.culprit_right = 0
        self.wrong = collections.Counter()


def first_cause(answer):
    """What is claimed: the leading hypothesis, if there is one that is more than weak."""
    lead = answer.get("answer")
    return f"{lead['playbook']}:{lead['cause']}" if lead else None


def one_case(what):
    with tempfile.TemporaryDirectory(prefix="tc_playbooks_") as temporary:
        folder = pathlib.Path(temporary)
        case = generate.write_case(folder / "case", *what)
        return case, diagnose(folder, load(folder, case))


def judge(scores, quiet, case, answer):
    claimed = first_cause(answer)
    if case["kind"] != "cause":
        quiet[case["kind"]][claimed is None] += 1
        if claimed is not None:
            print(f"  seed {case['seed']} {case['kind']} ({case['playbook']}): claims {claimed}", file=sys.stderr)
        return
    s = scores[case["cause"]]
    s.cases += 1
    s.first += claimed == case["cause"]
    s.right_playbook += claimed is not None and claimed.split(":")[0] == case["playbook"]
    if claimed != case["cause"]:
        s.wrong[claimed] += 1
        print(f"  seed {case['seed']} {case['cause']} present={case['present']}: says {claimed}", file=sys.stderr)
    elif case.get("culprit"):
        s.culprits += 1
        s.culprit_right += answer["answer"].get("scope", {}).get("node") == case["culprit"]


def table(scores, quiet):
    lines = ["| playbook | cause | cases | first | playbook first | node named | else |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    below = False
    for playbook in generate.PLAYBOOKS:
        mine = [(c, s) for c, s in sorted(scores.items()) if c.startswith(playbook + ":")]
        for cause, s in mine:
            wrong = ", ".join(f"{(w or 'nothing').split(':')[-1]} {n}" for w, n in s.wrong.most_common())
            named = f"{s.culprit_right} of {s.culprits}" if s.culprits else ""
            lines.append(f"| {playbook} | {cause.split(':')[1]} | {s.cases} | {s.first} | {s.right_playbook} | {named} | {wrong} |")
        cases, first = sum(s.cases for _, s in mine), sum(s.first for _, s in mine)
        if cases:
            below |= first < GOAL * cases
            lines.append(f"| **{playbook}** | all | {cases} | {first} ({100 * first / cases:.1f} %) | "
                         f"{sum(s.right_playbook for _, s in mine)} | | |")
    for kind, words in (("nothing", "nothing was wrong"), ("blind", "what would show the cause was not recorded")):
        counts = quiet[kind]
        if sum(counts.values()):
            below |= counts[False] > 0.05 * sum(counts.values())
            lines.append(f"| {words} | | {sum(counts.values())} | claims nothing: {counts[True]} | | | |")
    return "\n".join(lines), below


def wanted(cause, only):
    return only is None or cause == only or cause.split(":")[0] == only


def plan_cases(count, only):
    for playbook, (_, causes) in generate.PLAYBOOKS.items():
        for n in range(count):
            cause = f"{playbook}:{causes[n % len(causes)]}"
            if wanted(cause, only):
                yield n, cause, "cause"
                if n % 10 == n // 10 % 10:
                    yield n, cause, "nothing"
                    yield n, cause, "blind"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200, help="of each playbook")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time")
    parser.add_argument("--only", help="one playbook, or PLAYBOOK:CAUSE")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    scores = collections.defaultdict(Score)
    quiet = {"nothing": collections.Counter(), "blind": collections.Counter()}
    cases = [(args.seed * 100000 + n, cause, kind) for n, cause, kind in plan_cases(args.cases, args.only)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for case, answer in pool.map(one_case, cases):
            judge(scores, quiet, case, answer)
    text, below = table(scores, quiet)
    print(text)
    if args.update:
        write_page(f"`./dev accuracy --playbooks --cases {args.cases} --seed {args.seed}`:\n\n{text}\n")
    return 1 if below else 0


def write_page(text):
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- playbooks: begin -->\n", "<!-- playbooks: end -->"
    head, rest = page.split(begin, 1)
    PAGE.write_text(head + begin + text + end + rest.split(end, 1)[1], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
