/* SPDX-License-Identifier: Apache-2.0 */
#include "result/map.h"

#include "base/time.h"
#include "result/path_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A name that is made of two, or a field of a definition. */
#define NAME_MAX_BYTES 256
/* Longer ones are cut. */
#define POINT_MAX_BYTES 256

/* ---- units ---- */

static const struct {
    const char *spelling;
    const char *unit;
    double factor;
} UNITS[] = {
    {"ms", "ms", 1},
    {"milliseconds", "ms", 1},
    {"s", "ms", 1000},
    {"sec", "ms", 1000},
    {"seconds", "ms", 1000},
    {"us", "ms", 1e-3},
    {"microseconds", "ms", 1e-3},
    {"ns", "ms", 1e-6},
    {"nanoseconds", "ms", 1e-6},
    {"ms/token", "ms", 1},
    {"s/token", "ms", 1000},
    {"requests/s", "requests/s", 1},
    {"requests/sec", "requests/s", 1},
    {"req/s", "requests/s", 1},
    {"queries/s", "requests/s", 1},
    {"per sec", "1/s", 1},
    {"per_sec", "1/s", 1},
    {"requests/min", "requests/s", 1.0 / 60},
    {"tokens/s", "tokens/s", 1},
    {"tokens/sec", "tokens/s", 1},
    {"tok/s", "tokens/s", 1},
    {"tokens", "tokens", 1},
    {"requests", "requests", 1},
    {"count", "count", 1},
    {"ratio", "ratio", 1},
    {"fraction", "ratio", 1},
    {"percent", "%", 1},
    {"%", "%", 1},
    {"USD", "USD", 1},
    {"bytes", "bytes", 1},
    {"MB", "bytes", 1e6},
    {"GB", "bytes", 1e9},
    {"TB", "bytes", 1e12},
    {"MiB", "bytes", 1048576},
    {"GiB", "bytes", 1073741824},
    {"TiB", "bytes", 1099511627776},
    {"MB/s", "bytes/s", 1e6},
    {"GB/s", "bytes/s", 1e9},
    {"TB/s", "bytes/s", 1e12},
    {"GiB/s", "bytes/s", 1073741824},
    {"Mbit/s", "bit/s", 1e6},
    {"Gbit/s", "bit/s", 1e9},
    {"Tbit/s", "bit/s", 1e12},
    {"Watts", "W", 1},
    {"W", "W", 1},
    {"pixels", "pixels", 1},
    {"images/s", "images/s", 1},
    {"videos/s", "videos/s", 1},
    {"audios/s", "audios/s", 1},
};

bool tc_map_unit(struct tc_slice spelling, const char **out_unit, double *out_factor)
{
    size_t i = tc_slice_row(spelling, UNITS, spelling);
    if (i == TC_COUNT(UNITS)) {
        return false;
    }
    *out_unit = UNITS[i].unit;
    *out_factor = UNITS[i].factor;
    return true;
}

/* The factor from a tool's unit to a column's. A count fits every count, a rate of nothing named
 * every rate, and milliseconds are turned back for columns in seconds. */
static bool convert(const char *source, const char *unit, double *out_factor)
{
    const char *known = NULL;
    if (strcmp(source, unit) == 0) {
        *out_factor = 1;
        return true;
    }
    if (!tc_map_unit(tc_slice_cstr(source), &known, out_factor)) {
        return false;
    }
    if (strcmp(unit, "s") == 0 && strcmp(known, "ms") == 0) {
        *out_factor /= 1000;
        return true;
    }
    bool counts = strcmp(known, "count") == 0 &&
                  (strcmp(unit, "requests") == 0 || strcmp(unit, "tokens") == 0);
    bool rates = strcmp(known, "1/s") == 0 &&
                 (strcmp(unit, "requests/s") == 0 || strcmp(unit, "tokens/s") == 0);
    return counts || rates || strcmp(known, unit) == 0;
}

/* ---- single values ---- */

