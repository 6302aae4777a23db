/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLPerf Inference: LoadGen's mlperf_log_summary.txt (also as a part of a longer log), its
 * mlperf_log_detail.txt (:::MLLOG lines), and the metadata that NVIDIA's harness writes as JSON.
 * Latencies are nanoseconds. The three spell the same things alike enough to be told by the words
 * in their names: "99.00 percentile first token latency (ns)" is
 * result_first_token_99.00_percentile_latency_ns.
 */
#include "base/buf.h"
#include "base/json/raw.h"
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/map_serving.h"

#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define KEY_MAX 128
#define TITLE "MLPerf Results Summary"
#define MARK ":::MLLOG"

/* A query of MultiStream has several samples, whose latencies are told as well: SAMPLE. Elsewhere a
 * query is one sample, or (Offline) all of them, and its latency is the sample's. */
enum group { E2E, TTFT, TPOT, SAMPLE, GROUPS };
#define STATS TC_STAT_STD /* those before it */
enum rate {
    COMPLETED_SAMPLES,
    SAMPLES,
    SCHEDULED_SAMPLES,
    QPS_WITH,
    QPS_WITHOUT,
    TOKENS_INFERRED, /* samples times a number of tokens that was set: not counted */
    TOKENS,
    RATES
};

static const struct {
    const char *metric;
    const char *measures;
    const char *note;
    size_t column;
} GROUP_OF[GROUPS] = {
    {"latency", "e2e", "of a query; Offline: of a sample since all were issued",
     TC_SERVING_E2E_MEAN},
    {"first_token_latency", "ttft", NULL, TC_SERVING_TTFT_MEAN},
    {"time_per_output_token", "tpot", "per sample: (last token - first token) / (tokens - 1)",
     TC_SERVING_TPOT_MEAN},
    {"sample_latency", "sample_latency", "of a sample of a query", TC_MAP_NO_COLUMN},
};

/* By the name without case, underscores and the word "result". */
static const struct {
    const char *name;
    enum rate rate;
} RATE_NAMES[] = {
    {"completed samples per second", COMPLETED_SAMPLES},
    {"completed samples per sec", COMPLETED_SAMPLES},
    {"samples per second", SAMPLES},
    {"scheduled samples per second", SCHEDULED_SAMPLES},
    {"scheduled samples per sec", SCHEDULED_SAMPLES},
    {"qps w/ loadgen overhead", QPS_WITH},
    {"qps with loadgen overhead", QPS_WITH},
    {"qps w/o loadgen overhead", QPS_WITHOUT},
    {"qps without loadgen overhead", QPS_WITHOUT},
    {"completed tokens per second (inferred)", TOKENS_INFERRED},
    {"tokens per second (inferred)", TOKENS_INFERRED},
    {"completed tokens per second", TOKENS},
    {"tokens per second", TOKENS},
    {"token throughput", TOKENS},
    {"token throughput with loadgen overhead", TOKENS},
    {"tps w/ loadgen overhead", TOKENS},
};

struct value {
    bool known;
    double value;
};

/* Whose latencies the lines are about. */
enum block { NO_BLOCK, OF_QUERIES, OF_SAMPLES };

struct summary {
    struct tc_result *r;
    size_t line; /* where it begins; 0: the whole document */
    bool begun;
    bool has_verdict;
    bool invalid;
    char scenario[32];
    char mode[32];
    struct value stats[GROUPS][STATS];
    struct value rates[RATES];
    struct value target_qps;
    struct value queries;
    struct value samples_per_query;
    enum block block;
    size_t complaints;
};

/* ---- names ---- */

