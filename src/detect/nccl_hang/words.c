/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of an nccl_hang finding: groups, ranks, reasons, advice.
 */
#include "base/buf.h"
#include "detect/nccl_hang/priv.h"

#include <stddef.h>

void tc__nccl_put_group(struct tc_buf *b, const struct nccl_group *g)
{
    if (g->desc.len > 0) {
        tc_buf_str(b, g->desc);
        tc_buf_lit(b, " (group ");
        tc_buf_str(b, g->name);
        tc_buf_char(b, ')');
    } else if (g->name.len > 0) {
        tc_buf_lit(b, "group ");
        tc_buf_str(b, g->name);
    } else {
        tc_buf_lit(b, "a group without a name");
    }
}

/* "rank 3", "ranks 3 and 5", "ranks 0, 1, 2 and 9 more" */
void tc__nccl_put_ranks(struct tc_buf *b, const int32_t *ranks, size_t count)
{
    size_t shown = count <= NCCL_RANKS_SHOWN ? count : NCCL_RANKS_SHOWN;
    tc_buf_str(b, count == 1 ? TC_LIT("rank ") : TC_LIT("ranks "));
    for (size_t i = 0; i < shown; i++) {
        bool last = i + 1 == count;
        tc_buf_str(b, i == 0 ? TC_EMPTY : last ? TC_LIT(" and ") : TC_LIT(", "));
        tc_buf_i64(b, ranks[i]);
    }
    if (shown < count) {
        tc_buf_lit(b, " and ");
        tc_buf_u64(b, count - shown);
        tc_buf_lit(b, " more");
    }
}

struct tc_slice tc__nccl_call_part(const struct nccl_record *r, enum nccl_blame part)
{
    return part == NCCL_BLAME_OP     ? tc__nccl_op(r)
           : part == NCCL_BLAME_SIZE ? tc__nccl_sizes(r)
                                     : tc__nccl_dtypes(r);
}

/* The first record of the mismatching collective that makes the other call. */
static const struct nccl_record *other_call(const struct nccl_eval *e, const struct nccl_op *op,
                                            uint32_t rank, const struct nccl_record **out_own)
{
    const struct nccl_record *other = NULL;
    *out_own = NULL;
    for (uint32_t i = op->first; i < op->first + op->count; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        if (r->seq == op->mismatch_seq && r->rank_at == rank) {
            *out_own = r;
        }
    }
    for (uint32_t i = op->first; i < op->first + op->count && *out_own != NULL; i++) {
        const struct nccl_record *r = tc__nccl_pending(e, i);
        enum nccl_blame part = (enum nccl_blame)op->mismatch;
        if (r->seq == op->mismatch_seq &&
            !tc_slice_eq(tc__nccl_call_part(r, part), tc__nccl_call_part(*out_own, part))) {
            other = r;
            break;
        }
    }
    return other;
}

static void put_call(struct tc_buf *b, const struct nccl_record *r)
{
    tc_buf_str(b, tc__nccl_op(r));
    tc_buf_char(b, ' ');
    tc_buf_str(b, tc__nccl_sizes(r));
    tc_buf_char(b, ' ');
    tc_buf_str(b, tc__nccl_dtypes(r));
}

static void put_mismatch(struct tc_buf *b, const struct nccl_eval *e, const struct nccl_op *op,
                         uint32_t rank)
{
    const struct nccl_record *own = NULL;
    const struct nccl_record *other = other_call(e, op, rank, &own);
    tc_buf_lit(b, "called ");
    if (own != NULL) {
        put_call(b, own);
    }
    tc_buf_lit(b, " as collective ");
    tc_buf_i64(b, op->mismatch_seq);
    if (other != NULL) {
        tc_buf_lit(b, ", rank ");
        tc_buf_i64(b, other->rank);
        tc_buf_lit(b, " called ");
        put_call(b, other);
    }
}

void tc__nccl_put_reason(struct tc_buf *t, const struct nccl_hang *st, const struct nccl_eval *e,
                         uint32_t rank, const struct nccl_blamed *b)
{
    const struct nccl_op *op = &e->ops[b->op];
    switch ((enum nccl_blame)b->blame) {
    case NCCL_BLAME_NONE:
        break;
    case NCCL_BLAME_STOPPED:
        tc_buf_lit(t, "its device stopped: collective ");
        tc_buf_i64(t, b->head);
        tc_buf_lit(t, " of ");
        tc__nccl_put_group(t, &st->groups[op->group]);
        tc_buf_lit(t, " is not completed although its peers completed it");
        break;
    case NCCL_BLAME_MISSING:
    case NCCL_BLAME_PASSED:
        tc_buf_lit(t, "never issued ");
        if (op->is_p2p) {
            tc_buf_lit(t, "the transfer its peer waits for in ");
        } else {
            tc_buf_lit(t, "collective ");
            tc_buf_i64(t, op->front);
            tc_buf_lit(t, " of ");
        }
        tc__nccl_put_group(t, &st->groups[op->group]);
        if (b->last >= 0 && !op->is_p2p) {
            tc_buf_lit(t, ", the last was ");
            tc_buf_i64(t, b->last);
        }
        tc_buf_str(t, b->blame == NCCL_BLAME_MISSING
                          ? TC_LIT("; it has nothing pending and waits for nobody")
                          : TC_LIT("; peers with the same work pending went on"));
        break;
    case NCCL_BLAME_OP:
    case NCCL_BLAME_SIZE:
    case NCCL_BLAME_DTYPE:
        put_mismatch(t, e, op, rank);
        break;
    case NCCL_BLAME_CYCLE:
        tc_buf_lit(t, "waits in ");
        tc__nccl_put_group(t, &st->groups[op->group]);
        tc_buf_lit(t, " for a rank that waits for it elsewhere");
        break;
    case NCCL_BLAME_ABSENT:
        tc_buf_lit(t, "left no dump and no record");
        break;
    case NCCL_BLAME_UNREADABLE:
        tc_buf_lit(t, "its dump cannot be read: ");
        tc_buf_str(t, st->ranks[rank].error);
        break;
    }
}

struct tc_slice tc__nccl_advice(enum nccl_blame why)
{
    switch (why) {
    case NCCL_BLAME_STOPPED:
        return TC_LIT(": read the kernel log of its node for Xid errors and check the GPU with "
                      "nvidia-smi -q; drain the node if it shows one, then restart the job.");
    case NCCL_BLAME_MISSING:
    case NCCL_BLAME_PASSED:
        return TC_LIT(": take the stack of its process (py-spy dump --pid PID) before it is "
                      "killed, and look for a held interpreter lock, a stuck data loader or an "
                      "exception; then restart the job.");
    case NCCL_BLAME_OP:
    case NCCL_BLAME_SIZE:
    case NCCL_BLAME_DTYPE:
        return TC_LIT(": its program took another path than its peers; compare the branch, the "
                      "batch and the configuration that lead to this call.");
    case NCCL_BLAME_CYCLE:
        return TC_LIT(": the ranks of the cycle issue collectives of different groups in "
                      "different order; make the order the same on all of them.");
    case NCCL_BLAME_ABSENT:
        return TC_LIT(": it left nothing; check that its process and its node are alive.");
    case NCCL_BLAME_UNREADABLE:
        return TC_LIT(": its dump is torn; check that its process and its node are alive, and "
                      "the disk the dump was written to.");
    case NCCL_BLAME_NONE:
        break;
    }
    return TC_EMPTY;
}
