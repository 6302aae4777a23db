/* SPDX-License-Identifier: Apache-2.0 */
/* What `tracecore mcp` answers from: the tables here, and a running daemon for what is live. */
#include "base/format.h"
#include "base/json/json.h"
#include "base/time.h"
#include "base/url.h"
#include "cli/data.h"
#include "cli/mcp/priv.h"

#include <stdio.h>

/* How long another command that has the database open is waited for; how long a query may take, and
 * how many rows it may give. */
#define QUERY_NS (30 * TC_SECOND)
#define QUERY_ROWS 10000
#define PATH_MAX_BYTES 4096

/* ---- the tables ---- */

static tc_status open_warehouse(struct tc_mcp_source *s, struct tc_asked *asked,
                                struct tc_error *err)
{
    struct tc_warehouse_config config = tc_data_config("mcp", s->dir, TC_WAREHOUSE_READ);
    struct tc_warehouse *w = NULL;
    tc_status status = tc_warehouse_open(&config, &w, err);
    if (status == TC_E_NOTFOUND) {
        return tc_fail(err, status, 0,
                       "there are no runs in the data_dir of this server yet; add one with "
                       "`tracecore run add`, or start `tracecore mcp` with another --data-dir");
    }
    if (status == TC_OK) {
        (void)pthread_mutex_lock(&s->lock);
        s->open = w;
        bool is_stopped = s->is_stopped;
        (void)pthread_mutex_unlock(&s->lock);
        asked->warehouse = w;
        status = is_stopped ? tc_fail(err, TC_E_LIMIT, 0, "the request was cancelled") : TC_OK;
    }
    return status;
}

void tc_mcp_source_begin(struct tc_mcp_source *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->is_stopped = false;
    (void)pthread_mutex_unlock(&s->lock);
}

static void close_warehouse(struct tc_mcp_source *s)
{
    (void)pthread_mutex_lock(&s->lock);
    struct tc_warehouse *w = s->open;
    s->open = NULL;
    (void)pthread_mutex_unlock(&s->lock);
    if (w != NULL) {
        tc_warehouse_close(w);
    }
}

void tc_mcp_source_stop(struct tc_mcp_source *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->is_stopped = true;
    if (s->open != NULL) {
        tc_warehouse_interrupt(s->open);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

static tc_status ask_tables(struct tc_mcp_source *s, struct tc_asked *asked, struct tc_reply *out,
                            struct tc_error *err)
{
    asked->data_dir = s->dir;
    asked->time_ns = QUERY_NS;
    asked->rows_max = QUERY_ROWS;
    asked->by = TC_LIT("mcp");
    tc_status status = asked->question->needs_warehouse ? open_warehouse(s, asked, err) : TC_OK;
    if (status == TC_OK) {
        status = tc_question_answer(asked, out, err);
    }
    asked->warehouse = NULL;
    close_warehouse(s);
    return status;
}

/* ---- the daemon ---- */

static void put_value(struct tc_buf *b, const struct tc_param *p, const struct tc_param_value *v)
{
    switch (p->kind) {
    case TC_PARAM_COUNT:
        tc_buf_i64(b, v->count);
        break;
    case TC_PARAM_REAL:
        tc_buf_f64(b, v->real);
        break;
    case TC_PARAM_FLAG:
        tc_buf_str(b, v->flag ? TC_LIT("true") : TC_LIT("false"));
        break;
    case TC_PARAM_TEXT:
    case TC_PARAM_TIME:
    case TC_PARAM_WORD:
        tc_buf_url(b, v->text);
        break;
    }
}

/* "&name=" with ? in place of the first &. */
static void put_name(struct tc_buf *b, const struct tc_param *p, bool *io_any)
{
    (void)tc_format(b, "{}{}=", *io_any ? "&" : "?", p->name);
    *io_any = true;
}

static void put_query(const struct tc_asked *a, struct tc_buf *b)
{
    bool any = false;
    for (size_t i = 0; i < a->question->param_count; i++) {
        const struct tc_param *p = &a->question->params[i];
        if ((p->flags & (TC_PARAM_IN_PATH | TC_PARAM_MANY)) == 0 && a->values[i].is_given) {
            put_name(b, p, &any);
            put_value(b, p, &a->values[i]);
        }
    }
    for (size_t n = 0; n < a->many_count; n++) {
        put_name(b, &a->question->params[a->many_of[n]], &any);
        tc_buf_url(b, a->many[n]);
    }
}

/* A value that a path cannot hold as one part is no id of anything. */
static bool put_part(const struct tc_asked *a, struct tc_slice name, struct tc_buf *b)
{
    for (size_t i = 0; i < a->question->param_count; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(a->question->params[i].name))) {
            struct tc_slice text = a->values[i].text;
            put_value(b, &a->question->params[i], &a->values[i]);
            return a->values[i].is_given && !tc_slice_is_any(text, ".", "..");
        }
    }
    return false;
}

