/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are wrong, hostile or too large, and every way to cut good ones into pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http1/priv.h"
#include "support/net_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_BYTES ((size_t)8 << 20)

static struct net_probe probe;
static struct net_peer peer;

static int setup(void **state)
{
    (void)state;
    struct tc_net_limits limits = net_probe_limits();
    net_probe_init(&probe, &limits, POOL_BYTES);
    net_peer_open(&peer, &probe);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_peer_fini(&peer);
    net_probe_fini(&probe);
    return 0;
}

static void again(void)
{
    net_peer_fini(&peer);
    net_peer_open(&peer, &probe);
}

/* One answer with that status, the connection closed, and nothing for the handler. */
static void assert_refused(struct tc_slice text, int wanted)
{
    size_t handled = probe.handled;
    int status = 0;
    again();
    net_peer_send(&peer, text);
    size_t count = net_peer_answers(&peer, &status);
    if (count != 1 || status != wanted || !peer.half_closed || probe.handled != handled) {
        print_error("%zu answers, status %d instead of %d, %zu handled: %.*s\nheard: %s\n", count,
                    status, wanted, probe.handled - handled, TC_FMT(text), net_peer_heard(&peer));
        fail();
    }
    assert_non_null(strstr(net_peer_heard(&peer), "Connection: close\r\n"));
    /* The same a byte at a time: nothing depends on where the pieces end. */
    again();
    for (size_t i = 0; i < text.len && !peer.half_closed; i++) {
        net_peer_send(&peer, tc_slice_make(text.ptr + i, 1));
    }
    count = net_peer_answers(&peer, &status);
    if (count != 1 || status != wanted || probe.handled != handled) {
        print_error("byte by byte: %zu answers, status %d: %.*s\n", count, status, TC_FMT(text));
        fail();
    }
}

