/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, and one object there and back. Parts are in parts.c, the words for errors in refused.c.
 */
#include "object_store/s3_priv.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/os/io.h"
#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* A body is given the time that it takes at this rate, in bytes a second, beside the timeout. */
#define RATE_MIN ((uint64_t)128 << 10)

#define STATUS_OK 200
#define STATUS_NOT_FOUND 404

tc_status tc_s3_create(const struct tc_s3_config *config, struct tc_s3 **out_s3,
                       struct tc_error *err)
{
    struct tc_s3 *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the object store");
    }
    s->config = *config;
    tc_status status =
        tc_http_client_create(config->location.endpoint, config->timeout_ns, &s->client, err);
    if (status != TC_OK) {
        tc_s3_destroy(s);
        return status;
    }
    tc_http_client_stop_on(s->client, config->stop_fd);
    *out_s3 = s;
    return TC_OK;
}

void tc_s3_destroy(struct tc_s3 *s)
{
    if (s != NULL) {
        tc_http_client_destroy(s->client);
        explicit_bzero(&s->credentials, sizeof s->credentials);
        free(s);
    }
}

/* ---- requests ---- */

bool tc__s3_path(struct tc_s3 *s, const char *key, const char *query)
{
    int len = snprintf(s->path, sizeof s->path, "/%s%s%s%s%s", s->config.location.bucket,
                       key[0] == '\0' ? "" : "/", key, query[0] == '\0' ? "" : "?", query);
    return len > 0 && (size_t)len < sizeof s->path;
}

/* For a body of that size. */
static int64_t timeout_of(const struct tc_s3 *s, uint64_t bytes)
{
    return s->config.timeout_ns + (int64_t)(bytes / RATE_MIN) * TC_SECOND;
}

/* The headers of a request whose body has that digest, into s->headers. */
static struct tc_slice make_headers(struct tc_s3 *s, const struct tc_digest *body,
                                    struct tc_slice extra)
{
    char hex[TC__HEX_MAX];
    struct tc_buf b = tc_buf_make(s->headers, sizeof s->headers);
    (void)tc_put_hex_bytes(hex, body->bytes, TC_DIGEST_BYTES);
    tc_buf_lit(&b, "x-amz-content-sha256: ");
    tc_buf_put(&b, hex, sizeof hex);
    tc_buf_lit(&b, "\r\n");
    if (s->credentials.token[0] != '\0') {
        tc_buf_lit(&b, "x-amz-security-token: ");
        tc_buf_str(&b, tc_slice_cstr(s->credentials.token));
        tc_buf_lit(&b, "\r\n");
    }
    tc_buf_str(&b, extra);
    return tc_buf_slice(&b);
}

tc_status tc__s3_request(struct tc_s3 *s, const char *method, struct tc_slice extra,
                         struct tc_slice body, struct tc_error *err)
{
    struct tc_digest digest;
    TC_TRY(tc_digest_sha256(body, &digest));
    return tc_http_client_call(s->client, method, s->path, make_headers(s, &digest, extra), body,
                               &s->reply, err);
}

/* Before each object: the file may have changed, and tokens expire. */
static tc_status begin(struct tc_s3 *s, const struct tc_digest *digest, struct tc_error *err)
{
    char hex[TC__HEX_MAX];
    (void)tc_put_hex_bytes(hex, digest->bytes, TC_DIGEST_BYTES);
    int len = snprintf(s->key, sizeof s->key, "%s%.2s/%.*s", s->config.location.prefix, hex,
                       TC__HEX_MAX, hex);
    if (len < 0 || (size_t)len >= sizeof s->key || !tc__s3_path(s, s->key, "")) {
        return tc_fail(err, TC_E_USAGE, 0, "the prefix of evidence.remote is too long");
    }
    TC_TRY(tc_s3_credentials_load(s->config.credentials_file, &s->credentials, err));
    return tc_http_client_sign(s->client, s->config.location.region, s->credentials.key,
                               s->credentials.secret, err);
}

/* ---- getting ---- */

struct fetch {
    struct tc_sha256 sha;
    int fd; /* -1: only the digest is wanted */
    uint64_t left;
    bool too_long;
    int error;
};

