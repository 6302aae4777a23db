# SPDX-License-Identifier: Apache-2.0
"""thermal_throttle: GPUs that are slowed for heat or power."""

from field import Pattern
from metrics import DCGM, GPUS, gpu_attributes, gpu_labels, healthy, scrape
from otlp import ndjson, otlp_metrics
from when import millis, stamp

case = Pattern("thermal_throttle")

REASONS = "CLOCK_THROTTLE_REASONS"


def slowed(g, bits, temp, host="gpu-07", clk=1200, R=REASONS, **k):
    return healthy(g, host, temp=temp, clk=clk) + [(DCGM + R, gpu_labels(g, host, **k), bits)]


case.fires(
    "th_f01_hw_thermal_3x15",
    {"p.prom": "".join((scrape(slowed(2, 72, 91), i * 15) for i in range(3)))},
    disc="hw_thermal", gpu=GPUS[2],
)

case.fires(
    "th_f02_sw_thermal_folder",
    {
        "%04d.prom" % i: scrape(slowed(2, 32 if 2 <= i <= 7 else 0, 88, R="CLOCKS_EVENT_REASONS"))
        for i in range(1, 9)
    },
    times={"%04d.prom" % i: i * 15 for i in range(1, 9)}, disc="sw_thermal", gpu=GPUS[2],
)

case.fires(
    "th_f03_power_brake_otlp",
    {
        "m.json": otlp_metrics(
            [
                (n, gpu_attributes(1), s, v)
                for s in range(0, 120, 15)
                for n, v in (
                    (DCGM + REASONS, float(136)),
                    (DCGM + "GPU_TEMP", 60.0),
                    (DCGM + "GPU_UTIL", 99.0),
                )
            ],
        ),
    },
    disc="power_brake", gpu=GPUS[1],
)

case.fires(
    "th_f04_hw_slowdown",
    {"p.prom": "".join((scrape(slowed(2, 8, 70), i * 15) for i in range(5)))},
    disc="hw_slowdown", gpu=GPUS[2],
)

case.fires(
    "th_f05_violation_counter",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(5, temp=87)
                    + [(DCGM + "THERMAL_VIOLATION", gpu_labels(5), 1000000000 + i * 14000000000)]
                ),
                i * 15,
            )
            for i in range(6)
        ),
    },
    gpu=GPUS[5],
)

case.fires(
    "th_f06_node_level",
    {
        "p.prom": "".join(
            scrape(sum([slowed(g, 64, 92) for g in range(4)], []), i * 15)
            for i in range(5)
        ),
    },
    disc="hw_thermal", node="gpu-07",
)

case.fires(
    "th_f07_rack_level",
    {
        "p.prom": "".join(
            scrape(
                sum(
                    [
                        slowed(g, 64, 92, host=h, rack="r12")
                        for h in ("gpu-07", "gpu-08", "gpu-09")
                        for g in range(2)
                    ],
                    [],
                ),
                i * 15,
            )
            for i in range(5)
        ),
    },
    disc="hw_thermal",
)

case.fires(
    "th_f08_ndjson",
    {
        "e.ndjson": ndjson(
            [
                {
                    "kind": "metric",
                    "time": stamp(s),
                    "k8s.node.name": "n1",
                    "gpu.uuid": GPUS[0],
                    "metric": m,
                    "value": v,
                }
                for s in range(0, 61, 10)
                for m, v in (("gpu_throttle_reasons", 64), ("gpu_temperature", 93))
            ],
        ),
    },
    disc="hw_thermal", gpu=GPUS[0], node="n1",
)

case.fires(
    "th_f09_exactly30_two",
    {"p.prom": "".join((scrape(slowed(2, 64, 91), i * 30) for i in range(2)))},
    disc="hw_thermal",
)

case.fires(
    "th_f10_then_clear",
    {
        "p.prom": "".join(
            scrape(slowed(2, 64 if 2 <= i < 8 else 0, 91 if 2 <= i < 8 else 70), i * 15)
            for i in range(12)
        ),
    },
    disc="hw_thermal",
)

