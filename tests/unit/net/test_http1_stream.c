/* SPDX-License-Identifier: Apache-2.0 */
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
#define PENDING_MAX 1024

static struct net_probe probe;
static struct net_peer peer;
static size_t gone_count;
static size_t released;
static size_t left_count;

static int setup(void **state)
{
    (void)state;
    struct tc_net_limits limits = net_probe_limits();
    net_probe_init(&probe, &limits, POOL_BYTES);
    net_peer_open(&peer, &probe);
    probe.holds = true;
    gone_count = 0;
    released = 0;
    left_count = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_peer_fini(&peer);
    net_probe_fini(&probe);
    return 0;
}

static void assert_heard(const char *text)
{
    if (strstr(net_peer_heard(&peer), text) == NULL) {
        print_error("not heard: %s\nheard: %s\n", text, net_peer_heard(&peer));
        fail();
    }
}

static void gone(void *context)
{
    (void)context;
    gone_count++;
}

/* Asks, and keeps the answer open. */
static struct tc_request *open_stream(const char *version)
{
    char text[128];
    static const struct tc_header headers[] = {{{"Cache-Control", 13}, {"no-store", 8}}};
    const struct tc_response head = {.answer = TC_ANSWER_OK,
                                     .content_type = TC_LIT("text/event-stream"),
                                     .headers = headers,
                                     .header_count = 1};
    const struct tc_stream_owner owner = {.gone = gone, .pending_max = PENDING_MAX};
    (void)snprintf(text, sizeof text, "GET /events %s\r\nHost: x\r\n\r\n", version);
    net_peer_say(&peer, text);
    assert_int_equal(probe.held_count, 1);
    struct tc_request *r = probe.held[0];
    probe.held_count = 0;
    assert_true(tc_request_stream(r, &head, &owner));
    tc__net_turn(probe.net);
    return r;
}

static void pieces_come_as_chunks_until_the_end(void **state)
{
    (void)state;
    struct tc_request *r = open_stream("HTTP/1.1");
    assert_heard("Transfer-Encoding: chunked\r\n");
    assert_heard("Cache-Control: no-store\r\n");
    assert_heard("Connection: close\r\n");
    net_peer_forget(&peer);
    assert_int_equal(tc_stream_write(r, TC_LIT("data: one\n\n")), TC_OK);
    assert_int_equal(tc_stream_write(r, TC_LIT("0123456789abcdef0")), TC_OK);
    tc__net_turn(probe.net);
    assert_string_equal(net_peer_heard(&peer), "b\r\ndata: one\n\n\r\n11\r\n0123456789abcdef0\r\n");
    net_peer_forget(&peer);
    tc_stream_end(r);
    tc__net_turn(probe.net);
    assert_string_equal(net_peer_heard(&peer), "0\r\n\r\n");
    assert_true(peer.half_closed);
    assert_int_equal(gone_count, 0);
}

static void http_1_0_has_no_chunks(void **state)
{
    (void)state;
    struct tc_request *r = open_stream("HTTP/1.0");
    assert_null(strstr(net_peer_heard(&peer), "Transfer-Encoding"));
    net_peer_forget(&peer);
    assert_int_equal(tc_stream_write(r, TC_LIT("data: one\n\n")), TC_OK);
    tc__net_turn(probe.net);
    assert_string_equal(net_peer_heard(&peer), "data: one\n\n");
    tc_stream_end(r);
}

static void what_waits_is_bounded(void **state)
{
    (void)state;
    char bytes[PENDING_MAX + 1];
    memset(bytes, 'x', sizeof bytes);
    struct tc_request *r = open_stream("HTTP/1.1");
    peer.write_room = 0;
    /* Nothing waits: one of any length is taken. */
    assert_int_equal(tc_stream_write(r, tc_slice_make(bytes, sizeof bytes)), TC_OK);
    tc__net_turn(probe.net);
    assert_true(tc_stream_pending(r) >= sizeof bytes);
    assert_int_equal(tc_stream_write(r, TC_LIT("y")), TC_E_LIMIT);
    assert_int_equal(gone_count, 0);
    net_peer_writable(&peer, SIZE_MAX / 2);
    assert_int_equal(tc_stream_pending(r), 0);
    assert_int_equal(tc_stream_write(r, tc_slice_make(bytes, PENDING_MAX / 2)), TC_OK);
    tc_stream_end(r);
}

