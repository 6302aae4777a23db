/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.json of MLPerf Storage (DLIO): what storage gave to emulated accelerators. Members of
 * "metric" are numbers, or lists with one for each epoch; the end of a name is the unit. Its MB are
 * MiB: samples per second times the bytes of a sample, divided by 1024 twice.
 */
#include "base/buf.h"
#include "base/time.h"
#include "codec/codec.h"
#include "result/map.h"
#include "result/stats_priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)
#define NAME_MAX_BYTES 96

static const struct {
    struct tc_slice end;
    const char *source;
    const char *unit;
    double factor;
} UNITS[] = {
    {{"_percentage", 11}, "%", "%", 1},
    {{"_samples_per_second", 19}, "samples/s", "samples/s", 1},
    {{"_MB_per_second", 14}, "MiB/s", "bytes/s", 1048576},
    {{"_GB_per_second", 14}, "GB/s", "GB/s", 1},
    {{"_seconds", 8}, "s", "s", 1},
    {{"_GB", 3}, "GB", "GB", 1},
};

static const struct tc_fact FACTS[] = {TC_FACT("num_hosts", HARDWARE, NODE_COUNT), TC_FACTS_END};

struct summary {
    struct tc_result *r;
    struct tc_error *err;
    struct tc_slice point;
    int64_t started_ns; /* TC_TIME_NONE: not known */
    int64_t ended_ns;
    size_t rows;
};

static int64_t time_at(struct tc_json root, const char *name)
{
    int64_t ns = TC_TIME_NONE;
    return tc_time_parse(tc_map_string_at(root, name), 0, &ns) > 0 ? ns : TC_TIME_NONE;
}

/* The name without its unit. */
static size_t unit_of(struct tc_slice name, struct tc_slice *out_plain)
{
    *out_plain = name;
    for (size_t i = 0; i < TC_COUNT(UNITS); i++) {
        if (tc_slice_ends(name, UNITS[i].end)) {
            out_plain->len -= UNITS[i].end.len;
            return i;
        }
    }
    return TC_COUNT(UNITS);
}

/* "train_io_mean" is the mean of train_io. */
static bool cut_mean(struct tc_slice *io_name)
{
    bool mean = tc_slice_ends(*io_name, S("_mean"));
    io_name->len -= mean ? S("_mean").len : 0;
    return mean;
}

static tc_status add_metric(struct summary *s, struct tc_slice name, struct tc_json value)
{
    struct tc_slice plain;
    size_t u = unit_of(name, &plain);
    bool known = u < TC_COUNT(UNITS);
    double factor = known ? UNITS[u].factor : 1;
    bool list = tc_json_type(value) == TC_JSON_ARRAY;
    double number = 0;
    if (name.len > NAME_MAX_BYTES || (!list && !tc_map_number(value, &number))) {
        return TC_OK;
    }
    bool mean = !list && cut_mean(&plain);
    const char *measures = tc_result_cstr(s->r, plain);
    const struct tc_definition *d = tc_result_define(
        s->r, tc_result_cstr(s->r, name), measures, known ? UNITS[u].source : "",
        known ? UNITS[u].unit : "", list ? "one for each epoch" : "over all epochs");
    struct tc_result_row *row =
        tc_result_add(s->r, TC_TABLE_SLICE, "/metric/%.*s", (int)name.len, name.ptr);
    tc_result_text(row, TC_SLICE_METRIC, list ? tc_slice_cstr(measures) : plain);
    tc_result_textf(row, TC_SLICE_POINT, "%.*s%sover=%s", TC_FMT(s->point),
                    s->point.len > 0 ? " " : "", list ? "epochs" : "run");
    tc_result_text(row, TC_SLICE_UNIT, tc_slice_cstr(known ? UNITS[u].unit : ""));
    tc_map_slice_window(row, s->started_ns, s->ended_ns);
    s->rows++;
    if (!list) {
        tc_result_real(row, mean ? TC_SLICE_MEAN : TC_SLICE_LAST, number * factor, d);
        return TC_OK;
    }
    struct tc__stats stats = {.count = 0};
    tc__stats_add_json(&stats, value, factor);
    tc_status status = stats.status;
    if (status == TC_OK) {
        tc__stats_slice(&stats, row, d);
    }
    tc__stats_fini(&stats);
    return status == TC_OK ? TC_OK
                           : tc_fail(s->err, status, 0, "/metric/%.*s: too many values",
                                     (int)name.len, name.ptr);
}

static void tell_status(struct tc_json root, struct tc_result *r, bool ended)
{
    struct tc_slice met = tc_map_string_at(root, "metric/train_au_meet_expectation");
    bool missed = met.len > 0 && !tc_slice_eq(met, S("success"));
    if (missed) {
        tc_result_note(r, false, "/metric/train_au_meet_expectation", "train_au_meet_expectation",
                       "the accelerators were not used as much as the benchmark wants");
    }
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS,
                        missed  ? S("failed")
                        : ended ? S("succeeded")
                                : S("incomplete"));
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    char data[192];
    struct tc_buf point = tc_buf_make(data, sizeof data);
    struct tc_json metrics;
    struct tc_slice name;
    struct tc_json value;
    if (!tc_map_at(in->root, "metric", &metrics)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "/metric: an object of measurements is needed");
    }
    /* The accelerators are emulated: how many is a part of the point, and no fact about GPUs. */
    tc_map_point_text(&point, "workload",
                      tc_slice_head(tc_map_string_at(in->root, "workload"), 64));
    tc_map_point_number(&point, "accelerators", tc_map_real_at(in->root, "num_accelerators"));
    tc_map_point_number(&point, "hosts", tc_map_real_at(in->root, "num_hosts"));
    struct summary s = {.r = r,
                        .err = err,
                        .point = tc_buf_slice(&point),
                        .started_ns = time_at(in->root, "start"),
                        .ended_ns = time_at(in->root, "end")};
    struct tc_json_iter it = tc_json_iter_make(metrics);
    while (tc_json_iter_next(&it, &name, &value)) {
        TC_TRY(add_metric(&s, name, value));
    }
    if (s.rows == 0) {
        return tc_fail(err, TC_E_MALFORMED, 0, "/metric: no number was measured");
    }
    if (s.started_ns != TC_TIME_NONE) {
        tc_result_fact_time(r, TC_TABLE_RUN, TC_RUN_STARTED, s.started_ns);
        tc_result_note(r, false, "/start", "start", "times without a zone are taken as UTC");
    }
    tc_result_fact_time(r, TC_TABLE_RUN, TC_RUN_ENDED, s.ended_ns);
    tc_map_facts(r, in->root, FACTS);
    tell_status(in->root, r, s.ended_ns != TC_TIME_NONE);
    return TC_OK;
}

const struct tc_reader tc_reader_mlperf_storage = {
    .name = "mlperf-storage",
    .summary = "MLPerf Storage: summary.json of DLIO",
    .forms = 1u << TC_RESULT_JSON,
    .keys =
        {
            {"metric{}, num_accelerators", TC_SNIFF_SURE, TC_OF_FILE},
        },
    .read = read_file,
};
