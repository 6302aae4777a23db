/* SPDX-License-Identifier: Apache-2.0 */
#include "result/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name that is made of two, or a field of a definition. */
#define NAME_MAX_BYTES 256
/* A number in a text. */
#define NUMBER_MAX_BYTES 64
/* Doubles hold every integer up to here. */
#define EXACT_INT_MAX 9007199254740992.0

/* More elements than any path names. */
#define INDEX_MAX 1024

static bool element(struct tc_json list, struct tc_slice number, struct tc_json *out)
{
    uint64_t index = 0;
    if (!tc_slice_is_u64(number, &index) || index > INDEX_MAX) {
        return false;
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    for (uint64_t i = 0; tc_json_iter_next(&it, NULL, out); i++) {
        if (i == index) {
            return true;
        }
    }
    return false;
}

bool tc_map_at(struct tc_json v, const char *path, struct tc_json *out)
{
    struct tc_slice rest = tc_slice_cstr(path);
    while (rest.len > 0) {
        struct tc_slice name = tc_slice_cut(rest, '/', &rest);
        bool found =
            tc_json_type(v) == TC_JSON_ARRAY ? element(v, name, &v) : tc_json_get(v, name, &v);
        if (!found) {
            return false;
        }
    }
    if (tc_json_type(v) == TC_JSON_NULL) {
        return false;
    }
    *out = v;
    return true;
}

bool tc_map_parse_number(struct tc_slice s, double *out)
{
    char text[NUMBER_MAX_BYTES];
    if (s.len == 0 || s.len >= sizeof text) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E')) {
            return false;
        }
    }
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    char *end = NULL;
    double value = strtod(text, &end);
    if (end != text + s.len || !isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

bool tc_map_number(struct tc_json v, double *out)
{
    struct tc_slice text;
    double value = 0;
    if (tc_json_string(v, &text)) {
        return tc_map_parse_number(tc_slice_trim(text), out);
    }
    if (!tc_json_double(v, &value) || !isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

bool tc_map_number_at(struct tc_json v, const char *path, double *out)
{
    struct tc_json at;
    return tc_map_at(v, path, &at) && tc_map_number(at, out);
}

static bool whole(double value)
{
    return value == floor(value) && fabs(value) <= EXACT_INT_MAX;
}

bool tc_map_int_at(struct tc_json v, const char *path, int64_t *out)
{
    struct tc_json at;
    if (!tc_map_at(v, path, &at)) {
        return false;
    }
    if (tc_json_int(at, out)) {
        return true;
    }
    double value = 0;
    if (!tc_map_number(at, &value) || !whole(value)) {
        return false;
    }
    *out = (int64_t)value;
    return true;
}

struct tc_slice tc_map_string_at(struct tc_json v, const char *path)
{
    struct tc_json at;
    struct tc_slice text = TC_EMPTY;
    if (tc_map_at(v, path, &at)) {
        (void)tc_json_string(at, &text);
    }
    return text;
}

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
    for (size_t i = 0; i < TC_COUNT(UNITS); i++) {
        if (tc_slice_eq(spelling, tc_slice_cstr(UNITS[i].spelling))) {
            *out_unit = UNITS[i].unit;
            *out_factor = UNITS[i].factor;
            return true;
        }
    }
    return false;
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
    char place[NAME_MAX_BYTES];
    (void)snprintf(place, sizeof place, "%.*s", TC_FMT(where));
    tc_result_note(r, false, place, field, "%s", text);
}

static void note_unit(struct tc_result *r, struct tc_slice where, const char *field,
                      const char *source_unit, const char *unit)
{
    char text[NAME_MAX_BYTES];
    (void)snprintf(text, sizeof text, "unit '%.40s' where one of %s is needed: taken as unknown",
                   source_unit, unit);
    note_at(r, where, field, text);
}

/* The name of a field in a definition: dots where the path has slashes. */
static void name_field(char *out, const char *field, const char *name)
{
    (void)snprintf(out, NAME_MAX_BYTES, "%s%s%s", field, field[0] == '\0' ? "" : ".", name);
    for (char *c = strchr(out, '/'); c != NULL; c = strchr(c, '/')) {
        *c = '.';
    }
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

static void store(struct tc_result *r, struct tc_result_row *row, size_t column, double value,
                  const struct tc_definition *definition)
{
    const struct tc_column *info = &tc_table_info(row->table)->columns[column];
    if (info->type == TC_COLUMN_REAL) {
        tc_result_real(row, column, value, definition);
    } else if (whole(value)) {
        tc_result_int(row, column, (int64_t)value, definition);
    } else {
        note_at(r, row->where, definition == NULL ? info->name : definition->field,
                "is no whole number: taken as unknown");
    }
}

void tc_map_put(struct tc_result *r, struct tc_result_row *row, size_t column, double value,
                const char *source_unit, const char *field, const char *measures, const char *note)
{
    if (row == NULL) {
        return;
    }
    const char *unit = tc_table_info(row->table)->columns[column].unit;
    double factor = 1;
    if (!convert(source_unit, unit, &factor)) {
        note_unit(r, row->where, field, source_unit, unit);
        return;
    }
    store(r, row, column, factor == 1 ? value : value * factor,
          tc_result_define(r, field, measures, source_unit, unit, note));
}

static void map_value(struct tc_result *r, struct tc_result_row *row, struct tc_json object,
                      const struct tc_map_value *m)
{
    struct tc_json v;
    double value = 0;
    char field[NAME_MAX_BYTES];
    name_field(field, "", m->path);
    if (!tc_result_known(row, m->column) && tc_map_at(object, m->path, &v) &&
        number_or_note(r, row->where, field, v, &value)) {
        tc_map_put(r, row, m->column, value, m->unit, field, m->measures, m->note);
    }
}

void tc_map_values(struct tc_result *r, struct tc_result_row *row, struct tc_json object,
                   const struct tc_map_value *values, size_t count)
{
    for (size_t i = 0; row != NULL && i < count; i++) {
        map_value(r, row, object, &values[i]);
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
        } else if (tc_map_at(object, path, &at)) {
            (void)snprintf(key, sizeof key, "%s", name);
        } else {
            return false;
        }
        if (tc_map_at(at, key, out)) {
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
    struct tc_slice unit = TC_EMPTY;
    if (tc_map_at(object, dist->path, &at)) {
        unit = tc_map_string_at(at, "unit");
        unit = unit.len > 0 ? unit : tc_map_string_at(at, "units");
    }
    return tc_result_cstr(r, unit);
}

/* One statistic into a column of the row. */
static void map_stat(struct tc_result *r, struct tc_result_row *row, struct tc_json object,
                     const struct tc_map_style *style, const struct tc_map_dist *dist,
                     const char *source_unit, enum tc_stat stat, size_t column)
{
    struct tc_json v;
    char field[NAME_MAX_BYTES];
    double value = 0;
    if (!tc_result_known(row, column) &&
        find_stat(object, style, dist->path, dist->path, stat, &v, field) &&
        number_or_note(r, row->where, field, v, &value)) {
        tc_map_put(r, row, column, value, source_unit, field, dist->measures, dist->note);
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

static void map_dist(struct tc_result *r, struct tc_result_row *row, struct tc_slice point,
                     struct tc_json object, const struct tc_map_style *style,
                     const struct tc_map_dist *dist)
{
    if (is_empty(object, style, dist->path)) {
        return;
    }
    const char *source_unit = unit_of(r, object, dist, style);
    for (int stat = TC_STAT_MEAN; dist->column != TC_MAP_NO_COLUMN && stat <= TC_STAT_P99; stat++) {
        map_stat(r, row, object, style, dist, source_unit, (enum tc_stat)stat,
                 dist->column + (size_t)stat);
    }
    if (dist->std_column != TC_MAP_NO_COLUMN) {
        map_stat(r, row, object, style, dist, source_unit, TC_STAT_STD, dist->std_column);
    }
    if (dist->slice != NULL) {
        tc_map_slice(r, row->where, point, object, style, dist, dist->path);
    }
}

void tc_map_dists(struct tc_result *r, struct tc_result_row *row, struct tc_slice point,
                  struct tc_json object, const struct tc_map_style *style,
                  const struct tc_map_dist *dists, size_t count)
{
    for (size_t i = 0; row != NULL && i < count; i++) {
        map_dist(r, row, point, object, style, &dists[i]);
    }
}

static struct tc_result_row *add_slice(struct tc_result *r, struct tc_slice where,
                                       struct tc_slice point, const char *metric, const char *unit)
{
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SLICE, "%.*s", TC_FMT(where));
    tc_result_text(row, TC_SLICE_METRIC, tc_slice_cstr(metric));
    tc_result_text(row, TC_SLICE_UNIT, tc_slice_cstr(unit));
    tc_result_text(row, TC_SLICE_POINT, point);
    return row;
}

void tc_map_slice(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                  struct tc_json object, const struct tc_map_style *style,
                  const struct tc_map_dist *dist, const char *field)
{
    static const size_t COLUMNS[TC_STATS] = {
        [TC_STAT_MEAN] = TC_SLICE_MEAN,   [TC_STAT_P50] = TC_SLICE_P50,
        [TC_STAT_P90] = TC_MAP_NO_COLUMN, [TC_STAT_P95] = TC_SLICE_P95,
        [TC_STAT_P99] = TC_SLICE_P99,     [TC_STAT_MIN] = TC_SLICE_MIN,
        [TC_STAT_MAX] = TC_SLICE_MAX,     [TC_STAT_STD] = TC_MAP_NO_COLUMN,
        [TC_STAT_COUNT] = TC_SLICE_COUNT,
    };
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
        if (COLUMNS[stat] == TC_MAP_NO_COLUMN ||
            !find_stat(object, style, dist->path, field, (enum tc_stat)stat, &v, name) ||
            !number_or_note(r, where, name, v, &value)) {
            continue;
        }
        if (row == NULL) {
            row = add_slice(r, where, point, dist->slice, unit);
        }
        if (row == NULL) {
            return;
        }
        if (stat == TC_STAT_COUNT) {
            store(r, row, COLUMNS[stat], value, NULL);
        } else {
            store(r, row, COLUMNS[stat], factor == 1 ? value : value * factor,
                  tc_result_define(r, name, dist->measures, source_unit, unit, dist->note));
        }
    }
}

void tc_map_slice_value(struct tc_result *r, struct tc_slice where, struct tc_slice point,
                        const char *field, const char *measures, const char *source_unit,
                        const char *unit, double value, const char *note)
{
    struct tc_result_row *row = add_slice(r, where, point, field, unit);
    tc_result_real(row, TC_SLICE_LAST, value,
                   tc_result_define(r, field, measures, source_unit, unit, note));
}

/* ---- points ---- */

static void point_key(struct tc_buf *b, const char *key)
{
    if (b->len > 0) {
        tc_buf_char(b, ' ');
    }
    tc_buf_str(b, tc_slice_cstr(key));
    tc_buf_char(b, '=');
}

void tc_map_point_number(struct tc_buf *b, const char *key, double value)
{
    point_key(b, key);
    tc_buf_f64(b, value);
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
