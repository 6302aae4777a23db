/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/stream.h"

#include "base/assert.h"
#include "base/table/sort.h"

#include <stdlib.h>
#include <string.h>

/* Where the rooms start; a batch of ordinary events needs less. */
#define ROOM_FIRST ((size_t)8 << 20)
/* Fewer events than this in a batch would repair no disorder worth the name. */
#define BATCH_MIN 64
/* What dumps say about groups has no time to begin with, and neither has a map of ranks or the
 * address of a node. */
#define NEVER_DATED                                                           \
    (TC_EVENT_BIT(TC_EVENT_NCCL_GROUP) | TC_EVENT_BIT(TC_EVENT_NCCL_STATUS) | \
     TC_EVENT_BIT(TC_EVENT_NCCL_DUMP) | TC_EVENT_BIT(TC_EVENT_RANK_PLACE) |   \
     TC_EVENT_BIT(TC_EVENT_ADDRESS))
/* Progress inside of one call of a codec, which may take a whole file. */
#define PROGRESS_STEP ((size_t)4 << 20)
/* Undated inputs do not meet: each has this much of the time before all dates. */
#define UNDATED_SLOT (3600 * TC_SECOND)
#define UNDATED_SLOTS 100003
/* What the slot is chosen by: the same file under two names has the same times. */
#define UNDATED_HEAD ((size_t)64 << 10)
/* From one byte of an undated input to the next. */
#define UNDATED_BYTE INT64_C(1000)

void tc_stream_pool_init(struct tc_stream_pool *p, size_t budget_bytes, size_t ordered_count)
{
    *p = (struct tc_stream_pool){
        .budget_bytes = budget_bytes, .batch = TC_STREAM_BATCH, .whole_max = TC_STREAM_WHOLE_MAX};
    /* Half of the budget is for the streams that can do with less; each holds two batches. */
    size_t share = budget_bytes / 2 / (ordered_count == 0 ? 1 : ordered_count);
    size_t batch = share / (2 * (sizeof(struct tc_event) + sizeof(void *)));
    p->batch = batch < p->batch ? batch : p->batch;
    p->batch = p->batch < BATCH_MIN ? BATCH_MIN : p->batch;
    tc_event_strings_init(&p->event_strings);
}

static void close_room(struct tc_room *r)
{
    tc_arena_fini(&r->arena);
    tc_block_free(r->block);
    *r = (struct tc_room){0};
}

void tc_stream_pool_fini(struct tc_stream_pool *p)
{
    close_room(&p->strings);
    close_room(&p->scratch);
    free(p->sort_scratch);
    p->sort_scratch = NULL;
}

static tc_status open_room(struct tc_room *r, const char *name, size_t bytes)
{
    if (r->block != NULL && r->arena.size >= bytes) {
        tc_arena_reset(&r->arena);
        r->arena.overflow_count = 0;
        return TC_OK;
    }
    close_room(r);
    r->block = tc_block_new(bytes);
    if (r->block == NULL) {
        return TC_E_NOMEM;
    }
    tc_arena_init_zeroed(&r->arena, name, r->block->bytes, bytes);
    return TC_OK;
}

/*
 * Makes both rooms usable and empty, of at least want_bytes. Then, after a
 * TC_E_NOMEM from a codec, tc_stream_pool_grow makes the one that was full
 * larger: false when that would exceed the budget, or when neither was full.
 */
static tc_status stream_pool_ready(struct tc_stream_pool *p, size_t want_bytes)
{
    size_t bytes = want_bytes < p->budget_bytes ? want_bytes : p->budget_bytes;
    TC_TRY(open_room(&p->strings, "strings", bytes < ROOM_FIRST ? ROOM_FIRST : bytes));
    return open_room(&p->scratch, "scratch", ROOM_FIRST);
}

static bool grow_room(struct tc_room *r, size_t budget_bytes)
{
    size_t bytes = r->arena.size * 2;
    const char *name = r->arena.name;
    return bytes <= (budget_bytes < ROOM_FIRST ? ROOM_FIRST : budget_bytes) &&
           open_room(r, name, bytes) == TC_OK;
}

