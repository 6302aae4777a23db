#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the checkpoint_stall cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import event, k8s_list, lines, main, nanoseconds, when  # noqa: E402

JOB = "pretrain-70b"
NOT_MOUNTED = (
    'MountVolume.MountDevice failed for volume "pvc-ckpt-0" : rpc error: code = DeadlineExceeded '
    "desc = context deadline exceeded"
)


def checkpoint(state, at, rank=0, step=1200, node="gpu-03", **more):
    ev = {
        "kind": "checkpoint",
        "time": nanoseconds(at),
        "k8s.node.name": node,
        "k8s.namespace.name": "train",
        "k8s.pod.name": f"pretrain-worker-{rank}",
        "job.id": JOB,
        "rank": rank,
        "step": step,
        "state": state,
        "path": f"/ckpt/70b/step-{step}",
    } | more
    return {k: v for k, v in ev.items() if v is not None}


def step(n, at, rank=0):
    return {"kind": "train_step", "time": nanoseconds(at), "job.id": JOB, "rank": rank, "step": n}


def clock(at):
    """Time goes on: an event about nothing."""
    return {"kind": "train_step", "time": nanoseconds(at), "job.id": "another", "rank": 0, "step": 1}


def disk(at, writes, seconds, node="gpu-03", device="nvme1n1"):
    common = {"kind": "metric", "time": nanoseconds(at), "k8s.node.name": node, "device": device}
    return [
        common | {"metric": "storage_writes", "value": writes},
        common | {"metric": "storage_write_seconds", "value": seconds},
    ]


def kernel(at, fault="io_error", device="nvme1n1", node="gpu-03", message=None):
    ev = {"kind": "storage_error", "time": nanoseconds(at), "k8s.node.name": node, "fault": fault}
    return ev | {"device": device, "message": message or f"{fault} {device}"}


def written(*events, **files):
    out = {"input/events.ndjson": lines(*sorted(events, key=lambda e: e["time"]))}
    return out | {f"input/{name}.json": content for name, content in files.items()}


def mount_event(at, about="pretrain-worker-0", message=NOT_MOUNTED, node="gpu-03", **more):
    return k8s_list(event(about, "FailedMount", message, at, node=node, **more))


def fires_on_failed_mount():
    """A checkpoint began and does not end; a minute later the pod's volume cannot be mounted."""
    return written(checkpoint("begin", 0), clock(600), events=mount_event(60))


def fires_on_io_error():
    """Errors of the node's disk, as the kernel logged them."""
    return written(
        checkpoint("begin", 0),
        *(kernel(90 + i, message="blk_update_request: I/O error, dev nvme1n1") for i in range(5)),
        clock(610),
    )


def logs(last):
    """The log of a trainer that stops at a checkpoint, and a kernel log that goes on until then."""
    stamp = lambda at: when(at)[:-1] + ".000000+00:00"
    train = f"{when(-10)[:-1].replace('T', ' ')},000 - root - INFO - [titan] step: 499  loss: 2.1\n"
    train += f"{when(0)[:-1].replace('T', ' ')},000 - root - INFO - Saving the checkpoint (or staging if async is enabled).\n"
    kern = f"{stamp(30)} gpu-03 kernel: blk_update_request: I/O error, dev nvme1n1, sector 12345 op 0x1:(WRITE) flags 0x800\n"
    kern += f"{stamp(last)} gpu-03 systemd[1]: Started Daily apt download activities.\n"
    return {"args": "--node=gpu-03=train.log\n", "input/train.log": train, "input/kern.log": kern}


def fires_when_only_time_passes():
    """Nothing that is an event comes any more, but the kernel log goes on past the threshold."""
    return logs(605)


def stays_quiet_when_logs_end_early():
    """The same, but the logs end before the threshold: nobody knows."""
    return logs(595)


def fires_on_slow_writes():
    """Between two scrapes a write took 2.5 s on average."""
    return written(
        checkpoint("begin", 0), *disk(100, 5000, 90), *disk(130, 5040, 190), clock(600)
    )


def fires_on_all_evidence():
    """A mount event, a server that does not answer and slow writes: the mount event decides."""
    return written(
        checkpoint("begin", 0),
        kernel(50, "nfs_not_responding", "10.0.0.5"),
        *disk(100, 5000, 90),
        *disk(130, 5040, 190),
        clock(600),
        events=mount_event(60),
    )


def fires_on_many_ranks():
    """Eight ranks on two nodes stall in one checkpoint; the disk of one node is in trouble."""
    return written(
        *(
            checkpoint("begin", 0.01 * r, rank=r, node="gpu-03" if r < 4 else "gpu-04")
            for r in range(8)
        ),
        kernel(-200, node="gpu-04"),
        clock(605),
    )


def fires_on_failure():
    """It says itself that it failed, 40 s after it began: no threshold to wait for."""
    return written(
        checkpoint("begin", 0),
        kernel(35, "fs_readonly", "dm-0"),
        checkpoint("failed", 40),
        clock(50),
    )


def fires_on_read_only_mount():
    """The mount below which it writes became read-only, as a metric says."""
    readonly = {"kind": "metric", "k8s.node.name": "gpu-03", "metric": "filesystem_readonly"}
    return written(
        checkpoint("begin", 0),
        *(
            readonly | {"time": nanoseconds(at), "device": mount, "value": value}
            for at, mount, value in (
                (-30, "/ckpt", 0), (-30, "/boot", 1), (30, "/ckpt", 1), (30, "/boot", 1)
            )
        ),
        clock(600),
    )


