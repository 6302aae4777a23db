/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/time.h"
#include "support/detect_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define THRESHOLD (300 * TC_SECOND)
#define ATTR "tracecore.alert.nccl_hang."

static int setup(void **state)
{
    *state = tc_harness_create(&tc_detector_nccl_hang, NULL);
    return *state == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event record(const char *group, int64_t seq, int32_t rank, enum tc_nccl_state s)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
    ev.time_ns = T0;
    ev.scope.job = TC_LIT("job");
    ev.scope.rank = rank;
    ev.nccl.group = tc_slice_cstr(group);
    ev.nccl.group_key = tc_nccl_group_key(ev.scope.job, ev.nccl.group, TC_EMPTY);
    ev.nccl.op = TC_LIT("all_reduce");
    ev.nccl.sizes_in = TC_LIT("[[16]]");
    ev.nccl.dtypes_in = TC_LIT("[Float]");
    ev.nccl.seq = seq;
    ev.nccl.state = (uint8_t)s;
    return ev;
}

static void feed(struct tc_harness *h, const char *group, int64_t seq, int32_t rank,
                 enum tc_nccl_state s)
{
    struct tc_event ev = record(group, seq, rank, s);
    tc_harness_feed(h, &ev);
}

static void feed_range(struct tc_harness *h, const char *group, int64_t seq, int32_t from,
                       int32_t to, enum tc_nccl_state s)
{
    for (int32_t rank = from; rank < to; rank++) {
        feed(h, group, seq, rank, s);
    }
}

static void feed_op(struct tc_harness *h, const char *group, int64_t seq, int32_t rank,
                    const char *op, const char *sizes, const char *dtypes)
{
    struct tc_event ev = record(group, seq, rank, TC_NCCL_STARTED);
    ev.nccl.op = tc_slice_cstr(op);
    ev.nccl.sizes_in = tc_slice_cstr(sizes);
    ev.nccl.dtypes_in = tc_slice_cstr(dtypes);
    tc_harness_feed(h, &ev);
}

static void feed_p2p(struct tc_harness *h, const char *group, int64_t seq, int32_t rank,
                     int32_t peer, bool is_send)
{
    struct tc_event ev = record(group, seq, rank, TC_NCCL_SCHEDULED);
    ev.nccl.op = is_send ? TC_LIT("send 0->1") : TC_LIT("recv 1<-0");
    ev.nccl.is_p2p = true;
    ev.nccl.is_send = is_send;
    ev.nccl.peer = peer;
    tc_harness_feed(h, &ev);
}

static void feed_members(struct tc_harness *h, const char *group, const char *ranks)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_GROUP);
    ev.scope.job = TC_LIT("job");
    ev.group.group = tc_slice_cstr(group);
    ev.group.group_key = tc_nccl_group_key(ev.scope.job, ev.group.group, TC_EMPTY);
    ev.group.ranks = tc_slice_cstr(ranks);
    tc_harness_feed(h, &ev);
}

static void feed_dump(struct tc_harness *h, int32_t rank, const char *error)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_DUMP);
    ev.scope.job = TC_LIT("job");
    ev.scope.rank = rank;
    ev.dump.error = tc_slice_cstr(error);
    tc_harness_feed(h, &ev);
}

static const struct tc_attr *find(const struct tc_finding *f, const char *name)
{
    for (size_t i = 0; i < f->attr_count; i++) {
        struct tc_slice key = f->attrs[i].key;
        if (tc_slice_ends(key, tc_slice_cstr(name)) && key.len == strlen(ATTR) + strlen(name)) {
            return &f->attrs[i];
        }
    }
    fail_msg("no attribute %s", name);
    return NULL;
}

static void expect_ranks(const struct tc_finding *f, const char *name, size_t count,
                         const int32_t *ranks)
{
    const struct tc_attr *a = find(f, name);
    assert_int_equal(a->type, TC_ATTR_INTS);
    assert_int_equal(a->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(a->ints[i], ranks[i]);
    }
}

#define EXPECT_RANKS(f, name, ...)                                                \
    expect_ranks((f), (name), sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), \
                 (int32_t[]){__VA_ARGS__})
#define EXPECT_NO_RANKS(f, name) expect_ranks((f), (name), 0, NULL)
#define EXPECT_TEXT(slice, text) assert_true(tc_slice_eq((slice), tc_slice_cstr(text)))

