/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the xid_correlation detector: detect_xid_correlation.c keeps the
 * windows and joins, xid_correlation_pod.c decides what a pod event means, and
 * xid_correlation_report.c says what was found.
 */
#ifndef TC_DETECT_XID_CORRELATION_PRIV_H
#define TC_DETECT_XID_CORRELATION_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "detect/window_priv.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the strings of a pod event that are quoted but name nothing. */
#define XID_REASON_MAX 64
#define XID_MESSAGE_MAX 160
/* How often a pod's verdict may change for an Xid that is merely later: a storm that comes late
 * must not become a storm of verdicts. */
#define XID_REVISIONS_MAX 16

/* Which Xid wins: NEVER is no Xid at all, KNOWN plus its severity one of the catalogue. */
enum { XID_RANK_NEVER = 0, XID_RANK_UNKNOWN = 1, XID_RANK_KNOWN = 2 };

enum xid_pod_meaning {
    XID_POD_NOTHING, /* says nothing about a GPU */
    XID_POD_PLANNED, /* someone asked the pod to stop; what ends after it ends by request */
    XID_POD_FAILED,  /* a container failed or was killed, or could not start */
    XID_POD_EVICTED, /* the node or the control plane threw the pod out */
};

/* One thing that happened to a pod. */
struct xid_pod_event {
    int64_t time_ns;
    int64_t count;     /* of a Kubernetes event that repeats */
    int64_t exit_code; /* -1 unknown */
    struct tc_slice uid;
    struct tc_slice reason;
    struct tc_slice message;
    struct tc_raw raw;
    enum tc_event_kind kind;
    bool evicted;  /* rather than failed */
    bool terminal; /* the pod will not run again, so that it is said again is no news */
};

/* The Xid that the end of a pod is put down to. */
struct xid_join {
    int64_t time_ns;
    int64_t code;
    int64_t pid;
    int64_t xid_count; /* on the node, in the window before the pod event */
    struct tc_bdf pci;
    struct tc_slice gpu_uuid;
    struct tc_slice process;
    struct tc_raw raw;
    int rank;  /* the higher, the more severe; see XID_RANK_* */
    bool tied; /* to the pod, by its GPU or its process */
};

/*
 * One affected pod. A change makes a new record: strings cannot grow in place.
 * Invariants: anchor.time_ns <= last.time_ns, both TC_TIME_NONE while nothing but
 * a request to stop was seen; key is set exactly when there is a join.
 */
struct xid_pod {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice name;
    struct tc_slice uid;
    struct tc_slice container;
    struct tc_slice gpu_uuid;
    struct tc_slice key;
    struct tc_bdf pci;
    int64_t pid;
    int64_t planned_ns;          /* when it was asked to stop; TC_TIME_NONE */
    struct xid_pod_event anchor; /* the event that is joined, or the first one */
    struct xid_pod_event last;
    struct xid_join join;
    unsigned revisions;
    bool gone;       /* a newer record took its place */
    bool incomplete; /* Xids of the window were dropped or not looked at */
};

/*
 * What the event means. Unless that is nothing, *out is the pod as far as the
 * event tells, and borrows its strings.
 */
enum xid_pod_meaning tc__xid_pod_read(const struct tc_event *ev, struct xid_pod *out);
/* Adds what another event about the same pod tells. False when that is nothing. */
bool tc__xid_pod_merge(struct xid_pod *pod, const struct xid_pod *news);
/*
 * Sets the key, in arena: node, namespace, pod and uid; without a uid the time
 * tells two pods of one name apart. False when the arena is full.
 */
bool tc__xid_pod_key(struct xid_pod *pod, struct tc_arena *arena);

/* Emits the finding of a joined pod. */
TC_CHECKED tc_status tc__xid_report(const struct xid_pod *pod, struct tc_arena *scratch,
                                    const struct tc_sink *out);

#endif
