/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/time.h"
#include "codec/kubectl/priv.h"
#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"

#include <string.h>

#define DAY (86400 * TC_SECOND)
/* An age has at most two parts. */
#define AGE_PARTS 3

/* What terminals, k9s and tickets put between words. */
static const struct tc_slice ODD[] = {
    {"\xc2\xa0", 2},     /* a blank that does not break */
    {"\xe2\x94\x82", 3}, /* a line of a box */
    {"\xe2\x97\x8f", 3}, /* a dot */
    {"\xe2\x86\x91", 3}, /* arrows of the column that is sorted by */
    {"\xe2\x86\x93", 3},
};

/* How many bytes at the start of s are no text; 0 for none. Colours are "\x1b[31m". */
static size_t odd_length(struct tc_slice s)
{
    if (s.ptr[0] == '\x1b') {
        size_t len = 1;
        while (len < s.len && len < 16 && strchr("[0123456789;", s.ptr[len]) != NULL &&
               s.ptr[len] != '\0') {
            len++;
        }
        return len < s.len ? len + 1 : len;
    }
    for (size_t i = 0; i < TC_COUNT(ODD); i++) {
        if (tc_slice_starts(s, ODD[i])) {
            return ODD[i].len;
        }
    }
    return 0;
}

/* Blanks in place of all that is no text; colours leave nothing. As it is where there is no room.
 */
static struct tc_slice clean(struct tc_slice s, struct tc_arena *arena)
{
    bool odd = memchr(s.ptr, '\x1b', s.len) != NULL || memchr(s.ptr, '\xc2', s.len) != NULL ||
               memchr(s.ptr, '\xe2', s.len) != NULL;
    char *to = odd && arena != NULL ? tc_new(arena, char, s.len + 1) : NULL;
    size_t len = 0;
    if (to == NULL) {
        return s;
    }
    for (size_t at = 0; at < s.len;) {
        size_t skip = odd_length(tc_slice_from(s, at));
        if (skip == 0) {
            to[len++] = s.ptr[at++];
            continue;
        }
        if (s.ptr[at] != '\x1b') {
            to[len++] = ' ';
        }
        at += skip;
    }
    return tc_slice_trim(tc_slice_make(to, len));
}

/* A date in front of the line, as of ts(1), is when kubectl said it. */
static void take_date(const struct tc_codec_input *in, struct tc__kubectl_line *io)
{
    int64_t ns = TC_TIME_NONE;
    size_t used = tc_time_parse(io->text, in->utc_offset_s, &ns);
    struct tc_slice rest = tc_slice_from(io->text, used);
    if (used == 0 || !tc_time_is_date(ns) || rest.len < 2 || rest.ptr[0] != ' ' ||
        rest.ptr[1] == ' ') {
        return;
    }
    io->time_ns = ns;
    io->text = tc_slice_trim(rest);
}

/* "[   12.345678] ": the kernel's, and most of what is looked at in vain. */
static bool is_kernel_line(struct tc_slice raw)
{
    return raw.len > 1 && raw.ptr[0] == '[' && (raw.ptr[1] == ' ' || tc_is_digit(raw.ptr[1]));
}

bool tc__kubectl_next(const struct tc_codec_input *in, size_t at, struct tc_arena *arena,
                      struct tc__kubectl_line *out)
{
    struct tc__line line;
    if (!tc__line_cut(in->bytes, at, &out->raw, &out->next)) {
        return false;
    }
    out->at = (size_t)(out->raw.ptr - in->bytes.ptr);
    if (is_kernel_line(out->raw)) {
        out->text = TC_EMPTY;
        out->time_ns = TC_TIME_NONE;
        out->now_ns = in->now_ns;
        return true;
    }
    tc__line_frame(in, tc_slice_head(out->raw, TC_LINE_MAX), arena, &line);
    out->text = clean(tc_slice_trim(line.text), arena);
    out->time_ns = line.around_ns; /* the dates of messages are not when kubectl ran */
    take_date(in, out);
    out->now_ns = out->time_ns == TC_TIME_NONE ? in->now_ns : out->time_ns;
    return true;
}

