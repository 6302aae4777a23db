/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel log codec: line shapes, times, hosts, the walk over the input. All
 * texts here are made up.
 */
#include "unit/codec/kmsg_harness.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define XID "NVRM: Xid (PCI:0000:b3:00): 79, pid=1234, name=python, GPU has fallen off the bus."
#define DAY (INT64_C(86400) * TC_SECOND)

static const struct tc_event *one_xid(const char *text)
{
    return one_event(text, TC_EVENT_XID);
}

static const struct tc_event *one_xid_of(struct tc_codec_input in)
{
    const struct result *r = decode_input(in);
    assert_int_equal(r->count, 1);
    assert_int_equal(r->events[0].kind, TC_EVENT_XID);
    return &r->events[0];
}

static void kmsg_record_has_only_an_uptime(void **state)
{
    (void)state;
    const struct tc_event *ev = one_xid("4,3964,206764307,-;" XID "\n");
    assert_true(ev->time_ns == TC_TIME_NONE);
    assert_int_equal(ev->uptime_ns, INT64_C(206764307000));
    assert_slice(ev->scope.node, "node-of-input");
    assert_int_equal(decode_text("4,3964,206764307,-,caller=T12;" XID)->count, 1);
    assert_int_equal(decode_text("4,3964,206764307,-;" XID)->cursor.undated, 1);
}

static void boot_time_dates_what_has_only_an_uptime(void **state)
{
    (void)state;
    struct tc_codec_input in = harness_input(TC_LIT("[  100.000001][  T291] " XID));
    in.boot_ns = at("2025-01-01T00:00:00Z");
    const struct tc_event *ev = one_xid_of(in);
    assert_int_equal(ev->time_ns, at("2025-01-01T00:01:40.000001Z"));
    assert_int_equal(ev->uptime_ns, INT64_C(100000001000));
    assert_int_equal(decode_input(in)->cursor.undated, 0);
    in.boot_ns = INT64_MAX - 5;
    assert_true(one_xid_of(in)->time_ns == TC_TIME_NONE);
}

static void records_of_other_facilities_are_not_the_kernels(void **state)
{
    (void)state;
    assert_unknown("30,1,2,-;" XID, "not a kernel line");
    assert_unknown("<14>[ 1.5] " XID, "not a kernel line");
    assert_unknown("user  :warn  : 2025-01-21T04:41:44,285060+00:00 " XID, "not a kernel line");
    assert_unknown("daemon:info  : [ 12.5] " XID, "not a kernel line");
    assert_int_equal(one_xid("7,1,2,-;" XID)->xid.code, 79);
    assert_int_equal(one_xid("<7>[ 1.5] " XID)->uptime_ns, INT64_C(1500000000));
}

static void continuations_of_a_record_are_neither_events_nor_unknown(void **state)
{
    (void)state;
    const struct result *r =
        decode_text("4,1,2,-;" XID "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:b3:00.0 " XID "\n");
    assert_int_equal(r->count, 1);
    assert_int_equal(r->unknown_count, 0);
}

static void dmesg_uptimes_and_their_tags_are_taken_off(void **state)
{
    (void)state;
    assert_int_equal(one_xid("[74785.660366] " XID)->uptime_ns, INT64_C(74785660366000));
    assert_int_equal(one_xid("[   36.772366][  T291] " XID)->uptime_ns, INT64_C(36772366000));
    assert_int_equal(one_xid("[   36.772366][    C0] " XID)->uptime_ns, INT64_C(36772366000));
    assert_int_equal(one_xid("[171167] " XID)->uptime_ns, INT64_C(171167000000000));
    /* A delta, and a number that is no time, leave the event without either. */
    assert_true(one_xid("[  +0.000844] " XID)->uptime_ns == TC_TIME_NONE);
    assert_true(one_xid("[99999999999] " XID)->uptime_ns == TC_TIME_NONE);
    assert_unknown("[12.5] [info] " XID, "no rule for this message");
    assert_unknown("[12.5 " XID, "no rule for this message");
}

