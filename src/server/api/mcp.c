/* SPDX-License-Identifier: Apache-2.0 */
/* POST /mcp: one message of the Model Context Protocol, and its answer. What asks about now is
 * answered on the loop, all else by a worker. */
#include "mcp/mcp.h"

#include "base/clock.h"
#include "server/answer.h"
#include "server/api/priv.h"

#include <stdlib.h>

/* The job is first: a job is its message. */
struct message {
    struct tc_api_job job;
    struct tc_api *api;
    struct tc_request *request;
    struct tc_api_worker *worker; /* NULL: on the loop */
    int64_t time_ns;              /* as the configuration says: it is the loop's */
    uint64_t rows_max;
    struct tc_grow out;
    int status;
};

static void free_message(void *context)
{
    struct message *m = context;
    m->api->held_bytes -= m->out.buf.len;
    tc_grow_fini(&m->out);
    free(m);
}

/* A tc_mcp_ask_fn: what a question is answered from depends on the thread. */
static tc_status ask(void *context, struct tc_asked *asked, struct tc_reply *out,
                     struct tc_error *err)
{
    struct message *m = context;
    const struct tc_api_parts *parts = &m->api->parts;
    struct tc_sources sources;
    if (asked->question->scope != TC_SCOPE_READ) {
        return tc_fail(err, TC_E_USAGE, 0, "this changes something: it is for people to ask");
    }
    if ((asked->question->place == TC_PLACE_LIVE) != (m->worker == NULL)) {
        return tc_fail(err, TC_E_USAGE, 0, "ask this in a message of its own");
    }
    asked->data_dir = parts->data_dir;
    asked->time_ns = m->time_ns;
    asked->rows_max = m->rows_max;
    if (m->worker == NULL) {
        sources = tc_cited_sources(tc_detection_cited(parts->detection));
        asked->live = tc_detection_live(parts->detection);
        asked->sources = &sources;
    } else if (asked->question->needs_warehouse) {
        TC_TRY(tc_api_worker_warehouse(m->worker, &asked->warehouse, err));
    }
    tc_status status = tc_question_answer(asked, out, err);
    asked->sources = NULL;
    return status;
}

static struct tc_slice body_of(const struct message *m)
{
    const struct tc_buffer *body = m->request->body;
    return body == NULL ? TC_EMPTY : tc_slice_make((const char *)body->data, body->len);
}

static struct tc_mcp *make_mcp(struct message *m)
{
    struct tc_mcp_parts parts = {.ask = ask, .context = m};
    parts.questions = tc_questions(&parts.question_count);
    return tc_mcp_create(&parts);
}

static void handle(struct message *m, struct tc_mcp *mcp)
{
    const struct tc_request *r = m->request;
    struct tc_mcp_http head = {
        .version = r->mcp_version, .method = r->mcp_method, .name = r->mcp_name};
    tc_mcp_handle_http(mcp, &head, body_of(m), tc_wall_ns(), &m->out, &m->status);
}

static void finish(struct message *m)
{
    struct tc_request *r = m->request;
    r->left = NULL;
    if (m->status == 0 || m->out.failed) {
        tc_grow_fini(&m->out);
        tc_problem_respond(r, TC_ANSWER_BUSY, TC_RETRY_SOON_S,
                           TC_LIT("it could not be answered now; try again"));
        free_message(m);
        return;
    }
    struct tc_response response = {
        .answer = m->status == 202   ? TC_ANSWER_ACCEPTED
                  : m->status == 400 ? TC_ANSWER_BAD
                  : m->status == 404 ? TC_ANSWER_NOT_FOUND
                                     : TC_ANSWER_OK,
        .content_type = m->out.buf.len > 0 ? TC_LIT("application/json") : TC_EMPTY,
        .body = tc_slice_make(m->out.buf.data, m->out.buf.len),
        .release = free_message,
        .release_context = m,
    };
    m->api->held_bytes += m->out.buf.len;
    tc_answer_count(r, response.answer);
    tc_request_respond(r, &response);
}

static void run_job(struct tc_api_job *job, struct tc_api_worker *w)
{
    struct message *m = (struct message *)(void *)job;
    struct tc_mcp *mcp = make_mcp(m);
    m->worker = w;
    if (mcp != NULL) {
        handle(m, mcp);
    }
    tc_mcp_destroy(mcp);
}

static void done_job(struct tc_api_job *job, bool was_run)
{
    struct message *m = (struct message *)(void *)job;
    m->status = was_run && !job->is_cancelled ? m->status : 0;
    finish(m);
}

static void left(struct tc_request *r)
{
    struct message *m = r->handler_data;
    if (m->api->workers != NULL) {
        tc_api_workers_cancel(m->api->workers, &m->job);
    }
}

void tc__api_mcp(struct tc_api *a, struct tc_request *r)
{
    struct message *m = calloc(1, sizeof *m);
    if (m == NULL) {
        tc_problem_respond(r, TC_ANSWER_BUSY, TC_RETRY_SOON_S, TC_LIT("no memory now"));
        return;
    }
    m->api = a;
    m->request = r;
    m->time_ns = a->parts.config->warehouse_query_timeout;
    m->rows_max = (uint64_t)a->parts.config->warehouse_query_rows;
    m->job.run = run_job;
    m->job.done = done_job;
    struct tc_mcp *mcp = make_mcp(m);
    bool is_live = mcp != NULL && tc_mcp_place(mcp, body_of(m)) == TC_PLACE_LIVE;
    if (is_live) {
        handle(m, mcp);
    }
    tc_mcp_destroy(mcp);
    if (is_live || mcp == NULL) {
        finish(m);
        return;
    }
    r->handler_data = m;
    r->left = left;
    if (!tc_api_workers_put(a->workers, &m->job, (size_t)a->parts.config->api_queue)) {
        finish(m);
    }
}