/* "Mean First Token latency (ns)" and "result_first_token_mean_latency_ns" become alike. */
static struct tc_slice normalise(struct tc_slice key, char out[KEY_MAX])
{
    struct tc_buf b = tc_buf_make(out, KEY_MAX);
    for (size_t i = 0; i < key.len && b.len < KEY_MAX; i++) {
        char c = key.ptr[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '_' ? ' ' : c;
        tc_buf_char(&b, c);
    }
    struct tc_slice s = tc_slice_trim(tc_buf_slice(&b));
    return tc_slice_starts(s, S("result ")) ? tc_slice_from(s, S("result ").len) : s;
}

/* The number before "percentile": 99.00, 99th, 90. */
static bool percentile_of(struct tc_slice name, double *out)
{
    size_t at = tc_slice_find(name, S("percentile"));
    if (at == TC_NPOS) {
        return false;
    }
    struct tc_slice before = tc_slice_trim(tc_slice_head(name, at));
    if (tc_slice_ends(before, S("th"))) {
        before.len -= 2;
    }
    size_t start = before.len;
    while (start > 0 && strchr("0123456789.", before.ptr[start - 1]) != NULL) {
        start--;
    }
    return tc_map_parse_number(tc_slice_from(before, start), out);
}

static bool stat_of(struct tc_slice name, enum tc_stat *out)
{
    static const struct {
        double percent;
        enum tc_stat stat;
    } percents[] = {{50, TC_STAT_P50}, {90, TC_STAT_P90}, {95, TC_STAT_P95}, {99, TC_STAT_P99}};
    double percent = 0;
    if (percentile_of(name, &percent)) {
        for (size_t i = 0; i < TC_COUNT(percents); i++) {
            if (percent == percents[i].percent) {
                *out = percents[i].stat;
                return true;
            }
        }
        return false;
    }
    static const enum tc_stat words[] = {TC_STAT_MEAN, TC_STAT_MIN, TC_STAT_MAX};
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        struct tc_slice rest = name;
        while (rest.len > 0) {
            if (tc_slice_eq(tc__word_next(&rest), tc_slice_cstr(tc_stat_names[words[i]]))) {
                *out = words[i];
                return true;
            }
        }
    }
    return false;
}

static bool group_of(struct tc_slice name, enum group *out)
{
    if (tc_slice_contains(name, S("first token"))) {
        *out = TTFT;
        return true;
    }
    if (tc_slice_contains(name, S("output token"))) {
        *out = TPOT;
        return true;
    }
    *out = E2E;
    return tc_slice_contains(name, S("latency"));
}

/* ---- one summary ---- */

static bool is_scenario(const struct summary *s, const char *name)
{
    return strcmp(s->scenario, name) == 0;
}

/* With its variant of before 1.0, MultiStreamFree. */
static bool is_multi_stream(const struct summary *s)
{
    return strncmp(s->scenario, "MultiStream", 11) == 0;
}

static void on_number(struct summary *s, struct tc_slice name, double number)
{
    enum group group;
    enum tc_stat stat;
    size_t i = tc_slice_row(name, RATE_NAMES, name);
    if (i < TC_COUNT(RATE_NAMES)) {
        s->rates[RATE_NAMES[i].rate] = (struct value){.known = true, .value = number};
    } else if (tc_slice_is_any(name, "target qps", "effective target qps")) {
        s->target_qps = (struct value){.known = number > 0, .value = number};
    } else if (tc_slice_eq(name, S("query count"))) {
        s->queries = (struct value){.known = true, .value = number};
    } else if (tc_slice_is_any(name, "samples per query", "effective samples per query")) {
        s->samples_per_query = (struct value){.known = number > 0, .value = number};
    } else if (group_of(name, &group) && stat_of(name, &stat)) {
        bool of_query = s->block == OF_QUERIES || tc_slice_contains(name, S("query latency"));
        group = group == E2E && !of_query ? SAMPLE : group;
        s->stats[group][stat] = (struct value){true, number};
    }
}

static void copy_word(char out[32], struct tc_slice value)
{
    (void)snprintf(out, 32, "%.*s", (int)(value.len > 31 ? 31 : value.len), value.ptr);
}

