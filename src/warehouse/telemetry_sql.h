/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of SQL for one row per series of telemetry. Grouping slices by the texts that say where
 * they were measured is what costs, so this adds up numbers by the number of their scope, and joins
 * the texts to what is left, a row per series and not per slice
 * (docs/decisions/0015-scopes.md). The only place above the engine that names its two tables;
 * telemetry_slice_fact, which has the same, is for all other queries.
 *
 *   TC_TELEMETRY_SUMS("sum(mean) AS total") condition TC_TELEMETRY_TEXTS("metric, node_name, ...")
 *   "GROUP BY metric, node_name, ..."
 *
 * A scope may have two numbers and a series two sources: the columns have to be grouped again.
 */
#ifndef TC_WAREHOUSE_TELEMETRY_SQL_H
#define TC_WAREHOUSE_TELEMETRY_SQL_H

/* Their parts, for an engine that keeps slices elsewhere and adds them up there. */
#define TC_TELEMETRY_HEAD "WITH sums AS MATERIALIZED (SELECT metric, scope_id, run_found, "
#define TC_TELEMETRY_FROM " FROM telemetry_slice WHERE "
#define TC_TELEMETRY_GROUP " GROUP BY metric, scope_id, run_found) SELECT "
/* The bounds keep DuckDB from reading the texts of all scopes. */
#define TC_TELEMETRY_JOIN                                                                     \
    " FROM sums JOIN telemetry_scope scope USING (scope_id) WHERE scope.scope_id >= (SELECT " \
    "min(scope_id) FROM sums) AND scope.scope_id <= (SELECT max(scope_id) FROM sums) "

/* Each number has a name (AS). Behind it a condition on run_id, metric, times and numbers. */
#define TC_TELEMETRY_SUMS(numbers) TC_TELEMETRY_HEAD numbers TC_TELEMETRY_FROM
#define TC_TELEMETRY_TEXTS(columns) TC_TELEMETRY_GROUP columns TC_TELEMETRY_JOIN

/* Among the columns: a number that was made of sums, to 13 digits. What is behind them depends on
 * the order in which rows were added up, which is another in each engine. */
#define TC_TELEMETRY_ROUND(number) "CAST(printf('%.12e', " number ") AS DOUBLE)"

/* Among the columns: run_join as telemetry_slice_fact has it. */
#define TC_TELEMETRY_RUN_JOIN \
    "CASE run_found WHEN 1 THEN 'identity' WHEN 2 THEN 'time' ELSE run_join END"

#endif
