/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the words of a statement, where DuckDB's own parser is not asked: where it ends, and
 * whether it names what untrusted queries may not. DuckDB has parsed it as one statement before.
 */
#ifndef TC_WAREHOUSE_DUCKDB_SQL_PRIV_H
#define TC_WAREHOUSE_DUCKDB_SQL_PRIV_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct tc__sql_look {
    size_t end;             /* of the statement: the first semicolon, or the end of the text */
    bool analyzes;          /* EXPLAIN ANALYZE, which runs what it explains */
    struct tc_slice banned; /* a function that changes or reads more than tables; empty: none */
};

void tc__sql_look(struct tc_slice sql, struct tc__sql_look *out);

#endif
