/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the analysis to findings. A stuck episode of collectives is one finding,
 * all transfers of a group together are one. The one whose own culprits explain
 * the others is the root and comes first, so that the others can refer to it.
 */
#include "detect/nccl_hang/priv.h"

#include <stddef.h>

/* One finding in the making: operations first .. first + count of one group. */
struct unit {
    uint32_t first;
    uint32_t count;
    uint64_t direct;   /* culprits it waits for itself */
    uint64_t culprits; /* direct, or those at the end of the chain */
    int64_t created_ns;
    uint32_t root;             /* the unit that explains it; itself for a root */
    struct tc_cause causes[2]; /* of a root: see nccl_said */
    bool is_root;
    bool has_more; /* it waits for culprits that have no bit */
    bool is_pure;  /* a collective that waits for nobody but its culprits */
};

static uint64_t direct_of(const struct nccl_eval *e, const struct nccl_op *op)
{
    uint64_t mask = 0;
    if (e->culprit_count == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < op->target_count; i++) {
        const struct nccl_blamed *b = &e->blamed[e->targets[op->target_first + i].rank];
        mask |= b->bit == NCCL_NONE ? 0 : UINT64_C(1) << b->bit;
    }
    for (uint32_t i = 0; i < op->waiting_count + op->behind_count; i++) {
        const struct nccl_blamed *b = &e->blamed[e->lists[op->waiting_first + i]];
        bool own = b->blame == NCCL_BLAME_STOPPED && op->passed_count > 0;
        own |= b->blame != NCCL_BLAME_NONE && b->blame == op->mismatch;
        mask |= own && b->bit != NCCL_NONE ? UINT64_C(1) << b->bit : 0;
    }
    return mask;
}

static bool has_unnumbered_target(const struct nccl_eval *e, const struct nccl_op *op)
{
    for (uint32_t i = 0; e->full && i < op->target_count; i++) {
        const struct nccl_blamed *b = &e->blamed[e->targets[op->target_first + i].rank];
        if (b->blame != NCCL_BLAME_NONE && b->bit == NCCL_NONE) {
            return true;
        }
    }
    return false;
}

static bool has_innocent_target(const struct nccl_eval *e, const struct nccl_op *op)
{
    for (uint32_t i = 0; i < op->target_count; i++) {
        if (e->blamed[e->targets[op->target_first + i].rank].blame == NCCL_BLAME_NONE) {
            return true;
        }
    }
    return false;
}

static uint32_t make_units(const struct nccl_hang *st, const struct nccl_eval *e,
                           struct unit *units)
{
    uint32_t count = 0;
    for (uint32_t o = 0; o < e->op_count;) {
        uint32_t end = o + 1;
        while (e->ops[o].is_p2p && end < e->op_count && e->ops[end].is_p2p &&
               e->ops[end].group == e->ops[o].group) {
            end++;
        }
        struct unit u = {.first = o, .count = end - o, .created_ns = INT64_MAX, .root = NCCL_NONE};
        uint64_t reach = 0;
        uint64_t related = 0;
        bool hung = false;
        bool timed_out = false;
        for (uint32_t i = o; i < end; i++) {
            const struct nccl_op *op = &e->ops[i];
            u.direct |= direct_of(e, op);
            u.has_more |= has_unnumbered_target(e, op);
            reach |= op->reach;
            related |= op->related;
            hung |= op->hung;
            timed_out |= tc__nccl_pending(e, op->first)->timed_out;
            u.created_ns = op->created_ns < u.created_ns ? op->created_ns : u.created_ns;
        }
        u.is_pure = !e->ops[o].is_p2p && !has_innocent_target(e, &e->ops[o]);
        u.culprits = u.direct != 0 ? u.direct : reach != 0 ? reach : related;
        /* One that is known alone is no group that hangs, unless its watchdog says so. */
        if (hung && (timed_out || st->groups[e->ops[o].group].seat_count > 1)) {
            units[count++] = u;
        }
        o = end;
    }
    return count;
}

/* Oldest first; of equal age the order of groups and sequence ids stays. */
static bool sort_units(struct nccl_hang *st, struct unit *units, uint32_t count)
{
    uint32_t in_order = 1;
    while (in_order < count && units[in_order - 1].created_ns <= units[in_order].created_ns) {
        in_order++;
    }
    if (in_order >= count) {
        return true;
    }
    struct tc_sort_pair *pairs = tc_new(&st->eval, struct tc_sort_pair, count);
    struct tc_sort_pair *scratch = tc_new(&st->eval, struct tc_sort_pair, count);
    struct unit *copy = tc_new(&st->eval, struct unit, count);
    if (copy == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        pairs[i] = (struct tc_sort_pair){(uint64_t)units[i].created_ns, i};
        copy[i] = units[i];
    }
    tc_sort_keys(pairs, scratch, count);
    for (uint32_t i = 0; i < count; i++) {
        units[i] = copy[pairs[i].value];
    }
    return true;
}

