/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table/ring.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEADER 8 /* bytes the ring adds to a record */

static alignas(16) unsigned char block[1 << 16];
static struct tc_arena arena;
static struct tc_ring ring;

static int setup(void **state)
{
    (void)state;
    tc_arena_init(&arena, "ring", block, sizeof block);
    return tc_ring_init(&ring, &arena, 1024) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tc_arena_fini(&arena);
    return 0;
}

static void takes_the_largest_power_of_two_that_fits(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        size_t size;
    } cases[] = {{64, 64}, {127, 64}, {128, 128}, {1023, 512}, {1024, 1024}, {1025, 1024}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_ring r;
        assert_true(tc_ring_init(&r, &arena, cases[i].bytes));
        assert_int_equal(r.size, cases[i].size);
    }
}

static void init_fails_when_the_arena_is_full(void **state)
{
    (void)state;
    struct tc_ring r;
    assert_false(tc_ring_init(&r, &arena, sizeof block * 2));
}

static void a_new_ring_is_empty(void **state)
{
    (void)state;
    uint64_t pos = 77;
    assert_null(tc_ring_oldest(&ring, &pos));
    assert_int_equal(pos, 77);
    assert_null(tc_ring_at(&ring, TC_RING_NONE));
}

static void records_are_zeroed_aligned_and_named(void **state)
{
    (void)state;
    uint64_t last = TC_RING_NONE;
    memset(ring.block, 0xff, ring.size);
    for (size_t len = 0; len < 30; len++) {
        uint64_t pos = 0;
        unsigned char *p = tc_ring_push(&ring, len, &pos);
        assert_non_null(p);
        assert_true(pos > last);
        assert_int_equal((uintptr_t)p % 8, 0);
        for (size_t i = 0; i < len; i++) {
            assert_int_equal(p[i], 0);
        }
        assert_ptr_equal(tc_ring_at(&ring, pos), p);
        last = pos;
    }
}

static void walking_goes_from_oldest_to_newest(void **state)
{
    (void)state;
    uint64_t pos = 0;
    for (int i = 0; i < 10; i++) {
        *(int *)tc_ring_push(&ring, sizeof(int), &pos) = i;
    }
    int want = 0;
    for (int *p = tc_ring_oldest(&ring, &pos); p != NULL; p = tc_ring_next(&ring, pos, &pos)) {
        assert_int_equal(*p, want++);
    }
    assert_int_equal(want, 10);
}

/* The block wraps many times: where a walk stopped, a filler may be written later. */
static void a_walk_goes_on_where_it_stopped(void **state)
{
    (void)state;
    uint64_t pos = 0;
    uint64_t seen = TC_RING_NONE;
    int want = 0;
    for (int i = 0; i < 500; i++) {
        *(int *)tc_ring_push(&ring, i % 3 == 0 ? 100 : 36, &pos) = i;
        if (i % 4 != 0) {
            continue;
        }
        for (int *p = tc_ring_after(&ring, seen, &pos); p != NULL;
             p = tc_ring_next(&ring, pos, &pos)) {
            assert_int_equal(*p, want++);
            seen = pos;
        }
        assert_int_equal(want, i + 1);
    }
    for (int i = 0; i < 100; i++) { /* the one it stopped at leaves the window */
        *(int *)tc_ring_push(&ring, 36, &pos) = 1000 + i;
    }
    assert_ptr_equal(tc_ring_after(&ring, seen, &pos), tc_ring_oldest(&ring, &pos));
    tc_ring_reset(&ring);
    assert_null(tc_ring_after(&ring, seen, &pos));
}

static void a_full_ring_drops_the_oldest_and_counts_it(void **state)
{
    (void)state;
    uint64_t pos = 0;
    uint64_t first = 0;
    assert_non_null(tc_ring_push(&ring, 64 - HEADER, &first));
    for (int i = 0; i < 15; i++) {
        assert_non_null(tc_ring_push(&ring, 64 - HEADER, &pos));
    }
    /* Position 8 is the first: the last of the 16 records of 64 bytes found 56 at the end. */
    assert_int_equal(ring.dropped_count, 1);
    assert_null(tc_ring_at(&ring, first));
    assert_non_null(tc_ring_push(&ring, 64 - HEADER, &pos));
    assert_int_equal(ring.dropped_count, 2);
}

