/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl-tests and rccl-tests: the table that they print, or the JSON of -J. The head of the table
 * says which columns there are: older ones have "error" for "#wrong", no "root", no "redop"; newer
 * ones may have columns for each iteration. Times are averages over the iterations, in us;
 * bandwidths are GB/s (10^9 bytes). Several tables may follow each other in one log.
 */
#include "base/buf.h"
#include "codec/codec.h"
#include "run/result_lines_priv.h"
#include "run/result_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define COLUMNS_MAX 32
#define HOSTS_MAX 4096
#define JSON_VERSION_KNOWN 3
/* What stands for the values that a replay of a trace does not have. */
#define BLANK_BODY 30

/* What is measured, once out of place and once in place. */
enum value { TIME, ALGBW, BUSBW, WRONG, ERROR, BITDIFF, ITER_MIN, ITER_MAX, ITER_P99, VALUES };

/* Other columns of the table. */
enum { SIZE = VALUES, COUNT, TYPE, REDOP, ROOT, IGNORED };

struct half {
    double values[VALUES];
    bool known[VALUES];
    bool cpu_time;
    /* Of JSON alone. */
    double iter_mean;
    double iter_p50;
    double iter_p95;
    bool has_iter;
};

struct test_row {
    uint64_t size;
    struct tc_slice type;
    struct tc_slice redop;
    struct tc_slice root;
    struct half half[2]; /* out of place, in place */
};

struct log {
    struct tc_result *r;
    struct tc_error *err;
    char op[32];
    int columns[COLUMNS_MAX];
    bool in_place[COLUMNS_MAX];
    size_t column_count;
    bool cpu_time;
    int64_t iterations; /* 0: not known */
    size_t tables;
    size_t ends; /* tables that told their average */
    size_t failures;
    size_t unnamed;
    int64_t ranks;
    size_t host_count;
    uint64_t hosts[HOSTS_MAX]; /* hashes of their names */
};

#define MEAN_NOTE "average over the iterations, of the slowest rank or over ranks as -a says"

static const struct tc_definition TIME_OF = {"time", "collective_time", "us", "us", MEAN_NOTE};
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
static const struct tc_definition ITER_MIN_OF = {"i_min", "iteration_time", "us", "us", ITER_NOTE};
static const struct tc_definition ITER_MAX_OF = {"i_max", "iteration_time", "us", "us", ITER_NOTE};
static const struct tc_definition ITER_P99_OF = {"i_p99", "iteration_time", "us", "us", ITER_NOTE};
static const struct tc_definition ITER_P95_OF = {"p95_us", "iteration_time", "us", "us", ITER_NOTE};
static const struct tc_definition ITER_P50_OF = {"p50_us", "iteration_time", "us", "us", ITER_NOTE};
static const struct tc_definition ITER_AVG_OF = {"avg_us", "iteration_time", "us", "us", ITER_NOTE};

static const char *const OPS[] = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",    "alltoallv",
    "alltoall",   "gather",     "scatter",        "sendrecv",  "hypercube",
};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The one collective whose program a text names; "" for none or several. */
static const char *op_in(struct tc_slice text)
{
    const char *found = "";
    struct tc_slice rest = text;
    while (tc__text_after(rest, S("_perf"), &rest)) {
        size_t end = (size_t)(rest.ptr - text.ptr) - S("_perf").len;
        if (rest.len > 0 && is_name_char(rest.ptr[0])) {
            continue;
        }
        struct tc_slice before = tc_slice_head(text, end);
        for (size_t i = 0; i < sizeof OPS / sizeof OPS[0]; i++) {
            struct tc_slice op = tc_slice_cstr(OPS[i]);
            bool whole =
                tc_slice_ends(before, op) &&
                (before.len == op.len || !is_name_char(before.ptr[before.len - op.len - 1]));
            if (whole && found[0] != '\0' && strcmp(found, OPS[i]) != 0) {
                return "";
            }
            found = whole ? OPS[i] : found;
        }
    }
    return found;
}

static void set_op(struct log *l, const char *op)
{
    (void)snprintf(l->op, sizeof l->op, "%s", op);
}

/* ---- rows ---- */

