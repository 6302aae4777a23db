/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that stay open. Such a connection serves nothing else afterwards. */
#include "base/assert.h"
#include "net/http1/priv.h"

static bool stream_begin(struct tc_request *r, const struct tc_response *head)
{
    struct tc__http *h = r->of;
    TC_ASSERT(h->slot == tc__request_slot_of(r) && h->phase == TC__HTTP_HANDLING);
    h->keep_alive = false;
    if (tc__http_write_stream(h, head) != TC_OK) {
        return false; /* the connection has been closed for it: it is answered to nobody */
    }
    tc__http_enter(h, TC__HTTP_STREAMING);
    tc_conn_pause(h->conn, false); /* so that its end is noticed */
    tc__http_set_deadline(h);
    return true;
}

static tc_status stream_write(struct tc_request *r, struct tc_slice bytes)
{
    struct tc__http *h = r->of;
    size_t pending = tc_conn_pending(h->conn);
    if (pending > 0 &&
        (pending >= r->stream.pending_max || bytes.len > r->stream.pending_max - pending)) {
        return TC_E_LIMIT;
    }
    /* What fails here closes the connection, which says so to the owner. */
    (void)!tc__http_write_piece(h, bytes);
    return TC_OK;
}

static size_t stream_pending(const struct tc_request *r)
{
    const struct tc__http *h = r->of;
    return tc_conn_pending(h->conn);
}

static void stream_end(struct tc_request *r)
{
    struct tc__http *h = r->of;
    TC_ASSERT(h->phase == TC__HTTP_STREAMING);
    if (tc__http_write_piece(h, TC_EMPTY) != TC_OK) {
        tc_conn_close(h->conn);
    }
    tc__http_drop_slot(h);
    tc__http_next(h);
}

/* The owner hears of the end, and the request is given back. */
static void stream_gone(struct tc__http *h)
{
    struct tc_stream_owner owner = h->slot->request.stream;
    tc__http_drop_slot(h);
    tc__http_enter(h, TC__HTTP_OVER);
    owner.gone(owner.context);
}

const struct tc_stream_ops tc__http_stream_ops = {
    .begin = stream_begin,
    .write = stream_write,
    .pending = stream_pending,
    .end = stream_end,
};

void tc__http_stream_shutdown(struct tc__http *h)
{
    struct tc_conn *c = h->conn;
    tc__conn_why(c, TC_COUNT_CONN_CLOSED_SHUTDOWN);
    bool is_slow = tc_conn_pending(c) > 0 || tc__http_write_piece(h, TC_EMPTY) != TC_OK;
    stream_gone(h);
    if (is_slow) {
        tc_conn_close(c); /* nobody waits for it */
    } else {
        tc_conn_finish(c);
    }
}

void tc__http_peer_closed(struct tc_conn *c, void *state)
{
    struct tc__http *h = state;
    (void)c;
    if (h->phase == TC__HTTP_HANDLING && h->slot->request.left != NULL) {
        h->slot->request.left(&h->slot->request);
    }
}

void tc__http_peer_gone(struct tc__http *h)
{
    if (h->phase == TC__HTTP_HANDLING) {
        struct tc_request *r = &h->slot->request;
        r->of = NULL; /* the handler still answers, to nobody */
        h->slot = NULL;
        if (r->left != NULL) {
            r->left(r);
        }
    } else if (h->phase == TC__HTTP_STREAMING) {
        stream_gone(h);
    }
}
