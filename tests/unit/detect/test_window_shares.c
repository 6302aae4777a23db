/* SPDX-License-Identifier: Apache-2.0 */
/* Senders share a window: a full one drops the oldest record of who holds the most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/quota_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "support/assert_text.h"

#include <stdio.h>
#include <stdlib.h>

#define RING_BYTES 16384
#define HONEST 1
#define NOISY 2

struct part {
    struct tc_window_head head;
    struct tc_slice name;
    struct tc_slice node;
    int64_t value;
};

static const struct tc_record_type PART = {
    .size = sizeof(struct part),
    .text_min = 1,
    .texts = {TC_TEXT(struct part, name), TC_TEXT(struct part, node)},
    .keys = {{TC_FIELD(struct part, name)}, {TC_FIELD(struct part, value)}},
    .chain = {TC_FIELD(struct part, node)},
};

struct world {
    struct tc_detector_base base;
    struct tc_window parts;
    struct tc_waiting waiting;
    struct tc_arena arena;
    struct tc_arena scratch;
    char arena_block[256 << 10];
    char scratch_block[8 << 10];
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    tc_arena_init(&w->arena, "window", w->arena_block, sizeof w->arena_block);
    tc_arena_init(&w->scratch, "scratch", w->scratch_block, sizeof w->scratch_block);
    w->base = (struct tc_detector_base){.arena = &w->arena, .scratch = &w->scratch, .scale = 1};
    assert_true(tc__window_open(&w->parts, &w->base, &PART, RING_BYTES, TC_KEPT_ALWAYS));
    assert_true(tc__waiting_init(&w->waiting, &w->arena, &w->parts, 4, NULL));
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

static struct part *add(struct world *w, uint32_t sender, const char *name, const char *node,
                        int64_t value)
{
    struct part part = {.name = tc_slice_cstr(name), .node = tc_slice_cstr(node), .value = value};
    w->base.sender = sender;
    struct part *kept = tc__window_add(&w->parts, &part, value);
    assert_non_null(kept);
    tc__window_index(&w->parts, 1, kept);
    return kept;
}

/* More than three times what the window holds. */
static void flood(struct world *w)
{
    char name[64];
    for (int i = 0; i < 700; i++) {
        (void)snprintf(name, sizeof name, "invented-%d-%.*s", i, i % 30,
                       "------------------------------");
        add(w, NOISY, name, name, 1000 + i);
    }
}

static struct part *by_name(const struct world *w, const char *name)
{
    struct part key = {.name = tc_slice_cstr(name)};
    return tc__window_get(&w->parts, &key);
}

static void a_flood_pushes_out_only_its_own(void **state)
{
    struct world *w = *state;
    uint64_t names[8];
    char name[16];
    for (int i = 0; i < 8; i++) {
        (void)snprintf(name, sizeof name, "real-%d", i);
        names[i] = add(w, HONEST, name, i % 2 == 0 ? "gpu-07" : "gpu-08", i)->head.pos;
    }
    assert_true(tc__waiting_add(&w->waiting, tc__window_at(&w->parts, names[5]), 0));
    flood(w);
    assert_true(w->parts.ring.dropped_count > 400);
    for (int i = 0; i < 8; i++) { /* by key, by another key, and under the name that was noted */
        struct part key = {.value = i};
        (void)snprintf(name, sizeof name, "real-%d", i);
        struct part *part = by_name(w, name);
        assert_non_null(part);
        assert_ptr_equal(part, tc__window_at(&w->parts, names[i]));
        assert_ptr_equal(part, tc__window_get_by(&w->parts, 1, &key));
        assert_int_equal(part->value, i);
        assert_int_equal(part->head.pos, names[i]);
        assert_slice(part->name, name);
        assert_slice(part->node, i % 2 == 0 ? "gpu-07" : "gpu-08");
    }
    assert_ptr_equal(tc__waiting_take(&w->waiting, 1, NULL), tc__window_at(&w->parts, names[5]));
    assert_int_equal(by_name(w, "real-0")->value,
                     ((struct part *)tc__window_first_after(&w->parts, 1))->value);
}

