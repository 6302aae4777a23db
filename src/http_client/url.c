/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "http_client/http_client.h"
#include "http_client/http_client_priv.h"

#include <arpa/inet.h>

static tc_status bad(struct tc_error *err, const char *text, const char *why)
{
    return tc_fail(err, TC_E_USAGE, 0, "\"%.120s\" %s; write http://host:port or https://host:port",
                   text, why);
}

static bool is_printable(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] == 0x7f || (unsigned char)s.ptr[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

static bool copy(char *to, size_t size, struct tc_slice s)
{
    if (s.len >= size) {
        return false;
    }
    struct tc_buf b = tc_buf_make(to, size - 1);
    tc_buf_str(&b, s);
    to[b.len] = '\0';
    return true;
}

/* "host", "host:port", "[::1]:port": in two. */
static bool split_authority(struct tc_slice s, struct tc_slice *out_host, struct tc_slice *out_port)
{
    *out_port = TC_EMPTY;
    if (s.len > 0 && s.ptr[0] == '[') {
        size_t end = tc_slice_find_byte(s, ']');
        if (end == TC_NPOS) {
            return false;
        }
        *out_host = tc_slice_make(s.ptr + 1, end - 1);
        struct tc_slice rest = tc_slice_from(s, end + 1);
        if (rest.len > 0 && rest.ptr[0] != ':') {
            return false;
        }
        *out_port = tc_slice_from(rest, 1);
        return rest.len != 1;
    }
    size_t colon = tc_slice_find_byte(s, ':');
    *out_host = tc_slice_cut(s, ':', out_port);
    return colon == TC_NPOS || out_port->len > 0;
}

static bool is_number(const char *host)
{
    struct in6_addr address;
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

tc_status tc__http_url_parse(const char *text, struct tc__http_url *out, struct tc_error *err)
{
    struct tc_slice all = tc_slice_cstr(text);
    struct tc__http_url url = {0};
    if (tc_slice_starts(all, TC_LIT("https://"))) {
        url.tls = true;
        all = tc_slice_from(all, 8);
    } else if (tc_slice_starts(all, TC_LIT("http://"))) {
        all = tc_slice_from(all, 7);
    } else {
        return bad(err, text, "does not begin with http:// or https://");
    }
    if (!is_printable(all)) {
        return bad(err, text, "has a space or a byte that no address has");
    }
    struct tc_slice rest;
    size_t slash = tc_slice_find_byte(all, '/');
    struct tc_slice authority = tc_slice_cut(all, '/', &rest);
    struct tc_slice path = slash == TC_NPOS ? TC_EMPTY : tc_slice_from(all, slash);
    if (tc_slice_find_byte(all, '?') != TC_NPOS || tc_slice_find_byte(all, '#') != TC_NPOS) {
        return bad(err, text, "has a query or a fragment");
    }
    if (tc_slice_find_byte(authority, '@') != TC_NPOS) {
        return bad(err, text, "has a user name; give an Authorization header instead");
    }
    struct tc_slice host;
    struct tc_slice port;
    if (!split_authority(authority, &host, &port) || host.len == 0 ||
        !copy(url.host, sizeof url.host, host)) {
        return bad(err, text, "names no host");
    }
    uint64_t number = 0;
    if (port.len > 0 && (!tc_slice_is_u64(port, &number) || number == 0 || number > 65535)) {
        return bad(err, text, "has no port from 1 to 65535");
    }
    number = port.len > 0 ? number : url.tls ? 443 : 80;
    (void)snprintf(url.port, sizeof url.port, "%u", (unsigned)(uint16_t)number);
    bool bracket = tc_slice_find_byte(host, ':') != TC_NPOS;
    (void)snprintf(url.authority, sizeof url.authority, bracket ? "[%s]:%s" : "%s:%s", url.host,
                   url.port);
    url.is_literal = is_number(url.host);
    while (path.len > 0 && path.ptr[path.len - 1] == '/') {
        path.len--;
    }
    if (!copy(url.path, sizeof url.path, path)) {
        return bad(err, text, "has a path of more than 1,023 bytes");
    }
    *out = url;
    return TC_OK;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, IMF-fixdate). */
static bool parse_date(struct tc_slice s, int64_t *out_ns)
{
    struct tc_slice rest;
    (void)tc_slice_cut(s, ',', &rest);
    rest = tc_slice_trim(rest);
    static const struct {
        size_t at;
        size_t len;
    } NUMBERS[] = {{0, 2}, {7, 4}, {12, 2}, {15, 2}, {18, 2}};
    uint64_t value[5];
    if (rest.len < 24 || !tc_slice_ends(rest, TC_LIT(" GMT"))) {
        return false;
    }
    for (size_t i = 0; i < 5; i++) {
        struct tc_slice digits = tc_slice_make(rest.ptr + NUMBERS[i].at, NUMBERS[i].len);
        if (!tc_slice_is_u64(digits, &value[i])) {
            return false;
        }
    }
    struct tc_civil civil = {.year = (int32_t)value[1],
                             .month = tc_time_month(tc_slice_make(rest.ptr + 3, 3)),
                             .day = (int32_t)value[0],
                             .hour = (int32_t)value[2],
                             .minute = (int32_t)value[3],
                             .second = (int32_t)value[4]};
    return civil.month != 0 && tc_time_from_civil(&civil, out_ns);
}

unsigned tc__http_retry_after(struct tc_slice value, int64_t now_ns)
{
    struct tc_slice s = tc_slice_trim(value);
    uint64_t seconds = 0;
    int64_t at_ns = 0;
    if (!tc_slice_is_u64(s, &seconds)) {
        if (!parse_date(s, &at_ns) || at_ns <= now_ns) {
            return 0;
        }
        seconds = (uint64_t)(at_ns - now_ns + TC_SECOND - 1) / (uint64_t)TC_SECOND;
    }
    return (unsigned)(seconds > TC_HTTP_RETRY_AFTER_MAX ? TC_HTTP_RETRY_AFTER_MAX : seconds);
}
