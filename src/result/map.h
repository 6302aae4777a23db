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

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A path is the names of members, or the numbers of elements, with '/' between them; "" is the
 * value itself. "a|b/c" are two paths: the first that has what is asked for. null is not there.
 */
bool tc_map_at(struct tc_json v, const char *path, struct tc_json *out);
/* A finite number, or a string that is one. */
bool tc_map_number(struct tc_json v, double *out);
bool tc_map_number_at(struct tc_json v, const char *path, double *out);
/* A number that is not known: setters and points leave it out. */
#define TC_UNKNOWN ((double)NAN)
/* TC_UNKNOWN when there is none. */
double tc_map_real_at(struct tc_json v, const char *path);
bool tc_map_int_at(struct tc_json v, const char *path, int64_t *out);
/* Empty when absent or no string. */
struct tc_slice tc_map_string_at(struct tc_json v, const char *path);
/* All of s is a finite decimal number. */
bool tc_map_parse_number(struct tc_slice s, double *out);
/*
 * Whether a document has all of the keys: paths with ", " between them. "a|b": one of these. "!a":
 * not there. "a?": there, be it null. "a{}" and "a[]": an object, a list. "a=word": that string.
 */
bool tc_map_has(struct tc_json v, const char *keys);

/* What a tool's spelling of a unit is with us: "sec" is ms by 1000. False when it is not known. */
bool tc_map_unit(struct tc_slice spelling, const char **out_unit, double *out_factor);

/*
 * One thing that a file says. By its table it is a value of the row that is read (a number, with a
 * definition), a fact about the run (a text, or a whole number above 0), or a slice of one number.
 * The path of a fact may also be "=text", which is told as it is, or "a,b/c": "a=1 c=2" of the
 * members that are there.
 */
struct tc_fact {
    const char *path;
    enum tc_table table;
    size_t column;
    const char *unit;     /* as the tool writes it; NULL: the column's */
    const char *measures; /* NULL: what the column measures */
    const char *note;     /* of the definition; may be NULL */
    const char *metric;   /* SLICE: its name; NULL: the path */
};
#define TC_VALUE(path, column) TC_VALUE_NOTED(path, column, NULL)
#define TC_VALUE_NOTED(path, column, note)                                      \
    {                                                                           \
        (path), TC_TABLE_SERVING, TC_SERVING_##column, NULL, NULL, (note), NULL \
    }
#define TC_VALUE_IN(path, column, unit)                                         \
    {                                                                           \
        (path), TC_TABLE_SERVING, TC_SERVING_##column, (unit), NULL, NULL, NULL \
    }
#define TC_FACT(path, table, column)                                            \
    {                                                                           \
        (path), TC_TABLE_##table, TC_##table##_##column, NULL, NULL, NULL, NULL \
    }
#define TC_SINGLE(path, unit, measures) TC_SINGLE_NAMED(path, NULL, unit, measures)
#define TC_SINGLE_NAMED(path, metric, unit, measures)                             \
    {                                                                             \
        (path), TC_TABLE_SLICE, TC_SLICE_LAST, (unit), (measures), NULL, (metric) \
    }
/* Tables of facts end with it. */
#define TC_FACTS_END                                  \
    {                                                 \
        NULL, TC_TABLE_RUN, 0, NULL, NULL, NULL, NULL \
    }

/* What a column of a serving row measures. */
const char *tc_map_measures(size_t column);
/* Those of the row's table. A value that is there already is not touched: of two spellings of a
 * field the first wins. What is there and is no number stays NULL with a note. */
void tc_map_values(struct tc_result_row *row, struct tc_json object, const struct tc_fact *facts);
/* Those about the run. */
void tc_map_facts(struct tc_result *r, struct tc_json object, const struct tc_fact *facts);
/* Those that are slices, with a note for all of them. */
void tc_map_singles(struct tc_result *r, struct tc_slice point, struct tc_json object,
                    const struct tc_fact *facts, const char *note);

/* A number in a tool's unit into a column; a unit that does not fit, or a fraction for an INT, is a
 * note. */
