/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of the stretch in memory: its events, with their strings, in order. */
#include "base/table/grow.h"
#include "base/table/sort.h"
#include "event/copy.h"
#include "stored/ordered_priv.h"

#include <stdlib.h>

#define CHUNK_BYTES ((size_t)64 << 10)
/* A part of a file takes such a part of the memory. */
#define PART_SHARE 2

/* Lets go of the events. */
static void drop_events(struct tc__opened *b)
{
    while (b->chunks != NULL) {
        struct tc__chunk *next = b->chunks->next;
        free(b->chunks);
        b->chunks = next;
    }
    b->of->held_bytes -= b->bytes;
    b->count = b->next = b->bytes = 0;
}

static void close_one(struct tc__opened *b)
{
    struct tc_ordered *o = b->of;
    drop_events(b);
    *(b->newer == NULL ? &o->open : &b->newer->older) = b->older;
    if (b->older != NULL) {
        b->older->newer = b->newer;
    }
    free(b->order);
    free(b);
}

void tc__opened_close_all(struct tc_ordered *o)
{
    while (o->open != NULL) {
        close_one(o->open);
    }
}

/* Room for the copy of an event; NULL when there is no memory. */
static struct tc_event *find_room(struct tc__opened *b, size_t len)
{
    if (b->chunks == NULL || b->chunks->size - b->chunks->used < len) {
        size_t size = len > CHUNK_BYTES ? len : CHUNK_BYTES;
        struct tc__chunk *chunk = malloc(sizeof *chunk + size + sizeof(struct tc_event));
        if (chunk == NULL) {
            return NULL;
        }
        *chunk = (struct tc__chunk){.next = b->chunks, .size = size};
        b->chunks = chunk;
        b->bytes += sizeof *chunk + size;
    }
    void *at = b->chunks->bytes + b->chunks->used;
    b->chunks->used += len;
    return at;
}

struct opening {
    const struct tc_ordered *o;
    const struct tc_batch *batch;
    struct tc__opened *opened;
    uint32_t sender;
    bool is_file;
    size_t seen; /* events that fit */
};

static tc_status take_event(void *context, const struct tc_event *ev)
{
    struct opening *r = context;
    struct tc__opened *b = r->opened;
    struct tc_event own = *ev;
    own.sender = r->sender;
    int64_t ahead_ns =
        tc__ordered_may_be_fast(r->batch, ev) ? tc__ordered_fast(r->o, &own, r->batch->number) : 0;
    if (!tc__ordered_fit(r->o, r->batch, ahead_ns, &own) || r->seen++ < b->taken) {
        return TC_OK;
    }
    /* A file's events come in order, so it can be taken in parts. */
    if (r->is_file && b->count > 0 && b->bytes >= r->o->want.memory_bytes / PART_SHARE) {
        b->has_more = true;
        return TC_E_LIMIT;
    }
    struct tc_event *to = find_room(b, tc_event_copy_bytes(&r->o->strings, &own));
    if (to == NULL) {
        return TC_E_NOMEM;
    }
    TC_TRY(tc_grow_items(b->order, b->cap, 2 * (b->count + 1), SIZE_MAX));
    tc_event_copy(&r->o->strings, &own, to);
    b->order[b->count++] = to;
    return TC_OK;
}

static int compare_events(const void *a, const void *b, void *context)
{
    (void)context;
    return tc_event_order(a, b);
}

/* There is as much room behind them. */
static void sort_events(struct tc__opened *b)
{
    tc_sort_ptrs(b->order, b->order + b->count, b->count, compare_events, NULL);
    b->bytes += b->cap * sizeof *b->order;
}

/* Reads the events, or the next part of them; none when it cannot be read any more. */
static tc_status read_part(struct tc__opened *b)
{
    struct tc_ordered *o = b->of;
    const struct tc__listed *listed = b->listed;
    struct tc_error err = {0};
    struct tc_batch batch = {.number = listed->number,
                             .arrival_ns = listed->arrival_ns,
                             .kind = (enum tc_batch_kind)listed->kind,
                             .name = tc_slice_make(listed->name, listed->name_len)};
    tc_status status = tc_evidence_body(o->evidence, listed->number, &batch.body, &err);
    b->has_more = false;
    if (status == TC_E_NOTFOUND || status == TC_E_MALFORMED) {
        o->counts.damaged++; /* deleted since the survey, or damaged */
        return TC_OK;
    }
    TC_TRY(status);
    struct opening opening = {.o = o,
                              .batch = &batch,
                              .opened = b,
                              .sender = tc_sender_number(tc_batch_sender(batch.name, NULL)),
                              .is_file = tc_batch_is_file(&batch)};
    struct tc_batch_taker taker = {.event = take_event, .context = &opening};
    status = tc_batch_events(o->reader, &batch, NULL, &o->arenas, &taker, &err);
    b->taken += b->count;
    if (b->count > 0) {
        sort_events(b);
    }
    o->held_bytes += b->bytes;
    o->counts.held_max = o->held_bytes > o->counts.held_max ? o->held_bytes : o->counts.held_max;
    /* What of it cannot be read was counted by the survey. */
    return status == TC_E_NOMEM ? status : TC_OK;
}

/* A tc_stream_fn. */
static tc_status next_event(void *context, const struct tc_event **out)
{
    struct tc__opened *b = context;
    if (b->next == b->count && b->has_more) {
        drop_events(b);
        TC_TRY(read_part(b));
    }
    *out = b->next < b->count ? b->order[b->next++] : NULL;
    if (*out == NULL) {
        close_one(b);
    }
    return TC_OK;
}

tc_status tc__opened_begin(struct tc_ordered *o, const struct tc__listed *listed)
{
    struct tc__opened *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return TC_E_NOMEM;
    }
    *b = (struct tc__opened){.of = o, .older = o->open, .listed = listed};
    if (b->older != NULL) {
        b->older->newer = b;
    }
    o->open = b;
    TC_TRY(read_part(b));
    return tc_merger_add(&o->merger, (struct tc_stream){.next = next_event, .context = b});
}
