/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/clickhouse/client_priv.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/os/io.h"
#include "base/url.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PASSWORD_MAX 512
#define CALL_TIMEOUT (600 * TC_SECOND)
#define PAUSE_FIRST (TC_SECOND / 10)
#define PAUSE_MAX (2 * TC_SECOND)
#define PATH_BYTES ((size_t)12 << 10)
/* The server keeps an answer until all of it is there: so much of it in memory. */
#define ANSWER_SETTINGS "&wait_end_of_query=1&buffer_size=67108864&max_query_size=16777216"

/* ---- beginning and end ---- */

static tc_status read_password(const struct tc__ch_url *url, char out[PASSWORD_MAX],
                               struct tc_error *err)
{
    const char *given = secure_getenv(TC_WAREHOUSE_PASSWORD_VARIABLE);
    out[0] = '\0';
    if (url->password_file[0] == '\0') {
        return given == NULL || (size_t)snprintf(out, PASSWORD_MAX, "%s", given) < PASSWORD_MAX
                   ? TC_OK
                   : tc_fail(err, TC_E_USAGE, 0, TC_WAREHOUSE_PASSWORD_VARIABLE " is too long");
    }
    ssize_t len = tc_io_read_path(url->password_file, out, PASSWORD_MAX);
    if (len < 0) {
        return tc_fail(err, TC_E_IO, 0, "password_file %s: %s", url->password_file,
                       strerror(errno));
    }
    while (len > 0 && (out[len - 1] == '\n' || out[len - 1] == '\r')) {
        len--;
    }
    if (len == PASSWORD_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "password_file %s: longer than a password",
                       url->password_file);
    }
    out[len] = '\0';
    return TC_OK;
}

static tc_status make_headers(struct tc__ch_client *c, struct tc_error *err)
{
    char password[PASSWORD_MAX];
    struct tc_buf b = tc_buf_make(c->header_text, sizeof c->header_text);
    TC_TRY(read_password(c->url, password, err));
    for (const char *p = password; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ') {
            return tc_fail(err, TC_E_USAGE, 0, "the password for ClickHouse has control signs");
        }
    }
    (void)tc_format(&b, "Connection: close\r\nX-ClickHouse-User: {}\r\n", c->url->user);
    if (password[0] != '\0') {
        (void)tc_format(&b, "X-ClickHouse-Key: {}\r\n", &password[0]);
    }
    explicit_bzero(password, sizeof password);
    /* A kept connection that has ended is made anew by libcurl, which would send rows twice. */
    c->insert_headers = tc_buf_slice(&b);
    c->headers = tc_slice_from(c->insert_headers, sizeof "Connection: close\r\n" - 1);
    return TC_OK;
}