static bool stream_pool_grow(struct tc_stream_pool *p)
{
    bool strings = p->strings.arena.overflow_count > 0;
    bool scratch = p->scratch.arena.overflow_count > 0;
    if (!strings && !scratch) {
        return false;
    }
    return (!strings || grow_room(&p->strings, p->budget_bytes)) &&
           (!scratch || grow_room(&p->scratch, p->budget_bytes));
}

/* What the codec is told about an input. */
static struct tc_codec_input stream_codec_input(const struct tc_stream_pool *pool,
                                                const struct tc_input *input, uint32_t source)
{
    return (struct tc_codec_input){
        .bytes = input->bytes,
        .name = tc_slice_cstr(input->path),
        .source = source,
        .node = input->node,
        .job = input->job,
        .place = input->place,
        .boot_ns = input->boot_ns,
        .now_ns = input->now_ns,
        .taken_ns = input->taken_ns,
        .scrapes = input->scrapes.count > 0 ? &input->scrapes : NULL,
        .interval_ns = input->interval_ns,
        .utc_offset_s = pool->utc_offset_s,
        .want_unknown = pool->unknown != NULL,
    };
}

int64_t tc_stream_last_time(const struct tc_stream_pool *p, const struct tc_input *inputs,
                            size_t count)
{
    int64_t last_ns = TC_TIME_NONE;
    for (size_t i = 0; i < count; i++) {
        struct tc_codec_input input = stream_codec_input(p, &inputs[i], (uint32_t)i);
        const struct tc_codec *codec = inputs[i].codec;
        int64_t ns = codec->last_time == NULL ? TC_TIME_NONE : codec->last_time(&input);
        last_ns = ns > last_ns ? ns : last_ns;
    }
    return last_ns;
}

void tc_source_stream_init(struct tc_source_stream *s, struct tc_stream_pool *pool,
                           struct tc_input *input, uint32_t source)
{
    const struct tc_codec *codec = input->codec;
    *s = (struct tc_source_stream){
        .pool = pool, .input = input, .source = source, .undated_slot = -1};
    s->ordered = codec->ordered && (codec->in_order == NULL ||
                                    codec->in_order(tc_slice_head(input->bytes, TC_SNIFF_BYTES)));
}

/* The pool counts what the stream holds; after each change of that. */
static void count_held(struct tc_source_stream *s)
{
    size_t bytes = tc_held_bytes(&s->held) + s->strings_bytes;
    s->pool->held_bytes = s->pool->held_bytes - s->held_bytes + bytes;
    s->held_bytes = bytes;
}

/* Gives up all events and their memory. */
static void drop_events(struct tc_source_stream *s)
{
    tc_held_fini(&s->held);
    free(s->strings);
    s->strings = NULL;
    s->next = s->ready = s->strings_bytes = 0;
    count_held(s);
}

void tc_source_stream_fini(struct tc_source_stream *s)
{
    if (s->pool != NULL) {
        drop_events(s);
    }
}

static void report_progress(struct tc_source_stream *s, size_t offset)
{
    struct tc_stream_pool *p = s->pool;
    if (p->progress != NULL) {
        p->progress(p->context, offset > s->reported ? offset - s->reported : 0, s->done);
    }
    s->reported = offset > s->reported ? offset : s->reported;
}

/* Whether everything is decoded before anything leaves. */
static bool is_whole(const struct tc_source_stream *s)
{
    const struct tc_stream_pool *p = s->pool;
    return !s->ordered || (!s->piecewise && !p->file_order && s->input->bytes.len <= p->whole_max);
}

/*
 * An ordered input is no longer held whole when that, with so many bytes more, would take over
 * half of the budget: the rest is for inputs that cannot do with less. Two batches it would need
 * in any case.
 */
static void limit_whole(struct tc_source_stream *s, size_t more_bytes)
{
    const struct tc_stream_pool *p = s->pool;
    size_t bytes = p->held_bytes + more_bytes;
    s->piecewise = s->piecewise || (s->held.count > 2 * p->batch && bytes > p->budget_bytes / 2);
}

