/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-d's benchmark report, versions 0.1, 0.2 and 0.2.1, as YAML or JSON. Units stand beside every
 * distribution. 0.1 has "metrics" and numbers for throughput; from 0.2 on there are "run" and
 * "results". A version that is not known is read as the newest one, with a note, if it has those.
 */
#include "base/json/out.h"
#include "base/time.h"
#include "codec/codec.h"
#include "result/llm_d/priv.h"
#include "result/map_serving.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define PATH_MAX_BYTES 128
#define LENGTH_MAX 256

static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"mean"},
              [TC_STAT_P50] = {"p50", "median"},
              TC_STYLE_P90_P99,
              [TC_STAT_STD] = {"stddev"}},
};

/* Where the two kinds of report have the same things. */
struct shape {
    const char *where; /* of what was measured */
    const char *root;
    const char *requests;
    const char *latency;
    const char *throughput;
    bool is_old;
};

static const struct shape OLD = {.where = "/metrics",
                                 .root = "metrics",
                                 .requests = "metrics/requests",
                                 .latency = "metrics/latency",
                                 .throughput = "metrics/throughput",
                                 .is_old = true};
static const struct shape NEW = {.where = "/results",
                                 .root = "results",
                                 .requests = "results/request_performance/aggregate/requests",
                                 .latency = "results/request_performance/aggregate/latency",
                                 .throughput = "results/request_performance/aggregate/throughput",
                                 .is_old = false};

/* ---- times ---- */

/* ISO 8601: PT49.97S, P1DT2H, PT1H30M. */
static bool parse_duration(struct tc_slice text, double *out_s)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'D', 86400}, {'H', 3600}, {'M', 60}, {'S', 1}};
    double sum = 0;
    if (!tc_slice_starts(text, S("P"))) {
        return false;
    }
    text = tc_slice_from(text, 1);
    while (text.len > 0) {
        size_t len = 0;
        double value = 0;
        if (text.ptr[0] == 'T') {
            text = tc_slice_from(text, 1);
            continue;
        }
        while (len < text.len && strchr("0123456789.", text.ptr[len]) != NULL &&
               text.ptr[len] != '\0') {
            len++;
        }
        if (len == text.len || !tc_map_parse_number(tc_slice_head(text, len), &value)) {
            return false;
        }
        size_t unit = 0;
        while (unit < TC_COUNT(units) && units[unit].letter != text.ptr[len]) {
            unit++;
        }
        if (unit == TC_COUNT(units)) {
            return false;
        }
        sum += value * units[unit].seconds;
        text = tc_slice_from(text, len + 1);
    }
    *out_s = sum;
    return true;
}

/* A time as text, or as seconds since 1970. */
static int64_t time_at(struct tc_json root, const char *path)
{
    int64_t ns = TC_TIME_NONE;
    double seconds = 0;
    struct tc_slice text = tc_map_string_at(root, path);
    if (text.len > 0) {
        (void)tc_time_parse(text, 0, &ns);
    } else if (tc_map_number_at(root, path, &seconds) && seconds > 0 &&
               seconds < (double)TC_TIME_MAX / (double)TC_SECOND) {
        ns = (int64_t)floor(seconds) * TC_SECOND +
             (int64_t)((seconds - floor(seconds)) * (double)TC_SECOND);
    }
    return ns;
}

static void set_times(struct tc__llm_d *l, struct tc_result_row *row, struct tc_json root,
                      const struct shape *shape)
{
    static const struct tc_definition DURATION = {"time.duration", "duration", "s", "s",
                                                  "of the run as the report says"};
    double seconds = 0;
    const char *duration = shape->is_old ? "metrics/time/duration" : "run/time/duration";
    l->started_ns = time_at(root, shape->is_old ? "metrics/time/start" : "run/time/start");
    l->ended_ns = time_at(root, shape->is_old ? "metrics/time/stop" : "run/time/end");
    if (l->started_ns != TC_TIME_NONE && l->ended_ns != TC_TIME_NONE &&
        l->ended_ns < l->started_ns) {
        tc_result_note(l->r, false, shape->is_old ? "/metrics/time" : "/run/time", "stop",
                       "the end is %.3f s before the start: neither is taken",
                       (double)(l->started_ns - l->ended_ns) / (double)TC_SECOND);
        l->started_ns = TC_TIME_NONE;
        l->ended_ns = TC_TIME_NONE;
    }
    tc_serving_times(row, l->started_ns, l->ended_ns);
    if (tc_map_number_at(root, duration, &seconds) ||
        parse_duration(tc_map_string_at(root, duration), &seconds)) {
        tc_result_real(row, TC_SERVING_DURATION_S, seconds, &DURATION);
    }
}

/* ---- what was measured ---- */

