/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "codec/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 64
#define LINE_LIMIT (TC_LINE_MAX * 4)

/* What one decoding gave. */
struct taken {
    struct tc_event events[EVENTS_MAX];
    size_t count;
    struct {
        uint64_t offset;
        size_t length;
        const char *why;
    } unknown[EVENTS_MAX];
    size_t unknown_count;
    tc_status answer;        /* of the callbacks */
    struct tc_codec_out out; /* whose pause is set when... */
    bool pause_each;         /* ...this is true */
};

static alignas(16) unsigned char arena_block[1 << 20];
static struct tc_arena arena;
static struct taken taken;
static struct tc_codec_cursor cursor;
static struct tc_codec_input input;
static struct tc_error err;

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct taken *t = context;
    assert_true(t->count < EVENTS_MAX);
    t->events[t->count++] = *ev;
    t->out.pause = t->pause_each;
    return t->answer;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    struct taken *t = context;
    assert_true(t->unknown_count < EVENTS_MAX);
    t->unknown[t->unknown_count].offset = offset;
    t->unknown[t->unknown_count].length = length;
    t->unknown[t->unknown_count++].why = why;
    return t->answer;
}

static int setup(void **state)
{
    (void)state;
    tc_arena_init(&arena, "events", arena_block, sizeof arena_block);
    memset(&taken, 0, sizeof taken);
    memset(&cursor, 0, sizeof cursor);
    memset(&err, 0, sizeof err);
    taken.out = (struct tc_codec_out){
        .event = on_event, .unknown = on_unknown, .context = &taken, .arena = &arena};
    input = (struct tc_codec_input){
        .source = 3, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE, .want_unknown = true};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_arena_fini(&arena);
    return 0;
}

static tc_status go_on(void)
{
    return tc_codec_event_json.decode(&input, &cursor, &taken.out, &err);
}

static tc_status decode(struct tc_slice text)
{
    tc_arena_reset(&arena);
    memset(&cursor, 0, sizeof cursor);
    taken.count = 0;
    taken.unknown_count = 0;
    input.bytes = text;
    return go_on();
}

