/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread and one connection for each resource: list it in pages, then watch it from the list's
 * version on; after whatever ends the watch go on from the last version that is stored, and list
 * again where the server no longer has that (410).
 */
#include "base/clock.h"
#include "base/format.h"
#include "base/json/raw.h"
#include "base/random.h"
#include "observe/log.h"
#include "source/kubernetes/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES ((size_t)512 << 10)
/* A call beside a watch, and how much longer than it was asked for a watch may last. */
#define CALL_NS (30 * TC_SECOND)
/* A Retry-After beyond this counts as this. */
#define RETRY_AFTER_MAX_S 300U

static const struct {
    const char *name;
    const char *of_node; /* the selector of what is of a node, before its name */
} RESOURCES[TC__KUBE_RESOURCES] = {
    {"pods", "spec.nodeName%3D"},
    {"events", "involvedObject.kind%3DNode%2CinvolvedObject.name%3D"},
    {"nodes", "metadata.name%3D"},
};

static void destroy(void *state)
{
    struct tc_kubernetes *k = state;
    if (k == NULL) {
        return;
    }
    for (size_t i = 0; i < k->count; i++) {
        tc_http_client_destroy(k->resources[i].client);
    }
    (void)pthread_mutex_destroy(&k->lock);
    explicit_bzero(k->account.token, sizeof k->account.token);
    free(k);
}

static tc_status check_node(struct tc_slice node, struct tc_error *err)
{
    bool is_name = node.len < 254;
    for (size_t i = 0; i < node.len && is_name; i++) {
        is_name = tc_is_word(node.ptr[i]) || node.ptr[i] == '-' || node.ptr[i] == '.';
    }
    return is_name ? TC_OK
                   : tc_fail(err, TC_E_USAGE, 0,
                             "sources.kubernetes.node: \"%.*s\" is no name of a node",
                             TC_FMT(tc_slice_head(node, 120)));
}

static struct tc_slice pem_of(const struct tc__kube_pem *pem)
{
    return tc_slice_make(pem->bytes, pem->len);
}

static tc_status add_resource(struct tc_kubernetes *k, struct tc_slice node, struct tc_error *err)
{
    struct tc__kube_resource *r = &k->resources[k->count];
    const struct tc_http_tls tls = {.ca_file = k->account.ca_file,
                                    .cert_file = k->account.cert_file,
                                    .key_file = k->account.key_file,
                                    .ca_pem = pem_of(&k->account.ca_pem),
                                    .cert_pem = pem_of(&k->account.cert_pem),
                                    .key_pem = pem_of(&k->account.key_pem)};
    TC_TRY(tc_http_client_create(k->account.url, CALL_NS, &r->client, err));
    r->of = k;
    r->name = RESOURCES[k->count].name;
    r->page = 100;
    r->random = (uint64_t)tc_wall_ns() + k->count;
    if (node.len > 0) {
        (void)snprintf(r->selector, sizeof r->selector, "&fieldSelector=%s%.*s",
                       RESOURCES[k->count].of_node, TC_FMT(node));
    }
    k->count++;
    tc_http_client_take_gzip(r->client);
    return tc_http_client_tls(r->client, &tls, err);
}

tc_status tc_kubernetes_create(const struct tc_kubernetes_config *config, void **out_state,
                               struct tc_error *err)
{
    TC_TRY(check_node(config->node, err));
    struct tc_kubernetes *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to watch Kubernetes");
    }
    (void)pthread_mutex_init(&k->lock, NULL);
    k->watch_ns = config->watch_ns;
    tc_status status = tc__kube_account_find(config, &k->account, err);
    while (status == TC_OK && k->count < TC__KUBE_RESOURCES) {
        status = add_resource(k, config->node, err);
    }
    tc__kube_account_fini(&k->account);
    if (status != TC_OK) {
        destroy(k);
        return status;
    }
    *out_state = k;
    return TC_OK;
}

/* ---- storing ---- */

