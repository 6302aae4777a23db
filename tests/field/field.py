# SPDX-License-Identifier: Apache-2.0
"""What a case is: files in the format of a real program, and what must be said of them.

A module of cases makes one Pattern and calls

  fires(id, files, disc=..., node=...)   one verdict of the pattern, with these fields
  silent(id, files)                      none at all

Every verdict has to be expected: those of other patterns are named in `others`. `args` are more
arguments of detect, `times` the modification times of files in seconds of the morning, `exit` the
exit status where it is not 1 for verdicts and 0 for none, `why` says what is not plain from the
files.
"""

import dataclasses

CASES = {}

# Expectation to field of the verdict.
FIELDS = {
    "disc": "discriminator",
    "conf": "confidence",
    "status": "status",
    "node": "k8s.node.name",
    "pod": "k8s.pod.name",
    "uid": "k8s.pod.uid",
    "gpu": "gpu.uuid",
    "pci": "pci.bdf",
    "rank": "rank",
    "first": "first_seen",
}


@dataclasses.dataclass
class Case:
    name: str
    pattern: str
    files: dict
    args: tuple
    times: dict
    expected: list  # one dict per verdict: "pattern", and of FIELDS, "device" and "kinds"
    why: str
    exit: int


class Pattern:
    def __init__(self, name):
        self.name = name

    def _add(self, name, files, expected, args, times, why, status):
        assert name not in CASES, name
        status = status if status is not None else 1 if expected else 0
        CASES[name] = Case(name, self.name, files, tuple(args), times or {}, expected, why, status)

    def fires(self, name, files, args=(), times=None, why="", others=(), **fields):
        expected = [{"pattern": self.name, **fields}] + [{"pattern": other} for other in others]
        self._add(name, files, expected, args, times, why, None)

    def silent(self, name, files, args=(), times=None, why="", others=(), exit=None):
        """`others`: patterns that speak, while this one has to be silent."""
        self._add(name, files, [{"pattern": other} for other in others], args, times, why, exit)


def ranks_of(verdict):
    """The rank a verdict names, or the culprits of a hang."""
    if "rank" in verdict:
        return [verdict["rank"]]
    return next((v for k, v in verdict.items() if k.endswith(".culprit_ranks")), [])


def mismatch(verdict, expected):
    """What is other than expected, as words; empty when nothing is."""
    wrong = []
    for key, want in expected.items():
        if key == "pattern":
            continue
        if key == "device":
            got = next((v for k, v in verdict.items() if k.endswith(".device")), None)
        elif key == "kinds":
            got = sorted({e["kind"] for e in verdict["evidence_trail"]})
        elif key == "rank":
            ranks = ranks_of(verdict)
            got = ranks[0] if len(ranks) == 1 else ranks
        else:
            got = verdict.get(FIELDS[key])
        if got != want:
            wrong.append(f"{key} is {got!r}, not {want!r}")
    return wrong
