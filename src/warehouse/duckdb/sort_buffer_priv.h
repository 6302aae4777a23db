/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry slices are put in order before DuckDB gets them: those of one metric beside each other.
 * DuckDB packs 1,024 numbers at a time; of one metric they have the same digits and take 2 or 3
 * bytes each, of many mixed metrics, as exporters are scraped, they take 8. A sort buffer holds as
 * many rows as a row group of DuckDB's, so what is ordered is stored together. Requests are put in
 * order too, by scope and time.
 */
#ifndef TC_WAREHOUSE_DUCKDB_SORT_BUFFER_PRIV_H
#define TC_WAREHOUSE_DUCKDB_SORT_BUFFER_PRIV_H

#include "base/status.h"
#include "base/table/sort.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stddef.h>

#define TC__SORT_BUFFER_BATCHES 120 /* of 2,048 rows: two row groups, one per thread */
#define TC__SORT_BUFFER_ROWS ((size_t)TC__SORT_BUFFER_BATCHES * TC_ROWS_MAX)
#define TC__SORT_BUFFER_TEXT_MAX ((size_t)128 << 20)
#define TC__SORT_BUFFER_SLOTS 8192

/* Rows with equal text in a column together, in the order in which they came, and such groups by
 * the digits of the numbers in another column; or by whole numbers. NULL comes first. */
struct tc__order {
    enum { TC__ORDER_TEXT_DIGITS, TC__ORDER_NUMBERS } how;
    size_t first;
    size_t second;
};

/* A row of a batch. */
struct tc__pick {
    const struct tc_rows *rows;
    size_t row;
};

typedef tc_status (*tc__pick_fn)(void *context, const struct tc__pick *picks, size_t count,
                                 struct tc_error *err);

/* Invariant: batches[0 .. count) are copies of what was added; the others are NULL, or kept for
 * the next time. */
struct tc__sort_buffer {
    struct tc_rows *batches[TC__SORT_BUFFER_BATCHES];
    size_t count;
    size_t row_count;
    char *text; /* of all of them, equal ones once where they are found */
    size_t text_len;
    size_t text_cap;
    union tc_cell slots[TC__SORT_BUFFER_SLOTS]; /* texts that are there */
    struct tc_sort_pair *order;                 /* 2 * TC__SORT_BUFFER_ROWS */
};

/* Adds a copy of rows. False, and nothing is added: it is full. */
TC_CHECKED tc_status tc__sort_buffer_add(struct tc__sort_buffer *p, const struct tc_rows *rows,
                                         bool *out_full);

/* Gives all rows in that order, at most TC_ROWS_MAX at a time. The buffer is empty afterwards, also
 * when give fails. */
TC_CHECKED tc_status tc__sort_buffer_take(struct tc__sort_buffer *p, const struct tc__order *order,
                                          tc__pick_fn give, void *context, struct tc_error *err);

/* Puts all rows in that order, for tc__sort_buffer_picks, until the buffer is reset. */
TC_CHECKED tc_status tc__sort_buffer_order(struct tc__sort_buffer *p, const struct tc__order *order,
                                           struct tc_error *err);
/* At most TC_ROWS_MAX rows from the at-th on; the number of them. Any thread. */
size_t tc__sort_buffer_picks(const struct tc__sort_buffer *p, size_t at, struct tc__pick *out);

/* Forgets what is on it. */
void tc__sort_buffer_reset(struct tc__sort_buffer *p);
void tc__sort_buffer_fini(struct tc__sort_buffer *p);

#endif
