/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One easy handle in a multi handle of its own: the multi handle keeps the connection, and its poll
 * waits for the caller's stop descriptor as well, which curl_easy_perform cannot.
 */
#include "http_client/http_client.h"

#include "base/assert.h"
#include "base/table/grow.h"
#include "http_client/client_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BASE_MAX ((size_t)2 << 10)        /* of the address */
#define HEAD_MAX ((size_t)16 << 10)       /* of a request: path and headers */
#define REPLY_HEAD_MAX ((size_t)80 << 10) /* of a reply, with the 1xx ones before it */
#define WAIT_MAX_MS 60000                 /* libcurl's own timers end a wait earlier */

struct tc_http_client {
    const struct tc__curl *curl;
    CURL *easy;
    CURLM *multi;
    int stop_fd;
    bool tls;
    size_t base_len; /* of url: the address, without a slash at its end */
    char url[BASE_MAX + HEAD_MAX];
    char authority[BASE_MAX + sizeof ":443"]; /* host:port, for messages */
    char headers[HEAD_MAX + 1];
    /* The call. */
    size_t request_len;
    size_t reply_head_len;
    const char *refused; /* why a callback ended the call; NULL: none did */
    bool cut;
    struct tc_grow body;
    tc_http_sink sink; /* of a stream; NULL: the body is kept */
    void *sink_context;
    bool is_enough;     /* the sink wants no more */
    int64_t timeout_ns; /* of a call */
    bool is_signed;     /* and the reply's headers go to head */
    struct tc_grow head;
    const struct tc__http_upload *upload; /* of the call; NULL: none */
    char reason[CURL_ERROR_SIZE];
};

/* ---- callbacks ------------------------------------------------------------------------------ */

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *a)
{
    (void)context;
    (void)purpose;
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
    struct tc_http_client *c = context;
    size_t len = size * count;
    c->reply_head_len += len;
    if (c->reply_head_len > REPLY_HEAD_MAX) {
        c->refused = "headers of more than 80 KiB";
    } else if (tc_slice_starts(tc_slice_make(data, len), TC_LIT("HTTP/1.1 101"))) {
        c->refused = "another protocol, unasked"; /* libcurl would take all that follows as body */
    }
    if (c->is_signed) {
        if (tc_slice_starts(tc_slice_make(data, len), TC_LIT("HTTP/"))) {
            tc_buf_reset(&c->head.buf); /* a 1xx was before it */
        }
        tc_grow_str(&c->head, tc_slice_make(data, len));
    }
    return c->refused == NULL ? len : 0;
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
    struct tc_http_client *c = context;
    size_t len = size * count;
    long status = 0;
    if (c->sink != NULL) {
        (void)c->curl->easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    }
    if (status == 200) {
        c->is_enough = c->is_enough || !c->sink(c->sink_context, tc_slice_make(data, len));
        return c->is_enough ? 0 : len;
    }
    size_t room = TC_HTTP_REPLY_MAX - c->body.buf.len;
    c->cut = len > room;
    tc_grow_str(&c->body, tc_slice_make(data, c->cut ? room : len));
    return c->cut || c->body.failed ? 0 : len;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static tc_status bad_url(struct tc_error *err, const char *text, const char *why)
{
    return tc_fail(err, TC_E_USAGE, 0, "\"%.120s\" %s; write http://host:port or https://host:port",
                   text, why);
}

/* What libcurl finds wrong with it; NULL: nothing. *out_has_port: it names one, from 1 on. */
static const char *check_url(const struct tc__curl *curl, const char *text, bool *out_has_port)
{
    CURLU *url = curl->url();
    char *port = NULL;
    CURLUcode code =
        url == NULL ? CURLUE_OUT_OF_MEMORY : curl->url_set(url, CURLUPART_URL, text, 0);
    *out_has_port = code == CURLUE_OK && curl->url_get(url, CURLUPART_PORT, &port, 0) == CURLUE_OK;
    if (*out_has_port && strcmp(port, "0") == 0) {
        code = CURLUE_BAD_PORT_NUMBER;
    }
    curl->free(port);
    curl->url_cleanup(url);
    return code == CURLUE_OK ? NULL : curl->url_strerror(code);
}

static tc_status take_url(struct tc_http_client *c, const char *text, struct tc_error *err)
{
    struct tc_slice all = tc_slice_cstr(text);
    c->tls = tc_slice_starts(all, TC_LIT("https://"));
    if (!c->tls && !tc_slice_starts(all, TC_LIT("http://"))) {
        return bad_url(err, text, "does not begin with http:// or https://");
    }
    if (all.len >= BASE_MAX) {
        return bad_url(err, text, "has more than 2,047 bytes");
    }
    struct tc_slice path;
    struct tc_slice host = tc_slice_cut(tc_slice_from(all, c->tls ? 8 : 7), '/', &path);
    if (tc_slice_find_byte(all, '?') != TC_NPOS || tc_slice_find_byte(all, '#') != TC_NPOS) {
        return bad_url(err, text, "has a query or a fragment");
    }
    if (tc_slice_find_byte(host, '@') != TC_NPOS) {
        return bad_url(err, text, "has a user name; give an Authorization header instead");
    }
    bool has_port = false;
    const char *why = host.len == 0 ? "no host" : check_url(c->curl, text, &has_port);
    if (why == NULL && !has_port && host.ptr[host.len - 1] == ':') {
        why = "no port after the colon"; /* libcurl takes the usual one then */
    }
    if (why != NULL) {
        char shown[100];
        (void)snprintf(shown, sizeof shown, "is no address (%s)", why);
        return bad_url(err, text, shown);
    }
    (void)snprintf(c->authority, sizeof c->authority, "%.*s%s", TC_FMT(host),
                   has_port ? ""
                   : c->tls ? ":443"
                            : ":80");
    c->base_len = all.len;
    while (text[c->base_len - 1] == '/') {
        c->base_len--;
    }
    memcpy(c->url, text, c->base_len);
    return TC_OK;
}

static CURLcode set_timeout(struct tc_http_client *c, int64_t timeout_ns)
{
    int64_t ms = (timeout_ns + 999999) / 1000000;
    return c->curl->easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)(ms > INT_MAX ? INT_MAX : ms));
}

