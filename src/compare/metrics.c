/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/metrics.h"

#include <stdint.h>

/* Name and unit of each column, as constants that a table can be made of. */
#define TABLE_BEGIN(id, name, since, grain)
#define COLUMN(table, id, name, type, since, unit, help)                    \
    static const char NAME_##table##_##id[] __attribute__((unused)) = name; \
    static const char UNIT_##table##_##id[] __attribute__((unused)) = unit;
#define TABLE_END(id)
#include "warehouse/tables.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

static const struct tc_run_metric COLUMNS[] = {
#define METRIC(in_table, in_column, way, main) \
    {.name = NAME_##in_table##_##in_column,    \
     .unit = UNIT_##in_table##_##in_column,    \
     .table = TC_TABLE_##in_table,             \
     .column = TC_##in_table##_##in_column,    \
     .better = TC_BETTER_##way,                \
     .is_main = (main)},
#define TOOL_METRIC(in_name, way, main)
#include "compare/metrics.def"
#undef METRIC
#undef TOOL_METRIC
};

static const struct tc_run_metric TOOLS[] = {
#define METRIC(in_table, in_column, way, main)
#define TOOL_METRIC(in_name, way, main) \
    {.name = (in_name), .table = TC_TABLE_SLICE, .better = TC_BETTER_##way, .is_main = (main)},
#include "compare/metrics.def"
#undef METRIC
#undef TOOL_METRIC
};

const struct tc_run_metric *tc_run_metric_columns(size_t *out_count)
{
    *out_count = TC_COUNT(COLUMNS);
    return COLUMNS;
}

const struct tc_run_metric *tc_run_metric_find(struct tc_slice name)
{
    size_t row = tc_slice_row(name, COLUMNS, name);
    if (row < TC_COUNT(COLUMNS)) {
        return &COLUMNS[row];
    }
    row = tc_slice_row(name, TOOLS, name);
    return row < TC_COUNT(TOOLS) ? &TOOLS[row] : NULL;
}

const struct tc_run_metric *tc_run_metric_nearest(struct tc_slice name)
{
    const struct tc_run_metric *best = NULL;
    size_t least = 3 + name.len / 3;
    for (size_t n = 0; n < TC_COUNT(COLUMNS) + TC_COUNT(TOOLS); n++) {
        const struct tc_run_metric *m =
            n < TC_COUNT(COLUMNS) ? &COLUMNS[n] : &TOOLS[n - TC_COUNT(COLUMNS)];
        size_t distance = tc_slice_distance(name, tc_slice_cstr(m->name));
        if (distance < least) {
            least = distance;
            best = m;
        }
    }
    return best;
}

const char *tc_better_name(enum tc_better better)
{
    switch (better) {
    case TC_BETTER_LOWER:
        return "lower";
    case TC_BETTER_HIGHER:
        return "higher";
    case TC_BETTER_NEITHER:
        break;
    }
    return "neither";
}

/* ---- patterns ---- */

bool tc_glob_matches(struct tc_slice pattern, struct tc_slice name)
{
    size_t p = 0;
    size_t star = TC_NPOS; /* behind the last `*`, ... */
    size_t back = 0;       /* ... which stands for the name up to here */
    for (size_t n = 0; n < name.len;) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = ++p;
            back = n;
        } else if (p < pattern.len && (pattern.ptr[p] == '?' || pattern.ptr[p] == name.ptr[n])) {
            p++;
            n++;
        } else if (star != TC_NPOS) {
            p = star;
            n = ++back;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*') {
        p++;
    }
    return p == pattern.len;
}

static bool matches_whole(struct tc_slice pattern, struct tc_slice name)
{
    bool is_glob =
        tc_slice_find_byte(pattern, '*') != TC_NPOS || tc_slice_find_byte(pattern, '?') != TC_NPOS;
    return is_glob ? tc_glob_matches(pattern, name) : tc_slice_starts(name, pattern);
}

bool tc_run_metric_matches(struct tc_slice pattern, struct tc_slice name)
{
    size_t colon = tc_slice_find_byte(name, ':');
    return pattern.len > 0 &&
           (matches_whole(pattern, name) ||
            (colon != TC_NPOS && matches_whole(pattern, tc_slice_from(name, colon + 1))));
}
