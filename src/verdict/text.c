/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/text_priv.h"

#include <string.h>

#define COLUMNS_MIN 40
/* A word is escaped in pieces: four columns per byte at worst. */
#define PIECE_MAX 64
/* How far a quoted piece is looked at: more never fits on a line. */
#define QUOTE_MAX 1024
/* How much of a source's beginning tells whether it is text. */
#define PROBE_MAX 512

struct tc__page tc__page_begin(struct tc_buf *b, const struct tc_text_style *style)
{
    return (struct tc__page){
        .b = b,
        .columns = style->columns < COLUMNS_MIN ? COLUMNS_MIN : style->columns,
        .colour = style->colour,
    };
}

void tc__page_style(struct tc__page *p, enum tc__text_style style)
{
    static const char *const codes[] = {
        [TC__TEXT_PLAIN] = "\033[0m",      [TC__TEXT_BOLD] = "\033[1m",
        [TC__TEXT_DIM] = "\033[2m",        [TC__TEXT_INFO] = "\033[1;36m",
        [TC__TEXT_WARNING] = "\033[1;33m", [TC__TEXT_CRITICAL] = "\033[1;31m",
    };
    if (p->colour) {
        tc_buf_str(p->b, tc_slice_cstr(codes[style]));
    }
}

/* Code points: bytes that do not continue one. */
static unsigned width_of(struct tc_slice s)
{
    unsigned width = 0;
    for (size_t i = 0; i < s.len; i++) {
        width += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    }
    return width;
}

/* At most PIECE_MAX bytes of s that do not end inside a code point. */
static struct tc_slice piece_of(struct tc_slice s)
{
    struct tc_slice piece = tc_slice_head(s, PIECE_MAX);
    for (unsigned back = 0; back < 3 && piece.len < s.len && piece.len > 1; back++) {
        if (((unsigned char)s.ptr[piece.len] & 0xc0) != 0x80) {
            break;
        }
        piece.len--;
    }
    return piece;
}

void tc__page_text(struct tc__page *p, struct tc_slice s)
{
    size_t before = p->b->len;
    tc_buf_printable(p->b, s);
    p->at += width_of(tc_buf_since(p->b, before));
}

void tc__page_number(struct tc__page *p, size_t number)
{
    size_t before = p->b->len;
    tc_buf_u64(p->b, number);
    p->at += (unsigned)(p->b->len - before);
}

void tc__page_blank(struct tc__page *p, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        tc_buf_char(p->b, ' ');
    }
    p->at += count;
}

void tc__page_line(struct tc__page *p)
{
    tc_buf_char(p->b, '\n');
    p->at = 0;
}

struct tc__flow tc__flow_begin(struct tc__page *p, unsigned first, unsigned next)
{
    return (struct tc__flow){.page = p, .first = first, .next = next};
}

unsigned tc__text_width(struct tc_slice word)
{
    unsigned width = 0;
    while (word.len > 0) {
        char text[PIECE_MAX * 4];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        struct tc_slice piece = piece_of(word);
        tc_buf_printable(&b, piece);
        width += width_of(tc_buf_slice(&b));
        word = tc_slice_from(word, piece.len);
    }
    return width;
}

static void next_line(struct tc__flow *flow)
{
    tc__page_line(flow->page);
    tc__page_blank(flow->page, flow->next);
}

/* Escaped bytes, broken where the line ends. */
static void put_broken(struct tc__flow *flow, struct tc_slice escaped)
{
    struct tc__page *p = flow->page;
    for (size_t i = 0; i < escaped.len; i++) {
        bool starts = ((unsigned char)escaped.ptr[i] & 0xc0) != 0x80;
        if (starts && p->at >= p->columns) {
            next_line(flow);
        }
        tc_buf_char(p->b, escaped.ptr[i]);
        p->at += starts;
    }
}

