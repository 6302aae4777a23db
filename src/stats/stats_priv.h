/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share. */
#ifndef TC_STATS_STATS_PRIV_H
#define TC_STATS_STATS_PRIV_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A number whose unsigned order is that of the doubles; -0 is 0. */
static inline uint64_t tc__key_of(double x)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

/* TC_E_MALFORMED, with the index as err->offset, for the first NaN or infinity. */
TC_CHECKED tc_status tc__check_finite(const double *values, size_t count, struct tc_error *err);

/* The share of samples of n >= TC_DIP_MIN uniform numbers whose dip is at least this. */
double tc__dip_p(double dip, size_t n);

#endif
