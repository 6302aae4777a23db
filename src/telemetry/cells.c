/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells: what is known of one series in one window. The samples of a cell are kept in chunks, as
 * they came; when they are too many, the oldest three quarters of them are folded into sums,
 * extremes and a sketch (sketch.c), so that a cell is bounded however fast samples come. How a
 * cell looks follows from its own samples alone, in the order in which they came: not from when
 * windows are given out, nor from other series. Only when chunks run out does a cell give up what
 * percentiles are taken from; count, extremes, sum and last value it always has.
 */
#include "telemetry/slices_priv.h"

#include "base/assert.h"
#include "base/time.h"

#include <math.h>
#include <string.h>

#define NONE UINT32_MAX
/* Cells that are set aside for each series: the window that is open, and the one before. */
#define OWN_CELLS 2

/* ---- chunks ---- */

static struct tc_sort_pair *chunk_at(const struct tc__cells *c, uint32_t chunk)
{
    return &c->items[(size_t)chunk * TC__CHUNK];
}

static uint32_t take_chunk(struct tc__cells *c)
{
    uint32_t chunk = c->chunk_free;
    if (chunk != NONE) {
        c->chunk_free = c->chunk_next[chunk];
    } else if (c->chunk_count < c->chunk_max) {
        chunk = (uint32_t)c->chunk_count++;
    } else {
        return NONE;
    }
    c->chunk_next[chunk] = NONE;
    return chunk;
}

static void free_chunks(struct tc__cells *c, uint32_t *io_first)
{
    while (*io_first != NONE) {
        uint32_t next = c->chunk_next[*io_first];
        c->chunk_next[*io_first] = c->chunk_free;
        c->chunk_free = *io_first;
        *io_first = next;
    }
}

static void read_chunks(const struct tc__cells *c, uint32_t chunk, struct tc_sort_pair *to,
                        size_t count)
{
    for (size_t done = 0; done < count; chunk = c->chunk_next[chunk]) {
        size_t part = count - done < TC__CHUNK ? count - done : TC__CHUNK;
        memcpy(to + done, chunk_at(c, chunk), part * sizeof *to);
        done += part;
    }
}

/* Into the list's own chunks, and more of them; those that are left over are free again. False
 * when there are too few: the list is empty then. *out_last: its last chunk. */
static bool write_chunks(struct tc__cells *c, uint32_t *io_first, uint32_t *out_last,
                         const struct tc_sort_pair *from, size_t count)
{
    uint32_t *link = io_first;
    *out_last = NONE;
    for (size_t done = 0; done < count;) {
        if (*link == NONE && (*link = take_chunk(c)) == NONE) {
            free_chunks(c, io_first);
            return false;
        }
        size_t part = count - done < TC__CHUNK ? count - done : TC__CHUNK;
        memcpy(chunk_at(c, *link), from + done, part * sizeof *from);
        done += part;
        *out_last = *link;
        link = &c->chunk_next[*link];
    }
    free_chunks(c, link);
    return true;
}

/* ---- making ---- */

static void *raw(struct tc_arena *arena, size_t count, size_t size)
{
    return tc_arena_alloc_raw(arena, count * size, 16);
}

bool tc__cells_init(struct tc__cells *c, struct tc_arena *arena, size_t series_max, size_t max,
                    size_t exact_max)
{
    *c = (struct tc__cells){.max = max,
                            .spare = max - OWN_CELLS * series_max,
                            .exact_max = exact_max,
                            .kept_max = exact_max + exact_max / 4,
                            .free_at = NONE,
                            .chunk_free = NONE};
    size_t work = c->kept_max + TC__BINS_MAX + 1;
    c->cells = raw(arena, max, sizeof *c->cells);
    c->work = raw(arena, work, sizeof *c->work);
    c->work_scratch = raw(arena, work, sizeof *c->work);
    return tc_map_init(&c->map, arena, max) && tc_arena_ok(arena);
}

bool tc__cells_chunks(struct tc__cells *c, struct tc_arena *arena, size_t bytes)
{
    c->chunk_max = bytes / (TC__CHUNK * sizeof *c->items + sizeof *c->chunk_next);
    c->chunk_max = c->chunk_max < NONE ? c->chunk_max : NONE - 1;
    c->items = raw(arena, c->chunk_max * TC__CHUNK, sizeof *c->items);
    c->chunk_next = raw(arena, c->chunk_max, sizeof *c->chunk_next);
    return tc_arena_ok(arena);
}

