/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel messages out of the systemd journal, exported as text or JSON. All records are made up. */
#include "unit/codec/kmsg_harness.h"

#define XID "NVRM: Xid (PCI:0000:b3:00): 79, pid=1234, name=python, GPU has fallen off the bus."
#define HEAD \
    "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1737434504285060\n__MONOTONIC_TIMESTAMP=12500000\n"
#define KERNEL HEAD "_TRANSPORT=kernel\n_HOSTNAME=gpu-07\n"

/* Bytes with NULs in them: a literal with its length. */
#define BYTES(s) harness_input(tc_slice_make((s), sizeof(s) - 1))

static void export_records_have_time_and_host(void **state)
{
    (void)state;
    const struct result *r = decode_text(KERNEL "PRIORITY=3\nMESSAGE=" XID "\n\n");
    assert_int_equal(r->count, 1);
    assert_int_equal(r->events[0].time_ns, at("2025-01-21T04:41:44.285060Z"));
    assert_true(r->events[0].uptime_ns == TC_TIME_NONE);
    assert_slice(r->events[0].scope.node, "gpu-07");
    assert_slice(r->events[0].xid.process, "python");
    /* The whole record is the evidence: it proves the time and the host too. */
    assert_int_equal(r->events[0].raw.offset, 0);
    assert_int_equal(r->events[0].raw.length, sizeof(KERNEL "PRIORITY=3\nMESSAGE=" XID) - 1);
    assert_int_equal(decode_text(KERNEL "MESSAGE=" XID)->events[0].raw.length,
                     sizeof(KERNEL "MESSAGE=" XID) - 1);
}

static void records_without_a_real_time_have_an_uptime(void **state)
{
    (void)state;
    const char *text = "__MONOTONIC_TIMESTAMP=12500000\n_TRANSPORT=kernel\nMESSAGE=" XID "\n\n";
    const struct tc_event *ev = one_event(text, TC_EVENT_XID);
    assert_true(ev->time_ns == TC_TIME_NONE);
    assert_int_equal(ev->uptime_ns, INT64_C(12500000000));
    assert_slice(ev->scope.node, "node-of-input");
    struct tc_codec_input in = harness_input(tc_slice_cstr(text));
    in.boot_ns = at("2025-01-01T00:00:00Z");
    assert_int_equal(decode_input(in)->events[0].time_ns, at("2025-01-01T00:00:12.5Z"));
    assert_true(
        one_event("__REALTIME_TIMESTAMP=99999999999999999999\nMESSAGE=" XID "\n", TC_EVENT_XID)
            ->time_ns == TC_TIME_NONE);
}

static void only_the_kernels_records_count(void **state)
{
    (void)state;
    assert_unknown(HEAD "_TRANSPORT=syslog\nMESSAGE=" XID "\n\n", "not a kernel line");
    assert_unknown(HEAD "SYSLOG_IDENTIFIER=myapp\nMESSAGE=" XID "\n\n", "not a kernel line");
    assert_int_equal(decode_text(HEAD "SYSLOG_IDENTIFIER=kernel\nMESSAGE=" XID "\n\n")->count, 1);
    assert_int_equal(decode_text(HEAD "MESSAGE=" XID "\n\n")->count, 1);
    assert_unknown(KERNEL "MESSAGE=usb 1-1: new device\n\n", "no rule for this message");
    assert_unknown(KERNEL "MESSAGE_ID=1\n\n", "no rule for this message");
    /* A second value does not replace the first. */
    assert_unknown(HEAD "_TRANSPORT=stdout\n_TRANSPORT=kernel\nMESSAGE=" XID "\n\n",
                   "not a kernel line");
}

static void binary_fields_are_read_by_their_length(void **state)
{
    (void)state;
    const struct result *r = decode_input(
        BYTES(KERNEL "MESSAGE\n\x27\0\0\0\0\0\0\0NVRM: Xid (PCI:0000:b3:00): 79, a\n\nb=c\n\n\n"));
    assert_int_equal(r->count, 1);
    assert_slice(r->events[0].xid.message, "a\n\nb=c");
}

