/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which form the samples have, and what a series is in the words of the other codecs.
 */
#include "codec/metric/map_priv.h"
#include "codec/requests.h"
#include "codec/samples_priv.h"

#include <math.h>

enum tc_samples_form tc_samples_form(struct tc_slice bytes)
{
    if (tc__samples_is_otlp_json(bytes)) {
        return TC_SAMPLES_OTLP_JSON;
    }
    /* Before protobuf: empty lines look like the start of one. */
    if (tc__samples_is_text(bytes)) {
        return TC_SAMPLES_TEXT;
    }
    return tc__samples_is_otlp_protobuf(bytes) && !tc_requests_sniff(bytes)
               ? TC_SAMPLES_OTLP_PROTOBUF
               : TC_SAMPLES_NONE;
}

void tc__samples_bad(struct tc__samples *s, uint64_t offset, const char *why)
{
    s->counts.bad++;
    if (s->out->bad != NULL) {
        s->out->bad(s->out->context, offset, why);
    }
}

tc_status tc__samples_take(struct tc__samples *s, const struct tc_sample *sample)
{
    s->counts.samples++;
    return s->out->take(s->out->context, sample);
}

tc_status tc_samples_read(const struct tc_samples_input *in, struct tc_arena *arena,
                          const struct tc_samples_out *out, struct tc_samples_counts *out_counts,
                          struct tc_error *err)
{
    struct tc__samples s = {
        .in = in, .arena = arena, .out = out, .counts = {.scrapes = 1}, .err = err};
    tc_arena_mark mark = tc_arena_snapshot(arena);
    tc_status status = TC_OK;
    switch (tc_samples_form(in->bytes)) {
    case TC_SAMPLES_TEXT:
        status = tc__samples_text(&s);
        break;
    case TC_SAMPLES_OTLP_JSON:
        status = tc__samples_otlp_json(&s);
        break;
    case TC_SAMPLES_OTLP_PROTOBUF:
        status = tc__samples_otlp_protobuf(&s);
        break;
    case TC_SAMPLES_NONE:
        status = tc_fail(err, TC_E_UNSUPPORTED, 0,
                         "neither Prometheus text, OpenMetrics nor metrics of OTLP");
        break;
    }
    tc_arena_rewind(arena, mark);
    if (status == TC_OK && out_counts != NULL) {
        *out_counts = s.counts;
    }
    return status;
}

/* ---- what a series is ---- */

/* Labels of a series whose metric has no row say the same things. */
static const struct tc__metric_row NO_ROW = {
    .about = TC__ABOUT_GPU, .device = TC__DEVICE_NONE, .value = TC__VALUE_SCALED, .scale = 1};

/* Fields that end up in the scope; the others stay labels unless the metric has a row. */
static bool is_of_scope(const struct tc__metric_sample *s, uint8_t field)
{
    bool is_identity = field == TC__FIELD_NODE || field == TC__FIELD_POD_UID ||
                       field == TC__FIELD_JOB || field == TC__FIELD_RANK || field == TC__FIELD_UUID;
    /* A target that is probed may have several addresses; a zone is in no scope. */
    bool stays = (field == TC__FIELD_IP && s->use.row->device == TC__DEVICE_TARGET) ||
                 field == TC__FIELD_ZONE;
    return is_identity || (s->use.row != &NO_ROW && !stays);
}

bool tc_series_read(const struct tc_sample *sample, struct tc_arena *arena,
                    struct tc_series_meaning *out)
{
    struct tc__metric_use use = {.row = &NO_ROW};
    struct tc__metric_sample s;
    struct tc_event ev;
    bool ours = tc__metric_map(sample->name, &use);
    if (!ours) {
        use = (struct tc__metric_use){.row = &NO_ROW};
    }
    *out = (struct tc_series_meaning){.how = TC__VALUE_SCALED, .scale = 1, .scope = TC_SCOPE_NONE};
    for (;;) {
        tc__metric_begin(&s, &use, arena);
        out->used = 0;
        for (size_t i = 0; i < sample->label_count && i < TC_SAMPLE_LABELS_MAX; i++) {
            uint8_t field = 0;
            const struct tc_sample_label *label = &sample->labels[i];
            if (tc__metric_label_field(label->key, &field)) {
                (void)tc__metric_label(&s, label->key, label->value);
                out->used |= is_of_scope(&s, field) ? UINT64_C(1) << i : 0;
            }
        }
        /* A value that every way to read one takes. */
        double value = use.row->value == TC__VALUE_ADMIN_STATE ? 1 : 0;
        enum tc__metric_verdict verdict = tc__metric_end(&s, value, &ev);
        if (verdict == TC__METRIC_NOMEM) {
            return false;
        }
        if (verdict == TC__METRIC_READ || use.row == &NO_ROW) {
            break;
        }
        /* Another series of a metric of which one sort is read: it keeps its own name. */
        use = (struct tc__metric_use){.row = &NO_ROW};
        ours = false;
    }
    out->scope = ev.scope;
    out->device = ev.metric.device;
    out->rack = ours ? ev.metric.rack : TC_EMPTY;
    if (!ours && tc_slice_eq_nocase(tc_slice_head(sample->name, 5), TC_LIT("dcgm_"))) {
        out->how = TC__VALUE_DCGM;
    }
    if (ours) {
        out->metric = (enum tc_metric)use.row->metric;
        out->how = use.row->value;
        out->scale = use.row->value == TC__VALUE_ADMIN_STATE ? ev.metric.value : use.row->scale;
    }
    return true;
}

bool tc_series_value(uint8_t how, double scale, double *io_value)
{
    return isfinite(*io_value) && tc__metric_value_of(how, scale, io_value) && isfinite(*io_value);
}
