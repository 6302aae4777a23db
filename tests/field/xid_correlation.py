# SPDX-License-Identifier: Apache-2.0
"""xid_correlation: pods that end after an Xid of their GPU."""

import json

from field import Pattern
from kernel import XID, kernel_line, kernel_log
from kubernetes import node
from metrics import GPUS, healthy, scrape
from otlp import journal_body, ndjson, otlp_logs
from when import moment, stamp

case = Pattern("xid_correlation")


def pod(name, s, node="gpu-07", phase="Failed", code=134, reason="Error", uid=None,
        sreason=None, extra=None):
    p = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "train",
            "uid": uid or "6a0d1c52-0f9e-4c53-9f5e-1d2b3c4d5e6f",
            "creationTimestamp": moment(-7200).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
        },
        "status": {
            "phase": phase,
            "containerStatuses": [
                {
                    "name": "main",
                    "ready": False,
                    "restartCount": 0,
                    "state": {
                        "terminated": {
                            "exitCode": code,
                            "reason": reason,
                            "startedAt": moment(-7100).strftime("%Y-%m-%dT%H:%M:%SZ"),
                            "finishedAt": moment(s).strftime("%Y-%m-%dT%H:%M:%SZ"),
                        },
                    },
                },
            ],
        },
    }
    if sreason:
        p["status"]["reason"] = sreason
    if extra:
        p.update(extra)
    return p


def pod_list(*p):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(p)}, indent=2)


OFF_THE_BUS = XID % ("1b", "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")

case.fires(
    "xc_f01_79_pod",
    {
        "kern.log": kernel_log([(0, OFF_THE_BUS)], "shortiso"),
        "pods.json": pod_list(pod("llm-0", 30), pod("other", 30, node="gpu-08", uid="77")),
    },
    pod="llm-0",
    others=["gpu_fault"],
)

case.fires(
    "xc_f02_48_evict_event",
    {
        "j.export": kernel_log([(0, XID % ("1b", "48, pid=2211, name=python, DBE"))], "export"),
        "ev.json": json.dumps(
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [
                    {
                        "apiVersion": "v1",
                        "kind": "Event",
                        "metadata": {"name": "llm-0.17", "namespace": "train", "uid": "e-1"},
                        "involvedObject": {
                            "kind": "Pod",
                            "name": "llm-0",
                            "namespace": "train",
                            "uid": "u-1",
                        },
                        "reason": "Evicted",
                        "message": "The node was low on resource: memory.",
                        "type": "Warning",
                        "count": 1,
                        "firstTimestamp": moment(60).strftime("%Y-%m-%dT%H:%M:%SZ"),
                        "lastTimestamp": moment(60).strftime("%Y-%m-%dT%H:%M:%SZ"),
                        "source": {"component": "kubelet", "host": "gpu-07"},
                    },
                ],
            },
        ),
    },
    pod="llm-0",
    others=["hbm_ecc", "pod_evicted"], why="Xid 48 and the eviction are told as well",
)

case.fires(
    "xc_f03_exactly300",
    {
        "kern.log": kernel_log([(0, OFF_THE_BUS)], "rsysiso"),
        "pods.json": pod_list(pod("llm-0", 300)),
    },
    pod="llm-0",
    others=["gpu_fault"],
)

case.fires(
    "xc_f04_dcgm_xid_gauge",
    {
        "dcgm.prom": "".join(
            scrape(healthy(0, pod="llm-0", xid=79 if i > 3 else 0), i * 15)
            for i in range(8)
        ),
        "pods.json": pod_list(pod("llm-0", 100)),
    },
    pod="llm-0", gpu=GPUS[0],
    others=["gpu_fault"],
)

case.fires(
    "xc_f05_otlp_all",
    {
        "l.json": (
            otlp_logs(
                [
                    (
                        0,
                        journal_body(
                            XID % (
                                "1b",
                                (
                                    "74, pid=1234, name=python, NVLink: fatal error detected on "
                                    "link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
                                ),
                            ),
                        ),
                        {},
                    ),
                ],
                {"k8s.node.name": "gpu-07"},
            )
            + otlp_logs(
                [
                    (
                        40,
                        "Stopping container main",
                        {
                            "k8s.event.reason": "Failed",
                            "k8s.event.name": "llm-0.1",
                            "k8s.event.uid": "ee",
                            "k8s.namespace.name": "train",
                            "k8s.event.count": 1,
                        },
                    ),
                ],
                {
                    "k8s.node.name": "gpu-07",
                    "k8s.object.kind": "Pod",
                    "k8s.object.name": "llm-0",
                    "k8s.object.uid": "uu",
                },
            )
        ),
    },
    pod="llm-0", others=["nvlink_degraded"], why="Xid 74 is an NVLink fault by itself",
)

