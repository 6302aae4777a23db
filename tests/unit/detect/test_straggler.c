/* SPDX-License-Identifier: Apache-2.0 */
/* Every event here is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <stdio.h>
#include <string.h>

#define KEY(name) "tracecore.alert.straggler." name
#define START (INT64_C(1767225600) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define MS (TC_SECOND / 1000)
#define RANKS 8

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_straggler, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_slice node_of(int32_t rank)
{
    static const char *const names[] = {"gpu-00", "gpu-01", "gpu-02", "gpu-03"};
    return tc_slice_cstr(names[rank / 4 % 4]);
}

/* A run of collectives: rank `late` enters late_ns after the others, which work for work_ns. */
struct run {
    int32_t ranks;
    int32_t late; /* this one ... */
    int32_t late_to;
    int64_t work_ns;
    int64_t late_ns;
    int64_t count;
    int64_t first_seq;
    int64_t start_ns;
    int64_t skew_ns; /* of the second node's clock */
    bool no_ends;
    bool no_nodes;
    bool from_dump;
    const char *op;
};

static struct run plain(int64_t count, int64_t late_ns)
{
    return (struct run){.ranks = RANKS,
                        .late = 5,
                        .late_to = 5,
                        .work_ns = TC_SECOND,
                        .late_ns = late_ns,
                        .count = count,
                        .first_seq = 100,
                        .start_ns = START,
                        .op = "all_reduce"};
}

static struct tc_event record(const struct run *r, int32_t rank, int64_t seq, int64_t created_ns,
                              int64_t completed_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
    int64_t skew_ns = rank >= 4 ? r->skew_ns : 0;
    ev.time_ns = created_ns + skew_ns;
    ev.scope.node = r->no_nodes ? TC_EMPTY : node_of(rank);
    ev.scope.job = TC_LIT("job-1");
    ev.scope.rank = rank;
    ev.nccl.group = TC_LIT("0");
    ev.nccl.group_key = 7;
    ev.nccl.op = tc_slice_cstr(r->op);
    ev.nccl.seq = seq;
    ev.nccl.completed_ns = r->no_ends ? TC_TIME_NONE : completed_ns + skew_ns;
    ev.nccl.from_dump = r->from_dump;
    ev.nccl.state = r->no_ends ? TC_NCCL_SCHEDULED : TC_NCCL_COMPLETED;
    ev.raw = (struct tc_raw){.source = (uint32_t)rank, .offset = (uint64_t)seq, .length = 90};
    return ev;
}

/* Feeds it and gives the time at which it ended. */
static int64_t feed_run(struct tc_harness *h, const struct run *r)
{
    int64_t at_ns = r->start_ns;
    for (int64_t i = 0; i < r->count; i++) {
        int64_t entry_ns = at_ns + r->work_ns;
        int64_t end_ns = entry_ns + r->late_ns + 10 * MS;
        for (int32_t k = 0; k < r->ranks; k++) {
            bool late = k >= r->late && k <= r->late_to;
            struct tc_event ev =
                record(r, k, r->first_seq + i, entry_ns + (late ? r->late_ns : 0), end_ns);
            tc_harness_feed(h, &ev);
        }
        at_ns = end_ns;
        tc_harness_tick(h, at_ns);
    }
    return at_ns;
}

static void finish(struct tc_harness *h)
{
    tc_harness_finish(h, TC_TIME_NONE);
}

static void a_rank_that_is_late_ten_times_is_named(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(10, 300 * MS);
    (void)feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->pattern_id, "6");
    assert_text(f->key, "job-1|rank|5");
    assert_text(f->discriminator, "slow_host");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_text(f->headline, "Rank 5 on node gpu-01 arrives 300 ms (29 %) later than its peers, in "
                             "10 of the last 10 collectives of group 0");
    assert_says(f->remediation, "On node gpu-01: ");
    assert_text(f->scope.node, "gpu-01");
    assert_text(f->scope.job, "job-1");
    assert_int_equal(f->scope.rank, 5);
    assert_int_equal(f->evidence_count, 4);
    assert_text(f->evidence[0].uid, "collective:job-1/0:100:5");
    assert_int_equal(f->evidence[0].raw.source, 5);
    assert_int_equal(f->evidence[0].raw.offset, 100);
    assert_int_not_equal(f->evidence[1].raw.source, 5);
    assert_int_equal(tc_harness_int(f, KEY("late_ms")), 300);
    assert_int_equal(tc_harness_int(f, KEY("peers_ms")), 1010);
    assert_false(f->resolved);
    assert_false(f->incomplete);
}

