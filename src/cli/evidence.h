/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore evidence`: what was asked for, and one function an action. */
#ifndef TC_CLI_EVIDENCE_H
#define TC_CLI_EVIDENCE_H

#include "base/digest.h"
#include "base/slice.h"
#include "cli/output.h"
#include "evidence/store.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_evidence_args {
    const char *data_dir; /* NULL: where the daemon keeps it */
    const char *what;     /* cat: FILE, NUMBER or sha256:DIGEST; others: RUN, sha256:DIGEST, NULL */
    const char *at;       /* NULL: all of it */
    const char *digest;   /* --verify */
    const char *since;
    const char *key;      /* sign: private key */
    const char *new_key;  /* sign: made, and written here */
    const char *pub;      /* verify: public key */
    const char *file;     /* sign, verify: a manifest in a file of its own */
    const char *envelope; /* verify: with --file */
    bool json;
    bool objects;
};

/* Opens the store; when it cannot, it has said why and the result is NULL. */
struct tc_evidence *tc_evidence_of(const struct tc_evidence_args *args);
/* 64 hex digits, "sha256:" before them or not. */
bool tc_evidence_digest(struct tc_slice text, struct tc_digest *out);

/* Exit statuses. */
int tc_evidence_cat(const struct tc_evidence_args *args);
int tc_evidence_ls(const struct tc_evidence_args *args);
int tc_evidence_check(const struct tc_evidence_args *args);
/* verify sha256:DIGEST */
int tc_evidence_check_one(const struct tc_evidence_args *args);
int tc_evidence_manifest(const struct tc_evidence_args *args);
int tc_evidence_sign(const struct tc_evidence_args *args);
/* verify RUN, and verify --file */
int tc_evidence_check_run(const struct tc_evidence_args *args);
int tc_evidence_check_offline(const struct tc_evidence_args *args);

/* ---- verify: what was found ---- */

struct tc_evidence_report;
/* A line: damage, or a note. path may be NULL. */
void tc_evidence_tell(struct tc_evidence_report *r, bool is_damage, const char *path,
                      const char *text);
void tc_evidence_begin(struct tc_evidence_report *r, size_t files, uint64_t bytes);
void tc_evidence_advance(struct tc_evidence_report *r, uint64_t bytes);

/* The files of runs, and what refers to them. */
struct tc_evidence_sum {
    bool any; /* there are such files, or runs */
    uint64_t files;
    uint64_t bytes; /* on disk */
    uint64_t runs;
    uint64_t damaged;
    uint64_t missing;
    uint64_t unreferenced;
};
/* TC_EXIT_OK when all could be read, damaged or not; else what is wrong was said. */
int tc_evidence_check_files(struct tc_evidence_report *r, const char *data_dir,
                            struct tc_evidence_sum *out);

#endif
