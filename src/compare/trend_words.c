/* SPDX-License-Identifier: Apache-2.0 */
/* A trend in words and as JSON. */
#include "base/format.h"
#include "base/number.h"
#include "compare/trend.h"

#include <math.h>

/* Of all changes the one with the largest ratio; NULL without any. */
static const struct tc_trend_change *largest(const struct tc_trend *t,
                                             const struct tc_trend_series **out_item)
{
    const struct tc_trend_change *best = NULL;
    double most = -1;
    for (size_t n = 0; n < t->count; n++) {
        for (size_t k = 0; k < t->items[n].change_count; k++) {
            const struct tc_trend_change *c = &t->items[n].changes[k];
            double size =
                c->before > 0 && c->after > 0 ? fabs(log(c->after / c->before)) : (double)INFINITY;
            if (size > most) {
                most = size;
                best = c;
                *out_item = &t->items[n];
            }
        }
    }
    return best;
}

static void put_change(struct tc_grow *g, const struct tc_trend *t,
                       const struct tc_trend_series *item, const struct tc_trend_change *c)
{
    uint32_t run = item->series->runs[c->at];
    tc_grow_format(g, "{} at {} went from {} to {}", tc_as_printable(item->series->name),
                   tc_as_printable(item->series->point->text), tc_as_number(c->before),
                   tc_as_number(c->after));
    if (item->series->unit.len > 0) {
        tc_grow_format(g, " {}", tc_as_printable(item->series->unit));
    }
    if (c->verdict != TC_PAIR_DIFFERENT) {
        tc_grow_format(g, " ({})", tc_pair_verdict_name(c->verdict));
    }
    tc_grow_format(g, " with {} of {}",
                   tc_as_printable(tc_group_text(&t->group, run, TC_GROUP_RUN_ID)),
                   tc_answer_as_value(&t->group.runs, run, TC_GROUP_STARTED));
    for (size_t n = 0; n < c->fact_count; n++) {
        tc_grow_format(g, "{}{}", n == 0 ? ", where changed: " : ", ",
                       tc_answer_name(&t->group.runs, c->facts[n]));
    }
    tc_grow_lit(g, ".");
}

static bool is_level(const struct tc_series *s)
{
    size_t same = 1;
    while (same < s->count && s->values[same] == s->values[0]) {
        same++;
    }
    return same >= s->count;
}

bool tc_trend_is_history(const struct tc_trend *t)
{
    for (size_t n = 0; n < t->count; n++) {
        if (!t->items[n].is_short && !is_level(t->items[n].series)) {
            return true;
        }
    }
    return false;
}

void tc_trend_answer(const struct tc_trend *t, struct tc_grow *g)
{
    const struct tc_trend_series *item = NULL;
    const struct tc_trend_change *c = largest(t, &item);
    size_t changes = 0;
    size_t judged = 0;
    for (size_t n = 0; n < t->count; n++) {
        changes += t->items[n].change_count;
        judged += t->items[n].is_short ? 0 : 1;
    }
    if (judged == 0) {
        tc_grow_format(g, "No history: at most {} of a series, and it takes {} to see a change.",
                       tc_as_count((int64_t)t->group.run_count, "run"), TC_TREND_MIN);
    } else if (!tc_trend_is_history(t)) {
        tc_grow_format(
            g, "All values are equal, in each of {} series: no change can be found in them.",
            judged);
    } else if (c == NULL) {
        tc_grow_format(g, "No change in {} series over {}.", judged,
                       tc_as_count((int64_t)t->group.run_count, "run"));
    } else {
        put_change(g, t, item, c);
        if (changes > 1) {
            tc_grow_format(g, " {} more, in {} of {} series.",
                           tc_as_count((int64_t)changes - 1, "change"), t->changed, judged);
        }
    }
}

/* ---- JSON ---- */

