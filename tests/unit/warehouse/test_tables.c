/* SPDX-License-Identifier: Apache-2.0 */
/* The schema as data: consistent, found by name, and the page that is made of it. */
#include "warehouse/schema_priv.h"
#include "warehouse/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_name(const char *s)
{
    bool fine = s[0] >= 'a' && s[0] <= 'z';
    for (const char *p = s; *p != '\0'; p++) {
        fine = fine && ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_');
    }
    return fine;
}

static void names_are_plain_and_unique(void **state)
{
    (void)state;
    for (size_t t = 0; t < TC_TABLE_COUNT; t++) {
        const struct tc_table_info *info = tc_table_info((enum tc_table)t);
        enum tc_table found;
        assert_true(is_name(info->name));
        assert_true(tc_table_parse(tc_slice_cstr(info->name), &found));
        assert_int_equal(found, t);
        assert_in_range(info->column_count, 1, TC_TABLE_COLUMNS_MAX);
        for (size_t c = 0; c < info->column_count; c++) {
            const char *name = info->columns[c].name;
            assert_true(is_name(name));
            assert_true(strlen(name) < 64);
            for (size_t before = 0; before < c; before++) {
                assert_string_not_equal(name, info->columns[before].name);
            }
        }
    }
    enum tc_table found;
    assert_false(tc_table_parse(TC_LIT("telemetry_slice"), &found));
    assert_false(tc_table_parse(TC_EMPTY, &found));
}

/* A migration adds tables, and columns at the end of a table: so versions never go down in it. */
static void versions_only_grow(void **state)
{
    (void)state;
    unsigned highest = 0;
    for (size_t t = 0; t < TC_TABLE_COUNT; t++) {
        const struct tc_table_info *info = tc_table_info((enum tc_table)t);
        unsigned before = info->since;
        assert_in_range(info->since, 1, TC_SCHEMA_VERSION);
        for (size_t c = 0; c < info->column_count; c++) {
            assert_true(info->columns[c].since >= before);
            before = info->columns[c].since;
        }
        highest = before > highest ? before : highest;
    }
    assert_int_equal(highest, TC_SCHEMA_VERSION);
    assert_int_equal(tc__schema.version, TC_SCHEMA_VERSION);
    assert_int_equal(tc__schema.table_count, TC_TABLE_COUNT);
}

/* spec/warehouse.md: nine tables and three beside them, by these very names. */
static void the_canonical_tables_are_there(void **state)
{
    (void)state;
    static const char *const names[] = {
        "benchmark_run_fact",   "serving_outcome_fact", "training_outcome_fact",
        "telemetry_slice_fact", "software_version_dim", "hardware_topology_dim",
        "cluster_region_dim",   "workload_dim",         "artifact_lineage_dim",
        "verdict_fact",         "serving_request_fact", "published_number",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum tc_table found;
        assert_true(tc_table_parse(tc_slice_cstr(names[i]), &found));
    }
}

static void the_page_is_made_of_it(void **state)
{
    (void)state;
    static char made[TC_TABLES_MARKDOWN_MAX];
    static char page[TC_TABLES_MARKDOWN_MAX + 1];
    char path[1024];
    const char *root = getenv("TC_SOURCE_DIR");
    struct tc_buf b = tc_buf_make(made, sizeof made);
    tc_tables_markdown(&b);
    assert_false(b.overflowed);
    if (root == NULL) {
        skip();
    }
    (void)snprintf(path, sizeof path, "%s/docs/tables.md", root);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t len = fread(page, 1, sizeof page, file);
    (void)fclose(file);
    if (len != b.len || memcmp(page, made, len) != 0) {
        fail_msg("docs/tables.md is out of date: tracecore sql --describe --markdown makes it");
    }
}

static void types_have_names(void **state)
{
    (void)state;
    assert_string_equal(tc_column_type_name(TC_COLUMN_TEXT), "text");
    assert_string_equal(tc_column_type_name(TC_COLUMN_INT), "int");
    assert_string_equal(tc_column_type_name(TC_COLUMN_REAL), "real");
    assert_string_equal(tc_column_type_name(TC_COLUMN_BOOL), "bool");
    assert_string_equal(tc_column_type_name(TC_COLUMN_TIME), "time");
    assert_string_equal(tc_column_type_name((enum tc_column_type)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_plain_and_unique),
        cmocka_unit_test(versions_only_grow),
        cmocka_unit_test(the_canonical_tables_are_there),
        cmocka_unit_test(the_page_is_made_of_it),
        cmocka_unit_test(types_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
