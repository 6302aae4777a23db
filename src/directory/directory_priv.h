/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the directory: tables of entries with names, and statements. */
#ifndef TC_DIRECTORY_DIRECTORY_PRIV_H
#define TC_DIRECTORY_DIRECTORY_PRIV_H

#include "base/arena.h"
#include "base/os/block.h"
#include "base/table/map.h"
#include "base/table/sort.h"
#include "directory/directory.h"

/* ---- tables ---- */

#define TC__ENTRY_BYTES_MAX 256

/* What a table is told of its entries, which begin with struct tc_entry. */
struct tc__table_kind {
    size_t size;         /* at most TC__ENTRY_BYTES_MAX */
    const size_t *texts; /* offsets of slices */
    size_t text_count;
    uint32_t name_count; /* an entry may be found by so many names */
    /* Of one of them; 0 when the entry has none of that sort. */
    uint64_t (*hash)(const void *entry, uint32_t name);
    /* Whether two that have one of that sort, under one hash, have the same. */
    bool (*same)(const void *a, const void *b, uint32_t name);
};

/* What the tables of a directory share. */
struct tc__tables {
    uint32_t sender; /* of the events that come */
    bool has_grown;  /* one may have become crowded since they were looked at */
};

/*
 * Entries in an array, their strings in one of two arenas, found by their names. A name leads to
 * one entry, the last that was given it; an entry to which no name leads any more was replaced.
 * Invariant: entries and strings move only in tc__table_make_room.
 */
struct tc__table {
    const struct tc__table_kind *kind;
    unsigned char *entries;
    uint32_t count;
    uint32_t max;
    struct tc_map index;
    struct tc_arena text[2];
    size_t half; /* which of the two is in use */
    struct tc__tables *of;
    uint64_t heard;
    uint64_t forgotten;
};

/* Room for `max` entries with text_bytes of strings. False when the arena is full. */
bool tc__table_init(struct tc__table *t, const struct tc__table_kind *kind, struct tc_arena *arena,
                    uint32_t max, size_t text_bytes, struct tc__tables *of);
/* The entry that a name of `key` leads to; NULL when there is none. */
void *tc__table_find(const struct tc__table *t, const void *key, uint32_t name);
/* Whether one more entry, or new strings for one, fit. */
bool tc__table_has_room(const struct tc__table *t);
/* Whether there will soon be no room: the time to make it in pieces. */
bool tc__table_is_crowded(const struct tc__table *t);
/*
 * Lets go of what no name leads to, then, while the table or its text is more than three quarters
 * full, of what was not heard of for longest from the senders that take the most of it. `order` has
 * room for twice the entries.
 */
void tc__table_make_room(struct tc__table *t, struct tc_sort_pair *order);

/* The same in pieces: set the first two, and call tc__tidy_some until it is true. Nothing may be
 * looked for in the table meanwhile. */
struct tc__tidy {
    struct tc__table *table;
    struct tc_sort_pair *order;
    enum { TC__TIDY_LIST, TC__TIDY_SHARE, TC__TIDY_MOVE } stage;
    uint32_t at;   /* in that stage: the entry */
    uint32_t kept; /* entries that were moved */
    size_t live;   /* entries in order */
};
bool tc__tidy_some(struct tc__tidy *y);
/*
 * Writes `value` in the place of an entry of the table, NULL for a new one, with copies of its
 * strings, and makes its names lead to it. There is room; no string is longer than
 * TC_SCOPE_TEXT_MAX.
 */
void *tc__table_write(struct tc__table *t, void *entry, const void *value);

static inline struct tc_slice *tc__text_at(void *entry, size_t offset)
{
    return (struct tc_slice *)(void *)((char *)entry + offset);
}

/* Whether one of its names still leads to the entry: else it was replaced. */
bool tc__table_is_current(const struct tc__table *t, const void *entry);

static inline void *tc__table_at(const struct tc__table *t, uint64_t at)
{
    return t->entries + at * t->kind->size;
}

/* ---- what is kept in tables ---- */

extern const struct tc__table_kind tc__node_kind;
extern const struct tc__table_kind tc__gpu_kind;
extern const struct tc__table_kind tc__rank_kind;
extern const struct tc__table_kind tc__pod_kind;
extern const struct tc__table_kind tc__statement_kind;

