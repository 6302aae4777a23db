/* SPDX-License-Identifier: Apache-2.0 */
/* What publishing asks of a number, and what of it is met. */
#include "base/format.h"
#include "publish/publish_priv.h"
#include "stats/stats.h"

#include <stdio.h>

static const char *const NAMES[] = {
    [TC__ASKS_CONTRACT] = "contract",         [TC__ASKS_RUNS] = "runs",
    [TC__ASKS_WORKLOAD] = "workload",         [TC__ASKS_REPLICATES] = "replicates",
    [TC__ASKS_DISTRIBUTION] = "distribution", [TC__ASKS_CONFIDENCE] = "confidence",
    [TC__ASKS_EVIDENCE] = "evidence",         [TC__ASKS_RECOMPUTED] = "recomputed",
};

/* Sets one; its words are what was written to its buffer. */
static void set(struct tc__candidate *c, size_t ask, bool is_met, const struct tc_buf *why)
{
    c->asks[ask] = (struct tc_condition){
        .name = tc_slice_cstr(NAMES[ask]),
        .state = is_met ? TC_CONDITION_MET : TC_CONDITION_NOT_MET,
        .why = tc_buf_slice(why),
    };
}

static struct tc_buf words_of(struct tc__candidate *c, size_t ask)
{
    return tc_buf_make(c->why[ask], TC__ASKS_BYTES);
}

/* ---- its runs ---- */

static void ask_contract(struct tc__candidate *c)
{
    struct tc_buf why = words_of(c, TC__ASKS_CONTRACT);
    size_t without = 0;
    size_t first = 0;
    for (size_t i = 0; i < c->claim.run_count; i++) {
        if (tc_answer_text(&c->rows[i], 0, TC__RUN_CONTRACT).len == 0) {
            first = without++ == 0 ? i : first;
        }
    }
    if (without == 0) {
        (void)tc_format(&why, "every run has a valid one");
    } else {
        (void)tc_format(&why, "{} of {} runs have none, {} first: add it with --contract", without,
                        c->claim.run_count, c->claim.runs[first].run_id);
    }
    set(c, TC__ASKS_CONTRACT, without == 0, &why);
}

/* The conditions of one run that are not met, by name. */
static bool put_unmet(struct tc_json_parser *parser, struct tc_slice json, struct tc_buf *out)
{
    struct tc_condition conditions[TC_CONDITIONS_MAX];
    size_t count = tc_conditions_read(parser, json, conditions);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (conditions[i].state != TC_CONDITION_MET) {
            (void)tc_format(out, "{}{}", any ? ", " : "", conditions[i].name);
            any = true;
        }
    }
    if (count == 0) {
        tc_buf_lit(out, "none is known");
    }
    return any || count == 0;
}

static tc_status ask_runs(struct tc__candidate *c, struct tc_error *err)
{
    struct tc_buf why = words_of(c, TC__ASKS_RUNS);
    size_t bad = 0;
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the conditions of runs");
    }
    for (size_t i = 0; i < c->claim.run_count; i++) {
        char text[TC__ASKS_BYTES / 2];
        struct tc_buf unmet = tc_buf_make(text, sizeof text);
        if (put_unmet(parser, tc_answer_text(&c->rows[i], 0, TC__RUN_CONDITIONS), &unmet) &&
            bad++ == 0) {
            (void)tc_format(&why, "run {} does not meet {}", c->claim.runs[i].run_id,
                            tc_buf_slice(&unmet));
        }
    }
    if (bad > 1) {
        (void)tc_format(&why, ", and {} more", bad - 1);
    }
    if (bad == 0) {
        (void)tc_format(&why, "every run meets its conditions");
    } else {
        (void)tc_format(&why, ": `tracecore run show` says why");
    }
    tc_json_parser_destroy(parser);
    set(c, TC__ASKS_RUNS, bad == 0, &why);
    return TC_OK;
}

static void ask_workload(struct tc__candidate *c)
{
    struct tc_buf why = words_of(c, TC__ASKS_WORKLOAD);
    const struct tc_claim_run *first = &c->claim.runs[0];
    bool same = first->workload.len > 0;
    size_t other = 0;
    for (size_t i = 1; same && i < c->claim.run_count; i++) {
        other = i;
        same = tc_slice_eq(c->claim.runs[i].workload, first->workload);
    }
    if (same) {
        (void)tc_format(&why, "all runs have {}", first->workload);
    } else if (first->workload.len == 0) {
        (void)tc_format(&why, "that of run {} is not known", first->run_id);
    } else {
        (void)tc_format(&why, "runs {} and {} have different ones", first->run_id,
                        c->claim.runs[other].run_id);
    }
    set(c, TC__ASKS_WORKLOAD, same, &why);
}

