/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts that were written to the tables: in the ledger, and from there again; each once. */
#include "server/warehouse/verdict_ledger.h"

#include "base/json/out.h"
#include "warehouse/ledger.h"
#include "warehouse/verdicts.h"

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
                                    tc_json_get_int(root, TC_LIT("told_ns"), 0), rows, err));
    if (run.len > 0 && (tc_rows_text(rows, TC_VERDICT_RUN_ID, run) != TC_OK ||
                        tc_rows_text(rows, TC_VERDICT_RUN_JOIN, join) != TC_OK)) {
        rows->count--;
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a verdict's row");
    }
    return TC_OK;
}
