/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCIe error reports: one event each, whichever of their lines are there. The
 * texts are made up after the shapes that kernels print.
 */
#include "unit/codec/kmsg_harness.h"

#include <stdio.h>

#define HEADER "pcieport 0000:00:02.0: AER: Corrected error received: 0000:02:00.0\n"
#define BODY                                                                                    \
    "nvidia 0000:02:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver " \
    "ID)\n"
#define STATUS "nvidia 0000:02:00.0:   device [10de:2330] error status/mask=00001000/00002000\n"
#define BITS "nvidia 0000:02:00.0:    [12] Timeout\n"
#define NOISE "usb 1-1: new high-speed USB device\n"

static const struct tc_event *one_aer(const char *text)
{
    return one_event(text, TC_EVENT_AER);
}

static void a_whole_report_is_one_event(void **state)
{
    (void)state;
    const struct result *r = decode_text(HEADER BODY STATUS BITS);
    assert_int_equal(r->count, 1);
    /* The other lines are understood: they are part of it. */
    assert_int_equal(r->unknown_count, 0);
    const struct tc_event *ev = &r->events[0];
    assert_int_equal(ev->kind, TC_EVENT_AER);
    assert_slice(ev->aer.severity, "corrected");
    assert_slice(ev->aer.layer, "data_link");
    assert_slice(ev->aer.errors, "Timeout");
    assert_slice(ev->aer.device_id, "10de:2330");
    assert_int_equal(ev->aer.status, 0x1000);
    assert_int_equal(ev->aer.mask, 0x2000);
    assert_int_equal(ev->aer.count, 1);
    assert_bdf(ev->scope.pci, "0000:02:00.0");
    assert_bdf(ev->aer.reporter, "0000:00:02.0");
    assert_int_equal(ev->raw.offset, sizeof(HEADER BODY) - 1);
    assert_int_equal(ev->raw.length, sizeof STATUS - 2);
}

static void a_header_alone_is_the_event(void **state)
{
    (void)state;
    const struct tc_event *ev = one_aer(HEADER NOISE);
    assert_bdf(ev->scope.pci, "0000:02:00.0");
    assert_bdf(ev->aer.reporter, "0000:00:02.0");
    assert_slice(ev->aer.severity, "corrected");
    assert_slice(ev->aer.errors, "");
    assert_int_equal(ev->aer.status, -1);
    /* "id=" is bus, device and function in the port's domain; zeroes are no source. */
    ev = one_aer("pcieport 0001:00:1c.5: AER: Multiple Corrected error received: id=03e5\n");
    assert_bdf(ev->scope.pci, "0001:03:1c.5");
    ev = one_aer("pcieport 0000:00:1c.5: AER: Corrected error received: id=0000\n");
    assert_bdf(ev->scope.pci, "0000:00:1c.5");
    ev =
        one_aer("pcieport 0000:00:03.1: AER: Correctable error message received from 0000:00:00.0");
    assert_bdf(ev->scope.pci, "0000:00:03.1");
    ev = one_aer("pcieport 0000:00:03.1: AER: Corrected error received: id=ffff");
    assert_bdf(ev->scope.pci, "0000:ff:1f.7");
    ev = one_aer("pcieport 0000:00:03.1: AER: Corrected error received: id=10000");
    assert_bdf(ev->scope.pci, "0000:00:03.1");
    ev = one_aer("pcieport 0000:00:03.1: AER: Corrected error received: id=x");
    assert_bdf(ev->scope.pci, "0000:00:03.1");
}

static void a_body_alone_is_the_event(void **state)
{
    (void)state;
    const struct tc_event *ev = one_aer(BODY);
    assert_slice(ev->aer.layer, "data_link");
    assert_bdf(ev->aer.reporter, "0000:02:00.0");
    ev = one_aer(HEADER BODY NOISE);
    assert_bdf(ev->aer.reporter, "0000:00:02.0");
    assert_bdf(ev->scope.pci, "0000:02:00.0");
}