static void note_at(struct tc_result *r, struct tc_slice where, const char *field, const char *text)
{
    tc_result_note(r, false, where, field, "%s", text);
}

static void note_unit(struct tc_result *r, struct tc_slice where, const char *field,
                      const char *source_unit, const char *unit)
{
    tc_result_note(r, false, where, field,
                   "unit '%.40s' where one of %s is needed: taken as unknown", source_unit, unit);
}

/* The name of a field in a definition: dots where the path has slashes. */
static void name_field(char *out, const char *field, const char *name)
{
    (void)snprintf(out, NAME_MAX_BYTES, "%s%s%s", field, field[0] == '\0' ? "" : ".", name);
    for (char *c = strchr(out, '/'); c != NULL; c = strchr(c, '/')) {
        *c = '.';
    }
}

static const char *const MEASURES[TC_SERVING_COLUMNS] = {
    [TC_SERVING_REQUESTS] = "requests",
    [TC_SERVING_COMPLETED] = "completed",
    [TC_SERVING_ERRORS] = "errors",
    [TC_SERVING_DURATION_S] = "duration",
    [TC_SERVING_INPUT_TOKENS] = "input_tokens",
    [TC_SERVING_OUTPUT_TOKENS] = "output_tokens",
    [TC_SERVING_REQUESTS_PER_S] = "request_throughput",
    [TC_SERVING_INPUT_TOKENS_PER_S] = "input_throughput",
    [TC_SERVING_OUTPUT_TOKENS_PER_S] = "output_throughput",
    [TC_SERVING_TOTAL_TOKENS_PER_S] = "total_throughput",
    [TC_SERVING_GOODPUT] = "goodput",
    [TC_SERVING_QUEUE_MEAN] = "queue",
    [TC_SERVING_QUEUE_P50] = "queue",
    [TC_SERVING_QUEUE_P99] = "queue",
    [TC_SERVING_TTFT_MEAN] = "ttft",
    [TC_SERVING_TPOT_MEAN] = "tpot",
    [TC_SERVING_ITL_MEAN] = "itl",
    [TC_SERVING_E2E_MEAN] = "e2e",
};

const char *tc_map_measures(size_t column)
{
    return MEASURES[column];
}

/* A number that is there, told apart from one that is not: text that is no number is a note. NaN
 * and infinities come as strings (result.h) and are unknown without one. */
static bool number_or_note(struct tc_result *r, struct tc_slice where, const char *field,
                           struct tc_json v, double *out)
{
    if (tc_map_number(v, out)) {
        return true;
    }
    struct tc_slice text;
    if (tc_json_string(v, &text) &&
        (text.len == 0 || tc_slice_eq_nocase(text, TC_LIT("inf")) ||
         tc_slice_eq_nocase(text, TC_LIT("-inf")) || tc_slice_eq_nocase(text, TC_LIT("nan")))) {
        return false;
    }
    note_at(r, where, field, "is no number: taken as unknown");
    return false;
}

static void store(struct tc_result_row *row, size_t column, double value,
                  const struct tc_definition *definition)
{
    const struct tc_column *info = &tc_table_info(row->table)->columns[column];
    if (info->type == TC_COLUMN_REAL) {
        tc_result_real(row, column, value, definition);
    } else if (tc__is_whole(value)) {
        tc_result_int(row, column, (int64_t)value, definition);
    } else {
        note_at(row->result, row->where, definition == NULL ? info->name : definition->field,
                "is no whole number: taken as unknown");
    }
}

void tc_map_put(struct tc_result_row *row, size_t column, double value, const char *source_unit,
                const char *field, const char *measures, const char *note)
{
    if (row == NULL) {
        return;
    }
    const char *unit = tc_table_info(row->table)->columns[column].unit;
    double factor = 1;
    if (!convert(source_unit, unit, &factor)) {
        note_unit(row->result, row->where, field, source_unit, unit);
        return;
    }
    store(row, column, factor == 1 ? value : value * factor,
          tc_result_define(row->result, field, measures, source_unit, unit, note));
}

