/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom.
 *
 * Everything pending is cut into operations. Collectives of a group whose
 * sequence ids are adjacent form one episode: its front is the newest collective
 * in which some member has its oldest pending record; members at the front wait,
 * members behind it or without a record of it are what it waits for. Every
 * rank's oldest pending send or receive is an operation of its own, which waits
 * for the peer unless the peer stands at the counterpart too.
 *
 * The operations and their targets are a wait-for graph between ranks. A healthy
 * rank waits for somebody; blame ends at ranks that do not (see
 * blame.c).
 */
#include "base/assert.h"
#include "detect/nccl_hang/priv.h"

#include <string.h>

static bool is_old(const struct nccl_hang *st, int64_t created_ns, bool from_dump)
{
    if (!tc_time_is_date(created_ns)) {
        return st->ends;
    }
    return !(from_dump && st->settles && !st->ends) && st->now_ns - created_ns >= st->threshold_ns;
}

static bool is_hung(const struct nccl_hang *st, const struct nccl_record *r, bool all)
{
    return (all && r->from_dump) || is_old(st, r->created_ns, r->from_dump);
}

/* What orders the records of one place: rank, then the peer of a transfer. */
static uint64_t order_key(const struct nccl_record *r)
{
    return (uint64_t)(uint32_t)r->rank << 33 | (uint64_t)((uint32_t)r->peer + 1) << 1 | r->is_send;
}

static struct nccl_record *record_of(const struct tc_sort_pair *p)
{
    return (struct nccl_record *)(uintptr_t)p->value;
}

/* By job, group, kind and sequence id, then by rank and peer: two stable passes. */
static void sort_pending(const struct nccl_hang *st, uint32_t count)
{
    struct tc_sort_pair *scratch = st->pending + st->most.pending;
    for (uint32_t i = 0; i < count; i++) {
        st->pending[i].key = order_key(record_of(&st->pending[i]));
    }
    tc_sort_keys(st->pending, scratch, count);
    for (uint32_t i = 0; i < count; i++) {
        st->pending[i].key = record_of(&st->pending[i])->place;
    }
    tc_sort_keys(st->pending, scratch, count);
}

void tc__nccl_collect(struct nccl_hang *st, struct nccl_all *out)
{
    uint64_t pos = st->records.tail;
    uint64_t last_key = 0;
    int64_t last_rank = -1;
    bool out_of_order = false;
    struct tc_sort_pair *next = st->pending;
    const struct tc_sort_pair *end = next + st->most.pending;
    struct nccl_record *r = tc_ring_at(&st->records, pos);
    for (; r != NULL; r = tc_ring_follow(&st->records, r, &pos)) {
        if (r->state == TC_NCCL_COMPLETED) {
            continue;
        }
        if (next == end) {
            break;
        }
        uint64_t key = r->place;
        int64_t rank = r->rank;
        out_of_order |= key == last_key ? rank <= last_rank : key < last_key;
        last_key = key;
        last_rank = rank;
        *next++ = (struct tc_sort_pair){key, (uintptr_t)r};
    }
    *out = (struct nccl_all){.count = (uint32_t)(next - st->pending), .full = r != NULL};
    if (out_of_order) {
        sort_pending(st, out->count);
    }
}

/* The pending records of the next job. */
static bool next_job(const struct nccl_hang *st, struct nccl_all *jobs, struct nccl_eval *e)
{
    uint32_t from = jobs->next;
    uint32_t to = from < jobs->count ? from + 1 : from;
    uint64_t job = from < jobs->count ? st->pending[from].key >> NCCL_JOB_SHIFT : 0;
    if (from < jobs->count && st->pending[jobs->count - 1].key >> NCCL_JOB_SHIFT == job) {
        to = jobs->count; /* one job is all there is, or the last one */
    }
    while (to < jobs->count && st->pending[to].key >> NCCL_JOB_SHIFT == job) {
        to++;
    }
    jobs->next = to;
    e->pending = st->pending + from;
    e->pending_count = to - from;
    e->full = jobs->full;
    return to > from;
}

static bool make_room(struct nccl_hang *st, struct nccl_eval *e)
{
    e->ops = st->ops;
    e->targets = st->targets;
    e->most_targets = st->most.targets;
    e->lists = st->lists;
    e->created = st->created;
    e->blamed = tc_new(&st->eval, struct nccl_blamed, st->rank_count);
    return e->blamed != NULL;
}

