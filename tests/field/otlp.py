# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry's JSON lines, as the Collector's file exporter writes them."""

import json

from when import moment, nanos

CONTRIB = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/"
STALL = "tracecore.alert.training_step_stalled.no_progress_seconds"
KILLED = "RuntimeError: DataLoader worker (pid 8123) is killed by signal: Killed."


def any_value(v):
    if isinstance(v, bool):
        return {"boolValue": v}
    if isinstance(v, int):
        return {"intValue": str(v)}
    if isinstance(v, float):
        return {"doubleValue": v}
    if isinstance(v, dict):
        return {"kvlistValue": {"values": attributes(v)}}
    if isinstance(v, list):
        return {"arrayValue": {"values": [any_value(x) for x in v]}}
    return {"stringValue": v}


def attributes(fields):
    return [{"key": key, "value": any_value(value)} for key, value in fields.items()]


def line(request):
    return json.dumps(request, separators=(",", ":")) + "\n"


def log_request(resource, records, scope="", version=None):
    scoped = {"scope": {"name": scope} if scope else {}, "logRecords": records}
    if version:
        scoped["scope"]["version"] = version
    of = {"resource": {"attributes": attributes(resource)}, "scopeLogs": [scoped]}
    return line({"resourceLogs": [of]})


def otlp_logs(records, resource):
    """records: (seconds, body, attributes), each a request of its own"""
    text = ""
    for seconds, body, fields in records:
        one = {"timeUnixNano": nanos(seconds), "observedTimeUnixNano": nanos(seconds + 1)}
        one["body"] = body if isinstance(body, dict) else {"stringValue": body}
        text += log_request(resource, [one | {"attributes": attributes(fields)}])
    return text


def journal_body(message, host="gpu-07"):
    """A kernel message, from the journald receiver."""
    fields = {"MESSAGE": message, "_TRANSPORT": "kernel", "PRIORITY": "3"}
    return any_value(fields | {"SYSLOG_IDENTIFIER": "kernel", "_HOSTNAME": host})


def otlp_metrics(points, sums=()):
    """points: (name, attributes, seconds, value); one request a time"""
    resource = {"service.name": "dcgm-exporter", "service.instance.id": "10.0.0.7:9400"}
    text = ""
    for at in sorted({p[2] for p in points}):
        metrics = []
        for name, labels, seconds, value in points:
            if seconds != at:
                continue
            point = {"attributes": attributes(labels), "timeUnixNano": nanos(at), "asDouble": value}
            if name in sums:
                point["startTimeUnixNano"] = nanos(-1000)
                kind = {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [point]}
                metrics.append({"name": name, "sum": kind})
            else:
                metrics.append({"name": name, "gauge": {"dataPoints": [point]}})
        scope = {"name": CONTRIB + "prometheusreceiver", "version": "0.120.0"}
        scoped = [{"scope": scope, "metrics": metrics}]
        of = {"resource": {"attributes": attributes(resource)}, "scopeMetrics": scoped}
        text += line({"resourceMetrics": [of]})
    return text


def record(seconds, body=None, fields=None, severity=9):
    out = {"timeUnixNano": nanos(seconds), "observedTimeUnixNano": nanos(seconds + 1)}
    if severity:
        out["severityNumber"] = severity
        out["severityText"] = {9: "INFO", 13: "WARN", 17: "ERROR"}[severity]
    out["body"] = any_value(body) if body is not None else {}
    if fields:
        out["attributes"] = attributes(fields)
    return out | {"traceId": "", "spanId": ""}


def pod_resource(pod, node="gpu-a12", namespace="ml", **more):
    return {
        "k8s.namespace.name": namespace,
        "k8s.pod.name": pod,
        "k8s.node.name": node,
        "k8s.container.name": "trainer",
        "service.name": "trainer",
        **more,
    }


def stall_record(seconds, stalled, step=None, phase=None):
    fields = {STALL: stalled}
    if step is not None:
        fields["gen_ai.training.step"] = step
    if phase is not None:
        fields["gen_ai.training.phase"] = phase
    return record(seconds, "training step stalled", fields, 13)


def loader_record(seconds, error_class="worker_killed", body=KILLED):
    return record(seconds, body, {"dataloader.error_class": error_class}, 17)


def event_record(seconds, reason, message, node="gpu-a12", pod="x-0", namespace="ml", uid="e-1",
                 kind="Pod", severity=13):
    """An Event, from k8seventsreceiver."""
    resource = {
        "k8s.node.name": node,
        "k8s.object.kind": kind,
        "k8s.object.name": pod,
        "k8s.object.uid": "11111111-2222-4333-8444-555555555555",
        "k8s.object.fieldpath": "",
        "k8s.object.api_version": "v1",
        "k8s.object.resource_version": "88123",
    }
    fields = {
        "k8s.event.reason": reason,
        "k8s.event.action": "",
        "k8s.event.start_time": moment(seconds).strftime("%Y-%m-%d %H:%M:%S +0000 UTC"),
        "k8s.event.name": pod + ".17d",
        "k8s.event.uid": uid,
        "k8s.namespace.name": namespace,
        "k8s.event.reporting_controller": "kubelet",
        "k8s.event.reporting_instance": node,
        "k8s.event.count": 1,
    }
    one = record(seconds, message, fields, severity)
    one["severityText"] = "Warning" if severity == 13 else "Normal"
    one["observedTimeUnixNano"] = nanos(seconds + 2)
    return log_request(resource, [one], CONTRIB + "k8seventsreceiver")


def without_nulls(v):
    if isinstance(v, dict):
        return {key: without_nulls(x) for key, x in v.items() if x is not None}
    return [without_nulls(x) for x in v] if isinstance(v, list) else v


def watched(seconds, thing, kind="ADDED"):
    """An object, from k8sobjectsreceiver in watch mode."""
    fields = {"k8s.resource.name": "events", "event.domain": "k8s"}
    fields["event.name"] = thing["metadata"]["name"]
    one = {
        "observedTimeUnixNano": nanos(seconds + 1),
        "body": any_value({"type": kind, "object": without_nulls(thing)}),
        "attributes": attributes(fields),
        "traceId": "",
        "spanId": "",
    }
    scope = CONTRIB + "k8sobjectsreceiver"
    return log_request({"k8s.namespace.name": "ml"}, [one], scope, "0.130.0")


def event(**fields):
    """One of our own events, docs/events.md."""
    return json.dumps(fields) + "\n"


def ndjson(events):
    return "".join(event(**e) for e in events)
