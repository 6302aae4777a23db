/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: the data points of gauges and cumulative sums whose name some detector
 * reads, with the names, units and labels of map_priv.h. Attributes of the
 * resource count as labels of its points. Histograms, summaries and sums of
 * differences (delta) are left out and counted: none of what is read comes so.
 */
#include "base/json/raw.h"
#include "codec/match_priv.h"
#include "codec/metric/map_priv.h"
#include "codec/otlp/record_priv.h"
#include "codec/otlp/tape_priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)

/* Bits of DataPointFlags, and aggregation temporalities. */
#define FLAG_NO_VALUE 1
#define TEMPORALITY_DELTA 1
/* One data point; it has some hundred bytes. */
#define POINT_MAX ((size_t)1 << 20)

void tc__otlp_labels(struct tc__otlp *o, struct tc__value resource, struct tc__otlp_resource *io)
{
    struct tc__value_iter it = tc__value_attributes(resource);
    struct tc_slice key;
    struct tc__value value;
    while (io->label_count < TC__OTLP_LABELS_MAX && tc__value_next(&it, &key, &value)) {
        /* The Prometheus receiver's name for "instance": host and port of what was scraped. */
        bool instance = tc_slice_eq(key, S("service.instance.id"));
        struct tc__otlp_value read = tc__otlp_value_read(value);
        struct tc_slice text = tc__otlp_text(o, &read);
        const struct tc__metric_label_row *row =
            tc__metric_label_find(instance ? S("instance") : key);
        if (text.len == 0 || (instance && tc_slice_find_byte(text, ':') == TC_NPOS) ||
            row == NULL) {
            continue;
        }
        io->labels[io->label_count++] = (struct tc__otlp_label){
            .row = row,
            .value = tc_arena_copy(o->decode.out->scratch, text),
        };
    }
}

/*
 * Names of the semantic conventions for hardware that are of a GPU only by an attribute, and what
 * the table has for the same thing.
 */
static bool map_hardware(struct tc_slice name, struct tc__value point, struct tc__metric_use *out)
{
    static const struct {
        const char *name;
        const char *error_type;
        const char *same;
    } rows[] = {
        {"hw.errors", "corrected", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"},
        {"hw.errors", "uncorrected", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"},
        {"hw.temperature", "", "DCGM_FI_DEV_GPU_TEMP"},
        {"hw.power", "", "DCGM_FI_DEV_POWER_USAGE"},
    };
    struct tc__value_iter it = tc__value_attributes(point);
    struct tc_slice type = TC_EMPTY;
    struct tc_slice error = TC_EMPTY;
    struct tc_slice key;
    struct tc__value value;
    while (tc__value_next(&it, &key, &value)) {
        if (tc_slice_eq(key, S("hw.type"))) {
            type = tc__value_text(value);
        } else if (tc_slice_eq(key, S("error.type"))) {
            error = tc__value_text(value);
        }
    }
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc_slice_eq(type, S("gpu")) && tc_slice_eq(name, tc_slice_cstr(rows[i].name)) &&
            tc_slice_eq(error, tc_slice_cstr(rows[i].error_type))) {
            return tc__metric_map(tc_slice_cstr(rows[i].same), out);
        }
    }
    return false;
}

static bool is_hardware(struct tc_slice name)
{
    return tc_slice_eq(name, S("hw.errors")) || tc_slice_eq(name, S("hw.temperature")) ||
           tc_slice_eq(name, S("hw.power"));
}

/* What a data point says besides its attributes. */
struct point {
    int64_t flags;
    int64_t time_ns;
    double value;
    bool has_value;
};