/* Puts the rank of r on the list, and tells where the list goes on. */
static inline uint32_t list_rank(struct nccl_eval *e, uint32_t at, const struct nccl_record *r)
{
    TC_ASSERT(at < e->pending_count);
    e->created[at] = r->created_ns;
    e->lists[at] = r->rank_at;
    return at + 1;
}

static void add_target(struct nccl_eval *e, struct nccl_op *op, struct nccl_target t)
{
    if (e->target_count < e->most_targets) {
        e->targets[e->target_count++] = t;
        op->target_count++;
    } else {
        e->full = true;
    }
}

/*
 * A member of the group without a pending record in the episode. What has no name may be several
 * groups: there, only one that stands right before the front is known to be of this one.
 */
static void classify_other(const struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op,
                           const struct nccl_seat *seat)
{
    if (st->groups[op->group].name.len == 0 && tc__nccl_issued(seat) + 1 != op->front) {
        return;
    }
    const struct nccl_rank *rank = &st->ranks[seat->rank];
    struct nccl_target t = {
        .rank = seat->rank, .block = NCCL_MISSING, .head = -1, .last = -1, .created_ns = INT64_MAX};
    if (rank->dump == NCCL_DUMP_UNREADABLE) {
        t.block = NCCL_UNREADABLE;
    } else if (rank->dump == NCCL_DUMP_NONE && !rank->seen) {
        t.block = NCCL_ABSENT;
    } else {
        const struct nccl_status *status = op->mixed ? NULL : tc__nccl_status_of(st, seat);
        if (tc__nccl_issued(seat) >= op->front ||
            (status != NULL && status->completed >= op->front)) {
            op->passed_count++;
            op->passed = seat->done_max > op->passed ? seat->done_max : op->passed;
            op->passed =
                status != NULL && status->completed > op->passed ? status->completed : op->passed;
            return;
        }
        t.last = status != NULL ? status->enqueued : tc__nccl_issued(seat);
    }
    add_target(e, op, t);
}

/*
 * What a status calls the last collective is the last operation: in a group with
 * transfers, the sequence id of one. Then it can be beyond what is still pending.
 */
static bool counts_transfers(const struct nccl_hang *st, const struct nccl_seat *s)
{
    const struct nccl_status *status = tc__nccl_status_of(st, s);
    return status != NULL && status->completed >= s->head && s->done_max < s->head;
}

/* What the records of an episode say together. */
struct episode {
    uint32_t front_at; /* the first record of a member that waits in the front */
    uint32_t members;  /* with a pending record */
    bool overtaken;    /* each of them has completed something beyond its oldest record */
};

/* Each member's oldest and newest pending record of the episode; the front. */
static struct episode mark_seats(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op,
                                 bool all)
{
    struct episode found = {.overtaken = true};
    uint32_t stamp = ++st->stamp;
    uint32_t end = op->first + op->count;
    int64_t front = -1;
    bool hung = false;
    bool mixed = st->groups[op->group].has_p2p;
    bool has_status = st->status_count > 0;
    for (uint32_t i = op->first; i < end; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        struct nccl_seat *s = &st->seats[r->seat];
        s->last = r->seq;
        if (s->stamp == stamp) {
            continue;
        }
        s->stamp = stamp;
        s->head = r->seq;
        s->head_at = i;
        s->overtaken = false;
        if (r->seq > front) {
            front = r->seq;
            found.front_at = i;
        }
        found.members++;
        found.overtaken &= s->done_max > r->seq;
        hung |= is_hung(st, r, all);
        mixed = mixed || (has_status && counts_transfers(st, s));
    }
    op->front = front;
    op->passed = -1;
    op->hung = hung;
    op->mixed = mixed;
    return found;
}

/*
 * Collectives that no member can complete before every member has taken part.
 * The root of a broadcast or a sender may be long gone when others arrive: there,
 * being behind proves nothing.
 */
bool tc__nccl_is_sync(struct tc_slice op)
{
    static const struct tc_slice names[] = {{"all_reduce", 10},       {"allreduce", 9},
                                            {"_all_gather_base", 16}, {"all_gather", 10},
                                            {"allgather", 9},         {"_reduce_scatter_base", 20},
                                            {"reduce_scatter", 14},   {"all_to_all", 10},
                                            {"alltoall", 8},          {"barrier", 7}};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        if (tc_slice_starts(op, names[i])) {
            return true;
        }
    }
    return false;
}

