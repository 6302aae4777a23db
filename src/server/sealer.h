/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that seals evidence: it compresses full segments anew and makes objects of them, while
 * nobody else wants the core. Nothing waits for it.
 */
#ifndef TC_SERVER_SEALER_H
#define TC_SERVER_SEALER_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_sealer;
struct tc_store;

/* Borrows store, which no other thread may seal from now on. */
TC_CHECKED tc_status tc_sealer_create(struct tc_store *store, struct tc_sealer **out_sealer,
                                      struct tc_error *err);
/* Stops at the next step: what is half done is done again by the next process. */
void tc_sealer_destroy(struct tc_sealer *sealer);

/*
 * How long to sleep after a step that took that much of the processor and of the clock, when the
 * sleep before it was last_ns. A step that had to wait for the core means that somebody else wants
 * it: sleeps become longer, up to a bound. Otherwise half of the core's time is left free.
 */
int64_t tc_sealer_sleep_ns(int64_t cpu_ns, int64_t wall_ns, int64_t last_ns);

#endif
