/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are put to a server and got from it with every allocation and every write of ours failing
 * in turn: each attempt is good or says why not, nothing leaks, and the next one is good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "object_store/s3.h"
#include "support/faulty.h"
#include "support/http_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLS_MAX 200
#define HEAD                                                            \
    "HTTP/1.1 200 OK\r\nETag: \"5d41402abc4b2a76b9719d911017c592\"\r\n" \
    "Content-Length: 5\r\n\r\n"
#define NONE "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
#define DONE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define BODY "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static const struct peer_step PUT[] = {
    {PEER_REPLY, NONE, 0}, {PEER_REPLY, DONE, 0}, {PEER_REPLY, HEAD, 0}};
static const struct peer_step GET[] = {{PEER_REPLY, BODY, 0}};

static tc_status try_once(unsigned port, const struct tc_digest *digest, bool put,
                          struct tc_error *err)
{
    struct tc_s3_config config = {
        .timeout_ns = 5 * TC_SECOND, .part_bytes = TC_S3_PART_MIN, .stop_fd = -1};
    struct tc_s3 *s3 = NULL;
    char url[128];
    (void)snprintf(url, sizeof url, "s3://bkt/p?endpoint=http://127.0.0.1:%u", port);
    TC_TRY(tc_s3_location_read(tc_slice_cstr(url), &config.location, err));
    TC_TRY(tc_s3_create(&config, &s3, err));
    int fd = memfd_create("object", MFD_CLOEXEC);
    tc_status status = TC_E_IO;
    if (put) {
        assert_int_equal(pwrite(fd, "hello", 5, 0), 5);
        status = tc_s3_put(s3, digest, fd, 5, err);
    } else {
        status = tc_s3_get(s3, digest, 5, fd, err);
    }
    (void)close(fd);
    tc_s3_destroy(s3);
    return status;
}

/* The at-th call fails; false when there is none. */
static bool goes_without(enum fault fault, long at, bool put, size_t *io_failed)
{
    struct tc_digest digest;
    struct tc_error err = {0};
    assert_int_equal(tc_digest_sha256(TC_LIT("hello"), &digest), TC_OK);
    struct peer *peer = peer_start(put ? PUT : GET, put ? 3 : 1);
    *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = at};
    tc_status status = try_once(peer_port(peer), &digest, put, &err);
    bool hit = tc_faulty_plan->hit;
    *tc_faulty_plan = (struct plan){0};
    assert_true(status == TC_OK || err.message[0] != '\0');
    *io_failed += status != TC_OK;
    peer_stop(peer);
    return hit;
}

static void objects_go_without_memory_and_disk(void **state)
{
    (void)state;
    (void)setenv("AWS_ACCESS_KEY_ID", "key", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    for (int put = 0; put < 2; put++) {
        size_t failed = 0;
        size_t ignored = 0;
        /* The library is loaded once; that is somebody else's test. */
        assert_false(goes_without(FAULT_NONE, 0, put == 1, &ignored));
        assert_int_equal(ignored, 0);
        for (long at = 0; goes_without(FAULT_ALLOC, at, put == 1, &failed); at++) {
            assert_true(at < CALLS_MAX);
        }
        assert_true(failed >= 2);
    }
    size_t failed = 0;
    for (long at = 0; goes_without(FAULT_WRITE, at, false, &failed); at++) {
        assert_true(at < CALLS_MAX);
    }
    assert_true(failed >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_go_without_memory_and_disk),
    };
    if (tc_faulty_init() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
