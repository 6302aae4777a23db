/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every data point of OTLP metrics, from the tape that the check of a request leaves
 * (tape_priv.h): gauges and sums as they are; of histograms, exponential ones too, `_sum` and
 * `_count`; of summaries also the quantiles, with a label `quantile`, as Prometheus has them.
 * Buckets are left out. Attributes of the resource are labels of its points.
 */
#include "base/buf.h"
#include "base/time.h"
#include "codec/decode_priv.h"
#include "codec/otlp/file_priv.h"
#include "codec/otlp/tape_priv.h"
#include "codec/otlp/wire.h"
#include "codec/samples_priv.h"

#include <math.h>

/* Bits of DataPointFlags, and aggregation temporalities. */
#define FLAG_NO_VALUE 1
#define TEMPORALITY_DELTA 1
/* Digits of a number, with its sign and exponent. */
#define NUMBER_TEXT_MAX 40

struct points {
    struct tc__samples *s;
    const struct tc_otlp_tape *tape;
    struct tc_slice metric;
    struct tc_slice unit;
    struct tc_sample_label resource[TC_SAMPLE_LABELS_MAX];
    size_t resource_count;
    struct tc_sample_label labels[TC_SAMPLE_LABELS_MAX];
    size_t label_count;
};

/* What a data point says, whatever sort it is. */
struct point {
    int64_t time_ns;
    int64_t start_ns;
    double value;
    double total;
    double count;
    bool no_value;
};

static int64_t time_of(const struct tc__otlp_node *n)
{
    return n->type == TC__OTLP_N_INT && n->integer > 0 && n->integer <= TC_TIME_MAX ? n->integer
                                                                                    : TC_TIME_NONE;
}

/* fixed64: unsigned. */
static double unsigned_of(const struct tc__otlp_node *n)
{
    return n->type == TC__OTLP_N_INT ? (double)(uint64_t)n->integer : (double)NAN;
}

static double double_of(const struct tc__otlp_node *n)
{
    return n->type == TC__OTLP_N_DOUBLE ? n->number : (double)NAN;
}

