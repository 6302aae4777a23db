/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams over made-up codecs: the "bytes" are a script of what the codec is to
 * do, so that every path of a stream can be walked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "intake/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One record of the made-up format. */
struct record {
    int64_t time_ns;
    uint32_t string_bytes;  /* made in the arena; 0: a slice of the input */
    uint32_t scratch_bytes; /* needed while it is read */
};

static size_t decode_calls;

/*
 * Reads records until pause or the end; string_bytes of UINT32_MAX is malformed. A dump-like
 * codec (`whole`) reads everything or, like the real one, says that it could not.
 */
static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err, bool whole)
{
    decode_calls++;
    out->pause = false;
    while (cursor->offset + sizeof(struct record) <= in->bytes.len) {
        struct record r;
        memcpy(&r, in->bytes.ptr + cursor->offset, sizeof r);
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_XID);
        ev.time_ns = r.time_ns;
        ev.xid.code = (int64_t)(cursor->offset / sizeof r);
        ev.raw = (struct tc_raw){in->source, sizeof r, cursor->offset};
        ev.scope.node = in->node;
        ev.xid.message = tc_slice_make(in->bytes.ptr + cursor->offset, 8);
        if (r.string_bytes == UINT32_MAX) {
            return tc_fail(err, TC_E_MALFORMED, cursor->offset, "made to fail");
        }
        if (r.string_bytes > 0) {
            char *text = tc_new(out->arena, char, r.string_bytes);
            if (text != NULL) {
                memset(text, 'a' + (int)(ev.xid.code % 26), r.string_bytes);
                ev.xid.message = tc_slice_make(text, r.string_bytes);
            }
        }
        if (r.scratch_bytes > 0 && tc_new(out->scratch, char, r.scratch_bytes) == NULL) {
            ev.xid.message = TC_EMPTY;
        }
        if (!tc_arena_ok(out->arena) || !tc_arena_ok(out->scratch)) {
            if (whole) {
                tc_event_init(&ev, TC_EVENT_NCCL_DUMP);
                (void)out->event(out->context, &ev);
            }
            return tc_fail(err, TC_E_NOMEM, cursor->offset, "no room");
        }
        if (in->want_unknown && out->unknown != NULL) {
            tc_status status = out->unknown(out->context, cursor->offset, sizeof r, "made up");
            if (status != TC_OK) {
                return status;
            }
        }
        tc_status status = out->event(out->context, &ev);
        if (status != TC_OK) {
            return status;
        }
        cursor->events++;
        cursor->offset += sizeof r;
        if (out->pause && !whole) {
            return TC_OK;
        }
    }
    cursor->done = true;
    return TC_OK;
}

static tc_status decode_ordered(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                                struct tc_codec_out *out, struct tc_error *err)
{
    return decode(in, cursor, out, err, false);
}

static tc_status decode_whole(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                              struct tc_codec_out *out, struct tc_error *err)
{
    return decode(in, cursor, out, err, true);
}

static tc_status decode_stuck(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                              struct tc_codec_out *out, struct tc_error *err)
{
    (void)in;
    (void)cursor;
    (void)out;
    (void)err;
    return TC_OK;
}

static const struct tc_codec ORDERED = {.name = "o", .ordered = true, .decode = decode_ordered};
static const struct tc_codec WHOLE = {.name = "w", .ordered = false, .decode = decode_whole};
static const struct tc_codec STUCK = {.name = "s", .ordered = true, .decode = decode_stuck};

struct fixture {
    struct tc_stream_pool pool;
    struct tc_input input;
    struct tc_source_stream stream;
    struct record *records;
    size_t count;
    struct tc_error err;
    size_t errors;
    size_t unknowns;
    uint64_t unknown_last;
    size_t bytes;
    size_t finished;
    char path[8];
};

static void on_error(void *context, const struct tc_input *input, const struct tc_error *err)
{
    struct fixture *x = context;
    assert_ptr_equal(input, &x->input);
    x->err = *err;
    x->errors++;
}

static void on_progress(void *context, size_t bytes, bool finished)
{
    struct fixture *x = context;
    x->bytes += bytes;
    x->finished += finished;
}

