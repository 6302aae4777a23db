/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with values only together. A key that is itself mistaken is not compared. */
#include "base/assert.h"
#include "base/os/host.h"
#include "base/units.h"
#include "config/config_priv.h"
#include "event/xid.h"
#include "object_store/location.h"

#include <string.h>

/* As server/forward has room for. */
#define ENDPOINTS_MAX 8
#define ENDPOINT_BYTES_MAX 500

struct listener {
    enum tc_config_key listen;
    enum tc_config_key cert;
    enum tc_config_key key;
    enum tc_config_key client_ca;
};

static const struct listener LISTENERS[] = {
    {TC_KEY_receivers_otlp_http_listen, TC_KEY_receivers_otlp_http_tls_cert,
     TC_KEY_receivers_otlp_http_tls_key, TC_KEY_receivers_otlp_http_tls_client_ca},
    {TC_KEY_receivers_otlp_grpc_listen, TC_KEY_receivers_otlp_grpc_tls_cert,
     TC_KEY_receivers_otlp_grpc_tls_key, TC_KEY_receivers_otlp_grpc_tls_client_ca},
    {TC_KEY_api_listen, TC_KEY_api_tls_cert, TC_KEY_api_tls_key, TC_KEY_api_tls_client_ca},
};
#define LISTENER_COUNT (TC_COUNT(LISTENERS))

static const struct tc__config_node *node_of(struct tc__config_load *l, enum tc_config_key key)
{
    const struct tc__config_node *node =
        tc__config_find(l, tc_slice_cstr(tc__config_rows[key].path));
    TC_ASSERT(node != NULL);
    return node;
}

static struct tc_slice text_of(const struct tc_config *c, enum tc_config_key key)
{
    return tc_slice_cstr((const char *)c + tc__config_rows[key].offset);
}

/* The one of two keys that was written last: there the mistake can be mended. */
static const struct tc__config_node *later(const struct tc__config_node *a,
                                           const struct tc__config_node *b)
{
    if (a->place.origin != b->place.origin) {
        return a->place.origin > b->place.origin ? a : b;
    }
    bool a_is_later = a->place.line != b->place.line ? a->place.line > b->place.line
                                                     : a->place.column > b->place.column;
    return a_is_later ? a : b;
}

/* Says that the value of `small` must not be above that of `large`, where it is. */
static void check_order(struct tc__config_load *l, enum tc_config_key small,
                        enum tc_config_key large)
{
    const struct tc__config_node *a = node_of(l, small);
    const struct tc__config_node *b = node_of(l, large);
    const struct tc__config_row *row = &tc__config_rows[small];
    const void *small_at = (const char *)l->out + row->offset;
    const void *large_at = (const char *)l->out + tc__config_rows[large].offset;
    char small_text[32];
    char large_text[32];
    struct tc_buf small_buf = tc_buf_make(small_text, sizeof small_text);
    struct tc_buf large_buf = tc_buf_make(large_text, sizeof large_text);
    bool is_wrong = false;
    if (row->type == TC__DURATION) {
        int64_t x = *(const int64_t *)small_at;
        int64_t y = *(const int64_t *)large_at;
        is_wrong = x > y;
        tc_buf_duration_exact(&small_buf, x);
        tc_buf_duration_exact(&large_buf, y);
    } else {
        uint64_t x = *(const uint64_t *)small_at;
        uint64_t y = *(const uint64_t *)large_at;
        is_wrong = x > y;
        tc_buf_size_exact(&small_buf, x);
        tc_buf_size_exact(&large_buf, y);
    }
    const struct tc__config_node *at = later(a, b);
    if (is_wrong && !a->bad && !b->bad) {
        bool is_small = at == a;
        tc__config_mistake(l, &at->place, at->path, "%.*s is %s %s (%.*s)",
                           TC_FMT(tc_buf_slice(is_small ? &small_buf : &large_buf)),
                           is_small ? "more than" : "less than", is_small ? b->path : a->path,
                           TC_FMT(tc_buf_slice(is_small ? &large_buf : &small_buf)));
    }
}

