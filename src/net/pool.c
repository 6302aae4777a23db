/* SPDX-License-Identifier: Apache-2.0 */
#include "net/pool_priv.h"

#include "base/asan.h"
#include "base/assert.h"
#include "observe/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef TC_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#endif

/* Classes are powers of two from 4 KiB on, with three between them from 64 KiB on, where a half of
 * a buffer that is not used is much; the last one is exactly buffer_max. */
#define CLASS_MIN_BYTES ((size_t)4 << 10)
#define CLASS_FINE_BYTES ((size_t)64 << 10)
#define SMALL_BYTES ((size_t)16 << 10)
#define KEPT_PART 8
/* What stands in front of the data; keeps the data on a cache line of its own. */
#define HEADER_BYTES TC__POOL_HEADER_BYTES
/* From here on a buffer is a mapping: given back to the system whole, never part of a heap that
 * cannot shrink. */
#define MAPPED_BYTES ((size_t)128 << 10)

_Static_assert(sizeof(struct tc_buffer) <= HEADER_BYTES, "the header holds the buffer");

struct tc_pool *tc_pool_create(size_t bytes_max, size_t buffer_max)
{
    struct tc_pool *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->limit = bytes_max;
    size_t power = CLASS_MIN_BYTES;
    size_t bytes = power;
    while (bytes < buffer_max && p->class_count < TC__POOL_CLASSES_MAX - 1) {
        p->class_bytes[p->class_count++] = bytes;
        bytes += power < CLASS_FINE_BYTES ? power : power / 4;
        power = bytes == 2 * power ? bytes : power;
    }
    p->class_bytes[p->class_count++] = buffer_max > CLASS_MIN_BYTES ? buffer_max : CLASS_MIN_BYTES;
    return p;
}

static void release(struct tc_pool *p, struct tc_buffer *b)
{
    size_t bytes = HEADER_BYTES + b->cap;
    ASAN_UNPOISON_MEMORY_REGION(b->data, b->cap);
    p->held -= bytes;
    if (bytes >= MAPPED_BYTES) {
        (void)munmap(b, bytes);
    } else {
        free(b);
    }
}

void tc_pool_destroy(struct tc_pool *p)
{
    if (p == NULL) {
        return;
    }
    TC_ASSERT(p->used == 0 && tc__pool_waiting(p) == 0);
    for (size_t i = 0; i < p->class_count; i++) {
        while (p->waiting[i] != NULL) {
            struct tc_buffer *b = p->waiting[i];
            p->waiting[i] = b->next;
            release(p, b);
        }
    }
    free(p);
}

static struct tc_buffer *make(struct tc_pool *p, size_t cap)
{
    size_t bytes = HEADER_BYTES + cap;
    void *block = NULL;
    if (bytes >= MAPPED_BYTES) {
        block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        block = block == MAP_FAILED ? NULL : block;
    } else {
        block = aligned_alloc(HEADER_BYTES,
                              bytes + (HEADER_BYTES - bytes % HEADER_BYTES) % HEADER_BYTES);
    }
    if (block == NULL) {
        return NULL;
    }
    struct tc_buffer *b = block;
    *b = (struct tc_buffer){.pool = p, .cap = cap, .data = (unsigned char *)block + HEADER_BYTES};
    p->held += bytes;
    return b;
}

/* Buffers that wait are given back to the system, largest first, until there is room. */
static bool make_room(struct tc_pool *p, size_t bytes)
{
    if (bytes > p->limit - p->used) {
        return false;
    }
    for (size_t i = p->class_count; i-- > 0;) {
        while (p->limit - p->held < bytes && p->waiting[i] != NULL) {
            struct tc_buffer *b = p->waiting[i];
            p->waiting[i] = b->next;
            release(p, b);
        }
    }
    return p->limit - p->held >= bytes;
}

static size_t class_of(const struct tc_pool *p, size_t bytes)
{
    size_t i = 0;
    while (i < p->class_count && p->class_bytes[i] < bytes) {
        i++;
    }
    return i;
}

/* The last eighth is for small buffers: what is in hand when something has to wait must be kept.
 * One that needs it all may have it when there is little else. */
