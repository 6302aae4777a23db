/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwards what is stored here to other daemons (forward.endpoints), to each of them, in the order
 * of the numbers, one batch at a time: a thread each, which reads the evidence. Nothing waits for
 * it. docs/internals/forward.md.
 */
#ifndef TC_SERVER_FORWARD_FORWARD_H
#define TC_SERVER_FORWARD_FORWARD_H

#include "base/json/out.h"
#include "base/status.h"

#include <stdbool.h>

struct tc_committer;
struct tc_config;
struct tc_forward;
struct tc_store;

/* All borrowed. */
struct tc_forward_parts {
    const struct tc_config *config; /* forward.endpoints is not empty */
    struct tc_store *store;
    struct tc_committer *committer;
    const char *data_dir;
    const char *evidence_dir;
};

/* Reads how far each receiver is, and starts. */
TC_CHECKED tc_status tc_forward_create(const struct tc_forward_parts *parts,
                                       struct tc_forward **out_forward, struct tc_error *err);
/* Ends requests that are under way: these batches are sent again by the next process. Before the
 * committer ends. NULL is fine. */
void tc_forward_destroy(struct tc_forward *f);

/* Member "forward" of the status. NULL: nothing is forwarded. */
void tc_forward_describe(struct tc_forward *f, struct tc_json_out *j);

/* Whether this daemon leaves detection to those that it forwards to. */
bool tc_forward_judges_elsewhere(const struct tc_config *config);

#endif
