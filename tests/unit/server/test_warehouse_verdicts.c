/* SPDX-License-Identifier: Apache-2.0 */
/* Each verdict of the outbox is written once, whatever comes while it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "observe/metrics.h"
#include "server/warehouse/verdict_writer.h"
#include "support/warehouse_room.h"
#include "warehouse/verdicts.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

struct place {
    char outbox_dir[256];
    struct tc_outbox *box;
    struct tc_warehouse *warehouse;
    struct tc_verdict_writer *writer;
};

static struct tc_error err;

static void must(tc_status status)
{
    if (status != TC_OK) {
        fail_msg("%s: %s", tc_status_text(status), err.message);
    }
}

static void open_place(struct place *p, struct wh_room *room)
{
    *p = (struct place){0};
    (void)snprintf(p->outbox_dir, sizeof p->outbox_dir, "%s/outbox", room->dir);
    (void)mkdir(p->outbox_dir, 0700);
    struct tc_outbox_config box = {.dir = p->outbox_dir, .is_pulled = true};
    must(tc_outbox_open(&box, NULL, NULL, &p->box, &err));
    must(tc_outbox_start(p->box, &err));
    p->warehouse = wh_open(room, TC_WAREHOUSE_WRITE);
    p->writer = tc_verdict_writer_create(p->box, room->dir);
    assert_non_null(p->writer);
}

static void close_place(struct place *p)
{
    tc_verdict_writer_destroy(p->writer);
    tc_warehouse_close(p->warehouse);
    tc_outbox_close(p->box, 10 * TC_SECOND);
}

/* Verdicts from, ... to - 1, durable afterwards. */
static void put(struct place *p, unsigned from, unsigned to)
{
    struct tc_outbox_stats stats;
    for (unsigned n = from; n < to; n++) {
        char line[256];
        char id[32];
        int len = snprintf(line, sizeof line, "{\"incident_id\":\"inc-%u\"}", n);
        int id_len = snprintf(id, sizeof id, "inc-%u", n);
        struct tc_incident_mark mark = {.key = tc_slice_make(id, (size_t)id_len),
                                        .pattern_id = TC_LIT("1"),
                                        .incident_id = tc_slice_make(id, (size_t)id_len)};
        must(tc_outbox_put(p->box, &mark, tc_slice_make(line, (size_t)len), 0));
    }
    do {
        (void)poll(NULL, 0, 1);
        tc_outbox_stats(p->box, &stats);
    } while (stats.waiting > 0);
}

static void put_unreadable(struct place *p)
{
    struct tc_incident_mark mark = {
        .key = TC_LIT("x"), .pattern_id = TC_LIT("1"), .incident_id = TC_LIT("x")};
    must(tc_outbox_put(p->box, &mark, TC_LIT("{}"), 0));
}

static void write_and_finish(struct place *p, size_t want)
{
    must(tc_verdict_writer_write(p->writer, p->warehouse, &err));
    assert_int_equal(tc_verdict_writer_count(p->writer), want);
    tc_verdict_writer_done(p->writer);
}

static void assert_written(struct place *p, int64_t want)
{
    assert_int_equal(wh_count(p->warehouse, "SELECT count(*) FROM verdict_fact"), want);
    assert_int_equal(
        wh_count(p->warehouse, "SELECT count(DISTINCT verdict_digest) FROM verdict_fact"), want);
}

/* Some of what was pulled is there, so it is pulled again without that: not with what came since,
 * which nobody has looked for. */
static void what_comes_during_the_write_is_for_the_next(void **state)
{
    struct place p;
    open_place(&p, *state);
    put(&p, 0, 5);
    must(tc_verdict_writer_pull(p.writer, &err));
    write_and_finish(&p, 5);
    put(&p, 3, 8); /* two of them are there */
    must(tc_verdict_writer_pull(p.writer, &err));
    assert_int_equal(tc_verdict_writer_count(p.writer), 5);
    put(&p, 0, 3); /* these are there too */
    put(&p, 8, 10);
    write_and_finish(&p, 3);
    assert_written(&p, 8);
    must(tc_verdict_writer_pull(p.writer, &err));
    write_and_finish(&p, 2);
    assert_written(&p, 10);
    must(tc_verdict_writer_pull(p.writer, &err));
    assert_int_equal(tc_verdict_writer_count(p.writer), 0);
    close_place(&p);
}

/* Which verdicts are known is counted past those that are none. */
static void what_cannot_be_read_shifts_nothing(void **state)
{
    struct place p;
    open_place(&p, *state);
    put(&p, 0, 4);
    must(tc_verdict_writer_pull(p.writer, &err));
    write_and_finish(&p, 4);
    put(&p, 0, 1); /* so that there was a second pull before */
    must(tc_verdict_writer_pull(p.writer, &err));
    write_and_finish(&p, 0);
    uint64_t unreadable = tc_counter_value(TC_COUNT_WAREHOUSE_UNREADABLE);
    put(&p, 10, 11);
    put_unreadable(&p);
    put(&p, 1, 3);
    put_unreadable(&p);
    put(&p, 11, 12);
    put(&p, 11, 12);
    put(&p, 3, 4);
    must(tc_verdict_writer_pull(p.writer, &err));
    write_and_finish(&p, 2);
    assert_written(&p, 6);
    assert_int_equal(tc_counter_value(TC_COUNT_WAREHOUSE_UNREADABLE), unreadable + 2);
    close_place(&p);
}

/* Nothing is done with until it is said: what was not comes again, and is not written again. */
static void what_is_not_done_with_comes_again(void **state)
{
    struct place p;
    open_place(&p, *state);
    put(&p, 0, TC_WAREHOUSE_VERDICTS_MAX + 2);
    for (int i = 0; i < 2; i++) {
        must(tc_verdict_writer_pull(p.writer, &err));
        assert_int_equal(tc_verdict_writer_count(p.writer), TC_WAREHOUSE_VERDICTS_MAX);
        must(tc_verdict_writer_write(p.writer, p.warehouse, &err));
        assert_int_equal(tc_verdict_writer_count(p.writer), i == 0 ? TC_WAREHOUSE_VERDICTS_MAX : 0);
    }
    tc_verdict_writer_done(p.writer);
    must(tc_verdict_writer_pull(p.writer, &err));
    write_and_finish(&p, 2);
    assert_written(&p, TC_WAREHOUSE_VERDICTS_MAX + 2);
    close_place(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, wh_setup, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_comes_during_the_write_is_for_the_next),
        TEST(what_cannot_be_read_shifts_nothing),
        TEST(what_is_not_done_with_comes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