static void map_value(struct tc_result_row *row, struct tc_json object, const struct tc_fact *f)
{
    struct tc_json v;
    double value = 0;
    char field[NAME_MAX_BYTES];
    name_field(field, "", f->path);
    if (!tc_result_known(row, f->column) && tc__path_value(object, tc_slice_cstr(f->path), &v) &&
        number_or_note(row->result, row->where, field, v, &value)) {
        tc_map_put(row, f->column, value,
                   f->unit == NULL ? tc_table_info(row->table)->columns[f->column].unit : f->unit,
                   field, f->measures == NULL ? MEASURES[f->column] : f->measures, f->note);
    }
}

void tc_map_values(struct tc_result_row *row, struct tc_json object, const struct tc_fact *facts)
{
    for (; row != NULL && facts->path != NULL; facts++) {
        if (facts->table == row->table) {
            map_value(row, object, facts);
        }
    }
}

static void map_fact(struct tc_result *r, struct tc_json object, const struct tc_fact *f)
{
    char data[POINT_MAX_BYTES];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    struct tc_slice path = tc_slice_cstr(f->path);
    int64_t number = 0;
    if (tc_table_info(f->table)->columns[f->column].type == TC_COLUMN_INT) {
        if (tc_map_int_at(object, f->path, &number) && number > 0) {
            tc_result_fact_int(r, f->table, f->column, number);
        }
        return;
    }
    if (tc_slice_starts(path, TC_LIT("="))) {
        tc_buf_str(&b, tc_slice_from(path, 1));
    } else if (tc_slice_find_byte(path, ',') != TC_NPOS) {
        tc_map_point(&b, object, f->path);
    } else {
        tc_result_fact_text(r, f->table, f->column, tc_map_string_at(object, f->path));
    }
    tc_result_fact_text(r, f->table, f->column, tc_buf_slice(&b));
}

void tc_map_facts(struct tc_result *r, struct tc_json object, const struct tc_fact *facts)
{
    for (; facts->path != NULL; facts++) {
        if (facts->table != TC_TABLE_SERVING && facts->table != TC_TABLE_SLICE) {
            map_fact(r, object, facts);
        }
    }
}

/* ---- distributions ---- */

/* The member of a statistic, and its field name for the definition. */
static bool find_stat(struct tc_json object, const struct tc_map_style *style, const char *path,
                      const char *field, enum tc_stat stat, struct tc_json *out, char *out_field)
{
    for (size_t i = 0; i < TC_MAP_SPELLINGS && style->names[stat][i] != NULL; i++) {
        const char *name = style->names[stat][i];
        char key[NAME_MAX_BYTES];
        struct tc_json at = object;
        if (style->flat) {
            (void)snprintf(key, sizeof key, "%s%s", name, path);
        } else if (tc__path_value(object, tc_slice_cstr(path), &at)) {
            (void)snprintf(key, sizeof key, "%s", name);
        } else {
            return false;
        }
        if (tc__path_value(at, tc_slice_cstr(key), out)) {
            name_field(out_field, style->flat ? "" : field, style->flat ? key : name);
            return true;
        }
    }
    return false;
}

static const char *unit_of(struct tc_result *r, struct tc_json object,
                           const struct tc_map_dist *dist, const struct tc_map_style *style)
{
    if (dist->unit != NULL || style->flat) {
        return dist->unit == NULL ? "" : dist->unit;
    }
    struct tc_json at;
    bool found = tc__path_value(object, tc_slice_cstr(dist->path), &at);
    return tc_result_cstr(r, found ? tc_map_string_at(at, "unit|units") : TC_EMPTY);
}

static const char *measures_of(const struct tc_map_dist *dist)
{
    return dist->measures == NULL ? MEASURES[dist->column] : dist->measures;
}

