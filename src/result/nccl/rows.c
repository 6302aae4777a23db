/* SPDX-License-Identifier: Apache-2.0 */
#include "result/nccl/priv.h"

#include "base/buf.h"
#include "result/lines_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define MEAN_NOTE "average over the iterations, of the slowest rank or over ranks as -a says"

static const struct tc_definition TIME_OF = {"time", "collective_time", "us", "us", MEAN_NOTE};
static const struct tc_definition TIME_MS_OF = {"time (ms)", "collective_time", "ms", "us",
                                                MEAN_NOTE};
static const struct tc_definition CPU_TIME_OF = {"cputime", "collective_cpu_time", "us", "us",
                                                 MEAN_NOTE};
static const struct tc_definition ALGBW_OF = {"algbw", "algorithm_bandwidth", "GB/s", "GB/s",
                                              "size / time; 10^9 bytes"};
static const struct tc_definition BUSBW_OF = {
    "busbw", "bus_bandwidth", "GB/s", "GB/s",
    "algbw times a factor of the collective and the number of ranks; 10^9 bytes"};
static const struct tc_definition WRONG_OF = {"#wrong", "wrong_elements", "elements", "elements",
                                              "elements that are not what they must be"};
static const struct tc_definition ERROR_OF = {"error", "largest_error", "ratio", "ratio",
                                              "largest difference from what must come out"};
static const struct tc_definition BITDIFF_OF = {"#bitdiff", "bits_that_differ", "bits", "bits",
                                                "between repeats"};
static const struct tc_definition AVERAGE_OF = {
    "Avg bus bandwidth", "average_bus_bandwidth", "GB/s", "GB/s",
    "over all sizes, out of place and in place; 10^9 bytes"};

#define ITER_NOTE "of single iterations, slowest rank of each"
/* Of single iterations; the last three are of JSON alone. */
static const struct {
    enum tc__nccl_value value;
    size_t column;
    struct tc_definition definition;
} ITERATIONS[] = {
    {TC__NCCL_ITER_MIN, TC_SLICE_MIN, {"i_min", "iteration_time", "us", "us", ITER_NOTE}},
    {TC__NCCL_ITER_MAX, TC_SLICE_MAX, {"i_max", "iteration_time", "us", "us", ITER_NOTE}},
    {TC__NCCL_ITER_P99, TC_SLICE_P99, {"i_p99", "iteration_time", "us", "us", ITER_NOTE}},
    {TC__NCCL_ITER_MEAN, TC_SLICE_MEAN, {"avg_us", "iteration_time", "us", "us", ITER_NOTE}},
    {TC__NCCL_ITER_P50, TC_SLICE_P50, {"p50_us", "iteration_time", "us", "us", ITER_NOTE}},
    {TC__NCCL_ITER_P95, TC_SLICE_P95, {"p95_us", "iteration_time", "us", "us", ITER_NOTE}},
};

static const char *const OPS[] = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",    "alltoallv",
    "alltoall",   "gather",     "scatter",        "sendrecv",  "hypercube",
};

/* Programs are named OP_perf; those of NCCL 1 were OP_test. */
static const char *op_before(struct tc_slice text, struct tc_slice ending)
{
    const char *found = "";
    struct tc_slice rest = text;
    while (tc__text_after(rest, ending, &rest)) {
        size_t end = (size_t)(rest.ptr - text.ptr) - ending.len;
        if (rest.len > 0 && tc_is_word(rest.ptr[0])) {
            continue;
        }
        struct tc_slice before = tc_slice_head(text, end);
        for (size_t i = 0; i < TC_COUNT(OPS); i++) {
            struct tc_slice op = tc_slice_cstr(OPS[i]);
            bool whole = tc_slice_ends(before, op) &&
                         (before.len == op.len || !tc_is_word(before.ptr[before.len - op.len - 1]));
            if (whole && found[0] != '\0' && strcmp(found, OPS[i]) != 0) {
                return "";
            }
            found = whole ? OPS[i] : found;
        }
    }
    return found;
}

/* The one collective whose program a text names; "" for none or several. */
const char *tc__nccl_op_in(struct tc_slice text)
{
    const char *op = op_before(text, S("_perf"));
    return op[0] != '\0' ? op : op_before(text, S("_test"));
}

