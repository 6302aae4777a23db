/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the network_link_fault detector: detector.c keeps nodes and ports, read.c
 * reads events, port.c decides what is wrong with one port, and report.c says it.
 */
#ifndef TC_DETECT_NETWORK_LINK_FAULT_PRIV_H
#define TC_DETECT_NETWORK_LINK_FAULT_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/time.h"
#include "detect/counter_priv.h"
#include "detect/teller_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* Flaps kept of one source: as many as the knob may ask for. */
#define LINK_MARKS 8
/* Errors of a window are counted in steps of it. */
#define LINK_STEPS 16

#define LINK_COMPLETION_ERROR TC_LIT("ib_completion_error")

/* Who tells of flaps. The same fact is told by several, so they are counted apart. */
enum link_source {
    LINK_BY_DRIVER,   /* kernel log: the driver of the card */
    LINK_BY_IB_CORE,  /* kernel log: state of the InfiniBand or RoCE port */
    LINK_BY_BOND,     /* kernel log: the bond that the interface is part of */
    LINK_BY_DOWNED,   /* counter of link failures of a port or interface */
    LINK_BY_RECOVERY, /* counter of link recoveries of an InfiniBand port */
    LINK_BY_CARRIER,  /* counter of carrier changes of an interface: two are a flap */
    LINK_SOURCES,
};

#define LINK_KERNEL_SOURCES (LINK_BY_BOND + 1)

/* What is wrong, the most telling first: the first that holds is the discriminator. */
enum link_fault {
    LINK_CABLE,
    LINK_DOWN,
    LINK_FLAP,
    LINK_LOSS,
    LINK_SYMBOL,
    LINK_RETRY, /* the "port" is the way to a peer, by its address */
    LINK_FAULTS,
};

/* One event, or one sample of a counter that grew. */
struct link_mark {
    int64_t time_ns;
    int64_t count;
    struct tc_raw raw;
};

/* What one source says of one port. */
struct link_log {
    struct link_mark marks[LINK_MARKS]; /* the last flaps, oldest overwritten */
    uint64_t pushed;
    int64_t total; /* of all there were */
    int64_t base;  /* of it, what was before the incident */
    bool down;
    int64_t changed_ns; /* when it last said up or down; TC_TIME_NONE */
};

/* A count over the window. Invariant: step is the newest of the LINK_STEPS that count. */
struct link_rate {
    int64_t counts[LINK_STEPS];
    int64_t step;
    struct link_mark first; /* since it was last quiet */
    struct link_mark last;
};

/* One scrape of the counters of an interface; its parts come one by one. */
struct link_scrape {
    int64_t time_ns; /* TC_TIME_NONE: nothing came yet */
    double packets;
    double drops;
    double errors;
    bool has_packets;
    struct tc_raw raw;
};

/* Loss above the threshold, without a break. */
struct link_loss {
    bool on;
    struct link_mark first; /* count: lost of a million */
    struct link_mark last;
    int64_t worst;   /* of a million */
    int64_t calm_ns; /* no loss since; TC_TIME_NONE */
    bool is_ping;
};

/*
 * One port of one node. Changed in place; its first name never changes.
 * Invariants: down_ns is TC_TIME_NONE while the port is up or unknown; key is set
 * while faults != 0.
 */
struct link_port {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice first_name; /* "" when the line does not name it */
    struct tc_slice device;     /* what it goes by: the first name, or the one below */
    char name[32];              /* a better name that came at once */
    int64_t born_ns;
    struct tc_bdf pci;
    uint64_t moved; /* the port that this one turned out to be; TC_RING_NONE */
    bool has_alias; /* another name of the same card leads here: "mlx5_3", "ens1f0" */
    struct link_log logs[LINK_SOURCES];
    struct tc_counter downed;
    struct tc_counter recovered;
    struct tc_counter carrier;
    struct tc_counter symbols;
    struct tc_counter received; /* with an error */
    double carrier_rest;        /* carrier changes that do not make a flap yet: 0 or 1 */
    struct link_rate symbol_rate;
    struct link_rate receive_rate;
    struct link_scrape before;
    struct link_scrape scrape;
    struct link_loss loss;
    struct tc_tellers cable_tellers;
    struct link_mark cable_first; /* count: how often; 0 never */
    struct link_mark cable_last;
    bool cable_hot;
    struct link_mark retry_first; /* count: how often; 0 never */
    struct link_mark retry_last;
    bool seen_up;     /* a metric said that it was up */
    bool shut;        /* somebody took it down */
    int64_t shut_ns;  /* when, or when it was to be up again; TC_TIME_NONE */
    int64_t admin_ns; /* the last sample that said so; TC_TIME_NONE */
    int64_t down_ns;  /* since when it is down */
    struct tc_raw down_raw;
    bool down_shared;       /* with other ports of the node: no fault of this port */
    struct link_mark gauge; /* the first sample that said down; time_ns TC_TIME_NONE */
    int64_t alive_ns;       /* the node was seen alive after a gap; TC_TIME_NONE */
    struct link_mark up;    /* when it last came up */
    uint64_t burst;         /* the burst of downs it was last part of */
    unsigned burst_sources; /* bits of those that marked a flap in it */
    unsigned faults;        /* bits of enum link_fault that hold */
    bool partial;           /* the node may have been away meanwhile */
    int64_t first_ns;       /* of the incident; names it */
    int64_t last_ns;
    int64_t told_flaps; /* when it was last told */
    int64_t told_errors;
    int64_t told_loss;
    int64_t told_cable;
    int64_t told_retry;
    bool queued; /* waits in the queue of quiet ports */
};

