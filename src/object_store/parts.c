/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object that is sent in parts. The server keeps parts until the upload is completed or aborted:
 * one that a process left behind when it died is aborted before the next attempt at that object,
 * which comes, because the object was not noted as shipped.
 */
#include "object_store/s3_priv.h"
#include "object_store/xml.h"

#include "base/table/grow.h"
#include "base/url.h"

#include <stdlib.h>

#define QUERY_MAX (3 * TC__UPLOAD_ID_MAX + 64)
/* Uploads of one object that are aborted at a time; there is one at the most. */
#define LEFT_MAX 16

/* s->path for an upload; part 0: the upload itself. */
static tc_status upload_path(struct tc_s3 *s, size_t part, struct tc_slice id, struct tc_error *err)
{
    char query[QUERY_MAX];
    struct tc_buf b = tc_buf_make(query, sizeof query - 1);
    if (part > 0) {
        tc_buf_lit(&b, "partNumber=");
        tc_buf_u64(&b, part);
        tc_buf_char(&b, '&');
    }
    tc_buf_lit(&b, "uploadId=");
    tc_buf_url(&b, id);
    query[b.len] = '\0';
    return !b.overflowed && tc__s3_path(s, s->key, query)
               ? TC_OK
               : tc_fail(err, TC_E_LIMIT, 0, "the store's id of an upload is too long");
}

/* ---- left from before ---- */

struct left {
    const char *key;
    bool is_ours; /* the key of the upload that is being read */
    size_t count;
    char ids[LEFT_MAX][TC__UPLOAD_ID_MAX];
};

static bool take_upload(void *context, struct tc_slice path, struct tc_slice text)
{
    struct left *l = context;
    if (tc_slice_eq(path, TC_LIT("ListMultipartUploadsResult/Upload/Key"))) {
        l->is_ours = tc_slice_eq(text, tc_slice_cstr(l->key));
    }
    if (tc_slice_eq(path, TC_LIT("ListMultipartUploadsResult/Upload/UploadId")) && l->is_ours &&
        text.len > 0 && text.len < TC__UPLOAD_ID_MAX) {
        memcpy(l->ids[l->count], text.ptr, text.len);
        l->ids[l->count++][text.len] = '\0';
    }
    return l->count < LEFT_MAX;
}

/* A store that cannot list them, or may not for us, is none that cannot take the object. */
static tc_status abort_left(struct tc_s3 *s, struct tc_error *err)
{
    char query[TC__S3_PATH_MAX];
    struct tc_buf b = tc_buf_make(query, sizeof query - 1);
    tc_buf_lit(&b, "prefix=");
    tc_buf_url(&b, tc_slice_cstr(s->key));
    tc_buf_lit(&b, "&uploads=");
    query[b.len] = '\0';
    if (b.overflowed || !tc__s3_path(s, "", query)) {
        return tc_fail(err, TC_E_LIMIT, 0, "the prefix of evidence.remote is too long");
    }
    TC_TRY(tc__s3_request(s, "GET", TC_EMPTY, TC_EMPTY, err));
    struct left *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the parts of an object");
    }
    l->key = s->key;
    if (s->reply.status == 200) {
        (void)!tc_xml_read(s->reply.body, take_upload, l);
    }
    tc_status status = TC_OK;
    for (size_t i = 0; i < l->count && status == TC_OK; i++) {
        status = upload_path(s, 0, tc_slice_cstr(l->ids[i]), err);
        status = status == TC_OK ? tc__s3_request(s, "DELETE", TC_EMPTY, TC_EMPTY, err) : status;
    }
    free(l);
    return status;
}

/* ---- one upload ---- */

struct created {
    char id[TC__UPLOAD_ID_MAX];
};

static bool take_id(void *context, struct tc_slice path, struct tc_slice text)
{
    struct created *c = context;
    if (tc_slice_eq(path, TC_LIT("InitiateMultipartUploadResult/UploadId")) && text.len > 0 &&
        text.len < sizeof c->id) {
        memcpy(c->id, text.ptr, text.len);
        c->id[text.len] = '\0';
    }
    return c->id[0] == '\0';
}

