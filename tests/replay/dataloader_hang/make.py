#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the dataloader_hang cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import event, k8s_list, lines, main, pod, when  # noqa: E402

KILLED = "DataLoader worker (pid 4711) is killed by signal: Killed."
NO_MOUNT = (
    'MountVolume.SetUp failed for volume "dataset" : rpc error: code = DeadlineExceeded '
    "desc = timed out waiting for the NFS server"
)


def in_pod(kind, at, name="pretrain-worker-3", rank=3, node="gpu-07", **more):
    return {
        "kind": kind,
        "time": when(at),
        "k8s.node.name": node,
        "k8s.namespace.name": "train",
        "k8s.pod.name": name,
        "job.id": "llm-7",
        "rank": rank,
        **more,
    }


def stall(at, seconds, step=812, phase="train", **more):
    said = {"phase": phase} if phase else {}
    return in_pod("train_stall", at, step=step, duration=seconds, **said, **more)


def error(at, **more):
    return in_pod("dataloader_error", at, error_class="worker_killed", message=KILLED, **more)


def step(at, number, phase="train", **more):
    return in_pod("train_step", at, step=number, phase=phase, duration=2.0, **more)


def steps(until, first=700):
    """A step every two seconds."""
    return [step(at, first + at // 2) for at in range(0, until + 1, 2)]


def sample(at, number, **more):
    return in_pod("metric", at, metric="training_step", value=number, **more)


def other(at):
    """Something that happens elsewhere: time passes."""
    return {"kind": "metric", "time": when(at), "k8s.node.name": "gpu-01",
            "metric": "gpu_utilization", "value": 98}



def mount(at, about="pretrain-worker-9", node="gpu-07", **more):
    return event(about, "FailedMount", NO_MOUNT, at, node=node, **more)


def training(*items):
    return {"input/training.ndjson": lines(*items)}


def mounts(*events):
    return {"input/events.json": k8s_list(*events)}


def fires_on_worker_killed():
    """A worker of the loader is killed; three minutes later the watchdog says that no step ends."""
    return training(error(400), stall(590, 190))


def fires_on_storage_event():
    """Another pod's volume cannot be mounted on gpu-07, and training on gpu-07 stands still."""
    return training(stall(590, 190, **{"k8s.container.name": "trainer"})) | mounts(mount(450))


def fires_on_volume_mount_failure():
    """The same under the other reason."""
    failed = mount(450)
    failed["reason"] = "VolumeMountFailure"
    return training(stall(590, 190)) | mounts(failed)


def fires_on_both():
    """A killed worker and a failed mount: worker_killed, and all three pieces of evidence."""
    return training(error(420), stall(590, 190)) | mounts(mount(410))


def fires_on_steps_that_stop():
    """No watchdog: the steps of the pod stop after a worker was killed, and time goes on."""
    return training(*steps(400), error(401), other(460), other(530), other(640))


def fires_on_step_metric_that_stops():
    """The step is only sampled, and stands still while the samples go on; a mount failed."""
    samples = [sample(at, min(800 + at // 2, 1000)) for at in range(0, 601, 15)]
    return training(*samples) | mounts(mount(410))


def fires_at_window_edge():
    """The error is exactly 300 seconds older than the report: joined."""
    return training(error(290), stall(590, 190))


def fires_when_the_error_comes_after():
    """The loader gives up with an error only when it has been stuck for minutes."""
    return training(stall(590, 190), error(700))


def fires_once_for_the_ranks_of_a_pod():
    """Eight ranks of one pod report the same stall: one verdict."""
    reports = [stall(590, 186 + rank, rank=rank) for rank in range(8)]
    return training(error(400, rank=5), *reports)


def fires_without_pods():
    """A cluster without pods: rank 3 on gpu-07 is what stalls, and its own loader failed."""
    items = [error(400), stall(590, 190)]
    for item in items:
        del item["k8s.pod.name"], item["k8s.namespace.name"]
    return training(*items)


def stays_quiet_on_stall_alone():
    """No step for half an hour, and nothing about the loader or the storage."""
    return training(*(stall(590 + at, 190 + at) for at in range(0, 1800, 30)))


def stays_quiet_on_warm_up():
    """Step 1 takes minutes: the loader fills its buffers."""
    return training(error(400), stall(590, 190, step=0), stall(620, 220, step=1))


def stays_quiet_in_evaluation():
    """No step of training ends while the model is evaluated."""
    return training(error(400), stall(590, 190, phase="eval"))


def stays_quiet_below_threshold():
    """119 seconds without a step: cadence."""
    return training(error(400), stall(590, 119))


def stays_quiet_on_error_of_another_pod():
    """The loader that failed belongs to another pod."""
    failed = error(400, name="pretrain-worker-4", rank=4)
    return training(failed, stall(590, 190))


def stays_quiet_on_mount_on_another_node():
    """The mount failed on gpu-08."""
    return training(stall(590, 190)) | mounts(mount(450, node="gpu-08"))


def stays_quiet_past_window():
    """The error is 301 seconds older than the report, the mount 301 seconds younger."""
    return training(error(289), stall(590, 190)) | mounts(mount(891))


def stays_quiet_on_other_events_of_the_node():
    """Pods that back off or wait on the node say nothing about its storage."""
    others = [
        event("pretrain-worker-9", "BackOff", "Back-off restarting failed container", 450, "gpu-07"),
        event("pretrain-worker-9", "FailedAttachVolume", "Multi-Attach error", 451, "gpu-07"),
    ]
    return training(stall(590, 190)) | mounts(*others)


def stays_quiet_while_a_checkpoint_is_written():
    """Rank 0 writes a checkpoint for four minutes, and all wait; that is another pattern's."""
    begin = in_pod("checkpoint", 401, "pretrain-worker-0", 0, "gpu-04", state="begin", step=900)
    end = in_pod("checkpoint", 640, "pretrain-worker-0", 0, "gpu-04", state="end", step=900)
    after = [step(at, 700 + at // 2) for at in range(642, 700, 2)]
    return training(*steps(400), begin, error(402), stall(590, 190), end, *after)


def fires_when_the_loader_dies_during_a_checkpoint():
    """A checkpoint is written beside the training for minutes; the watchdog counts from the moment
    on at which a worker of the loader was killed, 45 s after the checkpoint began."""
    begin = in_pod("checkpoint", 401, "pretrain-worker-0", 0, "gpu-04", state="begin", step=900)
    end = in_pod("checkpoint", 940, "pretrain-worker-0", 0, "gpu-04", state="end", step=900)
    after = [step(at, 700 + at // 2) for at in range(942, 960, 2)]
    return training(*steps(400), begin, error(446), stall(566, 120), stall(626, 180), end, *after)


def stays_quiet_when_the_pod_succeeded():
    """The job is done. Its workers die with it, which the loader complains about."""
    done = pod("pretrain-worker-3", "gpu-07", "Succeeded", [("trainer", 0, "Completed", 405)])
    return training(*steps(400), error(403), other(500), other(900)) | {
        "input/pods.json": k8s_list(done)
    }


def stays_quiet_when_the_pod_is_restarted():
    """The trainer fails with its loader and is started again: it loads for minutes, and goes on."""
    failed = pod("pretrain-worker-3", "gpu-07", "Running", [("trainer", 1, "Error", 404)])
    after = [step(at, 400 + at // 2) for at in range(700, 760, 2)]
    return training(*steps(400), error(403), other(500), other(620), *after) | {
        "input/pods.json": k8s_list(failed)
    }


def stays_quiet_on_a_job_that_went_away():
    """The steps of a pod stop and nothing more is heard of it. That a mount of the next pod fails
    on the node proves no stall."""
    return training(*steps(400), other(500), other(900)) | mounts(mount(430))


def stays_quiet_on_slow_steps():
    """Each step takes 100 seconds; one takes 130, after an error that did no harm."""
    slow = [step(at, 700 + at // 100) for at in range(0, 501, 100)]
    return training(*slow, error(505), other(600), step(630, 706), other(700))


def degrades_missing_phase():
    """Neither phase nor step is known: that does not suppress."""
    said = stall(590, 190, phase=None)
    del said["step"]
    return training(error(400), said)


def degrades_missing_node():
    """The watchdog names no node; the error of the same pod does."""
    said = stall(590, 190)
    del said["k8s.node.name"]
    return training(error(400), said) | mounts(mount(410))


def degrades_replayed_reports():
    """The watchdog reports every 30 seconds, and a collector sends everything twice: one incident,
    with the last length of the stall."""
    reports = [stall(520 + at, 120 + at) for at in range(0, 271, 30)]
    twice = lines(error(400), *reports)
    return {"input/first.ndjson": twice, "input/second.ndjson": twice}


def degrades_disordered_evidence():
    """The error is written down after the stall that it caused."""
    return training(stall(590, 190), error(400))


def resolved_when_training_goes_on():
    """The storage comes back after eight minutes: the next step resolves the incident."""
    items = (*steps(400), stall(590, 190), stall(620, 220), step(880, 901), step(882, 902))
    return training(*items) | mounts(mount(405))


def resolved_when_the_pod_ends():
    """Somebody kills the hung pod."""
    failed = pod("pretrain-worker-3", "gpu-07", "Failed", [("trainer", 137, "Error", 900)])
    return training(*steps(400), error(401), stall(590, 190)) | {"input/pods.json": k8s_list(failed)}


CASES = [
    fires_on_worker_killed,
    fires_on_storage_event,
    fires_on_volume_mount_failure,
    fires_on_both,
    fires_on_steps_that_stop,
    fires_on_step_metric_that_stops,
    fires_at_window_edge,
    fires_when_the_error_comes_after,
    fires_once_for_the_ranks_of_a_pod,
    fires_without_pods,
    fires_when_the_loader_dies_during_a_checkpoint,
    stays_quiet_on_stall_alone,
    stays_quiet_on_warm_up,
    stays_quiet_in_evaluation,
    stays_quiet_below_threshold,
    stays_quiet_on_error_of_another_pod,
    stays_quiet_on_mount_on_another_node,
    stays_quiet_past_window,
    stays_quiet_on_other_events_of_the_node,
    stays_quiet_while_a_checkpoint_is_written,
    stays_quiet_when_the_pod_succeeded,
    stays_quiet_when_the_pod_is_restarted,
    stays_quiet_on_a_job_that_went_away,
    stays_quiet_on_slow_steps,
    degrades_missing_phase,
    degrades_missing_node,
    degrades_replayed_reports,
    degrades_disordered_evidence,
    resolved_when_training_goes_on,
    resolved_when_the_pod_ends,
]

if __name__ == "__main__":
    main(__file__, CASES)
