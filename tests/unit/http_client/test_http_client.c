/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "http_client/http_client.h"
#include "support/http_peer.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
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

static void assert_error(const char *part)
{
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
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
    assert_error("127.0.0.1:");
    assert_error("closed the connection without a reply");
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
        {.act = PEER_REPLY, .text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"},
    };
    begin(STEPS, COUNT(STEPS), 60 * TC_SECOND);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("closed the connection in the middle of its reply");
    assert_int_equal(peer_requests(peer), 2); /* some of it came: not asked again */
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("is no HTTP");
    assert_error("is it an HTTP server, and is https:// meant?");
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("the connection broke without a reply: ");
    assert_error("reset by peer");
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("is no HTTP (another protocol, unasked)");
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("chunk");
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
    assert_error("timed out while waiting for its reply");
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
    assert_error("stopped");
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
    assert_error("127.0.0.1:");
    assert_error("is it running");
    tc_http_client_destroy(client);
    assert_int_equal(
        tc_http_client_create("http://no.such.host.invalid:1", TC_SECOND, &client, &err), TC_OK);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("no.such.host.invalid:1: no address");
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
    assert_error("TLS");
    end();
}

static void tls_that_never_begins_times_out(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_SILENT}};
    char url[64];
    peer = peer_start(STEPS, COUNT(STEPS));
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", peer_port(peer));
    assert_int_equal(tc_http_client_create(url, TC_SECOND / 20, &client, &err), TC_OK);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("timed out while connecting or beginning TLS");
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

/* A listener that takes no more connections: the kernel answers none. */
static void a_server_that_takes_no_connection_times_out(void **state)
{
    (void)state;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fds[4];
    char url[64];
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(fds[i] >= 0);
        if (i == 0) {
            assert_int_equal(bind(fds[0], (struct sockaddr *)&a, len), 0);
            assert_int_equal(listen(fds[0], 0), 0);
            assert_int_equal(getsockname(fds[0], (struct sockaddr *)&a, &len), 0);
        } else {
            (void)connect(fds[i], (struct sockaddr *)&a, len);
        }
    }
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", ntohs(a.sin_port));
    assert_int_equal(tc_http_client_create(url, TC_SECOND / 20, &client, &err), TC_OK);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("timed out while connecting");
    tc_http_client_destroy(client);
    for (size_t i = 0; i < COUNT(fds); i++) {
        (void)close(fds[i]);
    }
}

/* The kernel takes the connection, and of the body what its buffers hold. */
static void a_body_that_nobody_reads_times_out(void **state)
{
    (void)state;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    char url[64];
    size_t size = (size_t)64 << 20;
    char *body = calloc(1, size);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", ntohs(a.sin_port));
    assert_int_equal(tc_http_client_create(url, TC_SECOND / 2, &client, &err), TC_OK);
    assert_int_equal(call(tc_slice_make(body, size)), TC_E_IO);
    assert_error("timed out while sending");
    tc_http_client_destroy(client);
    (void)close(fd);
    free(body);
}

