/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP API with allocations of ours failing in turn, from its start to its end: pages, live
 * questions, one that a worker answers, MCP, the stream and the dashboard's file are answered,
 * refused or closed, and the API ends; no crash and no leak. Then it works as before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/net.h"
#include "server/api/api.h"
#include "support/faulty.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALLS_MAX 4000
/* A worker's answer comes when it comes: what a broken run is given up after. */
#define STEPS_MAX 20000
#define GET(path) "GET " path " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}"

static const char *const REQUESTS[] = {
    GET("/healthz"),
    GET("/api/v1/fleet"),
    GET("/api/v1/incidents?limit=2"),
    GET("/api/v1/stories"),
    GET("/api/v1/fleet/nodes/none"),
    GET("/api/v1/openapi.json"),
    GET("/api/benchmark/contracts"),
    GET("/api/v1/nothing"),
    GET("/api/v1/events"),
    GET("/"),
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    "Content-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\nContent-Length: 58\r\n\r\n" LIST,
};

static const struct tc_net_limits LIMITS = {
    .connections_max = 64,
    .streams_max = 16,
    .header_bytes_max = 8192,
    .headers_max = 32,
    .body_bytes_max = 1 << 20,
    .output_bytes_max = 16 << 20,
    .header_timeout_ns = 10 * TC_SECOND,
    .body_timeout_ns = 30 * TC_SECOND,
    .idle_timeout_ns = 60 * TC_SECOND,
    .write_timeout_ns = 20 * TC_SECOND,
};

/* What is there before the API, and is not tried here. */
static struct {
    char dir[32];
    struct tc_config config;
    struct tc_detection *detection;
    struct tc_outbox *outbox;
    struct tc_auth *auth;
    struct tc_otlp_reader *reader;
} t;
static struct tc_warehouse_hub *no_hub;
static const bool no = false;

static void refresh(void *context)
{
    (void)context;
}

static void describe(void *context, struct tc_json_out *j)
{
    (void)context;
    (void)j;
}

/* The first digit of the status that is answered; 0: the connection was closed without. */
static int ask(struct tc_net *n, uint16_t port, const char *text)
{
    char answer[16];
    int class = -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
    for (int i = 0; i < STEPS_MAX && class < 0; i++) {
        (void)event_base_loop(tc_net_base(n), EVLOOP_NONBLOCK);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, i < 10 ? 0 : 1) > 0) {
            ssize_t got = recv(fd, answer, sizeof answer, 0);
            class = got > 12 ? answer[9] - '0' : 0;
        }
    }
    (void)close(fd);
    return class;
}

/* All of it once; how many requests were answered with success. */
static int scenario(void)
{
    struct tc_error err = {0};
    struct tc_api *api = NULL;
    uint16_t port = 0;
    int good = 0;
    struct tc_pool *pool = tc_pool_create(16 << 20, 4 << 20);
    struct tc_net *n = pool == NULL ? NULL : tc_net_create(&LIMITS, pool);
    struct tc_inflater *inflater = n == NULL ? NULL : tc_inflater_create();
    struct tc_api_parts parts = {
        .config = &t.config,
        .base = n == NULL ? NULL : tc_net_base(n),
        .data_dir = t.dir,
        .auth = t.auth,
        .detection = t.detection,
        .outbox = t.outbox,
        .pool = pool,
        .inflater = inflater,
        .hub = &no_hub,
        .stopping = &no,
        .refresh = refresh,
        .describe = describe,
    };
    if (inflater != NULL && tc_api_create(&parts, &api, &err) == TC_OK) {
        if (tc_net_listen(n, "127.0.0.1:0", &tc_proto_http, tc_api_service(api), NULL, &port,
                          &err) == TC_OK) {
            for (size_t i = 0; i < TC_COUNT(REQUESTS); i++) {
                int class = ask(n, port, REQUESTS[i]);
                if (class != 0 && class != 2 && class != 4 && class != 5) {
                    fail_msg("request %zu, call %ld: %d", i, tc_faulty_plan->fail_at, class);
                }
                good += class == 2;
            }
        }
        assert_true(tc_api_stop(api, 10 * TC_SECOND));
    }
    tc_net_destroy(n);
    tc_api_destroy(api);
    tc_inflater_destroy(inflater);
    tc_pool_destroy(pool);
    return good;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = -1};
    int all = scenario();
    long calls = tc_faulty_plan->calls;
    assert_int_equal(all, (int)TC_COUNT(REQUESTS) - 2); /* two are not found */
    assert_true(calls > 50 && calls < CALLS_MAX);
    for (long n = 0; n < calls; n++) {
        if (!tc_faulty_is_chosen(n)) {
            continue;
        }
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = n};
        int good = scenario();
        tc_faulty_plan->fault = FAULT_NONE;
        /* One failure is one request's, or the start's. */
        assert_true(good == 0 || good >= all - 1);
    }
    assert_int_equal(scenario(), all);
}

static tc_status restore(void *context, const struct tc_incident_mark *mark)
{
    (void)context;
    (void)mark;
    return TC_OK;
}

static int setup(void **state)
{
    struct tc_error err = {0};
    (void)state;
    (void)snprintf(t.dir, sizeof t.dir, "/tmp/tc_fault_api_XXXXXX");
    assert_non_null(mkdtemp(t.dir));
    assert_int_equal(tc_config_read(TC_EMPTY, "none", NULL, NULL, NULL, &t.config), TC_OK);
    t.config.api_workers = 1;
    t.reader = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, (size_t)1 << 20);
    t.auth = tc_auth_create(&t.config);
    assert_true(t.reader != NULL && t.auth != NULL);
    struct tc_detection_parts parts = {
        .config = &t.config, .reader = t.reader, .evidence_dir = t.dir};
    assert_int_equal(tc_detection_create(&parts, &t.detection, &err), TC_OK);
    struct tc_outbox_config config = {.dir = t.dir, .queue_bytes_max = 1 << 20};
    assert_int_equal(tc_outbox_open(&config, restore, NULL, &t.outbox, &err), TC_OK);
    return tc_faulty_init();
}

static int teardown(void **state)
{
    (void)state;
    tc_outbox_close(t.outbox, TC_SECOND);
    tc_detection_destroy(t.detection);
    tc_auth_destroy(t.auth);
    tc_otlp_reader_destroy(t.reader);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", t.dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
