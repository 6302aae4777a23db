/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long requests waited in the server, from the histograms of its metrics: the rise of each
 * bucket between the scrapes nearest to a point's start and end.
 */
#include "run/import_priv.h"

#include "base/table/sort.h"
#include "base/time.h"
#include "codec/samples.h"
#include "result/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_MAX ((size_t)1 << 20)
#define BOUNDS_MAX 256

enum part { SUM, COUNT, BUCKET, PARTS };

/* What servers call it. Names are compared with '_' for every byte that is no letter or digit. */
static const struct source {
    const char *name;  /* of the histogram, or of the sum alone */
    const char *count; /* NULL: a histogram, NAME_sum, NAME_count and NAME_bucket */
    double to_ms;
    const char *unit;
} SOURCES[] = {
    {"vllm:request_queue_time_seconds", NULL, 1000, "s"},
    {"sglang:queue_time_seconds", NULL, 1000, "s"},
    {"trtllm_request_queue_time_seconds", NULL, 1000, "s"},
    {"tgi_request_queue_duration", NULL, 1000, "s"},
    {"fastdeploy:request_queue_time_seconds", NULL, 1000, "s"},
    {"nv_inference_queue_duration_us", "nv_inference_request_success", 0.001, "us"},
};
#define SOURCE_COUNT TC_COUNT(SOURCES)

struct tc__queue_sample {
    uint64_t series; /* hash of its labels without `le` */
    int64_t time_ns;
    double le;
    double value;
    uint8_t source;
    uint8_t part;
    uint32_t order;
};

/* ---- taking samples ---- */

static char plain(char c)
{
    return tc_is_word(c) && c != '_' ? c : '_';
}

/* Whether a name begins so; *out_rest is what follows. */
static bool begins(struct tc_slice name, const char *with, struct tc_slice *out_rest)
{
    size_t len = strlen(with);
    if (name.len < len) {
        return false;
    }
    for (size_t n = 0; n < len; n++) {
        if (plain(name.ptr[n]) != plain(with[n])) {
            return false;
        }
    }
    *out_rest = tc_slice_from(name, len);
    return true;
}

static bool is_total(struct tc_slice rest)
{
    return rest.len == 0 || tc_slice_eq(rest, TC_LIT("_total"));
}

static bool find_source(struct tc_slice name, uint8_t *out_source, uint8_t *out_part)
{
    for (size_t n = 0; n < SOURCE_COUNT; n++) {
        const struct source *s = &SOURCES[n];
        struct tc_slice rest;
        uint8_t part = PARTS;
        if (s->count != NULL) {
            part = begins(name, s->count, &rest) && is_total(rest)  ? COUNT
                   : begins(name, s->name, &rest) && is_total(rest) ? SUM
                                                                    : PARTS;
        } else if (begins(name, s->name, &rest)) {
            part = tc_slice_eq(rest, TC_LIT("_sum"))      ? SUM
                   : tc_slice_eq(rest, TC_LIT("_count"))  ? COUNT
                   : tc_slice_eq(rest, TC_LIT("_bucket")) ? BUCKET
                                                          : PARTS;
        }
        if (part != PARTS) {
            *out_source = (uint8_t)n;
            *out_part = part;
            return true;
        }
    }
    return false;
}

/* The order of labels makes no difference. */
static uint64_t hash_labels(const struct tc_sample *sample, double *out_le)
{
    uint64_t sum = 0;
    *out_le = (double)NAN;
    for (size_t n = 0; n < sample->label_count; n++) {
        const struct tc_sample_label *l = &sample->labels[n];
        if (!tc_slice_eq(l->key, TC_LIT("le"))) {
            sum += tc_slice_hash(l->value, tc_slice_hash(l->key, 0));
        } else if (tc_slice_eq_nocase(l->value, TC_LIT("+Inf")) ||
                   tc_slice_eq_nocase(l->value, TC_LIT("Inf"))) {
            *out_le = (double)INFINITY;
        } else if (!tc_map_parse_number(l->value, out_le)) {
            *out_le = (double)NAN;
        }
    }
    return sum;
}

