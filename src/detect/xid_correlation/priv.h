/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the xid_correlation detector: detector.c takes the events and keeps the pods,
 * xid.c keeps the Xids and finds the one behind the end of a pod, gpu.c knows which GPU sits
 * where and who uses it, pod.c decides what a pod event means, and report.c says what was found.
 */
#ifndef TC_DETECT_XID_CORRELATION_PRIV_H
#define TC_DETECT_XID_CORRELATION_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "detect/span_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_pod_priv.h"
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

/* How long after a container of a pod ran out of host memory the end of another is put down to
 * that: what depends on it dies within seconds, and what is then stopped has 30 s by default. */
#define XID_OOM_REACH_NS (30 * TC_SECOND)

/* Which Xid wins: NEVER is no Xid at all, KNOWN plus its severity one of the catalogue. */
enum { XID_RANK_NEVER = 0, XID_RANK_UNKNOWN = 1, XID_RANK_KNOWN = 2 };

enum xid_pod_meaning {
    XID_POD_NOTHING, /* says nothing about a GPU */
    XID_POD_PLANNED, /* someone asked the pod to stop; what ends after it ends by request */
    XID_POD_OOM,     /* a container ran out of host memory; what ends with it is no news */
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

/* The occurrences of one Xid of one GPU and process inside one step. */
struct xid_run {
    struct tc_window_head head;
    int64_t step;
    int64_t since_ns; /* told by a gauge that changed after this; TC_TIME_NONE of a line */
    int64_t code;
    int64_t pid;
    struct tc_bdf pci;
    bool fatal; /* the line itself says so */
    struct tc_slice node;
    struct tc_slice gpu_uuid;
    struct tc_slice process;
    struct tc_span span;
    int64_t counted_ns; /* the one that was counted last, and who told of it */
    uint32_t counted_source;
    bool bound;      /* that source had told of one less than a second before */
    int64_t at_once; /* how many it told of at counted_ns */
};

/* The Xid that the end of a pod is put down to. */
struct xid_join {
    int64_t time_ns;
    int64_t code;
    const struct tc_xid *xid; /* of the catalogue, or of the site's list; NULL: of neither */
    int64_t pid;
    int64_t xid_count; /* on the node, in the window before the pod event */
    struct tc_bdf pci;
    struct tc_slice gpu_uuid;
    struct tc_slice process;
    struct tc_raw raw;
    int64_t used_ns;        /* the pod is known to have used the GPU since; TC_TIME_NONE */
    struct tc_raw used_raw; /* what says so */
    int rank;               /* the higher, the more severe; see XID_RANK_* */
    bool tied;              /* to the pod, by its GPU or its process */
    bool by_use;            /* by nothing but that the pod used the GPU */
    bool gauged;            /* told by an exporter, not by the kernel */
};

/* A pod uses a GPU, as an exporter labels it. Invariant: first_ns <= last_ns. */
struct xid_use {
    struct tc_window_head head;
    struct tc_slice uuid;
    struct tc_slice ns;
    struct tc_slice name;
    int64_t first_ns;
    int64_t last_ns;
    struct tc_raw raw; /* of the first */
};

enum xid_usage {
    XID_USAGE_UNKNOWN,
    XID_USAGE_OWN,   /* the pod used the GPU */
    XID_USAGE_OTHER, /* others did, and the pod used another one */
};

/*
 * One affected pod. A change of its strings makes a new record: they cannot grow in
 * place. All else is written in place, so that what is told again and again costs nothing.
 * Invariants: anchor.time_ns <= last.time_ns, both TC_TIME_NONE while nothing but
 * a request to stop was seen; key is set from the first join on; without a node
 * there is no join.
 */
struct xid_pod {
    struct tc_window_head head;
    struct tc_slice node; /* "" not yet known */
    struct tc_slice ns;
    struct tc_slice name;
    struct tc_slice uid;
    struct tc_slice container;
    struct tc_slice gpu_uuid;
    struct tc_slice key;
    struct tc_bdf pci;
    int64_t pid;
    int64_t planned_ns;          /* when it was first asked to stop; TC_TIME_NONE */
    int64_t oom_ns;              /* when it last ran out of host memory; TC_TIME_NONE */
    struct xid_pod_event anchor; /* the event that is joined, or the first one */
    struct xid_pod_event last;
    struct xid_join join;
    unsigned revisions;
    bool without_gpu; /* it asks for none */
    bool gone;        /* a newer record took its place */
    bool incomplete;  /* Xids of the window were dropped or not looked at */
    bool recount;     /* waits for its Xids to be counted again */
    unsigned recounts;
};

struct xid_state {
    struct tc_detector_base base;
    int64_t window_ns; /* knob */
    int64_t slack_ns;  /* knob */
    struct tc_window xids;
    struct tc_window pods;
    struct tc_window places;
    struct tc_window uses;
    struct tc_window gauges;
    struct tc_waiting recounts; /* pods with more Xids than were told */
    int64_t newest_pod_ns;
    int64_t rewritten_ns; /* when a pod was last written anew in its old place */
};

_Static_assert(TC_WINDOW_IS_POD(struct xid_pod), "an xid_pod begins like a tc_window_pod");

/* A step is shorter than the window, so no run begins before a window and ends after it. */
#define XID_STEPS 16

static inline int64_t tc__xid_step_ns(const struct xid_state *st)
{
    return st->window_ns / XID_STEPS;
}

/* A number that is another for every PCI address. */
static inline uint64_t tc__xid_bdf_bits(struct tc_bdf b)
{
    return (uint64_t)b.known << 60 | (uint64_t)b.domain << 24 | (uint64_t)b.bus << 16 |
           (uint64_t)b.device << 8 | b.function;
}

/*
 * The last and the first moment on the node's clock that may be meant by the time of a pod event
 * and by the beginning of its window: Kubernetes cuts most times to whole seconds, kernel logs do
 * not, and their clocks may differ.
 */
static inline int64_t tc__xid_latest(const struct xid_state *st, int64_t time_ns)
{
    return (time_ns % TC_SECOND == 0 ? time_ns + TC_SECOND - 1 : time_ns) + st->slack_ns;
}

static inline int64_t tc__xid_earliest(const struct xid_state *st, int64_t time_ns)
{
    return time_ns - st->window_ns - st->slack_ns;
}

bool tc__xid_xids_init(struct xid_state *st);
/* How severe an Xid is: XID_RANK_*. */
int tc__xid_rank(const struct xid_state *st, const struct xid_run *run);
/*
 * Takes in an Xid: a run of one, whose strings are an event's. *out is the run it belongs
 * to, NULL when another source has told of it.
 */
TC_CHECKED tc_status tc__xid_note(struct xid_state *st, struct xid_run *run,
                                  const struct xid_run **out);
/*
 * Sets what ties a join to the pod as far as that is known now, and its UUID. False when the pod is
 * known to use another GPU.
 */
bool tc__xid_tie(const struct xid_state *st, const struct xid_pod *pod, struct xid_join *join);
/* The Xid that explains an event of the pod best. False when there is none. */
bool tc__xid_best_join(const struct xid_state *st, const struct xid_pod *pod, int64_t time_ns,
                       struct xid_join *out, bool *out_incomplete);

bool tc__xid_gpus_init(struct xid_state *st);
/*
 * Takes in which GPU sits at an address. *out_again when pods of the node are to be
 * looked at again for that.
 */
TC_CHECKED tc_status tc__xid_learn_place(struct xid_state *st, const struct tc_scope *scope,
                                         bool *out_again);
/* The UUID as given, or the one of the GPU known to sit there; "" when neither is known. */
struct tc_slice tc__xid_gpu_uuid(const struct xid_state *st, struct tc_slice node,
                                 struct tc_slice given, struct tc_bdf pci);
/* Both are known, and they are not the same. The UUID of a MIG slice is not that of its GPU. */
bool tc__xid_other_gpu(struct tc_slice a_uuid, struct tc_bdf a_pci, struct tc_slice b_uuid,
                       struct tc_bdf b_pci);

/*
 * Takes in that a pod uses a GPU. *out_new is the use that began, NULL when none did, and
 * *out_before the newest one of before.
 */
TC_CHECKED tc_status tc__xid_learn_use(struct xid_state *st, const struct tc_event *ev,
                                       const struct xid_use **out_new,
                                       const struct xid_use **out_before);
/* Whether the pod used a GPU at a time. *out is its use, NULL when it is not known. */
enum xid_usage tc__xid_usage(const struct xid_state *st, const struct xid_pod *pod,
                             struct tc_slice uuid, int64_t time_ns, const struct xid_use **out);
/*
 * Takes in a sample of the last Xid of a GPU, a gauge that never clears: only that it
 * became another says that something happened, after *out_since_ns.
 */
TC_CHECKED tc_status tc__xid_learn_gauge(struct xid_state *st, const struct tc_event *ev,
                                         bool *out_xid, int64_t *out_since_ns);

/*
 * What the event means. Unless that is nothing, *out is the pod as far as the
 * event tells, and borrows its strings.
 */
enum xid_pod_meaning tc__xid_pod_read(const struct tc_event *ev, struct xid_pod *out);
/* Adds what another event about the same pod tells. False when that is nothing. */
bool tc__xid_pod_merge(struct xid_pod *pod, const struct xid_pod *news);
/* False when the pod ended by request, or of host memory, or failed and has no GPU. */
bool tc__xid_pod_joinable(const struct xid_pod *pod, const struct xid_pod_event *e);
/* The more severe; among equals the one of the pod's own GPU; then what the kernel told; then the
 * later. */
bool tc__xid_join_better(const struct xid_join *a, const struct xid_join *b);
/* A better Xid than the one of before; after some revisions only one that is clearly better. */
bool tc__xid_join_improves(const struct xid_pod *pod, const struct xid_join *join);
/*
 * Sets the key, in arena: node, namespace, pod and uid; without a uid the time
 * tells two pods of one name apart. False when the arena is full.
 */
bool tc__xid_pod_key(struct xid_pod *pod, struct tc_arena *arena);

/*
 * Emits the finding of a joined pod. With `why`, a literal, takes back what was said about it:
 * resolves it, says once more what it was, as a warning of partial confidence, and why it does not
 * hold; `proof` is the pod event that shows it, NULL when that was none.
 */
TC_CHECKED tc_status tc__xid_report(const struct xid_pod *pod, struct tc_slice why,
                                    const struct xid_pod_event *proof, struct tc_arena *scratch,
                                    const struct tc_sink *out);

#endif
