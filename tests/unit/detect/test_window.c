/* SPDX-License-Identifier: Apache-2.0 */
/* Windows by a record type, and the records that wait in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "detect/detector.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "support/assert_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING_BYTES 4096

struct part {
    struct tc_window_head head;
    struct tc_slice name;
    struct tc_slice alias;
    struct tc_slice node;
    struct tc_bdf pci;
    int32_t number;
};

enum { BY_NAME, BY_ALIAS };

static const struct tc_record_type PART = {
    .size = sizeof(struct part),
    .text_min = 1,
    .texts = {TC_TEXT(struct part, name), TC_TEXT(struct part, alias), TC_TEXT(struct part, node)},
    .keys = {[BY_NAME] = {TC_FIELD(struct part, name), TC_FIELD(struct part, number),
                          TC_FIELD(struct part, pci)},
             [BY_ALIAS] = {TC_FIELD(struct part, alias)}},
    .chain = {TC_FIELD(struct part, node)},
};

/* A detector with one window, a second long, that notes when time passes. */
struct state {
    struct tc_detector_base base;
    struct tc_window parts;
    struct tc_waiting waiting;
    int64_t advanced_from_ns;
    int64_t ticked_ns;
    char visited[32];
    size_t visited_count;
    bool again;
};

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct state *st = state;
    bool ok = tc__window_open(&st->parts, &st->base, &PART, RING_BYTES, TC_SECOND) &&
              tc__waiting_init(&st->waiting, env->arena, &st->parts, 4, NULL);
    return ok ? TC_OK : TC_E_NOMEM;
}

static tc_status on_advance(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct state *st = state;
    (void)out;
    assert_true(now_ns > st->base.now_ns);
    st->advanced_from_ns = st->base.now_ns;
    return TC_OK;
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct state *st = state;
    (void)out;
    st->ticked_ns = now_ns;
    return TC_OK;
}

static const struct tc_detector DETECTOR = {.state_bytes = sizeof(struct state),
                                            .init = init,
                                            .on_advance = on_advance,
                                            .on_tick = on_tick};

struct world {
    struct state st;
    struct tc_arena arena;
    struct tc_arena scratch;
    char arena_block[64 << 10];
    char scratch_block[8 << 10];
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    tc_arena_init(&w->arena, "window", w->arena_block, sizeof w->arena_block);
    tc_arena_init(&w->scratch, "scratch", w->scratch_block, sizeof w->scratch_block);
    struct tc_detector_env env = {.arena = &w->arena, .scratch = &w->scratch, .lag_ns = 5};
    assert_int_equal(tc_detector_init(&DETECTOR, &w->st, &env), TC_OK);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    tc_arena_fini(&w->arena);
    tc_arena_fini(&w->scratch);
    free(w);
    return 0;
}

static struct part *add(struct world *w, const char *name, const char *node, int32_t number)
{
    struct part p = {.name = tc_slice_cstr(name), .node = tc_slice_cstr(node), .number = number};
    struct part *kept = tc__window_add(&w->st.parts, &p, w->st.base.now_ns);
    assert_non_null(kept);
    return kept;
}

static struct part *get(struct world *w, const char *name, int32_t number)
{
    struct part key = {.name = tc_slice_cstr(name), .number = number};
    return tc__window_get(&w->st.parts, &key);
}

static void a_record_is_found_by_all_fields_of_its_key(void **state)
{
    struct world *w = *state;
    char name[] = "nic";
    struct part *kept = add(w, name, "n1", 3);
    memset(name, 'x', 3); /* the window has its own copy */
    assert_text(kept->name, "nic");
    assert_ptr_equal(get(w, "nic", 3), kept);
    assert_null(get(w, "nic", 4));
    assert_null(get(w, "ni", 3));
    struct part other = {.name = TC_LIT("nic"), .number = 3, .pci = {.bus = 1, .known = true}};
    assert_null(tc__window_get(&w->st.parts, &other));
    assert_ptr_not_equal(tc__window_get_or_add(&w->st.parts, &other, 0), kept);
    assert_ptr_equal(get(w, "nic", 3), kept);
    struct part same = {.name = TC_LIT("nic"), .number = 3};
    assert_ptr_equal(tc__window_get_or_add(&w->st.parts, &same, 0), kept);
}

static void the_newest_of_equal_records_is_found(void **state)
{
    struct world *w = *state;
    struct part *first = add(w, "a", "n1", 1);
    struct part *second = add(w, "a", "n1", 1);
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(get(w, "a", 1), second);
}

