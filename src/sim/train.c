/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/train_priv.h"

#define RECORD_MAX 4096
#define SEVERITY_ERROR 17

void tc__sim_begin_logs(struct tc_json_out *j, const struct sim_pod *pod)
{
    tc__sim_begin_resource(j);
    tc__sim_put(j, "k8s.node.name", "{}", tc__sim_node(pod->node));
    tc__sim_put_string(j, "k8s.namespace.name", tc__sim_pod_namespace(pod));
    tc__sim_put(j, "k8s.pod.name", "{}", tc__sim_pod_name(pod));
    tc__sim_put_string(j, "k8s.container.name", TC_LIT("trainer"));
    tc__sim_put(j, "job.id", "{}", tc__sim_job_name(pod->job));
    tc__sim_end(j, "]}");
    tc__sim_begin_records(j, NULL);
}

/* Begins what one rank says; attributes follow, then end_line. */
static void begin_line(const struct tc_sim *s, struct tc_json_out *j, const struct sim_pod *pod,
                       int64_t at_ns, struct tc_slice said)
{
    const struct sim_record record = {.at_ns = at_ns + s->nodes[pod->node].skew_ms * SIM_MS,
                                      .severity = SEVERITY_ERROR,
                                      .body = said};
    tc__sim_begin_logs(j, pod);
    tc__sim_begin_record(j, &record);
}

static void end_line(struct tc_sim *s, struct tc_json_out *j, const struct sim_pod *pod,
                     uint32_t rank, int64_t at_ns)
{
    tc__sim_put_int(j, "rank", rank);
    tc__sim_end(j, "]}");
    tc__sim_end_records(j);
    tc__sim_line(s, SIM_TRAINING, pod->job, pod->node, at_ns, tc__sim_keep(s, j->b));
}

void tc__sim_rank_line(struct tc_sim *s, const struct sim_pod *pod, uint32_t rank, int64_t at_ns,
                       struct tc_slice said)
{
    char text[RECORD_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_json_out j = tc_json_out_make(&b);
    begin_line(s, &j, pod, at_ns, said);
    end_line(s, &j, pod, rank, at_ns);
}

void tc__sim_rank_stalls(struct tc_sim *s, const struct sim_pod *pod, uint32_t rank, int64_t at_ns,
                         uint32_t step, int64_t since_ns)
{
    char text[RECORD_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_json_out j = tc_json_out_make(&b);
    int64_t seconds = (at_ns - since_ns) / TC_SECOND;
    begin_line(s, &j, pod, at_ns, tc__sim_text(s, "no step for {} s", seconds));
    tc__sim_put_int(&j, "tracecore.alert.training_step_stalled.no_progress_seconds", seconds);
    tc__sim_put_int(&j, "training.step", step);
    tc__sim_put_string(&j, "training.phase", TC_LIT("train"));
    end_line(s, &j, pod, rank, at_ns);
}
