# SPDX-License-Identifier: Apache-2.0
"""What exporters write, by their documentation: names, types and labels of their metrics.

Written before the checks of src/diagnose and without a look at them. A `Scrape` collects samples of
one exporter and writes them as Prometheus text with the time of each sample, as federation and
`promtool` do. Counters are given as rises per second and come out as counters."""
import json

GPU_MODEL = "NVIDIA H100 80GB HBM3"


def label_text(labels):
    return "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "}" if labels else ""


class Scrape:
    def __init__(self, rng, start, seconds, interval=20):
        self.rng = rng
        self.times = [start + n * interval for n in range(int(seconds // interval) + 1)]
        self.start = start
        self.interval = interval
        self.lines = {}  # metric -> (type, [line])

    def _line(self, name, kind, labels, value, at):
        family = name
        for end in ("_bucket", "_sum", "_count"):
            if kind == "histogram" and name.endswith(end):
                family = name[: -len(end)]
        shown = f"{value:.10g}"
        self.lines.setdefault(family, (kind, []))[1].append(
            f"{name}{label_text(labels)} {shown} {int(at * 1000)}")

    def gauge(self, name, labels, value):
        """value: a number, or a function of the seconds since the start."""
        for at in self.times:
            v = value(at - self.start) if callable(value) else value
            self._line(name, "gauge", labels, v, at)

    def counter(self, name, labels, rate, start=None, whole=True):
        """rate: rises per second, a number or a function of the seconds since the start."""
        total = self.rng.randint(0, 200000) if start is None else start
        for at in self.times:
            if at > self.start:
                r = rate(at - self.start) if callable(rate) else rate
                total += r * self.interval
            self._line(name, "counter", labels, int(total) if whole else total, at)

    def histogram(self, name, labels, buckets, observations):
        """observations: (second, value) of each; buckets: upper bounds."""
        observations = sorted(observations)
        counts = [0] * (len(buckets) + 1)
        total, n, seen = 0.0, 0, 0
        for at in self.times:
            while seen < len(observations) and observations[seen][0] <= at - self.start:
                value = observations[seen][1]
                place = next((i for i, b in enumerate(buckets) if value <= b), len(buckets))
                counts[place] += 1
                total += value
                n += 1
                seen += 1
            sofar = 0
            for i, b in enumerate(buckets + ["+Inf"]):
                sofar += counts[i]
                self._line(name + "_bucket", "histogram", {**labels, "le": b}, sofar, at)
            self._line(name + "_sum", "histogram", labels, total, at)
            self._line(name + "_count", "histogram", labels, n, at)

    def write(self, path):
        if not self.lines:
            return None
        with open(path, "w", encoding="utf-8") as f:
            for name, (kind, lines) in self.lines.items():
                f.write(f"# HELP {name} {name.replace('_', ' ')}\n# TYPE {name} {kind}\n")
                f.write("\n".join(lines) + "\n")
        return str(path)


# ---- names ----------------------------------------------------------------------------------------

def gpu_uuid(node, gpu):
    return f"GPU-{sum(ord(c) << (n % 16) for n, c in enumerate(node)) % 0xffffffff:08x}-0000-4000-8000-{gpu:012x}"


def pod_uid(name):
    h = 0
    for c in name:
        h = (h * 131 + ord(c)) % (1 << 64)
    return f"{h & 0xffffffff:08x}-1111-4222-8333-{h & 0xffffffffffff:012x}"


def dcgm_labels(node, gpu):
    return {"gpu": gpu, "UUID": gpu_uuid(node, gpu), "device": f"nvidia{gpu}",
            "modelName": GPU_MODEL, "Hostname": node}


def cadvisor_labels(pod, container, node, namespace="bench"):
    uid = pod_uid(pod)
    return {"container": container,
            "id": f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid.replace('-', '_')}.slice/cri-containerd-0.scope",
            "image": "registry.example.com/bench:1", "name": "0", "namespace": namespace, "node": node, "pod": pod}


# ---- exporters ------------------------------------------------------------------------------------

def dcgm(scrape, node, gpu, util, sm_active, power, temp, clock, present=("util", "prof")):
    """dcgm-exporter's default counters (and the profiling ones, where they are switched on)."""
    labels = dcgm_labels(node, gpu)
    noise = scrape.rng.gauss
    if "util" in present:
        scrape.gauge("DCGM_FI_DEV_GPU_UTIL", labels,
                     lambda t: round(min(100, max(0, util(t) + noise(0, 2)))))
    if "prof" in present:
        scrape.gauge("DCGM_FI_PROF_SM_ACTIVE", labels,
                     lambda t: min(1, max(0, sm_active(t) + noise(0, 0.01))))
    scrape.gauge("DCGM_FI_DEV_POWER_USAGE", labels, lambda t: max(60, power(t) + noise(0, 8)))
    scrape.gauge("DCGM_FI_DEV_GPU_TEMP", labels, lambda t: round(temp(t) + noise(0, 0.7)))
    scrape.gauge("DCGM_FI_DEV_SM_CLOCK", labels, lambda t: round(clock(t) / 15) * 15)


def dcgm_pcie(scrape, node, gpu, gen=5, width=16, replays=0.0):
    labels = dcgm_labels(node, gpu)
    scrape.gauge("DCGM_FI_DEV_PCIE_LINK_GEN", labels, gen)
    scrape.gauge("DCGM_FI_DEV_PCIE_LINK_WIDTH", labels, width)
    scrape.gauge("DCGM_FI_DEV_PCIE_MAX_LINK_GEN", labels, 5)
    scrape.gauge("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", labels, 16)
    scrape.counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", labels, replays,
                   start=scrape.rng.choice([0, 0, 0, 3, 17]))


def dcgm_nvlink(scrape, node, gpu, errors, recoveries, bandwidth):
    labels = dcgm_labels(node, gpu)
    before = scrape.rng.choice([0, 0, 0, 5, 812])  # counters that stood so before the run
    scrape.counter("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", labels, errors, start=before)
    scrape.counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", labels, lambda t: errors(t) / 3, start=before)
    scrape.counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", labels, recoveries, start=0)
    scrape.gauge("DCGM_FI_PROF_NVLINK_TX_BYTES", labels,
                 lambda t: max(0, bandwidth(t) * scrape.rng.uniform(0.95, 1.05)))


def dcgm_violation(scrape, node, gpu, share):
    """Time slowed by heat, in ns: `share` of it."""
    scrape.counter("DCGM_FI_DEV_THERMAL_VIOLATION", dcgm_labels(node, gpu),
                   lambda t: 1e9 * (share(t) if callable(share) else share))


def cadvisor(scrape, pod, container, node, throttled, usage, limit):
    """throttled: share of CFS periods that were cut short; usage and limit in cores."""
    labels = cadvisor_labels(pod, container, node)
    scrape.counter("container_cpu_cfs_periods_total", labels, 9.8)
    scrape.counter("container_cpu_cfs_throttled_periods_total", labels,
                   lambda t: 9.8 * min(1, max(0, throttled(t))))
    scrape.counter("container_cpu_cfs_throttled_seconds_total", labels,
                   lambda t: limit * 0.4 * min(1, max(0, throttled(t))), whole=False)
    scrape.counter("container_cpu_usage_seconds_total", {**labels, "cpu": "total"}, usage, whole=False)


def kube_state(scrape, pods, restarts=None, ready=None, deployment="server", replicas=None,
               hpa=None):
    """restarts, ready: pod -> function of time."""
    for pod in pods:
        labels = {"namespace": "bench", "pod": pod, "uid": pod_uid(pod)}
        value = (restarts or {}).get(pod, lambda t: 0)
        before = scrape.rng.choice([0, 0, 1, 4])
        for at in scrape.times:
            scrape._line("kube_pod_container_status_restarts_total", "counter",
                         {**labels, "container": "main"}, before + value(at - scrape.start), at)
        scrape.gauge("kube_pod_status_ready", {**labels, "condition": "true"},
                     (ready or {}).get(pod, lambda t: 1))
    count = replicas or (lambda t: len(pods))
    scrape.gauge("kube_deployment_status_replicas_available",
                 {"namespace": "bench", "deployment": deployment}, count)
    scrape.gauge("kube_deployment_spec_replicas", {"namespace": "bench", "deployment": deployment},
                 hpa or (lambda t: len(pods)))
    if hpa:
        scrape.gauge("kube_horizontalpodautoscaler_status_desired_replicas",
                     {"namespace": "bench", "horizontalpodautoscaler": deployment}, hpa)


DNS_BUCKETS = [0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256,
               0.512, 1.024, 2.048, 4.096, 8.192]


def coredns(scrape, seconds, slow_share, slow_seconds, servfail):
    """Answers of a cluster's CoreDNS: a share of them slow; SERVFAILs per second."""
    rng = scrape.rng
    seen = []
    for _ in range(int(seconds * 4)):
        slow = rng.random() < slow_share
        seen.append((rng.uniform(0, seconds),
                     rng.uniform(0.6, 1.3) * slow_seconds if slow else rng.expovariate(1 / 0.0009)))
    server = {"server": "dns://:53", "zone": ".", "view": ""}
    scrape.histogram("coredns_dns_request_duration_seconds", server, DNS_BUCKETS, seen)
    scrape.counter("coredns_dns_requests_total", {**server, "proto": "udp", "family": "1", "type": "A"}, 4)
    scrape.counter("coredns_dns_responses_total", {**server, "rcode": "NOERROR", "plugin": "kubernetes"}, 3.2)
    scrape.counter("coredns_dns_responses_total", {**server, "rcode": "NXDOMAIN", "plugin": "kubernetes"}, 0.8)
    scrape.counter("coredns_dns_responses_total", {**server, "rcode": "SERVFAIL", "plugin": "forward"},
                   servfail, whole=False)


QUEUE_BUCKETS = [0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0,
                 120.0]


def vllm_server(scrape, model, pod, node, queue_seconds, waiting, running):
    labels = {"model_name": model, "engine": "0", "pod": pod, "node": node}
    scrape.gauge("vllm:num_requests_waiting", labels, waiting)
    scrape.gauge("vllm:num_requests_running", labels, running)
    scrape.histogram("vllm:request_queue_time_seconds", labels, QUEUE_BUCKETS, queue_seconds)


def node_network(scrape, node, drops=0.0, errors=0.0, retrans=0.2):
    labels = {"device": "eth0", "instance": f"{node}:9100"}
    scrape.counter("node_network_receive_packets_total", labels, 90000)
    scrape.counter("node_network_receive_drop_total", labels, drops)
    scrape.counter("node_network_receive_errs_total", labels, errors)
    scrape.counter("node_netstat_Tcp_RetransSegs", {"instance": f"{node}:9100"}, retrans)
    scrape.counter("node_netstat_Tcp_OutSegs", {"instance": f"{node}:9100"}, 60000)


def node_infiniband(scrape, node, symbol=0.0, downed=0.0, wait=2000, received=2e10):
    labels = {"device": "mlx5_0", "port": "1", "instance": f"{node}:9100"}
    scrape.counter("node_infiniband_symbol_error_total", labels, symbol, start=scrape.rng.choice([0, 0, 9]))
    scrape.counter("node_infiniband_link_downed_total", labels, downed, start=scrape.rng.choice([0, 1, 2]))
    scrape.counter("node_infiniband_link_error_recovery_total", labels, lambda t: (symbol(t) if callable(symbol) else symbol) / 40, start=0)
    scrape.counter("node_infiniband_port_transmit_wait_total", labels, wait)
    scrape.counter("node_infiniband_port_data_received_bytes_total", labels, received)


def ping(scrape, node, targets, loss, rtt):
    """czerwonk's ping_exporter on `node`: to each target."""
    for target in targets:
        labels = {"target": target, "ip": f"10.0.0.{sum(map(ord, target)) % 250}", "ip_version": "4",
                  "node": node}
        scrape.gauge("ping_loss_ratio", labels, lambda t, target=target: round(loss(target, t), 3))
        scrape.gauge("ping_rtt_mean_seconds", labels,
                     lambda t, target=target: rtt(target, t) * scrape.rng.uniform(0.9, 1.1))


def node_disk(scrape, node, read_bytes, latency, busy, iowait, pressure):
    labels = {"device": "nvme0n1", "instance": f"{node}:9100"}
    reads = read_bytes / 131072
    scrape.counter("node_disk_read_bytes_total", labels, read_bytes)
    scrape.counter("node_disk_reads_completed_total", labels, reads)
    scrape.counter("node_disk_read_time_seconds_total", labels, reads * latency, whole=False)
    scrape.counter("node_disk_io_time_seconds_total", labels, busy, whole=False)
    scrape.counter("node_pressure_io_waiting_seconds_total", {"instance": f"{node}:9100"}, pressure, whole=False)
    scrape.counter("node_cpu_seconds_total", {"cpu": "0", "mode": "iowait", "instance": f"{node}:9100"},
                   iowait, whole=False)


def node_nfs(scrape, node, requests, latency):
    labels = {"export": "filer:/datasets", "protocol": "tcp", "mountaddr": "10.0.9.9",
              "operation": "READ", "instance": f"{node}:9100"}
    scrape.counter("node_mountstats_nfs_operations_requests_total", labels, requests)
    scrape.counter("node_mountstats_nfs_operations_request_time_seconds_total", labels,
                   requests * latency, whole=False)


def node_cpu(scrape, node, idle, pressure):
    instance = {"instance": f"{node}:9100"}
    for cpu in range(2):
        scrape.counter("node_cpu_seconds_total", {"cpu": str(cpu), "mode": "idle", **instance}, idle, whole=False)
        scrape.counter("node_cpu_seconds_total", {"cpu": str(cpu), "mode": "user", **instance},
                       max(0.0, 0.97 - idle), whole=False)
    scrape.counter("node_pressure_cpu_waiting_seconds_total", instance, pressure, whole=False)


def xpu_timer(scrape, rank, node, pod, matmul_us, collective_us, bandwidth):
    """dlrover's xpu_timer: latencies in microseconds, bandwidth in GB/s."""
    labels = {"dtype": "bf16", "ip": "NOT_SET", "job_name": "train", "level": "7",
              "local_rank": str(rank % 8), "pod_name": pod, "rank": str(rank), "instance": f"{node}:18888"}
    jitter = scrape.rng.uniform
    scrape.gauge("XPU_TIMER_MM_KERNEL_AVG_LATENCY", {**labels, "operation": "Matmul"},
                 lambda t: round(matmul_us(t) * jitter(0.98, 1.02)))
    coll = {**labels, "algorithm": "RING_LL", "operation": "AllReduce", "small": "0", "transport": "InterNode"}
    scrape.gauge("XPU_TIMER_COLL_KERNEL_AVG_LATENCY", coll, lambda t: round(collective_us(t) * jitter(0.97, 1.03)))
    scrape.gauge("XPU_TIMER_COLL_KERNEL_BANDWIDTH", coll, lambda t: bandwidth(t) * jitter(0.97, 1.03))


def torchtitan_otlp(path, scrape, ranks, percent, seconds):
    """torchtitan's own scalars, forwarded as OTLP gauges."""
    metrics = []
    for name, value in (("time_metrics/data_loading(%)", percent), ("time_metrics/data_loading(s)", seconds)):
        points = []
        for rank in ranks:
            for at in scrape.times:
                points.append({"timeUnixNano": str(int(at * 1e9)),
                               "asDouble": value * scrape.rng.uniform(0.9, 1.1),
                               "attributes": [{"key": "rank", "value": {"intValue": str(rank)}}]})
        metrics.append({"name": name, "gauge": {"dataPoints": points}})
    request = {"resourceMetrics": [{"resource": {"attributes": []}, "scopeMetrics": [{"metrics": metrics}]}]}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(request, f)
    return str(path)


WAIT_BUCKETS = [1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240]


def kueue(scrape, queue, pending, inadmissible, usage, quota, waits, checks=None, evicted=0.0):
    """waits, checks: (second, wait) of each workload until its quota was reserved, and from then until it
    was admitted."""
    cq = {"cluster_queue": queue}
    scrape.gauge("kueue_pending_workloads", {**cq, "status": "active"}, pending)
    scrape.gauge("kueue_pending_workloads", {**cq, "status": "inadmissible"}, inadmissible)
    gpu = {"cohort": "all", **cq, "flavor": "h100", "resource": "nvidia.com/gpu"}
    scrape.gauge("kueue_cluster_queue_resource_usage", gpu, usage)
    scrape.gauge("kueue_cluster_queue_nominal_quota", gpu, quota)
    scrape.histogram("kueue_quota_reserved_wait_time_seconds", {**cq, "priority_class": ""}, WAIT_BUCKETS, waits)
    in_all = [(at, wait + check[1]) for (at, wait), check in zip(waits, checks or [(0, 0)] * len(waits))]
    scrape.histogram("kueue_admission_wait_time_seconds", {**cq, "priority_class": ""}, WAIT_BUCKETS, in_all)
    if checks is not None:
        scrape.histogram("kueue_admission_checks_wait_time_seconds", {**cq, "priority_class": ""},
                         WAIT_BUCKETS, checks)
    scrape.counter("kueue_evicted_workloads_total", {**cq, "reason": "Preempted"}, evicted, whole=False)


def scheduler(scrape, pending, plugins):
    """kube-scheduler; plugins: name -> pods that it keeps out."""
    scrape.gauge("scheduler_pending_pods", {"queue": "unschedulable"}, pending)
    scrape.gauge("scheduler_pending_pods", {"queue": "active"}, 0)
    for plugin, pods in plugins.items():
        scrape.gauge("scheduler_unschedulable_pods", {"plugin": plugin, "profile": "default-scheduler"}, pods)


def apiserver(scrape, webhook, rejections, seconds):
    labels = {"name": webhook, "type": "validating", "operation": "CREATE"}
    scrape.counter("apiserver_admission_webhook_rejection_count",
                   {**labels, "error_type": "no_error", "rejection_code": "403"}, rejections, whole=False)
    scrape.counter("apiserver_admission_webhook_admission_duration_seconds_sum",
                   {**labels, "rejected": "false"}, 0.5 * seconds, whole=False)
    scrape.counter("apiserver_admission_webhook_admission_duration_seconds_count",
                   {**labels, "rejected": "false"}, 0.5, whole=False)


def training_operator(scrape, controller, errors, depth, wait):
    scrape.counter("controller_runtime_reconcile_errors_total", {"controller": controller}, errors, whole=False)
    scrape.counter("controller_runtime_reconcile_total", {"controller": controller, "result": "success"}, 2)
    scrape.gauge("workqueue_depth", {"name": controller, "controller": controller}, depth)
    scrape.counter("workqueue_queue_duration_seconds_sum", {"name": controller}, 2 * wait, whole=False)
    scrape.counter("workqueue_queue_duration_seconds_count", {"name": controller}, 2, whole=False)


def slinky(scrape, partition, nodes, idle, pending, largest, drained=0):
    """Slinky's slurm-exporter: gauges, whatever their names end in."""
    p = {"partition": partition}
    scrape.gauge("slurm_partition_nodes_total", p, nodes)
    scrape.gauge("slurm_partition_nodes_idle_total", p, idle)
    scrape.gauge("slurm_partition_nodes_allocated_total", p, lambda t: nodes - drained - (idle(t) if callable(idle) else idle))
    scrape.gauge("slurm_partition_nodes_drain_total", p, drained)
    scrape.gauge("slurm_partition_jobs_pending_total", p, pending)
    scrape.gauge("slurm_partition_jobs_pending_maxnodecount_total", p, largest)
    scrape.gauge("slurm_partition_jobs_running_total", p, 3)


def stamp(at):
    import datetime
    return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def events(path, items):
    """kubectl get events -o json; items: (at, type, reason, kind, name, message, component, count)."""
    if not items:
        return None
    out = []
    for n, (at, kind_of, reason, kind, name, message, component, count) in enumerate(items):
        involved = {"kind": kind, "name": name, "namespace": "bench"}
        if kind == "Pod":
            involved["uid"] = pod_uid(name)
        out.append({"apiVersion": "v1", "kind": "Event",
                    "metadata": {"name": f"{name}.{n:x}", "namespace": "bench"},
                    "involvedObject": involved, "reason": reason, "message": message, "type": kind_of,
                    "firstTimestamp": stamp(at), "lastTimestamp": stamp(at), "count": count,
                    "source": {"component": component}})
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": out}, f, indent=1)
    return str(path)
