/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs that are slowed at once. A group is a rack where a label names it, else a node,
 * else one GPU. GPUs of two nodes of a rack may be hot by chance: until so many are that
 * it is the rack, each node is told for itself. One GPU that becomes several, and a node
 * that becomes a rack, stay one incident that grows.
 */
#include "detect/health_priv.h"
#include "detect/thermal_throttle/priv.h"
#include "detect/words_priv.h"

/* A group of which nothing was heard for so long is forgotten, not resolved. */
#define GROUP_KEPT_NS (86400 * TC_SECOND)

#define GROUP_RING_BYTES ((size_t)4 << 20)
#define RACK_RING_BYTES ((size_t)1 << 20)
#define QUEUE_MAX ((size_t)4096)
/* Nodes of a rack with any GPU that is slowed; with several GPUs each two are enough. */
#define RACK_NODES 3

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

static size_t list_members(const struct heat_state *st, const struct heat_group *g,
                           struct heat_member members[HEAT_MEMBERS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < g->member_count; i++) {
        struct heat_gpu *gpu = tc__window_at(&st->gpus_window, g->members[i]);
        if (gpu == NULL) {
            continue;
        }
        struct heat_member *m = &members[count++];
        m->gpu = gpu;
        m->scope = tc__gpu_scope(gpu->node, gpu->uuid, gpu->pci, gpu->index);
        (void)tc_directory_complete(st->directory, &m->scope);
        m->scope.node = tc_slice_eq(m->scope.node, TC__NO_NODE) ? TC_EMPTY : m->scope.node;
    }
    return count;
}

/* A GPU whose node is not known is a place of its own. */
static bool is_together(const struct heat_member *a, const struct heat_member *b)
{
    return a == b || (a->scope.node.len > 0 && tc_slice_eq(a->scope.node, b->scope.node));
}

/* Whether so many are slowed now that it is the rack: several of two nodes, or some of three. */
static bool are_hot_together(const struct heat_state *st, const struct heat_member *members,
                             size_t count)
{
    size_t some = 0;
    size_t several = 0;
    for (size_t i = 0; i < count; i++) {
        size_t hot = 0;
        bool first = true;
        for (size_t k = 0; k < count; k++) {
            bool together = is_together(&members[i], &members[k]);
            first = first && (k >= i || !together);
            hot += together && members[k].gpu->hot;
        }
        some += first && hot > 0;
        several += first && hot >= (size_t)st->gpus;
    }
    return several >= 2 || some >= RACK_NODES;
}

/* The rack goes on under the name of the node that was told of first, if any was. */
static void become_rack(struct heat_group *g, const struct heat_member *members, size_t count)
{
    const struct heat_member *lead = NULL;
    g->is_rack = true;
    g->lead = TC_RING_NONE;
    g->key_ns = members[0].gpu->episode.first_ns;
    for (size_t i = 0; i < count; i++) {
        const struct heat_gpu *gpu = members[i].gpu;
        g->key_ns = gpu->episode.first_ns < g->key_ns ? gpu->episode.first_ns : g->key_ns;
        bool earlier = lead == NULL || gpu->alone_ns < lead->gpu->alone_ns ||
                       (gpu->alone_ns == lead->gpu->alone_ns &&
                        tc_slice_cmp(members[i].scope.node, lead->scope.node) < 0);
        lead = gpu->alone_ns != TC_TIME_NONE && earlier ? &members[i] : lead;
    }
    g->lead = lead == NULL ? TC_RING_NONE : lead->gpu->head.pos;
}

/* The members of one node come first from here on; how many there are of it. */
static size_t bring_together(struct heat_member *members, size_t count)
{
    size_t of_it = 1;
    for (size_t i = 1; i < count; i++) {
        if (is_together(&members[0], &members[i])) {
            struct heat_member m = members[of_it];
            members[of_it++] = members[i];
            members[i] = m;
        }
    }
    return of_it;
}

/* What is told of the GPUs of one node of a rack alone. */
static struct heat_topic part_of(const struct heat_group *g, const struct heat_member *members,
                                 size_t count)
{
    const struct tc_scope *scope = &members[0].scope;
    struct heat_topic part = {.group = g, .key_ns = TC_TIME_NONE, .over = true};
    int64_t first_ns = INT64_MAX;
    part.place = scope->node.len > 0 ? scope->node : scope->gpu_uuid;
    for (size_t i = 0; i < count; i++) {
        const struct heat_gpu *gpu = members[i].gpu;
        bool known = gpu->alone_ns != TC_TIME_NONE;
        part.over = part.over && !gpu->hot;
        part.key_ns = known && (part.key_ns == TC_TIME_NONE || gpu->alone_ns < part.key_ns)
                          ? gpu->alone_ns
                          : part.key_ns;
        first_ns = gpu->episode.first_ns < first_ns ? gpu->episode.first_ns : first_ns;
    }
    part.key_ns = part.key_ns == TC_TIME_NONE ? first_ns : part.key_ns;
    return part;
}

