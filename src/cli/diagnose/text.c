/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis for a person: the answer first, then what it stands on. */
#include "base/format.h"
#include "base/number.h"
#include "cli/diagnose/diagnose.h"
#include "cli/output/output.h"
#include "cli/output/text_table.h"

#include <string.h>

#define ANSWER_WIDTH 13
#define LABEL_WIDTH 13

/* A label and words, broken where the line ends. */
static void put_labelled(struct tc_grow *g, const char *label, struct tc_slice words)
{
    char first[2 + LABEL_WIDTH + 1];
    struct tc_buf b = tc_buf_make(first, sizeof first - 1);
    tc_format(&b, "  {}", tc_as_padded(tc_slice_cstr(label), LABEL_WIDTH));
    first[b.len] = '\0';
    tc_text_words(g, first, words, "               ");
    tc_grow_lit(g, "\n");
}

static void put_grown(struct tc_grow *g, const char *label, struct tc_grow *words)
{
    if (words->buf.len > 0) {
        struct tc_grow shown = {0};
        tc_grow_format(&shown, "{}", tc_as_printable(tc_grow_slice(words)));
        put_labelled(g, label, tc_grow_slice(&shown));
        g->failed |= shown.failed;
        tc_grow_fini(&shown);
    }
    g->failed |= words->failed;
    tc_grow_fini(words);
}

static void put_cstr(struct tc_grow *g, const char *label, const char *words)
{
    struct tc_grow text = {0};
    tc_grow_str(&text, tc_slice_cstr(words));
    put_grown(g, label, &text);
}

static void put_head(struct tc_grow *g, const struct tc_diagnosis *d)
{
    tc_grow_format(g, "{}{}{}", d->run_id, d->run_name.len > 0 ? "  " : "",
                   tc_as_printable(d->run_name));
    if (d->base != NULL) {
        tc_grow_format(g, ", against {} ({})\n\n", tc_as_printable(tc_slice_cstr(d->base->text)),
                       tc_as_count((int64_t)d->base_runs, "run"));
    } else {
        tc_grow_lit(g, ", against nothing: there is no base\n\n");
    }
}

static void put_answer(struct tc_grow *g, const struct tc_diagnosis *d)
{
    const struct tc_hypothesis *h = &d->hypotheses[0];
    struct tc_grow where = {0};
    tc_grow_format(g, "{} {}\n", h->confidence == TC_SURENESS_HIGH ? "Most likely:" : "Possibly:",
                   tc_check_cause(h->check->info));
    tc_where_words(&h->check->where, &where);
    put_grown(g, "look at", &where);
    put_cstr(g, "because", h->check->numbers);
    put_cstr(g, "seen as", h->playbook->why);
    struct tc_grow confidence = {0};
    tc_grow_format(&confidence, "{}{}", tc_sureness_name(h->confidence),
                   h->confidence == TC_SURENESS_HIGH
                       ? ": strong evidence, and no other cause comes near"
                   : h->check->strength < 0.8 ? ": the evidence is indirect"
                                              : ": another cause has nearly as much evidence");
    put_grown(g, "confidence", &confidence);
}

/* Nothing is claimed: what was looked for, and what would help. */
static void put_no_answer(struct tc_grow *g, const struct tc_diagnosis *d)
{
    const struct tc_playbook *seen = NULL;
    for (size_t i = 0; i < TC_PLAYBOOK_COUNT && seen == NULL; i++) {
        seen = d->playbooks[i].recognised == TC_RECOGNISED_YES ? &d->playbooks[i] : NULL;
    }
    if (seen != NULL) {
        tc_grow_format(g, "{}: {}.\nNothing that was recorded speaks for a cause of it.\n",
                       tc_playbook_name(seen->info), tc_playbook_title(seen->info));
        put_cstr(g, "seen as", seen->why);
    } else {
        tc_grow_lit(g, "No scenario is recognised: nothing is claimed.\n");
    }
    if (d->slices == 0) {
        put_cstr(g, "to know more",
                 "the run has no telemetry that the checks read; attach it with tracecore run add "
                 "--telemetry FILE, or send it to the daemon during the run");
    } else if (d->base == NULL) {
        put_cstr(g, "to know more", "give a base: --against RUN, a replicate group, or a name");
    }
}

/* ---- checks ---- */

static void put_check(struct tc_grow *g, const struct tc_check *check, const struct tc_check *lead)
{
    struct tc_grow words = {0};
    tc_grow_str(&words, tc_slice_cstr(tc_check_title(check->info)));
    if (check == lead) {
        tc_grow_lit(&words, ": as above");
    } else if (check->numbers[0] != '\0') {
        tc_grow_format(&words, ": {}", check->numbers);
    }
    put_grown(g, tc_check_answer_name(check->answer), &words);
}

