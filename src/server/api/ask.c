/* SPDX-License-Identifier: Apache-2.0 */
/* One question over HTTP: its parameters, who answers it, and the answer. */
#include "base/clock.h"
#include "base/digest.h"
#include "base/json/json.h"
#include "net/query.h"
#include "server/answer.h"
#include "server/api/http.h"
#include "server/api/priv.h"

#include <stdlib.h>
#include <string.h>

#define JSON_TYPE TC_LIT("application/json")
/* Hex digits of a digest that make an ETag, with the quotes. */
#define ETAG_DIGITS 32
#define ETAG_BYTES (ETAG_DIGITS + 2)
#define RANGE_BYTES 96
/* Of the name of a parameter that is wrong. */
#define WRONG_BYTES 64

/* A request and what becomes of it. The job is first: a job is its question. */
struct tc__ask {
    struct tc_api_job job;
    struct tc_api *api;
    struct tc_request *request;
    struct tc__ask *next;      /* of those with the workers */
    struct tc__ask *followers; /* who ask the same, and get the same answer */
    struct tc_asked asked;
    struct tc_reply reply;
    struct tc_error err;
    tc_status status;
    bool not_now;      /* the warehouse is not to be had at the moment */
    bool is_body_bad;  /* what failed is the reading of the body */
    bool is_range_bad; /* no bytes lie in it */
    bool is_part;      /* a range was asked for */
    size_t held_bytes; /* while the answer is written from here */
    char range[RANGE_BYTES];
    char wrong[WRONG_BYTES];
    char etag[ETAG_BYTES];
    char by[TC_CONFIG_TOKEN_NAME_MAX];
    char text[]; /* of the query, decoded */
};

static void free_ask(void *context)
{
    struct tc__ask *k = context;
    k->api->held_bytes -= k->held_bytes;
    tc_reply_fini(&k->reply);
    free(k);
}

/* ---- the question ---- */

