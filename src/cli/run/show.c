/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore run show`: all about one run. */
#include "answers/run.h"
#include "base/format.h"
#include "base/json/json.h"
#include "cli/data.h"
#include "cli/output/say.h"
#include "cli/run/run.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 12
/* Of one list for people; the rest is counted. */
#define LINES_MAX 200

/* ---- for people ---- */

/* A line "label value" of the run's row; nothing when it is NULL. */
static void put_column(struct tc_grow *g, const struct tc_answer *run, const char *label,
                       size_t column)
{
    if (tc_answer_known(run, 0, column)) {
        tc_grow_format(g, "  {} {}\n", tc_as_padded(tc_slice_cstr(label), LABEL_WIDTH),
                       tc_answer_as_value(run, 0, column));
    }
}

static void put_times(struct tc_grow *g, const struct tc_answer *run)
{
    int64_t started = tc_answer_int(run, 0, TC_RUN_STARTED);
    int64_t ended = tc_answer_int(run, 0, TC_RUN_ENDED);
    put_column(g, run, "started", TC_RUN_STARTED);
    if (tc_answer_known(run, 0, TC_RUN_ENDED)) {
        bool lasted = tc_answer_known(run, 0, TC_RUN_STARTED) && ended > started &&
                      ended - started < INT64_MAX / 1000;
        int64_t length_ns = lasted ? (ended - started) * 1000 : 0;
        tc_grow_format(g, "  {} {}{}\n", tc_as_padded(TC_LIT("ended"), LABEL_WIDTH),
                       tc_answer_as_value(run, 0, TC_RUN_ENDED),
                       tc_when(lasted, " ({})", tc_as_duration(length_ns)));
    }
    put_column(g, run, "added", TC_RUN_ADDED);
}

static void put_run(struct tc_grow *g, const struct tc_answer *run, bool is_publishable)
{
    tc_grow_format(g, "{}  {}\n  {} {}{}", tc_answer_as_value(run, 0, TC_RUN_RUN_ID),
                   tc_answer_as_value(run, 0, TC_RUN_NAME),
                   tc_as_padded(TC_LIT("class"), LABEL_WIDTH),
                   tc_answer_as_value(run, 0, TC_RUN_CLASS),
                   is_publishable ? ", may be published\n"
                   : tc_answer_known(run, 0, TC_RUN_CONTRACT_DIGEST)
                       ? ", not to be published: see its conditions\n"
                       : ", not to be published: it has no contract\n");
    put_column(g, run, "type", TC_RUN_WORKLOAD_TYPE);
    put_column(g, run, "status", TC_RUN_STATUS);
    put_times(g, run);
    put_column(g, run, "intent", TC_RUN_INTENT);
    put_column(g, run, "variable", TC_RUN_VARIABLE);
    put_column(g, run, "cadence", TC_RUN_CADENCE);
    put_column(g, run, "scheduler", TC_RUN_SCHEDULER_PATH);
    put_column(g, run, "its run id", TC_RUN_SCHEDULER_RUN_ID);
    put_column(g, run, "job uid", TC_RUN_JOB_UID);
    put_column(g, run, "case", TC_RUN_CASE_ID);
    tc_grow_format(g, "  {} {} of {}{}\n", tc_as_padded(TC_LIT("replicate"), LABEL_WIDTH),
                   tc_answer_as_value(run, 0, TC_RUN_REPLICATE_INDEX),
                   tc_answer_as_value(run, 0, TC_RUN_REPLICATE_GROUP),
                   tc_when(tc_answer_known(run, 0, TC_RUN_MIN_REPLICATES),
                           "; the contract wants {}",
                           tc_answer_as_value(run, 0, TC_RUN_MIN_REPLICATES)));
    put_column(g, run, "workload", TC_RUN_SPEC_DIGEST);
    put_column(g, run, "contract", TC_RUN_CONTRACT_DIGEST);
}

/* What is known of a dimension, a line per column. */
static void put_dimension(struct tc_grow *g, const struct tc_answer *set, const char *title)
{
    bool any = false;
    for (size_t c = 1; set->row_count > 0 && c < set->column_count; c++) {
        if (!tc_answer_known(set, 0, c) ||
            strcmp(tc_answer_name(set, c), "workload_spec_digest") == 0) {
            continue;
        }
        if (!any) {
            tc_grow_format(g, "{}\n", title);
            any = true;
        }
        tc_grow_format(g, "  {} {}\n", tc_as_padded(tc_slice_cstr(tc_answer_name(set, c)), 18),
                       tc_answer_as_value(set, 0, c));
    }
}

struct outcome_column {
    const char *head;
    size_t column;
};

/* In order of what people look at first; columns that no row has are left out. */
static const struct outcome_column SERVING_COLUMNS[] = {
    {"point", TC_SERVING_WORKLOAD_POINT},
    {"conc", TC_SERVING_CONCURRENCY},
    {"rate", TC_SERVING_REQUEST_RATE},
    {"req/s", TC_SERVING_REQUESTS_PER_S},
    {"tok/s", TC_SERVING_OUTPUT_TOKENS_PER_S},
    {"ttft p50", TC_SERVING_TTFT_P50},
    {"ttft p99", TC_SERVING_TTFT_P99},
    {"tpot p50", TC_SERVING_TPOT_P50},
    {"tpot p99", TC_SERVING_TPOT_P99},
    {"itl p50", TC_SERVING_ITL_P50},
    {"itl p99", TC_SERVING_ITL_P99},
    {"e2e p50", TC_SERVING_E2E_P50},
    {"e2e p99", TC_SERVING_E2E_P99},
    {"errors", TC_SERVING_ERRORS},
    {"tool", TC_SERVING_TOOL},
};
static const struct outcome_column REQUESTS_COLUMNS[] = {
    {"point", 0},  {"conc", 1},      {"rate", 2}, {"requests", 3},
    {"errors", 4}, {"cancelled", 5}, {"tool", 6},
};
static const struct outcome_column TRAINING_COLUMNS[] = {
    {"phase", TC_TRAINING_PHASE},
    {"point", TC_TRAINING_SCALE_POINT},
    {"time s", TC_TRAINING_TIME_TO_TRAIN},
    {"steps", TC_TRAINING_STEPS},
    {"step p50", TC_TRAINING_STEP_P50},
    {"step p99", TC_TRAINING_STEP_P99},
    {"tok/s", TC_TRAINING_TOKENS_PER_S},
    {"tok/s/gpu", TC_TRAINING_TOKENS_PER_S_GPU},
    {"samples/s", TC_TRAINING_SAMPLES_PER_S},
    {"mfu %", TC_TRAINING_MFU},
    {"tflops", TC_TRAINING_TFLOPS},
    {"quality", TC_TRAINING_QUALITY},
    {"loss", TC_TRAINING_LOSS},
    {"gib", TC_TRAINING_MEMORY_PEAK},
    {"tool", TC_TRAINING_TOOL},
};
static const struct outcome_column TELEMETRY_COLUMNS[] = {
    {"family", 0}, {"metric", 1}, {"unit", 2}, {"slices", 3}, {"min", 7}, {"mean", 8}, {"max", 9},
};

/* Points whose measurements are shown. */
#define POINTS_MAX 12

static bool is_known(const struct tc_answer *set, size_t column)
{
    for (size_t row = 0; row < set->row_count; row++) {
        if (tc_answer_known(set, row, column)) {
            return true;
        }
    }
    return false;
}

static void put_outcomes(struct tc_grow *g, const struct tc_answer *set, const char *title,
                         const struct outcome_column *columns, size_t count, size_t flexible)
{
    struct tc_text_table t = {.flexible = TC_TEXT_TABLE_COLUMNS, .flexible_min = 30};
    size_t used[TC_TEXT_TABLE_COLUMNS];
    size_t rows = set->row_count < LINES_MAX ? set->row_count : LINES_MAX;
    if (set->row_count == 0) {
        return;
    }
    for (size_t n = 0; n < count; n++) {
        if (!is_known(set, columns[n].column)) {
            continue;
        }
        t.flexible = columns[n].column == flexible ? t.column_count : t.flexible;
        t.heads[t.column_count] = columns[n].head;
        t.right[t.column_count] = tc_answer_type(set, columns[n].column) != TC_COLUMN_TEXT;
        used[t.column_count++] = columns[n].column;
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t n = 0; n < t.column_count; n++) {
            tc_text_table_value(&t, set, row, used[n]);
        }
    }
    tc_grow_format(g, "{}\n", title);
    size_t left = tc_text_table_print(&t, g, "  ");
    tc_text_table_fini(&t);
    if (left > 0 || set->row_count > rows) {
        tc_grow_format(g, "  more with --json{}",
                       set->row_count > rows ? ": not all rows are shown\n" : "\n");
    }
}

/* Whether a row is the first of its family and point: the query has them in order. */
static bool starts_point(const struct tc_answer *set, size_t row)
{
    return row == 0 || !tc_slice_eq(tc_answer_text(set, row, 0), tc_answer_text(set, row - 1, 0)) ||
           !tc_slice_eq(tc_answer_text(set, row, 1), tc_answer_text(set, row - 1, 1));
}

/* Family and point, as many lines as they need. */
static void put_words(struct tc_grow *g, const struct tc_answer *set, size_t row)
{
    struct tc_grow text = {{0}, false};
    tc_grow_format(&text, "{} {}", tc_answer_as_value(set, row, 0),
                   tc_answer_as_value(set, row, 1));
    tc_text_words(g, "  ", tc_grow_slice(&text), "    ");
    g->failed |= text.failed;
    tc_grow_fini(&text);
}

/* What the tools measured at each point: a mean over all of them says little. */
static void put_points(struct tc_grow *g, const struct tc_answer *set)
{
    size_t count = 0;
    size_t shown = 0;
    for (size_t row = 0; row < set->row_count; row++) {
        count += starts_point(set, row) ? 1 : 0;
    }
    if (count < 2) {
        return;
    }
    tc_grow_lit(g, "measurements by point");
    for (size_t row = 0; row < set->row_count; row++) {
        bool starts = starts_point(set, row);
        if (starts && shown++ == POINTS_MAX) {
            break;
        }
        if (starts) {
            tc_grow_lit(g, "\n");
            put_words(g, set, row);
            tc_grow_lit(g, "\n    ");
        } else {
            tc_grow_lit(g, ", ");
        }
        for (size_t c = 2; c < set->column_count; c++) {
            tc_grow_format(g, "{}{}", c > 2 ? " " : "", tc_answer_as_value(set, row, c));
        }
    }
    tc_grow_lit(g, "\n");
    if (count > POINTS_MAX) {
        tc_grow_format(g, "  and {} points more: see telemetry_slice_fact with `tracecore sql`\n",
                       count - POINTS_MAX);
    }
}

/* A JSON list of a text column: one line per element, by `put`. */
static void put_list(struct tc_grow *g, struct tc_slice text, const char *title,
                     void (*put)(struct tc_grow *g, struct tc_json element))
{
    struct tc_json root;
    struct tc_json element;
    struct tc_error err;
    size_t count = 0;
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser == NULL) {
        g->failed = true;
        return;
    }
    if (text.len > 0 && tc_json_parse(parser, text, &root, &err) == TC_OK) {
        struct tc_json_iter it = tc_json_iter_make(root);
        for (; tc_json_iter_next(&it, NULL, &element); count++) {
            if (count == 0) {
                tc_grow_format(g, "{}\n", title);
            }
            if (count < LINES_MAX) {
                put(g, element);
            }
        }
    }
    if (count > LINES_MAX) {
        tc_grow_format(g, "  and {} more; --json has all\n", count - LINES_MAX);
    }
    tc_json_parser_destroy(parser);
}

static void put_warning(struct tc_grow *g, struct tc_json w)
{
    static const char *const parts[] = {"file", "where", "field"};
    tc_grow_lit(g, "  ");
    for (size_t n = 0; n < 3; n++) {
        struct tc_slice part = tc_json_get_string(w, tc_slice_cstr(parts[n]));
        tc_grow_format(g, "{}{}", tc_as_printable(part), part.len > 0 ? ": " : "");
    }
    tc_grow_format(g, "{}\n", tc_as_printable(tc_json_get_string(w, TC_LIT("text"))));
}

static void put_file(struct tc_grow *g, struct tc_json f)
{
    struct tc_slice role = tc_json_get_string(f, TC_LIT("role"));
    tc_grow_format(g, "  {}{} {}, {} bytes\n            {}\n", tc_as_printable(role),
                   tc_as_padded(TC_EMPTY, role.len < 9 ? 9 - role.len : 0),
                   tc_as_printable(tc_json_get_string(f, TC_LIT("name"))),
                   tc_json_get_int(f, TC_LIT("size"), 0),
                   tc_as_printable(tc_json_get_string(f, TC_LIT("digest"))));
}

/* The columns of TC_PART_VERDICTS. */
enum { SAID_ID, SAID_PATTERN, SAID_STATUS, SAID_CONFIDENCE, SAID_SEEN, SAID_HEADLINE, SAID_JOIN };

/* How an incident was tied to the run, for people. */
static const char *joined_by(struct tc_slice join)
{
    return tc_slice_eq(join, TC_LIT("given"))      ? "given with the run"
           : tc_slice_eq(join, TC_LIT("identity")) ? "of its job or pod"
                                                   : "on its node in its time";
}

/* Each incident once, as it was told last. */
static void put_verdict_lines(struct tc_grow *g, const struct tc_answer *set)
{
    size_t shown = 0;
    for (size_t row = 0; row < set->row_count; row++) {
        struct tc_slice id = tc_answer_text(set, row, SAID_ID);
        if (row + 1 < set->row_count && tc_slice_eq(id, tc_answer_text(set, row + 1, SAID_ID))) {
            continue;
        }
        struct tc_slice join = tc_answer_text(set, row, SAID_JOIN);
        if (shown++ < LINES_MAX) {
            tc_grow_format(g, "{}  {}  {}\n    {}, {}, {}{}", shown == 1 ? "incidents\n" : "",
                           tc_answer_as_value(set, row, SAID_SEEN),
                           tc_answer_as_value(set, row, SAID_HEADLINE),
                           tc_answer_as_value(set, row, SAID_PATTERN),
                           tc_answer_as_value(set, row, SAID_STATUS), joined_by(join),
                           tc_slice_eq(join, TC_LIT("given")) ? "\n" : ": tracecore incidents ");
            if (!tc_slice_eq(join, TC_LIT("given"))) {
                tc_grow_format(g, "{}\n", tc_answer_as_value(set, row, SAID_ID));
            }
        }
    }
    if (shown > LINES_MAX) {
        tc_grow_format(g, "  and {} more; --json has all\n", shown - LINES_MAX);
    }
}

/* What fits another run as well. */
static void put_undecided(struct tc_grow *g, const struct tc_answer *set)
{
    size_t count = 0;
    for (size_t row = 0; row < set->row_count; row++) {
        count +=
            row == 0 || !tc_slice_eq(tc_answer_text(set, row, 0), tc_answer_text(set, row - 1, 0));
    }
    if (count > 0) {
        tc_grow_format(g,
                       "{}{} on what another run had at the same time, and is tied to neither; "
                       "--json lists under \"undecided\"\n",
                       count, count == 1 ? " incident is" : " incidents are");
    }
}

static void put_evidence(struct tc_grow *g, const struct tc_answer *run,
                         const struct tc_answer *lineage)
{
    if (lineage->row_count > 0) {
        put_list(g, tc_answer_text(lineage, 0, TC_LINEAGE_RAW_URIS), "evidence", put_file);
        tc_grow_format(g, "  manifest  {}\n  signed    {}\n",
                       tc_answer_as_value(lineage, 0, TC_LINEAGE_MANIFEST_DIGEST),
                       tc_answer_as_value(lineage, 0, TC_LINEAGE_SIGNING_STATE));
    }
    tc_grow_format(g,
                   "print a file: tracecore evidence cat sha256:...\n"
                   "the manifest: tracecore evidence manifest {}\n",
                   tc_answer_as_value(run, 0, TC_RUN_RUN_ID));
}

static void put_text(struct tc_grow *g, const char *data_dir, const struct tc_run_shown *s)
{
    const struct tc_answer *run = &s->parts[TC_PART_RUN];
    struct tc_conditions_now now;
    g->failed |= !tc_conditions_now_read(data_dir, s, &now);
    put_run(g, run, now.are_met);
    if (tc_answer_known(run, 0, TC_RUN_CONTRACT_DIGEST)) {
        tc_run_conditions_put(g, now.items, now.count);
    }
    tc_conditions_now_fini(&now);
    put_dimension(g, &s->parts[TC_PART_WORKLOAD], "workload");
    put_dimension(g, &s->parts[TC_PART_SOFTWARE], "software");
    put_dimension(g, &s->parts[TC_PART_HARDWARE], "hardware");
    put_dimension(g, &s->parts[TC_PART_CLUSTER], "cluster");
    put_outcomes(g, &s->parts[TC_PART_SERVING], "serving (latencies in ms)", SERVING_COLUMNS,
                 TC_COUNT(SERVING_COLUMNS), TC_SERVING_WORKLOAD_POINT);
    put_outcomes(g, &s->parts[TC_PART_REQUESTS], "requests (serving_request_fact)",
                 REQUESTS_COLUMNS, TC_COUNT(REQUESTS_COLUMNS), 0);
    put_outcomes(g, &s->parts[TC_PART_TRAINING], "training (step times in ms)", TRAINING_COLUMNS,
                 TC_COUNT(TRAINING_COLUMNS), TC_TRAINING_SCALE_POINT);
    put_outcomes(g, &s->parts[TC_PART_TELEMETRY], "telemetry and other measurements",
                 TELEMETRY_COLUMNS, TC_COUNT(TELEMETRY_COLUMNS), 1);
    put_points(g, &s->parts[TC_PART_POINTS]);
    put_verdict_lines(g, &s->parts[TC_PART_VERDICTS]);
    put_undecided(g, &s->parts[TC_PART_UNDECIDED]);
    put_list(g, tc_answer_text(run, 0, TC_RUN_WARNINGS), "warnings", put_warning);
    put_evidence(g, run, &s->parts[TC_PART_LINEAGE]);
}

static int show(struct tc_warehouse *w, const struct tc_run_args *args, struct tc_run_shown *s)
{
    char id[TC_RUN_ID_BYTES];
    char dir[TC_DATA_PATH_BYTES];
    struct tc_error err = {0};
    struct tc_grow g = {0};
    if (!tc_run_find(w, args->words[0], id)) {
        return TC_EXIT_BAD;
    }
    if (args->slower_than != NULL) {
        return tc_run_show_slower(w, args, id);
    }
    if (!tc_data_dir_of("run", args->data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    if (tc_run_shown_read(w, tc_slice_cstr(id), !args->json, s, &err) != TC_OK) {
        return tc_refuse("run", "%s", err.message);
    }
    if (args->json) {
        struct tc_json_out j = tc_json_out_grow(&g);
        tc_run_shown_json(&j, dir, s);
        (void)tc_json_done_line(&j);
    } else {
        put_text(&g, dir, s);
    }
    return tc_output_grown("run", &g, TC_EXIT_OK);
}

int tc_run_show(const struct tc_run_args *args)
{
    struct tc_warehouse *w = tc_run_open(args);
    if (w == NULL) {
        return TC_EXIT_BAD;
    }
    struct tc_run_shown *s = calloc(1, sizeof *s);
    int code = TC_EXIT_BAD;
    if (s == NULL) {
        tc_say("run", "no memory for the answer");
    } else {
        code = show(w, args, s);
        tc_run_shown_fini(s);
    }
    free(s);
    tc_warehouse_close(w);
    return code;
}
