/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the story: names, facts, places and links.
 *
 * A name is one way to call a thing: a GPU's UUID, its PCI address on a node, a pod's uid. A fact
 * is what one event says: these names, and this rank, belong together. From all facts follows
 * which names mean one thing; a name that two things had in turn (an exchanged board, a pod that
 * was made anew) joins nothing.
 */
#ifndef TC_STORY_STORY_PRIV_H
#define TC_STORY_STORY_PRIV_H

#include "base/arena.h"
#include "base/block.h"
#include "base/map.h"
#include "story/story.h"

#include <stdbool.h>

#define TC__NONE UINT32_MAX
/* Statements kept; 10,000 GPUs with their pods and ranks need some 30,000. */
#define TC__FACTS_MAX 131072
#define TC__FACT_BYTES ((size_t)64 << 20)
/* Ranks of one verdict whose places are looked up, and places of each kind it may have. */
#define TC__WHERE_MAX 4096
/* Causes of one verdict. */
#define TC__CAUSES_MAX 8

enum tc__name_kind {
    TC__NAME_NODE,
    TC__NAME_GPU_UUID,
    TC__NAME_GPU_PCI,   /* on a node */
    TC__NAME_GPU_INDEX, /* on a node */
    TC__NAME_POD_UID,
    TC__NAME_POD,      /* in a namespace */
    TC__NAME_POD_BARE, /* without one */
    TC__NAME_RANK,     /* of a job */
};

struct tc__name {
    enum tc__name_kind kind;
    struct tc_slice where; /* node, namespace or job */
    struct tc_slice text;  /* uuid, uid or pod name */
    uint64_t number;       /* PCI address, index or rank */
    uint32_t parent;       /* towards the name that stands for the thing */
    uint32_t owner;        /* of a name that can change hands: the lasting name seen with it */
    bool shared;           /* it had two owners: joins nothing */
};

struct tc__names {
    struct tc__name *items;
    uint32_t count;
    uint32_t max;
    struct tc_map index;
    struct tc_arena *text; /* copies of what is added lie here; NULL: it is borrowed */
};

bool tc__names_init(struct tc__names *n, struct tc_arena *arena, uint32_t max);
/* The number of a name; TC__NONE when the table, or the room for text, is full. */
uint32_t tc__names_add(struct tc__names *n, enum tc__name_kind kind, struct tc_slice where,
                       struct tc_slice text, uint64_t number);
/* The same without adding: TC__NONE when nobody used that name. */
uint32_t tc__names_find(const struct tc__names *n, enum tc__name_kind kind, struct tc_slice where,
                        struct tc_slice text, uint64_t number);
/* The name that stands for the thing. */
uint32_t tc__names_root(struct tc__names *n, uint32_t name);
/* Two names were seen together: first who owns what, for all facts, then which are one thing. */
void tc__names_own(struct tc__names *n, uint32_t lasting, uint32_t passing);
void tc__names_join(struct tc__names *n, uint32_t a, uint32_t b);

/* What one event says. The scope's slices lie in the story's memory. */
struct tc__fact {
    struct tc_scope scope;
    struct tc_slice origin;
    struct tc_slice address; /* of the pod, or of the node where no pod is named; "" */
    int64_t first_ns;        /* TC_TIME_NONE: holds at all times */
    int64_t last_ns;         /* when it was said last */
    uint32_t node;           /* names, set by tc__places_build; TC__NONE */
    uint32_t gpu;
    uint32_t pod;
};

struct tc__facts {
    struct tc_arena arena;
    struct tc_block *block;
    struct tc__fact *items;
    struct tc__fact *last; /* that was said again; NULL */
    uint32_t count;
    struct tc_map seen;
    uint64_t dropped;
    uint64_t version;
    uint64_t forgotten;
    bool forgets; /* when full, what was not said for longest goes */
};

/* A thing a verdict is about, and how that is known. */
struct tc__token {
    uint32_t name; /* root */
    uint32_t fact; /* that led to it, or TC__NONE: the verdict itself says so */
    int32_t rank;  /* that led to it, or -1 */
};

enum tc__class { TC__CLASS_NODE, TC__CLASS_RANK, TC__CLASS_POD, TC__CLASS_GPU, TC__CLASS_COUNT };

/* Everything known of who runs where; made from the facts. Of verdicts it borrows nothing. */
struct tc__places {
    struct tc__names names;
    struct tc_arena text; /* names that only verdicts use */
    const struct tc__fact *facts;
    uint32_t fact_count;
    struct tc_map by_rank;
    struct tc_map by_thing;   /* GPU or pod, as its root: the facts about it */
    struct tc_map by_address; /* the facts that say whose it is */
    bool addresses;           /* there are any */
    struct tc_slice only_job; /* the one job that facts about ranks name */
    bool one_job;
    struct tc__token *room[TC__CLASS_COUNT]; /* of TC__WHERE_MAX each, while one is gathered */
    uint64_t steps;                          /* comparisons of verdicts and their names */
};

/* Names of verdicts that come later: scopes and ranks. */
#define TC__NAMES_MORE 65536
#define TC__TEXT_BYTES ((size_t)4 << 20)

/* Makes places from facts and from the scopes of the verdicts. False when the arena is full. */
bool tc__places_build(struct tc__places *p, const struct tc__facts *facts,
                      const struct tc_kept *kept, struct tc_arena *arena);

struct tc__where {
    struct tc__token *tokens[TC__CLASS_COUNT];
    size_t count[TC__CLASS_COUNT];
    bool more[TC__CLASS_COUNT]; /* the verdict is about others too, which it does not list */
};

/*
 * The scope with the node, and the pod, that its node's name is an address of: NCCL's monitor
 * knows hosts by IP. As it is when the address is unknown, or two things had it.
 */
struct tc_scope tc__places_resolve(const struct tc__places *p, const struct tc_scope *scope);
/* Indexes the facts with addresses. False when the arena is full. */
bool tc__places_addresses(struct tc__places *p, struct tc_arena *arena);

/*
 * What a verdict is about. As an effect, a hang is about its culprits; as a cause it is about all
 * of its ranks. The GPUs of a pod are not the pod's verdict's: a pod is a pod. False when the
 * arena is full.
 */
bool tc__places_where(struct tc__places *p, const struct tc_kept_verdict *v, bool as_cause,
                      struct tc_arena *arena, struct tc__where *out);

#define BY_GPU (1u << TC__CLASS_GPU)
#define BY_POD (1u << TC__CLASS_POD)
#define BY_RANK (1u << TC__CLASS_RANK)
#define BY_NODE (1u << TC__CLASS_NODE)
/* The cause concerns the whole node: another pod or GPU of that node is no objection. */
#define BY_WHOLE_NODE (1u << TC__CLASS_COUNT)

struct tc__rule {
    struct tc_slice cause;
    struct tc_slice effect;
    struct tc_slice at;
    int64_t before_ns;
    int64_t late_ns;
    unsigned by;
};

/* Links the verdicts of kept, which are sorted. Words and arrays lie in the arena. */
TC_CHECKED tc_status tc__link(struct tc_kept *kept, struct tc__places *places,
                              struct tc_arena *arena);

/*
 * One sentence: why effect follows from cause. The empty slice when the arena is full. `guessed`:
 * the cause is about one GPU of the node, and nothing says whether it is the effect's.
 */
struct tc_slice tc__link_why(struct tc__places *places, struct tc_arena *arena,
                             const struct tc_kept_verdict *cause, int64_t effect_ns,
                             enum tc__class by, const struct tc__token *effect_token, bool guessed);

#endif
