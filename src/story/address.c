/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses: NCCL's monitor and some exporters know a host by its IP, Kubernetes says which node or
 * pod that is. An address of a node is taken for the node. The address of a pod is taken for the
 * pod and its node, unless two pods had it in turn.
 */
#include "story/story_priv.h"

/* Statements about one address that are looked at. */
#define ADDRESS_FACTS_MAX 256

static uint64_t address_hash(struct tc_slice address)
{
    return tc_slice_hash(address, 3);
}

bool tc__places_addresses(struct tc__places *p, struct tc_arena *arena)
{
    size_t count = 0;
    for (uint32_t i = 0; i < p->fact_count; i++) {
        count += p->facts[i].address.len > 0;
    }
    p->addresses = count > 0;
    if (!tc_map_init(&p->by_address, arena, count + 1)) {
        return false;
    }
    for (uint32_t i = 0; i < p->fact_count; i++) {
        if (p->facts[i].address.len > 0) {
            /* The map has room for all. */
            (void)tc_map_add(&p->by_address, address_hash(p->facts[i].address), (uint64_t)i + 1, 1);
        }
    }
    return true;
}

static bool is_pod(const struct tc_scope *s)
{
    return s->pod.len > 0 || s->pod_uid.len > 0;
}

static bool same_owner(const struct tc_scope *a, const struct tc_scope *b)
{
    return tc_slice_eq(a->node, b->node) && tc_slice_eq(a->ns, b->ns) &&
           tc_slice_eq(a->pod, b->pod) && tc_slice_eq(a->pod_uid, b->pod_uid);
}

/* Who has the address; NULL when nobody or more than one. A node goes before the pods on it. */
static const struct tc_scope *owner_of(const struct tc__places *p, struct tc_slice address)
{
    const struct tc_scope *owners[2] = {NULL, NULL}; /* a node, a pod */
    bool shared[2] = {false, false};
    struct tc_map_iter it = tc_map_find(&p->by_address, address_hash(address));
    unsigned seen = 0;
    for (uint64_t v; seen < ADDRESS_FACTS_MAX && (v = tc_map_next(&p->by_address, &it)) != 0;
         seen++) {
        const struct tc__fact *f = &p->facts[v - 1];
        if (tc_slice_eq(f->address, address)) {
            size_t kind = is_pod(&f->scope);
            shared[kind] =
                shared[kind] || (owners[kind] != NULL && !same_owner(owners[kind], &f->scope));
            owners[kind] = &f->scope;
        }
    }
    size_t kind = owners[0] == NULL;
    return shared[kind] ? NULL : owners[kind];
}

struct tc_scope tc__places_resolve(const struct tc__places *p, const struct tc_scope *scope)
{
    struct tc_scope out = *scope;
    const struct tc_scope *owner =
        p->addresses && scope->node.len > 0 ? owner_of(p, scope->node) : NULL;
    if (owner == NULL) {
        return out;
    }
    out.node = owner->node;
    if (is_pod(owner)) {
        /* A container counts the GPUs that it was given, not those of the node. */
        out.gpu_index = -1;
        if (!is_pod(scope)) {
            out.ns = owner->ns;
            out.pod = owner->pod;
            out.pod_uid = owner->pod_uid;
        }
    }
    return out;
}
