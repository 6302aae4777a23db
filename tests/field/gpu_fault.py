# SPDX-License-Identifier: Apache-2.0
"""gpu_fault: GPUs that fell off the bus, hung firmware, failed initialisation, GPUs that are gone."""

import json

from field import Pattern
from kernel import dmesg_line, kernel_log
from kubernetes import core_event, k8s_list
from metrics import DCGM, GPUS, gpu_labels, healthy, scrape
from otlp import journal_body, otlp_logs
from when import moment

case = Pattern("gpu_fault")

XID = "NVRM: Xid (PCI:0000:%s:00): %s"
FALLEN = "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
GSP = (
    "119, pid=418832, name=python3, Timeout after 6s of waiting for RPC response from GPU0 GSP! "
    "Expected function 76 (GSP_RM_CONTROL) (0x20801702 0x4)."
)
RECOVERY = "154, pid=418832, name=python3, GPU recovery action changed from %s to %s"
NONE, RESET, REBOOT = "0x0 (None)", "0x1 (GPU Reset Required)", "0x2 (Node Reboot Required)"
LOADED = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024"
UNLOADED = "nvidia-nvlink: Unregistered Nvlink Core, major device number 234"


def log(*lines, shape="shortiso", **more):
    return {"kern.log": kernel_log(list(lines), shape, **more)}


def xids(*codes, bus="3b", start=0, step=1, shape="shortiso"):
    return log(*((start + step * i, XID % (bus, text)) for i, text in enumerate(codes)), shape=shape)


def dcgm(times, gpus, host="gpu-07", **more):
    """Scrapes of dcgm-exporter, one after the other in one file."""
    return "".join(
        scrape([s for gpu in gpus for s in healthy(gpu, host, **more)], at) for at in times
    )


def smi(*gpus, at=0):
    """nvidia-smi -q: (bus, lines of the GPU)."""
    text = "==============NVSMI LOG==============\n\n"
    text += f"Timestamp                                 : {moment(at).strftime('%a %b %e %H:%M:%S %Y')}\n"
    text += "Driver Version                            : 550.54.15\nAttached GPUs                             : 8\n"
    for bus, lines in gpus:
        text += f"GPU 00000000:{bus}:00.0\n    Product Name                          : NVIDIA H100 80GB HBM3\n"
        text += f"    GPU UUID                              : {GPUS[0]}\n"
        text += "".join(f"    {line}\n" for line in lines)
    return text


def amd(*lines, bus="43", **more):
    """What amdgpu says of one GPU: (seconds, text)."""
    return log(*((at, f"amdgpu 0000:{bus}:00.0: amdgpu: {text}") for at, text in lines), **more)


def listing(*gpus):
    """nvidia-smi -L"""
    return "".join(f"GPU {i}: NVIDIA H200 (UUID: {GPUS[gpu]})\n" for i, gpu in enumerate(gpus))


def snapshots(*rounds, minutes=10):
    """One file per scrape, with its time to the minute in the name and no other."""
    return {
        f"dcgm-exporter_{moment(60 * minutes * i).strftime('%Y%m%dT%H%M')}.prom":
            scrape([s for gpu in gpus for s in healthy(gpu, "gpu-07")])
        for i, gpus in enumerate(rounds)
    }


# ---- fires ------------------------------------------------------------------------------------

for shape in ("dmesg", "dmesgT", "dmesgiso", "shortprecise", "syslog", "rsysiso", "kmsg", "export", "jjson"):
    case.fires(
        f"gpuf_f01_xid79_{shape}",
        log((0, XID % ("5d", FALLEN)), (0, "NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus."),
            shape=shape),
        disc="off_the_bus", pci="0000:5d:00.0",
    )

