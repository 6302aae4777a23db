/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http2/http2.h"
#include "support/h2_peer.h"

static void an_export_is_handed_over_and_answered_with_trailers(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    struct call *c = call_whole(p, LOGS_PATH, "hello", 5, 0, NULL, 0);
    assert_string_equal(p->path, LOGS_PATH);
    assert_int_equal(p->body_len, 5);
    assert_true(p->body_hash == tc_slice_hash(TC_LIT("hello"), 0));
    assert_string_equal(p->encoding, "");
    assert_string_equal(c->http_status, "200");
    assert_string_equal(c->content_type, "application/grpc");
    assert_string_equal(c->accept_encoding, "identity,gzip,zstd");
    assert_string_equal(c->grpc_status, "0");
    assert_string_equal(c->message, "");
    assert_int_equal(c->data_len, 5);
    assert_memory_equal(c->data, "\0\0\0\0\0", 5);
    assert_true(c->closed);
    assert_int_equal(c->error_code, 0);
    assert_int_equal(p->resets, 0);
    peer_destroy(p);
}

static void the_answers_message_is_framed(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    char large[3000];
    memset(large, 'x', sizeof large);
    p->response.body = tc_slice_make(large, sizeof large);
    struct call *c = call_whole(p, LOGS_PATH, "", 0, 0, NULL, 0);
    assert_int_equal(p->body_len, 0);
    assert_int_equal(c->data_len, 3005);
    assert_memory_equal(c->data, "\0\0\0\x0b\xb8x", 6);
    assert_string_equal(c->grpc_status, "0");
    peer_destroy(p);
}

static void a_compressed_message_is_passed_on_with_its_encoding(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    const nghttp2_nv gzip = NV("grpc-encoding", "gzip");
    struct call *c = call_whole(p, LOGS_PATH, "zzz", 3, 1, &gzip, 1);
    assert_string_equal(p->encoding, "gzip");
    assert_int_equal(p->body_len, 3);
    assert_string_equal(c->grpc_status, "0");
    /* grpc-encoding is what may be used; the flag says what was. */
    (void)call_whole(p, LOGS_PATH, "zzz", 3, 0, &gzip, 1);
    assert_string_equal(p->encoding, "");
    peer_destroy(p);
}

static void a_flag_without_encoding_is_internal(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    const nghttp2_nv identity = NV("grpc-encoding", "identity");
    struct call *c = call_whole(p, LOGS_PATH, "zzz", 3, 1, NULL, 0);
    assert_string_equal(c->grpc_status, "13");
    c = call_whole(p, LOGS_PATH, "zzz", 3, 1, &identity, 1);
    assert_string_equal(c->grpc_status, "13");
    c = call_whole(p, LOGS_PATH, "zzz", 3, 2, NULL, 0);
    assert_string_equal(c->grpc_status, "13");
    assert_string_equal(c->http_status, "200");
    assert_int_equal(p->handled, 0);
    peer_destroy(p);
}

static void large_messages_arrive_whole_and_windows_reopen(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    limits.body_bytes_max = 3 * MIB;
    struct peer *p = peer_create_with(&limits, 16 * MIB);
    size_t len = 3 * MIB;
    char *text = malloc(len);
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)(i * 31 + i / 1000);
    }
    for (size_t i = 0; i < 5; i++) {
        struct call *c = call_whole(p, LOGS_PATH, text, len, 0, NULL, 0);
        assert_string_equal(c->grpc_status, "0");
        assert_int_equal(p->body_len, len);
        assert_true(p->body_hash == tc_slice_hash(tc_slice_make(text, len), 0));
    }
    free(text);
    peer_destroy(p);
}

