# SPDX-License-Identifier: Apache-2.0
"""Scrapes: Prometheus text and OpenMetrics, of dcgm-exporter above all."""

from when import millis, moment

DCGM = "DCGM_FI_DEV_"
GPUS = [f"GPU-{0xA0B0C000 + i:08x}-1111-2222-3333-44445555666{i}" for i in range(8)]
COUNTERS = ("ECC", "VIOLATION", "REPLAY", "REMAPPED", "CRC", "RECOVERY", "ENERGY")


def uuid_on(gpu, host):
    """Hosts other than gpu-07 have other GPUs."""
    return GPUS[gpu] if host == "gpu-07" else f"GPU-{sum(map(ord, host)) % 16:x}{GPUS[gpu][5:]}"


def gpu_labels(gpu, host="gpu-07", pod=None, **more):
    labels = {
        "gpu": gpu,
        "UUID": uuid_on(gpu, host),
        "pci_bus_id": f"00000000:{0x1B + gpu * 0x10:02X}:00.0",
        "device": f"nvidia{gpu}",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": host,
        "DCGM_FI_DRIVER_VERSION": "550.54.15",
    }
    if pod:
        labels |= {"container": "main", "namespace": "train", "pod": pod}
    return ",".join(f'{key}="{value}"' for key, value in (labels | more).items())


def gpu_attributes(gpu, host="gpu-07", pod=None):
    """The same labels as the Prometheus receiver makes attributes of them."""
    labels = {"gpu": str(gpu), "UUID": GPUS[gpu], "device": f"nvidia{gpu}"}
    labels |= {"modelName": "NVIDIA H100 80GB HBM3", "Hostname": host}
    if pod:
        labels |= {"container": "main", "namespace": "train", "pod": pod}
    return labels


def scrape(samples, at=None, openmetrics=False):
    """samples: (metric, labels, value[, seconds]) of one scrape; at None: without a time"""
    seen = set()
    text = ""
    for metric, labels, value, *own in samples:
        is_counter = any(word in metric for word in COUNTERS)
        if metric not in seen:
            text += f"# HELP {metric} x.\n"
            text += f"# TYPE {metric} {'counter' if is_counter else 'gauge'}\n"
            seen.add(metric)
        seconds = own[0] if own else at
        time = ""
        if seconds is not None:
            time = f" {moment(seconds).timestamp():.3f}" if openmetrics else f" {millis(seconds)}"
        total = "_total" if openmetrics and is_counter else ""
        text += f"{metric}{total}{{{labels}}} {value}{time}\n"
    return text + ("# EOF\n" if openmetrics else "")


def healthy(gpu, host="gpu-07", pod=None, util=97, temp=62, clk=1755, xid=0):
    """What dcgm-exporter says of a GPU at work."""
    labels = gpu_labels(gpu, host, pod)
    return [
        (DCGM + "SM_CLOCK", labels, clk),
        (DCGM + "GPU_TEMP", labels, temp),
        (DCGM + "MEMORY_TEMP", labels, temp + 6),
        (DCGM + "POWER_USAGE", labels, "642.1"),
        (DCGM + "GPU_UTIL", labels, util),
        (DCGM + "XID_ERRORS", labels, xid),
    ]
