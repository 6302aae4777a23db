/* SPDX-License-Identifier: Apache-2.0 */
/* What clients do that mean harm, and what the same costs those who do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/h2_peer.h"

static struct peer *raw_start(void)
{
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 16 * MIB);
    raw_hello(p);
    assert_int_equal(raw_goaway(p), UINT32_MAX);
    return p;
}

static const struct tc__h2 *h2_of(const struct peer *p)
{
    return p->conn.state;
}

static void assert_calmed(const struct peer *p, const char *text)
{
    assert_int_equal(raw_goaway(p), NGHTTP2_ENHANCE_YOUR_CALM);
    const unsigned char *f = raw_find(p, NGHTTP2_GOAWAY, 0);
    assert_memory_equal(f + 9 + 8, text, strlen(text));
    assert_true(p->conn.finished);
}

/* ---- resets ---- */

static void rapid_resets_end_the_connection(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    p->hold = true;
    for (unsigned i = 0; i < 20; i++) {
        raw_call(p, 2 * i + 1, 0);
        raw_frame(p, NGHTTP2_RST_STREAM, 0, 2 * i + 1, "\0\0\0\x08", 4);
    }
    assert_false(p->conn.finished);
    raw_call(p, 41, 0);
    raw_frame(p, NGHTTP2_RST_STREAM, 0, 41, "\0\0\0\x08", 4);
    assert_calmed(p, "too_many_resets");
    peer_destroy(p);
}

static void resets_at_the_allowed_rate_go_on(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    for (unsigned i = 0; i < 500; i++) {
        p->net.mono_ns += TC_SECOND / 20;
        raw_call(p, 2 * i + 1, 0);
        raw_frame(p, NGHTTP2_RST_STREAM, 0, 2 * i + 1, "\0\0\0\x08", 4);
    }
    assert_false(p->conn.finished);
    peer_destroy(p);
}

static void making_us_reset_is_no_better(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    for (unsigned i = 0; i < 20; i++) {
        raw_call(p, 2 * i + 1, 0);
        raw_frame(p, NGHTTP2_WINDOW_UPDATE, 0, 2 * i + 1, "\x7f\xff\xff\xff", 4);
    }
    const unsigned char *f = raw_find(p, NGHTTP2_RST_STREAM, 19);
    assert_non_null(f);
    assert_int_equal(raw_u32(f + 9), NGHTTP2_FLOW_CONTROL_ERROR);
    assert_false(p->conn.finished);
    raw_call(p, 41, 0);
    raw_frame(p, NGHTTP2_WINDOW_UPDATE, 0, 41, "\x7f\xff\xff\xff", 4);
    assert_calmed(p, "too_many_resets");
    peer_destroy(p);
}

static void resets_do_not_pile_up_work(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    limits.resets_per_s_max = 1000;
    struct peer *p = peer_raw(&limits, 16 * MIB);
    raw_hello(p);
    p->hold = true;
    for (unsigned i = 0; i < 50; i++) {
        raw_call(p, 2 * i + 1, 0);
        raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, "\0\0\0\0\0", 5);
        raw_frame(p, NGHTTP2_RST_STREAM, 0, 2 * i + 1, "\0\0\0\x08", 4);
    }
    assert_int_equal(p->held_count, 2 * limits.streams_max);
    const unsigned char *f = raw_find(p, NGHTTP2_RST_STREAM, 0);
    assert_non_null(f);
    assert_int_equal(raw_u32(f + 9), NGHTTP2_REFUSED_STREAM);
    peer_destroy(p);
}

/* ---- headers ---- */

