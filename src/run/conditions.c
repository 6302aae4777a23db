/* SPDX-License-Identifier: Apache-2.0 */
#include "run/conditions.h"

#include "base/table/grow.h"
#include "run/scaling_priv.h"
#include "run/update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGNED_HOW "tracecore evidence sign RUN --key FILE"
/* Runs of one replicate group that are brought up to date. */
#define GROUP_MAX 200000

static const char *const STATES[][2] = {
    [TC_CONDITION_MET] = {"met", "met"},
    [TC_CONDITION_NOT_MET] = {"not_met", "not met"},
    [TC_CONDITION_NOT_CHECKABLE] = {"not_checkable", "not checkable"},
};

const char *tc_condition_state_name(enum tc_condition_state state, bool for_people)
{
    return STATES[state][for_people ? 1 : 0];
}

/* ---- as JSON ---- */

static enum tc_condition_state state_of(struct tc_slice name)
{
    enum tc_condition_state state = TC_CONDITION_MET;
    while (state < TC_CONDITION_NOT_CHECKABLE &&
           !tc_slice_eq(name, tc_slice_cstr(STATES[state][0]))) {
        state++;
    }
    return state;
}

size_t tc_conditions_of(struct tc_json list, struct tc_condition *out)
{
    struct tc_json element;
    struct tc_json asked;
    size_t count = 0;
    struct tc_json_iter it = tc_json_iter_make(list);
    while (count < TC_CONDITIONS_MAX && tc_json_iter_next(&it, NULL, &element)) {
        struct tc_condition *c = &out[count++];
        *c = (struct tc_condition){
            .name = tc_json_get_string(element, TC_LIT("condition")),
            .state = state_of(tc_json_get_string(element, TC_LIT("state"))),
            .why = tc_json_get_string(element, TC_LIT("why")),
        };
        if (tc_json_get(element, TC_LIT("asked"), &asked)) {
            (void)tc_json_bool(asked, &c->is_asked);
        }
    }
    return count;
}

size_t tc_conditions_read(struct tc_json_parser *parser, struct tc_slice json,
                          struct tc_condition *out)
{
    struct tc_json root;
    struct tc_error err;
    return json.len == 0 || tc_json_parse(parser, json, &root, &err) != TC_OK
               ? 0
               : tc_conditions_of(root, out);
}

