/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For engines that fill a batch column by column: the setters of rows.h for a row that is there
 * already.
 */
#ifndef TC_WAREHOUSE_ROWS_PRIV_H
#define TC_WAREHOUSE_ROWS_PRIV_H

#include "warehouse/rows.h"

/* Marks the cell as a value and gives it. column and row are there. */
static inline union tc_cell *tc__rows_set(struct tc_rows *r, size_t column, size_t row)
{
    struct tc_rows_column *c = &r->columns[column];
    c->valid[row / 64] |= UINT64_C(1) << (row % 64);
    return &c->cells[row];
}

/* As tc_rows_text. */
TC_CHECKED tc_status tc__rows_text_at(struct tc_rows *r, size_t column, size_t row,
                                      struct tc_slice value);

#endif
