/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/rows.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/table/grow.h"
#include "warehouse/rows_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST 64
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
/* The years 1 to 9999. */
#define TIME_MIN_US (INT64_C(-62135596800) * 1000000)
#define TIME_MAX_US (INT64_C(253402300800) * 1000000 - 1)

struct tc_rows *tc_rows_create(enum tc_table table)
{
    const struct tc_table_info *info = tc_table_info(table);
    return tc_rows_create_for(info->columns, info->column_count);
}

/* Memory for `needed` rows, in one block: the bitmap and the cells of each column. What is new of
 * it is 0. */
static tc_status grow_rows(struct tc_rows *r, size_t needed)
{
    if (needed > r->count_max) {
        return TC_E_LIMIT;
    }
    size_t cap = r->cap * 2 > needed ? r->cap * 2 : needed;
    cap = cap < ROWS_FIRST ? ROWS_FIRST : cap;
    cap = cap < r->count_max ? cap : r->count_max;
    size_t words = (cap + 63) / 64;
    uint64_t *memory = calloc(r->column_count * (words + cap) + 1, sizeof *memory);
    if (memory == NULL) {
        return TC_E_NOMEM;
    }
    uint64_t *at = memory;
    for (size_t i = 0; i < r->column_count; i++, at += words + cap) {
        struct tc_rows_column *c = &r->columns[i];
        union tc_cell *cells = (union tc_cell *)(void *)(at + words);
        if (r->count > 0) {
            memcpy(at, c->valid, (r->count + 63) / 64 * sizeof *at);
            memcpy(cells, c->cells, r->count * sizeof *cells);
        }
        c->valid = at;
        c->cells = cells;
    }
    free(r->memory);
    r->memory = memory;
    r->cap = cap;
    return TC_OK;
}

struct tc_rows *tc_rows_create_for(const struct tc_column *columns, size_t count)
{
    struct tc_rows *r = tc_rows_create_growing(columns, count, TC_ROWS_MAX, TC_ROWS_TEXT_MAX);
    if (r != NULL && grow_rows(r, TC_ROWS_MAX) != TC_OK) {
        tc_rows_destroy(r);
        return NULL;
    }
    return r;
}

struct tc_rows *tc_rows_create_growing(const struct tc_column *columns, size_t count,
                                       size_t count_max, size_t text_max)
{
    struct tc_rows *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    r->columns = calloc(count == 0 ? 1 : count, sizeof *r->columns);
    if (r->columns == NULL) {
        free(r);
        return NULL;
    }
    r->column_count = count;
    r->count_max = count_max;
    r->text_max = text_max;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(columns[i].name);
        len = len < sizeof r->columns[i].name ? len : sizeof r->columns[i].name - 1;
        memcpy(r->columns[i].name, columns[i].name, len);
        r->columns[i].type = columns[i].type;
    }
    return r;
}

struct tc_rows *tc_rows_create_like(const struct tc_rows *rows, size_t count_max, size_t text_max)
{
    struct tc_rows *r = NULL;
    struct tc_column *columns = calloc(rows->column_count + 1, sizeof *columns);
    for (size_t c = 0; columns != NULL && c < rows->column_count; c++) {
        columns[c].name = rows->columns[c].name;
        columns[c].type = rows->columns[c].type;
    }
    if (columns != NULL) {
        r = count_max == 0
                ? tc_rows_create_for(columns, rows->column_count)
                : tc_rows_create_growing(columns, rows->column_count, count_max, text_max);
    }
    for (size_t c = 0; r != NULL && c < rows->column_count; c++) {
        r->columns[c].is_json = rows->columns[c].is_json;
    }
    free(columns);
    return r;
}

void tc_rows_destroy(struct tc_rows *r)
{
    if (r == NULL) {
        return;
    }
    free(r->memory);
    free(r->columns);
    free(r->text);
    free(r);
}

void tc_rows_reset(struct tc_rows *r)
{
    r->count = 0;
    r->at = 0;
    r->text_len = 0;
}

bool tc_rows_add(struct tc_rows *r)
{
    if (r->count == r->cap && grow_rows(r, r->count + 1) != TC_OK) {
        return false;
    }
    r->at = r->count++;
    for (size_t i = 0; i < r->column_count; i++) {
        r->columns[i].valid[r->at / 64] &= ~(UINT64_C(1) << (r->at % 64));
    }
    return true;
}