static void decode_ok(const char *text)
{
    if (decode(tc_slice_cstr(text)) != TC_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(cursor.done);
    assert_int_equal(cursor.offset, strlen(text));
    assert_int_equal(cursor.events, taken.count);
}

static void the_line_is_the_proof_whatever_raw_says(void **state)
{
    (void)state;
    decode_ok("\n  {\"kind\":\"xid\",\"raw\":{\"digest\":\"sha256:ab\",\"offset\":1}} \r\n"
              "{\"kind\":\"xid\",\"raw\":7}\n{\"kind\":\"xid\"}");
    assert_int_equal(taken.count, 3);
    assert_int_equal(taken.unknown_count, 0);
    assert_int_equal(taken.events[0].raw.source, 3);
    assert_int_equal(taken.events[0].raw.offset, 3);
    assert_int_equal(taken.events[0].raw.length, 54);
    assert_int_equal(taken.events[1].raw.offset, 60);
    assert_int_equal(taken.events[2].raw.length, 14);
}

static void blank_lines_byte_order_mark_and_line_ends_do_not_matter(void **state)
{
    (void)state;
    decode_ok("");
    assert_int_equal(taken.count, 0);
    decode_ok("\n \r\n\t\n");
    assert_int_equal(taken.count, 0);
    decode_ok("\xef\xbb\xbf{\"kind\":\"xid\",\"xid\":1}\r\n\r\n{\"kind\":\"xid\",\"xid\":2}");
    assert_int_equal(taken.count, 2);
    assert_int_equal(taken.events[0].xid.code, 1);
    assert_int_equal(taken.events[0].raw.offset, 3);
    assert_int_equal(taken.events[1].xid.code, 2);
    decode_ok("\xef\xbb\xbf");
    assert_int_equal(taken.count, 0);
}

static void fields_come_in_any_order_and_null_means_absent(void **state)
{
    (void)state;
    decode_ok("{\"message\":\"m\",\"xid\":79,\"rank\":null,\"time\":null,\"kind\":\"xid\"}\n"
              "{\"kind\":\"nccl_record\",\"nccl.state\":null,\"nccl.group_key\":null}");
    assert_int_equal(taken.count, 2);
    assert_int_equal(taken.events[0].xid.code, 79);
    assert_int_equal(taken.events[0].scope.rank, -1);
    assert_true(taken.events[0].time_ns == TC_TIME_NONE);
    assert_true(tc_slice_eq(taken.events[0].xid.message, TC_LIT("m")));
    assert_int_equal(taken.events[1].nccl.state, TC_NCCL_SCHEDULED);
}

static void strings_outlive_the_line_they_came_in(void **state)
{
    (void)state;
    decode_ok("{\"kind\":\"xid\",\"message\":\"one\"}\n{\"kind\":\"xid\",\"message\":\"two\"}\n");
    assert_true(tc_slice_eq(taken.events[0].xid.message, TC_LIT("one")));
    assert_true(tc_slice_eq(taken.events[1].xid.message, TC_LIT("two")));
}

static void times_are_read_in_every_form(void **state)
{
    (void)state;
    input.utc_offset_s = 3600;
    decode_ok("{\"kind\":\"xid\",\"time\":\"2026-01-01T12:00:00Z\"}\n"
              "{\"kind\":\"xid\",\"time\":\"2026-01-01 13:00:00\"}\n"
              "{\"kind\":\"xid\",\"time\":\"2026-01-01T14:30:00+02:30\"}\n"
              "{\"kind\":\"xid\",\"time\":1767268800000000000}\n"
              "{\"kind\":\"xid\",\"time\":-5}\n");
    for (size_t i = 0; i < 4; i++) {
        assert_true(taken.events[i].time_ns == INT64_C(1767268800) * TC_SECOND);
    }
    assert_int_equal(taken.events[4].time_ns, -5);
}

static void events_that_know_only_their_uptime_are_counted(void **state)
{
    (void)state;
    decode_ok("{\"kind\":\"xid\",\"uptime_ns\":5}\n{\"kind\":\"xid\"}\n"
              "{\"kind\":\"xid\",\"time\":7,\"uptime_ns\":5}\n");
    assert_int_equal(cursor.undated, 1);
}

static void a_record_without_a_key_gets_one_from_job_and_name(void **state)
{
    (void)state;
    decode_ok("{\"kind\":\"nccl_record\",\"job.id\":\"j\",\"nccl.group\":\"dp\"}\n"
              "{\"nccl.group\":\"dp\",\"job.id\":\"j\",\"kind\":\"nccl_record\"}\n"
              "{\"kind\":\"nccl_record\",\"nccl.group\":\"dp\"}\n"
              "{\"kind\":\"nccl_record\",\"nccl.group\":\"dp\",\"nccl.group_key\":"
              "\"00000000000000A7\"}\n");
    uint64_t key = tc_nccl_group_key(TC_LIT("j"), TC_LIT("dp"), TC_EMPTY);
    assert_true(taken.events[0].nccl.group_key == key);
    assert_true(taken.events[1].nccl.group_key == key);
    assert_true(taken.events[2].nccl.group_key != key);
    assert_int_equal(taken.events[3].nccl.group_key, 0xa7);
}

static void a_group_without_a_key_gets_one_from_its_ranks_too(void **state)
{
    (void)state;
    decode_ok("{\"kind\":\"nccl_group\",\"job.id\":\"j\",\"nccl.group\":\"dp\","
              "\"nccl.ranks\":\"[0, 1]\"}\n{\"kind\":\"nccl_status\",\"nccl.group\":\"dp\"}\n");
    assert_true(taken.events[0].group.group_key ==
                tc_nccl_group_key(TC_LIT("j"), TC_LIT("dp"), TC_LIT("[0, 1]")));
    assert_int_equal(taken.events[1].status.group_key, 0); /* what a dump does not say stays so */
}

static void hints_from_outside_fill_nothing(void **state)
{
    (void)state;
    input.node = TC_LIT("hint");
    input.job = TC_LIT("hint");
    decode_ok("{\"kind\":\"xid\"}");
    assert_int_equal(taken.events[0].scope.node.len, 0);
    assert_int_equal(taken.events[0].scope.job.len, 0);
}

static void unknown_kinds_are_reported_and_make_no_event(void **state)
{
    (void)state;
    const char *text = "{\"kind\":\"Pod\"}\n{\"kind\":\"xid\"}\n {\"kind\":\"nccl_recordx\"}";
    decode_ok(text);
    assert_int_equal(taken.count, 1);
    assert_int_equal(cursor.unknown, 2);
    assert_int_equal(taken.unknown_count, 2);
    assert_int_equal(taken.unknown[0].offset, 0);
    assert_int_equal(taken.unknown[0].length, 14);
    assert_string_equal(taken.unknown[0].why, "unknown kind");
    assert_int_equal(taken.unknown[1].offset, 31);
    input.want_unknown = false;
    decode_ok(text);
    assert_int_equal(taken.unknown_count, 0);
    assert_int_equal(cursor.unknown, 2);
    input.want_unknown = true;
    taken.out.unknown = NULL;
    decode_ok(text);
    assert_int_equal(cursor.unknown, 2);
}

static void unknown_fields_are_reported_once_a_line_and_the_event_is_delivered(void **state)
{
    (void)state;
    decode_ok("{\"kind\":\"xid\",\"xid\":79,\"colour\":\"red\",\"\":[{}],\"nccl.seq\":\"x\"}\n");
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.events[0].xid.code, 79);
    assert_int_equal(cursor.unknown, 1);
    assert_int_equal(taken.unknown_count, 1);
    assert_string_equal(taken.unknown[0].why, "unknown field");
    assert_int_equal(taken.unknown[0].length, 61);
}

