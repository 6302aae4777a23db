/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of hbm_ecc share: the facts that can be seen of a GPU's memory,
 * and the incident they make up.
 */
#ifndef TC_DETECT_HBM_ECC_PRIV_H
#define TC_DETECT_HBM_ECC_PRIV_H

#include "base/arena.h"
#include "detect/counter_priv.h"
#include "detect/detector.h"
#include "detect/health_priv.h"
#include "detect/span_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "directory/directory.h"
#include "event/finding.h"

/* Ascending: the worst that was seen names the incident. */
enum ecc_kind {
    ECC_NONE,
    ECC_CORRECTED_STORM,
    ECC_REMAP_PENDING,
    ECC_CONTAINED,
    ECC_UNCORRECTABLE,
    ECC_UNCONTAINED,
    ECC_REMAP_FAILED,
};

/* X(NAME, Xid or 0, kind) */
#define ECC_FACT_MAP(X)                    \
    X(XID_48, 48, ECC_UNCORRECTABLE)       \
    X(XID_63, 63, ECC_REMAP_PENDING)       \
    X(XID_64, 64, ECC_REMAP_FAILED)        \
    X(XID_92, 92, ECC_CORRECTED_STORM)     \
    X(XID_94, 94, ECC_CONTAINED)           \
    X(XID_95, 95, ECC_UNCONTAINED)         \
    X(XID_140, 140, ECC_UNCORRECTABLE)     \
    X(XID_171, 171, ECC_UNCORRECTABLE)     \
    X(XID_172, 172, ECC_UNCORRECTABLE)     \
    X(UNCORRECTED, 0, ECC_UNCORRECTABLE)   \
    X(CORRECTED, 0, ECC_CORRECTED_STORM)   \
    X(ROWS, 0, ECC_REMAP_PENDING)          \
    X(ROW_PENDING, 0, ECC_REMAP_PENDING)   \
    X(PAGES_PENDING, 0, ECC_REMAP_PENDING) \
    X(ROW_FAILURE, 0, ECC_REMAP_FAILED)    \
    X(CUDA, 0, ECC_UNCORRECTABLE)

enum ecc_fact_name {
#define ECC_FACT_ENUM(name, xid, kind) ECC_##name,
    ECC_FACT_MAP(ECC_FACT_ENUM)
#undef ECC_FACT_ENUM
        ECC_FACTS
};

#define ECC_XIDS (ECC_XID_172 + 1)
#define ECC_UID_MAX 64
#define ECC_PROCESS_MAX 32

/* One sort of fact, every time it was seen. Seen when span.count > 0. */
struct ecc_fact {
    struct tc_span span;
    int64_t lines;   /* Xids that the kernel logged */
    int64_t gauged;  /* the same ones, as an exporter's last Xid told them */
    int64_t counted; /* the same ones, as an exporter counted them */
    double amount; /* errors or rows that the counter rose by; for CORRECTED the most in a window */
    double lifetime; /* the same errors by the counter of the board's life */
    int64_t pid;     /* of the first Xid, -1 unknown */
    uint8_t uid_len;
    uint8_t process_len;
    char uid[ECC_UID_MAX]; /* the producer's own, of the first */
    char process[ECC_PROCESS_MAX];
};

#define ECC_NO_NODE TC__NO_NODE

enum ecc_end { ECC_OPEN, ECC_BY_COUNTER, ECC_BY_PENDING, ECC_BY_FAILURE, ECC_BY_CALM };

/* One incident of one GPU. What it is called may be known better later: see the book. */
struct ecc_incident {
    struct tc_window_head head;
    struct tc_slice key;
    struct tc_slice node;
    struct tc_slice uuid;
    struct tc_slice ns; /* who used the GPU when it began */
    struct tc_slice pod;
    struct tc_slice container;
    struct tc_slice job;
    struct tc_bdf pci;
    int32_t index;
    int32_t rank;
    int64_t begun_ns; /* the time in its key */
    int64_t first_ns;
    int64_t last_ns;
    int64_t window_ns; /* of a storm, as the knob says */
    struct ecc_fact facts[ECC_FACTS];
    enum ecc_end end;
    int64_t end_ns;
    struct tc_raw end_raw;
    /* What was told last, so that only news is told. */
    enum ecc_kind told;
    uint32_t told_facts;
    uint32_t told_names;
    int64_t told_count;
    bool soon; /* waits in a queue */
    bool later;
    uint64_t renamed; /* the record that took its place; TC_RING_NONE */
};

