# SPDX-License-Identifier: Apache-2.0
"""OTLP/JSON for make.py: what the OpenTelemetry Collector's file exporter writes."""

from making import nanoseconds


def any_value(value):
    """A Python value as an AnyValue. Integers are strings, as protobuf's JSON has them."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attributes(value)}}
    return {"arrayValue": {"values": [any_value(item) for item in value]}}


def attributes(names):
    return [{"key": key, "value": any_value(value)} for key, value in names.items()]


def record(at, body=None, **more):
    """One log record; more: attributes=..., as the receivers set them."""
    out = {"timeUnixNano": str(nanoseconds(at))}
    if body is not None:
        out["body"] = any_value(body)
    if more:
        out["attributes"] = attributes(more["attributes"])
    return out


def logs(resource, *records):
    """One line of the file exporter."""
    scope = {"scope": {}, "logRecords": list(records)}
    return {
        "resourceLogs": [{"resource": {"attributes": attributes(resource)}, "scopeLogs": [scope]}]
    }