/* A copy of one more event, within the budget. */
static tc_status hold_event(struct tc_source_stream *s, const struct tc_event *ev,
                            size_t strings_bytes, struct tc_event **out)
{
    const struct tc_stream_pool *p = s->pool;
    size_t growth = tc_held_growth(&s->held);
    if (growth > 0) {
        limit_whole(s, strings_bytes + growth);
        if (growth > p->budget_bytes - p->held_bytes) {
            s->over_budget = true;
            return TC_E_LIMIT;
        }
    }
    tc_status status = tc_held_add(&s->held, ev, out);
    count_held(s);
    return status;
}

/* One call of a codec's decode, and what it delivers. */
struct delivery {
    struct tc_source_stream *stream;
    struct tc_codec_out out;
    size_t before; /* events held before the call */
};

/* A date before 1970 is none. */
static bool is_undated(const struct tc_event *ev)
{
    return !tc_time_is_date(ev->time_ns) && (TC_EVENT_BIT(ev->kind) & NEVER_DATED) == 0;
}

/* Order in the file is order in time; see TC_TIME_UNDATED_MIN. */
static int64_t undated_time(struct tc_source_stream *s, const struct tc_event *ev)
{
    struct tc_slice bytes = s->input->bytes;
    if (s->undated_slot < 0) {
        uint64_t content = tc_slice_hash(tc_slice_head(bytes, UNDATED_HEAD), bytes.len);
        s->undated_slot = (int64_t)(content % UNDATED_SLOTS);
    }
    uint64_t most = (uint64_t)(UNDATED_SLOT / UNDATED_BYTE) - 1;
    uint64_t at = ev->raw.offset < most ? ev->raw.offset : most;
    int64_t uptime_ns = ev->uptime_ns == TC_TIME_NONE ? 0 : ev->uptime_ns;
    int64_t slot = TC_TIME_UNDATED_MIN + s->undated_slot * UNDATED_SLOT;
    /* Times since boot are exact: what they say of the time between counts. */
    return uptime_ns > 0 && uptime_ns < -TC_TIME_UNDATED_MIN / 2
               ? slot + uptime_ns
               : slot + (int64_t)at * UNDATED_BYTE;
}

static tc_status take_event(void *context, const struct tc_event *ev)
{
    struct delivery *d = context;
    struct tc_source_stream *s = d->stream;
    const struct tc_arena *strings = d->out.arena;
    struct tc_event *own = NULL;
    TC_TRY(hold_event(s, ev, strings->used, &own));
    if (own->time_ns == TC_TIME_NONE && own->uptime_ns != TC_TIME_NONE && s->pool->hints != NULL) {
        int64_t boot_ns = tc_hints_boot_of(s->pool->hints, own->scope.node);
        if (boot_ns == TC_TIME_NONE ||
            __builtin_add_overflow(boot_ns, own->uptime_ns, &own->time_ns)) {
            own->time_ns = TC_TIME_NONE;
        }
    }
    if (s->pool->adjust != NULL) {
        s->pool->adjust(s->pool->adjust_context, own);
    }
    if (!s->pool->file_order && is_undated(own)) {
        own->time_ns = undated_time(s, own);
    }
    if (ev->raw.offset >= s->reported + PROGRESS_STEP) {
        report_progress(s, (size_t)ev->raw.offset);
    }
    limit_whole(s, strings->used);
    bool batch_full = !is_whole(s) && s->held.count - d->before >= s->pool->batch;
    d->out.pause = batch_full || strings->used > strings->size / 2;
    return TC_OK;
}

static tc_status take_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    struct delivery *d = context;
    struct tc_source_stream *s = d->stream;
    if (s->pool->unknown == NULL || offset < s->unknown_end) {
        return TC_OK;
    }
    s->unknown_end = offset + (length == 0 ? 1 : length);
    return s->pool->unknown(s->pool->context, s->input, offset, length, why);
}

