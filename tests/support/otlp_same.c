/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/otlp_same.h"

#include "base/os/block.h"
#include "codec/codec.h"
#include "codec/otlp/wire.h"
#include "support/event_own.h"
#include "support/otlp_writer.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 20000
#define ARENA_BYTES ((size_t)2 << 20)

struct side {
    struct tc_event *events;
    size_t count;
    struct tc_arena arena;
    struct tc_block *block; /* the events, and behind them what they point at */
};

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct side *s = context;
    assert_true(s->count < EVENTS_MAX);
    s->events[s->count] = *ev;
    assert_true(event_own(&s->events[s->count], &s->arena));
    s->count++;
    return TC_OK;
}

static void begin(struct side *s)
{
    s->block = tc_block_new(EVENTS_MAX * sizeof *s->events + ARENA_BYTES);
    assert_non_null(s->block);
    tc_arena_init_zeroed(&s->arena, "test", s->block->bytes, s->block->size);
    s->events = tc_new(&s->arena, struct tc_event, EVENTS_MAX);
    assert_non_null(s->events);
    s->count = 0;
}

static void end(struct side *s)
{
    tc_arena_fini(&s->arena);
    tc_block_free(s->block);
}

struct room {
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_block *blocks;
};

static struct tc_codec_out out_of(struct room *r, struct side *s)
{
    r->blocks = tc_block_new(2 * ARENA_BYTES);
    assert_non_null(r->blocks);
    tc_arena_init(&r->arena, "arena", r->blocks->bytes, ARENA_BYTES);
    tc_arena_init(&r->scratch, "scratch", r->blocks->bytes + ARENA_BYTES, ARENA_BYTES);
    return (struct tc_codec_out){
        .event = on_event, .context = s, .arena = &r->arena, .scratch = &r->scratch};
}

static void room_end(struct room *r)
{
    assert_int_equal(r->scratch.used, 0);
    tc_arena_fini(&r->arena);
    tc_arena_fini(&r->scratch);
    tc_block_free(r->blocks);
}

static struct tc_codec_input input_of(struct tc_slice bytes)
{
    return (struct tc_codec_input){
        .bytes = bytes, .source = 7, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE};
}

static enum tc_otlp_signal signal_of(struct tc_slice text)
{
    return tc_slice_contains(text, TC_LIT("\"resourceLogs\""))      ? TC_OTLP_LOGS
           : tc_slice_contains(text, TC_LIT("\"resourceMetrics\"")) ? TC_OTLP_METRICS
                                                                    : TC_OTLP_TRACES;
}

/* What the daemon's reader makes of the body; false when it is not well-formed to it. */
static bool read_wire(struct tc_slice body, enum tc_otlp_signal signal, enum tc_otlp_form form,
                      bool want_unknown, struct side *s)
{
    struct tc_error err = {0};
    struct tc_otlp_tape tape = {0};
    struct room room;
    struct tc_otlp_reader *r = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, body.len);
    assert_non_null(r);
    bool good = tc_otlp_check(r, signal, form, body, &tape, &err) == TC_OK;
    if (good) {
        struct tc_codec_input in = input_of(body);
        struct tc_codec_out out = out_of(&room, s);
        in.want_unknown = want_unknown;
        void *memory = malloc(tc_otlp_tape_bytes(&tape) + 1);
        assert_non_null(memory);
        tc_otlp_tape_move(&tape, memory);
        assert_int_equal(tape.counts.rejected, 0);
        assert_int_equal(tc_otlp_events(r, &tape, &in, &out, &err), TC_OK);
        free(memory);
        assert_int_equal(tc_otlp_reader_seen(r)->events, s->count);
        room_end(&room);
    }
    tc_otlp_reader_destroy(r);
    return good;
}

static void compare(const struct side *a, const struct side *b, struct tc_slice text, bool raw)
{
    for (size_t i = 0; i < a->count || i < b->count; i++) {
        bool same = i < a->count && i < b->count &&
                    tc_event_cmp(&a->events[i], &b->events[i]) == 0 &&
                    a->events[i].uptime_ns == b->events[i].uptime_ns &&
                    a->events[i].raw.source == b->events[i].raw.source;
        if (same && raw) {
            same = a->events[i].raw.offset == b->events[i].raw.offset &&
                   a->events[i].raw.length == b->events[i].raw.length;
        }
        if (!same) {
            print_error("event %zu of %zu and %zu differs:\n%.*s\n", i, a->count, b->count,
                        TC_FMT(text));
        }
        assert_true(same);
    }
}

