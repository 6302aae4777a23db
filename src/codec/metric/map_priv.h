/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From exporters' names to ours: which metric of event/metric.def a sample is, in
 * which unit, and what its labels say about node, GPU, pod, rank and device. Shared
 * by every codec that reads metrics. One table per kind of name: names.def and
 * labels.def, and node_labels.def for what Kubernetes has as labels of a node.
 *
 * Names are compared without case, and every byte that is no letter or digit counts
 * as '_': "DCGM_FI_DEV_GPU_TEMP", "k8s.node.name" and "k8s_node_name" each have one row.
 *
 *     struct tc__metric_use use;
 *     if (tc__metric_map(name, &use)) {
 *         tc__metric_begin(&sample, &use, arena);
 *         tc__metric_label(&sample, key, value);   for each label, in any order
 *         if (tc__metric_end(&sample, value, &ev) == TC__METRIC_READ) { ... }
 *     }
 */
#ifndef TC_CODEC_METRIC_MAP_PRIV_H
#define TC_CODEC_METRIC_MAP_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* What a metric is about: decides which labels count. */
enum tc__metric_about {
    TC__ABOUT_GPU,  /* labels of pods name the pod that uses it */
    TC__ABOUT_NODE, /* labels of pods name the exporter's own pod, and do not count */
    TC__ABOUT_RANK, /* a process of a training job: its own pod */
};

/* What becomes the event's `device`. */
enum tc__metric_device {
    TC__DEVICE_NONE,
    TC__DEVICE_NAMED,  /* label device: interface or disk */
    TC__DEVICE_PORT,   /* labels device and port: "mlx5_0", or "mlx4_0/2" for a second port */
    TC__DEVICE_LINK,   /* NVLink: the number in the metric's name, or labels nvswitch and nvlink */
    TC__DEVICE_MOUNT,  /* label mountpoint */
    TC__DEVICE_EXPORT, /* label export of an NFS mount, else its mountpoint */
    TC__DEVICE_TARGET, /* label target of a probe */
    TC__DEVICE_XID,    /* label xid */
    TC__DEVICE_REASON, /* what follows "_reasons_" in the metric's name */
};

/* How a value becomes ours. */
enum tc__metric_value {
    TC__VALUE_SCALED,        /* times scale */
    TC__VALUE_DCGM,          /* the same, and DCGM's words for "no value" are not values */
    TC__VALUE_NVSWITCH_LINK, /* off 0, safe 1, active 2, error 3: to our states of a link */
    TC__VALUE_FLAG,          /* 1 is scale, 0 is 0, and nothing else is a value */
    TC__VALUE_ADMIN_STATE,   /* the value is 1, and label adminstate says "up" or "down" */
};

/* Only samples with this label count. */
enum tc__metric_only {
    TC__ONLY_ALL,
    TC__ONLY_WRITES,   /* operation="WRITE", or direction="write" */
    TC__ONLY_RECEIVED, /* direction="receive" */
};

struct tc__metric_row {
    struct tc_slice name; /* lower case, '_' between words, without "_total" at its end */
    double scale;
    uint16_t metric; /* enum tc_metric */
    uint8_t about;
    uint8_t device;
    uint8_t value;
    uint8_t only;
};

struct tc__metric_use {
    const struct tc__metric_row *row;
    struct tc_slice link; /* the number in the name of a counter of one NVLink; of that name */
};

/* False when no detector reads a metric of that name. out->link lies in name. */
bool tc__metric_map(struct tc_slice name, struct tc__metric_use *out);

/* All rows, sorted by name; for tests. */
const struct tc__metric_row *tc__metric_rows(size_t *out_count);

/* What labels can say. */
enum tc__metric_field {
    TC__FIELD_NODE,
    TC__FIELD_NS,
    TC__FIELD_POD,
    TC__FIELD_POD_UID,
    TC__FIELD_CONTAINER,
    TC__FIELD_JOB,
    TC__FIELD_RUN,
    TC__FIELD_UUID,
    TC__FIELD_PCI,
    TC__FIELD_INDEX,
    TC__FIELD_RANK,
    TC__FIELD_LOCAL_RANK,
    TC__FIELD_PID,
    TC__FIELD_RACK,
    TC__FIELD_ZONE,
    TC__FIELD_DEVICE,
    TC__FIELD_PORT,
    TC__FIELD_LINK,
    TC__FIELD_SWITCH,
    TC__FIELD_MOUNT,
    TC__FIELD_EXPORT,
    TC__FIELD_TARGET,
    TC__FIELD_XID,
    TC__FIELD_IP,
    TC__FIELD_INSTANCE,
    TC__FIELD_OPERATION,
    TC__FIELD_DIRECTION,
    TC__FIELD_ADMIN_STATE,
    TC__FIELD_COUNT
};

