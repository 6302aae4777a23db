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
            .value = tc__decode_lasts(&o->decode, text)
                         ? text
                         : tc_arena_copy(o->decode.out->scratch, text),
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
    /* Where its attributes are nodes of a tape that follow each other: the first, and how many
     * pairs; none otherwise. */
    uint32_t node;
    uint32_t pairs;
    bool again; /* an earlier point has them */
};

/* An attribute, or those of an earlier point. */
static void find_pairs(const struct tc__otlp_node *n, uint32_t at, struct point *io)
{
    if (n->type == TC__OTLP_N_AGAIN) {
        io->again = io->pairs == 0;
        io->node = n->at;
        io->pairs = io->again ? n->length / 2 : UINT32_MAX;
    } else if (io->pairs == 0) {
        io->node = at;
        io->pairs = 1;
    } else {
        bool follows = !io->again && at == io->node + 2 * io->pairs;
        io->pairs = follows ? io->pairs + 1 : UINT32_MAX;
    }
}

/* Of a field that came twice the last counts, as protobuf has it. */
static void read_tape(struct tc__value point, struct point *out)
{
    const struct tc_otlp_tape *tape = point.v.doc;
    bool is_double = false;
    int64_t time_ns = 0;
    for (size_t at = point.v.at + 1; at < tape->nodes[point.v.at].next; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        if (n->keep == TC__OTLP_K_ATTRIBUTE) {
            find_pairs(n, (uint32_t)at, out);
        } else if (n->keep == TC__OTLP_K_TIME) {
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

/* Whether all labels are in what outlives the call. */
static bool all_last(const struct tc__otlp *o, const struct tc__metric_sample *sample)
{
    for (size_t i = 0; i < TC__FIELD_COUNT; i++) {
        if (sample->texts[i].len > 0 && !tc__decode_lasts(&o->decode, sample->texts[i])) {
            return false;
        }
    }
    return true;
}

/*
 * The labels of a point: those of the same point of the metric before where they are the same,
 * otherwise kept for the next metric; in *scratch where there is no room.
 */
static struct tc__otlp_label_set *read_labels(struct tc__otlp *o,
                                              const struct tc__otlp_resource *resource,
                                              struct tc__value v, const struct point *point,
                                              const struct tc__metric_use *use,
                                              struct tc__otlp_label_set *scratch)
{
    struct tc__otlp_label_sets *sets = &o->label_sets;
    bool has_room = sets->of != NULL && sets->next < TC__OTLP_LABEL_SETS && point->pairs > 0 &&
                    point->pairs < UINT32_MAX;
    struct tc__otlp_label_set *set = has_room ? &sets->of[sets->next++] : scratch;
    if (has_room && sets->next <= sets->count && set->node == point->node &&
        set->pairs == point->pairs) {
        tc__metric_begin_again(&set->sample, use, o->decode.out->scratch);
        return set;
    }
    tc__metric_begin(&set->sample, use, o->decode.out->scratch);
    bool lasts = add_labels(o, resource, v, &set->sample);
    set->node = point->node;
    set->pairs = lasts ? point->pairs : UINT32_MAX;
    set->lasts = has_room && all_last(o, &set->sample);
    sets->count = sets->next > sets->count ? sets->next : sets->count;
    return set;
}

/* The event of a point. Its strings need not be looked at one by one where its labels last. */
static tc_status emit_point(struct tc__otlp *o, const struct tc__otlp_label_set *set,
                            struct tc_event *ev)
{
    bool lasts = set->lasts && set->sample.scope_of != 0 &&
                 (ev->metric.device.len == 0 || tc__decode_lasts(&o->decode, ev->metric.device)) &&
                 (ev->scope.node.len == 0 || tc__decode_lasts(&o->decode, ev->scope.node));
    return lasts ? tc__decode_emit_lasting(&o->decode, ev) : tc__decode_emit(&o->decode, ev);
}

/* mapped: what the metric's name means; NULL when that depends on the point. */
static tc_status read_point(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                            struct tc_slice name, const struct tc__metric_use *mapped,
                            struct tc__value point)
{
    struct tc__metric_use use = {0};
    struct tc__otlp_label_set scratch;
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
    struct tc__otlp_label_set *set =
        read_labels(o, resource, point, &said, mapped != NULL ? mapped : &use, &scratch);
    enum tc__metric_verdict verdict = tc__metric_end(&set->sample, said.value, &ev);
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
    TC_TRY(emit_point(o, set, &ev));
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

/* What a metric of a tape is: of a member that came twice the last counts, as protobuf has it. */
struct metric {
    struct tc_slice name;
    size_t sum; /* its node; 0: none */
    size_t gauge;
    bool is_delta; /* the sum */
};

static struct metric find_metric(const struct tc_otlp_tape *tape, size_t at)
{
    struct metric out = {.name = TC_EMPTY};
    size_t end = tape->nodes[at].next;
    for (at++; at < end; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        if (n->keep == TC__OTLP_K_NAME && n->type == TC__OTLP_N_STRING) {
            out.name = tc__otlp_node_text(tape, n);
        }
        out.sum = n->keep == TC__OTLP_K_SUM ? at : out.sum;
        out.gauge = n->keep == TC__OTLP_K_GAUGE ? at : out.gauge;
    }
    for (at = out.sum + 1; out.sum > 0 && at < tape->nodes[out.sum].next;
         at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        if (n->keep == TC__OTLP_K_TEMPORALITY) {
            out.is_delta = n->integer == TEMPORALITY_DELTA;
        }
    }
    return out;
}

/* tc__metric_map of a name that is a place in the body: exporters have some tens of names. */
static bool map_again(struct tc__otlp_metric_name *names, struct tc_slice name,
                      struct tc__metric_use *out)
{
    if (name.len == 0 || name.len > TC__OTLP_METRIC_NAME_MAX) {
        return tc__metric_map(name, out);
    }
    unsigned middle = (unsigned char)name.ptr[name.len / 2];
    unsigned last = (unsigned char)name.ptr[name.len - 1];
    size_t place = (name.len * 7 + middle * 3 + last) % TC__OTLP_METRIC_NAMES;
    struct tc__otlp_metric_name *known = &names[place];
    if (known->length != name.len || memcmp(known->text, name.ptr, name.len) != 0) {
        struct tc__metric_use use = {0};
        known->length = (uint8_t)name.len;
        memcpy(known->text, name.ptr, name.len);
        known->row = tc__metric_map(name, &use) ? use.row : NULL;
        known->link_at = use.link.len == 0 ? 0 : (uint8_t)(use.link.ptr - name.ptr);
        known->link_length = (uint8_t)use.link.len;
    }
    *out = (struct tc__metric_use){
        .row = known->row,
        .link = known->link_length == 0
                    ? TC_EMPTY
                    : tc_slice_make(name.ptr + known->link_at, known->link_length),
    };
    return known->row != NULL;
}

tc_status tc__otlp_metric_read(struct tc__otlp *o, const struct tc__otlp_resource *resource,
                               struct tc__value metric)
{
    const struct tc_otlp_tape *tape = metric.v.doc;
    struct tc__metric_use use = {0};
    const struct metric found = find_metric(tape, metric.v.at);
    bool is_mapped = map_again(o->metric_names, found.name, &use);
    o->label_sets.next = 0;
    if (!is_mapped && !is_hardware(found.name)) {
        return tc__decode_unknown(&o->decode, "not a metric that any pattern reads");
    }
    size_t data = found.sum > 0 ? found.sum : found.gauge;
    if (data == 0) {
        return tc__decode_unknown(&o->decode, "neither a gauge nor a sum");
    }
    if (found.is_delta) {
        return tc__decode_unknown(&o->decode, "a sum of differences (delta)");
    }
    for (size_t at = data + 1; at < tape->nodes[data].next; at = tape->nodes[at].next) {
        const struct tc__otlp_node *n = &tape->nodes[at];
        if (n->keep != TC__OTLP_K_POINT) {
            continue;
        }
        o->decode.raw_offset = n->at;
        o->decode.raw_length = n->length;
        tc_arena_mark mark = tc_arena_snapshot(o->decode.out->scratch);
        tc_status status =
            read_point(o, resource, found.name, is_mapped ? &use : NULL,
                       (struct tc__value){.v = {tape, at}, .there = true, .tape = true});
        tc_arena_rewind(o->decode.out->scratch, mark);
        TC_TRY(status);
    }
    return TC_OK;
}