static void a_continuation_flood_ends_the_connection(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    unsigned char head[512];
    raw_frame(p, NGHTTP2_HEADERS, 0, 1, head, raw_head(head));
    unsigned char field[100];
    size_t len = raw_field(field, "x-filler", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    size_t i = 0;
    for (; i < 10000 && !p->conn.finished; i++) {
        raw_frame(p, NGHTTP2_CONTINUATION, 0, 1, field, len);
        assert_true(h2_of(p)->mem.used <= h2_of(p)->mem.cap);
    }
    assert_true(p->conn.finished);
    assert_true(i < 100);
    peer_destroy(p);
}

static void empty_continuations_end_the_connection(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    unsigned char head[512];
    raw_frame(p, NGHTTP2_HEADERS, 0, 1, head, raw_head(head));
    size_t i = 0;
    for (; i < 10000 && !p->conn.finished; i++) {
        raw_frame(p, NGHTTP2_CONTINUATION, 0, 1, NULL, 0);
    }
    assert_true(p->conn.finished);
    assert_true(i < 100);
    peer_destroy(p);
}

/* One large entry in the header table, and then one byte for each copy of it. */
static void bomb(struct peer *p, size_t value_len, size_t copies)
{
    unsigned char *block = calloc(1, 8192 + copies);
    size_t n = raw_head(block);
    block[n++] = 0x40; /* literal with indexing, new name */
    block[n++] = 1;
    block[n++] = 'x';
    block[n++] = 0x7f; /* length, 7 bit prefix */
    size_t rest = value_len - 127;
    while (rest > 127) {
        block[n++] = (unsigned char)(rest | 128);
        rest >>= 7;
    }
    block[n++] = (unsigned char)rest;
    memset(block + n, 'y', value_len);
    n += value_len;
    memset(block + n, 0x80 | 62, copies);
    n += copies;
    raw_frame(p, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block, n);
    free(block);
}

static void a_header_bomb_ends_the_connection(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    bomb(p, 3900, 10000);
    assert_calmed(p, "header_list_too_large");
    assert_true(h2_of(p)->mem.used <= h2_of(p)->mem.cap);
    peer_destroy(p);
}

static void a_header_list_that_is_too_large_is_refused(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    bomb(p, 3900, 2);
    const unsigned char *f = raw_find(p, NGHTTP2_HEADERS, 0);
    assert_non_null(f);
    assert_int_equal(f[4] & NGHTTP2_FLAG_END_STREAM, NGHTTP2_FLAG_END_STREAM);
    assert_false(p->conn.finished);
    assert_int_equal(raw_u32(raw_find(p, NGHTTP2_RST_STREAM, 0) + 9), NGHTTP2_NO_ERROR);
    peer_destroy(p);
}

static void headers_are_counted(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    nghttp2_nv more[32];
    static char names[32][4];
    size_t usual = 6;
    for (size_t i = 0; i < 32; i++) {
        (void)snprintf(names[i], sizeof names[i], "x%02u", (unsigned)i);
        more[i] = NV("xnn", "v");
        more[i].name = (uint8_t *)names[i];
    }
    struct call *c = call_whole(p, LOGS_PATH, "a", 1, 0, more, 32 - usual);
    assert_string_equal(c->grpc_status, "0");
    c = call_whole(p, LOGS_PATH, "a", 1, 0, more, 33 - usual);
    assert_string_equal(c->grpc_status, "8");
    assert_true(c->closed);
    peer_destroy(p);
}

static void trailers_of_a_request_are_counted_too(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    raw_call(p, 1, 0);
    raw_frame(p, NGHTTP2_DATA, 0, 1, "\0\0\0\0\1a", 6);
    unsigned char block[4000];
    size_t n = 0;
    for (size_t i = 0; i < 200; i++) {
        n += raw_field(block + n, "x-trailer", "value");
    }
    raw_frame(p, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, block, n);
    assert_calmed(p, "header_list_too_large");
    peer_destroy(p);
}

static void trailers_end_a_request(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    raw_call(p, 1, 0);
    raw_frame(p, NGHTTP2_DATA, 0, 1, "\0\0\0\0\1a", 6);
    unsigned char block[64];
    size_t n = raw_field(block, "x-trailer", "value");
    raw_frame(p, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, block, n);
    assert_int_equal(p->handled, 1);
    peer_destroy(p);
}

/* ---- frames that cost nothing ---- */

struct flood {
    unsigned type;
    unsigned flags;
    unsigned stream;
    const char *payload;
    size_t len;
    size_t fine; /* so many are no harm */
    const char *text;
};

static void floods_end_the_connection(void **state)
{
    (void)state;
    static const struct flood floods[] = {
        {NGHTTP2_SETTINGS, 0, 0, "", 0, 20, "too_many_control_frames"},
        {NGHTTP2_SETTINGS, 0, 0, "\0\4\0\1\0\0", 6, 20, "too_many_control_frames"},
        {NGHTTP2_PING, 0, 0, "12345678", 8, 10, "too_many_pings"},
        {NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, "12345678", 8, 500, "too_many_control_frames"},
        {NGHTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\1", 4, 500, "too_many_control_frames"},
        {NGHTTP2_WINDOW_UPDATE, 0, 1, "\0\0\0\1", 4, 500, "too_many_control_frames"},
        {NGHTTP2_DATA, 0, 1, "", 0, 500, "too_many_control_frames"},
        {NGHTTP2_PRIORITY, 0, 1, "\0\0\0\0\1", 5, 500, "too_many_control_frames"},
        {NGHTTP2_PRIORITY, 0, 77, "\0\0\0\0\1", 5, 500, "too_many_control_frames"},
        {0xee, 0xff, 0, "whatever", 8, 500, "too_many_control_frames"},
        {0xee, 0, 1, "", 0, 500, "too_many_control_frames"},
    };
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        const struct flood *f = &floods[i];
        struct peer *p = raw_start();
        raw_call(p, 1, 0);
        size_t sent = 0;
        while (sent < 5000 && !p->conn.finished) {
            raw_frame(p, f->type, f->flags, f->stream, f->payload, f->len);
            assert_true(h2_of(p)->mem.used <= h2_of(p)->mem.cap);
            sent++;
        }
        assert_true(sent > f->fine && sent < 5000);
        assert_calmed(p, f->text);
        peer_destroy(p);
    }
}

static void keepalive_at_a_sane_rate_goes_on(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(nghttp2_submit_ping(p->client, 0, NULL), 0);
        p->net.mono_ns += TC_SECOND / 2;
        exchange(p);
    }
    assert_int_equal(p->ping_acks, 100);
    assert_false(p->goaway);
    /* More of them beside calls are no harm. */
    for (size_t i = 0; i < 100; i++) {
        p->call_count = 0;
        for (size_t j = 0; j < 3; j++) {
            assert_int_equal(nghttp2_submit_ping(p->client, 0, NULL), 0);
        }
        (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    }
    assert_false(p->goaway);
    peer_destroy(p);
}

/* ---- streams ---- */

static void a_window_that_never_opens_times_out(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    const nghttp2_settings_entry zero = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
    assert_int_equal(nghttp2_submit_settings(p->client, 0, &zero, 1), 0);
    exchange(p);
    struct call *c = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    assert_int_equal(p->handled, 1);
    assert_string_equal(c->http_status, "200");
    assert_false(c->closed);
    tc_fake_advance(&p->conn, 19 * TC_SECOND);
    exchange(p);
    assert_false(c->closed);
    tc_fake_advance(&p->conn, 2 * TC_SECOND);
    exchange(p);
    assert_true(c->closed);
    assert_int_equal(c->error_code, NGHTTP2_CANCEL);
    assert_int_equal(h2_of(p)->stream_count, 0);
    peer_destroy(p);
}

static void more_streams_than_allowed_are_not_served(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    p->hold = true;
    for (unsigned i = 0; i < 11; i++) {
        raw_call(p, 2 * i + 1, 0);
    }
    assert_int_equal(raw_goaway(p), NGHTTP2_PROTOCOL_ERROR);
    assert_true(p->conn.finished);
    assert_int_equal(h2_of(p)->stream_count, 10);
    peer_destroy(p);
}

static void before_the_client_knows_the_limit_streams_are_refused(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 16 * MIB);
    to_server(p, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    raw_frame(p, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    for (unsigned i = 0; i < 30; i++) {
        raw_call(p, 2 * i + 1, 0);
    }
    const unsigned char *f = raw_find(p, NGHTTP2_RST_STREAM, 0);
    assert_non_null(f);
    assert_int_equal(raw_u32(f + 9), NGHTTP2_REFUSED_STREAM);
    assert_non_null(raw_find(p, NGHTTP2_RST_STREAM, 19));
    assert_null(raw_find(p, NGHTTP2_RST_STREAM, 20));
    assert_false(p->conn.finished);
    peer_destroy(p);
}

static void data_after_the_end_loses_the_call_only(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    p->hold = true;
    raw_call(p, 1, 0);
    raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "\0\0\0\0\1a", 6);
    assert_int_equal(p->held_count, 1);
    raw_frame(p, NGHTTP2_DATA, 0, 1, "more", 4);
    assert_int_equal(p->held_count, 1);
    assert_int_equal(p->body_len, 1);
    peer_destroy(p);
}

static void data_of_no_stream_is_an_error(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    raw_frame(p, NGHTTP2_DATA, 0, 1, "more", 4);
    assert_int_equal(raw_goaway(p), NGHTTP2_PROTOCOL_ERROR);
    assert_true(p->conn.finished);
    peer_destroy(p);
}

static void padded_data_is_taken_without_the_padding(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    raw_call(p, 1, 0);
    raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, "\3\0\0\0\0\2apad", 10);
    raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_END_STREAM, 1, "\2bpp", 4);
    assert_int_equal(p->handled, 1);
    assert_true(p->body_hash == tc_slice_hash(TC_LIT("ab"), 0));
    peer_destroy(p);
}