static tc_status on_unknown(void *context, const struct tc_input *input, uint64_t offset,
                            size_t length, const char *why)
{
    struct fixture *x = context;
    (void)input;
    (void)why;
    assert_int_equal(length, sizeof(struct record));
    assert_true(x->unknowns == 0 || offset > x->unknown_last);
    x->unknown_last = offset;
    x->unknowns++;
    return TC_OK;
}

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    if (x == NULL) {
        return -1;
    }
    (void)snprintf(x->path, sizeof x->path, "made-up");
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;
    tc_source_stream_fini(&x->stream);
    assert_int_equal(x->pool.held_bytes, 0);
    tc_stream_pool_fini(&x->pool);
    free(x->records);
    free(x);
    return 0;
}

static struct record *make(struct fixture *x, size_t count)
{
    x->records = calloc(count + 1, sizeof *x->records);
    assert_non_null(x->records);
    x->count = count;
    for (size_t i = 0; i < count; i++) {
        x->records[i].time_ns = (int64_t)i * 10;
    }
    return x->records;
}

static void start(struct fixture *x, const struct tc_codec *codec, size_t budget_bytes)
{
    x->input = (struct tc_input){
        .path = x->path,
        .bytes = tc_slice_make((const char *)x->records, x->count * sizeof *x->records),
        .codec = codec,
        .node = TC_LIT("gpu-07"),
    };
    tc_stream_pool_init(&x->pool, budget_bytes, codec->ordered);
    x->pool.whole_max = 0; /* in batches, whatever its size */
    x->pool.error = on_error;
    x->pool.progress = on_progress;
    x->pool.context = x;
    tc_source_stream_init(&x->stream, &x->pool, &x->input, 5);
    decode_calls = 0;
}

/* Takes everything; checks order and strings; returns how many came. */
static size_t drain(struct fixture *x, bool sorted)
{
    size_t count = 0;
    int64_t last = INT64_MIN;
    for (;;) {
        const struct tc_event *ev = NULL;
        assert_int_equal(tc_source_stream_next(&x->stream, &ev), TC_OK);
        if (ev == NULL) {
            return count;
        }
        assert_int_equal(ev->kind, TC_EVENT_XID);
        assert_true(!sorted || ev->time_ns >= last);
        last = ev->time_ns;
        const struct record *r = &x->records[ev->xid.code];
        /* Without a date, the order of the input: before all dates, and behind the one before. */
        bool dated = r->time_ns != TC_TIME_NONE;
        assert_true(dated ? ev->time_ns == r->time_ns
                          : ev->time_ns < 0 && ev->time_ns >= TC_TIME_UNDATED_MIN);
        assert_int_equal(ev->raw.source, 5);
        assert_true(tc_slice_eq(ev->scope.node, TC_LIT("gpu-07")));
        assert_int_equal(ev->xid.message.len, r->string_bytes > 0 ? r->string_bytes : 8);
        for (size_t i = 0; r->string_bytes > 0 && i < r->string_bytes; i++) {
            assert_int_equal(ev->xid.message.ptr[i], 'a' + (int)(ev->xid.code % 26));
        }
        count++;
    }
}

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

static void an_empty_input_is_an_empty_stream(void **state)
{
    struct fixture *x = *state;
    make(x, 0);
    start(x, &ORDERED, GIB);
    assert_int_equal(drain(x, true), 0);
    assert_int_equal(x->errors, 0);
    assert_int_equal(x->finished, 1);
}

static void events_arrive_once_and_in_order(void **state)
{
    struct fixture *x = *state;
    make(x, 50000);
    start(x, &ORDERED, GIB);
    assert_int_equal(drain(x, true), 50000);
    assert_int_equal(x->bytes, 50000 * sizeof(struct record));
    assert_int_equal(x->finished, 1);
    assert_true(decode_calls >= 50000 / TC_STREAM_BATCH);
}

static void local_disorder_is_repaired(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 40000);
    /* Blocks of 8,000 events, each backwards: nothing is more than a batch away from its place. */
    for (size_t i = 0; i < 40000; i++) {
        size_t block = i / 8000;
        r[i].time_ns = (int64_t)(block * 8000 + (7999 - i % 8000)) * 10;
        r[i].string_bytes = i % 3 == 0 ? 20 : 0;
    }
    start(x, &ORDERED, GIB);
    assert_int_equal(drain(x, true), 40000);
}

