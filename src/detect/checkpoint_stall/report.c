/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a checkpoint_stall verdict. */
#include "detect/checkpoint_stall/priv.h"
#include "detect/words_priv.h"

#include <string.h>

#define KEY(name) TC_LIT("tracecore.alert.checkpoint_stall." name)

static const struct {
    const char *kind; /* of the evidence, and the discriminator */
    const char *action;
} PROOFS[] = {
    [CKPT_K8S] = {"storage_event",
                  "see why the volume cannot be attached or mounted (events of the pod, the CSI "
                  "driver, the storage behind it)"},
    [CKPT_KERNEL] = {"storage_error",
                     "look at the kernel log and the disk, file system or server it names, and "
                     "drain the node if the errors go on"},
    [CKPT_WRITES] = {"slow_write",
                     "find what loads the disk or slows it down (other writers, the storage "
                     "behind it, a failing drive)"},
};

static enum ckpt_proof best_proof(const struct ckpt_stall *s)
{
    unsigned p = 0;
    while (p < CKPT_WRITES && !s->pieces[p].known) {
        p++;
    }
    return (enum ckpt_proof)p;
}

/* Copies a string into a piece; what does not fit is cut. */
static uint16_t copy_text(char *to, size_t size, struct tc_slice from)
{
    struct tc_buf b = tc_buf_make(to, size);
    tc_buf_str(&b, tc__text_clip(from, size));
    return (uint16_t)b.len;
}

static uint16_t describe(char *to, size_t size, const struct ckpt_sign *sign)
{
    struct tc_buf b = tc_buf_make(to, size);
    if (sign->proof == CKPT_WRITES) {
        tc_format(&b, "Writes to {} on node {} took {} ms on average",
                  tc_as_known(sign->device, "a disk"), sign->node, sign->value);
    } else {
        tc_format(&b, "{}{}{}{}{}", sign->what,
                  tc_when(sign->device.len > 0, " of {}", sign->device),
                  tc_when(sign->pod.len > 0, ", pod {}/{}", sign->ns, sign->pod),
                  tc_when(sign->node.len > 0, ", node {}", sign->node),
                  tc_when(sign->text.len > 0, ": {}", tc__text_clip(sign->text, CKPT_TEXT_MAX)));
    }
    return (uint16_t)b.len;
}

void tc__ckpt_piece(struct ckpt_piece *out, const struct ckpt_sign *sign, bool same_pod)
{
    out->known = true;
    out->same_pod = same_pod;
    out->first_ns = sign->first_ns;
    out->raw = sign->raw;
    out->value = sign->value;
    out->what_len = copy_text(out->what, sizeof out->what, sign->what);
    out->node_len = copy_text(out->node, sizeof out->node, sign->node);
    out->device_len = copy_text(out->device, sizeof out->device, sign->device);
    out->text_len = describe(out->text, sizeof out->text, sign);
    struct tc_buf b = tc_buf_make(out->uid, sizeof out->uid);
    if (sign->uid.len > 0) {
        tc_buf_str(&b, sign->uid);
    } else {
        tc_format(&b, "{}:{}:{}", sign->what, tc_as_time(sign->first_ns),
                  tc__text_clip(sign->node, TC_SCOPE_TEXT_MAX / 2));
    }
    out->uid_len = (uint16_t)b.len;
}

static struct tc_slice device_of(const struct ckpt_piece *p)
{
    return tc_slice_make(p->device, p->device_len);
}

/* The node that the best sign is of, else the writer's. */
static struct tc_slice node_of(const struct ckpt_stall *s, const struct ckpt_writer *first)
{
    const struct ckpt_piece *p = &s->pieces[best_proof(s)];
    return p->node_len > 0 ? tc_slice_make(p->node, p->node_len) : first->node;
}

/* "Checkpoint of step 1200 of job llm-7" */
static void write_checkpoint(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct ckpt_writer *w = arg->object;
    tc_format(b, "Checkpoint{}", tc_when(w->step >= 0, " of step {}", w->step));
    if (w->job.len > 0) {
        tc_format(b, " of job {}", w->job);
    } else if (w->pod.len > 0) {
        tc_format(b, " of pod {}/{}", w->ns, w->pod);
    } else {
        tc_format(b, " on node {}", w->node);
    }
}

static struct tc_arg checkpoint(const struct ckpt_writer *w)
{
    return tc_as_written(write_checkpoint, w);
}

