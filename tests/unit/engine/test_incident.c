/* SPDX-License-Identifier: Apache-2.0 */
/* What the incident table takes for news. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "engine/incident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BYTES ((size_t)1 << 16)
#define BLOCK_BYTES (8 * TABLE_BYTES)
#define TOLD_MAX 4

struct table {
    struct tc_incidents incidents;
    struct tc_arena arena;
    struct tc_arena scratch;
    void *blocks[2];
    struct tc_lru told;
};

static int set_up(void **state)
{
    struct table *t = calloc(1, sizeof *t);
    assert_non_null(t);
    for (size_t i = 0; i < 2; i++) {
        t->blocks[i] = calloc(1, BLOCK_BYTES);
        assert_non_null(t->blocks[i]);
    }
    tc_arena_init(&t->arena, "incidents", t->blocks[0], BLOCK_BYTES);
    tc_arena_init(&t->scratch, "scratch", t->blocks[1], BLOCK_BYTES);
    assert_true(tc_lru_init(&t->told, TOLD_MAX, sizeof(struct tc_incident_told)));
    assert_true(tc_incidents_init(&t->incidents, &t->arena, TABLE_BYTES, &t->told));
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct table *t = *state;
    tc_arena_fini(&t->arena);
    tc_arena_fini(&t->scratch);
    tc_lru_fini(&t->told);
    free(t->blocks[0]);
    free(t->blocks[1]);
    free(t);
    return 0;
}

static struct tc_finding finding(const struct tc_attr *attr)
{
    return (struct tc_finding){
        .pattern_id = TC_LIT("2"),
        .pattern_name = TC_LIT("xid_correlation"),
        .key = TC_LIT("gpu-07/ml/a"),
        .discriminator = TC_LIT("hardware_xid"),
        .headline = TC_LIT("Pod ml/a on gpu-07 failed"),
        .attrs = attr,
        .attr_count = 1,
    };
}

/* The status a finding gets, -1 when it says nothing new. */
static int told(struct table *t, const struct tc_finding *f)
{
    struct tc_verdict verdict;
    bool fresh = false;
    assert_int_equal(tc_incidents_apply(&t->incidents, f, 0, &t->scratch, &verdict, &fresh), TC_OK);
    return fresh ? (int)verdict.status : -1;
}

/* Opens an incident with `a`; the same again is nothing, and `b` in its place is an update. */
static void assert_differ(struct table *t, struct tc_attr a, struct tc_attr b)
{
    struct tc_finding first = finding(&a);
    struct tc_finding second = finding(&b);
    assert_int_equal(told(t, &first), TC_VERDICT_OPEN);
    assert_int_equal(told(t, &first), -1);
    assert_int_equal(told(t, &second), TC_VERDICT_UPDATED);
    assert_int_equal(told(t, &second), -1);
}

#define KEY .key = TC_LIT("tracecore.alert.x.value")

static void another_string_of_the_same_length_is_news(void **state)
{
    assert_differ(*state,
                  (struct tc_attr){KEY, .type = TC_ATTR_STRING, .string = TC_LIT("Evicted")},
                  (struct tc_attr){KEY, .type = TC_ATTR_STRING, .string = TC_LIT("Unknown")});
}

static void another_truth_is_news(void **state)
{
    assert_differ(*state, (struct tc_attr){KEY, .type = TC_ATTR_BOOL, .boolean = false},
                  (struct tc_attr){KEY, .type = TC_ATTR_BOOL, .boolean = true});
}

static void another_number_is_news(void **state)
{
    assert_differ(*state, (struct tc_attr){KEY, .type = TC_ATTR_INT, .integer = 1},
                  (struct tc_attr){KEY, .type = TC_ATTR_INT, .integer = 2});
}

static void another_list_of_numbers_is_news(void **state)
{
    static const int32_t a[] = {1, 2};
    static const int32_t b[] = {1, 3};
    assert_differ(*state, (struct tc_attr){KEY, .type = TC_ATTR_INTS, .ints = a, .count = 2},
                  (struct tc_attr){KEY, .type = TC_ATTR_INTS, .ints = b, .count = 2});
}

static void another_list_of_strings_is_news(void **state)
{
    const struct tc_slice a[] = {TC_LIT("rank 1"), TC_LIT("rank 2")};
    const struct tc_slice b[] = {TC_LIT("rank 1"), TC_LIT("rank 3")};
    assert_differ(*state, (struct tc_attr){KEY, .type = TC_ATTR_STRINGS, .strings = a, .count = 2},
                  (struct tc_attr){KEY, .type = TC_ATTR_STRINGS, .strings = b, .count = 2});
}

static void another_place_is_news(void **state)
{
    struct tc_scope a[] = {TC_SCOPE_NONE, TC_SCOPE_NONE};
    struct tc_scope b[] = {TC_SCOPE_NONE, TC_SCOPE_NONE};
    b[1].node = TC_LIT("gpu-07");
    assert_differ(*state, (struct tc_attr){KEY, .type = TC_ATTR_SCOPES, .scopes = a, .count = 2},
                  (struct tc_attr){KEY, .type = TC_ATTR_SCOPES, .scopes = b, .count = 2});
}

