/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks a pod runs, where it says so in numbers: the environment that
 * torchrun and the Kubeflow operators read, or the index of an Indexed Job. What
 * could be meant two ways gives nothing.
 */
#include "base/limits.h"
#include "codec/k8s/k8s_priv.h"

#define S(literal) TC_LIT(literal)
/* Ranks of one pod; a node with more GPUs does not exist. */
#define POD_RANKS_MAX 64
/* A pod with as many GPUs has all of its node: then the driver counts them as it does. */
#define WHOLE_NODE 8

static void note(int64_t *io, struct tc_slice text)
{
    int64_t value = -1;
    if (*io < 0 && tc_slice_is_i64(text, &value) && value >= 0 && value <= TC_FR_RANK_MAX) {
        *io = value;
    }
}

void tc__k8s_note_number(struct tc__k8s_numbers *n, struct tc_slice name, struct tc_slice value)
{
    const struct {
        const char *name;
        int64_t *value;
    } known[] = {
        {"RANK", &n->rank},
        {"NODE_RANK", &n->node_rank},
        {"PET_NODE_RANK", &n->node_rank},
        {"NPROC_PER_NODE", &n->per_node},
        {"PET_NPROC_PER_NODE", &n->per_node},
        {"WORLD_SIZE", &n->world},
        {"JOB_COMPLETION_INDEX", &n->index},
        {"batch.kubernetes.io/job-completion-index", &n->index},
    };
    size_t i = tc_slice_row(name, known, name);
    if (i < TC_COUNT(known)) {
        note(known[i].value, value);
    }
    n->rank_is_index |= i == 0 && tc_slice_contains(value, S("job-completion-index"));
}

static void read_env(struct tc__value container, struct tc__k8s_numbers *n)
{
    struct tc__value_iter it = tc__value_iter(tc__value_get(container, S("env")));
    struct tc__value v;
    while (tc__value_next(&it, NULL, &v)) {
        struct tc__value field = tc__value_get(tc__value_get(v, S("valueFrom")), S("fieldRef"));
        tc__k8s_note_number(
            n, tc__value_string(v, S("name")),
            tc_slice_or(tc__value_string(v, S("value")), tc__value_string(field, S("fieldPath"))));
    }
}

static struct tc__k8s_numbers read_numbers(struct tc__value pod)
{
    struct tc__k8s_numbers n = TC__K8S_NUMBERS_NONE;
    struct tc__value meta = tc__value_get(pod, S("metadata"));
    struct tc__value labels = tc__value_get(meta, S("labels"));
    struct tc__value_iter it =
        tc__value_iter(tc__value_get(tc__value_get(pod, S("spec")), S("containers")));
    struct tc__value container;
    while (tc__value_next(&it, NULL, &container)) {
        read_env(container, &n);
        struct tc__value limits =
            tc__value_get(tc__value_get(container, S("resources")), S("limits"));
        int64_t gpus = tc__value_int(limits, S("nvidia.com/gpu"), 0);
        n.gpus += gpus > 0 && gpus <= POD_RANKS_MAX ? gpus : 0;
    }
    static const struct tc_slice index = {"batch.kubernetes.io/job-completion-index",
                                          sizeof "batch.kubernetes.io/job-completion-index" - 1};
    note(&n.index, tc__value_string(tc__value_get(meta, S("annotations")), index));
    note(&n.index, tc__value_string(labels, index));
    n.replica = tc__value_string(labels, S("training.kubeflow.org/replica-index")).len > 0 &&
                tc__value_string(labels, S("training.kubeflow.org/replica-type")).len > 0;
    return n;
}

static int64_t count_ranks(const struct tc__k8s_numbers *n, int64_t *out_first)
{
    int64_t rank = n->rank < 0 && n->rank_is_index ? n->index : n->rank;
    if (n->node_rank >= 0 && n->per_node > 0) {
        *out_first = n->node_rank * n->per_node;
        return n->per_node;
    }
    if (rank >= 0 && n->gpus <= 1) {
        *out_first = rank;
        return 1;
    }
    /* Kubeflow gives each pod a RANK, and torchrun in it starts one process a GPU. */
    int64_t index = rank >= 0 && n->replica ? rank : rank >= 0 ? -1 : n->index;
    if (index < 0 || n->gpus < 1) {
        return 0;
    }
    *out_first = index * n->gpus;
    return n->gpus;
}

int64_t tc__k8s_ranks_of(const struct tc__k8s_numbers *n, int64_t *out_first)
{
    int64_t count = count_ranks(n, out_first);
    bool fits = count > 0 && count <= POD_RANKS_MAX && *out_first + count <= TC_FR_RANK_MAX + 1;
    return fits ? count : 0;
}

static struct tc_slice job_of(struct tc__value pod)
{
    static const char *const names[] = {"training.kubeflow.org/job-name",
                                        "batch.kubernetes.io/job-name", "job-name",
                                        "jobset.sigs.k8s.io/jobset-name"};
    struct tc__value labels = tc__value_get(tc__value_get(pod, S("metadata")), S("labels"));
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        struct tc_slice name = tc__value_string(labels, tc_slice_cstr(names[i]));
        if (name.len > 0) {
            return name;
        }
    }
    return TC_EMPTY;
}

tc_status tc__k8s_pod_ranks(struct tc__decode *d, struct tc__value pod, struct tc_slice gpu_uuid)
{
    struct tc__value meta = tc__value_get(pod, S("metadata"));
    struct tc_slice node = tc__value_string(tc__value_get(pod, S("spec")), S("nodeName"));
    struct tc_slice name = tc__value_string(meta, S("name"));
    struct tc__k8s_numbers n = read_numbers(pod);
    int64_t first = 0;
    int64_t count = tc__k8s_ranks_of(&n, &first);
    if (count < 1 || node.len == 0 || name.len == 0) {
        return TC_OK;
    }
    int64_t start_ns = TC_TIME_NONE;
    struct tc_slice since = tc__value_string(tc__value_get(pod, S("status")), S("startTime"));
    if (!tc__k8s_time(since, &start_ns)) {
        (void)tc__k8s_time(tc__value_string(meta, S("creationTimestamp")), &start_ns);
    }
    for (int64_t i = 0; i < count; i++) {
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_RANK_PLACE);
        ev.time_ns = start_ns;
        ev.place.origin = S("pod");
        ev.place.world_size = n.world >= first + count ? n.world : -1;
        ev.scope.node = node;
        ev.scope.ns = tc__value_string(meta, S("namespace"));
        ev.scope.pod = name;
        ev.scope.pod_uid = tc__value_string(meta, S("uid"));
        ev.scope.job = job_of(pod);
        ev.scope.rank = (int32_t)(first + i);
        ev.scope.gpu_index = count >= WHOLE_NODE ? (int32_t)i : -1;
        ev.scope.gpu_uuid = count == 1 ? gpu_uuid : TC_EMPTY;
        TC_TRY(tc__decode_emit(d, &ev));
    }
    return TC_OK;
}
