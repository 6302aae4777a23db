/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/data.h"
#include "cli/output/say.h"
#include "cli/run/run.h"

#include <stdlib.h>
#include <string.h>

struct tc_warehouse *tc_run_open(const struct tc_run_args *args)
{
    char dir[TC_DATA_PATH_BYTES];
    return tc_data_dir_of("run", args->data_dir, dir) ? tc_data_open("run", dir, TC_WAREHOUSE_READ)
                                                      : NULL;
}

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

/* What the options and words give; there is room for as many as there are arguments. */
struct collected {
    struct tc_run_args args;
    char **words; /* the action first */
};

/* The role of the files of an option, which has its name. */
static enum tc_role role_of(const struct tc_option *option)
{
    enum tc_role role = TC_ROLE_CONTRACT;
    while (role != TC_ROLE_ARTIFACT && strcmp(option->name, tc_role_name(role)) != 0) {
        role++;
    }
    return role;
}

static int take_file(void *args, const struct tc_option *option, const char *value)
{
    struct collected *c = args;
    c->args.paths[c->args.path_count++] = (struct tc_run_path){role_of(option), value};
    return TC_GO_ON;
}

/* --node, --pod, --job: a pod may be given by its uid. */
static int take_name(void *args, const struct tc_option *option, const char *value)
{
    struct collected *c = args;
    bool is_pod = strcmp(option->name, "pod") == 0;
    enum tc_run_name kind = is_pod && tc_run_name_is_uid(tc_slice_cstr(value)) ? TC_RUN_NAME_POD_UID
                            : is_pod                                           ? TC_RUN_NAME_POD
                            : strcmp(option->name, "job") == 0                 ? TC_RUN_NAME_JOB
                                                                               : TC_RUN_NAME_NODE;
    c->args.names[c->args.name_count++] = (struct tc_import_name){kind, value};
    return TC_GO_ON;
}

/* A shell makes many files of one pattern: a word has the role of the option before it. A contract
 * stays one. */
static void take_word(void *args, const struct tc_option *before, char *word)
{
    struct collected *c = args;
    bool is_first = c->args.word_count == 0;
    c->words[c->args.word_count++] = word;
    if (!is_first && strcmp(c->words[0], "add") == 0) {
        bool of_files = before != NULL && before->take == take_file;
        enum tc_role role = of_files ? role_of(before) : TC_ROLE_RESULT;
        c->args.paths[c->args.path_count++] =
            (struct tc_run_path){role == TC_ROLE_CONTRACT ? TC_ROLE_RESULT : role, word};
    }
}