static void write_why(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct ckpt_stall *s = arg->object;
    enum ckpt_proof proof = best_proof(s);
    const struct ckpt_piece *p = &s->pieces[proof];
    struct tc_slice device = device_of(p);
    switch (proof) {
    case CKPT_K8S:
        tc_format(b, "volume {} could not be mounted", tc_as_known(device, "(name unknown)"));
        break;
    case CKPT_KERNEL:
        tc_format(b, "{}{}", tc__as_fault(tc_slice_make(p->what, p->what_len)),
                  tc_when(device.len > 0, " of {}", device));
        break;
    case CKPT_WRITES:
    case CKPT_PROOFS:
        tc_format(b, "writes to {} take {} ms", tc_as_known(device, "a disk"), p->value);
        break;
    }
    tc_format(b, "{}",
              tc_when(p->node_len > 0, " on node {}", tc_slice_make(p->node, p->node_len)));
}

static struct tc_slice headline(struct tc_draft *d, const struct ckpt_stall *s,
                                const struct ckpt_writer *first, const struct ckpt_over *over)
{
    static const char *const ends[] = {
        [CKPT_ENDED] = "ended",
        [CKPT_NEXT] = "was followed by the next one",
        [CKPT_POD_GONE] = "is over, its pod ended",
    };
    struct tc_arg lasted = tc_as_duration(s->told_ns);
    if (over != NULL) {
        return tc__draft_format(d, "{} {} after {}", checkpoint(first), ends[over->why], lasted);
    }
    uint32_t writers = s->writer_count + s->more;
    return tc__draft_format(
        d, "{}{}{}{}: {}", checkpoint(first), s->failed ? " failed" : " has not ended",
        tc_when(!s->failed || s->told_ns > 0, " {} {}", s->failed ? "after" : "for", lasted),
        writers > 1 ? tc_when(true, " on {} {}", writers, first->rank >= 0 ? "ranks" : "pods")
                    : tc_when(first->rank >= 0, " on rank {}", first->rank),
        tc_as_written(write_why, s));
}

static struct tc_slice remediation(struct tc_draft *d, const struct ckpt_stall *s,
                                   const struct ckpt_writer *first)
{
    return tc__draft_format(
        d,
        "On node {}: {}. Keep the last complete checkpoint; if this one does not go on, restart "
        "from that.{}",
        tc_as_known(node_of(s, first), "(name unknown)"), PROOFS[best_proof(s)].action,
        s->goes_on ? " Steps go on: it is written beside the training, or its end was lost." : "");
}

/* That it began, or what it came to. */
static void put_checkpoint(struct tc_draft *d, const struct ckpt_writer *w,
                           const struct ckpt_over *over)
{
    static const char *const ends[] = {
        [CKPT_ENDED] = "ended",
        [CKPT_NEXT] = "the next one took its place",
        [CKPT_POD_GONE] = "failed",
    };
    int64_t time_ns = over == NULL ? w->begin_ns : over->time_ns;
    struct tc_slice given = over == NULL ? w->uid : TC_EMPTY;
    tc__draft_piece(d, TC_LIT("checkpoint"), time_ns, over == NULL ? w->raw : over->raw,
                    tc__text_or(given, tc__draft_format(d, "checkpoint:{}:{}:{}:{}",
                                                        w->job.len > 0   ? w->job
                                                        : w->pod.len > 0 ? w->pod
                                                                         : w->node,
                                                        w->step, w->rank, tc_as_time(time_ns))),
                    tc__draft_format(d, "{}{}: {}{}", checkpoint(w),
                                     tc_when(w->rank >= 0, ", rank {}", w->rank),
                                     over == NULL ? "began" : ends[over->why],
                                     tc_when(w->path.len > 0, ", {}", w->path)));
}

static void put_pieces(struct tc_draft *d, const struct ckpt_stall *s)
{
    for (unsigned p = 0; p < CKPT_PROOFS; p++) {
        const struct ckpt_piece *piece = &s->pieces[p];
        if (piece->known) {
            tc__draft_piece(d, tc_slice_cstr(PROOFS[p].kind), piece->first_ns, piece->raw,
                            tc_slice_make(piece->uid, piece->uid_len),
                            tc_slice_make(piece->text, piece->text_len));
        }
    }
}

/* The ranks of the writers, ascending, each once; returns how many. */
static size_t list_ranks(const struct checkpoint_stall *st, const struct ckpt_stall *s,
                         int32_t ranks[CKPT_WRITERS_MAX])
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->writer_count; i++) {
        const struct ckpt_writer *w = tc__ckpt_writer(st, s, i);
        if (w == NULL || w->rank < 0) {
            continue;
        }
        size_t at = n;
        while (at > 0 && ranks[at - 1] > w->rank) {
            at--;
        }
        if (at > 0 && ranks[at - 1] == w->rank) {
            continue;
        }
        memmove(ranks + at + 1, ranks + at, (n - at) * sizeof *ranks);
        ranks[at] = w->rank;
        n++;
    }
    return n;
}

