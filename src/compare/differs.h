/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between two groups of runs besides the numbers: each column of the run, workload,
 * software, hardware and cluster. The variable under test is expected to differ; anything else that
 * does makes a comparison confounded: what made the difference cannot be told.
 */
#ifndef TC_COMPARE_DIFFERS_H
#define TC_COMPARE_DIFFERS_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "compare/groups.h"

#include <stdbool.h>
#include <stddef.h>

enum tc_differs {
    TC_DIFFERS_BETWEEN, /* a side has a value that the other has not */
    TC_DIFFERS_WITHIN,  /* both sides have the same values, and more than one */
    TC_DIFFERS_UNKNOWN, /* nothing is known of it on one of the sides */
};

/* A value and how many runs have it: the value is that of the run. */
struct tc_fact_value {
    size_t run;
    size_t count;
};
#define TC_FACT_VALUES_MAX 8

struct tc_fact_side {
    struct tc_fact_value values[TC_FACT_VALUES_MAX]; /* in the order of the runs */
    size_t value_count;
    size_t more;    /* runs with further values */
    size_t unknown; /* runs of which it is not known */
};

struct tc_difference {
    size_t column; /* of a group */
    enum tc_differs kind;
    bool is_expected; /* it belongs to the variable under test */
    struct tc_fact_side sides[2];
};

struct tc_differences {
    struct tc_difference *items; /* in the order of the columns */
    size_t count;
    bool is_confounded;
    struct tc_slice variable; /* under test: of the contracts; empty: not known */
    bool unknown_software;    /* nothing is known of it on either side */
    bool unknown_hardware;
    bool unknown_cluster;
    bool is_interleaved; /* no side was measured as a whole before the other */
    size_t shared;       /* runs that are in both groups */
};

TC_CHECKED tc_status tc_differences_find(const struct tc_group *base,
                                         const struct tc_group *candidate,
                                         struct tc_differences *out, struct tc_error *err);
void tc_differences_fini(struct tc_differences *d);

/* "between", "within" or "unknown". */
const char *tc_differs_name(enum tc_differs kind);
/* Whether a column (its name) belongs to a variable under test. */
bool tc_variable_has(struct tc_slice variable, struct tc_slice column);
/* The values of a side for people: "550.54 (2 runs), 570.86"; "-" where nothing is known. */
void tc_fact_side_put(struct tc_grow *g, const struct tc_group *group, size_t column,
                      const struct tc_fact_side *side);

#endif
