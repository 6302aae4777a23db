/* SPDX-License-Identifier: Apache-2.0 */
#include "offline/pipeline.h"

#include "event/copy.h"
#include "intake/inputs.h"
#include "offline/ahead.h"
#include "offline/digests.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Pages of a mapped input are given back in steps of this, one step late; a multiple of any page.
 */
#define PASS_STEP ((size_t)64 << 10)
#define CACHE_LINE 64

/* A stream, as the merge sees it. */
struct tc_lane {
    struct tc_offline *offline;
    size_t index;  /* of its input */
    bool begun;    /* the merge has asked for its first event */
    size_t passed; /* the bytes before were given back */
};

static tc_status add_verdict(void *context, const struct tc_verdict *v)
{
    const struct tc_offline *o = context;
    return tc_story_add(o->story, v);
}

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
        .verdict = add_verdict, .context = o, .statements = TC_STATEMENTS_FIRST, .gpus = o->gpus};
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
    if (o->clocks != NULL) {
        tc_clocks_note(o->clocks, ev);
    }
    return tc_engine_feed(o->engine, ev);
}

/*
 * Pages of a mapping that were read: the decoder is done with them, and the events that are left
 * name few strings in them, in the order of the file as a rule. Whoever looks there again reads
 * the file again, so a fleet's files are not all in memory beside its events. Events of one time, a
 * scrape, leave in another order than they stand there: without the step between, each would bring
 * back what was just given away, for good.
 */
static void give_back(struct tc_lane *l, const struct tc_input *in, const struct tc_event *ev)
{
    size_t at = ev == NULL || ev->raw.offset < PASS_STEP ? 0 : (size_t)ev->raw.offset - PASS_STEP;
    size_t to = ev == NULL ? in->bytes.len : at / PASS_STEP * PASS_STEP;
    if (in->mapped && to > l->passed) {
        (void)madvise((void *)(uintptr_t)(in->bytes.ptr + l->passed), to - l->passed,
                      MADV_DONTNEED);
        l->passed = to;
    }
}

/* The event that is next in its stream is looked at as soon as this one leaves. */
static void prefetch_next(const struct tc_source_stream *s)
{
    if (s->next < s->ready) {
        const char *next = s->held.order[s->next];
        for (size_t at = 0; at < TC_EVENT_COPY_MIN + CACHE_LINE; at += CACHE_LINE) {
            __builtin_prefetch(next + at);
        }
    }
}

static tc_status begin_lane(struct tc_lane *l, struct tc_source_stream *s,
                            const struct tc_event **out)
{
    struct tc_offline *o = l->offline;
    l->begun = true;
    if (o->ahead == NULL || !tc_ahead_take(o->ahead, l->index, out)) {
        TC_TRY(tc_source_stream_next(s, out));
    }
    if (l->index + 1 == o->source_count) {
        tc_ahead_destroy(o->ahead);
        o->ahead = NULL;
    }
    if (s->done) { /* all of it was decoded */
        give_back(l, s->input, NULL);
        l->passed = 0;
    }
    return TC_OK;
}

static tc_status next_event(void *context, const struct tc_event **out)
{
    struct tc_lane *l = context;
    struct tc_source_stream *s = &l->offline->sources[l->index];
    if (!l->begun) {
        return begin_lane(l, s, out);
    }
    TC_TRY(tc_source_stream_next(s, out));
    give_back(l, s->input, *out);
    prefetch_next(s);
    return TC_OK;
}

static bool has_second_thread(const struct tc_offline *o)
{
    return (o->threads == 0 ? tc_ahead_processors() : o->threads) > 1;
}

/* Before an event is put in order; from any thread that decodes. */
static void prepare_event(const void *context, struct tc_event *ev)
{
    const struct tc_offline *o = context;
    if (o->digests != NULL) {
        tc_digests_note(o->digests, ev);
    }
    if (o->correct) {
        tc_clocks_correct(o->clocks, ev);
    }
}

