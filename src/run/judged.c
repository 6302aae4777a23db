/* SPDX-License-Identifier: Apache-2.0 */
#include "run/judged.h"

#include "base/digest.h"
#include "base/json/json.h"
#include "contract/contract.h"
#include "warehouse/answer.h"

#include <stdlib.h>

#define METRICS_MAX 64

/* The file of the contract, as the run's lineage lists it. */
static bool contract_digest(struct tc_slice raw_uris, struct tc_digest *out)
{
    struct tc_json root;
    struct tc_json file;
    struct tc_error err;
    bool found = false;
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser != NULL && tc_json_parse(parser, raw_uris, &root, &err) == TC_OK) {
        struct tc_json_iter it = tc_json_iter_make(root);
        while (!found && tc_json_iter_next(&it, NULL, &file)) {
            found = tc_slice_eq(tc_json_get_string(file, TC_LIT("role")), TC_LIT("contract")) &&
                    tc_digest_parse(tc_json_get_string(file, TC_LIT("digest")), out);
        }
    }
    tc_json_parser_destroy(parser);
    return found;
}

static void put_metrics(const struct tc_contract *c, struct tc_grow *out)
{
    for (size_t n = 0; n < 2 * METRICS_MAX; n++) {
        struct tc_slice metric = tc_contract_metric(c, n >= METRICS_MAX, n % METRICS_MAX);
        if (metric.len > 0) {
            tc_grow_str(out, out->buf.len > 0 ? TC_LIT(" ") : TC_EMPTY);
            tc_grow_str(out, tc_contract_metric_columns(metric));
        }
    }
}

/* A contract that cannot be read any more is as good as none: the defaults serve. */
static void read_contract(const char *data_dir, const struct tc_digest *digest, struct tc_grow *out)
{
    struct tc_files *files = NULL;
    struct tc_contract *contract = NULL;
    struct tc_error err;
    char *bytes = NULL;
    size_t len = 0;
    if (tc_files_open(data_dir, false, &files, &err) == TC_OK &&
        tc_files_read(files, digest, TC_CONTRACT_BYTES_MAX, &bytes, &len, &err) == TC_OK &&
        tc_contract_parse(tc_slice_make(bytes, len), &contract, &err) == TC_OK) {
        put_metrics(contract, out);
    }
    tc_contract_destroy(contract);
    free(bytes);
    tc_files_close(files);
}

tc_status tc_run_judged_by(struct tc_warehouse *w, const char *data_dir, struct tc_slice run_id,
                           struct tc_grow *out, struct tc_error *err)
{
    struct tc_answer lineage;
    struct tc_digest digest;
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run_id};
    TC_TRY(tc_answer_query(w, "SELECT raw_uris FROM artifact_lineage_dim WHERE run_id = ?", &id, 1,
                           &lineage, err));
    if (lineage.row_count > 0 && contract_digest(tc_answer_text(&lineage, 0, 0), &digest)) {
        read_contract(data_dir, &digest, out);
    }
    tc_answer_fini(&lineage);
    return TC_OK;
}