static void chains_stay_in_order(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 5; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "real-%d", i);
        add(w, HONEST, name, "gpu-07", i);
        add(w, NOISY, "x", "elsewhere", 500 + i);
    }
    flood(w);
    add(w, HONEST, "real-5", "gpu-07", 5);
    struct part key = {.node = TC_LIT("gpu-07")};
    struct part *part = tc__window_newest(&w->parts, &key);
    for (int i = 5; i >= 0; i--) {
        assert_non_null(part);
        assert_int_equal(part->value, i);
        part = tc__window_older(&w->parts, part);
    }
    assert_null(part);
}

static void the_newest_of_a_key_stays_the_newest(void **state)
{
    struct world *w = *state;
    add(w, HONEST, "real", "gpu-07", 1);
    flood(w); /* the first one was moved behind it all */
    add(w, HONEST, "real", "gpu-07", 2);
    flood(w);
    assert_int_equal(by_name(w, "real")->value, 2);
}

static void who_is_alone_has_all_of_it(void **state)
{
    struct world *w = *state;
    flood(w);
    uint32_t bytes = 0;
    assert_null(by_name(w, "invented-0-"));
    assert_int_equal(tc__window_presser(&w->parts, &bytes), NOISY);
    assert_true(bytes > RING_BYTES / 4 * 3);
    assert_int_equal(w->parts.share_count, 1);
    assert_int_equal(w->parts.moved.used, 0);
}

static void a_copy_made_later_is_its_owners(void **state)
{
    struct world *w = *state;
    struct part copy = *add(w, HONEST, "real", "gpu-07", 1);
    flood(w);
    w->base.sender = 0; /* time passes */
    copy = *by_name(w, "real");
    copy.value = 2;
    assert_non_null(tc__window_add(&w->parts, &copy, 2));
    flood(w);
    assert_int_equal(by_name(w, "real")->value, 2);
}

static void a_table_that_is_full_gives_up_what_crowds_it(void **state)
{
    struct world *w = *state;
    uint64_t names[6];
    names[0] = add(w, HONEST, "real-0", "", 0)->head.pos;
    for (int i = 1; i < 5; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "invented-%d", i);
        names[i] = add(w, NOISY, name, "", i)->head.pos;
    }
    names[5] = add(w, HONEST, "real-1", "", 5)->head.pos;
    assert_int_equal(tc__window_crowder(&w->parts, names, 6), 1);
    names[3] = TC_RING_NONE;
    assert_int_equal(tc__window_crowder(&w->parts, names, 6), 3);
}

static void who_filled_a_table_makes_no_more_when_others_came(void **state)
{
    (void)state;
    static struct tc_quota q;
    tc__quota_reset(&q);
    for (size_t i = 0; i < 100; i++) {
        assert_true(tc__quota_admits(&q, NOISY, i, 100));
        tc__quota_take(&q, NOISY);
    }
    assert_true(tc__quota_admits(&q, HONEST, 80, 100));
    tc__quota_take(&q, HONEST);
    assert_true(tc__quota_admits(&q, NOISY, 74, 100));
    assert_false(tc__quota_refused(&q));
    assert_false(tc__quota_admits(&q, NOISY, 75, 100));
    assert_true(tc__quota_admits(&q, HONEST, 99, 100));
    assert_true(tc__quota_refused(&q));
    assert_false(tc__quota_refused(&q));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_flood_pushes_out_only_its_own),
        TEST(chains_stay_in_order),
        TEST(the_newest_of_a_key_stays_the_newest),
        TEST(who_is_alone_has_all_of_it),
        TEST(a_copy_made_later_is_its_owners),
        TEST(a_table_that_is_full_gives_up_what_crowds_it),
        TEST(who_filled_a_table_makes_no_more_when_others_came),
#undef TEST
    };
    return cmocka_run_group_tests_name("detect_window_shares", tests, NULL, NULL);
}
