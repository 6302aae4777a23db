#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracecore detect` on kernel logs as machines write them, timed from outside beside grep.

  kernel_log.py [--megabytes N] [--runs N] [--against PROGRAM] [--cold] [--keep DIR]

Writes two logs of GPU nodes in the ways in which syslog daemons, journalctl and dmesg write them
(see STYLES; the style changes every few megabytes, as in a file that several hosts were collected
in): one without anything wrong, one with the same lines and 17 faults of 17 nodes. What the lines
say is drawn at random from MESSAGES, which knows nothing of what tracecore looks for: a share of
them (0.5 %, ten times what a machine that boots daily logs) holds words of faults ("Link is Up",
"I/O scheduler", "NVRM: loading").

Then runs detect and grep -c Xid turn by turn, and prints a line of JSON per program
and log: best and median wall-clock time, user and system time of the best, peak memory, GB/s.
--against adds another tracecore. --cold drops the page cache before each run (root).
The program is $TC_BINARY, or build/release/tracecore.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
START = 1763164800  # 2025-11-15T00:00:00Z
STYLE_BYTES = 8 << 20
FAULTS = 17


def hexa(r, digits):
    return f"{r.getrandbits(4 * digits):0{digits}x}"


def bdf(r):
    return f"0000:{r.choice('1345789abcd')}{r.choice('0123456789abcdef')}:00.0"


