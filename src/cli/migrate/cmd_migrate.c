/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/migrate/migrate.h"
#include "cli/output/say.h"

#define BATCH_DEFAULT 250000
#define BATCH_MAX 10000000

static int act(struct tc_migrate *m)
{
    struct tc_error err = {0};
    struct tc_grow g = {0};
    int code = TC_EXIT_BAD;
    tc_status status = tc_migrate_open(m, &err);
    status = status == TC_OK ? tc_migrate_do(m, &err) : status;
    tc_progress_clear(&m->progress);
    if (status == TC_OK) {
        tc_migrate_report(m, &g);
        code = tc_output_grown("migrate", &g, tc_migrate_is_same(m) ? TC_EXIT_OK : TC_EXIT_FOUND);
    } else {
        tc_say("migrate", "%s", err.message);
    }
    tc_migrate_close(m);
    return code;
}

static const struct tc_option OPTIONS[] = {
    TC_TEXT("from", "WAREHOUSE", struct tc_migrate_args, from,
            "Where the rows are: a data_dir, or clickhouse://user@host/database."),
    TC_TEXT("to", "WAREHOUSE", struct tc_migrate_args, to,
            "Where they go, in the same words: one that is empty, or that an earlier call has "
            "begun to fill."),
    TC_TEXT("batch", "ROWS", struct tc_migrate_args, batch,
            "Rows of one transaction, at least those of a minute. Default: 250000."),
    TC_FLAG("json", struct tc_migrate_args, json, "One JSON object."),
    TC_FLAG("quiet", struct tc_migrate_args, quiet, "No progress.", .letter = 'q'),
};

static int run(int argc, char **argv)
{
    static struct tc_migrate m;
    struct tc_migrate_args args = {0};
    int code = tc_options_read(&tc_command_migrate, argc, argv, &args);
    if (code != TC_GO_ON) {
        return code;
    }
    if (argc > optind) {
        return tc_command_refuse(&tc_command_migrate, "it takes no arguments but options");
    }
    if (args.from == NULL || args.to == NULL || args.from[0] == '\0' || args.to[0] == '\0') {
        return tc_command_refuse(&tc_command_migrate, "from where to where? --from and --to");
    }
    m = (struct tc_migrate){.args = &args,
                            .batch = BATCH_DEFAULT,
                            .source = {.name = args.from, .lock_fd = -1, .runs_fd = -1},
                            .target = {.name = args.to, .lock_fd = -1, .runs_fd = -1}};
    if (args.batch != NULL && (!tc_slice_is_u64(tc_slice_cstr(args.batch), &m.batch) ||
                               m.batch == 0 || m.batch > BATCH_MAX)) {
        return tc_command_refuse(&tc_command_migrate,
                                 "--batch takes rows, from 1 to %d, not \"%s\"", BATCH_MAX,
                                 args.batch);
    }
    return act(&m);
}

const struct tc_command tc_command_migrate = {
    .name = "migrate",
    .summary = "move the tables to another warehouse",
    .usage = "usage: tracecore migrate --from WAREHOUSE --to WAREHOUSE [--batch ROWS] [--json]\n"
             "\n"
             "Copies all rows of all tables from one warehouse to another: from DuckDB in a\n"
             "data_dir to ClickHouse, back, or between two of a kind. Both are compared, table\n"
             "by table, by count and digest. Nothing is deleted from the first. Evidence and\n"
             "the ledger stay in data_dir.\n"
             "\n"
             "Stop the daemon first. Interrupted at any point, the same call goes on where it\n"
             "was: no row is lost or there twice.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "TRACECORE_CLICKHOUSE_PASSWORD is the password of the user, or the file that\n"
             "?password_file= names; TRACECORE_WAREHOUSE is not looked at.\n"
             "\n"
             "Exit status:\n"
             "  0  all rows are there, and the same\n"
             "  1  all rows were copied, and the two differ\n"
             "  2  wrong usage, a daemon is at work, the target holds something else, or it\n"
             "     failed\n"
             "\n"
             "Examples:\n"
             "  tracecore migrate --from /var/lib/tracecore \\\n"
             "      --to clickhouse://tracecore@ch.example:8123/telemetry\n"
             "  tracecore migrate --from clickhouse://tracecore@ch.example/telemetry \\\n"
             "      --to /backup\n",
    .run = run,
};
