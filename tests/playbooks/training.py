# SPDX-License-Identifier: Apache-2.0
"""A training job step by step: input, compute of each rank, the collective that waits for the last of
them. A cause slows a part of it; the log is torchtitan's, the telemetry that of exporters."""
import math

import exporters as ex

LOW_UTILIZATION = ("throttling", "loader", "storage", "network")
STRAGGLER = ("pcie", "nvlink", "thermal", "nic")


class Training:
    def __init__(self, rng, plan, cause, start):
        self.rng, self.plan, self.cause, self.start = rng, plan, cause, start
        self.nodes = [f"gpu-{plan['first_node'] + n:02d}" for n in range(plan["nodes"])]
        self.gpus = plan["gpus"]
        self.slow_node = self.nodes[plan["slow_node"]]
        self.slow_gpu = plan["slow_gpu"]
        self.is_straggler = cause in STRAGGLER
        self.is_starved = cause in LOW_UTILIZATION
        self.steps = self.simulate()
        self.seconds = self.steps[-1][1]

    # ---- steps

    def active(self, t):
        """A straggler's trouble comes and goes; starvation stays."""
        if not self.is_straggler:
            return 1.0
        period = self.plan["period"]
        return 1.0 if (t % period) < period * self.plan["duty"] else 0.0

    def simulate(self):
        rng, t, steps = self.rng, 0.0, []
        base = self.plan["step"]
        while t < self.plan["seconds"]:
            compute = base * 0.72 * max(rng.gauss(1, 0.012) for _ in range(4))
            wait_input = base * 0.02 * rng.uniform(0.5, 1.5)
            comm = base * 0.2 * rng.uniform(0.95, 1.1)
            if self.is_starved and self.cause != "network":
                wait_input += base * self.plan["starved"] * rng.uniform(0.85, 1.15)
            if self.cause == "network":
                comm += base * self.plan["starved"] * rng.uniform(0.7, 1.3)
            slow = self.active(t) * self.plan["slowdown"] if self.is_straggler else 0.0
            if self.cause in ("thermal", "pcie"):
                compute *= 1 + slow
            elif self.is_straggler:
                comm += base * slow * rng.uniform(0.8, 1.2)
            if rng.random() < 0.004:
                comm += base * 0.3  # a hiccup that every cluster has
            step = compute + wait_input + comm
            t += step
            steps.append((len(steps) + 1, t, step, wait_input, compute, comm))
        return steps

    def busy(self):
        total = sum(s[2] for s in self.steps)
        return sum(s[4] for s in self.steps) / total, sum(s[5] for s in self.steps) / total

    # ---- files

    def result(self, path):
        tokens = 8192
        lines = []
        world = len(self.nodes) * self.gpus

        def say(at, text):
            millis = int(round((at - math.floor(at)) * 1000)) % 1000
            when = ex.stamp(math.floor(at)).replace("T", " ").rstrip("Z")
            lines.append(f"[rank0]:[titan] {when},{millis:03d} - root - INFO - {text}")

        say(self.start - 8, "torchtitan version: 0.1.0 (0.1.0 means __version__ is not defined correctly).")
        say(self.start - 7, f"CUDA capacity: {ex.GPU_MODEL} with 79.10GiB memory")
        say(self.start - 6, "Model llama3 8B size: 8,030,261,248 total parameters")
        say(self.start - 5, f"Trainer is initialized with local batch size 1, global batch size {world}, "
            "gradient accumulation steps 1, sequence length 8192, total steps 1000 (warmup 200).")
        for n, t, step, *_ in self.steps:
            tps = int(tokens / step)
            tflops = tps * 57.9 / 1000
            say(self.start + t, f"step: {n:2}  loss: {8 * math.exp(-n / 300) + 3:8.5f}  grad_norm: "
                f"{1.2:7.4f}  memory: 47.80GiB(60.43%)  tps: {tps:,}  tflops: {tflops:.2f}  mfu: {tflops / 9.89:.2f}%")
        say(self.start + self.seconds + 1, "Training completed")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)

    def gpu_metrics(self, scrape):
        plan, rng = self.plan, self.rng
        compute, comm = self.busy()
        # A kernel of a collective that waits counts as utilisation, and draws little power.
        util = 100 * min(1, compute + comm)
        for n, node in enumerate(self.nodes):
            for gpu in range(self.gpus):
                is_slow = node == self.slow_node and gpu == self.slow_gpu
                temp, clock = 60 + rng.uniform(-4, 4), 1965
                if plan["hot_gpu"] and n == plan["hot_node"] and gpu == 1 % self.gpus:
                    temp = rng.uniform(78, 82)  # warm, and as fast as the others
                temp_of = lambda t, temp=temp: temp
                clock_of = lambda t, clock=clock: clock
                if self.cause == "thermal" and is_slow:
                    temp_of = lambda t: 74 + 13 * self.active(t)
                    clock_of = lambda t: 1965 / (1 + plan["slowdown"] * 1.1) if self.active(t) else 1950
                ex.dcgm(scrape, node, gpu, lambda t: util, lambda t: compute * 0.9,
                        lambda t: 120 + 560 * compute, temp_of, clock_of, plan["gpu_counters"])
                if plan["violation"]:
                    ex.dcgm_violation(scrape, node, gpu,
                                      (lambda t: 0.5 * self.active(t)) if self.cause == "thermal" and is_slow else 0.0)

    def link_metrics(self, scrape):
        plan = self.plan
        for n, node in enumerate(self.nodes):
            for gpu in range(self.gpus):
                is_slow = node == self.slow_node and gpu == self.slow_gpu
                if "pcie" in plan["links"]:
                    gen, width, replays = 5, 16, 0.0
                    if self.cause == "pcie" and is_slow:
                        gen, width = plan["pcie_now"]
                        replays = plan["pcie_replays"]
                    ex.dcgm_pcie(scrape, node, gpu, gen, width, replays)
                if "nvlink" in plan["links"]:
                    rate = plan["nvlink_errors"] if self.cause == "nvlink" and is_slow else 0.0
                    ex.dcgm_nvlink(scrape, node, gpu, lambda t, r=rate: r * self.active(t), 0.05 if rate else 0.0,
                                   lambda t, r=rate: 8e10 * (0.5 if r and self.active(t) else 1))

    def network_metrics(self, scrape):
        plan = self.plan
        for node in self.nodes:
            bad = self.cause == "nic" and node == self.slow_node
            all_bad = self.cause == "network"
            if "netdev" in plan["network"]:
                ex.node_network(scrape, node, drops=(lambda t: 300 * self.active(t)) if bad else 120 if all_bad else 0.02,
                                errors=5 if bad else 0.0, retrans=400 if bad else 900 if all_bad else 1.5)
            if "infiniband" in plan["network"]:
                ex.node_infiniband(scrape, node, symbol=(lambda t: 30 * self.active(t)) if bad else 0.0,
                                   downed=0.008 if bad else 0.0,
                                   wait=4e6 if all_bad else 9e5 if bad else 3000)
            if "ping" in plan["network"]:
                others = [o for o in self.nodes if o != node]
                ex.ping(scrape, node, others,
                        lambda target, t, node=node: self.loss(node, target, t),
                        lambda target, t: 0.004 if all_bad else 0.0002)

    def loss(self, node, target, t):
        if self.cause == "nic" and self.slow_node in (node, target):
            return self.rng.uniform(0.03, 0.12) * self.active(t)
        if self.cause == "network":
            return self.rng.uniform(0.01, 0.05)
        return 0.01 if self.rng.random() < 0.01 else 0.0

    def host_metrics(self, scrape):
        plan = self.plan
        for n, node in enumerate(self.nodes):
            pod = f"train-worker-{n}"
            throttled = plan["throttled"] if self.cause == "throttling" else plan["throttle_noise"]
            if "cadvisor" in plan["host"]:
                ex.cadvisor(scrape, pod, "pytorch", node, lambda t, throttled=throttled: throttled * self.rng.uniform(0.85, 1.15),
                            16.0, 16.0)
            if "cpu" in plan["host"]:
                busy = self.cause == "loader"
                ex.node_cpu(scrape, node, 0.03 if busy else 0.55, 0.6 if busy else 0.02)
            if "disk" in plan["host"]:
                bad = self.cause == "storage" and plan["storage"] == "disk"
                ex.node_disk(scrape, node, 1.2e8 if bad else 4e8, 0.045 if bad else 0.0012,
                             0.98 if bad else 0.25, 0.35 if bad else 0.01, 0.5 if bad else 0.01)
            if "nfs" in plan["host"]:
                bad = self.cause == "storage" and plan["storage"] == "nfs"
                ex.node_nfs(scrape, node, 900 if bad else 2500, 0.09 if bad else 0.004)

    def rank_metrics(self, scrape):
        plan = self.plan
        base_us = 9000
        for n, node in enumerate(self.nodes):
            for gpu in range(self.gpus):
                rank = n * self.gpus + gpu
                is_slow = node == self.slow_node and gpu == self.slow_gpu
                slow = plan["slowdown"] if self.is_straggler else 0.0
                matmul = lambda t, s=(slow if is_slow and self.cause in ("thermal", "pcie") else 0.0): base_us * (1 + s * self.active(t))
                coll = lambda t: 4000.0
                band = lambda t: 180.0
                if self.cause in ("thermal", "pcie") and not is_slow:
                    coll = lambda t: 4000 + base_us * slow * self.active(t)  # waits for the slow one
                elif self.cause in ("nic", "nvlink"):
                    mine = node == self.slow_node and (self.cause == "nic" or gpu == self.slow_gpu)
                    coll = lambda t, m=mine: 4000 * (1 + (6 if m else 5.2) * slow * self.active(t))
                    band = lambda t, m=mine: 180 / (1 + (6 if m else 2.2) * slow * self.active(t))
                elif self.cause == "network":
                    coll = lambda t: 4000 * (1 + 5 * plan["starved"])
                    band = lambda t: 180 / (1 + 5 * plan["starved"])
                ex.xpu_timer(scrape, rank, node, f"train-worker-{n}", matmul, coll, band)

    def write(self, folder, present):
        folder.mkdir(parents=True)
        files = {"result": [self.result(folder / "titan.log")], "telemetry": []}

        def scrape(name, fill):
            s = ex.Scrape(self.rng, self.start, self.seconds + 20)
            fill(s)
            path = s.write(folder / name)
            files["telemetry"] += [path] if path else []

        for name, fill in (("dcgm", self.gpu_metrics), ("links", self.link_metrics), ("network", self.network_metrics),
                           ("host", self.host_metrics), ("ranks", self.rank_metrics)):
            if name in present:
                scrape(f"{name}.prom", fill)
        if "titan" in present:
            waits = sum(s[3] for s in self.steps)
            s = ex.Scrape(self.rng, self.start, self.seconds)
            files["telemetry"].append(ex.torchtitan_otlp(
                folder / "titan-otlp.json", s, range(2), 100 * waits / self.steps[-1][1], waits / len(self.steps)))
        if "events" in present and self.plan["other_restart"]:
            files["telemetry"].append(ex.events(folder / "events.json", [
                (self.start + 60, "Normal", "Started", "Pod", "node-exporter-x7k2p", "Started container", "kubelet", 1)]))
        return files