static void a_reader_that_stands_still_is_closed(void **state)
{
    (void)state;
    struct tc_request *r = open_stream("HTTP/1.1");
    peer.write_room = 0;
    assert_int_equal(tc_stream_write(r, TC_LIT("x")), TC_OK);
    tc__net_turn(probe.net);
    net_probe_wait(&probe, 19 * TC_SECOND);
    assert_int_equal(gone_count, 0);
    net_probe_wait(&probe, 2 * TC_SECOND);
    assert_int_equal(gone_count, 1);
    assert_null(peer.conn);
}

static void an_idle_stream_stays_and_what_comes_is_dropped(void **state)
{
    (void)state;
    struct tc_request *r = open_stream("HTTP/1.1");
    net_probe_wait(&probe, 600 * TC_SECOND);
    assert_non_null(peer.conn);
    net_peer_say(&peer, "GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    net_peer_say(&peer, "GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(probe.handled, 1);
    tc_stream_end(r);
    tc__net_turn(probe.net);
    assert_int_equal(probe.handled, 1);
}

static void the_owner_hears_of_the_peers_end(void **state)
{
    (void)state;
    (void)open_stream("HTTP/1.1");
    net_peer_end(&peer);
    assert_int_equal(gone_count, 1);
    assert_null(peer.conn);
}

static void the_owner_hears_of_the_end_of_the_daemon(void **state)
{
    (void)state;
    (void)open_stream("HTTP/1.1");
    net_peer_forget(&peer);
    tc_net_shutdown(probe.net);
    tc__net_turn(probe.net);
    assert_int_equal(gone_count, 1);
    assert_string_equal(net_peer_heard(&peer), "0\r\n\r\n");
}

static void a_slow_reader_does_not_hold_up_the_end(void **state)
{
    (void)state;
    struct tc_request *r = open_stream("HTTP/1.1");
    peer.write_room = 0;
    assert_int_equal(tc_stream_write(r, TC_LIT("x")), TC_OK);
    tc__net_turn(probe.net);
    tc_net_shutdown(probe.net);
    tc__net_turn(probe.net);
    assert_int_equal(gone_count, 1);
    assert_null(peer.conn);
}

static void release(void *context)
{
    (void)context;
    released++;
}

/* ---- bodies that are written from where they are ---- */

static void a_long_body_is_not_copied_and_released_once(void **state)
{
    (void)state;
    size_t len = TC_HTTP_OUTPUT_WAIT_BYTES * 3;
    char *body = malloc(len);
    memset(body, 'b', len);
    probe.answer = (struct tc_response){
        .content_type = TC_LIT("text/plain"), .body = tc_slice_make(body, len), .release = release};
    peer.write_room = 100;
    net_peer_say(&peer, "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    net_probe_answer(&probe);
    assert_int_equal(released, 0);
    assert_int_equal(probe.handled, 1); /* the second waits until the first is out */
    struct tc_pool_stats stats;
    tc_pool_stats(probe.pool, &stats);
    assert_true(stats.used < TC_HTTP_OUTPUT_WAIT_BYTES);
    net_peer_writable(&peer, SIZE_MAX / 2);
    assert_int_equal(released, 1);
    assert_int_equal(probe.handled, 2);
    probe.answer = (struct tc_response){
        .content_type = TC_LIT("text/plain"), .body = TC_LIT("short"), .release = release};
    net_probe_answer(&probe);
    assert_int_equal(released, 2); /* copied, and so given back at once */
    int status = 0;
    assert_int_equal(net_peer_answers(&peer, &status), 2);
    assert_int_equal(strlen(strstr(net_peer_heard(&peer), "\r\n\r\n") + 4) > len, 1);
    free(body);
}

static void a_body_is_released_when_the_peer_goes(void **state)
{
    (void)state;
    size_t len = TC_HTTP_OUTPUT_WAIT_BYTES * 2;
    char *body = calloc(1, len);
    probe.answer = (struct tc_response){
        .content_type = TC_LIT("text/plain"), .body = tc_slice_make(body, len), .release = release};
    peer.write_room = 100;
    net_peer_say(&peer, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    net_probe_answer(&probe);
    net_probe_wait(&probe, 60 * TC_SECOND); /* no progress: closed */
    assert_null(peer.conn);
    assert_int_equal(released, 1);
    free(body);
}

static void a_body_for_nobody_is_released(void **state)
{
    (void)state;
    probe.answer = (struct tc_response){.body = TC_LIT("x"), .release = release};
    net_peer_say(&peer, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    tc_net_destroy(probe.net);
    probe.net = NULL;
    net_probe_answer(&probe);
    assert_int_equal(released, 1);
}

static void left(struct tc_request *r)
{
    assert_non_null(r);
    left_count++;
}

static void the_handler_hears_that_the_peer_is_gone(void **state)
{
    (void)state;
    net_peer_say(&peer, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    probe.held[0]->left = left;
    tc_net_destroy(probe.net);
    probe.net = NULL;
    assert_int_equal(left_count, 1);
}

static void a_304_has_no_length_and_no_body(void **state)
{
    (void)state;
    static const struct tc_header headers[] = {
        {{"ETag", 4}, {"\"x\"", 3}},
        {{"X-Bad", 5}, {"a\r\nb", 4}},
    };
    probe.answer = (struct tc_response){
        .answer = TC_ANSWER_NOT_MODIFIED, .headers = headers, .header_count = 2};
    net_peer_say(&peer, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    net_probe_answer(&probe);
    assert_heard("HTTP/1.1 304 Not Modified\r\n");
    assert_heard("ETag: \"x\"\r\n");
    assert_null(strstr(net_peer_heard(&peer), "X-Bad"));
    assert_null(strstr(net_peer_heard(&peer), "Content-Length"));
}

static void headers_that_may_come_twice_do(void **state)
{
    (void)state;
    net_peer_say(&peer, "GET /a HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nAccept: */*\r\n"
                        "If-None-Match: \"a\"\r\nRange: bytes=0-1\r\nLast-Event-ID: 7\r\n"
                        "Accept-Encoding: gzip\r\nMCP-Protocol-Version: 2025-11-25\r\n"
                        "Mcp-Protocol-VersionX: no\r\n\r\n");
    assert_int_equal(probe.held_count, 1);
    const struct tc_request *r = probe.held[0];
    assert_true(tc_slice_eq(r->accept, TC_LIT("text/html")));
    assert_true(tc_slice_eq(r->if_none_match, TC_LIT("\"a\"")));
    assert_true(tc_slice_eq(r->range, TC_LIT("bytes=0-1")));
    assert_true(tc_slice_eq(r->last_event_id, TC_LIT("7")));
    assert_true(tc_slice_eq(r->accept_encoding, TC_LIT("gzip")));
    assert_true(tc_slice_eq(r->mcp_version, TC_LIT("2025-11-25")));
    net_probe_answer(&probe);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_come_as_chunks_until_the_end),
        TEST(http_1_0_has_no_chunks),
        TEST(what_waits_is_bounded),
        TEST(a_reader_that_stands_still_is_closed),
        TEST(an_idle_stream_stays_and_what_comes_is_dropped),
        TEST(the_owner_hears_of_the_peers_end),
        TEST(the_owner_hears_of_the_end_of_the_daemon),
        TEST(a_slow_reader_does_not_hold_up_the_end),
        TEST(a_long_body_is_not_copied_and_released_once),
        TEST(a_body_is_released_when_the_peer_goes),
        TEST(a_body_for_nobody_is_released),
        TEST(the_handler_hears_that_the_peer_is_gone),
        TEST(a_304_has_no_length_and_no_body),
        TEST(headers_that_may_come_twice_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
