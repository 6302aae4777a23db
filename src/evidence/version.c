/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a newer tracecore. Recovery would take what it does not know for damage and repair it,
 * so the store looks first.
 */
#include "evidence/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static tc_status check_head(const char *path, struct tc_error *err)
{
    char bytes[TC__HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return TC_OK; /* whoever needs it says so */
    }
    bool has_head = tc__read_at(fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes;
    unsigned version = has_head ? tc__head_newer(bytes) : 0;
    (void)close(fd);
    if (version > 0) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s: format version %u, this program knows up to %d: use a newer tracecore, "
                       "or another data_dir",
                       path, version, TC__SEGMENT_VERSION);
    }
    return TC_OK;
}

/* The newest object tells of all: a newer program has sealed it last. */
static tc_status check_newest_object(const char *dir, struct tc_error *err)
{
    struct tc__index ix;
    struct tc__object o;
    char hex[TC__HEX_BYTES];
    char path[TC__PATH_MAX];
    tc_status status = TC_OK;
    if (tc__index_open(&ix, dir) != 0) {
        return TC_OK;
    }
    for (uint64_t line = ix.lines; line > 0; line--) {
        if (tc__index_line(&ix, line - 1, &o) && o.state == TC__OBJECT_KEPT) {
            tc__hex(hex, &o.digest);
            tc__path_object(path, dir, hex, false);
            status = check_head(path, err);
            break;
        }
    }
    tc__index_close(&ix);
    return status;
}

tc_status tc__check_version(const char *dir, struct tc_error *err)
{
    uint64_t list[TC__OPEN_MAX];
    size_t count = 0;
    char path[TC__PATH_MAX];
    if (tc__list_open(dir, list, TC__OPEN_MAX, &count) != 0) {
        return TC_OK;
    }
    for (size_t i = 0; i < count; i++) {
        tc__path_segment(path, dir, list[i]);
        TC_TRY(check_head(path, err));
    }
    return check_newest_object(dir, err);
}
