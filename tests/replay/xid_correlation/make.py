#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the xid_correlation cases; --check compares only."""

import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import MORNING, event, k8s_list, lines, main, pod, uid, when  # noqa: E402
from otlp import logs, record  # noqa: E402

GPU_UUID = "GPU-" + uid("gpu", "gpu-07", "b3")
OFF_THE_BUS = "GPU has fallen off the bus."
# hbm_ecc and gpu_fault have verdicts of their own about Xids.
ALONE = {"args": "--only=xid_correlation\n"}


def line(at, text):
    """As `dmesg --time-format iso` prints it."""
    return f"{when(at)[:-1]},000000+00:00 {text}\n"


def xid(at, code, text, pci="0000:b3:00", process="pid=4711, name=python, "):
    return line(at, f"NVRM: Xid (PCI:{pci}): {code}, {process}{text}")


def failed_pod(at, node="gpu-07", name="pretrain-worker-3", code=134, **more):
    return pod(name, node, "Failed", [("trainer", code, "Error", at)], **more)


def kubelet_failed(at, serial=0, count=1):
    return event(
        "pretrain-worker-3",
        "Failed",
        "Error: failed to start the container: nvidia-container-cli: detection error: nvml error: "
        "gpu is lost",
        at,
        node="gpu-07",
        count=count,
        first=at,
        serial=serial,
    )


def fires_on_xid79_then_failed_pod():
    """A GPU of gpu-07 falls off the bus; 12 seconds later a pod of that node fails. Nothing says
    which GPU the pod used, so confidence is partial."""
    return {
        "input/dmesg-gpu-07.txt": line(-900, "eth0: renamed from veth1f2e3d4")
        + xid(0, 79, OFF_THE_BUS),
        "input/pods.json": k8s_list(failed_pod(12)),
    }


def fires_full_when_gpu_is_tied():
    """The same, with the driver's line that says which GPU sits at that address, and a pod that was
    given just that GPU."""
    files = fires_on_xid79_then_failed_pod()
    files["input/dmesg-gpu-07.txt"] = (
        line(-86400, f"NVRM: GPU at PCI:0000:b3:00: {GPU_UUID}") + files["input/dmesg-gpu-07.txt"]
    )
    env = {"NVIDIA_VISIBLE_DEVICES": GPU_UUID}
    files["input/pods.json"] = k8s_list(failed_pod(12, env=env))
    return files


def fires_through_otlp():
    """The same out of one file of the OpenTelemetry Collector: the journal's kernel records of the
    node, and the pod as k8sobjectsreceiver sees it. A program that quotes the driver's line to the
    journal is not the driver."""
    kernel = {"_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel", "_HOSTNAME": "gpu-07"}
    said = f"NVRM: Xid (PCI:0000:b3:00): 79, pid=4711, name=python, {OFF_THE_BUS}"
    quoted = {"_TRANSPORT": "stdout", "SYSLOG_IDENTIFIER": "watchdog", "_HOSTNAME": "gpu-08"}
    watched = {"type": "MODIFIED", "object": failed_pod(12, env={"NVIDIA_VISIBLE_DEVICES": GPU_UUID})}
    return {
        "input/collector.json": lines(
            logs(
                {"host.name": "collector-0"},
                record(-86400, kernel | {"MESSAGE": f"NVRM: GPU at PCI:0000:b3:00: {GPU_UUID}"}),
                record(0, kernel | {"MESSAGE": said}),
                record(0, quoted | {"MESSAGE": said}),
            ),
            logs({}, record(12, watched, attributes={"k8s.resource.name": "pods"})),
        ),
    }


def fires_most_severe_wins():
    """Within the window: 79 a minute before the pod failed, then 63 and 31. The pod's end is put
    down to 79, the most severe, although it came first; all three are counted."""
    return {
        **ALONE,
        "input/dmesg-gpu-07.txt": xid(0, 79, OFF_THE_BUS)
        + xid(30, 63, "Row Remapper: New row marked for remapping, reset gpu to activate.")
        + xid(55, 31, "Ch 00000008, intr 00000000. MMU Fault"),
        "input/pods.json": k8s_list(failed_pod(60)),
    }


def fires_on_driver_xid():
    """Xid 38 is trouble of the driver, not of the board: a warning, and it says so."""
    return {
        "input/dmesg-gpu-07.txt": xid(0, 38, "00000000 00000000 00000000"),
        "input/pods.json": k8s_list(failed_pod(12)),
    }


def fires_partial_on_unknown_xid():
    """Xid 400 is in no catalogue we know. It is not kept quiet, and nothing is claimed about it."""
    return {
        "input/dmesg-gpu-07.txt": xid(0, 400, "a message of a driver to come"),
        "input/pods.json": k8s_list(failed_pod(12)),
    }


