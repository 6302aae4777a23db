/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence of an nccl_hang finding: the records that are stuck, and what
 * shows each culprit.
 */
#include "base/buf.h"
#include "detect/nccl_hang/priv.h"

#include <stddef.h>

/* What the records of one collective share, written once. */
static TC_SELDOM void put_shared(struct nccl_draft *d, const struct nccl_record *r)
{
    struct tc_slice op = tc__nccl_op(r);
    d->shared_seq = r->seq;
    d->shared_state = r->state;
    d->shared_uid = tc__draft_format(&d->draft, "nccl:{}:{}{}:", d->group->name,
                                     r->is_p2p ? "p2p:" : "", r->seq);
    d->shared_text = tc__draft_format(&d->draft, " {} {} {}, not completed", op, r->seq,
                                      r->state == TC_NCCL_STARTED ? "started" : "scheduled");
    d->draft.finding.plain &= r == d->main || tc_slice_is_plain(op);
}

/*
 * One stuck record. Most of what is said of a hang is this, once for each rank: written past
 * tc_format, with one check for room, and inlined into the loop over the ranks.
 */
static inline __attribute__((always_inline)) void put_record(struct nccl_draft *d,
                                                             const struct nccl_record *r)
{
    struct tc_slice head = d->shared_uid;
    struct tc_slice rest = d->shared_text;
    struct tc_buf *t = &d->draft.text;
    uint64_t rank = (uint64_t)r->rank;
    char *uid = tc_buf_begin(t, head.len + rest.len + 2 * TC_PUT_U64_MAX);
    struct tc_evidence *ev = uid == NULL ? NULL : tc__draft_next_evidence(&d->draft);
    if (ev == NULL) {
        return;
    }
    char *text = tc_put_u64(tc_put_str(uid, head), rank);
    char *end = tc_put_str(tc_put_u64(tc_put_lit(text, "rank "), rank), rest);
    tc_buf_end(t, end);
    ev->kind = TC_LIT("nccl_record");
    ev->uid = tc_slice_make(uid, (size_t)(text - uid));
    ev->description = tc_slice_make(text, (size_t)(end - text));
    ev->time_ns = r->created_ns;
    ev->raw = r->raw;
}

void tc__nccl_record_evidence(struct nccl_draft *d, const struct nccl_record *r)
{
    put_shared(d, r);
    put_record(d, r);
}

/* What the rank itself reports of the group: the last sequence id it issued. */
static void status_evidence(struct nccl_draft *d, const struct nccl_rank *r,
                            const struct nccl_status *status)
{
    tc__draft_evidence(
        &d->draft,
        (struct tc_evidence){
            .kind = TC_LIT("nccl_status"),
            .uid = tc__draft_format(&d->draft, "nccl:status:{}:{}", d->group->name, r->rank),
            .description = tc__draft_format(
                &d->draft, "rank {} reports {} as the last it issued and {} as the last completed",
                r->rank, status->enqueued, status->completed),
            .time_ns = r->dump_ns,
            .raw = status->raw,
        });
}

static void dump_evidence(struct nccl_draft *d, uint32_t rank)
{
    const struct nccl_rank *r = &d->st->ranks[rank];
    if (d->draft.finding.evidence_count == TC_VERDICT_EVIDENCE_MAX || r->dump == NCCL_DUMP_NONE) {
        return;
    }
    uint32_t seat = tc__nccl_seat(d->st, d->op->group, r->rank);
    const struct nccl_status *status =
        seat == NCCL_NONE ? NULL : tc__nccl_status_of(d->st, &d->st->seats[seat]);
    if (status != NULL && !d->op->is_p2p) {
        status_evidence(d, r, status);
        return;
    }
    bool torn = r->dump == NCCL_DUMP_UNREADABLE;
    bool told = r->dump == NCCL_DUMP_SIGNALLED;
    tc__draft_evidence(&d->draft,
                       (struct tc_evidence){
                           .kind = TC_LIT("nccl_dump"),
                           .uid = tc__draft_format(&d->draft, "nccl:dump:{}", r->rank),
                           .description = tc__draft_format(
                               &d->draft, "rank {} {}{}", r->rank,
                               torn   ? "left a dump that cannot be read: "
                               : told ? "was told of the timeout, and reports none of its own"
                                      : "left a dump in which the operation does not occur",
                               torn ? r->error : TC_EMPTY),
                           .time_ns = r->dump_ns,
                           .raw = r->dump_raw,
                       });
}

/* True for the oldest pending record of a rank that is behind the others. */
static bool is_last_step(const struct nccl_draft *d, const struct nccl_op *op,
                         const struct nccl_record *r)
{
    for (uint32_t i = 0; op->behind_count > 0 && i < op->target_count; i++) {
        const struct nccl_target *t = &d->e->targets[op->target_first + i];
        if (t->head == r->seq && t->rank == r->rank_at) {
            return true;
        }
    }
    return false;
}

/* The stuck records of an operation: those at the front, and the last steps of those behind it. */
static void put_stuck(struct nccl_draft *d, const struct nccl_op *op, size_t limit)
{
    bool may_differ = d->op->is_p2p || d->op->mismatch != NCCL_BLAME_NONE;
    for (uint32_t i = 0; i < op->count && d->draft.finding.evidence_count < limit; i++) {
        const struct nccl_record *r = tc__nccl_pending(d->e, op->first + i);
        if (!op->alike && r->seq != op->front && !is_last_step(d, op, r)) {
            continue;
        }
        if (may_differ || d->shared_seq != r->seq || d->shared_state != r->state) {
            put_shared(d, r);
        }
        put_record(d, r);
    }
}

/* What is stuck, then what shows the culprits: the first entry names the incident. */
void tc__nccl_put_evidence(struct nccl_draft *d, const uint32_t *culprits, size_t count)
{
    size_t keep = count < 16 ? count : 16; /* room left for the culprits */
    for (uint32_t o = 0; o < d->said->op_count; o++) {
        put_stuck(d, &d->said->ops[o], TC_VERDICT_EVIDENCE_MAX - keep);
    }
    for (size_t i = 0; i < keep; i++) {
        uint8_t why = d->e->blamed[culprits[i]].blame;
        if (why == NCCL_BLAME_MISSING || why == NCCL_BLAME_PASSED || why == NCCL_BLAME_UNREADABLE) {
            dump_evidence(d, culprits[i]);
        }
    }
}
