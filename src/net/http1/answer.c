/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of HTTP/1.1, as bytes. */
#include "base/buf.h"
#include "net/http1/priv.h"

#define HEAD_BYTES 2048
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
    const struct tc_header *headers;
    size_t header_count;
    bool is_open; /* how long it is is not known yet */
    void (*release)(void *context);
    void *release_context;
};

/* How long the body is. RFC 9110 8.6: a 304 would have to say the length of what it leaves out. */
static void put_framing(struct tc_buf *b, const struct tc__http *h, const struct answer *a)
{
    if (a->is_open && h->parser.http_minor > 0) {
        tc_buf_lit(b, "Transfer-Encoding: chunked\r\n");
    } else if (!a->is_open && a->status != 304) {
        put_number(b, TC_LIT("Content-Length"), a->body.len + a->body_end.len);
    }
}

static void put_head(struct tc_buf *b, struct tc__http *h, const struct answer *a)
{
    tc_buf_lit(b, "HTTP/1.1 ");
    tc_buf_u64(b, (uint64_t)a->status);
    tc_buf_char(b, ' ');
    tc_buf_str(b, tc_slice_cstr(http_status_str((enum http_status)a->status)));
    tc_buf_lit(b, "\r\n");
    put_header(b, TC_LIT("Date"), tc__net_date(tc_conn_net(h->conn)));
    put_header(b, TC_LIT("Content-Type"), a->content_type);
    put_framing(b, h, a);
    put_header(b, TC_LIT("Allow"), a->allow);
    for (size_t i = 0; i < a->header_count; i++) {
        put_header(b, a->headers[i].name, a->headers[i].value);
    }
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

/* The body, from where it is when that is worth it: next_request lets nothing be written behind it
 * before it is out. */
static tc_status write_body(struct tc__http *h, const struct answer *a)
{
    if (a->release != NULL && a->body.len > TC_HTTP_OUTPUT_WAIT_BYTES) {
        return tc_conn_write_held(h->conn, a->body, a->release, a->release_context);
    }
    tc_status status = tc_conn_write(h->conn, a->body);
    if (a->release != NULL) {
        a->release(a->release_context);
    }
    return status;
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
        status = write_body(h, a);
    } else if (a->release != NULL) {
        a->release(a->release_context);
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
        .headers = response->headers,
        .header_count = response->header_count,
        .release = response->release,
        .release_context = response->release_context,
    };
    /* A body of no bytes with a type is one: OTLP's empty success. */
    if (a.body.len == 0 && a.content_type.len == 0 && response->message.len > 0) {
        a.content_type = TC_LIT("text/plain; charset=utf-8");
        a.body = response->message;
        a.body_end = TC_LIT("\n");
    }
    write_all(h, &a, head_only);
}

tc_status tc__http_write_stream(struct tc__http *h, const struct tc_response *response)
{
    char text[HEAD_BYTES];
    struct tc_buf head = tc_buf_make(text, sizeof text);
    struct answer a = {
        .status = tc_answer_http(response->answer),
        .content_type = response->content_type,
        .headers = response->headers,
        .header_count = response->header_count,
        .is_open = true,
    };
    count_status(a.status);
    put_head(&head, h, &a);
    return head.overflowed ? TC_E_LIMIT : tc_conn_write(h->conn, tc_buf_slice(&head));
}

tc_status tc__http_write_piece(struct tc__http *h, struct tc_slice bytes)
{
    char text[32];
    struct tc_buf size = tc_buf_make(text, sizeof text);
    if (h->parser.http_minor == 0) {
        return tc_conn_write(h->conn, bytes);
    }
    for (unsigned digits = 16; digits > 0; digits--) {
        if (digits == 1 || bytes.len >> (4 * (digits - 1)) != 0) {
            tc_buf_hex(&size, bytes.len, digits);
            break;
        }
    }
    tc_buf_lit(&size, "\r\n");
    TC_TRY(tc_conn_write(h->conn, tc_buf_slice(&size)));
    TC_TRY(tc_conn_write(h->conn, bytes));
    return tc_conn_write(h->conn, TC_LIT("\r\n"));
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
