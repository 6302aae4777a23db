# SPDX-License-Identifier: Apache-2.0
"""pod_evicted: pods that the kubelet evicts."""

import json

from field import Pattern
from kubernetes import condition, core_event, ended, k8s_list, modern_event, node, pod
from otlp import event_record, watched
from when import second

case = Pattern("pod_evicted")

LOW_ON_MEMORY = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 51200Ki. "
    "Container trainer was using 61Gi, request is 8Gi, has larger consumption of memory. "
)


def evicted(s, note=LOW_ON_MEMORY, **k):
    return core_event(s, "Evicted", note, pod="job-2", node=k.pop("node", "gpu-e5"), **k)


PRESSED = node(
    "gpu-e5",
    [
        condition(
            "MemoryPressure",
            "True",
            -30,
            "KubeletHasInsufficientMemory",
            "kubelet has insufficient memory available",
        ),
        condition("Ready", "True", -9999),
    ],
)

case.fires(
    "ev_f1_core_node",
    {"e.json": k8s_list(evicted(0)), "n.json": k8s_list(PRESSED)},
    node="gpu-e5", pod="job-2", disc="memory_pressure", conf="full",
)

case.fires(
    "ev_f2_new_single_only",
    {
        "e.json": json.dumps(
            modern_event(0, "Evicted", LOW_ON_MEMORY, pod="job-2", node="gpu-e5"),
            indent=1,
        ),
    },
    node="gpu-e5", pod="job-2", disc="memory_pressure", conf="partial",
)

case.fires(
    "ev_f3_podstatus",
    {
        "p.json": k8s_list(
            pod(
                "job-2",
                node="gpu-e5",
                phase="Failed",
                reason="Evicted",
                message=(
                    "The node was low on resource: ephemeral-storage. Threshold quantity: 30Gi, "
                    "available: 24094024Ki. Container trainer was using 2456Ki, request is 0, "
                    "has larger consumption of ephemeral-storage. "
                ),
                conditions=[
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "TerminationByKubelet",
                        "message": "The node was low on resource: ephemeral-storage. ",
                        "lastTransitionTime": second(0),
                        "lastProbeTime": None,
                    },
                ],
            ),
        ),
    },
    node="gpu-e5", pod="job-2", disc="ephemeral_storage", conf="partial",
)

case.fires(
    "ev_f4_condition_299",
    {
        "e.json": k8s_list(evicted(0, "The node had condition: [DiskPressure]. ")),
        "n.json": json.dumps(
            node("gpu-e5", [condition("DiskPressure", "True", -300, "KubeletHasDiskPressure")]),
        ),
    },
    node="gpu-e5", pod="job-2", disc="disk_pressure", conf="full",
)

case.fires(
    "ev_f5_otel",
    {
        "l.json": (
            event_record(
                -20,
                "NodeHasInsufficientMemory",
                "Node gpu-e5 status is now: NodeHasInsufficientMemory",
                node="gpu-e5",
                pod="gpu-e5",
                kind="Node",
                uid="n1",
                namespace="default",
                severity=9,
            )
            + event_record(0, "Evicted", LOW_ON_MEMORY, node="gpu-e5", pod="job-2", uid="n2")
        ),
    },
    node="gpu-e5", pod="job-2", disc="memory_pressure", conf="full",
)

case.fires(
    "ev_f6_after_only_partial",
    {
        "e.json": k8s_list(evicted(0)),
        "n.json": k8s_list(node("gpu-e5", [condition("MemoryPressure", "True", 20)])),
    },
    node="gpu-e5", pod="job-2", disc="memory_pressure", conf="partial",
)

case.fires(
    "ev_f7_objects_watch",
    {
        "l.json": watched(
            0,
            modern_event(
                0,
                "Evicted",
                "The node was low on resource: pids. ",
                pod="job-2",
                node="gpu-e5",
            ),
        ),
    },
    node="gpu-e5", pod="job-2", disc="pid_pressure", conf="partial",
)

case.fires(
    "ev_f8_301_partial",
    {
        "e.json": k8s_list(evicted(0)),
        "n.json": k8s_list(node("gpu-e5", [condition("MemoryPressure", "True", -301)])),
    },
    node="gpu-e5", pod="job-2", disc="memory_pressure", conf="partial",
)

case.fires(
    "ev_f9_old_note",
    {
        "e.json": k8s_list(
            evicted(
                0,
                (
                    "The node was low on resource: memory. Container citadel was using 43536Ki, "
                    "which exceeds its request of 0."
                ),
            ),
        ),
    },
    node="gpu-e5", pod="job-2", disc="memory_pressure", conf="partial",
)

case.fires(
    "ev_f10_emptydir",
    {"e.json": k8s_list(evicted(0, 'Usage of EmptyDir volume "dshm" exceeds the limit "64Gi". '))},
    node="gpu-e5", pod="job-2", disc="pod_limit",
)

case.fires(
    "ev_f11_replay",
    {
        "e.json": k8s_list(evicted(0)),
        "e2.json": k8s_list(evicted(0)),
        "o.json": watched(0, evicted(0)),
    },
    node="gpu-e5", pod="job-2", disc="memory_pressure",
)

