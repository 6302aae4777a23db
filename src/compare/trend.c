/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/trend.h"

#include "base/format.h"
#include "warehouse/sql_text.h"

#include <math.h>
#include <stdlib.h>

#define ALPHA 0.01

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for a trend");
}

/* ---- changes ---- */

/* What is known to be another at the run of the change than at the one before it. */
static void find_facts(const struct tc_group *g, uint32_t before, uint32_t after,
                       struct tc_trend_change *c)
{
    for (size_t column = TC_GROUP_FACTS; column < g->runs.column_count; column++) {
        if (c->fact_count < TC_TREND_FACTS_MAX && tc_answer_known(&g->runs, before, column) &&
            tc_answer_known(&g->runs, after, column) &&
            !tc_answer_same(&g->runs, before, &g->runs, after, column)) {
            c->facts[c->fact_count++] = column;
        }
    }
}

static enum tc_pair_verdict judge(enum tc_better better, double before, double after)
{
    switch (better) {
    case TC_BETTER_LOWER:
        return after < before ? TC_PAIR_BETTER : TC_PAIR_WORSE;
    case TC_BETTER_HIGHER:
        return after > before ? TC_PAIR_BETTER : TC_PAIR_WORSE;
    case TC_BETTER_NEITHER:
        break;
    }
    return TC_PAIR_DIFFERENT;
}

static tc_status find_changes(const struct tc_trend *t, struct tc_trend_series *item,
                              struct tc_arena *arena, struct tc_error *err)
{
    const struct tc_series *s = item->series;
    struct tc_changes_options options = TC_CHANGES_DEFAULT;
    struct tc_change *found = NULL;
    size_t count = 0;
    options.alpha = t->alpha;
    TC_TRY(tc_changes_find(s->values, s->count, &options, arena, &found, &count, err));
    item->changes = calloc(count + 1, sizeof *item->changes);
    if (item->changes == NULL) {
        return no_memory(err);
    }
    for (size_t n = 0; n < count; n++) {
        struct tc_trend_change *c = &item->changes[n];
        *c = (struct tc_trend_change){.at = found[n].index,
                                      .p = found[n].p,
                                      .before = found[n].before,
                                      .after = found[n].after,
                                      .verdict = judge(s->better, found[n].before, found[n].after)};
        find_facts(&t->group, s->runs[c->at - 1], s->runs[c->at], c);
    }
    item->change_count = count;
    return TC_OK;
}

/* ---- spikes ---- */

/* Values of one level that are outliers of it. */
static tc_status find_spikes_between(struct tc_trend_series *item, size_t start, size_t end,
                                     struct tc_arena *arena, struct tc_error *err)
{
    const struct tc_series *s = item->series;
    struct tc_sorted sorted;
    tc_arena_mark mark = tc_arena_snapshot(arena);
    if (end - start < TC_TREND_MIN) {
        return TC_OK;
    }
    TC_TRY(tc_sorted_make(s->values + start, end - start, arena, &sorted, err));
    struct tc_spread spread = tc_sorted_spread(sorted);
    struct tc_dip dip;
    if (tc_dip_test(sorted, arena, &dip) != TC_OK) {
        return no_memory(err);
    }
    bool modes = dip.p <= TC_COMPARE_DIP_ALPHA;
    item->has_modes |= modes;
    for (size_t n = start; n < end; n++) {
        /* Of values that are all but equal a digit is no spike. */
        bool far = fabs(s->values[n] - spread.median) > 1e-9 * fabs(spread.median);
        if (far && !modes && tc_is_outlier(&spread, s->values[n])) {
            item->spikes[item->spike_count++] = n;
        }
    }
    tc_arena_rewind(arena, mark);
    return TC_OK;
}

static tc_status find_spikes(struct tc_trend_series *item, struct tc_arena *arena,
                             struct tc_error *err)
{
    size_t start = 0;
    item->spikes = calloc(item->series->count + 1, sizeof *item->spikes);
    if (item->spikes == NULL) {
        return no_memory(err);
    }
    for (size_t n = 0; n <= item->change_count; n++) {
        size_t end = n < item->change_count ? item->changes[n].at : item->series->count;
        TC_TRY(find_spikes_between(item, start, end, arena, err));
        start = end;
    }
    return TC_OK;
}

/* ---- all series ---- */

static tc_status find_in(struct tc_trend *t, struct tc_arena *arena, struct tc_error *err)
{
    for (size_t n = 0; n < t->set.series_count; n++) {
        struct tc_trend_series *item = &t->items[t->count++];
        item->series = &t->set.series[n];
        item->is_short = item->series->count < TC_TREND_MIN;
        if (item->is_short) {
            continue;
        }
        tc_arena_reset(arena);
        TC_TRY(find_changes(t, item, arena, err));
        tc_arena_reset(arena);
        TC_TRY(find_spikes(item, arena, err));
        t->changed += item->change_count > 0 ? 1 : 0;
    }
    return TC_OK;
}

