/* SPDX-License-Identifier: Apache-2.0 */
#include "support/faulty.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
ssize_t __real_write(int fd, const void *bytes, size_t len);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);
long __real_sysconf(int name);
long __wrap_sysconf(int name);

/* Calls whose place is noted; frames of one place: ours, and four functions that led to it. */
#define NOTED_MAX (1L << 18)
#define FRAMES_MAX 5
#define FRAME_BYTES_MAX (UINT32_C(1) << 16)

/* The plan, and for each call of the run that counted the place that it came from. */
struct shared {
    struct plan plan;
    long counted;
    uint64_t places[NOTED_MAX];
};

struct plan *tc_faulty_plan;
static struct shared *shared;

int tc_faulty_init(void)
{
    if (tc_faulty_plan == NULL) {
        void *memory = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        shared = memory == MAP_FAILED ? NULL : memory;
        tc_faulty_plan = shared == NULL ? NULL : &shared->plan;
    }
    return tc_faulty_plan == NULL ? -1 : 0;
}

/*
 * A hash over the return addresses, as far as frame pointers lead: these are ours, other people's
 * code may have none, and the walk ends there.
 */
__attribute__((no_sanitize("address"))) static uint64_t place_of_caller(void)
{
    uint64_t hash = 0;
    const uintptr_t *frame = __builtin_frame_address(0);
    for (int n = 0; n < FRAMES_MAX; n++) {
        const uintptr_t *next = (const uintptr_t *)frame[0];
        hash = (hash ^ frame[1]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        if (next <= frame || (uintptr_t)next - (uintptr_t)frame > FRAME_BYTES_MAX ||
            (uintptr_t)next % sizeof *next != 0) {
            break;
        }
        frame = next;
    }
    return hash;
}

bool tc_faulty_is_chosen(long call)
{
    if (call >= NOTED_MAX) {
        return true;
    }
    bool is_first = true;
    bool is_last = true;
    for (long n = 0; n < shared->counted; n++) {
        bool same = shared->places[n] == shared->places[call];
        is_first = is_first && (n >= call || !same);
        is_last = is_last && (n <= call || !same);
    }
    return is_first || is_last;
}

static bool fails(enum fault fault)
{
    struct plan *plan = tc_faulty_plan;
    if (plan == NULL || plan->fault != fault) {
        return false;
    }
    if (plan->fail_at < 0 && plan->calls < NOTED_MAX) {
        shared->places[plan->calls] = place_of_caller();
        shared->counted = plan->calls + 1;
    }
    bool hit = plan->calls++ == plan->fail_at;
    plan->hit |= hit;
    return hit;
}

void *__wrap_malloc(size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __real_realloc(p, size);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t len)
{
    const struct plan *plan = tc_faulty_plan;
    bool counts = plan != NULL && (plan->write_fd < 0 ? fd != STDERR_FILENO : fd == plan->write_fd);
    if (counts && fails(FAULT_WRITE)) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write(fd, bytes, len);
}

/* One core: with as many threads as cores, DuckDB's wait for each other in a loop. */
long __wrap_sysconf(int name)
{
    return name == _SC_NPROCESSORS_ONLN ? 1 : __real_sysconf(name);
}
