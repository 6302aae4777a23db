/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "http_client/http_client.h"
#include "http_client/http_client_priv.h"
#include "support/http_peer.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define OK_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct peer *peer;
static struct tc_http_client *client;
static struct tc_http_reply reply;
static struct tc_error err;

static void begin(const struct peer_step *steps, size_t count, int64_t timeout_ns)
{
    char url[64];
    peer = peer_start(steps, count);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/base/", peer_port(peer));
    assert_int_equal(tc_http_client_create(url, timeout_ns, &client, &err), TC_OK);
}

static void end(void)
{
    tc_http_client_destroy(client);
    peer_stop(peer);
}

static tc_status call(struct tc_slice body)
{
    return tc_http_client_call(client, "POST", "/x", TC_LIT("A: b\r\n"), body, &reply, &err);
}

static void assert_reply(int status, const char *body)
{
    assert_int_equal(reply.status, status);
    assert_int_equal(reply.body.len, strlen(body));
    if (reply.body.len > 0) {
        assert_memory_equal(reply.body.ptr, body, reply.body.len);
    }
}

static void a_call_sends_what_was_asked_and_keeps_the_connection(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = OK_REPLY}};
    begin(STEPS, COUNT(STEPS), 5 * TC_SECOND);
    assert_int_equal(call(TC_LIT("body")), TC_OK);
    assert_reply(200, "hi");
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_int_equal(tc_http_client_call(client, "GET", "", TC_EMPTY, TC_EMPTY, &reply, &err),
                     TC_OK);
    assert_int_equal(peer_connections(peer), 1);
    char *text = peer_request(peer, 0);
    assert_non_null(strstr(text, "POST /base/x HTTP/1.1\r\nHost: 127.0.0.1:"));
    assert_non_null(strstr(text, "\r\nA: b\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Length: 4\r\n"));
    assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\nbody");
    free(text);
    text = peer_request(peer, 1);
    assert_non_null(strstr(text, "\r\nContent-Length: 0\r\n"));
    free(text);
    text = peer_request(peer, 2);
    assert_non_null(strstr(text, "GET /base HTTP/1.1\r\n"));
    assert_null(strstr(text, "Content-Length"));
    free(text);
    end();
}

