/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in a contract, and what it says about its run. */
#include "contract/contract_priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)

const struct tc_yaml_entry *tc__contract_pair(const struct tc_yaml_node *n, struct tc_slice key)
{
    const struct tc_yaml_entry *found = NULL;
    if (n == NULL || n->kind != TC_YAML_MAPPING) {
        return NULL;
    }
    for (const struct tc_yaml_entry *e = n->first; e != NULL; e = e->next) {
        if (e->key->kind == TC_YAML_STRING && tc_slice_eq(e->key->text, key)) {
            found = e;
        }
    }
    return found;
}

struct tc__value tc__contract_root(const struct tc_contract *c)
{
    return (struct tc__value){.node = c->root, .at = c->root->at};
}

struct tc__value tc__contract_find(struct tc__value from, struct tc_slice path)
{
    while (path.len > 0) {
        struct tc_slice rest = TC_EMPTY;
        struct tc_slice key = tc_slice_cut(path, '.', &rest);
        const struct tc_yaml_entry *pair = tc__contract_pair(from.node, key);
        if (pair == NULL) {
            bool is_mapping = from.node->kind == TC_YAML_MAPPING;
            return (struct tc__value){NULL, is_mapping ? from.node->at : from.at};
        }
        from = (struct tc__value){pair->value, pair->at};
        path = rest;
    }
    return from;
}

struct tc_slice tc__contract_string(const struct tc_contract *c, const char *path)
{
    struct tc__value v = tc__contract_find(tc__contract_root(c), tc_slice_cstr(path));
    return v.node != NULL && v.node->kind == TC_YAML_STRING ? tc_yaml_text(v.node) : TC_EMPTY;
}

/* The nearest that fits. */
static int64_t whole_number(const struct tc_yaml_node *n)
{
    struct tc_yaml_number number = tc_yaml_number(n, TC_YAML_PYTHON_1_1);
    int64_t most = number.magnitude > INT64_MAX ? INT64_MAX : (int64_t)number.magnitude;
    return number.is_negative ? -most : most;
}

static double price(const struct tc_yaml_node *n)
{
    double usd = n == NULL || n->kind == TC_YAML_BOOL ? 0 : tc__contract_number(n);
    return n == NULL ? 0 : usd > 0 && isfinite(usd) ? usd : (double)NAN;
}

static bool is_true(const struct tc_yaml_node *n)
{
    return n != NULL && n->kind == TC_YAML_BOOL && tc__contract_number(n) != 0;
}

struct tc_slice tc_contract_metric(const struct tc_contract *c, bool of_training, size_t n)
{
    struct tc__value root = tc__contract_root(c);
    struct tc__value metrics = tc__contract_find(root, of_training ? S("spec.metrics.training")
                                                                   : S("spec.metrics.inference"));
    if (metrics.node == NULL || !is_true(tc__contract_find(metrics, S("enabled")).node)) {
        return TC_EMPTY;
    }
    const struct tc_yaml_node *list = tc__contract_find(metrics, S("primary")).node;
    if (list == NULL || list->kind != TC_YAML_LIST) {
        return TC_EMPTY;
    }
    for (const struct tc_yaml_entry *e = list->first; e != NULL; e = e->next) {
        if (e->value->kind == TC_YAML_STRING && n-- == 0) {
            return tc_yaml_text(e->value);
        }
    }
    return TC_EMPTY;
}

/* Names of contracts that are no columns. */
static const struct {
    const char *name;
    const char *columns;
} METRICS[] = {
    {"ttft_ms", "ttft_mean_ms ttft_p50_ms ttft_p99_ms"},
    {"tpot_ms", "tpot_mean_ms tpot_p50_ms tpot_p99_ms"},
    {"itl_ms", "itl_mean_ms itl_p50_ms itl_p99_ms"},
    {"p99_latency_ms", "e2e_p99_ms"},
    {"tokens_per_second", "output_token_throughput total_token_throughput tokens_per_second"},
    {"requests_per_second", "request_throughput"},
    {"time_to_train_hours", "time_to_train_s"},
    {"step_time_ms", "step_time_mean_ms step_time_p50_ms"},
};

struct tc_slice tc_contract_metric_columns(struct tc_slice metric)
{
    size_t row = tc_slice_row(metric, METRICS, name);
    return row < TC_COUNT(METRICS) ? tc_slice_cstr(METRICS[row].columns) : metric;
}

void tc_contract_facts(const struct tc_contract *c, struct tc_contract_facts *out)
{
    struct tc__value root = tc__contract_root(c);
    const struct tc_yaml_node *least = tc__contract_find(root, S("spec.trials.minReplicates")).node;
    const struct tc_yaml_node *level =
        tc__contract_find(root, S("spec.trials.confidenceLevel")).node;
    *out = (struct tc_contract_facts){
        .name = tc__contract_string(c, "metadata.name"),
        .benchmark_class = tc__contract_string(c, "spec.intent.benchmarkClass"),
        .workload_type = tc__contract_string(c, "spec.intent.workloadType"),
        .scheduler_path = tc__contract_string(c, "spec.intent.schedulerPath"),
        .cadence = tc__contract_string(c, "spec.intent.cadence"),
        .variable_under_test = tc__contract_string(c, "spec.comparison.variableUnderTest"),
        .model = tc__contract_string(c, "spec.workload.model"),
        .precision = tc__contract_string(c, "spec.workload.precision"),
        .batching_policy = tc__contract_string(c, "spec.workload.batchingPolicy"),
        .concurrency_model = tc__contract_string(c, "spec.workload.concurrencyModel"),
        .dataset = tc__contract_string(c, "spec.workload.datasetRef"),
        .protocol = tc__contract_string(c, "spec.workload.protocol"),
        .deployment = tc__contract_string(c, "spec.workload.deploymentModel"),
        .image_digest = tc__contract_string(c, "spec.comparison.candidate.imageDigest"),
        .min_replicates = least != NULL && least->kind == TC_YAML_INT ? whole_number(least) : 0,
        .confidence_level =
            level != NULL && level->kind != TC_YAML_BOOL ? tc__contract_number(level) : 0,
        .gpu_hour_usd = price(tc__contract_find(root, S("spec.cost.gpuHourUsd")).node),
        .must_be_signed =
            is_true(tc__contract_find(root, S("spec.provenance.signing.required")).node),
    };
}
