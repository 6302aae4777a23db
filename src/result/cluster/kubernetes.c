/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes objects (kubectl get pods,nodes,workloads -o json or yaml): no measurements, only
 * where a run was and what ran there. Pods that ask for GPUs are taken as the run's; where there
 * are any, only their nodes count. What the nodes or pods disagree about is noted, and stays
 * unknown.
 */
#include "base/table/grow.h"
#include "codec/codec.h"
#include "result/map.h"
#include "result/result.h"

#include <stdlib.h>

#define S(literal) TC_LIT(literal)
#define OBJECTS_MAX 65536
#define NODES_MAX 16384
#define CONTAINERS_MAX 64

/* What all must agree about. */
enum agreed {
    CLUSTER,
    REGION,
    ZONE,
    NODE_POOL,
    QUEUE,
    FLAVOR,
    INSTANCE,
    IMAGE,
    SERVER,
    SERVER_VERSION,
    DRIVER,
    KERNEL,
    OS,
    GPU_MODEL,
    AGREED
};

static const struct {
    enum tc_table table;
    size_t column;
} PLACES[AGREED] = {
    [CLUSTER] = {TC_TABLE_CLUSTER, TC_CLUSTER_CLUSTER},
    [REGION] = {TC_TABLE_CLUSTER, TC_CLUSTER_REGION},
    [ZONE] = {TC_TABLE_CLUSTER, TC_CLUSTER_ZONE},
    [NODE_POOL] = {TC_TABLE_CLUSTER, TC_CLUSTER_NODE_POOL},
    [QUEUE] = {TC_TABLE_CLUSTER, TC_CLUSTER_QUEUE},
    [FLAVOR] = {TC_TABLE_CLUSTER, TC_CLUSTER_FLAVOR},
    [INSTANCE] = {TC_TABLE_CLUSTER, TC_CLUSTER_FLAVOR},
    [IMAGE] = {TC_TABLE_SOFTWARE, TC_SOFTWARE_IMAGE},
    [SERVER] = {TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER},
    [SERVER_VERSION] = {TC_TABLE_SOFTWARE, TC_SOFTWARE_SERVER_VERSION},
    [DRIVER] = {TC_TABLE_SOFTWARE, TC_SOFTWARE_DRIVER},
    [KERNEL] = {TC_TABLE_SOFTWARE, TC_SOFTWARE_KERNEL},
    [OS] = {TC_TABLE_SOFTWARE, TC_SOFTWARE_OS},
    [GPU_MODEL] = {TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL},
};

/* Labels and annotations of nodes; of one column the first that a node has counts. */
static const struct {
    const char *label;
    enum agreed what;
} NODE_LABELS[] = {
    {"topology.kubernetes.io/region", REGION},
    {"failure-domain.beta.kubernetes.io/region", REGION},
    {"topology.kubernetes.io/zone", ZONE},
    {"failure-domain.beta.kubernetes.io/zone", ZONE},
    {"cloud.google.com/gke-nodepool", NODE_POOL},
    {"eks.amazonaws.com/nodegroup", NODE_POOL},
    {"alpha.eksctl.io/nodegroup-name", NODE_POOL},
    {"kubernetes.azure.com/agentpool", NODE_POOL},
    {"karpenter.sh/nodepool", NODE_POOL},
    {"karpenter.sh/provisioner-name", NODE_POOL},
    {"compute.coreweave.com/node-pool", NODE_POOL},
    {"doks.digitalocean.com/node-pool", NODE_POOL},
    {"ibm-cloud.kubernetes.io/worker-pool-name", NODE_POOL},
    {"lke.linode.com/pool-id", NODE_POOL},
    {"alpha.eksctl.io/cluster-name", CLUSTER},
    {"kubernetes.azure.com/cluster", CLUSTER},
    {"cluster.x-k8s.io/cluster-name", CLUSTER},
    {"node.kubernetes.io/instance-type", INSTANCE},
    {"beta.kubernetes.io/instance-type", INSTANCE},
    {"nvidia.com/gpu.product", GPU_MODEL},
    {"nvidia.com/cuda.driver-version.full", DRIVER},
};

static const char *const QUEUE_LABELS[] = {
    "kueue.x-k8s.io/queue-name",
    "scheduling.volcano.sh/queue-name",
    "runai/queue",
};