# Weight, who says it (None: the kernel), what.
MESSAGES = [
    (14, None, lambda r: f"cni0: port {r.randint(1, 90)}(veth{hexa(r, 8)}) entered {r.choice(['blocking', 'forwarding', 'disabled', 'learning'])} state"),
    (8, None, lambda r: f"IPv6: ADDRCONF(NETDEV_CHANGE): cali{hexa(r, 11)}: link becomes ready"),
    (5, None, lambda r: f"device veth{hexa(r, 8)} {r.choice(['entered', 'left'])} promiscuous mode"),
    (3, None, lambda r: f"eth0: renamed from veth{hexa(r, 7)}"),
    (12, None, lambda r: f"[UFW BLOCK] IN=eth0 OUT= MAC={':'.join(hexa(r, 2) for _ in range(14))} SRC=10.{r.randint(0, 255)}.{r.randint(0, 255)}.{r.randint(1, 254)} DST=10.0.12.7 LEN={r.randint(40, 1500)} TOS=0x00 PREC=0x00 TTL={r.randint(40, 250)} ID={r.randint(1, 65535)} DF PROTO=TCP SPT={r.randint(1024, 65535)} DPT={r.randint(1, 9999)} WINDOW=1024 RES=0x00 SYN URGP=0"),
    (8, None, lambda r: f"audit: type=1400 audit({START + r.randint(0, 999999)}.{r.randint(0, 999):03d}:{r.randint(1, 999999)}): apparmor=\"{r.choice(['ALLOWED', 'DENIED'])}\" operation=\"open\" class=\"file\" profile=\"cri-containerd.apparmor.d\" name=\"/proc/{r.randint(2, 99999)}/status\" pid={r.randint(2, 99999)} comm=\"node_exporter\" requested_mask=\"r\" denied_mask=\"r\" fsuid=65534 ouid=0"),
    (2, None, lambda r: f"perf: interrupt took too long ({r.randint(2500, 9999)} > {r.randint(2500, 9999)}), lowering kernel.perf_event_max_sample_rate to {r.randint(10, 79) * 1000}"),
    (3, None, lambda r: f"TCP: request_sock_TCP: Possible SYN flooding on port {r.randint(1, 65535)}. Sending cookies.  Check SNMP counters."),
    (2, None, lambda r: f"EXT4-fs (nvme{r.randint(0, 7)}n1p1): mounted filesystem with ordered data mode. Opts: (null)"),
    (2, None, lambda r: f"XFS (dm-{r.randint(0, 31)}): Ending clean mount"),
    (1, None, lambda r: f"overlayfs: idmapped layers are currently not supported"),
    (2, None, lambda r: f"nvidia-nvswitch{r.randint(0, 3)}: open (major={r.randint(500, 511)})"),
    (0.05, None, lambda r: f"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.{r.randint(50, 200)}.0{r.randint(1, 9)}  Thu Nov  2 00:00:00 UTC 2023"),
    (0.05, None, lambda r: f"NVRM: GPU at PCI:{bdf(r)[:10]}: GPU-{hexa(r, 8)}-{hexa(r, 4)}-{hexa(r, 4)}-{hexa(r, 4)}-{hexa(r, 12)}"),
    (0.05, None, lambda r: f"nvidia {bdf(r)}: enabling device (0140 -> 0142)"),
    (0.05, None, lambda r: f"nvidia-uvm: Loaded the UVM driver, major device number {r.randint(500, 511)}."),
    (0.05, None, lambda r: f"mlx5_core {bdf(r)}: Port module event: module {r.randint(0, 1)}, Cable plugged"),
    (0.05, None, lambda r: f"mlx5_core {bdf(r)} ens{r.randint(1, 40)}np0: Link up"),
    (0.05, None, lambda r: f"igb {bdf(r)} eno{r.randint(1, 4)}: igb: eno1 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: RX"),
    (0.05, None, lambda r: "I/O scheduler mq-deadline registered"),
    (0.05, None, lambda r: f"pcieport {bdf(r)}: AER: enabled with IRQ {r.randint(24, 400)}"),
    (0.05, None, lambda r: f"EDAC MC{r.randint(0, 7)}: Giving out device to module i10nm_edac controller Intel_10nm Socket#{r.randint(0, 1)} IMC#{r.randint(0, 3)}: DEV {bdf(r)} (INTERRUPT)"),
    (3, None, lambda r: f"CPU{r.randint(0, 191)}: Core temperature/speed normal"),
    (2, None, lambda r: f"hrtimer: interrupt took {r.randint(1000, 99999)} ns"),
    (2, None, lambda r: f"workqueue: {r.choice(['drm_fb_helper_damage_work', 'blk_mq_timeout_work', 'mlx5e_rx_dim_work'])} hogged CPU for >10000us {r.randint(4, 99)} times, consider switching to WQ_UNBOUND"),
    (7, "systemd[1]", lambda r: f"{r.choice(['Started', 'Starting', 'Finished', 'Stopping'])} {r.choice(['Session', 'libcontainer container', 'Daily apt activities', 'Rotate log files', 'dcgm-exporter'])} {hexa(r, 16)}."),
    (6, "kubelet[2211]", lambda r: f"I1115 03:{r.randint(10, 59)}:{r.randint(10, 59)}.{r.randint(100000, 999999)}    2211 reconciler_common.go:258] \"operationExecutor.VerifyControllerAttachedVolume started for volume \\\"kube-api-access-{hexa(r, 5)}\\\" (UniqueName: \\\"kubernetes.io/projected/{hexa(r, 8)}-{hexa(r, 4)}-{hexa(r, 4)}-{hexa(r, 12)}\\\") pod \\\"train-{r.randint(0, 999)}\\\"\""),
    (5, "containerd[1876]", lambda r: f"time=\"2025-11-15T03:{r.randint(10, 59)}:{r.randint(10, 59)}.{r.randint(100000000, 999999999)}Z\" level=info msg=\"CreateContainer within sandbox \\\"{hexa(r, 64)}\\\" for container name:\\\"pytorch\\\"\""),
    (3, f"sshd[{4711}]", lambda r: f"Connection closed by 10.{r.randint(0, 255)}.{r.randint(0, 255)}.{r.randint(1, 254)} port {r.randint(1024, 65535)} [preauth]"),
    (2, "CRON[9182]", lambda r: "(root) CMD (   cd / && run-parts --report /etc/cron.hourly)"),
    (1, "nvidia-persistenced[1420]", lambda r: f"device {bdf(r)} - persistence mode enabled."),
]
XIDS = [
    "Xid (PCI:{}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "Xid (PCI:{}): 48, pid=21234, name=python3, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 4, subpartition 1.",
    "Xid (PCI:{}): 119, pid=3312, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20808513 0x598).",
]


def clock(t):
    s = int(t)
    return time.gmtime(s), int((t - s) * 1e6)


