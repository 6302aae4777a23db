/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a ClickHouse is, as people write it:
 *
 *   clickhouse://user@host:8123/database?cluster=name&password_file=/run/secrets/clickhouse
 *
 * clickhouses:// speaks TLS (port 8443). With a cluster several hosts may be named, with commas.
 */
#ifndef TC_WAREHOUSE_CLICKHOUSE_URL_PRIV_H
#define TC_WAREHOUSE_CLICKHOUSE_URL_PRIV_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC__CH_HOSTS_MAX 16
#define TC__CH_HOST_MAX 264
#define TC__CH_NAME_MAX 64
#define TC__CH_FILE_MAX 1024

struct tc__ch_url {
    bool tls;
    char hosts[TC__CH_HOSTS_MAX][TC__CH_HOST_MAX]; /* "host:port" */
    size_t host_count;
    char user[TC__CH_NAME_MAX]; /* "default" unless one is named */
    char database[TC__CH_NAME_MAX];
    char cluster[TC__CH_NAME_MAX]; /* "": one server */
    char password_file[TC__CH_FILE_MAX];
    char ca_file[TC__CH_FILE_MAX];
    int64_t wait_ns; /* how long a server that does not answer is waited for */
};

/* TC_E_USAGE says what is wrong with it, without repeating a password that stands in it. */
TC_CHECKED tc_status tc__ch_url_parse(const char *text, struct tc__ch_url *out,
                                      struct tc_error *err);

#endif