void tc_rows_seek(struct tc_rows *r, size_t row)
{
    TC_ASSERT(row < r->count);
    r->at = row;
}

void tc_rows_null(struct tc_rows *r, size_t column)
{
    TC_ASSERT(column < r->column_count && r->at < r->count);
    r->columns[column].valid[r->at / 64] &= ~(UINT64_C(1) << (r->at % 64));
}

void tc_rows_int(struct tc_rows *r, size_t column, int64_t value)
{
    TC_ASSERT(column < r->column_count && r->count > 0);
    enum tc_column_type type = r->columns[column].type;
    TC_ASSERT(type == TC_COLUMN_INT || type == TC_COLUMN_TIME || type == TC_COLUMN_BOOL);
    tc__rows_set(r, column, r->at)->integer = type == TC_COLUMN_BOOL ? value != 0 : value;
}

void tc_rows_any_real(struct tc_rows *r, size_t column, double value)
{
    TC_ASSERT(column < r->column_count && r->count > 0);
    TC_ASSERT(r->columns[column].type == TC_COLUMN_REAL);
    tc__rows_set(r, column, r->at)->real = value;
}

void tc_rows_real(struct tc_rows *r, size_t column, double value)
{
    if (isfinite(value)) {
        tc_rows_any_real(r, column, value);
    }
}

/* Room for `more` bytes of text. */
static tc_status make_room(struct tc_rows *r, size_t more)
{
    return more > r->text_max
               ? TC_E_LIMIT
               : tc_grow_items(r->text, r->text_cap, r->text_len + more, r->text_max);
}

/* True when none of the bytes has its highest bit set. */
static bool is_ascii(const char *p, size_t len)
{
    uint64_t bits = 0;
    uint64_t word = 0;
    size_t i = 0;
    for (; i + sizeof word <= len; i += sizeof word) {
        memcpy(&word, p + i, sizeof word);
        bits |= word;
    }
    for (; i < len; i++) {
        bits |= (uint64_t)(unsigned char)p[i];
    }
    return (bits & UINT64_C(0x8080808080808080)) == 0;
}

/* How many bytes of s are UTF-8, from its start. */
static size_t utf8_prefix(struct tc_slice s)
{
    size_t at = 0;
    while (at < s.len) {
        size_t len = tc_utf8_len((const unsigned char *)s.ptr + at, s.len - at);
        if (len == 0) {
            break;
        }
        at += len;
    }
    return at;
}

/* Appends s to the text, for which there is room, with U+FFFD for each byte that is no UTF-8. */
static void put_repaired(struct tc_rows *r, struct tc_slice s)
{
    while (s.len > 0) {
        size_t good = utf8_prefix(s);
        memcpy(r->text + r->text_len, s.ptr, good);
        r->text_len += good;
        s = tc_slice_from(s, good);
        if (s.len > 0) {
            memcpy(r->text + r->text_len, REPLACEMENT, sizeof REPLACEMENT - 1);
            r->text_len += sizeof REPLACEMENT - 1;
            s = tc_slice_from(s, 1);
        }
    }
}

tc_status tc__rows_text_at(struct tc_rows *r, size_t column, size_t row, struct tc_slice value)
{
    size_t at = r->text_len;
    if (is_ascii(value.ptr, value.len) || utf8_prefix(value) == value.len) {
        TC_TRY(make_room(r, value.len));
        if (value.len > 0) {
            memcpy(r->text + at, value.ptr, value.len);
        }
        r->text_len += value.len;
    } else {
        if (value.len > r->text_max) {
            return TC_E_LIMIT;
        }
        TC_TRY(make_room(r, value.len * (sizeof REPLACEMENT - 1)));
        put_repaired(r, value);
    }
    union tc_cell *cell = tc__rows_set(r, column, row);
    cell->text.at = (uint32_t)at;
    cell->text.len = (uint32_t)(r->text_len - at);
    return TC_OK;
}

tc_status tc_rows_text(struct tc_rows *r, size_t column, struct tc_slice value)
{
    TC_ASSERT(column < r->column_count && r->count > 0);
    TC_ASSERT(r->columns[column].type == TC_COLUMN_TEXT);
    return tc__rows_text_at(r, column, r->at, value);
}

bool tc_rows_is_null(const struct tc_rows *r, size_t column, size_t row)
{
    TC_ASSERT(column < r->column_count && row < r->count);
    return (r->columns[column].valid[row / 64] >> (row % 64) & 1) == 0;
}

