/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's transport compares what one end sends with what the other expects. Where that differs, the
 * two made different calls, or run with different settings. It names addresses, not ranks.
 */
#include "base/buf.h"
#include "detect/nccl_hang/priv.h"
#include "detect/nccl_hang/watch_priv.h"

/* Both ends tell of it, on each channel: once for each end is enough. */
static bool is_news(struct nccl_hang *st, const struct tc_event *ev)
{
    struct nccl_sizes *s = &st->sizes;
    uint64_t hash = tc_slice_hash(ev->fault.device,
                                  tc_slice_hash(ev->scope.node, tc_slice_hash(ev->scope.job, 1)));
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->told[i] == hash) {
            return false;
        }
    }
    if (s->count == NCCL_SIZES_MAX) {
        st->base.dropped++;
        return false;
    }
    s->told[s->count++] = hash;
    return true;
}

tc_status tc__nccl_on_sizes(struct nccl_hang *st, const struct tc_event *ev,
                            const struct tc_sink *out)
{
    if (!tc_slice_eq(ev->fault.fault, TC_LIT("collective_mismatch"))) {
        return TC_OK;
    }
    if (ev->time_ns == TC_TIME_NONE || !tc__scope_fits(&ev->scope) ||
        ev->fault.device.len > TC_SCOPE_TEXT_MAX || ev->scope.job.len > TC_SCOPE_TEXT_MAX) {
        st->base.ignored++;
        return TC_OK;
    }
    if (!is_news(st, ev)) {
        return TC_OK;
    }
    struct tc_draft d;
    struct tc_finding *f = &d.finding;
    struct tc_arg node = tc_as_known(ev->scope.node, "a node");
    struct tc_arg peer = tc_as_known(ev->fault.device, "its peer");
    tc__draft_open(&d, &tc_detector_nccl_hang, st->base.scratch);
    f->severity = TC_SEVERITY_CRITICAL;
    f->confidence = TC_CONFIDENCE_FULL;
    f->discriminator = TC_LIT("size_mismatch");
    f->first_ns = f->last_ns = ev->time_ns;
    f->key =
        tc__draft_format(&d, "sizes|{}|{}|{}", ev->scope.job, ev->scope.node, ev->fault.device);
    f->headline = tc__draft_format(&d, "{} and {} take part in a collective with different sizes",
                                   node, peer);
    f->remediation = tc__draft_format(
        &d,
        "On {} and {}: compare NCCL's version and environment (NCCL_ALGO, NCCL_PROTO, "
        "NCCL_BUFFSIZE, the network plugin), then the calls and batches of the ranks there.",
        node, peer);
    f->scope = (struct tc_scope){.node = ev->scope.node,
                                 .ns = ev->scope.ns,
                                 .pod = ev->scope.pod,
                                 .job = ev->scope.job,
                                 .rank = ev->scope.rank,
                                 .gpu_index = -1,
                                 .pid = -1};
    tc__watch_attrs(&d, &(struct watch_facts){.members = 2});
    tc__draft_evidence(
        &d, (struct tc_evidence){
                .kind = TC_LIT("network_fault"),
                .uid = tc__draft_format(&d, "nccl:sizes:{}:{}", ev->scope.node, ev->fault.device),
                .description = tc__draft_format(&d, "{}", ev->fault.message),
                .time_ns = ev->time_ns,
                .raw = ev->raw,
            });
    return tc__draft_emit(&d, out);
}