/* Names as in the seeds: positive, negative, ... */
static void positive_all_ranks_stuck_is_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "tp", 7, 0, 4, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    EXPECT_TEXT(f->discriminator, "all_stuck");
    EXPECT_RANKS(f, "waiting_ranks", 0, 1, 2, 3);
    EXPECT_NO_RANKS(f, "culprit_ranks");
    assert_true(f->root);
    assert_int_equal(tc_harness_int(f, ATTR "stall_seconds"), 300);
    assert_int_equal(f->evidence_count, 4);
    tc_harness_conforms(f);
}

static void negative_completed_collective_is_quiet(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "tp", 7, 0, 4, TC_NCCL_COMPLETED);
    tc_harness_tick(h, T0 + 2 * THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
}

static void negative_younger_than_the_threshold_is_quiet(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "tp", 7, 0, 4, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD - 1);
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
}

static void edge_straggler_left_behind_by_all_others_is_the_culprit(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "tp", 7, 0, 3, TC_NCCL_COMPLETED);
    feed(h, "tp", 7, 3, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    EXPECT_TEXT(f->discriminator, "lagging_rank");
    EXPECT_RANKS(f, "culprit_ranks", 3);
}

static void solo_rank_of_a_group_of_one_is_not_a_hang(void **state)
{
    struct tc_harness *h = *state;
    feed(h, "solo", 7, 0, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + 2 * THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
}

static void threshold_configurable(void **state)
{
    (void)state;
    struct tc_harness_options o = {.param = "threshold", .value = 10 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_nccl_hang, &o);
    feed_range(h, "tp", 7, 0, 2, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + 10 * TC_SECOND - 1);
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_tick(h, T0 + 10 * TC_SECOND);
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
}

static void deterministic_order_whatever_the_arrival(void **state)
{
    struct tc_harness *h = *state;
    char first[8192];
    size_t first_len = 0;
    for (int round = 0; round < 20; round++) {
        struct tc_harness *g = tc_harness_create(&tc_detector_nccl_hang, NULL);
        int32_t order[16];
        for (int32_t i = 0; i < 16; i++) {
            order[i] = i;
        }
        srand((unsigned)round);
        for (int i = 15; i > 0 && round > 0; i--) {
            int j = rand() % (i + 1);
            int32_t t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
        for (int i = 0; i < 16; i++) {
            feed(g, order[i] < 8 ? "a" : "b", 5, order[i] % 8, TC_NCCL_STARTED);
        }
        tc_harness_tick(g, T0 + THRESHOLD);
        struct tc_slice text = tc_harness_dump(g);
        assert_true(text.len < sizeof first);
        if (round == 0) {
            memcpy(first, text.ptr, text.len);
            first_len = text.len;
            assert_int_equal(tc_harness_count(g), 2);
        } else {
            /* The two groups may be said in either order: which is said first follows arrival
             * only where nothing else decides, and the engine sorts events canonically. */
            assert_int_equal(text.len, first_len);
        }
        tc_harness_destroy(g);
    }
    (void)h;
}

static void cross_collective_hangs_apart_are_two_verdicts(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "tp", 5, 0, 2, TC_NCCL_STARTED);
    feed_range(h, "tp", 6, 0, 2, TC_NCCL_COMPLETED);
    feed_range(h, "tp", 7, 0, 2, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), ATTR "seq"), 5);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 1), ATTR "seq"), 7);
    assert_true(tc_harness_finding(h, 0)->root);
    assert_int_equal(tc_harness_finding(h, 1)->cause_count, 1);
}

static void adjacent_collectives_are_one_verdict_with_a_queue(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t seq = 5; seq < 9; seq++) {
        feed_range(h, "tp", seq, 0, 2, TC_NCCL_SCHEDULED);
    }
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), ATTR "seq"), 5);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), ATTR "queued_collectives"), 3);
}

static void later_completed_supersedes_and_resolves(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "tp", 7, 0, 2, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, "tp", 7, 0, TC_NCCL_COMPLETED);
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, "tp", 7, 1, TC_NCCL_COMPLETED);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    assert_true(f->resolved);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    tc_harness_conforms(f);
}

