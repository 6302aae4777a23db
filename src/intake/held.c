/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/held.h"

#include "event/copy.h"

#include <stdlib.h>
#include <string.h>

/* Chunks double from the first to the last of these. The largest come from the heap rather than
 * from mappings of their own, of which a process has some 65,000. */
#define CHUNK_FIRST ((size_t)2 << 10)
#define CHUNK_MAX ((size_t)120 << 10)
#define ORDER_FIRST ((size_t)16)

/* An event fits while a whole struct tc_event does. */
struct tc_held_chunk {
    struct tc_held_chunk *next;
    size_t size; /* of bytes */
    size_t used;
    size_t first; /* the number of its first event */
    _Alignas(struct tc_event) char bytes[];
};

static size_t next_chunk_bytes(const struct tc_held *h)
{
    size_t twice = h->chunks == NULL ? CHUNK_FIRST : 2 * h->chunks->size;
    return twice < CHUNK_MAX ? twice : CHUNK_MAX;
}

static size_t next_cap(const struct tc_held *h)
{
    return h->cap == 0 ? ORDER_FIRST : h->cap + h->cap / 2;
}

static bool has_room(const struct tc_held *h)
{
    return h->chunks != NULL && h->chunks->size - h->chunks->used >= sizeof(struct tc_event);
}

size_t tc_held_bytes(const struct tc_held *h)
{
    return h->chunk_bytes + h->cap * sizeof *h->order;
}

size_t tc_held_growth(const struct tc_held *h)
{
    size_t chunk = has_room(h) ? 0 : sizeof(struct tc_held_chunk) + next_chunk_bytes(h);
    return chunk + (h->count < h->cap ? 0 : (next_cap(h) - h->cap) * sizeof *h->order);
}

static tc_status add_chunk(struct tc_held *h)
{
    size_t size = next_chunk_bytes(h);
    struct tc_held_chunk *chunk = malloc(sizeof *chunk + size);
    if (chunk == NULL) {
        return TC_E_NOMEM;
    }
    *chunk = (struct tc_held_chunk){.next = h->chunks, .size = size, .first = h->count};
    h->chunks = chunk;
    h->chunk_bytes += sizeof *chunk + size;
    return TC_OK;
}

static tc_status set_cap(struct tc_held *h, size_t cap)
{
    const void **order = reallocarray(h->order, cap, sizeof *order);
    if (order == NULL) {
        return TC_E_NOMEM;
    }
    h->order = order;
    h->cap = cap;
    return TC_OK;
}

tc_status tc_held_add(struct tc_held *h, const struct tc_event *ev, struct tc_event **out)
{
    if (h->count == h->cap) {
        TC_TRY(set_cap(h, next_cap(h)));
    }
    if (!has_room(h)) {
        TC_TRY(add_chunk(h));
    }
    struct tc_held_chunk *chunk = h->chunks;
    struct tc_event *own = (struct tc_event *)(void *)(chunk->bytes + chunk->used);
    size_t bytes = tc_event_kind_bytes(ev->kind);
    memcpy((void *)own, ev, bytes);
    chunk->used += bytes;
    h->order[h->count++] = own;
    *out = own;
    return TC_OK;
}

static void drop_chunk(struct tc_held *h)
{
    struct tc_held_chunk *chunk = h->chunks;
    h->chunks = chunk->next;
    h->chunk_bytes -= sizeof *chunk + chunk->size;
    free(chunk);
}

void tc_held_cut(struct tc_held *h, size_t count)
{
    bool at_edge = count == h->count; /* the first that goes, if any, was the first of its chunk */
    while (h->chunks != NULL && h->chunks->first >= count) {
        at_edge = at_edge || h->chunks->first == count;
        drop_chunk(h);
    }
    if (!at_edge && h->chunks != NULL) {
        h->chunks->used = (size_t)((const char *)h->order[count] - h->chunks->bytes);
    }
    h->count = count;
}

void tc_held_trim(struct tc_held *h)
{
    if (h->count > 0 && h->count < h->cap) {
        (void)!set_cap(h, h->count); /* it fits as it is, too */
    }
}

void tc_held_fini(struct tc_held *h)
{
    while (h->chunks != NULL) {
        drop_chunk(h);
    }
    free(h->order);
    *h = (struct tc_held){0};
}
