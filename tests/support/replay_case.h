/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case of tests/replay, read as `tracecore detect` reads it: the options of its file args, and
 * the events of its input. The working directory is that of the case. What goes wrong ends the
 * program.
 */
#ifndef TC_TESTS_SUPPORT_REPLAY_CASE_H
#define TC_TESTS_SUPPORT_REPLAY_CASE_H

#include "base/arena.h"
#include "cli/reading.h"
#include "engine/engine.h"
#include "event/event.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_replay_case {
    const char *name;
    struct tc_reading reading;
    struct tc_event *events; /* of all inputs, in any order; raw.source says which */
    size_t count;
    int64_t last_ns; /* how far the inputs reach */
    struct tc_arena arena;
    unsigned char *block;
    char args[4096];
    struct tc_engine *const *engines;
    size_t engine_count;
    bool only; /* a pattern was named: the others are off */
};

/* At most max events into the caller's array. The engines get the knobs of the file args. */
void tc_replay_case_open(struct tc_replay_case *r, const char *name, struct tc_event *events,
                         size_t max, struct tc_engine *const *engines, size_t engine_count);
void tc_replay_case_close(struct tc_replay_case *r);

/* Up to size bytes of a file; 0 when there is none. */
size_t tc_replay_case_file(const char *path, char *out, size_t size);

/* The names of the cases of a pattern, into which it goes; how many. */
int tc_replay_case_list(const char *pattern, struct dirent ***out_names);

#endif
