/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for a buffer of the pool, and in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/pool.h"

#define MIB ((size_t)1 << 20)
#define BODY ((size_t)64 << 10)
#define COST (BODY + 64)

/* One who waits, and what became of it. */
struct waiter {
    struct tc_pool_claim claim; /* first */
    struct tc_buffer *got;
    unsigned ended; /* in which order; 0: not yet */
};

static unsigned endings;
static unsigned woken;
static bool is_gate_open;

static void ended(struct tc_pool_claim *c, struct tc_buffer *b)
{
    struct waiter *w = (struct waiter *)(void *)c;
    assert_null(c->pool);
    w->got = b;
    w->ended = ++endings;
}

static void wake(void *context)
{
    (void)context;
    woken++;
}

static bool gate(void *context)
{
    (void)context;
    return is_gate_open;
}

static struct tc_pool *pool_of(size_t bytes)
{
    struct tc_pool *p = tc_pool_create(bytes, 4 * MIB);
    assert_non_null(p);
    tc_pool_set_wake(p, wake, NULL);
    endings = 0;
    woken = 0;
    is_gate_open = true;
    return p;
}

/* True: at once. */
static bool claim(struct tc_pool *p, struct waiter *w, size_t bytes, enum tc_claim_kind kind,
                  int64_t now)
{
    *w = (struct waiter){.claim = {.done = ended, .kind = kind}};
    w->got = tc_pool_claim(p, &w->claim, bytes, now, 100);
    return w->got != NULL;
}

static size_t waiting(const struct tc_pool *p)
{
    struct tc_pool_stats s;
    tc_pool_stats(p, &s);
    return s.waiting;
}

/* Bodies that begin leave a quarter free: in 1 MiB there are eleven of 64 KiB. */
static size_t fill(struct tc_pool *p, struct waiter *w, size_t most)
{
    size_t count = 0;
    while (count < most && claim(p, &w[count], BODY, TC_CLAIM_KNOWN, 1)) {
        count++;
    }
    return count;
}

static void first_come_first_served(void **state)
{
    (void)state;
    struct tc_pool *p = pool_of(MIB);
    struct waiter w[20];
    size_t count = fill(p, w, 20);
    assert_int_equal(count, (MIB - MIB / 4) / COST);
    struct waiter *first = &w[count];
    struct waiter small;
    struct waiter last;
    assert_int_equal(waiting(p), 1);
    assert_false(
        claim(p, &small, 1, TC_CLAIM_KNOWN, 1)); /* there would be room, but others are before it */
    assert_false(claim(p, &last, BODY, TC_CLAIM_KNOWN, 2));
    assert_int_equal(tc_pool_waiting_since(p), 1);
    assert_int_equal(woken, 1);
    assert_false(tc_pool_serve(p, 10));
    assert_int_equal(endings, 0);
    tc_buffer_give(w[0].got);
    assert_int_equal(woken, 2);
    assert_false(tc_pool_serve(p, 11));
    assert_int_equal(first->ended, 1);
    assert_int_equal(small.ended, 2);
    assert_int_equal(last.ended, 0);
    tc_buffer_give(w[1].got);
    assert_int_equal(woken, 3);
    tc_buffer_give(w[2].got);
    assert_int_equal(woken, 3); /* it is awake already */
    assert_false(tc_pool_serve(p, 12));
    assert_int_equal(last.ended, 3);
    assert_int_equal(tc_pool_waiting_since(p), 0);
    for (size_t i = 3; i <= count; i++) {
        tc_buffer_give(w[i].got);
    }
    tc_buffer_give(small.got);
    tc_buffer_give(last.got);
    tc_pool_destroy(p);
}