static void dmesg_dates_are_in_the_zone_of_the_input(void **state)
{
    (void)state;
    struct tc_codec_input in = harness_input(TC_LIT("[Thu Sep 19 02:29:46 2024] " XID));
    assert_int_equal(one_xid_of(in)->time_ns, at("2024-09-19T02:29:46Z"));
    in.utc_offset_s = 7200;
    assert_int_equal(one_xid_of(in)->time_ns, at("2024-09-19T00:29:46Z"));
    assert_int_equal(one_xid("[Sun Dec  1 14:54:40 2024] " XID)->time_ns,
                     at("2024-12-01T14:54:40Z"));
    assert_slice(one_xid("[Sun Dec 1 14:54:40 2024] host-7 kernel: " XID)->scope.node, "host-7");
    /* No such day: the message is read, without a time. */
    assert_true(one_xid("[Sun Feb 30 14:54:40 2024] " XID)->time_ns == TC_TIME_NONE);
    assert_unknown("[Feb 25 2025 13:59:45] [ERROR] [tid 1] " XID, "no rule for this message");
}

static void decoded_dmesg_and_plain_iso_lines_are_dated(void **state)
{
    (void)state;
    int64_t time = at("2025-01-21T04:41:44.285060Z");
    assert_int_equal(one_xid("kern  :warn  : 2025-01-21T04:41:44,285060+00:00 " XID)->time_ns,
                     time);
    assert_int_equal(one_xid("2025-01-21T05:41:44,285060+01:00 " XID)->time_ns, time);
    assert_int_equal(one_xid("2025-01-21T04:41:44,285060+00:00 " XID)->time_ns, time);
    assert_int_equal(one_xid("kern  :err   : [   12.5] " XID)->uptime_ns, INT64_C(12500000000));
    assert_true(one_xid("kern  :notice: " XID)->time_ns == TC_TIME_NONE);
    /* Without a level it is no such prefix. */
    assert_unknown("kern  :loud  : " XID, "no rule for this message");
}

static void rsyslog_lines_have_a_host_and_their_date_wins_over_the_uptime(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_xid("2019-08-19T04:18:38.274652-04:00 gpu-07 kernel: [  261.273226] " XID "\n");
    assert_int_equal(ev->time_ns, at("2019-08-19T08:18:38.274652Z"));
    assert_true(ev->uptime_ns == TC_TIME_NONE);
    assert_slice(ev->scope.node, "gpu-07");
    assert_slice(one_xid("2019-08-19T04:18:38+0000 gpu-07 kernel: " XID)->scope.node, "gpu-07");
}

static void syslog_lines_may_lack_a_host_or_have_more_before_the_tag(void **state)
{
    (void)state;
    assert_slice(one_xid("Sep 19 16:18:02 gpu-07 kernel: [ 1.5] " XID)->scope.node, "gpu-07");
    assert_slice(one_xid("Feb 23 03:28:16 kernel: " XID)->scope.node, "node-of-input");
    assert_slice(one_xid("Feb 23 03:28:16  kernel: " XID)->scope.node, "node-of-input");
    assert_slice(one_xid("Aug 30 06:58:55.050705 ... kernel: " XID)->scope.node, "node-of-input");
    assert_slice(one_xid("Sep  9 16:18:02 gpu-07 kern.warn kernel: " XID)->scope.node, "gpu-07");
    assert_slice(one_xid("gpu-08 kernel: " XID)->scope.node, "gpu-08");
    assert_slice(one_xid("[ 1.5] gpu-09 kernel: " XID)->scope.node, "gpu-09");
    assert_slice(one_xid("kernel: " XID)->scope.node, "node-of-input");
    assert_slice(one_xid(XID)->scope.node, "node-of-input");
}

static void lines_of_other_programs_are_not_evidence(void **state)
{
    (void)state;
    assert_unknown("Sep 19 16:18:02 gpu-07 myapp[123]: " XID, "not a kernel line");
    assert_unknown("Sep 19 16:18:02 gpu-07 myapp: saw kernel: " XID, "not a kernel line");
    assert_unknown("Sep 19 16:18:02 gpu-07 " XID, "not a kernel line");
    assert_unknown("Sep 19 16:18:02 kernelmon: " XID, "not a kernel line");
    assert_unknown("2019-08-19T04:18:38.27-04:00 gpu-07 myapp[12]: " XID, "not a kernel line");
    assert_unknown("2019-08-19T04:18:38.27-04:00 myapp[12]: " XID, "not a kernel line");
    assert_unknown("2019-08-19T04:18:38.27-04:00 h p[1]: segfault at 0 ip 0 sp 0",
                   "not a kernel line");
    /* In dmesg's own output the same shape is a message, which quotes nothing of ours. */
    assert_unknown("[ 12.5] myapp[123]: saw " XID, "no rule for this message");
    assert_unknown("myapp: " XID, "no rule for this message");
    assert_unknown("# " XID, "comment");
}

