/* SPDX-License-Identifier: Apache-2.0 */
/* What join.c and join_claim.c share: the columns of claims, and names as they are compared. */
#ifndef TC_WAREHOUSE_DUCKDB_JOIN_SQL_PRIV_H
#define TC_WAREHOUSE_DUCKDB_JOIN_SQL_PRIV_H

#include "base/status.h"

struct tc__duckdb;

/* Columns of run_claim. */
enum {
    TC__CLAIM_KIND,
    TC__CLAIM_NAME,
    TC__CLAIM_DOMAIN,
    TC__CLAIM_RUN_ID,
    TC__CLAIM_IN_WINDOW,
    TC__CLAIM_FROM,
    TC__CLAIM_TO,
    TC__CLAIM_AFTER,
    TC__CLAIM_BEFORE,
};

/* tc_run_node_of in SQL: an address, the host, the domain. */
#define TC__IS_ADDRESS(x) "(contains(" x ", ':') OR regexp_full_match(" x ", '[0-9.]*'))"
#define TC__HOST(x) \
    "CASE WHEN " TC__IS_ADDRESS(x) " THEN " x " ELSE lower(split_part(" x ", '.', 1)) END"
#define TC__DOMAIN(x)                                                                       \
    "CASE WHEN " TC__IS_ADDRESS(x) " THEN '' ELSE lower(substr(" x ", length(split_part(" x \
                                   ", '.', 1)) + 2)) END"
/* Of a row of run_scope_fact. */
#define TC__NAME_KEY "CASE WHEN kind = 'node' THEN " TC__HOST("name") " ELSE name END"

/* The claims on all names that are noted, anew. */
TC_CHECKED tc_status tc__join_claim(struct tc__duckdb *d, struct tc_error *err);

#endif
