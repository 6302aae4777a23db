/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client/http_client.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/time.h"
#include "http_client/http_client_priv.h"

#include <http_parser.h>
#include <stdbool.h>
#include <stdlib.h>

#define HEAD_MAX ((size_t)16 << 10) /* of a request */
#define READ_BYTES ((size_t)16 << 10)
#define BODY_FIRST ((size_t)4 << 10) /* of a reply; doubled as it grows */
#define RETRY_AFTER_TEXT 64
/* 1xx replies before the real one. */
#define INTERIM_MAX 16

/* What of a reply was read so far. */
struct reading {
    http_parser parser;
    bool no_body;  /* HEAD */
    bool in_value; /* of a header, and not its name */
    bool began;    /* a byte of it came */
    bool ended;    /* the stream did, before the reply */
    bool done;
    bool keep;
    bool cut;
    bool no_memory;
    unsigned interim;
    size_t
        name_len; /* of a header's name, as far as it equals Retry-After; SIZE_MAX: it does not */
    size_t value_len;
    char value[RETRY_AFTER_TEXT];
};

struct tc_http_client {
    struct tc__http_url url;
    struct tc__http_conn conn;
    int64_t timeout_ns;
    struct reading reading;
    char *body;
    size_t body_len;
    size_t body_cap;
    char head[HEAD_MAX];
    char input[READ_BYTES];
};

tc_status tc_http_client_create(const char *url, int64_t timeout_ns,
                                struct tc_http_client **out_client, struct tc_error *err)
{
    struct tc__http_url parsed;
    TC_TRY(tc__http_url_parse(url, &parsed, err));
    struct tc_http_client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a connection to %s", parsed.authority);
    }
    c->url = parsed;
    c->timeout_ns = timeout_ns;
    tc__http_conn_init(&c->conn, &c->url);
    *out_client = c;
    return TC_OK;
}

void tc_http_client_destroy(struct tc_http_client *c)
{
    if (c != NULL) {
        tc__http_conn_fini(&c->conn);
        free(c->body);
        free(c);
    }
}

void tc_http_client_stop_on(struct tc_http_client *c, int fd)
{
    c->conn.stop_fd = fd;
}

/* ---- the reply ----------------------------------------------------------------------------- */

static const char RETRY_AFTER[] = "retry-after";

static int on_message_begin(http_parser *p)
{
    struct tc_http_client *c = p->data;
    c->reading.value_len = 0;
    c->reading.name_len = 0;
    c->reading.in_value = false;
    c->body_len = 0;
    return 0;
}

/* A name may come in pieces, so it is compared as it comes. */
static int on_header_field(http_parser *p, const char *at, size_t len)
{
    struct tc_http_client *c = p->data;
    struct reading *r = &c->reading;
    if (r->in_value) {
        r->in_value = false;
        r->name_len = 0;
    }
    for (size_t i = 0; i < len && r->name_len != SIZE_MAX; i++) {
        bool same = r->name_len < sizeof RETRY_AFTER - 1 &&
                    (char)(at[i] | 0x20) == RETRY_AFTER[r->name_len];
        r->name_len = same ? r->name_len + 1 : SIZE_MAX;
    }
    return 0;
}

static int on_header_value(http_parser *p, const char *at, size_t len)
{
    struct tc_http_client *c = p->data;
    struct reading *r = &c->reading;
    r->in_value = true;
    bool is_it = r->name_len == sizeof RETRY_AFTER - 1;
    for (size_t i = 0; i < len && is_it && r->value_len < sizeof r->value; i++) {
        r->value[r->value_len++] = at[i];
    }
    return 0;
}

static int on_headers_complete(http_parser *p)
{
    const struct tc_http_client *c = p->data;
    return c->reading.no_body ? 1 : 0;
}

static bool grow_body(struct tc_http_client *c, size_t need)
{
    if (need <= c->body_cap) {
        return true;
    }
    size_t cap = c->body_cap == 0 ? BODY_FIRST : c->body_cap;
    while (cap < need) {
        cap *= 2;
    }
    char *body = realloc(c->body, cap);
    if (body == NULL) {
        return false;
    }
    c->body = body;
    c->body_cap = cap;
    return true;
}

static int on_body(http_parser *p, const char *at, size_t len)
{
    struct tc_http_client *c = p->data;
    size_t room = TC_HTTP_REPLY_MAX - c->body_len;
    size_t take = len < room ? len : room;
    c->reading.cut = take < len;
    c->reading.no_memory = !grow_body(c, c->body_len + take);
    if (c->reading.no_memory) {
        return 1;
    }
    tc_copy_short(c->body + c->body_len, at, take);
    c->body_len += take;
    return c->reading.cut ? 1 : 0;
}

static int on_message_complete(http_parser *p)
{
    struct tc_http_client *c = p->data;
    if (p->status_code / 100 == 1 && c->reading.interim < INTERIM_MAX) {
        c->reading.interim++; /* "100 Continue" and the like: the reply is still to come */
        return 0;
    }
    c->reading.done = true;
    c->reading.keep = http_should_keep_alive(p) != 0;
    http_parser_pause(p, 1); /* what follows is not a part of it */
    return 0;
}

static const http_parser_settings SETTINGS = {.on_message_begin = on_message_begin,
                                              .on_header_field = on_header_field,
                                              .on_header_value = on_header_value,
                                              .on_headers_complete = on_headers_complete,
                                              .on_body = on_body,
                                              .on_message_complete = on_message_complete};

