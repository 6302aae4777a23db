/* SPDX-License-Identifier: Apache-2.0 */
/* Where statements end, and where the one that is wrong is wrong. */
#include "cli/output/say.h"
#include "cli/sql/sql.h"

#include <string.h>

/* Of a line that is shown. */
#define SHOWN_MAX 160

/* Behind the quoted text at `at`; the length of the text when it is not closed. */
static size_t skip_quoted(struct tc_slice s, size_t at)
{
    char quote = s.ptr[at];
    for (size_t i = at + 1; i < s.len; i++) {
        if (s.ptr[i] != quote) {
            continue;
        }
        if (i + 1 < s.len && s.ptr[i + 1] == quote) {
            i++;
        } else {
            return i + 1;
        }
    }
    return s.len + 1;
}

static size_t skip_to(struct tc_slice s, size_t at, struct tc_slice end)
{
    size_t found = tc_slice_find(tc_slice_from(s, at), end);
    return found == TC_NPOS ? s.len + 1 : at + found + end.len;
}

/* Behind a comment or quoted text at `at`, or `at` when there is none. Beyond the end of the text
 * when it is not closed there. */
static size_t skip(struct tc_slice s, size_t at)
{
    struct tc_slice rest = tc_slice_from(s, at);
    if (rest.ptr[0] == '\'' || rest.ptr[0] == '"') {
        return skip_quoted(s, at);
    }
    if (tc_slice_starts(rest, TC_LIT("--"))) {
        size_t line = tc_slice_find_byte(rest, '\n');
        return line == TC_NPOS ? s.len : at + line + 1;
    }
    if (tc_slice_starts(rest, TC_LIT("/*"))) {
        return skip_to(s, at + 2, TC_LIT("*/"));
    }
    if (tc_slice_starts(rest, TC_LIT("$$"))) {
        return skip_to(s, at + 2, TC_LIT("$$"));
    }
    return at;
}

size_t tc_sql_statement(struct tc_slice text)
{
    for (size_t i = 0; i < text.len;) {
        if (text.ptr[i] == ';') {
            return i + 1;
        }
        size_t next = skip(text, i);
        i = next == i ? i + 1 : next;
    }
    return 0;
}

bool tc_sql_is_blank(struct tc_slice text)
{
    for (size_t i = 0; i < text.len;) {
        char c = text.ptr[i];
        bool comment = c == '-' || c == '/';
        size_t next = comment ? skip(text, i) : i;
        if (next == i && c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != ';') {
            return false;
        }
        i = next == i ? i + 1 : next;
    }
    return true;
}

/* Where a word stands in the query by itself; TC_NPOS when nowhere. */
static size_t find_word(struct tc_slice sql, struct tc_slice word)
{
    for (size_t at = 0; at + word.len <= sql.len; at++) {
        size_t found = tc_slice_find_nocase(tc_slice_from(sql, at), word);
        if (found == TC_NPOS) {
            return TC_NPOS;
        }
        at += found;
        bool starts = at == 0 || !tc_is_word(sql.ptr[at - 1]) || !tc_is_word(word.ptr[0]);
        size_t end = at + word.len;
        bool ends =
            end == sql.len || !tc_is_word(sql.ptr[end]) || !tc_is_word(word.ptr[word.len - 1]);
        if (starts && ends) {
            return at;
        }
    }
    return TC_NPOS;
}

/* Engines name what they stumble over: 'Table with name runs does not exist', 'syntax error at or
 * near "FORM"'. */
static size_t find_place(struct tc_slice sql, struct tc_slice message)
{
    struct tc_slice name = TC_LIT("with name ");
    struct tc_slice rest;
    size_t at = tc_slice_find(message, name);
    if (at != TC_NPOS) {
        struct tc_slice word = tc_slice_cut(tc_slice_from(message, at + name.len), ' ', &rest);
        at = word.len == 0 ? TC_NPOS : find_word(sql, word);
    }
    if (at == TC_NPOS) {
        (void)tc_slice_cut(message, '"', &rest);
        struct tc_slice word = tc_slice_cut(rest, '"', &rest);
        at = word.len == 0 ? TC_NPOS : find_word(sql, word);
    }
    return at;
}

void tc_sql_say_error(struct tc_slice sql, const struct tc_error *err)
{
    char shown[SHOWN_MAX * 4 + 1];
    char caret[SHOWN_MAX * 4 + 2];
    tc_say("sql", "%s", err->message);
    size_t at = err->status != TC_E_USAGE ? TC_NPOS
                : err->offset > 0         ? err->offset
                                          : find_place(sql, tc_slice_cstr(err->message));
    if (at == TC_NPOS || at >= sql.len) {
        return;
    }
    size_t start = at;
    while (start > 0 && sql.ptr[start - 1] != '\n' && at - start < SHOWN_MAX / 2) {
        start--;
    }
    struct tc_slice line = tc_slice_from(sql, start);
    line = tc_slice_head(line, tc_slice_find_byte(line, '\n'));
    line = tc_slice_head(line, SHOWN_MAX);
    struct tc_buf b = tc_buf_make(shown, sizeof shown - 1);
    tc_buf_printable(&b, tc_slice_head(line, at - start));
    size_t column = 0;
    for (size_t i = 0; i < b.len; i++) {
        column += (b.data[i] & 0xc0) != 0x80;
    }
    tc_buf_printable(&b, tc_slice_from(line, at - start));
    shown[b.len] = '\0';
    memset(caret, ' ', column);
    caret[column] = '^';
    caret[column + 1] = '\0';
    tc_say_plain("  %s", shown);
    tc_say_plain("  %s", caret);
}
