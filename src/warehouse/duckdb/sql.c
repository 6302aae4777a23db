/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb/sql_priv.h"

#include <math.h>

/* How a query begins. Beside them: a bracket. */
static const char *const FIRST[] = {
    "select", "with",      "from",  "values",  "table",       "describe",     "desc",
    "show",   "summarize", "pivot", "unpivot", "pivot_wider", "pivot_longer",
};

enum kind { WORD, QUOTED, SIGN, OTHER, END };

struct token {
    enum kind kind;
    struct tc_slice text; /* of a quoted name: without the quotes */
};

static bool is_word(char c)
{
    return tc_is_word(c) || (unsigned char)c >= 0x80;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Past a string or name in quotes; a doubled quote is part of it. */
static size_t skip_quoted(struct tc_slice s, size_t at, bool backslash)
{
    char quote = s.ptr[at++];
    for (; at < s.len; at++) {
        if (backslash && s.ptr[at] == '\\') {
            at++;
        } else if (s.ptr[at] == quote) {
            if (at + 1 >= s.len || s.ptr[at + 1] != quote) {
                return at + 1;
            }
            at++;
        }
    }
    return s.len;
}

/* Past $tag$ ... $tag$, or past the sign alone when it begins none (a parameter: $1). */
static size_t skip_dollars(struct tc_slice s, size_t at)
{
    size_t end = at + 1;
    while (end < s.len && is_word(s.ptr[end])) {
        end++;
    }
    bool digit = at + 1 < s.len && tc_is_digit(s.ptr[at + 1]);
    if (digit || end >= s.len || s.ptr[end] != '$') {
        return at + 1;
    }
    struct tc_slice tag = tc_slice_make(s.ptr + at, end + 1 - at);
    size_t close = tc_slice_find(tc_slice_from(s, end + 1), tag);
    return close == TC_NPOS ? s.len : end + 1 + close + tag.len;
}

/* Past white space and comments, which nest when they are of the bracketed kind. */
static size_t skip_blank(struct tc_slice s, size_t at)
{
    while (at < s.len) {
        struct tc_slice rest = tc_slice_from(s, at);
        if (is_space(s.ptr[at])) {
            at++;
        } else if (tc_slice_starts(rest, TC_LIT("--"))) {
            size_t line = tc_slice_find_byte(rest, '\n');
            at = line == TC_NPOS ? s.len : at + line;
        } else if (tc_slice_starts(rest, TC_LIT("/*"))) {
            size_t depth = 0;
            do {
                rest = tc_slice_from(s, at);
                bool opens = tc_slice_starts(rest, TC_LIT("/*"));
                bool closes = tc_slice_starts(rest, TC_LIT("*/"));
                depth = opens ? depth + 1 : closes ? depth - 1 : depth;
                at += opens || closes ? 2 : 1;
            } while (depth > 0 && at < s.len);
        } else {
            break;
        }
    }
    return at < s.len ? at : s.len;
}

static struct token next(struct tc_slice s, size_t *io_at)
{
    size_t start = skip_blank(s, *io_at);
    size_t end = start;
    struct token t = {END, TC_EMPTY};
    if (start < s.len) {
        char c = s.ptr[start];
        if (is_word(c)) {
            while (end < s.len && is_word(s.ptr[end])) {
                end++;
            }
            t.kind = WORD;
            /* E'...' has backslashes. */
            if (end - start == 1 && (c == 'e' || c == 'E') && end < s.len && s.ptr[end] == '\'') {
                end = skip_quoted(s, end, true);
                t.kind = OTHER;
            }
        } else if (c == '\'' || c == '"') {
            end = skip_quoted(s, start, false);
            t.kind = c == '"' ? QUOTED : OTHER;
        } else if (c == '$') {
            end = skip_dollars(s, start);
            t.kind = OTHER;
        } else {
            end = start + 1;
            t.kind = SIGN;
        }
        t.text = tc_slice_make(s.ptr + start, end - start);
        if (t.kind == QUOTED && t.text.len >= 2) {
            t.text = tc_slice_make(s.ptr + start + 1, end - start - 2);
        }
    }
    *io_at = end;
    return t;
}

static bool is_one_of(struct tc_slice name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tc_slice_eq_nocase(name, tc_slice_cstr(list[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_sign(const struct token *t, char sign)
{
    return t->kind == SIGN && t->text.ptr[0] == sign;
}

static bool is_first(const struct token *t)
{
    return t->kind == WORD && is_one_of(t->text, FIRST, TC_COUNT(FIRST));
}

static bool is_the_word(const struct token *t, const char *word)
{
    return t->kind == WORD && tc_slice_eq_nocase(t->text, tc_slice_cstr(word));
}

/* Past the names and commas after a bracket, to what follows their end; false: there is more. */
static bool skip_names(struct tc_slice sql, size_t *io_at)
{
    for (;;) {
        struct token t = next(sql, io_at);
        if (is_sign(&t, ')')) {
            return true;
        }
        bool number = t.kind == WORD && tc_is_digit(t.text.ptr[0]);
        if (number || (t.kind != WORD && t.kind != QUOTED && !is_sign(&t, ','))) {
            return false;
        }
    }
}

/* The second and later of WITH a(x) AS (...), b(y) AS (...): at is behind the first bracket. */
static bool is_with(struct tc_slice sql, size_t at)
{
    if (!skip_names(sql, &at)) {
        return false;
    }
    struct token t = next(sql, &at);
    if (!is_the_word(&t, "as")) {
        return false;
    }
    do {
        t = next(sql, &at);
    } while (is_the_word(&t, "not") || is_the_word(&t, "materialized"));
    return is_sign(&t, '(');
}

/* The tokens before a bracket, the last one first. */
struct before {
    struct token t[3];
    bool distinct_on; /* the one place where a call follows a closing bracket came by */
};

/* FROM (...) t(a, b): at is behind the bracket after the t. */
static bool is_alias(struct tc_slice sql, size_t at, const struct before *b)
{
    return is_sign(&b->t[1], ')') && !b->distinct_on && skip_names(sql, &at);
}

/* Whether the name before a bracket, behind which `at` is, may be there. */
static bool may_call(struct tc_slice sql, size_t at, const struct before *b)
{
    const struct token *name = &b->t[0];
    if (tc__sql_is_series(name->text)) {
        bool compares = is_the_word(&b->t[2], "distinct"); /* a IS DISTINCT FROM range(9) */
        return is_the_word(&b->t[1], "join") || (is_the_word(&b->t[1], "from") && !compares);
    }
    /* Names of columns, where no function can be. */
    bool names = is_the_word(&b->t[1], "as") || is_the_word(&b->t[1], "with") ||
                 is_the_word(&b->t[1], "recursive");
    return names || tc__sql_may_call(name->text) || is_alias(sql, at, b) ||
           (is_sign(&b->t[1], ',') && is_with(sql, at));
}

void tc__sql_look(struct tc_slice sql, struct tc__sql_look *out)
{
    size_t at = 0;
    size_t count = 0;
    bool explains = false;
    struct before before = {{{END, TC_EMPTY}, {END, TC_EMPTY}, {END, TC_EMPTY}}, false};
    *out = (struct tc__sql_look){.end = sql.len};
    for (;;) {
        struct token t = next(sql, &at);
        if (t.kind == END || is_sign(&t, ';')) {
            out->end = t.kind == END ? sql.len : (size_t)(t.text.ptr - sql.ptr);
            out->is_alone = next(sql, &at).kind == END;
            return;
        }
        if (count == 0) {
            explains = is_the_word(&t, "explain");
            out->reads = is_first(&t) || is_sign(&t, '(');
        } else if (count == 1 && explains) {
            out->reads = is_first(&t);
        }
        bool calls = is_sign(&t, '(') && (before.t[0].kind == WORD || before.t[0].kind == QUOTED);
        if (calls && out->banned.len == 0 && !may_call(sql, at, &before)) {
            out->banned = before.t[0].text;
        }
        bool on = is_the_word(&t, "on") && is_the_word(&before.t[0], "distinct");
        before = (struct before){{t, before.t[0], before.t[1]}, before.distinct_on || on};
        count++;
    }
}

/* Around any value but the bytes of a text. */
#define VALUE_MAX 64

size_t tc__sql_values_max(struct tc_slice sql, const struct tc_bind *binds, size_t count)
{
    size_t size = sql.len + count * VALUE_MAX;
    for (size_t i = 0; i < count; i++) {
        size += binds[i].type == TC_COLUMN_TEXT && !binds[i].is_null ? 2 * binds[i].as.text.len : 0;
    }
    return size;
}

static void write_quoted(struct tc_buf *b, const struct tc_arg *arg)
{
    for (size_t i = 0; i < arg->text.len; i++) {
        tc_buf_str(b, arg->text.ptr[i] == '\'' ? TC_LIT("'") : TC_EMPTY);
        tc_buf_char(b, arg->text.ptr[i]);
    }
}

struct tc_arg tc__sql_quoted(struct tc_slice text)
{
    return (struct tc_arg){.write = write_quoted, .text = text};
}

static void put_value(struct tc_buf *b, const struct tc_bind *v)
{
    switch (v->type) {
    case TC_COLUMN_TEXT:
        (void)tc_format(b, "'{}'::VARCHAR", tc__sql_quoted(v->as.text));
        break;
    case TC_COLUMN_INT:
        (void)tc_format(b, "'{}'::BIGINT", v->as.integer);
        break;
    case TC_COLUMN_REAL:
        (void)tc_format(b, "'{}'::DOUBLE", v->as.real);
        break;
    case TC_COLUMN_BOOL:
        tc_buf_str(b, v->as.integer != 0 ? TC_LIT("true") : TC_LIT("false"));
        break;
    case TC_COLUMN_TIME:
        (void)tc_format(b, "make_timestamp('{}'::BIGINT)", v->as.integer);
        break;
    }
}

/* Text without NUL, which ends SQL; numbers that are some. */
static bool is_literal(const struct tc_bind *v)
{
    if (v->is_null) {
        return false;
    }
    if (v->type == TC_COLUMN_TEXT) {
        return v->as.text.len == 0 || memchr(v->as.text.ptr, '\0', v->as.text.len) == NULL;
    }
    return v->type != TC_COLUMN_REAL || isfinite(v->as.real);
}

bool tc__sql_put_values(struct tc_buf *b, struct tc_slice sql, const struct tc_bind *binds,
                        size_t count)
{
    size_t at = 0;
    size_t copied = 0;
    size_t used = 0;
    for (;;) {
        struct token t = next(sql, &at);
        if (t.kind == END) {
            break;
        }
        /* $1, $name and ?1 are for DuckDB. */
        if (t.kind == OTHER && t.text.len == 1 && t.text.ptr[0] == '$') {
            return false;
        }
        if (!is_sign(&t, '?')) {
            continue;
        }
        if (used == count || !is_literal(&binds[used]) || (at < sql.len && is_word(sql.ptr[at]))) {
            return false;
        }
        tc_buf_str(b, tc_slice_make(sql.ptr + copied, at - 1 - copied));
        tc_buf_char(b, '(');
        put_value(b, &binds[used++]);
        tc_buf_char(b, ')');
        copied = at;
    }
    tc_buf_str(b, tc_slice_from(sql, copied));
    return used == count && !b->overflowed;
}