struct tc__nodes {
    struct tc__table table;
    struct tc_slice last; /* a name that a node goes by: events of one node come together */
    const void *stood;    /* the node of which the last place was told; NULL: entries may move */
};

/* What a node goes by, that was called `name`. Good until the next call. */
struct tc_slice tc__nodes_learn(struct tc__nodes *n, struct tc_slice name,
                                struct tc_sort_pair *order);
/* Entries have moved, or will: what is borrowed from the table is let go of. */
void tc__nodes_moved(struct tc__nodes *n);
/* An address of a node, which is what it goes by. */
void tc__nodes_learn_address(struct tc__nodes *n, struct tc_slice address, struct tc_slice node,
                             struct tc_sort_pair *order);

/* Each name that a node goes by; an address that leads to one is none. */
void tc__nodes_each(const struct tc__nodes *n,
                    void (*take)(void *context, const struct tc_node *node), void *context);
/* Where a node stands, that goes by `name`; "" says nothing. Allocates and moves nothing. */
void tc__nodes_stand(struct tc__nodes *n, struct tc_slice name, struct tc_slice rack,
                     struct tc_slice zone);

struct tc__gpus {
    struct tc__table table;
    uint64_t last_id;
    /* The GPU that was heard of last, and by which of its names: events of one GPU come together.
     * NULL: entries may have moved, or names lead elsewhere. */
    struct tc_gpu *heard;
    uint32_t heard_by;
};

/* The GPU of an event that says nothing new of it; NULL when it may. */
const struct tc_gpu *tc__gpus_hear(struct tc__gpus *g, const struct tc_scope *scope,
                                   int64_t time_ns);
/* NULL: see tc_directory_learn_gpu. */
const struct tc_gpu *tc__gpus_learn(struct tc__gpus *g, const struct tc_scope *scope,
                                    int64_t time_ns, struct tc_sort_pair *order);
const struct tc_gpu *tc__gpus_find(const struct tc__gpus *g, const struct tc_scope *scope);

struct tc__places {
    struct tc__table ranks;
    struct tc__table pods;
};

/* Takes in a rank_place or address event; one that names no rank or pod, or no place, says nothing.
 */
void tc__places_learn(struct tc__places *p, const struct tc_event *ev, struct tc_sort_pair *order);
void tc__places_fill(const struct tc__places *p, struct tc_scope *io);
/* The GPU that the rank was last told to use, unless it runs on another node now. */
void tc__places_fill_gpu(const struct tc__places *p, struct tc_scope *io);

/* ---- statements ---- */

/* Statements that were made of late, each at a place that its names give; a power of two. A scrape
 * says the same of each GPU under every metric. */
#define TC__STATEMENTS_LATE 256

struct tc__statements {
    struct tc__table table;
    struct tc_statement *late[TC__STATEMENTS_LATE]; /* or NULL */
    uint64_t version;
    uint64_t moves; /* how often room was made */
    uint64_t dropped;
    bool forgets; /* when full, what was not said for longest goes */
};

/* Room was made: entries have moved. */
void tc__statements_moved(struct tc__statements *s);
/* Whether an event says again what was said of late. */
bool tc__statements_hear(struct tc__statements *s, const struct tc_event *ev);
void tc__statements_note(struct tc__statements *s, const struct tc_event *ev,
                         struct tc_sort_pair *order);

/* The number of a PCI address, as a name. */
static inline uint64_t tc__pci_number(struct tc_bdf b)
{
    return (uint64_t)b.domain << 24 | (uint64_t)b.bus << 16 | (uint64_t)b.device << 8 | b.function;
}

/* Indexes a statement, if it says whose an address is. */
struct tc_view;
void tc__view_note_address(struct tc_view *v, uint32_t at);

struct tc_directory {
    struct tc__tables tables;
    struct tc_block *block;
    struct tc_arena arena;
    struct tc__nodes nodes;
    struct tc__gpus gpus;
    struct tc__places places;
    struct tc_sort_pair *order; /* for making room in a table */
    struct tc__tidy tidy;       /* of the table in which it is being made; NULL: none */
    const struct tc_gpu *gpu;   /* of the last event */
    struct tc__statements statements;
    enum tc_statements keeps;
    uint32_t scale; /* at least 1 */
};

#endif