static struct tc_result_row *add_slice(struct log *l, const char *where, const char *metric,
                                       const char *unit, const struct test_row *t, int in_place)
{
    char data[256];
    struct tc_buf point = tc_buf_make(data, sizeof data);
    struct tc_result_row *row = tc_result_add(l->r, TC_TABLE_SLICE, "%s", where);
    tc_map_point_text(&point, "op", tc_slice_cstr(l->op));
    if (t != NULL) {
        tc_map_point_number(&point, "size", (double)t->size);
        tc_map_point_text(&point, "type", t->type);
        tc_map_point_text(&point, "redop", t->redop);
        tc_map_point_text(&point, "root", t->root);
        tc_map_point_number(&point, "in_place", in_place);
    }
    tc_result_text(l->r, row, TC_SLICE_FAMILY, S("nccl-tests"));
    tc_result_text(l->r, row, TC_SLICE_METRIC, tc_slice_cstr(metric));
    tc_result_text(l->r, row, TC_SLICE_UNIT, tc_slice_cstr(unit));
    tc_result_text(l->r, row, TC_SLICE_POINT, tc_buf_slice(&point));
    return row;
}

static void add_iterations(struct log *l, const char *where, const struct test_row *t, int in_place)
{
    const struct half *h = &t->half[in_place];
    if (!h->has_iter && !h->known[ITER_MIN] && !h->known[ITER_MAX] && !h->known[ITER_P99]) {
        return;
    }
    struct tc_result_row *row = add_slice(l, where, "iteration_time", "us", t, in_place);
    if (h->known[ITER_MIN]) {
        tc_result_real(row, TC_SLICE_MIN, h->values[ITER_MIN], &ITER_MIN_OF);
    }
    if (h->known[ITER_MAX]) {
        tc_result_real(row, TC_SLICE_MAX, h->values[ITER_MAX], &ITER_MAX_OF);
    }
    if (h->known[ITER_P99]) {
        tc_result_real(row, TC_SLICE_P99, h->values[ITER_P99], &ITER_P99_OF);
    }
    if (h->has_iter) {
        tc_result_real(row, TC_SLICE_MEAN, h->iter_mean, &ITER_AVG_OF);
        tc_result_real(row, TC_SLICE_P50, h->iter_p50, &ITER_P50_OF);
        tc_result_real(row, TC_SLICE_P95, h->iter_p95, &ITER_P95_OF);
    }
}

static void add_row(struct log *l, const char *where, const struct test_row *t)
{
    static const struct {
        enum value value;
        const char *metric;
        size_t column;
        const struct tc_definition *definition;
    } kinds[] = {
        {TIME, "time", TC_SLICE_MEAN, &TIME_OF},
        {ALGBW, "algbw", TC_SLICE_MEAN, &ALGBW_OF},
        {BUSBW, "busbw", TC_SLICE_MEAN, &BUSBW_OF},
        {WRONG, "wrong", TC_SLICE_LAST, &WRONG_OF},
        {ERROR, "error", TC_SLICE_LAST, &ERROR_OF},
        {BITDIFF, "bitdiff", TC_SLICE_LAST, &BITDIFF_OF},
    };
    for (int i = 0; i < 2; i++) {
        const struct half *h = &t->half[i];
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            bool cpu = kinds[k].value == TIME && h->cpu_time;
            const struct tc_definition *d = cpu ? &CPU_TIME_OF : kinds[k].definition;
            double value = h->values[kinds[k].value];
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
            if (kinds[k].value == TIME && l->iterations > 0) {
                tc_result_int(row, TC_SLICE_COUNT, l->iterations, NULL);
            }
        }
        if (h->known[WRONG] && h->values[WRONG] > 0) {
            l->failures++;
            tc_result_note(l->r, false, where, "#wrong", "%.17g wrong elements", h->values[WRONG]);
        }
        add_iterations(l, where, t, i);
    }
}

static void add_average(struct log *l, const char *where, double value)
{
    struct tc_result_row *row = add_slice(l, where, "avg_busbw", "GB/s", NULL, 0);
    tc_result_real(row, TC_SLICE_MEAN, value, &AVERAGE_OF);
    l->ends++;
}

