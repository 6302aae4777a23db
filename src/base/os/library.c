/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/library.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Of one library that is loaded; ours is the one at that address. What may be written stays: it is
 * no longer what the file says. */
static int rest(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct link_map *ours = context;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    if (info->dlpi_addr != ours->l_addr) {
        return 0;
    }
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) != 0) {
            continue;
        }
        uintptr_t from = (info->dlpi_addr + part->p_vaddr + page - 1) / page * page;
        uintptr_t to = (info->dlpi_addr + part->p_vaddr + part->p_memsz) / page * page;
        if (from < to) {
            (void)madvise((void *)from, to - from, MADV_DONTNEED);
        }
    }
    return 1;
}

void tc_library_rest(void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL && map->l_addr != 0) {
        (void)dl_iterate_phdr(rest, map);
    }
}
