/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/publish.h"

#include "base/format.h"
#include "publish/lineage.h"
#include "publish/made.h"
#include "publish/numbers.h"
#include "publish/publish_priv.h"
#include "run/lock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the rows ---- */

static tc_status count_rows(struct tc_warehouse *w, struct tc_slice id, int64_t *out,
                            struct tc_error *err)
{
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = id};
    return tc_warehouse_int(w, "SELECT count(*) FROM published_number WHERE number_id = ?", &bind,
                            1, 0, out, err);
}

static tc_status append_rows(struct tc_warehouse *w, const struct tc_claim *claim, const char *id,
                             const struct tc_audit_entry *entry, struct tc_error *err)
{
    struct tc_rows *rows = tc_claim_rows(claim, id, entry->at_ns / 1000, &entry->digest);
    tc_status status = rows == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the rows")
                                    : tc_warehouse_append(w, TC_TABLE_PUBLISHED, rows, err);
    tc_rows_destroy(rows);
    return status;
}

/* The tables did not change while the number was judged. */
static tc_status need_same_values(const struct tc_publish_want *want, const struct tc_claim *claim,
                                  struct tc_error *err)
{
    struct tc_values values = {0};
    char what[TC_ERROR_MESSAGE_MAX];
    tc_status status = tc_values_query(want->w, want->query, &values, err);
    if (status == TC_OK && !tc_values_are_of(&values, claim, 0, what)) {
        status = tc_fail(err, TC_E_IO, 0, "the tables changed meanwhile; try again");
    }
    tc_values_fini(&values);
    return status;
}

/* The audit log is durable before the rows are: it never knows less. */
static tc_status write_new(const struct tc_publish_want *want, struct tc_numbers *numbers,
                           struct tc_publish_outcome *out, struct tc_slice canonical,
                           struct tc_error *err)
{
    struct tc_audit_entry entry = {.act = TC_LIT(TC_AUDIT_PUBLISH),
                                   .at_ns = want->now_ns / 1000 * 1000,
                                   .by = want->by,
                                   .number_id = tc_slice_cstr(out->number_id),
                                   .claim = canonical};
    TC_TRY(need_same_values(want, &out->claim, err));
    TC_TRY(tc_audit_append(want->data_dir, &numbers->chain, &entry, err));
    TC_TRY(append_rows(want->w, &out->claim, out->number_id, &entry, err));
    return tc_warehouse_commit(want->w, err);
}

/* Rows that are gone although nobody took the number back: a crash, or somebody's hand. */
static tc_status write_again(const struct tc_publish_want *want, const struct tc_number *number,
                             struct tc_publish_outcome *out, struct tc_error *err)
{
    const struct tc_audit_entry entry = {.at_ns = number->at_ns, .digest = number->entry_digest};
    int64_t there = 0;
    TC_TRY(count_rows(want->w, tc_slice_cstr(number->id), &there, err));
    out->was_there = true;
    if (there > 0) {
        tc_warehouse_rollback(want->w);
        return TC_OK;
    }
    TC_TRY(append_rows(want->w, &out->claim, number->id, &entry, err));
    return tc_warehouse_commit(want->w, err);
}

static tc_status write_locked(const struct tc_publish_want *want, struct tc_numbers *numbers,
                              struct tc_publish_outcome *out, struct tc_slice canonical,
                              struct tc_error *err)
{
    const struct tc_number *old = tc_numbers_find(numbers, tc_slice_cstr(out->number_id));
    TC_TRY(tc_audit_need_whole(&numbers->chain, err));
    TC_TRY(tc_warehouse_begin(want->w, err));
    tc_status status = old != NULL && !old->is_retracted
                           ? write_again(want, old, out, err)
                           : write_new(want, numbers, out, canonical, err);
    if (status != TC_OK) {
        tc_warehouse_rollback(want->w);
    }
    return status;
}

static tc_status write_claim(const struct tc_publish_want *want, struct tc_publish_outcome *out,
                             struct tc_slice canonical, struct tc_error *err)
{
    struct tc_numbers numbers = {0};
    int lock = -1;
    TC_TRY(tc_runs_lock(want->data_dir, &lock, err));
    tc_status status = tc_numbers_read(want->data_dir, &numbers, err);
    status = status == TC_OK ? write_locked(want, &numbers, out, canonical, err) : status;
    tc_numbers_fini(&numbers);
    (void)close(lock);
    out->is_published = status == TC_OK;
    return status;
}

/* ---- the judgement ---- */

static void put_statement(struct tc__candidate *c)
{
    size_t told = 0;
    if (c->want->unstable.len == 0) {
        return;
    }
    tc_grow_format(&c->statement, TC_PUBLISH_STATEMENT "{}", c->want->unstable);
    for (size_t i = 0; i < TC__ASKS_COUNT; i++) {
        if (c->asks[i].state != TC_CONDITION_MET) {
            tc_grow_format(&c->statement, "{}{}", told++ == 0 ? "; not met: " : ", ",
                           c->asks[i].name);
        }
    }
    c->claim.statement = tc_grow_slice(&c->statement);
}

