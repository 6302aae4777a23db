/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the daemon's traces from its evidence; what that no longer has, from the old one. */
#include "cli/rebuild/rebuild.h"

static tc_status open_made(void *context, struct tc_warehouse **out_warehouse, struct tc_error *err)
{
    const struct tc_rebuild *r = context;
    (void)err;
    *out_warehouse = r->made;
    return TC_OK;
}

static tc_status feed(struct tc_rebuild *r, const struct tc_warehouse_requests_config *config,
                      struct tc_error *err)
{
    struct tc_warehouse_requests *requests = tc_warehouse_requests_create(config);
    bool more = true;
    tc_status status = requests == NULL ? tc_rebuild_nomem(err) : TC_OK;
    while (status == TC_OK && more) {
        status = tc_warehouse_requests_step(requests, r->now_ns, &more, err);
        tc_progress_add(&r->progress, 0, 0);
    }
    tc_warehouse_requests_destroy(requests);
    return status;
}

tc_status tc_rebuild_copy_requests(struct tc_rebuild *r, uint64_t first, struct tc_error *err)
{
    int64_t before = first > INT64_MAX ? INT64_MAX : (int64_t)first;
    const struct tc_bind number = {.type = TC_COLUMN_INT, .as.integer = before};
    return tc_rebuild_copy(r, TC_TABLE_REQUEST, "evidence_batch < ?", &number, 1, NULL, err);
}

tc_status tc_rebuild_requests(struct tc_rebuild *r,
                              const struct tc_warehouse_requests_config *config,
                              struct tc_error *err)
{
    struct tc_warehouse_requests_config all = *config;
    all.catch_up_ns = r->now_ns; /* all there is */
    all.open = open_made;
    all.context = r;
    return feed(r, &all, err);
}
