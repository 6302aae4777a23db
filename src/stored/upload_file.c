/* SPDX-License-Identifier: Apache-2.0 */
#include "stored/upload_file.h"

#include "base/time.h"
#include "codec/codec.h"
#include "intake/hints.h"
#include "intake/input.h"
#include "intake/stream.h"
#include "stored/batch_name.h"

#include <stdlib.h>

/* Memory for the events of one file while they are sorted. */
#define EVENTS_BYTES_MAX ((size_t)256 << 20)

static tc_status read_time(const char *key, struct tc_slice text, int32_t offset_s, int64_t *out_ns,
                           struct tc_error *err)
{
    if (text.len == 0 || tc_time_parse(text, offset_s, out_ns) == text.len) {
        return TC_OK;
    }
    return tc_fail(err, TC_E_USAGE, 0,
                   "%s: \"%.*s\" is not a time; write it as "
                   "2026-11-15T03:04:05Z",
                   key, TC_FMT(text));
}

/* The codec for it, and the times that were said. */
static tc_status understand(const struct tc_batch_said *s, struct tc_slice body,
                            struct tc_input *in, struct tc_hints *h, struct tc_error *err)
{
    struct tc_slice path = tc_slice_cstr(s->path);
    if (s->tz.len > 0 && !tc_hint_zone(s->tz, &h->utc_offset_s)) {
        return tc_fail(err, TC_E_USAGE, 0, "tz: \"%.*s\" is not a zone; write it as +02:00",
                       TC_FMT(s->tz));
    }
    TC_TRY(read_time("now", s->now, h->utc_offset_s, &h->now_ns, err));
    TC_TRY(read_time("boot_time", s->boot_time, h->utc_offset_s, &in->boot_ns, err));
    in->codec = s->format.len > 0 ? tc_codec_by_name(s->format) : tc_codec_recognise(body, path);
    if (in->codec == NULL && s->format.len > 0) {
        return tc_fail(err, TC_E_USAGE, 0, "format: \"%.*s\" is not a format we read",
                       TC_FMT(s->format));
    }
    if (in->codec == NULL) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "not a format we read; compressed files have to be unpacked first");
    }
    return TC_OK;
}

/* What one reading holds. */
struct reading {
    struct tc_batch_said said;
    struct tc_input input;
    struct tc_inputs inputs;
    struct tc_hints hints;
    struct tc_stream_pool pool;
    struct tc_source_stream stream;
    struct tc_error *err;
    bool failed;
};

static void note_error(void *context, const struct tc_input *input, const struct tc_error *err)
{
    struct reading *r = context;
    (void)input;
    *r->err = *err;
    r->failed = true;
}

/* What its name, hints and beginning say. */
static tc_status recognise(struct reading *r, const struct tc_batch *batch, struct tc_error *err)
{
    TC_TRY(tc_batch_name_read(batch->name, &r->said, err));
    r->input = (struct tc_input){
        .path = r->said.path,
        .bytes = batch->body,
        .mtime_ns = tc_batch_taken(batch),
        .boot_ns = TC_TIME_NONE,
        .taken_ns = TC_TIME_NONE,
    };
    r->inputs = (struct tc_inputs){.items = &r->input, .count = 1};
    if (tc_hints_init(&r->hints, 1) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read an uploaded file");
    }
    return understand(&r->said, batch->body, &r->input, &r->hints, err);
}

static tc_status prepare(struct reading *r, const struct tc_batch *batch, struct tc_error *err)
{
    TC_TRY(recognise(r, batch, err));
    int64_t boot_ns = r->input.boot_ns;
    r->hints.assume_boot = boot_ns == TC_TIME_NONE;
    TC_TRY(tc_hints_apply(&r->hints, &r->inputs, err));
    r->input.boot_ns = boot_ns == TC_TIME_NONE ? r->input.boot_ns : boot_ns;
    r->input.node = r->said.node.len > 0 ? r->said.node : r->input.node;
    r->input.job = r->said.job.len > 0 ? r->said.job : r->input.job;
    return TC_OK;
}

static tc_status read_all(struct reading *r, const struct tc_batch *batch,
                          tc_status (*take)(void *context, const struct tc_event *ev),
                          void *context)
{
    tc_stream_pool_init(&r->pool, EVENTS_BYTES_MAX, 1);
    r->pool.utc_offset_s = r->hints.utc_offset_s;
    r->pool.hints = &r->hints;
    r->pool.error = note_error;
    r->pool.context = r;
    tc_source_stream_init(&r->stream, &r->pool, &r->input, (uint32_t)batch->number);
    for (;;) {
        const struct tc_event *ev = NULL;
        TC_TRY(tc_source_stream_next(&r->stream, &ev));
        if (ev == NULL) {
            return r->failed ? TC_E_MALFORMED : TC_OK;
        }
        TC_TRY(take(context, ev));
    }
}

static void release(struct reading *r)
{
    tc_source_stream_fini(&r->stream);
    tc_stream_pool_fini(&r->pool);
    tc_hints_fini(&r->hints);
    free(r);
}

tc_status tc_upload_file_read(const struct tc_batch *batch,
                              tc_status (*take)(void *context, const struct tc_event *ev),
                              void *context, struct tc_error *err)
{
    struct reading *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read an uploaded file");
    }
    r->err = err;
    tc_status status = prepare(r, batch, err);
    if (status == TC_OK) {
        status = read_all(r, batch, take, context);
    }
    release(r);
    return status;
}

tc_status tc_upload_file_check(struct tc_slice name, struct tc_slice body, const char **out_format,
                               struct tc_error *err)
{
    struct tc_batch batch = {.name = name, .body = body, .arrival_ns = TC_TIME_NONE};
    struct reading *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read an uploaded file");
    }
    tc_status status = recognise(r, &batch, err);
    if (status == TC_OK) {
        *out_format = r->input.codec->name;
    }
    release(r);
    return status;
}
