/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report that trtllm-bench prints: titles ("= PERFORMANCE OVERVIEW") with lines "label: value"
 * below them. Labels changed over the versions; the table says which member of the JSON each is.
 * The latency reports of before 0.17 call the output throughput "Total Token Throughput", and print
 * the median of their breakdown as P90.
 */
#include "base/json/out.h"
#include "result/lines_priv.h"
#include "result/trtllm/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S(literal) TC_LIT(literal)
#define LINE_MAX_BYTES 1024
/* More than a report has; a log with more is none of one run each. */
#define REPORTS_MAX 1024
/* The JSON of a report: each label once. */
#define JSON_BYTES ((size_t)64 << 10)

enum group {
    ENGINE,
    MACHINE,
    WORLD,
    REQUESTS,
    PERFORMANCE,
    LATENCY,
    STREAMING,
    TTFT,
    TPOT,
    GTPS,
    GENERATION,
    GROUPS
};

static const char *const GROUP_NAMES[GROUPS] = {
    [ENGINE] = "engine",
    [MACHINE] = "machine",
    [WORLD] = "world_info",
    [REQUESTS] = "request_info",
    [PERFORMANCE] = "performance",
    [LATENCY] = "request_latency_percentiles_ms",
    [STREAMING] = "streaming_metrics",
    [TTFT] = "ttft_percentiles",
    [TPOT] = "tpot_percentiles",
    [GTPS] = "gen_tps_percentiles",
    [GENERATION] = "generation_latency_ms",
};

static const struct {
    const char *label;
    enum group group;
    const char *key;
    bool is_text;
} LABELS[] = {
    {"Model", ENGINE, "model", true},
    {"TensorRT LLM Version", ENGINE, "version", true},
    {"TensorRT-LLM Version", ENGINE, "version", true},
    {"Dtype", ENGINE, "dtype", true},
    {"Quantization", ENGINE, "quantization", true},
    {"TP Size", WORLD, "tp_size", false},
    {"PP Size", WORLD, "pp_size", false},
    {"EP Size", WORLD, "ep_size", false},
    {"Max Runtime Batch Size", WORLD, "max_batch_size", false},
    {"Max Runtime Tokens", WORLD, "max_num_tokens", false},
    {"Number of requests", REQUESTS, "num_requests", false},
    {"Number of concurrent requests", REQUESTS, "avg_num_concurrent_requests", false},
    {"Average Input Length (tokens)", REQUESTS, "avg_input_length", false},
    {"Average Output Length (tokens)", REQUESTS, "avg_output_length", false},
    {"Request Throughput (req/sec)", PERFORMANCE, "request_throughput_req_s", false},
    {"Total Output Throughput (tokens/sec)", PERFORMANCE, "system_output_throughput_tok_s", false},
    {"Token Throughput (tokens/sec)", PERFORMANCE, "system_output_throughput_tok_s", false},
    {"Total Token Throughput (tokens/sec)", PERFORMANCE, "system_total_throughput_tok_s", false},
    {"Total Latency (ms)", PERFORMANCE, "total_latency_ms", false},
    {"Average request latency (ms)", PERFORMANCE, "avg_request_latency_ms", false},
    {"Per User Output Throughput [w/ ctx] (tps/user)", PERFORMANCE,
     "output_throughput_per_user_tok_s", false},
    {"Per User Output Throughput (tokens/sec/user)", PERFORMANCE,
     "output_throughput_per_user_tok_s", false},
    {"Per GPU Output Throughput (tps/gpu)", PERFORMANCE, "output_throughput_per_gpu_tok_s", false},
    {"Per GPU Output Throughput (tokens/sec/gpu)", PERFORMANCE, "output_throughput_per_gpu_tok_s",
     false},
    {"Average time-to-first-token [TTFT] (ms)", STREAMING, "avg_ttft_ms", false},
    {"Average time-to-first-token (ms)", STREAMING, "avg_ttft_ms", false},
    {"Average time-per-output-token [TPOT] (ms)", STREAMING, "avg_tpot_ms", false},
    {"Average inter-token latency (ms)", STREAMING, "avg_tpot_ms", false},
    {"Per User Output Speed (tps/user)", STREAMING, "token_output_speed_tok_s", false},
    {"Per User Output Speed [1/TPOT] (tokens/sec/user)", STREAMING, "token_output_speed_tok_s",
     false},
    {"Generation Token Throughput (tokens/sec)", STREAMING, "token_output_speed_tok_s", false},
};

/* "[TTFT] P50    : 12.5" */
static const struct {
    const char *tag;
    enum group group;
} TAGS[] = {{"[Latency]", LATENCY}, {"[TTFT]", TTFT}, {"[TPOT]", TPOT}, {"[GTPS]", GTPS}};

