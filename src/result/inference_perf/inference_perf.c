/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inference-perf: the reports of one stage (stage_N_lifecycle_metrics) or of all
 * (summary_lifecycle_metrics), and those made of the server's metrics (..._prometheus_metrics), as
 * JSON or YAML. Times are seconds. Which stage it is stands in the file's name alone; its rate is
 * in the file. What the server measured of itself is another thing than what a client saw: it
 * becomes slices named server.*.
 */
#include "codec/codec.h"
#include "result/map_serving.h"

#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define NOTE_TPOT "per request: (last token - first token) / (output tokens - 1)"
#define NOTE_ITL \
    "per gap between two output tokens, over all requests; tokens of one chunk come at one time"
#define NOTE_NTPOT "per request: end-to-end latency / output tokens"
#define NOTE_SERVER "measured by the server, estimated from its histograms by Prometheus"

/* The median is "median" or "p50", as the version has it. */
static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"mean"},
              [TC_STAT_P50] = {"median", "p50"},
              [TC_STAT_P90] = {"p90"},
              [TC_STAT_P95] = {"p95"},
              [TC_STAT_P99] = {"p99"},
              [TC_STAT_MIN] = {"min"},
              [TC_STAT_MAX] = {"max"}},
};

#define NONE TC_MAP_NO_COLUMN

static const struct tc_map_dist DISTS[] = {
    {"successes/latency/time_to_first_token", TC_SERVING_TTFT_MEAN, NONE, "s", "ttft", NULL,
     "time_to_first_token"},
    {"successes/latency/time_per_output_token", TC_SERVING_TPOT_MEAN, NONE, "s", "tpot", NOTE_TPOT,
     "time_per_output_token"},
    {"successes/latency/inter_token_latency", TC_SERVING_ITL_MEAN, NONE, "s", "itl", NOTE_ITL,
     "inter_token_latency"},
    {"successes/latency/request_latency", TC_SERVING_E2E_MEAN, NONE, "s", "e2e", NULL,
     "request_latency"},
    {"successes/latency/normalized_time_per_output_token", NONE, NONE, "s", "normalized_tpot",
     NOTE_NTPOT, "normalized_time_per_output_token"},
    {"successes/prompt_len", NONE, NONE, "tokens", "input_tokens_per_request", NULL, "prompt_len"},
    {"successes/prompt_tokens", NONE, NONE, "tokens", "input_tokens_per_request", NULL,
     "prompt_tokens"},
    {"successes/output_len", NONE, NONE, "tokens", "output_tokens_per_request",
     "counted by the client's tokenizer", "output_len"},
    {"successes/output_tokens", NONE, NONE, "tokens", "output_tokens_per_request",
     "as the server says", "output_tokens"},
    {"successes/request_size_bytes", NONE, NONE, "bytes", "request_size", NULL,
     "request_size_bytes"},
    {"successes/image/count", NONE, NONE, "count", "images_per_request", NULL, "image_count"},
    {"successes/image/pixels", NONE, NONE, "pixels", "image_pixels", NULL, "image_pixels"},
    {"successes/image/bytes", NONE, NONE, "bytes", "image_bytes", NULL, "image_bytes"},
    {"successes/image/aspect_ratio", NONE, NONE, "ratio", "image_aspect", NULL,
     "image_aspect_ratio"},
    {"successes/video/count", NONE, NONE, "count", "videos_per_request", NULL, "video_count"},
    {"successes/video/frames", NONE, NONE, "count", "video_frames", NULL, "video_frames"},
    {"successes/video/pixels", NONE, NONE, "pixels", "video_pixels", NULL, "video_pixels"},
    {"successes/video/bytes", NONE, NONE, "bytes", "video_bytes", NULL, "video_bytes"},
    {"successes/video/aspect_ratio", NONE, NONE, "ratio", "video_aspect", NULL,
     "video_aspect_ratio"},
    {"successes/audio/count", NONE, NONE, "count", "audios_per_request", NULL, "audio_count"},
    {"successes/audio/seconds", NONE, NONE, "s", "audio_length", NULL, "audio_seconds"},
    {"successes/audio/bytes", NONE, NONE, "bytes", "audio_bytes", NULL, "audio_bytes"},
    {"failures/request_latency", NONE, NONE, "s", "e2e_of_failed", "of requests that failed",
     "failures.request_latency"},
    {"failures/prompt_len", NONE, NONE, "tokens", "input_tokens_of_failed",
     "of requests that failed", "failures.prompt_len"},
    {"load_summary/schedule_delay", NONE, NONE, "s", "schedule_delay",
     "when a request was sent - when it was due; negative: early", "schedule_delay"},
};

