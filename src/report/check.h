/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the numbers of a report, as JSON, are still what the tables say: each query is run again,
 * and what it gives must make the number and its id. The report is from outside.
 */
#ifndef TC_REPORT_CHECK_H
#define TC_REPORT_CHECK_H

#include "base/slice.h"
#include "base/status.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>

#define TC_REPORT_NUMBERS_MAX 10000

struct tc_report_number {
    struct tc_slice id;
    struct tc_slice what;           /* in words, as the report has it */
    bool is_published;              /* nothing was checked: the audit log is to be asked */
    bool holds;                     /* of others */
    char why[TC_ERROR_MESSAGE_MAX]; /* it does not hold */
};

/* Borrows the number. A failure ends the check and is returned. */
typedef tc_status (*tc_report_number_fn)(void *context, const struct tc_report_number *number);

/*
 * TC_E_MALFORMED: it is no report of ours as JSON. TC_OK: all numbers of its lineage were told; a
 * number of the document that is in no lineage is told as one that does not hold.
 */
TC_CHECKED tc_status tc_report_check(struct tc_warehouse *w, struct tc_slice json,
                                     tc_report_number_fn tell, void *context, struct tc_error *err);

#endif
