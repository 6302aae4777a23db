/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/data_dir.h"

#include "base/slice.h"

#include <stdlib.h>

static bool join(char *out, size_t size, struct tc_slice dir, const char *rest)
{
    int len = snprintf(out, size, "%.*s%s", (int)dir.len, dir.ptr, rest);
    return len > 0 && (size_t)len < size;
}

/* Empty when it is not set. */
static struct tc_slice variable(const char *name)
{
    return tc_slice_head(tc_slice_cstr(getenv(name)), INT32_MAX);
}

bool tc_data_dir_default(char *out, size_t size)
{
    struct tc_slice rest;
    struct tc_slice dir = variable("TRACECORE_DATA_DIR");
    if (dir.len > 0) {
        return join(out, size, dir, "");
    }
    dir = tc_slice_cut(variable("STATE_DIRECTORY"), ':', &rest);
    if (dir.len > 0) {
        return join(out, size, dir, "");
    }
    dir = variable("XDG_STATE_HOME");
    if (dir.len > 0) {
        return join(out, size, dir, "/tracecore");
    }
    dir = variable("HOME");
    return dir.len > 0 && join(out, size, dir, "/.local/state/tracecore");
}
