/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/spool.h"

#include "base/os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct tc_spool {
    int fd; /* -1 once it is mapped */
    size_t size;
    void *mapping; /* NULL until it is mapped */
};

/* A file without a name, where the file system has such; else its name is taken away at once. */
static int open_nameless(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) {
        return fd;
    }
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/tracecore-XXXXXX", dir);
    if (len < 0 || (size_t)len >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(path);
    }
    return fd;
}

tc_status tc_spool_open(const char *dir, struct tc_spool **out_spool, struct tc_error *err)
{
    struct tc_spool *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to put it on disk");
    }
    s->fd = open_nameless(dir);
    if (s->fd < 0) {
        tc_status status = tc_fail_errno(err, "cannot be put on disk");
        free(s);
        return status;
    }
    *out_spool = s;
    return TC_OK;
}

void tc_spool_close(struct tc_spool *s)
{
    if (s == NULL) {
        return;
    }
    if (s->mapping != NULL) {
        (void)munmap(s->mapping, s->size);
    }
    if (s->fd >= 0) {
        (void)close(s->fd);
    }
    free(s);
}

tc_status tc_spool_write(struct tc_spool *s, struct tc_slice bytes, struct tc_error *err)
{
    if (!tc_io_write(s->fd, bytes)) {
        return tc_fail_errno(err, "cannot be put on disk");
    }
    s->size += bytes.len;
    return TC_OK;
}

tc_status tc_spool_map(struct tc_spool *s, struct tc_slice *out, struct tc_error *err)
{
    if (s->size == 0) {
        *out = TC_EMPTY;
        return TC_OK;
    }
    void *mapping = mmap(NULL, s->size, PROT_READ, MAP_PRIVATE, s->fd, 0);
    if (mapping == MAP_FAILED) {
        return tc_fail_errno(err, "cannot be read back from disk");
    }
    s->mapping = mapping;
    (void)close(s->fd);
    s->fd = -1;
    *out = tc_slice_make(mapping, s->size);
    return TC_OK;
}
