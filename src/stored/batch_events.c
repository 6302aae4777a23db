/* SPDX-License-Identifier: Apache-2.0 */
#include "stored/batch_events.h"

#include "stored/batch_name.h"
#include "stored/source_events.h"
#include "stored/upload_file.h"

#include <stdlib.h>

#define STRINGS_BYTES ((size_t)8 << 20)
#define SCRATCH_BYTES ((size_t)16 << 20)

tc_status tc_batch_arenas_init(struct tc_batch_arenas *a, struct tc_error *err)
{
    *a = (struct tc_batch_arenas){0};
    a->strings_block = calloc(1, STRINGS_BYTES);
    a->scratch_block = calloc(1, SCRATCH_BYTES);
    if (a->strings_block == NULL || a->scratch_block == NULL) {
        tc_batch_arenas_fini(a);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read batches");
    }
    tc_arena_init_zeroed(&a->strings, "strings", a->strings_block, STRINGS_BYTES);
    tc_arena_init_zeroed(&a->scratch, "scratch", a->scratch_block, SCRATCH_BYTES);
    return TC_OK;
}

void tc_batch_arenas_fini(struct tc_batch_arenas *a)
{
    if (a->strings_block != NULL && a->scratch_block != NULL) {
        tc_arena_fini(&a->strings);
        tc_arena_fini(&a->scratch);
    }
    free(a->strings_block);
    free(a->scratch_block);
    *a = (struct tc_batch_arenas){0};
}

bool tc_batch_is_file(const struct tc_batch *batch)
{
    return batch->kind == TC_BATCH_FILE;
}

static tc_status read_otlp(struct tc_otlp_reader *reader, const struct tc_batch *batch,
                           const struct tc_otlp_tape *tape, struct tc_batch_arenas *arenas,
                           const struct tc_batch_taker *taker, struct tc_error *err)
{
    bool is_json = batch->kind == TC_BATCH_LOGS_JSON || batch->kind == TC_BATCH_METRICS_JSON;
    bool is_logs = batch->kind == TC_BATCH_LOGS_JSON || batch->kind == TC_BATCH_LOGS_PROTOBUF;
    struct tc_otlp_tape made;
    if (tape == NULL) {
        TC_TRY(tc_otlp_check(reader, is_logs ? TC_OTLP_LOGS : TC_OTLP_METRICS,
                             is_json ? TC_OTLP_JSON : TC_OTLP_PROTOBUF, batch->body, &made, err));
        tape = &made;
    }
    struct tc_codec_input in = {
        .bytes = batch->body,
        .source = (uint32_t)batch->number,
        .boot_ns = TC_TIME_NONE,
        .now_ns = tc_batch_taken(batch),
        .taken_ns = tc_batch_taken(batch),
    };
    struct tc_codec_out out = {
        .event = taker->event,
        .context = taker->context,
        .arena = &arenas->strings,
        .scratch = &arenas->scratch,
    };
    tc_arena_reset(&arenas->strings);
    tc_arena_reset(&arenas->scratch);
    tc_status status = tc_otlp_events(reader, tape, &in, &out, err);
    if (taker->unread != NULL) {
        taker->unread(taker->context, tc_otlp_reader_seen(reader)->unknown);
    }
    return status;
}

/* What has no time is dated by when it was taken, before it was forwarded. */
struct dating {
    const struct tc_batch_taker *to;
    int64_t taken_ns;
};

static tc_status date_event(void *context, const struct tc_event *ev)
{
    const struct dating *d = context;
    if (ev->time_ns != TC_TIME_NONE) {
        return d->to->event(d->to->context, ev);
    }
    struct tc_event dated = *ev;
    dated.time_ns = d->taken_ns;
    return d->to->event(d->to->context, &dated);
}

static void pass_unread(void *context, uint64_t count)
{
    const struct dating *d = context;
    d->to->unread(d->to->context, count);
}

static tc_status read_events(struct tc_otlp_reader *reader, const struct tc_batch *batch,
                             const struct tc_otlp_tape *tape, struct tc_batch_arenas *arenas,
                             const struct tc_batch_taker *taker, struct tc_error *err)
{
    switch (batch->kind) {
    case TC_BATCH_LOGS_PROTOBUF:
    case TC_BATCH_LOGS_JSON:
    case TC_BATCH_METRICS_PROTOBUF:
    case TC_BATCH_METRICS_JSON:
        return read_otlp(reader, batch, tape, arenas, taker, err);
    case TC_BATCH_TRACES_PROTOBUF:
    case TC_BATCH_TRACES_JSON:
        return TC_OK; /* kept; no pattern reads spans */
    case TC_BATCH_FILE:
        return tc_upload_file_read(batch, taker->event, taker->context, err);
    case TC_BATCH_SOURCE:
        return tc_source_events(batch, arenas, taker, err);
    }
    return TC_OK;
}

tc_status tc_batch_events(struct tc_otlp_reader *reader, const struct tc_batch *batch,
                          const struct tc_otlp_tape *tape, struct tc_batch_arenas *arenas,
                          const struct tc_batch_taker *taker, struct tc_error *err)
{
    struct dating dating = {.to = taker, .taken_ns = tc_batch_taken(batch)};
    struct tc_batch_taker dated = {.event = date_event,
                                   .unread = taker->unread == NULL ? NULL : pass_unread,
                                   .context = &dating};
    bool was_forwarded = dating.taken_ns != batch->arrival_ns && !tc_batch_is_file(batch);
    return read_events(reader, batch, tape, arenas, was_forwarded ? &dated : taker, err);
}