static int64_t syslog_time(const char *line, int64_t now_ns, int64_t boot_ns, int32_t offset_s)
{
    struct tc_codec_input in = harness_input(tc_slice_cstr(line));
    in.now_ns = now_ns;
    in.boot_ns = boot_ns;
    in.utc_offset_s = offset_s;
    return one_xid_of(in)->time_ns;
}

static void dates_without_a_year_are_the_latest_up_to_a_day_after_now(void **state)
{
    (void)state;
    const char *line = "Sep 19 16:18:02.5 h kernel: " XID;
    int64_t time = at("2024-09-19T16:18:02.5Z");
    assert_int_equal(syslog_time(line, at("2025-01-01T00:00:00Z"), TC_TIME_NONE, 0), time);
    assert_int_equal(syslog_time(line, time, TC_TIME_NONE, 0), time);
    assert_int_equal(syslog_time(line, time - DAY, TC_TIME_NONE, 0), time);
    assert_int_equal(syslog_time(line, time - DAY - 1, TC_TIME_NONE, 0),
                     at("2023-09-19T16:18:02.5Z"));
    assert_int_equal(syslog_time(line, time, TC_TIME_NONE, 3600), at("2024-09-19T15:18:02.5Z"));
    /* New year: a log of December read in January. */
    assert_int_equal(
        syslog_time("Dec 31 23:59:59 h kernel: " XID, at("2025-01-01T00:00:10Z"), TC_TIME_NONE, 0),
        at("2024-12-31T23:59:59Z"));
    /* Near midnight the zone decides the year. */
    assert_int_equal(syslog_time("Jan  1 00:30:00 h kernel: " XID, at("2024-12-31T23:30:00Z"),
                                 TC_TIME_NONE, 3600),
                     at("2024-12-31T23:30:00Z"));
    assert_int_equal(
        syslog_time("Feb 29 00:00:00 h kernel: " XID, at("2027-06-01T00:00:00Z"), TC_TIME_NONE, 0),
        at("2024-02-29T00:00:00Z"));
    assert_true(syslog_time("Feb 30 00:00:00 h kernel: " XID, at("2027-06-01T00:00:00Z"),
                            TC_TIME_NONE, 0) == TC_TIME_NONE);
}

static void dates_without_a_year_follow_boot_when_now_is_unknown(void **state)
{
    (void)state;
    const char *line = "Jan 19 16:18:02 h kernel: " XID;
    assert_int_equal(syslog_time(line, TC_TIME_NONE, at("2023-12-01T00:00:00Z"), 0),
                     at("2024-01-19T16:18:02Z"));
    assert_int_equal(syslog_time(line, TC_TIME_NONE, at("2024-01-20T16:18:02Z"), 0),
                     at("2024-01-19T16:18:02Z"));
    assert_int_equal(syslog_time(line, TC_TIME_NONE, at("2024-01-20T16:18:03Z"), 0),
                     at("2025-01-19T16:18:02Z"));
    assert_int_equal(
        syslog_time("Feb 29 00:00:00 h kernel: " XID, TC_TIME_NONE, at("2025-01-01T00:00:00Z"), 0),
        at("2028-02-29T00:00:00Z"));
    assert_true(syslog_time(line, TC_TIME_NONE, TC_TIME_NONE, 0) == TC_TIME_NONE);
    assert_true(syslog_time(line, INT64_MAX, TC_TIME_NONE, 0) != TC_TIME_NONE);
    assert_true(syslog_time(line, INT64_MIN + 1, TC_TIME_NONE, -3600) == TC_TIME_NONE);
}

static void an_undatable_line_keeps_its_uptime(void **state)
{
    (void)state;
    const struct tc_event *ev = one_xid("Sep 19 16:18:02 h kernel: [68183.615790] " XID);
    assert_true(ev->time_ns == TC_TIME_NONE);
    assert_int_equal(ev->uptime_ns, INT64_C(68183615790000));
}

