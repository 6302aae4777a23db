/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest of a run: which bytes it consists of. Canonical JSON, so that its digest names the
 * run's inputs whatever the order in which they were given:
 *
 *   {"files":[{"digest":"sha256:...","name":"a.json","role":"result","size":710}, ...],
 *    "manifest_version":1,"run":{"contract_digest":...,"name":...,"workload_spec_digest":...}}
 *
 * Files are sorted by role, then digest, then name. The manifest itself is stored as evidence.
 *
 * What names the run is less: the same bytes under other file names are the same run, and so are
 * those that a later version of the program understands otherwise (tc_manifest_identity).
 */
#ifndef TC_RUN_MANIFEST_H
#define TC_RUN_MANIFEST_H

#include "base/digest.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc_role {
    TC_ROLE_CONTRACT,
    TC_ROLE_RESULT,
    TC_ROLE_TELEMETRY,
    TC_ROLE_VERDICTS,
    TC_ROLE_ARTIFACT,
};
const char *tc_role_name(enum tc_role role);
/* False when no role has that name. */
bool tc_role_parse(struct tc_slice name, enum tc_role *out);

struct tc_manifest_file {
    enum tc_role role;
    struct tc_slice name; /* last component of the path as given */
    struct tc_digest digest;
    uint64_t size;
};

struct tc_manifest {
    struct tc_slice name;             /* of the contract, or --name; may be empty */
    const struct tc_digest *contract; /* of its canonical form; NULL: exploratory */
    const struct tc_digest *workload; /* NULL: not known */
    struct tc_slice run_id;           /* only when given by the user; may be empty */
    uint64_t repetition;              /* of the same bytes: 2 is the second; 0: the first */
    struct tc_manifest_file *files;   /* sorted by tc_manifest_write */
    size_t file_count;
};

#define TC_MANIFEST_FILES_MAX 4096
/* Of one with so many files, and long names. */
#define TC_MANIFEST_BYTES_MAX ((uint64_t)64 << 20)

/* Into memory of the caller's free(). */
TC_CHECKED tc_status tc_manifest_write(struct tc_manifest *m, char **out_text, size_t *out_len,
                                       struct tc_error *err);
/* The digest of what names a run: roles and digests of its files, the name that was given, the
 * contract, which repetition it is. Sorts the files. */
TC_CHECKED tc_status tc_manifest_identity(struct tc_manifest *m, struct tc_digest *out,
                                          struct tc_error *err);
/* Reads what tc_manifest_write wrote; strings and files in one block for free(). Refuses what is
 * not canonical. */
TC_CHECKED tc_status tc_manifest_read(struct tc_slice text, struct tc_manifest *out,
                                      void **out_memory, struct tc_error *err);

struct tc_subject;
/* The manifest, whose digest that is, and its files: what a signature is over (evidence/sign). In
 * memory of free(), NULL without it. Borrows m. */
struct tc_subject *tc_manifest_subjects(const struct tc_manifest *m, const struct tc_digest *digest,
                                        size_t *out_count);

#endif