static tc_status fail_reply(struct tc_http_client *c, size_t len, struct tc_error *err)
{
    if (c->reading.no_memory) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the reply of %s", c->url.authority);
    }
    if (len == 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: closed the connection %s", c->url.authority,
                       c->reading.began ? "in the middle of its reply" : "without a reply");
    }
    return tc_fail(err, TC_E_IO, 0, "%s: its reply is no HTTP (%s); is it an HTTP server%s?",
                   c->url.authority, http_errno_description(HTTP_PARSER_ERRNO(&c->reading.parser)),
                   c->url.tls ? "" : ", and is https:// meant");
}

/* Reads one reply. *out_keep: the connection can serve another call. */
static tc_status read_reply(struct tc_http_client *c, bool *out_keep, struct tc_error *err)
{
    struct reading *r = &c->reading;
    *out_keep = false;
    while (!r->done) {
        size_t len = 0;
        TC_TRY(tc__http_conn_receive(&c->conn, c->input, sizeof c->input, &len, err));
        size_t used = http_parser_execute(&r->parser, &SETTINGS, c->input, len);
        r->began = r->began || len > 0;
        r->ended = len == 0;
        if (r->cut) {
            return TC_OK;
        }
        if (!r->done && (len == 0 || used < len || r->parser.upgrade)) {
            return fail_reply(c, len, err);
        }
        /* Bytes behind a reply that nobody asked for would be taken for the next one. */
        *out_keep = r->done && r->keep && used == len && len > 0;
    }
    return TC_OK;
}

/* ---- the call ------------------------------------------------------------------------------ */

static struct tc_slice make_head(struct tc_http_client *c, const char *method, const char *path,
                                 struct tc_slice headers, size_t body_len)
{
    struct tc_buf b = tc_buf_make(c->head, sizeof c->head);
    tc_buf_str(&b, tc_slice_cstr(method));
    tc_buf_char(&b, ' ');
    tc_buf_str(&b, tc_slice_cstr(c->url.path));
    tc_buf_str(&b, c->url.path[0] == '\0' && path[0] == '\0' ? TC_LIT("/") : tc_slice_cstr(path));
    tc_buf_lit(&b, " HTTP/1.1\r\nHost: ");
    tc_buf_str(&b, tc_slice_cstr(c->url.authority));
    tc_buf_lit(&b, "\r\nUser-Agent: tracecore\r\nAccept: */*\r\n");
    if (body_len > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0) {
        tc_buf_lit(&b, "Content-Length: ");
        tc_buf_u64(&b, body_len);
        tc_buf_lit(&b, "\r\n");
    }
    tc_buf_str(&b, headers);
    tc_buf_lit(&b, "\r\n");
    return b.overflowed ? TC_EMPTY : tc_buf_slice(&b);
}

static tc_status exchange(struct tc_http_client *c, struct tc_slice head, struct tc_slice body,
                          bool *out_keep, struct tc_error *err)
{
    size_t sent = 0;
    size_t sent_body = 0;
    TC_TRY(tc__http_conn_send(&c->conn, head, &sent, err));
    if (sent == head.len) {
        TC_TRY(tc__http_conn_send(&c->conn, body, &sent_body, err));
    }
    TC_TRY(read_reply(c, out_keep, err));
    *out_keep = *out_keep && sent == head.len && sent_body == body.len;
    return TC_OK;
}

static void reset_reading(struct tc_http_client *c, const char *method)
{
    c->reading = (struct reading){.no_body = strcmp(method, "HEAD") == 0};
    http_parser_init(&c->reading.parser, HTTP_RESPONSE);
    c->reading.parser.data = c;
    c->body_len = 0;
}

tc_status tc_http_client_call(struct tc_http_client *c, const char *method, const char *path,
                              struct tc_slice headers, struct tc_slice body,
                              struct tc_http_reply *out_reply, struct tc_error *err)
{
    TC_ASSERT(headers.len == 0 || tc_slice_ends(headers, TC_LIT("\r\n")));
    struct tc_slice head = make_head(c, method, path, headers, body.len);
    if (head.len == 0) {
        return tc_fail(err, TC_E_USAGE, 0, "%s: path and headers of more than 16 KiB",
                       c->url.authority);
    }
    c->conn.deadline_ns = tc_mono_ns() + c->timeout_ns;
    for (;;) {
        bool kept = c->conn.fd >= 0;
        bool keep = false;
        reset_reading(c, method);
        if (!kept) {
            TC_TRY(tc__http_conn_open(&c->conn, err));
        }
        struct tc_error why = {0};
        tc_status status = exchange(c, head, body, &keep, &why);
        if (!keep) {
            tc__http_conn_close(&c->conn);
        }
        if (status == TC_OK) {
            break;
        }
        /* Servers close idle connections: nothing of a reply says that this was one. */
        if (!kept || c->reading.began || !c->reading.ended) {
            return tc_fail(err, status, 0, "%s", why.message);
        }
    }
    struct tc_slice after = tc_slice_make(c->reading.value, c->reading.value_len);
    *out_reply = (struct tc_http_reply){.status = c->reading.parser.status_code,
                                        .retry_after_s = tc__http_retry_after(after, tc_wall_ns()),
                                        .body = tc_slice_make(c->body, c->body_len)};
    return TC_OK;
}
