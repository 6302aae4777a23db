# SPDX-License-Identifier: Apache-2.0
"""GPUs and their links, in the words of older and newer drivers, kernels and exporters."""

from cluster import gpu_uuid
from formats import (
    events_k8s_io,
    exposition,
    file_time,
    kernel,
    old_labels,
    pod,
    quiet,
    smi_labels,
    yaml_list,
)
from when import moment


# ---- xid_correlation --------------------------------------------------------------------------


def fallen_off_without_pci(c):
    """A driver of 2013's wording: no "PCI:", no process. The pod is known from kubectl."""
    node = "dgx-a01"
    quiet(c, node, "syslog")
    kernel(c, node, "syslog", 600, "NVRM: Xid (0000:3d:00): 79, GPU has fallen off the bus.")
    c.has("kubectl/pods.json", pod("bert-0", node, phase="Failed", end=(641, 134, "Error")))
    c.fault("gpu_fault", 600, "a GPU fell off the bus", disc="off_the_bus", node=node,
            pci="0000:3d:00.0")
    c.fault("xid_correlation", 600, "a GPU fell off the bus; its pod aborts", end=641,
            disc="hardware_xid", node=node, pci="0000:3d:00.0", ns="research", pod="bert-0")


def gsp_timeout_of_unknown_process(c):
    """pid and name as the driver writes them when it does not know; the pod as YAML."""
    node = "dgx-a02"
    quiet(c, node, "shortiso")
    kernel(c, node, "shortiso", 900,
           "NVRM: Xid (PCI:0000:41:00): 120, pid=<unknown>, name=<unknown>, GSP task exception: "
           "page fault (cause:0x0) @ pc:0x3a52")
    ended = pod("gnn-3", node, phase="Failed", end=(1130, 1, "Error"))
    c.write("kubectl/gnn.yaml", yaml_list(ended))
    c.fault("gpu_fault", 900, "the GSP fails", disc="firmware", node=node, pci="0000:41:00.0")
    c.fault("xid_correlation", 900, "the GSP fails; the pod follows after minutes", end=1130,
            disc="hardware_xid", node=node, pci="0000:41:00.0", ns="research", pod="gnn-3")


def xid_from_an_old_exporter(c):
    """dcgm-exporter 1.x: the gauge alone, in files that a timer wrote; pods by old labels."""
    node = "dgx-a03"
    for at in range(1200, 2100, 60):
        value = 79 if at >= 1500 else 0
        samples = []
        for gpu in range(2):
            labels = old_labels(node, gpu, f"vision-{gpu}")
            samples.append(("dcgm_xid_errors", "gauge", labels, value if gpu == 1 else 0))
            samples.append(("dcgm_gpu_temp", "gauge", labels, 51 + gpu))
        name = f"scrapes/dcgm-exporter-{node}_{file_time(at)}.prom"
        c.write(name, exposition(samples))
    c.has("kubectl/pods.json", pod("vision-1", node, phase="Failed", end=(1533, 139, "Error")),
          pod("vision-0", node))
    c.fault("gpu_fault", 1500, "the exporter's last Xid becomes 79", disc="off_the_bus", node=node,
            gpu=gpu_uuid(node, 1))
    c.fault("xid_correlation", 1445, "the exporter's last Xid becomes 79; the pod on it crashes",
            end=1533, disc="hardware_xid", node=node, gpu=gpu_uuid(node, 1), ns="research",
            pod="vision-1")


def programs_that_fault(c):
    """Xids of programs, in three wordings; their pods fail."""
    node = "dgx-a04"
    quiet(c, node, "dmesgT")
    said = {
        300: "NVRM: Xid (PCI:0000:1a:00): 31, pid=1210, name=python, Ch 00000013, intr 00000000. "
        "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f42_0a000000. Fault is of type "
        "FAULT_PDE ACCESS_TYPE_VIRT_READ",
        1500: "NVRM: Xid (0000:1c:00): 13, 0003 00000000 00008297 00001098 00000000 00000044",
        2700: "NVRM: Xid (PCI:0000:1d:00): 43, pid=2022, Channel ID 00000010, engmask 00000101",
        3900: "NVRM: Xid (PCI:0000:1e:00): 45, pid=3044, Channel ID 0000000a",
    }
    for i, (at, message) in enumerate(said.items()):
        kernel(c, node, "dmesgT", at, message)
        c.has("kubectl/pods.json", pod(f"nb-{i}", node, phase="Failed", end=(at + 9, 1, "Error")))
        c.noise("xid_correlation", at, "an Xid of a program; its pod fails", end=at + 9, node=node,
                ns="research", pod=f"nb-{i}")


