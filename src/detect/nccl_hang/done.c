/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The finding that a hang is over.
 */
#include "base/buf.h"
#include "base/time.h"
#include "detect/nccl_hang/priv.h"

tc_status tc__nccl_report_done(struct nccl_hang *st, const struct nccl_record *done,
                               int64_t done_ns, bool exited, const struct tc_sink *out)
{
    struct nccl_open *o = &st->open[done->open % NCCL_OPEN_MAX];
    if (!tc__nccl_complete(st, o, done, done_ns)) {
        return TC_OK;
    }
    const struct nccl_record *r = tc_ring_at(&st->records, o->last);
    int64_t when_ns = o->last_ns;
    struct nccl_op op = {
        .group = o->group, .is_p2p = o->is_p2p, .oldest = o->oldest, .created_ns = o->first_ns};
    struct nccl_draft d = {.st = st, .op = &op, .group = &st->groups[o->group], .shared_seq = -1};
    struct tc_draft *t = &d.draft;
    struct tc_finding *f = &t->finding;
    tc__draft_open(t, &tc_detector_nccl_hang, st->base.scratch);
    f->resolved = true;
    f->discriminator = o->discriminator;
    f->remediation = exited ? TC_LIT("Nothing: the job has ended well.")
                            : TC_LIT("Nothing: it went on by itself. If it comes back, look for "
                                     "a straggler or a slow link.");
    f->first_ns = o->first_ns;
    f->last_ns = when_ns > o->first_ns ? when_ns : o->first_ns;
    f->key = tc__nccl_key(&d, &op, done->from_dump);
    f->headline =
        tc__draft_format(t, "{}{} {} after {}",
                         o->is_p2p ? TC_ARG("Point-to-point traffic of ")
                                   : tc_when(true, "Collective {} of ", o->oldest),
                         tc__nccl_as_group(d.group), exited ? "ended with its job" : "completed",
                         tc_as_duration(f->last_ns - o->first_ns));
    tc__nccl_put_scope(&d, 0);
    tc__nccl_record_evidence(&d, r);
    t->evidence[0].description = exited ? TC_LIT("was pending when the job ended well")
                                        : TC_LIT("the last pending record completed");
    t->evidence[0].time_ns = when_ns;
    tc__draft_attr_any(t, NCCL_ATTR("process_group"), d.group->name);
    tc__draft_attr_any(t, NCCL_ATTR("op"), tc__nccl_op(r));
    tc__draft_attr_int(t, NCCL_ATTR("seq"), r->seq);
    tc__draft_attr_int(t, NCCL_ATTR("members"), d.group->seat_count);
    tc__draft_attr_int(t, NCCL_ATTR("queued_collectives"), 0);
    tc__draft_attr_ints(t, NCCL_ATTR("culprit_ranks"), st->desk->ints, 0);
    tc__draft_attr_list(t, NCCL_ATTR("culprit_reasons"), st->desk->reasons, 0);
    tc__draft_attr_ints(t, NCCL_ATTR("waiting_ranks"), st->desk->ints, 0);
    tc__draft_attr_ints(t, NCCL_ATTR("blocking_ranks"), st->desk->ints, 0);
    return tc__draft_emit(t, out);
}
