/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/dirs.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

int tc_dirs_make(const char *path, char out_part[TC_DIRS_PATH_BYTES])
{
    size_t len = strnlen(path, TC_DIRS_PATH_BYTES);
    out_part[0] = '\0';
    if (len == 0 || len == TC_DIRS_PATH_BYTES) {
        return len == 0 ? ENOENT : ENAMETOOLONG;
    }
    for (size_t i = 1; i <= len; i++) {
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        memcpy(out_part, path, i);
        out_part[i] = '\0';
        if (mkdir(out_part, 0700) != 0 && errno != EEXIST) {
            return errno;
        }
    }
    return 0;
}
