#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the pcie_aer cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import lines, main, when  # noqa: E402

GPU = "GPU-4f1c2a7e-5b1d-4c5e-9a51-0c2f5b7d9e11"
HOST = "gpu-07"


def kernel(at, text, part=0):
    """A line of a kernel log with ISO time; `part` is the microsecond."""
    return f"{when(at)[:-1]}.{part:06d}+00:00 {HOST} kernel: {text}\n"


def report(at, severity, layer, status, mask="00000000", device="0000:b3:00.0", port="0000:b2:01.0"):
    """One report as a kernel of 6.x logs it."""
    return (
        kernel(at, f"pcieport {port}: AER: {severity} error message received from {device}", 1)
        + kernel(at, f"nvidia {device}: PCIe Bus Error: severity={severity}, type={layer}, (Receiver ID)", 2)
        + kernel(at, f"nvidia {device}:   device [10de:2330] error status/mask={status}/{mask}", 3)
    )


def inventory(device="0000:b3:00", uuid=GPU, at=-60):
    return kernel(at, f"NVRM: GPU at PCI:{device}: {uuid}")


def log(*parts):
    return {"input/kernel.log": "".join(parts)}


def corrected(at, count=None, **more):
    ev = {
        "kind": "aer",
        "time": when(at),
        "k8s.node.name": HOST,
        "pci.bdf": "0000:b3:00.0",
        "severity": "corrected",
        "layer": "data_link",
        "errors": "BadTLP",
        "reporter": "0000:b2:01.0",
        "status": 64,
        "mask": 8192,
    }
    ev.update({"count": count} if count else {})
    ev.update(more)
    return ev


def metric(at, name, value, **more):
    ev = {
        "kind": "metric",
        "time": when(at),
        "k8s.node.name": HOST,
        "gpu.uuid": GPU,
        "gpu.index": 3,
        "metric": name,
        "value": value,
    }
    ev.update(more)
    return ev


def scrape(at, gen, width, util, gen_max=5, width_max=16, **more):
    pod = {"k8s.namespace.name": "train", "k8s.pod.name": "pretrain-worker-3", **more}
    out = [
        metric(at, "gpu_pcie_gen", gen, **pod),
        metric(at, "gpu_pcie_gen_max", gen_max, **pod),
        metric(at, "gpu_pcie_width", width, **pod),
        metric(at, "gpu_pcie_width_max", width_max, **pod),
    ]
    return out if util is None else out + [metric(at, "gpu_utilization", util, **pod)]


def scrapes(times, gen, width, util, **more):
    return [ev for at in times for ev in scrape(at, gen, width, util, **more)]


def events(*items):
    return {"input/events.ndjson": lines(*items)}


def fires_on_fatal_error():
    """A GPU reports a fatal error to its port; an earlier line says which GPU it is."""
    return log(inventory(), report(0, "Uncorrectable (Fatal)", "Data Link Layer", "00000020"))


def fires_on_fatal_error_of_port():
    """The port itself reports Surprise Down: which GPU hangs below it is not known."""
    port = "0000:00:02.0"
    return log(
        kernel(0, f"pcieport {port}: AER: Uncorrected (Fatal) error received: {port}", 1),
        kernel(
            0,
            f"pcieport {port}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
            2,
        ),
        kernel(0, f"pcieport {port}:   device [8086:6f04] error status/mask=00000020/00000000", 3),
    )


def fires_on_nonfatal_error_of_nic():
    """A network card, known by name from its own messages, times out on a completion."""
    nic = "0000:5c:00.0"
    return log(
        kernel(-90, f"mlx5_core {nic} ens1f0np0: Link up"),
        kernel(0, f"pcieport 0000:5b:00.0: AER: Uncorrected (Non-Fatal) error received: {nic}", 1),
        kernel(
            0, f"mlx5_core {nic}: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)", 2
        ),
        kernel(0, f"mlx5_core {nic}:   device [15b3:1021] error status/mask=00004000/00000000", 3),
    )


def fires_on_nonfatal_error_of_a_disk():
    """A disk times out on a completion, and its driver retries: no job loses what it carried."""
    disk = "0000:61:00.0"
    return log(
        kernel(0, f"pcieport 0000:60:01.0: AER: Uncorrected (Non-Fatal) error received: {disk}", 1),
        kernel(
            0, f"nvme {disk}: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)", 2
        ),
        kernel(0, f"nvme {disk}:   device [144d:a824] error status/mask=00004000/00000000", 3),
    )


def fires_on_fatal_after_corrected_storm():
    """Corrected errors become a storm, and then one is fatal: one incident."""
    storm = [corrected(i) for i in range(60)]
    return events(*storm, corrected(70, severity="fatal", errors="SDES", status=32, mask=0))


