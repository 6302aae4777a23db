/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of gpu_fault share: the facts that prove a fault of a GPU, the incident they make
 * up, and the scrapes of a node. docs/patterns/gpu_fault.md says which Xids are whose.
 */
#ifndef TC_DETECT_GPU_FAULT_PRIV_H
#define TC_DETECT_GPU_FAULT_PRIV_H

#include "detect/detector.h"
#include "detect/health_priv.h"
#include "detect/span_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "directory/directory.h"
#include "event/finding.h"
#include "event/xid.h"

/* Ascending: the gravest that was seen names the incident. */
enum gpuf_kind {
    GPUF_NONE,
    GPUF_OTHER_ERROR,
    GPUF_FIRMWARE_ERROR,
    GPUF_GONE,
    GPUF_NEEDS_RESET,
    GPUF_OTHER,
    GPUF_INIT_FAILED,
    GPUF_FIRMWARE,
    GPUF_OFF_THE_BUS,
};

/* What was seen. Xids of different codes are different sorts. */
enum gpuf_sort {
    GPUF_XID,
    GPUF_UNREACHABLE,
    GPUF_LOST,
    GPUF_INIT,
    GPUF_PROBE,
    GPUF_NO_HANDLE,
    GPUF_RESET,
    GPUF_POWER,
    GPUF_RESET_FAILED,
    GPUF_RAS,
    GPUF_ABSENT,
    GPUF_SORTS
};

/* What the driver asks for. */
enum gpuf_action { GPUF_NO_ACTION, GPUF_DO_RESET, GPUF_DO_DRAIN, GPUF_DO_REBOOT };

#define GPUF_UID_MAX 64
#define GPUF_PROCESS_MAX 32
#define GPUF_FACTS_MAX 8
#define GPUF_UUID_MAX 48

/* One sort of fact, every time it was seen. */
struct gpuf_fact {
    enum gpuf_sort sort;
    int32_t code; /* of an Xid, else 0 */
    enum gpuf_kind kind;
    enum gpuf_action action;
    struct tc_span span;
    int64_t times;      /* of those that are a second or more apart */
    int64_t pid;        /* of the first, -1 unknown */
    int64_t missed;     /* GPUF_ABSENT: scrapes */
    int64_t sampled_ns; /* GPUF_ABSENT: the last sample of the GPU */
    struct tc_raw sampled_raw;
    bool exported; /* told by an exporter, not by a line */
    uint8_t uid_len;
    uint8_t process_len;
    char uid[GPUF_UID_MAX]; /* the producer's own, of the first */
    char process[GPUF_PROCESS_MAX];
};

enum gpuf_end { GPUF_OPEN, GPUF_ANSWERED, GPUF_ACTION_NONE, GPUF_WAS_RESET, GPUF_RETURNED };

/* One incident of one GPU. Invariant: fact_count > 0. */
struct gpuf_incident {
    struct tc_window_head head;
    struct tc_slice key;
    struct tc_slice node;
    struct tc_slice uuid;
    struct tc_slice ns; /* who used the GPU when it began */
    struct tc_slice pod;
    struct tc_slice container;
    struct tc_slice job;
    uint64_t gpu; /* the directory's id */
    struct tc_bdf pci;
    int32_t index;
    int32_t rank;
    int64_t first_ns;
    int64_t last_ns;
    struct gpuf_fact facts[GPUF_FACTS_MAX];
    size_t fact_count;
    enum gpuf_end end;
    int64_t end_ns;
    struct tc_raw end_raw;
    int64_t load_ns; /* GPUF_ANSWERED: when the driver was loaded */
    struct tc_raw load_raw;
    enum gpuf_kind told; /* GPUF_NONE: not yet */
    uint32_t told_names;
    unsigned told_others; /* GPUs of the node that broke with it */
    bool begins;          /* waits for the names of its instant */
    bool soon;
    bool later;
};

/* What was last seen of a GPU with a fact, or that may have one. */
struct gpuf_gpu {
    struct tc_window_head head;
    uint64_t id;
    uint64_t incident;
    int64_t owned_ns; /* when another pattern's Xid or flag was seen; TC_TIME_NONE */
    double xid_last;
    int64_t xid_last_ns; /* TC_TIME_NONE: no sample yet */
    int64_t suspect_ns;  /* since when Xids of applications follow it; TC_TIME_NONE: they do not */
    uint8_t suspect_len;
    char suspect[GPUF_UUID_MAX]; /* what it was called then */
    bool taken_over;             /* it turned out to be another one that is kept */
};