static void another_key_leads_to_a_record_once_it_is_indexed(void **state)
{
    struct world *w = *state;
    struct part p = {.name = TC_LIT("eth0"), .alias = TC_LIT("mlx5_0"), .node = TC_LIT("n1")};
    struct part key = {.alias = TC_LIT("mlx5_0")};
    struct part *kept = tc__window_add(&w->st.parts, &p, 0);
    assert_null(tc__window_get_by(&w->st.parts, BY_ALIAS, &key));
    tc__window_index(&w->st.parts, BY_ALIAS, kept);
    assert_ptr_equal(tc__window_get_by(&w->st.parts, BY_ALIAS, &key), kept);
    /* The same text under the other key is another name. */
    assert_null(get(w, "mlx5_0", 0));
}

static void records_with_something_in_common_are_walked_newest_first(void **state)
{
    struct world *w = *state;
    struct part *first = add(w, "a", "n1", 1);
    struct part *other = add(w, "b", "n2", 1);
    struct part *second = add(w, "c", "n1", 1);
    add(w, "d", "", 1);
    struct part key = {.node = TC_LIT("n1")};
    assert_ptr_equal(tc__window_newest(&w->st.parts, &key), second);
    assert_ptr_equal(tc__window_older(&w->st.parts, second), first);
    assert_null(tc__window_older(&w->st.parts, first));
    key.node = TC_LIT("n2");
    assert_ptr_equal(tc__window_newest(&w->st.parts, &key), other);
    key.node = TC_EMPTY; /* not known is nothing in common */
    assert_null(tc__window_newest(&w->st.parts, &key));
}

/* Nodes in turn and one node in a row lead to the same chains, whoever left the ring meanwhile. */
static void chains_hold_what_is_in_the_ring_whatever_the_order(void **state)
{
    static const char *const nodes[] = {"n1", "n1", "n2", "n1", "n2", "n2", "n3", "n3", "n1"};
    struct world *w = *state;
    uint64_t added[1000];
    for (int32_t i = 0; i < 1000; i++) {
        struct part *kept = add(w, "a", nodes[i % 9], i);
        added[i] = kept->head.pos;
        struct part *walked = tc__window_newest(&w->st.parts, kept);
        for (int32_t k = i; k >= 0 && tc__window_at(&w->st.parts, added[k]) != NULL; k--) {
            if (strcmp(nodes[k % 9], nodes[i % 9]) == 0) {
                assert_non_null(walked);
                assert_int_equal(walked->number, k);
                walked = tc__window_older(&w->st.parts, walked);
            }
        }
        assert_null(walked);
    }
}

static void a_record_that_was_looked_for_is_added_at_its_place(void **state)
{
    struct world *w = *state;
    for (int32_t i = 0; i < 1000; i++) {
        struct part p = {.name = TC_LIT("a"), .node = TC_LIT("n1"), .number = i};
        struct tc_window_place place = tc__window_find(&w->st.parts, &p);
        assert_null(place.record);
        struct part *kept = tc__window_add_at(&w->st.parts, &place, &p, 0);
        assert_ptr_equal(get(w, "a", i), kept);
        assert_ptr_equal(tc__window_find(&w->st.parts, &p).record, kept);
        assert_ptr_equal(tc__window_newest(&w->st.parts, &p), kept);
    }
}

/* What lies in the window itself may be the very record that makes room. */
static void a_copy_of_any_record_of_the_window_is_whole(void **state)
{
    struct world *w = *state;
    struct part *kept = add(w, "a name", "a node", 0);
    for (int32_t i = 1; i < 1000; i++) {
        struct part *oldest = tc_ring_at(&w->st.parts.ring, w->st.parts.ring.tail);
        struct part next = *(i % 2 == 0 ? oldest : kept);
        next.number = i;
        kept = tc__window_add(&w->st.parts, i % 3 == 0 ? oldest : &next, 0);
        assert_text(kept->name, "a name");
        assert_text(kept->node, "a node");
        assert_int_equal(kept->alias.len, 0);
    }
}

static void a_record_is_written_over_when_its_strings_stay(void **state)
{
    struct world *w = *state;
    struct part *kept = add(w, "a", "n1", 1);
    struct part next = *kept;
    next.name = TC_LIT("a");
    next.number = 2;
    assert_true(tc__window_update(&w->st.parts, kept, &next, 7));
    assert_int_equal(kept->number, 2);
    assert_int_equal(kept->head.seen_ns, 7);
    next.name = TC_LIT("b");
    assert_false(tc__window_update(&w->st.parts, kept, &next, 8));
    assert_text(kept->name, "a");
}

