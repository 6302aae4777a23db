/* SPDX-License-Identifier: Apache-2.0 */
#include "support/order.h"

#include "base/buf.h"
#include "base/table/sort.h"
#include "base/time.h"
#include "engine/merge.h"
#include "support/essence.h"
#include "verdict/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 4000

struct tc_order_out {
    size_t len;
    char bytes[TC_ORDER_OUT_BYTES];
};

/* An event, and what decides between those of one time. */
struct place {
    const struct tc_event *event;
    uint64_t lot;
};

static struct tc_order_out said;
/* The events of a run, in the order in which the engine gets them. */
static const struct tc_event *fed[TC_ORDER_EVENTS_MAX];
static size_t fed_count;

static void need(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "order: %s\n", what);
        abort();
    }
}

uint64_t tc_order_random(uint64_t *io_seed)
{
    uint64_t x = *io_seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static tc_status keep_verdict(void *context, const struct tc_verdict *verdict)
{
    const struct tc_order *o = context;
    return tc_story_add(o->story, verdict);
}

void tc_order_init(struct tc_order *o)
{
    struct tc_error err = {0};
    *o = (struct tc_order){.now_ns = TC_TIME_NONE, .last_ns = TC_TIME_NONE};
    struct tc_engine_out out = {
        .verdict = keep_verdict, .context = o, .statements = TC_STATEMENTS_FIRST};
    for (size_t i = 0; i < TC_ORDER_ENGINES; i++) {
        out.lag_ns = i == 0 ? 0 : TC_ORDER_LAG_NS;
        need(tc_engine_create(&out, &o->engines[i], &err) == TC_OK, err.message);
    }
    o->engine = o->engines[0];
    o->expected = calloc(1, sizeof *o->expected);
    o->essence = calloc(1, sizeof *o->essence);
    need(o->expected != NULL && o->essence != NULL, "no memory for what is expected");
}

void tc_order_fini(struct tc_order *o)
{
    for (size_t i = 0; i < TC_ORDER_ENGINES; i++) {
        tc_engine_destroy(o->engines[i]);
    }
    free(o->expected);
    free(o->essence);
}

/* ---- one run ---- */

static void begin_run(struct tc_order *o, struct tc_engine *engine)
{
    o->engine = engine;
    o->story = tc_story_create();
    need(o->story != NULL, "no memory for the story");
    need(tc_engine_reset(engine) == TC_OK, "the reset failed");
}

static tc_status note(void *context, const struct tc_event *ev)
{
    (void)context;
    fed[fed_count++] = ev;
    return TC_OK;
}

static void feed_noted(struct tc_order *o)
{
    for (size_t i = 0; i < fed_count; i++) {
        need(tc_engine_feed(o->engine, fed[i]) == TC_OK, "the engine failed");
    }
}

static void render(struct tc_order *o, struct tc_order_out *out)
{
    struct tc_buf b = tc_buf_make(out->bytes, sizeof out->bytes);
    const struct tc_incident_table *kept = tc_story_verdicts(o->story);
    for (size_t i = 0; i < kept->count; i++) {
        tc_verdict_render_json(&b, &kept->items[i].verdict, o->sources);
        tc_buf_char(&b, '\n');
    }
    need(!b.overflowed, "the verdicts do not fit");
    out->len = b.len;
}

/* ---- who and what ---- */

static int by_text(const void *a, const void *b, void *context)
{
    (void)context;
    return tc_slice_cmp(*(const struct tc_slice *)a, *(const struct tc_slice *)b);
}

/* A line per verdict, sorted: what does not hang on which report came first. */
static void render_essence(struct tc_order *o, struct tc_order_out *out)
{
    static char text[TC_ORDER_OUT_BYTES];
    static struct tc_slice lines[TC_ORDER_EVENTS_MAX];
    static const void *order[TC_ORDER_EVENTS_MAX];
    static const void *scratch[TC_ORDER_EVENTS_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    const struct tc_incident_table *kept = tc_story_verdicts(o->story);
    need(kept->count <= TC_ORDER_EVENTS_MAX, "too many verdicts");
    for (size_t i = 0; i < kept->count; i++) {
        const struct tc_verdict *v = &kept->items[i].verdict;
        size_t from = b.len;
        tc_essence_put(&b, v, o->ids);
        lines[i] = tc_slice_make(text + from, b.len - from);
        order[i] = &lines[i];
    }
    need(!b.overflowed, "the verdicts do not fit");
    tc_sort_ptrs(order, scratch, kept->count, by_text, NULL);
    b = tc_buf_make(out->bytes, sizeof out->bytes - 1);
    for (size_t i = 0; i < kept->count; i++) {
        tc_buf_str(&b, *(const struct tc_slice *)order[i]);
        tc_buf_char(&b, '\n');
    }
    out->len = b.len;
    out->bytes[b.len] = '\0';
}

static void end_run(struct tc_order *o)
{
    need(tc_engine_advance(o->engine, o->last_ns) == TC_OK, "the advance failed");
    need(tc_engine_finish(o->engine, o->now_ns) == TC_OK, "the finish failed");
    need(tc_story_link(o->story, tc_engine_directory(o->engine), NULL) == TC_OK,
         "the story failed");
}

struct deal {
    const void *order[TC_ORDER_EVENTS_MAX];
    size_t count;
    size_t next;
};

static tc_status next_event(void *context, const struct tc_event **out)
{
    struct deal *d = context;
    *out = d->next < d->count ? d->order[d->next++] : NULL;
    return TC_OK;
}

static int by_order(const void *a, const void *b, void *context)
{
    (void)context;
    return tc_event_order(a, b);
}

/* Merges the inputs, a stream each, named in any order and each in disorder. */
static void merge(const struct tc_order *o, uint64_t seed)
{
    static struct deal deals[TC_ORDER_INPUTS_MAX];
    static const void *scratch[TC_ORDER_EVENTS_MAX];
    struct tc_stream heads[TC_ORDER_INPUTS_MAX];
    uint64_t copies = 0;
    for (size_t i = 0; i < TC_ORDER_INPUTS_MAX; i++) {
        size_t j = tc_order_random(&seed) % (i + 1);
        deals[i].count = deals[i].next = 0;
        heads[i] = heads[j];
        heads[j] = (struct tc_stream){.next = next_event, .context = &deals[i]};
    }
    for (size_t i = 0; i < o->count; i++) {
        need(o->events[i].raw.source < TC_ORDER_INPUTS_MAX, "too many inputs");
        struct deal *d = &deals[o->events[i].raw.source];
        size_t j = tc_order_random(&seed) % (d->count + 1);
        d->order[d->count++] = d->order[j];
        d->order[j] = &o->events[i];
    }
    for (size_t i = 0; i < TC_ORDER_INPUTS_MAX; i++) {
        tc_sort_ptrs(deals[i].order, scratch, deals[i].count, by_order, NULL);
    }
    need(tc_merge(heads, TC_ORDER_INPUTS_MAX, note, NULL, &copies) == TC_OK, "the merge failed");
}

/* By time; what says the same as another stays in front of or behind it. */
static int by_place(const void *a, const void *b, void *context)
{
    const struct place *x = a;
    const struct place *y = b;
    (void)context;
    if (x->event->time_ns != y->event->time_ns) {
        return x->event->time_ns < y->event->time_ns ? -1 : 1;
    }
    return x->lot < y->lot ? -1 : x->lot > y->lot;
}

static void shuffle(const struct tc_order *o, uint64_t seed)
{
    static struct place places[TC_ORDER_EVENTS_MAX];
    static const void *order[TC_ORDER_EVENTS_MAX];
    static const void *scratch[TC_ORDER_EVENTS_MAX];
    for (size_t i = 0; i < o->merged_count; i++) {
        bool again = i > 0 && tc_event_cmp(o->merged[i], o->merged[i - 1]) == 0;
        places[i].event = o->merged[i];
        places[i].lot = again ? places[i - 1].lot : tc_order_random(&seed);
        order[i] = &places[i];
    }
    tc_sort_ptrs(order, scratch, o->merged_count, by_place, NULL);
    for (size_t i = 0; i < o->merged_count; i++) {
        const struct place *p = order[i];
        fed[fed_count++] = p->event;
    }
}

/* Batches of one collector arrive when their period is over. */
static int64_t arrival(int64_t time_ns, uint64_t collector, uint64_t seed)
{
    uint64_t random = seed ^ collector;
    int64_t period_ns =
        TC_SECOND / 5 + (int64_t)(tc_order_random(&random) % (TC_ORDER_LAG_NS - TC_SECOND / 5));
    int64_t phase_ns = (int64_t)(tc_order_random(&random) % (uint64_t)period_ns);
    if (time_ns == TC_TIME_NONE) {
        return TC_TIME_NONE;
    }
    return time_ns - (time_ns + phase_ns) % period_ns + period_ns;
}

static void lag(const struct tc_order *o, uint64_t seed, bool nodes)
{
    static struct tc_sort_pair places[TC_ORDER_EVENTS_MAX];
    static struct tc_sort_pair scratch[TC_ORDER_EVENTS_MAX];
    for (size_t i = 0; i < o->merged_count; i++) {
        const struct tc_event *ev = o->merged[i];
        uint64_t collector = nodes ? tc_slice_hash(ev->scope.node, 0) : ev->raw.source;
        int64_t at_ns = arrival(ev->time_ns, collector * UINT64_C(0x9e3779b97f4a7c15), seed);
        places[i] = (struct tc_sort_pair){(uint64_t)at_ns ^ UINT64_C(1) << 63, i};
    }
    tc_sort_keys(places, scratch, o->merged_count); /* stable: each keeps its own order */
    for (size_t i = 0; i < o->merged_count; i++) {
        fed[fed_count++] = o->merged[places[i].value];
    }
}

/* The first line that differs, of both. */
static void show_difference(const struct tc_order *o, const struct tc_order_out *expected,
                            const char *what, uint64_t seed)
{
    size_t at = 0;
    size_t line = 0;
    for (; at < said.len && at < expected->len && said.bytes[at] == expected->bytes[at]; at++) {
        line = said.bytes[at] == '\n' ? at + 1 : line;
    }
    (void)fprintf(stderr, "%s: %s, seed %#llx: other verdicts, from byte %zu of the line\n",
                  o->name, what, (unsigned long long)seed, at - line);
    struct tc_slice a = tc_slice_make(expected->bytes + line, expected->len - line);
    struct tc_slice b = tc_slice_make(said.bytes + line, said.len - line);
    struct tc_slice rest;
    (void)fprintf(stderr, "expected: %.*s\n",
                  TC_FMT(tc_slice_head(tc_slice_cut(a, '\n', &rest), SHOWN_MAX)));
    (void)fprintf(stderr, "now:      %.*s\n",
                  TC_FMT(tc_slice_head(tc_slice_cut(b, '\n', &rest), SHOWN_MAX)));
}

/* An order of the same events, as a number; never 0. */
static uint64_t fed_hash(bool lagging)
{
    uint64_t hash = lagging ? 2 : 1;
    for (size_t i = 0; i < fed_count; i++) {
        uint64_t seed = hash ^ (uintptr_t)fed[i];
        hash = tc_order_random(&seed);
    }
    return hash | 1;
}

/* Where this order is, or would be, among those that held. */
static uint64_t *place_of(struct tc_order *o, uint64_t hash)
{
    size_t i = hash / 2 % TC_ORDER_HELD_MAX;
    while (o->held[i] != 0 && o->held[i] != hash) {
        i = (i + 1) % TC_ORDER_HELD_MAX;
    }
    return &o->held[i];
}

static void put_in_order(const struct tc_order *o, enum tc_order_kind kind, uint64_t seed)
{
    fed_count = 0;
    switch (kind) {
    case TC_ORDER_FILES:
        merge(o, seed);
        break;
    case TC_ORDER_TIES:
        shuffle(o, seed);
        break;
    case TC_ORDER_LAGGING:
    case TC_ORDER_LAGGING_NODES:
        lag(o, seed, kind == TC_ORDER_LAGGING_NODES);
        break;
    case TC_ORDER_KINDS:
        break;
    }
}

bool tc_order_holds(struct tc_order *o, enum tc_order_kind kind, uint64_t seed)
{
    static const char *const names[] = {"files in another order", "equal times shuffled",
                                        "lagging sources", "lagging nodes"};
    bool lagging = kind == TC_ORDER_LAGGING || kind == TC_ORDER_LAGGING_NODES;
    const struct tc_order_out *expected = lagging ? o->essence : o->expected;
    put_in_order(o, kind, seed);
    uint64_t hash = fed_hash(lagging);
    uint64_t *held = place_of(o, hash);
    if (*held == hash) {
        return true;
    }
    begin_run(o, o->engines[lagging]);
    feed_noted(o);
    end_run(o);
    if (lagging) {
        render_essence(o, &said);
    } else {
        render(o, &said);
    }
    tc_story_destroy(o->story);
    bool same = said.len == expected->len && memcmp(said.bytes, expected->bytes, said.len) == 0;
    if (!same && !o->quiet) {
        show_difference(o, expected, names[kind], seed);
    }
    if (same && o->held_count < TC_ORDER_HELD_MAX / 2) {
        *held = hash;
        o->held_count++;
    }
    return same;
}

struct tc_slice tc_order_expect(struct tc_order *o)
{
    need(o->count <= TC_ORDER_EVENTS_MAX, "too many events");
    /* This order is not among those that held: it is run once more, and says the same again. */
    memset(o->held, 0, sizeof o->held);
    o->held_count = 0;
    put_in_order(o, TC_ORDER_FILES, 0);
    memcpy(o->merged, fed, fed_count * sizeof *fed);
    o->merged_count = fed_count;
    begin_run(o, o->engines[0]);
    feed_noted(o);
    end_run(o);
    render(o, o->expected);
    render_essence(o, o->essence);
    tc_story_destroy(o->story);
    return tc_slice_make(o->expected->bytes, o->expected->len);
}

const char *tc_order_essence(const struct tc_order *o)
{
    return o->essence->bytes;
}
