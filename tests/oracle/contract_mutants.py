#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracecore contract check` against the oracle, on contracts that are broken on purpose.

usage: contract_mutants.py [--seed N] [--singles N] [--pairs N] [--keep DIR]

Every value of a valid contract is broken alone: taken away, of another type, empty, of another
value; for every class and type of workload, and then in pairs. The set is the same for one seed.
The paths that both complain about, how often, validity and summary must agree. Exit status 77
without PyYAML.
"""
import argparse
import collections
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import yaml
    import contract_oracle
except ImportError as error:
    print(f"skipped: {error}; Debian has it as python3-yaml")
    sys.exit(77)

# With libyaml where it is built in: the same values, much faster.
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
MUTANTS_MIN = 500
BATCH = 400  # files a process


def base(grade, kind):
    """A valid contract of our own; small, with the least of each list."""
    return {
        "apiVersion": "benchmarking.aisp.dev/v1alpha1",
        "kind": "BenchmarkRun",
        "metadata": {"name": f"{grade}-{kind}", "labels": {"team": "perf"}},
        "spec": {
            "intent": {"benchmarkClass": grade, "workloadType": kind,
                       "schedulerPath": "kueue-then-slinky", "cadence": "nightly"},
            "layers": [{"name": "micro", "enabled": False, "suites": []},
                       {"name": "component", "enabled": True, "suites": [{"name": "serve"}]},
                       {"name": "end_to_end", "enabled": True, "suites": ["flow"]}],
            "workload": {"model": "m", "precision": "fp8", "batchingPolicy": "static",
                         "concurrencyModel": "open_loop",
                         "sequenceLengthMix": [{"inputTokens": 8, "outputTokens": 4, "weight": 1}]},
            "comparison": {
                "variableUnderTest": "driver_stack",
                "controls": {"fixed": {"model": "m", "sequenceLengthMix": "same", "precision": None,
                                       "batchingPolicy": 1, "concurrencyModel": []},
                             "compareOneVariableAtATime": True}},
            "metrics": {
                "training": {"enabled": kind != "inference",
                             "primary": ["time_to_train_hours", "mfu_pct", "scaling_efficiency_pct",
                                         "training_reliability_pct"]},
                "inference": {"enabled": kind != "training",
                              "primary": ["ttft_ms", "tokens_per_second", "p99_latency_ms",
                                          "jitter_ms", "cost_per_token_usd"]}},
            "trials": {"minReplicates": 3, "confidenceLevel": 0.8,
                       "outlierPolicy": {"method": "mad", "action": "flag"},
                       "report": {"distributions": True, "confidenceIntervals": True,
                                  "rankLevelOutliers": True}},
            "bottleneckAnalysis": {
                "taxonomy": list(contract_oracle.BOTTLENECKS),
                "decomposeOverheads": ["compute", "communication", "storage", "orchestration"],
                "instrumentation": {name: ["probe"] for name in contract_oracle.BOTTLENECKS}},
            "distributed": {
                "requireRankLevelVisibility": True,
                "collectives": ["latency", "bandwidth"],
                "nodeDiagnosis": {
                    "validate": ["rdma_pathing", "gpu_nic_affinity", "pcie_link_health",
                                 "nvlink_health", "thermal_throttling"],
                    "remediation": ["cordon_problematic_node", "isolate_bad_node"]}},
            "observability": {
                "correlation": {
                    "stableJoinKeys": ["run_id", "benchmark_case_id", "scheduler_run_id", "job_uid",
                                       "pod_uid", "node_name", "gpu_uuid"]
                    + (["rank_id"] if kind != "inference" else [])
                    + (["request_id", "trace_id"] if kind != "training" else []),
                    "publishedNumberLineage": {"rawArtifactManifestDigest": True,
                                               "warehouseRowLineage": True,
                                               "querySpecCaptured": True}},
                "telemetrySources": {
                    "service": ["queue_time"],
                    "infrastructure": ["dcgm-exporter", "nvlink-exporter", "node-pci-exporter",
                                       "ping-exporter", "node-problem-detector", "hpc-verification"],
                    "scheduler": ["kubernetes_events", "kueue", "slinky"]},
                "scenarioPlaybooks": ["tail_latency_regression", "low_gpu_utilization",
                                      "distributed_straggler", "scheduler_backpressure"]},
            "provenance": {
                "capture": {"pinnedWorkloadSpec": True, "imageDigest": True,
                            "driverCudaNcclRuntimeVersions": True, "hardwareTopology": True,
                            "immutableRawArtifacts": True, "auditTrail": True},
                "signing": {"required": True, "backend": "key", "attestationFormat": "in_toto"}
                if grade == "publication_grade" else {}},
            "executionPolicy": {
                "publicationGrade": {"dedicatedNodes": True, "stableBackgroundLoad": True,
                                     "fixedTopology": True, "topologyExclusiveScheduling": True}
                if grade == "publication_grade" else {},
                "realismGrade": {"multiTenantScenarios": True, "captureClusterContext": True}
                if grade == "realism_grade" else {}},
            "sinks": {
                "rawArtifacts": {"store": "files", "pathTemplate": "raw/${RUN_ID}",
                                 "retentionClass": "cold",
                                 "artifacts": ["logs", "traces", "profiler_reports", "manifests"]},
                "hotMetrics": {"store": "prometheus", "retentionDays": 1,
                               "cardinalityBudget": {"maxActiveSeries": 1,
                                                     "dropDimensions": ["request_id", "trace_id"]}},
                "curatedWarehouse": {
                    "store": "duckdb",
                    "layout": {"facts": ["benchmark_run_fact", "telemetry_slice_fact"]
                               + (["training_outcome_fact"] if kind != "inference" else [])
                               + (["serving_outcome_fact"] if kind != "training" else []),
                               "dimensions": ["software_version_dim", "hardware_topology_dim",
                                              "cluster_region_dim", "workload_dim",
                                              "artifact_lineage_dim"]},
                    "retention": {"hotDays": 7, "warmDays": 7, "coldDays": 7},
                    "lineage": {"publishedNumbersTraceableToRaw": True,
                                "manifestDigestColumn": True, "workloadSpecDigestColumn": True}}},
            "automation": {"ci": {"canary": False, "nightly": True, "preRelease": False}},
        },
    }


def places(value, path=()):
    """Every value below the root, as the way to it."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in members:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))


