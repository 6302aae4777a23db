/* SPDX-License-Identifier: Apache-2.0 */
/* A contract's graph while it is built. */
#ifndef TC_CONTRACT_BUILD_PRIV_H
#define TC_CONTRACT_BUILD_PRIV_H

#include "contract/contract_priv.h"

/* What a collection becomes. */
enum tc__shape { TC__SHAPE_PLAIN, TC__SHAPE_SET, TC__SHAPE_PAIRS };

struct tc__frame {
    uint32_t node;
    uint32_t key;       /* of the pair whose value comes next, or TC__NONE */
    uint32_t merge;     /* first of the entries that merge keys wait in */
    uint32_t merge_end; /* ... and the last */
    enum tc__shape shape;
};

struct tc__anchor {
    size_t text;
    size_t len;
    uint32_t node;
};

/* Invariant: depth <= TC_JSON_DEPTH_MAX, anchor_count <= TC__CONTRACT_ANCHORS_MAX. */
struct tc__build {
    struct tc_contract *c;
    struct tc_slice source;
    struct tc__frame frames[TC_JSON_DEPTH_MAX];
    size_t depth;
    struct tc__anchor anchors[TC__CONTRACT_ANCHORS_MAX];
    size_t anchor_count;
    size_t documents;
    unsigned lines_before; /* not seen by libfyaml */
    struct tc_error *err;
};

/* Where an event stands, from 1. */
struct tc__place {
    unsigned line;
    unsigned column;
    size_t at;
};

/* TC_E_MALFORMED with the place in front. */
tc_status tc__build_refuse(const struct tc__build *b, struct tc__place p, const char *why);
tc_status tc__build_no_memory(const struct tc__build *b);
tc_status tc__build_node(struct tc__build *b, enum tc__kind kind, struct tc__place p,
                         uint32_t *out);
/* A copy in the contract's text; *out is where. */
tc_status tc__build_text(struct tc__build *b, struct tc_slice s, size_t *out);
/* A whole value: into the collection that is open. */
tc_status tc__build_place(struct tc__build *b, uint32_t node, struct tc__place p);
/* When a collection ends: its merge keys, then pairs that a later one overrides. */
tc_status tc__build_merge(struct tc__build *b, struct tc__frame *f);
tc_status tc__build_overridden(struct tc__build *b, const struct tc__node *n);

#endif
