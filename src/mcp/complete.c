/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of arguments: the ids of runs, and the names of their groups. */
#include "base/slice.h"
#include "mcp/mcp_priv.h"

/* As the protocol says. */
#define VALUES_MAX 100
/* The latest so many runs are looked at. */
#define RUNS_LOOKED_AT "100"

struct values {
    struct tc_slice items[VALUES_MAX];
    size_t count;
};

static void add_value(struct values *v, struct tc_slice value, struct tc_slice prefix)
{
    if (value.len == 0 || !tc_slice_starts(value, prefix)) {
        return;
    }
    for (size_t i = 0; i < v->count; i++) {
        if (tc_slice_eq(v->items[i], value)) {
            return;
        }
    }
    if (v->count < VALUES_MAX) {
        v->items[v->count++] = value;
    }
}

static tc_status ask_runs(struct tc__call *c, struct tc_reply *reply, struct tc_json *out)
{
    const struct tc_question *q = tc__question(c->m, TC_LIT("runs"));
    struct tc_asked asked;
    if (q == NULL) {
        return TC_E_NOTFOUND;
    }
    tc_asked_init(&asked, q, c->now_ns);
    TC_TRY(tc_asked_add(&asked, TC_LIT("limit"), TC_LIT(RUNS_LOOKED_AT), &c->err));
    TC_TRY(tc__ask(c, &asked, reply));
    return tc_json_parse(c->m->answers, tc_grow_slice(&reply->body), out, &c->err);
}

/* Without runs there is nothing to offer, which is no error. */
static tc_status complete_run(struct tc__call *c, struct tc_slice prefix, struct tc_reply *reply,
                              struct values *v)
{
    struct tc_json answer;
    struct tc_json runs;
    struct tc_json run;
    tc_status status = ask_runs(c, reply, &answer);
    if (status != TC_OK || !tc_json_get(answer, TC_LIT("runs"), &runs)) {
        return status == TC_E_NOMEM ? status : TC_OK;
    }
    struct tc_json_iter it = tc_json_iter_make(runs);
    while (tc_json_iter_next(&it, NULL, &run)) {
        add_value(v, tc_json_get_string(run, TC_LIT("run_id")), prefix);
        add_value(v, tc_json_get_string(run, TC_LIT("replicate_group")), prefix);
    }
    return TC_OK;
}

int tc__complete(struct tc__call *c)
{
    struct tc_json argument;
    struct tc_json ref;
    struct tc_reply reply = {0};
    struct values v = {.count = 0};
    tc_status status = TC_OK;
    if (!c->has_params || !tc_json_get(c->params, TC_LIT("ref"), &ref) ||
        !tc_slice_is_any(tc_json_get_string(ref, TC_LIT("type")), "ref/prompt", "ref/resource") ||
        !tc_json_get(c->params, TC_LIT("argument"), &argument)) {
        return tc__refuse(c, TC_RPC_PARAMS,
                          "completion needs ref, of a prompt or a resource, and "
                          "argument");
    }
    if (tc_slice_is_any(tc_json_get_string(argument, TC_LIT("name")), "run", "base")) {
        status = complete_run(c, tc_json_get_string(argument, TC_LIT("value")), &reply, &v);
    }
    tc_json_put_object(c->j, "completion");
    tc_json_put_array(c->j, "values");
    for (size_t i = 0; i < v.count; i++) {
        tc_json_add_str(c->j, v.items[i]);
    }
    tc_json_end_array(c->j);
    tc_json_put_bool(c->j, "hasMore", v.count == VALUES_MAX);
    tc_json_end_object(c->j);
    tc_reply_fini(&reply);
    return status == TC_OK ? TC_RPC_OK : tc__refuse(c, TC_RPC_INTERNAL, "out of memory");
}