bool tc__kubectl_age(struct tc_slice text, int64_t *out_ns)
{
    static const struct {
        char letter;
        int64_t ns;
    } units[] = {{'y', 365 * DAY},
                 {'d', DAY},
                 {'h', 3600 * TC_SECOND},
                 {'m', 60 * TC_SECOND},
                 {'s', TC_SECOND}};
    int64_t total = 0;
    size_t at = 0;
    unsigned parts = 0;
    for (size_t unit = 0; at < text.len && unit < TC_COUNT(units) && parts < AGE_PARTS; unit++) {
        uint64_t number = 0;
        size_t used = tc_slice_u64(tc_slice_from(text, at), &number);
        if (used == 0 || used > 6 || at + used >= text.len) {
            return false;
        }
        if (text.ptr[at + used] == units[unit].letter) {
            total += (int64_t)number * units[unit].ns;
            at += used + 1;
            parts++;
        }
    }
    *out_ns = total;
    return parts > 0 && at == text.len;
}

size_t tc__kubectl_date(struct tc_slice text, int64_t *out_ns)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_civil c = {0};
    uint64_t day = 0;
    uint64_t year = 0;
    char bytes[64];
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    if (text.len < 31 || text.ptr[3] != ',' ||
        !tc__text_match(text, "%n {0%d} {1%n} {2%d} {3%d:%d:%d} {4%n}", got)) {
        return 0;
    }
    c.month = tc_time_month(got[1]);
    if (c.month == 0 || got[0].len > 2 || got[2].len != 4 || tc_slice_u64(got[0], &day) == 0 ||
        tc_slice_u64(got[2], &year) == 0) {
        return 0;
    }
    tc_buf_str(&b, got[2]);
    tc_buf_str(&b, c.month < 10 ? TC_LIT("-0") : TC_LIT("-"));
    tc_buf_u64(&b, (uint64_t)c.month);
    tc_buf_str(&b, day < 10 ? TC_LIT("-0") : TC_LIT("-"));
    tc_buf_u64(&b, day);
    tc_buf_char(&b, 'T');
    tc_buf_str(&b, got[3]);
    tc_buf_str(&b, got[4]);
    struct tc_slice iso = tc_buf_slice(&b);
    if (b.overflowed || tc_time_parse(iso, 0, out_ns) != iso.len || *out_ns < 0) {
        return 0;
    }
    return (size_t)(got[4].ptr + got[4].len - text.ptr);
}

size_t tc__kubectl_words(struct tc_slice text, struct tc_slice out[TC__KUBECTL_WORDS])
{
    size_t count = 0;
    for (size_t at = 0; at < text.len && count < TC__KUBECTL_WORDS;) {
        size_t start = at;
        while (at < text.len && !tc_is_blank(text.ptr[at])) {
            at++;
        }
        if (at > start) {
            out[count++] = tc_slice_make(text.ptr + start, at - start);
        }
        while (at < text.len && tc_is_blank(text.ptr[at])) {
            at++;
        }
    }
    return count;
}

struct tc_slice tc__kubectl_cell(struct tc_slice text, struct tc_slice *out_rest)
{
    size_t end = 0;
    while (end < text.len && text.ptr[end] != '\t' &&
           !(text.ptr[end] == ' ' && end + 1 < text.len && tc_is_blank(text.ptr[end + 1]))) {
        end++;
    }
    size_t rest = end;
    while (rest < text.len && tc_is_blank(text.ptr[rest])) {
        rest++;
    }
    *out_rest = tc_slice_from(text, rest);
    return tc_slice_trim(tc_slice_head(text, end));
}

bool tc__kubectl_is_name(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && ((c != '-' && c != '.' && c != '_') || i == 0)) {
            return false;
        }
    }
    return s.len > 0 && s.len <= TC_SCOPE_TEXT_MAX;
}