def fires_at_window_edge():
    """The trouble was exactly 300 s before the begin; found by pod only, no node is known."""
    return written(
        checkpoint("begin", 0, **{"k8s.node.name": None}), clock(600), events=mount_event(-300)
    )


def fires_partial_while_training_goes_on():
    """Steps go on while it is written: beside the training, or its end was lost."""
    return written(
        checkpoint("begin", 0), kernel(90), *(step(1200 + i, 20 * i) for i in range(1, 40))
    )


def fires_without_job():
    """Only the pod is known: scoped by pod."""
    begin = checkpoint("begin", 0)
    for key in ("job.id", "rank", "step", "path"):
        del begin[key]
    return written(begin, kernel(90), clock(600))


def resolved_when_it_ends_late():
    """It ended after 700 s."""
    return written(
        checkpoint("begin", 0), kernel(90), clock(650), checkpoint("end", 700), clock(705)
    )


def stays_quiet_without_evidence():
    """It stalls for an hour, and nothing is known of storage."""
    return written(checkpoint("begin", 0), clock(3600))


def stays_quiet_below_threshold():
    """It took 599 s, on a disk with errors."""
    return written(checkpoint("begin", 0), kernel(90), checkpoint("end", 599), clock(2000))


def stays_quiet_on_other_node():
    """The errors are those of another node, the mount event that of another pod elsewhere."""
    return written(
        checkpoint("begin", 0),
        kernel(90, node="gpu-09"),
        *disk(100, 5000, 90, node="gpu-09"),
        *disk(130, 5040, 190, node="gpu-09"),
        clock(900),
        events=mount_event(60, about="other-0", node="gpu-09"),
    )


def stays_quiet_past_window():
    """The error was 301 s before the begin."""
    return written(checkpoint("begin", 0), kernel(-301), clock(900))


def stays_quiet_when_server_answers():
    """The server did not answer for a while and then did, long before the threshold."""
    return written(
        checkpoint("begin", 0),
        kernel(30, "nfs_not_responding", "10.0.0.5"),
        kernel(60, "nfs_ok", "10.0.0.5"),
        clock(900),
    )


def stays_quiet_on_next_checkpoint():
    """The end of step 1200 was lost; step 1300 was begun by the same rank and ended."""
    return written(
        checkpoint("begin", 0),
        kernel(90),
        checkpoint("begin", 500, step=1300),
        checkpoint("end", 540, step=1300),
        clock(2000),
    )


def stays_quiet_on_missing_secret():
    """FailedMount, but for a secret that does not exist: no storage."""
    message = 'MountVolume.SetUp failed for volume "creds" : secret "s3-creds" not found'
    return written(checkpoint("begin", 0), clock(900), events=mount_event(60, message=message))


def stays_quiet_when_pod_ended():
    """The pod ended five minutes into the checkpoint: nothing is written any more."""
    ev = {"kind": "pod_state", "time": when(300), "k8s.namespace.name": "train",
          "k8s.pod.name": "pretrain-worker-0", "phase": "Succeeded", "reason": "Completed"}
    return {
        "input/events.ndjson": lines(
            checkpoint("begin", 0), kernel(90), ev, clock(900)
        )
    }


def stays_quiet_after_a_writer_is_gone():
    """A pod fails a minute into the checkpoint, and the others wait for it. That a server is slow
    for seconds, twenty minutes later, has nothing to do with it."""
    gone = {"kind": "pod_state", "time": nanoseconds(60), "k8s.namespace.name": "train",
            "k8s.pod.name": "pretrain-worker-1", "phase": "Failed", "reason": "Error"}
    return written(
        checkpoint("begin", 0), checkpoint("begin", 0.1, rank=1, node="gpu-04"), gone,
        kernel(1260, "nfs_not_responding", "10.0.0.5"), clock(1270),
        kernel(1280, "nfs_ok", "10.0.0.5"), clock(1300)
    )


def stays_quiet_on_counter_reset():
    """The exporter restarted: its counters fell, nothing was slow."""
    return written(
        checkpoint("begin", 0), *disk(100, 5000, 9000), *disk(130, 10, 0.02), *disk(160, 20, 0.04), clock(900)
    )


def degrades_replayed_events():
    """Told twice, by two collectors: one verdict, as if once."""
    both = written(checkpoint("begin", 0), kernel(90), clock(600))["input/events.ndjson"]
    return {"input/a.ndjson": both, "input/b.ndjson": both}


def degrades_late_evidence():
    """The mount event came when it had stalled for 20 minutes already."""
    return written(checkpoint("begin", 0), clock(1100), clock(1300), events=mount_event(1200))


CASES = [
    fires_on_failed_mount,
    fires_on_io_error,
    fires_when_only_time_passes,
    fires_on_slow_writes,
    fires_on_all_evidence,
    fires_on_many_ranks,
    fires_on_failure,
    fires_on_read_only_mount,
    fires_at_window_edge,
    fires_partial_while_training_goes_on,
    fires_without_job,
    resolved_when_it_ends_late,
    stays_quiet_without_evidence,
    stays_quiet_below_threshold,
    stays_quiet_when_logs_end_early,
    stays_quiet_on_other_node,
    stays_quiet_past_window,
    stays_quiet_when_server_answers,
    stays_quiet_on_next_checkpoint,
    stays_quiet_on_missing_secret,
    stays_quiet_when_pod_ended,
    stays_quiet_after_a_writer_is_gone,
    stays_quiet_on_counter_reset,
    degrades_replayed_events,
    degrades_late_evidence,
]

if __name__ == "__main__":
    main(__file__, CASES)
