/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a directory of its own, batches that can be made again, and what is in it. */
#ifndef TC_TESTS_EVIDENCE_TESTING_H
#define TC_TESTS_EVIDENCE_TESTING_H

#include "base/time.h"
#include "evidence/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define BODY_MAX ((size_t)4 << 20)

static char test_dir[64];
static char said[8192];
static char body_bytes[BODY_MAX];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

static int make_dir(void **state)
{
    (void)state;
    /* Thousands of syncs: in memory, where there is such a place. */
    bool in_memory = access("/dev/shm", W_OK) == 0;
    (void)snprintf(test_dir, sizeof test_dir, "%s/tc-evidence-XXXXXX",
                   in_memory ? "/dev/shm" : "/tmp");
    said[0] = '\0';
    return mkdtemp(test_dir) == NULL ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return nftw(test_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static void say(void *context, const char *line)
{
    (void)context;
    size_t used = strlen(said);
    (void)snprintf(said + used, sizeof said - used, "%s\n", line);
}

__attribute__((unused)) static struct tc_store_config small_config(void)
{
    return (struct tc_store_config){
        .segment_bytes = (size_t)64 << 20, .segment_ns = 3600 * TC_SECOND, .compression = 1};
}

/* Bytes that follow from the number: 64 that do not repeat, 64 that do, and so on. */
static struct tc_slice body_of(uint64_t number, size_t len)
{
    uint64_t x = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    assert_true(len <= sizeof body_bytes);
    memset(body_bytes, (int)('a' + number % 26), len);
    for (size_t i = 0; i < len; i += i % 64 == 56 ? 72 : sizeof x) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(body_bytes + i, &x, len - i < sizeof x ? len - i : sizeof x);
    }
    return tc_slice_make(body_bytes, len);
}

__attribute__((unused)) static size_t size_of(uint64_t number)
{
    static const size_t sizes[] = {0, 1, 100, 4096, 70000, 231};
    return sizes[number % (sizeof sizes / sizeof sizes[0])];
}

static struct tc_batch batch_of(uint64_t number, size_t len)
{
    return (struct tc_batch){
        .number = number,
        .arrival_ns = T0 + (int64_t)number * TC_SECOND,
        .kind = number % 3 == 0 ? TC_BATCH_FILE : TC_BATCH_LOGS_PROTOBUF,
        .name = number % 3 == 0 ? TC_LIT("dump_7\nnode=gpu-1") : TC_EMPTY,
        .body = body_of(number, len),
    };
}

__attribute__((unused)) static struct tc_store *open_store(const struct tc_store_config *config)
{
    struct tc_store *s = NULL;
    struct tc_error err = {0};
    if (tc_store_open(test_dir, config, say, NULL, &s, &err) != TC_OK) {
        fail_msg("open: %s", err.message);
    }
    return s;
}

__attribute__((unused)) static tc_status append_one(struct tc_store *s, uint64_t number, size_t len)
{
    struct tc_batch b = batch_of(number, len);
    struct tc_error err = {0};
    return tc_store_append(s, &b, &err);
}

/* Appends `count` batches of varying sizes and commits after each `group`. */
__attribute__((unused)) static void fill(struct tc_store *s, uint64_t count, uint64_t group)
{
    struct tc_error err = {0};
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = tc_store_next_number(s);
        assert_int_equal(append_one(s, number, size_of(number)), TC_OK);
        if (i % group == 0 && tc_store_commit(s, &err) != TC_OK) {
            fail_msg("commit: %s", err.message);
        }
    }
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
}

/* What a walk saw. */
struct seen {
    uint64_t numbers[4096];
    size_t count;
    size_t bad;
    size_t cited;
    bool sized; /* bodies are those of size_of */
};

__attribute__((unused)) static tc_status take_batch(void *context, const struct tc_batch *batch,
                                                    const struct tc_batch_info *info)
{
    struct seen *seen = context;
    struct tc_slice want = body_of(batch->number, (size_t)info->body_bytes);
    assert_int_equal(batch->number, info->number);
    assert_true(batch->arrival_ns == T0 + (int64_t)batch->number * TC_SECOND);
    assert_true(seen->count == 0 || seen->numbers[seen->count - 1] < batch->number);
    assert_true(tc_slice_eq(batch->body, want));
    assert_true(!seen->sized || info->body_bytes == size_of(batch->number));
    assert_int_equal(batch->kind, batch->number % 3 == 0 ? TC_BATCH_FILE : TC_BATCH_LOGS_PROTOBUF);
    assert_int_equal(batch->name.len, batch->number % 3 == 0 ? 17 : 0);
    seen->cited += info->cited;
    seen->numbers[seen->count++] = batch->number;
    assert_true(seen->count < sizeof seen->numbers / sizeof seen->numbers[0]);
    return TC_OK;
}

__attribute__((unused)) static void count_bad(void *context, const char *line)
{
    struct seen *seen = context;
    seen->bad++;
    say(NULL, line);
}

__attribute__((unused)) static struct tc_evidence *open_evidence(void)
{
    struct tc_evidence *e = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_evidence_open(test_dir, &e, &err), TC_OK);
    return e;
}

__attribute__((unused)) static void walk_all(struct seen *seen, uint64_t from)
{
    struct tc_error err = {0};
    struct tc_evidence *e = open_evidence();
    if (tc_evidence_walk(e, from, true, take_batch, count_bad, seen, &err) != TC_OK) {
        fail_msg("walk: %s", err.message);
    }
    tc_evidence_close(e);
}

/* The one segment in open/: its path. */
__attribute__((unused)) static void segment_path(char *out, size_t size)
{
    char dir[128];
    bool found = false;
    (void)snprintf(dir, sizeof dir, "%s/open", test_dir);
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] != '.') {
            assert_false(found);
            found = true;
            (void)snprintf(out, size, "%s/%.60s", dir, e->d_name);
        }
    }
    (void)closedir(d);
    assert_true(found);
}

__attribute__((unused)) static uint64_t file_size(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

__attribute__((unused)) static void flip(const char *path, uint64_t offset, uint8_t mask)
{
    uint8_t byte = 0;
    (void)chmod(path, 0600);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
    byte ^= mask;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
    (void)close(fd);
}

__attribute__((unused)) static struct tc_store_stats stats_of(const struct tc_store *s)
{
    struct tc_store_stats stats;
    tc_store_stats(s, &stats);
    return stats;
}

#endif
