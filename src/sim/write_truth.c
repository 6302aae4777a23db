/* SPDX-License-Identifier: Apache-2.0 */
/* truth.ndjson: what was injected, and what only looks like it. docs/score.md has the form. */
#include "sim/file_priv.h"
#include "sim/k8s_priv.h"

static void put_id(const struct tc_sim *s, struct tc_buf *b, uint32_t number)
{
    const struct sim_truth *t = SIM_AT(s->truths, struct sim_truth, number);
    tc_buf_char(b, '"');
    tc_buf_char(b, t->noise ? 'n' : 'f');
    tc_buf_u64(b, 10000 + number);
    tc_buf_char(b, '"');
}

static void put_time(struct tc_buf *b, const char *key, int64_t ns)
{
    tc_buf_char(b, ',');
    tc_buf_json(b, tc_slice_cstr(key));
    tc_buf_lit(b, ":\"");
    tc_buf_time(b, ns);
    tc_buf_char(b, '"');
}

static void put_string(struct tc_buf *b, const char *key, struct tc_slice value)
{
    if (b->data[b->len - 1] != '{') {
        tc_buf_char(b, ',');
    }
    tc_buf_json(b, tc_slice_cstr(key));
    tc_buf_char(b, ':');
    tc_buf_json(b, value);
}

static void put_pod(struct tc_buf *b, const struct sim_pod *pod)
{
    char name[SIM_NAME_MAX];
    struct tc_buf n = tc_buf_make(name, sizeof name);
    tc__sim_put_pod_name(&n, pod);
    put_string(b, "k8s.namespace.name", tc__sim_pod_namespace(pod));
    put_string(b, "k8s.pod.name", tc_buf_slice(&n));
}

static void put_gpu(const struct tc_sim *s, struct tc_buf *b, const struct sim_truth *t)
{
    char text[SIM_NAME_MAX];
    struct tc_buf n = tc_buf_make(text, sizeof text);
    tc__sim_gpu_uuid(s, &n, t->node, t->gpu);
    put_string(b, "gpu.uuid", tc_buf_slice(&n));
    tc_buf_lit(b, ",\"pci.bdf\":\"0000:");
    tc_buf_hex(b, tc__sim_bus(t->gpu), 2);
    tc_buf_lit(b, ":00.0\",\"gpu.index\":");
    tc_buf_u64(b, t->gpu);
}

static void put_culprit(const struct tc_sim *s, struct tc_buf *b, const struct sim_truth *t)
{
    char text[SIM_NAME_MAX];
    struct tc_buf n = tc_buf_make(text, sizeof text);
    tc_buf_lit(b, ",\"culprit\":{");
    if (t->node != SIM_NONE) {
        tc__sim_node_name(&n, t->node);
        put_string(b, "k8s.node.name", tc_buf_slice(&n));
        if (t->gpu != SIM_NONE) {
            put_gpu(s, b, t);
        }
    }
    if (t->device != NULL) {
        put_string(b, "pci.bdf", tc_slice_cstr(t->device));
    }
    if (t->pod_job != SIM_NONE) {
        struct sim_pod pod =
            tc__sim_job_pod(s, t->pod_job, t->pod_node - tc__sim_job(s, t->pod_job)->first_node);
        put_pod(b, &pod);
    } else if (t->dev != SIM_NONE) {
        struct sim_pod pod = {SIM_NONE, 0, t->dev, 0};
        put_pod(b, &pod);
    }
    if (t->job != SIM_NONE) {
        tc_buf_reset(&n);
        tc__sim_job_name(&n, t->job);
        put_string(b, "job.id", tc_buf_slice(&n));
        tc_buf_lit(b, ",\"ranks\":[");
        tc_buf_u64(b, t->rank);
        if (t->other_rank != SIM_NONE) {
            tc_buf_char(b, ',');
            tc_buf_u64(b, t->other_rank);
        }
        tc_buf_char(b, ']');
    }
    tc_buf_char(b, '}');
}

static bool put_affected(const struct tc_sim *s, const struct sim_truth *t, struct sim_out *out)
{
    const struct sim_job *j = tc__sim_job(s, t->affected_job);
    struct tc_buf *b = &out->b;
    tc_buf_lit(b, ",\"affected_pods\":[");
    for (uint32_t k = 0; k < j->nodes && tc__sim_drain(out); k++) {
        tc_buf_str(b, k > 0 ? TC_LIT(",\"train/") : TC_LIT("\"train/"));
        tc__sim_pod_name(b, j->id, k);
        tc_buf_char(b, '"');
    }
    tc_buf_lit(b, "],\"affected_ranks\":[");
    for (uint32_t rank = 0; rank < j->ranks && tc__sim_drain(out); rank++) {
        tc_buf_str(b, rank > 0 ? TC_LIT(",") : TC_EMPTY);
        tc_buf_u64(b, rank);
    }
    tc_buf_char(b, ']');
    return out->status == TC_OK;
}

static void put_truth(const struct tc_sim *s, const struct sim_truth *t, struct sim_out *out)
{
    struct tc_buf *b = &out->b;
    tc_buf_str(b, t->noise ? TC_LIT("{\"truth\":\"noise\",\"id\":")
                           : TC_LIT("{\"truth\":\"fault\",\"id\":"));
    put_id(s, b, t->number);
    put_string(b, "pattern", tc_slice_cstr(t->pattern));
    if (t->discriminator != NULL) {
        put_string(b, "discriminator", tc_slice_cstr(t->discriminator));
    }
    put_time(b, "start", t->start_ns);
    put_time(b, "end", t->end_ns);
    if (t->causes[0] != SIM_NONE) {
        tc_buf_lit(b, ",\"caused_by\":[");
        put_id(s, b, t->causes[0]);
        if (t->causes[1] != SIM_NONE) {
            tc_buf_char(b, ',');
            put_id(s, b, t->causes[1]);
        }
        tc_buf_char(b, ']');
    }
    put_culprit(s, b, t);
    if (t->affected_job != SIM_NONE && !put_affected(s, t, out)) {
        return;
    }
    put_string(b, "what", tc_slice_cstr(t->what));
    tc_buf_lit(b, "}\n");
}

void tc__sim_write_truth(const struct tc_sim *s, struct sim_out *out)
{
    struct tc_buf *b = &out->b;
    tc_buf_lit(b, "{\"truth\":\"run\",\"version\":1,\"seed\":");
    tc_buf_u64(b, s->options.seed);
    tc_buf_lit(b, ",\"nodes\":");
    tc_buf_u64(b, s->options.nodes);
    tc_buf_lit(b, ",\"gpus_per_node\":");
    tc_buf_u64(b, s->options.gpus_per_node);
    put_time(b, "start", s->options.start_ns);
    put_time(b, "end", s->end_ns);
    put_string(b, "faults", s->options.label);
    tc_buf_lit(b, "}\n");
    for (size_t i = 0; i < s->truths.count && tc__sim_drain(out); i++) {
        put_truth(s, SIM_AT(s->truths, struct sim_truth, i), out);
    }
}
