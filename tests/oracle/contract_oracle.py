#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a BenchmarkRun, said a second time and in another way.

Written from the facts about the contract, not from src/contract: the documents are read
with PyYAML, and each part of the specification is one small function that yields the paths it
complains about. A path comes as often as it is complained about.
"""
import json

import yaml

# The same constructors behind libyaml's parser, where that is built in.
FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CLASSES = ("publication_grade", "realism_grade")
TYPES = ("training", "inference", "mixed")
VARIABLES = ("hardware_generation", "runtime_version", "scheduler_path", "control_plane_path",
             "driver_stack", "network_topology", "storage_stack")
LAYERS = {"micro", "component", "end_to_end"}
FIXED = {"model", "sequenceLengthMix", "precision", "batchingPolicy", "concurrencyModel"}
BOTTLENECKS = ("compute_bound", "comm_bound", "input_bound", "control_plane_bound")


class At:
    """A value, its path, and what was complained about so far."""

    def __init__(self, value, path, told):
        self.value = value
        self.path = path
        self.told = told

    def tell(self):
        self.told.append(self.path)

    def get(self, key):
        inner = self.value.get(key) if isinstance(self.value, dict) else None
        return At(inner, f"{self.path}.{key}" if self.path else key, self.told)

    def mapping(self, key):
        """The member, told when it is no mapping; its members are then missing."""
        at = self.get(key)
        if not isinstance(at.value, dict):
            at.tell()
            at.value = {}
        return at

    def items(self, key):
        at = self.get(key)
        if not isinstance(at.value, list):
            at.tell()
            at.value = []
        return at

    def strings(self, *keys):
        for key in keys:
            at = self.get(key)
            if type(at.value) is not str or at.value == "":
                at.tell()

    def trues(self, *keys):
        for key in keys:
            at = self.get(key)
            if at.value is not True:
                at.tell()

    def positives(self, *keys):
        for key in keys:
            at = self.get(key)
            if not is_positive(at.value):
                at.tell()

    def needs(self, *wanted):
        """The list has all of these."""
        have = [item for item in self.value if isinstance(item, str)]
        if any(name not in have for name in wanted):
            self.tell()

    def names(self):
        """Lists and mappings are no names."""
        for item in self.value:
            if isinstance(item, (list, dict, set)):
                self.tell()


def is_positive(value):
    # A boolean is an integer here, as in Python.
    return isinstance(value, int) and value > 0


def among(value, choices):
    return isinstance(value, str) and value in choices


def intent(spec):
    at = spec.mapping("intent")
    grade, kind = at.get("benchmarkClass"), at.get("workloadType")
    if not among(grade.value, CLASSES):
        grade.tell()
        grade.value = "publication_grade"
    if not among(kind.value, TYPES):
        kind.tell()
        kind.value = "mixed"
    at.strings("schedulerPath", "cadence")
    path = at.value.get("schedulerPath", "")
    return grade.value, kind.value != "inference", kind.value != "training", str(path)


def layers(spec):
    at = spec.items("layers")
    present, enabled = set(), 0
    for index, value in enumerate(at.value):
        layer = At(value, f"spec.layers[{index}]", spec.told)
        if not isinstance(value, dict):
            layer.tell()
            layer.value = {}
        name, flag = layer.get("name"), layer.get("enabled")
        if not isinstance(name.value, str) or name.value == "":
            name.tell()
            continue
        present.add(name.value)
        if not isinstance(flag.value, bool):
            flag.tell()
            continue
        enabled += flag.value
        suites = layer.items("suites")
        if flag.value and suites.value == []:
            suites.tell()
    if enabled == 0:
        at.tell()
    if not LAYERS <= present:
        at.tell()


def workload(spec):
    at = spec.mapping("workload")
    at.strings("model", "precision", "batchingPolicy", "concurrencyModel")
    mix = at.items("sequenceLengthMix")
    if mix.value == []:
        mix.tell()


def comparison(spec):
    at = spec.mapping("comparison")
    variable = at.get("variableUnderTest")
    if not among(variable.value, VARIABLES):
        variable.tell()
    controls = at.mapping("controls")
    fixed = controls.mapping("fixed")
    if not FIXED <= set(fixed.value):
        fixed.tell()
    controls.trues("compareOneVariableAtATime")


def metrics(spec, trains, serves):
    at = spec.mapping("metrics")
    training, inference = at.mapping("training"), at.mapping("inference")
    learned, served = training.items("primary"), inference.items("primary")
    if trains:
        training.trues("enabled")
        learned.needs("time_to_train_hours", "mfu_pct", "scaling_efficiency_pct",
                      "training_reliability_pct")
        learned.names()
    if serves:
        inference.trues("enabled")
        served.needs("ttft_ms", "tokens_per_second", "p99_latency_ms", "jitter_ms")
        if not any(cost in served.value for cost in ("cost_per_token_usd", "cost_per_request_usd")):
            served.tell()
        served.names()


def trials(spec):
    at = spec.mapping("trials")
    least, level = at.get("minReplicates"), at.get("confidenceLevel")
    if not isinstance(least.value, int) or least.value < 3:
        least.tell()
    if not isinstance(level.value, (int, float)) or not 0.8 <= level.value < 1:
        level.tell()
    at.mapping("outlierPolicy").strings("method", "action")
    at.mapping("report").trues("distributions", "confidenceIntervals", "rankLevelOutliers")


def bottlenecks(spec):
    at = spec.mapping("bottleneckAnalysis")
    taxonomy = at.items("taxonomy")
    taxonomy.needs(*BOTTLENECKS)
    taxonomy.names()
    parts = at.items("decomposeOverheads")
    parts.needs("compute", "communication", "storage", "orchestration")
    parts.names()
    probes = at.mapping("instrumentation")
    for name in BOTTLENECKS:
        listed = probes.items(name)
        if listed.value == []:
            listed.tell()


def distributed(spec):
    at = spec.mapping("distributed")
    at.trues("requireRankLevelVisibility")
    diagnosis = at.mapping("nodeDiagnosis")
    for where, key, wanted in (
            (at, "collectives", ("latency", "bandwidth")),
            (diagnosis, "validate", ("rdma_pathing", "gpu_nic_affinity", "pcie_link_health",
                                     "nvlink_health", "thermal_throttling")),
            (diagnosis, "remediation", ("cordon_problematic_node", "isolate_bad_node"))):
        listed = where.items(key)
        listed.needs(*wanted)
        listed.names()


def observability(spec, trains, serves, scheduler_path):
    at = spec.mapping("observability")
    correlation = at.mapping("correlation")
    keys = correlation.items("stableJoinKeys")
    keys.needs("run_id", "benchmark_case_id", "scheduler_run_id", "job_uid", "pod_uid", "node_name",
               "gpu_uuid")
    keys.names()
    if trains:
        keys.needs("rank_id")
    if serves:
        keys.needs("request_id", "trace_id")
    correlation.mapping("publishedNumberLineage").trues(
        "rawArtifactManifestDigest", "warehouseRowLineage", "querySpecCaptured")
    sources = at.mapping("telemetrySources")
    service = sources.items("service")
    if service.value == []:
        service.tell()
    infrastructure = sources.items("infrastructure")
    infrastructure.needs("dcgm-exporter", "nvlink-exporter", "node-pci-exporter", "ping-exporter",
                         "node-problem-detector", "hpc-verification")
    infrastructure.names()
    scheduler = sources.items("scheduler")
    scheduler.needs("kubernetes_events")
    scheduler.names()
    for name in ("kueue", "slinky"):
        if name in scheduler_path:
            scheduler.needs(name)
    playbooks = at.items("scenarioPlaybooks")
    playbooks.needs("tail_latency_regression", "low_gpu_utilization", "distributed_straggler",
                    "scheduler_backpressure")
    playbooks.names()


def provenance(spec, grade):
    at = spec.mapping("provenance")
    at.mapping("capture").trues("pinnedWorkloadSpec", "imageDigest", "driverCudaNcclRuntimeVersions",
                                "hardwareTopology", "immutableRawArtifacts", "auditTrail")
    signing = at.mapping("signing")
    if grade == "publication_grade":
        signing.trues("required")
        signing.strings("backend", "attestationFormat")


def execution(spec, grade):
    at = spec.mapping("executionPolicy")
    publication, realism = at.mapping("publicationGrade"), at.mapping("realismGrade")
    if grade == "publication_grade":
        publication.trues("dedicatedNodes", "stableBackgroundLoad", "fixedTopology",
                          "topologyExclusiveScheduling")
    else:
        realism.trues("multiTenantScenarios", "captureClusterContext")


def sinks(spec, trains, serves):
    at = spec.mapping("sinks")
    raw = at.mapping("rawArtifacts")
    raw.strings("store", "pathTemplate", "retentionClass")
    artifacts = raw.items("artifacts")
    artifacts.needs("logs", "traces", "profiler_reports", "manifests")
    artifacts.names()

    hot = at.mapping("hotMetrics")
    hot.strings("store")
    hot.positives("retentionDays")
    budget = hot.mapping("cardinalityBudget")
    budget.positives("maxActiveSeries")
    dropped = budget.items("dropDimensions")
    dropped.needs("request_id", "trace_id")
    dropped.names()

    warehouse = at.mapping("curatedWarehouse")
    warehouse.strings("store")
    layout = warehouse.mapping("layout")
    facts = layout.items("facts")
    facts.needs("benchmark_run_fact", "telemetry_slice_fact")
    facts.names()
    if serves:
        facts.needs("serving_outcome_fact")
    if trains:
        facts.needs("training_outcome_fact")
    dimensions = layout.items("dimensions")
    dimensions.needs("software_version_dim", "hardware_topology_dim", "cluster_region_dim",
                     "workload_dim", "artifact_lineage_dim")
    dimensions.names()
    retention = warehouse.mapping("retention")
    retention.positives("hotDays", "warmDays", "coldDays")
    days = [retention.value.get(tier) for tier in ("hotDays", "warmDays", "coldDays")]
    if all(map(is_positive, days)) and sorted(days) != days:
        retention.tell()
    warehouse.mapping("lineage").trues("publishedNumbersTraceableToRaw", "manifestDigestColumn",
                                       "workloadSpecDigestColumn")


def automation(spec):
    ci = spec.mapping("automation").mapping("ci")
    for key in ("canary", "nightly", "preRelease"):
        at = ci.get(key)
        if not isinstance(at.value, bool):
            at.tell()


def complaints(document):
    """The paths, in no order that matters."""
    if not isinstance(document, dict):
        return ["document"]
    told = []
    root = At(document, "", told)
    root.strings("apiVersion")
    if root.get("kind").value != "BenchmarkRun":
        root.get("kind").tell()
    root.mapping("metadata").strings("name")
    spec = root.mapping("spec")
    grade, trains, serves, scheduler_path = intent(spec)
    layers(spec)
    workload(spec)
    comparison(spec)
    metrics(spec, trains, serves)
    trials(spec)
    bottlenecks(spec)
    distributed(spec)
    observability(spec, trains, serves, scheduler_path)
    provenance(spec, grade)
    execution(spec, grade)
    sinks(spec, trains, serves)
    automation(spec)
    return told


def summary(document):
    spec = document["spec"]
    ci = spec["automation"]["ci"]
    return {
        "name": document["metadata"]["name"],
        "benchmark_class": spec["intent"]["benchmarkClass"],
        "workload_type": spec["intent"]["workloadType"],
        "variable_under_test": spec["comparison"]["variableUnderTest"],
        "enabled_layers": [layer["name"] for layer in spec["layers"] if layer["enabled"]],
        "scheduler_path": spec["intent"]["schedulerPath"],
        "hot_metrics_store": spec["sinks"]["hotMetrics"]["store"],
        "warehouse_store": spec["sinks"]["curatedWarehouse"]["store"],
        "ci_schedule": {key: ci[key] for key in ("canary", "nightly", "preRelease")},
    }


def check(text, pure):
    """Paths and summary of a text; None for paths when PyYAML cannot read it. pure: with the parser
    that is written in Python, where the two might differ. JSON is read as such, which is faster."""
    try:
        if text.startswith('{"') and not pure:
            document = json.loads(text)
        else:
            document = yaml.load(text, Loader=yaml.SafeLoader if pure else FAST)
    except (yaml.YAMLError, ValueError):
        return None, {}
    told = complaints(document)
    return told, summary(document) if not told else {}
