/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence of an nccl_hang finding: the records that are stuck, and what
 * shows each culprit.
 */
#include "base/buf.h"
#include "detect/nccl_hang_priv.h"

#include <stddef.h>

/* Digits of a rank: copied whole, which is one move. */
#define RANK_MAX 16

/* What the records of one collective share, written once. */
static TC_SELDOM void put_shared(struct nccl_draft *d, const struct nccl_record *r)
{
    struct tc_buf *t = &d->text;
    struct tc_slice op = tc__nccl_op(r);
    d->shared_seq = r->seq;
    d->shared_state = r->state;
    d->shared_uid = d->shared_text = TC_EMPTY;
    char *uid = tc_buf_begin(t, d->group->name.len + op.len + 2 * TC_PUT_U64_MAX + 64);
    if (uid == NULL) {
        return;
    }
    char *p = tc_put_lit(uid, "nccl:");
    p = tc_put_str(p, d->group->name);
    p = r->is_p2p ? tc_put_lit(p, ":p2p:") : tc_put_lit(p, ":");
    char *number = p;
    char *text = tc_put_u64(number, (uint64_t)r->seq);
    struct tc_slice seq = tc_slice_make(number, (size_t)(text - number));
    *text++ = ':';
    p = tc_put_lit(text, " ");
    p = tc_put_str(p, op);
    *p++ = ' ';
    p = tc_put_str(p, seq);
    p = r->state == TC_NCCL_STARTED ? tc_put_lit(p, " started, not completed")
                                    : tc_put_lit(p, " scheduled, not completed");
    tc_buf_end(t, p);
    d->shared_uid = tc_slice_make(uid, (size_t)(text - uid));
    d->shared_text = tc_slice_make(text, (size_t)(p - text));
    d->finding.plain &= r == d->main || tc_slice_is_plain(op);
}

/* One stuck record. Inlined where all of a finding are written. */
static inline __attribute__((always_inline)) void
put_record(struct nccl_draft *d, const struct nccl_record *r, bool may_differ)
{
    if (d->shared_seq != r->seq || d->shared_state != r->state || may_differ) {
        put_shared(d, r);
    }
    struct tc_slice head = d->shared_uid;
    struct tc_slice rest = d->shared_text;
    char *uid = tc_buf_begin(&d->text, head.len + rest.len + 2 * RANK_MAX + 8);
    if (uid == NULL) {
        return;
    }
    struct tc_evidence *ev = &d->desk->evidence[d->evidence_count++];
    char *number = tc_put_str(uid, head);
    char *text = tc_put_u64(number, (uint64_t)r->rank);
    char *p = tc_put_lit(text, "rank ");
    char digits[RANK_MAX];
    __builtin_memcpy(digits, number, sizeof digits);
    __builtin_memcpy(p, digits, sizeof digits);
    p = tc_put_str(p + (text - number), rest);
    tc_buf_end(&d->text, p);
    ev->kind = TC_LIT("nccl_record");
    ev->uid = tc_slice_make(uid, (size_t)(text - uid));
    ev->description = tc_slice_make(text, (size_t)(p - text));
    ev->time_ns = r->created_ns;
    ev->raw = r->raw;
}

void tc__nccl_record_evidence(struct nccl_draft *d, const struct nccl_record *r)
{
    put_record(d, r, true);
}

/* What the rank itself reports of the group: the last sequence id it issued. */
static void status_evidence(struct nccl_draft *d, uint32_t rank, const struct nccl_status *status)
{
    struct tc_evidence *ev = &d->desk->evidence[d->evidence_count++];
    size_t start = d->text.len;
    tc_buf_lit(&d->text, "nccl:status:");
    tc_buf_str(&d->text, d->group->name);
    tc_buf_char(&d->text, ':');
    tc_buf_i64(&d->text, tc__nccl_rank_number(d, rank));
    ev->uid = tc__nccl_cut(d, start);
    start = d->text.len;
    tc_buf_lit(&d->text, "rank ");
    tc_buf_i64(&d->text, tc__nccl_rank_number(d, rank));
    tc_buf_lit(&d->text, " reports ");
    tc_buf_i64(&d->text, status->enqueued);
    tc_buf_lit(&d->text, " as the last it issued and ");
    tc_buf_i64(&d->text, status->completed);
    tc_buf_lit(&d->text, " as the last completed");
    ev->description = tc__nccl_cut(d, start);
    ev->kind = TC_LIT("nccl_status");
    ev->time_ns = d->st->ranks[rank].dump_ns;
    ev->raw = status->raw;
}

static void dump_evidence(struct nccl_draft *d, uint32_t rank)
{
    const struct nccl_rank *r = &d->st->ranks[rank];
    if (d->evidence_count == TC_VERDICT_EVIDENCE_MAX || r->dump == NCCL_DUMP_NONE) {
        return;
    }
    uint32_t seat = tc__nccl_seat(d->st, d->op->group, r->rank);
    const struct nccl_status *status =
        seat == NCCL_NONE ? NULL : tc__nccl_status_of(d->st, &d->st->seats[seat]);
    if (status != NULL && !d->op->is_p2p) {
        status_evidence(d, rank, status);
        return;
    }
    struct tc_evidence *ev = &d->desk->evidence[d->evidence_count++];
    size_t start = d->text.len;
    tc_buf_lit(&d->text, "nccl:dump:");
    tc_buf_i64(&d->text, r->rank);
    ev->uid = tc__nccl_cut(d, start);
    start = d->text.len;
    tc_buf_lit(&d->text, "rank ");
    tc_buf_i64(&d->text, r->rank);
    if (r->dump == NCCL_DUMP_UNREADABLE) {
        tc_buf_lit(&d->text, " left a dump that cannot be read: ");
        tc_buf_str(&d->text, r->error);
    } else {
        tc_buf_lit(&d->text, " left a dump in which the operation does not occur");
    }
    ev->description = tc__nccl_cut(d, start);
    ev->kind = TC_LIT("nccl_dump");
    ev->time_ns = r->dump_ns;
    ev->raw = r->dump_raw;
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

/* What is stuck, then what shows the culprits: the first entry names the incident. */
void tc__nccl_put_evidence(struct nccl_draft *d, const uint32_t *culprits, size_t count)
{
    size_t keep = count < 16 ? count : 16; /* room left for the culprits */
    bool may_differ = d->op->is_p2p || d->op->mismatch != NCCL_BLAME_NONE;
    for (uint32_t o = 0; o < d->said->op_count; o++) {
        const struct nccl_op *op = &d->said->ops[o];
        uint32_t end = op->first + op->count;
        for (uint32_t i = op->first; i < end; i++) {
            const struct nccl_record *r = tc__nccl_pending(d->e, i);
            if ((r->seq == op->front || is_last_step(d, op, r)) &&
                d->evidence_count + keep < TC_VERDICT_EVIDENCE_MAX) {
                put_record(d, r, may_differ);
            }
        }
    }
    for (size_t i = 0; i < keep; i++) {
        uint8_t why = d->e->blamed[culprits[i]].blame;
        if (why == NCCL_BLAME_MISSING || why == NCCL_BLAME_PASSED || why == NCCL_BLAME_UNREADABLE) {
            dump_evidence(d, culprits[i]);
        }
    }
}
