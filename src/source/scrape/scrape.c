/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread for each target, below that of the source: a target that is slow, or sends a byte now
 * and then, takes nobody's time but its own.
 */
#include "source/scrape/scrape.h"

#include "base/clock.h"
#include "codec/samples.h"
#include "observe/log.h"
#include "source/scrape/priv.h"
#include "source/token_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of TC_SCRAPE_DCGM, and how long it is waited for. */
#define DCGM_PORT 9400
#define PROBE_MS 200
/* Chunks of one put; an answer of the longest that is taken has fewer than twice as many. */
#define CHUNKS_MAX 32
/* What a thread needs: libcurl and TLS. */
#define STACK_BYTES ((size_t)512 << 10)
#define HEADERS                                                                   \
    "Accept: text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0" \
    ";q=0.8,*/*;q=0.1\r\n"

static void destroy(void *state)
{
    struct tc_scrape *s = state;
    if (s != NULL) {
        for (size_t i = 0; i < s->count; i++) {
            if (s->targets[i].client != NULL) {
                tc_http_client_destroy(s->targets[i].client);
            }
        }
        (void)pthread_mutex_destroy(&s->lock);
        free(s);
    }
}

static tc_status add_target(struct tc_scrape *s, struct tc_slice line,
                            const struct tc_scrape_config *config, struct tc_error *err)
{
    if (s->count == TC_SCRAPE_TARGETS_MAX) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "more than %d targets; a Prometheus with remote write or "
                       "a collector takes more",
                       TC_SCRAPE_TARGETS_MAX);
    }
    struct tc__target *t = &s->targets[s->count];
    TC_TRY(tc__target_read(line, config->node, &t->at, err));
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->targets[i].at.name, t->at.name) == 0) {
            return tc_fail(err, TC_E_USAGE, 0, "\"%.120s\" is there twice", t->at.name);
        }
    }
    int64_t timeout_ns =
        config->timeout_ns < config->interval_ns ? config->timeout_ns : config->interval_ns;
    TC_TRY(tc_http_client_create(t->at.base, timeout_ns, &t->client, err));
    tc_http_client_take_gzip(t->client);
    t->of = s;
    t->index = s->count++;
    t->since_ns = tc_wall_ns();
    return TC_OK;
}

tc_status tc_scrape_create(const struct tc_scrape_config *config, void **out_state,
                           struct tc_error *err)
{
    struct tc_scrape *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for scrapes");
    }
    (void)pthread_mutex_init(&s->lock, NULL);
    s->interval_ns = config->interval_ns;
    s->is_guess = config->is_guess;
    struct tc_slice rest = config->targets;
    tc_status status = TC_OK;
    while (status == TC_OK && rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        status = tc_slice_trim(line).len == 0 ? TC_OK : add_target(s, line, config, err);
    }
    if (status != TC_OK) {
        destroy(s);
        return status;
    }
    *out_state = s;
    return TC_OK;
}

/* Whether a connection that is being made was made. */
static bool is_connected(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof error;
    return poll(&polled, 1, PROBE_MS) == 1 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0;
}

bool tc_scrape_dcgm_listens(void)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(DCGM_PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    bool is = connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 ||
              (errno == EINPROGRESS && is_connected(fd));
    (void)close(fd);
    return is;
}

/* ---- one answer ---- */

/* Whether what came can be taken for what was asked. */
static tc_status check_reply(const struct tc_http_reply *reply, struct tc_error *err)
{
    if (reply->status >= 300 && reply->status < 400) {
        return tc_fail(err, TC_E_IO, 0,
                       "answers %d: redirects are not followed; give the address it leads to",
                       reply->status);
    }
    if (reply->status == 401 || reply->status == 403) {
        return tc_fail(err, TC_E_IO, 0, "answers %d: give the target a token_file=", reply->status);
    }
    if (reply->status != 200) {
        return tc_fail(err, TC_E_IO, 0, "answers %d; is it the address of its metrics?",
                       reply->status);
    }
    if (reply->body.len >= TC_HTTP_REPLY_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "answers with %zu MiB or more: too long; let the exporter leave metrics out",
                       TC_HTTP_REPLY_MAX >> 20);
    }
    if (tc__answer_samples(reply->body) > 0 && tc_samples_form(reply->body) != TC_SAMPLES_TEXT) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "answers with something that is neither Prometheus text nor OpenMetrics");
    }
    return TC_OK;
}

