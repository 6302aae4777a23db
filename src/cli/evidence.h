/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore evidence`: what was asked for, and one function an action. */
#ifndef TC_CLI_EVIDENCE_H
#define TC_CLI_EVIDENCE_H

#include "evidence/store.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_evidence_args {
    const char *data_dir; /* NULL: where the daemon keeps it */
    const char *what;     /* cat: FILE, NUMBER or sha256:DIGEST */
    const char *at;       /* NULL: all of it */
    const char *digest;   /* --verify */
    const char *since;
    bool json;
    bool objects;
};

/* Opens the store; when it cannot, it has said why and the result is NULL. */
struct tc_evidence *tc_evidence_of(const struct tc_evidence_args *args);

/* Exit statuses. */
int tc_evidence_cat(const struct tc_evidence_args *args);
int tc_evidence_ls(const struct tc_evidence_args *args);
int tc_evidence_check(const struct tc_evidence_args *args);

#endif
