/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in a contract, and what it says about its run. */
#include "contract/contract_priv.h"

#define S(literal) TC_LIT(literal)

struct tc_slice tc__contract_text(const struct tc_contract *c, const struct tc__node *n)
{
    return n->text_len == 0 ? TC_EMPTY : tc_slice_make(c->text + n->text, n->text_len);
}

const struct tc__entry *tc__contract_entry(const struct tc_contract *c, uint32_t index)
{
    return index == TC__NONE ? NULL : &c->entries[index];
}

const struct tc__node *tc__contract_node(const struct tc_contract *c, uint32_t index)
{
    return index == TC__NONE ? NULL : &c->nodes[index];
}

const struct tc__entry *tc__contract_pair(const struct tc_contract *c, const struct tc__node *n,
                                          struct tc_slice key)
{
    const struct tc__entry *found = NULL;
    if (n == NULL || n->kind != TC__MAPPING) {
        return NULL;
    }
    for (uint32_t at = n->first; at != TC__NONE; at = c->entries[at].next) {
        const struct tc__node *k = &c->nodes[c->entries[at].key];
        if (k->kind == TC__STRING && tc_slice_eq(tc__contract_text(c, k), key)) {
            found = &c->entries[at];
        }
    }
    return found;
}

struct tc__value tc__contract_root(const struct tc_contract *c)
{
    const struct tc__node *n = &c->nodes[c->root];
    return (struct tc__value){.node = n, .line = n->line, .column = n->column};
}

struct tc__value tc__contract_find(const struct tc_contract *c, struct tc__value from,
                                   struct tc_slice path)
{
    while (path.len > 0) {
        struct tc_slice rest = TC_EMPTY;
        struct tc_slice key = tc_slice_cut(path, '.', &rest);
        const struct tc__entry *pair = tc__contract_pair(c, from.node, key);
        if (pair == NULL) {
            if (from.node->kind == TC__MAPPING) {
                from.line = from.node->line;
                from.column = from.node->column;
            }
            from.node = NULL;
            return from;
        }
        from = (struct tc__value){&c->nodes[pair->value], pair->line, pair->column};
        path = rest;
    }
    return from;
}

struct tc_slice tc__contract_string(const struct tc_contract *c, const char *path)
{
    struct tc__value v = tc__contract_find(c, tc__contract_root(c), tc_slice_cstr(path));
    return v.node != NULL && v.node->kind == TC__STRING ? tc__contract_text(c, v.node) : TC_EMPTY;
}

void tc_contract_facts(const struct tc_contract *c, struct tc_contract_facts *out)
{
    struct tc__value root = tc__contract_root(c);
    const struct tc__node *least = tc__contract_find(c, root, S("spec.trials.minReplicates")).node;
    const struct tc__node *level =
        tc__contract_find(c, root, S("spec.trials.confidenceLevel")).node;
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
        .min_replicates = least != NULL && least->kind == TC__INT ? least->integer : 0,
        .confidence_level =
            level != NULL && (level->kind == TC__REAL || level->kind == TC__INT) ? level->real : 0,
    };
}
