/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of series in words and tables. A verdict that is no difference is words, never a number. */
#include "report/report_priv.h"

#include <math.h>
#include <stdlib.h>

/* What a reader wants to know first. */
static const unsigned char RANK[TC_PAIR_VERDICTS] = {
    [TC_PAIR_WORSE] = 0,    [TC_PAIR_BETTER] = 1,     [TC_PAIR_DIFFERENT] = 2,
    [TC_PAIR_UNSTABLE] = 3, [TC_PAIR_MULTIMODAL] = 4, [TC_PAIR_INSUFFICIENT] = 5,
    [TC_PAIR_SAME] = 6,
};

static double size_of(const struct tc_pair *p)
{
    double size = tc_pair_size(p);
    return isfinite(size) ? size : 0;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct tc_pair *x = *(const struct tc_pair *const *)a;
    const struct tc_pair *y = *(const struct tc_pair *const *)b;
    if (RANK[x->verdict] != RANK[y->verdict]) {
        return RANK[x->verdict] < RANK[y->verdict] ? -1 : 1;
    }
    if (x->is_main != y->is_main) {
        return x->is_main ? -1 : 1;
    }
    if (size_of(x) != size_of(y)) {
        return size_of(x) > size_of(y) ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

struct tc__pairs tc__pairs_ranked(struct tc_report *r)
{
    const struct tc_comparison *c = &r->comparison;
    struct tc__pairs p = {.items = tc_new(&r->arena, const struct tc_pair *, c->pair_count + 1)};
    for (size_t i = 0; p.items != NULL && i < c->pair_count; i++) {
        p.items[p.count++] = &c->pairs[i];
    }
    if (p.count > 1) {
        qsort(p.items, p.count, sizeof(void *), compare_pairs);
    }
    return p;
}

bool tc__is_judged(const struct tc_pair *pair)
{
    return pair->verdict == TC_PAIR_WORSE || pair->verdict == TC_PAIR_BETTER ||
           pair->verdict == TC_PAIR_DIFFERENT;
}

void tc__say_series(struct tc_report *r, struct tc_doc_spans *spans, const struct tc_series *series)
{
    tc_doc_add(&r->doc, spans, TC_DOC_CODE, series->name);
    tc_doc_say(&r->doc, spans, " at ");
    tc_doc_add(&r->doc, spans, TC_DOC_CODE, series->point->text);
}

/* Words, or the median. */
static void say_median_or_modes(struct tc_report *r, struct tc_doc_spans *spans, size_t side,
                                const struct tc_series *series, bool has_modes)
{
    struct tc_doc_number n;
    if (has_modes) {
        tc_doc_say(&r->doc, spans, "more than one mode: a median describes neither");
    } else if (tc__median(r, side, series, &n)) {
        (void)tc_doc_add_number(&r->doc, spans, &n);
    } else {
        tc_doc_say(&r->doc, spans, "not measured");
    }
}

void tc__say_value(struct tc_report *r, struct tc_doc_spans *spans, size_t side,
                   const struct tc_series *series)
{
    say_median_or_modes(r, spans, side, series, tc__has_modes(r, series));
}

bool tc__side_has_modes(const struct tc_pair *pair, size_t side)
{
    return pair->verdict == TC_PAIR_MULTIMODAL && pair->sides[side].mode_count > 1;
}

void tc__say_median(struct tc_report *r, struct tc_doc_spans *spans, const struct tc_pair *pair,
                    size_t side)
{
    say_median_or_modes(r, spans, side, pair->sides[side].series, tc__side_has_modes(pair, side));
}

void tc__say_change(struct tc_report *r, struct tc_doc_spans *spans, const struct tc_pair *pair)
{
    struct tc_doc_number n;
    switch (pair->verdict) {
    case TC_PAIR_INSUFFICIENT:
        tc_doc_say(&r->doc, spans, "too few runs to say");
        return;
    case TC_PAIR_MULTIMODAL:
        tc_doc_say(&r->doc, spans, "none to be given: more than one mode");
        return;
    case TC_PAIR_UNSTABLE:
        tc_doc_say(&r->doc, spans, "smaller than the spread of a side");
        return;
    case TC_PAIR_SAME:
    case TC_PAIR_DIFFERENT:
    case TC_PAIR_BETTER:
    case TC_PAIR_WORSE:
    case TC_PAIR_VERDICTS:
        break;
    }
    if (tc__ratio(r, pair, &n)) {
        (void)tc_doc_add_number(&r->doc, spans, &n);
    } else {
        tc_doc_say(&r->doc, spans, "no ratio");
    }
}

void tc__say_verdict(struct tc_report *r, struct tc_doc_spans *spans, const struct tc_pair *pair)
{
    tc_doc_stress(&r->doc, spans, "{}", tc_pair_verdict_name(pair->verdict));
    if (pair->verdict == TC_PAIR_INSUFFICIENT) {
        tc_doc_say(&r->doc, spans, "{}",
                   tc_when(pair->needed > 0, "; {} runs a side could decide", pair->needed));
    } else if (!isnan(pair->p_adjusted)) {
        struct tc_grow p = {0};
        tc_pair_p_put(&p, pair->p_adjusted);
        tc_doc_say(&r->doc, spans, "; p {}, effect {}", tc_grow_slice(&p),
                   tc_delta_word(pair->test.delta));
        tc_grow_fini(&p);
    }
}

void tc__pairs_table(struct tc_report *r, const struct tc_pair *const *pairs, size_t count,
                     const char *caption)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_table *t = tc_doc_table(d, tc_slice_cstr(caption));
    tc_doc_column(d, t, TC_LIT("metric"), false);
    tc_doc_column(d, t, TC_LIT("base"), true);
    tc_doc_column(d, t, TC_LIT("candidate"), true);
    tc_doc_column(d, t, TC_LIT("candidate / base"), true);
    tc_doc_column(d, t, TC_LIT("verdict"), false);
    for (size_t i = 0; i < count && !d->failed; i++) {
        tc_doc_row(d, t);
        tc__say_series(r, tc_doc_cell(d, t), tc_pair_series(pairs[i]));
        tc__say_median(r, tc_doc_cell(d, t), pairs[i], TC_SIDE_BASE);
        tc__say_median(r, tc_doc_cell(d, t), pairs[i], TC_SIDE_CANDIDATE);
        tc__say_change(r, tc_doc_cell(d, t), pairs[i]);
        tc__say_verdict(r, tc_doc_cell(d, t), pairs[i]);
    }
}