#define POST "POST / HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static void bad_heads(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"nonsense\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\n\r\n", 400},
        {"GET  HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"get / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
        {"\x16\x03\x01\x02\x01", 400}, /* TLS to a plain port */
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET / HTTP/1.2\r\n\r\n", 505},
        {"GET / HTTP/0.9\r\n\r\n", 505},
        {"GET /\r\n\r\n", 505},
        {"GET / HTTPX/1.1\r\n\r\n", 400},
        /* ends of lines */
        {"GET / HTTP/1.1\nHost: x\n\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\n\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\n\rX", 400},
        {"GET / HTTP/1.1\rHost: x\r\n\r\n", 400},
        /* folding and names */
        {"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\n A: b\r\n\r\n", 400},
        {" GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA(: c\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\n: c\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: \x7f\r\n\r\n", 400},
        /* twice */
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nauthorization: b\r\n\r\n", 400},
        {POST "Content-Type: a\r\nContent-Type: a\r\n\r\n", 400},
        {POST "Origin: a\r\nOrigin: a\r\n\r\n", 400},
        {POST "Sec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n\r\n", 400},
        /* Host */
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n", 400},
        /* paths */
        {"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%0a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%7F HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /% HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%4 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%4g HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%-1 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        /* expectations */
        {POST "Expect: 200-ok\r\nContent-Length: 1\r\n\r\n", 417},
        {POST "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refused(tc_slice_cstr(cases[i].text), cases[i].status);
    }
    assert_refused(TC_LIT("GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
    assert_refused(TC_LIT("GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n"), 400);
    assert_refused(TC_LIT("GET / HTTP/1.1\r\nHost: x\r\nA\0: b\r\n\r\n"), 400);
}

static void unclear_lengths(void **state)
{
    (void)state;
    static const char *const cases[] = {
        POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
        POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        POST "Content-Length: 1, 1\r\n\r\nx",
        POST "Content-Length: +1\r\n\r\nx",
        POST "Content-Length: -1\r\n\r\nx",
        POST "Content-Length: 0x1\r\n\r\nx",
        POST "Content-Length: 1 1\r\n\r\nx",
        POST "Content-Length: a\r\n\r\nx",
        POST "Content-Length:\r\n\r\nx",
        POST "Content-Length: \r\n\r\nx",
        POST "Content-Length: 18446744073709551616\r\n\r\nx",
        POST "Content-Length: 99999999999999999999999\r\n\r\nx",
        POST "Transfer-Encoding: identity\r\n\r\nx",
        POST "Transfer-Encoding: gzip\r\n\r\nx",
        POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        POST "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n",
        POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refused(tc_slice_cstr(cases[i]), 400);
    }
}

static void bad_chunks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {CHUNKED "\r\n", 400},
        {CHUNKED "g\r\n", 400},
        {CHUNKED "-1\r\n", 400},
        {CHUNKED "+1\r\n", 400},
        {CHUNKED " 1\r\n", 400},
        {CHUNKED "0x1\r\n", 400},
        {CHUNKED "1\nx\r\n0\r\n\r\n", 400},
        {CHUNKED "1\rx", 400},
        {CHUNKED "1\r\nxx\r\n0\r\n\r\n", 400},
        {CHUNKED "1\r\nx\n0\r\n\r\n", 400},
        {CHUNKED "1\r\nx\rX", 400},
        {CHUNKED "1;a\nb\r\n", 400},
        {CHUNKED "1;a\x01\r\n", 400},
        {CHUNKED ";a\r\n", 400},
        {CHUNKED "0\r\nX: y\n", 400},
        {CHUNKED "0\r\n folded\r\n", 400},
        {CHUNKED "0\r\n\rX", 400},
        {CHUNKED "0\r\nA: b\r\r\n", 400},
        /* sizes */
        {CHUNKED "ffffffffffffffff\r\n", 413},
        {CHUNKED "10000000000000000\r\n", 413},
        {CHUNKED "100000001\r\n", 413},
        {CHUNKED "100001\r\n", 413}, /* 1 MiB and one */
        {CHUNKED "1\r\nx\r\n100000\r\n", 413},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refused(tc_slice_cstr(cases[i].text), cases[i].status);
    }
}

static void good_chunks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *body;
    } cases[] = {
        {CHUNKED "0\r\n\r\n", ""},
        {CHUNKED "000\r\n\r\n", ""},
        {CHUNKED "3\r\nabc\r\n0\r\n\r\n", "abc"},
        {CHUNKED "A\r\n0123456789\r\n00b\r\nabcdefghijk\r\n0\r\n\r\n", "0123456789abcdefghijk"},
        {CHUNKED "1;ext=\"v\"\r\na\r\n1 ; x\r\nb\r\n0;last\r\n\r\n", "ab"},
        {CHUNKED "1\r\na\r\n0\r\nTrailer: x\r\nContent-Length: 99\r\n\r\n", "a"},
        {POST "transfer-encoding: CHUNKED\r\n\r\n1\r\n\r\r\n0\r\n\r\n", "\r"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        again();
        net_peer_say(&peer, cases[i].text);
        assert_int_equal(probe.handled, i + 1);
        assert_int_equal(probe.seen.body_len, strlen(cases[i].body));
        assert_false(peer.half_closed);
        if (cases[i].body[0] != '\0') {
            size_t len = strlen(cases[i].body);
            assert_memory_equal(peer.out + peer.out_len - len, cases[i].body, len);
        }
    }
}

/* A chunked body of exactly the limit, in chunks of a size. */
static void send_chunks(size_t total, size_t chunk)
{
    static char data[1 << 16];
    char line[32];
    memset(data, 'd', sizeof data);
    net_peer_say(&peer, CHUNKED);
    for (size_t sent = 0; sent < total;) {
        size_t len = chunk < total - sent ? chunk : total - sent;
        (void)snprintf(line, sizeof line, "%zx\r\n", len);
        net_peer_say(&peer, line);
        net_peer_send(&peer, tc_slice_make(data, len));
        net_peer_say(&peer, "\r\n");
        sent += len;
    }
}

static void a_chunked_body_grows_to_its_limit(void **state)
{
    (void)state;
    send_chunks(1 << 20, 50000);
    net_peer_say(&peer, "0\r\n\r\n");
    assert_int_equal(probe.seen.body_len, 1 << 20);
    net_peer_forget(&peer);
    send_chunks(1 << 20, 50000);
    net_peer_say(&peer, "1\r\n");
    int status = 0;
    assert_int_equal(net_peer_answers(&peer, &status), 1);
    assert_int_equal(status, 413);
    assert_true(peer.half_closed);
}

