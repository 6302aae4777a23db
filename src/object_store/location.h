/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where objects are kept: s3://bucket/prefix?endpoint=https://host:port&region=name. Only such
 * characters are taken as need no escaping anywhere, so that what is signed is what is sent.
 */
#ifndef TC_OBJECT_STORE_LOCATION_H
#define TC_OBJECT_STORE_LOCATION_H

#include "base/slice.h"
#include "base/status.h"

#define TC_S3_BUCKET_MAX 64
#define TC_S3_PREFIX_MAX 256
#define TC_S3_ENDPOINT_MAX 512
#define TC_S3_REGION_MAX 64

struct tc_s3_location {
    char bucket[TC_S3_BUCKET_MAX];
    char prefix[TC_S3_PREFIX_MAX];     /* "a/b/", or "" */
    char endpoint[TC_S3_ENDPOINT_MAX]; /* http://... or https://..., without a slash at its end */
    char region[TC_S3_REGION_MAX];
};

/* TC_E_USAGE with what is wrong. Without endpoint: Amazon's, of that region; region: us-east-1. */
TC_CHECKED tc_status tc_s3_location_read(struct tc_slice url, struct tc_s3_location *out,
                                         struct tc_error *err);

#endif
