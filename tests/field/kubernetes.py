# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects, as kubectl -o json prints them."""

import json

from when import second

POD_UID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"


def k8s_list(*items):
    whole = {"apiVersion": "v1", "items": list(items), "kind": "List"}
    return json.dumps(whole | {"metadata": {"resourceVersion": ""}}, indent=4) + "\n"


def core_event(seconds, reason, message, pod="x-0", node="gpu-a12", namespace="ml",
               uid="c0ffee00-0000-4000-8000-000000000001", type_="Warning", component="kubelet",
               kind="Pod", pod_uid=POD_UID):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": pod + ".17d0",
            "namespace": namespace,
            "uid": uid,
            "resourceVersion": "123",
            "creationTimestamp": second(seconds),
        },
        "involvedObject": {
            "kind": kind,
            "namespace": namespace,
            "name": pod,
            "uid": pod_uid,
            "apiVersion": "v1",
            "resourceVersion": "99",
        },
        "reason": reason,
        "message": message,
        "source": {"component": component} | ({"host": node} if node else {}),
        "firstTimestamp": second(seconds),
        "lastTimestamp": second(seconds),
        "count": 1,
        "type": type_,
        "eventTime": None,
        "reportingComponent": component,
        "reportingInstance": node or "",
    }


def modern_event(seconds, reason, note, pod="x-0", node="gpu-a12", component="kubelet"):
    """events.k8s.io/v1"""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": pod + ".17d0",
            "namespace": "ml",
            "uid": "c0ffee00-0000-4000-8000-000000000002",
            "creationTimestamp": second(seconds),
        },
        "eventTime": second(seconds, 123456),
        "reportingController": component,
        "reportingInstance": f"{component}-{node}",
        "action": "Evict",
        "reason": reason,
        "note": note,
        "regarding": {"kind": "Pod", "namespace": "ml", "name": pod, "uid": POD_UID},
        "type": "Warning",
        "deprecatedSource": {"component": component, "host": node},
    }


def pod(name, node="gpu-a12", uid=POD_UID, phase="Running", ends=None, reason=None, message=None,
        conditions=None, namespace="ml", start=-7200, env=None):
    status = {"phase": phase, "hostIP": "10.0.0.12", "startTime": second(start)}
    status["qosClass"] = "Burstable"
    said = {"reason": reason, "message": message, "conditions": conditions}
    status |= {key: value for key, value in said.items() if value}
    if ends:
        status["containerStatuses"] = ends
    spec = {"name": "trainer", "image": "x", "resources": {"limits": {"memory": "64Gi"}}}
    if env:
        spec["env"] = [{"name": key, "value": value} for key, value in env.items()]
    meta = {"name": name, "namespace": namespace, "uid": uid, "labels": {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta | {"creationTimestamp": second(start - 3)},
        "spec": {"nodeName": node, "containers": [spec]},
        "status": status,
    }


def ended(reason, code, seconds, last=False, start=-7000):
    """The status of a container that ended; `last`: of the run before the present one."""
    end = {
        "containerID": "containerd://" + "ab" * 32,
        "exitCode": code,
        "finishedAt": second(seconds),
        "reason": reason,
        "startedAt": second(start),
    }
    status = {"name": "trainer", "image": "x", "imageID": "y", "ready": last, "started": last}
    if last:
        now = {"running": {"startedAt": second(seconds + 3)}}
        return status | {
            "restartCount": 1,
            "state": now,
            "lastState": {"terminated": end},
            "containerID": "containerd://" + "cd" * 32,
        }
    return status | {
        "restartCount": 0,
        "state": {"terminated": end},
        "lastState": {},
        "containerID": "containerd://" + "ab" * 32,
    }


def node(name, conditions):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": "deadbeef-0000-4000-8000-00000000000a",
            "creationTimestamp": second(-86400 * 30),
        },
        "spec": {},
        "status": {
            "conditions": conditions,
            "nodeInfo": {"kernelVersion": "5.15.0", "kubeletVersion": "v1.29.3"},
        },
    }


def condition(type_, status, seconds, reason="", message=""):
    return {
        "type": type_,
        "status": status,
        "lastHeartbeatTime": second(seconds + 60),
        "lastTransitionTime": second(seconds),
        "reason": reason,
        "message": message,
    }
