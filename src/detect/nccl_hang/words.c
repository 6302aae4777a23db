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
        tc_format(b, "{} (group {})", g->desc, g->name);
    } else if (g->name.len > 0) {
        tc_format(b, "group {}", g->name);
    } else {
        tc_format(b, "a group without a name");
    }
}

static void write_group(struct tc_buf *b, const struct tc_arg *arg)
{
    tc__nccl_put_group(b, arg->object);
}

struct tc_arg tc__nccl_as_group(const struct nccl_group *g)
{
    return tc_as_written(write_group, g);
}

static void write_ranks(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_format(b, "rank{} {}", arg->count == 1 ? "" : "s",
              tc_as_ints(arg->object, arg->count, NCCL_RANKS_SHOWN));
}

/* "rank 3", "ranks 3 and 5", "ranks 0, 1, 2 and 9 more" */
struct tc_arg tc__nccl_as_ranks(const int32_t *ranks, size_t count)
{
    return (struct tc_arg){.write = write_ranks, .object = ranks, .count = count};
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
        if (r->seq == op->mismatch_seq && r->len.op > 0 &&
            !tc_slice_eq(tc__nccl_call_part(r, part), tc__nccl_call_part(*out_own, part))) {
            other = r;
            break;
        }
    }
    return other;
}

static void write_call(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct nccl_record *r = arg->object;
    if (r != NULL) {
        struct tc_slice sizes = tc__nccl_sizes(r);
        struct tc_slice dtypes = tc__nccl_dtypes(r);
        tc_format(b, "{}{}{}", tc__nccl_op(r), tc_when(sizes.len > 0, " {}", sizes),
                  tc_when(dtypes.len > 0, " {}", dtypes));
    }
}

static void put_mismatch(struct tc_buf *b, const struct nccl_eval *e, const struct nccl_op *op,
                         uint32_t rank)
{
    const struct nccl_record *own = NULL;
    const struct nccl_record *other = other_call(e, op, rank, &own);
    tc_format(b, "called {} as collective {}{}", tc_as_written(write_call, own), op->mismatch_seq,
              tc_when(other != NULL, ", rank {} called {}", other == NULL ? 0 : other->rank,
                      tc_as_written(write_call, other)));
}

void tc__nccl_put_reason(struct tc_buf *t, const struct nccl_hang *st, const struct nccl_eval *e,
                         uint32_t rank, const struct nccl_blamed *b)
{
    const struct nccl_op *op = &e->ops[b->op];
    struct tc_arg group = tc__nccl_as_group(&st->groups[op->group]);
    switch ((enum nccl_blame)b->blame) {
    case NCCL_BLAME_NONE:
        break;
    case NCCL_BLAME_STOPPED:
        tc_format(t,
                  "its device stopped: collective {} of {} is not completed although its peers "
                  "completed it",
                  b->head, group);
        break;
    case NCCL_BLAME_MISSING:
    case NCCL_BLAME_PASSED:
        tc_format(t, "never issued {}{}{}; {}",
                  op->is_p2p ? TC_ARG("the transfer its peer waits for in ")
                             : tc_when(true, "collective {} of ", op->front),
                  group, tc_when(b->last >= 0 && !op->is_p2p, ", the last was {}", b->last),
                  b->blame == NCCL_BLAME_MISSING ? "it has nothing pending and waits for nobody"
                                                 : "peers with the same work pending went on");
        break;
    case NCCL_BLAME_OP:
    case NCCL_BLAME_SIZE:
    case NCCL_BLAME_DTYPE:
        put_mismatch(t, e, op, rank);
        break;
    case NCCL_BLAME_CYCLE:
        tc_format(t, "waits in {} for a rank that waits for it elsewhere", group);
        break;
    case NCCL_BLAME_ABSENT:
        tc_format(t, "left no dump and no record");
        break;
    case NCCL_BLAME_UNREADABLE:
        tc_format(t, "its dump cannot be read: {}", st->ranks[rank].error);
        break;
    }
}

static struct tc_slice advice(enum nccl_blame why)
{
    switch (why) {
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
    case NCCL_BLAME_STOPPED: /* depends on what was read of its node */
    case NCCL_BLAME_NONE:
        break;
    }
    return TC_EMPTY;
}

void tc__nccl_put_advice(struct tc_buf *b, enum nccl_blame why, const struct nccl_check *check)
{
    if (why == NCCL_BLAME_STOPPED) {
        tc_format(b, ": {}, then restart the job.", tc__nodes_as_check(check));
    } else {
        tc_format(b, "{}", advice(why));
    }
}
