#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the pod_evicted cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import event, k8s_list, lines, main, node, pod, uid, when  # noqa: E402

LOW_ON_MEMORY = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 42188Ki. "
    "Container loader was using 118Gi, request is 64Gi, has larger consumption of memory. "
)


def evicted(at, message=LOW_ON_MEMORY, name="pretrain-worker-3", **more):
    return event(name, "Evicted", message, at, node="gpu-07", **more)


def pressure(at, kind="MemoryPressure", status="True"):
    reasons = {
        ("MemoryPressure", "True"): "KubeletHasInsufficientMemory",
        ("MemoryPressure", "False"): "KubeletHasSufficientMemory",
        ("DiskPressure", "False"): "KubeletHasNoDiskPressure",
    }
    return node("gpu-07", (kind, status, reasons[kind, status], at))


def text(*rows):
    return "".join(row + "\n" for row in rows)


def joined(gap):
    """A pod evicted at 600, and memory pressure since `gap` seconds before."""
    return {
        "input/events.json": k8s_list(evicted(600)),
        "input/nodes.json": k8s_list(pressure(600 - gap)),
    }


def fires_on_memory_pressure():
    """gpu-07 comes under MemoryPressure; 45 seconds later the kubelet evicts a pod for memory."""
    return joined(45)


def fires_on_disk_pressure_yaml():
    """The same for disk, from `kubectl get -o yaml`, with an event of events.k8s.io."""
    text = f"""\
apiVersion: v1
kind: List
items:
- apiVersion: events.k8s.io/v1
  kind: Event
  metadata:
    name: pretrain-worker-3.17d9f0b6a2c4e8f1
    namespace: train
    uid: {uid("event", "disk")}
    creationTimestamp: "{when(600)}"
  eventTime: "{when(600)[:-1]}.250000Z"
  reason: Evicted
  action: Evicting
  note: 'The node was low on resource: nodefs. Threshold quantity: 10%, available: 7%. '
  regarding:
    kind: Pod
    name: pretrain-worker-3
    namespace: train
    uid: {uid("pod", "pretrain-worker-3")}
  reportingController: kubelet
  reportingInstance: gpu-07
  type: Warning
- apiVersion: v1
  kind: Node
  metadata:
    name: gpu-07
  status:
    conditions:
    - type: DiskPressure
      status: "True"
      reason: KubeletHasDiskPressure
      lastHeartbeatTime: "{when(640)}"
      lastTransitionTime: "{when(570)}"
    - type: Ready
      status: "True"
      reason: KubeletReady
      lastTransitionTime: "{when(-86400)}"
"""
    return {"input/cluster.yaml": text}


def fires_on_pid_pressure():
    """Process ids ran out. The node's condition came as a node event of the kubelet."""
    message = "Node gpu-07 status is now: NodeHasInsufficientPID"
    said = event("gpu-07", "NodeHasInsufficientPID", message, 580, kind="Node")
    note = "The node was low on resource: pids. Threshold quantity: 1000, available: 812. "
    return {"input/events.json": k8s_list(said, evicted(600, note))}


def fires_on_ephemeral_storage():
    """A container wrote to its own layer until the node's disk was under pressure."""
    note = (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: "
        "9Gi. Container trainer was using 212Gi, request is 0, has larger consumption of "
        "ephemeral-storage. "
    )
    disk = node("gpu-07", ("DiskPressure", "True", "KubeletHasDiskPressure", 598))
    return {"input/events.json": k8s_list(evicted(600, note)), "input/nodes.json": k8s_list(disk)}


def fires_on_pod_limit():
    """The pod went over its own limit: the node is not at fault, and no condition is joined."""
    note = 'Usage of EmptyDir volume "scratch" exceeds the limit "50Gi". '
    return {"input/events.json": k8s_list(evicted(600, note))}


def fires_partial_without_condition():
    """The kubelet's event says that memory ran low; nothing was seen of the node itself."""
    return {"input/events.json": k8s_list(evicted(600))}


def fires_from_kubectl_text():
    """What kubectl prints for people: a described pod whose top is cut off, dated by the end of its
    container, and a table of events whose ages are not known."""
    described = text(
        "Status:       Failed",
        "Reason:       Evicted",
        "Message:      " + LOW_ON_MEMORY,
        "Containers:",
        "  loader:",
        "    Image:          loader:1",
        "    State:          Terminated",
        "      Reason:       Error",
        "      Exit Code:    137",
        "      Finished:     Tue, 03 Nov 2026 10:10:00 +0000",
    )
    table = text(
        "LAST SEEN   TYPE      REASON    OBJECT                  MESSAGE",
        "<unknown>   Warning   Evicted   pod/pretrain-worker-3   " + LOW_ON_MEMORY,
        "<unknown>   Warning   Evicted   pod/pretrain-worker-5   The node was low on resource: pids.",
        "<unknown>   Normal    Killing   pod/pretrain-worker-3   Stopping container loader",
    )
    return {"input/describe.txt": described, "input/events.txt": table}


def fires_from_pod_status_without_event():
    """The event was lost. The pod's own status still says that and why it was evicted."""
    disrupted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": LOW_ON_MEMORY,
        "lastTransitionTime": when(600),
    }
    status = {"reason": "Evicted", "message": LOW_ON_MEMORY, "conditions": [disrupted]}
    return {
        "input/nodes.json": k8s_list(pressure(555)),
        "input/pods.json": k8s_list(pod("pretrain-worker-3", "gpu-07", "Failed", **status)),
    }


