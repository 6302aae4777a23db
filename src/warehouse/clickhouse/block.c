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

/* ---- blocks ---- */

bool tc__ch_block_add(struct tc__ch_block *b, const struct tc__ch_layout *layout,
                      const struct tc_rows *rows, const uint64_t *series, size_t from, size_t count)
{
    bool ok = true;
    for (size_t i = 0; i < layout->column_count; i++) {
        const struct tc__ch_column *c = &layout->columns[i];
        struct tc__ch_stripe *s = &b->stripes[i];
        if (c->from != SIZE_MAX) {
            add_column(s, c, rows, from, count);
        } else if (!is_block_number(c)) {
            tc_grow_str(&s->values,
                        tc_slice_make((const char *)&series[from], count * sizeof *series));
        }
        ok &= !s->nulls.failed && !s->values.failed;
    }
    b->row_count += count;
    return ok;
}

size_t tc__ch_block_bytes(const struct tc__ch_block *b, const struct tc__ch_layout *layout)
{
    size_t sum = 0;
    for (size_t i = 0; i < layout->column_count; i++) {
        sum += b->stripes[i].nulls.buf.len + b->stripes[i].values.buf.len;
    }
    return sum;
}

static void put_ids(struct tc_grow *g, size_t count, uint64_t id)
{
    if (tc_grow_room(g, count * sizeof id)) {
        for (size_t i = 0; i < count; i++) {
            tc_buf_const(&g->buf, (const char *)&id, sizeof id);
        }
    }
}

void tc__ch_block_put(struct tc_grow *g, const struct tc__ch_block *b,
                      const struct tc__ch_layout *layout, uint64_t id)
{
    put_size(g, layout->column_count);
    put_size(g, b->row_count);
    for (size_t i = 0; i < layout->column_count; i++) {
        const struct tc__ch_column *c = &layout->columns[i];
        put_text(g, tc_slice_cstr(c->name));
        put_text(g, tc_slice_cstr(tc__ch_type_name(c->type)));
        if (is_block_number(c)) {
            put_ids(g, b->row_count, id);
        } else {
            tc_grow_str(g, tc_grow_slice(&b->stripes[i].nulls));
            tc_grow_str(g, tc_grow_slice(&b->stripes[i].values));
        }
    }
}

void tc__ch_block_reset(struct tc__ch_block *b, const struct tc__ch_layout *layout)
{
    for (size_t i = 0; i < layout->column_count; i++) {
        tc_buf_reset(&b->stripes[i].nulls.buf);
        tc_buf_reset(&b->stripes[i].values.buf);
        b->stripes[i].nulls.failed = false;
        b->stripes[i].values.failed = false;
    }
    b->row_count = 0;
}

void tc__ch_block_fini(struct tc__ch_block *b)
{
    for (size_t i = 0; i < TC_TABLE_COLUMNS_MAX; i++) {
        tc_grow_fini(&b->stripes[i].nulls);
        tc_grow_fini(&b->stripes[i].values);
    }
    b->row_count = 0;
}
