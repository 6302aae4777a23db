/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of kernel logs that other tools make of them. All texts here are made up. */
#include "unit/codec/kmsg_harness.h"

#define BOM "\xef\xbb\xbf"
#define XID "NVRM: Xid (PCI:0000:b3:00): 79, pid=1234, name=python, GPU has fallen off the bus."
#define ISO "2026-03-07T10:00:00"

static const struct tc_event *one_xid(const char *text)
{
    return one_event(text, TC_EVENT_XID);
}

static int sniff(const char *text)
{
    return tc_codec_sniff(&tc_codec_kmsg, tc_slice_cstr(text), true, TC_EMPTY);
}

static void a_byte_order_mark_hides_no_line(void **state)
{
    (void)state;
    assert_int_equal(one_xid(BOM "[Sat Mar  7 10:00:00 2026] " XID "\n")->time_ns, at(ISO "Z"));
    assert_int_equal(one_xid(BOM "[ 12.5] " XID)->uptime_ns, INT64_C(12500000000));
    assert_int_equal(one_xid(BOM "[ 12.5] " XID)->raw.offset, 0);
    assert_slice(one_xid(BOM "_HOSTNAME=gpu-07\nMESSAGE=" XID "\n\n")->scope.node, "gpu-07");
    assert_slice(one_xid(BOM "{\n\t\"_HOSTNAME\" : \"gpu-07\",\n\t\"_TRANSPORT\" : \"kernel\",\n"
                             "\t\"MESSAGE\" : \"" XID "\"\n}\n")
                     ->scope.node,
                 "gpu-07");
    assert_unknown(BOM "# " XID, "comment");
    assert_unknown("\xef\xbb[ 12.5] " XID, "no rule for this message");
}

static void rfc5424_lines_are_read(void **state)
{
    (void)state;
    const struct tc_event *ev = one_xid("<3>1 " ISO "Z gpu-07 kernel - - - " XID "\n");
    assert_int_equal(ev->time_ns, at(ISO "Z"));
    assert_slice(ev->scope.node, "gpu-07");
    ev = one_xid("<3>1 " ISO ".5+01:00 gpu-07 kernel 1 id [a@1 k=\"]\\\"\"][b] " BOM "[ 1.5] " XID);
    assert_int_equal(ev->time_ns, at("2026-03-07T09:00:00.5Z"));
    ev = one_xid("<3>1 - - kernel - - - [ 1.5] " XID);
    assert_true(ev->time_ns == TC_TIME_NONE);
    assert_int_equal(ev->uptime_ns, INT64_C(1500000000));
    assert_slice(ev->scope.node, "node-of-input");
    assert_int_equal(sniff("<3>1 " ISO "Z gpu-07 app - - - up\n"), TC_SNIFF_LIKELY);
}

static void rfc5424_lines_of_others_are_not_evidence(void **state)
{
    (void)state;
    assert_unknown("<11>1 " ISO "Z gpu-07 kernel - - - " XID, "not a kernel line");
    assert_unknown("<3>1 " ISO "Z gpu-07 app 12 - - " XID, "not a kernel line");
    assert_unknown("<3>2 " ISO "Z gpu-07 kernel - - - " XID, "no rule for this message");
    assert_unknown("<3>1 today gpu-07 kernel - - - " XID, "no rule for this message");
    assert_unknown("<3>1 " ISO "Z gpu-07 kernel - - [open k=\"]\" " XID,
                   "no rule for this message");
    assert_unknown("<3>1 " ISO "Z gpu-07 kernel - - -" XID, "no rule for this message");
    assert_unknown("<3>1 " ISO "Z gpu-07 kernel", "no rule for this message");
}

static void a_priority_in_front_of_other_shapes_is_taken_off(void **state)
{
    (void)state;
    struct tc_codec_input in = harness_input(TC_LIT("<3>Mar  7 10:00:00 gpu-07 kernel: " XID));
    in.now_ns = at("2026-03-08T00:00:00Z");
    assert_int_equal(decode_input(in)->count, 1);
    assert_int_equal(decode_input(in)->events[0].time_ns, at(ISO "Z"));
    assert_slice(one_xid("<3>" ISO "Z gpu-07 kernel: " XID)->scope.node, "gpu-07");
    assert_unknown("<14>Mar  7 10:00:00 gpu-07 kernel: " XID, "not a kernel line");
}

static void journalctl_short_full_is_read(void **state)
{
    (void)state;
    const struct tc_event *ev = one_xid("Sat 2026-03-07 10:00:00 UTC gpu-07 kernel: " XID);
    assert_int_equal(ev->time_ns, at(ISO "Z"));
    assert_slice(ev->scope.node, "gpu-07");
    assert_int_equal(one_xid("Sat 2026-03-07 10:00:00 +0530 h kernel: " XID)->time_ns,
                     at(ISO "+05:30"));
    assert_int_equal(one_xid("Sat 2026-03-07 10:00:00 -03 h kernel: " XID)->time_ns,
                     at(ISO "-03:00"));
    /* What a name stands for depends on the country: the zone of the input decides. */
    struct tc_codec_input in = harness_input(TC_LIT("Sat 2026-03-07 10:00:00 CST h kernel: " XID));
    in.utc_offset_s = 28800;
    assert_int_equal(decode_input(in)->events[0].time_ns, at(ISO "+08:00"));
    in.bytes = TC_LIT("Sat 2026-03-07 10:00:00 UTC h kernel: " XID);
    assert_int_equal(decode_input(in)->events[0].time_ns, at(ISO "Z"));
    assert_unknown("Sat 2026-03-07 10:00:00 UTC gpu-07 app[12]: " XID, "not a kernel line");
    assert_unknown("Sat 2026-03-07 10:00:00 " XID, "no rule for this message");
    assert_unknown("Sat 2026-03-07 10:00:00", "no rule for this message");
    assert_int_equal(one_xid("sat 2026-03-07 10:00:00 UTC h kernel: " XID)->time_ns, TC_TIME_NONE);
}

