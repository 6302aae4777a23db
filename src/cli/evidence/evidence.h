/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore evidence`: what was asked for, and one function an action. */
#ifndef TC_CLI_EVIDENCE_EVIDENCE_H
#define TC_CLI_EVIDENCE_EVIDENCE_H

#include "base/digest.h"
#include "base/slice.h"
#include "cli/output/output.h"
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
    bool local;
};

/* Opens the store in `dir`; what is in the object store alone is fetched, unless `local`, and that
 * is said. */
TC_CHECKED tc_status tc_evidence_open_all(const char *dir, bool local, struct tc_evidence **out,
                                          struct tc_error *err);
/* Opens the store; when it cannot, it has said why and the result is NULL. */
struct tc_evidence *tc_evidence_of(const struct tc_evidence_args *args);

/* Exit statuses. */
int tc_evidence_cat(const struct tc_evidence_args *args);
int tc_evidence_ls(const struct tc_evidence_args *args);
/* The files of runs. *out_any: there is a place for them. */
int tc_evidence_ls_files(struct tc_output *out, const char *data_dir, int64_t since_ns, bool json,
                         bool *out_any);
int tc_evidence_check(const struct tc_evidence_args *args);
/* verify sha256:DIGEST */
int tc_evidence_check_one(const struct tc_evidence_args *args);
int tc_evidence_manifest(const struct tc_evidence_args *args);
int tc_evidence_sign(const struct tc_evidence_args *args);
/* verify RUN, and verify --file */
int tc_evidence_check_run(const struct tc_evidence_args *args);
int tc_evidence_check_offline(const struct tc_evidence_args *args);

/* What the ledger calls it. */
#define TC_EVIDENCE_SIGNED "sign"
struct tc_warehouse;
/* Puts a signature into the row of a run, in a transaction of its own, and into the ledger in
 * data_dir; NULL: it is there already. */
TC_CHECKED tc_status tc_evidence_set_signature(struct tc_warehouse *w, const char *run_id,
                                               struct tc_slice signature, const char *data_dir,
                                               struct tc_error *err);

/* ---- verify: what was found ---- */

struct tc_evidence_report;
/* What it is about; what is not known is NULL or empty. */
struct tc_evidence_place {
    const char *path;
    const struct tc_digest *digest;
    struct tc_slice run;
    struct tc_slice role;
    struct tc_slice name;
};
/* A line: damage, or a note. A text that begins with the path is not given it again. */
void tc_evidence_tell(struct tc_evidence_report *r, bool is_damage,
                      const struct tc_evidence_place *place, const char *text);
/* The same as members of a JSON object, all of them, each with a comma before it. */
void tc_evidence_place_json(struct tc_json_out *j, const struct tc_evidence_place *place);
/* Room for it: names of the longest kind with every byte escaped. */
#define TC_EVIDENCE_PLACE_BYTES 32768
/* Where a file of a run is, or was. */
#define TC_EVIDENCE_PATH_BYTES 4352
void tc_evidence_path(const char *data_dir, const struct tc_digest *digest,
                      char out[TC_EVIDENCE_PATH_BYTES]);
void tc_evidence_begin(struct tc_evidence_report *r, size_t files, uint64_t bytes);
void tc_evidence_advance(struct tc_evidence_report *r, uint64_t bytes);

/* The files of runs, and what refers to them. */
struct tc_evidence_sum {
    bool any;     /* there are such files, or runs */
    bool no_rows; /* files without a database: what is missing cannot be told */
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