static tc_status find_all(struct tc_trend *t, const struct tc_trend_options *options,
                          struct tc_error *err)
{
    size_t most = 0;
    struct tc_arena arena;
    t->alpha = options->alpha > 0 ? options->alpha : ALPHA;
    for (size_t n = 0; n < t->set.series_count; n++) {
        most = t->set.series[n].count > most ? t->set.series[n].count : most;
    }
    size_t bytes = TC_CHANGES_BYTES(most) + TC_SORTED_BYTES(most) + TC_DIP_BYTES(most);
    void *block = malloc(bytes);
    t->items = calloc(t->set.series_count + 1, sizeof *t->items);
    if (block == NULL || t->items == NULL) {
        free(block);
        return no_memory(err);
    }
    tc_arena_init(&arena, "trend", block, bytes);
    tc_status status = find_in(t, &arena, err);
    tc_arena_fini(&arena);
    free(block);
    return status;
}

/* ---- reading ---- */

/* The runs of the case that was measured last, and has the metric. */
static tc_status find_latest(struct tc_warehouse *w, const struct tc_trend_options *options,
                             struct tc_trend *t, struct tc_error *err)
{
    static const char latest[] =
        "SELECT benchmark_case_id FROM (SELECT benchmark_case_id, max(started_at) AS last FROM "
        "benchmark_run_fact WHERE benchmark_case_id IS NOT NULL GROUP BY benchmark_case_id) AS c "
        "ORDER BY last DESC, benchmark_case_id LIMIT 64";
    struct tc_answer cases;
    tc_status status = TC_OK;
    bool found = false;
    TC_TRY(tc_answer_query(w, latest, NULL, 0, &cases, err));
    for (size_t n = 0; status == TC_OK && !found && n < cases.row_count; n++) {
        struct tc_grow where = {0};
        tc_grow_lit(&where, "benchmark_case_id = ");
        tc_sql_put_text(&where, tc_answer_text(&cases, n, 0));
        status = where.failed ? no_memory(err)
                              : tc_group_find(w, tc_grow_slice(&where), 0, &t->group, err);
        tc_grow_fini(&where);
        if (status == TC_E_NOTFOUND) {
            status = TC_OK; /* all of them failed */
            continue;
        }
        if (status == TC_OK) {
            status = tc_series_set_read(w, &t->group, &options->want, &t->set, err);
            found = status == TC_OK && t->set.series_count > 0;
        }
        if (!found) {
            tc_series_set_fini(&t->set);
            tc_group_fini(&t->group);
        }
    }
    tc_answer_fini(&cases);
    return status;
}

static tc_status read_runs(struct tc_warehouse *w, const struct tc_trend_options *options,
                           struct tc_trend *t, struct tc_error *err)
{
    if (options->runs.len == 0) {
        return find_latest(w, options, t, err);
    }
    TC_TRY(tc_group_find(w, options->runs, 0, &t->group, err));
    return tc_series_set_read(w, &t->group, &options->want, &t->set, err);
}

static tc_status fail_none(const struct tc_trend_options *options, struct tc_error *err)
{
    struct tc_slice pattern =
        options->want.metric_count > 0 ? options->want.metrics[0] : TC_LIT("*");
    const struct tc_run_metric *near = tc_run_metric_nearest(pattern);
    bool known = tc_run_metric_find(pattern) != NULL || near == NULL;
    return tc_fail(err, TC_E_NOTFOUND, 0, "no run%s has a value of \"%.*s\"%s%s%s%s",
                   options->runs.len > 0 ? " of these" : "", TC_FMT(tc_slice_head(pattern, 80)),
                   options->want.point_count > 0 ? " at that point" : "",
                   known ? "" : "; did you mean ", known ? "" : near->name, known ? "" : "?");
}

tc_status tc_trend(struct tc_warehouse *w, const struct tc_trend_options *options,
                   struct tc_trend *out, struct tc_error *err)
{
    struct tc_trend t = {0};
    tc_status status = read_runs(w, options, &t, err);
    if (status == TC_OK && t.set.series_count == 0) {
        status = fail_none(options, err);
    }
    if (status == TC_OK) {
        status = find_all(&t, options, err);
    }
    if (status != TC_OK) {
        tc_trend_fini(&t);
        return status;
    }
    *out = t;
    return TC_OK;
}

void tc_trend_fini(struct tc_trend *t)
{
    for (size_t n = 0; n < t->count; n++) {
        free(t->items[n].changes);
        free(t->items[n].spikes);
    }
    free(t->items);
    tc_series_set_fini(&t->set);
    tc_group_fini(&t->group);
    *t = (struct tc_trend){0};
}