/* ---- machines and versions ---- */

static void add_device(struct log *l, int64_t rank, struct tc_slice host, struct tc_slice model)
{
    uint64_t hash = tc_slice_hash(host, 0);
    size_t i = 0;
    while (i < l->host_count && l->hosts[i] != hash) {
        i++;
    }
    if (i == l->host_count && i < HOSTS_MAX && host.len > 0) {
        l->hosts[l->host_count++] = hash;
    }
    if (rank >= l->ranks && rank < INT32_MAX) {
        l->ranks = rank + 1;
    }
    tc_result_fact_text(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL, tc_slice_trim(model));
}

/* 22703 is 2.27.3; before 2.9 it was 2708 for 2.7.8. */
static void nccl_version(struct log *l, int64_t code)
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

static void finish(struct log *l)
{
    if (l->ranks > 0) {
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, l->ranks);
    }
    if (l->host_count > 0 && l->host_count < HOSTS_MAX) {
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, (int64_t)l->host_count);
    }
    bool ended = l->ends >= l->tables;
    if (!ended) {
        tc_result_note(l->r, false, "", "Avg bus bandwidth",
                       "%zu of %zu tables have no average below them: the test did not end, or the "
                       "log is a part of it",
                       l->tables - l->ends, l->tables);
    }
    if (l->unnamed > 0) {
        tc_result_note(l->r, false, "", "op", "the file does not say which collective was tested");
    }
    tc_result_fact_text(l->r, TC_TABLE_RUN, TC_RUN_STATUS,
                        l->failures > 0 ? S("failed")
                        : ended         ? S("succeeded")
                                        : S("unknown"));
}

/* ---- the table ---- */

static int column_of(struct tc_slice word)
{
    static const struct {
        const char *name;
        int column;
    } names[] = {
        {"size", SIZE},         {"count", COUNT},    {"type", TYPE},      {"redop", REDOP},
        {"root", ROOT},         {"time", TIME},      {"cputime", TIME},   {"algbw", ALGBW},
        {"busbw", BUSBW},       {"#wrong", WRONG},   {"error", ERROR},    {"#bitdiff", BITDIFF},
        {"i_min", ITER_MIN},    {"i_max", ITER_MAX}, {"i_p99", ITER_P99}, {"i_cv%", IGNORED},
        {"timestamp", IGNORED},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (tc_slice_eq(word, tc_slice_cstr(names[i].name))) {
            return names[i].column;
        }
    }
    return -1;
}

/* "#       size         count      type   redop    root     time   algbw   busbw #wrong ..." */
static bool is_head(struct tc_slice line)
{
    struct tc_slice rest = tc_slice_trim(line);
    if (rest.len == 0 || rest.ptr[0] != '#') {
        return false;
    }
    rest = tc_slice_from(rest, 1);
    struct tc_slice word = tc__word_next(&rest);
    return tc_slice_eq(word, S("size")) && tc_slice_contains(rest, S("busbw"));
}

static tc_status read_head(struct log *l, size_t line, struct tc_slice text)
{
    bool seen[IGNORED] = {false};
    struct tc_slice rest = tc_slice_from(tc_slice_trim(text), 1);
    struct tc_slice word;
    l->column_count = 0;
    l->cpu_time = tc_slice_contains(text, S("cputime"));
    while ((word = tc__word_next(&rest)).len > 0) {
        int column = column_of(word);
        if (column < 0 || l->column_count == COLUMNS_MAX) {
            return tc_fail(l->err, TC_E_UNSUPPORTED, 0,
                           "line %zu: the head of the table has a column '%.*s' that is not known",
                           line, TC_FMT(tc_slice_head(word, 32)));
        }
        l->columns[l->column_count] = column;
        l->in_place[l->column_count] = column < VALUES && seen[column];
        l->column_count++;
        if (column < IGNORED) {
            seen[column] = true;
        }
    }
    l->tables++;
    l->unnamed += l->op[0] == '\0';
    return TC_OK;
}

static bool is_unknown(struct tc_slice word)
{
    return tc_slice_eq_nocase(word, S("n/a")) || tc_slice_eq_nocase(word, S("nan")) ||
           tc_slice_eq_nocase(word, S("-nan")) || tc_slice_eq_nocase(word, S("inf"));
}

