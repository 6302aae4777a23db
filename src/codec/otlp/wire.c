/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests over the network: the check leaves a tape (otlp_pb.c, json.c), and the events are
 * made of that by the mapping of the otlp codec.
 */
#include "codec/otlp/wire.h"

#include "base/json/json.h"
#include "codec/otlp/record_priv.h"
#include "codec/otlp/tape_priv.h"

#include <stdlib.h>
#include <string.h>

/* A value takes at least three bytes of a body, but for empty ones in great numbers. */
#define BYTES_PER_NODE 3
#define NODES_MIN 1024
/* Lines of the kernel that are gathered before they are read. */
#define KERNEL_BYTES ((size_t)512 << 10)

struct tc_otlp_reader {
    struct tc__otlp_build build;
    struct tc_codec_cursor cursor;
    size_t body_max;
    struct tc_arena kernel;
    void *kernel_bytes;
    struct tc__otlp o;
};

void tc_otlp_reader_limit(struct tc_otlp_reader *r, const struct tc_otlp_limits *limits)
{
    r->build.limits = *limits;
    if (r->build.limits.depth_max > TC__OTLP_DEPTH_CAP) {
        r->build.limits.depth_max = TC__OTLP_DEPTH_CAP;
    }
}

struct tc_otlp_reader *tc_otlp_reader_create(const struct tc_otlp_limits *limits, size_t body_max)
{
    struct tc_otlp_reader *r = calloc(1, sizeof *r);
    if (r == NULL || body_max > UINT32_MAX - NODES_MIN) {
        free(r);
        return NULL;
    }
    struct tc__otlp_build *b = &r->build;
    r->body_max = body_max;
    b->cap = (uint32_t)(body_max / BYTES_PER_NODE + NODES_MIN);
    /* Pages that no body needs are never touched. */
    b->nodes = malloc(((size_t)b->cap + 1) * sizeof *b->nodes);
    b->text = malloc(body_max + 1);
    b->frames = malloc(TC__OTLP_FRAMES * sizeof *b->frames);
    b->runs = malloc(TC__OTLP_RUNS * sizeof *b->runs);
    r->kernel_bytes = malloc(KERNEL_BYTES);
    r->o.label_sets.of = malloc(TC__OTLP_LABEL_SETS * sizeof *r->o.label_sets.of);
    r->o.decode.parser = tc_json_parser_create();
    r->o.line_parser = tc_json_parser_create();
    if (b->nodes == NULL || b->text == NULL || b->frames == NULL || b->runs == NULL ||
        r->kernel_bytes == NULL || r->o.label_sets.of == NULL || r->o.decode.parser == NULL ||
        r->o.line_parser == NULL) {
        tc_otlp_reader_destroy(r);
        return NULL;
    }
    tc__otlp_schema_init(&b->schema);
    tc_otlp_reader_limit(r, limits);
    tc_arena_init(&r->kernel, "kernel lines", r->kernel_bytes, KERNEL_BYTES);
    tc__otlp_kernel_init(&r->o.kernel, &r->kernel, KERNEL_BYTES - 64);
    tc__otlp_init(&r->o);
    return r;
}

void tc_otlp_reader_destroy(struct tc_otlp_reader *r)
{
    if (r == NULL) {
        return;
    }
    tc_arena_fini(&r->kernel);
    tc_json_parser_destroy(r->o.decode.parser);
    tc_json_parser_destroy(r->o.line_parser);
    free(r->o.label_sets.of);
    free(r->kernel_bytes);
    free(r->build.runs);
    free(r->build.frames);
    free(r->build.text);
    free(r->build.nodes);
    free(r);
}

static enum tc__otlp_message_id request_of(enum tc_otlp_signal signal)
{
    switch (signal) {
    case TC_OTLP_LOGS:
        return TC__OTLP_M_LOGS_REQUEST;
    case TC_OTLP_METRICS:
        return TC__OTLP_M_METRICS_REQUEST;
    case TC_OTLP_TRACES:
        break;
    }
    return TC__OTLP_M_TRACES_REQUEST;
}

static tc_status run_check(struct tc__otlp_build *b, enum tc_otlp_signal signal,
                           enum tc_otlp_form form)
{
    enum tc__otlp_message_id request = request_of(signal);
    if (b->body.len == 0) {
        return TC_OK;
    }
    TC_TRY(form == TC_OTLP_PROTOBUF ? tc__otlp_pb_check(b, request)
                                    : tc__otlp_json_check(b, request));
    if (b->is_full) {
        return tc_fail(b->err, TC_E_LIMIT, 0, "more values than a body of %zu bytes may hold",
                       b->body.len);
    }
    return TC_OK;
}

static tc_status check_body(struct tc_otlp_reader *r, enum tc_otlp_signal signal,
                            enum tc_otlp_form form, struct tc_slice body, bool keeps,
                            struct tc_error *err)
{
    struct tc__otlp_build *b = &r->build;
    size_t objects_max = b->limits.objects_max;
    if (body.len > r->body_max) {
        return tc_fail(err, TC_E_LIMIT, 0, "a body of %zu bytes; the limit is %zu", body.len,
                       r->body_max);
    }
    b->body = body;
    b->err = err;
    b->count = 0;
    b->text_length = 0;
    b->depth = 0;
    b->values = 0;
    b->left = objects_max == 0 || objects_max > UINT32_MAX ? UINT32_MAX : (uint32_t)objects_max;
    b->owner_depth = 0;
    b->names = keeps && signal == TC_OTLP_LOGS ? &r->o.names : NULL;
    b->has_runs = keeps && signal == TC_OTLP_METRICS;
    b->run_count = 0;
    b->run_next = 0;
    b->keeps = keeps;
    b->is_full = false;
    b->counts = (struct tc_otlp_counts){0};
    return run_check(b, signal, form);
}

