/* SPDX-License-Identifier: Apache-2.0 */
#include "server/remote_write.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/time.h"
#include "config/config.h"
#include "hot/remote.h"
#include "http_client/http_client.h"
#include "observe/log.h"
#include "observe/metrics.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define REQUEST_BYTES ((size_t)512 << 10)
#define STRINGS_BYTES ((size_t)64 << 10)
#define INSTANCE_MAX 256
#define BACKOFF_FIRST (TC_SECOND / 2)
#define BACKOFF_MAX (30 * TC_SECOND)
#define HTTP_TOO_MANY 429

static const char HEADERS[] = "Content-Type: application/x-protobuf\r\n"
                              "Content-Encoding: snappy\r\n"
                              "X-Prometheus-Remote-Write-Version: 0.1.0\r\n";

struct tc_remote_write {
    struct tc_remote_write_config config;
    struct tc_http_client *client;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    int stop_fd;
    /* The thread's own. */
    char *page;
    size_t page_max;
    char *request;
    char *packed;
    char *strings_block;
    struct tc_arena strings;
    char instance[INSTANCE_MAX];
    char headers[sizeof HEADERS + TC_CONFIG_HEADERS_MAX];
    size_t headers_len;
    bool is_failing; /* said in the log */
};

/* True: it is to end. until_ns: monotonic. */
static bool wait_until(struct tc_remote_write *r, int64_t until_ns)
{
    struct timespec until = tc_timespec(until_ns);
    (void)pthread_mutex_lock(&r->lock);
    int code = 0;
    while (!r->stopping && code == 0) {
        code = pthread_cond_timedwait(&r->wake, &r->lock, &until);
    }
    bool stopping = r->stopping;
    (void)pthread_mutex_unlock(&r->lock);
    return stopping;
}

static void tell(struct tc_remote_write *r, const char *why, int status)
{
    if (!r->is_failing) {
        tc_log_fields(TC_LOG_WARN, "hot metrics are not taken (hot_metrics.remote_write.url)",
                      TC_LOG_CSTR("error", why), TC_LOG_NUMBER("status", status));
    }
    r->is_failing = true;
}

enum sending { SENT, REFUSED, GIVEN_UP };

/* One request, tried again until it is taken or refused, or its time is over. */
static enum sending send_request(struct tc_remote_write *r, struct tc_slice body, int64_t until_ns)
{
    int64_t backoff_ns = BACKOFF_FIRST;
    for (;;) {
        struct tc_http_reply reply = {0};
        struct tc_error err = {0};
        tc_status status = tc_http_client_call(
            r->client, "POST", "", tc_slice_make(r->headers, r->headers_len), body, &reply, &err);
        if (status == TC_OK && reply.status / 100 == 2) {
            r->is_failing = false;
            return SENT;
        }
        tell(r, status == TC_OK ? "the store's answer" : err.message, reply.status);
        if (status == TC_OK && reply.status / 100 == 4 && reply.status != HTTP_TOO_MANY) {
            return REFUSED;
        }
        int64_t wait_ns = (int64_t)reply.retry_after_s * TC_SECOND;
        wait_ns = wait_ns > backoff_ns ? wait_ns : backoff_ns;
        int64_t again_ns = tc_mono_ns() + wait_ns;
        if (again_ns >= until_ns || wait_until(r, again_ns)) {
            return GIVEN_UP;
        }
        tc_count(TC_COUNT_REMOTE_RETRIES, 1);
        backoff_ns = backoff_ns * 2 > BACKOFF_MAX ? BACKOFF_MAX : backoff_ns * 2;
    }
}