static void a_record_inside_a_message_is_not_believed(void **state)
{
    (void)state;
    /* An empty line and a whole record that claims to be the kernel's. */
    static const char forged[] =
        "\n\n_TRANSPORT=kernel\nMESSAGE=NVRM: Xid (PCI:0000:b3:00): 79, pid=1, name=x, forged "
        "by a program that logs what it likes\n\n";
    char text[1024];
    size_t len = 0;
    memcpy(text, HEAD "_TRANSPORT=stdout\nMESSAGE\n", sizeof(HEAD "_TRANSPORT=stdout\nMESSAGE\n"));
    len = strlen(text);
    memset(text + len, 0, 8);
    text[len] = (char)(sizeof forged - 1);
    len += 8;
    memcpy(text + len, forged, sizeof forged);
    len += sizeof forged - 1;
    memcpy(text + len, "\n\n" KERNEL "MESSAGE=" XID "\n\n",
           sizeof("\n\n" KERNEL "MESSAGE=" XID "\n\n"));
    len += sizeof("\n\n" KERNEL "MESSAGE=" XID "\n\n") - 1;
    const struct result *r = decode_input(harness_input(tc_slice_make(text, len)));
    assert_int_equal(r->count, 1);
    assert_slice(r->events[0].xid.process, "python");
    assert_int_equal(r->unknown_count, 1);
    assert_string_equal(r->unknown[0].why, "not a kernel line");
}

/* Ends in an error at `offset`. */
static const struct result *torn(struct tc_codec_input in, size_t offset)
{
    const struct result *r = decode_to(in, TC_E_MALFORMED);
    assert_int_equal(r->error_offset, offset);
    return r;
}

static void torn_records_are_believed_only_with_their_transport(void **state)
{
    (void)state;
    size_t at_field = sizeof(HEAD "MESSAGE=" XID "\n") - 1;
    const struct result *r =
        torn(BYTES(HEAD "MESSAGE=" XID "\nCOREDUMP\n\xff\xff\0\0\0\0\0\0tail"), at_field);
    assert_int_equal(r->count, 0);
    assert_string_equal(r->unknown[0].why, "not a kernel line");
    at_field = sizeof(KERNEL "MESSAGE=" XID "\n") - 1;
    r = torn(BYTES(KERNEL "MESSAGE=" XID "\nCOREDUMP\n\xff\xff\xff\xff\xff\xff\xff\xff"), at_field);
    assert_int_equal(r->count, 1);
    r = torn(BYTES(KERNEL "MESSAGE=" XID "\nCOREDUMP\n\x01\0\0"), at_field);
    assert_int_equal(r->count, 1);
    r = torn(BYTES(KERNEL "MESSAGE=" XID "\nCOREDUMP"), at_field);
    assert_int_equal(r->count, 1);
}

static void whole_records_before_a_tear_are_delivered(void **state)
{
    (void)state;
#define WHOLE KERNEL "MESSAGE=" XID "\n\n"
    const struct result *r =
        torn(BYTES(WHOLE WHOLE HEAD "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff" XID "\n\n" WHOLE),
             sizeof(WHOLE WHOLE HEAD) - 1);
    assert_int_equal(r->count, 2);
    /* A length that does not end at the end of a line: what follows cannot be told apart. */
    r = torn(BYTES(WHOLE HEAD "MESSAGE\n\x01\0\0\0\0\0\0\0abc\n\n" WHOLE), sizeof(WHOLE HEAD) - 1);
    assert_int_equal(r->count, 1);
    /* No literal at all behind the last event, or anywhere. */
    r = torn(BYTES(WHOLE HEAD "MESSAGE\n\x09\0\0\0\0\0\0\0abc"), sizeof(WHOLE HEAD) - 1);
    assert_int_equal(r->count, 1);
    r = torn(BYTES(HEAD "MESSAGE\n\x09\0\0\0\0\0\0\0abc"), sizeof(HEAD) - 1);
    assert_int_equal(r->count, 0);
    r = decode_input(BYTES(WHOLE HEAD "MESSAGE\n\x03\0\0\0\0\0\0\0abc"));
    assert_int_equal(r->count, 1);
#undef WHOLE
}

