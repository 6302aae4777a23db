/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore run`: what was asked for, one function an action, and what they share. */
#ifndef TC_CLI_RUN_RUN_H
#define TC_CLI_RUN_RUN_H

#include "base/grow.h"
#include "base/slice.h"
#include "base/status.h"
#include "cli/output.h"
#include "run/import.h"
#include "warehouse/warehouse.h"

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
int tc_run_diff(const struct tc_run_args *args);
int tc_run_read(const struct tc_run_args *args);

/* The reader of --format; NULL without that. False when there is none of the name, which was
 * said. */
bool tc_run_reader(const struct tc_run_args *args, const struct tc_reader **out);

/* ---- the database ---- */

/* For reading; NULL when it cannot, which was said. */
struct tc_warehouse *tc_run_open(const struct tc_run_args *args);

/* A query's result in memory. */
#define TC_RUN_ROWS_MAX 200000

struct tc_run_set {
    struct tc_rows *rows; /* NULL: no answer */
    size_t column_count;
    size_t row_count;
    bool cut;    /* there were more than TC_RUN_ROWS_MAX */
    bool failed; /* no memory for all of it */
};

TC_CHECKED tc_status tc_run_query(struct tc_warehouse *w, const char *sql,
                                  const struct tc_bind *binds, size_t bind_count,
                                  struct tc_run_set *out, struct tc_error *err);
void tc_run_set_fini(struct tc_run_set *s);
/* False for NULL, and for what is no finite number. */
bool tc_run_known(const struct tc_run_set *s, size_t row, size_t column);
int64_t tc_run_int(const struct tc_run_set *s, size_t row, size_t column); /* INT, TIME, BOOL */
double tc_run_real(const struct tc_run_set *s, size_t row, size_t column); /* and INT */
/* Empty when NULL. */
struct tc_slice tc_run_text(const struct tc_run_set *s, size_t row, size_t column);
/* "" and TEXT without an answer. */
const char *tc_run_name(const struct tc_run_set *s, size_t column);
enum tc_column_type tc_run_type(const struct tc_run_set *s, size_t column);
/* A value for people; "-" when NULL. As an argument of a format it borrows s. */
struct tc_arg tc_run_as_value(const struct tc_run_set *s, size_t row, size_t column);
void tc_run_value(struct tc_grow *g, const struct tc_run_set *s, size_t row, size_t column);
/* One row as a JSON object; text columns that hold JSON as JSON. */
void tc_run_row_json(struct tc_json_out *j, const struct tc_run_set *s, size_t row);
/* All rows as a JSON list. */
void tc_run_rows_json(struct tc_json_out *j, const struct tc_run_set *s);

/* y / x for people: four significant digits; "-" where there is none. */
struct tc_arg tc_run_as_ratio(double x, double y);

/* The id of the one run that `word` means: its id, the start of one, its name or the start of one.
 * False when there is none or several, which was said. */
#define TC_RUN_ID_BYTES 256
bool tc_run_find(struct tc_warehouse *w, const char *word, char out_id[TC_RUN_ID_BYTES]);
/* The same for evidence: also of a run that was moved to a cold snapshot, whose files are kept. */
bool tc_run_find_lineage(struct tc_warehouse *w, const char *word, char out_id[TC_RUN_ID_BYTES]);

/* Members of a JSON object about two values: both, and their ratio. */
void tc_run_diff_pair(struct tc_json_out *j, double x, double y);
/* The row of a dimension that a run's row points to, and its outcomes in their order; the run's id
 * is the only parameter. */
#define TC_RUN_DIMENSION_SQL(table, key)                                              \
    "SELECT d.* FROM " table " d JOIN benchmark_run_fact r ON r." key " = d." key " " \
    "WHERE r.run_id = ?"
#define TC_RUN_SERVING_SQL                                                          \
    "SELECT * FROM serving_outcome_fact WHERE run_id = ? ORDER BY workload_point, " \
    "concurrency, request_rate, tool, source_digest, source_pointer"
#define TC_RUN_TRAINING_SQL                                                                    \
    "SELECT * FROM training_outcome_fact WHERE run_id = ? ORDER BY phase, scale_point, tool, " \
    "source_digest, source_pointer"
/* The measurements of a run's benchmark tools, its telemetry not among them; the run's id is the
 * only parameter. Families are compared with the tools that the run's row lists. */
#define TC_RUN_SLICES_FROM                                                          \
    "FROM telemetry_slice_fact s JOIN benchmark_run_fact r ON r.run_id = s.run_id " \
    "WHERE s.run_id = ? AND r.tools "
#define TC_RUN_SLICES_SQL                                                                       \
    "SELECT s.family, s.point, s.node_name, s.gpu_uuid, s.rank_id, s.request_class, s.metric, " \
    "s.unit, s.min, s.max, s.mean, s.p50, s.p95, s.p99, s.last " TC_RUN_SLICES_FROM             \
    "LIKE '%\"' || s.family || '\"%' ORDER BY s.family, s.point, s.metric, s.window_start, "    \
    "s.source_digest"
/* Sets the slices of two runs beside each other: text for values, and for what is not compared;
 * or elements of the arrays that are being written there. False without memory. */
bool tc_run_diff_slices(const struct tc_run_set *a, const struct tc_run_set *b,
                        struct tc_grow *values, struct tc_grow *odd,
                        struct tc_json_out *values_json, struct tc_json_out *odd_json);

/* ---- tables for people ---- */

#define TC_TABLE_OUT_COLUMNS 24

/* Text cells; columns are made as wide as they need, and from the end left out where the screen is
 * too narrow. */
struct tc_run_table {
    size_t column_count;
    const char *heads[TC_TABLE_OUT_COLUMNS];
    bool right[TC_TABLE_OUT_COLUMNS]; /* numbers */
    size_t flexible;                  /* the column that may be cut ... */
    size_t flexible_min;              /* ... down to this */
    struct tc_grow text;              /* cells one after another */
    size_t *ends;
    size_t cell_count;
    size_t cell_cap;
    bool failed;
};

/* The next cell, of text from outside; of a format, whose text is taken as it is. */
void tc_run_table_cell(struct tc_run_table *t, struct tc_slice text);
#define tc_run_table_format(t, ...)                                              \
    tc_run_table_format_args((t), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, \
                             TC_ARG_COUNT(__VA_ARGS__))
void tc_run_table_format_args(struct tc_run_table *t, const struct tc_arg *args, size_t count);
/* From a set; NULL is "-". */
void tc_run_table_value(struct tc_run_table *t, const struct tc_run_set *s, size_t row,
                        size_t column);
/* How many columns had no room. */
size_t tc_run_table_print(struct tc_run_table *t, struct tc_grow *out, const char *indent);
void tc_run_table_fini(struct tc_run_table *t);

/* Words behind `first`, broken where the line ends: the next begins with `indent`. */
void tc_run_words(struct tc_grow *g, const char *first, struct tc_slice words, const char *indent);

/* ---- what publishing asks (conditions.c) ---- */

/* Conditions of a run's row that are not met, by name: "workload, replicates". */
void tc_run_conditions_unmet(struct tc_slice json, struct tc_grow *out);
/* All of them, with the evidence looked at again: lines for people, or a JSON list. *out_met: all
 * are met. */
void tc_run_conditions_show(const struct tc_run_args *args, struct tc_slice json,
                            const struct tc_run_set *lineage, struct tc_grow *text,
                            struct tc_json_out *list, bool *out_met);

/* Writes what was made to standard output: the exit status. */
int tc_run_print(struct tc_grow *g, int status);

#endif