static void set_requests(struct tc__llm_d *l, struct tc_result_row *row, struct tc_json root,
                         const struct shape *shape)
{
    static const struct tc_definition TOTAL = {"requests.total", "requests", "requests", "requests",
                                               NULL};
    static const struct tc_definition FAILED = {"requests.failures", "errors", "requests",
                                                "requests", NULL};
    static const struct tc_definition NOT_DONE = {
        "requests.failures+incomplete", "errors", "requests", "requests",
        "those that failed and those that did not complete"};
    static const struct tc_definition DONE = {"requests.total-failures-incomplete", "completed",
                                              "requests", "requests", NULL};
    struct tc_json requests;
    int64_t total = 0;
    int64_t failures = 0;
    int64_t incomplete = 0;
    if (!tc_map_at(root, shape->requests, &requests)) {
        return;
    }
    bool has_total = tc_map_int_at(requests, "total", &total);
    bool has_failures = tc_map_int_at(requests, "failures", &failures);
    bool has_incomplete = tc_map_int_at(requests, "incomplete", &incomplete);
    if (failures < 0 || incomplete < 0 || total < 0) {
        tc_result_note(l->r, true, shape->where, "requests", "a negative number of requests");
        return;
    }
    if (has_total) {
        tc_result_int(row, TC_SERVING_REQUESTS, total, &TOTAL);
    }
    if (has_failures) {
        bool both = has_incomplete && incomplete > 0;
        tc_result_int(row, TC_SERVING_ERRORS, failures + incomplete, both ? &NOT_DONE : &FAILED);
    }
    if (has_total && has_failures) {
        if (total - failures < incomplete) {
            tc_result_note(l->r, true, shape->where, "requests",
                           "%" PRId64 " requests are fewer than %" PRId64 " failed and %" PRId64
                           " incomplete",
                           total, failures, incomplete);
        } else {
            tc_result_int(row, TC_SERVING_COMPLETED, total - failures - incomplete, &DONE);
        }
    }
}

static void set_latency(struct tc__llm_d *l, struct tc_result_row *row, struct tc_json root,
                        const struct shape *shape)
{
    static const char *const names[] = {"time_to_first_token", "time_per_output_token",
                                        "inter_token_latency", "request_latency"};
    static const struct {
        const char *measures;
        size_t column;
        size_t std_column;
    } latencies[] = {
        {"ttft", TC_SERVING_TTFT_MEAN, TC_MAP_NO_COLUMN},
        {"tpot", TC_SERVING_TPOT_MEAN, TC_MAP_NO_COLUMN},
        {"itl", TC_SERVING_ITL_MEAN, TC_SERVING_JITTER},
        {"e2e", TC_SERVING_E2E_MEAN, TC_MAP_NO_COLUMN},
    };
    struct tc_json latency;
    if (!tc_map_at(root, shape->latency, &latency)) {
        return;
    }
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        struct tc_map_dist dist = {
            .path = names[i], .column = TC_MAP_NO_COLUMN, .std_column = TC_MAP_NO_COLUMN};
        dist.measures = tc__llm_d_measures(l, names[i], &dist.note);
        size_t k = tc_slice_row(tc_slice_cstr(dist.measures), latencies, measures);
        if (k < TC_COUNT(latencies)) {
            dist.column = latencies[k].column;
            dist.std_column = latencies[k].std_column;
        }
        struct tc_json v;
        if (tc_map_at(latency, dist.path, &v) && tc_map_string_at(v, "units").len == 0) {
            tc_result_note(l->r, false, tc_when(true, "/{}/{}", shape->latency, dist.path), "units",
                           "no units: all of it is taken as unknown");
            continue;
        }
        tc_map_dists(row, l->point, latency, &STYLE, &dist, 1);
    }
}

static void set_throughput(struct tc__llm_d *l, struct tc_result_row *row, struct tc_json root,
                           const struct shape *shape)
{
    static const struct tc_fact numbers[] = {
        TC_VALUE("requests_per_sec", REQUESTS_PER_S),
        TC_VALUE("output_tokens_per_sec", OUTPUT_TOKENS_PER_S),
        TC_VALUE("input_tokens_per_sec", INPUT_TOKENS_PER_S),
        TC_VALUE("total_tokens_per_sec", TOTAL_TOKENS_PER_S),
        TC_VALUE_IN("request_rate/mean", REQUESTS_PER_S, "queries/s"),
        TC_VALUE("output_token_rate/mean", OUTPUT_TOKENS_PER_S),
        TC_VALUE("input_token_rate/mean", INPUT_TOKENS_PER_S),
        TC_VALUE("total_token_rate/mean", TOTAL_TOKENS_PER_S),
    };
    struct tc_json throughput;
    if (!tc_map_at(root, shape->throughput, &throughput)) {
        return;
    }
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        struct tc_fact value[] = {numbers[i], TC_FACTS_END};
        char path[PATH_MAX_BYTES];
        const char *slash = strchr(value->path, '/');
        if (slash != NULL) {
            (void)snprintf(path, sizeof path, "%.*s/units", (int)(slash - value->path),
                           value->path);
            struct tc_slice unit = tc_map_string_at(throughput, path);
            value->unit = unit.len > 0 ? tc_result_cstr(l->r, unit) : value->unit;
        }
        tc_map_values(row, throughput, value);
    }
}