/* Strings outside of the input's bytes, which must be kept with the events. */
static bool must_keep(const struct tc_source_stream *s, struct tc_slice string)
{
    uintptr_t at = (uintptr_t)string.ptr;
    uintptr_t bytes = (uintptr_t)s->input->bytes.ptr;
    return string.len > 0 && (at < bytes || at - bytes >= s->input->bytes.len);
}

/* Where a field's last string went: neighbouring events share most of theirs. */
struct moved {
    struct tc_slice from;
    const char *to;
};

/*
 * Moves the strings of all held events to block, or only counts their bytes when it is NULL.
 * Both passes decide alike, so the count of one is the size for the other.
 */
static size_t move_strings(struct tc_source_stream *s, char *block)
{
    const struct tc_event_strings *strings = &s->pool->event_strings;
    struct moved last[TC_EVENT_KIND_COUNT][TC_EVENT_STRINGS_MAX] = {0};
    size_t at = 0;
    for (size_t i = 0; i < s->held.count; i++) {
        struct tc_event *ev = tc_held_event(&s->held, i);
        for (unsigned f = 0; f < strings->counts[ev->kind]; f++) {
            struct tc_slice *string = tc_event_string(ev, strings->offsets[ev->kind][f]);
            struct moved *m = &last[ev->kind][f];
            if (string->ptr == NULL || !must_keep(s, *string)) {
                continue;
            }
            if (m->from.ptr != string->ptr || m->from.len != string->len) {
                m->from = *string;
                if (block != NULL) {
                    memcpy(block + at, string->ptr, string->len);
                    m->to = block + at;
                }
                at += string->len;
            }
            if (block != NULL) {
                string->ptr = m->to;
            }
        }
    }
    return at;
}

/* The strings of all held events move to one block of the right size, and the old one goes. */
static tc_status pack_strings(struct tc_source_stream *s)
{
    struct tc_stream_pool *p = s->pool;
    size_t total = move_strings(s, NULL);
    if (total > s->strings_bytes && total - s->strings_bytes > p->budget_bytes - p->held_bytes) {
        s->over_budget = true;
        return TC_E_LIMIT;
    }
    char *block = NULL;
    if (total > 0) {
        block = malloc(total);
        if (block == NULL) {
            return TC_E_NOMEM;
        }
        (void)move_strings(s, block);
    }
    free(s->strings);
    s->strings = block;
    s->strings_bytes = total;
    count_held(s);
    return TC_OK;
}

static int cmp_events(const void *a, const void *b, void *context)
{
    (void)context;
    return tc_event_order(a, b);
}

static tc_status sort_events(struct tc_source_stream *s)
{
    struct tc_stream_pool *p = s->pool;
    const void **order = s->held.order;
    size_t count = s->held.count;
    bool sorted = true;
    for (size_t i = 1; sorted && i < count; i++) {
        sorted = tc_event_order(order[i - 1], order[i]) <= 0;
    }
    if (sorted || p->file_order) {
        return TC_OK;
    }
    if (p->sort_cap < count) {
        free(p->sort_scratch);
        p->sort_cap = 0;
        p->sort_scratch = calloc(count, sizeof *p->sort_scratch);
        if (p->sort_scratch == NULL) {
            return TC_E_NOMEM;
        }
        p->sort_cap = count;
    }
    tc_sort_ptrs(order, p->sort_scratch, count, cmp_events, NULL);
    return TC_OK;
}

/* The events that wait are all that is held, in order; the others are gone. */
static tc_status keep_waiting(struct tc_source_stream *s)
{
    struct tc_held waiting = {0};
    tc_status status = TC_OK;
    TC_ASSERT(s->held.count - s->ready <= s->pool->batch);
    for (size_t i = s->ready; status == TC_OK && i < s->held.count; i++) {
        struct tc_event *own = NULL;
        status = tc_held_add(&waiting, s->held.order[i], &own);
    }
    tc_held_fini(&s->held);
    s->held = waiting;
    s->next = s->ready = 0;
    count_held(s);
    return status;
}

static void forget_after(struct tc_source_stream *s, size_t count)
{
    tc_held_cut(&s->held, count);
    count_held(s);
}

