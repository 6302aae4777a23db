/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http1/priv.h"
#include "support/assert_text.h"
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

static void assert_heard(const char *text)
{
    if (strstr(net_peer_heard(&peer), text) == NULL) {
        print_error("not heard: %s\nheard: %s\n", text, net_peer_heard(&peer));
        fail();
    }
}

static void assert_not_heard(const char *text)
{
    if (strstr(net_peer_heard(&peer), text) != NULL) {
        print_error("heard: %s\nin: %s\n", text, net_peer_heard(&peer));
        fail();
    }
}

static void assert_answers(size_t count, int last_status)
{
    int status = 0;
    assert_int_equal(net_peer_answers(&peer, &status), count);
    assert_int_equal(status, last_status);
}

static void a_get_is_answered_and_the_connection_kept(void **state)
{
    (void)state;
    probe.answer.content_type = TC_LIT("text/plain");
    probe.answer.body = TC_LIT("fine\n");
    net_peer_say(&peer, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_string_equal(net_peer_heard(&peer), "HTTP/1.1 200 OK\r\n"
                                               "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                               "Content-Type: text/plain\r\n"
                                               "Content-Length: 5\r\n\r\nfine\n");
    assert_non_null(peer.conn);
    assert_int_equal(probe.seen.method, TC_METHOD_GET);
    assert_string_equal(probe.seen.path, "/healthz");
    assert_int_equal(probe.seen.arrival_ns, probe.wall_ns);
    net_peer_say(&peer, "GET /again HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_answers(2, 200);
    assert_string_equal(probe.seen.path, "/again");
}

static void what_of_a_head_is_kept(void **state)
{
    (void)state;
    net_peer_say(&peer, "POST /v1/lo%67s?a=%20b&c HTTP/1.1\r\nHost: x\r\n"
                        "content-TYPE:   application/json \t\r\n"
                        "X-Other: nothing\r\n"
                        "Content-Encoding: gzip\r\n"
                        "Authorization: Bearer abc\r\n"
                        "Origin: https://page.example\r\n"
                        "Sec-Fetch-Site: cross-site\r\n"
                        "X-Empty:\r\n"
                        "Content-Length: 3\r\n\r\nabc");
    assert_int_equal(probe.handled, 1);
    assert_int_equal(probe.seen.method, TC_METHOD_POST);
    assert_string_equal(probe.seen.path, "/v1/logs");
    assert_string_equal(probe.seen.query, "a=%20b&c");
    assert_string_equal(probe.seen.content_type, "application/json");
    assert_string_equal(probe.seen.content_encoding, "gzip");
    assert_string_equal(probe.seen.authorization, "Bearer abc");
    assert_string_equal(probe.seen.host, "x");
    assert_string_equal(probe.seen.origin, "https://page.example");
    assert_string_equal(probe.seen.fetch_site, "cross-site");
    assert_int_equal(probe.seen.body_len, 3);
    assert_heard("\r\n\r\nabc");
}

static void forms_of_a_target(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        const char *path;
        const char *query;
    } cases[] = {
        {"/", "/", ""},
        {"/a?b", "/a", "b"},
        {"/a?", "/a", ""},
        {"/a?b?c", "/a", "b?c"},
        {"/a#f", "/a", ""},
        {"/a?b#f", "/a", "b"},
        {"/a%2Fb%3fc", "/a/b?c", ""},
        {"/%2525", "/%25", ""}, /* once */
        {"/a//b/../c", "/a//b/../c", ""},
        {"http://host:80/p?q", "/p", "q"},
        {"http://host", "/", ""},
        {"http://host?q", "/", "q"},
        {"/x?u=http://y/z", "/x", "u=http://y/z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", cases[i].target);
        net_peer_say(&peer, text);
        assert_int_equal(probe.handled, i + 1);
        assert_string_equal(probe.seen.path, cases[i].path);
        assert_string_equal(probe.seen.query, cases[i].query);
    }
    net_peer_say(&peer, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_string_equal(probe.seen.path, "*");
    assert_int_equal(probe.seen.method, TC_METHOD_OTHER);
}

static void hosts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *host;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost:  Name.example:4320 \r\n\r\n", "Name.example:4320"},
        {"GET / HTTP/1.1\r\nhost: [fe80::1%25eth0]:1\r\n\r\n", "[fe80::1%25eth0]:1"},
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", ""},
        /* The target's host is the one that counts. */
        {"GET http://target:1/p HTTP/1.1\r\nHost: other\r\n\r\n", "target:1"},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "(none)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        net_peer_say(&peer, cases[i].text);
        assert_int_equal(probe.handled, i + 1);
        assert_string_equal(probe.seen.host, cases[i].host);
    }
}