/* A line between two good ones: the good ones arrive, and the error names the line. */
static void assert_bad(const char *bad, const char *word)
{
    char text[1024];
    int len = snprintf(text, sizeof text,
                       "{\"kind\":\"xid\",\"xid\":1}\n\n%s\n{\"kind\":\"xid\"}\n", bad);
    memset(&err, 0, sizeof err);
    tc_status status = decode(tc_slice_make(text, (size_t)len));
    if (status != TC_E_MALFORMED || taken.count != 2 || err.offset != 24 ||
        strstr(err.message, word) == NULL || strstr(err.message, "line 3: ") == NULL) {
        fail_msg("%s: status %d, %zu events, offset %zu: %s", bad, status, taken.count, err.offset,
                 err.message);
    }
    assert_int_equal(err.status, TC_E_MALFORMED);
    assert_true(cursor.done);
    assert_int_equal(cursor.events, 2);
    assert_int_equal(cursor.unknown, 1);
    assert_string_equal(taken.unknown[0].why, "malformed event");
    assert_int_equal(taken.unknown[0].offset, 24);
}

static void a_field_of_another_type_spoils_its_line_only(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"\"message\":5", "\"message\" must be a string"},
        {"\"message\":[]", "\"message\""},
        {"\"time\":\"yesterday\"", "\"time\" must be an RFC 3339 time"},
        {"\"time\":\"\"", "\"time\""},
        {"\"time\":\"2026-01-01T12:00:00Zx\"", "\"time\""},
        {"\"time\":\"1969-12-31T23:59:59Z\"", "\"time\""},
        {"\"time\":1.5", "\"time\""},
        {"\"time\":9223372036854775808", "\"time\""},
        {"\"time\":true", "\"time\""},
        {"\"xid\":\"79\"", "\"xid\" must be an integer of 64 bits"},
        {"\"xid\":79.0", "\"xid\""},
        {"\"xid\":9223372036854775808", "\"xid\""},
        {"\"xid\":{}", "\"xid\""},
        {"\"rank\":2147483648", "\"rank\" must be an integer of 32 bits"},
        {"\"rank\":-2147483649", "\"rank\""},
        {"\"rank\":\"1\"", "\"rank\""},
        {"\"pci.bdf\":\"b3\"", "\"pci.bdf\" must be a PCI address"},
        {"\"pci.bdf\":\"0000:b3:00.0 \"", "\"pci.bdf\""},
        {"\"pci.bdf\":\"\"", "\"pci.bdf\""},
        {"\"pci.bdf\":1", "\"pci.bdf\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "{\"kind\":\"xid\",%s}", wrong[i][0]);
        assert_bad(line, wrong[i][1]);
    }
    static const char *const record[][2] = {
        {"\"nccl.group_key\":\"a7\"", "\"nccl.group_key\" must be a string of 16 hex digits"},
        {"\"nccl.group_key\":\"00000000000000a70\"", "\"nccl.group_key\""},
        {"\"nccl.group_key\":\"00000000000000ag\"", "\"nccl.group_key\""},
        {"\"nccl.group_key\":7", "\"nccl.group_key\""},
        {"\"nccl.p2p\":1", "\"nccl.p2p\" must be true or false"},
        {"\"nccl.p2p\":\"true\"", "\"nccl.p2p\""},
        {"\"nccl.state\":\"Started\"", "\"nccl.state\" must be \"scheduled\""},
        {"\"nccl.state\":1", "\"nccl.state\""},
        {"\"nccl.started\":{}", "\"nccl.started\""},
    };
    for (size_t i = 0; i < sizeof record / sizeof record[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "{\"kind\":\"nccl_record\",%s}", record[i][0]);
        assert_bad(line, record[i][1]);
    }
    assert_bad("{\"kind\":\"pcie_link\",\"speed_gts\":\"8\"}", "\"speed_gts\" must be a number");
}