/* The text of a value that is one; empty for lists and nothing. */
static struct tc_slice text_of(const struct tc_otlp_tape *tape, const struct tc__otlp_node *n,
                               struct tc_arena *arena)
{
    char text[NUMBER_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    switch ((enum tc__otlp_node_type)n->type) {
    case TC__OTLP_N_STRING:
        return tc__otlp_node_text(tape, n);
    case TC__OTLP_N_BOOL:
        return n->integer != 0 ? TC_LIT("true") : TC_LIT("false");
    case TC__OTLP_N_INT:
        tc_buf_i64(&b, n->integer);
        break;
    case TC__OTLP_N_DOUBLE:
        tc_buf_f64(&b, n->number);
        break;
    case TC__OTLP_N_MESSAGE:
    case TC__OTLP_N_EMPTY:
    case TC__OTLP_N_BYTES:
    case TC__OTLP_N_ARRAY:
    case TC__OTLP_N_PAIRS:
    case TC__OTLP_N_PAIR:
    case TC__OTLP_N_AGAIN:
        return TC_EMPTY;
    }
    return tc_arena_copy(arena, tc_buf_slice(&b));
}

/* The pair at node `at` as a label; false when there is none to make of it. */
static bool label_of(struct points *p, size_t at, struct tc_sample_label *out)
{
    const struct tc__otlp_node *pair = &p->tape->nodes[at];
    if (pair->keep != TC__OTLP_K_ATTRIBUTE || pair->type != TC__OTLP_N_PAIR ||
        pair->next <= at + 1) {
        return false;
    }
    out->key = tc__otlp_node_text(p->tape, pair);
    out->value = text_of(p->tape, &p->tape->nodes[at + 1], p->s->arena);
    return out->key.len > 0 && out->value.len > 0;
}

/* The pairs from one node to another as labels of the point. */
static void add_labels(struct points *p, size_t at, size_t end)
{
    for (; at < end && p->label_count < TC_SAMPLE_LABELS_MAX; at = p->tape->nodes[at].next) {
        p->label_count += label_of(p, at, &p->labels[p->label_count]);
    }
}

static void read_resource(struct points *p, size_t at)
{
    size_t end = p->tape->nodes[at].next;
    for (at++; at < end && p->resource_count < TC_SAMPLE_LABELS_MAX; at = p->tape->nodes[at].next) {
        struct tc_sample_label *label = &p->resource[p->resource_count];
        if (!label_of(p, at, label)) {
            continue;
        }
        /* The Prometheus receiver's name for "instance": host and port of what was scraped. */
        if (tc_slice_eq(label->key, TC_LIT("service.instance.id")) &&
            tc_slice_find_byte(label->value, ':') != TC_NPOS) {
            label->key = TC_LIT("instance");
        }
        p->resource_count++;
    }
}

/* A label of the point comes before one of its resource. */
static void add_resource_labels(struct points *p)
{
    size_t own = p->label_count;
    for (size_t i = 0; i < p->resource_count && p->label_count < TC_SAMPLE_LABELS_MAX; i++) {
        bool again = false;
        for (size_t k = 0; k < own && !again; k++) {
            again = tc_slice_eq(p->labels[k].key, p->resource[i].key);
        }
        if (!again) {
            p->labels[p->label_count++] = p->resource[i];
        }
    }
}

static void read_point(struct points *p, size_t at, struct point *out)
{
    size_t end = p->tape->nodes[at].next;
    *out = (struct point){.time_ns = TC_TIME_NONE,
                          .start_ns = TC_TIME_NONE,
                          .value = (double)NAN,
                          .total = (double)NAN,
                          .count = (double)NAN};
    p->label_count = 0;
    for (at++; at < end; at = p->tape->nodes[at].next) {
        const struct tc__otlp_node *n = &p->tape->nodes[at];
        if (n->keep == TC__OTLP_K_TIME) {
            out->time_ns = time_of(n);
        } else if (n->keep == TC__OTLP_K_START) {
            out->start_ns = time_of(n);
        } else if (n->keep == TC__OTLP_K_AS_DOUBLE) {
            out->value = double_of(n);
        } else if (n->keep == TC__OTLP_K_AS_INT) {
            out->value = n->type == TC__OTLP_N_INT ? (double)n->integer : (double)NAN;
        } else if (n->keep == TC__OTLP_K_TOTAL) {
            out->total = double_of(n);
        } else if (n->keep == TC__OTLP_K_COUNT) {
            out->count = unsigned_of(n);
        } else if (n->keep == TC__OTLP_K_FLAGS) {
            out->no_value = n->type == TC__OTLP_N_INT && (n->integer & FLAG_NO_VALUE) != 0;
        } else if (n->keep == TC__OTLP_K_ATTRIBUTE) {
            bool again = n->type == TC__OTLP_N_AGAIN;
            add_labels(p, again ? n->at : at, again ? n->at + n->length : n->next);
        }
    }
    add_resource_labels(p);
}

static tc_status give(struct points *p, const struct point *point, const char *suffix,
                      enum tc_sample_type type, double value)
{
    struct tc_slice name = p->metric;
    if (suffix[0] != '\0') {
        name = tc__join(p->s->arena, name, TC_EMPTY, tc_slice_cstr(suffix));
        if (name.len == 0) {
            return tc_fail(p->s->err, TC_E_NOMEM, 0, "no room for the name of a metric");
        }
    }
    struct tc_sample sample = {.name = name,
                               .unit = p->unit,
                               .type = type,
                               .time_ns = point->time_ns,
                               .start_ns = type == TC_SAMPLE_DELTA ? point->start_ns : TC_TIME_NONE,
                               .value = point->no_value ? (double)NAN : value,
                               .labels = p->labels,
                               .label_count = p->label_count};
    p->s->counts.undated += point->time_ns == TC_TIME_NONE;
    return tc__samples_take(p->s, &sample);
}

/* name{quantile="0.5"}, as Prometheus has it. */
static tc_status give_quantiles(struct points *p, const struct point *point, size_t at)
{
    size_t end = p->tape->nodes[at].next;
    if (p->label_count == TC_SAMPLE_LABELS_MAX) {
        return TC_OK;
    }
    struct tc_sample_label *label = &p->labels[p->label_count++];
    for (at++; at < end; at = p->tape->nodes[at].next) {
        if (p->tape->nodes[at].keep != TC__OTLP_K_QUANTILE) {
            continue;
        }
        /* What is 0 is not on the wire. */
        double rank = 0;
        double value = 0;
        for (size_t k = at + 1; k < p->tape->nodes[at].next; k = p->tape->nodes[k].next) {
            const struct tc__otlp_node *n = &p->tape->nodes[k];
            rank = n->keep == TC__OTLP_K_RANK ? double_of(n) : rank;
            value = n->keep == TC__OTLP_K_AS_DOUBLE ? double_of(n) : value;
        }
        char text[NUMBER_TEXT_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_f64(&b, rank);
        *label = (struct tc_sample_label){TC_LIT("quantile"), tc_buf_slice(&b)};
        TC_TRY(give(p, point, "", TC_SAMPLE_GAUGE, value));
    }
    p->label_count--;
    return TC_OK;
}

struct data {
    unsigned keep; /* GAUGE, SUM, HISTOGRAM or SUMMARY */
    enum tc_sample_type type;
};

static tc_status give_point(struct points *p, const struct data *data, size_t at)
{
    struct point point;
    read_point(p, at, &point);
    if (data->keep == TC__OTLP_K_GAUGE || data->keep == TC__OTLP_K_SUM) {
        return give(p, &point, "", data->type, point.value);
    }
    /* A count of 0 is not on the wire; a sum that is not there is not known. */
    double count = isnan(point.count) ? 0 : point.count;
    TC_TRY(give(p, &point, "_count", data->type, count));
    if (data->keep == TC__OTLP_K_SUMMARY && isnan(point.total)) {
        point.total = 0;
    }
    if (!isnan(point.total)) {
        TC_TRY(give(p, &point, "_sum", data->type, point.total));
    }
    return data->keep == TC__OTLP_K_SUMMARY ? give_quantiles(p, &point, at) : TC_OK;
}

/* gauge, sum, histogram or summary: what is not monotonic is a gauge. */
static struct data read_data(const struct tc_otlp_tape *tape, size_t at)
{
    struct data out = {.keep = tape->nodes[at].keep, .type = TC_SAMPLE_COUNTER};
    bool monotonic = out.keep != TC__OTLP_K_SUM;
    bool delta = false;
    for (size_t k = at + 1; k < tape->nodes[at].next; k = tape->nodes[k].next) {
        const struct tc__otlp_node *n = &tape->nodes[k];
        monotonic = n->keep == TC__OTLP_K_MONOTONIC ? n->integer != 0 : monotonic;
        delta = n->keep == TC__OTLP_K_TEMPORALITY ? n->integer == TEMPORALITY_DELTA : delta;
    }
    if (out.keep == TC__OTLP_K_GAUGE || !monotonic) {
        out.type = TC_SAMPLE_GAUGE;
    } else if (delta) {
        out.type = TC_SAMPLE_DELTA;
    }
    return out;
}

static bool is_data(unsigned keep)
{
    return keep == TC__OTLP_K_GAUGE || keep == TC__OTLP_K_SUM || keep == TC__OTLP_K_HISTOGRAM ||
           keep == TC__OTLP_K_SUMMARY;
}

static tc_status read_metric(struct points *p, size_t at)
{
    size_t end = p->tape->nodes[at].next;
    p->metric = TC_EMPTY;
    p->unit = TC_EMPTY;
    for (size_t k = at + 1; k < end; k = p->tape->nodes[k].next) {
        const struct tc__otlp_node *n = &p->tape->nodes[k];
        if (n->type == TC__OTLP_N_STRING && n->keep == TC__OTLP_K_NAME) {
            p->metric = tc__otlp_node_text(p->tape, n);
        } else if (n->type == TC__OTLP_N_STRING && n->keep == TC__OTLP_K_UNIT) {
            p->unit = tc__otlp_node_text(p->tape, n);
        }
    }
    if (p->metric.len == 0) {
        tc__samples_bad(p->s, p->tape->nodes[at].at, "a metric without a name");
        return TC_OK;
    }
    for (at++; at < end; at = p->tape->nodes[at].next) {
        if (!is_data(p->tape->nodes[at].keep)) {
            continue;
        }
        struct data data = read_data(p->tape, at);
        for (size_t k = at + 1; k < p->tape->nodes[at].next; k = p->tape->nodes[k].next) {
            if (p->tape->nodes[k].keep != TC__OTLP_K_POINT) {
                continue;
            }
            tc_arena_mark mark = tc_arena_snapshot(p->s->arena);
            tc_status status = give_point(p, &data, k);
            tc_arena_rewind(p->s->arena, mark);
            TC_TRY(status);
        }
    }
    return TC_OK;
}

static tc_status read_tape(struct tc__samples *s, const struct tc_otlp_tape *tape)
{
    for (size_t at = 0; at < tape->count; at = tape->nodes[at].next) {
        if (tape->nodes[at].keep != TC__OTLP_K_RESOURCE_METRICS) {
            continue;
        }
        struct points p = {.s = s, .tape = tape};
        tc_arena_mark mark = tc_arena_snapshot(s->arena);
        tc_status status = TC_OK;
        size_t end = tape->nodes[at].next;
        for (size_t k = at + 1; k < end; k = tape->nodes[k].next) {
            if (tape->nodes[k].keep == TC__OTLP_K_RESOURCE) {
                read_resource(&p, k);
            }
        }
        for (size_t k = at + 1; k < end && status == TC_OK; k = tape->nodes[k].next) {
            if (tape->nodes[k].keep == TC__OTLP_K_METRIC) {
                status = read_metric(&p, k);
            }
        }
        if (status == TC_OK && !tc_arena_ok(s->arena)) {
            status = tc_fail(s->err, TC_E_NOMEM, tape->nodes[at].at,
                             "metrics: the arena \"%s\" is full", s->arena->name);
        }
        tc_arena_rewind(s->arena, mark);
        TC_TRY(status);
    }
    return TC_OK;
}

tc_status tc_otlp_samples(const struct tc_otlp_tape *tape, struct tc_arena *arena,
                          const struct tc_samples_out *out, struct tc_samples_counts *out_counts,
                          struct tc_error *err)
{
    struct tc__samples s = {.arena = arena, .out = out, .counts = {.scrapes = 1}, .err = err};
    TC_TRY(read_tape(&s, tape));
    if (out_counts != NULL) {
        *out_counts = s.counts;
    }
    return TC_OK;
}

/* ---- files ---- */

static tc_status take_request(void *context, struct tc_otlp_reader *r,
                              const struct tc_otlp_tape *tape)
{
    (void)r;
    return read_tape(context, tape);
}

static void note_bad(void *context, uint64_t offset, const char *why)
{
    tc__samples_bad(context, offset, why);
}

static tc_status read_file(struct tc__samples *s, enum tc_otlp_form form)
{
    const struct tc__otlp_file file = {.bytes = s->in->bytes,
                                       .signal = TC_OTLP_METRICS,
                                       .form = form,
                                       .reader = s->in->reader,
                                       .not_one = "not a request of OTLP metrics",
                                       .take = take_request,
                                       .bad = note_bad,
                                       .context = s};
    struct tc_error first = {0};
    TC_TRY(tc__otlp_file_read(&file, &first, s->err));
    if (s->counts.samples == 0 && first.status != TC_OK) {
        return tc_fail(s->err, TC_E_MALFORMED, first.offset, "no metrics of OTLP in it: %s",
                       first.message);
    }
    return TC_OK;
}

bool tc__samples_is_otlp_json(struct tc_slice bytes)
{
    /* The Collector may write all its signals to one file. */
    return tc__otlp_file_has(bytes, "resourceMetrics") ||
           (tc__otlp_file_has(bytes, "resourceSpans") &&
            tc_slice_contains(bytes, TC_LIT("\"resourceMetrics\"")));
}

tc_status tc__samples_otlp_json(struct tc__samples *s)
{
    return read_file(s, TC_OTLP_JSON);
}

bool tc__samples_is_otlp_protobuf(struct tc_slice bytes)
{
    return tc__otlp_file_is_protobuf(bytes);
}

tc_status tc__samples_otlp_protobuf(struct tc__samples *s)
{
    return read_file(s, TC_OTLP_PROTOBUF);
}
