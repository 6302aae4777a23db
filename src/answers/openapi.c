/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/openapi.h"
#include "answers/question.h"

#include <string.h>

static const char *const JSON = "application/json";
static const char *const PROBLEM = "application/problem+json";

/* What may go wrong, for every question. */
static const struct problem {
    const char *status;
    const char *name;
    const char *help;
} PROBLEMS[] = {
    {"400", "Wrong", "A parameter is wrong; `parameter` names it and `detail` says what is right."},
    {"401", "NoToken", "There is no token, or it is not known."},
    {"403", "OtherScope", "The token is of another scope, or the page is of another origin."},
    {"404", "NotFound", "There is no such thing; `detail` has a suggestion where one is near."},
    {"409", "NotHere", "It is switched off here, or there is nothing yet."},
    {"422", "TooMuch", "It takes too long, or is too much: ask for less."},
    {"503", "Busy", "Too many questions wait; `Retry-After` says when to ask again."},
};

/* ---- parameters ---- */

static void put_parameter(struct tc_json_out *j, const struct tc_param *p)
{
    bool in_path = (p->flags & TC_PARAM_IN_PATH) != 0;
    tc_json_add_object(j);
    tc_json_put_cstr(j, "name", p->name);
    tc_json_put_cstr(j, "in", in_path ? "path" : "query");
    tc_json_put_cstr(j, "description", p->help);
    tc_json_put_bool(j, "required", (p->flags & TC_PARAM_NEEDED) != 0);
    tc_json_key(j, "schema");
    tc_param_schema(j, p);
    if ((p->flags & TC_PARAM_MANY) != 0) {
        tc_json_put_bool(j, "explode", true);
    }
    tc_json_end_object(j);
}

/* Those of the path, and of a GET those of the query; a POST has the others in its body. */
static void put_parameters(struct tc_json_out *j, const struct tc_question *q)
{
    tc_json_put_array(j, "parameters");
    for (size_t n = 0; n < q->param_count; n++) {
        if (!q->posts || (q->params[n].flags & TC_PARAM_IN_PATH) != 0) {
            put_parameter(j, &q->params[n]);
        }
    }
    tc_json_end_array(j);
}

static void put_body(struct tc_json_out *j, const struct tc_question *q)
{
    bool is_needed = false;
    for (size_t n = 0; n < q->param_count; n++) {
        is_needed |= (q->params[n].flags & TC_PARAM_NEEDED) != 0;
    }
    tc_json_put_object(j, "requestBody");
    tc_json_put_bool(j, "required", is_needed);
    tc_json_put_object(j, "content");
    tc_json_put_object(j, "application/json");
    tc_json_key(j, "schema");
    tc_question_schema(j, q);
    tc_json_end_object(j);
    tc_json_end_object(j);
    tc_json_end_object(j);
}

/* ---- answers ---- */

static void put_media(struct tc_json_out *j, struct tc_slice type, const struct tc_question *q)
{
    bool is_json = tc_slice_eq(type, tc_slice_cstr(JSON));
    tc_json_key_str(j, type);
    tc_json_add_object(j);
    tc_json_key(j, "schema");
    if (is_json && q->member_count > 0) {
        tc_question_result_schema(j, q);
    } else {
        tc_json_add_object(j);
        tc_json_put_cstr(j, "type", is_json ? "object" : "string");
        tc_json_end_object(j);
    }
    tc_json_end_object(j);
}

static void put_success(struct tc_json_out *j, const struct tc_question *q)
{
    struct tc_slice rest = tc_slice_cstr(q->media == NULL ? JSON : q->media);
    tc_json_put_object(j, "200");
    tc_json_put_cstr(j, "description", q->summary);
    tc_json_put_object(j, "content");
    while (rest.len > 0) {
        put_media(j, tc_slice_cut(rest, ' ', &rest), q);
    }
    tc_json_end_object(j);
    tc_json_end_object(j);
}

static void put_responses(struct tc_json_out *j, const struct tc_question *q)
{
    char text[64] = "#/components/responses/";
    size_t stem = strlen(text);
    tc_json_put_object(j, "responses");
    put_success(j, q);
    for (size_t n = 0; n < TC_COUNT(PROBLEMS); n++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        b.len = stem;
        tc_buf_str(&b, tc_slice_cstr(PROBLEMS[n].name));
        tc_json_key_plain(j, tc_slice_cstr(PROBLEMS[n].status));
        tc_json_add_object(j);
        tc_json_key_str(j, TC_LIT("$ref"));
        tc_json_add_str(j, tc_buf_slice(&b));
        tc_json_end_object(j);
    }
    tc_json_end_object(j);
}

/* ---- operations ---- */

