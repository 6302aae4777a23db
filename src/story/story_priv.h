/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the story: what verdicts are about, and links. */
#ifndef TC_STORY_STORY_PRIV_H
#define TC_STORY_STORY_PRIV_H

#include "base/arena.h"
#include "base/turn.h"
#include "directory/view.h"
#include "story/story.h"

#include <stdbool.h>

/* Ranks of one verdict whose places are looked up, and places of each kind it may have. */
#define TC__WHERE_MAX 4096
/* Causes of one verdict. */
#define TC__CAUSES_MAX 8

/* A thing that a verdict is about, and how that is known. */
struct tc__token {
    uint32_t name;      /* root */
    uint32_t statement; /* that led to it, or TC_NAME_NONE: the verdict itself says so */
    int32_t rank;       /* that led to it, or -1 */
};

enum tc__class { TC__CLASS_NODE, TC__CLASS_RANK, TC__CLASS_POD, TC__CLASS_GPU, TC__CLASS_COUNT };

/* Who is who, as all statements say it, and room for what one verdict is about. */
struct tc__lookup {
    struct tc_view view;
    struct tc__token *room[TC__CLASS_COUNT]; /* of TC__WHERE_MAX each, while one is gathered */
    uint64_t steps;                          /* comparisons of verdicts and their names */
};

/* To be made, by tc_view_make, from all statements and from the scopes of the verdicts. False when
 * the arena is full. */
bool tc__lookup_begin(struct tc__lookup *l, const struct tc_directory *directory,
                      const struct tc_incident_table *kept, struct tc_arena *arena);

struct tc__where {
    struct tc__token *tokens[TC__CLASS_COUNT];
    size_t count[TC__CLASS_COUNT];
    bool more[TC__CLASS_COUNT]; /* the verdict is about others too, which it does not list */
};

/*
 * What a verdict is about. As an effect, a hang is about its culprits; as a cause it is about all
 * of its ranks. The GPUs of a pod are not the pod's verdict's: a pod is a pod. False when the
 * arena is full.
 */
bool tc__where_of(struct tc__lookup *l, const struct tc_incident_entry *v, bool as_cause,
                  struct tc_arena *arena, struct tc__where *out);

#define BY_GPU (1u << TC__CLASS_GPU)
#define BY_POD (1u << TC__CLASS_POD)
#define BY_RANK (1u << TC__CLASS_RANK)
#define BY_NODE (1u << TC__CLASS_NODE)
/* The cause concerns the whole node: another pod or GPU of that node is no objection. */
#define BY_WHOLE_NODE (1u << TC__CLASS_COUNT)
/* With BY_NODE: the cause may be a port above the effect's GPU. It counts when nobody else names
 * its address, and only at the same moment. */
#define BY_PORT_AT_ONCE (2u << TC__CLASS_COUNT)
/* With BY_NODE: the cause is a switch, and the effect what the GPUs behind it say of its fault. */
#define BY_SWITCH (4u << TC__CLASS_COUNT)

struct tc__rule {
    struct tc_slice cause;
    struct tc_slice effect;
    struct tc_slice at;
    int64_t before_ns;
    int64_t late_ns;
    unsigned by;
};

/* The rule by which one explains the other; NULL: none. */
const struct tc__rule *tc__rule_of(const struct tc_incident_entry *cause,
                                   const struct tc_incident_entry *effect);
/* Whether verdicts of a pattern explain any. */
bool tc__is_cause(struct tc_slice pattern);
/* When the effect was felt, as the rule has it. */
int64_t tc__effect_time(const struct tc_incident_entry *v, const struct tc__rule *rule);
bool tc__is_in_order(const struct tc__rule *rule, const struct tc_incident_entry *cause,
                     const struct tc_incident_entry *effect);
/* Whether what both are about speaks against a link by a thing of that class. */
bool tc__is_contradicted(const struct tc__rule *rule, enum tc__class by,
                         const struct tc__where *cause, const struct tc__where *effect);
/* Whether the cause is a switch, and the effect an Xid of NVLink. */
bool tc__is_of_switch(const struct tc_finding *cause, const struct tc_finding *effect);

/* What linking says of a verdict. Refers to the verdict's own, and to the arena of the links. */
struct tc__links {
    const struct tc_verdict_cause *causes;
    size_t cause_count;
    struct tc_slice discriminator;
    struct tc_slice group;
    size_t story; /* index of the first verdict of its story */
    bool root;
};

struct tc__linker;

/*
 * Begins to link the verdicts of kept, which are sorted, and stay as they are until it is done.
 * What is needed meanwhile lies in `work`, what comes out in `links`. NULL when work is full.
 */
struct tc__linker *tc__linker_begin(const struct tc_incident_table *kept, struct tc__lookup *lookup,
                                    struct tc_arena *work, struct tc_arena *links);
/* Goes on. TC_OK: *out has what was found for each verdict. TC_E_AGAIN; TC_E_NOMEM. */
TC_CHECKED tc_status tc__linker_go_on(struct tc__linker *l, const struct tc_turn *turn,
                                      const struct tc__links **out);

/*
 * One sentence: why effect follows from cause, and how long it began after it, by the first_seen of
 * both. The empty slice when the arena is full. `guessed`:
 * the cause is about one GPU of the node, and nothing says whether it is the effect's.
 */
struct tc_slice tc__link_why(struct tc__lookup *lookup, struct tc_arena *arena,
                             const struct tc_incident_entry *cause,
                             const struct tc_incident_entry *effect, enum tc__class by,
                             const struct tc__token *effect_token, bool guessed);

#endif