case.fires(
    "gpuf_f02_sentence_of_four_lines",
    log(
        (0, "NVRM: The NVIDIA GPU 0000:5d:00.0"),
        (0, "NVRM: (PCI ID: 10de:2330) installed in this system has"),
        (0, "NVRM: fallen off the bus and is not responding to commands."),
        (0, "nvidia: probe of 0000:5d:00.0 failed with error -1"),
        (0, "NVRM: The NVIDIA probe routine failed for 1 device(s)."),
    ),
    disc="off_the_bus", node="gpu-07",
)
case.fires("gpuf_f03_gsp_timeout", xids(GSP, GSP, GSP, step=6), disc="firmware", node="gpu-07")
case.fires(
    "gpuf_f04_gsp_error",
    xids("120, pid=2211, name=python, GSP task exception: illegal instruction (task=1)"),
    disc="firmware",
)
case.fires("gpuf_f05_pmu_halt", xids("62, pid='<unknown>', name=<unknown>, 2027(2a4c) 00000000"),
           disc="firmware")
case.fires("gpuf_f06_gsp_then_154", xids(GSP, RECOVERY % (NONE, RESET)), disc="firmware")
case.fires("gpuf_f07_154_reset", xids(RECOVERY % (NONE, RESET)), disc="needs_reset", pci="0000:3b:00.0")
case.fires("gpuf_f08_154_reboot", xids(RECOVERY % (NONE, REBOOT)), disc="needs_reset")
case.fires(
    "gpuf_f09_rm_init_adapter",
    log(
        (0, "NVRM: GPU 0000:c1:00.0: RmInitAdapter failed! (0x24:0x65:1461)"),
        (0, "NVRM: GPU 0000:c1:00.0: rm_init_adapter failed, device minor number 6"),
    ),
    disc="init_failed", pci="0000:c1:00.0",
)
case.fires(
    "gpuf_f10_probe_of_linux_6_9",
    log((0, LOADED), (2, "nvidia 0000:c1:00.0: probe with driver nvidia failed with error -1")),
    disc="init_failed", pci="0000:c1:00.0",
)
case.fires("gpuf_f11_xid143", xids("143, pid='<unknown>', name=<unknown>, GPU initialization error"),
           disc="init_failed")
case.fires("gpuf_f12_xid158", xids("158, pid=1, name=systemd, GPU fatal timeout"), disc="other_hardware")
case.fires("gpuf_f13_xid46", xids("46, pid=2211, name=python, Ch 00000010, GPU stopped processing"),
           disc="other_hardware")