/* What holds for all calls. The first code that is no CURLE_OK. */
static CURLcode set_options(struct tc_http_client *c)
{
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_SSL_VERIFYPEER, 1},
        {CURLOPT_SSL_VERIFYHOST, 2},
        {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_HTTP09_ALLOWED, 0},
        {CURLOPT_PATH_AS_IS, 1},
        /* A stream's peer may be silent for long, or gone. */
        {CURLOPT_TCP_KEEPALIVE, 1},
        {CURLOPT_TCP_KEEPIDLE, 30},
        {CURLOPT_TCP_KEEPINTVL, 10},
    };
    const struct {
        CURLoption option;
        const void *value; /* NULL: as libcurl has it */
    } pointers[] = {
        {CURLOPT_PROTOCOLS_STR, "http,https"},
        {CURLOPT_PROXY, ""}, /* not what http_proxy says: nothing leaves by a way nobody set */
        {CURLOPT_USERAGENT, "tracecore"},
        {CURLOPT_ERRORBUFFER, c->reason},
        {CURLOPT_HEADERDATA, c},
        {CURLOPT_WRITEDATA, c},
        {CURLOPT_CAINFO, secure_getenv("SSL_CERT_FILE")},
        {CURLOPT_CAPATH, secure_getenv("SSL_CERT_DIR")},
    };
    CURLcode code = set_timeout(c, c->timeout_ns);
    for (size_t i = 0; i < TC_COUNT(numbers) && code == CURLE_OK; i++) {
        code = c->curl->easy_setopt(c->easy, numbers[i].option, numbers[i].value);
    }
    for (size_t i = 0; i < TC_COUNT(pointers) && code == CURLE_OK; i++) {
        if (pointers[i].value != NULL) {
            code = c->curl->easy_setopt(c->easy, pointers[i].option, pointers[i].value);
        }
    }
    (void)c->curl->easy_setopt(c->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)c->curl->easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)c->curl->easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
    return code;
}

static tc_status prepare(struct tc_http_client *c, const char *url, int64_t timeout_ns,
                         struct tc_error *err)
{
    TC_TRY(take_url(c, url, err));
    c->easy = c->curl->easy_init();
    c->multi = c->curl->multi_init();
    if (c->easy == NULL || c->multi == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a connection to %s", c->authority);
    }
    c->timeout_ns = timeout_ns;
    CURLcode code = set_options(c);
    return code == CURLE_OK
               ? TC_OK
               : tc_fail(err, TC_E_UNSUPPORTED, 0, "libcurl: %s; 7.85 or newer is wanted",
                         c->curl->easy_strerror(code));
}

