/* SPDX-License-Identifier: Apache-2.0 */
/* What the files say about the run as a whole: one answer from many, the contract's first. */
#include "run/import_priv.h"

#include "base/json/canonical.h"
#include "base/json/json.h"
#include "base/table/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entries of spec.workload.sequenceLengthMix that are looked at. */
#define MIX_MAX 4096

tc_status tc__fact_add(struct tc__import *i, const struct tc__fact *fact, struct tc_error *err)
{
    if (tc_grow_items(i->facts, i->fact_cap, i->fact_count + 1, SIZE_MAX) != TC_OK) {
        return tc__import_nomem(err);
    }
    struct tc__fact *to = &i->facts[i->fact_count];
    *to = *fact;
    to->order = i->fact_count;
    if (fact->is_text && !tc__import_pool_copy(&i->pool, fact->text, &to->text)) {
        return tc__import_nomem(err);
    }
    i->fact_count++;
    return TC_OK;
}

static tc_status add_text(struct tc__import *i, size_t source, enum tc_table table, size_t column,
                          struct tc_slice text, struct tc_error *err)
{
    struct tc__fact fact = {
        .table = table, .column = column, .is_text = true, .text = text, .source = source};
    return text.len == 0 ? TC_OK : tc__fact_add(i, &fact, err);
}

/* As JavaScript writes it. */
static void add_number(struct tc_json_out *j, double number)
{
    char text[64];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_ecma(&b, number);
    tc_json_add_raw(j, tc_buf_slice(&b));
}

/* [{"tokens":1024,"weight":0.5}, ...] of one member of the mix's entries; nothing when none has
 * it. */
static tc_status mix_of(struct tc__import *i, size_t source, struct tc_json mix, const char *member,
                        size_t column, struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json entry;
    struct tc_json value;
    double number;
    size_t seen = 0;
    struct tc_json_out j = tc_json_out_grow(&g);
    tc_json_add_array(&j);
    struct tc_json_iter it = tc_json_iter_make(mix);
    for (size_t n = 0; n < MIX_MAX && tc_json_iter_next(&it, NULL, &entry); n++) {
        if (!tc_json_get(entry, tc_slice_cstr(member), &value) || !tc_json_double(value, &number)) {
            continue;
        }
        seen++;
        tc_json_add_object(&j);
        tc_json_key(&j, "tokens");
        add_number(&j, number);
        if (tc_json_get(entry, TC_LIT("weight"), &value) && tc_json_double(value, &number)) {
            tc_json_key(&j, "weight");
            add_number(&j, number);
        }
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    tc_status status = g.failed ? tc__import_nomem(err)
                       : seen == 0
                           ? TC_OK
                           : add_text(i, source, TC_TABLE_WORKLOAD, column, tc_grow_slice(&g), err);
    tc_grow_fini(&g);
    return status;
}

static tc_status mix_facts(struct tc__import *i, size_t source, struct tc_error *err)
{
    struct tc_slice text = tc_contract_workload_json(i->contract, "sequenceLengthMix");
    struct tc_json mix;
    if (text.len == 0) {
        return TC_OK;
    }
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser == NULL) {
        return tc__import_nomem(err);
    }
    tc_status status = tc_json_parse(parser, text, &mix, err);
    if (status == TC_OK) {
        status = mix_of(i, source, mix, "inputTokens", TC_WORKLOAD_PROMPT_TOKENS, err);
    }
    if (status == TC_OK) {
        status = mix_of(i, source, mix, "outputTokens", TC_WORKLOAD_OUTPUT_TOKENS, err);
    }
    tc_json_parser_destroy(parser);
    return status;
}

tc_status tc__facts_of_contract(struct tc__import *i, size_t source, struct tc_error *err)
{
    const struct {
        enum tc_table table;
        size_t column;
        struct tc_slice text;
    } said[] = {
        {TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, i->said.model},
        {TC_TABLE_WORKLOAD, TC_WORKLOAD_PRECISION, i->said.precision},
        {TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL, i->said.concurrency_model},
        {TC_TABLE_WORKLOAD, TC_WORKLOAD_BATCHING_POLICY, i->said.batching_policy},
        {TC_TABLE_WORKLOAD, TC_WORKLOAD_PROTOCOL, i->said.protocol},
        {TC_TABLE_WORKLOAD, TC_WORKLOAD_DEPLOYMENT, i->said.deployment},
        {TC_TABLE_WORKLOAD, TC_WORKLOAD_DATASET, i->said.dataset},
        {TC_TABLE_CLUSTER, TC_CLUSTER_SCHEDULER_PATH, i->said.scheduler_path},
        {TC_TABLE_CLUSTER, TC_CLUSTER_TENANT_MODE,
         tc_slice_eq(i->said.benchmark_class, TC_LIT("publication_grade")) ? TC_LIT("dedicated")
                                                                           : TC_LIT("shared")},
    };
    for (size_t n = 0; n < TC_COUNT(said); n++) {
        TC_TRY(add_text(i, source, said[n].table, said[n].column, said[n].text, err));
    }
    return mix_facts(i, source, err);
}

