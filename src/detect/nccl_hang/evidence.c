/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence of an nccl_hang finding: the records that are stuck, and what
 * shows each culprit.
 */
#include "base/buf.h"
#include "detect/nccl_hang/priv.h"

#include <stddef.h>

/* What records share is copied in whole moves where it fits these; most of it does. */
#define SHORT_UID 32
#define SHORT_TEXT 64
#define ALIKE_MAX (SHORT_UID + SHORT_TEXT + 2 * TC_PUT_U64_MAX)

/* What the records of one collective share, written once; SHORT_TEXT bytes behind the uid can be
 * read where it is short. */
static TC_SELDOM void put_shared(struct nccl_draft *d, const struct nccl_record *r)
{
    struct tc_buf *t = &d->text;
    struct tc_slice op = tc__nccl_op(r);
    d->shared_seq = r->seq;
    d->shared_state = r->state;
    d->shared_short = false;
    d->shared_uid = d->shared_text = TC_EMPTY;
    char *uid = tc_buf_begin(t, d->group->name.len + op.len + 2 * TC_PUT_U64_MAX + SHORT_TEXT);
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
    d->shared_uid = tc_slice_make(uid, (size_t)(text - uid));
    d->shared_text = tc_slice_make(text, (size_t)(p - text));
    d->shared_short = d->shared_uid.len <= SHORT_UID && d->shared_text.len <= SHORT_TEXT;
    tc_buf_end(t, d->shared_short ? text + SHORT_TEXT : p);
    d->finding.plain &= r == d->main || tc_slice_is_plain(op);
}

static void fill(struct tc_evidence *ev, const struct nccl_record *r, const char *uid,
                 const char *text, const char *end)
{
    ev->kind = TC_LIT("nccl_record");
    ev->uid = tc_slice_make(uid, (size_t)(text - uid));
    ev->description = tc_slice_make(text, (size_t)(end - text));
    ev->time_ns = r->created_ns;
    ev->raw = r->raw;
}

/* Whether the words that records share are those of r. */
static bool has_shared(const struct nccl_draft *d, const struct nccl_record *r)
{
    return d->shared_seq == r->seq && d->shared_state == r->state;
}

static void put_record(struct nccl_draft *d, const struct nccl_record *r, bool may_differ)
{
    if (may_differ || !has_shared(d, r)) {
        put_shared(d, r);
    }
    struct tc_slice head = d->shared_uid;
    struct tc_slice rest = d->shared_text;
    uint64_t rank = (uint64_t)r->rank;
    char *uid = tc_buf_begin(&d->text, head.len + rest.len + 2 * TC_PUT_U64_MAX);
    if (uid == NULL) {
        return;
    }
    char *text = tc_put_u64(tc_put_str(uid, head), rank);
    char *p = tc_put_str(tc_put_u64(tc_put_lit(text, "rank "), rank), rest);
    tc_buf_end(&d->text, p);
    fill(&d->desk->evidence[d->evidence_count++], r, uid, text, p);
}

void tc__nccl_record_evidence(struct nccl_draft *d, const struct nccl_record *r)
{
    put_record(d, r, true);
}

/*
 * Records of one collective, as far as they share their words and those are short: with one
 * check for room, and fixed moves. Returns how many.
 */
static uint32_t put_alike(struct nccl_draft *d, const struct tc_sort_pair *pending, uint32_t count)
{
    const struct nccl_record *first = (const struct nccl_record *)(uintptr_t)pending[0].value;
    if (!has_shared(d, first)) {
        put_shared(d, first);
    }
    if (!d->shared_short || d->text.cap - d->text.len < count * ALIKE_MAX) {
        return 0;
    }
    char *uid = d->text.data + d->text.len;
    /* In locals, so that they stay in registers: any store could be one to where they are. */
    tc_two_words head[SHORT_UID / sizeof(tc_two_words)];
    tc_two_words rest[SHORT_TEXT / sizeof(tc_two_words)];
    __builtin_memcpy(head, d->shared_uid.ptr, sizeof head);
    __builtin_memcpy(rest, d->shared_text.ptr, sizeof rest);
    size_t head_len = d->shared_uid.len;
    size_t rest_len = d->shared_text.len;
    struct tc_evidence *ev = &d->desk->evidence[d->evidence_count];
    uint8_t state = first->state;
    uint32_t done = 0;
    for (; done < count; done++) {
        const struct nccl_record *r = (const struct nccl_record *)(uintptr_t)pending[done].value;
        if (r->state != state) {
            break;
        }
        uint64_t rank = (uint64_t)r->rank;
        __builtin_memcpy(uid, head, sizeof head);
        char *text = uid + head_len;
        char *p;
        if (rank < TC_SMALL_COUNT) { /* its digits are looked up once */
            struct tc_small digits = tc_smalls[rank];
            __builtin_memcpy(text, &digits, sizeof digits);
            text += digits.len;
            p = tc_put_lit(text, "rank ");
            __builtin_memcpy(p, &digits, sizeof digits);
            p += digits.len;
        } else {
            text = tc_put_u64(text, rank);
            p = tc_put_u64(tc_put_lit(text, "rank "), rank);
        }
        __builtin_memcpy(p, rest, sizeof rest);
        p += rest_len;
        fill(ev++, r, uid, text, p);
        uid = p;
    }
    tc_buf_end(&d->text, uid);
    d->evidence_count += done;
    return done;
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

/* The stuck records of an operation: those at the front, and the last steps of those behind it. */
static void put_stuck(struct nccl_draft *d, const struct nccl_op *op, size_t limit)
{
    const struct tc_sort_pair *pending = &d->e->pending[op->first];
    bool may_differ = d->op->is_p2p || d->op->mismatch != NCCL_BLAME_NONE;
    for (uint32_t i = 0; i < op->count && d->evidence_count < limit;) {
        const struct nccl_record *r = (const struct nccl_record *)(uintptr_t)pending[i].value;
        size_t left = limit - d->evidence_count;
        uint32_t count = op->count - i < left ? op->count - i : (uint32_t)left;
        uint32_t done = op->alike ? put_alike(d, pending + i, count) : 0;
        if (done == 0 && (r->seq == op->front || is_last_step(d, op, r))) {
            put_record(d, r, may_differ);
        }
        i += done == 0 ? 1 : done;
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
