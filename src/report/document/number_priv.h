/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a measured number in words, the same in every format. */
#ifndef TC_REPORT_DOCUMENT_NUMBER_PRIV_H
#define TC_REPORT_DOCUMENT_NUMBER_PRIV_H

#include "base/buf.h"
#include "report/document/document.h"

/* Enough for any of them but `why`, which is the document's own text. */
#define TC__NUMBER_TEXT 256

/* "412.3 ms", "1.38 x", "+160 ms". The unit is text from outside, as it is. */
void tc__number_value(struct tc_buf *b, const struct tc_doc_number *n);
/* "401.2 to 420.8 at 95 %"; nothing when there is none. */
void tc__number_interval(struct tc_buf *b, const struct tc_doc_number *n);
/* "5", of two sides "5 and 4". */
void tc__number_runs(struct tc_buf *b, const struct tc_doc_number *n);

/* Above the list of ids. Plain text: it needs no escaping anywhere. */
#define TC__LINEAGE_WORDS                                                                      \
    "Every number of this report has an id, and is listed here with the query that gives its " \
    "values, the runs it stands on and the digests of their files. Numbers that were not "     \
    "published were computed for this report only: they may be looked at, not claimed."

#endif
