/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/contract/contract.h"
#include "cli/say.h"

#include <string.h>

enum { CHECK = 1, INIT = 2, EXPLAIN = 4 };

enum {
    OPT_STRICT,
    OPT_JSON,
    OPT_MARKDOWN,
    OPT_OUTPUT,
    OPT_FORCE,
    OPT_OVERRIDES,
    OPT_FIELDS,
    OPT_COUNT = OPT_FIELDS + TC_FIELD_COUNT
};

static const struct tc_option OPTIONS[OPT_COUNT] = {
    [OPT_STRICT] = {.name = "strict",
                    .help = "check: also what the original lets pass: fixed values that are not "
                            "the workload's, weights that do not sum to 1, unknown and double "
                            "keys, booleans for integers, and more."},
    [OPT_JSON] = {.name = "json",
                  .help = "check: one JSON object a file, on one line. init: the YAML and the "
                          "values it was made with as one JSON object."},
    [OPT_MARKDOWN] = {.name = "markdown",
                      .help = "explain: the table of docs/contract.md instead."},
    [OPT_OUTPUT] = {.name = "output",
                    .letter = 'o',
                    .argument = "FILE",
                    .help = "init: write it there. A file that is there is kept, unless --force."},
    [OPT_FORCE] = {.name = "force", .help = "init: replace the file."},
    [OPT_OVERRIDES] = {.name = "overrides-json",
                       .argument = "OBJECT",
                       .help = "init: fields by the names of the original's generator: "
                               "{\"benchmarkClass\": \"realism_grade\"}. Blank ones are left as "
                               "they are; an option of the same field wins."},
    [OPT_FIELDS +
        TC_FIELD_NAME] = {.name = "name", .argument = "NAME", .help = "init: metadata.name."},
    [OPT_FIELDS + TC_FIELD_CLASS] = {.name = "class",
                                     .argument = "CLASS",
                                     .help = "init: publication_grade or realism_grade."},
    [OPT_FIELDS + TC_FIELD_TYPE] = {.name = "workload-type",
                                    .argument = "TYPE",
                                    .help = "init: training, inference or mixed."},
    [OPT_FIELDS + TC_FIELD_SCHEDULER_PATH] = {.name = "scheduler-path",
                                              .argument = "PATH",
                                              .help = "init: such as slinky-kueue."},
    [OPT_FIELDS + TC_FIELD_CADENCE] = {.name = "cadence",
                                       .argument = "CADENCE",
                                       .help = "init: canary, nightly, pre_release or adhoc."},
    [OPT_FIELDS +
        TC_FIELD_MODEL] = {.name = "model", .argument = "MODEL", .help = "init: the model."},
    [OPT_FIELDS + TC_FIELD_PRECISION] = {.name = "precision",
                                         .argument = "FORMAT",
                                         .help = "init: such as bf16."},
    [OPT_FIELDS + TC_FIELD_BATCHING] = {.name = "batching-policy",
                                        .argument = "POLICY",
                                        .help = "init: such as continuous."},
    [OPT_FIELDS + TC_FIELD_CONCURRENCY] = {.name = "concurrency-model",
                                           .argument = "MODEL",
                                           .help = "init: such as closed_loop."},
    [OPT_FIELDS + TC_FIELD_VARIABLE] = {.name = "variable",
                                        .argument = "VARIABLE",
                                        .help = "init: what differs: hardware_generation, "
                                                "runtime_version, scheduler_path, "
                                                "control_plane_path, driver_stack, "
                                                "network_topology or storage_stack."},
};

/* Which actions an option is for. */
static unsigned actions_of(int option)
{
    switch (option) {
    case OPT_STRICT:
        return CHECK;
    case OPT_JSON:
        return CHECK | INIT;
    case OPT_MARKDOWN:
        return EXPLAIN;
    default:
        return INIT;
    }
}

