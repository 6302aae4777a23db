#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the host_oom cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import event, k8s_list, lines, main, pod, uid, when  # noqa: E402

POD = "pretrain-worker-3"
CONTAINER = "5f" * 32


def log(*entries):
    """The kernel log of gpu-07, as `dmesg --time-format iso` prints it."""
    text = "".join(f"{when(at)[:-1]},{micros:06}+00:00 {line}\n" for at, micros, line in entries)
    return {"input/dmesg-gpu-07.txt": text}


def group(name=POD):
    slice_ = f"kubepods-burstable-pod{uid('pod', name).replace('-', '_')}.slice"
    return f"/kubepods.slice/kubepods-burstable.slice/{slice_}"


def oom(at, pid=461754, name="python", constraint="MEMCG", limit=None, cgroup=None, micros=287197):
    """The line with the cgroup."""
    path = cgroup or f"{group()}/cri-containerd-{CONTAINER}.scope"
    where = ",global_oom" if constraint == "NONE" else f",oom_memcg={limit or group()}"
    if constraint not in ("NONE", "MEMCG"):
        where = ""
    return (at, micros,
            f"oom-kill:constraint=CONSTRAINT_{constraint},nodemask=(null),cpuset=x,"
            f"mems_allowed=0-1{where},task_memcg={path},task={name},pid={pid},uid=0")


def killed(at, pid=461754, name="python", what="Memory cgroup out", rss=97517568, micros=287310):
    """The line with the size."""
    return (at, micros,
            f"{what} of memory: Killed process {pid} ({name}) total-vm:{rss + 99999}kB, "
            f"anon-rss:{rss}kB, file-rss:1216kB, shmem-rss:0kB, UID:0 pgtables:192kB "
            "oom_score_adj:986")


def reaped(at, pid=461754, name="python"):
    return (at, 301022, f"oom_reaper: reaped process {pid} ({name}), now anon-rss:0kB, "
                        "file-rss:0kB, shmem-rss:0kB")


def ended(at, name=POD, node="gpu-07", phase="Running", reason="OOMKilled", code=137):
    return pod(name, node, phase, [("trainer", code, reason, at)])


def pods(*items):
    return {"input/pods.json": k8s_list(*items)}


def fires_on_container_limit():
    """The container hits its own limit: both lines of the kernel, and the word of the kubelet."""
    return log(oom(600), killed(600), reaped(600)) | pods(ended(601))


def fires_on_kernel_line_alone():
    """The cgroup names the pod by its uid, and nobody names it otherwise."""
    return log(oom(600), killed(600))


def fires_on_node_memory():
    """The node runs out, and the kernel takes the largest: a trainer."""
    return log(oom(600, constraint="NONE"), killed(600, what="Out")) | pods(ended(601))


def fires_on_the_limit_of_all_pods():
    """The cgroup that holds all pods is full: a limit, but the node's."""
    return log(oom(600, limit="/kubepods.slice"), killed(600)) | pods(ended(601))


def fires_on_cpuset_numa():
    """Only the NUMA nodes the process is bound to are full."""
    return log(oom(600, constraint="CPUSET"), killed(600, what="Out"))


def oomd(at, name=POD, tag="systemd-oomd[812]", why="pressure for /kubepods.slice being 71.23% > 60.00% for > 30s with reclaim activity"):
    """A line of syslog: systemd-oomd killed a container's cgroup."""
    return f"{when(at)[:-1]}+00:00 gpu-07 {tag}: Killed {group(name)}/cri-containerd-{CONTAINER}.scope due to memory {why}\n"


def fires_on_systemd_oomd():
    """systemd-oomd kills the container of one pod for pressure, and that of another when the swap is full."""
    swap = "used (540234829824) / total (540432097280) and swap used (8053063680) / total (8589930496) being more than 90.00%"
    return {"input/syslog": oomd(600) + oomd(620, "other-pod", why=swap)} | pods(ended(601, reason="Error"))


def stays_quiet_on_who_quotes_systemd_oomd():
    """Another program says what systemd-oomd says; and systemd-oomd kills what is no pod's."""
    path = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-code-9571.scope"
    mine = f"{when(620)[:-1]}+00:00 gpu-07 systemd-oomd[812]: Killed {path} due to memory pressure for /user.slice being 70.24% > 50.00% for > 20s with reclaim activity\n"
    return {"input/syslog": oomd(600, tag="log-shipper[99]") + mine}


def fires_once_for_many_processes():
    """Data loader workers of one pod go one after the other: one verdict."""
    entries = []
    for i in range(5):
        name = "python" if i == 4 else "pt_data_worker"
        entries += [oom(600 + 9 * i, 5000 + i, name), killed(600 + 9 * i, 5000 + i, name,
                                                             rss=8000000 + i)]
    return log(*entries) | pods(ended(637))


def fires_twice_for_two_bursts():
    """The pod is started again and killed again ten minutes later: two incidents."""
    again = (oom(1200, 777777), killed(1200, 777777))
    return log(oom(600), killed(600), *again) | pods(ended(1201))


def fires_partial_without_cgroup():
    """An old kernel names no cgroup; a pod of the node was OOMKilled a second later."""
    old = [
        (600, 1, "Memory cgroup out of memory: Kill process 461754 (python) score 999 or "
                 "sacrifice child"),
        (600, 2, "Killed process 461754 (python) total-vm:99999999kB, anon-rss:97517568kB, "
                 "file-rss:1216kB"),
    ]
    return log(*old) | pods(ended(601))


