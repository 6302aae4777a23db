# SPDX-License-Identifier: Apache-2.0
"""host_oom: processes of pods that are killed for memory."""

from field import Pattern
from kernel import dmesg_line, kernel_line, syslog_line
from kubernetes import core_event, ended, k8s_list, pod
from otlp import log_request, record
from training import titan_step
from when import millis

case = Pattern("host_oom")

POD_UID = "6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b"
SLICE_UID = POD_UID.replace("-", "_")
CONTAINER_ID = "0123456789abcdef" * 4


def killed_line(pid, comm="python3", memcg=True, rss=97517568):
    return (
        ("Memory cgroup out of memory" if memcg else "Out of memory")
        + (
            ": Killed process %d (%s) total-vm:%dkB, anon-rss:%dkB, file-rss:123kB, "
            "shmem-rss:0kB, UID:0 pgtables:1372kB oom_score_adj:986"
        ) % (pid, comm, rss + 1000, rss)
    )


def oom_line(pid, memcg, taskcg=None, constraint="CONSTRAINT_MEMCG", comm="python3", cpuset="x"):
    o = "oom_memcg=" + memcg + "," if memcg else "global_oom,"
    return (
        "oom-kill:constraint=%s,nodemask=(null),cpuset=%s,mems_allowed=0-1,%stask_memcg=%s,"
        "task=%s,pid=%d,uid=0"
    ) % (constraint, cpuset, o, taskcg or memcg, comm, pid)


POD_SLICE = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice" % SLICE_UID
DOCKER_SCOPE = POD_SLICE + "/docker-%s.scope" % CONTAINER_ID
CONTAINER_SCOPE = POD_SLICE + "/cri-containerd-%s.scope" % CONTAINER_ID
POD_GROUP = "/kubepods/burstable/pod%s" % POD_UID
CONTAINER_GROUP = POD_GROUP + "/" + CONTAINER_ID
GUARANTEED_SLICE = "/kubepods.slice/kubepods-pod%s.slice" % SLICE_UID
PODS = k8s_list(
    pod("llama-3", node="gpu-c3", uid=POD_UID, ends=[ended("OOMKilled", 137, 2, last=True)]),
)

case.fires(
    "oom_f1_systemd",
    {
        "k.log": (
            kernel_line(0, "gpu-c3", oom_line(4711, CONTAINER_SCOPE))
            + kernel_line(0, "gpu-c3", killed_line(4711))
        ),
        "pods.json": PODS,
    },
    node="gpu-c3",
    uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b",
    disc="container_limit",
    pod="llama-3",
)

case.fires(
    "oom_f2_cgroupfs",
    {
        "k.log": (
            dmesg_line(0, oom_line(4711, POD_GROUP, CONTAINER_GROUP, cpuset=CONTAINER_ID))
            + dmesg_line(0, killed_line(4711))
        ),
    },
    args=["--tz", "UTC"], uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b", disc="container_limit",
)

case.fires(
    "oom_f3_guaranteed_global",
    {
        "k.log": (
            syslog_line(
                0,
                "gpu-c3",
                oom_line(
                    4711,
                    None,
                    GUARANTEED_SLICE + "/crio-%s.scope" % CONTAINER_ID,
                    "CONSTRAINT_NONE",
                ),
            )
            + syslog_line(0, "gpu-c3", killed_line(4711, memcg=False))
        ),
    },
    node="gpu-c3", uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b", disc="node_memory",
)

case.fires(
    "oom_f4_otlp_journald",
    {
        "l.json": log_request(
            {"host.name": "gpu-c3"},
            [
                record(
                    0,
                    {
                        "_TRANSPORT": "kernel",
                        "_HOSTNAME": "gpu-c3",
                        "SYSLOG_IDENTIFIER": "kernel",
                        "PRIORITY": "6",
                        "MESSAGE": oom_line(4711, CONTAINER_SCOPE),
                    },
                    {},
                ),
                record(
                    0,
                    {
                        "_TRANSPORT": "kernel",
                        "_HOSTNAME": "gpu-c3",
                        "SYSLOG_IDENTIFIER": "kernel",
                        "PRIORITY": "3",
                        "MESSAGE": killed_line(4711),
                    },
                    {},
                ),
            ],
        ),
    },
    node="gpu-c3", uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b", disc="container_limit",
)

