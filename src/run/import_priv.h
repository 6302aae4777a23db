/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an import: what was read, before anything is written. */
#ifndef TC_RUN_IMPORT_PRIV_H
#define TC_RUN_IMPORT_PRIV_H

#include "base/json/out.h"
#include "base/table/grow.h"
#include "contract/contract.h"
#include "result/requests.h"
#include "run/import.h"
#include "warehouse/rows.h"

/* Rows of one import, over all files. */
#define TC__IMPORT_ROWS_MAX ((uint64_t)4 << 20)
/* What one import may find odd; the rest is counted. */
#define TC__IMPORT_WARNINGS_MAX 4096
/* Text of the small things that are kept: names, facts, warnings. */
#define TC__IMPORT_POOL_MAX ((size_t)256 << 20)
#define TC__NOWHERE SIZE_MAX

/* Copies of text that live as long as the import. */
struct tc__import_pool_block;
struct tc__import_pool {
    struct tc__import_pool_block *blocks;
    size_t bytes;
};
/* False without memory. An empty text has a pointer too. */
bool tc__import_pool_copy(struct tc__import_pool *p, struct tc_slice s, struct tc_slice *out);
void tc__import_pool_fini(struct tc__import_pool *p);

/* A file of the import. */
struct tc__source {
    const struct tc_import_file *file;
    struct tc_slice name; /* last component of its path */
    struct tc_digest digest;
    char digest_text[TC_DIGEST_TEXT];
    uint64_t size;
    const struct tc_reader *reader; /* that took it; NULL: no result */
    const char *form;               /* of telemetry: what it is */
    uint64_t rows;
    uint64_t first_serving; /* its rows among those of serving_outcome_fact */
    uint64_t servings;
    uint64_t requests;               /* single ones that it tells of */
    uint64_t requests_row;           /* the row of serving_outcome_fact they belong to, if one */
    struct tc_result_bounds *bounds; /* of a file with one serving row, by its requests; or NULL */
    const struct tc_reader *facts; /* of a file that is no result: makes facts of it; NULL: none */
    bool has_facts;                /* and did */
    bool has_no_rows;              /* telemetry: facts are all there is in it */
    bool left_out; /* bad, known to no reader, or the same bytes as another one of its role */
};

/* What a file says about the run as a whole. */
struct tc__fact {
    enum tc_table table;
    size_t column;
    bool is_text;
    int64_t integer;
    struct tc_slice text;
    size_t source; /* index */
    size_t order;  /* in which they came */
};

struct tc__warning {
    size_t source; /* TC__NOWHERE: of none */
    struct tc_slice where;
    struct tc_slice field;
    struct tc_slice text;
};

/* What a value of the import means; copied, since a reader may have made it. */
struct tc__definition {
    struct tc_slice id; /* tool:field */
    struct tc_slice tool;
    struct tc_slice field;
    struct tc_slice measures;
    struct tc_slice source_unit;
    struct tc_slice unit;
    struct tc_slice note;
    bool there; /* the warehouse has it */
};

/* A name that the run has in its cluster, and who says so. */
struct tc__name {
    enum tc_run_name kind;
    struct tc_slice text;
    const char *source;
};

/* Each once; slots find them by hash. */
struct tc__names {
    struct tc__name *items;
    size_t count;
    size_t cap;
    uint32_t *slots; /* index + 1; NULL: none yet */
    size_t slot_count;
};

/* Rows of one table, in batches. */
struct tc__batches {
    struct tc_rows **items;
    size_t count;
    size_t cap;
    uint64_t rows;
};

/* What was made of one row, for its definitions. */
#define TC__MADE_TOOL "tracecore"
#define TC__MADE_MAX 8
struct tc__made {
    struct tc_slice columns[TC__MADE_MAX];
    struct tc_slice ids[TC__MADE_MAX];
    size_t count;
};

struct tc__scaling;      /* scaling_priv.h */
struct tc__queue_sample; /* import_queue.c */
struct tc_sample;
struct tc_json_parser;

