/* SPDX-License-Identifier: Apache-2.0 */
#include "result/nccl/priv.h"

#include "result/lines_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define JSON_VERSION_KNOWN 3

struct member {
    const char *path;
    enum tc__nccl_value value;
};
static const struct member MEASURED[] = {
    {"time", TC__NCCL_TIME},
    {"alg_bw", TC__NCCL_ALGBW},
    {"bus_bw", TC__NCCL_BUSBW},
    {"nwrong", TC__NCCL_WRONG},
    {"bitwise/different_bits", TC__NCCL_BITDIFF},
};
static const struct member ITERATIONS[] = {
    {"min_us", TC__NCCL_ITER_MIN},  {"max_us", TC__NCCL_ITER_MAX}, {"p99_us", TC__NCCL_ITER_P99},
    {"avg_us", TC__NCCL_ITER_MEAN}, {"p50_us", TC__NCCL_ITER_P50}, {"p95_us", TC__NCCL_ITER_P95},
};

static void take_members(struct tc_json v, const struct member *members, size_t count,
                         struct tc__nccl_half *h)
{
    for (size_t i = 0; i < count; i++) {
        h->known[members[i].value] =
            tc_map_number_at(v, members[i].path, &h->values[members[i].value]);
    }
}

/* nccl-tests writes what it could not measure as a text. */
static void note_text(struct tc_result *r, const char *where, const char *half, struct tc_json v)
{
    static const char *const NAMES[] = {"time", "alg_bw", "bus_bw"};
    for (size_t i = 0; i < TC_COUNT(NAMES); i++) {
        struct tc_json value;
        double number = 0;
        if (tc_map_at(v, NAMES[i], &value) && !tc_map_number(value, &number)) {
            char at[96];
            (void)snprintf(at, sizeof at, "%s/%s/%s", where, half, NAMES[i]);
            tc_result_note(r, false, at, NAMES[i], "is no number ('%.*s'): taken as unknown",
                           TC_FMT(tc_slice_head(tc_map_string_at(value, ""), 32)));
        }
    }
}

static void json_half(struct tc_result *r, const char *where, struct tc_json o, const char *name,
                      const char *iterations, struct tc__nccl_half *h)
{
    struct tc_json v;
    if (tc_map_at(o, name, &v)) {
        take_members(v, MEASURED, TC_COUNT(MEASURED), h);
        h->cpu_time =
            !h->known[TC__NCCL_TIME] && tc_map_number_at(v, "cpu_time", &h->values[TC__NCCL_TIME]);
        h->known[TC__NCCL_TIME] |= h->cpu_time;
        note_text(r, where, name, v);
    }
    if (tc_map_at(o, iterations, &v)) {
        take_members(v, ITERATIONS, TC_COUNT(ITERATIONS), h);
        /* These three are of one version: all of them, or none. */
        bool all = h->known[TC__NCCL_ITER_MEAN] && h->known[TC__NCCL_ITER_P50] &&
                   h->known[TC__NCCL_ITER_P95];
        h->known[TC__NCCL_ITER_MEAN] = all;
        h->known[TC__NCCL_ITER_P50] = all;
        h->known[TC__NCCL_ITER_P95] = all;
    }
}

static tc_status json_row(struct tc__nccl_log *l, struct tc_json o, size_t index)
{
    struct tc__nccl_row t = {.size = 0};
    int64_t size = 0;
    char where[48];
    (void)snprintf(where, sizeof where, "/results/%zu", index);
    if (!tc_map_int_at(o, "size", &size) || size < 0) {
        return tc_fail(l->err, TC_E_MALFORMED, 0, "%s/size: a size in bytes is needed", where);
    }
    t.size = (uint64_t)size;
    t.type = tc_map_string_at(o, "type");
    t.redop = tc_map_string_at(o, "redop");
    t.root = tc_slice_trim(tc_map_string_at(o, "root"));
    int64_t done = 0;
    l->iterations = tc_map_int_at(o, "actual_iterations", &done) && done > 0 ? done : l->iterations;
    json_half(l->r, where, o, "out_of_place", "out_of_place_per_iter", &t.half[0]);
    json_half(l->r, where, o, "in_place", "in_place_per_iter", &t.half[1]);
    tc__nccl_add_row(l, where, &t);
    return TC_OK;
}

