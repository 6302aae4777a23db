/* SPDX-License-Identifier: Apache-2.0 */
/* Objects there and back, with a server that says what the script tells it. What a real one does is
 * in tests/e2e/remote_evidence.test.mjs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "object_store/s3.h"
#include "support/http_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BODY "hello"
#define SHA "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define PATH "/bkt/p/2c/" SHA
#define OK(headers, body) "HTTP/1.1 200 OK\r\n" headers "Content-Length: 5\r\n\r\n" body
#define MD5 "ETag: \"5d41402abc4b2a76b9719d911017c592\"\r\n"
#define NONE "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
#define DONE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static struct peer *peer;
static struct tc_s3 *s3;
static struct tc_error err;
static struct tc_digest digest;
static int fd;

static void begin(const struct peer_step *steps, size_t count, enum tc_s3_lock lock)
{
    struct tc_s3_config config = {.timeout_ns = 5 * TC_SECOND,
                                  .part_bytes = TC_S3_PART_MIN,
                                  .lock = lock,
                                  .retain_ns = 86400 * TC_SECOND,
                                  .legal_hold = lock != TC_S3_LOCK_NONE,
                                  .stop_fd = -1};
    char url[128];
    (void)setenv("AWS_ACCESS_KEY_ID", "key", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    (void)setenv("AWS_SESSION_TOKEN", "token", 1);
    peer = peer_start(steps, count);
    (void)snprintf(url, sizeof url, "s3://bkt/p?endpoint=http://127.0.0.1:%u", peer_port(peer));
    assert_int_equal(tc_s3_location_read(tc_slice_cstr(url), &config.location, &err), TC_OK);
    assert_int_equal(tc_s3_create(&config, &s3, &err), TC_OK);
    assert_int_equal(tc_digest_sha256(TC_LIT(BODY), &digest), TC_OK);
    fd = memfd_create("object", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, BODY, 5) == 5);
    err = (struct tc_error){0};
}

static void end(void)
{
    (void)close(fd);
    tc_s3_destroy(s3);
    peer_stop(peer);
}

static void expect_in_request(size_t n, const char *text)
{
    char *request = peer_request(peer, n);
    assert_non_null(request);
    if (strstr(request, text) == NULL) {
        fail_msg("no \"%s\" in:\n%s", text, request);
    }
    free(request);
}

/* Every header that is signed is sent: libcurl 7.88 signs those too that it was told to leave out.
 */
static void expect_signed(size_t n)
{
    char *request = peer_request(peer, n);
    const char *list = strstr(request, "SignedHeaders=");
    assert_non_null(list);
    list += strlen("SignedHeaders=");
    struct tc_slice rest = tc_slice_make(list, strcspn(list, ","));
    assert_true(tc_slice_contains(rest, TC_LIT("x-amz-security-token")));
    assert_true(tc_slice_contains(rest, TC_LIT("x-amz-content-sha256")));
    while (rest.len > 0) {
        char line[80];
        struct tc_slice name = tc_slice_cut(rest, ';', &rest);
        (void)snprintf(line, sizeof line, "\r\n%.*s:", TC_FMT(name));
        if (tc_slice_find_nocase(tc_slice_cstr(request), tc_slice_cstr(line)) == TC_NPOS) {
            fail_msg("%s is signed and not sent:\n%s", line + 2, request);
        }
    }
    free(request);
}

static void an_object_is_put_and_verified(void **state)
{
    (void)state;
    static const struct peer_step steps[] = {
        {PEER_REPLY, NONE, 0}, {PEER_REPLY, DONE, 0}, {PEER_REPLY, OK(MD5, ""), 0}};
    begin(steps, 3, TC_S3_LOCK_NONE);
    assert_int_equal(tc_s3_put(s3, &digest, fd, 5, &err), TC_OK);
    assert_int_equal(peer_requests(peer), 3);
    expect_in_request(0, "HEAD " PATH " HTTP/1.1\r\n");
    expect_in_request(1, "PUT " PATH " HTTP/1.1\r\n");
    expect_in_request(1, "x-amz-content-sha256: " SHA "\r\n");
    expect_in_request(1, "Content-MD5: XUFAKrxLKna5cZ2REBfFkg==\r\n");
    expect_in_request(1, "\r\n\r\n" BODY);
    for (size_t i = 0; i < 3; i++) {
        expect_signed(i);
    }
    end();
}

