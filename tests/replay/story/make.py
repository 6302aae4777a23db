#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the stories; --check compares only.

The chain: the memory of rank 5's GPU on gpu-07 fails (its exporter counts an uncorrectable error),
the driver logs Xid 48, the rank stops in the middle of an all_reduce, and two minutes later its pod
is evicted. Four files from machines whose clocks differ by up to 2 s.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "nccl_hang"))

import making  # noqa: E402
from fr import Job  # noqa: E402
from making import MORNING, event, k8s_list, lines, main, pod, uid, when  # noqa: E402

NODES = ("gpu-06", "gpu-07")
BUSES = ("1b:00", "43:00", "52:00", "b3:00")
BROKEN = 5
FAILED = 41  # seconds into the morning, by the clock of the cluster
MAP_ARGS = "--map=map.csv\n"


def node(rank):
    return NODES[rank // 4]


def gpu(rank):
    return "GPU-" + uid("gpu", node(rank), BUSES[rank % 4])


def worker(rank):
    return f"llama-worker-{rank}"


def dumps(broken=BROKEN, at=FAILED):
    """Eight ranks in one group; one is stuck in an all_reduce that the others have completed."""
    job = Job(8)
    job.history("0", "all_reduce", 1, 9, at=at - 10)
    healthy = [rank for rank in range(8) if rank != broken]
    job.issue("0", "all_reduce", 10, at, healthy)
    job.issue("0", "all_reduce", 10, at, [broken], "started")
    job.issue("0", "all_reduce", 11, at + 1, healthy, "started")
    job.issue("0", "all_reduce", 11, at + 1, [broken], "scheduled")
    return job.json_files("input/llama")


def scrapes(skew=2, rank=BROKEN, failed=FAILED, pods=True):
    """dcgm-exporter on gpu-07, every 15 s, with the samples' own times."""
    start = int(MORNING.timestamp())
    text = "# HELP DCGM_FI_DEV_ECC_DBE_VOL_TOTAL Total number of double-bit volatile ECC errors.\n"
    text += "# TYPE DCGM_FI_DEV_ECC_DBE_VOL_TOTAL counter\n"
    for at in range(0, 180, 15):
        for i in range(4, 8):
            labels = (
                f'gpu="{i - 4}",UUID="{gpu(i)}",pci_bus_id="00000000:{BUSES[i % 4].upper()}.0",'
                f'device="nvidia{i - 4}",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-07"'
            )
            if pods:
                labels += f',container="trainer",namespace="train",pod="{worker(i)}"'
            value = 1 if i == rank and at >= failed else 0
            time = (start + at + skew) * 1000
            text += f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{labels}}} {value} {time}\n"
    return text


def logged(seconds, text):
    """A line as `dmesg --time-format iso` prints it."""
    return f"{when(seconds)[:-1]},{(seconds * 7919 + 104729) % 1000000:06d}+00:00 {text}\n"


