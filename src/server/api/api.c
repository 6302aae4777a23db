/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/api.h"

#include "answers/openapi.h"
#include "base/clock.h"
#include "mcp/mcp.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/api/priv.h"
#include "server/api/ui.h"
#include "server/front.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_TYPE "text/plain; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define JSON_TYPE "application/json"
/* The body of a request that is to have none. */
#define BODY_BYTES_MAX 4096
/* The longest page of those that are written here. */
#define PAGE_BYTES_MAX ((size_t)4 << 20)
/* Answers that are kept may have this part of limits.api_memory. */
#define KEPT_SHARE 4

/* One path: who may see it and what it says. */
struct page {
    const char *path;
    unsigned scope; /* 0: everybody */
    const char *type;
    enum tc_answer (*show)(struct tc_api *a, const struct tc_request *r, struct tc_buf *b);
};

static enum tc_answer show_health(struct tc_api *a, const struct tc_request *r, struct tc_buf *b)
{
    (void)a;
    (void)r;
    tc_buf_lit(b, "ok\n");
    return TC_ANSWER_OK;
}

static enum tc_answer show_ready(struct tc_api *a, const struct tc_request *r, struct tc_buf *b)
{
    struct tc_json_out j = tc_json_object_make(b);
    (void)r;
    tc_json_put_cstr(&j, "state", tc_api_state(a->parts.catch_up, *a->parts.stopping));
    tc_api_put_replay(a->parts.catch_up, &j);
    (void)tc_json_end_line(&j);
    return *a->parts.stopping ? TC_ANSWER_BUSY : TC_ANSWER_OK;
}

const char *tc_api_state(const struct tc_catch_up *catch_up, bool is_stopping)
{
    struct tc_catch_up_progress p;
    tc_catch_up_progress(catch_up, &p);
    return is_stopping ? "stopping" : p.is_replaying ? "replaying" : "ready";
}

void tc_api_put_replay(const struct tc_catch_up *catch_up, struct tc_json_out *j)
{
    struct tc_catch_up_progress p;
    tc_catch_up_progress(catch_up, &p);
    tc_json_put_object(j, "replay");
    tc_json_put_u64(j, "batches", p.batches);
    tc_json_put_u64(j, "batches_total", p.batches_total);
    tc_json_put_u64(j, "bytes", p.bytes);
    tc_json_put_u64(j, "bytes_total", p.bytes_total);
    tc_json_end_object(j);
}

static enum tc_answer show_metrics(struct tc_api *a, const struct tc_request *r, struct tc_buf *b)
{
    (void)r;
    a->parts.refresh(a->parts.context);
    tc_metrics_render(b);
    return TC_ANSWER_OK;
}

static enum tc_answer show_status(struct tc_api *a, const struct tc_request *r, struct tc_buf *b)
{
    (void)r;
    a->parts.refresh(a->parts.context);
    struct tc_json_out j = tc_json_object_make(b);
    a->parts.describe(a->parts.context, &j);
    (void)tc_json_end_line(&j);
    return TC_ANSWER_OK;
}

/* What can be asked, for programs that make clients from it. */
static enum tc_answer show_openapi(struct tc_api *a, const struct tc_request *r, struct tc_buf *b)
{
    (void)a;
    (void)r;
    struct tc_json_out j = tc_json_out_make(b);
    tc_openapi_write(&j);
    (void)tc_json_done_line(&j);
    return TC_ANSWER_OK;
}

static const struct page PAGES[] = {
    {"/healthz", 0, TEXT_TYPE, show_health},
    {"/readyz", 0, JSON_TYPE, show_ready},
    {"/metrics", TC_TOKEN_READ, METRICS_TYPE, show_metrics},
    {"/api/v1/status", TC_TOKEN_READ, JSON_TYPE, show_status},
    {"/api/v1/openapi.json", 0, JSON_TYPE, show_openapi},
};
#define UPLOAD_PATH TC_LIT("/api/v1/upload")
#define EVENTS_PATH TC_LIT("/api/v1/events")
#define MCP_PATH TC_LIT("/mcp")

static const struct page *find_page(struct tc_slice path)
{
    size_t i = tc_slice_row(path, PAGES, path);
    return i < TC_COUNT(PAGES) ? &PAGES[i] : NULL;
}

static bool reads(const struct tc_request *r)
{
    return r->method == TC_METHOD_GET || r->method == TC_METHOD_HEAD;
}

/* ---- before the body ---- */

