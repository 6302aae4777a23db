/* SPDX-License-Identifier: Apache-2.0 */
/* One run: its files out of the evidence, and the import over them. */
#include "cli/rebuild/rebuild.h"
#include "run/again.h"

#include <stdio.h>

static tc_status copy_bytes(void *context, const struct tc_digest *digest, int to,
                            uint64_t *out_size, struct tc_error *err)
{
    struct tc_rebuild *r = context;
    return tc_files_copy(r->files, digest, to, out_size, err);
}

static void advance(void *context, uint64_t bytes)
{
    struct tc_rebuild *r = context;
    tc_progress_add(&r->progress, bytes, 1);
}

static tc_status add(struct tc_rebuild *r, const struct tc_run_record *record,
                     char why[TC_RUN_WHY_BYTES], struct tc_error *err)
{
    const struct tc_run_bytes bytes = {.context = r, .copy = copy_bytes, .progress = advance};
    char work[TC_REBUILD_PATH_BYTES];
    if (r->files == NULL) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "there are no files");
    }
    (void)snprintf(work, sizeof work, "%s/files", r->work);
    TC_TRY(tc_files_check(r->files, &record->manifest, NULL, err));
    TC_TRY(tc_run_again(r->made, record, &bytes, work, why, err));
    r->runs_made++;
    return TC_OK;
}

/* ---- what becomes of one that cannot be made ---- */

static tc_status copy(struct tc_rebuild *r, const struct tc_run_record *record, const char *why,
                      struct tc_error *err)
{
    uint64_t rows = 0;
    TC_TRY(tc_rebuild_copy_run(r, record->run_id, &rows, err));
    if (rows > 0) {
        r->runs_copied++;
        r->has_gone = true;
        tc_rebuild_note(r, "run %.*s: its rows are copied from the old database: %s",
                        TC_FMT(record->run_id), why);
    } else {
        r->runs_lost++;
        tc_rebuild_note(r, "run %.*s is not in the new database: %s", TC_FMT(record->run_id), why);
    }
    return TC_OK;
}

/* Whether the old tables, which can be read, do not have it: it never was there, or no longer. */
static tc_status is_unknown(struct tc_rebuild *r, struct tc_slice run, bool *out)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run};
    struct tc_error ignored;
    int64_t count = 0;
    *out = r->old != NULL &&
           tc_warehouse_int(r->old, "SELECT count(*) FROM artifact_lineage_dim WHERE run_id = ?",
                            &id, 1, 1, &count, &ignored) == TC_OK &&
           count == 0;
    return TC_OK;
}

tc_status tc_rebuild_run(struct tc_rebuild *r, const struct tc_run_record *record, bool is_gone,
                         struct tc_error *err)
{
    struct tc_error why = {0};
    char told[TC_RUN_WHY_BYTES] = "";
    bool unknown = false;
    tc_status status = add(r, record, told, &why);
    if (status == TC_OK) {
        return TC_OK;
    }
    bool is_its_own = status == TC_E_NOTFOUND || status == TC_E_MALFORMED || status == TC_E_LIMIT ||
                      status == TC_E_UNSUPPORTED || status == TC_E_USAGE;
    if (!is_its_own) { /* the disk, the memory */
        *err = why;
        return status;
    }
    if (status == TC_E_NOTFOUND) {
        TC_TRY(is_unknown(r, record->run_id, &unknown));
        r->has_gone |= is_gone;
        if (is_gone || unknown) {
            return TC_OK; /* removed for its age; or an import that did not come to its end */
        }
    }
    return copy(r, record, told[0] != '\0' ? told : why.message, err);
}
