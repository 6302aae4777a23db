/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/match_priv.h"

#include "event/event.h"

#include <math.h>
#include <stdlib.h>

#define SPECIAL "*%<|>{}$"
/* Characters of a number that are looked at. */
#define NUMBER_MAX 40

struct match {
    struct tc_slice rest;
    const char *start; /* of the part that is being remembered */
    unsigned slot;
    struct tc_slice got[TC__TEXT_SLOTS];
};

/* Whether %kind takes that byte. */
static bool takes(char kind, char c)
{
    switch (kind) {
    case 's':
        return c == ' ' || c == '\t';
    case 'w':
        return c != ' ' && c != ',' && c != ')';
    case 'n':
        return c != ' ' && c != '\t' && c != ':';
    case 'p':
        return c != ' ';
    case 'd':
        return tc_is_digit(c);
    case 'x':
        return tc_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
    default: /* f */
        return tc_is_digit(c) || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
    }
}

static inline __attribute__((always_inline)) size_t span(struct tc_slice s, size_t at, char kind)
{
    size_t start = at;
    while (at < s.len && takes(kind, s.ptr[at])) {
        at++;
    }
    return at - start;
}

/* A loop for each of the classes that words are made of. */
static size_t span_of(struct tc_slice s, size_t at, char kind)
{
    return kind == 'n'   ? span(s, at, 'n')
           : kind == 'p' ? span(s, at, 'p')
           : kind == 's' ? span(s, at, 's')
           : kind == 'd' ? span(s, at, 'd')
                         : span(s, at, kind);
}

/* Over blanks and "\x1b[32m". */
static size_t blank_length(struct tc_slice s)
{
    size_t at = span_of(s, 0, 's');
    while (tc_slice_starts(tc_slice_from(s, at), TC_LIT("\x1b["))) {
        at += 2;
        while (at < s.len && (tc_is_digit(s.ptr[at]) || s.ptr[at] == ';')) {
            at++;
        }
        at += at < s.len;
        at += span_of(s, at, 's');
    }
    return at;
}

/* The bytes that %kind takes from the start of the text; TC_NPOS when it is not there. */
static size_t class_length(struct tc_slice s, char kind)
{
    struct tc_bdf pci;
    size_t len = 0;
    switch (kind) {
    case 's':
        return blank_length(s);
    case 'w':
        len = span_of(s, 0, kind);
        return len > 0 && s.ptr[len - 1] == '.' ? len - 1 : len;
    case 'n':
    case 'p':
    case 'd':
    case 'x':
    case 'f':
        len = span_of(s, 0, kind);
        break;
    case 'b':
        len = tc_bdf_parse(s, &pci);
        break;
    default:
        len = s.len > 0 && s.ptr[0] == kind;
        break;
    }
    return len == 0 ? TC_NPOS : len;
}

static bool is_special(char c)
{
    return c == '*' || c == '%' || c == '<' || c == '|' || c == '>' || c == '{' || c == '}' ||
           c == '$' || c == '\0';
}

/* Whether the pattern begins with a byte that the text does not. Most of a table is for others. */
static inline bool cannot_fit(struct tc_slice text, const char *pattern)
{
    if (pattern[0] == '{') {
        pattern += 2;
    }
    if (pattern[0] == '%' && pattern[1] == 'd') {
        return text.len == 0 || !tc_is_digit(text.ptr[0]);
    }
    return !is_special(pattern[0]) && (text.len == 0 || text.ptr[0] != pattern[0]);
}

/* A star: to where the text behind it in the pattern stands. */
static bool skip_to(struct match *m, const char *p)
{
    while (*p == '{' || *p == '}') {
        p += *p == '{' ? 2 : 1;
    }
    struct tc_slice literal = {p, strcspn(p, SPECIAL)};
    size_t at = literal.len == 0 ? m->rest.len : tc_slice_find(m->rest, literal);
    m->rest = tc_slice_from(m->rest, at);
    return at != TC_NPOS;
}

/* Where an alternative ends: at its '|', or at the '>' behind all of them. */
static const char *alternative_end(const char *p)
{
    for (unsigned depth = 0; depth > 0 || (*p != '|' && *p != '>'); p++) {
        depth += *p == '<';
        depth -= *p == '>';
        p += *p == '%';
    }
    return p;
}

static bool match_part(struct match *m, const char **io_pattern);

/* *io_pattern is behind the '<', and then behind the '>'. */
static bool match_choice(struct match *m, const char **io_pattern)
{
    for (const char *p = *io_pattern;; p++) {
        bool fits = false;
        if (!cannot_fit(m->rest, p)) {
            struct match tried = *m;
            const char *end = p;
            fits = match_part(&tried, &end);
            *m = fits ? tried : *m;
        }
        p = alternative_end(p);
        if (fits) {
            while (*p != '>') {
                p = alternative_end(p + 1);
            }
        }
        if (*p == '>') {
            *io_pattern = p + 1;
            return fits;
        }
    }
}

/* The pattern up to its end, or to that of an alternative. */
static bool match_part(struct match *m, const char **io_pattern)
{
    const char *p = *io_pattern;
    for (; *p != '\0' && *p != '|' && *p != '>'; p++) {
        size_t len = 0;
        switch (*p) {
        case '*':
            if (!skip_to(m, p + 1)) {
                return false;
            }
            break;
        case '<':
            p++;
            if (!match_choice(m, &p)) {
                return false;
            }
            p--;
            break;
        case '{':
            p++;
            m->slot = (unsigned)(*p - '0');
            m->start = m->rest.ptr;
            break;
        case '}':
            m->got[m->slot] = tc_slice_make(m->start, (size_t)(m->rest.ptr - m->start));
            break;
        case '$':
            if (m->rest.len > 0) {
                return false;
            }
            break;
        case '%':
            p++;
            len = class_length(m->rest, *p);
            if (len == TC_NPOS) {
                return false;
            }
            break;
        default:
            len = 1;
            if (m->rest.len == 0 || m->rest.ptr[0] != *p) {
                return false;
            }
            break;
        }
        m->rest = tc_slice_from(m->rest, len);
    }
    *io_pattern = p;
    return true;
}

bool tc__text_match(struct tc_slice text, const char *pattern, struct tc_slice out[TC__TEXT_SLOTS])
{
    if (cannot_fit(text, pattern)) {
        return false;
    }
    struct match m = {.rest = text};
    if (!match_part(&m, &pattern)) {
        return false;
    }
    memcpy(out, m.got, sizeof m.got);
    return true;
}

size_t tc__text_number(struct tc_slice s, double *out)
{
    char text[NUMBER_MAX + 1];
    size_t len = 0;
    while (len < s.len && len < NUMBER_MAX && strchr("0123456789+-.eE", s.ptr[len]) != NULL &&
           s.ptr[len] != '\0') {
        text[len] = s.ptr[len];
        len++;
    }
    text[len] = '\0';
    char *end = text;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value)) {
        return 0;
    }
    *out = value;
    return (size_t)(end - text);
}
