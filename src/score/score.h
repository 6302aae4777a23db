/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good verdicts are: what was injected (truth.ndjson) against what was raised
 * (`tracecore detect --json`). Pairs of a truth and its verdicts are scored one after
 * another and summed; the memory of one is given back before the next, so only
 * the largest counts. The result does not depend on the order of lines.
 * docs/score.md says how a verdict is paired with a fault.
 */
#ifndef TC_SCORE_SCORE_H
#define TC_SCORE_SCORE_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_score;

struct tc_score_options {
    const struct tc_slice *patterns; /* the catalogue; borrowed for the score's whole life */
    size_t pattern_count;
    int64_t grace_ns; /* how far apart fault and verdict may be in time */
    size_t list_max;  /* entries of each list; at most TC_SCORE_LIST_MAX */
};

/* NULL when out of memory. */
struct tc_score *tc_score_create(const struct tc_score_options *options);
void tc_score_destroy(struct tc_score *s);

/*
 * Reads a truth, then the verdicts that belong to it (any number of inputs). Borrow
 * bytes. On failure err->offset is the start of the line that is wrong, and the message
 * names the field and what to do.
 */
TC_CHECKED tc_status tc_score_read_truth(struct tc_score *s, struct tc_slice bytes,
                                         struct tc_error *err);
TC_CHECKED tc_status tc_score_read_verdicts(struct tc_score *s, struct tc_slice bytes,
                                            struct tc_error *err);

/*
 * Pairs what was read since the last call, adds it to the sums and forgets it. `name` is
 * copied: it says in the lists which truth an entry belongs to.
 */
TC_CHECKED tc_status tc_score_add(struct tc_score *s, struct tc_slice name, struct tc_error *err);

/* No duration is known: there is no true positive. */
#define TC_SCORE_NO_TIME (-1)

struct tc_score_row {
    struct tc_slice pattern; /* "all" for the sums */
    uint64_t faults;
    uint64_t true_positives;
    uint64_t false_positives;
    uint64_t duplicates; /* of the false positives: the fault was proved already */
    uint64_t false_negatives;
    uint64_t true_negatives; /* noise that nothing was raised for */
    uint64_t noises;
    uint64_t explained;             /* consequences of a true positive of the same pattern */
    uint64_t culprits_right;        /* of the true positives */
    uint64_t discriminators_right;  /* of those whose fault has one */
    uint64_t discriminators_stated; /* true positives whose fault has one */
    uint64_t cascades;              /* faults that caused others and were caused by none */
    uint64_t roots_first; /* of those: told as the root of the story of what they caused */
    int64_t median_ns;    /* time to detection, nearest rank */
    int64_t p95_ns;
};

/* part of whole as a share; false when whole is 0: there is no such figure. */
bool tc_score_share(uint64_t part, uint64_t whole, double *out);
bool tc_score_precision(const struct tc_score_row *row, double *out);
bool tc_score_recall(const struct tc_score_row *row, double *out);
bool tc_score_culprit(const struct tc_score_row *row, double *out);
bool tc_score_root(const struct tc_score_row *row, double *out);

/*
 * The patterns that occur, in the catalogue's order, and the sums behind them:
 * *out_count rows, at least one. Lives in s until the next call of anything.
 */
const struct tc_score_row *tc_score_rows(struct tc_score *s, size_t *out_count);

/* Takes a piece of output; false when no more is wanted. Borrows text. */
typedef bool (*tc_score_put_fn)(void *context, struct tc_slice text);

/* The rows and lists as text for people, or as one JSON object; TC_E_IO when `put` refuses. */
TC_CHECKED tc_status tc_score_report_text(struct tc_score *s, tc_score_put_fn put, void *context);
TC_CHECKED tc_status tc_score_report_json(struct tc_score *s, tc_score_put_fn put, void *context);

#endif
