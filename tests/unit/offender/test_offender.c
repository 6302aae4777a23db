/* SPDX-License-Identifier: Apache-2.0 */
/* What counts against a thing, what is one failure, and when a thing is to be returned. */
#include "offender/offender.h"

#include "base/buf.h"
#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR (3600 * TC_SECOND)
#define DAY (24 * HOUR)
/* Of a March morning. */
#define START (INT64_C(1772600000) * TC_SECOND)

struct world {
    struct tc_offenders *book;
    struct tc_arena arena;
    char block[1 << 18];
    char ids[64][TC_INCIDENT_ID_LEN + 1];
    unsigned count;
};

struct told {
    const char *pattern;
    const char *node;
    const char *uuid;
    int32_t bus; /* of the PCI address, 0 none */
    int32_t index;
    const char *attr; /* "device", ... */
    const char *value;
    const char *discriminator;
    int64_t first_ns;
    int64_t last_ns; /* 0: the first */
    bool is_open;
};

static int setup(void **state)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    w.book = tc_offenders_create();
    tc_arena_init(&w.arena, "test", w.block, sizeof w.block);
    *state = &w;
    return w.book == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    tc_offenders_destroy(w->book);
    tc_arena_fini(&w->arena);
    return 0;
}

static struct tc_slice or_none(const char *text)
{
    return text == NULL ? TC_EMPTY : tc_slice_cstr(text);
}

/* Notes an incident and says how often its thing has failed; 0: less often than it takes. */
static int64_t tell(struct world *w, const struct told *t, struct tc_judgement *out)
{
    char key[64];
    struct tc_attr attr = {.type = TC_ATTR_STRING};
    struct tc_finding f = {.pattern_id = tc_slice_cstr(t->pattern),
                           .discriminator = or_none(t->discriminator),
                           .headline = TC_LIT("It is broken"),
                           .remediation = TC_LIT("Reset it."),
                           .last_ns = t->last_ns != 0 ? t->last_ns : t->first_ns,
                           .scope = TC_SCOPE_NONE};
    f.scope.node = or_none(t->node);
    f.scope.gpu_uuid = or_none(t->uuid);
    f.scope.gpu_index = t->index;
    f.scope.pci = (struct tc_bdf){.known = t->bus != 0, .bus = (uint8_t)t->bus};
    if (t->attr != NULL) {
        (void)snprintf(key, sizeof key, "tracecore.alert.x.%s", t->attr);
        attr.key = tc_slice_cstr(key);
        attr.string = or_none(t->value);
        f.attrs = &attr;
        f.attr_count = 1;
    }
    char *id = w->ids[w->count];
    (void)snprintf(id, sizeof w->ids[0], "%032x", ++w->count);
    struct tc_verdict v = {.finding = &f,
                           .incident_id = tc_slice_make(id, TC_INCIDENT_ID_LEN),
                           .status = t->is_open ? TC_VERDICT_OPEN : TC_VERDICT_RESOLVED,
                           .first_ns = t->first_ns};
    struct tc_offence offence = tc_offence_of(&v);
    struct tc_judgement judged;
    assert_int_equal(
        tc_offenders_note(w->book, v.incident_id, f.pattern_id, v.first_ns, !t->is_open, &offence),
        TC_OK);
    assert_int_equal(tc_offenders_judge(w->book, &v, &w->arena, &judged), TC_OK);
    if (out != NULL) {
        *out = judged;
    }
    return judged.recurrence == NULL ? 0 : judged.recurrence->count;
}

/* gpu_fault of one GPU of gpu-07. */
static int64_t fail_gpu(struct world *w, int64_t at_ns)
{
    return tell(w,
                &(struct told){.pattern = "13",
                               .node = "gpu-07",
                               .uuid = "GPU-1",
                               .index = -1,
                               .first_ns = START + at_ns},
                NULL);
}

static void the_third_failure_in_a_week_is_one_too_many(void **state)
{
    struct world *w = *state;
    assert_int_equal(fail_gpu(w, 0), 0);
    assert_int_equal(fail_gpu(w, 2 * DAY), 0);
    assert_int_equal(fail_gpu(w, 4 * DAY), 3);
    assert_int_equal(fail_gpu(w, 5 * DAY), 4);
}

static void a_week_is_a_week(void **state)
{
    struct world *w = *state;
    (void)fail_gpu(w, 0);
    (void)fail_gpu(w, 3 * DAY);
    assert_int_equal(fail_gpu(w, 7 * DAY + 1), 0);
    struct tc_offender_config wider = TC_OFFENDER_CONFIG_DEFAULT;
    wider.window_ns = 8 * DAY;
    tc_offenders_configure(w->book, &wider);
    assert_int_equal(fail_gpu(w, 7 * DAY + HOUR), 4);
}

static void exactly_a_week_counts(void **state)
{
    struct world *w = *state;
    (void)fail_gpu(w, 0);
    (void)fail_gpu(w, 3 * DAY);
    assert_int_equal(fail_gpu(w, 7 * DAY), 3);
}

