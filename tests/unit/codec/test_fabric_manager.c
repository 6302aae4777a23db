/* SPDX-License-Identifier: Apache-2.0 */
/* Lines are made up after the wording of real ones, but for the sample, which is real. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/time.h"
#include "codec/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FATAL                                                                                   \
    "[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 on " \
    "NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 33\n"
#define NONFATAL                                                                                 \
    "[Jul  9 2024 18:14:07] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid " \
    "0 on NVSwitch pci bus id 00000000:c1:00.0 physical id 1\n"
#define TALK "[Jul 23 2024 07:53:56] [INFO] [tid 841] multicast group 0 is freed.\n"

struct got {
    struct tc_event events[8];
    size_t count;
    size_t unknown;
    struct tc_codec_out *out;
    bool pause;
};

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct got *g = context;
    assert_true(g->count < 8);
    g->events[g->count++] = *ev;
    g->out->pause = g->pause;
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    struct got *g = context;
    (void)offset;
    assert_true(length > 0 && why[0] != '\0');
    g->unknown++;
    return TC_OK;
}

static struct got decode(struct tc_slice bytes, int32_t utc_offset_s, bool pause)
{
    static unsigned char block[4096];
    struct got g = {.pause = pause};
    struct tc_arena arena;
    tc_arena_init(&arena, "test", block, sizeof block);
    struct tc_codec_out out = {
        .event = on_event, .unknown = on_unknown, .context = &g, .arena = &arena};
    struct tc_codec_input in = {.bytes = bytes,
                                .node = TC_LIT("gpu-07"),
                                .utc_offset_s = utc_offset_s,
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = TC_TIME_NONE,
                                .want_unknown = true};
    struct tc_codec_cursor cursor = {0};
    struct tc_error err;
    g.out = &out;
    while (!cursor.done) {
        assert_int_equal(tc_codec_fabric_manager.decode(&in, &cursor, &out, &err), TC_OK);
    }
    assert_int_equal(cursor.events, g.count);
    tc_arena_fini(&arena);
    g.out = NULL;
    return g;
}

static void errors_of_switches_are_sxids(void **state)
{
    (void)state;
    struct got g = decode(TC_LIT(FATAL TALK NONFATAL), 0, false);
    assert_int_equal(g.count, 2);
    assert_int_equal(g.unknown, 1);
    const struct tc_event *ev = &g.events[0];
    assert_int_equal(ev->kind, TC_EVENT_SXID);
    assert_int_equal(ev->time_ns, INT64_C(1721721235) * TC_SECOND);
    assert_int_equal(ev->xid.code, 20034);
    assert_true(tc_slice_eq(ev->xid.severity, TC_LIT("fatal")));
    assert_int_equal(ev->xid.link, 33);
    assert_true(tc_bdf_eq(ev->scope.pci, (struct tc_bdf){0, 0x86, 0, 0, true}));
    assert_true(tc_slice_eq(ev->scope.node, TC_LIT("gpu-07")));
    assert_int_equal(ev->raw.offset, 0);
    assert_int_equal(ev->raw.length, sizeof FATAL - 2);
    ev = &g.events[1];
    assert_int_equal(ev->xid.code, 12028);
    assert_true(tc_slice_eq(ev->xid.severity, TC_LIT("nonfatal")));
    assert_int_equal(ev->xid.link, -1);
}

static void times_are_of_the_zone_that_is_given(void **state)
{
    (void)state;
    struct got g = decode(TC_LIT(FATAL), 7200, false);
    assert_int_equal(g.events[0].time_ns, (INT64_C(1721721235) - 7200) * TC_SECOND);
}

static void pausing_loses_nothing(void **state)
{
    (void)state;
    struct got g = decode(TC_LIT(FATAL NONFATAL FATAL), 0, true);
    assert_int_equal(g.count, 3);
}

static void torn_and_odd_lines_are_no_errors(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error ",
        "[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 123456 on fid 0",
        "[Jul 32 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034",
        "[Foo 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034",
        "[Jul 23 2024 07:53:55] [ERROR] detected NVSwitch fatal error 20034",
        "detected NVSwitch fatal error 20034 on fid 0",
        "[Jul 23 20",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct got g = decode(tc_slice_cstr(lines[i]), 0, false);
        if (g.count != 0) {
            fail_msg("%s", lines[i]);
        }
    }
}

static void the_format_is_told_from_content(void **state)
{
    (void)state;
    assert_ptr_equal(tc_codec_recognise(TC_LIT(TALK TALK), TC_EMPTY), &tc_codec_fabric_manager);
    assert_ptr_not_equal(
        tc_codec_recognise(TC_LIT("[Sun Dec  1 14:54:40 2024] NVRM: Xid (PCI:0000:05:00): 79\n"),
                           TC_EMPTY),
        &tc_codec_fabric_manager);
}

static void the_real_log_has_one_error(void **state)
{
    (void)state;
    const char *samples = getenv("TC_SAMPLES");
    char path[1024];
    static char bytes[1 << 16];
    (void)snprintf(path, sizeof path,
                   "%s/kmsg/testdata/components_accelerator_nvidia_fabric-manager_testdata_"
                   "fabricmanager.log",
                   samples == NULL ? "../shared/samples" : samples);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        print_message("skipped: no samples at %s\n", path);
        skip();
        return;
    }
    size_t len = fread(bytes, 1, sizeof bytes, f);
    assert_int_equal(fclose(f), 0);
    struct tc_slice content = tc_slice_make(bytes, len);
    assert_ptr_equal(tc_codec_recognise(content, TC_EMPTY), &tc_codec_fabric_manager);
    struct got g = decode(content, 0, false);
    assert_int_equal(g.count, 1);
    assert_int_equal(g.events[0].xid.code, 12028);
    assert_int_equal(g.events[0].xid.link, 61);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_switches_are_sxids),
        cmocka_unit_test(times_are_of_the_zone_that_is_given),
        cmocka_unit_test(pausing_loses_nothing),
        cmocka_unit_test(torn_and_odd_lines_are_no_errors),
        cmocka_unit_test(the_format_is_told_from_content),
        cmocka_unit_test(the_real_log_has_one_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