/* The page as it is now, until `until_ns` at the latest. */
static void send_page(struct tc_remote_write *r, int64_t until_ns)
{
    struct tc_buf text = tc_buf_make(r->page, r->page_max);
    tc_hot_page_copy(r->config.page, &text);
    struct tc_remote_page page = {.text = tc_buf_slice(&text),
                                  .instance = tc_slice_cstr(r->instance),
                                  .time_ms = tc_wall_ns() / 1000000};
    size_t first = 0;
    enum sending end = SENT;
    for (;;) {
        struct tc_error err = {0};
        struct tc_buf request = tc_buf_make(r->request, REQUEST_BYTES);
        struct tc_buf packed = tc_buf_make(r->packed, tc_remote_packed_max(REQUEST_BYTES));
        size_t count = 0;
        tc_arena_reset(&r->strings);
        if (tc_remote_encode(&page, first, &r->strings, &request, &count, &err) != TC_OK) {
            tell(r, err.message, 0);
            return;
        }
        if (count == 0) {
            return;
        }
        if (end != GIVEN_UP) { /* else the rest is only counted */
            tc_remote_pack(tc_buf_slice(&request), &packed);
            end = send_request(r, tc_buf_slice(&packed), until_ns);
        }
        tc_count(end == SENT      ? TC_COUNT_REMOTE_SENT
                 : end == REFUSED ? TC_COUNT_REMOTE_REFUSED
                                  : TC_COUNT_REMOTE_REPLACED,
                 count);
        first += count;
    }
}

static void *remote_main(void *context)
{
    struct tc_remote_write *r = context;
    int64_t due_ns = tc_mono_ns() + r->config.interval_ns;
    while (!wait_until(r, due_ns)) {
        int64_t now_ns = tc_mono_ns();
        due_ns += r->config.interval_ns;
        due_ns = due_ns > now_ns ? due_ns : now_ns + r->config.interval_ns;
        send_page(r, due_ns);
    }
    return NULL;
}

static void destroy(struct tc_remote_write *r)
{
    tc_http_client_destroy(r->client);
    if (r->stop_fd >= 0) {
        (void)close(r->stop_fd);
    }
    if (r->strings_block != NULL) {
        tc_arena_fini(&r->strings);
    }
    (void)pthread_cond_destroy(&r->wake);
    (void)pthread_mutex_destroy(&r->lock);
    free(r->page);
    free(r->request);
    free(r->packed);
    free(r->strings_block);
    free(r);
}

static tc_status make(struct tc_remote_write *r, struct tc_error *err)
{
    TC_TRY(tc_http_client_create(r->config.url, r->config.timeout_ns, &r->client, err));
    r->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->page_max = tc_hot_page_bytes(r->config.page);
    r->page = malloc(r->page_max + 1);
    r->request = malloc(REQUEST_BYTES);
    r->packed = malloc(tc_remote_packed_max(REQUEST_BYTES));
    r->strings_block = malloc(STRINGS_BYTES);
    if (r->stop_fd < 0 || r->page == NULL || r->request == NULL || r->packed == NULL ||
        r->strings_block == NULL) {
        free(r->strings_block);
        r->strings_block = NULL;
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for hot_metrics.remote_write");
    }
    tc_arena_init(&r->strings, "remote write", r->strings_block, STRINGS_BYTES);
    struct tc_buf headers = tc_buf_make(r->headers, sizeof r->headers);
    tc_buf_str(&headers, tc_slice_make(HEADERS, sizeof HEADERS - 1));
    tc_buf_str(&headers, tc_slice_cstr(r->config.headers));
    r->headers_len = headers.len;
    tc_http_client_stop_on(r->client, r->stop_fd);
    if (gethostname(r->instance, sizeof r->instance - 1) != 0) {
        r->instance[0] = '\0';
    }
    return TC_OK;
}

tc_status tc_remote_write_start(const struct tc_remote_write_config *config,
                                struct tc_remote_write **out_remote, struct tc_error *err)
{
    struct tc_remote_write *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for hot_metrics.remote_write");
    }
    r->config = *config;
    r->stop_fd = -1;
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&r->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&r->lock, NULL);
    tc_status status = make(r, err);
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the loop's thread */
    if (status == TC_OK && pthread_create(&r->thread, NULL, remote_main, r) != 0) {
        status = tc_fail(err, TC_E_IO, 0, "no thread for hot_metrics.remote_write");
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (status != TC_OK) {
        destroy(r);
        return status;
    }
    *out_remote = r;
    return TC_OK;
}

void tc_remote_write_stop(struct tc_remote_write *r)
{
    if (r == NULL) {
        return;
    }
    uint64_t one = 1;
    (void)!write(r->stop_fd, &one, sizeof one);
    (void)pthread_mutex_lock(&r->lock);
    r->stopping = true;
    (void)pthread_cond_signal(&r->wake);
    (void)pthread_mutex_unlock(&r->lock);
    (void)pthread_join(r->thread, NULL);
    destroy(r);
}
