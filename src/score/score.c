/* SPDX-License-Identifier: Apache-2.0 */
/* The sums over all pairs, the times to detection, and what the lists keep. */
#include "score/score.h"

#include "base/assert.h"
#include "base/limits.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "score/score_priv.h"

#include <stdlib.h>

#define PLACE_MAX 512

struct tc_score *tc_score_create(const struct tc_score_options *options)
{
    TC_ASSERT(options->list_max <= TC_SCORE_LIST_MAX && options->grace_ns >= 0);
    struct tc_score *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->options = *options;
    s->parser = tc_json_parser_create();
    s->sums = calloc(options->pattern_count + 1, sizeof *s->sums);
    s->rows = calloc(options->pattern_count + 1, sizeof *s->rows);
    bool ok = s->parser != NULL && s->sums != NULL && s->rows != NULL;
    for (size_t i = 0; i < TC__LISTS && ok; i++) {
        s->lists[i].at = calloc(options->list_max + 1, sizeof *s->lists[i].at);
        ok = s->lists[i].at != NULL;
    }
    if (!ok) {
        tc_score_destroy(s);
        return NULL;
    }
    return s;
}

static void forget_pair(struct tc_score *s)
{
    tc__items_fini(&s->truths);
    tc__items_fini(&s->verdicts);
    tc__pool_fini(&s->pool);
    s->has_run = false;
}

void tc_score_destroy(struct tc_score *s)
{
    if (s == NULL) {
        return;
    }
    forget_pair(s);
    tc__pool_fini(&s->kept);
    tc_json_parser_destroy(s->parser);
    for (size_t i = 0; i < TC__LISTS; i++) {
        free(s->lists[i].at);
    }
    free(s->sums);
    free(s->rows);
    free(s->delays);
    free(s);
}

/* ---- sums -------------------------------------------------------------------------------- */

/* A verdict that was raised only because its input ended says nothing about when. */
static bool add_delay(struct tc_score *s, const struct tc__item *fault, const struct tc__item *v)
{
    if (v->detected_ns == TC_TIME_NONE) {
        return true;
    }
    if (tc_grow_items(s->delays, s->delay_cap, s->delay_count + 1, SIZE_MAX) != TC_OK) {
        return false;
    }
    int64_t ns = v->detected_ns - fault->start_ns;
    s->delays[s->delay_count++] = (struct tc__delay){ns < 0 ? 0 : ns, fault->pattern};
    return true;
}

static bool add_fault(struct tc_score *s, struct tc__item *fault)
{
    struct tc_score_row *row = &s->sums[fault->pattern];
    row->faults++;
    if (fault->fate != TC__PAIRED) {
        row->false_negatives++;
        return true;
    }
    const struct tc__item *v = &s->verdicts.at[fault->mate];
    row->true_positives++;
    row->culprits_right += tc__names_culprit(fault, v);
    if (fault->discriminator.len > 0) {
        row->discriminators_stated++;
        row->discriminators_right += tc_slice_eq(fault->discriminator, v->discriminator);
    }
    return add_delay(s, fault, v);
}

/*
 * A cascade is told with its root first when the verdict of the fault that began it is the root of
 * a story, and those of what it caused belong to that story. What was missed is not counted again.
 */
static void mark_cascades(struct tc_score *s)
{
    for (size_t i = 0; i < s->truths.count; i++) {
        const struct tc__item *t = &s->truths.at[i];
        for (size_t j = 0; j < t->causes.count; j++) {
            struct tc__item *cause = tc__items_find(&s->truths, t->causes.at[j]);
            if (cause == NULL || cause == t) {
                continue;
            }
            cause->has_caused = true;
            if (cause->fate == TC__PAIRED && t->fate == TC__PAIRED) {
                cause->is_told_apart |=
                    !tc_slice_eq(s->verdicts.at[cause->mate].id, s->verdicts.at[t->mate].group);
            }
        }
    }
}

static void add_cascade(struct tc_score *s, const struct tc__item *fault)
{
    struct tc_score_row *row = &s->sums[fault->pattern];
    if (fault->has_caused && fault->causes.count == 0) {
        row->cascades++;
        row->roots_first += fault->fate == TC__PAIRED && !fault->is_told_apart &&
                            s->verdicts.at[fault->mate].is_root;
    }
}

