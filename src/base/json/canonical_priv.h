/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_JSON_CANONICAL_PRIV_H
#define TC_BASE_JSON_CANONICAL_PRIV_H

#include "base/slice.h"

#include <stdbool.h>

/*
 * Whether an integer, as it is written, is that double or the way that double is written. The
 * second is what 2^68 needs, whose canonical spelling ends in zeros that it does not have.
 */
bool tc__integer_is_double(struct tc_slice digits, double value);

#endif
