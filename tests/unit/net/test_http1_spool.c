/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that go to a file as they come, because `begin` says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net_probe.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BODY_BYTES ((size_t)300000)

static struct net_probe probe;
static struct net_peer peer;
static char folder[] = "/tmp/tc_spool_XXXXXX";
static char body[BODY_BYTES];

static int group_setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (char)(i * 19 + i / 249);
    }
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int group_teardown(void **state)
{
    (void)state;
    return rmdir(folder); /* fails when a file was left */
}

static int setup(void **state)
{
    (void)state;
    struct tc_net_limits limits = net_probe_limits();
    net_probe_init(&probe, &limits, 64 << 10); /* too small for the body */
    probe.spool_dir = folder;
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

static int last_status(void)
{
    int status = 0;
    (void)net_peer_answers(&peer, &status);
    return status;
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d) != NULL) {
        count++;
    }
    (void)closedir(d);
    return count;
}

static void send_body(bool chunked)
{
    char head[128];
    if (chunked) {
        net_peer_say(&peer, "POST /up HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (size_t at = 0; at < BODY_BYTES; at += 50000) {
            (void)snprintf(head, sizeof head, "%x\r\n", 50000U);
            net_peer_say(&peer, head);
            net_peer_send(&peer, tc_slice_make(body + at, 50000));
            net_peer_say(&peer, "\r\n");
        }
        net_peer_say(&peer, "0\r\n\r\n");
    } else {
        (void)snprintf(head, sizeof head,
                       "POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", BODY_BYTES);
        net_peer_say(&peer, head);
        net_peer_send(&peer, tc_slice_make(body, BODY_BYTES));
    }
}

static void a_body_larger_than_memory(void **state)
{
    (void)state;
    size_t files = open_files();
    for (size_t i = 0; i < 4; i++) {
        send_body(i % 2 == 1);
        assert_int_equal(probe.handled, i + 1);
        assert_int_equal(probe.seen.body_len, BODY_BYTES);
        assert_true(probe.seen.body_hash == tc_slice_hash(tc_slice_make(body, BODY_BYTES), 0));
        assert_int_equal(last_status(), 200);
    }
    assert_int_equal(open_files(), files);
}

static void a_spool_without_a_body(void **state)
{
    (void)state;
    size_t files = open_files();
    net_peer_say(&peer, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(probe.handled, 1);
    assert_int_equal(probe.seen.body_len, 0);
    assert_int_equal(open_files(), files);
}

static void a_spool_of_a_request_that_ends_early(void **state)
{
    (void)state;
    size_t files = open_files();
    probe.begin_answer = TC_ANSWER_FORBIDDEN;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab");
    assert_int_equal(last_status(), 403);
    assert_int_equal(open_files(), files);
    probe.begin_answer = TC_ANSWER_OK;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nab");
    assert_int_equal(open_files(), files + 1);
    net_peer_end(&peer);
    assert_null(peer.conn);
    assert_int_equal(open_files(), files);
    net_peer_fini(&peer);
    net_peer_open(&peer, &probe);
    probe.begin_body_max = 4;
    net_peer_say(&peer, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
    assert_int_equal(last_status(), 413);
    assert_int_equal(open_files(), files);
}

static void a_disk_that_takes_no_more(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 100000, .rlim_max = before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (size_t i = 0; i < 2; i++) {
        net_peer_forget(&peer);
        send_body(i == 1);
        assert_int_equal(net_peer_answers(&peer, NULL), 1);
        assert_int_equal(last_status(), 503);
        assert_non_null(strstr(net_peer_heard(&peer), "Retry-After: 1\r\n"));
        assert_false(peer.half_closed); /* the rest was dropped */
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(probe.handled, 0);
    send_body(false);
    assert_int_equal(probe.handled, 1);
}

/* A large file may take longer than body_timeout, if it comes with some speed. */
static void a_large_upload_has_its_time_again(void **state)
{
    (void)state;
    probe.begin_body_max = (size_t)1 << 30;
    for (int slow = 0; slow < 2; slow++) {
        net_peer_fini(&peer);
        net_peer_open(&peer, &probe);
        net_peer_say(&peer, "POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n");
        for (int i = 0; i < 200 && peer.conn != NULL && !peer.half_closed; i++) {
            net_peer_send(&peer, tc_slice_make(body, BODY_BYTES));
            net_probe_wait(&probe, slow == 0 ? TC_SECOND / 2 : TC_SECOND);
        }
        assert_int_equal(last_status(), slow == 0 ? 200 : 408);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_body_larger_than_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(a_spool_without_a_body, setup, teardown),
        cmocka_unit_test_setup_teardown(a_spool_of_a_request_that_ends_early, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_upload_has_its_time_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_disk_that_takes_no_more, setup, teardown),
    };
    return cmocka_run_group_tests_name("server_http_spool", tests, group_setup, group_teardown);
}
