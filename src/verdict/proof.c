/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of evidence on the page: the command that prints each, and what it says. */
#include "verdict/page_priv.h"

#include <string.h>

/* How much of a piece is quoted; the command prints the rest. */
#define QUOTE_MAX 1024
/* How much of a source's beginning tells whether it is text. */
#define PROBE_MAX 512
/* A path with every byte escaped, and the rest of a command. */
#define COMMAND_MAX (4 * 4096 + 256)

/* Text has no control characters but white space, and escapes in coloured logs. */
static bool is_text(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 0x20 && c != 0x1b && (c < 0x09 || c > 0x0d)) {
            return false;
        }
    }
    return true;
}

/* True when the piece is lines of a log; false when it is a part of a larger document. */
static bool is_whole_lines(struct tc_slice bytes, const struct tc_raw *raw)
{
    size_t start = (size_t)raw->offset;
    size_t end = start + raw->length;
    return (start == 0 || bytes.ptr[start - 1] == '\n') &&
           (end >= bytes.len || bytes.ptr[end] == '\n' || bytes.ptr[end] == '\r' ||
            bytes.ptr[end - 1] == '\n');
}

/* A name as a shell takes it: as it is, in quotes, or with its bytes escaped. */
static void put_shell_word(struct tc_buf *b, struct tc_slice name)
{
    static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-./:=@%+,";
    bool plain = name.len > 0;
    for (size_t i = 0; i < name.len; i++) {
        plain = plain && name.ptr[i] != '\0' && strchr(PLAIN, name.ptr[i]) != NULL;
    }
    char text[COMMAND_MAX];
    struct tc_buf printable = tc_buf_make(text, sizeof text);
    tc_buf_printable(&printable, name);
    bool legible = tc_slice_eq(tc_buf_slice(&printable), name);
    tc_buf_str(b, plain ? TC_EMPTY : legible ? TC_LIT("'") : TC_LIT("$'"));
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        if (legible && c == '\'') {
            tc_buf_lit(b, "'\\''");
        } else if (!legible && (c < 0x20 || c >= 0x7f)) {
            tc_buf_lit(b, "\\x");
            tc_buf_hex(b, c, 2);
        } else {
            tc_buf_str(b, !legible && (c == '\'' || c == '\\') ? TC_LIT("\\") : TC_EMPTY);
            tc_buf_char(b, (char)c);
        }
    }
    tc_buf_str(b, plain ? TC_EMPTY : TC_LIT("'"));
}

static void put_cat(struct tc_buf *b, const struct tc_source_view *view, const struct tc_raw *raw)
{
    tc_buf_lit(b, "tracecore evidence cat ");
    put_shell_word(b, view->name.len > 0 ? view->name : view->digest);
    tc_buf_lit(b, " --at ");
    tc_buf_u64(b, raw->offset);
    tc_buf_char(b, ',');
    tc_buf_u64(b, raw->length);
    if (view->store.len > 0) {
        tc_buf_lit(b, " --data-dir ");
        put_shell_word(b, view->store);
    }
}

static void put_sed(struct tc_buf *b, struct tc_line_marks *marks,
                    const struct tc_source_view *view, struct tc_slice piece,
                    const struct tc_raw *raw)
{
    uint64_t first = tc_line_marks_count(marks, view->bytes, (size_t)raw->offset) + 1;
    size_t more = tc_slice_count(tc_slice_head(piece, piece.len - 1), '\n');
    tc_buf_lit(b, "sed -n ");
    tc_buf_u64(b, first);
    if (more > 0) {
        tc_buf_char(b, ',');
        tc_buf_u64(b, first + more);
    }
    tc_buf_lit(b, "p ");
    put_shell_word(b, view->name);
}

/* The command has to be copied whole: a terminal wraps it better than we do. */
static void put_command(struct tc__page *p, unsigned indent, const struct tc_source_view *view,
                        struct tc_slice lines, const struct tc_raw *raw)
{
    char text[COMMAND_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    if (tc_slice_eq(view->name, TC_LIT("-"))) {
        tc_buf_lit(&b, "standard input, ");
        tc_buf_u64(&b, raw->length);
        tc_buf_lit(&b, " bytes at ");
        tc_buf_u64(&b, raw->offset);
    } else if (lines.len > 0 && view->member.len == 0) {
        put_sed(&b, p->marks, view, lines, raw);
    } else {
        put_cat(&b, view, raw);
    }
    tc__page_blank(p, indent);
    tc__page_text(p, tc_buf_slice(&b));
    tc__page_line(p);
}

void tc__page_proof(struct tc__page *p, unsigned indent, const struct tc_source_view *view,
                    const struct tc_raw *raw)
{
    bool known = raw->length > 0 && raw->offset < view->bytes.len &&
                 raw->length <= view->bytes.len - raw->offset;
    struct tc_slice piece = TC_EMPTY;
    /* A few bytes of a pickle may well look like text: the source has to as well. */
    if (known && is_text(tc_slice_head(view->bytes, PROBE_MAX)) &&
        is_whole_lines(view->bytes, raw)) {
        piece = tc_slice_head(tc_slice_from(view->bytes, (size_t)raw->offset), raw->length);
    }
    struct tc_slice quote = tc_slice_trim(tc_slice_head(piece, QUOTE_MAX));
    if (!is_text(quote)) {
        piece = quote = TC_EMPTY;
    }
    put_command(p, indent, view, piece, raw);
    /* Of a part of a document the first words are punctuation; the timeline says what it is. */
    if (quote.len == 0) {
        return;
    }
    tc__page_blank(p, indent + TC__TEXT_MARGIN);
    if (p->cut) {
        tc__page_cut(p, quote, p->columns - p->at);
    } else {
        tc__page_uncut(p, quote);
        tc__page_text(p, piece.len > QUOTE_MAX ? TC_LIT(" \xe2\x80\xa6") : TC_EMPTY);
    }
    tc__page_line(p);
}
