/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files by digest: what goes in comes out, once; whatever is changed on disk is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/files/files.h"
#include "unit/evidence/files_testing.h"

#include <pthread.h>
#include <sys/wait.h>

static void content_comes_back_and_is_stored_once(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 131072, 131073, 3000000};
    struct tc_files *f = open_files(true);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tc_slice body = body_of(i, sizes[i]);
        struct tc_digest want;
        uint64_t size = 0;
        assert_int_equal(tc_digest_sha256(body, &want), TC_OK);
        for (int twice = 0; twice < 2; twice++) {
            struct tc_files_batch *b = begin(f);
            struct tc_digest got = add_bytes(b, body);
            assert_memory_equal(&got, &want, sizeof got);
            assert_int_equal(tc_files_keep(b, &err), TC_OK);
            tc_files_end(b);
        }
        assert_content(f, &want, body);
        assert_int_equal(tc_files_check(f, &want, &size, &err), TC_OK);
        assert_int_equal(size, sizes[i]);
    }
    assert_int_equal(count_files(f), sizeof sizes / sizeof sizes[0]);
    assert_int_equal(count_in("open"), 0);
    tc_files_close(f);
}

static void a_part_is_read_wherever_it_lies(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset;
        size_t length;
    } parts[] = {{0, 0},           {0, 1},       {131071, 2},      {131072, 131072},
                 {100000, 300000}, {499999, 1},  {499999, 1000},   {500000, 10},
                 {600000, 10},     {0, 1 << 20}, {UINT64_MAX, 100}};
    struct tc_files *f = open_files(true);
    struct tc_slice body = body_of(3, 500000);
    struct tc_digest digest = keep_one(f, body);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct tc_slice want =
            parts[i].offset < body.len
                ? tc_slice_head(tc_slice_from(body, (size_t)parts[i].offset), parts[i].length)
                : TC_EMPTY;
        char *bytes = NULL;
        size_t len = 0;
        uint64_t total = 0;
        assert_int_equal(tc_files_read_part(f, &digest, parts[i].offset, parts[i].length, &bytes,
                                            &len, &total, &err),
                         TC_OK);
        assert_int_equal(total, body.len);
        assert_true(tc_slice_eq(tc_slice_make(bytes, len), want));
        free(bytes);
    }
    tc_files_close(f);
}

static void an_open_file_is_stored_from_its_offset(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_slice body = body_of(3, 500000);
    struct tc_digest got;
    uint64_t size = 0;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/source", test_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, body.ptr, body.len), (ssize_t)body.len);
    assert_int_equal(lseek(fd, 1000, SEEK_SET), 1000);
    struct tc_files_batch *b = begin(f);
    assert_int_equal(tc_files_add(b, fd, &got, &size, &err), TC_OK);
    assert_int_equal(size, 499000);
    assert_content(f, &got, tc_slice_from(body, 1000));
    assert_int_equal(tc_files_add(b, fd, &got, NULL, &err), TC_OK); /* nothing is left of it */
    assert_content(f, &got, TC_EMPTY);
    assert_int_equal(tc_files_keep(b, &err), TC_OK);
    tc_files_end(b);
    (void)close(fd);
    tc_files_close(f);
}

static void what_is_not_kept_is_removed(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_digest kept = keep_one(f, body_of(1, 1000));
    struct tc_files_batch *b = begin(f);
    struct tc_digest gone = add_bytes(b, body_of(2, 1000));
    struct tc_digest again = add_bytes(b, body_of(1, 1000));
    assert_memory_equal(&kept, &again, sizeof kept);
    assert_int_equal(count_files(f), 2);
    tc_files_end(b);
    assert_int_equal(count_files(f), 1);
    assert_int_equal(tc_files_check(f, &kept, NULL, &err), TC_OK);
    assert_int_equal(tc_files_check(f, &gone, NULL, &err), TC_E_NOTFOUND);
    assert_int_equal(count_in("open"), 0);
    tc_files_close(f);
}

