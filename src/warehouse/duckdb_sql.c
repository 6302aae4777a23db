/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb_sql_priv.h"

#include <math.h>

/*
 * Functions that a SELECT can call and that do more than look at tables: they read files, change
 * the state of the database or of the process, take addresses, or run SQL that is made of strings.
 */
static const char *const BANNED[] = {
    "arrow_scan",
    "arrow_scan_dumb",
    "checkpoint",
    "disable_logging",
    "enable_logging",
    "force_checkpoint",
    "glob",
    "index_scan",
    "json_execute_serialized_sql",
    "nextval",
    "query",
    "query_table",
    "seq_scan",
    "setseed",
    "sniff_csv",
    "truncate_duckdb_logs",
    "which_secret",
    "write_log",
};
static const char *const BANNED_PREFIX[] = {"read_", "parquet_"};

/* How a query begins. Beside them: a bracket. */
static const char *const FIRST[] = {
    "select", "with", "from", "values", "table", "describe", "desc", "show", "summarize",
};

enum kind { WORD, QUOTED, SIGN, OTHER, END };

struct token {
    enum kind kind;
    struct tc_slice text; /* of a quoted name: without the quotes */
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
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
    bool digit = at + 1 < s.len && s.ptr[at + 1] >= '0' && s.ptr[at + 1] <= '9';
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

static bool is_banned(struct tc_slice name)
{
    for (size_t i = 0; i < sizeof BANNED_PREFIX / sizeof BANNED_PREFIX[0]; i++) {
        struct tc_slice prefix = tc_slice_cstr(BANNED_PREFIX[i]);
        if (tc_slice_eq_nocase(tc_slice_head(name, prefix.len), prefix)) {
            return true;
        }
    }
    return is_one_of(name, BANNED, sizeof BANNED / sizeof BANNED[0]);
}

static bool is_sign(const struct token *t, char sign)
{
    return t->kind == SIGN && t->text.ptr[0] == sign;
}

static bool is_first(const struct token *t)
{
    return t->kind == WORD && is_one_of(t->text, FIRST, sizeof FIRST / sizeof FIRST[0]);
}

void tc__sql_look(struct tc_slice sql, struct tc__sql_look *out)
{
    size_t at = 0;
    size_t count = 0;
    bool explains = false;
    struct token before = {END, TC_EMPTY};
    *out = (struct tc__sql_look){.end = sql.len};
    for (;;) {
        struct token t = next(sql, &at);
        if (t.kind == END || is_sign(&t, ';')) {
            out->end = t.kind == END ? sql.len : (size_t)(t.text.ptr - sql.ptr);
            return;
        }
        if (count == 0) {
            explains = t.kind == WORD && tc_slice_eq_nocase(t.text, TC_LIT("explain"));
            out->reads = is_first(&t) || is_sign(&t, '(');
        } else if (count == 1 && explains) {
            out->reads = is_first(&t);
        }
        if (is_sign(&t, '(') && (before.kind == WORD || before.kind == QUOTED) &&
            is_banned(before.text) && out->banned.len == 0) {
            out->banned = before.text;
        }
        before = t;
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

static void put_value(struct tc_buf *b, const struct tc_bind *v)
{
    switch (v->type) {
    case TC_COLUMN_TEXT:
        tc_buf_char(b, '\'');
        for (size_t i = 0; i < v->as.text.len; i++) {
            tc_buf_str(b, v->as.text.ptr[i] == '\'' ? TC_LIT("\'") : TC_EMPTY);
            tc_buf_char(b, v->as.text.ptr[i]);
        }
        tc_buf_lit(b, "'::VARCHAR");
        break;
    case TC_COLUMN_INT:
        tc_buf_char(b, '\'');
        tc_buf_i64(b, v->as.integer);
        tc_buf_lit(b, "'::BIGINT");
        break;
    case TC_COLUMN_REAL:
        tc_buf_char(b, '\'');
        tc_buf_f64(b, v->as.real);
        tc_buf_lit(b, "'::DOUBLE");
        break;
    case TC_COLUMN_BOOL:
        tc_buf_str(b, v->as.integer != 0 ? TC_LIT("true") : TC_LIT("false"));
        break;
    case TC_COLUMN_TIME:
        tc_buf_lit(b, "make_timestamp('");
        tc_buf_i64(b, v->as.integer);
        tc_buf_lit(b, "'::BIGINT)");
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
