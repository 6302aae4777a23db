/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document in one of its formats. All text is escaped here. The answer is appended to g, whose
 * `failed` says whether there was memory for all of it.
 */
#ifndef TC_REPORT_DOCUMENT_RENDER_H
#define TC_REPORT_DOCUMENT_RENDER_H

#include "base/json/out.h"
#include "base/table/grow.h"
#include "report/document/document.h"

/* Markdown as GitHub has it, that reads well as it is too. */
void tc_doc_markdown(const struct tc_doc *d, struct tc_grow *g);
/* One file that asks for nothing else: no script, no address of elsewhere, plots as SVG. */
void tc_doc_html(const struct tc_doc *d, struct tc_grow *g);
/* One object; the HTTP API answers with the same. */
void tc_doc_json(const struct tc_doc *d, struct tc_json_out *j);

#endif
