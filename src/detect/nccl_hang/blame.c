/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame. A rank others wait for is innocent while it waits itself for
 * somebody else; blame needs a positive sign:
 *
 *   stopped   peers completed a collective that they cannot complete without it,
 *             and it did not: its device stopped while theirs went on;
 *   missing   others wait for it, and it has nothing pending: its host stopped;
 *   passed    it has something pending, but a peer with the same things pending
 *             went on to issue what it did not: its host stopped too;
 *   mismatch  it made another call under the same sequence id;
 *   cycle     it waits for a rank that waits for it;
 *   absent    it left nothing at all, where a culprit was found beside it or
 *             nothing else explains the wait; an unreadable dump only for the latter,
 *             and not beside ranks that left nothing: it wrote one, they did not.
 *
 * Then every operation learns which culprits are behind it: those it waits for
 * itself, those at the end of a chain of waits, and those its participants are
 * held up by elsewhere.
 */
#include "detect/nccl_hang/priv.h"

#include <string.h>

/* A chain of waits follows pipeline stages; no job has more of them than this. */
#define PASSES_MAX 4096
#define PASSED_STEPS_MAX 4000000
#define UNIQUE_SCANS_MAX 64 /* of all that is pending */

static bool is_strong(const struct nccl_target *t)
{
    return t->block == NCCL_MISSING || t->block == NCCL_LAGGING;
}

static void blame(struct nccl_eval *e, uint32_t rank, enum nccl_blame why, uint32_t op,
                  const struct nccl_target *t)
{
    struct nccl_blamed *b = &e->blamed[rank];
    bool plainer = b->blame == (uint8_t)why && e->ops[b->op].is_p2p && !e->ops[op].is_p2p;
    if (b->blame != NCCL_BLAME_NONE && b->blame <= (uint8_t)why && !plainer) {
        return;
    }
    b->blame = (uint8_t)why;
    b->op = op;
    b->head = t == NULL ? -1 : t->head;
    b->last = t == NULL ? -1 : t->last;
}

/* Calls whose shapes must agree on all ranks; all_to_all and friends may differ by design. */
static bool has_equal_sizes(struct tc_slice op)
{
    static const struct tc_slice names[] = {{"all_reduce", 10},
                                            {"broadcast", 9},
                                            {"reduce", 6},
                                            {"_all_gather_base", 16},
                                            {"_reduce_scatter_base", 20}};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        if (tc_slice_eq(op, names[i])) {
            return true;
        }
    }
    return false;
}

/*
 * True when some rank makes the very call of r in another group of the same kind: groups
 * of a kind run one program, so that a call nobody else makes is the odd one.
 */
static bool is_made_elsewhere(const struct nccl_hang *st, const struct nccl_eval *e,
                              const struct nccl_record *r)
{
    const struct nccl_group *own = &st->groups[st->seats[r->seat].group];
    for (uint32_t i = 0; own->desc.len > 0 && i < e->pending_count; i++) {
        const struct nccl_record *o = tc__nccl_pending(e, i);
        const struct nccl_group *g = &st->groups[st->seats[o->seat].group];
        if (g != own && !o->is_p2p && tc__nccl_same_call(o, r) && tc_slice_eq(g->desc, own->desc)) {
            return true;
        }
    }
    return false;
}

/*
 * Without a majority, blames those whose call nobody makes in groups of the same kind,
 * where the others' is made there. False when that does not tell them apart.
 */
static bool blame_unique(struct nccl_hang *st, struct nccl_eval *e, uint32_t op, uint32_t from,
                         uint32_t to, enum nccl_blame part)
{
    uint32_t usual = 0;
    for (uint32_t i = from; i < to; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        st->seats[r->seat].usual = r->len.op == 0 || is_made_elsewhere(st, e, r);
        usual += st->seats[r->seat].usual;
    }
    for (uint32_t i = from; usual > 0 && usual < to - from && i < to; i++) {
        const struct nccl_seat *s = &st->seats[tc__nccl_pending(e, i)->seat];
        if (!s->usual) {
            blame(e, s->rank, part, op, NULL);
        }
    }
    return usual > 0 && usual < to - from;
}

