/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/data.h"
#include "cli/run/run.h"
#include "cli/say.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPT_CONTRACT,
    OPT_RESULT,
    OPT_TELEMETRY,
    OPT_ARTIFACT,
    OPT_FORMAT,
    OPT_RUN_ID,
    OPT_NAME,
    OPT_GROUP,
    OPT_SCHEDULER_RUN_ID,
    OPT_JOB_UID,
    OPT_INTENT,
    OPT_FORCE,
    OPT_DRY_RUN,
    OPT_CLASS,
    OPT_SINCE,
    OPT_LIMIT,
    OPT_DATA_DIR,
    OPT_JSON,
    OPT_QUIET,
    OPT_COUNT,
};

static const struct tc_option OPTIONS[OPT_COUNT] = {
    [OPT_CONTRACT] = {.name = "contract",
                      .argument = "FILE",
                      .help = "add: the run's contract (BenchmarkRun YAML). Without one the run is "
                              "exploratory and never published.",
                      .letter = 'c'},
    [OPT_RESULT] = {.name = "result",
                    .argument = "FILE",
                    .help = "add: what a benchmark tool wrote, or a directory of it. May be given "
                            "again; files behind it are results too.",
                    .letter = 'r'},
    [OPT_TELEMETRY] = {.name = "telemetry",
                       .argument = "FILE",
                       .help = "add: metrics of the time of the run: Prometheus text, OTLP. May be "
                               "given again.",
                       .letter = 't'},
    [OPT_ARTIFACT] = {.name = "artifact",
                      .argument = "FILE",
                      .help = "add: any other file to keep with the run. May be given again.",
                      .letter = 'a'},
    [OPT_FORMAT] = {.name = "format",
                    .argument = "READER",
                    .help = "add, read: the reader for every result file; recognised from content "
                            "unless given."},
    [OPT_RUN_ID] = {.name = "run-id",
                    .argument = "ID",
                    .help = "add: the run's id; from the digest of its files unless given."},
    [OPT_NAME] = {.name = "name",
                  .argument = "NAME",
                  .help = "add: the name of a run without a contract. list: runs of this name."},
    [OPT_GROUP] = {.name = "replicate-group",
                   .argument = "GROUP",
                   .help = "add: the runs that it repeats; those of the same case unless given."},
    [OPT_SCHEDULER_RUN_ID] = {.name = "scheduler-run-id",
                              .argument = "ID",
                              .help = "add: the scheduler's name for it."},
    [OPT_JOB_UID] = {.name = "job-uid", .argument = "UID", .help = "add: the uid of its job."},
    [OPT_INTENT] = {.name = "intent",
                    .argument = "TEXT",
                    .help = "add: why it was run, in a sentence."},
    [OPT_FORCE] = {.name = "force",
                   .help = "add: record contradictions in the files as warnings. The run is not "
                           "publishable then."},
    [OPT_DRY_RUN] = {.name = "dry-run",
                     .help = "add: read and check everything, write nothing.",
                     .letter = 'n'},
    [OPT_CLASS] = {.name = "class",
                   .argument = "CLASS",
                   .help = "list: publication_grade, realism_grade or exploratory."},
    [OPT_SINCE] = {.name = "since",
                   .argument = "TIME",
                   .help = "list: what was added from then on: 2026-11-15T03:00:00Z, or how long "
                           "ago: 90s, 15m, 2h, 3d."},
    [OPT_LIMIT] = {.name = "limit",
                   .argument = "N",
                   .help = "list: at most so many; 50 unless given, 0 for all."},
    [OPT_DATA_DIR] = {.name = "data-dir", .argument = "DIR", .help = TC_DATA_DIR_HELP},
    [OPT_JSON] = {.name = "json", .help = "JSON instead of text."},
    [OPT_QUIET] = {.name = "quiet", .help = "No progress and no warnings.", .letter = 'q'},
};

struct action {
    const char *name;
    int (*run)(const struct tc_run_args *args);
    size_t words_min;
    size_t words_max;
    const char *synopsis;
};

static const struct action ACTIONS[] = {
    {"add", tc_run_add, 0, SIZE_MAX, "run add --result FILE"},
    {"list", tc_run_list, 0, 0, "run list"},
    {"show", tc_run_show, 1, 1, "run show RUN"},
    {"diff", tc_run_diff, 2, 2, "run diff A B"},
    {"read", tc_run_read, 1, SIZE_MAX, "run read FILE"},
};
#define ACTION_COUNT TC_COUNT(ACTIONS)

static const struct action *find_action(const char *word)
{
    const struct action *nearest = NULL;
    size_t least = 3;
    for (size_t n = 0; n < ACTION_COUNT; n++) {
        size_t distance = tc_slice_distance(tc_slice_cstr(word), tc_slice_cstr(ACTIONS[n].name));
        if (distance == 0) {
            return &ACTIONS[n];
        }
        if (distance < least) {
            least = distance;
            nearest = &ACTIONS[n];
        }
    }
    if (nearest != NULL && word[0] != '\0') {
        tc_say("run", "\"%s\" is no action; did you mean \"%s\"?", word, nearest->name);
    } else {
        tc_say("run", "what is to be done? tracecore run add, list, show, diff or read");
    }
    return NULL;
}

/* One text option, by its index; NULL: it is none of them. */
static const char **text_option(struct tc_run_args *args, int option)
{
    switch (option) {
    case OPT_FORMAT:
        return &args->format;
    case OPT_RUN_ID:
        return &args->run_id;
    case OPT_NAME:
        return &args->name;
    case OPT_GROUP:
        return &args->replicate_group;
    case OPT_SCHEDULER_RUN_ID:
        return &args->scheduler_run_id;
    case OPT_JOB_UID:
        return &args->job_uid;
    case OPT_INTENT:
        return &args->intent;
    case OPT_CLASS:
        return &args->benchmark_class;
    case OPT_SINCE:
        return &args->since;
    case OPT_LIMIT:
        return &args->limit;
    case OPT_DATA_DIR:
        return &args->data_dir;
    default:
        return NULL;
    }
}

