/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's warehouse: its socket, and the thread that writes to it. */
#include "base/clock.h"
#include "base/time.h"
#include "observe/log.h"
#include "server/daemon_priv.h"
#include "server/warehouse/slicing.h"

/* For commands to end, also where the time to stop is used up: they are interrupted, and soon go.
 */
#define CLIENTS_WAIT_MIN (2 * TC_SECOND)

/* Of limits.memory: so much of it may wait for the slicer before that is called. */
#define WAKE_PART 4

static tc_status start(struct tc_daemon *d, struct tc_error *err)
{
    const struct tc_config *c = &d->config;
    struct tc_warehouse_feed_parts feed = {
        .data_dir = d->options.data_dir,
        .hub = d->hub,
        .outbox = d->outbox,
        .runs = d->runs,
        .wants_slices = c->warehouse_slices,
        .slicer = tc_warehouse_slicing_of(c, d->evidence_dir),
        .wants_requests = c->warehouse_requests,
        .requests = tc_warehouse_requests_of(c, d->evidence_dir),
        .wake_bytes = (size_t)c->limits_memory / WAKE_PART,
    };
    struct tc_warehouse_service_config service = {
        .data_dir = d->options.data_dir,
        .clients = (size_t)c->warehouse_clients,
        .query_ns = c->warehouse_query_timeout,
        .query_rows = (uint64_t)c->warehouse_query_rows,
    };
    if (c->warehouse_slices && c->hot_metrics_enabled) {
        d->hot = tc_hot_page_create(c);
        if (d->hot == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for hot metrics (hot_metrics.series)");
        }
    }
    if (d->hot != NULL && c->hot_metrics_remote_write_url[0] != '\0') {
        struct tc_remote_write_config remote = {
            .url = c->hot_metrics_remote_write_url,
            .headers = c->hot_metrics_remote_write_headers,
            .interval_ns = c->hot_metrics_remote_write_interval,
            .timeout_ns = c->hot_metrics_remote_write_timeout,
            .page = d->hot,
        };
        TC_TRY(tc_remote_write_start(&remote, &d->remote, err));
    }
    feed.slicer.hot = d->hot;
    feed.slicer.handoff = d->handoff;
    feed.requests.handoff = d->handoff;
    if (c->warehouse_slices &&
        tc_warehouse_slicing_note(d->options.data_dir, &feed.slicer, err) != TC_OK) {
        tc_log_fields(TC_LOG_WARN, "how metrics are sliced is not in the ledger",
                      TC_LOG_CSTR("error", err->message));
    }
    TC_TRY(tc_warehouse_feed_start(&feed, &d->feed, err));
    return tc_warehouse_service_start(&service, d->hub, &d->warehouse, err);
}

tc_status tc__daemon_warehouse_start(struct tc_daemon *d, struct tc_error *err)
{
    const struct tc_config *c = &d->config;
    struct tc_warehouse_hub_config config = {
        .data_dir = d->options.data_dir,
        .url = c->warehouse_url,
        .memory_bytes = (size_t)c->warehouse_memory,
        .threads = (unsigned)c->warehouse_threads,
    };
    if (!c->warehouse_enabled) {
        return TC_OK;
    }
    TC_TRY(tc_warehouse_check_url(config.url, err));
    d->hub = tc_warehouse_hub_create(&config);
    return d->hub == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the warehouse")
                          : start(d, err);
}

/* What is left of the time to stop. */
static int64_t time_left(const struct tc_daemon *d)
{
    int64_t left_ns = d->stop_by_ns - tc_mono_ns();
    return left_ns > CLIENTS_WAIT_MIN ? left_ns : CLIENTS_WAIT_MIN;
}

bool tc__daemon_warehouse_stop(struct tc_daemon *d, bool ended)
{
    tc_warehouse_feed_stop(d->feed, d->config.server_shutdown_timeout);
    tc_remote_write_stop(d->remote);
    tc_hot_page_destroy(d->hot);
    d->remote = NULL;
    d->hot = NULL;
    if (d->hub != NULL) {
        tc_warehouse_hub_retire(d->hub);
    }
    ended = tc_warehouse_service_stop(d->warehouse, time_left(d)) && ended;
    if (ended) {
        tc_warehouse_hub_destroy(d->hub);
    }
    d->warehouse = NULL;
    d->feed = NULL;
    d->hub = NULL;
    return ended;
}
