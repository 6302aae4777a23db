# SPDX-License-Identifier: Apache-2.0
"""nvlink_degraded: NVLinks that fail or go down, and NVSwitches."""

from field import Pattern
from kernel import kernel_log
from metrics import DCGM, GPUS, gpu_labels, healthy, scrape
from otlp import ndjson, otlp_logs
from when import millis, stamp

case = Pattern("nvlink_degraded")

case.fires(
    "nv_f01_fatal_sxid",
    {
        "k.log": kernel_log(
            [
                (
                    0,
                    (
                        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM "
                        "Fault Up"
                    ),
                ),
            ],
            "shortiso",
        ),
    },
    node="gpu-07",
)

case.fires(
    "nv_f02_xid74",
    {
        "k.log": kernel_log(
            [
                (
                    0,
                    (
                        "NVRM: Xid (PCI:0000:1b:00): 74, pid=1234, name=python, NVLink: fatal "
                        "error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
                    ),
                ),
            ],
            "dmesgT",
        ),
    },
    pci="0000:1b:00.0",
)

case.fires(
    "nv_f03_crc_rise",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(0)
                    + [
                        (
                            DCGM + "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
                            gpu_labels(0),
                            0 if i < 3 else i * 4000,
                        ),
                        (
                            DCGM + "NVLINK_REPLAY_ERROR_COUNT_TOTAL",
                            gpu_labels(0),
                            0 if i < 3 else i * 50,
                        ),
                        (
                            DCGM + "NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
                            gpu_labels(0),
                            0 if i < 3 else i,
                        ),
                    ]
                ),
                i * 15,
            )
            for i in range(10)
        ),
    },
    gpu=GPUS[0],
)

case.fires(
    "nv_f04_link_down",
    {
        "e.ndjson": ndjson(
            [
                {
                    "kind": "metric",
                    "time": stamp(s),
                    "k8s.node.name": "n1",
                    "gpu.uuid": GPUS[0],
                    "metric": "nvlink_state",
                    "device": "5",
                    "value": 3 if s < 60 else 2,
                }
                for s in range(0, 181, 30)
            ],
        ),
    },
    gpu=GPUS[0],
)

case.fires(
    "nv_f05_xid149_fatal",
    {
        "k.log": kernel_log(
            [
                (
                    0,
                    (
                        "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 "
                        "(0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
                    ),
                ),
            ],
            "rsysiso",
        ),
    },
)

case.fires(
    "nv_f06_sxid_kmsg",
    {
        "kmsg": kernel_log(
            [
                (
                    0,
                    (
                        "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Fatal, Link 05 egress "
                        "non-posted PRIV error (First)"
                    ),
                ),
            ],
            "kmsg",
        ),
    },
)

case.fires(
    "nv_f07_otlp_filelog_sxid",
    {
        "l.json": otlp_logs(
            [
                (
                    0,
                    kernel_log(
                        [
                            (
                                0,
                                (
                                    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, "
                                    "Link 30 LTSSM Fault Up"
                                ),
                            ),
                        ],
                        "syslog",
                    ).strip(
                    ),
                    {"log.file.name": "kern.log"},
                ),
            ],
            {"host.name": "otelcol-x"},
        ),
    },
    node="gpu-07",
)

case.fires(
    "nv_f08_switch_link_down",
    {
        "p.prom": "".join(
            (
                'DCGM_FI_DEV_NVSWITCH_LINK_STATUS{nvlink="%d",nvswitch="nvswitch1",'
                'Hostname="gpu-07"} %d %d\n'
            ) % (l, 3 if l == 7 and i > 3 else 2, millis(i * 15))  # DCGM: 2 active, 3 error
            for i in range(10)
            for l in range(12)
        ),
    },
    node="gpu-07",
)

case.fires(
    "nv_f09_recovery_rise",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(0)
                    + [
                        (
                            DCGM + "NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
                            gpu_labels(0),
                            0 if i < 3 else (i - 2) * 5,
                        ),
                    ]
                ),
                i * 15,
            )
            for i in range(10)
        ),
    },
    gpu=GPUS[0],
)

