/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore diagnose`: which scenario a run is, and which cause the evidence speaks for. */
#include "answers/analysis.h"
#include "cli/command.h"
#include "cli/data.h"
#include "cli/diagnose/diagnose.h"
#include "cli/output/output.h"
#include "cli/output/say.h"
#include "diagnose/base.h"

#include <string.h>

struct arguments {
    const char *data_dir;
    const char *against;
    const char *run;
    size_t word_count;
    bool all;
    bool json;
};

static void take_word(void *args, const struct tc_option *before, char *word)
{
    struct arguments *a = args;
    (void)before;
    a->run = word;
    a->word_count++;
}

static const struct tc_option OPTIONS[] = {
    TC_TEXT("against", "BASE", struct arguments, against,
            "What it is compared with: a run, a replicate group, a name, or a condition on "
            "benchmark_run_fact. Earlier runs of the same case unless given."),
    TC_FLAG("all", struct arguments, all, "Also the checks of scenarios that are not recognised."),
    TC_TEXT("data-dir", "DIR", struct arguments, data_dir, TC_DATA_DIR_HELP),
    TC_FLAG("json", struct arguments, json, "JSON instead of text."),
};

static int print(const struct arguments *a, const struct tc_diagnosis *d)
{
    struct tc_grow g = {0};
    bool blind = d->slices == 0 && d->hypothesis_count == 0;
    if (a->json) {
        struct tc_json_out j = tc_json_out_grow(&g);
        tc_diagnosis_json(&j, d);
        (void)tc_json_done_line(&j);
    } else {
        tc_diagnosis_text(&g, d, a->all);
    }
    return tc_output_grown("diagnose", &g,
                           blind           ? TC_EXIT_BAD
                           : d->has_answer ? TC_EXIT_OK
                                           : TC_EXIT_FOUND);
}

static int diagnose_run(struct tc_warehouse *w, const struct arguments *a,
                        const struct tc_group *run)
{
    struct tc_error err = {0};
    struct tc_diagnosis *d = NULL;
    struct tc_group base = {0};
    int code = TC_EXIT_BAD;
    if (tc_diagnose_against(w, run, tc_slice_cstr(a->against), &base, &d, &err) == TC_OK) {
        code = print(a, d);
        tc_diagnosis_destroy(d);
    } else {
        tc_say("diagnose", "%s", err.message);
    }
    tc_group_fini(&base);
    return code;
}

static int run(int argc, char **argv)
{
    struct arguments a = {0};
    char dir[TC_DATA_PATH_BYTES];
    struct tc_error err = {0};
    struct tc_group group;
    int code = tc_options_read(&tc_command_diagnose, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (a.word_count != 1 || a.run[0] == '\0') {
        return tc_command_refuse(&tc_command_diagnose, "%s: tracecore diagnose RUN",
                                 a.word_count > 1 ? "that is too much" : "which run?");
    }
    if (!tc_data_dir_of("diagnose", a.data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    struct tc_warehouse *w = tc_data_open("diagnose", dir, TC_WAREHOUSE_READ);
    if (w == NULL) {
        return TC_EXIT_BAD;
    }
    if (tc_one_run_find(w, tc_slice_cstr(a.run), &group, &err) != TC_OK) {
        code = tc_refuse("diagnose", "%s", err.message);
    } else {
        code = diagnose_run(w, &a, &group);
        tc_group_fini(&group);
    }
    tc_warehouse_close(w);
    return code;
}

const struct tc_command tc_command_diagnose = {
    .name = "diagnose",
    .summary = "find the likely cause of a slow run",
    .usage = "usage: tracecore diagnose RUN [--against BASE] [--all] [--json]\n"
             "\n"
             "Goes through the playbooks: tail_latency_regression, low_gpu_utilization,\n"
             "distributed_straggler and scheduler_backpressure. Each check answers supports,\n"
             "contradicts or no data, with its numbers; causes are ranked by the evidence for\n"
             "them. Telemetry, verdicts, requests and other runs of the warehouse are read.\n"
             "Without evidence nothing is claimed. docs/diagnose.md lists the thresholds.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .take_word = take_word,
    .notes = "Exit status:\n"
             "  0  a cause is named\n"
             "  1  no scenario is recognised, or nothing speaks for a cause\n"
             "  2  there is no answer: no such run, no telemetry of it, wrong usage\n"
             "\n"
             "Examples:\n"
             "  tracecore diagnose run-9f86d081 --against nightly\n"
             "  tracecore diagnose run-9f86d081 --json\n",
    .run = run,
};