static void content_that_another_batch_uses_stays(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_slice body = body_of(1, 1000);
    /* The writer fails while the other still works, and that one fails too. */
    struct tc_files_batch *a = begin(f);
    struct tc_digest d = add_bytes(a, body);
    struct tc_files_batch *b = begin(f);
    (void)add_bytes(b, body);
    tc_files_end(a);
    assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    assert_int_equal(tc_files_remove(f, &d, &err), TC_E_USAGE);
    tc_files_end(b);
    assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_E_NOTFOUND);
    /* The other keeps it before the writer fails. */
    a = begin(f);
    (void)add_bytes(a, body);
    b = begin(f);
    (void)add_bytes(b, body);
    assert_int_equal(tc_files_keep(b, &err), TC_OK);
    tc_files_end(b);
    tc_files_end(a);
    assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    assert_int_equal(count_in("open"), 0);
    assert_int_equal(tc_files_remove(f, &d, &err), TC_OK);
    assert_int_equal(tc_files_remove(f, &d, &err), TC_E_NOTFOUND);
    tc_files_close(f);
}

/* ---- the next batch cleans up ---- */

static void leave_behind(uint64_t number)
{
    pid_t child = fork();
    if (child == 0) {
        struct tc_files *f = NULL;
        struct tc_files_batch *b = NULL;
        struct tc_digest d;
        bool good = tc_files_open(test_dir, true, &f, &err) == TC_OK &&
                    tc_files_begin(f, &b, &err) == TC_OK &&
                    tc_files_add_bytes(b, body_of(number, 5000), &d, &err) == TC_OK;
        _exit(good ? 42 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 42);
}

static enum tc_needed needed_if_equal(void *context, const struct tc_digest *digest)
{
    bool equal = context != NULL && memcmp(context, digest, sizeof *digest) == 0;
    return equal ? TC_NEEDED_YES : TC_NEEDED_NO;
}

static void what_a_killed_batch_left_is_removed_unless_needed(void **state)
{
    (void)state;
    struct tc_digest first;
    assert_int_equal(tc_digest_sha256(body_of(1, 5000), &first), TC_OK);
    leave_behind(1);
    leave_behind(2);
    struct tc_files *f = open_files(true);
    assert_int_equal(count_files(f), 2);
    assert_int_equal(count_in("open"), 2);
    tc_files_end(begin(f)); /* it knows nobody to ask */
    assert_int_equal(count_files(f), 2);
    tc_files_ask(f, needed_if_equal, &first);
    struct tc_files_batch *b = begin(f);
    assert_int_equal(count_files(f), 1);
    assert_int_equal(tc_files_check(f, &first, NULL, &err), TC_OK);
    assert_int_equal(count_in("open"), 1); /* ours */
    tc_files_end(b);
    assert_int_equal(count_in("open"), 0);
    assert_int_equal(tc_files_remove(f, &first, &err), TC_E_USAGE);
    tc_files_close(f);
}

static enum tc_needed nobody_knows(void *context, const struct tc_digest *digest)
{
    (void)context;
    (void)digest;
    return TC_NEEDED_UNKNOWN;
}

static void what_nobody_can_tell_is_asked_again(void **state)
{
    (void)state;
    leave_behind(1);
    struct tc_files *f = open_files(true);
    tc_files_ask(f, nobody_knows, NULL);
    struct tc_files_batch *b = begin(f);
    (void)add_bytes(b, body_of(2, 5000));
    tc_files_end(b); /* nor can it be told whether that is needed */
    assert_int_equal(count_files(f), 2);
    assert_int_equal(count_in("open"), 2); /* the journals stay */
    tc_files_ask(f, needed_if_equal, NULL);
    tc_files_end(begin(f));
    assert_int_equal(count_files(f), 0);
    assert_int_equal(count_in("open"), 0);
    tc_files_close(f);
}

static void what_a_live_batch_uses_is_not_cleaned(void **state)
{
    (void)state;
    leave_behind(1);
    struct tc_files *f = open_files(true);
    struct tc_files_batch *user = begin(f);
    struct tc_digest d = add_bytes(user, body_of(1, 5000));
    tc_files_ask(f, needed_if_equal, NULL);
    tc_files_end(begin(f)); /* cleans: nothing needs it, but the user does */
    assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    assert_int_equal(count_in("open"), 1);
    tc_files_end(user); /* it was left to it */
    assert_int_equal(count_files(f), 0);
    tc_files_close(f);
}

static void a_torn_journal_is_read_as_far_as_it_is_whole(void **state)
{
    (void)state;
    char path[200];
    leave_behind(1);
    only_file("open", path, sizeof path);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "w 0123", 6), 6);
    (void)close(fd);
    struct tc_files *f = open_files(true);
    tc_files_ask(f, needed_if_equal, NULL);
    tc_files_end(begin(f));
    assert_int_equal(count_files(f), 0);
    assert_int_equal(count_in("open"), 0);
    tc_files_close(f);
}

