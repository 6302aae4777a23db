/* SPDX-License-Identifier: Apache-2.0 */
#include "offline/ahead.h"

#include "base/assert.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* Streams that may be decoded before the one whose turn it is: what they hold is extra. */
#define AHEAD_MAX 64
/* Fewer inputs, or less of them, are read sooner than a thread is made. */
#define INPUTS_LEAST 2
#define BYTES_LEAST ((size_t)8 << 20)

enum state {
    STATE_OPEN,  /* nobody has decoded it */
    STATE_TAKEN, /* somebody does */
    STATE_DONE,  /* as tc_source_stream_next left it */
};

struct lane {
    enum state state;
    bool failed; /* it could not be read as far as it should */
    const struct tc_event *first;
    size_t held_bytes;
    size_t strings_peak; /* of the room that its strings were made in, or more */
};

/* Where one thread decodes. */
struct desk {
    struct tc_stream_pool pool;
    bool failed; /* the stream that is being decoded */
};

/*
 * Invariants: lanes before `turn` were taken over; those from `next` on are open. A lane that is
 * taken belongs to its thread, with its stream. The mutex guards all but the desks and those.
 */
struct tc_ahead {
    struct tc_stream_pool *pool;
    struct tc_source_stream *streams;
    struct lane *lanes;
    size_t count;
    size_t turn;
    size_t next;
    size_t taken_bytes;   /* held by the streams before `turn` */
    size_t waiting_bytes; /* held by lanes that are done and not taken over */
    bool stopped;
    struct desk own;   /* of the caller, while it waits */
    struct desk other; /* of the thread */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

size_t tc_ahead_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

static void on_error(void *context, const struct tc_input *input, const struct tc_error *err)
{
    struct desk *desk = context;
    (void)input;
    (void)err;
    desk->failed = true; /* it is told when the stream is decoded in its turn */
}

static void desk_init(struct desk *desk, const struct tc_stream_pool *like)
{
    tc_stream_pool_init(&desk->pool, like->budget_bytes, 0);
    desk->pool.batch = like->batch;
    desk->pool.whole_max = like->whole_max;
    desk->pool.utc_offset_s = like->utc_offset_s;
    desk->pool.adjust = like->adjust;
    desk->pool.adjust_context = like->adjust_context;
    desk->pool.error = on_error;
    desk->pool.context = desk;
}

/* Held whole, and so decoded at once; others to where their first batch may leave. */
static bool is_whole(const struct tc_ahead *a, const struct tc_source_stream *s)
{
    return !s->ordered || s->input->bytes.len <= a->pool->whole_max;
}

/* The next lane to decode; false when there is none for now. */
static bool claim(struct tc_ahead *a, size_t *out)
{
    if (a->stopped || a->next == a->count || a->next >= a->turn + AHEAD_MAX ||
        a->taken_bytes + a->waiting_bytes > a->pool->budget_bytes / 8 * 3) {
        return false;
    }
    *out = a->next++;
    a->lanes[*out].state = STATE_TAKEN;
    return true;
}

/* Without the mutex: lane i is ours. */
static void decode(struct tc_ahead *a, struct desk *desk, size_t i)
{
    struct tc_source_stream *s = &a->streams[i];
    struct lane *lane = &a->lanes[i];
    desk->failed = false;
    s->pool = &desk->pool;
    tc_status status = tc_source_stream_next(s, &lane->first);
    lane->failed = status != TC_OK || desk->failed || s->over_budget ||
                   (is_whole(a, s) && (!s->done || s->piecewise));
    lane->strings_peak = desk->pool.strings.arena.peak;
    lane->held_bytes = desk->pool.held_bytes;
    desk->pool.held_bytes = 0;
}

/* With the mutex, which it lets go of meanwhile. */
static void work_on(struct tc_ahead *a, struct desk *desk, size_t i)
{
    (void)pthread_mutex_unlock(&a->mutex);
    decode(a, desk, i);
    (void)pthread_mutex_lock(&a->mutex);
    a->lanes[i].state = STATE_DONE;
    a->waiting_bytes += a->lanes[i].held_bytes;
    (void)pthread_cond_broadcast(&a->changed);
}

static void *run(void *context)
{
    struct tc_ahead *a = context;
    (void)pthread_mutex_lock(&a->mutex);
    while (!a->stopped && a->next < a->count) {
        size_t i = 0;
        if (claim(a, &i)) {
            work_on(a, &a->other, i);
        } else if (!a->stopped && a->next < a->count) {
            (void)pthread_cond_wait(&a->changed, &a->mutex);
        }
    }
    (void)pthread_mutex_unlock(&a->mutex);
    return NULL;
}

static bool is_worth_it(const struct tc_stream_pool *pool, const struct tc_source_stream *streams,
                        size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += streams[i].input->bytes.len;
    }
    /* Boot times that were given are marked as used, by one thread. */
    return count >= INPUTS_LEAST && bytes >= BYTES_LEAST && !pool->file_order &&
           pool->unknown == NULL && (pool->hints == NULL || pool->hints->boots_count == 0);
}