def fires_at_window_edge():
    """The Xid is exactly 300 seconds older than the end of the pod."""
    return {
        "input/dmesg-gpu-07.txt": xid(0, 79, OFF_THE_BUS),
        "input/pods.json": k8s_list(failed_pod(300)),
    }


def fires_with_boot_time():
    """The kernel log counts from boot; --boot-time says when that was."""
    files = degrades_without_boot_time()
    del files["stderr"]
    return files | {"args": f"--boot-time=gpu-07={when(-5321)}\n"}


def stays_quiet_past_window():
    """The Xid is 301 seconds older than the end of the pod."""
    return {
        "input/dmesg-gpu-07.txt": xid(0, 79, OFF_THE_BUS),
        "input/pods.json": k8s_list(failed_pod(301)),
    }


def stays_quiet_on_application_xids():
    """Xids 13, 31, 43 and 45 come from what the program did: each on a node of its own, each
    followed by a failed pod, and none blames the hardware."""
    texts = {
        13: "Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address",
        31: "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0",
        43: "Ch 00000010, errorString CTX SWITCH TIMEOUT",
        45: "Ch 00000008",
    }
    files = {f"input/dmesg-gpu-{code}.txt": xid(0, code, text) for code, text in texts.items()}
    pods = [failed_pod(5, node=f"gpu-{code}", name=f"worker-{code}") for code in texts]
    return files | {"input/pods.json": k8s_list(*pods)}


def stays_quiet_on_xid_without_number():
    """An event of ours that does not say which Xid it was: what is not known proves nothing."""
    known = {"kind": "xid", "time": when(0), "k8s.node.name": "gpu-07"}
    return {
        "input/events.ndjson": lines(known),
        "input/pods.json": k8s_list(failed_pod(12)),
    }


def stays_quiet_xid_after_pod():
    """The pod failed a second before the Xid: it is no consequence of it."""
    return {
        "input/dmesg-gpu-07.txt": xid(13, 79, OFF_THE_BUS),
        "input/pods.json": k8s_list(failed_pod(12)),
    }


def stays_quiet_other_node():
    """The Xid was on gpu-07, the pod ran on gpu-08."""
    return {
        "input/dmesg-gpu-07.txt": xid(0, 79, OFF_THE_BUS),
        "input/pods.json": k8s_list(failed_pod(12, node="gpu-08")),
    }


def stays_quiet_planned_deletion():
    """Somebody deleted the pod; its container was killed after the grace period. That there was an
    Xid before does not make it the cause."""
    stop = event("pretrain-worker-3", "Killing", "Stopping container trainer", 5, node="gpu-07")
    return {
        "input/dmesg-gpu-07.txt": xid(0, 79, OFF_THE_BUS),
        "input/events.json": k8s_list(stop),
        "input/pods.json": k8s_list(failed_pod(35, code=137)),
    }


def stays_quiet_preempted():
    """The scheduler, which names no node, took the pod off for another one; its container was killed
    after the grace period."""
    taken = event("pretrain-worker-3", "Preempted", "Preempted by pod 4711 on node gpu-07", 5)
    taken["source"] = {"component": "default-scheduler"}
    taken["reportingComponent"] = "default-scheduler"
    return {
        "input/dmesg-gpu-07.txt": xid(0, 79, OFF_THE_BUS),
        "input/events.json": k8s_list(taken),
        "input/pods.json": k8s_list(failed_pod(35, code=137)),
    }


def stays_quiet_other_gpu():
    """The pod was given another GPU than the one that fell off the bus."""
    other = "GPU-" + uid("gpu", "gpu-07", "1b")
    return {
        "input/dmesg-gpu-07.txt": line(-86400, f"NVRM: GPU at PCI:0000:b3:00: {GPU_UUID}")
        + line(-86400, f"NVRM: GPU at PCI:0000:1b:00: {other}")
        + xid(0, 79, OFF_THE_BUS),
        "input/pods.json": k8s_list(failed_pod(12, env={"NVIDIA_VISIBLE_DEVICES": other})),
    }


def degrades_replayed_events():
    """The collector restarted and told the same events again: one verdict, as if once."""
    before = k8s_list(kubelet_failed(12))
    after = k8s_list(kubelet_failed(12), kubelet_failed(12))
    return {
        "input/dmesg-gpu-07.txt": xid(0, 79, OFF_THE_BUS),
        "input/events-after-restart.json": after,
        "input/events-before-restart.json": before,
    }


def degrades_storm():
    """Three hundred Xids of eight GPUs in five minutes, then a pod fails: one verdict, from the
    most severe of them, with all of those inside the window counted."""
    log = ""
    for i in range(300):
        pci = f"0000:{(0x1B, 0x3B, 0x5C, 0x7A, 0x9B, 0xB3, 0xCF, 0xE5)[i % 8]:02x}:00"
        log += (
            xid(i, 79, OFF_THE_BUS, pci, "pid='<unknown>', name=<unknown>, ")
            if i == 150
            else xid(i, 94, "Contained: SM (0x1). RST: No, D-RST: No", pci)
        )
    return {
        **ALONE,
        "input/dmesg-gpu-07.txt": log,
        "input/pods.json": k8s_list(failed_pod(300)),
    }


