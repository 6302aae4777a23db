/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that were published, from the audit log. */
#include "cli/rebuild/rebuild.h"
#include "publish/numbers.h"

#include <string.h>

/* False: what the log has under its name is no claim of it. */
static bool read_claim(const struct tc_number *number, struct tc_claim *out)
{
    char name[TC_NUMBER_ID_BYTES];
    struct tc_error ignored;
    *out = (struct tc_claim){0};
    return number->claim.len > 0 && tc_claim_name(number->claim, name, &ignored) == TC_OK &&
           strcmp(name, number->id) == 0 && tc_claim_read(number->claim, out, &ignored) == TC_OK;
}

static tc_status add(struct tc_rebuild *r, const struct tc_number *number, struct tc_error *err)
{
    struct tc_claim claim;
    if (!read_claim(number, &claim)) {
        tc_rebuild_note(r, "%s is left out: its entry in the audit log is not sound", number->id);
        tc_claim_fini(&claim);
        return TC_OK;
    }
    struct tc_rows *rows =
        tc_claim_rows(&claim, number->id, number->at_ns / 1000, &number->entry_digest);
    tc_status status = rows == NULL ? tc_rebuild_nomem(err)
                                    : tc_warehouse_append(r->made, TC_TABLE_PUBLISHED, rows, err);
    tc_rows_destroy(rows);
    tc_claim_fini(&claim);
    return status;
}

static tc_status add_all(struct tc_rebuild *r, const struct tc_numbers *numbers,
                         struct tc_error *err)
{
    TC_TRY(tc_warehouse_begin(r->made, err));
    tc_status status = TC_OK;
    for (size_t i = 0; status == TC_OK && i < numbers->count; i++) {
        status = numbers->items[i].is_retracted ? TC_OK : add(r, &numbers->items[i], err);
    }
    status = status == TC_OK ? tc_warehouse_commit(r->made, err) : status;
    if (status != TC_OK) {
        tc_warehouse_rollback(r->made);
    }
    return status;
}

tc_status tc_rebuild_published(struct tc_rebuild *r, struct tc_error *err)
{
    struct tc_numbers numbers = {0};
    tc_status status = tc_numbers_read(r->dir, &numbers, err);
    if (status == TC_OK && numbers.chain.broken_at > 0) {
        tc_rebuild_note(r, "the audit log is broken: %s", numbers.chain.why);
    }
    if (status == TC_OK) {
        status = numbers.chain.entries > 0 || numbers.chain.broken_at > 0
                     ? add_all(r, &numbers, err)
                     : tc_rebuild_copy(r, TC_TABLE_PUBLISHED, NULL, NULL, 0, NULL, err);
    }
    tc_numbers_fini(&numbers);
    return status;
}
