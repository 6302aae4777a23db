/* SPDX-License-Identifier: Apache-2.0 */
/* Many verdicts at once: what has nothing in common stays apart, and the work is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "directory/directory.h"
#include "story/story.h"

#include <stdio.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define MANY 10000
/* src/story/link.c looks at so many verdicts per name. */
#define POSTINGS_MAX 512
/* src/story/story_priv.h */

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
    struct tc_directory *directory = tc_directory_create(TC_STATEMENTS_NONE, 1);
    assert_true(story != NULL && directory != NULL);
    for (int i = 0; i < count; i++) {
        add(story, (struct numbered){patterns[i % 5], i, i % nodes, i});
    }
    assert_int_equal(tc_story_link(story, directory, NULL), TC_OK);
    const struct tc_incident_table *kept = tc_story_verdicts(story);
    assert_int_equal(kept->count, (size_t)count);
    *out_links = 0;
    for (size_t i = 0; i < kept->count; i++) {
        *out_links += kept->items[i].verdict.cause_count;
        assert_int_equal(kept->items[i].verdict.group.len, 0);
    }
    uint64_t steps = tc_story_steps(story);
    tc_story_destroy(story);
    tc_directory_destroy(directory);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unrelated_verdicts_stay_apart),
        cmocka_unit_test(one_crowded_node_costs_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
