/* SPDX-License-Identifier: Apache-2.0 */
/* What xid_correlation knows about GPUs: which one sits where. */
#include "detect/finding_priv.h"
#include "detect/xid_correlation_priv.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Boards at one address after which pods are not looked at again for the next one: nobody swaps
 * so many, and an inventory that flaps must not cost a walk each time. */
#define CHANGES_MAX 16

#define PLACE_RING_BYTES ((size_t)1 << 20)

/* Which GPU sits where. Does not expire: it is said once, at boot. */
struct xid_place {
    struct tc_window_head head;
    struct tc_bdf pci;
    unsigned changes; /* of the board, up to CHANGES_MAX */
    struct tc_slice node;
    struct tc_slice uuid;
};

static const size_t PLACE_TEXTS[] = {
    offsetof(struct xid_place, node),
    offsetof(struct xid_place, uuid),
};

static bool same_place(const void *record, const void *key)
{
    const struct xid_place *a = record;
    const struct xid_place *b = key;
    return tc_bdf_eq(a->pci, b->pci) && tc_slice_eq(a->node, b->node);
}

bool tc__xid_places_init(struct xid_state *st, struct tc_arena *arena)
{
    /* A place names its node and a UUID: none is smaller than this. */
    return tc__window_init(&st->places, arena, PLACE_RING_BYTES,
                           PLACE_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct xid_place), 2),
                           1, false);
}

static struct tc_window_place find_place(const struct xid_state *st, struct tc_slice node,
                                         struct tc_bdf pci)
{
    struct xid_place key = {.node = node, .pci = pci};
    uint64_t hash = tc_hash_mix(tc__xid_node_hash(node), tc__xid_bdf_bits(pci));
    return tc__window_find(&st->places, &st->places.index, hash, same_place, &key);
}

struct tc_slice tc__xid_gpu_uuid(const struct xid_state *st, struct tc_slice node,
                                 struct tc_slice given, struct tc_bdf pci)
{
    if (given.len > 0 || !pci.known) {
        return given;
    }
    const struct xid_place *place = find_place(st, node, pci).record;
    return place == NULL ? TC_EMPTY : place->uuid;
}

bool tc__xid_other_gpu(struct tc_slice a_uuid, struct tc_bdf a_pci, struct tc_slice b_uuid,
                       struct tc_bdf b_pci)
{
    if (tc_slice_starts(a_uuid, TC_LIT("GPU-")) && tc_slice_starts(b_uuid, TC_LIT("GPU-"))) {
        return !tc_slice_eq(a_uuid, b_uuid);
    }
    return a_pci.known && b_pci.known && !tc_bdf_eq(a_pci, b_pci);
}

tc_status tc__xid_learn_place(struct xid_state *st, const struct tc_scope *scope, bool *out_again)
{
    struct tc_window *w = &st->places;
    struct tc_window_place at = find_place(st, scope->node, scope->pci);
    const struct xid_place *known = at.record;
    *out_again = false;
    if (known != NULL && tc_slice_eq(known->uuid, scope->gpu_uuid)) {
        return TC_OK;
    }
    struct xid_place place = {
        .pci = scope->pci,
        .changes = known == NULL ? 0 : known->changes + (known->changes < CHANGES_MAX),
        .node = scope->node,
        .uuid = scope->gpu_uuid,
    };
    const struct xid_place *kept = tc__window_push(w, st->scratch, &place, sizeof place,
                                                   PLACE_TEXTS, COUNT(PLACE_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, at, kept);
    *out_again = place.changes < CHANGES_MAX;
    return TC_OK;
}
