/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a directory of their own. */
#ifndef TC_TESTS_FILES_TESTING_H
#define TC_TESTS_FILES_TESTING_H

#include "evidence/files/files.h"
#include "unit/evidence/evidence_testing.h"

static struct tc_error err;

__attribute__((unused)) static struct tc_files *open_files(bool create)
{
    struct tc_files *f = NULL;
    if (tc_files_open(test_dir, create, &f, &err) != TC_OK) {
        fail_msg("open: %s", err.message);
    }
    return f;
}

__attribute__((unused)) static struct tc_files_batch *begin(struct tc_files *f)
{
    struct tc_files_batch *b = NULL;
    if (tc_files_begin(f, &b, &err) != TC_OK) {
        fail_msg("begin: %s", err.message);
    }
    return b;
}

__attribute__((unused)) static struct tc_digest add_bytes(struct tc_files_batch *b,
                                                          struct tc_slice body)
{
    struct tc_digest d;
    if (tc_files_add_bytes(b, body, &d, &err) != TC_OK) {
        fail_msg("add: %s", err.message);
    }
    return d;
}

__attribute__((unused)) static struct tc_digest keep_one(struct tc_files *f, struct tc_slice body)
{
    struct tc_files_batch *b = begin(f);
    struct tc_digest d = add_bytes(b, body);
    if (tc_files_keep(b, &err) != TC_OK) {
        fail_msg("keep: %s", err.message);
    }
    tc_files_end(b);
    return d;
}

__attribute__((unused)) static void assert_content(struct tc_files *f, const struct tc_digest *d,
                                                   struct tc_slice want)
{
    char *bytes = NULL;
    size_t len = 0;
    if (tc_files_read(f, d, BODY_MAX, &bytes, &len, &err) != TC_OK) {
        fail_msg("read: %s", err.message);
    }
    assert_true(tc_slice_eq(tc_slice_make(bytes, len), want));
    free(bytes);
}

struct seen_files {
    size_t count;
    size_t odd;
    size_t stop_at;
    struct tc_digest last;
};

__attribute__((unused)) static tc_status see_file(void *context, const struct tc_files_info *info)
{
    struct seen_files *seen = context;
    assert_true(seen->count == 0 || memcmp(&seen->last, &info->digest, sizeof seen->last) < 0);
    assert_true(info->disk_bytes > 0);
    assert_true(info->modified_ns > 0);
    seen->last = info->digest;
    seen->count++;
    return seen->count == seen->stop_at ? TC_E_LIMIT : TC_OK;
}

__attribute__((unused)) static void see_odd(void *context, const char *path)
{
    struct seen_files *seen = context;
    assert_non_null(path);
    seen->odd++;
}

__attribute__((unused)) static size_t count_files(struct tc_files *f)
{
    struct seen_files seen = {0};
    if (tc_files_walk(f, see_file, see_odd, &seen, &err) != TC_OK) {
        fail_msg("walk: %s", err.message);
    }
    assert_int_equal(seen.odd, 0);
    return seen.count;
}

/* Entries of files/SUB. */
__attribute__((unused)) static size_t count_in(const char *sub)
{
    char path[128];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "%s/files/%s", test_dir, sub);
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        count += e->d_name[0] != '.';
    }
    if (d != NULL) {
        (void)closedir(d);
    }
    return count;
}

__attribute__((unused)) static void only_file(const char *sub, char *out, size_t size)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/files/%s", test_dir, sub);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] != '.') {
            (void)snprintf(out, size, "%s/%.60s", path, e->d_name);
        }
    }
    (void)closedir(d);
}

__attribute__((unused)) static void path_of(const struct tc_digest *d, char *out, size_t size)
{
    char hex[80];
    struct tc_buf b = tc_buf_make(hex, sizeof hex - 1);
    tc_buf_digest(&b, d);
    hex[b.len] = '\0';
    (void)snprintf(out, size, "%s/files/%.2s/%s", test_dir, hex + 7, hex + 7);
}

#endif
