# SPDX-License-Identifier: Apache-2.0
"""Times. All cases happen on the same made-up morning; seconds count from its start."""

import datetime

START = datetime.datetime(2026, 3, 4, 5, 6, 0, tzinfo=datetime.timezone.utc)


def moment(seconds):
    return START + datetime.timedelta(seconds=seconds)


def stamp(seconds):
    """RFC 3339 with milliseconds."""
    at = moment(seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def second(seconds, micros=0):
    """RFC 3339, whole seconds unless microseconds are asked for."""
    return moment(seconds).strftime("%Y-%m-%dT%H:%M:%S") + (f".{micros:06d}Z" if micros else "Z")


def plain(seconds):
    """As training programs print it."""
    return moment(seconds).strftime("%Y-%m-%d %H:%M:%S")


def millis(seconds):
    return round(moment(seconds).timestamp() * 1000)


def micros(seconds):
    return round(moment(seconds).timestamp() * 1_000_000)


def nanos(seconds):
    """As OTLP/JSON writes it: a string."""
    return str(millis(seconds) * 1_000_000)
