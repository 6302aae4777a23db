/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses: NCCL's monitor and some exporters know a host by its IP, Kubernetes says which node or
 * pod that is. An address of a node is taken for the node. The address of a pod is taken for the
 * pod and its node, unless two pods had it in turn.
 */
#include "directory/directory_priv.h"
#include "directory/view.h"

/* Statements about one address that are looked at. */
#define ADDRESS_STATEMENTS_MAX 256

static uint64_t address_hash(struct tc_slice address)
{
    return tc_slice_hash(address, 3);
}

void tc__view_note_address(struct tc_view *v, uint32_t at)
{
    if (v->statements[at].address.len > 0) {
        v->addresses = true;
        /* The map has room for all. */
        (void)tc_map_add(&v->by_address, address_hash(v->statements[at].address), (uint64_t)at + 1,
                         1);
    }
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
static const struct tc_scope *owner_of(const struct tc_view *v, struct tc_slice address)
{
    const struct tc_scope *owners[2] = {NULL, NULL}; /* a node, a pod */
    bool shared[2] = {false, false};
    struct tc_map_iter it = tc_map_find(&v->by_address, address_hash(address));
    unsigned seen = 0;
    for (uint64_t at; seen < ADDRESS_STATEMENTS_MAX && (at = tc_map_next(&v->by_address, &it)) != 0;
         seen++) {
        const struct tc_statement *f = &v->statements[at - 1];
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

struct tc_scope tc_view_resolve(const struct tc_view *v, const struct tc_scope *scope)
{
    struct tc_scope out = *scope;
    const struct tc_scope *owner =
        v->addresses && scope->node.len > 0 ? owner_of(v, scope->node) : NULL;
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
