/* SPDX-License-Identifier: Apache-2.0 */
/* What proves a run: its manifest, the files it names, its signature. */
#ifndef TC_CLI_PROOF_H
#define TC_CLI_PROOF_H

#include "cli/data.h"
#include "cli/run/run.h"
#include "evidence/files/files.h"
#include "evidence/sign/sign.h"
#include "run/manifest.h"

#define TC_PROOF_PREDICATE "https://tracecore.dev/run-manifest/v1"
#define TC_PROOF_STATE "signed: local key, no transparency log"

struct tc_proof {
    char dir[TC_DATA_PATH_BYTES];
    char run_id[TC_RUN_ID_BYTES];
    struct tc_warehouse *w;
    struct tc_files *files;
    struct tc_digest digest; /* of the manifest */
    char digest_text[80];
    char *text; /* the manifest; NULL until it was read */
    size_t len;
    struct tc_manifest manifest;
    void *memory;
    char state[128];
    bool is_signed;
    struct tc_digest signature; /* of the envelope */
};

/* Finds the run and its row; false when it cannot, which was said. */
bool tc_proof_open(struct tc_proof *p, const char *data_dir, const char *run,
                   enum tc_warehouse_mode mode);
/* Reads the manifest. TC_E_NOTFOUND, TC_E_MALFORMED: gone, damaged or not what the row says. */
TC_CHECKED tc_status tc_proof_read(struct tc_proof *p, struct tc_error *err);
/* The same from a file of its own, without a database. */
TC_CHECKED tc_status tc_proof_read_file(struct tc_proof *p, const char *path, struct tc_error *err);
void tc_proof_close(struct tc_proof *p);

/* All of a file, at most `max` bytes; into memory of free(). */
TC_CHECKED tc_status tc_proof_slurp(const char *path, size_t max, char **out, size_t *out_len,
                                    struct tc_error *err);

#endif
