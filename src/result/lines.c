/* SPDX-License-Identifier: Apache-2.0 */
#include "result/lines_priv.h"

#include "base/buf.h"
#include "base/json/raw.h"
#include "result/map.h"

#include <string.h>

#define S(literal) TC_LIT(literal)
#define ESCAPE '\x1b'
/* A tag of mpirun. */
#define TAG_MAX_BYTES 192

struct tc__lines tc__lines_of(struct tc_slice text)
{
    while (text.len > 0 && tc_json_is_space(text.ptr[text.len - 1])) {
        text.len--;
    }
    return (struct tc__lines){.rest = text};
}

bool tc__lines_next(struct tc__lines *l, struct tc_slice *out)
{
    if (l->rest.len == 0) {
        return false;
    }
    struct tc_slice line = tc_slice_cut(l->rest, '\n', &l->rest);
    while (line.len > 0 && line.ptr[line.len - 1] == '\r') {
        line.len--;
    }
    const char *last = line.len == 0 ? NULL : memrchr(line.ptr, '\r', line.len);
    l->line++;
    *out = last == NULL ? line : tc_slice_from(line, (size_t)(last - line.ptr) + 1);
    return true;
}

bool tc__lines_next_part(struct tc__lines *l, struct tc_slice *out)
{
    if (l->rest.len == 0) {
        return false;
    }
    size_t end = 0;
    while (end < l->rest.len && l->rest.ptr[end] != '\n' && l->rest.ptr[end] != '\r') {
        end++;
    }
    l->line += !l->in_line;
    l->in_line = end < l->rest.len && l->rest.ptr[end] == '\r';
    *out = tc_slice_head(l->rest, end);
    l->rest = tc_slice_from(l->rest, end + 1);
    return true;
}

/* The length of the escape sequence at the start of s: ESC [ ... letter, or ESC and a character. */
static size_t escape_length(struct tc_slice s)
{
    size_t at = 2;
    if (s.len < 2 || s.ptr[1] != '[') {
        return s.len < 2 ? s.len : 2;
    }
    while (at < s.len && (unsigned char)s.ptr[at] >= 0x20 && (unsigned char)s.ptr[at] < 0x40) {
        at++;
    }
    return at < s.len ? at + 1 : at;
}

struct tc_slice tc__line_plain(struct tc_slice line, char *memory, size_t size)
{
    size_t at = tc_slice_find_byte(line, ESCAPE);
    if (at == TC_NPOS) {
        return line;
    }
    struct tc_buf b = tc_buf_make(memory, size);
    for (at = 0; at < line.len && !b.overflowed;) {
        if (line.ptr[at] == ESCAPE) {
            at += escape_length(tc_slice_from(line, at));
        } else {
            tc_buf_char(&b, line.ptr[at++]);
        }
    }
    return tc_buf_slice(&b);
}

static size_t digits_at(struct tc_slice s, size_t at, long *out)
{
    uint64_t value = 0;
    size_t used = tc_slice_u64(tc_slice_from(s, at), &value);
    if (used == 0 || value > INT32_MAX) {
        return 0;
    }
    *out = (long)value;
    return used;
}

/* "[rank0]:", "[default0]:" of torchrun. */
static size_t role_length(struct tc_slice s, long *out_rank)
{
    size_t at = 1;
    if (s.len < 4 || s.ptr[0] != '[') {
        return 0;
    }
    while (at < s.len && ((s.ptr[at] >= 'a' && s.ptr[at] <= 'z') || s.ptr[at] == '_')) {
        at++;
    }
    size_t digits = at > 1 ? digits_at(s, at, out_rank) : 0;
    return digits > 0 && tc_slice_starts(tc_slice_from(s, at + digits), S("]:")) ? at + digits + 2
                                                                                 : 0;
}

/* "[1,0]<stdout>:", "[prterun-node1-12@1,0]<stdout>: ", "[1,mpirank:0,algo-1]<stderr>:" and times
 * before them, of mpirun. */
