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
    struct nccl_draft d = {
        .st = st, .op = &op, .group = &st->groups[o->group], .desk = st->desk, .shared_seq = -1};
    d.text = tc_buf_make(st->desk->text, NCCL_DESK_TEXT_BYTES);
    d.finding = (struct tc_finding){
        .pattern_id = TC_LIT("1"),
        .pattern_name = TC_LIT("nccl_hang"),
        .resolved = true,
        .severity = TC_SEVERITY_INFO,
        .discriminator = o->discriminator,
        .remediation = exited ? TC_LIT("Nothing: the job has ended well.")
                              : TC_LIT("Nothing: it went on by itself. If it comes back, look for "
                                       "a straggler or a slow link."),
        .first_ns = o->first_ns,
        .last_ns = when_ns > o->first_ns ? when_ns : o->first_ns,
    };
    d.finding.key = tc__nccl_put_key(&d, &op, done->from_dump);
    size_t start = d.text.len;
    tc_buf_str(&d.text, o->is_p2p ? TC_LIT("Point-to-point traffic of ") : TC_LIT("Collective "));
    if (!o->is_p2p) {
        tc_buf_i64(&d.text, o->oldest);
        tc_buf_lit(&d.text, " of ");
    }
    tc__nccl_put_group(&d.text, d.group);
    tc_buf_str(&d.text,
               exited ? TC_LIT(" ended with its job after ") : TC_LIT(" completed after "));
    tc_buf_duration(&d.text, d.finding.last_ns - o->first_ns);
    d.finding.headline = tc__nccl_cut(&d, start);
    tc__nccl_put_scope(&d, NULL, 0);
    tc__nccl_record_evidence(&d, r);
    d.desk->evidence[0].description = exited ? TC_LIT("was pending when the job ended well")
                                             : TC_LIT("the last pending record completed");
    d.desk->evidence[0].time_ns = when_ns;
    d.finding.evidence = d.desk->evidence;
    d.finding.evidence_count = d.evidence_count;
    tc__nccl_attr(&d, NCCL_ATTR("process_group"), TC_ATTR_STRING)->string = d.group->name;
    tc__nccl_attr(&d, NCCL_ATTR("op"), TC_ATTR_STRING)->string = tc__nccl_op(r);
    tc__nccl_attr(&d, NCCL_ATTR("seq"), TC_ATTR_INT)->integer = r->seq;
    tc__nccl_attr(&d, NCCL_ATTR("members"), TC_ATTR_INT)->integer = d.group->seat_count;
    tc__nccl_attr(&d, NCCL_ATTR("queued_collectives"), TC_ATTR_INT)->integer = 0;
    tc__nccl_attr_ints(&d, NCCL_ATTR("culprit_ranks"), d.desk->ints, 0);
    tc__nccl_attr(&d, NCCL_ATTR("culprit_reasons"), TC_ATTR_STRINGS)->strings = d.desk->reasons;
    tc__nccl_attr_ints(&d, NCCL_ATTR("waiting_ranks"), d.desk->ints, 0);
    tc__nccl_attr_ints(&d, NCCL_ATTR("blocking_ranks"), d.desk->ints, 0);
    d.finding.attrs = d.desk->attrs;
    d.finding.attr_count = d.attr_count;
    return tc_sink_emit(out, &d.finding);
}