static void framing_may_not_outweigh_its_body(void **state)
{
    (void)state;
    int status = 0;
    /* One byte per chunk is a body like any other. */
    send_chunks(30000, 1);
    net_peer_say(&peer, "0\r\n\r\n");
    assert_int_equal(probe.seen.body_len, 30000);
    /* One byte behind 200 bytes of extension is not. */
    again();
    net_peer_say(&peer, CHUNKED);
    char chunk[256];
    memset(chunk, 'x', sizeof chunk);
    memcpy(chunk, "1;", 2);
    memcpy(chunk + 200, "\r\na\r\n", 6);
    size_t sent = 0;
    while (!peer.half_closed && sent < ((size_t)1 << 20)) {
        net_peer_send(&peer, tc_slice_make(chunk, 205));
        sent += 205;
    }
    assert_true(sent < 100000);
    assert_int_equal(net_peer_answers(&peer, &status), 1);
    assert_int_equal(status, 400);
    /* Lines have a length. */
    again();
    memset(chunk, '0', sizeof chunk);
    net_peer_say(&peer, CHUNKED);
    net_peer_send(&peer, tc_slice_make(chunk, TC_HTTP_CHUNK_LINE_BYTES));
    assert_false(peer.half_closed);
    net_peer_say(&peer, "0");
    assert_true(peer.half_closed);
}

static void trailers_have_the_limit_of_a_head(void **state)
{
    (void)state;
    char text[4200];
    memset(text, 't', sizeof text);
    net_peer_say(&peer, CHUNKED "0\r\n");
    net_peer_send(&peer, tc_slice_make(text, 4096));
    assert_false(peer.half_closed);
    net_peer_say(&peer, "t");
    assert_true(peer.half_closed);
}

/* A head of exactly that many bytes, with one long header. */
static struct tc_slice head_of(char *text, size_t bytes, const char *name)
{
    int len = snprintf(text, bytes, "GET / HTTP/1.1\r\nHost: x\r\n%s: ", name);
    memset(text + len, 'v', bytes - (size_t)len - 4);
    memcpy(text + bytes - 4, "\r\n\r\n", 4);
    return tc_slice_make(text, bytes);
}

static void a_head_has_a_size(void **state)
{
    (void)state;
    char text[8192];
    static const char *const names[] = {"X-Unused", "Authorization"};
    for (size_t i = 0; i < 2; i++) {
        again();
        net_peer_send(&peer, head_of(text, 4096, names[i]));
        assert_int_equal(probe.handled, i + 1);
        assert_refused(head_of(text, 4097, names[i]), 431);
        assert_refused(head_of(text, 8000, names[i]), 431);
    }
    /* Also when there is no end in sight, and for empty lines before it. */
    memset(text, 'x', sizeof text);
    memcpy(text, "GET /", 5);
    assert_refused(tc_slice_make(text, 4097), 431);
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = i % 2 == 0 ? '\r' : '\n';
    }
    assert_refused(tc_slice_make(text, 4098), 431);
}

static void long_values_survive_their_move(void **state)
{
    (void)state;
    char text[4096];
    char query[2001];
    memset(query, 'q', 2000);
    query[2000] = '\0';
    int len = snprintf(
        text, sizeof text,
        "GET /p?%s HTTP/1.1\r\nHost: x\r\nContent-Type: t\r\nAuthorization: a\r\n\r\n", query);
    for (size_t piece = 1; piece < (size_t)len; piece = piece * 3 + 1) {
        again();
        peer.read_most = piece;
        net_peer_send(&peer, tc_slice_make(text, (size_t)len));
        assert_string_equal(probe.seen.path, "/p");
        assert_int_equal(strlen(probe.seen.query), NET_PROBE_TEXT_MAX - 1);
        assert_string_equal(probe.seen.content_type, "t");
        assert_string_equal(probe.seen.authorization, "a");
    }
}