case.fires(
    "xc_f06_full_uuid",
    {
        "kern.log": kernel_log(
            [
                (-5000, "NVRM: GPU at PCI:0000:1b:00: %s" % GPUS[0]),
                (
                    0,
                    XID % (
                        "1b",
                        (
                            "119, pid=4711, name=python, Timeout after 6s of waiting for RPC "
                            "response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) "
                            "(0x20801234 0x4)."
                        ),
                    ),
                ),
            ],
            "shortiso",
        ),
        "dcgm.prom": "".join((scrape(healthy(0, pod="llm-0"), i * 15) for i in range(-4, 4))),
        "pods.json": pod_list(pod("llm-0", 90)),
    },
    conf="full", pod="llm-0",
    others=["gpu_fault"],
)

case.fires(
    "xc_f07_two_pods",
    {
        "kern.log": kernel_log([(0, OFF_THE_BUS)], "syslog"),
        "pods.json": pod_list(pod("llm-0", 20), pod("llm-1", 25, uid="u2")),
    },
    others=["xid_correlation", "gpu_fault"], why="nothing says whose GPU it is: one incident per pod",
)

case.fires(
    "xc_f08_ndjson",
    {
        "e.ndjson": ndjson(
            [
                {
                    "kind": "xid",
                    "time": stamp(0),
                    "k8s.node.name": "n1",
                    "pci.bdf": "0000:1b:00.0",
                    "xid": 79,
                },
                {
                    "kind": "pod_state",
                    "time": stamp(50),
                    "k8s.node.name": "n1",
                    "k8s.namespace.name": "train",
                    "k8s.pod.name": "p",
                    "k8s.pod.uid": "u",
                    "phase": "Failed",
                    "reason": "Error",
                    "exit_code": 1,
                },
            ],
        ),
    },
    pod="p", node="n1",
    others=["gpu_fault"],
)

case.fires(
    "xc_f09_crashloop_lastState",
    {
        "kern.log": kernel_log([(0, OFF_THE_BUS)], "shortiso"),
        "pods.json": pod_list(
            dict(
                pod("llm-0", 30),
                status={
                    "phase": "Running",
                    "containerStatuses": [
                        {
                            "name": "main",
                            "restartCount": 1,
                            "state": {
                                "running": {"startedAt": moment(60).strftime("%Y-%m-%dT%H:%M:%SZ")},
                            },
                            "lastState": {
                                "terminated": {
                                    "exitCode": 139,
                                    "reason": "Error",
                                    "finishedAt": moment(30).strftime("%Y-%m-%dT%H:%M:%SZ"),
                                    "startedAt": moment(-500).strftime("%Y-%m-%dT%H:%M:%SZ"),
                                },
                            },
                        },
                    ],
                },
            ),
        ),
    },
    pod="llm-0",
    others=["gpu_fault"],
)

case.silent(
    "xc_q01_app13",
    {
        "kern.log": kernel_log(
            [
                (
                    0,
                    XID % (
                        "1b",
                        (
                            "13, pid=11, name=python, Graphics SM Warp Exception on (GPC 0, TPC "
                            "0, SM 0): Out Of Range Address"
                        ),
                    ),
                ),
                (1, XID % ("1b", "43, pid=11, name=python, Ch 00000008")),
            ],
            "shortiso",
        ),
        "pods.json": pod_list(pod("llm-0", 5)),
    },
)

case.silent(
    "xc_q02_301",
    {
        "kern.log": kernel_log(
            [(0, XID % ("1b", "74, pid=1, name=python, NVLink: x"))],
            "shortiso",
        ),
        "pods.json": pod_list(pod("llm-0", 301)),
    },
    others=["nvlink_degraded"], why="a second too late for the pod; Xid 74 is told by itself",
)

case.silent(
    "xc_q02b_301_79",
    {
        "kern.log": kernel_log([(0, OFF_THE_BUS)], "shortiso"),
        "pods.json": pod_list(pod("llm-0", 301)),
    },
    others=["gpu_fault"],
)

case.silent(
    "xc_q03_after",
    {
        "kern.log": kernel_log([(60, OFF_THE_BUS)], "shortiso"),
        "pods.json": pod_list(pod("llm-0", 0)),
    },
    others=["gpu_fault"],
)

case.silent(
    "xc_q04_other_node",
    {
        "kern.log": kernel_log([(0, OFF_THE_BUS)], "shortiso"),
        "pods.json": pod_list(pod("llm-0", 20, node="gpu-08")),
    },
    others=["gpu_fault"],
)

case.silent("xc_q05_xid_alone", {"kern.log": kernel_log([(0, OFF_THE_BUS)], "shortiso")}, others=["gpu_fault"])
case.silent(
    "xc_q06_pod_completed",
    {
        "kern.log": kernel_log(
            [(0, XID % ("1b", "45, pid=11, name=python, Ch 00000008"))],
            "shortiso",
        ),
        "pods.json": pod_list(pod("llm-0", 20, phase="Succeeded", code=0, reason="Completed")),
    },
)

