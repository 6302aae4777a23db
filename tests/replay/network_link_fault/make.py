#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the network_link_fault cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import lines, main, nanoseconds, when  # noqa: E402


def metric(at, name, device, value, node="gpu-07"):
    return {
        "kind": "metric",
        "time": when(at),
        "k8s.node.name": node,
        "metric": name,
        "value": value,
        "device": device,
    }


def alive(start, end, node="gpu-07"):
    """The node lives: its GPUs are scraped every 30 seconds."""
    return [metric(at, "gpu_temperature", "", 50, node) for at in range(start, end + 1, 30)]


def kernel(*messages):
    """(seconds, message) as the journal prints them."""
    return "".join(
        f"{when(at)[:-1]}+00:00 gpu-07 kernel: {text}\n" for at, text in messages
    )


def mlx5(at, what, port="ens1f0np0", bus="5c"):
    return at, f"mlx5_core 0000:{bus}:00.0 {port}: Link {what}"


def ordered(events):
    return lines(*sorted(events, key=lambda event: event["time"]))


def fires_on_link_flap():
    """The kernel log of gpu-07 has three losses of one link in four minutes; the bond and the RDMA
    port on top of it report each of them again."""
    log = []
    for at in (0, 110, 240):
        log += [
            mlx5(at, "down"),
            (at, "mlx5_core 0000:5c:00.0 mlx5_3: Port: 1 Link DOWN"),
            (at + 1, "bond0: (slave ens1f0np0): link status definitely down, disabling slave"),
            mlx5(at + 6, "up"),
            (at + 6, "mlx5_core 0000:5c:00.0 mlx5_3: Port: 1 Link ACTIVE"),
            (at + 7, "bond0: (slave ens1f0np0): link status definitely up, 200000 Mbps full duplex"),
        ]
    return {"input/kern.log": kernel(*log)}


def fires_on_carrier_changes():
    """The same from counters: six carrier changes of an interface, three link failures of a port."""
    events = []
    for i in range(5):
        events.append(metric(60 * i, "net_carrier_changes", "ens3f0", 4 + (0, 2, 4, 6, 6)[i]))
        events.append(metric(60 * i, "ib_link_downed", "mlx5_0", 9 + (0, 0, 1, 3, 3)[i]))
    return {"input/metrics.ndjson": ordered(events)}


def fires_on_link_down():
    """A link goes down and stays down while its node goes on living."""
    return {
        "input/kern.log": kernel(mlx5(61, "down")),
        "input/metrics.ndjson": ordered(alive(0, 300)),
    }


def fires_on_port_state():
    """An InfiniBand port was active and is down in every sample of more than a minute."""
    states = [4, 4, 1, 1, 1, 1]
    return {
        "input/metrics.ndjson": ordered(
            [metric(30 * i, "ib_state", "mlx5_2", s) for i, s in enumerate(states)]
        )
    }


def fires_on_symbol_errors():
    """A bad cable: symbol errors go on growing."""
    return {
        "input/metrics.ndjson": ordered(
            [metric(60 * i, "ib_symbol_errors", "mlx5_4", 7000 + 45 * i) for i in range(8)]
        )
    }


def loss(shares, start=0, step=30, packets=200000):
    events = []
    total = dropped = 0
    for i, share in enumerate(shares):
        at = start + step * i
        events.append(metric(at, "net_receive_packets", "ens1f0np0", total))
        events.append(metric(at, "net_receive_drops", "ens1f0np0", dropped))
        events.append(metric(at, "net_receive_errors", "ens1f0np0", 0))
        total += packets
        dropped += round(packets * share)
    return events


def fires_on_packet_loss():
    """An interface drops 3 % of what it receives for two minutes."""
    return {"input/metrics.ndjson": ordered(loss([0, 0.03, 0.03, 0.03, 0.03, 0, 0]))}


def fires_on_ping_loss():
    """Two of a hundred probes to another node are lost, for over a minute: partial, since any hop may
    lose them."""
    return {
        "input/metrics.ndjson": ordered(
            [metric(30 * i, "ping_loss", "10.20.0.9", s) for i, s in enumerate([0, 0.02, 0.03, 0.02, 0.02])]
        )
    }


def fires_on_cable_fault():
    """A transceiver reports an error and high temperature; its port then flaps. One incident."""
    log = [
        (0, "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High Temperature"),
        mlx5(30, "down"),
        mlx5(36, "up"),
        mlx5(60, "down"),
        mlx5(66, "up"),
        mlx5(90, "down"),
        mlx5(97, "up"),
        (130, "NVRM: Xid (PCI:0000:b3:00): 43, pid=1, name=python, Ch 00000008"),
    ]
    return {"input/kern.log": kernel(*log)}


def fires_on_cable_fault_that_takes_the_link_down():
    """A transceiver reports an error; half a minute later its link goes down and stays down. Nothing
    gets through, which a cable fault alone does not mean."""
    log = [
        (31, "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, Bad or unsupported EEPROM"),
        mlx5(61, "down"),
    ]
    return {
        "input/kern.log": kernel(*log),
        "input/metrics.ndjson": ordered(alive(0, 300)),
    }


def fires_with_configured_flaps():
    """Two flaps are enough when the knob says so."""
    return {
        "input/kern.log": kernel(mlx5(0, "down"), mlx5(5, "up"), mlx5(60, "down"), mlx5(65, "up")),
        "args": "--set\nnetwork_link_fault.flaps=2\n",
    }


def degrades_after_a_gap():
    """The node was silent after its link went down: it may have been rebooted. Long after it is back
    the link is still down: partial."""
    return {
        "input/kern.log": kernel(mlx5(0, "down")),
        "input/metrics.ndjson": ordered(alive(300, 600)),
    }


