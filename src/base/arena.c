/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/asan.h"
#include "base/assert.h"

#include <string.h>

#ifdef TC_ASAN
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>
#define REDZONE 8U
/* Blocks are address space for the worst case, hundreds of MiB of it. To mark all that is free
 * would touch memory for all of it; so at least this much behind the highest byte ever used is
 * marked. */
#define AHEAD ((size_t)128 << 10)
/* Marks end at multiples of this: small, so that not much more than AHEAD is touched. */
#define STEP ((size_t)16 << 10)
static void poison(void *at, size_t len)
{
    __asan_poison_memory_region(at, len);
}
static void unpoison(void *at, size_t len)
{
    __asan_unpoison_memory_region(at, len);
}
/* The same for the whole of a large block: its shadow is dropped, a memset would touch all of it.
 */
static void unpoison_all(unsigned char *block, size_t len)
{
    size_t scale = 0;
    size_t offset = 0;
    __asan_get_shadow_mapping(&scale, &offset);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)block;
    uintptr_t from = ((begin >> scale) + offset + page) & ~(page - 1);
    uintptr_t to = (((begin + len) >> scale) + offset) & ~(page - 1);
    if (to <= from || madvise((void *)from, to - from, MADV_DONTNEED) != 0) {
        unpoison(block, len);
        return;
    }
    uintptr_t first = (from - offset) << scale;
    uintptr_t last = (to - offset) << scale;
    unpoison(block, first - begin);
    unpoison(block + (last - begin), begin + len - last);
}
/* Marks were set from the block's begin to here. */
static size_t marked(const struct tc_arena *a)
{
    size_t steps = a->peak / STEP + AHEAD / STEP + 1;
    return a->size / STEP < steps ? a->size : steps * STEP;
}
#else
#define REDZONE 0U
static size_t marked(const struct tc_arena *a)
{
    return a->size;
}
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
static void unpoison_all(unsigned char *block, size_t len)
{
    unpoison(block, len);
}
#endif

void tc_arena_init(struct tc_arena *a, const char *name, void *block, size_t size_bytes)
{
    TC_ASSERT(block != NULL || size_bytes == 0);
    *a = (struct tc_arena){.name = name, .block = block, .size = size_bytes, .dirty = size_bytes};
    /* Another arena may have been there, with marks further out. */
    unpoison_all(a->block, a->size);
    poison(a->block, marked(a));
}

void tc_arena_init_zeroed(struct tc_arena *a, const char *name, void *block, size_t size_bytes)
{
    tc_arena_init(a, name, block, size_bytes);
    a->dirty = 0;
}

void tc_arena_fini(struct tc_arena *a)
{
    if (a != NULL && a->block != NULL) {
        unpoison_all(a->block, marked(a));
        *a = (struct tc_arena){0};
    }
}

static void fail(struct tc_arena *a)
{
    a->overflowed = true;
    a->overflow_count++;
}

/* Opens [begin, end), which was taken just now. There were marks up to `from`; what is behind it
 * has none to take away, and gets those that are due now. */
static void unmark(struct tc_arena *a, size_t begin, size_t end, size_t from)
{
    size_t to = marked(a);
    if (begin < from) {
        unpoison(a->block + begin, (end < from ? end : from) - begin);
    }
    if (from < to) {
        size_t at = from < end ? end : from;
        poison(a->block + at, to - at);
    }
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
    size_t from = marked(a);
    a->used = offset + with_gap;
    if (a->used > a->peak) {
        a->peak = a->used;
    }
    unmark(a, offset, offset + bytes, from);
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
