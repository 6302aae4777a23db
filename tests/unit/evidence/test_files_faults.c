/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that fail, and a process that dies at each of them: what was kept is there and whole, what
 * was not kept is gone after the next batch, and nothing else is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/evidence/files_testing.h"

#include <sys/mman.h>
#include <sys/wait.h>

enum call { WRITE, SYNC, RENAME, UNLINK };

/* Which of the calls, counted together, fails or is the last; shared with children. */
static struct plan {
    long calls;
    long at;   /* from 1; 0: none */
    int error; /* 0: the process dies there */
    bool half; /* a write that strikes does half of its work first */
    int only;  /* one kind of call, or -1 */
    bool committed;
    bool kept;
} * plan;

static bool strikes(enum call kind)
{
    if (plan->only >= 0 && plan->only != (int)kind) {
        return false;
    }
    return ++plan->calls == plan->at;
}

static int strike(void)
{
    if (plan->error == 0) {
        _exit(42);
    }
    errno = plan->error;
    return -1;
}

static ssize_t io_write(int fd, const void *data, size_t len)
{
    if (strikes(WRITE)) {
        if (plan->half && len > 1) {
            ssize_t n = write(fd, data, len / 2);
            if (plan->error != 0) {
                plan->at++; /* short now, the error next time */
                return n;
            }
        }
        return strike();
    }
    return write(fd, data, len);
}

static int io_sync(int fd)
{
    (void)fd;
    return strikes(SYNC) ? strike() : 0;
}

static int io_rename(const char *from, const char *to)
{
    return strikes(RENAME) ? strike() : rename(from, to);
}

static int io_unlink(const char *path)
{
    return strikes(UNLINK) ? strike() : unlink(path);
}

static const struct tc_store_io faulty = {
    .write = io_write, .sync = io_sync, .rename = io_rename, .unlink = io_unlink};

/* The "database": content of batches that were committed. */
static enum tc_needed needed(void *context, const struct tc_digest *digest)
{
    (void)context;
    for (uint64_t i = 0; i < 3; i++) {
        struct tc_digest d;
        if (tc_digest_sha256(body_of(i, 3000), &d) != TC_OK) {
            return TC_NEEDED_YES;
        }
        if (memcmp(&d, digest, sizeof d) == 0) {
            return i == 0 || plan->committed; /* 0 was there before */
        }
    }
    return TC_NEEDED_NO;
}

/* A batch of three, of which the first was there before. */
static void work(bool commit)
{
    struct tc_files *f = NULL;
    struct tc_files_batch *b = NULL;
    tc_status status = tc_files_open(test_dir, true, &f, &err);
    if (status != TC_OK) {
        return;
    }
    tc_files_io(f, &faulty);
    tc_files_ask(f, needed, NULL);
    status = tc_files_begin(f, &b, &err);
    for (uint64_t i = 0; i < 3 && status == TC_OK; i++) {
        struct tc_digest d;
        status = tc_files_add_bytes(b, body_of(i, 3000), &d, &err);
    }
    if (status == TC_OK && commit) {
        plan->committed = true;
        plan->kept = tc_files_keep(b, &err) == TC_OK;
    }
    tc_files_end(b);
    tc_files_close(f);
}

static void check(void)
{
    struct tc_files *f = open_files(true);
    tc_files_ask(f, needed, NULL);
    tc_files_end(begin(f)); /* cleans up */
    size_t want = plan->committed ? 3 : 1;
    if (count_files(f) != want) {
        fail_msg("call %ld: %zu files, not %zu", plan->at, count_files(f), want);
    }
    for (uint64_t i = 0; i < want; i++) {
        struct tc_digest d;
        assert_int_equal(tc_digest_sha256(body_of(i, 3000), &d), TC_OK);
        assert_int_equal(tc_files_check(f, &d, NULL, &err), TC_OK);
    }
    assert_int_equal(count_in("open"), 0);
    tc_files_close(f);
}

static void fresh(void)
{
    (void)nftw(test_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(mkdir(test_dir, 0700), 0);
    struct tc_files *f = open_files(true);
    (void)keep_one(f, body_of(0, 3000));
    tc_files_close(f);
}

static long count_calls(bool commit)
{
    fresh();
    *plan = (struct plan){.only = -1};
    work(commit);
    assert_int_equal(plan->committed, commit);
    long calls = plan->calls;
    check();
    assert_true(calls > 20);
    return calls;
}

static void killed_at(long at, bool commit, bool half)
{
    fresh();
    *plan = (struct plan){.at = at, .half = half, .only = -1};
    pid_t child = fork();
    if (child == 0) {
        work(commit);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 42);
    check();
}

static void a_kill_at_every_call_leaves_all_or_nothing(void **state)
{
    (void)state;
    for (int commit = 0; commit < 2; commit++) {
        long calls = count_calls(commit);
        for (long at = 1; at <= calls; at++) {
            killed_at(at, commit, false);
            killed_at(at, commit, true);
        }
    }
}

static void failed_at(long at, int error, bool commit, bool half)
{
    fresh();
    *plan = (struct plan){.at = at, .error = error, .half = half, .only = -1};
    work(commit);
    check();
}

static void a_failure_of_every_call_leaves_all_or_nothing(void **state)
{
    (void)state;
    static const int errors[] = {ENOSPC, EIO, EDQUOT};
    for (int commit = 0; commit < 2; commit++) {
        long calls = count_calls(commit);
        for (long at = 1; at <= calls; at++) {
            for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
                failed_at(at, errors[i], commit, false);
            }
            failed_at(at, ENOSPC, commit, true);
        }
    }
}

static void a_full_disk_is_said_with_the_path(void **state)
{
    (void)state;
    fresh();
    *plan = (struct plan){.at = 4, .error = ENOSPC, .only = WRITE};
    struct tc_files *f = open_files(true);
    tc_files_io(f, &faulty);
    struct tc_files_batch *b = begin(f);
    struct tc_digest d;
    tc_status status = TC_OK;
    for (uint64_t i = 1; i < 4 && status == TC_OK; i++) {
        status = tc_files_add_bytes(b, body_of(i, 3000), &d, &err);
    }
    assert_int_equal(status, TC_E_IO);
    assert_non_null(strstr(err.message, test_dir));
    assert_non_null(strstr(err.message, "No space left"));
    tc_files_end(b);
    tc_files_close(f);
}

static int set_up(void **state)
{
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return plan == MAP_FAILED ? -1 : make_dir(state);
}

static int tear_down(void **state)
{
    (void)munmap(plan, sizeof *plan);
    return remove_dir(state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_kill_at_every_call_leaves_all_or_nothing),
        TEST(a_failure_of_every_call_leaves_all_or_nothing),
        TEST(a_full_disk_is_said_with_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
