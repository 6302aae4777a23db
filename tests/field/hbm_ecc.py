# SPDX-License-Identifier: Apache-2.0
"""hbm_ecc: GPU memory: errors that cannot be corrected, rows to remap, storms of corrected ones."""

from field import Pattern
from kernel import kernel_log
from metrics import DCGM, GPUS, gpu_attributes, gpu_labels, healthy, scrape
from otlp import journal_body, ndjson, otlp_logs, otlp_metrics
from when import stamp

case = Pattern("hbm_ecc")

XID = "NVRM: Xid (PCI:0000:%s:00): %s"

case.fires(
    "ecc_f01_xid48_dmesgT",
    {
        "dmesg.txt": kernel_log(
            [
                (
                    0,
                    XID % (
                        "1b",
                        (
                            "48, pid=2211, name=python, An uncorrectable double bit error (DBE) "
                            "has been detected on GPU (Bank 2, addr 0x1234)"
                        ),
                    ),
                ),
            ],
            "dmesgT",
        ),
    },
    disc="uncorrectable", pci="0000:1b:00.0",
)

case.fires(
    "ecc_f02_xid64_syslog",
    {
        "kern.log": kernel_log(
            [
                (
                    0,
                    XID % (
                        "2b",
                        "64, pid='<unknown>', name=<unknown>, Row Remapper: Failed to remap row",
                    ),
                ),
            ],
            "syslog",
        ),
    },
    disc="remap_failed", node="gpu-07",
)

case.fires(
    "ecc_f03_xid63_export",
    {
        "journal.export": kernel_log(
            [
                (
                    0,
                    XID % (
                        "3b",
                        (
                            "63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked "
                            "for remapping, reset gpu to activate."
                        ),
                    ),
                ),
            ],
            "export",
        ),
    },
    disc="remap_pending", node="gpu-07",
)

case.fires(
    "ecc_f04_xid94_shortiso",
    {
        "j.log": kernel_log(
            [
                (
                    0,
                    XID % (
                        "3b",
                        (
                            "94, pid=7194, name=ray::PPOTrainer, Contained: SM (0x1). RST: No, "
                            "D-RST: No"
                        ),
                    ),
                ),
                (
                    1,
                    XID % (
                        "3b",
                        (
                            "63, pid=7194, name=ray::PPOTrainer, Row Remapper: New row "
                            "(0x00000000000000ab) marked for remapping, reset gpu to activate."
                        ),
                    ),
                ),
            ],
            "shortiso",
        ),
    },
    disc="contained",
)

case.fires(
    "ecc_f05_xid95_kmsg",
    {
        "kmsg": kernel_log(
            [
                (
                    0,
                    XID % (
                        "4b",
                        "95, pid=0, name=none, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
                    ),
                ),
            ],
            "kmsg",
        ),
    },
    disc="uncontained",
)

case.fires(
    "ecc_f05b_xid95_dmesg_plain",
    {
        "dmesg.log": kernel_log(
            [
                (
                    0,
                    XID % (
                        "4b",
                        "95, pid=0, name=none, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
                    ),
                ),
            ],
            "dmesg",
        ),
    },
    disc="uncontained",
)

case.fires(
    "ecc_f06_sbe100_two_scrapes",
    {
        "dcgm.prom": (
            scrape(healthy(0) + [(DCGM + "ECC_SBE_VOL_TOTAL", gpu_labels(0), 17)], 0)
            + scrape(healthy(0) + [(DCGM + "ECC_SBE_VOL_TOTAL", gpu_labels(0), 117)], 300)
        ),
    },
    disc="corrected_storm", gpu=GPUS[0], node="gpu-07",
)

case.fires(
    "ecc_f07_dbe_folder_nomtime",
    {
        "%04d.prom" % i: scrape(
            sum(
                [
                    (
                        healthy(g)
                        + [
                            (
                                DCGM + "ECC_DBE_VOL_TOTAL",
                                gpu_labels(g),
                                1 if g == 3 and i > 3 else 0,
                            ),
                        ]
                    )
                    for g in range(4)
                ],
                [],
            ),
        )
        for i in range(1, 7)
    },
    disc="uncorrectable", gpu=GPUS[3],
)