static void a_full_window_drops_the_oldest_and_counts_them(void **state)
{
    struct world *w = *state;
    struct tc_detector_stats stats;
    int32_t n = 0;
    do {
        assert_true(n == 0 || get(w, "a", 0) != NULL);
        add(w, "a", "", n++);
        tc_detector_stats(&DETECTOR, &w->st, &stats);
    } while (stats.dropped == 0);
    assert_true(n > 10);
    assert_null(get(w, "a", 0));
    for (int32_t i = 0; i < 1000; i++) {
        add(w, "a", "n1", i); /* the index never fills up */
    }
    w->st.base.dropped = 1;
    w->st.base.late = 2;
    w->st.base.ignored = 3;
    tc_detector_stats(&DETECTOR, &w->st, &stats);
    assert_true(stats.dropped > 900);
    assert_int_equal(stats.late, 2);
    assert_int_equal(stats.ignored, 3);
    uint64_t used = 0;
    for (const struct tc_window *each = w->st.base.windows; each != NULL; each = each->next) {
        used += tc_ring_touched(&each->ring) + tc_map_touched(&each->moved) +
                tc_map_touched(&each->index) + tc_map_touched(&each->chains);
    }
    const struct tc_ring *ring = &w->st.parts.ring;
    assert_in_range(tc_ring_touched(ring), ring->size_max - 256, ring->size_max); /* it is full */
    assert_int_equal(stats.window_bytes, used);
}

static void time_passes_once_and_lets_go_of_what_is_old(void **state)
{
    struct world *w = *state;
    struct tc_sink out = {0};
    assert_int_equal(w->st.base.now_ns, TC_TIME_NONE);
    assert_int_equal(w->st.base.lag_ns, 5);
    assert_int_equal(tc_detector_advance(&DETECTOR, &w->st, 10 * TC_SECOND, &out), TC_OK);
    add(w, "a", "n1", 1);
    assert_int_equal(tc_detector_tick(&DETECTOR, &w->st, 11 * TC_SECOND, &out), TC_OK);
    assert_int_equal(w->st.advanced_from_ns, 10 * TC_SECOND);
    assert_int_equal(w->st.ticked_ns, 11 * TC_SECOND);
    assert_int_equal(w->st.base.now_ns, 11 * TC_SECOND);
    assert_non_null(get(w, "a", 1));
    assert_int_equal(tc_detector_advance(&DETECTOR, &w->st, 3 * TC_SECOND, &out), TC_OK);
    assert_int_equal(w->st.base.now_ns, 11 * TC_SECOND);
    assert_int_equal(tc_detector_advance(&DETECTOR, &w->st, 11 * TC_SECOND + 1, &out), TC_OK);
    assert_null(get(w, "a", 1));
    struct tc_detector_stats stats;
    tc_detector_stats(&DETECTOR, &w->st, &stats);
    assert_int_equal(stats.dropped, 0); /* it went in time */
}

/* The oldest record may have been seen again after the next one: that goes when it is the oldest.
 */
static void what_is_behind_the_oldest_goes_in_time_too(void **state)
{
    struct world *w = *state;
    struct tc_sink out = {0};
    for (int32_t round = 0; round < 2; round++) {
        int64_t at_ns = (10 + 10 * round) * TC_SECOND;
        assert_int_equal(tc_detector_advance(&DETECTOR, &w->st, at_ns, &out), TC_OK);
        struct part *first = add(w, "a", "n1", 1);
        first->head.seen_ns = at_ns + 4 * TC_SECOND;
        add(w, "b", "n1", 2);
        at_ns += TC_SECOND + TC_SECOND / 2;
        assert_int_equal(tc_detector_advance(&DETECTOR, &w->st, at_ns, &out), TC_OK);
        assert_non_null(get(w, "b", 2)); /* behind the other */
        for (int32_t i = 0; round > 0 && get(w, "a", 1) != NULL; i++) {
            add(w, "c", "n1", i);
        }
        assert_non_null(get(w, "b", 2));
        assert_int_equal(tc_detector_advance(&DETECTOR, &w->st, at_ns + 1, &out), TC_OK);
        assert_int_equal(get(w, "b", 2) != NULL, round == 0);
        at_ns += 5 * TC_SECOND;
        assert_int_equal(tc_detector_advance(&DETECTOR, &w->st, at_ns, &out), TC_OK);
        assert_null(get(w, "a", 1));
        assert_null(get(w, "b", 2));
    }
}