/* One statistic into a column of the row. */
static void map_stat(struct tc_result_row *row, struct tc_json object,
                     const struct tc_map_style *style, const struct tc_map_dist *dist,
                     const char *source_unit, enum tc_stat stat, size_t column)
{
    struct tc_json v;
    char field[NAME_MAX_BYTES];
    double value = 0;
    if (!tc_result_known(row, column) &&
        find_stat(object, style, dist->path, dist->path, stat, &v, field) &&
        number_or_note(row->result, row->where, field, v, &value)) {
        tc_map_put(row, column, value, source_unit, field, measures_of(dist), dist->note);
    }
}

static bool is_empty(struct tc_json object, const struct tc_map_style *style, const char *path)
{
    struct tc_json v;
    char field[NAME_MAX_BYTES];
    double count = 1;
    return find_stat(object, style, path, path, TC_STAT_COUNT, &v, field) &&
           tc_map_number(v, &count) && count == 0;
}

static void map_dist(struct tc_result_row *row, struct tc_slice point, struct tc_json object,
                     const struct tc_map_style *style, const struct tc_map_dist *dist)
{
    if (is_empty(object, style, dist->path)) {
        return;
    }
    const char *source_unit = unit_of(row->result, object, dist, style);
    for (int stat = TC_STAT_MEAN; dist->column != TC_MAP_NO_COLUMN && stat <= TC_STAT_P99; stat++) {
        map_stat(row, object, style, dist, source_unit, (enum tc_stat)stat,
                 dist->column + (size_t)stat);
    }
    if (dist->std_column != TC_MAP_NO_COLUMN) {
        map_stat(row, object, style, dist, source_unit, TC_STAT_STD, dist->std_column);
    }
    if (dist->slice != NULL) {
        tc_map_slice(row->result, row->where, point, object, style, dist, dist->path);
    }
}

void tc_map_dists(struct tc_result_row *row, struct tc_slice point, struct tc_json object,
                  const struct tc_map_style *style, const struct tc_map_dist *dists, size_t count)
{
    for (size_t i = 0; row != NULL && i < count; i++) {
        map_dist(row, point, object, style, &dists[i]);
    }
}

const char *const tc_stat_names[TC_STATS] = {"mean", "p50", "p90", "p95",  "p99",
                                             "min",  "max", "std", "count"};
const size_t tc_stat_slice_columns[TC_STATS] = {
    [TC_STAT_MEAN] = TC_SLICE_MEAN,   [TC_STAT_P50] = TC_SLICE_P50, [TC_STAT_P95] = TC_SLICE_P95,
    [TC_STAT_P99] = TC_SLICE_P99,     [TC_STAT_MIN] = TC_SLICE_MIN, [TC_STAT_MAX] = TC_SLICE_MAX,
    [TC_STAT_COUNT] = TC_SLICE_COUNT,
};

struct tc_result_row *tc_map_add_slice(struct tc_result *r, struct tc_slice where,
                                       struct tc_slice point, const char *metric, const char *unit)
{
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SLICE, "%.*s", TC_FMT(where));
    tc_result_text(row, TC_SLICE_METRIC, tc_slice_cstr(metric));
    tc_result_text(row, TC_SLICE_UNIT, tc_slice_cstr(unit));
    tc_result_text(row, TC_SLICE_POINT, point);
    return row;
}

void tc_map_slice_window(struct tc_result_row *row, int64_t started_ns, int64_t ended_ns)
{
    if (started_ns != TC_TIME_NONE && ended_ns != TC_TIME_NONE) {
        tc_result_time(row, TC_SLICE_START, started_ns);
        tc_result_time(row, TC_SLICE_END, ended_ns);
    }
}

