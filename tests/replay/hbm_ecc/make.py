#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the hbm_ecc cases; --check compares only."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import lines, main, when  # noqa: E402

UUID = "GPU-7d3c1a52-9e04-5b6f-a1c8-2f60d94b7e13"


def only(files):
    """Other patterns see these events too; they have cases of their own."""
    return {"args": "--only=hbm_ecc\n", **files}


def logged(*texts):
    """A kernel log of gpu-07: (seconds, text)."""
    told = (f"{when(at)[:-1]},000000+00:00 NVRM: {text}\n" for at, text in texts)
    return {"input/dmesg-gpu-07.txt": "".join(told)}


def xid(at, code, text, pid=True):
    who = "pid=4711, name=python, " if pid else ""
    return at, f"Xid (PCI:0000:b3:00): {code}, {who}{text}"


def inventory(at):
    return at, f"GPU at PCI:0000:b3:00: {UUID}"


def sample(at, metric, value, **more):
    """As dcgm-exporter labels it: node, UUID, index, and the pod that uses the GPU."""
    return {
        "kind": "metric",
        "time": when(at),
        "k8s.node.name": "gpu-07",
        "k8s.namespace.name": "train",
        "k8s.pod.name": "pretrain-worker-3",
        "k8s.container.name": "trainer",
        "gpu.uuid": UUID,
        "gpu.index": 3,
        "metric": metric,
        "value": value,
        **more,
    }


def scraped(*samples):
    return {"input/metrics.ndjson": lines(*samples)}


def fires_on_uncorrectable():
    """The kernel logs an uncorrectable error, the row that is set aside for it, and that it was
    contained; the exporter's counter follows. One incident: the worst of it names it."""
    log = logged(
        inventory(598),
        xid(600, 48, "An uncorrectable double bit error (DBE) has been detected on GPU"),
        xid(600, 63, "Row Remapper: New row marked for remapping, reset gpu to activate."),
        xid(601, 94, "Contained: CE User Channel (0x9). RST: No, D-RST: No"),
    )
    metrics = scraped(
        sample(570, "gpu_ecc_uncorrected", 0),
        sample(570, "gpu_row_remap_pending", 0),
        sample(630, "gpu_ecc_uncorrected", 1),
        sample(630, "gpu_row_remap_pending", 1),
    )
    return only({**log, **metrics})


def fires_on_uncorrectable_counter():
    """Nobody kept the kernel log: the counters since the driver was loaded and of the board's life
    rise by the same two errors."""
    counters = ("gpu_ecc_uncorrected", 0, 2), ("gpu_ecc_uncorrected_lifetime", 11, 13)
    return only(
        scraped(
            *(sample(570, name, first) for name, first, _ in counters),
            *(sample(600, name, last) for name, _, last in counters),
        )
    )


def fires_on_contained():
    """Xid 94: one application is lost, the others go on."""
    return only(logged(xid(600, 94, "Contained: CE User Channel (0x9). RST: No, D-RST: No")))


def fires_on_contained_and_counted():
    """Xid 94, and the counter of uncorrectable errors rises by the same error: it was contained."""
    return only(
        logged(inventory(598), xid(600, 94, "Contained: SM (0x1). RST: No, D-RST: No"))
        | scraped(sample(570, "gpu_ecc_uncorrected", 0), sample(615, "gpu_ecc_uncorrected", 1))
    )


def fires_on_one_error_more_than_contained():
    """One Xid 94, and the counter rises by two: one of them was not contained."""
    return only(
        logged(inventory(598), xid(600, 94, "Contained: SM (0x1). RST: No, D-RST: No"))
        | scraped(sample(570, "gpu_ecc_uncorrected", 0), sample(615, "gpu_ecc_uncorrected", 2))
    )


def fires_on_uncontained():
    """Xid 95: all that ran on the GPU is lost."""
    return only(logged(xid(600, 95, "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No")))


def fires_on_remap_pending():
    """The flag is up in the first sample: the remap waits for a reset, since whenever."""
    flags = (sample(at, "gpu_row_remap_pending", 1) for at in range(600, 900, 60))
    return only(scraped(*flags))


def fires_on_page_retirement():
    """An older GPU: two pages will be retired at the next reset."""
    return only(scraped(sample(570, "gpu_pages_pending", 0), sample(600, "gpu_pages_pending", 2)))


