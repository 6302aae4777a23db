/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libfyaml 0.7 must not see. It can loop for ever over directives, control
 * characters and bytes that are not UTF-8; and wherever a flow collection might
 * be a key it keeps every token until the collection closes, some 600 bytes for
 * each, so that a line of brackets takes hundreds of times its size.
 *
 * The second is bounded without reading YAML twice: a line from which nothing
 * can be open ("key: word", "- key:") ends what may be kept, and so does the
 * next key at or left of the column of the entry that something was opened in,
 * for libfyaml ends a flow collection or quoted text there with an error. All
 * between two such lines counts, whatever it is.
 */
#include "base/yaml/screen.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

/* Brackets, commas, tags, anchors and aliases that may be kept: about 30 MB. */
#define YAML_PENDING_MAX ((size_t)32 << 10)
/* Bytes of one entry that is not known to have ended; quoted ones can take 32 times as much. */
#define YAML_SPAN_MAX ((size_t)1 << 20)

/* Left of every column: nothing ends what is open. */
#define COLUMN_NONE (-1)

/*
 * Invariant: what was opened since `start` lies in a block entry at `column` or
 * right of it; when is_open is false nothing is.
 */
struct lines {
    struct tc_slice text;
    size_t start;   /* of the line that last began outside of everything */
    size_t pending; /* flow indicators since then */
    int64_t column;
    bool is_open;
};

/* How a line begins: "- ", "key:", "- key:" or otherwise. */
struct head {
    bool has_dash;
    bool has_key;
    int64_t column; /* of the key, else of the last dash */
    struct tc_slice value;
};

static size_t utf8_length(struct tc_slice text, size_t at)
{
    unsigned char c = (unsigned char)text.ptr[at];
    size_t len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    uint32_t code = len == 1 ? c : c & (0x7fU >> len);
    if (len > text.len - at) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        c = (unsigned char)text.ptr[at + i];
        if ((c & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (c & 0x3fU);
    }
    bool overlong = (len == 3 && code < 0x800) || (len == 4 && code < 0x10000);
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return overlong || surrogate || code > 0x10ffff ? 0 : len;
}

static bool is_among(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* A character that begins plain text and nothing else. */
static bool begins_plain(struct tc_slice s)
{
    char c = s.len == 0 ? '\0' : s.ptr[0];
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           is_among(c, "_./");
}

/* The text without quotes that opens and ends the slice, or false. */
static bool is_quoted(struct tc_slice s)
{
    if (s.len < 2 || (s.ptr[0] != '"' && s.ptr[0] != '\'') || s.ptr[s.len - 1] != s.ptr[0]) {
        return false;
    }
    struct tc_slice inner = tc_slice_make(s.ptr + 1, s.len - 2);
    return memchr(inner.ptr, s.ptr[0], inner.len) == NULL &&
           memchr(inner.ptr, '\\', inner.len) == NULL;
}

/* Where the colon of "key: " or "key:" is, TC_NPOS when the text has none. */
static size_t find_colon(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == ':' && (i + 1 == s.len || s.ptr[i + 1] == ' ' || s.ptr[i + 1] == '\t')) {
            return i;
        }
    }
    return TC_NPOS;
}

/* `line` begins at its first character that is no space, in that column. */
static struct head head_read(struct tc_slice line, size_t column)
{
    struct head h = {.column = COLUMN_NONE, .value = line};
    while (h.value.len > 0 && h.value.ptr[0] == '-' &&
           (h.value.len == 1 || h.value.ptr[1] == ' ')) {
        h.has_dash = true;
        h.column = (int64_t)column;
        size_t step = 1;
        while (step < h.value.len && h.value.ptr[step] == ' ') {
            step++;
        }
        column += step;
        h.value = tc_slice_from(h.value, step);
    }
    size_t colon = find_colon(h.value);
    struct tc_slice key = colon == TC_NPOS ? TC_EMPTY : tc_slice_head(h.value, colon);
    bool plain = begins_plain(key) && memchr(key.ptr, '#', key.len) == NULL;
    if (plain || is_quoted(key)) {
        h.has_key = true;
        h.column = (int64_t)column;
        h.value = tc_slice_trim(tc_slice_from(h.value, colon + 1));
    }
    return h;
}

/* True when nothing but plain text can go on behind the line that ends with this. */
static bool is_closed(struct tc_slice value)
{
    return value.len == 0 || tc_slice_eq(value, S("{}")) || tc_slice_eq(value, S("[]")) ||
           is_quoted(value) || (begins_plain(value) && find_colon(value) == TC_NPOS);
}

