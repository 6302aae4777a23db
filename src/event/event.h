/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared noun: an event is one fact, at one time, about one scope, with the
 * bytes that prove it. Codecs make events, the engine orders them, detectors
 * read them. Strings are slices of the input (or of the batch arena): whoever
 * keeps an event longer than the batch copies what it needs.
 *
 * A new kind is a line in TC_EVENT_KIND_MAP, a payload (or an existing one) and
 * its fields in fields.c; the NDJSON form and its documentation follow.
 */
#ifndef TC_EVENT_EVENT_H
#define TC_EVENT_EVENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"
#include "base/time.h"
#include "event/metric.h"

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, "name in NDJSON", payload member) */
#define TC_EVENT_KIND_MAP(X)                                                                       \
    X(NCCL_RECORD, "nccl_record", nccl)        /* one rank's view of one collective or p2p op */   \
    X(NCCL_GROUP, "nccl_group", group)         /* a process group and its members */               \
    X(NCCL_STATUS, "nccl_status", status)      /* how far one rank got in one process group */     \
    X(NCCL_DUMP, "nccl_dump", dump)            /* a rank left a dump, readable or not */           \
    X(XID, "xid", xid)                         /* NVIDIA driver error, by number */                \
    X(SXID, "sxid", xid)                       /* NVSwitch error, by number */                     \
    X(AER, "aer", aer)                         /* PCIe advanced error report */                    \
    X(PCIE_LINK, "pcie_link", aer)             /* link runs below what the device can do */        \
    X(GPU_INVENTORY, "gpu_inventory", fault)   /* which GPU UUID sits at which PCI address */      \
    X(OOM_KILL, "oom_kill", oom)               /* the kernel killed a process for memory */        \
    X(MEMORY_ERROR, "memory_error", fault)     /* host DRAM: EDAC, GHES, machine check */          \
    X(STORAGE_ERROR, "storage_error", fault)   /* disk, RAID, file system, NFS */                  \
    X(NETWORK_FAULT, "network_fault", fault)   /* NIC or InfiniBand port */                        \
    X(STUCK_TASK, "stuck_task", fault)         /* hung task, soft lockup */                        \
    X(PROCESS_FAULT, "process_fault", fault)   /* a process crashed */                             \
    X(DRIVER_FAULT, "driver_fault", fault)     /* GPU driver trouble without an Xid */             \
    X(K8S_EVENT, "k8s_event", k8s)             /* a Kubernetes Event */                            \
    X(POD_STATE, "pod_state", pod)             /* a pod's status: runs, failed, evicted, done */   \
    X(NODE_CONDITION, "node_condition", k8s)   /* a node condition changed */                      \
    X(METRIC, "metric", metric)                /* one sample of a known metric */                  \
    X(RANK_PLACE, "rank_place", place)         /* which node, GPU and pod a rank runs on */        \
    X(NCCL_RAS, "nccl_ras", ras)               /* NCCL's own view of one rank of a communicator */ \
    X(TRAIN_STEP, "train_step", train)         /* a training step ended */                         \
    X(TRAIN_STALL, "train_stall", train)       /* a watchdog says that no step ends */             \
    X(LOADER_ERROR, "dataloader_error", train) /* the data loader of a rank failed */              \
    X(CHECKPOINT, "checkpoint", train)         /* a checkpoint began, ended or failed */           \
    X(ADDRESS, "address", address)             /* what a node or a pod is called on the network */ \
    X(RANK_EXIT, "rank_exit", exit)            /* a process of a training job ended badly */       \
    X(GPU_HEALTH, "gpu_health", health)        /* what DCGM or the driver diagnoses of a GPU */    \
    X(SOURCE_STATE, "source_state", source)    /* a source of a daemon fails, or works again */

enum tc_event_kind {
#define TC_EVENT_KIND_ENUM(name, text, payload) TC_EVENT_##name,
    TC_EVENT_KIND_MAP(TC_EVENT_KIND_ENUM)
#undef TC_EVENT_KIND_ENUM
        TC_EVENT_KIND_COUNT
};

#define TC_EVENT_BIT(kind) (UINT32_C(1) << (kind))

