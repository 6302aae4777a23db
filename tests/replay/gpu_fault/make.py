#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the gpu_fault cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import lines, main, when  # noqa: E402

UUID = "GPU-7d3c1a52-9e04-5b6f-a1c8-2f60d94b7e13"


def only(files):
    """Other patterns see these events too; they have cases of their own."""
    return {"args": "--only=gpu_fault\n", **files}


def kernel(*texts):
    """A kernel log of gpu-07: (seconds, text)."""
    told = (f"{when(at)[:-1]},000000+00:00 {text}\n" for at, text in texts)
    return {"input/dmesg-gpu-07.txt": "".join(told)}


def xid(at, code, text, pid=True, bus="b3"):
    who = "pid=4711, name=python, " if pid else "pid='<unknown>', name=<unknown>, "
    return at, f"NVRM: Xid (PCI:0000:{bus}:00): {code}, {who}{text}"


def inventory(at):
    return at, f"NVRM: GPU at PCI:0000:b3:00: {UUID}"


def sample(at, gpu, metric="gpu_temperature", value=54, node="gpu-07"):
    """As dcgm-exporter labels it."""
    return {
        "kind": "metric",
        "time": when(at),
        "k8s.node.name": node,
        "gpu.uuid": UUID[:-1] + str(gpu),
        "gpu.index": gpu,
        "metric": metric,
        "value": value,
    }


def scrapes(times, gpus, **more):
    return [sample(at, gpu, **more) for at in times for gpu in gpus]


def scraped(*samples):
    return {"input/metrics.ndjson": lines(*samples)}


FALLEN = "GPU has fallen off the bus."
GSP = (
    "Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76 "
    "(GSP_RM_CONTROL) (0x20800a4c 0x4)."
)


def recovery(at, was, now):
    return xid(at, 154, f"GPU recovery action changed from {was} to {now}")


def fires_on_fallen_off_the_bus():
    """Xid 79, the driver's sentence for the same, and nothing of Kubernetes."""
    return only(
        kernel(
            inventory(598), xid(600, 79, FALLEN), (600, f"NVRM: GPU 0000:b3:00.0: {FALLEN}")
        )
    )


def fires_on_gsp_timeout():
    """Xid 119 again and again, then 154: one incident, named after the firmware."""
    return only(
        kernel(
            xid(600, 119, GSP),
            xid(606, 119, GSP),
            recovery(606, "0x0 (None)", "0x1 (GPU Reset Required)"),
            xid(700, 119, GSP),
        )
    )


def fires_on_recovery_action():
    """Xid 154 alone: the driver asks for a reboot."""
    return only(kernel(recovery(600, "0x0 (None)", "0x2 (Node Reboot Required)")))


