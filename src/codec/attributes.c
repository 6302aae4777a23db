/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/attributes.h"

#include "codec/metric/map_priv.h"
#include "event/metric.h"

/* A name that something comes under. */
struct name {
    const char *name;
    unsigned group;
    unsigned claim;
};

enum group {
#define ATTRIBUTE(id, field, meaning) GROUP_##id,
#define NAME(id, name, claim)
#include "codec/otlp/attrs.def"
#undef ATTRIBUTE
#undef NAME
    GROUP_COUNT
};

static const struct {
    const char *field;
    const char *meaning;
} GROUPS[] = {
#define ATTRIBUTE(id, field, meaning) {field, meaning},
#define NAME(id, name, claim)
#include "codec/otlp/attrs.def"
#undef ATTRIBUTE
#undef NAME
};

static const struct name NAMES[] = {
#define ATTRIBUTE(id, field, meaning)
#define NAME(id, name, claim) {name, GROUP_##id, claim},
#include "codec/otlp/attrs.def"
#undef ATTRIBUTE
#undef NAME
};

static const struct name LABELS[] = {
#define LABEL(key, what, claim) {key, TC__FIELD_##what, claim},
#include "codec/metric/labels.def"
#undef LABEL
};

static const struct name NODE_LABELS[] = {
#define LABEL(key, what, claim) {key, TC__FIELD_##what, claim},
#include "codec/metric/node_labels.def"
#undef LABEL
};

enum span_group {
#define ATTRIBUTE(id, column, meaning) SPAN_GROUP_##id,
#define NAME(id, name, claim)
#include "codec/otlp/spans.def"
#undef ATTRIBUTE
#undef NAME
};

static const struct {
    const char *column;
    const char *meaning;
} SPAN_GROUPS[] = {
#define ATTRIBUTE(id, column, meaning) {column, meaning},
#define NAME(id, name, claim)
#include "codec/otlp/spans.def"
#undef ATTRIBUTE
#undef NAME
};

static const struct name SPAN_NAMES[] = {
#define ATTRIBUTE(id, column, meaning)
#define NAME(id, name, claim) {name, SPAN_GROUP_##id, claim},
#include "codec/otlp/spans.def"
#undef ATTRIBUTE
#undef NAME
};

#define NAME_COUNT TC_COUNT(NAMES)
#define LABEL_COUNT TC_COUNT(LABELS)

/* What a label says, in the words of an event where it is one of its fields. */
static const char *const FIELDS[] = {
    [TC__FIELD_NODE] = "`k8s.node.name`",
    [TC__FIELD_NS] = "`k8s.namespace.name`",
    [TC__FIELD_POD] = "`k8s.pod.name`",
    [TC__FIELD_POD_UID] = "`k8s.pod.uid`",
    [TC__FIELD_CONTAINER] = "`k8s.container.name`",
    [TC__FIELD_JOB] = "`job.id`",
    [TC__FIELD_RUN] = "`tracecore.run.id`",
    [TC__FIELD_UUID] = "`gpu.uuid`",
    [TC__FIELD_PCI] = "`pci.bdf`",
    [TC__FIELD_INDEX] = "`gpu.index`",
    [TC__FIELD_RANK] = "`rank`",
    [TC__FIELD_LOCAL_RANK] = "rank on the node",
    [TC__FIELD_PID] = "`process.pid`",
    [TC__FIELD_RACK] = "`rack`",
    [TC__FIELD_ZONE] = "`zone`",
    [TC__FIELD_DEVICE] = "`device`: interface or disk",
    [TC__FIELD_PORT] = "`device`: port of it",
    [TC__FIELD_LINK] = "`device`: NVLink",
    [TC__FIELD_SWITCH] = "`device`: NVSwitch of the link",
    [TC__FIELD_MOUNT] = "`device`: mount point",
    [TC__FIELD_EXPORT] = "`device`: export of an NFS mount",
    [TC__FIELD_TARGET] = "`device`: target of a probe",
    [TC__FIELD_XID] = "`device`: number of the Xid",
    [TC__FIELD_IP] = "node, by its address, where nothing above says it",
    [TC__FIELD_INSTANCE] =
        "node, by host and port of what was scraped, where nothing above says it",
    [TC__FIELD_OPERATION] = "which samples count: writes",
    [TC__FIELD_DIRECTION] = "which samples count: writes, what was received",
    [TC__FIELD_ADMIN_STATE] = "the value: `up` or `down`",
};