bool tc_mcp_path(const struct tc_asked *asked, struct tc_buf *b)
{
    struct tc_slice rest = tc_slice_cstr(asked->question->path);
    if (asked->question->posts) {
        return false;
    }
    while (rest.len > 0) {
        tc_buf_str(b, tc_slice_cut(rest, '{', &rest));
        if (rest.len > 0 && !put_part(asked, tc_slice_cut(rest, '}', &rest), b)) {
            return false;
        }
    }
    put_query(asked, b);
    tc_buf_char(b, '\0');
    return !b->overflowed;
}

/* What problem+json says. */
static tc_status say_problem(const struct tc_http_reply *reply, struct tc_error *err)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    struct tc_error ignored;
    tc_status status = reply->status == 404                           ? TC_E_NOTFOUND
                       : reply->status == 400                         ? TC_E_USAGE
                       : reply->status == 401 || reply->status == 403 ? TC_E_UNSUPPORTED
                                                                      : TC_E_IO;
    struct tc_slice detail = TC_EMPTY;
    const char *remedy = status == TC_E_UNSUPPORTED
                             ? "; start `tracecore mcp` with a token in " TC_DAEMON_TOKEN
                             : "";
    if (parser != NULL && tc_json_parse(parser, reply->body, &root, &ignored) == TC_OK) {
        detail = tc_json_get_string(root, TC_LIT("detail"));
    }
    if (detail.len > 0) {
        (void)tc_fail(err, status, 0, "%.*s%s", TC_FMT(detail), remedy);
    } else {
        (void)tc_fail(err, status, 0, "the daemon answered %d%s", reply->status, remedy);
    }
    tc_json_parser_destroy(parser);
    return status;
}

static tc_status ask_daemon(struct tc_mcp_source *s, struct tc_asked *asked, struct tc_reply *out,
                            struct tc_error *err)
{
    char path[PATH_MAX_BYTES];
    struct tc_buf b = tc_buf_make(path, sizeof path);
    struct tc_http_reply reply;
    struct tc_error why = {0};
    TC_TRY(tc_asked_complete(asked, err));
    if (!tc_mcp_path(asked, &b)) {
        return tc_fail(err, TC_E_USAGE, 0, "that is too long, or no id of anything");
    }
    if (tc_daemon_call(&s->daemon, path, &reply, &why) != TC_OK) {
        return tc_fail(err, TC_E_IO, 0,
                       "no daemon answers at %s, so nothing is known of what happens now. Past "
                       "incidents are in a table: query_warehouse with SELECT * FROM verdict_fact",
                       s->daemon.url);
    }
    if (reply.status != 200) {
        return say_problem(&reply, err);
    }
    tc_grow_str(&out->body, reply.body);
    if (out->body.failed) {
        tc_reply_fini(out);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the answer");
    }
    return TC_OK;
}

tc_status tc_mcp_source_ask(void *source, struct tc_asked *asked, struct tc_reply *out,
                            struct tc_error *err)
{
    struct tc_mcp_source *s = source;
    return asked->question->place == TC_PLACE_LIVE ? ask_daemon(s, asked, out, err)
                                                   : ask_tables(s, asked, out, err);
}
