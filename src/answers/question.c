/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/question.h"

static const struct tc_question *const QUESTIONS[] = {
#define QUESTION(id) &tc_question_##id,
#include "answers/questions.def"
#undef QUESTION
};

const struct tc_question *const *tc_questions(size_t *out_count)
{
    *out_count = TC_COUNT(QUESTIONS);
    return QUESTIONS;
}

void tc_reply_fini(struct tc_reply *r)
{
    tc_grow_fini(&r->body);
    *r = (struct tc_reply){0};
}

static tc_status check_reply(const struct tc_reply *r, struct tc_error *err)
{
    if (r->body.buf.len > TC_REPLY_BYTES_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "the answer is longer than 16 MiB; ask for less: a smaller limit, fewer "
                       "metrics, one point");
    }
    return r->body.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the answer") : TC_OK;
}

tc_status tc_question_answer(struct tc_asked *a, struct tc_reply *out, struct tc_error *err)
{
    struct tc_reply reply = {0};
    TC_TRY(tc_asked_complete(a, err));
    if (a->question->needs_warehouse && a->warehouse == NULL) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "there is no warehouse here: it is switched off, or nothing was added yet");
    }
    tc_status status = a->question->answer(a, &reply, err);
    if (status == TC_OK) {
        status = check_reply(&reply, err);
    }
    if (status != TC_OK) {
        tc_reply_fini(&reply);
        return status;
    }
    *out = reply;
    return TC_OK;
}