static bool take_bytes(void *context, struct tc_slice bytes)
{
    struct fetch *f = context;
    if (bytes.len > f->left) {
        f->too_long = true;
        return false;
    }
    f->left -= bytes.len;
    tc_sha256_update(&f->sha, bytes);
    if (f->fd >= 0 && !tc_io_write(f->fd, bytes)) {
        f->error = errno;
        return false;
    }
    return true;
}

/* What is at s->path. *out_same: it has that size and digest. */
static tc_status get(struct tc_s3 *s, const struct tc_digest *digest, uint64_t size, int fd,
                     bool *out_same, struct tc_error *err)
{
    struct fetch f = {.fd = fd, .left = size};
    struct tc_digest none;
    struct tc_digest actual;
    tc_sha256_init(&f.sha);
    TC_TRY(tc_digest_sha256(TC_EMPTY, &none));
    TC_TRY(tc_http_client_stream(s->client, s->path, make_headers(s, &none, TC_EMPTY), TC_EMPTY,
                                 timeout_of(s, size), take_bytes, &f, &s->reply, err));
    if (s->reply.status != STATUS_OK) {
        return tc__s3_refused(s, "GET", err);
    }
    if (f.error != 0) {
        return tc_fail(err, TC_E_IO, 0, "cannot keep a copy of an object: %s", strerror(f.error));
    }
    tc_sha256_final(&f.sha, &actual);
    *out_same = !f.too_long && f.left == 0 && memcmp(&actual, digest, sizeof actual) == 0;
    return TC_OK;
}

tc_status tc_s3_get(struct tc_s3 *s, const struct tc_digest *digest, uint64_t size, int fd,
                    struct tc_error *err)
{
    bool same = false;
    TC_TRY(begin(s, digest, err));
    TC_TRY(get(s, digest, size, fd, &same, err));
    if (!same) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "s3://%s/%s is damaged: its SHA-256 is not the one it is named by",
                       s->config.location.bucket, s->key);
    }
    return TC_OK;
}

/* ---- what is there ---- */

/* Why a HEAD was refused: it has no body, so the reason is asked for with a GET of one byte. */
static tc_status head_refused(struct tc_s3 *s, struct tc_error *err)
{
    TC_TRY(tc__s3_request(s, "GET", TC_LIT("Range: bytes=0-0\r\n"), TC_EMPTY, err));
    return s->reply.status < 300
               ? tc_fail(err, TC_E_IO, 0, "%s answers a GET but no HEAD of an object",
                         s->config.location.endpoint)
               : tc__s3_refused(s, "HEAD", err);
}

/* The ETag that a server makes of these parts, without quotes. out has TC__ETAG_MAX. */
static void make_etag(const struct tc__put *put, char *out)
{
    uint8_t md5[TC_MD5_BYTES];
    char hex[2 * TC_MD5_BYTES];
    if (put->count == 1) {
        memcpy(md5, put->parts[0].md5, sizeof md5);
    } else {
        struct tc_md5 all;
        tc_md5_init(&all);
        for (size_t i = 0; i < put->count; i++) {
            tc_md5_update(&all, tc_slice_make((const char *)put->parts[i].md5, TC_MD5_BYTES));
        }
        tc_md5_final(&all, md5);
    }
    (void)tc_put_hex_bytes(hex, md5, sizeof md5);
    if (put->count == 1) {
        (void)snprintf(out, TC__ETAG_MAX, "%.*s", (int)sizeof hex, hex);
    } else {
        (void)snprintf(out, TC__ETAG_MAX, "%.*s-%zu", (int)sizeof hex, hex, put->count);
    }
}

/* Whether what the server says of its bytes proves that they are these. */
static bool is_proved(struct tc_s3 *s, const struct tc__put *put)
{
    char etag[TC__ETAG_MAX];
    char sha[TC_BASE64_LEN(TC_DIGEST_BYTES)];
    struct tc_slice said = tc_http_client_header(s->client, TC_LIT("x-amz-checksum-sha256"));
    (void)tc_base64_put(sha, tc_slice_make((const char *)put->digest->bytes, TC_DIGEST_BYTES),
                        true);
    if (tc_slice_eq(said, tc_slice_make(sha, sizeof sha))) {
        return true;
    }
    said = tc_http_client_header(s->client, TC_LIT("etag"));
    if (said.len >= 2 && said.ptr[0] == '"' && said.ptr[said.len - 1] == '"') {
        said = tc_slice_make(said.ptr + 1, said.len - 2);
    }
    make_etag(put, etag);
    return tc_slice_eq(said, tc_slice_cstr(etag));
}

