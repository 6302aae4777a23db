/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to one of our own queries, in memory: its values for programs, people and JSON. */
#ifndef TC_WAREHOUSE_ANSWER_H
#define TC_WAREHOUSE_ANSWER_H

#include "base/format.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_ANSWER_ROWS_MAX 200000

struct tc_answer {
    struct tc_rows *rows; /* NULL: no answer */
    size_t column_count;
    size_t row_count;
    bool cut;    /* there were more than TC_ANSWER_ROWS_MAX */
    bool failed; /* no memory for all of it */
};

/* A query of any kind, of no more than TC_ANSWER_ROWS_MAX rows. */
TC_CHECKED tc_status tc_answer_ask(struct tc_warehouse *w, const struct tc_query *query,
                                   struct tc_answer *out, struct tc_error *err);
/* One of our own. */
TC_CHECKED tc_status tc_answer_query(struct tc_warehouse *w, const char *sql,
                                     const struct tc_bind *binds, size_t bind_count,
                                     struct tc_answer *out, struct tc_error *err);
void tc_answer_fini(struct tc_answer *s);
/* False for NULL, and for what is no finite number. */
bool tc_answer_known(const struct tc_answer *s, size_t row, size_t column);
int64_t tc_answer_int(const struct tc_answer *s, size_t row, size_t column); /* INT, TIME, BOOL */
double tc_answer_real(const struct tc_answer *s, size_t row, size_t column); /* and INT */
/* Empty when NULL. */
struct tc_slice tc_answer_text(const struct tc_answer *s, size_t row, size_t column);
/* "" and TEXT without an answer. */
const char *tc_answer_name(const struct tc_answer *s, size_t column);
enum tc_column_type tc_answer_type(const struct tc_answer *s, size_t column);
/* Whether a column has the same value in rows of two answers to the same query; NULL is one. */
bool tc_answer_same(const struct tc_answer *a, size_t row_a, const struct tc_answer *b,
                    size_t row_b, size_t column);
/* A value for people; "-" when NULL. As an argument of a format it borrows s. */
struct tc_arg tc_answer_as_value(const struct tc_answer *s, size_t row, size_t column);
void tc_answer_value(struct tc_grow *g, const struct tc_answer *s, size_t row, size_t column);
/* One row as a JSON object; text columns that hold JSON as JSON. */
void tc_answer_row_json(struct tc_json_out *j, const struct tc_answer *s, size_t row);
/* All rows as a JSON list. */
void tc_answer_rows_json(struct tc_json_out *j, const struct tc_answer *s);

#endif
