# SPDX-License-Identifier: Apache-2.0
"""What the scenarios share: a cluster's files, and the truth about them.

A scenario is a module with a function `tell(cluster)`: it adds lines, objects and scrapes, and says
what of it is a fault and what only looks like one. Seconds count from the start of the morning that
tests/field/when.py defines. Nothing here reads a clock or draws by chance.
"""

import json
import os
import pathlib
import sys
import uuid

FIELD = pathlib.Path(__file__).resolve().parent.parent / "field"
sys.path.append(str(FIELD))

from when import moment, second, stamp  # noqa: E402

# Short names for what a culprit is called in verdicts.
CULPRIT = {
    "node": "k8s.node.name",
    "gpu": "gpu.uuid",
    "pci": "pci.bdf",
    "index": "gpu.index",
    "ns": "k8s.namespace.name",
    "pod": "k8s.pod.name",
    "job": "job.id",
    "rank": "rank",
    "ranks": "ranks",
    "device": "device",
}


def uid(*names):
    """The same names give the same uid, always."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, "/".join(map(str, names)) + ".tracecore.invalid"))


def gpu_uuid(node, gpu):
    return "GPU-" + uid("gpu", node, gpu)


class Cluster:
    """Files by name, what detect must be told about them, and the truth."""

    def __init__(self, until):
        self.until = until  # the end of all files, in seconds of the morning
        self.lines = {}  # file: [(seconds, text)], written in the order of time
        self.objects = {}  # file: [object of Kubernetes]
        self.whole = {}  # file: content
        self.taken = {}  # file: seconds of its modification, where it is not the end
        self.args = []
        self.truth = []
        self.sure = {}  # id of a fault: the confidence its verdict must have

    def say(self, path, seconds, text):
        """A line, or some that belong together."""
        self.lines.setdefault(path, []).append((seconds, text))

    def has(self, path, *objects):
        """Objects of one `kubectl get -o json`."""
        self.objects.setdefault(path, []).extend(objects)

    def write(self, path, content, taken=None):
        assert path not in self.whole, path
        self.whole[path] = content
        if taken is not None:
            self.taken[path] = taken

    def node(self, name, path):
        """A file that does not name its node itself."""
        self.args += ["--node", f"{name}={path}"]

    def _tell(self, truth, pattern, start, end, disc, what, pods, culprit):
        number = 1 + sum(1 for t in self.truth if t["truth"] == truth)
        end = start if end is None else end
        item = {"truth": truth, "id": f"{truth[0]}{number:04d}", "pattern": pattern}
        if disc:
            item["discriminator"] = disc
        item |= {"start": stamp(start), "end": stamp(end)}
        item["culprit"] = {CULPRIT[key]: value for key, value in culprit.items()}
        if pods:
            item["affected_pods"] = list(pods)
        self.truth.append(item | {"what": what})

    def fault(self, pattern, start, what, end=None, disc=None, pods=(), conf=None,
              **culprit):
        """This must be told, once, with this culprit. pods: "namespace/name" of those it hits."""
        self._tell("fault", pattern, start, end, disc, what, pods, culprit)
        if conf:
            self.sure[self.truth[-1]["id"]] = conf

    def noise(self, pattern, start, what, end=None, **culprit):
        """This looks like the pattern and must not be told."""
        self._tell("noise", pattern, start, end, None, what, (), culprit)

    def edge(self, fires, pattern, start, what, disc=None, conf=None, **told):
        """What lies on one side of a threshold or on the other."""
        if fires:
            self.fault(pattern, start, what, disc=disc, conf=conf, **told)
        else:
            self.noise(pattern, start, what, **told)

    def files(self):
        made = dict(self.whole)
        for path, lines in self.lines.items():
            assert path not in made, path
            made[path] = "".join(text for _, text in sorted(lines, key=lambda line: line[0]))
        for path, objects in self.objects.items():
            assert path not in made, path
            listed = {"apiVersion": "v1", "items": objects, "kind": "List"}
            made[path] = json.dumps(listed | {"metadata": {"resourceVersion": ""}}, indent=4) + "\n"
        run = {"truth": "run", "version": 1, "start": second(0), "end": second(self.until)}
        made["truth.ndjson"] = "".join(json.dumps(item) + "\n" for item in [run, *self.truth])
        return made

    def put(self, folder):
        """Writes everything below the folder."""
        for name, content in sorted(self.files().items()):
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            at = moment(self.taken.get(name, self.until)).timestamp()
            os.utime(path, (at, at))
