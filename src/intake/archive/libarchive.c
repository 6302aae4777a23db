/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/archive/libarchive_priv.h"

#include "base/os/library.h"
#include "base/slice.h"

#include <stdbool.h>

#define LIBRARY "libarchive.so.13"

static const char *const FUNCTIONS[] = {
#define FUNCTION(name) "archive_" #name,
#include "intake/archive/functions.def"
#undef FUNCTION
};

tc_status tc__libarchive_load(const struct tc__libarchive **out, struct tc_error *err)
{
    static struct tc__libarchive loaded;
    static bool is_loaded;
    struct tc_error why;
    if (!is_loaded) {
        void *library = tc_library_open(LIBRARY, &why);
        if (library == NULL) {
            return tc_fail(
                err, TC_E_UNSUPPORTED, 0,
                "is an archive, and libarchive cannot be loaded: %s; install the package "
                "libarchive13, or unpack it first",
                why.message);
        }
        const char *missing = tc_library_bind(library, FUNCTIONS, TC_COUNT(FUNCTIONS), &loaded);
        if (missing != NULL) {
            tc_library_close(library);
            return tc_fail(err, TC_E_UNSUPPORTED, 0,
                           "is an archive, and %s has no %s: it is too old", LIBRARY, missing);
        }
        is_loaded = true;
    }
    *out = &loaded;
    return TC_OK;
}
