/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/base.h"

#include "base/format.h"
#include "base/table/grow.h"
#include "warehouse/sql_text.h"

#include <stdlib.h>
#include <string.h>

tc_status tc_one_run_find(struct tc_warehouse *w, struct tc_slice word, struct tc_group *out,
                          struct tc_error *err)
{
    struct tc_group group;
    TC_TRY(tc_group_find(w, word, TC_GROUP_WITH_FAILED, &group, err));
    if (group.run_count != 1) {
        size_t count = group.run_count;
        struct tc_slice first = tc_group_text(&group, 0, TC_GROUP_RUN_ID);
        struct tc_slice last = tc_group_text(&group, count > 0 ? count - 1 : 0, TC_GROUP_RUN_ID);
        tc_status status = tc_fail(err, TC_E_NOTFOUND, 0,
                                   "\"%.*s\" means %zu runs; give the id of one, from %.*s to %.*s",
                                   (int)(word.len < 40 ? word.len : 40), word.ptr, count,
                                   (int)(first.len < 28 ? first.len : 28), first.ptr,
                                   (int)(last.len < 28 ? last.len : 28), last.ptr);
        tc_group_fini(&group);
        return status;
    }
    *out = group;
    return TC_OK;
}

static void put_condition(struct tc_grow *sql, const struct tc_group *run,
                          const struct tc_group *meant)
{
    static const char *const columns[] = {[TC_GROUP_RUN] = "run_id",
                                          [TC_GROUP_REPLICATES] = "replicate_group",
                                          [TC_GROUP_NAME] = "name"};
    static const enum tc_group_column places[] = {[TC_GROUP_RUN] = TC_GROUP_RUN_ID,
                                                  [TC_GROUP_REPLICATES] = TC_GROUP_REPLICATE_GROUP,
                                                  [TC_GROUP_NAME] = TC_GROUP_RUN_NAME};
    if (meant == NULL) {
        tc_grow_format(sql,
                       "started_at < (SELECT started_at FROM benchmark_run_fact WHERE run_id = ");
        tc_sql_put_text(sql, tc_group_text(run, 0, TC_GROUP_RUN_ID));
        tc_grow_lit(sql, ") AND benchmark_case_id = ");
        tc_sql_put_text(sql, tc_group_text(run, 0, TC_GROUP_CASE_ID));
    } else if (meant->kind == TC_GROUP_CONDITION) {
        tc_grow_format(sql, "({})", meant->text);
    } else {
        tc_grow_format(sql, "{} = ", columns[meant->kind]);
        tc_sql_put_text(sql, tc_group_text(meant, 0, places[meant->kind]));
    }
    tc_grow_lit(sql, " AND run_id <> ");
    tc_sql_put_text(sql, tc_group_text(run, 0, TC_GROUP_RUN_ID));
}

static bool contains(const struct tc_group *group, struct tc_slice run_id)
{
    for (size_t i = 0; i < group->run_count; i++) {
        if (tc_slice_eq(tc_group_text(group, i, TC_GROUP_RUN_ID), run_id)) {
            return true;
        }
    }
    return false;
}

/* The same group without the run; meant is NULL for the default. */
static tc_status find_others(struct tc_warehouse *w, const struct tc_group *run,
                             const struct tc_group *meant, struct tc_group *out,
                             struct tc_error *err)
{
    struct tc_grow sql = {0};
    put_condition(&sql, run, meant);
    char *text = strdup(meant != NULL ? meant->text : TC_BASE_DEFAULT);
    tc_status status = sql.failed || text == NULL
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the question")
                           : tc_group_find(w, tc_grow_slice(&sql), 0, out, err);
    tc_grow_fini(&sql);
    if (status != TC_OK) {
        free(text);
        return status;
    }
    free(out->text);
    out->text = text;
    return TC_OK;
}

tc_status tc_base_find(struct tc_warehouse *w, const struct tc_group *run, struct tc_slice word,
                       struct tc_group *out, struct tc_error *err)
{
    struct tc_group meant;
    if (word.len == 0) {
        return find_others(w, run, NULL, out, err);
    }
    TC_TRY(tc_group_find(w, word, 0, &meant, err));
    if (!contains(&meant, tc_group_text(run, 0, TC_GROUP_RUN_ID))) {
        *out = meant;
        return TC_OK;
    }
    tc_status status =
        meant.run_count > 1
            ? find_others(w, run, &meant, out, err)
            : tc_fail(err, TC_E_USAGE, 0,
                      "the base is the run itself; give another run, a replicate group or a name");
    tc_group_fini(&meant);
    return status;
}

struct tc_slice tc_base_word(const struct tc_group *base)
{
    bool is_default = strcmp(base->text, TC_BASE_DEFAULT) == 0 && base->run_count > 0;
    return !is_default            ? tc_slice_cstr(base->text)
           : base->run_count == 1 ? tc_group_text(base, 0, TC_GROUP_RUN_ID)
                                  : tc_slice_or(tc_group_text(base, 0, TC_GROUP_REPLICATE_GROUP),
                                                tc_group_text(base, 0, TC_GROUP_RUN_ID));
}