/* A pod of a job was hit by an Xid of an application on a GPU: the first time. */
struct gpuf_strike {
    struct tc_window_head head;
    uint64_t gpu;
    struct tc_slice job;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice node;
    struct tc_slice uuid;
    struct tc_bdf pci;
    int32_t index;
    int32_t unit; /* GPC * 256 + TPC; negative: not known, or several */
    int64_t code;
    int64_t time_ns;
    struct tc_raw raw;
};

/* A job that was hit: on which GPU first, and whether on another too. */
struct gpuf_job {
    struct tc_window_head head;
    struct tc_slice name;
    uint64_t gpu;
    bool elsewhere;
};

#define GPUF_SLOTS_MAX 32

/* A GPU in the scrapes of its node. */
struct gpuf_slot {
    uint64_t gpu;
    int64_t first_ns;
    int64_t last_ns;
    int64_t interval_ns; /* between its last two scrapes; 0 unknown */
    struct tc_raw last_raw;
    uint32_t companions; /* the others of its last scrape */
    int64_t missed;      /* scrapes since */
    int64_t missed_ns;   /* the first of them */
    struct tc_raw missed_raw;
    struct tc_bdf pci;
    int32_t index;
    uint8_t uuid_len;
    bool told;
    bool listed;   /* its last scrape was a list of all GPUs */
    bool released; /* another driver has it */
    char uuid[GPUF_UUID_MAX];
};

/* Invariant: the bits of present are below slot_count. */
struct gpuf_node {
    struct tc_window_head head;
    struct tc_slice node;
    int64_t load_ns; /* the driver was loaded, or the node booted; TC_TIME_NONE */
    struct tc_raw load_raw;
    int64_t scrape_ns; /* the scrape that is being read began; TC_TIME_NONE */
    struct tc_raw scrape_raw;
    int64_t listed_count; /* the scrape is a list of all GPUs, that has so many; 0: it is none, 1:
                             not said */
    uint32_t present;
    size_t slot_count;
    struct gpuf_slot slots[GPUF_SLOTS_MAX];
};

#define GPUF_RECENT_MAX 16

struct gpuf_state {
    struct tc_detector_base base;
    int64_t scrapes; /* knobs */
    int64_t absent_ns;
    int64_t apart_ns;
    int64_t follows;
    int64_t follows_ns;
    struct tc_directory *directory;
    struct tc_window gpus;
    struct tc_window incidents;
    struct tc_window nodes;
    struct tc_window strikes;
    struct tc_window jobs;
    struct tc_waiting begun;
    struct tc_waiting soon;
    struct tc_waiting later;
    /* The incidents that began last, for what one of them says of another. */
    uint64_t recent[GPUF_RECENT_MAX];
    size_t recent_count; /* of all; the next one goes to this modulo GPUF_RECENT_MAX */
};

/* A fact of an event, and the GPU it is about. */
struct gpuf_news {
    const struct tc_gpu *names;
    struct gpuf_gpu *gpu;
    int64_t time_ns;
    struct tc_raw raw;
    const struct gpuf_fact *fact; /* its span is set when it is noted */
};

/* facts.c */
/* What an Xid proves; GPUF_NONE when it is not ours. 154 has its own. */
enum gpuf_kind tc__gpuf_xid_kind(const struct tc_xid_list *xids, int64_t code);
/* Another pattern is about it. */
bool tc__gpuf_is_owned(int64_t code);
/* What the text of Xid 154 asks for; false when it says nothing that counts. */
bool tc__gpuf_recovery(struct tc_slice message, enum gpuf_action *out);
/* The fact of an event, without names and span; false when it proves nothing. */
bool tc__gpuf_fact_of(const struct tc_xid_list *xids, const struct tc_event *ev,
                      struct gpuf_fact *out);
