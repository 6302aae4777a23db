/* SPDX-License-Identifier: Apache-2.0 */
#include "hot/hot_priv.h"

#include "base/assert.h"
#include "base/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sources that are remembered, for each line of the budget: a series is of many GPUs. */
#define SOURCES_PER_LINE 16
#define SOURCES_MIN 4096
#define SOURCES_MAX ((size_t)1 << 20)
/* Of a map, for each entry: two tables of up to 10/3 slots. */
#define MAP_BYTES 112
/* Alignment, the least size of a map, and what AddressSanitizer keeps free between objects. */
#define SLACK_BYTES ((size_t)64 << 10)

/* ---- life ---- */

static bool lay_out(struct tc_hot *h)
{
    size_t cap = h->series_cap;
    void *scratch = tc_arena_alloc_raw(&h->arena, TC__HOT_SCRATCH, 16);
    h->series = tc_arena_alloc_raw(&h->arena, cap * sizeof *h->series, 16);
    h->free_slots = tc_arena_alloc_raw(&h->arena, cap * sizeof *h->free_slots, 16);
    h->order = tc_arena_alloc_raw(&h->arena, cap * sizeof *h->order, 16);
    h->order_scratch = tc_arena_alloc_raw(&h->arena, cap * sizeof *h->order, 16);
    if (!tc_map_init(&h->map, &h->arena, cap) || !tc_arena_ok(&h->arena)) {
        return false;
    }
    tc_arena_init(&h->scratch, "labels of a sample", scratch, TC__HOT_SCRATCH);
    return true;
}

struct tc_hot *tc_hot_create(const struct tc_hot_config *config)
{
    TC_ASSERT(config->series_max > 0 && config->series_max <= TC_HOT_SERIES_MAX);
    struct tc_hot *h = calloc(1, sizeof *h);
    if (h == NULL) {
        return NULL;
    }
    h->config = *config;
    h->series_cap = config->series_max;
    size_t sources = config->series_max * SOURCES_PER_LINE;
    sources = sources < SOURCES_MIN ? SOURCES_MIN : sources;
    sources = sources > SOURCES_MAX ? SOURCES_MAX : sources;
    size_t each = sizeof *h->series + sizeof *h->free_slots + 2 * sizeof *h->order + MAP_BYTES;
    size_t bytes = h->series_cap * each + TC__HOT_SCRATCH + SLACK_BYTES;
    /* Pages that are never used are never touched. */
    h->block = calloc(1, bytes);
    if (h->block == NULL || !tc_lru_init(&h->sources, sources, sizeof(struct tc__hot_source))) {
        free(h->block);
        free(h);
        return NULL;
    }
    tc_arena_init_zeroed(&h->arena, "hot metrics", h->block, bytes);
    bool fits = lay_out(h);
    TC_ASSERT(fits);
    return h;
}

void tc_hot_destroy(struct tc_hot *h)
{
    if (h == NULL) {
        return;
    }
    tc_lru_fini(&h->sources);
    tc_arena_fini(&h->scratch);
    tc_arena_fini(&h->arena);
    free(h->block);
    free(h);
}

size_t tc_hot_series(const struct tc_hot *h)
{
    return h->lines;
}

uint64_t tc_hot_count(const struct tc_hot *h, enum tc_hot_count which)
{
    TC_ASSERT(which < TC_HOT_COUNT_MAX);
    return h->counts[which];
}

/* ---- the window of a gauge ---- */

static void window_add(struct tc__hot_window *w, double least, double value)
{
    double at = value > least ? log(value / least) / log(TC__HOT_RATIO) : 0;
    size_t bucket = at < TC__HOT_BUCKETS - 1 ? (size_t)at : TC__HOT_BUCKETS - 1;
    w->min = w->count == 0 || value < w->min ? value : w->min;
    w->max = w->count == 0 || value > w->max ? value : w->max;
    w->count++;
    w->sum += value;
    if (w->buckets[bucket] == UINT16_MAX) {
        for (size_t i = 0; i < TC__HOT_BUCKETS; i++) {
            w->buckets[i] /= 2; /* only their proportions count */
        }
    }
    w->buckets[bucket]++;
}

