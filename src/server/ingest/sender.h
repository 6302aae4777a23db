/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sent a batch, as far as the daemon can tell: the name of its token and the address it came
 * from. It is stored in the batch's name (tc_batch_sender), so that a replay shares memory among
 * senders as it was shared before (docs/decisions/0020-memory-is-shared-by-sender.md).
 */
#ifndef TC_SERVER_INGEST_SENDER_H
#define TC_SERVER_INGEST_SENDER_H

#include "base/buf.h"
#include "base/slice.h"
#include "net/request.h"

#include <stddef.h>

/* "collectors@10.0.0.7", "2001:db8:1:2::/64". A token's name is short. */
#define TC_SENDER_MAX 128

/* Appends what a batch's name says of the sender: a line of its own. token is "" without one. */
void tc_sender_put(struct tc_buf *out, struct tc_slice token, const struct tc_peer *peer);

#endif
