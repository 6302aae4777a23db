/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop with every allocation failing in turn: no crash, no leak, and requests are either
 * answered or refused. And the other way round: under steady load nothing is allocated at all, by
 * us or by libevent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "net/net_priv.h"
#include "support/faulty.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALLS_MAX 500
#define STEPS_MAX 2000

static const struct tc_net_limits limits = {
    .connections_max = 64,
    .header_bytes_max = 8192,
    .headers_max = 32,
    .body_bytes_max = 1 << 20,
    .output_bytes_max = 1 << 20,
    .header_timeout_ns = 10 * TC_SECOND,
    .body_timeout_ns = 30 * TC_SECOND,
    .idle_timeout_ns = 60 * TC_SECOND,
    .write_timeout_ns = 20 * TC_SECOND,
};

static void handle(void *context, struct tc_request *r)
{
    struct tc_response response = {.answer = TC_ANSWER_OK, .content_type = TC_LIT("a/b")};
    (void)context;
    if (r->body != NULL) {
        response.body = tc_slice_make((const char *)r->body->data, r->body->len);
    }
    tc_request_respond(r, &response);
}

static const struct tc_service service = {.handle = handle};

/* Allocations of libevent's count, and fail, like our own. */
static void *event_malloc(size_t size)
{
    return malloc(size);
}

static void *event_realloc(void *p, size_t size)
{
    return realloc(p, size);
}

static int dial(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* The first digit of the status of an answer; 0 when there was none. */
static int ask(struct tc_net *n, int fd, const char *text)
{
    char answer[4096];
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
        return 0;
    }
    for (int i = 0; i < STEPS_MAX; i++) {
        (void)event_base_loop(tc_net_base(n), EVLOOP_NONBLOCK);
        ssize_t got = recv(fd, answer, sizeof answer, 0);
        if (got > 12) {
            return answer[9] - '0';
        }
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            break;
        }
    }
    return 0;
}

#define POST "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
#define CHUNKED \
    "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
#define PIPELINE "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"

/* All of it once; how many of three requests were answered with success. */
static int scenario(void)
{
    static const char *const requests[] = {POST, CHUNKED, PIPELINE};
    struct tc_error err = {0};
    uint16_t port = 0;
    int good = 0;
    struct tc_pool *pool = tc_pool_create(4 << 20, 1 << 20);
    struct tc_net *n = pool == NULL ? NULL : tc_net_create(&limits, pool);
    if (n != NULL &&
        tc_net_listen(n, "127.0.0.1:0", &tc_proto_http, &service, NULL, &port, &err) == TC_OK) {
        for (size_t i = 0; i < 3; i++) {
            int fd = dial(port);
            int class = ask(n, fd, requests[i]);
            assert_true(class == 0 || class == 2 || class == 5);
            good += class == 2;
            (void)close(fd);
        }
    }
    tc_net_destroy(n);
    tc_pool_destroy(pool);
    return good;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct plan *plan = tc_faulty_plan;
    *plan = (struct plan){.fault = FAULT_NONE};
    assert_int_equal(scenario(), 3);
    bool hit = true;
    long n = 0;
    for (; hit && n < CALLS_MAX; n++) {
        *plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = n};
        (void)scenario();
        hit = plan->hit;
        plan->fault = FAULT_NONE;
    }
    assert_false(hit);
    assert_true(n > 15);
    assert_int_equal(scenario(), 3);
}

/* What a load of some minutes consists of. */
static void load(struct tc_net *n, uint16_t port, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        int fd = dial(port);
        int second = dial(port);
        for (int k = 0; k < 5; k++) {
            assert_int_equal(ask(n, fd, POST), 2);
            assert_int_equal(ask(n, second, CHUNKED), 2);
            assert_int_equal(ask(n, fd, PIPELINE), 2);
        }
        assert_int_equal(ask(n, second, "nonsense\r\n\r\n"), 4);
        (void)close(fd);
        (void)close(second);
        for (int k = 0; k < STEPS_MAX && tc_net_connections(n) > 0; k++) {
            (void)event_base_loop(tc_net_base(n), EVLOOP_NONBLOCK);
        }
        assert_int_equal(tc_net_connections(n), 0);
    }
}

static void steady_load_allocates_nothing(void **state)
{
    (void)state;
    struct plan *plan = tc_faulty_plan;
    struct tc_pool_stats before;
    struct tc_pool_stats after;
    struct tc_error err = {0};
    uint16_t port = 0;
    *plan = (struct plan){.fault = FAULT_NONE};
    struct tc_pool *pool = tc_pool_create(4 << 20, 1 << 20);
    struct tc_net *n = tc_net_create(&limits, pool);
    assert_non_null(n);
    assert_int_equal(tc_net_listen(n, "127.0.0.1:0", &tc_proto_http, &service, NULL, &port, &err),
                     TC_OK);
    load(n, port, 3);
    tc_pool_stats(pool, &before);
    *plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = -1};
    load(n, port, 50);
    assert_int_equal(plan->calls, 0);
    plan->fault = FAULT_NONE;
    tc_pool_stats(pool, &after);
    assert_int_equal(after.held, before.held);
    assert_int_equal(after.used, 0);
    tc_net_destroy(n);
    tc_pool_destroy(pool);
}

int main(void)
{
    event_set_mem_functions(event_malloc, event_realloc, free);
    if (tc_faulty_init() != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(steady_load_allocates_nothing),
    };
    return cmocka_run_group_tests_name("net", tests, NULL, NULL);
}