static void both_ends_of_every_range_are_read(void **state)
{
    (void)state;
    decode_ok("{\"kind\":\"xid\",\"rank\":2147483647,\"xid\":9223372036854775807,"
              "\"pci.bdf\":\"1f:1f.7\"}\n"
              "{\"kind\":\"xid\",\"rank\":-2147483648,\"xid\":-9223372036854775808}\n"
              "{\"kind\":\"pcie_link\",\"speed_gts\":8,\"speed_gts_max\":3.2e1}\n"
              "{\"kind\":\"nccl_record\",\"nccl.p2p\":false,\"nccl.group_key\":"
              "\"ffffffffffffffff\"}\n");
    assert_int_equal(taken.events[0].scope.rank, INT32_MAX);
    assert_true(taken.events[0].xid.code == INT64_MAX);
    assert_int_equal(taken.events[1].scope.rank, INT32_MIN);
    assert_true(taken.events[1].xid.code == INT64_MIN);
    assert_true(taken.events[2].aer.speed_gts == 8 && taken.events[2].aer.speed_gts_max == 32);
    assert_false(taken.events[3].nccl.is_p2p);
    assert_true(taken.events[3].nccl.group_key == UINT64_MAX);
}

static void what_is_no_event_is_malformed(void **state)
{
    (void)state;
    assert_bad("{}", "no \"kind\"");
    assert_bad("{\"xid\":79}", "no \"kind\"");
    assert_bad("{\"kind\":5}", "no \"kind\"");
    assert_bad("[]", "no \"kind\"");
    assert_bad("\"kind\"", "no \"kind\"");
    assert_bad("7", "no \"kind\"");
    assert_bad("{\"kind\":\"xid\"", "not valid JSON");
    assert_bad("{\"kind\":\"xid\"}{\"kind\":\"xid\"}", "not valid JSON");
    assert_bad("{\"kind\":\"xid\",\"message\":\"\xff\"}", "not valid JSON");
    assert_bad("kind=xid", "not valid JSON");
    char deep[512] = "{\"kind\":\"xid\",\"a\":";
    size_t len = strlen(deep);
    memset(deep + len, '[', TC_JSON_DEPTH_MAX);
    memset(deep + len + TC_JSON_DEPTH_MAX, ']', TC_JSON_DEPTH_MAX);
    deep[len + TC_JSON_DEPTH_MAX + TC_JSON_DEPTH_MAX] = '}';
    assert_bad(deep, "deeper");
}