case.fires(
    "gpuf_f14_power_cables",
    log((0, "NVRM: GPU 0000:01:00.0: GPU does not have the necessary power cables connected.")),
    disc="other_hardware",
)
case.fires(
    "gpuf_f15_device_inaccessible",
    log((0, "nvidia 0000:5d:00.0: Unable to change power state from D3cold to D0, device inaccessible")),
    disc="off_the_bus",
)
case.fires(
    "gpuf_f16_surprise_removal",
    log(
        (0, "pcieport 0000:5c:01.0: pciehp: Slot(5): Link Down"),
        (0, "pcieport 0000:5c:01.0: pciehp: Slot(5): Card not present"),
        (1, "NVRM: Attempting to remove device 0000:5d:00.0 with non-zero usage count!"),
    ),
    disc="off_the_bus",
)
case.fires(
    "gpuf_f17_device_plugin",
    {
        "device-plugin.log": (
            f"I{moment(0).strftime('%m%d %H:%M:%S')}.104000       1 health.go:152] XidCriticalError: "
            f"Xid=79 on Device={GPUS[2]}, the device will go unhealthy.\n"
        )
    },
    disc="off_the_bus", gpu=GPUS[2],
)
case.fires(
    "gpuf_f18_smi_gpu_is_lost",
    {
        "nvidia-smi.txt": "Unable to determine the device handle for GPU 0000:5D:00.0: GPU is lost.  "
                          "Reboot the system to recover this GPU\n"
    },
    disc="off_the_bus", pci="0000:5d:00.0",
)
case.fires(
    "gpuf_f19_smi_no_handle",
    {"nvidia-smi.txt": "Unable to determine the device handle for GPU5: 0000:CB:00.0: Unknown Error\n"},
    disc="init_failed", pci="0000:cb:00.0",
)
case.fires(
    "gpuf_f20_smi_reset_required",
    {
        "smi-gpu-07.txt": smi(("1B", [
            "GPU Reset Status", "    Reset Required                    : Yes",
            "    Drain and Reset Recommended       : No",
        ]))
    },
    disc="needs_reset", pci="0000:1b:00.0",
)
case.fires(
    "gpuf_f21_gone_from_dcgm",
    {"dcgm.prom": dcgm(range(0, 300, 15), range(8)) + dcgm(range(300, 600, 15), [0, 1, 2, 4, 5, 6, 7])},
    disc="gone", gpu=GPUS[3], node="gpu-07",
)
case.fires(
    "gpuf_f22_gone_of_two",
    {"dcgm.prom": dcgm(range(0, 300, 30), range(2)) + dcgm(range(300, 900, 30), [0])},
    disc="gone", gpu=GPUS[1],
)
case.fires(
    "gpuf_f23_gone_after_a_boot",
    {
        "dcgm.prom": dcgm(range(0, 300, 30), range(8)) + dcgm(range(900, 1500, 30), [0, 1, 2, 3, 4, 5, 7]),
        **log((600, LOADED)),
    },
    disc="gone", gpu=GPUS[6],
)
case.fires(
    "gpuf_f24_exporters_last_xid",
    {"dcgm.prom": dcgm([0, 30, 60], range(4)) + dcgm([90, 120], range(4), xid=0).replace(
        f'DCGM_FI_DEV_XID_ERRORS{{{gpu_labels(2)}}} 0', f'DCGM_FI_DEV_XID_ERRORS{{{gpu_labels(2)}}} 79')},
    disc="off_the_bus", gpu=GPUS[2],
)
case.fires(
    "gpuf_f25_journal_by_otlp",
    {"logs.json": otlp_logs([(0, journal_body(XID % ("5d", FALLEN)), {})], {"host.name": "gpu-07"})},
    disc="off_the_bus", node="gpu-07",
)
case.fires(
    "gpuf_f26_fallen_and_still_gone_after_reload",
    log((0, XID % ("5d", FALLEN)), (900, UNLOADED), (960, LOADED),
        (961, "nvidia: probe of 0000:5d:00.0 failed with error -1")),
    disc="off_the_bus", status="updated",
)
case.fires(
    "gpuf_f27_reset_and_well_again",
    log((0, XID % ("3b", GSP)), (300, XID % ("3b", RECOVERY % (NONE, RESET))),
        (900, XID % ("3b", RECOVERY % (RESET, NONE)))),
    disc="firmware", status="resolved",
)
case.fires(
    "gpuf_f28_rebooted_and_in_the_scrapes_again",
    {
        **log((0, XID % ("3b", FALLEN)), (600, LOADED)),
        "dcgm.prom": dcgm(range(-120, 0, 30), range(4)) + dcgm(range(700, 900, 30), range(4)),
    },
    disc="off_the_bus", status="resolved", gpu=GPUS[2],
)
case.fires(
    "gpuf_f29_beside_application_xids",
    xids("31, pid=2211, name=python, Ch 00000008", "45, pid=2211, name=python, Ch 00000008", FALLEN,
         "45, pid=2211, name=python, Ch 00000009"),
    disc="off_the_bus", kinds=["xid"],
)
case.fires(
    "gpuf_f30_hostengine_lost",
    {
        "nv-hostengine.log": (
            f"{moment(0).strftime('%Y-%m-%d %H:%M:%S')}.116 ERROR [9:31] [[NvmlWrapper]] gpuId 3 is lost: "
            "NVML_ERROR_GPU_IS_LOST\n"
        )
    },
    disc="off_the_bus",
)

