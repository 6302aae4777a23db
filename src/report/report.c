/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_priv.h"

#include <stdlib.h>

/* Address space: a report takes what it needs of it. */
#define ARENA_BYTES ((size_t)64 << 20)

bool tc_audience_parse(struct tc_slice name, enum tc_audience *out)
{
    static const char *const NAMES[] = {"engineering", "product", "partner", NULL};
    int which = tc_slice_which(name, NAMES);
    if (which >= 0) {
        *out = (enum tc_audience)which;
    }
    return which >= 0;
}

static tc_status check_runs(const struct tc_group *g, struct tc_error *err)
{
    return g->run_count <= TC_REPORT_RUNS_MAX
               ? TC_OK
               : tc_fail(err, TC_E_LIMIT, 0,
                         "%.60s stands for %zu runs; a report stands on at most %d: name fewer",
                         g->text, g->run_count, TC_REPORT_RUNS_MAX);
}

static tc_status read_comparison(struct tc_report *r, struct tc_error *err)
{
    const struct tc_compare_options options = {.confidence = 0};
    struct tc_comparison *c = &r->comparison;
    TC_TRY(tc_compare(r->w, r->want->base, r->want->runs, &options, c, err));
    r->side_count = TC_SIDES;
    r->level = 1 - c->alpha;
    static const struct tc_slice NAMES[TC_SIDES] = {{"base", 4}, {"candidate", 9}};
    for (size_t n = 0; n < TC_SIDES; n++) {
        r->sides[n] =
            (struct tc__side){.name = NAMES[n], .group = &c->groups[n], .set = &c->sets[n]};
        TC_TRY(check_runs(&c->groups[n], err));
    }
    return TC_OK;
}

static tc_status read_group(struct tc_report *r, struct tc_error *err)
{
    const struct tc_series_want want = {.metric_count = 0};
    TC_TRY(tc_group_find(r->w, r->want->runs, 0, &r->group, err));
    r->side_count = 1;
    r->sides[0] = (struct tc__side){.name = TC_LIT("the runs"), .group = &r->group, .set = &r->set};
    r->level = r->group.confidence_level > 0 ? r->group.confidence_level : TC_COMPARE_CONFIDENCE;
    TC_TRY(check_runs(&r->group, err));
    TC_TRY(tc_series_set_read(r->w, &r->group, &want, &r->set, err));
    return r->set.series_count > 0
               ? TC_OK
               : tc_fail(err, TC_E_NOTFOUND, 0, "%.60s has no results to report on", r->group.text);
}

static void write_for(struct tc_report *r, enum tc_audience audience)
{
    switch (audience) {
    case TC_FOR_ENGINEERING:
        tc__engineering(r);
        return;
    case TC_FOR_PRODUCT:
        tc__product(r);
        return;
    case TC_FOR_PARTNER:
        tc__partner(r);
        return;
    }
}

static tc_status make(struct tc_report *r, const struct tc_report_want *want, struct tc_error *err)
{
    static const struct tc_slice AUDIENCES[] = {
        {"engineering", 11}, {"product", 7}, {"partner", 7}};
    TC_TRY(want->base.len > 0 ? read_comparison(r, err) : read_group(r, err));
    for (size_t n = 0; n < r->side_count; n++) {
        TC_TRY(tc__basis_read(r, &r->sides[n], err));
        TC_TRY(tc__published_read(r, &r->sides[n], err));
    }
    r->doc.audience = AUDIENCES[want->audience];
    r->doc.version = tc_arena_copy(&r->arena, want->version);
    write_for(r, want->audience);
    if (r->status != TC_OK) {
        return r->status;
    }
    return !r->doc.failed && tc_arena_ok(&r->arena)
               ? TC_OK
               : tc_fail(err, TC_E_LIMIT, 0, "the report is too long: name fewer runs");
}

tc_status tc_report_create(struct tc_warehouse *w, const struct tc_report_want *want,
                           struct tc_report **out, struct tc_error *err)
{
    struct tc_report *r = calloc(1, sizeof *r);
    struct tc_block *block = r == NULL ? NULL : tc_block_new(ARENA_BYTES);
    if (block == NULL) {
        free(r);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a report");
    }
    r->w = w;
    r->want = want;
    r->err = err;
    r->block = block;
    tc_arena_init_zeroed(&r->arena, "report", block->bytes, block->size);
    tc_doc_init(&r->doc, &r->arena, TC_EMPTY);
    tc_status status = make(r, want, err);
    if (status != TC_OK) {
        tc_report_destroy(r);
        return status;
    }
    *out = r;
    return TC_OK;
}

void tc_report_destroy(struct tc_report *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t n = 0; n < TC_SIDES; n++) {
        tc_answer_fini(&r->sides[n].published);
    }
    tc_diagnosis_destroy(r->diagnosis);
    tc_comparison_fini(&r->comparison);
    tc_series_set_fini(&r->set);
    tc_group_fini(&r->group);
    tc_arena_fini(&r->arena);
    tc_block_free(r->block);
    free(r);
}

const struct tc_doc *tc_report_document(const struct tc_report *r)
{
    return &r->doc;
}
