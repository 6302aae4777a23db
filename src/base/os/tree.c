/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/tree.h"

#include "base/os/io.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 8192

static tc_status remove_in(const char *path, unsigned depth, struct tc_error *err)
{
    DIR *d = opendir(path);
    tc_status status = TC_OK;
    if (d == NULL) {
        return errno == ENOENT ? TC_OK : tc_fail_errno(err, path);
    }
    for (struct dirent *e; status == TC_OK && (e = readdir(d)) != NULL;) {
        char name[PATH_BYTES];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%.7900s/%s", path, e->d_name);
        if (unlink(name) == 0 || errno == ENOENT) {
            continue;
        }
        status = errno == EISDIR && depth > 0 ? remove_in(name, depth - 1, err)
                                              : tc_fail_errno(err, name);
    }
    (void)closedir(d);
    return status == TC_OK && rmdir(path) != 0 ? tc_fail_errno(err, path) : status;
}

tc_status tc_tree_remove(const char *path, struct tc_error *err)
{
    return remove_in(path, TC_TREE_DEPTH_MAX, err);
}
