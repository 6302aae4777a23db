/* SPDX-License-Identifier: Apache-2.0 */
#include "event/sxid.h"

#include "base/slice.h"

#include <stdlib.h>

static const struct tc_sxid SXIDS[] = {
#define SXID(number, reach_id, text) \
    {.code = (number), .reach = TC_SXID_##reach_id, .name = (text)},
#include "event/sxid.def"
#undef SXID
};

const struct tc_sxid *tc_sxid_table(size_t *out_count)
{
    *out_count = TC_COUNT(SXIDS);
    return SXIDS;
}

static int by_code(const void *key, const void *entry)
{
    int64_t code = *(const int64_t *)key;
    int64_t other = ((const struct tc_sxid *)entry)->code;
    return (code > other) - (code < other);
}

const struct tc_sxid *tc_sxid_find(int64_t code)
{
    return bsearch(&code, SXIDS, TC_COUNT(SXIDS), sizeof SXIDS[0], by_code);
}