static const struct tc_map_value VALUES[] = {
    {"load_summary/count", TC_SERVING_REQUESTS, "requests", "requests", NULL},
    {"successes/count", TC_SERVING_COMPLETED, "requests", "completed", NULL},
    {"failures/count", TC_SERVING_ERRORS, "requests", "errors", NULL},
    {"benchmark_time_seconds", TC_SERVING_DURATION_S, "s", "duration",
     "first request sent to last one ended"},
    {"successes/throughput/requests_per_sec", TC_SERVING_REQUESTS_PER_S, "requests/s",
     "request_throughput", NULL},
    {"successes/throughput/output_tokens_per_sec", TC_SERVING_OUTPUT_TOKENS_PER_S, "tokens/s",
     "output_throughput", NULL},
    {"successes/throughput/input_tokens_per_sec", TC_SERVING_INPUT_TOKENS_PER_S, "tokens/s",
     "input_throughput", NULL},
    {"successes/throughput/total_tokens_per_sec", TC_SERVING_TOTAL_TOKENS_PER_S, "tokens/s",
     "total_throughput", NULL},
    {"successes/prompt_tokens/total", TC_SERVING_INPUT_TOKENS, "tokens", "input_tokens", NULL},
    {"successes/output_tokens/total", TC_SERVING_OUTPUT_TOKENS, "tokens", "output_tokens", NULL},
    {"successes/goodput_metrics/request_goodput", TC_SERVING_GOODPUT, "requests/s", "goodput",
     "requests that met every objective of the configuration"},
};

/* Single numbers without a column. */
static const struct {
    const char *path;
    const char *metric;
    const char *measures;
    const char *unit;
} SINGLES[] = {
    {"load_summary/send_duration", "send_duration", "send_duration", "s"},
    {"load_summary/achieved_rate", "achieved_rate", "send_rate", "requests/s"},
    {"successes/prompt_tokens/cached", "prompt_tokens.cached", "cached_input_tokens", "tokens"},
    {"successes/prompt_tokens/uncached", "prompt_tokens.uncached", "uncached_input_tokens",
     "tokens"},
    {"successes/throughput/images_per_sec", "images_per_sec", "image_throughput", "images/s"},
    {"successes/throughput/videos_per_sec", "videos_per_sec", "video_throughput", "videos/s"},
    {"successes/throughput/audios_per_sec", "audios_per_sec", "audio_throughput", "audios/s"},
    {"successes/goodput_metrics/goodput_percentage", "goodput_percentage", "goodput_share", "%"},
    {"successes/goodput_metrics/token_goodput", "token_goodput", "token_goodput", "tokens/s"},
    {"successes/token_count_mismatches", "token_count_mismatches", "token_count_mismatches",
     "requests"},
};

/* What the server says of itself. Units of the rest: see the metrics' names. */
static const struct tc_map_dist SERVER_DISTS[] = {
#define SERVER(name, unit, measures)                                               \
    {                                                                              \
        "successes/" name, NONE, NONE, unit, measures, NOTE_SERVER, "server." name \
    }
    SERVER("request_latency", "s", "server_e2e"),
    SERVER("time_to_first_token", "s", "server_ttft"),
    SERVER("time_per_output_token", "s", "server_tpot"),
    SERVER("inter_token_latency", "s", "server_itl"),
    SERVER("request_queue_time", "s", "server_queue"),
    SERVER("request_inference_time", "s", "server_inference"),
    SERVER("request_prefill_time", "s", "server_prefill"),
    SERVER("request_decode_time", "s", "server_decode"),
    SERVER("kv_cache_usage_percentage", "%", "kv_cache_usage"),
    SERVER("queue_len", "requests", "server_queue_length"),
    SERVER("prompt_len", "tokens", "server_input_tokens"),
    SERVER("output_len", "tokens", "server_output_tokens"),
    SERVER("request_prompt_tokens", "tokens", "server_input_tokens_per_request"),
    SERVER("request_generation_tokens", "tokens", "server_output_tokens_per_request"),
    SERVER("num_requests_swapped", "requests", "server_swapped"),
    SERVER("num_requests_running", "requests", "server_running"),
    SERVER("num_preemptions_total", "count", "server_preemptions"),
    SERVER("prefix_cache_hit_percent", "%", "prefix_cache_hits"),
    SERVER("external_prefix_cache_hit_percent", "%", "external_prefix_cache_hits"),
    SERVER("iteration_tokens", "tokens", "server_tokens_per_iteration"),
#undef SERVER
};

static bool is_object(struct tc_json root, const char *path)
{
    struct tc_json v;
    return tc_map_at(root, path, &v) && tc_json_type(v) == TC_JSON_OBJECT;
}