/* Sums over a window are kept in so many parts of it. */
#define ECC_PARTS 32

/* Corrected errors of the last window, of a GPU that has any. Invariant: from_ns ascends. */
struct ecc_storm {
    struct tc_window_head head;
    size_t first;
    size_t count;
    struct ecc_part {
        int64_t from_ns; /* the sample before: all of the errors came after it */
        double errors;
        double lifetime; /* the same errors by the counter of the board's life */
    } parts[ECC_PARTS + 1];
};

/*
 * Adds a rise between two samples, and gives the errors that are known to lie in the window
 * before time_ns. Of a rise over more than a window, its share of one is taken.
 */
double tc__ecc_storm_add(struct ecc_storm *storm, int64_t window_ns, int64_t from_ns,
                         int64_t time_ns, double rise, bool lifetime);

/* The Xid of a fact, 0 when it is none. */
int32_t tc__ecc_xid(enum ecc_fact_name name);
enum ecc_kind tc__ecc_fact_kind(enum ecc_fact_name name);
/* How often an Xid was seen, by whoever saw most of them. */
int64_t tc__ecc_xid_count(const struct ecc_fact *fact);
/* Uncorrectable errors: what lines, exporters and counters tell are the same ones. */
int64_t tc__ecc_uncorrected(const struct ecc_incident *in);
/* The worst that was seen; so many uncorrectable errors are needed for that one. */
enum ecc_kind tc__ecc_kind(const struct ecc_incident *in, int64_t uncorrected_min);
/* False for the GPU of a process that met an error and does not say where. */
bool tc__ecc_is_named(const struct ecc_incident *in);
/* What the GPU is called: bits, to see whether more became known. With no more than its node it
 * has no name. */
#define ECC_NAMES_NODE 1U
uint32_t tc__ecc_names(const struct tc_gpu *gpu);

/* A gauge as it was last seen. */
struct ecc_gauge {
    double value;
    int64_t time_ns;
    bool known;
};

/* Errors since the driver began, errors of the board's life, and rows. */
enum {
    ECC_COUNT_CORRECTED,
    ECC_COUNT_CORRECTED_EVER,
    ECC_COUNT_UNCORRECTED,
    ECC_COUNT_UNCORRECTED_EVER,
    ECC_COUNT_ROWS_CORRECTED,
    ECC_COUNT_ROWS_UNCORRECTED,
    ECC_COUNTERS
};

/* Flags, the last Xid, and how many there were of each. */
enum {
    ECC_GAUGE_ROW_PENDING,
    ECC_GAUGE_PAGES_PENDING,
    ECC_GAUGE_ROW_FAILURE,
    ECC_GAUGE_XID_LAST,
    ECC_GAUGE_XID_COUNTS,
    ECC_GAUGES = ECC_GAUGE_XID_COUNTS + ECC_XIDS
};

/* What was last seen of a GPU. */
/*
 * The incident of a GPU as it was told last: one that made room for others goes on under its key,
 * so that nothing is opened twice.
 */
struct ecc_last {
    enum ecc_kind kind; /* ECC_NONE: none was told, or it is over */
    int64_t begun_ns;
    int64_t last_ns;
};

struct ecc_gpu {
    struct tc_window_head head;
    uint64_t id;
    bool taken_over; /* it turned out to be another one that is kept */
    uint64_t storm;
    uint64_t incident;
    struct ecc_last last;
    struct tc_counter counters[ECC_COUNTERS];
    struct ecc_gauge gauges[ECC_GAUGES];
};