static void the_same_words_cut_elsewhere_are_news(void **state)
{
    const struct tc_slice a[] = {TC_LIT("ab"), TC_LIT("c")};
    const struct tc_slice b[] = {TC_LIT("a"), TC_LIT("bc")};
    assert_differ(*state, (struct tc_attr){KEY, .type = TC_ATTR_STRINGS, .strings = a, .count = 2},
                  (struct tc_attr){KEY, .type = TC_ATTR_STRINGS, .strings = b, .count = 2});
}

static void another_discriminator_of_the_same_length_is_news(void **state)
{
    struct tc_attr attr = {KEY, .type = TC_ATTR_INT, .integer = 1};
    struct tc_finding a = finding(&attr);
    struct tc_finding b = a;
    b.discriminator = TC_LIT("software_xid");
    assert_int_equal(told(*state, &a), TC_VERDICT_OPEN);
    assert_int_equal(told(*state, &b), TC_VERDICT_UPDATED);
}

static void another_cause_is_news(void **state)
{
    struct tc_attr attr = {KEY, .type = TC_ATTR_INT, .integer = 1};
    const struct tc_cause causes[] = {{TC_LIT("job/a/7"), TC_LIT("the same culprits")},
                                      {TC_LIT("job/b/7"), TC_LIT("the same culprits")}};
    struct tc_finding a = finding(&attr);
    a.causes = &causes[0];
    a.cause_count = 1;
    struct tc_finding b = a;
    b.causes = &causes[1];
    assert_int_equal(told(*state, &a), TC_VERDICT_OPEN);
    assert_int_equal(told(*state, &a), -1);
    assert_int_equal(told(*state, &b), TC_VERDICT_UPDATED);
    assert_int_equal(told(*state, &b), -1);
}

static void that_it_was_seen_again_is_no_news(void **state)
{
    struct tc_attr attr = {KEY, .type = TC_ATTR_STRING, .string = TC_LIT("Evicted")};
    struct tc_finding f = finding(&attr);
    assert_int_equal(told(*state, &f), TC_VERDICT_OPEN);
    f.last_ns = 7;
    assert_int_equal(told(*state, &f), -1);
}

static void what_is_over_is_told_once_and_may_come_again(void **state)
{
    struct tc_attr attr = {KEY, .type = TC_ATTR_STRING, .string = TC_LIT("Evicted")};
    struct tc_finding f = finding(&attr);
    assert_int_equal(told(*state, &f), TC_VERDICT_OPEN);
    f.resolved = true;
    assert_int_equal(told(*state, &f), TC_VERDICT_RESOLVED);
    assert_int_equal(told(*state, &f), -1);
    f.resolved = false;
    assert_int_equal(told(*state, &f), TC_VERDICT_UPDATED);
}

/* A finding of the n-th of many incidents. */
static struct tc_finding numbered(const struct tc_attr *attr, char key[16], unsigned n)
{
    struct tc_finding f = finding(attr);
    (void)snprintf(key, 16, "gpu-%u", n);
    f.key = tc_slice_cstr(key);
    return f;
}

/* What was told outlives the table; a finding with other evidence belongs to it all the same. */
static void an_incident_that_left_the_table_keeps_its_id_once_it_was_told(void **state)
{
    struct table *t = *state;
    struct tc_attr attr = {KEY, .type = TC_ATTR_INT, .integer = 1};
    struct tc_verdict verdict;
    bool fresh = false;
    char key[16];
    char id[TC_INCIDENT_ID_LEN];
    struct tc_finding f = numbered(&attr, key, 0);
    assert_int_equal(tc_incidents_apply(&t->incidents, &f, 7, &t->scratch, &verdict, &fresh),
                     TC_OK);
    memcpy(id, verdict.incident_id.ptr, sizeof id);
    struct tc_incident_mark mark = {.pattern_id = f.pattern_id,
                                    .key = f.key,
                                    .incident_id = tc_slice_make(id, sizeof id),
                                    .first_ns = 5,
                                    .detected_ns = verdict.detected_ns,
                                    .content = verdict.content};
    assert_int_equal(tc_incidents_note_told(&t->incidents, &mark, false), TC_OK);
    for (unsigned n = 1; n < 2000; n++) {
        char other[16];
        struct tc_finding g = numbered(&attr, other, n);
        assert_int_equal(told(t, &g), TC_VERDICT_OPEN);
    }
    assert_true(t->incidents.ring.dropped_count > 0);
    struct tc_evidence evidence = {.uid = TC_LIT("another")};
    f.evidence = &evidence;
    f.evidence_count = 1;
    f.first_ns = 9;
    assert_int_equal(tc_incidents_apply(&t->incidents, &f, 11, &t->scratch, &verdict, &fresh),
                     TC_OK);
    assert_true(fresh);
    assert_int_equal(verdict.status, TC_VERDICT_UPDATED);
    assert_memory_equal(verdict.incident_id.ptr, id, sizeof id);
    assert_int_equal(verdict.first_ns, 5);
    assert_int_equal(verdict.detected_ns, 7);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(another_string_of_the_same_length_is_news),
        CASE(another_truth_is_news),
        CASE(another_number_is_news),
        CASE(another_list_of_numbers_is_news),
        CASE(another_list_of_strings_is_news),
        CASE(another_place_is_news),
        CASE(the_same_words_cut_elsewhere_are_news),
        CASE(another_discriminator_of_the_same_length_is_news),
        CASE(another_cause_is_news),
        CASE(that_it_was_seen_again_is_no_news),
        CASE(what_is_over_is_told_once_and_may_come_again),
        CASE(an_incident_that_left_the_table_keeps_its_id_once_it_was_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