static void put_value(struct tc_json_out *j, struct tc_slice key, const struct tc_group *g,
                      size_t run, size_t column)
{
    struct tc_grow text = {0};
    tc_answer_value(&text, &g->runs, run, column);
    tc_json_key_plain(j, key);
    tc_json_add_str(j, tc_grow_slice(&text));
    if (text.failed) {
        j->b->overflowed = true;
    }
    tc_grow_fini(&text);
}

static void put_change_json(struct tc_json_out *j, const struct tc_trend *t,
                            const struct tc_trend_series *item, const struct tc_trend_change *c)
{
    const struct tc_group *g = &t->group;
    uint32_t run = item->series->runs[c->at];
    uint32_t last = item->series->runs[c->at - 1];
    tc_json_add_object(j);
    tc_json_put_u64(j, "index", c->at);
    tc_json_put_str(j, "run_id", tc_group_text(g, run, TC_GROUP_RUN_ID));
    put_value(j, TC_LIT("started_at"), g, run, TC_GROUP_STARTED);
    tc_json_put_str(j, "run_before", tc_group_text(g, last, TC_GROUP_RUN_ID));
    tc_json_put_f64(j, "before", c->before);
    tc_json_put_f64(j, "after", c->after);
    tc_json_put_f64(j, "ratio", c->before != 0 ? c->after / c->before : (double)NAN);
    tc_json_put_f64(j, "p", c->p);
    tc_json_put_cstr(j, "verdict", tc_pair_verdict_name(c->verdict));
    tc_json_put_array(j, "changed");
    for (size_t n = 0; n < c->fact_count; n++) {
        tc_json_add_object(j);
        tc_json_put_cstr(j, "part", tc_group_part(c->facts[n]));
        tc_json_put_cstr(j, "field", tc_answer_name(&g->runs, c->facts[n]));
        put_value(j, TC_LIT("from"), g, last, c->facts[n]);
        put_value(j, TC_LIT("to"), g, run, c->facts[n]);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static void put_item(struct tc_json_out *j, const struct tc_trend *t,
                     const struct tc_trend_series *item)
{
    const struct tc_series *s = item->series;
    tc_json_add_object(j);
    tc_json_put_str(j, "metric", s->name);
    tc_json_put_str(j, "point", s->point->text);
    tc_json_put_str_or_null(j, "definition", s->definition);
    tc_json_put_str_or_null(j, "unit", s->unit);
    tc_json_put_cstr(j, "better", tc_better_name(s->better));
    tc_json_put_bool(j, "too_short", item->is_short);
    tc_json_put_bool(j, "multimodal", item->has_modes);
    tc_json_put_array(j, "changes");
    for (size_t n = 0; n < item->change_count; n++) {
        put_change_json(j, t, item, &item->changes[n]);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "spikes");
    for (size_t n = 0; n < item->spike_count; n++) {
        tc_json_add_object(j);
        tc_json_put_u64(j, "index", item->spikes[n]);
        tc_json_put_str(j, "run_id",
                        tc_group_text(&t->group, s->runs[item->spikes[n]], TC_GROUP_RUN_ID));
        tc_json_put_f64(j, "value", s->values[item->spikes[n]]);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "values");
    for (size_t n = 0; n < s->count; n++) {
        tc_json_add_f64(j, s->values[n]);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "run_indexes");
    for (size_t n = 0; n < s->count; n++) {
        tc_json_add_u64(j, s->runs[n]);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

void tc_trend_json(struct tc_json_out *j, const struct tc_trend *t)
{
    struct tc_grow answer = {0};
    tc_trend_answer(t, &answer);
    tc_json_add_object(j);
    tc_json_put_str(j, "answer", tc_grow_slice(&answer));
    if (answer.failed) {
        j->b->overflowed = true;
    }
    tc_grow_fini(&answer);
    tc_json_put_f64(j, "alpha", t->alpha);
    tc_json_key(j, "runs");
    tc_group_json(j, &t->group);
    tc_json_put_u64(j, "changed", t->changed);
    tc_json_put_array(j, "series");
    for (size_t n = 0; n < t->count; n++) {
        put_item(j, t, &t->items[n]);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}
