/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the nvlink_degraded detector: detector.c hands events out, fault.c gathers
 * the faults of GPUs and switches and joins them, meter.c reads counters and link states,
 * and report.c says what was found.
 */
#ifndef TC_DETECT_NVLINK_DEGRADED_PRIV_H
#define TC_DETECT_NVLINK_DEGRADED_PRIV_H

#include "detect/counter_priv.h"
#include "detect/mark_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "directory/directory.h"
#include "event/event.h"
#include "event/finding.h"
#include "event/nvlink_bits.h"

#include <stdbool.h>
#include <stdint.h>

/* An NVSwitch has up to 144 ports on paper and 72 in a node; a GPU has 18 links. */
#define NVLINK_LINKS_MAX 128
/* Links of a GPU that are watched one by one. */
#define NVLINK_METERED 36
#define NVLINK_UNIT_MAX 24
/* Parts of the window that errors are counted in. */
#define NVLINK_STEPS 8

/* Numbers that a switch called not fatal and that are remembered. */
#define NVLINK_DENIALS 8

/* Also the order of visits: what may join a switch is looked at before the switch. */
enum nvlink_role { NVLINK_GPU, NVLINK_NODE, NVLINK_SWITCH };

enum nvlink_class { NVLINK_CRC, NVLINK_REPLAY, NVLINK_RECOVERY, NVLINK_CLASSES };

/* Ordered: a higher one names the incident. */
enum nvlink_reason {
    NVLINK_NOTHING,
    NVLINK_ERROR_STORM,
    NVLINK_XID,
    NVLINK_LINK_DOWN,
    NVLINK_FATAL_SXID,
};

/* One sort of sign, from its first to its last. */
struct nvlink_sign {
    struct tc_mark first;
    struct tc_mark last;
    int64_t code; /* of the first: Xid or SXid */
    int64_t link; /* of the first, -1 none */
};

/*
 * A GPU, a switch, or the node as a whole. An episode begins with the first fault
 * after quiet. Invariant: what was told is part of the episode.
 */
struct nvlink_device {
    struct tc_window_head head;
    enum nvlink_role role;
    uint64_t id; /* of the GPU in the book; 0 when the book cannot know it */
    struct tc_slice node;
    struct tc_slice uuid;
    struct tc_slice name; /* of a switch that samples name: these have no address */
    struct tc_bdf pci;
    int32_t index;
    struct nvlink_sign fatal; /* SXids of a switch, Xids of a GPU */
    struct nvlink_sign minor; /* those that are not fatal */
    struct nvlink_sign down;  /* samples of links that were up before */
    struct tc_mark up;        /* the last sample before that */
    struct nvlink_sign storm;
    struct nvlink_sign joined; /* of a switch: Xids of GPUs */
    int64_t gpu_count;         /* GPUs that joined */
    char unit[NVLINK_UNIT_MAX];
    uint8_t unit_len;
    bool said; /* a line says fatal; else only the number does */
    bool has_registers;
    uint32_t registers[TC_NVLINK_REGISTERS]; /* of all Xids 74 of the episode together */
    struct {
        int64_t code;
        int64_t time_ns; /* TC_TIME_NONE when there is none */
    } denials[NVLINK_DENIALS];
    uint64_t links[NVLINK_LINKS_MAX / 64];
    int64_t totals[NVLINK_CLASSES]; /* of the window that ends with the storm's last error */
    int64_t since_ns;               /* part of the incident's key */
    int64_t resolved_ns;            /* TC_TIME_NONE when it never was */
    int64_t news_ns;                /* when it is to be told; TC_WAITING_NEVER when all is */
    int64_t joined_ns;              /* of a GPU: the episode of the switch that it joined */
    bool open;
    bool waits;
    enum nvlink_reason told;
};

/* A sample: when, and where its bytes are. */
struct nvlink_sample {
    int64_t time_ns; /* TC_TIME_NONE when there was none */
    struct tc_raw raw;
};