static bool sum_pair(struct tc_score *s)
{
    mark_cascades(s);
    for (size_t i = 0; i < s->truths.count; i++) {
        struct tc__item *t = &s->truths.at[i];
        if (t->kind == TC__NOISE) {
            s->sums[t->pattern].noises++;
            s->sums[t->pattern].true_negatives += t->fate == TC__LEFT;
            continue;
        }
        add_cascade(s, t);
        if (!add_fault(s, t)) {
            return false;
        }
    }
    for (size_t i = 0; i < s->verdicts.count; i++) {
        const struct tc__item *v = &s->verdicts.at[i];
        struct tc_score_row *row = &s->sums[v->pattern];
        row->explained += v->fate == TC__EXPLAINED;
        row->duplicates += v->fate == TC__DUPLICATE;
        row->false_positives += v->fate == TC__LEFT || v->fate == TC__DUPLICATE;
    }
    return true;
}

/* ---- lists ------------------------------------------------------------------------------- */

static bool keep_place(struct tc_score *s, const struct tc__item *item, struct tc_slice *out)
{
    char text[PLACE_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc__item_place(&b, item);
    return tc__pool_copy(&s->kept, tc_buf_slice(&b), out);
}

/* The item and, for a wrong culprit, the verdict that named it. */
static bool keep_listed(struct tc_score *s, struct tc__list *list, struct tc_slice name,
                        const struct tc__item *item, const struct tc__item *named)
{
    list->total++;
    if (list->count == s->options.list_max) {
        return true;
    }
    struct tc__listed *l = &list->at[list->count++];
    struct tc_slice other = TC_EMPTY;
    struct tc_slice noise = TC_EMPTY;
    if (named != NULL) {
        other = named->id;
    } else if (item->kind == TC__VERDICT && item->fate == TC__DUPLICATE) {
        other = s->truths.at[item->mate].id;
    }
    if (item->kind == TC__VERDICT && item->noise != TC__NONE) {
        noise = s->truths.at[item->noise].id;
    }
    l->truth = name;
    l->pattern = s->options.patterns[item->pattern];
    l->time_ns = item->start_ns;
    return tc__pool_copy(&s->kept, item->id, &l->id) && keep_place(s, item, &l->place) &&
           (named == NULL || keep_place(s, named, &l->named)) &&
           tc__pool_copy(&s->kept, named == NULL ? item->text : named->text, &l->text) &&
           tc__pool_copy(&s->kept, other, &l->other) && tc__pool_copy(&s->kept, noise, &l->noise);
}

static int by_pattern_and_time(const void *a, const void *b)
{
    const struct tc__item *x = *(const struct tc__item *const *)a;
    const struct tc__item *y = *(const struct tc__item *const *)b;
    if (x->pattern != y->pattern) {
        return x->pattern < y->pattern ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* in order of id */
}

static const struct tc__item **in_order(const struct tc__items *items)
{
    const struct tc__item **order = calloc(items->count + 1, sizeof(const struct tc__item *));
    if (order != NULL) {
        for (size_t i = 0; i < items->count; i++) {
            order[i] = &items->at[i];
        }
        qsort(order, items->count, sizeof(const struct tc__item *), by_pattern_and_time);
    }
    return order;
}

static bool list_truths(struct tc_score *s, struct tc_slice name)
{
    const struct tc__item **order = in_order(&s->truths);
    bool ok = order != NULL;
    for (size_t i = 0; i < s->truths.count && ok; i++) {
        const struct tc__item *t = order[i];
        if (t->kind == TC__NOISE) {
            continue;
        }
        if (t->fate != TC__PAIRED) {
            ok = keep_listed(s, &s->lists[TC__FALSE_NEGATIVES], name, t, NULL);
        } else if (!tc__names_culprit(t, &s->verdicts.at[t->mate])) {
            ok = keep_listed(s, &s->lists[TC__WRONG_CULPRITS], name, t, &s->verdicts.at[t->mate]);
        }
    }
    free(order);
    return ok;
}

static bool list_verdicts(struct tc_score *s, struct tc_slice name)
{
    const struct tc__item **order = in_order(&s->verdicts);
    bool ok = order != NULL;
    for (size_t i = 0; i < s->verdicts.count && ok; i++) {
        if (order[i]->fate == TC__LEFT || order[i]->fate == TC__DUPLICATE) {
            ok = keep_listed(s, &s->lists[TC__FALSE_POSITIVES], name, order[i], NULL);
        }
    }
    free(order);
    return ok;
}

tc_status tc_score_add(struct tc_score *s, struct tc_slice name, struct tc_error *err)
{
    struct tc_slice kept;
    bool ok = tc__match(s) == TC_OK &&
              tc__pool_copy(&s->kept, tc_slice_head(name, TC_SCORE_NAME_MAX), &kept) &&
              sum_pair(s) && list_truths(s, kept) && list_verdicts(s, kept);
    s->pairs += ok;
    forget_pair(s);
    return ok ? TC_OK : tc_fail(err, TC_E_NOMEM, 0, "no memory to pair faults and verdicts");
}

/* ---- figures ----------------------------------------------------------------------------- */

bool tc_score_share(uint64_t part, uint64_t whole, double *out)
{
    if (whole == 0) {
        return false;
    }
    *out = (double)part / (double)whole;
    return true;
}

bool tc_score_precision(const struct tc_score_row *row, double *out)
{
    return tc_score_share(row->true_positives, row->true_positives + row->false_positives, out);
}

bool tc_score_recall(const struct tc_score_row *row, double *out)
{
    return tc_score_share(row->true_positives, row->faults, out);
}

bool tc_score_culprit(const struct tc_score_row *row, double *out)
{
    return tc_score_share(row->culprits_right, row->true_positives, out);
}

bool tc_score_root(const struct tc_score_row *row, double *out)
{
    return tc_score_share(row->roots_first, row->cascades, out);
}

static int by_ns(const void *a, const void *b)
{
    const struct tc__delay *x = a;
    const struct tc__delay *y = b;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static int by_pattern_and_ns(const void *a, const void *b)
{
    const struct tc__delay *x = a;
    const struct tc__delay *y = b;
    if (x->pattern != y->pattern) {
        return x->pattern < y->pattern ? -1 : 1;
    }
    return by_ns(a, b);
}

/* The nearest rank: the smallest value that at least this many percent do not exceed. */
static int64_t percentile(const struct tc__delay *sorted, size_t count, size_t percent)
{
    return count == 0 ? TC_SCORE_NO_TIME : sorted[(count * percent + 99) / 100 - 1].ns;
}

static void put_times(struct tc_score_row *row, const struct tc__delay *sorted, size_t count)
{
    row->median_ns = percentile(sorted, count, 50);
    row->p95_ns = percentile(sorted, count, 95);
}

static void add_row(struct tc_score_row *sum, const struct tc_score_row *row)
{
    sum->faults += row->faults;
    sum->true_positives += row->true_positives;
    sum->false_positives += row->false_positives;
    sum->duplicates += row->duplicates;
    sum->false_negatives += row->false_negatives;
    sum->true_negatives += row->true_negatives;
    sum->noises += row->noises;
    sum->explained += row->explained;
    sum->culprits_right += row->culprits_right;
    sum->discriminators_right += row->discriminators_right;
    sum->discriminators_stated += row->discriminators_stated;
    sum->cascades += row->cascades;
    sum->roots_first += row->roots_first;
}

const struct tc_score_row *tc_score_rows(struct tc_score *s, size_t *out_count)
{
    struct tc_score_row all = {.pattern = TC_LIT("all")};
    size_t count = 0;
    size_t at = 0;
    if (s->delay_count > 0) {
        qsort(s->delays, s->delay_count, sizeof *s->delays, by_ns);
        put_times(&all, s->delays, s->delay_count);
        qsort(s->delays, s->delay_count, sizeof *s->delays, by_pattern_and_ns);
    } else {
        put_times(&all, NULL, 0);
    }
    for (size_t i = 0; i < s->options.pattern_count; i++) {
        struct tc_score_row row = s->sums[i];
        size_t from = at;
        while (at < s->delay_count && s->delays[at].pattern == i) {
            at++;
        }
        row.pattern = s->options.patterns[i];
        put_times(&row, at > from ? &s->delays[from] : NULL, at - from);
        add_row(&all, &row);
        if (row.faults + row.noises + row.false_positives + row.explained > 0) {
            s->rows[count++] = row;
        }
    }
    s->rows[count++] = all;
    *out_count = count;
    return s->rows;
}