static const struct {
    const char *word;
    const char *key;
} STATS[] = {{"MINIMUM", "minimum"}, {"MAXIMUM", "maximum"}, {"AVERAGE", "average"}, {"P50", "p50"},
             {"P90", "p90"},         {"P95", "p95"},         {"P99", "p99"}};

/* Of the breakdown of the old latency reports, whose P90 is the median. */
static const struct {
    const char *word;
    const char *key;
} OLD_STATS[] = {{"MIN (ms)", "minimum"}, {"MAX (ms)", "maximum"}, {"AVG (ms)", "average"},
                 {"P90 (ms)", "p50"},     {"P95 (ms)", "p95"},     {"P99 (ms)", "p99"}};

/* What a line says, and where that stands in the JSON. */
struct cell {
    enum group group;
    const char *key;
    struct tc_slice value;
    bool is_text;
};

enum section { OTHER, OVERVIEW, OLD_THROUGHPUT, OLD_BREAKDOWN, MACHINE_DETAILS, BEGINNING };

/* "= PERFORMANCE OVERVIEW " */
static bool is_title(struct tc_slice line, enum section *out)
{
    static const struct {
        const char *title;
        enum section section;
    } titles[] = {
        {"PERFORMANCE OVERVIEW", OVERVIEW},      {"GENERAL OVERVIEW", OVERVIEW},
        {"THROUGHPUT OVERVIEW", OLD_THROUGHPUT}, {"GENERATION LATENCY BREAKDOWN", OLD_BREAKDOWN},
        {"MACHINE DETAILS", MACHINE_DETAILS},    {"ENGINE DETAILS", BEGINNING},
        {"PYTORCH BACKEND", BEGINNING}};
    if (!tc_slice_starts(line, S("= "))) {
        return false;
    }
    struct tc_slice title = tc_slice_trim(tc_slice_from(line, 2));
    size_t i = tc_slice_row(title, titles, title);
    *out = i < TC_COUNT(titles) ? titles[i].section : OTHER;
    return true;
}

static bool read_tagged(struct tc_slice name, struct cell *out)
{
    struct tc_slice rest = name;
    size_t tag = tc_slice_row(tc__word_next(&rest), TAGS, tag);
    size_t stat = tc_slice_row(tc_slice_trim(rest), STATS, word);
    if (tag == TC_COUNT(TAGS) || stat == TC_COUNT(STATS)) {
        return false;
    }
    out->group = TAGS[tag].group;
    out->key = STATS[stat].key;
    return true;
}

static bool read_cell(struct tc_slice line, enum section section, struct cell *out)
{
    size_t colon = tc_slice_find_byte(line, ':');
    if (colon == TC_NPOS) {
        return false;
    }
    struct tc_slice name = tc_slice_trim(tc_slice_head(line, colon));
    *out = (struct cell){.value = tc_slice_trim(tc_slice_from(line, colon + 1))};
    if (section == OLD_BREAKDOWN) {
        size_t stat = tc_slice_row(name, OLD_STATS, word);
        out->group = GENERATION;
        out->key = stat < TC_COUNT(OLD_STATS) ? OLD_STATS[stat].key : NULL;
        return out->key != NULL;
    }
    if (read_tagged(name, out)) {
        return true;
    }
    size_t i = tc_slice_row(name, LABELS, label);
    if (i == TC_COUNT(LABELS)) {
        return false;
    }
    out->group = LABELS[i].group;
    out->key = LABELS[i].key;
    out->is_text = LABELS[i].is_text;
    if (section == OLD_THROUGHPUT && strcmp(out->key, "system_total_throughput_tok_s") == 0) {
        out->key = "system_output_throughput_tok_s";
    }
    return true;
}

/* ---- one report ---- */

struct report {
    struct tc_slice text;
    size_t line;
};

/* A line of the group; section is that of the lines before, and changes with titles. */
static bool read_line(struct tc_slice line, enum group group, enum section *io_section,
                      struct cell *out)
{
    if (is_title(line, io_section)) {
        return false;
    }
    size_t memory = tc_slice_find(line, S(", memory "));
    if (*io_section == MACHINE_DETAILS && memory != TC_NPOS) {
        /* "NVIDIA B200, memory 179.06 GB, 3.99 GHz" */
        *out = (struct cell){MACHINE, "name", tc_slice_head(line, memory), true};
        return group == MACHINE;
    }
    return read_cell(line, *io_section, out) && out->group == group;
}

