#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the nvlink_degraded cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import lines, main, nanoseconds, when  # noqa: E402

GPU = "GPU-4f1c2a7e-5b1d-4c5e-9a51-0c2f5b7d9e11"
HOST = "gpu-07"
SWITCH = "0000:05:00.0"


def kernel(at, text, part=0):
    """A line of a kernel log with ISO time; `part` is the microsecond."""
    return f"{when(at)[:-1]}.{part:06d}+00:00 {HOST} kernel: {text}\n"


def sxid(at, rest, code=20034, switch=SWITCH, part=0):
    return kernel(at, f"nvidia-nvswitch0: SXid (PCI:{switch}): {code}, {rest}", part)


def xid(at, rest, device="0000:b3:00", part=0):
    return kernel(at, f"NVRM: Xid (PCI:{device}): {rest}", part)


def log(*parts):
    return {"input/kernel.log": "".join(parts)}


def metric(at, name, value, link=None, **more):
    ev = {
        "kind": "metric",
        "time": when(at),
        "k8s.node.name": HOST,
        "gpu.uuid": GPU,
        "gpu.index": 3,
        "metric": name,
        "value": value,
    }
    ev.update({} if link is None else {"device": str(link)})
    ev.update(more)
    return ev


def states(at, *values):
    return [metric(at, "nvlink_state", value, link) for link, value in enumerate(values)]


def events(*items):
    return {"input/events.ndjson": lines(*items)}


def fires_on_fatal_sxid():
    """Two links of one switch go down, as the driver prints it: three lines an error."""
    return log(
        sxid(-300, "Non-fatal, Link 30 egress non-posted PRIV error", code=12028),
        sxid(0, "Fatal, Link 30 LTSSM Fault Up", part=100),
        sxid(0, "Severity 1 Engine instance 30 Sub-engine instance 00", part=110),
        sxid(0, "Data {0x50610002, 0x10100030}", part=120),
        sxid(1, "Fatal, Link 28 LTSSM Fault Up", part=100),
    )


def fires_on_fatal_sxid_with_its_gpus():
    """Eight GPUs lose links when the switch fails, some a moment before it says so: one incident."""
    return log(
        *(xid(0, f"74, NVLink: fatal error detected on link {i}(0x0, 0x0)", f"0000:{0x1B + i:02x}:00", i) for i in range(3)),
        sxid(1, "Fatal, Link 12 Minion Halt", code=22003),
        *(
            xid(3, f"74, NVLink: fatal error detected on link {i}(0x0, 0x0)", f"0000:{0x1B + i:02x}:00", i)
            for i in range(3, 8)
        ),
    )


def fires_partial_on_sxid_without_severity():
    """The line that says Fatal was lost; the number says it."""
    return log(sxid(0, "Data {0x50610002, 0x10100030}"))


def fires_on_xid_74():
    """One GPU, no switch."""
    return log(
        kernel(-60, f"NVRM: GPU at PCI:0000:b3:00: {GPU}"),
        kernel(-30, "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!"),
        xid(0, "74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000)"),
    )


def fires_on_xid_74_with_registers():
    """The seven registers: a parity error, a marginal signal, one bit that is harmless and one that
    the catalogue does not describe."""
    line = "74, pid=4711, name=python, NVLink: fatal error detected on link {}({}, 0x0, {}, 0x0, 0x0, 0x0, 0x0)"
    return log(xid(0, line.format(6, "0x200001", "0x0")), xid(1, line.format(6, "0x4", "0x40")))


def fires_on_nvlink5_xid():
    """A link of a Blackwell GPU goes down."""
    return log(
        xid(-5, "149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 08 (0x00082226 0x00000001 0x00000000 0x00000000)"),
        xid(0, "149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000 0x00000000)"),
    )


def fires_on_link_down():
    """Two of four links are down in the third scrape."""
    return events(*states(0, 3, 3, 3, 3), *states(30, 3, 3, 3, 3), *states(60, 3, 2, 3, 1), *states(90, 3, 2, 3, 1))


def switch_scrapes(values):
    """dcgm-exporter's samples of the links of a switch: 2 is active, 3 an error."""
    head = "# TYPE DCGM_FI_DEV_NVSWITCH_LINK_STATUS gauge\n"
    return {
        "input/dcgm.prom": head
        + "".join(
            f'DCGM_FI_DEV_NVSWITCH_LINK_STATUS{{nvlink="{link}",nvswitch="nvswitch1",Hostname="{HOST}"}} {value} {nanoseconds(15 * i) // 1_000_000}\n'
            for i, row in enumerate(values)
            for link, value in enumerate(row)
        )
    }


def fires_on_link_down_of_switch():
    """A link of a switch that was active is in error, and stays so; another was never active."""
    return switch_scrapes([(2, 2, 0, 3)] * 3 + [(2, 3, 0, 3)] * 4)