case.fires(
    "oom_f5_npd_event",
    {
        "e.json": k8s_list(
            core_event(
                0,
                "OOMKilling",
                killed_line(4711),
                pod="gpu-c3",
                node="gpu-c3",
                namespace="default",
                component="kernel-monitor",
                kind="Node",
                pod_uid="gpu-c3",
            ),
        ),
        "pods.json": PODS,
    },
    node="gpu-c3", pod="llama-3", conf="partial",
)

case.fires(
    "oom_f6_kernel4",
    {
        "k.log": (
            syslog_line(
                0,
                "gpu-c3",
                (
                    "python3 invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null),"
                    "  order=0, oom_score_adj=986"
                ),
            )
            + syslog_line(
                0,
                "gpu-c3",
                (
                    "Task in /kubepods/burstable/pod%s/%s killed as a result of limit of "
                    "/kubepods/burstable/pod%s"
                ) % (POD_UID, CONTAINER_ID, POD_UID),
            )
            + syslog_line(0, "gpu-c3", "memory: usage 67108864kB, limit 67108864kB, failcnt 1223")
            + syslog_line(
                0,
                "gpu-c3",
                (
                    "Memory cgroup out of memory: Kill process 4711 (python3) score 1985 or "
                    "sacrifice child"
                ),
            )
            + syslog_line(
                0,
                "gpu-c3",
                (
                    "Killed process 4711 (python3) total-vm:97518568kB, anon-rss:67017568kB, "
                    "file-rss:123kB, shmem-rss:0kB"
                ),
            )
        ),
    },
    node="gpu-c3", uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b", disc="container_limit",
)

case.fires(
    "oom_f7_kernel310",
    {
        "k.log": (
            dmesg_line(
                0,
                "Task in %s killed as a result of limit of %s" % (DOCKER_SCOPE, DOCKER_SCOPE),
            )
            + dmesg_line(
                0,
                (
                    "Memory cgroup out of memory: Kill process 24572 (python3) score 0 or "
                    "sacrifice child"
                ),
            )
            + dmesg_line(
                0,
                (
                    "Killed process 28438 (python3) total-vm:20255636kB, anon-rss:466160kB, "
                    "file-rss:13684kB"
                ),
            )
        ),
    },
    args=["--node", "gpu-c3=k.log"],
    node="gpu-c3",
    uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b",
    disc="container_limit",
)

case.fires(
    "oom_f8_systemd_oomd",
    {
        "j.log": syslog_line(
            0,
            "gpu-c3",
            (
                "Killed %s due to memory pressure for %s being 82.15%% > 50.00%% for > 20s with "
                "reclaim activity"
            ) % (CONTAINER_SCOPE, POD_SLICE),
            "systemd-oomd[1012]",
        ),
    },
    node="gpu-c3", uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b",
)

case.fires(
    "oom_f9_two_workers",
    {
        "k.log": (
            kernel_line(0, "gpu-c3", oom_line(4711, CONTAINER_SCOPE, comm="pt_data_worker"))
            + kernel_line(0, "gpu-c3", killed_line(4711, "pt_data_worker"))
            + kernel_line(10, "gpu-c3", oom_line(4712, CONTAINER_SCOPE, comm="pt_data_worker"))
            + kernel_line(10, "gpu-c3", killed_line(4712, "pt_data_worker"))
        ),
    },
    node="gpu-c3", uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b", disc="container_limit",
)

case.fires(
    "oom_f10_v2_nested",
    {
        "kmsg": "".join(
            "6,%d,%d,-;%s\n" % (100 + i, 5000000 + i, m)
            for i, m in enumerate(
                [
                    oom_line(
                        4711,
                        "/system.slice/k3s.service" + POD_GROUP,
                        "/system.slice/k3s.service" + CONTAINER_GROUP,
                    ),
                    killed_line(4711),
                ],
            )
        ),
    },
    args=["--node", "gpu-c3=kmsg"],
    node="gpu-c3",
    uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b",
    disc="container_limit",
)

