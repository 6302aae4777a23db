/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How ClickHouse keeps a table of ours, and its rows as bytes (the format RowBinary: values one
 * after the other, numbers as they are in memory, a text behind its length, and before a value that
 * may be NULL a byte that says whether it is).
 */
#ifndef TC_WAREHOUSE_CLICKHOUSE_BINARY_PRIV_H
#define TC_WAREHOUSE_CLICKHOUSE_BINARY_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "warehouse/rows.h"
#include "warehouse/tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every row has the number of the block that brought it. */
#define TC__CH_BLOCK "_block"
#define TC__CH_SERIES "series"

enum tc__ch_type {
    TC__CH_NUMBER, /* UInt64 of the engine's own */
    TC__CH_WORD,   /* String, "" for NULL: keys cannot be NULL */
    TC__CH_MOMENT, /* Int64, INT64_MIN for NULL: the same for times */
    TC__CH_TEXT,   /* the others may be NULL */
    TC__CH_INT,
    TC__CH_REAL,
    TC__CH_BOOL,
};
/* As ClickHouse names it. */
const char *tc__ch_type_name(enum tc__ch_type type);

struct tc__ch_column {
    const char *name;
    enum tc__ch_type type;
    size_t from; /* column of the rows of tables.def; SIZE_MAX: the engine's own */
};

/* A table there. */
struct tc__ch_layout {
    const char *name;
    const char *order;     /* by which it is sorted */
    const char *partition; /* what is dropped together; NULL: not */
    const char *shard;     /* of which the shard is made */
    bool replaces;         /* rows with the same key are one row */
    struct tc__ch_column columns[TC_TABLE_COLUMNS_MAX];
    size_t column_count;
};

/* The layout that rows of a table go into; of slices, the facts. */
void tc__ch_layout_of(enum tc_table table, struct tc__ch_layout *out);
/* What slices share with others of their series. */
void tc__ch_series_layout(struct tc__ch_layout *out);

/* One row, with what is the engine's own: block and series, as the layout has them. */
void tc__ch_put_row(struct tc_grow *g, const struct tc__ch_layout *layout,
                    const struct tc_rows *rows, size_t row, uint64_t block, uint64_t series);
/* The number of a row's series: 64 bits of a SHA-256 of its texts. Never 0. */
uint64_t tc__ch_series_of(const struct tc__ch_layout *series, const struct tc_rows *rows,
                          size_t row);

/* A value of an answer, and the column of rows that it goes into; SIZE_MAX: none. */
struct tc__ch_field {
    enum tc__ch_type type;
    size_t to;
};

/* Reads an answer as it comes. Begins with what is above `pending` set, the rest zero. */
struct tc__ch_reader {
    const struct tc__ch_field *fields;
    size_t field_count;
    struct tc_rows *rows; /* given on whenever they are full, and emptied */
    tc_status (*take)(void *context, struct tc_rows *rows, struct tc_error *err);
    void *context;
    struct tc_error *err;
    struct tc_grow pending; /* the beginning of a row whose end has not come */
    tc_status status;
    uint64_t row_count;
};

/* A tc_http_sink. */
bool tc__ch_reader_take(void *context, struct tc_slice bytes);
/* The last rows. TC_E_MALFORMED when a row is cut off. Frees what it holds. */
TC_CHECKED tc_status tc__ch_reader_end(struct tc__ch_reader *r);

#endif
