/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of rows, column by column: what goes into the warehouse and what comes out of it, the
 * same for every engine and over the daemon's socket; also what readers of result files write and
 * what the CLI keeps of an answer. A batch has its memory from the start (TC_ROWS_MAX rows); other
 * rows grow up to a bound. Text is kept in a block of its own, which grows up to a bound.
 */
#ifndef TC_WAREHOUSE_ROWS_H
#define TC_WAREHOUSE_ROWS_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/json/json.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "warehouse/tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_ROWS_MAX 2048
/* Text of one batch; a cell has at most that. */
#define TC_ROWS_TEXT_MAX ((size_t)64 << 20)

/* INT and TIME (us; of a query it may be any year) in integer, REAL in real, BOOL in integer as 0
 * or 1, TEXT in text. */
union tc_cell {
    int64_t integer;
    double real;
    struct {
        uint32_t at; /* in the batch's text */
        uint32_t len;
    } text;
};

struct tc_rows_column {
    char name[64]; /* cut to fit */
    enum tc_column_type type;
    bool is_json;    /* TEXT of a query: a list, struct or map, as JSON */
    uint64_t *valid; /* bit set: there is a value */
    union tc_cell *cells;
};

/* Invariant: at < count <= cap <= count_max, or all of them 0; text_len <= text_cap <= text_max. */
struct tc_rows {
    size_t column_count;
    size_t count;
    size_t at;  /* the row that setters write */
    size_t cap; /* rows there is memory for */
    size_t count_max;
    size_t text_max;
    struct tc_rows_column *columns;
    void *memory; /* of their cells */
    char *text;
    size_t text_len;
    size_t text_cap;
};

/* Rows of a table, or of a query's columns. NULL without memory. */
struct tc_rows *tc_rows_create(enum tc_table table);
struct tc_rows *tc_rows_create_for(const struct tc_column *columns, size_t count);
/* The same without memory for rows yet, for up to count_max of them. */
struct tc_rows *tc_rows_create_growing(const struct tc_column *columns, size_t count,
                                       size_t count_max, size_t text_max);
/* With the columns of other rows; count_max 0: a batch, with all of its memory. */
struct tc_rows *tc_rows_create_like(const struct tc_rows *rows, size_t count_max, size_t text_max);
void tc_rows_destroy(struct tc_rows *r);
/* No rows; the columns stay. */
void tc_rows_reset(struct tc_rows *r);

/* A new row of NULLs, which the setters below fill; false when there is no room for it. */
bool tc_rows_add(struct tc_rows *r);
/* Back to a row that is there: the setters write it now. */
void tc_rows_seek(struct tc_rows *r, size_t row);
/* Setters. The column is of that type (TC_ASSERT). NaN and infinities: NULL. */
void tc_rows_int(struct tc_rows *r, size_t column, int64_t value); /* INT, TIME, BOOL */
void tc_rows_real(struct tc_rows *r, size_t column, double value);
/* NaN and the infinities too: for answers to queries, which may hold them; tables do not. */
void tc_rows_any_real(struct tc_rows *r, size_t column, double value);
/* Copies; bytes that are not UTF-8 become U+FFFD each, for engines take nothing else. TC_E_LIMIT or
 * TC_E_NOMEM: the cell stays NULL. An empty text is a value. */
TC_CHECKED tc_status tc_rows_text(struct tc_rows *r, size_t column, struct tc_slice value);
void tc_rows_null(struct tc_rows *r, size_t column);
/* A cell of other rows, into a column of the same type (TC_ASSERT): as it is, NULL, NaN and the
 * infinities too, but of a text no more than text_max bytes. Fails as tc_rows_text does. */
TC_CHECKED tc_status tc_rows_copy_cell(struct tc_rows *r, size_t column, const struct tc_rows *from,
                                       size_t from_column, size_t row, size_t text_max);
/* All cells of a row of other rows with the same columns. */
TC_CHECKED tc_status tc_rows_copy_row(struct tc_rows *r, const struct tc_rows *from, size_t row,
                                      size_t text_max);

bool tc_rows_is_null(const struct tc_rows *r, size_t column, size_t row);
/* Whether the columns are of the types that the table's are. */
bool tc_rows_are_of(const struct tc_rows *r, enum tc_table table);
/* True when all texts are UTF-8 and all times between the years 1 and 9999: what engines take.
 * *out_column and *out_row say where it is not. */
bool tc_rows_are_sound(const struct tc_rows *r, size_t *out_column, size_t *out_row);
/* Of cells that are not NULL; the slice lives until the batch changes. */
struct tc_slice tc_rows_get_text(const struct tc_rows *r, size_t column, size_t row);
/* A cell of no real number as bytes that only its like has: what rows are named by. */
void tc_rows_hash_cell(const struct tc_rows *r, size_t column, size_t row, struct tc_sha256 *sha);
/* 0 when NULL. */
int64_t tc_rows_get_int(const struct tc_rows *r, size_t column, size_t row); /* INT, TIME, BOOL */
double tc_rows_get_real(const struct tc_rows *r, size_t column, size_t row);

/* A value as text, nothing for NULL: times in RFC 3339, NaN and the infinities as PostgreSQL writes
 * them. b has room for 64 bytes, or for the text. */
void tc_rows_value(struct tc_buf *b, const struct tc_rows *rows, size_t column, size_t row);
/* The same as a value of JSON, where what is no finite number is null. A list or struct is JSON
 * itself if the parser, which may be NULL, says so. */
void tc_rows_value_json(struct tc_json_out *j, const struct tc_rows *rows, size_t column,
                        size_t row, struct tc_json_parser *parser);

#endif
