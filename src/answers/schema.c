/* SPDX-License-Identifier: Apache-2.0 */
/* JSON schemas (2020-12) of what a question takes and gives. */
#include "answers/question.h"

static void put_words(struct tc_json_out *j, const char *words)
{
    struct tc_slice rest = tc_slice_cstr(words);
    tc_json_put_array(j, "enum");
    while (rest.len > 0) {
        tc_json_add_str(j, tc_slice_cut(rest, ' ', &rest));
    }
    tc_json_end_array(j);
}

static void put_standard(struct tc_json_out *j, const struct tc_param *p)
{
    if (p->standard == NULL) {
        return;
    }
    if (p->kind == TC_PARAM_COUNT || p->kind == TC_PARAM_REAL || p->kind == TC_PARAM_FLAG) {
        tc_json_put_raw(j, "default", tc_slice_cstr(p->standard));
    } else {
        tc_json_put_cstr(j, "default", p->standard);
    }
}

/* Members of the schema of one value. */
static void put_kind(struct tc_json_out *j, const struct tc_param *p)
{
    static const char *const types[] = {
        [TC_PARAM_TEXT] = "string",  [TC_PARAM_COUNT] = "integer", [TC_PARAM_REAL] = "number",
        [TC_PARAM_FLAG] = "boolean", [TC_PARAM_TIME] = "string",   [TC_PARAM_WORD] = "string",
    };
    tc_json_put_cstr(j, "type", types[p->kind]);
    switch (p->kind) {
    case TC_PARAM_TEXT:
        tc_json_put_u64(j, "maxLength", TC_PARAM_BYTES_MAX);
        break;
    case TC_PARAM_COUNT:
        tc_json_put_i64(j, "minimum", (int64_t)p->least);
        tc_json_put_i64(j, "maximum", (int64_t)p->most);
        break;
    case TC_PARAM_REAL:
        tc_json_put_f64(j, "minimum", p->least);
        tc_json_put_f64(j, "maximum", p->most);
        break;
    case TC_PARAM_TIME:
        tc_json_put_array(j, "examples");
        tc_json_add_cstr(j, "2026-11-15T03:00:00Z");
        tc_json_add_cstr(j, "2h");
        tc_json_end_array(j);
        break;
    case TC_PARAM_WORD:
        put_words(j, p->words);
        break;
    case TC_PARAM_FLAG:
        break;
    }
    put_standard(j, p);
}

void tc_param_schema(struct tc_json_out *j, const struct tc_param *p)
{
    tc_json_add_object(j);
    if ((p->flags & TC_PARAM_MANY) != 0) {
        tc_json_put_cstr(j, "type", "array");
        tc_json_put_u64(j, "maxItems", TC_PARAM_VALUES_MAX);
        tc_json_put_object(j, "items");
        put_kind(j, p);
        tc_json_end_object(j);
    } else {
        put_kind(j, p);
    }
    tc_json_put_cstr(j, "description", p->help);
    tc_json_end_object(j);
}

void tc_question_schema(struct tc_json_out *j, const struct tc_question *q)
{
    tc_json_add_object(j);
    tc_json_put_cstr(j, "type", "object");
    tc_json_put_object(j, "properties");
    for (size_t n = 0; n < q->param_count; n++) {
        tc_json_key_plain(j, tc_slice_cstr(q->params[n].name));
        tc_param_schema(j, &q->params[n]);
    }
    tc_json_end_object(j);
    tc_json_put_array(j, "required");
    for (size_t n = 0; n < q->param_count; n++) {
        if ((q->params[n].flags & TC_PARAM_NEEDED) != 0) {
            tc_json_add_cstr(j, q->params[n].name);
        }
    }
    tc_json_end_array(j);
    tc_json_put_bool(j, "additionalProperties", false);
    tc_json_end_object(j);
}

static void put_member(struct tc_json_out *j, const struct tc_member *m)
{
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice type = tc_slice_cut(tc_slice_cstr(m->type), ' ', &rest);
    tc_json_key_plain(j, tc_slice_cstr(m->name));
    tc_json_add_object(j);
    tc_json_key(j, "type");
    if (rest.len > 0) {
        tc_json_add_array(j);
        tc_json_add_str(j, type);
        tc_json_add_str(j, rest);
        tc_json_end_array(j);
    } else {
        tc_json_add_str(j, type);
    }
    tc_json_put_cstr(j, "description", m->help);
    tc_json_end_object(j);
}

void tc_question_result_schema(struct tc_json_out *j, const struct tc_question *q)
{
    tc_json_add_object(j);
    tc_json_put_cstr(j, "type", "object");
    tc_json_put_object(j, "properties");
    for (size_t n = 0; n < q->member_count; n++) {
        put_member(j, &q->members[n]);
    }
    tc_json_end_object(j);
    tc_json_put_array(j, "required");
    for (size_t n = 0; n < q->member_count; n++) {
        if (!q->members[n].may_lack) {
            tc_json_add_cstr(j, q->members[n].name);
        }
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}
