/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore run`: what was asked for, one function an action, and what they share. */
#ifndef TC_CLI_RUN_RUN_H
#define TC_CLI_RUN_RUN_H

#include "answers/run.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "cli/output/output.h"
#include "cli/output/text_table.h"
#include "run/import.h"
#include "warehouse/answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_run_path {
    enum tc_role role;
    const char *path;
};

struct tc_run_args {
    const char *data_dir; /* NULL: the default */
    struct tc_run_path *paths;
    size_t path_count;
    char *const *words; /* behind the action */
    size_t word_count;
    const char *format;
    const char *run_id;
    const char *name;
    const char *replicate_group;
    const char *scheduler_run_id;
    const char *job_uid;
    const char *intent;
    const char *gpu_hour_usd;
    struct tc_import_name *names; /* --node, --pod, --job */
    size_t name_count;
    const char *benchmark_class;
    const char *slower_than;
    const char *point;
    const char *since;
    const char *limit;
    bool again;
    bool force;
    bool dry_run;
    bool json;
    bool quiet;
};

/* Exit statuses. */
int tc_run_add(const struct tc_run_args *args);
int tc_run_list(const struct tc_run_args *args);
int tc_run_show(const struct tc_run_args *args);
/* show --slower-than: the pivot, on a run whose id is known. */
int tc_run_show_slower(struct tc_warehouse *w, const struct tc_run_args *args, const char *id);
int tc_run_diff(const struct tc_run_args *args);
int tc_run_read(const struct tc_run_args *args);

/* The reader of --format; NULL without that. False when there is none of the name, which was
 * said. */
bool tc_run_reader(const struct tc_run_args *args, const struct tc_reader **out);

/* ---- the database ---- */

/* For reading; NULL when it cannot, which was said. */
struct tc_warehouse *tc_run_open(const struct tc_run_args *args);

/* The id of the one run that `word` means: its id, the start of one, its name or the start of one.
 * False when there is none or several, which was said. */
#define TC_RUN_ID_BYTES 256
bool tc_run_find(struct tc_warehouse *w, const char *word, char out_id[TC_RUN_ID_BYTES]);
/* The same for evidence: also of a run that was moved to a cold snapshot, whose files are kept. */
bool tc_run_find_lineage(struct tc_warehouse *w, const char *word, char out_id[TC_RUN_ID_BYTES]);

/* Members of a JSON object about two values: both, and their ratio. */
void tc_run_diff_pair(struct tc_json_out *j, double x, double y);
/* Sets the slices of two runs beside each other: text for values, and for what is not compared;
 * or elements of the arrays that are being written there. False without memory. */
bool tc_run_diff_slices(const struct tc_answer *a, const struct tc_answer *b,
                        struct tc_grow *values, struct tc_grow *odd,
                        struct tc_json_out *values_json, struct tc_json_out *odd_json);

/* ---- what publishing asks (conditions.c) ---- */

/* Conditions of a run's row that are not met, by name: "workload, replicates". */
void tc_run_conditions_unmet(struct tc_slice json, struct tc_grow *out);
/* All of them, as lines. */
void tc_run_conditions_put(struct tc_grow *g, const struct tc_condition *conditions, size_t count);

#endif