double tc__hot_p99(const struct tc__hot_window *w, double least)
{
    uint64_t all = 0;
    uint64_t above = 0;
    for (size_t i = 0; i < TC__HOT_BUCKETS; i++) {
        all += w->buckets[i];
    }
    size_t at = TC__HOT_BUCKETS;
    while (at > 0 && above * 100 <= all) {
        above += w->buckets[--at];
    }
    double value = at == 0 ? w->min : least * pow(TC__HOT_RATIO, (double)at + 0.5);
    value = value > w->max ? w->max : value;
    return value < w->min ? w->min : value;
}

static void end_window(struct tc__hot_series *s)
{
    if (tc__hot_rows[s->metric].kind != TC__HOT_GAUGE || s->window.count == 0) {
        return;
    }
    s->values[TC__HOT_MEAN] = s->window.sum / (double)s->window.count;
    s->values[TC__HOT_MAX] = s->window.max;
    s->values[TC__HOT_P99] = tc__hot_p99(&s->window, tc__hot_rows[s->metric].least);
    s->has_window = true;
    s->window = (struct tc__hot_window){0};
}

/* ---- series ---- */

static bool is_series(const struct tc__hot_series *s, uint8_t metric,
                      const struct tc__hot_labels *labels)
{
    return s->metric == metric && s->text_len == labels->len &&
           memcmp(s->text, labels->text, labels->len) == 0;
}

/* A slot for a new series; TC__HOT_REFUSED when the budget has no room. */
static uint32_t take_slot(struct tc_hot *h, uint8_t metric, size_t text_len)
{
    size_t lines = tc__hot_lines(tc__hot_rows[metric].kind);
    size_t bytes = tc__hot_bytes((enum tc__hot_metric)metric, text_len);
    if (h->lines + lines > h->config.series_max) {
        h->counts[TC_HOT_REFUSED_BUDGET]++;
        return TC__HOT_REFUSED;
    }
    if (tc__hot_heads() + h->page_len + bytes > h->config.page_bytes) {
        h->counts[TC_HOT_REFUSED_PAGE]++;
        return TC__HOT_REFUSED;
    }
    h->lines += lines;
    h->page_len += bytes;
    h->order_known = false;
    return h->free_count > 0 ? h->free_slots[--h->free_count] : (uint32_t)h->slots++;
}

static uint32_t get_series(struct tc_hot *h, uint8_t metric, const struct tc__hot_labels *labels)
{
    struct tc_slice text = tc_slice_make(labels->text, labels->len);
    uint64_t hash = tc_slice_hash(text, h->config.seed + metric);
    struct tc_map_iter it = tc_map_find(&h->map, hash);
    uint64_t at = 0;
    while ((at = tc_map_next(&h->map, &it)) != 0) {
        if (is_series(&h->series[at - 1], metric, labels)) {
            return (uint32_t)at - 1;
        }
    }
    uint32_t slot = take_slot(h, metric, labels->len);
    if (slot == TC__HOT_REFUSED) {
        return slot;
    }
    struct tc__hot_series *s = &h->series[slot];
    *s = (struct tc__hot_series){.hash = hash,
                                 .generation = s->generation + 1,
                                 .metric = metric,
                                 .text_len = (uint16_t)labels->len,
                                 .used = true};
    memcpy(s->text, labels->text, labels->len);
    bool added = tc_map_add(&h->map, hash, (uint64_t)slot + 1, 0);
    TC_ASSERT(added);
    return slot;
}

static void free_series(struct tc_hot *h, size_t slot)
{
    struct tc__hot_series *s = &h->series[slot];
    h->lines -= tc__hot_lines(tc__hot_rows[s->metric].kind);
    h->page_len -= tc__hot_bytes((enum tc__hot_metric)s->metric, s->text_len);
    h->free_slots[h->free_count++] = (uint32_t)slot;
    h->counts[TC_HOT_EXPIRED]++;
    h->order_known = false;
    s->used = false;
}