static void a_status_alone_has_no_severity_and_no_names(void **state)
{
    (void)state;
    const struct tc_event *ev = one_aer(STATUS);
    assert_slice(ev->aer.severity, "");
    assert_slice(ev->aer.errors, "");
    assert_int_equal(ev->aer.status, 0x1000);
    ev = one_aer(HEADER STATUS);
    assert_slice(ev->aer.severity, "corrected");
    assert_slice(ev->aer.layer, "");
    assert_slice(ev->aer.errors, "Timeout");
}

static void severities_and_layers_of_all_wordings_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        const char *severity;
    } cases[] = {
        {"Corrected", "corrected"},
        {"Correctable", "corrected"},
        {"Uncorrected (Fatal)", "fatal"},
        {"Uncorrectable (Fatal)", "fatal"},
        {"Uncorrected (Non-Fatal)", "nonfatal"},
        {"Uncorrectable (Non-Fatal)", "nonfatal"},
    };
    char text[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(text, sizeof text,
                       "pcieport 0000:00:01.2: AER: %s error received from 63:00.0",
                       cases[i].words);
        assert_slice(one_aer(text)->aer.severity, cases[i].severity);
        (void)snprintf(text, sizeof text,
                       "p 0000:00:01.2: AER: PCIe Bus Error: severity=%s, type=Physical Layer, x",
                       cases[i].words);
        assert_slice(one_aer(text)->aer.severity, cases[i].severity);
        assert_slice(one_aer(text)->aer.layer, "physical");
    }
    assert_slice(one_aer("p 00:01.2: PCIe Bus Error: severity=Corrected, type=Transaction Layer, ")
                     ->aer.layer,
                 "transaction");
    assert_slice(
        one_aer("p 00:01.2: PCIe Bus Error: severity=Corrected, type=Inaccessible, (x)")->aer.layer,
        "");
    assert_unknown("p 00:01.2: PCIe Bus Error: severity=Odd, type=x", "no rule for this message");
    assert_unknown("p 00:01.2: AER: Odd error received: 00:01.2", "no rule for this message");
    assert_unknown("p 00:01.2: AER: Uncorrected (Odd) error received: 00:01.2",
                   "no rule for this message");
    assert_unknown("p 00:01.2: AER: Corrected error lost", "no rule for this message");
    assert_unknown("p 00:01.2: AER: enabled with IRQ 122", "no rule for this message");
}

static void names_come_from_the_status_word(void **state)
{
    (void)state;
    char text[512];
#define NAMES(severity, status)                                              \
    (snprintf(text, sizeof text,                                             \
              "p 00:02.0: PCIe Bus Error: severity=" severity ", type=x\n"   \
              "p 00:02.0:   device [1:2] error status/mask=" status "/0\n"), \
     one_aer(text)->aer.errors)
    assert_slice(NAMES("Corrected", "00000001"), "RxErr");
    assert_slice(NAMES("Corrected", "0000f1c1"),
                 "RxErr,BadTLP,BadDLLP,Rollover,Timeout,NonFatalErr,CorrIntErr,HeaderOF");
    assert_slice(NAMES("Uncorrected (Fatal)", "00004020"), "SDES,CmpltTO");
    assert_slice(NAMES("Uncorrected (Non-Fatal)", "00001000"), "TLP");
    assert_slice(NAMES("Uncorrected (Fatal)", "007ff030"),
                 "DLP,SDES,TLP,FCP,CmpltTO,CmpltAbrt,UnxCmplt,RxOF,MalfTLP,ECRC,UnsupReq,ACSViol,"
                 "UncorrIntErr");
    /* Bits without a name keep their number; no bit, no name. */
    assert_slice(NAMES("Corrected", "00000002"), "bit1");
    assert_slice(NAMES("Corrected", "00000000"), "");
    assert_int_equal(
        one_aer("p 00:02.0:   device [1:2] error status/mask=ffffffff/ffffffff")->aer.mask,
        0xffffffff);
#undef NAMES
    assert_unknown("p 00:02.0:   device [1:2] error status/mask=1ffffffff/0",
                   "no rule for this message");
    assert_unknown("p 00:02.0:   device [1:2] is fine", "no rule for this message");
    assert_unknown("p 00:02.0:   device [1:2] error status/mask=", "no rule for this message");
    assert_int_equal(one_aer("p 00:02.0:   device [1:2] error status/mask=20")->aer.mask, -1);
}