static void a_field_that_is_there_twice_is_malformed(void **state)
{
    (void)state;
    assert_bad("{\"kind\":\"xid\",\"xid\":1,\"xid\":1}", "\"xid\" is there twice");
    assert_bad("{\"kind\":\"xid\",\"kind\":\"xid\"}", "\"kind\" is there twice");
    assert_bad("{\"kind\":\"xid\",\"rank\":null,\"rank\":1}", "\"rank\" is there twice");
    decode_ok("{\"kind\":\"xid\",\"colour\":1,\"colour\":2}");
}

static void a_torn_last_line_is_told_after_the_rest(void **state)
{
    (void)state;
    assert_int_equal(decode(TC_LIT("{\"kind\":\"xid\",\"xid\":1}\n{\"kind\":\"xid\",\"xi")),
                     TC_E_MALFORMED);
    assert_int_equal(taken.count, 1);
    assert_int_equal(err.offset, 23);
    assert_non_null(strstr(err.message, "line 2: "));
    assert_non_null(strstr(err.message, "torn"));
}

static void the_first_of_several_bad_lines_is_named(void **state)
{
    (void)state;
    assert_int_equal(decode(TC_LIT("{\"kind\":\"new\"}\n{}\n[]\n{\"kind\":\"xid\"}\n")),
                     TC_E_MALFORMED);
    assert_int_equal(taken.count, 1);
    assert_int_equal(err.offset, 15);
    assert_int_equal(cursor.unknown, 3);
    assert_int_equal(tc_codec_event_json.decode(&input, &cursor, &taken.out, NULL), TC_OK);
    memset(&cursor, 0, sizeof cursor);
    assert_int_equal(tc_codec_event_json.decode(&input, &cursor, &taken.out, NULL), TC_E_MALFORMED);
}

/* A line of exactly that many bytes. */
static struct tc_slice long_line(char *text, size_t len)
{
    static const char head[] = "{\"kind\":\"xid\",\"message\":\"";
    memset(text, 'x', len);
    memcpy(text, head, sizeof head - 1);
    text[len - 2] = '"';
    text[len - 1] = '}';
    return tc_slice_make(text, len);
}

static void a_line_of_the_limit_is_read_and_a_longer_one_is_not(void **state)
{
    (void)state;
    char *text = malloc(LINE_LIMIT + 64);
    assert_non_null(text);
    assert_int_equal(decode(long_line(text, LINE_LIMIT)), TC_OK);
    assert_int_equal(taken.count, 1);
    assert_int_equal(cursor.cut, 0);
    assert_int_equal(taken.events[0].raw.length, LINE_LIMIT);
    struct tc_slice line = long_line(text, LINE_LIMIT + 1);
    memcpy(text + line.len, "\n{\"kind\":\"xid\"}", 15);
    assert_int_equal(decode(tc_slice_make(text, line.len + 15)), TC_E_MALFORMED);
    assert_int_equal(taken.count, 1);
    assert_int_equal(cursor.cut, 1);
    assert_int_equal(err.offset, 0);
    assert_non_null(strstr(err.message, "262145 bytes"));
    free(text);
}

