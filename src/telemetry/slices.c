/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples wait in cells, one for each series and window, until their window is given out: then
 * the cells that are due are sorted by window and series, and each is a row. A cell is bounded
 * (cells.c), so no sample of a series that is known is left out for want of room.
 *
 * A series is found by its bytes as the producer writes them (an alias); only for bytes that were
 * not seen before are the labels looked at.
 */
#include "telemetry/slices_priv.h"

#include "base/assert.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longest key of a series that is remembered; one of longer labels is looked at each time. */
#define KEY_MAX ((size_t)8 << 10)
/* For what is made of the labels of one new series. */
#define SCRATCH_BYTES ((size_t)128 << 10)
/* Texts of series and aliases have this part of what is left, chunks of samples the rest. */
#define TEXT_PARTS 3
#define ALL_PARTS 5
/* Two cells are a series' own (cells.c). Of more there are a quarter as many as series, or as many
 * as a third of the memory holds with what finds and sorts them, where windows stay open for long.
 */
#define CELLS_MIN 2
#define CELL_PARTS 3
#define CELL_COST 256
#define EXACT_MIN 8
/* Lost between parts, for alignment and what AddressSanitizer keeps free; and the least that is
 * left when the tables are there. */
#define ALIGN_SLACK ((size_t)512)
#define REST_MIN ((size_t)16 << 10)
#define WINDOW_MIN TC_SECOND
#define WINDOW_MAX (31 * 24 * 3600 * TC_SECOND)
/* A sample that is so far ahead comes from a wrong clock: its window would wait for ever. */
#define AHEAD_MAX (24 * 3600 * TC_SECOND)
/* A series of which nothing came for so long may be forgotten when room is wanted. */
#define IDLE_NS (300 * TC_SECOND)
#define OTHER_RUN_MAX 128
#define DIGEST_TEXT_MAX 96
/* Bits of a sort key for the order of a series; the window is above them. */
#define ORDER_BITS 24

static_assert(TC__SERIES_MAX <= (size_t)1 << ORDER_BITS, "orders fit");

/* Invariant: cells are of series whose `cells` counts them. */
struct tc_slices {
    struct tc_slices_config config;
    void *block;
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc__book book;
    struct tc__cells cells;
    struct tc_sort_pair *pairs; /* of cells that are due */
    struct tc_sort_pair *sort_scratch;
    int64_t given_ns; /* windows before this were given out */
    int64_t ahead_ns; /* later samples are left out */
    struct tc_slices_counts counts;
    struct tc_rows *rows;
    char key[KEY_MAX];
    char other_run[OTHER_RUN_MAX];
    size_t other_run_len;
    char digest[DIGEST_TEXT_MAX];
};

/* ---- making ---- */

static size_t cells_of(const struct tc_slices_config *config)
{
    size_t least = CELLS_MIN * config->series_max + config->series_max / 4;
    size_t most = config->memory_bytes / CELL_PARTS / CELL_COST;
    return config->cells_max > 0 ? config->cells_max : most > least ? most : least;
}

/* The tables of series and cells first; what is left is for texts and samples. */
static bool lay_out(struct tc_slices *s)
{
    size_t cells = cells_of(&s->config);
    void *scratch = tc_arena_alloc_raw(&s->arena, SCRATCH_BYTES, 16);
    if (scratch == NULL || !tc__book_init(&s->book, &s->arena, s->config.series_max) ||
        !tc__cells_init(&s->cells, &s->arena, s->config.series_max, cells, s->config.exact_max)) {
        return false;
    }
    tc_arena_init(&s->scratch, "labels of a series", scratch, SCRATCH_BYTES);
    s->pairs = tc_arena_alloc_raw(&s->arena, cells * sizeof *s->pairs, 16);
    s->sort_scratch = tc_arena_alloc_raw(&s->arena, cells * sizeof *s->pairs, 16);
    size_t rest = s->arena.size - s->arena.used;
    if (!tc_arena_ok(&s->arena) || rest < REST_MIN) {
        return false;
    }
    rest -= ALIGN_SLACK;
    size_t texts = rest / ALL_PARTS * TEXT_PARTS;
    return tc__cells_chunks(&s->cells, &s->arena, rest - texts) &&
           tc__book_texts(&s->book, &s->arena, texts);
}

static bool is_possible(const struct tc_slices_config *config)
{
    return config->window_ns >= WINDOW_MIN && config->window_ns <= WINDOW_MAX &&
           config->series_max > 0 && config->series_max <= TC__SERIES_MAX &&
           cells_of(config) / CELLS_MIN >= config->series_max && cells_of(config) < UINT32_MAX &&
           config->exact_max >= EXACT_MIN && config->exact_max < UINT32_MAX / 2;
}

