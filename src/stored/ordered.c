/* SPDX-License-Identifier: Apache-2.0 */
#include "stored/ordered.h"

#include "base/assert.h"
#include "base/table/grow.h"
#include "base/table/sort.h"
#include "base/time.h"
#include "stored/ordered_priv.h"

#include <stdlib.h>
#include <string.h>

#define BODY_FIRST ((size_t)16 << 20)
#define FAST_MAX ((size_t)1 << 20)

tc_status tc_ordered_create(const struct tc_ordered_want *want, struct tc_ordered **out_ordered,
                            struct tc_error *err)
{
    struct tc_ordered *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read the store");
    }
    o->want = *want;
    tc_event_strings_init(&o->strings);
    tc_status status = tc_evidence_open(want->evidence_dir, &o->evidence, err);
    if (status == TC_OK) {
        status = tc_batch_arenas_init(&o->arenas, err);
    }
    if (status == TC_OK && !tc_sources_init(&o->sources)) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory to read the store");
    }
    if (status != TC_OK) {
        tc_ordered_destroy(o);
        return status;
    }
    *out_ordered = o;
    return TC_OK;
}

/* Nothing is listed or open any more. */
static void forget_all(struct tc_ordered *o)
{
    for (size_t i = 0; i < o->listed_count; i++) {
        free(o->listed[i].name);
    }
    tc__opened_close_all(o);
    tc_merger_fini(&o->merger);
    free(o->by_source);
    o->by_source = NULL;
    o->has_told = false;
    o->listed_count = o->listed_next = o->fast_count = 0;
}

void tc_ordered_destroy(struct tc_ordered *o)
{
    if (o == NULL) {
        return;
    }
    forget_all(o);
    tc_evidence_close(o->evidence);
    tc_otlp_reader_destroy(o->reader);
    tc_batch_arenas_fini(&o->arenas);
    tc_sources_fini(&o->sources);
    free(o->listed);
    free(o->fast);
    free(o);
}

/* ---- clocks that are fast ---- */

static int compare_fast(const void *a, const void *b)
{
    const struct tc__fast *x = a;
    const struct tc__fast *y = b;
    for (size_t i = 0; i < TC_COUNT(x->key.words); i++) {
        if (x->key.words[i] != y->key.words[i]) {
            return TC_ORDER(x->key.words[i], y->key.words[i]);
        }
    }
    /* Within a batch the last holds for all of it. */
    return x->number != y->number ? TC_ORDER(x->number, y->number) : TC_ORDER(x->order, y->order);
}

int64_t tc__ordered_fast(const struct tc_ordered *o, const struct tc_event *ev, uint64_t number)
{
    if (o->fast_count == 0) {
        return 0;
    }
    struct tc__fast wanted = {
        .key = tc_sources_key(ev, ev->sender), .number = number, .order = SIZE_MAX};
    size_t low = 0;
    size_t high = o->fast_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_fast(&o->fast[middle], &wanted) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct tc__fast *found = low == 0 ? NULL : &o->fast[low - 1];
    return found != NULL && memcmp(&found->key, &wanted.key, sizeof wanted.key) == 0
               ? found->ahead_ns
               : 0;
}

/* ---- the first pass ---- */

bool tc__ordered_may_be_fast(const struct tc_batch *batch, const struct tc_event *ev)
{
    return !tc_batch_is_file(batch) && tc_time_is_date(ev->time_ns) &&
           ev->time_ns - batch->arrival_ns <= TC_SOURCE_AHEAD_MAX_NS;
}

