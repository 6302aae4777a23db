# SPDX-License-Identifier: Apache-2.0
"""checkpoint_stall: checkpoints that do not end."""

from field import Pattern
from kernel import kernel_line
from kubernetes import core_event, ended, k8s_list, pod
from otlp import STALL, event, log_request, pod_resource, record, stall_record
from training import titan_line, titan_step
from when import millis, moment, second

case = Pattern("checkpoint_stall")

WRITER = pod_resource("pre-0", node="gpu-b1")


def checkpoint(s, state, step=500, **kw):
    return record(
        s,
        "checkpoint " + state,
        {
            "checkpoint.state": state,
            "checkpoint.step": step,
            "checkpoint.path": "/ckpt/step-500",
            **kw,
        },
        9,
    )


case.fires(
    "ck_f1_otlp_mount",
    {
        "l.json": (
            log_request(WRITER, [checkpoint(0, "begin")])
            + log_request(WRITER, [record(700, "heartbeat", {})])
        ),
        "e.json": k8s_list(
            core_event(60, "FailedMount", "MountVolume.SetUp failed", pod="pre-0", node="gpu-b1"),
            core_event(
                720,
                "Pulled",
                "x",
                pod="o",
                node="gpu-b1",
                type_="Normal",
                uid="c0ffee00-0000-4000-8000-000000000009",
            ),
        ),
    },
    node="gpu-b1", disc="storage_event", pod="pre-0",
)

case.fires(
    "ck_f2_ioerr_kernel",
    {
        "train-gpu-b1.log": (
            titan_step(-10, 499)
            + titan_line(0, "Saving the checkpoint (or staging if async is enabled).")
        ),
        "kern.log": (
            kernel_line(
                30,
                "gpu-b1",
                (
                    "blk_update_request: I/O error, dev nvme1n1, sector 12345 op 0x1:(WRITE) "
                    "flags 0x800 phys_seg 1 prio class 0"
                ),
            )
            + kernel_line(640, "gpu-b1", "EXT4-fs (nvme1n1): mounted")
        ),
    },
    args=["--node", "gpu-b1=train-gpu-b1.log"], node="gpu-b1", disc="storage_error",
)

case.fires(
    "ck_f3_nfs_megatron",
    {
        "megatron.log": (
            (
                " [%s] iteration      500/   10000 | consumed samples: 512000 | elapsed time per "
                "iteration (ms): 2042.1 | learning rate: 1.0E-4 | global batch size: 1024 | lm "
                "loss: 2.1E+00 |\n"
            ) % second(0)[:19].replace("T", " ")
            + "saving checkpoint at iteration     500 to /nfs/ckpt in torch_dist format\n"
        ),
        "dmesg.txt": (
            kernel_line(100, "gpu-b1", "nfs: server 10.1.2.3 not responding, still trying")
            + kernel_line(700, "gpu-b1", "systemd[1]: hello")
        ),
    },
    args=["--node", "gpu-b1=megatron.log"], node="gpu-b1", disc="storage_error",
)

case.fires(
    "ck_f4_ndjson_slow",
    {
        "e.ndjson": (
            event(
                kind="checkpoint",
                time=second(0),
                state="begin",
                step=500,
                **{"k8s.node.name": "gpu-b1", "job.id": "j1", "rank": 0},
            )
            + "".join(
                (
                    event(
                        kind="metric",
                        time=second(x),
                        metric="storage_writes",
                        value=1000 + x // 60,
                        device="nvme1n1",
                        **{"k8s.node.name": "gpu-b1"},
                    )
                    + event(
                        kind="metric",
                        time=second(x),
                        metric="storage_write_seconds",
                        value=100 + x / 60 * 5,
                        device="nvme1n1",
                        **{"k8s.node.name": "gpu-b1"},
                    )
                )
                for x in range(-60, 721, 60)
            )
        ),
    },
    node="gpu-b1", disc="slow_write",
)

