/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result files of benchmark tools. A reader turns one file into rows of the warehouse's tables,
 * without the keys of the run, which the import adds. One reader per tool: result_<tool>.c with one
 * constant, one line in readers.def. Readers are pure: bytes in, rows out; no files, no clock.
 *
 * Bytes are hostile: bounded work and memory, an error that names where (JSON pointer or line),
 * which field, and what was expected; never half a file. A file of a newer version of the tool has
 * more keys: they are ignored. A value that is not there is NULL, never 0.
 */
#ifndef TC_RESULT_RESULT_H
#define TC_RESULT_RESULT_H

#include "base/arena.h"
#include "base/format.h"
#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bounds of one file. */
#define TC_RESULT_BYTES_MAX ((size_t)512 << 20)
#define TC_RESULT_ROWS_MAX ((size_t)1 << 15)
#define TC_RESULT_NOTES_MAX 256
/* Text of rows, notes and definitions that are made while reading. */
#define TC_RESULT_TEXT_MAX ((size_t)64 << 20)
#define TC_RESULT_DEFINITIONS_MAX 4096

/* What a file looks like from outside; found before readers are asked. */
enum tc_result_form {
    TC_RESULT_TEXT,
    TC_RESULT_JSON,  /* one document; YAML that is no JSON is turned into it first */
    TC_RESULT_LINES, /* one JSON document a line */
};

struct tc_result_input {
    struct tc_slice name; /* as given, for messages: never decides what a file is */
    /* All of it (for YAML: the YAML), without a byte order mark. In JSON, NaN is "" and the
     * infinities are "inf" and "-inf", as strings in as many bytes: places stay right. */
    struct tc_slice bytes;
    enum tc_result_form form;
    bool was_yaml;
    struct tc_json root;           /* JSON: the document. LINES: the first line's, while sniffing */
    struct tc_json_parser *parser; /* LINES: for the lines; parsing kills `root` */
};

/*
 * What a measured value is. Its id is tool:field ("vllm:mean_ttft_ms"). Two values with other
 * `measures` or another note are never compared as one. A field stands as the tool writes it; where
 * a statistic is part of its place (a member "p99" of "ttft"), as "ttft.p99".
 */
struct tc_definition {
    const char *field;
    const char *measures; /* "ttft", "tpot", "itl", "e2e", "output_throughput", ... */
    const char *source_unit;
    const char *unit; /* as stored */
    const char *note; /* how it is computed, where tools differ; may be NULL */
};

struct tc_result; /* grows while it is read */
struct tc_result_bounds;

/* A row that a reader writes. Its cells are row `at` of `rows`, all of the file's of that table. */
struct tc_result_row {
    struct tc_result *result;
    enum tc_table table; /* SERVING, TRAINING or SLICE */
    struct tc_slice where;
    struct tc_rows *rows;
    size_t at;
    const struct tc_definition **definitions; /* by column; NULL: no measured value */
    struct tc_result_bounds *bounds;          /* of SERVING (requests.h); NULL: none */
};

/* Which columns of a table say where a row comes from and when it was; 0, a key: there is none. */
struct tc_result_columns {
    size_t tool;
    size_t version;
    size_t pointer;
    size_t digest;
    size_t definitions;
    size_t started;
    size_t ended;
};
/* All 0 but for SERVING, TRAINING and SLICE. */
const struct tc_result_columns *tc_result_columns(enum tc_table table);

static inline bool tc_result_known(const struct tc_result_row *row, size_t column)
{
    return row != NULL && !tc_rows_is_null(row->rows, column, row->at);
}
/* 0 and empty when it is not known. */
static inline int64_t tc_result_get_int(const struct tc_result_row *row, size_t column)
{
    return tc_rows_get_int(row->rows, column, row->at);
}
static inline double tc_result_get_real(const struct tc_result_row *row, size_t column)
{
    return tc_rows_get_real(row->rows, column, row->at);
}
static inline struct tc_slice tc_result_get_text(const struct tc_result_row *row, size_t column)
{
    return tc_result_known(row, column) ? tc_rows_get_text(row->rows, column, row->at) : TC_EMPTY;
}

/* What the import must record: contradictions and gaps of the file. */
struct tc_result_note {
    struct tc_slice where; /* JSON pointer, or "line 12" */
    struct tc_slice field;
    struct tc_slice text;
    bool contradiction; /* the file cannot be right: an error unless the import is forced */
};

/* ---- for readers ---- */

/*
 * A new row, all NULL but where it comes from (row->where, and the table's source_pointer), the
 * tool (a slice's family), and at the end of reading the tool's version. NULL when there is no room
 * (tc_result_status says); every setter takes NULL for a row. Stays where it is.
 */
struct tc_result_row *tc_result_add(struct tc_result *r, enum tc_table table, const char *where,
                                    ...) __attribute__((format(printf, 3, 4)));
/* Setters: NaN, infinities and empty text leave the cell NULL. Text is copied. */
void tc_result_real(struct tc_result_row *row, size_t column, double value,
                    const struct tc_definition *definition);
void tc_result_int(struct tc_result_row *row, size_t column, int64_t value,
                   const struct tc_definition *definition);
