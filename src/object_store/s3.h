/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of evidence in a bucket of S3, or of any server that speaks its protocol: put there and
 * verified, and got from there and verified. An object is named by the SHA-256 of its bytes, so a
 * copy that is half done, done twice or done by two is always the same. Blocking, with deadlines;
 * memory is bounded, whatever the size. One thread at a time.
 *
 * Errors name the setting that mends them. docs/internals/remote-evidence.md.
 */
#ifndef TC_OBJECT_STORE_S3_H
#define TC_OBJECT_STORE_S3_H

#include "base/digest.h"
#include "base/status.h"
#include "object_store/location.h"

#include <stdbool.h>
#include <stdint.h>

/* How long the bucket must keep an object (S3 Object Lock). */
enum tc_s3_lock {
    TC_S3_LOCK_NONE,
    TC_S3_LOCK_GOVERNANCE,
    TC_S3_LOCK_COMPLIANCE,
};

#define TC_S3_PART_MIN ((uint64_t)5 << 20) /* the protocol's */

struct tc_s3_config {
    struct tc_s3_location location;
    const char *credentials_file; /* read again for each object; NULL or "": the environment */
    int64_t timeout_ns;           /* of a request; large bodies get more, by their size */
    uint64_t part_bytes;          /* larger objects go in parts of this size; TC_S3_PART_MIN on */
    enum tc_s3_lock lock;
    int64_t retain_ns; /* with a lock: from when it is put there */
    bool legal_hold;
    int stop_fd; /* calls end while it is readable; -1: none */
};

struct tc_s3;

/* Connects to nothing yet. Borrows the credentials file's name. */
TC_CHECKED tc_status tc_s3_create(const struct tc_s3_config *config, struct tc_s3 **out_s3,
                                  struct tc_error *err);
void tc_s3_destroy(struct tc_s3 *s);

/*
 * TC_OK: the bucket has these bytes, and that was verified: by the SHA-256 or MD5 that the server
 * says it has made of them, else by reading them back. What is there already is not sent again.
 * TC_E_MALFORMED: the file does not have that digest, and nothing was sent.
 */
TC_CHECKED tc_status tc_s3_put(struct tc_s3 *s, const struct tc_digest *digest, int fd,
                               uint64_t size, struct tc_error *err);
/* The object into a file, from its beginning; its digest is checked. TC_E_NOTFOUND: it is not
 * there; TC_E_MALFORMED: what is there is not what was put. */
TC_CHECKED tc_status tc_s3_get(struct tc_s3 *s, const struct tc_digest *digest, uint64_t size,
                               int fd, struct tc_error *err);

#endif
