/* SPDX-License-Identifier: Apache-2.0 */
#include "object_store/location.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BUCKET_MIN 3
#define FORM "s3://bucket/prefix?endpoint=https://host:port&region=name"

static bool is_plain(char c)
{
    return tc_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

/* Into a field of `size` bytes; false when it does not fit. */
static bool copy(char *out, size_t size, struct tc_slice text)
{
    if (text.len >= size) {
        return false;
    }
    if (text.len > 0) {
        memcpy(out, text.ptr, text.len);
    }
    out[text.len] = '\0';
    return true;
}

static bool read_bucket(struct tc_slice text, char *out)
{
    bool good = text.len >= BUCKET_MIN && copy(out, TC_S3_BUCKET_MAX, text);
    for (size_t i = 0; good && i < text.len; i++) {
        char c = text.ptr[i];
        good = tc_is_digit(c) || (c >= 'a' && c <= 'z') || ((c == '-' || c == '.') && i > 0);
    }
    return good && !tc_slice_contains(text, TC_LIT(".."));
}

/* Parts between slashes, each of plain characters and none "." or ".."; "a/b" becomes "a/b/". */
static bool read_prefix(struct tc_slice text, char *out)
{
    size_t len = 0;
    while (text.len > 0) {
        struct tc_slice part = tc_slice_cut(text, '/', &text);
        bool good = part.len > 0 && len + part.len + 2 <= TC_S3_PREFIX_MAX &&
                    !tc_slice_eq(part, TC_LIT(".")) && !tc_slice_eq(part, TC_LIT(".."));
        for (size_t i = 0; good && i < part.len; i++) {
            good = is_plain(part.ptr[i]);
        }
        if (!good) {
            return false;
        }
        memcpy(out + len, part.ptr, part.len);
        len += part.len;
        out[len++] = '/';
    }
    out[len] = '\0';
    return true;
}

static bool read_region(struct tc_slice text, char *out)
{
    bool good = text.len > 0 && copy(out, TC_S3_REGION_MAX, text);
    for (size_t i = 0; good && i < text.len; i++) {
        good = is_plain(text.ptr[i]);
    }
    return good;
}

/* The host itself is judged by whoever connects. */
static bool read_endpoint(struct tc_slice text, char *out)
{
    while (text.len > 0 && text.ptr[text.len - 1] == '/') {
        text.len--;
    }
    size_t scheme = tc_slice_starts(text, TC_LIT("https://"))  ? 8
                    : tc_slice_starts(text, TC_LIT("http://")) ? 7
                                                               : 0;
    struct tc_slice host = tc_slice_from(text, scheme);
    bool good = scheme > 0 && host.len > 0 && copy(out, TC_S3_ENDPOINT_MAX, text);
    for (size_t i = 0; good && i < host.len; i++) {
        char c = host.ptr[i];
        good = is_plain(c) || c == ':' || c == '[' || c == ']';
    }
    return good;
}

static tc_status read_parameters(struct tc_slice query, struct tc_s3_location *out,
                                 struct tc_error *err)
{
    while (query.len > 0) {
        struct tc_slice value = TC_EMPTY;
        struct tc_slice pair = tc_slice_cut(query, '&', &query);
        struct tc_slice name = tc_slice_cut(pair, '=', &value);
        if (tc_slice_eq(name, TC_LIT("endpoint"))) {
            if (!read_endpoint(value, out->endpoint)) {
                return tc_fail(err, TC_E_USAGE, 0,
                               "endpoint is http://host:port or https://host:port, without a path, "
                               "not \"%.*s\"",
                               TC_FMT(tc_slice_head(value, 80)));
            }
        } else if (tc_slice_eq(name, TC_LIT("region"))) {
            if (!read_region(value, out->region)) {
                return tc_fail(err, TC_E_USAGE, 0, "region is a name such as eu-central-1");
            }
        } else {
            return tc_fail(err, TC_E_USAGE, 0,
                           "\"%.*s\" is no parameter of it: endpoint and region are",
                           TC_FMT(tc_slice_head(name, 60)));
        }
    }
    return TC_OK;
}

tc_status tc_s3_location_read(struct tc_slice url, struct tc_s3_location *out, struct tc_error *err)
{
    struct tc_s3_location location = {.region = "us-east-1"};
    struct tc_slice scheme = TC_LIT("s3://");
    struct tc_slice query = TC_EMPTY;
    struct tc_slice prefix = TC_EMPTY;
    if (!tc_slice_starts(url, scheme)) {
        return tc_fail(err, TC_E_USAGE, 0, "does not begin with s3://; write " FORM);
    }
    struct tc_slice path = tc_slice_cut(tc_slice_from(url, scheme.len), '?', &query);
    struct tc_slice bucket = tc_slice_cut(path, '/', &prefix);
    if (!read_bucket(bucket, location.bucket)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "\"%.*s\" is no name of a bucket: 3 to 63 of a-z, 0-9, - and .; write " FORM,
                       TC_FMT(tc_slice_head(bucket, 70)));
    }
    if (!read_prefix(prefix, location.prefix)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "the prefix has parts of letters, digits, -, _ and . between slashes, less "
                       "than %d characters in all",
                       TC_S3_PREFIX_MAX - 1);
    }
    TC_TRY(read_parameters(query, &location, err));
    if (location.endpoint[0] == '\0') {
        (void)snprintf(location.endpoint, sizeof location.endpoint, "https://s3.%s.amazonaws.com",
                       location.region);
    }
    *out = location;
    return TC_OK;
}