static void headers_have_a_number(void **state)
{
    (void)state;
    for (size_t extra = 0; extra <= 1; extra++) {
        char text[1024] = "GET / HTTP/1.1\r\nHost: x\r\n";
        for (size_t i = 0; i < 31 + extra; i++) {
            size_t len = strlen(text);
            (void)snprintf(text + len, sizeof text - len, "H%zu: v\r\n", i);
        }
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof text - len, "\r\n");
        if (extra == 0) {
            net_peer_say(&peer, text);
            assert_int_equal(probe.handled, 1);
        } else {
            assert_refused(tc_slice_cstr(text), 431);
        }
    }
}

static void a_body_has_a_size(void **state)
{
    (void)state;
    int status = 0;
    net_peer_say(&peer, POST "Content-Length: 1048576\r\n\r\n");
    assert_int_equal(net_peer_answers(&peer, NULL), 0);
    assert_refused(TC_LIT(POST "Content-Length: 1048577\r\n\r\n"), 413);
    assert_refused(TC_LIT(POST "Content-Length: 999999999999999999\r\n\r\n"), 413);
    again();
    net_peer_say(&peer, POST "Expect: 100-continue\r\nContent-Length: 1048577\r\n\r\n");
    assert_int_equal(net_peer_answers(&peer, &status), 1);
    assert_int_equal(status, 413);
}

static void what_is_sent_after_a_refusal_is_dropped(void **state)
{
    (void)state;
    static char more[1 << 16];
    net_peer_say(&peer, POST "Content-Length: 999999999\r\n\r\n");
    assert_true(peer.half_closed);
    size_t sent = 0;
    while (peer.conn != NULL && sent < 2 * TC_NET_LINGER_BYTES) {
        net_peer_send(&peer, tc_slice_make(more, sizeof more));
        sent += sizeof more;
    }
    assert_null(peer.conn); /* up to a bound */
    assert_true(sent > TC_NET_LINGER_BYTES);
    assert_true(sent <= TC_NET_LINGER_BYTES + 2 * sizeof more);
}

static void good_requests_may_come_in_any_two_pieces(void **state)
{
    (void)state;
    static const char text[] =
        "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Type: x\r\nContent-Length: 5\r\n\r\nhello"
        "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3;e\r\nabc\r\n02\r\nde\r\n0\r\nT: "
        "v\r\n\r\n"
        "GET /end HTTP/1.1\r\nHost: x\r\nAuthorization: z\r\n\r\n";
    size_t handled = 0;
    for (size_t cut = 0; cut < sizeof text; cut++) {
        again();
        net_peer_send(&peer, tc_slice_make(text, cut));
        net_peer_send(&peer, tc_slice_make(text + cut, sizeof text - 1 - cut));
        handled += 3;
        assert_int_equal(probe.handled, handled);
        int status = 0;
        assert_int_equal(net_peer_answers(&peer, &status), 3);
        assert_int_equal(status, 200);
        assert_non_null(strstr(net_peer_heard(&peer), "\r\n\r\nhello"));
        assert_non_null(strstr(net_peer_heard(&peer), "\r\n\r\nabcde"));
        assert_string_equal(probe.seen.path, "/end");
        assert_string_equal(probe.seen.authorization, "z");
    }
    for (size_t piece = 1; piece < 20; piece++) {
        again();
        peer.read_most = piece;
        net_peer_send(&peer, tc_slice_make(text, sizeof text - 1));
        handled += 3;
        assert_int_equal(probe.handled, handled);
    }
}

/* Takes all of the pool, in small buffers; gives them back. */
static struct tc_buffer *drain_pool(size_t leave)
{
    struct tc_buffer *list = NULL;
    struct tc_pool_stats stats;
    tc_pool_stats(probe.pool, &stats);
    while (stats.limit - stats.used > leave + 5000) {
        struct tc_buffer *b = tc_pool_take(probe.pool, 4096);
        assert_non_null(b);
        b->next = list;
        list = b;
        tc_pool_stats(probe.pool, &stats);
    }
    return list;
}

