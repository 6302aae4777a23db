/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine does. warehouse.c owns what is the same for all of them (versions, checks of
 * arguments); an engine is one constant of this type. Arguments are checked before they get here.
 */
#ifndef TC_WAREHOUSE_ENGINE_PRIV_H
#define TC_WAREHOUSE_ENGINE_PRIV_H

#include "warehouse/stretch.h"
#include "warehouse/warehouse.h"

struct tc__engine {
    const char *name;
    /* *out is the engine's own object, given to all others. */
    tc_status (*open)(const struct tc_warehouse_config *config, void **out, struct tc_error *err);
    void (*close)(void *engine);
    tc_status (*share)(void *engine, void **out, struct tc_error *err);
    const char *(*describe)(const void *engine);
    tc_status (*begin)(void *engine, struct tc_error *err);
    tc_status (*commit)(void *engine, struct tc_error *err);
    void (*rollback)(void *engine);
    tc_status (*append)(void *engine, enum tc_table table, const struct tc_rows *rows,
                        struct tc_error *err);
    tc_status (*forget)(void *engine, const struct tc_forget *what, uint64_t *out_count,
                        struct tc_error *err);
    tc_status (*query)(void *engine, const struct tc_query *query, tc_rows_fn take, void *context,
                       bool *out_cut, struct tc_error *err);
    void (*interrupt)(void *engine);
    void (*rest)(void); /* may be NULL */
    tc_status (*parquet)(void *engine, enum tc_table table, size_t time_column, int64_t before_us,
                         const char *path, uint64_t *out_rows, struct tc_error *err);
    /* Of tables that are read by time; NULL: as below. */
    tc_status (*minutes)(void *engine, enum tc_table table, tc_minute_fn take, void *context,
                         struct tc_error *err);
    tc_status (*read)(void *engine, enum tc_table table, int64_t from_us, int64_t to_us,
                      tc_rows_fn take, void *context, struct tc_error *err);
    tc_status (*settle)(void *engine, struct tc_error *err); /* NULL: nothing is on its way */
};

/* ---- stretch.c: by queries of the engine ---- */
TC_CHECKED tc_status tc__stretch_minutes(const struct tc__engine *engine, void *object,
                                         enum tc_table table, tc_minute_fn take, void *context,
                                         struct tc_error *err);
TC_CHECKED tc_status tc__stretch_read(const struct tc__engine *engine, void *object,
                                      enum tc_table table, int64_t from_us, int64_t to_us,
                                      tc_rows_fn take, void *context, struct tc_error *err);
/* A tc_rows_fn for a context of this: rows of a minute and a count. */
struct tc__minutes {
    tc_minute_fn take;
    void *context;
};
TC_CHECKED tc_status tc__stretch_take(void *context, const struct tc_rows *rows);

extern const struct tc__engine
    tc__engine_duckdb; /* duckdb_*.c: the file data_dir/warehouse.duckdb */
extern const struct tc__engine tc__engine_daemon;     /* daemon_*.c: data_dir/warehouse.sock */
extern const struct tc__engine tc__engine_clickhouse; /* clickhouse/: a server elsewhere */

#endif
