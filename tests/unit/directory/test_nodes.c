/* SPDX-License-Identifier: Apache-2.0 */
/* A node by its short name, its full name and its addresses. */
#include "directory_testing.h"

#include <stdio.h>

static struct tc_slice node(struct tc_directory *d, const char *name)
{
    return tc_directory_node(d, tc_slice_cstr(name));
}

static void note_address(struct tc_directory *d, const char *name, const char *address,
                         const char *pod)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_ADDRESS);
    ev.scope.node = node(d, name);
    ev.scope.pod = tc_slice_cstr(pod);
    ev.address.address = tc_slice_cstr(address);
    tc_directory_note(d, &ev);
}

static void a_node_goes_by_the_first_of_its_names(void **state)
{
    struct tc_directory *d = *state;
    assert_text(node(d, "gpu07"), "gpu07");
    assert_text(node(d, "gpu07.dc1.example.org"), "gpu07");
    assert_text(node(d, "GPU07"), "gpu07");
    assert_text(node(d, "gpu07.dc1"), "gpu07");
    assert_text(node(d, "gpu08.dc1.example.org"), "gpu08.dc1.example.org");
    assert_text(node(d, "gpu08"), "gpu08.dc1.example.org");
    assert_text(node(d, "gpu0"), "gpu0");
    assert_text(node(d, ""), "");
}

static void with_two_domains_each_name_stands_for_itself(void **state)
{
    struct tc_directory *d = *state;
    assert_text(node(d, "gpu07.dc1"), "gpu07.dc1");
    assert_text(node(d, "gpu07"), "gpu07.dc1");
    assert_text(node(d, "gpu07.dc2"), "gpu07.dc2");
    assert_text(node(d, "gpu07"), "gpu07");
    assert_text(node(d, "gpu07.dc1"), "gpu07.dc1");
    assert_text(node(d, "gpu07.dc2"), "gpu07.dc2");
    /* A domain begins at a dot. */
    assert_text(node(d, "a.b"), "a.b");
    assert_text(node(d, "a.bc"), "a.bc");
    assert_text(node(d, "a"), "a");
}

static void addresses_lead_to_their_node(void **state)
{
    struct tc_directory *d = *state;
    assert_text(node(d, "10.0.0.7"), "10.0.0.7");
    assert_text(node(d, "10.0.0.70"), "10.0.0.70");
    note_address(d, "gpu07", "10.0.0.7", "");
    note_address(d, "gpu07", "fe80::7", "");
    note_address(d, "gpu07", "10.4.4.4", "worker-0");
    assert_text(node(d, "10.0.0.7"), "gpu07");
    assert_text(node(d, "fe80::7"), "gpu07");
    assert_text(node(d, "10.4.4.4"), "10.4.4.4");
    assert_text(node(d, "10.0.0.70"), "10.0.0.70");
    /* Given to another node: it is nobody's. */
    note_address(d, "gpu08", "10.0.0.7", "");
    assert_text(node(d, "10.0.0.7"), "10.0.0.7");
}

static void names_that_are_not_heard_of_make_room(void **state)
{
    struct tc_directory *d = *state;
    char name[64];
    for (int i = 0; i < 40000; i++) {
        (void)snprintf(name, sizeof name, "node%d.example.org", i);
        assert_true(tc_slice_eq(node(d, name), tc_slice_cstr(name)));
        assert_text(node(d, "often"), "often");
        assert_text(node(d, "often.example.org"), "often");
    }
    assert_true(counts_of(d).nodes_forgotten > 0);
    assert_text(node(d, "node39999"), "node39999.example.org");
    assert_text(node(d, "node0"), "node0");
    char longest[TC_SCOPE_TEXT_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(node(d, longest).len, sizeof longest - 1);
}

static void stand(struct tc_directory *d, const char *name, const char *rack, const char *zone)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.scope.node = node(d, name);
    ev.metric.rack = tc_slice_cstr(rack);
    ev.metric.zone = tc_slice_cstr(zone);
    tc_directory_stand(d, &ev);
}

