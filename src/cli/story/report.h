/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `tracecore detect` prints at its end, and `tracecore incidents`: every verdict as a line of
 * JSON, or for a person an overview and then each story.
 */
#ifndef TC_CLI_STORY_REPORT_H
#define TC_CLI_STORY_REPORT_H

#include "base/status.h"
#include "cli/output/output.h"
#include "cli/story/stories.h"
#include "event/source.h"
#include "verdict/render.h"

#include <stdbool.h>

struct tc_report_style {
    struct tc_text_style text; /* all: every verdict is a page of its own */
    const char *command;       /* that messages are said in the name of */
    bool json;
    bool brief; /* text: the overview only */
};

/*
 * Prints the stories. A verdict or story that is too large to be rendered is left out, said on
 * standard error, and the result is TC_E_LIMIT; the others are printed. A failed write is left to
 * tc_output_end. kept is what the stories were made of, in the order in which JSON is printed.
 */
TC_CHECKED tc_status tc_report(const struct tc_incident_table *kept, struct tc_stories *stories,
                               const struct tc_sources *sources,
                               const struct tc_report_style *style, struct tc_output *out);

#endif