static void an_end_that_may_have_been_committed_asks(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_files_batch *b = begin(f);
    struct tc_digest d = add_bytes(b, body_of(1, 10));
    tc_files_ask(f, needed_if_equal, &d);
    tc_files_end(b);
    assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    tc_files_close(f);
}

/* ---- damage ---- */

static void every_flipped_byte_is_found(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 5, 700, 20000};
    struct tc_files *f = open_files(true);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tc_slice body = body_of(i, sizes[i]);
        struct tc_digest d = keep_one(f, body);
        char path[200];
        path_of(&d, path, sizeof path);
        uint64_t size = file_size(path);
        for (uint64_t at = 0; at < size; at++) {
            flip(path, at, (uint8_t)(1U << (at % 8)));
            memset(&err, 0, sizeof err);
            if (tc_files_check(f, &d, NULL, &err) != TC_E_MALFORMED) {
                fail_msg("byte %llu of %llu", (unsigned long long)at, (unsigned long long)size);
            }
            assert_non_null(strstr(err.message, "damaged: "));
            assert_non_null(strstr(err.message, path));
            char *bytes = NULL;
            size_t len = 0;
            assert_int_equal(tc_files_read(f, &d, 1 << 20, &bytes, &len, &err), TC_E_MALFORMED);
            assert_null(bytes);
            flip(path, at, (uint8_t)(1U << (at % 8)));
        }
        assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    }
    tc_files_close(f);
}

static void each_part_of_a_large_file_is_covered(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_digest d = keep_one(f, body_of(9, 4000000));
    char path[200];
    path_of(&d, path, sizeof path);
    uint64_t size = file_size(path);
    for (uint64_t at = 0; at < size; at += at < 64 || at + 128 > size ? 1 : size / 60) {
        flip(path, at, 0x80);
        assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_E_MALFORMED);
        flip(path, at, 0x80);
    }
    assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    tc_files_close(f);
}

static void truncation_and_extension_are_found(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_digest d = keep_one(f, body_of(5, 3000));
    char path[200];
    char copy[8192];
    path_of(&d, path, sizeof path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ssize_t size = pread(fd, copy, sizeof copy, 0);
    assert_true(size > 0 && size < (ssize_t)sizeof copy);
    for (ssize_t len = 0; len < size; len++) {
        assert_int_equal(ftruncate(fd, len), 0);
        assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_E_MALFORMED);
        assert_int_equal(pwrite(fd, copy, (size_t)size, 0), size);
    }
    for (size_t extra = 1; extra <= 200; extra++) {
        assert_int_equal(ftruncate(fd, size + (ssize_t)extra), 0);
        assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_E_MALFORMED);
        /* The end once more, so that the last bytes are a trailer that holds. */
        assert_int_equal(pwrite(fd, copy + size - 64, 64, size + (ssize_t)extra - 64), 64);
        assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_E_MALFORMED);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, copy, (size_t)size, 0), size);
    }
    (void)close(fd);
    assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    tc_files_close(f);
}

