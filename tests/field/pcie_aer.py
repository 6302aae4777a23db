# SPDX-License-Identifier: Apache-2.0
"""pcie_aer: PCIe errors, and links below what the device can do."""

from field import Pattern
from kernel import kernel_log
from metrics import DCGM, GPUS, gpu_attributes, gpu_labels, healthy, scrape
from otlp import journal_body, ndjson, otlp_logs, otlp_metrics
from when import stamp

case = Pattern("pcie_aer")


def aer_lines(dev, sev="Corrected", bits="00000040/00002000", name="[ 6] BadTLP",
              layer="Data Link Layer", port=None, did="10de:2330", pre=""):
    port = port or dev
    return [
        "pcieport %s: AER: %s error received: %s" % (
            port,
            sev if sev == "Corrected" else "Uncorrected " + sev,
            dev,
        ),
        "nvidia %s: %sPCIe Bus Error: severity=%s, type=%s, (Receiver ID)" % (
            dev,
            pre,
            sev if sev == "Corrected" else "Uncorrected " + sev,
            layer,
        ),
        "nvidia %s: %s  device [%s] error status/mask=%s" % (dev, pre, did, bits),
        "nvidia %s: %s   %s" % (dev, pre, name),
    ]


def repeated(f, times):
    return [(s + j * 0.0001, m) for s in times for j, m in enumerate(f)]


for sh in (
    "dmesgT",
    "dmesg",
    "shortiso",
    "syslog",
    "rsysiso",
    "kmsg",
    "export",
    "jjson",
    "dmesgiso",
    "shortprecise",
):
    case.fires(
        "pc_f01_storm60_" + sh,
        {
            "k.log": kernel_log(
                repeated(
                    aer_lines("0000:1b:00.0", port="0000:17:01.0"),
                    [i * 4 for i in range(60)],
                ),
                sh,
            ),
        },
        disc="corrected_storm", pci="0000:1b:00.0",
    )
case.fires(
    "pc_f02_fatal",
    {
        "k.log": kernel_log(
            repeated(
                aer_lines(
                    "0000:1b:00.0",
                    "(Fatal)",
                    "00000020/00000000",
                    "[ 5] SDES                   (First)",
                    "Transaction Layer",
                    pre="AER: ",
                ),
                [0],
            ),
            "shortiso",
        ),
    },
    disc="fatal",
)

case.fires(
    "pc_f03_nonfatal",
    {
        "k.log": kernel_log(
            repeated(
                aer_lines(
                    "0000:1b:00.0",
                    "(Non-Fatal)",
                    "00100000/00000000",
                    "[20] UnsupReq               (First)",
                    "Transaction Layer",
                ),
                [0],
            ),
            "syslog",
        ),
    },
    disc="nonfatal",
)

case.fires(
    "pc_f03b_nonfatal_cto",
    {
        "k.log": kernel_log(
            repeated(
                aer_lines(
                    "0000:1b:00.0",
                    "(Non-Fatal)",
                    "00004000/00000000",
                    "[14] CmpltTO                (First)",
                    "Transaction Layer",
                ),
                [0],
            ),
            "syslog",
        ),
    },
    disc="nonfatal",
)


def link_samples(g, w, wm=16, gen=5, genm=5, **k):
    return (
        healthy(g, **k)
        + [
            (DCGM + "PCIE_LINK_WIDTH", gpu_labels(g), w),
            (DCGM + "PCIE_MAX_LINK_WIDTH", gpu_labels(g), wm),
            (DCGM + "PCIE_LINK_GEN", gpu_labels(g), gen),
            (DCGM + "PCIE_MAX_LINK_GEN", gpu_labels(g), genm),
        ]
    )


case.fires(
    "pc_f04_width8_util95",
    {
        "p.prom": "".join(
            scrape(link_samples(3, 16 if i < 3 else 8, util=95), i * 15)
            for i in range(8)
        ),
    },
    disc="rate_collapse", gpu=GPUS[3],
)

case.fires(
    "pc_f05_width8_folder",
    {
        "%04d.prom" % i: scrape(
            sum([link_samples(g, 8 if g == 3 and i > 3 else 16, util=95) for g in range(8)], []),
        )
        for i in range(1, 9)
    },
    disc="rate_collapse", gpu=GPUS[3],
)

case.fires(
    "pc_f06_gen1_busy_otlp",
    {
        "m.json": otlp_metrics(
            [
                (n, gpu_attributes(4), s, v)
                for s in range(0, 180, 15)
                for n, v in (
                    (DCGM + "PCIE_LINK_GEN", 1.0),
                    (DCGM + "PCIE_MAX_LINK_GEN", 5.0),
                    (DCGM + "PCIE_LINK_WIDTH", 16.0),
                    (DCGM + "PCIE_MAX_LINK_WIDTH", 16.0),
                    (DCGM + "GPU_UTIL", 96.0),
                )
            ],
        ),
    },
    disc="rate_collapse", gpu=GPUS[4],
)

case.fires(
    "pc_f07_journald_otlp_storm",
    {
        "l.json": otlp_logs(
            [
                (s, journal_body(m), {})
                for s, m in repeated(aer_lines("0000:1b:00.0"), [i * 3 for i in range(60)])
            ],
            {"k8s.node.name": "gpu-07"},
        ),
    },
    disc="corrected_storm", node="gpu-07",
)

case.fires(
    "pc_f08_exactly50_in300",
    {
        "k.log": kernel_log(
            repeated(aer_lines("0000:1b:00.0"), [i * 6 for i in range(50)]),
            "shortiso",
        ),
    },
    disc="corrected_storm",
)

