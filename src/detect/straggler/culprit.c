/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From seats that are late too often to what is named: a rank, a node when all of its ranks in
 * the job are late, or a link. A suspect waits a moment before it is told, because the
 * ranks of a slow node are found one after the other.
 */
#include "detect/straggler/priv.h"

#define WAIT_PERIODS 2
#define WAIT_MAX_NS (30 * TC_SECOND)
/* A straggler that nothing is heard of is forgotten: its job has ended. */
#define IDLE_NS (3600 * TC_SECOND)

static uint32_t take_culprit(struct straggler *st)
{
    for (uint32_t i = 0; i < st->culprit_count; i++) {
        if (st->culprits[i].state == STRAG_FREE) {
            return i;
        }
    }
    return st->culprit_count < STRAG_CULPRITS_MAX ? st->culprit_count++ : STRAG_NONE;
}

static void release(struct straggler *st, struct strag_culprit *c)
{
    struct strag_seat *seat = &st->seats[c->seat];
    seat->culprit = STRAG_NONE;
    if (seat->peer == STRAG_NONE) {
        st->ranks[seat->rank].culprit = STRAG_NONE;
    }
    *c = (struct strag_culprit){.state = STRAG_FREE};
}

void tc__strag_suspect(struct straggler *st, uint32_t at)
{
    struct strag_seat *seat = &st->seats[at];
    const struct strag_lane *lane = &st->lanes[seat->lane];
    struct strag_rank *rank = &st->ranks[seat->rank];
    bool link = seat->peer != STRAG_NONE;
    if (seat->culprit != STRAG_NONE) {
        struct strag_culprit *c = &st->culprits[seat->culprit];
        c->seen_ns = st->base.now_ns;
        c->last = seat->last;
        c->late_count = tc__strag_late_count(st, seat);
        c->state = STRAG_LATE;
        return;
    }
    /* Told already by another group, or explained by its own being late. */
    bool known =
        rank->culprit != STRAG_NONE || (link && st->ranks[seat->peer].culprit != STRAG_NONE);
    bool by_steps = lane->basis == STRAG_STEPS || lane->basis == STRAG_SAMPLES;
    if (known || (by_steps && st->jobs[lane->job].judged)) {
        return;
    }
    uint32_t id = take_culprit(st);
    if (id == STRAG_NONE) {
        st->base.dropped++;
        return;
    }
    int64_t wait_ns = WAIT_PERIODS * (link ? 0 : seat->last.peers_ns + seat->last.late_ns);
    st->culprits[id] = (struct strag_culprit){
        .state = STRAG_LATE,
        .seat = at,
        .leader = id,
        .blamed = STRAG_NONE,
        .since_ns = st->base.now_ns,
        .seen_ns = st->base.now_ns,
        .wait_ns = wait_ns < WAIT_MAX_NS ? wait_ns : WAIT_MAX_NS,
        .late_count = tc__strag_late_count(st, seat),
        .first = seat->first,
        .last = seat->last,
    };
    seat->culprit = id;
    if (!link) {
        rank->culprit = id;
    }
}

void tc__strag_recover(struct straggler *st, uint32_t at, const struct strag_mark *mark)
{
    struct strag_culprit *c = &st->culprits[st->seats[at].culprit];
    if (c->state == STRAG_LATE) {
        c->state = STRAG_RECOVERED;
        c->seen_ns = st->base.now_ns;
        c->back = *mark;
    }
}

const struct strag_hot *tc__strag_hot(const struct straggler *st, const struct strag_culprit *c,
                                      struct tc_scope *scope)
{
    const struct tc_gpu *gpu = tc_directory_complete(st->directory, scope);
    for (unsigned i = 0; gpu != NULL && i < TC_GPU_IDS; i++) {
        uint64_t id = tc_gpu_id(gpu, i);
        const struct strag_hot *hot = &st->hot[id % st->most.hot];
        if (id != 0 && hot->id == id && hot->time_ns >= c->first.time_ns - st->gpu_window_ns &&
            hot->time_ns <= c->last.time_ns + st->gpu_window_ns) {
            return hot;
        }
    }
    return NULL;
}

static bool is_slow_gpu(const struct straggler *st, const struct strag_culprit *c)
{
    const struct strag_seat *seat = &st->seats[c->seat];
    struct tc_scope scope = st->ranks[seat->rank].scope;
    return seat->peer == STRAG_NONE && !c->node && tc__strag_hot(st, c, &scope) != NULL;
}

static const struct strag_rank *rank_of(const struct straggler *st, const struct strag_culprit *c)
{
    return &st->ranks[st->seats[c->seat].rank];
}

static bool same_node(const struct straggler *st, const struct strag_culprit *a,
                      const struct strag_culprit *b)
{
    const struct strag_rank *ra = rank_of(st, a);
    const struct strag_rank *rb = rank_of(st, b);
    return ra->job == rb->job && ra->scope.node.len > 0 &&
           tc_slice_eq(ra->scope.node, rb->scope.node);
}

static bool may_join(const struct straggler *st, const struct strag_culprit *c)
{
    return c->state != STRAG_FREE && !c->told && st->seats[c->seat].peer == STRAG_NONE;
}

/*
 * The one that speaks for the node of c when all of its ranks in the job wait to be told: the
 * lowest rank. Otherwise c itself.
 */
