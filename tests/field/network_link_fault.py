# SPDX-License-Identifier: Apache-2.0
"""network_link_fault: ports that flap, go down or lose packets."""

import json

from field import Pattern
from kernel import dmesg_line, kernel_line
from otlp import attributes
from when import millis, nanos

case = Pattern("network_link_fault")


def ping(value, at, metric="ping_loss_ratio"):
    """ping_exporter"""
    labels = 'target="gpu-d5",ip="10.0.0.5",ip_version="4",node="gpu-d4"'
    return "%s{%s} %g %d\n" % (metric, labels, value, millis(at))


def flap(s, dur=3, dev="ens1f0np0", bdf="0000:5c:00.0"):
    return (
        kernel_line(s, "gpu-d4", "mlx5_core %s %s: Link down" % (bdf, dev))
        + kernel_line(s + dur, "gpu-d4", "mlx5_core %s %s: Link up" % (bdf, dev))
    )


OTHER_LINES = "".join(
    kernel_line(x, "gpu-d4", "systemd-journald[1]: x")
    for x in range(0, 1200, 20)
)

case.fires(
    "net_f1_3flaps",
    {"k.log": flap(0) + flap(200) + flap(600)},
    node="gpu-d4", disc="link_flap", device="ens1f0np0",
)

case.fires(
    "net_f2_ib_downed",
    {
        "n.prom": "".join(
            (
                "# TYPE node_infiniband_link_downed_total counter\n"
                'node_infiniband_link_downed_total{device="mlx5_0",port="1",node="gpu-d4"} %d '
                "%d\n"
            ) % (7 + min(3, x // 60), millis(x))
            for x in range(0, 400, 30)
        ),
    },
    node="gpu-d4", disc="link_flap", device="mlx5_0",
)

case.fires(
    "net_f3_ping",
    {
        "ping.prom": "".join(
            "# TYPE ping_loss_ratio gauge\n" + ping(0.02, x)
            for x in range(0, 121, 15)
        ),
    },
    node="gpu-d4", disc="packet_loss",
)

case.fires(
    "net_f4_dropped",
    {
        "n.prom": "".join(
            (
                'node_network_receive_packets_total{device="ens1f0",node="gpu-d4"} %d %d\n'
                'node_network_receive_drop_total{device="ens1f0",node="gpu-d4"} %d %d\n'
            ) % (1000000 + x * 10000, millis(x), 5 + x * 300, millis(x))
            for x in range(0, 121, 15)
        ),
    },
    node="gpu-d4", disc="packet_loss", device="ens1f0",
)

case.fires(
    "net_f5_symbol",
    {
        "n.prom": "".join(
            'node_infiniband_symbol_error_total{device="mlx5_2",port="1",node="gpu-d4"} %d %d\n' % (
                x * 20,
                millis(x),
            )
            for x in range(0, 121, 15)
        ),
    },
    node="gpu-d4", disc="symbol_errors",
)

case.fires(
    "net_f6_cable",
    {
        "k.log": kernel_line(
            0,
            "gpu-d4",
            (
                "mlx5_core 0000:5c:00.0: mlx5_port_module_event:1131:(pid 0): Port module "
                "event[error]: module 0, Cable error, High Temperature"
            ),
        ),
    },
    node="gpu-d4", disc="cable_fault",
)

case.fires(
    "net_f7_down_stays",
    {
        "k.log": kernel_line(0, "gpu-d4", "mlx5_core 0000:5c:00.0 ens1f0np0: Link down"),
        "n.prom": "".join(
            'node_vmstat_oom_kill{node="gpu-d4"} 0 %d\n' % millis(x)
            for x in range(0, 181, 15)
        ),
    },
    node="gpu-d4", disc="link_down", device="ens1f0np0",
)

case.fires(
    "net_f8_ib_state",
    {
        "n.prom": "".join(
            'node_infiniband_state_id{device="mlx5_0",port="1",node="gpu-d4"} %d %d\n' % (
                4 if x < 60 else 1,
                millis(x),
            )
            for x in range(0, 301, 15)
        ),
    },
    node="gpu-d4", disc="link_down", device="mlx5_0",
)

case.fires(
    "net_f9_carrier_otlp",
    {
        "m.json": "".join(
            (
                json.dumps(
                    {
                        "resourceMetrics": [
                            {
                                "resource": {"attributes": attributes({"k8s.node.name": "gpu-d4"})},
                                "scopeMetrics": [
                                    {
                                        "metrics": [
                                            {
                                                "name": "node_network_carrier_changes_total",
                                                "sum": {
                                                    "aggregationTemporality": 2,
                                                    "isMonotonic": True,
                                                    "dataPoints": [
                                                        {
                                                            "timeUnixNano": nanos(x),
                                                            "asDouble": 4 + 2 * min(3, x // 60),
                                                            "attributes": attributes(
                                                                {"device": "ib0"},
                                                            ),
                                                        },
                                                    ],
                                                },
                                            },
                                        ],
                                    },
                                ],
                            },
                        ],
                    },
                )
                + "\n"
            )
            for x in range(0, 301, 30)
        ),
    },
    node="gpu-d4", disc="link_flap", device="ib0",
)

case.fires(
    "net_f10_dmesg_noname",
    {
        "dmesg-gpu-d4.txt": "".join(
            (
                dmesg_line(s, "mlx5_core 0000:5c:00.0 ibp92s0: Link down")
                + dmesg_line(s + 2, "mlx5_core 0000:5c:00.0 ibp92s0: Link up")
            )
            for s in (0, 100, 250)
        ),
    },
    args=["--node", "gpu-d4=dmesg-gpu-d4.txt"], node="gpu-d4", disc="link_flap", device="ibp92s0",
)

case.fires(
    "net_f11_bnxt_journal",
    {
        "j.json": "".join(
            (
                json.dumps(
                    {
                        "__REALTIME_TIMESTAMP": str(millis(s) * 1000),
                        "_TRANSPORT": "kernel",
                        "_HOSTNAME": "gpu-d4",
                        "SYSLOG_IDENTIFIER": "kernel",
                        "PRIORITY": "3",
                        "MESSAGE": m,
                    },
                )
                + "\n"
            )
            for s, m in [
                (x + d, mm)
                for x in (0, 90, 300)
                for d, mm in (
                    (0, "bnxt_en 0000:41:00.0 eth2: NIC Link is Down"),
                    (
                        4,
                        (
                            "bnxt_en 0000:41:00.0 eth2: NIC Link is Up, 100000 Mbps full duplex, "
                            "Flow control: none"
                        ),
                    ),
                )
            ]
        ),
    },
    node="gpu-d4", disc="link_flap", device="eth2",
)

case.fires(
    "net_f12_ping_60s",
    {
        "ping.prom": "".join(
            ping(0.05 if 60 <= x <= 120 else 0, x)
            for x in range(0, 300, 15)
        ),
    },
    node="gpu-d4", disc="packet_loss",
)

case.silent("net_q1_single_flap", {"k.log": flap(0) + OTHER_LINES})
case.silent("net_q2_two_flaps", {"k.log": flap(0) + flap(100) + OTHER_LINES})
case.silent("net_q3_three_in_601", {"k.log": flap(0) + flap(200) + flap(601)})
case.silent(
    "net_q4_reboot",
    {
        "k.log": (
            kernel_line(0, "gpu-d4", "mlx5_core 0000:5c:00.0 ens1f0np0: Link down")
            + kernel_line(0, "gpu-d4", "mlx5_core 0000:5c:00.1 ens1f1np1: Link down")
            + kernel_line(1, "gpu-d4", "mlx5_core 0000:9b:00.0 ens2f0np0: Link down")
            + kernel_line(2, "gpu-d4", "reboot: Restarting system")
            + kernel_line(
                240,
                "gpu-d4",
                "Linux version 5.15.0-105-generic (buildd@lcy02) (gcc) #115-Ubuntu SMP",
            )
            + "".join(
                kernel_line(270, "gpu-d4", "mlx5_core %s: Link up" % x)
                for x in (
                    "0000:5c:00.0 ens1f0np0",
                    "0000:5c:00.1 ens1f1np1",
                    "0000:9b:00.0 ens2f0np0",
                )
            )
        ),
    },
)

case.silent(
    "net_q4b_reboot_two_ports",
    {
        "k.log": (
            kernel_line(
                0,
                "gpu-d4",
                "systemd-shutdown[1]: Sending SIGTERM to remaining processes...",
            )
            + kernel_line(0, "gpu-d4", "mlx5_core 0000:5c:00.0 ens1f0np0: Link down")
            + kernel_line(0, "gpu-d4", "mlx5_core 0000:5c:00.1 ens1f1np1: Link down")
            + kernel_line(2, "gpu-d4", "reboot: Restarting system")
            + kernel_line(
                240,
                "gpu-d4",
                "Linux version 5.15.0-105-generic (buildd@lcy02) (gcc) #115-Ubuntu SMP",
            )
            + kernel_line(245, "gpu-d4", "Command line: BOOT_IMAGE=/vmlinuz")
            + "".join(
                kernel_line(270, "gpu-d4", "mlx5_core %s: Link up" % x)
                for x in ("0000:5c:00.0 ens1f0np0", "0000:5c:00.1 ens1f1np1")
            )
            + kernel_line(300, "gpu-d4", "x")
        ),
    },
)

case.silent(
    "net_q5_never_up",
    {
        "n.prom": "".join(
            (
                'node_infiniband_state_id{device="mlx5_7",port="1",node="gpu-d4"} 1 %d\n'
                'node_network_up{device="ens9",node="gpu-d4"} 0 %d\n'
            ) % (millis(x), millis(x))
            for x in range(0, 301, 15)
        ),
    },
)

case.silent(
    "net_q6_09",
    {
        "ping.prom": "".join(
            ping(0.009, x)
            for x in range(0, 301, 15)
        ),
    },
)

case.silent(
    "net_q6b_exact1",
    {
        "ping.prom": "".join(
            ping(0.01, x)
            for x in range(0, 301, 15)
        ),
    },
)

case.silent(
    "net_q7_30s",
    {
        "ping.prom": "".join(
            ping(0.05 if 60 <= x <= 90 else 0, x)
            for x in range(0, 301, 15)
        ),
    },
)

case.silent(
    "net_q8_drop_09",
    {
        "n.prom": "".join(
            (
                'node_network_receive_packets_total{device="ens1f0",node="gpu-d4"} %d %d\n'
                'node_network_receive_drop_total{device="ens1f0",node="gpu-d4"} %d %d\n'
            ) % (1000000 + x * 10000, millis(x), 5 + x * 90, millis(x))
            for x in range(0, 301, 15)
        ),
    },
)

case.silent(
    "net_q9_counter_reset",
    {
        "n.prom": "".join(
            'node_infiniband_link_downed_total{device="mlx5_0",port="1",node="gpu-d4"} %d %d\n' % (
                9 if x < 60 else 0,
                millis(x),
            )
            for x in range(0, 400, 30)
        ),
    },
)

case.silent(
    "net_q10_veth",
    {
        "k.log": "".join(
            (
                kernel_line(s, "gpu-d4", "cni0: port 3(veth1234) entered disabled state")
                + kernel_line(
                    s + 1,
                    "gpu-d4",
                    "IPv6: ADDRCONF(NETDEV_CHANGE): veth1234: link becomes ready",
                )
            )
            for s in range(0, 500, 20)
        ),
    },
)

case.silent(
    "net_q11_admin_down",
    {
        "n.prom": "".join(
            (
                'node_network_up{device="ens1f0",operstate="down",adminstate="down",'
                'node="gpu-d4"} %d %d\nnode_network_info{device="ens1f0",adminstate="%s",'
                'operstate="%s",node="gpu-d4"} 1 %d\n'
            ) % (
                1 if x < 60 else 0,
                millis(x),
                "up" if x < 60 else "down",
                "up" if x < 60 else "down",
                millis(x),
            )
            for x in range(0, 301, 15)
        ),
    },
)

case.silent(
    "net_q12_high_static",
    {
        "n.prom": "".join(
            'node_infiniband_symbol_error_total{device="mlx5_2",port="1",node="gpu-d4"} %d %d\n' % (
                90000,
                millis(x),
            )
            for x in range(0, 301, 15)
        ),
    },
)

case.silent(
    "net_q13_target_down",
    {
        "ping.prom": "".join(
            ping(1, x) + ping(0, x, "ping_up")
            for x in range(0, 301, 15)
        ),
    },
)

case.silent(
    "net_q14_module_plugged",
    {
        "k.log": (
            kernel_line(
                0,
                "gpu-d4",
                "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
            )
            + kernel_line(
                10,
                "gpu-d4",
                "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged",
            )
        ),
    },
)

case.fires(
    "net_f20_one_port_by_two_names",
    {
        "k.log": "".join(
            kernel_line(at, "gpu-d4", "mlx5_core 0000:5e:00.0 ens3f0np0: Link down")
            + kernel_line(at + 0.01, "gpu-d4", "mlx5_core 0000:5e:00.0 mlx5_3: Port: 1 Link DOWN")
            + kernel_line(at + 6, "gpu-d4", "mlx5_core 0000:5e:00.0 ens3f0np0: Link up")
            for at in (0, 60, 120)
        ),
        "n.prom": "".join(
            'node_infiniband_link_downed_total{device="mlx5_3",port="1",node="gpu-d4"} %d %d\n'
            % (2 + i, millis(at))
            for i, at in enumerate((0, 30, 90, 150))
        ),
    },
    node="gpu-d4", disc="link_flap",
)
