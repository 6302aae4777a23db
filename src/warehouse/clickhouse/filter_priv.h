/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of a scan, as DuckDB's EXPLAIN writes them: run_id='a', optional: metric IN ('a', 'b'),
 * window_start>='2026-01-01 00:00:00'::TIMESTAMP, joined by AND. What is not understood is not
 * a filter: then more rows are fetched than needed.
 */
#ifndef TC_WAREHOUSE_CLICKHOUSE_FILTER_PRIV_H
#define TC_WAREHOUSE_CLICKHOUSE_FILTER_PRIV_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC__FILTER_VALUES_MAX 256
#define TC__FILTER_TERMS_MAX 8

enum tc__filter_sign {
    TC__FILTER_IN, /* one of the texts */
    TC__FILTER_FROM,
    TC__FILTER_AFTER,
    TC__FILTER_UNTIL,
    TC__FILTER_BEFORE,
    TC__FILTER_AT, /* the time */
};

struct tc__filter_term {
    struct tc_slice column;
    enum tc__filter_sign sign;
    size_t first; /* IN: of values */
    size_t count;
    int64_t time_us; /* else */
};

struct tc__filter {
    struct tc__filter_term terms[TC__FILTER_TERMS_MAX];
    size_t term_count;
    struct tc_slice values[TC__FILTER_VALUES_MAX]; /* as they stand there: quotes are doubled */
    size_t value_count;
};

/* False, and no terms, when a part of it is not of this form. Borrows text. */
bool tc__filter_parse(struct tc_slice text, struct tc__filter *out);

#endif