def asked_to_stop_after_xid(c):
    """A hardware Xid, but the pod was deleted before it and ends as asked."""
    node = "dgx-a05"
    quiet(c, node, "jjson")
    kernel(c, node, "jjson", 2000,
           "NVRM: Xid (PCI:0000:1a:00): 119, pid=4001, name=python, Timeout waiting for RPC from "
           "GSP0! Expected function 76 (GSP_RM_CONTROL) (0x2080a0d7 0x5c8).")
    c.has("kubectl/events.json",
          events_k8s_io(1990, "Killing", "Stopping container main", "ranker-0", node, "research",
                        kind="Normal"))
    c.has("kubectl/pods.json",
          pod("ranker-0", node, phase="Failed", end=(2019, 143, "Error"), deleted=2020))
    c.fault("gpu_fault", 2000, "the GSP does not answer", disc="firmware", node=node,
            pci="0000:1a:00.0")
    c.noise("xid_correlation", 2000, "the pod was asked to stop", end=2019, node=node,
            ns="research", pod="ranker-0")


# ---- hbm_ecc ----------------------------------------------------------------------------------


def double_bit_error_of_2018(c):
    node = "dgx-b01"
    quiet(c, node, "syslog")
    kernel(c, node, "syslog", 700,
           "NVRM: Xid (PCI:0000:1d:00): 48, An uncorrectable double bit error (DBE) has been "
           "detected on GPU (00 1d 00).")
    c.fault("hbm_ecc", 700, "a double bit error, in the words of driver 418", disc="uncorrectable",
            node=node, pci="0000:1d:00.0")


def page_retired(c):
    """Volta retires pages where newer boards remap rows."""
    node = "dgx-b02"
    quiet(c, node, "dmesgT")
    kernel(c, node, "dmesgT", 800,
           "NVRM: Xid (PCI:0000:3f:00): 63, Dynamic Page Retirement: New page retired, reboot to "
           "activate (0x00000000000a3f5b).")
    c.fault("hbm_ecc", 800, "a page is retired", disc="remap_pending", node=node,
            pci="0000:3f:00.0")


def dbe_counter_of_dcgm_1(c):
    node = "dgx-b03"
    for at in range(0, 1800, 30):
        samples = [
            ("dcgm_ecc_dbe_volatile_total", "counter", old_labels(node, gpu),
             int(gpu == 2 and at >= 900))
            for gpu in range(4)
        ]
        samples += [
            ("dcgm_ecc_sbe_aggregate_total", "counter", old_labels(node, gpu),
             41 + gpu) for gpu in range(4)
        ]
        c.say(f"scrapes/dcgm-{node}.prom", at, exposition(samples, at))
    c.noise("hbm_ecc", 0, "errors of the board's life, long ago", end=1800, node=node,
            gpu=gpu_uuid(node, 1))
    c.fault("hbm_ecc", 870, "the counter of uncorrectable errors rises by one", end=900,
            disc="uncorrectable", node=node, gpu=gpu_uuid(node, 2))


def corrected_storm_in_openmetrics(c):
    """One document per scrape, as OpenMetrics demands, with times in seconds."""
    node = "dgx-b04"
    for i, at in enumerate(range(0, 1500, 20)):
        labels = [
            f'gpu="{gpu}",UUID="{gpu_uuid(node, gpu)}",device="nvidia{gpu}",Hostname="{node}"'
            for gpu in (0, 1)
        ]
        grown = 7 + max(0, min(20, i - 30)) * 9
        samples = [
            ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", labels[0], 3),
            ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", labels[1], grown),
        ]
        c.write(f"scrapes/om/dcgm-{node}_{file_time(at)}.om",
                exposition(samples, at, openmetrics=True))
    c.fault("hbm_ecc", 620, "180 corrected errors in 400 s", end=1000, disc="corrected_storm",
            node=node, gpu=gpu_uuid(node, 1))


