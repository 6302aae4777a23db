#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""External functions and objects of src/ that need not be external, or need not be.

  check_unused.py BUILD      reads the object files below BUILD with nm, and the sources for what a
                             file does with its own names
  check_unused.py --selftest

Prints one line for each name that nothing uses, that only tests use, or that only its own file uses
(and no test): make it static. A name in a table of pointers is used by the table's file. Exits 1
when there is any; 2 when there is nothing to read.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Names that stay although nothing but a test uses them, and why.
ALLOWED = {
    "tc_scan_use": "tests and fuzzers compare the scalar scan with the vectorised one",
    "tc_sxid_table": "a test walks the table",
    "tc_xid_table": "a test walks the table",
    "tc_xid_severity_name": "a test holds the names of the table to the page",
    "tc_files_io": "fault injection: reads and writes that fail",
    "tc__h2_mallocs": "a test counts what a connection allocates",
    "tc__net_clock": "tests and fuzzers move the time",
    "tc_log_redirect": "tests read the log and set its time",
    "tc_story_steps": "a test bounds the work of linking, which is not to be timed",
}

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def objects(build, root):
    """{object file: source as a path in the tree} of all that was compiled and is still there."""
    found = {}
    for path in Path(build).rglob("*.o"):
        # CMakeFiles/TARGET.dir/src/base/arena.c.o
        place = re.search(r"\.dir/(.+)\.o$", path.as_posix())
        if place and Path(root, place[1]).is_file():
            found[path] = place[1]
    return found


def symbols(paths):
    """{object file: (names it defines, names it uses)}, of ours."""
    result = {path: (set(), set()) for path in paths}
    listing = subprocess.run(["nm", "-A", "-g", *map(str, paths)], capture_output=True, text=True,
                             check=True).stdout
    for line in listing.splitlines():
        path, _, rest = line.partition(".o:")
        *_, kind, name = rest.split()
        if name.startswith("tc_"):
            result[Path(path + ".o")][kind == "U"].add(name)
    return result


def uses_itself(source, name):
    """Whether a file does more with its name than to define it, or to declare it before."""
    text = COMMENT.sub("", source)
    mentions = len(re.findall(rf"\b{name}\b", text))
    heads = len(re.findall(rf"^\w[\w \t*]*\b{name}\b", text, re.M))  # only a head begins a line
    return mentions > heads


def check(build, root, allowed):
    """Lines on what is wrong."""
    found = objects(build, root)
    if not any(source.startswith("src/") for source in found.values()):
        raise FileNotFoundError(f"no object files of src/ below {build}: build it first")
    names = symbols(list(found))
    by_program, by_test = {}, {}
    for path, (_, used) in names.items():
        ours = found[path].startswith("src/")
        for name in used:
            (by_program if ours else by_test).setdefault(name, set()).add(found[path])
    offenders = {}
    for path, (defined, _) in names.items():
        source = found[path]
        if not source.startswith("src/"):
            continue
        text = (Path(root) / source).read_text()
        for name in defined - by_program.keys():
            own = uses_itself(text, name)
            if name in by_test and not own:
                offenders[name] = f"{source}: {name}: only tests use it: {', '.join(sorted(by_test[name]))}"
            elif name not in by_test:
                offenders[name] = (f"{source}: {name}: only its own file uses it: make it static" if own
                                   else f"{source}: {name}: nothing uses it")
    stale = [f"{name} is used: take it out of the list of tools/check_unused.py"
             for name in allowed if name not in offenders]
    return sorted(line for name, line in offenders.items()
                  if name not in allowed) + stale


SAMPLES = {
    "src/a/a.c": """
int tc_used(void) { return 1; }
int tc_tabled(void) { return 2; }
int tc_own(void) { return 3; }
/* tc_nothing(), tc_tested() */
int tc_nothing(void) { return 4; }
int tc_tested(void) { return 5; }
int tc_tested_and_own(void);
int tc_tested_and_own(void) { return tc_own(); }
int tc_calls(void) { return tc_tested_and_own(); }
const int tc_data = 6;
const int tc_data_own = 7;
const int *tc_pointed(void) { return &tc_data_own; }
""",
    "src/a/b.c": """
int tc_used(void); int tc_tabled(void); int tc_calls(void); extern const int tc_data;
const int *tc_pointed(void);
static int (*const table[])(void) = {tc_tabled};
int main(void) { return tc_used() + table[0]() + tc_calls() + tc_data + *tc_pointed(); }
""",
    "tests/t.c": "int tc_tested(void); int tc_tested_and_own(void);\n"
                 "int test(void); int test(void) { return tc_tested() + tc_tested_and_own(); }\n",
}
EXPECTED = [
    "src/a/a.c: tc_data_own: only its own file uses it: make it static",
    "src/a/a.c: tc_nothing: nothing uses it",
    "src/a/a.c: tc_own: only its own file uses it: make it static",
    "src/a/a.c: tc_tested: only tests use it: tests/t.c",
]


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in SAMPLES.items():
            source = Path(folder, name)
            target = Path(folder, f"build/CMakeFiles/x.dir/{name}.o")
            for path in (source, target):
                path.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            subprocess.run(["cc", "-O1", "-c", source, "-o", target], check=True)
        got = check(f"{folder}/build", folder, {})
        allowed = check(f"{folder}/build", folder, {"tc_tested": "", "tc_used": ""})
        stale = "tc_used is used: take it out of the list of tools/check_unused.py"
        good = got == EXPECTED and allowed == EXPECTED[:3] + [stale]
        try:
            check(f"{folder}/none", folder, {})
            good = False
        except FileNotFoundError:
            pass
    print("ok" if good else f"FAILED: {got} {allowed}")
    return 0 if good else 1


def main(arguments):
    if arguments == ["--selftest"]:
        return selftest()
    if len(arguments) != 1:
        sys.exit(__doc__)
    wrong = check(arguments[0], ROOT, ALLOWED)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"check_unused: {error}", file=sys.stderr)
        sys.exit(2)
