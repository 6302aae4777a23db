/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb_pile_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 10
/* Rows of a group that are looked at. */
#define GROUP_LOOK 16

/* An empty batch like rows, in the next place. */
static struct tc_rows *next_batch(struct tc__pile *p, const struct tc_rows *rows)
{
    struct tc_rows **place = &p->batches[p->count];
    if (*place == NULL) {
        struct tc_column columns[TC_TABLE_COLUMNS_MAX];
        for (size_t i = 0; i < rows->column_count; i++) {
            columns[i] =
                (struct tc_column){.name = rows->columns[i].name, .type = rows->columns[i].type};
        }
        *place = tc_rows_create_for(columns, rows->column_count);
    }
    if (*place != NULL && (*place)->text_cap < rows->text_len) {
        char *text = realloc((*place)->text, rows->text_len);
        if (text == NULL) {
            return NULL;
        }
        (*place)->text = text;
        (*place)->text_cap = rows->text_len;
    }
    return *place;
}

tc_status tc__pile_add(struct tc__pile *p, const struct tc_rows *rows, bool *out_full)
{
    *out_full = p->count == TC__PILE_BATCHES || rows->text_len > TC__PILE_TEXT_MAX - p->text_len;
    if (*out_full) {
        return TC_OK;
    }
    struct tc_rows *batch = next_batch(p, rows);
    if (batch == NULL) {
        return TC_E_NOMEM;
    }
    size_t words = (rows->count + 63) / 64;
    for (size_t i = 0; i < rows->column_count; i++) {
        memcpy(batch->columns[i].valid, rows->columns[i].valid, words * sizeof(uint64_t));
        memcpy(batch->columns[i].cells, rows->columns[i].cells,
               rows->count * sizeof rows->columns[i].cells[0]);
    }
    if (rows->text_len > 0) {
        memcpy(batch->text, rows->text, rows->text_len);
    }
    batch->text_len = rows->text_len;
    batch->count = rows->count;
    p->count++;
    p->row_count += rows->count;
    p->text_len += rows->text_len;
    return TC_OK;
}

/* How many digits a number has after the point; DIGITS_MAX: that many or more. */
static uint64_t digits_of(double value)
{
    uint64_t digits = 0;
    value = fabs(value);
    /* Beyond that every double is a whole number. */
    while (digits < DIGITS_MAX && value < 0x1p53 && fabs(value - nearbyint(value)) > 1e-9 * value) {
        value *= 10;
        digits++;
    }
    return digits;
}

static struct tc__pick pick(const struct tc__pile *p, size_t at)
{
    uint64_t place = p->order[at].value;
    return (struct tc__pick){p->batches[place / TC_ROWS_MAX], place % TC_ROWS_MAX};
}

/* Those with equal text together: by its hash, for which of them comes first does not matter. */
static void order_by_text(struct tc__pile *p, size_t column)
{
    size_t at = 0;
    for (size_t b = 0; b < p->count; b++) {
        const struct tc_rows *rows = p->batches[b];
        for (size_t i = 0; i < rows->count; i++) {
            bool null = tc_rows_is_null(rows, column, i);
            p->order[at++] = (struct tc_sort_pair){
                .key = null ? 0 : tc_slice_hash(tc_rows_get_text(rows, column, i), 0),
                .value = b * TC_ROWS_MAX + i,
            };
        }
    }
    tc_sort_keys(p->order, p->order + TC__PILE_ROWS, p->row_count);
}

/*
 * Then groups whose numbers have as many digits: DuckDB looks at every seventh vector of a row
 * group to find out how to pack all of them, and would miss a small group among others.
 */
static void order_by_digits(struct tc__pile *p, size_t column)
{
    uint64_t group = 0;
    for (size_t start = 0; start < p->row_count;) {
        uint64_t key = p->order[start].key;
        uint64_t digits = 0;
        size_t end = start;
        for (; end < p->row_count && p->order[end].key == key; end++) {
            struct tc__pick row = pick(p, end);
            if (end - start < GROUP_LOOK && !tc_rows_is_null(row.rows, column, row.row)) {
                uint64_t more = digits_of(row.rows->columns[column].cells[row.row].real);
                digits = more > digits ? more : digits;
            }
        }
        for (; start < end; start++) {
            p->order[start].key = digits << 32 | group;
        }
        group++;
    }
    tc_sort_keys(p->order, p->order + TC__PILE_ROWS, p->row_count);
}

tc_status tc__pile_take(struct tc__pile *p, size_t text_column, size_t real_column,
                        tc__pick_fn give, void *context, struct tc_error *err)
{
    struct tc__pick picks[TC_ROWS_MAX];
    tc_status status = TC_OK;
    if (p->row_count > 0 && p->order == NULL) {
        p->order = malloc(2 * TC__PILE_ROWS * sizeof *p->order);
        if (p->order == NULL) {
            status = tc_fail(err, TC_E_NOMEM, 0, "no memory to put rows in order");
        }
    }
    if (p->row_count > 0 && status == TC_OK) {
        order_by_text(p, text_column);
        order_by_digits(p, real_column);
    }
    for (size_t at = 0; at < p->row_count && status == TC_OK; at += TC_ROWS_MAX) {
        size_t left = p->row_count - at;
        size_t count = left < TC_ROWS_MAX ? left : TC_ROWS_MAX;
        for (size_t i = 0; i < count; i++) {
            picks[i] = pick(p, at + i);
        }
        status = give(context, picks, count, err);
    }
    tc__pile_reset(p);
    return status;
}

void tc__pile_reset(struct tc__pile *p)
{
    p->count = 0;
    p->row_count = 0;
    p->text_len = 0;
}

void tc__pile_fini(struct tc__pile *p)
{
    for (size_t i = 0; i < TC__PILE_BATCHES; i++) {
        tc_rows_destroy(p->batches[i]);
    }
    free(p->order);
}
