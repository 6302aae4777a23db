/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/rebuild/rebuild.h"
#include "cli/run/run.h"

#include <stdarg.h>
#include <stdio.h>

#define NOTE_BYTES 1024

void tc_rebuild_note(struct tc_rebuild *r, const char *format, ...)
{
    char line[NOTE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *p = line; *p != '\0'; p++) {
        *p = *p == '\n' ? ' ' : *p;
    }
    tc_grow_str(&r->notes, tc_slice_cstr(line));
    tc_grow_lit(&r->notes, "\n");
}

tc_status tc_rebuild_nomem(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the rebuild; nothing was changed");
}

/* ---- the steps ---- */

/* Bundles and definitions that only runs without evidence have brought. */
static tc_status copy_dimensions(struct tc_rebuild *r, struct tc_error *err)
{
    static const enum tc_table tables[] = {TC_TABLE_SOFTWARE, TC_TABLE_HARDWARE, TC_TABLE_CLUSTER,
                                           TC_TABLE_WORKLOAD, TC_TABLE_DEFINITION};
    for (size_t i = 0; r->has_gone && i < TC_COUNT(tables); i++) {
        TC_TRY(tc_rebuild_copy_unknown(r, tables[i], tc_table_info(tables[i])->columns[0].name,
                                       NULL, err));
    }
    return TC_OK;
}

static tc_status build(struct tc_rebuild *r, struct tc_error *err)
{
    /* First: it decides what is kept. */
    TC_TRY(tc_rebuild_published(r, err));
    TC_TRY(tc_rebuild_runs(r, err));
    TC_TRY(tc_rebuild_verdicts(r, err));
    TC_TRY(tc_rebuild_evidence(r, err));
    TC_TRY(tc_rebuild_forget(r, err));
    TC_TRY(copy_dimensions(r, err));
    if (r->ledger_damaged > 0) {
        tc_rebuild_note(r, "%llu lines of the ledger are damaged, and left out",
                        (unsigned long long)r->ledger_damaged);
    }
    TC_TRY(tc_rebuild_compare(r, err));
    return r->args->dry_run ? TC_OK : tc_rebuild_swap(r, err);
}

/* ---- the command ---- */

static int act(struct tc_rebuild *r)
{
    struct tc_error err = {0};
    struct tc_grow g = {0};
    r->parser = tc_json_parser_create();
    tc_progress_init(&r->progress, !r->args->quiet, 0, 0);
    tc_status status = r->parser == NULL ? tc_rebuild_nomem(&err) : tc_rebuild_begin(r, &err);
    status = status == TC_OK ? build(r, &err) : status;
    tc_progress_clear(&r->progress);
    tc_rebuild_end(r);
    int code = TC_EXIT_BAD;
    if (status == TC_OK && r->notes.failed) {
        g.failed = true;
    } else if (status == TC_OK) {
        tc_rebuild_report(r, &g);
        code = tc_rebuild_is_same(r) && r->runs_lost == 0 ? TC_EXIT_OK : TC_EXIT_FOUND;
    }
    if (status != TC_OK) {
        tc_say("rebuild", "%s", err.message);
        tc_grow_fini(&g);
    } else {
        code = tc_output_grown("rebuild", &g, code);
    }
    tc_json_parser_destroy(r->parser);
    tc_grow_fini(&r->notes);
    return code;
}

static const struct tc_option OPTIONS[] = {
    TC_FLAG("dry-run", struct tc_rebuild_args, dry_run,
            "Make the new database, compare, and throw it away.", .letter = 'n'),
    TC_TEXT("into", "FILE", struct tc_rebuild_args, into,
            "Leave the new database in FILE, which is not there yet; the old one stays in place."),
    TC_FLAG("drop-old", struct tc_rebuild_args, drop_old,
            "Do not keep the old database beside the new one."),
    TC_TEXT("data-dir", "DIR", struct tc_rebuild_args, data_dir, TC_DATA_DIR_HELP),
    TC_FLAG("json", struct tc_rebuild_args, json, "One JSON object."),
    TC_FLAG("quiet", struct tc_rebuild_args, quiet, "No progress.", .letter = 'q'),
};

static int run(int argc, char **argv)
{
    static struct tc_rebuild r;
    struct tc_rebuild_args args = {0};
    int code = tc_options_read(&tc_command_rebuild, argc, argv, &args);
    if (code != TC_GO_ON) {
        return code;
    }
    if (argc > optind) {
        return tc_command_refuse(&tc_command_rebuild, "it takes no arguments but options");
    }
    if (args.into != NULL && (args.dry_run || args.drop_old)) {
        return tc_command_refuse(&tc_command_rebuild,
                                 "--into leaves the old database alone; it does not go with %s",
                                 args.dry_run ? "--dry-run" : "--drop-old");
    }
    r = (struct tc_rebuild){.args = &args,
                            .now_ns = tc_wall_ns(),
                            .lock_fd = -1,
                            .runs_fd = -1,
                            .hot_before_us = INT64_MIN,
                            .verdicts_before_us = INT64_MIN};
    if (tc_data_is_elsewhere("rebuild", "only a warehouse in data_dir is rebuilt: migrate to the "
                                        "data_dir, rebuild there, and migrate to an empty "
                                        "database")) {
        return TC_EXIT_BAD;
    }
    return tc_data_dir_of("rebuild", args.data_dir, r.dir) ? act(&r) : TC_EXIT_BAD;
}

const struct tc_command tc_command_rebuild = {
    .name = "rebuild",
    .summary = "make the tables anew from the evidence",
    .usage = "usage: tracecore rebuild [--dry-run | --into FILE] [--drop-old] [--json]\n"
             "\n"
             "Makes a new warehouse.duckdb from what data_dir holds: runs from their files and\n"
             "the ledger, verdicts from the ledger, published numbers from the audit log, slices\n"
             "of metrics from the evidence. What nothing else holds (rows whose evidence was\n"
             "removed for its age) is copied from the old database, if that can be read. Then\n"
             "both are compared table by table, every column, and the new one takes the old\n"
             "one's place. The old one is kept as warehouse.duckdb.before-rebuild-TIME.\n"
             "\n"
             "For a database that `tracecore evidence verify` finds damaged, or that is gone.\n"
             "Stop the daemon first. Interrupted at any point, the old database is as it was,\n"
             "and the next call begins anew.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Columns of the table: missing, rows that the old database lacked; extra, rows\n"
             "that it had and nothing proves; differing, rows with other values; copied, rows\n"
             "of the new one that come from the old one.\n"
             "\n"
             "Exit status:\n"
             "  0  the tables were as the evidence says\n"
             "  1  they were not, and are now (with --dry-run: they are not)\n"
             "  2  wrong usage, a daemon is at work, or it failed; nothing was changed\n"
             "\n"
             "Examples:\n"
             "  tracecore rebuild --dry-run\n"
             "  tracecore rebuild --data-dir /var/lib/tracecore\n"
             "  tracecore rebuild --into /tmp/warehouse.duckdb\n",
    .run = run,
};