/* A report of the server's metrics has no latencies of its own level. */
static bool is_server(struct tc_json root)
{
    return !is_object(root, "successes/latency") &&
           (is_object(root, "successes/queue_len") || is_object(root, "successes/request_latency"));
}

static int sniff(const struct tc_result_input *in)
{
    struct tc_json v;
    bool ours =
        is_object(in->root, "load_summary") && is_object(in->root, "successes") &&
        (tc_json_get(in->root, S("failures"), &v) || is_object(in->root, "successes/throughput"));
    if (!ours) {
        return TC_SNIFF_NO;
    }
    return is_object(in->root, "successes/latency") || is_server(in->root) ? TC_SNIFF_SURE
                                                                           : TC_SNIFF_LIKELY;
}

/* A length that all requests had. */
static double only_length(struct tc_json root, const char *path)
{
    struct tc_json v;
    double min = 0;
    double max = 0;
    bool same = tc_map_at(root, path, &v) && tc_map_number_at(v, "min", &min) &&
                tc_map_number_at(v, "max", &max) && min == max;
    return same ? min : 0;
}

/* What tells the stages of one run apart. */
static void stage_point(struct tc_json root, struct tc_buf *b)
{
    double value = 0;
    if (tc_map_number_at(root, "load_summary/requested_rate", &value)) {
        tc_map_point_number(b, "rate", value);
    }
    if (tc_map_number_at(root, "load_summary/concurrency", &value)) {
        tc_map_point_number(b, "concurrency", value);
    }
    if (b->len == 0) {
        tc_map_point_text(b, "stage", S("all"));
    }
}

static void read_server(struct tc_result *r, struct tc_json root)
{
    static const struct {
        const char *path;
        const char *metric;
        const char *measures;
        const char *unit;
    } numbers[] = {
        {"successes/count", "server.count", "server_requests", "requests"},
        {"successes/rate", "server.rate", "server_request_rate", "requests/s"},
        {"successes/prompt_len/rate", "server.prompt_len.rate", "server_input_rate", "tokens/s"},
        {"successes/output_len/rate", "server.output_len.rate", "server_output_rate", "tokens/s"},
    };
    double value = 0;
    for (size_t i = 0; i < TC_COUNT(SERVER_DISTS); i++) {
        const struct tc_map_dist *d = &SERVER_DISTS[i];
        if (is_object(root, d->path)) {
            tc_map_slice(r, S(""), TC_EMPTY, root, &STYLE, d, d->slice);
        }
    }
    for (size_t i = 0; i < TC_COUNT(numbers); i++) {
        if (tc_map_number_at(root, numbers[i].path, &value)) {
            tc_map_slice_value(r, S(""), TC_EMPTY, numbers[i].metric, numbers[i].measures,
                               numbers[i].unit, numbers[i].unit, value, NOTE_SERVER);
        }
    }
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct tc_json root = in->root;
    struct tc_json load;
    double value = 0;
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, S("inference"));
    if (is_server(root)) {
        read_server(r, root);
        return TC_OK;
    }
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", "");
    struct tc_serving_point point = {
        .input_tokens = only_length(root, "successes/prompt_len"),
        .output_tokens = only_length(root, "successes/output_len"),
    };
    if (point.input_tokens == 0) {
        point.input_tokens = only_length(root, "successes/prompt_tokens");
    }
    char data[64];
    struct tc_buf more = tc_buf_make(data, sizeof data);
    stage_point(root, &more);
    point.more = tc_buf_slice(&more);
    struct tc_slice text = tc_serving_set_point(r, row, &point);
    tc_map_values(r, row, root, VALUES, TC_COUNT(VALUES));
    tc_map_dists(r, row, text, root, &STYLE, DISTS, TC_COUNT(DISTS));
    if (tc_map_at(root, "load_summary", &load)) {
        tc_serving_load(r, row, load, "concurrency", "requested_rate");
    }
    for (size_t i = 0; i < TC_COUNT(SINGLES); i++) {
        if (tc_map_number_at(root, SINGLES[i].path, &value)) {
            tc_map_slice_value(r, S(""), text, SINGLES[i].metric, SINGLES[i].measures,
                               SINGLES[i].unit, SINGLES[i].unit, value, NULL);
        }
    }
    /* Other tools pass a part of the report on, without the counts. */
    if (!tc_map_at(root, "successes/count", &load) && !tc_json_get(root, S("failures"), &load)) {
        return TC_OK;
    }
    return tc_serving_require_completed(row, "successes/count", err);
}

const struct tc_reader tc_reader_inference_perf = {
    .name = "inference-perf",
    .summary = "inference-perf lifecycle and Prometheus reports of a stage or of all (JSON, YAML)",
    .forms = 1u << TC_RESULT_JSON,
    .sniff = sniff,
    .read = read_file,
};
