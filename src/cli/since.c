/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/since.h"

#include "base/slice.h"
#include "base/time.h"
#include "base/units.h"

#include <time.h>

bool tc_since_parse_at(const char *text, int64_t now_ns, int64_t *out_ns)
{
    struct tc_slice all = tc_slice_cstr(text);
    int64_t ago_ns = 0;
    /* "2026" is a year that lacks the rest, not so many seconds. */
    bool has_unit = all.len > 0 && (all.ptr[all.len - 1] < '0' || all.ptr[all.len - 1] > '9');
    if (has_unit && tc_duration_parse(all, &ago_ns) && ago_ns <= TC_TIME_MAX) {
        *out_ns = now_ns - ago_ns;
        return true;
    }
    return all.len > 0 && tc_time_parse(all, 0, out_ns) == all.len;
}

bool tc_since_parse(const char *text, int64_t *out_ns)
{
    return tc_since_parse_at(text, (int64_t)time(NULL) * TC_SECOND, out_ns);
}