static void bytes_may_come_one_at_a_time(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_create_with(&limits, MIB);
    unsigned char *f = framed(0, "hello", 5);
    struct call *c = call_with(p, LOGS_PATH, f, 10, false, NULL, 0);
    const uint8_t *data = NULL;
    ssize_t n = 0;
    while ((n = nghttp2_session_mem_send(p->client, &data)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            to_server(p, data + i, 1);
            assert_int_equal(p->status, TC_OK);
        }
    }
    exchange(p);
    assert_string_equal(c->grpc_status, "0");
    assert_int_equal(p->body_len, 5);
    free(f);
    peer_destroy(p);
}

static void answers_come_later_and_in_any_order(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->hold = true;
    struct call *a = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    struct call *b = call_whole(p, LOGS_PATH, "b", 1, 0, NULL, 0);
    assert_int_equal(p->held_count, 2);
    assert_false(a->closed);
    answer_held(p, 1, &p->response);
    exchange(p);
    assert_false(a->closed);
    assert_string_equal(b->grpc_status, "0");
    const struct tc_response bad = {.answer = TC_ANSWER_BAD,
                                    .message = TC_LIT("100% wr\xc3\xb6ng\n")};
    answer_held(p, 0, &bad);
    exchange(p);
    assert_string_equal(a->grpc_status, "3");
    assert_string_equal(a->message, "100%25 wr%C3%B6ng%0A");
    assert_int_equal(a->data_len, 0);
    assert_true(a->closed);
    peer_destroy(p);
}

static void an_answer_after_the_stream_is_gone_is_dropped(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->hold = true;
    struct call *a = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    assert_int_equal(nghttp2_submit_rst_stream(p->client, 0, a->id, NGHTTP2_CANCEL), 0);
    exchange(p);
    assert_null(p->held[0]->of);
    assert_int_equal(p->held[0]->body->len, 1);
    answer_held(p, 0, &p->response);
    exchange(p);
    assert_false(p->goaway);
    (void)call_whole(p, LOGS_PATH, "b", 1, 0, NULL, 0);
    (void)call_whole(p, LOGS_PATH, "c", 1, 0, NULL, 0);
    assert_int_equal(p->held_count, 2);
    peer_destroy(p); /* answers them after the connection is gone */
}

static void the_body_may_be_taken_from_the_request(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->hold = true;
    struct call *a = call_whole(p, LOGS_PATH, "abc", 3, 0, NULL, 0);
    struct tc_buffer *body = p->held[0]->body;
    p->held[0]->body = NULL;
    answer_held(p, 0, &p->response);
    exchange(p);
    assert_string_equal(a->grpc_status, "0");
    assert_memory_equal(body->data, "abc", 3);
    tc_buffer_give(body);
    peer_destroy(p);
}

static void pressure_is_answered_with_retry_info(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->response = (struct tc_response){
        .answer = TC_ANSWER_BUSY, .message = TC_LIT("full"), .retry_after_s = 5};
    struct call *c = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "14");
    assert_string_equal(c->message, "full");
    /* google.rpc.Status{14, "full", [Any{RetryInfo{5 s}}]}, worked out by hand. */
    assert_string_equal(c->details,
                        "CA4SBGZ1bGwaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIE"
                        "CgIIBQ");
    p->response.retry_after_s = 0;
    c = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    assert_string_equal(c->details, "");
    peer_destroy(p);
}

static void begin_refuses_before_the_body(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->begin_answer = TC_ANSWER_UNAUTHENTICATED;
    const nghttp2_nv auth = NV("authorization", "Bearer x");
    struct call *c = call_with(p, LOGS_PATH, "\0\0\0\0\5", 5, true, &auth, 1);
    exchange(p);
    assert_string_equal(c->grpc_status, "16");
    assert_string_equal(c->message, "refused by begin");
    assert_true(c->closed); /* by RST_STREAM(NO_ERROR): the rest is not wanted */
    assert_int_equal(c->error_code, NGHTTP2_NO_ERROR);
    assert_int_equal(p->handled, 0);
    peer_destroy(p);
}