static bool file_option(int option, enum tc_role *out)
{
    switch (option) {
    case OPT_CONTRACT:
        *out = TC_ROLE_CONTRACT;
        return true;
    case OPT_RESULT:
        *out = TC_ROLE_RESULT;
        return true;
    case OPT_TELEMETRY:
        *out = TC_ROLE_TELEMETRY;
        return true;
    case OPT_ARTIFACT:
        *out = TC_ROLE_ARTIFACT;
        return true;
    default:
        return false;
    }
}

/* What the walk over the arguments collects; there is room for as many as there are arguments. */
struct collected {
    struct tc_run_args args;
    char **words;      /* the action first */
    enum tc_role role; /* of words: that of the option before them */
};

static void take_word(struct collected *c, char *word)
{
    bool is_first = c->args.word_count == 0;
    c->words[c->args.word_count++] = word;
    if (!is_first && strcmp(c->words[0], "add") == 0) {
        c->args.paths[c->args.path_count++] = (struct tc_run_path){c->role, word};
    }
}

static void take_option(struct collected *c, int option, const char *value)
{
    const char **text = text_option(&c->args, option);
    enum tc_role role;
    c->role = TC_ROLE_RESULT;
    if (file_option(option, &role)) {
        c->args.paths[c->args.path_count++] = (struct tc_run_path){role, value};
        /* A shell makes many files of one pattern; a contract stays one. */
        c->role = role == TC_ROLE_CONTRACT ? TC_ROLE_RESULT : role;
    } else if (text != NULL) {
        *text = value;
    }
    c->args.force |= option == OPT_FORCE;
    c->args.dry_run |= option == OPT_DRY_RUN;
    c->args.json |= option == OPT_JSON;
    c->args.quiet |= option == OPT_QUIET;
}

static int act(struct collected *c)
{
    const struct action *action = find_action(c->args.word_count > 0 ? c->words[0] : "");
    if (action == NULL) {
        return tc_command_misused(&tc_command_run);
    }
    c->args.words = c->words + 1;
    c->args.word_count--;
    if (c->args.word_count < action->words_min || c->args.word_count > action->words_max) {
        tc_say("run", "%s: tracecore %s",
               c->args.word_count < action->words_min ? "something is missing" : "that is too much",
               action->synopsis);
        return tc_command_misused(&tc_command_run);
    }
    return action->run(&c->args);
}

static int walk(int argc, char **argv, struct collected *c)
{
    struct tc_option_walk walk;
    const char *value = NULL;
    tc_option_walk_init(&walk, &tc_command_run, argc, argv);
    tc_option_walk_in_order(&walk);
    for (int option; (option = tc_option_next(&walk, &value)) != TC_OPTION_END;) {
        if (option == TC_OPTION_HELP) {
            return tc_command_show_help(&tc_command_run);
        }
        if (option == TC_OPTION_BAD) {
            return TC_EXIT_BAD;
        }
        if (option == TC_OPTION_WORD) {
            take_word(c, (char *)(uintptr_t)value);
        } else {
            take_option(c, option, value);
        }
    }
    for (int n = optind; n < argc; n++) {
        take_word(c, argv[n]);
    }
    return act(c);
}

static int run(int argc, char **argv)
{
    struct collected c = {.role = TC_ROLE_RESULT};
    size_t room = (size_t)argc + 1;
    c.args.paths = calloc(room, sizeof *c.args.paths);
    c.words = calloc(room, sizeof *c.words);
    int code = TC_EXIT_BAD;
    if (c.args.paths == NULL || c.words == NULL) {
        tc_say("run", "no memory for the arguments");
    } else {
        code = walk(argc, argv, &c);
    }
    free(c.args.paths);
    free(c.words);
    return code;
}

const struct tc_command tc_command_run = {
    .name = "run",
    .summary = "add benchmark runs to the warehouse, list, show and compare them",
    .usage = "usage: tracecore run add [--contract FILE] --result FILE...\n"
             "                         [--telemetry FILE...] [--artifact FILE...] [options]\n"
             "       tracecore run list [--name NAME] [--class CLASS] [--since TIME]\n"
             "       tracecore run show RUN\n"
             "       tracecore run diff A B\n"
             "       tracecore run read FILE...\n"
             "\n"
             "add takes a run from the files that benchmark tools wrote. Everything is read\n"
             "and checked first; then every file is kept as evidence and all rows are written,\n"
             "or nothing is. The same files again change nothing. RUN is an id, a name, or the\n"
             "start of one. diff says what differs between two runs; it is no statistical\n"
             "comparison. read prints what a file would give, and stores nothing.\n",
    .options = OPTIONS,
    .option_count = OPT_COUNT,
    .notes = "Exit status:\n"
             "  0  done; add: added, or already there\n"
             "  1  add: the contract or a file is not acceptable; nothing was added\n"
             "  2  wrong usage, something cannot be read or written, or there is no such run\n"
             "\n"
             "Examples:\n"
             "  tracecore run add --contract run.yaml --result bench/*.json\n"
             "  tracecore run add results/ --telemetry metrics.prom --name nightly\n"
             "  tracecore run list --since 7d\n"
             "  tracecore run show run-9f86d081\n"
             "  tracecore run diff run-9f86d081 run-60303ae2\n",
    .words = "add list show diff read",
    .run = run,
};