/* U+0085, U+2028 and U+2029 end a line for some readers. */
static bool has_odd_break(struct tc_slice line)
{
    return tc_slice_contains(line, S("\xc2\x85")) || tc_slice_contains(line, S("\xe2\x80\xa8")) ||
           tc_slice_contains(line, S("\xe2\x80\xa9"));
}

/* A line that begins outside of everything. */
static void settle(struct lines *l, size_t at, int64_t indent, struct tc_slice line,
                   const struct head *h)
{
    l->start = at;
    l->pending = 0;
    if (tc_slice_eq(line, S("---"))) {
        l->column = COLUMN_NONE;
        l->is_open = false;
    } else if (h->has_dash || h->has_key) {
        l->column = h->column;
        l->is_open = !is_closed(h->value);
    } else {
        /* More of the text before, or a value below its key. */
        l->is_open = indent <= l->column || !is_closed(line);
        l->column = indent <= l->column ? COLUMN_NONE : l->column;
    }
}

static void read_line(struct lines *l, size_t at, size_t end)
{
    struct tc_slice line = tc_slice_make(l->text.ptr + at, end - at);
    size_t column = 0;
    while (column < line.len && line.ptr[column] == ' ') {
        column++;
    }
    int64_t indent = (int64_t)column;
    bool odd = has_odd_break(line);
    line = tc_slice_trim(line);
    if (!odd && (line.len == 0 || line.ptr[0] == '#')) {
        return;
    }
    bool tabbed = column < end - at && l->text.ptr[at + column] == '\t';
    struct head h = tabbed ? (struct head){.value = line} : head_read(line, column);
    bool is_key = h.has_key && !h.has_dash;
    bool is_mark = indent == 0 && tc_slice_eq(line, S("---"));
    if (!l->is_open || (is_key && h.column <= l->column) || (is_mark && l->column >= 0)) {
        settle(l, at, indent, line, &h);
    } else if (indent <= l->column) {
        /* Either a part of what is open, or an entry to the left of it. */
        l->column = !h.has_dash ? COLUMN_NONE : h.column < l->column ? h.column : l->column;
    }
    if (odd || tabbed) {
        l->is_open = true;
        l->column = COLUMN_NONE;
    }
    for (size_t i = 0; l->is_open && i < line.len; i++) {
        l->pending += is_among(line.ptr[i], "[]{},!&*");
    }
}

/* What is wrong with the character at `at`, NULL for nothing. */
static const char *judge(struct tc_slice text, size_t at, size_t len, bool line_start,
                         tc_status *out_status)
{
    char c = text.ptr[at];
    if (len == 0) {
        *out_status = TC_E_MALFORMED;
        return "a byte that is not UTF-8";
    }
    if (len == 1 && (c < ' ' || c == 0x7f) && c != '\n' && c != '\r' && c != '\t') {
        *out_status = TC_E_MALFORMED;
        return "a control character";
    }
    if (line_start && c == '%') {
        *out_status = TC_E_UNSUPPORTED;
        return "directives are not read";
    }
    return NULL;
}

/* A line has ended at `at`: what is wrong with the entry it belongs to, NULL for nothing. */
static const char *judge_entry(const struct lines *l, size_t at)
{
    if (l->pending > YAML_PENDING_MAX) {
        return "an entry has too many brackets and commas";
    }
    return at - l->start > YAML_SPAN_MAX ? "an entry is too long" : NULL;
}

const char *tc_yaml_screen(struct tc_slice text, size_t *out_at, tc_status *out_status)
{
    struct lines l = {.text = text, .column = COLUMN_NONE};
    size_t line = 0;
    size_t len = 0;
    bool line_start = true;
    const char *why = NULL;
    *out_status = TC_OK;
    for (size_t at = 0; at <= text.len; at += len) {
        bool at_end = at == text.len;
        bool is_break = !at_end && (text.ptr[at] == '\n' || text.ptr[at] == '\r');
        len = at_end ? 1 : utf8_length(text, at);
        why = at_end ? NULL : judge(text, at, len, line_start, out_status);
        if (at_end || is_break || why != NULL) {
            read_line(&l, line, at);
            line = at + 1;
            const char *limit = judge_entry(&l, at);
            *out_status = limit != NULL ? TC_E_LIMIT : *out_status;
            *out_at = limit != NULL ? l.start : at;
            why = limit != NULL ? limit : why;
        }
        if (why != NULL) {
            break;
        }
        /* A byte order mark does not begin the line. */
        line_start = is_break || (at == 0 && len == 3);
    }
    return why;
}
