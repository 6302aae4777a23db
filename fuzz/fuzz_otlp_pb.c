/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP requests as the daemon reads them: the first byte chooses signal, notation, memory and
 * limits, and whether the codec that reads such a body as a file gets it too; the rest is the body.
 * What the check takes makes the same events from the tape where the check left it and from one
 * that was moved, after the reader's memory was used for another. Spans that are requests are read
 * in the same way: their places are in the body, their numbers and times can be.
 */
#include "codec_run.h"

#include "base/time.h"
#include "codec/otlp/wire.h"
#include "codec/requests.h"

#include <math.h>
#include <stdlib.h>

#define BODY_MAX ((size_t)64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    tc_status status;
    uint64_t events;
};

static struct result read_events(struct tc_otlp_reader *r, uint8_t mode,
                                 const struct tc_otlp_tape *tape)
{
    static char arena_block[FUZZ_ARENA_BYTES];
    static char scratch_block[FUZZ_ARENA_BYTES];
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_error err = {0};
    struct tc_slice body = tape->body;
    tc_arena_init(&arena, "arena", arena_block,
                  (mode & 8) != 0 ? FUZZ_SMALL_BYTES : FUZZ_ARENA_BYTES);
    tc_arena_init(&scratch, "scratch", scratch_block,
                  (mode & 16) != 0 ? FUZZ_SMALL_BYTES : FUZZ_ARENA_BYTES);
    struct fuzz_sink sink = {
        .out = {.event = fuzz_event, .unknown = fuzz_unknown, .arena = &arena, .scratch = &scratch},
        .input_bytes = body.len,
    };
    sink.out.context = &sink;
    struct tc_codec_input in = {
        .bytes = body, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE, .want_unknown = true};
    struct result out = {0};
    out.status = tc_otlp_events(r, tape, &in, &sink.out, &err);
    out.events = tc_otlp_reader_seen(r)->events;
    TC_ASSERT(scratch.used == 0);
    TC_ASSERT(out.status == TC_OK || err.offset <= body.len);
    tc_arena_fini(&arena);
    tc_arena_fini(&scratch);
    return out;
}

struct spans {
    struct tc_slice body;
    uint64_t digest;
};

static void check_time(int64_t ns)
{
    TC_ASSERT(ns == TC_TIME_NONE || (ns > 0 && ns <= TC_TIME_MAX));
}

static void check_ms(double ms)
{
    TC_ASSERT(isnan(ms) || (ms >= 0 && ms <= 1e9));
}

static tc_status take_span(void *context, const struct tc_request_span *s)
{
    struct spans *spans = context;
    const struct tc_slice texts[] = {s->error,   s->request_id, s->trace_id, s->run_id,
                                     s->pod_uid, s->pod_name,   s->job_uid,  s->node_name};
    TC_ASSERT(s->tool != NULL && s->status != NULL);
    TC_ASSERT(s->offset <= spans->body.len && s->length <= spans->body.len - s->offset);
    TC_ASSERT(s->trace_id.len == 0 || s->trace_id.len == 32);
    TC_ASSERT(s->ended_ns == TC_TIME_NONE || s->ended_ns >= s->started_ns);
    TC_ASSERT(s->input_tokens >= -1 && s->output_tokens >= -1);
    check_time(s->started_ns);
    check_time(s->first_token_ns);
    check_time(s->ended_ns);
    check_ms(s->queue_ms);
    check_ms(s->ttft_ms);
    check_ms(s->tpot_ms);
    check_ms(s->e2e_ms);
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        spans->digest = tc_slice_hash(texts[i], spans->digest);
    }
    return TC_OK;
}

static uint64_t read_requests(struct tc_otlp_reader *r, uint8_t mode,
                              const struct tc_otlp_tape *tape)
{
    static char block[FUZZ_ARENA_BYTES];
    struct spans spans = {.body = tape->body};
    const struct tc_requests_out out = {.take = take_span, .context = &spans};
    struct tc_requests_counts counts = {0};
    struct tc_error err = {0};
    struct tc_arena arena;
    tc_arena_init(&arena, "spans", block, (mode & 8) != 0 ? FUZZ_SMALL_BYTES : sizeof block);
    tc_status status = tc_otlp_requests(r, tape, &arena, &out, &counts, &err);
    TC_ASSERT(status == TC_OK || err.offset <= tape->body.len);
    TC_ASSERT(arena.used == 0);
    TC_ASSERT(status != TC_OK || tape->signal != TC_OTLP_TRACES ||
              counts.requests + counts.others + counts.rejected == tape->counts.records);
    tc_arena_fini(&arena);
    return spans.digest + counts.requests;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_otlp_reader *r = NULL;
    uint8_t mode = size == 0 ? 0 : data[0];
    enum tc_otlp_form form = (mode & 32) != 0 ? TC_OTLP_JSON : TC_OTLP_PROTOBUF;
    struct tc_slice body = size < 2 ? TC_EMPTY : tc_slice_make((const char *)data + 1, size - 1);
    struct tc_otlp_limits limits = TC_OTLP_LIMITS_DEFAULT;
    struct tc_otlp_tape tape = {0};
    struct tc_otlp_tape other = {0};
    struct tc_error err = {0};
    enum tc_otlp_signal signal = (enum tc_otlp_signal)(mode % 3);
    if (r == NULL) {
        r = tc_otlp_reader_create(&limits, BODY_MAX);
        TC_ASSERT(r != NULL);
    }
    if ((mode & 64) != 0) {
        limits = (struct tc_otlp_limits){
            .depth_max = 3, .attributes_max = 2, .key_bytes_max = 8, .value_bytes_max = 16};
    }
    tc_otlp_reader_limit(r, &limits);
    tc_status status = tc_otlp_check(r, signal, form, body, &tape, &err);
    TC_ASSERT(status == TC_OK || err.offset <= body.len);
    TC_ASSERT(tape.counts.rejected <= tape.counts.records);
    TC_ASSERT((tape.counts.why != NULL) == (tape.counts.rejected > 0));
    if (status == TC_OK) {
        struct result first = read_events(r, mode, &tape);
        uint64_t requests = read_requests(r, mode, &tape);
        void *memory = malloc(tc_otlp_tape_bytes(&tape) + 1);
        TC_ASSERT(memory != NULL);
        tc_otlp_tape_move(&tape, memory);
        (void)!tc_otlp_check(r, TC_OTLP_LOGS, TC_OTLP_JSON, TC_LIT("{}"), &other, &err);
        struct result second = read_events(r, mode, &tape);
        TC_ASSERT(first.status == second.status && first.events == second.events);
        TC_ASSERT(read_requests(r, mode, &tape) == requests);
        free(memory);
    }
    return (mode & 128) != 0 ? fuzz_codec(&tc_codec_otlp_protobuf, data, size) : 0;
}
