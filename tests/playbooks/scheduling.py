# SPDX-License-Identifier: Apache-2.0
"""A job that waited long before it ran, and a cluster that was not full meanwhile. The run itself is a
training job as any other; what differs is what schedulers and queues say."""
import exporters as ex
import training

CAUSES = ("quota", "admission", "fragmentation", "constraints")


class Scheduling(training.Training):
    """The window of the telemetry is the wait and the run."""

    def __init__(self, rng, plan, cause, start):
        self.waits = cause is not None
        self.wait = plan["wait"] if self.waits else plan["wait_normal"]
        super().__init__(rng, plan, None, start)
        self.why = cause
        self.from_start = start - self.wait

    def pending(self, peak):
        return lambda t: peak if t < self.wait else max(0, peak - 2)

    def kueue(self, scrape):
        rng, plan = self.rng, self.plan
        quota = plan["quota"]
        is_quota = self.why == "quota"
        wait = self.wait if is_quota else plan["wait_normal"]
        waits = [(rng.uniform(0, self.wait + self.seconds), wait * rng.uniform(0.6, 1.3)) for _ in range(14)]
        pending = self.pending(plan["pending"]) if is_quota else (lambda t: rng.choice([0, 0, 0, 1]))
        usage = quota * (rng.uniform(0.97, 1.0) if is_quota else rng.uniform(0.45, 0.7))
        checks = None
        if plan["admission_checks"]:
            slow = self.wait if self.why == "admission" and plan["by_checks"] else 2.0
            checks = [(at, slow * rng.uniform(0.6, 1.2)) for at, _ in waits]
        ex.kueue(scrape, "research", pending, (lambda t: 0), usage, quota, waits, checks,
                 evicted=0.01 if is_quota else 0.0)
        # A queue of others that is always full, and small.
        ex.kueue(scrape, "batch-low", lambda t: 1, lambda t: 0, 4, 8, [])

    def kubernetes(self, scrape):
        rng, plan = self.rng, self.plan
        constrained = self.why == "constraints"
        plugins = {"NodeResourcesFit": (lambda t: rng.choice([0, 0, 1]))}
        if plan["taint_noise"]:
            plugins["TaintToleration"] = lambda t: 1 if t < 40 else 0
        if constrained:
            plugins[plan["plugin"]] = self.pending(plan["pending"])
        ex.scheduler(scrape, self.pending(plan["pending"]) if constrained else (lambda t: rng.choice([0, 0, 1])), plugins)

    def crd(self, scrape):
        bad = self.why == "admission"
        by_checks = bad and self.plan["by_checks"]
        ex.apiserver(scrape, "validator.training-operator.kubeflow.org",
                     0.2 if bad and not by_checks and self.plan["by_webhook"] else 0.0,
                     4.0 if bad and not by_checks and self.plan["by_webhook"] else 0.01)
        operator = bad and not by_checks and not self.plan["by_webhook"]
        ex.training_operator(scrape, "pytorchjob-controller", 1.5 if operator else 0.01,
                             self.plan["pending"] * 3 if operator else 0, self.wait / 2 if operator else 0.02)

    def slurm(self, scrape):
        plan, rng = self.plan, self.rng
        bad = self.why == "fragmentation"
        nodes = plan["slurm_nodes"]
        largest = rng.randint(4, 8)
        idle = (lambda t: largest + rng.randint(0, 4)) if bad else (lambda t: rng.randint(0, 2))
        ex.slinky(scrape, "gpu", nodes, idle, self.pending(plan["pending"]) if bad else (lambda t: rng.choice([0, 0, 1])),
                  (lambda t: largest) if bad else (lambda t: 1), drained=rng.choice([0, 0, 1]))

    def cluster_gpus(self, scrape):
        """All GPUs of the cluster, those of the run among them: half idle, if jobs wait in vain."""
        compute, comm = self.busy()
        idle_share = self.plan["idle"] if self.waits else 0.1
        for n in range(len(self.nodes) * 2):
            node = f"gpu-{self.plan['first_node'] + n:02d}"
            for gpu in range(self.gpus):
                is_idle = n >= len(self.nodes) and (n - len(self.nodes)) < idle_share * 2 * len(self.nodes)
                util = 0 if is_idle else 100 * (compute + comm)
                ex.dcgm(scrape, node, gpu, lambda t, u=util: u, lambda t, u=util: 0.009 * u, lambda t, u=util: 90 + 5 * u,
                        lambda t: 58, lambda t: 1965, ("util", "prof"))

    def event_items(self):
        items = []
        begin = self.from_start
        if self.why == "constraints":
            for n in range(4):
                items.append((begin + 40 * n, "Warning", "FailedScheduling", "Pod", f"train-worker-{n}",
                              "0/16 nodes are available: 16 node(s) didn't match Pod's node affinity/selector. "
                              "preemption: 0/16 nodes are available: 16 Preemption is not helpful for scheduling.",
                              "default-scheduler", 9))
        elif self.why == "admission" and not self.plan["by_checks"]:
            items.append((begin + 30, "Warning", "FailedCreatePod", "PyTorchJob", "train",
                          "Error creating: admission webhook denied the request", "pytorchjob-controller", 12))
        elif self.why == "quota":
            items.append((begin + 10, "Normal", "Pending", "Workload", "pytorchjob-train-1a2b3",
                          "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu", "kueue-admission", 20))
        items.append((self.start, "Normal", "Scheduled", "Pod", "train-worker-0",
                      "Successfully assigned bench/train-worker-0", "default-scheduler", 1))
        return items

    def write(self, folder, present):
        folder.mkdir(parents=True)
        files = {"result": [self.result(folder / "titan.log")], "telemetry": []}
        for name, fill in (("kueue", self.kueue), ("kubernetes", self.kubernetes), ("crd", self.crd),
                           ("slurm", self.slurm), ("dcgm", self.cluster_gpus)):
            if name in present:
                s = ex.Scrape(self.rng, self.from_start, self.wait + self.seconds, 30)
                fill(s)
                files["telemetry"].append(s.write(folder / f"{name}.prom"))
        if "events" in present:
            path = ex.events(folder / "events.json", self.event_items())
            files["telemetry"] += [path] if path else []
        return files


def case(rng, cause):
    plan, _, _, _ = training.case(rng, None)
    plan.update({"seconds": 180, "nodes": rng.choice([2, 4]), "gpus": 2, "slow_node": 0, "slow_gpu": 0,
                 "wait": rng.uniform(900, 2400), "wait_normal": rng.uniform(15, 60), "pending": rng.randint(3, 9),
                 "quota": rng.choice([32, 64, 128]), "admission_checks": rng.random() < 0.6, "by_checks": False,
                 "by_webhook": rng.random() < 0.5, "plugin": rng.choice(["NodeAffinity", "NodeAffinity", "TaintToleration",
                                                                         "InterPodAffinity", "PodTopologySpread"]),
                 "taint_noise": rng.random() < 0.3, "slurm_nodes": rng.choice([16, 32, 64]), "idle": rng.uniform(0.3, 0.45)})
    if cause == "admission" and plan["admission_checks"] and rng.random() < 0.4:
        plan["by_checks"] = True
    decisive = {"quota": ["kueue"], "admission": ["kueue" if plan["by_checks"] else "crd"], "fragmentation": ["slurm"],
                "constraints": ["kubernetes"]}.get(cause, [])
    return plan, ["kueue", "kubernetes", "crd", "slurm", "dcgm", "events"], decisive + ["dcgm"], Scheduling
