/* SPDX-License-Identifier: Apache-2.0 */
/* Every text here is invented, after the form of real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reader_testing.h"

#define CODEC &tc_codec_infiniband

#define STATES                                                                \
    "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n" \
    "\tPort 2:\n\t\tState: \x1b[31mDown\x1b[0m\n"                             \
    "gpu09: Infiniband device 'mlx5_3' port 1 status:\n"                      \
    "gpu09: \tstate:\t\t 2: INIT\n"                                           \
    "hca_id:\tmlx5_4\n\t\tport:\t1\n\t\t\tstate:\t\tPORT_ARMED (3)\n"         \
    "link mlx5_7/1 state DOWN physical_state POLLING netdev ib7\n"            \
    "/sys/class/infiniband/mlx5_1/ports/1/state:1: DOWN\n"

static void states_are_of_the_port_above(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        double value;
    } want[] = {{"mlx5_0", 4}, {"mlx5_0/2", 1}, {"mlx5_3", 2},
                {"mlx5_4", 3}, {"mlx5_7", 1},   {"mlx5_1", 1}};
    struct reader_got *g = reader_decode(CODEC, STATES, strlen(STATES));
    assert_int_equal(g->count, TC_COUNT(want));
    for (size_t i = 0; i < g->count; i++) {
        assert_int_equal(g->events[i].metric.metric, TC_METRIC_IB_STATE);
        assert_slice(g->events[i].metric.device, want[i].device);
        assert_true(g->events[i].metric.value == want[i].value);
    }
    assert_slice(g->events[2].scope.node, "gpu09");
    reader_free(g);
    assert_int_equal(reader_sniff(CODEC, STATES), TC_SNIFF_LIKELY);
}

#define COUNTERS                                                                    \
    "# Port counters: Lid 22 port 17 (CapMask: 0x1A00)\n"                           \
    "SymbolErrorCounter:..............65535\nLinkDownedCounter:...............12\n" \
    "PortXmitWait:....................9823\n"                                       \
    "Errors for \"gpu-07 mlx5_3\"\n"                                                \
    "   GUID 0xa0 port ALL: [SymbolErrorCounter == 5]\n"                            \
    "   GUID 0xa0 port 1: [LinkErrorRecoveryCounter == 3] [PortXmitWait == 3] "     \
    "[PortRcvErrors == 4]\n"                                                        \
    "Port=1 Lid=0x0075 GUID=0xa0 Device=4129 Port Name=gpu-08/U1/P1\n"              \
    "symbol_error_counter=1123\n"                                                   \
    "-W- lid=0x0011 guid=0x0002 dev=26428 cn-0412/P1\n"                             \
    "    link_down_counter               : 0xff (overflow)\n"                       \
    "/sys/class/infiniband/mlx5_4/ports/2/counters/link_downed:7\n"

static void counters_have_many_names(void **state)
{
    (void)state;
    static const struct {
        enum tc_metric metric;
        const char *device;
        double value;
    } want[] = {
        {TC_METRIC_IB_SYMBOL_ERRORS, "Lid 22/17", 65535},
        {TC_METRIC_IB_LINK_DOWNED, "Lid 22/17", 12},
        {TC_METRIC_IB_LINK_RECOVERY, "mlx5_3", 3},
        {TC_METRIC_IB_RCV_ERRORS, "mlx5_3", 4},
        {TC_METRIC_IB_SYMBOL_ERRORS, "gpu-08/U1/P1", 1123},
        {TC_METRIC_IB_LINK_DOWNED, "cn-0412/P1", 255},
        {TC_METRIC_IB_LINK_DOWNED, "mlx5_4/2", 7},
    };
    struct reader_got *g = reader_decode(CODEC, COUNTERS, strlen(COUNTERS));
    assert_int_equal(g->count, TC_COUNT(want));
    for (size_t i = 0; i < g->count; i++) {
        assert_int_equal(g->events[i].metric.metric, want[i].metric);
        assert_slice(g->events[i].metric.device, want[i].device);
        assert_true(g->events[i].metric.value == want[i].value);
    }
    assert_slice(g->events[2].scope.node, "gpu-07");
    reader_free(g);
}

#define LINKS                                                                                   \
    "Switch: 0xfc6a leaf-12:\n"                                                                 \
    "     9    1[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"          \
    "CA: gpu-07 mlx5_3:\n"                                                                      \
    "  0xa088    117    1[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n" \
    "0xa089 \"         gpu-08 mlx5_0\"    114    1[  ] ==( 4X   106.25 Gbps Active/  "          \
    "LinkUp)==>  0xfc  9  1[  ] \"leaf-12\" ( )\n"

static void links_of_switches_may_be_down(void **state)
{
    (void)state;
    struct reader_got *g = reader_decode(CODEC, LINKS, strlen(LINKS));
    assert_int_equal(g->count, 2);
    assert_slice(g->events[0].metric.device, "mlx5_3");
    assert_slice(g->events[0].scope.node, "gpu-07");
    assert_true(g->events[0].metric.value == 1);
    assert_slice(g->events[1].scope.node, "gpu-08");
    assert_true(g->events[1].metric.value == 4);
    reader_free(g);
}

static void states_without_a_port_are_not_read(void **state)
{
    (void)state;
    static const char *const others[] = {
        "State: Down\nstate: 1: DOWN\nSymbolErrorCounter:....5\n",
        "Name: x\nState: Running\n",
        "[   10.0] mlx5_core 0000:5e:00.0: Port module event: module 0, Cable plugged\n",
    };
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        struct reader_got *g = reader_decode(CODEC, others[i], strlen(others[i]));
        assert_int_equal(g->count, 0);
        reader_free(g);
        assert_int_equal(reader_sniff(CODEC, others[i]), TC_SNIFF_NO);
    }
}

static void hostile_texts_are_read(void **state)
{
    (void)state;
    reader_cut_anywhere(CODEC, STATES);
    reader_cut_anywhere(CODEC, COUNTERS);
    reader_cut_anywhere(CODEC, LINKS);
    static const char text[] =
        "CA ''\nState: \nCA 'x\0y'\nPort 999999999999999999999:\nState: Down\n"
        "# Port counters: Lid 1 port 1\nPortRcvErrors:99999999999999999999999\n"
        "] ==(/)==\n==(\n/ports/\n[ == ]\nErrors for \"\"\nGUID 0x1 port 1: [ == ]\n";
    reader_free(reader_decode(CODEC, text, sizeof text - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_of_the_port_above),
        cmocka_unit_test(counters_have_many_names),
        cmocka_unit_test(links_of_switches_may_be_down),
        cmocka_unit_test(states_without_a_port_are_not_read),
        cmocka_unit_test(hostile_texts_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
