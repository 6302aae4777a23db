/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore sql --describe`: the schema, from tables.def and so without any database. */
#include "cli/output/say.h"
#include "cli/sql/sql.h"

#include <stdlib.h>
#include <string.h>

static void put(struct tc_output *out, const char *text)
{
    (void)tc_output_put(out, tc_slice_cstr(text));
}

static void put_padded(struct tc_output *out, const char *text, size_t width)
{
    put(out, text);
    for (size_t i = strlen(text); i < width; i++) {
        put(out, " ");
    }
}

/* Words of `text` from column `indent` on, and on lines of their own where they do not fit. */
static void put_wrapped(struct tc_output *out, const char *text, size_t indent, size_t width)
{
    size_t at = indent;
    struct tc_slice rest = tc_slice_cstr(text);
    while (rest.len > 0) {
        struct tc_slice word = tc_slice_cut(rest, ' ', &rest);
        if (at > indent && at + 1 + word.len > width) {
            put(out, "\n");
            put_padded(out, "", indent);
            at = indent;
        } else if (at > indent) {
            put(out, " ");
            at++;
        }
        (void)tc_output_put(out, word);
        at += word.len;
    }
    put(out, "\n");
}

static void describe_text(struct tc_output *out, const struct tc_table_info *t)
{
    size_t name_width = 0;
    size_t unit_width = 0;
    for (size_t i = 0; i < t->column_count; i++) {
        size_t name = strlen(t->columns[i].name);
        size_t unit = strlen(t->columns[i].unit);
        name_width = name > name_width ? name : name_width;
        unit_width = unit > unit_width ? unit : unit_width;
    }
    put(out, t->name);
    put(out, ": ");
    put(out, t->grain);
    put(out, "\n");
    for (size_t i = 0; i < t->column_count; i++) {
        const struct tc_column *c = &t->columns[i];
        put(out, "  ");
        put_padded(out, c->name, name_width + 2);
        bool more = c->help[0] != '\0';
        put_padded(out, tc_column_type_name(c->type), more || c->unit[0] != '\0' ? 6 : 0);
        put_padded(out, c->unit, unit_width == 0 || !more ? 0 : unit_width + 2);
        put_wrapped(out, c->help, name_width + 10 + (unit_width == 0 ? 0 : unit_width + 2), 100);
    }
}

static int describe_markdown(struct tc_output *out)
{
    char *memory = malloc(TC_TABLES_MARKDOWN_MAX);
    if (memory == NULL) {
        return tc_refuse("sql", "no memory for the tables");
    }
    struct tc_buf b = tc_buf_make(memory, TC_TABLES_MARKDOWN_MAX);
    tc_tables_markdown(&b);
    (void)tc_output_put(out, tc_buf_slice(&b));
    free(memory);
    return TC_EXIT_OK;
}

static void tell_unknown(const char *name)
{
    const char *best = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        const char *other = tc_table_info((enum tc_table)i)->name;
        size_t distance = tc_slice_distance(tc_slice_cstr(name), tc_slice_cstr(other));
        if (distance < least) {
            least = distance;
            best = other;
        }
    }
    if (best != NULL && least <= 4) {
        tc_say("sql", "there is no table \"%s\"; did you mean \"%s\"?", name, best);
    } else {
        tc_say("sql", "there is no table \"%s\"; `tracecore sql --describe` lists all", name);
    }
}

int tc_sql_describe(struct tc_output *out, const char *table, enum tc_sql_describe form)
{
    enum tc_table only = TC_TABLE_COUNT;
    if (table != NULL && !tc_table_parse(tc_slice_cstr(table), &only)) {
        tell_unknown(table);
        return TC_EXIT_BAD;
    }
    if (form == TC_SQL_DESCRIBE_MARKDOWN && table == NULL) {
        return describe_markdown(out);
    }
    if (form == TC_SQL_DESCRIBE_MARKDOWN) {
        return tc_refuse("sql", "--markdown is for all tables at once");
    }
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        if (table != NULL && i != (size_t)only) {
            continue;
        }
        const struct tc_table_info *info = tc_table_info((enum tc_table)i);
        if (form == TC_SQL_DESCRIBE_JSON) {
            struct tc_json_out j = tc_output_json(out);
            tc_table_json(&j, info);
            (void)tc_json_done_line(&j);
        } else {
            put(out, table == NULL && i > 0 ? "\n" : "");
            describe_text(out, info);
        }
    }
    return TC_EXIT_OK;
}

void tc_sql_tables(struct tc_output *out)
{
    size_t width = 0;
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        size_t len = strlen(tc_table_info((enum tc_table)i)->name);
        width = len > width ? len : width;
    }
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        const struct tc_table_info *info = tc_table_info((enum tc_table)i);
        put_padded(out, info->name, width + 2);
        put(out, info->grain);
        put(out, "\n");
    }
}