static void every_device_of_a_report_is_an_event(void **state)
{
    (void)state;
    const struct result *r =
        decode_text("pcieport 0000:00:01.0: AER: Multiple Corrected error received: 0000:01:00.0\n"
                    "a 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (x)\n"
                    "a 0000:01:00.0:   device [1:2] error status/mask=00000040/0\n"
                    "b 0000:02:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (x)\n"
                    "b 0000:02:00.0:   device [1:2] error status/mask=00000001/0\n");
    assert_int_equal(r->count, 2);
    assert_bdf(r->events[0].scope.pci, "0000:01:00.0");
    assert_bdf(r->events[1].scope.pci, "0000:02:00.0");
    assert_bdf(r->events[0].aer.reporter, "0000:00:01.0");
    assert_bdf(r->events[1].aer.reporter, "0000:00:01.0");
}

static void reports_that_follow_each_other_stay_apart(void **state)
{
    (void)state;
    assert_int_equal(decode_text(HEADER BODY STATUS BITS HEADER BODY STATUS BITS)->count, 2);
    assert_int_equal(decode_text(BODY BODY STATUS)->count, 2);
    assert_int_equal(decode_text(HEADER HEADER BODY STATUS)->count, 2);
    /* The severity of the report before is not taken over. */
    const struct result *r = decode_text(BODY STATUS STATUS);
    assert_int_equal(r->count, 2);
    assert_slice(r->events[1].aer.severity, "");
}

static void lines_are_joined_over_eight_lines_and_not_over_nine(void **state)
{
    (void)state;
    const struct tc_event *ev = one_aer(BODY NOISE NOISE NOISE NOISE NOISE NOISE NOISE STATUS);
    assert_slice(ev->aer.severity, "corrected");
    const struct result *r =
        decode_text(BODY NOISE NOISE NOISE NOISE NOISE NOISE NOISE NOISE STATUS);
    assert_int_equal(r->count, 2);
    assert_slice(r->events[1].aer.severity, "");
}

static void reports_of_two_hosts_are_not_mixed(void **state)
{
    (void)state;
    const struct result *r = decode_text("h1 kernel: " BODY "h2 kernel: " STATUS);
    assert_int_equal(r->count, 2);
    assert_slice(r->events[0].scope.node, "h1");
    assert_slice(r->events[1].aer.severity, "");
    r = decode_text("h1 kernel: " HEADER "h2 kernel: " HEADER "h1 kernel: " BODY "h2 kernel: " BODY
                    "h2 kernel: " STATUS "h1 kernel: " STATUS);
    assert_int_equal(r->count, 2);
    assert_slice(r->events[0].scope.node, "h2");
    assert_slice(r->events[1].aer.severity, "corrected");
    /* Nor with what a program says. */
    r = decode_text("Sep 19 16:18:02 h app[1]: " BODY "Sep 19 16:18:02 h kernel: " STATUS);
    assert_int_equal(r->count, 1);
    assert_slice(r->events[0].aer.severity, "");
}

