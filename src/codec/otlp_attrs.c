/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which attribute means what: one table, that docs/otlp.md shows. Of two names for
 * one thing the one with the higher claim counts, then the record's before its
 * resource's, then the first.
 */
#include "base/limits.h"
#include "codec/metric_map_priv.h"
#include "codec/otlp_priv.h"
#include "codec/otlp_tape_priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)

/* Attributes of one owner that are looked at; what comes behind them is not read. */
#define ATTRS_MAX 1024
/* Digits of an integer, with its sign. */
#define INTEGER_TEXT_MAX 24
/* A double of less than this fits int64_t. */
#define INTEGER_DOUBLE_MAX 9.2e18

#define ROW(name, attr, claim)                             \
    {                                                      \
        {(name), sizeof(name) - 1}, TC__OTLP_##attr, claim \
    }

static const struct {
    struct tc_slice name;
    enum tc__otlp_attr attr;
    uint8_t claim; /* 1..9 */
} TABLE[] = {
    ROW("k8s.node.name", NODE, 9),
    ROW("_HOSTNAME", HOSTNAME, 9),
    ROW("hostname", HOSTNAME, 5),
    ROW("host.name", HOST, 9),
    ROW("k8s.namespace.name", NS, 9),
    ROW("k8s.pod.name", POD, 9),
    ROW("k8s.pod.uid", POD_UID, 9),
    ROW("k8s.container.name", CONTAINER, 9),
    ROW("job.id", JOB, 9),
    ROW("training.job", JOB, 8),
    ROW("training.kubeflow.org/job-name", JOB, 7),
    ROW("k8s.pod.label.training.kubeflow.org/job-name", JOB, 7),
    ROW("k8s.pod.labels.training.kubeflow.org/job-name", JOB, 7),
    ROW("k8s.job.name", JOB, 6),
    ROW("rank", RANK, 9),
    ROW("training.rank", RANK, 8),
    ROW("gen_ai.training.rank", RANK, 7),
    ROW("process.rank", RANK, 6),
    ROW("gpu.uuid", GPU_UUID, 9),
    ROW("hw.id", HW_ID, 9),
    ROW("gpu.index", GPU_INDEX, 9),
    ROW("pci.bdf", PCI, 9),
    ROW("log.record.uid", UID, 9),
    ROW("tracecore.alert.training_step_stalled.no_progress_seconds", STALL, 9),
    ROW("dataloader.error_class", LOADER_ERROR, 9),
    ROW("gen_ai.training.step", STEP, 9),
    ROW("training.step", STEP, 8),
    ROW("checkpoint.step", STEP, 7),
    ROW("step", ANY_STEP, 9),
    ROW("gen_ai.training.phase", PHASE, 9),
    ROW("training.phase", PHASE, 8),
    ROW("phase", ANY_PHASE, 9),
    ROW("training.step.duration", STEP_SECONDS, 9),
    ROW("gen_ai.training.step.duration", STEP_SECONDS, 8),
    ROW("step.duration", STEP_SECONDS, 7),
    ROW("step_duration", STEP_SECONDS, 6),
    ROW("step_time", STEP_SECONDS, 5),
    ROW("duration", STEP_SECONDS, 4),
    ROW("checkpoint.state", CHECKPOINT, 9),
    ROW("checkpoint.event", CHECKPOINT, 8),
    ROW("event.name", EVENT_NAME, 9),
    ROW("checkpoint.path", CHECKPOINT_PATH, 9),
    ROW("checkpoint.duration", CHECKPOINT_SECONDS, 9),
    ROW("tracecore.kind", KIND, 9),
    ROW("kind", KIND, 8),
    ROW("_TRANSPORT", TRANSPORT, 9),
    ROW("SYSLOG_IDENTIFIER", IDENTIFIER, 9),
    ROW("appname", IDENTIFIER, 5),
    ROW("MESSAGE", MESSAGE, 9),
    ROW("message", MESSAGE, 5),
    ROW("log.file.path", FILE, 9),
    ROW("log.file.name", FILE, 8),
};