case.fires(
    "ecc_f08_remap_pending_flag",
    {
        "%04d.prom" % i: scrape(
            (
                healthy(0)
                + [
                    (DCGM + "ROW_REMAP_PENDING", gpu_labels(0), 1 if i > 2 else 0),
                    (DCGM + "ROW_REMAP_FAILURE", gpu_labels(0), 0),
                ]
            ),
        )
        for i in range(1, 5)
    },
    times={"%04d.prom" % i: i * 30 for i in range(1, 5)}, disc="remap_pending", gpu=GPUS[0],
)

case.fires(
    "ecc_f09_remap_failure_otlp",
    {
        "metrics.json": otlp_metrics(
            [
                (
                    DCGM + "ROW_REMAP_FAILURE",
                    gpu_attributes(2, pod="llm-0"),
                    s,
                    1.0 if s >= 30 else 0.0,
                )
                for s in (0, 15, 30, 45)
            ],
        ),
    },
    disc="remap_failed", gpu=GPUS[2],
)

case.fires(
    "ecc_f10_otlp_dbe_sum",
    {
        "metrics.json": otlp_metrics(
            [
                (DCGM + "ECC_DBE_AGG_TOTAL", gpu_attributes(2), s, 3.0 if s >= 30 else 2.0)
                for s in (0, 15, 30, 45)
            ],
            sums=(DCGM + "ECC_DBE_AGG_TOTAL",),
        ),
    },
    disc="uncorrectable", gpu=GPUS[2],
)

case.fires(
    "ecc_f11_om_sbe",
    {
        "m.om": "".join(
            (
                scrape([(DCGM + "ECC_SBE_VOL", gpu_labels(1), v, s)], None, True)[:-6]
                if s < 240
                else scrape([(DCGM + "ECC_SBE_VOL", gpu_labels(1), v, s)], openmetrics=True)
            )
            for s, v in ((0, 5), (60, 40), (120, 80), (180, 120), (240, 160))
        ),
    },
    disc="corrected_storm", gpu=GPUS[1],
)

case.fires(
    "ecc_f12_remap_fail_single_scrape",
    {"one.prom": scrape(healthy(0) + [(DCGM + "ROW_REMAP_FAILURE", gpu_labels(0), 1)])},
    disc="remap_failed", gpu=GPUS[0],
)

case.fires(
    "ecc_f13_xid48_journald_otlp",
    {
        "logs.json": otlp_logs(
            [
                (
                    0,
                    journal_body(XID % ("1b", "48, pid=2211, name=python, DBE (double bit error)")),
                    {},
                ),
            ],
            {"host.name": "gpu-07"},
        ),
    },
    disc="uncorrectable", node="gpu-07",
)

case.fires(
    "ecc_f14_ndjson_dbe",
    {
        "e.ndjson": ndjson(
            [
                {
                    "kind": "metric",
                    "time": stamp(s),
                    "k8s.node.name": "n1",
                    "gpu.uuid": GPUS[0],
                    "metric": "gpu_ecc_uncorrected",
                    "value": v,
                }
                for s, v in ((0, 0), (60, 0), (120, 1))
            ],
        ),
    },
    disc="uncorrectable", gpu=GPUS[0],
)

case.silent(
    "ecc_q01_appxids",
    {
        "d.txt": kernel_log(
            [
                (i * 5, XID % ("1b", m))
                for i, m in enumerate(
                    [
                        (
                            "13, pid=11, name=python, Graphics SM Warp Exception on (GPC 0, TPC "
                            "0, SM 0): Out Of Range Address"
                        ),
                        (
                            "31, pid=11, name=python, Ch 00000008, intr 00000000. MMU Fault: "
                            "ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f_0000. Fault is of "
                            "type FAULT_PDE ACCESS_TYPE_VIRT_READ"
                        ),
                        "43, pid=11, name=python, Ch 00000008",
                        "45, pid=11, name=python, Ch 00000008",
                    ],
                )
            ],
            "dmesgT",
        ),
    },
)

