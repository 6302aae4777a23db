/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts from the log to receivers that take them, refuse them, are away, come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alert/output.h"
#include "base/clock.h"
#include "outbox/post.h"
#include "support/http_peer.h"
#include "unit/outbox/outbox_testing.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TAKEN "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define REFUSED "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno"
#define EXPIRED "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
#define WAIT(seconds) "HTTP/1.1 429 Slow\r\nRetry-After: " seconds "\r\nContent-Length: 0\r\n\r\n"
#define BUSY "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"

static struct tc_alert_settings settings;
static struct peer *peer;

/* An Alertmanager and a webhook at the same peer; no waiting. */
static struct tc_outbox_config alert_config(const struct peer_step *steps, size_t count)
{
    static const char TEMPLATE[] = "{\"id\":\"{{id}}\",\"status\":\"{{status}}\"}";
    char path[sizeof folder + 16];
    struct tc_outbox_config config = plain_config();
    peer = peer_start(steps, count);
    memset(&settings, 0, sizeof settings);
    (void)snprintf(path, sizeof path, "%s/template", folder);
    append_text(path, TEMPLATE);
    settings.output_count = 1;
    settings.outputs[0].type = TC_ALERT_WEBHOOK;
    (void)snprintf(settings.outputs[0].name, sizeof settings.outputs[0].name, "hook");
    (void)snprintf(settings.outputs[0].url, sizeof settings.outputs[0].url,
                   "http://127.0.0.1:%u/hook?a=b", peer_port(peer));
    (void)snprintf(settings.outputs[0].template_file, sizeof settings.outputs[0].template_file,
                   "%s", path);
    settings.timeout_ns = 5 * TC_SECOND;
    settings.backoff_min_ns = TC_SECOND / 1000;
    settings.backoff_max_ns = TC_SECOND / 100;
    settings.resend_ns = 3600 * TC_SECOND;
    config.file_path = NULL;
    config.alerts = &settings;
    return config;
}

static void start_alerts(const struct tc_outbox_config *config)
{
    memset(&err, 0, sizeof err);
    assert_int_equal(tc_outbox_open(config, NULL, NULL, &box, &err), TC_OK);
    assert_int_equal(tc_outbox_start(box, &err), TC_OK);
}

static void put_verdict(unsigned n, const char *status, unsigned pad)
{
    static char line[TEXT_ROOM];
    char id[40];
    (void)snprintf(id, sizeof id, "%032x", n);
    int len = snprintf(line, sizeof line,
                       "{\"incident_id\":\"%s\",\"status\":\"%s\",\"severity\":\"critical\","
                       "\"headline\":\"h\",\"pad\":\"%0*u\"}",
                       id, status, (int)pad, n);
    struct tc_incident_mark mark = {.pattern_id = TC_LIT("1"),
                                    .key = tc_slice_cstr(id),
                                    .incident_id = tc_slice_cstr(id),
                                    .status = strcmp(status, "resolved") == 0 ? TC_VERDICT_RESOLVED
                                                                              : TC_VERDICT_OPEN};
    assert_int_equal(tc_outbox_put(box, &mark, tc_slice_make(line, (size_t)len), 1), TC_OK);
}

static struct tc_alert_output_stats stats_of(size_t at)
{
    struct tc_alert_output_stats stats[TC_ALERT_RECEIVERS_MAX];
    assert_true(tc_outbox_alert_stats(box, stats, TC_ALERT_RECEIVERS_MAX) > at);
    return stats[at];
}

#define WAIT_ALERTS(at, member, value)                                      \
    do {                                                                    \
        int64_t until_ns = tc_mono_ns() + WAIT_LONG;                        \
        while (stats_of(at).member != (value) && tc_mono_ns() < until_ns) { \
            (void)usleep(1000);                                             \
        }                                                                   \
        assert_int_equal(stats_of(at).member, (value));                     \
    } while (0)

static void assert_request(size_t n, const char *want)
{
    char *text = peer_request(peer, n);
    assert_non_null(text);
    if (strstr(text, want) == NULL) {
        fail_msg("no \"%s\" in %s", want, text);
    }
    free(text);
}

static void alerts_begin_and_end_once_over_restarts(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    start_alerts(&config);
    put_verdict(1, "open", 1);
    WAIT_ALERTS(0, delivered, 1);
    WAIT_ALERTS(0, waiting, 0);
    assert_request(0, "POST /hook?a=b HTTP/1.1\r\n");
    assert_request(0, "{\"id\":\"00000000000000000000000000000001\",\"status\":\"firing\"}");
    tc_outbox_close(box, WAIT_LONG);
    start_alerts(&config);
    put_verdict(2, "open", 1);
    WAIT_ALERTS(0, delivered, 1);
    assert_request(1, "{\"id\":\"00000000000000000000000000000002\",\"status\":\"firing\"}");
    put_verdict(1, "resolved", 1);
    WAIT_ALERTS(0, delivered, 2);
    assert_request(2, "{\"id\":\"00000000000000000000000000000001\",\"status\":\"resolved\"}");
    tc_outbox_close(box, WAIT_LONG);
    start_alerts(&config);
    tc_outbox_close(box, WAIT_LONG);
    assert_int_equal(peer_requests(peer), 3);
    peer_stop(peer);
}