def remap_failed_by_nvidia_smi(c):
    node = "dgx-b05"
    for at in range(0, 1800, 60):
        samples = []
        for gpu in range(2):
            labels = smi_labels(node, gpu)
            failed = int(gpu == 0 and at >= 1020)
            samples.append(("nvidia_smi_remapped_rows_failure", "gauge", labels, failed))
            samples.append(("nvidia_smi_remapped_rows_correctable", "gauge", labels, 2))
            samples.append(("nvidia_smi_ecc_errors_corrected_aggregate_total", "gauge", labels,
                            918))
        c.say(f"scrapes/nvidia_gpu_exporter-{node}.prom", at, exposition(samples, at))
    c.noise("hbm_ecc", 0, "rows that were remapped long ago", end=1800, node=node,
            gpu=gpu_uuid(node, 1))
    c.fault("hbm_ecc", 960, "a row cannot be remapped", end=1020, disc="remap_failed", node=node,
            gpu=gpu_uuid(node, 0))


def old_errors_and_a_trickle(c):
    """A board with a past: counters of its life stand high; one error a minute is corrected."""
    node = "dgx-b06"
    for i, at in enumerate(range(0, 4800, 60)):
        labels = old_labels(node, 0)
        samples = [
            ("dcgm_ecc_sbe_aggregate_total", "counter", labels, 88123 + i),
            ("dcgm_ecc_dbe_aggregate_total", "counter", labels, 2),
            ("dcgm_ecc_sbe_volatile_total", "counter", labels, i),
            ("dcgm_retired_pages_pending", "gauge", labels, 0),
            ("dcgm_xid_errors", "gauge", labels, 63),
        ]
        c.say(f"scrapes/dcgm-{node}.prom", at, exposition(samples, at))
    c.noise("hbm_ecc", 0, "one corrected error a minute; older errors from before", end=4800,
            node=node, gpu=gpu_uuid(node, 0))


# ---- thermal_throttle -------------------------------------------------------------------------


def slowed_in_undated_scrapes(c):
    """Files called 1, 2, 3, with no time but that of the disk, 15 s apart."""
    node = "dgx-c01"
    for i in range(40):
        hot = 12 <= i < 24
        samples = []
        for gpu in range(2):
            labels = old_labels(node, gpu)
            slowed = hot and gpu == 1
            samples.append(("dcgm_clock_throttle_reasons", "gauge", labels, 0x48 if slowed else 0))
            samples.append(("dcgm_gpu_temp", "gauge", labels, 91 if slowed else 64))
        at = 1000 + 15 * i
        c.write(f"scrapes/undated/metrics-{node}_{i + 1}.prom", exposition(samples), taken=at)
    c.fault("thermal_throttle", 1180, "a GPU is slowed by heat for 165 s", end=1345,
            disc="hw_thermal", node=node, gpu=gpu_uuid(node, 1))


def slowed_by_nvidia_smi(c):
    node = "dgx-c02"
    reason = "nvidia_smi_clocks_throttle_reasons_"
    for at in range(0, 1800, 30):
        hot = 600 <= at < 900
        samples = []
        for gpu in range(4):
            labels = smi_labels(node, gpu)
            samples.append((reason + "sw_power_cap", "gauge", labels, 1))
            samples.append((reason + "hw_thermal_slowdown", "gauge", labels, 0))
            samples.append((reason + "sw_thermal_slowdown", "gauge", labels, int(hot and gpu == 2)))
            samples.append(("nvidia_smi_temperature_gpu", "gauge", labels,
                            88 if hot and gpu == 2 else 70))
        c.say(f"scrapes/nvidia_gpu_exporter-{node}.prom", at, exposition(samples, at))
    c.fault("thermal_throttle", 600, "a GPU is slowed by heat, by its own gauge", end=870,
            disc="sw_thermal", node=node, gpu=gpu_uuid(node, 2))


def time_slowed_grows(c):
    """No reasons, but the counter of time that heat has cost; Prometheus' own labels."""
    node = "dgx-c03"
    for at in range(0, 1800, 15):
        samples = []
        for gpu in range(2):
            labels = (
                f'DCGM_FI_DRIVER_VERSION="470.57.02",gpu="{gpu}",UUID="{gpu_uuid(node, gpu)}",'
                f'exported_namespace="research",exported_pod="sim-{gpu}",namespace="monitoring",'
                f'pod="nv-hostengine-exporter-x7",instance="{node}:9400",job="gpu"'
            )
            slowed = max(0, min(at, 900) - 660) if gpu == 0 else 0
            samples.append(("DCGM_FI_DEV_THERMAL_VIOLATION", "counter", labels,
                            5_000_000 + slowed * 10**9))
            samples.append(("DCGM_FI_DEV_POWER_VIOLATION", "counter", labels, at * 10**9))
            samples.append(("DCGM_FI_DEV_GPU_TEMP", "gauge", labels, 86 if slowed else 60))
        c.say(f"scrapes/dcgm-{node}.prom", at, exposition(samples, at))
    c.fault("thermal_throttle", 660, "heat costs 240 s, by the counter", end=900, disc="sw_thermal",
            node=node, gpu=gpu_uuid(node, 0))
    c.noise("thermal_throttle", 0, "the power cap, all the time", end=1800, node=node,
            gpu=gpu_uuid(node, 1))


