/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of an MLPerf Training log, in whichever of its three spellings:
 *
 *   :::MLLOG {"time_ms": 1697107698557, "key": "run_start", "value": null, "metadata": {...}}
 *   :::MLL 1560192582.453 run_start: {"value": null, "metadata": {...}}              (0.6)
 *   :::MLPv0.5.0 resnet 1544221688.657524109 (resnet_main.py:568) run_start[: VALUE] (0.5)
 */
#ifndef TC_RUN_RESULT_MLLOG_PRIV_H
#define TC_RUN_RESULT_MLLOG_PRIV_H

#include "run/result_lines_priv.h"
#include "run/result_map.h"

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

#endif
