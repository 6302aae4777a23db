/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong, for programs: problem details (RFC 9457), application/problem+json. */
#ifndef TC_SERVER_API_PROBLEM_H
#define TC_SERVER_API_PROBLEM_H

#include "base/buf.h"
#include "base/status.h"
#include "net/request.h"

#define TC_PROBLEM_TYPE TC_LIT("application/problem+json")
/* Room for one, whatever the detail says. */
#define TC_PROBLEM_BYTES_MAX ((size_t)4096)

/* One line: type, title, status, detail, and the parameter that is wrong unless that is "". */
void tc_problem_put(struct tc_buf *b, enum tc_answer answer, struct tc_slice detail,
                    struct tc_slice parameter);
/* What a question's failure is to whoever asked over HTTP. */
enum tc_answer tc_problem_answer(tc_status status);
/* Answers with a problem; retry_after_s 0: none is said. Counts it. */
void tc_problem_respond(struct tc_request *r, enum tc_answer answer, unsigned retry_after_s,
                        struct tc_slice detail);
/* The same of a question: with the parameter that is wrong. */
void tc_problem_respond_about(struct tc_request *r, enum tc_answer answer, unsigned retry_after_s,
                              struct tc_slice detail, struct tc_slice parameter);

#endif