/* The map knows no deletion; it is made anew when series left, which is seldom. */
static void make_map(struct tc_hot *h)
{
    tc_map_reset(&h->map);
    for (size_t i = 0; i < h->slots; i++) {
        if (h->series[i].used) {
            bool added = tc_map_add(&h->map, h->series[i].hash, i + 1, 0);
            TC_ASSERT(added);
        }
    }
}

void tc_hot_tick(struct tc_hot *h, int64_t now_ns)
{
    bool ends = now_ns >= h->window_end_ns;
    size_t before = h->free_count;
    for (size_t i = 0; i < h->slots; i++) {
        struct tc__hot_series *s = &h->series[i];
        if (s->used && now_ns - s->seen_ns > h->config.stale_ns) {
            free_series(h, i);
        } else if (s->used && ends) {
            end_window(s);
        }
    }
    if (h->free_count > before) {
        h->room++;
        make_map(h);
    }
    if (ends || h->window_end_ns - now_ns > h->config.window_ns) { /* or the clock was set back */
        h->window_end_ns = now_ns + h->config.window_ns;
    }
}

/* ---- samples ---- */

/* Whether there may be a hot metric of that name. */
static bool is_hot_name(struct tc_hot *h, const struct tc_sample *sample)
{
    uint64_t hash = tc_slice_hash(sample->name, h->config.seed);
    struct tc__hot_name *name = &h->names[hash % TC__HOT_NAMES];
    if (!name->is_known || name->hash != hash) {
        struct tc_series_meaning meaning;
        tc_arena_reset(&h->scratch);
        if (!tc_series_read(sample, &h->scratch, &meaning)) {
            return false;
        }
        bool is_hot = tc__hot_route_of(sample, &meaning).metric < TC__HOT_METRIC_COUNT;
        *name = (struct tc__hot_name){.hash = hash, .is_known = true, .is_hot = is_hot};
    }
    return name->is_hot;
}

static bool key_put(struct tc_buf *b, struct tc_slice s)
{
    uint32_t len = (uint32_t)s.len; /* part of the key, so that no two sources have the same */
    tc_buf_put(b, (const char *)&len, sizeof len);
    tc_buf_str(b, s);
    return !b->overflowed;
}

/* What tells a source from all others; false when it is too long. */
static bool key_of(struct tc_hot *h, const struct tc_sample *sample, struct tc_lru_key *out)
{
    struct tc_buf b = tc_buf_make(h->key, sizeof h->key);
    bool fits = key_put(&b, sample->name) && key_put(&b, sample->identity);
    for (size_t i = 0; fits && sample->identity.len == 0 && i < sample->label_count; i++) {
        fits = key_put(&b, sample->labels[i].key) && key_put(&b, sample->labels[i].value);
    }
    struct tc_slice key = tc_buf_slice(&b);
    out->words[0] = tc_slice_hash(key, h->config.seed);
    out->words[1] = tc_slice_hash(key, ~h->config.seed);
    return fits;
}

/* A source whose labels have to be looked at. False: it is of no hot metric. */
static TC_SELDOM bool read_source(struct tc_hot *h, const struct tc_sample *sample,
                                  struct tc__hot_source *out, bool *out_lost_request)
{
    struct tc_series_meaning meaning;
    struct tc__hot_labels labels;
    tc_arena_reset(&h->scratch);
    if (!tc_series_read(sample, &h->scratch, &meaning)) {
        return false;
    }
    *out = (struct tc__hot_source){
        .route = tc__hot_route_of(sample, &meaning), .last_ns = TC_TIME_NONE, .is_known = true};
    if (out->route.metric == TC__HOT_METRIC_COUNT) {
        return false;
    }
    tc__hot_labels_of(sample, &meaning, &labels, h->counts);
    *out_lost_request = labels.lost_request;
    out->series = get_series(h, out->route.metric, &labels);
    out->generation = out->series == TC__HOT_REFUSED ? h->room : h->series[out->series].generation;
    return true;
}

static bool is_current(const struct tc_hot *h, const struct tc__hot_source *source)
{
    return source->series == TC__HOT_REFUSED
               ? source->generation == h->room
               : h->series[source->series].used &&
                     h->series[source->series].generation == source->generation;
}