struct ecc_state {
    struct tc_detector_base base;
    int64_t uncorrected; /* knobs */
    int64_t corrected;
    int64_t window_ns;
    int64_t apart_ns;
    struct tc_directory *directory;
    struct tc_window gpus;
    struct tc_window storms;
    struct tc_window incidents;
    int64_t seen_ns;    /* when a GPU with a name last had an error that ends work; TC_TIME_NONE */
    uint64_t seen_node; /* its node, as a hash */
    struct tc_waiting begun; /* incidents of now_ns: more may be said of their GPUs */
    struct tc_waiting soon;
    struct tc_waiting later;
};

/* One event, and the GPU it is about. */
struct ecc_news {
    const struct tc_event *ev;
    const struct tc_gpu *names;
    struct ecc_gpu *gpu;
};

/*
 * Another time of a fact, in the incident that is open or in a new one. The incident
 * goes to *out_in. NULL when scratch is full: see tc__ecc_no_room.
 */
struct ecc_fact *tc__ecc_note(struct ecc_state *st, const struct ecc_news *n,
                              enum ecc_fact_name name, struct ecc_incident **out_in);
/* Nothing was made: TC_OK where it was left out, and counted. */
static inline tc_status tc__ecc_no_room(const struct ecc_state *st)
{
    return tc_arena_ok(st->base.scratch) ? TC_OK : TC_E_NOMEM;
}
/* A fact was added: it is told soon, later or not yet. */
TC_CHECKED tc_status tc__ecc_announce(struct ecc_state *st, struct ecc_incident *in,
                                      enum ecc_fact_name name, const struct tc_sink *out);
/* False when the arena is full. */
bool tc__ecc_incidents_init(struct ecc_state *st);
/* What is kept under an id of the book; NULL when nothing is. */
struct ecc_gpu *tc__ecc_gpu(const struct ecc_state *st, uint64_t id);
/* The last incident of a GPU, NULL when there is none. */
struct ecc_incident *tc__ecc_incident_at(const struct ecc_state *st, const struct ecc_gpu *gpu);
/* The incident a fact of that time belongs to; NULL when there is none. */
struct ecc_incident *tc__ecc_open_incident(const struct ecc_state *st, const struct ecc_gpu *gpu,
                                           int64_t time_ns);
/* The GPU was reset, or calmed down: what that mends is over. */
TC_CHECKED tc_status tc__ecc_end(struct ecc_state *st, const struct ecc_news *n, enum ecc_end end,
                                 const struct tc_sink *out);
/* Time goes on: what was said of GPUs when their incidents began is all that names those. */
void tc__ecc_settle_names(struct ecc_state *st);
/* At the next tick. */
TC_CHECKED tc_status tc__ecc_tell_soon(struct ecc_state *st, struct ecc_incident *in,
                                       const struct tc_sink *out);
/* All that is due. */
TC_CHECKED tc_status tc__ecc_tell_due(struct ecc_state *st, int64_t now_ns,
                                      const struct tc_sink *out);

/* What an event says; each takes only events of its kind. */
enum ecc_fact_name tc__ecc_fact_of_xid(int64_t code); /* ECC_FACTS: not about memory */
TC_CHECKED tc_status tc__ecc_on_xid(struct ecc_state *st, const struct ecc_news *n,
                                    const struct tc_sink *out);
/* A process met an uncorrectable error. */
TC_CHECKED tc_status tc__ecc_on_cuda(struct ecc_state *st, const struct ecc_news *n,
                                     const struct tc_sink *out);
/* False for metrics that say nothing of memory. */
bool tc__ecc_wants_metric(const struct tc_ev_metric *m);
TC_CHECKED tc_status tc__ecc_on_metric(struct ecc_state *st, const struct ecc_news *n,
                                       const struct tc_sink *out);
bool tc__ecc_is_up(const struct ecc_gauge *flag);
/* False for findings that say nothing clear of memory. */
bool tc__ecc_wants_health(const struct tc_ev_health *h);
TC_CHECKED tc_status tc__ecc_on_health(struct ecc_state *st, const struct ecc_news *n,
                                       const struct tc_sink *out);

/* Says what is known. `scope` is the GPU, as complete as the book knows it. */
TC_CHECKED tc_status tc__ecc_report(const struct ecc_incident *in, enum ecc_kind kind,
                                    const struct tc_scope *scope, struct tc_arena *scratch,
                                    const struct tc_sink *out);

#endif