const char *tc__nccl_op_named(struct tc_slice name)
{
    for (size_t i = 0; i < TC_COUNT(OPS); i++) {
        char plain[32];
        struct tc_buf b = tc_buf_make(plain, sizeof plain);
        for (const char *c = OPS[i]; *c != '\0'; c++) {
            if (*c != '_') {
                tc_buf_char(&b, *c);
            }
        }
        if (tc_slice_eq_nocase(name, tc_buf_slice(&b))) {
            return OPS[i];
        }
    }
    return "";
}

void tc__nccl_set_op(struct tc__nccl_log *l, const char *op)
{
    (void)snprintf(l->op, sizeof l->op, "%s", op);
}

/* ---- rows ---- */

static struct tc_result_row *add_slice(struct tc__nccl_log *l, const char *where,
                                       const char *metric, const char *unit,
                                       const struct tc__nccl_row *t, int in_place)
{
    char data[256];
    struct tc_buf point = tc_buf_make(data, sizeof data);
    tc_map_point_text(&point, "op", tc_slice_cstr(l->op));
    if (t != NULL) {
        tc_map_point_number(&point, "size", (double)t->size);
        tc_map_point_text(&point, "type", t->type);
        tc_map_point_text(&point, "redop", t->redop);
        tc_map_point_text(&point, "root", t->root);
        if (!t->one_place) {
            tc_map_point_number(&point, "in_place", in_place);
        }
    }
    return tc_map_add_slice(l->r, tc_slice_cstr(where), tc_buf_slice(&point), metric, unit);
}

static void add_iterations(struct tc__nccl_log *l, const char *where, const struct tc__nccl_row *t,
                           int in_place)
{
    const struct tc__nccl_half *h = &t->half[in_place];
    struct tc_result_row *row = NULL;
    for (size_t i = 0; i < TC_COUNT(ITERATIONS); i++) {
        if (h->known[ITERATIONS[i].value]) {
            row = row != NULL ? row : add_slice(l, where, "iteration_time", "us", t, in_place);
            tc_result_real(row, ITERATIONS[i].column, h->values[ITERATIONS[i].value],
                           &ITERATIONS[i].definition);
        }
    }
}

void tc__nccl_add_row(struct tc__nccl_log *l, const char *where, const struct tc__nccl_row *t)
{
    static const struct {
        enum tc__nccl_value value;
        const char *metric;
        size_t column;
        const struct tc_definition *definition;
    } kinds[] = {
        {TC__NCCL_TIME, "time", TC_SLICE_MEAN, &TIME_OF},
        {TC__NCCL_ALGBW, "algbw", TC_SLICE_MEAN, &ALGBW_OF},
        {TC__NCCL_BUSBW, "busbw", TC_SLICE_MEAN, &BUSBW_OF},
        {TC__NCCL_WRONG, "wrong", TC_SLICE_LAST, &WRONG_OF},
        {TC__NCCL_ERROR, "error", TC_SLICE_LAST, &ERROR_OF},
        {TC__NCCL_BITDIFF, "bitdiff", TC_SLICE_LAST, &BITDIFF_OF},
    };
    l->rows++;
    for (int i = 0; i < 2; i++) {
        const struct tc__nccl_half *h = &t->half[i];
        for (size_t k = 0; k < TC_COUNT(kinds); k++) {
            bool cpu = kinds[k].value == TC__NCCL_TIME && h->cpu_time;
            bool ms = kinds[k].value == TC__NCCL_TIME && l->in_ms;
            const struct tc_definition *d = cpu  ? &CPU_TIME_OF
                                            : ms ? &TIME_MS_OF
                                                 : kinds[k].definition;
            double value = h->values[kinds[k].value] * (ms ? 1000 : 1);
            if (!h->known[kinds[k].value]) {
                continue;
            }
            if (value < 0) {
                tc_result_note(l->r, true, where, d->field, "%s is negative: %.17g", d->field,
                               value);
            }
            struct tc_result_row *row =
                add_slice(l, where, cpu ? "cpu_time" : kinds[k].metric, d->unit, t, i);
            tc_result_real(row, kinds[k].column, value, d);
            if (kinds[k].value == TC__NCCL_TIME && l->iterations > 0) {
                tc_result_int(row, TC_SLICE_COUNT, l->iterations, NULL);
            }
        }
        if (h->known[TC__NCCL_WRONG] && h->values[TC__NCCL_WRONG] > 0) {
            l->failures++;
            tc_result_note(l->r, false, where, "#wrong", "%.17g wrong elements",
                           h->values[TC__NCCL_WRONG]);
        }
        add_iterations(l, where, t, i);
    }
}