def follow(document, path):
    for key in path:
        document = document[key]
    return document


def dump(document, style):
    """In blocks, in flow style where None says so, or as JSON, which is YAML as well."""
    if style is True:
        text = json.dumps(document)
        if "NaN" not in text and "Infinity" not in text:
            return text
    return yaml.dump(document, Dumper=DUMPER, default_flow_style=style, sort_keys=False)


GONE = object()
OTHERS = (None, True, False, 0, 1, 2, -1, 0.79, 0.95, 1.0, "", "x", " ", [], ["x"], [{}], [[]], {},
          {"x": 1}, "true", "3", 10**30, float("nan"), float("inf"))


def basics(value):
    """Missing, of another type, empty, of another value: every value is broken in each way."""
    if isinstance(value, bool):
        return [GONE, "true", None, not value]
    if isinstance(value, (int, float)):
        return [GONE, str(value), None, -1]
    if isinstance(value, str):
        return [GONE, 7, "", value + "_"]
    if value is None:
        return [GONE, 7, "", "x"]
    if isinstance(value, list):
        return [GONE, "x", [], value[1:]]
    return [GONE, ["x"], {}, dict.fromkeys(value)]


def breakages(value):
    """What else a value is replaced by."""
    yield GONE
    for other in OTHERS:
        if type(other) is not type(value) or other != value:
            yield other
    if isinstance(value, str):
        yield value.upper()
        yield value + "_"
    if isinstance(value, list):
        yield value + value
        yield value + [7, None]
        yield value + [{"name": "x"}]
        yield list(reversed(value))
        if value:
            yield value[1:]
    if isinstance(value, dict) and value:
        yield list(value)
        yield dict.fromkeys(value)


