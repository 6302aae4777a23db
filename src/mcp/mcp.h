/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol: a message goes in, a message comes out. Tools, resources and prompts
 * are made from the table of questions (answers/question.h); who carries the messages says how a
 * question is answered (tc_mcp_ask_fn), so nothing here knows of sockets, files or threads.
 *
 * Revisions: 2026-07-28, where each request says its revision in _meta, and 2025-11-25, 2025-06-18
 * and 2025-03-26, which begin with `initialize`. Both kinds may be mixed in one stream.
 *
 * Standard input and output, one message per line:
 *
 *     struct tc_mcp *m = tc_mcp_create(&parts);
 *     tc_mcp_handle(m, line, now_ns, &out);   then write `out` and a newline, unless it is empty
 *
 * HTTP, POST /mcp (any other method is 405 with "Allow: POST"; Host and Origin are checked before,
 * as for every route that takes a body):
 *
 *     struct tc_mcp_http head = {.version = ..., .method = ..., .name = ...};
 *     switch (tc_mcp_place(m, body)) {  LIVE: handle it on the loop; else: hand it to a worker  }
 *     tc_mcp_handle_http(m, &head, body, now_ns, &out, &status);
 *
 * and the answer is `status` with `out` as application/json; 202 has no body. No session ids are
 * given out. A client that goes away has cancelled: interrupt what `ask` runs.
 *
 * A tc_mcp serves one thread at a time: the loop has one, and each worker.
 */
#ifndef TC_MCP_MCP_H
#define TC_MCP_MCP_H

#include "answers/question.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one message; who carries them refuses what is longer. */
#define TC_MCP_MESSAGE_MAX ((size_t)1 << 20)
/* Messages of one batch (2025-03-26). */
#define TC_MCP_BATCH_MAX 32
/* Bytes of a tool's answer: what a model can read at once. Longer ones are cut between items. */
#define TC_MCP_ANSWER_MAX ((size_t)24 << 10)

/*
 * Answers one question: puts what it is answered from (warehouse, data_dir, live, sources, limits)
 * into `asked` and calls tc_question_answer, or asks somebody else. As tc_question_answer: a status
 * other than TC_OK and TC_E_NOMEM is told to the model in err->message.
 */
typedef tc_status (*tc_mcp_ask_fn)(void *context, struct tc_asked *asked, struct tc_reply *out,
                                   struct tc_error *err);

struct tc_mcp_parts {
    const struct tc_question *const *questions; /* borrowed for good; tc_questions() */
    size_t question_count;
    tc_mcp_ask_fn ask;
    void *context;
};

struct tc_mcp;
/* NULL when there is no memory. */
struct tc_mcp *tc_mcp_create(const struct tc_mcp_parts *parts);
void tc_mcp_destroy(struct tc_mcp *m);

/*
 * One message. What is to be sent back is added to `out`: one line without its end, or nothing for
 * notifications and responses. Borrows message. out->failed when there was no memory for it.
 */
void tc_mcp_handle(struct tc_mcp *m, struct tc_slice message, int64_t now_ns, struct tc_grow *out);

/* What the head of a POST says; empty where it says nothing. */
struct tc_mcp_http {
    struct tc_slice version; /* MCP-Protocol-Version */
    struct tc_slice method;  /* Mcp-Method */
    struct tc_slice name;    /* Mcp-Name */
};
/* The same for the body of a POST. *out_status is that of HTTP: 200, 202, 400, 404. */
void tc_mcp_handle_http(struct tc_mcp *m, const struct tc_mcp_http *head, struct tc_slice body,
                        int64_t now_ns, struct tc_grow *out, int *out_status);

/*
 * Where what the message asks is answered. It asks at most one question; TC_PLACE_TABLES when it
 * asks none, is wrong, or is a batch (there `ask` refuses what is live).
 */
enum tc_question_place tc_mcp_place(struct tc_mcp *m, struct tc_slice message);

/*
 * Two ids of requests as JSON text, as they stand in messages. Whether `message` is a request, with
 * its id; and whether it cancels one. The id is in the message. For those who carry messages and
 * read on while a question is answered.
 */
bool tc_mcp_request_id(struct tc_slice message, struct tc_slice *out_id);
bool tc_mcp_cancels(struct tc_slice message, struct tc_slice *out_id);

#endif