static void torn_prefixes_are_no_prefixes(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "Sep",
        "Sep 19",
        "Sep 19 16:18:02",
        "Sep 19 16:18:0",
        "Sep 19 16:18 h kernel: " XID,
        "Sep 19 16-18:02 h kernel: " XID,
        "Sep 19 16:18-02 h kernel: " XID,
        "Sep 19 1x:18:02 h kernel: " XID,
        "Sep 19 x6:18:02 h kernel: " XID,
        "[",
        "[ 12",
        "[ 12.5",
        "[ +",
        "[ +] " XID,
        "[12.] " XID,
        "[ 1.5][T",
        "[ 1.5][X1] " XID,
        "[Thu",
        "[Thu Sep 19 02:29:46 2024 " XID,
        "[Thu Sep 19 02:29 2024] " XID,
        "(Thu Sep 19 02:29:46 2024] " XID,
        "<4",
        "<>" XID,
        "<x>" XID,
        "4,1",
        "4,1,2",
        "4,1,2,-",
        ",1,2,-;" XID,
        "4,1,2,x;" XID,
        "4,1;2,-;" XID,
        "kern",
        "kern  :",
        "kern  :warn",
        "2025-01-21T04:41:44,285060+00:00",
        "2025-01-21T04:41:44x " XID,
        "lower=1 " XID,
        " =1 " XID,
        " DEVICE",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_unknown(lines[i], "no rule for this message");
    }
    assert_int_equal(one_xid("[ 1.12345678999] " XID)->uptime_ns, INT64_C(1123456789));
    assert_int_equal(one_xid("[ 1.5] " XID)->uptime_ns, INT64_C(1500000000));
}

/* In another language, or damaged: the line counts without its time. */
static void dates_that_are_not_read_leave_the_line_undated(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "Sep xx 16:18:02 h kernel: " XID,      "Sep 1916:18:02 h kernel: " XID,
        "Sep19 16:18:02 h kernel: " XID,       "Sep 19 16:18:02x h kernel: " XID,
        "Sie 19 16:18:02 h kernel: " XID,      "[Thu Sep 19 02:29:46] " XID,
        "[Thu Sep 19 02:29:46 24] " XID,       "[thu Sep 19 02:29:46 2024] " XID,
        "Okt 06 17:59:27 h kernel: " XID,      "[\xe4\xba\x8c 9\xe6\x9c\x88  3 05:57:48 2024] " XID,
        "2026 mars 7 10:00:00 h kernel: " XID,
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const struct tc_event *ev = one_xid(lines[i]);
        assert_int_equal(ev->time_ns, TC_TIME_NONE);
        assert_slice(ev->scope.node, lines[i][0] == '[' ? "node-of-input" : "h");
    }
}

static void hosts_have_the_letters_of_host_names(void **state)
{
    (void)state;
    assert_slice(one_xid("gpu-7.rack_A.Zz kernel: " XID)->scope.node, "gpu-7.rack_A.Zz");
    assert_slice(one_xid("fe80::1 kernel: " XID)->scope.node, "fe80::1");
    assert_slice(one_xid("a/b kernel: " XID)->scope.node, "node-of-input");
    assert_slice(one_xid("-- kernel: " XID)->scope.node, "node-of-input");
    assert_unknown("note: kernel: " XID, "no rule for this message");
}

static void repeated_messages_carry_their_count(void **state)
{
    (void)state;
    const char *inner = "block nvme0n1: no available path - failing I/O";
    char text[256];
    (void)snprintf(text, sizeof text, "Sep 19 16:18:02 h kernel: message repeated 9 times: [ %s]",
                   inner);
    const struct tc_event *ev = one_event(text, TC_EVENT_STORAGE_ERROR);
    assert_int_equal(ev->fault.count, 9);
    assert_slice(ev->fault.message, inner);
    (void)snprintf(text, sizeof text, "h kernel: message repeated 2 times: [ [  12.5] %s ]", inner);
    ev = one_event(text, TC_EVENT_STORAGE_ERROR);
    assert_int_equal(ev->fault.count, 2);
    assert_int_equal(ev->uptime_ns, INT64_C(12500000000));
    (void)snprintf(text, sizeof text, "h kernel: message repeated 0 times: [ %s]", inner);
    assert_unknown(text, "no rule for this message");
    (void)snprintf(text, sizeof text, "h kernel: message repeated 3 times: [ %s", inner);
    assert_unknown(text, "no rule for this message");
}