case.fires(
    "gpuf_f40_amd_reset_failed",
    amd((0, "ring comp_1.3.0 timeout, signaled seq=88127, emitted seq=88131"), (0, "GPU reset begin!"),
        (1, "MODE1 reset"), (1, "GPU mode1 reset"), (11, "GPU mode1 reset failed"),
        (11, "ASIC reset failed with error, -62 for drm dev, 0000:43:00.0"), (12, "GPU reset(4) failed"),
        (12, "GPU reset end with ret = -62")),
    disc="other_hardware", node="gpu-07", pci="0000:43:00.0",
)
case.fires(
    "gpuf_f41_amd_recovery_failed",
    amd((0, "SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x0000001E SMN_C2PMSG_82:0x00000000"),
        (5, "GPU Recovery Failed: -22"), bus="c3"),
    disc="other_hardware", pci="0000:c3:00.0",
)
case.fires(
    "gpuf_f42_amd_fatal_hardware_error",
    amd((0, "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!"), (0, "GPU reset begin!")),
    disc="other_hardware",
)
case.fires(
    "gpuf_f43_amd_init_failed",
    log((0, "[drm:psp_hw_start [amdgpu]] *ERROR* PSP load kdb failed!"),
        (0, "[drm:psp_hw_init [amdgpu]] *ERROR* PSP firmware loading failed"),
        (0, "[drm:amdgpu_device_fw_loading [amdgpu]] *ERROR* hw_init of IP block <psp> failed -22"),
        (0, "amdgpu 0000:43:00.0: amdgpu: amdgpu_device_ip_init failed"),
        (0, "amdgpu 0000:43:00.0: amdgpu: Fatal error during GPU init"),
        (0, "amdgpu 0000:43:00.0: amdgpu: amdgpu: finishing device."),
        (1, "[drm] Initialized amdgpu 3.57.0 20150101 for 0000:83:00.0 on minor 2")),
    disc="init_failed", pci="0000:43:00.0",
)
case.fires("gpuf_f44_amd_lost_from_bus", amd((0, "device lost from bus!")), disc="off_the_bus")

for shape, around in {
    "ecs": lambda at, text: {"@timestamp": at, "host": {"name": "gpu-07"}, "message": text},
    "loki_fields": lambda at, text: {"line": "kernel: " + text, "timestamp": at, "fields": {"host": "gpu-07"}},
    "scraper": lambda at, text: {"line": text, "timestamp": at, "labels": {"instance": "gpu-07:9100"}},
    "gke": lambda at, text: {"textPayload": text, "timestamp": at, "resource": {"labels": {"node_name": "gpu-07"}}},
}.items():
    case.fires(
        f"gpuf_f45_node_in_json_{shape}",
        {"export-kernel.json": json.dumps(around(moment(0).strftime("%Y-%m-%dT%H:%M:%SZ"), XID % ("5d", FALLEN))) + "\n"},
        disc="off_the_bus", node="gpu-07", pci="0000:5d:00.0",
    )

DMESG = kernel_log([(0, XID % ("5d", FALLEN))], "dmesgT")
for where, files in {
    "prompt": {"console.txt": "ops@rack4-gpu12:~$ sudo dmesg -T | grep NVRM\n" + DMESG},
    "ssh": {"paste.txt": "mia@bastion-2:~$ ssh -i key root@rack4-gpu12 dmesg -T\n" + DMESG},
    "banner": {"collected.txt": "##### rack4-gpu12 #####\n" + DMESG},
    "dshbak": {"collected.txt": "----------------\nrack4-gpu12\n----------------\n" + DMESG},
    "uname": {"collected.txt": "Linux rack4-gpu12 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC x86_64 GNU/Linux\n" + DMESG},
    "boot": {"kernel.txt": dmesg_line(-9, "systemd[1]: Hostname set to <rack4-gpu12>.") + DMESG},
    "file_name": {"dmesg_rack4-gpu12_20260304.txt": DMESG},
    "name_first": {"rack4-gpu12.dmesg.txt": DMESG},
    "folder": {"rack4-gpu12/dmesg.txt": DMESG},
    "ticket": {"dmesg.txt": DMESG, "ticket.txt": "Summary: GPU lost\nAffected node: rack4-gpu12\n"},
    "sinfo": {"dmesg.txt": DMESG, "sinfo.txt": "REASON               USER      TIMESTAMP           NODELIST\n"
              "gpu count low        root      2026-03-04T05:10:01 rack4-gpu12\n"},
}.items():
    case.fires(f"gpuf_f46_node_by_{where}", files, disc="off_the_bus", node="rack4-gpu12", pci="0000:5d:00.0",
               args=["."])
case.fires(
    "gpuf_f47_no_node_by_a_kind_of_file",
    {"kernel-export.txt": DMESG}, disc="off_the_bus", node=None,
)
case.fires(
    "gpuf_f48_no_node_by_a_bastion",
    {"session.txt": "mia@bastion-2:~$ kubectl logs -n kube-system node-logs-x7k2p\n" + DMESG},
    disc="off_the_bus", node=None,
)

