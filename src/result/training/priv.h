/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readers of training logs share. A program is a table of the values in a line of a step,
 * and a function that tells what a line is; the walk over the log, ranks, runs that follow each
 * other, the warm-up and the rows are the same for all.
 *
 * Steps up to TC__TRAIN_WARMUP are left out of the statistics if there are later ones: compilation
 * and allocation fall on them. Where the log does not say how long a step took and lines carry a
 * time, it is the time between two lines divided by the steps between them.
 *
 * A log may hold several runs, each of which has a row of its own: a new one begins with a step
 * after the end of training was told, or where steps go back to where the run began. Steps that go
 * back less far are a restart.
 */
#ifndef TC_RESULT_TRAINING_PRIV_H
#define TC_RESULT_TRAINING_PRIV_H

#include "codec/train_log/line.h"
#include "result/map.h"
#include "result/stats_priv.h"

#define TC__TRAIN_WARMUP 10
#define TC__TRAIN_VALUES_MAX 10
#define TC__TRAIN_NAMES_MAX 3

#define TC__TRAIN_AFTER \
    "mean over the logged steps after the first 10, or over all if there are no others"

/* What of a value goes into its column. */
enum tc__train_take { TC__TRAIN_MEAN, TC__TRAIN_LAST, TC__TRAIN_MAX };

struct tc__train_value {
    const char *names[TC__TRAIN_NAMES_MAX]; /* before the number; they begin a word */
    const char *field;                      /* of the definitions, and the metric of the slice */
    const char *unit;
    const char *measures;
    size_t column; /* TC_MAP_NO_COLUMN: a slice alone */
    enum tc__train_take take;
    const char *note; /* of the column's definition */
    double factor;    /* to the unit; 0: 1 */
    bool inside;      /* the name may stand inside of a word */
};

/* A line about the step that was told just before. */
#define TC__TRAIN_LAST_STEP (-1)

/* What one line says. */
struct tc__train_line {
    enum tc_train_word word;
    int64_t step; /* or TC__TRAIN_LAST_STEP */
    double values[TC__TRAIN_VALUES_MAX];
    bool known[TC__TRAIN_VALUES_MAX];
    bool not_finite[TC__TRAIN_VALUES_MAX]; /* written as nan or inf: not known, but logged */
    double step_ms;                        /* NaN: not told */
    double validation;                     /* NaN: none */
    int64_t at_ns;                         /* TC_TIME_NONE: none */
    bool has_zone;                         /* of that time */
};

struct tc__train_log;

struct tc__train_program {
    const char *framework;
    const char *mark;   /* in every line of a step */
    const char *begins; /* in one that is cut off, and in no other line */
    const struct tc__train_value *values;
    size_t value_count;
    int64_t first_step; /* how the program counts: 0 or 1 */
    bool overwrites;    /* a bar that is drawn anew behind a carriage return: each is a line */
    bool merges;        /* lines of one step complete each other; else the first one counts */
    const struct tc_definition *step_of; /* of what the log says about a step's time */
    const struct tc_definition *validation_of;
    const char *wants; /* for the error, when there is no step */
    bool (*read_line)(const struct tc__train_log *l, struct tc_slice text,
                      struct tc__train_line *out);
    /* Facts, in lines that read_line did not take; may be NULL. */
    void (*read_other)(struct tc__train_log *l, struct tc_slice text);
};

/* One run of the log, as far as it is read. */
struct tc__train_run {
    size_t first_line;
    size_t lines; /* of steps */
    int64_t first_step;
    int64_t second_step; /* -1: not yet */
    int64_t last_step;
    int64_t last_ns;
    int64_t steps; /* the highest one */
    int64_t first_ns;
    int64_t end_ns;
    size_t restarts;
    bool completed;
    bool last_known[TC__TRAIN_VALUES_MAX];
    double last[TC__TRAIN_VALUES_MAX]; /* NaN: not known */
    double max[TC__TRAIN_VALUES_MAX];
    double validation;
    size_t not_finite_line[TC__TRAIN_VALUES_MAX]; /* the first one */
    size_t not_finite[TC__TRAIN_VALUES_MAX];
    struct tc__stats stats[TC__TRAIN_VALUES_MAX];
    struct tc__stats warm[TC__TRAIN_VALUES_MAX]; /* of the first steps: if there are no others */
    struct tc__stats step_ms;
    struct tc__stats warm_step_ms;
    struct tc__stats gap_ms; /* from the times of lines */
};

struct tc__train_log {
    struct tc_result *r;
    struct tc_error *err;
    const struct tc__train_program *program;
    struct tc_train_search search;
    long rank; /* whose lines count; -1: lines without one */
    bool has_rank;
    size_t runs; /* in the whole log */
    size_t run_number;
    size_t completed;
    int64_t gpus;    /* that the log tells; 0: it does not */
    bool no_zone;    /* a time was taken as UTC */
    size_t cut_line; /* the last line, if it begins like one of a step and is none; 0: it is not */
    struct tc__train_run run;
};

/* ---- log.c: the walk ---- */

TC_CHECKED tc_status tc__train_read(const struct tc__train_program *program,
                                    const struct tc_result_input *in, struct tc_result *r,
                                    struct tc_error *err);
/* TC_SNIFF_LIKELY when there is a line of a step. */
int tc__train_sniff(const struct tc__train_program *program, const struct tc_result_input *in);

/* ---- values.c: numbers in a line ---- */

/* A number with commas, behind which other characters may stand: 4,376  48.87GiB  25.62% */
bool tc__train_number(struct tc_slice text, double *out, struct tc_slice *out_rest);
/* Behind the name, which begins a word. */
bool tc__train_after(struct tc_slice text, const char *name, struct tc_slice *out);
/* The number behind a name, which begins a word. */
bool tc__train_number_after(struct tc_slice text, const char *name, double *out);
/* All values of the program's table. */
void tc__train_values(const struct tc__train_program *program, struct tc_slice text,
                      struct tc__train_line *out);
/* The first time in a line; TC_TIME_NONE. *out_zone: it says in which zone; else it is as UTC. */
int64_t tc__train_time(struct tc_slice text, bool *out_zone);
/* "global_batch_size=64" as a fact. */
void tc__train_batch(struct tc__train_log *l, double batch);
/* How many GPUs: one per rank. */
void tc__train_world(struct tc__train_log *l, double ranks);

/* ---- run.c: one run ---- */

void tc__train_run_begin(struct tc__train_run *run);
void tc__train_run_fini(struct tc__train_run *run);
/* Whether a step belongs to another run than the one so far. */
bool tc__train_is_new_run(const struct tc__train_run *run, int64_t step);
/* Another step of it: what tc__train_is_new_run needs. */
void tc__train_run_count(struct tc__train_run *run, int64_t step);
void tc__train_on_step(struct tc__train_log *l, size_t number, const struct tc__train_line *line);
/* The rows of the run, and what is odd about it. */
TC_CHECKED tc_status tc__train_put_run(struct tc__train_log *l);

#endif
