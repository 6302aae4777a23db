/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/story/options.h"

#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "cli/since.h"

#include <string.h>

void tc_story_args_init(struct tc_story_args *a, const char *command)
{
    *a = (struct tc_story_args){
        .style = {.text = {.columns = tc_terminal_columns(),
                           .colour = tc_terminal_colour(),
                           .cut = tc_terminal_is_output()},
                  .command = command},
    };
}

int tc_story_take_colour(void *args, const struct tc_option *option, const char *value)
{
    struct tc_story_args *a = (void *)((char *)args + option->at);
    if (strcmp(value, "always") == 0) {
        a->style.text.colour = true;
    } else if (strcmp(value, "never") == 0) {
        a->style.text.colour = false;
    } else if (strcmp(value, "auto") == 0) {
        a->style.text.colour = tc_terminal_colour();
    } else {
        tc_say(a->style.command, "--color: \"%s\" is none of auto, always, never", value);
        return TC_EXIT_BAD;
    }
    return TC_GO_ON;
}

bool tc_story_filter_of(const struct tc_story_args *a, int64_t now_ns,
                        struct tc_story_filter *out_filter)
{
    struct tc_story_filter filter = TC_STORY_FILTER_NONE;
    filter.node = a->node;
    filter.job = a->job;
    if (a->since != NULL && !tc_since_parse_at(a->since, now_ns, &filter.since_ns)) {
        tc_say(a->style.command,
               "--since: \"%s\" is neither a time (2026-11-15T03:00:00Z) nor a duration (90s, "
               "15m, 2h, 3d)",
               a->since);
        return false;
    }
    *out_filter = filter;
    return true;
}
