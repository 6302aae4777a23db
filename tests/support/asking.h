/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions asked as a query of the HTTP API asks them, for tests. Everything asserts.
 */
#ifndef TC_TEST_ASKING_H
#define TC_TEST_ASKING_H

#include "answers/question.h"
#include "base/json/json.h"
#include "base/status.h"
#include "warehouse/warehouse.h"

/* Where questions of a test are answered from. */
struct asking {
    struct tc_warehouse *warehouse;
    const char *data_dir;
    struct tc_live *live; /* NULL, unless the test sets it */
    struct tc_json_parser *parser;
    struct tc_reply reply; /* of the last that was answered */
    struct tc_error err;
    char wrong[64];
};

#define ASKING_NOW_NS INT64_C(1763164800000000000)

/* A question by its name; it must be there. */
const struct tc_question *asking_question(const char *name);

void asking_init(struct asking *a, struct tc_warehouse *w, const char *data_dir);
void asking_fini(struct asking *a);

/* Names and values by turns; the macros take NULL for none. */
tc_status asking_ask(struct asking *a, const char *question, const char *const *pairs);
#define ask(a, question, ...) asking_ask((a), (question), (const char *const[]){__VA_ARGS__, NULL})
/* The object that answers: it must be one, with all members that the question says, no others. */
struct tc_json asking_object(struct asking *a, const char *question, const char *const *pairs);
#define ask_object(a, question, ...) \
    asking_object((a), (question), (const char *const[]){__VA_ARGS__, NULL})
/* It must fail so, with a sentence that has this in it. */
void asking_refused(struct asking *a, tc_status status, const char *part, const char *question,
                    const char *const *pairs);
#define ask_refused(a, status, part, question, ...) \
    asking_refused((a), (status), (part), (question), (const char *const[]){__VA_ARGS__, NULL})

/* A member of an object by its path, "runs.0.name"; it must be there. */
struct tc_json asking_at(struct tc_json object, const char *path);
/* The same as text; of what is no string: as "null", "true", a number. */
void asking_is(struct tc_json object, const char *path, const char *text);
size_t asking_count(struct tc_json object, const char *path);

#endif