static enum tc_answer wrong_method(struct tc_slice allow, struct tc_response *out)
{
    tc_count(TC_COUNT_REJECTED_WRONG_METHOD, 1);
    out->allow = allow;
    out->message = TC_LIT("this path takes another method; Allow says which");
    return TC_ANSWER_WRONG_METHOD;
}

static enum tc_answer check_scope(struct tc_api *a, const struct tc_request *head, unsigned scope,
                                  struct tc_response *out)
{
    return scope == 0 ? TC_ANSWER_OK : tc_auth_check(a->parts.auth, head, scope, tc_mono_ns(), out);
}

static enum tc_answer begin_page(struct tc_api *a, const struct tc_request *head, unsigned scope,
                                 struct tc_response *out)
{
    return reads(head) ? check_scope(a, head, scope, out) : wrong_method(TC_LIT("GET, HEAD"), out);
}

/* With a body that no form of a web page can send. */
static enum tc_answer begin_body(struct tc_api *a, const struct tc_request *head, unsigned scope,
                                 struct tc_response *out)
{
    enum tc_answer answer = check_scope(a, head, scope, out);
    if (answer == TC_ANSWER_OK && tc_front_is_form_type(head->content_type)) {
        tc_count(TC_COUNT_REJECTED_UNSUPPORTED_TYPE, 1);
        out->message = TC_LIT("send it with Content-Type: application/json");
        answer = TC_ANSWER_UNSUPPORTED;
    }
    return answer;
}

static enum tc_answer begin_question(struct tc_api *a, const struct tc_request *head,
                                     const struct tc_route *route, size_t *io_body_max,
                                     struct tc_response *out)
{
    if (route->question == NULL) {
        return wrong_method(tc_route_allow(route), out);
    }
    unsigned scope = route->question->scope == TC_SCOPE_ADMIN ? TC_TOKEN_ADMIN : TC_TOKEN_READ;
    if (!route->question->posts) {
        return check_scope(a, head, scope, out);
    }
    *io_body_max = TC__API_BODY_BYTES_MAX;
    return begin_body(a, head, scope, out);
}

static enum tc_answer begin_mcp(struct tc_api *a, const struct tc_request *head,
                                size_t *io_body_max, struct tc_response *out)
{
    *io_body_max = TC_MCP_MESSAGE_MAX;
    return head->method == TC_METHOD_POST ? begin_body(a, head, TC_TOKEN_READ, out)
                                          : wrong_method(TC_LIT("POST"), out);
}

static enum tc_answer look(struct tc_api *a, const struct tc_request *head, size_t *io_body_max,
                           struct tc_response *out)
{
    const struct page *page = find_page(head->path);
    struct tc_route route;
    if (page != NULL) {
        return begin_page(a, head, page->scope, out);
    }
    if (tc_slice_eq(head->path, MCP_PATH)) {
        return begin_mcp(a, head, io_body_max, out);
    }
    tc_route_find(head->path, head->method, &route);
    if (route.is_path) {
        return begin_question(a, head, &route, io_body_max, out);
    }
    if (reads(head) && tc_ui_find(head) != NULL) {
        return TC_ANSWER_OK;
    }
    tc_count(TC_COUNT_REJECTED_NOT_FOUND, 1);
    out->message = TC_LIT("there is nothing here; /api/v1/openapi.json lists what there is");
    return TC_ANSWER_NOT_FOUND;
}

/* Of the API and its kind: what is wrong is told to a program. */
static bool is_api(struct tc_slice path)
{
    return tc_slice_starts(path, TC_LIT("/api")) || tc_slice_starts(path, TC_LIT("/mcp"));
}

/* A refusal in words becomes a problem. One that is sent later needs a text of its own. */
static void make_problem(struct tc_api *a, enum tc_answer answer, struct tc_response *io)
{
    static const char no_token[] =
        "{\"type\":\"about:blank\",\"title\":\"A token is needed\",\"status\":401,"
        "\"detail\":\"a bearer token of auth.tokens is needed\"}\n";
    if (io->body.len > 0) {
        return;
    }
    struct tc_buf b = tc_buf_make(a->refusal, sizeof a->refusal);
    if (answer == TC_ANSWER_UNAUTHENTICATED) {
        io->body = tc_slice_make(no_token, sizeof no_token - 1);
    } else {
        tc_problem_put(&b, answer, io->message, TC_EMPTY);
        io->body = tc_buf_slice(&b);
    }
    io->content_type = TC_PROBLEM_TYPE;
}

