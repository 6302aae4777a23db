# SPDX-License-Identifier: Apache-2.0
"""Nodes, GPUs and pods: both sides of each threshold, at scrapes and on clocks of all sorts."""

from cluster import gpu_uuid, uid
from formats import node, pod
from kernel import kernel_line
from metrics import DCGM, scrape
from otlp import event_record, watched

BUSES = ["17", "2a", "3b", "5d"]


def pci(gpu):
    return f"0000:{BUSES[gpu]}:00.0"


def labels(name, gpu, **more):
    known = {
        "gpu": gpu,
        "UUID": gpu_uuid(name, gpu),
        "pci_bus_id": f"00000000:{BUSES[gpu].upper()}:00.0",
        "device": f"nvidia{gpu}",
        "Hostname": name,
    }
    return ",".join(f'{key}="{value}"' for key, value in (known | more).items())


def jitter(i, most):
    """Up to `most` seconds early or late, in no order that matters."""
    return ((i * 7919) % 201 - 100) / 100 * most


def share(total, at, begin, seconds):
    """What has come of a total that comes evenly."""
    return round(total * max(0, min(1, (at - begin) / seconds)))


def scraped(c, name, times, samples, clock=0):
    """samples(at, gpu): metric to value; clock: how far ahead the exporter's is."""
    for at in times:
        told = []
        for gpu in range(2):
            told += [(DCGM + metric, labels(name, gpu), value) for metric,
                     value in samples(at, gpu).items()]
        c.say(f"dcgm/dcgm-{name}.prom", at, scrape(told, at + clock))


def kernel(c, name, at, message, clock=0):
    c.say(f"kernel/kern-{name}.log", at, kernel_line(at + clock, name, message))


def event(c, at, reason, message, about, on, kind="Pod", namespace="ml"):
    """Told by k8seventsreceiver."""
    made = event_record(at, reason, message, node=on, pod=about, namespace=namespace,
                        uid=uid("event", about, reason, at), kind=kind)
    about_uid = about if kind == "Node" else uid("pod", namespace, about)
    c.say("k8s/events.json", at, made.replace("11111111-2222-4333-8444-555555555555", about_uid))


def objects(c, at, thing, seen=None):
    """Told by k8sobjectsreceiver; seen: when, if not at once."""
    c.say("k8s/objects.json", at if seen is None else seen,
          watched(at if seen is None else seen, thing, "MODIFIED"))


# ---- thermal_throttle -------------------------------------------------------------------------


def slowed_for_31_and_29_seconds(c):
    """Every 5 s, and never quite: the GPU is slowed from the first of these samples to the last."""
    for name, seconds, fires in (("n01", 31, True), ("n02", 29, False)):
        begin = 1200
        hot = [begin + at for at in (0, 5.5, 9.5, 15, 20.5, 24.5, seconds)]
        calm = [begin - 5 * i + jitter(i, 1) for i in range(1, 60)]
        calm += [hot[-1] + 5 * i + jitter(i, 1) for i in range(1, 60)]
        scraped(c, name, sorted(hot + calm), lambda at, gpu: {
            "CLOCKS_EVENT_REASONS": 0x40 if gpu == 1 and at in hot else 0,
            "GPU_TEMP": 90 if gpu == 1 and at in hot else 61,
        })
        c.edge(fires, "thermal_throttle", begin, f"slowed by heat for {seconds} s", end=hot[-1],
               node=name, gpu=gpu_uuid(name, 1), disc="hw_thermal")


def slowed_at_one_sample_a_minute(c):
    """Four minutes of heat are five samples; four seconds are one."""
    name = "n03"
    hot = [(2400, 2700), (4150, 4210)]
    times = [60 * i + jitter(i, 9) for i in range(1, 120)]
    scraped(c, name, times, lambda at, gpu: {
        "CLOCKS_EVENT_REASONS": 0x20 if hot[gpu][0] < at < hot[gpu][1] else 4,
        "GPU_TEMP": 87,
    }, clock=2)
    c.fault("thermal_throttle", 2400, "slowed by heat for minutes, seen every minute", end=2700,
            disc="sw_thermal", node=name, gpu=gpu_uuid(name, 0))
    c.noise("thermal_throttle", 4150, "slowed in one sample", end=4210, node=name,
            gpu=gpu_uuid(name, 1))


# ---- hbm_ecc ----------------------------------------------------------------------------------


def hundred_corrected_errors(c):
    """100 errors in 590 s, and 99, at 5 s."""
    for name, total, fires in (("n04", 100, True), ("n05", 99, False)):
        begin = 1000
        times = [begin + 5 * i + jitter(i, 0.9) for i in range(-60, 240)]
        scraped(c, name, times, lambda at, gpu: {
            "ECC_SBE_VOL_TOTAL": 12 + (share(total, at, begin, 590) if gpu == 0 else 0),
            "ECC_DBE_VOL_TOTAL": 0,
        })
        c.edge(fires, "hbm_ecc", begin, f"{total} corrected errors in 590 s", end=begin + 590,
               node=name, gpu=gpu_uuid(name, 0), disc="corrected_storm")


