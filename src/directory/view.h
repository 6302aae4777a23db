/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is who by all statements at once, whatever their order was: what the story asks.
 *
 * A name is one way to call a thing: a GPU's UUID, its PCI address on a node, a pod's uid. A
 * statement says that these names, and this rank, belong together. From all of them follows which
 * names mean one thing; a name that two things had in turn (an exchanged board, a pod that was made
 * anew) joins nothing.
 */
#ifndef TC_DIRECTORY_VIEW_H
#define TC_DIRECTORY_VIEW_H

#include "base/arena.h"
#include "base/status.h"
#include "base/table/map.h"
#include "base/table/sort.h"
#include "base/turn.h"
#include "directory/directory.h"

#define TC_NAME_NONE UINT32_MAX

enum tc_name_kind {
    TC_NAME_NODE,
    TC_NAME_GPU_UUID,
    TC_NAME_GPU_PCI,   /* on a node */
    TC_NAME_GPU_INDEX, /* on a node */
    TC_NAME_POD_UID,
    TC_NAME_POD,      /* in a namespace */
    TC_NAME_POD_BARE, /* without one */
    TC_NAME_RANK,     /* of a job */
};

struct tc_name {
    enum tc_name_kind kind;
    struct tc_slice where; /* node, namespace or job */
    struct tc_slice text;  /* uuid, uid or pod name */
    uint64_t number;       /* PCI address, index or rank */
    uint32_t parent;       /* towards the name that stands for the thing */
    uint32_t owner;        /* of a name that can change hands: the lasting name seen with it */
    bool shared;           /* it had two owners: joins nothing */
};

struct tc_names {
    struct tc_name *items;
    uint32_t count;
    uint32_t max;
    struct tc_map index;
    struct tc_arena *text; /* copies of what is added lie here; NULL: it is borrowed */
};

bool tc_names_init(struct tc_names *n, struct tc_arena *arena, uint32_t max);
/* The number of a name; TC_NAME_NONE when the table, or the room for text, is full. */
uint32_t tc_names_add(struct tc_names *n, enum tc_name_kind kind, struct tc_slice where,
                      struct tc_slice text, uint64_t number);
/* The same without adding: TC_NAME_NONE when nobody used that name. */
uint32_t tc_names_find(const struct tc_names *n, enum tc_name_kind kind, struct tc_slice where,
                       struct tc_slice text, uint64_t number);
/* The name that stands for the thing; of TC_NAME_NONE itself. */
uint32_t tc_names_root(struct tc_names *n, uint32_t name);
/* Two names were seen together: first who owns what, for all statements, then which are one thing.
 */
void tc_names_own(struct tc_names *n, uint32_t lasting, uint32_t passing);
void tc_names_join(struct tc_names *n, uint32_t a, uint32_t b);

/* What is done to make a view, in this order. */
enum tc_view_stage {
    TC_VIEW_SORT,
    TC_VIEW_COPY,
    TC_VIEW_ADDRESS,
    TC_VIEW_OWN,
    TC_VIEW_JOIN,
    TC_VIEW_INDEX,
    TC_VIEW_MADE,
};

/* Invariant: the statements, and the names of those, borrow the directory's text. */
struct tc_view {
    struct tc_names names;
    struct tc_arena text;            /* names that only others use */
    struct tc_statement *statements; /* by time, then by what they say */
    uint32_t statement_count;
    struct tc_map by_rank;    /* with its job, and without */
    struct tc_map by_thing;   /* GPU or pod, as its root: the statements about it */
    struct tc_map by_address; /* the statements that say whose it is */
    bool addresses;           /* there are any */
    struct tc_slice only_job; /* the one job that statements about ranks name */
    bool one_job;
    uint64_t moves; /* of the directory, when the view was made */
    enum tc_view_stage stage;
    size_t at; /* in that stage */
    struct tc_sorting sorting;
    const struct tc_scope *const *scopes;
    size_t scope_count;
};

/*
 * Begins a view of all statements; scopes, of verdicts, say what belongs together too. Borrows
 * directory and scopes, which stay as they are, until tc_view_make is done. name_count names more
 * will be added. False when the arena is full.
 */
bool tc_view_begin(struct tc_view *v, const struct tc_directory *d,
                   const struct tc_scope *const *scopes, size_t scope_count, uint32_t name_count,
                   struct tc_arena *arena);
/* Makes it, or goes on with it: TC_E_AGAIN. */
TC_CHECKED tc_status tc_view_make(struct tc_view *v, const struct tc_turn *turn);
/* False when a view has no room for more names, or what it borrows has moved. */
bool tc_view_is_usable(const struct tc_view *v, const struct tc_directory *d);

/*
 * The scope with the node, and the pod, that its node's name is an address of: NCCL's monitor
 * knows hosts by IP. As it is when the address is unknown, or two things had it.
 */
struct tc_scope tc_view_resolve(const struct tc_view *v, const struct tc_scope *scope);

/* Names of a scope; TC_NAME_NONE for what it does not name. GPU and pod are not yet roots. */
struct tc_view_names {
    uint32_t node;
    uint32_t gpu;
    uint32_t pod;
};
struct tc_view_names tc_view_name(struct tc_view *v, const struct tc_scope *scope);

/*
 * Walks the statements about a rank of a job in the order that they stand in, and some more:
 * compare. Those without a job may be of it, and all may when the job is empty or the only one.
 */
struct tc_view_ranks {
    struct tc_map_iter iters[2];
    uint64_t next[2]; /* an index, plus one; 0: there is none */
};
struct tc_view_ranks tc_view_ranks(const struct tc_view *v, struct tc_slice job, int32_t rank);
/* NULL behind the last. */
const struct tc_statement *tc_view_ranks_next(const struct tc_view *v, struct tc_view_ranks *w);

/* The statements about a GPU or pod by its root, and some more: compare. Values of tc_map_next in
 * by_thing, less one, are indices. */
struct tc_map_iter tc_view_of_thing(const struct tc_view *v, uint32_t root);

#endif
