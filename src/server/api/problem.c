/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/problem.h"

#include "base/json/out.h"
#include "server/answer.h"

/* Of a name that is none of ours. */
#define PARAMETER_MAX 64

static struct tc_slice title_of(enum tc_answer answer)
{
    static const char *const titles[] = {
        [TC_ANSWER_BAD] = "The request is wrong",
        [TC_ANSWER_UNAUTHENTICATED] = "A token is needed",
        [TC_ANSWER_FORBIDDEN] = "Not allowed",
        [TC_ANSWER_NOT_FOUND] = "Not found",
        [TC_ANSWER_WRONG_METHOD] = "Another method is needed",
        [TC_ANSWER_CONFLICT] = "Not in this state",
        [TC_ANSWER_TOO_LARGE] = "Too large",
        [TC_ANSWER_UNSUPPORTED] = "Another content type is needed",
        [TC_ANSWER_BAD_RANGE] = "There is no such range",
        [TC_ANSWER_UNPROCESSABLE] = "It cannot be answered",
        [TC_ANSWER_TOO_MANY] = "Too many requests",
        [TC_ANSWER_INTERNAL] = "It failed",
        [TC_ANSWER_BUSY] = "Not now",
    };
    const char *title = (size_t)answer < TC_COUNT(titles) ? titles[answer] : NULL;
    return tc_slice_cstr(title == NULL ? "It failed" : title);
}

void tc_problem_put(struct tc_buf *b, enum tc_answer answer, struct tc_slice detail,
                    struct tc_slice parameter)
{
    struct tc_json_out j = tc_json_object_make(b);
    tc_json_put_plain(&j, "type", TC_LIT("about:blank"));
    tc_json_put_plain(&j, "title", title_of(answer));
    tc_json_put_i64(&j, "status", tc_answer_http(answer));
    tc_json_put_str(&j, "detail", detail);
    tc_json_put_some(&j, "parameter", parameter);
    (void)tc_json_end_line(&j);
}

enum tc_answer tc_problem_answer(tc_status status)
{
    switch (status) {
    case TC_OK:
        return TC_ANSWER_OK;
    case TC_E_USAGE:
        return TC_ANSWER_BAD;
    case TC_E_NOTFOUND:
        return TC_ANSWER_NOT_FOUND;
    case TC_E_LIMIT: /* of time, rows or bytes: the same question has the same end */
    case TC_E_MALFORMED:
        return TC_ANSWER_UNPROCESSABLE;
    case TC_E_UNSUPPORTED:
        return TC_ANSWER_CONFLICT;
    case TC_E_IO:
    case TC_E_NOMEM:
        return TC_ANSWER_BUSY;
    case TC_E_AGAIN:
        break;
    }
    return TC_ANSWER_INTERNAL;
}

void tc_problem_respond_about(struct tc_request *r, enum tc_answer answer, unsigned retry_after_s,
                              struct tc_slice detail, struct tc_slice parameter)
{
    char text[TC_PROBLEM_BYTES_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_problem_put(&b, answer, tc_slice_head(detail, TC_ERROR_MESSAGE_MAX),
                   tc_slice_head(parameter, PARAMETER_MAX));
    struct tc_response response = {
        .answer = answer,
        .content_type = TC_PROBLEM_TYPE,
        .body = tc_buf_slice(&b),
        .retry_after_s = retry_after_s,
    };
    tc_answer_count(r, answer);
    tc_request_respond(r, &response);
}

void tc_problem_respond(struct tc_request *r, enum tc_answer answer, unsigned retry_after_s,
                        struct tc_slice detail)
{
    tc_problem_respond_about(r, answer, retry_after_s, detail, TC_EMPTY);
}
