/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables an engine has to have. A value of its own so that tests can bring another one.
 */
#ifndef TC_WAREHOUSE_SCHEMA_PRIV_H
#define TC_WAREHOUSE_SCHEMA_PRIV_H

#include "warehouse/tables.h"

#include <stddef.h>

struct tc__schema {
    unsigned version;
    const struct tc_table_info *tables; /* by enum tc_table */
    size_t table_count;
};

/* tables.def. */
extern const struct tc__schema tc__schema;

#endif