def fires_on_corrected_storm():
    """50 corrected errors in 245 seconds."""
    return log(
        inventory(), *(report(5 * i, "Correctable", "Data Link Layer", "00000040", "00002000") for i in range(50))
    )


def fires_on_suppressed_repeats():
    """Few events that stand for many."""
    return events(corrected(0, count=20), corrected(10, count=20), corrected(20, count=10))


def fires_on_rate_collapse_of_speed():
    """A busy GPU stays at Gen 1 of 5, with replays."""
    replays = [metric(at, "gpu_pcie_replays", 100 + 4 * at) for at in (0, 30, 60, 90)]
    items = scrapes((0, 30, 60, 90), 1, 16, 97) + replays
    return events(*sorted(items, key=lambda e: e["time"]))


def fires_on_rate_collapse_of_width():
    """A busy GPU lost half its lanes; the kernel had found fewer lanes when it started."""
    line = kernel(
        -600,
        "pci 0000:b3:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8 link at 0000:b3:00.0 "
        "(capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)",
    )
    return {
        "input/kernel.log": line + inventory(),
        "input/events.ndjson": lines(*scrapes((0, 30, 60), 5, 8, 88, **{"pci.bdf": "0000:b3:00.0"})),
    }


def fires_partial_on_width_without_utilization():
    """Lanes are missing, and nobody says whether the GPU is busy."""
    return events(*scrapes((0, 30, 60), 5, 8, None))


def fires_partial_on_line_and_busy_gpu():
    """The kernel found lanes missing at the GPU itself; no exporter samples the link, but it is busy."""
    line = {
        "kind": "pcie_link",
        "time": when(-600),
        "k8s.node.name": HOST,
        "pci.bdf": "0000:b3:00.0",
        "reporter": "0000:b3:00.0",
        "speed_gts": 32,
        "speed_gts_max": 32,
        "width": 4,
        "width_max": 16,
    }
    busy = [metric(at, "gpu_utilization", 75, **{"pci.bdf": "0000:b3:00.0"}) for at in (0, 30, 60)]
    return events(line, *busy)


def fires_with_configured_threshold():
    """Five corrected errors in a minute are a storm when the knobs say so."""
    return {
        **events(*(corrected(12 * i) for i in range(6))),
        "args": "--set=pcie_aer.corrected=5\n--set=pcie_aer.window=60s\n",
    }


def stays_quiet_on_corrected_trickle():
    """49 corrected errors in 300 seconds, and the 50th one second too late."""
    return events(*(corrected(6 * i) for i in range(49)), corrected(301))


def stays_quiet_on_masked_errors():
    """Errors that the mask hides are not errors, whatever their number."""
    return events(*(corrected(i, status=8192, errors="NonFatalErr") for i in range(100)))


def stays_quiet_on_idle_gpu():
    """An idle GPU slows its link down to save power, and one sample of work does not change that."""
    return events(*scrapes((0, 30, 60, 90), 1, 16, 0), *scrapes((120,), 1, 16, 40), *scrapes((150, 180), 5, 16, 96))


def stays_quiet_on_slow_speed_without_utilization():
    """Nobody says whether the GPU is busy: a slow link may be an idle one."""
    return events(*scrapes((0, 30, 60, 90), 1, 16, None))


def stays_quiet_on_slot_by_design():
    """A port above the GPU has eight lanes: that is how the machine was built."""
    line = kernel(
        -600,
        "pci 0000:b3:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8 link at 0000:b2:01.0 "
        "(capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)",
    )
    return {
        "input/kernel.log": line + inventory(),
        "input/events.ndjson": lines(*(metric(at, "gpu_utilization", 88) for at in (0, 30, 60, 90))),
    }


def degrades_storm():
    """Ten thousand corrected errors in a minute: one verdict."""
    return events(*(corrected(i // 9, count=20) for i in range(500)))


def degrades_replayed_events():
    """A collector tells everything twice: 30 errors are 30."""
    thirty = [corrected(i, uid=f"aer-{i}") for i in range(30)]
    return events(*(ev for ev in thirty for _ in range(2)))


def degrades_without_status():
    """Only headers: the rest of each report was lost. Fatal is fatal."""
    return log(kernel(0, "pcieport 0000:b2:01.0: AER: Multiple Uncorrected (Fatal) error received: 0000:b3:00.0"))


def resolved_when_storm_ends():
    """A storm, then quiet for more than the window."""
    return events(*(corrected(i) for i in range(80)), metric(500, "gpu_utilization", 50))


def resolved_when_rate_is_back():
    """The link is slow while busy, and then at its maximum while busy."""
    return events(*scrapes((0, 30, 60), 1, 16, 97), *scrapes((90, 120), 5, 16, 97))


if __name__ == "__main__":
    main(
        __file__,
        [
            case
            for name, case in list(globals().items())
            if name.startswith(("fires_", "stays_", "degrades_", "resolved_"))
        ],
    )