bool tc__ordered_fit(const struct tc_ordered *o, const struct tc_batch *batch, int64_t ahead_ns,
                     struct tc_event *io_event)
{
    bool file = tc_batch_is_file(batch);
    if (io_event->time_ns == TC_TIME_NONE && !file) {
        io_event->time_ns = batch->arrival_ns;
    }
    if (io_event->time_ns == TC_TIME_NONE) {
        return true; /* what dumps say of groups, a map of ranks: holds at all times */
    }
    if (tc_time_is_order(io_event->time_ns)) {
        return o->want.undated;
    }
    if (io_event->time_ns < 0 || io_event->time_ns > TC_TIME_MAX ||
        (!file && io_event->time_ns - batch->arrival_ns > TC_SOURCE_AHEAD_MAX_NS)) {
        return false;
    }
    if (ahead_ns > 0) {
        tc_event_shift(io_event, -ahead_ns);
    }
    if (o->adjust != NULL) {
        o->adjust(o->context, io_event);
    }
    return io_event->time_ns >= o->want.from_ns && io_event->time_ns <= o->want.to_ns;
}

struct surveying {
    struct tc_ordered *o;
    const struct tc_batch *batch;
    uint32_t sender;
    int64_t first_ns;
    int64_t ahead_ns; /* the most that a clock was fast by */
    uint64_t dated;
    uint64_t fitting; /* of the dated */
    uint64_t undated;
};

/* Keeps what a source's clock is fast by from this batch on, where that has changed. */
static tc_status note_fast(const struct surveying *s, const struct tc_event *ev, int64_t ahead_ns)
{
    struct tc_ordered *o = s->o;
    struct tc_source *source = tc_sources_find(&o->sources, ev, s->sender);
    if (source == NULL || source->listed_ns == ahead_ns) {
        return TC_OK;
    }
    TC_TRY(tc_grow_items(o->fast, o->fast_cap, o->fast_count + 1, FAST_MAX));
    o->fast[o->fast_count] = (struct tc__fast){.key = tc_sources_key(ev, s->sender),
                                               .number = s->batch->number,
                                               .order = o->fast_count,
                                               .ahead_ns = ahead_ns};
    o->fast_count++;
    source->listed_ns = ahead_ns;
    return TC_OK;
}

static tc_status survey_event(void *context, const struct tc_event *ev)
{
    struct surveying *s = context;
    struct tc_ordered *o = s->o;
    struct tc_event own = *ev;
    int64_t ahead_ns = 0;
    if (tc__ordered_may_be_fast(s->batch, ev)) {
        ahead_ns =
            tc_sources_ahead(&o->sources, ev, s->sender, s->batch->arrival_ns, o->want.ahead_ns);
        if (ahead_ns > 0 || o->fast_count > 0) {
            TC_TRY(note_fast(s, ev, ahead_ns));
        }
        s->ahead_ns = ahead_ns > s->ahead_ns ? ahead_ns : s->ahead_ns;
    }
    bool fits = tc__ordered_fit(o, s->batch, ahead_ns, &own);
    if (!tc_time_is_date(own.time_ns)) {
        s->undated += fits;
        return TC_OK;
    }
    s->dated++;
    if (fits) {
        s->fitting++;
        s->first_ns = own.time_ns < s->first_ns ? own.time_ns : s->first_ns;
    }
    return TC_OK;
}

/* A reader that bodies of that length fit. */
static tc_status need_reader(struct tc_ordered *o, size_t *io_max, size_t len)
{
    if (o->reader != NULL && len <= *io_max) {
        return TC_OK;
    }
    *io_max = *io_max == 0 ? BODY_FIRST : *io_max;
    while (*io_max < len) {
        *io_max *= 2;
    }
    tc_otlp_reader_destroy(o->reader);
    struct tc_otlp_limits limits = TC_OTLP_LIMITS_DEFAULT;
    limits.attributes_max = limits.key_bytes_max = limits.value_bytes_max = *io_max;
    limits.objects_max = 0; /* it was taken once */
    o->reader = tc_otlp_reader_create(&limits, *io_max);
    return o->reader == NULL ? TC_E_NOMEM : TC_OK;
}

