/* SPDX-License-Identifier: Apache-2.0 */
#include "result/map_serving.h"

#include "base/json/out.h"
#include "base/time.h"
#include "result/lines_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct tc_map_style tc_style_vllm = {
    .names = {[TC_STAT_MEAN] = {"mean"},
              [TC_STAT_P50] = {"median", "p50"},
              TC_STYLE_P90_P99,
              [TC_STAT_STD] = {"std"}},
    .flat = true,
};

#define POINT_MAX 512
/* Longer than any benchmark; shorter than what nanoseconds hold. */
#define DURATION_MAX_S 1e9
/* No token comes faster. SGLang takes the first token's time behind the last one's when nothing is
 * streamed, so that its TPOT is a few nanoseconds below 0. */
#define NOTHING_MS 1e-3

/* 0 stands for what is not known: NaN, which is left out. */
static double above_zero(double value)
{
    return value > 0 ? value : TC_UNKNOWN;
}

struct tc_slice tc_serving_set_point(struct tc_result_row *row,
                                     const struct tc_serving_point *point)
{
    char data[POINT_MAX];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    tc_map_point_number(&b, "in", above_zero(point->input_tokens));
    tc_map_point_number(&b, "out", above_zero(point->output_tokens));
    tc_map_point_text(&b, "dataset", point->dataset);
    if (point->more.len > 0) {
        tc_buf_str(&b, b.len > 0 ? TC_LIT(" ") : TC_EMPTY);
        tc_buf_str(&b, point->more);
    }
    tc_result_text(row, TC_SERVING_WORKLOAD_POINT, tc_buf_slice(&b));
    return row == NULL ? TC_EMPTY : tc_result_keep(row->result, tc_buf_slice(&b));
}

void tc_serving_common_add(struct tc_serving_common *c, const struct tc_serving_point *point)
{
    char dataset[sizeof c->dataset];
    (void)snprintf(dataset, sizeof dataset, "%.*s", TC_FMT(point->dataset));
    if (c->rows++ == 0) {
        c->input_tokens = point->input_tokens;
        c->output_tokens = point->output_tokens;
        memcpy(c->dataset, dataset, sizeof dataset);
        return;
    }
    c->input_differs = c->input_differs || c->input_tokens != point->input_tokens;
    c->output_differs = c->output_differs || c->output_tokens != point->output_tokens;
    c->dataset_differs = c->dataset_differs || strcmp(c->dataset, dataset) != 0;
}

/* A length as the distribution that it is. */
static void tell_length(struct tc_result *r, size_t column, double tokens)
{
    char data[64];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    struct tc_json_out j = tc_json_object_make(&b);
    tc_json_put_f64(&j, "mean", tokens);
    tc_json_end_object(&j);
    tc_result_fact_text(r, TC_TABLE_WORKLOAD, column, tc_buf_slice(&b));
}

void tc_serving_common_tell(struct tc_result *r, const struct tc_serving_common *c)
{
    if (!c->input_differs && c->input_tokens > 0) {
        tell_length(r, TC_WORKLOAD_PROMPT_TOKENS, c->input_tokens);
    }
    if (!c->output_differs && c->output_tokens > 0) {
        tell_length(r, TC_WORKLOAD_OUTPUT_TOKENS, c->output_tokens);
    }
    if (!c->dataset_differs) {
        tc_result_fact_text(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DATASET, tc_slice_cstr(c->dataset));
    }
}

static void tell_load(const struct tc_result_row *row, const char *model)
{
    if (row != NULL) {
        tc_result_fact_text(row->result, TC_TABLE_WORKLOAD, TC_WORKLOAD_CONCURRENCY_MODEL,
                            tc_slice_cstr(model));
    }
}

void tc_serving_load(struct tc_result_row *row, struct tc_json object, const char *concurrency,
                     const char *rate)
{
    double limit = TC_UNKNOWN;
    double pace = TC_UNKNOWN;
    bool limited = tc_map_number_at(object, concurrency, &limit);
    bool paced = tc_map_number_at(object, rate, &pace);
    struct tc_json stated;
    tc_result_real(row, TC_SERVING_CONCURRENCY, limit, NULL);
    tc_result_real(row, TC_SERVING_REQUEST_RATE, pace, NULL);
    if (limited || paced || tc_map_at(object, rate, &stated)) {
        /* SGLang writes "trace" where requests come at recorded times; vLLM has a name for the way
         * in which a rate rises. */
        struct tc_slice way = tc_map_string_at(object, rate);
        bool planned = way.len > 0 && !tc_slice_eq_nocase(tc_slice_head(way, 3), TC_LIT("inf"));
        const char *model = paced || planned ? "open_loop" : limited ? "closed_loop" : "burst";
        tell_load(row, model);
    }
}