/* The members of one group; the first of two lines counts. */
static void put_members(struct tc_json_out *j, struct tc_slice text, enum group group)
{
    const char *seen[TC_COUNT(LABELS)];
    size_t count = 0;
    enum section section = OTHER;
    struct tc__lines lines = tc__lines_of(text);
    struct tc_slice line;
    while (tc__lines_next(&lines, &line) && count < TC_COUNT(seen)) {
        char plain[LINE_MAX_BYTES];
        long rank = 0;
        double number = 0;
        struct cell cell;
        bool twice = false;
        line = tc_slice_trim(tc__line_bare(tc__line_plain(line, plain, sizeof plain), &rank));
        if (!read_line(line, group, &section, &cell) ||
            (!cell.is_text && !tc_map_parse_number(cell.value, &number))) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            twice |= strcmp(seen[i], cell.key) == 0;
        }
        if (twice) {
            continue;
        }
        seen[count++] = cell.key;
        tc_json_key_str(j, tc_slice_cstr(cell.key));
        if (cell.is_text) {
            tc_json_add_str(j, tc_slice_head(cell.value, LINE_MAX_BYTES));
        } else {
            tc_json_add_f64(j, number);
        }
    }
}

static void put_group(struct tc_json_out *j, struct tc_slice text, enum group group)
{
    tc_json_key_str(j, tc_slice_cstr(GROUP_NAMES[group]));
    tc_json_add_object(j);
    put_members(j, text, group);
    if (group == PERFORMANCE) {
        put_group(j, text, LATENCY);
        put_group(j, text, GENERATION);
    } else if (group == STREAMING) {
        put_group(j, text, TTFT);
        put_group(j, text, TPOT);
        put_group(j, text, GTPS);
    }
    tc_json_end_object(j);
}

static tc_status parse_report(const struct tc_result_input *in, const struct report *report,
                              char *memory, struct tc_json *out, struct tc_error *err)
{
    static const enum group top[] = {ENGINE, MACHINE, WORLD, REQUESTS, PERFORMANCE, STREAMING};
    struct tc_buf b = tc_buf_make(memory, JSON_BYTES);
    struct tc_json_out j = tc_json_object_make(&b);
    for (size_t i = 0; i < TC_COUNT(top); i++) {
        put_group(&j, report->text, top[i]);
    }
    tc_json_end_object(&j);
    return b.overflowed
               ? tc_fail(err, TC_E_LIMIT, 0, "line %zu: a report that is too long", report->line)
               : tc_json_parse(in->parser, tc_buf_slice(&b), out, err);
}

/* ---- all of them ---- */

/* Where the reports of a text begin: with the engine, or with their overview. */
static size_t find_reports(struct tc_slice text, struct report *out, size_t max)
{
    struct tc__lines lines = tc__lines_of(text);
    struct tc_slice line;
    size_t count = 0;
    bool complete = true; /* the report so far has its overview */
    const char *begin = text.ptr;
    while (tc__lines_next(&lines, &line)) {
        enum section section = OTHER;
        char plain[LINE_MAX_BYTES];
        long rank = 0;
        const char *at = line.ptr;
        line = tc_slice_trim(tc__line_bare(tc__line_plain(line, plain, sizeof plain), &rank));
        if (!is_title(line, &section) || (section != OVERVIEW && section != BEGINNING)) {
            continue;
        }
        if (complete) {
            if (count == max) {
                return count;
            }
            out[count++] = (struct report){.text = tc_slice_make(at, 0), .line = lines.line};
        }
        complete = section == OVERVIEW;
    }
    const char *end = begin + text.len;
    for (size_t i = count; i-- > 0;) {
        out[i].text.len = (size_t)(end - out[i].text.ptr);
        end = out[i].text.ptr;
    }
    return count;
}

bool tc__trtllm_is_text(struct tc_slice text)
{
    struct report first;
    return tc_slice_contains(text, S("Request Throughput (req/sec)")) &&
           find_reports(text, &first, 1) == 1;
}

tc_status tc__trtllm_read_text(const struct tc_result_input *in, struct tc_result *r,
                               tc_status (*read)(struct tc_result *r, struct tc_json report,
                                                 const char *where, bool several,
                                                 struct tc_error *err),
                               struct tc_error *err)
{
    struct report *reports = calloc(REPORTS_MAX, sizeof *reports);
    char *memory = malloc(JSON_BYTES);
    size_t count = reports == NULL ? 0 : find_reports(in->bytes, reports, REPORTS_MAX);
    tc_status status = TC_OK;
    if (reports == NULL || memory == NULL) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory for the report");
    } else if (count == 0) {
        status = tc_fail(err, TC_E_MALFORMED, 0, "no line '= PERFORMANCE OVERVIEW'");
    }
    for (size_t i = 0; i < count && status == TC_OK; i++) {
        struct tc_json report;
        char where[32];
        (void)snprintf(where, sizeof where, "line:%zu", reports[i].line);
        status = parse_report(in, &reports[i], memory, &report, err);
        if (status == TC_OK) {
            status = read(r, report, where, count > 1, err);
        }
    }
    free(memory);
    free(reports);
    return status;
}