case.fires(
    "ck_f5_slow_scrape",
    {
        "e.ndjson": event(
            kind="checkpoint",
            time=second(0),
            state="begin",
            step=500,
            **{"k8s.node.name": "gpu-b1", "job.id": "j1", "rank": 0},
        ),
        **{
            "node_exporter-gpu-b1_%s.prom" % moment(x).strftime("%Y%m%dT%H%M%SZ"): (
                "# TYPE node_disk_writes_completed_total counter\n"
                'node_disk_writes_completed_total{device="nvme1n1"} %d\n# TYPE '
                "node_disk_write_time_seconds_total counter\n"
                'node_disk_write_time_seconds_total{device="nvme1n1"} %g\n'
            ) % (1000 + x // 15, 100 + x / 15 * 2.5)
            for x in range(0, 721, 60)
        },
    },
    node="gpu-b1", disc="slow_write",
)

case.fires(
    "ck_f6_end_late",
    {
        "l.json": log_request(WRITER, [checkpoint(0, "begin"), checkpoint(650, "end")]),
        "e.json": k8s_list(
            core_event(60, "FailedMount", "MountVolume.SetUp failed", pod="pre-0", node="gpu-b1"),
        ),
    },
    node="gpu-b1", disc="storage_event", status="resolved",
)

case.fires(
    "ck_f7_eventname",
    {
        "l.json": (
            log_request(WRITER, [dict(record(0, "Saving", {}), eventName="checkpoint.begin")])
            + log_request(pod_resource("o", node="gpu-b1"), [stall_record(601, 5, 7)])
        ),
        "k.log": kernel_line(
            5,
            "gpu-b1",
            (
                "EXT4-fs error (device nvme0n1p1): ext4_journal_check_start:83: comm python: "
                "Detected aborted journal"
            ),
        ),
    },
    node="gpu-b1", disc="storage_error",
)

case.fires(
    "ck_f8_ro",
    {
        "e.ndjson": event(
            kind="checkpoint",
            time=second(0),
            state="begin",
            step=500,
            **{"k8s.node.name": "gpu-b1", "job.id": "j1", "rank": 0},
        ),
        "n.prom": "".join(
            (
                "# TYPE node_filesystem_readonly gauge\n"
                'node_filesystem_readonly{device="/dev/sda1",fstype="ext4",mountpoint="/ckpt",'
                'node="gpu-b1"} %d %d\n'
            ) % (1 if x >= 60 else 0, millis(x))
            for x in range(-60, 700, 60)
        ),
    },
    node="gpu-b1",
)

case.silent(
    "ck_q1_590",
    {
        "l.json": log_request(WRITER, [checkpoint(0, "begin"), checkpoint(590, "end")]),
        "e.json": k8s_list(
            core_event(60, "FailedMount", "MountVolume.SetUp failed", pod="pre-0", node="gpu-b1"),
        ),
    },
)

case.silent(
    "ck_q2_700_noevidence",
    {"l.json": log_request(WRITER, [checkpoint(0, "begin"), checkpoint(700, "end")])},
)

case.silent(
    "ck_q3_other_node",
    {
        "l.json": (
            log_request(WRITER, [checkpoint(0, "begin")])
            + log_request(WRITER, [record(720, "beat", {STALL: 5, "gen_ai.training.step": 7})])
        ),
        "e.json": k8s_list(
            core_event(60, "FailedMount", "MountVolume.SetUp failed", pod="u-0", node="gpu-b2"),
        ),
    },
)

case.silent(
    "ck_q4_open_590",
    {
        "l.json": log_request(WRITER, [checkpoint(0, "begin")]),
        "e.json": k8s_list(
            core_event(590, "FailedMount", "MountVolume.SetUp failed", pod="pre-0", node="gpu-b1"),
        ),
    },
)

case.silent(
    "ck_q5_fast_writes",
    {
        "e.ndjson": event(
            kind="checkpoint",
            time=second(0),
            state="begin",
            step=500,
            **{"k8s.node.name": "gpu-b1", "job.id": "j1", "rank": 0},
        ),
        "n.prom": "".join(
            (
                'node_disk_writes_completed_total{device="nvme1n1",node="gpu-b1"} %d %d\n'
                'node_disk_write_time_seconds_total{device="nvme1n1",node="gpu-b1"} %g %d\n'
            ) % (1000 + x * 100, millis(x), 100 + x * 0.5, millis(x))
            for x in range(0, 721, 60)
        ),
    },
)

case.silent(
    "ck_q6_titan_done",
    {
        "train.log": (
            titan_step(-10, 499)
            + titan_line(0, "Saving the checkpoint (or staging if async is enabled).")
            + titan_line(
                400,
                "Finished saving the checkpoint (or staging if async is enabled)in 400.02 seconds.",
            )
            + titan_step(410, 500)
            + titan_step(1300, 501)
        ),
        "kern.log": (
            kernel_line(
                30,
                "gpu-b1",
                (
                    "blk_update_request: I/O error, dev nvme1n1, sector 12345 op 0x1:(WRITE) "
                    "flags 0x800 phys_seg 1 prio class 0"
                ),
            )
            + kernel_line(1400, "gpu-b1", "x")
        ),
    },
    args=["--node", "gpu-b1=train.log"],
)

case.silent(
    "ck_q7_long_before",
    {
        "l.json": (
            log_request(WRITER, [checkpoint(0, "begin")])
            + log_request(WRITER, [record(720, "beat", {STALL: 5, "gen_ai.training.step": 7})])
        ),
        "e.json": k8s_list(core_event(-1300, "FailedMount", "m", pod="pre-0", node="gpu-b1")),
    },
)

case.silent(
    "ck_q8_pod_succeeded",
    {
        "l.json": log_request(WRITER, [checkpoint(0, "begin")]),
        "p.json": k8s_list(
            pod("pre-0", node="gpu-b1", phase="Succeeded", ends=[ended("Completed", 0, 200)]),
            core_event(60, "FailedMount", "m", pod="u", node="gpu-b1"),
            core_event(
                900,
                "Pulled",
                "m",
                pod="u2",
                node="gpu-b1",
                type_="Normal",
                uid="c0ffee00-0000-4000-8000-000000000007",
            ),
        ),
    },
)