static void a_window_is_not_overrun(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    limits.body_bytes_max = 64 * MIB;
    struct peer *p = peer_raw(&limits, 64 << 10);
    raw_hello(p);
    raw_call(p, 1, 0);
    char *block = calloc(1, 16384);
    memcpy(block, "\0\x03\0\0\0", 5);
    /* There was no room for the message, so its window is small; the sender goes on all the same.
     */
    struct tc_buffer *taken = tc_pool_take(p->conn.pool, 32768);
    struct tc_buffer *more = tc_pool_take(p->conn.pool, 16384);
    for (size_t i = 0; i < 1000 && !p->conn.finished && p->status == TC_OK; i++) {
        raw_frame(p, NGHTTP2_DATA, 0, 1, block, 16384);
        assert_true(h2_of(p)->mem.used <= h2_of(p)->mem.cap);
    }
    struct tc_pool_stats stats;
    tc_pool_stats(p->conn.pool, &stats);
    assert_int_equal(h2_of(p)->open_count, 0); /* the call was reset, and what follows is dropped */
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.used, 64 + taken->cap + 64 + more->cap);
    tc_buffer_give(taken);
    tc_buffer_give(more);
    free(block);
    peer_destroy(p);
}

static void who_does_not_read_is_not_read(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    limits.output_bytes_max = 4096;
    struct peer *p = peer_raw(&limits, 16 * MIB);
    raw_hello(p);
    for (unsigned i = 0; i < 200 && !p->conn.paused; i++) {
        raw_call(p, 2 * i + 1, 0);
        raw_frame(p, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, "\0\0\0\0\0", 5);
    }
    assert_true(p->conn.paused);
    assert_true(p->conn.out_len <= limits.output_bytes_max);
    assert_false(p->conn.finished);
    p->conn.out_len = 0;
    assert_int_equal(tc_proto_grpc.drained(&p->conn, p->conn.state), TC_OK);
    assert_false(p->conn.paused);
    peer_destroy(p);
}