void tc_result_time(struct tc_result_row *row, size_t column, int64_t ns); /* to us */
void tc_result_text(struct tc_result_row *row, size_t column, struct tc_slice value);
/* The same with a text that is made. */
void tc_result_textf(struct tc_result_row *row, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Not known after all. */
void tc_result_clear(struct tc_result_row *row, size_t column);

/* A definition that is made while reading; the same one for the same field. Copies. NULL when there
 * is no room. */
const struct tc_definition *tc_result_define(struct tc_result *r, const char *field,
                                             const char *measures, const char *source_unit,
                                             const char *unit, const char *note);
/* The same for texts that are no C strings: a copy in the result's memory; "" without room. */
const char *tc_result_cstr(struct tc_result *r, struct tc_slice text);
/* A copy in the result's memory; empty without room. */
struct tc_slice tc_result_keep(struct tc_result *r, struct tc_slice text);

/* What the file says about the run as a whole: the first one wins, another value is a note,
 * once; of RUN's started_at and ended_at the earliest and the latest stays. The table is RUN
 * (STARTED, ENDED, STATUS, JOB_UID, ... ), SOFTWARE, HARDWARE, CLUSTER or WORKLOAD. */
void tc_result_fact_text(struct tc_result *r, enum tc_table table, size_t column,
                         struct tc_slice value);
void tc_result_fact_int(struct tc_result *r, enum tc_table table, size_t column, int64_t value);
void tc_result_fact_time(struct tc_result *r, enum tc_table table, size_t column, int64_t ns);
void tc_result_tool_version(struct tc_result *r, struct tc_slice version);

/* A note about the file; `where` is what tc_format takes, or tc_as_line. Beyond TC_RESULT_NOTES_MAX
 * they are counted. */
#define tc_result_note(r, contradiction, where, ...) \
    tc_result_add_note((r), (contradiction), TC_ARG(where), __VA_ARGS__)
void tc_result_add_note(struct tc_result *r, bool contradiction, struct tc_arg where,
                        const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* "line:12" */
struct tc_arg tc_as_line(size_t line);
/* The first failure so far (no memory, too many rows), for one check at the end of a reader. */
tc_status tc_result_status(const struct tc_result *r, struct tc_error *err);

/* What a document of a tool has: the first that fits gives how sure it is (TC_SNIFF_*). */
struct tc_recognition {
    const char *keys; /* of tc_map_has */
    int score;
    enum { TC_OF_FILE, TC_OF_FIRST, TC_OF_LIST } of; /* the first: of a list, lines, or alone */
};

struct tc_serving_common; /* map_serving.h */

/* More than any reader has, and one that ends them. */
#define TC_RECOGNITIONS_MAX 7

struct tc_reader {
    const char *name;                                /* stable id, the `tool` column: "vllm" */
    const char *summary;                             /* one sentence for --help and docs */
    unsigned forms;                                  /* bits 1 << enum tc_result_form */
    struct tc_recognition keys[TC_RECOGNITIONS_MAX]; /* of JSON; the rest is zero */
    /* TC_SNIFF_* of codec/codec.h, for text. */
    int (*sniff)(const struct tc_result_input *in);
    tc_status (*read)(const struct tc_result_input *in, struct tc_result *r, struct tc_error *err);
    /* Instead of it: one document of a file that has one or several runs of serving. */
    tc_status (*read_run)(struct tc_result *r, struct tc_json run, const char *where,
                          struct tc_serving_common *common, struct tc_error *err);
    bool only_facts; /* a file of it may have no rows */
    /* Percentiles of a histogram may be beyond the smallest and the largest value by a bucket: its
     * width as a share of its values. 0: they are exact. */
    double bucket_share;
};

#define READER(id) extern const struct tc_reader tc_reader_##id;
#include "result/readers.def"
#undef READER

/*
 * The documents of a file, one after the other: the lines of a TC_RESULT_LINES file (a document may
 * span several), the elements of a list, or the one document. Start with {0}. TC_E_NOTFOUND at the
 * end; a line that is no JSON or does not end is an error that names it. Ends the life of in->root
 * and of the document before.
 */
struct tc_result_documents {
    struct tc_json_iter list;
    size_t count; /* given so far */
    size_t at;
    size_t line;    /* of the document just given, from 1 */
    size_t counted; /* lines were counted up to here */
    char where[32]; /* of the document: "", "/3" or "line:4" */
};
TC_CHECKED tc_status tc_result_next(const struct tc_result_input *in,
                                    struct tc_result_documents *docs, struct tc_json *out,
                                    struct tc_error *err);
/* The first document, for sniffing. */
struct tc_json tc_result_first(const struct tc_result_input *in);

/* ---- for the import ---- */

const struct tc_reader *const *tc_readers(size_t *out_count);
const struct tc_reader *tc_reader_by_name(struct tc_slice name);

/* The reader that makes facts of a file that is no result, by the bytes at its start: a probe.json,
 * objects of Kubernetes, words of Slurm. NULL: none. */
#define TC_RESULT_HEAD 4096
const struct tc_reader *tc_result_facts_reader(struct tc_slice head);

/*
 * Reads a file: finds its form and its reader (`reader` may be NULL), checks every row against
 * what cannot be (percentiles out of order, negative durations, requests that are not successes
 * and failures; result/check.c), and gives the result. TC_E_UNSUPPORTED: no reader knows it, and
 * err lists those there are. Borrows bytes, which must outlive the result.
 */
TC_CHECKED tc_status tc_result_read(struct tc_slice name, struct tc_slice bytes,
                                    const struct tc_reader *reader, struct tc_result **out_result,
                                    struct tc_error *err);
void tc_result_destroy(struct tc_result *r);

const struct tc_reader *tc_result_reader(const struct tc_result *r);
struct tc_slice tc_result_version(const struct tc_result *r);
size_t tc_result_rows(const struct tc_result *r);
const struct tc_result_row *tc_result_row_at(const struct tc_result *r, size_t i);
size_t tc_result_notes(const struct tc_result *r, uint64_t *out_left_out);
const struct tc_result_note *tc_result_note_at(const struct tc_result *r, size_t i);
/* The facts of one table: one row, or NULL when there are none. */
const struct tc_rows *tc_result_facts(const struct tc_result *r, enum tc_table table);

#endif
