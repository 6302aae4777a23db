/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the slicer: families.c and scope.c say what a series is, series.c keeps them,
 * cells.c keeps their samples, stats.c and sketch.c make the numbers of a row, slices.c takes
 * samples and gives the rows out.
 */
#ifndef TC_TELEMETRY_SLICES_PRIV_H
#define TC_TELEMETRY_SLICES_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/table/map.h"
#include "base/table/sort.h"
#include "codec/samples.h"
#include "event/event.h"
#include "telemetry/files.h"
#include "telemetry/names.h"
#include "telemetry/slices.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum tc__family {
#define FAMILY(id, name) TC__FAMILY_##id,
#define PREFIX(start, part, id, untyped)
#define OURS(metric, id)
#define METRIC(name, ours, factor, unit)
#define UNIT(end, unit)
#include "telemetry/families.def"
#undef FAMILY
#undef PREFIX
#undef OURS
#undef METRIC
#undef UNIT
    TC__FAMILY_COUNT
};

/* ---- families.c ---- */

struct tc__naming {
    enum tc__family family;
    enum tc_sample_type untyped; /* what it is when nobody says: GAUGE or COUNTER */
    struct tc_slice ours;        /* our name; empty: the producer's stays */
    struct tc_slice unit;        /* empty: none known */
    bool is_rate;                /* a gauge, whatever its type says */
    double factor;
};

/* By the producer's name. */
void tc__naming_of(struct tc_slice name, struct tc__naming *out);
/* A unit as a producer spells it, in our spelling: By is bytes. */
struct tc_slice tc__unit_spelled(struct tc_slice unit);
enum tc__family tc__family_of_metric(enum tc_metric metric);
struct tc_slice tc__family_name(enum tc__family family);

/* ---- scope.c ---- */

/* Text columns of a series, in the order that series have among each other. */
enum tc__text {
    TC__TEXT_METRIC,
    TC__TEXT_NODE,
    TC__TEXT_GPU,
    TC__TEXT_POD,
    TC__TEXT_JOB,
    TC__TEXT_POINT,
    TC__TEXT_CLASS,
    TC__TEXT_UNIT,
    TC__TEXT_RUN,
    TC__TEXT_JOIN,
    TC__TEXT_SCHEDULER,
    TC__TEXT_COUNT
};

/* The longest text of a series; longer ones are kept as a digest. */
#define TC__TEXT_MAX 256

/* A text of a row: UTF-8 without control characters, not too long. It is s, or in the arena. */
struct tc_slice tc__clean(struct tc_slice s, struct tc_arena *arena);

enum tc__scope_verdict {
    TC__SCOPE_OK,
    TC__SCOPE_OTHER_RUN, /* its labels name another run than the one it was given with */
    TC__SCOPE_NOMEM,
};

/* What a series is. Strings in the scratch arena, of the sample, or literals. */
struct tc__identity {
    struct tc_slice text[TC__TEXT_COUNT];
    int64_t rank; /* -1: none */
    uint8_t family;
    uint8_t type; /* GAUGE, COUNTER or DELTA of enum tc_sample_type */
    uint8_t how;  /* for tc_series_value */
    double scale;
    bool lost_labels; /* some were of one request */
};

enum tc__scope_verdict tc__identify(const struct tc_sample *sample,
                                    const struct tc_series_scope *known, struct tc_arena *scratch,
                                    struct tc__identity *out);
enum tc__scope_verdict tc__identify_event(const struct tc_event *ev,
                                          const struct tc_series_scope *known,
                                          struct tc_arena *scratch, struct tc__identity *out);

/* The metric of a sample, for people. False when its name says nothing (no memory). */
bool tc__define(const struct tc_sample *sample, struct tc_arena *scratch,
                struct tc_telemetry_definition *out);

/* ---- series.c ---- */