static void a_refusal_of_begin_may_come_late(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->begin_answer = TC_ANSWER_UNAUTHENTICATED;
    p->begin_delay_ns = 3 * TC_SECOND;
    struct call *whole = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    struct call *half = call_with(p, LOGS_PATH, "\0\0\0\0\5", 5, true, NULL, 0);
    exchange(p);
    p->begin_answer = TC_ANSWER_OK;
    assert_string_equal(call_whole(p, LOGS_PATH, "b", 1, 0, NULL, 0)->grpc_status, "0");
    tc_fake_advance(&p->conn, 2 * TC_SECOND);
    exchange(p);
    assert_false(whole->closed);
    assert_false(half->closed);
    tc_fake_advance(&p->conn, TC_SECOND);
    exchange(p);
    assert_string_equal(whole->grpc_status, "16");
    assert_string_equal(half->grpc_status, "16");
    assert_string_equal(half->message, "refused by begin");
    assert_true(whole->closed && half->closed);
    assert_int_equal(p->handled, 1);
    peer_destroy(p);
}

static void begin_sets_the_limit_of_a_call(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->begin_max = 4;
    struct call *c = call_whole(p, LOGS_PATH, "1234", 4, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "0");
    c = call_whole(p, LOGS_PATH, "12345", 5, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "8");
    assert_string_equal(c->details, "");
    peer_destroy(p);
}

static void long_headers_are_kept(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    char token[1501];
    memset(token, 't', 1500);
    token[1500] = '\0';
    const nghttp2_nv auth = NV("authorization", token);
    struct call *c = call_whole(p, LOGS_PATH "?x=1", "a", 1, 0, &auth, 1);
    assert_string_equal(c->grpc_status, "0");
    assert_string_equal(p->authorization, token);
    assert_string_equal(p->path, LOGS_PATH);
    peer_destroy(p);
}

static void what_is_not_grpc_gets_plain_http(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    static const struct {
        const char *method;
        const char *type;
        const char *status;
    } cases[] = {
        {"GET", "application/grpc", "405"},       {"PUT", "application/grpc", "405"},
        {"POST", "application/json", "415"},      {"POST", "application/grpc-web", "415"},
        {"POST", "application/grpc+json", "415"}, {"POST", "application/grpc+proto", "200"},
        {"POST", "application/grpc;x=y", "200"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const nghttp2_nv nv[] = {NV(":method", cases[i].method), NV("content-type", cases[i].type)};
        struct call *c = call_whole(p, LOGS_PATH, "a", 1, 0, nv, 2);
        assert_string_equal(c->http_status, cases[i].status);
        assert_true(c->closed);
        bool grpc = strcmp(cases[i].status, "200") == 0;
        assert_string_equal(c->grpc_status, grpc ? "0" : "");
        assert_string_equal(c->content_type,
                            grpc ? "application/grpc" : "text/plain; charset=utf-8");
        assert_true(grpc || c->data_len > 10);
    }
    peer_destroy(p);
}

static void other_paths_reach_the_service(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->response.answer = TC_ANSWER_NOT_FOUND;
    struct call *c = call_whole(p, "/what/Ever", "a", 1, 0, NULL, 0);
    assert_string_equal(p->path, "/what/Ever");
    assert_string_equal(c->grpc_status, "12");
    peer_destroy(p);
}

static void calls_have_exactly_one_whole_message(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        size_t len;
    } cases[] = {
        {"", 0},                        /* none */
        {"\0\0\0\0", 4},                /* not even a frame */
        {"\0\0\0\0\2a", 6},             /* ends too early */
        {"\0\0\0\0\1ab", 7},            /* goes on after its end */
        {"\0\0\0\0\1a\0\0\0\0\1b", 12}, /* two */
        {"\0\0\0\0\0\0\0\0\0\0", 10},   /* two empty ones */
    };
    struct peer *p = peer_create();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct call *c = call_with(p, LOGS_PATH, cases[i].body, cases[i].len, false, NULL, 0);
        exchange(p);
        assert_string_equal(c->grpc_status, "13");
        assert_true(c->closed);
    }
    assert_int_equal(p->handled, 0);
    peer_destroy(p);
}