static int act(int argc, char **argv, struct tc_contract_args *args, int wrong_option,
               unsigned action)
{
    if (wrong_option >= 0) {
        tc_say("contract", "--%s is not for %s", OPTIONS[wrong_option].name, argv[0]);
        return tc_command_misused(&tc_command_contract);
    }
    if (action == CHECK && argc > 1) {
        return tc_contract_run_check(args, argv + 1, (size_t)argc - 1);
    }
    if (action == CHECK) {
        tc_say("contract", "which file is to be checked? - is standard input");
        return tc_command_misused(&tc_command_contract);
    }
    if (argc > (action == EXPLAIN ? 2 : 1)) {
        tc_say("contract", "%s",
               action == EXPLAIN ? "one field can be explained" : "init takes no file; -o FILE");
        return tc_command_misused(&tc_command_contract);
    }
    return action == INIT ? tc_contract_run_init(args)
                          : tc_contract_run_explain(args, argc == 2 ? argv[1] : "");
}

static int run_action(int argc, char **argv, struct tc_contract_args *args, const bool *given)
{
    const char *what = argc > 0 ? argv[0] : "";
    unsigned action = strcmp(what, "check") == 0     ? CHECK
                      : strcmp(what, "init") == 0    ? INIT
                      : strcmp(what, "explain") == 0 ? EXPLAIN
                                                     : 0;
    if (action == 0) {
        tc_say("contract", "what is to be done? check, init or explain");
        return tc_command_misused(&tc_command_contract);
    }
    int wrong_option = -1;
    for (int i = 0; i < OPT_COUNT; i++) {
        if (given[i] && (actions_of(i) & action) == 0) {
            wrong_option = i;
        }
    }
    return act(argc, argv, args, wrong_option, action);
}

static int run(int argc, char **argv)
{
    struct tc_option_walk walk;
    const char *value = NULL;
    struct tc_contract_args args = {0};
    bool given[OPT_COUNT] = {false};
    tc_option_walk_init(&walk, &tc_command_contract, argc, argv);
    for (int option; (option = tc_option_next(&walk, &value)) != TC_OPTION_END;) {
        if (option == TC_OPTION_HELP) {
            return tc_command_show_help(&tc_command_contract);
        }
        if (option == TC_OPTION_BAD) {
            return TC_EXIT_BAD;
        }
        given[option] = true;
        args.strict |= option == OPT_STRICT;
        args.json |= option == OPT_JSON;
        args.markdown |= option == OPT_MARKDOWN;
        args.force |= option == OPT_FORCE;
        args.output = option == OPT_OUTPUT ? value : args.output;
        args.overrides = option == OPT_OVERRIDES ? value : args.overrides;
        if (option >= OPT_FIELDS) {
            args.fields[option - OPT_FIELDS] = value;
        }
    }
    return run_action(argc - optind, argv + optind, &args, given);
}

const struct tc_command tc_command_contract = {
    .name = "contract",
    .summary = "check, write and explain the contract of a benchmark run",
    .usage = "usage: tracecore contract check [--strict] [--json] FILE...\n"
             "       tracecore contract init [-o FILE] [--class CLASS] [--workload-type TYPE]\n"
             "       tracecore contract explain [PATH]\n"
             "\n"
             "A contract (kind: BenchmarkRun) says what is run, what is held fixed, how often,\n"
             "and what is kept. check tells every violation in one go as\n"
             "FILE:LINE:COLUMN: path: message (- is standard input). init writes a complete\n"
             "contract. explain says what a field is for, its rules and an example: of a\n"
             "path, of all below it, or without PATH of all. docs/contract.md has the same\n"
             "as a page.\n",
    .options = OPTIONS,
    .option_count = OPT_COUNT,
    .notes = "Exit status:\n"
             "  0  valid, or done\n"
             "  1  check: a contract is not valid\n"
             "  2  wrong usage, a file cannot be read or is no YAML\n"
             "\n"
             "Examples:\n"
             "  tracecore contract init --workload-type training -o run.yaml\n"
             "  tracecore contract check --strict run.yaml\n"
             "  tracecore contract explain spec.trials\n",
    .words = "check init explain",
    .run = run,
};