def fires_on_remap_failed():
    """Xid 64, and the flag of the exporter: the board can set aside no more rows."""
    log = logged(inventory(598), xid(600, 64, "Row Remapper: Failed to remap row", pid=False))
    flags = scraped(sample(570, "gpu_row_remap_failure", 0), sample(630, "gpu_row_remap_failure", 1))
    return only({**log, **flags})


def fires_on_corrected_storm():
    """130 corrected errors in ten minutes, by both counters."""
    samples = []
    for i in range(11):
        samples.append(sample(600 + 60 * i, "gpu_ecc_corrected", 4 + 13 * i))
        samples.append(sample(600 + 60 * i, "gpu_ecc_corrected_lifetime", 904 + 13 * i))
    return only(scraped(*samples))


def fires_on_high_rate_xid():
    """Xid 92: the driver itself says that the rate is high."""
    return only(logged(xid(600, 92, "High single-bit ECC error rate", pid=False)))


def fires_at_the_edge_of_the_rate():
    """Exactly 100 corrected errors in exactly 600 seconds."""
    return only(scraped(*(sample(600 + 60 * i, "gpu_ecc_corrected", 10 * i) for i in range(11))))


def fires_partial_on_exporters_xid():
    """No kernel log: the exporter's last Xid becomes 48. When it happened is known to a scrape."""
    values = (0, 0, 48, 48)
    gauge = (sample(540 + 30 * i, "gpu_xid_last", value) for i, value in enumerate(values))
    return only(scraped(*gauge))


def fires_partial_on_remapped_rows():
    """The exporter's default set has no flag for what is pending: only the rows rise."""
    name = "gpu_rows_remapped_uncorrected"
    return only(scraped(sample(570, name, 2), sample(600, name, 3)))


def fires_on_each_gpu():
    """Two GPUs of a node and one of another: three incidents."""
    text = "An uncorrectable double bit error (DBE) has been detected on GPU"
    line = f"{when(600)[:-1]},000000+00:00 NVRM: Xid (PCI:0000:%s:00): 48, {text}\n"
    return only(
        {
            "input/dmesg-gpu-07.txt": line % "b3" + line % "b4",
            "input/dmesg-gpu-08.txt": line % "b3",
        }
    )


def stays_quiet_on_trickle():
    """A few corrected errors every minute, for hours: memory does that."""
    return only(scraped(*(sample(60 * i, "gpu_ecc_corrected", 9 * i) for i in range(240))))


def stays_quiet_on_rate_between_rare_samples():
    """500 errors in an hour between two samples are 83 in ten minutes."""
    name = "gpu_ecc_corrected"
    return only(scraped(sample(0, name, 0), sample(3600, name, 500)))


def stays_quiet_on_history():
    """Errors, an Xid 48 and remapped rows of long ago, the same in every sample."""
    old = {
        "gpu_ecc_uncorrected": 3,
        "gpu_ecc_uncorrected_lifetime": 17,
        "gpu_xid_last": 48,
        "gpu_rows_remapped_uncorrected": 4,
        "gpu_row_remap_pending": 0,
        "gpu_row_remap_failure": 0,
    }
    return only(
        scraped(*(sample(at, name, old[name]) for at in range(0, 600, 60) for name in sorted(old)))
    )


def stays_quiet_on_counter_restart():
    """The driver was loaded again, and a scrape failed: counters fall and come back."""
    samples = [
        sample(0, "gpu_ecc_uncorrected", 7),
        sample(60, "gpu_ecc_uncorrected", 0),
        sample(0, "gpu_ecc_uncorrected_lifetime", 17),
        sample(60, "gpu_ecc_uncorrected_lifetime", 0),
        sample(120, "gpu_ecc_uncorrected_lifetime", 17),
        sample(0, "gpu_ecc_corrected", 5000),
        sample(60, "gpu_ecc_corrected", 12),
    ]
    return only(scraped(*samples))


def stays_quiet_on_other_xids():
    """An application's fault, a reset channel, a GPU off the bus: not about memory."""
    return only(
        logged(
            xid(600, 31, "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted"),
            xid(601, 45, "Ch 00000008"),
            xid(602, 79, "GPU has fallen off the bus."),
        )
    )


def degrades_replayed_lines():
    """Two collectors kept the same log, one with coarser times: one incident, counted once."""
    text = "Xid (PCI:0000:b3:00): 48, pid=4711, name=python, DBE has been detected"
    return only(
        {
            "input/a/dmesg-gpu-07.txt": f"2026-03-04T05:16:00,250000+00:00 NVRM: {text}\n" * 2,
            "input/b/dmesg-gpu-07.txt": f"2026-03-04T05:16:00,000000+00:00 NVRM: {text}\n",
        }
    )