static void the_largest_message_is_taken_and_one_byte_more_is_not(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    char *text = calloc(1, MIB + 1);
    struct call *c = call_whole(p, LOGS_PATH, text, MIB, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "0");
    assert_int_equal(p->body_len, MIB);
    c = call_whole(p, LOGS_PATH, text, MIB + 1, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "8");
    assert_int_equal(p->handled, 1);
    free(text);
    peer_destroy(p);
}

static void a_lying_length_has_its_memory_until_others_need_it(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    struct tc_pool_stats stats;
    struct call *c = call_with(p, LOGS_PATH,
                               "\0\x00\x10\x00\x00"
                               "1234567890",
                               15, true, NULL, 0);
    exchange(p);
    tc_pool_stats(p->conn.pool, &stats);
    assert_true(stats.used <= tc_pool_promise_max(p->conn.pool));
    assert_false(c->closed);
    tc_proto_grpc.reclaim(&p->conn, p->conn.state, p->net.mono_ns + TC_STALLED_NS - 1);
    exchange(p);
    assert_false(c->closed);
    tc_proto_grpc.reclaim(&p->conn, p->conn.state, p->net.mono_ns + TC_STALLED_NS);
    exchange(p);
    assert_string_equal(c->grpc_status, "4");
    tc_pool_stats(p->conn.pool, &stats);
    assert_int_equal(stats.used, 0);
    c = call_with(p, LOGS_PATH,
                  "\0\xff\xff\xff\xff"
                  "1234567890",
                  15, true, NULL, 0);
    exchange(p);
    assert_string_equal(c->grpc_status, "8");
    tc_pool_stats(p->conn.pool, &stats);
    assert_int_equal(stats.used, 0);
    peer_destroy(p);
}

static void a_calls_deadline_is_honoured(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->hold = true;
    const nghttp2_nv timeout = NV("grpc-timeout", "100m");
    struct call *c = call_whole(p, LOGS_PATH, "a", 1, 0, &timeout, 1);
    tc_fake_advance(&p->conn, 99000000);
    exchange(p);
    assert_false(c->closed);
    tc_fake_advance(&p->conn, 1000000);
    exchange(p);
    assert_string_equal(c->grpc_status, "4");
    assert_true(c->closed);
    assert_null(p->held[0]->of);
    assert_non_null(p->held[0]->body);
    answer_held(p, 0, &p->response);
    exchange(p);
    /* Before the message is there as well. */
    c = call_with(p, LOGS_PATH, "\0\0", 2, true, &timeout, 1);
    exchange(p);
    tc_fake_advance(&p->conn, 100000000);
    exchange(p);
    assert_string_equal(c->grpc_status, "4");
    const nghttp2_nv wrong = NV("grpc-timeout", "soon");
    c = call_whole(p, LOGS_PATH, "a", 1, 0, &wrong, 1);
    assert_string_equal(c->grpc_status, "13");
    peer_destroy(p);
}

static struct call *check(struct peer *p, const char *service)
{
    char request[80];
    size_t len = strlen(service);
    request[0] = 1 << 3 | 2;
    request[1] = (char)len;
    memcpy(request + 2, service, len);
    return call_whole(p, "/grpc.health.v1.Health/Check", request, len + 2, 0, NULL, 0);
}

static void health_is_checked_for_us_and_our_services(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    static const char *const names[] = {"", "opentelemetry.proto.collector.logs.v1.LogsService",
                                        "opentelemetry.proto.collector.metrics.v1.MetricsService",
                                        "opentelemetry.proto.collector.trace.v1.TraceService"};
    p->begin_answer = TC_ANSWER_UNAUTHENTICATED; /* does not concern it */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tc_grpc_health_set(true);
        struct call *c = check(p, names[i]);
        assert_string_equal(c->grpc_status, "0");
        assert_int_equal(c->data_len, 7);
        assert_memory_equal(c->data, "\0\0\0\0\2\x08\x01", 7);
        tc_grpc_health_set(false);
        c = check(p, names[i]);
        assert_memory_equal(c->data, "\0\0\0\0\2\x08\x02", 7);
    }
    struct call *c = call_whole(p, "/grpc.health.v1.Health/Check", "", 0, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "0");
    c = check(p, "other");
    assert_string_equal(c->grpc_status, "5");
    c = call_whole(p, "/grpc.health.v1.Health/List", "", 0, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "12");
    assert_int_equal(p->handled, 0);
    peer_destroy(p);
}

