/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/block.h"

#include "base/asan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
    long bytes = sysconf(_SC_PAGESIZE);
    return bytes > 0 ? (size_t)bytes : 4096;
}

#ifdef TC_ASAN
/* The bytes end where the page begins that nobody may touch; so they begin somewhere in a page. */
#define ALIGN 64U
#define GUARD_PAGES 1U
#else
#define ALIGN page_bytes()
#define GUARD_PAGES 0U
#endif

/* What is mapped for size bytes; 0 when there is no such size. */
static size_t mapped(size_t size)
{
    size_t page = page_bytes();
    size_t pages = size > SIZE_MAX / 2 ? 0 : (size + page - 1) / page + GUARD_PAGES;
    return pages * page;
}

/* Where in what is mapped the bytes begin. */
static size_t gap(size_t size)
{
    return (mapped(size) - GUARD_PAGES * page_bytes() - size) / ALIGN * ALIGN;
}

/* Not of malloc: what it is given back it may keep, and zero all of it for the next one. */
static unsigned char *take(size_t size)
{
    size_t bytes = mapped(size);
    size_t guard = GUARD_PAGES * page_bytes();
    if (bytes == 0) {
        return NULL;
    }
    unsigned char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    if (guard > 0 && mprotect(map + bytes - guard, guard, PROT_NONE) != 0) {
        (void)munmap(map, bytes);
        return NULL;
    }
    return map + gap(size);
}

static void give_back(struct tc_block *b)
{
    (void)munmap(b->bytes - gap(b->size), mapped(b->size));
}

struct tc_block *tc_block_new(size_t size)
{
    struct tc_block *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    *b = (struct tc_block){.bytes = take(size), .size = size};
    if (b->bytes == NULL) {
        free(b);
        return NULL;
    }
    return b;
}

void tc_block_clear(struct tc_block *b)
{
    size_t page = page_bytes();
    size_t head = (page - (uintptr_t)b->bytes % page) % page;
    size_t whole = head < b->size ? (b->size - head) / page * page : 0;
    if (whole == 0 || madvise(b->bytes + head, whole, MADV_DONTNEED) != 0) {
        memset(b->bytes, 0, b->size);
        return;
    }
    memset(b->bytes, 0, head);
    memset(b->bytes + head + whole, 0, b->size - head - whole);
}

void tc_block_free(struct tc_block *b)
{
    if (b != NULL) {
        give_back(b);
        free(b);
    }
}