def two_clocks_tell_of_one_error(c):
    """The kernel's clock is 2 s slow, the exporter's 2 s fast."""
    name = "n06"
    kernel(c, name, 3000, f"NVRM: GPU at PCI:0000:{BUSES[1]}:00: {gpu_uuid(name, 1)}", clock=-2)
    kernel(c, name, 3000, f"NVRM: Xid (PCI:0000:{BUSES[1]}:00): 48, pid=81, name=python3, DBE "
           "(double bit error) ECC Error", clock=-2)
    times = [60 * i + jitter(i, 5) for i in range(1, 120)]
    scraped(c, name, times, lambda at, gpu: {
        "ECC_DBE_VOL_TOTAL": int(gpu == 1 and at > 3000),
        "ECC_SBE_VOL_TOTAL": 0,
    }, clock=2)
    c.fault("hbm_ecc", 3000, "one error, told on two clocks", end=3060, disc="uncorrectable",
            node=name, gpu=gpu_uuid(name, 1))


def first_line_of_all(c):
    """A fault right at the beginning: nothing is known of the time before."""
    name = "n07"
    kernel(c, name, 0, f"NVRM: Xid (PCI:0000:{BUSES[0]}:00): 64, pid='<unknown>', name=<unknown>, "
           "Row Remapper: Error (unable to remap row)")
    c.fault("hbm_ecc", 0, "the first line there is", disc="remap_failed", node=name, pci=pci(0))


def last_line_of_all(c):
    """A fault right at the end: what is waited for never comes."""
    name = "n08"
    kernel(c, name, c.until, "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Fatal, Link 31 "
           "LTSSM Fault Up")
    c.fault("nvlink_degraded", c.until, "the last line there is", disc="fatal_sxid", node=name,
            pci="0000:07:00.0")


# ---- nvlink_degraded --------------------------------------------------------------------------


def thousand_crc_errors(c):
    """1,000 in 290 s, and 999, after hours of quiet."""
    for name, total, fires in (("n26", 1000, True), ("n27", 999, False)):
        begin = 6500
        times = [60 * i + jitter(i, 8) for i in range(1, 100)]
        times += [begin + 5 * i + jitter(i, 0.9) for i in range(-30, 90)]
        scraped(c, name, times, lambda at, gpu: {
            "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": share(total, at, begin, 290) if gpu == 1 else 0,
        })
        c.edge(fires, "nvlink_degraded", begin, f"{total} CRC errors in 290 s", end=begin + 290,
               node=name, gpu=gpu_uuid(name, 1), disc="error_storm")


# ---- pcie_aer ---------------------------------------------------------------------------------


def corrected(c, name, at):
    bus = BUSES[2]
    kernel(c, name, at, f"pcieport 0000:{bus[0]}0:01.0: AER: Corrected error message received from "
           f"0000:{bus}:00.0")
    kernel(c, name, at, f"nvidia 0000:{bus}:00.0: PCIe Bus Error: severity=Corrected, type=Data "
           "Link Layer, (Receiver ID)")
    kernel(c, name, at, f"nvidia 0000:{bus}:00.0:   device [10de:2330] error "
           "status/mask=00000040/0000e000")
    kernel(c, name, at, f"nvidia 0000:{bus}:00.0:    [ 6] BadTLP                ")


def fifty_corrected_errors(c):
    """50 in 299 s; 49 in 300 s; and a burst of 49 in a second after a long quiet."""
    for i in range(50):
        corrected(c, "n09", 2000 + 299 * i / 49)
    for i in range(49):
        corrected(c, "n10", 2000 + 300 * i / 48)
        corrected(c, "n11", 6000 + i / 50)
    c.fault("pcie_aer", 2000, "50 corrected errors in 299 s", end=2299, disc="corrected_storm",
            node="n09", pci=pci(2))
    c.noise("pcie_aer", 2000, "49 corrected errors in 300 s", end=2300, node="n10", pci=pci(2))
    c.noise("pcie_aer", 6000, "49 corrected errors in a second", end=6001, node="n11", pci=pci(2))


