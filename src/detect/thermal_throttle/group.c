/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs that are slowed at once. A group is a rack where a label names it, else a node,
 * else one GPU; the incident is the group's from its first GPU on, so one GPU that
 * becomes several, and a node that becomes a rack, stay one incident that grows.
 */
#include "detect/health_priv.h"
#include "detect/thermal_throttle/priv.h"
#include "detect/words_priv.h"

/* A group of which nothing was heard for so long is forgotten, not resolved. */
#define GROUP_KEPT_NS (86400 * TC_SECOND)

#define GROUP_RING_BYTES ((size_t)4 << 20)
#define RACK_RING_BYTES ((size_t)1 << 20)
#define QUEUE_MAX ((size_t)4096)

/* Where a node stands. */
struct heat_rack {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice rack;
};

static const struct tc_record_type RACK = {
    .size = sizeof(struct heat_rack),
    .text_min = 2,
    .texts = {TC_TEXT(struct heat_rack, node), TC_TEXT(struct heat_rack, rack)},
    .keys = {{TC_FIELD(struct heat_rack, node)}},
};
static const struct tc_record_type GROUP = {
    .size = sizeof(struct heat_group),
    .texts = {TC_TEXT(struct heat_group, name), TC_TEXT(struct heat_group, rack)},
    .keys = {{TC_FIELD(struct heat_group, name), TC_FIELD(struct heat_group, rack)}},
};

bool tc__heat_groups_init(struct heat_state *st)
{
    return tc__window_open(&st->groups, &st->base, &GROUP, GROUP_RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__window_open(&st->racks, &st->base, &RACK, RACK_RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__waiting_init(&st->queue, st->base.arena, &st->groups, QUEUE_MAX, NULL);
}

tc_status tc__heat_learn_rack(struct heat_state *st, const struct tc_event *ev)
{
    struct heat_rack key = {.node = ev->scope.node, .rack = ev->k8s.rack};
    if (key.node.len == 0 || key.rack.len == 0 || key.node.len > TC_SCOPE_TEXT_MAX ||
        key.rack.len > TC_SCOPE_TEXT_MAX) {
        return TC_OK;
    }
    const struct heat_rack *known = tc__window_get(&st->racks, &key);
    if (known != NULL && tc_slice_eq(known->rack, key.rack)) {
        return TC_OK;
    }
    return tc__window_add(&st->racks, &key, st->base.now_ns) == NULL ? TC_E_NOMEM : TC_OK;
}

/* The group of a GPU, made when there is none. NULL when scratch is full. */
static struct heat_group *group_of(struct heat_state *st, const struct heat_gpu *gpu,
                                   struct tc_slice rack)
{
    struct heat_group key = {.rack = rack};
    key.name = rack.len > 0 ? rack : gpu->node.len > 0 ? gpu->node : gpu->uuid;
    return tc__window_get_or_add(&st->groups, &key, st->base.now_ns);
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
    struct heat_member members[HEAT_MEMBERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < g->member_count; i++) {
        const struct heat_gpu *gpu = tc__window_at(&st->gpus_window, g->members[i]);
        if (gpu == NULL) {
            continue;
        }
        struct heat_member *m = &members[count++];
        m->gpu = gpu;
        m->scope = tc__gpu_scope(gpu->node, gpu->uuid, gpu->pci, gpu->index);
        (void)tc_directory_complete(st->directory, &m->scope);
        m->scope.node = tc_slice_eq(m->scope.node, TC__NO_NODE) ? TC_EMPTY : m->scope.node;
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
    g->waits = tc__waiting_add(&st->queue, g, st->base.now_ns + st->grace_ns);
    return g->waits ? TC_OK : tell(st, g, out);
}

tc_status tc__heat_tell_due(struct heat_state *st, int64_t now_ns, const struct tc_sink *out)
{
    struct heat_group *g = NULL;
    while ((g = tc__waiting_take(&st->queue, now_ns, NULL)) != NULL) {
        g->waits = false;
        TC_TRY(tell(st, g, out));
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
        const struct heat_rack *known = rack.len > 0 ? NULL : tc__window_get(&st->racks, &key);
        g = group_of(st, gpu, known == NULL ? rack : known->rack);
    }
    if (g == NULL) {
        return TC_E_NOMEM;
    }
    if (g->serial == 0 || st->base.now_ns - g->last_ns > GROUP_KEPT_NS) {
        open_group(st, g, gpu->episode.first_ns);
        again = false;
    }
    g->last_ns = st->base.now_ns;
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
        st->base.dropped++;
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
    g->last_ns = st->base.now_ns;
    return worse ? wait(st, g, out) : TC_OK;
}

tc_status tc__heat_leave(struct heat_state *st, struct heat_gpu *gpu, const struct tc_sink *out)
{
    struct heat_group *g = current(st, gpu);
    if (g == NULL) {
        return TC_OK;
    }
    g->last_ns = st->base.now_ns;
    g->hot_count -= g->hot_count > 0;
    return g->hot_count == 0 ? tell(st, g, out) : TC_OK;
}
