/* SPDX-License-Identifier: Apache-2.0 */
/* How launchers, shells and batch systems write that a process ended. */
#ifndef TC_CODEC_SIGNALS_PRIV_H
#define TC_CODEC_SIGNALS_PRIV_H

#include "base/slice.h"
#include "event/event.h"

#include <stdint.h>

/* The signal that a text begins with: "SIGSEGV", "Segmentation fault (core dumped)"; 0: none. */
int64_t tc__signal_of(struct tc_slice text);
/*
 * An exit status as launchers count it: a negative one is a signal. False when it is none, too
 * large, or that of a process that ended well: *io is untouched then.
 */
bool tc__exit_status(struct tc_slice number, struct tc_ev_exit *io);

#endif