tc_status tc_slices_create(const struct tc_slices_config *config, struct tc_slices **out_slices,
                           struct tc_error *err)
{
    if (!is_possible(config) || config->source_digest.len >= DIGEST_TEXT_MAX) {
        return tc_fail(
            err, TC_E_USAGE, 0,
            "slices: a window has from a second to 31 days, and there are 1 to %zu series",
            TC__SERIES_MAX);
    }
    struct tc_slices *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for slices");
    }
    s->config = *config;
    s->given_ns = INT64_MIN;
    s->ahead_ns = INT64_MAX;
    if (config->source_digest.len > 0) {
        memcpy(s->digest, config->source_digest.ptr, config->source_digest.len);
    }
    s->config.source_digest = tc_slice_make(s->digest, config->source_digest.len);
    /* Pages that are never used are never touched. */
    s->block = calloc(1, config->memory_bytes);
    s->rows = tc_rows_create(TC_TABLE_SLICE);
    if (s->block == NULL || s->rows == NULL) {
        tc_slices_destroy(s);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for slices: %zu bytes", config->memory_bytes);
    }
    tc_arena_init_zeroed(&s->arena, "slices", s->block, config->memory_bytes);
    if (!lay_out(s)) {
        tc_slices_destroy(s);
        return tc_fail(err, TC_E_USAGE, 0, "slices: %zu bytes are too few for %zu series",
                       config->memory_bytes, config->series_max);
    }
    *out_slices = s;
    return TC_OK;
}

void tc_slices_destroy(struct tc_slices *s)
{
    if (s == NULL) {
        return;
    }
    tc_rows_destroy(s->rows);
    if (s->block != NULL) {
        tc_arena_fini(&s->scratch);
        tc_arena_fini(&s->arena);
    }
    free(s->block);
    free(s);
}

void tc_slices_now(struct tc_slices *s, int64_t now_ns)
{
    if (__builtin_add_overflow(now_ns, AHEAD_MAX, &s->ahead_ns)) {
        s->ahead_ns = INT64_MAX;
    }
}

/* ---- adding ---- */

/* Lengths are part of the key, so that no two series have the same. False when it is full. */
static inline bool key_put(char **io_at, const char *end, struct tc_slice text)
{
    if (text.len + sizeof(uint32_t) > (size_t)(end - *io_at)) {
        return false;
    }
    uint32_t len = (uint32_t)text.len;
    memcpy(*io_at, &len, sizeof len);
    *io_at += sizeof len;
    if (text.len > 0) {
        memcpy(*io_at, text.ptr, text.len);
        *io_at += text.len;
    }
    return true;
}

static bool key_known(char **io_at, const char *end, const struct tc_series_scope *known)
{
    if ((size_t)(end - *io_at) < sizeof known->rank) {
        return false;
    }
    memcpy(*io_at, &known->rank, sizeof known->rank);
    *io_at += sizeof known->rank;
    return key_put(io_at, end, known->run_id) && key_put(io_at, end, known->run_join) &&
           key_put(io_at, end, known->scheduler_run_id) && key_put(io_at, end, known->job_uid) &&
           key_put(io_at, end, known->pod_uid) && key_put(io_at, end, known->node) &&
           key_put(io_at, end, known->gpu_uuid) && key_put(io_at, end, known->request_class);
}

/* The bytes that name a series; empty when they are too many. */
static struct tc_slice key_of(struct tc_slices *s, const struct tc_sample *sample,
                              const struct tc_series_scope *known)
{
    char *at = s->key;
    const char *end = s->key + KEY_MAX;
    *at++ = (char)('a' + sample->type + (sample->identity.len > 0 ? 8 : 0));
    bool ok = key_put(&at, end, sample->unit);
    if (sample->identity.len > 0) {
        ok = ok && key_put(&at, end, sample->identity);
    } else {
        ok = ok && key_put(&at, end, sample->name);
        for (size_t i = 0; ok && i < sample->label_count; i++) {
            ok = key_put(&at, end, sample->labels[i].key) &&
                 key_put(&at, end, sample->labels[i].value);
        }
    }
    ok = ok && key_known(&at, end, known);
    return ok ? tc_slice_make(s->key, (size_t)(at - s->key)) : TC_EMPTY;
}