static void a_pause_stops_after_each_event_and_loses_nothing(void **state)
{
    (void)state;
    static const char text[] =
        "\xef\xbb\xbf{\"kind\":\"xid\",\"xid\":1}\n\n{\"kind\":\"new\"}\n"
        "{\"kind\":\"xid\",\"xid\":2,\"new\":1}\n{\"kind\":\"xid\",\"xid\":3}";
    taken.pause_each = true;
    assert_int_equal(decode(tc_slice_cstr(text)), TC_OK);
    for (size_t want = 1; want <= 3; want++) {
        assert_int_equal(taken.count, want);
        assert_int_equal(taken.events[want - 1].xid.code, want);
        assert_int_equal(cursor.events, want);
        assert_false(cursor.done);
        taken.out.pause = false;
        assert_int_equal(go_on(), TC_OK);
    }
    assert_int_equal(taken.count, 3);
    assert_true(cursor.done);
    assert_int_equal(cursor.unknown, 2);
    assert_int_equal(go_on(), TC_OK);
    assert_int_equal(taken.count, 3);
}

static void a_bad_line_is_named_even_when_a_pause_came_after_it(void **state)
{
    (void)state;
    static const char text[] = "{\"kind\":\"xid\",\"xid\":1}\n{\"kind\":\"xid\",\"xid\":true}\n"
                               "{\"kind\":\"xid\",\"xid\":2}\n{}\n{\"kind\":\"xid\",\"xid\":3}\n";
    taken.pause_each = true;
    tc_status status = decode(tc_slice_cstr(text));
    size_t calls = 1;
    for (; !cursor.done; calls++) {
        assert_int_equal(status, TC_OK);
        status = go_on();
    }
    assert_int_equal(calls, 4);
    assert_int_equal(taken.count, 3);
    assert_int_equal(status, TC_E_MALFORMED);
    assert_int_equal(err.offset, 23);
    assert_non_null(strstr(err.message, "line 2: \"xid\""));
}

static void a_full_arena_stops_at_the_line_and_goes_on_after_a_reset(void **state)
{
    (void)state;
    static const char text[] = "{\"kind\":\"xid\",\"message\":\"0123456789\"}\n"
                               "{\"kind\":\"xid\",\"message\":\"abcdefghij\"}\n";
    struct tc_arena small;
    static unsigned char block[24]; /* one string, with the gap of AddressSanitizer builds */
    tc_arena_init(&small, "small", block, 19);
    taken.out.arena = &small;
    input.bytes = tc_slice_cstr(text);
    assert_int_equal(go_on(), TC_E_NOMEM);
    assert_int_equal(err.status, TC_E_NOMEM);
    assert_int_equal(taken.count, 1);
    assert_false(cursor.done);
    assert_int_equal(cursor.offset, 38);
    assert_int_equal(err.offset, 38);
    assert_false(tc_arena_ok(&small));
    tc_arena_reset(&small);
    assert_int_equal(go_on(), TC_OK);
    assert_int_equal(taken.count, 2);
    assert_true(cursor.done);
    assert_true(tc_slice_eq(taken.events[1].xid.message, TC_LIT("abcdefghij")));
    tc_arena_fini(&small);
}

static void a_bad_line_gives_its_strings_back(void **state)
{
    (void)state;
    size_t before = arena.used;
    assert_int_equal(
        decode(TC_LIT("{\"kind\":\"xid\",\"message\":\"0123456789\",\"rank\":\"x\"}\n")),
        TC_E_MALFORMED);
    assert_int_equal(arena.used, before);
}

static void what_the_caller_answers_ends_the_decoding(void **state)
{
    (void)state;
    taken.answer = TC_E_LIMIT;
    assert_int_equal(decode(TC_LIT("{\"kind\":\"xid\"}\n{\"kind\":\"xid\"}\n")), TC_E_LIMIT);
    assert_int_equal(taken.count, 1);
    assert_false(cursor.done);
    assert_int_equal(decode(TC_LIT("{\"kind\":\"new\"}\n{\"kind\":\"xid\"}\n")), TC_E_LIMIT);
    assert_int_equal(taken.count, 0);
    assert_int_equal(decode(TC_LIT("{\"kind\":\"xid\",\"new\":1}\n")), TC_E_LIMIT);
    assert_int_equal(decode(TC_LIT("{}\n{\"kind\":\"xid\"}\n")), TC_E_LIMIT);
}

