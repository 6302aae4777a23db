/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/samples.h"

#include "base/table/sort.h"
#include "compare/samples_priv.h"

#include <math.h>
#include <stdlib.h>

/* ---- while they are read ---- */

/* Unknown numbers are equal. */
static bool same_real(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static uint64_t hash_real(double value)
{
    uint64_t bits = 0;
    if (!isnan(value)) {
        value = value == 0 ? 0 : value; /* -0 */
        memcpy(&bits, &value, sizeof bits);
    }
    return bits + 1;
}

tc_status tc__series_place(struct tc__series_memory *m, const struct tc__series_point *place,
                           uint32_t *out)
{
    uint64_t hash =
        tc_hash_mix(tc_hash_mix(place->key, (uint64_t)place->table),
                    tc_hash_mix(hash_real(place->concurrency), hash_real(place->request_rate)));
    size_t at = 0;
    for (;;) {
        *out = tc_hash_index_next(&m->places_index, hash, &at);
        if (*out == TC_HASH_INDEX_NONE) {
            break;
        }
        const struct tc__series_point *p = &m->places[*out];
        if (p->key == place->key && p->table == place->table &&
            same_real(p->concurrency, place->concurrency) &&
            same_real(p->request_rate, place->request_rate)) {
            return TC_OK;
        }
    }
    TC_TRY(tc_grow_items(m->places, m->place_cap, m->places_index.count + 1, TC_SERIES_MAX));
    TC_TRY(tc_hash_index_add(&m->places_index, hash, TC_SERIES_MAX));
    *out = (uint32_t)(m->places_index.count - 1);
    m->places[*out] = *place;
    return TC_OK;
}

tc_status tc__series_one(struct tc__series_memory *m, const struct tc__series_growing *series,
                         uint32_t *out)
{
    uint64_t hash = tc_hash_mix(tc_hash_mix(series->name, series->definition),
                                tc_hash_mix(series->unit, series->point));
    size_t at = 0;
    for (;;) {
        *out = tc_hash_index_next(&m->series_index, hash, &at);
        if (*out == TC_HASH_INDEX_NONE) {
            break;
        }
        const struct tc__series_growing *s = &m->series[*out];
        if (s->name == series->name && s->definition == series->definition &&
            s->unit == series->unit && s->point == series->point) {
            return TC_OK;
        }
    }
    TC_TRY(tc_grow_items(m->series, m->series_cap, m->series_index.count + 1, TC_SERIES_MAX));
    TC_TRY(tc_hash_index_add(&m->series_index, hash, TC_SERIES_MAX));
    *out = (uint32_t)(m->series_index.count - 1);
    m->series[*out] = *series;
    return TC_OK;
}

tc_status tc__series_add(struct tc__series_memory *m, uint32_t series, uint32_t run, double value)
{
    struct tc__series_growing *s = &m->series[series];
    if (!isfinite(value)) {
        s->not_finite++;
        return TC_OK;
    }
    if (m->sample_count >= TC_SERIES_VALUES_MAX) {
        return TC_E_LIMIT;
    }
    TC_TRY(tc_grow_items(s->samples, s->cap, s->count + 1, TC_SERIES_VALUES_MAX));
    s->samples[s->count++] = (struct tc__series_value){value, run};
    m->sample_count++;
    return TC_OK;
}

/* ---- one value per run ---- */

static int by_run(const void *x, const void *y)
{
    const struct tc__series_value *a = x;
    const struct tc__series_value *b = y;
    return a->run != b->run ? TC_ORDER(a->run, b->run) : TC_ORDER(a->value, b->value);
}

static bool is_sorted(const struct tc__series_growing *g)
{
    for (size_t n = 1; n < g->count; n++) {
        if (by_run(&g->samples[n - 1], &g->samples[n]) > 0) {
            return false;
        }
    }
    return true;
}

/* Writes one value per run: the median, where it has several. */
static void collapse(struct tc__series_growing *g, struct tc_series *s, double *values,
                     uint32_t *runs)
{
    if (!is_sorted(g)) {
        qsort(g->samples, g->count, sizeof *g->samples, by_run);
    }
    for (size_t n = 0; n < g->count;) {
        size_t end = n + 1;
        while (end < g->count && g->samples[end].run == g->samples[n].run) {
            end++;
        }
        size_t low = n + (end - n - 1) / 2;
        size_t high = n + (end - n) / 2;
        values[s->count] =
            g->samples[low].value + (g->samples[high].value - g->samples[low].value) / 2;
        runs[s->count] = g->samples[n].run;
        s->merged += end - n > 1 ? 1 : 0;
        s->count++;
        n = end;
    }
    s->values = values;
    s->runs = runs;
    free(g->samples);
    g->samples = NULL;
}

/* ---- order ---- */

static int compare_real(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    }
    return TC_ORDER(a, b);
}

/* Numbers in texts by their value: size=8 before size=16. */
static int compare_natural(struct tc_slice a, struct tc_slice b)
{
    while (a.len > 0 && b.len > 0) {
        uint64_t x = 0;
        uint64_t y = 0;
        size_t used_a = tc_is_digit(a.ptr[0]) ? tc_slice_u64(a, &x) : 0;
        size_t used_b = tc_is_digit(b.ptr[0]) ? tc_slice_u64(b, &y) : 0;
        if (used_a > 0 && used_b > 0 && x != y) {
            return TC_ORDER(x, y);
        }
        if (used_a == 0 || used_b == 0) {
            if (a.ptr[0] != b.ptr[0]) {
                return TC_ORDER((unsigned char)a.ptr[0], (unsigned char)b.ptr[0]);
            }
            used_a = used_b = 1;
        }
        a = tc_slice_from(a, used_a);
        b = tc_slice_from(b, used_b);
    }
    return TC_ORDER(a.len, b.len);
}