def rfc3164(t, host, who, text):
    g, us = clock(t)
    head = f"{time.strftime('%b', g)} {g.tm_mday:2d} {g.tm_hour:02d}:{g.tm_min:02d}:{g.tm_sec:02d} {host} "
    return head + (f"kernel: [{t - START + 86400:12.6f}] {text}" if who is None else f"{who}: {text}")


def iso(t, host, who, text):
    g, us = clock(t)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', g)}.{us:06d}+00:00 {host} {who or 'kernel'}: {text}"


def iso_priority(t, host, who, text):
    g, us = clock(t)
    return f"<{6 if who is None else 30}>1 {time.strftime('%Y-%m-%dT%H:%M:%S', g)}.{us:06d}Z {host} {who.split('[')[0] if who else 'kernel'} - - - {text}"


def journal_short_precise(t, host, who, text):
    g, us = clock(t)
    return f"{time.strftime('%b %d %H:%M:%S', g)}.{us:06d} {host} {who or 'kernel'}: {text}"


STYLES = [rfc3164, iso, iso_priority, journal_short_precise]


def write_logs(folder, size, seed=1):
    """The healthy log and the one with faults."""
    r = random.Random(seed)
    weights = [w for w, _, _ in MESSAGES]
    healthy, faults = folder / "healthy.log", folder / "faults.log"
    places = [size * (2 * i + 1) // (2 * FAULTS) for i in range(FAULTS)]
    written, t = 0, float(START)
    with open(healthy, "wb") as a, open(faults, "wb") as b:
        while written < size:
            style = STYLES[written // STYLE_BYTES % len(STYLES)]
            lines = []
            for _, who, say in r.choices(MESSAGES, weights, k=2000):
                t += r.random() * 0.05
                lines.append(style(t, f"gpu-{r.randint(1, 4):03d}", who, say(r)))
            block = ("\n".join(lines) + "\n").encode()
            a.write(block)
            b.write(block)
            written += len(block)
            if places and written >= places[0]:
                n = FAULTS - len(places)
                places.pop(0)
                text = "NVRM: " + XIDS[n % len(XIDS)].format(f"0000:{0x1b + n:02x}:00")
                b.write((style(t, f"gpu-{100 + n}", None, text) + "\n").encode())
    return healthy, faults


def run(command):
    start = time.monotonic()
    # Not the null device: grep stops at the first match there.
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while child.stdout.read(1 << 16):
        pass
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit(f"{command}: ended with {child.returncode}")
    return {"wall_s": wall, "user_s": usage.ru_utime, "sys_s": usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024}


def drop_cache():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("1")


def measure(options, logs):
    ours = os.environ.get("TC_BINARY", str(ROOT / "build/release/tracecore"))
    programs = {"detect": [ours, "detect", "-q"], "grep": ["grep", "-c", "Xid"]}
    if options.against:
        programs["against"] = [options.against, "detect", "-q"]
    for log in logs:
        runs = {name: [] for name in programs}
        size = log.stat().st_size
        for _ in range(options.runs):
            for name, command in programs.items():
                if options.cold:
                    drop_cache()
                runs[name].append(run(command + [str(log)]))
        for name, all_runs in runs.items():
            best = min(all_runs, key=lambda x: x["wall_s"])
            cpu = min(x["user_s"] + x["sys_s"] for x in all_runs)
            print(json.dumps({
                "log": log.name, "program": name, "cold": options.cold, "bytes": size,
                "best_s": round(best["wall_s"], 3),
                "median_s": round(statistics.median(x["wall_s"] for x in all_runs), 3),
                "least_cpu_s": round(cpu, 3), "user_s": round(best["user_s"], 3),
                "sys_s": round(best["sys_s"], 3), "peak_mb": round(best["peak_mb"], 1),
                "best_gb_per_s": round(size / best["wall_s"] / 1e9, 2),
                "gb_per_cpu_s": round(size / cpu / 1e9, 2)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--against")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        logs = (folder / "healthy.log", folder / "faults.log")
        if not all(log.exists() for log in logs):
            logs = write_logs(folder, options.megabytes * 1000 * 1000)
        measure(options, logs)


if __name__ == "__main__":
    main()
