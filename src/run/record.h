/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger (warehouse/ledger.h) holds of a run that was added: everything that `run add` was
 * told beside the bytes of the files, so that the same rows can be made of those again.
 */
#ifndef TC_RUN_RECORD_H
#define TC_RUN_RECORD_H

#include "base/digest.h"
#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "run/manifest.h"
#include "warehouse/run_claims.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_RECORD_ADD "add"

struct tc_record_file {
    enum tc_role role;
    struct tc_slice name;
    struct tc_digest digest;
    int64_t modified_ns; /* of the file that was given: dates samples that have no time */
};

struct tc_record_name {
    enum tc_run_name kind;
    struct tc_slice text;
};

/* Slices are empty where nothing was given. */
struct tc_run_record {
    int64_t at_us; /* added_at */
    struct tc_slice run_id;
    struct tc_digest manifest;
    int64_t replicate_index; /* 0: it is no replicate */
    uint64_t repetition;     /* of the same bytes; 0: the first */
    struct tc_slice format;  /* name of a reader */
    struct tc_slice given_run_id;
    struct tc_slice name;
    struct tc_slice replicate_group;
    struct tc_slice scheduler_run_id;
    struct tc_slice job_uid;
    struct tc_slice intent;
    double gpu_hour_usd;          /* 0: not given */
    struct tc_record_name *names; /* that were given; of the reader: in memory of free() */
    size_t name_count;
    bool force;
    struct tc_record_file *files; /* in the order in which they were given */
    size_t file_count;            /* at most TC_MANIFEST_FILES_MAX */
};

/* As a JSON object. */
void tc_run_record_write(const struct tc_run_record *record, struct tc_grow *json);
/* Of an "add" of the ledger. Texts stay the parser's; files and names are in memory of free(). */
TC_CHECKED tc_status tc_run_record_read(struct tc_json root, struct tc_run_record *out,
                                        struct tc_error *err);
void tc_run_record_fini(struct tc_run_record *record);

#endif