static void firmware_first_reports_are_read(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_aer("nvidia 0000:02:00.0: AER: aer_status: 0x00000041, aer_mask: 0x00002000\n"
                "nvidia 0000:02:00.0: AER:    [ 0] RxErr\n"
                "nvidia 0000:02:00.0: AER:    [ 6] BadTLP\n"
                "nvidia 0000:02:00.0: AER: aer_layer=Physical Layer, aer_agent=Receiver ID\n");
    assert_slice(ev->aer.severity, "corrected");
    assert_slice(ev->aer.errors, "RxErr,BadTLP");
    assert_int_equal(ev->aer.mask, 0x2000);
    ev = one_aer("nvidia 0000:02:00.0: aer_status: 0x00040000, aer_mask: 0x00000000\n"
                 "other 0000:03:00.0: aer_uncor_severity: 0x00000000\n"
                 "nvidia 0000:02:00.0: aer_uncor_severity: 0x00062030\n");
    assert_slice(ev->aer.severity, "fatal");
    assert_slice(ev->aer.errors, "MalfTLP");
    ev = one_aer("nvidia 0000:02:00.0: aer_status: 0x00004000, aer_mask: 0x00000000\n"
                 "nvidia 0000:02:00.0: aer_uncor_severity: 0x00062030\n");
    assert_slice(ev->aer.severity, "nonfatal");
    ev = one_aer("nvidia 0000:02:00.0: aer_status: 0x00044000, aer_mask: 0x00040000\n"
                 "nvidia 0000:02:00.0: aer_uncor_severity: 0x00062030\n");
    assert_slice(ev->aer.severity, "nonfatal");
    ev = one_aer("nvidia 0000:02:00.0: aer_status: 0x00040000\n"
                 "nvidia 0000:02:00.0: aer_uncor_severity: 0x00062030\n");
    assert_slice(ev->aer.severity, "fatal");
    const struct result *r =
        decode_text("nvidia 0000:02:00.0: aer_status: 0x00000001, aer_mask: 0x0\n"
                    "nvidia 0000:02:00.0: aer_status: 0x00004000, aer_mask: 0x0\n"
                    "nvidia 0000:02:00.0: aer_uncor_severity: 0x00062030\n");
    assert_int_equal(r->count, 2);
    assert_slice(r->events[0].aer.severity, "corrected");
    assert_unknown("nvidia 0000:02:00.0: aer_status: 0xz", "no rule for this message");
}

static void details_of_a_report_are_told_from_other_lines(void **state)
{
    (void)state;
    assert_int_equal(decode_text("p 00:02.0:    [31] TLPXlatBlocked\n")->unknown_count, 0);
    assert_int_equal(decode_text("p 00:02.0:   TLP Header: 1 2 3 4\n")->unknown_count, 0);
    assert_unknown("p 00:02.0:    [32] what", "no rule for this message");
    assert_unknown("p 00:02.0:    [12]what", "no rule for this message");
    assert_unknown("p 00:02.0", "no rule for this message");
    assert_unknown("p 00:02.0 AER: Corrected error received: 00:02.0", "no rule for this message");
}

static void reports_of_two_devices_may_interleave(void **state)
{
    (void)state;
    const struct result *r =
        decode_text("a 00:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (x)\n"
                    "b 00:02.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Physical Layer\n"
                    "a 00:01.0:   device [1:2] error status/mask=00000001/0\n"
                    "b 00:02.0:   device [1:2] error status/mask=00000010/0\n");
    assert_int_equal(r->count, 2);
    assert_slice(r->events[0].aer.severity, "corrected");
    assert_slice(r->events[1].aer.severity, "fatal");
    /* The header above the first of two bodies is not the second's. */
    r = decode_text(HEADER BODY BODY);
    assert_int_equal(r->count, 2);
    assert_bdf(r->events[0].aer.reporter, "0000:00:02.0");
    assert_bdf(r->events[1].aer.reporter, "0000:02:00.0");
}

