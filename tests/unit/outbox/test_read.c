/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/outbox/outbox_testing.h"

/* What a reading gave. */
struct taken {
    uint64_t numbers[256];
    size_t count;
    size_t most; /* then it fails */
};

static tc_status take(void *context, uint64_t number, struct tc_slice json)
{
    struct taken *t = context;
    assert_true(json.len > 0);
    if (t->most != 0 && t->count == t->most) {
        return TC_E_NOMEM;
    }
    t->numbers[t->count++] = number;
    return TC_OK;
}

static void wait_stored(uint64_t next)
{
    while (tc_outbox_stored(box) < next) {
        (void)usleep(1000);
    }
}

static void assert_read(uint64_t from, size_t bytes, size_t count, bool is_gap)
{
    struct taken t = {0};
    uint64_t next = 0;
    bool gap = false;
    assert_int_equal(tc_outbox_read(box, from, bytes, take, &t, &next, &gap), TC_OK);
    assert_int_equal(t.count, count);
    assert_int_equal(gap, is_gap);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(t.numbers[i], from + i);
    }
    assert_int_equal(next, from + count);
}

static void readers_go_on_where_they_were(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    assert_int_equal(tc_outbox_next(box), 1);
    for (unsigned n = 0; n < 10; n++) {
        assert_int_equal(put_one(box, n, 10), TC_OK);
    }
    assert_int_equal(tc_outbox_next(box), 11);
    wait_stored(11);
    assert_read(1, SIZE_MAX, 10, false);
    assert_read(8, SIZE_MAX, 3, false);
    assert_read(11, SIZE_MAX, 0, false); /* nothing new */
    assert_read(12, SIZE_MAX, 0, true);  /* the log never had that one */
    assert_read(1, 1, 1, false);         /* one piece at a time */
    struct taken t = {.most = 2};
    uint64_t next = 0;
    bool gap = false;
    assert_int_equal(tc_outbox_read(box, 3, SIZE_MAX, take, &t, &next, &gap), TC_E_NOMEM);
    assert_int_equal(next, 5);
    tc_outbox_close(box, WAIT_LONG);
    /* The next process goes on with the numbers. */
    (void)start_box(&config);
    assert_int_equal(tc_outbox_next(box), 11);
    assert_read(5, SIZE_MAX, 6, false);
    tc_outbox_close(box, WAIT_LONG);
}

static void what_was_compacted_away_is_a_gap(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    struct tc_outbox_stats stats = {0};
    config.compact_bytes = 4096;
    config.file_sync_ns = 1;
    (void)start_box(&config);
    unsigned n = 0;
    while (stats.compactions == 0 && n < 2000) {
        assert_int_equal(put_one(box, n++, 400), TC_OK);
        wait_stored(tc_outbox_next(box));
        tc_outbox_stats(box, &stats);
    }
    assert_true(stats.compactions > 0);
    struct taken t = {0};
    uint64_t next = 0;
    bool gap = false;
    assert_int_equal(tc_outbox_read(box, 1, SIZE_MAX, take, &t, &next, &gap), TC_OK);
    assert_true(gap);
    assert_read(tc_outbox_next(box), SIZE_MAX, 0, false);
    tc_outbox_close(box, WAIT_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(readers_go_on_where_they_were, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(what_was_compacted_away_is_a_gap, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