/* Before 1.0 "Single Stream". */
static void copy_scenario(char out[32], struct tc_slice value)
{
    struct tc_buf b = tc_buf_make(out, 31);
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] != ' ') {
            tc_buf_char(&b, value.ptr[i]);
        }
    }
    out[b.len] = '\0';
}

static void on_text(struct summary *s, struct tc_arg where, struct tc_slice name,
                    struct tc_slice value)
{
    if (tc_slice_eq(name, S("scenario")) || tc_slice_eq(name, S("effective scenario")) ||
        (tc_slice_eq(name, S("requested scenario")) && s->scenario[0] == '\0')) {
        copy_scenario(s->scenario, value);
    } else if (tc_slice_eq(name, S("mode")) || tc_slice_eq(name, S("test mode")) ||
               tc_slice_eq(name, S("effective test mode"))) {
        copy_word(s->mode, value);
    } else if (tc_slice_eq(name, S("is")) || tc_slice_eq(name, S("validity"))) {
        /* "Result is : VALID" without its first word, and result_validity. */
        s->has_verdict = true;
        s->invalid = !tc_slice_starts(value, S("VALID"));
    } else if (tc_slice_ends(name, S("satisfied")) && tc_slice_eq_nocase(value, S("no"))) {
        s->complaints++;
        tc_result_note(s->r, false, where, "Result is", "%.*s: NO",
                       TC_FMT(tc_slice_head(name, 64)));
    }
}

static void on_pair(struct summary *s, struct tc_arg where, struct tc_slice key,
                    struct tc_slice value)
{
    char text[KEY_MAX];
    double number = 0;
    struct tc_slice name = normalise(key, text);
    if (tc_map_parse_number(value, &number)) {
        on_number(s, name, number);
    } else {
        on_text(s, where, name, value);
    }
}

static const struct tc_definition *define(struct summary *s, const char *metric, const char *stat,
                                          const char *measures, const char *source,
                                          const char *unit, const char *note)
{
    char field[KEY_MAX];
    (void)snprintf(field, sizeof field, "%s%s%s", metric, stat[0] == '\0' ? "" : ".", stat);
    return tc_result_define(s->r, field, measures, source, unit, note);
}

static void put_group(struct summary *s, struct tc_result_row *row, enum group g, const char *where)
{
    struct tc_result_row *slice = NULL;
    for (size_t i = 0; i < STATS; i++) {
        if (!s->stats[g][i].known) {
            continue;
        }
        const struct tc_definition *d = define(s, GROUP_OF[g].metric, tc_stat_names[i],
                                               GROUP_OF[g].measures, "ns", "ms", GROUP_OF[g].note);
        double ms = s->stats[g][i].value * 1e-6;
        if (i <= TC_STAT_P99 && GROUP_OF[g].column != TC_MAP_NO_COLUMN) {
            tc_result_real(row, GROUP_OF[g].column + i, ms, d);
        }
        if (slice == NULL) {
            slice =
                tc_map_add_slice(s->r, tc_slice_cstr(where), TC_EMPTY, GROUP_OF[g].metric, "ms");
            tc_result_textf(slice, TC_SLICE_POINT, "scenario=%s", s->scenario);
        }
        if (tc_stat_slice_columns[i] != TC_MAP_NO_COLUMN) {
            tc_result_real(slice, tc_stat_slice_columns[i], ms, d);
        }
    }
}