static void exports_with_carriage_returns_are_read(void **state)
{
    (void)state;
#define CRLF(message)                                                \
    "__REALTIME_TIMESTAMP=1737434504285060\r\n_TRANSPORT=kernel\r\n" \
    "_HOSTNAME=gpu-07\r\nMESSAGE=" message "\r\n\r\n"
    const struct result *r = decode_text("\r\n" CRLF(XID) "\r\n" CRLF("usb 1-1: up") CRLF(XID));
    assert_int_equal(r->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(r->events[i].time_ns, at("2025-01-21T04:41:44.285060Z"));
        assert_slice(r->events[i].scope.node, "gpu-07");
        assert_int_equal(r->events[i].raw.length, sizeof(CRLF(XID)) - 1 - 4);
    }
    assert_int_equal(r->unknown_count, 1);
    r = decode_input(BYTES("_TRANSPORT=kernel\r\nMESSAGE\r\n\x22\0\0\0\0\0\0\0"
                           "NVRM: Xid (PCI:0000:b3:00): 79, ab\r\n_HOSTNAME=gpu-07\r\n\r\n"));
    assert_int_equal(r->count, 1);
    assert_slice(r->events[0].scope.node, "gpu-07");
    /* Neighbours are found on both sides. */
    const struct tc_event *ev =
        one_event(CRLF("pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0")
                      CRLF("p 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Data Link "
                           "Layer, (Receiver ID)")
                          CRLF("p 0000:01:00.0:   device [1:2] error status/mask=00000040/00002000")
                              CRLF("p 0000:01:00.0:    [ 6] BadTLP"),
                  TC_EVENT_AER);
    assert_slice(ev->aer.errors, "BadTLP");
    assert_bdf(ev->aer.reporter, "0000:00:01.0");
#undef CRLF
}

static void error_reports_are_joined_across_records(void **state)
{
    (void)state;
#define RECORD(message) KERNEL "MESSAGE=" message "\n\n"
    const char *text =
        RECORD("pcieport 0000:00:01.0: AER: Corrected error message received from 0000:01:00.0")
            RECORD("pcieport 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Data Link "
                   "Layer, (Receiver ID)")
                RECORD("pcieport 0000:01:00.0:   device [1002:1478] error "
                       "status/mask=00000040/00002000")
                    RECORD("pcieport 0000:01:00.0:    [ 6] BadTLP");
    const struct tc_event *ev = one_event(text, TC_EVENT_AER);
    assert_slice(ev->aer.severity, "corrected");
    assert_slice(ev->aer.layer, "data_link");
    assert_slice(ev->aer.errors, "BadTLP");
    assert_bdf(ev->aer.reporter, "0000:00:01.0");
    assert_bdf(ev->scope.pci, "0000:01:00.0");
    ev = one_event(RECORD("p 00:01.0: AER: Corrected error received: 00:02.0"), TC_EVENT_AER);
    assert_bdf(ev->scope.pci, "0000:00:02.0");
    ev = one_event(RECORD("usb 1-1: new device") "\n\n" RECORD(
                       "p 00:02.0:   device [1:2] error status/mask=00000001/0"),
                   TC_EVENT_AER);
    assert_slice(ev->aer.severity, "");
#undef RECORD
}

static void long_records_leave_evidence_of_bounded_length(void **state)
{
    (void)state;
    static char text[100000];
    memset(text, 'x', sizeof text);
    memcpy(text, KERNEL "MESSAGE=" XID "\nNOTE=", sizeof(KERNEL "MESSAGE=" XID "\nNOTE=") - 1);
    const struct result *r = decode_input(harness_input(tc_slice_make(text, sizeof text)));
    assert_int_equal(r->count, 1);
    assert_int_equal(r->events[0].raw.length, 65536);
    assert_int_equal(r->cursor.cut, 1);
}

static void json_lines_are_read(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_event("{\"__REALTIME_TIMESTAMP\":\"1737434504285060\",\"_HOSTNAME\":\"gpu-07\","
                  "\"PRIORITY\":\"3\",\"MESSAGE\" : \"" XID "\",\"_TRANSPORT\":\"kernel\"}\n",
                  TC_EVENT_XID);
    assert_int_equal(ev->time_ns, at("2025-01-21T04:41:44.285060Z"));
    assert_slice(ev->scope.node, "gpu-07");
    assert_slice(ev->xid.message, "GPU has fallen off the bus.");
    assert_int_equal(ev->raw.offset, 0);
}