static tc_status read_cell(struct log *l, size_t line, int column, bool in_place,
                           struct tc_slice word, struct test_row *t)
{
    static const char *const names[VALUES] = {"time",     "algbw", "busbw", "#wrong", "error",
                                              "#bitdiff", "i_min", "i_max", "i_p99"};
    switch (column) {
    case SIZE:
        (void)tc_slice_is_u64(word, &t->size);
        return TC_OK;
    case TYPE:
        t->type = word;
        return TC_OK;
    case REDOP:
        t->redop = word;
        return TC_OK;
    case ROOT:
        t->root = word;
        return TC_OK;
    case COUNT:
    case IGNORED:
        return TC_OK;
    default:
        break;
    }
    struct half *h = &t->half[in_place];
    /* rccl-tests marks what is beyond a threshold. */
    while (word.len > 1 && word.ptr[word.len - 1] == '*') {
        word.len--;
    }
    if (is_unknown(word)) {
        return TC_OK;
    }
    if (!tc_map_parse_number(word, &h->values[column])) {
        return tc_fail(l->err, TC_E_MALFORMED, 0,
                       "line %zu: %s is '%.*s', where a number is needed", line, names[column],
                       TC_FMT(tc_slice_head(word, 32)));
    }
    h->known[column] = true;
    h->cpu_time = l->cpu_time;
    return TC_OK;
}

static bool is_data(const struct log *l, struct tc_slice text)
{
    uint64_t size = 0;
    struct tc_slice rest = text;
    struct tc_slice first = tc__word_next(&rest);
    struct tc_slice second = tc__word_next(&rest);
    return l->column_count > 0 && tc_slice_is_u64(first, &size) && tc_slice_is_u64(second, &size);
}

static tc_status read_data(struct log *l, size_t line, struct tc_slice text)
{
    struct test_row t = {.size = 0};
    struct tc_slice rest = text;
    size_t done = 0;
    for (size_t i = 0; i < l->column_count; i++) {
        struct tc_slice before = rest;
        struct tc_slice word = tc__word_next(&rest);
        bool first_value =
            l->columns[i] < VALUES && !l->in_place[i] && (i == 0 || l->columns[i - 1] >= VALUES);
        if (first_value && word.len > 0 && word.ptr - before.ptr >= BLANK_BODY) {
            /* The replay of a trace has values in place alone. */
            while (i < l->column_count && !l->in_place[i]) {
                i++;
                done++;
            }
        }
        if (word.len == 0 || i == l->column_count) {
            break;
        }
        TC_TRY(read_cell(l, line, l->columns[i], l->in_place[i], word, &t));
        done++;
    }
    /* A timestamp is of two words and may be missing; all else must be there. */
    size_t needed = l->column_count - (l->columns[l->column_count - 1] == IGNORED);
    if (done < needed) {
        return tc_fail(
            l->err, TC_E_MALFORMED, 0,
            "line %zu: a row of %zu columns where the head of the table has %zu: was the "
            "file cut off?",
            line, done, l->column_count);
    }
    char where[32];
    (void)snprintf(where, sizeof where, "line:%zu", line);
    add_row(l, where, &t);
    return TC_OK;
}

/* "#  Rank  0 Group  0 Pid   1711 on 4c3719b595b1 device  4 [0000:89:00] Tesla V100-SXM2-16GB" */
static bool read_device(struct log *l, struct tc_slice text)
{
    struct tc_slice rest;
    struct tc_slice model;
    uint64_t rank = 0;
    if (!tc__text_after(text, S("Rank "), &rest) || !tc_slice_contains(text, S(" Pid "))) {
        return false;
    }
    if (!tc_slice_is_u64(tc__word_next(&rest), &rank) || !tc__text_after(rest, S(" on "), &rest)) {
        return false;
    }
    struct tc_slice host = tc__word_next(&rest);
    if (!tc__text_after(rest, S("]"), &model)) {
        return false;
    }
    add_device(l, rank > INT32_MAX ? 0 : (int64_t)rank, host, model);
    return true;
}

