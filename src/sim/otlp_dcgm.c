/* SPDX-License-Identifier: Apache-2.0 */
/* A scrape of dcgm-exporter as the Collector's Prometheus receiver passes it on. */
#include "sim/feed_priv.h"
#include "sim/otlp_priv.h"

/* Labels as a JSON array, the same for every field of a scrape. */
struct attributes {
    char text[2048];
    size_t len;
};

/* name="value",... with or without a comma in front. Values hold no quotes. */
static void put_attributes(const struct sim_labels *labels, struct tc_json_out *j)
{
    struct tc_slice rest = tc_slice_make(labels->text, labels->len);
    while (rest.len > 0) {
        rest = rest.ptr[0] == ',' ? tc_slice_from(rest, 1) : rest;
        struct tc_slice value;
        struct tc_slice name = tc_slice_cut(rest, '=', &value);
        value = tc_slice_cut(tc_slice_from(value, 1), '"', &rest);
        tc_json_add_object(j);
        tc_json_put_plain(j, "key", name);
        tc_json_put_object(j, "value");
        tc_json_put_str(j, "stringValue", value);
        tc__sim_end(j, "}}");
    }
}

static void make_attributes(const struct sim_exporter *e, struct attributes *out)
{
    struct sim_labels labels;
    struct sim_labels pod;
    tc__sim_pod_labels(e->sim, e->node, &pod);
    for (uint32_t gpu = 0; gpu < e->sim->options.gpus_per_node; gpu++) {
        struct tc_buf b = tc_buf_make(out[gpu].text, sizeof out[gpu].text);
        struct tc_json_out j = tc_json_out_make(&b);
        tc__sim_gpu_labels(e->sim, e->node, gpu, &labels);
        tc_json_add_array(&j);
        put_attributes(&labels, &j);
        if (e->with_pod) {
            put_attributes(&pod, &j);
        }
        tc_json_end_array(&j);
        out[gpu].len = b.len;
    }
}

static uint32_t put_metric(const struct sim_exporter *e, size_t field, sim_dcgm_values values,
                           const struct attributes *attributes, struct tc_json_out *j)
{
    uint32_t points = 0;
    tc_json_add_object(j);
    tc_json_put_plain(j, "name", tc__sim_dcgm_fields[field].name);
    if (tc__sim_dcgm_fields[field].counter) {
        tc_json_put_object(j, "sum");
        tc_json_put_u64(j, "aggregationTemporality", 2);
        tc_json_put_bool(j, "isMonotonic", true);
    } else {
        tc_json_put_object(j, "gauge");
    }
    tc_json_put_array(j, "dataPoints");
    for (uint32_t gpu = 0; gpu < e->sim->options.gpus_per_node; gpu++) {
        if (e->gpus[gpu].gauges[SIM_LOST] != 0) {
            continue;
        }
        tc_json_add_object(j);
        /* Prometheus has milliseconds. */
        tc_json_put_i64_text(j, "timeUnixNano", e->at_ns / SIM_MS * SIM_MS);
        tc_json_put_f64(j, "asDouble", (double)values[gpu][field]);
        tc_json_put_raw(j, "attributes", tc_slice_make(attributes[gpu].text, attributes[gpu].len));
        tc_json_end_object(j);
        points++;
    }
    tc__sim_end(j, "]}}");
    return points;
}

void tc__sim_exporter_step(void *source, const struct sim_sink *sink)
{
    struct sim_exporter *e = source;
    struct tc_buf *b = sink->begin(sink->context);
    if (b == NULL) {
        return;
    }
    struct attributes attributes[TC_SIM_GPUS_MAX];
    sim_dcgm_values values;
    uint32_t points = 0;
    struct tc_json_out j = tc_json_out_make(b);
    make_attributes(e, attributes);
    tc__sim_exporter_look(e, values);
    /* The resource that the Prometheus receiver makes of a target. */
    tc__sim_begin_resource(&j);
    tc__sim_put_string(&j, "service.name", TC_LIT("dcgm-exporter"));
    tc__sim_put(&j, "service.instance.id", "{}:9400", tc__sim_node(e->node));
    tc__sim_end(&j, "]}");
    tc__sim_begin_scope(&j, "scopeMetrics", "prometheusreceiver", "metrics");
    for (size_t field = 0; field < SIM_DCGM_FIELDS; field++) {
        points += put_metric(e, field, values, attributes, &j);
    }
    tc__sim_end_records(&j);
    sink->end(sink->context, points);
    tc__sim_exporter_next(e);
}