static void memory_does_not_grow_with_the_file(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 200000);
    for (size_t i = 0; i < 200000; i++) {
        r[i].string_bytes = 32;
    }
    start(x, &ORDERED, GIB);
    size_t most = 0;
    size_t count = 0;
    const struct tc_event *ev = NULL;
    while (tc_source_stream_next(&x->stream, &ev) == TC_OK && ev != NULL) {
        most = x->pool.held_bytes > most ? x->pool.held_bytes : most;
        count++;
    }
    assert_int_equal(count, 200000);
    assert_true(most < 4 * TC_STREAM_BATCH * (sizeof(struct tc_event) + 8 + 32));
}

static void an_old_event_may_wait_as_long_as_it_is_late(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 30000);
    r[0].time_ns = 30000 * 10; /* newer than everything: it leaves last */
    r[0].string_bytes = 100;
    start(x, &ORDERED, GIB);
    assert_int_equal(drain(x, true), 30000);
}

/* Every event is far from its place. */
static void shuffle(struct fixture *x, size_t count)
{
    struct record *r = make(x, count);
    for (size_t i = 0; i < count; i++) {
        r[i].time_ns = (int64_t)((i * 7919) % count);
        r[i].string_bytes = i % 2 == 0 ? 9 : 0;
    }
}

static void a_codec_without_order_is_sorted_whole(void **state)
{
    struct fixture *x = *state;
    shuffle(x, 30000);
    start(x, &WHOLE, GIB);
    assert_int_equal(drain(x, true), 30000);
    assert_int_equal(decode_calls, 1);
}

/* The same bytes once more. */
static void again(struct fixture *x, const struct tc_codec *codec)
{
    tc_source_stream_fini(&x->stream);
    tc_stream_pool_fini(&x->pool);
    start(x, codec, GIB);
}

static void an_ordered_input_up_to_the_limit_is_sorted_whole(void **state)
{
    struct fixture *x = *state;
    shuffle(x, 30000);
    start(x, &ORDERED, GIB);
    assert_int_equal(TC_STREAM_WHOLE_MAX, 64 * MIB);
    x->pool.whole_max = x->input.bytes.len;
    assert_int_equal(drain(x, true), 30000);
    assert_int_equal(decode_calls, 1);
    assert_int_equal(x->finished, 1);
}

static void an_ordered_input_over_the_limit_is_read_in_batches(void **state)
{
    struct fixture *x = *state;
    shuffle(x, 30000);
    start(x, &ORDERED, GIB);
    x->pool.whole_max = x->input.bytes.len - 1;
    assert_int_equal(drain(x, false), 30000);
    assert_true(decode_calls > 2);
    again(x, &ORDERED);
    x->pool.whole_max = x->input.bytes.len;
    x->pool.file_order = true; /* then there is nothing to sort */
    assert_int_equal(drain(x, false), 30000);
    assert_true(decode_calls > 2);
}

static void an_ordered_input_too_large_for_memory_goes_on_in_batches(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 200000);
    for (size_t i = 0; i < 200000; i++) {
        r[i].string_bytes = i % 3 == 0 ? 40 : 0;
    }
    start(x, &ORDERED, 32 * MIB);
    x->pool.whole_max = SIZE_MAX;
    size_t count = 0;
    size_t most = 0;
    int64_t last = 0;
    const struct tc_event *ev = NULL;
    while (tc_source_stream_next(&x->stream, &ev) == TC_OK && ev != NULL) {
        most = x->pool.held_bytes > most ? x->pool.held_bytes : most;
        assert_true(ev->time_ns >= last);
        last = ev->time_ns;
        count++;
    }
    assert_int_equal(count, 200000);
    assert_int_equal(x->errors, 0);
    assert_true(most > 8 * MIB && most < 17 * MIB);
}

static void whole_inputs_leave_room_for_those_that_need_it(void **state)
{
    struct fixture *x = *state;
    make(x, 60000);
    start(x, &ORDERED, 32 * MIB);
    x->pool.whole_max = SIZE_MAX;
    x->pool.held_bytes = 17 * MIB; /* more than half is taken */
    assert_int_equal(drain(x, true), 60000);
    assert_true(decode_calls > 2);
    assert_int_equal(x->pool.held_bytes, 17 * MIB);
    x->pool.held_bytes = 0;
}

