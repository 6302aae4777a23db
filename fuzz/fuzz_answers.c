/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked: the first byte chooses a question; the rest is its parameters, as lines name=value
 * and, where it is that, as a JSON object. Questions that need no tables are answered too.
 */
#include "answers/cursor.h"
#include "answers/evidence.h"
#include "answers/question.h"
#include "base/assert.h"
#include "base/json/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has(const struct tc_question *q, const char *name)
{
    for (size_t n = 0; n < q->param_count; n++) {
        if (strcmp(q->params[n].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* A failure has words; what is taken is within its bounds. */
static void look_at(struct tc_asked *a, tc_status status, const struct tc_error *err)
{
    struct tc_error ignored = {0};
    struct tc_slice texts[TC_PARAM_VALUES_MAX];
    TC_ASSERT(status == TC_OK || err->message[0] != '\0');
    if (status != TC_OK || tc_asked_complete(a, &ignored) != TC_OK) {
        return;
    }
    for (size_t n = 0; n < a->question->param_count; n++) {
        const struct tc_param *p = &a->question->params[n];
        const struct tc_param_value *v = &a->values[n];
        TC_ASSERT(v->text.len <= TC_PARAM_BYTES_MAX);
        if (p->kind == TC_PARAM_COUNT && v->is_given) {
            TC_ASSERT((double)v->count >= p->least && (double)v->count <= p->most);
        }
        TC_ASSERT(tc_asked_texts(a, p->name, texts, TC_PARAM_VALUES_MAX) <= TC_PARAM_VALUES_MAX);
    }
    if (has(a->question, "cursor")) {
        struct tc_cursor cursor;
        (void)!tc_cursor_read(a, &cursor, &ignored);
    }
    if (has(a->question, "digest")) {
        struct tc_evidence_want want;
        (void)!tc_evidence_want_read(a, &want, &ignored);
    }
    if (strcmp(a->question->name, "render_run") == 0) {
        struct tc_reply reply = {0};
        if (tc_question_answer(a, &reply, &ignored) == TC_OK) {
            tc_reply_fini(&reply);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_asked asked;
    size_t count = 0;
    const struct tc_question *const *all = tc_questions(&count);
    struct tc_error err = {0};
    struct tc_json root;
    if (size == 0) {
        return 0;
    }
    struct tc_slice rest = tc_slice_make((const char *)data + 1, size - 1);
    struct tc_json_parser *parser = tc_json_parser_create();
    tc_asked_init(&asked, all[data[0] % count], INT64_C(1763164800000000000));
    if (parser != NULL && tc_json_parse(parser, rest, &root, &err) == TC_OK) {
        tc_status status = tc_asked_add_json(&asked, root, &err);
        look_at(&asked, status, &err);
    }
    tc_asked_init(&asked, all[data[0] % count], INT64_C(1763164800000000000));
    tc_status status = TC_OK;
    while (rest.len > 0 && status == TC_OK) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        struct tc_slice value = TC_EMPTY;
        struct tc_slice name = tc_slice_cut(line, '=', &value);
        status = tc_asked_add(&asked, name, value, &err);
    }
    look_at(&asked, status, &err);
    tc_json_parser_destroy(parser);
    return 0;
}
