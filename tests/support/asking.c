/* SPDX-License-Identifier: Apache-2.0 */
#include "support/asking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const struct tc_question *asking_question(const char *name)
{
    size_t count = 0;
    const struct tc_question *const *all = tc_questions(&count);
    for (size_t n = 0; n < count; n++) {
        if (strcmp(all[n]->name, name) == 0) {
            return all[n];
        }
    }
    fail_msg("there is no question %s", name);
    return NULL;
}

void asking_init(struct asking *a, struct tc_warehouse *w, const char *data_dir)
{
    *a = (struct asking){.warehouse = w, .data_dir = data_dir, .parser = tc_json_parser_create()};
    assert_non_null(a->parser);
}

void asking_fini(struct asking *a)
{
    tc_reply_fini(&a->reply);
    tc_json_parser_destroy(a->parser);
    *a = (struct asking){0};
}

tc_status asking_ask(struct asking *a, const char *question, const char *const *pairs)
{
    struct tc_asked *asked = malloc(sizeof *asked);
    assert_non_null(asked);
    tc_asked_init(asked, asking_question(question), ASKING_NOW_NS);
    asked->warehouse = a->warehouse;
    asked->data_dir = a->data_dir;
    asked->live = a->live;
    asked->by = TC_LIT("a test");
    a->err = (struct tc_error){0};
    tc_reply_fini(&a->reply);
    tc_status status = TC_OK;
    for (size_t n = 0; status == TC_OK && pairs[n] != NULL; n += 2) {
        status = tc_asked_add(asked, tc_slice_cstr(pairs[n]), tc_slice_cstr(pairs[n + 1]), &a->err);
    }
    if (status == TC_OK) {
        status = tc_question_answer(asked, &a->reply, &a->err);
    }
    (void)snprintf(a->wrong, sizeof a->wrong, "%.*s", TC_FMT(asked->wrong));
    free(asked);
    return status;
}

static const struct tc_member *member_of(const struct tc_question *q, struct tc_slice name)
{
    for (size_t n = 0; n < q->member_count; n++) {
        if (tc_slice_eq(name, tc_slice_cstr(q->members[n].name))) {
            return &q->members[n];
        }
    }
    return NULL;
}

static const char *type_of(struct tc_json value)
{
    switch (tc_json_type(value)) {
    case TC_JSON_NULL:
        return "null";
    case TC_JSON_BOOL:
        return "boolean";
    case TC_JSON_INT:
    case TC_JSON_UINT:
        return "integer";
    case TC_JSON_DOUBLE:
        return "number";
    case TC_JSON_STRING:
        return "string";
    case TC_JSON_ARRAY:
        return "array";
    case TC_JSON_OBJECT:
        break;
    }
    return "object";
}

static bool is_type(const char *types, const char *type)
{
    return strstr(types, type) != NULL ||
           (strcmp(type, "integer") == 0 && strstr(types, "number") != NULL);
}

static void check_members(const struct tc_question *q, struct tc_json object)
{
    struct tc_slice key;
    struct tc_json value;
    struct tc_json_iter it = tc_json_iter_make(object);
    while (tc_json_iter_next(&it, &key, &value)) {
        const struct tc_member *m = member_of(q, key);
        if (m == NULL || !is_type(m->type, type_of(value))) {
            fail_msg("%s: member %.*s is %s", q->name, TC_FMT(key),
                     m == NULL ? "not described" : type_of(value));
        }
    }
    for (size_t n = 0; n < q->member_count; n++) {
        if (!q->members[n].may_lack &&
            !tc_json_get(object, tc_slice_cstr(q->members[n].name), &value)) {
            fail_msg("%s: member %s is not there", q->name, q->members[n].name);
        }
    }
}

struct tc_json asking_object(struct asking *a, const char *question, const char *const *pairs)
{
    struct tc_json root;
    if (asking_ask(a, question, pairs) != TC_OK) {
        fail_msg("%s: %s", question, a->err.message);
    }
    assert_null(a->reply.content_type);
    struct tc_slice body = tc_grow_slice(&a->reply.body);
    assert_true(tc_slice_ends(body, TC_LIT("}\n")));
    if (tc_json_parse(a->parser, body, &root, &a->err) != TC_OK) {
        fail_msg("%s: %s in %.*s", question, a->err.message, TC_FMT(body));
    }
    check_members(asking_question(question), root);
    return root;
}

void asking_refused(struct asking *a, tc_status status, const char *part, const char *question,
                    const char *const *pairs)
{
    tc_status got = asking_ask(a, question, pairs);
    if (got != status || strstr(a->err.message, part) == NULL) {
        fail_msg("%s: status %d, \"%s\", not %d and \"%s\"", question, got, a->err.message, status,
                 part);
    }
}

struct tc_json asking_at(struct tc_json object, const char *path)
{
    struct tc_slice rest = tc_slice_cstr(path);
    while (rest.len > 0) {
        struct tc_slice name = tc_slice_cut(rest, '.', &rest);
        uint64_t index = 0;
        bool found = false;
        if (tc_slice_is_u64(name, &index) && tc_json_type(object) == TC_JSON_ARRAY) {
            struct tc_json_iter it = tc_json_iter_make(object);
            for (uint64_t n = 0; n <= index; n++) {
                found = tc_json_iter_next(&it, NULL, &object);
            }
        } else {
            found = tc_json_get(object, name, &object);
        }
        if (!found) {
            fail_msg("there is no %.*s of %s", TC_FMT(name), path);
        }
    }
    return object;
}

void asking_is(struct tc_json object, const char *path, const char *text)
{
    struct tc_json value = asking_at(object, path);
    struct tc_slice string = TC_EMPTY;
    char room[64];
    double real = 0;
    bool flag = false;
    if (tc_json_string(value, &string)) {
        /* as it is */
    } else if (tc_json_bool(value, &flag)) {
        string = tc_slice_cstr(flag ? "true" : "false");
    } else if (tc_json_double(value, &real)) {
        (void)snprintf(room, sizeof room, "%.15g", real);
        string = tc_slice_cstr(room);
    } else {
        string = tc_slice_cstr(type_of(value));
    }
    if (!tc_slice_eq(string, tc_slice_cstr(text))) {
        fail_msg("%s is \"%.*s\", not \"%s\"", path, TC_FMT(string), text);
    }
}

size_t asking_count(struct tc_json object, const char *path)
{
    struct tc_json item;
    size_t count = 0;
    struct tc_json_iter it = tc_json_iter_make(asking_at(object, path));
    while (tc_json_iter_next(&it, NULL, &item)) {
        count++;
    }
    return count;
}
