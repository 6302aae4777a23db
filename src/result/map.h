/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a tool's JSON to rows by tables: which member goes to which column, in which unit, and what
 * it is. What is not there stays NULL; what is there and is no number, or has a unit that the
 * column cannot take, stays NULL with a note.
 */
#ifndef TC_RESULT_MAP_H
#define TC_RESULT_MAP_H

#include "base/buf.h"
#include "result/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A path is the names of members, or the numbers of elements, with '/' between them; "" is the
 * value itself. False when one is missing or null. */
bool tc_map_at(struct tc_json v, const char *path, struct tc_json *out);
/* A finite number, or a string that is one. */
bool tc_map_number(struct tc_json v, double *out);
bool tc_map_number_at(struct tc_json v, const char *path, double *out);
bool tc_map_int_at(struct tc_json v, const char *path, int64_t *out);
/* Empty when absent or no string. */
struct tc_slice tc_map_string_at(struct tc_json v, const char *path);
/* All of s is a finite decimal number. */
bool tc_map_parse_number(struct tc_slice s, double *out);

/* What a tool's spelling of a unit is with us: "sec" is ms by 1000. False when it is not known. */
bool tc_map_unit(struct tc_slice spelling, const char **out_unit, double *out_factor);

/* Where the row goes wrong is told by the row's pointer and the path. */
struct tc_map_value {
    const char *path;
    size_t column;    /* of the row's table; INT, REAL */
    const char *unit; /* as the tool writes it; one that tc_map_unit knows */
    const char *measures;
    const char *note; /* of the definition; may be NULL */
};
/* A value that is there already is not touched: of two spellings of a field the first wins. */
void tc_map_values(struct tc_result *r, struct tc_result_row *row, struct tc_json object,
                   const struct tc_map_value *values, size_t count);

/* A number in a tool's unit into a column; a unit that does not fit, or a fraction for an INT, is a
 * note. */
void tc_map_put(struct tc_result *r, struct tc_result_row *row, size_t column, double value,
                const char *source_unit, const char *field, const char *measures, const char *note);

/* Statistics of one measured thing. */
enum tc_stat {
    TC_STAT_MEAN,
    TC_STAT_P50,
    TC_STAT_P90,
    TC_STAT_P95,
    TC_STAT_P99,
    TC_STAT_MIN,
    TC_STAT_MAX,
    TC_STAT_STD,
    TC_STAT_COUNT,
    TC_STATS
};

#define TC_MAP_SPELLINGS 3
#define TC_MAP_NO_COLUMN TC_TABLE_COLUMNS_MAX

/* How a tool names its statistics. */
struct tc_map_style {
    const char *names[TC_STATS][TC_MAP_SPELLINGS]; /* paths; NULL: none */
    bool flat; /* the statistic's name and the path make one name: "mean" "_ttft_ms" */
};

struct tc_map_dist {
    const char *path;
    /* Columns of the row for the mean, and behind it p50, p90, p95, p99; TC_MAP_NO_COLUMN: none. */
    size_t column;
    size_t std_column; /* for the standard deviation; TC_MAP_NO_COLUMN: none */
    const char *unit;  /* NULL: the member "unit" or "units" beside the statistics */
    const char *measures;
    const char *note;
    /* Its name as a slice of its own, which keeps minimum, maximum and count; NULL: no slice. */
    const char *slice;
};
/* `point` is that of the slices. A distribution whose count is 0 was not measured: all of it stays
 * NULL. */
void tc_map_dists(struct tc_result *r, struct tc_result_row *row, struct tc_slice point,
                  struct tc_json object, const struct tc_map_style *style,
                  const struct tc_map_dist *dists, size_t count);
/* One distribution as a slice: `field` is its name in the definitions. */
void tc_map_slice(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                  struct tc_json object, const struct tc_map_style *style,
                  const struct tc_map_dist *dist, const char *field);
/* A single number as a slice (its `last`), already in `unit`. */
void tc_map_slice_value(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                        const char *field, const char *measures, const char *source_unit,
                        const char *unit, double value, const char *note);

/* Makes "in=1024 out=128 dataset=random"; the order is the caller's. Blanks in a text become _. */
void tc_map_point_number(struct tc_buf *b, const char *key, double value);
void tc_map_point_text(struct tc_buf *b, const char *key, struct tc_slice value);

#endif