/* ---- one answer ---- */

/* By column; the contract's first, then by the digest of the file: the order in which files were
 * given makes no difference. */
static int by_place(const void *a, const void *b, void *context)
{
    const struct tc__import *i = context;
    const struct tc__fact *x = a;
    const struct tc__fact *y = b;
    const struct tc__source *from_x = &i->sources[x->source];
    const struct tc__source *from_y = &i->sources[y->source];
    int order = TC_ORDER(x->table, y->table);
    order = order != 0 ? order : TC_ORDER(x->column, y->column);
    order = order != 0 ? order : TC_ORDER(from_x->file->role, from_y->file->role);
    order = order != 0 ? order : memcmp(&from_x->digest, &from_y->digest, sizeof from_x->digest);
    return order != 0 ? order : TC_ORDER(x->order, y->order);
}

static bool same_place(const struct tc__fact *a, const struct tc__fact *b)
{
    return a->table == b->table && a->column == b->column;
}

static bool same_value(const struct tc__fact *a, const struct tc__fact *b)
{
    return a->is_text ? tc_slice_eq(a->text, b->text) : a->integer == b->integer;
}

/* How bad a status is: the worst of all files is the run's. */
static int badness(struct tc_slice status)
{
    static const char *const order[] = {"unknown", "succeeded", "incomplete", "failed"};
    for (int n = 0; n < 4; n++) {
        if (tc_slice_eq(status, tc_slice_cstr(order[n]))) {
            return n;
        }
    }
    return 0;
}

/* bf16, bfloat16 and BF16 are one. */
static bool same_precision(struct tc_slice a, struct tc_slice b)
{
    static const char *const spellings[][2] = {{"bfloat16", "bf16"},
                                               {"float16", "fp16"},
                                               {"half", "fp16"},
                                               {"float32", "fp32"},
                                               {"float8", "fp8"}};
    struct tc_slice both[] = {a, b};
    for (size_t n = 0; n < TC_COUNT(both); n++) {
        for (size_t s = 0; s < TC_COUNT(spellings); s++) {
            if (tc_slice_eq_nocase(both[n], tc_slice_cstr(spellings[s][0]))) {
                both[n] = tc_slice_cstr(spellings[s][1]);
            }
        }
    }
    return tc_slice_eq_nocase(both[0], both[1]);
}

/* Whether a number about the other says nothing about the contract's workload. A reference to a
 * dataset, or the name of a protocol, is written in many ways. */
static bool differs_in_workload(const struct tc__fact *kept, const struct tc__fact *other)
{
    return kept->table == TC_TABLE_WORKLOAD &&
           ((kept->column == TC_WORKLOAD_PRECISION && !same_precision(kept->text, other->text)) ||
            kept->column == TC_WORKLOAD_CONCURRENCY_MODEL);
}

/* Says it once for all files that say the same. */
static tc_status tell_other(struct tc__import *i, const struct tc__fact *kept,
                            const struct tc__fact *other, size_t others, struct tc_error *err)
{
    const char *column = tc_table_info(kept->table)->columns[kept->column].name;
    struct tc_slice from = i->sources[kept->source].name;
    char more[48] = "";
    if (others > 0) {
        (void)snprintf(more, sizeof more, ", as %zu more file%s", others,
                       others == 1 ? " does" : "s do");
    }
    /* A number about another model proves nothing about the contract's. */
    if (kept->table == TC_TABLE_WORKLOAD && kept->column == TC_WORKLOAD_MODEL &&
        i->sources[kept->source].file->role == TC_ROLE_CONTRACT) {
        i->of_other_model = true;
    }
    if (i->sources[kept->source].file->role == TC_ROLE_CONTRACT &&
        differs_in_workload(kept, other)) {
        i->of_other_workload = column;
    }
    i->disagreements +=
        kept->table == TC_TABLE_SOFTWARE || kept->table == TC_TABLE_HARDWARE ? 1 : 0;
    if (kept->is_text) {
        return tc__import_warnf(i, other->source, err, column,
                                "says \"%.*s\"%s; recorded is \"%.*s\" of %.*s",
                                TC_FMT(other->text), more, TC_FMT(kept->text), TC_FMT(from));
    }
    return tc__import_warnf(i, other->source, err, column, "says %lld%s; recorded is %lld of %.*s",
                            (long long)other->integer, more, (long long)kept->integer,
                            TC_FMT(from));
}

/* What is found from all files, or is no contradiction: a contract tells which lengths are asked
 * for, a tool what it measured of them. */
static bool may_differ(const struct tc__import *i, const struct tc__fact *kept)
{
    if (kept->table == TC_TABLE_RUN) {
        return kept->column == TC_RUN_STARTED || kept->column == TC_RUN_ENDED ||
               kept->column == TC_RUN_STATUS;
    }
    return kept->table == TC_TABLE_WORKLOAD &&
           (kept->column == TC_WORKLOAD_PROMPT_TOKENS ||
            kept->column == TC_WORKLOAD_OUTPUT_TOKENS) &&
           i->sources[kept->source].file->role == TC_ROLE_CONTRACT;
}

