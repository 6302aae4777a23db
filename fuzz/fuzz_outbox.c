/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the outbox's log. The walk ends, gives records in order that lie inside of the file
 * and read back as they were written, and finds what is whole behind what is not.
 */
#include "base/assert.h"
#include "outbox/outbox_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)1 << 16)

/* A record that was read is written as the same bytes. */
static void check_record(const struct tc__record *r, const uint8_t *data)
{
    static char copy[INPUT_MAX + TC__RECORD_HEAD_BYTES];
    bool padded = r->kind == TC__RECORD_MARK && r->json.len > 0;
    if (!padded) { /* a mark has no line; one that has is read all the same */
        TC_ASSERT(tc__record_size(r) == r->len);
        tc__record_write(copy, r);
        struct tc__record again;
        TC_ASSERT(tc__record_read(tc_slice_make(copy, r->len), &again) == TC__RECORD_GOOD);
        TC_ASSERT(again.number == r->number && again.kind == r->kind);
        TC_ASSERT(tc_slice_eq(again.json, r->json));
    }
    TC_ASSERT(memcmp(data, "TCv1", 4) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) {
        return 0;
    }
    int fd = memfd_create("log", MFD_CLOEXEC);
    struct tc__outbox_scan s;
    TC_ASSERT(fd >= 0 && tc__outbox_scan_init(&s) == TC_OK);
    TC_ASSERT(write(fd, data, size) == (ssize_t)size);
    tc__outbox_scan_begin(&s, fd, 0, size);
    struct tc__record r;
    tc_status status = TC_OK;
    uint64_t at = 0;
    uint64_t last_number = 0;
    while (tc__outbox_scan_next(&s, &r, &status)) {
        TC_ASSERT(r.at >= at && r.at + r.len <= size);
        at = r.at + r.len;
        last_number = r.number;
        check_record(&r, data + r.at);
    }
    TC_ASSERT(status == TC_OK && s.at == size);

    /* A whole record behind it is found, whatever comes before; only what looks like the head of a
     * longer record can hide it. */
    struct tc__record end = {.kind = TC__RECORD_CURSOR, .cursor = {.next = last_number}};
    char bytes[128];
    tc__record_write(bytes, &end);
    size_t len = tc__record_size(&end);
    TC_ASSERT(pwrite(fd, bytes, len, (off_t)at) == (ssize_t)len);
    tc__outbox_scan_begin(&s, fd, 0, at + len);
    bool found = false;
    while (tc__outbox_scan_next(&s, &r, &status)) {
        found = found || (r.kind == TC__RECORD_CURSOR && r.at == at);
    }
    TC_ASSERT(found || at < size);
    tc__outbox_scan_fini(&s);
    (void)close(fd);
    return 0;
}
