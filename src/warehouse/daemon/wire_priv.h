/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces that the files of the wire share. */
#ifndef TC_WAREHOUSE_DAEMON_WIRE_PRIV_H
#define TC_WAREHOUSE_DAEMON_WIRE_PRIV_H

#include "warehouse/daemon/wire.h"

/* Room for len bytes at the end of the frame; NULL once anything failed. */
void tc__wire_put(struct tc_wire_out *o, const void *bytes, size_t len);
void tc__wire_put_u32(struct tc_wire_out *o, uint32_t value);

/* TC_E_MALFORMED. */
tc_status tc__wire_bad(struct tc_error *err, const char *what);
/* Takes from the front; false when there is not so much, or it is not what it should be. */
bool tc__wire_take(struct tc_slice *rest, void *out, size_t len);
bool tc__wire_take_table(struct tc_slice *rest, enum tc_table *out);

#endif