static const char *const GPU_RESOURCES[] = {"nvidia.com/gpu", "amd.com/gpu"};

/* Names of images that say which server runs. */
static const struct {
    const char *part;
    const char *server;
} SERVERS[] = {
    {"vllm", "vllm"},
    {"sglang", "sglang"},
    {"text-generation-inference", "tgi"},
    {"tritonserver", "triton"},
    {"tensorrt-llm", "tensorrt_llm"},
};

struct seen {
    struct tc_slice first;
    struct tc_slice other; /* that differs; empty: none */
};

struct objects {
    struct tc_result *r;
    struct seen seen[AGREED];
    struct tc_slice *nodes; /* of pods with GPUs, each once, in order */
    size_t node_count;
    size_t node_cap;
    int64_t gpus;
    int64_t memory_mib;
    size_t known; /* objects of a kind that says something */
    bool failed;
};

static void see(struct objects *o, enum agreed what, struct tc_slice value)
{
    struct seen *s = &o->seen[what];
    if (value.len == 0) {
        return;
    }
    if (s->first.len == 0) {
        s->first = value;
    } else if (s->other.len == 0 && !tc_slice_eq(s->first, value)) {
        s->other = value;
    }
}

/* The elements of a list; none when it is not there. */
static struct tc_json_iter items_at(struct tc_json v, const char *path)
{
    struct tc_json list;
    return tc_map_at(v, path, &list) ? tc_json_iter_make(list) : (struct tc_json_iter){0};
}

/* A member whose name may have dots and slashes; empty when it is no string. */
static struct tc_slice named(struct tc_json v, const char *path, const char *name)
{
    struct tc_json object;
    return tc_map_at(v, path, &object) ? tc_json_get_string(object, tc_slice_cstr(name)) : TC_EMPTY;
}

/* A label or annotation of an object; empty when it has none. */
static struct tc_slice label_of(struct tc_json object, const char *label)
{
    struct tc_slice text = named(object, "metadata/labels", label);
    return text.len > 0 ? text : named(object, "metadata/annotations", label);
}

/* ---- pods ---- */

static int64_t gpus_of(struct tc_json container)
{
    struct tc_json limits;
    if (!tc_map_at(container, "resources/limits", &limits)) {
        return 0;
    }
    for (size_t n = 0; n < TC_COUNT(GPU_RESOURCES); n++) {
        struct tc_json value;
        uint64_t number = 0;
        if (!tc_json_get(limits, tc_slice_cstr(GPU_RESOURCES[n]), &value)) {
            continue;
        }
        struct tc_slice text = TC_EMPTY;
        bool known = tc_json_string(value, &text) ? tc_slice_is_u64(text, &number)
                                                  : tc_json_uint(value, &number);
        if (known && number > 0 && number <= 1024) {
            return (int64_t)number;
        }
    }
    return 0;
}

/* repository/vllm-openai:v0.9.1@sha256:... */
static void see_image(struct objects *o, struct tc_slice image)
{
    struct tc_slice digest;
    struct tc_slice name = tc_slice_cut(image, '@', &digest);
    size_t colon = tc_slice_find_last(name, S(":"));
    size_t slash = tc_slice_find_last(name, S("/"));
    struct tc_slice tag = colon != TC_NPOS && (slash == TC_NPOS || colon > slash)
                              ? tc_slice_from(name, colon + 1)
                              : TC_EMPTY;
    for (size_t n = 0; n < TC_COUNT(SERVERS); n++) {
        if (!tc_slice_contains(name, tc_slice_cstr(SERVERS[n].part))) {
            continue;
        }
        see(o, SERVER, tc_slice_cstr(SERVERS[n].server));
        tag = tag.len > 1 && tag.ptr[0] == 'v' ? tc_slice_from(tag, 1) : tag;
        if (tag.len > 0 && tc_is_digit(tag.ptr[0])) {
            see(o, SERVER_VERSION, tag);
        }
        return;
    }
}

/* imageID: docker-pullable://repository@sha256:..., repository@sha256:..., or the digest alone. */
static void see_digest(struct objects *o, struct tc_slice id)
{
    size_t at = tc_slice_find(id, S("sha256:"));
    if (at != TC_NPOS && id.len - at == 7 + 64) {
        see(o, IMAGE, tc_slice_from(id, at));
    }
}