def capped_and_hot(c):
    """Power caps and a GPU that is merely hot."""
    node = "dgx-c04"
    for at in range(0, 1800, 30):
        samples = []
        for gpu in range(2):
            labels = old_labels(node, gpu)
            short = gpu == 1 and at == 900
            samples.append(("dcgm_clock_throttle_reasons", "gauge", labels, 0x24 if short else 4))
            samples.append(("dcgm_gpu_temp", "gauge", labels, 89))
        c.say(f"scrapes/dcgm-{node}.prom", at, exposition(samples, at))
    c.noise("thermal_throttle", 0, "capped, and hot", end=1800, node=node, gpu=gpu_uuid(node, 0))
    c.noise("thermal_throttle", 900, "slowed in one sample", node=node, gpu=gpu_uuid(node, 1))


# ---- pcie_aer ---------------------------------------------------------------------------------


def aer_4(port, device, ident, vendor="10de:1db5", status="00000001/00002000",
          detail="   [ 0] Receiver Error         (First)"):
    """Linux 4.x: ids instead of addresses."""
    driver = "nvidia" if vendor.startswith("10de") else "nvme"
    return [
        f"pcieport {port}: AER: Corrected error received: id={ident}",
        f"{driver} {device}: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
        f"id={ident}(Receiver ID)",
        f"{driver} {device}:   device [{vendor}] error status/mask={status}",
        f"{driver} {device}: {detail}",
    ]


def corrected_storm_of_linux_4(c):
    node = "dgx-d01"
    quiet(c, node, "syslog")
    for i in range(70):
        kernel(c, node, "syslog", 1000 + 4 * i, *aer_4("0000:3a:00.0", "0000:3d:00.0", "3d00"))
    c.fault("pcie_aer", 1000, "70 corrected errors in 280 s", end=1276, disc="corrected_storm",
            node=node, pci="0000:3d:00.0")


def fatal_of_linux_5(c):
    """Linux 5.x puts "AER:" before every line."""
    node = "dgx-d02"
    quiet(c, node, "shortiso")
    device = "0000:3b:00.0"
    kernel(c, node, "shortiso", 1100,
           f"pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: {device}",
           f"nvidia {device}: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
           "Layer, (Requester ID)",
           f"nvidia {device}: AER:   device [10de:20b0] error status/mask=00040000/00400000",
           f"nvidia {device}: AER:    [18] MalfTLP                (First)",
           f"nvidia {device}: AER:   TLP Header: 60000040 0000a0ff 00000002 f3a00000",
           "pcieport 0000:3a:00.0: AER: device recovery failed")
    c.fault("pcie_aer", 1100, "a malformed packet: the link is lost", disc="fatal", node=node,
            pci=device)


def narrow_link_by_nvidia_smi(c):
    node = "dgx-d03"
    for at in range(0, 1800, 30):
        samples = []
        for gpu in range(2):
            labels = smi_labels(node, gpu)
            slow = gpu == 1 and at >= 700
            idle = gpu == 0 and at >= 700
            samples += [
                ("nvidia_smi_pcie_link_gen_current", "gauge", labels, 1 if idle else 4),
                ("nvidia_smi_pcie_link_gen_max", "gauge", labels, 4),
                ("nvidia_smi_pcie_link_width_current", "gauge", labels, 4 if slow else 16),
                ("nvidia_smi_pcie_link_width_max", "gauge", labels, 16),
                ("nvidia_smi_utilization_gpu_ratio", "gauge", labels, 0 if idle else 0.93),
            ]
        c.say(f"scrapes/nvidia_gpu_exporter-{node}.prom", at, exposition(samples, at))
    c.fault("pcie_aer", 700, "a busy GPU has four of its sixteen lanes", end=1800,
            disc="rate_collapse", node=node, gpu=gpu_uuid(node, 1))
    c.noise("pcie_aer", 700, "a GPU at rest saves power", end=1800, node=node,
            gpu=gpu_uuid(node, 0))


