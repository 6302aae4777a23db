/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/source.h"

#include "base/json/json.h"
#include "run/record.h"
#include "warehouse/answer.h"
#include "warehouse/ledger.h"

#include <stdlib.h>
#include <string.h>

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for what a claim stands on");
}

/* ---- files of a data_dir ---- */

static tc_status read_stored(void *context, const struct tc_digest *digest, uint64_t size_max,
                             char **out_bytes, size_t *out_len, struct tc_error *err)
{
    return tc_files_read(context, digest, size_max, out_bytes, out_len, err);
}

static tc_status check_stored(void *context, const struct tc_digest *digest, uint64_t *out_size,
                              struct tc_error *err)
{
    return tc_files_check(context, digest, out_size, err);
}

/* ---- what the ledger says ---- */

struct search {
    const struct tc_claim *claim;
    struct tc_run_proof *proofs;
    struct tc_json_parser *parser;
    struct tc_error *err;
};

/* Runs of a claim are in the order of their ids; SIZE_MAX: it is none of them. */
static size_t index_of(const struct tc_claim *claim, struct tc_slice run_id)
{
    size_t low = 0;
    size_t high = claim->run_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = tc_slice_cmp(claim->runs[middle].run_id, run_id);
        if (order == 0) {
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return SIZE_MAX;
}

/* The last record of the run with the same manifest counts: it may have been added again. */
static tc_status take_record(void *context, struct tc_slice json)
{
    struct search *s = context;
    struct tc_json root;
    struct tc_error ignored;
    if (tc_json_parse(s->parser, json, &root, &ignored) != TC_OK ||
        !tc_slice_eq(tc_json_get_string(root, TC_LIT("event")), TC_LIT(TC_RECORD_ADD))) {
        return TC_OK;
    }
    size_t at = index_of(s->claim, tc_json_get_string(root, TC_LIT("run_id")));
    if (at == SIZE_MAX ||
        !tc_slice_eq(tc_json_get_string(root, TC_LIT("manifest")), s->claim->runs[at].manifest)) {
        return TC_OK;
    }
    char *copy = malloc(json.len + 1);
    if (copy == NULL) {
        return no_memory(s->err);
    }
    memcpy(copy, json.ptr, json.len);
    free(s->proofs[at].record);
    s->proofs[at].record = copy;
    s->proofs[at].record_len = json.len;
    return TC_OK;
}

static tc_status find_records(const char *data_dir, const struct tc_claim *claim,
                              struct tc_run_proof *proofs, struct tc_error *err)
{
    uint64_t damaged = 0; /* what is missing then is told as missing */
    struct search s = {claim, proofs, tc_json_parser_create(), err};
    if (s.parser == NULL) {
        return no_memory(err);
    }
    tc_status status = tc_ledger_read(data_dir, TC_LEDGER_COMMANDS, take_record, &s, &damaged, err);
    tc_json_parser_destroy(s.parser);
    return status;
}

/* ---- signatures ---- */

static tc_status find_signature(struct tc_warehouse *w, const struct tc_claim_run *run,
                                struct tc_run_proof *proof, struct tc_error *err)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run->run_id};
    struct tc_answer set;
    TC_TRY(tc_answer_query(w, "SELECT signature_digest FROM artifact_lineage_dim WHERE run_id = ?",
                           &id, 1, &set, err));
    proof->is_signed =
        set.row_count > 0 && tc_digest_parse(tc_answer_text(&set, 0, 0), &proof->signature);
    tc_answer_fini(&set);
    return TC_OK;
}

tc_status tc_source_stored(const char *data_dir, struct tc_files *files, struct tc_warehouse *w,
                           const struct tc_claim *claim, struct tc_source *out,
                           struct tc_error *err)
{
    *out = (struct tc_source){
        .context = files,
        .read = read_stored,
        .check = check_stored,
        .bytes = tc_run_bytes_of(files),
        .proofs = calloc(claim->run_count + 1, sizeof *out->proofs),
        .proof_count = claim->run_count,
    };
    if (out->proofs == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < claim->run_count; i++) {
        TC_TRY(find_signature(w, &claim->runs[i], &out->proofs[i], err));
    }
    return find_records(data_dir, claim, out->proofs, err);
}

void tc_source_fini(struct tc_source *source)
{
    for (size_t i = 0; source->proofs != NULL && i < source->proof_count; i++) {
        free(source->proofs[i].record);
    }
    free(source->proofs);
    *source = (struct tc_source){0};
}
