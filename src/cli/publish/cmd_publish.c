/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/publish/publish.h"

#include <string.h>

static const struct tc_option OPTIONS[] = {
    TC_TEXT("metric", "NAME", struct tc_publish_args, metric,
            "What is published: a column of the outcomes, as ttft_p99_ms. Of --query: what its "
            "values are."),
    TC_TEXT("point", "WORDS", struct tc_publish_args, point,
            "Where it was measured, if at several points: words of it, as \"concurrency=64\"."),
    TC_TEXT("definition", "ID", struct tc_publish_args, definition,
            "Whose definition, if the runs have values of several: vllm:p99_ttft_ms."),
    TC_TEXT("query", "SQL", struct tc_publish_args, query,
            "Instead of a group: a query that gives run_id and value."),
    TC_TEXT("unit", "UNIT", struct tc_publish_args, unit, "--query: the unit of its values."),
    TC_TEXT("report-row", "WORDS", struct tc_publish_args, report_row,
            "Where the number stands, in words. Default: group, metric and point."),
    TC_TEXT("unstable", "REASON", struct tc_publish_args, unstable,
            "Publish it although conditions are not met, with the statement that it is unstable "
            "or not representative, and why."),
    TC_FLAG("dry-run", struct tc_publish_args, dry_run,
            "Judge it and recompute it, and publish nothing.", .letter = 'n'),
    TC_TEXT("reason", "WORDS", struct tc_publish_args, reason, "retract: why."),
    TC_TEXT("output", "DIR", struct tc_publish_args, output,
            "export: the directory to make, for `tracecore verify`.", .letter = 'o'),
    TC_FLAG("all", struct tc_publish_args, all, "list: also what was retracted."),
    TC_TEXT("data-dir", "DIR", struct tc_publish_args, data_dir, TC_DATA_DIR_HELP),
    TC_FLAG("json", struct tc_publish_args, json, "JSON: one object, of list one a line."),
};

static int refuse(const char *what)
{
    return tc_command_refuse(&tc_command_publish, "%s", what);
}

static int act(int argc, char **argv, const struct tc_publish_args *args)
{
    const char *word = argc > 0 ? argv[0] : "";
    bool is_list = strcmp(word, "list") == 0;
    bool is_retract = strcmp(word, "retract") == 0;
    bool is_export = strcmp(word, "export") == 0;
    if (is_list && argc == 1) {
        return tc_publish_list(args);
    }
    if (is_retract) {
        return argc != 2 || args->reason == NULL ? refuse("retract ID --reason WORDS")
                                                 : tc_publish_take_back(args, argv[1]);
    }
    if (is_export) {
        return argc != 2 || args->output == NULL ? refuse("export ID --output DIR")
                                                 : tc_publish_export(args, argv[1]);
    }
    if (args->metric == NULL) {
        return refuse("publish what? give --metric NAME");
    }
    if (argc > 1 || (argc == 1) == (args->query != NULL)) {
        return refuse("of which runs? give one GROUP (a run, a replicate group, a name or a "
                      "condition), or --query SQL");
    }
    if (args->unstable != NULL && args->unstable[0] == '\0') {
        return refuse("--unstable: say why");
    }
    if (args->query == NULL && args->unit != NULL) {
        return refuse("--unit goes with --query: the metric of a group has its own");
    }
    return tc_publish_number(args, argc == 1 ? argv[0] : NULL);
}

static int run(int argc, char **argv)
{
    struct tc_publish_args args = {0};
    int code = tc_options_read(&tc_command_publish, argc, argv, &args);
    return code == TC_GO_ON ? act(argc - optind, argv + optind, &args) : code;
}

const struct tc_command tc_command_publish = {
    .name = "publish",
    .summary = "turn a result into a published number, if it may be",
    .usage = "usage: tracecore publish GROUP --metric NAME [--point WORDS]\n"
             "         [--report-row WORDS] [--unstable REASON] [--dry-run] [--json]\n"
             "       tracecore publish --query SQL --metric NAME [--unit UNIT] ...\n"
             "       tracecore publish list [--all] [--json]\n"
             "       tracecore publish retract ID --reason WORDS\n"
             "       tracecore publish export ID --output DIR\n"
             "\n"
             "The number is the median of one value per run. It is published if the runs have\n"
             "a valid contract and meet its conditions, if they are enough, if their files are\n"
             "what was stored, and if these files give the same number again. What is not met\n"
             "is named. The query, its digest and the digests of all that the number stands on\n"
             "go into the audit log, and `tracecore lineage` finds the way back.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  published, or already there\n"
             "  1  refused: a condition is not met; list: the audit log is broken; export: the\n"
             "     number is not publication-safe\n"
             "  2  wrong usage, no such runs or number, or it failed; nothing was published\n"
             "\n"
             "Examples:\n"
             "  tracecore publish nightly --metric ttft_p99_ms --point concurrency=64 -n\n"
             "  tracecore publish nightly --metric output_token_throughput \\\n"
             "    --unstable \"two replicates of three\"\n"
             "  tracecore publish retract num-0123456789abcdef --reason \"wrong image\"\n"
             "  tracecore publish export num-0123456789abcdef -o packet\n",
    .words = "list retract export",
    .run = run,
};