static void popping_is_no_drop_and_makes_the_name_stale(void **state)
{
    (void)state;
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t now = 0;
    assert_non_null(tc_ring_push(&ring, 16, &a));
    assert_non_null(tc_ring_push(&ring, 16, &b));
    tc_ring_pop(&ring);
    assert_int_equal(ring.dropped_count, 0);
    assert_null(tc_ring_at(&ring, a));
    assert_non_null(tc_ring_oldest(&ring, &now));
    assert_int_equal(now, b);
    assert_null(tc_ring_next(&ring, b, &now));
    tc_ring_pop(&ring);
    assert_null(tc_ring_oldest(&ring, &now));
}

static void a_name_of_the_future_is_no_record(void **state)
{
    (void)state;
    uint64_t a = 0;
    assert_non_null(tc_ring_push(&ring, 16, &a));
    assert_null(tc_ring_at(&ring, ring.head));
    assert_null(tc_ring_at(&ring, UINT64_MAX));
}

static void a_record_of_half_the_block_fits_and_a_larger_one_drops_nothing(void **state)
{
    (void)state;
    uint64_t a = 0;
    uint64_t pos = 0;
    size_t most = ring.size / 2 - HEADER;
    assert_non_null(tc_ring_push(&ring, 16, &a));
    assert_null(tc_ring_push(&ring, most + 1, &pos));
    assert_null(tc_ring_push(&ring, SIZE_MAX, &pos));
    assert_int_equal(pos, 0);
    assert_int_equal(ring.dropped_count, 0);
    assert_non_null(tc_ring_at(&ring, a));
    for (int i = 0; i < 10; i++) {
        unsigned char *p = tc_ring_push(&ring, most, &pos);
        assert_non_null(p);
        memset(p, 0xee, most);
        assert_ptr_equal(tc_ring_at(&ring, pos), p);
    }
    assert_true(ring.head - ring.tail <= ring.size);
}

static void an_empty_ring_wraps_too(void **state)
{
    (void)state;
    uint64_t pos = 0;
    uint64_t now = 0;
    /* One record at a time, so that the filler is written while nothing else is there. */
    for (int i = 0; i < 500; i++) {
        int *p = tc_ring_push(&ring, 100, &pos);
        assert_non_null(p);
        *p = i;
        assert_ptr_equal(tc_ring_oldest(&ring, &now), p);
        assert_int_equal(now, pos);
        assert_null(tc_ring_next(&ring, pos, &now));
        tc_ring_pop(&ring);
    }
    assert_int_equal(ring.dropped_count, 0);
}

static void clearing_is_no_drop_and_makes_every_name_stale(void **state)
{
    (void)state;
    uint64_t names[3];
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(tc_ring_push(&ring, 40, &names[i]));
    }
    tc_ring_clear(&ring);
    uint64_t pos = 0;
    assert_null(tc_ring_oldest(&ring, &pos));
    for (size_t i = 0; i < 3; i++) {
        assert_null(tc_ring_at(&ring, names[i]));
    }
    assert_int_equal(ring.dropped_count, 0);
    assert_non_null(tc_ring_push(&ring, 40, &pos));
    assert_true(pos > names[2]);
    assert_ptr_equal(tc_ring_header(&ring, pos), ring.block);
}

static void reset_empties_the_ring_and_old_names_stay_stale(void **state)
{
    (void)state;
    uint64_t names[5];
    uint64_t pos = 0;
    for (size_t i = 0; i < 5; i++) {
        assert_non_null(tc_ring_push(&ring, 24, &names[i]));
    }
    ring.dropped_count = 3;
    tc_ring_reset(&ring);
    assert_int_equal(ring.dropped_count, 0);
    assert_null(tc_ring_oldest(&ring, &pos));
    for (size_t i = 0; i < 5; i++) {
        assert_non_null(tc_ring_push(&ring, 24, &pos));
    }
    for (size_t i = 0; i < 5; i++) {
        assert_null(tc_ring_at(&ring, names[i]));
    }
}

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

#define MODEL_MAX 256

struct model {
    uint64_t pos[MODEL_MAX];
    size_t len[MODEL_MAX];
    unsigned char fill[MODEL_MAX];
    size_t count;
};

static void model_forget(struct model *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_null(tc_ring_at(&ring, m->pos[i]));
    }
    memmove(m->pos, m->pos + n, (m->count - n) * sizeof m->pos[0]);
    memmove(m->len, m->len + n, (m->count - n) * sizeof m->len[0]);
    memmove(m->fill, m->fill + n, (m->count - n));
    m->count -= n;
}

