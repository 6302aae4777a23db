/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection holds, and what happens when it may not hold more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http2/http2.h"
#include "support/h2_peer.h"

static struct tc__h2 *h2_of(const struct peer *p)
{
    return p->conn.state;
}

/* Calls of every kind, answered or not: whatever there is memory for. */
static void some_of_everything(struct peer *p)
{
    const nghttp2_nv gzip = NV("grpc-encoding", "gzip");
    const nghttp2_nv get = NV(":method", "GET");
    char token[1501];
    memset(token, 't', 1500);
    token[1500] = '\0';
    const nghttp2_nv auth = NV("authorization", token);
    char large[1000];
    memset(large, 'l', sizeof large);
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, &auth, 1);
    (void)call_whole(p, LOGS_PATH, "a", 1, 1, &gzip, 1);
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, &get, 1);
    (void)call_whole(p, "/grpc.health.v1.Health/Watch", "", 0, 0, NULL, 0);
    p->response = (struct tc_response){
        .answer = TC_ANSWER_TOO_MANY, .message = TC_LIT("later"), .retry_after_s = 3};
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    p->response =
        (struct tc_response){.answer = TC_ANSWER_OK, .body = tc_slice_make(large, sizeof large)};
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    p->hold = true;
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    tc_grpc_health_set(true);
    exchange(p);
    tc_grpc_health_set(false);
    exchange(p);
    if (!p->conn.finished) {
        tc_proto_grpc.shutdown(&p->conn, p->conn.state);
    }
    exchange(p);
    while (p->held_count > 0) {
        answer_held(p, 0, &p->response);
    }
    exchange(p);
}

static void any_allocation_may_be_the_last(void **state)
{
    (void)state;
    /* What it takes when nothing is refused; then less and less of it. */
    struct peer *p = peer_create();
    size_t start = h2_of(p)->mem.used;
    some_of_everything(p);
    assert_true(p->conn.finished);
    for (size_t i = 0; i < p->call_count; i++) {
        assert_true(p->calls[i].closed);
    }
    peer_destroy(p);
    size_t whole = 0;
    for (size_t more = 0; more < 16384; more += 64) {
        p = peer_create();
        h2_of(p)->mem.cap = start + more;
        some_of_everything(p);
        assert_true(h2_of(p)->mem.used <= start + more);
        whole += p->handled == 5;
        peer_destroy(p);
    }
    assert_true(whole > 0 && whole < 256); /* both ends of the range were seen */
}

static void steady_calls_ask_the_system_for_no_memory(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    uint64_t before = 0;
    for (size_t i = 0; i < 300; i++) {
        if (i == 100) {
            before = tc__h2_mallocs();
        }
        p->call_count = 0;
        (void)call_whole(p, LOGS_PATH, "some message", 12, 0, NULL, 0);
        assert_string_equal(p->calls[0].grpc_status, "0");
    }
    assert_int_equal(tc__h2_mallocs(), before);
    peer_destroy(p);
}

static void connections_give_their_memory_to_the_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        uint64_t before = tc__h2_mallocs();
        struct peer *p = peer_create();
        (void)call_whole(p, LOGS_PATH, "some message", 12, 0, NULL, 0);
        assert_true(h2_of(p)->mem.used < 40960); /* header tables and one frame */
        peer_destroy(p);
        assert_true(i == 0 || tc__h2_mallocs() == before);
    }
}

static void a_message_may_be_part_of_the_body(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->hold = true;
    struct call *c = call_whole(p, LOGS_PATH, "wrong here", 10, 0, NULL, 0);
    const struct tc_buffer *body = p->held[0]->body;
    const struct tc_response bad = {.answer = TC_ANSWER_BAD,
                                    .message = tc_slice_make((const char *)body->data, 5)};
    answer_held(p, 0, &bad);
    exchange(p);
    assert_string_equal(c->grpc_status, "3");
    assert_string_equal(c->message, "wrong");
    peer_destroy(p);
}