def subset(rng, names, must, chance=0.7):
    return [n for n in names if n in must or rng.random() < chance]


def case(rng, cause):
    nodes = rng.choice([4, 5, 6, 8])
    gpus = rng.choice([2, 4])
    must = {"pcie": ["pcie"], "nvlink": ["nvlink"]}.get(cause, [])
    kind_of_net = rng.choice(["netdev", "infiniband", "ping"])
    storage = rng.choice(["disk", "nfs"])
    host = {"throttling": ["cadvisor"], "storage": [storage], "loader": ["cpu"]}.get(cause, [])
    plan = {"nodes": nodes, "gpus": gpus, "first_node": rng.randint(1, 70), "slow_node": rng.randrange(nodes),
            "slow_gpu": rng.randrange(gpus), "seconds": rng.choice([240, 300, 420]), "step": rng.uniform(0.6, 1.6),
            "period": rng.uniform(60, 110), "duty": rng.uniform(0.3, 0.55), "slowdown": rng.uniform(0.5, 1.1),
            "starved": rng.uniform(0.45, 0.9), "throttled": rng.uniform(0.35, 0.8),
            "throttle_noise": rng.choice([0.0, 0.01, 0.04]), "hot_gpu": rng.random() < 0.5, "violation": rng.random() < 0.5,
            "hot_node": rng.randrange(nodes), "storage": storage,
            "gpu_counters": rng.choice([("util",), ("util", "prof"), ("util", "prof")]),
            "pcie_now": rng.choice([(5, 8), (5, 4), (1, 16), (3, 16)]), "pcie_replays": rng.choice([0.0, 2.0]),
            "nvlink_errors": rng.uniform(5, 60), "links": subset(rng, ["pcie", "nvlink"], must),
            "network": subset(rng, ["netdev", "infiniband", "ping"], [kind_of_net] if cause in ("nic", "network") else [], 0.6),
            "host": subset(rng, ["cadvisor", "cpu", "disk", "nfs"], host, 0.6), "other_restart": rng.random() < 0.4}
    families = ["links", "network", "host", "ranks", "titan", "events"]
    decisive = {"pcie": ["links"], "nvlink": ["links"], "nic": ["network"], "network": ["network"],
                "throttling": ["host"], "storage": ["host"], "loader": ["host", "titan"]}.get(cause, [])
    return plan, ["dcgm"] + families, ["dcgm"] + decisive, Training