/*
 * One sample while its labels come in. Invariant: texts[f] is the value of the label with the
 * highest claim on f so far; claims[f] is that claim, 0 when there was none.
 */
struct tc__metric_sample {
    struct tc__metric_use use;
    struct tc_arena *arena; /* for the few strings that have to be made */
    struct tc_slice texts[TC__FIELD_COUNT];
    uint8_t claims[TC__FIELD_COUNT];
    /* What tc__metric_end made of the labels, for the next sample with the same: of a metric about
     * what scope_of says. Not kept where a string of it had to be made. */
    uint8_t scope_of; /* enum tc__metric_about + 1; 0: none */
    struct tc_scope scope;
};

/* Borrows arena until tc__metric_end, and what it makes of strings stays there. */
void tc__metric_begin(struct tc__metric_sample *s, const struct tc__metric_use *use,
                      struct tc_arena *arena);
/* Another sample, with the labels of the one that was in s. */
static inline void tc__metric_begin_again(struct tc__metric_sample *s,
                                          const struct tc__metric_use *use, struct tc_arena *arena)
{
    s->use = *use;
    s->arena = arena;
}

/*
 * One label. Value must be as it is meant (unescaped) and live as long as the event; empty
 * ones say nothing. False when nothing uses a label of that key.
 */
bool tc__metric_label(struct tc__metric_sample *s, struct tc_slice key, struct tc_slice value);

/* What a label of that key says; false: nothing uses it. */
bool tc__metric_label_field(struct tc_slice key, uint8_t *out_field);
/* A value in our unit by an enum tc__metric_value; false when there is none. */
bool tc__metric_value_of(uint8_t how, double scale, double *io_value);

/* The same in two steps, for callers that see the same keys again and again. */
struct tc__metric_label_row;
/* NULL when nothing uses a label of that key. */
const struct tc__metric_label_row *tc__metric_label_find(struct tc_slice key);
void tc__metric_label_set(struct tc__metric_sample *s, const struct tc__metric_label_row *row,
                          struct tc_slice value);

/* What the labels of a Node object say of where it stands; "" where nothing does. */
struct tc__node_place {
    struct tc_slice rack;
    struct tc_slice zone; /* or its region, where no zone is named */
    uint8_t rack_claim;
    uint8_t zone_claim;
};
/* One label, as in Kubernetes. All zero at first. */
void tc__node_place_label(struct tc__node_place *io, struct tc_slice key, struct tc_slice value);

/* The last key at each place among the labels: samples that follow each other mostly have the same
 * keys in the same order. All zero at first; the keys are borrowed from there on. */
#define TC__METRIC_PLACES 64
struct tc__metric_keys {
    struct {
        struct tc_slice key;
        const struct tc__metric_label_row *row;
    } last[TC__METRIC_PLACES];
};

/* tc__metric_label_find of a key that is at that place, below TC__METRIC_PLACES. */
static inline const struct tc__metric_label_row *
tc__metric_label_again(struct tc__metric_keys *keys, size_t place, struct tc_slice key)
{
    struct tc_slice last = keys->last[place].key;
    if (key.len != last.len || !tc_bytes_eq(key.ptr, last.ptr, key.len)) {
        keys->last[place].key = key;
        keys->last[place].row = tc__metric_label_find(key);
    }
    return keys->last[place].row;
}

enum tc__metric_verdict {
    TC__METRIC_READ,
    TC__METRIC_OTHER,      /* another series of a metric of which only one sort is read */
    TC__METRIC_NO_VALUE,   /* the producer says that it has no value: "not supported" */
    TC__METRIC_NOT_FINITE, /* NaN or infinite */
    TC__METRIC_NOMEM,      /* the arena is full */
};

/* Why a sample is not an event, for people; "" for TC__METRIC_READ. */
const char *tc__metric_why(enum tc__metric_verdict verdict);

/* Makes the event, of kind metric, but for time and raw; *out is untouched unless READ. */
enum tc__metric_verdict tc__metric_end(struct tc__metric_sample *s, double value,
                                       struct tc_event *out);

/* Whether a scope names a rank, and its pod or node. */
static inline bool tc__metric_has_place(const struct tc_scope *scope)
{
    return scope->rank >= 0 && (scope->pod.len > 0 || scope->node.len > 0);
}

/*
 * Where the labels say that a rank runs: true when they name a rank and its pod or node. *out
 * is a rank_place then, but for time and raw, with the scope of `metric`, which
 * tc__metric_end made.
 */
bool tc__metric_place(const struct tc_event *metric, struct tc_event *out);

#endif
