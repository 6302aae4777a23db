/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is who: which names mean one GPU, which node and pod a rank runs on, which node a pod runs
 * on, what an address belongs to. Fed once with every event, asked by detectors, when a finding is
 * written, and by the story. docs/internals/directory.md has the whole of it.
 *
 * Two views. GPUs, ranks and pods are kept as they were last told: what detectors ask. Statements
 * are kept as they were made, with the time from when to when, and identity is worked out of all of
 * them at once (directory/view.h): what the story asks.
 *
 * Bounded: a full table forgets what was not heard of for longest, and counts it. Noting an event
 * allocates nothing.
 */
#ifndef TC_DIRECTORY_DIRECTORY_H
#define TC_DIRECTORY_DIRECTORY_H

#include "base/status.h"
#include "base/turn.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_directory;

/* Which statements are kept. */
enum tc_statements {
    TC_STATEMENTS_NONE,   /* nothing is linked */
    TC_STATEMENTS_FIRST,  /* those that do not fit are counted */
    TC_STATEMENTS_LATEST, /* input without an end: those not made for longest are forgotten */
};

/* NULL when there is no memory. Takes address space at once, memory as it is needed: for a cluster
 * of so many times 10,000 GPUs. */
struct tc_directory *tc_directory_create(enum tc_statements statements, uint32_t scale);
void tc_directory_destroy(struct tc_directory *d);
/* As after create. */
void tc_directory_reset(struct tc_directory *d);
/*
 * Makes room in a table that will soon be full, as is done otherwise when it is, but in pieces. To
 * be called between events. TC_E_AGAIN: nothing may be asked of the directory until it was called
 * again and is done.
 */
TC_CHECKED tc_status tc_directory_keep_room(struct tc_directory *d, const struct tc_turn *turn);

/* The bits of the event kinds that say something; others need not be noted. */
uint32_t tc_directory_kinds(const struct tc_directory *d);
/* Who sends the events from now on: a small number. A table that is full forgets what the sender
 * said that takes most of it. */
void tc_directory_sender(struct tc_directory *d, uint32_t sender);
/*
 * Whether an event says only what is known already, as most do; what it says is then heard of again
 * and it need not be noted. Borrows ev.
 */
bool tc_directory_is_known(struct tc_directory *d, const struct tc_event *ev);
/* Takes in what an event says. Borrows ev. */
void tc_directory_note(struct tc_directory *d, const struct tc_event *ev);

/*
 * What the node goes by that an event calls `name`: the first of its names that was heard of,
 * short, full or an address. Asked before the event is noted. `name` itself, not a copy, where it
 * goes by that. Good until the next event.
 */
struct tc_slice tc_directory_node(struct tc_directory *d, struct tc_slice name);

/*
 * Takes in where the node of an event stands, if it says so: for those who show it, as nothing is
 * joined by racks and zones. Asked for the node before. Borrows ev.
 */
void tc_directory_stand(struct tc_directory *d, const struct tc_event *ev);

/* Whether the longer of two names is the shorter with a domain, or more of it. */
bool tc_directory_is_same_host(struct tc_slice a, struct tc_slice b);
/* The first label of a node's name; an address whole. */
struct tc_slice tc_directory_host_label(struct tc_slice name);

/* What every entry begins with: the directory's own. */
struct tc_entry {
    uint64_t heard; /* grows with everything that is heard */
    uint32_t leads; /* while room is made: the names that lead here */
    uint32_t owner; /* the number of the sender that said it last */
};

/* ---- GPUs: by UUID, and by PCI address and index on a node ---- */

/* What is known of a GPU; "" and -1 are not known. Good until the directory learns again. */
struct tc_gpu {
    struct tc_entry entry;
    uint64_t id;      /* never 0. What turns out to be one GPU keeps the id known for longest */
    uint64_t also[2]; /* ids that turned out to be this GPU too, the last first; 0: none. What is
                         kept under them belongs to this one */
    struct tc_slice node;
    struct tc_slice uuid;
    struct tc_slice ns; /* who used it last; of several at one time the last by name */
    struct tc_slice pod;
    struct tc_slice container;
    int64_t user_ns; /* when that was told */
    struct tc_slice job;
    struct tc_bdf pci;
    int32_t index;
    int32_t rank;
};