def broken(document, changes):
    """A copy with changes; None when one change took away the place of another."""
    document = copy.deepcopy(document)
    for path, value in changes:
        try:
            where = follow(document, path[:-1])
            if value is GONE:
                del where[path[-1]]
            else:
                where[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            return None
    return document


SPECIALS = [
    # One value, one text: what YAML 1.1 makes of it.
    *(("spec.trials.minReplicates", text) for text in (
        "3", "03", "0x3", "0b11", "0o3", "1_000", "+3", "-3", "3.0", "3e0", "1:30", "0:30", "'3'",
        "!!int '3'", "!!str 3", "!!float 3", "~", "yes", "2026-01-01", ".inf", "9" * 40)),
    *(("spec.trials.confidenceLevel", text) for text in (
        "0.9", ".9", "9e-1", "9.0e-1", "0.9_5", "8.0e-01", "1", "0.99999999999999999999", ".nan",
        ".NaN", "-.inf", "1:0.5", "!!float '0.9'", "on", "0.8e0")),
    *(("spec.automation.ci.canary", text) for text in (
        "yes", "No", "ON", "off", "y", "n", "True", "tRUE", "'true'", "1", "!!bool 'Yes'", "null")),
    *(("metadata.name", text) for text in (
        "yes", "~", "2026-01-01", "2026-1-1", "2026-01-01 10:00:00", "2026-01-01T10:00:00Z",
        "1.2.3", "1e3", "12:30:45", "0x1f", "bf16", "'12'", "\"\\u0041\"", "|\n    text", ">-\n    a",
        "''", "'  '", "=", "<<", "!!binary aGk=", "!foo x", "&a b", "[a]", "{a: b}", "é", "null",
        "NULL", "nUll", "a: b", "- a", "0b", "08", "1__0", "2026-02-30", "0_", "+.5", "-.5", "1.")),
    *(("spec.intent.schedulerPath", text) for text in (
        "[kueue]", "{slinky: kueue}", "kueue", "slurm", "Kueue", "~", "no", "xslinkyx")),
    *(("spec.sinks.curatedWarehouse.retention", text) for text in (
        "{hotDays: 1, warmDays: 2, coldDays: 1}", "{hotDays: yes, warmDays: 1, coldDays: 1}",
        "{hotDays: 2, warmDays: on, coldDays: 3}", "{hotDays: no, warmDays: 2, coldDays: 1}",
        "{hotDays: 010, warmDays: 9, coldDays: 10}", "{hotDays: 9, warmDays: 010, coldDays: 10}")),
    *(("spec.metrics.training.primary", text) for text in (
        "!!set {mfu_pct}", "!!omap [{mfu_pct: 1}]", "!!pairs [{mfu_pct: 1}]")),
    *(("spec.trials.outlierPolicy", text) for text in (
        "{<<: {method: mad, action: keep}}", "{<<: [{method: mad}, {method: 1, action: keep}]}",
        "{method: mad, <<: {method: 1, action: keep}}", "{method: 1, method: mad, action: keep}",
        "{<<: 3, method: mad}", "{'<<': {method: mad}, action: keep}", "{? [a] : b}")),
]


def special_texts():
    """Documents as text, where the writing matters."""
    plain = dump(base("publication_grade", "mixed"), False)
    for path, text in SPECIALS:
        document = base("publication_grade", "mixed")
        keys = path.split(".")
        follow(document, keys[:-1])[keys[-1]] = "@VALUE@"
        yield f"value {path} {text!r}", dump(document, False).replace("'@VALUE@'", text)
    for name, text in (
            ("nothing", ""), ("a comment", "# nothing\n"), ("null", "~\n"), ("a list", "- a\n"),
            ("a word", "word\n"), ("an empty mapping", "{}\n"), ("an empty document", "---\n"),
            ("two documents", plain + "---\n" + plain), ("an end", plain + "...\n"),
            ("CRLF", plain.replace("\n", "\r\n")), ("BOM", "\ufeff" + plain),
            ("a start", "--- # contract\n" + plain), ("a directive", "%YAML 1.1\n---\n" + plain),
            ("JSON", json.dumps(base("realism_grade", "training"))),
            ("indented JSON", json.dumps(base("realism_grade", "inference"), indent=4)),
            ("a tab", plain.replace("    model", "\tmodel")), ("torn", plain[:1000] + "  x: ["),
            ("keys twice", plain + "kind: BenchmarkRun\n"), ("a last kind", plain + "kind: Other\n"),
            ("an undefined alias", plain + "x: *nobody\n"),
            ("an anchor twice", plain + "x: &a 1\ny: &a 2\n"),
            ("recursion", plain + "x: &a [*a]\n")):
        yield f"text {name}", text


def texts(seed, singles, pairs):
    rng = random.Random(seed)
    changes = {}
    for grade in contract_oracle.CLASSES:
        for kind in contract_oracle.TYPES:
            document = base(grade, kind)
            yield f"valid {grade} {kind}", dump(document, None)
            changes[grade, kind] = [(path, list(breakages(follow(document, path))))
                                    for path in places(document)]
    # Every value of one, and a sample of the others: class and type decide about rules.
    for (grade, kind), listed in changes.items():
        is_whole = (grade, kind) == ("publication_grade", "mixed")
        for path, values in listed if is_whole else rng.sample(listed, len(listed) // 8):
            for value in basics(follow(base(grade, kind), path)) + rng.sample(values, singles):
                document = broken(base(grade, kind), [(path, value)])
                yield (f"{grade} {kind} {path} {'gone' if value is GONE else repr(value)}",
                       dump(document, rng.choice((False, True, True))))
    for number in range(pairs):
        (grade, kind), listed = rng.choice(list(changes.items()))
        chosen = rng.sample(listed, rng.choice((2, 2, 2, 3, 5)))
        document = broken(base(grade, kind), [(path, rng.choice(values)) for path, values in chosen])
        if document is not None:
            yield f"pair {number} {grade} {kind}", dump(document, False)
    yield from special_texts()


def compare(name, text, answer):
    """What differs, or nothing."""
    wanted, summary = contract_oracle.check(text, name.startswith("text "))
    if wanted is None:
        # PyYAML cannot read it: a document without a path of its own.
        ours = [error.split(":")[0] for error in answer["errors"]]
        return [] if ours == ["document"] and not answer["violations"] else [
            f"{name}: PyYAML cannot read it, tracecore says {answer['errors'][:3]}"]
    ours = collections.Counter(violation["path"] for violation in answer["violations"])
    theirs = collections.Counter(wanted)
    problems = [f"{name}: {path}: told {ours[path]} times, the oracle {theirs[path]}"
                for path in sorted(ours | theirs) if ours[path] != theirs[path]]
    if not answer["violations"] and answer["errors"]:
        problems.append(f"{name}: not read: {answer['errors']}")
    if answer["valid"] is not (not wanted):
        problems.append(f"{name}: valid is {answer['valid']}")
    if answer["summary"] != summary:
        problems.append(f"{name}: summary {answer['summary']}, the oracle {summary}")
    told = [f"{v['path']}: {v['message']}" for v in answer["violations"]]
    if answer["violations"] and told != answer["errors"]:
        problems.append(f"{name}: errors and violations differ")
    return problems


def run(binary, folder, cases):
    problems = []
    for start in range(0, len(cases), BATCH):
        batch = cases[start:start + BATCH]
        files = []
        for number, (_, text) in enumerate(batch, start):
            file = folder / f"{number}.yaml"
            file.write_bytes(text.encode("utf-8"))
            files.append(str(file))
        done = subprocess.run([binary, "contract", "check", "--json", *files], text=True,
                              capture_output=True, check=False, timeout=120)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if len(answers) != len(batch):
            sys.exit(f"{len(batch)} files, {len(answers)} answers: {done.stderr[-2000:]}")
        for (name, text), answer in zip(batch, answers):
            problems += compare(name, text, answer)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=20261116)
    parser.add_argument("--singles", type=int, default=1, help="more ways to break a value")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--keep", help="leave the contracts in this directory")
    args = parser.parse_args()
    binary = os.environ.get("TC_BINARY", "build/release/tracecore")
    cases = list(texts(args.seed, args.singles, args.pairs))
    with tempfile.TemporaryDirectory(prefix="tc_contract_") as temporary:
        folder = pathlib.Path(args.keep or temporary)
        folder.mkdir(exist_ok=True)
        problems = run(binary, folder, cases)
    for problem in problems[:40]:
        print(problem)
    print(f"{len(cases)} contracts, {len(problems)} differences")
    if len(cases) < MUTANTS_MIN:
        sys.exit(f"fewer than {MUTANTS_MIN} contracts")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