void tc_map_put(struct tc_result_row *row, size_t column, double value, const char *source_unit,
                const char *field, const char *measures, const char *note);

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
extern const char *const tc_stat_names[TC_STATS];
/* Where a slice has it, or TC_MAP_NO_COLUMN. */
extern const size_t tc_stat_slice_columns[TC_STATS];

#define TC_MAP_SPELLINGS 3
/* Column 0 of every table is a key: no value goes there. */
#define TC_MAP_NO_COLUMN 0

/* How a tool names its statistics. */
struct tc_map_style {
    const char *names[TC_STATS][TC_MAP_SPELLINGS]; /* paths; NULL: none */
    bool flat; /* the statistic's name and the path make one name: "mean" "_ttft_ms" */
};

/* The 90th, 95th and 99th percentile, as most tools name them. */
#define TC_STYLE_P90_P99 [TC_STAT_P90] = {"p90"}, [TC_STAT_P95] = {"p95"}, [TC_STAT_P99] = {"p99"}

struct tc_map_dist {
    const char *path;
    /* Columns of the row for the mean, and behind it p50, p90, p95, p99; TC_MAP_NO_COLUMN: none. */
    size_t column;
    const char *unit;     /* NULL: the member "unit" or "units" beside the statistics */
    const char *measures; /* NULL: what the column measures */
    const char *note;
    /* Its name as a slice of its own, which keeps minimum, maximum and count; NULL: no slice. */
    const char *slice;
    size_t std_column; /* for the standard deviation; TC_MAP_NO_COLUMN: none */
};
/* Of a serving row: group is TTFT, TPOT, ITL or E2E. */
#define TC_DIST(path, group, unit, note, slice)                                            \
    {                                                                                      \
        (path), TC_SERVING_##group##_MEAN, (unit), NULL, (note), (slice), TC_MAP_NO_COLUMN \
    }
#define TC_DIST_ITL(path, unit, note)                                              \
    {                                                                              \
        (path), TC_SERVING_ITL_MEAN, (unit), NULL, (note), NULL, TC_SERVING_JITTER \
    }
/* A slice alone. */
#define TC_DIST_SLICE(path, unit, measures, note, slice)                                \
    {                                                                                   \
        (path), TC_MAP_NO_COLUMN, (unit), (measures), (note), (slice), TC_MAP_NO_COLUMN \
    }
/* `point` is that of the slices. A distribution whose count is 0 was not measured: all of it stays
 * NULL. */
void tc_map_dists(struct tc_result_row *row, struct tc_slice point, struct tc_json object,
                  const struct tc_map_style *style, const struct tc_map_dist *dists, size_t count);
/* One distribution as a slice: `field` is its name in the definitions. */
void tc_map_slice(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                  struct tc_json object, const struct tc_map_style *style,
                  const struct tc_map_dist *dist, const char *field);
/* A slice that is filled by the caller. */
struct tc_result_row *tc_map_add_slice(struct tc_result *r, struct tc_slice where,
                                       struct tc_slice point, const char *metric, const char *unit);
/* When a slice was measured; nothing unless both are known. */
void tc_map_slice_window(struct tc_result_row *row, int64_t started_ns, int64_t ended_ns);
/* A single number as a slice (its `last`), already in `unit`. */
void tc_map_slice_value(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                        const char *field, const char *measures, const char *source_unit,
                        const char *unit, double value, const char *note);
/* The same in the tool's unit, which is turned into ours where it is known. */
void tc_map_slice_number(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                         const char *field, const char *measures, const char *source_unit,
                         double value, const char *note);

/* Makes "in=1024 out=128 dataset=random"; the order is the caller's. Blanks in a text become _.
 * NaN and an empty text are left out. */
void tc_map_point(struct tc_buf *b, struct tc_json object, const char *paths); /* "a,b/c" */
void tc_map_point_number(struct tc_buf *b, const char *key, double value);
void tc_map_point_text(struct tc_buf *b, const char *key, struct tc_slice value);

#endif