static void put_rates(struct summary *s, struct tc_result_row *row, const char *where)
{
    static const char *const names[RATES] = {"completed_samples_per_second",
                                             "samples_per_second",
                                             "scheduled_samples_per_second",
                                             "qps_with_loadgen_overhead",
                                             "qps_without_loadgen_overhead",
                                             "tokens_per_second_inferred",
                                             "tokens_per_second"};
    /* What was completed, as each scenario says it. */
    enum rate order[] = {COMPLETED_SAMPLES, SAMPLES, QPS_WITH, SCHEDULED_SAMPLES};
    bool offline = is_scenario(s, "Offline");
    size_t count = TC_COUNT(order) - !offline;
    for (size_t i = 0; i < count; i++) {
        if (s->rates[order[i]].known) {
            tc_result_real(row, TC_SERVING_REQUESTS_PER_S, s->rates[order[i]].value,
                           define(s, names[order[i]], "", "request_throughput", "samples/s",
                                  "requests/s", "samples"));
            break;
        }
    }
    if (s->rates[TOKENS].known) {
        tc_result_real(
            row, TC_SERVING_OUTPUT_TOKENS_PER_S, s->rates[TOKENS].value,
            define(s, names[TOKENS], "", "output_throughput", "tokens/s", "tokens/s", NULL));
    }
    for (size_t i = 0; i < TOKENS; i++) {
        const char *unit = i == TOKENS_INFERRED ? "tokens/s" : "samples/s";
        char point[64];
        (void)snprintf(point, sizeof point, "scenario=%s", s->scenario);
        if (s->rates[i].known) {
            tc_map_slice_value(s->r, tc_slice_cstr(where), tc_slice_cstr(point), names[i], names[i],
                               unit, unit, s->rates[i].value, NULL);
        }
    }
}

/* What one thing of the row is: a query, in Offline a sample. Its one query has all of them, and
 * its throughput and latencies are theirs. */
static void put_counts(struct summary *s, struct tc_result_row *row, const char *where)
{
    double count = s->queries.value;
    bool known = s->queries.known;
    const char *field = "query_count";
    if (is_scenario(s, "Offline")) {
        count *= s->samples_per_query.value;
        known = known && s->samples_per_query.known;
        field = "query_count * samples_per_query";
    }
    if (known && count >= 0 && count < 1e15) {
        tc_result_int(row, TC_SERVING_COMPLETED, (int64_t)count,
                      define(s, field, "", "completed", "requests", "requests", NULL));
    }
    if (is_multi_stream(s) && s->samples_per_query.known) {
        char point[64];
        (void)snprintf(point, sizeof point, "scenario=%s", s->scenario);
        tc_map_slice_value(s->r, tc_slice_cstr(where), tc_slice_cstr(point), "samples_per_query",
                           "samples_per_query", "samples", "samples", s->samples_per_query.value,
                           NULL);
    }
}

/* Where a query is a sample, or is all of them, its latency is that of the samples. */
static void settle_latencies(struct summary *s)
{
    for (size_t i = 0; !is_multi_stream(s) && i < STATS; i++) {
        if (!s->stats[E2E][i].known) {
            s->stats[E2E][i] = s->stats[SAMPLE][i];
        }
        s->stats[SAMPLE][i].known = false;
    }
}

static tc_status end_summary(struct summary *s, struct tc_error *err)
{
    char where[32] = "";
    char point[64];
    if (s->line > 0) {
        (void)snprintf(where, sizeof where, "line:%zu", s->line);
    }
    if (s->scenario[0] == '\0') {
        return tc_fail(err, TC_E_MALFORMED, 0, "%s: no scenario: was the file cut off?",
                       where[0] == '\0' ? "/scenario" : where);
    }
    struct tc_result_row *row = tc_result_add(s->r, TC_TABLE_SERVING, "%s", where);
    (void)snprintf(point, sizeof point, "scenario=%s", s->scenario);
    struct tc_serving_point p = {.more = tc_slice_cstr(point)};
    (void)tc_serving_set_point(row, &p);
    if (s->target_qps.known && is_scenario(s, "Server")) {
        tc_result_real(row, TC_SERVING_REQUEST_RATE, s->target_qps.value, NULL);
    }
    put_counts(s, row, where);
    settle_latencies(s);
    for (size_t i = 0; i < GROUPS; i++) {
        put_group(s, row, (enum group)i, where);
    }
    put_rates(s, row, where);
    if (!s->has_verdict) {
        tc_result_note(s->r, false, where, "Result is",
                       "no verdict: the test did not end, or the file was cut off");
    } else if (s->invalid) {
        tc_result_note(s->r, false, where, "Result is", "the result is INVALID");
    }
    if (s->mode[0] != '\0' && strncmp(s->mode, "Performance", 11) != 0) {
        tc_result_note(s->r, false, where, "Mode", "mode %s is no measurement of performance",
                       s->mode);
    }
    const char *model = is_scenario(s, "Server")    ? "open_loop"
                        : is_scenario(s, "Offline") ? "burst"
                                                    : "closed_loop";
    tc_result_fact_text(s->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL,
                        tc_slice_cstr(model));
    return TC_OK;
}