/* Since when it is idle, or only begun; 0: it is neither. */
static int64_t idle_since(const struct peer *p)
{
    int64_t since_ns = 0;
    enum tc_use use = tc_proto_grpc.use(&p->conn, p->conn.state, &since_ns);
    return use == TC_USE_IDLE || use == TC_USE_BEGUN ? since_ns : 0;
}

static void a_connection_is_idle_without_calls(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->hold = true;
    assert_int_equal(idle_since(p), p->net.mono_ns);
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    assert_int_equal(idle_since(p), 0);
    p->net.mono_ns += TC_SECOND;
    answer_held(p, 0, &p->response);
    exchange(p);
    assert_int_equal(idle_since(p), p->net.mono_ns);
    peer_destroy(p);
}

static void a_call_that_dribbles_makes_room(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    int64_t began_ns = p->net.mono_ns;
    int64_t since_ns = 0;
    assert_int_equal(tc_proto_grpc.use(&p->conn, p->conn.state, &since_ns), TC_USE_BEGUN);
    (void)call_with(p, LOGS_PATH, "\0\0\0\0\5ab", 7, true, NULL, 0);
    exchange(p);
    assert_int_equal(tc_proto_grpc.use(&p->conn, p->conn.state, &since_ns), TC_USE_BUSY);
    p->net.mono_ns += TC_SECOND;
    assert_int_equal(tc_proto_grpc.use(&p->conn, p->conn.state, &since_ns), TC_USE_SLOW);
    assert_int_equal(since_ns, began_ns);
    /* Beside a call that the service has, it does not matter. */
    p->hold = true;
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    p->net.mono_ns += TC_SECOND;
    assert_int_equal(tc_proto_grpc.use(&p->conn, p->conn.state, &since_ns), TC_USE_BUSY);
    answer_held(p, 0, &p->response);
    exchange(p);
    assert_int_equal(tc_proto_grpc.use(&p->conn, p->conn.state, &since_ns), TC_USE_SLOW);
    peer_destroy(p);
}

/* As the loop does. */
static void serve(struct peer *p)
{
    while (tc_pool_serve(p->conn.pool, p->net.mono_ns)) {
    }
    exchange(p);
}

static size_t waiting(struct peer *p)
{
    struct tc_pool_stats stats;
    tc_pool_stats(p->conn.pool, &stats);
    return stats.waiting;
}

/* Messages for which there is no memory wait in their windows: others of the connection go on. */
static void a_full_pool_makes_the_call_wait(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_create_with(&limits, 1 << 20);
    char *text = malloc(100000);
    struct call *calls[9];
    for (size_t i = 0; i < 100000; i++) {
        text[i] = (char)(i * 7 + i / 251);
    }
    p->hold = true;
    unsigned char *f = framed(0, text, 100000);
    for (size_t i = 0; i < 9; i++) {
        calls[i] = call_with(p, LOGS_PATH, f, 100005, false, NULL, 0);
        exchange(p);
    }
    size_t held = p->held_count; /* three quarters of the memory */
    assert_true(held >= 6 && held <= 7);
    assert_int_equal(waiting(p), 9 - held);
    assert_false(p->conn.paused);
    struct call *small = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    assert_int_equal(p->held_count, held + 1);
    tc_fake_advance(&p->conn, limits.memory_wait_ns - 1);
    serve(p);
    assert_false(calls[8]->closed);
    while (p->held_count > 0) {
        answer_held(p, 0, &p->response);
        serve(p);
    }
    assert_int_equal(waiting(p), 0);
    assert_true(p->body_hash == tc_slice_hash(tc_slice_make(text, 100000), 0));
    for (size_t i = 0; i < 9; i++) {
        assert_string_equal(calls[i]->grpc_status, "0");
    }
    assert_string_equal(small->grpc_status, "0");
    free(text);
    free(f);
    peer_destroy(p);
}

