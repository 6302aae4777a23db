# SPDX-License-Identifier: Apache-2.0
"""Networks, memory, evictions and storage, in the words of other kernels and collectors."""

from cluster import uid
from formats import (
    core_event,
    events_k8s_io,
    exposition,
    kernel,
    node,
    pod,
    quiet,
    yaml_list,
)

# ---- network_link_fault -----------------------------------------------------------------------


def node_exporter(c, name, values, every=15, until=1800):
    """values: (metric, type, labels, value at a time)"""
    for at in range(0, until, every):
        samples = [(metric, kind, labels, value(at)) for metric, kind, labels, value in values]
        c.say(f"scrapes/node_exporter-{name}.prom", at, exposition(samples, at))


def flaps_counted_by_node_exporter(c):
    """No line of the kernel was kept: only the port's own counters."""
    name = "dgx-f01"
    port = 'device="mlx5_0",port="1"'
    other = 'device="mlx5_1",port="1"'
    downed = "node_infiniband_link_downed_total"
    node_exporter(c, name, [
        (downed, "counter", port, lambda at: 7 + (at >= 600) + (at >= 750) + (at >= 930)),
        (downed, "counter", other, lambda at: 9 + (at >= 800)),
        ("node_infiniband_state_id", "gauge", port, lambda at: 4),
        ("node_infiniband_state_id", "gauge", other, lambda at: 4),
    ])
    c.fault("network_link_fault", 590, "an InfiniBand port goes down three times", end=930,
            disc="link_flap", node=name, device="mlx5_0")
    c.noise("network_link_fault", 790, "the other port goes down once", end=800, node=name,
            device="mlx5_1")