/* Whose clock dates events of a kind. */
enum tc_event_clock {
    TC_CLOCK_OF_NODE,       /* the node that they are about: its logs, its dumps */
    TC_CLOCK_OF_KUBERNETES, /* the API server */
    TC_CLOCK_OF_MONITOR,    /* who scrapes, or nobody's: where ranks run */
};
enum tc_event_clock tc_event_clock(enum tc_event_kind kind);

/* The kind's name in NDJSON. */
struct tc_slice tc_event_kind_name(enum tc_event_kind kind);
/* False when no kind has that name. */
bool tc_event_kind_parse(struct tc_slice name, enum tc_event_kind *out);

/* A PCI address; absent when `known` is false. A missing function is 0. */
struct tc_bdf {
    uint32_t domain; /* over 16 bits behind Intel's VMD and on ARM servers */
    uint8_t bus;
    uint8_t device;
    uint8_t function;
    bool known;
};

/* "[domain:]bus:device[.function]" at the start of s: bytes used, 0 when it is none. */
size_t tc_bdf_parse(struct tc_slice s, struct tc_bdf *out);
/* "0000:b3:00.0" */
void tc_buf_bdf(struct tc_buf *b, struct tc_bdf bdf);
/* 36 characters, hex in groups, as in the name of a GPU behind "GPU-". */
bool tc_is_uuid(struct tc_slice s);

bool tc_bdf_eq(struct tc_bdf a, struct tc_bdf b);

/* Where the proving bytes are: source is an index in the run's tc_source table. */
struct tc_raw {
    uint32_t source;
    uint32_t length;
    uint64_t offset;
};

#define TC_SOURCE_NONE UINT32_MAX

enum tc_nccl_state { TC_NCCL_SCHEDULED, TC_NCCL_STARTED, TC_NCCL_COMPLETED };

struct tc_ev_nccl {
    struct tc_slice group;      /* process group name */
    struct tc_slice group_desc; /* "" when unknown */
    struct tc_slice op;         /* "all_reduce", "send 0->3": without the backend prefix */
    struct tc_slice sizes_in;   /* "[[4096, 1, 5120]]", as text */
    struct tc_slice sizes_out;
    struct tc_slice dtypes_in; /* "[BFloat16]" */
    struct tc_slice dtypes_out;
    uint64_t group_key; /* names the group across ranks; see tc_nccl_group_key */
    int64_t seq;        /* collective_seq_id, or p2p_seq_id when is_p2p */
    int64_t record_id;  /* order of issue on this rank */
    int64_t pg_id;      /* process-local id of the group, -1 unknown */
    int64_t started_ns; /* TC_TIME_NONE when not seen */
    int64_t completed_ns;
    int64_t timeout_ms; /* 0 unknown */
    int32_t peer;       /* global rank at the other end of a p2p op, -1 unknown */
    uint8_t state;      /* enum tc_nccl_state */
    bool is_p2p;
    bool is_send;   /* p2p only */
    bool from_dump; /* a dump has no "now": see docs/patterns/nccl_hang.md */
    bool retired;
    bool timed_out; /* the watchdog of the rank says so */
};

struct tc_ev_group {
    struct tc_slice group;
    struct tc_slice group_desc;
    struct tc_slice ranks; /* "[0, 2, 4]", global ranks, as text */
    uint64_t group_key;
};

struct tc_ev_status {
    struct tc_slice group; /* "" when the dump does not say */
    uint64_t group_key;    /* 0 when the dump does not say */
    int64_t pg_id;
    int64_t enqueued; /* last sequence id, -1 none */
    int64_t started;
    int64_t completed;
};

struct tc_ev_dump {
    struct tc_slice version; /* of the dump format */
    struct tc_slice library; /* of NCCL or its replacement */
    struct tc_slice error;   /* why it is unreadable; "" when it is fine */
    int64_t entries;
};

struct tc_ev_xid {
    struct tc_slice message;  /* what follows the code */
    struct tc_slice process;  /* "" unknown */
    struct tc_slice unit;     /* NVLink5 unit, "NETIR_LINK_EVT" */
    struct tc_slice severity; /* "fatal", "nonfatal" or "" as the line says */
    int64_t code;
    int64_t link;     /* NVLink or switch link, -1 none */
    int64_t subcode;  /* NVLink5: (intrinfo >> 20) & 0x3f, -1 none */
    int64_t intrinfo; /* first register, -1 none */
};

