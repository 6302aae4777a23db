/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/since.h"

#include "base/slice.h"
#include "base/time.h"

#include <time.h>

bool tc_since_parse(const char *text, int64_t *out_ns)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    struct tc_slice all = tc_slice_cstr(text);
    uint64_t count = 0;
    size_t used = tc_slice_u64(all, &count);
    for (size_t i = 0; i < TC_COUNT(units); i++) {
        if (used > 0 && used + 1 == all.len && all.ptr[used] == units[i].unit &&
            count <= (uint64_t)(TC_TIME_MAX / TC_SECOND / units[i].seconds)) {
            *out_ns =
                (int64_t)time(NULL) * TC_SECOND - (int64_t)count * units[i].seconds * TC_SECOND;
            return true;
        }
    }
    return all.len > 0 && tc_time_parse(all, 0, out_ns) == all.len;
}
