/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that fail, and a process that dies at each of them: what was committed is there, whole and
 * once; what was not is never said to be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/verify.h"
#include "unit/evidence/evidence_testing.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum call { WRITE, SYNC, RENAME, TRUNCATE, CALL_COUNT };

/* Which of the calls, counted together, fails or is the last; shared with children. */
static struct plan {
    long calls;
    long at;    /* from 1; 0: none */
    long until; /* fails from `at` to here */
    int error;  /* 0: the process dies there */
    int only;   /* one kind of call, or -1 */
    bool half;  /* a write that fails or dies does half of its work */
    long by_kind[CALL_COUNT];
    uint64_t acknowledged; /* number of the last batch that was committed */
} * plan;

static bool strikes(enum call kind)
{
    plan->by_kind[kind]++;
    if (plan->only >= 0 && plan->only != (int)kind) {
        return false;
    }
    plan->calls++;
    return plan->at > 0 && plan->calls >= plan->at && plan->calls <= plan->until;
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
                plan->half = false; /* a short write first, then the error */
                plan->until++;
                return n;
            }
        }
        return strike();
    }
    return write(fd, data, len);
}

static int io_sync(int fd)
{
    return strikes(SYNC) ? strike() : fdatasync(fd);
}

static int io_rename(const char *from, const char *to)
{
    return strikes(RENAME) ? strike() : rename(from, to);
}

static int io_truncate(int fd, off_t len)
{
    return strikes(TRUNCATE) ? strike() : ftruncate(fd, len);
}

static struct tc_store_config faulty_config(void)
{
    struct tc_store_config config = small_config();
    config.segment_bytes = 3000;
    config.io = (struct tc_store_io){
        .write = io_write, .sync = io_sync, .rename = io_rename, .truncate = io_truncate};
    return config;
}

/* The work: groups of three, a citation now and then, seals in between. Tells what was committed.
 */
static void work(struct tc_store *s, uint64_t count)
{
    struct tc_error err = {0};
    struct tc_digest digest;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = tc_store_next_number(s);
        tc_status status = TC_OK;
        for (uint64_t k = 0; k < 3 && status == TC_OK; k++) {
            number = tc_store_next_number(s);
            status = append_one(s, number, size_of(number));
        }
        if (i % 4 == 3) {
            struct tc_slice body = body_of(number - 5, size_of(number - 5));
            assert_int_equal(tc_digest_sha256(body, &digest), TC_OK);
            (void)!tc_store_cite(s, number - 5, &digest, &err);
        }
        if (status == TC_OK && tc_store_commit(s, &err) == TC_OK) {
            plan->acknowledged = number;
        }
    }
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

static void again(void)
{
    assert_int_equal(remove_dir(NULL), 0);
    assert_int_equal(make_dir(NULL), 0);
}

/* A child does the work and dies at the n-th call; then another process opens the store. */
static bool dies_at(long at, bool half, int only)
{
    *plan = (struct plan){.at = at, .until = LONG_MAX, .half = half, .only = only};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct tc_store_config config = faulty_config();
        struct tc_store *s = NULL;
        struct tc_error err;
        if (tc_store_open(test_dir, &config, NULL, NULL, &s, &err) != TC_OK) {
            _exit(3);
        }
        work(s, 12);
        tc_store_close(s);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 42 || WEXITSTATUS(status) == 0));
    return WEXITSTATUS(status) == 42;
}

static void take_damage(void *context, const struct tc_verify_finding *f)
{
    (void)context;
    (void)snprintf(said, sizeof said, "%s: offset %llu: %s", f->path, (unsigned long long)f->offset,
                   f->text);
}

/* Every checksum and digest is right, and each batch is found by its number. */
static void expect_sound(const struct seen *seen)
{
    struct tc_verify_sink sink = {.damage = take_damage};
    struct tc_verify_result result;
    struct tc_error err = {0};
    struct tc_evidence *e = open_evidence();
    assert_int_equal(tc_evidence_verify(e, &sink, &result, &err), TC_OK);
    if (result.damaged > 0) {
        fail_msg("%s", said);
    }
    assert_int_equal(result.batches, seen->count);
    for (size_t i = 0; i < seen->count; i++) {
        struct tc_slice body;
        assert_int_equal(tc_evidence_body(e, seen->numbers[i], &body, &err), TC_OK);
    }
    tc_evidence_close(e);
}

