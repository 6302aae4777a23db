/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as a block of the format Native: columns one after the other, as the server has them. */
#include "warehouse/clickhouse/binary_priv.h"

#include <string.h>

/* Of a length: seven bits to a byte. */
#define VARINT_MAX 10

static bool may_be_null(enum tc__ch_type type)
{
    return type == TC__CH_TEXT || type == TC__CH_INT || type == TC__CH_REAL || type == TC__CH_BOOL;
}

static bool is_block_number(const struct tc__ch_column *c)
{
    return c->from == SIZE_MAX && strcmp(c->name, TC__CH_BLOCK) == 0;
}

/* ---- values ---- */

static char *put_length(char *p, size_t len)
{
    for (; len >= 0x80; len >>= 7) {
        *p++ = (char)(len | 0x80);
    }
    *p++ = (char)len;
    return p;
}

static void put_text(struct tc_grow *g, struct tc_slice text)
{
    if (tc_grow_room(g, VARINT_MAX + text.len)) {
        tc_buf_end(&g->buf, put_length(g->buf.data + g->buf.len, text.len));
        tc_buf_str(&g->buf, text);
    }
}

static void put_size(struct tc_grow *g, size_t n)
{
    if (tc_grow_room(g, VARINT_MAX)) {
        tc_buf_end(&g->buf, put_length(g->buf.data + g->buf.len, n));
    }
}

static void put_ids(struct tc_grow *g, size_t count, uint64_t id)
{
    if (tc_grow_room(g, count * sizeof id)) {
        for (size_t i = 0; i < count; i++) {
            tc_buf_const(&g->buf, (const char *)&id, sizeof id);
        }
    }
}

static void add_texts(struct tc_grow *g, const struct tc_rows *rows, size_t column, size_t from,
                      size_t count)
{
    for (size_t i = from; i < from + count; i++) {
        put_text(g,
                 tc_rows_is_null(rows, column, i) ? TC_EMPTY : tc_rows_get_text(rows, column, i));
    }
}

static void add_bools(struct tc_grow *g, const struct tc_rows *rows, size_t column, size_t from,
                      size_t count)
{
    if (tc_grow_room(g, count)) {
        for (size_t i = from; i < from + count; i++) {
            tc_buf_char(&g->buf, (char)(tc_rows_get_int(rows, column, i) != 0));
        }
    }
}

/* Integers and doubles, as they are. */
static void add_numbers(struct tc_grow *g, const struct tc_rows *rows, size_t column, size_t from,
                        size_t count, int64_t null)
{
    if (tc_grow_room(g, count * sizeof null)) {
        char *p = g->buf.data + g->buf.len;
        for (size_t i = from; i < from + count; i++, p += sizeof null) {
            bool is_null = tc_rows_is_null(rows, column, i);
            memcpy(p, is_null ? (const void *)&null : &rows->columns[column].cells[i], sizeof null);
        }
        tc_buf_end(&g->buf, p);
    }
}

static void add_nulls(struct tc_grow *g, const struct tc_rows *rows, size_t column, size_t from,
                      size_t count)
{
    if (tc_grow_room(g, count)) {
        for (size_t i = from; i < from + count; i++) {
            tc_buf_char(&g->buf, (char)tc_rows_is_null(rows, column, i));
        }
    }
}

static void add_column(struct tc__ch_stripe *s, const struct tc__ch_column *c,
                       const struct tc_rows *rows, size_t from, size_t count)
{
    if (may_be_null(c->type)) {
        add_nulls(&s->nulls, rows, c->from, from, count);
    }
    switch (c->type) {
    case TC__CH_WORD:
    case TC__CH_TEXT:
        add_texts(&s->values, rows, c->from, from, count);
        return;
    case TC__CH_BOOL:
        add_bools(&s->values, rows, c->from, from, count);
        return;
    case TC__CH_MOMENT:
        add_numbers(&s->values, rows, c->from, from, count, INT64_MIN);
        return;
    case TC__CH_NUMBER:
    case TC__CH_INT:
    case TC__CH_REAL:
        add_numbers(&s->values, rows, c->from, from, count, 0);
        return;
    }
}

/* ---- filling ---- */

bool tc__ch_block_add(struct tc__ch_block *b, const struct tc__ch_layout *layout,
                      const struct tc_rows *rows, uint64_t series, size_t from, size_t count)
{
    bool ok = true;
    for (size_t i = 0; i < layout->column_count; i++) {
        const struct tc__ch_column *c = &layout->columns[i];
        struct tc__ch_stripe *s = &b->stripes[i];
        if (c->is_strand || is_block_number(c)) {
            continue;
        }
        if (c->from != SIZE_MAX) {
            add_column(s, c, rows, from, count);
        } else {
            put_ids(&s->values, count, series);
        }
        ok &= !s->nulls.failed && !s->values.failed;
    }
    b->row_count += count;
    return ok;
}

bool tc__ch_block_join(struct tc__ch_block *b, const struct tc__ch_strands *strands,
                       const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct tc__ch_strand *s = &strands->items[numbers[i]];
        b->strand_bytes += s->run_len + s->metric_len + 2 + sizeof s->series;
    }
    tc_grow_str(&b->strands, tc_slice_make((const char *)numbers, count * sizeof *numbers));
    return !b->strands.failed;
}

