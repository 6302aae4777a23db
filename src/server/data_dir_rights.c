/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data_dir_rights.h"

#include "base/slice.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories in directories: none that matters is deeper. */
#define DEPTH_MAX 3
#define GROUPS_MAX 1024

static bool is_own_group(gid_t group)
{
    gid_t groups[GROUPS_MAX];
    int count = getgroups(GROUPS_MAX, groups);
    bool found = group == getegid();
    for (int i = 0; i < count && !found; i++) {
        found = groups[i] == group;
    }
    return found;
}

static tc_status check_owner(const char *path, const struct stat *st, struct tc_error *err)
{
    if (st->st_uid != geteuid() && st->st_uid != 0) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "%s: belongs to uid %u, the daemon runs as %u: chown -R it, or use another "
                       "data_dir",
                       path, (unsigned)st->st_uid, (unsigned)geteuid());
    }
    if ((st->st_mode & S_IWOTH) != 0) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "%s: everybody can write to it: chmod o-w it, or make data_dir a directory "
                       "in it",
                       path);
    }
    if ((st->st_mode & S_IWGRP) != 0 && !is_own_group(st->st_gid)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "%s: group %u can write to it, which is not the daemon's: chmod g-w it, or "
                       "run the daemon in that group",
                       path, (unsigned)st->st_gid);
    }
    return TC_OK;
}

/* The 256 folders of what is named by its digest. */
static bool is_digest_folder(const char *name)
{
    uint64_t value = 0;
    return strlen(name) == 2 && tc_slice_hex(tc_slice_cstr(name), &value) == 2;
}

static tc_status check_folder(int fd, const char *path, unsigned depth, struct tc_error *err);

static tc_status check_entry(int dir_fd, const char *dir, const char *name, unsigned depth,
                             struct tc_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return TC_OK; /* gone meanwhile */
    }
    if (S_ISLNK(st.st_mode)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "%s: is a symbolic link: put what it leads to in its place, or use another "
                       "data_dir",
                       path);
    }
    if (!S_ISDIR(st.st_mode)) {
        return TC_OK;
    }
    TC_TRY(check_owner(path, &st, err));
    if (depth == DEPTH_MAX || is_digest_folder(name)) {
        return TC_OK;
    }
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    /* lost+found is root's; what the daemon needs and cannot read is told when it is used. */
    return fd < 0 ? TC_OK : check_folder(fd, path, depth + 1, err);
}

/* Takes fd. */
static tc_status check_folder(int fd, const char *path, unsigned depth, struct tc_error *err)
{
    DIR *d = fdopendir(fd);
    if (d == NULL) {
        int code = errno;
        (void)close(fd);
        return tc_fail(err, TC_E_IO, 0, "%s: cannot be read: %s", path, strerror(code));
    }
    tc_status status = TC_OK;
    for (const struct dirent *e; status == TC_OK && (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            status = check_entry(dirfd(d), path, e->d_name, depth, err);
        }
    }
    (void)closedir(d);
    return status;
}

tc_status tc_data_dir_check_rights(const char *dir, struct tc_error *err)
{
    struct stat st;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int code = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return tc_fail(err, TC_E_IO, 0, "%s: cannot be read: %s", dir, strerror(code));
    }
    tc_status status = check_owner(dir, &st, err);
    if (status != TC_OK) {
        (void)close(fd);
        return status;
    }
    return check_folder(fd, dir, 1, err);
}
