/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs that are slowed at once. A group is a rack where a label names it, else a node,
 * else one GPU; the incident is the group's from its first GPU on, so one GPU that
 * becomes several, and a node that becomes a rack, stay one incident that grows.
 */
#include "detect/finding_priv.h"
#include "detect/thermal_throttle/priv.h"

/* A group of which nothing was heard for so long is forgotten, not resolved. */
#define GROUP_KEPT_NS (86400 * TC_SECOND)

#define RACK_RING_BYTES ((size_t)1 << 20)

enum { SEED_RACK = 1, SEED_NODE = 2, SEED_GPU = 3 };

static bool same_group(const void *record, const void *key)
{
    const struct heat_group *a = record;
    const struct heat_group *b = key;
    return tc_slice_eq(a->name, b->name) && tc_slice_eq(a->rack, b->rack);
}

/* Where a node stands. */
struct heat_rack {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice rack;
};

static const size_t RACK_TEXTS[] = {offsetof(struct heat_rack, node),
                                    offsetof(struct heat_rack, rack)};

static bool same_rack_node(const void *record, const void *key)
{
    return tc_slice_eq(((const struct heat_rack *)record)->node,
                       ((const struct heat_rack *)key)->node);
}

static struct tc_window_place find_rack(const struct heat_state *st, const struct heat_rack *key)
{
    return tc__window_find(&st->racks, &st->racks.index, tc_slice_hash(key->node, SEED_NODE),
                           same_rack_node, key);
}

bool tc__heat_racks_init(struct heat_state *st, struct tc_arena *arena)
{
    return tc__window_init(&st->racks, arena, RACK_RING_BYTES,
                           RACK_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct heat_rack), 1), 1,
                           false);
}

