/* SPDX-License-Identifier: Apache-2.0 */
/* One question over HTTP: its parameters, who answers it, and the answer. */
#include "base/clock.h"
#include "base/json/json.h"
#include "net/query.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/api/http.h"
#include "server/api/priv.h"

#include <stdlib.h>
#include <string.h>

#define RANGE_BYTES 96
/* Of the name of a parameter that is wrong. */
#define WRONG_BYTES 64
#define AGE_BYTES 24

/* A request and what becomes of it. The job is first: a job is its question. */
struct tc__ask {
    struct tc_api_job job;
    struct tc_api *api;
    struct tc_request *request; /* NULL: an answer that is kept is asked for anew */
    struct tc__ask *next;       /* of those with the workers */
    struct tc__ask *followers;  /* who ask the same, and get the same answer */
    struct tc_kept_key key;     /* its texts are the request's, or lie in `text` */
    struct tc_kept_from from;
    struct tc_asked asked;
    struct tc_reply reply;
    struct tc_api_body *body; /* the reply, as it is sent */
    struct tc_error err;
    tc_status status;
    bool not_now;      /* the warehouse is not to be had at the moment */
    bool is_body_bad;  /* what failed is the reading of the body */
    bool is_range_bad; /* no bytes lie in it */
    bool is_part;      /* a range was asked for */
    bool is_kept;      /* the answer is one that was kept, age_ns old */
    int64_t age_ns;
    char range[RANGE_BYTES];
    char wrong[WRONG_BYTES];
    char by[TC_CONFIG_TOKEN_NAME_MAX];
    char text[]; /* of the query, decoded */
};

static void free_ask(struct tc__ask *k)
{
    tc_api_body_give(k->body);
    tc_reply_fini(&k->reply);
    free(k);
}

/* The answer was sent. What several are sent counts once. */
static void sent(void *context)
{
    struct tc__ask *k = context;
    if (--k->body->readers == 0) {
        k->api->held_bytes -= k->body->bytes.len;
    }
    free_ask(k);
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
    for (size_t i = 0; i < route->part_count; i++) {
        TC_TRY(tc_asked_add(&k->asked, route->parts[i].name, route->parts[i].value, &k->err));
    }
    return tc__api_read_query(&k->asked, k->key.query, k->text, &k->err);
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
    bool has_range = k->request != NULL && k->request->range.len > 0;
    k->status = has_range && !k->asked.question->posts ? add_range(k) : TC_OK;
    if (k->status == TC_OK) {
        k->status = tc_question_answer(&k->asked, &k->reply, &k->err);
    }
}