static void json_lines_of_others_are_not_evidence(void **state)
{
    (void)state;
    assert_unknown("{\"__REALTIME_TIMESTAMP\":\"1\",\"MESSAGE\":\"" XID "\","
                   "\"_TRANSPORT\":\"stdout\"}",
                   "not a kernel line");
    assert_unknown("{\"__REALTIME_TIMESTAMP\":\"1\",\"MESSAGE\":\"" XID "\",\"_TRANSP",
                   "not a kernel line");
    assert_unknown("{\"body\":\"" XID "\"}", "no rule for this message");
    assert_unknown("{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[78,86]}", "no rule for this message");
}

#define PRETTY(message)                                                                     \
    "{\n\t\"__REALTIME_TIMESTAMP\" : \"1737434504285060\",\n\t\"MESSAGE\" : " message ",\n" \
    "\t\"_TRANSPORT\" : \"kernel\",\n\t\"_HOSTNAME\" : \"gpu-07\"\n}\n"
#define QUOTED(message) PRETTY("\"" message "\"")

static void pretty_json_is_read(void **state)
{
    (void)state;
    const struct result *r = decode_text(QUOTED("usb 1-1: up") QUOTED(XID) "\n" QUOTED(XID));
    assert_int_equal(r->count, 2);
    assert_int_equal(r->unknown_count, 1);
    assert_int_equal(r->events[0].time_ns, at("2025-01-21T04:41:44.285060Z"));
    assert_slice(r->events[1].scope.node, "gpu-07");
    assert_int_equal(r->events[0].raw.offset, sizeof(QUOTED("usb 1-1: up")) - 1);
    assert_int_equal(r->events[0].raw.length, sizeof(QUOTED(XID)) - 2);
    /* As jq prints it, and with carriage returns. */
    assert_int_equal(
        decode_text("{\r\n  \"_TRANSPORT\": \"kernel\",\r\n  \"MESSAGE\": \"" XID "\"\r\n}\r\n")
            ->count,
        1);
    assert_int_equal(tc_codec_sniff(&tc_codec_kmsg, TC_LIT(QUOTED("usb 1-1: up")), true, TC_EMPTY),
                     TC_SNIFF_SURE);
    assert_int_equal(tc_codec_sniff(&tc_codec_kmsg, TC_LIT("{\n  \"KIND\": 1,\n  \"_A\": []\n}\n"),
                                    true, TC_EMPTY),
                     TC_SNIFF_NO);
}

static void torn_pretty_json_does_not_reach_into_the_next_record(void **state)
{
    (void)state;
    const struct result *r = decode_text(
        "{\n\t\"_TRANSPORT\" : \"kernel\",\n" QUOTED(XID) "[ 1.5] " XID "\n" QUOTED("a"));
    assert_int_equal(r->count, 2);
    assert_slice(r->events[0].scope.node, "gpu-07");
    assert_slice(r->events[1].scope.node, "node-of-input");
    assert_int_equal(r->unknown_count, 2);
    /* Torn, and without the transport nobody knows whose it is. */
    r = decode_text("{\n\t\"__REALTIME_TIMESTAMP\" : \"1\",\n\t\"MESSAGE\" : \"" XID "\",\n");
    assert_int_equal(r->count, 0);
    assert_string_equal(r->unknown[0].why, "not a kernel line");
}

static void error_reports_are_joined_across_pretty_records(void **state)
{
    (void)state;
    const struct tc_event *ev = one_event(
        QUOTED("pcieport 0000:00:01.0: AER: Corrected error message received from 0000:01:00.0")
            QUOTED("p 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
                   "(Receiver ID)")
                QUOTED("p 0000:01:00.0:   device [1:2] error status/mask=00000040/00002000")
                    QUOTED("p 0000:01:00.0:    [ 6] BadTLP"),
        TC_EVENT_AER);
    assert_slice(ev->aer.severity, "corrected");
    assert_slice(ev->aer.errors, "BadTLP");
    assert_bdf(ev->aer.reporter, "0000:00:01.0");
}

