/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/clickhouse/url_priv.h"

#include "base/slice.h"
#include "base/time.h"

#include <stdio.h>
#include <string.h>

#define SHAPE "write clickhouse://user@host:8123/database"
#define WAIT_DEFAULT (120 * TC_SECOND)
#define WAIT_MAX_S 86400

static tc_status bad(struct tc_error *err, const char *why)
{
    return tc_fail(err, TC_E_USAGE, 0, "the warehouse's address %s; " SHAPE, why);
}

/* Names go into SQL and headers: nothing in them needs quotes there. */
static bool take_name(struct tc_slice text, char out[TC__CH_NAME_MAX])
{
    if (text.len == 0 || text.len >= TC__CH_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!tc_is_word(c) && c != '-' && c != '.') {
            return false;
        }
        out[i] = c;
    }
    out[text.len] = '\0';
    return true;
}

static bool take_file(struct tc_slice text, char out[TC__CH_FILE_MAX])
{
    if (text.len == 0 || text.len >= TC__CH_FILE_MAX) {
        return false;
    }
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return true;
}

/* "host", "host:port" or "[address]:port". */
static bool take_host(struct tc__ch_url *u, struct tc_slice text)
{
    uint64_t port = u->tls ? 8443 : 8123;
    size_t colon = tc_slice_find_last(text, TC_LIT(":"));
    size_t bracket = tc_slice_find_last(text, TC_LIT("]"));
    struct tc_slice host = text;
    if (colon != TC_NPOS && (bracket == TC_NPOS || colon > bracket)) {
        host = tc_slice_head(text, colon);
        if (!tc_slice_is_u64(tc_slice_from(text, colon + 1), &port)) {
            return false;
        }
    }
    bool plain = host.len > 0 && host.len < TC__CH_HOST_MAX - 8 && port > 0 && port < 65536;
    for (size_t i = 0; plain && i < host.len; i++) {
        char c = host.ptr[i];
        bool in_address = host.ptr[0] == '[' && (c == '[' || c == ']' || c == ':' || c == '%');
        plain = tc_is_word(c) || c == '-' || c == '.' || in_address;
    }
    if (!plain || u->host_count == TC__CH_HOSTS_MAX) {
        return false;
    }
    (void)snprintf(u->hosts[u->host_count++], TC__CH_HOST_MAX, "%.*s:%u", TC_FMT(host),
                   (unsigned)port);
    return true;
}

static bool take_wait(struct tc__ch_url *u, struct tc_slice text)
{
    uint64_t seconds = 0;
    bool ok = tc_slice_is_u64(text, &seconds) && seconds <= WAIT_MAX_S;
    u->wait_ns = (int64_t)seconds * TC_SECOND;
    return ok;
}

static tc_status take_options(struct tc__ch_url *u, struct tc_slice text, struct tc_error *err)
{
    while (text.len > 0) {
        struct tc_slice value;
        struct tc_slice key = tc_slice_cut(tc_slice_cut(text, '&', &text), '=', &value);
        bool ok = false;
        if (tc_slice_eq(key, TC_LIT("cluster"))) {
            ok = take_name(value, u->cluster);
        } else if (tc_slice_eq(key, TC_LIT("password_file"))) {
            ok = take_file(value, u->password_file);
        } else if (tc_slice_eq(key, TC_LIT("ca_file"))) {
            ok = take_file(value, u->ca_file);
        } else if (tc_slice_eq(key, TC_LIT("wait"))) {
            ok = take_wait(u, value);
        } else {
            return tc_fail(err, TC_E_USAGE, 0,
                           "the warehouse's address has the option \"%.*s\"; there are cluster, "
                           "password_file, ca_file and wait",
                           TC_FMT(tc_slice_head(key, 40)));
        }
        if (!ok) {
            return tc_fail(err, TC_E_USAGE, 0, "the warehouse's address: %.*s=%.*s cannot be",
                           TC_FMT(key), TC_FMT(tc_slice_head(value, 60)));
        }
    }
    return TC_OK;
}

static tc_status take_authority(struct tc__ch_url *u, struct tc_slice text, struct tc_error *err)
{
    size_t at = tc_slice_find_last(text, TC_LIT("@"));
    struct tc_slice hosts = at == TC_NPOS ? text : tc_slice_from(text, at + 1);
    struct tc_slice user = at == TC_NPOS ? TC_LIT("default") : tc_slice_head(text, at);
    if (tc_slice_find_byte(user, ':') != TC_NPOS) {
        return bad(err, "has a password, which others would see: put it into the environment "
                        "(TRACECORE_CLICKHOUSE_PASSWORD) or a file (?password_file=PATH)");
    }
    if (!take_name(user, u->user)) {
        return bad(err, "has a user with other signs than letters, digits, '_', '-' and '.'");
    }
    do {
        if (!take_host(u, tc_slice_cut(hosts, ',', &hosts))) {
            return bad(err, "has no host and port that could be one, or more than 16");
        }
    } while (hosts.len > 0);
    return TC_OK;
}

tc_status tc__ch_url_parse(const char *text, struct tc__ch_url *out, struct tc_error *err)
{
    struct tc_slice rest = tc_slice_cstr(text);
    struct tc_slice path;
    struct tc_slice options;
    *out = (struct tc__ch_url){.wait_ns = WAIT_DEFAULT};
    out->tls = tc_slice_starts(rest, TC_LIT("clickhouses://"));
    if (!out->tls && !tc_slice_starts(rest, TC_LIT("clickhouse://"))) {
        return bad(err, "begins with neither clickhouse:// nor clickhouses:// (TLS)");
    }
    rest = tc_slice_from(rest, out->tls ? sizeof "clickhouses://" - 1 : sizeof "clickhouse://" - 1);
    rest = tc_slice_cut(rest, '?', &options);
    struct tc_slice authority = tc_slice_cut(rest, '/', &path);
    TC_TRY(take_authority(out, authority, err));
    if (!take_name(path, out->database)) {
        return bad(err, "names no database, or one with other signs than letters, digits, '_', '-' "
                        "and '.'");
    }
    TC_TRY(take_options(out, options, err));
    if (out->host_count > 1 && out->cluster[0] == '\0') {
        return bad(err, "names several hosts and no cluster (?cluster=NAME)");
    }
    return TC_OK;
}
