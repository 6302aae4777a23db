/* SPDX-License-Identifier: Apache-2.0 */
/* The row of a run that says by which envelope it is signed. */
#include "cli/evidence/evidence.h"
#include "cli/proof.h"
#include "warehouse/ledger.h"

struct copying {
    struct tc_rows *rows;
    struct tc_slice signature;
    bool failed;
};

/* The run's row, as it is but for the signature. Its key stays: benchmark_run_fact has it. */
static tc_status copy_row(void *context, const struct tc_rows *from)
{
    struct copying *c = context;
    for (size_t row = 0; row < from->count && c->rows->count == 0; row++) {
        bool good = tc_rows_add(c->rows);
        for (size_t column = 0; column < TC_LINEAGE_COLUMNS && good; column++) {
            if (column == TC_LINEAGE_SIGNING_STATE) {
                good = tc_rows_text(c->rows, column, TC_LIT(TC_PROOF_STATE)) == TC_OK;
            } else if (column == TC_LINEAGE_SIGNATURE_DIGEST) {
                good = tc_rows_text(c->rows, column, c->signature) == TC_OK;
            } else {
                good = tc_rows_copy_cell(c->rows, column, from, column, row, TC_ROWS_TEXT_MAX) ==
                       TC_OK;
            }
        }
        c->failed |= !good;
    }
    return c->failed ? TC_E_NOMEM : TC_OK;
}

static tc_status query_row(struct tc_warehouse *w, struct tc_slice run, struct copying *c,
                           struct tc_error *err)
{
    struct tc_grow sql = {0};
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run};
    tc_table_select(&sql, TC_TABLE_LINEAGE);
    tc_grow_lit(&sql, " WHERE run_id = ?");
    struct tc_query query = {.sql = tc_grow_slice(&sql), .binds = &id, .bind_count = 1};
    tc_status status =
        sql.failed ? TC_E_NOMEM : tc_warehouse_query(w, &query, copy_row, c, NULL, err);
    tc_grow_fini(&sql);
    if (sql.failed || c->failed) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the row of the run");
    }
    return status;
}

static tc_status record(const char *data_dir, struct tc_slice run, struct tc_slice signature,
                        struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_object_grow(&g);
    tc_json_put_plain(&j, "event", TC_LIT(TC_EVIDENCE_SIGNED));
    tc_json_put_str(&j, "run_id", run);
    tc_json_put_str(&j, "signature", signature);
    tc_json_end_object(&j);
    return tc_ledger_record(data_dir, TC_LEDGER_COMMANDS, &g, err);
}

static tc_status replace(struct tc_warehouse *w, struct tc_slice run, struct copying *c,
                         const char *data_dir, struct tc_error *err)
{
    struct tc_forget old = {.table = TC_TABLE_LINEAGE,
                            .key_column = TC_LINEAGE_RUN_ID,
                            .keys = &run,
                            .key_count = 1,
                            .before_us = INT64_MIN};
    uint64_t gone = 0;
    TC_TRY(query_row(w, run, c, err));
    TC_TRY(tc_warehouse_forget(w, &old, &gone, err));
    TC_TRY(tc_warehouse_append(w, TC_TABLE_LINEAGE, c->rows, err));
    if (data_dir != NULL) {
        TC_TRY(record(data_dir, run, c->signature, err));
    }
    return tc_warehouse_commit(w, err);
}

tc_status tc_evidence_set_signature(struct tc_warehouse *w, const char *run_id,
                                    struct tc_slice signature, const char *data_dir,
                                    struct tc_error *err)
{
    struct copying c = {.rows = tc_rows_create(TC_TABLE_LINEAGE), .signature = signature};
    if (c.rows == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the row of the run");
    }
    tc_status status = tc_warehouse_begin(w, err);
    if (status == TC_OK) {
        status = replace(w, tc_slice_cstr(run_id), &c, data_dir, err);
        if (status != TC_OK) {
            tc_warehouse_rollback(w);
        }
    }
    tc_rows_destroy(c.rows);
    return status;
}
