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

static size_t span_of(struct tc_slice s, const char *bytes, bool of_these)
{
    size_t len = 0;
    while (len < s.len && (s.ptr[len] != '\0' && strchr(bytes, s.ptr[len]) != NULL) == of_these) {
        len++;
    }
    return len;
}

/* Over blanks and "\x1b[32m". */
static size_t blank_length(struct tc_slice s)
{
    size_t at = 0;
    for (;;) {
        at += span_of(tc_slice_from(s, at), " \t", true);
        struct tc_slice rest = tc_slice_from(s, at);
        if (!tc_slice_starts(rest, TC_LIT("\x1b["))) {
            return at;
        }
        at += 2 + span_of(tc_slice_from(rest, 2), "0123456789;", true);
        at += at < s.len;
    }
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
        len = span_of(s, " ,)", false);
        return len > 0 && s.ptr[len - 1] == '.' ? len - 1 : len;
    case 'n':
        len = span_of(s, " \t:", false);
        break;
    case 'p':
        len = span_of(s, " ", false);
        break;
    case 'd':
        len = span_of(s, "0123456789", true);
        break;
    case 'x':
        len = span_of(s, "0123456789abcdefABCDEF", true);
        break;
    case 'f':
        len = span_of(s, "0123456789+-.eE", true);
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
        struct match tried = *m;
        const char *end = p;
        bool fits = match_part(&tried, &end);
        p = alternative_end(p);
        if (fits) {
            *m = tried;
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
    /* Most patterns of a table are for other lines. */
    if (strchr(SPECIAL, pattern[0]) == NULL && (text.len == 0 || text.ptr[0] != pattern[0])) {
        return false;
    }
    struct match m = {.rest = text};
    bool fits = match_part(&m, &pattern);
    memcpy(out, m.got, sizeof m.got);
    return fits;
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
