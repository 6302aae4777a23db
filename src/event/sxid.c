/* SPDX-License-Identifier: Apache-2.0 */
#include "event/sxid.h"

#include "base/slice.h"

static const struct tc_sxid SXIDS[] = {
#define SXID(number, reach_id, text) \
    {.code = (number), .reach = TC_SXID_##reach_id, .name = (text)},
#include "event/sxid.def"
#undef SXID
};

#define SXID_COUNT TC_COUNT(SXIDS)

const struct tc_sxid *tc_sxid_table(size_t *out_count)
{
    *out_count = SXID_COUNT;
    return SXIDS;
}

const struct tc_sxid *tc_sxid_find(int64_t code)
{
    size_t low = 0;
    size_t high = SXID_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (SXIDS[middle].code < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < SXID_COUNT && SXIDS[low].code == code ? &SXIDS[low] : NULL;
}
