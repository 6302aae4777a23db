/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JSON parser does not tell: keys that stand twice in an object, and where NaN stood.
 */
#include "base/json/raw.h"
#include "result/result_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members of one object that are compared with each other. */
#define MEMBERS_MAX 4096
#define FIELD_MAX 128

struct member {
    struct tc_slice key;
    struct tc_slice value;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
    int order = len == 0 ? 0 : memcmp(x->key.ptr, y->key.ptr, len);
    order = order != 0 ? order : (x->key.len > y->key.len) - (x->key.len < y->key.len);
    /* Equal keys in the order of the file. */
    return order != 0 ? order : (x->key.ptr > y->key.ptr) - (x->key.ptr < y->key.ptr);
}

static void note_object(struct tc_result *r, struct member *members, struct tc_slice object,
                        struct tc_arg where)
{
    size_t count = 0;
    size_t at = 0;
    while (count < MEMBERS_MAX &&
           tc_json_raw_member(object, &at, &members[count].key, &members[count].value)) {
        count++;
    }
    qsort(members, count, sizeof *members, compare_members);
    for (size_t i = 1; i < count; i++) {
        if (!tc_slice_eq(members[i - 1].key, members[i].key)) {
            continue;
        }
        char field[FIELD_MAX];
        bool same = tc_slice_eq(members[i - 1].value, members[i].value);
        (void)snprintf(field, sizeof field, "%.*s", TC_FMT(members[i].key));
        tc_result_note(r, !same, where, field, "stands twice%s",
                       same ? ", with the same value" : ": the first value is taken");
    }
}

static size_t line_of(struct tc_slice bytes, size_t offset, size_t *io_counted, size_t line)
{
    for (; *io_counted < offset; (*io_counted)++) {
        line += bytes.ptr[*io_counted] == '\n';
    }
    return line;
}

tc_status tc__result_note_twice(const struct tc_result_parsed *p, struct tc_result *r,
                                struct tc_error *err)
{
    if (p->in.form == TC_RESULT_TEXT || p->in.was_yaml) {
        return TC_OK;
    }
    struct member *members = calloc(MEMBERS_MAX, sizeof *members);
    if (members == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %d keys", MEMBERS_MAX);
    }
    struct tc_slice bytes = p->in.bytes;
    struct tc_slice document;
    size_t at = 0;
    size_t counted = 0;
    size_t line = 1;
    while (tc_json_raw_value(bytes, &at, &document)) {
        struct tc_arg where = TC_ARG("");
        if (p->in.form == TC_RESULT_LINES) {
            line = line_of(bytes, (size_t)(document.ptr - bytes.ptr), &counted, line);
            where = tc_as_line(line);
        }
        if (document.len > 0 && document.ptr[0] == '{') {
            note_object(r, members, document, where);
        }
    }
    free(members);
    return TC_OK;
}

/* The key of the value at `at`: "key" : value. Empty in a list. */
static struct tc_slice key_before(struct tc_slice bytes, size_t at)
{
    while (at > 0 && tc_json_is_space(bytes.ptr[at - 1])) {
        at--;
    }
    if (at == 0 || bytes.ptr[at - 1] != ':') {
        return TC_EMPTY;
    }
    at--;
    while (at > 0 && tc_json_is_space(bytes.ptr[at - 1])) {
        at--;
    }
    if (at == 0 || bytes.ptr[at - 1] != '"') {
        return TC_EMPTY;
    }
    size_t end = --at;
    while (at > 0 && bytes.ptr[at - 1] != '"') {
        at--;
    }
    return tc_slice_make(bytes.ptr + at, end - at);
}

void tc__result_note_nan(const struct tc_result_parsed *p, struct tc_result *r)
{
    if (p->nan_count == 0) {
        return;
    }
    char field[FIELD_MAX];
    size_t counted = 0;
    struct tc_arg where = tc_as_line(line_of(p->in.bytes, p->nan_at, &counted, 1));
    (void)snprintf(field, sizeof field, "%.*s", TC_FMT(key_before(p->in.bytes, p->nan_at)));
    if (p->nan_count == 1) {
        tc_result_note(r, false, where, field,
                       "is written as NaN, which is no JSON: taken as unknown");
    } else {
        tc_result_note(r, false, where, field,
                       "is written as NaN, which is no JSON, and so are %zu more values: taken as "
                       "unknown",
                       p->nan_count - 1);
    }
}