case.fires(
    "oom_f11_pod_level_v2group",
    {
        "k.log": (
            kernel_line(0, "gpu-c3", oom_line(4711, POD_SLICE, CONTAINER_SCOPE))
            + kernel_line(0, "gpu-c3", killed_line(4711))
            + kernel_line(
                0,
                "gpu-c3",
                "Tasks in %s are going to be killed due to memory.oom.group set" % CONTAINER_SCOPE,
            )
            + kernel_line(0, "gpu-c3", killed_line(4712))
            + kernel_line(0, "gpu-c3", killed_line(4713))
        ),
    },
    node="gpu-c3", uid="6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b", disc="container_limit",
)

case.silent(
    "oom_q1_service",
    {
        "k.log": (
            kernel_line(
                0,
                "gpu-c3",
                oom_line(900, None, "/system.slice/ssh.service", "CONSTRAINT_NONE", comm="sshd"),
            )
            + kernel_line(0, "gpu-c3", killed_line(900, "sshd", False))
        ),
        "pods.json": PODS,
    },
)

case.silent(
    "oom_q2_pod_long_before",
    {
        "k.log": kernel_line(0, "gpu-c3", killed_line(4711, memcg=False, comm="python3")),
        "pods.json": k8s_list(
            pod("llama-3", node="gpu-c3", uid=POD_UID, ends=[ended("OOMKilled", 137, -400)]),
        ),
    },
)

case.silent("oom_q3_pod_alone", {"pods.json": PODS})
case.silent(
    "oom_q4_user_slice",
    {
        "k.log": (
            dmesg_line(
                0,
                oom_line(900, "/user.slice/user-1000.slice/session-3.scope", comm="python3"),
            )
            + dmesg_line(0, killed_line(900))
        ),
    },
)

case.silent(
    "oom_q5_docker",
    {
        "k.log": (
            dmesg_line(0, oom_line(900, "/docker/" + CONTAINER_ID, comm="python3"))
            + dmesg_line(0, killed_line(900))
        ),
    },
)

case.silent(
    "oom_q6_other_node",
    {"k.log": kernel_line(0, "gpu-c4", killed_line(4711)), "pods.json": PODS},
)

case.silent(
    "oom_q7_invoked_only",
    {
        "k.log": (
            kernel_line(
                0,
                "gpu-c3",
                (
                    "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
                    "oom_score_adj=986"
                ),
            )
            + kernel_line(0, "gpu-c3", "memory: usage 67108864kB, limit 67108864kB, failcnt 0")
        ),
        "pods.json": k8s_list(pod("llama-3", node="gpu-c3", uid=POD_UID)),
    },
)

case.silent(
    "oom_q8_vmstat",
    {
        "n.prom": "".join(
            'node_vmstat_oom_kill{node="gpu-c3"} %d %d\n' % (x // 60, millis(x))
            for x in range(0, 300, 60)
        ),
    },
)

case.silent(
    "oom_q9_quoted",
    {"app.log": titan_step(0, 5) + "oom-kill: nothing; Killed process by user\n"},
)

case.silent(
    "oom_q10_oomd_user",
    {
        "j.log": syslog_line(
            0,
            "gpu-c3",
            (
                "Killed /user.slice/user-1000.slice/user@1000.service/app.slice/firefox.scope "
                "due to memory pressure for /user.slice being 82.15% > 50.00% for > 20s with "
                "reclaim activity"
            ),
            "systemd-oomd[1012]",
        ),
    },
)

case.silent(
    "oom_q11_cuda_oom",
    {
        "app.log": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
        "pods.json": k8s_list(
            pod("llama-3", node="gpu-c3", uid=POD_UID, ends=[ended("Error", 1, 2)]),
        ),
    },
    exit=2, why="the program's own line is no format we read: said, and no verdict",
)

case.silent(
    "oom_q12_k4_service",
    {
        "k.log": (
            syslog_line(
                0,
                "gpu-c3",
                (
                    "Task in /system.slice/nginx.service killed as a result of limit of "
                    "/system.slice/nginx.service"
                ),
            )
            + syslog_line(
                0,
                "gpu-c3",
                (
                    "Memory cgroup out of memory: Kill process 4711 (nginx) score 1985 or "
                    "sacrifice child"
                ),
            )
            + syslog_line(
                0,
                "gpu-c3",
                (
                    "Killed process 4711 (nginx) total-vm:97518568kB, anon-rss:67017568kB, "
                    "file-rss:123kB, shmem-rss:0kB"
                ),
            )
        ),
        "pods.json": PODS,
    },
)
