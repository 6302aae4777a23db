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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_around_a_message_is_taken_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