def degrades_without_inventory():
    """Nothing ties the PCI address of the kernel log to the UUID of the exporter: the GPU of each
    is told as it is known."""
    log = logged(xid(600, 48, "An uncorrectable double bit error (DBE) has been detected on GPU"))
    metrics = scraped(sample(570, "gpu_row_remap_pending", 0), sample(630, "gpu_row_remap_pending", 1))
    return only({**log, **metrics})


def resolved_after_reset():
    """The pending remap is gone and the counters start again: the GPU was reset."""
    samples = [
        sample(540, "gpu_ecc_uncorrected", 0),
        sample(540, "gpu_row_remap_pending", 0),
        sample(600, "gpu_ecc_uncorrected", 1),
        sample(600, "gpu_row_remap_pending", 1),
        sample(1200, "gpu_ecc_uncorrected", 0),
        sample(1200, "gpu_row_remap_pending", 0),
    ]
    return only(scraped(*samples))


def resolved_when_calm():
    """A storm of corrected errors, then a window without any."""
    values = [0, 80, 160, 240] + [240] * 12
    return only(
        scraped(*(sample(600 + 60 * i, "gpu_ecc_corrected", v) for i, v in enumerate(values)))
    )


def crashed(at, rank):
    """The log of a rank whose process met the error."""
    return (f"[{when(at)}] [titan] - root - INFO - step: 7  loss:  2.5\n"
            f"[rank{rank}]: Traceback (most recent call last):\n"
            f"[rank{rank}]:   File \"/app/train.py\", line 7, in main\n"
            f"[rank{rank}]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n")


def fires_partial_on_cuda_error():
    """Nobody kept the kernel log or scraped the GPU: the rank that died of it is all there is."""
    return only({"input/train.log": crashed(600, 12)})


def fires_once_on_xid_and_cuda_error():
    """The driver tells which GPU it was: the process that died of it is not told of again."""
    log = logged(xid(600, 48, "An uncorrectable double bit error (DBE) has been detected on GPU"))
    return only({**log, "input/train.log": crashed(603, 12)})


def smi_query(pending, failure):
    """nvidia-smi -q -d ROW_REMAPPER of two GPUs, the second with these flags."""
    def gpu(bus, rows, pending, failure):
        return (f"GPU 00000000:{bus}:00.0\n    Remapped Rows\n        Correctable Error                 : 0\n"
                f"        Uncorrectable Error               : {rows}\n        Pending                           : {pending}\n"
                f"        Remapping Failure Occurred        : {failure}\n\n")
    return ("\n==============NVSMI LOG==============\n\n"
            "Timestamp                                 : Tue Mar  3 04:05:06 2026\n"
            "Driver Version                            : 570.10\n\nAttached GPUs                             : 2\n"
            + gpu("1B", 0, "No", "No") + gpu("B3", 9, pending, failure))


def fires_on_what_nvidia_smi_prints():
    """One nvidia-smi -q of a GPU whose remap failed; nothing names the node."""
    return {"input/q.txt": smi_query("No", "Yes")}


def stays_quiet_on_rows_remapped_long_ago():
    """The same with nothing pending and nothing failed: rows that were set aside do no harm."""
    return {"input/q.txt": smi_query("No", "No")}


CASES = [
    fires_on_what_nvidia_smi_prints,
    stays_quiet_on_rows_remapped_long_ago,
    fires_on_uncorrectable,
    fires_on_uncorrectable_counter,
    fires_on_contained,
    fires_on_contained_and_counted,
    fires_on_one_error_more_than_contained,
    fires_on_uncontained,
    fires_on_remap_pending,
    fires_on_page_retirement,
    fires_on_remap_failed,
    fires_on_corrected_storm,
    fires_on_high_rate_xid,
    fires_at_the_edge_of_the_rate,
    fires_partial_on_exporters_xid,
    fires_partial_on_remapped_rows,
    fires_partial_on_cuda_error,
    fires_once_on_xid_and_cuda_error,
    fires_on_each_gpu,
    stays_quiet_on_trickle,
    stays_quiet_on_rate_between_rare_samples,
    stays_quiet_on_history,
    stays_quiet_on_counter_restart,
    stays_quiet_on_other_xids,
    degrades_replayed_lines,
    degrades_without_inventory,
    resolved_after_reset,
    resolved_when_calm,
]

if __name__ == "__main__":
    main(__file__, CASES)