static void what_waits_is_taken_in_order_when_it_is_due(void **state)
{
    struct world *w = *state;
    struct tc_waiting *q = &w->st.waiting;
    int64_t due_ns = 0;
    for (int round = 0; round < 5; round++) { /* around the end of the ring */
        struct part *a = add(w, "a", "", 1);
        struct part *b = add(w, "b", "", 1);
        struct part *c = add(w, "c", "", 1);
        assert_true(tc__waiting_add(q, a, 10) && tc__waiting_add(q, b, 10));
        assert_true(tc__waiting_add(q, c, 20));
        assert_null(tc__waiting_take(q, 9, NULL));
        assert_ptr_equal(tc__waiting_take(q, 10, NULL), a);
        assert_ptr_equal(tc__waiting_take(q, 10, NULL), b);
        assert_null(tc__waiting_take(q, 10, NULL));
        assert_ptr_equal(tc__waiting_take(q, INT64_MAX, &due_ns), c);
        assert_int_equal(due_ns, 20);
        assert_null(tc__waiting_take(q, INT64_MAX, NULL));
    }
}

static void a_full_queue_refuses_and_forgets_who_has_left(void **state)
{
    struct world *w = *state;
    struct tc_waiting *q = &w->st.waiting;
    for (int32_t i = 0; i < 4; i++) {
        assert_true(tc__waiting_add(q, add(w, "a", "", i), i));
    }
    assert_false(tc__waiting_add(q, add(w, "b", "", 0), 4));
    tc__window_expire(&w->st.parts, INT64_MAX);
    struct part *last = add(w, "c", "", 0);
    assert_true(tc__waiting_add(q, last, 5));
    assert_ptr_equal(tc__waiting_take(q, 5, NULL), last);
}

/* As they leave the window: oldest first, wherever they stand in the queue. */
static void a_full_queue_finds_who_has_left_in_its_middle(void **state)
{
    struct world *w = *state;
    struct tc_waiting *q = &w->st.waiting;
    struct part *parts[4];
    for (int32_t i = 0; i < 4; i++) {
        parts[i] = add(w, "a", "", i);
        parts[i]->head.seen_ns = i;
    }
    const size_t order[] = {3, 0, 2, 1};
    for (size_t i = 0; i < 4; i++) {
        assert_true(tc__waiting_add(q, parts[order[i]], 10));
    }
    struct part *next = add(w, "b", "", 0);
    next->head.seen_ns = 9;
    assert_false(tc__waiting_add(q, next, 10));
    for (int64_t left = 1; left <= 3; left++) {
        tc__window_expire(&w->st.parts, left);
        assert_true(tc__waiting_add(q, next, 10));
        assert_false(tc__waiting_add(q, next, 10));
    }
    assert_ptr_equal(tc__waiting_take(q, 10, NULL), parts[3]);
    assert_ptr_equal(tc__waiting_take(q, 10, NULL), next);
}

static tc_status visit(void *state, void *record, int64_t now_ns, const struct tc_sink *out,
                       int64_t *io_due_ns)
{
    struct state *st = state;
    const struct part *p = record;
    (void)out;
    st->visited[st->visited_count++] = p->name.ptr[0];
    if (st->again) {
        *io_due_ns = now_ns + 5;
    }
    return p->name.ptr[0] == '!' ? TC_E_IO : TC_OK;
}

static bool by_name(const void *a, const void *b)
{
    return tc_slice_cmp(((const struct part *)a)->name, ((const struct part *)b)->name) < 0;
}

static void assert_visits(struct world *w, int64_t now_ns, const char *wanted)
{
    struct tc_sink out = {0};
    w->st.visited_count = 0;
    assert_int_equal(tc__waiting_run(&w->st.waiting, now_ns, visit, &w->st, &out), TC_OK);
    assert_true(
        tc_slice_eq(tc_slice_make(w->st.visited, w->st.visited_count), tc_slice_cstr(wanted)));
}