static tc_status list_batch(struct tc_ordered *o, const struct tc_batch *batch, int64_t first_ns)
{
    struct tc__listed listed = {.number = batch->number,
                                .arrival_ns = batch->arrival_ns,
                                .first_ns = first_ns,
                                .name_len = (uint32_t)batch->name.len,
                                .kind = (uint32_t)batch->kind};
    TC_TRY(tc_grow_items(o->listed, o->listed_cap, o->listed_count + 1, TC_ORDERED_BATCHES_MAX));
    if (batch->name.len > 0) {
        listed.name = malloc(batch->name.len);
        if (listed.name == NULL) {
            return TC_E_NOMEM;
        }
        memcpy(listed.name, batch->name.ptr, batch->name.len);
    }
    o->listed[o->listed_count++] = listed;
    return TC_OK;
}

struct survey {
    struct tc_ordered *o;
    size_t body_max;
};

static bool is_canceled(const struct tc_ordered *o)
{
    return o->want.cancel != NULL && atomic_load_explicit(o->want.cancel, memory_order_relaxed);
}

static bool wants_arrival(void *context, int64_t arrival_ns)
{
    const struct tc_ordered_want *want = &((const struct survey *)context)->o->want;
    for (size_t i = 0; i < TC_COUNT(want->arrived_from_ns); i++) {
        if (arrival_ns >= want->arrived_from_ns[i] && arrival_ns <= want->arrived_to_ns[i]) {
            return true;
        }
    }
    return false;
}

static tc_status survey_batch(void *context, const struct tc_batch *batch,
                              const struct tc_batch_info *info)
{
    struct survey *v = context;
    struct tc_ordered *o = v->o;
    struct surveying s = {.o = o,
                          .batch = batch,
                          .sender = tc_sender_number(tc_batch_sender(batch->name, NULL)),
                          .first_ns = INT64_MAX};
    struct tc_batch_taker taker = {.event = survey_event, .context = &s};
    struct tc_error err;
    (void)info;
    if (is_canceled(o)) {
        return TC_E_LIMIT;
    }
    if (o->listed_count == TC_ORDERED_BATCHES_MAX) {
        o->is_cut = true;
        return TC_E_LIMIT;
    }
    if (!tc_batch_is_file(batch)) {
        TC_TRY(need_reader(o, &v->body_max, batch->body.len));
    }
    o->counts.batches++;
    o->counts.bytes += batch->body.len;
    tc_status status = tc_batch_events(o->reader, batch, NULL, &o->arenas, &taker, &err);
    if (status == TC_E_NOMEM) {
        return status;
    }
    o->counts.unread += status != TC_OK;
    if (s.fitting > 0) {
        /* The clock may have turned out to be faster within the batch. */
        return list_batch(o, batch, s.first_ns - s.ahead_ns);
    }
    return s.dated == 0 && s.undated > 0 ? list_batch(o, batch, INT64_MIN) : TC_OK;
}

static void note_damage(void *context, const char *line)
{
    struct survey *v = context;
    (void)line;
    v->o->counts.damaged++;
}

static int compare_listed(const void *a, const void *b)
{
    const struct tc__listed *x = a;
    const struct tc__listed *y = b;
    return x->first_ns != y->first_ns ? TC_ORDER(x->first_ns, y->first_ns)
                                      : TC_ORDER(x->number, y->number);
}

static tc_status index_listed(struct tc_ordered *o)
{
    /* The second half is to sort with. */
    o->by_source = calloc(2 * o->listed_count + 1, sizeof *o->by_source);
    if (o->by_source == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < o->listed_count; i++) {
        o->by_source[i] = (struct tc_sort_pair){(uint32_t)o->listed[i].number, i};
    }
    tc_sort_keys(o->by_source, o->by_source + o->listed_count, o->listed_count);
    return TC_OK;
}

