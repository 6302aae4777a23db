/* SPDX-License-Identifier: Apache-2.0 */
#include "result/inferencex/priv.h"

#include <stdio.h>

#define NOTE_RUN "all of the profiling phase: the warm-up is not counted"

static const struct tc_map_style STYLE = {
    .names = {[TC_STAT_MEAN] = {"mean"}, [TC_STAT_P50] = {"p50", "median"}, TC_STYLE_P90_P99},
};

/* What it calls itl is AIPerf's inter_token_latency, so a TPOT like the one it calls so. */
static const struct tc_map_dist DISTS[] = {
    TC_DIST("request_metrics/latency/ttft", TTFT, "s", NULL, NULL),
    TC_DIST("request_metrics/latency/tpot", TPOT, "s", TC_NOTE_TPOT, NULL),
    TC_DIST("request_metrics/latency/itl", TPOT, "s", TC_NOTE_TPOT, NULL),
    TC_DIST("request_metrics/latency/e2el", E2E, "s", NULL, NULL),
};

static const struct tc_fact VALUES[] = {
    TC_VALUE("request_metrics/throughput/duration_seconds", DURATION_S),
    TC_VALUE("request_metrics/throughput/input/tokens_per_second", INPUT_TOKENS_PER_S),
    TC_VALUE("request_metrics/throughput/output/tokens_per_second", OUTPUT_TOKENS_PER_S),
    TC_VALUE("request_metrics/throughput/total/tokens_per_second", TOTAL_TOKENS_PER_S),
    TC_FACTS_END,
};

/* Groups of statistics that have no column: a slice per number, for interactivity falls where the
 * latency rises. */
static const struct {
    const char *path;
    const char *name;
    const char *unit;
} GROUPS[] = {
    {"request_metrics/qps", "qps", "requests/s"},
    {"request_metrics/latency/ttft", "ttft", "s"},
    {"request_metrics/latency/tpot", "tpot", "s"},
    {"request_metrics/latency/e2el", "e2el", "s"},
    {"request_metrics/latency/intvty", "intvty", "tokens/s/user"},
    {"request_metrics/latency/e2e_norm_intvty", "e2e_norm_intvty", "tokens/s/user"},
    {"request_metrics/latency/full_response_itl", "full_response_itl", "s"},
    {"request_metrics/latency/full_response_intvty", "full_response_intvty", "tokens/s/user"},
    {"request_metrics/tokens/input", "tokens.input", "tokens"},
    {"request_metrics/tokens/output_actual", "tokens.output_actual", "tokens"},
    {"request_metrics/tokens/output_expected", "tokens.output_expected", "tokens"},
    {"request_metrics/throughput/per_gpu", "per_gpu", "tokens/s/GPU"},
    {"request_metrics/throughput/full_response_output_token_throughput_per_user",
     "full_response_output_token_throughput_per_user", "tokens/s/user"},
    {"request_metrics/cache", "cache", "ratio"},
    {"server_metrics/kv_cache", "server.kv_cache", ""},
    {"server_metrics/cache", "server.cache", ""},
    {"server_metrics/tokens", "server.tokens", ""},
};

/* Units of what the server says, by the end of the name. */
static const char *unit_of(struct tc_slice name)
{
    if (tc_slice_ends(name, TC_LIT("_rate")) || tc_slice_ends(name, TC_LIT("_pct"))) {
        return "ratio";
    }
    return tc_slice_ends(name, TC_LIT("tokens")) ? "tokens" : "count";
}

static void put_group(const struct tc_result_row *row, struct tc_slice point, struct tc_json o,
                      size_t group)
{
    struct tc_json all;
    if (!tc_map_at(o, GROUPS[group].path, &all) || tc_json_type(all) != TC_JSON_OBJECT) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(all);
    struct tc_slice name;
    struct tc_json v;
    while (tc_json_iter_next(&it, &name, &v)) {
        double value = 0;
        char field[160];
        char metric[160];
        if (!tc_map_number(v, &value) || name.len > 64 ||
            tc_slice_eq(name, TC_LIT("window_seconds")) || tc_slice_eq(name, TC_LIT("samples"))) {
            continue;
        }
        (void)snprintf(field, sizeof field, "%s.%.*s", GROUPS[group].path, TC_FMT(name));
        for (char *c = field; *c != '\0'; c++) {
            *c = *c == '/' ? '.' : *c;
        }
        if (tc_serving_uses(row, tc_slice_cstr(field))) {
            continue;
        }
        (void)snprintf(metric, sizeof metric, "%s.%.*s", GROUPS[group].name, TC_FMT(name));
        const char *unit = GROUPS[group].unit[0] != '\0' ? GROUPS[group].unit : unit_of(name);
        tc_map_slice_number(row->result, row->where, point, metric, GROUPS[group].name, unit, value,
                            NULL);
    }
}

/* num_requests_total is all records, with those of the warm-up: what counts is the rest. */
static void count_requests(struct tc_result_row *row, struct tc_json o)
{
    int64_t total = 0;
    int64_t warm_up = 0;
    int64_t completed = 0;
    if (!tc_map_int_at(o, "request_accounting/records_total", &total) ||
        !tc_map_int_at(o, "request_accounting/records_warmup_dropped", &warm_up) ||
        !tc_map_int_at(o, "request_accounting/records_profiled", &completed) || warm_up < 0 ||
        completed < 0 || total < warm_up || total - warm_up < completed) {
        return;
    }
    const struct {
        size_t column;
        int64_t count;
        const char *field;
    } counts[] = {
        {TC_SERVING_REQUESTS, total - warm_up, "records_total - records_warmup_dropped"},
        {TC_SERVING_COMPLETED, completed, "records_profiled"},
        {TC_SERVING_ERRORS, total - warm_up - completed,
         "records_dropped_total - records_warmup_dropped"},
    };
    for (size_t i = 0; i < TC_COUNT(counts); i++) {
        tc_result_int(row, counts[i].column, counts[i].count,
                      tc_result_define(row->result, counts[i].field,
                                       tc_map_measures(counts[i].column), "requests", "requests",
                                       NOTE_RUN));
    }
}

void tc__inferencex_nested(struct tc_result_row *row, struct tc_slice point, struct tc_json o)
{
    if (row == NULL) {
        return;
    }
    count_requests(row, o);
    tc_map_values(row, o, VALUES);
    tc_map_dists(row, point, o, &STYLE, DISTS, TC_COUNT(DISTS));
    for (size_t i = 0; i < TC_COUNT(GROUPS); i++) {
        put_group(row, point, o, i);
    }
}