static void journalctl_short_unix_is_read(void **state)
{
    (void)state;
    const struct tc_event *ev = one_xid("1772877600.123456 gpu-07 kernel: " XID);
    assert_int_equal(ev->time_ns, at(ISO ".123456Z"));
    assert_slice(ev->scope.node, "gpu-07");
    assert_unknown("1772877600.123456 gpu-07 app[12]: " XID, "not a kernel line");
    assert_unknown("1772877600.123456 " XID, "no rule for this message");
    assert_unknown("1772877600 gpu-07 kernel: " XID, "no rule for this message");
    assert_unknown("99999999999.123456 gpu-07 kernel: " XID, "no rule for this message");
    assert_int_equal(sniff("1772877600.123456 12 10.0.0.1 GET /\n"), TC_SNIFF_NO);
}

static void journalctl_short_monotonic_is_read(void **state)
{
    (void)state;
    const struct tc_event *ev = one_xid("[  123.456789] gpu-07 kernel: " XID);
    assert_int_equal(ev->uptime_ns, INT64_C(123456789000));
    assert_slice(ev->scope.node, "gpu-07");
}

static void a_collectors_time_in_front_of_the_uptime_dates_the_line(void **state)
{
    (void)state;
    const struct tc_event *ev = one_xid(ISO ".123456789Z [  123.4] " XID);
    assert_int_equal(ev->time_ns, at(ISO ".123456789Z"));
    assert_true(ev->uptime_ns == TC_TIME_NONE);
    assert_slice(one_xid(ISO "Z [  123.4] gpu-07 kernel: " XID)->scope.node, "gpu-07");
    assert_int_equal(one_xid(ISO "Z [Sat Mar  7 09:59:00 2026] " XID)->time_ns,
                     at("2026-03-07T09:59:00Z"));
    assert_int_equal(sniff(ISO "Z [  123.4] usb 1-1: new device\n"), TC_SNIFF_LIKELY);
    /* A number without a fraction is a program's process id. */
    assert_unknown("2026-03-07 10:00:00 [1234] " XID, "no rule for this message");
    assert_int_equal(sniff("2026-03-07 10:00:00 [1234] LOG: ready\n"), TC_SNIFF_NO);
}

static void the_minute_headings_of_dmesg_have_a_date(void **state)
{
    (void)state;
    struct tc_codec_input in = harness_input(TC_LIT("[Mar 7 10:00] " XID));
    in.now_ns = at("2026-05-01T00:00:00Z");
    assert_int_equal(decode_input(in)->events[0].time_ns, at(ISO "Z"));
    in.bytes = TC_LIT("[Mar17 10:00] " XID);
    assert_int_equal(decode_input(in)->events[0].time_ns, at("2026-03-17T10:00:00Z"));
    in.bytes = TC_LIT("[Mar  7 10:00] " XID);
    assert_int_equal(decode_input(in)->events[0].time_ns, at(ISO "Z"));
    assert_true(one_xid("[Mar 7 10:00] " XID)->time_ns == TC_TIME_NONE);
    assert_unknown("[Mar 7 10:00 " XID, "no rule for this message");
    assert_unknown("[Mar 10:00] " XID, "no rule for this message");
    assert_unknown("[Mar 7 1000] " XID, "no rule for this message");
    assert_unknown("[Foo 7 10:00] " XID, "no rule for this message");
}

static void the_deltas_of_dmesg_are_taken_off(void **state)
{
    (void)state;
    assert_int_equal(one_xid("[   12.500000 <    0.000844>] " XID)->uptime_ns,
                     INT64_C(12500000000));
    assert_int_equal(one_xid("[Sat Mar  7 10:00:00 2026 <    0.000844>] " XID)->time_ns,
                     at(ISO "Z"));
    assert_unknown("[   12.500000 <    0.000844] " XID, "no rule for this message");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_order_mark_hides_no_line),
        cmocka_unit_test(rfc5424_lines_are_read),
        cmocka_unit_test(rfc5424_lines_of_others_are_not_evidence),
        cmocka_unit_test(a_priority_in_front_of_other_shapes_is_taken_off),
        cmocka_unit_test(journalctl_short_full_is_read),
        cmocka_unit_test(journalctl_short_unix_is_read),
        cmocka_unit_test(journalctl_short_monotonic_is_read),
        cmocka_unit_test(a_collectors_time_in_front_of_the_uptime_dates_the_line),
        cmocka_unit_test(the_minute_headings_of_dmesg_have_a_date),
        cmocka_unit_test(the_deltas_of_dmesg_are_taken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
