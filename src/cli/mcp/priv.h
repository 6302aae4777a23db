/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore mcp`. */
#ifndef TC_CLI_MCP_PRIV_H
#define TC_CLI_MCP_PRIV_H

#include "answers/question.h"
#include "base/slice.h"
#include "base/status.h"
#include "cli/daemon.h"
#include "cli/data.h"

#include <pthread.h>
#include <stdbool.h>

/* ---- answering ---- */

/*
 * What questions are answered from. The warehouse is opened for each, so that no other command is
 * kept from it in between. Invariant: `open` is only touched with `lock` held, and is NULL between
 * questions.
 */
struct tc_mcp_source {
    char dir[TC_DATA_PATH_BYTES];
    struct tc_daemon daemon;
    pthread_mutex_t lock;
    struct tc_warehouse *open;
    bool is_stopped; /* the question that is answered now is not wanted any more */
};

/* tc_mcp_ask_fn */
tc_status tc_mcp_source_ask(void *source, struct tc_asked *asked, struct tc_reply *out,
                            struct tc_error *err);
/* A request begins; nobody has cancelled it yet. */
void tc_mcp_source_begin(struct tc_mcp_source *s);
/* Ends what is being answered, from another thread. */
void tc_mcp_source_stop(struct tc_mcp_source *s);

/* The path and query of the HTTP API for a question that is asked by GET; false when it does not
 * fit, or is asked by POST. */
bool tc_mcp_path(const struct tc_asked *asked, struct tc_buf *b);

/* ---- lines ---- */

/* Messages from standard input, read by a thread of their own: so that what cancels a request is
 * seen while it is answered. */
struct tc_mcp_lines;
/* Borrows source for stopping. NULL when there is no memory or no thread. */
struct tc_mcp_lines *tc_mcp_lines_create(int fd, struct tc_mcp_source *source);
void tc_mcp_lines_destroy(struct tc_mcp_lines *l);
/* The next message, waiting for it; false at the end. Valid until tc_mcp_lines_done. */
bool tc_mcp_lines_next(struct tc_mcp_lines *l, struct tc_slice *out_line);
/* It is answered. False when it was cancelled meanwhile: then nothing is to be sent. */
bool tc_mcp_lines_done(struct tc_mcp_lines *l);

#endif