void tc__nccl_add_average(struct tc__nccl_log *l, const char *where, double value)
{
    struct tc_result_row *row = add_slice(l, where, "avg_busbw", "GB/s", NULL, 0);
    tc_result_real(row, TC_SLICE_MEAN, value, &AVERAGE_OF);
    l->ends++;
}

/* ---- machines and versions ---- */

static void count_name(struct tc__nccl_names *names, uint64_t hash)
{
    hash |= 1;
    size_t at = (size_t)(hash >> 32) % TC__NCCL_NAME_SLOTS;
    while (names->hashes[at] != 0 && names->hashes[at] != hash) {
        at = (at + 1) % TC__NCCL_NAME_SLOTS;
    }
    if (names->hashes[at] == 0 && names->count < TC__NCCL_NAMES_MAX) {
        names->hashes[at] = hash;
        names->count++;
    }
}

void tc__nccl_add_device(struct tc__nccl_log *l, int64_t rank, struct tc_slice host,
                         struct tc_slice device, struct tc_slice model)
{
    uint64_t hash = tc_slice_hash(host, 0);
    if (host.len > 0) {
        count_name(&l->hosts, hash);
    }
    if (device.len > 0) {
        count_name(&l->devices, tc_slice_hash(device, hash));
        l->rank_lines++;
    }
    if (rank >= l->ranks && rank < INT32_MAX) {
        l->ranks = rank + 1;
    }
    tc_result_fact_text(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL, tc_slice_trim(model));
}

/* Devices where every rank has told its own: two may share one. Otherwise the ranks. */
static void tell_machines(struct tc__nccl_log *l)
{
    bool all =
        l->ranks > 0 && l->rank_lines >= (size_t)l->ranks && l->rank_lines % (size_t)l->ranks == 0;
    bool counted = all && l->devices.count < TC__NCCL_NAMES_MAX;
    int64_t gpus = l->gpus > 0 ? l->gpus : counted ? (int64_t)l->devices.count : l->ranks;
    if (gpus > 0) {
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, gpus);
    }
    /* Hosts of ranks that are not told are not known. */
    if (l->hosts.count > 0 && l->hosts.count < TC__NCCL_NAMES_MAX && (all || l->rank_lines == 0)) {
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT,
                           (int64_t)l->hosts.count);
    }
}

/* 22703 is 2.27.3; before 2.9 it was 2708 for 2.7.8. */
void tc__nccl_version(struct tc__nccl_log *l, int64_t code)
{
    char text[48];
    int64_t unit = code < 10000 ? 1000 : 10000;
    if (code > 0 && code < 1000000) {
        int len = snprintf(text, sizeof text, "%" PRId64 ".%" PRId64 ".%" PRId64, code / unit,
                           code % unit / 100, code % 100);
        tc_result_fact_text(l->r, TC_TABLE_SOFTWARE, TC_SOFTWARE_NCCL,
                            tc_slice_make(text, (size_t)len));
    }
}

void tc__nccl_finish(struct tc__nccl_log *l)
{
    tell_machines(l);
    bool ended = l->ends >= l->tables;
    if (!ended) {
        tc_result_note(l->r, false, "", "Avg bus bandwidth",
                       "%zu of %zu tables have no average below them: the test did not end, or the "
                       "log is a part of it",
                       l->tables - l->ends, l->tables);
    }
    if (l->one_place_line > 0) {
        tc_result_note(l->r, false, tc_as_line(l->one_place_line), "in_place",
                       "rows have the values of one place where the head has two: it is not known "
                       "whether out of place or in place");
    }
    if (l->unnamed > 0) {
        tc_result_note(l->r, false, "", "op", "the file does not say which collective was tested");
    }
    tc_result_fact_text(l->r, TC_TABLE_RUN, TC_RUN_STATUS,
                        l->failures > 0 ? S("failed")
                        : ended         ? S("succeeded")
                                        : S("unknown"));
}
