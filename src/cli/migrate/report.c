/* SPDX-License-Identifier: Apache-2.0 */
/* What a migration did, for people and programs. */
#include "base/format.h"
#include "base/json/out.h"
#include "cli/migrate/migrate.h"
#include "cli/output/text_table.h"

/* "sha256:" and so many hex digits tell tables from each other at a glance. */
#define DIGEST_SHOWN 12

bool tc_migrate_is_same(const struct tc_migrate *m)
{
    bool same = true;
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        same = same && tc_row_sum_eq(&m->tables[i].source_sum, &m->tables[i].target_sum);
    }
    return same;
}

static void put_text(const struct tc_migrate *m, struct tc_grow *out)
{
    struct tc_text_table table = {
        .column_count = 5,
        .heads = {"table", "rows", "copied", "digest", "there"},
        .right = {false, true, true, false, false},
    };
    uint64_t rows = 0;
    uint64_t copied = 0;
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        const struct tc_migrate_table *t = &m->tables[i];
        struct tc_digest digest;
        char text[TC_DIGEST_TEXT];
        tc_row_sum_digest(&t->source_sum, &digest);
        tc_digest_text(&digest, text);
        tc_text_table_cell(&table, tc_slice_cstr(tc_table_info((enum tc_table)i)->name));
        tc_text_table_format(&table, "{}", t->source_sum.rows);
        tc_text_table_format(&table, "{}", t->copied);
        tc_text_table_cell(&table, tc_slice_make(text + (sizeof "sha256:" - 1), DIGEST_SHOWN));
        tc_text_table_cell(&table, tc_row_sum_eq(&t->source_sum, &t->target_sum)
                                       ? TC_LIT("the same")
                                       : TC_LIT("OTHER ROWS"));
        rows += t->source_sum.rows;
        copied += t->copied;
    }
    (void)tc_text_table_print(&table, out, "");
    out->failed |= table.failed;
    tc_text_table_fini(&table);
    tc_grow_format(out, "{}, {} copied now: {}\n", tc_as_count((int64_t)rows, "row"), copied,
                   tc_migrate_is_same(m) ? "the same in both, by count and digest"
                                         : "the two differ");
}

static void put_json(const struct tc_migrate *m, struct tc_grow *out)
{
    struct tc_json_out j = tc_json_object_grow(out);
    tc_json_put_str(&j, "from", tc_slice_cstr(m->source.name));
    tc_json_put_str(&j, "to", tc_slice_cstr(m->target.name));
    tc_json_put_bool(&j, "equal", tc_migrate_is_same(m));
    tc_json_put_object(&j, "tables");
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        const struct tc_migrate_table *t = &m->tables[i];
        struct tc_digest digest;
        tc_json_key_plain(&j, tc_slice_cstr(tc_table_info((enum tc_table)i)->name));
        tc_json_add_object(&j);
        tc_json_put_u64(&j, "from", t->source_sum.rows);
        tc_json_put_u64(&j, "to", t->target_sum.rows);
        tc_json_put_u64(&j, "copied", t->copied);
        tc_row_sum_digest(&t->source_sum, &digest);
        tc_json_put_digest(&j, "digest_from", &digest);
        tc_row_sum_digest(&t->target_sum, &digest);
        tc_json_put_digest(&j, "digest_to", &digest);
        tc_json_end_object(&j);
    }
    tc_json_end_object(&j);
    (void)tc_json_end_line(&j);
}

void tc_migrate_report(const struct tc_migrate *m, struct tc_grow *out)
{
    if (m->args->json) {
        put_json(m, out);
    } else {
        put_text(m, out);
    }
}
