/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON: simdjson behind a C face (json.cpp is the project's only C++).
 * One parser parses one document at a time; values and strings belong to the
 * parser and die with the next tc_json_parse. Where the place of a value in the
 * bytes matters (evidence), cut the document with base/json/raw.h first.
 */
#ifndef TC_BASE_JSON_JSON_H
#define TC_BASE_JSON_JSON_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tc_json_parser;

enum tc_json_type {
    TC_JSON_NULL,
    TC_JSON_BOOL,
    TC_JSON_INT,  /* fits int64_t */
    TC_JSON_UINT, /* above INT64_MAX */
    TC_JSON_DOUBLE,
    TC_JSON_STRING,
    TC_JSON_ARRAY,
    TC_JSON_OBJECT,
};

/* A value inside the parser's document; copy it freely. */
struct tc_json {
    const void *doc;
    size_t at;
};

struct tc_json_iter {
    struct tc_json now;
    struct tc_json end;
    bool is_object;
};

/* NULL when out of memory. */
struct tc_json_parser *tc_json_parser_create(void);
void tc_json_parser_destroy(struct tc_json_parser *p);

/*
 * Parse one document of at most TC_JSON_DOCUMENT_MAX bytes and
 * TC_JSON_DEPTH_MAX levels. Borrows text until return (it is copied).
 * err->offset is where the parser stopped, when it knows.
 */
TC_CHECKED tc_status tc_json_parse(struct tc_json_parser *p, struct tc_slice text,
                                   struct tc_json *out_root, struct tc_error *err);

enum tc_json_type tc_json_type(struct tc_json v);

/* The first member of that name; false when v is no object or has none. */
bool tc_json_get(struct tc_json v, struct tc_slice key, struct tc_json *out);

/* Each false, *out untouched, when v is of another type. */
bool tc_json_string(struct tc_json v, struct tc_slice *out);
bool tc_json_bool(struct tc_json v, bool *out);
bool tc_json_double(struct tc_json v, double *out);
/* Takes an integer, or a double without a fraction; OTLP's and protobuf's
 * 64-bit integers written as strings too. */
bool tc_json_int(struct tc_json v, int64_t *out);
/* An integer that is not negative. */
bool tc_json_uint(struct tc_json v, uint64_t *out);

/* The member as a string or integer; empty slice or fallback when absent or of another type. */
struct tc_slice tc_json_get_string(struct tc_json v, struct tc_slice key);
int64_t tc_json_get_int(struct tc_json v, struct tc_slice key, int64_t fallback);

/* Walks an object or array; over any other type it ends at once. */
struct tc_json_iter tc_json_iter_make(struct tc_json v);
/* out_key may be NULL, and is empty for arrays. */
bool tc_json_iter_next(struct tc_json_iter *it, struct tc_slice *out_key, struct tc_json *out);

#ifdef __cplusplus
}
#endif

#endif