/* ---- the load and the machines ---- */

/* A length's distribution as JSON with its members in order. */
static void tell_length(struct tc__llm_d *l, struct tc_json root, const char *path, size_t column)
{
    static const char *const members[] = {"max", "min", "std_dev", "value"};
    char data[LENGTH_MAX];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    struct tc_json_out j = tc_json_out_make(&b);
    struct tc_json v;
    if (!tc_map_at(root, path, &v)) {
        return;
    }
    tc_json_add_object(&j);
    tc_json_put_str(&j, "distribution", tc_slice_head(tc_map_string_at(v, "distribution"), 32));
    for (size_t i = 0; i < TC_COUNT(members); i++) {
        double value = 0;
        if (tc_map_number_at(v, members[i], &value)) {
            tc_json_key_plain(&j, tc_slice_cstr(members[i]));
            tc_json_add_f64(&j, value);
        }
    }
    tc_json_end_object(&j);
    if (tc_json_done(&j)) {
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, column, tc_buf_slice(&b));
    }
}

/* A length that all requests have: of the other distributions, "value" is the mean. */
static double fixed_length(struct tc_json root, const char *path)
{
    struct tc_json v;
    double value = 0;
    if (!tc_map_at(root, path, &v)) {
        return 0;
    }
    struct tc_slice distribution = tc_map_string_at(v, "distribution");
    bool fixed = distribution.len == 0 || tc_slice_eq_nocase(distribution, S("fixed"));
    double min = 0;
    double max = 0;
    if (tc_map_number_at(v, "min", &min) && tc_map_number_at(v, "max", &max)) {
        fixed = fixed && min == max;
    }
    return fixed && tc_map_number_at(v, "value", &value) ? value : 0;
}

static void set_load(struct tc__llm_d *l, struct tc_result_row *row, struct tc_json root,
                     struct tc_buf *more)
{
    struct tc_serving_point point = {0};
    struct tc_json load;
    if (tc_map_at(root, "scenario/load/standardized", &load)) {
        point.input_tokens = fixed_length(load, "input_seq_len");
        point.output_tokens = fixed_length(load, "output_seq_len");
        tc_map_point_number(more, "stage", tc_map_real_at(load, "stage"));
        tc_serving_load(row, load, "concurrency", "rate_qps");
        tell_length(l, load, "input_seq_len", TC_WORKLOAD_PROMPT_TOKENS);
        tell_length(l, load, "output_seq_len", TC_WORKLOAD_OUTPUT_TOKENS);
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DATASET,
                            tc_map_string_at(load, "source"));
    } else {
        point.dataset = tc_map_string_at(root, "scenario/load/type");
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DATASET, point.dataset);
    }
    point.more = tc_buf_slice(more);
    l->point = tc_serving_set_point(row, &point);
}

static const struct tc_fact ENGINE[] = {
    TC_FACT("standardized/accelerator/model", HARDWARE, GPU_MODEL),
    TC_FACT("standardized/tool", SOFTWARE, SERVER),
    TC_FACT("standardized/tool_version", SOFTWARE, SERVER_VERSION),
    TC_FACT("standardized/model/name", WORKLOAD, MODEL),
    TC_FACTS_END,
};
static const struct tc_fact ACCELERATOR[] = {TC_FACT("model", HARDWARE, GPU_MODEL), TC_FACTS_END};
static const struct tc_fact PLATFORM[] = {
    TC_FACT("name", SOFTWARE, SERVER), TC_FACT("version", SOFTWARE, SERVER_VERSION), TC_FACTS_END};
static const struct tc_fact FACTS[] = {
    TC_FACT("run/uid", RUN, JOB_UID),
    TC_FACT("run/description", RUN, INTENT),
    TC_FACT("run/cid", CLUSTER, CLUSTER),
    TC_FACT("scenario/description", RUN, INTENT),
    TC_FACT("scenario/model/name", WORKLOAD, MODEL),
    TC_FACT("scenario/model/quantization", WORKLOAD, PRECISION),
    TC_FACT("=inference", RUN, WORKLOAD_TYPE),
    TC_FACTS_END,
};

