/* SPDX-License-Identifier: Apache-2.0 */
#include "server/front.h"

#include "base/assert.h"
#include "observe/metrics.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES_MAX 256

/* The host of "host", "host:port" and "[v6]:port", without brackets, port and the dot of the root.
 */
static struct tc_slice host_of(struct tc_slice authority)
{
    struct tc_slice rest;
    if (authority.len > 0 && authority.ptr[0] == '[') {
        return tc_slice_cut(tc_slice_from(authority, 1), ']', &rest);
    }
    struct tc_slice host = tc_slice_cut(authority, ':', &rest);
    bool is_rooted = host.len > 1 && host.ptr[host.len - 1] == '.';
    return is_rooted ? tc_slice_head(host, host.len - 1) : host;
}

static bool is_address(struct tc_slice host)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];
    struct tc_slice zone;
    host = tc_slice_cut(host, '%', &zone);
    if (host.len >= sizeof text) {
        return false;
    }
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* A name of server.allowed_hosts: "*" is all, "*.example" what ends with ".example". */
static bool is_allowed(struct tc_slice host, struct tc_slice names)
{
    while (names.len > 0) {
        struct tc_slice name = tc_slice_cut(names, '\n', &names);
        struct tc_slice end = tc_slice_from(name, name.len > 0 && name.ptr[0] == '*');
        bool is_pattern = end.len < name.len;
        struct tc_slice tail = host.len > end.len ? tc_slice_from(host, host.len - end.len) : host;
        if (tc_slice_eq_nocase(is_pattern ? tail : host, end) || (is_pattern && end.len == 0)) {
            return true;
        }
    }
    return false;
}

static bool is_known(const struct tc_config *config, struct tc_slice host)
{
    const char *const listeners[] = {config->api_listen, config->receivers_otlp_http_listen,
                                     config->receivers_otlp_grpc_listen};
    char machine[NAME_BYTES_MAX] = "";
    if (host.len == 0) {
        return false;
    }
    /* Only a name can be pointed here by somebody else: an address is what the user asked for. */
    if (is_address(host) || tc_slice_eq_nocase(host, TC_LIT("localhost")) ||
        is_allowed(host, tc_slice_cstr(config->server_allowed_hosts))) {
        return true;
    }
    for (size_t i = 0; i < TC_COUNT(listeners); i++) {
        if (tc_slice_eq_nocase(host, host_of(tc_slice_cstr(listeners[i])))) {
            return true;
        }
    }
    return gethostname(machine, sizeof machine - 1) == 0 &&
           tc_slice_eq_nocase(host, tc_slice_cstr(machine));
}

enum tc_answer tc_front_check_host(const struct tc_config *config, const struct tc_request *r,
                                   struct tc_response *out)
{
    /* HTTP/1.0 may leave it out; no browser speaks that. */
    if (r->host.ptr == NULL || is_known(config, host_of(r->host))) {
        return TC_ANSWER_OK;
    }
    tc_count(TC_COUNT_REJECTED_UNKNOWN_HOST, 1);
    out->message = TC_LIT("this server does not know itself by the name in the Host header; if "
                          "the name is right, add it to server.allowed_hosts");
    return TC_ANSWER_FORBIDDEN;
}

/* Whether the page is our own: "http://" or "https://" and what Host says too, a known name. */
static bool is_own(const struct tc_config *config, const struct tc_request *r)
{
    struct tc_slice authority = TC_EMPTY;
    if (tc_slice_starts(r->origin, TC_LIT("http://"))) {
        authority = tc_slice_from(r->origin, strlen("http://"));
    } else if (tc_slice_starts(r->origin, TC_LIT("https://"))) {
        authority = tc_slice_from(r->origin, strlen("https://"));
    }
    return tc_slice_eq_nocase(authority, r->host) && is_known(config, host_of(authority));
}

enum tc_answer tc_front_check_page(const struct tc_config *config, const struct tc_request *r,
                                   struct tc_response *out)
{
    bool is_site_fine = r->fetch_site.len == 0 ||
                        tc_slice_eq(r->fetch_site, TC_LIT("same-origin")) ||
                        tc_slice_eq(r->fetch_site, TC_LIT("none"));
    if (is_site_fine && (r->origin.len == 0 || is_own(config, r))) {
        return TC_ANSWER_OK;
    }
    tc_count(TC_COUNT_REJECTED_CROSS_SITE, 1);
    out->message = TC_LIT("a web page of another origin sent this (Origin, Sec-Fetch-Site); if "
                          "the page is this server's, add its name to server.allowed_hosts");
    return TC_ANSWER_FORBIDDEN;
}

static bool is_token(struct tc_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!tc_is_word(c) && (c == '\0' || strchr("!#$%&'*+-.^`|~", c) == NULL)) {
            return false;
        }
    }
    return text.len > 0;
}

bool tc_front_is_form_type(struct tc_slice content_type)
{
    static const struct {
        struct tc_slice type;
        struct tc_slice subtype;
    } forms[] = {
        {{"text", 4}, {"plain", 5}},
        {{"multipart", 9}, {"form-data", 9}},
        {{"application", 11}, {"x-www-form-urlencoded", 21}},
    };
    struct tc_slice parameters;
    struct tc_slice subtype;
    struct tc_slice essence = tc_slice_trim(tc_slice_cut(content_type, ';', &parameters));
    struct tc_slice type = tc_slice_cut(essence, '/', &subtype);
    bool is_form = !is_token(type) || !is_token(subtype);
    for (size_t i = 0; i < TC_COUNT(forms); i++) {
        is_form = is_form || (tc_slice_eq_nocase(type, forms[i].type) &&
                              tc_slice_eq_nocase(subtype, forms[i].subtype));
    }
    return is_form;
}
