# SPDX-License-Identifier: Apache-2.0
"""dataloader_hang: training that waits for data."""

import json

from field import Pattern
from kubernetes import POD_UID, core_event, ended, k8s_list, modern_event, pod
from otlp import (
    STALL,
    any_value,
    attributes,
    event,
    event_record,
    loader_record,
    log_request,
    pod_resource,
    record,
    stall_record,
    watched,
    without_nulls,
)
from when import nanos, second

case = Pattern("dataloader_hang")

POD_LOG = f"/var/log/pods/ml_llama-worker-3_{POD_UID}/trainer/0.log"

WORKER = pod_resource("llama-worker-3")

case.fires(
    "dl_f1_int",
    {
        "logs.json": (
            log_request(WORKER, [loader_record(-100)])
            + log_request(WORKER, [stall_record(0, "180" and 180, 4200, "train")])
        ),
    },
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f2_double_nophase",
    {
        "logs.json": (
            log_request(WORKER, [stall_record(0, 120.0, 88)])
            + log_request(WORKER, [loader_record(300, "bus_error", "x")])
        ),
    },
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f3_k8sevents",
    {
        "logs.json": log_request(WORKER, [stall_record(0, 240, 512, "train")]),
        "events.json": event_record(
            -200,
            "FailedMount",
            'MountVolume.SetUp failed for volume "pvc-1" : rpc error: code = DeadlineExceeded',
            pod="other-0",
        ),
    },
    disc="storage_event", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f4_objects_core",
    {
        "logs.json": log_request(WORKER, [stall_record(0, 200, 512, "train")]),
        "ev.json": watched(
            100,
            core_event(
                100,
                "FailedMount",
                "Unable to attach or mount volumes: unmounted volumes=[data]",
                pod="llama-worker-3",
            ),
        ),
    },
    disc="storage_event", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f5_kubectl_new",
    {
        "logs.json": log_request(WORKER, [stall_record(0, 200, 512)]),
        "ev.json": json.dumps(
            modern_event(-290, "VolumeMountFailure", "mount failed", pod="z"),
            indent=2,
        ),
    },
    disc="storage_event", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f6_both",
    {
        "logs.json": log_request(WORKER, [stall_record(0, 360, 99, "train"), loader_record(-30)]),
        "ev.json": k8s_list(core_event(-60, "FailedMount", "MountVolume.SetUp failed", pod="q")),
    },
    disc="worker_killed",
    pod="llama-worker-3",
    node="gpu-a12",
    kinds=["dataloader_error", "storage_event", "training_step_stall"],
)

case.fires(
    "dl_f7_body_filelog",
    {
        "app.json": (
            log_request(
                {
                    "k8s.node.name": "gpu-a12",
                    "k8s.namespace.name": "ml",
                    "k8s.pod.name": "llama-worker-3",
                },
                [
                    record(
                        -20,
                        "RuntimeError: DataLoader worker (pid(s) 3319) exited unexpectedly",
                        {
                            "log.file.path": POD_LOG,
                            "log.iostream": "stderr",
                        },
                        0,
                    ),
                ],
            )
            + log_request(WORKER, [stall_record(100, 125, 700, "train")])
        ),
    },
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f8_ndjson",
    {
        "e.ndjson": (
            event(
                kind="train_stall",
                time=second(0),
                **{
                    "k8s.node.name": "gpu-a12",
                    "k8s.namespace.name": "ml",
                    "k8s.pod.name": "llama-worker-3",
                },
                step=44,
                duration=120,
            )
            + event(
                kind="dataloader_error",
                time=second(10),
                **{"k8s.namespace.name": "ml", "k8s.pod.name": "llama-worker-3"},
                error_class="worker_killed",
            )
        ),
    },
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f9_same_record",
    {
        "l.json": (
            log_request(
                WORKER,
                [
                    record(
                        0,
                        "stalled",
                        {STALL: 150, "gen_ai.training.step": 10, "gen_ai.training.phase": "train"},
                        13,
                    ),
                ],
            )
            + log_request(WORKER, [loader_record(0, "EIO")])
        ),
    },
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f10_string",
    {
        "l.json": (
            log_request(
                WORKER,
                [record(0, "stalled", {STALL: "150", "gen_ai.training.step": "10"}, 13)],
            )
            + log_request(WORKER, [loader_record(5)])
        ),
    },
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f11_attrs_on_record",
    {
        "l.json": log_request(
            {},
            [
                record(0, "stalled", {STALL: 150, "gen_ai.training.step": 10, **WORKER}, 13),
                record(5, "boom", {"dataloader.error_class": "worker_killed", **WORKER}, 17),
            ],
        ),
    },
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f12_only_pod",
    {
        "l.json": log_request(
            {"k8s.pod.name": "llama-worker-3", "k8s.node.name": "gpu-a12"},
            [stall_record(0, 150, 10), loader_record(5)],
        ),
    },
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f13_objects_pull",
    {
        "l.json": log_request(WORKER, [stall_record(0, 150, 10)]),
        "ev.json": (
            json.dumps(
                {
                    "resourceLogs": [
                        {
                            "resource": {},
                            "scopeLogs": [
                                {
                                    "logRecords": [
                                        {
                                            "observedTimeUnixNano": nanos(60),
                                            "body": any_value(
                                                without_nulls(
                                                    core_event(
                                                        -50,
                                                        "FailedMount",
                                                        "MountVolume.SetUp failed",
                                                        pod="w",
                                                    ),
                                                ),
                                            ),
                                            "attributes": attributes(
                                                {"k8s.resource.name": "events"},
                                            ),
                                        },
                                    ],
                                },
                            ],
                        },
                    ],
                },
            )
            + "\n"
        ),
    },
    disc="storage_event", pod="llama-worker-3", node="gpu-a12",
)

