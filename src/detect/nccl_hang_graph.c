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
 * nccl_hang_blame.c).
 */
#include "base/assert.h"
#include "detect/nccl_hang_priv.h"

#include <string.h>

/* A key is job, group, kind, sequence id. */
#define SEQ_BITS 36
#define GROUP_BITS 16
#define JOB_SHIFT (SEQ_BITS + 1 + GROUP_BITS)
#define SEQ_MASK ((UINT64_C(1) << SEQ_BITS) - 1)

static bool is_hung(const struct nccl_hang *st, const struct nccl_record *r, bool all)
{
    return (all && r->from_dump) || st->now_ns - r->created_ns >= st->threshold_ns;
}

static uint64_t rank_key(const struct nccl_record *r)
{
    return (uint64_t)(uint32_t)r->rank;
}

static uint64_t place_key(const struct nccl_hang *st, const struct nccl_record *r)
{
    uint32_t group = st->seats[r->seat].group;
    return (uint64_t)st->groups[group].job << JOB_SHIFT | (uint64_t)group << (SEQ_BITS + 1) |
           (uint64_t)r->is_p2p << SEQ_BITS | ((uint64_t)r->seq & SEQ_MASK);
}

static struct nccl_record *record_of(const struct tc_sort_pair *p)
{
    return (struct nccl_record *)(uintptr_t)p->value;
}

/* By job, group, kind and sequence id, then by rank: two stable passes. */
static void sort_pending(const struct nccl_hang *st, uint32_t count)
{
    struct tc_sort_pair *scratch = st->pending + NCCL_PENDING_MAX;
    for (uint32_t i = 0; i < count; i++) {
        st->pending[i].key = rank_key(record_of(&st->pending[i]));
    }
    tc_sort_keys(st->pending, scratch, count);
    for (uint32_t i = 0; i < count; i++) {
        st->pending[i].key = place_key(st, record_of(&st->pending[i]));
    }
    tc_sort_keys(st->pending, scratch, count);
}

void tc__nccl_collect(struct nccl_hang *st, struct nccl_all *out)
{
    uint64_t pos = st->records.tail;
    uint64_t last_key = 0;
    uint64_t last_rank = 0;
    bool in_order = true;
    *out = (struct nccl_all){0};
    struct nccl_record *r = tc_ring_at(&st->records, pos);
    for (; r != NULL; r = tc_ring_next(&st->records, pos, &pos)) {
        if (r->state == TC_NCCL_COMPLETED) {
            continue;
        }
        if (out->count == NCCL_PENDING_MAX) {
            out->full = true;
            break;
        }
        uint64_t key = place_key(st, r);
        uint64_t rank = rank_key(r);
        in_order &= key > last_key || (key == last_key && rank >= last_rank);
        last_key = key;
        last_rank = rank;
        st->pending[out->count++] = (struct tc_sort_pair){key, (uintptr_t)r};
    }
    if (!in_order) {
        sort_pending(st, out->count);
    }
}

/* The pending records of the next job. */
static bool next_job(const struct nccl_hang *st, struct nccl_all *jobs, struct nccl_eval *e)
{
    uint32_t from = jobs->next;
    uint32_t to = from;
    while (to < jobs->count &&
           st->pending[to].key >> JOB_SHIFT == st->pending[from].key >> JOB_SHIFT) {
        to++;
    }
    jobs->next = to;
    e->pending = st->pending + from;
    e->pending_count = to - from;
    e->full = jobs->full;
    return to > from;
}

/* A run of adjacent sequence ids of one group and kind ends before i. */
static bool is_break(const struct nccl_eval *e, uint32_t i)
{
    return i == 0 || e->pending[i].key > e->pending[i - 1].key + 1;
}

static bool make_room(struct nccl_hang *st, struct nccl_eval *e)
{
    e->ops = st->ops;
    e->targets = st->targets;
    e->lists = tc_new(&st->eval, uint32_t, e->pending_count);
    e->firsts = tc_new(&st->eval, bool, e->pending_count);
    e->blamed = tc_new(&st->eval, struct nccl_blamed, st->rank_count);
    return e->blamed != NULL;
}

/*
 * A device takes up its work in the order of issue: what was issued after something
 * that is still pending may merely be queued.
 */
static void find_oldest(const struct nccl_hang *st, struct nccl_eval *e)
{
    for (uint32_t r = 0; r < st->rank_count; r++) {
        e->blamed[r].oldest_ns = INT64_MAX;
    }
    for (uint32_t i = 0; i < e->pending_count; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        struct nccl_blamed *b = &e->blamed[st->seats[r->seat].rank];
        b->oldest_ns = r->created_ns < b->oldest_ns ? r->created_ns : b->oldest_ns;
    }
}

