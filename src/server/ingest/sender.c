/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/sender.h"

#include "base/format.h"
#include "evidence/store.h"

static void put_address(struct tc_buf *out, const struct tc_peer *peer)
{
    const unsigned char *b = peer->bytes;
    if (!peer->is_v6) {
        (void)tc_format(out, "{}.{}.{}.{}", (unsigned)b[0], (unsigned)b[1], (unsigned)b[2],
                        (unsigned)b[3]);
        return;
    }
    for (size_t i = 0; i < sizeof peer->bytes; i += 2) {
        tc_buf_hex(out, (uint64_t)b[i] << 8 | b[i + 1], 4);
        tc_buf_char(out, ':');
    }
    tc_buf_lit(out, ":/64");
}

void tc_sender_put(struct tc_buf *out, struct tc_slice token, const struct tc_peer *peer)
{
    tc_buf_lit(out, TC_BATCH_SENDER);
    (void)tc_format(out, "{}{}", token, tc_when(token.len > 0, "@"));
    put_address(out, peer);
}
