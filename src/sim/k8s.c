/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/k8s_priv.h"
#include "sim/otlp_priv.h"

#define OBJECT_MAX 8192

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
    return pod->job == SIM_NONE ? TC_LIT("people") : TC_LIT("train");
}

const char *tc__sim_container(const struct sim_pod *pod)
{
    return pod->job == SIM_NONE ? "notebook" : "trainer";
}

/* ---- OTLP values --------------------------------------------------------------------------- */

static void put_word(struct tc_json_out *j, const char *key, const char *value)
{
    tc__sim_put_string(j, key, tc_slice_cstr(value));
}

/* Kubernetes keeps whole seconds. */
static void put_time(struct tc_json_out *j, const char *key, int64_t ns)
{
    tc__sim_put(j, key, "{}", tc_as_time(ns / TC_SECOND * TC_SECOND));
}

/* Members follow, then END. */
static void open_map(struct tc_json_out *j, const char *key)
{
    tc__sim_begin_key(j, key);
    tc_json_put_object(j, "kvlistValue");
    tc_json_put_array(j, "values");
}

static void open_list(struct tc_json_out *j, const char *key)
{
    tc__sim_begin_key(j, key);
    tc_json_put_object(j, "arrayValue");
    tc_json_put_array(j, "values");
}

/* A map inside a list: members follow, then END_ITEM. */
static void open_item(struct tc_json_out *j)
{
    tc_json_add_object(j);
    tc_json_put_object(j, "kvlistValue");
    tc_json_put_array(j, "values");
}

#define END "]}}}"
#define END_ITEM "]}}"

/* ---- Events -------------------------------------------------------------------------------- */

struct about {
    const char *kind;
    const struct sim_pod *pod; /* NULL: the node */
    uint32_t node;
};

static void put_resource(const struct tc_sim *s, struct tc_json_out *j, const struct about *a,
                         struct tc_arg name)
{
    struct tc_arg node = tc__sim_node(a->node);
    tc__sim_begin_resource(j);
    tc__sim_put(j, "k8s.node.name", "{}", node);
    put_word(j, "k8s.object.kind", a->kind);
    tc__sim_put(j, "k8s.object.name", "{}", name);
    tc__sim_put(j, "k8s.object.uid", "{}", a->pod != NULL ? tc__sim_pod_uid(s, a->pod) : node);
    put_word(j, "k8s.object.api_version", "v1");
    tc__sim_end(j, "]}");
    tc__sim_begin_records(j, "k8seventsreceiver");
}

