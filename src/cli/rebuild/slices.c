/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon made of its evidence: slices of metrics here, requests of traces in requests.c;
 * what the evidence no longer has, from the old one. */
#include "cli/rebuild/rebuild.h"
#include "evidence/store.h"
#include "server/warehouse/slicing.h"
#include "warehouse/answer.h"

#include <stdio.h>

struct first {
    bool any;
    uint64_t number;
    int64_t arrival_ns;
};

static tc_status take_first(void *context, const struct tc_batch *batch,
                            const struct tc_batch_info *info)
{
    struct first *f = context;
    (void)info;
    *f = (struct first){true, batch->number, batch->arrival_ns};
    return TC_E_LIMIT; /* one is enough */
}

/*
 * Evidence is deleted from its beginning. Windows before its first batch are copied, and the one
 * that this came in; the slicer goes on behind them, as it does in a daemon that starts.
 */
static tc_status copy_gone(struct tc_rebuild *r, const struct first *first, int64_t window_ns,
                           struct tc_error *err)
{
    int64_t until_ns = (first->arrival_ns / window_ns + 1) * window_ns;
    struct tc_bind until = {.type = TC_COLUMN_TIME, .as.integer = until_ns / 1000};
    r->has_gone = true;
    return tc_rebuild_copy(r, TC_TABLE_SLICE, "source_digest IS NULL AND window_end <= ?", &until,
                           1, NULL, err);
}

static tc_status slice(struct tc_rebuild *r, const struct tc_warehouse_slicer_config *config,
                       struct tc_error *err)
{
    struct tc_warehouse_slicer *s = tc_warehouse_slicer_create(config);
    bool more = true;
    tc_status status = s == NULL ? tc_rebuild_nomem(err) : TC_OK;
    while (status == TC_OK && more) {
        status = tc_warehouse_slicer_read(s, r->now_ns, &more, err);
        while (status == TC_OK && tc_warehouse_slicer_is_due(s)) {
            status = tc_warehouse_slicer_write(s, r->made, err);
            more = true;
        }
        tc_progress_add(&r->progress, 0, 0);
    }
    tc_warehouse_slicer_destroy(s);
    return status;
}

/* Uploads of metrics whose batch is gone. */
static tc_status copy_uploads(struct tc_rebuild *r, struct tc_error *err)
{
    struct tc_answer set;
    struct tc_error ignored;
    if (r->old == NULL ||
        tc_answer_query(
            r->old,
            "SELECT DISTINCT source_digest FROM telemetry_slice_fact WHERE source_digest "
            "IS NOT NULL AND (run_join IS NULL OR run_join <> 'given')",
            NULL, 0, &set, &ignored) != TC_OK) {
        return TC_OK; /* that it cannot be read was noted */
    }
    tc_status status = TC_OK;
    for (size_t row = 0; row < set.row_count && status == TC_OK; row++) {
        struct tc_bind digest = {.type = TC_COLUMN_TEXT, .as.text = tc_answer_text(&set, row, 0)};
        int64_t count = 0;
        status = tc_warehouse_int(r->made,
                                  "SELECT count(*) FROM telemetry_slice_fact WHERE source_digest = "
                                  "?",
                                  &digest, 1, 0, &count, err);
        if (status == TC_OK && count == 0) {
            status = tc_rebuild_copy(r, TC_TABLE_SLICE, "source_digest = ?", &digest, 1, NULL, err);
        }
    }
    tc_answer_fini(&set);
    return status;
}

static tc_status configure(struct tc_rebuild *r, const char *evidence_dir,
                           const struct tc_config *defaults, struct tc_warehouse_slicer_config *out,
                           struct tc_error *err)
{
    *out = tc_warehouse_slicing_of(defaults, evidence_dir);
    out->catch_up_ns = r->now_ns; /* all there is */
    return tc_warehouse_slicing_recall(r->dir, out, err);
}

tc_status tc_rebuild_evidence(struct tc_rebuild *r, struct tc_error *err)
{
    static struct tc_config defaults;
    char *const none[] = {NULL};
    char dir[TC_REBUILD_PATH_BYTES];
    struct tc_warehouse_slicer_config config;
    struct tc_evidence *evidence = NULL;
    struct first first = {0};
    (void)snprintf(dir, sizeof dir, "%s/evidence", r->dir);
    if (tc_config_read(TC_EMPTY, "the defaults", none, NULL, NULL, &defaults) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "the defaults of the daemon cannot be read");
    }
    TC_TRY(configure(r, dir, &defaults, &config, err));
    tc_status status = tc_evidence_open(dir, &evidence, err);
    if (status == TC_OK) {
        status = tc_evidence_walk(evidence, 0, false, take_first, NULL, &first, err);
        tc_evidence_close(evidence);
        status = first.any ? TC_OK : status;
    } else if (status == TC_E_NOTFOUND) {
        status = TC_OK;
    }
    TC_TRY(status);
    if (!first.any) {
        return tc_rebuild_copy_requests(r, UINT64_MAX, err);
    }
    bool is_gone = first.number > 1; /* evidence is deleted from its beginning */
    if (is_gone) {
        TC_TRY(copy_gone(r, &first, config.window_ns, err));
        TC_TRY(tc_rebuild_copy_requests(r, first.number, err));
    }
    TC_TRY(slice(r, &config, err));
    if (is_gone) {
        TC_TRY(copy_uploads(r, err));
    }
    struct tc_warehouse_requests_config requests = tc_warehouse_requests_of(&defaults, dir);
    return tc_rebuild_requests(r, &requests, err);
}