enum gpuf_kind tc__gpuf_sort_kind(enum gpuf_sort sort);
/* The order of facts: graver ones first, then by sort and code. */
bool tc__gpuf_graver(const struct gpuf_fact *a, const struct gpuf_fact *b);
/* The gravest one. */
const struct gpuf_fact *tc__gpuf_gravest(const struct gpuf_incident *in);

/* incident.c */
bool tc__gpuf_incidents_init(struct gpuf_state *st);
struct gpuf_gpu *tc__gpuf_known(const struct gpuf_state *st, const struct tc_gpu *names);
/* The same, made when there is none. NULL when scratch is full. */
struct gpuf_gpu *tc__gpuf_gpu(struct gpuf_state *st, const struct tc_gpu *names);
struct gpuf_incident *tc__gpuf_incident_of(const struct gpuf_state *st, const struct gpuf_gpu *gpu);
/* What the GPU is called: bits, to see whether more became known. */
uint32_t tc__gpuf_names(const struct tc_gpu *gpu);
TC_CHECKED tc_status tc__gpuf_note(struct gpuf_state *st, const struct gpuf_news *n,
                                   const struct tc_sink *out);
TC_CHECKED tc_status tc__gpuf_end(struct gpuf_state *st, struct gpuf_incident *in,
                                  enum gpuf_end end, const struct tc_event *ev,
                                  const struct tc_sink *out);
TC_CHECKED tc_status tc__gpuf_tell_soon(struct gpuf_state *st, struct gpuf_incident *in,
                                        const struct tc_sink *out);
/* All of the time before now_ns has come: names settle, and what is due is told. */
TC_CHECKED tc_status tc__gpuf_tell_due(struct gpuf_state *st, int64_t now_ns,
                                       const struct tc_sink *out);

/* scrape.c */
bool tc__gpuf_nodes_init(struct gpuf_state *st);
/* The driver of a node was loaded, or it booted. */
TC_CHECKED tc_status tc__gpuf_on_load(struct gpuf_state *st, const struct tc_event *ev);
/* A sample of a GPU that answers. */
TC_CHECKED tc_status tc__gpuf_on_sample(struct gpuf_state *st, const struct tc_event *ev,
                                        const struct tc_gpu *names, const struct tc_sink *out);
/* Another driver has the GPU. */
void tc__gpuf_on_release(const struct gpuf_state *st, const struct tc_gpu *names);
/* The scrapes that are being read are whole. */
TC_CHECKED tc_status tc__gpuf_end_scrapes(struct gpuf_state *st, const struct tc_sink *out);

/* suspect.c */
bool tc__gpuf_suspects_init(struct gpuf_state *st);
/* An Xid that applications bring about, and hardware seldom. */
bool tc__gpuf_is_application(const struct tc_xid_list *xids, int64_t code);
/* Such an Xid of a GPU. */
TC_CHECKED tc_status tc__gpuf_strike(struct gpuf_state *st, const struct tc_event *ev,
                                     const struct tc_gpu *names, struct gpuf_gpu *gpu,
                                     const struct tc_sink *out);

/* join.c: tellings of one GPU under different names. */
/* Notes that an incident began. */
void tc__gpuf_join_begin(struct gpuf_state *st, const struct gpuf_incident *in);
/* An incident has another place in its window. */
void tc__gpuf_join_move(struct gpuf_state *st, uint64_t from, uint64_t to);
/*
 * An Xid that one source tells with the UUID of the GPU and another with its address is one Xid:
 * the directory learns that. The GPU as it is known then; `names` when there is nothing to join.
 */
const struct tc_gpu *tc__gpuf_join_xid(struct gpuf_state *st, const struct tc_event *ev,
                                       const struct tc_gpu *names);
/* The same for a GPU that is gone from a list in which another line gives an address no handle. */
const struct tc_gpu *tc__gpuf_join_gone(struct gpuf_state *st, const struct gpuf_slot *slot,
                                        const struct tc_gpu *names);
/* How many other GPUs of the node broke in the same way within moments of this one. */
unsigned tc__gpuf_join_others(const struct gpuf_state *st, const struct gpuf_incident *in);

/* report.c: says what is known. `scope` is the GPU, as complete as the directory knows it. */
TC_CHECKED tc_status tc__gpuf_report(const struct gpuf_state *st, const struct gpuf_incident *in,
                                     const struct tc_scope *scope, const struct tc_sink *out);

#endif