static void read_comment(struct log *l, const char *where, struct tc_slice text)
{
    struct tc_slice rest;
    double number = 0;
    uint64_t code = 0;
    if (tc__text_after(text, S("nccl-tests version "), &rest)) {
        tc_result_tool_version(l->r, tc__word_next(&rest));
        if (tc__text_after(text, S("nccl-library="), &rest) &&
            tc_slice_is_u64(tc__word_next(&rest), &code)) {
            nccl_version(l, code > INT32_MAX ? 0 : (int64_t)code);
        }
    } else if (tc__text_after(text, S("Collective test starting:"), &rest)) {
        set_op(l, op_in(rest));
    } else if (tc_slice_contains(text, S("nThread ")) &&
               tc__text_after(text, S(" iters: "), &rest)) {
        /* "warmup iters: 5 iters: 20" */
        struct tc_slice later;
        rest = tc__text_after(rest, S(" iters: "), &later) ? later : rest;
        l->iterations = tc_slice_u64(rest, &code) > 0 && code <= INT32_MAX ? (int64_t)code : 0;
    } else if (tc__text_after(text, S("Out of bounds values"), &rest)) {
        if (tc_slice_contains(rest, S("FAILED"))) {
            l->failures++;
            tc_result_note(l->r, false, where, "Out of bounds values", "%.*s",
                           TC_FMT(tc_slice_head(tc_slice_trim(rest), 64)));
        }
    } else if (tc__text_after(text, S("Avg bus bandwidth"), &rest)) {
        rest = tc_slice_from(tc_slice_trim(rest), 1);
        if (tc_map_parse_number(tc__word_next(&rest), &number)) {
            add_average(l, where, number);
        }
        l->column_count = 0;
        set_op(l, "");
    }
}

/* A line that is no part of a table. */
static void read_other(struct log *l, size_t line, struct tc_slice text)
{
    char where[32];
    struct tc_slice rest;
    (void)snprintf(where, sizeof where, "line:%zu", line);
    if (tc__text_after(text, S("NCCL version "), &rest)) {
        struct tc_slice version = tc__word_next(&rest);
        version = tc_slice_cut(version, '+', &rest);
        tc_result_fact_text(l->r, TC_TABLE_SOFTWARE, TC_SOFTWARE_NCCL, version);
    } else if (tc_slice_contains(text, S("Test NCCL failure")) ||
               tc_slice_contains(text, S("Test CUDA failure")) ||
               tc_slice_contains(text, S("Test failure"))) {
        l->failures++;
        tc_result_note(l->r, false, where, "Test failure", "%.*s",
                       TC_FMT(tc_slice_head(tc_slice_trim(text), 160)));
    } else {
        const char *op = op_in(text);
        if (op[0] != '\0' && l->column_count == 0) {
            set_op(l, op);
        }
    }
}

static tc_status read_line(struct log *l, size_t line, struct tc_slice text)
{
    char where[32];
    struct tc_slice trimmed = tc_slice_trim(text);
    (void)snprintf(where, sizeof where, "line:%zu", line);
    if (is_head(text)) {
        return read_head(l, line, text);
    }
    if (trimmed.len > 0 && trimmed.ptr[0] == '#') {
        if (!tc_slice_contains(trimmed, S("concluded")) && !read_device(l, trimmed)) {
            read_comment(l, where, trimmed);
        }
        return TC_OK;
    }
    if (is_data(l, text)) {
        return read_data(l, line, text);
    }
    read_other(l, line, text);
    return TC_OK;
}

static tc_status read_text(const struct tc_result_input *in, struct log *l)
{
    struct tc__lines lines = {.rest = in->bytes};
    struct tc_slice line;
    char plain[4096];
    while (tc__lines_next(&lines, &line)) {
        long rank = 0;
        line = tc__line_bare(tc__line_plain(line, plain, sizeof plain), &rank);
        TC_TRY(read_line(l, lines.line, line));
    }
    if (l->tables == 0) {
        return tc_fail(l->err, TC_E_MALFORMED, 0,
                       "no table: a line '# size count type ...' is missing");
    }
    finish(l);
    return TC_OK;
}

/* ---- JSON ---- */

