/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of HTTP/1.1, as bytes. */
#include "base/buf.h"
#include "net/http1/priv.h"

#define HEAD_BYTES 1024
#define BUSY_RETRY_S 1

static void count_status(int status)
{
    if (status >= 500) {
        tc_count(TC_COUNT_HTTP_5XX, 1);
    } else if (status >= 400) {
        tc_count(TC_COUNT_HTTP_4XX, 1);
    } else {
        tc_count(TC_COUNT_HTTP_2XX, 1);
    }
}

/* A header line, if there is a value and it is one line. */
static void put_header(struct tc_buf *b, struct tc_slice name, struct tc_slice value)
{
    if (value.len == 0) {
        return;
    }
    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.ptr[i] < ' ') {
            return;
        }
    }
    tc_buf_str(b, name);
    tc_buf_lit(b, ": ");
    tc_buf_str(b, value);
    tc_buf_lit(b, "\r\n");
}

static void put_number(struct tc_buf *b, struct tc_slice name, uint64_t value)
{
    tc_buf_str(b, name);
    tc_buf_lit(b, ": ");
    tc_buf_u64(b, value);
    tc_buf_lit(b, "\r\n");
}

struct answer {
    int status;
    struct tc_slice content_type;
    struct tc_slice body;
    struct tc_slice body_end; /* after the body */
    struct tc_slice allow;
    unsigned retry_after_s;
};

static void put_head(struct tc_buf *b, struct tc__http *h, const struct answer *a)
{
    tc_buf_lit(b, "HTTP/1.1 ");
    tc_buf_u64(b, (uint64_t)a->status);
    tc_buf_char(b, ' ');
    tc_buf_str(b, tc_slice_cstr(http_status_str((enum http_status)a->status)));
    tc_buf_lit(b, "\r\n");
    put_header(b, TC_LIT("Date"), tc__net_date(tc_conn_net(h->conn)));
    put_header(b, TC_LIT("Content-Type"), a->content_type);
    put_number(b, TC_LIT("Content-Length"), a->body.len + a->body_end.len);
    put_header(b, TC_LIT("Allow"), a->allow);
    if (a->retry_after_s > 0) {
        put_number(b, TC_LIT("Retry-After"), a->retry_after_s);
    }
    if (a->status == 401) {
        tc_buf_lit(b, "WWW-Authenticate: Bearer\r\n");
    }
    if (!h->keep_alive) {
        tc_buf_lit(b, "Connection: close\r\n");
    } else if (h->parser.http_minor == 0) {
        tc_buf_lit(b, "Connection: keep-alive\r\n");
    }
    tc_buf_lit(b, "\r\n");
}

static void write_all(struct tc__http *h, const struct answer *a, bool head_only)
{
    char text[HEAD_BYTES];
    struct tc_buf head = tc_buf_make(text, sizeof text);
    count_status(a->status);
    put_head(&head, h, a);
    if (head.overflowed) { /* a handler's header of a kilobyte */
        tc_buf_reset(&head);
        h->keep_alive = false;
        put_head(&head, h, &(struct answer){.status = 500});
        head_only = true;
    }
    tc_status status = tc_conn_write(h->conn, tc_buf_slice(&head));
    if (status == TC_OK && !head_only && a->body.len > 0) {
        status = tc_conn_write(h->conn, a->body);
    }
    if (status == TC_OK && !head_only && a->body_end.len > 0) {
        status = tc_conn_write(h->conn, a->body_end);
    }
    if (status != TC_OK) {
        h->keep_alive = false; /* the connection has been closed for it */
    }
}

void tc__http_write_answer(struct tc__http *h, const struct tc_response *response, bool head_only)
{
    struct answer a = {
        .status = tc_answer_http(response->answer),
        .content_type = response->content_type,
        .body = response->body,
        .allow = response->allow,
        .retry_after_s = response->retry_after_s,
    };
    /* A body of no bytes with a type is one: OTLP's empty success. */
    if (a.body.len == 0 && a.content_type.len == 0 && response->message.len > 0) {
        a.content_type = TC_LIT("text/plain; charset=utf-8");
        a.body = response->message;
        a.body_end = TC_LIT("\n");
    }
    write_all(h, &a, head_only);
}

void tc__http_write_refusal(struct tc__http *h, const struct tc__http_refusal *refusal,
                            bool head_only)
{
    tc_count(refusal->counter, 1);
    struct answer a = {
        .status = refusal->status,
        .content_type = TC_LIT("text/plain; charset=utf-8"),
        .body = tc_slice_cstr(refusal->words),
        .body_end = TC_LIT("\n"),
        .retry_after_s = refusal->status == 503 ? BUSY_RETRY_S : 0,
    };
    write_all(h, &a, head_only);
}