static struct strag_culprit *gather_node(struct straggler *st, struct strag_culprit *c)
{
    struct strag_culprit *leader = c;
    uint32_t ranks = 0;
    uint32_t late = 0;
    const struct strag_rank *own = rank_of(st, c);
    if (own->scope.node.len == 0 || !may_join(st, c)) {
        return c;
    }
    for (uint32_t i = 0; i < st->rank_count; i++) {
        const struct strag_rank *r = &st->ranks[i];
        ranks += r->job == own->job && tc_slice_eq(r->scope.node, own->scope.node);
    }
    for (uint32_t i = 0; i < st->culprit_count; i++) {
        struct strag_culprit *other = &st->culprits[i];
        if (may_join(st, other) && same_node(st, c, other)) {
            late++;
            bool lower = rank_of(st, other)->scope.rank < rank_of(st, leader)->scope.rank;
            leader = lower ? other : leader;
        }
    }
    if (ranks < 2 || late < ranks) {
        return c;
    }
    for (uint32_t i = 0; i < st->culprit_count; i++) {
        struct strag_culprit *other = &st->culprits[i];
        if (may_join(st, other) && same_node(st, c, other)) {
            other->leader = (uint32_t)(leader - st->culprits);
            other->silent = other != leader;
            other->told = true;
        }
    }
    leader->node = true;
    return leader;
}

/*
 * True when the rank has links with several others in the lane and all of them are slow. There and
 * back with one other is one link.
 */
static bool all_links_slow(const struct straggler *st, uint32_t lane, uint32_t rank)
{
    uint32_t first = STRAG_NONE;
    bool several = false;
    for (uint32_t s = st->lanes[lane].first_seat; s != STRAG_NONE; s = st->seats[s].next) {
        const struct strag_seat *seat = &st->seats[s];
        if (seat->rank == rank || seat->peer == rank) {
            uint32_t other = seat->rank == rank ? seat->peer : seat->rank;
            several = several || (first != STRAG_NONE && other != first);
            first = other;
            if (seat->culprit == STRAG_NONE) {
                return false;
            }
        }
    }
    return several;
}

/* The end of a slow link that has no other kind of link, if that is one of the two. */
static uint32_t blame_link(const struct straggler *st, const struct strag_culprit *c)
{
    const struct strag_seat *seat = &st->seats[c->seat];
    if (seat->peer == STRAG_NONE) {
        return STRAG_NONE;
    }
    bool sender = all_links_slow(st, seat->lane, seat->rank);
    bool receiver = all_links_slow(st, seat->lane, seat->peer);
    if (sender == receiver) {
        return STRAG_NONE;
    }
    return sender ? seat->rank : seat->peer;
}

/*
 * Another link was told already that is the same trouble: of the same rank, or between the same
 * two, as the way back is the same cable.
 */
static bool is_told(const struct straggler *st, const struct strag_culprit *c)
{
    const struct strag_seat *own = &st->seats[c->seat];
    for (uint32_t i = 0; i < st->culprit_count && own->peer != STRAG_NONE; i++) {
        const struct strag_culprit *other = &st->culprits[i];
        const struct strag_seat *seat = &st->seats[other->seat];
        bool same = c->blamed != STRAG_NONE
                        ? other->blamed == c->blamed
                        : (seat->rank == own->rank && seat->peer == own->peer) ||
                              (seat->rank == own->peer && seat->peer == own->rank);
        if (other != c && other->told && !other->silent && same) {
            return true;
        }
    }
    return false;
}

/* True when c and all it speaks for keep up again. */
static bool is_over(const struct straggler *st, uint32_t at)
{
    for (uint32_t i = 0; i < st->culprit_count; i++) {
        const struct strag_culprit *c = &st->culprits[i];
        if (c->state != STRAG_FREE && c->leader == at && c->state != STRAG_RECOVERED) {
            return false;
        }
    }
    return true;
}

static void release_all(struct straggler *st, uint32_t leader)
{
    for (uint32_t i = 0; i < st->culprit_count; i++) {
        if (st->culprits[i].state != STRAG_FREE && st->culprits[i].leader == leader) {
            release(st, &st->culprits[i]);
        }
    }
}

static tc_status tell_one(struct straggler *st, uint32_t at, bool final, const struct tc_sink *out)
{
    struct strag_culprit *c = &st->culprits[at];
    if (c->state == STRAG_FREE || c->leader != at) {
        return TC_OK;
    }
    if (!c->told) {
        if (!final && c->state == STRAG_LATE && st->base.now_ns - c->since_ns < c->wait_ns) {
            return TC_OK;
        }
        c = gather_node(st, c);
        c->blamed = blame_link(st, c);
        c->silent = is_told(st, c);
        c->told = true;
        c->slow_gpu = is_slow_gpu(st, c);
        if (!c->silent) {
            TC_TRY(tc__strag_report(st, c, false, out));
        }
        at = c->leader;
    }
    if (is_over(st, at)) {
        tc_status status = c->silent ? TC_OK : tc__strag_report(st, c, true, out);
        release_all(st, at);
        return status;
    }
    if (!c->silent && !c->slow_gpu && is_slow_gpu(st, c)) {
        c->slow_gpu = true;
        return tc__strag_report(st, c, false, out);
    }
    if (st->base.now_ns - c->seen_ns > IDLE_NS) {
        release_all(st, at);
    }
    return TC_OK;
}

tc_status tc__strag_tell(struct straggler *st, bool final, const struct tc_sink *out)
{
    for (uint32_t i = 0; i < st->culprit_count; i++) {
        TC_TRY(tell_one(st, i, final, out));
    }
    while (st->culprit_count > 0 && st->culprits[st->culprit_count - 1].state == STRAG_FREE) {
        st->culprit_count--;
    }
    return TC_OK;
}
