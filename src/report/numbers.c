/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a report and their lineage. A number that was published keeps its id. Any other
 * gets one in the same way, from the claim that it would be: its query, its runs with their
 * digests, its value and interval. So the same rows give the same id, and other rows another.
 */
#include "base/digest.h"
#include "publish/claim.h"
#include "publish/values.h"
#include "report/report_priv.h"

#include <math.h>
#include <stdlib.h>

#define ONE_RUN "one run: no interval can be given"
#define TWO_RUNS "too few runs: no interval can be given"
#define INTERVAL_OF_MEDIAN "order statistics"
#define INTERVAL_OF_RATIO "bootstrap, percentile"
#define INTERVAL_OF_DIFFERENCE "from the intervals of both medians"

enum {
    PUB_ID,
    PUB_METRIC,
    PUB_POINT,
    PUB_VALUE,
    PUB_COUNT,
    PUB_RUN,
    PUB_QUERY,
    PUB_DIGEST,
    PUB_STATEMENT
};

static bool fail(struct tc_report *r, tc_status status)
{
    if (r->status == TC_OK) {
        r->status = status;
        if (r->err->status == TC_OK) {
            (void)tc_fail(r->err, status, 0, "no memory for the numbers of a report");
        }
    }
    return false;
}

/* What a number is made of, until it has its id. */
struct making {
    const struct tc_series *series[TC_SIDES]; /* of each side that it stands on */
    const struct tc__side *sides[TC_SIDES];
    size_t side_count;
    const char *statistic;
    const char *method;
    struct tc_slice query;
    char query_digest[TC_DIGEST_TEXT];
    struct tc_slice claim;     /* canonical; empty: it was published */
    struct tc_slice statement; /* that it was published with, as unstable */
};

/* ---- its query ---- */

static bool make_query(struct tc_report *r, struct making *m)
{
    struct tc_grow g = {0};
    struct tc_digest digest;
    if (m->query.len == 0) {
        tc__query_put(&g, m->series[0], m->sides, m->side_count);
    }
    if (!g.failed && m->query.len == 0) {
        m->query = tc_arena_copy(&r->arena, tc_grow_slice(&g));
    }
    bool good = !g.failed && tc_digest_sha256(m->query, &digest) == TC_OK;
    tc_grow_fini(&g);
    if (!good) {
        return fail(r, TC_E_NOMEM);
    }
    tc_digest_text(&digest, m->query_digest);
    return true;
}

/* ---- its claim ---- */

static int compare_runs(const void *a, const void *b)
{
    return tc_slice_cmp(((const struct tc_claim_run *)a)->run_id,
                        ((const struct tc_claim_run *)b)->run_id);
}

static struct tc_claim_run *claim_runs(struct tc_report *r, const struct making *m,
                                       size_t *out_count)
{
    size_t count = 0;
    for (size_t n = 0; n < m->side_count; n++) {
        count += m->series[n]->count;
    }
    struct tc_claim_run *runs = tc_new(&r->arena, struct tc_claim_run, count);
    if (runs == NULL) {
        return NULL;
    }
    *out_count = 0;
    for (size_t n = 0; n < m->side_count; n++) {
        for (size_t i = 0; i < m->series[n]->count; i++) {
            const struct tc_doc_run *run = &m->sides[n]->basis->runs[m->series[n]->runs[i]];
            runs[(*out_count)++] = (struct tc_claim_run){.run_id = run->run_id,
                                                         .workload = run->spec_digest,
                                                         .manifest = run->manifest_digest,
                                                         .value = m->series[n]->values[i],
                                                         .rows = 1};
        }
    }
    qsort(runs, count, sizeof *runs, compare_runs);
    return runs;
}

static bool make_id(struct tc_report *r, struct making *m, struct tc_doc_number *number)
{
    char id[TC_NUMBER_ID_BYTES];
    char *text = NULL;
    size_t len = 0;
    tc_arena_mark mark = tc_arena_snapshot(&r->arena);
    const struct tc_series *s = m->series[0];
    struct tc_claim claim = {
        .metric = s->name,
        .definition_id = s->definition,
        .unit = number->unit,
        .point = s->point->text,
        .report_row = TC_LIT("of a report"),
        .statistic = tc_slice_cstr(m->statistic),
        .interval_method = number->has_interval ? tc_slice_cstr(m->method) : TC_EMPTY,
        .query = m->query,
        .query_digest = tc_slice_cstr(m->query_digest),
        .value = number->value,
        .low = number->has_interval ? number->interval.low : (double)NAN,
        .high = number->has_interval ? number->interval.high : (double)NAN,
        .level = number->has_interval ? number->interval.level : (double)NAN,
        .spread = (double)NAN,
    };
    claim.runs = claim_runs(r, m, &claim.run_count);
    tc_status status =
        claim.runs == NULL ? TC_E_NOMEM : tc_claim_write(&claim, &text, &len, r->err);
    if (status == TC_OK) {
        status = tc_claim_name(tc_slice_make(text, len), id, r->err);
    }
    tc_arena_rewind(&r->arena, mark);
    if (status == TC_OK) {
        m->claim = tc_arena_copy(&r->arena, tc_slice_make(text, len));
    }
    free(text);
    if (status != TC_OK) {
        return fail(r, status);
    }
    number->id = tc_arena_copy(&r->arena, tc_slice_cstr(id));
    return tc_arena_ok(&r->arena) || fail(r, TC_E_LIMIT);
}