static void raw_names_the_exact_line_without_its_newline(void **state)
{
    (void)state;
    const struct result *r = decode_text("first\n\n[ 1.5] " XID "\r\nlast\n" XID);
    assert_int_equal(r->count, 2);
    assert_int_equal(r->events[0].raw.source, 3);
    assert_int_equal(r->events[0].raw.offset, 7);
    assert_int_equal(r->events[0].raw.length, sizeof("[ 1.5] " XID "\r") - 1);
    assert_slice(r->events[0].xid.message, "GPU has fallen off the bus.");
    assert_int_equal(r->events[1].raw.offset, 7 + sizeof("[ 1.5] " XID "\r\nlast\n") - 1);
    assert_int_equal(r->unknown_count, 2);
    assert_int_equal(r->unknown[0].offset, 0);
    assert_int_equal(r->unknown[0].length, 5);
    assert_string_equal(r->unknown[1].why, "no rule for this message");
}

/* `pad` bytes, `middle`, filler up to `len`, then a newline and a whole event. */
static const struct result *decode_padded(size_t pad, const char *middle, size_t len)
{
    static char text[4 * TC_LINE_MAX];
    struct tc_slice line = tc_slice_cstr(middle);
    assert_true(pad + line.len <= len && len + 200 < sizeof text);
    memset(text, ' ', len);
    memcpy(text + pad, line.ptr, line.len);
    memcpy(text + len, "\n" XID, sizeof XID);
    return decode_input(harness_input(tc_slice_make(text, len + sizeof XID)));
}

static void long_lines_are_cut_and_counted(void **state)
{
    (void)state;
    const struct result *r = decode_padded(10, XID, TC_LINE_MAX);
    assert_int_equal(r->count, 2);
    assert_int_equal(r->cursor.cut, 0);
    r = decode_padded(10, XID, TC_LINE_MAX + 1);
    assert_int_equal(r->count, 2);
    assert_int_equal(r->cursor.cut, 1);
    assert_int_equal(r->events[0].raw.length, TC_LINE_MAX);
    /* Behind the cut nothing is read, near it or far away. */
    r = decode_padded(TC_LINE_MAX + 10, XID, TC_LINE_MAX + 500);
    assert_int_equal(r->count, 1);
    r = decode_padded(3 * TC_LINE_MAX, XID, 3 * TC_LINE_MAX + 500);
    assert_int_equal(r->count, 1);
    /* Only the scan meets a hit behind the cut without its line's start. */
    struct result *scan = malloc(sizeof *scan);
    assert_non_null(scan);
    static char text[4 * TC_LINE_MAX];
    memset(text, 'x', sizeof text);
    memcpy(text + 3 * TC_LINE_MAX, XID, sizeof XID - 1);
    struct tc_codec_input in = harness_input(tc_slice_make(text, sizeof text));
    in.want_unknown = false;
    harness_decode(scan, &in, false);
    assert_int_equal(scan->count, 0);
    assert_int_equal(scan->cursor.cut, 1);
    free(scan);
}

static void empty_inputs_are_done_at_once(void **state)
{
    (void)state;
    assert_int_equal(decode_text("")->count, 0);
    assert_int_equal(decode_text("\n \n\r\n")->unknown_count, 0);
}

static tc_status refuse(void *context, const struct tc_event *ev)
{
    (void)context;
    (void)ev;
    return TC_E_IO;
}

static tc_status refuse_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)context;
    (void)offset;
    (void)length;
    (void)why;
    return TC_E_LIMIT;
}

static void failures_of_the_receiver_stop_at_the_line(void **state)
{
    (void)state;
    struct tc_codec_input in = harness_input(TC_LIT("noise\n" XID "\n"));
    struct tc_codec_cursor cursor = {0};
    struct tc_codec_out out = {.event = refuse};
    struct tc_error err;
    assert_int_equal(tc_codec_kmsg.decode(&in, &cursor, &out, &err), TC_E_IO);
    assert_int_equal(cursor.offset, 6);
    assert_int_equal(cursor.events, 0);
    assert_int_equal(cursor.unknown, 1);
    assert_false(cursor.done);
    out.unknown = refuse_unknown;
    cursor = (struct tc_codec_cursor){0};
    assert_int_equal(tc_codec_kmsg.decode(&in, &cursor, &out, &err), TC_E_LIMIT);
    assert_int_equal(cursor.offset, 0);
}

