/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of an MLPerf Training log, in whichever of its three spellings:
 *
 *   :::MLLOG {"time_ms": 1697107698557, "key": "run_start", "value": null, "metadata": {...}}
 *   :::MLL 1560192582.453 run_start: {"value": null, "metadata": {...}}              (0.6)
 *   :::MLPv0.5.0 resnet 1544221688.657524109 (resnet_main.py:568) run_start[: VALUE] (0.5)
 */
#ifndef TC_RESULT_MLLOG_PRIV_H
#define TC_RESULT_MLLOG_PRIV_H

#include "result/lines_priv.h"
#include "result/map.h"
#include "result/stats_priv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An event that is told again is one of so many before it: loggers print a line with and without
 * their own prefix. */
#define TC__MLLOG_RECENT 16

struct tc__mllog_event {
    struct tc_slice key; /* as 0.7 and later spell it */
    struct tc_json value;
    struct tc_json metadata;
    struct tc_slice benchmark; /* 0.5 says it in every line */
    int64_t ns;                /* 0: the line has none */
    long rank;                 /* of the launcher's prefix; -1: none */
    size_t line;
};

struct tc__mllog_events {
    const struct tc_result_input *in;
    struct tc__lines lines;
    struct tc_slice rest; /* of the line: it may have several events */
    long rank;
    uint64_t recent[TC__MLLOG_RECENT];
    size_t told;
    size_t broken; /* lines that begin like an event and are none */
    size_t broken_line;
    const char *broken_what;
    bool no_memory;
    size_t cut_line; /* the last line of the file, if it is such a one; 0: it is not */
};

struct tc__mllog_events tc__mllog_events_of(const struct tc_result_input *in);

/* The next event, valid until the one after it; TC_E_NOTFOUND at the end. */
TC_CHECKED tc_status tc__mllog_next(struct tc__mllog_events *m, struct tc__mllog_event *out,
                                    struct tc_error *err);

/* A text that has an event in one of the spellings. */
bool tc__mllog_has_mark(struct tc_slice text);

#define TC__MLLOG_NAME_BYTES 64
/* Keys whose rank is remembered; MLPerf has about a hundred. */
#define TC__MLLOG_SPEAKERS_MAX 256
/* Members of tracked_stats. */
#define TC__MLLOG_STATS_MAX 16

/* What has a beginning and an end. */
enum { TC__MLLOG_SPANS = 5 };

struct tc__mllog_span {
    const char *start;
    const char *stop;
    struct tc_definition definition;
    const char *metric;
};
extern const struct tc__mllog_span tc__mllog_spans[TC__MLLOG_SPANS];

struct tc__mllog_series {
    char name[TC__MLLOG_NAME_BYTES];
    struct tc__stats stats;
};

struct tc__mllog_run {
    size_t line; /* of its first event */
    bool has_events;
    bool has_start;
    bool has_stop;
    int64_t start_ns;
    int64_t stop_ns;
    char status[TC__MLLOG_NAME_BYTES];
    double quality; /* NaN, of these three: not known */
    const struct tc_definition *quality_of;
    char quality_name[TC__MLLOG_NAME_BYTES];
    double target;
    double loss;
    int64_t batch;
    int64_t nodes;
    int64_t per_node;
    int64_t steps;
    bool open[TC__MLLOG_SPANS];
    int64_t opened_ns[TC__MLLOG_SPANS];
    struct tc__stats spans[TC__MLLOG_SPANS];
    struct tc__mllog_series series[TC__MLLOG_STATS_MAX];
    size_t series_count;
};

/* Which rank a key was first heard from. */
struct tc__mllog_speaker {
    uint64_t key_hash;
    long rank;
};

struct tc__mllog_log {
    struct tc_result *r;
    struct tc_error *err;
    struct tc__mllog_run run;
    struct tc__mllog_speaker speakers[TC__MLLOG_SPEAKERS_MAX];
    size_t speaker_count;
    size_t repeats; /* lines of other ranks that were left out */
    size_t repeat_line;
    size_t not_numbers; /* evaluations */
    size_t not_number_line;
    size_t runs;
    size_t line;
    size_t failed;
    size_t incomplete;
    int64_t first_ns;
    int64_t last_ns;
    bool has_time;
};

struct tc_result_row *tc__mllog_slice(struct tc__mllog_log *l, size_t line, const char *metric,
                                      const char *unit);
/* Which run of the log it is, from the second one on. */
void tc__mllog_point(const struct tc__mllog_log *l, struct tc_buf *b);
/* The rows of the run that was read. */
TC_CHECKED tc_status tc__mllog_end_run(struct tc__mllog_log *l);

#endif