/* ---- time ---- */

static void a_silent_connection_is_ended(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 16 * MIB);
    tc_fake_advance(&p->conn, 60 * TC_SECOND - 1);
    assert_false(p->conn.finished);
    tc_fake_advance(&p->conn, 1);
    assert_true(p->conn.finished);
    peer_destroy(p);
    /* From its first byte on it has as long as for headers. */
    p = peer_raw(&limits, 16 * MIB);
    tc_fake_advance(&p->conn, 30 * TC_SECOND);
    to_server(p, NGHTTP2_CLIENT_MAGIC, 3);
    tc_fake_advance(&p->conn, 5 * TC_SECOND - 1);
    assert_false(p->conn.finished);
    tc_fake_advance(&p->conn, 1);
    assert_true(p->conn.finished);
    peer_destroy(p);
}

static void a_client_that_never_agrees_is_ended(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 16 * MIB);
    to_server(p, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    raw_frame(p, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    raw_call(p, 1, 0);
    tc_fake_advance(&p->conn, 5 * TC_SECOND);
    assert_int_equal(raw_goaway(p), NGHTTP2_SETTINGS_TIMEOUT);
    assert_true(p->conn.finished);
    peer_destroy(p);
}

static void headers_that_never_end_are_ended(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    unsigned char head[512];
    raw_frame(p, NGHTTP2_HEADERS, 0, 1, head, raw_head(head));
    tc_fake_advance(&p->conn, 5 * TC_SECOND);
    assert_calmed(p, "headers_too_slow");
    peer_destroy(p);
}

static void a_body_that_never_ends_is_reset(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    struct call *c = call_with(p, LOGS_PATH,
                               "\0\0\0\0\x09"
                               "abc",
                               8, true, NULL, 0);
    exchange(p);
    tc_fake_advance(&p->conn, 9 * TC_SECOND);
    exchange(p);
    assert_false(c->closed);
    tc_fake_advance(&p->conn, TC_SECOND);
    exchange(p);
    assert_true(c->closed);
    assert_string_equal(c->grpc_status, "4");
    assert_int_equal(p->resets, 1);
    struct tc_pool_stats stats;
    tc_pool_stats(p->conn.pool, &stats);
    assert_int_equal(stats.used, 0);
    assert_false(p->conn.finished);
    peer_destroy(p);
}

static void an_idle_connection_is_ended_gracefully(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    tc_fake_advance(&p->conn, 50 * TC_SECOND);
    (void)call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    tc_fake_advance(&p->conn, 59 * TC_SECOND);
    exchange(p);
    assert_false(p->conn.finished);
    tc_fake_advance(&p->conn, TC_SECOND);
    exchange(p);
    assert_true(p->conn.finished);
    assert_int_equal(p->goaway_code, NGHTTP2_NO_ERROR);
    peer_destroy(p);
}

static void a_long_call_is_not_idle(void **state)
{
    (void)state;
    struct peer *p = peer_create();
    p->hold = true;
    struct call *c = call_whole(p, LOGS_PATH, "a", 1, 0, NULL, 0);
    tc_fake_advance(&p->conn, 1000 * TC_SECOND);
    exchange(p);
    answer_held(p, 0, &p->response);
    exchange(p);
    assert_string_equal(c->grpc_status, "0");
    peer_destroy(p);
}

/* ---- other protocols ---- */

static void http1_is_told_where_it_is(void **state)
{
    (void)state;
    static const char *const requests[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                           "POST /v1/logs HTTP/1.1\r\nHost: x\r\n", "PUT",
                                           "PRI * HTTP/1.1\r\nHost: x\r\n\r\n"};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct tc_net_limits limits = peer_limits();
        struct peer *p = peer_raw(&limits, 16 * MIB);
        for (const char *c = requests[i]; *c != '\0'; c++) {
            to_server(p, c, 1);
        }
        assert_true(p->conn.finished);
        struct tc_slice out = tc_slice_make((const char *)p->conn.out, p->conn.out_len);
        assert_true(tc_slice_starts(out, TC_LIT("HTTP/1.1 400 ")));
        size_t body = tc_slice_find(out, TC_LIT("\r\n\r\n")) + 4;
        uint64_t said = 0;
        size_t at = tc_slice_find(out, TC_LIT("Content-Length: ")) + 16;
        assert_true(tc_slice_u64(tc_slice_from(out, at), &said) > 0);
        assert_int_equal(out.len - body, said);
        peer_destroy(p);
    }
}