static void a_call_that_has_waited_is_refused_with_retry_info(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_create_with(&limits, 1 << 20);
    struct tc_buffer *most = tc_pool_take(p->conn.pool, 700000);
    char *text = calloc(1, 100000);
    unsigned char *f = framed(0, text, 100000);
    struct call *c = call_with(p, LOGS_PATH, f, 100005, false, NULL, 0);
    exchange(p);
    assert_int_equal(waiting(p), 1);
    tc_fake_advance(&p->conn, limits.memory_wait_ns - 1);
    serve(p);
    assert_false(c->closed);
    tc_fake_advance(&p->conn, 1);
    serve(p);
    assert_string_equal(c->grpc_status, "14");
    assert_true(c->details[0] != '\0');
    assert_int_equal(waiting(p), 0);
    /* One that waits may be reset, and the connection may go. */
    c = call_with(p, LOGS_PATH, f, 100005, false, NULL, 0);
    exchange(p);
    assert_int_equal(waiting(p), 1);
    assert_int_equal(nghttp2_submit_rst_stream(p->client, 0, c->id, NGHTTP2_CANCEL), 0);
    exchange(p);
    assert_int_equal(waiting(p), 0);
    (void)call_with(p, LOGS_PATH, f, 100005, false, NULL, 0);
    exchange(p);
    assert_int_equal(waiting(p), 1);
    tc_buffer_give(most);
    free(f);
    free(text);
    peer_destroy(p);
}

/* A message that is larger than a promise may be gets its memory in parts. */
static void a_large_message_gets_its_memory_in_parts(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_create_with(&limits, 3 * MIB);
    char *text = malloc(MIB);
    for (size_t i = 0; i < MIB; i++) {
        text[i] = (char)(i * 11 + i / 241);
    }
    assert_true(tc_pool_promise_max(p->conn.pool) < MIB);
    struct call *c = call_whole(p, LOGS_PATH, text, MIB, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "0");
    assert_true(p->body_hash == tc_slice_hash(tc_slice_make(text, MIB), 0));
    free(text);
    peer_destroy(p);
}

/* A client that has not seen our settings sends 64 KiB at once. */
static void what_comes_before_our_settings_are_known(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 1 << 20);
    static unsigned char block[16384];
    to_server(p, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    raw_frame(p, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    raw_call(p, 1, 0);
    memcpy(block, "\0\0\1\0\0", 5); /* 65536 bytes */
    for (size_t i = 0; i < 3; i++) {
        raw_frame(p, NGHTTP2_DATA, 0, 1, block, 16384);
    }
    assert_int_equal(waiting(p), 0);
    raw_frame(p, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0);
    raw_frame(p, NGHTTP2_DATA, 0, 1, block, 16384);
    raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, block, 5);
    assert_int_equal(p->handled, 1);
    assert_int_equal(p->body_len, 65536);
    peer_destroy(p);
}

/* Takes all that the pool has. */
static size_t take_all(struct peer *p, struct tc_buffer **all, size_t max)
{
    size_t count = 0;
    while (count < max && (all[count] = tc_pool_take(p->conn.pool, 4096)) != NULL) {
        count++;
    }
    assert_true(count < max);
    return count;
}

static void a_pool_that_stays_full_refuses_with_retry_info(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_create_with(&limits, 64 << 10);
    struct tc_buffer *all[32] = {NULL};
    size_t count = take_all(p, all, 32);
    char *text = calloc(1, 50000);
    unsigned char *f = framed(0, text, 50000);
    struct call *c = call_with(p, LOGS_PATH, f, 50005, false, NULL, 0);
    exchange(p);
    assert_true(p->conn.paused);
    tc_fake_advance(&p->conn, 2 * TC_SECOND - 1);
    exchange(p);
    assert_true(p->conn.paused); /* it holds nothing: it may wait */
    tc_fake_advance(&p->conn, TC_SECOND / 100);
    exchange(p);
    assert_string_equal(c->grpc_status, "14");
    assert_true(c->details[0] != '\0');
    assert_true(c->closed);
    assert_false(p->conn.paused);
    for (size_t i = 0; i < count; i++) {
        tc_buffer_give(all[i]);
    }
    c = call_whole(p, LOGS_PATH, text, 1000, 0, NULL, 0);
    assert_string_equal(c->grpc_status, "0");
    free(f);
    free(text);
    peer_destroy(p);
}

