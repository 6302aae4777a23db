/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/data.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "cli/output/text_table.h"
#include "cli/trend/spark_line.h"
#include "compare/trend.h"

/* Of fewer, a step in the middle has no p of 0.01. */
#define FEW_RUNS 12
#define POINTS_MAX 64
#define SPIKES_TOLD 5
#define SPARK_WIDTH 60

struct asked {
    struct tc_slice points[POINTS_MAX];
    size_t point_count;
    const char *runs;
    const char *data_dir;
    const char *confidence;
    double level; /* 0: the default */
    bool all;
    bool json;
};

static int take_point(void *args, const struct tc_option *option, const char *value)
{
    struct asked *a = args;
    (void)option;
    if (value[0] == '\0' || a->point_count == POINTS_MAX) {
        return tc_command_refuse(&tc_command_trend, "--point takes up to %d patterns, none empty",
                                 POINTS_MAX);
    }
    a->points[a->point_count++] = tc_slice_cstr(value);
    return TC_GO_ON;
}

static const struct tc_option OPTIONS[] = {
    TC_TEXT("runs", "WHAT", struct asked, runs,
            "Which runs: a replicate group, a name, or an SQL condition, as of compare. Default: "
            "those of the case that was measured last and has the metric.",
            .letter = 'r'),
    TC_TAKEN("point", "P", take_point,
             "Only these workload points: words of them, as in concurrency=64. May be repeated.",
             .letter = 'p'),
    TC_FLAG("all", struct asked, all, "Also series without a change; by default up to ten of them.",
            .letter = 'a'),
    TC_TEXT(
        "confidence", "LEVEL", struct asked, confidence,
        "How sure a change must be, 0.5 to below 1. Default: 0.99, for which a step needs about "
        "six values on each side."),
    TC_FLAG("json", struct asked, json, "One JSON object, with all values."),
    TC_TEXT("data-dir", "DIR", struct asked, data_dir, TC_DATA_DIR_HELP),
};

/* ---- the page ---- */

static void put_change(struct tc_grow *g, const struct tc_trend *t,
                       const struct tc_trend_series *item, const struct tc_trend_change *c)
{
    const struct tc_series *s = item->series;
    uint32_t run = s->runs[c->at];
    uint32_t last = s->runs[c->at - 1];
    struct tc_grow line = {0};
    tc_grow_format(&line, "{}: {} -> {}", tc_pair_verdict_name(c->verdict), tc_as_number(c->before),
                   tc_as_number(c->after));
    if (c->before != 0) {
        tc_grow_format(&line, " ({}x)", tc_as_number(c->after / c->before));
    }
    tc_grow_lit(&line, ", p ");
    tc_pair_p_put(&line, c->p);
    tc_grow_format(&line, ", with run {} of {}",
                   tc_as_printable(tc_group_text(&t->group, run, TC_GROUP_RUN_ID)),
                   tc_answer_as_value(&t->group.runs, run, TC_GROUP_STARTED));
    tc_text_paragraph(g, &line, "  ", "    ");
    for (size_t n = 0; n < c->fact_count; n++) {
        tc_grow_format(&line, "{} changed there: {} -> {}",
                       tc_answer_name(&t->group.runs, c->facts[n]),
                       tc_answer_as_value(&t->group.runs, last, c->facts[n]),
                       tc_answer_as_value(&t->group.runs, run, c->facts[n]));
        tc_text_paragraph(g, &line, "    ", "      ");
    }
    if (c->fact_count == 0) {
        tc_grow_lit(g, "    nothing that is known of the runs changed there\n");
    }
}

static void put_spikes(struct tc_grow *g, const struct tc_trend *t,
                       const struct tc_trend_series *item)
{
    struct tc_grow line = {0};
    if (item->spike_count == 0) {
        return;
    }
    tc_grow_format(&line, "{}, no change: ", tc_as_count((int64_t)item->spike_count, "spike"));
    for (size_t n = 0; n < item->spike_count && n < SPIKES_TOLD; n++) {
        uint32_t run = item->series->runs[item->spikes[n]];
        tc_grow_format(&line, "{}{} ({})", n == 0 ? "" : ", ",
                       tc_as_number(item->series->values[item->spikes[n]]),
                       tc_as_printable(tc_group_text(&t->group, run, TC_GROUP_RUN_ID)));
    }
    if (item->spike_count > SPIKES_TOLD) {
        tc_grow_lit(&line, ", ...");
    }
    tc_text_paragraph(g, &line, "  ", "    ");
}

static void put_item(struct tc_grow *g, const struct tc_trend *t,
                     const struct tc_trend_series *item)
{
    const struct tc_series *s = item->series;
    tc_grow_format(g, "\n{} at {}\n", tc_as_printable(s->name), tc_as_printable(s->point->text));
    if (item->is_short) {
        tc_grow_format(g, "  {}: it takes {} to see a change\n",
                       tc_as_count((int64_t)s->count, "value"), TC_TREND_MIN);
        return;
    }
    tc_grow_lit(g, "  ");
    tc_spark_line(g, s->values, s->count, SPARK_WIDTH, tc_terminal_is_utf8());
    tc_grow_format(g, "  {} values\n", s->count);
    for (size_t n = 0; n < item->change_count; n++) {
        put_change(g, t, item, &item->changes[n]);
    }
    if (item->change_count == 0) {
        tc_grow_lit(g, "  no change\n");
    }
    if (item->has_modes) {
        tc_grow_lit(g, "  more than one mode: the values of a level fall into groups\n");
    }
    put_spikes(g, t, item);
}

