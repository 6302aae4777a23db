#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the thermal_throttle cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import lines, main, nanoseconds, uid, when  # noqa: E402

HW_THERMAL = 0x48
SW_THERMAL = 0x20
POWER_BRAKE = 0x88
HW_SLOWDOWN = 0x8
POWER_CAP = 0x4


def sample(at, metric, value, gpu=3, node="gpu-07", **more):
    return {
        "kind": "metric",
        "time": when(at),
        "k8s.node.name": node,
        "k8s.namespace.name": "train",
        "k8s.pod.name": f"pretrain-{node}",
        "gpu.uuid": "GPU-" + uid("gpu", node, str(gpu)),
        "gpu.index": gpu,
        "metric": metric,
        "value": value,
        **more,
    }


def scrapes(first, last, bits, celsius=None, step=15, **where):
    """Reasons, and the temperature where one is given, every `step` seconds."""
    out = []
    for at in range(first, last + 1, step):
        if celsius is not None:
            out.append(sample(at, "gpu_temperature", celsius, **where))
        out.append(sample(at, "gpu_throttle_reasons", bits, **where))
    return out


def only(*samples):
    """Other patterns see these events too; they have cases of their own."""
    return {"args": "--only=thermal_throttle\n", "input/metrics.ndjson": lines(*samples)}


def fires_on_hw_thermal():
    """One GPU is slowed by its hardware, for heat, and stays so until the input ends."""
    memory = [sample(at, "gpu_memory_temperature", 99) for at in (600, 660)]
    return only(*scrapes(540, 585, 0, 84), *scrapes(600, 720, HW_THERMAL, 91), *memory)


def fires_on_hw_thermal_at_the_end():
    """The input ends before the grace does: told all the same."""
    return only(*scrapes(600, 645, HW_THERMAL, 91))


def gauges(rows):
    """nvidia_gpu_exporter: a gauge for each reason, its own names for all, and no node."""
    reasons = ("gpu_idle", "hw_power_brake_slowdown", "hw_slowdown", "hw_thermal_slowdown", "sw_power_cap", "sw_thermal_slowdown")
    out = []
    for at, active, celsius in rows:
        stamp = nanoseconds(at) // 1_000_000
        label = '{uuid="4f1c2a7e-5b1d-4c5e-9a51-0c2f5b7d9e11"}'
        out += [
            f"nvidia_smi_clocks_event_reasons_{name}{label} {int(name in active)} {stamp}\n" for name in reasons
        ]
        out.append(f"nvidia_smi_temperature_gpu{label} {celsius} {stamp}\n")
    return {"args": "--only=thermal_throttle\n--node=gpu-07=smi.prom\n", "input/smi.prom": "".join(out)}


def fires_on_gauges_of_single_reasons():
    """An exporter with a gauge for each reason: the slowdown that comes with the heat is not told apart."""
    hot = ("hw_slowdown", "hw_thermal_slowdown")
    return gauges([(0, (), 80)] + [(15 * i, hot, 90 + i) for i in range(1, 4)])


def resolved_when_gauges_are_clear():
    """The same, and then a minute without."""
    return gauges([(15 * i, ("sw_thermal_slowdown",), 88) for i in range(4)] + [(60 + 15 * i, ("sw_power_cap",), 70) for i in range(7)])


def stays_quiet_on_gauges_of_harmless_reasons():
    """Idle, or at the power cap, and one sample of heat."""
    return gauges([(15 * i, ("gpu_idle",) if i < 5 else ("sw_power_cap",), 60) for i in range(9)] + [(140, ("hw_thermal_slowdown",), 88)])


def fires_on_sw_thermal():
    """The driver lowers the clocks for heat."""
    return only(*scrapes(600, 720, SW_THERMAL, 86))


def fires_on_power_brake():
    """The power supply of the node asks for lower clocks."""
    return only(*scrapes(600, 720, POWER_BRAKE, 61))


def fires_on_hw_slowdown():
    """The hardware slows the GPU and does not say why."""
    return only(*scrapes(600, 720, HW_SLOWDOWN, 70))


def fires_at_the_edge_of_the_time():
    """Two samples, exactly 30 seconds apart."""
    return only(*scrapes(600, 630, HW_THERMAL, 91, step=30))


def fires_partial_without_temperature():
    """No temperature was exported."""
    return only(*scrapes(600, 720, HW_THERMAL))


def fires_on_violation_counter():
    """No reasons are exported, but the time slowed by heat grows by 12 of every 15 seconds."""
    out = []
    for i in range(9):
        out.append(sample(600 + 15 * i, "gpu_temperature", 87))
        out.append(sample(600 + 15 * i, "gpu_thermal_violation", 7_000_000_000 + 12_000_000_000 * i))
    return only(*out)


def fires_on_node():
    """Four GPUs of one node within half a minute: the node's cooling."""
    out = []
    for gpu in range(4):
        out += scrapes(600 + 5 * gpu, 720, HW_THERMAL, 88 + gpu, gpu=gpu)
    return only(*out, *scrapes(600, 720, POWER_CAP, 70, gpu=4))


def fires_on_rack():
    """Two nodes of one rack at once: the rack's cooling. A third node of it stays cool."""
    out = []
    for node in ("gpu-07", "gpu-08"):
        for gpu in (0, 1):
            out += scrapes(600, 720, HW_THERMAL, 90, gpu=gpu, node=node, rack="r12")
    return only(*out, *scrapes(600, 720, 0, 65, gpu=0, node="gpu-09", rack="r12"))


