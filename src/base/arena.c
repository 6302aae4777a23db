/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/assert.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define TC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TC_ASAN 1
#endif
#endif

#ifdef TC_ASAN
#include <sanitizer/asan_interface.h>
#define REDZONE 8U
static void poison(void *at, size_t len)
{
    __asan_poison_memory_region(at, len);
}
static void unpoison(void *at, size_t len)
{
    __asan_unpoison_memory_region(at, len);
}
#else
#define REDZONE 0U
static void poison(void *at, size_t len)
{
    (void)at;
    (void)len;
}
static void unpoison(void *at, size_t len)
{
    (void)at;
    (void)len;
}
#endif

void tc_arena_init(struct tc_arena *a, const char *name, void *block, size_t size_bytes)
{
    TC_ASSERT(block != NULL || size_bytes == 0);
    *a = (struct tc_arena){.name = name, .block = block, .size = size_bytes, .dirty = size_bytes};
    poison(a->block, a->size);
}

void tc_arena_init_zeroed(struct tc_arena *a, const char *name, void *block, size_t size_bytes)
{
    tc_arena_init(a, name, block, size_bytes);
    a->dirty = 0;
}

void tc_arena_fini(struct tc_arena *a)
{
    if (a != NULL && a->block != NULL) {
        unpoison(a->block, a->size);
        *a = (struct tc_arena){0};
    }
}

static void fail(struct tc_arena *a)
{
    a->overflowed = true;
    a->overflow_count++;
}

/* The bytes, and where they begin; NULL when they do not fit. */
static unsigned char *take(struct tc_arena *a, size_t count, size_t size, size_t align,
                           size_t *out_bytes)
{
    TC_ASSERT(align != 0 && (align & (align - 1)) == 0);
    size_t bytes = 0;
    if (a->overflowed || __builtin_mul_overflow(count, size, &bytes)) {
        fail(a);
        return NULL;
    }
    uintptr_t base = (uintptr_t)a->block;
    uintptr_t start = (base + a->used + align - 1) & ~((uintptr_t)align - 1);
    size_t offset = (size_t)(start - base);
    size_t with_gap = 0;
    if (offset > a->size || __builtin_add_overflow(bytes, REDZONE, &with_gap) ||
        with_gap > a->size - offset) {
        fail(a);
        return NULL;
    }
    a->used = offset + with_gap;
    if (a->used > a->peak) {
        a->peak = a->used;
    }
    unpoison(a->block + offset, bytes);
    *out_bytes = bytes;
    return a->block + offset;
}

void *tc_arena_alloc(struct tc_arena *a, size_t count, size_t size, size_t align)
{
    size_t bytes = 0;
    unsigned char *p = take(a, count, size, align, &bytes);
    if (p == NULL) {
        return NULL;
    }
    size_t offset = (size_t)(p - a->block);
    if (offset < a->dirty) {
        size_t used_before = a->dirty - offset;
        memset(p, 0, used_before < bytes ? used_before : bytes);
    }
    if (a->used > a->dirty) {
        a->dirty = a->used;
    }
    return p;
}

void *tc_arena_alloc_raw(struct tc_arena *a, size_t bytes, size_t align)
{
    size_t taken = 0;
    unsigned char *p = take(a, bytes, 1, align, &taken);
    if (p != NULL && a->used > a->dirty) {
        a->dirty = a->used;
    }
    return p;
}

struct tc_slice tc_arena_copy(struct tc_arena *a, struct tc_slice s)
{
    char *p = tc_new(a, char, s.len);
    if (p == NULL) {
        return TC_EMPTY;
    }
    if (s.len > 0) {
        memcpy(p, s.ptr, s.len);
    }
    return tc_slice_make(p, s.len);
}

tc_arena_mark tc_arena_snapshot(const struct tc_arena *a)
{
    return a->used;
}

void tc_arena_rewind(struct tc_arena *a, tc_arena_mark mark)
{
    TC_ASSERT(mark <= a->used);
    if (mark < a->used) { /* what lies behind is poisoned already */
        poison(a->block + mark, a->used - mark);
    }
    a->used = mark;
    a->overflowed = false;
}