static void put_event(struct tc_sim *s, const struct about *a, int64_t at_ns, bool warning,
                      const char *reporter, const char *reason, struct tc_slice message)
{
    char text[OBJECT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_json_out j = tc_json_out_make(&b);
    const struct sim_record record = {.at_ns = at_ns / TC_SECOND * TC_SECOND,
                                      .observed_ns = at_ns,
                                      .severity = warning ? 13 : 9,
                                      .severity_text = warning ? "Warning" : "Normal",
                                      .body = message};
    uint64_t which = sim_draw(s->options.seed, SIM_FOR_EVENT_UID, s->lines.count, 0);
    struct tc_arg name = a->pod != NULL ? tc__sim_pod_name(a->pod) : tc__sim_node(a->node);
    put_resource(s, &j, a, name);
    tc__sim_begin_record(&j, &record);
    put_word(&j, "k8s.event.reason", reason);
    put_word(&j, "k8s.event.action", "");
    put_time(&j, "k8s.event.start_time", at_ns);
    tc__sim_put(&j, "k8s.event.name", "{}.{}", name, tc_as_hex(which, 16));
    tc__sim_put(&j, "k8s.event.uid", "{}", tc__sim_uuid(which, tc_random_mix(which)));
    tc__sim_put_string(&j, "k8s.namespace.name",
                       a->pod != NULL ? tc__sim_pod_namespace(a->pod) : TC_LIT("default"));
    put_word(&j, "k8s.event.reporting_controller", reporter);
    tc__sim_put(&j, "k8s.event.reporting_instance", "{}", tc__sim_node(a->node));
    tc__sim_put_int(&j, "k8s.event.count", 1);
    tc__sim_end(&j, "]}");
    tc__sim_end_records(&j);
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

static void begin_object(struct tc_json_out *j, int64_t at_ns, const char *type, const char *kind)
{
    tc_json_add_object(j);
    tc_json_put_object(j, "resource");
    tc_json_end_object(j);
    tc__sim_begin_records(j, "k8sobjectsreceiver");
    tc_json_add_object(j);
    tc_json_put_i64_text(j, "observedTimeUnixNano", at_ns);
    tc_json_put_object(j, "body");
    tc_json_put_object(j, "kvlistValue");
    tc_json_put_array(j, "values");
    put_word(j, "type", type);
    open_map(j, "object");
    put_word(j, "apiVersion", "v1");
    put_word(j, "kind", kind);
}

static void end_object(struct tc_sim *s, struct tc_json_out *j, int64_t at_ns, const char *resource)
{
    tc__sim_end(j, END "]}}");
    tc_json_put_array(j, "attributes");
    put_word(j, "k8s.resource.name", resource);
    put_word(j, "event.domain", "k8s");
    tc__sim_end(j, "]}");
    tc__sim_end_records(j);
    tc__sim_line(s, SIM_OBJECTS, 0, SIM_NONE, at_ns, tc__sim_keep(s, j->b));
}

static void put_env(struct tc_json_out *j, const char *name, uint32_t value)
{
    open_item(j);
    put_word(j, "name", name);
    tc__sim_put(j, "value", "{}", value);
    tc__sim_end(j, END_ITEM);
}

static void put_meta(const struct tc_sim *s, struct tc_json_out *j, const struct sim_pod *pod,
                     int64_t born_ns)
{
    open_map(j, "metadata");
    tc__sim_put(j, "name", "{}", tc__sim_pod_name(pod));
    tc__sim_put_string(j, "namespace", tc__sim_pod_namespace(pod));
    tc__sim_put(j, "uid", "{}", tc__sim_pod_uid(s, pod));
    put_time(j, "creationTimestamp", born_ns);
    if (pod->job != SIM_NONE) {
        open_map(j, "labels");
        tc__sim_put(j, "training.kubeflow.org/job-name", "{}", tc__sim_job_name(pod->job));
        put_word(j, "training.kubeflow.org/replica-type", "worker");
        tc__sim_put(j, "training.kubeflow.org/replica-index", "{}", pod->k);
        tc__sim_end(j, END);
    }
    tc__sim_end(j, END);
}

static void put_spec(const struct tc_sim *s, struct tc_json_out *j, const struct sim_pod *pod)
{
    uint32_t gpus = pod->job == SIM_NONE ? 1 : s->options.gpus_per_node;
    open_map(j, "spec");
    tc__sim_put(j, "nodeName", "{}", tc__sim_node(pod->node));
    open_list(j, "containers");
    open_item(j);
    put_word(j, "name", tc__sim_container(pod));
    if (pod->job != SIM_NONE) {
        open_list(j, "env");
        put_env(j, "PET_NODE_RANK", pod->k);
        put_env(j, "PET_NPROC_PER_NODE", gpus);
        put_env(j, "PET_NNODES", tc__sim_job(s, pod->job)->nodes);
        tc__sim_end(j, END);
    }
    open_map(j, "resources");
    open_map(j, "limits");
    tc__sim_put(j, "nvidia.com/gpu", "{}", gpus);
    tc__sim_end(j, END END END_ITEM END END);
}

void tc__sim_pod_object(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns,
                        enum sim_pod_phase phase, int exit_code, const char *reason,
                        struct tc_slice message)
{
    static const char *const PHASES[] = {"Running", "Succeeded", "Failed", "Failed"};
    char text[OBJECT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_json_out j = tc_json_out_make(&b);
    int64_t born = pod->job == SIM_NONE || tc__sim_job(s, pod->job)->warm
                       ? s->options.start_ns - 3600 * TC_SECOND
                       : tc__sim_job(s, pod->job)->begin_ns - 20 * TC_SECOND;
    begin_object(&j, at_ns, phase == SIM_POD_RUNNING ? "ADDED" : "MODIFIED", "Pod");
    put_meta(s, &j, pod, born);
    put_spec(s, &j, pod);
    open_map(&j, "status");
    put_word(&j, "phase", PHASES[phase]);
    put_time(&j, "startTime", born);
    if (phase == SIM_POD_EVICTED) {
        put_word(&j, "reason", "Evicted");
        tc__sim_put_string(&j, "message", message);
    }
    if (phase != SIM_POD_RUNNING) {
        open_list(&j, "containerStatuses");
        open_item(&j);
        put_word(&j, "name", tc__sim_container(pod));
        open_map(&j, "state");
        open_map(&j, "terminated");
        tc__sim_put_int(&j, "exitCode", exit_code);
        put_word(&j, "reason", reason);
        put_time(&j, "startedAt", born + 15 * TC_SECOND);
        put_time(&j, "finishedAt", at_ns);
        tc__sim_end(&j, END END END_ITEM END);
    }
    tc__sim_end(&j, END);
    end_object(s, &j, at_ns, "pods");
}

void tc__sim_node_object(struct tc_sim *s, uint32_t node, int64_t at_ns, const char *condition,
                         bool on, const char *reason, const char *message)
{
    char text[OBJECT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_json_out j = tc_json_out_make(&b);
    begin_object(&j, at_ns, "MODIFIED", "Node");
    open_map(&j, "metadata");
    tc__sim_put(&j, "name", "{}", tc__sim_node(node));
    tc__sim_end(&j, END);
    open_map(&j, "status");
    open_list(&j, "conditions");
    open_item(&j);
    put_word(&j, "type", condition);
    put_word(&j, "status", on ? "True" : "False");
    put_word(&j, "reason", reason);
    put_word(&j, "message", message);
    put_time(&j, "lastTransitionTime", at_ns);
    put_time(&j, "lastHeartbeatTime", at_ns);
    tc__sim_end(&j, END_ITEM END END);
    end_object(s, &j, at_ns, "nodes");
}
