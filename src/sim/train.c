/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/train_priv.h"

#include <stdarg.h>
#include <stdio.h>

#define RECORD_MAX 4096

void tc__sim_begin_logs(struct tc_buf *b, const struct sim_pod *pod)
{
    tc_buf_lit(b, "{\"resource\":{\"attributes\":[{\"key\":\"k8s.node.name\",\"value\":{"
                  "\"stringValue\":\"");
    tc__sim_node_name(b, pod->node);
    tc_buf_lit(b, "\"}},{\"key\":\"k8s.namespace.name\",\"value\":{\"stringValue\":\"");
    tc_buf_str(b, tc__sim_pod_namespace(pod));
    tc_buf_lit(b, "\"}},{\"key\":\"k8s.pod.name\",\"value\":{\"stringValue\":\"");
    tc__sim_put_pod_name(b, pod);
    tc_buf_lit(b, "\"}},{\"key\":\"k8s.container.name\",\"value\":{\"stringValue\":\"trainer\"}},{"
                  "\"key\":\"job.id\",\"value\":{\"stringValue\":\"");
    tc__sim_job_name(b, pod->job);
    tc_buf_lit(b, "\"}}]},\"scopeLogs\":[{\"scope\":{},\"logRecords\":[");
}

void tc__sim_end_logs(struct tc_buf *b)
{
    tc_buf_lit(b, "]}]}");
}

void tc__sim_begin_record(struct tc_buf *b, int64_t at_ns, bool error, struct tc_slice body)
{
    if (b->len > 0 && b->data[b->len - 1] == '}') {
        tc_buf_char(b, ',');
    }
    tc_buf_lit(b, "{\"timeUnixNano\":\"");
    tc_buf_i64(b, at_ns);
    tc_buf_lit(b, "\",\"severityNumber\":");
    tc_buf_u64(b, error ? 17 : 9);
    tc_buf_lit(b, ",\"body\":{\"stringValue\":");
    tc_buf_json(b, body);
    tc_buf_lit(b, "},\"attributes\":[");
}

void tc__sim_end_record(struct tc_buf *b)
{
    tc_buf_lit(b, "]}");
}

static int64_t local_time(const struct tc_sim *s, uint32_t node, int64_t at_ns)
{
    return at_ns + s->nodes[node].skew_ms * SIM_MS;
}

void tc__sim_rank_says(struct tc_sim *s, const struct sim_pod *pod, uint32_t rank, int64_t at_ns,
                       const char *format, ...)
{
    char said[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(said, sizeof said, format, args);
    va_end(args);
    char text[RECORD_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc__sim_begin_logs(&b, pod);
    tc__sim_begin_record(&b, local_time(s, pod->node, at_ns), true,
                         tc_slice_make(said, len < 0 ? 0 : (size_t)len));
    tc__sim_put_int(&b, TC_LIT("rank"), rank);
    tc__sim_end_record(&b);
    tc__sim_end_logs(&b);
    tc__sim_line(s, SIM_TRAINING, pod->job, pod->node, at_ns, tc__sim_keep(s, &b));
}

void tc__sim_rank_stalls(struct tc_sim *s, const struct sim_pod *pod, uint32_t rank, int64_t at_ns,
                         uint32_t step, int64_t since_ns)
{
    char text[RECORD_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    char said[64];
    int64_t seconds = (at_ns - since_ns) / TC_SECOND;
    int len = snprintf(said, sizeof said, "no step for %lld s", (long long)seconds);
    tc__sim_begin_logs(&b, pod);
    tc__sim_begin_record(&b, local_time(s, pod->node, at_ns), true,
                         tc_slice_make(said, len < 0 ? 0 : (size_t)len));
    tc__sim_put_int(&b, TC_LIT("tracecore.alert.training_step_stalled.no_progress_seconds"),
                    seconds);
    tc__sim_put_int(&b, TC_LIT("training.step"), step);
    tc__sim_put_string(&b, TC_LIT("training.phase"), TC_LIT("train"));
    tc__sim_put_int(&b, TC_LIT("rank"), rank);
    tc__sim_end_record(&b);
    tc__sim_end_logs(&b);
    tc__sim_line(s, SIM_TRAINING, pod->job, pod->node, at_ns, tc__sim_keep(s, &b));
}