/*
 * The source of a sample. One that came once gives way to others before those that came again do,
 * so that a flood of new ones leaves the rest alone. What has labels of one request, or too many of
 * them, is not remembered: *io_passing is its source then. NULL: of no hot metric.
 */
static struct tc__hot_source *find_source(struct tc_hot *h, const struct tc_sample *sample,
                                          struct tc__hot_source *io_passing)
{
    struct tc_lru_key key;
    bool has_key = key_of(h, sample, &key);
    struct tc__hot_source *source = has_key ? tc_lru_find(&h->sources, key) : NULL;
    bool lost_request = false;
    if (source != NULL && is_current(h, source)) {
        return tc_lru_put(&h->sources, key, false);
    }
    if (!read_source(h, sample, io_passing, &lost_request)) {
        return NULL;
    }
    if (!has_key || lost_request) {
        io_passing->is_known = false;
        return io_passing;
    }
    bool is_new = source == NULL;
    source = tc_lru_put(&h->sources, key, is_new);
    *source = *io_passing;
    return source;
}

/* What a counter rose by; false when that is not known. */
static bool rise_of(struct tc_hot *h, struct tc__hot_source *source, const struct tc_sample *sample,
                    double value, int64_t time_ns, double *out)
{
    bool is_delta = sample->type == TC_SAMPLE_DELTA;
    if (!source->is_known && !is_delta) {
        h->counts[TC_HOT_SAMPLES_REQUEST]++;
        return false;
    }
    if (source->last_ns != TC_TIME_NONE && time_ns <= source->last_ns) {
        h->counts[TC_HOT_SAMPLES_REPEATED]++;
        return false;
    }
    bool has_base = source->last_ns != TC_TIME_NONE;
    double last = source->last;
    source->last = value;
    source->last_ns = time_ns;
    if (tc__hot_rows[source->route.metric].kind == TC__HOT_EDGE) {
        *out = has_base && value != last && value != 0 ? 1 : 0;
    } else if (is_delta) {
        *out = value;
    } else {
        *out = has_base ? value - last : 0; /* a fall is a restart, not a rise */
    }
    *out = *out > 0 ? *out : 0;
    return true;
}

static void apply(struct tc_hot *h, struct tc__hot_source *source, const struct tc_sample *sample,
                  int64_t time_ns, int64_t now_ns)
{
    struct tc__hot_series *s = &h->series[source->series];
    double value = sample->value;
    double rise = 0;
    if (!tc_series_value(source->route.how, source->route.scale, &value) ||
        !isfinite(value * source->route.factor)) {
        h->counts[TC_HOT_SAMPLES_NOT_VALUE]++;
        return;
    }
    value *= source->route.factor;
    if (tc__hot_rows[s->metric].kind == TC__HOT_GAUGE) {
        window_add(&s->window, tc__hot_rows[s->metric].least, value);
    } else if (rise_of(h, source, sample, value, time_ns, &rise)) {
        s->values[source->route.is_count ? 1 : 0] += rise;
    } else {
        return;
    }
    s->seen_ns = now_ns;
    h->counts[TC_HOT_SAMPLES]++;
}

void tc_hot_add(struct tc_hot *h, const struct tc_sample *sample, int64_t time_ns, int64_t now_ns)
{
    struct tc__hot_source passing;
    if (!is_hot_name(h, sample)) {
        return;
    }
    if (time_ns < 0 || time_ns < now_ns - h->config.stale_ns) {
        h->counts[TC_HOT_SAMPLES_OLD]++;
        return;
    }
    if (time_ns - h->config.stale_ns > now_ns) {
        h->counts[TC_HOT_SAMPLES_AHEAD]++;
        return;
    }
    struct tc__hot_source *source = find_source(h, sample, &passing);
    if (source == NULL) {
        return;
    }
    if (source->series == TC__HOT_REFUSED) {
        h->counts[TC_HOT_SAMPLES_REFUSED]++;
        return;
    }
    apply(h, source, sample, time_ns, now_ns);
}
