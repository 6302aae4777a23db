/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a YAML text, one by one: for the tree of tree.h, and for a reader that must not
 * keep a whole document. This is the only place that knows libfyaml, which is set up alike for
 * everybody, and silent: what it says is wrong is kept, with its place. Ask tc_yaml_screen first.
 */
#ifndef TC_BASE_YAML_EVENTS_H
#define TC_BASE_YAML_EVENTS_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define TC_YAML_PROBLEM_MAX 512

enum tc_yaml_event_type {
    TC_YAML_DOCUMENT_START,
    TC_YAML_DOCUMENT_END,
    TC_YAML_OPEN, /* a mapping or list */
    TC_YAML_CLOSE,
    TC_YAML_SCALAR,
    TC_YAML_ALIAS,
};

/* PLAIN also for a value that is not written at all. */
enum tc_yaml_style { TC_YAML_PLAIN, TC_YAML_QUOTED, TC_YAML_LITERAL, TC_YAML_FOLDED };

/* From 1; columns are characters. Line 0: not known. */
struct tc_yaml_place {
    unsigned line;
    unsigned column;
};

/* Lives until the call that hands it over returns. */
struct tc_yaml_event {
    enum tc_yaml_event_type type;
    enum tc_yaml_style style; /* of a scalar */
    bool is_mapping;          /* of OPEN */
    bool has_tag;
    bool has_anchor;
    struct tc_yaml_place at; /* line 0: nothing is written, and start and end are TC_NPOS */
    size_t start;            /* its bytes: the text inside of quotes, the name behind the star */
    size_t end;
    struct tc_slice text; /* of a scalar, unescaped; of an alias the name */
    struct tc_slice tag;
    struct tc_slice anchor;
};

/* What libfyaml said, printable and ended by a NUL. */
struct tc_yaml_problem {
    struct tc_yaml_place at;
    char text[TC_YAML_PROBLEM_MAX];
};

/* Any other status than TC_OK ends the reading. */
typedef tc_status (*tc_yaml_event_fn)(void *context, const struct tc_yaml_event *event);

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
