/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/k8s_priv.h"
#include "sim/otlp_priv.h"

#define OBJECT_MAX 8192
#define S(literal) TC_LIT(literal)

struct sim_pod tc__sim_job_pod(const struct tc_sim *s, uint32_t job, uint32_t k)
{
    return (struct sim_pod){job, k, SIM_NONE, tc__sim_job(s, job)->first_node + k};
}

struct sim_pod tc__sim_dev_pod(uint32_t node, uint32_t gpu, uint32_t life)
{
    return (struct sim_pod){SIM_NONE, 0, tc__sim_dev(node, gpu, life), node};
}

struct tc_slice tc__sim_pod_namespace(const struct sim_pod *pod)
{
    return pod->job == SIM_NONE ? S("people") : S("train");
}

void tc__sim_put_pod_name(struct tc_buf *b, const struct sim_pod *pod)
{
    if (pod->job == SIM_NONE) {
        tc__sim_dev_name(b, pod->dev);
    } else {
        tc__sim_pod_name(b, pod->job, pod->k);
    }
}

void tc__sim_put_pod_uid(const struct tc_sim *s, struct tc_buf *b, const struct sim_pod *pod)
{
    if (pod->job == SIM_NONE) {
        tc__sim_dev_uid(s, b, pod->dev);
    } else {
        tc__sim_pod_uid(s, b, pod->job, pod->k);
    }
}

/* ---- OTLP values --------------------------------------------------------------------------- */

static void put_time(struct tc_buf *b, struct tc_slice key, int64_t ns)
{
    char text[TC_PUT_TIME_MAX];
    struct tc_buf t = tc_buf_make(text, sizeof text);
    tc_buf_time(&t, ns / TC_SECOND * TC_SECOND); /* Kubernetes keeps whole seconds */
    tc__sim_put_string(b, key, tc_buf_slice(&t));
}

static void open_map(struct tc_buf *b, struct tc_slice key)
{
    tc__sim_put_key(b, key);
    tc_buf_lit(b, "\"kvlistValue\":{\"values\":[");
}

static void close_map(struct tc_buf *b)
{
    tc_buf_lit(b, "]}}}");
}

static void open_list(struct tc_buf *b, struct tc_slice key)
{
    tc__sim_put_key(b, key);
    tc_buf_lit(b, "\"arrayValue\":{\"values\":[");
}

static void close_list(struct tc_buf *b)
{
    tc_buf_lit(b, "]}}}");
}

/* A map inside a list. */
static void open_item(struct tc_buf *b)
{
    if (b->len > 0 && b->data[b->len - 1] == '}') {
        tc_buf_char(b, ',');
    }
    tc_buf_lit(b, "{\"kvlistValue\":{\"values\":[");
}

static void close_item(struct tc_buf *b)
{
    tc_buf_lit(b, "]}}");
}

/* A string of a name function. */
#define PUT_NAMED(b, key, call)                                  \
    do {                                                         \
        char named_text[SIM_NAME_MAX];                           \
        struct tc_buf n = tc_buf_make(named_text, SIM_NAME_MAX); \
        call;                                                    \
        tc__sim_put_string((b), (key), tc_buf_slice(&n));        \
    } while (0)

/* ---- Events -------------------------------------------------------------------------------- */

struct about {
    const char *kind;
    const struct sim_pod *pod; /* NULL: the node */
    uint32_t node;
};

static void put_resource(const struct tc_sim *s, struct tc_buf *b, const struct about *a)
{
    tc_buf_lit(b, "{\"resource\":{\"attributes\":[");
    PUT_NAMED(b, S("k8s.node.name"), tc__sim_node_name(&n, a->node));
    tc__sim_put_string(b, S("k8s.object.kind"), tc_slice_cstr(a->kind));
    if (a->pod != NULL) {
        PUT_NAMED(b, S("k8s.object.name"), tc__sim_put_pod_name(&n, a->pod));
        PUT_NAMED(b, S("k8s.object.uid"), tc__sim_put_pod_uid(s, &n, a->pod));
    } else {
        PUT_NAMED(b, S("k8s.object.name"), tc__sim_node_name(&n, a->node));
        PUT_NAMED(b, S("k8s.object.uid"), tc__sim_node_name(&n, a->node));
    }
    tc__sim_put_string(b, S("k8s.object.api_version"), S("v1"));
    tc_buf_lit(b, "]},\"scopeLogs\":[{\"scope\":{\"name\":\"github.com/open-telemetry/"
                  "opentelemetry-collector-contrib/receiver/k8seventsreceiver\"},\"logRecords\":[");
}

static void put_event_name(struct tc_buf *b, const struct about *a, uint64_t which)
{
    char text[2 * SIM_NAME_MAX];
    struct tc_buf name = tc_buf_make(text, sizeof text);
    if (a->pod != NULL) {
        tc__sim_put_pod_name(&name, a->pod);
    } else {
        tc__sim_node_name(&name, a->node);
    }
    tc_buf_char(&name, '.');
    tc_buf_hex(&name, which, 16);
    tc__sim_put_string(b, S("k8s.event.name"), tc_buf_slice(&name));
}