/* The position's key: of another server or selection it is another. */
static void write_stream(const struct tc__kube_resource *r, struct tc_buf *b)
{
    uint64_t hash = tc_slice_hash(tc_slice_cstr(r->of->account.url), 0);
    tc_buf_str(b, tc_slice_cstr(r->name));
    tc_buf_char(b, ':');
    tc_buf_hex(b, tc_slice_hash(tc_slice_cstr(r->selector), hash), 16);
}

/* Stores lines with the place, or the place alone; false: the daemon ends. */
static bool store(struct tc__kube_resource *r, struct tc_slice lines, uint64_t records)
{
    char stream_text[TC_SOURCE_STREAM_MAX];
    char position_text[TC_SOURCE_POSITION_MAX];
    char name_text[TC_SOURCE_LABEL_MAX + 64];
    struct tc_buf stream = tc_buf_make(stream_text, sizeof stream_text);
    struct tc_buf position = tc_buf_make(position_text, sizeof position_text);
    write_stream(r, &stream);
    tc__kube_place_write(&position, &r->place);
    if (lines.len == 0) {
        tc_port_keep(r->port, tc_buf_slice(&stream), tc_buf_slice(&position));
        tc_port_save(r->port, false);
        return true;
    }
    (void)snprintf(name_text, sizeof name_text, "%s/api/v1/%s", r->of->account.url, r->name);
    struct tc_source_chunk chunk = {
        .name = tc_slice_head(tc_slice_cstr(name_text), TC_SOURCE_LABEL_MAX),
        .format = TC_LIT("k8s"),
        .stream = tc_buf_slice(&stream),
        .position = tc_buf_slice(&position),
        .body = lines,
        .records = records,
    };
    return tc_port_put(r->port, &chunk, 1) == TC_OK;
}

struct restoring {
    struct tc__kube_resource *r;
    struct tc_slice stream;
};

static void restore(void *of, struct tc_slice stream, struct tc_slice position)
{
    const struct restoring *to = of;
    if (tc_slice_eq(stream, to->stream) && !tc__kube_place_read(position, &to->r->place)) {
        to->r->place = (struct tc__kube_place){0};
    }
}

/* ---- asking ---- */

enum outcome {
    WORKED,
    GONE, /* what was to be gone on with is too old */
    FAILED,
    ENDED, /* the daemon ends */
};

static void add_escaped(struct tc_buf *b, const char *key, const char *text)
{
    tc_buf_str(b, tc_slice_cstr(key));
    for (; *text != '\0'; text++) {
        if (tc_is_word(*text) || *text == '-' || *text == '.') {
            tc_buf_char(b, *text);
        } else {
            tc_buf_char(b, '%');
            tc_buf_hex(b, (unsigned char)*text, 2);
        }
    }
}

static void begin_path(const struct tc__kube_resource *r, struct tc_buf *b)
{
    tc_buf_lit(b, "/api/v1/");
    tc_buf_str(b, tc_slice_cstr(r->name));
    tc_buf_lit(b, "?");
}

/* What cannot be stored is counted, and said once: somebody has to know that it is not all. */
static void lose(struct tc__kube_resource *r, uint64_t count, const char *why)
{
    tc_port_lost(r->port, count);
    if (!r->is_loss_said) {
        r->is_loss_said = true;
        tc_log_fields(TC_LOG_WARN, "objects of Kubernetes are left out",
                      TC_LOG_CSTR("resource", r->name), TC_LOG_CSTR("why", why));
    }
}

static enum outcome refuse(struct tc__kube_resource *r, const struct tc_http_reply *reply)
{
    const char *hint = "";
    if (reply->status == 410) {
        return GONE;
    }
    if (reply->status >= 300 && reply->status < 400) {
        hint = ": redirects are not followed; give the address it leads to";
    } else if (reply->status == 401) {
        hint = ": the token is missing or not valid (sources.kubernetes.token_file)";
    } else if (reply->status == 403) {
        hint = ": the account may not list and watch them; bind a ClusterRole that may";
    } else if (reply->status == 404) {
        hint = "; is it an API server's address?";
    }
    r->retry_after_s = reply->retry_after_s;
    (void)snprintf(r->why, sizeof r->why, "the server answers %d%s", reply->status, hint);
    return FAILED;
}