static void model_check(const struct model *m)
{
    uint64_t pos = 0;
    size_t i = 0;
    for (unsigned char *p = tc_ring_oldest(&ring, &pos); p != NULL;
         p = tc_ring_next(&ring, pos, &pos), i++) {
        assert_true(i < m->count);
        assert_int_equal(pos, m->pos[i]);
        assert_ptr_equal(tc_ring_at(&ring, pos), p);
        for (size_t j = 0; j < m->len[i]; j++) {
            assert_int_equal(p[j], m->fill[i]);
        }
    }
    assert_int_equal(i, m->count);
}

static void random_pushes_and_pops_agree_with_a_list(void **state)
{
    (void)state;
    static struct model m;
    uint64_t seed = 42;
    uint64_t pops = 0;
    uint64_t pushes = 0;
    m.count = 0;
    for (int step = 0; step < 20000; step++) {
        if (next_random(&seed) % 3 == 0 && m.count > 0) {
            tc_ring_pop(&ring);
            model_forget(&m, 1);
            pops++;
        } else {
            size_t len = next_random(&seed) % (next_random(&seed) % 8 == 0 ? 505 : 40);
            uint64_t dropped = ring.dropped_count;
            uint64_t pos = 0;
            unsigned char *p = tc_ring_push(&ring, len, &pos);
            assert_non_null(p);
            model_forget(&m, (size_t)(ring.dropped_count - dropped));
            m.pos[m.count] = pos;
            m.len[m.count] = len;
            m.fill[m.count] = (unsigned char)next_random(&seed);
            memset(p, m.fill[m.count], len);
            m.count++;
            pushes++;
        }
        assert_true(ring.tail <= ring.head && ring.head - ring.tail <= ring.size);
        model_check(&m);
    }
    assert_int_equal(pushes, pops + ring.dropped_count + m.count);
    assert_true(ring.dropped_count > 1000);
}

static void a_growing_ring_uses_what_its_records_need(void **state)
{
    (void)state;
    uint64_t pos = 0;
    struct tc_ring_shift shift;
    struct tc_ring r;
    assert_true(tc_ring_init_growing(&r, &arena, 32 << 10));
    assert_int_equal(r.size, 16 << 10);
    assert_int_equal(r.size_max, 32 << 10);
    memset(r.block, 0, r.size_max);
    for (int i = 0; i < 100000; i++) { /* never empty, never many: round and round */
        memset(tc_ring_push(&r, 100, &pos), 0xff, 100);
        if (i >= 100) {
            tc_ring_pop(&r);
        }
    }
    assert_int_equal(r.dropped_count, 0);
    for (size_t i = 16 << 10; i < r.size_max; i++) {
        assert_int_equal(r.block[i], 0);
    }
    assert_true(tc_ring_grow(&r, &shift));
    assert_int_equal(r.size, r.size_max);
    assert_false(tc_ring_grow(&r, &shift));
    tc_ring_clear(&r);
    assert_int_equal(r.size, 16 << 10);
}

/* Bytes that are not as they were before. */
static size_t changed(const struct tc_ring *r, unsigned char before)
{
    size_t count = 0;
    for (size_t i = 0; i < r->size_max; i++) {
        count += r->block[i] != before;
    }
    return count;
}

/* In a ring that holds little, then more than it began with, then little again. */
static void what_was_touched_is_what_was_written(void **state)
{
    (void)state;
    enum { UNTOUCHED = 0xa5, SLACK = 512 }; /* what a filler skips at the end of a round */
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        size_t sparse = 0; /* how often less was touched than is in use */
        struct tc_ring r;
        tc_arena_fini(&arena);
        tc_arena_init(&arena, "ring", block, sizeof block);
        assert_true(tc_ring_init_growing(&r, &arena, 32 << 10));
        memset(r.block, UNTOUCHED, r.size_max);
        assert_int_equal(tc_ring_touched(&r), 0);
        for (int i = 0; i < 800; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            size_t len = 8 + (size_t)(random >> 33) % 300;
            size_t most = i < 300 ? 3000 : i < 600 ? 20000 : 100;
            struct tc_ring_shift shift;
            uint64_t pos = 0;
            while (r.head - r.tail > most) {
                tc_ring_pop(&r);
            }
            while (!tc_ring_has_room(&r, tc_ring_need(len)) && tc_ring_grow(&r, &shift)) {
            }
            memset(tc_ring_push(&r, len, &pos), 1, len);
            size_t count = changed(&r, UNTOUCHED);
            assert_in_range(tc_ring_touched(&r) + HEADER, count, count + SLACK);
            sparse += count + 4096 < r.size;
            if (i == 150 || i == 450 + (int)seed) { /* all of it expires */
                tc_ring_clear(&r);
                assert_in_range(tc_ring_touched(&r) + HEADER, count, count + SLACK);
            }
        }
        assert_true(sparse > 10);
    }
}

