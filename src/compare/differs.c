/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/differs.h"

#include "base/format.h"

#include <stdlib.h>
#include <string.h>

/* What a variable under test of a contract changes. */
static const struct {
    const char *variable;
    const char *columns;
} VARIABLES[] = {
    {"hardware_generation",
     "gpu_model gpu_memory_mib nic pcie_layout nvlink_topology gpu_nic_affinity numa cpu_model "
     "resource_flavor node_pool"},
    {"runtime_version",
     "image_digest framework framework_version runtime runtime_version server server_version"},
    {"scheduler_path", "scheduler_path queue resource_flavor node_pool"},
    {"control_plane_path", "scheduler_path cluster queue deployment_model"},
    {"driver_stack", "driver_version cuda_version nccl_version kernel os image_digest"},
    {"network_topology", "nic gpu_nic_affinity nvlink_topology pcie_layout zone"},
    {"storage_stack", "storage_fabric dataset"},
};

bool tc_variable_has(struct tc_slice variable, struct tc_slice column)
{
    size_t row = tc_slice_row(variable, VARIABLES, variable);
    struct tc_slice rest =
        row < TC_COUNT(VARIABLES) ? tc_slice_cstr(VARIABLES[row].columns) : TC_EMPTY;
    while (rest.len > 0) {
        if (tc_slice_eq(tc_slice_cut(rest, ' ', &rest), column)) {
            return true;
        }
    }
    return false;
}

const char *tc_differs_name(enum tc_differs kind)
{
    switch (kind) {
    case TC_DIFFERS_BETWEEN:
        return "between";
    case TC_DIFFERS_WITHIN:
        return "within";
    case TC_DIFFERS_UNKNOWN:
        break;
    }
    return "unknown";
}

/* ---- the values of one side ---- */

static void collect(const struct tc_group *g, size_t column, struct tc_fact_side *out)
{
    size_t last = 0; /* most runs have the value of the run before */
    *out = (struct tc_fact_side){0};
    for (size_t run = 0; run < g->run_count; run++) {
        if (!tc_answer_known(&g->runs, run, column)) {
            out->unknown++;
            continue;
        }
        size_t n = last < out->value_count &&
                           tc_answer_same(&g->runs, out->values[last].run, &g->runs, run, column)
                       ? last
                       : 0;
        while (n < out->value_count &&
               !tc_answer_same(&g->runs, out->values[n].run, &g->runs, run, column)) {
            n++;
        }
        if (n == TC_FACT_VALUES_MAX) {
            out->more++;
            continue;
        }
        if (n == out->value_count) {
            out->values[out->value_count++].run = run;
        }
        out->values[n].count++;
        last = n;
    }
}

/* Whether a side has a value that the other has not, as far as they are kept. */
static bool has_other(const struct tc_group *a, const struct tc_fact_side *of_a,
                      const struct tc_group *b, const struct tc_fact_side *of_b, size_t column)
{
    for (size_t n = 0; n < of_a->value_count; n++) {
        size_t m = 0;
        while (m < of_b->value_count && !tc_answer_same(&a->runs, of_a->values[n].run, &b->runs,
                                                        of_b->values[m].run, column)) {
            m++;
        }
        if (m == of_b->value_count && of_b->more == 0) {
            return true;
        }
    }
    return false;
}

void tc_fact_side_put(struct tc_grow *g, const struct tc_group *group, size_t column,
                      const struct tc_fact_side *side)
{
    bool several = side->value_count + (side->more > 0) + (side->unknown > 0) > 1;
    for (size_t n = 0; n < side->value_count; n++) {
        const struct tc_fact_value *v = &side->values[n];
        tc_grow_format(g, "{}{}", n == 0 ? "" : ", ",
                       tc_answer_as_value(&group->runs, v->run, column));
        if (several) {
            tc_grow_format(g, " ({})", tc_as_count((int64_t)v->count, "run"));
        }
    }
    if (side->more > 0) {
        tc_grow_format(g, ", others ({})", tc_as_count((int64_t)side->more, "run"));
    }
    if (side->value_count == 0) {
        tc_grow_lit(g, "-");
    } else if (side->unknown > 0) {
        tc_grow_format(g, ", unknown ({})", tc_as_count((int64_t)side->unknown, "run"));
    }
}

/* ---- between the sides ---- */

/* True when there is something to say of the column. */
static bool compare_column(const struct tc_group *base, const struct tc_group *candidate,
                           size_t column, struct tc_difference *d)
{
    struct tc_fact_side *b = &d->sides[0];
    struct tc_fact_side *c = &d->sides[1];
    d->column = column;
    collect(base, column, b);
    collect(candidate, column, c);
    if (b->value_count == 0 && c->value_count == 0) {
        return false;
    }
    if (b->value_count == 0 || c->value_count == 0) {
        d->kind = TC_DIFFERS_UNKNOWN;
        return true;
    }
    if (has_other(base, b, candidate, c, column) || has_other(candidate, c, base, b, column)) {
        d->kind = TC_DIFFERS_BETWEEN;
        return true;
    }
    d->kind = TC_DIFFERS_WITHIN;
    return b->value_count > 1 || c->value_count > 1 || b->more > 0 || c->more > 0;
}