static void put_operation(struct tc_json_out *j, const struct tc_question *q)
{
    tc_json_key_plain(j, q->posts ? TC_LIT("post") : TC_LIT("get"));
    tc_json_add_object(j);
    tc_json_put_cstr(j, "operationId", q->name);
    tc_json_put_cstr(j, "summary", q->summary);
    tc_json_put_cstr(j, "description", q->help);
    put_parameters(j, q);
    if (q->posts) {
        put_body(j, q);
    }
    tc_json_put_array(j, "security");
    tc_json_add_object(j);
    tc_json_put_array(j, "token");
    tc_json_add_cstr(j, q->scope == TC_SCOPE_ADMIN ? "admin" : "read");
    tc_json_end_array(j);
    tc_json_end_object(j);
    tc_json_end_array(j);
    put_responses(j, q);
    tc_json_end_object(j);
}

/* One path is described once, with all that is asked at it. */
static void put_paths(struct tc_json_out *j)
{
    size_t count = 0;
    const struct tc_question *const *all = tc_questions(&count);
    tc_json_put_object(j, "paths");
    for (size_t n = 0; n < count; n++) {
        bool is_first = true;
        for (size_t m = 0; m < n; m++) {
            is_first = is_first && strcmp(all[m]->path, all[n]->path) != 0;
        }
        if (!is_first) {
            continue;
        }
        tc_json_key_str(j, tc_slice_cstr(all[n]->path));
        tc_json_add_object(j);
        for (size_t m = n; m < count; m++) {
            if (strcmp(all[m]->path, all[n]->path) == 0) {
                put_operation(j, all[m]);
            }
        }
        tc_json_end_object(j);
    }
    tc_json_end_object(j);
}

/* ---- what they share ---- */

static void put_problem_schema(struct tc_json_out *j)
{
    static const struct {
        const char *name;
        const char *type;
        const char *help;
    } members[] = {
        {"type", "string", "A URI that stands for the kind of problem."},
        {"title", "string", "The kind in words."},
        {"status", "integer", "As of HTTP."},
        {"detail", "string", "What is wrong, and what would be right."},
        {"parameter", "string", "The parameter that is wrong."},
    };
    tc_json_put_object(j, "Problem");
    tc_json_put_cstr(j, "type", "object");
    tc_json_put_cstr(j, "description", "RFC 9457.");
    tc_json_put_object(j, "properties");
    for (size_t n = 0; n < TC_COUNT(members); n++) {
        tc_json_key_plain(j, tc_slice_cstr(members[n].name));
        tc_json_add_object(j);
        tc_json_put_cstr(j, "type", members[n].type);
        tc_json_put_cstr(j, "description", members[n].help);
        tc_json_end_object(j);
    }
    tc_json_end_object(j);
    tc_json_put_array(j, "required");
    tc_json_add_cstr(j, "title");
    tc_json_add_cstr(j, "status");
    tc_json_add_cstr(j, "detail");
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static void put_components(struct tc_json_out *j)
{
    tc_json_put_object(j, "components");
    tc_json_put_object(j, "schemas");
    put_problem_schema(j);
    tc_json_end_object(j);
    tc_json_put_object(j, "responses");
    for (size_t n = 0; n < TC_COUNT(PROBLEMS); n++) {
        tc_json_key_plain(j, tc_slice_cstr(PROBLEMS[n].name));
        tc_json_add_object(j);
        tc_json_put_cstr(j, "description", PROBLEMS[n].help);
        tc_json_put_object(j, "content");
        tc_json_key_plain(j, tc_slice_cstr(PROBLEM));
        tc_json_add_object(j);
        tc_json_put_object(j, "schema");
        tc_json_put_cstr(j, "$ref", "#/components/schemas/Problem");
        tc_json_end_object(j);
        tc_json_end_object(j);
        tc_json_end_object(j);
        tc_json_end_object(j);
    }
    tc_json_end_object(j);
    tc_json_put_object(j, "securitySchemes");
    tc_json_put_object(j, "token");
    tc_json_put_cstr(j, "type", "http");
    tc_json_put_cstr(j, "scheme", "bearer");
    tc_json_put_cstr(j, "description",
                     "A token of the daemon's configuration, of the scope that each operation "
                     "names. Without tokens in the configuration none is asked for.");
    tc_json_end_object(j);
    tc_json_end_object(j);
    tc_json_end_object(j);
}

void tc_openapi_write(struct tc_json_out *j)
{
    tc_json_add_object(j);
    tc_json_put_cstr(j, "openapi", "3.1.0");
    tc_json_put_object(j, "info");
    tc_json_put_cstr(j, "title", "tracecore");
    tc_json_put_cstr(j, "version", "1");
    tc_json_put_cstr(j, "description",
                     "Incidents, fleet, runs and claims of a GPU fleet. The same questions as the "
                     "command line's --json and the MCP tools.");
    tc_json_put_object(j, "license");
    tc_json_put_cstr(j, "name", "Apache-2.0");
    tc_json_put_cstr(j, "identifier", "Apache-2.0");
    tc_json_end_object(j);
    tc_json_end_object(j);
    put_paths(j);
    put_components(j);
    tc_json_end_object(j);
}
