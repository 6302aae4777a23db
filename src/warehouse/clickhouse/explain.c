/* SPDX-License-Identifier: Apache-2.0 */
/* What ClickHouse says went wrong, as what to change. */
#include "warehouse/clickhouse/client_priv.h"

#include <stdio.h>

enum kind { KIND_AGAIN, KIND_USER, KIND_DATABASE, KIND_RIGHTS, KIND_FEATURE, KIND_CLUSTER };

/* ClickHouse's numbers of errors, which have been the same since 2016. */
static const struct {
    uint64_t code;
    enum kind kind;
} CODES[] = {
    {32, KIND_AGAIN},    /* ATTEMPT_TO_READ_AFTER_EOF: a shard went away */
    {46, KIND_FEATURE},  /* UNKNOWN_FUNCTION */
    {56, KIND_FEATURE},  /* UNKNOWN_STORAGE */
    {62, KIND_FEATURE},  /* SYNTAX_ERROR */
    {73, KIND_FEATURE},  /* UNKNOWN_FORMAT */
    {81, KIND_DATABASE}, /* UNKNOWN_DATABASE */
    {115, KIND_FEATURE}, /* UNKNOWN_SETTING */
    {159, KIND_AGAIN},   /* TIMEOUT_EXCEEDED */
    {164, KIND_RIGHTS},  /* READONLY */
    {170, KIND_CLUSTER}, /* BAD_GET: no such cluster */
    {192, KIND_USER},    /* UNKNOWN_USER */
    {193, KIND_USER},    /* WRONG_PASSWORD */
    {194, KIND_USER},    /* REQUIRED_PASSWORD */
    {195, KIND_USER},    /* IP_ADDRESS_NOT_ALLOWED */
    {198, KIND_AGAIN},   /* DNS_ERROR */
    {202, KIND_AGAIN},   /* TOO_MANY_SIMULTANEOUS_QUERIES */
    {203, KIND_AGAIN},   /* NO_FREE_CONNECTION */
    {209, KIND_AGAIN},   /* SOCKET_TIMEOUT */
    {210, KIND_AGAIN},   /* NETWORK_ERROR */
    {225, KIND_AGAIN},   /* NO_ZOOKEEPER */
    {236, KIND_AGAIN},   /* ABORTED: it stops */
    {242, KIND_AGAIN},   /* TABLE_IS_READ_ONLY: it lost ZooKeeper */
    {252, KIND_AGAIN},   /* TOO_MANY_PARTS */
    {279, KIND_AGAIN},   /* ALL_CONNECTION_TRIES_FAILED */
    {285, KIND_AGAIN},   /* TOO_FEW_LIVE_REPLICAS */
    {291, KIND_RIGHTS},  /* DATABASE_ACCESS_DENIED */
    {319, KIND_AGAIN},   /* UNKNOWN_STATUS_OF_INSERT */
    {497, KIND_RIGHTS},  /* ACCESS_DENIED */
    {516, KIND_USER},    /* AUTHENTICATION_FAILED */
    {701, KIND_CLUSTER}, /* CLUSTER_DOESNT_EXIST */
    {999, KIND_AGAIN},   /* KEEPER_EXCEPTION */
};

/* "Code: 81, e.displayText() = DB::Exception: Database x doesn't exist, e.what() = ...", or
 * "Code: 81. DB::Exception: ... (UNKNOWN_DATABASE) (version 24.8.1)". */
static struct tc_slice message_of(struct tc_slice body)
{
    static const char mark[] = "DB::Exception: ";
    struct tc_slice rest;
    size_t at = tc_slice_find(body, tc_slice_cstr(mark));
    struct tc_slice text = at == TC_NPOS ? body : tc_slice_from(body, at + sizeof mark - 1);
    size_t end = tc_slice_find(text, TC_LIT(", e.what()"));
    text = end == TC_NPOS ? text : tc_slice_head(text, end);
    return tc_slice_head(tc_slice_trim(tc_slice_cut(text, '\n', &rest)), 120);
}

static tc_status explain_kind(const struct tc__ch_client *c, enum kind kind,
                              struct tc_slice message, struct tc_error *err)
{
    const struct tc__ch_url *u = c->url;
    switch (kind) {
    case KIND_AGAIN:
        return tc_fail(err, TC_E_AGAIN, 0, "ClickHouse at %s: %.*s", c->host, TC_FMT(message));
    case KIND_USER:
        return tc_fail(err, TC_E_USAGE, 0,
                       "ClickHouse at %s refuses the user \"%s\": wrong password, or no such user; "
                       "the password is what TRACECORE_CLICKHOUSE_PASSWORD or ?password_file= says",
                       c->host, u->user);
    case KIND_DATABASE:
        return tc_fail(err, TC_E_USAGE, 0,
                       "ClickHouse at %s has no database \"%s\": make it there (CREATE DATABASE "
                       "%s), or name another in the warehouse's address",
                       c->host, u->database, u->database);
    case KIND_RIGHTS:
        return tc_fail(err, TC_E_USAGE, 0,
                       "ClickHouse at %s does not let the user \"%s\" do that: %.*s", c->host,
                       u->user, TC_FMT(message));
    case KIND_CLUSTER:
        return tc_fail(err, TC_E_USAGE, 0,
                       "ClickHouse at %s: %.*s; ?cluster= in the warehouse's address has to be one "
                       "of its remote_servers",
                       c->host, TC_FMT(message));
    case KIND_FEATURE:
        break;
    }
    return tc_fail(err, TC_E_UNSUPPORTED, 0,
                   "ClickHouse %s at %s lacks what is needed (18.16 or newer has it): %.*s",
                   c->version_text, c->host, TC_FMT(message));
}

tc_status tc__ch_explain(const struct tc__ch_client *c, int http_status, struct tc_slice body,
                         struct tc_error *err)
{
    uint64_t code = 0;
    size_t at = tc_slice_find(body, TC_LIT("Code: "));
    struct tc_slice message = message_of(body);
    if (at == TC_NPOS || tc_slice_u64(tc_slice_from(body, at + 6), &code) == 0) {
        bool later = http_status == 502 || http_status == 503 || http_status == 504;
        return tc_fail(err, later ? TC_E_AGAIN : TC_E_IO, 0,
                       "%s answers %d, and not as ClickHouse does: %.*s", c->host, http_status,
                       TC_FMT(message));
    }
    for (size_t i = 0; i < TC_COUNT(CODES); i++) {
        if (CODES[i].code == code) {
            return explain_kind(c, CODES[i].kind, message, err);
        }
    }
    return tc_fail(err, TC_E_IO, 0, "ClickHouse at %s, error %llu: %.*s", c->host,
                   (unsigned long long)code, TC_FMT(message));
}