/* A stream per input, out of one pool. */
static tc_status open_streams(struct tc_offline *o, struct tc_inputs *in, struct tc_hints *hints,
                              size_t memory_bytes, const struct tc_offline_watch *watch)
{
    size_t ordered = 0;
    o->sources = calloc(in->count + 1, sizeof *o->sources);
    o->streams = calloc(in->count + 1, sizeof *o->streams);
    o->lanes = calloc(in->count + 1, sizeof *o->lanes);
    if (o->sources == NULL || o->streams == NULL || o->lanes == NULL) {
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
    o->pool.adjust = prepare_event;
    o->pool.adjust_context = o;
    for (; o->source_count < in->count; o->source_count++) {
        size_t i = o->source_count;
        tc_source_stream_init(&o->sources[i], &o->pool, &in->items[i], tc_inputs_source(in, i));
        o->lanes[i] = (struct tc_lane){.offline = o, .index = i};
        o->streams[i] = (struct tc_stream){.next = next_event, .context = &o->lanes[i]};
    }
    if (has_second_thread(o)) {
        o->ahead = tc_ahead_create(&o->pool, o->sources, o->source_count);
    }
    return TC_OK;
}

static void close_streams(struct tc_offline *o)
{
    tc_ahead_destroy(o->ahead);
    o->ahead = NULL;
    for (size_t i = 0; i < o->source_count; i++) {
        tc_source_stream_fini(&o->sources[i]);
    }
    free(o->sources);
    free(o->streams);
    free(o->lanes);
    o->sources = NULL;
    o->streams = NULL;
    o->lanes = NULL;
    o->source_count = 0;
    tc_stream_pool_fini(&o->pool);
}

static tc_status run_once(struct tc_offline *o, struct tc_inputs *in, struct tc_hints *hints)
{
    TC_TRY(tc_merge(o->streams, in->count, feed_event, o, &o->copies));
    TC_TRY(tc_engine_advance(o->engine, tc_stream_last_time(&o->pool, in->items, in->count)));
    return tc_engine_finish(o->engine, hints->now_ns);
}

static void correct_event(const void *context, struct tc_event *ev)
{
    tc_clocks_correct(context, ev);
}

/* Where nobody can tell which clock is right, what joins a node's log with Kubernetes' events has
 * to allow for it. */
static tc_status allow_for_doubt(struct tc_offline *o)
{
    struct tc_error err;
    const struct tc_clock *clock = NULL;
    for (size_t i = 0; (clock = tc_clocks_get(o->clocks, i)) != NULL; i++) {
        if (!clock->sure) {
            return tc_engine_set(o->engine, TC_LIT("xid_correlation.slack=2m"), &err);
        }
    }
    return TC_OK;
}

/* Makes all as before the first event. */
static tc_status start_again(struct tc_offline *o)
{
    struct tc_story *story = tc_story_create();
    if (story == NULL) {
        return TC_E_NOMEM;
    }
    tc_story_destroy(o->story);
    o->story = story;
    o->first_ns = TC_TIME_NONE;
    o->last_ns = TC_TIME_NONE;
    o->copies = 0;
    close_streams(o);
    TC_TRY(tc_engine_reset(o->engine));
    return allow_for_doubt(o);
}

static tc_status run_all(struct tc_offline *o, struct tc_inputs *in, struct tc_hints *hints,
                         size_t memory_bytes, const struct tc_offline_watch *watch)
{
    o->clocks = tc_clocks_create();
    TC_TRY(open_streams(o, in, hints, memory_bytes, watch));
    TC_TRY(run_once(o, in, hints));
    if (o->clocks == NULL || tc_clocks_compare(o->clocks) == 0) {
        return TC_OK;
    }
    if (watch->again != NULL) {
        watch->again(watch->context, o->clocks);
    }
    TC_TRY(start_again(o));
    o->correct = true;
    struct tc_offline_watch quiet = {.progress = watch->progress, .context = watch->context};
    TC_TRY(open_streams(o, in, hints, memory_bytes, &quiet));
    return run_once(o, in, hints);
}

tc_status tc_offline_run(struct tc_offline *o, struct tc_inputs *in, struct tc_hints *hints,
                         size_t memory_bytes, const struct tc_offline_watch *watch)
{
    o->digests = has_second_thread(o) ? tc_digests_create(in) : NULL;
    tc_status status = run_all(o, in, hints, memory_bytes, watch);
    if (o->digests != NULL) {
        tc_digests_finish(o->digests, tc_story_verdicts(o->story));
    }
    return status;
}

/* ---- what a daemon has stored ---- */

static tc_status read_stored(struct tc_offline *o, struct tc_ordered *ordered, int64_t end_ns)
{
    for (;;) {
        const struct tc_event *ev = NULL;
        TC_TRY(tc_ordered_next(ordered, &ev));
        if (ev == NULL) {
            break;
        }
        TC_TRY(feed_event(o, ev));
    }
    if (end_ns == TC_TIME_NONE) {
        return tc_engine_finish(o->engine, TC_TIME_NONE);
    }
    TC_TRY(tc_engine_advance(o->engine, end_ns));
    TC_TRY(tc_engine_settle(o->engine));
    return tc_engine_tick(o->engine);
}

tc_status tc_offline_run_stored(struct tc_offline *o, struct tc_ordered *ordered, int64_t end_ns,
                                const struct tc_offline_watch *watch, struct tc_error *err)
{
    o->clocks = tc_clocks_create();
    TC_TRY(tc_ordered_survey(ordered, NULL, NULL, err));
    TC_TRY(read_stored(o, ordered, end_ns));
    if (o->clocks == NULL || tc_clocks_compare(o->clocks) == 0) {
        return TC_OK;
    }
    if (watch->again != NULL) {
        watch->again(watch->context, o->clocks);
    }
    TC_TRY(start_again(o));
    TC_TRY(tc_ordered_survey(ordered, correct_event, o->clocks, err));
    return read_stored(o, ordered, end_ns);
}

void tc_offline_fini(struct tc_offline *o)
{
    close_streams(o);
    tc_digests_destroy(o->digests);
    tc_clocks_destroy(o->clocks);
    tc_engine_destroy(o->engine);
    tc_story_destroy(o->story);
}