case.fires(
    "th_f11_smi_exporter",
    {
        "p.prom": "".join(
            (
                'nvidia_smi_temperature_gpu{uuid="%s"} 92 %d\n'
                'nvidia_smi_clocks_throttle_reasons_hw_thermal_slowdown{uuid="%s"} 1 %d\n'
                'nvidia_smi_utilization_gpu_ratio{uuid="%s"} 0.98 %d\n'
            ) % (
                GPUS[0],
                millis(i * 15),
                GPUS[0],
                millis(i * 15),
                GPUS[0],
                millis(i * 15),
            )
            for i in range(5)
        ),
    },
    disc="hw_thermal",
)

case.fires(
    "th_f12_no_temp_metric",
    {"p.prom": "".join((scrape([(DCGM + REASONS, gpu_labels(0), 64)], i * 15) for i in range(5)))},
    disc="hw_thermal",
)

case.silent(
    "th_q01_idle",
    {
        "p.prom": "".join(
            scrape(
                healthy(2, util=0, temp=35, clk=345) + [(DCGM + REASONS, gpu_labels(2), 1)],
                i * 15,
            )
            for i in range(10)
        ),
    },
)

case.silent(
    "th_q02_powercap",
    {"p.prom": "".join((scrape(slowed(2, 4, 71), i * 15) for i in range(10)))},
)

case.silent(
    "th_q03_appclocks",
    {"p.prom": "".join((scrape(slowed(2, 2, 60), i * 15) for i in range(10)))},
)

case.silent(
    "th_q04_blip",
    {"p.prom": "".join((scrape(slowed(2, 64 if i in (3,) else 0, 86), i * 15) for i in range(10)))},
)

case.silent(
    "th_q05_blip2",
    {
        "p.prom": "".join(
            scrape(slowed(2, 32 if i in (3, 4) else 0, 86), i * 15)
            for i in range(10)
        ),
    },
)

case.silent("th_q06_single_sample", {"p.prom": scrape(slowed(2, 64, 91))})
case.silent(
    "th_q07_hot_no_throttle",
    {"p.prom": "".join((scrape(slowed(2, 0, 85), i * 15) for i in range(10)))},
)

case.silent(
    "th_q08_syncboost_display",
    {"p.prom": "".join((scrape(slowed(2, 272, 65), i * 15) for i in range(10)))},
)

case.silent(
    "th_q09_violation_small",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(5, temp=80)
                    + [(DCGM + "THERMAL_VIOLATION", gpu_labels(5), 9000000000000 + i * 100000000)]
                ),
                i * 15,
            )
            for i in range(8)
        ),
    },
)

case.silent(
    "th_q10_power_violation",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(5, temp=70)
                    + [
                        (DCGM + "POWER_VIOLATION", gpu_labels(5), i * 15000000000),
                        (DCGM + "THERMAL_VIOLATION", gpu_labels(5), 0),
                    ]
                ),
                i * 15,
            )
            for i in range(8)
        ),
    },
)

case.silent(
    "th_q11_flapping_blips",
    {
        "p.prom": "".join(
            scrape(slowed(2, 32 if i % 6 == 0 else 0, 84), i * 10)
            for i in range(30)
        ),
    },
)

case.silent(
    "th_q12_sentinel",
    {
        "p.prom": "".join(
            scrape(
                (
                    healthy(2)
                    + [
                        (DCGM + REASONS, gpu_labels(2), "9223372036854775794"),
                        (DCGM + "THERMAL_VIOLATION", gpu_labels(2), "9.223372036854776e+18"),
                    ]
                ),
                i * 15,
            )
            for i in range(10)
        ),
    },
)

case.silent(
    "th_q13_first_violation_high",
    {
        "p.prom": "".join(
            scrape(
                healthy(5, temp=70) + [(DCGM + "THERMAL_VIOLATION", gpu_labels(5), 777000000000)],
                i * 15,
            )
            for i in range(8)
        ),
    },
)

case.silent(
    "th_q14_split_gap",
    {"p.prom": scrape(slowed(2, 64, 90), 0) + scrape(slowed(2, 64, 90), 3600)},
)
