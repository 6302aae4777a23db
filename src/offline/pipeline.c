/* SPDX-License-Identifier: Apache-2.0 */
#include "offline/pipeline.h"

#include "intake/inputs.h"

#include <stdlib.h>

tc_status tc_offline_prepare(struct tc_offline *o, struct tc_error *err)
{
    if (o->engine != NULL) {
        return TC_OK;
    }
    o->first_ns = TC_TIME_NONE;
    o->last_ns = TC_TIME_NONE;
    o->story = o->story == NULL ? tc_story_create() : o->story;
    if (o->story == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the verdicts");
    }
    struct tc_engine_out out = {
        .verdict = tc_story_add, .context = o->story, .statements = TC_STATEMENTS_FIRST};
    return tc_engine_create(&out, &o->engine, err);
}

static tc_status feed_event(void *context, const struct tc_event *ev)
{
    struct tc_offline *o = context;
    if (tc_time_is_date(ev->time_ns)) {
        o->first_ns =
            o->first_ns == TC_TIME_NONE || ev->time_ns < o->first_ns ? ev->time_ns : o->first_ns;
        o->last_ns = ev->time_ns > o->last_ns ? ev->time_ns : o->last_ns;
    }
    return tc_engine_feed(o->engine, ev);
}

/* A stream per input, out of one pool. */
static tc_status open_streams(struct tc_offline *o, struct tc_inputs *in, struct tc_hints *hints,
                              size_t memory_bytes, const struct tc_offline_watch *watch)
{
    size_t ordered = 0;
    o->sources = calloc(in->count + 1, sizeof *o->sources);
    o->streams = calloc(in->count + 1, sizeof *o->streams);
    if (o->sources == NULL || o->streams == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < in->count; i++) {
        ordered += in->items[i].codec->ordered;
    }
    tc_stream_pool_init(&o->pool, memory_bytes, ordered);
    o->pool.utc_offset_s = hints->utc_offset_s;
    o->pool.hints = hints;
    o->pool.error = watch->error;
    o->pool.progress = watch->progress;
    o->pool.context = watch->context;
    for (; o->source_count < in->count; o->source_count++) {
        size_t i = o->source_count;
        tc_source_stream_init(&o->sources[i], &o->pool, &in->items[i], tc_inputs_source(in, i));
        o->streams[i] =
            (struct tc_stream){.next = tc_source_stream_next, .context = &o->sources[i]};
    }
    return TC_OK;
}

tc_status tc_offline_run(struct tc_offline *o, struct tc_inputs *in, struct tc_hints *hints,
                         size_t memory_bytes, const struct tc_offline_watch *watch)
{
    TC_TRY(open_streams(o, in, hints, memory_bytes, watch));
    TC_TRY(tc_merge(o->streams, in->count, feed_event, o, &o->copies));
    TC_TRY(tc_engine_advance(o->engine, tc_stream_last_time(&o->pool, in->items, in->count)));
    return tc_engine_finish(o->engine, hints->now_ns);
}

void tc_offline_fini(struct tc_offline *o)
{
    for (size_t i = 0; i < o->source_count; i++) {
        tc_source_stream_fini(&o->sources[i]);
    }
    free(o->sources);
    free(o->streams);
    tc_stream_pool_fini(&o->pool);
    tc_engine_destroy(o->engine);
    tc_story_destroy(o->story);
}
