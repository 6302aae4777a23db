/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How ClickHouse keeps a table of ours, and its rows as bytes. Numbers are as they are in memory, a
 * text stands behind its length. What is sent is in the format Native, column by column, as the
 * server has it itself: of a column whose values may be NULL first a byte for each that says so.
 * What is read is in RowBinary: row by row, and the byte stands before each value.
 */
#ifndef TC_WAREHOUSE_CLICKHOUSE_BINARY_PRIV_H
#define TC_WAREHOUSE_CLICKHOUSE_BINARY_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "warehouse/clickhouse/strand_priv.h"
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
    size_t from;    /* column of the rows of tables.def; SIZE_MAX: the engine's own */
    bool is_strand; /* the same in all rows of a strand */
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
    size_t time; /* the column by which rows of a strand are sorted; 0: there are no strands */
};

/* The layout that rows of a table go into; of slices, the facts. */
void tc__ch_layout_of(enum tc_table table, struct tc__ch_layout *out);
/* What slices share with others of their series. */
void tc__ch_series_layout(struct tc__ch_layout *out);

/* Rows on their way, by columns. Begins as all zero. */
struct tc__ch_block {
    struct tc__ch_stripe {
        struct tc_grow nulls; /* of a column that may be NULL */
        struct tc_grow values;
    } stripes[TC_TABLE_COLUMNS_MAX];
    struct tc_grow strands; /* of each row, where the layout has them: uint32_t */
    size_t strand_bytes;    /* of their texts, in all rows */
    size_t row_count;
};
/* Where the numbers of blocks are in one that is to be sent. */
struct tc__ch_ids {
    size_t at;
    size_t count;
};
/* Rows from `from` on. Those of a layout with strands are joined to theirs before. `series` is that
 * of each, in the layout of series. False: no memory, and the block is of no use. */
TC_CHECKED bool tc__ch_block_add(struct tc__ch_block *b, const struct tc__ch_layout *layout,
                                 const struct tc_rows *rows, uint64_t series, size_t from,
                                 size_t count);
TC_CHECKED bool tc__ch_block_join(struct tc__ch_block *b, const struct tc__ch_strands *strands,
                                  const uint32_t *numbers, size_t count);
size_t tc__ch_block_bytes(const struct tc__ch_block *b, const struct tc__ch_layout *layout);
/* As it is sent, strands in order; without a number yet. */
void tc__ch_block_put(struct tc_grow *g, const struct tc__ch_block *b,
                      const struct tc__ch_layout *layout, struct tc__ch_strands *strands,
                      struct tc__ch_ids *out_ids);
/* The number in each of its rows, where the layout has one. */
void tc__ch_block_number(struct tc_grow *g, struct tc__ch_ids ids, uint64_t id);
/* No rows; the memory stays. */
void tc__ch_block_reset(struct tc__ch_block *b, const struct tc__ch_layout *layout);
void tc__ch_block_fini(struct tc__ch_block *b);
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