/* Of a field that came twice the last counts, as protobuf has it. */
static void read_tape(struct tc__value point, struct point *out)
{
    const struct tc_otlp_tape *tape = point.v.doc;
    bool is_double = false;
    int64_t time_ns = 0;
    for (size_t at = point.v.at + 1; at < tape->nodes[point.v.at].next; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        if (n->keep == TC__OTLP_K_TIME) {
            time_ns = n->integer;
        } else if (n->keep == TC__OTLP_K_FLAGS) {
            out->flags = n->integer;
        } else if (n->keep == TC__OTLP_K_AS_DOUBLE) {
            out->value = n->number;
            is_double = true;
            out->has_value = true;
        } else if (n->keep == TC__OTLP_K_AS_INT) {
            out->value = is_double ? out->value : (double)n->integer;
            out->has_value = true;
        }
    }
    out->time_ns = time_ns > 0 && time_ns <= TC_TIME_MAX ? time_ns : TC_TIME_NONE;
}

/* asDouble or asInt, which may be a string. */
static bool value_of(struct tc__value point, double *out)
{
    struct tc__value v = tc__value_get(point, S("asDouble"));
    if (v.there && tc_json_double(v.v, out)) {
        return true;
    }
    struct tc_slice text = tc__value_text(v);
    if (text.len > 0 && tc__text_number(text, out) == text.len) {
        return true;
    }
    int64_t integer = 0;
    v = tc__value_get(point, S("asInt"));
    if (!v.there || !tc_json_int(v.v, &integer)) {
        return false;
    }
    *out = (double)integer;
    return true;
}

static void read_json(struct tc__value point, struct point *out)
{
    out->flags = tc__value_int(point, S("flags"), 0);
    out->has_value = value_of(point, &out->value);
    out->time_ns = tc__value_unix_nano(point, S("timeUnixNano"));
}

/*
 * The bytes that the attributes of a point of a tape are made of, where they are those of the body.
 * Points with the same bytes, pairs and first key have the same attributes.
 */
static bool find_bytes(struct tc__value point, struct tc__otlp_label_set *out)
{
    const struct tc_otlp_tape *tape = point.v.doc;
    const struct tc__otlp_node *first = NULL;
    const struct tc__otlp_node *last = NULL;
    out->pairs = 0;
    for (size_t at = point.v.at + 1; at < tape->nodes[point.v.at].next; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        if (n->keep == TC__OTLP_K_ATTRIBUTE) {
            first = first == NULL ? n : first;
            last = n;
            out->pairs++;
        }
    }
    if (first == NULL || first->own || last->next != (size_t)(last - tape->nodes) + 2 ||
        last[1].type != TC__OTLP_N_STRING || last[1].own) {
        return false;
    }
    size_t end = (size_t)last[1].at + last[1].length;
    out->bytes = tc_slice_make(tape->body.ptr + first->at, end - first->at);
    out->key_length = first->length;
    return true;
}

/* The labels of a point that has the attributes of the same point of the metric before. */
static bool same_labels(struct tc__otlp_label_sets *sets, const struct tc__otlp_label_set *asked,
                        struct tc__metric_sample *sample)
{
    const struct tc__otlp_label_set *known = &sets->of[sets->next];
    if (sets->next >= sets->count || known->pairs != asked->pairs ||
        known->key_length != asked->key_length || !tc_slice_eq(known->bytes, asked->bytes)) {
        return false;
    }
    memcpy(sample->texts, known->texts, sizeof sample->texts);
    memcpy(sample->claims, known->claims, sizeof sample->claims);
    sets->next++;
    return true;
}

static void keep_labels(struct tc__otlp_label_sets *sets, const struct tc__otlp_label_set *asked,
                        const struct tc__metric_sample *sample)
{
    if (sets->next < TC__OTLP_LABEL_SETS) {
        struct tc__otlp_label_set *to = &sets->of[sets->next++];
        to->bytes = asked->bytes;
        to->key_length = asked->key_length;
        to->pairs = asked->pairs;
        memcpy(to->texts, sample->texts, sizeof to->texts);
        memcpy(to->claims, sample->claims, sizeof to->claims);
        sets->count = sets->next > sets->count ? sets->next : sets->count;
    }
}

