/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts to a receiver that takes them, refuses them, is slow, or is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/http_peer.h"
#include "unit/outbox/outbox_testing.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TAKEN "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
#define PARTIAL(text)                                                       \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " \
    "57\r\n\r\n{\"partialSuccess\":{\"rejectedLogRecords\":\"" text "\",\"x\":\"yyyyy\"}}"

static struct peer *peer;
static char endpoint[64];

static struct tc_outbox_config otlp_config(const struct peer_step *steps, size_t count)
{
    struct tc_outbox_config config = plain_config();
    peer = peer_start(steps, count);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u/v1/logs", peer_port(peer));
    config.file_path = NULL;
    config.otlp_endpoint = endpoint;
    config.otlp_headers = "Authorization: Bearer x\nbroken\n  X-Two:  2 \n";
    return config;
}

static void put_many(unsigned from, unsigned to)
{
    for (unsigned n = from; n < to; n++) {
        assert_int_equal(put_one(box, n, 10), TC_OK);
    }
}

/* How often each number came, over all requests. */
static void count_numbers(unsigned *seen, size_t max)
{
    memset(seen, 0, max * sizeof *seen);
    for (size_t i = 0; i < peer_requests(peer); i++) {
        char *text = peer_request(peer, i);
        for (char *at = text; (at = strstr(at, "\"body\":{\"stringValue\":\"number ")) != NULL;) {
            at += strlen("\"body\":{\"stringValue\":\"number ");
            size_t n = strtoul(at, NULL, 10);
            assert_true(n < max);
            seen[n]++;
        }
        free(text);
    }
}