def port_stays_down(c):
    """The state of the port, and the bond's words of Linux 3.10."""
    name = "dgx-f02"
    quiet(c, name, "dmesgT")
    node_exporter(c, name, [
        ("node_network_up", "gauge", 'device="ens5f0"', lambda at: int(at < 1000)),
        ("node_network_up", "gauge", 'device="ens5f1"', lambda at: 1),
        ("node_network_up", "gauge", 'device="ens6f0"', lambda at: 0),
        ("node_network_carrier_changes_total", "counter", 'device="ens5f0"',
         lambda at: 4 + (at >= 1000)),
        ("node_network_carrier_changes_total", "counter", 'device="cali1a2b"', lambda at: at // 15),
    ])
    kernel(c, name, "dmesgT", 988,
           "bonding: bond0: link status definitely down for interface ens5f0, disabling it")
    c.fault("network_link_fault", 988, "a port of the bond is down and stays down", end=1800,
            disc="link_down", node=name, device="ens5f0")
    c.noise("network_link_fault", 0, "a port that is not used, and a pod's interface", end=1800,
            node=name)


def loss_on_the_way_in(c):
    name = "dgx-f03"
    node_exporter(c, name, [
        ("node_network_receive_packets_total", "counter", 'device="ens7"',
         lambda at: 10**9 + at * 9000),
        ("node_network_receive_drop_total", "counter", 'device="ens7"',
         lambda at: 12 + max(0, min(at, 900) - 600) * 400),
        ("node_network_receive_errs_total", "counter", 'device="ens7"', lambda at: 0),
        ("node_network_receive_packets_total", "counter", 'device="ens8"',
         lambda at: 10**8 + at * 9000),
        ("node_network_receive_drop_total", "counter", 'device="ens8"', lambda at: at * 40),
    ])
    c.fault("network_link_fault", 600, "four of a hundred packets are dropped for minutes", end=900,
            disc="packet_loss", node=name, device="ens7")
    c.noise("network_link_fault", 0, "four of a thousand, all the time", end=1800, node=name,
            device="ens8")


def cable_of_a_card(c):
    """The driver of 2018, without an address."""
    name = "dgx-f04"
    quiet(c, name, "syslog")
    kernel(c, name, "syslog", 1210,
           "mlx5_core 0000:5e:00.0: Port module event[error]: module 0, Cable error, Bus stuck "
           "(I2C or data shorted)")
    c.fault("network_link_fault", 1210, "the card cannot read its cable", disc="cable_fault",
            node=name, pci="0000:5e:00.0")


def one_flap_each(c):
    """A switch was restarted: every port of the node went down once, together."""
    name = "dgx-f05"
    quiet(c, name, "shortiso")
    for i in range(4):
        card = f"bnxt_en 0000:{0x98 + i:02x}:00.0 ens{i}f0np0: NIC Link is "
        kernel(c, name, "shortiso", 2000 + i, card + "Down")
        kernel(c, name, "shortiso", 2030 + i, card + "Up, 100000 Mbps (PAM4 56Gb) full duplex, "
               "Flow control: none")
    c.noise("network_link_fault", 2000, "all ports of a node, once", end=2034, node=name)


# ---- host_oom ---------------------------------------------------------------------------------


def old_kill(pid, comm, task, limit, rss):
    """Linux 3.10: the cgroup stands a page above the kill."""
    return [
        f"{comm} invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=999",
        f"{comm} cpuset={task.rsplit('/', 1)[1]} mems_allowed=0-1",
        f"CPU: 11 PID: {pid} Comm: {comm} Tainted: P           OE  ------------   "
        "3.10.0-957.el7.x86_64 #1",
        f"Task in {task} killed as a result of limit of {limit}",
        "memory: usage 67108864kB, limit 67108864kB, failcnt 1193",
        "memory+swap: usage 67108864kB, limit 9007199254740988kB, failcnt 0",
        "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name",
        f"[{pid}]     0 {pid} 17825792 {rss // 4}   33012        0           999 {comm}",
        f"Memory cgroup out of memory: Kill process {pid} ({comm}) score 1970 or sacrifice child",
        f"Killed process {pid} ({comm}) total-vm:71303168kB, anon-rss:{rss}kB, file-rss:11264kB, "
        "shmem-rss:2048kB",
    ]


def killed_by_linux_3_10(c):
    name = "dgx-g01"
    quiet(c, name, "syslog")
    group = f"/kubepods/burstable/pod{uid('pod', 'research', 'tok-0')}"
    container = group + "/" + "9c" * 32
    kernel(c, name, "syslog", 640, *old_kill(20311, "python", container, group, 66588672))
    c.has("kubectl/pods.json", pod("tok-0", name, phase="Failed", end=(641, 137, "OOMKilled")))
    c.fault("host_oom", 640, "a pod at its limit, on CentOS 7", disc="container_limit",
            ns="research", pod="tok-0")


def killed_by_linux_4_19(c):
    """cgroup v1 of systemd: underscores in the uid, Docker's scope."""
    name = "dgx-g02"
    quiet(c, name, "dmesgT")
    slice_ = (
        "/kubepods.slice/kubepods-pod" + uid("pod", "research",
                                             "prep-7").replace("-", "_") + ".slice"
    )
    scope = slice_ + "/docker-" + "5e" * 32 + ".scope"
    kernel(c, name, "dmesgT", 740,
           f"Task in {scope} killed as a result of limit of {scope}",
           "memory: usage 33554432kB, limit 33554432kB, failcnt 61",
           "Memory cgroup out of memory: Kill process 881 (pt_main_thread) score 1502 or sacrifice "
           "child",
           "Killed process 881 (pt_main_thread) total-vm:41943040kB, anon-rss:33292288kB, "
           "file-rss:0kB, shmem-rss:4kB",
           "oom_reaper: reaped process 881 (pt_main_thread), now anon-rss:0kB, file-rss:0kB, "
           "shmem-rss:4kB")
    c.has("kubectl/pods.json", pod("prep-7", name, phase="Failed", end=(741, 137, "OOMKilled")))
    c.fault("host_oom", 740, "a container at its limit, on Linux 4.19", disc="container_limit",
            ns="research", pod="prep-7")


def node_runs_out(c):
    """The whole node: no cgroup in the lines, the pod's own end ties them."""
    name = "dgx-g03"
    quiet(c, name, "export")
    kernel(c, name, "export", 840,
           "python3 invoked oom-killer: gfp_mask=0x6200ca(GFP_HIGHUSER_MOVABLE), order=0, "
           "oom_score_adj=1000",
           "Out of memory: Kill process 30417 (python3) score 1893 or sacrifice child",
           "Killed process 30417 (python3) total-vm:2097152000kB, anon-rss:1992294400kB, "
           "file-rss:0kB, shmem-rss:0kB")
    c.has("kubectl/pods.json", pod("sweep-4", name, phase="Failed", end=(842, 137, "OOMKilled")))
    c.fault("host_oom", 840, "the node has no memory left; a pod's process is killed", end=842,
            disc="node_memory", ns="research", pod="sweep-4")


def others_are_killed(c):
    """A service, a shell and a container of plain Docker."""
    name = "dgx-g04"
    quiet(c, name, "syslog")
    killed = {
        "/system.slice/node-agent.service": (700, 801, "node-agent"),
        "/user.slice/user-1000.slice": (1900, 802, "ffmpeg"),
        "/docker/" + "1b" * 32: (3100, 803, "java"),
    }
    for group, (at, pid, comm) in killed.items():
        kernel(c, name, "syslog", at, *old_kill(pid, comm, group, group, 2097152))
        c.noise("host_oom", at, f"{comm} is no pod's", node=name)
    c.has("kubectl/pods.json", pod("calm-0", name))


# ---- pod_evicted ------------------------------------------------------------------------------


def evicted_for_memory_before_1_12(c):
    """The node's condition is in kubectl's YAML; there is no event, only the pod's status."""
    name = "dgx-h01"
    gone = pod("etl-0", name, phase="Failed", reason="Evicted",
               message="The node was low on resource: memory. ", end=(1265, 137, "Error"))
    c.write("kubectl/etl.yaml",
            yaml_list(gone,
                      node(name, ("MemoryPressure", "True", "KubeletHasInsufficientMemory", 1100))))
    c.fault("pod_evicted", 1265, "the node is short of memory", disc="memory_pressure",
            ns="research", pod="etl-0")


def evicted_for_condition(c):
    """events.k8s.io, and a note that names a condition."""
    name = "dgx-h02"
    c.has("kubectl/events.json",
          events_k8s_io(1400, "Evicted", "The node had condition: [DiskPressure]. ", "cache-2",
                        name, "research"),
          core_event(1310, "NodeHasDiskPressure", f"Node {name} status is now: NodeHasDiskPressure",
                     name, name))
    c.fault("pod_evicted", 1400, "the node's disk is full", disc="disk_pressure", ns="research",
            pod="cache-2", node=name)


def evicted_for_its_own_limits(c):
    """Three wordings of a limit that the pod set itself."""
    name = "dgx-h03"
    notes = [
        'Container main exceeded its local ephemeral storage limit "10Gi". ',
        'Usage of EmptyDir volume "scratch" exceeds the limit "20Gi". ',
        'Pod ephemeral local storage usage exceeds the total limit of containers 8Gi. ',
    ]
    for i, note in enumerate(notes):
        at = 600 + 900 * i
        c.has("kubectl/events.json",
              events_k8s_io(at, "Evicted", note, f"fill-{i}", name, "research"))
        c.fault("pod_evicted", at, "the pod is over a limit of its own", disc="pod_limit",
                ns="research", pod=f"fill-{i}")


def evicted_as_planned(c):
    """Drained, preempted, tainted, and by a descheduler."""
    name = "dgx-h04"
    planned = [
        ("Evicted", 'pod evicted from dgx-h04 node by sigs.k8s.io/descheduler', "descheduler"),
        ("Preempted", f"Preempted by research/urgent-0 on node {name}", "default-scheduler"),
        ("TaintManagerEviction", "Marking for deletion Pod research/plan-2",
         "taint-eviction-controller"),
    ]
    for i, (reason, note, component) in enumerate(planned):
        at = 1000 + 700 * i
        c.has("kubectl/events.json",
              events_k8s_io(at, reason, note, f"plan-{i}", name, "research", component=component))
        c.has("kubectl/pods.json",
              pod(f"plan-{i}", name, phase="Failed", end=(at + 20, 143, "Error"), deleted=at + 30))
        c.noise("pod_evicted", at, "ended as planned", node=name, ns="research", pod=f"plan-{i}")


STORIES = [
    flaps_counted_by_node_exporter,
    port_stays_down,
    loss_on_the_way_in,
    cable_of_a_card,
    one_flap_each,
    killed_by_linux_3_10,
    killed_by_linux_4_19,
    node_runs_out,
    others_are_killed,
    evicted_for_memory_before_1_12,
    evicted_for_condition,
    evicted_for_its_own_limits,
    evicted_as_planned,
]
