/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/alloc_count.h"

#include <errno.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TC_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TC_SANITIZED 1
#endif
#endif

#if defined(TC_SANITIZED) || !defined(__GLIBC__)

bool tc_alloc_count_available(void)
{
    return false;
}

struct tc_alloc_count tc_alloc_count_now(void)
{
    return (struct tc_alloc_count){0};
}

#else

/* glibc's own names for what the functions below replace. */
/* NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming) */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
/* NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming) */

static uint64_t calls;
static uint64_t bytes;

static void count(size_t size)
{
    (void)__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&bytes, size, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count(n * size);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    count(size);
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    count(size);
    return __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    count(size);
    void *p = __libc_memalign(align, size);
    if (p == NULL) {
        return ENOMEM;
    }
    *out = p;
    return 0;
}

bool tc_alloc_count_available(void)
{
    return true;
}

struct tc_alloc_count tc_alloc_count_now(void)
{
    return (struct tc_alloc_count){__atomic_load_n(&calls, __ATOMIC_RELAXED),
                                   __atomic_load_n(&bytes, __ATOMIC_RELAXED)};
}

#endif