static void verdicts_arrive_as_log_records(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    (void)start_box(&config);
    put_many(0, 20);
    WAIT_STAT(exported, 20);
    tc_outbox_close(box, WAIT_LONG);
    char *text = peer_request(peer, 0);
    assert_non_null(strstr(text, "POST /v1/logs HTTP/1.1\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(text, "\r\nAuthorization: Bearer x\r\nX-Two:  2\r\n"));
    assert_null(strstr(text, "broken"));
    assert_non_null(
        strstr(text, "{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":\"test\"}}"));
    free(text);
    unsigned seen[20];
    count_numbers(seen, 20);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(seen[i], 1);
    }
    size_t requests = peer_requests(peer);
    (void)start_box(&config); /* and are not sent again by the next process */
    tc_outbox_close(box, WAIT_LONG);
    assert_int_equal(peer_requests(peer), requests);
    peer_stop(peer);
}

static void what_is_not_taken_comes_again_until_it_is(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {
        {.act = PEER_REPLY, .text = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"},
        {.act = PEER_REPLY,
         .text = "HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"},
        {.act = PEER_CLOSE},
        {.act = PEER_RESET},
        {.act = PEER_REPLY, .text = "HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n"},
        {.act = PEER_REPLY_CLOSE, .text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"},
        {.act = PEER_REPLY, .text = "HTTP/1.1 504 Late\r\nContent-Length: 0\r\n\r\n"},
        {.act = PEER_REPLY, .text = TAKEN},
    };
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    (void)start_box(&config);
    put_many(0, 1);
    WAIT_STAT(exported, 1);
    struct tc_outbox_stats stats;
    tc_outbox_stats(box, &stats);
    assert_true(stats.retries >= 6);
    assert_int_equal(stats.rejected, 0);
    assert_int_equal(stats.pending_otlp, 0);
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

static void what_is_refused_for_good_is_counted_and_passed_over(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {
        {.act = PEER_REPLY, .text = "HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nno\x1b\x01"},
        {.act = PEER_REPLY, .text = PARTIAL("1")},
        {.act = PEER_REPLY, .text = PARTIAL("9")}, /* more than were sent */
        {.act = PEER_REPLY, .text = PARTIAL("0")},
    };
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    (void)start_box(&config);
    put_many(0, 1);
    WAIT_STAT(rejected, 1);
    put_many(1, 2);
    WAIT_STAT(rejected, 2);
    put_many(2, 3);
    WAIT_STAT(rejected, 3);
    put_many(3, 4);
    WAIT_STAT(exported, 1);
    struct tc_outbox_stats stats;
    tc_outbox_stats(box, &stats);
    assert_int_equal(stats.rejected, 3);
    assert_int_equal(stats.retries, 0);
    assert_int_equal(stats.pending_otlp, 0);
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

static void a_receiver_that_is_away_gets_everything_when_it_is_back(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    config.otlp_endpoint = "http://127.0.0.1:1/v1/logs";
    config.compact_bytes = 5000;
    (void)start_box(&config);
    put_many(0, 30);
    WAIT_STAT(retries, 2);
    tc_outbox_close(box, WAIT_LONG); /* the next process has them from the log */
    (void)start_box(&config);
    put_many(30, 1500);
    WAIT_STAT(retries, 2);
    config.otlp_endpoint = endpoint;
    tc_outbox_configure(box, &config);
    WAIT_STAT(exported, 1500);
    WAIT_STAT(compactions, 1); /* now that nothing waits any more */
    tc_outbox_close(box, WAIT_LONG);
    unsigned seen[1500];
    count_numbers(seen, 1500);
    for (size_t i = 0; i < 1500; i++) {
        assert_int_equal(seen[i], 1);
    }
    peer_stop(peer);
}

static void a_slow_receiver_does_not_hold_up_the_file_or_the_end(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_SILENT}};
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    config.file_path = file_path;
    config.otlp_timeout_ns = 600 * TC_SECOND;
    (void)start_box(&config);
    put_many(0, 50);
    WAIT_STAT(written, 50);
    tc_outbox_close(box, TC_SECOND / 10);
    assert_lines(file_path, 0, 50);
    peer_stop(peer);
}

static void beyond_its_bytes_the_downstream_loses_the_oldest(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    config.otlp_endpoint = "http://127.0.0.1:1/v1/logs";
    config.file_path = file_path;
    config.queue_bytes_max = 20000;
    (void)start_box(&config);
    put_many(0, 200);
    WAIT_STAT(dropped_otlp, 20);
    WAIT_STAT(written, 200); /* the file has all of it */
    config.otlp_endpoint = endpoint;
    tc_outbox_configure(box, &config);
    WAIT_STAT(exported, 20);
    tc_outbox_close(box, WAIT_LONG);
    unsigned seen[200];
    count_numbers(seen, 200);
    assert_int_equal(seen[0], 0);
    for (size_t i = 150; i < 200; i++) {
        assert_int_equal(seen[i], 1);
    }
    peer_stop(peer);
}

static void turning_it_off_forgets_what_waits_for_it(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    config.otlp_endpoint = "http://127.0.0.1:1/v1/logs";
    (void)start_box(&config);
    put_many(0, 5);
    WAIT_STAT(retries, 1);
    config.otlp_endpoint = "";
    tc_outbox_configure(box, &config);
    put_many(5, 10);
    config.otlp_endpoint = endpoint;
    (void)usleep(20000);
    tc_outbox_configure(box, &config);
    put_many(10, 12);
    WAIT_STAT(exported, 2);
    tc_outbox_close(box, WAIT_LONG);
    unsigned seen[12];
    count_numbers(seen, 12);
    assert_int_equal(seen[0], 0);
    assert_int_equal(seen[11], 1);
    peer_stop(peer);
}

static void a_wrong_address_sends_nothing_and_can_be_mended(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    config.otlp_endpoint = "collector:4318";
    (void)start_box(&config);
    put_many(0, 3);
    config.otlp_endpoint = endpoint;
    tc_outbox_configure(box, &config);
    WAIT_STAT(exported, 3);
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

/* A line that is no verdict cannot be sent; those around it can. */
static void a_line_that_is_no_json_is_left_out(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = otlp_config(STEPS, COUNT(STEPS));
    (void)open_box(&config);
    struct tc_incident_mark mark = {.incident_id = TC_LIT("i")};
    assert_int_equal(tc_outbox_put(box, &mark, TC_LIT("not JSON"), 0), TC_OK);
    put_many(0, 1);
    assert_int_equal(tc_outbox_put(box, &mark, TC_LIT("[]"), 0), TC_OK);
    assert_int_equal(tc_outbox_start(box, &err), TC_OK);
    WAIT_STAT(exported, 1);
    WAIT_STAT(rejected, 2);
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(verdicts_arrive_as_log_records),
        TEST(what_is_not_taken_comes_again_until_it_is),
        TEST(what_is_refused_for_good_is_counted_and_passed_over),
        TEST(a_receiver_that_is_away_gets_everything_when_it_is_back),
        TEST(a_slow_receiver_does_not_hold_up_the_file_or_the_end),
        TEST(beyond_its_bytes_the_downstream_loses_the_oldest),
        TEST(turning_it_off_forgets_what_waits_for_it),
        TEST(a_wrong_address_sends_nothing_and_can_be_mended),
        TEST(a_line_that_is_no_json_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
