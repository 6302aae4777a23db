/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/ui.h"

#include "server/answer.h"
#include "server/api/http.h"

/* The longest file, without its compression. */
#define FILE_BYTES_MAX ((size_t)1 << 20)

#define POLICY                                                                               \
    TC_LIT("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
           "connect-src 'self'; font-src 'self'; base-uri 'none'; frame-ancestors 'none'; "  \
           "form-action 'none'")
#define FOR_GOOD TC_LIT("public, max-age=31536000, immutable")
#define EACH_TIME TC_LIT("no-cache")

static const struct tc_ui_file *find_file(struct tc_slice path)
{
    for (size_t i = 0; i < tc_ui_file_count; i++) {
        if (tc_slice_eq(path, tc_slice_cstr(tc_ui_files[i].path))) {
            return &tc_ui_files[i];
        }
    }
    return NULL;
}

/* An address within the dashboard: no file, and nothing that another service has. */
static bool is_page(struct tc_slice path)
{
    static const char *const others[] = {"/api", "/mcp", "/v1", "/assets"};
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        struct tc_slice other = tc_slice_cstr(others[i]);
        if (tc_slice_starts(path, other) && (path.len == other.len || path.ptr[other.len] == '/')) {
            return false;
        }
    }
    return path.len > 0 && path.ptr[0] == '/' && tc_slice_find(path, TC_LIT("..")) == TC_NPOS &&
           tc_slice_find(path, TC_LIT("//")) == TC_NPOS &&
           tc_slice_find_byte(path, '\\') == TC_NPOS;
}

const struct tc_ui_file *tc_ui_find(const struct tc_request *r)
{
    const struct tc_ui_file *file = find_file(r->path);
    bool wants_page = tc_slice_find_nocase(r->accept, TC_LIT("text/html")) != TC_NPOS;
    if (file == NULL && (tc_slice_eq(r->path, TC_LIT("/")) || (wants_page && is_page(r->path)))) {
        file = find_file(TC_LIT("/index.html"));
    }
    return file;
}

void tc_ui_respond(struct tc_request *r, const struct tc_ui_file *file, struct tc_pool *pool,
                   struct tc_inflater *inflater)
{
    bool as_gzip = file->is_gzip && tc_http_takes_gzip(r->accept_encoding);
    struct tc_slice etag = tc_slice_cstr(file->etag);
    const struct tc_header headers[] = {
        {TC_LIT("ETag"), etag},
        {TC_LIT("Cache-Control"), file->is_hashed ? FOR_GOOD : EACH_TIME},
        {TC_LIT("Vary"), TC_LIT("Accept-Encoding")},
        {TC_LIT("Content-Security-Policy"), POLICY},
        {TC_LIT("X-Content-Type-Options"), TC_LIT("nosniff")},
        {TC_LIT("Referrer-Policy"), TC_LIT("no-referrer")},
        {TC_LIT("Cross-Origin-Opener-Policy"), TC_LIT("same-origin")},
        {TC_LIT("Content-Encoding"), as_gzip ? TC_LIT("gzip") : TC_EMPTY},
    };
    struct tc_response response = {
        .answer = TC_ANSWER_OK,
        .content_type = tc_slice_cstr(file->content_type),
        .body = tc_slice_make((const char *)file->bytes, file->len),
        .headers = headers,
        .header_count = TC_COUNT(headers),
    };
    struct tc_buffer *plain = NULL;
    struct tc_error err = {0};
    if (tc_http_has_tag(r->if_none_match, etag)) {
        response.answer = TC_ANSWER_NOT_MODIFIED;
        response.body = TC_EMPTY;
        response.content_type = TC_EMPTY;
    } else if (file->is_gzip && !as_gzip) {
        if (tc_inflate(inflater, TC_ENCODING_GZIP, response.body, pool, FILE_BYTES_MAX, &plain,
                       &err) == TC_OK) {
            response.body = tc_slice_make((const char *)plain->data, plain->len);
        } else {
            response = (struct tc_response){.answer = TC_ANSWER_BUSY,
                                            .message = TC_LIT("no memory now; try again"),
                                            .retry_after_s = TC_RETRY_SOON_S};
        }
    }
    tc_answer_count(r, response.answer);
    tc_request_respond(r, &response);
    tc_buffer_give(plain);
}
