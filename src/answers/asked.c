/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked: values of parameters from a query, a body or a tool's arguments. */
#include "answers/question.h"
#include "base/assert.h"
#include "base/format.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a value that is wrong, as much is quoted. */
#define QUOTED_MAX 60
#define NUMBER_MAX 40

static struct tc_slice quoted(struct tc_slice value)
{
    return tc_slice_head(value, QUOTED_MAX);
}

void tc_asked_init(struct tc_asked *a, const struct tc_question *question, int64_t now_ns)
{
    *a = (struct tc_asked){.question = question, .now_ns = now_ns};
    TC_ASSERT(question->param_count <= TC_PARAMS_MAX);
}

/* ---- which parameter ---- */

static size_t param_index(const struct tc_asked *a, struct tc_slice name)
{
    for (size_t n = 0; n < a->question->param_count; n++) {
        if (tc_slice_eq(name, tc_slice_cstr(a->question->params[n].name))) {
            return n;
        }
    }
    return a->question->param_count;
}

static tc_status no_such(struct tc_asked *a, struct tc_slice name, struct tc_error *err)
{
    const struct tc_question *q = a->question;
    const char *best = NULL;
    size_t least = SIZE_MAX;
    char text[160];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (size_t n = 0; n < q->param_count; n++) {
        size_t distance = tc_slice_distance(name, tc_slice_cstr(q->params[n].name));
        if (distance < least) {
            least = distance;
            best = q->params[n].name;
        }
        (void)tc_format(&b, "{}{}", n > 0 ? ", " : "", q->params[n].name);
    }
    a->wrong = name;
    if (best != NULL && least <= 1 + name.len / 3) {
        return tc_fail(err, TC_E_USAGE, 0, "there is no parameter \"%.*s\"; did you mean \"%s\"?",
                       TC_FMT(quoted(name)), best);
    }
    return q->param_count == 0
               ? tc_fail(err, TC_E_USAGE, 0, "there is no parameter \"%.*s\": %s takes none",
                         TC_FMT(quoted(name)), q->name)
               : tc_fail(err, TC_E_USAGE, 0, "there is no parameter \"%.*s\"; %s takes %.*s",
                         TC_FMT(quoted(name)), q->name, TC_FMT(tc_buf_slice(&b)));
}

/* ---- values ---- */

/* What a parameter takes, for the sentence about a wrong value. */
static void put_allowed(struct tc_buf *b, const struct tc_param *p)
{
    switch (p->kind) {
    case TC_PARAM_TEXT:
        tc_buf_lit(b, "a text");
        break;
    case TC_PARAM_COUNT:
        (void)tc_format(b, "a whole number from {} to {}", (int64_t)p->least, (int64_t)p->most);
        break;
    case TC_PARAM_REAL:
        (void)tc_format(b, "a number from {} to {}", p->least, p->most);
        break;
    case TC_PARAM_FLAG:
        tc_buf_lit(b, "true or false");
        break;
    case TC_PARAM_TIME:
        tc_buf_lit(b, "a time such as 2026-11-15T03:00:00Z or how long ago, such as 15m or 2h");
        break;
    case TC_PARAM_WORD:
        (void)tc_format(b, "one of {}", p->words);
        break;
    }
}

static tc_status wrong_value(struct tc_asked *a, const struct tc_param *p, struct tc_slice value,
                             struct tc_error *err)
{
    char text[160];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    put_allowed(&b, p);
    a->wrong = tc_slice_cstr(p->name);
    return tc_fail(err, TC_E_USAGE, 0, "\"%s\" takes %.*s, not \"%.*s\"", p->name,
                   TC_FMT(tc_buf_slice(&b)), TC_FMT(quoted(value)));
}

static bool is_word_of(const char *words, struct tc_slice value)
{
    struct tc_slice rest = tc_slice_cstr(words);
    while (rest.len > 0) {
        if (tc_slice_eq(tc_slice_cut(rest, ' ', &rest), value)) {
            return true;
        }
    }
    return false;
}

/* Texts go to engines and into JSON: no NUL, nothing that is not UTF-8. */
static bool is_sound(struct tc_slice s)
{
    for (size_t at = 0; at < s.len;) {
        size_t len = tc_utf8_len((const unsigned char *)s.ptr + at, s.len - at);
        if (len == 0 || s.ptr[at] == '\0') {
            return false;
        }
        at += len;
    }
    return true;
}

