/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of the audit log, or a claim alone: what is read is written again as the same bytes. */
#include "base/assert.h"
#include "publish/audit.h"
#include "publish/claim.h"

#include <stdlib.h>

static void read_claim(struct tc_slice in)
{
    struct tc_claim claim;
    struct tc_error err;
    char *text = NULL;
    size_t len = 0;
    char id[TC_NUMBER_ID_BYTES];
    struct tc_digest entry = {{0}};
    if (tc_claim_read(in, &claim, &err) == TC_OK) {
        TC_ASSERT(tc_claim_write(&claim, &text, &len, &err) == TC_OK);
        TC_ASSERT(tc_slice_eq(in, tc_slice_make(text, len)));
        TC_ASSERT(tc_claim_name(in, id, &err) == TC_OK && tc_claim_is_name(tc_slice_cstr(id)));
        struct tc_rows *rows = tc_claim_rows(&claim, id, 0, &entry);
        TC_ASSERT(rows == NULL || rows->count == claim.run_count);
        tc_rows_destroy(rows);
        free(text);
    }
    tc_claim_fini(&claim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_slice in = tc_slice_make((const char *)data, size);
    struct tc_audit_entry entry;
    struct tc_error err;
    char *memory = NULL;
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser != NULL && tc_audit_parse(parser, in, &entry, &memory, &err) == TC_OK) {
        read_claim(entry.claim);
    }
    free(memory);
    tc_json_parser_destroy(parser);
    read_claim(in);
    return 0;
}
