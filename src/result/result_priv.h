/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of a result, for the files that make one: result.c, form.c, readers.c and check.c.
 */
#ifndef TC_RESULT_RESULT_PRIV_H
#define TC_RESULT_RESULT_PRIV_H

#include "result/requests.h"
#include "result/result.h"

#define TC_RESULT_DEFINITION_SLOTS (2 * TC_RESULT_DEFINITIONS_MAX)

/* Text, handed out from the front; the newest block is the first of the list. */
struct tc_result_block {
    struct tc_result_block *next;
    size_t used;
    size_t size;
    char bytes[];
};

struct tc_result {
    const struct tc_reader *reader;
    struct tc_slice version;
    tc_status status;                       /* the first failure */
    struct tc_rows *tables[TC_TABLE_COUNT]; /* rows and facts; NULL: none of that table */
    struct tc_result_row **rows;            /* in the order of the file */
    size_t row_count;
    size_t row_cap;
    struct tc_result_block *blocks;
    size_t text_bytes;
    struct tc_result_note *notes; /* TC_RESULT_NOTES_MAX of them, from the first note on */
    size_t note_count;
    uint64_t notes_left_out;
    const struct tc_definition **definitions; /* by hash of the field; from the first one on */
    size_t definition_count;
    uint64_t request_count;
    uint64_t odd_requests[TC_REQUEST_COLUMNS]; /* whose value cannot be */
    tc_requests_fn take;                       /* NULL: requests are counted only */
    void *take_context;
    struct tc_error *take_err;
    struct tc_rows *requests;                           /* on their way to it; NULL: none yet */
    size_t requests_of;                                 /* the serving row of those */
    bool differs[TC_TABLE_COUNT][TC_TABLE_COLUMNS_MAX]; /* a second value of it was noted */
};

/* NULL without memory. */
struct tc_result *tc__result_create(const struct tc_reader *reader);

/* Memory that lives as long as the result; NULL without room. */
void *tc__result_take(struct tc_result *r, size_t bytes, size_t align);

/* requests.c: gives the last requests to the sink, and notes what was left out of all. */
void tc__result_end_requests(struct tc_result *r);
/* Notes the percentiles of a serving row that its requests do not give. */
void tc__result_check_bounds(const struct tc_result_row *row);
/* The status of the run is "failed", whatever the reader said. */
void tc__result_set_failed(struct tc_result *r);

/* What form.c makes of a file's bytes. */
struct tc_result_parsed {
    struct tc_result_input in;
    char *patched; /* bytes without NaN and infinities; NULL: none were there */
    char *json;    /* of YAML */
    size_t nan_count;
    size_t nan_at;              /* where the first one stands in in.bytes */
    bool tried_yaml;            /* json_error is that of YAML */
    struct tc_error json_error; /* looked like JSON or YAML, and why it is none; status TC_OK: no */
};

/*
 * Finds the form. TC_E_MALFORMED for an empty file, TC_E_LIMIT for one that is too large,
 * TC_E_UNSUPPORTED for a compressed one. What looks like JSON and is none has the form TEXT and
 * json_error.
 */
TC_CHECKED tc_status tc__result_parse(struct tc_slice name, struct tc_slice bytes,
                                      struct tc_result_parsed *out, struct tc_error *err);
void tc__result_parsed_fini(struct tc_result_parsed *p);
/* Notes keys that stand twice in one object, at the top of a document. */
TC_CHECKED tc_status tc__result_note_twice(const struct tc_result_parsed *p, struct tc_result *r,
                                           struct tc_error *err);
/* Notes the values that were written as NaN. */
void tc__result_note_nan(const struct tc_result_parsed *p, struct tc_result *r);
/* Parses a document cut out of a text: NaN and infinities are texts in it, as in a file of JSON;
 * C's nan and inf are "". */
TC_CHECKED tc_status tc__result_parse_loose(struct tc_json_parser *parser, struct tc_slice text,
                                            struct tc_json *out, struct tc_error *err);
/* Takes a file that was YAML for the text it is, for readers of text. */
void tc__result_as_text(struct tc_result_parsed *p);

/* result/points.c: slices of a serving row get its load and its window. */
TC_CHECKED tc_status tc__result_join_slices(struct tc_result *r, struct tc_error *err);
/* result/check.c: fills in what follows from the rest (error rate) and notes what cannot be. */
void tc__result_check(struct tc_result *r);

#endif
