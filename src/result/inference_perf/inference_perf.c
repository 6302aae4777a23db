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
              TC_STYLE_P90_P99,
              [TC_STAT_MIN] = {"min"},
              [TC_STAT_MAX] = {"max"}},
};

#define AT "successes/"
#define LATENCY "successes/latency/"
#define FAILED "of requests that failed"

static const struct tc_map_dist DISTS[] = {
    TC_DIST(LATENCY "time_to_first_token", TTFT, "s", NULL, "time_to_first_token"),
    TC_DIST(LATENCY "time_per_output_token", TPOT, "s", NOTE_TPOT, "time_per_output_token"),
    TC_DIST(LATENCY "inter_token_latency", ITL, "s", NOTE_ITL, "inter_token_latency"),
    TC_DIST(LATENCY "request_latency", E2E, "s", NULL, "request_latency"),
    TC_DIST_SLICE(LATENCY "normalized_time_per_output_token", "s", "normalized_tpot", NOTE_NTPOT,
                  "normalized_time_per_output_token"),
    TC_DIST_SLICE(AT "prompt_len", "tokens", "input_tokens_per_request", NULL, "prompt_len"),
    TC_DIST_SLICE(AT "prompt_tokens", "tokens", "input_tokens_per_request", NULL, "prompt_tokens"),
    TC_DIST_SLICE(AT "output_len", "tokens", "output_tokens_per_request",
                  "counted by the client's tokenizer", "output_len"),
    TC_DIST_SLICE(AT "output_tokens", "tokens", "output_tokens_per_request", "as the server says",
                  "output_tokens"),
    TC_DIST_SLICE(AT "request_size_bytes", "bytes", "request_size", NULL, "request_size_bytes"),
    TC_DIST_SLICE(AT "image/count", "count", "images_per_request", NULL, "image_count"),
    TC_DIST_SLICE(AT "image/pixels", "pixels", "image_pixels", NULL, "image_pixels"),
    TC_DIST_SLICE(AT "image/bytes", "bytes", "image_bytes", NULL, "image_bytes"),
    TC_DIST_SLICE(AT "image/aspect_ratio", "ratio", "image_aspect", NULL, "image_aspect_ratio"),
    TC_DIST_SLICE(AT "video/count", "count", "videos_per_request", NULL, "video_count"),
    TC_DIST_SLICE(AT "video/frames", "count", "video_frames", NULL, "video_frames"),
    TC_DIST_SLICE(AT "video/pixels", "pixels", "video_pixels", NULL, "video_pixels"),
    TC_DIST_SLICE(AT "video/bytes", "bytes", "video_bytes", NULL, "video_bytes"),
    TC_DIST_SLICE(AT "video/aspect_ratio", "ratio", "video_aspect", NULL, "video_aspect_ratio"),
    TC_DIST_SLICE(AT "audio/count", "count", "audios_per_request", NULL, "audio_count"),
    TC_DIST_SLICE(AT "audio/seconds", "s", "audio_length", NULL, "audio_seconds"),
    TC_DIST_SLICE(AT "audio/bytes", "bytes", "audio_bytes", NULL, "audio_bytes"),
    TC_DIST_SLICE("failures/request_latency", "s", "e2e_of_failed", FAILED,
                  "failures.request_latency"),
    TC_DIST_SLICE("failures/prompt_len", "tokens", "input_tokens_of_failed", FAILED,
                  "failures.prompt_len"),
    TC_DIST_SLICE("load_summary/schedule_delay", "s", "schedule_delay",
                  "when a request was sent - when it was due; negative: early", "schedule_delay"),
};

static const struct tc_fact FACTS[] = {
    TC_VALUE("load_summary/count", REQUESTS),
    TC_VALUE(AT "count", COMPLETED),
    TC_VALUE("failures/count", ERRORS),
    TC_VALUE_NOTED("benchmark_time_seconds", DURATION_S, "first request sent to last one ended"),
    TC_VALUE(AT "throughput/requests_per_sec", REQUESTS_PER_S),
    TC_VALUE(AT "throughput/output_tokens_per_sec", OUTPUT_TOKENS_PER_S),
    TC_VALUE(AT "throughput/input_tokens_per_sec", INPUT_TOKENS_PER_S),
    TC_VALUE(AT "throughput/total_tokens_per_sec", TOTAL_TOKENS_PER_S),
    TC_VALUE(AT "prompt_tokens/total", INPUT_TOKENS),
    TC_VALUE(AT "output_tokens/total", OUTPUT_TOKENS),
    TC_VALUE_NOTED(AT "goodput_metrics/request_goodput", GOODPUT,
                   "requests that met every objective of the configuration"),
    /* Single numbers without a column. */
    TC_SINGLE_NAMED("load_summary/send_duration", "send_duration", "s", "send_duration"),
    TC_SINGLE_NAMED("load_summary/achieved_rate", "achieved_rate", "requests/s", "send_rate"),
    TC_SINGLE_NAMED(AT "prompt_tokens/cached", "prompt_tokens.cached", "tokens",
                    "cached_input_tokens"),
    TC_SINGLE_NAMED(AT "prompt_tokens/uncached", "prompt_tokens.uncached", "tokens",
                    "uncached_input_tokens"),
    TC_SINGLE_NAMED(AT "throughput/images_per_sec", "images_per_sec", "images/s",
                    "image_throughput"),
    TC_SINGLE_NAMED(AT "throughput/videos_per_sec", "videos_per_sec", "videos/s",
                    "video_throughput"),
    TC_SINGLE_NAMED(AT "throughput/audios_per_sec", "audios_per_sec", "audios/s",
                    "audio_throughput"),
    TC_SINGLE_NAMED(AT "goodput_metrics/goodput_percentage", "goodput_percentage", "%",
                    "goodput_share"),
    TC_SINGLE_NAMED(AT "goodput_metrics/token_goodput", "token_goodput", "tokens/s",
                    "token_goodput"),
    TC_SINGLE_NAMED(AT "token_count_mismatches", "token_count_mismatches", "requests",
                    "token_count_mismatches"),
    TC_FACTS_END,
};

