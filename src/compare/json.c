/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as JSON, for `--json`, the HTTP API and MCP. */
#include "base/format.h"
#include "compare/compare.h"

#include <math.h>

static const char *const KINDS[] = {
    [TC_GROUP_RUN] = "run",
    [TC_GROUP_REPLICATES] = "replicate_group",
    [TC_GROUP_NAME] = "name",
    [TC_GROUP_CONDITION] = "condition",
};

/* Text that is made for people, as a member. */
static void put_text(struct tc_json_out *j, struct tc_slice key, struct tc_grow *text)
{
    tc_json_key_plain(j, key);
    tc_json_add_str(j, tc_grow_slice(text));
    if (text->failed) {
        j->b->overflowed = true;
    }
    tc_grow_fini(text);
}

void tc_group_json(struct tc_json_out *j, const struct tc_group *g)
{
    tc_json_add_object(j);
    tc_json_put_cstr(j, "word", g->text);
    tc_json_put_cstr(j, "kind", KINDS[g->kind]);
    tc_json_put_array(j, "runs");
    for (size_t run = 0; run < g->run_count; run++) {
        tc_json_add_str(j, tc_group_text(g, run, TC_GROUP_RUN_ID));
    }
    tc_json_end_array(j);
    tc_json_put_u64(j, "left_out", g->left_out);
    tc_json_put_u64(j, "not_replicates", g->no_replicates);
    tc_json_end_object(j);
}

/* ---- what else differs ---- */