static void it_says_what_to_do_and_cites(void **state)
{
    struct world *w = *state;
    struct tc_judgement judged;
    (void)fail_gpu(w, 0);
    (void)fail_gpu(w, 2 * DAY);
    struct told third = {.pattern = "3",
                         .node = "gpu-07",
                         .uuid = "GPU-1",
                         .index = 3,
                         .first_ns = START + 4 * DAY,
                         .is_open = true};
    assert_int_equal(tell(w, &third, &judged), 3);
    assert_true(tc_slice_eq(judged.headline, TC_LIT("It is broken; third failure in 7 days")));
    assert_true(tc_slice_eq(
        judged.remediation,
        TC_LIT("Drain node gpu-07 and return GPU 3 (RMA): this is its third failure in 7 days, "
               "each after it was well or quiet. Earlier incidents: 00000000 (gpu_fault) of "
               "2026-03-04T04:53:20Z, 00000000 (gpu_fault) of 2026-03-06T04:53:20Z. Until that is "
               "done: Reset it.")));
    assert_int_equal(judged.recurrence->thing, TC_THING_GPU);
    assert_int_equal(judged.recurrence->earlier_count, 2);
    assert_memory_equal(judged.recurrence->earlier[1].incident_id.ptr, w->ids[1],
                        TC_INCIDENT_ID_LEN);
}

/* Of two incidents, the second `gap` after the end of the first, and a third days later. */
static int64_t count_with_gap(struct world *w, int64_t gap_ns, bool is_open)
{
    struct told t = {.pattern = "13",
                     .node = "gpu-07",
                     .uuid = "GPU-1",
                     .index = -1,
                     .first_ns = START,
                     .last_ns = START + HOUR,
                     .is_open = is_open};
    (void)tell(w, &t, NULL);
    t.pattern = "3";
    t.first_ns = t.last_ns + gap_ns;
    t.last_ns = t.first_ns;
    t.is_open = false;
    (void)tell(w, &t, NULL);
    return fail_gpu(w, 3 * DAY);
}

static void what_was_over_for_five_minutes_was_well(void **state)
{
    assert_int_equal(count_with_gap(*state, 300 * TC_SECOND, false), 3);
}

static void what_comes_back_sooner_is_one_failure(void **state)
{
    assert_int_equal(count_with_gap(*state, 300 * TC_SECOND - 1, false), 0);
}

static void what_nobody_ended_has_to_be_quiet_for_an_hour(void **state)
{
    assert_int_equal(count_with_gap(*state, HOUR, true), 3);
}

static void a_storm_is_one_failure(void **state)
{
    assert_int_equal(count_with_gap(*state, HOUR - 1, true), 0);
}

static void names_are_of_one_gpu(void **state)
{
    struct world *w = *state;
    struct told t = {
        .pattern = "13", .node = "gpu-07", .index = -1, .bus = 0x43, .first_ns = START};
    (void)tell(w, &t, NULL);
    t.first_ns += DAY;
    t.uuid = "GPU-1";
    t.node = "gpu-07.example.org";
    (void)tell(w, &t, NULL);
    t.first_ns += DAY;
    t.bus = 0;
    t.node = "gpu-09";                      /* it was put into another node */
    assert_int_equal(tell(w, &t, NULL), 0); /* nothing says that it is the first one's */
    t.first_ns += DAY;
    t.node = "gpu-07";
    t.bus = 0x43;
    assert_int_equal(tell(w, &t, NULL), 4);
}

static void a_new_board_starts_anew(void **state)
{
    struct world *w = *state;
    struct told t = {.pattern = "13",
                     .node = "gpu-07",
                     .uuid = "GPU-1",
                     .index = 3,
                     .bus = 0x43,
                     .first_ns = START};
    (void)tell(w, &t, NULL);
    t.first_ns += DAY;
    (void)tell(w, &t, NULL);
    t.first_ns += DAY;
    t.uuid = "GPU-2";
    /* But the node has had three, of two boards. */
    struct tc_judgement judged;
    assert_int_equal(tell(w, &t, &judged), 3);
    assert_int_equal(judged.recurrence->thing, TC_THING_NODE);
    assert_true(tc_slice_starts(judged.remediation, TC_LIT("Take node gpu-07 out of service")));
}

static void nodes_of_two_domains_are_two(void **state)
{
    struct world *w = *state;
    struct told t = {
        .pattern = "13", .node = "gpu-07.a", .index = -1, .bus = 0x43, .first_ns = START};
    (void)tell(w, &t, NULL);
    t.first_ns += DAY;
    (void)tell(w, &t, NULL);
    t.first_ns += DAY;
    t.node = "gpu-07.b";
    assert_int_equal(tell(w, &t, NULL), 0);
    t.first_ns += DAY;
    t.node = "gpu-07.a";
    assert_int_equal(tell(w, &t, NULL), 3);
}