struct tc__import {
    struct tc_warehouse *w; /* NULL: a dry run without a database */
    const struct tc_import *want;
    const struct tc_import_sink *sink;
    struct tc__import_pool pool;
    struct tc__source *sources;
    size_t source_count;
    struct tc__fact *facts;
    size_t fact_count;
    size_t fact_cap;
    struct tc__warning *warnings;
    size_t warning_count;
    size_t warning_cap;
    uint64_t warnings_left_out;
    struct tc__definition *definitions;
    size_t definition_count;
    size_t definition_cap;
    struct tc__batches batches[TC_TABLE_COUNT];
    struct tc__names names;
    struct tc_contract *contract;
    struct tc_contract_facts said; /* by the contract */
    char *contract_text;
    double gpu_hour_usd;         /* NaN: not known */
    struct tc__scaling *scaling; /* while columns are made */
    struct tc__queue_sample *queue;
    size_t queue_count;
    size_t queue_cap;
    uint64_t rows;                 /* that readers found */
    uint64_t errors;               /* told */
    uint64_t contradictions;       /* of them */
    bool unreadable;               /* one of them is a file that cannot be read at all */
    bool forced;                   /* a contradiction was recorded instead of refused */
    bool of_other_model;           /* a result is of another model than the contract's */
    bool of_other_type;            /* training under a contract of inference, or the reverse */
    const char *of_other_workload; /* another column of the contract's workload that differs */
    bool results_name_model;
    uint64_t disagreements; /* of files about software and hardware */
    bool has_twin;          /* a result is one of another run of the same group */
    bool contract_is_bad;
    bool is_twin; /* a result of another replicate */
    bool publishable;
    uint64_t bytes_done;
    uint64_t bytes_total;

    /* Of the run, once all is read. */
    int64_t started_us; /* INT64_MAX: not known */
    int64_t ended_us;   /* INT64_MIN: not known */
    bool has_contract_digest;
    struct tc_digest contract_digest;
    bool has_workload;
    struct tc_digest workload;
    char *manifest;
    size_t manifest_len;
    struct tc_digest manifest_digest;
    char manifest_text[TC_DIGEST_TEXT];
    char workload_text[TC_DIGEST_TEXT];
    char contract_digest_text[TC_DIGEST_TEXT];
    char case_id[32];
    char run_id[128];
    uint64_t repetition;   /* of the same bytes; 0: the first */
    bool other_file_names; /* the run is there, and its manifest has other names */
    struct tc_slice name;
    struct tc_slice group;
    int64_t replicate_index; /* once its row is written; 0: it is none */
};

static inline tc_status tc__import_nomem(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the import");
}

/* ---- import_tell.c: what is odd ---- */

/* An error: told, counted. */
void tc__import_error(struct tc__import *i, size_t source, struct tc_slice where,
                      struct tc_slice field, struct tc_slice text);
/* What became of one file, `own` if it failed: an error of it, and the next one is read. Only
 * TC_E_NOMEM ends the import. */
TC_CHECKED tc_status tc__import_go_on(struct tc__import *i, size_t source, tc_status status,
                                      const struct tc_error *own, struct tc_error *err);
/* Told and kept for the run's row. */
tc_status tc__import_warn(struct tc__import *i, size_t source, struct tc_slice where,
                          struct tc_slice field, struct tc_slice text, struct tc_error *err);