static bool read_real(struct tc_slice value, double *out)
{
    char text[NUMBER_MAX];
    char *end = NULL;
    if (value.len == 0 || value.len >= sizeof text || tc_is_blank(value.ptr[0])) {
        return false;
    }
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    *out = strtod(text, &end);
    return end == text + value.len && isfinite(*out);
}

static bool read_flag(struct tc_slice value, bool *out)
{
    *out = value.len == 0 || tc_slice_is_any(value, "true", "1");
    return *out || tc_slice_is_any(value, "false", "0");
}

static bool in_range(const struct tc_param *p, double value)
{
    return value >= p->least && value <= p->most;
}

/* One value of a kind into its place; false when it is none. */
static bool read_value(const struct tc_asked *a, const struct tc_param *p, struct tc_slice value,
                       struct tc_param_value *out)
{
    out->text = value;
    switch (p->kind) {
    case TC_PARAM_TEXT:
        return true;
    case TC_PARAM_COUNT:
        return tc_slice_is_i64(value, &out->count) && in_range(p, (double)out->count);
    case TC_PARAM_REAL:
        return read_real(value, &out->real) && in_range(p, out->real);
    case TC_PARAM_FLAG:
        return read_flag(value, &out->flag);
    case TC_PARAM_TIME:
        return tc_moment_parse(value, a->now_ns, &out->count);
    case TC_PARAM_WORD:
        return is_word_of(p->words, value);
    }
    return false;
}

static tc_status keep_many(struct tc_asked *a, size_t index, struct tc_slice value,
                           struct tc_error *err)
{
    if (a->many_count == TC_PARAM_VALUES_MAX) {
        a->wrong = tc_slice_cstr(a->question->params[index].name);
        return tc_fail(err, TC_E_USAGE, 0, "\"%s\" and its like take up to %d values in all",
                       a->question->params[index].name, TC_PARAM_VALUES_MAX);
    }
    a->many[a->many_count] = value;
    a->many_of[a->many_count++] = (unsigned char)index;
    return TC_OK;
}

static tc_status add_at(struct tc_asked *a, size_t index, struct tc_slice value,
                        struct tc_error *err)
{
    const struct tc_param *p = &a->question->params[index];
    struct tc_param_value read = {.is_given = true};
    a->wrong = tc_slice_cstr(p->name);
    if (value.len > TC_PARAM_BYTES_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "\"%s\" is longer than %zu bytes", p->name,
                       TC_PARAM_BYTES_MAX);
    }
    if (!is_sound(value)) {
        return tc_fail(err, TC_E_USAGE, 0, "\"%s\" has a NUL in it, or is not UTF-8", p->name);
    }
    /* A field of a form that nobody filled. */
    if (value.len == 0 && p->kind != TC_PARAM_FLAG) {
        a->wrong = TC_EMPTY;
        return TC_OK;
    }
    if (a->values[index].is_given && (p->flags & TC_PARAM_MANY) == 0) {
        return tc_fail(err, TC_E_USAGE, 0, "\"%s\" is given twice", p->name);
    }
    if (!read_value(a, p, value, &read)) {
        return wrong_value(a, p, value, err);
    }
    if ((p->flags & TC_PARAM_MANY) != 0) {
        TC_TRY(keep_many(a, index, value, err));
    }
    a->wrong = TC_EMPTY;
    a->values[index] = read;
    return TC_OK;
}

tc_status tc_asked_add(struct tc_asked *a, struct tc_slice name, struct tc_slice value,
                       struct tc_error *err)
{
    size_t index = param_index(a, name);
    return index == a->question->param_count ? no_such(a, name, err) : add_at(a, index, value, err);
}

/* ---- JSON ---- */

static tc_status wrong_type(struct tc_asked *a, const struct tc_param *p, struct tc_error *err)
{
    static const char *const types[] = {
        [TC_PARAM_TEXT] = "a string",          [TC_PARAM_COUNT] = "an integer",
        [TC_PARAM_REAL] = "a number",          [TC_PARAM_FLAG] = "true or false",
        [TC_PARAM_TIME] = "a time, in quotes", [TC_PARAM_WORD] = "a string",
    };
    a->wrong = tc_slice_cstr(p->name);
    return tc_fail(err, TC_E_USAGE, 0, "\"%s\" must be %s%s", p->name, types[p->kind],
                   (p->flags & TC_PARAM_MANY) != 0 ? ", or an array of such" : "");
}