static size_t tag_length(struct tc_slice s, long *out_rank)
{
    struct tc_slice head = tc_slice_head(s, TAG_MAX_BYTES);
    size_t end = tc_slice_find(head, S("<stdout>:"));
    end = end == TC_NPOS ? tc_slice_find(head, S("<stderr>:")) : end;
    if (end == TC_NPOS) {
        return 0;
    }
    struct tc_slice tag = tc_slice_head(head, end);
    size_t named = tc_slice_find(tag, S("mpirank:"));
    size_t comma = tc_slice_find_byte(tag, ',');
    if (named != TC_NPOS) {
        (void)digits_at(tag, named + S("mpirank:").len, out_rank);
    } else if (comma != TC_NPOS) {
        (void)digits_at(tag, comma + 1, out_rank);
    }
    return end + S("<stdout>:").len;
}

/* The bytes of one launcher's prefix, 0 for none. */
static size_t prefix_length(struct tc_slice s, long *out_rank)
{
    size_t at = 0;
    while (at < s.len && s.ptr[at] == ' ') {
        at++;
    }
    size_t used = digits_at(s, at, out_rank);
    if (used > 0 && tc_slice_starts(tc_slice_from(s, at + used), S(": "))) {
        return at + used + 2;
    }
    if (used > 0 && at + used + 1 == s.len && s.ptr[at + used] == ':') {
        return s.len;
    }
    used = role_length(tc_slice_from(s, at), out_rank);
    return used > 0 ? at + used : tag_length(s, out_rank);
}

struct tc_slice tc__line_bare(struct tc_slice line, long *out_rank)
{
    *out_rank = -1;
    long rank = -1;
    size_t used = prefix_length(line, &rank);
    if (used > 0) {
        *out_rank = rank;
        line = tc_slice_from(line, used);
    }
    return line;
}

struct tc_slice tc__word_next(struct tc_slice *io_rest)
{
    struct tc_slice s = *io_rest;
    size_t start = 0;
    while (start < s.len && (s.ptr[start] == ' ' || s.ptr[start] == '\t')) {
        start++;
    }
    size_t end = start;
    while (end < s.len && s.ptr[end] != ' ' && s.ptr[end] != '\t') {
        end++;
    }
    *io_rest = tc_slice_from(s, end);
    return tc_slice_make(s.ptr + start, end - start);
}

bool tc__word_in(struct tc_slice word, const char *words)
{
    struct tc_slice rest = tc_slice_cstr(words);
    struct tc_slice next;
    while ((next = tc__word_next(&rest)).len > 0) {
        if (tc_slice_eq(next, word)) {
            return true;
        }
    }
    return false;
}

bool tc__text_after(struct tc_slice text, struct tc_slice what, struct tc_slice *out)
{
    size_t at = tc_slice_find(text, what);
    if (at == TC_NPOS) {
        return false;
    }
    *out = tc_slice_from(text, at + what.len);
    return true;
}

bool tc__csv_field(struct tc_slice *io_line, struct tc_slice *out)
{
    if (io_line->ptr == NULL) {
        return false;
    }
    struct tc_slice line = *io_line;
    if (line.len > 0 && line.ptr[0] == '"') {
        size_t end = tc_slice_find_byte(tc_slice_from(line, 1), '"');
        end = end == TC_NPOS ? line.len - 1 : end;
        *out = tc_slice_make(line.ptr + 1, end);
        line = tc_slice_from(line, end + 2);
        *io_line = line.len > 0 && line.ptr[0] == ',' ? tc_slice_from(line, 1) : TC_EMPTY;
        return true;
    }
    size_t comma = tc_slice_find_byte(line, ',');
    *out = comma == TC_NPOS ? line : tc_slice_head(line, comma);
    *io_line = comma == TC_NPOS ? TC_EMPTY : tc_slice_from(line, comma + 1);
    return true;
}

bool tc__csv_number(struct tc_slice text, double *out)
{
    char data[64];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != ',') {
            tc_buf_char(&b, text.ptr[i]);
        }
    }
    return !b.overflowed && tc_map_parse_number(tc_slice_trim(tc_buf_slice(&b)), out);
}

struct tc_slice tc__path_last(struct tc_slice path)
{
    const char *last = path.len == 0 ? NULL : memrchr(path.ptr, '/', path.len);
    return last == NULL ? path : tc_slice_from(path, (size_t)(last - path.ptr) + 1);
}
