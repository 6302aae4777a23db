/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon tells of itself: counts that live elsewhere go to the metrics, and the status. */
#include "base/clock.h"
#include "base/time.h"
#include "detect/detector.h"
#include "observe/loop.h"
#include "observe/metrics.h"
#include "server/daemon_priv.h"

#include <string.h>

static void refresh_requests(const struct tc_daemon *d)
{
    struct tc_pool_stats pool;
    tc_pool_stats(d->pool, &pool);
    tc_gauge(TC_COUNT_POOL_USED, (int64_t)pool.used);
    tc_gauge(TC_COUNT_POOL_SPARE, (int64_t)pool.spare);
    tc_gauge(TC_COUNT_POOL_HELD, (int64_t)pool.held);
    tc_gauge(TC_COUNT_POOL_LIMIT, (int64_t)pool.limit);
    tc_gauge(TC_COUNT_MEMORY_WAITING, (int64_t)pool.waiting);
    tc_gauge(TC_COUNT_REQUESTS_WAITING, (int64_t)tc_ingest_in_flight(d->ingest));
    tc_gauge(TC_COUNT_QUEUE_BATCHES, (int64_t)tc_committer_waiting(d->committer));
    tc_gauge(TC_COUNT_QUEUE_BYTES, (int64_t)tc_committer_waiting_bytes(d->committer));
}

static void refresh_live(const struct tc_detection *detection, struct tc_live *live)
{
    struct tc_live_counts c;
    tc_live_counts(live, &c);
    tc_counter_set(TC_COUNT_EVENTS_FED, c.events);
    tc_counter_set(TC_COUNT_EVENTS_LATE, c.late);
    tc_counter_set(TC_COUNT_EVENTS_TOO_LATE, c.too_late);
    tc_counter_set(TC_COUNT_EVENTS_UNJUDGED, c.unjudged);
    tc_counter_set(TC_COUNT_EVENTS_AHEAD, c.ahead);
    tc_counter_set(TC_COUNT_EVENTS_UNDATED, c.undated + tc_detection_undated(detection));
    tc_counter_set(TC_COUNT_EVENTS_MISDATED, c.misdated);
    tc_counter_set(TC_COUNT_EVENTS_CUT_SHORT, c.cut_short);
    tc_counter_set(TC_COUNT_EVENTS_TOO_LARGE, c.too_large);
    tc_counter_set(TC_COUNT_VERDICTS_OPENED, c.opened);
    tc_counter_set(TC_COUNT_VERDICTS_UPDATED, c.updated);
    tc_counter_set(TC_COUNT_VERDICTS_RESOLVED, c.resolved);
    tc_gauge(TC_COUNT_EVENTS_HELD, (int64_t)c.held);
    tc_gauge(TC_COUNT_INCIDENTS_KEPT, (int64_t)c.incidents);
    tc_gauge(TC_COUNT_INCIDENTS_OPEN, (int64_t)c.open);
    tc_counter_set(TC_COUNT_INCIDENTS_FORGOTTEN, c.forgotten);
    tc_counter_set(TC_COUNT_IDENTITIES_FORGOTTEN, c.told_forgotten);
    tc_gauge(TC_COUNT_ENGINE_TIME, c.engine_ns == TC_TIME_NONE ? 0 : c.engine_ns / TC_SECOND);
}

static tc_status count_open(void *context, const struct tc_verdict *v)
{
    (void)context;
    if (v->status != TC_VERDICT_RESOLVED) {
        tc_open_incident_count(tc_pattern_index(v->finding->pattern_name), v->finding->severity);
    }
    return TC_OK;
}

