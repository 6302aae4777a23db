/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through a report without knowing all of its members: whatever has "units" and statistics is
 * a distribution, whatever has "units" and "series" a series; of observability, health and sessions
 * single numbers count as well. Labels of the objects around it (component, pod, role) make the
 * point. A unit that is not known is an error where the report's schema says which there are;
 * members that a version or a site has added to observability keep theirs as it stands.
 */
#include "base/buf.h"
#include "base/limits.h"
#include "base/time.h"
#include "result/lines_priv.h"
#include "result/llm_d/priv.h"

#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define POINTER_MAX 512
#define NAME_MAX_BYTES 256
#define POINT_MAX 512

struct level {
    struct tc_json value;
    struct tc_json_iter it;
    size_t index;
    size_t pointer_len; /* of its parent */
    size_t metric_len;
};

struct walk {
    const struct tc__llm_d *l;
    struct level levels[TC_JSON_DEPTH_MAX];
    size_t depth;
    struct tc_buf pointer;
    struct tc_buf metric;
    char pointer_text[POINTER_MAX];
    char metric_text[NAME_MAX_BYTES];
};

static const struct {
    const char *name;
    size_t column;
} STATS[] = {
    {"mean", TC_SLICE_MEAN},  {"min", TC_SLICE_MIN},    {"max", TC_SLICE_MAX},
    {"p50", TC_SLICE_P50},    {"p95", TC_SLICE_P95},    {"p99", TC_SLICE_P99},
    {"value", TC_SLICE_LAST}, {"median", TC_SLICE_P50}, /* before 0.1 was settled */
};

const char *tc__llm_d_measures(const struct tc__llm_d *l, const char *name, const char **out_note)
{
    static const struct {
        const char *name;
        const char *measures;
        const char *note;
    } names[] = {
        {"time_to_first_token", "ttft", NULL},
        {"time_per_output_token", "tpot", "per request, without the first token"},
        {"inter_token_latency", "itl", "per gap between two output tokens"},
        {"request_latency", "e2e", NULL},
        {"normalized_time_per_output_token", "normalized_tpot",
         "per request: end-to-end latency / output tokens"},
    };
    *out_note = NULL;
    if (l->itl_is_tpot && strcmp(name, "inter_token_latency") == 0) {
        *out_note = "per request, without the first token";
        return "tpot";
    }
    if (l->tpot_has_first && strcmp(name, "time_per_output_token") == 0) {
        *out_note = "per request: (last token - start) / output tokens";
        return "normalized_tpot";
    }
    size_t i = tc_slice_row(tc_slice_cstr(name), names, name);
    if (i == TC_COUNT(names)) {
        return name;
    }
    *out_note = names[i].note;
    return names[i].measures;
}

/* ---- where a value is ---- */

/* Containers that tell nothing. */
static bool is_noise(struct tc_slice key)
{
    return tc__word_in(key, "aggregate aggregated components statistics time_series series pods "
                            "controllers replica_health");
}

static void put_pointer(struct tc_buf *b, struct tc_slice key)
{
    tc_buf_char(b, '/');
    for (size_t i = 0; i < key.len; i++) {
        tc_buf_str(b, key.ptr[i] == '~'   ? S("~0")
                      : key.ptr[i] == '/' ? S("~1")
                                          : tc_slice_make(key.ptr + i, 1));
    }
}

static void enter_name(struct walk *w, const struct level *parent, struct tc_slice key)
{
    if (tc_json_type(parent->value) == TC_JSON_ARRAY) {
        (void)tc_format(&w->pointer, "/{}", parent->index);
        return;
    }
    put_pointer(&w->pointer, key);
    if (!is_noise(key)) {
        (void)tc_format(&w->metric, "{}{}", w->metric.len > 0 ? "." : "", key);
    }
}

static void leave_name(struct walk *w, size_t pointer_len, size_t metric_len)
{
    w->pointer.len = pointer_len;
    w->metric.len = metric_len;
}

/* Labels of everything around, the outermost first; for a list without them, the index. */
static struct tc_slice point_of(const struct walk *w, struct tc_json last, struct tc_buf *b)
{
    static const struct {
        const char *member;
        const char *key;
    } labels[] = {
        {"component_label", "component"},
        {"component_id", "component"},
        {"replica_id", "replica"},
        {"pod", "pod"},
        {"role", "role"},
        {"kind", "kind"},
        {"name", "name"},
    };
    tc_buf_str(b, w->l->point);
    for (size_t i = 0; i <= w->depth; i++) {
        struct tc_json v = i < w->depth ? w->levels[i].value : last;
        bool labelled = false;
        for (size_t k = 0; k < TC_COUNT(labels); k++) {
            struct tc_slice text = tc_map_string_at(v, labels[k].member);
            tc_map_point_text(b, labels[k].key, tc_slice_head(text, 96));
            labelled = labelled || text.len > 0;
        }
        bool in_list = i > 0 && tc_json_type(w->levels[i - 1].value) == TC_JSON_ARRAY;
        if (in_list && !labelled && tc_map_string_at(v, "ts").len == 0) {
            tc_map_point_number(b, "index", (double)w->levels[i - 1].index);
        }
    }
    return tc_buf_slice(b);
}

