/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines, ends and failures of connections, and requests that outlive them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http1/priv.h"
#include "support/net_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct net_probe probe;
static struct net_peer peer;
static uint64_t counts[TC_COUNTER_COUNT];

static int setup(void **state)
{
    (void)state;
    struct tc_net_limits limits = net_probe_limits();
    net_probe_init(&probe, &limits, (size_t)8 << 20);
    net_peer_open(&peer, &probe);
    for (size_t i = 0; i < TC_COUNTER_COUNT; i++) {
        counts[i] = tc_counter_value((enum tc_counter)i);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    net_peer_fini(&peer);
    net_probe_fini(&probe);
    return 0;
}

static uint64_t counted(enum tc_counter c)
{
    return tc_counter_value(c) - counts[c];
}

static int last_status(void)
{
    int status = 0;
    (void)net_peer_answers(&peer, &status);
    return status;
}

static void an_idle_connection_is_closed_without_a_word(void **state)
{
    (void)state;
    net_probe_wait(&probe, 60 * TC_SECOND - 1);
    assert_non_null(peer.conn);
    net_probe_wait(&probe, 1);
    assert_null(peer.conn);
    assert_int_equal(peer.out_len, 0);
    assert_int_equal(counted(TC_COUNT_CONN_CLOSED_TIMEOUT_IDLE), 1);
}

static void each_answer_begins_a_new_idle_time(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        net_probe_wait(&probe, 50 * TC_SECOND);
        net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    assert_int_equal(probe.handled, 5);
    net_probe_wait(&probe, 60 * TC_SECOND);
    assert_null(peer.conn);
}

static void a_slow_head_is_cut_off(void **state)
{
    (void)state;
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nX: yyyyyyyyyyyyyyyyyyyy";
    size_t sent = 0;
    /* A byte a second does not help: the time is that of the whole head. */
    while (sent < 10) {
        net_peer_send(&peer, tc_slice_make(text + sent++, 1));
        assert_non_null(peer.conn);
        assert_false(peer.half_closed);
        net_probe_wait(&probe, sent < 10 ? TC_SECOND : TC_SECOND - 1);
    }
    assert_false(peer.half_closed);
    net_probe_wait(&probe, 1);
    assert_true(peer.half_closed);
    assert_int_equal(last_status(), 408);
    net_probe_wait(&probe, TC_NET_LINGER_NS);
    assert_null(peer.conn);
    assert_int_equal(counted(TC_COUNT_CONN_CLOSED_TIMEOUT_HEADER), 1);
    assert_int_equal(counted(TC_COUNT_HTTP_TIMEOUT), 1);
}

static void a_slow_body_is_cut_off(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n",
    };
    for (size_t i = 0; i < 2; i++) {
        net_peer_fini(&peer);
        net_peer_open(&peer, &probe);
        net_peer_say(&peer, heads[i]);
        for (int s = 0; s < 29; s++) {
            net_probe_wait(&probe, TC_SECOND);
            net_peer_say(&peer, "b");
        }
        assert_false(peer.half_closed);
        net_probe_wait(&probe, TC_SECOND);
        assert_true(peer.half_closed);
        assert_int_equal(last_status(), 408);
        net_peer_end(&peer);
        assert_null(peer.conn);
        assert_int_equal(counted(TC_COUNT_CONN_CLOSED_TIMEOUT_BODY), i + 1);
    }
    assert_int_equal(probe.handled, 0);
}

static void a_slow_body_that_is_dropped_is_cut_off_too(void **state)
{
    (void)state;
    probe.begin_answer = TC_ANSWER_NOT_FOUND;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    net_probe_wait(&probe, 29 * TC_SECOND);
    net_peer_say(&peer, "b");
    net_probe_wait(&probe, TC_SECOND);
    assert_null(peer.conn);
    assert_int_equal(counted(TC_COUNT_CONN_CLOSED_TIMEOUT_BODY), 1);
}

static void the_handler_has_all_the_time(void **state)
{
    (void)state;
    probe.holds = true;
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    net_probe_wait(&probe, 3600 * TC_SECOND);
    assert_non_null(peer.conn);
    net_probe_answer(&probe);
    assert_int_equal(last_status(), 200);
    net_probe_wait(&probe, 59 * TC_SECOND);
    assert_non_null(peer.conn);
}

