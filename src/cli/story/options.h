/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the commands that print stories: how they look, and which are wanted. */
#ifndef TC_CLI_STORY_OPTIONS_H
#define TC_CLI_STORY_OPTIONS_H

#include "cli/command.h"
#include "cli/story/report.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_story_args {
    struct tc_report_style style;
    const char *since;
    const char *node;
    const char *job;
};

/* Rows of an option table, for arguments of `type` that have a tc_story_args as `member`. */
#define TC_STORY_OPTIONS(type, member)                                                             \
    TC_FLAG("json", type, member.style.json,                                                       \
            "One verdict per line, as JSON, instead of text for people."),                         \
        TC_FLAG("brief", type, member.style.brief, "One line per story and nothing else.",         \
                .letter = 'b'),                                                                    \
        TC_FLAG("all", type, member.style.text.all,                                                \
                "Every verdict in full, also what only followed from another one or is resolved; " \
                "nothing is folded."),                                                             \
        TC_TEXT("job", "ID", type, member.job, "Only stories about this job."),                    \
        TC_TAKEN("color", "WHEN", tc_story_take_colour,                                            \
                 "Use colour. By default it is used on a terminal, unless NO_COLOR is set or "     \
                 "TERM is dumb.",                                                                  \
                 .values = TC_VALUES_COLOURS, .at = offsetof(type, member))

/* As a terminal, or a pipe, asks for; in the name of this command. */
void tc_story_args_init(struct tc_story_args *a, const char *command);
/* Takes --color; option->at is where the tc_story_args are. */
int tc_story_take_colour(void *args, const struct tc_option *option, const char *value);
/*
 * The filter that was asked for; a duration in --since counts back from now_ns. False when it is
 * wrong, which was said. Borrows a.
 */
bool tc_story_filter_of(const struct tc_story_args *a, int64_t now_ns,
                        struct tc_story_filter *out_filter);

#endif