static bool is_first(const struct nccl_hang *st, const struct nccl_eval *e,
                     const struct nccl_record *r)
{
    return r->created_ns <= e->blamed[st->seats[r->seat].rank].oldest_ns;
}

static void list_rank(const struct nccl_hang *st, struct nccl_eval *e, const struct nccl_record *r)
{
    TC_ASSERT(e->list_count < e->pending_count);
    e->firsts[e->list_count] = is_first(st, e, r);
    e->lists[e->list_count++] = st->seats[r->seat].rank;
}

static void add_target(struct nccl_eval *e, struct nccl_op *op, struct nccl_target t)
{
    if (e->target_count < NCCL_TARGETS_MAX) {
        e->targets[e->target_count++] = t;
        op->target_count++;
    } else {
        e->full = true;
    }
}

/* A member of the group without a pending record in the episode. */
static void classify_other(const struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op,
                           const struct nccl_seat *seat)
{
    const struct nccl_rank *rank = &st->ranks[seat->rank];
    struct nccl_target t = {.rank = seat->rank, .block = NCCL_MISSING, .head = -1, .last = -1};
    if (rank->dump == NCCL_DUMP_UNREADABLE) {
        t.block = NCCL_UNREADABLE;
    } else if (rank->dump == NCCL_DUMP_NONE && !rank->seen) {
        t.block = NCCL_ABSENT;
    } else {
        const struct nccl_status *status = op->mixed ? NULL : tc__nccl_status_of(st, seat);
        if (seat->done_max >= op->front || seat->seen_max >= op->front ||
            (status != NULL && status->completed >= op->front)) {
            op->passed_count++;
            op->passed = seat->done_max > op->passed ? seat->done_max : op->passed;
            op->passed =
                status != NULL && status->completed > op->passed ? status->completed : op->passed;
            return;
        }
        t.last = status != NULL ? status->enqueued : seat->seen_max;
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

/* Each member's oldest and newest pending record of the episode; the front. */
static void mark_seats(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op)
{
    st->stamp++;
    op->front = -1;
    op->passed = -1;
    op->mixed = st->groups[op->group].has_p2p;
    for (uint32_t i = op->first; i < op->first + op->count; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        struct nccl_seat *s = &st->seats[r->seat];
        if (s->stamp != st->stamp) {
            s->stamp = st->stamp;
            s->head = r->seq;
            s->head_at = i;
            s->overtaken = false;
            op->front = r->seq > op->front ? r->seq : op->front;
            op->mixed |= counts_transfers(st, s);
        }
        s->last = r->seq;
    }
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
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
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

static void take_episode(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op, bool all)
{
    mark_seats(st, e, op);
    mark_overtaken(st, e, op);
    op->waiting_first = e->list_count;
    op->target_first = e->target_count;
    op->created_ns = INT64_MAX;
    bool overtaken = true;
    for (int pass = 0; pass < 2; pass++) { /* those that wait first, then those behind */
        for (uint32_t i = op->first; i < op->first + op->count; i++) {
            const struct nccl_record *r = tc__nccl_pending(e, i);
            const struct nccl_seat *s = &st->seats[r->seat];
            bool waits = s->head == op->front;
            if (s->head_at != i || waits != (pass == 0)) {
                continue;
            }
            list_rank(st, e, r);
            op->hung |= is_hung(st, r, all);
            overtaken &= s->done_max > s->head;
            if (waits) {
                op->waiting_count++;
                op->created_ns = r->created_ns < op->created_ns ? r->created_ns : op->created_ns;
            } else {
                op->behind_count++;
                add_target(
                    e, op,
                    (struct nccl_target){.rank = s->rank,
                                         .block = s->last < op->front ? NCCL_MISSING : NCCL_LAGGING,
                                         .head = s->head,
                                         .last = s->last,
                                         .sync = s->overtaken,
                                         .first = is_first(st, e, r)});
            }
        }
    }
    const struct nccl_group *g = &st->groups[op->group];
    for (uint32_t i = g->first_seat; i != NCCL_NONE; i = st->seats[i].next) {
        if (st->seats[i].stamp != st->stamp) {
            classify_other(st, e, op, &st->seats[i]);
        }
    }
    /* Everybody else is past it, and so are those it is pending on: a completion was lost. */
    if (overtaken && op->passed_count > 0 && op->target_count == 0) {
        op->hung = false;
    }
}

/* Cuts the collectives of one group into episodes of adjacent sequence ids. */
static void take_collectives(struct nccl_hang *st, struct nccl_eval *e, uint32_t from, uint32_t to,
                             bool all)
{
    while (from < to) {
        uint32_t end = from + 1;
        while (end < to && !is_break(e, end)) {
            end++;
        }
        struct nccl_op *op = &e->ops[e->op_count++];
        const struct nccl_record *r = tc__nccl_pending(e, from);
        *op = (struct nccl_op){.group = st->seats[r->seat].group,
                               .first = from,
                               .count = end - from,
                               .oldest = r->seq};
        take_episode(st, e, op, all);
        from = end;
    }
}

static uint64_t transfer_hash(uint32_t seat, int32_t peer, bool is_send)
{
    return tc_hash_mix(((uint64_t)seat << 1 | is_send) + 1, (uint64_t)(uint32_t)peer);
}

/* Whom the oldest transfer of a rank waits for. */
static void aim_transfer(struct nccl_hang *st, struct nccl_eval *e, struct nccl_op *op,
                         const struct nccl_record *r, const struct tc_map *transfers)
{
    uint32_t peer = tc__nccl_seat(st, op->group, r->peer);
    if (peer == NCCL_NONE) {
        return;
    }
    const struct nccl_seat *s = &st->seats[peer];
    const struct nccl_rank *rank = &st->ranks[s->rank];
    struct nccl_target t = {.rank = s->rank, .head = -1, .last = -1};
    int32_t own = st->ranks[st->seats[r->seat].rank].rank;
    struct tc_map_iter it = tc_map_find(transfers, transfer_hash(peer, own, !r->is_send));
    uint64_t found = tc_map_next(transfers, &it);
    if (found != 0) {
        if (s->head_at == found - 1) {
            return; /* both stand at it: neither waits for the other */
        }
        t.block = NCCL_LAGGING;
        t.head = s->head;
        t.last = s->last;
    } else if (rank->dump == NCCL_DUMP_UNREADABLE) {
        t.block = NCCL_UNREADABLE;
    } else if (rank->dump == NCCL_DUMP_NONE && !rank->seen) {
        t.block = NCCL_ABSENT;
    } else {
        t.block = NCCL_MISSING;
    }
    add_target(e, op, t);
}

static bool take_transfers(struct nccl_hang *st, struct nccl_eval *e, uint32_t from, uint32_t to,
                           bool all)
{
    struct tc_map transfers;
    tc_arena_mark mark = tc_arena_snapshot(&st->eval);
    if (!tc_map_init(&transfers, &st->eval, to - from)) {
        return false;
    }
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
        struct tc_map_iter it = tc_map_find(&transfers, hash);
        if (tc_map_next(&transfers, &it) == 0) { /* the first of its kind is the oldest */
            (void)tc_map_add(&transfers, hash, i + 1, 0);
        }
    }
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
        list_rank(st, e, r);
        aim_transfer(st, e, op, r, &transfers);
    }
    tc_arena_rewind(&st->eval, mark);
    return true;
}

/* CSR from rank to the operations it takes part in. */
static bool index_ranks(struct nccl_hang *st, struct nccl_eval *e)
{
    e->rank_ops_at = tc_new(&st->eval, uint32_t, (size_t)st->rank_count + 2);
    e->rank_ops = tc_new(&st->eval, uint32_t, e->list_count);
    if (e->rank_ops == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < e->list_count; i++) {
        e->rank_ops_at[e->lists[i] + 2]++;
    }
    for (uint32_t r = 2; r < st->rank_count + 2; r++) {
        e->rank_ops_at[r] += e->rank_ops_at[r - 1];
    }
    for (uint32_t o = 0; o < e->op_count; o++) {
        const struct nccl_op *op = &e->ops[o];
        for (uint32_t i = 0; i < op->waiting_count + op->behind_count; i++) {
            uint32_t rank = e->lists[op->waiting_first + i];
            e->rank_ops[e->rank_ops_at[rank + 1]++] = o;
        }
    }
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
    find_oldest(st, e);
    for (uint32_t from = 0; from < e->pending_count;) {
        uint32_t to = from + 1;
        uint64_t kind = e->pending[from].key >> SEQ_BITS;
        while (to < e->pending_count && e->pending[to].key >> SEQ_BITS == kind) {
            to++;
        }
        if ((kind & 1) == 0) {
            take_collectives(st, e, from, to, all);
        } else if (!take_transfers(st, e, from, to, all)) {
            return TC_E_NOMEM;
        }
        from = to;
    }
    if (!index_ranks(st, e)) {
        return TC_E_NOMEM;
    }
    return tc__nccl_blame(st, e);
}