static void a_reader_has_time_as_long_as_it_reads(void **state)
{
    (void)state;
    static char large[100000];
    static const size_t sizes[] = {100000, 30000}; /* the next request waits, or does not */
    struct tc_pool_stats stats;
    probe.answer.content_type = TC_LIT("text/plain");
    for (size_t k = 0; k < 2; k++) {
        net_peer_fini(&peer);
        net_peer_open(&peer, &probe);
        probe.answer.body = tc_slice_make(large, sizes[k]);
        peer.write_room = 1000;
        net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        for (int i = 0; i < 2; i++) {
            net_probe_wait(&probe, 19 * TC_SECOND);
            assert_non_null(peer.conn);
            net_peer_writable(&peer, 10);
        }
        net_probe_wait(&probe, 20 * TC_SECOND);
        assert_null(peer.conn);
        assert_int_equal(counted(TC_COUNT_CONN_CLOSED_TIMEOUT_WRITE), k + 1);
        tc_pool_stats(probe.pool, &stats);
        assert_int_equal(stats.used, 0);
    }
}

static void output_has_a_limit(void **state)
{
    (void)state;
    static char large[5 << 20];
    probe.answer.content_type = TC_LIT("text/plain");
    probe.answer.body = tc_slice_make(large, sizeof large);
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_null(peer.conn);
    assert_int_equal(counted(TC_COUNT_CONN_CLOSED_OUTPUT), 1);
}

static void without_memory_output_goes_as_far_as_the_peer_takes_it(void **state)
{
    (void)state;
    static char large[100000];
    for (size_t i = 0; i < sizeof large; i++) {
        large[i] = (char)(i * 13);
    }
    struct tc_buffer *list = NULL;
    for (struct tc_buffer *b = tc_pool_take(probe.pool, 4096); b != NULL;
         b = tc_pool_take(probe.pool, 4096)) {
        b->next = list;
        list = b;
    }
    probe.answer.content_type = TC_LIT("text/plain");
    probe.answer.body = tc_slice_make(large, sizeof large);
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_memory_equal(peer.out + peer.out_len - sizeof large, large, sizeof large);
    peer.write_room = 5000;
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_null(peer.conn);
    while (list != NULL) {
        struct tc_buffer *next = list->next;
        tc_buffer_give(list);
        list = next;
    }
}

static void a_peer_may_leave_at_any_point(void **state)
{
    (void)state;
    static const char text[] =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    struct tc_pool_stats stats;
    for (size_t cut = 0; cut < sizeof text; cut++) {
        for (int how = 0; how < 2; how++) {
            net_peer_fini(&peer);
            net_peer_open(&peer, &probe);
            net_peer_send(&peer, tc_slice_make(text, cut));
            peer.read_errno = how == 0 ? 0 : ECONNRESET;
            net_peer_end(&peer);
            assert_null(peer.conn);
        }
        tc_pool_stats(probe.pool, &stats);
        assert_int_equal(stats.used, 0);
    }
    assert_int_equal(tc_net_connections(probe.net), 0);
}

static void a_peer_that_is_gone_is_answered_to_nobody(void **state)
{
    (void)state;
    probe.holds = true;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    net_peer_fini(&peer);
    assert_int_equal(tc_net_connections(probe.net), 0);
    assert_null(probe.held[0]->of);
    assert_memory_equal(probe.held[0]->body->data, "abc", 3);
    net_probe_answer(&probe);
    assert_int_equal(counted(TC_COUNT_HTTP_GONE), 1);
    struct tc_pool_stats stats;
    tc_pool_stats(probe.pool, &stats);
    assert_int_equal(stats.used, 0);
}

static void a_peer_that_is_gone_is_noticed_by_the_answer(void **state)
{
    (void)state;
    probe.holds = true;
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    peer.write_errno = EPIPE;
    net_probe_answer(&probe);
    assert_null(peer.conn);
    assert_int_equal(counted(TC_COUNT_CONN_CLOSED_PEER), 1);
}

static void a_handler_may_take_the_body(void **state)
{
    (void)state;
    probe.holds = true;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    struct tc_buffer *body = probe.held[0]->body;
    probe.held[0]->body = NULL;
    net_probe_answer(&probe);
    assert_memory_equal(body->data, "abc", 3);
    tc_buffer_give(body);
}