def degrades_without_boot_time():
    """The kernel log counts from boot, and nobody said when that was: nothing can be joined. That
    is said, and it is no error."""
    return {
        "input/dmesg-gpu-07.txt": "[ 5321.000000] NVRM: Xid (PCI:0000:b3:00): 79, pid=4711, "
        f"name=python, {OFF_THE_BUS}\n",
        "input/pods.json": k8s_list(failed_pod(12)),
        "stderr": "1 event has only a time since boot; give --boot-time gpu-07=TIME\n",
    }


def resolved_when_the_request_is_told_late():
    """The pod failed 12 seconds after the Xid. Eight seconds later it is told that it had been asked
    to stop before: the verdict is taken back."""
    stop = event(
        "pretrain-worker-3",
        "Killing",
        "Stopping container trainer",
        20,
        node="gpu-07",
        count=2,
        first=10,
    )
    return {
        "input/dmesg-gpu-07.txt": xid(0, 79, OFF_THE_BUS),
        "input/events.json": k8s_list(stop),
        "input/pods.json": k8s_list(failed_pod(12, code=137)),
    }


def scrape(at, code, name="pretrain-worker-3", gpu=GPU_UUID):
    """What a scrape of dcgm-exporter says of a GPU: its last Xid, and who uses it."""
    labels = (
        f'gpu="5",UUID="{gpu}",pci_bus_id="00000000:B3:00.0",device="nvidia5",Hostname="gpu-07",'
        f'container="trainer",namespace="train",pod="{name}"'
    )
    return f"DCGM_FI_DEV_XID_ERRORS{{{labels}}} {code} {(int(MORNING.timestamp()) + at) * 1000}\n"


def scrapes(*samples):
    return "# TYPE DCGM_FI_DEV_XID_ERRORS gauge\n" + "".join(samples)


def fires_on_exporters_xid():
    """Nobody kept the kernel log. The exporter's gauge of the last Xid becomes 79, and stays so; it
    is labelled with the pod that fails 20 seconds later."""
    return {
        "input/dcgm.prom": scrapes(*(scrape(at, 79 if at >= 0 else 0) for at in range(-30, 60, 15))),
        "input/pods.json": k8s_list(failed_pod(20)),
    }


def fires_once_for_line_and_exporter():
    """The kernel's line and the exporter's gauge tell of one Xid: it is counted once, told by the
    line, and tied to the pod by the exporter's label."""
    files = fires_on_exporters_xid()
    return files | {"input/dmesg-gpu-07.txt": xid(-4, 79, OFF_THE_BUS)}


def stays_quiet_on_old_xid_of_exporter():
    """The gauge never clears: in the first sample it tells of an Xid of nobody knows when."""
    return {
        "input/dcgm.prom": scrapes(*(scrape(at, 79) for at in range(-30, 60, 15))),
        "input/pods.json": k8s_list(failed_pod(20)),
    }


def stays_quiet_when_another_pod_used_the_gpu():
    """The exporter says that the GPU had gone to another pod before the Xid."""
    log = xid(0, 79, OFF_THE_BUS)
    return {
        "input/dmesg-gpu-07.txt": log,
        "input/dcgm.prom": scrapes(scrape(-60, 0), scrape(-30, 0, name="other-worker-0")),
        "input/pods.json": k8s_list(failed_pod(12)),
    }


def alone(case):
    """Without the verdicts of other patterns about the same Xids."""

    @functools.wraps(case)
    def files():
        made = case()
        args = made.get("args", "")
        return {**made, "args": args if "--only" in args else ALONE["args"] + args}

    return files


CASES = [
    alone(fires_on_exporters_xid),
    alone(fires_once_for_line_and_exporter),
    stays_quiet_on_old_xid_of_exporter,
    alone(stays_quiet_when_another_pod_used_the_gpu),
    alone(resolved_when_the_request_is_told_late),
    alone(fires_on_xid79_then_failed_pod),
    alone(fires_full_when_gpu_is_tied),
    alone(fires_through_otlp),
    fires_most_severe_wins,
    fires_on_driver_xid,
    fires_partial_on_unknown_xid,
    alone(fires_at_window_edge),
    alone(fires_with_boot_time),
    alone(stays_quiet_past_window),
    stays_quiet_on_application_xids,
    stays_quiet_on_xid_without_number,
    alone(stays_quiet_xid_after_pod),
    alone(stays_quiet_other_node),
    alone(stays_quiet_planned_deletion),
    alone(stays_quiet_preempted),
    alone(stays_quiet_other_gpu),
    alone(degrades_replayed_events),
    degrades_storm,
    alone(degrades_without_boot_time),
]

if __name__ == "__main__":
    main(__file__, CASES)