static void what_is_there_is_not_sent_again(void **state)
{
    (void)state;
    static const struct peer_step md5[] = {{PEER_REPLY, OK(MD5, ""), 0}};
    static const struct peer_step sha[] = {
        {PEER_REPLY,
         OK("x-amz-checksum-sha256: LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=\r\n", ""), 0}};
    static const struct peer_step back[] = {{PEER_REPLY, OK("ETag: \"other\"\r\n", ""), 0},
                                            {PEER_REPLY, OK("", BODY), 0}};
    const struct {
        const struct peer_step *steps;
        size_t count;
    } cases[] = {{md5, 1}, {sha, 1}, {back, 2}};
    for (size_t i = 0; i < 3; i++) {
        begin(cases[i].steps, cases[i].count, TC_S3_LOCK_NONE);
        assert_int_equal(tc_s3_put(s3, &digest, fd, 5, &err), TC_OK);
        assert_int_equal(peer_requests(peer), cases[i].count);
        end();
    }
}

static void other_bytes_there_are_noticed(void **state)
{
    (void)state;
    static const struct peer_step steps[] = {{PEER_REPLY, NONE, 0},
                                             {PEER_REPLY, DONE, 0},
                                             {PEER_REPLY, OK("ETag: \"other\"\r\n", ""), 0},
                                             {PEER_REPLY, OK("", "hellO"), 0}};
    begin(steps, 4, TC_S3_LOCK_NONE);
    assert_int_equal(tc_s3_put(s3, &digest, fd, 5, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "other bytes"));
    end();
}

static void a_damaged_file_is_not_sent(void **state)
{
    (void)state;
    static const struct peer_step steps[] = {{PEER_REPLY, NONE, 0}};
    begin(steps, 1, TC_S3_LOCK_NONE);
    assert_int_equal(pwrite(fd, "j", 1, 0), 1);
    assert_int_equal(tc_s3_put(s3, &digest, fd, 5, &err), TC_E_MALFORMED);
    assert_int_equal(tc_s3_put(s3, &digest, fd, 6, &err), TC_E_MALFORMED);
    assert_int_equal(peer_requests(peer), 0);
    end();
}

static void locks_are_asked_for_and_checked(void **state)
{
    (void)state;
    static const struct peer_step locked[] = {
        {PEER_REPLY, NONE, 0},
        {PEER_REPLY, DONE, 0},
        {PEER_REPLY,
         OK(MD5 "x-amz-object-lock-mode: COMPLIANCE\r\nx-amz-object-lock-legal-hold: ON\r\n", ""),
         0}};
    static const struct peer_step open_to_all[] = {
        {PEER_REPLY, OK(MD5, ""), 0}, {PEER_REPLY, DONE, 0}, {PEER_REPLY, OK(MD5, ""), 0}};
    begin(locked, 3, TC_S3_LOCK_COMPLIANCE);
    assert_int_equal(tc_s3_put(s3, &digest, fd, 5, &err), TC_OK);
    expect_in_request(1, "x-amz-object-lock-mode: COMPLIANCE\r\n");
    expect_in_request(1, "x-amz-object-lock-retain-until-date: 2");
    expect_in_request(1, "x-amz-object-lock-legal-hold: ON\r\n");
    expect_signed(1);
    end();
    begin(open_to_all, 3, TC_S3_LOCK_GOVERNANCE);
    assert_int_equal(tc_s3_put(s3, &digest, fd, 5, &err), TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "evidence.remote_lock"));
    end();
}