/* The bytes of a record are those of one message: its tag and length stand before it. */
static void check_raw(const struct side *s, struct tc_slice body)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t offset = s->events[i].raw.offset;
        size_t length = s->events[i].raw.length;
        assert_true(offset + length <= body.len && offset >= 2);
        size_t digits = 1;
        for (size_t rest = length >> 7; rest > 0; rest >>= 7) {
            digits++;
        }
        size_t value = 0;
        for (size_t d = digits; d > 0; d--) {
            value = value << 7 | ((unsigned char)body.ptr[offset - digits + d - 1] & 0x7f);
        }
        unsigned char tag = (unsigned char)body.ptr[offset - digits - 1];
        assert_int_equal(value, length);
        assert_true(tag == 0x12 || tag == 0x0a);
    }
}

/* A copy with blanks wherever JSON allows them: what is read quickly has none. */
static struct tc_slice spaced(struct tc_slice text)
{
    char *to = malloc(3 * text.len + 1);
    size_t length = 0;
    bool quoted = false;
    assert_non_null(to);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool structural = !quoted && strchr("{}[]:,", c) != NULL && c != '\0';
        if (structural) {
            to[length++] = ' ';
        }
        to[length++] = c;
        if (structural) {
            to[length++] = '\n';
        } else if (quoted && c == '\\' && i + 1 < text.len) {
            to[length++] = text.ptr[++i];
        } else if (c == '"') {
            quoted = !quoted;
        }
    }
    return tc_slice_make(to, length);
}

static void compare_protobuf(const struct side *file, struct tc_slice text, bool padded,
                             struct tc_otlp_same *out)
{
    struct side protobuf;
    char *bytes = NULL;
    size_t length = 0;
    if (!tc_otlp_write(text, padded, &bytes, &length)) {
        return;
    }
    begin(&protobuf);
    struct tc_slice body = tc_slice_make(bytes, length);
    assert_true(read_wire(body, signal_of(text), TC_OTLP_PROTOBUF, false, &protobuf));
    compare(file, &protobuf, text, false);
    if (!padded) {
        check_raw(&protobuf, body);
        out->protobuf++;
    }
    end(&protobuf);
    free(bytes);
}

static void compare_spaced(const struct side *file, struct tc_slice text)
{
    struct side json;
    struct tc_slice copy = spaced(text);
    begin(&json);
    /* Every line is read here; elsewhere only those that may tell something are. */
    assert_true(read_wire(copy, signal_of(text), TC_OTLP_JSON, true, &json));
    compare(file, &json, text, false);
    end(&json);
    union {
        const char *in;
        char *out;
    } bytes = {.in = copy.ptr};
    free(bytes.out);
}

static void same(struct tc_slice text, struct tc_otlp_same *out)
{
    struct side file;
    struct side json;
    struct room room;
    struct tc_error err = {0};
    begin(&file);
    begin(&json);
    enum tc_otlp_signal signal = signal_of(text);
    /* A file may hold two signals in one object; a request is of one. */
    bool both = signal == TC_OTLP_LOGS && tc_slice_contains(text, TC_LIT("\"resourceMetrics\""));
    if (!both && read_wire(text, signal, TC_OTLP_JSON, false, &json)) {
        struct tc_codec_input in = input_of(text);
        struct tc_codec_out o = out_of(&room, &file);
        struct tc_codec_cursor cursor = {0};
        tc_status status = tc_codec_otlp.decode(&in, &cursor, &o, &err);
        room_end(&room);
        /* What the codec says of a line inside of a record is not the request's. */
        assert_true(status == TC_OK || status == TC_E_MALFORMED);
        compare(&file, &json, text, true);
        out->requests++;
        out->events += file.count;
        compare_spaced(&file, text);
        compare_protobuf(&file, text, false, out);
        compare_protobuf(&file, text, true, out);
    }
    end(&file);
    end(&json);
}

void tc_otlp_same(struct tc_slice text, struct tc_otlp_same *out)
{
    struct tc_slice rest = text;
    size_t before = out->requests;
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(rest, '\n', &rest));
        if (tc_slice_starts(line, TC_LIT("{")) && tc_slice_ends(line, TC_LIT("}")) &&
            line.len < text.len) {
            same(line, out);
        }
    }
    if (out->requests == before && text.len > 0) {
        same(text, out);
    }
}
