/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `tracecore detect` prints at its end: every verdict as a line of JSON, or
 * for a person the causes in full with what follows from them in short.
 */
#ifndef TC_CLI_REPORT_H
#define TC_CLI_REPORT_H

#include "base/status.h"
#include "cli/output.h"
#include "event/source.h"
#include "story/incident_table.h"
#include "verdict/render.h"

#include <stdbool.h>

struct tc_report_style {
    struct tc_text_style text;
    bool json;
    bool all; /* text: consequences in full as well */
};

/*
 * Prints what was kept, in the order in which it is. A verdict that is too large to be rendered is
 * left out, said on standard error, and the result is TC_E_LIMIT; the others are
 * printed. A failed write is left to tc_output_end.
 */
TC_CHECKED tc_status tc_report(struct tc_incident_table *kept, const struct tc_sources *sources,
                               const struct tc_report_style *style, struct tc_output *out);

#endif