static bool json_value(struct tc_json v, const char *name, struct half *h, enum value value)
{
    h->known[value] = tc_map_number_at(v, name, &h->values[value]);
    return h->known[value];
}

static void json_half(struct tc_json o, const char *name, const char *iterations, struct half *h)
{
    struct tc_json v;
    if (tc_map_at(o, name, &v)) {
        h->cpu_time = !json_value(v, "time", h, TIME) && json_value(v, "cpu_time", h, TIME);
        (void)json_value(v, "alg_bw", h, ALGBW);
        (void)json_value(v, "bus_bw", h, BUSBW);
        (void)json_value(v, "nwrong", h, WRONG);
        (void)json_value(v, "bitwise/different_bits", h, BITDIFF);
    }
    if (tc_map_at(o, iterations, &v)) {
        (void)json_value(v, "min_us", h, ITER_MIN);
        (void)json_value(v, "max_us", h, ITER_MAX);
        (void)json_value(v, "p99_us", h, ITER_P99);
        h->has_iter = tc_map_number_at(v, "avg_us", &h->iter_mean) &&
                      tc_map_number_at(v, "p50_us", &h->iter_p50) &&
                      tc_map_number_at(v, "p95_us", &h->iter_p95);
    }
}

static tc_status json_row(struct log *l, struct tc_json o, size_t index)
{
    struct test_row t = {.size = 0};
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
    json_half(o, "out_of_place", "out_of_place_per_iter", &t.half[0]);
    json_half(o, "in_place", "in_place_per_iter", &t.half[1]);
    add_row(l, where, &t);
    return TC_OK;
}

static void json_devices(struct log *l, struct tc_json o)
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
        add_device(l, rank, tc_map_string_at(device, "hostname"),
                   tc_map_string_at(device, "device_info"));
    }
}

static void json_summary(struct log *l, struct tc_json o)
{
    double average = 0;
    int64_t wrong = 0;
    if (tc_map_int_at(o, "out_of_bounds/count", &wrong) && wrong > 0) {
        l->failures++;
        tc_result_note(l->r, false, "/out_of_bounds/count", "count", "%" PRId64 " out of bounds",
                       wrong);
    }
    if (tc_map_number_at(o, "average_bus_bandwidth/bandwidth", &average)) {
        add_average(l, "/average_bus_bandwidth/bandwidth", average);
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

static tc_status read_json(const struct tc_result_input *in, struct log *l)
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
        nccl_version(l, number);
    }
    (void)(tc_map_int_at(o, "config/iterations", &l->iterations));
    if (tc_map_at(o, "args", &list)) {
        struct tc_json_iter it = tc_json_iter_make(list);
        struct tc_slice program;
        if (tc_json_iter_next(&it, NULL, &v) && tc_json_string(v, &program)) {
            set_op(l, op_in(tc__path_last(program)));
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
    finish(l);
    return TC_OK;
}

static int sniff(const struct tc_result_input *in)
{
    struct tc_json v;
    if (in->form == TC_RESULT_JSON) {
        bool ours = tc_map_at(in->root, "results", &v) && tc_json_type(v) == TC_JSON_ARRAY &&
                    (tc_map_at(in->root, "average_bus_bandwidth", &v) ||
                     tc_map_at(in->root, "nccl_version", &v));
        return ours ? TC_SNIFF_SURE : TC_SNIFF_NO;
    }
    struct tc__lines lines = {.rest = in->bytes};
    struct tc_slice line;
    char plain[4096];
    while (tc__lines_next(&lines, &line)) {
        long rank = 0;
        if (is_head(tc__line_bare(tc__line_plain(line, plain, sizeof plain), &rank))) {
            return TC_SNIFF_SURE;
        }
    }
    return TC_SNIFF_NO;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct log l = {.r = r, .err = err};
    return in->form == TC_RESULT_JSON ? read_json(in, &l) : read_text(in, &l);
}

const struct tc_reader tc_reader_nccl_tests = {
    .name = "nccl-tests",
    .summary = "nccl-tests and rccl-tests: the printed table, or the JSON of -J",
    .forms = 1u << TC_RESULT_TEXT | 1u << TC_RESULT_JSON,
    .sniff = sniff,
    .read = read_file,
};