static void lines_too_long_to_read_part_a_report(void **state)
{
    (void)state;
    static char text[3 * 65536];
    static const struct {
        size_t filler;
        size_t events;
    } cases[] = {{65535, 1}, {65536, 1}, {65537, 2}, {100000, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_slice body = TC_LIT(BODY);
        struct tc_slice status = TC_LIT(STATUS);
        memcpy(text, body.ptr, body.len);
        memset(text + body.len, 'x', cases[i].filler);
        text[body.len + cases[i].filler] = '\n';
        memcpy(text + body.len + cases[i].filler + 1, status.ptr, status.len);
        size_t len = body.len + cases[i].filler + 1 + status.len;
        const struct result *r = decode_input(harness_input(tc_slice_make(text, len)));
        assert_int_equal(r->count, cases[i].events);
        assert_slice(r->events[r->count - 1].aer.severity, cases[i].events == 1 ? "corrected" : "");
    }
}

static void repeated_reports_are_counted(void **state)
{
    (void)state;
    assert_int_equal(
        one_aer("h kernel: message repeated 7 times: [ pcieport 00:02.0: AER: Corrected "
                "error received: 0000:02:00.0]")
            ->aer.count,
        7);
}

static void slow_links_have_their_rate_and_their_best(void **state)
{
    (void)state;
    const struct tc_event *ev = one_event(
        "[    3.067686] pci 0000:01:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 "
        "GT/s "
        "PCIe x4 link at 0000:00:01.0 (capable of 252.048 Gb/s with 16.5 GT/s PCIe x16 link)",
        TC_EVENT_PCIE_LINK);
    assert_bdf(ev->scope.pci, "0000:01:00.0");
    assert_bdf(ev->aer.reporter, "0000:00:01.0");
    assert_true(ev->aer.speed_gts == 8.0);
    assert_true(ev->aer.speed_gts_max == 16.5);
    assert_int_equal(ev->aer.width, 4);
    assert_int_equal(ev->aer.width_max, 16);
    ev =
        one_event("pci 0000:01:00.0: 7 Gb/s available PCIe bandwidth, limited by 8 GT/s x1 link at",
                  TC_EVENT_PCIE_LINK);
    assert_int_equal(ev->aer.width, 1);
    assert_int_equal(ev->aer.width_max, 0);
    assert_false(ev->aer.reporter.known);
    ev = one_event("pci 00:01.0: 7 Gb/s available PCIe bandwidth, limited by 8. GT/s x32 link",
                   TC_EVENT_PCIE_LINK);
    assert_int_equal(ev->aer.width, 32);
    assert_unknown("pci 0000:01:00.0: 63 Gb/s available PCIe bandwidth (8 GT/s x8 link)",
                   "no rule for this message");
    const char *why = "PCIe bandwidth without a device or a rate";
    assert_unknown("pci x: 7 Gb/s available PCIe bandwidth, limited by 8 GT/s x1 link", why);
    assert_unknown("pci 00:01.0: 7 Gb/s available PCIe bandwidth, limited by Unknown x1 link", why);
    assert_unknown("pci 00:01.0: 7 Gb/s available PCIe bandwidth, limited by 8 GT/s y1 link", why);
    assert_unknown("pci 00:01.0: 7 Gb/s available PCIe bandwidth, limited by 8 GT/s x0 link", why);
    assert_unknown("pci 00:01.0: 7 Gb/s available PCIe bandwidth, limited by 8 GT/s x33 link", why);
    assert_unknown("pci 00:01.0: 7 Gb/s available PCIe bandwidth, limited by 8 GHz x1 link", why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_report_is_one_event),
        cmocka_unit_test(a_header_alone_is_the_event),
        cmocka_unit_test(a_body_alone_is_the_event),
        cmocka_unit_test(a_status_alone_has_no_severity_and_no_names),
        cmocka_unit_test(severities_and_layers_of_all_wordings_are_read),
        cmocka_unit_test(names_come_from_the_status_word),
        cmocka_unit_test(every_device_of_a_report_is_an_event),
        cmocka_unit_test(reports_that_follow_each_other_stay_apart),
        cmocka_unit_test(lines_are_joined_over_eight_lines_and_not_over_nine),
        cmocka_unit_test(reports_of_two_hosts_are_not_mixed),
        cmocka_unit_test(firmware_first_reports_are_read),
        cmocka_unit_test(details_of_a_report_are_told_from_other_lines),
        cmocka_unit_test(reports_of_two_devices_may_interleave),
        cmocka_unit_test(lines_too_long_to_read_part_a_report),
        cmocka_unit_test(repeated_reports_are_counted),
        cmocka_unit_test(slow_links_have_their_rate_and_their_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
