/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb/slice_priv.h"

#include "base/assert.h"
#include "base/format.h"

bool tc__slice_is_of_scope(size_t column)
{
    switch (column) {
    case TC_SLICE_FAMILY:
    case TC_SLICE_UNIT:
    case TC_SLICE_NODE:
    case TC_SLICE_GPU:
    case TC_SLICE_RANK:
    case TC_SLICE_JOB_UID:
    case TC_SLICE_POD_UID:
    case TC_SLICE_SCHEDULER_RUN_ID:
    case TC_SLICE_REQUEST_CLASS:
    case TC_SLICE_POINT:
    case TC_SLICE_JOIN:
    case TC_SLICE_SOURCE_DIGEST:
        return true;
    default:
        return false;
    }
}

static void begin_part(struct tc__slice_part *p, const char *name,
                       const struct tc_table_info *table)
{
    p->info = (struct tc_table_info){
        .name = name, .since = table->since, .grain = "", .columns = p->columns};
}

static void add_column(struct tc__slice_part *p, const struct tc_column *column, size_t from)
{
    TC_ASSERT(p->info.column_count < TC_TABLE_COLUMNS_MAX);
    p->columns[p->info.column_count] = *column;
    p->from[p->info.column_count++] = from;
}

static void add_number(struct tc__slice_part *p, const char *name)
{
    struct tc_column column = {
        .name = name, .type = TC_COLUMN_INT, .since = p->info.since, .unit = "", .help = ""};
    add_column(p, &column, TC__SLICE_OWN);
}

void tc__slice_store_init(struct tc__slice_store *s, const struct tc_table_info *table)
{
    begin_part(&s->slices, TC__SLICE_TABLE, table);
    begin_part(&s->scopes, TC__SCOPE_TABLE, table);
    add_number(&s->scopes, TC__SCOPE_ID);
    add_number(&s->scopes, "key_high");
    add_number(&s->scopes, "key_low");
    for (size_t i = 0; i < table->column_count; i++) {
        s->metric = i == TC_SLICE_METRIC ? s->slices.info.column_count : s->metric;
        s->last = i == TC_SLICE_LAST ? s->slices.info.column_count : s->last;
        add_column(tc__slice_is_of_scope(i) ? &s->scopes : &s->slices, &table->columns[i], i);
    }
    add_number(&s->slices, TC__SCOPE_ID);
}

void tc__slice_put_view(struct tc_buf *b, const struct tc_table_info *table)
{
    (void)tc_format(b, "CREATE OR REPLACE VIEW \"{}\" AS SELECT ", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        (void)tc_format(b, "{}{}.\"{}\"", i == 0 ? "" : ", ", tc__slice_is_of_scope(i) ? "s" : "f",
                        table->columns[i].name);
    }
    tc_buf_lit(b, " FROM " TC__SLICE_TABLE " f JOIN " TC__SCOPE_TABLE " s ON s." TC__SCOPE_ID
                  " = f." TC__SCOPE_ID);
}