#define QUIET_MAX 10

static void put_text(struct tc_grow *g, const struct tc_trend *t, bool all)
{
    struct tc_grow text = {0};
    size_t quiet = 0;
    tc_trend_answer(t, &text);
    tc_text_paragraph(g, &text, "", "");
    tc_group_describe(&t->group, &text);
    tc_grow_format(&text, ", {}, in the order of their start",
                   tc_as_count((int64_t)t->group.run_count, "run"));
    if (t->group.left_out > 0) {
        tc_grow_format(&text, "; {} left out, failed or not complete", t->group.left_out);
    }
    tc_text_paragraph(g, &text, "", "  ");
    for (size_t n = 0; n < t->count; n++) {
        bool changed = t->items[n].change_count > 0;
        if (changed || all || quiet < QUIET_MAX) {
            put_item(g, t, &t->items[n]);
        }
        quiet += changed ? 0 : 1;
    }
    if (!all && quiet > QUIET_MAX) {
        tc_grow_format(g, "\n{} more series without a change (--all shows them)\n",
                       quiet - QUIET_MAX);
    }
    tc_grow_format(
        g, "\nA change has a p of at most {} (E-divisive on ranks, by permutation).{}\n",
        tc_as_number(t->alpha),
        t->changed == 0 && t->group.run_count < FEW_RUNS
            ? " So few runs show\nonly what is very clear: --confidence 0.95 asks for less."
            : "");
}

/* ---- the command ---- */

static int trend_in(struct tc_warehouse *w, const struct asked *a, const char *metric)
{
    struct tc_slice pattern = tc_slice_cstr(metric);
    struct tc_trend_options options = {
        .alpha = a->level > 0 ? 1 - a->level : 0,
        .runs = tc_slice_cstr(a->runs),
        .want = {.metrics = &pattern,
                 .metric_count = 1,
                 .points = a->points,
                 .point_count = a->point_count},
    };
    struct tc_trend t;
    struct tc_error err = {0};
    struct tc_grow g = {0};
    if (tc_trend(w, &options, &t, &err) != TC_OK) {
        return tc_refuse("trend", "%s", err.message);
    }
    bool is_none = !tc_trend_is_history(&t);
    if (is_none) {
        struct tc_grow text = {0};
        tc_trend_answer(&t, &text);
        (void)tc_refuse("trend", "%.*s", TC_FMT(tc_grow_slice(&text)));
        tc_grow_fini(&text);
    }
    if (a->json) { /* also of what is none: the object that the API gives */
        struct tc_json_out j = tc_json_out_grow(&g);
        tc_trend_json(&j, &t);
        (void)tc_json_done_line(&j);
    } else if (!is_none) {
        put_text(&g, &t, a->all);
    }
    tc_trend_fini(&t);
    return tc_output_grown("trend", &g, is_none ? TC_EXIT_BAD : TC_EXIT_OK);
}

static int run(int argc, char **argv)
{
    static struct asked a;
    char dir[TC_DATA_PATH_BYTES];
    int code = tc_options_read(&tc_command_trend, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (!tc_option_level("trend", a.confidence, &a.level)) {
        return TC_EXIT_BAD;
    }
    if (argc - optind != 1) {
        return tc_command_refuse(&tc_command_trend, "it takes one METRIC");
    }
    if (!tc_data_dir_of("trend", a.data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    struct tc_warehouse *w = tc_data_open("trend", dir, TC_WAREHOUSE_READ);
    if (w == NULL) {
        return TC_EXIT_BAD;
    }
    code = trend_in(w, &a, argv[optind]);
    tc_warehouse_close(w);
    return code;
}

const struct tc_command tc_command_trend = {
    .name = "trend",
    .summary = "when a metric changed over the history of runs, and what with it",
    .usage = "usage: tracecore trend METRIC [--runs WHAT] [--point P] [--all] [--json]\n"
             "\n"
             "Takes the runs in the order in which they started and finds where the level of a\n"
             "metric changed: medians before and after, the run where it changed, and what is\n"
             "known to have changed of software, hardware, cluster or workload at that very\n"
             "run. METRIC is a name, the start of one, or a glob. A single value that is far\n"
             "off is listed as a spike, and is no change.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  done, whether there is a change or not\n"
             "  2  wrong usage, no such runs, no run has the metric, too few runs, all equal\n"
             "\n"
             "Examples:\n"
             "  tracecore trend ttft_p99_ms --runs nightly\n"
             "  tracecore trend 'output_token*' --point concurrency=64\n"
             "  tracecore trend busbw --runs \"cluster = 'a3'\" --json\n",
    .run = run,
};
