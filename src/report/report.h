/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report on runs for one audience, from the same rows for all: what engineers, product people and
 * partners each need to decide. Every number of it has its runs, its interval (or why there is
 * none) and a lineage id; what cannot be said from measurements is not said.
 */
#ifndef TC_REPORT_REPORT_H
#define TC_REPORT_REPORT_H

#include "base/slice.h"
#include "base/status.h"
#include "report/document/document.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>

enum tc_audience { TC_FOR_ENGINEERING, TC_FOR_PRODUCT, TC_FOR_PARTNER };
/* False: there is none of that name. */
bool tc_audience_parse(struct tc_slice name, enum tc_audience *out);

struct tc_report_want {
    struct tc_slice runs; /* a group of runs (compare/groups.h); of a comparison the candidate */
    struct tc_slice base; /* empty: no comparison */
    enum tc_audience audience;
    struct tc_slice version; /* of this program */
};

/* More runs than this are not reported on: a number stands on all of its runs, by name. */
#define TC_REPORT_RUNS_MAX 1000

struct tc_report;

/*
 * Fails as tc_compare and tc_group_find do; TC_E_LIMIT: more runs, or more text, than a report has
 * room for. The caller destroys it; the document lives as long.
 */
TC_CHECKED tc_status tc_report_create(struct tc_warehouse *w, const struct tc_report_want *want,
                                      struct tc_report **out, struct tc_error *err);
void tc_report_destroy(struct tc_report *r);
const struct tc_doc *tc_report_document(const struct tc_report *r);

#endif