static void json_devices(struct tc__nccl_log *l, struct tc_json o)
{
    struct tc_json devices;
    struct tc_json device;
    if (!tc_map_at(o, "config/devices", &devices) && !tc_map_at(o, "devices", &devices)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(devices);
    while (tc_json_iter_next(&it, NULL, &device)) {
        int64_t rank = -1;
        (void)tc_map_int_at(device, "rank", &rank);
        /* Its number on the host, and its address there. */
        char data[128];
        struct tc_buf place = tc_buf_make(data, sizeof data);
        tc_map_point(&place, device, "device,device_hex,device_num,pci_bus_id");
        tc__nccl_add_device(l, rank, tc_map_string_at(device, "hostname"), tc_buf_slice(&place),
                            tc_map_string_at(device, "device_info"));
    }
}

static void json_summary(struct tc__nccl_log *l, struct tc_json o)
{
    double average = 0;
    int64_t wrong = 0;
    if (tc_map_int_at(o, "out_of_bounds/count", &wrong) && wrong > 0) {
        l->failures++;
        tc_result_note(l->r, false, "/out_of_bounds/count", "count", "%" PRId64 " out of bounds",
                       wrong);
    }
    if (tc_map_number_at(o, "average_bus_bandwidth/bandwidth", &average)) {
        tc__nccl_add_average(l, "/average_bus_bandwidth/bandwidth", average);
    }
    struct tc_json okay;
    bool yes = true;
    if (tc_map_at(o, "average_bus_bandwidth/okay", &okay) && tc_json_bool(okay, &yes) && !yes) {
        l->failures++;
        tc_result_note(l->r, false, "/average_bus_bandwidth/okay", "okay",
                       "the average is below the one that was asked for");
    }
    struct tc_json errors;
    struct tc_json error;
    struct tc_slice text;
    if (tc_map_at(o, "errors", &errors)) {
        struct tc_json_iter it = tc_json_iter_make(errors);
        while (tc_json_iter_next(&it, NULL, &error)) {
            if (tc_json_string(error, &text) && text.len > 0) {
                tc_result_note(l->r, false, "/errors", "errors", "%.*s",
                               TC_FMT(tc_slice_head(text, 160)));
            }
        }
    }
}

tc_status tc__nccl_read_json(const struct tc_result_input *in, struct tc__nccl_log *l)
{
    struct tc_json o = in->root;
    struct tc_json list;
    struct tc_json v;
    int64_t number = 0;
    if (tc_map_int_at(o, "version", &number) && number > JSON_VERSION_KNOWN) {
        tc_result_note(l->r, false, "/version", "version",
                       "version %" PRId64 " is newer than the %d that is known here", number,
                       JSON_VERSION_KNOWN);
    }
    if (tc_map_int_at(o, "nccl_version", &number)) {
        tc__nccl_version(l, number);
    }
    (void)(tc_map_int_at(o, "config/iterations", &l->iterations));
    if (tc_map_at(o, "args", &list)) {
        struct tc_json_iter it = tc_json_iter_make(list);
        struct tc_slice program;
        if (tc_json_iter_next(&it, NULL, &v) && tc_json_string(v, &program)) {
            tc__nccl_set_op(l, tc__nccl_op_in(tc__path_last(program)));
        }
    }
    l->tables = 1;
    l->unnamed = l->op[0] == '\0';
    json_devices(l, o);
    if (!tc_map_at(o, "results", &list)) {
        return tc_fail(l->err, TC_E_MALFORMED, 0, "/results: a list of measurements is needed");
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    for (size_t i = 0; tc_json_iter_next(&it, NULL, &v); i++) {
        TC_TRY(json_row(l, v, i));
    }
    json_summary(l, o);
    tc__nccl_finish(l);
    return TC_OK;
}