/* ---- finding ---- */

static uint64_t cell_hash(uint32_t series, int64_t window)
{
    return tc_hash_mix(series, (uint64_t)window);
}

static uint32_t find_cell(const struct tc__cells *c, uint32_t series, int64_t window)
{
    struct tc_map_iter it = tc_map_find(&c->map, cell_hash(series, window));
    for (uint64_t at; (at = tc_map_next(&c->map, &it)) != 0;) {
        const struct tc__cell *cell = &c->cells[at - 1];
        if (cell->series == series && cell->window == window) {
            return (uint32_t)(at - 1);
        }
    }
    return NONE;
}

/* Two are there for every series; of more, all together have what is left. */
static uint32_t make_cell(struct tc__cells *c, struct tc__series *series, uint32_t number,
                          int64_t window)
{
    bool is_extra = series->cells >= OWN_CELLS;
    if (is_extra && c->extra == c->spare) {
        return NONE;
    }
    uint32_t at = c->free_at;
    if (at != NONE) {
        c->free_at = c->cells[at].chunks;
    } else {
        TC_ASSERT(c->count < c->max);
        at = (uint32_t)c->count++;
    }
    c->cells[at] = (struct tc__cell){.window = window,
                                     .series = number,
                                     .last_ns = TC_TIME_NONE,
                                     .first_ns = TC_TIME_NONE,
                                     .base_ns = TC_TIME_NONE,
                                     .chunks = NONE,
                                     .chunk_last = NONE,
                                     .bins = NONE};
    bool added = tc_map_add(&c->map, cell_hash(number, window), (uint64_t)at + 1, 0);
    TC_ASSERT(added);
    series->cells++;
    c->extra += is_extra;
    c->live++;
    return at;
}

struct tc__cell *tc__cell_get(struct tc__cells *c, struct tc__series *series, uint32_t number,
                              int64_t window)
{
    uint32_t at = series->cell;
    if (series->cells > 0 && c->cells[at].series == number && c->cells[at].window == window) {
        return &c->cells[at];
    }
    at = series->cells > 0 ? find_cell(c, number, window) : NONE;
    at = at == NONE ? make_cell(c, series, number, window) : at;
    if (at == NONE) {
        return NULL;
    }
    series->cell = at;
    return &c->cells[at];
}

void tc__cell_free(struct tc__cells *c, struct tc__series *series, struct tc__cell *cell)
{
    free_chunks(c, &cell->chunks);
    free_chunks(c, &cell->bins);
    c->extra -= series->cells > OWN_CELLS;
    series->cells--;
    c->live--;
    c->samples -= cell->taken;
    *cell = (struct tc__cell){.series = NONE, .chunks = c->free_at};
    c->free_at = (uint32_t)(cell - c->cells);
}

void tc__cells_index(struct tc__cells *c)
{
    tc_map_reset(&c->map);
    for (size_t i = 0; i < c->count; i++) {
        const struct tc__cell *cell = &c->cells[i];
        if (cell->series != NONE) {
            (void)tc_map_add(&c->map, cell_hash(cell->series, cell->window), i + 1, 0);
        }
    }
}

/* ---- folding ---- */

/* Two doubles that add up to the sum so far: what rounding takes from the first is in the second.
 */
static void add_value(struct tc__cell *cell, double value)
{
    double sum = cell->sum + value;
    double part = sum - cell->sum;
    cell->sum_low += (cell->sum - (sum - part)) + (value - part);
    cell->sum = sum;
    cell->min = cell->values == 0 || value < cell->min ? value : cell->min;
    cell->max = cell->values == 0 || value > cell->max ? value : cell->max;
    cell->values++;
}

/* The value of a folded sample; false: of a counter, and there is none before it. One that is
 * older than what was folded lies within a rise that is counted already. */