static const char *const ABOUT[] = {
    [TC__ABOUT_GPU] = "GPU",
    [TC__ABOUT_NODE] = "node",
    [TC__ABOUT_RANK] = "rank",
};

/* What is read at one place each, outside of the tables. A test holds these names to the code. */
static const struct {
    const char *name;
    const char *of;
    const char *meaning;
} SINGLE[] = {
    {"k8s.event.reason", "record", "any of `k8s.event.*` makes it a `k8s_event`; its `reason`"},
    {"k8s.event.uid", "record", "`uid`"},
    {"k8s.event.start_time", "record", "`first_time`: when the Event object was created"},
    {"k8s.event.count", "record", "`count`"},
    {"k8s.event.reporting_controller", "record", "`component`"},
    {"k8s.event.reporting_instance", "record", "`k8s.node.name`, where the kubelet reports"},
    {"k8s.object.kind", "resource", "`object.kind`: what the event is about"},
    {"k8s.object.name", "resource", "`object.name`; of a pod or a node also its name"},
    {"k8s.object.uid", "resource", "`object.uid`"},
    {"k8s.object.fieldpath", "resource", "`k8s.container.name`, from `spec.containers{NAME}`"},
    {"training.kubeflow.org/job-name", "label of a pod", "`job.id`"},
    {"batch.kubernetes.io/job-name", "label of a pod", "`job.id`, where nothing above says it"},
    {"jobset.sigs.k8s.io/jobset-name", "label of a pod", "`job.id`, where nothing above says it"},
    {"batch.kubernetes.io/job-completion-index", "label or annotation of a pod",
     "`rank`, with one process or by the number of GPUs"},
    {"training.kubeflow.org/replica-index", "label of a pod",
     "the pod is a replica: its `RANK` is that of a node"},
    {"training.kubeflow.org/replica-type", "label of a pod", "the same, beside the index"},
    {"nvidia.com/gpu", "resource limit of a container", "how many ranks the pod has"},
    {"service.instance.id", "resource of metrics",
     "`instance`, the Prometheus receiver's host and port, where it has a `:`"},
    {"hw.type", "data point",
     "`gpu` makes `hw.errors`, `hw.temperature` and `hw.power` metrics of a GPU"},
    {"error.type", "data point", "of `hw.errors`: `corrected` or `uncorrected`"},
};

static void put(struct tc_buf *b, const char *text)
{
    tc_buf_str(b, tc_slice_cstr(text));
}

/* How many names of the same thing come before it, and itself. */
static unsigned place_of(const struct name *names, size_t count, const struct name *of)
{
    unsigned place = 1;
    for (size_t i = 0; i < count; i++) {
        place += names[i].group == of->group && names[i].claim > of->claim;
    }
    return place;
}

static void put_name(struct tc_buf *b, const struct name *names, size_t count, const struct name *n)
{
    put(b, "| `");
    put(b, n->name);
    put(b, "` | ");
    tc_buf_u64(b, place_of(names, count, n));
    put(b, " | ");
}

static void put_meaning(struct tc_buf *b, const char *field, const char *meaning)
{
    const char *quote = field[0] == '\0' ? "" : "`";
    put(b, quote);
    put(b, field);
    put(b, quote);
    put(b, " | ");
    put(b, meaning);
    put(b, " |\n");
}

static void write_attributes(struct tc_buf *b)
{
    put(b, "## Attributes of log records\n\n"
           "Of a record, of its resource, or fields of its structured body. What the record's "
           "attribute says comes before its body's\nfield, and both before the resource's "
           "attribute; then the one with the lower number counts. Numbers may be integers,\n"
           "doubles or strings.\n\n"
           "| attribute | of its synonyms | field of the event | meaning |\n"
           "| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < NAME_COUNT; i++) {
        put_name(b, NAMES, NAME_COUNT, &NAMES[i]);
        put_meaning(b, GROUPS[NAMES[i].group].field, GROUPS[NAMES[i].group].meaning);
    }
}

static void write_spans(struct tc_buf *b)
{
    put(b, "\n## Attributes of spans\n\n"
           "Of spans that tell of a request to a language model, which become rows of "
           "`serving_request_fact` ([otlp.md](otlp.md#traces)). Run,\npod and node are named by "
           "the attributes of log records above, of the span or of its resource. Numbers may be "
           "integers,\ndoubles or strings; of a list the first counts.\n\n"
           "| attribute | of its synonyms | column | meaning |\n"
           "| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < TC_COUNT(SPAN_NAMES); i++) {
        const struct name *n = &SPAN_NAMES[i];
        put_name(b, SPAN_NAMES, TC_COUNT(SPAN_NAMES), n);
        put_meaning(b, SPAN_GROUPS[n->group].column, SPAN_GROUPS[n->group].meaning);
    }
}