/* The window: a time around it, else that of the run. */
static void set_window(const struct walk *w, struct tc_result_row *row, struct tc_json last)
{
    int64_t at = TC_TIME_NONE;
    for (size_t i = 0; i <= w->depth; i++) {
        struct tc_json v = i < w->depth ? w->levels[i].value : last;
        struct tc_slice text = tc_map_string_at(v, "ts");
        text = text.len > 0 ? text : tc_map_string_at(v, "timestamp");
        if (text.len > 0) {
            (void)tc_time_parse(text, 0, &at);
        }
    }
    bool own = at != TC_TIME_NONE;
    tc_map_slice_window(row, own ? at : w->l->started_ns, own ? at : w->l->ended_ns);
}

static struct tc_result_row *add_slice(struct walk *w, struct tc_json last, const char *unit)
{
    char data[POINT_MAX];
    struct tc_buf point = tc_buf_make(data, sizeof data);
    struct tc_result_row *row =
        tc_map_add_slice(w->l->r, tc_buf_slice(&w->pointer), point_of(w, last, &point), "", unit);
    tc_result_text(row, TC_SLICE_METRIC, tc_buf_slice(&w->metric));
    for (size_t i = 0; i <= w->depth; i++) {
        struct tc_json v = i < w->depth ? w->levels[i].value : last;
        tc_result_text(row, TC_SLICE_NODE, tc_map_string_at(v, "node"));
    }
    set_window(w, row, last);
    return row;
}

/* ---- values ---- */

/* Where the schema of the report leaves units free. */
static bool is_free(struct tc_slice pointer)
{
    struct tc_slice rest;
    return tc__text_after(pointer, S("/observability/"), &rest) &&
           !tc__word_in(tc_slice_cut(rest, '/', &rest),
                        "components drop_rate pod_startup_times replica_status");
}

/* The 29 of the report's schema, over its versions. */
static bool is_of_schema(struct tc_slice spelling)
{
    return tc__word_in(spelling,
                       "count pixels percent fraction ratio ms s bytes MB GB TB MiB GiB TiB Mbit/s "
                       "Gbit/s Tbit/s GiB/s MB/s GB/s TB/s ms/token s/token tokens/s queries/s "
                       "images/s videos/s audios/s Watts");
}

static tc_status unit_of(struct walk *w, struct tc_slice spelling, const char **out_unit,
                         double *out_factor)
{
    struct tc_slice pointer = tc_buf_slice(&w->pointer);
    *out_factor = 1;
    if (tc_map_unit(spelling, out_unit, out_factor)) {
        if (!is_free(pointer) && !is_of_schema(spelling)) {
            tc_result_note(w->l->r, false, tc_when(true, "{}/units", tc_slice_head(pointer, 200)),
                           "units",
                           "'%.*s' is none of the report's units: taken as that of other tools",
                           TC_FMT(spelling));
        }
        return TC_OK;
    }
    *out_unit = tc_result_cstr(w->l->r, tc_slice_head(spelling, 32));
    return is_free(pointer)
               ? TC_OK
               : tc_fail(w->l->err, TC_E_MALFORMED, 0,
                         "%.*s/units: '%.*s' is none of the report's units",
                         TC_FMT(tc_slice_head(pointer, 120)), TC_FMT(tc_slice_head(spelling, 32)));
}

static bool has_statistics(struct tc_json v)
{
    double number = 0;
    for (size_t i = 0; i < TC_COUNT(STATS); i++) {
        if (tc_map_number_at(v, STATS[i].name, &number)) {
            return true;
        }
    }
    return tc_map_number_at(v, "count", &number);
}

/* The statistics of `v`, which is the object itself or a point of a series. */
static void on_statistics(struct walk *w, struct tc_json v, struct tc_slice spelling,
                          const char *unit, double factor)
{
    struct tc_result *r = w->l->r;
    struct tc_result_row *row = add_slice(w, v, unit);
    char metric[NAME_MAX_BYTES];
    const char *note = NULL;
    int64_t count = 0;
    double value = 0;
    (void)snprintf(metric, sizeof metric, "%.*s", TC_FMT(tc_buf_slice(&w->metric)));
    const char *last = strrchr(metric, '.');
    last = last == NULL ? metric : last + 1;
    const char *source = tc_result_cstr(r, spelling);
    const char *measures = tc__llm_d_measures(w->l, last, &note);
    for (size_t i = 0; i < TC_COUNT(STATS); i++) {
        char field[NAME_MAX_BYTES + 8];
        if (!tc_map_number_at(v, STATS[i].name, &value)) {
            continue;
        }
        (void)snprintf(field, sizeof field, "%s.%s", metric, STATS[i].name);
        tc_result_real(row, STATS[i].column, factor == 1 ? value : value * factor,
                       tc_result_define(r, field, measures, source, unit, note));
    }
    if (tc_map_int_at(v, "count", &count)) {
        tc_result_int(row, TC_SLICE_COUNT, count, NULL);
    }
}