case.silent(
    "ecc_q02_trickle99",
    {
        "p.prom": "".join(
            scrape(healthy(0) + [(DCGM + "ECC_SBE_VOL_TOTAL", gpu_labels(0), 10 + i * 9)], i * 60)
            for i in range(12)
        ),
    },
)

case.silent(
    "ecc_q03_reset",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(0)
                    + [
                        (DCGM + "ECC_SBE_VOL_TOTAL", gpu_labels(0), v),
                        (DCGM + "ECC_DBE_VOL_TOTAL", gpu_labels(0), w),
                    ]
                ),
                i * 60,
            )
            for i, (v, w) in enumerate([(5000, 4), (5000, 4), (0, 0), (1, 0), (1, 0)])
        ),
    },
)

case.silent(
    "ecc_q04_first_sample_high",
    {
        "%04d.prom" % i: scrape(
            (
                healthy(0)
                + [
                    (DCGM + "ECC_SBE_AGG_TOTAL", gpu_labels(0), 81234),
                    (DCGM + "ECC_DBE_AGG_TOTAL", gpu_labels(0), 2),
                    (DCGM + "UNCORRECTABLE_REMAPPED_ROWS", gpu_labels(0), 1),
                    (DCGM + "CORRECTABLE_REMAPPED_ROWS", gpu_labels(0), 3),
                    (DCGM + "ROW_REMAP_FAILURE", gpu_labels(0), 0),
                ]
            ),
        )
        for i in range(1, 5)
    },
)

case.silent(
    "ecc_q05_sentinel",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(0)
                    + [
                        (
                            DCGM + "ECC_SBE_VOL_TOTAL",
                            gpu_labels(0),
                            "9223372036854775794" if i % 2 else 0,
                        ),
                        (
                            DCGM + "ECC_DBE_VOL_TOTAL",
                            gpu_labels(0),
                            "9223372036854775794" if i % 2 else 0,
                        ),
                        (DCGM + "ROW_REMAP_FAILURE", gpu_labels(0), "9223372036854775794"),
                    ]
                ),
                i * 15,
            )
            for i in range(6)
        ),
    },
)

case.silent(
    "ecc_q06_slow100_in_20min",
    {
        "p.prom": "".join(
            scrape(healthy(0) + [(DCGM + "ECC_SBE_VOL_TOTAL", gpu_labels(0), i * 5)], i * 60)
            for i in range(21)
        ),
    },
)

case.silent(
    "ecc_q07_single_scrape_high",
    {
        "dcgm.prom": scrape(
            (
                healthy(0)
                + [
                    (DCGM + "ECC_SBE_VOL_TOTAL", gpu_labels(0), 500),
                    (DCGM + "ECC_DBE_VOL_TOTAL", gpu_labels(0), 0),
                ]
            ),
        ),
    },
)

case.silent(
    "ecc_q08_xid_gauge_13",
    {"p.prom": "".join((scrape(healthy(0, xid=13 if i > 1 else 0), i * 15) for i in range(6)))},
)

case.fires(
    "ecc_q09_xid92_line",
    {
        "d.txt": kernel_log(
            [
                (
                    0,
                    XID % (
                        "1b",
                        "92, pid='<unknown>', name=<unknown>, High single-bit ECC error rate",
                    ),
                ),
            ],
            "dmesgT",
        ),
    },
    disc="corrected_storm", conf="partial", why="the driver says so, and no counter",
)

case.silent(
    "ecc_q10_quoting_program",
    {
        "s.log": (
            "Mar  4 05:06:00 gpu-07 my-agent[812]: saw line: NVRM: Xid (PCI:0000:1b:00): 48, "
            "pid=1, name=x, DBE\nMar  4 05:06:02 gpu-07 systemd[1]: Started x.\n"
        ),
    },
)

case.silent(
    "ecc_q11_two_gpus_50_each",
    {
        "p.prom": (
            scrape(sum([[(DCGM + "ECC_SBE_VOL_TOTAL", gpu_labels(g), 0)] for g in (0, 1)], []), 0)
            + scrape(
                sum([[(DCGM + "ECC_SBE_VOL_TOTAL", gpu_labels(g), 60)] for g in (0, 1)], []),
                300,
            )
        ),
    },
)