case.silent(
    "xc_q06b_79_completed",
    {
        "kern.log": kernel_log([(0, OFF_THE_BUS)], "shortiso"),
        "pods.json": pod_list(pod("llm-0", 20, phase="Succeeded", code=0, reason="Completed")),
    },
    others=["gpu_fault"],
)

case.silent(
    "xc_q07_gauge_stale",
    {
        "dcgm.prom": "".join((scrape(healthy(0, pod="llm-0", xid=79), i * 15) for i in range(8))),
        "pods.json": pod_list(pod("llm-0", 100)),
    },
)

case.silent(
    "xc_q08_45_31",
    {
        "j.export": kernel_log(
            [
                (
                    0,
                    XID % (
                        "1b",
                        (
                            "31, pid=11, name=python, Ch 00000008, intr 00000000. MMU Fault: "
                            "ENGINE GRAPHICS faulted"
                        ),
                    ),
                ),
                (0.5, XID % ("1b", "45, pid=11, name=python, Ch 00000009")),
            ],
            "export",
        ),
        "pods.json": pod_list(pod("llm-0", 3, code=1)),
    },
)

case.silent("xc_q09_pod_alone", {"pods.json": pod_list(pod("llm-0", 3, code=1))})

def line_of(host):
    return kernel_line(0, host, OFF_THE_BUS)


case.fires(
    "xc_f30_full_name_in_the_kernel_log",
    {"kern.log": line_of("gpu-07.dc1.example.net"), "pods.json": pod_list(pod("llm-0", 30))},
    pod="llm-0", node="gpu-07.dc1.example.net",
    others=["gpu_fault"],
)

case.fires(
    "xc_f31_capitals_in_the_kernel_log",
    {"kern.log": line_of("GPU-07"), "pods.json": pod_list(pod("llm-0", 30))},
    pod="llm-0",
    others=["gpu_fault"],
)

case.silent(
    "xc_q30_two_domains_have_that_name",
    {
        "kern.log": line_of("gpu-07.dc1.example.net")
        + kernel_line(1, "gpu-07.dc2.example.net", "usb 1-1: new device")
        + kernel_line(2, "gpu-07.dc2.example.net", OFF_THE_BUS.replace("79", "48")),
        "pods.json": pod_list(pod("llm-0", 30)),
    },
    others=["hbm_ecc", "gpu_fault"],
    why="nothing says in which of the two the pod ran",
)

case.silent(
    "xc_q31_the_name_is_only_a_beginning",
    {"kern.log": line_of("gpu-070.dc1.example.net"), "pods.json": pod_list(pod("llm-0", 30))},
    others=["gpu_fault"],
)


def steps(ahead):
    """Step lines of a job, each node by its own clock: {node: seconds that it is ahead}."""
    return "".join(
        otlp_logs(
            [
                (10 * step + seconds - 200, f"step {step}", {"rank": rank, "training.step": step})
                for step in range(20)
            ],
            {"k8s.node.name": host, "job.id": "llm"},
        )
        for rank, (host, seconds) in enumerate(ahead.items())
    )


# The pod ended at 30; the clock of its node says 100 for an Xid of 10.
case.fires(
    "xc_f32_the_clock_of_the_node_is_ahead",
    {
        "kern.log": kernel_line(100, "gpu-07", OFF_THE_BUS),
        "steps.json": steps({"gpu-05": 0, "gpu-06": 0, "gpu-07": 90}),
        "pods.json": pod_list(pod("llm-0", 30)),
    },
    pod="llm-0",
    others=["gpu_fault"],
)

case.fires(
    "xc_f33_nobody_knows_whose_clock_is_right",
    {
        "kern.log": kernel_line(100, "gpu-07", OFF_THE_BUS),
        "steps.json": steps({"gpu-06": 40, "gpu-07": 90}),
        "pods.json": pod_list(pod("llm-0", 30)),
    },
    pod="llm-0",
    others=["gpu_fault"],
)

case.silent(
    "xc_q32_the_clocks_agree_and_the_xid_came_later",
    {
        "kern.log": kernel_line(100, "gpu-07", OFF_THE_BUS),
        "steps.json": steps({"gpu-05": 0, "gpu-06": 0, "gpu-07": 0}),
        "pods.json": pod_list(pod("llm-0", 30)),
    },
    others=["gpu_fault"],
)

case.silent(
    "xc_q33_another_clock_is_off",
    {
        "kern.log": kernel_line(100, "gpu-07", OFF_THE_BUS),
        "steps.json": steps({"gpu-05": 90, "gpu-06": 0, "gpu-07": 0}),
        "pods.json": pod_list(pod("llm-0", 30)),
    },
    others=["gpu_fault"],
)
