/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes and pods are called on the network. Fixtures are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/codec/k8s_testing.h"

static void a_pod_has_its_own_address_and_its_nodes(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"w-0\","
               "\"namespace\":\"train\",\"uid\":\"p-1\"},\"spec\":{\"nodeName\":\"gpu-01\"},"
               "\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-03-01T10:00:00Z\","
               "\"podIP\":\"10.244.1.5\",\"hostIP\":\"10.0.0.1\"}}"),
        TC_OK);
    assert_int_equal(t.count, 3);
    const struct tc_event *ev = t.events;
    assert_int_equal(ev[2].kind, TC_EVENT_POD_STATE);
    assert_int_equal(ev[0].kind, TC_EVENT_ADDRESS);
    SAME(ev[0].address.address, "10.0.0.1");
    SAME(ev[0].scope.node, "gpu-01");
    assert_int_equal(ev[0].scope.pod.len, 0);
    assert_true(ev[0].time_ns == at("2026-03-01T10:00:00Z"));
    SAME(ev[1].address.address, "10.244.1.5");
    SAME(ev[1].scope.node, "gpu-01");
    SAME(ev[1].scope.ns, "train");
    SAME(ev[1].scope.pod, "w-0");
    SAME(ev[1].scope.pod_uid, "p-1");
}

static void a_pod_on_its_nodes_network_has_none(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                            "\"w-1\"},\"spec\":{\"nodeName\":\"gpu-02\",\"hostNetwork\":true},"
                            "\"status\":{\"podIP\":\"10.0.0.2\",\"hostIP\":\"10.0.0.2\"}}"),
                     TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].address.address, "10.0.0.2");
    assert_int_equal(t.events[0].scope.pod.len, 0);
}

static void a_pod_without_a_node_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                            "\"pending\"},\"spec\":{},\"status\":{\"podIP\":\"10.244.1.9\","
                            "\"hostIP\":\"10.0.0.3\"}}"),
                     TC_OK);
    assert_int_equal(t.count, 0);
}

static void a_node_lists_its_addresses(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"gpu-04\"},"
               "\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.4\"},"
               "{\"type\":\"Hostname\",\"address\":\"gpu-04\"},{\"type\":\"ExternalIP\"}, 7],"
               "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"),
        TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].address.address, "10.0.0.4");
    SAME(t.events[0].scope.node, "gpu-04");
    assert_true(t.events[0].time_ns == TC_TIME_NONE);
    assert_int_equal(t.events[1].kind, TC_EVENT_NODE_CONDITION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_pod_has_its_own_address_and_its_nodes, setup),
        cmocka_unit_test_setup(a_pod_on_its_nodes_network_has_none, setup),
        cmocka_unit_test_setup(a_pod_without_a_node_says_nothing, setup),
        cmocka_unit_test_setup(a_node_lists_its_addresses, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