static void put_playbook(struct tc_grow *g, const struct tc_diagnosis *d,
                         const struct tc_playbook *p, bool all)
{
    const struct tc_check *lead = d->has_answer ? d->hypotheses[0].check : NULL;
    bool seen = p->recognised == TC_RECOGNISED_YES;
    tc_grow_format(g, "\n{}: {}\n", tc_playbook_name(p->info),
                   seen                                ? "recognised"
                   : p->recognised == TC_RECOGNISED_NO ? "not recognised"
                                                       : "no data to recognise it by");
    if (!seen && p->why[0] != '\0') {
        put_cstr(g, "", p->why);
    }
    for (size_t i = 0; (seen || all) && i < p->check_count; i++) {
        put_check(g, &p->checks[i], lead);
    }
}

/* "cause (playbook; where)" */
static void put_hypothesis(struct tc_grow *g, const struct tc_hypothesis *h)
{
    struct tc_grow words = {0};
    struct tc_grow where = {0};
    tc_where_words(&h->check->where, &where);
    tc_grow_format(&words, "{} ({}{}{})", tc_check_cause(h->check->info),
                   tc_playbook_name(h->playbook->info), where.buf.len > 0 ? "; " : "",
                   tc_grow_slice(&where));
    g->failed |= where.failed;
    tc_grow_fini(&where);
    put_grown(g, tc_sureness_name(h->confidence), &words);
}

static void put_others(struct tc_grow *g, const struct tc_diagnosis *d)
{
    size_t shown = 0;
    for (size_t i = d->has_answer ? 1 : 0; i < d->hypothesis_count; i++) {
        const struct tc_hypothesis *h = &d->hypotheses[i];
        if (d->has_answer && strcmp(h->check->numbers, d->hypotheses[0].check->numbers) == 0) {
            continue; /* the same evidence in another playbook */
        }
        if (shown++ == 0) {
            tc_grow_format(g, "\n{}\n",
                           d->has_answer ? "other hypotheses" : "weak hints, none of them a claim");
        }
        put_hypothesis(g, h);
    }
}

/* ---- what next ---- */

/* With a base, the pivot of the node; digests of what the answer stands on. */
static void put_evidence(struct tc_grow *g, const struct tc_diagnosis *d)
{
    const struct tc_check *check = d->has_answer ? d->hypotheses[0].check : NULL;
    if (check == NULL) {
        return;
    }
    tc_grow_lit(g, "\nevidence\n");
    for (size_t i = 0; i < check->proof_count; i++) {
        const struct tc_proof *proof = &check->proofs[i];
        tc_grow_format(g, "  {}\n", tc_as_printable(proof->metric));
        if (proof->digest.len > 0) {
            tc_grow_format(g, "    tracecore evidence cat {}\n", proof->digest);
        }
    }
    if (check->verdict.len > 0) {
        tc_grow_format(g,
                       "  a detector's verdict, and its bytes\n    tracecore sql --json \"SELECT * "
                       "FROM verdict_fact WHERE incident_id = '{}'\"\n",
                       tc_as_printable(check->verdict));
    }
    if (d->base != NULL) {
        tc_grow_format(
            g, "  all that stands out\n    tracecore run show {} --slower-than '{}'{}{}\n",
            d->run_id, tc_as_printable(d->base_word), check->where.node.len > 0 ? " --node " : "",
            tc_as_printable(check->where.node));
    }
}

void tc_diagnosis_text(struct tc_grow *g, const struct tc_diagnosis *d, bool all)
{
    put_head(g, d);
    if (d->has_answer) {
        put_answer(g, d);
    } else {
        put_no_answer(g, d);
    }
    for (size_t i = 0; i < TC_PLAYBOOK_COUNT; i++) { /* the one of the answer first */
        if (d->has_answer && d->hypotheses[0].playbook == &d->playbooks[i]) {
            put_playbook(g, d, &d->playbooks[i], all);
        }
    }
    for (size_t i = 0; i < TC_PLAYBOOK_COUNT; i++) {
        if (!d->has_answer || d->hypotheses[0].playbook != &d->playbooks[i]) {
            put_playbook(g, d, &d->playbooks[i], all);
        }
    }
    put_others(g, d);
    if (d->has_answer) {
        struct tc_grow experiment = {0};
        tc_hypothesis_experiment(d, &d->hypotheses[0], &experiment);
        tc_grow_lit(g, "\nnext\n");
        put_grown(g, "to prove it", &experiment);
    }
    put_evidence(g, d);
}