static void swapped_files_and_wrong_names_are_found(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_digest a = keep_one(f, body_of(1, 800));
    struct tc_digest b = keep_one(f, body_of(2, 800));
    char path_a[200];
    char path_b[200];
    char other[200];
    path_of(&a, path_a, sizeof path_a);
    path_of(&b, path_b, sizeof path_b);
    (void)snprintf(other, sizeof other, "%s/other", test_dir);
    assert_int_equal(rename(path_a, other), 0);
    assert_int_equal(rename(path_b, path_a), 0);
    assert_int_equal(rename(other, path_b), 0);
    assert_int_equal(tc_files_check(f, &a, NULL, &err), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "other content than its name"));
    assert_int_equal(tc_files_check(f, &b, NULL, &err), TC_E_MALFORMED);
    assert_int_equal(unlink(path_a), 0);
    assert_int_equal(symlink(path_b, path_a), 0);
    assert_int_not_equal(tc_files_check(f, &a, NULL, &err), TC_OK);
    assert_int_equal(unlink(path_a), 0);
    assert_int_equal(mkdir(path_a, 0700), 0);
    assert_int_equal(tc_files_check(f, &a, NULL, &err), TC_E_MALFORMED);
    assert_int_equal(rmdir(path_a), 0);
    assert_int_equal(mkfifo(path_a, 0600), 0);
    assert_int_equal(tc_files_check(f, &a, NULL, &err), TC_E_MALFORMED);
    tc_files_close(f);
}

static void adding_the_same_content_heals_damage(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_digest d = keep_one(f, body_of(4, 9000));
    char path[200];
    path_of(&d, path, sizeof path);
    flip(path, 100, 1);
    struct tc_files_batch *b = begin(f);
    (void)add_bytes(b, body_of(4, 9000));
    tc_files_end(b); /* not ours to remove: it was there */
    assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    tc_files_close(f);
}

/* ---- limits, modes, walks ---- */

static void a_limit_of_the_reader_is_kept(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    struct tc_digest d = keep_one(f, body_of(4, 1000));
    char *bytes = NULL;
    size_t len = 0;
    assert_int_equal(tc_files_read(f, &d, 999, &bytes, &len, &err), TC_E_LIMIT);
    assert_int_equal(tc_files_read(f, &d, 1000, &bytes, &len, &err), TC_OK);
    free(bytes);
    tc_files_close(f);
}

static void nobody_else_can_read_them(void **state)
{
    (void)state;
    mode_t before = umask(0);
    struct tc_files *f = open_files(true);
    struct tc_digest d = keep_one(f, body_of(4, 1000));
    char path[200];
    struct stat st;
    path_of(&d, path, sizeof path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    static const char *const dirs[] = {"files", "files/open"};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", test_dir, dirs[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
    }
    tc_files_close(f);
    (void)umask(before);
}

static void a_directory_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct tc_files *f = NULL;
    char path[200];
    assert_int_equal(tc_files_open(test_dir, false, &f, &err), TC_E_NOTFOUND);
    assert_null(f);
    (void)snprintf(path, sizeof path, "%s/a/b/c", test_dir);
    assert_int_equal(tc_files_open(path, true, &f, &err), TC_OK);
    tc_files_close(f);
    assert_int_equal(tc_files_open(path, false, &f, &err), TC_OK);
    tc_files_close(f);
    char *longer = malloc(5000);
    memset(longer, 'a', 4999);
    longer[4999] = '\0';
    assert_int_equal(tc_files_open(longer, true, &f, &err), TC_E_LIMIT);
    free(longer);
}