tc_status tc__ch_client_open(struct tc__ch_client *c, const struct tc__ch_url *url, size_t host,
                             const struct tc_warehouse_config *config, struct tc_error *err)
{
    char address[TC__CH_HOST_MAX + 16];
    *c = (struct tc__ch_client){.url = url,
                                .host = url->hosts[host],
                                .says = config->says,
                                .says_context = config->says_context,
                                .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (c->wake_fd < 0) {
        return tc_fail(err, TC_E_NOMEM, 0, "no descriptor for ClickHouse");
    }
    (void)snprintf(address, sizeof address, "%s://%s", url->tls ? "https" : "http", c->host);
    TC_TRY(make_headers(c, err));
    TC_TRY(tc_http_client_create(address, CALL_TIMEOUT, &c->http, err));
    tc_http_client_stop_on(c->http, c->wake_fd);
    return tc_http_client_tls(c->http, &(struct tc_http_tls){.ca_file = url->ca_file}, err);
}

void tc__ch_client_close(struct tc__ch_client *c)
{
    tc_http_client_destroy(c->http);
    if (c->wake_fd >= 0) {
        (void)close(c->wake_fd);
    }
    explicit_bzero(c->header_text, sizeof c->header_text);
    *c = (struct tc__ch_client){.wake_fd = -1};
}

void tc__ch_client_interrupt(struct tc__ch_client *c)
{
    int saved = errno;
    uint64_t one = 1;
    ssize_t n = write(c->wake_fd, &one, sizeof one);
    (void)n; /* one that is full is readable as well */
    errno = saved;
}

void tc__ch_client_calm(struct tc__ch_client *c)
{
    uint64_t count = 0;
    ssize_t n = read(c->wake_fd, &count, sizeof count);
    (void)n; /* nothing to read is fine */
}

static bool is_interrupted(const struct tc__ch_client *c)
{
    struct pollfd p = {.fd = c->wake_fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

/* ---- waiting ---- */

bool tc__ch_wait(struct tc__ch_client *c, struct tc__ch_wait *wait, struct tc_error *err)
{
    int64_t now_ns = tc_mono_ns();
    if (wait->begun_ns == 0) {
        *wait = (struct tc__ch_wait){now_ns, PAUSE_FIRST};
        if (c->says != NULL && c->url->wait_ns > 0) {
            char text[TC_ERROR_MESSAGE_MAX + 64];
            (void)snprintf(text, sizeof text, "waiting for ClickHouse (up to %lld s): %s",
                           (long long)(c->url->wait_ns / TC_SECOND), err->message);
            c->says(c->says_context, text);
        }
    }
    int64_t left_ns = c->url->wait_ns - (now_ns - wait->begun_ns);
    if (left_ns <= 0) {
        struct tc_error last = *err;
        (void)!tc_fail(err, TC_E_IO, 0, "%.180s (waited %lld s: ?wait= in its address)",
                       last.message, (long long)(c->url->wait_ns / TC_SECOND));
        return false;
    }
    struct pollfd p = {.fd = c->wake_fd, .events = POLLIN};
    int64_t pause_ns = wait->pause_ns < left_ns ? wait->pause_ns : left_ns;
    if (poll(&p, 1, (int)(pause_ns / 1000000) + 1) == 1) {
        (void)!tc_fail(err, TC_E_LIMIT, 0, "the wait for ClickHouse was interrupted");
        return false;
    }
    wait->pause_ns = wait->pause_ns * 2 < PAUSE_MAX ? wait->pause_ns * 2 : PAUSE_MAX;
    return true;
}

/* ---- calls ---- */

/* "/?database=...&query=..."; query empty: it is in the body. */
static bool put_path(const struct tc__ch_client *c, struct tc_slice query, const char *settings,
                     char out[PATH_BYTES])
{
    struct tc_buf b = tc_buf_make(out, PATH_BYTES - 1);
    /* With a cluster: answered when the shards have it, not when it is queued for them. */
    (void)tc_format(&b, "/?database={}{}{}{}", c->url->database, settings,
                    c->url->cluster[0] == '\0' ? "" : "&insert_distributed_sync=1",
                    query.len == 0 ? "" : "&query=");
    tc_buf_url(&b, query);
    out[b.len] = '\0';
    return !b.overflowed;
}

/* Whether a call that got no reply may do later: not when it was ended, or is not trusted. */
static tc_status no_reply(const struct tc__ch_client *c, tc_status status, struct tc_error *err)
{
    if (is_interrupted(c)) {
        return tc_fail(err, TC_E_LIMIT, 0, "the query was interrupted");
    }
    struct tc_error said = *err;
    status = status == TC_E_IO ? TC_E_AGAIN : status;
    return tc_fail(err, status, 0, "ClickHouse at %.200s", said.message);
}

struct watched {
    tc_http_sink sink;
    void *context;
    bool seen;
};

static bool pass_on(void *context, struct tc_slice bytes)
{
    struct watched *w = context;
    w->seen = true;
    return w->sink(w->context, bytes);
}

static bool drop(void *context, struct tc_slice bytes)
{
    (void)context;
    (void)bytes;
    return true;
}

tc_status tc__ch_select(struct tc__ch_client *c, struct tc_slice sql, tc_http_sink sink,
                        void *context, struct tc_error *err)
{
    char path[PATH_BYTES];
    struct tc__ch_wait wait = {0};
    struct watched watched = {.sink = sink, .context = context};
    if (!put_path(c, TC_EMPTY, ANSWER_SETTINGS, path)) {
        return tc_fail(err, TC_E_LIMIT, 0, "the warehouse's address is too long");
    }
    for (;;) {
        struct tc_http_reply reply = {0};
        tc_status status = tc_http_client_stream(c->http, path, c->headers, sql, CALL_TIMEOUT,
                                                 pass_on, &watched, &reply, err);
        status = status != TC_OK       ? no_reply(c, status, err)
                 : reply.status != 200 ? tc__ch_explain(c, reply.status, reply.body, err)
                                       : TC_OK;
        if (status != TC_E_AGAIN) {
            return status;
        }
        if (watched.seen || !tc__ch_wait(c, &wait, err)) {
            return err->status == TC_E_AGAIN ? TC_E_IO : err->status;
        }
    }
}

tc_status tc__ch_run(struct tc__ch_client *c, struct tc_slice sql, struct tc_error *err)
{
    return tc__ch_select(c, sql, drop, NULL, err);
}

struct short_answer {
    char text[64];
    size_t len;
};

static bool take_short(void *context, struct tc_slice bytes)
{
    struct short_answer *a = context;
    size_t room = sizeof a->text - 1 - a->len;
    size_t len = bytes.len < room ? bytes.len : room;
    memcpy(a->text + a->len, bytes.ptr, len);
    a->len += len;
    return true;
}

tc_status tc__ch_int(struct tc__ch_client *c, struct tc_slice sql, uint64_t *out,
                     struct tc_error *err)
{
    struct short_answer a = {.len = 0};
    TC_TRY(tc__ch_select(c, sql, take_short, &a, err));
    (void)tc_slice_u64(tc_slice_make(a.text, a.len), out);
    return TC_OK;
}

tc_status tc__ch_client_greet(struct tc__ch_client *c, struct tc_error *err)
{
    struct short_answer a = {.len = 0};
    uint64_t major = 0;
    uint64_t minor = 0;
    struct tc_slice rest;
    TC_TRY(tc__ch_select(c, TC_LIT("SELECT version() FORMAT TabSeparated"), take_short, &a, err));
    struct tc_slice text = tc_slice_trim(tc_slice_make(a.text, a.len));
    struct tc_slice first = tc_slice_cut(text, '.', &rest);
    if (!tc_slice_is_u64(first, &major) || tc_slice_u64(rest, &minor) == 0 || major > 9999 ||
        minor > 99) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0, "%s is no ClickHouse that tells its version",
                       c->host);
    }
    c->version = (unsigned)(major * 100 + minor);
    (void)snprintf(c->version_text, sizeof c->version_text, "%.*s",
                   TC_FMT(tc_slice_head(text, sizeof c->version_text - 1)));
    return c->version >= TC__CH_VERSION_MIN
               ? TC_OK
               : tc_fail(err, TC_E_UNSUPPORTED, 0,
                         "ClickHouse at %s is version %s; 18.16 or newer is needed", c->host,
                         c->version_text);
}

tc_status tc__ch_insert(struct tc__ch_client *c, struct tc_slice sql, struct tc_slice rows,
                        struct tc_error *err)
{
    char path[PATH_BYTES];
    struct tc_http_reply reply = {0};
    if (!put_path(c, sql, "", path)) {
        return tc_fail(err, TC_E_LIMIT, 0, "a table has too many columns for ClickHouse");
    }
    tc_status status =
        tc_http_client_call(c->http, "POST", path, c->insert_headers, rows, &reply, err);
    if (status != TC_OK) {
        return no_reply(c, status, err);
    }
    return reply.status == 200 ? TC_OK : tc__ch_explain(c, reply.status, reply.body, err);
}