/* A number of JSON as the text that add_at reads; false when it is no number. */
static bool number_text(struct tc_json value, struct tc_buf *b)
{
    int64_t whole = 0;
    double real = 0;
    switch (tc_json_type(value)) {
    case TC_JSON_INT:
        (void)tc_json_int(value, &whole);
        tc_buf_i64(b, whole);
        return true;
    case TC_JSON_UINT:
    case TC_JSON_DOUBLE:
        (void)tc_json_double(value, &real);
        tc_buf_f64(b, real);
        return true;
    case TC_JSON_NULL:
    case TC_JSON_BOOL:
    case TC_JSON_STRING:
    case TC_JSON_ARRAY:
    case TC_JSON_OBJECT:
        break;
    }
    return false;
}

static tc_status add_json_one(struct tc_asked *a, size_t index, struct tc_json value,
                              struct tc_error *err)
{
    const struct tc_param *p = &a->question->params[index];
    char number[NUMBER_MAX];
    struct tc_buf b = tc_buf_make(number, sizeof number);
    struct tc_slice text = TC_EMPTY;
    bool flag = false;
    switch (p->kind) {
    case TC_PARAM_COUNT:
    case TC_PARAM_REAL:
        if (!number_text(value, &b)) {
            return wrong_type(a, p, err);
        }
        TC_TRY(add_at(a, index, tc_buf_slice(&b), err));
        a->values[index].text = TC_EMPTY; /* it does not outlive this */
        return TC_OK;
    case TC_PARAM_FLAG:
        return tc_json_bool(value, &flag)
                   ? add_at(a, index, flag ? TC_LIT("true") : TC_LIT("false"), err)
                   : wrong_type(a, p, err);
    case TC_PARAM_TEXT:
    case TC_PARAM_TIME:
    case TC_PARAM_WORD:
        break;
    }
    return tc_json_string(value, &text) ? add_at(a, index, text, err) : wrong_type(a, p, err);
}

static tc_status add_json(struct tc_asked *a, size_t index, struct tc_json value,
                          struct tc_error *err)
{
    const struct tc_param *p = &a->question->params[index];
    if (tc_json_type(value) == TC_JSON_NULL) {
        return TC_OK;
    }
    if (tc_json_type(value) != TC_JSON_ARRAY || (p->flags & TC_PARAM_MANY) == 0) {
        return add_json_one(a, index, value, err);
    }
    struct tc_json item;
    struct tc_json_iter it = tc_json_iter_make(value);
    while (tc_json_iter_next(&it, NULL, &item)) {
        TC_TRY(add_json_one(a, index, item, err));
    }
    return TC_OK;
}

tc_status tc_asked_add_json(struct tc_asked *a, struct tc_json object, struct tc_error *err)
{
    struct tc_slice name;
    struct tc_json value;
    if (tc_json_type(object) != TC_JSON_OBJECT) {
        return tc_fail(err, TC_E_USAGE, 0, "the parameters must be one JSON object");
    }
    struct tc_json_iter it = tc_json_iter_make(object);
    while (tc_json_iter_next(&it, &name, &value)) {
        size_t index = param_index(a, name);
        TC_TRY(index == a->question->param_count ? no_such(a, name, err)
                                                 : add_json(a, index, value, err));
    }
    return TC_OK;
}

/* ---- complete ---- */

tc_status tc_asked_complete(struct tc_asked *a, struct tc_error *err)
{
    for (size_t n = 0; n < a->question->param_count; n++) {
        const struct tc_param *p = &a->question->params[n];
        if (a->values[n].is_given) {
            continue;
        }
        if ((p->flags & TC_PARAM_NEEDED) != 0) {
            a->wrong = tc_slice_cstr(p->name);
            return tc_fail(err, TC_E_USAGE, 0, "\"%s\" is missing: %s", p->name, p->help);
        }
        if (p->standard != NULL) {
            bool is_right = read_value(a, p, tc_slice_cstr(p->standard), &a->values[n]);
            TC_ASSERT(is_right);
        }
    }
    return TC_OK;
}

/* ---- for those that answer ---- */

const struct tc_param_value *tc_asked_value(const struct tc_asked *a, const char *name)
{
    size_t index = param_index(a, tc_slice_cstr(name));
    TC_ASSERT(index < a->question->param_count);
    return &a->values[index];
}

struct tc_slice tc_asked_text(const struct tc_asked *a, const char *name)
{
    return tc_asked_value(a, name)->text;
}

size_t tc_asked_texts(const struct tc_asked *a, const char *name, struct tc_slice *out, size_t room)
{
    size_t index = (size_t)(tc_asked_value(a, name) - a->values);
    size_t count = 0;
    for (size_t n = 0; n < a->many_count && count < room; n++) {
        if (a->many_of[n] == index) {
            out[count++] = a->many[n];
        }
    }
    return count;
}