tc_status tc_http_client_create(const char *url, int64_t timeout_ns,
                                struct tc_http_client **out_client, struct tc_error *err)
{
    const struct tc__curl *curl = NULL;
    TC_TRY(tc__curl_load(&curl, err));
    struct tc_http_client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for an HTTP client");
    }
    c->curl = curl;
    c->stop_fd = -1;
    tc_status status = prepare(c, url, timeout_ns, err);
    if (status != TC_OK) {
        tc_http_client_destroy(c);
        return status;
    }
    *out_client = c;
    return TC_OK;
}

void tc_http_client_destroy(struct tc_http_client *c)
{
    if (c != NULL) {
        c->curl->easy_cleanup(c->easy);
        (void)c->curl->multi_cleanup(c->multi);
        tc_grow_fini(&c->body);
        tc_grow_fini(&c->head);
        free(c);
    }
}

void tc_http_client_stop_on(struct tc_http_client *c, int fd)
{
    c->stop_fd = fd;
}

static tc_status take_pem(struct tc_http_client *c, const struct tc_http_tls *tls,
                          struct tc_error *err)
{
    const struct {
        CURLoption option;
        struct tc_slice pem;
    } blobs[] = {
        {CURLOPT_CAINFO_BLOB, tls->ca_pem},
        {CURLOPT_SSLCERT_BLOB, tls->cert_pem},
        {CURLOPT_SSLKEY_BLOB, tls->key_pem},
    };
    for (size_t i = 0; i < TC_COUNT(blobs); i++) {
        struct curl_blob blob = {.len = blobs[i].pem.len, .flags = CURL_BLOB_COPY};
        memcpy(&blob.data, &blobs[i].pem.ptr, sizeof blob.data); /* it is only read */
        if (blob.len > 0 && c->curl->easy_setopt(c->easy, blobs[i].option, &blob) != CURLE_OK) {
            return tc_fail(err, TC_E_UNSUPPORTED, 0, "libcurl does not take a certificate");
        }
    }
    return TC_OK;
}

tc_status tc_http_client_tls(struct tc_http_client *c, const struct tc_http_tls *tls,
                             struct tc_error *err)
{
    const struct {
        CURLoption option;
        const char *file;
    } files[] = {
        {CURLOPT_CAINFO, tls->ca_file},
        {CURLOPT_SSLCERT, tls->cert_file},
        {CURLOPT_SSLKEY, tls->key_file},
    };
    for (size_t i = 0; i < TC_COUNT(files); i++) {
        bool is_given = files[i].file != NULL && files[i].file[0] != '\0';
        if (is_given && access(files[i].file, R_OK) != 0) {
            return tc_fail(err, TC_E_IO, 0, "%s: %s", files[i].file, strerror(errno));
        }
        if (is_given && c->curl->easy_setopt(c->easy, files[i].option, files[i].file) != CURLE_OK) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for the name of a certificate");
        }
    }
    return take_pem(c, tls, err);
}

void tc_http_client_take_gzip(struct tc_http_client *c)
{
    (void)c->curl->easy_setopt(c->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
}

/* ---- what went wrong ------------------------------------------------------------------------ */

static int64_t info_number(const struct tc_http_client *c, CURLINFO what)
{
    curl_off_t value = 0;
    (void)c->curl->easy_getinfo(c->easy, what, &value);
    return value;
}

/* What the call was at when it ended. */
static const char *phase(const struct tc_http_client *c)
{
    if (info_number(c, CURLINFO_PRETRANSFER_TIME_T) > 0) {
        return info_number(c, CURLINFO_SIZE_UPLOAD_T) < (int64_t)c->request_len
                   ? "sending"
                   : "waiting for its reply";
    }
    if (info_number(c, CURLINFO_NAMELOOKUP_TIME_T) == 0) {
        return "looking up its name";
    }
    return c->tls ? "connecting or beginning TLS" : "connecting";
}

static tc_status fail_connect(const struct tc_http_client *c, const char *reason,
                              struct tc_error *err)
{
    long code = 0;
    (void)c->curl->easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &code);
    return tc_fail(err, TC_E_IO, 0, "%s: cannot connect: %s%s", c->authority,
                   code == 0 ? reason : strerror((int)code),
                   code == ECONNREFUSED ? "; is it running, and is the port right?" : "");
}

