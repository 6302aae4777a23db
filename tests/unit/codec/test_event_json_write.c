/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/event_json/event_json.h"

#include "codec/codec.h"
#include "event/fields.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 8

/* What one decoding gave. */
struct taken {
    struct tc_event events[EVENTS_MAX];
    size_t count;
    size_t unknown_count;
};

static alignas(16) unsigned char arena_block[1 << 18];
static struct tc_arena arena;
static struct taken taken;
static struct tc_error err;

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct taken *t = context;
    assert_true(t->count < EVENTS_MAX);
    t->events[t->count++] = *ev;
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)offset;
    (void)length;
    (void)why;
    ((struct taken *)context)->unknown_count++;
    return TC_OK;
}

static int setup(void **state)
{
    (void)state;
    tc_arena_init(&arena, "events", arena_block, sizeof arena_block);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_arena_fini(&arena);
    return 0;
}

static tc_status decode(struct tc_slice text)
{
    struct tc_codec_input input = {
        .bytes = text, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE, .want_unknown = true};
    struct tc_codec_out out = {
        .event = on_event, .unknown = on_unknown, .context = &taken, .arena = &arena};
    struct tc_codec_cursor cursor = {0};
    tc_arena_reset(&arena);
    taken.count = 0;
    taken.unknown_count = 0;
    return tc_codec_event_json.decode(&input, &cursor, &out, &err);
}

static void assert_written(const struct tc_event *ev, const char *want)
{
    static char text[1 << 16];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_event_json_write(&b, ev, NULL);
    tc_buf_char(&b, '\0');
    assert_false(b.overflowed);
    assert_string_equal(text, want);
}

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* Text with everything JSON has to escape, and characters of every length of UTF-8. */
static struct tc_slice random_string(uint64_t *seed, struct tc_buf *memory)
{
    static const char *const pieces[] = {"a",
                                         "Z",
                                         " ",
                                         "\"",
                                         "\\",
                                         "/",
                                         "\n",
                                         "\r",
                                         "\t",
                                         "\x01",
                                         "\x1f",
                                         "\x7f",
                                         "{",
                                         "}",
                                         "[",
                                         ",",
                                         "\xc3\xa9",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x92\xa5",
                                         "\xef\xbf\xbd",
                                         "u0000",
                                         "abcdefgh"};
    size_t start = memory->len;
    size_t count = next_random(seed) % 30;
    for (size_t i = 0; i < count; i++) {
        size_t piece = next_random(seed) % (sizeof pieces / sizeof pieces[0] + 1);
        if (piece == sizeof pieces / sizeof pieces[0]) {
            tc_buf_char(memory, '\0');
        } else {
            tc_buf_str(memory, tc_slice_cstr(pieces[piece]));
        }
    }
    return tc_buf_since(memory, start);
}

static int64_t random_i64(uint64_t *seed)
{
    static const int64_t ends[] = {0,         1,         -1,        INT64_MAX,
                                   INT64_MIN, INT32_MAX, INT32_MIN, 1000000000};
    uint64_t r = next_random(seed);
    if (r % 3 == 0) {
        return ends[(r >> 8) % (sizeof ends / sizeof ends[0])];
    }
    return (int64_t)(next_random(seed) >> (r % 60));
}

static double random_f64(uint64_t *seed)
{
    static const double some[] = {0, 0.1, -2.5, 32, DBL_MAX, DBL_MIN, 5e-324, 1e15, 1e22, 1.0 / 3};
    uint64_t r = next_random(seed);
    double value = 0;
    memcpy(&value, &r, sizeof value);
    if (r % 3 == 0 || !isfinite(value)) {
        value = some[(r >> 8) % (sizeof some / sizeof some[0])];
    }
    return value;
}

static void random_field(const struct tc_field *f, void *at, uint64_t *seed, struct tc_buf *memory)
{
    switch (f->type) {
    case TC_FIELD_STRING:
        *(struct tc_slice *)at = random_string(seed, memory);
        return;
    case TC_FIELD_TIME:
    case TC_FIELD_I64:
        *(int64_t *)at = random_i64(seed);
        return;
    case TC_FIELD_I32:
        *(int32_t *)at = (int32_t)random_i64(seed);
        return;
    case TC_FIELD_KEY:
        /* An absent key is made up by the reader: see the tests of that. */
        *(uint64_t *)at = next_random(seed) | 1;
        return;
    case TC_FIELD_F64:
        *(double *)at = random_f64(seed);
        return;
    case TC_FIELD_BOOL:
        *(bool *)at = next_random(seed) % 2 == 0;
        return;
    case TC_FIELD_BDF: {
        uint64_t r = next_random(seed);
        *(struct tc_bdf *)at =
            (struct tc_bdf){(uint16_t)(r >> 40), (uint8_t)(r >> 32), (uint8_t)(r >> 24 & 31),
                            (uint8_t)(r >> 16 & 7), true};
        return;
    }
    case TC_FIELD_STATE:
        *(uint8_t *)at = (uint8_t)(next_random(seed) % 3);
        return;
    case TC_FIELD_METRIC:
        *(uint16_t *)at = (uint16_t)(1 + next_random(seed) % (TC_METRIC_COUNT - 1));
        return;
    }
}