/* Members at the front have completed all before it. */
static void mark_overtaken(struct nccl_hang *st, struct nccl_eval *e, const struct nccl_op *op)
{
    for (uint32_t i = op->first; i < op->first + op->count; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        if (r->seq >= op->front) {
            break;
        }
        struct nccl_seat *s = &st->seats[r->seat];
        s->overtaken = s->overtaken || tc__nccl_is_sync(tc__nccl_op(r));
    }
}

/* Lists those that wait in the front, then those behind it. */
static void list_members(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op,
                         const struct episode *found)
{
    uint32_t end = op->first + op->count;
    uint32_t listed = e->list_count;
    int64_t front = op->front;
    int64_t created_ns = INT64_MAX;
    const struct nccl_seat *seats = st->seats;
    for (uint32_t i = found->front_at; i < end; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        if (r->seq == front && seats[r->seat].head_at == i) {
            listed = list_rank(e, listed, r);
            created_ns = r->created_ns < created_ns ? r->created_ns : created_ns;
        }
    }
    op->created_ns = created_ns;
    op->waiting_count = listed - e->list_count;
    e->list_count = listed;
    for (uint32_t i = op->first; op->waiting_count < found->members && i < end; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        const struct nccl_seat *s = &st->seats[r->seat];
        if (s->head_at != i || r->seq == op->front) {
            continue;
        }
        e->list_count = list_rank(e, e->list_count, r);
        op->behind_count++;
        add_target(e, op,
                   (struct nccl_target){.rank = s->rank,
                                        .block = s->last < op->front ? NCCL_MISSING : NCCL_LAGGING,
                                        .head = s->head,
                                        .last = s->last,
                                        .sync = s->overtaken,
                                        .created_ns = r->created_ns});
    }
}

/*
 * Most episodes are one collective: everybody who has a record of it waits in the front.
 * The three steps above are one then. False when it is none of those: they begin anew.
 */
static bool take_level(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op, bool all,
                       struct episode *out)
{
    uint32_t stamp = ++st->stamp;
    int64_t seq = op->oldest;
    int64_t created_ns = INT64_MAX;
    bool alike = true;
    bool from_dump = false;
    bool overtaken = true;
    const struct nccl_record *first = tc__nccl_pending(e, op->first);
    /* In locals: the compiler takes any store for one to the tables' own addresses. */
    struct nccl_seat *seats = st->seats;
    const struct tc_sort_pair *pending = &e->pending[op->first];
    uint32_t *list = &e->lists[e->list_count];
    int64_t *created = &e->created[e->list_count];
    uint32_t count = op->count;
    uint32_t head_at = op->first;
    TC_ASSERT(e->list_count + count <= e->pending_count);
    for (uint32_t i = 0; i < count; i++) {
        const struct nccl_record *r = (const struct nccl_record *)(uintptr_t)pending[i].value;
        struct nccl_seat *s = &seats[r->seat];
        if (r->seq != seq || s->stamp == stamp) {
            return false;
        }
        s->stamp = stamp;
        s->overtaken = false;
        s->head_at = head_at + i;
        s->head = seq;
        s->last = seq;
        list[i] = r->rank_at;
        created[i] = r->created_ns;
        created_ns = r->created_ns < created_ns ? r->created_ns : created_ns;
        from_dump |= r->from_dump;
        overtaken &= s->done_max > seq;
        alike = alike && (i == 0 || tc__nccl_same_call(first, r));
    }
    bool mixed = st->groups[op->group].has_p2p;
    for (uint32_t i = 0; st->status_count > 0 && i < count; i++) {
        mixed = mixed || counts_transfers(st, &seats[tc__nccl_pending(e, head_at + i)->seat]);
    }
    op->front = seq;
    op->passed = -1;
    op->hung = (all && from_dump) || is_old(st, created_ns, from_dump);
    op->mixed = mixed;
    op->alike = alike;
    op->created_ns = created_ns;
    op->waiting_count = count;
    e->list_count += count;
    *out = (struct episode){.members = count, .overtaken = overtaken};
    return true;
}