static bool has_time(struct tc_slices *s, int64_t time_ns)
{
    s->counts.samples++;
    if (time_ns < 0 || time_ns > TC_TIME_MAX) {
        s->counts.undated++;
        return false;
    }
    if (time_ns < s->given_ns) {
        s->counts.late++;
        return false;
    }
    if (time_ns > s->ahead_ns) {
        s->counts.ahead++;
        return false;
    }
    return true;
}

static void push(struct tc_slices *s, uint32_t at, int64_t time_ns, double value)
{
    struct tc__series *series = &s->book.series[at];
    struct tc__cell *cell = tc__cell_get(&s->cells, series, at, time_ns / s->config.window_ns);
    if (cell == NULL) {
        s->counts.samples_full++;
        return;
    }
    series->seen_ns = time_ns > series->seen_ns ? time_ns : series->seen_ns;
    tc__cell_add(&s->cells, cell, series->type == TC_SAMPLE_COUNTER, time_ns, value);
}

static bool is_taken(struct tc_slices *s, enum tc__scope_verdict verdict,
                     const struct tc__identity *id)
{
    switch (verdict) {
    case TC__SCOPE_OK:
        return true;
    case TC__SCOPE_NOMEM:
        s->counts.series_full++;
        return false;
    case TC__SCOPE_OTHER_RUN:
        s->counts.other_run++;
        if (s->other_run_len == 0) {
            struct tc_slice run = tc_slice_head(id->text[TC__TEXT_RUN], OTHER_RUN_MAX);
            memcpy(s->other_run, run.ptr, run.len);
            s->other_run_len = run.len;
        }
        return false;
    }
    return false;
}

/* A series that was not seen in these bytes before: of a sample, or of an event where that is NULL.
 */
static TC_SELDOM uint32_t find_series(struct tc_slices *s, const struct tc_sample *sample,
                                      const struct tc_event *ev,
                                      const struct tc_series_scope *known, struct tc_slice key,
                                      uint64_t hash, struct tc__identity *out_id)
{
    tc_arena_reset(&s->scratch);
    if (!is_taken(s,
                  sample != NULL ? tc__identify(sample, known, &s->scratch, out_id)
                                 : tc__identify_event(ev, known, &s->scratch, out_id),
                  out_id)) {
        return TC__NO_SERIES;
    }
    s->counts.labels_left += out_id->lost_labels;
    if (out_id->lost_labels && out_id->type == TC_SAMPLE_COUNTER) {
        s->counts.counters_left++;
        return TC__NO_SERIES;
    }
    uint32_t at = tc__series_get(&s->book, out_id);
    if (at == TC__NO_SERIES) {
        s->counts.series_full++;
    } else if (key.len > 0 && !out_id->lost_labels) {
        tc__alias_add(&s->book, key, hash, at, out_id);
    }
    return at;
}

/* What a difference rose by in a second; false when it does not say since when. */
static bool rate_of(const struct tc_sample *sample, int64_t time_ns, double *io_value)
{
    if (sample->start_ns == TC_TIME_NONE || sample->start_ns >= time_ns) {
        return false;
    }
    *io_value /= (double)(time_ns - sample->start_ns) / (double)TC_SECOND;
    return true;
}

void tc_slices_add(struct tc_slices *s, const struct tc_sample *sample, int64_t time_ns,
                   const struct tc_series_scope *known)
{
    if (!has_time(s, time_ns)) {
        return;
    }
    struct tc_slice key = key_of(s, sample, known);
    uint64_t hash = 0;
    const struct tc__alias *alias = key.len > 0 ? tc__alias_find(&s->book, key, &hash) : NULL;
    struct tc__identity id;
    double value = sample->value;
    uint32_t at = TC__NO_SERIES;
    bool is_value = false;
    if (alias != NULL) {
        at = alias->series;
        is_value = tc_series_value(alias->how, alias->scale, &value);
    } else {
        at = find_series(s, sample, NULL, known, key, hash, &id);
        is_value = at != TC__NO_SERIES && tc_series_value(id.how, id.scale, &value);
    }
    if (at == TC__NO_SERIES) {
        return;
    }
    if (is_value && s->book.series[at].type == TC_SAMPLE_DELTA) {
        is_value = rate_of(sample, time_ns, &value) && isfinite(value);
    }
    if (!is_value) {
        s->counts.not_finite++;
        return;
    }
    push(s, at, time_ns, value);
}

