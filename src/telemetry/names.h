/* SPDX-License-Identifier: Apache-2.0 */
/* How names of metrics and labels are compared, and what a label is about (labels.def). */
#ifndef TC_TELEMETRY_NAMES_H
#define TC_TELEMETRY_NAMES_H

#include "base/slice.h"

#include <stdbool.h>

/* Names are compared in this form, up to this length. */
#define TC_PLAIN_NAME_MAX 256

/* Lower case, '_' for what is no letter or digit, without "_total" at the end if `cut_total`.
 * Longer names are cut to fit. `out` has TC_PLAIN_NAME_MAX bytes. */
struct tc_slice tc_plain_name(struct tc_slice name, bool cut_total, char *out);

enum tc_label_meaning {
    TC_LABEL_RUN,
    TC_LABEL_SCHEDULER,
    TC_LABEL_CLASS,
    TC_LABEL_JOB,
    TC_LABEL_REQUEST, /* of one request: there is no end of them */
    TC_LABEL_ABOUT,   /* describes who made the series */
    TC_LABEL_OTHER,
};

enum tc_label_meaning tc_label_meaning(struct tc_slice key);

#endif
