# SPDX-License-Identifier: Apache-2.0
"""A server of several pods, request by request: arrivals, a queue per pod, prefill and decode. A cause
acts on the requests; the telemetry is what exporters would have seen of it."""
import json

import exporters as ex

CAUSES = ("queue", "throttling", "restarts", "dns")
MODEL = "example/llama-8b"


def quantile(values, q):
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class Serving:
    """One run. `plan` is shared by the runs of a case: size, rates, which exporters there are."""

    def __init__(self, rng, plan, cause, start):
        self.rng = rng
        self.plan = plan
        self.cause = cause
        self.start = start
        self.seconds = plan["seconds"]
        self.pods = [f"server-{n}" for n in range(plan["pods"])]
        self.nodes = {pod: f"node-{plan['first_node'] + n // plan['pods_per_node']:02d}"
                      for n, pod in enumerate(self.pods)}
        self.victim = rng.choice(self.pods)
        self.strength = plan["strength"]
        self.outage = None
        self.bursts = []
        if cause == "restarts":
            begin = self.seconds * rng.uniform(0.3, 0.55)
            self.outage = (begin, begin + rng.uniform(12, 25) * plan["severity"])
        if cause == "queue":
            self.bursts = [(self.seconds * rng.uniform(0.1 + 0.25 * n, 0.2 + 0.25 * n),
                            rng.uniform(4, 7) * plan["severity"]) for n in range(rng.choice([1, 2, 3]))]
        self.requests = self.simulate()

    # ---- requests

    def arrivals(self):
        at, rate = 0.0, self.plan["rate"]
        while True:
            now = rate
            for begin, length in self.bursts:
                if begin <= at < begin + length:
                    now = rate * self.plan["burst"]
            at += self.rng.expovariate(now)
            if at >= self.seconds:
                return
            yield at

    def simulate(self):
        rng, slots = self.rng, {pod: [0.0] * self.plan["slots"] for pod in self.pods}
        out = []
        for at in self.arrivals():
            pods = [p for p in self.pods
                    if not (self.outage and p == self.victim and self.outage[0] <= at < self.outage[1])]
            pod = rng.choice(pods)
            before = 0.0
            if self.cause == "dns" and rng.random() < self.plan["dns_share"]:
                before = self.plan["dns_seconds"] * rng.uniform(0.9, 1.2)
            reached = at + before
            slot = min(range(len(slots[pod])), key=lambda i, pod=pod: slots[pod][i])
            begun = max(reached, slots[pod][slot])
            prefill = rng.lognormvariate(-2.4, 0.25)
            decode = 127 * rng.gauss(0.0125, 0.0006)
            hit = 0.0
            if self.outage and pod == self.victim and at < self.outage[0] < begun + prefill + decode:
                hit = rng.uniform(0.8, 1.0) * self.outage_retry()  # sent again to another pod
            if self.outage and pod == self.victim and self.outage[1] <= at < self.outage[1] + 6:
                hit = rng.uniform(1.5, 3.5)  # cold: weights, graphs, caches
            if self.cause == "throttling" and pod == self.victim and rng.random() < self.plan["throttle_share"]:
                hit = rng.uniform(0.7, 1.3) * self.plan["throttle_seconds"]
            first = begun + prefill + hit
            end = first + decode
            slots[pod][slot] = end
            out.append({"at": at, "pod": pod, "queue": begun - reached, "ttft": first - at,
                        "e2e": end - at, "tpot": decode / 127})
        return out

    def shows(self, base):
        """Whether it is the scenario at all: the tail of end-to-end latency doubled, its mean did not move."""
        mine, before = ([r["e2e"] for r in w.requests] for w in (self, base))
        mean = (sum(mine) / len(mine)) / (sum(before) / len(before))
        return quantile(mine, 0.99) >= 2.2 * quantile(before, 0.99) and mean < 1.15

    def outage_retry(self):
        return 4.0 * self.strength

    # ---- files

    def result(self, path):
        n = len(self.requests)
        duration = max(r["at"] + r["e2e"] for r in self.requests)
        date = ex.stamp(self.start + duration).replace("-", "").replace("T", "-").replace(":", "").rstrip("Z")
        out = {"date": date, "endpoint_type": "vllm", "backend": "vllm", "label": None,
               "model_id": MODEL, "tokenizer_id": MODEL, "num_prompts": n,
               "request_rate": self.plan["rate"], "burstiness": 1.0, "max_concurrency": None,
               "duration": duration, "completed": n, "failed": 0, "total_input_tokens": 1024 * n,
               "total_output_tokens": 128 * n, "request_throughput": n / duration,
               "request_goodput": None, "output_throughput": 128 * n / duration,
               "total_token_throughput": 1152 * n / duration}
        for key, name in (("ttft", "ttft"), ("tpot", "tpot"), ("e2e", "e2el")):
            values = [r[key] * 1000 for r in self.requests]
            mean = sum(values) / n
            out[f"mean_{name}_ms"] = mean
            out[f"median_{name}_ms"] = quantile(values, 0.5)
            out[f"std_{name}_ms"] = (sum((v - mean) ** 2 for v in values) / n) ** 0.5
            for p in (90, 95, 99):
                out[f"p{p}_{name}_ms"] = quantile(values, p / 100)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(out, f, indent=1)
        return str(path)

    def waiting(self, pod):
        mine = [(r["at"], r["at"] + r["queue"]) for r in self.requests if r["pod"] == pod]
        return lambda t: sum(1 for a, b in mine if a <= t < b)

    def server_metrics(self, scrape):
        for pod in self.pods:
            mine = [r for r in self.requests if r["pod"] == pod]
            running = [(r["at"] + r["queue"], r["at"] + r["e2e"]) for r in mine]
            ex.vllm_server(scrape, MODEL, pod, self.nodes[pod],
                           [(r["at"] + r["queue"], r["queue"]) for r in mine], self.waiting(pod),
                           lambda t, running=running: sum(1 for a, b in running if a <= t < b))

    def pod_metrics(self, scrape):
        plan = self.plan
        for pod in self.pods:
            quiet = plan["throttle_noise"] * self.rng.uniform(0.3, 1.0)
            share = plan["throttled"] if self.cause == "throttling" and pod == self.victim else quiet
            if plan["sidecar_throttled"] and pod == self.pods[0]:
                # a log shipper that has always been at its limit
                ex.cadvisor(scrape, pod, "log-shipper", self.nodes[pod], lambda t: 0.35, 0.05, 0.05)
            ex.cadvisor(scrape, pod, "main", self.nodes[pod],
                        lambda t, share=share: share * self.rng.uniform(0.8, 1.2), 6.0, 8.0)

    def state_metrics(self, scrape):
        restarts, ready, replicas = {}, {}, None
        if self.outage:
            begin, end = self.outage
            restarts[self.victim] = lambda t: 1 if t >= begin else 0
            ready[self.victim] = lambda t: 0 if begin <= t < end else 1
            replicas = lambda t: len(self.pods) - (1 if begin <= t < end else 0)
        ex.kube_state(scrape, self.pods, restarts, ready, replicas=replicas)
        if self.plan["other_restart"]:
            # of a pod that serves nothing of this run
            labels = {"namespace": "monitoring", "pod": "grafana-0", "uid": ex.pod_uid("grafana-0"),
                      "container": "grafana"}
            for at in scrape.times:
                scrape._line("kube_pod_container_status_restarts_total", "counter", labels,
                             1 if at - scrape.start > 60 else 0, at)

    def event_items(self):
        items = []
        if self.outage:
            at = self.start + self.outage[0]
            items += [(at, "Warning", "Unhealthy", "Pod", self.victim, "Liveness probe failed: HTTP 503", "kubelet", 3),
                      (at + 1, "Normal", "Killing", "Pod", self.victim, "Container main failed liveness probe", "kubelet", 1),
                      (at + 3, "Normal", "Started", "Pod", self.victim, "Started container main", "kubelet", 1)]
        if self.plan["other_restart"]:
            items.append((self.start + 70, "Normal", "Started", "Pod", "grafana-0", "Started container grafana", "kubelet", 1))
        return items

    def write(self, folder, present):
        folder.mkdir(parents=True)
        files = {"result": [self.result(folder / "vllm.json")], "telemetry": []}

        def scrape(name, fill):
            s = ex.Scrape(self.rng, self.start, self.seconds + 20)
            fill(s)
            path = s.write(folder / name)
            if path:
                files["telemetry"].append(path)

        if "server" in present:
            scrape("vllm.prom", self.server_metrics)
        if "cadvisor" in present:
            scrape("cadvisor.prom", self.pod_metrics)
        if "state" in present:
            scrape("kube-state-metrics.prom", self.state_metrics)
        if "events" in present:
            path = ex.events(folder / "events.json", self.event_items())
            files["telemetry"] += [path] if path else []
        if "dns" in present:
            is_dns = self.cause == "dns"
            scrape("coredns.prom", lambda s: ex.coredns(
                s, self.seconds, self.plan["dns_share"] if is_dns else 0.0005,
                self.plan["dns_seconds"], 0.15 if is_dns and self.plan["servfail"] else 0.002))
        if "dcgm" in present:
            scrape("dcgm.prom", self.gpu_metrics)
        return files

    def gpu_metrics(self, scrape):
        hot = self.plan["hot_gpu"]
        for n, node in enumerate(sorted(set(self.nodes.values()))):
            for gpu in range(2):
                warm = 81 if hot and n == 0 and gpu == 0 else 61 + self.rng.uniform(-3, 3)
                ex.dcgm(scrape, node, gpu, lambda t: 93, lambda t: 0.7, lambda t: 560,
                        lambda t, warm=warm: warm, lambda t: 1965 if not hot else 1950)