static size_t verdicts_of(const struct run *r, const struct tc_harness_options *options)
{
    struct tc_harness *h = tc_harness_create(&tc_detector_straggler, options);
    assert_int_equal(tc_harness_init_status(h), TC_OK);
    (void)feed_run(h, r);
    finish(h);
    size_t count = tc_harness_count(h);
    tc_harness_destroy(h);
    return count;
}

static void nine_times_are_not_enough_and_the_number_is_a_knob(void **state)
{
    (void)state;
    struct run r = plain(9, 300 * MS);
    assert_int_equal(verdicts_of(&r, NULL), 0);
    struct tc_harness_options fewer = {.param = "steps", .value = 9};
    assert_int_equal(verdicts_of(&r, &fewer), 1);
}

static void the_margin_is_more_than_twenty_percent_of_what_peers_need(void **state)
{
    (void)state;
    struct run r = plain(12, 0);
    r.work_ns = 990 * MS; /* with 10 ms of transfer a second */
    r.late_ns = 200 * MS;
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r.late_ns = 200 * MS + 1000;
    assert_int_equal(verdicts_of(&r, NULL), 1);
    struct tc_harness_options wider = {.param = "margin_percent", .value = 50};
    assert_int_equal(verdicts_of(&r, &wider), 0);
}

static void being_late_by_a_few_milliseconds_never_counts(void **state)
{
    (void)state;
    struct run r = plain(400, 0);
    r.work_ns = 2 * MS;
    r.late_ns = 5 * MS;
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r.late_ns = 5 * MS + 1000;
    assert_int_equal(verdicts_of(&r, NULL), 1);
    struct tc_harness_options higher = {.param = "floor_ms", .value = 6};
    assert_int_equal(verdicts_of(&r, &higher), 0);
}

static void a_single_slow_step_is_too_short(void **state)
{
    (void)state;
    struct run r = plain(20, 60 * MS);
    r.work_ns = 80 * MS; /* 20 collectives in 3 s */
    r.count = 20;
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r.count = 25;
    assert_int_equal(verdicts_of(&r, NULL), 1);
    struct tc_harness_options longer = {.param = "span", .value = 10 * TC_SECOND};
    assert_int_equal(verdicts_of(&r, &longer), 0);
}

static void most_of_them_is_eighty_percent(void **state)
{
    (void)state;
    for (int64_t good = 2; good <= 3; good++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_straggler, NULL);
        struct run r = plain(0, 300 * MS);
        for (int64_t block = 0; block < 4; block++) {
            r.count = 10 - good;
            r.late_ns = 300 * MS;
            r.start_ns = feed_run(h, &r);
            r.first_seq += r.count;
            r.count = good;
            r.late_ns = 0;
            r.start_ns = feed_run(h, &r);
            r.first_seq += r.count;
        }
        finish(h);
        assert_int_equal(tc_harness_count(h), good == 2 ? 1 : 0);
        tc_harness_destroy(h);
    }
}

static void clocks_that_differ_change_nothing(void **state)
{
    (void)state;
    struct run r = plain(12, 0);
    r.skew_ns = 900 * MS;
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r.skew_ns = -900 * MS;
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r.late_ns = 300 * MS;
    assert_int_equal(verdicts_of(&r, NULL), 1);
    r.skew_ns = 30 * TC_SECOND;
    assert_int_equal(verdicts_of(&r, NULL), 1);
}

static void arrivals_alone_count_by_one_clock(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(14, 300 * MS);
    r.no_ends = true;
    r.skew_ns = 900 * MS; /* of another node: its ranks are compared with one another */
    assert_int_equal(verdicts_of(&r, NULL), 1);
    r.late_ns = 0;
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r = plain(14, 300 * MS);
    r.no_ends = true;
    r.no_nodes = true;
    r.ranks = 4;
    r.late = r.late_to = 2;
    assert_int_equal(verdicts_of(&r, NULL), 1);
    r.from_dump = true; /* from many hosts, and nobody says which */
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r.from_dump = false;
    r.no_nodes = false;
    (void)feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_text(tc_harness_text(f, KEY("basis")), "arrivals");
    assert_int_equal(f->scope.rank, 2);
}