static tc_status create(struct tc_s3 *s, struct created *out, struct tc_error *err)
{
    char lock[256];
    if (!tc__s3_path(s, s->key, "uploads=")) {
        return TC_E_LIMIT;
    }
    TC_TRY(tc__s3_request(s, "POST", tc__s3_lock_headers(s, lock), TC_EMPTY, err));
    if (s->reply.status == 200) {
        (void)!tc_xml_read(s->reply.body, take_id, out);
    }
    return out->id[0] != '\0' ? TC_OK : tc__s3_refused(s, "POST of an upload", err);
}

/* It is sent back as it came: only what an ETag consists of is taken. */
static tc_status take_etag(struct tc_s3 *s, struct tc__part *part, struct tc_error *err)
{
    struct tc_slice etag = tc_http_client_header(s->client, TC_LIT("etag"));
    bool good = etag.len > 0 && etag.len < sizeof part->etag;
    for (size_t i = 0; good && i < etag.len; i++) {
        char c = etag.ptr[i];
        good = tc_is_word(c) || c == '"' || c == '-';
    }
    if (!good) {
        return tc_fail(err, TC_E_IO, 0, "%s gives no ETag for a part: is it an S3 server?",
                       s->config.location.endpoint);
    }
    memcpy(part->etag, etag.ptr, etag.len);
    part->etag[etag.len] = '\0';
    return TC_OK;
}

static tc_status send_parts(struct tc_s3 *s, struct tc__put *put, struct tc_slice id,
                            struct tc_error *err)
{
    for (size_t i = 0; i < put->count; i++) {
        TC_TRY(upload_path(s, i + 1, id, err));
        TC_TRY(tc__s3_send(s, put, &put->parts[i], TC_EMPTY, err));
        TC_TRY(take_etag(s, &put->parts[i], err));
    }
    return TC_OK;
}

static bool take_completed(void *context, struct tc_slice path, struct tc_slice text)
{
    bool *done = context;
    (void)text;
    *done = *done || tc_slice_starts(path, TC_LIT("CompleteMultipartUploadResult/"));
    return !*done;
}

/* The status says little: it may be sent before the server is done, and an error follows. */
static tc_status complete(struct tc_s3 *s, const struct tc__put *put, struct tc_slice id,
                          struct tc_error *err)
{
    struct tc_grow g = {0};
    bool done = false;
    tc_grow_lit(&g, "<CompleteMultipartUpload>");
    for (size_t i = 0; i < put->count; i++) {
        tc_grow_lit(&g, "<Part><PartNumber>");
        tc_grow_i64(&g, (int64_t)i + 1);
        tc_grow_lit(&g, "</PartNumber><ETag>");
        tc_grow_str(&g, tc_slice_cstr(put->parts[i].etag));
        tc_grow_lit(&g, "</ETag></Part>");
    }
    tc_grow_lit(&g, "</CompleteMultipartUpload>");
    tc_status status = g.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the parts of an object")
                           : upload_path(s, 0, id, err);
    if (status == TC_OK) {
        status = tc__s3_request(s, "POST", TC_EMPTY, tc_grow_slice(&g), err);
    }
    tc_grow_fini(&g);
    TC_TRY(status);
    if (s->reply.status == 200) {
        (void)!tc_xml_read(s->reply.body, take_completed, &done);
    }
    return done ? TC_OK : tc__s3_refused(s, "POST of all parts", err);
}

tc_status tc__s3_put_parts(struct tc_s3 *s, struct tc__put *put, struct tc_error *err)
{
    struct created upload = {0};
    TC_TRY(abort_left(s, err));
    TC_TRY(create(s, &upload, err));
    struct tc_slice id = tc_slice_cstr(upload.id);
    tc_status status = send_parts(s, put, id, err);
    status = status == TC_OK ? complete(s, put, id, err) : status;
    if (status != TC_OK) {
        struct tc_error ignored; /* if this fails too, the next attempt aborts it */
        if (upload_path(s, 0, id, &ignored) == TC_OK) {
            (void)!tc__s3_request(s, "DELETE", TC_EMPTY, TC_EMPTY, &ignored);
        }
    }
    return status;
}