static void who_has_to_come_to_an_end_is_before_those_who_begin(void **state)
{
    (void)state;
    struct tc_pool *p = pool_of(MIB);
    struct waiter w[20];
    struct waiter grows[2];
    struct waiter more;
    size_t count = fill(p, w, 20);
    /* The quarter is theirs, but for the eighth that small buffers have. */
    for (size_t i = 0; i < 2; i++) {
        assert_true(claim(p, &grows[i], BODY, TC_CLAIM_FINISHING, 0));
    }
    assert_false(claim(p, &more, 2 * BODY, TC_CLAIM_FINISHING, 5));
    assert_int_equal(tc_pool_waiting_since(p), 1);
    tc_buffer_give(w[0].got);
    (void)tc_pool_serve(p, 10);
    assert_int_equal(endings, 0); /* not enough for it, and nobody else's now */
    tc_buffer_give(w[1].got);
    tc_buffer_give(w[2].got);
    (void)tc_pool_serve(p, 11);
    assert_int_equal(more.ended, 1);
    assert_int_equal(w[count].ended, 0); /* the quarter is not free */
    assert_int_equal(waiting(p), 1);
    /* The time of who begins ends also behind one who waits to come to an end. */
    struct waiter stuck;
    assert_false(claim(p, &stuck, MIB / 2, TC_CLAIM_FINISHING, 90));
    (void)tc_pool_serve(p, 100);
    assert_int_equal(w[count].ended, 0);
    (void)tc_pool_serve(p, 101);
    assert_int_equal(w[count].ended, 2);
    assert_null(w[count].got);
    tc_pool_cancel(&stuck.claim);
    for (size_t i = 3; i < count; i++) {
        tc_buffer_give(w[i].got);
    }
    for (size_t i = 0; i < 2; i++) {
        tc_buffer_give(grows[i].got);
    }
    tc_buffer_give(more.got);
    tc_pool_destroy(p);
}

static void a_wait_has_an_end(void **state)
{
    (void)state;
    struct tc_pool *p = pool_of(MIB);
    struct waiter a;
    struct waiter b;
    struct tc_buffer *most = tc_pool_take(p, MIB - MIB / 8);
    assert_false(claim(p, &a, BODY, TC_CLAIM_KNOWN, 1000));
    assert_false(claim(p, &b, BODY, TC_CLAIM_KNOWN, 1001));
    assert_int_equal(tc_pool_waiting_since(p), 1000);
    (void)tc_pool_serve(p, 1099);
    assert_int_equal(endings, 0);
    (void)tc_pool_serve(p, 1100);
    assert_int_equal(a.ended, 1);
    assert_null(a.got);
    assert_int_equal(b.ended, 0);
    tc_pool_cancel(&b.claim);
    tc_pool_cancel(&b.claim); /* fine twice */
    assert_int_equal(waiting(p), 0);
    tc_buffer_give(most);
    tc_pool_destroy(p);
}

static void any_of_a_queue_may_leave(void **state)
{
    (void)state;
    struct tc_pool *p = pool_of(MIB);
    for (size_t leaving = 0; leaving < 3; leaving++) {
        struct waiter w[3];
        struct tc_buffer *most = tc_pool_take(p, MIB - MIB / 8);
        for (size_t i = 0; i < 3; i++) {
            assert_false(claim(p, &w[i], BODY, TC_CLAIM_KNOWN, 0));
        }
        tc_pool_cancel(&w[leaving].claim);
        assert_int_equal(waiting(p), 2);
        tc_buffer_give(most);
        (void)tc_pool_serve(p, 1);
        for (size_t i = 0; i < 3; i++) {
            assert_true((w[i].got != NULL) == (i != leaving));
            tc_buffer_give(w[i].got);
        }
        assert_int_equal(waiting(p), 0);
    }
    tc_pool_destroy(p);
}

static void what_never_fits_does_not_wait(void **state)
{
    (void)state;
    struct tc_pool *p = pool_of(MIB);
    struct waiter w;
    assert_false(claim(p, &w, 5 * MIB, TC_CLAIM_KNOWN, 0)); /* no buffer is that large */
    assert_null(w.claim.pool);
    assert_false(claim(p, &w, 2 * MIB, TC_CLAIM_FINISHING, 0)); /* nor the budget */
    assert_null(w.claim.pool);
    struct tc_buffer *most = tc_pool_take(p, MIB - MIB / 8);
    w = (struct waiter){.claim = {.done = ended, .kind = TC_CLAIM_KNOWN}};
    assert_null(tc_pool_claim(p, &w.claim, BODY, 0, 0)); /* nobody is to wait */
    assert_null(w.claim.pool);
    struct tc_pool_stats stats;
    tc_pool_stats(p, &stats);
    assert_int_equal(stats.refused, 3);
    tc_buffer_give(most);
    /* Larger than three quarters: alone it may take them all. */
    assert_true(claim(p, &w, MIB - MIB / 8, TC_CLAIM_KNOWN, 0));
    tc_buffer_give(w.got);
    tc_pool_destroy(p);
}