DECISIVE = {"queue": ["server"], "throttling": ["cadvisor"], "restarts": ["state", "events"], "dns": ["dns"]}


def case(rng, cause):
    plan = {"seconds": rng.choice([180, 240, 300]), "pods": rng.choice([2, 3, 4, 6]),
            "pods_per_node": rng.choice([1, 1, 2]), "first_node": rng.randint(1, 60),
            "rate": 0.0, "slots": rng.choice([12, 16, 24]), "strength": rng.uniform(0.8, 1.3), "severity": 1.0,
            "burst": rng.uniform(2.4, 3.2), "dns_share": rng.uniform(0.015, 0.03),
            "dns_seconds": rng.choice([4.0, 5.0]), "servfail": rng.random() < 0.5,
            "throttle_seconds": rng.uniform(2.5, 4.5), "throttled": rng.uniform(0.3, 0.75),
            "throttle_noise": rng.choice([0.0, 0.01, 0.03]), "sidecar_throttled": rng.random() < 0.3,
            "other_restart": rng.random() < 0.4, "hot_gpu": rng.random() < 0.4}
    plan["throttle_share"] = min(0.35, 0.03 * plan["pods"])
    plan["rate"] = round(0.62 * plan["pods"] * plan["slots"] / 1.75, 1)  # of what the pods can do
    families = ["server", "cadvisor", "state", "events", "dns", "dcgm"]
    return plan, families, DECISIVE.get(cause, []), Serving