/* A number that is no statistic: of health, sessions and observability. */
static void on_number(struct walk *w, double value)
{
    struct tc_slice metric = tc_buf_slice(&w->metric);
    bool seconds = tc_slice_ends(metric, S("_seconds"));
    const char *unit = seconds ? "s" : "count";
    const char *field = tc_result_cstr(w->l->r, metric);
    struct tc_result_row *row = add_slice(w, w->levels[w->depth - 1].value, unit);
    tc_result_real(row, TC_SLICE_LAST, value,
                   tc_result_define(w->l->r, field, field, unit, unit, NULL));
}

static bool counts_numbers(struct tc_slice pointer)
{
    return tc_slice_contains(pointer, S("/observability/")) ||
           tc_slice_contains(pointer, S("/component_health/")) ||
           tc_slice_contains(pointer, S("/session_performance/"));
}

/* Those that have a column, and the other ones of the schema. */
static bool is_statistic(struct tc_slice key)
{
    return tc__word_in(key, "mean min max p50 p95 p99 value median mode stddev p0p1 p1 p5 p10 p25 "
                            "p75 p90 p99p9 count");
}

static tc_status on_object(struct walk *w, struct tc_json v)
{
    struct tc_slice spelling = tc_map_string_at(v, "units");
    struct tc_json series;
    struct tc_json item;
    const char *unit = "";
    double factor = 1;
    if (spelling.len == 0) {
        return TC_OK;
    }
    TC_TRY(unit_of(w, spelling, &unit, &factor));
    if (has_statistics(v)) {
        on_statistics(w, v, spelling, unit, factor);
    }
    if (tc_map_at(v, "series", &series)) {
        struct tc_json_iter it = tc_json_iter_make(series);
        while (tc_json_iter_next(&it, NULL, &item)) {
            if (has_statistics(item)) {
                on_statistics(w, item, spelling, unit, factor);
            }
        }
    }
    return TC_OK;
}

static void push(struct walk *w, struct tc_json v, size_t pointer_len, size_t metric_len)
{
    w->levels[w->depth++] = (struct level){
        .value = v,
        .it = tc_json_iter_make(v),
        .pointer_len = pointer_len,
        .metric_len = metric_len,
    };
}

static tc_status on_child(struct walk *w, struct level *parent, struct tc_slice key,
                          struct tc_json v)
{
    size_t pointer_len = w->pointer.len;
    size_t metric_len = w->metric.len;
    double number = 0;
    enum tc_json_type type = tc_json_type(v);
    bool is_container = type == TC_JSON_OBJECT || type == TC_JSON_ARRAY;
    /* Series were read with what they are in; what profilers write is anything. */
    bool skip = tc_slice_eq(key, S("series")) || tc_slice_eq(key, S("profiling"));
    enter_name(w, parent, key);
    if (w->pointer.overflowed || w->metric.overflowed || w->depth == TC_JSON_DEPTH_MAX) {
        return tc_fail(w->l->err, TC_E_LIMIT, 0, "%.*s...: names that are too long",
                       TC_FMT(tc_slice_head(tc_buf_slice(&w->pointer), 120)));
    }
    if (is_container && !skip) {
        if (type == TC_JSON_OBJECT) {
            TC_TRY(on_object(w, v));
        }
        push(w, v, pointer_len, metric_len);
        return TC_OK;
    }
    bool has_units = tc_map_string_at(parent->value, "units").len > 0;
    if (!is_container && (type == TC_JSON_INT || type == TC_JSON_DOUBLE) && !has_units &&
        !is_statistic(key) && counts_numbers(tc_buf_slice(&w->pointer)) &&
        tc_map_number(v, &number)) {
        on_number(w, number);
    }
    leave_name(w, pointer_len, metric_len);
    return TC_OK;
}

tc_status tc__llm_d_walk(const struct tc__llm_d *l, struct tc_json object, const char *where)
{
    struct walk w = {.l = l};
    w.pointer = tc_buf_make(w.pointer_text, sizeof w.pointer_text);
    w.metric = tc_buf_make(w.metric_text, sizeof w.metric_text);
    tc_buf_str(&w.pointer, tc_slice_cstr(where));
    push(&w, object, w.pointer.len, 0);
    while (w.depth > 0) {
        struct level *top = &w.levels[w.depth - 1];
        struct tc_slice key = TC_EMPTY;
        struct tc_json v;
        if (!tc_json_iter_next(&top->it, &key, &v)) {
            leave_name(&w, top->pointer_len, top->metric_len);
            w.depth--;
            if (w.depth > 0) {
                w.levels[w.depth - 1].index++;
            }
            continue;
        }
        size_t depth = w.depth;
        TC_TRY(on_child(&w, top, key, v));
        if (w.depth == depth) {
            top->index++;
        }
    }
    return TC_OK;
}