void tc_serving_asked(struct tc_result_row *row, double concurrency, double rate)
{
    tc_result_real(row, TC_SERVING_CONCURRENCY, above_zero(concurrency), NULL);
    tc_result_real(row, TC_SERVING_REQUEST_RATE, above_zero(rate), NULL);
    if (concurrency > 0 || rate > 0) {
        tell_load(row, rate > 0 ? "open_loop" : "closed_loop");
    }
}

void tc_serving_times(struct tc_result_row *row, int64_t started_ns, int64_t ended_ns)
{
    tc_result_time(row, TC_SERVING_STARTED, started_ns);
    tc_result_time(row, TC_SERVING_ENDED, ended_ns);
    if (row != NULL) {
        tc_result_fact_time(row->result, TC_TABLE_RUN, TC_RUN_STARTED, started_ns);
        tc_result_fact_time(row->result, TC_TABLE_RUN, TC_RUN_ENDED, ended_ns);
    }
}

static void drop_zero(struct tc_result_row *row, size_t mean_column)
{
    if (row == NULL || !tc_result_known(row, mean_column) ||
        fabs(tc_result_get_real(row, mean_column)) >= NOTHING_MS) {
        return;
    }
    const struct tc_definition *d = row->definitions[mean_column];
    /* Where no request succeeded, that was said. */
    if (!tc_result_known(row, TC_SERVING_COMPLETED) ||
        tc_result_get_int(row, TC_SERVING_COMPLETED) > 0) {
        tc_result_note(row->result, false, row->where, d == NULL ? "" : d->field,
                       "a mean of 0 stands for nothing measured: unknown, with its percentiles");
    }
    for (size_t i = 0; i <= TC_STAT_P99; i++) {
        tc_result_clear(row, mean_column + i);
    }
    if (mean_column == TC_SERVING_ITL_MEAN) {
        tc_result_clear(row, TC_SERVING_JITTER);
    }
}

void tc_serving_drop_zeros(struct tc_result_row *row, const struct tc_map_dist *dists, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        drop_zero(row, dists[i].column);
    }
}

bool tc_serving_uses(const struct tc_result_row *row, struct tc_slice field)
{
    for (size_t i = 0; i < TC_SERVING_COLUMNS; i++) {
        const struct tc_definition *d = row->definitions[i];
        if (d != NULL && tc_slice_eq(field, tc_slice_cstr(d->field))) {
            return true;
        }
    }
    return false;
}

/* "mean", "median", "std", "min", "max" or "p99.9" before the first '_'. */
static bool is_statistic(struct tc_slice key)
{
    struct tc_slice rest;
    struct tc_slice word = tc_slice_cut(key, '_', &rest);
    double percentile = 0;
    return rest.len > 0 && (tc__word_in(word, "mean median std min max") ||
                            (word.len > 1 && word.ptr[0] == 'p' &&
                             tc_map_parse_number(tc_slice_from(word, 1), &percentile)));
}

/* A statistic of a latency whose mean is 0: the 0 of nothing measured. */
static bool is_nothing(struct tc_json object, struct tc_slice key, const char *unit)
{
    const char *stored = NULL;
    double factor = 1;
    double mean = 0;
    struct tc_slice rest = TC_EMPTY;
    (void)tc_slice_cut(key, '_', &rest);
    char name[96];
    (void)snprintf(name, sizeof name, "mean_%.*s", (int)(rest.len < 80 ? rest.len : 80), rest.ptr);
    return tc_map_unit(tc_slice_cstr(unit), &stored, &factor) && strcmp(stored, "ms") == 0 &&
           tc_map_number_at(object, name, &mean) && fabs(mean * factor) < NOTHING_MS;
}

void tc_serving_rest(const struct tc_result_row *row, struct tc_slice point, struct tc_json object,
                     const char *suffix, const char *unit, const struct tc_fact *facts)
{
    struct tc_json_iter it = tc_json_iter_make(object);
    struct tc_slice key;
    struct tc_json v;
    double value = 0;
    while (row != NULL && tc_json_iter_next(&it, &key, &v)) {
        if (!tc_map_number(v, &value) || tc_serving_uses(row, key)) {
            continue;
        }
        const char *source_unit = NULL;
        const char *measures = "latency";
        if (tc_slice_ends(key, tc_slice_cstr(suffix)) && is_statistic(key)) {
            source_unit = is_nothing(object, key, unit) ? NULL : unit;
        }
        for (const struct tc_fact *f = facts; f != NULL && f->path != NULL; f++) {
            if (f->table == TC_TABLE_SLICE && tc_slice_eq(key, tc_slice_cstr(f->path))) {
                source_unit = f->unit;
                measures = f->measures;
            }
        }
        if (source_unit != NULL) {
            tc_map_slice_number(row->result, row->where, point, tc_result_cstr(row->result, key),
                                measures, source_unit, value, NULL);
        }
    }
}

