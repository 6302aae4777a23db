/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the checks of a diagnosis see: the outcomes of the run and of its base, the telemetry of
 * both (one row per series: statistics over the whole run), verdicts, and other runs of the same
 * workload. Read once; checks only compute. Scratch memory is an arena that each check gives back.
 */
#ifndef TC_DIAGNOSE_CONTEXT_PRIV_H
#define TC_DIAGNOSE_CONTEXT_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "compare/groups.h"
#include "diagnose/diagnose.h"
#include "diagnose/points.h"
#include "warehouse/answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc__signal {
#define SIGNAL(id, metric, unit) TC__SIGNAL_##id,
#define ALSO(id, metric)
#include "diagnose/signals.def"
#undef SIGNAL
#undef ALSO
    TC__SIGNALS
};

enum tc__side { TC__RUN, TC__BASE, TC__SIDES };

/* One series of one side. Values are NaN where they are not known. */
struct tc__row {
    enum tc__signal signal;
    struct tc_slice metric;
    struct tc_slice node;
    struct tc_slice gpu;
    struct tc_slice pod_uid;
    struct tc_slice point;
    struct tc_slice digest;
    int64_t rank; /* -1: of none */
    double mean;  /* of the windows' means */
    double max;
    double min;
    double last; /* highest; of a counter its value */
    double windows;
};

struct tc__span {
    const struct tc__row *rows;
    size_t count;
};

/* Columns of `others`: runs of the same name or model, the latest first. */
enum {
    TC__OTHER_RUN,
    TC__OTHER_NAME,
    TC__OTHER_SAME, /* 1: the same workload spec */
    TC__OTHER_TENANTS,
    TC__OTHER_DATASET,
    TC__OTHER_P99,
    TC__OTHER_SPIKES,
    TC__OTHER_TOKENS,
};

struct tc__context {
    struct tc_slice run_id;
    struct tc_answer run;
    struct tc_answer telemetry[TC__SIDES];
    struct tc_answer verdicts;
    struct tc_answer others;      /* runs like it, see OTHER_* */
    struct tc_answer other_nodes; /* of them: run and node */
    struct tc_points points;
    struct tc__row *rows[TC__SIDES];
    struct tc__span spans[TC__SIDES][TC__SIGNALS];
    size_t base_runs;
    void *block;
    struct tc_arena arena;
};

/* The caller destroys it, also after a failure. */
TC_CHECKED tc_status tc__context_read(struct tc_warehouse *w, struct tc_slice run_id,
                                      const struct tc_group *base, struct tc__context **out,
                                      struct tc_error *err);
void tc__context_destroy(struct tc__context *c);

/* The value of a key in a point ("device=eth0,mode=idle"); empty when it is not there. */
struct tc_slice tc__point_value(struct tc_slice point, const char *key);

/* ---- values ---- */

/* What rows are grouped by. */
enum tc__by {
    TC__BY_ALL,
    TC__BY_NODE,
    TC__BY_GPU,
    TC__BY_RANK,
    TC__BY_CONTAINER, /* pod and container */
    TC__BY_LABEL,     /* of `want` */
};
enum tc__how { TC__MEAN, TC__SUM, TC__MIN };

/* Rows that have all of this count. */
struct tc__want {
    enum tc__by by;
    enum tc__how how;
    const char *label;  /* for TC__BY_LABEL, and what rows without are left out for */
    const char *key;    /* in the point ... */
    const char *equals; /* ... with this value; NULL: any */
};

struct tc__value {
    struct tc_slice key;
    struct tc_slice detail; /* of a container: its name */
    double value;
    const struct tc__row *row; /* one of its rows: the one with the highest value */
};
struct tc__values {
    struct tc__value *items; /* by key */
    size_t count;
};

/* In the context's arena; none where there is no memory. */
struct tc__values tc__collect(struct tc__context *c, enum tc__side side, enum tc__signal signal,
                              const struct tc__want *want);
/* a / b for keys that both have; b must be above 0. */
struct tc__values tc__quotient(struct tc__context *c, enum tc__side side, enum tc__signal a,
                               enum tc__signal b, const struct tc__want *want);
/* NaN when there is none. */
double tc__median_of(struct tc__context *c, struct tc__values values);
double tc__mean_of(struct tc__values values);
const struct tc__value *tc__find_value(struct tc__values values, const struct tc__value *like);

/* The value that is farthest from its peers: upwards (sign 1) or downwards (-1). */
struct tc__odd_one {
    const struct tc__value *value; /* NULL: fewer than four, or none is odd */
    double z;
    double median;
};
/* The scale is at least `least` x the median, so that tiny differences are none. */
struct tc__odd_one tc__odd_one_out(struct tc__context *c, struct tc__values values, int sign,
                                   double least);

bool tc__has(const struct tc__context *c, enum tc__side side, enum tc__signal signal);

/* ---- what a check says ---- */

void tc__check_proof(struct tc_check *check, const struct tc__row *row);
void tc__check_where(struct tc_check *check, const struct tc__row *row);
/* The end of a sentence of several: text is added, separated by "; ". Made from args[0] and the
 * arguments behind it, as tc_format. */
#define tc__check_say(check, ...)                                              \
    tc__check_say_args((check), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, \
                       TC_ARG_COUNT(__VA_ARGS__))
void tc__check_say_args(struct tc_check *check, const struct tc_arg *args, size_t count);
/* Supports, with at least this strength. */
void tc__check_support(struct tc_check *check, double strength, const struct tc__row *row);
/* Contradicts, unless something supports. */
void tc__check_oppose(struct tc_check *check);

#endif