case.fires(
    "ev_f12_other_node_cond",
    {
        "e.json": k8s_list(evicted(0)),
        "n.json": k8s_list(node("gpu-e6", [condition("MemoryPressure", "True", -20)])),
    },
    node="gpu-e5", pod="job-2", disc="memory_pressure", conf="partial",
)

case.silent(
    "ev_q1_drain",
    {
        "e.json": k8s_list(
            core_event(
                0,
                "Killing",
                "Stopping container trainer",
                pod="job-2",
                node="gpu-e5",
                type_="Normal",
            ),
        ),
        "p.json": k8s_list(
            pod(
                "job-2",
                node="gpu-e5",
                phase="Failed",
                ends=[ended("Error", 143, 2)],
                conditions=[
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "EvictionByEvictionAPI",
                        "message": "Eviction API: evicting",
                        "lastTransitionTime": second(0),
                    },
                ],
            ),
        ),
    },
)

case.silent(
    "ev_q2_preempt",
    {
        "e.json": k8s_list(
            core_event(
                0,
                "Preempted",
                "Preempted by pod 1234 on node gpu-e5",
                pod="job-2",
                node=None,
                component="default-scheduler",
            ),
        ),
        "n.json": k8s_list(PRESSED),
    },
)

case.silent(
    "ev_q3_taint",
    {
        "e.json": k8s_list(
            core_event(
                0,
                "TaintManagerEviction",
                "Marking for deletion Pod ml/job-2",
                pod="job-2",
                node=None,
                type_="Normal",
                component="taint-eviction-controller",
            ),
        ),
        "p.json": k8s_list(
            pod(
                "job-2",
                node="gpu-e5",
                phase="Failed",
                conditions=[
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "DeletionByTaintManager",
                        "message": "Taint manager: deleting due to NoExecute taint",
                        "lastTransitionTime": second(0),
                    },
                ],
            ),
        ),
    },
)

case.silent(
    "ev_q4_pressure_only",
    {
        "n.json": k8s_list(PRESSED),
        "e.json": k8s_list(
            core_event(
                -20,
                "EvictionThresholdMet",
                "Attempting to reclaim memory",
                pod="gpu-e5",
                node="gpu-e5",
                kind="Node",
            ),
        ),
    },
)

case.silent(
    "ev_q5_shutdown",
    {
        "p.json": k8s_list(
            pod(
                "job-2",
                node="gpu-e5",
                phase="Failed",
                reason="Terminated",
                message="Pod was terminated in response to imminent node shutdown.",
                conditions=[
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "TerminationByKubelet",
                        "message": "Pod was terminated in response to imminent node shutdown.",
                        "lastTransitionTime": second(0),
                    },
                ],
            ),
        ),
    },
)

case.silent(
    "ev_q6_nodelost",
    {
        "p.json": k8s_list(
            pod(
                "job-2",
                node="gpu-e5",
                phase="Running",
                reason="NodeLost",
                message="Node gpu-e5 which was running pod job-2 is unresponsive",
            ),
        ),
    },
)

case.silent(
    "ev_q7_descheduler",
    {
        "e.json": k8s_list(
            core_event(
                0,
                "Evicted",
                "pod evicted from gpu-e5 node by sigs.k8s.io/descheduler",
                pod="job-2",
                node=None,
                type_="Normal",
                component="sigs.k8s.io.descheduler",
            ),
            core_event(
                0,
                "LowNodeUtilization",
                "pod evicted from gpu-e5 node by sigs.k8s.io/descheduler",
                pod="job-2",
                node=None,
                type_="Normal",
                component="sigs.k8s.io/descheduler",
                uid="c0ffee00-0000-4000-8000-000000000011",
            ),
        ),
    },
)

case.silent(
    "ev_q8_completed",
    {
        "p.json": k8s_list(
            pod("job-2", node="gpu-e5", phase="Succeeded", ends=[ended("Completed", 0, 0)]),
        ),
        "n.json": k8s_list(PRESSED),
    },
)

case.silent(
    "ev_q9_eviction_word",
    {
        "e.json": k8s_list(
            core_event(
                0,
                "FailedScheduling",
                "0/8 nodes are available: 1 node had evicted pods, 7 Insufficient nvidia.com/gpu",
                pod="job-2",
                node=None,
                component="default-scheduler",
            ),
        ),
    },
)

case.silent(
    "ev_q10_nodeaffinity",
    {
        "p.json": k8s_list(
            pod(
                "job-2",
                node="gpu-e5",
                phase="Failed",
                reason="UnexpectedAdmissionError",
                message=(
                    "Allocate failed due to no healthy devices present; cannot allocate "
                    "unhealthy devices nvidia.com/gpu, which is unexpected"
                ),
            ),
        ),
    },
)

case.fires(
    "ev_f20_dated_by_its_event",
    {
        "p.json": k8s_list(
            pod("job-2", node="gpu-e5", phase="Failed", reason="Evicted", message=LOW_ON_MEMORY,
                start=-7200),
        ),
        "e.json": k8s_list(evicted(0)),
    },
    node="gpu-e5", pod="job-2", disc="memory_pressure", first=second(0),
    why="the state of the pod knows only when the pod began",
)