static void refresh_patterns(struct tc_live *live)
{
    size_t count = 0;
    (void)tc_detectors(&count);
    const struct tc_engine *engine = tc_live_engine(live);
    for (size_t i = 0; i < count; i++) {
        struct tc_detector_stats stats;
        bool enabled = tc_engine_is_enabled(engine, i);
        tc_engine_detector_stats(engine, i, &stats);
        tc_pattern_set(i, TC_PATTERN_DROPPED, stats.dropped);
        tc_pattern_set(i, TC_PATTERN_LATE, stats.late);
        tc_pattern_set(i, TC_PATTERN_IGNORED, stats.ignored);
        tc_pattern_set(i, TC_PATTERN_ENABLED, enabled);
        tc_pattern_set(i, TC_PATTERN_BUDGET, enabled ? tc_engine_detector_budget(engine, i) : 0);
    }
    tc_open_incidents_reset();
    if (tc_live_list(live, SIZE_MAX, count_open, NULL) != TC_OK) {
        tc_count(TC_COUNT_DETECTION_FAILED, 1);
    }
}

static void refresh_store(const struct tc_daemon *d)
{
    struct tc_store_stats s;
    tc_store_stats(d->store, &s);
    tc_counter_set(TC_COUNT_EVIDENCE_BATCHES, s.batches);
    tc_counter_set(TC_COUNT_EVIDENCE_BYTES_IN, s.bytes_in);
    tc_counter_set(TC_COUNT_EVIDENCE_BYTES_OUT, s.bytes_out);
    tc_counter_set(TC_COUNT_EVIDENCE_COMMITS, s.commits);
    tc_counter_set(TC_COUNT_EVIDENCE_COMMIT_FAILURES, s.commit_failures);
    tc_counter_set(TC_COUNT_EVIDENCE_TORN, s.torn_count);
    tc_counter_set(TC_COUNT_EVIDENCE_TORN_BYTES, s.torn_bytes);
    tc_counter_set(TC_COUNT_EVIDENCE_DAMAGED, s.damaged);
    tc_counter_set(TC_COUNT_EVIDENCE_SEALED, s.sealed);
    tc_counter_set(TC_COUNT_EVIDENCE_SEALED_HOT, s.sealed_hot);
    tc_counter_set(TC_COUNT_EVIDENCE_DELETED, s.deleted);
    tc_counter_set(TC_COUNT_FORWARD_DROPPED, s.deleted_held);
    tc_counter_set(TC_COUNT_EVIDENCE_CITED, s.cited);
    tc_gauge(TC_COUNT_EVIDENCE_OBJECT_BYTES, (int64_t)s.object_bytes);
    tc_gauge(TC_COUNT_EVIDENCE_WAITING_BYTES, (int64_t)s.waiting_bytes);
    tc_gauge(TC_COUNT_EVIDENCE_KEPT_BATCHES, (int64_t)s.kept_batches);
    tc_gauge(TC_COUNT_EVIDENCE_KEPT_BODY_BYTES, (int64_t)s.kept_body_bytes);
    tc_gauge(TC_COUNT_EVIDENCE_KEPT_BYTES, (int64_t)s.kept_bytes);
    tc_gauge(TC_COUNT_EVIDENCE_FULL, tc_committer_is_full(d->committer));
    if (d->shipper != NULL) {
        struct tc_shipper_stats shipper;
        tc_shipper_stats(d->shipper, &shipper);
        int64_t stalled_ns = tc_wall_ns() - shipper.level_ns;
        tc_counter_set(TC_COUNT_EVIDENCE_REMOTE_SHIPPED, s.shipped);
        tc_counter_set(TC_COUNT_EVIDENCE_REMOTE_FAILURES, shipper.failures);
        tc_gauge(TC_COUNT_EVIDENCE_REMOTE_WAITING, (int64_t)s.unshipped);
        tc_gauge(TC_COUNT_EVIDENCE_REMOTE_WAITING_BYTES, (int64_t)s.unshipped_bytes);
        tc_gauge(TC_COUNT_EVIDENCE_REMOTE_STALLED, stalled_ns < 0 ? 0 : stalled_ns / TC_SECOND);
    }
}