static void take_episode(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op, bool all)
{
    struct episode found;
    op->waiting_first = e->list_count;
    op->target_first = e->target_count;
    uint32_t last = op->first + op->count - 1;
    if (e->pending[op->first].key != e->pending[last].key || !take_level(st, e, op, all, &found)) {
        found = mark_seats(st, e, op, all);
        mark_overtaken(st, e, op);
        list_members(st, e, op, &found);
    }
    const struct nccl_group *g = &st->groups[op->group];
    uint32_t next = found.members < g->seat_count ? g->first_seat : NCCL_NONE;
    for (; next != NCCL_NONE; next = st->seats[next].next) {
        if (st->seats[next].stamp != st->stamp) {
            classify_other(st, e, op, &st->seats[next]);
        }
    }
    /* Everybody else is past it, and so are those it is pending on: a completion was lost. */
    if (found.overtaken && op->passed_count > 0 && op->target_count == 0) {
        op->hung = false;
    }
}

/* The next episode: collectives of one group with adjacent sequence ids. Returns its end. */
static uint32_t take_collectives(struct nccl_hang *st, struct nccl_eval *e, uint32_t from, bool all)
{
    const struct tc_sort_pair *pending = e->pending;
    uint64_t key = pending[from].key;
    uint64_t last = key | NCCL_SEQ_MASK; /* the last place of the group and kind */
    uint32_t count = e->pending_count;
    uint32_t to = from + 1;
    for (; to < count; to++) {
        uint64_t next = pending[to].key; /* not below key: they are sorted */
        if (next - key > 1 || next > last) {
            break;
        }
        key = next;
    }
    struct nccl_op *op = &e->ops[e->op_count++];
    const struct nccl_record *r = tc__nccl_pending(e, from);
    *op = (struct nccl_op){
        .group = st->seats[r->seat].group, .first = from, .count = to - from, .oldest = r->seq};
    take_episode(st, e, op, all);
    return to;
}

static uint64_t transfer_hash(uint32_t seat, int32_t peer, bool is_send)
{
    return tc_hash_mix(((uint64_t)seat << 1 | is_send) + 1, (uint64_t)(uint32_t)peer);
}

/* When a rank last issued a transfer of the group; of one that left nothing, nothing is known. */
static int64_t moved_ns(const struct nccl_hang *st, const struct nccl_op *op,
                        const struct nccl_record *r)
{
    uint32_t seat = tc__nccl_seat(st, op->group, r->peer);
    return r->peer < 0 ? INT64_MAX : seat == NCCL_NONE ? TC_TIME_NONE : st->seats[seat].moved_ns;
}

/* Transfers from .. to of one rank, issued together. */
struct batch {
    uint32_t from;
    uint32_t to;
    bool has_peers;     /* several */
    int64_t slowest_ns; /* the oldest last issue of those */
};

static struct batch batch_at(const struct nccl_hang *st, const struct nccl_eval *e,
                             const struct nccl_op *op, uint32_t end)
{
    const struct nccl_record *head = tc__nccl_pending(e, op->first);
    struct batch b = {.from = op->first, .to = op->first, .slowest_ns = INT64_MAX};
    int32_t peer = -1;
    for (; b.to < end; b.to++) {
        const struct nccl_record *r = tc__nccl_pending(e, b.to);
        if (r->seat != head->seat || r->seq != head->seq) {
            break;
        }
        b.has_peers |= peer >= 0 && r->peer >= 0 && r->peer != peer;
        peer = r->peer >= 0 ? r->peer : peer;
        int64_t moved = moved_ns(st, op, r);
        b.slowest_ns = moved < b.slowest_ns ? moved : b.slowest_ns;
    }
    return b;
}

/*
 * Whom a transfer of a rank's oldest batch waits for. A batch completes as a whole: of several
 * peers without a counterpart pending, most have completed theirs. The one that did not issue it is
 * the one that has issued nothing for longest.
 */