/* Asks; with a sink it is a watch. */
static enum outcome ask(struct tc__kube_resource *r, const char *path, tc_http_sink sink,
                        int64_t timeout_ns, struct tc_http_reply *out_reply)
{
    char header_text[64 + TC__TOKEN_HEADER_MAX];
    struct tc_buf headers = tc_buf_make(header_text, sizeof header_text);
    struct tc_error err = {0};
    tc_buf_lit(&headers, "Accept: application/json\r\n");
    const struct tc__kube_account *account = &r->of->account;
    tc_status status = TC_OK;
    if (account->token[0] != '\0') {
        (void)tc_format(&headers, "Authorization: Bearer {}\r\n", account->token);
    } else {
        status = tc__token_header(account->token_file, &headers, &err);
    }
    if (status == TC_OK && sink == NULL) {
        status = tc_http_client_call(r->client, "GET", path, tc_buf_slice(&headers), TC_EMPTY,
                                     out_reply, &err);
    } else if (status == TC_OK) {
        status = tc_http_client_stream(r->client, path, tc_buf_slice(&headers), TC_EMPTY,
                                       timeout_ns, sink, r, out_reply, &err);
    }
    if (tc_port_is_stopping(r->port)) {
        return ENDED;
    }
    if (status != TC_OK) {
        (void)snprintf(r->why, sizeof r->why, "%s", err.message);
        return FAILED;
    }
    return out_reply->status == 200 ? WORKED : refuse(r, out_reply);
}

/* ---- lists ---- */

#define BEFORE "{\"type\":\"ADDED\",\"object\":"
#define AFTER "}\n"

/* Stores what a page has that is new; false: the daemon ends. */
static bool store_page(struct tc__kube_resource *r, const struct tc__kube_page *page)
{
    struct tc_buf b = tc_buf_make(r->lines.bytes, sizeof r->lines.bytes);
    struct tc_slice item;
    uint64_t records = 0;
    for (size_t at = 0; tc_json_raw_element(page->items, &at, &item);) {
        char key[TC__KUBE_KEY_MAX];
        struct tc_slice version;
        size_t needed = item.len + sizeof BEFORE + sizeof AFTER;
        if (needed > sizeof r->lines.bytes) {
            lose(r, 1, "an object has 256 KiB or more");
            continue;
        }
        if (needed > sizeof r->lines.bytes - b.len) {
            if (!store(r, tc_buf_slice(&b), records)) {
                return false;
            }
            tc_buf_reset(&b);
            records = 0;
        }
        tc__kube_item_read(item, key, &version);
        if (tc__kube_place_take(&r->place, page->version, tc_slice_cstr(key), version)) {
            tc_buf_lit(&b, BEFORE);
            tc_buf_str(&b, item);
            tc_buf_lit(&b, AFTER);
            records++;
        }
    }
    return b.len == 0 || store(r, tc_buf_slice(&b), records);
}

/* One page; *io_token is what it is asked with, then what the next is asked with. */
static enum outcome list_page(struct tc__kube_resource *r, char *io_token)
{
    char path[TC__KUBE_TOKEN_MAX * 3 + 1024];
    struct tc_buf b = tc_buf_make(path, sizeof path - 1);
    struct tc_http_reply reply = {0};
    struct tc__kube_page page;
    begin_path(r, &b);
    tc_buf_lit(&b, "limit=");
    tc_buf_u64(&b, r->page);
    tc_buf_str(&b, tc_slice_cstr(r->selector));
    if (io_token[0] != '\0') {
        add_escaped(&b, "&continue=", io_token);
    }
    path[b.len] = '\0';
    enum outcome outcome = ask(r, path, NULL, 0, &reply);
    if (outcome != WORKED) {
        return outcome;
    }
    if (reply.body.len >= TC_HTTP_REPLY_MAX && r->page > 1) {
        r->page /= 2;
        return WORKED; /* the same again, with fewer */
    }
    if (!tc__kube_page_read(reply.body, &page)) {
        (void)snprintf(r->why, sizeof r->why, "the server answers with no list%s",
                       reply.body.len >= TC_HTTP_REPLY_MAX ? ": an object is too long" : "");
        return FAILED;
    }
    if (io_token[0] == '\0') {
        tc__kube_place_listing(&r->place, page.version);
    }
    if (!store_page(r, &page)) {
        return ENDED;
    }
    (void)tc__kube_copy(io_token, TC__KUBE_TOKEN_MAX, page.token);
    if (page.token.len == 0) {
        tc__kube_place_watch(&r->place, page.version);
    } else if (tc_slice_eq(page.version, tc_slice_cstr(r->place.version))) {
        (void)tc__kube_copy(r->place.token, sizeof r->place.token, page.token);
    }
    return store(r, TC_EMPTY, 0) ? WORKED : ENDED;
}

