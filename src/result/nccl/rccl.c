/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rccl-tests writes with -x FILE: a list of measurements as JSON or CSV (-Z), one for each
 * size and place. Times are us, bandwidths GB/s as in its table; "wrong" is a text, N/A without a
 * check.
 */
#include "result/lines_priv.h"
#include "result/nccl/priv.h"

#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define CSV_START "numCycle,collective,"
#define CSV_COLUMNS_MAX 32

/* One measurement, by the names of its members or columns. */
struct entry {
    struct tc_slice name;
    struct tc_slice type;
    struct tc_slice redop;
    double numbers[TC__NCCL_VALUES];
    bool known[TC__NCCL_VALUES];
    double size;
    double in_place;
    double ranks;
    double gpus_per_rank;
    double gpus;
    double nodes;
    bool has_size;
};

static void add_entry(struct tc__nccl_log *l, const char *where, const struct entry *e)
{
    struct tc__nccl_row t = {.size = (uint64_t)e->size, .type = e->type, .redop = e->redop};
    struct tc__nccl_half *h = &t.half[e->in_place != 0];
    memcpy(h->values, e->numbers, sizeof h->values);
    memcpy(h->known, e->known, sizeof h->known);
    tc__nccl_set_op(l, tc__nccl_op_named(e->name));
    l->unnamed += l->op[0] == '\0';
    double gpus = e->gpus > 0            ? e->gpus
                  : e->gpus_per_rank > 0 ? e->ranks * e->gpus_per_rank
                                         : e->ranks;
    if (gpus > (double)l->gpus && gpus < INT32_MAX) {
        l->gpus = (int64_t)gpus;
    }
    if (e->nodes > 0 && e->nodes < INT32_MAX) {
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, (int64_t)e->nodes);
    }
    tc__nccl_add_row(l, where, &t);
}

/* A column of CSV, or a member of JSON, which spells some otherwise. */
static void put_number(struct entry *e, struct tc_slice name, double number)
{
    static const struct {
        const char *name;
        enum tc__nccl_value value;
    } values[] = {{"time", TC__NCCL_TIME},
                  {"algbw", TC__NCCL_ALGBW},
                  {"busbw", TC__NCCL_BUSBW},
                  {"#wrong", TC__NCCL_WRONG},
                  {"wrong", TC__NCCL_WRONG}};
    size_t i = tc_slice_row_nocase(name, values, name);
    if (i < TC_COUNT(values)) {
        e->numbers[values[i].value] = number;
        e->known[values[i].value] = true;
    } else if (tc_slice_eq(name, S("size"))) {
        e->has_size = number >= 0 && number < 1e18;
        e->size = e->has_size ? number : 0;
    } else if (tc_slice_eq_nocase(name, S("inplace"))) {
        e->in_place = number;
    } else if (tc_slice_eq(name, S("ranks"))) {
        e->ranks = number;
    } else if (tc_slice_eq(name, S("gpusPerRank"))) {
        e->gpus_per_rank = number;
    } else if (tc_slice_eq(name, S("gpus"))) {
        e->gpus = number;
    } else if (tc_slice_eq(name, S("nodes"))) {
        e->nodes = number;
    }
}

static void put_text(struct entry *e, struct tc_slice name, struct tc_slice text)
{
    double number = 0;
    if (tc_slice_eq(name, S("name")) || tc_slice_eq(name, S("collective"))) {
        e->name = text;
    } else if (tc_slice_eq(name, S("type"))) {
        e->type = text;
    } else if (tc_slice_eq(name, S("redop"))) {
        e->redop = text;
    } else if (tc_map_parse_number(text, &number)) {
        put_number(e, name, number);
    }
}

static void finish(struct tc__nccl_log *l)
{
    /* The file is written when the test has ended. */
    l->tables = 1;
    l->ends = 1;
    tc__nccl_finish(l);
}

bool tc__nccl_is_rccl_json(const struct tc_result_input *in)
{
    struct tc_json first = tc_result_first(in);
    struct tc_json v;
    return tc_json_type(in->root) == TC_JSON_ARRAY && tc_map_at(first, "busBw", &v) &&
           tc_map_at(first, "inPlace", &v);
}

tc_status tc__nccl_read_rccl_json(const struct tc_result_input *in, struct tc__nccl_log *l)
{
    struct tc_json_iter it = tc_json_iter_make(in->root);
    struct tc_json object;
    for (size_t i = 0; tc_json_iter_next(&it, NULL, &object); i++) {
        struct entry e = {.size = 0};
        struct tc_json_iter members = tc_json_iter_make(object);
        struct tc_slice name;
        struct tc_slice text;
        struct tc_json v;
        double number = 0;
        char where[32];
        while (tc_json_iter_next(&members, &name, &v)) {
            if (tc_json_string(v, &text)) {
                put_text(&e, name, text);
            } else if (tc_map_number(v, &number)) {
                put_number(&e, name, number);
            }
        }
        (void)snprintf(where, sizeof where, "/%zu", i);
        if (!e.has_size) {
            return tc_fail(l->err, TC_E_MALFORMED, 0, "%s/size: a size in bytes is needed", where);
        }
        add_entry(l, where, &e);
    }
    finish(l);
    return TC_OK;
}

bool tc__nccl_is_rccl_csv(struct tc_slice text)
{
    return tc_slice_starts(text, S(CSV_START)) && tc_slice_contains(text, S("busbw"));
}

tc_status tc__nccl_read_rccl_csv(const struct tc_result_input *in, struct tc__nccl_log *l)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice names[CSV_COLUMNS_MAX];
    size_t columns = 0;
    struct tc_slice line;
    struct tc_slice field;
    while (tc__lines_next(&lines, &line)) {
        struct entry e = {.size = 0};
        size_t n = 0;
        while (tc__csv_field(&line, &field)) {
            field = tc_slice_trim(field);
            if (lines.line == 1 && columns < CSV_COLUMNS_MAX) {
                names[columns++] = field;
            } else if (n < columns) {
                put_text(&e, names[n], field);
            }
            n++;
        }
        char where[32];
        (void)snprintf(where, sizeof where, "line:%zu", lines.line);
        if (lines.line == 1) {
            continue;
        }
        if (n != columns || !e.has_size) {
            return tc_fail(l->err, TC_E_MALFORMED, 0,
                           "line %zu: %zu fields with a size are needed: was the file cut off?",
                           lines.line, columns);
        }
        add_entry(l, where, &e);
    }
    finish(l);
    return TC_OK;
}