def corrected_now_and_then(c):
    """A replay timer of a disk twice an hour, and errors that are masked."""
    node = "dgx-d04"
    quiet(c, node, "dmesgT")
    for at in (200, 2100, 3900):
        kernel(c, node, "dmesgT", at,
               *aer_4("0000:5d:00.0", "0000:5e:00.0", "5e00", vendor="144d:a804"))
    for i in range(60):
        kernel(c, node, "dmesgT", 2500 + 2 * i,
               *aer_4("0000:3a:00.0", "0000:3d:00.0", "3d00", status="00002000/00002000",
                      detail="   [13] Advisory Non-Fatal"))
    c.noise("pcie_aer", 200, "three corrected errors of a disk", end=3900, node=node,
            pci="0000:5e:00.0")
    c.noise("pcie_aer", 2500, "60 errors that are masked", end=2620, node=node, pci="0000:3d:00.0")


# ---- nvlink_degraded --------------------------------------------------------------------------


def fabric(seconds, level, text):
    at = moment(seconds).strftime("%b %d %Y %H:%M:%S")
    return f"[{at}] [{level}] [tid 1407] {text}\n"


def switch_fails_in_fabric_manager(c):
    """Only the Fabric Manager's own log was kept."""
    node = "dgx-e01"
    path = f"logs/fabricmanager-{node}.log"
    c.say(path, -600, fabric(-600, "INFO", "Fabric Manager version 535.104.05 is running with the "
                             "following configuration options"))
    c.say(path, 1300, fabric(1300, "ERROR", "detected NVSwitch fatal error 20034 on fid 0 on "
                             "NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 33"))
    c.fault("nvlink_degraded", 1300, "a switch loses a link for good", disc="fatal_sxid", node=node,
            pci="0000:86:00.0")
    other = "dgx-e02"
    path = f"logs/fabricmanager-{other}.log"
    c.say(path, -500, fabric(-500, "INFO", "Connected to 1 node."))
    for at in (900, 1000, 1100):
        c.say(path, at, fabric(at, "ERROR", "detected NVSwitch non-fatal error 12028 on fid 0 on "
                               "NVSwitch pci bus id 00000000:87:00.0 physical id 2 port 57"))
    c.noise("nvlink_degraded", 900, "errors of a switch that cost nothing", end=1100, node=other)


def link_fails_on_volta(c):
    node = "dgx-e03"
    quiet(c, node, "syslog")
    kernel(c, node, "syslog", 1400,
           "NVRM: Xid (0000:40:00): 74, NVLink: fatal error detected on link 2(0x0, 0x0, 0x10000, "
           "0x0, 0x0, 0x0, 0x0)")
    c.fault("nvlink_degraded", 1400, "a link of a GPU fails", disc="nvlink_xid", node=node,
            pci="0000:40:00.0")


def replays_of_dcgm_1(c):
    node = "dgx-e04"
    for i, at in enumerate(range(0, 1800, 30)):
        samples = []
        for gpu in range(2):
            labels = old_labels(node, gpu)
            grown = max(0, min(20, i - 20)) * 40 if gpu == 0 else i // 20
            samples.append(("dcgm_nvlink_replay_error_count_total", "counter", labels, grown))
            samples.append(("dcgm_nvlink_recovery_error_count_total", "counter", labels, i // 30))
        c.say(f"scrapes/dcgm-{node}.prom", at, exposition(samples, at))
    c.fault("nvlink_degraded", 600, "800 replays in ten minutes", end=1200, disc="error_storm",
            node=node, gpu=gpu_uuid(node, 0))
    c.noise("nvlink_degraded", 0, "a replay now and then", end=1800, node=node,
            gpu=gpu_uuid(node, 1))


STORIES = [
    fallen_off_without_pci,
    gsp_timeout_of_unknown_process,
    xid_from_an_old_exporter,
    programs_that_fault,
    asked_to_stop_after_xid,
    double_bit_error_of_2018,
    page_retired,
    dbe_counter_of_dcgm_1,
    corrected_storm_in_openmetrics,
    remap_failed_by_nvidia_smi,
    old_errors_and_a_trickle,
    slowed_in_undated_scrapes,
    slowed_by_nvidia_smi,
    time_slowed_grows,
    capped_and_hot,
    corrected_storm_of_linux_4,
    fatal_of_linux_5,
    narrow_link_by_nvidia_smi,
    corrected_now_and_then,
    switch_fails_in_fabric_manager,
    link_fails_on_volta,
    replays_of_dcgm_1,
]
