/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "cli/command.h"
#include "cli/data.h"
#include "cli/output/output.h"
#include "cli/output/say.h"
#include "cli/snapshot.h"
#include "warehouse/answer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked {
    const char *parquet;
    const char *data_dir;
    bool wanted[TC_TABLE_COUNT];
    bool some; /* tables were named */
    bool force;
    bool json;
};

static int take_table(void *args, const struct tc_option *option, const char *value)
{
    struct asked *a = args;
    enum tc_table table = TC_TABLE_COUNT;
    (void)option;
    if (!tc_table_parse(tc_slice_cstr(value), &table)) {
        tc_say("export", "there is no table \"%s\"; `tracecore sql --describe` lists all", value);
        return TC_EXIT_BAD;
    }
    a->wanted[table] = true;
    a->some = true;
    return TC_GO_ON;
}

static const struct tc_option OPTIONS[] = {
    TC_TEXT("parquet", "DIR", struct asked, parquet,
            "Write DIR/<table>.parquet for every table, and DIR/manifest.json."),
    TC_TAKEN("table", "TABLE", take_table, "Only this table. May be given again."),
    TC_FLAG("force", struct asked, force, "Replace files of an earlier export."),
    TC_TEXT("data-dir", "DIR", struct asked, data_dir, TC_DATA_DIR_HELP),
    TC_FLAG("json", struct asked, json, "What was written, one JSON object a table."),
};

/* The tables, in the order of tables.def. */
static size_t choose(const struct asked *a, struct tc_snapshot_table *out)
{
    size_t count = 0;
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        if (!a->some || a->wanted[i]) {
            out[count++] =
                (struct tc_snapshot_table){.table = (enum tc_table)i, .before_us = INT64_MIN};
        }
    }
    return count;
}

/* An earlier export is not mixed with this one. */
static bool is_clear(const char *dir, const struct tc_snapshot_table *tables, size_t count)
{
    char path[PATH_MAX + 128];
    for (size_t i = 0; i <= count; i++) {
        (void)snprintf(path, sizeof path, "%s/%s%s", dir,
                       i < count ? tc_table_info(tables[i].table)->name : TC_SNAPSHOT_MANIFEST,
                       i < count ? ".parquet" : "");
        if (access(path, F_OK) == 0) {
            tc_say("export", "%s is there already; --force replaces it", path);
            return false;
        }
    }
    return true;
}

/* The manifest names what this export writes: another table's file would be in no manifest. */
static bool is_alone(const char *dir, const struct asked *a)
{
    char path[PATH_MAX + 128];
    for (size_t i = 0; i < TC_TABLE_COUNT && a->some; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.parquet", dir,
                       tc_table_info((enum tc_table)i)->name);
        if (!a->wanted[i] && access(path, F_OK) == 0) {
            tc_say("export",
                   "%s is of an earlier export and would be in no manifest; export all tables, or "
                   "to another directory",
                   path);
            return false;
        }
    }
    return true;
}

static void report(struct tc_grow *g, const struct tc_snapshot_table *t, bool json)
{
    const char *name = tc_table_info(t->table)->name;
    char line[160];
    if (json) {
        struct tc_json_out j = tc_json_object_grow(g);
        tc_json_put_cstr(&j, "table", name);
        tc_json_put_u64(&j, "rows", t->rows);
        tc_json_put_u64(&j, "bytes", t->bytes);
        tc_json_put_digest(&j, "digest", &t->digest);
        (void)tc_json_end_line(&j);
        return;
    }
    (void)snprintf(line, sizeof line, "%-24s %12llu rows %14llu bytes\n", name,
                   (unsigned long long)t->rows, (unsigned long long)t->bytes);
    tc_grow_str(g, tc_slice_cstr(line));
}

/* All tables as of one moment. */
static tc_status export_all(struct tc_warehouse *w, const char *dir,
                            struct tc_snapshot_table *tables, size_t count, struct tc_error *err)
{
    int64_t now_us = tc_wall_ns() / 1000;
    TC_TRY(tc_warehouse_begin(w, err));
    tc_status status = tc_snapshot_write(w, dir, tables, count, now_us, TC_EMPTY, err);
    tc_warehouse_rollback(w);
    return status;
}

static int act(const struct asked *a)
{
    struct tc_snapshot_table tables[TC_TABLE_COUNT];
    size_t count = choose(a, tables);
    char data_dir[TC_DATA_PATH_BYTES];
    char dir[PATH_MAX];
    struct tc_error err = {0};
    struct tc_grow g = {0};
    if (!tc_data_dir_of("export", a->data_dir, data_dir)) {
        return TC_EXIT_BAD;
    }
    struct tc_warehouse *w = tc_data_open("export", data_dir, TC_WAREHOUSE_READ);
    if (w == NULL) {
        return TC_EXIT_BAD;
    }
    int code = TC_EXIT_BAD;
    tc_status status = tc_snapshot_make_dir(a->parquet, &err);
    if (status == TC_OK && realpath(a->parquet, dir) == NULL) {
        status = tc_fail(&err, TC_E_IO, 0, "%s cannot be used", a->parquet);
    }
    if (status == TC_OK && is_alone(dir, a) && (a->force || is_clear(dir, tables, count))) {
        status = export_all(w, dir, tables, count, &err);
        for (size_t i = 0; i < count && status == TC_OK; i++) {
            report(&g, &tables[i], a->json);
        }
        code = status == TC_OK ? tc_output_grown("export", &g, TC_EXIT_OK) : TC_EXIT_BAD;
    }
    if (status != TC_OK) {
        tc_say("export", "%s", err.message);
    }
    tc_grow_fini(&g);
    tc_warehouse_close(w);
    return code;
}

static int run(int argc, char **argv)
{
    struct asked a = {0};
    int code = tc_options_read(&tc_command_export, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (a.parquet == NULL || argc > optind) {
        return tc_command_refuse(&tc_command_export, "where to? tracecore export --parquet DIR");
    }
    return act(&a);
}

const struct tc_command tc_command_export = {
    .name = "export",
    .summary = "write the tables to Parquet files",
    .usage = "usage: tracecore export --parquet DIR [--table TABLE]... [--force] [--json]\n"
             "\n"
             "Writes each table to DIR/<table>.parquet (zstd), all as of one moment, and\n"
             "DIR/manifest.json with rows, bytes and SHA-256 of each. Any tool that reads\n"
             "Parquet can take it from there. Prints what was written.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  done\n"
             "  2  wrong usage, there is no database, or files are there already\n"
             "\n"
             "Examples:\n"
             "  tracecore export --parquet /backup/tables\n"
             "  tracecore export --parquet out --table benchmark_run_fact --force\n",
    .run = run,
};
