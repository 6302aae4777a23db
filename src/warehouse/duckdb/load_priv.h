/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DuckDB's library, loaded when it is first needed: 64 MB that most commands never touch.
 * docs/internals/warehouse.md says where it is looked for.
 */
#ifndef TC_WAREHOUSE_DUCKDB_LOAD_PRIV_H
#define TC_WAREHOUSE_DUCKDB_LOAD_PRIV_H

#include "base/status.h"

#include <duckdb.h>

/* One pointer for each function, of the type that the header gives it; they come first. */
struct tc__duckdb_api {
#define FUNCTION(name) __typeof__(&duckdb_##name) name;
#include "warehouse/duckdb/functions.def"
#undef FUNCTION
    /* Knows which files are open in this process: a second open would destroy one, for the locks
     * that DuckDB takes are of the process. */
    duckdb_instance_cache cache;
};

/* The library for the rest of the process's life, from any thread. TC_E_UNSUPPORTED: there is none,
 * or it is of another version; err says where it was looked for. */
TC_CHECKED tc_status tc__duckdb_load(const struct tc__duckdb_api **out, struct tc_error *err);

/* After tc__duckdb_load: for DuckDB's callbacks, which know nothing of us. */
const struct tc__duckdb_api *tc__duckdb_api_now(void);

/* Gives back memory that the next call does not need: pages of the library, what was freed. */
void tc__duckdb_rest(void);

#endif