static void methods_redirects_and_empty_headers(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {
        {.act = PEER_REPLY, .text = OK_REPLY},
        {.act = PEER_REPLY, .text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
        {.act = PEER_REPLY,
         .text = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"},
    };
    begin(STEPS, COUNT(STEPS), 5 * TC_SECOND);
    struct tc_slice headers = TC_LIT("X-Empty:  \r\nContent-Type: a/b\r\n");
    assert_int_equal(
        tc_http_client_call(client, "PUT", "/a/../b?c=%2F", headers, TC_LIT("x"), &reply, &err),
        TC_OK);
    assert_int_equal(tc_http_client_call(client, "HEAD", "", TC_EMPTY, TC_EMPTY, &reply, &err),
                     TC_OK);
    assert_reply(200, "");
    assert_int_equal(call(TC_LIT("x")), TC_OK);
    assert_reply(302, "");
    assert_int_equal(peer_requests(peer), 3);
    assert_int_equal(peer_connections(peer), 1);
    char *text = peer_request(peer, 0);
    assert_non_null(strstr(text, "PUT /base/a/../b?c=%2F HTTP/1.1\r\n"));
    assert_non_null(strstr(text, "\r\nX-Empty:\r\nContent-Type: a/b\r\n"));
    assert_non_null(strstr(text, "\r\nUser-Agent: tracecore\r\n"));
    free(text);
    text = peer_request(peer, 1);
    assert_non_null(strstr(text, "HEAD /base HTTP/1.1\r\n"));
    free(text);
    text = peer_request(peer, 2);
    assert_null(strstr(text, "Content-Type"));
    free(text);
    end();
}

static void the_proxy_of_the_environment_is_not_used(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = OK_REPLY}};
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    assert_int_equal(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
    begin(STEPS, COUNT(STEPS), 5 * TC_SECOND);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    assert_reply(200, "hi");
    end();
    assert_int_equal(unsetenv("http_proxy") + unsetenv("ALL_PROXY"), 0);
}

static void endless_headers_end_the_call(void **state)
{
    (void)state;
    size_t line = 1000;
    size_t len = sizeof "HTTP/1.1 200 OK\r\n" - 1;
    char *text = malloc(200 * line);
    memcpy(text, "HTTP/1.1 200 OK\r\n", len);
    for (size_t i = 0; i < 100; i++) {
        memset(text + len, 'h', line);
        memcpy(text + len + 1, ": ", 2);
        memcpy(text + len + line - 2, "\r\n", 2);
        len += line;
    }
    const struct peer_step steps[] = {{.act = PEER_REPLY, .text = text, .len = len}};
    begin(steps, COUNT(steps), 60 * TC_SECOND);
    assert_int_equal(call(TC_EMPTY), TC_E_IO);
    assert_error("headers of more than 80 KiB");
    end();
    free(text);
}

static void addresses_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wrong; /* part of the message; NULL: it is right */
    } CASES[] = {
        {"http://a", NULL},
        {"https://a/", NULL},
        {"http://a.b:4318/v1/logs", NULL},
        {"http://[::1]:4318/x/", NULL},
        {"http://10.0.0.1:65535", NULL},
        {"http://a:1//", NULL},
        {"ftp://a", "does not begin with http"},
        {"a:80", "does not begin with http"},
        {"", "does not begin with http"},
        {"http://", "(no host)"},
        {"http:///a", "(no host)"},
        {"http://:80", "is no address"},
        {"http://a:", "(no port"},
        {"http://[::1]:/", "(no port"},
        {"http://a:0", "is no address"},
        {"http://a:65536", "is no address"},
        {"http://a:8x", "is no address"},
        {"http://a b", "is no address"},
        {"http://a\r\nX: y", "is no address"},
        {"http://u:p@a", "user name"},
        {"http://a/?q", "query"},
        {"http://a/#f", "fragment"},
        {"http://[::1", "is no address"},
        {"http://[::1]x", "is no address"},
        {"http://[::1x]", "is no address"},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        tc_status status = tc_http_client_create(CASES[i].text, TC_SECOND, &client, &err);
        if (CASES[i].wrong == NULL) {
            assert_int_equal(status, TC_OK);
            tc_http_client_destroy(client);
            continue;
        }
        assert_int_equal(status, TC_E_USAGE);
        assert_error(CASES[i].wrong);
        assert_error("write http://host:port or https://host:port");
    }
    char longest[2050] = "http://a/";
    memset(longest + 9, 'p', 2047 - 9);
    assert_int_equal(tc_http_client_create(longest, TC_SECOND, &client, &err), TC_OK);
    tc_http_client_destroy(client);
    longest[2047] = 'p';
    assert_int_equal(tc_http_client_create(longest, TC_SECOND, &client, &err), TC_E_USAGE);
    assert_error("2,047 bytes");
}

static void messages_name_host_and_port(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {{"http://127.0.0.1/x", "127.0.0.1:80: "},
                                           {"https://127.0.0.1", "127.0.0.1:443: "},
                                           {"http://[::1]:1/", "[::1]:1: "}};
    for (size_t i = 0; i < COUNT(CASES); i++) {
        int fd = eventfd(1, EFD_CLOEXEC); /* whoever is there, it is stopped */
        assert_int_equal(tc_http_client_create(CASES[i][0], TC_SECOND, &client, &err), TC_OK);
        tc_http_client_stop_on(client, fd);
        assert_int_equal(call(TC_EMPTY), TC_E_IO);
        assert_int_equal(strncmp(err.message, CASES[i][1], strlen(CASES[i][1])), 0);
        tc_http_client_destroy(client);
        (void)close(fd);
    }
}

static unsigned retry_after(const char *value)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", value);
    const struct peer_step steps[] = {{.act = PEER_REPLY, .text = text}};
    begin(steps, COUNT(steps), 5 * TC_SECOND);
    assert_int_equal(call(TC_EMPTY), TC_OK);
    end();
    return reply.retry_after_s;
}