void tc_map_slice(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                  struct tc_json object, const struct tc_map_style *style,
                  const struct tc_map_dist *dist, const char *field)
{
    if (is_empty(object, style, dist->path)) {
        return;
    }
    const char *source_unit = unit_of(r, object, dist, style);
    const char *unit = source_unit;
    double factor = 1;
    (void)tc_map_unit(tc_slice_cstr(source_unit), &unit, &factor);
    struct tc_result_row *row = NULL;
    for (int stat = 0; stat < TC_STATS; stat++) {
        struct tc_json v;
        char name[NAME_MAX_BYTES];
        double value = 0;
        if (tc_stat_slice_columns[stat] == TC_MAP_NO_COLUMN ||
            !find_stat(object, style, dist->path, field, (enum tc_stat)stat, &v, name) ||
            !number_or_note(r, where, name, v, &value)) {
            continue;
        }
        if (row == NULL) {
            row = tc_map_add_slice(r, where, point, dist->slice, unit);
        }
        if (row == NULL) {
            return;
        }
        if (stat == TC_STAT_COUNT) {
            store(row, tc_stat_slice_columns[stat], value, NULL);
        } else {
            store(row, tc_stat_slice_columns[stat], factor == 1 ? value : value * factor,
                  tc_result_define(r, name, measures_of(dist), source_unit, unit, dist->note));
        }
    }
}

void tc_map_slice_value(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                        const char *field, const char *measures, const char *source_unit,
                        const char *unit, double value, const char *note)
{
    struct tc_result_row *row = tc_map_add_slice(r, where, point, field, unit);
    tc_result_real(row, TC_SLICE_LAST, value,
                   tc_result_define(r, field, measures, source_unit, unit, note));
}

void tc_map_slice_number(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                         const char *field, const char *measures, const char *source_unit,
                         double value, const char *note)
{
    const char *unit = source_unit;
    double factor = 1;
    (void)tc_map_unit(tc_slice_cstr(source_unit), &unit, &factor);
    tc_map_slice_value(r, where, point, field, measures, source_unit, unit,
                       factor == 1 ? value : value * factor, note);
}

void tc_map_singles(struct tc_result *r, struct tc_slice point, struct tc_json object,
                    const struct tc_fact *facts, const char *note)
{
    for (; facts->path != NULL; facts++) {
        double value = 0;
        if (facts->table == TC_TABLE_SLICE && tc_map_number_at(object, facts->path, &value)) {
            tc_map_slice_value(r, TC_LIT(""), point, facts->metric, facts->measures, facts->unit,
                               facts->unit, value, note);
        }
    }
}

/* ---- points ---- */

static void point_key(struct tc_buf *b, const char *key)
{
    (void)tc_format(b, "{}{}=", b->len > 0 ? " " : "", key);
}

void tc_map_point_number(struct tc_buf *b, const char *key, double value)
{
    if (isfinite(value)) {
        point_key(b, key);
        tc_buf_f64(b, value);
    }
}

void tc_map_point_text(struct tc_buf *b, const char *key, struct tc_slice value)
{
    if (value.len == 0) {
        return;
    }
    point_key(b, key);
    for (size_t i = 0; i < value.len; i++) {
        bool blank = (unsigned char)value.ptr[i] <= ' ';
        tc_buf_char(b, blank ? '_' : value.ptr[i]);
    }
}

void tc_map_point(struct tc_buf *b, struct tc_json object, const char *paths)
{
    struct tc_slice rest = tc_slice_cstr(paths);
    struct tc_slice path;
    while (tc__path_next(&rest, ',', &path)) {
        struct tc_json v;
        char key[NAME_MAX_BYTES];
        double number = 0;
        bool on = false;
        if (!tc__path_value(object, path, &v)) {
            continue;
        }
        const char *slash = memrchr(path.ptr, '/', path.len);
        size_t start = slash == NULL ? 0 : (size_t)(slash - path.ptr) + 1;
        (void)snprintf(key, sizeof key, "%.*s", TC_FMT(tc_slice_from(path, start)));
        if (tc_json_bool(v, &on)) {
            tc_map_point_text(b, key, on ? TC_LIT("true") : TC_LIT("false"));
        } else if (tc_map_number(v, &number)) {
            tc_map_point_number(b, key, number);
        } else {
            tc_map_point_text(b, key, tc_map_string_at(v, ""));
        }
    }
}