static void addresses_of_nodes_are_not_cut(void **state)
{
    struct world *w = *state;
    struct told t = {
        .pattern = "13", .node = "10.0.0.1", .index = -1, .bus = 0x43, .first_ns = START};
    (void)tell(w, &t, NULL);
    t.first_ns += DAY;
    t.node = "10.0.0.2";
    (void)tell(w, &t, NULL);
    t.first_ns += DAY;
    t.node = "10.0.0.3";
    assert_int_equal(tell(w, &t, NULL), 0);
}

static void ports_and_volumes_too(void **state)
{
    struct world *w = *state;
    struct tc_judgement judged;
    struct told port = {.pattern = "10",
                        .node = "gpu-07",
                        .index = -1,
                        .attr = "device",
                        .value = "mlx5_0",
                        .discriminator = "link_flap",
                        .first_ns = START};
    struct told volume = {.pattern = "11",
                          .node = "gpu-07",
                          .index = -1,
                          .attr = "volume",
                          .value = "ckpt",
                          .first_ns = START};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tell(w, &port, NULL), 0);
        assert_int_equal(tell(w, &volume, NULL), 0);
        port.first_ns += DAY;
        volume.first_ns += DAY;
        volume.node = "gpu-08"; /* wherever it is mounted */
    }
    assert_int_equal(tell(w, &port, &judged), 3);
    assert_true(tc_slice_starts(judged.remediation,
                                TC_LIT("Replace cable and module of mlx5_0 of node gpu-07, then")));
    assert_int_equal(tell(w, &volume, &judged), 3);
    assert_true(
        tc_slice_starts(judged.remediation, TC_LIT("Move the data off volume ckpt and replace")));
}

static void retries_tell_of_a_way_not_of_a_port(void **state)
{
    struct world *w = *state;
    struct told t = {.pattern = "10",
                     .node = "gpu-07",
                     .index = -1,
                     .attr = "device",
                     .value = "mlx5_0",
                     .discriminator = "ib_retry_exceeded",
                     .first_ns = START};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tell(w, &t, NULL), 0);
        t.first_ns += DAY;
    }
}

static void other_patterns_count_against_nothing(void **state)
{
    struct world *w = *state;
    struct told t = {
        .pattern = "4", .node = "gpu-07", .uuid = "GPU-1", .index = -1, .first_ns = START};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tell(w, &t, NULL), 0);
        t.first_ns += DAY;
    }
}

static void it_can_be_turned_off(void **state)
{
    struct world *w = *state;
    struct tc_offender_config off = TC_OFFENDER_CONFIG_DEFAULT;
    off.count = 0;
    tc_offenders_configure(w->book, &off);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fail_gpu(w, i * DAY), 0);
    }
}

static void what_came_first_goes_first(void **state)
{
    struct world *w = *state;
    struct tc_offender_config small = TC_OFFENDER_CONFIG_DEFAULT;
    small.incidents_max = 16;
    small.window_ns = 90 * DAY;
    tc_offenders_configure(w->book, &small);
    for (int i = 0; i < 40; i++) {
        int64_t count = fail_gpu(w, i * DAY);
        assert_in_range(count, i < 2 ? 0 : 3, 16);
    }
    assert_in_range(fail_gpu(w, 40 * DAY), 14, 16);
}

static void the_order_of_arrival_makes_no_difference(void **state)
{
    struct world *w = *state;
    struct tc_judgement judged;
    struct told t = {.pattern = "13",
                     .node = "gpu-07",
                     .uuid = "GPU-1",
                     .index = -1,
                     .first_ns = START + 4 * DAY};
    assert_int_equal(tell(w, &t, NULL), 0);
    assert_int_equal(fail_gpu(w, 2 * DAY), 0);
    assert_int_equal(fail_gpu(w, 0), 0); /* found late */
    w->count = 0;                        /* the first of them again */
    assert_int_equal(tell(w, &t, &judged), 3);
    assert_true(judged.recurrence->earlier[0].first_ns == START);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_third_failure_in_a_week_is_one_too_many),
        TEST(a_week_is_a_week),
        TEST(exactly_a_week_counts),
        TEST(it_says_what_to_do_and_cites),
        TEST(what_was_over_for_five_minutes_was_well),
        TEST(what_comes_back_sooner_is_one_failure),
        TEST(what_nobody_ended_has_to_be_quiet_for_an_hour),
        TEST(a_storm_is_one_failure),
        TEST(names_are_of_one_gpu),
        TEST(a_new_board_starts_anew),
        TEST(nodes_of_two_domains_are_two),
        TEST(addresses_of_nodes_are_not_cut),
        TEST(ports_and_volumes_too),
        TEST(retries_tell_of_a_way_not_of_a_port),
        TEST(other_patterns_count_against_nothing),
        TEST(it_can_be_turned_off),
        TEST(what_came_first_goes_first),
        TEST(the_order_of_arrival_makes_no_difference),
    };
    return cmocka_run_group_tests_name("offender", tests, NULL, NULL);
}