/* The body is read here, on a worker's thread: it may be long. */
static void read_body_and_answer(struct tc__ask *k)
{
    const struct tc_buffer *body = k->asked.question->posts ? k->request->body : NULL;
    struct tc_json_parser *parser = NULL;
    struct tc_json root;
    if (body == NULL || body->len == 0) {
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

/* The reply as it is sent: compressed, with its tag. */
static void make_body(struct tc__ask *k)
{
    if (k->status != TC_OK) {
        return;
    }
    k->body = tc_api_body_create(&k->reply, k->key.is_gzip, !k->asked.question->posts);
    if (k->body == NULL) {
        k->not_now = true;
        k->status = tc_fail(&k->err, TC_E_NOMEM, 0, "no memory for the answer");
    }
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
    const struct tc_api_body *body = k->body;
    if (!k->is_part || body->bytes.len == 0) {
        return TC_EMPTY;
    }
    tc_buf_lit(b, "bytes ");
    tc_buf_u64(b, body->range_from);
    tc_buf_char(b, '-');
    tc_buf_u64(b, body->range_from + body->bytes.len - 1);
    tc_buf_char(b, '/');
    tc_buf_u64(b, body->range_total);
    return tc_buf_slice(b);
}

/* Whole seconds since what is kept was asked for. */
static struct tc_slice age(const struct tc__ask *k, struct tc_buf *b)
{
    if (!k->is_kept) {
        return TC_EMPTY;
    }
    tc_buf_u64(b, (uint64_t)(k->age_ns / TC_SECOND));
    return tc_buf_slice(b);
}

/* Whether so much more may wait for slow readers. */
static bool has_room(const struct tc_api *a, const struct tc_api_body *body)
{
    size_t most = (size_t)a->parts.config->limits_api_memory;
    return body->readers > 0 || (a->held_bytes <= most && body->bytes.len <= most - a->held_bytes);
}

static void respond(struct tc__ask *k)
{
    struct tc_api *a = k->api;
    struct tc_request *r = k->request;
    struct tc_api_body *body = k->body;
    struct tc_slice etag = tc_api_body_etag(body);
    char range[RANGE_BYTES];
    char age_text[AGE_BYTES];
    struct tc_buf range_buf = tc_buf_make(range, sizeof range);
    struct tc_buf age_buf = tc_buf_make(age_text, sizeof age_text);
    if (!has_room(a, body)) {
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
        {TC_LIT("Vary"), TC_LIT("Accept-Encoding")},
        {TC_LIT("Age"), age(k, &age_buf)},
        {TC_LIT("X-Content-Type-Options"), TC_LIT("nosniff")},
        {TC_LIT("Content-Encoding"), body->is_gzip ? TC_LIT("gzip") : TC_EMPTY},
        {TC_LIT("Content-Range"), part},
        /* Bytes of telemetry are never a page. */
        {TC_LIT("Content-Security-Policy"), TC_LIT("default-src 'none'; sandbox")},
    };
    struct tc_response response = {
        .answer = part.len > 0 ? TC_ANSWER_PARTIAL : TC_ANSWER_OK,
        .content_type = tc_slice_cstr(body->content_type),
        .body = body->bytes,
        .headers = headers,
        .header_count = TC_COUNT(headers),
        .release = sent,
        .release_context = k,
    };
    if (etag.len > 0 && tc_http_has_tag(r->if_none_match, etag)) {
        response.answer = TC_ANSWER_NOT_MODIFIED;
        response.body = TC_EMPTY;
        response.content_type = TC_EMPTY;
    }
    a->held_bytes += body->readers++ == 0 ? body->bytes.len : 0;
    r->left = NULL;
    tc_answer_count(r, response.answer);
    tc_request_respond(r, &response);
}

/* Whoever changes something is named, and what became of it. */
static void audit(const struct tc__ask *k)
{
    tc_log_fields(TC_LOG_INFO, "audit", TC_LOG_CSTR("action", k->asked.question->name),
                  TC_LOG_TEXT("by", k->asked.by.len > 0 ? k->asked.by : TC_LIT("no token")),
                  TC_LOG_CSTR("result", k->status == TC_OK ? "done" : k->err.message));
}

static void finish(struct tc__ask *k)
{
    if (k->asked.question->scope == TC_SCOPE_ADMIN) {
        audit(k);
    }
    if (k->request == NULL) {
        free_ask(k);
    } else if (k->status == TC_OK) {
        respond(k);
    } else {
        refuse(k);
    }
}

/* ---- answers that are kept ---- */

/* What an answer would be made from now. */
static struct tc_kept_from made_from(const struct tc_api *a, const struct tc_question *q)
{
    struct tc_kept_from from = {.at_ns = tc_mono_ns()};
    if (q->place == TC_PLACE_LIVE) {
        from.told = tc_live_changes(tc_detection_live(a->parts.detection));
    } else if (*a->parts.hub != NULL) {
        struct tc_warehouse_writes writes = tc_warehouse_hub_writes(*a->parts.hub);
        from.told = writes.by_commands;
        from.fed = writes.by_feed;
    }
    return from;
}

static bool may_be_kept(const struct tc__ask *k)
{
    return k->asked.question->keeps && (k->request == NULL || k->request->range.len == 0);
}

static void keep(struct tc__ask *k)
{
    if (k->status == TC_OK && may_be_kept(k)) {
        tc_kept_put(k->api->kept, &k->key, &k->from, k->body);
    }
}

/* Whether the answer was there already. */
static bool find_kept(struct tc__ask *k, enum tc_kept_use *out_use)
{
    struct tc_api_body *body =
        may_be_kept(k) ? tc_kept_find(k->api->kept, &k->key, &k->from, out_use, &k->age_ns) : NULL;
    if (body == NULL) {
        return false;
    }
    k->is_kept = true;
    k->body = tc_api_body_use(body);
    tc_count(TC_COUNT_API_ANSWERS_KEPT, 1);
    return true;
}

/* ---- by a worker ---- */

static void run_job(struct tc_api_job *job, struct tc_api_worker *w)
{
    struct tc__ask *k = (struct tc__ask *)(void *)job;
    if (k->asked.question->place == TC_PLACE_LIVE) {
        make_body(k); /* that is long: the answer is there */
        return;
    }
    if (k->asked.question->needs_warehouse) {
        k->status = tc_api_worker_warehouse(w, &k->asked.warehouse, &k->err);
        k->not_now = k->status == TC_E_AGAIN;
        if (k->status != TC_OK) {
            return;
        }
    }
    read_body_and_answer(k);
    make_body(k);
    if (k->asked.question->scope == TC_SCOPE_ADMIN && k->asked.question->needs_warehouse) {
        tc_api_worker_wrote(w);
    }
}

/* The answer of another that asked the same. */
static void share_answer(struct tc__ask *to, const struct tc__ask *from)
{
    to->status = from->status;
    to->not_now = from->not_now;
    to->err = from->err;
    to->asked.wrong = from->asked.wrong;
    to->body = from->body == NULL ? NULL : tc_api_body_use(from->body);
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
    keep(k);
    for (struct tc__ask *f = k->followers, *next = NULL; f != NULL; f = next) {
        next = f->followers;
        share_answer(f, k);
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
 * One that asks the same and is with the workers: many pages that show the same ask for it once,
 * however far behind the workers are. What a worker has begun with may not see what is there by
 * now; so it counts only when an answer that is kept would do, and nobody but the daemon itself has
 * written since.
 */
static struct tc__ask *find_same(const struct tc__ask *k)
{
    bool may_share =
        !k->asked.question->posts && (k->request == NULL || k->request->range.len == 0);
    struct tc__ask *same = may_share ? k->api->asks : NULL;
    for (; same != NULL; same = same->next) {
        bool other_may =
            !same->job.is_cancelled && (same->request == NULL || same->request->range.len == 0);
        if (other_may && tc_kept_is_same(&same->key, &k->key) &&
            ((k->asked.question->keeps && same->from.told == k->from.told) ||
             (k->asked.question->place == TC_PLACE_TABLES &&
              tc_api_workers_has_not_begun(k->api->workers, &same->job)))) {
            return same;
        }
    }
    return NULL;
}

/* To the workers, or to one that is with them; false: there is no room. */
static bool hand_over(struct tc__ask *k)
{
    struct tc_api *a = k->api;
    struct tc__ask *same = find_same(k);
    if (same != NULL && k->request == NULL) {
        free_ask(k);
        return true;
    }
    if (same != NULL) {
        k->followers = same->followers;
        same->followers = k;
        return true;
    }
    k->job.run = run_job;
    k->job.done = done_job;
    if (!tc_api_workers_put(a->workers, &k->job, (size_t)a->parts.config->api_queue)) {
        return false;
    }
    k->next = a->asks;
    a->asks = k;
    if (k->request != NULL) {
        k->request->handler_data = k;
        k->request->left = left;
    }
    return true;
}

static void ask_workers(struct tc__ask *k)
{
    if (!hand_over(k)) {
        k->not_now = true;
        k->status = tc_fail(&k->err, TC_E_LIMIT, 0,
                            "too many questions wait to be answered; try again, or raise api.queue "
                            "or api.workers");
        finish(k);
    }
}

/* NULL: no memory. `more` bytes are behind the room for the query. */
static struct tc__ask *make_ask(struct tc_api *a, const struct tc_kept_key *key, size_t more)
{
    struct tc__ask *k = calloc(1, sizeof *k + key->query.len + more);
    if (k != NULL) {
        k->api = a;
        k->key = *key;
        k->from = made_from(a, key->question);
        tc_asked_init(&k->asked, key->question, tc_wall_ns());
        k->asked.data_dir = a->parts.data_dir;
        k->asked.time_ns = a->parts.config->warehouse_query_timeout;
        k->asked.rows_max = (uint64_t)a->parts.config->warehouse_query_rows;
    }
    return k;
}

/* What was given once more is asked for anew, for those who come later. */
static void ask_anew(struct tc_api *a, const struct tc_kept_key *key)
{
    struct tc_route route;
    struct tc__ask *k = make_ask(a, key, key->path.len + key->query.len);
    if (k == NULL) {
        return;
    }
    struct tc_buf own = tc_buf_make(k->text + key->query.len, key->path.len + key->query.len);
    tc_buf_str(&own, key->path);
    tc_buf_str(&own, key->query);
    k->key.path = tc_slice_head(tc_buf_slice(&own), key->path.len);
    k->key.query = tc_slice_from(tc_buf_slice(&own), key->path.len);
    tc_route_find(k->key.path, TC_METHOD_GET, &route);
    k->status = read_head(k, &route);
    if (k->status != TC_OK || !hand_over(k)) {
        free_ask(k);
    }
}

/* On the loop; what is long is compressed elsewhere. */
static void answer_live(struct tc__ask *k)
{
    const struct tc_api_parts *parts = &k->api->parts;
    struct tc_sources sources = tc_cited_sources(tc_detection_cited(parts->detection));
    k->asked.live = tc_detection_live(parts->detection);
    k->asked.sources = &sources;
    answer(k);
    k->asked.sources = NULL;
    if (k->status == TC_OK && k->key.is_gzip && k->reply.body.buf.len > TC_API_GZIP_ON_LOOP_MAX) {
        if (hand_over(k)) {
            return;
        }
        k->key.is_gzip = false; /* then it goes as it is */
    }
    make_body(k);
    keep(k);
    finish(k);
}

void tc__api_ask(struct tc_api *a, struct tc_request *r, const struct tc_route *route)
{
    struct tc_kept_key key = {.question = route->question,
                              .path = r->path,
                              .query = r->query,
                              .is_gzip = tc_http_takes_gzip(r->accept_encoding)};
    struct tc__ask *k = make_ask(a, &key, 0);
    enum tc_kept_use use = TC_KEPT_NONE;
    if (k == NULL) {
        tc_problem_respond(r, TC_ANSWER_BUSY, TC_RETRY_SOON_S, TC_LIT("no memory now"));
        return;
    }
    struct tc_buf by = tc_buf_make(k->by, sizeof k->by);
    k->request = r;
    tc_buf_str(&by, tc_auth_token_name(a->parts.auth, r));
    k->asked.by = tc_buf_slice(&by);
    k->status = read_head(k, route);
    if (k->status != TC_OK) {
        finish(k);
    } else if (find_kept(k, &use)) {
        if (use == TC_KEPT_OLD) {
            ask_anew(a, &key);
        }
        finish(k);
    } else if (route->question->place == TC_PLACE_LIVE) {
        answer_live(k);
    } else {
        ask_workers(k);
    }
}
