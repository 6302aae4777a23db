/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/otlp/tape_priv.h"

#include "base/assert.h"
#include "base/buf.h"

#include <string.h>

#define PATH_MAX_BYTES 160

tc_status tc__otlp_build_fail(struct tc__otlp_build *b, size_t at,
                              const struct tc__otlp_field *field, const char *why)
{
    char bytes[PATH_MAX_BYTES];
    struct tc_buf path = tc_buf_make(bytes, sizeof bytes);
    for (uint32_t i = 1; i <= b->depth; i++) {
        const struct tc__otlp_field *f = i < b->depth ? b->frames[i].field : field;
        bool again = b->frames[i - 1].list;
        if (f == NULL || again) {
            continue;
        }
        if (path.len + f->name.len + 5 > path.cap) {
            tc_buf_lit(&path, "...");
            break;
        }
        if (path.len > 0) {
            tc_buf_char(&path, '.');
        }
        tc_buf_str(&path, f->name);
    }
    return tc_fail(b->err, TC_E_MALFORMED, at, "%.*s%s%s", (int)path.len, bytes,
                   path.len > 0 ? ": " : "", why);
}

static tc_status fail_crowded(struct tc__otlp_build *b, size_t at)
{
    return tc_fail(b->err, TC_E_LIMIT, at,
                   "more than %zu objects in one request (limits.objects); send smaller requests",
                   b->limits.objects_max);
}

static void own_begin(struct tc__otlp_build *b, unsigned role)
{
    TC_ASSERT(b->owner_depth < TC__OTLP_OWNERS);
    b->owners[b->owner_depth++] = (struct tc__otlp_owner){.records = b->counts.records,
                                                          .rejected = b->counts.rejected,
                                                          .count = b->count,
                                                          .text_length = b->text_length};
    b->counts.records += role == TC__OTLP_RECORD;
    b->uses = 0;
}

/* What a limit was passed in is taken off the tape again, and its records are rejected. */
static void own_end(struct tc__otlp_build *b)
{
    const struct tc__otlp_owner *o = &b->owners[--b->owner_depth];
    if (__builtin_expect(o->why == NULL, 1)) {
        return;
    }
    b->counts.rejected = o->rejected + (b->counts.records - o->records);
    if (b->counts.why == NULL && b->counts.records > o->records) {
        b->counts.why = o->why;
    }
    b->count = o->count;
    b->text_length = o->text_length;
    b->run_count = 0; /* they may be of what was taken off */
    b->run_next = 0;
}

static bool is_owner(unsigned role)
{
    return role >= TC__OTLP_RESOURCE && role <= TC__OTLP_RECORD;
}

/* The node of a message, as its field says. */
static uint32_t begin_node(struct tc__otlp_build *b, const struct tc__otlp_frame *up,
                           const struct tc__otlp_field *f, unsigned role)
{
    if (f->keep == TC__OTLP_K_ARRAY || f->keep == TC__OTLP_K_PAIRS) {
        /* The AnyValue's own node becomes the list; what it held before is gone. */
        b->count = up->node + 1;
        b->nodes[up->node].type = f->keep == TC__OTLP_K_ARRAY ? TC__OTLP_N_ARRAY : TC__OTLP_N_PAIRS;
        return up->node;
    }
    if (up->message->role == TC__OTLP_PAIR) {
        b->count = up->node + 1;
    }
    unsigned type = role == TC__OTLP_PAIR    ? TC__OTLP_N_PAIR
                    : role == TC__OTLP_VALUE ? TC__OTLP_N_EMPTY
                                             : TC__OTLP_N_MESSAGE;
    uint32_t node = b->count;
    tc__otlp_add(b, f->keep, type);
    return node;
}

static void note_resource(struct tc__otlp_node *entry, bool is_first)
{
    entry->name = is_first && entry->name == TC__OTLP_RESOURCE_NONE ? TC__OTLP_RESOURCE_FIRST
                                                                    : TC__OTLP_RESOURCE_ANY;
}

tc_status tc__otlp_begin(struct tc__otlp_build *b, const struct tc__otlp_frame *up,
                         const struct tc__otlp_field *f, size_t at, size_t length)
{
    const struct tc__otlp_message *m = &b->schema.messages[f->message];
    struct tc__otlp_frame *frame = &b->frames[b->depth];
    bool keeps = up->keeps && f->keep != TC__OTLP_K_NONE;
    if (!tc__otlp_count(b, 1)) {
        return fail_crowded(b, at);
    }
    if (m->role == TC__OTLP_VALUE && ++b->values > b->limits.depth_max) {
        return tc__otlp_build_fail(b, at, f, "values are nested too deeply");
    }
    if (is_owner(m->role)) {
        own_begin(b, m->role);
        b->run_next = m->role == TC__OTLP_RECORD ? b->run_next : 0;
    }
    *frame = (struct tc__otlp_frame){.message = m,
                                     .field = f,
                                     .node = TC__OTLP_NO_NODE,
                                     .end = (uint32_t)(at + length),
                                     .keeps = keeps,
                                     .first = true};
    if (__builtin_expect(keeps && b->count == b->cap, 0)) {
        b->is_full = true;
        frame->keeps = false;
    } else if (keeps && f->keep != TC__OTLP_K_TRANSPARENT) {
        frame->node = begin_node(b, up, f, m->role);
        struct tc__otlp_node *n = &b->nodes[frame->node];
        if (n->type == TC__OTLP_N_MESSAGE) {
            n->at = (uint32_t)at;
            n->length = (uint32_t)length;
            if (f->keep == TC__OTLP_K_RESOURCE) {
                note_resource(&b->nodes[up->node], frame->node == up->node + 1);
            }
        } else if (n->type == TC__OTLP_N_PAIR) {
            n->at = 0;
            n->length = 0;
        }
    }
    b->depth++;
    return TC_OK;
}