case.fires(
    "nv_f10_sxid_dmesg_uptime",
    {
        "dmesg": kernel_log(
            [
                (
                    0,
                    (
                        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM "
                        "Fault Up"
                    ),
                ),
            ],
            "dmesg",
        ),
    },
)

case.silent(
    "nv_q01_nonfatal",
    {
        "k.log": kernel_log(
            [
                (
                    0,
                    (
                        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 "
                        "egress non-posted PRIV error (First)"
                    ),
                ),
                (
                    0,
                    (
                        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Severity 0 Engine "
                        "instance 32 Sub-engine instance 00"
                    ),
                ),
                (
                    0,
                    (
                        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Data {0x00000004, "
                        "0x00000004, 0x00000000, 0x00000004}"
                    ),
                ),
            ],
            "shortiso",
        ),
    },
)

case.silent(
    "nv_q02_inactive_by_design",
    {
        "e.ndjson": ndjson(
            [
                {
                    "kind": "metric",
                    "time": stamp(s),
                    "k8s.node.name": "n1",
                    "gpu.uuid": GPUS[0],
                    "metric": "nvlink_state",
                    "device": str(l),
                    "value": 3 if l < 12 else 0 if l < 15 else 1,
                }
                for s in range(0, 181, 30)
                for l in range(18)
            ],
        ),
    },
)

case.silent(
    "nv_q03_first_high",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(0)
                    + [
                        (DCGM + "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", gpu_labels(0), 900000),
                        (DCGM + "NVLINK_REPLAY_ERROR_COUNT_TOTAL", gpu_labels(0), 5000),
                        (DCGM + "NVLINK_RECOVERY_ERROR_COUNT_TOTAL", gpu_labels(0), 12),
                    ]
                ),
                i * 15,
            )
            for i in range(10)
        ),
    },
)

case.silent(
    "nv_q04_reset",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(0)
                    + [
                        (
                            DCGM + "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
                            gpu_labels(0),
                            900000 if i < 4 else 3,
                        ),
                        (
                            DCGM + "NVLINK_REPLAY_ERROR_COUNT_TOTAL",
                            gpu_labels(0),
                            50 if i < 4 else 0,
                        ),
                    ]
                ),
                i * 15,
            )
            for i in range(10)
        ),
    },
)

case.silent(
    "nv_q05_sentinel",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(0)
                    + [
                        (
                            DCGM + "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
                            gpu_labels(0),
                            0 if i < 4 else "9223372036854775794",
                        ),
                        (
                            DCGM + "NVLINK_REPLAY_ERROR_COUNT_TOTAL",
                            gpu_labels(0),
                            "9.223372036854776e+18",
                        ),
                    ]
                ),
                i * 15,
            )
            for i in range(10)
        ),
    },
)

case.silent(
    "nv_q06_low_crc_trickle",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(0)
                    + [
                        (DCGM + "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", gpu_labels(0), i // 3),
                        (DCGM + "NVLINK_REPLAY_ERROR_COUNT_TOTAL", gpu_labels(0), i // 5),
                    ]
                ),
                i * 60,
            )
            for i in range(10)
        ),
    },
)

case.silent(
    "nv_q07_bw_zero_idle",
    {
        "p.prom": "".join(
            scrape(
                healthy(0, util=0) + [(DCGM + "NVLINK_BANDWIDTH_TOTAL", gpu_labels(0), 0)],
                i * 15,
            )
            for i in range(10)
        ),
    },
)

case.silent(
    "nv_q08_145_nonfatal",
    {
        "k.log": kernel_log(
            [
                (
                    0,
                    (
                        "NVRM: Xid (PCI:0009:01:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 08 "
                        "(0x00000001 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
                    ),
                ),
            ],
            "rsysiso",
        ),
    },
)

case.silent(
    "nv_q09_switch_down_from_start",
    {
        "p.prom": "".join(
            (
                'DCGM_FI_DEV_NVSWITCH_LINK_STATUS{nvlink="%d",nvswitch="nvswitch1",'
                'Hostname="gpu-07"} %d %d\n'
            ) % (l, 1 if l > 5 else 3, millis(i * 15))
            for i in range(10)
            for l in range(12)
        ),
    },
)
