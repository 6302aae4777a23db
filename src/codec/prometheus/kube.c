/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kube-state-metrics says of pods and nodes. A condition of a node is there when it is
 * scraped; a pod's end was some time before, so that it has no date.
 */
#include "codec/k8s/k8s_priv.h"
#include "codec/prometheus/priv.h"

#define S(literal) TC_LIT(literal)

enum about { CONDITION, POD_REASON, POD_PHASE, CONTAINER_END };

struct tc__prom_kube {
    const char *name;
    enum about about;
};

static const struct tc__prom_kube METRICS[] = {
    {"kube_node_status_condition", CONDITION},
    {"kube_pod_status_reason", POD_REASON},
    {"kube_pod_status_phase", POD_PHASE},
    {"kube_pod_container_status_terminated_reason", CONTAINER_END},
    {"kube_pod_container_status_last_terminated_reason", CONTAINER_END},
    {"kube_pod_init_container_status_terminated_reason", CONTAINER_END},
    {"kube_pod_init_container_status_last_terminated_reason", CONTAINER_END},
};

const struct tc__prom_kube *tc__prom_kube_find(struct tc_slice name)
{
    for (size_t i = 0; tc_slice_starts(name, S("kube_")) && i < TC_COUNT(METRICS); i++) {
        if (tc_slice_eq(name, tc_slice_cstr(METRICS[i].name))) {
            return &METRICS[i];
        }
    }
    return NULL;
}

/* Names of Kubernetes' objects have no escapes. */
static struct tc_slice label(const struct tc__prom_sample *sample, const char *key)
{
    for (size_t i = 0; i < sample->label_count; i++) {
        if (tc_slice_eq(sample->labels[i].key, tc_slice_cstr(key))) {
            return sample->labels[i].value;
        }
    }
    return TC_EMPTY;
}

/* Prometheus renames labels that it has itself: those of its target are not the pod's. */
static struct tc_slice own_label(const struct tc__prom_sample *sample, const char *exported,
                                 const char *key)
{
    struct tc_slice value = label(sample, exported);
    return value.len > 0 ? value : label(sample, key);
}

static bool read_condition(const struct tc__prom_sample *sample, struct tc_event *out)
{
    static const struct {
        const char *label;
        const char *status;
    } statuses[] = {{"true", "True"}, {"false", "False"}, {"unknown", "Unknown"}};
    struct tc_slice status = label(sample, "status");
    tc_event_init(out, TC_EVENT_NODE_CONDITION);
    out->scope.node = own_label(sample, "exported_node", "node");
    out->k8s.type = label(sample, "condition");
    size_t i = tc_slice_row(status, statuses, label);
    if (i < TC_COUNT(statuses)) {
        out->k8s.status = tc_slice_cstr(statuses[i].status);
    }
    return out->scope.node.len > 0 && out->k8s.type.len > 0 && out->k8s.status.len > 0;
}

bool tc__prom_kube_read(const struct tc__prom_kube *metric, const struct tc__prom_sample *sample,
                        int64_t time_ns, struct tc_event *out)
{
    if (sample->value != 1) {
        return false;
    }
    if (metric->about == CONDITION) {
        bool read = read_condition(sample, out);
        out->time_ns = time_ns;
        return read;
    }
    tc_event_init(out, TC_EVENT_POD_STATE);
    out->scope.ns = own_label(sample, "exported_namespace", "namespace");
    out->scope.pod = own_label(sample, "exported_pod", "pod");
    out->scope.pod_uid = label(sample, "uid");
    out->pod.reason = label(sample, "reason");
    if (metric->about == CONTAINER_END) {
        out->scope.container = own_label(sample, "exported_container", "container");
        return out->scope.pod.len > 0 && tc__k8s_ended_badly(out->pod.reason, -1);
    }
    out->pod.phase = metric->about == POD_PHASE ? label(sample, "phase") : S("Failed");
    return out->scope.pod.len > 0 &&
           (out->pod.reason.len > 0 || tc_slice_eq(out->pod.phase, S("Failed")));
}