static bool is_locked(struct tc_s3 *s)
{
    static const char *const modes[] = {
        [TC_S3_LOCK_GOVERNANCE] = "GOVERNANCE", [TC_S3_LOCK_COMPLIANCE] = "COMPLIANCE"};
    struct tc_slice mode = tc_http_client_header(s->client, TC_LIT("x-amz-object-lock-mode"));
    struct tc_slice hold = tc_http_client_header(s->client, TC_LIT("x-amz-object-lock-legal-hold"));
    return (s->config.lock == TC_S3_LOCK_NONE ||
            tc_slice_eq(mode, tc_slice_cstr(modes[s->config.lock]))) &&
           (!s->config.legal_hold || tc_slice_eq(hold, TC_LIT("ON")));
}

struct found {
    bool same;   /* the bytes are there */
    bool locked; /* as it is configured; with no lock: true */
};

static tc_status look(struct tc_s3 *s, const struct tc__put *put, struct found *out,
                      struct tc_error *err)
{
    uint64_t size = 0;
    *out = (struct found){0};
    if (!tc__s3_path(s, s->key, "")) {
        return TC_E_LIMIT;
    }
    TC_TRY(tc__s3_request(s, "HEAD", TC_LIT("x-amz-checksum-mode: ENABLED\r\n"), TC_EMPTY, err));
    if (s->reply.status == STATUS_NOT_FOUND) {
        return TC_OK; /* or there is no bucket: the PUT is told */
    }
    if (s->reply.status != STATUS_OK) {
        return head_refused(s, err);
    }
    struct tc_slice length = tc_http_client_header(s->client, TC_LIT("content-length"));
    if (!tc_slice_is_u64(length, &size) || size != put->size) {
        return TC_OK;
    }
    out->locked = is_locked(s);
    out->same = is_proved(s, put);
    return out->same ? TC_OK : get(s, put->digest, put->size, -1, &out->same, err);
}

/* ---- putting ---- */

struct tc_slice tc__s3_lock_headers(const struct tc_s3 *s, char out[256])
{
    struct tc_buf b = tc_buf_make(out, 256);
    if (s->config.lock != TC_S3_LOCK_NONE) {
        struct tc_civil until;
        char date[32];
        tc_time_to_civil(tc_wall_ns() + s->config.retain_ns, &until);
        (void)snprintf(date, sizeof date, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)until.year,
                       (int)until.month, (int)until.day, (int)until.hour, (int)until.minute,
                       (int)until.second);
        tc_buf_lit(&b, "x-amz-object-lock-mode: ");
        tc_buf_str(&b, s->config.lock == TC_S3_LOCK_GOVERNANCE ? TC_LIT("GOVERNANCE")
                                                               : TC_LIT("COMPLIANCE"));
        tc_buf_lit(&b, "\r\nx-amz-object-lock-retain-until-date: ");
        tc_buf_str(&b, tc_slice_cstr(date));
        tc_buf_lit(&b, "\r\n");
    }
    if (s->config.legal_hold) {
        tc_buf_lit(&b, "x-amz-object-lock-legal-hold: ON\r\n");
    }
    return tc_buf_slice(&b);
}

tc_status tc__s3_send(struct tc_s3 *s, const struct tc__put *put, const struct tc__part *part,
                      struct tc_slice extra, struct tc_error *err)
{
    char headers[1024];
    char text[TC_BASE64_LEN(TC_DIGEST_BYTES)];
    struct tc_buf b = tc_buf_make(headers, sizeof headers);
    const char *end =
        tc_base64_put(text, tc_slice_make((const char *)part->md5, TC_MD5_BYTES), true);
    tc_buf_lit(&b, "Content-MD5: ");
    tc_buf_put(&b, text, (size_t)(end - text));
    tc_buf_lit(&b, "\r\n");
    tc_buf_str(&b, extra);
    TC_TRY(tc_http_client_put_file(s->client, s->path,
                                   make_headers(s, &part->sha256, tc_buf_slice(&b)), put->fd,
                                   part->at, part->len, timeout_of(s, part->len), &s->reply, err));
    return s->reply.status == STATUS_OK ? TC_OK : tc__s3_refused(s, "PUT", err);
}

