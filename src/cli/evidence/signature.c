/* SPDX-License-Identifier: Apache-2.0 */
/* The row of a run that says by which envelope it is signed. */
#include "cli/evidence/evidence.h"
#include "cli/proof.h"
#include "run/conditions.h"
#include "run/update.h"
#include "warehouse/ledger.h"

/* The run's row, as it is but for the signature. Its key stays: benchmark_run_fact has it. */
static tc_status set_signature(void *context, struct tc_rows *rows)
{
    const struct tc_slice *signature = context;
    for (size_t row = 0; row < rows->count; row++) {
        tc_rows_seek(rows, row);
        if (tc_rows_text(rows, TC_LINEAGE_SIGNING_STATE, TC_LIT(TC_PROOF_STATE)) != TC_OK ||
            tc_rows_text(rows, TC_LINEAGE_SIGNATURE_DIGEST, *signature) != TC_OK) {
            return TC_E_NOMEM;
        }
    }
    return TC_OK;
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

static tc_status replace(struct tc_warehouse *w, struct tc_slice run, struct tc_slice signature,
                         const char *data_dir, struct tc_error *err)
{
    TC_TRY(
        tc_run_update(w, TC_TABLE_LINEAGE, TC_LINEAGE_RUN_ID, run, set_signature, &signature, err));
    TC_TRY(tc_run_settle(w, run, err));
    if (data_dir != NULL) {
        TC_TRY(record(data_dir, run, signature, err));
    }
    return tc_warehouse_commit(w, err);
}

tc_status tc_evidence_set_signature(struct tc_warehouse *w, const char *run_id,
                                    struct tc_slice signature, const char *data_dir,
                                    struct tc_error *err)
{
    TC_TRY(tc_warehouse_begin(w, err));
    tc_status status = replace(w, tc_slice_cstr(run_id), signature, data_dir, err);
    if (status != TC_OK) {
        tc_warehouse_rollback(w);
    }
    return status;
}
