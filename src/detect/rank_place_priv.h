/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where ranks and pods run, as a map, an exporter or Kubernetes told, for events that name a
 * rank or a pod and no node: the lines of a training log.
 */
#ifndef TC_DETECT_RANK_PLACE_PRIV_H
#define TC_DETECT_RANK_PLACE_PRIV_H

#include "base/arena.h"
#include "base/status.h"
#include "detect/window_priv.h"
#include "event/event.h"

#include <stdbool.h>

struct tc_rank_places {
    struct tc_window window;
};

/* False when the arena is full. */
bool tc__rank_places_init(struct tc_rank_places *p, struct tc_arena *arena);
/* Takes in a rank_place or address event; one that names no rank or pod, or no place, says nothing.
 */
TC_CHECKED tc_status tc__rank_places_learn(struct tc_rank_places *p, const struct tc_event *ev,
                                           struct tc_arena *scratch);
/*
 * Adds node and pod to a scope that has a rank and lacks them, and the node to one that has a pod.
 * Whoever names no job means the only one with that rank; with several it is nobody's. What is
 * added lies in the window, good until the next event is learned.
 */
void tc__rank_places_fill(const struct tc_rank_places *p, struct tc_scope *io);

#endif