static void replies_of_every_shape_are_read(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {
        {.act = PEER_REPLY,
         .text =
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n"
             "0\r\nTrailer: t\r\n\r\n"},
        {.act = PEER_DRIP,
         .text = "HTTP/1.1 503 Busy\r\nRetry-After: 17\r\nContent-Length: 3\r\n\r\nabc"},
        {.act = PEER_REPLY, .text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"},
        {.act = PEER_REPLY_CLOSE, .text = "HTTP/1.1 200 OK\r\n\r\nuntil the end"},
        {.act = PEER_REPLY, .text = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"},
        {.act = PEER_REPLY, .text = OK_REPLY "HTTP/1.1 500 Injected\r\n\r\n"},
        {.act = PEER_REPLY, .text = OK_REPLY},
    };
    begin(STEPS, COUNT(STEPS), 5 * TC_SECOND);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_reply(200, "abcdefg");
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_reply(503, "abc");
    assert_int_equal(reply.retry_after_s, 17);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_reply(204, "");
    assert_int_equal(reply.retry_after_s, 0);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_reply(200, "until the end");
    assert_int_equal(peer_connections(peer), 1);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_reply(200, "x");
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_reply(200, "hi");
    assert_int_equal(peer_connections(peer), 3); /* HTTP/1.0 is not kept */
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_reply(200, "hi");
    assert_int_equal(peer_connections(peer), 4); /* nor is what says more than it was asked */
    end();
}

static void a_reply_of_more_than_a_mebibyte_is_cut(void **state)
{
    (void)state;
    size_t len = TC_HTTP_REPLY_MAX + 100000;
    char *text = malloc(len + 100);
    for (size_t extra = 0; extra < 2; extra++) {
        size_t body = TC_HTTP_REPLY_MAX + extra;
        int head = snprintf(text, 100, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", body);
        memset(text + head, 'a', body);
        const struct peer_step steps[] = {
            {.act = PEER_REPLY, .text = text, .len = (size_t)head + body}};
        begin(steps, COUNT(steps), 5 * TC_SECOND);
        assert_int_equal(call(TC_EMPTY), TC_OK);
        assert_int_equal(reply.body.len, TC_HTTP_REPLY_MAX);
        assert_int_equal(call(TC_EMPTY), TC_OK);
        assert_int_equal(peer_connections(peer), 1 + extra);
        end();
    }
    free(text);
}

static void a_kept_connection_that_was_closed_is_made_anew_once(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {
        {.act = PEER_REPLY, .text = OK_REPLY},
        {.act = PEER_CLOSE_IDLE},
        {.act = PEER_REPLY, .text = OK_REPLY},
        {.act = PEER_CLOSE},
        {.act = PEER_REPLY, .text = OK_REPLY},
        {.act = PEER_CLOSE},
        {.act = PEER_CLOSE},
    };
    begin(STEPS, COUNT(STEPS), 5 * TC_SECOND);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    (void)usleep(20000);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_int_equal(peer_connections(peer), 2);
    assert_int_equal(call(TC_EMPTY), TC_OK); /* closed after the request: asked again */
    assert_int_equal(peer_connections(peer), 3);
    assert_int_equal(call(TC_EMPTY), TC_E_IO); /* twice: it does not want to */
    assert_non_null(strstr(err.message, "127.0.0.1:"));
    assert_non_null(strstr(err.message, "closed the connection without a reply"));
    end();
}

static void a_reply_that_breaks_off_is_no_reply(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {
        {.act = PEER_REPLY, .text = OK_REPLY},
        {.act = PEER_REPLY_CLOSE, .text = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"},
        {.act = PEER_REPLY_CLOSE, .text = "SSH-2.0-x\r\n"},
        {.act = PEER_RESET},
        {.act = PEER_REPLY,
         .text = "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"},
    };
    begin(STEPS, COUNT(STEPS), 5 * TC_SECOND);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_non_null(strstr(err.message, "in the middle of its reply"));
    assert_int_equal(peer_requests(peer), 2); /* some of it came: not asked again */
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_non_null(strstr(err.message, "is no HTTP"));
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    end();
}

static void an_answer_before_the_body_was_taken_is_heard(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {
        {.act = PEER_EARLY, .text = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"}};
    size_t len = (size_t)64 << 20;
    char *body = calloc(1, len);
    begin(STEPS, COUNT(STEPS), 10 * TC_SECOND);
    /* A reset may overtake the answer: then it is an error, and never a hang. */
    tc_status status = call(tc_slice_make(body, len));
    assert_true(status == TC_OK ? reply.status == 413 : status == TC_E_IO);
    free(body);
    end();
}

static void silence_ends_at_the_deadline(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_SILENT}};
    begin(STEPS, COUNT(STEPS), TC_SECOND / 20);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_non_null(strstr(err.message, "timed out while waiting for its reply"));
    assert_int_equal(peer_requests(peer), 1);
    end();
}

static void *stop_soon(void *context)
{
    const int *fd = context;
    uint64_t one = 1;
    (void)usleep(20000);
    assert_int_equal(write(*fd, &one, sizeof one), sizeof one);
    return NULL;
}

static void another_thread_ends_a_call(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_SILENT}};
    int fd = eventfd(0, EFD_CLOEXEC);
    pthread_t thread;
    begin(STEPS, COUNT(STEPS), 600 * TC_SECOND);
    tc_http_client_stop_on(client, fd);
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, &fd), 0);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_non_null(strstr(err.message, "stopped"));
    assert_int_equal(pthread_join(thread, NULL), 0);
    end();
    (void)close(fd);
}

static void nobody_there_is_said_with_the_address(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_SILENT}};
    begin(STEPS, COUNT(STEPS), 5 * TC_SECOND);
    peer_stop(peer); /* its port is free now */
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_non_null(strstr(err.message, "127.0.0.1:"));
    assert_non_null(strstr(err.message, "is it running"));
    tc_http_client_destroy(client);
    assert_int_equal(
        tc_http_client_create("http://no.such.host.invalid:1", TC_SECOND, &client, &err), TC_OK);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_non_null(strstr(err.message, "no.such.host.invalid:1: no address"));
    tc_http_client_destroy(client);
}

static void tls_with_a_plain_server_says_so(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY_CLOSE, .text = OK_REPLY}};
    char url[64];
    peer = peer_start(STEPS, COUNT(STEPS));
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", peer_port(peer));
    assert_int_equal(tc_http_client_create(url, TC_SECOND / 5, &client, &err), TC_OK);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_non_null(strstr(err.message, "TLS"));
    end();
}

static void headers_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static char headers[20000];
    static const struct peer_step STEPS[] = {{.act = PEER_SILENT}};
    memset(headers, 'h', sizeof headers);
    memcpy(headers + sizeof headers - 2, "\r\n", 2);
    begin(STEPS, COUNT(STEPS), TC_SECOND);
    assert_int_equal(tc_http_client_call(client, "GET", "/", tc_slice_make(headers, sizeof headers),
                                         TC_EMPTY, &reply, &err),
                     TC_E_USAGE);
    end();
}