case.fires(
    "gpuf_f50_event_of_node_problem_detector",
    {"events.json": k8s_list(core_event(0, "XidCritical", XID % ("5d", FALLEN), pod="gpu-07", node="gpu-07",
                                        kind="Node", component="kernel-monitor"))},
    disc="off_the_bus", node="gpu-07", pci="0000:5d:00.0",
)
case.fires(
    "gpuf_f51_condition_of_node_problem_detector",
    {"describe.txt": "Name:               gpu-07\nRoles:              worker\nConditions:\n"
     "  Type        Status  LastHeartbeatTime                 LastTransitionTime                Reason     Message\n"
     "  ----        ------  -----------------                 ------------------                ------     -------\n"
     "  GPUProblem  True    Wed, 04 Mar 2026 05:20:00 +0000   Wed, 04 Mar 2026 05:16:00 +0000   XidError   "
     + XID % ("5d", FALLEN) + "\n"},
    disc="off_the_bus", node="gpu-07", pci="0000:5d:00.0",
)

ALL, SEVEN = range(8), [0, 1, 2, 3, 4, 5, 7]
LISTED = "[ops@gpu-07 ~]$ date --iso-8601=seconds; nvidia-smi -L\n2026-03-0%d" + "T05:00:00+00:00\n"
case.fires(
    "gpuf_f52_listed_twice",
    {"session.txt": LISTED % 3 + listing(*ALL) + LISTED % 4 + listing(*SEVEN)},
    disc="gone", node="gpu-07", gpu=GPUS[6],
)
case.fires(
    "gpuf_f53_listed_twice_and_no_handle",
    {"session.txt": LISTED % 3 + listing(*ALL) + LISTED % 4
     + "Unable to determine the device handle for GPU6: 0000:CB:00.0: Unknown Error\n" + listing(*SEVEN)},
    disc="init_failed", node="gpu-07", gpu=GPUS[6], pci="0000:cb:00.0",
)
case.fires("gpuf_f54_snapshots_by_name", snapshots(ALL, ALL, SEVEN, SEVEN), disc="gone", node="gpu-07", gpu=GPUS[6])
case.fires(
    "gpuf_f55_plugin_and_kernel",
    log((0, XID % ("5d", GSP))) | {
        "plugin.log": f"I0304 05:06:09.118211       1 health.go:159] Registered device plugin\n"
        f"I0304 05:06:09.118211       1 health.go:194] XidCriticalError: Xid=119 on Device={GPUS[2]}; marking device as unhealthy.\n"
    },
    disc="firmware", node="gpu-07", pci="0000:5d:00.0", gpu=GPUS[2],
)

# ---- silent: programs, drivers, information ----------------------------------------------------

for code, text in {
    13: "Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address",
    31: "Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f1a",
    32: "Channel ID 00000008 intr 00004000",
    38: "Driver firmware error",
    43: "Ch 00000010",
    45: "Ch 00000008",
    68: "NVDEC0 Error",
    69: "Class Error: ChId 0008, Class 0000c6c0",
    80: "Corrupted data",
    106: "SMBPBI Test Message",
    121: "C2C Link corrected error",
    125: "Inforom FS error",
    137: "FAULT_PDE ACCESS_TYPE_VIRT_READ",
    162: "Power Smoothing HW Circuitry capability reengaged",
    999: "a number that nobody knows",
}.items():
    case.silent(f"gpuf_s01_xid{code}", xids(f"{code}, pid=2211, name=python, {text}"))

case.silent(
    "gpuf_s02_killed_job",
    xids(*(f"{code}, pid=90{code}, name=python, Ch 000000{code}" for code in (43, 45, 45, 45, 45))),
)
case.silent("gpuf_s03_154_none", xids(RECOVERY % (RESET, NONE)))
case.silent("gpuf_s04_154_drain_p2p", xids(RECOVERY % (NONE, "0x3 (Drain P2P)")))
case.silent(
    "gpuf_s05_48_owns_the_reset",
    xids("48, pid=2211, name=python, DBE (double bit error) ECC error", RECOVERY % (NONE, RESET)),
    others=["hbm_ecc"],
)
case.silent(
    "gpuf_s06_63_is_a_remap",
    xids("63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu "
         "to activate."),
    others=["hbm_ecc"],
)
case.silent("gpuf_s07_64_is_a_remap", xids("64, pid=1, name=x, Row Remapper: Failed to remap row"),
            others=["hbm_ecc"])