/* The facts of one column, in order: the first one stays, or the worst status. */
static tc_status settle_column(struct tc__import *i, const struct tc__fact *facts, size_t count,
                               struct tc__fact *out, struct tc_error *err)
{
    *out = facts[0];
    if (may_differ(i, out)) {
        for (size_t n = 1; out->table == TC_TABLE_RUN && n < count; n++) {
            if (out->column == TC_RUN_STATUS && badness(facts[n].text) > badness(out->text)) {
                *out = facts[n];
            }
        }
        return TC_OK;
    }
    for (size_t n = 1; n < count; n++) {
        bool told = same_value(out, &facts[n]);
        size_t others = 0;
        for (size_t before = 1; !told && before < n; before++) {
            told = same_value(&facts[before], &facts[n]);
        }
        for (size_t behind = n + 1; !told && behind < count; behind++) {
            others += same_value(&facts[behind], &facts[n]) ? 1 : 0;
        }
        if (!told) {
            TC_TRY(tell_other(i, out, &facts[n], others, err));
        }
    }
    return TC_OK;
}

/* ---- one machine, or all of them ---- */

static bool is_count(const struct tc__fact *f)
{
    return f->table == TC_TABLE_HARDWARE &&
           (f->column == TC_HARDWARE_GPU_COUNT || f->column == TC_HARDWARE_NODE_COUNT);
}

/* Of what describes a machine, and measured nothing. */
static bool is_of_probe(const struct tc__import *i, const struct tc__fact *f)
{
    const struct tc_reader *reader = i->sources[f->source].reader;
    return reader != NULL && reader->only_facts;
}

/* Whether a probe's count is that of one machine out of the several that a result tells of. */
static bool is_of_one(const struct tc__fact *probe, const struct tc__fact *result)
{
    return probe->column == result->column && probe->column == TC_HARDWARE_NODE_COUNT
               ? probe->integer != result->integer
               : probe->column == result->column && probe->integer < result->integer;
}

/*
 * A probe counts the GPUs of one machine, a result those that it ran on. Where there were several
 * machines, the probe's counts are left out, both: the GPUs of one beside the number of all would
 * be taken for each other.
 */
static void leave_out_probe_counts(struct tc__import *i)
{
    bool several = false;
    bool counted = false; /* by a result: the GPUs that it used, which may be fewer */
    size_t kept = 0;
    for (size_t n = 0; n < i->fact_count; n++) {
        const struct tc__fact *result = &i->facts[n];
        if (!is_count(result) || is_of_probe(i, result)) {
            continue;
        }
        counted |= result->column == TC_HARDWARE_GPU_COUNT;
        for (size_t m = 0; !several && m < i->fact_count; m++) {
            const struct tc__fact *probe = &i->facts[m];
            several |= is_count(probe) && is_of_probe(i, probe) && is_of_one(probe, result);
        }
    }
    for (size_t n = 0; n < i->fact_count; n++) {
        const struct tc__fact *f = &i->facts[n];
        bool left_out = is_count(f) && is_of_probe(i, f) &&
                        (several || (counted && f->column == TC_HARDWARE_GPU_COUNT));
        if (!left_out) {
            i->facts[kept++] = i->facts[n];
        }
    }
    i->fact_count = kept;
}

tc_status tc__facts_settle(struct tc__import *i, struct tc_error *err)
{
    size_t kept = 0;
    leave_out_probe_counts(i);
    if (i->fact_count == 0) {
        return TC_OK;
    }
    qsort_r(i->facts, i->fact_count, sizeof *i->facts, by_place, i);
    for (size_t first = 0, end; first < i->fact_count; first = end) {
        struct tc__fact settled;
        end = first + 1;
        while (end < i->fact_count && same_place(&i->facts[first], &i->facts[end])) {
            end++;
        }
        TC_TRY(settle_column(i, &i->facts[first], end - first, &settled, err));
        i->facts[kept++] = settled; /* kept <= first: behind it all is settled */
    }
    i->fact_count = kept;
    return TC_OK;
}

tc_status tc__facts_add_image(struct tc__import *i, struct tc_error *err)
{
    for (size_t n = 0; n < i->source_count; n++) {
        if (i->sources[n].file->role == TC_ROLE_CONTRACT && !i->sources[n].left_out &&
            tc__fact_of(i, TC_TABLE_SOFTWARE, TC_SOFTWARE_IMAGE) == NULL) {
            return add_text(i, n, TC_TABLE_SOFTWARE, TC_SOFTWARE_IMAGE, i->said.image_digest, err);
        }
    }
    return TC_OK;
}

const struct tc__fact *tc__fact_of(const struct tc__import *i, enum tc_table table, size_t column)
{
    for (size_t n = 0; n < i->fact_count; n++) {
        if (i->facts[n].table == table && i->facts[n].column == column) {
            return &i->facts[n];
        }
    }
    return NULL;
}