/*
 * The fewest units whose own culprits are all culprits: each time the one that
 * adds most; of equals the one that shows it most plainly, then the oldest.
 */
static void choose_roots(struct unit *units, uint32_t count)
{
    uint32_t roots[NCCL_CULPRIT_BITS];
    uint32_t root_count = 0;
    uint64_t open = 0;
    for (uint32_t i = 0; i < count; i++) {
        open |= units[i].direct;
        if (units[i].direct == 0 &&
            units[i].has_more) { /* cannot be told from others: stands alone */
            units[i].is_root = true;
            units[i].root = i;
        }
    }
    while (open != 0) {
        uint32_t best = NCCL_NONE;
        int best_gain = 1; /* twice the culprits, plus one when it is pure */
        for (uint32_t i = 0; i < count; i++) {
            int gain = 2 * __builtin_popcountll(units[i].direct & open) + units[i].is_pure;
            if (gain > best_gain) {
                best = i;
                best_gain = gain;
            }
        }
        units[best].is_root = true;
        units[best].root = best;
        open &= ~units[best].direct;
        roots[root_count++] = best; /* each adds a bit, so there are at most as many */
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t r = 0; r < root_count && units[i].root == NCCL_NONE; r++) {
            if ((units[roots[r]].direct & units[i].culprits) != 0) {
                units[i].root = roots[r];
            }
        }
    }
}

/* Without a culprit: the oldest of those that share a rank stands for all of them. */
static void choose_oldest(const struct nccl_eval *e, struct unit *units, uint32_t count,
                          uint32_t *owner) /* by rank: unit that stands for it, plus one */
{
    for (uint32_t n = 0; n < count; n++) {
        struct unit *u = &units[n];
        if (u->root != NCCL_NONE) {
            continue;
        }
        uint32_t found = 0;
        for (uint32_t o = u->first; o < u->first + u->count && found == 0; o++) {
            const uint32_t *ranks = &e->lists[e->ops[o].waiting_first];
            uint32_t ranks_count = e->ops[o].waiting_count;
            for (uint32_t i = 0; i < ranks_count && found == 0; i++) {
                found = owner[ranks[i]];
            }
        }
        u->is_root = found == 0;
        uint32_t root = found == 0 ? n : found - 1;
        u->root = root;
        for (uint32_t o = u->first; o < u->first + u->count; o++) {
            const uint32_t *ranks = &e->lists[e->ops[o].waiting_first];
            uint32_t ranks_count = e->ops[o].waiting_count;
            for (uint32_t i = 0; i < ranks_count; i++) {
                owner[ranks[i]] = root + 1;
            }
        }
    }
}

tc_status tc__nccl_report(struct nccl_hang *st, struct nccl_eval *e, const struct tc_sink *out)
{
    struct unit *units = tc_new(&st->eval, struct unit, e->op_count);
    uint32_t *owner = tc_new(&st->eval, uint32_t, st->rank_count);
    if (owner == NULL) {
        return TC_E_NOMEM;
    }
    uint32_t count = make_units(st, e, units);
    if (!sort_units(st, units, count)) {
        return TC_E_NOMEM;
    }
    choose_roots(units, count);
    choose_oldest(e, units, count, owner);
    for (int pass = 0; pass < 2; pass++) { /* roots first: the others name them */
        for (uint32_t i = 0; i < count; i++) {
            if (units[i].is_root != (pass == 0)) {
                continue;
            }
            struct nccl_said said = {.ops = &e->ops[units[i].first],
                                     .op_count = units[i].count,
                                     .root_op = &e->ops[units[units[i].root].first],
                                     .causes = units[units[i].root].causes,
                                     .culprits = units[i].culprits,
                                     .is_direct = units[i].direct != 0 || units[i].has_more,
                                     .has_more = units[i].has_more,
                                     .is_root = units[i].is_root};
            TC_TRY(tc__nccl_say(st, e, &said, out));
        }
    }
    return TC_OK;
}

bool tc__nccl_complete(const struct nccl_hang *st, struct nccl_open *o, const struct nccl_record *r,
                       int64_t when_ns)
{
    if (o->serial != r->open || o->remaining == 0) {
        return false;
    }
    const struct nccl_record *last = tc_ring_at(&st->records, o->last);
    bool later = last == NULL || when_ns > o->last_ns;
    if (!later && when_ns == o->last_ns) {
        later = r->rank != last->rank ? r->rank > last->rank : r->seq > last->seq;
    }
    if (later) {
        o->last = r->pos;
        o->last_ns = when_ns;
    }
    return --o->remaining == 0;
}
