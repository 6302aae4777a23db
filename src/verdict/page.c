/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "verdict/page_priv.h"

#include <string.h>

#define COLUMNS_MIN 40
/* A word is escaped in pieces: four columns per byte at worst. */
#define PIECE_MAX 64
/* Of a duration and what is behind it. */
#define DURATION_MAX 48
/* Seconds from which on they are set as minutes. */
#define SECONDS_PLAIN 60

struct tc__page tc__page_begin(struct tc_buf *b, const struct tc_text_style *style)
{
    return (struct tc__page){
        .b = b,
        .columns = style->columns < COLUMNS_MIN ? COLUMNS_MIN : style->columns,
        .colour = style->colour,
        .cut = style->cut,
        .marks = style->marks,
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

/* The columns s takes once it is escaped. */
static unsigned text_width(struct tc_slice word)
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
    unsigned width = text_width(word);
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
    unsigned width = text_width(a) + 1 + text_width(b) + 2;
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

/* "420 s" and what closes it: a number of seconds that is better told in minutes. */
static bool is_long_duration(struct tc_slice number, struct tc_slice unit, int64_t *out_ns)
{
    uint64_t seconds = 0;
    bool closed = unit.len == 2 && memchr(",;:.)", unit.ptr[1], 5) != NULL;
    if (unit.len == 0 || unit.ptr[0] != 's' || (unit.len != 1 && !closed) ||
        !tc_slice_is_u64(number, &seconds) || seconds < SECONDS_PLAIN ||
        seconds > TC_TIME_MAX / TC_SECOND) {
        return false;
    }
    *out_ns = (int64_t)seconds * TC_SECOND;
    return true;
}

/* The next word of a sentence, empty at its end. A duration in seconds is given in the format of
 * all durations, and may be several words. */
static struct tc_slice next_piece(struct tc_slice *io_rest, char (*scratch)[DURATION_MAX])
{
    struct tc_slice word = next_word(io_rest);
    struct tc_slice rest = *io_rest;
    struct tc_slice unit = next_word(&rest);
    int64_t ns = 0;
    if (!is_long_duration(word, unit, &ns)) {
        return word;
    }
    struct tc_buf b = tc_buf_make(*scratch, sizeof *scratch);
    tc_buf_duration(&b, ns);
    tc_buf_str(&b, tc_slice_from(unit, 1));
    *io_rest = rest;
    return tc_buf_slice(&b);
}

void tc__flow_sentence(struct tc__flow *flow, struct tc_slice s)
{
    char scratch[DURATION_MAX];
    struct tc_slice piece = next_piece(&s, &scratch);
    for (; piece.len > 0; piece = next_piece(&s, &scratch)) {
        tc__flow_words(flow, piece);
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
    tc__flow_sentence(&flow, s);
    if (!flow.started && p->at > 0) {
        tc__page_line(p); /* the line that was begun for it */
    }
    tc__flow_end(&flow);
}

void tc__page_uncut(struct tc__page *p, struct tc_slice s)
{
    struct tc_slice word = next_word(&s);
    for (bool first = true; word.len > 0; word = next_word(&s)) {
        tc__page_blank(p, !first);
        tc__page_text(p, word);
        first = false;
    }
}

void tc__page_cut(struct tc__page *p, struct tc_slice s, unsigned width)
{
    struct tc_slice rest = s;
    unsigned used = 0;
    for (struct tc_slice word = next_word(&rest); word.len > 0; word = next_word(&rest)) {
        unsigned needed = text_width(word) + (used > 0);
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
        unsigned needed = text_width(point);
        if (used + needed + 1 > width) {
            break;
        }
        tc__page_text(p, point);
        used += needed;
        word = tc_slice_from(word, len);
    }
    tc__page_text(p, TC_LIT("\xe2\x80\xa6"));
}