static void a_full_arena_is_an_error_that_can_be_retried(void **state)
{
    (void)state;
    static struct result r;
    char block[8];
    struct tc_slice text =
        TC_LIT("noise\noom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/kubepods.slice/kubepods-"
               "pod00000000_1111_2222_3333_444444444444.slice/x,task=python,pid=77,uid=0\n"
               "pcieport 0000:00:03.0:   device [8086:6f08] error status/mask=00004020/00000000\n");
    struct tc_codec_input in = harness_input(text);
    struct tc_codec_cursor cursor = {0};
    struct tc_arena small;
    struct tc_error err = {0};
    struct tc_codec_out out = {
        .event = harness_event, .unknown = harness_unknown, .context = &r, .arena = &small};
    memset(&r, 0, offsetof(struct result, block));
    r.out = &out;
    tc_arena_init(&small, "small", block, sizeof block);
    assert_int_equal(tc_codec_kmsg.decode(&in, &cursor, &out, &err), TC_E_NOMEM);
    assert_int_equal(err.status, TC_E_NOMEM);
    assert_int_equal(err.offset, 6);
    assert_int_equal(cursor.offset, 6);
    assert_int_equal(r.count, 0);
    tc_arena_fini(&small);
    tc_arena_init(&r.arena, "large", r.block, sizeof r.block);
    out.arena = &r.arena;
    assert_int_equal(tc_codec_kmsg.decode(&in, &cursor, &out, &err), TC_OK);
    assert_int_equal(r.count, 2);
    assert_slice(r.events[0].scope.pod_uid, "00000000-1111-2222-3333-444444444444");
    assert_true(cursor.done);
}

static int sniffed(const char *text)
{
    return tc_codec_sniff(&tc_codec_kmsg, tc_slice_cstr(text), true, TC_EMPTY);
}