static bool is_known_part(const struct tc_group *g, const char *part)
{
    for (size_t c = TC_GROUP_FACTS; c < g->runs.column_count; c++) {
        /* The class of a contract says the mode of tenancy, not where the run was. */
        if (strcmp(tc_group_part(c), part) != 0 ||
            strcmp(tc_answer_name(&g->runs, c), "tenant_mode") == 0) {
            continue;
        }
        for (size_t run = 0; run < g->run_count; run++) {
            if (tc_answer_known(&g->runs, run, c)) {
                return true;
            }
        }
    }
    return false;
}

/* The first and last start of a side; false where none is known. */
static bool span_of(const struct tc_group *g, int64_t *out_first, int64_t *out_last)
{
    bool any = false;
    for (size_t run = 0; run < g->run_count; run++) {
        if (tc_answer_known(&g->runs, run, TC_GROUP_STARTED)) {
            int64_t at = tc_answer_int(&g->runs, run, TC_GROUP_STARTED);
            *out_first = any && *out_first < at ? *out_first : at;
            *out_last = any && *out_last > at ? *out_last : at;
            any = true;
        }
    }
    return any;
}

static int by_text(const void *x, const void *y)
{
    const struct tc_slice *a = x;
    const struct tc_slice *b = y;
    return tc_slice_cmp(*a, *b);
}

/* Ids of the candidate that are the base's too. */
static tc_status count_shared(const struct tc_group *base, const struct tc_group *candidate,
                              size_t *out)
{
    struct tc_slice *ids = calloc(base->run_count + 1, sizeof *ids);
    if (ids == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t run = 0; run < base->run_count; run++) {
        ids[run] = tc_group_text(base, run, TC_GROUP_RUN_ID);
    }
    qsort(ids, base->run_count, sizeof *ids, by_text);
    for (size_t run = 0; run < candidate->run_count; run++) {
        struct tc_slice id = tc_group_text(candidate, run, TC_GROUP_RUN_ID);
        *out += bsearch(&id, ids, base->run_count, sizeof *ids, by_text) != NULL ? 1 : 0;
    }
    free(ids);
    return TC_OK;
}

/* Listed, but no reason for another number: points are compared with the same point only, and
 * definitions with the same definition. */
static bool is_harmless(const char *column)
{
    return tc_slice_is_any(tc_slice_cstr(column), "cadence", "gpu_hour_usd", "tools",
                           "workload_spec_digest");
}

static void judge(struct tc_differences *d, const struct tc_group *base)
{
    size_t between = 0;
    size_t expected = 0;
    for (size_t n = 0; n < d->count; n++) {
        const struct tc_difference *item = &d->items[n];
        if (item->kind == TC_DIFFERS_BETWEEN &&
            !is_harmless(tc_answer_name(&base->runs, item->column))) {
            between++;
            expected += item->is_expected ? 1 : 0;
        }
    }
    /* Without a contract the one thing that differs is taken for what is tested. */
    d->is_confounded = d->variable.len > 0 ? between > expected : between > 1;
}

tc_status tc_differences_find(const struct tc_group *base, const struct tc_group *candidate,
                              struct tc_differences *out, struct tc_error *err)
{
    size_t columns = tc_group_column_count();
    struct tc_differences d = {.items = calloc(columns, sizeof *d.items)};
    bool same_variable =
        base->variable.len == 0 || tc_slice_eq(base->variable, candidate->variable);
    if (d.items == NULL || count_shared(base, candidate, &d.shared) != TC_OK) {
        free(d.items);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for what differs");
    }
    d.variable = same_variable                  ? candidate->variable
                 : candidate->variable.len == 0 ? base->variable
                                                : TC_EMPTY;
    for (size_t c = TC_GROUP_FACTS; c < columns; c++) {
        struct tc_difference *item = &d.items[d.count];
        if (compare_column(base, candidate, c, item)) {
            item->is_expected =
                tc_variable_has(d.variable, tc_slice_cstr(tc_answer_name(&base->runs, c)));
            d.count++;
        }
    }
    d.unknown_software = !is_known_part(base, "software") && !is_known_part(candidate, "software");
    d.unknown_hardware = !is_known_part(base, "hardware") && !is_known_part(candidate, "hardware");
    d.unknown_cluster = !is_known_part(base, "cluster") && !is_known_part(candidate, "cluster");
    int64_t times[4];
    d.is_interleaved = !span_of(base, &times[0], &times[1]) ||
                       !span_of(candidate, &times[2], &times[3]) ||
                       (times[1] >= times[2] && times[3] >= times[0]);
    judge(&d, base);
    *out = d;
    return TC_OK;
}

void tc_differences_fini(struct tc_differences *d)
{
    free(d->items);
    *d = (struct tc_differences){0};
}