#define TABLE_COUNT (sizeof TABLE / sizeof TABLE[0])

static struct tc_slice integer_text(struct tc__otlp *o, int64_t value)
{
    char *bytes = tc_new(o->k.out->scratch, char, INTEGER_TEXT_MAX);
    if (bytes == NULL) {
        return TC_EMPTY;
    }
    struct tc_buf text = tc_buf_make(bytes, INTEGER_TEXT_MAX);
    tc_buf_i64(&text, value);
    return tc_buf_slice(&text);
}

static void read_text_number(struct tc__otlp_value *io)
{
    struct tc_slice trimmed = tc_slice_trim(io->text);
    io->is_number = trimmed.len > 0 && tc__train_number(trimmed, &io->number) == trimmed.len;
}

static struct tc__otlp_value tape_value(struct tc__otlp *o, struct tc_k8s_val v)
{
    const struct tc__otlp_tape *tape = v.v.doc;
    const struct tc__otlp_node *n = &tape->nodes[v.v.at];
    struct tc__otlp_value out = {0};
    if (n->type == TC__OTLP_N_STRING) {
        out.text = tc__otlp_node_text(tape, n);
        read_text_number(&out);
    } else if (n->type == TC__OTLP_N_INT) {
        out.is_number = true;
        out.number = (double)n->integer;
        out.text = integer_text(o, n->integer);
    } else if (n->type == TC__OTLP_N_DOUBLE && isfinite(n->number)) {
        out.is_number = true;
        out.number = n->number;
        if (floor(n->number) == n->number && fabs(n->number) < INTEGER_DOUBLE_MAX) {
            out.text = integer_text(o, (int64_t)n->number);
        }
    }
    return out;
}

struct tc__otlp_value tc__otlp_value_read(struct tc__otlp *o, struct tc_k8s_val v)
{
    struct tc__otlp_value out = {0};
    struct tc_json typed;
    int64_t integer = 0;
    if (!v.there) {
        return out;
    }
    if (v.tape) {
        return tape_value(o, v);
    }
    if (tc_json_get(v.v, S("stringValue"), &typed)) {
        (void)tc_json_string(typed, &out.text);
        read_text_number(&out);
    } else if (tc_json_get(v.v, S("intValue"), &typed)) {
        out.is_number = tc_json_int(typed, &integer);
        out.number = (double)integer;
        if (out.is_number && !tc_json_string(typed, &out.text)) {
            out.text = integer_text(o, integer);
        }
    } else if (tc_json_get(v.v, S("doubleValue"), &typed)) {
        out.is_number = tc_json_double(typed, &out.number) && isfinite(out.number);
        if (out.is_number && tc_json_int(typed, &integer)) {
            out.text = integer_text(o, integer);
        }
    }
    return out;
}

void tc__otlp_attrs_add(struct tc__otlp *o, struct tc_k8s_iter pairs, uint8_t boost,
                        struct tc__otlp_attrs *io)
{
    struct tc_slice key;
    struct tc_k8s_val value;
    for (size_t n = 0; n < ATTRS_MAX && pairs.pairs && tc__k8s_next(&pairs, &key, &value); n++) {
        io->has_k8s_event = io->has_k8s_event || tc_slice_starts(key, S("k8s.event."));
        for (size_t i = 0; i < TABLE_COUNT; i++) {
            if (!tc_slice_eq(key, TABLE[i].name)) {
                continue;
            }
            uint8_t claim = (uint8_t)(TABLE[i].claim + boost);
            if (claim > io->of[TABLE[i].attr].claim) {
                struct tc__otlp_value read = tc__otlp_value_read(o, value);
                bool says = read.text.len > 0 || read.is_number;
                read.claim = claim;
                io->of[TABLE[i].attr] = says ? read : io->of[TABLE[i].attr];
            }
            break;
        }
    }
}