def fires_at_window_edge():
    """The condition is exactly 300 seconds older than the eviction: joined."""
    return joined(300)


def fires_partial_past_window():
    """Out of the window: the condition is 301 seconds older than the eviction, and not joined."""
    return joined(301)


def fires_partial_future_transition():
    """The condition came a second after the eviction: a future transition is excluded."""
    return joined(-1)


def fires_partial_on_other_pressure():
    """Memory ran low, but the condition of the node was DiskPressure's: it explains nothing."""
    disk = node("gpu-07", ("DiskPressure", "True", "KubeletHasDiskPressure", 570))
    return {"input/events.json": k8s_list(evicted(600)), "input/nodes.json": k8s_list(disk)}


def fires_in_deterministic_order():
    """Three pods of a node evicted within the same second, told in another order than they are
    listed: one verdict each, always in the same order."""
    names = ("pretrain-worker-5", "pretrain-worker-3", "pretrain-worker-4")
    return {
        "input/events.json": k8s_list(*(evicted(600, name=name) for name in names)),
        "input/nodes.json": k8s_list(pressure(555)),
    }


def fires_on_repeated_threshold():
    """The kubelet tells of the threshold again and again: one event, first seen before the eviction
    and last seen after it."""
    threshold = event(
        "gpu-07",
        "EvictionThresholdMet",
        "Attempting to reclaim memory",
        660,
        node="gpu-07",
        kind="Node",
        count=9,
        first=570,
    )
    return {"input/events.json": k8s_list(evicted(600), threshold)}


def fires_on_second_condition():
    """The note names two conditions; the second is the one that was seen."""
    note = "The node had condition: [DiskPressure MemoryPressure]. "
    return {
        "input/events.json": k8s_list(evicted(600, note)),
        "input/nodes.json": k8s_list(pressure(555)),
    }


def stays_quiet_on_planned_eviction():
    """A drain (Eviction API), a preemption and the taint manager: these were meant to go."""
    drained = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": when(600),
    }
    preempted = "Preempted by pod train/pretrain-worker-9"
    tainted = "Marking for deletion Pod train/eval-2"
    events = [
        evicted(600, "Eviction API: evicting", name="pretrain-worker-4"),
        event("eval-1", "Preempted", preempted, 600, "gpu-07"),
        event("eval-2", "TaintManagerEviction", tainted, 600, "gpu-07"),
    ]
    return {
        "input/events.json": k8s_list(*events),
        "input/nodes.json": k8s_list(pressure(555)),
        "input/pods.json": k8s_list(
            pod("pretrain-worker-3", "gpu-07", "Failed", conditions=[drained])
        ),
    }


def stays_quiet_on_other_events():
    """Pressure on the node, and pods that fail, back off or wait: nobody was evicted."""
    again = "Back-off restarting failed container"
    events = [
        event("pretrain-worker-3", "BackOff", again, 600, "gpu-07"),
        event("pretrain-worker-4", "FailedScheduling", "0/64 nodes are available", 601, "gpu-07"),
    ]
    failed = pod("pretrain-worker-3", "gpu-07", "Failed", [("trainer", 1, "Error", 599)])
    return {
        "input/events.json": k8s_list(*events),
        "input/nodes.json": k8s_list(pressure(555)),
        "input/pods.json": k8s_list(failed),
    }


def resolved_when_condition_clears():
    """As a watch of nodes told it: pressure, the eviction, and ten minutes later the pressure has
    gone. The verdict is resolved."""
    changes = (pressure(555), pressure(1200, status="False"))
    return {
        "input/events.json": k8s_list(evicted(600)),
        "input/nodes-watch.ndjson": lines(*({"type": "MODIFIED", "object": n} for n in changes)),
    }


def degrades_replayed_events():
    """The collector restarted and told the same eviction again: one verdict, as if once."""
    return {
        "input/events-after-restart.json": k8s_list(evicted(600), evicted(600)),
        "input/events-before-restart.json": k8s_list(evicted(600)),
        "input/nodes.json": k8s_list(pressure(555)),
    }


def degrades_empty_message():
    """The eviction has no message: which pressure it was is unknown, so no condition is joined."""
    return {
        "input/events.json": k8s_list(evicted(600, "")),
        "input/nodes.json": k8s_list(pressure(555)),
    }


CASES = [
    fires_on_memory_pressure,
    fires_on_disk_pressure_yaml,
    fires_on_pid_pressure,
    fires_on_ephemeral_storage,
    fires_on_pod_limit,
    fires_partial_without_condition,
    fires_from_kubectl_text,
    fires_from_pod_status_without_event,
    fires_at_window_edge,
    fires_partial_past_window,
    fires_partial_future_transition,
    fires_partial_on_other_pressure,
    fires_in_deterministic_order,
    fires_on_repeated_threshold,
    fires_on_second_condition,
    stays_quiet_on_planned_eviction,
    stays_quiet_on_other_events,
    resolved_when_condition_clears,
    degrades_replayed_events,
    degrades_empty_message,
]

if __name__ == "__main__":
    main(__file__, CASES)