tc_status tc_ordered_survey(struct tc_ordered *o,
                            void (*adjust)(const void *context, struct tc_event *ev),
                            const void *context, struct tc_error *err)
{
    struct survey survey = {.o = o};
    struct tc_evidence_choice choice = {.kinds = ~0U,
                                        .wants_arrival = wants_arrival,
                                        .take = survey_batch,
                                        .bad = note_damage,
                                        .context = &survey};
    uint64_t from = 0;
    forget_all(o);
    tc_sources_reset(&o->sources);
    tc_otlp_reader_destroy(o->reader);
    o->reader = NULL;
    o->counts = (struct tc_ordered_counts){0};
    o->is_cut = false;
    o->adjust = adjust;
    o->context = context;
    int64_t since_ns = o->want.arrived_from_ns[0] < o->want.arrived_from_ns[1]
                           ? o->want.arrived_from_ns[0]
                           : o->want.arrived_from_ns[1];
    TC_TRY(tc_evidence_replay_from(o->evidence, since_ns, 0, &from, err));
    tc_status status = tc_evidence_walk_some(o->evidence, &from, &choice, err);
    if (o->is_cut) {
        return tc_fail(err, TC_E_LIMIT, 0, "there are more than %zu batches of that time",
                       TC_ORDERED_BATCHES_MAX);
    }
    TC_TRY(status);
    if (o->fast_count > 0) {
        qsort(o->fast, o->fast_count, sizeof *o->fast, compare_fast);
    }
    if (o->listed_count > 0) {
        qsort(o->listed, o->listed_count, sizeof *o->listed, compare_listed);
    }
    return index_listed(o);
}

/* ---- the reading ---- */

/* Opens what may begin before the earliest event, as far as memory goes. */
static tc_status open_due(struct tc_ordered *o)
{
    while (o->listed_next < o->listed_count) {
        const struct tc_event *head = tc_merger_head(&o->merger);
        if (head != NULL && o->listed[o->listed_next].first_ns > head->time_ns) {
            break;
        }
        if (head != NULL && o->held_bytes >= o->want.memory_bytes) {
            o->counts.early++;
            break;
        }
        TC_TRY(tc__opened_begin(o, &o->listed[o->listed_next++]));
    }
    return TC_OK;
}

tc_status tc_ordered_next(void *context, const struct tc_event **out)
{
    struct tc_ordered *o = context;
    *out = NULL;
    if (is_canceled(o)) {
        return TC_E_LIMIT;
    }
    if (o->has_told) {
        o->has_told = false;
        TC_TRY(tc_merger_go_on(&o->merger));
    }
    TC_TRY(open_due(o));
    *out = tc_merger_head(&o->merger);
    o->has_told = *out != NULL;
    o->counts.events += o->has_told;
    o->counts.copies = o->merger.copies;
    return TC_OK;
}

void tc_ordered_counts(const struct tc_ordered *o, struct tc_ordered_counts *out)
{
    *out = o->counts;
}

static const struct tc__listed *find_listed(const struct tc_ordered *o, uint32_t source)
{
    size_t low = 0;
    size_t high = o->by_source == NULL ? 0 : o->listed_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->by_source[middle].key < source) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < o->listed_count && o->by_source != NULL && o->by_source[low].key == source
               ? &o->listed[o->by_source[low].value]
               : NULL;
}

bool tc_ordered_arrival(const struct tc_ordered *o, uint32_t source, int64_t *out_ns)
{
    const struct tc__listed *listed = find_listed(o, source);
    *out_ns = listed == NULL ? 0 : listed->arrival_ns;
    return listed != NULL;
}

uint64_t tc_ordered_batch(const struct tc_ordered *o, uint32_t source)
{
    const struct tc__listed *listed = find_listed(o, source);
    return listed == NULL ? 0 : listed->number;
}

tc_status tc_ordered_digest(struct tc_ordered *o, uint64_t number, struct tc_digest *out,
                            struct tc_error *err)
{
    struct tc_slice body;
    TC_TRY(tc_evidence_body(o->evidence, number, &body, err));
    return tc_digest_sha256(body, out);
}