static void refresh_outbox(const struct tc_daemon *d)
{
    struct tc_outbox_stats s;
    tc_outbox_stats(d->outbox, &s);
    tc_counter_set(TC_COUNT_OUTBOX_TAKEN, s.taken);
    tc_counter_set(TC_COUNT_OUTBOX_WRITTEN, s.written);
    tc_counter_set(TC_COUNT_OUTBOX_EXPORTED, s.exported);
    tc_counter_set(TC_COUNT_OUTBOX_RETRIES, s.retries);
    tc_counter_set(TC_COUNT_OUTBOX_REJECTED, s.rejected);
    tc_counter_set(TC_COUNT_OUTBOX_DROPPED_FILE, s.dropped_file);
    tc_counter_set(TC_COUNT_OUTBOX_DROPPED_OTLP, s.dropped_otlp);
    tc_counter_set(TC_COUNT_OUTBOX_DROPPED_PULL, s.dropped_pull);
    tc_gauge(TC_COUNT_OUTBOX_PENDING_FILE, (int64_t)s.pending_file);
    tc_gauge(TC_COUNT_OUTBOX_PENDING_OTLP, (int64_t)s.pending_otlp);
    tc_counter_set(TC_COUNT_OUTBOX_ERRORS, s.errors);
}

static void refresh_alerts(const struct tc_daemon *d)
{
    struct tc_alert_output_stats stats[TC_METRICS_RECEIVERS_MAX];
    struct tc_metrics_receiver shown[TC_METRICS_RECEIVERS_MAX];
    size_t count = tc_outbox_alert_stats(d->outbox, stats, TC_METRICS_RECEIVERS_MAX);
    int64_t now_ns = tc_wall_ns();
    for (size_t i = 0; i < count; i++) {
        const struct tc_alert_output_stats *s = &stats[i];
        int64_t age_ns = s->oldest_ns == 0 || now_ns < s->oldest_ns ? 0 : now_ns - s->oldest_ns;
        shown[i] = (struct tc_metrics_receiver){.delivered = s->delivered,
                                                .refused = s->refused,
                                                .retries = s->retries,
                                                .waiting = s->waiting,
                                                .oldest_s = (uint64_t)(age_ns / TC_SECOND),
                                                .failing = s->failing_ns != 0};
        memcpy(shown[i].name, s->name, sizeof shown[i].name);
    }
    tc_metrics_receivers(shown, count);
}

void tc__daemon_refresh(void *context)
{
    struct tc_daemon *d = context;
    refresh_requests(d);
    refresh_live(d->detection, tc_detection_live(d->detection));
    refresh_patterns(tc_detection_live(d->detection));
    refresh_store(d);
    refresh_outbox(d);
    refresh_alerts(d);
}

/* ---- status ---- */

#define PUT_COUNT(j, key, counter) tc_json_put_u64((j), key, tc_counter_value(counter))

static void put_listeners(const struct tc_daemon *d, struct tc_json_out *j)
{
    tc_json_put_object(j, "listen");
    tc_json_put_cstr(j, "http", d->http_address);
    tc_json_put_cstr(j, "grpc", d->grpc_address);
    tc_json_put_cstr(j, "api", d->api_address);
    tc_json_end_object(j);
}

static void put_traffic(struct tc_json_out *j)
{
    tc_json_put_object(j, "received");
    PUT_COUNT(j, "logs", TC_COUNT_RECORDS_RECEIVED_LOGS);
    PUT_COUNT(j, "metrics", TC_COUNT_RECORDS_RECEIVED_METRICS);
    PUT_COUNT(j, "spans", TC_COUNT_RECORDS_RECEIVED_TRACES);
    PUT_COUNT(j, "uploads", TC_COUNT_UPLOADS);
    PUT_COUNT(j, "forwarded", TC_COUNT_FORWARDED_STORED);
    PUT_COUNT(j, "malformed_requests", TC_COUNT_REJECTED_MALFORMED);
    tc_json_end_object(j);
    tc_json_put_object(j, "events");
    PUT_COUNT(j, "fed", TC_COUNT_EVENTS_FED);
    PUT_COUNT(j, "late", TC_COUNT_EVENTS_LATE);
    PUT_COUNT(j, "too_late", TC_COUNT_EVENTS_TOO_LATE);
    PUT_COUNT(j, "ahead", TC_COUNT_EVENTS_AHEAD);
    PUT_COUNT(j, "misdated", TC_COUNT_EVENTS_MISDATED);
    tc_json_end_object(j);
}