/*
 * Blames those who differ from the majority; without one, those whose call is unusual, or all. A
 * record without an operation says that its rank waits, not in which call.
 */
static bool blame_odd(struct nccl_hang *st, struct nccl_eval *e, uint32_t op, uint32_t from,
                      uint32_t to, enum nccl_blame part)
{
    struct tc_slice leader = TC_EMPTY;
    uint32_t votes = 0;
    uint32_t for_leader = 0;
    uint32_t known = 0;
    bool differ = false;
    for (uint32_t i = from; i < to; i++) {
        if (tc__nccl_pending(e, i)->len.op == 0) {
            continue;
        }
        known++;
        struct tc_slice v = tc__nccl_call_part(tc__nccl_pending(e, i), part);
        leader = votes == 0 ? v : leader;
        bool same = tc_slice_eq(v, leader);
        votes += same ? 1U : UINT32_MAX;
        differ |= !same; /* the first one leads until somebody differs */
    }
    if (!differ) {
        return false;
    }
    for (uint32_t i = from; i < to; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        for_leader += r->len.op > 0 && tc_slice_eq(tc__nccl_call_part(r, part), leader);
    }
    bool majority = for_leader * 2 > known;
    bool told = !majority && e->unique_scans + (to - from) <= UNIQUE_SCANS_MAX;
    e->unique_scans += told ? to - from : 0;
    told = told && blame_unique(st, e, op, from, to, part);
    for (uint32_t i = from; !told && i < to; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        bool same = tc_slice_eq(tc__nccl_call_part(r, part), leader);
        if (r->len.op > 0 && (!majority || !same)) {
            blame(e, r->rank_at, part, op, NULL);
        }
    }
    e->ops[op].mismatch = (uint8_t)part;
    e->ops[op].mismatch_seq = tc__nccl_pending(e, from)->seq;
    return true;
}

static void find_mismatch(struct nccl_hang *st, struct nccl_eval *e, uint32_t o)
{
    const struct nccl_op *op = &e->ops[o];
    uint32_t end = op->first + op->count;
    for (uint32_t from = op->first; from < end;) {
        const struct nccl_record *first = tc__nccl_pending(e, from);
        uint64_t key = e->pending[from].key;
        bool alike = true;
        uint32_t to = from + 1;
        for (; to < end && e->pending[to].key == key; to++) {
            const struct nccl_record *r = tc__nccl_pending(e, to);
            alike = alike && tc__nccl_same_call(first, r);
            first = first->len.op == 0 ? r : first;
        }
        bool found = !alike && blame_odd(st, e, o, from, to, NCCL_BLAME_OP);
        if (!alike && !found && has_equal_sizes(tc__nccl_op(first))) {
            found = blame_odd(st, e, o, from, to, NCCL_BLAME_SIZE);
        }
        if (found || (!alike && blame_odd(st, e, o, from, to, NCCL_BLAME_DTYPE))) {
            return;
        }
        from = to;
    }
}

/* Others have completed the very collective in which these wait. */
static void find_left_behind(struct nccl_eval *e, uint32_t o)
{
    const struct nccl_op *op = &e->ops[o];
    for (uint32_t i = op->first; op->passed_count > 0 && i < op->first + op->count; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        if ((r->seq == op->front || r->seq <= op->passed) && op->hung &&
            tc__nccl_is_sync(tc__nccl_op(r))) {
            struct nccl_target self = {.head = r->seq, .last = r->seq};
            blame(e, r->rank_at, NCCL_BLAME_STOPPED, o, &self);
        }
    }
}