static void a_closed_gate_lets_nobody_begin(void **state)
{
    (void)state;
    struct tc_pool *p = pool_of(MIB);
    struct waiter begins;
    struct waiter ends;
    tc_pool_set_gate(p, gate, NULL);
    is_gate_open = false;
    assert_false(claim(p, &begins, BODY, TC_CLAIM_KNOWN, 0));
    assert_true(claim(p, &ends, BODY, TC_CLAIM_FINISHING, 0));
    (void)tc_pool_serve(p, 1);
    assert_int_equal(endings, 0);
    is_gate_open = true;
    (void)tc_pool_serve(p, 2);
    assert_non_null(begins.got);
    tc_buffer_give(begins.got);
    tc_buffer_give(ends.got);
    tc_pool_destroy(p);
}

/* Those who only begin bodies have three eighths; the two kinds take turns. */
static void new_ones_do_not_keep_the_others_out(void **state)
{
    (void)state;
    struct tc_pool *p = pool_of(MIB);
    struct waiter fresh[20];
    struct waiter known[20];
    size_t count = 0;
    while (claim(p, &fresh[count], BODY, TC_CLAIM_NEW, 1)) {
        count++;
    }
    assert_int_equal(count, MIB / 8 * 3 / COST);
    size_t others = 0;
    while (claim(p, &known[others], BODY, TC_CLAIM_KNOWN, 2)) {
        others++;
    }
    assert_int_equal(count + others, (MIB - MIB / 4) / COST);
    /* A body of a new connection that is whole counts no more. */
    struct waiter second;
    struct waiter late;
    assert_false(claim(p, &second, BODY, TC_CLAIM_NEW, 3));
    assert_false(claim(p, &late, BODY, TC_CLAIM_KNOWN, 3));
    tc_buffer_set_new(fresh[0].got, false);
    tc_buffer_set_new(fresh[1].got, false);
    tc_buffer_give(known[0].got);
    tc_buffer_give(known[1].got);
    tc_buffer_give(known[2].got);
    (void)tc_pool_serve(p, 10);
    assert_int_equal(endings, 3);
    assert_int_equal(fresh[count].ended + known[others].ended, 1 + 2); /* one of each first */
    tc_buffer_give(fresh[0].got);
    (void)tc_pool_serve(p, 11);
    assert_int_equal(waiting(p), 0);
    for (size_t i = 1; i <= count; i++) {
        tc_buffer_give(fresh[i].got);
    }
    for (size_t i = 3; i <= others; i++) {
        tc_buffer_give(known[i].got);
    }
    tc_buffer_give(second.got);
    tc_buffer_give(late.got);
    tc_pool_destroy(p);
}

static void a_turn_of_the_loop_serves_a_few(void **state)
{
    (void)state;
    struct tc_pool *p = pool_of(8 * MIB);
    struct waiter w[40];
    struct tc_buffer *most = tc_pool_take(p, 4 * MIB);
    struct tc_buffer *rest = tc_pool_take(p, 5 * MIB / 2);
    assert_non_null(rest);
    for (size_t i = 0; i < 40; i++) {
        assert_false(claim(p, &w[i], BODY, TC_CLAIM_KNOWN, 0));
    }
    tc_buffer_give(most);
    tc_buffer_give(rest);
    assert_true(tc_pool_serve(p, 1));
    assert_int_equal(endings, 16);
    assert_true(tc_pool_serve(p, 1));
    assert_false(tc_pool_serve(p, 1));
    assert_int_equal(endings, 40);
    for (size_t i = 0; i < 40; i++) {
        tc_buffer_give(w[i].got);
    }
    tc_pool_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(who_has_to_come_to_an_end_is_before_those_who_begin),
        cmocka_unit_test(a_wait_has_an_end),
        cmocka_unit_test(any_of_a_queue_may_leave),
        cmocka_unit_test(what_never_fits_does_not_wait),
        cmocka_unit_test(a_closed_gate_lets_nobody_begin),
        cmocka_unit_test(new_ones_do_not_keep_the_others_out),
        cmocka_unit_test(a_turn_of_the_loop_serves_a_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