def fires_partial_on_node_event():
    """There is no kernel log: only the event of the node-problem-detector and the pod's state."""
    text = killed(600)[2]
    said = event("gpu-07", "OOMKilling", text, 600, kind="Node")
    return {"input/events.json": k8s_list(said)} | pods(ended(601))


def fires_on_rank_by_pid():
    """A cluster without pods: the process was placed before, as rank 3 of llm-7."""
    placed = {"kind": "rank_place", "time": when(0), "k8s.node.name": "gpu-07", "job.id": "llm-7",
              "rank": 3, "process.pid": 461754, "origin": "map", "world_size": 8}
    step = "/system.slice/slurmstepd.scope/job_7/step_0"
    return log(oom(600, cgroup=step, limit=step), killed(600)) | {
        "input/places.ndjson": lines(placed)
    }


def stays_quiet_on_host_process():
    """A service of the host and a shell are killed; they are in no pod, and a pod of the node that
    was OOMKilled at the time is not tied to them."""
    return log(
        oom(600, 900, "postgres", cgroup="/system.slice/postgresql.service",
            limit="/system.slice/postgresql.service"),
        killed(600, 900, "postgres"),
        oom(610, 901, "bash", "NONE", cgroup="/user.slice/user-1000.slice/session-4.scope"),
        killed(610, 901, "bash", "Out"),
    ) | pods(ended(605))


def stays_quiet_on_oomkilled_pod_alone():
    """The kubelet says OOMKilled, and nothing is known from the kernel."""
    return pods(ended(600))


def stays_quiet_past_window():
    """The pods of the node were OOMKilled 61 seconds before and after a kill without a cgroup."""
    return log(killed(600, micros=0)) | pods(ended(539), ended(661, name="pretrain-worker-4"))


def stays_quiet_on_pod_of_another_node():
    """The OOMKilled pod ran elsewhere."""
    return log(killed(600)) | pods(ended(601, node="gpu-08"))


def stays_quiet_on_other_failures():
    """A trainer that fails by itself while the kernel kills a host process for memory."""
    host = killed(600, 900, "postgres", "Out")
    return log(host) | pods(ended(601, phase="Failed", reason="Error", code=1))


def degrades_two_collectors():
    """Kernel log, node-problem-detector and kubelet tell of one kill, and all is sent twice: one
    verdict, one kill."""
    said = event("gpu-07", "OOMKilling", killed(600)[2], 600, kind="Node")
    files = log(oom(600), killed(600), oom(600), killed(600)) | pods(ended(601), ended(601))
    return files | {"input/events.json": k8s_list(said, said)}


def degrades_lost_second_line():
    """The log ends with the first of the two lines: how much the process held is not known."""
    return log(oom(600))


def degrades_state_long_after():
    """The state that is read is of the run before: it names the pod, and proves nothing else."""
    return log(oom(600), killed(600)) | pods(ended(10))


def fires_on_slurm_limit():
    """A Slurm job without pods: slurmstepd knows the job, srun the node and the rank."""
    return {
        "args": "--only=host_oom\n",
        "input/slurm-4711.out": f"[{when(600)}] step 900 loss 2.1\n"
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks "
        "have been OOM Killed.\nsrun: error: gpu-07: task 3: Out Of Memory\n"
    }


def fires_once_for_accounting_and_log():
    """sacct tells of the job without node and date, the log of the job with both: one kill."""
    return fires_on_slurm_limit() | {
        "input/sacct.txt": "       JobID      State ExitCode     MaxRSS  ReqMem\n"
        "------------ ---------- -------- ---------- -------\n"
        "4711         OUT_OF_ME+    0:125               480G\n"
        "4711.0       OUT_OF_ME+    0:125    479.8G\n"
    }


def stays_quiet_on_slurm_time_limit():
    """A Slurm job that ran into its time limit did not run out of memory."""
    return {
        "input/slurm-4711.out": f"slurmstepd: error: *** JOB 4711 ON gpu-07 CANCELLED AT "
        f"{when(600)[:-1]} DUE TO TIME LIMIT ***\n"
    }


CASES = [
    fires_on_container_limit,
    fires_on_kernel_line_alone,
    fires_on_node_memory,
    fires_on_the_limit_of_all_pods,
    fires_on_cpuset_numa,
    fires_on_systemd_oomd,
    fires_once_for_many_processes,
    fires_twice_for_two_bursts,
    fires_partial_without_cgroup,
    fires_partial_on_node_event,
    fires_on_rank_by_pid,
    fires_on_slurm_limit,
    fires_once_for_accounting_and_log,
    stays_quiet_on_slurm_time_limit,
    stays_quiet_on_host_process,
    stays_quiet_on_who_quotes_systemd_oomd,
    stays_quiet_on_oomkilled_pod_alone,
    stays_quiet_past_window,
    stays_quiet_on_pod_of_another_node,
    stays_quiet_on_other_failures,
    degrades_two_collectors,
    degrades_lost_second_line,
    degrades_state_long_after,
]

if __name__ == "__main__":
    main(__file__, CASES)