void tc_conditions_write(struct tc_json_out *j, const struct tc_condition *conditions, size_t count)
{
    tc_json_add_array(j);
    for (size_t n = 0; n < count; n++) {
        const struct tc_condition *c = &conditions[n];
        tc_json_add_object(j);
        if (c->is_asked) {
            tc_json_put_bool(j, "asked", true);
        }
        tc_json_put_str(j, "condition", c->name);
        tc_json_put_cstr(j, "state", tc_condition_state_name(c->state, false));
        tc_json_put_some(j, "why", c->why);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

bool tc_conditions_met(const struct tc_condition *conditions, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        if (conditions[n].state != TC_CONDITION_MET) {
            return false;
        }
    }
    return count > 0;
}

/* ---- what depends on others ---- */

struct tc_condition tc_condition_replicates(int64_t have, int64_t want,
                                            char room[TC_CONDITION_ROOM])
{
    bool met = have >= want && want > 0;
    /* Of a group that is complete the number is not said: each new run would change all rows. */
    int len = met ? snprintf(room, TC_CONDITION_ROOM, "the contract asks for %lld", (long long)want)
                  : snprintf(room, TC_CONDITION_ROOM,
                             "%lld of %lld that the contract asks for; add the others",
                             (long long)have, (long long)want);
    return (struct tc_condition){.name = TC_LIT("replicates"),
                                 .state = met ? TC_CONDITION_MET : TC_CONDITION_NOT_MET,
                                 .why = tc_slice_make(room, len < 0 ? 0 : (size_t)len)};
}

struct tc_condition tc_condition_signed(bool is_signed, bool is_asked)
{
    return (struct tc_condition){
        .name = TC_LIT("signed"),
        .state = is_signed || !is_asked ? TC_CONDITION_MET : TC_CONDITION_NOT_MET,
        .why = is_signed   ? TC_LIT("the manifest is signed")
               : !is_asked ? TC_LIT("the contract asks for no signature")
                           : TC_LIT("the contract asks for a signature: " SIGNED_HOW),
        .is_asked = is_asked,
    };
}

struct tc_condition tc_condition_scaling(bool is_known)
{
    return (struct tc_condition){
        .name = TC_LIT("scaling"),
        .state = is_known ? TC_CONDITION_MET : TC_CONDITION_NOT_MET,
        .why = is_known ? TC_LIT("scaling_efficiency_pct is known")
                        : TC_LIT("scaling_efficiency_pct is not known: add a run of the same case "
                                 "on another number of GPUs"),
    };
}

/* One run whose row has to change. */
struct change {
    struct tc_grow conditions;
    char run_id[256];
    bool publishable;
};

struct settling {
    struct tc_json_parser *parser;
    struct change *changes;
    size_t count;
    size_t cap;
    bool failed;
};

enum column { RUN_ID, CONDITIONS, PUBLISHABLE, MIN_REPLICATES, SIGNATURE, UNSCALED, REPLICATES };

static void settle_row(struct settling *s, const struct tc_rows *rows, size_t row)
{
    struct tc_condition conditions[TC_CONDITIONS_MAX];
    char room[TC_CONDITION_ROOM];
    struct tc_slice old =
        tc_rows_is_null(rows, CONDITIONS, row) ? TC_EMPTY : tc_rows_get_text(rows, CONDITIONS, row);
    struct change change = {.run_id = ""};
    size_t count = tc_conditions_read(s->parser, old, conditions);
    for (size_t n = 0; n < count; n++) {
        if (tc_slice_eq(conditions[n].name, TC_LIT("replicates")) &&
            !tc_rows_is_null(rows, MIN_REPLICATES, row)) {
            conditions[n] =
                tc_condition_replicates(tc_rows_get_int(rows, REPLICATES, row),
                                        tc_rows_get_int(rows, MIN_REPLICATES, row), room);
        } else if (tc_slice_eq(conditions[n].name, TC_LIT("signed"))) {
            conditions[n] =
                tc_condition_signed(!tc_rows_is_null(rows, SIGNATURE, row), conditions[n].is_asked);
        } else if (tc_slice_eq(conditions[n].name, TC_LIT("scaling"))) {
            conditions[n] = tc_condition_scaling(tc_rows_is_null(rows, UNSCALED, row));
        }
    }
    struct tc_json_out j = tc_json_out_grow(&change.conditions);
    tc_conditions_write(&j, conditions, count);
    change.publishable = tc_conditions_met(conditions, count);
    bool same =
        count == 0 || (tc_slice_eq(tc_grow_slice(&change.conditions), old) &&
                       change.publishable == (tc_rows_get_int(rows, PUBLISHABLE, row) != 0));
    s->failed |= change.conditions.failed;
    if (!same && !s->failed &&
        tc_grow_items(s->changes, s->cap, s->count + 1, GROUP_MAX) == TC_OK) {
        (void)snprintf(change.run_id, sizeof change.run_id, "%.*s",
                       TC_FMT(tc_rows_get_text(rows, RUN_ID, row)));
        s->changes[s->count++] = change;
    } else {
        s->failed |= !same;
        tc_grow_fini(&change.conditions);
    }
}

static tc_status settle_rows(void *context, const struct tc_rows *rows)
{
    struct settling *s = context;
    for (size_t row = 0; row < rows->count && !s->failed; row++) {
        settle_row(s, rows, row);
    }
    return s->failed ? TC_E_NOMEM : TC_OK;
}

static tc_status edit_run(void *context, struct tc_rows *rows)
{
    const struct change *c = context;
    for (size_t row = 0; row < rows->count; row++) {
        tc_rows_seek(rows, row);
        tc_rows_int(rows, TC_RUN_PUBLISHABLE, c->publishable ? 1 : 0);
        TC_TRY(tc_rows_text(rows, TC_RUN_CONDITIONS, tc_grow_slice(&c->conditions)));
    }
    return TC_OK;
}

static tc_status settle_group(struct tc_warehouse *w, struct tc_slice run_id, struct settling *s,
                              struct tc_error *err)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run_id};
    const struct tc_bind ids[] = {id, id};
    struct tc_query query = {
        .sql = TC_LIT(
            "SELECT r.run_id, r.conditions, r.publishable, r.min_replicates, "
            "l.signature_digest, t.unscaled, g.replicates FROM benchmark_run_fact r LEFT JOIN "
            "artifact_lineage_dim l ON l.run_id = r.run_id LEFT JOIN (SELECT run_id, "
            "count(*) AS unscaled FROM training_outcome_fact WHERE "
            "scaling_efficiency_pct IS NULL GROUP BY run_id) t ON t.run_id = r.run_id "
            "LEFT JOIN (SELECT replicate_group, count(*) AS replicates FROM "
            "benchmark_run_fact WHERE replicate_index IS NOT NULL AND status <> 'failed' "
            "GROUP BY replicate_group) g ON g.replicate_group = r.replicate_group "
            "WHERE r.conditions IS NOT NULL AND (r.replicate_group IN (SELECT "
            "replicate_group FROM benchmark_run_fact WHERE run_id = ?) OR "
            "r.benchmark_case_id IN (SELECT benchmark_case_id FROM benchmark_run_fact "
            "WHERE run_id = ?)) ORDER BY r.run_id"),
        .binds = ids,
        .bind_count = 2};
    TC_TRY(tc_warehouse_query(w, &query, settle_rows, s, NULL, err));
    for (size_t n = 0; n < s->count; n++) {
        TC_TRY(tc_run_update(w, TC_TABLE_RUN, TC_RUN_RUN_ID, tc_slice_cstr(s->changes[n].run_id),
                             edit_run, &s->changes[n], err));
    }
    return TC_OK;
}

tc_status tc_run_settle(struct tc_warehouse *w, struct tc_slice run_id, struct tc_error *err)
{
    struct settling s = {.parser = tc_json_parser_create()};
    tc_status status = s.parser == NULL
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the conditions of runs")
                           : tc__scaling_settle(w, run_id, err);
    if (status == TC_OK) {
        status = settle_group(w, run_id, &s, err);
    }
    for (size_t n = 0; n < s.count; n++) {
        tc_grow_fini(&s.changes[n].conditions);
    }
    free(s.changes);
    tc_json_parser_destroy(s.parser);
    return status;
}