/* ---- files ---- */

struct verdicts {
    size_t invalid;
    size_t missing;
};

static void tell_status(struct tc_result *r, const struct verdicts *v)
{
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, S("inference"));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS,
                        v->invalid > 0   ? S("failed")
                        : v->missing > 0 ? S("incomplete")
                                         : S("succeeded"));
}

static tc_status next_summary(struct summary *s, struct verdicts *v, size_t line,
                              struct tc_error *err)
{
    if (s->begun) {
        TC_TRY(end_summary(s, err));
        v->invalid += s->invalid;
        v->missing += !s->has_verdict;
    }
    *s = (struct summary){.r = s->r, .line = line, .begun = true};
    return TC_OK;
}

static void read_summary_line(struct summary *s, size_t number, struct tc_slice line)
{
    struct tc_slice rest;
    uint64_t count = 0;
    struct tc_arg where = tc_as_line(number);
    line = tc_slice_trim(line);
    if (tc_slice_starts(line, S("Per-query latency:"))) {
        s->block = OF_QUERIES;
        return;
    }
    if (tc_slice_starts(line, S("Per-sample latency:"))) {
        s->block = OF_SAMPLES;
        return;
    }
    if (tc__text_after(line, S("Processed "), &rest) && tc_slice_contains(rest, S(" queries")) &&
        (tc_slice_u64(rest, &count) > 0 ||
         (tc__text_after(rest, S("("), &rest) && tc_slice_u64(rest, &count) > 0))) {
        /* "Processed 588 queries.", or "Processed at least 64 queries (2048)." */
        s->queries = (struct value){.known = true, .value = (double)count};
        return;
    }
    if (tc_slice_ends(line, S("encountered during test.")) && tc_slice_contains(line, S("rror")) &&
        !tc_slice_starts(line, S("No "))) {
        tc_result_note(s->r, false, where, "errors", "%.*s", TC_FMT(tc_slice_head(line, 120)));
    }
    size_t colon = tc_slice_find_byte(line, ':');
    if (colon != TC_NPOS) {
        /* What stands above all statistics of MultiStream is the latency of its queries. */
        s->block = s->block == NO_BLOCK && is_multi_stream(s) ? OF_QUERIES : s->block;
        on_pair(s, where, tc_slice_trim(tc_slice_head(line, colon)),
                tc_slice_trim(tc_slice_from(line, colon + 1)));
    }
}

static tc_status read_detail_line(struct summary *s, const struct tc_result_input *in,
                                  size_t number, struct tc_slice text, bool is_last,
                                  struct tc_error *err)
{
    struct tc_json root;
    struct tc_json v;
    struct tc_slice object;
    struct tc_slice value;
    double real = 0;
    bool met = true;
    struct tc_arg where = tc_as_line(number);
    char name[KEY_MAX];
    size_t at = 0;
    if (!tc_json_raw_value(text, &at, &object) ||
        tc_json_parse(in->parser, object, &root, NULL) != TC_OK) {
        return is_last
                   ? TC_OK
                   : tc_fail(err, TC_E_MALFORMED, 0, "line %zu: no JSON behind %s", number, MARK);
    }
    struct tc_slice key = tc_map_string_at(root, "key");
    if (!tc_json_get(root, S("value"), &v)) {
        return TC_OK;
    }
    if (tc_slice_eq(key, S("loadgen_version"))) {
        tc_result_tool_version(s->r, tc_map_string_at(root, "value"));
    } else if (tc_json_string(v, &value)) {
        on_pair(s, where, key, value);
    } else if (tc_json_bool(v, &met)) {
        if (!met && tc_slice_starts(key, S("result_")) && tc_slice_ends(key, S("_met"))) {
            s->complaints++;
            tc_result_note(s->r, false, where, "result_validity", "%.*s: false",
                           TC_FMT(tc_slice_head(key, 64)));
        }
    } else if (tc_map_number(v, &real)) {
        on_number(s, normalise(key, name), real);
    }
    return TC_OK;
}