def fires_on_failed_initialisation():
    """The driver is loaded and cannot initialise a GPU."""
    return only(
        kernel(
            (590, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56"),
            (600, "NVRM: GPU 0000:b3:00.0: RmInitAdapter failed! (0x24:0x65:1461)"),
            (600, "NVRM: GPU 0000:b3:00.0: rm_init_adapter failed, device minor number 3"),
        )
    )


def fires_on_surprise_removal():
    """The port of a GPU says that the card is gone; the kernel removes a device in use."""
    return only(
        kernel(
            (600, "pcieport 0000:b2:01.0: pciehp: Slot(7): Link Down"),
            (600, "pcieport 0000:b2:01.0: pciehp: Slot(7): Card not present"),
            (601, "NVRM: Attempting to remove device 0000:b3:00.0 with non-zero usage count!"),
        )
    )


def fires_on_other_hardware():
    """Xid 109, a context switch that timed out, is a warning; Xid 167 of another GPU is fatal."""
    return only(
        kernel(
            xid(600, 109, "Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x4c023"),
            xid(660, 167, "PCIE_FATAL_TIMEOUT", pid=False, bus="c4"),
        )
    )


def fires_on_a_gpu_that_is_gone():
    """GPU 3 is in no scrape any more, the others of its node are."""
    return only(
        scraped(*scrapes(range(0, 300, 15), range(8)),
                *scrapes(range(300, 420, 15), [0, 1, 2, 4, 5, 6, 7]))
    )


def fires_on_exporters_xid():
    """Nobody kept the kernel log: the exporter's last Xid becomes 79."""
    values = (0, 0, 79, 79)
    return only(
        scraped(*(sample(60 * i, 3, "gpu_xid_last", value) for i, value in enumerate(values)))
    )


def fires_on_what_nvidia_smi_prints():
    """A table that somebody saved: no handle for one GPU, and another that is lost."""
    return only({"input/nvidia-smi-gpu-07.txt": (
        "Unable to determine the device handle for GPU5: 0000:CB:00.0: Unknown Error\n"
        "Unable to determine the device handle for GPU 0000:B3:00.0: GPU is lost.  Reboot the "
        "system to recover this GPU\n"
    )})


def degrades_without_a_node():
    """A kernel log of nobody knows which node: by address alone, and partial."""
    return only({"input/kernel.ndjson": lines(
        {"kind": "xid", "time": when(600), "pci.bdf": "0000:b3:00.0", "xid": 79},
    )})


def degrades_replayed_lines():
    """The same lines from two collectors are the same facts."""
    log = kernel(inventory(598), xid(600, 62, "2a9f 0000 0000"))
    return only({**log, "input/again/dmesg-gpu-07.txt": log["input/dmesg-gpu-07.txt"]})


def resolved_after_a_boot():
    """The GPU fell off the bus, the node was rebooted, the GPU is in the scrapes again."""
    log = kernel(
        inventory(598),
        xid(600, 79, FALLEN),
        (1200, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56"),
    )
    alive = scrapes([540, 570], [3, 4]) + scrapes([600, 630], [4]) + scrapes([1260, 1290], [3, 4])
    return only({**log, **scraped(*alive)})


def resolved_when_no_action_is_needed():
    """The GPU was reset: Xid 154 says that there is nothing left to do."""
    return only(
        kernel(
            xid(600, 119, GSP),
            recovery(600, "0x0 (None)", "0x1 (GPU Reset Required)"),
            recovery(900, "0x1 (GPU Reset Required)", "0x0 (None)"),
        )
    )


def resolved_when_it_returns():
    """The GPU was gone for some minutes and is in the scrapes again."""
    return only(
        scraped(*scrapes(range(0, 120, 15), range(4)), *scrapes(range(120, 300, 15), [0, 1, 2]),
                *scrapes(range(300, 360, 15), range(4)))
    )


def stays_quiet_on_application_xids():
    """Programs fault; so do drivers, and warnings of hardware prove nothing alone."""
    codes = (13, 31, 43, 45, 68, 69, 94, 63, 74, 38, 66, 93, 121, 125, 106)
    return only(kernel(*(xid(600 + i, code, "Ch 00000008") for i, code in enumerate(codes))))


def stays_quiet_on_resets_of_others():
    """The reset that an uncorrectable memory error needs is hbm_ecc's to tell."""
    return only(
        kernel(
            xid(600, 48, "DBE (double bit error) ECC error, on GPU"),
            recovery(600, "0x0 (None)", "0x1 (GPU Reset Required)"),
        )
    )


def stays_quiet_on_a_driver_upgrade():
    """The driver is unloaded and loaded: all GPUs leave the scrapes and come back."""
    log = kernel(
        (300, "nvidia-nvlink: Unregistered Nvlink Core, major device number 234"),
        (360, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri Aug 16 21:39:15"),
        (361, "[drm] Initialized nvidia-drm 0.0.0 20160202 for 0000:b3:00.0 on minor 3"),
    )
    alive = scrapes(range(0, 300, 15), range(8)) + scrapes(range(420, 600, 15), range(8))
    return only({**log, **scraped(*alive)})


def stays_quiet_on_passthrough():
    """A GPU is handed to a virtual machine: another driver has it."""
    log = kernel(
        (-60, f"NVRM: GPU at PCI:0000:b3:00: {UUID}"),
        (301, "vfio-pci 0000:b3:00.0: enabling device (0000 -> 0002)"),
    )
    alive = scrapes(range(0, 300, 15), range(4)) + scrapes(range(300, 600, 15), [0, 1, 2])
    return only({**log, **scraped(*alive)})


def stays_quiet_on_a_monitor_that_ends():
    """Half of the GPUs were watched by a monitor that ended with its job."""
    alive = scrapes(range(0, 300, 15), range(8)) + scrapes(range(300, 600, 15), range(4))
    return only(scraped(*alive))


def stays_quiet_on_a_board_that_is_replaced():
    """Another board is in the place of the old one."""
    new = [{**sample(at, 3), "gpu.uuid": UUID[:-2] + "ff"} for at in range(300, 600, 15)]
    alive = scrapes(range(0, 120, 15), range(4)) + scrapes(range(300, 600, 15), range(3))
    return only(scraped(*alive, *new))


ILLEGAL = "Graphics SM Warp Exception on (GPC {}, TPC {}, SM 0): Out Of Range Address"


def used(*uses):
    """dcgm-exporter's samples before each strike: who uses which GPU."""
    rows = []
    for at, _, bus, pod in uses:
        gpu = 3 if bus == "b3" else 4
        rows.append({**sample(at - 30, gpu), "k8s.namespace.name": "ml", "k8s.pod.name": pod,
                     "pci.bdf": f"0000:{bus}:00.0"})
    return {"input/metrics.ndjson": lines(*rows)}


def struck(*uses):
    """A pod of a GPU is hit: (seconds, (code, GPC, TPC), bus, pod)."""
    log = [xid(at, code, ILLEGAL.format(gpc, tpc), bus=bus) for at, (code, gpc, tpc), bus, _ in uses]
    return only({**kernel(*log), **used(*uses)})


def fires_when_application_xids_follow_a_gpu():
    """Three pods of three jobs are hit on one GPU, in different units of it, and none of the jobs
    on another: the GPU is suspected."""
    return struck((600, (13, 2, 1), "b3", "llama-worker-3"), (4000, (13, 0, 4), "b3", "bert-train-0"),
                  (8000, (31, 5, 2), "b3", "vit-77-x"))


def fires_when_application_xids_follow_a_tpc():
    """Two pods of two jobs, the same GPC and TPC: that is enough."""
    return struck((600, (13, 2, 1), "b3", "llama-worker-3"), (4000, (13, 2, 1), "b3", "bert-train-0"))


def resolved_when_the_job_fails_elsewhere():
    """One of the three jobs is hit on another GPU later: two are left, which is not enough."""
    return struck((600, (13, 2, 1), "b3", "llama-worker-3"), (4000, (13, 0, 4), "b3", "bert-train-0"),
                  (8000, (31, 5, 2), "b3", "vit-77-x"), (9000, (13, 1, 1), "43", "vit-77-y"))


def stays_quiet_on_two_pods_of_two_jobs():
    """Two are not enough where the units differ."""
    return struck((600, (13, 2, 1), "b3", "llama-worker-3"), (4000, (13, 2, 2), "b3", "bert-train-0"))


def stays_quiet_on_pods_of_one_job():
    """Four pods of one job on one GPU: its program may be at fault."""
    return struck(*((600 + 3400 * i, (13, 2, 1), "b3", f"llama-worker-{i}") for i in range(4)))


def stays_quiet_on_jobs_that_fail_on_two_gpus():
    """Both jobs are hit on two GPUs: their programs are at fault."""
    return struck(*((600 + 1800 * i, (13, 2, 1), bus, f"{job}-{i}")
                    for i, (job, bus) in enumerate((j, b) for j in ("llama", "bert", "vit")
                                                   for b in ("b3", "43"))))



CASES = [
    fires_on_fallen_off_the_bus,
    fires_on_gsp_timeout,
    fires_on_recovery_action,
    fires_on_failed_initialisation,
    fires_on_surprise_removal,
    fires_on_other_hardware,
    fires_on_a_gpu_that_is_gone,
    fires_on_exporters_xid,
    fires_on_what_nvidia_smi_prints,
    degrades_without_a_node,
    degrades_replayed_lines,
    resolved_after_a_boot,
    resolved_when_no_action_is_needed,
    resolved_when_it_returns,
    fires_when_application_xids_follow_a_gpu,
    fires_when_application_xids_follow_a_tpc,
    resolved_when_the_job_fails_elsewhere,
    stays_quiet_on_application_xids,
    stays_quiet_on_two_pods_of_two_jobs,
    stays_quiet_on_pods_of_one_job,
    stays_quiet_on_jobs_that_fail_on_two_gpus,
    stays_quiet_on_resets_of_others,
    stays_quiet_on_a_driver_upgrade,
    stays_quiet_on_passthrough,
    stays_quiet_on_a_monitor_that_ends,
    stays_quiet_on_a_board_that_is_replaced,
]

if __name__ == "__main__":
    main(__file__, CASES)