/* All pages, from where the place says. */
static enum outcome list(struct tc__kube_resource *r)
{
    char token[TC__KUBE_TOKEN_MAX];
    enum outcome outcome = WORKED;
    memcpy(token, r->place.token, sizeof token);
    while (outcome == WORKED && !r->place.is_watched && !tc_port_is_stopping(r->port)) {
        outcome = list_page(r, token);
    }
    return outcome;
}

/* ---- watches ---- */

static enum tc__kube_verdict judge(void *context, struct tc_slice line)
{
    struct tc__kube_resource *r = context;
    struct tc__kube_event event = tc__kube_event_read(line);
    if (event.type == TC__KUBE_ERROR) {
        r->is_gone = event.code == 410;
        (void)snprintf(r->why, sizeof r->why, "the server ends the watch: %.*s",
                       TC_FMT(tc_slice_head(event.message, 200)));
        return TC__KUBE_END;
    }
    if (event.type == TC__KUBE_UNKNOWN) {
        r->lines.lost++;
        return TC__KUBE_DROP;
    }
    r->is_good = true;
    r->is_moved = event.type == TC__KUBE_BOOKMARK;
    (void)tc__kube_copy(r->place.version, sizeof r->place.version, event.version);
    return event.type == TC__KUBE_OBJECT ? TC__KUBE_KEEP : TC__KUBE_DROP;
}

static bool flush(void *context, struct tc_slice lines, uint64_t records)
{
    return store(context, lines, records);
}

static bool take(void *context, struct tc_slice bytes)
{
    struct tc__kube_resource *r = context;
    const struct tc__kube_lines_ops ops = {.judge = judge, .flush = flush, .context = r};
    bool go_on = tc__kube_lines_feed(&r->lines, bytes, &ops);
    if (r->lines.lost > 0) {
        lose(r, r->lines.lost, "an event has 256 KiB or more, or is none");
        r->lines.lost = 0;
    }
    if (go_on && r->is_moved) {
        r->is_moved = false;
        (void)store(r, TC_EMPTY, 0);
    }
    if (r->is_good && !r->is_told) {
        r->is_told = true;
        tc__kube_worked(r, false);
    }
    return go_on;
}

static enum outcome watch(struct tc__kube_resource *r)
{
    char path[2048];
    struct tc_buf b = tc_buf_make(path, sizeof path - 1);
    struct tc_http_reply reply = {0};
    uint32_t seconds = (uint32_t)(r->of->watch_ns / TC_SECOND);
    /* Not all agents come back at once. */
    seconds += tc_random_below(&r->random, seconds / 4 + 1);
    begin_path(r, &b);
    tc_buf_lit(&b, "watch=true&allowWatchBookmarks=true&timeoutSeconds=");
    tc_buf_u64(&b, seconds);
    tc_buf_str(&b, tc_slice_cstr(r->selector));
    add_escaped(&b, "&resourceVersion=", r->place.version);
    path[b.len] = '\0';
    tc__kube_lines_begin(&r->lines);
    r->is_gone = r->is_good = r->is_told = r->is_moved = false;
    r->why[0] = '\0';
    int64_t begin_ns = tc_mono_ns();
    enum outcome outcome = ask(r, path, take, (int64_t)seconds * TC_SECOND + CALL_NS, &reply);
    if (outcome == ENDED) {
        return outcome;
    }
    if (r->is_gone) {
        return GONE;
    }
    /* One that ends with nothing at once is no watch. */
    bool is_short = !r->is_good && tc_mono_ns() - begin_ns < TC_SECOND;
    if (outcome == WORKED && is_short && r->why[0] == '\0') {
        (void)snprintf(r->why, sizeof r->why, "the server ends watches at once");
    }
    return outcome == WORKED && (r->why[0] != '\0') ? FAILED : outcome;
}