def narrow_for_31_and_29_seconds(c):
    """A busy GPU on half of its lanes, at 5 s."""
    for name, seconds, fires in (("n28", 31, True), ("n29", 29, False)):
        begin = 3600
        slow = [begin + at for at in (0, 4.5, 10, 14.5, 20, 25.5, seconds)]
        well = [begin - 5 * i + jitter(i, 1) for i in range(1, 20)]
        well += [slow[-1] + 5 * i + jitter(i, 1) for i in range(1, 20)]
        scraped(c, name, sorted(slow + well), lambda at, gpu: {
            "PCIE_LINK_GEN": 5,
            "PCIE_MAX_LINK_GEN": 5,
            "PCIE_LINK_WIDTH": 8 if gpu == 0 and at in slow else 16,
            "PCIE_MAX_LINK_WIDTH": 16,
            "GPU_UTIL": 97,
        })
        c.edge(fires, "pcie_aer", begin, f"half of the lanes for {seconds} s", end=slow[-1],
               node=name, gpu=gpu_uuid(name, 0), disc="rate_collapse")


def storm_quiet_storm(c):
    """Two storms of one device, an hour apart, are two incidents; the second takes a second."""
    for i in range(80):
        corrected(c, "n30", 600 + i * 3 + jitter(i, 1))
        corrected(c, "n30", 5000 + i / 100)
    c.fault("pcie_aer", 600, "80 corrected errors in four minutes", end=840, disc="corrected_storm",
            node="n30", pci=pci(2))
    c.fault("pcie_aer", 5000, "80 corrected errors in a second", end=5001, disc="corrected_storm",
            node="n30", pci=pci(2))


# ---- network_link_fault -----------------------------------------------------------------------


def link(c, name, at, down, clock=0):
    for seconds, word in ((0, "down"), (down, "up")):
        kernel(c, name, at + seconds, f"mlx5_core 0000:1a:00.0 ens3np0: Link {word}", clock)


def three_flaps(c):
    """Three in 599 s, on a clock that is 2 s fast; two; and three in 650 s."""
    for at in (1500, 1800, 2099):
        link(c, "n12", at, 4, clock=2)
    for at in (1500, 1600):
        link(c, "n13", at, 4)
    for at in (1500, 1800, 2150):
        link(c, "n14", at, 4)
    c.fault("network_link_fault", 1502, "three flaps in 599 s", end=2105, disc="link_flap",
            node="n12", device="ens3np0")
    c.noise("network_link_fault", 1500, "two flaps", end=1604, node="n13")
    c.noise("network_link_fault", 1500, "three flaps in 650 s", end=2154, node="n14")


def down_for_62_and_58_seconds(c):
    """The node lives all the while: its exporter answers."""
    for name, seconds, fires in (("n15", 62, True), ("n16", 58, False)):
        times = [3000 + 5 * i + jitter(i, 2) for i in range(80)]
        scraped(c, name, times, lambda at, gpu: {"GPU_TEMP": 60, "GPU_UTIL": 98})
        link(c, name, 3101, seconds)
        c.edge(fires, "network_link_fault", 3101, f"down for {seconds} s", end=3101 + seconds,
               node=name, disc="link_down")


# ---- pod_evicted ------------------------------------------------------------------------------


def pressure_290_and_310_seconds_before(c):
    """Both are told; the condition is told with the first only."""
    for name, before, sure in (("n17", 290, "full"), ("n18", 310, "partial")):
        at = 4000
        low = ("MemoryPressure", "True", "KubeletHasInsufficientMemory", at - before)
        objects(c, at - before, node(name, low))
        event(c, at, "Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, "
              "available: 77860Ki. Container main was using 41Gi, request is 8Gi, has larger "
              "consumption of memory. ",
              f"shard-{name}", name)
        c.fault("pod_evicted", at, f"the condition came {before} s before", disc="memory_pressure",
                conf=sure,
                ns="ml", pod=f"shard-{name}")


def condition_that_is_told_late(c):
    """The watch was away: the condition reaches the Collector three minutes after the eviction."""
    name = "n19"
    at = 4300
    event(c, at, "Evicted", "The node had condition: [DiskPressure]. ", "shard-late", name)
    objects(c, at - 45, node(name, ("DiskPressure", "True", "KubeletHasDiskPressure", at - 45)),
            seen=at + 180)
    c.fault("pod_evicted", at, "the condition is told three minutes late", disc="disk_pressure",
            conf="full",
            ns="ml", pod="shard-late")


def drained_under_pressure(c):
    name = "n20"
    at = 4600
    objects(c, at - 20,
            node(name, ("MemoryPressure", "True", "KubeletHasInsufficientMemory", at - 20)))
    event(c, at, "Killing", "Stopping container main", "drained-0", name)
    objects(c, at + 30,
            pod("drained-0", name, "ml", phase="Failed", end=(at + 30, 143, "Error"),
                deleted=at + 30))
    c.noise("pod_evicted", at, "drained while memory was short", end=at + 30, node=name, ns="ml",
            pod="drained-0")


# ---- xid_correlation --------------------------------------------------------------------------