/* Where objects are copied to, and what waits for that. */
static void put_remote(const struct tc_daemon *d, struct tc_json_out *j)
{
    struct tc_shipper_stats s;
    if (d->shipper == NULL) {
        return;
    }
    tc_shipper_stats(d->shipper, &s);
    tc_json_put_object(j, "remote");
    tc_json_put_cstr(j, "url", d->config.evidence_remote);
    PUT_COUNT(j, "objects", TC_COUNT_EVIDENCE_REMOTE_SHIPPED);
    PUT_COUNT(j, "waiting_objects", TC_COUNT_EVIDENCE_REMOTE_WAITING);
    PUT_COUNT(j, "waiting_bytes", TC_COUNT_EVIDENCE_REMOTE_WAITING_BYTES);
    PUT_COUNT(j, "failures", TC_COUNT_EVIDENCE_REMOTE_FAILURES);
    if (s.failing_ns != 0) {
        tc_json_put_time(j, "failing_since", s.failing_ns);
        tc_json_put_cstr(j, "error", s.why.message);
    }
    tc_json_end_object(j);
}

static void put_trouble(const struct tc_daemon *d, struct tc_json_out *j)
{
    struct tc_warehouse_trouble trouble = {0};
    if (d->feed != NULL) {
        tc_warehouse_feed_trouble(d->feed, &trouble);
    }
    if (trouble.since_ns != 0) {
        tc_json_put_time(j, "failing_since", trouble.since_ns);
        tc_json_put_cstr(j, "error", trouble.error);
    }
}

static void put_results(const struct tc_daemon *d, struct tc_json_out *j)
{
    tc_json_put_object(j, "evidence");
    PUT_COUNT(j, "batches", TC_COUNT_EVIDENCE_KEPT_BATCHES);
    PUT_COUNT(j, "bytes", TC_COUNT_EVIDENCE_KEPT_BODY_BYTES);
    PUT_COUNT(j, "written_bytes", TC_COUNT_EVIDENCE_KEPT_BYTES);
    PUT_COUNT(j, "object_bytes", TC_COUNT_EVIDENCE_OBJECT_BYTES);
    PUT_COUNT(j, "damaged", TC_COUNT_EVIDENCE_DAMAGED);
    PUT_COUNT(j, "lost", TC_COUNT_EVIDENCE_LOST);
    PUT_COUNT(j, "full", TC_COUNT_EVIDENCE_FULL);
    put_remote(d, j);
    tc_json_end_object(j);
    tc_json_put_object(j, "incidents");
    PUT_COUNT(j, "open", TC_COUNT_INCIDENTS_OPEN);
    PUT_COUNT(j, "kept", TC_COUNT_INCIDENTS_KEPT);
    PUT_COUNT(j, "opened", TC_COUNT_VERDICTS_OPENED);
    PUT_COUNT(j, "updated", TC_COUNT_VERDICTS_UPDATED);
    PUT_COUNT(j, "resolved", TC_COUNT_VERDICTS_RESOLVED);
    tc_json_end_object(j);
    tc_json_put_object(j, "verdicts");
    PUT_COUNT(j, "written", TC_COUNT_OUTBOX_WRITTEN);
    PUT_COUNT(j, "exported", TC_COUNT_OUTBOX_EXPORTED);
    PUT_COUNT(j, "pending_file", TC_COUNT_OUTBOX_PENDING_FILE);
    PUT_COUNT(j, "pending_otlp", TC_COUNT_OUTBOX_PENDING_OTLP);
    tc_json_end_object(j);
    tc_json_put_object(j, "warehouse");
    PUT_COUNT(j, "open", TC_COUNT_WAREHOUSE_OPEN);
    PUT_COUNT(j, "verdicts", TC_COUNT_WAREHOUSE_VERDICTS);
    PUT_COUNT(j, "slices", TC_COUNT_WAREHOUSE_SLICES);
    PUT_COUNT(j, "series", TC_COUNT_WAREHOUSE_SERIES);
    PUT_COUNT(j, "samples_series_full", TC_COUNT_WAREHOUSE_SAMPLES_FULL);
    PUT_COUNT(j, "samples_windows_full", TC_COUNT_WAREHOUSE_SAMPLES_WINDOWS_FULL);
    PUT_COUNT(j, "slices_without_percentiles", TC_COUNT_WAREHOUSE_SLICES_UNRANKED);
    PUT_COUNT(j, "pending", TC_COUNT_WAREHOUSE_PENDING);
    PUT_COUNT(j, "failures", TC_COUNT_WAREHOUSE_FAILURES);
    put_trouble(d, j);
    tc_json_end_object(j);
}

