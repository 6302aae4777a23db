/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an archive. Unpacking ends, gives no more than the limits allow, and names never
 * lead out of the archive.
 */
#include "base/assert.h"
#include "intake/archive/archive.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX ((uint64_t)1 << 20)

static tc_status count(void *context, struct tc_slice bytes, struct tc_error *err)
{
    (void)err;
    *(uint64_t *)context += bytes.len;
    TC_ASSERT(*(uint64_t *)context <= BYTES_MAX);
    return TC_OK;
}

static void check_name(struct tc_slice name)
{
    TC_ASSERT(name.len > 0 && name.ptr[0] != '/');
    while (name.len > 0) {
        struct tc_slice part = tc_slice_cut(name, '/', &name);
        TC_ASSERT(part.len > 0 && !tc_slice_eq(part, TC_LIT("..")));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tc_archive_limits limits = {
        .members = 100, .bytes = BYTES_MAX, .growth = 100, .growth_after = 64 << 10};
    struct tc_slice bytes = tc_slice_make((const char *)data, size);
    struct tc_archive *a = NULL;
    struct tc_archive_member member;
    struct tc_error err;
    uint64_t total = 0;
    bool end = false;
    if (!tc_archive_is(bytes) ||
        tc_archive_open(bytes, TC_LIT("f.gz"), &limits, &a, &err) != TC_OK) {
        return 0;
    }
    while (tc_archive_next(a, &member, &end, &err) == TC_OK && !end) {
        check_name(member.name);
        if (tc_archive_read(a, count, &total, &err) != TC_OK) {
            break;
        }
    }
    tc_archive_close(a);
    return 0;
}
