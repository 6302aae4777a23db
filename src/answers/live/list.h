/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The incidents that detection keeps, as a list: what the questions about now are answered from.
 * Pointers into struct tc_live, good until it is fed again; the loop's thread.
 */
#ifndef TC_ANSWERS_LIVE_LIST_H
#define TC_ANSWERS_LIVE_LIST_H

#include "answers/question.h"
#include "base/json/out.h"
#include "base/table/grow.h"
#include "event/source.h"
#include "event/verdict.h"

#include <stdbool.h>
#include <stddef.h>

struct tc_live_list {
    const struct tc_verdict **items; /* newest first, unless it was sorted */
    size_t count;
    size_t cap;
};

/* All that are kept. */
TC_CHECKED tc_status tc_live_list_read(const struct tc_asked *asked, struct tc_live_list *out,
                                       struct tc_error *err);
void tc_live_list_fini(struct tc_live_list *l);

/* The incident of an id, or of the only one that begins with it. TC_E_NOTFOUND, TC_E_USAGE. */
TC_CHECKED tc_status tc_live_list_find(const struct tc_live_list *l, struct tc_slice id,
                                       const struct tc_verdict **out, struct tc_error *err);

static inline bool tc_live_is_open(const struct tc_verdict *v)
{
    return v->status != TC_VERDICT_RESOLVED;
}
/* What its story goes by: the first root's id, or its own when it is alone. */
static inline struct tc_slice tc_live_story_id(const struct tc_verdict *v)
{
    return v->group.len > 0 ? v->group : v->incident_id;
}

/* Appends the verdict as everywhere else: one line of JSON without its end. */
void tc_live_put_verdict(struct tc_grow *g, const struct tc_verdict *v,
                         const struct tc_sources *sources);
/* An object with what a row of a list needs. */
void tc_live_put_brief(struct tc_json_out *j, const struct tc_verdict *v);
/* A member with a time, or null where there is no date. */
#define tc_live_put_time(j, key, ns)          \
    do {                                      \
        if (tc_time_is_date(ns)) {            \
            tc_json_put_time((j), key, (ns)); \
        } else {                              \
            tc_json_put_null((j), key);       \
        }                                     \
    } while (0)
/* Members: node, namespace, pod, job, gpu ..., as far as they are known. */
void tc_live_put_where(struct tc_json_out *j, const struct tc_scope *scope);

#endif
