/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chance by counting: a draw is a function of the seed, of what it is for and of two
 * numbers that say which. There is no state, so files can be written in any order,
 * and adding one kind of noise does not move the others.
 */
#ifndef TC_SIM_RANDOM_PRIV_H
#define TC_SIM_RANDOM_PRIV_H

#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t sim_draw(uint64_t seed, uint32_t what, uint64_t a, uint64_t b)
{
    uint64_t x = tc_random_mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (what + 1));
    x = tc_random_mix(x + UINT64_C(0xd1b54a32d192ed03) * (a + 1));
    return tc_random_mix(x + UINT64_C(0x8cb92ba72f3d8dd7) * (b + 1));
}

/* 0 .. below - 1, of a draw; below > 0. */
static inline uint32_t sim_below(uint64_t draw, uint32_t below)
{
    return (uint32_t)((draw >> 32) * below >> 32);
}

/* From low to high, both included. */
static inline int64_t sim_between(uint64_t draw, int64_t low, int64_t high)
{
    return low + (int64_t)(tc_random_mix(draw) % (uint64_t)(high - low + 1));
}

static inline bool sim_chance(uint64_t draw, uint32_t of_a_million)
{
    return sim_below(draw, 1000000) < of_a_million;
}

#endif