static bool fold_sample(struct tc__cell *cell, bool is_counter, int64_t time_ns, double *io_value)
{
    double value = *io_value;
    bool known = true;
    cell->samples++;
    if (is_counter) {
        known = tc__rise(cell->base_ns, cell->base, time_ns, io_value);
        if (cell->first_ns == TC_TIME_NONE) {
            cell->first_ns = time_ns;
            cell->first = value;
        }
        if (cell->base_ns == TC_TIME_NONE || time_ns >= cell->base_ns) {
            cell->base_ns = time_ns;
            cell->base = value;
        }
    }
    if (known) {
        *io_value += 0.0;
        add_value(cell, *io_value);
    }
    return known;
}

/* Folds sorted samples; their values take their place as bins of one each. How many. */
static size_t fold_samples(struct tc__cell *cell, bool is_counter, struct tc_sort_pair *samples,
                           size_t count)
{
    size_t values = 0;
    for (size_t i = 0; i < count; i++) {
        double value = tc__double_of(samples[i].value);
        if (fold_sample(cell, is_counter, (int64_t)samples[i].key, &value)) {
            samples[values++] = (struct tc_sort_pair){tc__key_of(value), 1};
        }
    }
    return values;
}

/* Percentiles are given up; the rest goes on. */
static void give_up(struct tc__cells *c, struct tc__cell *cell)
{
    free_chunks(c, &cell->chunks);
    free_chunks(c, &cell->bins);
    cell->chunk_last = NONE;
    cell->kept = 0;
    cell->bin_count = 0;
    cell->unranked = true;
}

/* Folds the first `count` samples of `work` into the cell. False when there is no chunk for its
 * bins: `unranked` then. */
static bool fold(struct tc__cells *c, struct tc__cell *cell, bool is_counter, size_t count)
{
    uint32_t last = NONE;
    size_t values = fold_samples(cell, is_counter, c->work, count);
    if (cell->unranked) {
        return false;
    }
    read_chunks(c, cell->bins, c->work + values, cell->bin_count);
    unsigned shift = cell->shift;
    size_t bins = tc__bins_join(c->work, c->work_scratch, values + cell->bin_count, &shift);
    if (!write_chunks(c, &cell->bins, &last, c->work, bins)) {
        cell->unranked = true;
        return false;
    }
    cell->bin_count = (uint16_t)bins;
    cell->shift = (uint8_t)shift;
    return true;
}

/* All that is kept into `work`, by time and value, without duplicates. */
static void sort_kept(struct tc__cells *c, struct tc__cell *cell)
{
    read_chunks(c, cell->chunks, c->work, cell->kept);
    size_t left = tc__samples_sort(c->work, c->work_scratch, cell->kept);
    cell->duplicates += cell->kept - (uint32_t)left;
    cell->kept = (uint32_t)left;
}

/* Makes room for one more sample: false when the cell gave up. */
static bool fold_oldest(struct tc__cells *c, struct tc__cell *cell, bool is_counter)
{
    sort_kept(c, cell);
    size_t kept = cell->kept;
    size_t stay = kept <= c->exact_max ? kept : c->exact_max / 4;
    size_t leave = kept - stay;
    /* What stays is written first: folding needs the place. */
    bool ok = write_chunks(c, &cell->chunks, &cell->chunk_last, c->work + leave, stay);
    TC_ASSERT(ok); /* its own chunks are enough */
    cell->kept = (uint32_t)stay;
    if (leave == 0 || fold(c, cell, is_counter, leave)) {
        return true;
    }
    read_chunks(c, cell->chunks, c->work, stay);
    (void)fold_samples(cell, is_counter, c->work, stay);
    give_up(c, cell);
    return false;
}

/* A chunk for the next sample; false when there is none: all is folded then. */
static bool add_chunk(struct tc__cells *c, struct tc__cell *cell, bool is_counter)
{
    uint32_t chunk = take_chunk(c);
    if (chunk == NONE) {
        sort_kept(c, cell);
        (void)fold_samples(cell, is_counter, c->work, cell->kept);
        give_up(c, cell);
        return false;
    }
    if (cell->chunk_last == NONE) {
        cell->chunks = chunk;
    } else {
        c->chunk_next[cell->chunk_last] = chunk;
    }
    cell->chunk_last = chunk;
    return true;
}