static void retry_after_is_seconds_or_a_date(void **state)
{
    (void)state;
    char date[64];
    struct tm tm;
    time_t then = time(NULL) + 100;
    assert_int_equal(retry_after("0"), 0);
    assert_int_equal(retry_after(" 120 "), 120);
    assert_int_equal(retry_after("86400"), TC_HTTP_RETRY_AFTER_MAX);
    assert_int_equal(retry_after("86401"), TC_HTTP_RETRY_AFTER_MAX);
    assert_int_equal(retry_after("99999999999"), TC_HTTP_RETRY_AFTER_MAX);
    assert_true(strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &tm)) > 0);
    unsigned seconds = retry_after(date);
    assert_true(seconds > 50 && seconds <= 100);
    assert_int_equal(retry_after("Fri, 06 Nov 2020 08:48:37 GMT"), 0);
    assert_int_equal(retry_after("Fri, 06 Nov 2036 08:48:37 GMT"), TC_HTTP_RETRY_AFTER_MAX);
    assert_int_equal(retry_after("Fri, 06 Foo 2036 08:49:37 GMT"), 0);
    assert_int_equal(retry_after("-1"), 0);
    assert_int_equal(retry_after("soon"), 0);
    assert_int_equal(retry_after(""), 0);
}

/* ---- streams ---- */

struct gathered {
    char text[64];
    size_t calls;
    size_t wanted; /* bytes, then no more */
};

static bool gather(void *context, struct tc_slice bytes)
{
    struct gathered *g = context;
    g->calls++;
    (void)strncat(g->text, bytes.ptr, bytes.len);
    return strlen(g->text) < g->wanted;
}

static tc_status stream(struct gathered *g, size_t wanted, int64_t timeout_ns)
{
    *g = (struct gathered){.wanted = wanted};
    return tc_http_client_stream(client, "/s", TC_EMPTY, TC_EMPTY, timeout_ns, gather, g, &reply,
                                 &err);
}

static void a_stream_is_handed_over_as_it_comes(void **state)
{
    static const struct peer_step steps[] = {
        {.act = PEER_DRIP, .text = OK_REPLY},
        {.act = PEER_REPLY, .text = "HTTP/1.1 410 Gone\r\nContent-Length: 3\r\n\r\nold"},
        {.act = PEER_REPLY, .text = OK_REPLY},
        {.act = PEER_REPLY_CLOSE, .text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart"},
        {.act = PEER_REPLY, .text = OK_REPLY},
        {.act = PEER_SILENT},
    };
    struct gathered g;
    (void)state;
    begin(steps, COUNT(steps), 10 * TC_SECOND);
    assert_int_equal(stream(&g, 99, 10 * TC_SECOND), TC_OK);
    assert_string_equal(g.text, "hi");
    assert_int_equal(g.calls, 2);
    assert_reply(200, "");
    assert_int_equal(stream(&g, 99, 10 * TC_SECOND), TC_OK);
    assert_int_equal(g.calls, 0);
    assert_reply(410, "old");
    assert_int_equal(stream(&g, 1, 10 * TC_SECOND), TC_OK); /* enough */
    assert_string_equal(g.text, "hi");
    assert_int_equal(stream(&g, 99, 10 * TC_SECOND), TC_E_IO); /* it broke off, after this */
    assert_string_equal(g.text, "part");
    assert_int_equal(call(TC_EMPTY), TC_OK); /* a call is one again */
    assert_reply(200, "hi");
    assert_int_equal(stream(&g, 99, TC_SECOND / 20), TC_E_IO);
    assert_error("timed out");
    end();
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
        cmocka_unit_test(tls_that_never_begins_times_out),
        cmocka_unit_test(headers_that_do_not_fit_are_refused),
        cmocka_unit_test(a_server_that_takes_no_connection_times_out),
        cmocka_unit_test(a_body_that_nobody_reads_times_out),
        cmocka_unit_test(methods_redirects_and_empty_headers),
        cmocka_unit_test(the_proxy_of_the_environment_is_not_used),
        cmocka_unit_test(endless_headers_end_the_call),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(messages_name_host_and_port),
        cmocka_unit_test(retry_after_is_seconds_or_a_date),
        cmocka_unit_test(a_stream_is_handed_over_as_it_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
