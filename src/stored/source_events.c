/* SPDX-License-Identifier: Apache-2.0 */
#include "stored/source_events.h"

#include "base/time.h"
#include "codec/codec.h"
#include "intake/hints.h"
#include "intake/jobs.h"
#include "stored/batch_name.h"

/* The codecs that the name states, with commas between them. */
static size_t stated_codecs(struct tc_slice names, const struct tc_codec *out[TC_CODECS_MAX])
{
    size_t count = 0;
    while (names.len > 0 && count < TC_CODECS_MAX) {
        const struct tc_codec *codec = tc_codec_by_name(tc_slice_cut(names, ',', &names));
        if (codec != NULL) {
            out[count++] = codec;
        }
    }
    return count;
}

/* The job that the path of a log names, as `detect` takes it from there. */
static struct tc_slice job_of(struct tc_batch_said *said, const struct tc_codec *codec)
{
    struct tc_input input = {.path = said->path, .codec = codec};
    struct tc_inputs inputs = {.items = &input, .count = 1};
    if (said->job.len == 0 && codec->picks_lines && tc_jobs_apply(&inputs) == TC_OK) {
        return input.job;
    }
    return said->job;
}

static tc_status decode_all(const struct tc_codec *codec, const struct tc_codec_input *in,
                            struct tc_batch_arenas *arenas, const struct tc_batch_taker *taker,
                            struct tc_error *err)
{
    struct tc_codec_cursor cursor = {0};
    struct tc_codec_out out = {
        .event = taker->event,
        .context = taker->context,
        .arena = &arenas->strings,
        .scratch = &arenas->scratch,
    };
    while (!cursor.done) {
        size_t before = cursor.offset;
        uint64_t events = cursor.events;
        tc_arena_reset(&arenas->strings);
        tc_arena_reset(&arenas->scratch);
        TC_TRY(tc_codec_decode(codec, in, &cursor, &out, err));
        if (!cursor.done && cursor.offset == before && cursor.events == events) {
            return tc_fail(err, TC_E_MALFORMED, before, "nothing more can be read");
        }
    }
    if (taker->unread != NULL) {
        taker->unread(taker->context, cursor.unknown);
    }
    return TC_OK;
}

tc_status tc_source_events(const struct tc_batch *batch, struct tc_batch_arenas *arenas,
                           const struct tc_batch_taker *taker, struct tc_error *err)
{
    struct tc_batch_said said;
    const struct tc_codec *codecs[TC_CODECS_MAX];
    TC_TRY(tc_batch_name_read(batch->name, &said, err));
    struct tc_codec_input in = {
        .bytes = batch->body,
        .name = tc_slice_cstr(said.path),
        .source = (uint32_t)batch->number,
        .node = said.node,
        .boot_ns = TC_TIME_NONE,
        .now_ns = tc_batch_taken(batch),
        .taken_ns = tc_batch_taken(batch),
    };
    if (said.tz.len > 0 && !tc_hint_zone(said.tz, &in.utc_offset_s)) {
        return tc_fail(err, TC_E_USAGE, 0, "tz: \"%.*s\" is not a zone", TC_FMT(said.tz));
    }
    if (said.boot_time.len > 0 &&
        tc_time_parse(said.boot_time, 0, &in.boot_ns) != said.boot_time.len) {
        return tc_fail(err, TC_E_USAGE, 0, "boot_time: \"%.*s\" is not a time",
                       TC_FMT(said.boot_time));
    }
    size_t count = said.format.len > 0 ? stated_codecs(said.format, codecs)
                                       : tc_codec_readers(batch->body, in.name, codecs);
    tc_status status = TC_OK;
    for (size_t i = 0; i < count; i++) {
        in.job = job_of(&said, codecs[i]);
        in.want_unknown = taker->unread != NULL && said.format.len > 0;
        tc_status one = decode_all(codecs[i], &in, arenas, taker, err);
        if (one == TC_E_NOMEM || one == TC_E_AGAIN) {
            return one;
        }
        status = status == TC_OK ? one : status;
    }
    return status;
}