static tc_status put_whole(struct tc_s3 *s, const struct tc__put *put, struct tc_error *err)
{
    char lock[256];
    char sha[TC_BASE64_LEN(TC_DIGEST_BYTES)];
    char extra[512];
    struct tc_buf b = tc_buf_make(extra, sizeof extra);
    (void)tc_base64_put(sha, tc_slice_make((const char *)put->digest->bytes, TC_DIGEST_BYTES),
                        true);
    tc_buf_lit(&b, "x-amz-checksum-sha256: ");
    tc_buf_put(&b, sha, sizeof sha);
    tc_buf_lit(&b, "\r\n");
    tc_buf_str(&b, tc__s3_lock_headers(s, lock));
    return tc__s3_path(s, s->key, "") ? tc__s3_send(s, put, &put->parts[0], tc_buf_slice(&b), err)
                                      : TC_E_LIMIT;
}

/* Reads the file once: what it consists of, and that it is what it is named by. */
static tc_status measure(struct tc_s3 *s, struct tc__put *put, struct tc_error *err)
{
    struct tc_sha256 all;
    struct tc_digest digest;
    tc_sha256_init(&all);
    for (size_t i = 0; i < put->count; i++) {
        struct tc__part *p = &put->parts[i];
        struct tc_sha256 sha;
        struct tc_md5 md5;
        p->at = i * s->config.part_bytes;
        p->len = i + 1 < put->count ? s->config.part_bytes : put->size - p->at;
        tc_sha256_init(&sha);
        tc_md5_init(&md5);
        for (uint64_t done = 0; done < p->len;) {
            size_t want =
                p->len - done < sizeof s->chunk ? (size_t)(p->len - done) : sizeof s->chunk;
            ssize_t got = pread(put->fd, s->chunk, want, (off_t)(p->at + done));
            if (got <= 0) {
                return tc_fail(err, got < 0 ? TC_E_IO : TC_E_MALFORMED, 0, "cannot be read: %s",
                               got < 0 ? strerror(errno) : "it is shorter than the index has it");
            }
            struct tc_slice bytes = tc_slice_make(s->chunk, (size_t)got);
            tc_sha256_update(&all, bytes);
            tc_sha256_update(&sha, bytes);
            tc_md5_update(&md5, bytes);
            done += (uint64_t)got;
        }
        tc_sha256_final(&sha, &p->sha256);
        tc_md5_final(&md5, p->md5);
    }
    tc_sha256_final(&all, &digest);
    return memcmp(&digest, put->digest, sizeof digest) == 0
               ? TC_OK
               : tc_fail(err, TC_E_MALFORMED, 0,
                         "is damaged: its SHA-256 is not the one it is named by");
}

static tc_status put_and_verify(struct tc_s3 *s, struct tc__put *put, struct tc_error *err)
{
    struct found found;
    TC_TRY(measure(s, put, err));
    TC_TRY(look(s, put, &found, err));
    if (found.same && found.locked) {
        return TC_OK;
    }
    TC_TRY(put->count == 1 ? put_whole(s, put, err) : tc__s3_put_parts(s, put, err));
    TC_TRY(look(s, put, &found, err));
    if (!found.same) {
        return tc_fail(err, TC_E_IO, 0,
                       "s3://%s/%s: the store has other bytes than it was sent; it is sent again",
                       s->config.location.bucket, s->key);
    }
    if (!found.locked) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "bucket %s does not lock objects: turn Object Lock on for it, or take "
                       "evidence.remote_lock and evidence.remote_legal_hold away",
                       s->config.location.bucket);
    }
    return TC_OK;
}

tc_status tc_s3_put(struct tc_s3 *s, const struct tc_digest *digest, int fd, uint64_t size,
                    struct tc_error *err)
{
    uint64_t part = s->config.part_bytes;
    uint64_t count = size == 0 ? 1 : (size + part - 1) / part;
    if (count > TC__PARTS_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "an object of %" PRIu64 " bytes has more than 10,000 parts: raise "
                       "evidence.remote_part_bytes",
                       size);
    }
    TC_TRY(begin(s, digest, err));
    struct tc__put put = {.digest = digest, .fd = fd, .size = size, .count = (size_t)count};
    put.parts = calloc(put.count, sizeof *put.parts);
    if (put.parts == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the parts of an object");
    }
    tc_status status = put_and_verify(s, &put, err);
    free(put.parts);
    return status;
}
