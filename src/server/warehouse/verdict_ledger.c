/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts that were written to the tables: in the ledger, and from there again; each once. */
#include "server/warehouse/verdict.h"

#include "base/json/out.h"
#include "warehouse/ledger.h"

/* ---- the ledger ---- */

static struct tc_slice text_of(const struct tc_rows *rows, size_t column, size_t row)
{
    return tc_rows_is_null(rows, column, row) ? TC_EMPTY : tc_rows_get_text(rows, column, row);
}

void tc_warehouse_verdict_note(const struct tc_rows *rows, size_t row, struct tc_slice line,
                               int64_t told_ns, struct tc_grow *lines)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_object_grow(&g);
    tc_json_put_i64(&j, "told_ns", told_ns);
    tc_json_put_some(&j, "run_id", text_of(rows, TC_VERDICT_RUN_ID, row));
    tc_json_put_some(&j, "run_join", text_of(rows, TC_VERDICT_RUN_JOIN, row));
    tc_json_put_str(&j, "verdict", line);
    tc_json_end_object(&j);
    tc_ledger_add(lines, tc_grow_slice(&g));
    lines->failed |= g.failed;
    tc_grow_fini(&g);
}

tc_status tc_warehouse_verdict_again(struct tc_json_parser *parser, struct tc_json_parser *inner,
                                     struct tc_slice json, struct tc_rows *rows,
                                     struct tc_error *err)
{
    struct tc_json root;
    TC_TRY(tc_json_parse(parser, json, &root, err));
    struct tc_slice run = tc_json_get_string(root, TC_LIT("run_id"));
    struct tc_slice join = tc_json_get_string(root, TC_LIT("run_join"));
    TC_TRY(tc_warehouse_verdict_row(inner, tc_json_get_string(root, TC_LIT("verdict")),
                                    tc_json_get_int(root, TC_LIT("told_ns"), 0), NULL, rows, err));
    if (run.len > 0 && (tc_rows_text(rows, TC_VERDICT_RUN_ID, run) != TC_OK ||
                        tc_rows_text(rows, TC_VERDICT_RUN_JOIN, join) != TC_OK)) {
        rows->count--;
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a verdict's row");
    }
    return TC_OK;
}

/* ---- once ---- */

static struct tc_slice digest_of(const struct tc_rows *rows, size_t row)
{
    return tc_rows_get_text(rows, TC_VERDICT_DIGEST, row);
}

struct existing {
    const struct tc_rows *rows;
    bool *known;
};

static tc_status take_existing(void *context, const struct tc_rows *found)
{
    struct existing *e = context;
    for (size_t i = 0; i < found->count; i++) {
        struct tc_slice digest = tc_rows_get_text(found, 0, i);
        for (size_t k = 0; k < e->rows->count; k++) {
            e->known[k] = e->known[k] || tc_slice_eq(digest_of(e->rows, k), digest);
        }
    }
    return TC_OK;
}

tc_status tc_warehouse_verdicts_known(struct tc_warehouse *w, const struct tc_rows *rows,
                                      bool out_known[TC_WAREHOUSE_VERDICTS_MAX],
                                      struct tc_error *err)
{
    struct existing e = {.rows = rows, .known = out_known};
    struct tc_bind binds[TC_WAREHOUSE_VERDICTS_MAX];
    char sql[128 + TC_WAREHOUSE_VERDICTS_MAX * 2];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    tc_buf_lit(&b, "SELECT verdict_digest FROM verdict_fact WHERE verdict_digest IN (");
    for (size_t i = 0; i < rows->count; i++) {
        tc_buf_str(&b, i == 0 ? TC_LIT("?") : TC_LIT(",?"));
        binds[i] = (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = digest_of(rows, i)};
        out_known[i] = false;
        for (size_t k = 0; k < i; k++) {
            out_known[i] = out_known[i] || tc_slice_eq(digest_of(rows, k), digest_of(rows, i));
        }
    }
    tc_buf_char(&b, ')');
    struct tc_query query = {.sql = tc_buf_slice(&b), .binds = binds, .bind_count = rows->count};
    return tc_warehouse_query(w, &query, take_existing, &e, NULL, err);
}
