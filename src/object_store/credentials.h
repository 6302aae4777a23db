/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks the object store: from the environment, or from a file as Amazon's tools have it. */
#ifndef TC_OBJECT_STORE_CREDENTIALS_H
#define TC_OBJECT_STORE_CREDENTIALS_H

#include "base/slice.h"
#include "base/status.h"

#define TC_S3_KEY_MAX 256
#define TC_S3_SECRET_MAX 256
#define TC_S3_TOKEN_MAX 4096

struct tc_s3_credentials {
    char key[TC_S3_KEY_MAX];
    char secret[TC_S3_SECRET_MAX];
    char token[TC_S3_TOKEN_MAX]; /* "": none */
};

/*
 * From that file, or with NULL or "" from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
 * AWS_SESSION_TOKEN. The error names the file or the variable.
 */
TC_CHECKED tc_status tc_s3_credentials_load(const char *file, struct tc_s3_credentials *out,
                                            struct tc_error *err);
/* The text of such a file: aws_access_key_id = ..., aws_secret_access_key = ...,
 * aws_session_token = ...; of sections, [default] alone. */
TC_CHECKED tc_status tc_s3_credentials_read(struct tc_slice text, struct tc_s3_credentials *out,
                                            struct tc_error *err);

#endif