struct tc__series {
    uint64_t hash;
    int64_t seen_ns; /* of its latest sample */
    int64_t base_ns; /* of a counter: the last sample given out; TC_TIME_NONE */
    double base;
    int64_t rank;
    uint32_t at;    /* of its texts in the heap */
    uint32_t order; /* among all series, by identity */
    uint32_t cells; /* windows of which samples wait */
    uint32_t cell;  /* of them the one that was used last */
    uint16_t len[TC__TEXT_COUNT];
    uint8_t family;
    uint8_t type;
    bool used;
};

/* A series as a producer writes it: leads to the series without another look at its labels. */
struct tc__alias {
    uint64_t hash;
    double scale;
    uint32_t at; /* of its key in the heap */
    uint32_t len;
    uint32_t series;
    uint8_t how;
};

#define TC__NO_SERIES UINT32_MAX
/* Orders of series have to fit the keys that samples are sorted by. */
#define TC__SERIES_MAX ((size_t)1 << 24)

/*
 * Invariants: series[i].used says whether slot i is taken; free slots are a list from free_at
 * through their `at`. Texts of used slots lie in heap[0, heap_len) and do not overlap.
 * aliases[0, alias_count) are all in alias_map.
 */
struct tc__book {
    struct tc__series *series;
    size_t series_max;
    size_t series_count; /* slots that were ever used: the rest is untouched */
    size_t live;
    uint32_t free_at;
    struct tc_map map;
    char *heap;
    size_t heap_len;
    size_t heap_max;
    struct tc__alias *aliases;
    size_t alias_count;
    size_t alias_max;
    size_t alias_next; /* behind the last one found: scrapes have their series in one order */
    struct tc_map alias_map;
    char *keys;
    size_t keys_len;
    size_t keys_max;
    const void **items; /* for sorting, series_max each */
    const void **items_scratch;
    bool order_known;
    bool wants_sweep;
};

/* The tables, then room for texts of so many bytes, in the arena; false when that has no room. */
bool tc__book_init(struct tc__book *b, struct tc_arena *arena, size_t series_max);
bool tc__book_texts(struct tc__book *b, struct tc_arena *arena, size_t bytes);
/* NULL: not known; *out_hash is set then. */
const struct tc__alias *tc__alias_find(struct tc__book *b, struct tc_slice key, uint64_t *out_hash);
/* Remembers it; forgets all others when there is no room. */
void tc__alias_add(struct tc__book *b, struct tc_slice key, uint64_t hash, uint32_t series,
                   const struct tc__identity *id);
/* The series, made when it is new; TC__NO_SERIES when there is no room. */
uint32_t tc__series_get(struct tc__book *b, const struct tc__identity *id);
/* Gives every series its `order`. */
void tc__book_sort(struct tc__book *b);
/* Forgets series without samples that were last seen before `before_ns`; how many. */
uint64_t tc__book_sweep(struct tc__book *b, int64_t before_ns);

/* ---- stats.c ---- */

struct tc__stats {
    uint64_t samples;
    uint64_t duplicates;
    uint64_t values; /* that the numbers are of */
    double min;
    double max;
    double mean;
    double p50;
    double p95;
    double p99;
    double last;
    bool folded;   /* percentiles are those of a sketch */
    bool unranked; /* and there was no room for that: none are known */
};