static tc_status explain(const struct tc_http_client *c, CURLcode code, struct tc_error *err)
{
    const char *reason = c->reason[0] != '\0' ? c->reason : c->curl->easy_strerror(code);
    const char *when = c->reply_head_len > 0 ? "in the middle of its reply" : "without a reply";
    reason = c->refused != NULL ? c->refused : reason;
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return tc_fail(err, TC_E_IO, 0, "%s: no address for this name; is it spelled right?",
                       c->authority);
    case CURLE_COULDNT_CONNECT:
        return fail_connect(c, reason, err);
    case CURLE_OPERATION_TIMEDOUT:
        return tc_fail(err, TC_E_IO, 0,
                       "%s: timed out while %s; is it up, and is the time limit long enough?",
                       c->authority, phase(c));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s: its certificate is not trusted: %s; SSL_CERT_FILE can name a PEM file "
                       "with the authority's",
                       c->authority, reason);
    case CURLE_SSL_CONNECT_ERROR:
        return tc_fail(err, TC_E_IO, 0, "%s: TLS handshake: %s; does it speak https?", c->authority,
                       reason);
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return tc_fail(err, TC_E_IO, 0, "%s: closed the connection %s", c->authority, when);
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return tc_fail(err, TC_E_IO, 0, "%s: the connection broke %s: %s", c->authority, when,
                       reason);
    case CURLE_OUT_OF_MEMORY:
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the reply of %s", c->authority);
    case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9 */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_WRITE_ERROR: /* on_header did not take it */
        return tc_fail(err, TC_E_IO, 0, "%s: its reply is no HTTP (%s); is it an HTTP server%s?",
                       c->authority, reason, c->tls ? "" : ", and is https:// meant");
    default: /* libcurl's are many */
        return tc_fail(err, TC_E_IO, 0, "%s: %s", c->authority, reason);
    }
}

/* ---- the call ------------------------------------------------------------------------------- */

/* "Name: value\r\n" lines as libcurl's list; NULL: no memory. */
static struct curl_slist *make_headers(struct tc_http_client *c, struct tc_slice headers)
{
    /* What libcurl would add of its own. It signs these too, though they are not sent (7.88). */
    struct curl_slist *list = c->curl->slist_append(
        NULL, c->is_signed ? "Content-Type: application/octet-stream" : "Content-Type:");
    struct curl_slist *grown =
        list == NULL || c->is_signed ? list : c->curl->slist_append(list, "Expect:");
    char *line = c->headers;
    if (headers.len > 0) {
        memcpy(line, headers.ptr, headers.len);
    }
    line[headers.len] = '\0';
    for (char *end = NULL; grown != NULL && (end = strstr(line, "\r\n")) != NULL; line = end + 2) {
        *end = '\0';
        char *colon = strchr(line, ':');
        if (colon != NULL && colon[1 + strspn(colon + 1, " \t")] == '\0') {
            colon[0] = ';'; /* libcurl's way to send one without a value */
            colon[1] = '\0';
        }
        grown = c->curl->slist_append(list, line);
    }
    if (grown == NULL) {
        c->curl->slist_free_all(list);
    }
    return grown == NULL ? NULL : list;
}

static CURLcode set_request(struct tc_http_client *c, const char *method, const char *path,
                            const struct curl_slist *headers, struct tc_slice body)
{
    const struct tc__curl *curl = c->curl;
    bool bare = body.len == 0 && strcmp(method, "GET") == 0;
    bool head = strcmp(method, "HEAD") == 0;
    memcpy(c->url + c->base_len, path, strlen(path) + 1);
    CURLcode code = curl->easy_setopt(c->easy, CURLOPT_URL, c->url);
    if (code == CURLE_OK) {
        code = curl->easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, bare || head ? NULL : method);
    }
    /* In this order: a body makes it a POST, the two after it something else. */
    (void)curl->easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    (void)curl->easy_setopt(c->easy, CURLOPT_POSTFIELDS, body.len == 0 ? "" : body.ptr);
    (void)curl->easy_setopt(c->easy, bare ? CURLOPT_HTTPGET : CURLOPT_POST, 1L);
    (void)curl->easy_setopt(c->easy, CURLOPT_NOBODY, head ? 1L : 0L);
    (void)curl->easy_setopt(c->easy, CURLOPT_HTTPHEADER, headers);
    if (c->upload != NULL) {
        c->request_len = c->upload->len;
        c->upload->prepare(c->upload->context, curl, c->easy);
    }
    return code;
}