/* "NVRM: Xid (PCI:0000:b3:00): 79, x" with a byte that is not UTF-8 at its end. */
#define NUMBERS                                                                              \
    "78,86,82,77,58,32,88,105,100,32,40,80,67,73,58,48,48,48,48,58,98,51,58,48,48,41,58,32," \
    "55,57,44,32,120,255"
#define SPACED                                                                       \
    "78, 86, 82, 77, 58, 32, 88, 105, 100, 32, 40, 80, 67, 73, 58, 48, 48, 48, 48, " \
    "58, 98, 51, 58, 48, 48, 41, 58, 32, 55, 57, 44, 32, 120, 255"

static void messages_written_as_numbers_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[" NUMBERS "]}\n",
        "{\"_TRANSPORT\": \"kernel\", \"MESSAGE\": [" SPACED "]}\n",
        PRETTY("[\n\t\t" NUMBERS "\n\t]"),
        /* Of several messages the first counts. */
        "{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[\"NVRM: Xid (PCI:0000:b3:00): 79, x\xff\",\"b\"]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct tc_event *ev = one_event(texts[i], TC_EVENT_XID);
        assert_int_equal(ev->xid.code, 79);
        assert_slice(ev->xid.message, "x\xff");
    }
    assert_unknown("{\"_TRANSPORT\":\"stdout\",\"MESSAGE\":[" NUMBERS "]}", "not a kernel line");
    assert_unknown("{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[256," NUMBERS "]}",
                   "no rule for this message");
    assert_unknown("{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[" NUMBERS ",-1]}",
                   "no rule for this message");
    assert_unknown("{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[]}", "no rule for this message");
    assert_unknown("{\"__REALTIME_TIMESTAMP\":\"1\",\"SYSLOG_IDENTIFIER\":[97],\"MESSAGE\":\"" XID
                   "\"}",
                   "not a kernel line");
}

static void numbers_that_make_no_event_leave_the_arena_as_it_was(void **state)
{
    (void)state;
    const struct result *r = decode_text("{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[97,98,99]}\n");
    assert_int_equal(r->count, 0);
    assert_int_equal(r->arena.used, 0);
}

static void a_full_arena_stops_before_the_message(void **state)
{
    (void)state;
    static struct result r;
    char block[8];
    struct tc_arena arena;
    struct tc_error err = {0};
    struct tc_codec_cursor cursor = {0};
    struct tc_codec_out out = {.event = harness_event, .context = &r, .arena = &arena};
    struct tc_codec_input in =
        harness_input(TC_LIT("{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":[" NUMBERS "]}\n"));
    r.out = &out;
    tc_arena_init(&arena, "small", block, sizeof block);
    assert_int_equal(tc_codec_kmsg.decode(&in, &cursor, &out, &err), TC_E_NOMEM);
    assert_int_equal(cursor.offset, 0);
    assert_false(cursor.done);
    assert_int_equal(r.count, 0);
    tc_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(export_records_have_time_and_host),
        cmocka_unit_test(records_without_a_real_time_have_an_uptime),
        cmocka_unit_test(only_the_kernels_records_count),
        cmocka_unit_test(binary_fields_are_read_by_their_length),
        cmocka_unit_test(a_record_inside_a_message_is_not_believed),
        cmocka_unit_test(torn_records_are_believed_only_with_their_transport),
        cmocka_unit_test(whole_records_before_a_tear_are_delivered),
        cmocka_unit_test(exports_with_carriage_returns_are_read),
        cmocka_unit_test(error_reports_are_joined_across_records),
        cmocka_unit_test(long_records_leave_evidence_of_bounded_length),
        cmocka_unit_test(json_lines_are_read),
        cmocka_unit_test(json_lines_of_others_are_not_evidence),
        cmocka_unit_test(pretty_json_is_read),
        cmocka_unit_test(torn_pretty_json_does_not_reach_into_the_next_record),
        cmocka_unit_test(error_reports_are_joined_across_pretty_records),
        cmocka_unit_test(messages_written_as_numbers_are_read),
        cmocka_unit_test(numbers_that_make_no_event_leave_the_arena_as_it_was),
        cmocka_unit_test(a_full_arena_stops_before_the_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