static void completed_before_a_late_started_stays_completed(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "tp", 7, 0, 2, TC_NCCL_COMPLETED);
    feed_range(h, "tp", 7, 0, 2, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + 2 * THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
}

static void member_that_never_came_is_missing(void **state)
{
    struct tc_harness *h = *state;
    feed_members(h, "tp", "[0, 1, 2, 3]");
    feed_range(h, "tp", 6, 0, 4, TC_NCCL_COMPLETED);
    feed_range(h, "tp", 7, 0, 3, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    EXPECT_TEXT(f->discriminator, "missing_rank");
    EXPECT_RANKS(f, "culprit_ranks", 3);
    EXPECT_RANKS(f, "waiting_ranks", 0, 1, 2);
    assert_int_equal(f->scope.rank, 3);
    tc_harness_conforms(f);
}

static void other_call_under_the_same_id_blames_the_minority(void **state)
{
    struct tc_harness *h = *state;
    feed_op(h, "tp", 7, 0, "all_reduce", "[[16]]", "[Float]");
    feed_op(h, "tp", 7, 1, "all_reduce", "[[16]]", "[Float]");
    feed_op(h, "tp", 7, 2, "_all_gather_base", "[[16]]", "[Float]");
    tc_harness_tick(h, T0 + THRESHOLD);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    EXPECT_TEXT(f->discriminator, "op_mismatch");
    EXPECT_RANKS(f, "culprit_ranks", 2);
    EXPECT_RANKS(f, "waiting_ranks", 0, 1);
}

static void other_size_and_other_type_blame_the_minority(void **state)
{
    struct tc_harness *h = *state;
    feed_op(h, "a", 7, 0, "all_reduce", "[[16]]", "[Float]");
    feed_op(h, "a", 7, 1, "all_reduce", "[[32]]", "[Float]");
    feed_op(h, "a", 7, 2, "all_reduce", "[[16]]", "[Float]");
    feed_op(h, "b", 7, 10, "all_reduce", "[[16]]", "[Float]");
    feed_op(h, "b", 7, 11, "all_reduce", "[[16]]", "[Half]");
    feed_op(h, "b", 7, 12, "all_reduce", "[[16]]", "[Float]");
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    EXPECT_TEXT(tc_harness_finding(h, 0)->discriminator, "size_mismatch");
    EXPECT_RANKS(tc_harness_finding(h, 0), "culprit_ranks", 1);
    EXPECT_TEXT(tc_harness_finding(h, 1)->discriminator, "dtype_mismatch");
    EXPECT_RANKS(tc_harness_finding(h, 1), "culprit_ranks", 11);
}

static void sizes_of_all_to_all_differ_by_design(void **state)
{
    struct tc_harness *h = *state;
    feed_op(h, "ep", 7, 0, "all_to_all", "[[16]]", "[Float]");
    feed_op(h, "ep", 7, 1, "all_to_all", "[[32]]", "[Float]");
    feed_op(h, "ep", 7, 2, "all_to_all", "[[16]]", "[Float]");
    tc_harness_tick(h, T0 + THRESHOLD);
    EXPECT_TEXT(tc_harness_finding(h, 0)->discriminator, "all_stuck");
}

static void tie_between_two_calls_names_both(void **state)
{
    struct tc_harness *h = *state;
    feed_op(h, "tp", 7, 0, "all_reduce", "[[16]]", "[Float]");
    feed_op(h, "tp", 7, 1, "broadcast", "[[16]]", "[Float]");
    tc_harness_tick(h, T0 + THRESHOLD);
    EXPECT_RANKS(tc_harness_finding(h, 0), "culprit_ranks", 0, 1);
}

static void rank_whose_oldest_is_older_than_its_peers_lags(void **state)
{
    struct tc_harness *h = *state;
    feed_members(h, "tp", "[0, 1]");
    for (int64_t seq = 5; seq < 10; seq++) {
        feed(h, "tp", seq, 0, TC_NCCL_SCHEDULED);
    }
    feed(h, "tp", 8, 1, TC_NCCL_SCHEDULED);
    feed(h, "tp", 9, 1, TC_NCCL_SCHEDULED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    EXPECT_TEXT(f->discriminator, "lagging_rank");
    EXPECT_RANKS(f, "culprit_ranks", 0);
    EXPECT_RANKS(f, "waiting_ranks", 1);
    assert_int_equal(tc_harness_int(f, ATTR "seq"), 8);
}

static void being_behind_in_a_broadcast_proves_nothing_while_one_waits(void **state)
{
    /* Rank 1 is behind in a broadcast because it waits in another group for rank 2. */
    struct tc_harness *h = *state;
    feed_members(h, "tp", "[0, 1]");
    feed_members(h, "dp", "[1, 2]");
    feed_op(h, "tp", 5, 1, "broadcast", "[[16]]", "[Float]");
    feed_op(h, "tp", 6, 1, "all_reduce", "[[16]]", "[Float]");
    feed_op(h, "tp", 6, 0, "all_reduce", "[[16]]", "[Float]");
    feed(h, "dp", 4, 2, TC_NCCL_COMPLETED);
    feed(h, "dp", 5, 1, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    EXPECT_RANKS(tc_harness_finding(h, 0), "culprit_ranks", 2);
    EXPECT_RANKS(tc_harness_finding(h, 1), "culprit_ranks", 2);
}

static void healthy_rank_in_front_of_the_culprit_is_not_blamed(void **state)
{
    /* 0 waits for 1 (pipeline), 1 waits for 2 (tensor), 2 has nothing pending. */
    struct tc_harness *h = *state;
    feed_members(h, "pp", "[0, 1]");
    feed_members(h, "tp", "[1, 2]");
    feed_p2p(h, "pp", 3, 0, 1, false);
    feed(h, "tp", 8, 1, TC_NCCL_COMPLETED);
    feed(h, "tp", 8, 2, TC_NCCL_COMPLETED);
    feed(h, "tp", 9, 1, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *root = tc_harness_finding(h, 0);
    const struct tc_finding *other = tc_harness_finding(h, 1);
    assert_true(root->root);
    EXPECT_TEXT(tc_harness_text(root, ATTR "process_group"), "tp");
    EXPECT_RANKS(root, "culprit_ranks", 2);
    EXPECT_RANKS(other, "culprit_ranks", 2);
    EXPECT_RANKS(other, "blocking_ranks", 1);
    assert_true(tc_slice_eq(other->causes[0].key, root->key));
}

static void second_culprit_that_waits_for_the_first_is_named_too(void **state)
{
    /* 3 stopped first. 1 issued the shared collective, then stopped too: its peer 0, which waits in
     * the same collective, went on to issue the next one of their own group. */
    struct tc_harness *h = *state;
    feed_members(h, "tp", "[0, 1]");
    feed_members(h, "ep", "[0, 1, 2, 3]");
    feed_range(h, "ep", 4, 0, 4, TC_NCCL_COMPLETED);
    feed_range(h, "tp", 4, 0, 2, TC_NCCL_COMPLETED);
    feed_range(h, "ep", 5, 0, 3, TC_NCCL_SCHEDULED);
    feed(h, "tp", 5, 0, TC_NCCL_SCHEDULED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    for (long i = 0; i < 2; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        bool tp = tc_slice_eq(tc_harness_text(f, ATTR "process_group"), TC_LIT("tp"));
        expect_ranks(f, "culprit_ranks", 1, tp ? (int32_t[]){1} : (int32_t[]){3});
    }
}

static void ranks_that_wait_for_each_other_are_both_named(void **state)
{
    struct tc_harness *h = *state;
    feed_members(h, "a", "[0, 1]");
    feed_members(h, "b", "[0, 1]");
    feed_range(h, "a", 1, 0, 2, TC_NCCL_COMPLETED);
    feed_range(h, "b", 1, 0, 2, TC_NCCL_COMPLETED);
    feed(h, "a", 2, 0, TC_NCCL_STARTED);
    feed(h, "b", 2, 1, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    int32_t seen = 0;
    for (long i = 0; i < 2; i++) {
        const struct tc_attr *a = find(tc_harness_finding(h, i), "culprit_ranks");
        for (size_t k = 0; k < a->count; k++) {
            seen |= 1 << a->ints[k];
        }
    }
    assert_int_equal(seen, 3);
}

static void torn_dump_is_not_blamed_where_another_rank_explains_the_wait(void **state)
{
    struct tc_harness *h = *state;
    feed_members(h, "tp", "[0, 1, 2, 3]");
    feed_dump(h, 0, "");
    feed_dump(h, 1, "");
    feed_dump(h, 2, "ends inside an entry");
    feed_dump(h, 3, "");
    feed_range(h, "tp", 7, 0, 2, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    EXPECT_RANKS(f, "culprit_ranks", 3);
    EXPECT_RANKS(f, "unreadable_ranks", 2);
}

static void torn_dump_is_blamed_where_nothing_else_explains_the_wait(void **state)
{
    struct tc_harness *h = *state;
    feed_members(h, "tp", "[0, 1, 2]");
    feed_dump(h, 0, "");
    feed_dump(h, 1, "");
    feed_dump(h, 2, "ends inside an entry");
    feed_range(h, "tp", 7, 0, 2, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    EXPECT_RANKS(tc_harness_finding(h, 0), "culprit_ranks", 2);
}

static void rank_without_a_dump_is_blamed_unless_most_are_missing(void **state)
{
    struct tc_harness *h = *state;
    feed_members(h, "a", "[0, 1, 2]");
    feed_members(h, "b", "[10, 11, 12, 13, 14]");
    feed_range(h, "a", 7, 0, 2, TC_NCCL_STARTED);
    feed_range(h, "b", 7, 10, 12, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    for (long i = 0; i < 2; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        if (tc_slice_eq(tc_harness_text(f, ATTR "process_group"), TC_LIT("a"))) {
            EXPECT_RANKS(f, "culprit_ranks", 2);
        } else {
            EXPECT_NO_RANKS(f, "culprit_ranks");
            EXPECT_RANKS(f, "absent_ranks", 12, 13, 14);
            assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
        }
    }
}

static void lost_completion_of_a_rank_that_went_on_is_quiet(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "tp", 7, 0, 3, TC_NCCL_COMPLETED);
    feed(h, "tp", 7, 3, TC_NCCL_STARTED);
    feed_range(h, "tp", 8, 0, 4, TC_NCCL_COMPLETED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 0);
}

static void lost_completion_ends_when_the_rank_is_seen_to_have_gone_on(void **state)
{
    struct tc_harness *h = *state;
    feed(h, "tp", 5, 0, TC_NCCL_COMPLETED);
    feed(h, "tp", 5, 1, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    EXPECT_TEXT(tc_harness_finding(h, 0)->discriminator, "lagging_rank");
    struct tc_event ev = record("tp", 6, 1, TC_NCCL_COMPLETED);
    ev.time_ns = T0 + THRESHOLD - 1;
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_count(h), 1);
    ev.nccl.seq = 7;
    ev.time_ns = T0 + THRESHOLD;
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    assert_true(f->resolved);
    EXPECT_TEXT(f->discriminator, "lagging_rank");
}

static void groups_of_one_name_with_other_members_stay_apart(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t rank = 0; rank < 4; rank++) {
        struct tc_event ev = record("tp", 7, rank, TC_NCCL_STARTED);
        ev.nccl.group_key = rank < 2 ? 11 : 22;
        tc_harness_feed(h, &ev);
    }
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
}

static void events_that_say_too_little_are_counted(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = record("tp", 7, -1, TC_NCCL_STARTED);
    tc_harness_feed(h, &ev);
    ev = record("tp", -1, 1, TC_NCCL_STARTED);
    tc_harness_feed(h, &ev);
    ev = record("tp", 7, 1, TC_NCCL_STARTED);
    ev.time_ns = TC_TIME_NONE;
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_stats(h).ignored, 3);
}

static void full_window_drops_the_oldest_and_says_so(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t seq = 0; seq < 200000; seq++) {
        feed(h, "tp", seq, (int32_t)(seq % 2), TC_NCCL_STARTED);
    }
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_true(tc_harness_stats(h).dropped > 0);
    assert_int_equal(tc_harness_count(h), 1);
    assert_true(tc_harness_finding(h, 0)->incomplete);
}

static void full_table_of_groups_starts_anew_and_says_so(void **state)
{
    struct tc_harness *h = *state;
    for (uint64_t i = 1; i < 70000; i++) {
        struct tc_event ev = record("g", 1, 0, TC_NCCL_COMPLETED);
        ev.nccl.group_key = i;
        tc_harness_feed(h, &ev);
    }
    feed_range(h, "tp", 7, 0, 2, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    assert_true(tc_harness_finding(h, 0)->incomplete);
}

static void every_job_has_its_own_culprits_however_many_jobs_hang(void **state)
{
    struct tc_harness *h = *state;
    for (int job = 0; job < 300; job++) {
        char name[16];
        (void)snprintf(name, sizeof name, "job-%d", job);
        for (int32_t rank = 0; rank < 2; rank++) {
            struct tc_event ev = record("tp", 6, rank, TC_NCCL_COMPLETED);
            ev.scope.job = tc_slice_cstr(name);
            ev.nccl.group_key = (uint64_t)job + 1;
            tc_harness_feed(h, &ev);
            ev.nccl.seq = 7;
            ev.nccl.state = TC_NCCL_STARTED;
            if (rank == 0) {
                tc_harness_feed(h, &ev);
            }
        }
    }
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 300);
    for (long i = 0; i < 300; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        EXPECT_RANKS(f, "culprit_ranks", 1);
        assert_true(f->root);
        assert_false(f->incomplete);
    }
}

static void more_culprits_than_bits_are_all_named_where_they_are_waited_for(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t pair = 0; pair < 100; pair++) {
        char name[16];
        (void)snprintf(name, sizeof name, "g%d", pair);
        feed(h, name, 6, 2 * pair, TC_NCCL_COMPLETED);
        feed(h, name, 6, 2 * pair + 1, TC_NCCL_COMPLETED);
        feed(h, name, 7, 2 * pair, TC_NCCL_STARTED);
    }
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 100);
    bool named[200] = {false};
    for (long i = 0; i < 100; i++) {
        const struct tc_attr *a = find(tc_harness_finding(h, i), "culprit_ranks");
        assert_int_equal(a->count, 1);
        assert_int_equal(a->ints[0] % 2, 1);
        named[a->ints[0]] = true;
    }
    for (int32_t rank = 1; rank < 200; rank += 2) {
        assert_true(named[rank]);
    }
}

static void time_of_other_jobs_does_not_age_a_dump(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t rank = 0; rank < 2; rank++) {
        struct tc_event ev = record("tp", 7, rank, TC_NCCL_STARTED);
        ev.nccl.from_dump = true;
        tc_harness_feed(h, &ev);
    }
    tc_harness_tick(h, T0 + 100 * THRESHOLD);
    assert_int_equal(tc_harness_count(h), 1);
    assert_false(tc_harness_has(tc_harness_finding(h, 0), ATTR "stall_seconds"));
}

static void names_from_outside_that_need_escaping_are_not_plain(void **state)
{
    struct tc_harness *h = *state;
    feed_range(h, "t\"p\n", 7, 0, 2, TC_NCCL_STARTED);
    feed_range(h, "tp", 7, 10, 12, TC_NCCL_STARTED);
    tc_harness_tick(h, T0 + THRESHOLD);
    assert_int_equal(tc_harness_count(h), 2);
    for (long i = 0; i < 2; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        bool odd = !tc_slice_eq(tc_harness_text(f, ATTR "process_group"), TC_LIT("tp"));
        assert_int_equal(f->plain, !odd);
        assert_int_equal(tc_slice_is_plain(f->headline), !odd);
    }
}

/* What the watchdog of PyTorch says of a rank in its log: without a date, and perhaps a call. */
static void feed_logged(struct tc_harness *h, const char *group, int64_t seq, int32_t rank,
                        const char *op)
{
    struct tc_event ev = record(group, seq, rank, TC_NCCL_STARTED);
    ev.time_ns = TC_TIME_UNDATED_MIN + (rank + 1) * 3600 * TC_SECOND;
    ev.nccl.op = tc_slice_cstr(op);
    ev.nccl.sizes_in = TC_EMPTY;
    ev.nccl.dtypes_in = TC_EMPTY;
    ev.nccl.from_dump = true;
    ev.nccl.timed_out = true;
    tc_harness_feed(h, &ev);
}

static void undated_records_are_told_when_the_input_ends(void **state)
{
    struct tc_harness *h = *state;
    for (int with_now = 0; with_now < 2; with_now++) {
        for (int32_t rank = 0; rank < 12; rank++) { /* longer than records are kept */
            feed_logged(h, with_now ? "1" : "0", 22, rank, "all_reduce");
            tc_harness_tick(h, TC_TIME_UNDATED_MIN + (rank + 1) * 3600 * TC_SECOND);
        }
        feed(h, "dated", 1, 0, TC_NCCL_COMPLETED);
        assert_int_equal(tc_harness_count(h), 0);
        tc_harness_finish(h, with_now ? T0 : TC_TIME_NONE);
        const struct tc_finding *f = tc_harness_finding(h, -1);
        EXPECT_TEXT(f->discriminator, "all_stuck");
        assert_int_equal(find(f, "waiting_ranks")->count, 12);
        assert_false(tc_harness_has(f, ATTR "stall_seconds"));
        assert_false(tc_time_is_date(f->last_ns));
        tc_harness_conforms(f);
        tc_harness_clear(h);
    }
}

static void a_rank_that_waits_in_an_unknown_call_is_no_mismatch(void **state)
{
    struct tc_harness *h = *state;
    feed_logged(h, "0", 22, 0, "");
    feed_logged(h, "0", 22, 1, "");
    feed_logged(h, "0", 22, 2, "all_reduce");
    tc_harness_finish(h, TC_TIME_NONE);
    EXPECT_TEXT(tc_harness_finding(h, -1)->discriminator, "all_stuck");
    /* Of those that are known, the majority counts. */
    feed_logged(h, "0", 22, 3, "all_reduce");
    feed_logged(h, "0", 22, 4, "broadcast");
    tc_harness_finish(h, TC_TIME_NONE);
    const struct tc_finding *f = tc_harness_finding(h, -1);
    EXPECT_TEXT(f->discriminator, "op_mismatch");
    EXPECT_RANKS(f, "culprit_ranks", 4);
}

static void a_rank_that_was_only_told_of_the_timeout_is_missing(void **state)
{
    struct tc_harness *h = *state;
    feed_logged(h, "0", 22, 1, "");
    feed_logged(h, "0", 22, 2, "");
    struct tc_event told;
    tc_event_init(&told, TC_EVENT_NCCL_DUMP);
    told.time_ns = -1;
    told.scope.job = TC_LIT("job");
    told.scope.rank = 0;
    tc_harness_feed(h, &told);
    feed_members(h, "0", "[0]");
    tc_harness_finish(h, TC_TIME_NONE);
    const struct tc_finding *f = tc_harness_finding(h, -1);
    EXPECT_TEXT(f->discriminator, "missing_rank");
    EXPECT_RANKS(f, "culprit_ranks", 0);
    EXPECT_TEXT(f->evidence[f->evidence_count - 1].description,
                "rank 0 was told of the timeout, and reports none of its own");
    tc_harness_conforms(f);
    /* It waits there itself. */
    feed_logged(h, "0", 22, 0, "");
    tc_harness_finish(h, TC_TIME_NONE);
    EXPECT_TEXT(tc_harness_finding(h, -1)->discriminator, "all_stuck");
}

static void groups_without_a_name_are_joined_by_their_sequence_alone(void **state)
{
    struct tc_harness *h = *state;
    feed_logged(h, "", 57, 0, "all_reduce");
    feed_logged(h, "", 12, 3, "all_reduce");
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 2);
    for (long i = 0; i < 2; i++) {
        EXPECT_TEXT(tc_harness_finding(h, i)->discriminator, "all_stuck");
        EXPECT_NO_RANKS(tc_harness_finding(h, i), "culprit_ranks");
    }
    tc_harness_clear(h);
    /* Right before it: a rank that joined the last one and not this. */
    feed(h, "", 56, 5, TC_NCCL_COMPLETED);
    tc_harness_finish(h, TC_TIME_NONE);
    bool found = false;
    for (size_t i = 0; i < tc_harness_count(h); i++) {
        const struct tc_finding *f = tc_harness_finding(h, (long)i);
        if (tc_harness_int(f, ATTR "seq") == 57) {
            EXPECT_TEXT(f->discriminator, "missing_rank");
            EXPECT_RANKS(f, "culprit_ranks", 5);
            found = true;
        }
    }
    assert_true(found);
}

static void one_rank_whose_watchdog_speaks_is_enough(void **state)
{
    struct tc_harness *h = *state;
    feed_logged(h, "0", 22, 9, "all_reduce");
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 1);
    EXPECT_TEXT(tc_harness_finding(h, 0)->discriminator, "all_stuck");
}

