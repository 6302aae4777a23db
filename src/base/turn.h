/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long work in turns. Who does it asks between two pieces whether its time is up; then it returns
 * TC_E_AGAIN and goes on where it was when it is called again. What comes out is the same.
 */
#ifndef TC_BASE_TURN_H
#define TC_BASE_TURN_H

#include <stdbool.h>
#include <stddef.h>

struct tc_turn {
    bool (*is_spent)(void *context); /* NULL: never */
    void *context;
};

/* NULL: all at one go. */
static inline bool tc_turn_is_spent(const struct tc_turn *turn)
{
    return turn != NULL && turn->is_spent != NULL && turn->is_spent(turn->context);
}

#endif