static void other_bytes_are_not_answered(void **state)
{
    (void)state;
    struct tc_net_limits limits = peer_limits();
    struct peer *p = peer_raw(&limits, 16 * MIB);
    to_server(p, "\x16\x03\x01\x02\0\1\0\1\xfc", 9); /* TLS to a plain port */
    assert_true(p->conn.finished);
    assert_int_equal(p->conn.out_len, 0);
    to_server(p, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    peer_destroy(p);
}

static void a_frame_that_is_too_long_is_an_error(void **state)
{
    (void)state;
    struct peer *p = raw_start();
    char *block = calloc(1, 20000);
    raw_call(p, 1, 0);
    raw_frame(p, NGHTTP2_DATA, 0, 1, block, 20000);
    assert_int_equal(raw_goaway(p), NGHTTP2_FRAME_SIZE_ERROR);
    assert_true(p->conn.finished);
    free(block);
    peer_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rapid_resets_end_the_connection),
        cmocka_unit_test(resets_at_the_allowed_rate_go_on),
        cmocka_unit_test(making_us_reset_is_no_better),
        cmocka_unit_test(resets_do_not_pile_up_work),
        cmocka_unit_test(a_continuation_flood_ends_the_connection),
        cmocka_unit_test(empty_continuations_end_the_connection),
        cmocka_unit_test(a_header_bomb_ends_the_connection),
        cmocka_unit_test(a_header_list_that_is_too_large_is_refused),
        cmocka_unit_test(headers_are_counted),
        cmocka_unit_test(trailers_of_a_request_are_counted_too),
        cmocka_unit_test(trailers_end_a_request),
        cmocka_unit_test(floods_end_the_connection),
        cmocka_unit_test(keepalive_at_a_sane_rate_goes_on),
        cmocka_unit_test(a_window_that_never_opens_times_out),
        cmocka_unit_test(more_streams_than_allowed_are_not_served),
        cmocka_unit_test(before_the_client_knows_the_limit_streams_are_refused),
        cmocka_unit_test(data_after_the_end_loses_the_call_only),
        cmocka_unit_test(data_of_no_stream_is_an_error),
        cmocka_unit_test(padded_data_is_taken_without_the_padding),
        cmocka_unit_test(a_window_is_not_overrun),
        cmocka_unit_test(who_does_not_read_is_not_read),
        cmocka_unit_test(a_silent_connection_is_ended),
        cmocka_unit_test(a_client_that_never_agrees_is_ended),
        cmocka_unit_test(headers_that_never_end_are_ended),
        cmocka_unit_test(a_body_that_never_ends_is_reset),
        cmocka_unit_test(an_idle_connection_is_ended_gracefully),
        cmocka_unit_test(a_long_call_is_not_idle),
        cmocka_unit_test(http1_is_told_where_it_is),
        cmocka_unit_test(other_bytes_are_not_answered),
        cmocka_unit_test(a_frame_that_is_too_long_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