struct nvlink_step {
    int64_t number;
    /* By class: the sum of all links as one series tells it, and of the links one by one. */
    uint32_t sums[NVLINK_CLASSES][2];
    uint64_t links; /* that errors were counted on */
    struct nvlink_sample first;
    struct nvlink_sample last;
};

struct nvlink_port {
    int64_t time_ns; /* of the last sample */
    struct nvlink_sample up;
    uint8_t state;
};

/* Counters and states of the links of a GPU. */
struct nvlink_meter {
    struct tc_window_head head;
    uint64_t id;
    struct tc_counter counters[4][NVLINK_METERED + 1]; /* the last: all links */
    struct nvlink_port ports[NVLINK_METERED];
    struct nvlink_step steps[NVLINK_STEPS];
};

/* The states of the links of a switch, by the name that samples give it. */
struct nvlink_switch {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice name;
    struct nvlink_port ports[NVLINK_LINKS_MAX];
};

struct nvlink_state {
    struct tc_detector_base base;
    int64_t join_ns; /* knobs */
    int64_t window_ns;
    int64_t limits[NVLINK_CLASSES];
    struct tc_directory *directory;
    struct tc_window devices;
    struct tc_window meters;
    struct tc_window switches;
    struct tc_waiting due;
    bool finishing;
};

/* fault.c */
bool tc__nvlink_devices_init(struct nvlink_state *st);
/* The record of a GPU that the book knows. NULL when scratch is full. */
struct nvlink_device *tc__nvlink_gpu(struct nvlink_state *st, const struct tc_gpu *gpu);
/* The record of a switch that samples name. NULL when scratch is full. */
struct nvlink_device *tc__nvlink_switch(struct nvlink_state *st, struct tc_slice node,
                                        struct tc_slice name);
/* What has happened to a GPU before this was of another episode, when it was long ago. */
void tc__nvlink_begin(struct nvlink_device *d, int64_t time_ns);
/* There is something to tell about the device, at due_ns. */
void tc__nvlink_announce(struct nvlink_state *st, struct nvlink_device *d, int64_t time_ns,
                         int64_t due_ns);
void tc__nvlink_add_link(struct nvlink_device *d, int64_t link);
/* Whether the link is one of those of the episode. */
bool tc__nvlink_has_link(const struct nvlink_device *d, int64_t link);
void tc__nvlink_sxid(struct nvlink_state *st, const struct tc_event *ev);
void tc__nvlink_xid(struct nvlink_state *st, const struct tc_event *ev);
void tc__nvlink_driver_fault(struct nvlink_state *st, const struct tc_event *ev);
enum nvlink_reason tc__nvlink_reason(const struct nvlink_device *d);
TC_CHECKED tc_status tc__nvlink_run(struct nvlink_state *st, int64_t now_ns,
                                    const struct tc_sink *out);

/* meter.c */
bool tc__nvlink_meters_init(struct nvlink_state *st);
void tc__nvlink_metric(struct nvlink_state *st, const struct tc_event *ev);
/* A finding of DCGM: only that a link is down. */
void tc__nvlink_health(struct nvlink_state *st, const struct tc_event *ev);
/* Every link of the GPU or switch that was told to be down is up again; *out is the newest sample.
 */
bool tc__nvlink_all_up(const struct nvlink_state *st, const struct nvlink_device *d,
                       struct tc_mark *out);
/* Fills in what the counters say of a storm: sums, links, first and last error. */
void tc__nvlink_measure(const struct nvlink_state *st, struct nvlink_device *d);

/* report.c */
/* `relief` is what shows that it is over, NULL while it is not. */
TC_CHECKED tc_status tc__nvlink_report(const struct nvlink_device *d, const struct nvlink_state *st,
                                       const struct nvlink_device *node, bool resolved,
                                       const struct tc_mark *relief, const struct tc_sink *out);

#endif
