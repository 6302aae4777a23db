/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/canonical.h"

#include "base/json/canonical_priv.h"
#include "base/limits.h"
#include "base/table/grow.h"

#include <stdlib.h>

/* Bytes of a place in a message. */
#define PLACE_MAX 120

struct member {
    struct tc_slice name;
    struct tc_json value;
};

/* An array or object that is being written. */
struct frame {
    bool is_object;
    struct tc_json_iter elements; /* array */
    size_t first;                 /* object: its members, sorted, from here on */
    size_t count;
    size_t next;          /* how many were begun */
    struct tc_slice name; /* object: of the one that was begun last */
};

/*
 * Members of the open objects, innermost last. Invariant: those of stack[i] are
 * members[first, first + count), and member_count is where the innermost ones end.
 */
struct writer {
    struct tc_buf *out;
    struct tc_error *err;
    struct frame stack[TC_JSON_DEPTH_MAX];
    size_t depth;
    struct member *members;
    size_t member_count;
    size_t member_cap;
};

/* The place of the value that is being written: a JSON pointer, cut to fit, printable. */
static void place(const struct writer *w, char *text)
{
    struct tc_buf b = tc_buf_make(text, PLACE_MAX - 1);
    for (size_t i = 0; i < w->depth; i++) {
        const struct frame *f = &w->stack[i];
        tc_buf_char(&b, '/');
        if (f->is_object) {
            tc_buf_printable(&b, tc_slice_head(f->name, 40));
        } else {
            tc_buf_u64(&b, f->next - 1);
        }
    }
    if (b.len == 0) {
        tc_buf_lit(&b, "the document");
    }
    text[b.len] = '\0';
}

static tc_status refuse(const struct writer *w, const char *what)
{
    char where[PLACE_MAX];
    place(w, where);
    return tc_fail(w->err, TC_E_MALFORMED, 0, "%s: %s", where, what);
}

/*
 * UTF-16 puts what lies beyond U+FFFF (surrogates, U+D800..) before U+E000..U+FFFF. In UTF-8 these
 * begin with 0xee and 0xef, those with 0xf0..0xf4; all else has the same order.
 */
static unsigned weight(char byte)
{
    unsigned char c = (unsigned char)byte;
    return c == 0xee || c == 0xef ? c + 16U : c;
}

static int by_utf16(const void *a, const void *b)
{
    struct tc_slice x = ((const struct member *)a)->name;
    struct tc_slice y = ((const struct member *)b)->name;
    size_t common = x.len < y.len ? x.len : y.len;
    for (size_t i = 0; i < common; i++) {
        if (x.ptr[i] != y.ptr[i]) {
            return weight(x.ptr[i]) < weight(y.ptr[i]) ? -1 : 1;
        }
    }
    return x.len < y.len ? -1 : x.len > y.len ? 1 : 0;
}

/* The parser writes a lone low surrogate as three bytes that no UTF-8 has. */
static bool has_surrogate(struct tc_slice s)
{
    for (size_t i = 0; i + 1 < s.len; i++) {
        if ((unsigned char)s.ptr[i] == 0xed && (unsigned char)s.ptr[i + 1] >= 0xa0) {
            return true;
        }
    }
    return false;
}

static void escape(struct tc_buf *b, char c)
{
    static const char letters[] = "btn\0fr"; /* U+0008..U+000D; none for U+000B */
    unsigned char u = (unsigned char)c;
    tc_buf_char(b, '\\');
    if (c == '"' || c == '\\') {
        tc_buf_char(b, c);
    } else if (u >= 8 && u <= 13 && letters[u - 8] != '\0') {
        tc_buf_char(b, letters[u - 8]);
    } else {
        tc_buf_char(b, 'u');
        tc_buf_hex(b, u, 4);
    }
}

static tc_status write_string(struct writer *w, struct tc_slice s)
{
    struct tc_buf *b = w->out;
    if (has_surrogate(s)) {
        return refuse(w, "a string with half a surrogate pair is no Unicode");
    }
    tc_buf_char(b, '"');
    size_t start = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if ((unsigned char)c < 0x20 || c == '"' || c == '\\') {
            tc_buf_str(b, tc_slice_make(s.ptr + start, i - start));
            escape(b, c);
            start = i + 1;
        }
    }
    tc_buf_str(b, tc_slice_from(s, start));
    tc_buf_char(b, '"');
    return TC_OK;
}