static void an_object_is_got_and_checked(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        tc_status status;
    } cases[] = {
        {OK("", BODY), TC_OK},
        {OK("", "hellO"), TC_E_MALFORMED},
        {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell", TC_E_MALFORMED},
        {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!", TC_E_MALFORMED},
        {"HTTP/1.1 404 No\r\nContent-Length: 37\r\n\r\n<Error><Code>NoSuchKey</Code></Error> ",
         TC_E_NOTFOUND},
        {"HTTP/1.1 404 No\r\nContent-Length: 40\r\n\r\n<Error><Code>NoSuchBucket</Code></Error> ",
         TC_E_IO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct peer_step step = {PEER_REPLY_CLOSE, cases[i].reply, 0};
        begin(&step, 1, TC_S3_LOCK_NONE);
        int to = memfd_create("copy", MFD_CLOEXEC);
        assert_int_equal(tc_s3_get(s3, &digest, 5, to, &err), cases[i].status);
        assert_true(cases[i].status == TC_OK || err.message[0] != '\0');
        (void)close(to);
        end();
    }
}

static void refusals_name_the_setting(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        const char *fields;
        const char *said;
    } cases[] = {
        {"403", "<Code>InvalidAccessKeyId</Code>", "AWS_ACCESS_KEY_ID"},
        {"403", "<Code>SignatureDoesNotMatch</Code>", "AWS_SECRET_ACCESS_KEY"},
        {"403", "<Code>AccessDenied</Code>", "s3:PutObject"},
        {"404", "<Code>NoSuchBucket</Code>", "bucket of evidence.remote"},
        {"400", "<Code>ExpiredToken</Code>", "AWS_SESSION_TOKEN"},
        {"400", "<Code>AuthorizationHeaderMalformed</Code><Region>eu-9</Region>",
         "us-east-1: eu-9"},
        {"301", "<Code>PermanentRedirect</Code>", "another region"},
        {"403",
         "<Code>RequestTimeTooSkewed</Code><RequestTime>20260101T000000Z</RequestTime>"
         "<ServerTime>2026-01-01T01:00:00Z</ServerTime>",
         "says 2026-01-01T01:00:00Z, this machine's 20260101T000000Z; set the clock"},
        {"409", "<Code>Odd\x1b[31m</Code><Message>why</Message>", "HTTP 409, Odd?[31m: why"},
        {"503", "", "in trouble"},
        {"400", "<Coda>x</Coda>", "a document not of S3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        char body[320];
        int len = snprintf(body, sizeof body, "<Error>%s</Error>", cases[i].fields);
        (void)snprintf(text, sizeof text, "HTTP/1.1 %s X\r\nContent-Length: %d\r\n\r\n%s",
                       cases[i].status, len, body);
        struct peer_step step = {PEER_REPLY, text, 0};
        begin(&step, 1, TC_S3_LOCK_NONE);
        assert_int_equal(tc_s3_get(s3, &digest, 5, fd, &err), TC_E_IO);
        if (strstr(err.message, cases[i].said) == NULL) {
            fail_msg("%s: %s", cases[i].fields, err.message);
        }
        end();
    }
}

static void a_refused_head_is_asked_why(void **state)
{
    (void)state;
    static const struct peer_step steps[] = {
        {PEER_REPLY, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", 0},
        {PEER_REPLY,
         "HTTP/1.1 403 No\r\nContent-Length: 40\r\n\r\n<Error><Code>AccessDenied</Code></Error> ",
         0}};
    begin(steps, 2, TC_S3_LOCK_NONE);
    assert_int_equal(tc_s3_put(s3, &digest, fd, 5, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "HEAD: AccessDenied"));
    expect_in_request(1, "Range: bytes=0-0\r\n");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_put_and_verified),
        cmocka_unit_test(what_is_there_is_not_sent_again),
        cmocka_unit_test(other_bytes_there_are_noticed),
        cmocka_unit_test(a_damaged_file_is_not_sent),
        cmocka_unit_test(locks_are_asked_for_and_checked),
        cmocka_unit_test(an_object_is_got_and_checked),
        cmocka_unit_test(refusals_name_the_setting),
        cmocka_unit_test(a_refused_head_is_asked_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