size_t tc__ch_block_bytes(const struct tc__ch_block *b, const struct tc__ch_layout *layout)
{
    size_t sum = b->strand_bytes;
    for (size_t i = 0; i < layout->column_count; i++) {
        sum += b->stripes[i].nulls.buf.len + b->stripes[i].values.buf.len;
    }
    return sum;
}

/* ---- sending ---- */

/* A value of a strand in as many rows as it has. */
static void put_strand(struct tc_grow *g, const struct tc__ch_column *c,
                       const struct tc__ch_strands *s, const struct tc__ch_strand *one)
{
    if (c->type == TC__CH_NUMBER) {
        put_ids(g, one->rows, one->series);
        return;
    }
    struct tc_slice text =
        c->from == TC_SLICE_RUN_ID ? tc__ch_strand_run(s, one) : tc__ch_strand_metric(s, one);
    size_t begin = g->buf.len;
    put_text(g, text);
    struct tc_slice first = tc_slice_from(tc_grow_slice(g), begin);
    if (tc_grow_room(g, first.len * one->rows)) {
        for (uint32_t i = 1; i < one->rows; i++) {
            tc_buf_put(&g->buf, g->buf.data + begin, first.len);
        }
    }
}

/* Values of one width, or none, in another order. */
static void put_in_order(struct tc_grow *g, struct tc_slice values, const struct tc__ch_order *o,
                         size_t count)
{
    size_t width = values.len / count;
    if (values.len == 0 || !tc_grow_room(g, values.len)) {
        return;
    }
    char *p = g->buf.data + g->buf.len;
    if (width == 1) {
        for (size_t i = 0; i < count; i++) {
            *p++ = values.ptr[o->rows[i]];
        }
    } else {
        for (size_t i = 0; i < count; i++, p += sizeof(uint64_t)) {
            memcpy(p, values.ptr + o->rows[i] * sizeof(uint64_t), sizeof(uint64_t));
        }
    }
    tc_buf_end(&g->buf, p);
}

static void put_column(struct tc_grow *g, const struct tc__ch_block *b,
                       const struct tc__ch_layout *layout, size_t column,
                       const struct tc__ch_strands *strands, const struct tc__ch_order *o)
{
    const struct tc__ch_column *c = &layout->columns[column];
    struct tc_slice nulls = tc_grow_slice(&b->stripes[column].nulls);
    struct tc_slice values = tc_grow_slice(&b->stripes[column].values);
    if (layout->time == 0) {
        tc_grow_str(g, nulls);
        tc_grow_str(g, values);
        return;
    }
    for (size_t i = 0; c->is_strand && i < o->strand_count; i++) {
        put_strand(g, c, strands, &strands->items[o->strands[i]]);
    }
    if (!c->is_strand && b->row_count > 0) {
        put_in_order(g, nulls, o, b->row_count);
        put_in_order(g, values, o, b->row_count);
    }
}

void tc__ch_block_put(struct tc_grow *g, const struct tc__ch_block *b,
                      const struct tc__ch_layout *layout, struct tc__ch_strands *strands,
                      struct tc__ch_ids *out_ids)
{
    struct tc__ch_order o = {0};
    *out_ids = (struct tc__ch_ids){0};
    if (layout->time != 0 &&
        !tc__ch_order_make(&o, strands, (const uint32_t *)(const void *)b->strands.buf.data,
                           (const int64_t *)(const void *)b->stripes[layout->time].values.buf.data,
                           b->row_count)) {
        g->failed = true;
    }
    put_size(g, layout->column_count);
    put_size(g, b->row_count);
    for (size_t i = 0; i < layout->column_count && !g->failed; i++) {
        const struct tc__ch_column *c = &layout->columns[i];
        put_text(g, tc_slice_cstr(c->name));
        put_text(g, tc_slice_cstr(tc__ch_type_name(c->type)));
        if (is_block_number(c)) {
            *out_ids = (struct tc__ch_ids){g->buf.len, b->row_count};
            put_ids(g, b->row_count, 0);
        } else {
            put_column(g, b, layout, i, strands, &o);
        }
    }
    if (layout->time != 0) {
        tc__ch_order_fini(&o, strands);
    }
}

void tc__ch_block_number(struct tc_grow *g, struct tc__ch_ids ids, uint64_t id)
{
    for (size_t i = 0; i < ids.count; i++) {
        memcpy(g->buf.data + ids.at + i * sizeof id, &id, sizeof id);
    }
}

/* ---- the end ---- */

void tc__ch_block_reset(struct tc__ch_block *b, const struct tc__ch_layout *layout)
{
    for (size_t i = 0; i < layout->column_count; i++) {
        tc_buf_reset(&b->stripes[i].nulls.buf);
        tc_buf_reset(&b->stripes[i].values.buf);
        b->stripes[i].nulls.failed = false;
        b->stripes[i].values.failed = false;
    }
    tc_buf_reset(&b->strands.buf);
    b->strands.failed = false;
    b->strand_bytes = 0;
    b->row_count = 0;
}

void tc__ch_block_fini(struct tc__ch_block *b)
{
    for (size_t i = 0; i < TC_TABLE_COLUMNS_MAX; i++) {
        tc_grow_fini(&b->stripes[i].nulls);
        tc_grow_fini(&b->stripes[i].values);
    }
    tc_grow_fini(&b->strands);
    b->strand_bytes = 0;
    b->row_count = 0;
}