/* What was told of its GPUs stays told under that name, until they are clear. */
static void note_part(struct heat_state *st, const struct heat_topic *part,
                      const struct heat_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct heat_gpu *gpu = tc__window_at(&st->gpus_window, members[i].gpu->head.pos);
        gpu->alone_ns = part->over ? TC_TIME_NONE : part->key_ns;
        /* It is no member any more: if it gets hot again that is another incident. */
        gpu->serial = part->over && !part->group->is_rack ? 0 : gpu->serial;
    }
}

/* Those that left with their node. */
static void drop_gone(const struct heat_state *st, struct heat_group *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->member_count; i++) {
        const struct heat_gpu *gpu = tc__window_at(&st->gpus_window, g->members[i]);
        if (gpu != NULL && gpu->serial == g->serial) {
            g->members[kept++] = g->members[i];
        }
    }
    g->member_count = kept;
}

static struct heat_topic topic_of(const struct heat_state *st, const struct heat_group *g)
{
    struct heat_topic all = {
        .group = g,
        .place = g->name,
        .key_ns = g->key_ns,
        .more_count = g->more_count,
        .by_rack = g->rack.len > 0,
        .is_rack = g->is_rack,
        .over = g->hot_count == 0,
    };
    const struct heat_gpu *lead = g->is_rack ? tc__window_at(&st->gpus_window, g->lead) : NULL;
    if (lead != NULL) {
        all.place = lead->node.len > 0 ? lead->node : lead->uuid;
        all.key_ns = lead->alone_ns;
        all.by_rack = false;
    }
    return all;
}

/* Node by node; of what is the rack's by now only what was told before, as a part of that. */
static tc_status tell_parts(struct heat_state *st, struct heat_group *g,
                            const struct heat_topic *rack, struct heat_member *members,
                            size_t count, const struct tc_sink *out)
{
    for (size_t i = 0, n = 0; i < count; i += n) {
        n = bring_together(&members[i], count - i);
        bool leads = false;
        bool told = false;
        for (size_t k = i; k < i + n; k++) {
            leads = leads || (rack != NULL && members[k].gpu->head.pos == g->lead);
            told = told || members[k].gpu->alone_ns != TC_TIME_NONE;
        }
        if (leads || (rack != NULL && !told)) {
            continue;
        }
        struct heat_topic part = part_of(g, &members[i], n);
        note_part(st, &part, &members[i], n);
        TC_TRY(tc__heat_report(st, &part, rack, &members[i], n, out));
    }
    if (rack == NULL) {
        drop_gone(st, g);
    }
    return TC_OK;
}

static tc_status tell(struct heat_state *st, struct heat_group *g, const struct tc_sink *out)
{
    struct heat_member members[HEAT_MEMBERS_MAX];
    size_t count = g->serial == 0 ? 0 : list_members(st, g, members);
    if (count == 0) {
        return TC_OK;
    }
    if (g->rack.len > 0 && !g->is_rack && are_hot_together(st, members, count)) {
        become_rack(g, members, count);
    }
    struct heat_topic all = topic_of(st, g);
    bool whole = g->is_rack || g->rack.len == 0;
    if (whole) {
        TC_TRY(tc__heat_report(st, &all, NULL, members, count, out));
    }
    if (g->rack.len > 0) {
        TC_TRY(tell_parts(st, g, whole ? &all : NULL, members, count, out));
    }
    g->told = true;
    if (g->hot_count == 0) {
        g->serial = 0;
    }
    return TC_OK;
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
    g->is_rack = false;
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
    gpu->alone_ns = TC_TIME_NONE;
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

/* No other GPU of its node is slowed. */
static bool is_last_of_node(const struct heat_state *st, const struct heat_group *g,
                            const struct heat_gpu *gpu)
{
    for (size_t i = 0; i < g->member_count; i++) {
        const struct heat_gpu *other = tc__window_at(&st->gpus_window, g->members[i]);
        if (other != NULL && other->hot && tc_slice_eq(other->node, gpu->node)) {
            return false;
        }
    }
    return true;
}

tc_status tc__heat_leave(struct heat_state *st, struct heat_gpu *gpu, const struct tc_sink *out)
{
    struct heat_group *g = current(st, gpu);
    if (g == NULL) {
        return TC_OK;
    }
    g->last_ns = st->base.now_ns;
    g->hot_count -= g->hot_count > 0;
    bool of_part = g->rack.len > 0 && !g->is_rack && is_last_of_node(st, g, gpu);
    return g->hot_count == 0 || of_part ? tell(st, g, out) : TC_OK;
}
