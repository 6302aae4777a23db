/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract as JSON, for its digests: what Python's json module would write of it, aliases
 * written out, dates as their text. A value that JSON has no form for (.nan, .inf, a set, bytes)
 * is an error, and so is one that contains itself.
 */
#include "base/canonical.h"
#include "contract/contract_priv.h"

#include <math.h>
#include <stdlib.h>

#define S(literal) TC_LIT(literal)
#define FIRST_CAP ((size_t)16 << 10)

struct frame {
    const struct tc__node *node;
    uint32_t at; /* next entry */
    bool has_items;
};

/* Invariant: depth <= TC_JSON_DEPTH_MAX. */
struct writer {
    const struct tc_contract *c;
    struct tc_buf out;
    struct frame frames[TC_JSON_DEPTH_MAX];
    size_t depth;
    size_t steps; /* pairs that are overridden write nothing */
};

static tc_status refuse(const struct tc__node *n, const char *why, struct tc_error *err)
{
    return tc_fail(err, TC_E_UNSUPPORTED, 0, "line %u, column %u: %s", n->line, n->column, why);
}

static void put_number(struct tc_buf *b, const struct tc__node *n)
{
    if (n->kind == TC__INT) {
        tc_buf_i64(b, n->integer);
    } else {
        tc_buf_f64(b, n->real);
    }
}

/* A scalar as a value, or as the name of a member. */
static tc_status put_scalar(struct writer *w, const struct tc__node *n, bool is_key,
                            struct tc_error *err)
{
    struct tc_buf *b = &w->out;
    bool quoted = is_key && (n->kind == TC__NULL || n->kind == TC__BOOL || n->kind == TC__INT ||
                             n->kind == TC__REAL);
    if ((n->kind == TC__REAL && !isfinite(n->real)) || (n->kind == TC__INT && n->too_big)) {
        return refuse(n, "JSON has no such number, so the contract has no digest", err);
    }
    if (quoted) {
        tc_buf_char(b, '"');
    }
    switch (n->kind) {
    case TC__NULL:
        tc_buf_lit(b, "null");
        break;
    case TC__BOOL:
        tc_buf_str(b, n->integer != 0 ? S("true") : S("false"));
        break;
    case TC__INT:
    case TC__REAL:
        put_number(b, n);
        break;
    case TC__STRING:
    case TC__TIME:
        tc_buf_json(b, tc__contract_text(w->c, n));
        break;
    case TC__BYTES:
    case TC__SET:
    case TC__LIST:
    case TC__MAPPING:
        return refuse(n, "JSON has no such value, so the contract has no digest", err);
    }
    if (quoted) {
        tc_buf_char(b, '"');
    }
    return TC_OK;
}

static tc_status put_value(struct writer *w, const struct tc__node *n, struct tc_error *err)
{
    if (n->kind != TC__LIST && n->kind != TC__MAPPING) {
        return put_scalar(w, n, false, err);
    }
    if (w->depth == TC_JSON_DEPTH_MAX) {
        return refuse(n, "nested too deeply, or inside of itself", err);
    }
    tc_buf_char(&w->out, n->kind == TC__LIST ? '[' : '{');
    w->frames[w->depth++] = (struct frame){.node = n, .at = n->first};
    return TC_OK;
}

static tc_status step(struct writer *w, struct tc_error *err)
{
    struct frame *f = &w->frames[w->depth - 1];
    bool is_list = f->node->kind == TC__LIST;
    if (f->at == TC__NONE) {
        tc_buf_char(&w->out, is_list ? ']' : '}');
        w->depth--;
        return TC_OK;
    }
    const struct tc__entry *e = &w->c->entries[f->at];
    f->at = e->next;
    if (e->overridden) {
        return TC_OK;
    }
    if (f->has_items) {
        tc_buf_char(&w->out, ',');
    }
    f->has_items = true;
    if (!is_list) {
        TC_TRY(put_scalar(w, &w->c->nodes[e->key], true, err));
        tc_buf_char(&w->out, ':');
    }
    return put_value(w, &w->c->nodes[e->value], err);
}

