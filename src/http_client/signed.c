/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client/signed.h"

#include "http_client/client_priv.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define SERVICE_MAX 128

tc_status tc_http_client_sign(struct tc_http_client *c, const char *region, const char *key,
                              const char *secret, struct tc_error *err)
{
    CURL *easy = NULL;
    const struct tc__curl *curl = tc__http_client_curl(c, &easy);
    char service[SERVICE_MAX];
    int len = snprintf(service, sizeof service, "aws:amz:%s:s3", region);
    if (len < 0 || (size_t)len >= sizeof service) {
        return tc_fail(err, TC_E_USAGE, 0, "the name of the region is too long");
    }
    /* Not as "key:secret": a key may have a colon. */
    if (curl->easy_setopt(easy, CURLOPT_AWS_SIGV4, service) != CURLE_OK ||
        curl->easy_setopt(easy, CURLOPT_USERNAME, key) != CURLE_OK ||
        curl->easy_setopt(easy, CURLOPT_PASSWORD, secret) != CURLE_OK) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "libcurl cannot sign requests (AWS SigV4); 7.88 or newer is wanted");
    }
    tc__http_client_is_signed(c);
    return TC_OK;
}

struct part {
    int fd;
    uint64_t from;
    uint64_t len;
    uint64_t at; /* sent so far */
};

static size_t read_part(char *out, size_t size, size_t count, void *context)
{
    struct part *p = context;
    size_t room = size * count;
    uint64_t left = p->len - p->at;
    size_t want = left < room ? (size_t)left : room;
    ssize_t got = 0;
    do {
        got = pread(p->fd, out, want, (off_t)(p->from + p->at));
    } while (got < 0 && errno == EINTR);
    if (got < 0 || (got == 0 && want > 0)) {
        return CURL_READFUNC_ABORT; /* shorter than it was */
    }
    p->at += (uint64_t)got;
    return (size_t)got;
}

/* A connection that the server closed meanwhile: once more from the beginning. */
static int seek_part(void *context, curl_off_t offset, int origin)
{
    struct part *p = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > p->len) {
        return CURL_SEEKFUNC_FAIL;
    }
    p->at = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static void prepare(void *context, const struct tc__curl *curl, CURL *easy)
{
    struct part *p = context;
    (void)curl->easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    (void)curl->easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)p->len);
    (void)curl->easy_setopt(easy, CURLOPT_READFUNCTION, read_part);
    (void)curl->easy_setopt(easy, CURLOPT_READDATA, p);
    (void)curl->easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_part);
    (void)curl->easy_setopt(easy, CURLOPT_SEEKDATA, p);
}

tc_status tc_http_client_put_file(struct tc_http_client *c, const char *path,
                                  struct tc_slice headers, int fd, uint64_t offset, uint64_t len,
                                  int64_t timeout_ns, struct tc_http_reply *out_reply,
                                  struct tc_error *err)
{
    struct part p = {.fd = fd, .from = offset, .len = len};
    struct tc__http_upload upload = {.prepare = prepare, .context = &p, .len = (size_t)len};
    return tc__http_client_upload(c, path, headers, &upload, timeout_ns, out_reply, err);
}

struct tc_slice tc_http_client_header(struct tc_http_client *c, struct tc_slice name)
{
    struct tc_slice rest = tc__http_client_head(c);
    while (rest.len > 0) {
        struct tc_slice value = TC_EMPTY;
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        struct tc_slice key = tc_slice_cut(line, ':', &value);
        if (tc_slice_eq_nocase(tc_slice_trim(key), name)) {
            return tc_slice_trim(value);
        }
    }
    return TC_EMPTY;
}