static void add_lineage(struct tc_report *r, const struct making *m,
                        const struct tc_doc_number *number)
{
    const struct tc_series *s = m->series[0];
    struct tc_doc_lineage entry = {
        .id = number->id,
        .what = tc_doc_text(&r->doc, "{}, {}: {}{}{}{}", s->name, s->point->text, m->statistic,
                            m->side_count == 1 ? " of " : "",
                            m->side_count == 1 ? m->sides[0]->name : TC_EMPTY,
                            tc_when(m->statement.len > 0, "; {}", m->statement)),
        .query = m->query,
        .query_digest = tc_arena_copy(&r->arena, tc_slice_cstr(m->query_digest)),
        .is_published = m->claim.len == 0,
        .claim = m->claim,
    };
    for (size_t n = 0; n < m->side_count; n++) {
        entry.bases[n] = m->sides[n]->basis;
    }
    tc_doc_lineage_add(&r->doc, &entry);
}

/* ---- whether it was published ---- */

static bool has_run(const struct tc_series *s, const struct tc__side *side, struct tc_slice run_id)
{
    for (size_t i = 0; i < s->count; i++) {
        if (tc_slice_eq(side->basis->runs[s->runs[i]].run_id, run_id)) {
            return true;
        }
    }
    return false;
}

/* The rows of one number, from `row` to `end`: it is the median of these very runs. */
static bool covers(const struct making *m, double value, size_t row, size_t end)
{
    const struct tc_answer *a = &m->sides[0]->published;
    const struct tc_series *s = m->series[0];
    struct tc_slice point = tc_answer_text(a, row, PUB_POINT);
    if (!tc_slice_eq(tc_answer_text(a, row, PUB_METRIC), s->name) ||
        (point.len > 0 && !tc_slice_eq(point, s->point->text)) || end - row != s->count ||
        tc_answer_int(a, row, PUB_COUNT) != (int64_t)s->count ||
        !tc_values_are_same(tc_answer_real(a, row, PUB_VALUE), value)) {
        return false;
    }
    for (; row < end; row++) {
        if (!has_run(s, m->sides[0], tc_answer_text(a, row, PUB_RUN))) {
            return false;
        }
    }
    return true;
}

/* Takes id and query of a published number that this one is. */
static bool find_published(struct making *m, struct tc_doc_number *number)
{
    const struct tc_answer *a = &m->sides[0]->published;
    for (size_t row = 0, end; row < a->row_count; row = end) {
        struct tc_slice id = tc_answer_text(a, row, PUB_ID);
        for (end = row + 1;
             end < a->row_count && tc_slice_eq(tc_answer_text(a, end, PUB_ID), id);) {
            end++;
        }
        if (covers(m, number->value, row, end)) {
            struct tc_slice digest = tc_answer_text(a, row, PUB_DIGEST);
            struct tc_buf b = tc_buf_make(m->query_digest, sizeof m->query_digest - 1);
            tc_buf_str(&b, digest);
            m->query_digest[b.len] = '\0';
            m->query = tc_answer_text(a, row, PUB_QUERY);
            m->statement = tc_answer_text(a, row, PUB_STATEMENT);
            number->id = id;
            return true;
        }
    }
    return false;
}

static bool finish(struct tc_report *r, struct making *m, struct tc_doc_number *number)
{
    bool is_published = m->side_count == 1 && find_published(m, number);
    if (!is_published && (!make_query(r, m) || !make_id(r, m, number))) {
        return false;
    }
    add_lineage(r, m, number);
    return !r->doc.failed || fail(r, TC_E_LIMIT);
}

/* ---- the kinds of numbers ---- */

bool tc__has_modes(struct tc_report *r, const struct tc_series *series)
{
    struct tc_statistic s = {.is_multimodal = false};
    if (series == NULL || series->count == 0 || r->status != TC_OK) {
        return false;
    }
    tc_status status = tc_statistic_make(series->values, series->count, r->level, &s, NULL, r->err);
    return status == TC_OK ? s.is_multimodal : fail(r, status);
}