struct link_knobs {
    int64_t window_ns;
    int64_t flaps;
    int64_t hold_ns;
    int64_t loss_permille;
    int64_t packets;
    int64_t symbol_errors;
    int64_t boot_ns;
};

/* Ports of one node that go down within this time of each other go down together. */
#define LINK_BURST_NS (5 * TC_SECOND)
/* As many are taken down by somebody, not by their cables. */
#define LINK_BURST_PORTS 3
/* Ports of a node that may be down at once. */
#define LINK_DOWN_MAX 16
/* Ports that wait for a burst to show, or for quiet; each is a few bytes. */
#define LINK_QUEUE_MAX 8192

/* Invariant: burst_ports counts the ports of the burst that began at burst_ns. */
struct link_node {
    struct tc_window_head head;
    struct tc_slice name;
    int64_t last_ns;  /* last sign of life */
    int64_t since_ns; /* signs of life without a gap since then */
    int64_t burst_ns; /* last down of the burst */
    uint64_t burst;
    unsigned burst_ports;
    uint64_t burst_first[LINK_BURST_PORTS - 1];
    uint64_t down[LINK_DOWN_MAX]; /* ports */
    unsigned down_count;
};

struct link_state {
    struct tc_detector_base base;
    struct link_knobs knobs;
    struct tc_window ports;
    struct tc_window names; /* of ports, beside their first ones */
    struct tc_window nodes;
    struct tc_waiting settling; /* went down: did others, too? Once for each time it did */
    struct tc_waiting quieting; /* has a fault that ends when nothing more comes */
    uint64_t bursts;
};

/* port.c: adds what `from`, another name of the port, was told, and leaves nothing there. */
void tc__link_absorb(struct link_port *to, struct link_port *from);
/* detector.c: the port, known or new. NULL when scratch is full. */
struct link_port *tc__link_port(struct link_state *st, struct tc_slice node, struct tc_slice device,
                                struct tc_bdf pci);

/* read.c: takes a line of the kernel log or a sample in. */
TC_CHECKED tc_status tc__link_on_fault(struct link_state *st, struct link_node *n,
                                       const struct tc_event *ev, const struct tc_sink *out);
TC_CHECKED tc_status tc__link_on_metric(struct link_state *st, struct link_node *n,
                                        const struct tc_event *ev, const struct tc_sink *out);
/* True for a sample about a port, an interface with a cable, or the way to a target. */
bool tc__link_is_metric(const struct tc_event *ev);

/* port.c: each takes one fact in, and says nothing. */
void tc__link_mark(struct link_log *log, int64_t time_ns, int64_t count, struct tc_raw raw);
/* The last mark was none of this port. */
void tc__link_unmark(struct link_log *log);
void tc__link_rate_add(struct link_rate *rate, int64_t window_ns, struct link_mark mark);
int64_t tc__link_rate_sum(const struct link_rate *rate, int64_t window_ns, int64_t now_ns);
/* Symbol or receive errors of the window, whichever are more. */
int64_t tc__link_errors(const struct link_port *p, const struct link_knobs *k, int64_t now_ns);
/* Flaps of the incident, by the source that counts most of them. */
int64_t tc__link_flaps(const struct link_port *p, enum link_source *out_source);
/* The scrape is complete: what was lost since the one before? */
void tc__link_close_scrape(struct link_port *p, const struct link_knobs *k);
/* So many packets or probes of a million were lost; 0 when that is no loss to speak of. */
void tc__link_lose(struct link_port *p, const struct link_knobs *k, struct link_mark mark,
                   bool is_ping);
/*
 * Looks at a port after something happened to it, and says what is new. `down` is
 * the bit of LINK_DOWN or 0.
 */
TC_CHECKED tc_status tc__link_judge(struct link_state *st, struct link_port *p, unsigned down,
                                    int64_t now_ns, const struct tc_sink *out);

/* Emits the finding; as resolved when no fault holds any more (`had` are those that did). */
TC_CHECKED tc_status tc__link_report(const struct link_port *p, const struct link_knobs *k,
                                     unsigned had, int64_t now_ns, struct tc_arena *scratch,
                                     const struct tc_sink *out);

static inline unsigned tc__link_down_bit(const struct link_port *p)
{
    return p->faults & 1U << LINK_DOWN;
}

/*
 * Somebody had taken the port down before that time. What is said at one time comes in any
 * order, so it counts from the next on.
 */
static inline bool tc__link_is_shut(const struct link_port *p, int64_t time_ns)
{
    return p->shut ? time_ns > p->shut_ns : p->shut_ns != TC_TIME_NONE && time_ns <= p->shut_ns;
}

#endif
