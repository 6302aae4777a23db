/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "answers/live/filter.h"
#include "support/asking.h"
#include "unit/live/live_testing.h"

#define PODS 7

static struct live_test *test;
static struct asking asking;

/* Two nodes: one whose memory explains its evictions, and one whose eviction stands alone. */
static int setup(void **state)
{
    (void)state;
    char pod[16];
    test = test_create(NULL);
    struct tc_event full = pressure("gpu-07.example.org", "True", T0);
    full.k8s.rack = TC_LIT("r12");
    full.k8s.zone = TC_LIT("eu-1a");
    feed_at(test, &full, T0);
    for (int i = 0; i < PODS; i++) {
        (void)snprintf(pod, sizeof pod, "train-%d", i);
        struct tc_event ev =
            evicted(i == 0 ? "gpu-08" : "gpu-07.example.org", pod, T0 + (i + 1) * TC_SECOND);
        feed_at(test, &ev, ev.time_ns);
    }
    run_to(test, T0 + 60 * TC_SECOND);
    asking_init(&asking, NULL, "/nonexistent");
    asking.live = test->live;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    asking_fini(&asking);
    test_destroy(test);
    return 0;
}

static size_t count_of(const char *name, const char *value)
{
    struct tc_json object = value == NULL ? ask_object(&asking, "incidents", NULL)
                                          : ask_object(&asking, "incidents", name, value);
    return asking_count(object, "incidents");
}

static void filters_choose(void **state)
{
    (void)state;
    size_t all = count_of(NULL, NULL);
    assert_true(all >= PODS);
    assert_int_equal(count_of("node", "gpu-08"), 1);
    assert_int_equal(count_of("node", "gpu-07"), all - 1); /* without the domain */
    assert_int_equal(count_of("node", "gpu-0"), 0);
    assert_int_equal(count_of("q", "TRAIN-3"), 1);
    assert_int_equal(count_of("q", "train-99"), 0);
    assert_int_equal(count_of("status", "open"), all);
    assert_int_equal(count_of("status", "resolved"), 0);
    assert_int_equal(count_of("pattern", "pod_evicted"), all);
    assert_int_equal(count_of("pattern", "nccl_hang"), 0);
    assert_int_equal(count_of("job", "none"), 0);
    assert_int_equal(count_of("since", "2020-01-01T00:00:00Z"), all);
    assert_int_equal(count_of("since", "2199-01-01T00:00:00Z"), 0);
    ask_refused(&asking, TC_E_USAGE, "status", "incidents", "status", "closed");
}

static void pages_meet_each_incident_once(void **state)
{
    (void)state;
    char next[2048] = "";
    char ids[64][TC_INCIDENT_ID_LEN + 1];
    size_t count = 0;
    size_t all = count_of(NULL, NULL);
    do {
        struct tc_json page = next[0] == '\0'
                                  ? ask_object(&asking, "incidents", "limit", "2")
                                  : ask_object(&asking, "incidents", "limit", "2", "cursor", next);
        size_t rows = asking_count(page, "incidents");
        assert_true(rows > 0 && rows <= 2);
        for (size_t i = 0; i < rows; i++) {
            char path[64];
            (void)snprintf(path, sizeof path, "incidents.%zu", i);
            struct tc_slice id = tc_json_get_string(asking_at(page, path), TC_LIT("incident_id"));
            (void)snprintf(ids[count], sizeof ids[count], "%.*s", TC_FMT(id));
            for (size_t n = 0; n < count; n++) {
                assert_string_not_equal(ids[n], ids[count]);
            }
            count++;
        }
        struct tc_slice more = tc_json_get_string(page, TC_LIT("next"));
        (void)snprintf(next, sizeof next, "%.*s", TC_FMT(more));
    } while (next[0] != '\0');
    assert_int_equal(count, all);
    ask_refused(&asking, TC_E_USAGE, "cursor", "incidents", "cursor", "AAAA");
}

static void a_story_has_its_parts(void **state)
{
    (void)state;
    struct tc_json stories = ask_object(&asking, "stories", "node", "gpu-08");
    assert_int_equal(asking_count(stories, "stories"), 1);
    asking_is(stories, "stories.0.status", "open");
    asking_is(stories, "stories.0.where.node", "gpu-08");
    char id[TC_INCIDENT_ID_LEN + 1];
    struct tc_slice text = tc_json_get_string(asking_at(stories, "stories.0"), TC_LIT("id"));
    (void)snprintf(id, sizeof id, "%.*s", TC_FMT(text));
    struct tc_json told = ask_object(&asking, "incident", "id", id);
    asking_is(told, "incident.incident_id", id);
    asking_is(told, "story.id", id);
    assert_int_equal(asking_count(told, "graph.nodes"), 1);
    assert_true(asking_count(told, "timeline") >= 1);
    id[8] = '\0';
    asking_is(ask_object(&asking, "incident", "id", id), "story.root_count", "1");
    ask_refused(&asking, TC_E_NOTFOUND, "no incident", "incident", "id", "abc");
    ask_refused(&asking, TC_E_NOTFOUND, "no incident", "incident", "id", "../../etc/passwd");
    ask_refused(&asking, TC_E_UNSUPPORTED, "HTTP", "events", NULL);
}

static void the_fleet_has_both_nodes(void **state)
{
    (void)state;
    struct tc_json fleet = ask_object(&asking, "fleet", NULL);
    asking_is(fleet, "summary.nodes", "2");
    asking_is(fleet, "nodes.name.0", "gpu-07.example.org");
    asking_is(fleet, "nodes.rack.0", "r12");
    asking_is(fleet, "nodes.zone.0", "eu-1a");
    asking_is(fleet, "nodes.rack.1", "null");
    asking_is(fleet, "nodes.zone.1", "null");
    asking_is(fleet, "nodes.gpu_count.0", "0");
    struct tc_json health = ask_object(&asking, "fleet_health", NULL);
    asking_is(health, "worst_nodes_total", "2");
    asking_is(health, "worst_nodes.0.rack", "r12");
    asking_is(health, "worst_nodes.1.zone", "null");
    struct tc_json node = ask_object(&asking, "fleet_node", "node", "gpu-07");
    asking_is(node, "node", "gpu-07.example.org");
    asking_is(node, "rack", "r12");
    asking_is(node, "zone", "eu-1a");
    assert_true(asking_count(node, "incidents") >= PODS - 1);
    ask_refused(&asking, TC_E_NOTFOUND, "gpu-99", "fleet_node", "node", "gpu-99");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_story_has_its_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(the_fleet_has_both_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(filters_choose, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_meet_each_incident_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
