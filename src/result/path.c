/* SPDX-License-Identifier: Apache-2.0 */
/* Where things stand in a document, and what it is recognised by. */
#include "result/path_priv.h"

#include "result/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* One path; null counts. */
static bool path_at(struct tc_json v, struct tc_slice path, struct tc_json *out)
{
    while (path.len > 0) {
        struct tc_slice name = tc_slice_cut(path, '/', &path);
        bool found =
            tc_json_type(v) == TC_JSON_ARRAY ? element(v, name, &v) : tc_json_get(v, name, &v);
        if (!found) {
            return false;
        }
    }
    *out = v;
    return true;
}

bool tc__path_value(struct tc_json v, struct tc_slice path, struct tc_json *out)
{
    struct tc_json at;
    if (!path_at(v, path, &at) || tc_json_type(at) == TC_JSON_NULL) {
        return false;
    }
    *out = at;
    return true;
}

bool tc__path_next(struct tc_slice *io_paths, char between, struct tc_slice *out)
{
    if (io_paths->ptr == NULL) {
        return false;
    }
    bool last = tc_slice_find_byte(*io_paths, between) == TC_NPOS;
    *out = tc_slice_cut(*io_paths, between, io_paths);
    *io_paths = last ? TC_EMPTY : *io_paths;
    return true;
}

bool tc_map_at(struct tc_json v, const char *paths, struct tc_json *out)
{
    struct tc_slice rest = tc_slice_cstr(paths);
    struct tc_slice path;
    while (tc__path_next(&rest, '|', &path)) {
        if (tc__path_value(v, path, out)) {
            return true;
        }
    }
    return false;
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

bool tc_map_number_at(struct tc_json v, const char *paths, double *out)
{
    struct tc_slice rest = tc_slice_cstr(paths);
    struct tc_slice path;
    struct tc_json at;
    while (tc__path_next(&rest, '|', &path)) {
        if (tc__path_value(v, path, &at) && tc_map_number(at, out)) {
            return true;
        }
    }
    return false;
}

double tc_map_real_at(struct tc_json v, const char *paths)
{
    double value = TC_UNKNOWN;
    (void)tc_map_number_at(v, paths, &value);
    return value;
}

bool tc__is_whole(double value)
{
    return value == floor(value) && fabs(value) <= EXACT_INT_MAX;
}

bool tc_map_int_at(struct tc_json v, const char *paths, int64_t *out)
{
    struct tc_slice rest = tc_slice_cstr(paths);
    struct tc_slice path;
    while (tc__path_next(&rest, '|', &path)) {
        struct tc_json at;
        double value = 0;
        if (!tc__path_value(v, path, &at)) {
            continue;
        }
        if (tc_json_int(at, out)) {
            return true;
        }
        if (tc_map_number(at, &value) && tc__is_whole(value)) {
            *out = (int64_t)value;
            return true;
        }
    }
    return false;
}

struct tc_slice tc_map_string_at(struct tc_json v, const char *paths)
{
    struct tc_slice rest = tc_slice_cstr(paths);
    struct tc_slice path;
    struct tc_json at;
    struct tc_slice text = TC_EMPTY;
    while (text.len == 0 && tc__path_next(&rest, '|', &path)) {
        if (tc__path_value(v, path, &at)) {
            (void)tc_json_string(at, &text);
        }
    }
    return text;
}

/* ---- recognition ---- */

/* "a/b", "a?", "a{}", "a[]" or "a=word". */
static bool has_key(struct tc_json v, struct tc_slice key)
{
    struct tc_json at;
    struct tc_slice word = TC_EMPTY;
    struct tc_slice text;
    size_t equals = tc_slice_find_byte(key, '=');
    if (equals != TC_NPOS) {
        word = tc_slice_from(key, equals + 1);
        return tc__path_value(v, tc_slice_head(key, equals), &at) && tc_json_string(at, &text) &&
               tc_slice_eq(text, word);
    }
    if (tc_slice_ends(key, TC_LIT("?"))) {
        return path_at(v, tc_slice_head(key, key.len - 1), &at);
    }
    bool object = tc_slice_ends(key, TC_LIT("{}"));
    bool list = tc_slice_ends(key, TC_LIT("[]"));
    key.len -= object || list ? 2 : 0;
    return tc__path_value(v, key, &at) && (!object || tc_json_type(at) == TC_JSON_OBJECT) &&
           (!list || tc_json_type(at) == TC_JSON_ARRAY);
}

bool tc_map_has(struct tc_json v, const char *keys)
{
    struct tc_slice rest = tc_slice_cstr(keys);
    struct tc_slice term;
    while (tc__path_next(&rest, ',', &term)) {
        struct tc_slice key;
        term = tc_slice_trim(term);
        bool wanted = !tc_slice_starts(term, TC_LIT("!"));
        bool found = false;
        term = tc_slice_from(term, wanted ? 0 : 1);
        while (!found && tc__path_next(&term, '|', &key)) {
            found = has_key(v, key);
        }
        if (found != wanted) {
            return false;
        }
    }
    return true;
}
