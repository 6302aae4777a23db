/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/rows.h"

#include "base/assert.h"
#include "warehouse/rows_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_FIRST ((size_t)64 << 10)

struct tc_rows *tc_rows_create(enum tc_table table)
{
    const struct tc_table_info *info = tc_table_info(table);
    return tc_rows_create_for(info->columns, info->column_count);
}

struct tc_rows *tc_rows_create_for(const struct tc_column *columns, size_t count)
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
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(columns[i].name);
        len = len < sizeof r->columns[i].name ? len : sizeof r->columns[i].name - 1;
        memcpy(r->columns[i].name, columns[i].name, len);
        r->columns[i].type = columns[i].type;
    }
    return r;
}

void tc_rows_destroy(struct tc_rows *r)
{
    if (r == NULL) {
        return;
    }
    free(r->columns);
    free(r->text);
    free(r);
}

void tc_rows_reset(struct tc_rows *r)
{
    r->count = 0;
    r->text_len = 0;
}

bool tc_rows_add(struct tc_rows *r)
{
    if (r->count == TC_ROWS_MAX) {
        return false;
    }
    size_t row = r->count++;
    for (size_t i = 0; i < r->column_count; i++) {
        r->columns[i].valid[row / 64] &= ~(UINT64_C(1) << (row % 64));
    }
    return true;
}

void tc_rows_int(struct tc_rows *r, size_t column, int64_t value)
{
    TC_ASSERT(column < r->column_count && r->count > 0);
    enum tc_column_type type = r->columns[column].type;
    TC_ASSERT(type == TC_COLUMN_INT || type == TC_COLUMN_TIME || type == TC_COLUMN_BOOL);
    tc__rows_set(r, column, r->count - 1)->integer = type == TC_COLUMN_BOOL ? value != 0 : value;
}

void tc_rows_real(struct tc_rows *r, size_t column, double value)
{
    TC_ASSERT(column < r->column_count && r->count > 0);
    TC_ASSERT(r->columns[column].type == TC_COLUMN_REAL);
    if (isfinite(value)) {
        tc__rows_set(r, column, r->count - 1)->real = value;
    }
}

/* Room for `more` bytes of text. */
static tc_status make_room(struct tc_rows *r, size_t more)
{
    if (more > TC_ROWS_TEXT_MAX - r->text_len) {
        return TC_E_LIMIT;
    }
    if (r->text_len + more <= r->text_cap) {
        return TC_OK;
    }
    size_t cap = r->text_cap == 0 ? TEXT_FIRST : r->text_cap * 2;
    while (cap < r->text_len + more) {
        cap *= 2;
    }
    cap = cap < TC_ROWS_TEXT_MAX ? cap : TC_ROWS_TEXT_MAX;
    char *grown = realloc(r->text, cap);
    if (grown == NULL) {
        return TC_E_NOMEM;
    }
    r->text = grown;
    r->text_cap = cap;
    return TC_OK;
}

tc_status tc__rows_text_at(struct tc_rows *r, size_t column, size_t row, struct tc_slice value)
{
    TC_TRY(make_room(r, value.len));
    size_t at = r->text_len;
    if (value.len > 0) {
        memcpy(r->text + at, value.ptr, value.len);
    }
    r->text_len += value.len;
    union tc_cell *cell = tc__rows_set(r, column, row);
    cell->text.at = (uint32_t)at;
    cell->text.len = (uint32_t)value.len;
    return TC_OK;
}

tc_status tc_rows_text(struct tc_rows *r, size_t column, struct tc_slice value)
{
    TC_ASSERT(column < r->column_count && r->count > 0);
    TC_ASSERT(r->columns[column].type == TC_COLUMN_TEXT);
    return tc__rows_text_at(r, column, r->count - 1, value);
}

bool tc_rows_is_null(const struct tc_rows *r, size_t column, size_t row)
{
    TC_ASSERT(column < r->column_count && row < r->count);
    return (r->columns[column].valid[row / 64] >> (row % 64) & 1) == 0;
}

struct tc_slice tc_rows_get_text(const struct tc_rows *r, size_t column, size_t row)
{
    TC_ASSERT(column < r->column_count && row < r->count);
    const union tc_cell *cell = &r->columns[column].cells[row];
    TC_ASSERT((size_t)cell->text.at + cell->text.len <= r->text_len);
    return tc_slice_make(r->text == NULL ? "" : r->text + cell->text.at, cell->text.len);
}