/* Everything is found again from the raw files, the conditions of the runs too. */
static tc_status recompute(struct tc__candidate *c, struct tc_error *err)
{
    const struct tc_publish_want *want = c->want;
    struct tc_made own = {0};
    struct tc_made *made = want->made != NULL ? want->made : &own;
    const struct tc_lineage_want lineage = {
        .data_dir = want->data_dir, .w = want->w, .files = want->files, .made = made};
    tc_status status = tc_lineage_candidate(&lineage, &c->claim, &c->chain, err);
    if (status == TC_OK && c->chain.steps[TC_STEP_NUMBER].state == TC_STEP_HOLDS) {
        status = tc__candidate_recheck(c, made->w, err);
    }
    tc_made_close(&own);
    return status;
}

static tc_status publish(struct tc__candidate *c, struct tc_publish_outcome *out,
                         struct tc_error *err)
{
    const struct tc_publish_want *want = c->want;
    char *text = NULL;
    size_t len = 0;
    TC_TRY(tc__candidate_make(c, err));
    TC_TRY(recompute(c, err));
    TC_TRY(tc__candidate_judge(c, err));
    out->chain = c->chain;
    out->is_damaged = tc__candidate_is_damaged(c);
    bool may = !out->is_damaged && (tc__candidate_is_met(c) || want->unstable.len > 0);
    put_statement(c);
    if (c->statement.failed) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the claim");
    }
    TC_TRY(tc_claim_write(&c->claim, &text, &len, err));
    tc_status status = tc_claim_read(tc_slice_make(text, len), &out->claim, err);
    if (status == TC_OK && may) {
        status = tc_claim_name(tc_slice_make(text, len), out->number_id, err);
    }
    if (status == TC_OK && may && !want->dry_run) {
        status = write_claim(want, out, tc_slice_make(text, len), err);
    }
    free(text);
    return status;
}

tc_status tc_publish(const struct tc_publish_want *want, struct tc_publish_outcome *out,
                     struct tc_error *err)
{
    struct tc__candidate *c = calloc(1, sizeof *c);
    *out = (struct tc_publish_outcome){0};
    if (c == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the claim");
    }
    c->want = want;
    tc_status status = publish(c, out, err);
    tc__candidate_fini(c);
    free(c);
    return status;
}

void tc_publish_fini(struct tc_publish_outcome *out)
{
    tc_claim_fini(&out->claim);
}

/* ---- taking back ---- */

static tc_status forget_rows(struct tc_warehouse *w, struct tc_slice id, struct tc_error *err)
{
    struct tc_forget what = {.table = TC_TABLE_PUBLISHED,
                             .key_column = TC_PUBLISHED_ID,
                             .keys = &id,
                             .key_count = 1,
                             .before_us = INT64_MIN};
    uint64_t gone = 0;
    return tc_warehouse_forget(w, &what, &gone, err);
}

static tc_status retract_locked(const struct tc_retract_want *want, struct tc_numbers *numbers,
                                struct tc_error *err)
{
    const struct tc_number *number = tc_numbers_find(numbers, want->number_id);
    struct tc_audit_entry entry = {.act = TC_LIT(TC_AUDIT_RETRACT),
                                   .at_ns = want->now_ns / 1000 * 1000,
                                   .by = want->by,
                                   .number_id = want->number_id,
                                   .reason = want->reason};
    if (number == NULL) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "%.*s was never published", TC_FMT(want->number_id));
    }
    if (!number->is_retracted) {
        TC_TRY(tc_audit_append(want->data_dir, &numbers->chain, &entry, err));
    }
    TC_TRY(forget_rows(want->w, want->number_id, err));
    return tc_warehouse_commit(want->w, err);
}

tc_status tc_publish_retract(const struct tc_retract_want *want, struct tc_error *err)
{
    struct tc_numbers numbers = {0};
    int lock = -1;
    if (want->reason.len == 0 || want->reason.len > TC_AUDIT_WORDS_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "a reason has 1 to %d bytes", TC_AUDIT_WORDS_MAX);
    }
    TC_TRY(tc_runs_lock(want->data_dir, &lock, err));
    tc_status status = tc_numbers_read(want->data_dir, &numbers, err);
    status = status == TC_OK ? tc_warehouse_begin(want->w, err) : status;
    if (status == TC_OK) {
        status = retract_locked(want, &numbers, err);
        if (status != TC_OK) {
            tc_warehouse_rollback(want->w);
        }
    }
    tc_numbers_fini(&numbers);
    (void)close(lock);
    return status;
}

void tc_publish_json(struct tc_json_out *j, const struct tc_publish_outcome *out)
{
    tc_json_add_object(j);
    tc_json_put_str_or_null(j, "number_id", tc_slice_cstr(out->number_id));
    tc_json_put_bool(j, "may_be_published", out->number_id[0] != '\0');
    tc_json_put_bool(j, "published", out->is_published);
    tc_json_put_bool(j, "was_there", out->was_there);
    tc_json_key(j, "steps");
    tc_chain_json(&out->chain, TC_STEP_TABLES, j);
    tc_json_key(j, "claim");
    tc_claim_json(&out->claim, j);
    tc_json_end_object(j);
}