static void addresses_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *authority; /* NULL: wrong */
        const char *path;
        bool tls;
        bool literal;
    } CASES[] = {
        {"http://a", "a:80", "", false, false},
        {"https://a/", "a:443", "", true, false},
        {"http://a.b:4318/v1/logs", "a.b:4318", "/v1/logs", false, false},
        {"http://[::1]:4318/x/", "[::1]:4318", "/x", false, true},
        {"http://10.0.0.1:65535", "10.0.0.1:65535", "", false, true},
        {"ftp://a", NULL, NULL, false, false},
        {"a:80", NULL, NULL, false, false},
        {"http://", NULL, NULL, false, false},
        {"http://:80", NULL, NULL, false, false},
        {"http://a:", NULL, NULL, false, false},
        {"http://a:0", NULL, NULL, false, false},
        {"http://a:65536", NULL, NULL, false, false},
        {"http://a:8x", NULL, NULL, false, false},
        {"http://a b", NULL, NULL, false, false},
        {"http://a\r\nX: y", NULL, NULL, false, false},
        {"http://u:p@a", NULL, NULL, false, false},
        {"http://a/?q", NULL, NULL, false, false},
        {"http://a/#f", NULL, NULL, false, false},
        {"http://[::1", NULL, NULL, false, false},
        {"http://[::1]x", NULL, NULL, false, false},
        {"http://[::1]:", NULL, NULL, false, false},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct tc__http_url url;
        tc_status status = tc__http_url_parse(CASES[i].text, &url, &err);
        if (CASES[i].authority == NULL) {
            assert_int_equal(status, TC_E_USAGE);
            continue;
        }
        assert_int_equal(status, TC_OK);
        assert_string_equal(url.authority, CASES[i].authority);
        assert_string_equal(url.path, CASES[i].path);
        assert_int_equal(url.tls, CASES[i].tls);
        assert_int_equal(url.is_literal, CASES[i].literal);
    }
}

static void retry_after_is_seconds_or_a_date(void **state)
{
    (void)state;
    struct tc_civil civil = {.year = 2026, .month = 11, .day = 6, .hour = 8, .minute = 49};
    int64_t now_ns = 0;
    assert_true(tc_time_from_civil(&civil, &now_ns));
    assert_int_equal(tc__http_retry_after(TC_LIT("0"), now_ns), 0);
    assert_int_equal(tc__http_retry_after(TC_LIT(" 120 "), now_ns), 120);
    assert_int_equal(tc__http_retry_after(TC_LIT("99999999999"), now_ns), TC_HTTP_RETRY_AFTER_MAX);
    assert_int_equal(tc__http_retry_after(TC_LIT("Fri, 06 Nov 2026 08:49:37 GMT"), now_ns), 37);
    assert_int_equal(tc__http_retry_after(TC_LIT("Fri, 06 Nov 2026 08:48:37 GMT"), now_ns), 0);
    assert_int_equal(tc__http_retry_after(TC_LIT("Fri, 06 Nov 2036 08:48:37 GMT"), now_ns),
                     TC_HTTP_RETRY_AFTER_MAX);
    assert_int_equal(tc__http_retry_after(TC_LIT("Fri, 06 Foo 2026 08:49:37 GMT"), now_ns), 0);
    assert_int_equal(tc__http_retry_after(TC_LIT("Fri, 06 Nov 2026 08:4x:37 GMT"), now_ns), 0);
    assert_int_equal(tc__http_retry_after(TC_LIT("Fri, 06 Nov"), now_ns), 0);
    assert_int_equal(tc__http_retry_after(TC_LIT("-1"), now_ns), 0);
    assert_int_equal(tc__http_retry_after(TC_EMPTY, now_ns), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_sends_what_was_asked_and_keeps_the_connection),
        cmocka_unit_test(replies_of_every_shape_are_read),
        cmocka_unit_test(a_reply_of_more_than_a_mebibyte_is_cut),
        cmocka_unit_test(a_kept_connection_that_was_closed_is_made_anew_once),
        cmocka_unit_test(a_reply_that_breaks_off_is_no_reply),
        cmocka_unit_test(an_answer_before_the_body_was_taken_is_heard),
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(another_thread_ends_a_call),
        cmocka_unit_test(nobody_there_is_said_with_the_address),
        cmocka_unit_test(tls_with_a_plain_server_says_so),
        cmocka_unit_test(headers_that_do_not_fit_are_refused),
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(retry_after_is_seconds_or_a_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
