/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 on one connection. http_parser reads the head; its framing of bodies is not used, as
 * Debian builds it without its strict checks (docs/decisions/0010).
 */
#ifndef TC_NET_HTTP1_PRIV_H
#define TC_NET_HTTP1_PRIV_H

#include "net/net_priv.h"

#include <http_parser.h>

/* One read while a head is awaited: a small request whole, and little of a large body, whose rest
 * is then read to where it belongs. */
#define TC_HTTP_READ_BYTES ((size_t)16 << 10)
/* The first buffer of a body whose length is not known, or not believed, and how it grows. */
#define TC_HTTP_FIRST_BYTES ((size_t)4 << 10)
#define TC_HTTP_GROWTH 4
/* body_timeout is for the whole body, and again for each so many bytes of it. */
#define TC_HTTP_RENEW_BYTES ((size_t)16 << 20)
/* A refused body up to here is read and dropped, and the connection kept. */
#define TC_HTTP_DISCARD_BYTES ((size_t)4 << 20)
/* Answers that wait: beyond it the next request of a pipeline waits too. */
#define TC_HTTP_OUTPUT_WAIT_BYTES ((size_t)64 << 10)
#define TC_HTTP_NAME_BYTES 24
#define TC_HTTP_CHUNK_LINE_BYTES 256
/* Bytes of chunk framing: so many, and that many times the body. One byte per chunk is five times.
 */
#define TC_HTTP_CHUNK_OVERHEAD_BYTES ((uint64_t)64 << 10)
#define TC_HTTP_CHUNK_OVERHEAD_FACTOR 16

/* chunk.c: the framing of a chunked body, strictly: CRLF, hex digits, bounded lines. */
enum tc__chunk_phase {
    TC__CHUNK_SIZE,
    TC__CHUNK_EXTENSION,
    TC__CHUNK_SIZE_LF,
    TC__CHUNK_BYTES,
    TC__CHUNK_BYTES_CR,
    TC__CHUNK_BYTES_LF,
    TC__CHUNK_TRAILER_START,
    TC__CHUNK_TRAILER,
    TC__CHUNK_TRAILER_LF,
    TC__CHUNK_LAST_LF,
};

struct tc__chunks {
    enum tc__chunk_phase phase;
    size_t line; /* bytes of this size line, or of all trailers */
    size_t digits;
    size_t trailer_max;
    uint64_t size; /* what is left of this chunk */
    uint64_t left; /* the body may have that much more */
    uint64_t data;
    uint64_t overhead;
};

enum tc__chunk {
    TC__CHUNK_MORE, /* all of the input is used */
    TC__CHUNK_DATA,
    TC__CHUNK_END,
    TC__CHUNK_BAD,
    TC__CHUNK_TOO_LARGE,
};

void tc__chunks_init(struct tc__chunks *k, uint64_t body_max, size_t trailer_max);
/* The next piece of the body, in *out_data, or the end. *out_used bytes of the input are done. */
enum tc__chunk tc__chunks_next(struct tc__chunks *k, struct tc_slice in, size_t *out_used,
                               struct tc_slice *out_data);
/* The last so many bytes of the last piece come again: there was no room for them. */
void tc__chunks_unread(struct tc__chunks *k, size_t len);

/* What of a head is kept. */
enum tc__http_field {
    TC__HTTP_URL,
    TC__HTTP_CONTENT_TYPE,
    TC__HTTP_CONTENT_ENCODING,
    TC__HTTP_AUTHORIZATION,
    TC__HTTP_CONTENT_LENGTH,
    TC__HTTP_TRANSFER_ENCODING,
    TC__HTTP_EXPECT,
    TC__HTTP_HOST,
    TC__HTTP_ORIGIN,
    TC__HTTP_FETCH_SITE,
    TC__HTTP_ACCEPT, /* from here on: those that may come twice, the first counts */
    TC__HTTP_ACCEPT_ENCODING,
    TC__HTTP_IF_NONE_MATCH,
    TC__HTTP_RANGE,
    TC__HTTP_LAST_EVENT_ID,
    TC__HTTP_MCP_VERSION,
    TC__HTTP_MCP_METHOD,
    TC__HTTP_MCP_NAME,
    TC__HTTP_TRACECORE_BATCH,
    TC__HTTP_FIELDS,
    TC__HTTP_NO_FIELD = TC__HTTP_FIELDS,
};

struct tc__http_span {
    size_t start;
    size_t len;
    bool there;
};

enum tc__http_phase {
    TC__HTTP_IDLE,
    TC__HTTP_HEAD,
    TC__HTTP_BODY,
    TC__HTTP_CHUNKED,
    TC__HTTP_QUEUED,    /* for memory, before its body or within it; not read meanwhile */
    TC__HTTP_HANDLING,  /* the request is the handler's */
    TC__HTTP_STREAMING, /* its answer stays open */
    TC__HTTP_WAITING,   /* for the peer to read its answers */
    TC__HTTP_DELAYED,   /* a refusal is sent later */
    TC__HTTP_DISCARD,
    TC__HTTP_DISCARD_CHUNKED,
    TC__HTTP_OVER,
};

/* Why a request is refused here. */
struct tc__http_refusal {
    int status; /* 0: it is not */
    enum tc_counter counter;
    const char *words;
};

