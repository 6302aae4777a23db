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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_goes_by_the_first_of_its_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(with_two_domains_each_name_stands_for_itself, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(addresses_lead_to_their_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_are_not_heard_of_make_room, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
