/* SPDX-License-Identifier: Apache-2.0 */
/* truth.ndjson: what was injected, and what only looks like it. docs/score.md has the form. */
#include "base/json/out.h"
#include "sim/file_priv.h"
#include "sim/k8s_priv.h"

/* An element of an array, or the value of a key. */
static void add_args(struct tc_json_out *j, const struct tc_arg *args, size_t count)
{
    char text[SIM_NAME_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_json_add_plain(j, tc_format_args(&b, args, count));
}

#define ADD(j, ...) \
    add_args((j), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, TC_ARG_COUNT(__VA_ARGS__))
#define PUT(j, key, ...) (tc_json_key((j), key), ADD((j), __VA_ARGS__))

/* The name of a fault or of noise. */
static void add_id(const struct tc_sim *s, struct tc_json_out *j, uint32_t number)
{
    const struct sim_truth *t = SIM_AT(s->truths, struct sim_truth, number);
    ADD(j, "{}{}", t->noise ? "n" : "f", 10000 + number);
}

static void put_culprit(const struct tc_sim *s, struct tc_json_out *j, const struct sim_truth *t)
{
    tc_json_put_object(j, "culprit");
    if (t->node != SIM_NONE) {
        PUT(j, "k8s.node.name", "{}", tc__sim_node(t->node));
    }
    if (t->node != SIM_NONE && t->gpu != SIM_NONE) {
        PUT(j, "gpu.uuid", "GPU-{}", tc__sim_gpu_uuid(s, t->node, t->gpu));
        PUT(j, "pci.bdf", "0000:{}:00.0", tc_as_hex(tc__sim_bus(t->gpu), 2));
        tc_json_put_u64(j, "gpu.index", t->gpu);
    }
    if (t->device != NULL) {
        tc_json_put_cstr(j, "pci.bdf", t->device);
    }
    if (t->pod_job != SIM_NONE || t->dev != SIM_NONE) {
        struct sim_pod pod = {SIM_NONE, 0, t->dev, 0};
        if (t->pod_job != SIM_NONE) {
            pod = tc__sim_job_pod(s, t->pod_job,
                                  t->pod_node - tc__sim_job(s, t->pod_job)->first_node);
        }
        tc_json_put_str(j, "k8s.namespace.name", tc__sim_pod_namespace(&pod));
        PUT(j, "k8s.pod.name", "{}", tc__sim_pod_name(&pod));
    }
    if (t->job != SIM_NONE) {
        PUT(j, "job.id", "{}", tc__sim_job_name(t->job));
        tc_json_put_array(j, "ranks");
        tc_json_add_u64(j, t->rank);
        if (t->other_rank != SIM_NONE) {
            tc_json_add_u64(j, t->other_rank);
        }
        tc_json_end_array(j);
    }
    tc_json_end_object(j);
}

static bool put_affected(const struct tc_sim *s, const struct sim_truth *t, struct sim_out *out,
                         struct tc_json_out *j)
{
    const struct sim_job *job = tc__sim_job(s, t->affected_job);
    tc_json_put_array(j, "affected_pods");
    for (uint32_t k = 0; k < job->nodes && tc__sim_drain(out); k++) {
        struct sim_pod pod = tc__sim_job_pod(s, job->id, k);
        ADD(j, "train/{}", tc__sim_pod_name(&pod));
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "affected_ranks");
    for (uint32_t rank = 0; rank < job->ranks && tc__sim_drain(out); rank++) {
        tc_json_add_u64(j, rank);
    }
    tc_json_end_array(j);
    return out->status == TC_OK;
}

static void put_truth(const struct tc_sim *s, const struct sim_truth *t, struct sim_out *out)
{
    struct tc_json_out j = tc_json_object_make(&out->b);
    tc_json_put_cstr(&j, "truth", t->noise ? "noise" : "fault");
    tc_json_key(&j, "id");
    add_id(s, &j, t->number);
    tc_json_put_cstr(&j, "pattern", t->pattern);
    if (t->discriminator != NULL) {
        tc_json_put_cstr(&j, "discriminator", t->discriminator);
    }
    tc_json_put_time(&j, "start", t->start_ns);
    tc_json_put_time(&j, "end", t->end_ns);
    if (t->causes[0] != SIM_NONE) {
        tc_json_put_array(&j, "caused_by");
        add_id(s, &j, t->causes[0]);
        if (t->causes[1] != SIM_NONE) {
            add_id(s, &j, t->causes[1]);
        }
        tc_json_end_array(&j);
    }
    put_culprit(s, &j, t);
    if (t->affected_job != SIM_NONE && !put_affected(s, t, out, &j)) {
        return;
    }
    tc_json_put_cstr(&j, "what", t->what);
    (void)tc_json_end_line(&j);
}

void tc__sim_write_truth(const struct tc_sim *s, const struct sim_file *f, struct sim_out *out)
{
    (void)f;
    struct tc_json_out j = tc_json_object_make(&out->b);
    tc_json_put_plain(&j, "truth", TC_LIT("run"));
    tc_json_put_u64(&j, "version", 1);
    tc_json_put_u64(&j, "seed", s->options.seed);
    tc_json_put_u64(&j, "nodes", s->options.nodes);
    tc_json_put_u64(&j, "gpus_per_node", s->options.gpus_per_node);
    tc_json_put_time(&j, "start", s->options.start_ns);
    tc_json_put_time(&j, "end", s->end_ns);
    tc_json_put_str(&j, "faults", s->options.label);
    (void)tc_json_end_line(&j);
    for (size_t i = 0; i < s->truths.count && tc__sim_drain(out); i++) {
        put_truth(s, SIM_AT(s->truths, struct sim_truth, i), out);
    }
}