/* One call of decode, repeated in larger rooms when those were too small for it. */
static tc_status decode_some(struct tc_source_stream *s, struct tc_error *err)
{
    struct tc_stream_pool *p = s->pool;
    const struct tc_codec *codec = s->input->codec;
    struct tc_codec_input in = stream_codec_input(p, s->input, s->source);
    size_t want = is_whole(s) ? s->input->bytes.len : ROOM_FIRST;
    for (;;) {
        TC_TRY(stream_pool_ready(p, want));
        struct delivery d = {.stream = s, .before = s->held.count};
        d.out = (struct tc_codec_out){.event = take_event,
                                      .unknown = take_unknown,
                                      .context = &d,
                                      .arena = &p->strings.arena,
                                      .scratch = &p->scratch.arena};
        struct tc_codec_cursor start = s->cursor;
        tc_status status = tc_codec_decode(codec, &in, &s->cursor, &d.out, err);
        bool full = p->strings.arena.overflow_count > 0 || p->scratch.arena.overflow_count > 0;
        if (status != TC_E_NOMEM || !full) {
            s->done = s->cursor.done || status != TC_OK;
            bool stuck = !s->done && s->held.count == d.before && s->cursor.offset == start.offset;
            return stuck ? tc_fail(err, TC_E_MALFORMED, start.offset, "nothing more can be read")
                         : status;
        }
        if (s->ordered && s->held.count > d.before) {
            return TC_OK; /* as if it had paused */
        }
        forget_after(s, d.before);
        s->cursor = start;
        if (!stream_pool_grow(p)) {
            s->done = true;
            s->over_budget = true;
            return TC_E_LIMIT;
        }
    }
}

/* A failure of the input ends it and is told; a failure of ours is returned. */
static tc_status input_failed(struct tc_source_stream *s, tc_status status, struct tc_error *err)
{
    s->done = true;
    if (s->over_budget) {
        (void)tc_fail(err, TC_E_LIMIT, s->cursor.offset,
                      "its events need more memory than the %zu MiB all inputs may use; "
                      "raise --memory",
                      s->pool->budget_bytes >> 20);
    } else if (status == TC_E_NOMEM) {
        return status;
    }
    if (s->pool->error != NULL) {
        s->pool->error(s->pool->context, s->input, err);
    }
    return TC_OK;
}

/* Decodes until something may leave, or nothing is left. */
static tc_status refill(struct tc_source_stream *s)
{
    TC_TRY(keep_waiting(s));
    while (!s->done && (is_whole(s) || s->held.count <= s->pool->batch)) {
        struct tc_error err = {0};
        size_t before = s->held.count;
        tc_status status = decode_some(s, &err);
        if (status == TC_OK || s->held.count > before) {
            tc_status packed = pack_strings(s);
            if (packed != TC_OK) {
                forget_after(s, before); /* their strings die with the room */
                status = status == TC_OK ? packed : status;
            }
        }
        if (status != TC_OK) {
            TC_TRY(input_failed(s, status, &err));
        }
        report_progress(s, s->done ? s->input->bytes.len : s->cursor.offset);
        tc_input_pass(s->input, s->reported);
    }
    if (s->done) {
        tc_held_trim(&s->held);
        count_held(s);
    }
    TC_TRY(sort_events(s));
    s->ready = s->done ? s->held.count : s->held.count - s->pool->batch;
    return TC_OK;
}

tc_status tc_source_stream_next(void *context, const struct tc_event **out)
{
    struct tc_source_stream *s = context;
    if (s->next == s->ready && !s->done) {
        TC_TRY(refill(s));
    }
    if (s->next < s->ready) {
        *out = s->held.order[s->next++];
        bool dated = tc_time_is_date((*out)->time_ns);
        s->since_boot += !dated && (*out)->uptime_ns != TC_TIME_NONE;
        s->timeless += (*out)->uptime_ns == TC_TIME_NONE && is_undated(*out);
        s->nodeless += (*out)->scope.node.len == 0;
    } else {
        drop_events(s);
        *out = NULL;
    }
    return TC_OK;
}
