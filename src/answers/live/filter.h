/* SPDX-License-Identifier: Apache-2.0 */
/* Which verdicts are asked for: the parameters that the list of incidents and the stream share. */
#ifndef TC_ANSWERS_LIVE_FILTER_H
#define TC_ANSWERS_LIVE_FILTER_H

#include "answers/question.h"
#include "event/verdict.h"

#include <stdbool.h>
#include <stdint.h>

/* Texts are borrowed from what was asked; an empty one asks for nothing. */
struct tc_live_filter {
    struct tc_slice status; /* "open" or "resolved" */
    struct tc_slice severity;
    struct tc_slice pattern;
    struct tc_slice node;
    struct tc_slice job;
    struct tc_slice text;
    int64_t since_ns; /* TC_TIME_NONE: any */
};

/* The rows of a table of parameters; the question has all of them. */
#define TC_LIVE_FILTER_PARAMS                                                                     \
    {.name = "status",                                                                            \
     .help = "Only incidents that are open, or only those that are resolved.",                    \
     .kind = TC_PARAM_WORD,                                                                       \
     .words = "open resolved"},                                                                   \
        {.name = "severity",                                                                      \
         .help = "Only incidents of this severity.",                                              \
         .kind = TC_PARAM_WORD,                                                                   \
         .words = "info warning critical"},                                                       \
        {.name = "pattern",                                                                       \
         .help = "Only incidents of this pattern, as xid_error; tracecore patterns lists them.",  \
         .kind = TC_PARAM_TEXT},                                                                  \
        {.name = "node",                                                                          \
         .help = "Only incidents on this node, with or without its domain.",                      \
         .kind = TC_PARAM_TEXT},                                                                  \
        {.name = "job", .help = "Only incidents of this job.", .kind = TC_PARAM_TEXT},            \
        {.name = "since",                                                                         \
         .help = "Only incidents that were seen then or later.",                                  \
         .kind = TC_PARAM_TIME},                                                                  \
    {                                                                                             \
        .name = "q",                                                                              \
        .help = "Only incidents with this text in their headline, advice, pattern, names or id; " \
                "capitals do not matter.",                                                        \
        .kind = TC_PARAM_TEXT                                                                     \
    }

void tc_live_filter_of(const struct tc_asked *asked, struct tc_live_filter *out);
bool tc_live_filter_is_empty(const struct tc_live_filter *f);
bool tc_live_filter_takes(const struct tc_live_filter *f, const struct tc_verdict *v);
/* Whether the verdict is about the node, itself or one of the places that it lists. */
bool tc_live_is_on_node(const struct tc_verdict *v, struct tc_slice node);

#endif