static struct tc_scope scope_of(const struct checkpoint_stall *st, const struct ckpt_stall *s,
                                const struct ckpt_writer *first)
{
    struct tc_scope scope = TC_SCOPE_NONE;
    bool one_pod = s->more == 0;
    for (uint32_t i = 1; i < s->writer_count && one_pod; i++) {
        const struct ckpt_writer *w = tc__ckpt_writer(st, s, i);
        one_pod = w != NULL && tc_slice_eq(w->pod, first->pod) && tc_slice_eq(w->ns, first->ns);
    }
    scope.job = first->job;
    scope.node = node_of(s, first);
    if (one_pod) {
        scope.ns = first->ns;
        scope.pod = first->pod;
        scope.pod_uid = first->pod_uid;
        scope.container = first->container;
    }
    scope.rank = s->writer_count == 1 && s->more == 0 ? first->rank : -1;
    return scope;
}

static struct tc_slice make_key(struct tc_draft *d, const struct ckpt_writer *w)
{
    struct tc_arg which = w->step >= 0 ? TC_ARG(w->step) : tc_as_time(w->begin_ns);
    return w->job.len > 0
               ? tc__draft_format(d, "{}|{}", w->job, which)
               : tc__draft_format(d, "{}/{}|{}", w->ns, w->pod.len > 0 ? w->pod : w->node, which);
}

static void put_attrs(struct tc_draft *d, const struct ckpt_stall *s,
                      const struct ckpt_writer *first, const int32_t *ranks, size_t rank_count)
{
    const struct ckpt_piece *k8s = &s->pieces[CKPT_K8S];
    enum ckpt_proof proof = best_proof(s);
    const struct ckpt_piece *p = &s->pieces[proof];
    tc__draft_attr_text(d, KEY("outcome"), s->failed ? TC_LIT("failed") : TC_LIT("stalled"));
    tc__draft_attr_int(d, KEY("stall_seconds"), (s->told_ns > 0 ? s->told_ns : 0) / TC_SECOND);
    tc__draft_attr_int(d, KEY("writers"), s->writer_count + s->more);
    if (first->step >= 0) {
        tc__draft_attr_int(d, KEY("step"), first->step);
    }
    tc__draft_attr_text(d, KEY("path"), first->path);
    if (k8s->known) {
        tc__draft_attr_text(d, KEY("volume"), device_of(k8s));
    }
    if (proof != CKPT_K8S) {
        tc__draft_attr_text(d, KEY("device"), device_of(p));
    }
    if (proof == CKPT_WRITES) {
        tc__draft_attr_int(d, KEY("write_ms"), p->value);
    }
    if (rank_count > 0) {
        tc__draft_attr_ints(d, KEY("ranks"), ranks, rank_count);
    }
}

tc_status tc__ckpt_report(const struct checkpoint_stall *st, const struct ckpt_stall *s,
                          const struct ckpt_over *over, const struct tc_sink *out)
{
    const struct ckpt_writer *first = tc__ckpt_writer(st, s, 0);
    const struct ckpt_writer *joined = tc__window_at(&st->writers, s->pieces[best_proof(s)].writer);
    int32_t ranks[CKPT_WRITERS_MAX];
    size_t rank_count = list_ranks(st, s, ranks);
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_checkpoint_stall, st->base.scratch);
    struct tc_finding *f = &d.finding;
    f->key = make_key(&d, first);
    f->resolved = over != NULL;
    f->incomplete = s->incomplete;
    f->severity = s->goes_on ? TC_SEVERITY_WARNING : TC_SEVERITY_CRITICAL;
    f->confidence = s->goes_on ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->discriminator = tc_slice_cstr(PROOFS[best_proof(s)].kind);
    f->headline = headline(&d, s, first, over);
    f->remediation = remediation(&d, s, first);
    f->first_ns = first->begin_ns;
    f->last_ns = over != NULL ? over->time_ns : first->begin_ns + s->told_ns;
    f->scope = scope_of(st, s, first);
    put_attrs(&d, s, first, ranks, rank_count);
    put_checkpoint(&d, first, NULL);
    if (joined != NULL && joined != first) {
        put_checkpoint(&d, joined, NULL);
    }
    put_pieces(&d, s);
    if (first->failed) {
        put_checkpoint(&d, first,
                       &(struct ckpt_over){CKPT_POD_GONE, first->end_ns, first->end_raw});
    }
    if (over != NULL && over->raw.length > 0) {
        put_checkpoint(&d, first, over);
    }
    tc__draft_sort(&d);
    return tc__draft_emit(&d, out);
}