static void put_alerts(const struct tc_daemon *d, struct tc_json_out *j)
{
    struct tc_alert_output_stats stats[TC_METRICS_RECEIVERS_MAX];
    size_t count = tc_outbox_alert_stats(d->outbox, stats, TC_METRICS_RECEIVERS_MAX);
    tc_json_put_array(j, "alerts");
    for (size_t i = 0; i < count; i++) {
        const struct tc_alert_output_stats *s = &stats[i];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "output", s->name);
        tc_json_put_cstr(j, "type", s->type);
        tc_json_put_u64(j, "delivered", s->delivered);
        tc_json_put_u64(j, "failed", s->refused);
        tc_json_put_u64(j, "retries", s->retries);
        tc_json_put_u64(j, "waiting", s->waiting);
        if (s->oldest_ns != 0) {
            tc_json_put_time(j, "waiting_since", s->oldest_ns);
        }
        if (s->failing_ns != 0) {
            tc_json_put_time(j, "failing_since", s->failing_ns);
            tc_json_put_cstr(j, "error", s->error);
        }
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

static void put_loop(const struct tc_daemon *d, struct tc_json_out *j)
{
    struct tc_catch_up_progress progress;
    struct tc_loop_longest longest = tc_loop_longest();
    tc_catch_up_progress(d->catch_up, &progress);
    tc_api_put_replay(d->catch_up, j);
    tc_json_put_u64(j, "batches_behind", progress.behind);
    tc_json_put_object(j, "loop");
    tc_json_put_f64(j, "longest_stall_seconds", (double)longest.wall_ns / (double)TC_SECOND);
    tc_json_put_f64(j, "longest_stall_cpu_seconds", (double)longest.cpu_ns / (double)TC_SECOND);
    tc_json_end_object(j);
}

void tc__daemon_describe(void *context, struct tc_json_out *j)
{
    const struct tc_daemon *d = context;
    struct tc_live_counts live;
    tc_live_counts(tc_detection_live(d->detection), &live);
    tc_json_put_cstr(j, "version", TC_VERSION);
    tc_json_put_cstr(j, "state", tc_api_state(d->catch_up, d->stopping));
    tc_json_put_time(j, "started", d->started_ns);
    tc_json_put_i64(j, "uptime_seconds", tc_wall_ns() / TC_SECOND - d->started_ns / TC_SECOND);
    tc_json_put_cstr(j, "data_dir", d->options.data_dir);
    tc_json_put_cstr(j, "ack", d->config.ingest_ack);
    tc_json_put_bool(j, "detection", !tc_catch_up_is_off(d->catch_up));
    put_listeners(d, j);
    tc_json_put_u64(j, "connections", tc_net_connections(d->net));
    put_traffic(j);
    put_results(d, j);
    put_alerts(d, j);
    tc_forward_describe(d->forward, j);
    tc_source_set_describe(d->sources, j);
    tc_recheck_describe(tc_detection_recheck(d->detection), j);
    put_loop(d, j);
    tc_detector_memory_describe(tc_detection_memory(d->detection), j);
    if (live.engine_ns != TC_TIME_NONE) {
        tc_json_put_time(j, "engine_time", live.engine_ns);
    }
}
