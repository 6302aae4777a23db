/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are signed (AWS Signature Version 4, by libcurl), bodies that are sent from a file,
 * and headers of replies: what an object store wants beside http_client.h.
 *
 * libcurl 7.88 signs the query as it is given, hashes no body that comes from a file, and signs
 * headers that it was told not to send. So the caller gives parameters sorted by name and escaped,
 * each with its "=", and the header x-amz-content-sha256 with each request; Content-Type is
 * application/octet-stream. Later versions sort and hash by themselves, and agree.
 */
#ifndef TC_HTTP_CLIENT_SIGNED_H
#define TC_HTTP_CLIENT_SIGNED_H

#include "http_client/http_client.h"

/* All calls from now on are signed for "s3" in that region, and their replies' headers are kept.
 * Copied. TC_E_UNSUPPORTED where libcurl cannot. */
TC_CHECKED tc_status tc_http_client_sign(struct tc_http_client *c, const char *region,
                                         const char *key, const char *secret, struct tc_error *err);

/* PUT of `len` bytes of a file from `offset` on; memory is libcurl's buffer. As a call. */
TC_CHECKED tc_status tc_http_client_put_file(struct tc_http_client *c, const char *path,
                                             struct tc_slice headers, int fd, uint64_t offset,
                                             uint64_t len, int64_t timeout_ns,
                                             struct tc_http_reply *out_reply, struct tc_error *err);

/* A header of the last reply, by name in any case; empty when there is none. Until the next call.
 */
struct tc_slice tc_http_client_header(struct tc_http_client *c, struct tc_slice name);

#endif
