/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract as JSON, for its digests: what Python's json module would write of it, aliases
 * written out, dates as their text. A value that JSON has no form for (.nan, .inf, a set, bytes)
 * is an error, and so is one that contains itself.
 */
#include "base/yaml/json.h"
#include "base/canonical.h"
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

tc_status tc__contract_canonical(const struct tc_contract *c, const struct tc_yaml_node *n,
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
    return tc__contract_canonical(c, v.node, out, err);
}

struct tc_slice tc_contract_workload_json(const struct tc_contract *c, const char *member)
{
    struct tc__value v = tc__contract_find(tc__contract_root(c), S("spec.workload"));
    struct tc_slice out = TC_EMPTY;
    if (v.node != NULL) {
        v = tc__contract_find(v, tc_slice_cstr(member));
    }
    return v.node != NULL && tc__contract_canonical(c, v.node, &out, NULL) == TC_OK ? out
                                                                                    : TC_EMPTY;
}

static void put_string(struct tc_buf *b, const char *name, struct tc_slice value)
{
    tc_buf_json(b, tc_slice_cstr(name));
    tc_buf_char(b, ':');
    tc_buf_json(b, value);
    tc_buf_char(b, ',');
}

static void put_bool(const struct tc_contract *c, struct tc_buf *b, const char *name)
{
    struct tc__value ci = tc__contract_find(tc__contract_root(c), S("spec.automation.ci"));
    struct tc__value v = ci.node == NULL ? ci : tc__contract_find(ci, tc_slice_cstr(name));
    tc_buf_json(b, tc_slice_cstr(name));
    tc_buf_str(b, v.node != NULL && tc__contract_number(v.node) > 0 ? S(":true") : S(":false"));
}

void tc_contract_summary(const struct tc_contract *c, struct tc_buf *out)
{
    struct tc__value layers = tc__contract_find(tc__contract_root(c), S("spec.layers"));
    tc_buf_char(out, '{');
    put_string(out, "benchmark_class", tc__contract_string(c, "spec.intent.benchmarkClass"));
    tc_buf_lit(out, "\"ci_schedule\":{");
    put_bool(c, out, "canary");
    tc_buf_char(out, ',');
    put_bool(c, out, "nightly");
    tc_buf_char(out, ',');
    put_bool(c, out, "preRelease");
    tc_buf_lit(out, "},\"enabled_layers\":[");
    bool is_next = false;
    for (const struct tc_yaml_entry *e = tc_yaml_first(layers.node); e != NULL && !out->overflowed;
         e = e->next) {
        struct tc__value item = {e->value, e->at};
        const struct tc_yaml_node *enabled = tc__contract_find(item, S("enabled")).node;
        const struct tc_yaml_node *name = tc__contract_find(item, S("name")).node;
        if (enabled != NULL && enabled->kind == TC_YAML_BOOL && tc__contract_number(enabled) > 0 &&
            name != NULL) {
            tc_buf_str(out, is_next ? S(",") : S(""));
            tc_buf_json(out, tc_yaml_text(name));
            is_next = true;
        }
    }
    tc_buf_lit(out, "],");
    put_string(out, "hot_metrics_store", tc__contract_string(c, "spec.sinks.hotMetrics.store"));
    put_string(out, "name", tc__contract_string(c, "metadata.name"));
    put_string(out, "scheduler_path", tc__contract_string(c, "spec.intent.schedulerPath"));
    put_string(out, "variable_under_test",
               tc__contract_string(c, "spec.comparison.variableUnderTest"));
    put_string(out, "warehouse_store", tc__contract_string(c, "spec.sinks.curatedWarehouse.store"));
    tc_buf_lit(out, "\"workload_type\":");
    tc_buf_json(out, tc__contract_string(c, "spec.intent.workloadType"));
    tc_buf_char(out, '}');
}