static void all_are_visited_in_the_callers_order_when_one_is_due(void **state)
{
    struct world *w = *state;
    struct tc_sink out = {0};
    w->st.waiting.before = by_name;
    assert_true(tc__waiting_add(&w->st.waiting, add(w, "b", "", 1), 20));
    assert_true(tc__waiting_add(&w->st.waiting, add(w, "c", "", 1), 30));
    assert_true(tc__waiting_add(&w->st.waiting, add(w, "a", "", 1), 40));
    assert_visits(w, 19, "");
    w->st.again = true;
    assert_visits(w, 20, "abc");
    assert_visits(w, 24, "");
    tc__waiting_hasten(&w->st.waiting, 24);
    assert_visits(w, 24, "abc");
    w->st.again = false;
    assert_visits(w, 29, "abc");
    assert_visits(w, INT64_MAX - 1, "");
    /* One that failed, and all after it, wait on. */
    assert_true(tc__waiting_add(&w->st.waiting, add(w, "!", "", 1), 50));
    assert_true(tc__waiting_add(&w->st.waiting, add(w, "z", "", 1), 50));
    assert_int_equal(tc__waiting_run(&w->st.waiting, 50, visit, &w->st, &out), TC_E_IO);
    assert_int_equal(w->st.waiting.count, 2);
}

/* Records that live for a second come for a long time: nearly all of the block stays untouched. A
 * burst then moves some of them, with their strings. */
static void a_window_uses_as_much_of_its_ring_as_it_holds(void **state)
{
    enum { BLOCK = 4 << 20, LIVE = 40, BURST = 900 };
    struct world *w = *state;
    struct tc_window *parts = &w->st.parts;
    struct tc_arena arena;
    char *block = calloc(1, BLOCK);
    char name[32];
    assert_non_null(block);
    tc_arena_init_zeroed(&arena, "large", block, BLOCK);
    w->st.base.arena = &arena;
    w->st.base.windows = NULL;
    w->st.base.now_ns = TC_SECOND;
    assert_true(tc__window_open(parts, &w->st.base, &PART, 256 << 10, TC_SECOND));
    for (int i = 0; i < 20000; i++) {
        w->st.base.now_ns += TC_SECOND / LIVE;
        tc__window_expire(parts, w->st.base.now_ns - TC_SECOND);
        (void)snprintf(name, sizeof name, "part-%d", i);
        (void)add(w, name, "n1", i);
    }
    assert_int_equal(parts->ring.size, 16 << 10);
    for (int i = 0; i < BURST; i++) {
        (void)snprintf(name, sizeof name, "burst-%d", i);
        (void)add(w, name, i % 2 == 0 ? "n1" : "", i);
    }
    assert_true(parts->ring.size > 64 << 10);
    assert_int_equal(parts->ring.dropped_count, 0);
    for (int i = 0; i < BURST; i++) {
        (void)snprintf(name, sizeof name, "burst-%d", i);
        const struct part *p = get(w, name, i);
        assert_non_null(p);
        assert_true(tc_slice_eq(p->name, tc_slice_cstr(name)));
        assert_true(tc_slice_eq(p->node, tc_slice_cstr(i % 2 == 0 ? "n1" : "")));
    }
    for (int i = 20000 - LIVE; i < 20000; i++) {
        (void)snprintf(name, sizeof name, "part-%d", i);
        const struct part *p = get(w, name, i);
        assert_non_null(p);
        assert_true(tc_slice_eq(p->name, tc_slice_cstr(name)));
        assert_true(p->name.ptr > (const char *)p && p->name.ptr < (const char *)p + 256);
    }
    w->st.base.arena = &w->arena;
    tc_arena_fini(&arena);
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_record_is_found_by_all_fields_of_its_key),
        TEST(the_newest_of_equal_records_is_found),
        TEST(another_key_leads_to_a_record_once_it_is_indexed),
        TEST(records_with_something_in_common_are_walked_newest_first),
        TEST(chains_hold_what_is_in_the_ring_whatever_the_order),
        TEST(a_record_that_was_looked_for_is_added_at_its_place),
        TEST(a_copy_of_any_record_of_the_window_is_whole),
        TEST(a_record_is_written_over_when_its_strings_stay),
        TEST(a_full_window_drops_the_oldest_and_counts_them),
        TEST(time_passes_once_and_lets_go_of_what_is_old),
        TEST(what_is_behind_the_oldest_goes_in_time_too),
        TEST(what_waits_is_taken_in_order_when_it_is_due),
        TEST(a_full_queue_refuses_and_forgets_who_has_left),
        TEST(a_full_queue_finds_who_has_left_in_its_middle),
        TEST(all_are_visited_in_the_callers_order_when_one_is_due),
        TEST(a_window_uses_as_much_of_its_ring_as_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
