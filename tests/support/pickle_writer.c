/* SPDX-License-Identifier: Apache-2.0 */
#include "support/pickle_writer.h"

#include "base/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a memo id stands for: a string that was written at data[at], or something else. */
struct tc_pickle_string {
    size_t at;
    size_t len;
    bool is_string;
};

static void *grow(void *block, size_t *cap, size_t needed, size_t size)
{
    if (needed <= *cap) {
        return block;
    }
    size_t larger = *cap == 0 ? 256 : *cap;
    while (larger < needed) {
        larger *= 2;
    }
    void *moved = realloc(block, larger * size);
    if (moved == NULL) {
        abort();
    }
    *cap = larger;
    return moved;
}

void tc_pickle_raw(struct tc_pickle *w, const void *bytes, size_t len)
{
    w->data = grow(w->data, &w->cap, w->len + len, 1);
    if (len > 0) {
        memcpy(w->data + w->len, bytes, len);
    }
    w->len += len;
}

static void op(struct tc_pickle *w, int code)
{
    unsigned char byte = (unsigned char)code;
    tc_pickle_raw(w, &byte, 1);
}

static void op_arg(struct tc_pickle *w, int code, uint64_t value, size_t size)
{
    op(w, code);
    for (size_t i = 0; i < size; i++) {
        op(w, (int)(value >> (8 * i) & 0xff));
    }
}

/* Gives the top of the stack the next memo id. */
static void put(struct tc_pickle *w, struct tc_pickle_string s)
{
    w->strings = grow(w->strings, &w->string_cap, (size_t)w->memo_count + 1, sizeof *w->strings);
    w->strings[w->memo_count] = s;
    op_arg(w, w->memo_count < 256 ? 'q' : 'r', w->memo_count, w->memo_count < 256 ? 1 : 4);
    w->memo_count++;
}

void tc_pickle_begin(struct tc_pickle *w)
{
    op_arg(w, 0x80, 2, 1);
}

void tc_pickle_end(struct tc_pickle *w)
{
    put(w, (struct tc_pickle_string){0});
    op(w, '.');
}

void tc_pickle_fini(struct tc_pickle *w)
{
    free(w->data);
    free(w->strings);
    *w = (struct tc_pickle){0};
}

void tc_pickle_dict_open(struct tc_pickle *w)
{
    op(w, '}');
    op(w, '(');
}

void tc_pickle_dict_close(struct tc_pickle *w)
{
    op(w, 'u');
}

void tc_pickle_list_open(struct tc_pickle *w)
{
    op(w, ']');
    op(w, '(');
}

void tc_pickle_list_close(struct tc_pickle *w)
{
    op(w, 'e');
}

void tc_pickle_tuple_open(struct tc_pickle *w, size_t count)
{
    if (count > 3) {
        op(w, '(');
    }
}

void tc_pickle_tuple_close(struct tc_pickle *w, size_t count)
{
    static const int codes[] = {')', 0x85, 0x86, 0x87};
    op(w, count > 3 ? 't' : codes[count]);
}

void tc_pickle_str(struct tc_pickle *w, struct tc_slice s)
{
    for (uint32_t id = 0; id < w->memo_count; id++) {
        struct tc_slice known = tc_slice_make(w->data + w->strings[id].at, w->strings[id].len);
        if (w->strings[id].is_string && tc_slice_eq(s, known)) {
            op_arg(w, id < 256 ? 'h' : 'j', id, id < 256 ? 1 : 4);
            return;
        }
    }
    op_arg(w, 'X', s.len, 4);
    struct tc_pickle_string kept = {w->len, s.len, true};
    tc_pickle_raw(w, s.ptr, s.len);
    put(w, kept);
}

void tc_pickle_int(struct tc_pickle *w, int64_t value)
{
    if (value >= 0 && value <= UINT8_MAX) {
        op_arg(w, 'K', (uint64_t)value, 1);
    } else if (value >= 0 && value <= UINT16_MAX) {
        op_arg(w, 'M', (uint64_t)value, 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        op_arg(w, 'J', (uint64_t)value, 4);
    } else {
        op_arg(w, 0x8a, 8, 1);
        for (size_t i = 0; i < 8; i++) {
            op(w, (int)((uint64_t)value >> (8 * i) & 0xff));
        }
    }
}

void tc_pickle_float(struct tc_pickle *w, double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    op_arg(w, 'G', __builtin_bswap64(bits), 8);
}

void tc_pickle_bool(struct tc_pickle *w, bool value)
{
    op(w, value ? 0x88 : 0x89);
}

void tc_pickle_none(struct tc_pickle *w)
{
    op(w, 'N');
}

static size_t count_items(struct tc_json v)
{
    struct tc_json item;
    struct tc_json_iter it = tc_json_iter_make(v);
    size_t count = 0;
    while (tc_json_iter_next(&it, NULL, &item)) {
        count++;
    }
    return count;
}

/* Recursion is fine here: the text is the test's own and the parser bounds its depth. */
static void write_json(struct tc_pickle *w, struct tc_json v, bool as_tuple)
{
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_json item;
    struct tc_slice text;
    int64_t integer = 0;
    double number = 0;
    bool boolean = false;
    switch (tc_json_type(v)) {
    case TC_JSON_NULL:
        tc_pickle_none(w);
        break;
    case TC_JSON_BOOL:
        (void)tc_json_bool(v, &boolean);
        tc_pickle_bool(w, boolean);
        break;
    case TC_JSON_INT:
        (void)tc_json_int(v, &integer);
        tc_pickle_int(w, integer);
        break;
    case TC_JSON_UINT:
    case TC_JSON_DOUBLE:
        (void)tc_json_double(v, &number);
        tc_pickle_float(w, number);
        break;
    case TC_JSON_STRING:
        (void)tc_json_string(v, &text);
        tc_pickle_str(w, text);
        break;
    case TC_JSON_ARRAY: {
        size_t count = count_items(v);
        as_tuple ? tc_pickle_tuple_open(w, count) : tc_pickle_list_open(w);
        while (tc_json_iter_next(&it, NULL, &item)) {
            write_json(w, item, false);
        }
        as_tuple ? tc_pickle_tuple_close(w, count) : tc_pickle_list_close(w);
        break;
    }
    case TC_JSON_OBJECT:
        tc_pickle_dict_open(w);
        while (tc_json_iter_next(&it, &text, &item)) {
            tc_pickle_str(w, text);
            write_json(w, item, tc_slice_eq(text, TC_LIT("process_group")));
        }
        tc_pickle_dict_close(w);
        break;
    }
}

void tc_pickle_json(struct tc_pickle *w, const char *text)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    struct tc_error err = {0};
    if (parser == NULL || tc_json_parse(parser, tc_slice_cstr(text), &root, &err) != TC_OK) {
        (void)fprintf(stderr, "tc_pickle_json: %s\n", err.message);
        abort();
    }
    tc_pickle_begin(w);
    write_json(w, root, false);
    tc_pickle_end(w);
    tc_json_parser_destroy(parser);
}
