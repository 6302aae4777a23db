#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""variants.py PROGRAM [FORMAT] [-v]: what the readers make of inputs that their authors did not write.

FORMAT.txt in this folder holds variants of one format, written from documentation and public
examples by people who had not seen the readers. A variant is read when `tracecore decode` gives
every event that it expects; a silent one, when a reader recognises it and `tracecore detect` gives
no verdict.
With a program, prints the share that is read, per format. `floor.json` has the shares that hold:
fewer fail the test, more ask to raise the floor.
"""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))


def variants(path):
    """The variants of a file: id, file, expect (a list of objects), body (bytes)."""
    found, now = [], None
    for line in open(path, "rb").read().split(b"\n"):
        if line.startswith(b"#== "):
            key, _, value = line[4:].decode("utf-8", "replace").partition(":")
            if key == "id":
                now = {"id": value.strip(), "file": "log.txt", "expect": [], "body": []}
                found.append(now)
            elif key == "file":
                now["file"] = os.path.basename(value.strip()) or "log.txt"
            elif key == "expect":
                now["expect"].append(json.loads(value))
        elif now is not None:
            now["body"].append(line)
    for v in found:
        v["body"] = b"\n".join(v["body"]) + b"\n"
    return found


def same(want, got):
    if want == 1 and got is None:
        return True  # a count of one is left out
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        return abs(want - got) < 1e-6
    return want == got


def check(program, v):
    """None when the variant is read, else why not."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, v["file"])
        with open(path, "wb") as f:
            f.write(v["body"])
        command = ["decode"] if v["expect"] else ["detect", "--json"]
        p = subprocess.run([program, *command, "--now", "2026-11-16T00:00:00Z", path], cwd=d,
                           capture_output=True, timeout=60)
    if b"Sanitizer" in p.stderr or p.returncode < 0:
        return "crashed: " + p.stderr.decode("utf-8", "replace")[:200]
    events = [json.loads(line) for line in p.stdout.splitlines() if line.startswith(b"{")]
    if p.returncode not in (0, 1) and not events:
        return "not read: " + p.stderr.decode("utf-8", "replace").strip()[:200]
    if not v["expect"]:
        return "not silent: " + ", ".join(e["pattern.name"] for e in events) if events else None
    for want in v["expect"]:
        if not any(all(same(x, e.get(k)) for k, x in want.items()) for e in events):
            return "missing " + json.dumps(want)
    return None


def main():
    program = os.path.abspath(sys.argv[1])
    only = [a for a in sys.argv[2:] if not a.startswith("-")]
    floor = json.load(open(os.path.join(HERE, "floor.json")))
    failed = False
    for name in sorted(f[:-4] for f in os.listdir(HERE) if f.endswith(".txt")):
        if only and name not in only:
            continue
        all_of = variants(os.path.join(HERE, name + ".txt"))
        with ThreadPoolExecutor(2) as pool:
            whys = list(pool.map(lambda v: check(program, v), all_of))
        read = sum(w is None for w in whys)
        share = int(100 * read / len(all_of))
        print(f"{name}: {read} of {len(all_of)} variants read ({share} %)")
        if "-v" in sys.argv:
            for v, why in zip(all_of, whys):
                if why is not None:
                    print(f"  {v['id']}: {why}")
        if share < floor.get(name, 0):
            print(f"{name}: {share} %, and {floor[name]} % was reached before")
            failed = True
    sys.exit(failed)


main()
