# SPDX-License-Identifier: Apache-2.0
"""Kernel logs, in each of the shapes that programs give them."""

import json

from when import micros, moment

XID = "NVRM: Xid (PCI:0000:%s:00): %s"
# Seconds since boot at the start of the morning.
UPTIME = 100000


def kernel_line(seconds, host, message):
    """journalctl -o short-iso-precise"""
    return f"{moment(seconds).strftime('%Y-%m-%dT%H:%M:%S.%f')}+00:00 {host} kernel: {message}\n"


def dmesg_line(seconds, message):
    """dmesg -T"""
    return f"[{moment(seconds).strftime('%a %b %e %H:%M:%S %Y')}] {message}\n"


def syslog_line(seconds, host, message, program="kernel"):
    return f"{moment(seconds).strftime('%b %e %H:%M:%S')} {host} {program}: {message}\n"


def journal_json(seconds, host, message):
    """journalctl -o json"""
    fields = {"__REALTIME_TIMESTAMP": str(micros(seconds)), "_TRANSPORT": "kernel"}
    fields |= {"SYSLOG_IDENTIFIER": "kernel", "PRIORITY": "3", "_HOSTNAME": host}
    return json.dumps(fields | {"MESSAGE": message}) + "\n"


def journal_export(serial, seconds, host, message):
    """journalctl -o export: one field per line, a blank line behind each entry."""
    fields = {
        "__CURSOR": f"s=abc;i={serial:x};b=0011;m=1;t=1;x=1",
        "__REALTIME_TIMESTAMP": micros(seconds),
        "__MONOTONIC_TIMESTAMP": round((UPTIME + seconds) * 1e6),
        "_BOOT_ID": "00112233445566778899aabbccddeeff",
        "_TRANSPORT": "kernel",
        "PRIORITY": 3,
        "SYSLOG_FACILITY": 0,
        "SYSLOG_IDENTIFIER": "kernel",
        "_HOSTNAME": host,
        "_MACHINE_ID": "aabb",
        "MESSAGE": message,
    }
    return "".join(f"{key}={value}\n" for key, value in fields.items()) + "\n"


def device_record(serial, seconds, message):
    """/dev/kmsg, with its continuation lines"""
    head = f"3,{5000 + serial},{round((UPTIME + seconds) * 1e6)},-;{message}\n"
    return head + " SUBSYSTEM=pci\n DEVICE=+pci:0000:17:00.0\n"


def kernel_log(lines, shape, host="gpu-07"):
    """lines: (seconds, message)"""
    text = ""
    for i, (seconds, message) in enumerate(lines):
        at = moment(seconds)
        since_boot = f"[{UPTIME + seconds:12.6f}]"
        said = f" {host} kernel: {message}\n"
        text += {
            "dmesg": lambda: f"{since_boot} {message}\n",
            "dmesgT": lambda: dmesg_line(seconds, message),
            "dmesgiso": lambda: f"{at.strftime('%Y-%m-%dT%H:%M:%S,%f')}+00:00 {message}\n",
            "shortiso": lambda: at.strftime("%Y-%m-%dT%H:%M:%S+0000") + said,
            "shortprecise": lambda: at.strftime("%b %d %H:%M:%S.%f") + said,
            "syslog": lambda: syslog_line(seconds, host, f"{since_boot} {message}"),
            "rsysiso": lambda: kernel_line(seconds, host, f"{since_boot} {message}"),
            "kmsg": lambda: device_record(i, seconds, message),
            "export": lambda: journal_export(i, seconds, host, message),
            "jjson": lambda: journal_json(seconds, host, message),
        }[shape]()
    return text
