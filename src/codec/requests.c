/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to language models in files of OTLP traces. */
#include "codec/requests.h"

#include "codec/otlp/file_priv.h"

/* What a file has to have to be told by its content: a request of no more than this is tried. */
#define TRIED_BYTES_MAX ((size_t)64 << 20)

struct reading {
    struct tc_slice bytes;
    struct tc_arena *arena;
    const struct tc_requests_out *out;
    struct tc_requests_counts counts;
    uint64_t base; /* of the request that is read, in the file */
    struct tc_error *err;
};

static bool has_json(struct tc_slice bytes)
{
    bool is_otlp = tc__otlp_file_has(bytes, "resourceSpans") ||
                   tc__otlp_file_has(bytes, "resourceMetrics") ||
                   tc__otlp_file_has(bytes, "resourceLogs");
    return is_otlp && tc_slice_contains(bytes, TC_LIT("\"resourceSpans\""));
}

static bool passes(struct tc_otlp_reader *r, enum tc_otlp_signal signal, struct tc_slice body)
{
    struct tc_otlp_counts counts = {0};
    struct tc_error ignored;
    return tc_otlp_verify(r, signal, TC_OTLP_PROTOBUF, body, &counts, &ignored) == TC_OK &&
           counts.records > 0;
}

/* The signals begin alike, but what is a span is no metric: its times are where a metric has its
 * sum. */
static bool has_protobuf(struct tc_slice bytes)
{
    struct tc_slice first;
    struct tc_otlp_limits limits = TC_OTLP_LIMITS_FILE;
    if (!tc__otlp_file_first(bytes, &first) || first.len > TRIED_BYTES_MAX) {
        return false;
    }
    struct tc_otlp_reader *r = tc_otlp_reader_create(&limits, first.len);
    bool is_one =
        r != NULL && passes(r, TC_OTLP_TRACES, first) && !passes(r, TC_OTLP_METRICS, first);
    tc_otlp_reader_destroy(r);
    return is_one;
}

bool tc_requests_sniff(struct tc_slice bytes)
{
    return has_json(bytes) || has_protobuf(bytes);
}

/* Its place in the file, not in its request. */
static tc_status take_span(void *context, const struct tc_request_span *span)
{
    const struct reading *r = context;
    struct tc_request_span placed = *span;
    placed.offset += r->base;
    return r->out->take(r->out->context, &placed);
}

static tc_status take_request(void *context, struct tc_otlp_reader *reader,
                              const struct tc_otlp_tape *tape)
{
    struct reading *r = context;
    const struct tc_requests_out out = {.take = take_span, .context = r};
    r->base = (uint64_t)(tape->body.ptr - r->bytes.ptr);
    return tc_otlp_requests(reader, tape, r->arena, &out, &r->counts, r->err);
}

static void note_bad(void *context, uint64_t offset, const char *why)
{
    struct reading *r = context;
    (void)offset;
    (void)why;
    r->counts.bad++;
}

tc_status tc_requests_read(struct tc_slice bytes, struct tc_otlp_reader *reader,
                           struct tc_arena *arena, const struct tc_requests_out *out,
                           struct tc_requests_counts *out_counts, struct tc_error *err)
{
    struct reading r = {.bytes = bytes, .arena = arena, .out = out, .err = err};
    const struct tc__otlp_file file = {.bytes = bytes,
                                       .signal = TC_OTLP_TRACES,
                                       .form = has_json(bytes) ? TC_OTLP_JSON : TC_OTLP_PROTOBUF,
                                       .reader = reader,
                                       .not_one = "not a request of OTLP traces",
                                       .take = take_request,
                                       .bad = note_bad,
                                       .context = &r};
    struct tc_error first = {0};
    TC_TRY(tc__otlp_file_read(&file, &first, err));
    if (r.counts.requests + r.counts.others + r.counts.rejected == 0 && first.status != TC_OK) {
        return tc_fail(err, TC_E_MALFORMED, first.offset, "no traces of OTLP in it: %s",
                       first.message);
    }
    *out_counts = r.counts;
    return TC_OK;
}
