/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around messages, and what is left of a line without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "codec/lines/lines_priv.h"

#define TEN_O_CLOCK (INT64_C(1793700000) * TC_SECOND) /* 2026-11-03T10:00:00Z */

static const struct {
    const char *raw;
    const char *text;
    const char *node;
    int32_t rank;
    int64_t time_ns;
    int64_t around_ns;
} LINES[] = {
    {"plain words", "plain words", "", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"2026-11-03T10:00:00Z stdout F it is 2026-11-03 11:00:00 now", "it is 2026-11-03 11:00:00 now",
     "", -1, TEN_O_CLOCK + 3600 * TC_SECOND, TEN_O_CLOCK},
    {"2026-11-03T10:00:00Z stdout F said", "said", "", -1, TEN_O_CLOCK, TEN_O_CLOCK},
    {"{\"log\":\"said\\n\",\"time\":\"2026-11-03T10:00:00Z\"}", "said", "", -1, TEN_O_CLOCK,
     TEN_O_CLOCK},
    {"{\"message\":\"said\",\"host\":{\"name\":\"gpu-07\",\"ip\":[\"10.0.0.7\"]}}", "said",
     "gpu-07", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"{\"line\":\"said\",\"fields\":{\"instance\":\"gpu-07:9100\",\"job\":\"journal\"}}", "said",
     "gpu-07", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"{\"line\":\"said\",\"labels\":{\"instance\":\"10.0.0.7:9100\",\"nodename\":\"gpu-07\"}}",
     "said", "gpu-07", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"{\"log\":\"said\",\"kubernetes\":{\"host\":\"gpu-07\"}}", "said", "gpu-07", -1, TC_TIME_NONE,
     TC_TIME_NONE},
    {"{\"textPayload\":\"said\",\"resource\":{\"labels\":{\"node_name\":\"gpu-07\"}}}", "said",
     "gpu-07", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"{\"log\":\"said\",\"host\":{\"os\":\"linux\"}}", "said", "", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"gpu07: said", "said", "gpu07", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"[1,5]<stderr>: said", "said", "", 5, TC_TIME_NONE, TC_TIME_NONE},
    {"[rank12]: said", "said", "", 12, TC_TIME_NONE, TC_TIME_NONE},
    {"[1,mpirank:12,algo-2]<stderr>:said", "said", "algo-2", 12, TC_TIME_NONE, TC_TIME_NONE},
    {"<13>1 2026-11-03T10:00:00Z gpu07 train 812 - - [rank3]: said", "said", "gpu07", 3,
     TEN_O_CLOCK, TC_TIME_NONE},
    {"<13>1 2026-11-03T10:00:00Z gpu07 train 812 - [x@1 y=\"2\"] said", "said", "gpu07", -1,
     TEN_O_CLOCK, TC_TIME_NONE},
    {"2026-11-03T10:00:00.000000000Z [rank3]: said", "said", "", 3, TEN_O_CLOCK, TC_TIME_NONE},
    {"{\"msg\":\"said\",\"host\":\"gpu07\",\"rank\":3}", "said", "gpu07", 3, TC_TIME_NONE,
     TC_TIME_NONE},
    {"trainer-3  | said", "said", "", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"INFO  | said", "INFO  | said", "", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"> > said", "said", "", -1, TC_TIME_NONE, TC_TIME_NONE},
    /* grep -n, alone and in several files */
    {"12:[rank3]: said", "said", "", 3, TC_TIME_NONE, TC_TIME_NONE},
    {"dmesg.txt:12:said", "said", "", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"logs/rank3.log:said", "said", "", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"my notes.txt:12:said", "my notes.txt:12:said", "", -1, TC_TIME_NONE, TC_TIME_NONE},
    {"archive.zip:said", "archive.zip:said", "", -1, TC_TIME_NONE, TC_TIME_NONE},
};

static void assert_slice(struct tc_slice s, const char *expected)
{
    assert_int_equal(s.len, strlen(expected));
    assert_memory_equal(s.len == 0 ? "" : s.ptr, expected, s.len);
}

static void what_is_around_a_message_is_taken_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < TC_COUNT(LINES); i++) {
        struct tc_slice raw = tc_slice_cstr(LINES[i].raw);
        struct tc_codec_input in = {.bytes = raw, .boot_ns = TC_TIME_NONE, .now_ns = TEN_O_CLOCK};
        struct tc__line line;
        tc__line_frame(&in, raw, NULL, &line);
        print_message("%s\n", LINES[i].raw);
        assert_slice(line.text, LINES[i].text);
        assert_slice(line.scope.node, LINES[i].node);
        assert_int_equal(line.scope.rank, LINES[i].rank);
        assert_int_equal(line.time_ns, LINES[i].time_ns);
        assert_int_equal(line.around_ns, LINES[i].around_ns);
    }
}

static void streams_without_a_rank_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *raw;
        const char *label;
        const char *container;
        int64_t pid;
        int32_t task;
        int32_t replica;
        bool quoted;
    } cases[] = {
        {"12: said", "12", "", -1, 12, -1, false},
        {"[default1]:said", "1", "", -1, -1, -1, false},
        {"(Worker pid=71) said", "71", "", 71, -1, -1, false},
        {"(Worker pid=71, ip=10.0.0.7) said", "", "", 71, -1, -1, false},
        {"trainer_3  | said", "", "trainer_3", -1, -1, 3, false},
        {"trainer-3 exited with code 1", "", "trainer-3", -1, -1, 3, false},
        {"> said", "", "", -1, -1, -1, true},
    };
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_slice raw = tc_slice_cstr(cases[i].raw);
        struct tc_codec_input in = {.bytes = raw, .boot_ns = TC_TIME_NONE, .now_ns = TEN_O_CLOCK};
        struct tc__line line;
        tc__line_frame(&in, raw, NULL, &line);
        print_message("%s\n", cases[i].raw);
        assert_slice(line.label, cases[i].label);
        assert_slice(line.scope.container, cases[i].container);
        assert_int_equal(line.scope.pid, cases[i].pid);
        assert_int_equal(line.task, cases[i].task);
        assert_int_equal(line.replica, cases[i].replica);
        assert_int_equal(line.quoted, cases[i].quoted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_around_a_message_is_taken_off),
        cmocka_unit_test(streams_without_a_rank_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
