/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore publish GROUP` and `publish --query`: one number, if it may be. */
#include "base/clock.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/output/text_table.h"
#include "cli/publish/publish.h"
#include "publish/compose.h"
#include "publish/publish.h"

static void put_conditions(struct tc_grow *g, const struct tc_claim *claim)
{
    for (size_t i = 0; i < claim->condition_count; i++) {
        const struct tc_condition *c = &claim->conditions[i];
        tc_text_finding(g, c->name, tc_condition_state_name(c->state, true), c->why);
    }
}

static size_t unmet(const struct tc_claim *claim)
{
    size_t count = 0;
    for (size_t i = 0; i < claim->condition_count; i++) {
        count += claim->conditions[i].state != TC_CONDITION_MET ? 1 : 0;
    }
    return count;
}

static void put_text(struct tc_grow *g, const struct tc_publish_outcome *out, bool dry_run)
{
    bool may = out->number_id[0] != '\0';
    tc_grow_format(g, "{}{}\n",
                   !may             ? "not published"
                   : dry_run        ? "may be published: "
                   : out->was_there ? "already there: "
                                    : "published: ",
                   (const char *)out->number_id);
    tc_publish_put_claim(g, &out->claim);
    put_conditions(g, &out->claim);
    if (may && !dry_run) {
        tc_grow_format(g, "next: tracecore lineage {}\n", (const char *)out->number_id);
    }
}

static int tell(const struct tc_publish_args *args, const struct tc_publish_outcome *out)
{
    struct tc_grow g = {0};
    bool may = out->number_id[0] != '\0';
    if (args->json) {
        struct tc_json_out j = tc_json_out_grow(&g);
        tc_publish_json(&j, out);
        (void)tc_json_done_line(&j);
    } else {
        put_text(&g, out, args->dry_run);
    }
    int code = tc_output_grown("publish", &g, may ? TC_EXIT_OK : TC_EXIT_FOUND);
    if (!may && !args->json && code == TC_EXIT_FOUND) {
        size_t count = unmet(&out->claim);
        tc_say("publish", "%zu condition%s not met; nothing was published. %s", count,
               count == 1 ? " is" : "s are",
               out->is_damaged
                   ? "What the number stands on is damaged: no reason excuses that"
                   : "--unstable REASON publishes it with the statement that it is unstable or "
                     "not representative");
    }
    return code;
}

/* What the options say; the rest is filled by who composes. */
static struct tc_publish_want want_of(const struct tc_publish_args *args,
                                      const struct tc_publish_place *p, const char *by)
{
    return (struct tc_publish_want){
        .data_dir = p->dir,
        .w = p->w,
        .files = p->files,
        .metric = tc_slice_cstr(args->metric),
        .definition_id = tc_slice_cstr(args->definition),
        .unit = tc_slice_cstr(args->unit),
        .point = tc_slice_cstr(args->point),
        .report_row = tc_slice_cstr(args->report_row),
        .query = tc_slice_cstr(args->query),
        .unstable = tc_slice_cstr(args->unstable),
        .by = tc_slice_cstr(by),
        .now_ns = tc_wall_ns(),
        .dry_run = args->dry_run,
    };
}

int tc_publish_number(const struct tc_publish_args *args, const char *group)
{
    struct tc_publish_place p;
    struct tc_publish_outcome out = {0};
    struct tc_error err = {0};
    char by[256];
    int code = TC_EXIT_BAD;
    tc_publish_by(by);
    if (tc_publish_place_open(&p, "publish", args->data_dir,
                              args->dry_run ? TC_WAREHOUSE_READ : TC_WAREHOUSE_WRITE)) {
        struct tc_publish_want want = want_of(args, &p, by);
        if (tc_publish_of(&want, tc_slice_cstr(group), &out, &err) == TC_OK) {
            code = tell(args, &out);
        } else {
            tc_say("publish", "%s", err.message);
        }
    }
    tc_publish_fini(&out);
    tc_publish_place_close(&p);
    return code;
}
