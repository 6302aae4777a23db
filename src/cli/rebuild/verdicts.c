/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts from the ledger, each once; those of a time before it from the old database. */
#include "warehouse/verdicts.h"
#include "cli/rebuild/rebuild.h"
#include "cli/retain/retain.h"
#include "server/warehouse/verdict_ledger.h"
#include "warehouse/ledger.h"

#include <stdlib.h>

/* Batches of one transaction. */
#define BATCHES_MAX 64
/* Those of files of runs come with the run. */
#define NOT_GIVEN "(run_join IS NULL OR run_join <> 'given')"

struct verdicts {
    struct tc_rebuild *r;
    struct tc_error *err;
    struct tc_json_parser *inner;
    struct tc_rows *rows;
    struct tc_rows *fresh;
    unsigned batches; /* in the transaction that is open; 0: none is */
    int64_t first_ns;
};

/* ---- writing ---- */

static tc_status commit(struct verdicts *v)
{
    if (v->batches == 0) {
        return TC_OK;
    }
    v->batches = 0;
    return tc_warehouse_commit(v->r->made, v->err);
}

static tc_status flush(struct verdicts *v)
{
    bool known[TC_WAREHOUSE_VERDICTS_MAX];
    if (v->rows->count == 0) {
        return TC_OK;
    }
    if (v->batches == 0) {
        TC_TRY(tc_warehouse_begin(v->r->made, v->err));
    }
    v->batches++;
    TC_TRY(tc_warehouse_verdicts_known(v->r->made, v->rows, known, v->err));
    tc_rows_reset(v->fresh);
    for (size_t i = 0; i < v->rows->count; i++) {
        if (!known[i] && (!tc_rows_add(v->fresh) ||
                          tc_rows_copy_row(v->fresh, v->rows, i, TC_ROWS_TEXT_MAX) != TC_OK)) {
            return tc_rebuild_nomem(v->err);
        }
    }
    tc_rows_reset(v->rows);
    TC_TRY(tc_warehouse_append(v->r->made, TC_TABLE_VERDICT, v->fresh, v->err));
    return v->batches < BATCHES_MAX ? TC_OK : commit(v);
}

static tc_status take(void *context, struct tc_slice json)
{
    struct verdicts *v = context;
    struct tc_error why = {0};
    tc_status status = tc_warehouse_verdict_again(v->r->parser, v->inner, json, v->rows, &why);
    if (status == TC_E_MALFORMED) {
        v->r->ledger_damaged++;
        return TC_OK;
    }
    if (status != TC_OK) {
        *v->err = why;
        return status;
    }
    return v->rows->count < TC_WAREHOUSE_VERDICTS_MAX ? TC_OK : flush(v);
}

/* ---- before the ledger ---- */

static tc_status take_first(void *context, struct tc_slice json)
{
    struct verdicts *v = context;
    struct tc_json root;
    if (tc_json_parse(v->r->parser, json, &root, v->err) == TC_OK) {
        v->first_ns = tc_json_get_int(root, TC_LIT("told_ns"), INT64_MAX);
    }
    return TC_E_LIMIT; /* one is enough */
}

static tc_status copy_older(struct verdicts *v, const char *first, struct tc_error *err)
{
    struct tc_error ignored;
    uint64_t damaged = 0;
    v->first_ns = INT64_MAX;
    if (first != NULL) {
        (void)!tc_ledger_read(v->r->dir, first, take_first, v, &damaged, &ignored);
    }
    if (v->first_ns == INT64_MAX) {
        return tc_rebuild_copy(v->r, TC_TABLE_VERDICT, NOT_GIVEN, NULL, 0, NULL, err);
    }
    struct tc_bind told = {.type = TC_COLUMN_TIME, .as.integer = v->first_ns / 1000};
    return tc_rebuild_copy(v->r, TC_TABLE_VERDICT, "told_at < ? AND " NOT_GIVEN, &told, 1, NULL,
                           err);
}

/* ---- behind the ledger ---- */

/* Those that were moved to a snapshot: they are old, and no published number stands on their run,
 * which is known when all are there. */
static tc_status forget_retired(struct verdicts *v, struct tc_error *err)
{
    struct tc_rebuild *r = v->r;
    struct tc_bind before = {.type = TC_COLUMN_TIME, .as.integer = r->verdicts_before_us};
    struct tc_answer set;
    uint64_t gone = 0;
    if (r->verdicts_before_us == INT64_MIN) {
        return TC_OK;
    }
    TC_TRY(tc_answer_query(r->made, TC_RETAIN_VERDICTS, &before, 1, &set, err));
    struct tc_slice *keys = calloc(set.row_count + 1, sizeof *keys);
    for (size_t i = 0; keys != NULL && i < set.row_count; i++) {
        keys[i] = tc_answer_text(&set, i, 0);
    }
    struct tc_forget what = {.table = TC_TABLE_VERDICT,
                             .key_column = TC_VERDICT_DIGEST,
                             .keys = keys,
                             .key_count = set.row_count,
                             .before_us = INT64_MIN};
    tc_status status = keys == NULL ? tc_rebuild_nomem(err) : TC_OK;
    if (status == TC_OK && set.row_count > 0) {
        status = tc_warehouse_begin(r->made, err);
        status = status == TC_OK ? tc_warehouse_forget(r->made, &what, &gone, err) : status;
        status = status == TC_OK ? tc_warehouse_commit(r->made, err) : status;
    }
    free(keys);
    tc_answer_fini(&set);
    return status;
}

/* ---- all ---- */

static tc_status read_all(struct verdicts *v, struct tc_error *err)
{
    char(*names)[TC_LEDGER_NAME_MAX] = NULL;
    size_t count = 0;
    TC_TRY(tc_ledger_list(v->r->dir, TC_LEDGER_VERDICTS, &names, &count, err));
    tc_status status = copy_older(v, count > 0 ? names[0] : NULL, err);
    for (size_t i = 0; i < count && status == TC_OK; i++) {
        status = tc_ledger_read(v->r->dir, names[i], take, v, &v->r->ledger_damaged, err);
    }
    status = status == TC_OK ? flush(v) : status;
    status = status == TC_OK ? commit(v) : status;
    status = status == TC_OK ? forget_retired(v, err) : status;
    tc_warehouse_rollback(v->r->made);
    free(names);
    return status;
}

tc_status tc_rebuild_verdicts(struct tc_rebuild *r, struct tc_error *err)
{
    struct verdicts v = {.r = r,
                         .err = err,
                         .inner = tc_json_parser_create(),
                         .rows = tc_rows_create(TC_TABLE_VERDICT),
                         .fresh = tc_rows_create(TC_TABLE_VERDICT)};
    tc_status status = v.inner == NULL || v.rows == NULL || v.fresh == NULL ? tc_rebuild_nomem(err)
                                                                            : read_all(&v, err);
    tc_json_parser_destroy(v.inner);
    tc_rows_destroy(v.rows);
    tc_rows_destroy(v.fresh);
    return status;
}