static bool aim_transfer(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op,
                         const struct batch *b, const struct nccl_record *r,
                         const struct tc_map *transfers)
{
    uint32_t peer = tc__nccl_seat(st, op->group, r->peer);
    if (peer == NCCL_NONE) {
        return false;
    }
    const struct nccl_seat *s = &st->seats[peer];
    const struct nccl_rank *rank = &st->ranks[s->rank];
    struct nccl_target t = {.rank = s->rank, .head = -1, .last = -1, .created_ns = INT64_MAX};
    int32_t own = r->rank;
    struct tc_map_iter it = tc_map_find(transfers, transfer_hash(peer, own, !r->is_send));
    uint64_t found = tc_map_next(transfers, &it);
    if (found != 0) {
        if (tc__nccl_pending(e, (uint32_t)found - 1)->seq == s->head) {
            return false; /* both stand at it: neither waits for the other */
        }
        t.block = NCCL_LAGGING;
        t.head = s->head;
        t.last = s->last;
    } else if (rank->dump == NCCL_DUMP_UNREADABLE) {
        t.block = NCCL_UNREADABLE;
    } else if (rank->dump == NCCL_DUMP_NONE && !rank->seen) {
        t.block = NCCL_ABSENT;
    } else if (b->has_peers && s->moved_ns > b->slowest_ns) {
        return false;
    } else {
        t.block = NCCL_MISSING;
    }
    if (op->target_count > 0 && e->targets[e->target_count - 1].rank == t.rank) {
        return false; /* another transfer with it, right before this one */
    }
    add_target(e, op, t);
    return true;
}

/* The oldest batch of a rank; it is shown by the transfer that waits for somebody. */
static void take_batch(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op, uint32_t end,
                       const struct tc_map *transfers)
{
    struct batch b = batch_at(st, e, op, end);
    bool named = tc__nccl_pending(e, b.from)->peer >= 0;
    for (uint32_t i = b.from; i < b.to; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        bool first = aim_transfer(st, e, op, &b, r, transfers) && op->target_count == 1;
        if (first || (!named && r->peer >= 0)) {
            op->first = i;
            named = true;
        }
    }
}

/* Each rank's oldest pending transfer, and the first of each kind and peer. */
static void mark_transfers(struct nccl_hang *st, struct nccl_eval *e, uint32_t from, uint32_t to,
                           struct tc_map *transfers)
{
    st->stamp++;
    for (uint32_t i = from; i < to; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        struct nccl_seat *s = &st->seats[r->seat];
        if (s->stamp != st->stamp) {
            s->stamp = st->stamp;
            s->head = r->seq;
            s->head_at = i;
        }
        s->last = r->seq;
        uint64_t hash = transfer_hash(r->seat, r->peer, r->is_send);
        struct tc_map_iter it = tc_map_find(transfers, hash);
        if (tc_map_next(transfers, &it) == 0) { /* the first of its kind is the oldest */
            (void)tc_map_add(transfers, hash, i + 1, 0);
        }
    }
}

static bool take_transfers(struct nccl_hang *st, struct nccl_eval *e, uint32_t from, uint32_t to,
                           bool all)
{
    struct tc_map transfers;
    tc_arena_mark mark = tc_arena_snapshot(&st->eval);
    if (!tc_map_init(&transfers, &st->eval, to - from)) {
        return false;
    }
    mark_transfers(st, e, from, to, &transfers);
    for (uint32_t i = from; i < to; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        const struct nccl_seat *s = &st->seats[r->seat];
        if (s->head_at != i) {
            continue;
        }
        struct nccl_op *op = &e->ops[e->op_count++];
        *op = (struct nccl_op){.group = s->group,
                               .is_p2p = true,
                               .hung = is_hung(st, r, all),
                               .first = i,
                               .count = 1,
                               .front = r->seq,
                               .oldest = r->seq,
                               .created_ns = r->created_ns,
                               .waiting_first = e->list_count,
                               .waiting_count = 1,
                               .target_first = e->target_count};
        e->list_count = list_rank(e, e->list_count, r);
        take_batch(st, e, op, to, &transfers);
    }
    tc_arena_rewind(&st->eval, mark);
    return true;
}

tc_status tc__nccl_analyse(struct nccl_hang *st, bool all, struct nccl_all *jobs,
                           struct nccl_eval *e, bool *out_found)
{
    *out_found = next_job(st, jobs, e);
    if (!*out_found) {
        return TC_OK;
    }
    if (!make_room(st, e)) {
        return TC_E_NOMEM;
    }
    for (uint32_t from = 0; from < e->pending_count;) {
        uint64_t kind = e->pending[from].key >> NCCL_SEQ_BITS;
        if ((kind & 1) == 0) {
            from = take_collectives(st, e, from, all);
            continue;
        }
        uint32_t to = from + 1;
        while (to < e->pending_count && e->pending[to].key >> NCCL_SEQ_BITS == kind) {
            to++;
        }
        if (!take_transfers(st, e, from, to, all)) {
            return TC_E_NOMEM;
        }
        from = to;
    }
    return tc__nccl_blame(st, e);
}
