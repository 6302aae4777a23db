/* SPDX-License-Identifier: Apache-2.0 */
#include "support/faulty.h"

#include <errno.h>
#include <stddef.h>
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

struct plan *tc_faulty_plan;

int tc_faulty_init(void)
{
    void *shared = mmap(NULL, sizeof *tc_faulty_plan, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tc_faulty_plan = shared == MAP_FAILED ? NULL : shared;
    return tc_faulty_plan == NULL ? -1 : 0;
}

static bool fails(enum fault fault)
{
    struct plan *plan = tc_faulty_plan;
    if (plan == NULL || plan->fault != fault) {
        return false;
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