static void write_labels(struct tc_buf *b)
{
    put(b, "\n## Attributes and labels of metrics\n\n"
           "Of a data point, then of its resource; the same in Prometheus text. Compared without "
           "case, and every byte that is no\nletter or digit counts as `_`: `k8s.node.name` is "
           "`k8s_node_name`.\n\n"
           "| label | of its synonyms | says |\n"
           "| --- | --- | --- |\n");
    for (unsigned field = 0; field < TC__FIELD_COUNT; field++) {
        for (size_t i = 0; i < LABEL_COUNT; i++) {
            if (LABELS[i].group == field) {
                put_name(b, LABELS, LABEL_COUNT, &LABELS[i]);
                put(b, FIELDS[field]);
                put(b, " |\n");
            }
        }
    }
}

static void write_node_labels(struct tc_buf *b)
{
    put(b, "\n## Labels of nodes\n\n"
           "Of a Node object as they are, and of metrics as labels and attributes, compared as "
           "above: after `k8s.node.label.` or\n`k8s.node.labels.` (the Collector's k8sattributes "
           "processor), after `label_` (kube-state-metrics), or without any of them.\nSwitches, "
           "network blocks and NVLink domains (`network.topology.nvidia.com/leaf`, "
           "`topology.k8s.aws/network-node-layer-3`,\n`nvidia.com/gpu.clique`) are not racks and "
           "are not read as such. Of a metric the labels above come first for a rack.\n\n"
           "| label | of its synonyms | says |\n"
           "| --- | --- | --- |\n");
    for (size_t i = 0; i < TC_COUNT(NODE_LABELS); i++) {
        put_name(b, NODE_LABELS, TC_COUNT(NODE_LABELS), &NODE_LABELS[i]);
        put(b, FIELDS[NODE_LABELS[i].group]);
        put(b, " |\n");
    }
}

static void write_metrics(struct tc_buf *b)
{
    size_t count = 0;
    const struct tc__metric_row *rows = tc__metric_rows(&count);
    put(b, "\n## Metrics\n\n"
           "Compared in the same way; `_total` at the end does not matter, and `_l17` of one "
           "NVLink neither. Gauges and cumulative sums\nare read. A value is multiplied by the "
           "factor, where there is one.\n\n"
           "| name | becomes | unit | factor | about |\n"
           "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        const struct tc_metric_info *info = tc_metric_info((enum tc_metric)rows[i].metric);
        put(b, "| `");
        tc_buf_str(b, rows[i].name);
        put(b, "` | `");
        tc_buf_str(b, info->name);
        put(b, "` | ");
        put(b, info->unit);
        put(b, " | ");
        if (rows[i].scale < 1 || rows[i].scale > 1) {
            tc_buf_f64(b, rows[i].scale);
        }
        put(b, " | ");
        put(b, ABOUT[rows[i].about]);
        put(b, " |\n");
    }
}

static void write_single(struct tc_buf *b)
{
    put(b,
        "\n## Kubernetes, and the rest\n\n"
        "Events of Kubernetes as the Collector's k8seventsreceiver writes them (v0.145.0, which is "
        "built against Kubernetes 1.34; the\n`reporting_*` are newer, commit e56538c1), labels of "
        "the objects themselves, and what is read of metrics beside their labels.\n\n"
        "| name | of | says |\n"
        "| --- | --- | --- |\n");
    for (size_t i = 0; i < TC_COUNT(SINGLE); i++) {
        put(b, "| `");
        put(b, SINGLE[i].name);
        put(b, "` | ");
        put(b, SINGLE[i].of);
        put(b, " | ");
        put(b, SINGLE[i].meaning);
        put(b, " |\n");
    }
}

void tc_attributes_write(struct tc_buf *out)
{
    put(out, "# What is read, by name\n\n"
             "Made by `tracecore decode --attributes` from the tables of the program; a test "
             "compares. What a log record becomes is in\n[otlp.md](otlp.md), the fields of events "
             "are in [events.md](events.md).\n\n");
    write_attributes(out);
    write_spans(out);
    write_single(out);
    write_labels(out);
    write_node_labels(out);
    write_metrics(out);
}
