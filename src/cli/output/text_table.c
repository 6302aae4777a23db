/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/text_table.h"

#include "base/assert.h"
#include "cli/output/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2
#define FLEXIBLE_MIN 8
/* Of a finding. */
#define NAME_WIDTH 15
#define STATE_WIDTH 13
#define FINDING_INDENT "                                "
#define CELLS_MAX (TC_TEXT_TABLE_COLUMNS * (size_t)TC_ANSWER_ROWS_MAX)

/* Characters: bytes that do not go on one before. */
static size_t width_of(struct tc_slice s)
{
    size_t width = 0;
    for (size_t n = 0; n < s.len; n++) {
        width += ((unsigned char)s.ptr[n] & 0xc0) != 0x80 ? 1 : 0;
    }
    return width;
}

/* The bytes of the first `width` characters. */
static struct tc_slice head_of(struct tc_slice s, size_t width)
{
    size_t n = 0;
    for (; n < s.len; n++) {
        if (((unsigned char)s.ptr[n] & 0xc0) != 0x80 && width-- == 0) {
            break;
        }
    }
    return tc_slice_head(s, n);
}

static struct tc_slice cell_at(const struct tc_text_table *t, size_t n)
{
    size_t start = n == 0 ? 0 : t->ends[n - 1];
    return tc_slice_make(t->text.buf.data + start, t->ends[n] - start);
}

void tc_text_table_format_args(struct tc_text_table *t, const struct tc_arg *args, size_t count)
{
    tc_grow_format_args(&t->text, args, count);
    t->failed |= tc_grow_items(t->ends, t->cell_cap, t->cell_count + 1, CELLS_MAX) != TC_OK;
    if (!t->failed) {
        t->ends[t->cell_count++] = t->text.buf.len;
    }
}

void tc_text_table_cell(struct tc_text_table *t, struct tc_slice text)
{
    tc_text_table_format(t, "{}", tc_as_printable(text));
}

void tc_text_table_value(struct tc_text_table *t, const struct tc_answer *s, size_t row,
                         size_t column)
{
    tc_text_table_format(t, "{}", tc_answer_as_value(s, row, column));
}

static void put_blanks(struct tc_grow *out, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        tc_grow_lit(out, " ");
    }
}

static void put_cell(struct tc_grow *out, struct tc_slice text, size_t width, bool right, bool last)
{
    size_t wide = width_of(text);
    if (wide > width) {
        tc_grow_format(out, "{}…", head_of(text, width - 1));
        wide = width;
    } else if (right) {
        put_blanks(out, width - wide);
        tc_grow_str(out, text);
        return;
    } else {
        tc_grow_str(out, text);
    }
    if (!last) {
        put_blanks(out, width - wide);
    }
}

/* How wide each column is, and how many of them there is room for. */
static size_t lay_out(const struct tc_text_table *t, size_t room, size_t *widths)
{
    size_t used = 0;
    size_t shown = 0;
    for (size_t c = 0; c < t->column_count; c++) {
        widths[c] = width_of(tc_slice_cstr(t->heads[c]));
    }
    for (size_t n = 0; n < t->cell_count; n++) {
        size_t width = width_of(cell_at(t, n));
        size_t c = n % t->column_count;
        widths[c] = width > widths[c] ? width : widths[c];
    }
    for (size_t c = 0; c < t->column_count; c++) {
        used += widths[c] + (c > 0 ? GAP : 0);
    }
    if (used > room && t->flexible < t->column_count) {
        size_t *w = &widths[t->flexible];
        size_t over = used - room;
        size_t least = t->flexible_min > 0 ? t->flexible_min : FLEXIBLE_MIN;
        *w = *w > over + least ? *w - over : *w < least ? *w : least;
    }
    for (used = 0; shown < t->column_count; shown++) {
        used += widths[shown] + (shown > 0 ? GAP : 0);
        if (used > room && shown > 0) {
            break;
        }
    }
    return shown;
}

size_t tc_text_table_print(struct tc_text_table *t, struct tc_grow *out, const char *indent)
{
    size_t widths[TC_TEXT_TABLE_COLUMNS];
    size_t lead = strlen(indent);
    TC_ASSERT(t->column_count <= TC_TEXT_TABLE_COLUMNS);
    if (t->failed || t->text.failed || t->column_count == 0) {
        out->failed |= t->failed || t->text.failed;
        return 0;
    }
    TC_ASSERT(t->cell_count % t->column_count == 0);
    size_t columns = t->width > 0 ? t->width : tc_terminal_columns();
    size_t shown = lay_out(t, columns > lead ? columns - lead : 1, widths);
    for (size_t row = 0; row <= t->cell_count / t->column_count; row++) {
        tc_grow_str(out, tc_slice_cstr(indent));
        for (size_t c = 0; c < shown; c++) {
            struct tc_slice text =
                row == 0 ? tc_slice_cstr(t->heads[c]) : cell_at(t, (row - 1) * t->column_count + c);
            put_blanks(out, c > 0 ? GAP : 0);
            put_cell(out, text, widths[c], t->right[c], c + 1 == shown);
        }
        tc_grow_lit(out, "\n");
    }
    return t->column_count - shown;
}

void tc_text_table_fini(struct tc_text_table *t)
{
    free(t->ends);
    tc_grow_fini(&t->text);
    *t = (struct tc_text_table){0};
}

void tc_text_words(struct tc_grow *g, const char *first, struct tc_slice words, const char *indent)
{
    size_t columns = tc_terminal_columns();
    size_t start = strlen(first); /* of the words of this line */
    size_t at = start;
    tc_grow_str(g, tc_slice_cstr(first));
    while (words.len > 0) {
        struct tc_slice word = tc_slice_cut(words, ' ', &words);
        if (at > start && at + 1 + word.len > columns) {
            tc_grow_format(g, "\n{}", indent);
            start = strlen(indent);
            at = start;
        } else if (at > start) {
            tc_grow_lit(g, " ");
            at++;
        }
        tc_grow_str(g, word);
        at += word.len;
    }
}

void tc_text_finding(struct tc_grow *g, struct tc_slice name, const char *state,
                     struct tc_slice why)
{
    char first[NAME_WIDTH + STATE_WIDTH + 8];
    struct tc_grow words = {0};
    (void)snprintf(first, sizeof first, "  %-*.*s %-*s ", NAME_WIDTH,
                   (int)(name.len < NAME_WIDTH ? name.len : NAME_WIDTH), name.ptr, STATE_WIDTH,
                   state);
    tc_grow_format(&words, "{}", tc_as_printable(why));
    tc_text_words(g, first, tc_grow_slice(&words), FINDING_INDENT);
    tc_grow_lit(g, "\n");
    g->failed |= words.failed;
    tc_grow_fini(&words);
}

void tc_text_paragraph(struct tc_grow *g, struct tc_grow *text, const char *first,
                       const char *indent)
{
    tc_text_words(g, first, tc_grow_slice(text), indent);
    tc_grow_lit(g, "\n");
    g->failed |= text->failed;
    tc_grow_fini(text);
}