/* False when a label's text was made for this point, and does not last. */
static bool add_labels(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                       struct tc__value point, struct tc__metric_sample *sample)
{
    struct tc__value_iter it = tc__value_attributes(point);
    struct tc_slice key;
    struct tc__value v;
    bool lasts = true;
    for (size_t n = 0; n < TC__OTLP_LABELS_MAX && tc__value_next(&it, &key, &v); n++) {
        const struct tc__metric_label_row *row =
            point.tape ? tc__metric_label_again(&o->label_keys, n, key)
                       : tc__metric_label_find(key);
        if (row != NULL) {
            struct tc__otlp_value read = tc__otlp_value_read(v);
            struct tc_slice text = tc__otlp_text(o, &read);
            lasts = lasts && (text.len == 0 || tc__decode_lasts(&o->decode, text));
            tc__metric_label_set(sample, row, text);
        }
    }
    for (size_t i = 0; i < resource->label_count; i++) {
        tc__metric_label_set(sample, resource->labels[i].row, resource->labels[i].value);
    }
    return lasts;
}

/* All labels of a point. */
static void read_labels(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                        struct tc__value point, struct tc__metric_sample *sample)
{
    struct tc__otlp_label_sets *sets = &o->label_sets;
    struct tc__otlp_label_set asked;
    if (!point.tape || sets->of == NULL || !find_bytes(point, &asked)) {
        (void)add_labels(o, resource, point, sample);
        return;
    }
    if (!same_labels(sets, &asked, sample) && add_labels(o, resource, point, sample)) {
        keep_labels(sets, &asked, sample);
    }
}

/* mapped: what the metric's name means; NULL when that depends on the point. */
static tc_status read_point(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                            struct tc_slice name, const struct tc__metric_use *mapped,
                            struct tc__value point)
{
    struct tc__metric_use use = {0};
    struct tc__metric_sample sample;
    struct tc_event ev;
    struct point said = {0};
    if (mapped == NULL && !map_hardware(name, point, &use)) {
        return tc__decode_unknown(&o->decode, "not a series that any pattern reads");
    }
    if (point.tape) {
        read_tape(point, &said);
    } else {
        read_json(point, &said);
    }
    if ((said.flags & FLAG_NO_VALUE) != 0 || !said.has_value) {
        return tc__decode_unknown(&o->decode, "a data point without a value");
    }
    tc__metric_begin(&sample, mapped != NULL ? mapped : &use, o->decode.out->scratch);
    read_labels(o, resource, point, &sample);
    enum tc__metric_verdict verdict = tc__metric_end(&sample, said.value, &ev);
    if (verdict == TC__METRIC_NOMEM) {
        return tc_fail(o->decode.err, TC_E_NOMEM, o->decode.raw_offset,
                       "no room for a data point's text");
    }
    if (verdict != TC__METRIC_READ) {
        return tc__decode_unknown(&o->decode, tc__metric_why(verdict));
    }
    if (ev.scope.node.len == 0) {
        ev.scope.node = o->decode.in->node;
    }
    ev.time_ns = said.time_ns;
    TC_TRY(tc__otlp_flush(o));
    TC_TRY(tc__decode_emit(&o->decode, &ev));
    return tc__otlp_place(o, &ev);
}

static tc_status read_points(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                             struct tc_slice name, const struct tc__metric_use *mapped,
                             struct tc_slice points)
{
    struct tc_slice json;
    for (size_t at = 0; tc_json_raw_element(points, &at, &json);) {
        struct tc__value point;
        o->decode.raw_offset = (size_t)(json.ptr - o->decode.in->bytes.ptr);
        o->decode.raw_length = json.len;
        if (json.len > POINT_MAX) {
            TC_TRY(tc__decode_unknown(&o->decode, "a data point that is too long"));
            continue;
        }
        TC_TRY(tc__decode_json(&o->decode, json, "a data point", &point));
        if (!point.there) {
            continue;
        }
        tc_arena_mark mark = tc_arena_snapshot(o->decode.out->scratch);
        tc_status status = read_point(o, resource, name, mapped, point);
        tc_arena_rewind(o->decode.out->scratch, mark);
        TC_TRY(status);
    }
    return TC_OK;
}