case.fires(
    "pc_f09_width8_alltime_3scr",
    {"p.prom": "".join((scrape(link_samples(3, 8, util=95), i * 15) for i in range(3)))},
    disc="rate_collapse", gpu=GPUS[3],
)

case.fires(
    "pc_f10_ndjson_aer_count",
    {
        "e.ndjson": ndjson(
            [
                {
                    "kind": "aer",
                    "time": stamp(0),
                    "k8s.node.name": "n1",
                    "pci.bdf": "0000:1b:00.0",
                    "severity": "corrected",
                    "count": 60,
                },
            ],
        ),
    },
    disc="corrected_storm",
)

case.fires(
    "pc_f11_header_only_60",
    {
        "k.log": kernel_log(
            [
                (
                    i * 4,
                    (
                        "pcieport 0000:00:03.1: AER: Multiple Correctable error message received "
                        "from 0000:1b:00.0"
                    ),
                )
                for i in range(60)
            ],
            "shortiso",
        ),
    },
    disc="corrected_storm",
)

case.fires(
    "pc_f12_nic",
    {
        "k.log": kernel_log(
            (
                [(-1000, "mlx5_core 0000:3b:00.0: firmware version: 28.39.1002")]
                + repeated(
                    [
                        m.replace("nvidia ", "mlx5_core ")
                        for m in aer_lines(
                            "0000:3b:00.0",
                            "(Fatal)",
                            "00040000/00000000",
                            "[18] MalfTLP                (First)",
                            "Transaction Layer",
                            did="15b3:1021",
                        )
                    ],
                    [0],
                )
            ),
            "shortiso",
        ),
    },
    disc="fatal",
)

case.silent(
    "pc_q01_trickle49",
    {
        "k.log": kernel_log(
            repeated(aer_lines("0000:1b:00.0"), [i * 6 for i in range(49)]),
            "dmesgT",
        ),
    },
)

case.silent(
    "pc_q02_slow",
    {
        "k.log": kernel_log(
            repeated(aer_lines("0000:1b:00.0"), [i * 20 for i in range(120)]),
            "syslog",
        ),
    },
)

case.silent(
    "pc_q03_idle_gen1",
    {
        "p.prom": "".join(
            scrape(link_samples(3, 16, gen=1, util=0, temp=35), i * 15)
            for i in range(12)
        ),
    },
)

case.silent(
    "pc_q04_width_max8",
    {
        "p.prom": "".join(
            scrape(link_samples(3, 8, wm=8, gen=4, genm=4), i * 15)
            for i in range(12)
        ),
    },
)

case.silent(
    "pc_q05_boot_bandwidth_note",
    {
        "k.log": kernel_log(
            [
                (
                    0,
                    (
                        "pci 0000:1b:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 16.0 "
                        "GT/s PCIe x4 link at 0000:17:01.0 (capable of 504.112 Gb/s with 32.0 "
                        "GT/s PCIe x16 link)"
                    ),
                ),
            ],
            "dmesgT",
        ),
    },
    why="a slot that is slower than its card from boot on is no collapse",
)

case.silent(
    "pc_q06_masked",
    {
        "k.log": kernel_log(
            repeated(
                aer_lines("0000:1b:00.0", bits="00002000/00002000", name="[13] NonFatalErr"),
                [i * 3 for i in range(60)],
            ),
            "shortiso",
        ),
    },
)

case.silent(
    "pc_q07_sentinel_width",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(3)
                    + [
                        (DCGM + "PCIE_LINK_WIDTH", gpu_labels(3), "9223372036854775794"),
                        (DCGM + "PCIE_MAX_LINK_WIDTH", gpu_labels(3), 16),
                        (DCGM + "PCIE_LINK_GEN", gpu_labels(3), "9223372036854775794"),
                        (DCGM + "PCIE_MAX_LINK_GEN", gpu_labels(3), 5),
                    ]
                ),
                i * 15,
            )
            for i in range(10)
        ),
    },
)

case.silent(
    "pc_q08_two_devices_30_each",
    {
        "k.log": kernel_log(
            repeated(
                aer_lines("0000:1b:00.0") + aer_lines("0000:2b:00.0"),
                [i * 8 for i in range(30)],
            ),
            "shortiso",
        ),
    },
)

case.silent("pc_q09_single_sample_width8", {"p.prom": scrape(link_samples(3, 8, util=95))})
case.silent(
    "pc_q10_ramp_up",
    {
        "p.prom": "".join(
            scrape(
                link_samples(
                    3,
                    16,
                    gen=1 if i < 5 else 5,
                    util=0 if i < 4 else 60 if i == 4 else 95,
                ),
                i * 15,
            )
            for i in range(12)
        ),
    },
)

case.silent(
    "pc_q11_aer_enabled_boot",
    {
        "k.log": kernel_log(
            [
                (0, "pcieport 0000:17:01.0: AER: enabled with IRQ 34"),
                (
                    1,
                    (
                        "acpi PNP0A08:00: _OSC: OS now controls [PCIeHotplug SHPCHotplug PME AER "
                        "PCIeCapability LTR]"
                    ),
                ),
            ],
            "dmesgT",
        ),
    },
)

case.silent(
    "pc_q12_replay_trickle",
    {
        "p.prom": "".join(
            scrape(healthy(3) + [(DCGM + "PCIE_REPLAY_COUNTER", gpu_labels(3), 100 + i)], i * 15)
            for i in range(12)
        ),
    },
)