static void find_stopped(struct nccl_eval *e)
{
    for (uint32_t o = 0; o < e->op_count; o++) {
        const struct nccl_op *op = &e->ops[o];
        if (!op->is_p2p) {
            find_left_behind(e, o);
        }
        for (uint32_t i = 0; !op->is_p2p && i < op->target_count; i++) {
            const struct nccl_target *t = &e->targets[op->target_first + i];
            if (t->head >= 0 && t->sync) {
                blame(e, t->rank, NCCL_BLAME_STOPPED, o, t);
            }
        }
    }
}

/* A transfer at which both ends stand waits for the end whose device has stopped. */
static void aim_at_stopped(struct nccl_hang *st, struct nccl_eval *e)
{
    for (uint32_t o = 0; o < e->op_count; o++) {
        struct nccl_op *op = &e->ops[o];
        if (!op->is_p2p || op->target_count > 0 || e->target_count == e->most_targets) {
            continue;
        }
        const struct nccl_record *r = tc__nccl_pending(e, op->first);
        uint32_t own = r->rank_at;
        const struct nccl_group *g = &st->groups[op->group];
        for (uint32_t i = g->first_seat; i != NCCL_NONE; i = st->seats[i].next) {
            uint32_t peer = st->seats[i].rank;
            if (st->ranks[peer].rank == r->peer && e->blamed[own].blame == NCCL_BLAME_NONE &&
                e->blamed[peer].blame == NCCL_BLAME_STOPPED) {
                op->target_first = e->target_count;
                op->target_count = 1;
                e->targets[e->target_count++] = (struct nccl_target){.rank = peer,
                                                                     .block = NCCL_LAGGING,
                                                                     .head = st->seats[i].head,
                                                                     .last = -1,
                                                                     .created_ns = INT64_MAX};
                break;
            }
        }
    }
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
        struct nccl_blamed *b = &e->blamed[r->rank_at];
        b->oldest_ns = r->created_ns < b->oldest_ns ? r->created_ns : b->oldest_ns;
    }
}