static tc_status write_number(struct writer *w, struct tc_json v)
{
    char text[TC_PUT_U64_MAX + 1];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    int64_t integer = 0;
    uint64_t large = 0;
    double value = 0;
    (void)tc_json_double(v, &value);
    if (tc_json_type(v) == TC_JSON_INT && tc_json_int(v, &integer)) {
        tc_buf_i64(&b, integer);
    } else if (tc_json_uint(v, &large)) {
        tc_buf_u64(&b, large);
    }
    if (b.len > 0 && !tc__integer_is_double(tc_buf_slice(&b), value)) {
        return refuse(w, "an integer that no double is; write it as a string");
    }
    tc_buf_ecma(w->out, value);
    return TC_OK;
}

static tc_status room_for(struct writer *w, size_t count)
{
    if (tc_grow_items(w->members, w->member_cap, w->member_count + count, SIZE_MAX) != TC_OK) {
        return tc_fail(w->err, TC_E_NOMEM, 0, "no memory for %zu members of a JSON object", count);
    }
    return TC_OK;
}

/* Puts the members of an object on the stack, in the order in which they are written. */
static tc_status gather(struct writer *w, struct tc_json object, struct frame *f)
{
    struct tc_json_iter it = tc_json_iter_make(object);
    struct member m;
    while (tc_json_iter_next(&it, &m.name, &m.value)) {
        TC_TRY(room_for(w, 1));
        w->members[w->member_count++] = m;
        f->count++;
    }
    if (f->count < 2) {
        return TC_OK;
    }
    struct member *first = w->members + f->first;
    qsort(first, f->count, sizeof *first, by_utf16);
    for (size_t i = 1; i < f->count; i++) {
        if (tc_slice_eq(first[i - 1].name, first[i].name)) {
            f->name = first[i].name;
            return refuse(w, "the name occurs twice in one object");
        }
    }
    return TC_OK;
}

/* Begins an array or object. */
static tc_status open_frame(struct writer *w, struct tc_json v, bool is_object)
{
    if (w->depth == TC_JSON_DEPTH_MAX) {
        return tc_fail(w->err, TC_E_LIMIT, 0, "JSON nested deeper than %d levels",
                       TC_JSON_DEPTH_MAX);
    }
    struct frame *f = &w->stack[w->depth++];
    *f = (struct frame){.is_object = is_object, .first = w->member_count};
    tc_buf_char(w->out, is_object ? '{' : '[');
    if (is_object) {
        return gather(w, v, f);
    }
    f->elements = tc_json_iter_make(v);
    return TC_OK;
}

static tc_status write_value(struct writer *w, struct tc_json v)
{
    struct tc_slice s;
    bool truth = false;
    switch (tc_json_type(v)) {
    case TC_JSON_NULL:
        tc_buf_lit(w->out, "null");
        return TC_OK;
    case TC_JSON_BOOL:
        (void)tc_json_bool(v, &truth);
        tc_buf_put(w->out, truth ? "true" : "false", truth ? 4 : 5);
        return TC_OK;
    case TC_JSON_INT:
    case TC_JSON_UINT:
    case TC_JSON_DOUBLE:
        return write_number(w, v);
    case TC_JSON_STRING:
        (void)tc_json_string(v, &s);
        return write_string(w, s);
    case TC_JSON_ARRAY:
        return open_frame(w, v, false);
    case TC_JSON_OBJECT:
        return open_frame(w, v, true);
    }
    return TC_OK;
}

/* The next value of the innermost array or object, after its comma and name; or its end. */
static tc_status step(struct writer *w)
{
    struct frame *f = &w->stack[w->depth - 1];
    struct tc_json v;
    if (f->is_object ? f->next == f->count : !tc_json_iter_next(&f->elements, NULL, &v)) {
        tc_buf_char(w->out, f->is_object ? '}' : ']');
        w->member_count = f->first;
        w->depth--;
        return TC_OK;
    }
    if (f->next++ > 0) {
        tc_buf_char(w->out, ',');
    }
    if (f->is_object) {
        const struct member *m = &w->members[f->first + f->next - 1];
        v = m->value;
        f->name = m->name;
        TC_TRY(write_string(w, m->name));
        tc_buf_char(w->out, ':');
    }
    return write_value(w, v);
}

tc_status tc_canonical_value(struct tc_json value, struct tc_buf *out, struct tc_error *err)
{
    struct writer w = {.out = out, .err = err};
    tc_status status = write_value(&w, value);
    while (status == TC_OK && w.depth > 0 && !out->overflowed) {
        status = step(&w);
    }
    free(w.members);
    if (status == TC_OK && out->overflowed) {
        status = tc_fail(err, TC_E_LIMIT, 0, "canonical JSON of more than %zu bytes", out->cap);
    }
    return status;
}
