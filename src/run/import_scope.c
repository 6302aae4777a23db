/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that a run has in its cluster: pods, jobs, nodes, the scheduler's id. They are what
 * ties verdicts, and telemetry that knows of no run, to this one (warehouse/run_claims.h).
 */
#include "run/import_priv.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST ((size_t)1024)

_Static_assert(TC_RUN_NAMES_MAX < UINT32_MAX, "slots hold indexes");

/* ---- each once ---- */

/* The slot of a name, or the free one where it belongs. */
static uint32_t *slot_of(struct tc__names *n, enum tc_run_name kind, struct tc_slice text)
{
    for (size_t at = (size_t)tc_slice_hash(text, (uint64_t)kind);; at++) {
        uint32_t *slot = &n->slots[at & (n->slot_count - 1)];
        const struct tc__name *item = *slot == 0 ? NULL : &n->items[*slot - 1];
        if (item == NULL || (item->kind == kind && tc_slice_eq(item->text, text))) {
            return slot;
        }
    }
}

/* At most half of the slots are used. */
static bool make_room(struct tc__names *n)
{
    if (2 * (n->count + 1) <= n->slot_count) {
        return true;
    }
    size_t count = n->slot_count == 0 ? SLOTS_FIRST : n->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    free(n->slots);
    n->slots = slots;
    n->slot_count = count;
    for (size_t at = 0; at < n->count; at++) {
        *slot_of(n, n->items[at].kind, n->items[at].text) = (uint32_t)at + 1;
    }
    return true;
}

tc_status tc__name_add(struct tc__import *i, enum tc_run_name kind, struct tc_slice text,
                       const char *source, struct tc_error *err)
{
    struct tc__names *n = &i->names;
    if (text.len == 0 || text.len > TC_RUN_NAME_BYTES) {
        return TC_OK;
    }
    if (!make_room(n)) {
        return tc__import_nomem(err);
    }
    uint32_t *slot = slot_of(n, kind, text);
    if (*slot != 0) {
        struct tc__name *there = &n->items[*slot - 1];
        there->source = strcmp(source, "option") == 0 ? source : there->source;
        return TC_OK;
    }
    tc_status status = tc_grow_items(n->items, n->cap, n->count + 1, TC_RUN_NAMES_MAX);
    if (status == TC_E_LIMIT) {
        return tc_fail(err, status, 0,
                       "names more than %d pods, jobs and nodes; give the telemetry of this run's "
                       "nodes only",
                       TC_RUN_NAMES_MAX);
    }
    struct tc_slice copy;
    if (status != TC_OK || !tc__import_pool_copy(&i->pool, text, &copy)) {
        return tc__import_nomem(err);
    }
    n->items[n->count++] = (struct tc__name){kind, copy, source};
    *slot = (uint32_t)n->count;
    return TC_OK;
}

void tc__names_fini(struct tc__names *n)
{
    free(n->items);
    free(n->slots);
}

/* ---- who says so ---- */

tc_status tc__names_of_slices(struct tc__import *i, const struct tc_rows *rows, const char *source,
                              struct tc_error *err)
{
    static const struct {
        size_t column;
        enum tc_run_name kind;
    } COLUMNS[] = {
        {TC_SLICE_POD_UID, TC_RUN_NAME_POD_UID},
        {TC_SLICE_JOB_UID, TC_RUN_NAME_JOB},
        {TC_SLICE_SCHEDULER_RUN_ID, TC_RUN_NAME_SCHEDULER},
        {TC_SLICE_NODE, TC_RUN_NAME_NODE},
    };
    for (size_t c = 0; c < TC_COUNT(COLUMNS); c++) {
        struct tc_slice last = TC_EMPTY;
        for (size_t row = 0; row < rows->count; row++) {
            if (tc_rows_is_null(rows, COLUMNS[c].column, row)) {
                continue;
            }
            struct tc_slice text = tc_rows_get_text(rows, COLUMNS[c].column, row);
            if (!tc_slice_eq(text, last)) {
                TC_TRY(tc__name_add(i, COLUMNS[c].kind, text, source, err));
            }
            last = text;
        }
    }
    return TC_OK;
}

tc_status tc__names_given(struct tc__import *i, struct tc_error *err)
{
    const struct tc_import *want = i->want;
    for (size_t n = 0; n < want->name_count; n++) {
        TC_TRY(tc__name_add(i, want->names[n].kind, tc_slice_cstr(want->names[n].text), "option",
                            err));
    }
    TC_TRY(tc__name_add(i, TC_RUN_NAME_JOB,
                        tc__import_given_or_said(i, want->job_uid, TC_RUN_JOB_UID),
                        want->job_uid != NULL ? "option" : "result", err));
    TC_TRY(
        tc__name_add(i, TC_RUN_NAME_SCHEDULER,
                     tc__import_given_or_said(i, want->scheduler_run_id, TC_RUN_SCHEDULER_RUN_ID),
                     want->scheduler_run_id != NULL ? "option" : "result", err));
    const struct tc__batches *b = &i->batches[TC_TABLE_SLICE];
    for (size_t n = 0; n < b->count; n++) {
        TC_TRY(tc__names_of_slices(i, b->items[n], "result", err));
    }
    return TC_OK;
}

/* ---- rows ---- */

/* The order in which files were given makes no difference. */
static int by_name(const void *a, const void *b)
{
    const struct tc__name *x = a;
    const struct tc__name *y = b;
    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : tc_slice_cmp(x->text, y->text);
}

static bool put(const struct tc__import *i, const struct tc__name *name, struct tc_rows *rows)
{
    if (i->ended_us != INT64_MIN) { /* known when the start is */
        bool has_start = i->started_us != INT64_MAX;
        tc_rows_int(rows, TC_RUN_SCOPE_START, has_start ? i->started_us : i->ended_us);
        tc_rows_int(rows, TC_RUN_SCOPE_END, i->ended_us);
    }
    return tc_rows_text(rows, TC_RUN_SCOPE_RUN_ID, tc_slice_cstr(i->run_id)) == TC_OK &&
           tc_rows_text(rows, TC_RUN_SCOPE_KIND, tc_run_name_kind(name->kind)) == TC_OK &&
           tc_rows_text(rows, TC_RUN_SCOPE_NAME, name->text) == TC_OK &&
           tc_rows_text(rows, TC_RUN_SCOPE_SOURCE, tc_slice_cstr(name->source)) == TC_OK;
}

static tc_status write_names(struct tc__import *i, struct tc_rows *rows, struct tc_error *err)
{
    for (size_t n = 0; n < i->names.count; n++) {
        if (rows->count == TC_ROWS_MAX) {
            TC_TRY(tc__import_append(i, TC_TABLE_RUN_SCOPE, rows, err));
            tc_rows_reset(rows);
        }
        if (!tc_rows_add(rows) || !put(i, &i->names.items[n], rows)) {
            return tc__import_nomem(err);
        }
    }
    return tc__import_append(i, TC_TABLE_RUN_SCOPE, rows, err);
}

tc_status tc__names_write(struct tc__import *i, uint64_t *io_rows, struct tc_error *err)
{
    struct tc__names *n = &i->names;
    struct tc_rows *rows = tc_rows_create(TC_TABLE_RUN_SCOPE);
    if (rows == NULL) {
        return tc__import_nomem(err);
    }
    if (n->count > 1) {
        qsort(n->items, n->count, sizeof *n->items, by_name); /* slots are of no use any more */
    }
    tc_status status = write_names(i, rows, err);
    *io_rows += n->count;
    tc_rows_destroy(rows);
    return status;
}
