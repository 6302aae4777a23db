/* SPDX-License-Identifier: Apache-2.0 */
/* What a rebuild found and did, for people and programs. */
#include "base/format.h"
#include "base/json/out.h"
#include "cli/output/text_table.h"
#include "cli/rebuild/rebuild.h"

static bool is_same(const struct tc_rebuild_table *t)
{
    return t->has_before && t->missing + t->extra + t->differing == 0;
}

bool tc_rebuild_is_same(const struct tc_rebuild *r)
{
    bool same = true;
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        same = same && is_same(&r->tables[i]);
    }
    return same;
}

/* ---- text ---- */

static void put_count(struct tc_text_table *t, bool known, uint64_t count)
{
    if (known) {
        tc_text_table_format(t, "{}", count);
    } else {
        tc_text_table_cell(t, TC_LIT("-"));
    }
}

static void put_tables(const struct tc_rebuild *r, struct tc_grow *out)
{
    struct tc_text_table table = {
        .column_count = 7,
        .heads = {"table", "before", "after", "missing", "extra", "differing", "copied"},
        .right = {false, true, true, true, true, true, true},
    };
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        const struct tc_rebuild_table *t = &r->tables[i];
        tc_text_table_cell(&table, tc_slice_cstr(tc_table_info((enum tc_table)i)->name));
        put_count(&table, t->has_before, t->before);
        put_count(&table, true, t->after);
        put_count(&table, t->has_before, t->missing);
        put_count(&table, t->has_before, t->extra);
        put_count(&table, t->has_before, t->differing);
        put_count(&table, true, t->copied);
    }
    (void)tc_text_table_print(&table, out, "");
    out->failed |= table.failed;
    tc_text_table_fini(&table);
}

static void put_notes(const struct tc_rebuild *r, struct tc_grow *out)
{
    struct tc_slice rest = tc_grow_slice(&r->notes);
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        tc_grow_format(out, "note: {}\n", tc_as_printable(line));
    }
}

static void put_text(const struct tc_rebuild *r, struct tc_grow *out)
{
    bool same = tc_rebuild_is_same(r);
    put_tables(r, out);
    put_notes(r, out);
    tc_grow_format(out, "{} made from evidence, {} copied, {} lost\n",
                   tc_as_count((int64_t)r->runs_made, "run"), r->runs_copied, r->runs_lost);
    if (r->args->dry_run) {
        tc_grow_format(out, "{}; nothing was changed\n",
                       same ? "the tables are as the evidence says"
                            : "the tables are not as the evidence says");
    } else if (r->args->into != NULL) {
        tc_grow_format(out, "the new database is {}\n",
                       tc_as_printable(tc_slice_cstr(r->args->into)));
    } else {
        tc_grow_format(out, "{}",
                       same ? "the tables were as the evidence says; they are new all "
                              "the same\n"
                            : "the tables are as the evidence says now\n");
        if (r->kept[0] != '\0') {
            tc_grow_format(out, "the old database is {}\n",
                           tc_as_printable(tc_slice_cstr(r->kept)));
        }
    }
}

/* ---- JSON ---- */

static void put_table_json(struct tc_json_out *j, const struct tc_rebuild_table *t)
{
    if (t->has_before) {
        tc_json_put_u64(j, "before", t->before);
        tc_json_put_u64(j, "after", t->after);
        tc_json_put_u64(j, "missing", t->missing);
        tc_json_put_u64(j, "extra", t->extra);
        tc_json_put_u64(j, "differing", t->differing);
        tc_json_put_u64(j, "copied", t->copied);
        tc_json_put_digest(j, "digest_before", &t->digest_before);
    } else {
        tc_json_put_null(j, "before");
        tc_json_put_u64(j, "after", t->after);
        tc_json_put_null(j, "missing");
        tc_json_put_null(j, "extra");
        tc_json_put_null(j, "differing");
        tc_json_put_u64(j, "copied", t->copied);
        tc_json_put_null(j, "digest_before");
    }
    tc_json_put_digest(j, "digest_after", &t->digest_after);
}

static void put_json(const struct tc_rebuild *r, struct tc_grow *out)
{
    struct tc_json_out j = tc_json_object_grow(out);
    struct tc_slice rest = tc_grow_slice(&r->notes);
    tc_json_put_bool(&j, "equal", tc_rebuild_is_same(r));
    tc_json_put_bool(&j, "dry_run", r->args->dry_run);
    tc_json_put_object(&j, "tables");
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        tc_json_key_plain(&j, tc_slice_cstr(tc_table_info((enum tc_table)i)->name));
        tc_json_add_object(&j);
        put_table_json(&j, &r->tables[i]);
        tc_json_end_object(&j);
    }
    tc_json_end_object(&j);
    tc_json_put_object(&j, "runs");
    tc_json_put_u64(&j, "made", r->runs_made);
    tc_json_put_u64(&j, "copied", r->runs_copied);
    tc_json_put_u64(&j, "lost", r->runs_lost);
    tc_json_end_object(&j);
    tc_json_put_u64(&j, "ledger_damaged", r->ledger_damaged);
    tc_json_put_array(&j, "notes");
    while (rest.len > 0) {
        tc_json_add_str(&j, tc_slice_cut(rest, '\n', &rest));
    }
    tc_json_end_array(&j);
    tc_json_put_str_or_null(&j, "into", tc_slice_cstr(r->args->into));
    tc_json_put_str_or_null(&j, "old", tc_slice_cstr(r->kept));
    (void)tc_json_end_line(&j);
}

void tc_rebuild_report(const struct tc_rebuild *r, struct tc_grow *out)
{
    if (r->args->json) {
        put_json(r, out);
    } else {
        put_text(r, out);
    }
}
