/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon tells of itself: counts that live elsewhere go to the metrics, and the status. */
#include "base/clock.h"
#include "base/time.h"
#include "detect/detector.h"
#include "observe/metrics.h"
#include "server/daemon_priv.h"

static void refresh_requests(const struct tc_daemon *d)
{
    struct tc_pool_stats pool;
    tc_pool_stats(d->pool, &pool);
    tc_gauge(TC_COUNT_POOL_USED, (int64_t)pool.used);
    tc_gauge(TC_COUNT_POOL_SPARE, (int64_t)pool.spare);
    tc_gauge(TC_COUNT_POOL_HELD, (int64_t)pool.held);
    tc_gauge(TC_COUNT_POOL_LIMIT, (int64_t)pool.limit);
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
    tc_gauge(TC_COUNT_ENGINE_TIME, c.engine_ns == TC_TIME_NONE ? 0 : c.engine_ns / TC_SECOND);
}

static tc_status count_open(void *context, const struct tc_verdict *v)
{
    (void)context;
    if (v->status != TC_VERDICT_RESOLVED) {
        tc_pattern_count(tc_pattern_index(v->finding->pattern_name), TC_PATTERN_OPEN, 1);
    }
    return TC_OK;
}

static void refresh_patterns(struct tc_live *live)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    const struct tc_engine *engine = tc_live_engine(live);
    for (size_t i = 0; i < count; i++) {
        struct tc_detector_stats stats;
        bool enabled = tc_engine_is_enabled(engine, i);
        tc_engine_detector_stats(engine, i, &stats);
        tc_pattern_set(i, TC_PATTERN_DROPPED, stats.dropped);
        tc_pattern_set(i, TC_PATTERN_LATE, stats.late);
        tc_pattern_set(i, TC_PATTERN_IGNORED, stats.ignored);
        tc_pattern_set(i, TC_PATTERN_ENABLED, enabled);
        tc_pattern_set(i, TC_PATTERN_BUDGET,
                       enabled ? all[i]->arena_bytes + all[i]->state_bytes : 0);
        tc_pattern_set(i, TC_PATTERN_OPEN, 0);
    }
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
    tc_counter_set(TC_COUNT_EVIDENCE_DELETED, s.deleted);
    tc_counter_set(TC_COUNT_EVIDENCE_CITED, s.cited);
    tc_gauge(TC_COUNT_EVIDENCE_OBJECT_BYTES, (int64_t)s.object_bytes);
    tc_gauge(TC_COUNT_EVIDENCE_FULL, tc_committer_is_full(d->committer));
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

void tc__daemon_refresh(void *context)
{
    struct tc_daemon *d = context;
    refresh_requests(d);
    refresh_live(d->detection, tc_detection_live(d->detection));
    refresh_patterns(tc_detection_live(d->detection));
    refresh_store(d);
    refresh_outbox(d);
}

/* ---- status ---- */

static void put_key(struct tc_buf *b, const char *key)
{
    tc_buf_char(b, '"');
    tc_buf_str(b, tc_slice_cstr(key));
    tc_buf_lit(b, "\":");
}

static void put_text(struct tc_buf *b, const char *key, const char *value)
{
    put_key(b, key);
    tc_buf_json(b, tc_slice_cstr(value));
    tc_buf_char(b, ',');
}

static void put_count(struct tc_buf *b, const char *key, enum tc_counter counter)
{
    put_key(b, key);
    tc_buf_u64(b, tc_counter_value(counter));
    tc_buf_char(b, ',');
}

/* Closes an object whose members all have a comma behind them. */
static void put_end(struct tc_buf *b)
{
    b->len -= b->len > 0 && !b->overflowed;
    tc_buf_lit(b, "},");
}

static void put_time(struct tc_buf *b, const char *key, int64_t ns)
{
    put_key(b, key);
    tc_buf_char(b, '"');
    tc_buf_time(b, ns);
    tc_buf_lit(b, "\",");
}

static void put_listeners(const struct tc_daemon *d, struct tc_buf *b)
{
    tc_buf_lit(b, "\"listen\":{");
    put_text(b, "http", d->http_address);
    put_text(b, "grpc", d->grpc_address);
    put_text(b, "api", d->api_address);
    put_end(b);
}