tc_status tc_rows_copy_cell(struct tc_rows *r, size_t column, const struct tc_rows *from,
                            size_t from_column, size_t row, size_t text_max)
{
    enum tc_column_type type = from->columns[from_column].type;
    TC_ASSERT(column < r->column_count && r->columns[column].type == type);
    if (tc_rows_is_null(from, from_column, row)) {
        return TC_OK;
    }
    const union tc_cell *cell = &from->columns[from_column].cells[row];
    switch (type) {
    case TC_COLUMN_TEXT:
        return tc_rows_text(r, column,
                            tc_slice_head(tc_rows_get_text(from, from_column, row), text_max));
    case TC_COLUMN_REAL:
        tc_rows_any_real(r, column, cell->real);
        break;
    case TC_COLUMN_INT:
    case TC_COLUMN_BOOL:
    case TC_COLUMN_TIME:
        tc_rows_int(r, column, cell->integer);
        break;
    }
    return TC_OK;
}

tc_status tc_rows_copy_row(struct tc_rows *r, const struct tc_rows *from, size_t row,
                           size_t text_max)
{
    for (size_t c = 0; c < r->column_count; c++) {
        TC_TRY(tc_rows_copy_cell(r, c, from, c, row, text_max));
    }
    return TC_OK;
}

int64_t tc_rows_get_int(const struct tc_rows *r, size_t column, size_t row)
{
    return tc_rows_is_null(r, column, row) ? 0 : r->columns[column].cells[row].integer;
}

double tc_rows_get_real(const struct tc_rows *r, size_t column, size_t row)
{
    return tc_rows_is_null(r, column, row) ? 0 : r->columns[column].cells[row].real;
}

struct tc_slice tc_rows_get_text(const struct tc_rows *r, size_t column, size_t row)
{
    TC_ASSERT(column < r->column_count && row < r->count);
    const union tc_cell *cell = &r->columns[column].cells[row];
    TC_ASSERT((size_t)cell->text.at + cell->text.len <= r->text_len);
    return tc_slice_make(r->text == NULL ? "" : r->text + cell->text.at, cell->text.len);
}

void tc_rows_hash_cell(const struct tc_rows *r, size_t column, size_t row, struct tc_sha256 *sha)
{
    int64_t head[2] = {-1, 0};
    struct tc_slice text = TC_EMPTY;
    if (!tc_rows_is_null(r, column, row)) {
        bool is_text = r->columns[column].type == TC_COLUMN_TEXT;
        text = is_text ? tc_rows_get_text(r, column, row) : TC_EMPTY;
        head[0] = (int64_t)text.len;
        head[1] = is_text ? 0 : r->columns[column].cells[row].integer;
    }
    tc_sha256_update(sha, tc_slice_make((const char *)head, sizeof head));
    tc_sha256_update(sha, text);
}

static bool cell_is_sound(const struct tc_rows *r, size_t column, size_t row)
{
    const struct tc_rows_column *c = &r->columns[column];
    if (tc_rows_is_null(r, column, row)) {
        return true;
    }
    if (c->type == TC_COLUMN_TEXT) {
        struct tc_slice text = tc_rows_get_text(r, column, row);
        return utf8_prefix(text) == text.len;
    }
    return c->cells[row].integer >= TIME_MIN_US && c->cells[row].integer <= TIME_MAX_US;
}

bool tc_rows_are_of(const struct tc_rows *r, enum tc_table table)
{
    const struct tc_table_info *info = tc_table_info(table);
    bool same = r->column_count == info->column_count;
    for (size_t i = 0; same && i < info->column_count; i++) {
        same = r->columns[i].type == info->columns[i].type;
    }
    return same;
}

bool tc_rows_are_sound(const struct tc_rows *r, size_t *out_column, size_t *out_row)
{
    bool ascii = is_ascii(r->text, r->text_len);
    for (size_t c = 0; c < r->column_count; c++) {
        enum tc_column_type type = r->columns[c].type;
        if (type != TC_COLUMN_TIME && (type != TC_COLUMN_TEXT || ascii)) {
            continue;
        }
        for (size_t i = 0; i < r->count; i++) {
            if (!cell_is_sound(r, c, i)) {
                *out_column = c;
                *out_row = i;
                return false;
            }
        }
    }
    return true;
}
