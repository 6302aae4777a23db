/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_OBJECT_STORE_S3_PRIV_H
#define TC_OBJECT_STORE_S3_PRIV_H

#include "base/buf.h"
#include "base/md5.h"
#include "http_client/signed.h"
#include "object_store/credentials.h"
#include "object_store/s3.h"

/* Of a path with its query: the bucket, the prefix, a key, an upload. */
#define TC__S3_PATH_MAX 2048
#define TC__S3_HEADERS_MAX 8192
#define TC__HEX_MAX (2 * TC_DIGEST_BYTES)
/* What is read of a file at once. */
#define TC__CHUNK_BYTES ((size_t)64 << 10)
/* Of an id of an upload, as the server gave it. */
#define TC__UPLOAD_ID_MAX 512
#define TC__ETAG_MAX 96
#define TC__PARTS_MAX 10000 /* the protocol's */

struct tc_s3 {
    struct tc_s3_config config;
    struct tc_http_client *client;
    struct tc_s3_credentials credentials;
    struct tc_http_reply reply; /* of the last request */
    char key[TC__S3_PATH_MAX];  /* of the object: prefix/ab/digest */
    char path[TC__S3_PATH_MAX];
    char headers[TC__S3_HEADERS_MAX];
    char chunk[TC__CHUNK_BYTES];
};

struct tc__part {
    uint64_t at;
    uint64_t len;
    struct tc_digest sha256;
    uint8_t md5[TC_MD5_BYTES];
    char etag[TC__ETAG_MAX]; /* as the server gave it */
};

/* What is put, and what of it is known before. */
struct tc__put {
    const struct tc_digest *digest;
    int fd;
    uint64_t size;
    struct tc__part *parts;
    size_t count; /* 1: it goes as a whole */
};

/* /bucket/key?query into s->path. False: it is too long. */
bool tc__s3_path(struct tc_s3 *s, const char *key, const char *query);

/* One request to s->path. `extra`: headers beside those of every request, or empty. */
TC_CHECKED tc_status tc__s3_request(struct tc_s3 *s, const char *method, struct tc_slice extra,
                                    struct tc_slice body, struct tc_error *err);

/* Why the last reply is none of success, in words: TC_E_NOTFOUND when there is no such object, else
 * TC_E_IO. `what` was tried. */
tc_status tc__s3_refused(struct tc_s3 *s, const char *what, struct tc_error *err);

/* In parts: begun, sent, put together. What an earlier attempt left is removed first. */
TC_CHECKED tc_status tc__s3_put_parts(struct tc_s3 *s, struct tc__put *put, struct tc_error *err);
/* One part, or the whole, to s->path. */
TC_CHECKED tc_status tc__s3_send(struct tc_s3 *s, const struct tc__put *put,
                                 const struct tc__part *part, struct tc_slice extra,
                                 struct tc_error *err);
/* Headers that lock the object; empty: none are configured. out has 256 bytes. */
struct tc_slice tc__s3_lock_headers(const struct tc_s3 *s, char out[256]);

#endif