/* Of what the server says of itself. */
static const struct tc_fact SERVER_FACTS[] = {
    TC_SINGLE_NAMED(AT "count", "server.count", "requests", "server_requests"),
    TC_SINGLE_NAMED(AT "rate", "server.rate", "requests/s", "server_request_rate"),
    TC_SINGLE_NAMED(AT "prompt_len/rate", "server.prompt_len.rate", "tokens/s",
                    "server_input_rate"),
    TC_SINGLE_NAMED(AT "output_len/rate", "server.output_len.rate", "tokens/s",
                    "server_output_rate"),
    TC_FACTS_END,
};

/* What the server says of itself. Units of the rest: see the metrics' names. */
static const struct tc_map_dist SERVER_DISTS[] = {
#define SERVER(name, unit, measures) \
    TC_DIST_SLICE(AT name, unit, measures, NOTE_SERVER, "server." name)
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

/* A report of the server's metrics has no latencies of its own level. */
#define SERVER "!successes/latency{}, successes/queue_len{}|successes/request_latency{}"

#define OURS "load_summary{}, successes{}, failures?|successes/throughput{}"
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
    tc_map_point_number(b, "rate", tc_map_real_at(root, "load_summary/requested_rate"));
    tc_map_point_number(b, "concurrency", tc_map_real_at(root, "load_summary/concurrency"));
    if (b->len == 0) {
        tc_map_point_text(b, "stage", S("all"));
    }
}

/* The 90th percentile has columns in a row, and none in a slice: it is one of its own there. */
static void keep_p90(struct tc_result *r, struct tc_slice point, struct tc_json root,
                     const struct tc_map_dist *d)
{
    struct tc_json v;
    double value = 0;
    char field[128];
    if (d->column == TC_MAP_NO_COLUMN && tc_map_at(root, d->path, &v) &&
        tc_map_number_at(v, "p90", &value)) {
        (void)snprintf(field, sizeof field, "%s.p90", d->slice);
        tc_map_slice_number(r, S(""), point, tc_result_cstr(r, tc_slice_cstr(field)), d->measures,
                            d->unit, value, d->note);
    }
}

static void read_server(struct tc_result *r, struct tc_json root)
{
    for (size_t i = 0; i < TC_COUNT(SERVER_DISTS); i++) {
        const struct tc_map_dist *d = &SERVER_DISTS[i];
        struct tc_json v;
        if (tc_map_at(root, d->path, &v) && tc_json_type(v) == TC_JSON_OBJECT) {
            tc_map_slice(r, S(""), TC_EMPTY, root, &STYLE, d, d->slice);
            keep_p90(r, TC_EMPTY, root, d);
        }
    }
    tc_map_singles(r, TC_EMPTY, root, SERVER_FACTS, NOTE_SERVER);
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct tc_json root = in->root;
    struct tc_json load;
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, S("inference"));
    if (tc_map_has(root, SERVER)) {
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
    struct tc_slice text = tc_serving_set_point(row, &point);
    tc_map_values(row, root, FACTS);
    tc_map_dists(row, text, root, &STYLE, DISTS, TC_COUNT(DISTS));
    for (size_t i = 0; i < TC_COUNT(DISTS); i++) {
        keep_p90(r, text, root, &DISTS[i]);
    }
    if (tc_map_at(root, "load_summary", &load)) {
        tc_serving_load(row, load, "concurrency", "requested_rate");
    }
    tc_map_singles(r, text, root, FACTS, NULL);
    /* Other tools pass a part of the report on, without the counts. */
    if (!tc_map_at(root, "successes/count", &load) && !tc_json_get(root, S("failures"), &load)) {
        return TC_OK;
    }
    return tc_serving_completed(row, "successes/count", err);
}

const struct tc_reader tc_reader_inference_perf = {
    .name = "inference-perf",
    .summary = "inference-perf lifecycle and Prometheus reports of a stage or of all (JSON, YAML)",
    .forms = 1u << TC_RESULT_JSON,
    .keys =
        {
            {OURS ", successes/latency{}", TC_SNIFF_SURE, TC_OF_FILE},
            {OURS ", " SERVER, TC_SNIFF_SURE, TC_OF_FILE},
            {OURS, TC_SNIFF_LIKELY, TC_OF_FILE},
        },
    .read = read_file,
};