tc_status tc__import_warnf(struct tc__import *i, size_t source, struct tc_error *err,
                           const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Told only. */
void tc__import_tell(struct tc__import *i, size_t source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tc__import_progress(struct tc__import *i, uint64_t bytes);
/* The warnings as the run's row has them. */
void tc__import_warnings_json(const struct tc__import *i, struct tc_json_out *j);

/* ---- import_read.c: files into memory ---- */

/* A file that was read before; one that has changed is an error. */
TC_CHECKED tc_status tc__read_again(const struct tc__source *s, uint64_t size_max, char **out_bytes,
                                    size_t *out_len, struct tc_error *err);
TC_CHECKED tc_status tc__import_read(struct tc__import *i, struct tc_error *err);

/* ---- import_rows.c: what readers found ---- */

TC_CHECKED tc_status tc__import_take(struct tc__import *i, size_t source,
                                     const struct tc_result *result, struct tc_error *err);
/* The import's own of it, by tool and field; its id is made here. */
TC_CHECKED tc_status tc__definition_keep(struct tc__import *i, const struct tc__definition *d,
                                         size_t *out, struct tc_error *err);
/* The batch that the next row goes to; NULL without memory. */
struct tc_rows *tc__batches_room(struct tc__batches *b, enum tc_table table);
/* Gives every row of a table the same text in one column. */
TC_CHECKED tc_status tc__batches_fill(struct tc__batches *b, size_t column, struct tc_slice text,
                                      struct tc_error *err);
/* The same for one batch. */
TC_CHECKED tc_status tc__rows_fill(struct tc_rows *rows, size_t column, struct tc_slice text,
                                   struct tc_error *err);
void tc__batches_fini(struct tc__batches *b);

/* ---- import_facts.c: one answer from many files ---- */

TC_CHECKED tc_status tc__fact_add(struct tc__import *i, const struct tc__fact *fact,
                                  struct tc_error *err);
TC_CHECKED tc_status tc__facts_of_contract(struct tc__import *i, size_t source,
                                           struct tc_error *err);
/* The first of each column stays; another value is a warning. */
TC_CHECKED tc_status tc__facts_settle(struct tc__import *i, struct tc_error *err);
/* When no file says which image ran: the one that the contract pins. After they are settled. */
TC_CHECKED tc_status tc__facts_add_image(struct tc__import *i, struct tc_error *err);
const struct tc__fact *tc__fact_of(const struct tc__import *i, enum tc_table table, size_t column);

/* ---- import_identity.c: digests and names ---- */

TC_CHECKED tc_status tc__import_identity(struct tc__import *i, struct tc_error *err);
/* Told and kept for the run's row, where it is a repetition. */
TC_CHECKED tc_status tc__import_warn_repetition(struct tc__import *i, struct tc_error *err);
/* Names it anew, as that repetition of the same bytes. */
TC_CHECKED tc_status tc__import_name_again(struct tc__import *i, uint64_t repetition,
                                           struct tc_error *err);
/* The readers that took a result, as a JSON list in order. */
void tc__import_tools_json(const struct tc__import *i, struct tc_json_out *j);

/* ---- import_points.c: what was measured ---- */

/* Results of another type than the contract's, and points that are there twice: warnings. */
TC_CHECKED tc_status tc__import_check_points(struct tc__import *i, struct tc_error *err);
/* The points that were measured, each once, as a JSON list in order; where there is no row of
 * serving or training, those of the tools' own measurements. */
TC_CHECKED tc_status tc__import_points_json(const struct tc__import *i, struct tc_json_out *j,
                                            struct tc_error *err);

/* ---- import_telemetry.c ---- */

/* Reads all telemetry files to see what is wrong with them. Their rows may be too many to keep:
 * they are made once more when they are written. */
TC_CHECKED tc_status tc__import_telemetry(struct tc__import *i, struct tc_error *err);
TC_CHECKED tc_status tc__import_telemetry_write(struct tc__import *i, uint64_t *io_rows,
                                                struct tc_error *err);

/* ---- import_requests.c ---- */

/* Finds the points of requests, and warns of percentiles that they do not give. */
TC_CHECKED tc_status tc__import_join_requests(struct tc__import *i, struct tc_error *err);
TC_CHECKED tc_status tc__import_write_requests(struct tc__import *i, uint64_t *io_rows,
                                               struct tc_error *err);
/* ---- import_compute.c: columns that no tool writes ---- */

TC_CHECKED tc_status tc__import_compute(struct tc__import *i, struct tc_error *err);
/* Sets a REAL cell, and keeps its definition for the row; nothing when it is no finite number. */
TC_CHECKED tc_status tc__made_add(struct tc__import *i, struct tc__made *made, struct tc_rows *rows,
                                  size_t row, size_t column, double value,
                                  const struct tc__definition *definition, struct tc_error *err);

/* Puts the definitions of what was made into a row's own. */
TC_CHECKED tc_status tc__made_define(const struct tc__made *made, struct tc_json_parser *parser,
                                     struct tc_rows *rows, size_t row, size_t column,
                                     struct tc_error *err);

/* ---- import_conditions.c: what publishing asks ---- */

/* As benchmark_run_fact has them, with so many replicates in the group; sets i->publishable. */
TC_CHECKED tc_status tc__import_conditions(struct tc__import *i, int64_t replicates,
                                           struct tc_grow *out, struct tc_error *err);
/* Whether lengths, model, precision and load are not those that the contract froze. */
bool tc__import_is_of_other(const struct tc__import *i);

/* ---- import_queue.c: how long requests waited in the server ---- */

/* A sample of telemetry; kept when it is of a histogram of queueing. */
void tc__queue_take(struct tc__import *i, const struct tc_sample *sample);
/* When all are there, before the first row is filled. */
void tc__queue_sort(struct tc__import *i);
TC_CHECKED tc_status tc__queue_fill(struct tc__import *i, struct tc_rows *rows, size_t row,
                                    struct tc__made *made, struct tc_error *err);
/* ---- import_verdicts.c ---- */

/* Adds rows for the lines of a file. */
TC_CHECKED tc_status tc__import_verdicts(struct tc__import *i, size_t source, struct tc_slice bytes,
                                         struct tc_error *err);
/* Those that are not there yet, as given with this run. */
TC_CHECKED tc_status tc__import_verdicts_write(struct tc__import *i, uint64_t *io_rows,
                                               struct tc_error *err);

/* ---- import_scope.c: the run's names in its cluster ---- */

/* One of them; TC_E_LIMIT beyond TC_RUN_NAMES_MAX. An empty one is none. */
TC_CHECKED tc_status tc__name_add(struct tc__import *i, enum tc_run_name kind, struct tc_slice text,
                                  const char *source, struct tc_error *err);
/* What rows of telemetry_slice_fact name. */
TC_CHECKED tc_status tc__names_of_slices(struct tc__import *i, const struct tc_rows *rows,
                                         const char *source, struct tc_error *err);
/* What was given and what results say. */
TC_CHECKED tc_status tc__names_given(struct tc__import *i, struct tc_error *err);
TC_CHECKED tc_status tc__names_write(struct tc__import *i, uint64_t *io_rows, struct tc_error *err);
void tc__names_fini(struct tc__names *n);

/* When a file was written; TC_TIME_NONE where that cannot be told. */
int64_t tc__import_modified_ns(const char *path);

/* ---- dims.c: dimensions, each once ---- */

/* The key of the run's row in a dimension, and the row itself unless it is there; an empty key
 * when nothing is known. */
TC_CHECKED tc_status tc__dim_write(struct tc__import *i, enum tc_table table, char *out_key,
                                   uint64_t *io_rows, struct tc_error *err);
/* Appends the one row of a dimension unless it is there; its key is column 0. */
TC_CHECKED tc_status tc__dim_append(struct tc__import *i, enum tc_table table, struct tc_rows *rows,
                                    char *out_key, uint64_t *io_rows, struct tc_error *err);
TC_CHECKED tc_status tc__definitions_write(struct tc__import *i, uint64_t *io_rows,
                                           struct tc_error *err);

/* ---- import_there.c: what is there already ---- */

/* Whether the run is there with the same content, be it under other file names; with other content
 * it is an error that says which file differs. */
TC_CHECKED tc_status tc__import_is_there(struct tc__import *i, bool *out, struct tc_error *err);
/* With --again: the first repetition that is not there yet. */
TC_CHECKED tc_status tc__import_repeat(struct tc__import *i, struct tc_error *err);
/* Results that are part of another run already: odd, and no replicate of that one. */
TC_CHECKED tc_status tc__import_check_twins(struct tc__import *i, struct tc_error *err);
/* Options that differ from what the run that is there already has: told. */
TC_CHECKED tc_status tc__import_tell_words(struct tc__import *i, struct tc_error *err);

/* ---- import_record.c ---- */

/* What was asked for, into the ledger. */
TC_CHECKED tc_status tc__import_record(struct tc__import *i, struct tc_error *err);

/* ---- import_unknown.c ---- */

void tc__import_tell_unknown(const struct tc__import *i);

/* ---- import_store.c: evidence and rows ---- */

/* Into the warehouse; of a dry run, to whoever wants to see them. */
TC_CHECKED tc_status tc__import_append(struct tc__import *i, enum tc_table table,
                                       const struct tc_rows *rows, struct tc_error *err);
/* A number of the warehouse; 0 where there is none. */
TC_CHECKED tc_status tc__import_count(struct tc__import *i, const char *sql,
                                      const struct tc_bind *bind, int64_t *out,
                                      struct tc_error *err);
/* The rows that would be written, to sink->rows. */
TC_CHECKED tc_status tc__import_preview(struct tc__import *i, struct tc_import_outcome *out,
                                        struct tc_error *err);

/* The run is there: evidence of it that is missing or damaged is put back, and told. */
TC_CHECKED tc_status tc__import_put_back(struct tc__import *i, struct tc_import_outcome *out,
                                         struct tc_error *err);
TC_CHECKED tc_status tc__import_store(struct tc__import *i, struct tc_import_outcome *out,
                                      struct tc_error *err);

/* The option, else what the files say. */
struct tc_slice tc__import_given_or_said(const struct tc__import *i, const char *given,
                                         size_t column);

static inline struct tc_bind tc__bind_text(struct tc_slice s)
{
    return (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = s};
}

#endif
