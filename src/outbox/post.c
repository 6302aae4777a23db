/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox/post.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/random.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Nobody is kept from hearing of an incident for a day because a proxy says so. */
#define RETRY_AFTER_MAX (300 * TC_SECOND)

tc_status tc_post_read_secret(const char *path, char *out, struct tc_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, out, TC_POST_SECRET_MAX - 1);
    int code = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (n < 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(code));
    }
    struct tc_slice rest;
    struct tc_slice line = tc_slice_trim(tc_slice_cut(tc_slice_make(out, (size_t)n), '\n', &rest));
    for (size_t i = 0; i < line.len; i++) {
        if ((unsigned char)line.ptr[i] <= ' ' || (unsigned char)line.ptr[i] >= 0x7f) {
            return tc_fail(err, TC_E_MALFORMED, 0, "%s: white space or a control character in it",
                           path);
        }
    }
    if (line.len == 0) {
        return tc_fail(err, TC_E_MALFORMED, 0, "%s: nothing in its first line", path);
    }
    memmove(out, line.ptr, line.len);
    out[line.len] = '\0';
    return TC_OK;
}

/* The token is read for each request; here it is seen that there is one. */
static tc_status take_headers(struct tc_post *p, const struct tc_post_config *config,
                              struct tc_error *err)
{
    struct tc_buf b = tc_buf_make(p->headers, sizeof p->headers);
    tc_buf_str(&b, tc_slice_cstr(config->headers));
    p->headers_len = b.len;
    if (b.overflowed) {
        return tc_fail(err, TC_E_LIMIT, 0, "headers of more than %d bytes", TC_POST_HEADERS_MAX);
    }
    if (config->token_file != NULL && config->token_file[0] != '\0') {
        char token[TC_POST_SECRET_MAX];
        TC_TRY(tc_post_read_secret(config->token_file, token, err));
        p->token_file = strdup(config->token_file);
        return p->token_file == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a path") : TC_OK;
    }
    return TC_OK;
}

/* The client knows the host; what is behind it comes with each call, since it may have a query. */
static tc_status take_url(struct tc_post *p, const struct tc_post_config *config,
                          struct tc_error *err)
{
    struct tc_slice url = tc_slice_cstr(config->url);
    size_t scheme = tc_slice_find(url, TC_LIT("://"));
    struct tc_slice after = tc_slice_from(url, scheme == TC_NPOS ? 0 : scheme + 3);
    size_t slash = tc_slice_find_byte(after, '/');
    size_t base_len = slash == TC_NPOS ? url.len : (size_t)(after.ptr - url.ptr) + slash;
    if (tc_slice_find_byte(url, '#') != TC_NPOS) {
        return tc_fail(err, TC_E_USAGE, 0, "an address with a fragment (#)");
    }
    char *base = strndup(config->url, base_len);
    p->path = strdup(config->url + base_len);
    tc_status status = base == NULL || p->path == NULL
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for an address")
                           : tc_http_client_create(base, config->timeout_ns, &p->client, err);
    free(base);
    return status;
}

tc_status tc_post_open(struct tc_post *p, const struct tc_post_config *config, struct tc_error *err)
{
    tc_post_close(p);
    p->backoff_min_ns = config->backoff_min_ns > 0 ? config->backoff_min_ns : TC_SECOND / 2;
    p->backoff_max_ns =
        config->backoff_max_ns > p->backoff_min_ns ? config->backoff_max_ns : p->backoff_min_ns;
    p->is_patient = config->is_patient;
    if (getrandom(&p->random, sizeof p->random, GRND_NONBLOCK) != (ssize_t)sizeof p->random) {
        p->random = (uint64_t)tc_mono_ns();
    }
    tc_status status = take_headers(p, config, err);
    status = status == TC_OK ? take_url(p, config, err) : status;
    status = status == TC_OK ? tc_http_client_tls(p->client, &config->tls, err) : status;
    if (status != TC_OK) {
        tc_post_close(p);
        return status;
    }
    tc_http_client_stop_on(p->client, config->stop_fd);
    return TC_OK;
}