static tc_status read_text(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct summary s = {.r = r};
    struct verdicts verdicts = {0};
    struct tc_slice line;
    struct tc_slice text;
    bool in_parts = false;
    while (tc__lines_next(&lines, &line)) {
        if (tc_slice_contains(line, S(TITLE))) {
            TC_TRY(next_summary(&s, &verdicts, lines.line, err));
            in_parts = true;
        } else if (tc__text_after(line, S(MARK), &text)) {
            if (!s.begun) {
                TC_TRY(next_summary(&s, &verdicts, lines.line, err));
            }
            bool is_last = lines.rest.len == 0;
            TC_TRY(read_detail_line(&s, in, lines.line, text, is_last, err));
        } else if (in_parts) {
            read_summary_line(&s, lines.line, line);
        }
    }
    if (!s.begun) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no line '%s' and none with %s", TITLE, MARK);
    }
    TC_TRY(next_summary(&s, &verdicts, 0, err));
    tell_status(r, &verdicts);
    return TC_OK;
}

static tc_status read_metadata(const struct tc_result_input *in, struct tc_result *r,
                               struct tc_error *err)
{
    struct summary s = {.r = r, .begun = true};
    struct tc_json_iter it = tc_json_iter_make(in->root);
    struct tc_slice key;
    struct tc_slice value;
    struct tc_json v;
    double number = 0;
    while (tc_json_iter_next(&it, &key, &v)) {
        char name[KEY_MAX];
        if (tc_json_string(v, &value)) {
            on_pair(&s, tc_when(true, "/{}", tc_slice_head(key, 100)), key, value);
        } else if (tc_map_number(v, &number)) {
            on_number(&s, normalise(key, name), number);
        }
    }
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL,
                        tc_map_string_at(in->root, "benchmark_full"));
    struct tc_slice tensorrt = tc_map_string_at(in->root, "tensorrt_version");
    if (tensorrt.len > 0) {
        tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_RUNTIME, S("TensorRT"));
        tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_RUNTIME_VERSION, tensorrt);
    }
    TC_TRY(end_summary(&s, err));
    struct verdicts verdicts = {.invalid = s.invalid, .missing = !s.has_verdict};
    tell_status(r, &verdicts);
    return TC_OK;
}

static int sniff(const struct tc_result_input *in)
{
    return tc_slice_contains(in->bytes, S(TITLE)) ||
                   (tc_slice_contains(in->bytes, S(MARK)) &&
                    tc_slice_contains(in->bytes, S("\"loadgen_version\"")))
               ? TC_SNIFF_SURE
               : TC_SNIFF_NO;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return in->form == TC_RESULT_JSON ? read_metadata(in, r, err) : read_text(in, r, err);
}

const struct tc_reader tc_reader_mlperf_inference = {
    .name = "mlperf-inference",
    .summary = "MLPerf Inference: LoadGen's summary and detail logs, NVIDIA's metadata.json",
    .forms = 1u << TC_RESULT_TEXT | 1u << TC_RESULT_JSON,
    .keys =
        {
            {"result_validity, scenario", TC_SNIFF_SURE, TC_OF_FILE},
        },
    .sniff = sniff,
    .read = read_file,
};