static void health_requests_are_read_with_care(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *status;
    } cases[] = {
        {"\x0a", 1, "3"}, /* no length */
        {"\x0a\x05"
         "abc",
         5, "3"},                                                      /* past the end */
        {"\x02\x00", 2, "3"},                                          /* field 0 */
        {"\x0b", 1, "3"},                                              /* a group */
        {"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "3"}, /* over-long */
        {"\x10\x05\x19"
         "12345678"
         "\x25"
         "1234"
         "\x0a\x00",
         18, "0"}, /* fields of others */
    };
    struct peer *p = peer_create();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct call *c =
            call_whole(p, "/grpc.health.v1.Health/Check", cases[i].bytes, cases[i].len, 0, NULL, 0);
        assert_string_equal(c->grpc_status, cases[i].status);
    }
    peer_destroy(p);
}

static void health_requests_may_be_compressed(void **state)
{
    (void)state;
    static const char empty[] =
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00";
    static const char other[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xe3\x62\xcd\x2f\xc9\x48"
                                "\x2d\x02\x00\xbe\xd3\xab\x76\x07\x00\x00\x00";
    static const char large[] =
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x08\x03\xa0\xdf\x96\x4b"
        "\x62\x74\x8d\xb1\x07\x98\xdb\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
        "\x00\x6d\x0f\x22\x97\x5f\xc4\x02\x40\x00\x00";
    static const struct {
        const char *encoding;
        const char *bytes;
        size_t len;
        const char *status;
    } cases[] = {
        {"gzip", empty, sizeof empty - 1, "0"},    {"gzip", other, sizeof other - 1, "5"},
        {"gzip", empty, sizeof empty - 5, "13"},   {"gzip", "no gzip", 7, "13"},
        {"snappy", empty, sizeof empty - 1, "12"}, {"gzip", large, sizeof large - 1, "8"},
    };
    struct peer *p = peer_create();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const nghttp2_nv encoding = NV("grpc-encoding", cases[i].encoding);
        struct call *c = call_whole(p, "/grpc.health.v1.Health/Check", cases[i].bytes, cases[i].len,
                                    1, &encoding, 1);
        assert_string_equal(c->grpc_status, cases[i].status);
    }
    peer_destroy(p);
}

static void a_watch_is_told_of_changes(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    tc_grpc_health_set(false);
    struct call *a = call_whole(p, "/grpc.health.v1.Health/Watch", "", 0, 0, NULL, 0);
    struct call *b = call_whole(p, "/grpc.health.v1.Health/Watch", "\x0a\1x", 3, 0, NULL, 0);
    assert_int_equal(a->data_len, 7);
    assert_memory_equal(a->data, "\0\0\0\0\2\x08\x02", 7);
    assert_memory_equal(b->data, "\0\0\0\0\2\x08\x03", 7); /* SERVICE_UNKNOWN, and goes on */
    tc_grpc_health_set(true);
    tc_grpc_health_set(true);
    exchange(p);
    assert_int_equal(a->data_len, 14);
    assert_memory_equal(a->data + 7, "\0\0\0\0\2\x08\x01", 7);
    assert_int_equal(b->data_len, 7);
    /* Neither the time nor the client's silence ends it. */
    tc_fake_advance(&p->conn, 3600 * TC_SECOND);
    exchange(p);
    assert_false(a->closed);
    assert_int_equal(nghttp2_submit_rst_stream(p->client, 0, b->id, NGHTTP2_CANCEL), 0);
    exchange(p);
    tc_grpc_health_set(false);
    exchange(p);
    assert_int_equal(a->data_len, 21);
    tc_proto_grpc.shutdown(&p->conn, p->conn.state);
    exchange(p);
    assert_string_equal(a->grpc_status, "14");
    assert_true(a->closed);
    assert_true(p->conn.finished);
    peer_destroy(p);
    tc_grpc_health_set(true); /* those who are gone are not told */
}

