/* SPDX-License-Identifier: Apache-2.0 */
/* A scrape of dcgm-exporter as the Collector's Prometheus receiver passes it on. */
#include "sim/feed_priv.h"
#include "sim/otlp_priv.h"

/* Labels as JSON, the same for every field of a scrape. */
struct attributes {
    char text[2048];
    size_t len;
};

/* name="value",... with or without a comma in front. Values hold no quotes. */
static void put_attributes(const struct sim_labels *labels, struct tc_buf *b)
{
    struct tc_slice rest = tc_slice_make(labels->text, labels->len);
    while (rest.len > 0) {
        rest = rest.ptr[0] == ',' ? tc_slice_from(rest, 1) : rest;
        struct tc_slice value;
        struct tc_slice name = tc_slice_cut(rest, '=', &value);
        value = tc_slice_cut(tc_slice_from(value, 1), '"', &rest);
        tc__sim_put_string(b, name, value);
    }
}

static void make_attributes(const struct sim_exporter *e, struct attributes *out)
{
    struct sim_labels labels;
    struct sim_labels pod;
    tc__sim_pod_labels(e->sim, e->node, &pod);
    for (uint32_t gpu = 0; gpu < e->sim->options.gpus_per_node; gpu++) {
        struct tc_buf b = tc_buf_make(out[gpu].text, sizeof out[gpu].text);
        tc__sim_gpu_labels(e->sim, e->node, gpu, &labels);
        put_attributes(&labels, &b);
        if (e->with_pod) {
            put_attributes(&pod, &b);
        }
        out[gpu].len = b.len;
    }
}

static uint32_t put_metric(const struct sim_exporter *e, size_t field, sim_dcgm_values values,
                           const struct attributes *attributes, struct tc_buf *b)
{
    uint32_t points = 0;
    tc_buf_str(b, field > 0 ? TC_LIT(",{\"name\":\"") : TC_LIT("{\"name\":\""));
    tc_buf_str(b, tc__sim_dcgm_fields[field].name);
    tc_buf_str(b, tc__sim_dcgm_fields[field].counter
                      ? TC_LIT("\",\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,"
                               "\"dataPoints\":[")
                      : TC_LIT("\",\"gauge\":{\"dataPoints\":["));
    for (uint32_t gpu = 0; gpu < e->sim->options.gpus_per_node; gpu++) {
        if (e->gpus[gpu].gauges[SIM_LOST] != 0) {
            continue;
        }
        tc_buf_str(b, points > 0 ? TC_LIT(",") : TC_EMPTY);
        tc_buf_lit(b, "{\"timeUnixNano\":\"");
        tc_buf_i64(b, e->at_ns / SIM_MS * SIM_MS); /* Prometheus has milliseconds */
        tc_buf_lit(b, "\",\"asDouble\":");
        tc_buf_f64(b, (double)values[gpu][field]);
        tc_buf_lit(b, ",\"attributes\":[");
        tc_buf_put(b, attributes[gpu].text, attributes[gpu].len);
        tc_buf_lit(b, "]}");
        points++;
    }
    tc_buf_lit(b, "]}}");
    return points;
}

/* The resource that the Prometheus receiver makes of a target. */
static void put_resource(const struct sim_exporter *e, struct tc_buf *b)
{
    char text[SIM_NAME_MAX];
    struct tc_buf name = tc_buf_make(text, sizeof text);
    tc__sim_node_name(&name, e->node);
    tc_buf_lit(&name, ":9400");
    tc_buf_lit(b, "{\"resource\":{\"attributes\":[");
    tc__sim_put_string(b, TC_LIT("service.name"), TC_LIT("dcgm-exporter"));
    tc__sim_put_string(b, TC_LIT("service.instance.id"), tc_buf_slice(&name));
    tc_buf_lit(b, "]},\"scopeMetrics\":[{\"scope\":{\"name\":\"github.com/open-telemetry/"
                  "opentelemetry-collector-contrib/receiver/prometheusreceiver\"},\"metrics\":[");
}

void tc__sim_exporter_step(struct sim_exporter *e, const struct sim_sink *sink)
{
    struct tc_buf *b = sink->begin(sink->context);
    if (b == NULL) {
        return;
    }
    struct attributes attributes[TC_SIM_GPUS_MAX];
    sim_dcgm_values values;
    uint32_t points = 0;
    make_attributes(e, attributes);
    tc__sim_exporter_look(e, values);
    put_resource(e, b);
    for (size_t field = 0; field < SIM_DCGM_FIELDS; field++) {
        points += put_metric(e, field, values, attributes, b);
    }
    tc_buf_lit(b, "]}]}");
    sink->end(sink->context, points);
    tc__sim_exporter_next(e);
}