static void give_back(struct tc_buffer *list)
{
    while (list != NULL) {
        struct tc_buffer *next = list->next;
        tc_buffer_give(list);
        list = next;
    }
}

static void without_memory_the_sender_is_to_come_again(void **state)
{
    (void)state;
    int status = 0;
    struct tc_buffer *all = drain_pool(0);
    /* The head is read in any case, and small requests are served. */
    net_peer_say(&peer, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(probe.handled, 1);
    net_peer_say(&peer, POST "Content-Length: 20000\r\n\r\n");
    assert_int_equal(net_peer_answers(&peer, &status), 2);
    assert_int_equal(status, 503);
    assert_non_null(strstr(net_peer_heard(&peer), "Retry-After: 1\r\n"));
    assert_false(peer.half_closed);
    static char body[20000];
    net_peer_send(&peer, tc_slice_make(body, sizeof body)); /* dropped */
    net_peer_say(&peer, CHUNKED "3\r\nabc\r\n0\r\n\r\n");
    assert_int_equal(net_peer_answers(&peer, &status), 3);
    assert_int_equal(status, 503);
    give_back(all);
    net_peer_say(&peer, POST "Content-Length: 20000\r\n\r\n");
    net_peer_send(&peer, tc_slice_make(body, sizeof body));
    assert_int_equal(net_peer_answers(&peer, &status), 4);
    assert_int_equal(status, 200);
    assert_int_equal(probe.handled, 2);
}

static void memory_that_ends_in_the_middle_of_a_body(void **state)
{
    (void)state;
    static char body[400000];
    int status = 0;
    /* With a length: some of it finds room, not all. */
    struct tc_buffer *all = drain_pool((size_t)300 << 10);
    net_peer_say(&peer, POST "Content-Length: 400000\r\n\r\n");
    net_peer_send(&peer, tc_slice_make(body, sizeof body));
    assert_int_equal(net_peer_answers(&peer, &status), 1);
    assert_int_equal(status, 503);
    assert_false(peer.half_closed);
    /* Chunked, in the middle of a chunk. */
    net_peer_say(&peer, CHUNKED "61a80\r\n");
    net_peer_send(&peer, tc_slice_make(body, sizeof body));
    net_peer_say(&peer, "\r\n0\r\n\r\n");
    assert_int_equal(net_peer_answers(&peer, &status), 2);
    assert_int_equal(status, 503);
    assert_false(peer.half_closed);
    net_peer_say(&peer, "GET /after HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_string_equal(probe.seen.path, "/after");
    /* What is dropped has a bound as well. */
    net_peer_say(&peer, CHUNKED "61a80\r\n");
    net_peer_send(&peer, tc_slice_make(body, sizeof body));
    net_peer_say(&peer, "\r\n400001\r\n");
    assert_int_equal(net_peer_answers(&peer, NULL), 4);
    assert_true(peer.half_closed);
    give_back(all);
}

static void without_memory_a_long_head_is_refused(void **state)
{
    (void)state;
    char text[4096];
    struct tc_buffer *all = drain_pool(0);
    struct tc_buffer *last = tc_pool_take(probe.pool, 1);
    assert_refused(head_of(text, 4000, "Authorization"), 503);
    tc_buffer_give(last);
    give_back(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bad_heads, setup, teardown),
        cmocka_unit_test_setup_teardown(unclear_lengths, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(good_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_chunked_body_grows_to_its_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(framing_may_not_outweigh_its_body, setup, teardown),
        cmocka_unit_test_setup_teardown(trailers_have_the_limit_of_a_head, setup, teardown),
        cmocka_unit_test_setup_teardown(a_head_has_a_size, setup, teardown),
        cmocka_unit_test_setup_teardown(long_values_survive_their_move, setup, teardown),
        cmocka_unit_test_setup_teardown(headers_have_a_number, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_has_a_size, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_sent_after_a_refusal_is_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(good_requests_may_come_in_any_two_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_the_sender_is_to_come_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_that_ends_in_the_middle_of_a_body, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_a_long_head_is_refused, setup, teardown),
    };
    return cmocka_run_group_tests_name("server_http_bad", tests, NULL, NULL);
}
