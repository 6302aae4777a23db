/* SPDX-License-Identifier: Apache-2.0 */
/* Series while they are read: samples_read.c fills them from rows, samples.c makes them whole. */
#ifndef TC_COMPARE_SAMPLES_PRIV_H
#define TC_COMPARE_SAMPLES_PRIV_H

#include "compare/samples.h"
#include "compare/texts_priv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc__series_value {
    double value;
    uint32_t run;
};

/* A series that is being read: numbers of names, and what came for it in any order. */
struct tc__series_growing {
    uint32_t name;
    uint32_t definition;
    uint32_t unit;
    uint32_t point;
    size_t order;
    size_t not_finite;
    struct tc__series_value *samples;
    size_t count;
    size_t cap;
};

struct tc__series_point {
    uint32_t text;
    uint32_t key;
    enum tc_table table;
    double concurrency;
    double request_rate;
    bool wanted;
};

struct tc__series_memory {
    struct tc__texts names;
    struct tc_hash_index places_index;
    struct tc__series_point *places;
    size_t place_cap;
    struct tc_hash_index series_index;
    struct tc__series_growing *series;
    size_t series_cap;
    size_t sample_count;
    uint32_t tools[TC_SERIES_TOOLS_MAX]; /* texts */
    size_t tool_rows[TC_SERIES_TOOLS_MAX];
    size_t tool_count;
    double *values;
    uint32_t *runs;
};

/* The number of a point, or of a series, which is added when it is new. */
TC_CHECKED tc_status tc__series_place(struct tc__series_memory *m,
                                      const struct tc__series_point *place, uint32_t *out);
TC_CHECKED tc_status tc__series_one(struct tc__series_memory *m,
                                    const struct tc__series_growing *series, uint32_t *out);
/* One value of a run. */
TC_CHECKED tc_status tc__series_add(struct tc__series_memory *m, uint32_t series, uint32_t run,
                                    double value);
/* Reads all rows of the group's runs into the memory. */
TC_CHECKED tc_status tc__series_fill(struct tc_warehouse *w, const struct tc_group *group,
                                     const struct tc_series_want *want, struct tc__series_memory *m,
                                     struct tc_error *err);

#endif
