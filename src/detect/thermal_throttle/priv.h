/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of thermal_throttle share: what is seen of a GPU that is slowed,
 * and the group of GPUs that are slowed at once, which is what a verdict is about.
 */
#ifndef TC_DETECT_THERMAL_THROTTLE_PRIV_H
#define TC_DETECT_THERMAL_THROTTLE_PRIV_H

#include "base/arena.h"
#include "detect/counter_priv.h"
#include "detect/span_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "directory/directory.h"
#include "event/finding.h"

/* Ascending: of several that last, the last of these is told. */
enum heat_kind { HEAT_SW_THERMAL, HEAT_HW_SLOWDOWN, HEAT_POWER_BRAKE, HEAT_HW_THERMAL, HEAT_KINDS };

enum heat_level { HEAT_GPU, HEAT_NODE, HEAT_RACK };

/* A temperature, the highest while the GPU was slowed. */
struct heat_peak {
    double celsius;
    int64_t time_ns;
    struct tc_raw raw;
    bool known;
};

enum { HEAT_CORE, HEAT_MEMORY, HEAT_SENSORS };

/* A rack with a longer name is not told by producers that give each reason on its own. */
#define HEAT_RACK_MAX 64

/* Reasons that come one by one, until time moves on: their sum is one sample. */
struct heat_parts {
    int64_t time_ns;
    struct tc_raw raw; /* of a reason that holds, where one does */
    uint32_t bits;
    uint8_t rack_len;
    bool pending;
    char rack[HEAT_RACK_MAX];
};

/* What is known of one GPU. Runs have a count of 0 when they do not go on. */
struct heat_gpu {
    struct tc_window_head head;
    uint64_t id;
    struct tc_slice node;
    struct tc_slice uuid;
    struct tc_bdf pci;
    int32_t index;
    int64_t sampled_ns; /* the last sample of reasons; TC_TIME_NONE when there is none */
    int64_t whole_ns;   /* the last of them with all reasons at once */
    int64_t clear_ns;   /* nothing slows it since then; TC_TIME_NONE when something does */
    struct heat_parts parts;
    struct tc_span runs[HEAT_KINDS];
    struct tc_span heat;    /* hardware or software for heat, in turns too */
    int64_t heat_hw_count;  /* of its samples, those with the hardware's */
    struct tc_span counted; /* by the counter of time slowed */
    struct tc_counter violation;
    struct tc_raw violation_raw; /* of its last sample */
    struct heat_peak now[HEAT_SENSORS];
    struct heat_peak peak[HEAT_SENSORS];
    int64_t peaks_ns; /* the peaks count from then on */
    bool slowed;      /* by the last sample */
    bool hot;         /* for long enough, and not clear for long enough */
    /* The episode, while it is a member of a group. */
    uint64_t group;
    uint64_t serial;  /* of the incident of the group */
    int64_t alone_ns; /* in the key of what was told of its node alone; TC_TIME_NONE: nothing was */
    enum heat_kind kind;
    bool by_counter;  /* known by the counter only, or by what DCGM says */
    bool by_health;   /* by what DCGM says */
    uint64_t reasons; /* bits of the sample that made it last */
    struct tc_span episode;
    int64_t cleared_ns;
    struct tc_raw cleared_raw;
};

#define HEAT_MEMBERS_MAX 128

/*
 * GPUs of one rack, of one node, or one GPU. Those of a rack are told node by node, each its own
 * incident, until they are hot together; from then on they are the rack's, and that is one incident
 * which goes on under the name of the node that was told of first.
 */
struct heat_group {
    struct tc_window_head head;
    struct tc_slice name;
    struct tc_slice rack; /* "" unknown */
    uint64_t serial;      /* of the incident; 0 when none is open */
    int64_t key_ns;
    int64_t last_ns;   /* something was heard of it */
    size_t hot_count;  /* members that are slowed now */
    size_t more_count; /* members that found no place in the list */
    size_t member_count;
    uint64_t members[HEAT_MEMBERS_MAX];
    uint64_t
        lead;     /* of a rack: the GPU whose node gave it its name; TC_RING_NONE: it has its own */
    bool is_rack; /* hot together */
    bool told;
    bool waits; /* in a queue */
};

struct heat_state {
    struct tc_detector_base base;
    int64_t sustained_ns; /* knobs */
    int64_t gap_ns;
    int64_t clear_ns;
    int64_t grace_ns;
    int64_t gpus;
    struct tc_directory *directory;
    struct tc_window gpus_window;
    struct tc_window groups;
    struct tc_window racks;  /* of nodes, as their objects say */
    struct tc_waiting queue; /* of groups */
    uint64_t last_serial;
};

/* Groups, and the racks of nodes. */
bool tc__heat_groups_init(struct heat_state *st);
/* Takes in which rack a node stands in. */
TC_CHECKED tc_status tc__heat_learn_rack(struct heat_state *st, const struct tc_event *ev);
/* The GPU is slowed for long enough: it becomes a member of its group. */
TC_CHECKED tc_status tc__heat_join(struct heat_state *st, struct heat_gpu *gpu,
                                   struct tc_slice rack, const struct tc_sink *out);
/* False when the incident it was a member of is forgotten: it has to join anew. */
bool tc__heat_is_member(const struct heat_state *st, const struct heat_gpu *gpu);
/* It is still slowed, and perhaps worse than before. */
TC_CHECKED tc_status tc__heat_stay(struct heat_state *st, const struct heat_gpu *gpu, bool worse,
                                   const struct tc_sink *out);
/* It is clear for long enough. */
TC_CHECKED tc_status tc__heat_leave(struct heat_state *st, struct heat_gpu *gpu,
                                    const struct tc_sink *out);
/* Tells of all groups whose time has come. */
TC_CHECKED tc_status tc__heat_tell_due(struct heat_state *st, int64_t now_ns,
                                       const struct tc_sink *out);

/* The input ends: tells of all that is open, as it is now. */
TC_CHECKED tc_status tc__heat_tell_all(struct heat_state *st, const struct tc_sink *out);

/* One member, as complete as the book knows it. */
struct heat_member {
    const struct heat_gpu *gpu;
    struct tc_scope scope;
};

/* What one verdict is about: a group, or those of its GPUs that are on one node. */
struct heat_topic {
    const struct heat_group *group;
    struct tc_slice place; /* with key_ns, the key */
    int64_t key_ns;
    size_t more_count; /* members that found no place in the list */
    bool by_rack;      /* place is a rack */
    bool is_rack;      /* it is the rack's cooling */
    bool over;         /* nothing of it is slowed any more */
};

/* Says what is known of a topic; 0 < count <= HEAT_MEMBERS_MAX. `cause` is the rack that it is a
 * part of; NULL when it is none. */
TC_CHECKED tc_status tc__heat_report(const struct heat_state *st, const struct heat_topic *topic,
                                     const struct heat_topic *cause,
                                     const struct heat_member *members, size_t count,
                                     const struct tc_sink *out);

#endif
