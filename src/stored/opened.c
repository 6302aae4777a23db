/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of the stretch in memory: its events, with their strings, in order. */
#include "base/grow.h"
#include "base/sort.h"
#include "event/copy.h"
#include "stored/ordered_priv.h"

#include <stdlib.h>

#define CHUNK_BYTES ((size_t)64 << 10)

void tc__opened_free(struct tc__opened *b)
{
    if (b == NULL) {
        return;
    }
    while (b->chunks != NULL) {
        struct tc__chunk *next = b->chunks->next;
        free(b->chunks);
        b->chunks = next;
    }
    free(b->order);
    free(b);
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
};

static tc_status take_event(void *context, const struct tc_event *ev)
{
    const struct opening *r = context;
    struct tc__opened *b = r->opened;
    struct tc_event own = *ev;
    own.sender = r->sender;
    int64_t ahead_ns =
        tc__ordered_may_be_fast(r->batch, ev) ? tc__ordered_fast(r->o, &own, r->batch->number) : 0;
    if (!tc__ordered_fit(r->o, r->batch, ahead_ns, &own)) {
        return TC_OK;
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

tc_status tc__opened_read(struct tc_ordered *o, const struct tc__listed *listed,
                          struct tc__opened **out)
{
    struct tc_error err = {0};
    struct tc_batch batch = {.number = listed->number,
                             .arrival_ns = listed->arrival_ns,
                             .kind = (enum tc_batch_kind)listed->kind,
                             .name = tc_slice_make(listed->name, listed->name_len)};
    *out = NULL;
    tc_status status = tc_evidence_body(o->evidence, listed->number, &batch.body, &err);
    if (status == TC_E_NOTFOUND || status == TC_E_MALFORMED) {
        o->counts.damaged++; /* deleted since the survey, or damaged */
        return TC_OK;
    }
    TC_TRY(status);
    struct tc__opened *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return TC_E_NOMEM;
    }
    struct opening opening = {o, &batch, b, tc_sender_number(tc_batch_sender(batch.name, NULL))};
    struct tc_batch_taker taker = {.event = take_event, .context = &opening};
    status = tc_batch_events(o->reader, &batch, NULL, &o->arenas, &taker, &err);
    if (status != TC_E_NOMEM) {
        status = TC_OK; /* what of it cannot be read was counted by the survey */
    }
    if (status != TC_OK || b->count == 0) {
        tc__opened_free(b);
        return status;
    }
    sort_events(b);
    *out = b;
    return TC_OK;
}