static void file_order_is_kept_when_asked_for(void **state)
{
    struct fixture *x = *state;
    shuffle(x, 20000);
    start(x, &ORDERED, GIB);
    x->pool.file_order = true;
    for (size_t i = 0; i < 20000; i++) {
        const struct tc_event *ev = NULL;
        assert_int_equal(tc_source_stream_next(&x->stream, &ev), TC_OK);
        assert_int_equal(ev->xid.code, i);
    }
}

static void rooms_grow_until_the_codec_fits(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 40);
    for (size_t i = 0; i < 40; i++) {
        r[i].string_bytes = (uint32_t)MIB; /* 40 MiB, and the room starts with 8 */
        r[i].scratch_bytes = (uint32_t)MIB / 2;
    }
    start(x, &WHOLE, GIB);
    x->pool.unknown = on_unknown;
    assert_int_equal(drain(x, true), 40); /* what a failed attempt delivered is forgotten */
    assert_int_equal(x->errors, 0);
    assert_true(decode_calls > 1);
    assert_int_equal(x->unknowns, 40); /* and what it did not understand is said once */
}

static void an_ordered_codec_goes_on_from_a_full_room(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 40);
    for (size_t i = 0; i < 40; i++) {
        r[i].string_bytes = (uint32_t)MIB * 3;
    }
    r[20].string_bytes = (uint32_t)MIB * 20; /* more than a whole room */
    start(x, &ORDERED, GIB);
    x->pool.unknown = on_unknown;
    assert_int_equal(drain(x, true), 40);
    assert_int_equal(x->errors, 0);
    assert_int_equal(x->unknowns, 40);
}

static void over_the_budget_the_input_is_told_and_the_rest_analysed(void **state)
{
    struct fixture *x = *state;
    make(x, 50000);
    start(x, &WHOLE, 4 * MIB);
    size_t count = drain(x, true);
    assert_true(count > 1000 && count < 50000);
    assert_int_equal(x->errors, 1);
    assert_int_equal(x->err.status, TC_E_LIMIT);
    assert_non_null(strstr(x->err.message, "4 MiB"));
    assert_non_null(strstr(x->err.message, "--memory"));
}

static void strings_over_the_budget_are_told_too(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 100);
    for (size_t i = 0; i < 100; i++) {
        r[i].string_bytes = (uint32_t)MIB;
    }
    start(x, &WHOLE, 16 * MIB);
    assert_int_equal(drain(x, true), 0);
    assert_int_equal(x->errors, 1);
    assert_non_null(strstr(x->err.message, "--memory"));
}

static void many_ordered_streams_share_the_budget(void **state)
{
    struct fixture *x = *state;
    make(x, 20000);
    start(x, &ORDERED, 64 * MIB);
    tc_stream_pool_init(&x->pool, 64 * MIB, 100000);
    x->pool.whole_max = 0;
    assert_int_equal(x->pool.batch, 64);
    assert_int_equal(drain(x, true), 20000);
    struct tc_stream_pool other;
    tc_stream_pool_init(&other, GIB, 1000);
    assert_true(other.batch > 64 && other.batch < TC_STREAM_BATCH);
    tc_stream_pool_init(&other, GIB, 0);
    assert_int_equal(other.batch, TC_STREAM_BATCH);
}

static void what_came_before_an_error_is_delivered(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 20000);
    r[10000].string_bytes = UINT32_MAX;
    start(x, &ORDERED, GIB);
    assert_int_equal(drain(x, true), 10000);
    assert_int_equal(x->errors, 1);
    assert_int_equal(x->err.offset, 10000 * sizeof(struct record));
    assert_string_equal(x->err.message, "made to fail");
}

static void a_codec_that_makes_no_progress_is_stopped(void **state)
{
    struct fixture *x = *state;
    make(x, 3);
    start(x, &STUCK, GIB);
    assert_int_equal(drain(x, true), 0);
    assert_int_equal(x->errors, 1);
}

static void events_with_only_a_time_since_boot_are_counted(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 3);
    r[1].time_ns = TC_TIME_NONE;
    start(x, &ORDERED, GIB);
    assert_int_equal(drain(x, false), 3);
    assert_int_equal(x->stream.since_boot, 0); /* no time at all is not a time since boot */
}