struct tc_ev_aer {
    struct tc_slice severity;  /* "corrected", "nonfatal", "fatal" */
    struct tc_slice layer;     /* "physical", "data_link", "transaction" or "" */
    struct tc_slice errors;    /* names of the status bits, comma-separated */
    struct tc_slice device_id; /* "8086:6f04" or "" */
    struct tc_bdf reporter;    /* the port that logged it */
    int64_t status;            /* -1 unknown */
    int64_t mask;
    int64_t count;    /* errors this event stands for */
    double speed_gts; /* PCIE_LINK: now, and what it could be; 0 unknown */
    double speed_gts_max;
    int64_t width;
    int64_t width_max;
};

struct tc_ev_fault {
    struct tc_slice fault;  /* which one: "io_error", "nfs_not_responding", "edac_ce" ... */
    struct tc_slice device; /* disk, DIMM, port, server */
    struct tc_slice process;
    struct tc_slice message;
    int64_t count;
    int64_t seconds; /* how long it was stuck, -1 unknown */
    int64_t status;  /* NETWORK_FAULT: of an InfiniBand completion; 0 unknown */
};

struct tc_ev_oom {
    struct tc_slice process;
    struct tc_slice constraint; /* "CONSTRAINT_MEMCG" or "" */
    struct tc_slice cgroup;
    struct tc_slice container_id;
    struct tc_slice message;
    int64_t anon_rss_kb; /* -1 unknown */
};

struct tc_ev_k8s {
    struct tc_slice reason;
    struct tc_slice type;   /* event: "Normal", "Warning"; condition: "MemoryPressure" */
    struct tc_slice status; /* condition: "True", "False", "Unknown" */
    struct tc_slice message;
    struct tc_slice object_kind; /* what the event is about: "Pod", "Node" */
    struct tc_slice object_name;
    struct tc_slice object_uid;
    struct tc_slice component; /* who reported it */
    struct tc_slice rack;      /* condition: of the node, where a label says so */
    struct tc_slice zone;      /* the same */
    int64_t count;
    int64_t first_ns; /* when a repeated event was first seen; TC_TIME_NONE */
};

struct tc_ev_pod {
    struct tc_slice phase;  /* "Failed", "Running" ... */
    struct tc_slice reason; /* "Evicted", or the container's "OOMKilled", "Error" */
    struct tc_slice message;
    int64_t exit_code; /* -1 unknown */
    int64_t signal;    /* 0 none */
    int64_t gpus;      /* that the pod asks for, -1 unknown */
};

struct tc_ev_metric {
    struct tc_slice device; /* port, link, interface, mount or target; "" for the GPU itself */
    struct tc_slice rack;   /* of the node, where a label says so */
    struct tc_slice zone;   /* the same */
    double value;           /* in the unit of metric.def; never NaN or infinite */
    uint16_t metric;        /* enum tc_metric */
};

struct tc_ev_place {
    struct tc_slice origin; /* who says so: "map", "ncclras", "pod" ... */
    int64_t world_size;     /* -1 unknown */
};

struct tc_ev_address {
    struct tc_slice address; /* IP address or host name, as its users write it */
};

struct tc_ev_ras {
    struct tc_slice comm;   /* the communicator's hash */
    struct tc_slice status; /* "running", "missing", "dead" ... as normalised by the codec */
    int64_t comm_rank;      /* rank inside the communicator; scope.rank when that is all ranks */
    int64_t comm_size;
    int64_t ops; /* collectives issued so far, -1 unknown */
};

struct tc_ev_train {
    struct tc_slice phase;       /* "train", "eval", "warmup"; "" unknown */
    struct tc_slice state;       /* CHECKPOINT: "begin", "end", "failed" */
    struct tc_slice error_class; /* LOADER_ERROR: "worker_killed", "timeout" ... */
    struct tc_slice path;        /* CHECKPOINT: where it is written */
    struct tc_slice message;
    double seconds; /* TRAIN_STEP: how long it took; TRAIN_STALL: without progress; 0 unknown */
    int64_t step;   /* -1 unknown */
};