/* Into `out`; TC_E_LIMIT when it does not fit. */
static tc_status write_json(const struct tc_contract *c, const struct tc__node *n,
                            struct tc_buf *out, struct tc_error *err)
{
    struct writer w = {.c = c, .out = *out};
    tc_status status = put_value(&w, n, err);
    while (status == TC_OK && w.depth > 0 && !w.out.overflowed) {
        w.out.overflowed = ++w.steps > TC__CONTRACT_JSON_MAX;
        status = step(&w, err);
    }
    *out = w.out;
    if (status == TC_OK && w.out.overflowed) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "with its aliases written out it has more than %zu bytes",
                       TC__CONTRACT_JSON_MAX);
    }
    return status;
}

static tc_status keep(const struct tc_contract *c, char *bytes, struct tc_error *err)
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

tc_status tc__contract_canonical(const struct tc_contract *c, const struct tc__node *n,
                                 struct tc_slice *out, struct tc_error *err)
{
    tc_status status = TC_E_LIMIT;
    char *bytes = NULL;
    struct tc_buf b = tc_buf_make(NULL, 0);
    for (size_t cap = FIRST_CAP; status == TC_E_LIMIT && cap <= TC__CONTRACT_JSON_MAX; cap *= 4) {
        free(bytes);
        bytes = malloc(cap);
        if (bytes == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for a contract's JSON");
        }
        b = tc_buf_make(bytes, cap);
        status = write_json(c, n, &b, err);
    }
    char *text = NULL;
    size_t len = 0;
    if (status == TC_OK) {
        status = tc_canonical_text(tc_buf_slice(&b), &text, &len, err);
    }
    free(bytes);
    TC_TRY(status);
    TC_TRY(keep(c, text, err));
    *out = tc_slice_make(text, len);
    return TC_OK;
}

tc_status tc_contract_canonical(const struct tc_contract *c, bool workload_only,
                                struct tc_slice *out, struct tc_error *err)
{
    struct tc__value v = tc__contract_root(c);
    if (workload_only) {
        v = tc__contract_find(c, v, S("spec.workload"));
    }
    if (v.node == NULL) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "the contract has no spec.workload");
    }
    return tc__contract_canonical(c, v.node, out, err);
}

struct tc_slice tc_contract_workload_json(const struct tc_contract *c, const char *member)
{
    struct tc__value v = tc__contract_find(c, tc__contract_root(c), S("spec.workload"));
    struct tc_slice out = TC_EMPTY;
    if (v.node != NULL) {
        v = tc__contract_find(c, v, tc_slice_cstr(member));
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
    struct tc__value ci = tc__contract_find(c, tc__contract_root(c), S("spec.automation.ci"));
    struct tc__value v = ci.node == NULL ? ci : tc__contract_find(c, ci, tc_slice_cstr(name));
    tc_buf_json(b, tc_slice_cstr(name));
    tc_buf_str(b, v.node != NULL && v.node->integer != 0 ? S(":true") : S(":false"));
}

void tc_contract_summary(const struct tc_contract *c, struct tc_buf *out)
{
    struct tc__value layers = tc__contract_find(c, tc__contract_root(c), S("spec.layers"));
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
    for (uint32_t at = layers.node == NULL ? TC__NONE : layers.node->first;
         at != TC__NONE && !out->overflowed; at = c->entries[at].next) {
        struct tc__value item = {&c->nodes[c->entries[at].value], 0, 0};
        const struct tc__node *enabled = tc__contract_find(c, item, S("enabled")).node;
        const struct tc__node *name = tc__contract_find(c, item, S("name")).node;
        if (enabled != NULL && enabled->kind == TC__BOOL && enabled->integer != 0 && name != NULL) {
            tc_buf_str(out, is_next ? S(",") : S(""));
            tc_buf_json(out, tc__contract_text(c, name));
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