static void methods(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum tc_method method;
    } cases[] = {
        {"GET", TC_METHOD_GET},     {"HEAD", TC_METHOD_HEAD},     {"POST", TC_METHOD_POST},
        {"PUT", TC_METHOD_PUT},     {"DELETE", TC_METHOD_OTHER},  {"PATCH", TC_METHOD_OTHER},
        {"TRACE", TC_METHOD_OTHER}, {"OPTIONS", TC_METHOD_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: x\r\n\r\n", cases[i].name);
        net_peer_say(&peer, text);
        assert_int_equal(probe.handled, i + 1);
        assert_int_equal(probe.seen.method, cases[i].method);
    }
}

static void head_has_the_length_and_no_body(void **state)
{
    (void)state;
    probe.answer.content_type = TC_LIT("text/plain");
    probe.answer.body = TC_LIT("fine\n");
    net_peer_say(&peer, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_heard("Content-Length: 5\r\n\r\n");
    assert_not_heard("fine");
    probe.begin_answer = TC_ANSWER_NOT_FOUND;
    net_peer_say(&peer, "HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_answers(2, 404);
    assert_not_heard("not here");
}

static void old_clients_are_kept_only_when_they_ask(void **state)
{
    (void)state;
    net_peer_say(&peer, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_heard("Connection: keep-alive\r\n");
    assert_false(peer.half_closed);
    net_peer_forget(&peer);
    net_peer_say(&peer, "GET / HTTP/1.0\r\n\r\n");
    assert_heard("HTTP/1.1 200 OK\r\n");
    assert_heard("Connection: close\r\n");
    assert_true(peer.half_closed);
}

static void connection_close_is_obeyed(void **state)
{
    (void)state;
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /two "
                        "HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_answers(1, 200);
    assert_heard("Connection: close\r\n");
    assert_true(peer.half_closed);
    assert_non_null(peer.conn); /* waits for the peer's end */
    net_peer_end(&peer);
    assert_null(peer.conn);
}

static void answers_have_what_their_status_needs(void **state)
{
    (void)state;
    probe.answer = (struct tc_response){.answer = TC_ANSWER_BUSY, .retry_after_s = 7};
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_heard("HTTP/1.1 503 Service Unavailable\r\n");
    assert_heard("Retry-After: 7\r\n");
    assert_heard("Content-Length: 0\r\n");
    assert_not_heard("Content-Type");
    probe.answer = (struct tc_response){
        .answer = TC_ANSWER_WRONG_METHOD, .allow = TC_LIT("GET, HEAD"), .message = TC_LIT("no")};
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_heard("Allow: GET, HEAD\r\n");
    assert_heard("Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n");
    assert_heard("\r\n\r\nno\n");
    probe.answer = (struct tc_response){.answer = TC_ANSWER_UNAUTHENTICATED};
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_heard("WWW-Authenticate: Bearer\r\n");
    net_peer_forget(&peer);
    probe.answer = (struct tc_response){.content_type = TC_LIT("application/x-protobuf")};
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_heard("Content-Type: application/x-protobuf\r\nContent-Length: 0\r\n");
}

static void a_handler_cannot_split_an_answer(void **state)
{
    (void)state;
    static char huge[2000];
    memset(huge, 'x', sizeof huge);
    probe.answer =
        (struct tc_response){.content_type = TC_LIT("a\r\nX-Injected: 1"), .body = TC_LIT("b")};
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_not_heard("Injected");
    probe.answer.content_type = tc_slice_make(huge, sizeof huge);
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_answers(2, 500);
    assert_true(peer.half_closed);
}

static void a_pipeline_is_answered_in_order(void **state)
{
    (void)state;
    net_peer_say(
        &peer,
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"
        "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
        "POST /3 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n0\r\n\r\n"
        "\r\nGET /4 HTTP/1.1\r\nHost: x\r\n\r\nGET /5");
    assert_int_equal(probe.handled, 4);
    assert_answers(4, 200);
    net_peer_say(&peer, " HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(probe.handled, 5);
    assert_string_equal(probe.seen.path, "/5");
}

static void a_pipeline_waits_for_answers_that_come_later(void **state)
{
    (void)state;
    probe.holds = true;
    net_peer_say(&peer, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET "
                        "/3 HTTP/1.1\r\nHost: x\r\n\r\n");
    for (size_t i = 1; i <= 3; i++) {
        assert_int_equal(probe.handled, i);
        assert_int_equal(probe.held_count, 1);
        assert_int_equal(net_peer_answers(&peer, NULL), i - 1);
        net_probe_answer(&probe);
    }
    assert_answers(3, 200);
    assert_true(peer.conn != NULL && !peer.conn->paused);
}

static void nothing_is_read_while_a_request_is_handled(void **state)
{
    (void)state;
    probe.holds = true;
    net_peer_say(&peer, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
    size_t reads = peer.reads;
    net_peer_say(&peer, "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(peer.reads, reads);
    net_probe_answer(&probe);
    net_peer_say(&peer, "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(probe.handled, 2);
    net_probe_answer(&probe);
}

static void a_pipeline_without_memory_for_its_rest_ends_after_the_answer(void **state)
{
    (void)state;
    probe.holds = true;
    struct tc_buffer *all[2] = {tc_pool_take(probe.pool, (size_t)4 << 20), NULL};
    while (all[1] == NULL) { /* leave less than the smallest buffer */
        struct tc_buffer *b = tc_pool_take(probe.pool, 4096);
        if (b == NULL) {
            break;
        }
        b->next = all[0];
        all[0] = b;
    }
    net_peer_say(&peer, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    net_probe_answer(&probe);
    assert_int_equal(probe.handled, 1);
    assert_heard("Connection: close");
    while (all[0] != NULL) {
        struct tc_buffer *next = all[0]->next;
        tc_buffer_give(all[0]);
        all[0] = next;
    }
}

static void a_reader_that_does_not_read_holds_up_its_pipeline(void **state)
{
    (void)state;
    static char large[40000];
    static char pipeline[30 * 64];
    memset(large, 'l', sizeof large);
    pipeline[0] = '\0';
    for (int i = 0; i < 30; i++) {
        size_t len = strlen(pipeline);
        (void)snprintf(pipeline + len, sizeof pipeline - len, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n",
                       i);
    }
    probe.answer.content_type = TC_LIT("text/plain");
    probe.answer.body = tc_slice_make(large, sizeof large);
    peer.write_room = 0;
    net_peer_say(&peer, pipeline);
    assert_int_equal(probe.handled, 2); /* as many as pass 64 KiB */
    assert_true(tc_conn_pending(peer.conn) < 3 * sizeof large);
    for (size_t i = 2; i < 30; i++) {
        net_peer_writable(&peer, sizeof large);
    }
    net_peer_writable(&peer, SIZE_MAX);
    net_peer_writable(&peer, SIZE_MAX);
    assert_int_equal(probe.handled, 30);
    assert_answers(30, 200);
}

static void expect_is_answered_before_the_body(void **state)
{
    (void)state;
    static const char head[] =
        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\n";
    net_peer_say(&peer, head);
    assert_string_equal(net_peer_heard(&peer), "HTTP/1.1 100 Continue\r\n\r\n");
    net_peer_say(&peer, "body");
    assert_answers(2, 200);
    net_peer_forget(&peer);
    /* Not when the body is there already, nor for HTTP/1.0. */
    net_peer_say(
        &peer,
        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody");
    assert_answers(1, 200);
    net_peer_say(&peer, "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assert_answers(1, 200);
    net_peer_say(&peer, "body");
    assert_answers(2, 200);
}

static void a_refused_expectation_ends_the_connection(void **state)
{
    (void)state;
    probe.begin_answer = TC_ANSWER_UNAUTHENTICATED;
    net_peer_say(&peer,
                 "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assert_answers(1, 401);
    assert_not_heard("100 Continue");
    assert_heard("Connection: close\r\n");
    assert_true(peer.half_closed);
}

static void the_service_may_refuse_after_the_head(void **state)
{
    (void)state;
    probe.begin_answer = TC_ANSWER_WRONG_METHOD;
    net_peer_say(&peer, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123");
    assert_answers(1, 405); /* before the body is there */
    assert_heard("Allow: POST\r\n");
    assert_heard("not here\n");
    assert_int_equal(probe.handled, 0);
    probe.begin_answer = TC_ANSWER_OK;
    net_peer_say(&peer, "456789GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(probe.handled, 1);
    assert_string_equal(probe.seen.path, "/next");
    probe.begin_answer = TC_ANSWER_NOT_FOUND;
    net_peer_say(
        &peer,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_answers(4, 404);
    assert_int_equal(probe.handled, 1);
}

static void a_refused_body_is_read_only_so_far(void **state)
{
    (void)state;
    char text[128];
    probe.begin_answer = TC_ANSWER_NOT_FOUND;
    (void)snprintf(text, sizeof text, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                   TC_HTTP_DISCARD_BYTES);
    net_peer_say(&peer, text);
    assert_false(peer.half_closed);
    net_peer_fini(&peer);
    net_peer_open(&peer, &probe);
    (void)snprintf(text, sizeof text, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                   TC_HTTP_DISCARD_BYTES + 1);
    net_peer_say(&peer, text);
    assert_answers(1, 404);
    assert_heard("Connection: close\r\n");
    assert_true(peer.half_closed);
    net_peer_fini(&peer);
    net_peer_open(&peer, &probe);
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_false(peer.half_closed);
    net_peer_say(&peer, "10000000\r\n");
    assert_answers(1, 404); /* and no second answer */
    assert_true(peer.half_closed);
}

static void the_service_may_set_the_size_of_a_body(void **state)
{
    (void)state;
    probe.begin_body_max = 4;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    assert_answers(1, 200);
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
    assert_answers(2, 413);
    assert_true(peer.half_closed);
}

static void a_service_without_begin_takes_all(void **state)
{
    (void)state;
    probe.service.begin = NULL;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    assert_answers(1, 200);
}

static void a_body_is_read_to_its_place(void **state)
{
    (void)state;
    size_t len = (size_t)700 << 10; /* more than is claimed at once */
    char *text = malloc(len + 256);
    assert_non_null(text);
    int head =
        snprintf(text, 256, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", len);
    for (size_t i = 0; i < len; i++) {
        text[(size_t)head + i] = (char)(i * 7 + i / 251);
    }
    static const size_t pieces[] = {0, 1000, 4096, 100001};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        peer.read_most = pieces[i];
        net_peer_forget(&peer);
        net_peer_send(&peer, tc_slice_make(text, (size_t)head + len));
        assert_int_equal(probe.handled, i + 1);
        assert_int_equal(probe.seen.body_len, len);
        assert_memory_equal(peer.out + peer.out_len - len, text + head, len);
    }
    free(text);
}

static void requests_are_counted_on_a_connection(void **state)
{
    (void)state;
    struct tc_net_limits limits = net_probe_limits();
    limits.requests_per_conn_max = 2;
    tc_net_limit(probe.net, &limits);
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_not_heard("Connection: close");
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_heard("Connection: close");
    assert_true(peer.half_closed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_get_is_answered_and_the_connection_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(what_of_a_head_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(forms_of_a_target, setup, teardown),
        cmocka_unit_test_setup_teardown(hosts, setup, teardown),
        cmocka_unit_test_setup_teardown(methods, setup, teardown),
        cmocka_unit_test_setup_teardown(head_has_the_length_and_no_body, setup, teardown),
        cmocka_unit_test_setup_teardown(old_clients_are_kept_only_when_they_ask, setup, teardown),
        cmocka_unit_test_setup_teardown(connection_close_is_obeyed, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_have_what_their_status_needs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_handler_cannot_split_an_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pipeline_is_answered_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pipeline_waits_for_answers_that_come_later, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_is_read_while_a_request_is_handled, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_pipeline_without_memory_for_its_rest_ends_after_the_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_does_not_read_holds_up_its_pipeline, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(expect_is_answered_before_the_body, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refused_expectation_ends_the_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(the_service_may_refuse_after_the_head, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refused_body_is_read_only_so_far, setup, teardown),
        cmocka_unit_test_setup_teardown(the_service_may_set_the_size_of_a_body, setup, teardown),
        cmocka_unit_test_setup_teardown(a_service_without_begin_takes_all, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_is_read_to_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(requests_are_counted_on_a_connection, setup, teardown),
    };
    return cmocka_run_group_tests_name("server_http", tests, NULL, NULL);
}