def xid_minutes_before_the_end(c):
    """The pod ends 4 min 50 s after the Xid; another one 5 min 10 s after, on a clock of India."""
    for name, after, fires in (("n21", 290, True), ("n22", 310, False)):
        at = 5000
        line = kernel_line(at + 5.5 * 3600, name,
                           f"NVRM: Xid (PCI:0000:{BUSES[3]}:00): 79, pid=771, name=python3, GPU "
                           "has fallen off the bus.")
        c.say(f"kernel/kern-{name}.log", at, line.replace("+00:00 ", "+05:30 "))
        end = (at + after, 1, "Error")
        objects(c, at + after, pod(f"solo-{name}", name, "ml", phase="Failed", end=end))
        c.fault("gpu_fault", at, "a GPU fell off the bus", disc="off_the_bus", node=name,
                pci=pci(3))
        c.edge(fires, "xid_correlation", at, f"the pod ends {after} s after the Xid",
               end=at + after, node=name, ns="ml", pod=f"solo-{name}", disc="hardware_xid")


def xid_on_a_fast_clock(c):
    """The node's clock is 2 s fast, the pod ends 3 s after the Xid; on another it is 2 s slow."""
    for name, clock in (("n23", 2), ("n24", -2)):
        at = 5600
        kernel(c, name, at, f"NVRM: Xid (PCI:0000:{BUSES[0]}:00): 119, pid=12, name=python3, "
               "Timeout after 6s of waiting for RPC response from GPU GSP! Expected function 76 "
               "(GSP_RM_CONTROL) (0x2080a0d1 0x4).",
               clock=clock)
        objects(c, at + 3,
                pod(f"quick-{name}", name, "ml", phase="Failed", end=(at + 3, 1, "Error")))
        c.fault("gpu_fault", at, "the GSP does not answer", disc="firmware", node=name, pci=pci(0))
        c.fault("xid_correlation", at, f"the clock of the node is {clock} s ahead", end=at + 3,
                disc="hardware_xid", node=name, pci=pci(0), ns="ml", pod=f"quick-{name}")


# ---- host_oom ---------------------------------------------------------------------------------


def killed_and_told_much_later(c):
    """The kubelet's word comes four minutes after the kernel's; and a burst of kills is one."""
    name = "n25"
    group = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
    for i, at in enumerate((6300, 6301, 6340, 6395)):
        slice_ = group + uid("pod", "ml", "wide-0").replace("-", "_") + ".slice"
        cgroups = f"oom_memcg={slice_},task_memcg={slice_}/cri-containerd-{'ab' * 32}.scope"
        task = f"task=pt_data_worker,pid={900 + i},uid=0"
        kernel(c, name, at, "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,"
               + f"mems_allowed=0-1,{cgroups},{task}", clock=-2)
        kernel(c, name, at, f"Memory cgroup out of memory: Killed process {900 + i} "
               "(pt_data_worker) total-vm:8388608kB, anon-rss:4194304kB, file-rss:0kB, "
               "shmem-rss:0kB, UID:0 pgtables:8192kB oom_score_adj:986", clock=-2)
    objects(c, 6640, pod("wide-0", name, "ml", phase="Failed", end=(6640, 137, "OOMKilled")))
    c.fault("host_oom", 6298, "four kills within two minutes", end=6395, disc="container_limit",
            ns="ml", pod="wide-0")


def killed_without_a_cgroup(c):
    """Only time ties the pod to the kill: 59 s do, 61 s do not."""
    for name, after, fires in (("n31", 59, True), ("n32", 61, False)):
        at = 6700
        kernel(c, name, at, "Out of memory: Killed process 5512 (python3) total-vm:998244352kB, "
               "anon-rss:964689920kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1887436kB "
               "oom_score_adj:1000")
        objects(c, at + after,
                pod(f"loose-{name}", name, "ml", phase="Failed",
                    end=(at + after, 137, "OOMKilled")))
        c.edge(fires, "host_oom", at, f"the pod ends {after} s after the kill", end=at + after,
               ns="ml", pod=f"loose-{name}", disc="node_memory", conf="partial")


STORIES = [
    slowed_for_31_and_29_seconds,
    slowed_at_one_sample_a_minute,
    hundred_corrected_errors,
    two_clocks_tell_of_one_error,
    first_line_of_all,
    last_line_of_all,
    fifty_corrected_errors,
    three_flaps,
    down_for_62_and_58_seconds,
    pressure_290_and_310_seconds_before,
    condition_that_is_told_late,
    drained_under_pressure,
    xid_minutes_before_the_end,
    xid_on_a_fast_clock,
    killed_and_told_much_later,
    killed_without_a_cgroup,
    thousand_crc_errors,
    narrow_for_31_and_29_seconds,
    storm_quiet_storm,
]
