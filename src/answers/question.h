/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions that programs ask: one table stands behind the command line's --json, the HTTP API and
 * MCP, so that the three give the same object. A question is a constant and a line in
 * questions.def. Its parameters are a table too: reading a query string, a JSON body or a tool's
 * arguments, the checks, the OpenAPI description and the schemas of tools are made from it.
 * docs/internals/surfaces.md shows how it is used.
 */
#ifndef TC_ANSWERS_QUESTION_H
#define TC_ANSWERS_QUESTION_H

#include "base/json/json.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_live;
struct tc_sources;
struct tc_warehouse;

enum tc_param_kind {
    TC_PARAM_TEXT,
    TC_PARAM_COUNT, /* an integer from `least` to `most` */
    TC_PARAM_REAL,  /* a number from `least` to `most` */
    TC_PARAM_FLAG,  /* true or false; in a query also 1, 0 and nothing behind the name: true */
    TC_PARAM_TIME,  /* 2026-11-15T03:00:00Z, or how long ago: 90s, 15m, 2h, 3d */
    TC_PARAM_WORD,  /* one of `words` */
};

enum {
    TC_PARAM_NEEDED = 1,  /* without it the question is refused */
    TC_PARAM_MANY = 2,    /* may be repeated (TEXT and WORD): an array in JSON */
    TC_PARAM_IN_PATH = 4, /* {name} in the path of the HTTP API */
};

struct tc_param {
    const char *name; /* the same in a query, a body and a tool's arguments */
    const char *help; /* a sentence */
    enum tc_param_kind kind;
    unsigned flags;
    const char *words;    /* of WORD: the values, separated by blanks */
    const char *standard; /* the value when there is none, as text; NULL: it stays away */
    double least;
    double most;
};

#define TC_PARAMS_MAX 16
/* Values of a parameter that may be repeated; bytes of one text. */
#define TC_PARAM_VALUES_MAX 64
#define TC_PARAM_BYTES_MAX ((size_t)65536)

/* Where it is answered. */
enum tc_question_place {
    TC_PLACE_TABLES, /* by any thread that has a view of the warehouse, or only data_dir */
    TC_PLACE_LIVE,   /* by the loop of a daemon: what detection knows now */
};

/* Who may ask, as the scopes of tokens. */
enum tc_question_scope { TC_SCOPE_READ, TC_SCOPE_ADMIN };

/* A member of the object that answers: for the schemas of results. */
struct tc_member {
    const char *name;
    const char *type; /* of JSON; two, separated by a blank: "string null" */
    const char *help;
    bool may_lack;
};

struct tc_asked;
struct tc_reply;

struct tc_question {
    const char *name;    /* "compare": the id of its operation */
    const char *tool;    /* of MCP: "compare_runs"; NULL: it is none */
    const char *path;    /* "/api/v1/runs/{run}" */
    const char *summary; /* a few words, as of a command */
    const char *help;    /* what it answers and when to ask it: for OpenAPI and for models */
    enum tc_question_place place;
    enum tc_question_scope scope;
    bool posts; /* POST with a JSON body; else GET with a query */
    bool needs_warehouse;
    bool keeps; /* its answer follows from the tables, or from what is live, and may be kept */
    const struct tc_param *params;
    size_t param_count;
    const char *media;               /* types it answers in, separated by blanks; NULL: JSON */
    const struct tc_member *members; /* of the JSON object; none: they are not described */
    size_t member_count;
    tc_status (*answer)(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err);
};

#define QUESTION(id) extern const struct tc_question tc_question_##id;
#include "answers/questions.def"
#undef QUESTION

/* All of them, in the order of questions.def. */
const struct tc_question *const *tc_questions(size_t *out_count);

struct tc_param_value {
    bool is_given;
    bool flag;
    int64_t count; /* COUNT; TIME in nanoseconds */
    double real;
    struct tc_slice text; /* the last that was given */
};

/* One question that is asked. Zero it, tc_asked_init, then add what was said. Texts are borrowed.
 */
struct tc_asked {
    const struct tc_question *question;
    struct tc_param_value values[TC_PARAMS_MAX];
    struct tc_slice many[TC_PARAM_VALUES_MAX]; /* of the parameter that may be repeated */
    unsigned char many_of[TC_PARAM_VALUES_MAX];
    size_t many_count;
    struct tc_slice wrong; /* after TC_E_USAGE: the parameter that is; empty: not known */
    /* What it is answered from. */
    struct tc_warehouse *warehouse; /* needs_warehouse; else NULL will do */
    const char *data_dir;
    struct tc_live *live;             /* TC_PLACE_LIVE */
    const struct tc_sources *sources; /* the same: the bytes that verdicts cite */
    int64_t now_ns;                   /* our clock: times that are "ago", and dates of claims */
    int64_t time_ns;                  /* a query may take so long; 0: no bound */
    uint64_t rows_max;                /* and give so many rows; 0: no bound */
    struct tc_slice by;               /* who asks, for the audit log */
};

void tc_asked_init(struct tc_asked *a, const struct tc_question *question, int64_t now_ns);
/* One parameter as text. TC_E_USAGE names it, what is wrong and what would be right. */
TC_CHECKED tc_status tc_asked_add(struct tc_asked *a, struct tc_slice name, struct tc_slice value,
                                  struct tc_error *err);
/* All members of a JSON object. Texts lie in what was parsed. */
TC_CHECKED tc_status tc_asked_add_json(struct tc_asked *a, struct tc_json object,
                                       struct tc_error *err);
/* Fills in what has a standard; TC_E_USAGE when something that is needed is not there. */
TC_CHECKED tc_status tc_asked_complete(struct tc_asked *a, struct tc_error *err);

/*
 * JSON schemas (2020-12) as one object each: of the parameters, which a tool's arguments are; of
 * one parameter's value; and of the answer.
 */
void tc_question_schema(struct tc_json_out *j, const struct tc_question *q);
void tc_param_schema(struct tc_json_out *j, const struct tc_param *p);
void tc_question_result_schema(struct tc_json_out *j, const struct tc_question *q);

/* For `answer`. The parameter must be one of the question's. */
const struct tc_param_value *tc_asked_value(const struct tc_asked *a, const char *name);
/* Without a value: empty. */
struct tc_slice tc_asked_text(const struct tc_asked *a, const char *name);
/* Fills out[0..room) with the values of one that may be repeated; returns how many. */
size_t tc_asked_texts(const struct tc_asked *a, const char *name, struct tc_slice *out,
                      size_t room);

/* The answer: one JSON object and a newline, unless content_type says otherwise. */
struct tc_reply {
    struct tc_grow body;
    const char *content_type; /* NULL: application/json */
    uint64_t range_from;  /* of a part of evidence: where it begins, and how long the whole is */
    uint64_t range_total; /* 0: it is no part */
};
void tc_reply_fini(struct tc_reply *r);
/* A longer answer is TC_E_LIMIT: who asks is to ask for less. */
#define TC_REPLY_BYTES_MAX ((size_t)16 << 20)

/* Checks that all is there, and answers. TC_E_USAGE: what was asked is wrong; TC_E_NOTFOUND: there
 * is no such thing; TC_E_LIMIT: it takes too long or is too much. out is filled on success only;
 * the caller ends it. */
TC_CHECKED tc_status tc_question_answer(struct tc_asked *a, struct tc_reply *out,
                                        struct tc_error *err);

#endif
