/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of the incidents that are kept: what links hold together. The loop's thread. */
#ifndef TC_ANSWERS_LIVE_STORY_H
#define TC_ANSWERS_LIVE_STORY_H

#include "answers/live/list.h"

/* Verdicts of one story: a stretch of a list that was sorted by tc_live_stories_sort. */
struct tc_live_story {
    const struct tc_verdict *const *items; /* roots first, the gravest at the front */
    size_t count;
    size_t roots; /* that no other explains */
    size_t open;
    enum tc_severity severity; /* the highest of those that are open; of all when none is */
    int64_t first_ns;          /* TC_TIME_NONE when none has a date */
    int64_t last_ns;
};

/* Puts the verdicts of each story next to each other. */
void tc_live_stories_sort(struct tc_live_list *l);
/* The story that begins at `at` of such a list. */
struct tc_live_story tc_live_story_at(const struct tc_live_list *l, size_t at);
/* Members of an object about it: id, headline, severity, where, what to do, counts, times, ids. */
void tc_live_put_story(struct tc_json_out *j, const struct tc_live_story *s);

#endif
