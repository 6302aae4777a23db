/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/contract/contract.h"
#include "cli/output/say.h"

#include <string.h>

enum { CHECK = 1, INIT = 2, EXPLAIN = 4, LIST = 8 };

static const struct tc_option OPTIONS[] = {
    TC_FLAG(
        "strict", struct tc_contract_args, strict,
        "check: also what the original lets pass: fixed values that are not the workload's, "
        "weights that do not sum to 1, unknown and double keys, booleans for integers, and more.",
        .actions = CHECK),
    TC_FLAG("json", struct tc_contract_args, json,
            "check: one JSON object a file, on one line. init: the YAML and the values it was made "
            "with as one JSON object. list: one JSON object.",
            .actions = CHECK | INIT | LIST),
    TC_FLAG("markdown", struct tc_contract_args, markdown,
            "explain: the table of docs/contract.md instead.", .actions = EXPLAIN),
    TC_TEXT("output", "FILE", struct tc_contract_args, output,
            "init: write it there. A file that is there is kept, unless --force.", .letter = 'o',
            .actions = INIT),
    TC_FLAG("force", struct tc_contract_args, force, "init: replace the file.", .actions = INIT),
    TC_TEXT(
        "overrides-json", "OBJECT", struct tc_contract_args, overrides,
        "init: fields by the names of the original's generator: {\"benchmarkClass\": "
        "\"realism_grade\"}. Blank ones are left as they are; an option of the same field wins.",
        .actions = INIT),
    TC_TEXT("name", "NAME", struct tc_contract_args, fields[TC_FIELD_NAME], "init: metadata.name.",
            .actions = INIT),
    TC_TEXT("class", "CLASS", struct tc_contract_args, fields[TC_FIELD_CLASS],
            "init: publication_grade or realism_grade.", .actions = INIT),
    TC_TEXT("workload-type", "TYPE", struct tc_contract_args, fields[TC_FIELD_TYPE],
            "init: training, inference or mixed.", .actions = INIT),
    TC_TEXT("scheduler-path", "PATH", struct tc_contract_args, fields[TC_FIELD_SCHEDULER_PATH],
            "init: such as slinky-kueue.", .actions = INIT),
    TC_TEXT("cadence", "CADENCE", struct tc_contract_args, fields[TC_FIELD_CADENCE],
            "init: canary, nightly, pre_release or adhoc.", .actions = INIT),
    TC_TEXT("model", "MODEL", struct tc_contract_args, fields[TC_FIELD_MODEL], "init: the model.",
            .actions = INIT),
    TC_TEXT("precision", "FORMAT", struct tc_contract_args, fields[TC_FIELD_PRECISION],
            "init: such as bf16.", .actions = INIT),
    TC_TEXT("batching-policy", "POLICY", struct tc_contract_args, fields[TC_FIELD_BATCHING],
            "init: such as continuous.", .actions = INIT),
    TC_TEXT("concurrency-model", "MODEL", struct tc_contract_args, fields[TC_FIELD_CONCURRENCY],
            "init: such as closed_loop.", .actions = INIT),
    TC_TEXT("variable", "VARIABLE", struct tc_contract_args, fields[TC_FIELD_VARIABLE],
            "init: what differs: hardware_generation, runtime_version, scheduler_path, "
            "control_plane_path, driver_stack, network_topology or storage_stack.",
            .actions = INIT),
};

/* The last option of the table that was given and is for other actions; NULL: none is. */
static const struct tc_option *misplaced(const struct tc_contract_args *args, unsigned action)
{
    const struct tc_option *wrong = NULL;
    for (const struct tc_option *o = OPTIONS; o < OPTIONS + TC_COUNT(OPTIONS); o++) {
        if ((o->actions & action) == 0 && tc_option_is_given(o, args)) {
            wrong = o;
        }
    }
    return wrong;
}

static int act(int argc, char **argv, struct tc_contract_args *args, unsigned action)
{
    const struct tc_option *wrong = misplaced(args, action);
    if (wrong != NULL) {
        return tc_command_refuse(&tc_command_contract, "--%s is not for %s", wrong->name, argv[0]);
    }
    if (action == CHECK && argc > 1) {
        return tc_contract_run_check(args, argv + 1, (size_t)argc - 1);
    }
    if (action == CHECK) {
        return tc_command_refuse(&tc_command_contract,
                                 "which file is to be checked? - is standard input");
    }
    if (argc > (action == EXPLAIN ? 2 : 1)) {
        tc_say("contract", "%s",
               action == EXPLAIN ? "one field can be explained"
               : action == LIST  ? "list takes nothing"
                                 : "init takes no file; -o FILE");
        return tc_command_misused(&tc_command_contract);
    }
    if (action == LIST) {
        return tc_contract_run_list(args);
    }
    return action == INIT ? tc_contract_run_init(args)
                          : tc_contract_run_explain(args, argc == 2 ? argv[1] : "");
}

static int run_action(int argc, char **argv, struct tc_contract_args *args)
{
    const char *what = argc > 0 ? argv[0] : "";
    unsigned action = strcmp(what, "check") == 0     ? CHECK
                      : strcmp(what, "init") == 0    ? INIT
                      : strcmp(what, "explain") == 0 ? EXPLAIN
                      : strcmp(what, "list") == 0    ? LIST
                                                     : 0;
    if (action == 0) {
        return tc_command_refuse(&tc_command_contract,
                                 "what is to be done? check, init, explain or list");
    }
    return act(argc, argv, args, action);
}

static int run(int argc, char **argv)
{
    struct tc_contract_args args = {0};
    int code = tc_options_read(&tc_command_contract, argc, argv, &args);
    return code == TC_GO_ON ? run_action(argc - optind, argv + optind, &args) : code;
}

const struct tc_command tc_command_contract = {
    .name = "contract",
    .summary = "check, write and explain the contract of a benchmark run",
    .usage = "usage: tracecore contract check [--strict] [--json] FILE...\n"
             "       tracecore contract init [-o FILE] [--class CLASS] [--workload-type TYPE]\n"
             "       tracecore contract explain [PATH]\n"
             "       tracecore contract list [--json]\n"
             "\n"
             "A contract (kind: BenchmarkRun) says what is run, what is held fixed, how often,\n"
             "and what is kept. check tells every violation in one go as\n"
             "FILE:LINE:COLUMN: path: message (- is standard input). init writes a complete\n"
             "contract. explain says what a field is for, its rules and an example: of a\n"
             "path, of all below it, or without PATH of all. docs/contract.md has the same\n"
             "as a page. list says which contracts there are, and where.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  valid, or done\n"
             "  1  check: a contract is not valid\n"
             "  2  wrong usage, a file cannot be read or is no YAML\n"
             "\n"
             "Examples:\n"
             "  tracecore contract init --workload-type training -o run.yaml\n"
             "  tracecore contract check --strict run.yaml\n"
             "  tracecore contract explain spec.trials\n",
    .words = "check init explain list",
    .run = run,
};
