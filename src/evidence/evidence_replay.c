/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the store: where a replay begins. */
#include "evidence/evidence_priv.h"

struct replay {
    int64_t since_ns;
    uint64_t bytes_max;
    uint64_t rest;  /* batches from here on are wanted at any rate */
    uint64_t bytes; /* of the bodies before that, as far as they were counted */
    struct tc_replay_span span;
    bool begun; /* a segment was seen: span.from is set */
    bool done;
};

/* The next batch of a segment that can be read; *out_there false behind the last. */
static tc_status next_batch(struct tc__source *source, struct tc__batch *out, bool *out_there,
                            struct tc_error *err)
{
    enum tc__found found = TC__FOUND_END;
    do {
        found = tc__scan_next(&source->scan, false, out);
    } while (found != TC__FOUND_BATCH && found != TC__FOUND_IO && found != TC__FOUND_END &&
             found != TC__FOUND_TORN);
    if (found == TC__FOUND_IO) {
        return tc_fail(err, TC_E_IO, (size_t)out->at, "cannot read %s: %s", source->path,
                       strerror(source->scan.error));
    }
    *out_there = found == TC__FOUND_BATCH;
    return TC_OK;
}

static bool fits(const struct replay *r, uint64_t bytes)
{
    return r->bytes_max == 0 || (r->bytes <= r->bytes_max && bytes <= r->bytes_max - r->bytes);
}

static void add(struct replay *r, uint64_t from, uint64_t batches, uint64_t bytes)
{
    r->span.from = from < r->span.from ? from : r->span.from;
    r->span.batches += batches;
    r->span.bytes += bytes;
}

/* Finds the beginning within a segment. */
static tc_status scan_back(struct replay *r, struct tc__source *source,
                           const struct tc__totals *totals, struct tc_error *err)
{
    uint64_t batches = totals->batches;
    uint64_t bytes = totals->body_bytes;
    struct tc__batch b;
    bool there = true;
    for (;;) {
        TC_TRY(next_batch(source, &b, &there, err));
        if (!there) {
            return TC_OK;
        }
        if (b.first.number >= r->rest || (b.first.arrival_ns >= r->since_ns && fits(r, bytes))) {
            add(r, b.first.number, batches, bytes);
            return TC_OK;
        }
        batches -= batches > 0;
        bytes -= b.first.body_len < bytes ? b.first.body_len : bytes;
    }
}

/* One segment earlier. Scans it where the beginning lies within. */
static tc_status step_back(struct replay *r, struct tc__source *source,
                           const struct tc__totals *totals, struct tc_error *err)
{
    if (totals->batches == 0) {
        return TC_OK;
    }
    if (!r->begun) {
        r->span.from = totals->last + 1;
        r->begun = true;
    }
    bool is_rest = totals->first >= r->rest;
    if (is_rest || (fits(r, totals->body_bytes) && totals->arrival_min >= r->since_ns)) {
        add(r, totals->first, totals->batches, totals->body_bytes);
        r->bytes += is_rest ? 0 : totals->body_bytes;
        return TC_OK;
    }
    r->done = true;
    bool is_before = totals->arrival_max < r->since_ns && totals->last < r->rest;
    return is_before ? TC_OK : scan_back(r, source, totals, err);
}

static tc_status sum_up(struct tc__source *source, struct tc__totals *out, struct tc_error *err)
{
    struct tc__batch b;
    bool there = true;
    tc__totals_init(out);
    TC_TRY(next_batch(source, &b, &there, err));
    while (there) {
        tc__totals_add(out, b.first.number, b.first.arrival_ns, b.first.body_len);
        TC_TRY(next_batch(source, &b, &there, err));
    }
    source->scan.at = TC__HEAD_BYTES;
    source->scan.last = 0;
    return TC_OK;
}

/* The segments in open/, newest first. TC_E_NOTFOUND: one was sealed meanwhile. */
static tc_status back_over_open(struct tc_evidence *e, size_t count, struct replay *r,
                                struct tc_error *err)
{
    for (size_t i = count; i > 0 && !r->done; i--) {
        struct tc__source source;
        struct tc__totals totals;
        TC_TRY(tc__source_segment(e, e->open[i - 1], &source, err));
        bool has_end = source.scan.has_end;
        totals = source.scan.end.totals;
        tc_status status = has_end ? TC_OK : sum_up(&source, &totals, err);
        status = status == TC_OK ? step_back(r, &source, &totals, err) : status;
        tc__source_close(&source);
        TC_TRY(status);
    }
    return TC_OK;
}

static tc_status back_over_objects(struct tc_evidence *e, struct replay *r, struct tc_error *err)
{
    struct tc__index *ix = &e->index;
    for (uint64_t i = ix->lines; i > 0 && !r->done; i--) {
        struct tc__object o;
        struct tc__source source;
        /* One that was in open/ too: seen already. */
        if (!tc__index_line(ix, i - 1, &o) || o.state != TC__OBJECT_KEPT ||
            (r->begun && o.totals.last >= r->span.from)) {
            continue;
        }
        tc_status status = tc__source_object(e, &o, &source, err);
        if (status == TC_E_NOTFOUND) {
            continue;
        }
        TC_TRY(status);
        status = step_back(r, &source, &o.totals, err);
        tc__source_close(&source);
        TC_TRY(status);
    }
    return TC_OK;
}

tc_status tc_evidence_replay_span(struct tc_evidence *e, int64_t since_ns, uint64_t bytes_max,
                                  uint64_t rest, struct tc_replay_span *out_span,
                                  struct tc_error *err)
{
    tc_status status = TC_E_NOTFOUND;
    for (size_t i = 0; i < TC__LOOK_MAX && status == TC_E_NOTFOUND; i++) {
        struct replay r = {
            .since_ns = since_ns, .bytes_max = bytes_max, .rest = rest, .span.from = 1};
        size_t count = 0;
        int error = tc__list_open(e->dir, e->open, TC__READ_OPEN_MAX, &count);
        error = error == 0 ? tc__index_open(&e->index, e->dir) : error;
        if (error != 0) {
            return tc_fail(err, TC_E_IO, 0, "cannot read %s: %s", e->dir, strerror(error));
        }
        status = back_over_open(e, count, &r, err);
        status = status == TC_OK ? back_over_objects(e, &r, err) : status;
        tc__index_close(&e->index);
        if (status == TC_OK) {
            *out_span = r.span;
        }
    }
    return status;
}

tc_status tc_evidence_replay_from(struct tc_evidence *e, int64_t since_ns, uint64_t bytes_max,
                                  uint64_t *out_number, struct tc_error *err)
{
    struct tc_replay_span span;
    TC_TRY(tc_evidence_replay_span(e, since_ns, bytes_max, UINT64_MAX, &span, err));
    *out_number = span.from;
    return TC_OK;
}
