/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/since.h"

#include "base/slice.h"
#include "base/time.h"
#include "base/units.h"

#include <time.h>

bool tc_since_parse_at(const char *text, int64_t now_ns, int64_t *out_ns)
{
    return tc_moment_parse(tc_slice_cstr(text), now_ns, out_ns);
}

bool tc_since_parse(const char *text, int64_t *out_ns)
{
    return tc_since_parse_at(text, (int64_t)time(NULL) * TC_SECOND, out_ns);
}