static void put_traffic(struct tc_buf *b)
{
    tc_buf_lit(b, "\"received\":{");
    put_count(b, "logs", TC_COUNT_RECORDS_RECEIVED_LOGS);
    put_count(b, "metrics", TC_COUNT_RECORDS_RECEIVED_METRICS);
    put_count(b, "spans", TC_COUNT_RECORDS_RECEIVED_TRACES);
    put_count(b, "uploads", TC_COUNT_UPLOADS);
    put_count(b, "malformed_requests", TC_COUNT_REJECTED_MALFORMED);
    put_end(b);
    tc_buf_lit(b, "\"events\":{");
    put_count(b, "fed", TC_COUNT_EVENTS_FED);
    put_count(b, "late", TC_COUNT_EVENTS_LATE);
    put_count(b, "too_late", TC_COUNT_EVENTS_TOO_LATE);
    put_count(b, "ahead", TC_COUNT_EVENTS_AHEAD);
    put_count(b, "misdated", TC_COUNT_EVENTS_MISDATED);
    put_end(b);
}

static void put_results(struct tc_buf *b)
{
    tc_buf_lit(b, "\"evidence\":{");
    put_count(b, "batches", TC_COUNT_EVIDENCE_BATCHES);
    put_count(b, "bytes", TC_COUNT_EVIDENCE_BYTES_IN);
    put_count(b, "written_bytes", TC_COUNT_EVIDENCE_BYTES_OUT);
    put_count(b, "object_bytes", TC_COUNT_EVIDENCE_OBJECT_BYTES);
    put_count(b, "damaged", TC_COUNT_EVIDENCE_DAMAGED);
    put_count(b, "lost", TC_COUNT_EVIDENCE_LOST);
    put_count(b, "full", TC_COUNT_EVIDENCE_FULL);
    put_end(b);
    tc_buf_lit(b, "\"incidents\":{");
    put_count(b, "open", TC_COUNT_INCIDENTS_OPEN);
    put_count(b, "kept", TC_COUNT_INCIDENTS_KEPT);
    put_count(b, "opened", TC_COUNT_VERDICTS_OPENED);
    put_count(b, "updated", TC_COUNT_VERDICTS_UPDATED);
    put_count(b, "resolved", TC_COUNT_VERDICTS_RESOLVED);
    put_end(b);
    tc_buf_lit(b, "\"verdicts\":{");
    put_count(b, "written", TC_COUNT_OUTBOX_WRITTEN);
    put_count(b, "exported", TC_COUNT_OUTBOX_EXPORTED);
    put_count(b, "pending_file", TC_COUNT_OUTBOX_PENDING_FILE);
    put_count(b, "pending_otlp", TC_COUNT_OUTBOX_PENDING_OTLP);
    put_end(b);
    tc_buf_lit(b, "\"warehouse\":{");
    put_count(b, "open", TC_COUNT_WAREHOUSE_OPEN);
    put_count(b, "verdicts", TC_COUNT_WAREHOUSE_VERDICTS);
    put_count(b, "slices", TC_COUNT_WAREHOUSE_SLICES);
    put_count(b, "pending", TC_COUNT_WAREHOUSE_PENDING);
    put_count(b, "failures", TC_COUNT_WAREHOUSE_FAILURES);
    put_end(b);
}

void tc__daemon_describe(void *context, struct tc_buf *b)
{
    const struct tc_daemon *d = context;
    struct tc_live_counts live;
    tc_live_counts(tc_detection_live(d->detection), &live);
    put_text(b, "version", TC_VERSION);
    put_text(b, "state", d->ready ? "ready" : "stopping");
    put_time(b, "started", d->started_ns);
    put_key(b, "uptime_seconds");
    tc_buf_i64(b, tc_wall_ns() / TC_SECOND - d->started_ns / TC_SECOND);
    tc_buf_char(b, ',');
    put_text(b, "data_dir", d->options.data_dir);
    put_text(b, "ack", d->config.ingest_ack);
    put_listeners(d, b);
    put_key(b, "connections");
    tc_buf_u64(b, tc_net_connections(d->net));
    tc_buf_char(b, ',');
    put_traffic(b);
    put_results(b);
    if (live.engine_ns != TC_TIME_NONE) {
        put_time(b, "engine_time", live.engine_ns);
    }
    b->len -= b->len > 0 && !b->overflowed;
}
