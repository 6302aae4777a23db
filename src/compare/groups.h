/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a word on the command line stands for: a group of runs. The surest meaning counts:
 *
 *   1. a run's id, a replicate group, or a name (all runs that have it)
 *   2. with a blank or an operator in it: an SQL condition on the columns of benchmark_run_fact
 *      and of its software, hardware, cluster and workload: "driver_version = '570.86'"
 *   3. the start of an id, of a replicate group or of a name, if it is that of only one
 *
 * A condition is from outside: it must be one expression, only reads, and has limits of time and
 * rows as `tracecore sql` has. Runs that failed or are not complete are counted and left out.
 */
#ifndef TC_COMPARE_GROUPS_H
#define TC_COMPARE_GROUPS_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "warehouse/answer.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc_group_kind { TC_GROUP_RUN, TC_GROUP_REPLICATES, TC_GROUP_NAME, TC_GROUP_CONDITION };

#define TC_GROUP_RUNS_MAX 100000
#define TC_GROUP_TIME_NS INT64_C(10000000000)

/*
 * The columns of a group's runs: first what identifies them, then, from TC_GROUP_FACTS on, what is
 * known of them and may differ.
 */
enum tc_group_column {
    TC_GROUP_RUN_ID,
    TC_GROUP_RUN_NAME,
    TC_GROUP_REPLICATE_GROUP,
    TC_GROUP_REPLICATE_INDEX,
    TC_GROUP_CASE_ID,
    TC_GROUP_STATUS,
    TC_GROUP_STARTED,
    TC_GROUP_ENDED,
    TC_GROUP_MIN_REPLICATES,
    TC_GROUP_CONFIDENCE,
    TC_GROUP_CONTRACT,
    TC_GROUP_VARIABLE,
    TC_GROUP_FACTS,
};

struct tc_group {
    enum tc_group_kind kind;
    char *text;               /* the word */
    struct tc_answer runs;    /* by time, then id; those that are left out last */
    size_t run_count;         /* that count */
    size_t left_out;          /* failed, or not complete */
    size_t no_replicates;     /* among those that count: no replicate of their case (forced, say) */
    int64_t min_replicates;   /* the most that a contract asks for; 0: none does */
    double confidence_level;  /* the highest; 0: none says one */
    struct tc_slice variable; /* variable under test, if all that have one have the same */
};

enum {
    TC_GROUP_WITH_FAILED = 1, /* runs that failed or are not complete count too */
};

/*
 * TC_E_NOTFOUND: no run is meant, or several things are; TC_E_USAGE: a condition that is wrong, or
 * not one expression; TC_E_LIMIT: too many runs, or it takes too long. err is a sentence, with a
 * suggestion where one is near. On success the caller owns the group.
 */
TC_CHECKED tc_status tc_group_find(struct tc_warehouse *w, struct tc_slice word, unsigned flags,
                                   struct tc_group *out, struct tc_error *err);
void tc_group_fini(struct tc_group *g);

static inline struct tc_slice tc_group_text(const struct tc_group *g, size_t run,
                                            enum tc_group_column column)
{
    return tc_answer_text(&g->runs, run, column);
}

/* The column that all runs of the group have the same in, and only they, failed ones too:
 * TC_GROUP_RUN_ID, TC_GROUP_REPLICATE_GROUP or TC_GROUP_RUN_NAME; TC_GROUP_FACTS for a condition.
 */
enum tc_group_column tc_group_key(const struct tc_group *g);
/* "software", "hardware", ...: the part that a column from TC_GROUP_FACTS on belongs to. */
const char *tc_group_part(size_t column);
size_t tc_group_column_count(void);
/* "group base", "name nightly", "run run-1", "runs where ...": for people. */
void tc_group_describe(const struct tc_group *g, struct tc_grow *out);

#endif
