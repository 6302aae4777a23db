/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of -f: "Concurrency,Inferences/Second,Client Send,...,p50 latency,...,p99 latency",
 * with
 * --verbose-csv more columns behind it. One row per load, by rising throughput. Times are
 * microseconds. An inference is one element of a batch, a request one batch: the rate is that of
 * inferences, the latencies are those of requests.
 */
#include "result/lines_priv.h"
#include "result/perf_analyzer/priv.h"

#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)
#define COLUMNS_MAX 64
#define NAME_MAX_BYTES 96
#define NOTE_MEAN "mean over the requests"

static const struct {
    const char *name;
    size_t column;
    const char *unit;
    const char *measures;
    const char *note;
} COLUMNS[] = {
    {"Inferences/Second", TC_SERVING_REQUESTS_PER_S, "requests/s", "request_throughput",
     "inferences: requests * batch size"},
    {"Server Queue", TC_SERVING_QUEUE_MEAN, "us", "queue", "in the server; " NOTE_MEAN},
    {"Avg latency", TC_SERVING_E2E_MEAN, "us", "e2e", NULL},
    {"p50 latency", TC_SERVING_E2E_P50, "us", "e2e", NULL},
    {"p90 latency", TC_SERVING_E2E_P90, "us", "e2e", NULL},
    {"p95 latency", TC_SERVING_E2E_P95, "us", "e2e", NULL},
    {"p99 latency", TC_SERVING_E2E_P99, "us", "e2e", NULL},
    {"Avg Time to First Token", TC_SERVING_TTFT_MEAN, "us", "ttft", NULL},
};

/* Parts of the latency, without a column of their own. */
static const char *const PARTS[] = {
    "Client Send",          "Network+Server Send/Recv", "Server Compute",   "Server Compute Input",
    "Server Compute Infer", "Server Compute Output",    "Server Cache Hit", "Server Cache Miss",
    "Client Recv",          "request/response",         "response wait",
};

struct table {
    struct tc_slice names[COLUMNS_MAX];
    size_t count;
};

static void read_head(struct tc_slice line, struct table *out)
{
    out->count = 0;
    while (out->count < COLUMNS_MAX && tc__csv_field(&line, &out->names[out->count])) {
        out->names[out->count] = tc_slice_trim(out->names[out->count]);
        out->count++;
    }
}

static bool is_part(struct tc_slice name)
{
    for (size_t i = 0; i < TC_COUNT(PARTS); i++) {
        if (tc_slice_eq(name, tc_slice_cstr(PARTS[i]))) {
            return true;
        }
    }
    return false;
}

/* "p75 latency": a percentile that has no column. */
static bool is_percentile(struct tc_slice name)
{
    double p = 0;
    return tc_slice_starts(name, S("p")) && tc_slice_ends(name, S(" latency")) &&
           tc_map_parse_number(tc_slice_make(name.ptr + 1, name.len - 1 - S(" latency").len), &p);
}

static void put_cell(struct tc_result_row *row, struct tc_slice name, double value)
{
    size_t i = tc_slice_row(name, COLUMNS, name);
    if (i < TC_COUNT(COLUMNS)) {
        tc_map_put(row, COLUMNS[i].column, value, COLUMNS[i].unit, COLUMNS[i].name,
                   COLUMNS[i].measures, COLUMNS[i].note);
    } else if (tc_slice_eq(name, S("Concurrency"))) {
        tc_serving_asked(row, value, 0);
    } else if (tc_slice_eq(name, S("Request Rate"))) {
        tc_serving_asked(row, 0, value);
    } else if (row != NULL && name.len < NAME_MAX_BYTES && (is_part(name) || is_percentile(name))) {
        tc_map_slice_number(row->result, row->where, TC_EMPTY, tc_result_cstr(row->result, name),
                            is_part(name) ? "part_of_latency" : "e2e", "us", value,
                            is_part(name) ? NOTE_MEAN : NULL);
    }
}

static tc_status read_row(struct tc_result *r, size_t number, struct tc_slice line,
                          const struct table *table, struct tc_error *err)
{
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "line:%zu", number);
    struct tc_slice field;
    size_t i = 0;
    for (; i < table->count && tc__csv_field(&line, &field); i++) {
        double value = 0;
        if (tc__csv_number(field, &value)) {
            put_cell(row, table->names[i], value);
        }
    }
    if (row != NULL && (i < table->count || !tc_result_known(row, TC_SERVING_REQUESTS_PER_S))) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "line %zu: %zu fields with a number of inferences where the head has %zu: "
                       "was the file cut off?",
                       number, i, table->count);
    }
    return TC_OK;
}

bool tc__perf_analyzer_is_csv(struct tc_slice text)
{
    struct tc_slice rest;
    struct tc_slice line = tc_slice_cut(text, '\n', &rest);
    return (tc_slice_starts(line, S("Concurrency,")) || tc_slice_starts(line, S("Request Rate,")) ||
            tc_slice_starts(line, S("Inferences/Second,"))) &&
           tc_slice_contains(line, S("Inferences/Second,Client Send"));
}

tc_status tc__perf_analyzer_read_csv(const struct tc_result_input *in, struct tc_result *r,
                                     struct tc_error *err)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice line = TC_EMPTY;
    struct table table;
    if (!tc__lines_next(&lines, &line) || !tc__perf_analyzer_is_csv(in->bytes)) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "no head 'Concurrency,Inferences/Second,Client Send,...'");
    }
    read_head(line, &table);
    while (tc__lines_next(&lines, &line)) {
        if (tc_slice_trim(line).len > 0) {
            TC_TRY(read_row(r, lines.line, line, &table, err));
        }
    }
    return TC_OK;
}
