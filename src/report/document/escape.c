/* SPDX-License-Identifier: Apache-2.0 */
#include "report/document/escape_priv.h"

#include <string.h>

/* What one byte becomes at most: \\xNN. */
#define BYTE_MAX 8

/* The next character of s at *io_at; true when it is text that may be shown as it is. Else it is
 * one byte. */
static bool next_character(struct tc_slice s, size_t *io_at, struct tc_slice *out)
{
    const unsigned char *at = (const unsigned char *)s.ptr + *io_at;
    size_t len = tc_utf8_len(at, s.len - *io_at);
    bool is_shown = len > 0 && !tc_utf8_is_invisible(at, len);
    *out = tc_slice_make(s.ptr + *io_at, is_shown ? len : 1);
    *io_at += out->len;
    return is_shown;
}

static void put_byte(struct tc_grow *g, const char *prefix, char byte)
{
    tc_buf_str(&g->buf, tc_slice_cstr(prefix));
    tc_buf_hex(&g->buf, (unsigned char)byte, 2);
}

static const char *html_entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void put_html(struct tc_grow *g, struct tc_slice s, bool keep_lines)
{
    struct tc_slice c;
    for (size_t at = 0; at < s.len && tc_grow_room(g, BYTE_MAX);) {
        if (next_character(s, &at, &c)) {
            const char *entity = html_entity(c.ptr[0]);
            tc_buf_str(&g->buf, entity == NULL ? c : tc_slice_cstr(entity));
        } else if (keep_lines && c.ptr[0] == '\n') {
            tc_buf_char(&g->buf, '\n');
        } else {
            put_byte(g, "\\x", c.ptr[0]);
        }
    }
}

void tc__html_text(struct tc_grow *g, struct tc_slice s)
{
    put_html(g, s, false);
}

void tc__html_lines(struct tc_grow *g, struct tc_slice s)
{
    put_html(g, s, true);
}

/* ---- Markdown ---- */

/* A backslash before one of these takes its meaning away, in every place. */
static const char PUNCTUATION[] = "\\`*_[]<>|~&$#";

/* What GitHub looks for in the finished text, where a backslash is gone already: people ("@"),
 * addresses ("://", "www."). As code it is not looked at. */
static bool is_link_sign(struct tc_slice s, size_t at)
{
    char c = s.ptr[at];
    struct tc_slice rest = tc_slice_make(s.ptr + at, s.len - at);
    return c == '@' || (c == ':' && tc_slice_starts(rest, TC_LIT("://"))) ||
           (c == '.' && at >= 3 &&
            tc_slice_eq_nocase(tc_slice_make(s.ptr + at - 3, 3), TC_LIT("www")));
}

/* What would begin a list or a rule: the place of the byte to be escaped; s.len: none. */
static size_t find_block_sign(struct tc_slice s)
{
    size_t digits = 0;
    if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+' || s.ptr[0] == '=')) {
        return 0;
    }
    while (digits < s.len && tc_is_digit(s.ptr[digits])) {
        digits++;
    }
    bool is_item = digits > 0 && digits < s.len && (s.ptr[digits] == '.' || s.ptr[digits] == ')') &&
                   (digits + 1 == s.len || tc_is_blank(s.ptr[digits + 1]));
    return is_item ? digits : s.len;
}

void tc__md_text(struct tc_grow *g, struct tc_slice s, enum tc__md_place place)
{
    struct tc_slice c;
    size_t sign = s.len;
    if (place == TC__MD_LINE_START) {
        while (s.len > 0 && tc_is_blank(s.ptr[0])) {
            s = tc_slice_from(s, 1);
        }
        sign = find_block_sign(s);
    }
    for (size_t at = 0; at < s.len && tc_grow_room(g, BYTE_MAX);) {
        size_t start = at;
        if (!next_character(s, &at, &c)) {
            put_byte(g, "\\\\x", c.ptr[0]);
        } else if (is_link_sign(s, start)) {
            tc_buf_char(&g->buf, '`');
            tc_buf_str(&g->buf, c);
            tc_buf_char(&g->buf, '`');
        } else {
            if (start == sign || strchr(PUNCTUATION, c.ptr[0]) != NULL) {
                tc_buf_char(&g->buf, '\\');
            }
            tc_buf_str(&g->buf, c);
        }
    }
}

/* The longest row of backticks. */
static size_t longest_ticks(struct tc_slice s)
{
    size_t longest = 0;
    size_t row = 0;
    for (size_t i = 0; i < s.len; i++) {
        row = s.ptr[i] == '`' ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    return longest;
}

static void put_ticks(struct tc_grow *g, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tc_grow_lit(g, "`");
    }
}

static void put_code(struct tc_grow *g, struct tc_slice s, bool keep_lines, bool in_cell)
{
    struct tc_slice c;
    for (size_t at = 0; at < s.len && tc_grow_room(g, BYTE_MAX);) {
        bool is_shown = next_character(s, &at, &c);
        if (!is_shown && !(keep_lines && c.ptr[0] == '\n')) {
            put_byte(g, "\\x", c.ptr[0]);
            continue;
        }
        if (in_cell && c.ptr[0] == '|') {
            tc_buf_char(&g->buf, '\\');
        }
        tc_buf_str(&g->buf, c);
    }
}

void tc__md_code(struct tc_grow *g, struct tc_slice s, enum tc__md_place place)
{
    if (s.len == 0) {
        tc_grow_lit(g, "``` ```");
        return;
    }
    /* A blank on both sides is taken away again: it parts the ticks of the text from ours. */
    bool spaced =
        s.ptr[0] == '`' || s.ptr[s.len - 1] == '`' || s.ptr[0] == ' ' || s.ptr[s.len - 1] == ' ';
    size_t ticks = longest_ticks(s) + 1;
    put_ticks(g, ticks);
    tc_grow_str(g, spaced ? TC_LIT(" ") : TC_EMPTY);
    put_code(g, s, false, place == TC__MD_CELL);
    tc_grow_str(g, spaced ? TC_LIT(" ") : TC_EMPTY);
    put_ticks(g, ticks);
}

void tc__md_block(struct tc_grow *g, struct tc_slice s, const char *info)
{
    size_t ticks = longest_ticks(s);
    ticks = ticks < 3 ? 3 : ticks + 1;
    put_ticks(g, ticks);
    tc_grow_str(g, tc_slice_cstr(info));
    tc_grow_lit(g, "\n");
    put_code(g, s, true, false);
    if (s.len > 0 && s.ptr[s.len - 1] != '\n') {
        tc_grow_lit(g, "\n");
    }
    put_ticks(g, ticks);
    tc_grow_lit(g, "\n");
}