/* The same as above in a ring that begins small and grows before it would drop. */
static void a_ring_that_grows_agrees_with_a_list(void **state)
{
    (void)state;
    static struct model m;
    uint64_t seed = 7;
    unsigned grown = 0;
    unsigned moved = 0;
    for (int turn = 0; turn < 200; turn++) {
        tc_ring_clear(&ring);
        m.count = 0;
        ring.dropped_count = 0;
        ring.size_min = 64;
        ring.size = 64;
        ring.limit = ring.head + ring.size;
        for (int step = 0; step < 300; step++) {
            size_t len = next_random(&seed) % 25;
            if (next_random(&seed) % 5 < 2 && m.count > 1) {
                tc_ring_pop(&ring);
                model_forget(&m, 1);
                continue;
            }
            struct tc_ring_shift shift = {0};
            while (!tc_ring_has_room(&ring, tc_ring_need(len)) && tc_ring_grow(&ring, &shift)) {
                grown++;
                moved += shift.from < shift.to;
            }
            uint64_t dropped = ring.dropped_count;
            uint64_t pos = 0;
            unsigned char *p = tc_ring_push(&ring, len, &pos);
            assert_non_null(p);
            assert_true(dropped == ring.dropped_count || ring.size == ring.size_max);
            model_forget(&m, (size_t)(ring.dropped_count - dropped));
            m.pos[m.count] = pos;
            m.len[m.count] = len;
            m.fill[m.count] = (unsigned char)next_random(&seed);
            memset(p, m.fill[m.count], len);
            m.count++;
            model_check(&m);
        }
    }
    assert_true(grown > 400 && moved > 100);
}

/* True when the call ended its process by abort(). */
static bool aborts(void (*call)(void))
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)fclose(stderr);
        call();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void pop_empty(void)
{
    tc_ring_pop(&ring);
}

static void next_of_stale(void)
{
    uint64_t pos = 0;
    (void)tc_ring_next(&ring, ring.head, &pos);
}

static void push_too_much(void)
{
    uint64_t pos = 0;
    for (int i = 0; i < 2; i++) { /* the second does not fit behind the first */
        (void)tc_ring_push_raw(&ring, 1024 / 2, &pos);
    }
}

static void following_a_record_is_walking_on(void **state)
{
    (void)state;
    uint64_t pos = 0;
    for (unsigned i = 0; i < 200; i++) { /* wraps several times, with fillers */
        unsigned char *record = tc_ring_push(&ring, 24 + i % 7 * 8, &pos);
        record[0] = (unsigned char)i;
        uint64_t at = 0;
        uint64_t next = 0;
        void *walked = tc_ring_oldest(&ring, &at);
        uint64_t followed_at = at;
        void *followed = walked;
        while (walked != NULL) {
            followed = tc_ring_follow(&ring, followed, &followed_at);
            walked = tc_ring_next(&ring, at, &next);
            assert_ptr_equal(walked, followed);
            assert_true(walked == NULL || followed_at == next);
            at = next;
        }
        assert_int_equal(followed_at, ring.head);
    }
    assert_true(ring.dropped_count > 0);
}

static void broken_promises_abort(void **state)
{
    (void)state;
    assert_true(aborts(push_too_much));
    assert_true(aborts(pop_empty));
    assert_true(aborts(next_of_stale));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(takes_the_largest_power_of_two_that_fits),
        TEST(init_fails_when_the_arena_is_full),
        TEST(a_new_ring_is_empty),
        TEST(records_are_zeroed_aligned_and_named),
        TEST(walking_goes_from_oldest_to_newest),
        TEST(a_walk_goes_on_where_it_stopped),
        TEST(a_full_ring_drops_the_oldest_and_counts_it),
        TEST(popping_is_no_drop_and_makes_the_name_stale),
        TEST(a_name_of_the_future_is_no_record),
        TEST(a_record_of_half_the_block_fits_and_a_larger_one_drops_nothing),
        TEST(an_empty_ring_wraps_too),
        TEST(clearing_is_no_drop_and_makes_every_name_stale),
        TEST(reset_empties_the_ring_and_old_names_stay_stale),
        TEST(random_pushes_and_pops_agree_with_a_list),
        TEST(a_growing_ring_uses_what_its_records_need),
        TEST(what_was_touched_is_what_was_written),
        TEST(a_ring_that_grows_agrees_with_a_list),
        TEST(following_a_record_is_walking_on),
        TEST(broken_promises_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