void tc__queue_take(struct tc__import *i, const struct tc_sample *sample)
{
    struct tc__queue_sample s = {.time_ns = sample->time_ns, .value = sample->value};
    if (!find_source(sample->name, &s.source, &s.part) || sample->time_ns == TC_TIME_NONE ||
        !isfinite(sample->value) || sample->value < 0 || i->queue_count == SAMPLES_MAX) {
        return;
    }
    s.series = hash_labels(sample, &s.le);
    s.order = (uint32_t)i->queue_count;
    if (s.part == BUCKET && isnan(s.le)) {
        return;
    }
    s.le = s.part == BUCKET ? s.le : 0;
    if (tc_grow_items(i->queue, i->queue_cap, i->queue_count + 1, SAMPLES_MAX) == TC_OK) {
        i->queue[i->queue_count++] = s;
    }
}

/* ---- one point ---- */

static int by_series(const void *a, const void *b)
{
    const struct tc__queue_sample *x = a;
    const struct tc__queue_sample *y = b;
    int order = TC_ORDER(x->source, y->source);
    order = order != 0 ? order : TC_ORDER(x->part, y->part);
    order = order != 0 ? order : TC_ORDER(x->le, y->le);
    order = order != 0 ? order : TC_ORDER(x->series, y->series);
    order = order != 0 ? order : TC_ORDER(x->time_ns, y->time_ns);
    return order != 0 ? order : TC_ORDER(x->order, y->order);
}

static bool same_series(const struct tc__queue_sample *a, const struct tc__queue_sample *b)
{
    return a->source == b->source && a->part == b->part && !(a->le < b->le) && !(a->le > b->le) &&
           a->series == b->series;
}

/* What rose during a point. */
struct rise {
    double sum;
    double count;
    double bounds[BOUNDS_MAX];
    double counts[BOUNDS_MAX]; /* cumulative */
    size_t bound_count;
    bool known;
};

/*
 * The rise of one series from the last sample at or before the start (else the first one) to the
 * first at or after the end (else the last one). False when these cover less than half of the
 * point, or are more than twice as far apart as it is long: then it would be of something else.
 */
static bool rise_of(const struct tc__queue_sample *s, size_t count, int64_t from_ns, int64_t to_ns,
                    double *out)
{
    size_t first = 0;
    size_t last = count - 1;
    for (size_t n = 0; n < count && s[n].time_ns <= from_ns; n++) {
        first = n;
    }
    for (size_t n = count; n > 0 && s[n - 1].time_ns >= to_ns; n--) {
        last = n - 1;
    }
    int64_t start = s[first].time_ns > from_ns ? s[first].time_ns : from_ns;
    int64_t end = s[last].time_ns < to_ns ? s[last].time_ns : to_ns;
    double length = (double)(to_ns - from_ns);
    if (first >= last || (double)(end - start) < 0.5 * length ||
        (double)(s[last].time_ns - s[first].time_ns) > 2 * length) {
        return false;
    }
    *out = 0;
    for (size_t n = first + 1; n <= last; n++) { /* a fall is a restart: from 0 again */
        double from = s[n].value >= s[n - 1].value ? s[n - 1].value : 0;
        *out += s[n].value - from;
    }
    return true;
}

static void add_rise(struct rise *r, const struct tc__queue_sample *s, double rise)
{
    if (s->part == SUM) {
        r->sum += rise;
    } else if (s->part == COUNT) {
        r->count += rise;
    } else if (r->bound_count > 0 && !(r->bounds[r->bound_count - 1] < s->le)) {
        r->counts[r->bound_count - 1] += rise; /* in order: the same bound of another series */
    } else if (r->bound_count < BOUNDS_MAX) {
        r->bounds[r->bound_count] = s->le;
        r->counts[r->bound_count++] = rise;
    }
}