void tc_post_close(struct tc_post *p)
{
    tc_http_client_destroy(p->client);
    free(p->path);
    free(p->token_file);
    *p = (struct tc_post){0};
}

static bool is_retryable(const struct tc_post *p, int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504 ||
           (p->is_patient && (status == 401 || status == 408 || status / 100 == 5));
}

/* Half to all of it, so that many senders do not come back together. */
static int64_t jitter(struct tc_post *p, int64_t pause_ns)
{
    uint64_t span = (uint64_t)(pause_ns / 2) + 1;
    return pause_ns / 2 + (int64_t)(tc_random_next(&p->random) % span);
}

static enum tc_post_result try_later(struct tc_post *p, unsigned retry_after_s)
{
    p->backoff_ns = p->backoff_ns == 0 ? p->backoff_min_ns : p->backoff_ns * 2;
    p->backoff_ns = p->backoff_ns > p->backoff_max_ns ? p->backoff_max_ns : p->backoff_ns;
    int64_t asked_ns = (int64_t)retry_after_s * TC_SECOND;
    asked_ns = asked_ns > RETRY_AFTER_MAX ? RETRY_AFTER_MAX : asked_ns;
    p->pause_ns = jitter(p, p->backoff_ns);
    p->pause_ns = asked_ns > p->pause_ns ? asked_ns : p->pause_ns;
    p->retry_ns = tc_mono_ns() + p->pause_ns;
    return TC_POST_LATER;
}

/* One call of the client: where it goes, and its headers, are put together. */
static tc_status call(struct tc_post *p, const struct tc_post_request *r,
                      struct tc_http_reply *out_reply, struct tc_error *err)
{
    char headers[TC_POST_HEADERS_MAX + TC_POST_SECRET_MAX + 512];
    char path[TC_POST_SECRET_MAX];
    char token[TC_POST_SECRET_MAX];
    struct tc_buf h = tc_buf_make(headers, sizeof headers);
    struct tc_buf b = tc_buf_make(path, sizeof path - 1);
    struct tc_slice base = tc_slice_cstr(p->path);
    while (r->path != NULL && base.len > 0 && base.ptr[base.len - 1] == '/') {
        base.len--;
    }
    (void)tc_format(&b, "{}{}", base, r->path == NULL ? "" : r->path);
    path[b.len] = '\0';
    (void)tc_format(&h, "Content-Type: {}\r\n{}{}",
                    r->content_type == NULL ? "application/json" : r->content_type,
                    tc_slice_make(p->headers, p->headers_len), r->headers);
    if (p->token_file != NULL) {
        TC_TRY(tc_post_read_secret(p->token_file, token, err));
        (void)tc_format(&h, "Authorization: Bearer {}\r\n", token);
    }
    if (b.overflowed || h.overflowed) {
        return tc_fail(err, TC_E_LIMIT, 0, "an address or headers that are too long");
    }
    return tc_http_client_call(p->client, r->method == NULL ? "POST" : r->method, path,
                               tc_buf_slice(&h), r->body, out_reply, err);
}

enum tc_post_result tc_post_send(struct tc_post *p, const struct tc_post_request *request,
                                 struct tc_http_reply *out_reply, struct tc_error *err)
{
    *out_reply = (struct tc_http_reply){0};
    if (call(p, request, out_reply, err) != TC_OK) {
        return try_later(p, 0);
    }
    bool is_taken = out_reply->status / 100 == 2 ||
                    (request->also_taken != 0 && out_reply->status == request->also_taken);
    if (!is_taken) {
        (void)tc_fail(err, TC_E_IO, 0, "HTTP status %d", out_reply->status);
    }
    if (!is_taken && is_retryable(p, out_reply->status)) {
        return try_later(p, out_reply->retry_after_s);
    }
    p->backoff_ns = 0;
    p->retry_ns = 0;
    return is_taken ? TC_POST_TAKEN : TC_POST_REFUSED;
}
