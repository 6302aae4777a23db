/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfyaml's events, for every reader of YAML: set up alike, and silent. What it says is wrong is
 * kept, with its place. Ask tc_yaml_screen first.
 */
#ifndef TC_BASE_YAML_EVENTS_H
#define TC_BASE_YAML_EVENTS_H

#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>

#define TC_YAML_PROBLEM_MAX 512

struct fy_event;

/* From 1; columns are characters. Line 0: not known. */
struct tc_yaml_place {
    unsigned line;
    unsigned column;
};

/* What libfyaml said, printable and ended by a NUL. */
struct tc_yaml_problem {
    struct tc_yaml_place at;
    char text[TC_YAML_PROBLEM_MAX];
};

/* Borrows the event. Any other status than TC_OK ends the reading. */
typedef tc_status (*tc_yaml_event_fn)(void *context, struct fy_event *event);

/*
 * Hands the events of the text over, in their order. Returns what on_event returned, or with
 * *out_problem TC_E_MALFORMED when this is no YAML and TC_E_NOMEM when libfyaml has no memory: only
 * then out_problem->text is not empty.
 */
TC_CHECKED tc_status tc_yaml_events(struct tc_slice text, tc_yaml_event_fn on_event, void *context,
                                    struct tc_yaml_problem *out_problem);

/* The place of a byte, for what was found before libfyaml. */
struct tc_yaml_place tc_yaml_place_of(struct tc_slice text, size_t offset);

#endif
