/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract as JSON, for its digests: what Python's json module would write of it, aliases
 * written out, dates as their text. A value that JSON has no form for (.nan, .inf, a set, bytes)
 * is an error, and so is one that contains itself.
 */
#include "base/yaml/json.h"
#include "base/json/canonical.h"
#include "base/json/out.h"
#include "contract/contract_priv.h"

#include <stdlib.h>

#define S(literal) TC_LIT(literal)
static tc_status keep_text(const struct tc_contract *c, char *bytes, struct tc_error *err)
{
    struct tc__text *t = malloc(sizeof *t);
    if (t == NULL) {
        free(bytes);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a contract's JSON");
    }
    *t = (struct tc__text){.next = *c->texts, .bytes = bytes};
    *c->texts = t;
    return TC_OK;
}

static tc_status contract_canonical(const struct tc_contract *c, const struct tc_yaml_node *n,
                                    struct tc_slice *out, struct tc_error *err)
{
    char *json = NULL;
    char *text = NULL;
    size_t len = 0;
    tc_status status = tc_yaml_json(n, &tc__contract_options, &json, &len, err);
    if (status == TC_E_NOMEM) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a contract's JSON");
    }
    if (status == TC_E_LIMIT) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "with its aliases written out it has more than %zu bytes",
                       TC__CONTRACT_JSON_MAX);
    }
    TC_TRY(status);
    status = tc_canonical_text(tc_slice_make(json, len), &text, &len, err);
    free(json);
    TC_TRY(status);
    TC_TRY(keep_text(c, text, err));
    *out = tc_slice_make(text, len);
    return TC_OK;
}

tc_status tc_contract_canonical(const struct tc_contract *c, bool workload_only,
                                struct tc_slice *out, struct tc_error *err)
{
    struct tc__value v = tc__contract_root(c);
    if (workload_only) {
        v = tc__contract_find(v, S("spec.workload"));
    }
    if (v.node == NULL) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "the contract has no spec.workload");
    }
    return contract_canonical(c, v.node, out, err);
}

struct tc_slice tc_contract_workload_json(const struct tc_contract *c, const char *member)
{
    struct tc__value v = tc__contract_find(tc__contract_root(c), S("spec.workload"));
    struct tc_slice out = TC_EMPTY;
    if (v.node != NULL) {
        v = tc__contract_find(v, tc_slice_cstr(member));
    }
    return v.node != NULL && contract_canonical(c, v.node, &out, NULL) == TC_OK ? out : TC_EMPTY;
}

static bool ci_runs(const struct tc_contract *c, struct tc_slice name)
{
    struct tc__value ci = tc__contract_find(tc__contract_root(c), S("spec.automation.ci"));
    struct tc__value v = ci.node == NULL ? ci : tc__contract_find(ci, name);
    return v.node != NULL && tc__contract_number(v.node) > 0;
}

static void add_layers(const struct tc_contract *c, struct tc_json_out *j)
{
    struct tc__value layers = tc__contract_find(tc__contract_root(c), S("spec.layers"));
    tc_json_add_array(j);
    for (const struct tc_yaml_entry *e = tc_yaml_first(layers.node); e != NULL && !j->b->overflowed;
         e = e->next) {
        struct tc__value item = {e->value, e->at};
        const struct tc_yaml_node *enabled = tc__contract_find(item, S("enabled")).node;
        const struct tc_yaml_node *name = tc__contract_find(item, S("name")).node;
        if (enabled != NULL && enabled->kind == TC_YAML_BOOL && tc__contract_number(enabled) > 0 &&
            name != NULL) {
            tc_json_add_str(j, tc_yaml_text(name));
        }
    }
    tc_json_end_array(j);
}

#define PUT_FIELD(j, name, path) tc_json_put_str((j), name, tc__contract_string(c, path))

void tc_contract_summary(const struct tc_contract *c, struct tc_buf *out)
{
    struct tc_json_out j = tc_json_object_make(out);
    PUT_FIELD(&j, "benchmark_class", "spec.intent.benchmarkClass");
    tc_json_put_object(&j, "ci_schedule");
    tc_json_put_bool(&j, "canary", ci_runs(c, S("canary")));
    tc_json_put_bool(&j, "nightly", ci_runs(c, S("nightly")));
    tc_json_put_bool(&j, "preRelease", ci_runs(c, S("preRelease")));
    tc_json_end_object(&j);
    tc_json_key(&j, "enabled_layers");
    add_layers(c, &j);
    PUT_FIELD(&j, "hot_metrics_store", "spec.sinks.hotMetrics.store");
    PUT_FIELD(&j, "name", "metadata.name");
    PUT_FIELD(&j, "scheduler_path", "spec.intent.schedulerPath");
    PUT_FIELD(&j, "variable_under_test", "spec.comparison.variableUnderTest");
    PUT_FIELD(&j, "warehouse_store", "spec.sinks.curatedWarehouse.store");
    PUT_FIELD(&j, "workload_type", "spec.intent.workloadType");
    tc_json_end_object(&j);
}