/* Nothing of the rank, in any group, has been pending for longer. */
static bool is_first(const struct nccl_eval *e, uint32_t rank, int64_t created_ns)
{
    return created_ns <= e->blamed[rank].oldest_ns;
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

static void find_waits(const struct nccl_hang *st, struct nccl_eval *e)
{
    for (uint32_t o = 0; o < e->op_count; o++) {
        const struct nccl_op *op = &e->ops[o];
        for (uint32_t i = 0; op->target_count > 0 && i < op->waiting_count; i++) {
            struct nccl_blamed *b = &e->blamed[e->lists[op->waiting_first + i]];
            b->waits |= b->blame != NCCL_BLAME_STOPPED;
        }
    }
    for (uint32_t r = 0; r < st->rank_count; r++) {
        e->blamed[r].pending_ops = e->rank_ops_at[r + 1] - e->rank_ops_at[r];
    }
}

static void count_shared(const struct nccl_eval *e, uint32_t rank, uint32_t *counts, uint32_t step,
                         uint64_t *io_steps)
{
    for (uint32_t i = e->rank_ops_at[rank]; i < e->rank_ops_at[rank + 1]; i++) {
        const struct nccl_op *op = &e->ops[e->rank_ops[i]];
        for (uint32_t k = 0; k < op->waiting_count + op->behind_count; k++) {
            counts[e->lists[op->waiting_first + k]] += step;
            (*io_steps)++;
        }
    }
}

static bool only_collectives(const struct nccl_eval *e, uint32_t rank)
{
    for (uint32_t i = e->rank_ops_at[rank]; i < e->rank_ops_at[rank + 1]; i++) {
        if (e->ops[e->rank_ops[i]].is_p2p) {
            return false;
        }
    }
    return true;
}

/* True when somebody who waits in op has pending all that rank has pending. */
static bool was_passed(const struct nccl_eval *e, const struct nccl_op *op, uint32_t rank,
                       uint32_t *counts, uint64_t *io_steps)
{
    bool passed = false;
    count_shared(e, rank, counts, 1, io_steps);
    for (uint32_t i = 0; i < op->waiting_count && !passed; i++) {
        passed = counts[e->lists[op->waiting_first + i]] == e->blamed[rank].pending_ops;
    }
    count_shared(e, rank, counts, UINT32_MAX, io_steps);
    return passed;
}

static bool find_missing(struct nccl_hang *st, struct nccl_eval *e)
{
    uint32_t *counts = tc_new(&st->eval, uint32_t, st->rank_count);
    uint64_t steps = 0;
    if (counts == NULL) {
        return false;
    }
    for (uint32_t o = 0; o < e->op_count; o++) {
        const struct nccl_op *op = &e->ops[o];
        for (uint32_t i = 0; i < op->target_count; i++) {
            const struct nccl_target *t = &e->targets[op->target_first + i];
            const struct nccl_blamed *b = &e->blamed[t->rank];
            if (!is_strong(t) || b->blame == NCCL_BLAME_STOPPED) {
                continue;
            }
            if (b->pending_ops == 0) {
                blame(e, t->rank, NCCL_BLAME_MISSING, o, t);
            } else if (t->head >= 0 && !op->is_p2p && is_first(e, t->rank, t->created_ns) &&
                       !b->waits) {
                blame(e, t->rank, NCCL_BLAME_STOPPED, o, t);
            } else if (t->block == NCCL_MISSING && t->head < 0 && !op->is_p2p && b->waits &&
                       steps < PASSED_STEPS_MAX && only_collectives(e, t->rank) &&
                       was_passed(e, op, t->rank, counts, &steps)) {
                blame(e, t->rank, NCCL_BLAME_PASSED, o, t);
            }
        }
    }
    return true;
}

/* Gives the culprits their bits, in the order of their rank numbers. */
static void number_culprits(const struct nccl_hang *st, struct nccl_eval *e)
{
    e->culprit_count = 0;
    for (uint32_t r = 0; r < st->rank_count; r++) {
        struct nccl_blamed *b = &e->blamed[r];
        b->bit = NCCL_NONE;
        if (b->blame == NCCL_BLAME_NONE) {
            continue;
        }
        if (e->culprit_count == NCCL_CULPRIT_BITS) {
            e->full = true;
            continue;
        }
        b->bit = e->culprit_count;
        e->culprits[e->culprit_count++] = r;
    }
}

static uint64_t bit_of(const struct nccl_blamed *b)
{
    return b->bit == NCCL_NONE ? 0 : UINT64_C(1) << b->bit;
}

/* One step along the waits. True when anything was learnt. */
static bool follow_waits(struct nccl_eval *e)
{
    bool changed = false;
    for (uint32_t o = 0; o < e->op_count; o++) {
        struct nccl_op *op = &e->ops[o];
        uint64_t reach = op->reach;
        for (uint32_t i = 0; i < op->target_count; i++) {
            const struct nccl_target *t = &e->targets[op->target_first + i];
            const struct nccl_blamed *b = &e->blamed[t->rank];
            if (b->blame != NCCL_BLAME_NONE) {
                reach |= bit_of(b);
            } else if (is_strong(t)) {
                reach |= b->reach;
            }
        }
        changed |= reach != op->reach;
        op->reach = reach;
        for (uint32_t i = 0; i < op->waiting_count; i++) {
            struct nccl_blamed *b = &e->blamed[e->lists[op->waiting_first + i]];
            changed |= (reach & ~b->reach) != 0;
            b->reach |= reach;
        }
    }
    return changed;
}

/* One step along shared operations: who is held up in one place is missing in all others. */
static bool follow_shared(struct nccl_eval *e)
{
    bool changed = false;
    for (uint32_t o = 0; o < e->op_count; o++) {
        struct nccl_op *op = &e->ops[o];
        uint64_t related = op->related | op->reach;
        for (uint32_t i = 0; i < op->waiting_count + op->behind_count; i++) {
            related |= e->blamed[e->lists[op->waiting_first + i]].related;
        }
        changed |= related != op->related;
        op->related = related;
        for (uint32_t i = 0; i < op->waiting_count + op->behind_count; i++) {
            e->blamed[e->lists[op->waiting_first + i]].related |= related;
        }
    }
    return changed;
}

static void spread(const struct nccl_hang *st, struct nccl_eval *e)
{
    number_culprits(st, e);
    for (uint32_t o = 0; o < e->op_count; o++) {
        e->ops[o].reach = e->ops[o].related = 0;
        if (e->ops[o].mismatch != NCCL_BLAME_NONE) {
            for (uint32_t i = 0; i < e->ops[o].waiting_count + e->ops[o].behind_count; i++) {
                const struct nccl_blamed *b = &e->blamed[e->lists[e->ops[o].waiting_first + i]];
                e->ops[o].reach |= b->blame == e->ops[o].mismatch ? bit_of(b) : 0;
            }
        }
    }
    for (uint32_t r = 0; r < st->rank_count; r++) {
        e->blamed[r].reach = 0;
        e->blamed[r].related = 0;
    }
    bool any = e->culprit_count > 0;
    for (uint32_t pass = 0; any && pass < PASSES_MAX && follow_waits(e); pass++) {
    }
    for (uint32_t pass = 0; any && pass < PASSES_MAX && follow_shared(e); pass++) {
    }
}

/* One round of keeping only ranks that wait for a kept rank, or only those a kept rank waits for.
 */
static bool prune(const struct nccl_hang *st, const struct nccl_eval *e, bool *kept, bool *next,
                  bool forward)
{
    memset(next, 0, st->rank_count * sizeof *next);
    for (uint32_t o = 0; o < e->op_count; o++) {
        const struct nccl_op *op = &e->ops[o];
        const uint32_t *waiting = &e->lists[op->waiting_first];
        const int64_t *created = &e->created[op->waiting_first];
        const struct nccl_target *targets = &e->targets[op->target_first];
        bool touches = false;
        for (uint32_t i = 0; forward && i < op->target_count; i++) {
            touches |= is_strong(&targets[i]) && kept[targets[i].rank];
        }
        for (uint32_t i = 0; !forward && i < op->waiting_count; i++) {
            touches |= kept[waiting[i]] && is_first(e, waiting[i], created[i]);
        }
        for (uint32_t i = 0; touches && forward && i < op->waiting_count; i++) {
            next[waiting[i]] |= is_first(e, waiting[i], created[i]);
        }
        for (uint32_t i = 0; touches && !forward && i < op->target_count; i++) {
            next[targets[i].rank] |= is_strong(&targets[i]);
        }
    }
    bool changed = false;
    for (uint32_t r = 0; r < st->rank_count; r++) {
        changed |= kept[r] && !next[r];
        kept[r] = kept[r] && next[r];
    }
    return changed;
}

/* The operation in which a rank of a cycle waits for another one of it. */
static uint32_t wait_inside(const struct nccl_eval *e, uint32_t rank, const bool *kept)
{
    for (uint32_t i = e->rank_ops_at[rank]; i < e->rank_ops_at[rank + 1]; i++) {
        const struct nccl_op *op = &e->ops[e->rank_ops[i]];
        bool waits = false;
        for (uint32_t k = 0; k < op->waiting_count; k++) {
            waits |= e->lists[op->waiting_first + k] == rank &&
                     is_first(e, rank, e->created[op->waiting_first + k]);
        }
        for (uint32_t k = 0; waits && k < op->target_count; k++) {
            const struct nccl_target *t = &e->targets[op->target_first + k];
            if (is_strong(t) && kept[t->rank]) {
                return e->rank_ops[i];
            }
        }
    }
    return e->rank_ops[e->rank_ops_at[rank]];
}

static bool find_cycles(struct nccl_hang *st, struct nccl_eval *e)
{
    bool *kept = tc_new(&st->eval, bool, st->rank_count);
    bool *next = tc_new(&st->eval, bool, st->rank_count);
    bool any = false;
    if (next == NULL) {
        return false;
    }
    for (uint32_t r = 0; r < st->rank_count; r++) {
        kept[r] = e->blamed[r].waits && e->blamed[r].related == 0;
        any |= kept[r];
    }
    for (uint32_t pass = 0; any && pass < PASSES_MAX && prune(st, e, kept, next, true); pass++) {
    }
    for (uint32_t pass = 0; any && pass < PASSES_MAX && prune(st, e, kept, next, false); pass++) {
    }
    for (uint32_t r = 0; any && r < st->rank_count; r++) {
        if (kept[r]) {
            blame(e, r, NCCL_BLAME_CYCLE, wait_inside(e, r, kept), NULL);
        }
    }
    return true;
}

static bool has_direct_culprit(const struct nccl_eval *e, const struct nccl_op *op)
{
    for (uint32_t i = 0; i < op->target_count; i++) {
        if (e->blamed[e->targets[op->target_first + i].rank].blame != NCCL_BLAME_NONE) {
            return true;
        }
    }
    return false;
}

/* Ranks of which nothing is known: those that left nothing, or those whose dump cannot be read.
 * Where most members are unknown, nobody is blamed. */
static void find_unknown(const struct nccl_hang *st, struct nccl_eval *e, bool left_nothing)
{
    for (uint32_t o = 0; o < e->op_count; o++) {
        const struct nccl_op *op = &e->ops[o];
        bool direct = has_direct_culprit(e, op);
        bool unexplained = op->related == 0;
        uint32_t unknown = 0;
        uint32_t absent = 0;
        for (uint32_t i = 0; i < op->target_count; i++) {
            unknown += !is_strong(&e->targets[op->target_first + i]);
            absent += e->targets[op->target_first + i].block == NCCL_ABSENT;
        }
        if (unknown == 0 || unknown * 2 > st->groups[op->group].seat_count) {
            continue;
        }
        for (uint32_t i = 0; i < op->target_count; i++) {
            const struct nccl_target *t = &e->targets[op->target_first + i];
            if (left_nothing && t->block == NCCL_ABSENT && (direct || unexplained)) {
                blame(e, t->rank, NCCL_BLAME_ABSENT, o, t);
            } else if (!left_nothing && t->block == NCCL_UNREADABLE && unexplained && absent == 0) {
                blame(e, t->rank, NCCL_BLAME_UNREADABLE, o, t);
            }
        }
    }
    uint32_t before = e->culprit_count;
    number_culprits(st, e);
    if (e->culprit_count != before) {
        spread(st, e);
    }
}

tc_status tc__nccl_blame(struct nccl_hang *st, struct nccl_eval *e)
{
    for (uint32_t o = 0; o < e->op_count; o++) {
        if (!e->ops[o].is_p2p && !e->ops[o].alike) {
            find_mismatch(st, e, o);
        }
    }
    find_stopped(e);
    aim_at_stopped(st, e);
    if (e->target_count == 0) { /* nobody waits for anybody: there is no chain to follow */
        spread(st, e);
        return TC_OK;
    }
    find_oldest(st, e);
    if (!index_ranks(st, e)) {
        return TC_E_NOMEM;
    }
    find_waits(st, e);
    if (!find_missing(st, e)) {
        return TC_E_NOMEM;
    }
    spread(st, e);
    if (!find_cycles(st, e)) {
        return TC_E_NOMEM;
    }
    find_unknown(st, e, true);
    find_unknown(st, e, false); /* what a rank that left nothing explains, a torn dump does not */
    return TC_OK;
}