case.silent("gpuf_s08_95_owns_the_reset",
            xids("95, pid=1, name=x, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
                 RECOVERY % (NONE, REBOOT)), others=["hbm_ecc"])
case.silent("gpuf_s09_140_is_memory", xids("140, pid=1, name=x, ECC unrecovered error"), others=["hbm_ecc"])
case.silent(
    "gpuf_s10_74_is_nvlink",
    xids("74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 4(0x10000, 0x0)",
         RECOVERY % (NONE, RESET)),
    others=["nvlink_degraded"],
)
case.silent(
    "gpuf_s11_nonfatal_nvlink5",
    xids("145, pid='<unknown>', name=<unknown>, RLW_RXPIPE Nonfatal XC0 i0 Link 11 (0x00000003 0x0)"),
)

# ---- silent: administrators ---------------------------------------------------------------------

case.silent(
    "gpuf_s12_driver_upgrade",
    log((0, UNLOADED), (30, LOADED.replace("550.54.15", "560.35.03")),
        (31, "[drm] Initialized nvidia-drm 0.0.0 20160202 for 0000:1b:00.0 on minor 1"),
        (32, "nvidia-uvm: Loaded the UVM driver, major device number 510.")),
)
case.silent(
    "gpuf_s13_driver_upgrade_with_scrapes",
    {
        **log((310, UNLOADED), (400, LOADED)),
        "dcgm.prom": dcgm(range(0, 300, 15), range(8)) + dcgm(range(450, 900, 15), range(8)),
    },
)
case.silent(
    "gpuf_s14_maintenance_reboot",
    {
        **log((300, "systemd-shutdown[1]: Rebooting."), (600, "Linux version 5.15.0-101-generic (buildd@x)"),
              (610, LOADED)),
        "dcgm.prom": dcgm(range(0, 300, 15), range(8)) + dcgm(range(660, 900, 15), range(8)),
    },
)
case.silent(
    "gpuf_s15_node_drained_and_removed",
    {"dcgm.prom": dcgm(range(0, 300, 15), range(8)) + dcgm(range(0, 900, 15), range(8), host="gpu-08")},
)
case.silent(
    "gpuf_s16_exporter_restart",
    {"dcgm.prom": dcgm(range(0, 300, 15), range(8)) + dcgm(range(480, 900, 15), range(8))},
)
case.silent(
    "gpuf_s17_scrape_that_failed",
    {"dcgm.prom": dcgm(range(0, 300, 15), range(8)) + dcgm([300, 315], range(7)) + dcgm(range(330, 900, 15), range(8))},
)
case.silent(
    "gpuf_s18_passthrough",
    {
        **log((-30, f"NVRM: GPU at PCI:0000:4b:00: {GPUS[3]}"),
              (301, "vfio-pci 0000:4b:00.0: vgaarb: deactivate vga console"),
              (301, "vfio-pci 0000:4b:00.0: enabling device (0000 -> 0002)")),
        "dcgm.prom": dcgm(range(0, 300, 15), range(8)) + dcgm(range(315, 900, 15), [0, 1, 2, 4, 5, 6, 7]),
    },
)
case.silent(
    "gpuf_s19_removed_by_sysfs",
    log((0, "NVRM: Attempting to remove device 0000:5d:00.0 with non-zero usage count!"),
        (1, "pci 0000:5d:00.0: Removing from iommu group 31")),
)
case.silent(
    "gpuf_s20_smi_reset_by_an_admin",
    {
        **xids("45, pid=2211, name=python, Ch 00000008", RECOVERY % (RESET, NONE)),
        "reset.txt": "GPU 00000000:3B:00.0 was successfully reset.\nAll done.\n",
    },
)
case.silent(
    "gpuf_s21_mig_reconfigured",
    {
        "dcgm.prom": dcgm(range(0, 300, 15), range(2))
        + "".join(
            scrape(
                [s for s in healthy(0)]
                + [(DCGM + "GPU_TEMP", gpu_labels(1, GPU_I_PROFILE="3g.40gb", GPU_I_ID=str(i)), 51)
                   for i in (1, 2)],
                at,
            )
            for at in range(420, 900, 15)
        )
    },
)
case.silent(
    "gpuf_s22_board_replaced",
    {
        "dcgm.prom": dcgm(range(0, 300, 15), range(4))
        + dcgm(range(3600, 4200, 15), range(4)).replace(GPUS[2], "GPU-0badcafe-1111-2222-3333-444455556662")
    },
)
case.silent(
    "gpuf_s23_half_of_the_gpus_watched_no_more",
    {"dcgm.prom": dcgm(range(0, 300, 15), range(8)) + dcgm(range(300, 900, 15), range(4))},
)
case.silent(
    "gpuf_s24_second_monitor_of_one_gpu",
    {
        "dcgm.prom": dcgm(range(0, 900, 60), range(8)),
        "job.prom": "".join(scrape([(DCGM + "GPU_TEMP", gpu_labels(0), 60)], at) for at in range(5, 900, 10)),
    },
)