static void rise_of_source(const struct tc__import *i, size_t source, int64_t from_ns,
                           int64_t to_ns, struct rise *out)
{
    *out = (struct rise){0};
    for (size_t first = 0, end; first < i->queue_count; first = end) {
        double rise = 0;
        end = first + 1;
        while (end < i->queue_count && same_series(&i->queue[first], &i->queue[end])) {
            end++;
        }
        if (i->queue[first].source == source &&
            rise_of(&i->queue[first], end - first, from_ns, to_ns, &rise)) {
            add_rise(out, &i->queue[first], rise);
        }
    }
    out->known = out->count > 0 && out->sum >= 0;
}

/* As Prometheus' histogram_quantile: in a bucket values are spread evenly; beyond the last bound it
 * is that bound. NaN: not known. */
static double quantile(const struct rise *r, double q)
{
    double total = r->bound_count > 0 ? r->counts[r->bound_count - 1] : 0;
    double rank = q * total;
    if (total <= 0 || r->bound_count < 2 || isfinite(r->bounds[r->bound_count - 1])) {
        return (double)NAN;
    }
    size_t n = 0;
    while (n + 1 < r->bound_count && r->counts[n] < rank) {
        n++;
    }
    if (n + 1 == r->bound_count) {
        return r->bounds[n - 1];
    }
    double low = n == 0 ? 0 : r->bounds[n - 1];
    double below = n == 0 ? 0 : r->counts[n - 1];
    double inside = r->counts[n] - below;
    return inside <= 0 ? r->bounds[n] : low + (r->bounds[n] - low) * (rank - below) / inside;
}

tc_status tc__queue_fill(struct tc__import *i, struct tc_rows *rows, size_t row,
                         struct tc__made *made, struct tc_error *err)
{
    static const size_t columns[] = {TC_SERVING_QUEUE_MEAN, TC_SERVING_QUEUE_P50,
                                     TC_SERVING_QUEUE_P99};
    struct rise r = {0};
    size_t source = 0;
    if (i->queue_count == 0 || tc_rows_is_null(rows, TC_SERVING_STARTED, row) ||
        tc_rows_is_null(rows, TC_SERVING_ENDED, row) ||
        !tc_rows_is_null(rows, TC_SERVING_QUEUE_MEAN, row) ||
        !tc_rows_is_null(rows, TC_SERVING_QUEUE_P99, row)) {
        return TC_OK;
    }
    int64_t from_ns = tc_rows_get_int(rows, TC_SERVING_STARTED, row) * 1000;
    int64_t to_ns = tc_rows_get_int(rows, TC_SERVING_ENDED, row) * 1000;
    for (; source < SOURCE_COUNT && !r.known && from_ns < to_ns; source++) {
        rise_of_source(i, source, from_ns, to_ns, &r);
    }
    if (!r.known) {
        return TC_OK;
    }
    const struct source *s = &SOURCES[source - 1];
    const struct tc__definition definition = {
        .tool = TC_LIT(TC__MADE_TOOL),
        .field = tc_slice_cstr(s->name),
        .measures = TC_LIT("queue"),
        .source_unit = tc_slice_cstr(s->unit),
        .unit = TC_LIT("ms"),
        .note =
            TC_LIT("in the server: rise of its counters between the scrapes nearest to start and "
                   "end of the point; percentiles are interpolated in the histogram's buckets"),
    };
    const double values[] = {r.sum / r.count, quantile(&r, 0.5), quantile(&r, 0.99)};
    for (size_t n = 0; n < TC_COUNT(columns); n++) {
        TC_TRY(
            tc__made_add(i, made, rows, row, columns[n], values[n] * s->to_ms, &definition, err));
    }
    return TC_OK;
}

void tc__queue_sort(struct tc__import *i)
{
    if (i->queue_count > 1) {
        qsort(i->queue, i->queue_count, sizeof *i->queue, by_series);
    }
}