def boot_log():
    """What the driver says of its GPUs when gpu-07 starts."""
    text = logged(-93580, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07")
    for i in range(4, 8):
        text += logged(-93570, f"NVRM: GPU at PCI:0000:{BUSES[i % 4]}: {gpu(i)}")
    return text


def kernel_log(skew=-2, rank=BROKEN, at=FAILED):
    return boot_log() + logged(
        at + skew,
        f"NVRM: Xid (PCI:0000:{BUSES[rank % 4]}): 48, pid=48211, name=python3, An uncorrectable "
        "double bit error (DBE) has been detected on GPU in the framebuffer at physical address "
        "0x1a2b3c00 partition 3, subpartition 1.",
    )


def evicted(rank=BROKEN, at=FAILED + 121, message="The node had condition: [GPUUnhealthy]. "):
    return event(worker(rank), "Evicted", message, at, node(rank))


def events():
    return k8s_list(evicted())


def rank_map():
    rows = ["rank,node,gpu_uuid,pod,namespace"]
    rows += [f"{rank},{node(rank)},{gpu(rank)},{worker(rank)},train" for rank in range(8)]
    return "\n".join(rows) + "\n"


def chain(*without):
    files = dict(dumps())
    files["input/metrics.prom"] = scrapes()
    files["input/dmesg-gpu-07.txt"] = kernel_log()
    files["input/events.json"] = events()
    files["map.csv"] = rank_map()
    files["args"] = MAP_ARGS
    return {path: files[path] for path in files if not path.startswith(tuple(without) or "-")}


def fires_chain_of_four_files():
    """HBM error, Xid 48, hang on that rank, evicted pod; four files, clocks up to 2 s apart. One
    story, and the ECC error is its root."""
    return chain()


def crash_log(at=FAILED + 2, rank=BROKEN):
    """The log of the launcher, in which the rank says why it ended."""
    stack = (
        "Traceback (most recent call last):\n"
        '  File "/workspace/train.py", line 214, in main\n'
        "    loss.backward()\n"
        "RuntimeError: CUDA error: unspecified launch failure\n"
    )
    text = "".join(f"{when(at)} stderr F [rank{rank}]: {line}\n" for line in stack.splitlines())
    return text + (
        f"{when(at + 3)} stderr F Root Cause (first observed failure):\n"
        f"{when(at + 3)} stderr F [0]:\n"
        f"{when(at + 3)} stderr F   rank      : {rank} (local_rank: {rank % 4})\n"
        f"{when(at + 3)} stderr F   exitcode  : 1 (pid: 48211)\n"
    )


def missing_dumps(broken=BROKEN, at=FAILED):
    """Seven ranks wait in an all_reduce that the other one never reached."""
    job = Job(8)
    job.history("0", "all_reduce", 1, 9, at=at - 10)
    job.issue("0", "all_reduce", 10, at, [r for r in range(8) if r != broken], "started")
    return job.json_files("input/llama")


def fires_ecc_error_crashes_a_rank_that_others_wait_for():
    """An ECC error ends rank 5; the others wait for it in an all_reduce. One story: the error, the
    crash that it caused, and the hang that the crash caused."""
    return {
        **missing_dumps(),
        "input/dmesg-gpu-07.txt": kernel_log(),
        "input/torchrun.log": crash_log(),
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def degrades_chain_without_metrics():
    """Without the exporter Xid 48 alone tells of the ECC error."""
    return chain("input/metrics")


def degrades_chain_without_kernel_log():
    """Without the kernel log the exporter's counter tells of the ECC error; no Xid, so no
    xid_correlation."""
    return chain("input/dmesg")


def degrades_chain_without_dumps():
    """Without dumps nobody knows of the hang: ECC error, Xid and evicted pod remain."""
    return chain("input/llama")


def degrades_chain_without_events():
    """Without events nobody knows of the eviction: ECC error and hang remain."""
    return chain("input/events")


def stays_quiet_other_gpu_of_the_node():
    """The ECC error is on the GPU of rank 6, the hang on rank 5 of the same node: two stories."""
    return {
        **dumps(),
        "input/dmesg-gpu-07.txt": kernel_log(rank=6),
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def stays_quiet_without_a_place():
    """ECC error and hang at the same time, but nothing says where rank 5 ran: coincidence."""
    return {**dumps(), "input/dmesg-gpu-07.txt": kernel_log()}


def stays_quiet_when_the_error_comes_later():
    """The GPU fails ten minutes after the rank had stopped: that did not stop it."""
    return {
        **dumps(),
        "input/dmesg-gpu-07.txt": kernel_log(at=FAILED + 600),
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def fires_on_a_switch_of_the_node():
    """An NVSwitch of gpu-07 reports a fatal error, and everybody stands in the same all_reduce. The
    map names the GPUs of the ranks, and the switch is none of them: it serves the whole node."""
    job = Job(8)
    job.history("0", "all_reduce", 1, 9, at=FAILED - 10)
    job.issue("0", "all_reduce", 10, FAILED, state="started")
    text = "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    return {
        **job.json_files("input/llama"),
        "input/dmesg-gpu-07.txt": f"{when(FAILED - 2)[:-1]},104729+00:00 {text}\n",
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def fires_by_directory_names():
    """No map: a directory of dumps a node, and the exporter's labels, say where rank 5 ran."""
    files = {}
    for path, text in dumps().items():
        name = path.rsplit("/", 1)[1]
        rank = int(name.split("_")[-1].split(".")[0])
        files[f"input/llama/{node(rank)}/{name}"] = text
    files["input/dmesg-gpu-07.txt"] = kernel_log()
    return files


# ---- other causes, other effects -------------------------------------------------------------


def placed(**files):
    """Files of input/, and the map."""
    named = {"dmesg": "dmesg-gpu-07.txt", "steps": "steps.ndjson", "metrics": "metrics.ndjson"}
    named |= {"training": "training.ndjson", "pods": "pods.json", "events": "events.json"}
    return {f"input/{named[name]}": text for name, text in files.items()} | {
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def at_rank(kind, at, rank, **more):
    return {"kind": kind, "time": when(at), "job.id": "llama", "rank": rank, **more}


def slow_steps(slow=BROKEN):
    """Forty steps of a second, and one rank that needs 1.4: from step times alone a slow host."""
    out = [
        at_rank("train_step", 60 + 2 * i, rank, step=500 + i, duration=1.4 if rank == slow else 1.0)
        for i in range(40)
        for rank in range(8)
    ]
    return lines(*out)


def hot(ranks, first=0, last=150, **more):
    """The exporter's view of GPUs that are slowed for heat."""
    out = []
    for at in range(first, last, 15):
        for rank in ranks:
            where = {"kind": "metric", "time": when(at), "k8s.node.name": node(rank)}
            where |= {"gpu.uuid": gpu(rank), **more}
            out.append(where | {"metric": "gpu_throttle_reasons", "value": 0x48})
            out.append(where | {"metric": "gpu_temperature", "value": 92})
    return lines(*out)


def fires_heat_slows_a_rank():
    """The GPU of rank 5 is slowed for heat, and rank 5 is slow: slow_gpu, and heat is the root."""
    return placed(steps=slow_steps(), metrics=hot([BROKEN]))


def fires_heat_of_a_node_slows_a_rank():
    """Four GPUs of gpu-07 at once: the verdict is the node's and lists its GPUs. Rank 5 is on one."""
    return placed(steps=slow_steps(), metrics=hot(range(4, 8)))


def fires_heat_of_a_rack_slows_a_rank():
    """GPUs of two nodes of a rack: the verdict names no node but in its lists."""
    return placed(steps=slow_steps(), metrics=hot([1, 2, 4, 5], rack="r12"))


def stays_quiet_other_gpus_of_the_rack():
    """The rack's heat slows GPUs of ranks 4 and 1; the slow rank is 5, on a GPU that is not listed."""
    return placed(steps=slow_steps(), metrics=hot([0, 1, 4, 6], rack="r12"))


def fires_pcie_error_hangs_a_rank():
    """A fatal PCIe error of rank 5's GPU, then the hang."""
    slot = f"0000:{BUSES[BROKEN % 4]}.0"
    log = boot_log()
    for text in (
        f"pcieport 0000:40:01.0: AER: Uncorrected (Fatal) error received: {slot}",
        f"nvidia {slot}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
        "(Receiver ID)",
        f"nvidia {slot}:   device [10de:2330] error status/mask=00000020/00000000",
        f"nvidia {slot}:    [ 5] SDES                   (First)",
    ):
        log += logged(FAILED - 3, text)
    return placed(dmesg=log) | dumps()


def port_error(at, port="0000:40:01.0"):
    """The port above a GPU says that the link went down by surprise."""
    return "".join(logged(at, text) for text in (
        f"pcieport {port}: AER: Uncorrected (Fatal) error received: {port}",
        f"pcieport {port}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
        "(Receiver ID)",
        f"pcieport {port}:   device [8086:352a] error status/mask=00000020/00000000",
        f"pcieport {port}:    [ 5] SDES                   (First)",
    ))


def fallen(at):
    slot = BUSES[BROKEN % 4]
    return logged(at, f"NVRM: Xid (PCI:0000:{slot}): 79, pid=9, name=python3, GPU has fallen off the bus.")


def fires_surprise_removal_hangs_a_rank():
    """The port of rank 5's GPU reports a surprise, the GPU is off the bus, the rank hangs: one story."""
    return placed(dmesg=boot_log() + port_error(FAILED - 4) + fallen(FAILED - 3)) | dumps()


def stays_quiet_port_error_minutes_before():
    """A port reported an error ten minutes before the GPU fell off the bus: nothing joins them."""
    return placed(dmesg=boot_log() + port_error(FAILED - 600) + fallen(FAILED - 3)) | dumps()


def fires_switch_fault_hangs_a_rank():
    """An NVSwitch of gpu-07 reports a fatal link error: it is no GPU of anybody, but of that node."""
    text = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    return placed(dmesg=boot_log() + logged(FAILED - 3, text)) | dumps()


def switch_fault(*xids):
    """A fatal error of an NVSwitch of gpu-07, what its GPUs log of it, and a pod there that fails."""
    text = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    log = logged(FAILED - 3, text)
    for rank, code, what in xids:
        log += logged(FAILED - 2, f"NVRM: Xid (PCI:0000:{BUSES[rank % 4]}): {code}, {what}")
    failed = [("trainer", 1, "Error", FAILED + 4)]
    return {
        "input/dmesg-gpu-07.txt": boot_log() + log,
        "input/pods.json": k8s_list(pod(worker(BROKEN), "gpu-07", "Failed", failed)),
    }


LINK_LOST = "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 7(0x10000, 0x0)"


def fires_switch_fault_ends_a_pod():
    """The switch fails, two GPUs lose links with it, and a pod of the node fails: the switch is the
    root, and the Xid that the pod failed after follows from it."""
    return switch_fault((BROKEN, 74, LINK_LOST), (BROKEN + 1, 74, LINK_LOST)) | {
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def stays_quiet_memory_error_beside_a_switch():
    """A memory error of a GPU has nothing to do with the switch that failed then: two roots."""
    return switch_fault((BROKEN, 48, "pid=48211, name=python3, DBE (double bit error)"))


def fires_clock_ahead_of_the_pods():
    """The clock of gpu-07 is a minute ahead of Kubernetes, and nothing can correct it: the pod seems
    to have failed before the GPU fell off the bus. It is that GPU, and one root."""
    failed = [("trainer", 1, "Error", FAILED - 60)]
    return {
        "input/dmesg-gpu-07.txt": boot_log() + fallen(FAILED),
        "input/pods.json": k8s_list(pod(worker(BROKEN), "gpu-07", "Failed", failed)),
        "map.csv": rank_map(),
        "args": MAP_ARGS + "--set=xid_correlation.slack=120s\n",
    }


def oom_log(at, rank=BROKEN):
    slice_ = f"kubepods-burstable-pod{uid('pod', worker(rank)).replace('-', '_')}.slice"
    group = f"/kubepods.slice/kubepods-burstable.slice/{slice_}"
    return logged(
        at,
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1,"
        f"oom_memcg={group},task_memcg={group}/cri-containerd-{'5f' * 32}.scope,"
        "task=pt_data_worker,pid=4711,uid=0",
    ) + logged(
        at,
        "Memory cgroup out of memory: Killed process 4711 (pt_data_worker) total-vm:97617567kB, "
        "anon-rss:97517568kB, file-rss:1216kB, shmem-rss:0kB, UID:0 pgtables:192kB "
        "oom_score_adj:986",
    )


def fires_oom_starves_a_rank():
    """The kernel kills a data loader worker of rank 5, its loader stalls, and the others wait in an
    all_reduce. Three patterns, one story; the memory is its root."""
    pod_5 = {"k8s.namespace.name": "train", "k8s.pod.name": worker(BROKEN)}
    killed = "DataLoader worker (pid 4711) is killed by signal: Killed."
    training = lines(
        at_rank("dataloader_error", 32, BROKEN, error_class="worker_killed", message=killed, **pod_5),
        at_rank("train_stall", 155, BROKEN, step=812, duration=130, phase="train", **pod_5),
    )
    job = Job(8)
    job.history("0", "all_reduce", 1, 9, at=FAILED - 10)
    job.issue("0", "all_reduce", 10, FAILED, [r for r in range(8) if r != BROKEN], "started")
    running = pod(worker(BROKEN), node(BROKEN), "Running", addresses=("10.244.7.15", "10.0.0.7"))
    files = placed(dmesg=boot_log() + oom_log(30), training=training,
                   pods=k8s_list(running))
    return files | job.json_files("input/llama")


def fires_link_stalls_a_checkpoint():
    """The port of gpu-07 flaps, its NFS server is not to be reached, and the checkpoint that rank 5
    writes does not end."""
    log = ""
    for at in (10, 70, 130):
        log += logged(at, "mlx5_core 0000:5c:00.0 ens1f0np0: Link down")
        log += logged(at + 20, "mlx5_core 0000:5c:00.0 ens1f0np0: Link up")
    log += logged(150, "nfs: server 10.1.2.3 not responding, still trying")
    begun = at_rank("checkpoint", 60, BROKEN, state="begin", step=900, path="/nfs/ckpt")
    training = [begun | {"k8s.node.name": node(BROKEN)}]
    # Time goes on: another job's steps.
    training += [at_rank("train_step", 700, 0, step=1) | {"job.id": "another"}]
    return placed(dmesg=log, training=lines(*training))


def hung_without(rank):
    """The others wait in an all_reduce that this rank never joined."""
    job = Job(8)
    job.history("0", "all_reduce", 1, 9, at=FAILED - 10)
    job.issue("0", "all_reduce", 10, FAILED, [r for r in range(8) if r != rank], "started")
    return job.json_files("input/llama")


LOW_ON_MEMORY = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 51200Ki. "


def fires_eviction_hangs_the_others():
    """The pod of rank 5 is evicted, and the others wait for it: the eviction is the cause."""
    files = placed(events=k8s_list(evicted(at=FAILED - 4, message=LOW_ON_MEMORY)))
    return files | hung_without(BROKEN)


def fires_hang_ends_in_an_eviction():
    """The pod is evicted twenty minutes into the hang: that is what followed from it."""
    files = placed(events=k8s_list(evicted(at=FAILED + 1200, message=LOW_ON_MEMORY)))
    return files | hung_without(BROKEN)


def fires_two_stories_at_once():
    """On gpu-07 the chain of the ECC error; on gpu-31, in the same minute, another one of another
    job. Two stories, and no link between them."""
    log = logged(
        FAILED,
        "NVRM: Xid (PCI:0000:1b:00): 79, pid=9, name=python3, GPU has fallen off the bus.",
    )
    failed = pod("bert-worker-0", "gpu-31", "Failed", [("trainer", 134, "Error", FAILED + 30)])
    files = chain("args")
    files["input/dmesg-gpu-31.txt"] = log
    files["input/pods.json"] = k8s_list(failed)
    files["input/more-events.json"] = k8s_list(
        event("bert-worker-0", "Evicted", "The node had condition: [GPUUnhealthy]. ", FAILED + 60,
              "gpu-31")
    )
    files["args"] = MAP_ARGS
    return files


def stays_quiet_same_name_in_another_namespace():
    """The evicted pod has the name of rank 5's, on the same node, in another namespace."""
    other = evicted(at=FAILED - 4, message=LOW_ON_MEMORY)
    other["involvedObject"] |= {"namespace": "team-b", "uid": uid("pod", "team-b", worker(BROKEN))}
    return placed(events=k8s_list(other)) | hung_without(BROKEN)


def stays_quiet_pod_made_anew():
    """A pod is evicted and made anew under its name; half an hour later the new one's rank hangs.
    By name they are one, by uid they are not."""
    old = evicted(at=FAILED - 1800, message=LOW_ON_MEMORY)
    old["involvedObject"]["uid"] = uid("pod", "old", worker(BROKEN))
    pods = []
    for rank in range(8):
        pods.append(pod(worker(rank), node(rank), "Running", env={"RANK": str(rank)}))
        pods[-1]["status"]["startTime"] = when(FAILED - 1700)
    files = {"input/events.json": k8s_list(old), "input/pods.json": k8s_list(*pods)}
    return files | hung_without(BROKEN)


# ---- hosts by their address --------------------------------------------------------------------


def monitor(host):
    """NCCL's monitor: rank 5 has issued one all_reduce less than the others, in both snapshots."""
    text = ""
    for at in (FAILED, FAILED + 400):
        ranks = [
            {
                "rank": rank,
                "host": host(rank),
                "pid": 15000 + rank,
                "cuda_dev": rank % 4,
                "nvml_dev": rank % 4,
                "status": {"init_state": 0, "async_error": 0, "abort_flag": False},
                "collective_counts": {"AllReduce": 100 if rank == BROKEN else 101},
            }
            for rank in range(8)
        ]
        comm = {"hash": "0xae94423cfbb2ef4a", "size": 8, "ranks_count": 8, "missing_ranks_count": 0}
        comm |= {"ranks": ranks, "missing_ranks": []}
        snapshot = {"nccl_version": "2.29.1", "timestamp": when(at)[:-1].replace("T", " ")}
        text += json.dumps(snapshot | {"communicators_count": 1, "communicators": [comm]}) + "\n"
    return text


def node_ip(rank):
    return f"10.0.0.{6 + rank // 4}"


def pod_ip(rank):
    return f"10.244.{6 + rank // 4}.{15 + rank}"


def the_pods(ips=pod_ip):
    return [
        pod(worker(rank), node(rank), "Running", addresses=(ips(rank), node_ip(rank)))
        for rank in range(8)
    ]


def fires_by_addresses_of_nodes():
    """NCCL's monitor knows hosts by IP; the nodes' objects say which these are. The GPU that fails
    is the one with rank 5's index on its node."""
    nodes = [making.node(name, ("Ready", "True", "KubeletReady", -9000)) for name in NODES]
    for i, item in enumerate(nodes):
        item["status"]["addresses"] = [
            {"type": "InternalIP", "address": node_ip(4 * i)},
            {"type": "Hostname", "address": NODES[i]},
        ]
    return {
        "input/ras.json": monitor(node_ip),
        "input/nodes.json": k8s_list(*nodes),
        "input/metrics.prom": scrapes(),
    }


def fires_by_addresses_of_pods():
    """The hosts are pods with addresses of their own; the exporter says which GPU each pod uses."""
    return {
        "input/ras.json": monitor(pod_ip),
        "input/pods.json": k8s_list(*the_pods()),
        "input/metrics.prom": scrapes(),
    }


def fires_by_map_over_addresses():
    """Nobody says whose address it is, but --map says where rank 5 runs."""
    return {
        "input/ras.json": monitor(node_ip),
        "input/metrics.prom": scrapes(),
        "map.csv": rank_map(),
        "args": MAP_ARGS,
    }


def stays_quiet_unknown_addresses():
    """Nobody says whose address it is."""
    return {"input/ras.json": monitor(node_ip), "input/metrics.prom": scrapes()}


def stays_quiet_address_used_twice():
    """Two pods on two nodes had the address in turn: it names neither."""
    before = pod("bert-0", "gpu-06", "Running", addresses=(pod_ip(BROKEN), node_ip(0)))
    return {
        "input/ras.json": monitor(pod_ip),
        "input/pods.json": k8s_list(before, *the_pods()),
        "input/metrics.prom": scrapes(),
    }


# ---- a port has two names ----------------------------------------------------------------------

NIC = "0000:5c:00.0"


def nic_error():
    log = boot_log()
    for text in (
        f"pcieport 0000:40:01.0: AER: Uncorrected (Fatal) error received: {NIC}",
        f"mlx5_core {NIC}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
        "(Receiver ID)",
        f"mlx5_core {NIC}:   device [15b3:1021] error status/mask=00040000/00000000",
        f"mlx5_core {NIC}:    [18] MalfTLP                (First)",
    ):
        log += logged(20, text)
    return log


def port_state():
    """node_exporter: the RDMA device is active, then down."""
    text = ""
    for at in range(0, 300, 15):
        time = (int(MORNING.timestamp()) + at) * 1000
        text += 'node_infiniband_state_id{device="mlx5_0",port="1",node="gpu-07"} '
        text += f"{4 if at < 30 else 1} {time}\n"
    return text


def fires_nic_error_downs_its_rdma_port():
    """The kernel names mlx5_0 with the PCI address of the failed card: one port, and its cause."""
    log = nic_error()
    log += logged(22, f"mlx5_core {NIC} mlx5_0: Port: 1 Link DOWN")
    log += logged(23, f"mlx5_core {NIC} ens1f0np0: Link down")
    return {"input/dmesg-gpu-07.txt": log, "input/node.prom": port_state()}


def stays_quiet_rdma_port_of_an_unknown_card():
    """Nothing says that mlx5_0 is a port of the card that failed: two stories."""
    return {"input/dmesg-gpu-07.txt": nic_error(), "input/node.prom": port_state()}


# ---- what fails again and again ----------------------------------------------------------------

HOUR = 3600
CONTAINED = {"code": 94, "text": "Contained: CE User Channel (0x9)."}
LINK = {"code": 74, "text": "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, "
                            "0x0, 0x0)"}


def failing(at, bus="b3:00", board=None, code=79, text="GPU has fallen off the bus."):
    """The kernel log of gpu-07: a GPU fails, and names itself before."""
    board = "GPU-" + uid("gpu", "gpu-07", board or bus)
    return (logged(at - 60, f"NVRM: GPU at PCI:0000:{bus}: {board}") +
            logged(at, f"NVRM: Xid (PCI:0000:{bus}): {code}, pid=4711, name=python, {text}"))


def fires_third_failure_in_a_week():
    """One GPU, three failures of three patterns, hours of quiet in between: the last says that the
    board is to be returned, and cites the others."""
    log = failing(0, **CONTAINED) + failing(2 * HOUR, **LINK) + failing(4 * HOUR)
    return {"input/dmesg-gpu-07.txt": log}


def fires_third_failure_of_a_node():
    """Three GPUs of one node fail: the node is to be examined as a whole."""
    log = failing(0, bus="1b:00") + failing(2 * HOUR, bus="43:00") + failing(4 * HOUR, bus="52:00")
    return {"input/dmesg-gpu-07.txt": log}


def fires_new_board_in_a_failing_node():
    """The third is of another board at the same address. Two of the first are not enough, and the
    node has had three: that is what is said."""
    log = failing(0, board="old", **CONTAINED) + failing(2 * HOUR, board="old")
    return {"input/dmesg-gpu-07.txt": log + failing(4 * HOUR, board="new")}


def stays_quiet_third_failure_too_soon():
    """The third comes half an hour after the second, which nobody ended: two failures."""
    log = failing(0, **CONTAINED) + failing(2 * HOUR, **LINK) + failing(2 * HOUR + 1800)
    return {"input/dmesg-gpu-07.txt": log}


def stays_quiet_storm_of_one_gpu():
    """Three patterns tell of one GPU within minutes: one failure."""
    log = failing(0, **CONTAINED) + failing(120, **LINK) + failing(240)
    return {"input/dmesg-gpu-07.txt": log}


PREFIXES = ("fires_", "degrades_", "stays_quiet_")
CASES = [made for name, made in list(globals().items()) if name.startswith(PREFIXES)]

if __name__ == "__main__":
    main(__file__, CASES)
