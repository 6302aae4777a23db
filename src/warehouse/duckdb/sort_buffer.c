/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb/sort_buffer_priv.h"

#include "base/table/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 10
/* Rows of a group that are looked at. */
#define GROUP_LOOK 16

/* An empty batch like rows, in the next place. Its text is the buffer's. */
static struct tc_rows *next_batch(struct tc__sort_buffer *p, const struct tc_rows *rows)
{
    struct tc_rows **place = &p->batches[p->count];
    if (*place == NULL) {
        *place = tc_rows_create_like(rows, 0, 0);
    }
    return *place;
}

/* Bytes of all texts of rows, equal ones counted again. */
static size_t text_of(const struct tc_rows *rows)
{
    size_t sum = 0;
    for (size_t c = 0; c < rows->column_count; c++) {
        for (size_t i = 0; rows->columns[c].type == TC_COLUMN_TEXT && i < rows->count; i++) {
            sum += tc_rows_is_null(rows, c, i) ? 0 : rows->columns[c].cells[i].text.len;
        }
    }
    return sum;
}

static bool make_room(struct tc__sort_buffer *p, size_t more)
{
    return tc_grow_items(p->text, p->text_cap, p->text_len + more, UINT32_MAX) == TC_OK;
}

/* Where to look for a text that was there before. Names differ at their ends. */
static size_t slot_of(struct tc_slice s)
{
    uint64_t head = 0;
    uint64_t tail = 0;
    memcpy(&head, s.ptr, s.len < 8 ? s.len : 8);
    memcpy(&tail, s.len < 8 ? s.ptr : s.ptr + s.len - 8, s.len < 8 ? s.len : 8);
    return (size_t)(tc_hash_mix(head ^ s.len, tail) % TC__SORT_BUFFER_SLOTS);
}

/*
 * The text in the buffer: where it stands already, or at the end. Slices repeat few texts many
 * times; kept once, they stay in the processor's cache until DuckDB reads them.
 */
static void put_text(struct tc__sort_buffer *p, struct tc_slice s, union tc_cell *out)
{
    union tc_cell *slot = &p->slots[s.len == 0 ? 0 : slot_of(s)];
    if (slot->text.len != s.len || slot->text.at + s.len > p->text_len ||
        !tc_bytes_eq(p->text + slot->text.at, s.ptr, s.len)) {
        memcpy(p->text + p->text_len, s.ptr, s.len);
        slot->text.at = (uint32_t)p->text_len;
        slot->text.len = (uint32_t)s.len;
        p->text_len += s.len;
    }
    *out = *slot;
}

static void copy_column(struct tc__sort_buffer *p, const struct tc_rows *rows, size_t column,
                        struct tc_rows_column *to)
{
    const struct tc_rows_column *from = &rows->columns[column];
    memcpy(to->valid, from->valid, (rows->count + 63) / 64 * sizeof from->valid[0]);
    if (from->type != TC_COLUMN_TEXT) {
        memcpy(to->cells, from->cells, rows->count * sizeof from->cells[0]);
        return;
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (!tc_rows_is_null(rows, column, i)) {
            put_text(p, tc_rows_get_text(rows, column, i), &to->cells[i]);
        }
    }
}

tc_status tc__sort_buffer_add(struct tc__sort_buffer *p, const struct tc_rows *rows, bool *out_full)
{
    size_t text = text_of(rows);
    *out_full =
        p->count == TC__SORT_BUFFER_BATCHES || text > TC__SORT_BUFFER_TEXT_MAX - p->text_len;
    if (*out_full) {
        return TC_OK;
    }
    struct tc_rows *batch = next_batch(p, rows);
    if (batch == NULL || !make_room(p, text)) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < rows->column_count; i++) {
        copy_column(p, rows, i, &batch->columns[i]);
    }
    batch->count = rows->count;
    p->count++;
    p->row_count += rows->count;
    return TC_OK;
}