static void sizes_that_differ_between_two_ends_are_told_once(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NETWORK_FAULT);
    ev.time_ns = T0;
    ev.scope.node = TC_LIT("gpu07");
    ev.fault.fault = TC_LIT("link_down");
    ev.fault.device = TC_LIT("10.0.0.6");
    ev.fault.message = TC_LIT("collective mismatch error, local size 4 remote size 8");
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_count(h), 0);
    ev.fault.fault = TC_LIT("collective_mismatch");
    tc_harness_feed(h, &ev);
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    EXPECT_TEXT(f->discriminator, "size_mismatch");
    EXPECT_TEXT(f->headline, "gpu07 and 10.0.0.6 take part in a collective with different sizes");
    EXPECT_TEXT(f->scope.node, "gpu07");
    tc_harness_conforms(f);
    for (int i = 0; i < 300; i++) {
        char peer[32];
        (void)snprintf(peer, sizeof peer, "peer%d", i);
        ev.fault.device = tc_slice_cstr(peer);
        tc_harness_feed(h, &ev);
    }
    assert_int_equal(tc_harness_count(h), 256); /* as many as are remembered */
    assert_true(tc_harness_stats(h).dropped > 0);
}

static void too_small_a_budget_is_refused_at_start(void **state)
{
    (void)state;
    struct tc_harness_options o = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_nccl_hang, &o);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(positive_all_ranks_stuck_is_one_verdict),
        TEST(undated_records_are_told_when_the_input_ends),
        TEST(a_rank_that_waits_in_an_unknown_call_is_no_mismatch),
        TEST(a_rank_that_was_only_told_of_the_timeout_is_missing),
        TEST(groups_without_a_name_are_joined_by_their_sequence_alone),
        TEST(one_rank_whose_watchdog_speaks_is_enough),
        TEST(sizes_that_differ_between_two_ends_are_told_once),
        TEST(negative_completed_collective_is_quiet),
        TEST(negative_younger_than_the_threshold_is_quiet),
        TEST(edge_straggler_left_behind_by_all_others_is_the_culprit),
        TEST(solo_rank_of_a_group_of_one_is_not_a_hang),
        TEST(threshold_configurable),
        TEST(deterministic_order_whatever_the_arrival),
        TEST(cross_collective_hangs_apart_are_two_verdicts),
        TEST(adjacent_collectives_are_one_verdict_with_a_queue),
        TEST(later_completed_supersedes_and_resolves),
        TEST(completed_before_a_late_started_stays_completed),
        TEST(member_that_never_came_is_missing),
        TEST(other_call_under_the_same_id_blames_the_minority),
        TEST(other_size_and_other_type_blame_the_minority),
        TEST(sizes_of_all_to_all_differ_by_design),
        TEST(tie_between_two_calls_names_both),
        TEST(rank_whose_oldest_is_older_than_its_peers_lags),
        TEST(being_behind_in_a_broadcast_proves_nothing_while_one_waits),
        TEST(healthy_rank_in_front_of_the_culprit_is_not_blamed),
        TEST(second_culprit_that_waits_for_the_first_is_named_too),
        TEST(ranks_that_wait_for_each_other_are_both_named),
        TEST(torn_dump_is_not_blamed_where_another_rank_explains_the_wait),
        TEST(torn_dump_is_blamed_where_nothing_else_explains_the_wait),
        TEST(rank_without_a_dump_is_blamed_unless_most_are_missing),
        TEST(lost_completion_of_a_rank_that_went_on_is_quiet),
        TEST(lost_completion_ends_when_the_rank_is_seen_to_have_gone_on),
        TEST(groups_of_one_name_with_other_members_stay_apart),
        TEST(events_that_say_too_little_are_counted),
        TEST(full_window_drops_the_oldest_and_says_so),
        TEST(full_table_of_groups_starts_anew_and_says_so),
        TEST(every_job_has_its_own_culprits_however_many_jobs_hang),
        TEST(more_culprits_than_bits_are_all_named_where_they_are_waited_for),
        TEST(time_of_other_jobs_does_not_age_a_dump),
        TEST(names_from_outside_that_need_escaping_are_not_plain),
        TEST(too_small_a_budget_is_refused_at_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