/* The same for an event: every part of it that can tell a series from another. */
static struct tc_slice event_key(struct tc_slices *s, const struct tc_event *ev,
                                 const struct tc_series_scope *known)
{
    const struct tc_scope *scope = &ev->scope;
    const struct tc_slice texts[] = {ev->metric.device, ev->metric.rack, scope->node,
                                     scope->ns,         scope->pod,      scope->pod_uid,
                                     scope->container,  scope->job,      scope->gpu_uuid};
    const int64_t numbers[] = {ev->metric.metric, scope->rank,        scope->gpu_index,
                               scope->pci.known,  scope->pci.domain,  scope->pci.bus,
                               scope->pci.device, scope->pci.function};
    char *at = s->key;
    const char *end = s->key + KEY_MAX;
    *at++ = 'E';
    bool ok = key_put(&at, end, tc_slice_make((const char *)numbers, sizeof numbers));
    for (size_t i = 0; ok && i < TC_COUNT(texts); i++) {
        ok = key_put(&at, end, texts[i]);
    }
    ok = ok && key_known(&at, end, known);
    return ok ? tc_slice_make(s->key, (size_t)(at - s->key)) : TC_EMPTY;
}

void tc_slices_add_event(struct tc_slices *s, const struct tc_event *ev,
                         const struct tc_series_scope *known)
{
    if (ev->kind != TC_EVENT_METRIC || ev->metric.metric == TC_METRIC_NONE ||
        ev->metric.metric >= TC_METRIC_COUNT || !has_time(s, ev->time_ns)) {
        return;
    }
    struct tc_slice key = event_key(s, ev, known);
    uint64_t hash = 0;
    const struct tc__alias *alias = key.len > 0 ? tc__alias_find(&s->book, key, &hash) : NULL;
    struct tc__identity id;
    uint32_t at = alias != NULL ? alias->series : find_series(s, NULL, ev, known, key, hash, &id);
    if (at == TC__NO_SERIES) {
        return;
    }
    if (!isfinite(ev->metric.value)) {
        s->counts.not_finite++;
        return;
    }
    push(s, at, ev->time_ns, ev->metric.value);
}

/* ---- giving out ---- */

struct giving {
    struct tc_slices *s;
    tc_status (*take)(void *context, const struct tc_rows *rows);
    void *context;
    struct tc_error *err;
};

static tc_status give_rows(struct giving *g)
{
    struct tc_rows *rows = g->s->rows;
    if (rows->count == 0) {
        return TC_OK;
    }
    tc_status status = g->take(g->context, rows);
    tc_rows_reset(rows);
    return status == TC_OK ? TC_OK : tc_fail(g->err, status, 0, "slices: rows were not taken");
}

static tc_status put_texts(struct giving *g, const struct tc__series *series)
{
    static const uint8_t columns[TC__TEXT_COUNT] = {
        [TC__TEXT_METRIC] = TC_SLICE_METRIC,
        [TC__TEXT_NODE] = TC_SLICE_NODE,
        [TC__TEXT_GPU] = TC_SLICE_GPU,
        [TC__TEXT_POD] = TC_SLICE_POD_UID,
        [TC__TEXT_JOB] = TC_SLICE_JOB_UID,
        [TC__TEXT_POINT] = TC_SLICE_POINT,
        [TC__TEXT_CLASS] = TC_SLICE_REQUEST_CLASS,
        [TC__TEXT_UNIT] = TC_SLICE_UNIT,
        [TC__TEXT_RUN] = TC_SLICE_RUN_ID,
        [TC__TEXT_JOIN] = TC_SLICE_JOIN,
        [TC__TEXT_SCHEDULER] = TC_SLICE_SCHEDULER_RUN_ID,
    };
    const struct tc__book *book = &g->s->book;
    struct tc_rows *rows = g->s->rows;
    const char *at = book->heap + series->at;
    for (size_t i = 0; i < TC__TEXT_COUNT; i++) {
        if (series->len[i] > 0) {
            TC_TRY(tc_rows_text(rows, columns[i], tc_slice_make(at, series->len[i])));
            at += series->len[i];
        }
    }
    if (g->s->config.source_digest.len > 0) {
        TC_TRY(tc_rows_text(rows, TC_SLICE_SOURCE_DIGEST, g->s->config.source_digest));
    }
    return tc_rows_text(rows, TC_SLICE_FAMILY, tc__family_name((enum tc__family)series->family));
}