static bool is_wildcard(struct tc_slice host)
{
    return tc_slice_eq(host, TC_LIT("0.0.0.0")) || tc_slice_eq(host, TC_LIT("::"));
}

static void check_tls(struct tc__config_load *l, const struct listener *at)
{
    const struct tc__config_node *cert = node_of(l, at->cert);
    const struct tc__config_node *key = node_of(l, at->key);
    bool has_cert = text_of(l->out, at->cert).len > 0;
    bool has_key = text_of(l->out, at->key).len > 0;
    if (has_cert != has_key && !cert->bad && !key->bad) {
        const struct tc__config_node *there = has_cert ? cert : key;
        tc__config_mistake(l, &there->place, there->path, "needs %s too",
                           has_cert ? key->path : cert->path);
    }
    const struct tc__config_node *ca = node_of(l, at->client_ca);
    if (text_of(l->out, at->client_ca).len > 0 && !has_cert && !ca->bad && !cert->bad) {
        tc__config_mistake(l, &ca->place, ca->path, "needs %s too", cert->path);
    }
}

/* Whether other machines reach the listener and nothing but tokens can keep them out. */
static bool is_open(const struct tc_config *c, const struct listener *at)
{
    struct tc_slice host;
    uint16_t port = 0;
    return !c->insecure && text_of(c, at->cert).len == 0 &&
           tc__config_address(text_of(c, at->listen), &host, &port) && !tc_host_is_loopback(host);
}

const char *tc__config_exposed_without(const struct tc_config *running,
                                       const struct tc_config *fresh)
{
    bool loses_tokens = running->auth_token_count > 0 && fresh->auth_token_count == 0;
    for (size_t i = 0; loses_tokens && i < LISTENER_COUNT; i++) {
        if (is_open(running, &LISTENERS[i])) {
            return text_of(running, LISTENERS[i].listen).ptr;
        }
    }
    return NULL;
}

static void check_exposed(struct tc__config_load *l, const struct listener *at)
{
    const struct tc__config_node *node = node_of(l, at->listen);
    bool is_mistaken = node->bad || node_of(l, TC_KEY_insecure)->bad ||
                       node_of(l, TC_KEY_auth_tokens)->bad || node_of(l, at->cert)->bad;
    if (is_mistaken || l->out->auth_token_count > 0 || !is_open(l->out, at)) {
        return;
    }
    char section[TC__CONFIG_PATH_MAX];
    struct tc_buf b = tc_buf_make(section, sizeof section);
    struct tc_slice path = tc_slice_cstr(tc__config_rows[at->cert].path);
    tc_buf_str(&b, tc_slice_head(path, path.len - strlen(".cert")));
    tc__config_mistake(l, &node->place, node->path,
                       "other machines can reach %.*s; set %.*s or auth.tokens, or insecure: true "
                       "if everybody may",
                       TC_FMT(text_of(l->out, at->listen)), TC_FMT(tc_buf_slice(&b)));
}

static void check_same(struct tc__config_load *l, const struct listener *one,
                       const struct listener *two)
{
    const struct tc__config_node *a = node_of(l, one->listen);
    const struct tc__config_node *b = node_of(l, two->listen);
    struct tc_slice a_host;
    struct tc_slice b_host;
    uint16_t a_port = 0;
    uint16_t b_port = 0;
    if (a->bad || b->bad || !tc__config_address(text_of(l->out, one->listen), &a_host, &a_port) ||
        !tc__config_address(text_of(l->out, two->listen), &b_host, &b_port) || a_port != b_port ||
        a_port == 0) {
        return;
    }
    if (tc_slice_eq_nocase(a_host, b_host) || is_wildcard(a_host) || is_wildcard(b_host)) {
        const struct tc__config_node *at = later(a, b);
        tc__config_mistake(l, &at->place, at->path, "port %u is that of %s too", a_port,
                           at == a ? b->path : a->path);
    }
}