/* All ids of a GPU: its own, then those that turned out to be it too; 0 for none. */
#define TC_GPU_IDS 3
static inline uint64_t tc_gpu_id(const struct tc_gpu *gpu, unsigned i)
{
    return i == 0 ? gpu->id : gpu->also[i - 1];
}

/* The GPU of the event that was noted last; NULL when it names none. */
const struct tc_gpu *tc_directory_event_gpu(const struct tc_directory *d);
/* The GPU that a scope names; NULL when it names none, or one that nobody has told of. */
const struct tc_gpu *tc_directory_gpu(const struct tc_directory *d, const struct tc_scope *scope);
/*
 * Takes in what a scope says of a GPU, which no event says like that, and gives all that is known
 * of it. NULL when the scope names none (no UUID, and no node with a PCI address or index) or a
 * name is longer than TC_SCOPE_TEXT_MAX.
 */
const struct tc_gpu *tc_directory_learn_gpu(struct tc_directory *d, const struct tc_scope *scope,
                                            int64_t time_ns);
/*
 * The same while an event of a GPU is looked at, whose entry may move: tc_directory_event_gpu gives
 * where it is then. For what only a detector can tell: that two names are one GPU.
 */
const struct tc_gpu *tc_directory_join_gpu(struct tc_directory *d, const struct tc_scope *scope,
                                           int64_t time_ns);
/* Fills in what scope does not say of its GPU. The slices are the directory's. */
void tc_gpu_complete(const struct tc_gpu *gpu, struct tc_scope *scope);
/* The same with the GPU that it names; NULL when that is not known. */
const struct tc_gpu *tc_directory_complete(const struct tc_directory *d, struct tc_scope *io);

/* ---- where ranks and pods run, as a map, an exporter or Kubernetes told ---- */

/*
 * Adds node and pod to a scope that has a rank and lacks them, and the node to one that has a pod:
 * the lines of a training log. Whoever names no job means the only one with that rank; with several
 * it is nobody's. What is added is good until the directory learns again.
 */
void tc_directory_place(const struct tc_directory *d, struct tc_scope *io);
/* The same, and the GPU that the rank uses, by every name that it has. */
void tc_directory_place_rank(const struct tc_directory *d, struct tc_scope *io);

/* ---- statements ---- */

/* What events say alike: these names belong together. */
struct tc_statement {
    struct tc_entry entry;
    struct tc_scope scope;   /* without container and pid */
    struct tc_slice origin;  /* of a rank_place: who says so */
    struct tc_slice address; /* of the pod, or of the node where no pod is named; "" */
    int64_t first_ns;        /* TC_TIME_NONE: holds at all times */
    int64_t last_ns;         /* when it was said last */
    uint32_t node;           /* names, set by tc_view_make; TC_NAME_NONE */
    uint32_t gpu;
    uint32_t pod;
};

/* Grows whenever a statement is new or older than it was known to be: links may differ then. */
uint64_t tc_directory_version(const struct tc_directory *d);

/*
 * Walks all that is known, in no order: what nodes go by, GPUs, statements. Slices and entries are
 * good until the directory learns again. Not while it is making room.
 */
bool tc_directory_makes_room(const struct tc_directory *d);
struct tc_node {
    struct tc_slice name;
    struct tc_slice rack; /* "" while nobody said */
    struct tc_slice zone;
};
void tc_directory_each_node(const struct tc_directory *d,
                            void (*take)(void *context, const struct tc_node *node), void *context);
void tc_directory_each_gpu(const struct tc_directory *d,
                           void (*take)(void *context, const struct tc_gpu *gpu), void *context);
void tc_directory_each_statement(const struct tc_directory *d,
                                 void (*take)(void *context, const struct tc_statement *said),
                                 void *context);

struct tc_directory_counts {
    uint64_t nodes_forgotten;
    uint64_t gpus_forgotten;
    uint64_t places_forgotten; /* of ranks and pods */
    size_t statements;
    uint64_t statements_forgotten; /* that made room for others */
    uint64_t statements_dropped;   /* that did not fit */
};

void tc_directory_counts(const struct tc_directory *d, struct tc_directory_counts *out);

#endif