static void who_holds_what_others_need_is_slowed(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_create_with(&limits, 200 << 10);
    char *text = calloc(1, 30000);
    struct call *watch = call_whole(p, "/grpc.health.v1.Health/Watch", "", 0, 0, NULL, 0);
    unsigned char *f = framed(0, text, 30000);
    struct call *parts[4];
    for (size_t i = 0; i < 4; i++) {
        parts[i] = call_with(p, LOGS_PATH, f, 3000, true, NULL, 0); /* and no more for now */
        exchange(p);
    }
    struct tc_buffer *all[64] = {NULL};
    size_t count = take_all(p, all, 64);
    struct call *c = call_with(p, LOGS_PATH, f, 30005, false, NULL, 0);
    exchange(p);
    assert_true(p->conn.paused);
    tc_fake_advance(&p->conn, TC_SECOND + TC_SECOND / 100);
    exchange(p);
    assert_string_equal(c->grpc_status, "14");
    assert_false(p->conn.paused);
    /* Five calls became two, beside the watch. */
    assert_int_equal(
        nghttp2_session_get_remote_settings(p->client, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS), 3);
    tc_fake_advance(&p->conn, 3 * TC_SECOND);
    exchange(p);
    assert_int_equal(h2_of(p)->streams_now, 3); /* the pool is as full as before */
    for (size_t i = 0; i < count; i++) {
        tc_buffer_give(all[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        parts[i]->body_len = 30005;
        parts[i]->hold_end = false;
        assert_int_equal(nghttp2_session_resume_data(p->client, parts[i]->id), 0);
    }
    exchange(p);
    serve(p);
    assert_string_equal(parts[3]->grpc_status, "0");
    tc_fake_advance(&p->conn, TC_SECOND);
    exchange(p);
    assert_int_equal(h2_of(p)->streams_now, 6);
    tc_fake_advance(&p->conn, TC_SECOND);
    exchange(p);
    assert_int_equal(
        nghttp2_session_get_remote_settings(p->client, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
        limits.streams_max);
    assert_false(watch->closed);
    free(f);
    free(text);
    peer_destroy(p);
}

static void memory_that_the_service_has_is_waited_for(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_create_with(&limits, 64 << 10);
    struct tc_buffer *all[32] = {NULL};
    p->hold = true;
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    struct call *part = call_with(p, LOGS_PATH, "\0\0\0\0\2a", 6, true, NULL, 0);
    exchange(p);
    size_t count = take_all(p, all, 32);
    unsigned char *f = framed(0, "b", 1);
    struct call *c = call_with(p, LOGS_PATH, f, 6, false, NULL, 0);
    exchange(p);
    tc_fake_advance(&p->conn, TC_SECOND * 4 / 10);
    exchange(p);
    assert_true(p->conn.paused);
    answer_held(p, 0, &p->response);
    tc_fake_advance(&p->conn, 0);
    exchange(p);
    assert_false(p->conn.paused);
    assert_int_equal(p->held_count, 1);
    assert_false(c->closed || part->closed);
    free(f);
    while (count > 0) {
        tc_buffer_give(all[--count]);
    }
    peer_destroy(p);
}

/* The frame that found no room is padded and the last of its stream: nothing may be lost there. */
static void what_waits_is_taken_byte_for_byte(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 64 << 10);
    struct tc_buffer *all[32] = {NULL};
    raw_hello(p);
    size_t count = take_all(p, all, 32);
    raw_call(p, 1, 0);
    raw_call(p, 3, 0);
    raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_END_STREAM, 1,
              "\3\0\0\0\0\2abpad", 11);
    assert_true(p->conn.paused);
    /* A loop may have read more before it was told to stop. */
    raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 3, "\0\0\0\0\3cde", 8);
    assert_int_equal(p->handled, 0);
    for (size_t i = 0; i < count; i++) {
        tc_buffer_give(all[i]);
    }
    tc_fake_advance(&p->conn, TC_SECOND / 10);
    assert_int_equal(p->handled, 2);
    assert_int_equal(p->body_len, 3);
    assert_true(p->body_hash == tc_slice_hash(TC_LIT("cde"), 0));
    assert_false(p->conn.paused);
    peer_destroy(p);
}