static void random_event(struct tc_event *ev, enum tc_event_kind kind, unsigned density,
                         uint64_t *seed, struct tc_buf *memory)
{
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    tc_event_init(ev, kind);
    for (size_t i = 0; i < count; i++) {
        bool wanted = next_random(seed) % 4 < density || fields[i].type == TC_FIELD_KEY;
        if ((fields[i].kinds & TC_EVENT_BIT(kind)) != 0 && wanted) {
            random_field(&fields[i], (char *)ev + fields[i].offset, seed, memory);
        }
    }
}

static void what_is_written_reads_back_and_is_written_alike(void **state)
{
    (void)state;
    static char strings[1 << 16];
    static char first[1 << 17];
    static char second[1 << 17];
    uint64_t seed = 2026;
    for (unsigned round = 0; round < 300; round++) {
        for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
            struct tc_event ev;
            struct tc_buf memory = tc_buf_make(strings, sizeof strings);
            struct tc_buf a = tc_buf_make(first, sizeof first);
            struct tc_buf b = tc_buf_make(second, sizeof second);
            random_event(&ev, (enum tc_event_kind)kind, round % 5, &seed, &memory);
            tc_event_json_write(&a, &ev, NULL);
            assert_false(memory.overflowed || a.overflowed);
            assert_null(memchr(a.data, '\n', a.len));
            assert_int_equal(decode(tc_buf_slice(&a)), TC_OK);
            assert_int_equal(taken.count, 1);
            assert_int_equal(taken.unknown_count, 0);
            assert_int_equal(tc_event_cmp(&ev, &taken.events[0]), 0);
            tc_event_json_write(&b, &taken.events[0], NULL);
            assert_int_equal(a.len, b.len);
            assert_memory_equal(a.data, b.data, a.len);
        }
    }
}

static void every_field_of_every_kind_survives_alone(void **state)
{
    (void)state;
    static char strings[1 << 12];
    static char text[1 << 13];
    uint64_t seed = 1;
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    for (size_t i = 0; i < count; i++) {
        for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
            if ((fields[i].kinds & TC_EVENT_BIT(kind)) == 0) {
                continue;
            }
            struct tc_event ev;
            struct tc_event none;
            struct tc_buf memory = tc_buf_make(strings, sizeof strings);
            struct tc_buf b = tc_buf_make(text, sizeof text);
            tc_event_init(&none, (enum tc_event_kind)kind);
            do { /* until it says something */
                ev = none;
                random_field(&fields[i], (char *)&ev + fields[i].offset, &seed, &memory);
            } while (tc_event_cmp(&ev, &none) == 0);
            tc_event_json_write(&b, &ev, NULL);
            assert_true(tc_slice_contains(tc_buf_slice(&b), fields[i].name));
            assert_int_equal(decode(tc_buf_slice(&b)), TC_OK);
            struct tc_event got = taken.events[0];
            if (fields[i].type != TC_FIELD_KEY && kind == TC_EVENT_NCCL_RECORD) {
                got.nccl.group_key = 0; /* made up by the reader */
            } else if (fields[i].type != TC_FIELD_KEY && kind == TC_EVENT_NCCL_GROUP) {
                got.group.group_key = 0;
            }
            assert_int_equal(tc_event_cmp(&ev, &got), 0);
        }
    }
}

static void an_event_is_written_in_the_order_of_the_table(void **state)
{
    (void)state;
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_XID);
    assert_written(&ev, "{\"kind\":\"xid\"}");
    ev.time_ns = INT64_C(1767268800123000000);
    ev.scope.node = TC_LIT("node-a");
    ev.scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
    ev.scope.rank = 0;
    ev.xid.code = 79;
    ev.xid.message = TC_LIT("a \"b\"\n");
    assert_written(&ev, "{\"kind\":\"xid\",\"time\":\"2026-01-01T12:00:00.123Z\","
                        "\"k8s.node.name\":\"node-a\",\"pci.bdf\":\"0000:b3:00.0\",\"rank\":0,"
                        "\"xid\":79,\"message\":\"a \\\"b\\\"\\n\"}");
    tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
    ev.time_ns = -1; /* before the calendar begins */
    ev.nccl.group_key = 0xa7;
    ev.nccl.is_p2p = true;
    assert_written(&ev, "{\"kind\":\"nccl_record\",\"time\":-1,"
                        "\"nccl.group_key\":\"00000000000000a7\",\"nccl.state\":\"scheduled\","
                        "\"nccl.p2p\":true}");
    tc_event_init(&ev, TC_EVENT_PCIE_LINK);
    ev.aer.speed_gts = 2.5;
    ev.aer.speed_gts_max = (double)NAN; /* no JSON number: left out */
    assert_written(&ev, "{\"kind\":\"pcie_link\",\"speed_gts\":2.5}");
}

