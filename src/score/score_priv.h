/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: items, the pool they live in, the index of places, lists. */
#ifndef TC_SCORE_SCORE_PRIV_H
#define TC_SCORE_SCORE_PRIV_H

#include "base/buf.h"
#include "base/json/json.h"
#include "event/event.h"
#include "score/score.h"

#define TC__NONE UINT32_MAX

/* Memory that is given back all at once; never more than TC_SCORE_MEMORY_MAX. */
struct tc__pool_block;
struct tc__pool {
    struct tc__pool_block *blocks; /* the newest first */
    size_t total;
};

/* Zeroed and aligned for anything; NULL when there is no memory or the bound is reached. */
void *tc__pool_alloc(struct tc__pool *p, size_t count, size_t size);
/* False when there is none; *out is untouched then. */
bool tc__pool_copy(struct tc__pool *p, struct tc_slice s, struct tc_slice *out);
void tc__pool_fini(struct tc__pool *p);

struct tc__slices {
    const struct tc_slice *at;
    size_t count;
};

struct tc__ranks {
    const int32_t *at; /* ascending, each once */
    size_t count;
};

enum tc__item_kind { TC__FAULT, TC__NOISE, TC__VERDICT };
/* What became of it. Faults are left or paired; a noise is left (true negative) or fooled. */
enum tc__fate { TC__LEFT, TC__PAIRED, TC__EXPLAINED, TC__DUPLICATE, TC__FOOLED };

/*
 * A line of a truth, or of verdicts: when, where, what. The same shape for both, since
 * pairing asks whether they name the same things. "" and -1: not named.
 */
struct tc__item {
    struct tc_slice id;
    struct tc_slice text; /* headline, or what happened */
    struct tc_slice discriminator;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice job;
    struct tc_slice gpu_uuid;
    struct tc_slice device;
    struct tc_slice volume;
    struct tc__slices nodes;  /* more than one: a rack */
    struct tc__slices pods;   /* affected, "namespace/name" */
    struct tc__slices causes; /* ids of verdicts, of a fault those of faults */
    struct tc_slice group;    /* of a verdict: id of the root of its story */
    struct tc__ranks ranks;   /* the culprits */
    struct tc__ranks affected;
    int64_t start_ns;
    int64_t end_ns;
    int64_t detected_ns; /* of a verdict; TC_TIME_NONE */
    size_t offset;       /* of its line in its input */
    size_t line;         /* lines come in this order, through all inputs of a pair */
    struct tc_bdf pci;
    int32_t gpu_index;
    int32_t rank;
    uint32_t pattern; /* index in the catalogue */
    uint32_t mate;    /* the fault or verdict it is paired with, repeats or (noise) fooled */
    uint32_t noise;   /* that a verdict fits; TC__NONE */
    enum tc__item_kind kind;
    enum tc__fate fate;
    bool is_consequence; /* of another verdict of the same pattern */
    bool is_root;        /* of a verdict: it begins its story */
    bool has_caused;     /* of a fault: another names it as its cause */
    bool is_told_apart;  /* of a fault: what it caused is in another story */
};

struct tc__items {
    struct tc__item *at;
    size_t count;
    size_t cap;
};

/* Room for one item more, zeroed but for "not named"; NULL when out of memory. */
struct tc__item *tc__items_new(struct tc__items *items);
/* In order of id; of equal ids the earlier line first. */
void tc__items_sort(struct tc__items *items);
/* The one of that id, or NULL. They are sorted by it. */
struct tc__item *tc__items_find(const struct tc__items *items, struct tc_slice id);
void tc__items_fini(struct tc__items *items);

/* Who is named, for people: "gpu-07 GPU-34... pod train/llm-3 job llm ranks 5,6". */
void tc__item_place(struct tc_buf *b, const struct tc__item *item);
/* Whether the verdict names everything that the fault's culprit names. */
bool tc__names_culprit(const struct tc__item *fault, const struct tc__item *verdict);

/*
 * Items by the places they name. A key stands for a pattern and a node, GPU, pod, job or
 * rank; two items that share a key are of one pattern and about one place. Keys are
 * 64-bit hashes: a false match needs billions of names.
 */
struct tc__entry {
    uint64_t key;
    int64_t start_ns;
    int64_t end_ns;
    int64_t reach_ns; /* the latest end of this and the earlier entries of the key */
    uint32_t item;
    uint32_t asked; /* in the first entry of a key: how often it was asked for */
};

/* Invariant: sorted by key, start, item. */
struct tc__index {
    struct tc__entry *at;
    size_t count;
};

/*
 * The keys of an item, at most cap of them written; returns how many there are. What asks and
 * what is found use different keys for ranks: a rank says where only inside one job,
 * or where one of the two names no job.
 */
size_t tc__place_keys(const struct tc__item *item, bool asks, uint64_t *out, size_t cap);

typedef bool (*tc__item_filter_fn)(const struct tc__item *item);

/* Those of the items that pass. */
struct tc__some {
    const struct tc__items *items;
    tc__item_filter_fn passes;
};

/*
 * An index of what may be found, under the keys that anyone asks for: a fault that affects ten
 * thousand ranks is not entered ten thousand times. False when out of memory.
 */
bool tc__index_build(struct tc__index *index, struct tc__some found, struct tc__some askers);
void tc__index_fini(struct tc__index *index);

/* The entries of a key that start early enough and, the first of them, last long enough. */
struct tc__range {
    size_t group; /* first entry of the key */
    size_t from;  /* overlaps, when from < to */
    size_t to;
};

struct tc__range tc__index_range(const struct tc__index *index, uint64_t key, int64_t start_ns,
                                 int64_t end_ns);

/* One line of a list: all strings are in the score's pool. */
struct tc__listed {
    struct tc_slice truth; /* name of the pair */
    struct tc_slice id;
    struct tc_slice pattern;
    struct tc_slice place;
    struct tc_slice named; /* wrong culprits: what the verdict names instead */
    struct tc_slice text;
    struct tc_slice other; /* the fault that it repeats, or the verdict that proves it; "" none */
    struct tc_slice noise; /* that a false positive fits; "" none */
    int64_t time_ns;
};

struct tc__list {
    struct tc__listed *at;
    size_t count;
    uint64_t total; /* those that were left out included */
};

enum tc__list_kind { TC__FALSE_POSITIVES, TC__FALSE_NEGATIVES, TC__WRONG_CULPRITS, TC__LISTS };

/* A time to detection, and of which pattern. */
struct tc__delay {
    int64_t ns;
    uint32_t pattern;
};

struct tc_score {
    struct tc_score_options options;
    struct tc_json_parser *parser;
    /* Of the pair at hand. */
    struct tc__pool pool;
    struct tc__items truths;
    struct tc__items verdicts;
    bool has_run;
    /* Of all pairs. */
    struct tc__pool kept;
    struct tc_score_row *sums; /* one per pattern */
    struct tc_score_row *rows; /* what tc_score_rows gave */
    struct tc__delay *delays;
    size_t delay_count;
    size_t delay_cap;
    uint64_t pairs;
    struct tc__list lists[TC__LISTS];
};

/* Pairs the faults and verdicts of the pair at hand: fills in mate and fate. */
TC_CHECKED tc_status tc__match(struct tc_score *s);

#endif