static int compare_points(const struct tc_point *a, const struct tc_point *b)
{
    int order = TC_ORDER(a->table, b->table);
    order = order != 0 ? order : compare_natural(a->key, b->key);
    order = order != 0 ? order : tc_slice_cmp(a->key, b->key); /* 01 and 1 */
    order = order != 0 ? order : compare_real(a->concurrency, b->concurrency);
    return order != 0 ? order : compare_real(a->request_rate, b->request_rate);
}

int tc_series_compare_metric(const struct tc_series *a, const struct tc_series *b)
{
    int order = compare_points(a->point, b->point);
    order = order != 0 ? order : TC_ORDER(a->order, b->order);
    return order != 0 ? order : tc_slice_cmp(a->name, b->name);
}

int tc_series_compare(const struct tc_series *a, const struct tc_series *b)
{
    int order = tc_series_compare_metric(a, b);
    order = order != 0 ? order : tc_slice_cmp(a->definition, b->definition);
    return order != 0 ? order : tc_slice_cmp(a->unit, b->unit);
}

static int by_series(const void *a, const void *b)
{
    return tc_series_compare(a, b);
}

/* ---- the whole ---- */

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the values of runs");
}

static void finish_points(struct tc_series_set *s)
{
    struct tc__series_memory *m = s->memory;
    for (size_t n = 0; n < m->places_index.count; n++) {
        const struct tc__series_point *p = &m->places[n];
        s->points[n] = (struct tc_point){.text = tc__texts_text(&m->names, p->text),
                                         .table = p->table,
                                         .key = tc__texts_text(&m->names, p->key),
                                         .concurrency = p->concurrency,
                                         .request_rate = p->request_rate};
    }
    s->point_count = m->places_index.count;
}

static void finish_series(struct tc_series_set *s)
{
    struct tc__series_memory *m = s->memory;
    size_t at = 0;
    for (size_t n = 0; n < m->series_index.count; n++) {
        struct tc__series_growing *g = &m->series[n];
        if (g->count == 0 && g->not_finite == 0) {
            continue; /* a column without a value */
        }
        struct tc_slice name = tc__texts_text(&m->names, g->name);
        const struct tc_run_metric *metric = tc_run_metric_find(name);
        struct tc_series *series = &s->series[s->series_count++];
        *series = (struct tc_series){.name = name,
                                     .definition = tc__texts_text(&m->names, g->definition),
                                     .unit = tc__texts_text(&m->names, g->unit),
                                     .point = &s->points[g->point],
                                     .better = metric != NULL ? metric->better : TC_BETTER_NEITHER,
                                     .is_main = metric != NULL && metric->is_main,
                                     .order = g->order,
                                     .not_finite = g->not_finite};
        collapse(g, series, m->values + at, m->runs + at);
        at += series->count;
    }
    qsort(s->series, s->series_count, sizeof *s->series, by_series);
}

static int by_text(const void *x, const void *y)
{
    const struct tc_series_tool *a = x;
    const struct tc_series_tool *b = y;
    return tc_slice_cmp(a->text, b->text);
}

static void finish_tools(struct tc_series_set *s)
{
    struct tc__series_memory *m = s->memory;
    for (size_t n = 0; n < m->tool_count; n++) {
        s->tools[n].text = tc__texts_text(&m->names, m->tools[n]);
        s->tools[n].rows = m->tool_rows[n];
    }
    s->tool_count = m->tool_count;
    qsort(s->tools, s->tool_count, sizeof *s->tools, by_text);
}

static tc_status finish(struct tc_series_set *s, struct tc_error *err)
{
    struct tc__series_memory *m = s->memory;
    s->points = calloc(m->places_index.count + 1, sizeof *s->points);
    s->series = calloc(m->series_index.count + 1, sizeof *s->series);
    m->values = calloc(m->sample_count + 1, sizeof *m->values);
    m->runs = calloc(m->sample_count + 1, sizeof *m->runs);
    if (s->points == NULL || s->series == NULL || m->values == NULL || m->runs == NULL) {
        return no_memory(err);
    }
    finish_points(s);
    finish_series(s);
    finish_tools(s);
    return TC_OK;
}

tc_status tc_series_set_read(struct tc_warehouse *w, const struct tc_group *group,
                             const struct tc_series_want *want, struct tc_series_set *out,
                             struct tc_error *err)
{
    struct tc_series_set s = {.memory = calloc(1, sizeof *s.memory)};
    tc_status status =
        s.memory == NULL ? no_memory(err) : tc__series_fill(w, group, want, s.memory, err);
    if (status == TC_OK) {
        status = finish(&s, err);
    }
    if (status != TC_OK) {
        tc_series_set_fini(&s);
        return status;
    }
    *out = s;
    return TC_OK;
}

void tc_series_set_fini(struct tc_series_set *s)
{
    struct tc__series_memory *m = s->memory;
    free(s->series);
    free(s->points);
    for (size_t n = 0; m != NULL && n < m->series_index.count; n++) {
        free(m->series[n].samples);
    }
    if (m != NULL) {
        tc__texts_fini(&m->names);
        tc_hash_index_fini(&m->places_index);
        tc_hash_index_fini(&m->series_index);
        free(m->places);
        free(m->series);
        free(m->values);
        free(m->runs);
    }
    free(m);
    *s = (struct tc_series_set){0};
}
