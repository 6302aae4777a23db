/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb/split_priv.h"

#include "base/assert.h"
#include "base/format.h"
#include "warehouse/duckdb/join_priv.h"

#include <string.h>

static bool slice_is_of_scope(size_t column)
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

/* run_id and metric stay texts in the slices: most queries ask for one of them. */
const struct tc__split_kind tc__split_slices = {
    .table = TC_TABLE_SLICE,
    .table_name = "telemetry_slice_fact",
    .facts = "telemetry_slice",
    .scopes = "telemetry_scope",
    .sequence = "telemetry_scope_block",
    .is_of_scope = slice_is_of_scope,
    .order = {.how = TC__ORDER_TEXT_DIGITS, .first = TC_SLICE_METRIC, .second = TC_SLICE_LAST},
};

/* ---- the two tables ---- */

static void begin_part(struct tc__split_part *p, const char *name,
                       const struct tc_table_info *table)
{
    p->info = (struct tc_table_info){
        .name = name, .since = table->since, .grain = "", .columns = p->columns};
}

static void add_column(struct tc__split_part *p, const struct tc_column *column, size_t from)
{
    TC_ASSERT(p->info.column_count < TC_TABLE_COLUMNS_MAX);
    p->columns[p->info.column_count] = *column;
    p->from[p->info.column_count++] = from;
}

static void add_number(struct tc__split_part *p, const char *name)
{
    struct tc_column column = {
        .name = name, .type = TC_COLUMN_INT, .since = p->info.since, .unit = "", .help = ""};
    add_column(p, &column, TC__SPLIT_OWN);
}

/* The column of facts that is made of a wide one. */
static size_t fact_column(const struct tc__split *s, size_t wide)
{
    size_t i = 0;
    while (i < s->facts.info.column_count && s->facts.from[i] != wide) {
        i++;
    }
    TC_ASSERT(i < s->facts.info.column_count);
    return i;
}

/* Behind the columns of the table, for rows alone. */
static void add_halves(struct tc__split *s)
{
    size_t count = s->facts.info.column_count;
    for (size_t i = 0; i < s->wide.column_count; i++) {
        if (s->kind->is_half != NULL && s->kind->is_half(i)) {
            add_column(&s->facts, &s->wide.columns[i], i);
        }
    }
    s->facts.row_columns = s->facts.info.column_count;
    s->facts.info.column_count = count;
}

void tc__split_init(struct tc__split *s, const struct tc__split_kind *kind,
                    const struct tc__schema *schema)
{
    const struct tc_table_info *table = &schema->tables[kind->table];
    s->kind = kind;
    s->there =
        schema->table_count > (size_t)kind->table && strcmp(table->name, kind->table_name) == 0;
    if (!s->there) {
        return;
    }
    s->table = table;
    s->wide = *table;
    if (kind->put_wide != NULL) {
        kind->put_wide(&s->wide, s->wide_columns, table);
    }
    begin_part(&s->facts, kind->facts, table);
    begin_part(&s->scopes, kind->scopes, table);
    add_number(&s->scopes, TC__SCOPE_ID);
    add_number(&s->scopes, "key_high");
    add_number(&s->scopes, "key_low");
    for (size_t i = 0; i < s->wide.column_count; i++) {
        bool is_half = kind->is_half != NULL && kind->is_half(i);
        if (!is_half && (kind->is_left_out == NULL || !kind->is_left_out(i))) {
            add_column(kind->is_of_scope(i) ? &s->scopes : &s->facts, &s->wide.columns[i], i);
        }
    }
    add_number(&s->facts, TC__SCOPE_ID);
    add_halves(s);
    s->order = (struct tc__order){.how = kind->order.how,
                                  .first = fact_column(s, kind->order.first),
                                  .second = fact_column(s, kind->order.second)};
}

/* The run is in the facts, where it is written when it is found; how it was told is in the scope.
 */
static const char *run_expression(const char *name, enum tc__view view)
{
    if (view == TC__VIEW_SAID && strcmp(name, "run_id") == 0) {
        return "CASE WHEN f." TC__JOIN_FOUND " IS NULL THEN f.run_id END";
    }
    if (view == TC__VIEW_FOUND && strcmp(name, "run_join") == 0) {
        return "CASE f." TC__JOIN_FOUND
               " WHEN 1 THEN 'identity' WHEN 2 THEN 'time' ELSE s.run_join END";
    }
    return NULL;
}

void tc__split_put_view(struct tc_buf *b, const struct tc__split *s, enum tc__view view)
{
    (void)tc_format(b, "CREATE OR REPLACE VIEW \"{}{}\" AS SELECT ", s->table->name,
                    view == TC__VIEW_SAID ? TC_TABLE_SAID : "");
    for (size_t i = 0; i < s->table->column_count; i++) {
        const char *name = s->table->columns[i].name;
        const char *made = run_expression(name, view);
        made = made == NULL && s->kind->expression != NULL ? s->kind->expression(i) : made;
        tc_buf_str(b, i == 0 ? TC_EMPTY : TC_LIT(", "));
        if (made != NULL) {
            (void)tc_format(b, "{} AS \"{}\"", made, name);
        } else {
            (void)tc_format(b, "{}.\"{}\"", s->kind->is_of_scope(i) ? "s" : "f", name);
        }
    }
    (void)tc_format(b, " FROM {} f JOIN {} s ON s." TC__SCOPE_ID " = f." TC__SCOPE_ID,
                    s->kind->facts, s->kind->scopes);
}
