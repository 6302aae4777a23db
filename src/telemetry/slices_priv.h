/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the slicer: families.c and scope.c say what a series is, series.c keeps them,
 * window.c makes the numbers of a row, slices.c has the samples and gives the rows out.
 */
#ifndef TC_TELEMETRY_SLICES_PRIV_H
#define TC_TELEMETRY_SLICES_PRIV_H

#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"
#include "base/sort.h"
#include "codec/samples.h"
#include "event/event.h"
#include "telemetry/files.h"
#include "telemetry/names.h"
#include "telemetry/slices.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    uint32_t at;      /* of its texts in the heap */
    uint32_t order;   /* among all series, by identity */
    uint32_t waiting; /* samples in the log */
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

/* ---- window.c ---- */

struct tc__entry {
    int64_t time_ns;
    double value;
    uint32_t series;
};

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
};

/*
 * The numbers of one series in one window. `pairs` point at its entries, in the order of time;
 * their keys are lost. scratch has room for count pairs. Moves the base of a counter.
 */
void tc__stats_of(struct tc__series *series, const struct tc__entry *entries,
                  struct tc_sort_pair *pairs, struct tc_sort_pair *scratch, size_t count,
                  struct tc__stats *out);

#endif