static void put_event(struct tc_sim *s, const struct about *a, int64_t at_ns, bool warning,
                      const char *reporter, const char *reason, struct tc_slice message)
{
    char text[OBJECT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    int64_t at = at_ns / TC_SECOND * TC_SECOND;
    uint64_t which = sim_draw(s->options.seed, SIM_FOR_EVENT_UID, s->lines.count, 0);
    put_resource(s, &b, a);
    tc_buf_lit(&b, "{\"timeUnixNano\":\"");
    tc_buf_i64(&b, at);
    tc_buf_lit(&b, "\",\"observedTimeUnixNano\":\"");
    tc_buf_i64(&b, at_ns);
    tc_buf_lit(&b, "\",\"severityNumber\":");
    tc_buf_u64(&b, warning ? 13 : 9);
    tc_buf_lit(&b, ",\"severityText\":");
    tc_buf_json(&b, warning ? S("Warning") : S("Normal"));
    tc_buf_lit(&b, ",\"body\":{\"stringValue\":");
    tc_buf_json(&b, message);
    tc_buf_lit(&b, "},\"attributes\":[");
    tc__sim_put_string(&b, S("k8s.event.reason"), tc_slice_cstr(reason));
    tc__sim_put_string(&b, S("k8s.event.action"), TC_EMPTY);
    put_time(&b, S("k8s.event.start_time"), at);
    put_event_name(&b, a, which);
    PUT_NAMED(&b, S("k8s.event.uid"), tc__sim_uuid(&n, which, sim_mix(which)));
    tc__sim_put_string(&b, S("k8s.namespace.name"),
                       a->pod != NULL ? tc__sim_pod_namespace(a->pod) : S("default"));
    tc__sim_put_string(&b, S("k8s.event.reporting_controller"), tc_slice_cstr(reporter));
    PUT_NAMED(&b, S("k8s.event.reporting_instance"), tc__sim_node_name(&n, a->node));
    tc__sim_put_int(&b, S("k8s.event.count"), 1);
    tc_buf_lit(&b, "]}]}]}");
    tc__sim_line(s, SIM_EVENTS, 0, SIM_NONE, at_ns, tc__sim_keep(s, &b));
}

void tc__sim_pod_event(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns, bool warning,
                       const char *reporter, const char *reason, struct tc_slice message)
{
    const struct about a = {"Pod", pod, pod->node};
    put_event(s, &a, at_ns, warning, reporter, reason, message);
}

void tc__sim_node_event(struct tc_sim *s, uint32_t node, int64_t at_ns, bool warning,
                        const char *reporter, const char *reason, struct tc_slice message)
{
    const struct about a = {"Node", NULL, node};
    put_event(s, &a, at_ns, warning, reporter, reason, message);
}

/* ---- objects ------------------------------------------------------------------------------- */

static struct tc_buf begin_object(char *text, int64_t at_ns, struct tc_slice type,
                                  struct tc_slice kind)
{
    struct tc_buf b = tc_buf_make(text, OBJECT_MAX);
    tc_buf_lit(&b, "{\"resource\":{},\"scopeLogs\":[{\"scope\":{\"name\":\"github.com/"
                   "open-telemetry/opentelemetry-collector-contrib/receiver/k8sobjectsreceiver\"},"
                   "\"logRecords\":[{\"observedTimeUnixNano\":\"");
    tc_buf_i64(&b, at_ns);
    tc_buf_lit(&b, "\",\"body\":{\"kvlistValue\":{\"values\":[");
    tc__sim_put_string(&b, S("type"), type);
    open_map(&b, S("object"));
    tc__sim_put_string(&b, S("apiVersion"), S("v1"));
    tc__sim_put_string(&b, S("kind"), kind);
    return b;
}

static void end_object(struct tc_sim *s, struct tc_buf *b, int64_t at_ns, struct tc_slice resource)
{
    close_map(b);
    tc_buf_lit(b, "]}},\"attributes\":[");
    tc__sim_put_string(b, S("k8s.resource.name"), resource);
    tc__sim_put_string(b, S("event.domain"), S("k8s"));
    tc_buf_lit(b, "]}]}]}");
    tc__sim_line(s, SIM_OBJECTS, 0, SIM_NONE, at_ns, tc__sim_keep(s, b));
}

static void put_env(struct tc_buf *b, struct tc_slice name, uint32_t value)
{
    char digits[16];
    struct tc_buf d = tc_buf_make(digits, sizeof digits);
    tc_buf_u64(&d, value);
    open_item(b);
    tc__sim_put_string(b, S("name"), name);
    tc__sim_put_string(b, S("value"), tc_buf_slice(&d));
    close_item(b);
}

static void put_meta(const struct tc_sim *s, struct tc_buf *b, const struct sim_pod *pod,
                     int64_t born_ns)
{
    open_map(b, S("metadata"));
    PUT_NAMED(b, S("name"), tc__sim_put_pod_name(&n, pod));
    tc__sim_put_string(b, S("namespace"), tc__sim_pod_namespace(pod));
    PUT_NAMED(b, S("uid"), tc__sim_put_pod_uid(s, &n, pod));
    put_time(b, S("creationTimestamp"), born_ns);
    if (pod->job != SIM_NONE) {
        open_map(b, S("labels"));
        PUT_NAMED(b, S("training.kubeflow.org/job-name"), tc__sim_job_name(&n, pod->job));
        tc__sim_put_string(b, S("training.kubeflow.org/replica-type"), S("worker"));
        PUT_NAMED(b, S("training.kubeflow.org/replica-index"), tc_buf_u64(&n, pod->k));
        close_map(b);
    }
    close_map(b);
}

static void put_spec(const struct tc_sim *s, struct tc_buf *b, const struct sim_pod *pod)
{
    uint32_t gpus = pod->job == SIM_NONE ? 1 : s->options.gpus_per_node;
    open_map(b, S("spec"));
    PUT_NAMED(b, S("nodeName"), tc__sim_node_name(&n, pod->node));
    open_list(b, S("containers"));
    open_item(b);
    tc__sim_put_string(b, S("name"), pod->job == SIM_NONE ? S("notebook") : S("trainer"));
    if (pod->job != SIM_NONE) {
        open_list(b, S("env"));
        put_env(b, S("PET_NODE_RANK"), pod->k);
        put_env(b, S("PET_NPROC_PER_NODE"), gpus);
        put_env(b, S("PET_NNODES"), tc__sim_job(s, pod->job)->nodes);
        close_list(b);
    }
    open_map(b, S("resources"));
    open_map(b, S("limits"));
    PUT_NAMED(b, S("nvidia.com/gpu"), tc_buf_u64(&n, gpus));
    close_map(b);
    close_map(b);
    close_item(b);
    close_list(b);
    close_map(b);
}

void tc__sim_pod_object(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns,
                        enum sim_pod_phase phase, int exit_code, const char *reason,
                        struct tc_slice message)
{
    static const char *const PHASES[] = {"Running", "Succeeded", "Failed", "Failed"};
    char text[OBJECT_MAX];
    int64_t born = pod->job == SIM_NONE || tc__sim_job(s, pod->job)->warm
                       ? s->options.start_ns - 3600 * TC_SECOND
                       : tc__sim_job(s, pod->job)->begin_ns - 20 * TC_SECOND;
    struct tc_buf b =
        begin_object(text, at_ns, phase == SIM_POD_RUNNING ? S("ADDED") : S("MODIFIED"), S("Pod"));
    put_meta(s, &b, pod, born);
    put_spec(s, &b, pod);
    open_map(&b, S("status"));
    tc__sim_put_string(&b, S("phase"), tc_slice_cstr(PHASES[phase]));
    put_time(&b, S("startTime"), born);
    if (phase == SIM_POD_EVICTED) {
        tc__sim_put_string(&b, S("reason"), S("Evicted"));
        tc__sim_put_string(&b, S("message"), message);
    }
    if (phase != SIM_POD_RUNNING) {
        open_list(&b, S("containerStatuses"));
        open_item(&b);
        tc__sim_put_string(&b, S("name"), pod->job == SIM_NONE ? S("notebook") : S("trainer"));
        open_map(&b, S("state"));
        open_map(&b, S("terminated"));
        tc__sim_put_int(&b, S("exitCode"), exit_code);
        tc__sim_put_string(&b, S("reason"), tc_slice_cstr(reason));
        put_time(&b, S("startedAt"), born + 15 * TC_SECOND);
        put_time(&b, S("finishedAt"), at_ns);
        close_map(&b);
        close_map(&b);
        close_item(&b);
        close_list(&b);
    }
    close_map(&b);
    end_object(s, &b, at_ns, S("pods"));
}

void tc__sim_node_object(struct tc_sim *s, uint32_t node, int64_t at_ns, const char *condition,
                         bool on, const char *reason, const char *message)
{
    char text[OBJECT_MAX];
    struct tc_buf b = begin_object(text, at_ns, S("MODIFIED"), S("Node"));
    open_map(&b, S("metadata"));
    PUT_NAMED(&b, S("name"), tc__sim_node_name(&n, node));
    close_map(&b);
    open_map(&b, S("status"));
    open_list(&b, S("conditions"));
    open_item(&b);
    tc__sim_put_string(&b, S("type"), tc_slice_cstr(condition));
    tc__sim_put_string(&b, S("status"), on ? S("True") : S("False"));
    tc__sim_put_string(&b, S("reason"), tc_slice_cstr(reason));
    tc__sim_put_string(&b, S("message"), tc_slice_cstr(message));
    put_time(&b, S("lastTransitionTime"), at_ns);
    put_time(&b, S("lastHeartbeatTime"), at_ns);
    close_item(&b);
    close_list(&b);
    close_map(&b);
    end_object(s, &b, at_ns, S("nodes"));
}
