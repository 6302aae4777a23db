/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the playbooks over what was read, and ranks what they found. */
#include "diagnose/base.h"
#include "diagnose/checks_priv.h"
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

/* A verdict of a detector weighs as much as strong telemetry. */
#define VERDICT_STRENGTH 0.9
/* Hypotheses of a recognised playbook come before all others. */
#define RECOGNISED_SCORE 10.0
/* A lead that others do not come near. */
#define CLEAR_LEAD 0.15
#define STRONG 0.8

enum playbook_id {
#define PLAYBOOK(id, name, title) PLAYBOOK_##id,
#define CHECK(playbook, id, name, title, weight, cause, patterns, experiment)
#include "diagnose/playbooks.def"
#undef PLAYBOOK
#undef CHECK
};

static const struct tc_playbook_info PLAYBOOKS[] = {
#define PLAYBOOK(id, name, title) {name, title, tc__recognise_##id},
#define CHECK(playbook, id, name, title, weight, cause, patterns, experiment)
#include "diagnose/playbooks.def"
#undef PLAYBOOK
#undef CHECK
};
_Static_assert(TC_COUNT(PLAYBOOKS) == TC_PLAYBOOK_COUNT, "TC_PLAYBOOK_COUNT");

static const struct {
    enum playbook_id playbook;
    struct tc_check_info info;
} CHECKS[] = {
#define PLAYBOOK(id, name, title)
#define CHECK(playbook, id, name, title, weight, cause, patterns, experiment) \
    {PLAYBOOK_##playbook, {name, title, weight, cause, patterns, experiment, tc__check_##id}},
#include "diagnose/playbooks.def"
#undef PLAYBOOK
#undef CHECK
};

/* ---- words ---- */

const char *tc_check_answer_name(enum tc_check_answer answer)
{
    static const char *const names[] = {"no data", "contradicts", "supports"};
    return names[answer];
}

const char *tc_recognised_name(enum tc_recognised recognised)
{
    static const char *const names[] = {"no data", "no", "yes"};
    return names[recognised];
}

const char *tc_sureness_name(enum tc_sureness confidence)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[confidence];
}

const char *tc_playbook_name(const struct tc_playbook_info *p)
{
    return p->name;
}

const char *tc_playbook_title(const struct tc_playbook_info *p)
{
    return p->title;
}

const char *tc_check_name(const struct tc_check_info *c)
{
    return c->name;
}

const char *tc_check_title(const struct tc_check_info *c)
{
    return c->title;
}

const char *tc_check_cause(const struct tc_check_info *c)
{
    return c->cause;
}

void tc_where_words(const struct tc_where *where, struct tc_grow *out)
{
    size_t begin = out->buf.len;
    struct tc_slice gpu = where->gpu;
    struct tc_slice tail = tc_slice_from(gpu, gpu.len > 12 ? gpu.len - 12 : 0);
    if (where->node.len > 0) {
        tc_grow_format(out, "node {}", where->node);
    }
    if (gpu.len > 0) {
        tc_grow_format(out, "{}GPU {}{}", out->buf.len > begin ? ", " : "",
                       tail.len < gpu.len ? "..." : "", tail);
    }
    if (where->rank >= 0) {
        tc_grow_format(out, "{}rank {}", out->buf.len > begin ? ", " : "", where->rank);
    }
    if (where->pod.len > 0) {
        tc_grow_format(out, "{}pod {}", out->buf.len > begin ? ", " : "", where->pod);
    }
}

void tc_hypothesis_experiment(const struct tc_diagnosis *d, const struct tc_hypothesis *h,
                              struct tc_grow *out)
{
    const struct tc_where *where = &h->check->where;
    const char *at = h->check->info->experiment;
    for (const char *sign = strchr(at, '%'); sign != NULL; sign = strchr(at, '%')) {
        tc_grow_str(out, tc_slice_make(at, (size_t)(sign - at)));
        if (sign[1] == 'n') {
            tc_grow_str(out, tc_slice_or(where->node, TC_LIT("NODE")));
        } else if (sign[1] == 'p') {
            tc_grow_str(out, tc_slice_or(where->pod, TC_LIT("POD")));
        } else if (sign[1] == 'b') {
            tc_grow_str(out, tc_slice_or(d->base_word, TC_LIT("BASE")));
        } else {
            tc_grow_str(out, d->run_id);
        }
        at = sign + 2;
    }
    tc_grow_str(out, tc_slice_cstr(at));
}

/* ---- verdicts ---- */

/* Columns of the context's verdicts. */
enum { SAID_ID, SAID_PATTERN, SAID_CONFIDENCE, SAID_HEADLINE, SAID_NODE, SAID_GPU, SAID_RANK };

static bool has_word(const char *words, struct tc_slice word)
{
    struct tc_slice rest = tc_slice_cstr(words);
    while (rest.len > 0) {
        if (tc_slice_eq(tc_slice_cut(rest, ' ', &rest), word)) {
            return true;
        }
    }
    return false;
}