/* ---- the threads ---- */

/* How long to wait after so many failures in a row: a quarter of a second to half a minute, and by
 * chance up to half of that less. */
static int64_t backoff_ns(struct tc__kube_resource *r, unsigned tries)
{
    int64_t whole = (TC_SECOND / 4) << (tries < 7 ? tries : 7);
    return whole - (int64_t)(tc_random_unit(&r->random) * (double)whole / 2);
}

/* The server may ask for more: it is overloaded (429, 503), and knows for how long. */
static int64_t pause_ns(struct tc__kube_resource *r, unsigned tries)
{
    unsigned seconds = r->retry_after_s < RETRY_AFTER_MAX_S ? r->retry_after_s : RETRY_AFTER_MAX_S;
    int64_t asked_ns = (int64_t)seconds * TC_SECOND;
    int64_t own_ns = backoff_ns(r, tries);
    r->retry_after_s = 0;
    return asked_ns > own_ns ? asked_ns : own_ns;
}

static void *follow(void *context)
{
    struct tc__kube_resource *r = context;
    unsigned tries = 0;
    while (!tc_port_is_stopping(r->port)) {
        bool is_list = !r->place.is_watched;
        tc_port_behind(r->port, is_list);
        enum outcome outcome = is_list ? list(r) : watch(r);
        if (outcome == ENDED) {
            break;
        }
        bool is_good = outcome == WORKED || (!is_list && r->is_good);
        tries = is_good ? 0 : tries;
        if (is_good && (is_list || !r->is_told)) {
            tc__kube_worked(r, is_list);
        }
        if (outcome == GONE) {
            tc__kube_place_relist(&r->place);
        } else if (outcome == FAILED && !is_good) {
            tc__kube_failed(r, r->why);
        }
        if (outcome != WORKED) {
            (void)tc_port_wait(r->port, -1, pause_ns(r, tries));
            tries++;
        }
    }
    return NULL;
}

static void begin(struct tc__kube_resource *r, struct tc_source_port *port)
{
    char text[TC_SOURCE_STREAM_MAX];
    struct tc_buf stream = tc_buf_make(text, sizeof text);
    r->port = port;
    write_stream(r, &stream);
    struct restoring to = {.r = r, .stream = tc_buf_slice(&stream)};
    tc_port_positions(port, restore, &to);
    tc_http_client_stop_on(r->client, tc_port_stop_fd(port));
}

static void run(void *state, struct tc_source_port *port)
{
    struct tc_kubernetes *k = state;
    pthread_attr_t attr;
    bool is_started[TC__KUBE_RESOURCES] = {false};
    tc_port_watches(port, k->count);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (size_t i = 0; i < k->count; i++) {
        struct tc__kube_resource *r = &k->resources[i];
        begin(r, port);
        is_started[i] = pthread_create(&r->thread, &attr, follow, r) == 0;
        if (!is_started[i]) {
            tc_port_fail(port, "%s: its thread cannot be started", r->name);
        }
    }
    (void)pthread_attr_destroy(&attr);
    for (size_t i = 0; i < k->count; i++) {
        if (is_started[i]) {
            (void)pthread_join(k->resources[i].thread, NULL);
        }
    }
}

const struct tc_source_kind tc_source_kubernetes = {
    .name = "kubernetes",
    .run = run,
    .destroy = destroy,
    .describe = tc__kube_describe,
};