static bool has_param(const struct tc_question *q, const char *name)
{
    for (size_t i = 0; i < q->param_count; i++) {
        if (strcmp(q->params[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

tc_status tc__api_read_query(struct tc_asked *asked, struct tc_slice query, char *room,
                             struct tc_error *err)
{
    struct tc_buf decoded = tc_buf_make(room, query.len);
    struct tc_slice name;
    struct tc_slice value;
    bool bad = false;
    while (tc_query_next(&query, &decoded, &name, &value, &bad)) {
        if (bad) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "a parameter holds a control character or a %% that is not a %%XX");
        }
        TC_TRY(tc_asked_add(asked, name, value, err));
    }
    return TC_OK;
}

static tc_status read_head(struct tc__ask *k, const struct tc_route *route)
{
    const struct tc_request *r = k->request;
    for (size_t i = 0; i < route->part_count; i++) {
        TC_TRY(tc_asked_add(&k->asked, route->parts[i].name, route->parts[i].value, &k->err));
    }
    return tc__api_read_query(&k->asked, r->query, k->text, &k->err);
}

/* "Range: bytes=..." of bytes that can be had in parts is their parameter `at`. How many there are
 * is to be known first: a range may reach over the end. */
static tc_status add_range(struct tc__ask *k)
{
    uint64_t first = 0;
    uint64_t length = 0;
    struct tc_asked probe = k->asked;
    struct tc_reply reply = {0};
    struct tc_buf b = tc_buf_make(k->range, sizeof k->range);
    const struct tc_question *q = k->asked.question;
    enum tc_http_range kind = tc_http_range_of(k->request->range, &first, &length);
    if (kind == TC_HTTP_RANGE_NONE || q->member_count > 0 || !has_param(q, "at") ||
        tc_asked_value(&k->asked, "at")->is_given) {
        return TC_OK; /* whoever asks for a range may be given the whole */
    }
    TC_TRY(tc_asked_add(&probe, TC_LIT("at"), TC_LIT("0,0"), &k->err));
    TC_TRY(tc_question_answer(&probe, &reply, &k->err));
    uint64_t total = reply.range_total;
    tc_reply_fini(&reply);
    if (kind == TC_HTTP_RANGE_LAST) {
        length = length < total ? length : total;
        first = total - length;
    }
    if (kind == TC_HTTP_RANGE_BAD || first >= total) {
        k->is_range_bad = true;
        return tc_fail(&k->err, TC_E_USAGE, 0,
                       "the range lies behind the end: there are %llu bytes",
                       (unsigned long long)total);
    }
    length = length < total - first ? length : total - first;
    length = length < TC_REPLY_BYTES_MAX ? length : TC_REPLY_BYTES_MAX;
    tc_buf_u64(&b, first);
    tc_buf_char(&b, ',');
    tc_buf_u64(&b, length);
    k->is_part = true;
    return tc_asked_add(&k->asked, TC_LIT("at"), tc_buf_slice(&b), &k->err);
}

static void answer(struct tc__ask *k)
{
    k->status = k->request->range.len > 0 && !k->asked.question->posts ? add_range(k) : TC_OK;
    if (k->status == TC_OK) {
        k->status = tc_question_answer(&k->asked, &k->reply, &k->err);
    }
}

/* The body is read here, on a worker's thread: it may be long. */
static void read_body_and_answer(struct tc__ask *k)
{
    const struct tc_buffer *body = k->request->body;
    struct tc_json_parser *parser = NULL;
    struct tc_json root;
    if (!k->asked.question->posts || body == NULL || body->len == 0) {
        answer(k);
        return;
    }
    parser = tc_json_parser_create();
    k->is_body_bad = true;
    k->status = parser == NULL
                    ? tc_fail(&k->err, TC_E_NOMEM, 0, "no memory for the body")
                    : tc_json_parse(parser, tc_slice_make((const char *)body->data, body->len),
                                    &root, &k->err);
    if (k->status == TC_OK) {
        k->status = tc_asked_add_json(&k->asked, root, &k->err);
    }
    if (k->status == TC_OK) {
        k->is_body_bad = false;
        answer(k);
    }
    /* A name that is none of ours lies in the parser. */
    struct tc_buf wrong = tc_buf_make(k->wrong, sizeof k->wrong);
    tc_buf_str(&wrong, tc_slice_head(k->asked.wrong, sizeof k->wrong));
    k->asked.wrong = tc_buf_slice(&wrong);
    tc_json_parser_destroy(parser);
}

static void make_etag(struct tc__ask *k)
{
    struct tc_digest digest;
    char text[TC_DIGEST_TEXT];
    if (k->status != TC_OK || k->asked.question->posts ||
        tc_digest_sha256(tc_slice_make(k->reply.body.buf.data, k->reply.body.buf.len), &digest) !=
            TC_OK) {
        return;
    }
    tc_digest_text(&digest, text);
    k->etag[0] = '"';
    memcpy(k->etag + 1, text + sizeof "sha256:" - 1, ETAG_DIGITS);
    k->etag[ETAG_BYTES - 1] = '"';
}

/* ---- the answer ---- */

static void refuse(struct tc__ask *k)
{
    enum tc_answer answer = k->not_now        ? TC_ANSWER_BUSY
                            : k->is_body_bad  ? TC_ANSWER_BAD
                            : k->is_range_bad ? TC_ANSWER_BAD_RANGE
                                              : tc_problem_answer(k->status);
    k->request->left = NULL;
    tc_problem_respond_about(k->request, answer, answer == TC_ANSWER_BUSY ? TC_RETRY_SOON_S : 0,
                             tc_slice_cstr(k->err.message),
                             answer == TC_ANSWER_BAD ? k->asked.wrong : TC_EMPTY);
    free_ask(k);
}

/* "bytes 0-99/1234" of a part. */
static struct tc_slice content_range(const struct tc__ask *k, struct tc_buf *b)
{
    const struct tc_reply *reply = &k->reply;
    if (!k->is_part || reply->body.buf.len == 0) {
        return TC_EMPTY;
    }
    tc_buf_lit(b, "bytes ");
    tc_buf_u64(b, reply->range_from);
    tc_buf_char(b, '-');
    tc_buf_u64(b, reply->range_from + reply->body.buf.len - 1);
    tc_buf_char(b, '/');
    tc_buf_u64(b, reply->range_total);
    return tc_buf_slice(b);
}

static void respond(struct tc__ask *k)
{
    struct tc_api *a = k->api;
    struct tc_request *r = k->request;
    struct tc_slice body = tc_slice_make(k->reply.body.buf.data, k->reply.body.buf.len);
    struct tc_slice etag = tc_slice_make(k->etag, k->etag[0] == '"' ? ETAG_BYTES : 0);
    char range[RANGE_BYTES];
    struct tc_buf range_buf = tc_buf_make(range, sizeof range);
    if (body.len > (size_t)a->parts.config->limits_api_memory - a->held_bytes ||
        a->held_bytes > (size_t)a->parts.config->limits_api_memory) {
        k->not_now = true;
        (void)!tc_fail(&k->err, TC_E_LIMIT, 0,
                       "too many long answers wait for their readers; try again, or raise "
                       "limits.api_memory");
        refuse(k);
        return;
    }
    struct tc_slice part = content_range(k, &range_buf);
    const struct tc_header headers[] = {
        {TC_LIT("ETag"), etag},
        {TC_LIT("Cache-Control"), TC_LIT("no-cache")},
        {TC_LIT("X-Content-Type-Options"), TC_LIT("nosniff")},
        {TC_LIT("Content-Range"), part},
        /* Bytes of telemetry are never a page. */
        {TC_LIT("Content-Security-Policy"), TC_LIT("default-src 'none'; sandbox")},
    };
    struct tc_response response = {
        .answer = part.len > 0 ? TC_ANSWER_PARTIAL : TC_ANSWER_OK,
        .content_type =
            k->reply.content_type == NULL ? JSON_TYPE : tc_slice_cstr(k->reply.content_type),
        .body = body,
        .headers = headers,
        .header_count = TC_COUNT(headers),
        .release = free_ask,
        .release_context = k,
    };
    if (etag.len > 0 && tc_http_has_tag(r->if_none_match, etag)) {
        response.answer = TC_ANSWER_NOT_MODIFIED;
        response.body = TC_EMPTY;
        response.content_type = TC_EMPTY;
    }
    k->held_bytes = response.body.len;
    a->held_bytes += k->held_bytes;
    r->left = NULL;
    tc_answer_count(r, response.answer);
    tc_request_respond(r, &response);
}

static void finish(struct tc__ask *k)
{
    if (k->status == TC_OK) {
        respond(k);
    } else {
        refuse(k);
    }
}

/* ---- by a worker ---- */

static void run_job(struct tc_api_job *job, struct tc_api_worker *w)
{
    struct tc__ask *k = (struct tc__ask *)(void *)job;
    if (k->asked.question->needs_warehouse) {
        k->status = tc_api_worker_warehouse(w, &k->asked.warehouse, &k->err);
        k->not_now = k->status == TC_E_AGAIN;
        if (k->status != TC_OK) {
            return;
        }
    }
    read_body_and_answer(k);
    make_etag(k);
}

/* The answer of another that asked the same. */
static void copy_answer(struct tc__ask *to, const struct tc__ask *from)
{
    struct tc_slice body = tc_slice_make(from->reply.body.buf.data, from->reply.body.buf.len);
    to->status = from->status;
    to->not_now = from->not_now;
    to->err = from->err;
    to->asked.wrong = from->asked.wrong;
    memcpy(to->etag, from->etag, sizeof to->etag);
    to->reply.content_type = from->reply.content_type;
    tc_grow_str(&to->reply.body, body);
    if (to->status == TC_OK && to->reply.body.failed) {
        to->not_now = true;
        to->status = tc_fail(&to->err, TC_E_NOMEM, 0, "no memory for the answer");
    }
}

static void done_job(struct tc_api_job *job, bool was_run)
{
    struct tc__ask *k = (struct tc__ask *)(void *)job;
    struct tc__ask **at = &k->api->asks;
    while (*at != k) {
        at = &(*at)->next;
    }
    *at = k->next;
    if (!was_run || job->is_cancelled) {
        k->not_now = true;
        k->status = tc_fail(&k->err, TC_E_IO, 0, "the daemon is stopping, or nobody waits for it");
    }
    for (struct tc__ask *f = k->followers, *next = NULL; f != NULL; f = next) {
        next = f->followers;
        copy_answer(f, k);
        finish(f);
    }
    finish(k);
}

static void left(struct tc_request *r)
{
    struct tc__ask *k = r->handler_data;
    /* At the end that takes care of it; and others may still wait for the answer. */
    if (k->api->workers != NULL && k->followers == NULL) {
        tc_api_workers_cancel(k->api->workers, &k->job);
    }
}

/*
 * One that asks the same and waits to be answered: many pages that show the same ask for it once,
 * however far behind the workers are. What has begun does not count: it may not see what is there
 * by now.
 */
static struct tc__ask *find_same(const struct tc__ask *k)
{
    const struct tc_request *r = k->request;
    struct tc__ask *same = k->asked.question->posts || r->range.len > 0 ? NULL : k->api->asks;
    for (; same != NULL; same = same->next) {
        const struct tc_request *other = same->request;
        if (same->asked.question == k->asked.question && other->range.len == 0 &&
            tc_slice_eq(other->path, r->path) && tc_slice_eq(other->query, r->query) &&
            tc_api_workers_has_not_begun(k->api->workers, &same->job)) {
            return same;
        }
    }
    return NULL;
}

static void hand_over(struct tc__ask *k)
{
    struct tc_api *a = k->api;
    struct tc__ask *same = find_same(k);
    if (same != NULL) {
        k->followers = same->followers;
        same->followers = k;
        return;
    }
    k->job.run = run_job;
    k->job.done = done_job;
    k->request->handler_data = k;
    k->request->left = left;
    if (tc_api_workers_put(a->workers, &k->job, (size_t)a->parts.config->api_queue)) {
        k->next = a->asks;
        a->asks = k;
    } else {
        k->not_now = true;
        k->status = tc_fail(&k->err, TC_E_LIMIT, 0,
                            "too many questions wait to be answered; try again, or raise api.queue "
                            "or api.workers");
        finish(k);
    }
}

void tc__api_ask(struct tc_api *a, struct tc_request *r, const struct tc_route *route)
{
    struct tc__ask *k = calloc(1, sizeof *k + r->query.len);
    if (k == NULL) {
        tc_problem_respond(r, TC_ANSWER_BUSY, TC_RETRY_SOON_S, TC_LIT("no memory now"));
        return;
    }
    const struct tc_config *config = a->parts.config;
    struct tc_buf by = tc_buf_make(k->by, sizeof k->by);
    k->api = a;
    k->request = r;
    tc_asked_init(&k->asked, route->question, tc_wall_ns());
    tc_buf_str(&by, tc_auth_token_name(a->parts.auth, r));
    k->asked.by = tc_buf_slice(&by);
    k->asked.data_dir = a->parts.data_dir;
    k->asked.time_ns = config->warehouse_query_timeout;
    k->asked.rows_max = (uint64_t)config->warehouse_query_rows;
    k->status = read_head(k, route);
    if (k->status != TC_OK) {
        finish(k);
    } else if (route->question->place == TC_PLACE_LIVE) {
        struct tc_sources sources = tc_cited_sources(tc_detection_cited(a->parts.detection));
        k->asked.live = tc_detection_live(a->parts.detection);
        k->asked.sources = &sources;
        answer(k);
        make_etag(k);
        finish(k);
    } else {
        hand_over(k);
    }
}