static void see_container(struct objects *o, struct tc_json pod, struct tc_json container)
{
    struct tc_slice name = tc_json_get_string(container, S("name"));
    struct tc_json status;
    see_image(o, tc_json_get_string(container, S("image")));
    struct tc_json_iter it = items_at(pod, "status/containerStatuses");
    for (size_t n = 0; n < CONTAINERS_MAX && tc_json_iter_next(&it, NULL, &status); n++) {
        if (tc_slice_eq(tc_json_get_string(status, S("name")), name)) {
            see_digest(o, tc_json_get_string(status, S("imageID")));
        }
    }
}

static void see_queue(struct objects *o, struct tc_json object)
{
    for (size_t n = 0; n < TC_COUNT(QUEUE_LABELS); n++) {
        struct tc_slice queue = label_of(object, QUEUE_LABELS[n]);
        if (queue.len > 0) {
            see(o, QUEUE, queue);
            return;
        }
    }
}

static void add_node(struct objects *o, struct tc_slice name)
{
    if (name.len == 0 || o->node_count == NODES_MAX) {
        return;
    }
    if (tc_grow_items(o->nodes, o->node_cap, o->node_count + 1, NODES_MAX) != TC_OK) {
        o->failed = true;
        return;
    }
    o->nodes[o->node_count++] = name;
}

static void take_pod(struct objects *o, struct tc_json pod)
{
    struct tc_json container;
    struct tc_slice phase = tc_map_string_at(pod, "status/phase");
    int64_t gpus = 0;
    if (tc_slice_eq(phase, S("Pending")) || tc_slice_eq(phase, S("Failed"))) {
        return;
    }
    struct tc_json_iter it = items_at(pod, "spec/containers");
    for (size_t n = 0; n < CONTAINERS_MAX && tc_json_iter_next(&it, NULL, &container); n++) {
        if (gpus_of(container) > 0) {
            gpus += gpus_of(container);
            see_container(o, pod, container);
        }
    }
    if (gpus > 0) {
        o->gpus += gpus;
        o->known++;
        see_queue(o, pod);
        add_node(o, tc_map_string_at(pod, "spec/nodeName"));
    }
}

/* ---- Kueue ---- */

static void take_workload(struct objects *o, struct tc_json workload)
{
    struct tc_json set;
    see(o, QUEUE, tc_map_string_at(workload, "spec/queueName"));
    struct tc_json_iter sets = items_at(workload, "status/admission/podSetAssignments");
    for (size_t n = 0; n < CONTAINERS_MAX && tc_json_iter_next(&sets, NULL, &set); n++) {
        for (size_t g = 0; g < TC_COUNT(GPU_RESOURCES); g++) {
            see(o, FLAVOR, named(set, "flavors", GPU_RESOURCES[g]));
        }
    }
    o->known++;
}

/* ---- nodes ---- */

static int compare_names(const void *a, const void *b)
{
    return tc_slice_cmp(*(const struct tc_slice *)a, *(const struct tc_slice *)b);
}

static void sort_nodes(struct objects *o)
{
    size_t kept = 0;
    if (o->node_count == 0) {
        return;
    }
    qsort(o->nodes, o->node_count, sizeof *o->nodes, compare_names);
    for (size_t n = 0; n < o->node_count; n++) {
        if (kept == 0 || !tc_slice_eq(o->nodes[kept - 1], o->nodes[n])) {
            o->nodes[kept++] = o->nodes[n];
        }
    }
    o->node_count = kept;
}

static bool is_of_run(const struct objects *o, struct tc_slice name)
{
    return o->node_count == 0 ||
           bsearch(&name, o->nodes, o->node_count, sizeof *o->nodes, compare_names) != NULL;
}

