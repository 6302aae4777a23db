/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a report share: the sides, their numbers, and how these are said. */
#ifndef TC_REPORT_REPORT_PRIV_H
#define TC_REPORT_REPORT_PRIV_H

#include "base/arena.h"
#include "base/os/block.h"
#include "base/status.h"
#include "compare/compare.h"
#include "diagnose/diagnose.h"
#include "report/document/document.h"
#include "report/report.h"
#include "warehouse/answer.h"

#include <stdbool.h>
#include <stddef.h>

/* The runs of one side, and what is read of them beside their values. */
struct tc__side {
    struct tc_slice name; /* "base", "candidate"; "the runs" where there is only one side */
    const struct tc_group *group;
    const struct tc_series_set *set;
    const struct tc_doc_basis *basis; /* its runs are in the order of the group's */
    struct tc_answer published;       /* numbers that stand on these runs */
};

/* Invariant: with a comparison there are two sides, of which the last is the candidate. */
struct tc_report {
    struct tc_warehouse *w;
    const struct tc_report_want *want; /* borrowed while the report is made */
    struct tc_error *err;              /* of what failed first */
    tc_status status;
    struct tc_block *block;
    struct tc_arena arena;
    struct tc_doc doc;
    struct tc_comparison comparison;
    struct tc_group group;
    struct tc_series_set set;
    struct tc_diagnosis *diagnosis; /* NULL: not asked for */
    struct tc__side sides[TC_SIDES];
    size_t side_count;
    double level; /* of intervals: what is asked for */
};

static inline bool tc__is_comparison(const struct tc_report *r)
{
    return r->side_count == TC_SIDES;
}

/* The side that the report is on. */
static inline const struct tc__side *tc__subject(const struct tc_report *r)
{
    return &r->sides[r->side_count - 1];
}

/* ---- reading (basis.c) ---- */

/* The runs of a side with their digests and files. */
TC_CHECKED tc_status tc__basis_read(struct tc_report *r, struct tc__side *side,
                                    struct tc_error *err);
TC_CHECKED tc_status tc__published_read(struct tc_report *r, struct tc__side *side,
                                        struct tc_error *err);

/* ---- numbers (numbers.c, query.c) ---- */

/* The query that gives run_id and value of a series, for the runs of one or both sides. */
void tc__query_put(struct tc_grow *g, const struct tc_series *series,
                   const struct tc__side *const *sides, size_t side_count);

/* Each makes a number with its entry in the lineage. False where there is none: no value, or no
 * ratio; or when the report failed. */
bool tc__median(struct tc_report *r, size_t side, const struct tc_series *series,
                struct tc_doc_number *out);
/* Whether its values have more than one mode, so that a median describes none of them. */
bool tc__has_modes(struct tc_report *r, const struct tc_series *series);
bool tc__ratio(struct tc_report *r, const struct tc_pair *pair, struct tc_doc_number *out);
bool tc__difference(struct tc_report *r, const struct tc_pair *pair, struct tc_doc_number *out);
/* One value of one run that was read and not estimated, with the query that gives it. */
struct tc__reading {
    struct tc_slice metric;
    struct tc_slice unit;
    struct tc_slice what; /* "request abc" */
    struct tc_slice query;
    size_t run; /* of the side */
    double value;
};
bool tc__reading(struct tc_report *r, size_t side, const struct tc__reading *reading,
                 struct tc_doc_number *out);

/* ---- how pairs are said (pairs.c) ---- */

/* Pairs by what a reader wants to know first: worse, better, different, what is not decided; the
 * main metrics and the largest difference first. In the report's arena. */
struct tc__pairs {
    const struct tc_pair **items;
    size_t count;
};
struct tc__pairs tc__pairs_ranked(struct tc_report *r);
bool tc__is_judged(const struct tc_pair *pair); /* better, worse or different */
/* "ttft_p99_ms at in=1024 concurrency=64". */
void tc__say_series(struct tc_report *r, struct tc_doc_spans *spans,
                    const struct tc_series *series);
/* By the verdict of the comparison. */
bool tc__side_has_modes(const struct tc_pair *pair, size_t side);
/* The median of a series, or the words why there is none to be said. */
void tc__say_value(struct tc_report *r, struct tc_doc_spans *spans, size_t side,
                   const struct tc_series *series);
/* A cell or sentence with the median of a side, or with the words why there is none to be said. */
void tc__say_median(struct tc_report *r, struct tc_doc_spans *spans, const struct tc_pair *pair,
                    size_t side);
void tc__say_change(struct tc_report *r, struct tc_doc_spans *spans, const struct tc_pair *pair);
void tc__say_verdict(struct tc_report *r, struct tc_doc_spans *spans, const struct tc_pair *pair);
/* A table of some of the pairs. */
void tc__pairs_table(struct tc_report *r, const struct tc_pair *const *pairs, size_t count,
                     const char *caption);

/* The run of the subject that is worst at the foremost difference, else the latest (traces.c). */
size_t tc__run_to_look_at(const struct tc_report *r);

/* ---- parts (parts.c, plots.c, cause.c) ---- */

void tc__plot_pairs(struct tc_report *r, const struct tc__pairs *pairs, size_t count_max);
void tc__plot_series(struct tc_report *r, size_t count_max);
void tc__plot_curve(struct tc_report *r);
/* Of one side: its metrics over time. */
void tc__plot_history(struct tc_report *r, size_t count_max);

/* Of one side: the first of its main metrics, else of all; NULL: it has none. */
const struct tc_series *tc__first_main(const struct tc_report *r);

void tc__head(struct tc_report *r);             /* title, answer, what was compared */
void tc__part_doubts(struct tc_report *r);      /* what makes it less sure */
void tc__part_differences(struct tc_report *r); /* what else differs, and what is not known */
void tc__part_unknown(struct tc_report *r);
void tc__part_series(struct tc_report *r); /* of one side: its metrics */
void tc__part_cause(struct tc_report *r);  /* hypothesis, checks, experiment, incidents */
void tc__part_traces(struct tc_report *r); /* the slowest requests */
void tc__part_repro(struct tc_report *r, bool with_workload);
/* What is known of a part (workload, software, hardware, cluster, run), side by side; how many
 * rows: no table without one. */
size_t tc__facts_table(struct tc_report *r, const char *part, const char *caption);
/* One line in the shell: words are quoted where they need it. */
void tc__command_put(struct tc_grow *g, struct tc_slice word);
/* The command as a block. Takes what was grown. */
void tc__command_end(struct tc_report *r, struct tc_grow *g);
/* "tracecore compare BASE CANDIDATE --metric M --point P" and the like, for a pair. */
void tc__command_compare(struct tc_report *r, struct tc_grow *g, const struct tc_pair *pair);

void tc__engineering(struct tc_report *r);
void tc__product(struct tc_report *r);
void tc__partner(struct tc_report *r);

#endif