static void events_without_any_time_and_without_a_node_are_counted(void **state)
{
    struct fixture *x = *state;
    struct record *r = make(x, 4);
    r[1].time_ns = TC_TIME_NONE;
    r[2].time_ns = TC_TIME_NONE;
    start(x, &ORDERED, GIB);
    assert_int_equal(drain(x, false), 4);
    assert_int_equal(x->stream.timeless, 2);
    assert_int_equal(x->stream.nodeless, 0);
    again(x, &ORDERED);
    x->input.node = TC_EMPTY;
    const struct tc_event *ev = NULL;
    do {
        assert_int_equal(tc_source_stream_next(&x->stream, &ev), TC_OK);
    } while (ev != NULL);
    assert_int_equal(x->stream.nodeless, 4);
}

/* Two events, of gpu-01 and gpu-02, ten seconds after the boot of each. */
static tc_status decode_uptime(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                               struct tc_codec_out *out, struct tc_error *err)
{
    static const struct tc_slice nodes[] = {{"gpu-01", 6}, {"gpu-02", 6}};
    (void)in;
    (void)err;
    for (size_t i = 0; i < 2; i++) {
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_XID);
        ev.uptime_ns = 10 * TC_SECOND;
        ev.scope.node = nodes[i];
        TC_TRY(out->event(out->context, &ev));
    }
    cursor->done = true;
    return TC_OK;
}

static void a_boot_time_of_a_node_dates_events_that_name_it(void **state)
{
    static const struct tc_codec codec = {.name = "u", .ordered = true, .decode = decode_uptime};
    struct fixture *x = *state;
    struct tc_hint_boot boots[] = {{.who = {"gpu-02", 6}, .boot_ns = 1000 * TC_SECOND},
                                   {.who = {"gpu-03", 6}, .boot_ns = 1}};
    struct tc_hints hints = {.boots = boots, .boots_count = 2};
    make(x, 1);
    start(x, &codec, GIB);
    x->pool.hints = &hints;
    const struct tc_event *ev = NULL;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(tc_source_stream_next(&x->stream, &ev), TC_OK);
        bool known = tc_slice_eq(ev->scope.node, TC_LIT("gpu-02"));
        assert_true(known ? ev->time_ns == 1010 * TC_SECOND : !tc_time_is_date(ev->time_ns));
    }
    assert_int_equal(x->stream.since_boot, 1);
    assert_true(boots[0].used);
    assert_false(boots[1].used);
    boots[0].boot_ns = INT64_MAX; /* no time at all is better than a wrong one */
    again(x, &codec);
    x->pool.hints = &hints;
    assert_int_equal(tc_source_stream_next(&x->stream, &ev), TC_OK);
    assert_int_equal(tc_source_stream_next(&x->stream, &ev), TC_OK);
    assert_false(tc_time_is_date(ev->time_ns));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_input_is_an_empty_stream),
        TEST(events_arrive_once_and_in_order),
        TEST(local_disorder_is_repaired),
        TEST(memory_does_not_grow_with_the_file),
        TEST(an_old_event_may_wait_as_long_as_it_is_late),
        TEST(a_codec_without_order_is_sorted_whole),
        TEST(an_ordered_input_up_to_the_limit_is_sorted_whole),
        TEST(an_ordered_input_over_the_limit_is_read_in_batches),
        TEST(an_ordered_input_too_large_for_memory_goes_on_in_batches),
        TEST(whole_inputs_leave_room_for_those_that_need_it),
        TEST(file_order_is_kept_when_asked_for),
        TEST(rooms_grow_until_the_codec_fits),
        TEST(an_ordered_codec_goes_on_from_a_full_room),
        TEST(over_the_budget_the_input_is_told_and_the_rest_analysed),
        TEST(strings_over_the_budget_are_told_too),
        TEST(many_ordered_streams_share_the_budget),
        TEST(what_came_before_an_error_is_delivered),
        TEST(a_codec_that_makes_no_progress_is_stopped),
        TEST(events_with_only_a_time_since_boot_are_counted),
        TEST(events_without_any_time_and_without_a_node_are_counted),
        TEST(a_boot_time_of_a_node_dates_events_that_name_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