static void requests_may_be_answered_after_the_loop_is_gone(void **state)
{
    (void)state;
    struct net_peer other;
    probe.holds = true;
    net_peer_open(&other, &probe);
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    net_peer_say(&other, "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    tc_net_destroy(probe.net);
    probe.net = NULL;
    assert_null(peer.conn);
    assert_null(other.conn);
    net_peer_fini(&other);
    assert_int_equal(probe.held_count, 2); /* teardown answers them */
}

static void half_closed_peers_get_their_answers(void **state)
{
    (void)state;
    probe.holds = true;
    net_peer_say(&peer, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    net_peer_end(&peer);
    assert_non_null(peer.conn);
    net_probe_answer(&probe);
    net_probe_answer(&probe);
    assert_int_equal(net_peer_answers(&peer, NULL), 2);
    net_peer_end(&peer);
    assert_null(peer.conn);
    /* Also when they read slowly: with output that holds up reading, and with less. */
    static char large[100000];
    static const size_t sizes[] = {100000, 30000};
    probe.holds = false;
    probe.answer.content_type = TC_LIT("text/plain");
    for (size_t i = 0; i < 2; i++) {
        net_peer_fini(&peer);
        net_peer_open(&peer, &probe);
        probe.answer.body = tc_slice_make(large, sizes[i]);
        peer.write_room = 1000;
        net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        net_peer_end(&peer);
        assert_non_null(peer.conn);
        net_peer_writable(&peer, SIZE_MAX);
        net_peer_end(&peer);
        assert_null(peer.conn);
        assert_true(peer.out_len > sizes[i]);
    }
}

static void failing_reads_end_the_connection(void **state)
{
    (void)state;
    peer.read_errno = EIO;
    net_peer_say(&peer, "");
    assert_null(peer.conn);
    assert_int_equal(counted(TC_COUNT_CONN_CLOSED_ERROR), 1);
    net_peer_fini(&peer);
    net_peer_open(&peer, &probe);
    peer.read_errno = EINTR;
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(peer.conn);
    assert_int_equal(last_status(), 200);
}

static void one_connection_does_not_keep_the_others_waiting(void **state)
{
    (void)state;
    static char text[1 << 20];
    static char large[3 << 20];
    memset(text, 'x', sizeof text);
    net_peer_say(&peer,
                 "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n");
    peer.in = tc_slice_make(text, sizeof text);
    tc__conn_readable(peer.conn);
    size_t taken = sizeof text - peer.in.len;
    assert_true(taken > 0 && taken < TC_NET_WAKE_BYTES + TC_NET_READ_BYTES);
    net_peer_send(&peer, peer.in);
    net_peer_say(&peer, "\r\n0\r\n\r\n");
    assert_int_equal(probe.handled, 1);
    /* The same for what it is sent. */
    net_peer_forget(&peer);
    probe.answer.content_type = TC_LIT("text/plain");
    probe.answer.body = tc_slice_make(large, sizeof large);
    peer.in = TC_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    tc__conn_readable(peer.conn);
    assert_true(peer.out_len >= TC_NET_WAKE_BYTES);
    assert_true(peer.out_len <= TC_NET_WAKE_BYTES + TC_NET_IOV_MAX * TC_NET_OUTPUT_BUFFER_BYTES);
    assert_true(tc_conn_pending(peer.conn) > 0);
    net_peer_send(&peer, TC_EMPTY);
    assert_int_equal(tc_conn_pending(peer.conn), 0);
}

static void a_slow_reader_gets_its_answers_in_order(void **state)
{
    (void)state;
    static char bodies[3][20000];
    size_t total = 0;
    probe.answer.content_type = TC_LIT("text/plain");
    peer.write_room = 1500; /* more than waits outside of buffers */
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof bodies[i]; k++) {
            bodies[i][k] = (char)('a' + (k * (i + 3) + k / 1000) % 26);
        }
        probe.answer.body = tc_slice_make(bodies[i], sizeof bodies[i]);
        net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_true(tc_conn_pending(peer.conn) > total);
        total = tc_conn_pending(peer.conn);
        net_peer_writable(&peer, 1500);
    }
    net_peer_writable(&peer, SIZE_MAX);
    assert_int_equal(tc_conn_pending(peer.conn), 0);
    size_t head = peer.out_len / 3 - sizeof bodies[0];
    for (size_t i = 0; i < 3; i++) {
        const char *at = peer.out + i * (head + sizeof bodies[0]);
        assert_memory_equal(at, "HTTP/1.1 200 OK\r\n", 17);
        assert_memory_equal(at + head, bodies[i], sizeof bodies[i]);
    }
}

