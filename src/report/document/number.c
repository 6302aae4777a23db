/* SPDX-License-Identifier: Apache-2.0 */
#include "report/document/number_priv.h"

#include "base/format.h"
#include "base/number.h"

/* A unit is a word of tables.def or of a tool; what is longer is cut. */
#define UNIT_MAX 64

static void put_amount(struct tc_buf *b, const struct tc_doc_number *n, double value)
{
    if (n->style == TC_DOC_CHANGE && value > 0) {
        tc_buf_char(b, '+');
    }
    tc_buf_number(b, value);
}

void tc__number_value(struct tc_buf *b, const struct tc_doc_number *n)
{
    put_amount(b, n, n->value);
    if (n->style == TC_DOC_RATIO) {
        tc_buf_lit(b, " x");
    } else if (n->unit.len > 0 && !tc_slice_eq(n->unit, TC_LIT("ratio"))) {
        tc_format(b, " {}", tc_slice_head(n->unit, UNIT_MAX));
    }
}

void tc__number_interval(struct tc_buf *b, const struct tc_doc_number *n)
{
    if (n->has_interval) {
        put_amount(b, n, n->interval.low);
        tc_buf_lit(b, " to ");
        put_amount(b, n, n->interval.high);
        tc_format(b, " at {} %", tc_as_number(n->interval.level * 100));
    }
}

void tc__number_runs(struct tc_buf *b, const struct tc_doc_number *n)
{
    if (n->base_runs > 0) {
        tc_format(b, "{} and ", n->base_runs);
    }
    tc_buf_u64(b, n->runs);
}