/* A verdict of the run is evidence like any other. */
static void weigh_verdicts(const struct tc__context *c, struct tc_check *check)
{
    for (size_t row = 0; row < c->verdicts.row_count && check->verdict.len == 0; row++) {
        struct tc_slice pattern = tc_answer_text(&c->verdicts, row, SAID_PATTERN);
        if (pattern.len == 0 || !has_word(check->info->patterns, pattern)) {
            continue;
        }
        check->verdict = tc_answer_text(&c->verdicts, row, SAID_ID);
        tc__check_say(check, "verdict {}: {}", pattern,
                      tc_slice_head(tc_answer_text(&c->verdicts, row, SAID_HEADLINE), 160));
        tc__check_support(check, VERDICT_STRENGTH, NULL);
        struct tc_slice node = tc_answer_text(&c->verdicts, row, SAID_NODE);
        if (check->where.node.len == 0) {
            check->where.node = node;
            check->where.gpu = tc_answer_text(&c->verdicts, row, SAID_GPU);
            check->where.rank = tc_answer_known(&c->verdicts, row, SAID_RANK)
                                    ? tc_answer_int(&c->verdicts, row, SAID_RANK)
                                    : check->where.rank;
        }
    }
}

/* ---- ranking ---- */

static void run_playbook(struct tc__context *c, enum playbook_id id, struct tc_playbook *p)
{
    p->info = &PLAYBOOKS[id];
    for (size_t i = 0; i < TC_COUNT(CHECKS); i++) {
        if (CHECKS[i].playbook != id) {
            continue;
        }
        struct tc_check *check = &p->checks[p->check_count];
        check->info = &CHECKS[i].info;
        check->where.rank = -1;
        tc_arena_mark mark = tc_arena_snapshot(&c->arena);
        check->info->check(c, p, check);
        tc_arena_rewind(&c->arena, mark);
        weigh_verdicts(c, check);
        p->check_count++;
    }
    tc_arena_mark mark = tc_arena_snapshot(&c->arena);
    p->recognised = p->info->recognise(c, p);
    tc_arena_rewind(&c->arena, mark);
}

static int compare_hypotheses(const void *a, const void *b)
{
    const struct tc_hypothesis *x = a;
    const struct tc_hypothesis *y = b;
    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return x->check < y->check ? -1 : x->check > y->check;
}

static void rank(struct tc_diagnosis *d)
{
    for (size_t n = 0; n < TC_PLAYBOOK_COUNT; n++) {
        const struct tc_playbook *p = &d->playbooks[n];
        for (size_t i = 0; i < p->check_count; i++) {
            const struct tc_check *check = &p->checks[i];
            if (check->answer == TC_CHECK_SUPPORTS) {
                d->hypotheses[d->hypothesis_count++] = (struct tc_hypothesis){
                    .playbook = p,
                    .check = check,
                    .score = (p->recognised == TC_RECOGNISED_YES ? RECOGNISED_SCORE : 0) +
                             check->info->weight * check->strength,
                };
            }
        }
    }
    qsort(d->hypotheses, d->hypothesis_count, sizeof *d->hypotheses, compare_hypotheses);
    for (size_t i = 0; i < d->hypothesis_count; i++) {
        struct tc_hypothesis *h = &d->hypotheses[i];
        bool recognised = h->playbook->recognised == TC_RECOGNISED_YES;
        bool clear =
            i == 0 && (d->hypothesis_count == 1 || h->score - d->hypotheses[1].score >= CLEAR_LEAD);
        h->confidence = !recognised || h->check->strength < TC__CLAIM_STRENGTH ? TC_SURENESS_LOW
                        : clear && h->check->strength >= STRONG                ? TC_SURENESS_HIGH
                                                                               : TC_SURENESS_MEDIUM;
    }
    d->has_answer = d->hypothesis_count > 0 &&
                    d->hypotheses[0].playbook->recognised == TC_RECOGNISED_YES &&
                    d->hypotheses[0].check->strength >= TC__CLAIM_STRENGTH;
}

tc_status tc_diagnose(struct tc_warehouse *w, struct tc_slice run_id, const struct tc_group *base,
                      struct tc_diagnosis **out, struct tc_error *err)
{
    struct tc_diagnosis *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the diagnosis");
    }
    tc_status status = tc__context_read(w, run_id, base, &d->context, err);
    struct tc__context *c = d->context;
    for (enum playbook_id id = 0; status == TC_OK && id < TC_PLAYBOOK_COUNT; id++) {
        run_playbook(c, id, &d->playbooks[id]);
    }
    if (status == TC_OK && !tc_arena_ok(&c->arena)) {
        status = tc_fail(err, TC_E_NOMEM, 0, "the telemetry is too large for a diagnosis");
    }
    if (status != TC_OK) {
        tc_diagnosis_destroy(d);
        return status;
    }
    d->run_id = c->run_id;
    d->run_name = tc_answer_text(&c->run, 0, 1);
    d->base = base;
    d->base_word = base != NULL ? tc_base_word(base) : TC_EMPTY;
    d->base_runs = c->base_runs;
    d->slices = c->telemetry[TC__RUN].row_count;
    rank(d);
    *out = d;
    return TC_OK;
}

void tc_diagnosis_destroy(struct tc_diagnosis *d)
{
    if (d != NULL) {
        tc__context_destroy(d->context);
    }
    free(d);
}