static void put_fact(struct tc_json_out *j, const struct tc_group *g, size_t column,
                     const struct tc_fact_side *side)
{
    tc_json_add_array(j);
    for (size_t n = 0; n < side->value_count; n++) {
        struct tc_grow text = {0};
        tc_answer_value(&text, &g->runs, side->values[n].run, column);
        tc_json_add_object(j);
        put_text(j, TC_LIT("value"), &text);
        tc_json_put_u64(j, "runs", side->values[n].count);
        tc_json_end_object(j);
    }
    if (side->unknown > 0) {
        tc_json_add_object(j);
        tc_json_put_null(j, "value");
        tc_json_put_u64(j, "runs", side->unknown);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

static void put_differences(struct tc_json_out *j, const struct tc_comparison *c)
{
    const struct tc_differences *d = &c->differs;
    tc_json_put_bool(j, "confounded", d->is_confounded);
    tc_json_put_str_or_null(j, "variable_under_test", d->variable);
    tc_json_put_bool(j, "interleaved", d->is_interleaved);
    tc_json_put_u64(j, "runs_on_both_sides", d->shared);
    tc_json_put_array(j, "unknown_on_both_sides");
    if (d->unknown_software) {
        tc_json_add_cstr(j, "software");
    }
    if (d->unknown_hardware) {
        tc_json_add_cstr(j, "hardware");
    }
    if (d->unknown_cluster) {
        tc_json_add_cstr(j, "cluster");
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "differs");
    for (size_t n = 0; n < d->count; n++) {
        const struct tc_difference *item = &d->items[n];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "part", tc_group_part(item->column));
        tc_json_put_cstr(j, "field", tc_answer_name(&c->groups[0].runs, item->column));
        tc_json_put_cstr(j, "kind", tc_differs_name(item->kind));
        tc_json_put_bool(j, "expected", item->is_expected);
        tc_json_key(j, "base");
        put_fact(j, &c->groups[TC_SIDE_BASE], item->column, &item->sides[TC_SIDE_BASE]);
        tc_json_key(j, "candidate");
        put_fact(j, &c->groups[TC_SIDE_CANDIDATE], item->column, &item->sides[TC_SIDE_CANDIDATE]);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

/* ---- pairs ---- */

static void put_side(struct tc_json_out *j, const struct tc_group *g, const struct tc_pair_side *s)
{
    bool one_mode = s->mode_count == 0;
    tc_json_add_object(j);
    tc_json_put_u64(j, "n", s->n);
    /* of several modes there is no one number */
    tc_json_put_f64(j, "median", one_mode ? s->spread.median : (double)NAN);
    tc_json_put_f64(j, "mad", one_mode ? s->spread.mad : (double)NAN);
    tc_json_put_f64(j, "low", s->low);
    tc_json_put_f64(j, "high", s->high);
    tc_json_put_f64(j, "dip_p", s->dip.p);
    tc_json_put_array(j, "modes");
    for (size_t n = 0; n < s->mode_count; n++) {
        tc_json_add_object(j);
        tc_json_put_u64(j, "n", s->modes[n].count);
        tc_json_put_f64(j, "median", s->modes[n].median);
        tc_json_put_f64(j, "low", s->modes[n].low);
        tc_json_put_f64(j, "high", s->modes[n].high);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "outliers");
    for (size_t n = 0; s->outliers > 0 && n < s->series->count; n++) {
        if (tc_is_outlier(&s->spread, s->series->values[n])) {
            tc_json_add_str(j, tc_group_text(g, s->series->runs[n], TC_GROUP_RUN_ID));
        }
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "values");
    for (size_t n = 0; n < s->series->count; n++) {
        tc_json_add_f64(j, s->series->values[n]);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "run_indexes");
    for (size_t n = 0; n < s->series->count; n++) {
        tc_json_add_u64(j, s->series->runs[n]);
    }
    tc_json_end_array(j);
    tc_json_put_u64(j, "several_rows", s->series->merged);
    tc_json_put_u64(j, "not_finite", s->series->not_finite);
    tc_json_end_object(j);
}

static void put_series(struct tc_json_out *j, const struct tc_series *s)
{
    tc_json_put_str(j, "metric", s->name);
    tc_json_put_str(j, "point", s->point->text);
    tc_json_put_str_or_null(j, "definition", s->definition);
    tc_json_put_str_or_null(j, "unit", s->unit);
    tc_json_put_cstr(j, "better", tc_better_name(s->better));
}

static const char *method_name(enum tc_rank_method method)
{
    switch (method) {
    case TC_RANK_EXACT:
        return "exact";
    case TC_RANK_EXACT_TIES:
        return "exact with ties";
    case TC_RANK_NORMAL:
        return "normal approximation";
    case TC_RANK_NONE:
        break;
    }
    return "none";
}

static void put_pair(struct tc_json_out *j, const struct tc_comparison *c, const struct tc_pair *p)
{
    bool shown = p->sides[0].mode_count == 0 && p->sides[1].mode_count == 0;
    bool tested = !isnan(p->p_adjusted);
    tc_json_add_object(j);
    put_series(j, tc_pair_series(p));
    tc_json_put_bool(j, "main", p->is_main);
    tc_json_put_cstr(j, "verdict", tc_pair_verdict_name(p->verdict));
    tc_json_put_f64(j, "ratio", shown ? p->ratio.ratio : (double)NAN);
    tc_json_put_f64(j, "ratio_low", shown ? p->ratio.low : (double)NAN);
    tc_json_put_f64(j, "ratio_high", shown ? p->ratio.high : (double)NAN);
    tc_json_put_f64(j, "p", tested ? p->test.p : (double)NAN);
    tc_json_put_f64(j, "p_corrected", p->p_adjusted);
    tc_json_put_cstr(j, "p_method", tested ? method_name(p->test.method) : "none");
    tc_json_put_f64(j, "cliffs_delta", p->test.delta);
    tc_json_put_cstr(j, "effect", tc_delta_word(p->test.delta));
    tc_json_put_bool(j, "all_equal", p->is_equal);
    tc_json_put_bool(j, "apart", p->is_apart);
    if (p->verdict == TC_PAIR_INSUFFICIENT) {
        tc_json_put_u64(j, "runs_needed", p->needed);
    }
    tc_json_key(j, "base");
    put_side(j, &c->groups[TC_SIDE_BASE], &p->sides[TC_SIDE_BASE]);
    tc_json_key(j, "candidate");
    put_side(j, &c->groups[TC_SIDE_CANDIDATE], &p->sides[TC_SIDE_CANDIDATE]);
    tc_json_end_object(j);
}

static void put_unpaired(struct tc_json_out *j, const struct tc_unpaired *u)
{
    const struct tc_series *one = u->base != NULL ? u->base : u->candidate;
    tc_json_add_object(j);
    tc_json_put_str(j, "metric", one->name);
    tc_json_put_str(j, "point", one->point->text);
    tc_json_put_cstr(j, "why", tc_unpaired_name(u->why));
    if (u->base != NULL) {
        tc_json_put_str(j, "base_definition", u->base->definition);
        tc_json_put_str_or_null(j, "base_unit", u->base->unit);
    }
    if (u->candidate != NULL) {
        tc_json_put_str(j, "candidate_definition", u->candidate->definition);
        tc_json_put_str_or_null(j, "candidate_unit", u->candidate->unit);
    }
    tc_json_end_object(j);
}

/* ---- the whole ---- */

static void put_tools(struct tc_json_out *j, const struct tc_series_set *s)
{
    tc_json_add_array(j);
    for (size_t n = 0; n < s->tool_count; n++) {
        tc_json_add_str(j, s->tools[n].text);
    }
    tc_json_end_array(j);
}

void tc_comparison_json(struct tc_json_out *j, const struct tc_comparison *c)
{
    struct tc_grow answer = {0};
    tc_comparison_answer(c, &answer);
    tc_json_add_object(j);
    put_text(j, TC_LIT("answer"), &answer);
    tc_json_put_cstr(j, "verdict", tc_pair_verdict_name(tc_comparison_verdict(c)));
    tc_json_put_object(j, "counts");
    for (size_t n = 0; n < TC_PAIR_VERDICTS; n++) {
        tc_json_key_str(j, tc_slice_cstr(tc_pair_verdict_name((enum tc_pair_verdict)n)));
        tc_json_add_u64(j, c->counts[n]);
    }
    tc_json_end_object(j);
    tc_json_put_f64(j, "confidence", c->confidence);
    tc_json_put_i64(j, "min_replicates", c->min_replicates);
    tc_json_put_u64(j, "tests_main", c->main_tested);
    tc_json_put_u64(j, "tests_other", c->other_tested);
    tc_json_key(j, "base");
    tc_group_json(j, &c->groups[TC_SIDE_BASE]);
    tc_json_key(j, "candidate");
    tc_group_json(j, &c->groups[TC_SIDE_CANDIDATE]);
    tc_json_key(j, "base_tools");
    put_tools(j, &c->sets[TC_SIDE_BASE]);
    tc_json_key(j, "candidate_tools");
    put_tools(j, &c->sets[TC_SIDE_CANDIDATE]);
    put_differences(j, c);
    tc_json_put_array(j, "series");
    for (size_t n = 0; n < c->pair_count; n++) {
        put_pair(j, c, &c->pairs[n]);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "not_compared");
    for (size_t n = 0; n < c->unpaired_count; n++) {
        put_unpaired(j, &c->unpaired[n]);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}