/* While rows are taken, the batches look like any other. */
static void lend_text(struct tc__sort_buffer *p, char *text, size_t len)
{
    for (size_t i = 0; i < p->count; i++) {
        p->batches[i]->text = text;
        p->batches[i]->text_len = len;
        p->batches[i]->text_cap = len;
    }
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

static struct tc__pick pick(const struct tc__sort_buffer *p, size_t at)
{
    uint64_t place = p->order[at].value;
    return (struct tc__pick){p->batches[place / TC_ROWS_MAX], place % TC_ROWS_MAX};
}

/* Those with equal text together: by its hash, for which of them comes first does not matter. */
static void order_by_text(struct tc__sort_buffer *p, size_t column)
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
    tc_sort_keys(p->order, p->order + TC__SORT_BUFFER_ROWS, p->row_count);
}

/*
 * Then groups whose numbers have as many digits: DuckDB looks at every seventh vector of a row
 * group to find out how to pack all of them, and would miss a small group among others.
 */
static void order_by_digits(struct tc__sort_buffer *p, size_t column)
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
    tc_sort_keys(p->order, p->order + TC__SORT_BUFFER_ROWS, p->row_count);
}

static void fill_order(struct tc__sort_buffer *p)
{
    size_t at = 0;
    for (size_t b = 0; b < p->count; b++) {
        for (size_t i = 0; i < p->batches[b]->count; i++) {
            p->order[at++].value = b * TC_ROWS_MAX + i;
        }
    }
}

/* The order of those with equal numbers stays. */
static void order_by_number(struct tc__sort_buffer *p, size_t column)
{
    for (size_t at = 0; at < p->row_count; at++) {
        struct tc__pick row = pick(p, at);
        bool null = tc_rows_is_null(row.rows, column, row.row);
        uint64_t value = (uint64_t)row.rows->columns[column].cells[row.row].integer;
        p->order[at].key = null ? 0 : value ^ UINT64_C(1) << 63; /* negative ones first */
    }
    tc_sort_keys(p->order, p->order + TC__SORT_BUFFER_ROWS, p->row_count);
}

tc_status tc__sort_buffer_order(struct tc__sort_buffer *p, const struct tc__order *order,
                                struct tc_error *err)
{
    if (p->order == NULL) {
        p->order = malloc(2 * TC__SORT_BUFFER_ROWS * sizeof *p->order);
        if (p->order == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory to put rows in order");
        }
    }
    lend_text(p, p->text, p->text_len);
    if (order->how == TC__ORDER_NUMBERS) {
        fill_order(p);
        order_by_number(p, order->second);
        order_by_number(p, order->first);
    } else {
        order_by_text(p, order->first);
        order_by_digits(p, order->second);
    }
    return TC_OK;
}

size_t tc__sort_buffer_picks(const struct tc__sort_buffer *p, size_t at, struct tc__pick *out)
{
    size_t left = at < p->row_count ? p->row_count - at : 0;
    size_t count = left < TC_ROWS_MAX ? left : TC_ROWS_MAX;
    for (size_t i = 0; i < count; i++) {
        out[i] = pick(p, at + i);
    }
    return count;
}

tc_status tc__sort_buffer_take(struct tc__sort_buffer *p, const struct tc__order *order,
                               tc__pick_fn give, void *context, struct tc_error *err)
{
    struct tc__pick picks[TC_ROWS_MAX];
    tc_status status = p->row_count > 0 ? tc__sort_buffer_order(p, order, err) : TC_OK;
    for (size_t at = 0; at < p->row_count && status == TC_OK; at += TC_ROWS_MAX) {
        size_t count = tc__sort_buffer_picks(p, at, picks);
        status = give(context, picks, count, err);
    }
    tc__sort_buffer_reset(p);
    return status;
}

void tc__sort_buffer_reset(struct tc__sort_buffer *p)
{
    lend_text(p, NULL, 0);
    p->count = 0;
    p->row_count = 0;
    p->text_len = 0;
    memset(p->slots, 0, sizeof p->slots);
}

void tc__sort_buffer_fini(struct tc__sort_buffer *p)
{
    for (size_t i = 0; i < TC__SORT_BUFFER_BATCHES; i++) {
        tc_rows_destroy(p->batches[i]);
    }
    free(p->order);
    free(p->text);
}