/* Runs the transfer to its end. */
static tc_status transfer(struct tc_http_client *c, struct tc_error *err)
{
    const struct tc__curl *curl = c->curl;
    int running = 0;
    CURLMcode code = curl->multi_perform(c->multi, &running);
    while (code == CURLM_OK && running > 0) {
        struct curl_waitfd stop = {.fd = c->stop_fd, .events = CURL_WAIT_POLLIN};
        code = curl->multi_poll(c->multi, &stop, c->stop_fd >= 0 ? 1 : 0, WAIT_MAX_MS, NULL);
        if (stop.revents != 0) {
            return tc_fail(err, TC_E_IO, 0, "%s: stopped while %s", c->authority, phase(c));
        }
        code = code == CURLM_OK ? curl->multi_perform(c->multi, &running) : code;
    }
    int left = 0;
    const CURLMsg *message = code == CURLM_OK ? curl->multi_info_read(c->multi, &left) : NULL;
    if (message == NULL) {
        return tc_fail(err, TC_E_IO, 0, "%s: %s", c->authority, curl->multi_strerror(code));
    }
    bool done = message->data.result == CURLE_OK || c->is_enough || (c->cut && !c->body.failed);
    return done ? TC_OK
                : explain(c, c->body.failed ? CURLE_OUT_OF_MEMORY : message->data.result, err);
}

static void read_reply(const struct tc_http_client *c, struct tc_http_reply *out)
{
    long status = 0;
    (void)c->curl->easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    int64_t after = info_number(c, CURLINFO_RETRY_AFTER);
    after = after < 0 ? 0 : after > TC_HTTP_RETRY_AFTER_MAX ? TC_HTTP_RETRY_AFTER_MAX : after;
    *out = (struct tc_http_reply){
        .status = (int)status, .retry_after_s = (unsigned)after, .body = tc_grow_slice(&c->body)};
}

tc_status tc_http_client_call(struct tc_http_client *c, const char *method, const char *path,
                              struct tc_slice headers, struct tc_slice body,
                              struct tc_http_reply *out_reply, struct tc_error *err)
{
    TC_ASSERT(headers.len == 0 || tc_slice_ends(headers, TC_LIT("\r\n")));
    if (headers.len + strlen(path) >= HEAD_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "%s: path and headers of more than 16 KiB",
                       c->authority);
    }
    tc_buf_reset(&c->body.buf);
    tc_buf_reset(&c->head.buf);
    c->body.failed = false;
    c->head.failed = false;
    c->cut = false;
    c->is_enough = false;
    c->refused = NULL;
    c->reply_head_len = 0;
    c->request_len = body.len;
    c->reason[0] = '\0';
    struct curl_slist *list = make_headers(c, headers);
    if (list == NULL || set_request(c, method, path, list, body) != CURLE_OK ||
        c->curl->multi_add_handle(c->multi, c->easy) != CURLM_OK) {
        c->curl->slist_free_all(list);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a request to %s", c->authority);
    }
    tc_status status = transfer(c, err);
    if (status == TC_OK) {
        read_reply(c, out_reply);
    }
    (void)c->curl->multi_remove_handle(c->multi, c->easy);
    c->curl->slist_free_all(list);
    return status;
}

tc_status tc_http_client_stream(struct tc_http_client *c, const char *path, struct tc_slice headers,
                                struct tc_slice body, int64_t timeout_ns, tc_http_sink sink,
                                void *context, struct tc_http_reply *out_reply,
                                struct tc_error *err)
{
    c->sink = sink;
    c->sink_context = context;
    (void)set_timeout(c, timeout_ns);
    tc_status status =
        tc_http_client_call(c, body.len == 0 ? "GET" : "POST", path, headers, body, out_reply, err);
    (void)set_timeout(c, c->timeout_ns);
    c->sink = NULL;
    return status;
}

/* ---- for signed.c --------------------------------------------------------------------------- */

const struct tc__curl *tc__http_client_curl(struct tc_http_client *c, CURL **out_easy)
{
    *out_easy = c->easy;
    return c->curl;
}

struct tc_slice tc__http_client_head(struct tc_http_client *c)
{
    return c->head.failed ? TC_EMPTY : tc_grow_slice(&c->head);
}

void tc__http_client_is_signed(struct tc_http_client *c)
{
    c->is_signed = true;
}

tc_status tc__http_client_upload(struct tc_http_client *c, const char *path,
                                 struct tc_slice headers, const struct tc__http_upload *upload,
                                 int64_t timeout_ns, struct tc_http_reply *out_reply,
                                 struct tc_error *err)
{
    c->upload = upload;
    (void)set_timeout(c, timeout_ns);
    tc_status status = tc_http_client_call(c, "PUT", path, headers, TC_EMPTY, out_reply, err);
    (void)set_timeout(c, c->timeout_ns);
    (void)c->curl->easy_setopt(c->easy, CURLOPT_UPLOAD, 0L);
    c->upload = NULL;
    return status;
}