static void ask_replicates(struct tc__candidate *c)
{
    struct tc_buf why = words_of(c, TC__ASKS_REPLICATES);
    int64_t asked = 0;
    for (size_t i = 0; i < c->claim.run_count; i++) {
        int64_t min = tc_answer_known(&c->rows[i], 0, TC__RUN_MIN_REPLICATES)
                          ? tc_answer_int(&c->rows[i], 0, TC__RUN_MIN_REPLICATES)
                          : 0;
        asked = min > asked ? min : asked;
    }
    int64_t want = asked > 0 ? asked : TC_PUBLISH_REPLICATES;
    int64_t have = (int64_t)tc_claim_replicates(&c->claim);
    (void)tc_format(&why, "{} of {} that {}", have, want,
                    asked > 0 ? "the contract asks for" : "are the least without a contract");
    set(c, TC__ASKS_REPLICATES, have >= want, &why);
}

/* ---- its values ---- */

static void ask_distribution(struct tc__candidate *c)
{
    struct tc_buf why = words_of(c, TC__ASKS_DISTRIBUTION);
    size_t outliers = 0;
    for (size_t i = 0; i < c->claim.run_count; i++) {
        outliers += c->claim.runs[i].is_outlier ? 1 : 0;
    }
    (void)tc_format(
        &why, "{}{}",
        c->statistic.is_multimodal
            ? "the values have more than one mode: a median of two describes neither"
        : tc_claim_replicates(&c->claim) < TC_DIP_MIN ? "recorded; too few values to tell modes"
                                                      : "recorded; one mode",
        tc_when(outliers > 0, ", {} flagged and kept", tc_as_count((int64_t)outliers, "outlier")));
    set(c, TC__ASKS_DISTRIBUTION, !c->statistic.is_multimodal, &why);
}

/* How many values a median's interval of that level takes: 1 - 2^(1 - n). */
static size_t values_for(double level)
{
    size_t n = 2;
    for (double miss = 0.5; miss > 1 - level && n < TC_CLAIM_RUNS_MAX; n++) {
        miss /= 2;
    }
    return n;
}

static void ask_confidence(struct tc__candidate *c)
{
    struct tc_buf why = words_of(c, TC__ASKS_CONFIDENCE);
    size_t n = tc_claim_replicates(&c->claim);
    if (n < 2) {
        (void)tc_format(&why, "one value has no interval");
    } else {
        (void)tc_format(&why, "recorded at {}", c->claim.level);
    }
    if (n >= 2 && c->claim.level < c->claim.level_asked) {
        (void)tc_format(&why, "; {} is asked for, which takes {} runs", c->claim.level_asked,
                        values_for(c->claim.level_asked));
    }
    set(c, TC__ASKS_CONFIDENCE, n >= 2, &why);
}

/* ---- its evidence ---- */

/* The first of some steps that is not as it should be is said. */
static void ask_steps(struct tc__candidate *c, size_t ask, const enum tc_step *steps, size_t count,
                      const char *good)
{
    struct tc_buf why = words_of(c, ask);
    bool all = true;
    for (size_t i = 0; all && i < count; i++) {
        all = c->chain.steps[steps[i]].state == TC_STEP_HOLDS;
        if (!all) {
            (void)tc_format(&why, "{}: {}", tc_step_name(steps[i], true),
                            (const char *)c->chain.steps[steps[i]].what);
        }
    }
    if (all) {
        (void)tc_format(&why, "{}", good);
    }
    set(c, ask, all, &why);
}

tc_status tc__candidate_judge(struct tc__candidate *c, struct tc_error *err)
{
    static const enum tc_step evidence[] = {TC_STEP_RUNS, TC_STEP_MANIFESTS, TC_STEP_SIGNATURES,
                                            TC_STEP_FILES};
    static const enum tc_step number[] = {TC_STEP_TABLES, TC_STEP_NUMBER};
    ask_contract(c);
    TC_TRY(ask_runs(c, err));
    ask_workload(c);
    ask_replicates(c);
    ask_distribution(c);
    ask_confidence(c);
    ask_steps(c, TC__ASKS_EVIDENCE, evidence, TC_COUNT(evidence),
              "manifests and raw files have their digests");
    ask_steps(c, TC__ASKS_RECOMPUTED, number, TC_COUNT(number),
              "the raw files give the same number as the tables");
    c->claim.conditions = c->asks;
    c->claim.condition_count = TC__ASKS_COUNT;
    return TC_OK;
}

bool tc__candidate_is_met(const struct tc__candidate *c)
{
    return tc_conditions_met(c->asks, TC__ASKS_COUNT);
}

bool tc__candidate_is_damaged(const struct tc__candidate *c)
{
    return c->asks[TC__ASKS_EVIDENCE].state != TC_CONDITION_MET ||
           c->asks[TC__ASKS_RECOMPUTED].state != TC_CONDITION_MET;
}