static void expect_acknowledged(uint64_t acknowledged)
{
    struct tc_store_config config = small_config();
    config.segment_bytes = 3000;
    struct seen seen = {.sized = true};
    walk_all(&seen, 0); /* as it is now */
    assert_int_equal(seen.bad, 0);
    assert_true(seen.count >= acknowledged);
    struct tc_store *s = open_store(&config);
    assert_int_equal(stats_of(s).damaged, 0);
    assert_true(tc_store_next_number(s) > acknowledged);
    struct seen after = {.sized = true};
    walk_all(&after, 0);
    assert_int_equal(after.bad, 0);
    assert_int_equal(after.count, seen.count);
    assert_true(after.count == 0 || after.numbers[after.count - 1] == after.count);
    fill(s, 10, 2);
    tc_store_close(s);
    struct seen more = {.sized = true};
    walk_all(&more, 0);
    assert_int_equal(more.count, after.count + 10);
    assert_int_equal(more.bad, 0);
    expect_sound(&more);
    assert_null(strstr(said, "anew"));
    assert_null(strstr(said, "quarantine"));
}

static void survives_death_at_every_call(void **state)
{
    (void)state;
    size_t deaths = 0;
    for (int half = 0; half < 2; half++) {
        for (long at = 1; dies_at(at, half == 1, half == 1 ? WRITE : -1); at++) {
            expect_acknowledged(plan->acknowledged);
            deaths++;
            again();
        }
        again();
    }
    assert_true(deaths > 100);
}

/* Dies while it recovers from having died. */
static void survives_death_during_recovery(void **state)
{
    (void)state;
    for (long first = 1; dies_at(first, true, -1); first += 5) {
        uint64_t acknowledged = plan->acknowledged;
        for (long at = 1; at < 12; at++) {
            plan->acknowledged = acknowledged;
            bool died = dies_at(at, true, -1);
            acknowledged = plan->acknowledged > acknowledged ? plan->acknowledged : acknowledged;
            if (!died) {
                break;
            }
        }
        struct seen seen = {.sized = true};
        walk_all(&seen, 0);
        assert_int_equal(seen.bad, 0);
        assert_true(seen.count > 0 || acknowledged == 0);
        assert_true(acknowledged == 0 || seen.numbers[seen.count - 1] >= acknowledged);
        again();
    }
}

/* Every call fails once, or for a while: nothing is acknowledged that is not there. */
static void fails_at_every_call(int error, int only, bool half, long width)
{
    bool struck = true;
    for (long at = 1; struck; at++) {
        *plan = (struct plan){
            .at = at, .until = at + width - 1, .error = error, .only = only, .half = half};
        struct tc_store_config config = faulty_config();
        struct tc_store *s = NULL;
        struct tc_error err = {0};
        uint64_t acknowledged[4096] = {0};
        size_t count = 0;
        if (tc_store_open(test_dir, &config, say, NULL, &s, &err) != TC_OK) {
            assert_int_equal(err.status, TC_E_IO);
            again();
            continue;
        }
        for (uint64_t i = 0; i < 20; i++) {
            uint64_t a = tc_store_next_number(s);
            tc_status status = append_one(s, a, size_of(a));
            uint64_t b = tc_store_next_number(s);
            status = status == TC_OK ? append_one(s, b, size_of(b)) : status;
            if (status == TC_OK && tc_store_commit(s, &err) == TC_OK) {
                acknowledged[count++] = a;
                acknowledged[count++] = b;
            }
        }
        struck = plan->calls >= at;
        struct tc_store_stats stats = stats_of(s);
        assert_int_equal(stats.batches, count);
        assert_true(count >= 40 - 2 * (uint64_t)width - 2);
        /* Read at once, and by the next process. */
        for (int pass = 0; pass < 2; pass++) {
            struct seen seen = {.sized = true};
            walk_all(&seen, 0);
            size_t k = 0;
            for (size_t i = 0; i < seen.count && k < count; i++) {
                k += seen.numbers[i] == acknowledged[k];
            }
            assert_int_equal(k, count);
            assert_int_equal(seen.bad, 0);
            expect_sound(&seen);
            if (pass == 0) {
                tc_store_close(s);
                plan->at = 0;
                s = open_store(&config);
                assert_int_equal(stats_of(s).damaged, 0);
            }
        }
        tc_store_close(s);
        again();
    }
}

static void survives_errors(void **state)
{
    (void)state;
    fails_at_every_call(EIO, -1, false, 1);
    fails_at_every_call(ENOSPC, WRITE, true, 1);
    fails_at_every_call(ENOSPC, WRITE, false, 5);
    fails_at_every_call(EIO, SYNC, false, 3);
    fails_at_every_call(EIO, RENAME, false, 2);
}

static void short_writes_are_finished(void **state)
{
    (void)state;
    *plan = (struct plan){.at = 1, .until = 1, .error = EINTR, .only = WRITE, .half = true};
    struct tc_store_config config = faulty_config();
    struct tc_store *s = open_store(&config);
    work(s, 10);
    tc_store_close(s);
    assert_int_equal(plan->acknowledged, 30);
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 30);
}

