# SPDX-License-Identifier: Apache-2.0
"""What the make.py of every pattern shares: times, Kubernetes objects, and writing the cases.

A case is a function that returns its files. Its name is the case's, its docstring becomes
about.md. `make.py` writes the inputs, `make.py --check` says whether they are as it would
write them. Goldens are not its business: replay.py --update makes those.
"""

import datetime
import json
import pathlib
import sys
import uuid

INVENTED = "Invented: written by make.py."
# All cases happen on the same made-up morning.
MORNING = datetime.datetime(2026, 3, 4, 5, 6, 0, tzinfo=datetime.timezone.utc)


def when(seconds):
    """RFC 3339 in UTC, that many seconds into the morning."""
    return (MORNING + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def nanoseconds(seconds):
    whole = round(seconds * 1_000_000)
    return (int(MORNING.timestamp()) * 1_000_000 + whole) * 1000


def uid(*names):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, "/".join(names) + ".tracecore.invalid"))


def lines(*items):
    """NDJSON."""
    return "".join(json.dumps(item, separators=(",", ":")) + "\n" for item in items)


# ---- Kubernetes, as kubectl prints it ---------------------------------------------------------


def k8s_list(*items):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}, indent=1) + "\n"


def pod(name, node, phase, containers=(), reason=None, message=None, conditions=(), env=None,
        addresses=None):
    """containers: (name, exit code, reason, finished at) of those that ended; addresses: of the
    pod and of its node."""
    names = [c[0] for c in containers] or ["main"]
    spec = {"nodeName": node, "containers": [{"name": name} for name in names]}
    if env:
        spec["containers"][0]["env"] = [{"name": k, "value": v} for k, v in env.items()]
    status = {"phase": phase, "startTime": when(-7200)}
    if addresses:
        status["podIP"], status["hostIP"] = addresses
    if reason:
        status["reason"] = reason
    if message:
        status["message"] = message
    if conditions:
        status["conditions"] = list(conditions)
    if containers:
        status["containerStatuses"] = [
            {
                "name": c[0],
                "state": {
                    "terminated": {
                        "exitCode": c[1],
                        "reason": c[2],
                        "startedAt": when(-7190),
                        "finishedAt": when(c[3]),
                    }
                },
            }
            for c in containers
        ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "train",
            "uid": uid("pod", name),
            "creationTimestamp": when(-7210),
        },
        "spec": spec,
        "status": status,
    }


def event(about, reason, message, at, node=None, kind="Pod", count=1, first=None, serial=0):
    """A core/v1 Event of the kubelet; about is the name of the pod or the node."""
    involved = {"kind": kind, "name": about, "uid": about if kind == "Node" else uid("pod", about)}
    if kind == "Pod":
        involved["namespace"] = "train"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{about}.{uid('event', about, reason, str(serial))[:16]}",
            "namespace": "train" if kind == "Pod" else "default",
            "uid": uid("event", about, reason, str(serial)),
            "creationTimestamp": when(at if first is None else first),
        },
        "involvedObject": involved,
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": node or about},
        "firstTimestamp": when(at if first is None else first),
        "lastTimestamp": when(at),
        "count": count,
        "type": "Warning",
    }


def node(name, *conditions):
    """conditions: (type, status, reason, since)"""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "conditions": [
                {
                    "type": c[0],
                    "status": c[1],
                    "reason": c[2],
                    "lastHeartbeatTime": when(c[3]),
                    "lastTransitionTime": when(c[3]),
                }
                for c in conditions
            ]
        },
    }


# ---- writing ----------------------------------------------------------------------------------


def files_of(case):
    """Path in the case's directory to bytes."""
    files = {}
    for path, content in case().items():
        files[path] = content.encode() if isinstance(content, str) else content
    text = "\n".join(line.strip() for line in case.__doc__.strip().splitlines())
    files["about.md"] = f"{text}\n{INVENTED}\n".encode()
    return files


def on_disk(folder):
    made = [folder / name for name in ("about.md", "args", "exit", "map.csv", "stderr")]
    made += sorted((folder / "input").rglob("*"))
    return {str(p.relative_to(folder)): p.read_bytes() for p in made if p.is_file()}


def main(script, cases):
    here = pathlib.Path(script).resolve().parent
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(f"usage: {script} [--check]")
    stale = 0
    for case in cases:
        folder = here / case.__name__
        files = files_of(case)
        have = on_disk(folder)
        for path in sorted(files.keys() | have.keys()):
            if files.get(path) == have.get(path):
                continue
            if sys.argv[1:] == ["--check"]:
                print(f"{case.__name__}/{path} is not as make.py writes it")
                stale = 1
            elif path in files:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(files[path])
            else:
                (folder / path).unlink()
    known = {case.__name__ for case in cases}
    for folder in sorted(p for p in here.iterdir() if p.is_dir() and p.name != "__pycache__"):
        if folder.name not in known and INVENTED in (folder / "about.md").read_text():
            print(f"{folder.name} says that make.py wrote it, but it did not")
            stale = 1
    sys.exit(stale)
