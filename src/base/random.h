/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeatable chance: SplitMix64. The same seed gives the same numbers on every machine. Not for
 * anything secret.
 */
#ifndef TC_BASE_RANDOM_H
#define TC_BASE_RANDOM_H

#include <stdint.h>

/* The finisher of SplitMix64: each bit of x changes half of the bits. */
static inline uint64_t tc_random_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The next number of a sequence; *state begins as the seed, which may be any number. */
static inline uint64_t tc_random_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return tc_random_mix(*state);
}

/* Between 0 and 1, neither of which comes. */
static inline double tc_random_unit(uint64_t *state)
{
    return ((double)(tc_random_next(state) >> 12) + 0.5) * 0x1p-52;
}

/* 0 .. below - 1; below > 0. Off from uniform by less than below / 2^32. */
static inline uint32_t tc_random_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)((tc_random_next(state) >> 32) * below >> 32);
}

#endif