/* After a sync that failed, that file is written no more. */
static void a_failed_sync_ends_the_segment(void **state)
{
    (void)state;
    char before[256];
    char after[256];
    struct tc_store_config config = faulty_config();
    config.segment_bytes = 1 << 20;
    *plan = (struct plan){.only = SYNC, .error = EIO};
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    fill(s, 3, 1);
    segment_path(before, sizeof before);
    uint64_t durable = file_size(before);
    plan->at = plan->calls + 1;
    plan->until = plan->at;
    assert_int_equal(append_one(s, 4, 500), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "sync"));
    assert_int_equal(stats_of(s).commit_failures, 1);
    assert_int_equal(file_size(before), durable);
    assert_int_equal(append_one(s, 5, 231), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    segment_path(after, sizeof after); /* the old one is an object now */
    assert_string_not_equal(before, after);
    assert_int_equal(stats_of(s).sealed, 1);
    tc_store_close(s);
    struct seen seen = {0};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 4);
    assert_int_equal(seen.numbers[3], 5);
}

static void a_full_disk_is_told_and_ends(void **state)
{
    (void)state;
    struct tc_store_config config = faulty_config();
    *plan = (struct plan){.only = WRITE, .error = ENOSPC, .at = 1, .until = LONG_MAX};
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    for (uint64_t n = 1; n < 5; n++) {
        assert_int_equal(append_one(s, n, 100), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_E_IO);
        assert_true(stats_of(s).full);
        assert_non_null(strstr(err.message, "space"));
    }
    plan->at = 0;
    assert_true(tc_store_has_room(s));
    assert_false(stats_of(s).full);
    assert_int_equal(append_one(s, 5, 100), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    tc_store_close(s);
    struct seen seen = {0};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.numbers[0], 5);
}

static void the_reserve_is_left_free(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    config.reserve_bytes = UINT64_MAX / 2;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    assert_false(tc_store_has_room(s));
    assert_true(stats_of(s).full);
    assert_int_equal(append_one(s, 1, 10), TC_E_IO);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    tc_store_close(s);
    struct seen seen = {0};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 0);
}

/* A group that was half written leaves nothing in what is summed up for sealing. */
static void a_lost_group_leaves_no_trace(void **state)
{
    (void)state;
    struct tc_store_config config = faulty_config();
    config.segment_bytes = 2700;
    *plan = (struct plan){.only = WRITE, .error = EIO};
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    fill(s, 3, 1);
    plan->at = plan->calls + 2; /* the first write of the group is done, the second fails */
    plan->until = LONG_MAX;
    uint64_t number = tc_store_next_number(s);
    tc_status status = append_one(s, number, BODY_MAX);
    status = status == TC_OK ? tc_store_commit(s, &err) : status;
    assert_int_equal(status, TC_E_IO);
    assert_true(plan->calls >= plan->at);
    plan->at = 0;
    fill(s, 2, 1);
    assert_int_equal(stats_of(s).sealed, 1);
    tc_store_close(s);
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 5);
    expect_sound(&seen);
}

/* More batches than the table has entries, a lost group, and more batches. */
static void the_table_of_many_batches_is_right(void **state)
{
    (void)state;
    struct tc_store_config config = faulty_config();
    config.segment_bytes = (size_t)64 << 20;
    config.segment_ns = 9000 * TC_SECOND; /* a batch a second */
    *plan = (struct plan){.only = WRITE, .error = EIO};
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    for (uint64_t n = 1; n <= 9000; n++) {
        assert_int_equal(append_one(s, n, n % 5), TC_OK);
        if (n == 4990 || n == 9000) {
            assert_int_equal(tc_store_commit(s, &err), TC_OK);
        }
        if (n == 5000) {
            plan->at = plan->calls + 1;
            plan->until = plan->at;
            assert_int_equal(tc_store_commit(s, &err), TC_E_IO);
        }
    }
    assert_int_equal(append_one(s, 9001, 1), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    assert_int_equal(stats_of(s).sealed, 1);
    tc_store_close(s);
    struct tc_evidence *e = open_evidence();
    for (uint64_t n = 1; n <= 9001; n++) {
        struct tc_slice body;
        bool lost = n > 4990 && n <= 5000;
        assert_int_equal(tc_evidence_body(e, n, &body, &err), lost ? TC_E_NOTFOUND : TC_OK);
    }
    tc_evidence_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(survives_death_at_every_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_death_during_recovery, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(short_writes_are_finished, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_sync_ends_the_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lost_group_leaves_no_trace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_table_of_many_batches_is_right, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_is_told_and_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_reserve_is_left_free, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