static void our_files_are_recognised_and_others_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int score;
    } cases[] = {
        {"{\"kind\":\"xid\"}", TC_SNIFF_SURE},
        {"\xef\xbb\xbf\n\n  { \"kind\" : \"nccl_record\" , \"ra", TC_SNIFF_SURE},
        {"{\"job.id\":\"j\",\"kind\":\"node_condition\"}", TC_SNIFF_SURE},
        {"{\"raw\":{\"kind\":\"xid\"},\"kind\":\"aer\"}\n", TC_SNIFF_SURE},
        {"{\"kind\":\"xid", TC_SNIFF_NO},
        {"{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", TC_SNIFF_NO},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Event\"}", TC_SNIFF_NO},
        {"{\"kind\":\"Pod\",\"x\":{},\"kind\":\"xid\"}", TC_SNIFF_NO},
        {"{\"a\":{\"kind\":\"xid\"}}", TC_SNIFF_NO},
        {"{\n\"kind\":\"xid\"}", TC_SNIFF_NO},
        {"{\"kind\":79}", TC_SNIFF_NO},
        {"{\"kind\":[xid]}", TC_SNIFF_NO},
        {"[{\"kind\":\"xid\"}]", TC_SNIFF_NO},
        {"{\"version\":\"2.10\",\"entries\":[]}", TC_SNIFF_NO},
        {"kind: xid", TC_SNIFF_NO},
        {"{}", TC_SNIFF_NO},
        {"{", TC_SNIFF_NO},
        {"", TC_SNIFF_NO},
        {"\n\n", TC_SNIFF_NO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int score =
            tc_codec_sniff(&tc_codec_event_json, tc_slice_cstr(cases[i].text), true, TC_EMPTY);
        if (score != cases[i].score) {
            fail_msg("%s: %d", cases[i].text, score);
        }
    }
    assert_string_equal(tc_codec_event_json.name, "event_json");
    assert_true(tc_codec_event_json.ordered);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_line_is_the_proof_whatever_raw_says),
        TEST(blank_lines_byte_order_mark_and_line_ends_do_not_matter),
        TEST(fields_come_in_any_order_and_null_means_absent),
        TEST(strings_outlive_the_line_they_came_in),
        TEST(times_are_read_in_every_form),
        TEST(events_that_know_only_their_uptime_are_counted),
        TEST(a_record_without_a_key_gets_one_from_job_and_name),
        TEST(a_group_without_a_key_gets_one_from_its_ranks_too),
        TEST(hints_from_outside_fill_nothing),
        TEST(unknown_kinds_are_reported_and_make_no_event),
        TEST(unknown_fields_are_reported_once_a_line_and_the_event_is_delivered),
        TEST(a_field_of_another_type_spoils_its_line_only),
        TEST(both_ends_of_every_range_are_read),
        TEST(what_is_no_event_is_malformed),
        TEST(a_field_that_is_there_twice_is_malformed),
        TEST(a_torn_last_line_is_told_after_the_rest),
        TEST(the_first_of_several_bad_lines_is_named),
        TEST(a_line_of_the_limit_is_read_and_a_longer_one_is_not),
        TEST(a_pause_stops_after_each_event_and_loses_nothing),
        TEST(a_bad_line_is_named_even_when_a_pause_came_after_it),
        TEST(a_full_arena_stops_at_the_line_and_goes_on_after_a_reset),
        TEST(a_bad_line_gives_its_strings_back),
        TEST(what_the_caller_answers_ends_the_decoding),
        TEST(our_files_are_recognised_and_others_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