static void check_xids(struct tc__config_load *l)
{
    struct tc_xid_list xids = {.count = 0};
    struct tc_error err = {0};
    const struct tc__config_node *node = node_of(l, TC_KEY_detection_xids);
    if (!node->bad &&
        tc_xid_list_read(tc_slice_cstr(l->out->detection_xids), &xids, &err) != TC_OK) {
        tc__config_mistake(l, &node->place, node->path, "%s", err.message);
    }
}

static void check_remote(struct tc__config_load *l)
{
    struct tc_s3_location location;
    struct tc_error err = {0};
    const struct tc__config_node *node = node_of(l, TC_KEY_evidence_remote);
    struct tc_slice url = tc_slice_cstr(l->out->evidence_remote);
    if (!node->bad && url.len > 0 && tc_s3_location_read(url, &location, &err) != TC_OK) {
        tc__config_mistake(l, &node->place, node->path, "%s", err.message);
    }
}

/* "http://host:port" or "https://..."; without a name and a password, which would be shown. */
static const char *endpoint_mistake(struct tc_slice url)
{
    struct tc_slice host = tc_slice_starts(url, TC_LIT("http://"))    ? tc_slice_from(url, 7)
                           : tc_slice_starts(url, TC_LIT("https://")) ? tc_slice_from(url, 8)
                                                                      : TC_EMPTY;
    if (host.len == 0 || host.ptr[0] == '/' || host.ptr[0] == ':') {
        return "is no address such as https://judge-a:4318";
    }
    if (tc_slice_find_byte(url, '@') != TC_NPOS || tc_slice_find_byte(url, '?') != TC_NPOS ||
        tc_slice_find_byte(url, '#') != TC_NPOS || tc_slice_find_byte(url, ' ') != TC_NPOS) {
        return "has more than a host, a port and a path; a token goes into forward.token_file";
    }
    return url.len > ENDPOINT_BYTES_MAX ? "is too long" : NULL;
}

static void check_forward(struct tc__config_load *l)
{
    const struct tc__config_node *node = node_of(l, TC_KEY_forward_endpoints);
    struct tc_slice rest = tc_slice_cstr(l->out->forward_endpoints);
    size_t count = 0;
    while (rest.len > 0 && !node->bad) {
        struct tc_slice before = tc_slice_head(tc_slice_cstr(l->out->forward_endpoints),
                                               (size_t)(rest.ptr - l->out->forward_endpoints));
        struct tc_slice url = tc_slice_cut(rest, '\n', &rest);
        const char *mistake = endpoint_mistake(url);
        if (mistake == NULL && ++count > ENDPOINTS_MAX) {
            mistake = "is one too many: there can be 8";
        }
        while (mistake == NULL && before.len > 0) {
            mistake =
                tc_slice_eq(tc_slice_cut(before, '\n', &before), url) ? "is there twice" : NULL;
        }
        if (mistake != NULL) {
            tc__config_mistake(l, &node->place, node->path, "\"%.*s\" %s", TC_FMT(url), mistake);
            return;
        }
    }
}

void tc__config_check(struct tc__config_load *l)
{
    check_forward(l);
    check_order(l, TC_KEY_forward_backoff_min, TC_KEY_forward_backoff_max);
    check_xids(l);
    check_remote(l);
    check_order(l, TC_KEY_verdicts_otlp_backoff_min, TC_KEY_verdicts_otlp_backoff_max);
    check_order(l, TC_KEY_alerts_backoff_min, TC_KEY_alerts_backoff_max);
    tc__config_check_quiet(l);
    check_order(l, TC_KEY_limits_body, TC_KEY_limits_body_decompressed);
    check_order(l, TC_KEY_limits_body, TC_KEY_limits_memory);
    check_order(l, TC_KEY_limits_body_decompressed, TC_KEY_limits_memory);
    for (size_t i = 0; i < LISTENER_COUNT; i++) {
        check_tls(l, &LISTENERS[i]);
        check_exposed(l, &LISTENERS[i]);
        for (size_t j = 0; j < i; j++) {
            check_same(l, &LISTENERS[j], &LISTENERS[i]);
        }
    }
}
