/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/compare.h"
#include "cli/command.h"
#include "cli/compare/compare.h"
#include "cli/data.h"
#include "cli/output/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATTERNS_MAX 64

struct asked {
    struct tc_slice metrics[PATTERNS_MAX];
    size_t metric_count;
    struct tc_slice points[PATTERNS_MAX];
    size_t point_count;
    const char *data_dir;
    const char *confidence;
    const char *fail_on;
    bool all;
    bool json;
    bool markdown;
    double level;
    unsigned failing; /* bits of enum tc_pair_verdict, and CONFOUNDED */
};

#define CONFOUNDED (1u << TC_PAIR_VERDICTS)

static int take_pattern(void *args, const struct tc_option *option, const char *value)
{
    struct asked *a = args;
    bool metric = strcmp(option->name, "metric") == 0;
    size_t *count = metric ? &a->metric_count : &a->point_count;
    if (value[0] == '\0' || *count == PATTERNS_MAX) {
        return tc_command_refuse(&tc_command_compare, "--%s takes up to %d patterns, none empty",
                                 option->name, PATTERNS_MAX);
    }
    (metric ? a->metrics : a->points)[(*count)++] = tc_slice_cstr(value);
    return TC_GO_ON;
}

static const struct tc_option OPTIONS[] = {
    TC_TAKEN("metric", "M", take_pattern,
             "Only these metrics: a name, the start of one, or a glob. May be repeated.",
             .letter = 'm'),
    TC_TAKEN("point", "P", take_pattern,
             "Only these workload points: words of them, as in concurrency=64. May be repeated.",
             .letter = 'p'),
    TC_FLAG("all", struct asked, all,
            "All series; by default the main metrics, and what is better or worse.", .letter = 'a'),
    TC_TEXT("confidence", "LEVEL", struct asked, confidence,
            "Between 0.5 and 1, as in 0.99. Default: the contract's, else 0.95."),
    TC_TEXT("fail-on", "VERDICT,...", struct asked, fail_on,
            "Exit with status 1 on worse, better, different, unstable, multimodal, insufficient or "
            "confounded."),
    TC_FLAG("markdown", struct asked, markdown, "For a pull request, in GitHub's Markdown."),
    TC_FLAG("json", struct asked, json, "One JSON object, with all values."),
    TC_TEXT("data-dir", "DIR", struct asked, data_dir, TC_DATA_DIR_HELP),
};

static bool read_failing(struct asked *a)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {
        {"worse", 1u << TC_PAIR_WORSE},
        {"better", 1u << TC_PAIR_BETTER},
        {"different", 1u << TC_PAIR_DIFFERENT},
        {"unstable", 1u << TC_PAIR_UNSTABLE},
        {"multimodal", 1u << TC_PAIR_MULTIMODAL},
        {"insufficient", 1u << TC_PAIR_INSUFFICIENT},
        {"confounded", CONFOUNDED},
    };
    struct tc_slice rest = tc_slice_cstr(a->fail_on);
    while (a->fail_on != NULL) {
        struct tc_slice word = tc_slice_cut(rest, ',', &rest);
        size_t row = tc_slice_row(word, words, word);
        if (row == TC_COUNT(words)) {
            tc_say("compare",
                   "--fail-on takes worse, better, different, unstable, multimodal, insufficient "
                   "or confounded, not \"%.*s\"",
                   TC_FMT(word));
            return false;
        }
        a->failing |= words[row].bit;
        if (rest.len == 0) {
            break;
        }
    }
    return true;
}

/* What fails counts for main metrics, and for any that is better or worse: what the page shows. */
static int exit_status(const struct asked *a, const struct tc_comparison *c)
{
    if ((a->failing & CONFOUNDED) != 0 && c->differs.is_confounded) {
        return TC_EXIT_FOUND;
    }
    for (size_t n = 0; n < c->pair_count; n++) {
        if ((a->failing & 1u << c->pairs[n].verdict) != 0 &&
            tc_compare_is_shown(&c->pairs[n], a->all)) {
            return TC_EXIT_FOUND;
        }
    }
    return TC_EXIT_OK;
}

static int print(const struct asked *a, const struct tc_comparison *c)
{
    struct tc_grow g = {0};
    if (a->json) {
        struct tc_json_out j = tc_json_out_grow(&g);
        tc_comparison_json(&j, c);
        (void)tc_json_done_line(&j);
    } else if (a->markdown) {
        tc_compare_markdown(c, a->all, &g);
    } else {
        tc_compare_text(c, a->all, &g);
    }
    return tc_output_grown("compare", &g, exit_status(a, c));
}

static int compare_in(struct tc_warehouse *w, const char *dir, const struct asked *a, char **words)
{
    struct tc_compare_options options = {
        .want = {.metrics = a->metrics,
                 .metric_count = a->metric_count,
                 .points = a->points,
                 .point_count = a->point_count},
        .confidence = a->level,
    };
    struct tc_comparison c;
    struct tc_error err = {0};
    if (tc_compare_judged(w, dir, tc_slice_cstr(words[0]), tc_slice_cstr(words[1]), &options, &c,
                          &err) != TC_OK) {
        return tc_refuse("compare", "%s", err.message);
    }
    int code = print(a, &c);
    tc_comparison_fini(&c);
    return code;
}

static int run(int argc, char **argv)
{
    static struct asked a;
    char dir[TC_DATA_PATH_BYTES];
    int code = tc_options_read(&tc_command_compare, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (argc - optind != 2) {
        return tc_command_refuse(&tc_command_compare, "it takes two: BASE and CANDIDATE");
    }
    if (a.json && a.markdown) {
        return tc_command_refuse(&tc_command_compare, "--json and --markdown do not go together");
    }
    if (!tc_option_level("compare", a.confidence, &a.level) || !read_failing(&a) ||
        !tc_data_dir_of("compare", a.data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    struct tc_warehouse *w = tc_data_open("compare", dir, TC_WAREHOUSE_READ);
    if (w == NULL) {
        return TC_EXIT_BAD;
    }
    code = compare_in(w, dir, &a, argv + optind);
    tc_warehouse_close(w);
    return code;
}

const struct tc_command tc_command_compare = {
    .name = "compare",
    .summary = "compare two groups of runs: better, worse, or not decided",
    .usage = "usage: tracecore compare BASE CANDIDATE [--metric M] [--point P] [--all]\n"
             "                         [--fail-on worse] [--json|--markdown]\n"
             "\n"
             "Compares the runs that BASE and CANDIDATE mean: a replicate group, a name (all\n"
             "its runs), or an SQL condition on runs and their software, hardware, cluster and\n"
             "workload. Per metric and workload point: medians, their ratio with an interval,\n"
             "a rank test, and a verdict. A run is one replicate, however many requests it\n"
             "has. Lists what else differs between the two sides, and never sets two\n"
             "definitions of a metric, or two units, against each other.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  compared\n"
             "  1  --fail-on: there is such a verdict\n"
             "  2  wrong usage, no such runs, nothing that can be compared\n"
             "\n"
             "Examples:\n"
             "  tracecore compare base candidate\n"
             "  tracecore compare base candidate --metric ttft --point concurrency=64\n"
             "  tracecore compare \"driver_version = '570.86'\" \"driver_version = '580.65'\"\n"
             "  tracecore compare main pr-1234 --markdown --fail-on worse > comment.md\n",
    .run = run,
};