static void one_after_the_other_gets_room(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 64 << 10);
    struct tc_buffer *all[32] = {NULL};
    static const char *const want[] = {"ab", "cd", "ef"};
    raw_hello(p);
    size_t count = take_all(p, all, 32);
    p->hold = true;
    for (unsigned i = 0; i < 3; i++) {
        raw_call(p, 2 * i + 1, 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        char data[8] = {0, 0, 0, 0, 2, want[i][0], want[i][1]};
        raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, data, 7);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(p->handled, i);
        assert_true(p->conn.paused);
        tc_buffer_give(all[--count]);
        tc_fake_advance(&p->conn, TC_SECOND / 100);
        assert_int_equal(p->handled, i + 1);
        assert_true(p->body_hash == tc_slice_hash(tc_slice_cstr(want[i]), 0));
    }
    assert_false(p->conn.paused);
    while (count > 0) {
        tc_buffer_give(all[--count]);
    }
    peer_destroy(p);
}

static void a_call_that_waits_may_be_reset(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 64 << 10);
    struct tc_buffer *all[32] = {NULL};
    raw_hello(p);
    size_t count = take_all(p, all, 32);
    raw_call(p, 1, 0);
    raw_frame(p, NGHTTP2_DATA, 0, 1, "\0\0\0\0\2ab", 7);
    raw_frame(p, NGHTTP2_RST_STREAM, 0, 1, "\0\0\0\x08", 4);
    assert_true(p->conn.paused);
    tc_fake_advance(&p->conn, 2 * TC_SECOND);
    assert_false(p->conn.paused);
    assert_int_equal(h2_of(p)->stream_count, 0);
    for (size_t i = 0; i < count; i++) {
        tc_buffer_give(all[i]);
    }
    peer_destroy(p);
}

static void a_connection_may_go_while_it_waits(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 64 << 10);
    struct tc_buffer *all[32] = {NULL};
    raw_hello(p);
    size_t count = take_all(p, all, 32);
    raw_call(p, 1, 0);
    raw_frame(p, NGHTTP2_DATA, 0, 1, "\0\0\0\0\2ab", 7);
    assert_true(p->conn.paused);
    for (size_t i = 0; i < count; i++) {
        tc_buffer_give(all[i]);
    }
    peer_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_be_the_last),
        cmocka_unit_test(steady_calls_ask_the_system_for_no_memory),
        cmocka_unit_test(connections_give_their_memory_to_the_next),
        cmocka_unit_test(a_message_may_be_part_of_the_body),
        cmocka_unit_test(a_connection_is_idle_without_calls),
        cmocka_unit_test(a_call_that_dribbles_makes_room),
        cmocka_unit_test(a_full_pool_makes_the_call_wait),
        cmocka_unit_test(a_call_that_has_waited_is_refused_with_retry_info),
        cmocka_unit_test(a_large_message_gets_its_memory_in_parts),
        cmocka_unit_test(what_comes_before_our_settings_are_known),
        cmocka_unit_test(a_pool_that_stays_full_refuses_with_retry_info),
        cmocka_unit_test(who_holds_what_others_need_is_slowed),
        cmocka_unit_test(memory_that_the_service_has_is_waited_for),
        cmocka_unit_test(what_waits_is_taken_byte_for_byte),
        cmocka_unit_test(one_after_the_other_gets_room),
        cmocka_unit_test(a_call_that_waits_may_be_reset),
        cmocka_unit_test(a_connection_may_go_while_it_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