static void all_ranks_of_a_node_are_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(14, 300 * MS);
    r.ranks = 12;
    r.late = 4;
    r.late_to = 7;
    (void)feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->key, "job-1|node|gpu-01");
    assert_text(f->scope.node, "gpu-01");
    assert_int_equal(f->scope.rank, -1);
    assert_says(f->headline, "Node gpu-01, all 4 ranks, arrives ");
}

static void half_of_the_ranks_are_late_only_as_a_node(void **state)
{
    (void)state;
    struct run r = plain(14, 300 * MS);
    r.late = 2;
    r.late_to = 5;
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r.late = 4;
    r.late_to = 7;
    assert_int_equal(verdicts_of(&r, NULL), 1);
}

static void two_ranks_cannot_be_compared(void **state)
{
    (void)state;
    struct run r = plain(20, 300 * MS);
    r.ranks = 2;
    r.late = r.late_to = 1;
    assert_int_equal(verdicts_of(&r, NULL), 0);
    r.ranks = 3;
    assert_int_equal(verdicts_of(&r, NULL), 1);
}

static void only_collectives_that_all_wait_in_are_compared(void **state)
{
    (void)state;
    static const char *const quiet[] = {"broadcast", "reduce", "gather", "scatter", ""};
    static const char *const loud[] = {"all_reduce",     "allreduce_coalesced",  "_all_gather_base",
                                       "reduce_scatter", "_reduce_scatter_base", "all_to_all",
                                       "barrier"};
    struct run r = plain(12, 300 * MS);
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++) {
        r.op = quiet[i];
        assert_int_equal(verdicts_of(&r, NULL), 0);
    }
    for (size_t i = 0; i < sizeof loud / sizeof loud[0]; i++) {
        r.op = loud[i];
        assert_int_equal(verdicts_of(&r, NULL), 1);
    }
}

static void warm_up_is_excluded(void **state)
{
    (void)state;
    struct run r = plain(11, 300 * MS);
    r.first_seq = 0; /* nine count */
    assert_int_equal(verdicts_of(&r, NULL), 0);
    struct tc_harness_options none = {.param = "warmup", .value = 0};
    assert_int_equal(verdicts_of(&r, &none), 1);
    r.count = 12;
    assert_int_equal(verdicts_of(&r, NULL), 1);
}

static void it_is_told_once_and_resolved_when_it_keeps_up(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(60, 300 * MS);
    r.start_ns = feed_run(h, &r);
    tc_harness_tick(h, r.start_ns + 120 * TC_SECOND);
    assert_int_equal(tc_harness_count(h), 1);
    r.first_seq += r.count;
    r.count = 9;
    r.late_ns = 0;
    r.start_ns = feed_run(h, &r);
    assert_int_equal(tc_harness_count(h), 1);
    r.first_seq += r.count;
    r.count = 30;
    r.start_ns = feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_says(f->headline, "keeps up again");
    r.first_seq += r.count;
    r.late_ns = 300 * MS;
    (void)feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 3); /* under the same key */
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 2)->key));
}

static struct tc_event step_event(int32_t rank, int64_t step, int64_t seconds, double took)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_TRAIN_STEP);
    ev.time_ns = START + seconds * TC_SECOND;
    ev.scope.job = TC_LIT("job-1");
    ev.scope.node = node_of(rank);
    ev.scope.rank = rank;
    ev.train.step = step;
    ev.train.seconds = took;
    return ev;
}