struct tc_ev_exit {
    struct tc_slice error; /* class of the last exception: "RuntimeError"; "" unknown */
    struct tc_slice message;
    struct tc_slice told_by; /* "traceback", "process", "launcher", "shell", "step", "job"; "" */
    /* "first": the launcher saw it fail first; "last": nothing but the end follows in its log;
     * "caught": the program went on; "stopped": somebody ended the job on purpose; "" */
    struct tc_slice role;
    int64_t exit_code;  /* -1 unknown */
    int64_t signal;     /* 0 none */
    int64_t local_rank; /* on its node, -1 unknown */
};

struct tc_ev_health {
    struct tc_slice system; /* "thermal", "memory", "nvlink", "pcie", "power", "driver", "other" */
    struct tc_slice severity; /* "warning", "failure" */
    struct tc_slice message;
};

struct tc_ev_source {
    struct tc_slice source; /* "scrape" */
    struct tc_slice state;  /* "failing", "ok" */
    struct tc_slice message;
    int64_t since_ns; /* when it began to fail, or to work */
};

/* Zero means "not known" for slices; rank, pid and gpu_index are -1 then. */
struct tc_scope {
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice pod_uid;
    struct tc_slice container;
    struct tc_slice job;
    struct tc_slice gpu_uuid;
    struct tc_bdf pci;
    int32_t rank;
    int32_t gpu_index; /* on the node, as the driver counts */
    int64_t pid;
};

/* A name in a scope. Kubernetes ends names at 253 bytes; an event with a longer one is no
 * event of a cluster, and cutting it could make two objects one. */
#define TC_SCOPE_TEXT_MAX 256

/* Nothing known. */
#define TC_SCOPE_NONE ((struct tc_scope){.rank = -1, .gpu_index = -1, .pid = -1})

struct tc_event {
    int64_t time_ns;   /* TC_TIME_NONE: no date is known */
    int64_t uptime_ns; /* since boot, where the line has only that; TC_TIME_NONE otherwise */
    enum tc_event_kind kind;
    /* Who sent it, as far as the daemon can tell: a small number, 0 where nobody asks. Memory is
     * shared among senders; it says nothing about what happened. */
    uint32_t sender;
    struct tc_raw raw;
    struct tc_slice uid; /* the producer's own id, "" when it has none */
    /* The run that it names, "" when it names none. For the warehouse; detectors do not read it. */
    struct tc_slice run_id;
    struct tc_scope scope;
    union {
        struct tc_ev_nccl nccl;
        struct tc_ev_group group;
        struct tc_ev_status status;
        struct tc_ev_dump dump;
        struct tc_ev_xid xid;
        struct tc_ev_aer aer;
        struct tc_ev_fault fault;
        struct tc_ev_oom oom;
        struct tc_ev_k8s k8s;
        struct tc_ev_pod pod;
        struct tc_ev_metric metric;
        struct tc_ev_place place;
        struct tc_ev_ras ras;
        struct tc_ev_train train;
        struct tc_ev_address address;
        struct tc_ev_exit exit;
        struct tc_ev_health health;
        struct tc_ev_source source;
    };
};

/* Every field "not known", of that kind. */
void tc_event_init(struct tc_event *ev, enum tc_event_kind kind);

/*
 * The order of events: time first, then the bytes of everything else, so that
 * equal-time events sort the same way whatever order they arrived in. Where the
 * evidence lies (raw) does not count. <0, 0, >0.
 */
int tc_event_cmp(const struct tc_event *a, const struct tc_event *b);

/* The same, and of two reports of one fact the one in the earlier source, then place. */
int tc_event_order(const struct tc_event *a, const struct tc_event *b);

/*
 * The identity of a process group across ranks. Two groups may share a name
 * with other members, so the member list is part of it; `ranks` may be empty.
 */
uint64_t tc_nccl_group_key(struct tc_slice job, struct tc_slice name, struct tc_slice ranks);

/*
 * The members in a list like "[0, 2, 4]" (brackets and spaces optional): call
 * with *io_at 0 until it returns false. Stops at anything that is not a rank.
 */
bool tc_rank_list_next(struct tc_slice ranks, size_t *io_at, int32_t *out_rank);

#endif
