/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments are compressed anew with every allocation and every write of ours failing in turn: each
 * becomes an object, as it is if need be, or waits; all batches are there, and nothing is left
 * over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/faulty.h"
#include "unit/evidence/evidence_testing.h"

#define BATCHES 12
#define CALLS_MAX 60

static size_t unfinished(void)
{
    char dir[128];
    size_t count = 0;
    (void)snprintf(dir, sizeof dir, "%s/open", test_dir);
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        count += strstr(e->d_name, ".new") != NULL;
    }
    (void)closedir(d);
    return count;
}

static void expect_all(void)
{
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, BATCHES);
    assert_int_equal(seen.bad, 0);
}

/* The at-th call fails; false when there is none. */
static bool seals_without(enum fault fault, long at, uint64_t *io_hot, uint64_t *io_failed)
{
    struct tc_store_config config = small_config();
    struct tc_store_pause never = {0};
    struct tc_error err = {0};
    config.segment_bytes = 1000;
    config.seals_apart = true;
    assert_int_equal(make_dir(NULL), 0);
    struct tc_store *s = open_store(&config);
    fill(s, BATCHES, 2);
    bool sealed = true;
    *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = at};
    while (sealed) {
        tc_status status = tc_store_seal(s, &never, &sealed, &err);
        assert_true(status == TC_OK || status == TC_E_IO);
        assert_true(status == TC_OK || err.message[0] != '\0');
    }
    bool hit = tc_faulty_plan->hit;
    *tc_faulty_plan = (struct plan){0};
    struct tc_store_stats stats = stats_of(s);
    *io_hot += stats.sealed_hot;
    *io_failed += stats.seal_failures;
    assert_int_equal(stats.kept_batches, BATCHES);
    assert_int_equal(unfinished(), 0);
    expect_all();
    sealed = true;
    while (sealed) {
        assert_int_equal(tc_store_seal(s, &never, &sealed, &err), TC_OK);
    }
    assert_int_equal(stats_of(s).waiting_bytes, 0);
    expect_all();
    tc_store_close(s);
    assert_int_equal(remove_dir(NULL), 0);
    return hit;
}

static void seals_without_memory(void **state)
{
    (void)state;
    uint64_t hot = 0;
    uint64_t failed = 0;
    long at = 0;
    while (seals_without(FAULT_ALLOC, at, &hot, &failed)) {
        at++;
        assert_true(at < CALLS_MAX);
    }
    /* Each time without memory one segment was sealed as it was, and none had to wait. */
    assert_true(at >= 2);
    assert_int_equal(hot, at);
    assert_int_equal(failed, 0);
}

static void seals_without_writes(void **state)
{
    (void)state;
    uint64_t hot = 0;
    uint64_t failed = 0;
    long at = 0;
    while (seals_without(FAULT_WRITE, at, &hot, &failed)) {
        at++;
        assert_true(at < CALLS_MAX);
    }
    assert_true(hot > 0 && failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seals_without_memory),
        cmocka_unit_test(seals_without_writes),
    };
    if (tc_faulty_init() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
