/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements to one ClickHouse server over HTTP. What a server answers is put into words that name
 * the setting to change; a server that does not answer is waited for.
 */
#ifndef TC_WAREHOUSE_CLICKHOUSE_CLIENT_PRIV_H
#define TC_WAREHOUSE_CLICKHOUSE_CLIENT_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "http_client/http_client.h"
#include "warehouse/clickhouse/url_priv.h"
#include "warehouse/warehouse.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* 18.16, the oldest that is known to do. */
#define TC__CH_VERSION_MIN 1816

struct tc__ch_client {
    struct tc_http_client *http;
    const struct tc__ch_url *url;
    const char *host; /* "host:port" */
    struct tc_slice headers;
    struct tc_slice insert_headers;
    char header_text[2048];    /* holds the password: wiped at the end */
    tc_warehouse_wait_fn says; /* may be NULL */
    void *says_context;
    int wake_fd; /* eventfd: readable once interrupted */
    unsigned version;
    char version_text[32];
};

/* Borrows url. Nothing is sent yet. */
TC_CHECKED tc_status tc__ch_client_open(struct tc__ch_client *c, const struct tc__ch_url *url,
                                        size_t host, const struct tc_warehouse_config *config,
                                        struct tc_error *err);
void tc__ch_client_close(struct tc__ch_client *c);
/* Reads the server's version, and refuses one that is too old. */
TC_CHECKED tc_status tc__ch_client_greet(struct tc__ch_client *c, struct tc_error *err);
/* From a signal handler too: what waits or runs ends with TC_E_LIMIT. */
void tc__ch_client_interrupt(struct tc__ch_client *c);
void tc__ch_client_calm(struct tc__ch_client *c);

/* A statement that may be sent twice, and gives nothing. */
TC_CHECKED tc_status tc__ch_run(struct tc__ch_client *c, struct tc_slice sql, struct tc_error *err);
/* The answer is sent when all of it is there: a sink sees no half. Waits for the server, unless
 * the sink has seen something. */
TC_CHECKED tc_status tc__ch_select(struct tc__ch_client *c, struct tc_slice sql, tc_http_sink sink,
                                   void *context, struct tc_error *err);
/* A whole number; *out stays when there is no row. */
TC_CHECKED tc_status tc__ch_int(struct tc__ch_client *c, struct tc_slice sql, uint64_t *out,
                                struct tc_error *err);

/* "INSERT INTO ... FORMAT Native" with its rows, once. TC_E_AGAIN: it is not known whether they
 * are there, or the server wants to be asked later. */
TC_CHECKED tc_status tc__ch_insert(struct tc__ch_client *c, struct tc_slice sql,
                                   struct tc_slice rows, struct tc_error *err);

/* A wait for a server that does not answer. Begins as all zero. */
struct tc__ch_wait {
    int64_t begun_ns;
    int64_t pause_ns;
};
/* Sleeps, longer each time. False: it was waited long enough, or interrupted; err says which
 * behind what it said before. */
bool tc__ch_wait(struct tc__ch_client *c, struct tc__ch_wait *wait, struct tc_error *err);

/* What the server wrote of an error. Its status TC_E_AGAIN: it may do later. */
tc_status tc__ch_explain(const struct tc__ch_client *c, int http_status, struct tc_slice body,
                         struct tc_error *err);

#endif