/* Lines and names of a head, which http_parser takes loosely. */
struct tc__http_lines {
    bool after_cr;
    bool line_start;
    bool began; /* a byte of the request line was seen */
    bool in_name;
    size_t header_count;
};

struct tc__http {
    struct tc_conn *conn;
    http_parser parser;
    enum tc__http_phase phase;
    bool phase_is_new;
    int64_t phase_since_ns; /* monotonic; of phases with a deadline */
    bool running;           /* bytes are being looked at: an answer must not look at more */
    bool keep_alive;
    bool is_known; /* it has brought a whole request */
    bool ending;
    bool in_value;
    bool head_done;
    enum tc__http_field field;
    struct tc__request_slot *slot;
    struct tc_buffer *rest; /* bytes behind the request that is handled */
    size_t rest_start;
    uint64_t requests;
    struct tc__http_lines lines;
    size_t head_bytes;
    size_t name_len;
    char name[TC_HTTP_NAME_BYTES];
    size_t text_len;
    struct tc__http_span fields[TC__HTTP_FIELDS];
    struct tc__http_refusal refusal;
    struct tc_response delayed; /* in the phase of that name */
    struct tc_pool_claim claim; /* of a body that waits */
    bool is_chunked;            /* the body */
    bool body_began;            /* it has memory, and waits for more */
    int64_t body_since_ns;      /* monotonic; when it could come */
    int64_t body_last_ns;       /* when a part of it came last */
    size_t body_len;            /* what came since then */
    uint64_t body_left;         /* with a length */
    size_t body_fresh;          /* came since the deadline was set */
    struct tc__chunks chunks;
};

/* wait.c */
/* Memory for the body: it begins, it waits, or the request is refused. */
void tc__http_begin_body(struct tc__http *h, bool chunked, uint64_t length, size_t in_hand);
/* There was no room for more of the body: waits for it, or refuses. */
void tc__http_wait_for_more(struct tc__http *h, uint64_t more);
/* It waits no more, as it ends. */
void tc__http_refuse_queued(struct tc__http *h);
void tc__http_reclaim(struct tc_conn *c, void *state, int64_t now_ns);
/* What comes behind a head whose body has to wait is kept: that is little while others wait. */
size_t tc__http_read_most(const struct tc_conn *c, const void *state);
/* A part of the body came. */
void tc__http_body_moves(struct tc__http *h, size_t len);

/* conn.c */
/* Goes on with what came behind the last request, or while its body waited. */
void tc__http_pump(struct tc__http *h);
/* Refuses for a reason of h->refusal and closes. */
void tc__http_refuse(struct tc__http *h);
/* No memory for a body: the sender is to come again, on this connection if it can be kept. */
void tc__http_refuse_busy(struct tc__http *h, bool chunked, uint64_t length);
void tc__http_enter(struct tc__http *h, enum tc__http_phase phase);
/* The deadline of the phase, from the moment that it began. */
void tc__http_set_deadline(struct tc__http *h);
void tc__http_drop_slot(struct tc__http *h);
/* Between two requests, or at the end. */
void tc__http_next(struct tc__http *h);

/* stream.c */
extern const struct tc_stream_ops tc__http_stream_ops;
/* The daemon ends. */
void tc__http_stream_shutdown(struct tc__http *h);
void tc__http_peer_closed(struct tc_conn *c, void *state);
/* The connection is gone: whoever works on its request hears of it. */
void tc__http_peer_gone(struct tc__http *h);

/* head.c */
bool tc__http_head_begin(struct tc__http *h);
/* Bytes of the head that are used; with refusal.status when it is bad, head_done at its end. */
size_t tc__http_head_read(struct tc__http *h, struct tc_slice bytes);
/* The request of a head that is done; false with a refusal. *out_length: of the body. */
bool tc__http_head_request(struct tc__http *h, bool *out_chunked, uint64_t *out_length);
void tc__http_refuse_with(struct tc__http *h, int status, enum tc_counter counter,
                          const char *words);

/* body.c */
/* Takes memory for a body that begins; `in_hand` bytes of it are there. NULL: none now, and the
 * claim waits, or with claim.pool NULL does not. */
struct tc_buffer *tc__http_body_claim(struct tc__http *h, uint64_t length, size_t in_hand);
/* The same for one that is there and has to grow; `more` may come. */
struct tc_buffer *tc__http_body_claim_more(struct tc__http *h, uint64_t more);
/* Room for one byte at least of the `more` that may come, in memory, without waiting. */
bool tc__http_body_room(struct tc__http *h, uint64_t more);
/* Goes on in b, which was claimed. */
void tc__http_body_move(struct tc__http *h, struct tc_buffer *b);
/* Keeps the bytes as far as there is room; `after` of the body may follow them. How many. */
size_t tc__http_body_keep(struct tc__http *h, struct tc_slice bytes, uint64_t after);

/* answer.c */
/* Writes the answer; Connection: close unless h->keep_alive. */
void tc__http_write_answer(struct tc__http *h, const struct tc_response *response, bool head_only);
/* The head of an answer that stays open, and a piece of it; TC_E_LIMIT, TC_E_IO: the connection is
 * closed for it. */
TC_CHECKED tc_status tc__http_write_stream(struct tc__http *h, const struct tc_response *head);
TC_CHECKED tc_status tc__http_write_piece(struct tc__http *h, struct tc_slice bytes);
void tc__http_write_refusal(struct tc__http *h, const struct tc__http_refusal *refusal,
                            bool head_only);

#endif
