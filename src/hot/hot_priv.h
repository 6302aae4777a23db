/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of hot metrics: routes.c says which metric a name is, labels.c what is left of the
 * labels, hot.c keeps the series, page.c shows them.
 */
#ifndef TC_HOT_HOT_PRIV_H
#define TC_HOT_HOT_PRIV_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"
#include "base/table/lru.h"
#include "base/table/map.h"
#include "codec/samples.h"
#include "hot/hot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- routes.c ---- */

enum tc__hot_metric {
#define GAUGE(id, name, labels, least, help) TC__HOT_##id,
#define COUNTER(id, name, labels, least, help) TC__HOT_##id,
#define EDGE(id, name, labels, least, help) TC__HOT_##id,
#define SUMMARY(id, name, labels, least, help) TC__HOT_##id,
#define OURS(metric, id, factor)
#define NAMED(name, id, factor)
#include "hot/metrics.def"
#undef GAUGE
#undef COUNTER
#undef EDGE
#undef SUMMARY
#undef OURS
#undef NAMED
    TC__HOT_METRIC_COUNT
};

enum tc__hot_kind { TC__HOT_GAUGE, TC__HOT_COUNTER, TC__HOT_EDGE, TC__HOT_SUMMARY };

struct tc__hot_row {
    const char *name;
    const char *labels;
    const char *help;
    double least;
    enum tc__hot_kind kind;
};

extern const struct tc__hot_row tc__hot_rows[TC__HOT_METRIC_COUNT];

/* What a sample of some name is; metric == TC__HOT_METRIC_COUNT: of no hot metric. */
struct tc__hot_route {
    uint8_t metric;
    bool is_count; /* of a SUMMARY: the number, not the sum */
    uint8_t how;   /* for tc_series_value */
    double scale;
    double factor; /* from the value's unit to ours */
};

/* By the name, or by what the codecs know the sample as. */
struct tc__hot_route tc__hot_route_of(const struct tc_sample *sample,
                                      const struct tc_series_meaning *meaning);
/* The lines of one series of it. */
size_t tc__hot_lines(enum tc__hot_kind kind);

/* ---- labels.c ---- */

/* The longest value of a label, and of all labels of a series as they are shown. */
#define TC__HOT_VALUE_MAX ((size_t)96)
#define TC__HOT_TEXT_MAX ((size_t)400)

struct tc__hot_labels {
    char text[TC__HOT_TEXT_MAX]; /* key="value",key="value" */
    size_t len;
    bool lost_request; /* one was of a request */
};

/* What is left of a sample's labels; adds to counts[TC_HOT_LABELS_...]. */
void tc__hot_labels_of(const struct tc_sample *sample, const struct tc_series_meaning *meaning,
                       struct tc__hot_labels *out, uint64_t *counts);

/* ---- hot.c ---- */

/* Buckets of a sketch, each a tenth wider than the one before. */
#define TC__HOT_BUCKETS 128
#define TC__HOT_RATIO 1.1

struct tc__hot_window {
    uint64_t count;
    double sum;
    double min;
    double max;
    uint16_t buckets[TC__HOT_BUCKETS];
};

enum { TC__HOT_MEAN, TC__HOT_MAX, TC__HOT_P99, TC__HOT_STAT_COUNT };

struct tc__hot_series {
    uint64_t hash;
    int64_t seen_ns; /* when its latest sample came */
    /* GAUGE: by TC__HOT_MEAN ..., of the last whole window. SUMMARY: sum and number. Else one. */
    double values[TC__HOT_STAT_COUNT];
    uint32_t generation; /* of its slot: sources that knew another series here are told by it */
    uint16_t text_len;
    uint8_t metric;
    bool used;
    bool has_window; /* GAUGE: values are set */
    char text[TC__HOT_TEXT_MAX];
    struct tc__hot_window window; /* GAUGE: the one that is not over */
};

/* A series as its producer writes it. */
struct tc__hot_source {
    struct tc__hot_route route;
    double last;         /* of COUNTER, EDGE and SUMMARY */
    int64_t last_ns;     /* TC_TIME_NONE: none yet */
    uint32_t series;     /* slot; TC__HOT_REFUSED: there was no room */
    uint32_t generation; /* of that slot; of the room where it was refused */
    bool is_known;       /* false: the table has just made it */
};

#define TC__HOT_REFUSED UINT32_MAX

/* Whether names of that hash are of a hot metric: a small cache, for most names are not. */
struct tc__hot_name {
    uint64_t hash;
    bool is_known;
    bool is_hot;
};

#define TC__HOT_NAMES 4096
#define TC__HOT_KEY_MAX ((size_t)8 << 10)
#define TC__HOT_SCRATCH ((size_t)64 << 10)

/*
 * Invariants: series[0, slots) were ever used; those with `used` are in the map under their hash,
 * the numbers of the others are in free_slots[0, free_count). lines is the sum of tc__hot_lines
 * over the used ones, and page_len what they take on the page at most.
 */
struct tc_hot {
    struct tc_hot_config config;
    void *block;
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_map map; /* of hashes to slots + 1 */
    struct tc__hot_series *series;
    size_t series_cap;
    size_t slots;
    uint32_t *free_slots;
    size_t free_count;
    const void **order; /* the used ones as they are shown */
    const void **order_scratch;
    size_t order_count;
    bool order_known;
    struct tc_lru sources;
    struct tc__hot_name names[TC__HOT_NAMES];
    size_t lines;
    size_t page_len;
    uint32_t room;         /* counts how often room was made */
    int64_t window_end_ns; /* 0: none began */
    uint64_t counts[TC_HOT_COUNT_MAX];
    char key[TC__HOT_KEY_MAX];
};

/* The value that 99 % of a window's samples are not above. */
double tc__hot_p99(const struct tc__hot_window *w, double least);

/* ---- page.c ---- */

/* At most: the lines of one series, the heads of all metrics. */
size_t tc__hot_bytes(enum tc__hot_metric metric, size_t text_len);
size_t tc__hot_heads(void);

#endif