static void take_node(struct objects *o, struct tc_json node)
{
    bool had[AGREED] = {false};
    uint64_t mib = 0;
    if (!is_of_run(o, tc_map_string_at(node, "metadata/name"))) {
        return;
    }
    for (size_t n = 0; n < TC_COUNT(NODE_LABELS); n++) {
        struct tc_slice value = label_of(node, NODE_LABELS[n].label);
        if (value.len > 0 && !had[NODE_LABELS[n].what]) {
            had[NODE_LABELS[n].what] = true;
            see(o, NODE_LABELS[n].what, value);
        }
    }
    see(o, KERNEL, tc_map_string_at(node, "status/nodeInfo/kernelVersion"));
    see(o, OS, tc_map_string_at(node, "status/nodeInfo/osImage"));
    if (tc_slice_is_u64(label_of(node, "nvidia.com/gpu.memory"), &mib) && mib > 0 &&
        mib <= 1u << 24) {
        o->memory_mib = (int64_t)mib;
    }
    o->known++;
}

/* ---- all of it ---- */

static void take_object(struct objects *o, struct tc_json object, bool of_nodes)
{
    struct tc_slice kind = tc_json_get_string(object, S("kind"));
    if (tc_slice_eq(kind, S("Node"))) {
        if (of_nodes) {
            take_node(o, object);
        }
    } else if (of_nodes) {
        return;
    } else if (tc_slice_eq(kind, S("Pod"))) {
        take_pod(o, object);
    } else if (tc_slice_eq(kind, S("Workload"))) {
        take_workload(o, object);
    } else if (label_of(object, QUEUE_LABELS[0]).len > 0) {
        see_queue(o, object);
        o->known++;
    }
}

static void take_all(struct objects *o, struct tc_json root, bool of_nodes)
{
    struct tc_json items;
    struct tc_json object;
    if (!tc_json_get(root, S("items"), &items)) {
        take_object(o, root, of_nodes);
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(items);
    for (size_t n = 0; n < OBJECTS_MAX && tc_json_iter_next(&it, NULL, &object); n++) {
        take_object(o, object, of_nodes);
    }
}

static void put_facts(struct objects *o)
{
    /* Without Kueue the type of the machine is the flavor. */
    if (o->seen[FLAVOR].first.len > 0) {
        o->seen[INSTANCE] = (struct seen){TC_EMPTY, TC_EMPTY};
    }
    for (size_t n = 0; n < AGREED; n++) {
        const struct seen *s = &o->seen[n];
        if (s->other.len > 0) {
            tc_result_note(o->r, false, "",
                           tc_table_info(PLACES[n].table)->columns[PLACES[n].column].name,
                           "is \"%.*s\" and \"%.*s\" among the objects: unknown for the run",
                           TC_FMT(s->first), TC_FMT(s->other));
        } else {
            tc_result_fact_text(o->r, PLACES[n].table, PLACES[n].column, s->first);
        }
    }
    if (o->gpus > 0) {
        tc_result_fact_int(o->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, o->gpus);
    }
    if (o->node_count > 0) {
        tc_result_fact_int(o->r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, (int64_t)o->node_count);
    }
    if (o->memory_mib > 0) {
        tc_result_fact_int(o->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MEMORY, o->memory_mib);
    }
}

static tc_status read_objects(const struct tc_result_input *in, struct tc_result *r,
                              struct tc_error *err)
{
    struct objects o = {.r = r};
    take_all(&o, in->root, false);
    sort_nodes(&o);
    take_all(&o, in->root, true);
    if (!o.failed) {
        put_facts(&o);
    }
    free(o.nodes);
    if (o.failed) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the names of nodes");
    }
    if (o.known == 0) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "Kubernetes objects that say nothing about a run: expected nodes, pods with "
                       "GPUs, or workloads of Kueue");
    }
    return tc_result_status(r, err);
}

const struct tc_reader tc_reader_kubernetes = {
    .name = "kubernetes",
    .summary = "Kubernetes nodes, pods and Kueue workloads: where a run was, and its image.",
    .forms = 1U << TC_RESULT_JSON,
    .keys =
        {
            {"apiVersion, kind=List, items[]", TC_SNIFF_SURE, TC_OF_FILE},
            {"apiVersion, kind=Node, metadata{}", TC_SNIFF_SURE, TC_OF_FILE},
            {"apiVersion, kind=Pod, metadata{}", TC_SNIFF_SURE, TC_OF_FILE},
            {"apiVersion, kind=Workload, metadata{}", TC_SNIFF_SURE, TC_OF_FILE},
            {"apiVersion, items[], kind", TC_SNIFF_LIKELY, TC_OF_FILE},
        },
    .read = read_objects,
    .only_facts = true,
};