bool tc__median(struct tc_report *r, size_t side, const struct tc_series *series,
                struct tc_doc_number *out)
{
    struct tc_statistic s;
    struct making m = {.series = {series},
                       .sides = {&r->sides[side]},
                       .side_count = 1,
                       .statistic = TC_STATISTIC_MEDIAN,
                       .method = INTERVAL_OF_MEDIAN};
    if (series == NULL || series->count == 0 || r->status != TC_OK) {
        return false;
    }
    tc_status status = tc_statistic_make(series->values, series->count, r->level, &s, NULL, r->err);
    if (status != TC_OK) {
        return fail(r, status);
    }
    *out = (struct tc_doc_number){.value = s.value,
                                  .unit = series->unit,
                                  .runs = series->count,
                                  .has_interval = series->count > 1,
                                  .interval = {s.low, s.high, s.level},
                                  .why = TC_LIT(ONE_RUN)};
    return finish(r, &m, out);
}

static struct making of_pair(const struct tc_report *r, const struct tc_pair *pair,
                             const char *statistic, const char *method)
{
    return (struct making){
        .series = {pair->sides[TC_SIDE_BASE].series, pair->sides[TC_SIDE_CANDIDATE].series},
        .sides = {&r->sides[TC_SIDE_BASE], &r->sides[TC_SIDE_CANDIDATE]},
        .side_count = TC_SIDES,
        .statistic = statistic,
        .method = method,
    };
}

bool tc__ratio(struct tc_report *r, const struct tc_pair *pair, struct tc_doc_number *out)
{
    struct making m = of_pair(r, pair, "ratio of medians, candidate / base", INTERVAL_OF_RATIO);
    if (r->status != TC_OK || !isfinite(pair->ratio.ratio)) {
        return false;
    }
    *out = (struct tc_doc_number){.value = pair->ratio.ratio,
                                  .style = TC_DOC_RATIO,
                                  .runs = pair->sides[TC_SIDE_CANDIDATE].n,
                                  .base_runs = pair->sides[TC_SIDE_BASE].n,
                                  .has_interval = pair->ratio.flag == TC_RATIO_OK,
                                  .interval = {pair->ratio.low, pair->ratio.high, r->level},
                                  .why = TC_LIT(TWO_RUNS)};
    return finish(r, &m, out);
}

/* The interval of both medians hold together at least so often as neither fails: the difference
 * lies between the differences of their far ends. It is wide, and needs no assumption. */
bool tc__difference(struct tc_report *r, const struct tc_pair *pair, struct tc_doc_number *out)
{
    struct making m =
        of_pair(r, pair, "difference of medians, candidate - base", INTERVAL_OF_DIFFERENCE);
    struct tc_doc_number base;
    struct tc_doc_number candidate;
    if (!tc__median(r, TC_SIDE_BASE, m.series[TC_SIDE_BASE], &base) ||
        !tc__median(r, TC_SIDE_CANDIDATE, m.series[TC_SIDE_CANDIDATE], &candidate) ||
        !isfinite(candidate.value - base.value)) {
        return false;
    }
    double level = base.interval.level + candidate.interval.level - 1;
    *out = (struct tc_doc_number){
        .value = candidate.value - base.value,
        .style = TC_DOC_CHANGE,
        .unit = base.unit,
        .runs = candidate.runs,
        .base_runs = base.runs,
        .has_interval = base.has_interval && candidate.has_interval && level > 0,
        .interval = {candidate.interval.low - base.interval.high,
                     candidate.interval.high - base.interval.low, level},
        .why = base.runs == 1 || candidate.runs == 1 ? TC_LIT("one run on a side: no interval can "
                                                              "be given")
                                                     : TC_LIT(TWO_RUNS)};
    return finish(r, &m, out);
}

bool tc__reading(struct tc_report *r, size_t side, const struct tc__reading *reading,
                 struct tc_doc_number *out)
{
    struct tc_point *point = tc_new(&r->arena, struct tc_point, 1);
    struct tc_series *series = tc_new(&r->arena, struct tc_series, 1);
    double *value = tc_new(&r->arena, double, 1);
    uint32_t *run = tc_new(&r->arena, uint32_t, 1);
    if (r->status != TC_OK || point == NULL || series == NULL || value == NULL || run == NULL) {
        return fail(r, TC_E_LIMIT);
    }
    *value = reading->value;
    *run = (uint32_t)reading->run;
    *point = (struct tc_point){.text = reading->what};
    *series = (struct tc_series){.name = reading->metric,
                                 .unit = reading->unit,
                                 .point = point,
                                 .count = 1,
                                 .values = value,
                                 .runs = run};
    struct making m = {.series = {series},
                       .sides = {&r->sides[side]},
                       .side_count = 1,
                       .statistic = "reading",
                       .query = reading->query};
    *out = (struct tc_doc_number){.value = *value,
                                  .unit = series->unit,
                                  .runs = 1,
                                  .why = TC_LIT("one reading: no interval can be given")};
    return make_query(r, &m) && make_id(r, &m, out) &&
           (add_lineage(r, &m, out), !r->doc.failed || fail(r, TC_E_LIMIT));
}
