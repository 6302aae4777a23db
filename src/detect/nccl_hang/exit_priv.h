/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks run in which pods, and which of those ended well: a job that exited
 * cleanly hangs no more.
 */
#ifndef TC_DETECT_NCCL_HANG_EXIT_PRIV_H
#define TC_DETECT_NCCL_HANG_EXIT_PRIV_H

#include "detect/nccl_hang/priv.h"

#include <stdbool.h>
#include <stdint.h>

struct nccl_exits;

/* NULL when the arena is full. */
struct nccl_exits *tc__exits_create(struct tc_detector_base *base);
/* True for an event that is taken in here. */
bool tc__exits_wants(const struct tc_event *ev);
void tc__exits_on_event(struct nccl_exits *x, const struct tc_event *ev);
/* True once after something ended. */
bool tc__exits_take_news(struct nccl_exits *x);
/* True when the job of an analysis exited cleanly after what it has pending was issued, and when.
 */
bool tc__exits_is_over(const struct nccl_hang *st, const struct nccl_eval *e, int64_t *out_ns);

#endif
