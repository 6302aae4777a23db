/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/library.h"

#include <dlfcn.h>
#include <string.h>

void *tc_library_open(const char *path, struct tc_error *err)
{
    /* Lazy: to bind all of DuckDB's own calls takes milliseconds at each start that loads it. What
     * versions of other libraries it needs is checked all the same. */
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        (void)tc_fail(err, TC_E_UNSUPPORTED, 0, "%s", why == NULL ? path : why);
    }
    return library;
}

void tc_library_close(void *library)
{
    if (library != NULL) {
        (void)dlclose(library);
    }
}

const char *tc_library_bind(void *library, const char *const *names, size_t count, void *out_table)
{
    const char *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        /* C has no cast from a pointer to data to one to a function; POSIX says they are alike. */
        void *symbol = dlsym(library, names[i]);
        memcpy((char *)out_table + i * sizeof symbol, &symbol, sizeof symbol);
        missing = missing == NULL && symbol == NULL ? names[i] : missing;
    }
    return missing;
}
