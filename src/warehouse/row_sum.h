/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many rows in one digest, whatever their order and in however many parts they come: how two
 * warehouses are compared. The SHA-256 of each row, added up as four numbers; a row that is there
 * twice counts twice. It tells what was lost, doubled or changed by accident. Somebody who may
 * choose rows freely could make two sets that sum up alike.
 */
#ifndef TC_WAREHOUSE_ROW_SUM_H
#define TC_WAREHOUSE_ROW_SUM_H

#include "base/digest.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero: of no rows. */
struct tc_row_sum {
    uint64_t rows;
    uint64_t parts[4];
};

void tc_row_sum_add(struct tc_row_sum *s, const struct tc_rows *rows);
/* And those of another. */
void tc_row_sum_join(struct tc_row_sum *s, const struct tc_row_sum *other);
bool tc_row_sum_eq(const struct tc_row_sum *a, const struct tc_row_sum *b);
/* For people: SHA-256 of the count and the sums. */
void tc_row_sum_digest(const struct tc_row_sum *s, struct tc_digest *out);

#endif