static bool leaves_room(const struct tc_pool *p, size_t cap)
{
    size_t kept = p->limit / KEPT_PART;
    size_t used = p->used - p->spare;
    return cap <= SMALL_BYTES || used <= kept || used + HEADER_BYTES + cap <= p->limit - kept;
}

/* A buffer without taking one back from anybody. */
static struct tc_buffer *take_free(struct tc_pool *p, size_t bytes)
{
    size_t class = class_of(p, bytes);
    if (class == p->class_count || !leaves_room(p, p->class_bytes[class])) {
        return NULL;
    }
    struct tc_buffer *b = p->waiting[class];
    if (b != NULL) {
        p->waiting[class] = b->next;
        ASAN_UNPOISON_MEMORY_REGION(b->data, b->cap);
    } else {
        size_t cap = p->class_bytes[class];
        b = make_room(p, HEADER_BYTES + cap) ? make(p, cap) : NULL;
        if (b == NULL) {
            return NULL;
        }
    }
    b->next = NULL;
    b->len = 0;
    b->is_spare = false;
    b->is_new = false;
    p->used += HEADER_BYTES + b->cap;
    return b;
}

void tc_buffer_make_spare(struct tc_buffer *b)
{
    b->pool->spare += b->is_spare ? 0 : HEADER_BYTES + b->cap;
    b->is_spare = true;
}

struct tc_buffer *tc_pool_take_spare(struct tc_pool *p, size_t bytes)
{
    struct tc_buffer *b = take_free(p, bytes);
    if (b != NULL) {
        tc_buffer_make_spare(b);
    }
    return b;
}

void tc_pool_set_spare(struct tc_pool *p, bool (*give_back)(void *context), void *context)
{
    p->give_back = give_back;
    p->context = context;
}

struct tc_buffer *tc__pool_take(struct tc_pool *p, size_t bytes)
{
    bool fits = class_of(p, bytes) < p->class_count;
    struct tc_buffer *b = take_free(p, bytes);
    while (b == NULL && fits && p->give_back != NULL && p->give_back(p->context)) {
        b = take_free(p, bytes);
    }
    return b;
}

size_t tc__pool_cost(const struct tc_pool *p, size_t bytes)
{
    size_t class = class_of(p, bytes);
    return class == p->class_count ? 0 : HEADER_BYTES + p->class_bytes[class];
}

struct tc_buffer *tc_pool_take(struct tc_pool *p, size_t bytes)
{
    struct tc_buffer *b = tc__pool_take(p, bytes);
    if (b == NULL) {
        p->refused++;
        tc_count(TC_COUNT_POOL_REFUSED, 1);
    }
    return b;
}

struct tc_buffer *tc_buffer_grow(struct tc_buffer *b, size_t bytes)
{
    if (bytes <= b->cap) {
        return b;
    }
    struct tc_buffer *larger = tc_pool_take(b->pool, bytes);
    if (larger == NULL) {
        return NULL;
    }
    memcpy(larger->data, b->data, b->len);
    larger->len = b->len;
    tc_buffer_set_new(larger, b->is_new);
    tc_buffer_give(b);
    return larger;
}

void tc_buffer_give(struct tc_buffer *b)
{
    if (b == NULL) {
        return;
    }
    struct tc_pool *p = b->pool;
    TC_ASSERT(p->used >= HEADER_BYTES + b->cap);
    tc_buffer_set_new(b, false);
    p->used -= HEADER_BYTES + b->cap;
    p->spare -= b->is_spare ? HEADER_BYTES + b->cap : 0;
    size_t class = class_of(p, b->cap);
    b->next = p->waiting[class];
    p->waiting[class] = b;
    ASAN_POISON_MEMORY_REGION(b->data, b->cap);
    tc__pool_wake(p);
}

void tc_pool_stats(const struct tc_pool *p, struct tc_pool_stats *out)
{
    *out = (struct tc_pool_stats){.used = p->used - p->spare,
                                  .spare = p->spare,
                                  .held = p->held,
                                  .limit = p->limit,
                                  .waiting = tc__pool_waiting(p),
                                  .refused = p->refused};
}