def resolved_when_links_of_switch_are_up():
    """A link of a switch goes down, and is active again."""
    return switch_scrapes([(2, 2)] * 2 + [(2, 3)] * 3 + [(2, 2)] * 2)


def stays_quiet_on_links_of_switch_never_up():
    """Links of a switch that are off or in error from the first sample on, and one on its way up."""
    return switch_scrapes([(3, 0, 1)] * 3 + [(2, 0, 2)] * 4)


def fires_on_error_storm():
    """CRC errors on one link, by the hundred a scrape."""
    items = []
    for i in range(9):
        items.append(metric(30 * i, "nvlink_crc_flit_errors", 5000 + 300 * i, 4))
        items.append(metric(30 * i, "nvlink_crc_flit_errors", 17, 5))
        items.append(metric(30 * i, "nvlink_crc_flit_errors", 5017 + 300 * i))
        items.append(metric(30 * i, "nvlink_replay_errors", 10 * i, 4))
        items.append(metric(30 * i, "nvlink_recovery_errors", i // 4, 4))
    return events(*items)


def fires_with_configured_threshold():
    """Two recoveries in five minutes are too many when the knob says so."""
    return {
        **events(*(metric(30 * i, "nvlink_recovery_errors", i) for i in range(3))),
        "args": "--set=nvlink_degraded.recoveries=2\n",
    }


def stays_quiet_on_nonfatal_sxids():
    """A switch corrects what it can; a line of the same error without severity changes nothing."""
    return log(
        sxid(0, "Non-fatal, Link 32 egress non-posted PRIV error (First)", code=12028),
        sxid(5, "Non-fatal, Link 32 broken connection", code=20012),
        sxid(6, "Non-fatal, Link 12 ECC limit", code=11012),
        sxid(7, "Non-fatal, Link 30 LTSSM Fault Up", part=10),
        sxid(7, "Data {0x50610002, 0x10100030}", part=20),
        sxid(8, "Data {0x1, 0x2}", code=11111),
    )


def stays_quiet_on_nonfatal_xids():
    """NVLink 5 errors that are not fatal, and Xids of other sorts."""
    return log(
        xid(0, "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000 0x00000000)"),
        xid(1, "149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 01 (0x00082226 0x00000001 0x00000000 0x00000000)"),
        xid(2, "31, pid=4711, name=python, Ch 00000008, intr 00000000. MMU Fault"),
        xid(3, "79, GPU has fallen off the bus."),
    ) | {"args": "--only=nvlink_degraded\n"}


def stays_quiet_on_links_never_up():
    """A board that does not use all its links: they are disabled or down from the first sample on."""
    return events(*(ev for i in range(5) for ev in states(30 * i, 3, 3, 1, 2, 0)))


def stays_quiet_on_few_errors():
    """A recovery or two, a few CRC errors, and counters that start again with the driver."""
    items = []
    for i in range(12):
        items.append(metric(30 * i, "nvlink_crc_flit_errors", 90000 + i if i < 6 else 20 * i, 4))
        items.append(metric(30 * i, "nvlink_replay_errors", 5, 4))
        items.append(metric(30 * i, "nvlink_recovery_errors", i // 6, 4))
    return events(*items)


def stays_quiet_on_slow_rise_between_far_samples():
    """5000 CRC errors in six hours, seen in two samples."""
    return events(metric(0, "nvlink_crc_flit_errors", 0), metric(21600, "nvlink_crc_flit_errors", 5000))


def degrades_replayed_events():
    """Two collectors hand in the same kernel log."""
    text = sxid(0, "Fatal, Link 30 LTSSM Fault Up")
    return {"input/a.log": text, "input/b.log": text + kernel(1, "nvme nvme0: I/O 0 QID 1 timeout, aborting")}


def degrades_storm():
    """A thousand fatal SXids of one switch in ten seconds: one verdict."""
    return log(
        *(sxid(i // 100, f"Fatal, Link {i % 40} LTSSM Fault Up", part=i % 100 * 10) for i in range(1000))
    )


def degrades_without_node():
    """A kernel log without a host name."""
    text = log(sxid(0, "Fatal, Link 30 LTSSM Fault Up"))["input/kernel.log"]
    return {"input/kernel.log": text.replace(f" {HOST} kernel:", " kernel:")}


def resolved_when_links_are_up():
    """A link goes down and comes back after a reset."""
    return events(*states(0, 3, 3), *states(30, 3, 2), *states(60, 3, 2), *states(90, 3, 3), *states(120, 3, 3))


def resolved_when_storm_ends():
    """Replays by the dozen, then none for longer than the window."""
    rising = [metric(30 * i, "nvlink_replay_errors", 40 * i, 4) for i in range(6)]
    return events(*rising, *(metric(150 + 30 * i, "nvlink_replay_errors", 200, 4) for i in range(1, 14)))


if __name__ == "__main__":
    main(
        __file__,
        [
            case
            for name, case in list(globals().items())
            if name.startswith(("fires_", "stays_", "degrades_", "resolved_"))
        ],
    )