tc_status tc__heat_learn_rack(struct heat_state *st, const struct tc_event *ev)
{
    struct heat_rack key = {.node = ev->scope.node, .rack = ev->k8s.rack};
    if (key.node.len == 0 || key.rack.len == 0 || key.node.len > TC_SCOPE_TEXT_MAX ||
        key.rack.len > TC_SCOPE_TEXT_MAX) {
        return TC_OK;
    }
    const struct heat_rack *known = find_rack(st, &key).record;
    if (known != NULL && tc_slice_eq(known->rack, key.rack)) {
        return TC_OK;
    }
    struct heat_rack *kept = tc__window_push(&st->racks, st->scratch, &key, sizeof key, RACK_TEXTS,
                                             TC_COUNT(RACK_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(&st->racks, &st->racks.index, find_rack(st, kept), kept);
    return TC_OK;
}

static const size_t GROUP_TEXTS[] = {offsetof(struct heat_group, name),
                                     offsetof(struct heat_group, rack)};

/* The group of a GPU, made when there is none. NULL when scratch is full. */
static struct heat_group *group_of(struct heat_state *st, const struct heat_gpu *gpu,
                                   struct tc_slice rack)
{
    struct heat_group key = {.rack = rack, .name = gpu->node};
    uint64_t hash = tc_slice_hash(gpu->node, SEED_NODE);
    if (rack.len > 0) {
        key.name = rack;
        hash = tc_slice_hash(rack, SEED_RACK);
    } else if (gpu->node.len == 0) {
        key.name = gpu->uuid;
        hash = tc_slice_hash(gpu->uuid, SEED_GPU);
    }
    struct tc_window *w = &st->groups;
    struct tc_window_place place = tc__window_find(w, &w->index, hash, same_group, &key);
    if (place.record == NULL) {
        struct heat_group *kept = tc__window_push(w, st->scratch, &key, sizeof key, GROUP_TEXTS,
                                                  TC_COUNT(GROUP_TEXTS), st->now_ns);
        if (kept == NULL) {
            return NULL;
        }
        tc__window_put(w, &w->index, place, kept);
        return kept;
    }
    return place.record;
}

/* The group in whose incident the GPU is; NULL when it is in none. */
static struct heat_group *current(const struct heat_state *st, const struct heat_gpu *gpu)
{
    struct heat_group *g = tc__window_at(&st->groups, gpu->group);
    return g != NULL && g->serial != 0 && g->serial == gpu->serial ? g : NULL;
}

static tc_status tell(struct heat_state *st, struct heat_group *g, const struct tc_sink *out)
{
    if (g->serial == 0) {
        return TC_OK;
    }
    static const struct heat_member NOBODY;
    struct heat_member members[HEAT_MEMBERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < g->member_count; i++) {
        const struct heat_gpu *gpu = tc__window_at(&st->gpus_window, g->members[i]);
        if (gpu == NULL) {
            continue;
        }
        struct heat_member *m = &members[count++];
        *m = NOBODY;
        m->gpu = gpu;
        m->scope = TC_SCOPE_NONE;
        m->scope.node = gpu->node;
        m->scope.gpu_uuid = gpu->uuid;
        m->scope.pci = gpu->pci;
        m->scope.gpu_index = gpu->index;
        (void)tc_directory_complete(st->directory, &m->scope);
    }
    tc_status status = count == 0 ? TC_OK : tc__heat_report(st, g, members, count, out);
    g->told = true;
    if (g->hot_count == 0) {
        g->serial = 0;
    }
    return status;
}

static tc_status wait(struct heat_state *st, struct heat_group *g, const struct tc_sink *out)
{
    if (g->waits) {
        return TC_OK;
    }
    g->waits = tc__due_put(&st->queue, g->head.pos, st->now_ns + st->grace_ns);
    return g->waits ? TC_OK : tell(st, g, out);
}

tc_status tc__heat_tell_due(struct heat_state *st, int64_t now_ns, const struct tc_sink *out)
{
    uint64_t pos = TC_RING_NONE;
    while (tc__due_take(&st->queue, now_ns, &pos)) {
        struct heat_group *g = tc__window_at(&st->groups, pos);
        if (g != NULL) {
            g->waits = false;
            TC_TRY(tell(st, g, out));
        }
    }
    return TC_OK;
}

tc_status tc__heat_tell_all(struct heat_state *st, const struct tc_sink *out)
{
    const struct tc_ring *ring = &st->groups.ring;
    uint64_t pos = TC_RING_NONE;
    struct heat_group *g = tc_ring_oldest(&st->groups.ring, &pos);
    for (; g != NULL; g = tc_ring_next(ring, pos, &pos)) {
        g->waits = false;
        TC_TRY(tell(st, g, out));
    }
    st->queue.count = 0;
    return TC_OK;
}

static void open_group(struct heat_state *st, struct heat_group *g, int64_t since_ns)
{
    g->serial = ++st->last_serial;
    g->key_ns = since_ns;
    g->told = false;
    g->hot_count = 0;
    g->more_count = 0;
    g->member_count = 0;
}

tc_status tc__heat_join(struct heat_state *st, struct heat_gpu *gpu, struct tc_slice rack,
                        const struct tc_sink *out)
{
    struct heat_group *g = current(st, gpu);
    bool again = g != NULL; /* it had left, but others keep the incident open */
    if (!again) {
        struct heat_rack key = {.node = gpu->node};
        const struct heat_rack *known = rack.len > 0 ? NULL : find_rack(st, &key).record;
        g = group_of(st, gpu, known == NULL ? rack : known->rack);
    }
    if (g == NULL) {
        return TC_E_NOMEM;
    }
    if (g->serial == 0 || st->now_ns - g->last_ns > GROUP_KEPT_NS) {
        open_group(st, g, gpu->episode.first_ns);
        again = false;
    }
    g->last_ns = st->now_ns;
    g->hot_count++;
    if (again) {
        return TC_OK;
    }
    /* Until it is told, the beginning may turn out to be earlier. */
    bool earlier = !g->told && gpu->episode.first_ns < g->key_ns;
    g->key_ns = earlier ? gpu->episode.first_ns : g->key_ns;
    gpu->group = g->head.pos;
    gpu->serial = g->serial;
    if (g->member_count < HEAT_MEMBERS_MAX) {
        g->members[g->member_count++] = gpu->head.pos;
    } else {
        g->more_count++;
        st->left_out++;
    }
    return wait(st, g, out);
}

bool tc__heat_is_member(const struct heat_state *st, const struct heat_gpu *gpu)
{
    return current(st, gpu) != NULL;
}

tc_status tc__heat_stay(struct heat_state *st, const struct heat_gpu *gpu, bool worse,
                        const struct tc_sink *out)
{
    struct heat_group *g = current(st, gpu);
    if (g == NULL) {
        return TC_OK;
    }
    g->last_ns = st->now_ns;
    return worse ? wait(st, g, out) : TC_OK;
}

tc_status tc__heat_leave(struct heat_state *st, struct heat_gpu *gpu, const struct tc_sink *out)
{
    struct heat_group *g = current(st, gpu);
    if (g == NULL) {
        return TC_OK;
    }
    g->last_ns = st->now_ns;
    g->hot_count -= g->hot_count > 0;
    return g->hot_count == 0 ? tell(st, g, out) : TC_OK;
}
