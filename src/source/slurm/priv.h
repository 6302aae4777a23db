/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the Slurm source: a command that is run, and what of its output is new. */
#ifndef TC_SOURCE_SLURM_PRIV_H
#define TC_SOURCE_SLURM_PRIV_H

#include "base/table/grow.h"
#include "base/table/sort.h"
#include "base/time.h"
#include "source/source.h"

/* ---- command.c ---- */

#define TC__COMMAND_ARGS_MAX 16

struct tc__command {
    const char *const *args; /* NULL behind the last; the first is found in PATH */
    int64_t timeout_ns;
    size_t bytes_max; /* of its output */
    int stop_fd;      /* readable: it is to end at once */
};

/* TC_OK: it ended with 0, and out has what it printed. TC_E_AGAIN: stop_fd. Else it says why. */
TC_CHECKED tc_status tc__command_run(const struct tc__command *c, struct tc_grow *out,
                                     struct tc_error *err);
/* Whether it may be run: found in PATH, or a path. */
bool tc__command_is_there(const char *name);

/* ---- rows.c ---- */

/* Rows are spread over so many streams, whose positions say which of them were stored. */
#define TC__ROWS_SHARDS 64
/* New rows of a shard that are stored at once; all together fit one put. */
#define TC__ROWS_BYTES ((size_t)60 << 10)
/* A longer row is left out, and counted. */
#define TC__ROW_MAX ((size_t)8 << 10)
/* Of one output. */
#define TC__ROWS_MAX ((size_t)131072)
/* As many as a position has room for, of one shard. */
#define TC__ROWS_KEPT 220

/* What makes a row another one than it was, if it is one. */
typedef uint64_t (*tc__row_hash)(struct tc_slice row, bool *out_is_row);

/*
 * The rows of a command's output, of which only those are stored that were not there the last time.
 * Invariant: seen[0..seen_count) is sorted, and is what was stored of the last output.
 */
struct tc__rows {
    char stream;     /* 'j' or 'n' */
    int64_t time_ns; /* of the last output that was stored as a whole; 0: none was */
    uint64_t *seen;
    size_t seen_count;
    size_t seen_cap;
    uint64_t *now; /* those of this output */
    size_t now_count;
    size_t now_cap;
    struct tc_grow bodies[TC__ROWS_SHARDS];
    uint64_t counts[TC__ROWS_SHARDS];
    uint64_t lost;     /* rows that were too long */
    uint64_t new_rows; /* of this output */
    bool is_more;      /* there are new rows for which there was no room: look again */
};

void tc__rows_fini(struct tc__rows *r);
/* Takes a position; others than its own are left alone. */
TC_CHECKED tc_status tc__rows_restore(struct tc__rows *r, struct tc_slice stream,
                                      struct tc_slice position);
/* After the last position. */
void tc__rows_ready(struct tc__rows *r);
/* Finds what is new. `header` stands before the rows of each chunk. TC_E_MALFORMED: no line of it
 * is a row; TC_E_LIMIT, TC_E_NOMEM. */
TC_CHECKED tc_status tc__rows_look(struct tc__rows *r, struct tc_slice header, struct tc_slice text,
                                   tc__row_hash hash);
/* Stores it; `like` says what the chunks have in common. TC_E_AGAIN: the daemon ends. */
TC_CHECKED tc_status tc__rows_store(struct tc__rows *r, struct tc_source_port *port,
                                    const struct tc_source_chunk *like, int64_t time_ns);

/* ---- slurm.c: what makes rows of either command others ---- */

uint64_t tc__slurm_job_hash(struct tc_slice row, bool *out_is_row);
uint64_t tc__slurm_node_hash(struct tc_slice row, bool *out_is_row);

#endif