case.fires(
    "dl_f14_node_from_reportingInstance",
    {
        "l.json": log_request(WORKER, [stall_record(0, 150, 10)]),
        "ev.json": k8s_list(
            modern_event(
                -5,
                "FailedMount",
                "MountVolume.MountDevice failed",
                pod="zz",
                component="kubelet",
            ) | {"deprecatedSource": {}, "reportingInstance": "gpu-a12"},
        ),
    },
    disc="storage_event", pod="llama-worker-3", node="gpu-a12",
)
late_stall = stall_record(0, 150, 10)
del late_stall["timeUnixNano"]
late_error = loader_record(-20)
del late_error["timeUnixNano"]
case.fires(
    "dl_f15_observed_only",
    {"l.json": log_request(WORKER, [late_stall, late_error])},
    disc="worker_killed", pod="llama-worker-3", node="gpu-a12",
)

case.silent("dl_q1_alone", {"l.json": log_request(WORKER, [stall_record(0, 900, 4200, "train")])})
case.silent(
    "dl_q2_step0",
    {"l.json": log_request(WORKER, [stall_record(0, 900, 0, "train"), loader_record(10)])},
)

case.silent(
    "dl_q3_step1",
    {
        "l.json": log_request(WORKER, [stall_record(0, 900, 1, "train"), loader_record(10)]),
        "e.json": k8s_list(core_event(10, "FailedMount", "m")),
    },
)

case.silent(
    "dl_q4_eval",
    {"l.json": log_request(WORKER, [stall_record(0, 900, 400, "eval"), loader_record(10)])},
)

case.silent(
    "dl_q5_119",
    {"l.json": log_request(WORKER, [stall_record(0, 119, 400, "train"), loader_record(10)])},
)

case.silent(
    "dl_q5b_119.9",
    {"l.json": log_request(WORKER, [stall_record(0, 119.9, 400, "train"), loader_record(10)])},
)

case.silent(
    "dl_q6_otherpod",
    {
        "l.json": (
            log_request(WORKER, [stall_record(0, 300, 400, "train")])
            + log_request(pod_resource("llama-worker-4"), [loader_record(10)])
        ),
    },
)

case.silent(
    "dl_q6b_othernamespace",
    {
        "l.json": (
            log_request(WORKER, [stall_record(0, 300, 400, "train")])
            + log_request(
                pod_resource("llama-worker-3", namespace="team2", node="gpu-a13"),
                [loader_record(10)],
            )
        ),
    },
)

case.silent(
    "dl_q7_othernode",
    {
        "l.json": log_request(WORKER, [stall_record(0, 300, 400, "train")]),
        "e.json": k8s_list(core_event(10, "FailedMount", "m", pod="o", node="gpu-a13")),
    },
)

case.silent(
    "dl_q8_window",
    {
        "l.json": log_request(WORKER, [stall_record(0, 300, 400, "train"), loader_record(-301)]),
        "e.json": k8s_list(core_event(301, "FailedMount", "m", pod="o")),
    },
)

case.silent(
    "dl_q9_otherreason",
    {
        "l.json": log_request(WORKER, [stall_record(0, 300, 400, "train")]),
        "e.json": k8s_list(
            core_event(10, "FailedScheduling", "m", pod="o"),
            core_event(
                10,
                "BackOff",
                "Back-off restarting",
                pod="llama-worker-3",
                uid="c0ffee00-0000-4000-8000-000000000003",
            ),
            core_event(
                12,
                "FailedAttachVolume",
                "AttachVolume.Attach failed",
                pod="o",
                uid="c0ffee00-0000-4000-8000-000000000004",
            ),
        ),
    },
)

case.silent(
    "dl_q10_finished",
    {
        "l.json": log_request(WORKER, [stall_record(0, 300, 400, "train"), loader_record(-10)]),
        "pods.json": k8s_list(
            pod("llama-worker-3", phase="Succeeded", ends=[ended("Completed", 0, -180)]),
        ),
    },
)

case.silent(
    "dl_q11_error_no_stall",
    {
        "l.json": log_request(WORKER, [loader_record(-10)]),
        "e.json": k8s_list(core_event(10, "FailedMount", "m", pod="llama-worker-3")),
    },
)

case.silent(
    "dl_q12_emptyclass",
    {
        "l.json": log_request(
            WORKER,
            [
                stall_record(0, 300, 400, "train"),
                record(5, "ok", {"dataloader.error_class": ""}, 9),
            ],
        ),
    },
)

case.silent(
    "dl_q20_config_of_another_pod",
    {
        "logs.json": log_request(WORKER, [stall_record(0, 240, 512, "train")]),
        "events.json": event_record(
            -200,
            "FailedMount",
            'MountVolume.SetUp failed for volume "kube-api-access-x" : '
            'configmap "kube-root-ca.crt" not found',
            pod="other-0",
        ),
    },
)

case.fires(
    "dl_f20_volume_listed_beside_a_token",
    {
        "logs.json": log_request(WORKER, [stall_record(0, 240, 512, "train")]),
        "events.json": event_record(
            -200,
            "FailedMount",
            "Unable to attach or mount volumes: unmounted volumes=[data], unattached "
            "volumes=[data kube-api-access-x]: timed out waiting for the condition",
            pod="other-0",
        ),
    },
    disc="storage_event", pod="llama-worker-3", node="gpu-a12",
)
