/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that belong to a run without saying so (warehouse/run_claims.h), in DuckDB. The run is
 * written into the row once both are there, by the one of the two that came last. Such tables are
 * stored under another name with a column more, run_found, which tells what was found from what
 * the row itself says; a view has the name of tables.def, and NAME_said is without what was found.
 *
 * A transaction that brings names of runs, or rows without one, notes that in run_pending. Behind
 * its commit, what is noted is worked off in a transaction of its own, one connection at a time: so
 * of two that commit at once the second sees what the first has brought. What a crash leaves noted
 * is worked off by the next one that opens the database for writing or commits.
 */
#ifndef TC_WAREHOUSE_DUCKDB_JOIN_PRIV_H
#define TC_WAREHOUSE_DUCKDB_JOIN_PRIV_H

#include "base/buf.h"
#include "base/status.h"
#include "warehouse/rows.h"
#include "warehouse/schema_priv.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stdint.h>

struct tc__duckdb;

#define TC__JOIN_CLAIMS "run_claim"
#define TC__JOIN_PENDING "run_pending"
#define TC__JOIN_FOUND "run_found"

/* Tables with such rows; more than there are. */
#define TC__JOIN_TABLES_MAX 4

extern const struct tc_table_info tc__join_claims;
extern const struct tc_table_info tc__join_pending;

/* What one connection has brought since begin. */
struct tc__join {
    bool is_any;
    struct tc_rows *pending; /* rows of run_pending that are not appended yet; NULL: never any */
    struct {
        int64_t from_us; /* of rows without a run; from > to: none */
        int64_t to_us;
    } ranges[TC__JOIN_TABLES_MAX];
};

/* What a table is stored as, for appending and deleting: its own name where it is a table. */
const char *tc__join_stored(enum tc_table table, const char *name);
/* The column and the views of tables that are there. */
TC_CHECKED tc_status tc__join_upgrade(struct tc__duckdb *d, struct tc_error *err);

void tc__join_begin(struct tc__join *j);
void tc__join_fini(struct tc__join *j);
/* Rows were appended. */
TC_CHECKED tc_status tc__join_note(struct tc__duckdb *d, enum tc_table table,
                                   const struct tc_rows *rows, struct tc_error *err);
/* Names of runs are about to be deleted, those that fulfil the condition. */
TC_CHECKED tc_status tc__join_note_gone(struct tc__duckdb *d, struct tc_slice where,
                                        const struct tc_bind *binds, size_t bind_count,
                                        struct tc_error *err);
/* Before the commit: what was noted goes with it. */
TC_CHECKED tc_status tc__join_flush(struct tc__duckdb *d, struct tc_error *err);
/* Works off all that is noted, in a transaction of its own. */
TC_CHECKED tc_status tc__join_settle(struct tc__duckdb *d, struct tc_error *err);
/* The same when a crash has left something. */
TC_CHECKED tc_status tc__join_settle_left(struct tc__duckdb *d, struct tc_error *err);

#endif
