/* SPDX-License-Identifier: Apache-2.0 */
#include "run/evidence_refs.h"

#include <stdio.h>

enum tc_needed tc_run_evidence_refs(void *warehouse, const struct tc_digest *digest)
{
    char text[TC_DIGEST_TEXT];
    char like[TC_DIGEST_TEXT + 2];
    int64_t lineages = 0;
    int64_t numbers = 0;
    struct tc_error err;
    tc_digest_text(digest, text);
    (void)snprintf(like, sizeof like, "%%%s%%", text);
    struct tc_bind exact = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(text)};
    struct tc_bind part = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(like)};
    const struct tc_bind binds[] = {part, part, exact, exact};
    if (tc_warehouse_int(warehouse,
                         "SELECT count(*) FROM artifact_lineage_dim WHERE raw_uris LIKE ? OR "
                         "report_packets LIKE ? OR artifact_manifest_digest = ? OR "
                         "signature_digest = ?",
                         binds, 4, 0, &lineages, &err) != TC_OK ||
        tc_warehouse_int(warehouse,
                         "SELECT count(*) FROM published_number WHERE "
                         "artifact_manifest_digest = ?",
                         &exact, 1, 0, &numbers, &err) != TC_OK) {
        return TC_NEEDED_UNKNOWN;
    }
    return lineages + numbers > 0 ? TC_NEEDED_YES : TC_NEEDED_NO;
}