/*
 * Takes attributes that nobody reads off the tape: most of a log record's. What waits to be read is
 * half as long without them.
 */
static void drop_unread(struct tc__otlp_build *b)
{
    const uint8_t *use = b->names->use;
    struct tc__otlp_node *nodes = b->nodes;
    uint32_t end = b->count;
    uint32_t to = b->unread;
    for (uint32_t at = to; at < end;) {
        uint32_t next = nodes[at].next;
        uint32_t shift = at - to;
        if (nodes[at].keep == TC__OTLP_K_ATTRIBUTE && next == at + 2) {
            /* Which of them are read nobody can foresee: copied first, then counted or not. */
            uint32_t kept = use[nodes[at].name] != TC__OTLP_USE_NONE ? 2 : 0;
            nodes[to] = nodes[at];
            nodes[to].next = to + 2;
            nodes[to + 1] = nodes[at + 1];
            nodes[to + 1].next = to + 2;
            to += kept;
            at = next;
            continue;
        }
        if (nodes[at].keep == TC__OTLP_K_ATTRIBUTE && use[nodes[at].name] == TC__OTLP_USE_NONE) {
            at = next;
            continue;
        }
        for (; at < next; at++, to++) {
            nodes[to] = nodes[at];
            nodes[to].next -= shift;
        }
    }
    b->count = to;
}

/* A pair that had a frame: its key is known now. */
static void name_pair(struct tc__otlp_build *b, struct tc__otlp_node *pair, uint32_t node)
{
    const struct tc__otlp_names *names = tc__otlp_names_in(b, &b->frames[b->depth - 1]);
    struct tc_slice key =
        tc_slice_make((pair->own ? b->text : b->body.ptr) + pair->at, pair->length);
    pair->name = tc__otlp_name_by(b, names, key, node);
}

void tc__otlp_end(struct tc__otlp_build *b)
{
    const struct tc__otlp_frame *frame = &b->frames[--b->depth];
    unsigned role = frame->message->role;
    if (role == TC__OTLP_PAIR && frame->node != TC__OTLP_NO_NODE) {
        name_pair(b, &b->nodes[frame->node], frame->node);
    }
    if (role == TC__OTLP_RECORD &&
        (b->uses & (TC__OTLP_USE_NONE | TC__OTLP_USE_ALL)) == TC__OTLP_USE_NONE) {
        drop_unread(b);
    }
    if (frame->node != TC__OTLP_NO_NODE) {
        b->nodes[frame->node].next = b->count;
    }
    b->values -= role == TC__OTLP_VALUE;
    if (is_owner(role)) {
        own_end(b);
    }
}

struct tc__otlp_node *tc__otlp_value_node(struct tc__otlp_build *b,
                                          const struct tc__otlp_frame *frame,
                                          const struct tc__otlp_field *f, unsigned type)
{
    if (!frame->keeps || f->keep == TC__OTLP_K_NONE) {
        return NULL;
    }
    unsigned role = frame->message->role;
    if (role == TC__OTLP_VALUE) {
        b->count = frame->node + 1;
        b->nodes[frame->node].type = (uint8_t)type;
        b->nodes[frame->node].own = false;
        return &b->nodes[frame->node];
    }
    if (role == TC__OTLP_PAIR) {
        b->nodes[frame->node].own = false;
        return &b->nodes[frame->node];
    }
    return tc__otlp_add(b, f->keep, type);
}

size_t tc__otlp_same_run(struct tc__otlp_build *b, struct tc__otlp_frame *frame, const void *at,
                         size_t room)
{
    if (b->run_next >= b->run_count || b->count >= b->cap) {
        return 0;
    }
    const struct tc__otlp_run *run = &b->runs[b->run_next];
    if (frame->attributes + run->pairs > b->limits.attributes_max || b->left < 2 * run->pairs ||
        room < run->length || memcmp(at, b->body.ptr + run->at, run->length) != 0) {
        return 0;
    }
    struct tc__otlp_node *n = tc__otlp_add(b, TC__OTLP_K_ATTRIBUTE, TC__OTLP_N_AGAIN);
    n->at = run->node;
    n->length = 2 * run->pairs;
    b->left -= 2 * run->pairs;
    frame->attributes += run->pairs;
    b->run_next++;
    return run->length;
}

void tc__otlp_keep_run(struct tc__otlp_build *b, const void *at, const void *end, uint32_t node)
{
    if (b->run_next >= TC__OTLP_RUNS || b->count == node) {
        return;
    }
    b->runs[b->run_next++] = (struct tc__otlp_run){
        .at = (uint32_t)((const char *)at - b->body.ptr),
        .length = (uint32_t)((const char *)end - (const char *)at),
        .node = node,
        .pairs = (b->count - node) / 2,
    };
    b->run_count = b->run_next > b->run_count ? b->run_next : b->run_count;
}