static void what_is_not_taken_comes_again_and_what_is_refused_does_not(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = BUSY},
                                             {.act = PEER_CLOSE},
                                             {.act = PEER_REPLY, .text = TAKEN},
                                             {.act = PEER_REPLY, .text = REFUSED},
                                             {.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    start_alerts(&config);
    put_verdict(1, "open", 1);
    WAIT_ALERTS(0, delivered, 1);
    assert_true(stats_of(0).retries >= 1);
    assert_int_equal(stats_of(0).failing_ns, 0);
    put_verdict(2, "open", 1);
    WAIT_ALERTS(0, refused, 1);
    put_verdict(2, "resolved", 1);
    WAIT_ALERTS(0, delivered, 2);
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

static void what_fires_survives_compaction(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    config.compact_bytes = 4096;
    start_alerts(&config);
    put_verdict(1, "open", 1);
    WAIT_ALERTS(0, delivered, 1);
    for (unsigned n = 10; n < 40; n++) {
        put_verdict(n, "open", 1000);
        put_verdict(n, "resolved", 1000);
    }
    /* Each is over before anybody hears of it, or begins and ends. */
    WAIT_ALERTS(0, waiting, 0);
    WAIT_STAT(compactions, 1);
    tc_outbox_close(box, WAIT_LONG);
    start_alerts(&config);
    put_verdict(50, "open", 1000);
    put_verdict(50, "resolved", 1000);
    tc_outbox_close(box, WAIT_LONG);
    start_alerts(&config);
    size_t before = peer_requests(peer);
    put_verdict(1, "resolved", 1);
    WAIT_ALERTS(0, delivered, 1);
    assert_request(before, "{\"id\":\"00000000000000000000000000000001\",\"status\":\"resolved\"}");
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

static void receivers_come_and_go(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    start_alerts(&config);
    put_verdict(1, "open", 1);
    put_verdict(2, "open", 1);
    WAIT_ALERTS(0, delivered, 2);
    /* An Alertmanager comes: it is told what fires, in one request. */
    settings.outputs[1] = settings.outputs[0];
    settings.outputs[1].type = TC_ALERT_ALERTMANAGER;
    (void)snprintf(settings.outputs[1].name, sizeof settings.outputs[1].name, "am");
    (void)snprintf(settings.outputs[1].url, sizeof settings.outputs[1].url, "http://127.0.0.1:%u/",
                   peer_port(peer));
    settings.output_count = 2;
    tc_outbox_configure(box, &config);
    WAIT_ALERTS(1, delivered, 2);
    assert_int_equal(peer_requests(peer), 3);
    assert_request(2, "POST /api/v2/alerts HTTP/1.1\r\n");
    assert_request(2, "[{\"labels\":{\"alertname\":\"TracecoreIncident\"");
    /* The webhook goes. */
    settings.outputs[0] = settings.outputs[1];
    settings.output_count = 1;
    tc_outbox_configure(box, &config);
    put_verdict(1, "resolved", 1);
    WAIT_ALERTS(0, delivered, 3);
    assert_string_equal(stats_of(0).name, "am");
    settings.output_count = 0;
    tc_outbox_configure(box, &config);
    put_verdict(2, "resolved", 1);
    tc_outbox_close(box, WAIT_LONG);
    assert_int_equal(peer_requests(peer), 4);
    peer_stop(peer);
}

static void a_receiver_that_is_new_is_not_told_of_the_past(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    config.alerts = NULL;
    start_alerts(&config);
    put_verdict(1, "open", 1);
    put_verdict(1, "resolved", 1);
    put_verdict(2, "open", 1);
    tc_outbox_close(box, WAIT_LONG);
    config.alerts = &settings;
    start_alerts(&config);
    WAIT_ALERTS(0, delivered, 1);
    tc_outbox_close(box, WAIT_LONG);
    assert_int_equal(peer_requests(peer), 1);
    assert_request(0, "{\"id\":\"00000000000000000000000000000002\",\"status\":\"firing\"}");
    peer_stop(peer);
}

static void a_receiver_that_cannot_be_set_up_says_so(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    (void)snprintf(settings.outputs[0].token_file, sizeof settings.outputs[0].token_file,
                   "%s/nothing", folder);
    start_alerts(&config);
    put_verdict(1, "open", 1);
    WAIT_ALERTS(0, retries, 1);
    assert_non_null(strstr(stats_of(0).error, "/nothing: No such file"));
    settings.outputs[0].token_file[0] = '\0'; /* mended, and read again */
    tc_outbox_configure(box, &config);
    WAIT_ALERTS(0, delivered, 1);
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

/* As a kubelet does: the file is the old one or the new one, at any time. */
static void write_token(const char *path, const char *text)
{
    char fresh[sizeof folder + 16];
    (void)snprintf(fresh, sizeof fresh, "%s/fresh", folder);
    append_text(fresh, text);
    assert_int_equal(rename(fresh, path), 0);
}

/* Tokens of pods are replaced within the hour, and a page is not lost for one that ran out. */
static void a_token_is_read_for_each_request_and_one_that_ran_out_is_waited_for(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN},
                                             {.act = PEER_REPLY, .text = EXPIRED},
                                             {.act = PEER_REPLY, .text = EXPIRED},
                                             {.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    const char *path = settings.outputs[0].token_file;
    (void)snprintf(settings.outputs[0].token_file, sizeof settings.outputs[0].token_file,
                   "%s/token", folder);
    write_token(path, "first\n");
    start_alerts(&config);
    put_verdict(1, "open", 1);
    WAIT_ALERTS(0, delivered, 1);
    assert_request(0, "Authorization: Bearer first\r\n");
    write_token(path, "second\n");
    put_verdict(1, "resolved", 1);
    WAIT_ALERTS(0, delivered, 2);
    assert_request(1, "Authorization: Bearer second\r\n");
    assert_request(3, "Authorization: Bearer second\r\n");
    assert_request(3, "\"status\":\"resolved\"");
    assert_int_equal(stats_of(0).refused, 0);
    assert_int_equal(stats_of(0).retries, 2);
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

static void a_token_that_cannot_be_read_is_waited_for(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {{.act = PEER_REPLY, .text = TAKEN}};
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    const char *path = settings.outputs[0].token_file;
    (void)snprintf(settings.outputs[0].token_file, sizeof settings.outputs[0].token_file,
                   "%s/token", folder);
    write_token(path, "first\n");
    start_alerts(&config);
    put_verdict(1, "open", 1);
    WAIT_ALERTS(0, delivered, 1);
    assert_int_equal(unlink(path), 0);
    put_verdict(1, "resolved", 1);
    int64_t patience_ns = tc_mono_ns() + WAIT_LONG;
    while (stats_of(0).retries == 0 && tc_mono_ns() < patience_ns) {
        (void)usleep(1000);
    }
    assert_non_null(strstr(stats_of(0).error, "/token: No such file"));
    assert_int_equal(peer_requests(peer), 1);
    write_token(path, "second\n");
    WAIT_ALERTS(0, delivered, 2);
    assert_request(1, "Authorization: Bearer second\r\n");
    tc_outbox_close(box, WAIT_LONG);
    peer_stop(peer);
}

static void what_a_receiver_asks_to_wait_is_bounded(void **state)
{
    (void)state;
    static const struct peer_step STEPS[] = {
        {.act = PEER_REPLY, .text = WAIT("7")},
        {.act = PEER_REPLY, .text = WAIT("86400")},
        {.act = PEER_REPLY, .text = WAIT("99999999999999999999")},
        {.act = PEER_REPLY, .text = WAIT("soon")},
    };
    static const int64_t WANT_S[] = {7, 300, 0, 0}; /* what is no number of seconds says nothing */
    struct tc_outbox_config config = alert_config(STEPS, COUNT(STEPS));
    struct tc_post_config times = {.url = settings.outputs[0].url,
                                   .headers = "",
                                   .timeout_ns = config.otlp_timeout_ns,
                                   .stop_fd = -1};
    struct tc_post_request request = {.body = TC_LIT("{}")};
    struct tc_post post = {0};
    assert_int_equal(tc_post_open(&post, &times, &err), TC_OK);
    for (size_t i = 0; i < COUNT(STEPS); i++) {
        struct tc_http_reply reply;
        assert_int_equal(tc_post_send(&post, &request, &reply, &err), TC_POST_LATER);
        assert_int_equal(post.pause_ns / TC_SECOND, WANT_S[i]);
    }
    tc_post_close(&post);
    peer_stop(peer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(alerts_begin_and_end_once_over_restarts),
        TEST(what_is_not_taken_comes_again_and_what_is_refused_does_not),
        TEST(what_fires_survives_compaction),
        TEST(receivers_come_and_go),
        TEST(a_receiver_that_is_new_is_not_told_of_the_past),
        TEST(a_receiver_that_cannot_be_set_up_says_so),
        TEST(a_token_is_read_for_each_request_and_one_that_ran_out_is_waited_for),
        TEST(a_token_that_cannot_be_read_is_waited_for),
        TEST(what_a_receiver_asks_to_wait_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