void tc__cell_add(struct tc__cells *c, struct tc__cell *cell, bool is_counter, int64_t time_ns,
                  double value)
{
    cell->taken++;
    c->samples++;
    if (cell->last_ns == TC_TIME_NONE || time_ns > cell->last_ns ||
        (time_ns == cell->last_ns && value > cell->last)) {
        cell->last_ns = time_ns;
        cell->last = value;
    }
    if (!cell->unranked && cell->kept == c->kept_max) {
        (void)fold_oldest(c, cell, is_counter);
    }
    if (!cell->unranked && cell->kept % TC__CHUNK == 0) {
        (void)add_chunk(c, cell, is_counter);
    }
    if (cell->unranked) {
        (void)fold_sample(cell, is_counter, time_ns, &value);
        return;
    }
    chunk_at(c, cell->chunk_last)[cell->kept++ % TC__CHUNK] =
        (struct tc_sort_pair){(uint64_t)time_ns, tc__bits_of(value)};
}

/* ---- numbers ---- */

static double percentile(const struct tc__cells *c, const struct tc__cell *cell, unsigned percent)
{
    uint64_t rank = ((uint64_t)cell->values * percent + 99) / 100;
    double value = tc__bins_rank(c->work, cell->bin_count, cell->shift, rank);
    value = value < cell->min ? cell->min : value;
    return value > cell->max ? cell->max : value;
}

static double mean_of(const struct tc__cells *c, const struct tc__cell *cell)
{
    double mean = (cell->sum + cell->sum_low) / (double)cell->values;
    if (!isfinite(mean)) { /* the sum is too large for a double */
        mean = cell->unranked ? (double)NAN
                              : tc__bins_mean(c->work, cell->bin_count, cell->shift, cell->values);
    }
    mean = mean < cell->min ? cell->min : mean;
    return mean > cell->max ? cell->max : mean;
}

/* The rise from the window before into this one, and where the next one begins. */
static size_t fold_edge(struct tc__cells *c, struct tc__series *series, struct tc__cell *cell)
{
    double value = cell->first;
    bool known = tc__rise(series->base_ns, series->base, cell->first_ns, &value);
    series->base_ns = cell->base_ns;
    series->base = cell->base;
    if (known) {
        add_value(cell, value + 0.0);
        c->work[0] = (struct tc_sort_pair){tc__key_of(value + 0.0), 1};
    }
    return known;
}

static void folded_stats(struct tc__cells *c, struct tc__series *series, struct tc__cell *cell,
                         struct tc__stats *out)
{
    bool is_counter = series->type == TC_SAMPLE_COUNTER;
    sort_kept(c, cell);
    size_t values = fold_samples(cell, is_counter, c->work, cell->kept);
    if (is_counter && cell->first_ns != TC_TIME_NONE) {
        struct tc_sort_pair moved = c->work[0];
        size_t edge = fold_edge(c, series, cell);
        if (edge > 0 && values > 0) {
            c->work[values] = moved;
        }
        values += edge;
    }
    out->samples = cell->samples;
    out->duplicates = cell->duplicates;
    out->values = cell->values;
    out->last = series->type == TC_SAMPLE_DELTA ? (double)NAN : cell->last;
    out->unranked = cell->unranked;
    out->folded = true;
    if (!cell->unranked) {
        unsigned shift = cell->shift;
        read_chunks(c, cell->bins, c->work + values, cell->bin_count);
        cell->bin_count =
            (uint16_t)tc__bins_join(c->work, c->work_scratch, values + cell->bin_count, &shift);
        cell->shift = (uint8_t)shift;
    }
    if (cell->values == 0) {
        return;
    }
    out->min = cell->min;
    out->max = cell->max;
    out->mean = mean_of(c, cell);
    if (!cell->unranked) {
        out->p50 = percentile(c, cell, 50);
        out->p95 = percentile(c, cell, 95);
        out->p99 = percentile(c, cell, 99);
    }
}

void tc__cell_stats(struct tc__cells *c, struct tc__series *series, struct tc__cell *cell,
                    struct tc__stats *out)
{
    *out = (struct tc__stats){.min = (double)NAN,
                              .max = (double)NAN,
                              .mean = (double)NAN,
                              .p50 = (double)NAN,
                              .p95 = (double)NAN,
                              .p99 = (double)NAN,
                              .last = (double)NAN};
    if (cell->samples > 0) {
        folded_stats(c, series, cell, out);
        return;
    }
    sort_kept(c, cell);
    out->duplicates = cell->duplicates;
    tc__stats_of(series, c->work, c->work_scratch, cell->kept, out);
}