static void a_walk_is_in_order_and_tells_what_is_odd(void **state)
{
    (void)state;
    struct tc_files *f = open_files(true);
    for (uint64_t i = 0; i < 300; i++) {
        (void)keep_one(f, body_of(i, 50));
    }
    char path[200];
    static const char *const odd[] = {"00", "00/xyz", "stray", "zz"};
    (void)snprintf(path, sizeof path, "%s/files/00", test_dir);
    (void)mkdir(path, 0700);
    for (size_t i = 1; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s/files/%s", test_dir, odd[i]);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    struct seen_files seen = {0};
    assert_int_equal(tc_files_walk(f, see_file, see_odd, &seen, &err), TC_OK);
    assert_int_equal(seen.count, 300);
    assert_int_equal(seen.odd, 3);
    seen.stop_at = 7;
    seen.count = 0;
    assert_int_equal(tc_files_walk(f, see_file, NULL, &seen, &err), TC_E_LIMIT);
    assert_int_equal(seen.count, 7);
    tc_files_close(f);
}

/* ---- many at once ---- */

#define ADDERS 4
#define ROUNDS 40

static char at_open[] = "open";
static char at_begin[] = "begin";
static char at_add[] = "add";
static char at_keep[] = "keep";

/* Where it failed, or NULL. */
static void *adder(void *argument)
{
    unsigned seed = *(unsigned *)argument;
    struct tc_files *f = NULL;
    struct tc_error mine;
    if (tc_files_open(test_dir, true, &f, &mine) != TC_OK) {
        return at_open;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct tc_files_batch *b = NULL;
        if (tc_files_begin(f, &b, &mine) != TC_OK) {
            return at_begin;
        }
        for (unsigned k = 0; k < 3; k++) {
            char text[64];
            struct tc_digest d;
            int len = snprintf(text, sizeof text, "content %u", (i + k * seed) % 11);
            if (tc_files_add_bytes(b, tc_slice_make(text, (size_t)len), &d, &mine) != TC_OK ||
                tc_files_check(f, &d, NULL, &mine) != TC_OK) {
                return at_add;
            }
        }
        /* Every other batch comes to nothing; what is kept here stays, whoever wrote it. */
        if ((i + seed) % 2 == 0 && tc_files_keep(b, &mine) != TC_OK) {
            return at_keep;
        }
        tc_files_end(b);
    }
    tc_files_close(f);
    return NULL;
}

static void adders_of_the_same_content_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[ADDERS];
    unsigned seeds[ADDERS];
    for (unsigned i = 0; i < ADDERS; i++) {
        seeds[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, adder, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < ADDERS; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        if (failed != NULL) {
            fail_msg("%s", (const char *)failed);
        }
    }
    struct tc_files *f = open_files(false);
    assert_int_equal(count_files(f), 11); /* all were kept by someone */
    assert_int_equal(count_in("open"), 0);
    tc_files_close(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(content_comes_back_and_is_stored_once),
        TEST(a_part_is_read_wherever_it_lies),
        TEST(an_open_file_is_stored_from_its_offset),
        TEST(what_is_not_kept_is_removed),
        TEST(content_that_another_batch_uses_stays),
        TEST(what_a_killed_batch_left_is_removed_unless_needed),
        TEST(what_nobody_can_tell_is_asked_again),
        TEST(what_a_live_batch_uses_is_not_cleaned),
        TEST(a_torn_journal_is_read_as_far_as_it_is_whole),
        TEST(an_end_that_may_have_been_committed_asks),
        TEST(every_flipped_byte_is_found),
        TEST(each_part_of_a_large_file_is_covered),
        TEST(truncation_and_extension_are_found),
        TEST(swapped_files_and_wrong_names_are_found),
        TEST(adding_the_same_content_heals_damage),
        TEST(a_limit_of_the_reader_is_kept),
        TEST(nobody_else_can_read_them),
        TEST(a_directory_that_is_not_there_is_not_found),
        TEST(a_walk_is_in_order_and_tells_what_is_odd),
        TEST(adders_of_the_same_content_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
