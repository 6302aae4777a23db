/* SPDX-License-Identifier: Apache-2.0 */
/* What a server refused, and which setting mends it. */
#include "object_store/s3_priv.h"
#include "object_store/xml.h"

#include "base/clock.h"
#include "base/time.h"

#define FIELD_MAX 72

struct refusal {
    char code[FIELD_MAX];
    char message[FIELD_MAX];
    char region[FIELD_MAX];
    char server_time[FIELD_MAX];
    char request_time[FIELD_MAX];
};

/* Of what somebody else wrote: the beginning, and nothing that a terminal would act on. */
static void copy_shown(char *out, struct tc_slice text)
{
    size_t len = text.len < FIELD_MAX - 1 ? text.len : FIELD_MAX - 1;
    for (size_t i = 0; i < len; i++) {
        out[i] = text.ptr[i] >= ' ' && text.ptr[i] < 0x7f ? text.ptr[i] : '?';
    }
    out[len] = '\0';
}

static bool take_field(void *context, struct tc_slice path, struct tc_slice text)
{
    struct refusal *r = context;
    const struct {
        const char *path;
        char *to;
    } fields[] = {
        {"Error/Code", r->code},
        {"Error/Message", r->message},
        {"Error/Region", r->region},
        {"Error/ServerTime", r->server_time},
        {"Error/RequestTime", r->request_time},
    };
    for (size_t i = 0; i < TC_COUNT(fields); i++) {
        if (tc_slice_eq(path, tc_slice_cstr(fields[i].path))) {
            copy_shown(fields[i].to, text);
        }
    }
    return true;
}

#define KEYS "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or evidence.remote_credentials_file"

/* Codes that say what is to be done. */
static const struct {
    const char *code;
    const char *advice;
} ADVICE[] = {
    {"InvalidAccessKeyId", "the store does not know the access key; check " KEYS},
    {"SignatureDoesNotMatch", "the secret key is wrong, or the access key unknown; check " KEYS},
    {"AccessDenied", "the key may not do this; it needs s3:PutObject, s3:GetObject and "
                     "s3:ListBucket (with a lock s3:PutObjectRetention) on the bucket and prefix "
                     "of evidence.remote"},
    {"NoSuchBucket", "the bucket of evidence.remote is not there; make it, or correct the name"},
    {"InvalidBucketName", "the store does not take the name of the bucket of evidence.remote"},
    {"ExpiredToken", "AWS_SESSION_TOKEN has expired; new credentials are needed (" KEYS ")"},
    {"InvalidToken", "AWS_SESSION_TOKEN is not valid (" KEYS ")"},
    {"NoSuchKey", "the object is not there"},
    {"InvalidObjectState", "the object is archived; restore it first"},
    {"QuotaExceeded", "the store's quota is used up"},
    {"SlowDown", "the store asks for fewer requests"},
};

/* A region that is not that of evidence.remote; "": nothing was said. */
static void find_region(struct tc_s3 *s, struct refusal *r)
{
    struct tc_slice said = tc_http_client_header(s->client, TC_LIT("x-amz-bucket-region"));
    if (r->region[0] == '\0' && said.len > 0) {
        copy_shown(r->region, said);
    }
    if (strcmp(r->region, s->config.location.region) == 0) {
        r->region[0] = '\0';
    }
}

static tc_status skewed(struct tc_s3 *s, struct refusal *r, struct tc_error *err)
{
    if (r->server_time[0] == '\0') {
        copy_shown(r->server_time, tc_http_client_header(s->client, TC_LIT("date")));
    }
    char ours[TC_PUT_TIME_MAX + 1];
    struct tc_buf b = tc_buf_make(ours, sizeof ours - 1);
    tc_buf_time(&b, tc_wall_ns());
    ours[b.len] = '\0';
    return tc_fail(err, TC_E_IO, 0,
                   "s3://%s: RequestTimeTooSkewed: the store's clock says %s, this machine's %s; "
                   "set the clock (NTP)",
                   s->config.location.bucket,
                   r->server_time[0] == '\0' ? "otherwise" : r->server_time,
                   r->request_time[0] == '\0' ? ours : r->request_time);
}

tc_status tc__s3_refused(struct tc_s3 *s, const char *what, struct tc_error *err)
{
    const char *bucket = s->config.location.bucket;
    struct refusal r = {0};
    int status = s->reply.status;
    bool is_xml = tc_xml_read(s->reply.body, take_field, &r) == TC_OK;
    find_region(s, &r);
    if (strcmp(r.code, "RequestTimeTooSkewed") == 0) {
        return skewed(s, &r, err);
    }
    bool elsewhere = status == 301 || status == 307 || strcmp(r.code, "PermanentRedirect") == 0 ||
                     strcmp(r.code, "AuthorizationHeaderMalformed") == 0;
    if (elsewhere) {
        bool is_known = r.region[0] != '\0';
        return tc_fail(err, TC_E_IO, 0,
                       "s3://%s: %s: HTTP %d %s: the bucket is in another region than %s%s%s; "
                       "correct region and endpoint of evidence.remote",
                       bucket, what, status, r.code, s->config.location.region,
                       is_known ? ": " : "", r.region);
    }
    for (size_t i = 0; i < TC_COUNT(ADVICE); i++) {
        if (strcmp(r.code, ADVICE[i].code) == 0) {
            bool is_missing = strcmp(r.code, "NoSuchKey") == 0;
            return tc_fail(err, is_missing ? TC_E_NOTFOUND : TC_E_IO, 0, "s3://%s: %s: %s: %s",
                           bucket, what, r.code, ADVICE[i].advice);
        }
    }
    if (r.code[0] != '\0') {
        return tc_fail(err, TC_E_IO, 0, "s3://%s: %s: HTTP %d, %s: %s", bucket, what, status,
                       r.code, r.message);
    }
    if (status >= 500 || status == 429) {
        return tc_fail(err, TC_E_IO, 0, "s3://%s: %s: HTTP %d; the store is in trouble", bucket,
                       what, status);
    }
    return tc_fail(err, TC_E_IO, 0,
                   "%.120s: %s: HTTP %d with %s of S3; is the endpoint of evidence.remote an S3 "
                   "server?",
                   s->config.location.endpoint, what, status,
                   is_xml ? "a document not" : "no document");
}
