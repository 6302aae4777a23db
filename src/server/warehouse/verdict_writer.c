/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/verdict_writer.h"

#include "base/json/json.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/warehouse/verdict_ledger.h"
#include "warehouse/ledger.h"
#include "warehouse/verdicts.h"

#include <stdlib.h>
#include <string.h>

#define VERDICTS_MAX TC_WAREHOUSE_VERDICTS_MAX

struct tc_verdict_writer {
    struct tc_outbox *outbox;
    const char *data_dir;
    struct tc_json_parser *parser;
    struct tc_rows *rows;
    struct tc_grow lines;            /* of the ledger, for the rows */
    char ledger[TC_LEDGER_NAME_MAX]; /* where they go */
    struct tc_outbox_place place;    /* where the pull ended */
    /* One round: what was pulled, and which of it is there already. */
    size_t most; /* verdicts to pull: of the second time, those of the first and none that came
                    since */
    size_t at;   /* of those that the outbox gave */
    bool is_known[VERDICTS_MAX];
    bool is_second; /* now without those */
};

struct tc_verdict_writer *tc_verdict_writer_create(struct tc_outbox *outbox, const char *data_dir)
{
    struct tc_verdict_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->outbox = outbox;
    w->data_dir = data_dir;
    w->parser = tc_json_parser_create();
    w->rows = tc_rows_create(TC_TABLE_VERDICT);
    if (w->parser == NULL || w->rows == NULL) {
        tc_verdict_writer_destroy(w);
        return NULL;
    }
    return w;
}

void tc_verdict_writer_destroy(struct tc_verdict_writer *w)
{
    if (w == NULL) {
        return;
    }
    tc_json_parser_destroy(w->parser);
    tc_rows_destroy(w->rows);
    tc_grow_fini(&w->lines);
    free(w);
}

static tc_status take_verdict(void *context, struct tc_slice json, int64_t taken_ns)
{
    struct tc_verdict_writer *w = context;
    struct tc_error err = {0};
    size_t at = w->at++;
    if (w->is_second && w->is_known[at]) {
        return TC_OK;
    }
    tc_status status = tc_warehouse_verdict_row(w->parser, json, taken_ns, w->rows, &err);
    if (status == TC_E_NOMEM) {
        return status;
    }
    if (status == TC_OK) {
        if (w->rows->count == 1) {
            tc_ledger_month(taken_ns, w->ledger);
        }
        tc_warehouse_verdict_note(w->rows, w->rows->count - 1, json, taken_ns, &w->lines);
        return w->lines.failed ? TC_E_NOMEM : TC_OK;
    }
    w->is_known[at] = true; /* it will never be one */
    if (!w->is_second) {
        tc_count(TC_COUNT_WAREHOUSE_UNREADABLE, 1);
        tc_log_fields(TC_LOG_ERROR, "a verdict is left out of the warehouse",
                      TC_LOG_CSTR("error", err.message));
    }
    return TC_OK;
}

/* Rows count only those verdicts that could be read: finds which verdict a row is. */
static void mark_known(struct tc_verdict_writer *w, size_t row)
{
    size_t seen = 0;
    for (size_t i = 0; i < w->at; i++) {
        if (w->is_known[i]) {
            continue;
        }
        if (seen == row) {
            w->is_known[i] = true;
            return;
        }
        seen++;
    }
}

/* Which of the rows the warehouse has, or are there twice. */
static tc_status find_known(struct tc_verdict_writer *w, struct tc_warehouse *warehouse,
                            bool *out_any, struct tc_error *err)
{
    bool known[VERDICTS_MAX];
    TC_TRY(tc_warehouse_verdicts_known(warehouse, w->rows, known, err));
    *out_any = false;
    /* From the back: a mark changes what the rows before it are counted by, not those behind. */
    for (size_t i = w->rows->count; i > 0; i--) {
        if (known[i - 1]) {
            mark_known(w, i - 1);
            *out_any = true;
        }
    }
    return TC_OK;
}

static tc_status pull(struct tc_verdict_writer *w, struct tc_error *err)
{
    w->at = 0;
    tc_rows_reset(w->rows);
    tc_grow_fini(&w->lines);
    tc_status status = tc_outbox_pull(w->outbox, w->most, take_verdict, w, &w->place);
    return status == TC_OK ? TC_OK : tc_fail(err, status, 0, "the outbox cannot be read");
}

tc_status tc_verdict_writer_pull(struct tc_verdict_writer *w, struct tc_error *err)
{
    w->most = VERDICTS_MAX;
    w->is_second = false;
    memset(w->is_known, 0, sizeof w->is_known);
    return pull(w, err);
}

size_t tc_verdict_writer_count(const struct tc_verdict_writer *w)
{
    return w->rows->count;
}

static tc_status write_rows(struct tc_verdict_writer *w, struct tc_warehouse *warehouse,
                            struct tc_error *err)
{
    bool any = false;
    TC_TRY(tc_warehouse_begin(warehouse, err));
    TC_TRY(find_known(w, warehouse, &any, err));
    if (any) {
        w->most = w->at;
        w->is_second = true;
        TC_TRY(pull(w, err));
    }
    if (w->rows->count > 0) {
        TC_TRY(tc_warehouse_append(warehouse, TC_TABLE_VERDICT, w->rows, err));
        TC_TRY(tc_ledger_append(w->data_dir, w->ledger, tc_grow_slice(&w->lines), err));
    }
    return tc_warehouse_commit(warehouse, err);
}

tc_status tc_verdict_writer_write(struct tc_verdict_writer *w, struct tc_warehouse *warehouse,
                                  struct tc_error *err)
{
    tc_status status = write_rows(w, warehouse, err);
    if (status != TC_OK) {
        tc_warehouse_rollback(warehouse);
        return status;
    }
    tc_count(TC_COUNT_WAREHOUSE_VERDICTS, w->rows->count);
    return TC_OK;
}

void tc_verdict_writer_done(struct tc_verdict_writer *w)
{
    tc_outbox_pulled(w->outbox, &w->place);
}
