/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api.h"

#include "base/clock.h"
#include "net/query.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/auth.h"
#include "server/front.h"
#include "verdict/render.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_TYPE "text/plain; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define JSON_TYPE "application/json"
/* Incidents that are listed when nobody says how many, and at most. */
#define LIST_DEFAULT 100
#define LIST_MAX 1000
#define QUERY_BYTES_MAX 1024
/* The body of a request that is to have none. */
#define BODY_BYTES_MAX 4096
/* The longest answer: a list of incidents. */
#define ANSWER_BYTES_MAX ((size_t)4 << 20)

struct tc_api {
    struct tc_api_parts parts;
    struct tc_service service;
    char *text; /* of ANSWER_BYTES_MAX */
};

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
    tc_json_put_cstr(&j, "state", tc_api_state(*a->parts.ready, *a->parts.stopping));
    tc_api_put_replay(a->parts.catch_up, &j);
    (void)tc_json_end_line(&j);
    return *a->parts.ready ? TC_ANSWER_OK : TC_ANSWER_BUSY;
}

const char *tc_api_state(bool is_ready, bool is_stopping)
{
    return is_ready ? "ready" : is_stopping ? "stopping" : "replaying";
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

/* A list of verdicts while it is written: those with or without causes, so many at most. */
struct list {
    struct tc_buf *b;
    struct tc_sources sources;
    size_t count;
    size_t most;
    bool roots;
    bool full;
};

static tc_status put_verdict(void *context, const struct tc_verdict *v)
{
    struct list *l = context;
    if ((v->cause_count == 0) != l->roots) {
        return TC_OK;
    }
    struct tc_buf before = *l->b;
    bool is_one_too_many = l->count == l->most;
    if (!is_one_too_many) {
        tc_buf_str(l->b, l->count > 0 ? TC_LIT(",\n") : TC_EMPTY);
        tc_verdict_render_json(l->b, v, &l->sources);
    }
    if (is_one_too_many || l->b->overflowed || l->b->len + 8 > l->b->cap) {
        *l->b = before; /* what does not fit is left out */
        l->full = true;
        return TC_E_LIMIT;
    }
    l->count++;
    return TC_OK;
}

/* How many are asked for; false with what is wrong with the query in b. */
static bool read_list_query(struct tc_slice query, size_t *out_count, struct tc_buf *b)
{
    char text[QUERY_BYTES_MAX];
    struct tc_buf decoded = tc_buf_make(text, sizeof text);
    struct tc_slice key;
    struct tc_slice value;
    bool bad = false;
    *out_count = LIST_DEFAULT;
    while (tc_query_next(&query, &decoded, &key, &value, &bad)) {
        uint64_t n = 0;
        if (bad || !tc_slice_eq(key, TC_LIT("limit"))) {
            tc_buf_lit(b, "{\"error\":\"there is no such parameter; there is limit\"}\n");
            return false;
        }
        if (!tc_slice_is_u64(value, &n)) {
            tc_buf_lit(b, "{\"error\":\"limit is a number\"}\n");
            return false;
        }
        *out_count = n > LIST_MAX ? LIST_MAX : (size_t)n;
    }
    return true;
}

/* What others follow from comes first: a storm of symptoms must not push its cause off the list. */
static enum tc_answer show_incidents(struct tc_api *a, const struct tc_request *r, struct tc_buf *b)
{
    struct tc_live *live = tc_detection_live(a->parts.detection);
    struct list list = {
        .b = b, .sources = tc_cited_sources(tc_detection_cited(a->parts.detection)), .roots = true};
    if (!read_list_query(r->query, &list.most, b)) {
        return TC_ANSWER_BAD;
    }
    tc_buf_lit(b, "{\"incidents\":[");
    tc_status status = tc_live_list(live, SIZE_MAX, put_verdict, &list);
    if (status == TC_OK) {
        list.roots = false;
        status = tc_live_list(live, SIZE_MAX, put_verdict, &list);
    }
    if (status != TC_OK && !list.full) {
        return TC_ANSWER_INTERNAL;
    }
    tc_buf_lit(b, "]}\n");
    return TC_ANSWER_OK;
}

static const struct page PAGES[] = {
    {"/healthz", 0, TEXT_TYPE, show_health},
    {"/readyz", 0, JSON_TYPE, show_ready},
    {"/metrics", TC_TOKEN_READ, METRICS_TYPE, show_metrics},
    {"/api/v1/status", TC_TOKEN_READ, JSON_TYPE, show_status},
    {"/api/v1/incidents", TC_TOKEN_READ, JSON_TYPE, show_incidents},
};
#define UPLOAD_PATH TC_LIT("/api/v1/upload")

static const struct page *find_page(struct tc_slice path)
{
    size_t i = tc_slice_row(path, PAGES, path);
    return i < TC_COUNT(PAGES) ? &PAGES[i] : NULL;
}

static enum tc_answer look(struct tc_api *a, const struct tc_request *head, struct tc_response *out)
{
    const struct page *page = find_page(head->path);
    if (page == NULL) {
        tc_count(TC_COUNT_REJECTED_NOT_FOUND, 1);
        out->message = TC_LIT("there are /healthz, /readyz, /metrics, /api/v1/status, "
                              "/api/v1/incidents and /api/v1/upload here");
        return TC_ANSWER_NOT_FOUND;
    }
    if (head->method != TC_METHOD_GET && head->method != TC_METHOD_HEAD) {
        tc_count(TC_COUNT_REJECTED_WRONG_METHOD, 1);
        out->allow = TC_LIT("GET, HEAD");
        return TC_ANSWER_WRONG_METHOD;
    }
    return page->scope == 0 ? TC_ANSWER_OK
                            : tc_auth_check(a->parts.auth, head, page->scope, tc_mono_ns(), out);
}

static enum tc_answer begin(void *context, struct tc_request *head, size_t *io_body_max,
                            struct tc_response *out_refusal)
{
    struct tc_api *a = context;
    bool reads = head->method == TC_METHOD_GET || head->method == TC_METHOD_HEAD;
    enum tc_answer answer = tc_front_check_host(a->parts.config, head, out_refusal);
    if (answer == TC_ANSWER_OK && !reads) {
        answer = tc_front_check_page(a->parts.config, head, out_refusal);
    }
    *io_body_max = BODY_BYTES_MAX;
    if (answer == TC_ANSWER_OK) {
        answer = tc_slice_eq(head->path, UPLOAD_PATH)
                     ? tc_upload_begin(a->parts.upload, head, io_body_max, out_refusal)
                     : look(a, head, out_refusal);
    }
    if (answer != TC_ANSWER_OK) {
        out_refusal->answer = answer;
        tc_answer_count(head, answer);
    }
    return answer;
}

static void handle(void *context, struct tc_request *r)
{
    struct tc_api *a = context;
    if (tc_slice_eq(r->path, UPLOAD_PATH)) {
        tc_upload_handle(a->parts.upload, r);
        return;
    }
    struct tc_buf b = tc_buf_make(a->text, ANSWER_BYTES_MAX);
    struct tc_response response = {0};
    const struct page *page = find_page(r->path);
    response.answer = page == NULL ? TC_ANSWER_NOT_FOUND : page->show(a, r, &b);
    response.content_type = page == NULL ? TC_EMPTY : tc_slice_cstr(page->type);
    response.body = tc_buf_slice(&b);
    tc_answer_count(r, response.answer);
    tc_request_respond(r, &response);
}

struct tc_api *tc_api_create(const struct tc_api_parts *parts)
{
    struct tc_api *a = calloc(1, sizeof *a);
    if (a != NULL) {
        a->parts = *parts;
        a->service = (struct tc_service){begin, handle, a};
        a->text = malloc(ANSWER_BYTES_MAX);
    }
    if (a == NULL || a->text == NULL) {
        free(a);
        return NULL;
    }
    return a;
}

void tc_api_destroy(struct tc_api *a)
{
    if (a != NULL) {
        free(a->text);
        free(a);
    }
}

const struct tc_service *tc_api_service(struct tc_api *a)
{
    return &a->service;
}