static enum tc_answer begin(void *context, struct tc_request *head, size_t *io_body_max,
                            struct tc_response *out_refusal)
{
    struct tc_api *a = context;
    enum tc_answer answer = tc_front_check_host(a->parts.config, head, out_refusal);
    if (answer == TC_ANSWER_OK && !reads(head)) {
        answer = tc_front_check_page(a->parts.config, head, out_refusal);
    }
    *io_body_max = BODY_BYTES_MAX;
    if (answer == TC_ANSWER_OK) {
        answer = tc_slice_eq(head->path, UPLOAD_PATH)
                     ? tc_upload_begin(a->parts.upload, head, io_body_max, out_refusal)
                     : look(a, head, io_body_max, out_refusal);
    }
    if (answer != TC_ANSWER_OK) {
        out_refusal->answer = answer;
        if (is_api(head->path)) {
            make_problem(a, answer, out_refusal);
        }
        tc_answer_count(head, answer);
    }
    return answer;
}

/* ---- the request ---- */

static void show_page(struct tc_api *a, struct tc_request *r, const struct page *page)
{
    struct tc_buf b = tc_buf_make(a->text, PAGE_BYTES_MAX);
    struct tc_response response = {0};
    response.answer = page->show(a, r, &b);
    response.content_type = tc_slice_cstr(page->type);
    response.body = tc_buf_slice(&b);
    tc_answer_count(r, response.answer);
    tc_request_respond(r, &response);
}

static void handle(void *context, struct tc_request *r)
{
    struct tc_api *a = context;
    const struct page *page = find_page(r->path);
    struct tc_route route;
    if (tc_slice_eq(r->path, UPLOAD_PATH)) {
        tc_upload_handle(a->parts.upload, r);
        return;
    }
    if (page != NULL) {
        show_page(a, r, page);
        return;
    }
    if (tc_slice_eq(r->path, MCP_PATH)) {
        tc__api_mcp(a, r);
        return;
    }
    tc_route_find(r->path, r->method, &route);
    const struct tc_ui_file *file = route.question == NULL ? tc_ui_find(r) : NULL;
    if (tc_slice_eq(r->path, EVENTS_PATH)) {
        tc_api_events_open(a->events, r, route.question);
    } else if (route.question != NULL) {
        tc__api_ask(a, r, &route);
    } else if (file != NULL) {
        tc_ui_respond(r, file, a->parts.pool, a->parts.inflater);
    } else {
        tc_problem_respond(r, TC_ANSWER_NOT_FOUND, 0, TC_LIT("there is nothing here"));
    }
}

/* ---- life ---- */

tc_status tc_api_create(const struct tc_api_parts *parts, struct tc_api **out, struct tc_error *err)
{
    struct tc_api *a = calloc(1, sizeof *a);
    if (a != NULL) {
        a->parts = *parts;
        a->service = (struct tc_service){begin, handle, a};
        a->text = malloc(PAGE_BYTES_MAX);
        a->kept = tc_kept_create((size_t)parts->config->limits_api_memory / KEPT_SHARE);
    }
    if (a == NULL || a->text == NULL || a->kept == NULL) {
        tc_api_destroy(a);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the API");
    }
    struct tc_api_workers_config workers = {
        .base = parts->base,
        .count = (size_t)parts->config->api_workers,
        .hub = parts->hub,
    };
    tc_status status = tc_api_workers_create(&workers, &a->workers, err);
    if (status == TC_OK) {
        struct tc_api_events_parts events = {
            .config = parts->config,
            .base = parts->base,
            .outbox = parts->outbox,
            .detection = parts->detection,
            .workers = a->workers,
        };
        status = tc_api_events_create(&events, &a->events, err);
    }
    if (status != TC_OK) {
        (void)!tc_api_stop(a, TC_SECOND); /* nobody asked anything yet */
        tc_api_destroy(a);
        return status;
    }
    *out = a;
    return TC_OK;
}

bool tc_api_stop(struct tc_api *a, int64_t wait_ns)
{
    if (a == NULL) {
        return true;
    }
    tc_api_events_stop(a->events);
    bool ended = tc_api_workers_stop(a->workers, wait_ns);
    a->workers = NULL;
    return ended;
}

void tc_api_destroy(struct tc_api *a)
{
    if (a != NULL) {
        tc_api_events_destroy(a->events);
        tc_kept_destroy(a->kept);
        free(a->text);
        free(a);
    }
}

const struct tc_service *tc_api_service(struct tc_api *a)
{
    return &a->service;
}
