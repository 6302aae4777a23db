/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `tracecore migrate`: the rows of one warehouse into another, of whatever engine.
 * Small tables are one transaction each, slices and requests a few minutes each. A transaction is
 * there wholly or not at all, so what the target has of a minute is all of it or nothing: the
 * target itself says how far an earlier call came. docs/internals/migrate.md.
 */
#ifndef TC_CLI_MIGRATE_MIGRATE_H
#define TC_CLI_MIGRATE_MIGRATE_H

#include "base/table/grow.h"
#include "cli/data.h"
#include "cli/output/progress.h"
#include "warehouse/row_sum.h"
#include "warehouse/stretch.h"

#include <stdbool.h>
#include <stdint.h>

/* Minutes of one table: 30 years of them. */
#define TC_MIGRATE_MINUTES_MAX ((size_t)1 << 24)

/* ---- minutes.c: pure ---- */

/* How many rows each minute of a table has, in order of time. All zero at first. */
struct tc_migrate_minutes {
    struct tc_minute *items;
    size_t count;
    size_t cap;
};
void tc_migrate_minutes_fini(struct tc_migrate_minutes *m);
TC_CHECKED tc_status tc_migrate_minutes_add(struct tc_migrate_minutes *m,
                                            const struct tc_minute *minute);
/* Rows of all of them. */
uint64_t tc_migrate_minutes_rows(const struct tc_migrate_minutes *m);
/* False when the target has another number of rows of some minute than the source, but for none:
 * *out is that of the target. */
bool tc_migrate_minutes_fit(const struct tc_migrate_minutes *source,
                            const struct tc_migrate_minutes *target, struct tc_minute *out);

/* Minutes that are read together: from one time to before another (tc_warehouse_read). */
struct tc_migrate_chunk {
    int64_t from_us;
    int64_t to_us;
    uint64_t rows;
};
/* The next one, from minute *io_at of the source on, of those that the target has, or has not; none
 * of the other kind lies between. Of rows_max rows at most, or of one minute. */
bool tc_migrate_next_chunk(const struct tc_migrate_minutes *source,
                           const struct tc_migrate_minutes *target, bool there, uint64_t rows_max,
                           size_t *io_at, struct tc_migrate_chunk *out);

/* ---- work.c ---- */

struct tc_migrate_args {
    const char *from;
    const char *to;
    const char *batch;
    bool json;
    bool quiet;
};

/* One of the two warehouses. */
struct tc_migrate_side {
    const char *name; /* as it was given: a data_dir or a url */
    struct tc_warehouse *w;
    int lock_fd; /* of the daemon's place in a data_dir; -1: none */
    int runs_fd; /* of imports; -1: none */
};

struct tc_migrate_table {
    struct tc_migrate_minutes source;
    struct tc_migrate_minutes target; /* when we began */
    struct tc_row_sum source_sum;
    struct tc_row_sum target_sum;
    uint64_t copied;
};

struct tc_migrate {
    const struct tc_migrate_args *args;
    uint64_t batch;
    struct tc_migrate_side source;
    struct tc_migrate_side target;
    struct tc_migrate_table tables[TC_TABLE_COUNT];
    struct tc_progress progress;
};

/* Opens both, keeps others away. */
TC_CHECKED tc_status tc_migrate_open(struct tc_migrate *m, struct tc_error *err);
/* Looks at what is there, copies the rest, compares. TC_OK also when they differ at the end. */
TC_CHECKED tc_status tc_migrate_do(struct tc_migrate *m, struct tc_error *err);
void tc_migrate_close(struct tc_migrate *m);

/* ---- report.c ---- */
bool tc_migrate_is_same(const struct tc_migrate *m);
void tc_migrate_report(const struct tc_migrate *m, struct tc_grow *out);

#endif