/* A string between its quotes; names of metrics have no escapes. */
static struct tc_slice unquote(struct tc_slice json)
{
    return json.len >= 2 && json.ptr[0] == '"' ? tc_slice_make(json.ptr + 1, json.len - 2)
                                               : TC_EMPTY;
}

static bool is_delta(struct tc_slice sum)
{
    struct tc_slice json = TC_EMPTY;
    uint64_t number = 0;
    if (!tc_json_raw_get(sum, S("aggregationTemporality"), &json)) {
        return false;
    }
    return (tc_slice_is_u64(json, &number) && number == TEMPORALITY_DELTA) ||
           tc_slice_eq(unquote(json), S("AGGREGATION_TEMPORALITY_DELTA"));
}

tc_status tc__otlp_metric(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                          struct tc_slice json)
{
    struct tc__metric_use use = {0};
    struct tc_slice name = TC_EMPTY;
    struct tc_slice data;
    struct tc_slice points;
    if (tc_json_raw_get(json, S("name"), &name)) {
        name = unquote(name);
    }
    bool is_mapped = tc__metric_map(name, &use);
    if (!is_mapped && !is_hardware(name)) {
        return tc__decode_unknown(&o->decode, "not a metric that any pattern reads");
    }
    bool is_sum = tc_json_raw_get(json, S("sum"), &data);
    if (!is_sum && !tc_json_raw_get(json, S("gauge"), &data)) {
        return tc__decode_unknown(&o->decode, "neither a gauge nor a sum");
    }
    if (is_sum && is_delta(data)) {
        return tc__decode_unknown(&o->decode, "a sum of differences (delta)");
    }
    if (!tc_json_raw_get(data, S("dataPoints"), &points)) {
        return tc__decode_unknown(&o->decode, "a metric without data points");
    }
    return read_points(o, resource, name, is_mapped ? &use : NULL, points);
}

tc_status tc__otlp_metric_read(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                               struct tc__value metric)
{
    const struct tc_otlp_tape *tape = metric.v.doc;
    struct tc__metric_use use = {0};
    struct tc_slice name = tc__value_string(metric, S("name"));
    bool is_mapped = tc__metric_map(name, &use);
    o->label_sets.next = 0;
    if (!is_mapped && !is_hardware(name)) {
        return tc__decode_unknown(&o->decode, "not a metric that any pattern reads");
    }
    struct tc__value sum = tc__value_get(metric, S("sum"));
    struct tc__value data = sum.there ? sum : tc__value_get(metric, S("gauge"));
    if (!data.there) {
        return tc__decode_unknown(&o->decode, "neither a gauge nor a sum");
    }
    if (sum.there && tc__value_int(sum, S("aggregationTemporality"), 0) == TEMPORALITY_DELTA) {
        return tc__decode_unknown(&o->decode, "a sum of differences (delta)");
    }
    for (size_t at = data.v.at + 1; at < tape->nodes[data.v.at].next; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        if (n->keep != TC__OTLP_K_POINT) {
            continue;
        }
        o->decode.raw_offset = n->at;
        o->decode.raw_length = n->length;
        tc_arena_mark mark = tc_arena_snapshot(o->decode.out->scratch);
        tc_status status =
            read_point(o, resource, name, is_mapped ? &use : NULL,
                       (struct tc__value){.v = {tape, at}, .there = true, .tape = true});
        tc_arena_rewind(o->decode.out->scratch, mark);
        TC_TRY(status);
    }
    return TC_OK;
}
