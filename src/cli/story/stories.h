/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stories among linked verdicts, as a person is to read them: open before resolved, critical
 * first, then by time; those that were asked for only.
 */
#ifndef TC_CLI_STORY_STORIES_H
#define TC_CLI_STORY_STORIES_H

#include "base/status.h"
#include "story/incident_table.h"
#include "verdict/render.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A story is shown when one of its verdicts matches all of these. */
struct tc_story_filter {
    int64_t since_ns;     /* seen then or later; TC_TIME_NONE: at any time */
    const char *node;     /* with or without domain; NULL: any */
    const char *job;      /* NULL: any */
    const char *incident; /* the beginning of its id; NULL: any */
    /* Asked about each story that matches, by a hash that changes with what opened, was resolved
     * or joined; NULL: all are wanted. */
    bool (*wants)(void *context, uint64_t state);
    void *context;
};

#define TC_STORY_FILTER_NONE ((struct tc_story_filter){.since_ns = TC_TIME_NONE})

struct tc_story_entry {
    struct tc_story_text text;
    struct tc_story_sum sum;
};

struct tc_stories {
    struct tc_story_entry *items; /* those that are shown, in order */
    size_t count;
    size_t total;                       /* with those that are not */
    size_t verdict_count;               /* of those that are shown */
    const struct tc_verdict **verdicts; /* what the items point into */
    bool *shown;                        /* by index of the incident table */
};

/* Borrows kept, which has been linked. TC_E_NOMEM; tc_stories_fini is due all the same. */
TC_CHECKED tc_status tc_stories_init(struct tc_stories *s, const struct tc_incident_table *kept,
                                     const struct tc_story_filter *filter);
void tc_stories_fini(struct tc_stories *s);

#endif