tc_status tc_otlp_check(struct tc_otlp_reader *r, enum tc_otlp_signal signal,
                        enum tc_otlp_form form, struct tc_slice body, struct tc_otlp_tape *out_tape,
                        struct tc_error *err)
{
    const struct tc__otlp_build *b = &r->build;
    TC_TRY(check_body(r, signal, form, body, true, err));
    *out_tape = (struct tc_otlp_tape){
        .signal = signal,
        .form = form,
        .body = body,
        .text = tc_slice_make(b->text, b->text_length),
        .nodes = b->nodes,
        .count = b->count,
        .counts = b->counts,
    };
    return TC_OK;
}

tc_status tc_otlp_verify(struct tc_otlp_reader *r, enum tc_otlp_signal signal,
                         enum tc_otlp_form form, struct tc_slice body,
                         struct tc_otlp_counts *out_counts, struct tc_error *err)
{
    TC_TRY(check_body(r, signal, form, body, false, err));
    *out_counts = r->build.counts;
    return TC_OK;
}

size_t tc_otlp_tape_bytes(const struct tc_otlp_tape *tape)
{
    return tape->count * sizeof *tape->nodes + tape->text.len;
}

void tc_otlp_tape_move(struct tc_otlp_tape *tape, void *memory)
{
    struct tc__otlp_node *nodes = memory;
    char *text = (char *)(nodes + tape->count);
    memcpy(nodes, tape->nodes, tape->count * sizeof *nodes);
    memcpy(text, tape->text.ptr, tape->text.len);
    tape->nodes = nodes;
    tape->text.ptr = text;
}

/* ---- events ---- */

static struct tc__value value_at(const struct tc_otlp_tape *tape, size_t at)
{
    return (struct tc__value){.v = {tape, at}, .there = true, .tape = true};
}

static struct tc__value resource_of(const struct tc_otlp_tape *tape, size_t at)
{
    switch ((enum tc__otlp_resource_place)tape->nodes[at].name) {
    case TC__OTLP_RESOURCE_FIRST:
        return value_at(tape, at + 1);
    case TC__OTLP_RESOURCE_ANY:
        return tc__value_get(value_at(tape, at), TC_LIT("resource"));
    case TC__OTLP_RESOURCE_NONE:
        break;
    }
    return (struct tc__value){0};
}

static tc_status read_entries(struct tc__otlp *o, const struct tc_otlp_tape *tape, size_t at)
{
    size_t end = tape->nodes[at].next;
    struct tc__otlp_resource resource = {0};
    o->label_sets.count = 0;
    struct tc__value told = resource_of(tape, at);
    if (told.there) {
        TC_TRY(tc__otlp_resource_read(o, told, &resource));
    }
    for (at++; at < end; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        o->decode.raw_offset = n->at;
        o->decode.raw_length = n->length;
        if (n->keep == TC__OTLP_K_RECORD) {
            TC_TRY(tc__otlp_record_read(o, &resource, value_at(tape, at)));
        } else if (n->keep == TC__OTLP_K_METRIC) {
            TC_TRY(tc__otlp_metric_read(o, &resource, value_at(tape, at)));
        }
    }
    return TC_OK;
}

static tc_status read_tape(struct tc__otlp *o, const struct tc_otlp_tape *tape)
{
    for (size_t at = 0; at < tape->count; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        o->decode.raw_offset = n->at;
        o->decode.raw_length = n->length;
        if (n->keep == TC__OTLP_K_RESOURCE_SPANS) {
            TC_TRY(tc__decode_unknown(&o->decode, "neither logs nor metrics"));
            continue;
        }
        tc_arena_mark mark = tc_arena_snapshot(o->decode.out->scratch);
        tc_status status = read_entries(o, tape, at);
        tc_arena_rewind(o->decode.out->scratch, mark);
        TC_TRY(status);
    }
    return tc__otlp_flush(o);
}

tc_status tc_otlp_events(struct tc_otlp_reader *r, const struct tc_otlp_tape *tape,
                         const struct tc_codec_input *in, struct tc_codec_out *out,
                         struct tc_error *err)
{
    struct tc__otlp *o = &r->o;
    r->cursor = (struct tc_codec_cursor){0};
    o->decode.in = in;
    o->decode.cursor = &r->cursor;
    o->decode.out = out;
    o->decode.err = err;
    o->decode.lasting = in->bytes;
    o->decode.seen_ns = TC_TIME_NONE;
    o->decode.bad = (struct tc_error){0};
    o->label_keys = (struct tc__metric_keys){0};
    if (o->has_places) {
        memset(o->places, 0, sizeof o->places);
        o->has_places = false;
    }
    tc_status status = read_tape(o, tape);
    if (status != TC_OK) {
        tc__otlp_kernel_drop(&o->kernel);
    }
    return status;
}

struct tc__otlp *tc__otlp_reader_mapping(struct tc_otlp_reader *r)
{
    return &r->o;
}

const struct tc_codec_cursor *tc_otlp_reader_seen(const struct tc_otlp_reader *r)
{
    return &r->cursor;
}