static inline uint64_t tc__bits_of(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double tc__double_of(uint64_t bits)
{
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Keys that sort as the doubles do. */
static inline uint64_t tc__key_of(double value)
{
    uint64_t bits = tc__bits_of(value);
    return (bits >> 63) != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

static inline double tc__value_of(uint64_t key)
{
    return tc__double_of((key >> 63) != 0 ? key & ~(UINT64_C(1) << 63) : ~key);
}

/* The value of a counter becomes its rise per second since the base; false when there is none to
 * tell. */
bool tc__rise(int64_t base_ns, double base, int64_t time_ns, double *io_value);

/* Samples are pairs of their time and the bits of their value. By time, then value, each once: how
 * many are left. scratch has room for count pairs. */
size_t tc__samples_sort(struct tc_sort_pair *samples, struct tc_sort_pair *scratch, size_t count);

/*
 * The numbers of one series in one window, of sorted samples, which are lost. Adds to *out, which
 * knows nothing yet. Moves the base of a counter.
 */
void tc__stats_of(struct tc__series *series, struct tc_sort_pair *samples,
                  struct tc_sort_pair *scratch, size_t count, struct tc__stats *out);

/* ---- sketch.c ---- */

/* Bins of a sketch, at most. */
#define TC__BINS_MAX ((size_t)1024)

/* Sorts bins (a key and how many values) and joins them until they are few enough; how many are
 * left. *io_shift: lower bits of keys that do not count. */
size_t tc__bins_join(struct tc_sort_pair *bins, struct tc_sort_pair *scratch, size_t count,
                     unsigned *io_shift);
/* The value of that rank, from 1: of its bin the one nearest to zero. count > 0. */
double tc__bins_rank(const struct tc_sort_pair *bins, size_t count, unsigned shift, uint64_t rank);
double tc__bins_mean(const struct tc_sort_pair *bins, size_t count, unsigned shift,
                     uint64_t values);

/* ---- cells.c ---- */

/* Samples or bins of one chunk. */
#define TC__CHUNK ((size_t)4)

/*
 * One series in one window. Invariants: `kept` samples lie in chunks, `bin_count` bins in bins;
 * `samples`, of which `values` had a value, were folded. unranked: nothing is kept any more.
 */
struct tc__cell {
    int64_t window;  /* its number */
    int64_t last_ns; /* of the newest sample */
    double last;
    double sum;
    double sum_low; /* what the sum lost by rounding */
    double min;
    double max;
    int64_t first_ns; /* of a counter: the first that was folded, and the newest */
    double first;
    int64_t base_ns;
    double base;
    uint32_t series; /* UINT32_MAX: the cell is free, and chunks leads to the next */
    uint32_t taken;  /* samples in all */
    uint32_t samples;
    uint32_t values;
    uint32_t duplicates; /* of them, as far as they met */
    uint32_t kept;
    uint32_t chunks;
    uint32_t chunk_last;
    uint32_t bins;
    uint16_t bin_count;
    uint8_t shift;
    bool unranked;
};

/*
 * Invariants: cells[0, count) were ever used, live of them are; extra is how many series have
 * beyond two each, at most spare. Chunks [0, chunk_count) were ever used; each is in one list.
 */
struct tc__cells {
    struct tc__cell *cells;
    size_t max;
    size_t count;
    size_t live;
    size_t spare;
    size_t extra;
    uint32_t free_at;
    struct tc_map map;          /* by series and window */
    struct tc_sort_pair *items; /* of chunks */
    uint32_t *chunk_next;
    size_t chunk_max;
    size_t chunk_count;
    uint32_t chunk_free;
    size_t exact_max; /* so many samples of a cell are never folded */
    size_t kept_max;
    struct tc_sort_pair *work; /* room for what a cell keeps, its bins and one more */
    struct tc_sort_pair *work_scratch;
    uint64_t samples; /* that were taken and whose cell is there */
};

/* The tables, then chunks of so many bytes, in the arena; false when that has no room. max: two for
 * each series at least. */
bool tc__cells_init(struct tc__cells *c, struct tc_arena *arena, size_t series_max, size_t max,
                    size_t exact_max);
bool tc__cells_chunks(struct tc__cells *c, struct tc_arena *arena, size_t bytes);
/* The cell of a series (with its number) and window, made when it is new; NULL: no room. */
struct tc__cell *tc__cell_get(struct tc__cells *c, struct tc__series *series, uint32_t number,
                              int64_t window);
void tc__cell_add(struct tc__cells *c, struct tc__cell *cell, bool is_counter, int64_t time_ns,
                  double value);
/* The numbers of a cell, which has to be freed then. Moves the base of a counter: in the order of
 * windows. */
void tc__cell_stats(struct tc__cells *c, struct tc__series *series, struct tc__cell *cell,
                    struct tc__stats *out);
/* Found no more only after tc__cells_index. */
void tc__cell_free(struct tc__cells *c, struct tc__series *series, struct tc__cell *cell);
void tc__cells_index(struct tc__cells *c);

#endif
