/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the words of a statement, where DuckDB's own parser is not asked: where it ends, and
 * whether it could be what untrusted queries may. Before DuckDB binds it, for that alone can do
 * things. It is the first fence of several (docs/decisions/0012-duckdb.md).
 */
#ifndef TC_WAREHOUSE_DUCKDB_SQL_PRIV_H
#define TC_WAREHOUSE_DUCKDB_SQL_PRIV_H

#include "base/buf.h"
#include "base/format.h"
#include "base/slice.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>

struct tc__sql_look {
    size_t end;             /* of the statement: the first semicolon, or the end of the text */
    bool reads;             /* begins as a query, or as EXPLAIN of one without options */
    bool is_alone;          /* nothing follows its semicolon */
    struct tc_slice banned; /* a function that untrusted queries may not call; empty: none */
};

/* Whether it may stand before a bracket in an untrusted query. */
bool tc__sql_may_call(struct tc_slice name);
/* Allowed too, but only as a table. */
bool tc__sql_is_series(struct tc_slice name);

void tc__sql_look(struct tc_slice sql, struct tc__sql_look *out);

/* For tc_format: a text as it stands between single quotes. */
struct tc_arg tc__sql_quoted(struct tc_slice text);

/* Room that tc__sql_put_values needs at most. */
size_t tc__sql_values_max(struct tc_slice sql, const struct tc_bind *binds, size_t count);
/*
 * The statement with a literal in the place of each `?`: DuckDB uses only constants to skip what is
 * outside of them, and takes two to three times as long with parameters. False, and they have to be
 * bound: when the signs and the values do not match one to one, or a text cannot be a literal.
 */
bool tc__sql_put_values(struct tc_buf *b, struct tc_slice sql, const struct tc_bind *binds,
                        size_t count);

#endif
