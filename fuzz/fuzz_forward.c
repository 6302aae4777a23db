/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon that forwards sends besides OTLP: the first line is the header Tracecore-Batch, the
 * rest the body of a piece. A header that is read is written into a name that says the same, and a
 * piece is cut into a name and bytes of which nothing is lost.
 */
#include "base/assert.h"
#include "server/ingest/forwarded.h"
#include "server/ingest/piece.h"
#include "stored/batch_name.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_header(struct tc_slice header)
{
    struct tc_forwarded_batch b;
    struct tc_batch_said said;
    struct tc_error err = {0};
    uint64_t position = 0;
    char text[TC_FORWARDED_NAME_MAX];
    struct tc_buf name = tc_buf_make(text, sizeof text);
    if (tc_forwarded_read(header, &b, &err) != TC_OK) {
        TC_ASSERT(err.message[0] != '\0' && b.number == 0);
        return;
    }
    TC_ASSERT((b.number == 0) == (header.len == 0));
    tc_forwarded_put(&name, &b);
    TC_ASSERT(!name.overflowed);
    TC_ASSERT(tc_batch_name_read(tc_buf_slice(&name), &said, &err) == TC_OK);
    TC_ASSERT(b.number == 0 ||
              (tc_slice_is_u64(said.position, &position) && position == b.number &&
               tc_slice_eq(said.source, TC_LIT(TC_BATCH_FORWARDED)) && said.taken.len > 0));
}

static void read_piece(struct tc_slice body)
{
    struct tc_piece p;
    struct tc_error err = {0};
    if (tc_piece_read(body, &p, &err) != TC_OK) {
        TC_ASSERT(err.message[0] != '\0');
        return;
    }
    TC_ASSERT(p.name.ptr == body.ptr && p.name.len <= TC_UPLOAD_NAME_MAX);
    TC_ASSERT(p.name.len + TC_PIECE_GAP + p.bytes.len == body.len);
    TC_ASSERT(p.lines >= 1 && p.lines <= p.bytes.len + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_slice rest;
    struct tc_slice header = tc_slice_cut(tc_slice_make((const char *)data, size), '\n', &rest);
    read_header(header);
    read_piece(rest);
    return 0;
}