/* The facts of every element of a list that has the keys; the GPUs of all of them. */
static int64_t tell_list(struct tc__llm_d *l, struct tc_json root, const char *path,
                         const char *keys, const struct tc_fact *facts, const char *count_path)
{
    struct tc_json list;
    struct tc_json v;
    int64_t gpus = 0;
    if (!tc_map_at(root, path, &list)) {
        return 0;
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    while (tc_json_iter_next(&it, NULL, &v)) {
        int64_t replicas = 1;
        int64_t count = 0;
        if (!tc_map_has(v, keys)) {
            continue;
        }
        (void)tc_map_int_at(v, "standardized/replicas", &replicas);
        if (tc_map_int_at(v, count_path, &count) && replicas >= 0 && replicas < INT16_MAX &&
            count >= 0 && count < INT16_MAX) {
            gpus += replicas * count;
        }
        tc_map_facts(l->r, v, facts);
    }
    return gpus;
}

/* The engines of the stack: from 0.2 on components, before a list of accelerators. */
static void tell_run(struct tc__llm_d *l, struct tc_json root)
{
    tc_map_facts(l->r, root, FACTS);
    int64_t gpus = tell_list(l, root, "scenario/stack", "standardized/kind=inference_engine",
                             ENGINE, "standardized/accelerator/count");
    gpus += tell_list(l, root, "scenario/host/accelerator", "", ACCELERATOR, "count");
    (void)tell_list(l, root, "scenario/platform/engine", "", PLATFORM, "count");
    if (gpus > 0) {
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, gpus);
    }
}

/* ---- the file ---- */

static tc_status read_version(struct tc__llm_d *l, struct tc_json root, const struct shape **out)
{
    static const char *const known[] = {"0.1", "0.2", "0.2.1"};
    char text[32] = "";
    double number = 0;
    struct tc_slice version = tc_map_string_at(root, "version");
    if (version.len > 0) {
        (void)snprintf(text, sizeof text, "%.*s", (int)(version.len > 24 ? 24 : version.len),
                       version.ptr);
    } else if (tc_map_number_at(root, "version", &number)) {
        (void)snprintf(text, sizeof text, "%g", number);
    }
    tc_result_tool_version(l->r, tc_slice_cstr(text));
    bool is_known = text[0] == '\0'; /* the schema has a default */
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        is_known = is_known || strcmp(text, known[i]) == 0;
    }
    if (tc_map_has(root, "results{}")) {
        *out = &NEW;
    } else if (tc_map_has(root, "metrics{}")) {
        *out = &OLD;
    } else {
        return tc_fail(l->err, is_known ? TC_E_MALFORMED : TC_E_UNSUPPORTED, 0,
                       "/results: a report of version '%s' without results", text);
    }
    if (!is_known) {
        tc_result_note(l->r, false, "/version", "version", "version '%s' is not known: read as %s",
                       text, *out == &NEW ? "0.2.1" : "0.1");
    }
    return TC_OK;
}

/* Whose words the report has. */
static void tell_generator(struct tc__llm_d *l, struct tc_json root)
{
    struct tc_slice tool =
        tc_map_string_at(root, "scenario/load/standardized/tool|scenario/load/name");
    l->tpot_has_first = tc_slice_eq_nocase(tool, S("guidellm"));
    l->itl_is_tpot = l->tpot_has_first || tc_slice_eq_nocase(tool, S("aiperf")) ||
                     tc_slice_eq_nocase(tool, S("genai-perf"));
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct tc__llm_d l = {.r = r, .err = err};
    const struct shape *shape = NULL;
    struct tc_json results;
    char data[64];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    TC_TRY(read_version(&l, in->root, &shape));
    tell_generator(&l, in->root);
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", shape->where);
    set_load(&l, row, in->root, &more);
    set_times(&l, row, in->root, shape);
    tell_run(&l, in->root);
    if (tc_map_at(in->root, shape->root, &results)) {
        TC_TRY(tc__llm_d_walk(&l, results, shape->where));
    }
    set_requests(&l, row, in->root, shape);
    set_latency(&l, row, in->root, shape);
    set_throughput(&l, row, in->root, shape);
    return TC_OK;
}

#define NEW_KEYS "run{}, results{}, results/request_performance{}|scenario{}"
#define OLD_KEYS "scenario{}, metrics/latency{}, metrics/requests{}"
const struct tc_reader tc_reader_llm_d = {
    .name = "llm-d",
    .summary = "llm-d benchmark report 0.1, 0.2, 0.2.1 (YAML, JSON)",
    .forms = 1u << TC_RESULT_JSON,
    .keys =
        {
            {NEW_KEYS ", version", TC_SNIFF_SURE, TC_OF_FILE},
            {NEW_KEYS, TC_SNIFF_LIKELY, TC_OF_FILE},
            {OLD_KEYS ", version", TC_SNIFF_SURE, TC_OF_FILE},
            {OLD_KEYS, TC_SNIFF_LIKELY, TC_OF_FILE},
        },
    .read = read_file,
};