void tc__otlp_attrs_keep(struct tc__otlp *o, struct tc__otlp_attrs *io)
{
    for (size_t i = 0; i < TC__OTLP_ATTR_COUNT; i++) {
        if (io->of[i].text.len > 0) {
            io->of[i].text = tc_arena_copy(o->k.out->scratch, io->of[i].text);
        }
    }
}

struct tc__otlp_value tc__otlp_get(const struct tc__otlp_attrs *record,
                                   const struct tc__otlp_resource *resource,
                                   enum tc__otlp_attr attr)
{
    return record->of[attr].claim > 0 ? record->of[attr] : resource->attrs.of[attr];
}

static void fill(struct tc_slice *io, struct tc_slice value)
{
    *io = io->len > 0 ? *io : value;
}

/* A number that fits, or the fallback. */
static int64_t integer_of(struct tc__otlp_value v, int64_t max, int64_t fallback)
{
    bool fits =
        v.is_number && v.number >= 0 && v.number <= (double)max && v.number == floor(v.number);
    return fits ? (int64_t)v.number : fallback;
}

void tc__otlp_scope(const struct tc__otlp_attrs *record, const struct tc__otlp_resource *resource,
                    struct tc_scope *io)
{
    const struct {
        enum tc__otlp_attr attr;
        struct tc_slice *to;
    } texts[] = {
        {TC__OTLP_NODE, &io->node},
        {TC__OTLP_HOSTNAME, &io->node},
        {TC__OTLP_HOST, &io->node},
        {TC__OTLP_NS, &io->ns},
        {TC__OTLP_POD, &io->pod},
        {TC__OTLP_POD_UID, &io->pod_uid},
        {TC__OTLP_CONTAINER, &io->container},
        {TC__OTLP_JOB, &io->job},
        {TC__OTLP_GPU_UUID, &io->gpu_uuid},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fill(texts[i].to, tc__otlp_get(record, resource, texts[i].attr).text);
    }
    if (io->pod.len == 0) {
        tc__train_pod(tc__otlp_get(record, resource, TC__OTLP_FILE).text, io);
    }
    struct tc_slice hw = tc__otlp_get(record, resource, TC__OTLP_HW_ID).text;
    if (tc_slice_starts(hw, S("GPU-"))) {
        fill(&io->gpu_uuid, hw);
    }
    struct tc_slice pci = tc__otlp_get(record, resource, TC__OTLP_PCI).text;
    struct tc_bdf bdf = {0};
    if (!io->pci.known && pci.len > 0 && tc_bdf_parse(pci, &bdf) == pci.len) {
        io->pci = bdf;
    }
    if (io->rank < 0) {
        io->rank =
            (int32_t)integer_of(tc__otlp_get(record, resource, TC__OTLP_RANK), TC_FR_RANK_MAX, -1);
    }
    if (io->gpu_index < 0) {
        io->gpu_index =
            (int32_t)integer_of(tc__otlp_get(record, resource, TC__OTLP_GPU_INDEX), UINT16_MAX, -1);
    }
}

tc_status tc__otlp_place(struct tc__otlp *o, const struct tc_event *ev)
{
    struct tc_event place;
    if (!tc__metric_place(ev, &place)) {
        return TC_OK;
    }
    const struct tc_slice names[] = {ev->scope.job, ev->scope.node,    ev->scope.ns,
                                     ev->scope.pod, ev->scope.pod_uid, ev->scope.gpu_uuid};
    uint64_t hash = (uint64_t)ev->scope.rank + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        hash = tc_slice_hash(names[i], hash);
    }
    uint64_t *slot = &o->places[hash % TC__OTLP_PLACES];
    if (*slot == hash) {
        return TC_OK;
    }
    *slot = hash;
    place.time_ns = ev->time_ns;
    return tc__k8s_emit(&o->k, &place);
}