struct tc_ahead *tc_ahead_create(struct tc_stream_pool *pool, struct tc_source_stream *streams,
                                 size_t count)
{
    struct tc_ahead *a = is_worth_it(pool, streams, count) ? calloc(1, sizeof *a) : NULL;
    if (a == NULL) {
        return NULL;
    }
    a->pool = pool;
    a->streams = streams;
    a->count = count;
    a->lanes = calloc(count, sizeof *a->lanes);
    if (a->lanes == NULL || pthread_mutex_init(&a->mutex, NULL) != 0) {
        free(a->lanes);
        free(a);
        return NULL;
    }
    desk_init(&a->own, pool);
    desk_init(&a->other, pool);
    if (pthread_cond_init(&a->changed, NULL) == 0) {
        if (pthread_create(&a->thread, NULL, run, a) == 0) {
            return a;
        }
        (void)pthread_cond_destroy(&a->changed);
    }
    (void)pthread_mutex_destroy(&a->mutex);
    free(a->lanes);
    free(a);
    return NULL;
}

/*
 * Whether one thread would have made the same of the stream: at no time would it have counted more
 * than half of the budget, beyond which streams are no longer held whole. An array grows by half,
 * and is cut to its size at the end; the room of the strings counts meanwhile.
 */
static bool is_same_alone(const struct tc_ahead *a, const struct lane *lane)
{
    return !lane->failed && a->pool->held_bytes + 3 * lane->held_bytes + lane->strings_peak <=
                                a->pool->budget_bytes / 2;
}

/* Lane i is done, and its stream the caller's again. */
static bool take_over(struct tc_ahead *a, size_t i, const struct tc_event **out)
{
    struct tc_source_stream *s = &a->streams[i];
    struct lane *lane = &a->lanes[i];
    bool same = is_same_alone(a, lane);
    bool decoded = s->pool != a->pool;
    s->pool = a->pool;
    a->pool->held_bytes += lane->held_bytes;
    if (same) {
        *out = lane->first;
        if (a->pool->progress != NULL) {
            a->pool->progress(a->pool->context, s->reported, s->done);
        }
        return true;
    }
    if (decoded) {
        struct tc_input *input = s->input;
        uint32_t source = s->source;
        tc_source_stream_fini(s);
        tc_source_stream_init(s, a->pool, input, source);
    }
    return false;
}

bool tc_ahead_take(struct tc_ahead *a, size_t i, const struct tc_event **out)
{
    (void)pthread_mutex_lock(&a->mutex);
    TC_ASSERT(i == a->turn);
    a->taken_bytes = a->pool->held_bytes;
    struct lane *lane = &a->lanes[i];
    while (lane->state != STATE_DONE) {
        size_t other = 0;
        if (claim(a, &other)) {
            work_on(a, &a->own, other);
        } else if (lane->state == STATE_TAKEN) {
            (void)pthread_cond_wait(&a->changed, &a->mutex);
        } else {
            /* Too much is held to go on ahead: from here on, one after the other. */
            a->stopped = true;
            lane->failed = true;
            lane->state = STATE_DONE;
            a->next = i + 1 > a->next ? i + 1 : a->next;
        }
    }
    a->turn++;
    a->waiting_bytes -= lane->held_bytes;
    bool taken = take_over(a, i, out);
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->mutex);
    return taken;
}

void tc_ahead_destroy(struct tc_ahead *a)
{
    if (a == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&a->mutex);
    a->stopped = true;
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->mutex);
    (void)pthread_join(a->thread, NULL);
    for (size_t i = a->turn; i < a->count; i++) {
        if (a->streams[i].pool != a->pool) {
            a->lanes[i].failed = true;
            const struct tc_event *none = NULL;
            (void)take_over(a, i, &none);
        }
    }
    (void)pthread_cond_destroy(&a->changed);
    (void)pthread_mutex_destroy(&a->mutex);
    tc_stream_pool_fini(&a->own.pool);
    tc_stream_pool_fini(&a->other.pool);
    free(a->lanes);
    free(a);
}
