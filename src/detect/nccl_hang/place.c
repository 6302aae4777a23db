/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table/map.h"
#include "base/time.h"
#include "detect/nccl_hang/place_priv.h"
#include "event/format.h"
#include "event/xid.h"

#define NODES_MAX 32768
#define NODES_SHOWN 4
/* An Xid this long before a hang began may still be what stopped the device. */
#define XID_BEFORE_NS (600 * TC_SECOND)

/* A node, or one GPU of it by address: something was read of it. */
struct heard {
    uint64_t name;
    int64_t xid_ns; /* of its latest Xid of hardware or driver, TC_TIME_NONE for none */
    int64_t xid;
};

struct nccl_nodes {
    const struct tc_directory *directory;
    struct heard *items;
    size_t most;
    uint32_t count;
    struct tc_map index;
    uint64_t *ignored; /* those for which there was no room count there */
};

struct nccl_nodes *tc__nodes_create(struct tc_detector_base *base,
                                    const struct tc_directory *directory)
{
    struct nccl_nodes *n = tc_new(base->arena, struct nccl_nodes, 1);
    if (n == NULL) {
        return NULL;
    }
    n->directory = directory;
    n->ignored = &base->ignored;
    n->most = tc_detector_room(base, NODES_MAX);
    n->items = tc_new(base->arena, struct heard, n->most);
    return n->items != NULL && tc_map_init(&n->index, base->arena, n->most) ? n : NULL;
}

static uint64_t node_hash(struct tc_slice node)
{
    return tc_slice_hash(node, 0);
}

/* Of a GPU when its address is known, else of the node itself; `node` is the hash of its name. */
static uint64_t name_of(uint64_t node, struct tc_bdf pci)
{
    uint64_t device = (uint64_t)pci.domain << 16 | (uint64_t)pci.bus << 8 | pci.device;
    return tc_hash_mix(node, pci.known ? device : UINT64_MAX);
}

static struct heard *find(const struct nccl_nodes *n, uint64_t name)
{
    struct tc_map_iter it = tc_map_find(&n->index, name);
    uint64_t v = tc_map_next(&n->index, &it);
    return v == 0 ? NULL : &n->items[v - 1];
}

static bool is_of_program(int64_t code)
{
    const struct tc_xid *xid = tc_xid_find(code);
    return xid != NULL && xid->class == TC_XID_APPLICATION;
}

/* What an event says of a node or GPU: that there is something to read, and its Xid if that counts.
 */
static void note(struct nccl_nodes *n, uint64_t name, const struct tc_event *ev, bool counts)
{
    struct heard *h = find(n, name);
    if (h == NULL) {
        if (n->count == n->most || !tc_map_add(&n->index, name, n->count + 1, 0)) {
            (*n->ignored)++;
            return;
        }
        h = &n->items[n->count++];
        *h = (struct heard){.name = name, .xid_ns = TC_TIME_NONE};
    }
    /* The latest; of one time the highest, so that their order does not matter. */
    if (counts &&
        (ev->time_ns > h->xid_ns || (ev->time_ns == h->xid_ns && ev->xid.code > h->xid))) {
        h->xid_ns = ev->time_ns;
        h->xid = ev->xid.code;
    }
}

void tc__nodes_on_event(struct nccl_nodes *n, const struct tc_event *ev)
{
    const struct tc_scope *s = &ev->scope;
    if (s->node.len == 0) {
        return;
    }
    uint64_t node = node_hash(s->node);
    bool xid = ev->kind == TC_EVENT_XID;
    /* Those of programs tell of the end of a process, not of its GPU. */
    bool counts = xid && tc_time_is_date(ev->time_ns) && !is_of_program(ev->xid.code);
    note(n, name_of(node, (struct tc_bdf){0}), ev, counts);
    if (xid && s->pci.known) {
        note(n, name_of(node, s->pci), ev, counts);
    }
}

void tc__nodes_place(const struct nccl_nodes *n, struct tc_scope *io)
{
    tc_directory_place_rank(n->directory, io);
}

static void write_place(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_scope *s = arg->object;
    bool gpu = s->gpu_uuid.len > 0 || s->pci.known || s->gpu_index >= 0;
    tc_format(b, "rank {}{}", s->rank, tc_when(s->node.len > 0, " on node {}", s->node));
    if (s->pod.len > 0 || gpu) {
        tc_format(b, " ({}{}{})", tc_when(s->pod.len > 0, "pod {}", tc_as_pod(s->ns, s->pod)),
                  s->pod.len > 0 && gpu ? ", " : "", tc_when(gpu, "{}", tc_as_gpu(s)));
    }
}

struct tc_arg tc__nodes_as_place(const struct tc_scope *place)
{
    return tc_as_written(write_place, place);
}

static void write_nodes(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_scope *places = arg->object;
    struct tc_slice nodes[NCCL_PLACES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < arg->count; i++) {
        size_t at = 0;
        while (at < count && !tc_slice_eq(nodes[at], places[i].node)) {
            at++;
        }
        if (places[i].node.len == 0) {
            return;
        }
        nodes[at] = places[i].node;
        count += at == count;
    }
    tc_format(b, " on node{} {}", count == 1 ? "" : "s", tc_as_list(nodes, count, NODES_SHOWN));
}

struct tc_arg tc__nodes_as_nodes(const struct tc_scope *places, size_t count)
{
    /* The scope of the verdict has the node of a single culprit. */
    return count < 2 ? TC_ARG("")
                     : (struct tc_arg){.write = write_nodes, .object = places, .count = count};
}

static void write_check(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct nccl_check *c = arg->object;
    const struct tc_scope *at = c->place;
    uint64_t name = node_hash(at->node);
    const struct heard *node =
        at->node.len == 0 ? NULL : find(c->nodes, name_of(name, (struct tc_bdf){0}));
    const struct heard *own =
        node != NULL && at->pci.known ? find(c->nodes, name_of(name, at->pci)) : node;
    if (node == NULL) {
        tc_format(b, "read the kernel log of its node for Xid errors and check the GPU with "
                     "nvidia-smi -q; drain the node if it shows one");
    } else if (own != NULL && own->xid_ns != TC_TIME_NONE &&
               own->xid_ns >= c->since_ns - XID_BEFORE_NS) {
        tc_format(b,
                  "its {} logged Xid {} {}; check the GPU with nvidia-smi -q and drain the "
                  "node",
                  at->pci.known ? "GPU" : "node", own->xid, tc_as_moment(own->xid_ns));
    } else {
        tc_format(
            b,
            "what was read of its node has no Xid of hardware{}; check the GPU with nvidia-smi -q, "
            "and drain the node if it shows an error",
            at->pci.known ? " for its GPU" : "");
    }
}

struct tc_arg tc__nodes_as_check(const struct nccl_check *check)
{
    return tc_as_written(write_check, check);
}

void tc__nodes_put_culprits(struct tc_draft *d, const struct tc_scope *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct tc_scope *s = &places[i];
        if (s->node.len > 0 || s->pod.len > 0 || s->gpu_uuid.len > 0) {
            tc__draft_attr_scopes(d, TC_LIT("tracecore.alert.nccl_hang.culprits"), places, count);
            return;
        }
    }
}