struct found {
    const char *name;
    char place[64];
};

static void take_node(void *context, const struct tc_node *node)
{
    struct found *f = context;
    if (tc_slice_eq(node->name, tc_slice_cstr(f->name))) {
        (void)snprintf(f->place, sizeof f->place, "%.*s/%.*s", TC_FMT(node->rack),
                       TC_FMT(node->zone));
    }
}

static const char *place(struct tc_directory *d, const char *name)
{
    static struct found f;
    f = (struct found){.name = name, .place = "none"};
    tc_directory_each_node(d, take_node, &f);
    return f.place;
}

static void a_node_stands_where_it_is_said_to(void **state)
{
    struct tc_directory *d = *state;
    (void)node(d, "gpu07");
    assert_string_equal(place(d, "gpu07"), "/");
    stand(d, "gpu07.dc1", "r1", "");
    stand(d, "gpu07", "", "z1");
    assert_string_equal(place(d, "gpu07"), "r1/z1");
    /* Of a Node object, too; other events say nothing of it. */
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
    ev.scope.node = node(d, "gpu08");
    ev.k8s.rack = TC_LIT("r2");
    tc_directory_stand(d, &ev);
    assert_string_equal(place(d, "gpu08"), "r2/");
    ev.kind = TC_EVENT_K8S_EVENT;
    ev.k8s.rack = TC_LIT("r3");
    for (int i = 0; i < 9; i++) {
        tc_directory_stand(d, &ev);
    }
    assert_string_equal(place(d, "gpu08"), "r2/");
    /* Without a node, or with a name that nobody has, nothing happens. */
    ev.kind = TC_EVENT_NODE_CONDITION;
    ev.scope.node = TC_EMPTY;
    tc_directory_stand(d, &ev);
    char longest[TC_SCOPE_TEXT_MAX + 2];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    stand(d, "gpu09", longest, longest);
    assert_string_equal(place(d, "gpu09"), "/");
}

static void a_place_changes_once_nobody_says_the_old_one(void **state)
{
    struct tc_directory *d = *state;
    stand(d, "gpu07", "r1", "z1");
    for (int i = 0; i < 100; i++) { /* two that contradict each other: the first counts */
        stand(d, "gpu07", "r2", "z1");
        stand(d, "gpu07", "r1", "z1");
    }
    assert_string_equal(place(d, "gpu07"), "r1/z1");
    for (int i = 0; i < 3; i++) {
        stand(d, "gpu07", "r2", "z2");
    }
    assert_string_equal(place(d, "gpu07"), "r1/z1");
    stand(d, "gpu07", "r2", "z2");
    assert_string_equal(place(d, "gpu07"), "r2/z2");
    /* With two domains nobody knows of which node it was said. */
    stand(d, "gpu08.dc1", "r1", "");
    stand(d, "gpu08.dc2", "r2", "");
    assert_string_equal(place(d, "gpu08.dc1"), "none");
}

/* Places that change all the time take no more room than there is, and nobody else's. */
static void places_that_change_are_bounded(void **state)
{
    struct tc_directory *d = *state;
    char rack[128];
    struct tc_turn all = {0};
    for (int i = 0; i < 400000; i++) {
        (void)snprintf(rack, sizeof rack, "a-rack-with-quite-a-long-name-%090d", i / 4);
        stand(d, "gpu07", rack, "");
        assert_text(node(d, "gpu07"), "gpu07");
        assert_int_equal(tc_directory_keep_room(d, &all), TC_OK);
    }
    assert_int_equal(counts_of(d).nodes_forgotten, 0);
    assert_string_not_equal(place(d, "gpu07"), "/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_goes_by_the_first_of_its_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(with_two_domains_each_name_stands_for_itself, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(addresses_lead_to_their_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_are_not_heard_of_make_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_node_stands_where_it_is_said_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_place_changes_once_nobody_says_the_old_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(places_that_change_are_bounded, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