/* TC_E_AGAIN: the daemon ends. */
static tc_status store(struct tc__target *t, struct tc_slice text)
{
    while (text.len > 0) {
        struct tc_source_chunk chunks[CHUNKS_MAX];
        size_t count = 0;
        while (text.len > 0 && count < CHUNKS_MAX) {
            struct tc_slice body = tc_slice_head(text, tc__answer_cut(text));
            text = tc_slice_from(text, body.len);
            chunks[count++] = (struct tc_source_chunk){
                .name = tc_slice_cstr(t->at.url),
                .format = TC_LIT("prometheus"),
                .node = tc_slice_cstr(t->at.node),
                .body = body,
                .records = tc__answer_samples(body),
            };
        }
        TC_TRY(tc_port_put(t->port, chunks, count));
    }
    return TC_OK;
}

/* False: it failed, or the daemon ends. */
static bool scrape(struct tc__target *t)
{
    char headers[sizeof HEADERS + TC__TOKEN_HEADER_MAX];
    struct tc_buf b = tc_buf_make(headers, sizeof headers);
    struct tc_http_reply reply = {0};
    struct tc_error err = {0};
    int64_t begin_ns = tc_mono_ns();
    tc_buf_lit(&b, HEADERS);
    tc_status status = tc__token_header(t->at.token_file, &b, &err);
    if (status == TC_OK) {
        status = tc_http_client_call(t->client, "GET", t->at.path, tc_buf_slice(&b), TC_EMPTY,
                                     &reply, &err);
    }
    int64_t took_ns = tc_mono_ns() - begin_ns;
    if (status == TC_OK) {
        status = check_reply(&reply, &err);
    }
    if (tc_port_is_stopping(t->port)) {
        return false;
    }
    if (status != TC_OK) {
        tc__target_failed(t, err.message);
        return false;
    }
    if (store(t, reply.body) != TC_OK) {
        return false;
    }
    tc__target_answered(t, reply.body, took_ns);
    return true;
}

/* ---- the threads ---- */

static void give_up(struct tc__target *t)
{
    struct tc_scrape *s = t->of;
    (void)pthread_mutex_lock(&s->lock);
    s->is_given_up = true;
    (void)pthread_mutex_unlock(&s->lock);
    tc_log_fields(TC_LOG_INFO, "no exporter of GPU metrics was found: nothing is scraped",
                  TC_LOG_CSTR("url", t->at.url));
    tc_port_watches(t->port, 0);
    tc_port_ok(t->port);
}

static void *follow(void *context)
{
    struct tc__target *t = context;
    const struct tc_scrape *s = t->of;
    int64_t next_ns =
        tc__target_turn(s->start_ns, s->interval_ns, t->index, s->count, s->start_ns - 1);
    while (!tc_port_is_stopping(t->port)) {
        int64_t now_ns = tc_mono_ns();
        if (now_ns < next_ns) {
            (void)tc_port_wait(t->port, -1, next_ns - now_ns);
            continue;
        }
        bool is_answered = scrape(t);
        if (!is_answered && s->is_guess && t->answers == 0 && !tc_port_is_stopping(t->port)) {
            give_up(t);
            break;
        }
        next_ns = tc__target_turn(s->start_ns, s->interval_ns, t->index, s->count, tc_mono_ns());
    }
    return NULL;
}

static void run(void *state, struct tc_source_port *port)
{
    struct tc_scrape *s = state;
    pthread_attr_t attr;
    bool is_started[TC_SCRAPE_TARGETS_MAX] = {false};
    s->start_ns = tc_mono_ns();
    tc_port_watches(port, s->count);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (size_t i = 0; i < s->count; i++) {
        struct tc__target *t = &s->targets[i];
        t->port = port;
        tc_http_client_stop_on(t->client, tc_port_stop_fd(port));
        is_started[i] = pthread_create(&t->thread, &attr, follow, t) == 0;
        if (!is_started[i]) {
            tc_port_fail(port, "%s: its thread cannot be started", t->at.name);
        }
    }
    (void)pthread_attr_destroy(&attr);
    for (size_t i = 0; i < s->count; i++) {
        if (is_started[i]) {
            (void)pthread_join(s->targets[i].thread, NULL);
        }
    }
}

const struct tc_source_kind tc_source_scrape = {
    .name = "scrape",
    .run = run,
    .destroy = destroy,
    .describe = tc__scrape_describe,
    .metrics = tc__scrape_metrics,
};