static void shutdown_lets_calls_finish(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->hold = true;
    struct call *a = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    tc_proto_grpc.shutdown(&p->conn, p->conn.state);
    exchange(p);
    assert_true(p->goaway);
    assert_int_equal(p->goaway_code, NGHTTP2_NO_ERROR);
    assert_false(p->conn.finished);
    answer_held(p, 0, &p->response);
    exchange(p);
    assert_string_equal(a->grpc_status, "0");
    assert_true(p->conn.finished);
    peer_destroy(p);
}

static void shutdown_ends_an_idle_connection_at_once(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    tc_proto_grpc.shutdown(&p->conn, p->conn.state);
    assert_true(p->conn.finished);
    exchange(p);
    assert_true(p->goaway);
    peer_destroy(p);
}

static void after_many_requests_the_client_is_sent_elsewhere(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    limits.requests_per_conn_max = 3;
    struct peer *p = peer_create_with(&limits, 16 * MIB);
    p->hold = true;
    for (size_t i = 0; i < 3; i++) {
        assert_false(p->goaway);
        (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    }
    assert_true(p->goaway); /* and the client has answered the PING behind it */
    assert_int_equal(p->goaway_code, NGHTTP2_NO_ERROR);
    tc_fake_advance(&p->conn, 0);
    exchange(p);
    assert_false(p->conn.finished);
    while (p->held_count > 0) {
        answer_held(p, 0, &p->response);
    }
    exchange(p);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(p->calls[i].grpc_status, "0");
    }
    assert_true(p->conn.finished);
    peer_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_export_is_handed_over_and_answered_with_trailers),
        cmocka_unit_test(the_answers_message_is_framed),
        cmocka_unit_test(a_compressed_message_is_passed_on_with_its_encoding),
        cmocka_unit_test(a_flag_without_encoding_is_internal),
        cmocka_unit_test(large_messages_arrive_whole_and_windows_reopen),
        cmocka_unit_test(bytes_may_come_one_at_a_time),
        cmocka_unit_test(answers_come_later_and_in_any_order),
        cmocka_unit_test(an_answer_after_the_stream_is_gone_is_dropped),
        cmocka_unit_test(the_body_may_be_taken_from_the_request),
        cmocka_unit_test(pressure_is_answered_with_retry_info),
        cmocka_unit_test(begin_refuses_before_the_body),
        cmocka_unit_test(a_refusal_of_begin_may_come_late),
        cmocka_unit_test(begin_sets_the_limit_of_a_call),
        cmocka_unit_test(long_headers_are_kept),
        cmocka_unit_test(what_is_not_grpc_gets_plain_http),
        cmocka_unit_test(other_paths_reach_the_service),
        cmocka_unit_test(calls_have_exactly_one_whole_message),
        cmocka_unit_test(the_largest_message_is_taken_and_one_byte_more_is_not),
        cmocka_unit_test(a_lying_length_has_its_memory_until_others_need_it),
        cmocka_unit_test(a_calls_deadline_is_honoured),
        cmocka_unit_test(health_is_checked_for_us_and_our_services),
        cmocka_unit_test(health_requests_are_read_with_care),
        cmocka_unit_test(health_requests_may_be_compressed),
        cmocka_unit_test(a_watch_is_told_of_changes),
        cmocka_unit_test(shutdown_lets_calls_finish),
        cmocka_unit_test(shutdown_ends_an_idle_connection_at_once),
        cmocka_unit_test(after_many_requests_the_client_is_sent_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
