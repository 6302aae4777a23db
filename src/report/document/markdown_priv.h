/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the Markdown writer. */
#ifndef TC_REPORT_DOCUMENT_MARKDOWN_PRIV_H
#define TC_REPORT_DOCUMENT_MARKDOWN_PRIV_H

#include "base/table/grow.h"
#include "report/document/document.h"
#include "report/document/escape_priv.h"

enum tc__md_number_part { TC__MD_VALUE, TC__MD_INTERVAL, TC__MD_RUNS, TC__MD_ID };
void tc__md_number(struct tc_grow *g, const struct tc_doc_number *n, enum tc__md_number_part part,
                   enum tc__md_place place);
void tc__md_spans(struct tc_grow *g, const struct tc_doc_spans *spans, enum tc__md_place place);

/* Columns of numbers are unfolded: a row for each number, with value, interval, n and id as columns
 * of their own. All columns are as wide as their cells. */
void tc__md_table(struct tc_grow *g, const struct tc_doc_table *t);
/* A row of a table whose cells are code; "-" for an empty one. */
void tc__md_code_row(struct tc_grow *g, const struct tc_slice *cells, size_t count);

#endif