static size_t steps_verdicts(struct tc_harness *h, int64_t first, int64_t count, double slow,
                             const char *phase)
{
    for (int64_t i = 0; i < count; i++) {
        for (int32_t rank = 0; rank < 4; rank++) {
            struct tc_event ev = step_event(rank, first + i, 2 * (first + i), rank == 3 ? slow : 1);
            ev.train.phase = tc_slice_cstr(phase);
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
    return tc_harness_count(h);
}

static void step_times_are_compared_without_collectives(void **state)
{
    struct tc_harness *h = *state;
    assert_int_equal(steps_verdicts(h, 10, 10, 1.3, "train"), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(tc_harness_text(f, KEY("basis")), "steps");
    assert_text(f->headline, "Rank 3 on node gpu-00 takes 1300 ms a step where its peers take 1000 "
                             "ms (30 % longer), in 10 of the last 10 steps");
}

static void step_times_at_the_margin_are_silent(void **state)
{
    assert_int_equal(steps_verdicts(*state, 10, 30, 1.2, ""), 0);
}

static void steps_of_other_phases_are_silent(void **state)
{
    static const char *const phases[] = {"eval", "warmup", "validation"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(steps_verdicts(*state, 100 * (int64_t)i, 30, 2, phases[i]), 0);
    }
}

static void a_missing_phase_does_not_excuse(void **state)
{
    assert_int_equal(steps_verdicts(*state, 10, 10, 2, ""), 1);
}

static void first_steps_are_warm_up(void **state)
{
    assert_int_equal(steps_verdicts(*state, 0, 11, 2, "train"), 0);
}

/* Steps of a job of so many ranks whose second half is `behind` steps later; the last is slow. */
static void many_ranks_lose_nobody(struct tc_harness *h, int32_t ranks, int64_t behind)
{
    for (int64_t i = 0; i < 10 + behind; i++) {
        for (int32_t rank = 0; rank < ranks; rank++) {
            int64_t step = rank < ranks / 2 ? i : i - behind;
            if (step >= 0 && step < 10) {
                struct tc_event ev = step_event(rank, 10 + step, 2 * i, rank == ranks - 1 ? 2 : 1);
                tc_harness_feed(h, &ev);
            }
        }
    }
    finish(h);
    assert_int_equal(tc_harness_stats(h).dropped, 0);
    assert_int_equal(tc_harness_stats(h).late, 0);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->scope.rank, ranks - 1);
    assert_false(tc_harness_finding(h, 0)->incomplete);
    assert_says(tc_harness_finding(h, 0)->headline, "in 10 of the last 10 steps");
}

static void a_step_has_room_for_as_many_ranks_as_come(void **state)
{
    many_ranks_lose_nobody(*state, 1000, 0);
}

static void a_step_that_grew_is_judged_before_the_next(void **state)
{
    many_ranks_lose_nobody(*state, 300, 3);
}

static void a_job_of_ten_thousand_ranks_fits(void **state)
{
    many_ranks_lose_nobody(*state, 10000, 1);
}

static void steps_without_numbers_are_compared_in_rounds(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 12; i++) {
        for (int32_t rank = 0; rank < 4; rank++) {
            struct tc_event ev = step_event(rank, -1, 2 * i, rank == 1 ? 2 : 1);
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->scope.rank, 1);
}

static struct tc_event sample(int32_t rank, int64_t seconds, double took)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = START + seconds * TC_SECOND;
    ev.scope.job = TC_LIT("job-1");
    ev.scope.rank = rank;
    ev.metric.metric = TC_METRIC_STEP_SECONDS;
    ev.metric.value = took;
    return ev;
}

static void a_gauge_that_is_read_twice_in_a_step_counts_once(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 40; i++) { /* 40 scrapes of 15 s, steps of 70 s: eight steps */
        for (int32_t rank = 0; rank < 4; rank++) {
            struct tc_event ev = sample(rank, 15 * i, rank == 1 ? 90 : 70);
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 0);
    for (int64_t i = 40; i < 80; i++) {
        for (int32_t rank = 0; rank < 4; rank++) {
            struct tc_event ev = sample(rank, 15 * i, rank == 1 ? 90 : 70);
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
}

static void step_times_say_nothing_where_collectives_are_known(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(12, 0);
    (void)feed_run(h, &r);
    assert_int_equal(steps_verdicts(h, 20, 30, 2, "train"), 0);
}

static void told_steps_are_what_counts_as_long(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(1, 300 * MS);
    for (int64_t i = 0; i < 12; i++) { /* four collectives a step, three steps */
        r.first_seq = 100 + i;
        r.start_ns = feed_run(h, &r);
        struct tc_event ev = step_event(0, 50 + i / 4, 0, 0);
        ev.time_ns = r.start_ns;
        tc_harness_feed(h, &ev);
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 0);
    for (int64_t i = 12; i < 44; i++) {
        r.first_seq = 100 + i;
        r.start_ns = feed_run(h, &r);
        struct tc_event ev = step_event(0, 50 + i / 4, 0, 0);
        ev.time_ns = r.start_ns;
        tc_harness_feed(h, &ev);
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
}

static struct tc_event checkpoint(int64_t time_ns, const char *what)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_CHECKPOINT);
    ev.time_ns = time_ns;
    ev.scope.job = TC_LIT("job-1");
    ev.scope.rank = 5;
    ev.train.state = tc_slice_cstr(what);
    return ev;
}

static void a_checkpoint_excuses(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(1, 300 * MS);
    for (int64_t i = 0; i < 20; i++) {
        struct tc_event ev = checkpoint(r.start_ns + 900 * MS, "begin");
        tc_harness_feed(h, &ev);
        ev = checkpoint(r.start_ns + 1250 * MS, "end");
        tc_harness_feed(h, &ev);
        r.first_seq = 100 + i;
        r.start_ns = feed_run(h, &r);
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_checkpoint_whose_end_was_lost_excuses_for_ten_minutes(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = checkpoint(START, "begin");
    tc_harness_feed(h, &ev);
    struct run r = plain(20, 300 * MS);
    r.start_ns = feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 0);
    r.start_ns = START + 601 * TC_SECOND;
    r.first_seq += r.count;
    (void)feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_rank_that_waited_for_another_is_not_blamed(void **state)
{
    struct tc_harness *h = *state;
    struct run tp = plain(1, 0);
    for (int64_t i = 0; i < 20; i++) {
        /* Ranks 0 and 1 are a pair of their own; 1 is late there, so 0 is late for 0, 2, 3. */
        int64_t at_ns = START + i * 2 * TC_SECOND;
        int64_t done_ns = at_ns + 1510 * MS;
        for (int32_t rank = 0; rank < 2; rank++) {
            struct tc_event ev =
                record(&tp, rank, 100 + i, at_ns + (rank == 1 ? 1500 * MS : TC_SECOND), done_ns);
            ev.nccl.group_key = 8;
            ev.nccl.group = TC_LIT("tp");
            tc_harness_feed(h, &ev);
        }
        for (int32_t rank = 0; rank < 4; rank++) {
            if (rank == 1) {
                continue;
            }
            struct tc_event ev = record(&tp, rank, 100 + i, rank == 0 ? done_ns : at_ns + TC_SECOND,
                                        done_ns + 10 * MS);
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 0);
}

static void calls_that_are_queued_ahead_are_not_waits(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(1, 0);
    for (int64_t i = 0; i < 30; i++) {
        for (int32_t rank = 0; rank < RANKS; rank++) {
            int64_t end_ns = START + (10 + i) * TC_SECOND;
            int64_t ahead_ns = rank == 0 ? 1200 * MS : 5 * TC_SECOND;
            struct tc_event ev = record(&r, rank, 100 + i, end_ns - ahead_ns, end_ns);
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_pause_changes_nothing(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(12, 0);
    r.start_ns = feed_run(h, &r) + 90 * TC_SECOND; /* nobody does anything for a while */
    r.first_seq += r.count;
    r.late_ns = 300 * MS;
    r.start_ns = feed_run(h, &r) + 90 * TC_SECOND;
    r.first_seq += r.count;
    r.late_ns = 0;
    r.count = 40;
    (void)feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_harness_finding(h, 1)->resolved);
}

static void a_burst_counts_by_its_first(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(1, 0);
    for (int64_t i = 0; i < 40; i++) { /* eight at once, then a second of work */
        for (int64_t k = 0; k < 8; k++) {
            int64_t at_ns = START + i * 1400 * MS + k * 2 * MS;
            int64_t end_ns = START + i * 1400 * MS + 300 * MS + k * 2 * MS + MS;
            for (int32_t rank = 0; rank < 4; rank++) {
                bool late = rank == 2;
                struct tc_event ev =
                    record(&r, rank, 100 + 8 * i + k, at_ns + (late ? 300 * MS : 0), end_ns);
                tc_harness_feed(h, &ev);
            }
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->scope.rank, 2);
}

static void kernel_starts_are_preferred(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(1, 0);
    for (int64_t i = 0; i < 12; i++) {
        int64_t end_ns = START + i * 1500 * MS;
        for (int32_t rank = 0; rank < 4; rank++) {
            struct tc_event ev = record(&r, rank, 100 + i, end_ns - 9 * TC_SECOND, end_ns);
            ev.nccl.started_ns = end_ns - (rank == 3 ? 10 : 410) * MS;
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->scope.rank, 3);
}

static void other_calls_in_one_collective_are_not_compared(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(1, 0);
    for (int64_t i = 0; i < 20; i++) {
        int64_t end_ns = START + i * 1500 * MS;
        for (int32_t rank = 0; rank < 4; rank++) {
            struct tc_event ev =
                record(&r, rank, 100 + i, end_ns - (rank == 3 ? 10 : 410) * MS, end_ns);
            ev.nccl.op = rank == 0 ? TC_LIT("all_gather") : TC_LIT("all_reduce");
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_list_of_members_lets_it_be_told_at_once(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event group;
    tc_event_init(&group, TC_EVENT_NCCL_GROUP);
    group.scope.job = TC_LIT("job-1");
    group.group.group = TC_LIT("0");
    group.group.group_key = 7;
    group.group.ranks = TC_LIT("[0, 1, 2, 3, 4, 5, 6, 7]");
    tc_harness_feed(h, &group);
    struct run r = plain(16, 300 * MS);
    (void)feed_run(h, &r);
    assert_int_equal(tc_harness_count(h), 1); /* with no end of the input, nor a minute to wait */
}

static void a_record_in_parts_is_one_record(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(1, 0);
    for (int64_t i = 0; i < 12; i++) {
        int64_t end_ns = START + i * 1500 * MS;
        for (unsigned part = 0; part < 3; part++) {
            for (int32_t rank = 0; rank < 4; rank++) {
                struct tc_event ev =
                    record(&r, rank, 100 + i, end_ns - (rank == 3 ? 10 : 410) * MS, end_ns);
                ev.nccl.completed_ns = part == 0 ? TC_TIME_NONE : end_ns;
                tc_harness_feed(h, &ev);
            }
        }
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("late_ms")), 400);
}

static struct tc_event transfer(int32_t from, int32_t to, bool send, int64_t start_ns,
                                int64_t end_ns)
{
    struct run r = plain(1, 0);
    struct tc_event ev = record(&r, send ? from : to, 1, start_ns, end_ns);
    ev.nccl.is_p2p = true;
    ev.nccl.is_send = send;
    ev.nccl.peer = send ? to : from;
    ev.nccl.started_ns = start_ns;
    ev.nccl.sizes_in = TC_LIT("[[2048, 5120]]");
    return ev;
}

/* A ring of `ranks`; slow(from, to) milliseconds more. */
static void feed_ring(struct tc_harness *h, int32_t ranks, int64_t rounds, bool both_of_2)
{
    for (int64_t i = 0; i < rounds; i++) {
        for (int32_t from = 0; from < ranks; from++) {
            int32_t to = (from + 1) % ranks;
            bool slow = from == 2 || (both_of_2 && to == 2);
            int64_t at_ns = START + i * TC_SECOND;
            int64_t end_ns = at_ns + 400 * MS + (slow ? 60 : 20) * MS;
            struct tc_event ev = transfer(from, to, true, at_ns, end_ns);
            tc_harness_feed(h, &ev);
            ev = transfer(from, to, false, at_ns + 400 * MS, end_ns);
            tc_harness_feed(h, &ev);
        }
    }
    finish(h);
}

static void a_slow_link_is_named_with_both_ends(void **state)
{
    struct tc_harness *h = *state;
    feed_ring(h, 8, 14, false);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "slow_link");
    assert_text(f->key, "job-1|link|2|3");
    assert_text(f->headline,
                "The link from rank 2 on node gpu-00 to rank 3 on node gpu-00 takes 60 ms a "
                "transfer where its peers take 20 ms (200 % longer), in 10 of the last 10 "
                "transfers of group 0");
    assert_int_equal(f->scope.rank, -1);
}

static void a_rank_all_of_whose_links_are_slow_is_named(void **state)
{
    struct tc_harness *h = *state;
    feed_ring(h, 8, 14, true);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->key, "job-1|links|2");
    assert_int_equal(f->scope.rank, 2);
}

static struct tc_event throttle(int32_t rank, int64_t time_ns, double bits)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = time_ns;
    ev.scope.node = node_of(rank);
    ev.scope.gpu_uuid = TC_LIT("GPU-5");
    ev.scope.gpu_index = 1;
    ev.metric.metric = TC_METRIC_GPU_THROTTLE;
    ev.metric.value = bits;
    return ev;
}

static struct tc_event place(int32_t rank, const char *uuid)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    ev.scope.job = TC_LIT("job-1");
    ev.scope.rank = rank;
    ev.scope.node = node_of(rank);
    ev.scope.gpu_uuid = tc_slice_cstr(uuid);
    return ev;
}

static void a_gpu_that_is_slowed_down_is_blamed(void **state)
{
    static const struct {
        double bits;
        const char *uuid;
        int64_t after_s;
        const char *expected;
    } cases[] = {{0x40, "GPU-5", 3, "slow_gpu"},    {0x08, "GPU-5", 3, "slow_gpu"},
                 {0x20, "GPU-5", 3, "slow_gpu"},    {0x80, "GPU-5", 3, "slow_gpu"},
                 {0x04, "GPU-5", 3, "slow_host"},   {0x01, "GPU-5", 3, "slow_host"},
                 {0x40, "GPU-6", 3, "slow_host"},   {0x40, "GPU-5", -298, "slow_gpu"},
                 {0x40, "GPU-5", -300, "slow_host"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_straggler, NULL);
        struct tc_event ev = place(5, cases[i].uuid);
        tc_harness_feed(h, &ev);
        ev = throttle(5, START + cases[i].after_s * TC_SECOND, cases[i].bits);
        tc_harness_feed(h, &ev);
        struct run r = plain(12, 300 * MS);
        (void)feed_run(h, &r);
        finish(h);
        assert_int_equal(tc_harness_count(h), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(cases[i].expected)));
        tc_harness_destroy(h);
    }
}

static void a_gpu_that_is_slowed_down_later_updates(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = place(5, "GPU-5");
    tc_harness_feed(h, &ev);
    struct run r = plain(100, 300 * MS);
    r.start_ns = feed_run(h, &r);
    assert_int_equal(tc_harness_count(h), 1);
    ev = throttle(5, r.start_ns, 0x40);
    tc_harness_feed(h, &ev);
    tc_harness_tick(h, r.start_ns + TC_SECOND);
    tc_harness_tick(h, r.start_ns + 2 * TC_SECOND);
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(tc_harness_finding(h, 1)->discriminator, "slow_gpu");
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
}

static void a_job_that_starts_again_is_compared_again(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(30, 0);
    r.first_seq = 5000;
    r.start_ns = feed_run(h, &r) + 600 * TC_SECOND;
    r.first_seq = 10;
    r.late_ns = 300 * MS;
    (void)feed_run(h, &r);
    finish(h);
    assert_int_equal(tc_harness_count(h), 1);
}

static void late_and_lacking_events_are_counted(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(20, 0);
    int64_t end_ns = feed_run(h, &r);
    tc_harness_tick(h, end_ns + 120 * TC_SECOND);
    struct tc_event ev = record(&r, 3, 100, START + TC_SECOND, START + 2 * TC_SECOND);
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_stats(h).late, 1);
    ev.scope.rank = -1;
    tc_harness_feed(h, &ev);
    ev.scope.rank = 3;
    ev.nccl.seq = -1;
    tc_harness_feed(h, &ev);
    ev.nccl.seq = 100;
    ev.time_ns = TC_TIME_NONE;
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_stats(h).ignored, 3);
}

static void hostile_times_do_no_harm(void **state)
{
    struct tc_harness *h = *state;
    static const int64_t times[] = {0, 1, START, TC_TIME_MAX, INT64_MAX, INT64_MIN + 1, -1};
    struct run r = plain(1, 0);
    for (int64_t i = 0; i < 7 * 7 * 7; i++) {
        int64_t created_ns = times[i % 4];
        struct tc_event ev = record(&r, (int32_t)(i % 5), i / 5, created_ns, times[i / 7 % 4]);
        ev.nccl.started_ns =
            times[i / 49] < 0 || times[i / 49] > TC_TIME_MAX ? TC_TIME_NONE : times[i / 49];
        tc_harness_feed(h, &ev);
    }
    finish(h);
}

static void a_flood_is_bounded_and_counted(void **state)
{
    struct tc_harness *h = *state;
    struct run r = plain(1, 0);
    for (int64_t i = 0; i < 40000; i++) { /* cohorts that never get a second member */
        struct tc_event ev = record(&r, (int32_t)(i % 3), i * 7, START + i, START + i + MS);
        tc_harness_feed(h, &ev);
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    static char names[2000][16];
    for (size_t i = 0; i < 2000; i++) {
        (void)snprintf(names[i], sizeof names[i], "job-%zu", i);
        struct tc_event ev = record(&r, 0, 1, START + TC_SECOND, START + 2 * TC_SECOND);
        ev.scope.job = tc_slice_cstr(names[i]);
        tc_harness_feed(h, &ev);
    }
    finish(h);
    assert_int_equal(tc_harness_count(h), 0);
}

static void the_order_of_equal_times_does_not_matter(void **state)
{
    (void)state;
    static char first[1 << 16];
    size_t first_len = 0;
    for (unsigned shuffle = 0; shuffle < 6; shuffle++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_straggler, NULL);
        struct run r = plain(1, 300 * MS);
        for (int64_t i = 0; i < 14; i++) {
            int64_t at_ns = START + i * 1500 * MS;
            for (int32_t k = 0; k < RANKS; k++) {
                int32_t rank = (int32_t)((unsigned)k * 5 + shuffle) % RANKS;
                struct tc_event ev =
                    record(&r, rank, 100 + i, at_ns, at_ns + (rank == 5 ? 10 : 410) * MS);
                tc_harness_feed(h, &ev);
            }
        }
        finish(h);
        struct tc_slice dump = tc_harness_dump(h);
        assert_true(dump.len > 0 && dump.len <= sizeof first);
        if (shuffle == 0) {
            memcpy(first, dump.ptr, dump.len);
            first_len = dump.len;
        }
        assert_true(tc_slice_eq(dump, tc_slice_make(first, first_len)));
        tc_harness_destroy(h);
    }
}

static void memory_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_harness_options small = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_straggler, &small);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);
}

static void a_sink_or_scratch_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options bad = {.sink_status = TC_E_IO};
    struct tc_harness_options tight = {.scratch_bytes = 4096};
    struct run r = plain(12, 300 * MS);
    const struct tc_harness_options *all[] = {&bad, &tight};
    for (size_t i = 0; i < 2; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_straggler, all[i]);
        for (int64_t k = 0; k < r.count; k++) {
            for (int32_t rank = 0; rank < RANKS; rank++) {
                struct tc_event ev = record(&r, rank, 100 + k, START + k * 1500 * MS,
                                            START + k * 1500 * MS + (rank == 5 ? 10 : 410) * MS);
                tc_harness_feed(h, &ev);
            }
        }
        assert_int_equal(tc_harness_try_finish(h, TC_TIME_NONE), i == 0 ? TC_E_IO : TC_E_NOMEM);
        tc_harness_destroy(h);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_rank_that_is_late_ten_times_is_named),
        TEST(nine_times_are_not_enough_and_the_number_is_a_knob),
        TEST(the_margin_is_more_than_twenty_percent_of_what_peers_need),
        TEST(being_late_by_a_few_milliseconds_never_counts),
        TEST(a_single_slow_step_is_too_short),
        TEST(most_of_them_is_eighty_percent),
        TEST(clocks_that_differ_change_nothing),
        TEST(arrivals_alone_count_by_one_clock),
        TEST(all_ranks_of_a_node_are_one_verdict),
        TEST(half_of_the_ranks_are_late_only_as_a_node),
        TEST(two_ranks_cannot_be_compared),
        TEST(only_collectives_that_all_wait_in_are_compared),
        TEST(warm_up_is_excluded),
        TEST(it_is_told_once_and_resolved_when_it_keeps_up),
        TEST(step_times_are_compared_without_collectives),
        TEST(step_times_at_the_margin_are_silent),
        TEST(steps_of_other_phases_are_silent),
        TEST(a_missing_phase_does_not_excuse),
        TEST(first_steps_are_warm_up),
        TEST(a_step_has_room_for_as_many_ranks_as_come),
        TEST(a_step_that_grew_is_judged_before_the_next),
        TEST(a_job_of_ten_thousand_ranks_fits),
        TEST(steps_without_numbers_are_compared_in_rounds),
        TEST(a_gauge_that_is_read_twice_in_a_step_counts_once),
        TEST(step_times_say_nothing_where_collectives_are_known),
        TEST(told_steps_are_what_counts_as_long),
        TEST(a_checkpoint_excuses),
        TEST(a_checkpoint_whose_end_was_lost_excuses_for_ten_minutes),
        TEST(a_rank_that_waited_for_another_is_not_blamed),
        TEST(calls_that_are_queued_ahead_are_not_waits),
        TEST(a_pause_changes_nothing),
        TEST(a_burst_counts_by_its_first),
        TEST(kernel_starts_are_preferred),
        TEST(other_calls_in_one_collective_are_not_compared),
        TEST(a_list_of_members_lets_it_be_told_at_once),
        TEST(a_record_in_parts_is_one_record),
        TEST(a_slow_link_is_named_with_both_ends),
        TEST(a_rank_all_of_whose_links_are_slow_is_named),
        TEST(a_gpu_that_is_slowed_down_is_blamed),
        TEST(a_gpu_that_is_slowed_down_later_updates),
        TEST(a_job_that_starts_again_is_compared_again),
        TEST(late_and_lacking_events_are_counted),
        TEST(hostile_times_do_no_harm),
        TEST(a_flood_is_bounded_and_counted),
        TEST(the_order_of_equal_times_does_not_matter),
        TEST(memory_that_is_too_small_is_reported),
        TEST(a_sink_or_scratch_that_fails_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
