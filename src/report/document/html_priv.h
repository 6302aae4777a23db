/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the HTML writer. */
#ifndef TC_REPORT_DOCUMENT_HTML_PRIV_H
#define TC_REPORT_DOCUMENT_HTML_PRIV_H

#include "base/table/grow.h"
#include "report/document/document.h"

#include <stdbool.h>

/* The style sheet in pieces, NULL behind the last. There is no other style on the page: the policy
 * in its head names the digest of this text, and allows nothing else. */
extern const char *const tc__html_style[];

void tc__html_spans(struct tc_grow *g, const struct tc_doc_spans *spans, bool in_table);
void tc__html_table(struct tc_grow *g, const struct tc_doc_table *t);
/* The list of ids at the end. */
void tc__html_lineage(struct tc_grow *g, const struct tc_doc *d);

#endif
