/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for nghttp2 and for streams. Each connection has an account with a cap, so one client
 * cannot make us hold more than that, whatever it does to the header tables and queues. Blocks come
 * in a few sizes and are kept for the next one who asks: steady load asks the system for nothing.
 * One thread, the loop's; that is why the lists are plain.
 */
#include "base/assert.h"
#include "net/http2/priv.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES_MAX ((size_t)8 << 20) /* of free blocks, all sizes together */
#define NO_CLASS UINT32_MAX

/* nghttp2's largest is the buffer of an outgoing frame, a little over 16 KiB. */
static const uint32_t class_bytes[] = {64,   128,  192,  256,   512,   768,  1024,
                                       2048, 4096, 8192, 17408, 34816, 69632};
#define CLASSES TC_COUNT(class_bytes)

struct block {
    alignas(16) uint32_t size; /* what the account was charged */
    uint32_t class;
    struct block *next; /* of the free list */
};

static struct {
    struct block *free[CLASSES];
    size_t kept_bytes;
    uint64_t mallocs;
} shelf;

uint64_t tc__h2_mallocs(void)
{
    return shelf.mallocs;
}

static uint32_t class_of(size_t bytes)
{
    for (uint32_t i = 0; i < CLASSES; i++) {
        if (bytes <= class_bytes[i]) {
            return i;
        }
    }
    return NO_CLASS;
}

void *tc__h2_alloc(struct tc__h2_mem *m, size_t bytes)
{
    if (bytes > m->cap - m->used) {
        return NULL;
    }
    uint32_t class = class_of(bytes);
    size_t size = class == NO_CLASS ? bytes : class_bytes[class];
    if (size > m->cap - m->used || size > UINT32_MAX) {
        return NULL;
    }
    struct block *b = class == NO_CLASS ? NULL : shelf.free[class];
    if (b != NULL) {
        shelf.free[class] = b->next;
        shelf.kept_bytes -= size;
    } else {
        b = malloc(sizeof *b + size);
        shelf.mallocs++;
        if (b == NULL) {
            return NULL;
        }
    }
    b->size = (uint32_t)size;
    b->class = class;
    m->used += size;
    return b + 1;
}

static struct block *block_of(void *p)
{
    return (struct block *)p - 1;
}

void tc__h2_disown(struct tc__h2_mem *m, const void *p)
{
    const struct block *b = (const struct block *)p - 1;
    TC_ASSERT(m->used >= b->size);
    m->used -= b->size;
}

void tc__h2_free(struct tc__h2_mem *m, void *p)
{
    if (p == NULL) {
        return;
    }
    struct block *b = block_of(p);
    if (m != NULL) {
        tc__h2_disown(m, p);
    }
    if (b->class == NO_CLASS || shelf.kept_bytes + b->size > KEPT_BYTES_MAX) {
        free(b);
        return;
    }
    b->next = shelf.free[b->class];
    shelf.free[b->class] = b;
    shelf.kept_bytes += b->size;
}

static void *hook_malloc(size_t size, void *account)
{
    return tc__h2_alloc(account, size);
}

static void hook_free(void *p, void *account)
{
    tc__h2_free(account, p);
}

static void *hook_calloc(size_t count, size_t size, void *account)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    void *p = tc__h2_alloc(account, bytes);
    if (p != NULL) {
        memset(p, 0, bytes);
    }
    return p;
}

static void *hook_realloc(void *p, size_t size, void *account)
{
    if (p == NULL) {
        return tc__h2_alloc(account, size);
    }
    size_t old = block_of(p)->size;
    if (size <= old) {
        return p;
    }
    void *larger = tc__h2_alloc(account, size);
    if (larger != NULL) {
        memcpy(larger, p, old);
        tc__h2_free(account, p);
    }
    return larger;
}

nghttp2_mem tc__h2_hooks(struct tc__h2_mem *m)
{
    return (nghttp2_mem){.mem_user_data = m,
                         .malloc = hook_malloc,
                         .free = hook_free,
                         .calloc = hook_calloc,
                         .realloc = hook_realloc};
}