static void a_refusal_may_come_late(void **state)
{
    (void)state;
    struct net_peer other;
    struct net_peer leaves;
    net_peer_open(&other, &probe);
    net_peer_open(&leaves, &probe);
    probe.begin_answer = TC_ANSWER_UNAUTHENTICATED;
    probe.begin_delay_ns = 3 * TC_SECOND;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
                        "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    net_peer_say(&leaves, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    net_peer_end(&leaves);
    probe.begin_answer = TC_ANSWER_OK;
    net_peer_say(&other, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(net_peer_answers(&other, NULL), 1);
    net_probe_wait(&probe, 2 * TC_SECOND);
    assert_int_equal(net_peer_answers(&peer, NULL), 0);
    net_probe_wait(&probe, TC_SECOND);
    int status = 0;
    assert_int_equal(net_peer_answers(&peer, &status), 1);
    assert_int_equal(status, 401);
    assert_non_null(strstr(net_peer_heard(&peer), "Connection: close\r\n"));
    assert_int_equal(probe.handled, 1); /* that of the other */
    /* One that is waiting does not hold up the end. */
    struct net_peer late;
    net_peer_open(&late, &probe);
    probe.begin_answer = TC_ANSWER_UNAUTHENTICATED;
    net_peer_say(&late, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    tc_net_shutdown(probe.net);
    tc__net_turn(probe.net);
    assert_null(late.conn);
    net_peer_fini(&late);
    net_peer_fini(&leaves);
    net_peer_fini(&other);
}

static void the_end_of_the_daemon(void **state)
{
    (void)state;
    struct net_peer idle;
    struct net_peer half;
    net_peer_open(&idle, &probe);
    net_peer_open(&half, &probe);
    probe.holds = true;
    net_peer_say(&peer, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    net_peer_say(&half, "GET /3 HTT");
    tc_net_shutdown(probe.net);
    tc__net_turn(probe.net);
    assert_null(idle.conn);
    assert_int_equal(counted(TC_COUNT_CONN_CLOSED_SHUTDOWN), 1);
    /* What has begun is finished, and nothing more. */
    net_probe_answer(&probe);
    assert_non_null(strstr(net_peer_heard(&peer), "Connection: close\r\n"));
    assert_int_equal(net_peer_answers(&peer, NULL), 1);
    assert_int_equal(probe.held_count, 0);
    net_peer_say(&half, "P/1.1\r\nHost: x\r\n\r\n");
    net_probe_answer(&probe);
    assert_non_null(strstr(net_peer_heard(&half), "Connection: close\r\n"));
    net_probe_wait(&probe, TC_NET_LINGER_NS);
    assert_int_equal(tc_net_connections(probe.net), 0);
    net_peer_fini(&idle);
    net_peer_fini(&half);
}

static void deadlines_of_many_connections(void **state)
{
    (void)state;
    enum { MANY = 200 };
    static struct net_peer peers[MANY];
    /* Each opened a second later; each third speaks at its 30th second, each fifth leaves. */
    for (size_t i = 0; i < MANY; i++) {
        net_peer_open(&peers[i], &probe);
        net_probe_wait(&probe, TC_SECOND / 10);
        if (i >= 20 && (i - 20) % 3 == 0) {
            net_peer_say(&peers[i - 20], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        if (i >= 30 && (i - 30) % 5 == 0) {
            net_peer_end(&peers[i - 30]);
        }
    }
    for (int second = 0; second < 100; second++) {
        size_t open = 0;
        for (size_t i = 0; i < MANY; i++) {
            if (peers[i].conn != NULL) {
                open++;
                assert_true(peers[i].conn->proto_at > probe.mono_ns);
            }
        }
        assert_int_equal(open + (peer.conn != NULL), tc_net_connections(probe.net));
        net_probe_wait(&probe, TC_SECOND);
    }
    assert_int_equal(tc_net_connections(probe.net), 0);
    for (size_t i = 0; i < MANY; i++) {
        net_peer_fini(&peers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_idle_connection_is_closed_without_a_word, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(each_answer_begins_a_new_idle_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_head_is_cut_off, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_body_is_cut_off, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_body_that_is_dropped_is_cut_off_too, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_handler_has_all_the_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_has_time_as_long_as_it_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(output_has_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_output_goes_as_far_as_the_peer_takes_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_peer_may_leave_at_any_point, setup, teardown),
        cmocka_unit_test_setup_teardown(a_peer_that_is_gone_is_answered_to_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_peer_that_is_gone_is_noticed_by_the_answer, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_handler_may_take_the_body, setup, teardown),
        cmocka_unit_test_setup_teardown(requests_may_be_answered_after_the_loop_is_gone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(half_closed_peers_get_their_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(failing_reads_end_the_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(one_connection_does_not_keep_the_others_waiting, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_slow_reader_gets_its_answers_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_may_come_late, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_the_daemon, setup, teardown),
        cmocka_unit_test_setup_teardown(deadlines_of_many_connections, setup, teardown),
    };
    return cmocka_run_group_tests_name("server_http_life", tests, NULL, NULL);
}