# ---- silent: not the hardware --------------------------------------------------------------------

case.silent(
    "gpuf_s25_legacy_board",
    log(
        (0, "NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:102d)"),
        (0, "NVRM: installed in this system is supported through the"),
        (0, "NVRM: NVIDIA 470.xx Legacy drivers. Please visit"),
        (0, "NVRM: http://www.nvidia.com/object/unix.html for more information."),
        (0, "nvidia: probe of 0000:3b:00.0 failed with error -1"),
        (0, "NVRM: The NVIDIA probe routine failed for 1 device(s)."),
        (0, "NVRM: None of the NVIDIA devices were initialized."),
    ),
)
case.silent(
    "gpuf_s26_open_driver_on_an_old_board",
    log(
        (0, "NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:1db4)"),
        (0, "NVRM: installed in this system is not supported by open"),
        (0, "NVRM: nvidia.ko because it does not include the required GPU"),
        (0, "NVRM: System Processor (GSP)."),
        (0, "nvidia: probe of 0000:3b:00.0 failed with error -1"),
    ),
)
case.silent(
    "gpuf_s27_firmware_file_missing",
    log(
        (0, "nvidia 0000:3b:00.0: Direct firmware load for nvidia/550.54.15/gsp_ga10x.bin failed with error -2"),
        (0, "NVRM: RmFetchGspRmImages: No firmware image found"),
        (0, "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x61:0x56:1594)"),
    ),
)
case.silent(
    "gpuf_s28_probe_without_an_address",
    log((0, "NVRM: The NVIDIA probe routine was not called for 1 device(s)."),
        (0, "NVRM: No NVIDIA devices probed.")),
)
case.silent(
    "gpuf_s29_version_mismatch",
    {
        **log((0, "NVRM: API mismatch: the client has the version 550.90.07, but")),
        "smi.txt": "Failed to initialize NVML: Driver/library version mismatch\n",
    },
)
case.silent(
    "gpuf_s30_container_lost_its_devices",
    {"smi.txt": "Failed to initialize NVML: Unknown Error\n"},
)
case.silent(
    "gpuf_s31_no_permission",
    {"smi.txt": "Unable to determine the device handle for GPU 0000:3B:00.0: Insufficient Permissions\n"},
)
case.silent(
    "gpuf_s32_sleeping_gpu_in_lspci",
    {"lspci.txt": "01:00.0 3D controller: NVIDIA Corporation GA107M [GeForce RTX 3050] (rev ff)\n"},
)
case.silent(
    "gpuf_s33_broken_fan_sensor",
    {
        "smi.txt": (
            "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |\n"
            "|   0  Tesla V100-SXM2-32GB           On  | 00000000:3B:00.0 Off |            0 |\n"
            "| ERR!   43C    P0    62W / 300W |   1024MiB / 32510MiB |      3%      Default |\n"
        )
    },
)
case.silent(
    "gpuf_s34_quoted_in_a_ticket",
    {"kern.log": kernel_log([(0, "audit: op=note msg='customer wrote: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.'")], "shortiso")},
)
case.silent(
    "gpuf_s35_a_program_logs_the_words",
    {"messages": f"{moment(0).strftime('%b %e %H:%M:%S')} gpu-07 gpu-watch[811]: no GPU has fallen off the bus\n"},
)
case.silent(
    "gpuf_s36_first_sample_of_the_last_xid",
    {"dcgm.prom": dcgm([0, 30, 60, 90], range(4), xid=79)},
)
case.silent(
    "gpuf_s37_probe_of_another_driver",
    log((0, "nouveau: probe of 0000:3b:00.0 failed with error -12"),
        (1, "mlx5_core 0000:5c:00.0: probe with driver mlx5_core failed with error -110")),
)
case.silent(
    "gpuf_s38_power_state_of_another_device",
    log((0, "nvme 0000:5d:00.0: Unable to change power state from D3cold to D0, device inaccessible")),
)
case.silent(
    "gpuf_s39_recovery_action_none",
    {"smi-gpu-07.txt": smi(("1B", [
        "GPU Recovery Action                   : None",
        "GPU Reset Status", "    Reset Required                    : No",
        "    Drain and Reset Recommended       : No",
    ]))},
)
case.silent(
    "gpuf_s40_pending_remap_recommends_a_reset",
    {"smi-gpu-07.txt": smi(("1B", [
        "GPU Reset Status", "    Reset Required                    : Yes",
        "    Drain and Reset Recommended       : Yes",
        "Remapped Rows", "    Correctable Error                 : 0",
        "    Uncorrectable Error               : 1", "    Pending                           : Yes",
        "    Remapping Failure Occurred        : No",
    ]))},
    others=["hbm_ecc"],
)
case.silent(
    "gpuf_s45_amd_reset_that_worked",
    amd((0, "ring gfx timeout, signaled seq=812, emitted seq=814"), (0, "GPU reset begin!"),
        (1, "MODE1 reset"), (2, "GPU reset succeeded, trying to resume"), (4, "GPU reset(2) succeeded!"),
        (4, "GPU reset end with ret = 0")),
    why="an application hung the ring, and the reset ended it",
)
case.silent(
    "gpuf_s46_amd_soft_recovery",
    amd((0, "ring sdma0 timeout, but soft recovered"), (40, "ring sdma0 timeout, but soft recovered")),
)
case.silent(
    "gpuf_s47_amd_without_firmware",
    log((0, "amdgpu 0000:43:00.0: Direct firmware load for amdgpu/gc_9_4_3_rlc.bin failed with error -2"),
        (0, "[drm:amdgpu_device_init.cold [amdgpu]] *ERROR* early_init of IP block <gfx_v9_4_3> failed -19"),
        (0, "amdgpu 0000:43:00.0: amdgpu: Fatal error during GPU init")),
)
case.silent(
    "gpuf_s48_event_quotes_a_program",
    {"events.json": k8s_list(core_event(0, "XidWarning", XID % ("5d", "31, pid=4, name=python, MMU Fault"), pod="gpu-07",
                                        node="gpu-07", kind="Node", component="kernel-monitor"))},
)
case.silent(
    "gpuf_s49_event_of_a_pod_has_the_words",
    {"events.json": k8s_list(core_event(0, "Unhealthy", XID % ("5d", FALLEN), node="gpu-07"))},
    why="a pod may say anything",
)
case.silent(
    "gpuf_s50_listed_in_a_container",
    {"session.txt": LISTED % 3 + listing(*ALL) + LISTED % 4 + listing(2, 3)},
    why="a container sees some of them",
)
case.silent(
    "gpuf_s51_listed_after_an_exchange",
    {"session.txt": LISTED % 3 + listing(0, 1, 2, 3, 4) + LISTED % 4 + listing(0, 1, 2, 3, 5)},
    why="another board is in its place",
)
case.silent("gpuf_s52_one_snapshot_without_it", snapshots(ALL, ALL, SEVEN, ALL))