static void bytes_that_are_not_utf8_are_replaced_not_passed_on(void **state)
{
    (void)state;
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_XID);
    ev.xid.message = TC_LIT("a\xff");
    assert_written(&ev, "{\"kind\":\"xid\",\"message\":\"a\xef\xbf\xbd\"}");
}

static void a_small_buffer_overflows_instead_of_lying(void **state)
{
    (void)state;
    struct tc_event ev;
    char text[64];
    tc_event_init(&ev, TC_EVENT_XID);
    ev.xid.code = 79;
    for (size_t cap = 0; cap < 24; cap++) {
        struct tc_buf b = tc_buf_make(text, cap);
        tc_event_json_write(&b, &ev, NULL);
        assert_int_equal(b.overflowed, cap < sizeof "{\"kind\":\"xid\",\"xid\":79}" - 1);
    }
}

static bool view(void *context, uint32_t index, struct tc_source_view *out)
{
    (void)context;
    assert_true(index != TC_SOURCE_NONE);
    if (index != 5) {
        return false;
    }
    *out = (struct tc_source_view){.name = TC_LIT("log"), .digest = TC_LIT("sha256:ab")};
    return true;
}

static void the_proof_is_written_where_it_is_known(void **state)
{
    (void)state;
    static const struct {
        uint32_t source;
        const char *want;
    } cases[] = {
        {5, "{\"kind\":\"sxid\",\"raw\":{\"digest\":\"sha256:ab\",\"offset\":18446744073709551615,"
            "\"length\":4294967295}}"},
        {6, "{\"kind\":\"sxid\"}"},
        {TC_SOURCE_NONE, "{\"kind\":\"sxid\"}"},
    };
    struct tc_sources sources = {view, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_event ev;
        char text[256];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_event_init(&ev, TC_EVENT_SXID);
        ev.raw = (struct tc_raw){cases[i].source, UINT32_MAX, UINT64_MAX};
        tc_event_json_write(&b, &ev, &sources);
        assert_true(tc_slice_eq(tc_buf_slice(&b), tc_slice_cstr(cases[i].want)));
    }
}

static void every_kind_is_recognised(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
        struct tc_event ev;
        char text[128];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_event_init(&ev, (enum tc_event_kind)kind);
        tc_event_json_write(&b, &ev, NULL);
        assert_int_equal(tc_codec_sniff(&tc_codec_event_json, tc_buf_slice(&b), true, TC_EMPTY),
                         TC_SNIFF_SURE);
    }
}

static void the_example_of_the_page_is_read_and_written_alike(void **state)
{
    (void)state;
    static char page[1 << 17];
    const char *root = getenv("TC_SOURCE_DIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/docs/events.md", root == NULL ? "." : root);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fail_msg("%s cannot be read; set TC_SOURCE_DIR", path);
        return;
    }
    struct tc_slice text = tc_slice_make(page, fread(page, 1, sizeof page, f));
    assert_int_equal(fclose(f), 0);
    size_t begin = tc_slice_find(text, TC_LIT("```ndjson\n"));
    assert_true(begin != TC_NPOS);
    text = tc_slice_from(text, begin + 10);
    text = tc_slice_head(text, tc_slice_find(text, TC_LIT("```")));
    if (decode(text) != TC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(taken.count, 4);
    assert_int_equal(taken.unknown_count, 0);
    assert_int_equal(tc_codec_sniff(&tc_codec_event_json, text, true, TC_EMPTY), TC_SNIFF_SURE);
    static char again[1 << 14];
    struct tc_buf b = tc_buf_make(again, sizeof again);
    for (size_t i = 0; i < taken.count; i++) {
        tc_event_json_write(&b, &taken.events[i], NULL);
        tc_buf_char(&b, '\n');
    }
    assert_true(tc_slice_eq(tc_buf_slice(&b), text));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_reads_back_and_is_written_alike),
        TEST(every_field_of_every_kind_survives_alone),
        TEST(an_event_is_written_in_the_order_of_the_table),
        TEST(bytes_that_are_not_utf8_are_replaced_not_passed_on),
        TEST(a_small_buffer_overflows_instead_of_lying),
        TEST(the_proof_is_written_where_it_is_known),
        TEST(every_kind_is_recognised),
        TEST(the_example_of_the_page_is_read_and_written_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
