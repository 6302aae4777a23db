/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that find no memory: who waits, for how long, and who has to give memory back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http1/priv.h"
#include "support/net_probe.h"

#include <stdio.h>
#include <string.h>

#define POST "POST / HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define POOL_BYTES ((size_t)8 << 20)
#define WAIT_NS (2 * TC_SECOND)
#define BODY_BYTES 400000

static struct net_probe probe;
static struct net_peer peer;
static char body[BODY_BYTES];

static int setup(void **state)
{
    (void)state;
    struct tc_net_limits limits = net_probe_limits();
    limits.memory_wait_ns = WAIT_NS;
    net_probe_init(&probe, &limits, POOL_BYTES);
    net_peer_open(&peer, &probe);
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (char)(i * 7 + i / 251);
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

/* Takes all but so much of the pool. */
static struct tc_buffer *fill_pool(size_t leave)
{
    struct tc_buffer *list = NULL;
    struct tc_pool_stats stats;
    tc_pool_stats(probe.pool, &stats);
    while (stats.limit - stats.used > leave + 5000) {
        struct tc_buffer *b = tc_pool_take(probe.pool, 4096);
        assert_non_null(b);
        b->next = list;
        list = b;
        tc_pool_stats(probe.pool, &stats);
    }
    return list;
}

static void give_back(struct tc_buffer *list)
{
    while (list != NULL) {
        struct tc_buffer *next = list->next;
        tc_buffer_give(list);
        list = next;
    }
}

static size_t waiting(void)
{
    struct tc_pool_stats stats;
    tc_pool_stats(probe.pool, &stats);
    return stats.waiting;
}

static int last_status(struct net_peer *who)
{
    int status = 0;
    (void)net_peer_answers(who, &status);
    return status;
}

static void say_length(struct net_peer *who)
{
    char text[80];
    (void)snprintf(text, sizeof text, POST "Content-Length: %d\r\n\r\n", BODY_BYTES);
    net_peer_say(who, text);
}

static bool is_whole(void)
{
    return probe.seen.body_hash == tc_slice_hash(tc_slice_make(body, sizeof body), 0);
}

static void a_body_waits_for_memory_and_is_served(void **state)
{
    (void)state;
    struct tc_buffer *most = fill_pool(1 << 20);
    char head[80];
    int len = snprintf(head, sizeof head, POST "Content-Length: %d\r\n\r\nfirst", BODY_BYTES);
    memcpy(body, "first", 5);
    net_peer_send(&peer, tc_slice_make(head, (size_t)len));
    assert_int_equal(waiting(), 1);
    size_t reads = peer.reads;
    net_peer_send(&peer, tc_slice_make(body + 5, sizeof body - 5)); /* nobody reads it */
    assert_int_equal(peer.reads, reads);
    net_probe_wait(&probe, WAIT_NS - 1);
    assert_int_equal(net_peer_answers(&peer, NULL), 0);
    give_back(most);
    net_probe_wait(&probe, 0);
    net_peer_send(&peer, peer.in); /* what was not read yet */
    assert_int_equal(probe.handled, 1);
    assert_true(is_whole());
    assert_int_equal(last_status(&peer), 200);
    /* The connection is as before. */
    net_peer_say(&peer, "GET /after HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_string_equal(probe.seen.path, "/after");
}

static void a_body_that_has_waited_is_refused(void **state)
{
    (void)state;
    struct tc_buffer *most = fill_pool(1 << 20);
    say_length(&peer);
    net_probe_wait(&probe, WAIT_NS - 1);
    assert_int_equal(net_peer_answers(&peer, NULL), 0);
    net_probe_wait(&probe, 1);
    assert_int_equal(last_status(&peer), 503);
    assert_non_null(strstr(net_peer_heard(&peer), "Retry-After: 1\r\n"));
    assert_int_equal(waiting(), 0);
    /* Its body is dropped, and the connection kept. */
    net_peer_send(&peer, tc_slice_make(body, sizeof body));
    give_back(most);
    say_length(&peer);
    net_peer_send(&peer, tc_slice_make(body, sizeof body));
    assert_int_equal(probe.handled, 1);
    assert_true(is_whole());
}

static void small_requests_do_not_wait(void **state)
{
    (void)state;
    struct tc_buffer *most = fill_pool(1 << 20);
    struct net_peer other;
    net_peer_open(&other, &probe);
    say_length(&peer);
    assert_int_equal(waiting(), 1);
    net_peer_say(&other, POST "Content-Length: 5\r\n\r\nabcde");
    net_peer_say(&other, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(probe.handled, 2);
    assert_int_equal(waiting(), 1);
    net_peer_fini(&other);
    give_back(most);
}

static void expectations_are_met_after_the_wait(void **state)
{
    (void)state;
    struct tc_buffer *most = fill_pool(1 << 20);
    net_peer_say(&peer, POST "Content-Length: 20000\r\nExpect: 100-continue\r\n\r\n");
    assert_int_equal(peer.out_len, 0);
    give_back(most);
    net_probe_wait(&probe, 0);
    assert_non_null(strstr(net_peer_heard(&peer), "100 Continue"));
}

/* A chunked body that has to grow waits too, in the middle of a chunk. */
static void a_chunked_body_waits_for_more(void **state)
{
    (void)state;
    struct tc_buffer *most = fill_pool(200 << 10);
    net_peer_say(&peer, CHUNKED "61a80\r\n");
    net_peer_send(&peer, tc_slice_make(body, sizeof body));
    assert_int_equal(waiting(), 1);
    assert_int_equal(probe.handled, 0);
    give_back(most);
    net_probe_wait(&probe, 0);
    net_peer_send(&peer, peer.in); /* what was not read yet */
    net_peer_say(&peer, "\r\n0\r\n\r\n");
    assert_int_equal(probe.handled, 1);
    assert_true(is_whole());
    assert_int_equal(last_status(&peer), 200);
}

/* Many who promise a body and send none: one who has brought requests before is served beside them,
 * and they lose their memory to those who wait for it. */
static void promises_without_bytes_lose_their_memory(void **state)
{
    (void)state;
    static struct net_peer promisers[40];
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    for (size_t i = 0; i < 40; i++) {
        net_peer_open(&promisers[i], &probe);
        say_length(&promisers[i]);
    }
    assert_true(waiting() > 0 && waiting() < 40);
    struct tc_pool_stats stats;
    tc_pool_stats(probe.pool, &stats);
    assert_true(stats.used <= stats.limit / 8 * 3);
    say_length(&peer);
    net_peer_send(&peer, tc_slice_make(body, sizeof body));
    assert_int_equal(probe.handled, 2);
    assert_true(is_whole());
    size_t before = waiting();
    net_probe_wait(&probe, TC_STALLED_NS - 1);
    assert_int_equal(net_peer_answers(&promisers[0], NULL), 0);
    net_probe_wait(&probe, TC_SECOND / 4);
    net_probe_wait(&probe, TC_SECOND / 4);
    assert_int_equal(last_status(&promisers[0]), 408);
    assert_true(waiting() < before);
    for (size_t i = 0; i < 40; i++) {
        net_peer_fini(&promisers[i]);
    }
}

static void nobody_loses_memory_that_nobody_waits_for(void **state)
{
    (void)state;
    say_length(&peer);
    net_peer_send(&peer, tc_slice_make(body, sizeof body / 2));
    net_probe_wait(&probe, 5 * TC_SECOND);
    assert_int_equal(net_peer_answers(&peer, NULL), 0);
    net_peer_send(&peer, tc_slice_make(body + sizeof body / 2, sizeof body / 2));
    assert_int_equal(probe.handled, 1);
    assert_true(is_whole());
}

static void a_body_that_moves_keeps_its_memory(void **state)
{
    (void)state;
    struct tc_buffer *most = fill_pool(3 << 20);
    struct net_peer other;
    net_peer_open(&other, &probe);
    say_length(&peer);
    give_back(most);
    most = fill_pool(1 << 20);
    say_length(&other);
    assert_int_equal(waiting(), 1);
    for (size_t i = 0; i < 4; i++) {
        net_peer_send(&peer, tc_slice_make(body + i * 50000, 50000));
        net_probe_wait(&probe, TC_SECOND / 4);
        assert_int_equal(net_peer_answers(&peer, NULL), 0);
    }
    net_peer_send(&peer, tc_slice_make(body + 200000, 200000));
    assert_int_equal(probe.handled, 1);
    net_peer_fini(&other);
    give_back(most);
}

static void a_shutdown_ends_the_wait(void **state)
{
    (void)state;
    struct tc_buffer *most = fill_pool(1 << 20);
    say_length(&peer);
    tc_net_shutdown(probe.net);
    tc__net_turn(probe.net);
    assert_int_equal(last_status(&peer), 503);
    assert_true(peer.half_closed);
    assert_int_equal(waiting(), 0);
    give_back(most);
}

static void who_goes_waits_no_more(void **state)
{
    (void)state;
    struct tc_buffer *most = fill_pool(1 << 20);
    struct net_peer other;
    net_peer_open(&other, &probe);
    say_length(&other);
    assert_int_equal(waiting(), 1);
    net_peer_fini(&other);
    assert_int_equal(waiting(), 0);
    give_back(most);
}

/* What came behind the head has to be kept, and there is no room for that either. */
static void without_room_for_what_came_it_is_refused_at_once(void **state)
{
    (void)state;
    struct tc_buffer *all = fill_pool(0);
    struct tc_buffer *last = tc_pool_take(probe.pool, 1);
    char head[80];
    (void)snprintf(head, sizeof head, POST "Content-Length: %d\r\n\r\nfirst", BODY_BYTES);
    net_peer_say(&peer, head);
    assert_int_equal(last_status(&peer), 503);
    assert_int_equal(waiting(), 0);
    tc_buffer_give(last);
    give_back(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_body_waits_for_memory_and_is_served, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_that_has_waited_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(small_requests_do_not_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(expectations_are_met_after_the_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(a_chunked_body_waits_for_more, setup, teardown),
        cmocka_unit_test_setup_teardown(promises_without_bytes_lose_their_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_loses_memory_that_nobody_waits_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_that_moves_keeps_its_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(a_shutdown_ends_the_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(who_goes_waits_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(without_room_for_what_came_it_is_refused_at_once, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