void tc__flow_word(struct tc__flow *flow, struct tc_slice word)
{
    struct tc__page *p = flow->page;
    unsigned width = tc__text_width(word);
    if (!flow->started) {
        tc__page_blank(p, flow->first);
        flow->started = true;
    } else if (!flow->fresh && p->at + 1 + width > p->columns) {
        next_line(flow);
    } else if (!flow->fresh) {
        tc__page_blank(p, 1);
    }
    flow->fresh = false;
    while (word.len > 0) {
        char text[PIECE_MAX * 4];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        struct tc_slice piece = piece_of(word);
        tc_buf_printable(&b, piece);
        put_broken(flow, tc_buf_slice(&b));
        word = tc_slice_from(word, piece.len);
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Cuts the next word off *io_rest; empty at the end. */
static struct tc_slice next_word(struct tc_slice *io_rest)
{
    *io_rest = tc_slice_trim(*io_rest);
    size_t len = 0;
    while (len < io_rest->len && !is_space(io_rest->ptr[len])) {
        len++;
    }
    struct tc_slice word = tc_slice_head(*io_rest, len);
    *io_rest = tc_slice_from(*io_rest, len);
    return word;
}

void tc__flow_together(struct tc__flow *flow, struct tc_slice a, struct tc_slice b)
{
    struct tc__page *p = flow->page;
    unsigned width = tc__text_width(a) + 1 + tc__text_width(b) + 2;
    bool on_next = flow->next + width <= p->columns;
    if (flow->started && on_next && p->at + 1 + width > p->columns) {
        next_line(flow);
        flow->fresh = true;
    }
}

void tc__flow_words(struct tc__flow *flow, struct tc_slice s)
{
    for (struct tc_slice word = next_word(&s); word.len > 0; word = next_word(&s)) {
        tc__flow_word(flow, word);
    }
}

void tc__flow_end(struct tc__flow *flow)
{
    if (flow->started) {
        tc__page_line(flow->page);
    }
}

void tc__page_paragraph(struct tc__page *p, unsigned first, unsigned next, struct tc_slice s)
{
    struct tc__flow flow = tc__flow_begin(p, first, next);
    tc__flow_words(&flow, s);
    if (!flow.started && p->at > 0) {
        tc__page_line(p); /* the line that was begun for it */
    }
    tc__flow_end(&flow);
}

/* One line of at most `width` columns: white space becomes one blank, a cut ends in an ellipsis. */
static void put_cut(struct tc__page *p, struct tc_slice s, unsigned width)
{
    struct tc_slice rest = s;
    unsigned used = 0;
    for (struct tc_slice word = next_word(&rest); word.len > 0; word = next_word(&rest)) {
        unsigned needed = tc__text_width(word) + (used > 0);
        unsigned kept = rest.len > 0 ? 2 : 0; /* for " ..." should the next word not fit */
        if (used + needed + kept > width) {
            break;
        }
        tc__page_blank(p, used > 0);
        tc__page_text(p, word);
        used += needed;
        if (rest.len == 0) {
            return;
        }
        s = rest;
    }
    tc__page_blank(p, used > 0);
    used += used > 0;
    /* What is left of the line takes the beginning of the word that did not fit. */
    struct tc_slice word = next_word(&s);
    while (word.len > 0) {
        size_t len = 1;
        while (len < word.len && len < 4 && ((unsigned char)word.ptr[len] & 0xc0) == 0x80) {
            len++;
        }
        struct tc_slice point = tc_slice_head(word, len);
        unsigned needed = tc__text_width(point);
        if (used + needed + 1 > width) {
            break;
        }
        tc__page_text(p, point);
        used += needed;
        word = tc_slice_from(word, len);
    }
    tc__page_text(p, TC_LIT("\xe2\x80\xa6"));
}

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

static size_t line_of(struct tc_slice bytes, size_t offset)
{
    struct tc_slice rest = tc_slice_head(bytes, offset);
    size_t line = 1;
    while (rest.len > 0) {
        const char *found = memchr(rest.ptr, '\n', rest.len);
        if (found == NULL) {
            break;
        }
        line++;
        rest = tc_slice_from(rest, (size_t)(found + 1 - rest.ptr));
    }
    return line;
}

/* True when the piece is a line of a log; false when it is a part of a larger document. */
static bool is_whole_line(struct tc_slice bytes, const struct tc_raw *raw)
{
    size_t start = (size_t)raw->offset;
    size_t end = start + raw->length;
    return (start == 0 || bytes.ptr[start - 1] == '\n') &&
           (end >= bytes.len || bytes.ptr[end] == '\n' || bytes.ptr[end] == '\r');
}

void tc__page_quote(struct tc__page *p, unsigned indent, const struct tc_source_view *view,
                    const struct tc_raw *raw)
{
    bool known = raw->offset < view->bytes.len && raw->length > 0;
    struct tc_slice quote = TC_EMPTY;
    if (known) {
        quote = tc_slice_head(tc_slice_from(view->bytes, (size_t)raw->offset), raw->length);
        quote = tc_slice_trim(tc_slice_head(quote, QUOTE_MAX));
    }
    /* A few bytes of a pickle may well look like text: the source has to as well. */
    bool text = quote.len > 0 && is_text(quote) && is_text(tc_slice_head(view->bytes, PROBE_MAX));
    struct tc__flow flow = tc__flow_begin(p, indent, indent + 2);
    tc__flow_word(&flow, view->name);
    if (!text) {
        tc__flow_word(&flow, TC_LIT("--at"));
        tc__page_blank(p, 1);
        tc__page_number(p, (size_t)raw->offset);
        tc__page_text(p, TC_LIT(","));
        tc__page_number(p, raw->length);
        tc__flow_end(&flow);
        return;
    }
    tc__page_text(p, TC_LIT(":"));
    tc__page_number(p, line_of(view->bytes, (size_t)raw->offset));
    if (!is_whole_line(view->bytes, raw)) {
        /* A piece of a document: its first words are punctuation, the timeline says what it is. */
        tc__flow_end(&flow);
        return;
    }
    tc__page_text(p, TC_LIT(":"));
    if (p->at + 1 + tc__text_width(quote) > p->columns) {
        next_line(&flow);
    } else {
        tc__page_blank(p, 1);
    }
    put_cut(p, quote, p->columns - p->at);
    tc__flow_end(&flow);
}
