/* SPDX-License-Identifier: Apache-2.0 */
/* The run in the ledger: before its rows are committed, so that the tables never know more. */
#include "run/import_priv.h"
#include "run/record.h"
#include "warehouse/ledger.h"

#include <stdlib.h>

tc_status tc__import_record(struct tc__import *i, struct tc_error *err)
{
    const struct tc_import *want = i->want;
    struct tc_grow json = {0};
    struct tc_run_record record = {
        .at_us = want->now_us,
        .run_id = tc_slice_cstr(i->run_id),
        .manifest = i->manifest_digest,
        .replicate_index = i->replicate_index,
        .repetition = i->repetition,
        .format = tc_slice_cstr(want->reader == NULL ? NULL : want->reader->name),
        .given_run_id = tc_slice_cstr(want->run_id),
        .name = tc_slice_cstr(want->name),
        .replicate_group = tc_slice_cstr(want->replicate_group),
        .scheduler_run_id = tc_slice_cstr(want->scheduler_run_id),
        .job_uid = tc_slice_cstr(want->job_uid),
        .intent = tc_slice_cstr(want->intent),
        .gpu_hour_usd = want->gpu_hour_usd,
        .force = want->force,
    };
    record.files = calloc(i->source_count, sizeof *record.files);
    record.names = calloc(want->name_count + 1, sizeof *record.names);
    if (record.files == NULL || record.names == NULL) {
        tc_run_record_fini(&record);
        return tc__import_nomem(err);
    }
    for (size_t n = 0; n < want->name_count; n++) {
        record.names[record.name_count++] =
            (struct tc_record_name){want->names[n].kind, tc_slice_cstr(want->names[n].text)};
    }
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc__source *s = &i->sources[n];
        if (!s->left_out) {
            record.files[record.file_count++] = (struct tc_record_file){
                s->file->role, s->name, s->digest, tc__import_modified_ns(s->file->path)};
        }
    }
    tc_run_record_write(&record, &json);
    tc_run_record_fini(&record);
    return tc_ledger_record(want->data_dir, TC_LEDGER_COMMANDS, &json, err);
}
