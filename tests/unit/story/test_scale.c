/* SPDX-License-Identifier: Apache-2.0 */
/* Many verdicts at once: what has nothing in common stays apart, and the work is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "story/story.h"

#include <stdio.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define MANY 10000
/* src/story/link.c looks at so many verdicts a name. */
#define POSTINGS_MAX 512
/* src/story/story_priv.h */
#define FACTS_MAX 131072

struct numbered {
    const char *pattern;
    int n;
    int node;
    int gpu;
};

static void add(struct tc_story *story, struct numbered v)
{
    char id[TC_INCIDENT_ID_LEN + 1];
    char node[32];
    char uuid[32];
    (void)snprintf(id, sizeof id, "%032d", v.n);
    (void)snprintf(node, sizeof node, "node-%d", v.node);
    (void)snprintf(uuid, sizeof uuid, "GPU-%d", v.gpu);
    struct tc_finding f = {
        .pattern_id = TC_LIT("1"),
        .pattern_name = tc_slice_cstr(v.pattern),
        .headline = TC_LIT("x"),
        .first_ns = T0 + v.n * (TC_SECOND / 1000),
        .last_ns = T0 + v.n * (TC_SECOND / 1000),
        .scope = TC_SCOPE_NONE,
    };
    f.scope.node = tc_slice_cstr(node);
    f.scope.gpu_uuid = tc_slice_cstr(uuid);
    struct tc_verdict verdict = {.finding = &f,
                                 .incident_id = tc_slice_make(id, TC_INCIDENT_ID_LEN),
                                 .first_ns = f.first_ns};
    assert_int_equal(tc_story_add(story, &verdict), TC_OK);
}

/* Links `count` verdicts, causes and effects in turn; `nodes` of them, a GPU for each. */
static uint64_t steps_of(int count, int nodes, size_t *out_links)
{
    static const char *const patterns[] = {"hbm_ecc", "nccl_hang", "thermal_throttle", "straggler",
                                           "pod_evicted"};
    struct tc_story *story = tc_story_create();
    assert_non_null(story);
    for (int i = 0; i < count; i++) {
        add(story, (struct numbered){patterns[i % 5], i, i % nodes, i});
    }
    assert_int_equal(tc_story_link(story), TC_OK);
    const struct tc_kept *kept = tc_story_verdicts(story);
    assert_int_equal(kept->count, (size_t)count);
    *out_links = 0;
    for (size_t i = 0; i < kept->count; i++) {
        *out_links += kept->items[i].verdict.cause_count;
        assert_int_equal(kept->items[i].verdict.group.len, 0);
    }
    uint64_t steps = tc_story_steps(story);
    tc_story_destroy(story);
    return steps;
}

static void unrelated_verdicts_stay_apart(void **state)
{
    (void)state;
    size_t links = 0;
    uint64_t few = steps_of(MANY / 10, MANY / 10, &links);
    assert_int_equal(links, 0);
    uint64_t many = steps_of(MANY, MANY, &links);
    assert_int_equal(links, 0);
    assert_true(many <= few * 10);
    assert_true(many <= (uint64_t)MANY * 4);
}

/* The worst: everything on one node, each on a GPU of its own. */
static void one_crowded_node_costs_its_bound(void **state)
{
    (void)state;
    size_t links = 0;
    uint64_t half = steps_of(MANY / 2, 1, &links);
    assert_int_equal(links, 0);
    uint64_t all = steps_of(MANY, 1, &links);
    assert_int_equal(links, 0);
    assert_true(all <= (uint64_t)MANY * (POSTINGS_MAX + 4));
    assert_true(all <= half * 2 + half / 4);
}

static void note_pod(struct tc_story *story, int n, int64_t time_ns)
{
    char pod[32];
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    (void)snprintf(pod, sizeof pod, "worker-%d", n);
    ev.time_ns = time_ns;
    ev.scope.node = TC_LIT("node-1");
    ev.scope.ns = TC_LIT("train");
    ev.scope.pod = tc_slice_cstr(pod);
    tc_story_note(story, &ev);
}

/* Pods come and go for months: what is said no more makes room. */
static void statements_not_made_for_longest_are_forgotten(void **state)
{
    (void)state;
    struct tc_story *story = tc_story_create();
    assert_non_null(story);
    tc_story_forgets(story);
    note_pod(story, -1, TC_TIME_NONE);
    add(story, (struct numbered){"hbm_ecc", 1, 1, 1});
    for (int i = 0; i < FACTS_MAX * 3; i++) {
        note_pod(story, i, T0 + i);
        if (i % 1000 == 0) {
            note_pod(story, 0, T0 + i);
            assert_int_equal(tc_story_relink(story), TC_OK);
        }
    }
    assert_int_equal(tc_story_dropped(story), 0);
    assert_true(tc_story_statements(story) <= FACTS_MAX);
    assert_int_equal(tc_story_forgotten(story) + tc_story_statements(story), FACTS_MAX * 3 + 1);
    /* What is still said is still known, and so is what always holds. */
    size_t before = tc_story_statements(story);
    note_pod(story, 0, T0 + FACTS_MAX * 3);
    note_pod(story, -1, TC_TIME_NONE);
    assert_int_equal(tc_story_statements(story), before);
    tc_story_destroy(story);
}

static void without_that_what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct tc_story *story = tc_story_create();
    assert_non_null(story);
    for (int i = 0; i < FACTS_MAX + 10; i++) {
        note_pod(story, i, T0 + i);
    }
    assert_int_equal(tc_story_dropped(story), 10);
    assert_int_equal(tc_story_statements(story), FACTS_MAX);
    assert_int_equal(tc_story_forgotten(story), 0);
    tc_story_destroy(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unrelated_verdicts_stay_apart),
        cmocka_unit_test(one_crowded_node_costs_its_bound),
        cmocka_unit_test(statements_not_made_for_longest_are_forgotten),
        cmocka_unit_test(without_that_what_does_not_fit_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
