/* SPDX-License-Identifier: Apache-2.0 */
#include "report/document/markdown_priv.h"

#include <stdlib.h>

/* Those of the table, and which number, its value, interval, n and id. */
#define COLUMNS_MAX (TC_DOC_COLUMNS_MAX + 5)
/* A column is not made wider than this. */
#define WIDTH_MAX 60
#define CELLS_MAX ((size_t)1 << 20)

/* Cells one after another, row by row; the first row is the head. */
struct cells {
    struct tc_grow text;
    size_t *ends;
    size_t count;
    size_t cap;
    size_t column_count;
};

static void end_cell(struct cells *c)
{
    if (tc_grow_items(c->ends, c->cap, c->count + 1, CELLS_MAX) != TC_OK) {
        c->text.failed = true;
        return;
    }
    c->ends[c->count++] = c->text.buf.len;
}

static void add_text(struct cells *c, struct tc_slice text)
{
    tc__md_text(&c->text, text, TC__MD_CELL);
    end_cell(c);
}

static void add_spans(struct cells *c, const struct tc_doc_row *row, size_t column)
{
    if (column < row->cell_count) {
        tc__md_spans(&c->text, &row->cells[column], TC__MD_CELL);
    }
    end_cell(c);
}

static struct tc_slice cell_at(const struct cells *c, size_t index)
{
    size_t from = index == 0 ? 0 : c->ends[index - 1];
    return tc_slice_make(c->text.buf.data + from, c->ends[index] - from);
}

/* In characters. */
static size_t width_of(struct tc_slice s)
{
    size_t width = 0;
    for (size_t i = 0; i < s.len; i++) {
        width += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    }
    return width;
}

static void put_fill(struct tc_grow *g, size_t from, size_t to, const char *with)
{
    for (; from < to; from++) {
        tc_grow_str(g, tc_slice_cstr(with));
    }
}

static void put_rule(struct tc_grow *g, const size_t *widths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tc_grow_lit(g, "| ");
        put_fill(g, 0, widths[i], "-");
        tc_grow_lit(g, " ");
    }
    tc_grow_lit(g, "|\n");
}

static void put_cells(struct tc_grow *g, const struct cells *c)
{
    size_t widths[COLUMNS_MAX] = {0};
    for (size_t i = 0; i < c->count; i++) {
        size_t width = width_of(cell_at(c, i));
        size_t column = i % c->column_count;
        widths[column] = width > widths[column] ? width : widths[column];
    }
    for (size_t i = 0; i < c->column_count; i++) {
        widths[i] = widths[i] < 3 ? 3 : widths[i] > WIDTH_MAX ? WIDTH_MAX : widths[i];
    }
    for (size_t i = 0; i < c->count; i++) {
        size_t column = i % c->column_count;
        tc_grow_lit(g, "| ");
        tc_grow_str(g, cell_at(c, i));
        put_fill(g, width_of(cell_at(c, i)), widths[column], " ");
        tc_grow_lit(g, " ");
        if (column + 1 == c->column_count) {
            tc_grow_lit(g, "|\n");
        }
        if (i + 1 == c->column_count) {
            put_rule(g, widths, c->column_count);
        }
    }
}

static size_t count_numbers(const struct tc_doc_table *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->column_count; i++) {
        count += t->is_number[i];
    }
    return count;
}

static void add_head(struct cells *c, const struct tc_doc_table *t, size_t numbers)
{
    for (size_t i = 0; i < t->column_count; i++) {
        if (!t->is_number[i]) {
            add_text(c, t->heads[i]);
        }
    }
    if (numbers > 1) {
        add_text(c, TC_EMPTY);
    }
    for (size_t i = 0; i < t->column_count && numbers == 1; i++) {
        if (t->is_number[i]) {
            add_text(c, t->heads[i]);
        }
    }
    if (numbers > 0) {
        if (numbers > 1) {
            add_text(c, TC_LIT("value"));
        }
        add_text(c, TC_LIT("interval"));
        add_text(c, TC_LIT("n"));
        add_text(c, TC_LIT("lineage"));
    }
    c->column_count = c->count;
}

static void add_number(struct cells *c, const struct tc_doc_row *row, size_t column)
{
    const struct tc_doc_span *s = column < row->cell_count ? row->cells[column].first : NULL;
    if (s == NULL || s->kind != TC_DOC_NUMBER) {
        add_spans(c, row, column);
        end_cell(c);
        end_cell(c);
        end_cell(c);
        return;
    }
    for (int part = TC__MD_VALUE; part <= TC__MD_ID; part++) {
        tc__md_number(&c->text, s->number, (enum tc__md_number_part)part, TC__MD_CELL);
        end_cell(c);
    }
}

/* What is no number stands in the first of the rows that this one becomes. */
static void add_row(struct cells *c, const struct tc_doc_table *t, const struct tc_doc_row *row,
                    size_t numbers)
{
    size_t number = 0;
    for (size_t part = 0; part == 0 || part < numbers; part++) {
        while (numbers > 0 && !t->is_number[number]) {
            number++;
        }
        if (part > 0 && number >= row->cell_count) {
            return; /* the row ends before */
        }
        for (size_t i = 0; i < t->column_count; i++) {
            if (!t->is_number[i] && part == 0) {
                add_spans(c, row, i);
            } else if (!t->is_number[i]) {
                end_cell(c);
            }
        }
        if (numbers > 1) {
            add_text(c, number < row->cell_count ? t->heads[number] : TC_EMPTY);
        }
        if (numbers > 0) {
            add_number(c, row, number++);
        }
    }
}

void tc__md_table(struct tc_grow *g, const struct tc_doc_table *t)
{
    struct cells c = {0};
    size_t numbers = count_numbers(t);
    if (t->caption.len > 0) {
        tc__md_text(g, t->caption, TC__MD_LINE_START);
        tc_grow_lit(g, "\n\n");
    }
    add_head(&c, t, numbers);
    for (const struct tc_doc_row *row = t->first; row != NULL && !c.text.failed; row = row->next) {
        add_row(&c, t, row, numbers);
    }
    g->failed = g->failed || c.text.failed;
    if (!g->failed) {
        put_cells(g, &c);
    }
    tc_grow_fini(&c.text);
    free(c.ends);
}

void tc__md_code_row(struct tc_grow *g, const struct tc_slice *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tc_grow_lit(g, "| ");
        if (cells[i].len == 0) {
            tc_grow_lit(g, "-");
        } else {
            tc__md_code(g, cells[i], TC__MD_CELL);
        }
        tc_grow_lit(g, " ");
    }
    tc_grow_lit(g, "|\n");
}