def degrades_two_logs_of_one_node():
    """The same three losses in two copies of one log, a second apart: still three."""
    once = [mlx5(at, "down") for at in (0, 100, 200)] + [mlx5(at + 20, "up") for at in (0, 100, 200)]
    once.sort()
    return {
        "input/kern.log": kernel(*once),
        "input/copy.log": kernel(*[(at + 1, text) for at, text in once]),
    }


def degrades_port_without_a_name():
    """An old driver names neither card nor port in its error."""
    return {
        "input/kern.log": kernel(
            (0, "mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 0, Cable error, Bus stuck")
        )
    }


def resolved_when_link_comes_up():
    """A link is down for three minutes and comes back."""
    return {
        "input/kern.log": kernel(mlx5(61, "down"), mlx5(241, "up")),
        "input/metrics.ndjson": ordered(alive(0, 600)),
    }


def resolved_when_flapping_ends():
    """Three losses, then ten minutes without."""
    log = []
    for at in (0, 60, 120):
        log += [mlx5(at, "down"), mlx5(at + 4, "up")]
    return {"input/kern.log": kernel(*log), "input/metrics.ndjson": ordered(alive(0, 900))}


def stays_quiet_on_single_flap():
    """One loss, and another an hour later."""
    return {
        "input/kern.log": kernel(mlx5(0, "down"), mlx5(9, "up"), mlx5(3600, "down"), mlx5(3609, "up"))
    }


def stays_quiet_on_reboot():
    """All ports go down, the node is silent for four minutes, all ports come up."""
    ports = [("ens1f0np0", "5c"), ("ens2f0np0", "6d"), ("ens3f0np0", "8a"), ("ens4f0np0", "9b")]
    log = [mlx5(61 + i, "down", *p) for i, p in enumerate(ports)]
    log += [mlx5(320 + i, "up", *p) for i, p in enumerate(ports)]
    return {
        "input/kern.log": kernel(*log),
        "input/metrics.ndjson": ordered(alive(0, 60) + alive(300, 900)),
    }


def stays_quiet_on_driver_reload():
    """The driver of four ports is loaded again three times: they go down together each time."""
    ports = [("ens1f0np0", "5c"), ("ens2f0np0", "6d"), ("ens3f0np0", "8a"), ("ens4f0np0", "9b")]
    log = []
    for at in (0, 100, 200):
        log += [mlx5(at + i, "down", *p) for i, p in enumerate(ports)]
        log += [mlx5(at + 30 + i, "up", *p) for i, p in enumerate(ports)]
    return {"input/kern.log": kernel(*log), "input/metrics.ndjson": ordered(alive(0, 600))}


def stays_quiet_on_unused_port():
    """A port without a cable was never up; pods come and go on virtual interfaces."""
    events = alive(0, 600)
    for i in range(20):
        events.append(metric(30 * i, "net_up", "ens5f0", 0))
        events.append(metric(30 * i, "ib_state", "mlx5_7", 1))
        events.append(metric(30 * i, "net_carrier_changes", "cali317e2eeb40", 2 * i))
    return {"input/metrics.ndjson": ordered(events)}


def node_exporter(rows):
    """node_network_up and node_network_info of one interface; rows: time, up, adminstate."""
    return {
        "input/node.prom": "".join(
            f'node_network_up{{device="ens1f0np0",node="gpu-07"}} {up} {nanoseconds(at) // 1_000_000}\n'
            f'node_network_info{{adminstate="{admin}",device="ens1f0np0",duplex="full",node="gpu-07",'
            f'operstate="{"up" if up else "down"}"}} 1 {nanoseconds(at) // 1_000_000}\n'
            for at, up, admin in rows
        )
    }


def stays_quiet_on_port_taken_down():
    """Somebody takes a port down for maintenance; its adminstate says so."""
    return node_exporter([(15 * i, int(i < 4), "up" if i < 4 else "down") for i in range(20)])


def fires_on_port_meant_to_be_up():
    """The same, but the port is meant to be up."""
    return node_exporter([(15 * i, int(i < 4), "up") for i in range(20)])


def stays_quiet_on_idle_drops():
    """A quiet port drops half of its few packets; a busy one one of a thousand."""
    return {"input/metrics.ndjson": ordered(loss([0.5] * 10, packets=300) )}


def stays_quiet_on_dead_target():
    """A probed node is down: every probe is lost, which says nothing of the way to it."""
    return {
        "input/metrics.ndjson": ordered(
            [metric(30 * i, "ping_loss", "10.20.0.9", 1) for i in range(10)]
        )
    }


def stays_quiet_on_counter_reset():
    """Counters start again after a restart of their producer."""
    values = [250, 251, 0, 1, 1]
    return {
        "input/metrics.ndjson": ordered(
            [metric(60 * i, "ib_link_downed", "mlx5_0", v) for i, v in enumerate(values)]
        )
    }


def completion(seconds, status):
    return (f"{when(seconds)} gpu07:984:1357 [4] transport/net_ib.cc:1476 NCCL WARN NET/IB : Got "
            f"completion from peer 10.20.0.9<44206> with status={status} opcode=0 len=0 vendor err "
            "129 (Recv)\n")


def fires_on_ib_retry_exceeded():
    """NCCL's log: a peer acknowledges nothing; what was queued behind it is flushed."""
    return {"input/nccl.log": completion(0, 12) + completion(1, 12) + completion(1, 5)}


def stays_quiet_on_flushed_transfers():
    """Flushed transfers, and one that the program was not allowed to make."""
    return {"input/nccl.log": completion(0, 5) + completion(1, 10)}


if __name__ == "__main__":
    main(__file__, [case for name, case in sorted(globals().items())
                    if name.startswith(("fires_", "degrades_", "stays_quiet_", "resolved_"))])