static const struct tc_option OPTIONS[] = {
    TC_TAKEN("contract", "FILE", take_file,
             "add: the run's contract (BenchmarkRun YAML). Without one the run is exploratory and "
             "never published.",
             .letter = 'c'),
    TC_TAKEN("result", "FILE", take_file,
             "add: what a benchmark tool wrote, or a directory of it. May be given again; files "
             "behind it are results too.",
             .letter = 'r'),
    TC_TAKEN("telemetry", "FILE", take_file,
             "add: metrics of the time of the run: Prometheus text, OTLP. May be given again.",
             .letter = 't'),
    TC_TAKEN("verdicts", "FILE", take_file,
             "add: what `tracecore detect --json` printed about this run. May be given again."),
    TC_TAKEN("artifact", "FILE", take_file,
             "add: any other file to keep with the run. May be given again.", .letter = 'a'),
    TC_TEXT("format", "READER", struct collected, args.format,
            "add, read: the reader for every result file; recognised from content unless given."),
    TC_TEXT("run-id", "ID", struct collected, args.run_id,
            "add: the run's id; from the digest of its files unless given."),
    TC_TEXT("name", "NAME", struct collected, args.name,
            "add: the name of a run without a contract. list: runs of this name."),
    TC_TEXT("replicate-group", "GROUP", struct collected, args.replicate_group,
            "add: the runs that it repeats; those of the same case unless given."),
    TC_TEXT("scheduler-run-id", "ID", struct collected, args.scheduler_run_id,
            "add: the scheduler's name for it."),
    TC_TEXT("job-uid", "UID", struct collected, args.job_uid, "add: the uid of its job."),
    TC_TAKEN("node", "NAME", take_name,
             "add: a node that it ran on: what happens there in its time is tied to it. May be "
             "given again, as --pod and --job. show --slower-than: all of this node."),
    TC_TAKEN("pod", "NAME", take_name, "add: a pod of it: its uid, namespace/name, or name."),
    TC_TAKEN("job", "NAME", take_name, "add: its job, as schedulers and metrics name it."),
    TC_TEXT("intent", "TEXT", struct collected, args.intent, "add: why it was run, in a sentence."),
    TC_FLAG("again", struct collected, args.again,
            "add: a run with the same bytes as one that is there is another measurement: a new "
            "run, and a replicate."),
    TC_TEXT("gpu-hour-usd", "N", struct collected, args.gpu_hour_usd,
            "add: what one GPU costs for an hour, in US dollars; for cost per request and token. A "
            "contract may say it as spec.cost.gpuHourUsd."),
    TC_FLAG(
        "force", struct collected, args.force,
        "add: record contradictions in the files as warnings. The run is not publishable then."),
    TC_FLAG("dry-run", struct collected, args.dry_run,
            "add: read and check everything, write nothing. With --json: the rows that would be "
            "written.",
            .letter = 'n'),
    TC_TEXT("class", "CLASS", struct collected, args.benchmark_class,
            "list: publication_grade, realism_grade or exploratory."),
    TC_TEXT("slower-than", "BASE", struct collected, args.slower_than,
            "show: at which points it is slower than the base: a run, a replicate group, a name or "
            "a condition. Names the next step."),
    TC_TEXT("point", "POINT", struct collected, args.point,
            "show --slower-than: the nodes, GPUs, ranks and requests that stand out at this point: "
            "its number in the list, or words of it."),
    TC_TEXT("since", "TIME", struct collected, args.since,
            "list: what was added from then on: 2026-11-15T03:00:00Z, or how long ago: 90s, 15m, "
            "2h, 3d."),
    TC_TEXT("limit", "N", struct collected, args.limit,
            "list: at most so many; 50 unless given, 0 for all."),
    TC_TEXT("data-dir", "DIR", struct collected, args.data_dir, TC_DATA_DIR_HELP),
    TC_FLAG("json", struct collected, args.json, "JSON instead of text."),
    TC_FLAG("quiet", struct collected, args.quiet, "No progress and no warnings.", .letter = 'q'),
};

static int act(struct collected *c)
{
    const struct action *action = find_action(c->args.word_count > 0 ? c->words[0] : "");
    if (action == NULL) {
        return tc_command_misused(&tc_command_run);
    }
    c->args.words = c->words + 1;
    c->args.word_count--;
    if (c->args.word_count < action->words_min || c->args.word_count > action->words_max) {
        return tc_command_refuse(&tc_command_run, "%s: tracecore %s",
                                 c->args.word_count < action->words_min ? "something is missing"
                                                                        : "that is too much",
                                 action->synopsis);
    }
    return action->run(&c->args);
}

static int run(int argc, char **argv)
{
    struct collected c = {0};
    size_t room = (size_t)argc + 1;
    c.args.paths = calloc(room, sizeof *c.args.paths);
    c.args.names = calloc(room, sizeof *c.args.names);
    c.words = calloc(room, sizeof *c.words);
    int code = TC_EXIT_BAD;
    if (c.args.paths == NULL || c.args.names == NULL || c.words == NULL) {
        tc_say("run", "no memory for the arguments");
    } else {
        code = tc_options_read(&tc_command_run, argc, argv, &c);
        code = code == TC_GO_ON ? act(&c) : code;
    }
    free(c.args.paths);
    free(c.args.names);
    free(c.words);
    return code;
}

const struct tc_command tc_command_run = {
    .name = "run",
    .summary = "add benchmark runs to the warehouse, list, show and compare them",
    .usage = "usage: tracecore run add [--contract FILE] --result FILE...\n"
             "                         [--telemetry FILE...] [--verdicts FILE...]\n"
             "                         [--artifact FILE...] [options]\n"
             "       tracecore run list [--name NAME] [--class CLASS] [--since TIME]\n"
             "       tracecore run show RUN [--slower-than BASE [--point P] [--node N]]\n"
             "       tracecore run diff A B\n"
             "       tracecore run read FILE...\n"
             "\n"
             "add takes a run from the files that benchmark tools wrote. Everything is read\n"
             "and checked first; then every file is kept as evidence and all rows are written,\n"
             "or nothing is. The same files again change nothing. RUN is an id, a name, or the\n"
             "start of one. diff says what differs between two runs; it is no statistical\n"
             "comparison. read prints what a file would give, and stores nothing.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
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
             "  tracecore run show run-9f86d081 --slower-than nightly\n"
             "  tracecore run diff run-9f86d081 run-60303ae2\n",
    .words = "add list show diff read",
    .take_word = take_word,
    .run = run,
};