static tc_status put_row(struct giving *g, const struct tc__series *series, int64_t start_ns,
                         const struct tc__stats *stats)
{
    struct tc_slices *s = g->s;
    if (!tc_rows_add(s->rows)) {
        TC_TRY(give_rows(g));
        TC_ASSERT(tc_rows_add(s->rows));
    }
    tc_status status = put_texts(g, series);
    if (status != TC_OK) {
        return tc_fail(g->err, status, 0, "slices: no memory for the text of rows");
    }
    tc_rows_int(s->rows, TC_SLICE_START, start_ns / 1000);
    tc_rows_int(s->rows, TC_SLICE_END, (start_ns + s->config.window_ns) / 1000);
    if (series->rank >= 0) {
        tc_rows_int(s->rows, TC_SLICE_RANK, series->rank);
    }
    tc_rows_int(s->rows, TC_SLICE_COUNT, (int64_t)stats->samples);
    tc_rows_real(s->rows, TC_SLICE_MIN, stats->min);
    tc_rows_real(s->rows, TC_SLICE_MAX, stats->max);
    tc_rows_real(s->rows, TC_SLICE_MEAN, stats->mean);
    tc_rows_real(s->rows, TC_SLICE_P50, stats->p50);
    tc_rows_real(s->rows, TC_SLICE_P95, stats->p95);
    tc_rows_real(s->rows, TC_SLICE_P99, stats->p99);
    tc_rows_real(s->rows, TC_SLICE_LAST, stats->last);
    s->counts.windows++;
    return TC_OK;
}

/* The cells before a window into pairs, by window and series; how many. */
static size_t sort_due(struct tc_slices *s, int64_t cut)
{
    const struct tc__cells *c = &s->cells;
    int64_t first = INT64_MAX;
    size_t due = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct tc__cell *cell = &c->cells[i];
        if (cell->series != TC__NO_SERIES && cell->window < cut) {
            s->pairs[due++] = (struct tc_sort_pair){0, i};
            first = cell->window < first ? cell->window : first;
        }
    }
    if (due == 0) {
        return 0;
    }
    tc__book_sort(&s->book);
    for (size_t i = 0; i < due; i++) {
        const struct tc__cell *cell = &c->cells[s->pairs[i].value];
        s->pairs[i].key =
            (uint64_t)(cell->window - first) << ORDER_BITS | s->book.series[cell->series].order;
    }
    tc_sort_keys(s->pairs, s->sort_scratch, due);
    return due;
}

static tc_status give_due(struct giving *g, size_t due)
{
    struct tc_slices *s = g->s;
    for (size_t i = 0; i < due; i++) {
        struct tc__cell *cell = &s->cells.cells[s->pairs[i].value];
        struct tc__series *series = &s->book.series[cell->series];
        struct tc__stats stats;
        tc__cell_stats(&s->cells, series, cell, &stats);
        s->counts.duplicates += stats.duplicates;
        s->counts.folded += stats.folded;
        s->counts.unranked += stats.unranked;
        TC_TRY(put_row(g, series, cell->window * s->config.window_ns, &stats));
    }
    return give_rows(g);
}

/* What was due goes, given out or not. */
static void free_due(struct tc_slices *s, size_t due)
{
    for (size_t i = 0; i < due; i++) {
        struct tc__cell *cell = &s->cells.cells[s->pairs[i].value];
        tc__cell_free(&s->cells, &s->book.series[cell->series], cell);
    }
    if (due > 0) {
        tc__cells_index(&s->cells);
    }
}

tc_status tc_slices_flush(struct tc_slices *s, int64_t until_ns,
                          tc_status (*take)(void *context, const struct tc_rows *rows),
                          void *context, struct tc_error *err)
{
    struct giving g = {.s = s, .take = take, .context = context, .err = err};
    int64_t window = s->config.window_ns;
    bool all = until_ns > TC_TIME_MAX;
    int64_t cut_ns = all ? INT64_MAX : until_ns < 0 ? 0 : until_ns / window * window;
    tc_rows_reset(s->rows);
    size_t due = sort_due(s, all ? INT64_MAX : cut_ns / window);
    tc_status status = give_due(&g, due);
    tc_rows_reset(s->rows);
    free_due(s, due);
    s->given_ns = cut_ns > s->given_ns ? cut_ns : s->given_ns;
    struct tc__book *book = &s->book;
    if (!all && (book->wants_sweep || book->live > book->series_max / 8 * 7)) {
        int64_t idle = 2 * window > IDLE_NS ? 2 * window : IDLE_NS;
        s->counts.series_gone += tc__book_sweep(book, cut_ns - idle);
    }
    return status;
}

void tc_slices_counts(const struct tc_slices *s, struct tc_slices_counts *out)
{
    *out = s->counts;
    out->series = s->book.live;
    out->waiting = s->cells.samples;
    out->cells = s->cells.live;
}

struct tc_slice tc_slices_other_run(const struct tc_slices *s)
{
    return tc_slice_make(s->other_run, s->other_run_len);
}