static void inputs_are_recognised_by_their_lines(void **state)
{
    (void)state;
    assert_int_equal(sniffed("6,3964,206764307,-;usb 1-1: new device\n"), TC_SNIFF_SURE);
    assert_int_equal(sniffed("__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\n"), TC_SNIFF_SURE);
    assert_int_equal(sniffed("{\"MESSAGE\":\"x\",\"_TRANSPORT\":\"kernel\"}\n"), TC_SNIFF_SURE);
    assert_int_equal(sniffed("[    0.000000] Linux version 6.1\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniffed("Sep 19 16:18:02 h systemd[1]: Started x.\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniffed("kern  :warn  : foo\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniffed("gpu-07 kernel: foo\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniffed("2025-01-21T04:41:44,285060+00:00 foo\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniffed("2025-01-21T04:41:44.2+00:00 h app[1]: foo\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniffed("2025-01-21T04:41:44.2+00:00 foo\n"), TC_SNIFF_NO);
    assert_int_equal(sniffed("# found by hand\n" XID "\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniffed("a\n" XID "\n"), TC_SNIFF_LIKELY);
    assert_int_equal(sniffed("a\nb\n" XID "\n"), TC_SNIFF_MAYBE);
    assert_int_equal(sniffed(""), TC_SNIFF_NO);
    assert_int_equal(sniffed("# only a comment\n"), TC_SNIFF_NO);
    assert_int_equal(sniffed("{\"kind\":\"xid\",\"message\":\"hello\"}\n"), TC_SNIFF_NO);
    assert_int_equal(sniffed("2025-01-21 04:41:44,285 INFO step 12 loss 3.1\n"), TC_SNIFF_NO);
    assert_int_equal(sniffed("1,2,3,4;5\n"), TC_SNIFF_NO);
    assert_int_equal(sniffed("HOME=/root\n"), TC_SNIFF_NO);
    assert_int_equal(sniffed("[Feb 25 2025 13:59:45] [INFO] [tid 1803] x\n"), TC_SNIFF_NO);
    /* A last line that the head tears counts only when there is no other. */
    assert_int_equal(tc_codec_sniff(&tc_codec_kmsg, TC_LIT("hello\n[ 1.5] x"), false, TC_EMPTY),
                     TC_SNIFF_NO);
    assert_int_equal(tc_codec_sniff(&tc_codec_kmsg, TC_LIT("[ 1.5] x"), false, TC_EMPTY),
                     TC_SNIFF_LIKELY);
}

/* One call looks at some 16 MiB: lines around the ends of these are each found once. */
static void a_large_log_is_read_in_pieces(void **state)
{
    (void)state;
    static const char plain[] = "[    1.000000] cni0: port 3(veth12345678) entered blocking stat\n";
    static const char fault[] = "[    1.000000] NVRM: Xid (PCI:0000:b3:00): 79, off the bus.....\n";
    enum { LINE = sizeof plain - 1, PIECE = (16 << 20) / LINE, LINES = 2 * PIECE + 100 };
    static const size_t at[] = {0, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 1, LINES - 1};
    _Static_assert(sizeof plain == sizeof fault && (16 << 20) % LINE == 0, "lines end with pieces");
    char *text = malloc((size_t)LINES * LINE);
    struct result *r = calloc(1, sizeof *r);
    assert_non_null(text);
    assert_non_null(r);
    for (size_t i = 0; i < LINES; i++) {
        memcpy(text + i * LINE, plain, LINE);
    }
    for (size_t i = 0; i < TC_COUNT(at); i++) {
        memcpy(text + at[i] * LINE, fault, LINE);
    }
    struct tc_codec_input in = harness_input(tc_slice_make(text, (size_t)LINES * LINE));
    in.want_unknown = false;
    struct tc_codec_out out = {.event = harness_event, .context = r, .arena = &r->arena};
    struct tc_error err = {0};
    r->out = &out;
    tc_arena_init(&r->arena, "test", r->block, sizeof r->block);
    while (!r->cursor.done) {
        assert_int_equal(tc_codec_kmsg.decode(&in, &r->cursor, &out, &err), TC_OK);
        assert_true(++r->calls <= 3);
    }
    assert_int_equal(r->calls, 3);
    assert_int_equal(r->count, TC_COUNT(at));
    for (size_t i = 0; i < TC_COUNT(at); i++) {
        assert_int_equal(r->events[i].raw.offset, at[i] * LINE);
    }
    tc_arena_fini(&r->arena);
    free(r);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kmsg_record_has_only_an_uptime),
        cmocka_unit_test(boot_time_dates_what_has_only_an_uptime),
        cmocka_unit_test(records_of_other_facilities_are_not_the_kernels),
        cmocka_unit_test(continuations_of_a_record_are_neither_events_nor_unknown),
        cmocka_unit_test(dmesg_uptimes_and_their_tags_are_taken_off),
        cmocka_unit_test(dmesg_dates_are_in_the_zone_of_the_input),
        cmocka_unit_test(decoded_dmesg_and_plain_iso_lines_are_dated),
        cmocka_unit_test(rsyslog_lines_have_a_host_and_their_date_wins_over_the_uptime),
        cmocka_unit_test(syslog_lines_may_lack_a_host_or_have_more_before_the_tag),
        cmocka_unit_test(lines_of_other_programs_are_not_evidence),
        cmocka_unit_test(dates_without_a_year_are_the_latest_up_to_a_day_after_now),
        cmocka_unit_test(dates_without_a_year_follow_boot_when_now_is_unknown),
        cmocka_unit_test(an_undatable_line_keeps_its_uptime),
        cmocka_unit_test(torn_prefixes_are_no_prefixes),
        cmocka_unit_test(dates_that_are_not_read_leave_the_line_undated),
        cmocka_unit_test(hosts_have_the_letters_of_host_names),
        cmocka_unit_test(repeated_messages_carry_their_count),
        cmocka_unit_test(raw_names_the_exact_line_without_its_newline),
        cmocka_unit_test(long_lines_are_cut_and_counted),
        cmocka_unit_test(empty_inputs_are_done_at_once),
        cmocka_unit_test(failures_of_the_receiver_stop_at_the_line),
        cmocka_unit_test(a_full_arena_is_an_error_that_can_be_retried),
        cmocka_unit_test(inputs_are_recognised_by_their_lines),
        cmocka_unit_test(a_large_log_is_read_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