double tc_serving_each(struct tc_json object, const char *total, const char *count)
{
    int64_t all = 0;
    int64_t requests = 0;
    if (!tc_map_int_at(object, total, &all) || !tc_map_int_at(object, count, &requests) ||
        requests <= 0 || all <= 0 || all % requests != 0) {
        return 0;
    }
    int64_t each = all / requests; /* without a rest */
    return (double)each;
}

static int64_t compact_time(struct tc_slice text)
{
    /* As RFC 3339, which the calendar reads: yyyy-mm-ddThh:mm:ss. */
    static const char SHAPE[] = "....-..-..T..:..:..";
    char made[sizeof SHAPE];
    size_t at = 0;
    if (text.len != 15 || text.ptr[8] != '-') {
        return TC_TIME_NONE;
    }
    for (size_t i = 0; i < sizeof SHAPE - 1; i++) {
        at += at == 8;
        made[i] = SHAPE[i] == '.' ? text.ptr[at++] : SHAPE[i];
    }
    int64_t ns = 0;
    bool whole = tc_time_parse(tc_slice_make(made, sizeof made - 1), 0, &ns) == sizeof made - 1;
    return whole ? ns : TC_TIME_NONE;
}

/* A note about the file's way of writing, not about one row: told once. */
static void note_once(struct tc_result *r, struct tc_slice where, const char *field,
                      const char *text)
{
    for (size_t i = 0; i < tc_result_notes(r, NULL); i++) {
        const struct tc_result_note *note = tc_result_note_at(r, i);
        if (tc_slice_eq(note->field, tc_slice_cstr(field)) &&
            tc_slice_eq(note->text, tc_slice_cstr(text))) {
            return;
        }
    }
    tc_result_note(r, false, where, field, "%s", text);
}

void tc_serving_date(struct tc_result_row *row, struct tc_json object)
{
    struct tc_slice text = tc_map_string_at(object, "date");
    int64_t ended = compact_time(text);
    int64_t started = TC_TIME_NONE;
    double seconds = 0;
    if (row == NULL || text.len == 0) {
        return;
    }
    if (ended != TC_TIME_NONE) {
        note_once(row->result, row->where, "date",
                  "has no time zone: taken as UTC, and as the end of the run");
    } else {
        /* Other programs rewrite it as RFC 3339. */
        ended = tc_serving_iso_time(row->result, row->where, "date", text);
    }
    if (ended == TC_TIME_NONE) {
        note_once(row->result, row->where, "date",
                  "is no time: when the run was is taken as unknown");
        return;
    }
    if (tc_map_number_at(object, "duration", &seconds) && seconds >= 0 &&
        seconds < DURATION_MAX_S) {
        started = ended - (int64_t)(seconds * 1e9);
    }
    tc_serving_times(row, started, ended);
}

int64_t tc_serving_iso_time(struct tc_result *r, struct tc_slice where, const char *field,
                            struct tc_slice text)
{
    int64_t ns = 0;
    if (text.len == 0 || tc_time_parse(text, 0, &ns) != text.len) {
        return TC_TIME_NONE;
    }
    /* Behind "yyyy-mm-ddT" a zone is all that has one of these. */
    struct tc_slice time = tc_slice_from(text, 11);
    if (tc_slice_find_byte(time, 'Z') == TC_NPOS && tc_slice_find_byte(time, '+') == TC_NPOS &&
        tc_slice_find_byte(time, '-') == TC_NPOS) {
        note_once(r, where, field, "has no time zone: taken as UTC");
    }
    return ns;
}

tc_status tc_serving_read(const struct tc_result_input *in, struct tc_result *r,
                          struct tc_error *err)
{
    struct tc_result_documents docs = {0};
    struct tc_serving_common common = {
        .several = in->form == TC_RESULT_LINES || tc_json_type(in->root) == TC_JSON_ARRAY,
    };
    struct tc_json o;
    tc_status status = TC_OK;
    while ((status = tc_result_next(in, &docs, &o, err)) == TC_OK) {
        TC_TRY(tc_result_reader(r)->read_run(r, o, docs.where, &common, err));
    }
    tc_serving_common_tell(r, &common);
    return status == TC_E_NOTFOUND ? TC_OK : status;
}

tc_status tc_serving_completed(const struct tc_result_row *row, const char *field,
                               struct tc_error *err)
{
    if (row == NULL) {
        return TC_OK;
    }
    if (!tc_result_known(row, TC_SERVING_COMPLETED)) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "%.*s%s'%s' has no whole number of completed requests", TC_FMT(row->where),
                       row->where.len > 0 ? ": " : "", field);
    }
    return TC_OK;
}