def fires_as_one_when_it_spreads():
    """One GPU, minutes later a second of its node, then another node of the rack: one incident
    that grows."""
    where = {"rack": "r12"}
    return only(
        *scrapes(600, 1500, HW_THERMAL, 91, gpu=0, **where),
        *scrapes(900, 1500, HW_THERMAL, 90, gpu=1, **where),
        *scrapes(1200, 1500, SW_THERMAL, 88, gpu=0, node="gpu-08", **where),
        *scrapes(1200, 1500, SW_THERMAL, 87, gpu=1, node="gpu-08", **where),
    )


def fires_on_each_of_two_gpus_in_a_rack():
    """One GPU of each of two nodes of a rack: two GPUs, not the cooling of the rack."""
    where = {"rack": "r12"}
    return only(
        *scrapes(600, 720, HW_THERMAL, 91, gpu=0, **where),
        *scrapes(600, 720, HW_THERMAL, 90, gpu=3, node="gpu-08", **where),
    )


def fires_on_each_node_without_a_rack():
    """Two nodes of which nobody knows the rack: two incidents."""
    return only(
        *scrapes(600, 720, HW_THERMAL, 91, node="gpu-07"),
        *scrapes(600, 720, HW_THERMAL, 91, node="gpu-08"),
    )


def stays_quiet_on_power_cap():
    """The power cap, application clocks and idle clocks are how GPUs are run; so is a hot one."""
    caps = [sample(at, "gpu_power_violation", at * 1_000_000_000) for at in range(600, 900, 15)]
    return only(
        *scrapes(600, 900, POWER_CAP, 92, gpu=0),
        *scrapes(600, 900, 0x1, 35, gpu=1),
        *scrapes(600, 900, 0x2, 60, gpu=2),
        *scrapes(600, 900, 0x110, 60, gpu=3),
        *caps,
    )


def stays_quiet_on_short_slowdowns():
    """Slowed for a quarter of a minute, clear, slowed again: never for 30 seconds on end."""
    out = []
    for at in range(600, 1200, 60):
        out += scrapes(at, at + 15, HW_THERMAL, 89) + scrapes(at + 30, at + 45, 0, 84)
    return only(*out)


def stays_quiet_on_one_sample():
    """Once is no proof of 30 seconds."""
    return only(*scrapes(585, 585, 0, 80), *scrapes(600, 600, HW_THERMAL, 91))


def stays_quiet_on_rare_samples():
    """Slowed in each of two samples an hour apart: nobody saw what was in between."""
    return only(*scrapes(600, 4200, HW_THERMAL, 91, step=3600))


def stays_quiet_on_little_violation():
    """The time slowed by heat grows, by a tenth of the time; then its counter starts again."""
    name = "gpu_thermal_violation"
    out = [sample(600 + 15 * i, name, 500e9 + 1.5e9 * i) for i in range(20)]
    return only(*out, sample(900, name, 0), sample(915, name, 0))


def degrades_duplicate_samples():
    """Two collectors scrape the same exporter, and one of them tells everything twice."""
    told = scrapes(600, 720, HW_THERMAL, 91)
    other = scrapes(607, 720, HW_THERMAL, 91)
    files = only(*told, *told)
    return {**files, "input/other.ndjson": lines(*other)}


def degrades_missing_samples():
    """Some scrapes failed, none for longer than the gap."""
    return only(*scrapes(600, 900, HW_THERMAL, 91, step=150))


def resolved_when_clear():
    """Both GPUs of a node are clear again for a minute."""
    out = []
    for gpu in (0, 1):
        out += scrapes(600, 720, HW_THERMAL, 91, gpu=gpu)
        out += scrapes(735, 900, 0, 75, gpu=gpu)
    return only(*out)


def host_engine(at, system, message, severity="WARNING"):
    """A line of nv-hostengine.log."""
    return (f"{when(at).replace('T', ' ').rstrip('Z')}.000 ERROR [1514:1520] [[Health]] Detected a {severity} in "
            f"health system {system}: '{message}' [/workspaces/dcgm/Health.cpp:77] [Check]\n")


def fires_on_what_dcgm_says():
    """DCGM's health monitor says that heat slows a GPU: no samples are needed."""
    slowed = "Detected clocks event due to thermal violation in GPU 2. Verify the cooling."
    return {"args": "--node=gpu-07=nv-hostengine.log\n",
            "input/nv-hostengine.log": host_engine(600, "Thermal", slowed) + host_engine(660, "Thermal", slowed)}


def stays_quiet_on_other_findings_of_dcgm():
    """A power violation, and a temperature above a limit that somebody set."""
    power = "Detected clocks event due to power violation in GPU 2."
    warm = "Temperature 71 of GPU 2 exceeded user-specified maximum allowed temperature 70"
    return {"input/nv-hostengine.log": host_engine(600, "Power", power) + host_engine(660, "Thermal", warm)}


CASES = [
    fires_on_hw_thermal,
    fires_on_hw_thermal_at_the_end,
    fires_on_gauges_of_single_reasons,
    fires_on_sw_thermal,
    fires_on_power_brake,
    fires_on_hw_slowdown,
    fires_at_the_edge_of_the_time,
    fires_partial_without_temperature,
    fires_on_violation_counter,
    fires_on_node,
    fires_on_rack,
    fires_as_one_when_it_spreads,
    fires_on_each_of_two_gpus_in_a_rack,
    fires_on_each_node_without_a_rack,
    stays_quiet_on_power_cap,
    stays_quiet_on_short_slowdowns,
    fires_on_what_dcgm_says,
    stays_quiet_on_other_findings_of_dcgm,
    stays_quiet_on_one_sample,
    stays_quiet_on_rare_samples,
    stays_quiet_on_little_violation,
    stays_quiet_on_gauges_of_harmless_reasons,
    degrades_duplicate_samples,
    degrades_missing_samples,
    resolved_when_clear,
    resolved_when_gauges_are_clear,
]

if __name__ == "__main__":
    main(__file__, CASES)
