/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a checkpoint_stall verdict. */
#include "detect/checkpoint_stall/priv.h"
#include "detect/finding_priv.h"

#include <string.h>

#define KEY(name) TC_LIT("tracecore.alert.checkpoint_stall." name)
#define ATTRS_MAX 9
#define EVIDENCE_MAX 8
/* The fixed words of all strings together, with numbers and times. */
#define WORDS_BYTES 4096

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

static struct tc_slice text_of(const char *text, uint16_t len)
{
    return tc_slice_make(text, len);
}

/* Copies a string into a piece; what does not fit is cut. */
static uint16_t put(char *to, size_t size, struct tc_slice from)
{
    struct tc_buf b = tc_buf_make(to, size);
    tc_buf_str(&b, tc__text_clip(from, size));
    return (uint16_t)b.len;
}

static void describe(struct tc_buf *b, const struct ckpt_sign *sign)
{
    if (sign->proof == CKPT_WRITES) {
        tc_buf_lit(b, "Writes to ");
        tc_buf_str(b, sign->device.len > 0 ? sign->device : TC_LIT("a disk"));
        tc_buf_lit(b, " on node ");
        tc_buf_str(b, sign->node);
        tc_buf_lit(b, " took ");
        tc_buf_i64(b, sign->value);
        tc_buf_lit(b, " ms on average");
        return;
    }
    tc_buf_str(b, sign->what);
    if (sign->device.len > 0) {
        tc_buf_lit(b, " of ");
        tc_buf_str(b, sign->device);
    }
    if (sign->pod.len > 0) {
        tc_buf_lit(b, ", pod ");
        tc_buf_str(b, sign->ns);
        tc_buf_char(b, '/');
        tc_buf_str(b, sign->pod);
    }
    if (sign->node.len > 0) {
        tc_buf_lit(b, ", node ");
        tc_buf_str(b, sign->node);
    }
    if (sign->text.len > 0) {
        tc_buf_lit(b, ": ");
        tc_buf_str(b, tc__text_clip(sign->text, CKPT_TEXT_MAX));
    }
}

void tc__ckpt_piece(struct ckpt_piece *out, const struct ckpt_sign *sign, bool same_pod)
{
    struct tc_buf b = tc_buf_make(out->text, sizeof out->text);
    out->known = true;
    out->same_pod = same_pod;
    out->first_ns = sign->first_ns;
    out->raw = sign->raw;
    out->value = sign->value;
    out->what_len = put(out->what, sizeof out->what, sign->what);
    out->node_len = put(out->node, sizeof out->node, sign->node);
    out->device_len = put(out->device, sizeof out->device, sign->device);
    describe(&b, sign);
    out->text_len = (uint16_t)b.len;
    b = tc_buf_make(out->uid, sizeof out->uid);
    if (sign->uid.len > 0) {
        tc_buf_str(&b, sign->uid);
    } else {
        tc_buf_str(&b, sign->what);
        tc_buf_char(&b, ':');
        tc_buf_time(&b, sign->first_ns);
        tc_buf_char(&b, ':');
        tc_buf_str(&b, tc__text_clip(sign->node, TC_SCOPE_TEXT_MAX / 2));
    }
    out->uid_len = (uint16_t)b.len;
}

/* "Checkpoint of step 1200 of job llm-7" */
static void put_checkpoint(struct tc_buf *b, const struct ckpt_writer *w)
{
    tc_buf_lit(b, "Checkpoint");
    if (w->step >= 0) {
        tc_buf_lit(b, " of step ");
        tc_buf_i64(b, w->step);
    }
    if (w->job.len > 0) {
        tc_buf_lit(b, " of job ");
        tc_buf_str(b, w->job);
    } else if (w->pod.len > 0) {
        tc_buf_lit(b, " of pod ");
        tc_buf_str(b, w->ns);
        tc_buf_char(b, '/');
        tc_buf_str(b, w->pod);
    } else {
        tc_buf_lit(b, " on node ");
        tc_buf_str(b, w->node);
    }
}

static void put_why(struct tc_buf *b, const struct ckpt_stall *s)
{
    enum ckpt_proof proof = best_proof(s);
    const struct ckpt_piece *p = &s->pieces[proof];
    struct tc_slice device = text_of(p->device, p->device_len);
    switch (proof) {
    case CKPT_K8S:
        tc_buf_lit(b, "volume ");
        tc_buf_str(b, device.len > 0 ? device : TC_LIT("(name unknown)"));
        tc_buf_lit(b, " could not be mounted");
        break;
    case CKPT_KERNEL:
        tc_buf_str(b, text_of(p->what, p->what_len));
        if (device.len > 0) {
            tc_buf_lit(b, " of ");
            tc_buf_str(b, device);
        }
        break;
    case CKPT_WRITES:
    case CKPT_PROOFS:
        tc_buf_lit(b, "writes to ");
        tc_buf_str(b, device.len > 0 ? device : TC_LIT("a disk"));
        tc_buf_lit(b, " take ");
        tc_buf_i64(b, p->value);
        tc_buf_lit(b, " ms");
        break;
    }
    if (p->node_len > 0) {
        tc_buf_lit(b, " on node ");
        tc_buf_str(b, text_of(p->node, p->node_len));
    }
}

static struct tc_slice headline(struct tc_draft *d, const struct ckpt_stall *s,
                                const struct ckpt_writer *first, const struct ckpt_over *over)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    put_checkpoint(b, first);
    if (over != NULL) {
        switch (over->why) {
        case CKPT_ENDED:
            tc_buf_lit(b, " ended after ");
            break;
        case CKPT_NEXT:
            tc_buf_lit(b, " was followed by the next one after ");
            break;
        case CKPT_POD_GONE:
            tc_buf_lit(b, " is over, its pod ended after ");
            break;
        }
        tc_buf_duration(b, s->told_ns);
        return tc_buf_since(b, start);
    }
    if (s->failed) {
        tc_buf_lit(b, " failed");
        if (s->told_ns > 0) {
            tc_buf_lit(b, " after ");
            tc_buf_duration(b, s->told_ns);
        }
    } else {
        tc_buf_lit(b, " has not ended for ");
        tc_buf_duration(b, s->told_ns);
    }
    uint32_t writers = s->writer_count + s->more;
    if (writers > 1) {
        tc_buf_lit(b, " on ");
        tc_buf_u64(b, writers);
        tc_buf_str(b, first->rank >= 0 ? TC_LIT(" ranks") : TC_LIT(" pods"));
    } else if (first->rank >= 0) {
        tc_buf_lit(b, " on rank ");
        tc_buf_i64(b, first->rank);
    }
    tc_buf_lit(b, ": ");
    put_why(b, s);
    return tc_buf_since(b, start);
}

static struct tc_slice remediation(struct tc_draft *d, const struct ckpt_stall *s,
                                   const struct ckpt_writer *first)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    enum ckpt_proof proof = best_proof(s);
    const struct ckpt_piece *p = &s->pieces[proof];
    struct tc_slice node = p->node_len > 0 ? text_of(p->node, p->node_len) : first->node;
    tc_buf_lit(b, "On node ");
    tc_buf_str(b, node.len > 0 ? node : TC_LIT("(name unknown)"));
    tc_buf_lit(b, ": ");
    tc_buf_str(b, tc_slice_cstr(PROOFS[proof].action));
    tc_buf_lit(b, ". Keep the last complete checkpoint; if this one does not go on, restart from "
                  "that.");
    if (s->partial) {
        tc_buf_lit(b, " Steps go on: it is written beside the training, or its end was lost.");
    }
    return tc_buf_since(b, start);
}

static void put_begin(struct tc_draft *d, const struct ckpt_writer *w, const struct ckpt_over *over)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence e = {.kind = TC_LIT("checkpoint"),
                            .uid = over == NULL ? w->uid : TC_EMPTY,
                            .time_ns = over == NULL ? w->begin_ns : over->time_ns,
                            .raw = over == NULL ? w->raw : over->raw};
    size_t start = b->len;
    if (e.uid.len == 0) {
        tc_buf_lit(b, "checkpoint:");
        tc_buf_str(b, w->job.len > 0 ? w->job : (w->pod.len > 0 ? w->pod : w->node));
        tc_buf_char(b, ':');
        tc_buf_i64(b, w->step);
        tc_buf_char(b, ':');
        tc_buf_i64(b, w->rank);
        tc_buf_char(b, ':');
        tc_buf_time(b, e.time_ns);
        e.uid = tc_buf_since(b, start);
        start = b->len;
    }
    put_checkpoint(b, w);
    if (w->rank >= 0) {
        tc_buf_lit(b, ", rank ");
        tc_buf_i64(b, w->rank);
    }
    if (over == NULL) {
        tc_buf_lit(b, ": began");
    } else {
        tc_buf_str(b, over->why == CKPT_ENDED  ? TC_LIT(": ended")
                      : over->why == CKPT_NEXT ? TC_LIT(": the next one took its place")
                                               : TC_LIT(": failed"));
    }
    if (w->path.len > 0) {
        tc_buf_lit(b, ", ");
        tc_buf_str(b, w->path);
    }
    e.description = tc_buf_since(b, start);
    tc__draft_evidence(d, e);
}

static void put_failure(struct tc_draft *d, const struct ckpt_writer *w)
{
    struct ckpt_over over = {.time_ns = w->end_ns, .raw = w->end_raw, .why = CKPT_POD_GONE};
    put_begin(d, w, &over);
}

static void put_pieces(struct tc_draft *d, const struct ckpt_stall *s)
{
    for (unsigned p = 0; p < CKPT_PROOFS; p++) {
        const struct ckpt_piece *piece = &s->pieces[p];
        if (piece->known) {
            tc__draft_evidence(d, (struct tc_evidence){
                                      .kind = tc_slice_cstr(PROOFS[p].kind),
                                      .uid = text_of(piece->uid, piece->uid_len),
                                      .description = text_of(piece->text, piece->text_len),
                                      .time_ns = piece->first_ns,
                                      .raw = piece->raw,
                                  });
        }
    }
}

/* The ranks of the writers, ascending, each once. NULL when scratch is full. */
static const int32_t *list_ranks(const struct checkpoint_stall *st, const struct ckpt_stall *s,
                                 size_t *out_count)
{
    int32_t *ranks = tc_new(st->scratch, int32_t, CKPT_WRITERS_MAX);
    size_t n = 0;
    for (uint32_t i = 0; i < s->writer_count && ranks != NULL; i++) {
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
    *out_count = n;
    return ranks;
}

static struct tc_scope scope_of(const struct checkpoint_stall *st, const struct ckpt_stall *s,
                                const struct ckpt_writer *first)
{
    const struct ckpt_piece *p = &s->pieces[best_proof(s)];
    struct tc_scope scope = TC_SCOPE_NONE;
    bool one_pod = s->more == 0;
    for (uint32_t i = 1; i < s->writer_count && one_pod; i++) {
        const struct ckpt_writer *w = tc__ckpt_writer(st, s, i);
        one_pod = w != NULL && tc_slice_eq(w->pod, first->pod) && tc_slice_eq(w->ns, first->ns);
    }
    scope.job = first->job;
    scope.node = p->node_len > 0 ? text_of(p->node, p->node_len) : first->node;
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
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_str(b, w->job);
    if (w->job.len == 0) {
        tc_buf_str(b, w->ns);
        tc_buf_char(b, '/');
        tc_buf_str(b, w->pod.len > 0 ? w->pod : w->node);
    }
    tc_buf_char(b, '|');
    if (w->step >= 0) {
        tc_buf_i64(b, w->step);
    } else {
        tc_buf_time(b, w->begin_ns);
    }
    return tc_buf_since(b, start);
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
        tc__draft_attr_text(d, KEY("volume"), text_of(k8s->device, k8s->device_len));
    }
    if (proof != CKPT_K8S) {
        tc__draft_attr_text(d, KEY("device"), text_of(p->device, p->device_len));
    }
    if (proof == CKPT_WRITES) {
        tc__draft_attr_int(d, KEY("write_ms"), p->value);
    }
    if (rank_count > 0) {
        tc__draft_attr(
            d, (struct tc_attr){
                   .key = KEY("ranks"), .type = TC_ATTR_INTS, .ints = ranks, .count = rank_count});
    }
}

tc_status tc__ckpt_report(const struct checkpoint_stall *st, const struct ckpt_stall *s,
                          const struct ckpt_over *over, const struct tc_sink *out)
{
    const struct ckpt_writer *first = tc__ckpt_writer(st, s, 0);
    const struct ckpt_writer *joined = tc__window_at(&st->writers, s->pieces[best_proof(s)].writer);
    size_t rank_count = 0;
    const int32_t *ranks = list_ranks(st, s, &rank_count);
    /* Every string is bounded: names by TC_SCOPE_TEXT_MAX, the rest when it was kept. */
    size_t names = first->job.len + first->ns.len + first->pod.len + first->node.len +
                   first->path.len + 4 * TC_SCOPE_TEXT_MAX;
    struct tc_draft d;
    tc__draft_begin(&d, &tc_detector_checkpoint_stall, st->scratch, WORDS_BYTES + 8 * names,
                    ATTRS_MAX, EVIDENCE_MAX);
    struct tc_finding *f = &d.finding;
    f->key = make_key(&d, first);
    f->resolved = over != NULL;
    f->incomplete = s->incomplete;
    f->severity = s->partial ? TC_SEVERITY_WARNING : TC_SEVERITY_CRITICAL;
    f->confidence = s->partial ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->discriminator = tc_slice_cstr(PROOFS[best_proof(s)].kind);
    f->headline = headline(&d, s, first, over);
    f->remediation = remediation(&d, s, first);
    f->first_ns = first->begin_ns;
    f->last_ns = over != NULL ? over->time_ns : first->begin_ns + s->told_ns;
    f->scope = scope_of(st, s, first);
    put_attrs(&d, s, first, ranks, rank_count);
    put_begin(&d, first, NULL);
    if (joined != NULL && joined != first) {
        put_begin(&d, joined, NULL);
    }
    put_pieces(&d, s);
    if (first->failed) {
        put_failure(&d, first);
    }
    if (over != NULL && over->raw.length > 0) {
        put_begin(&d, first, over);
    }
    if (ranks == NULL) {
        d.full = true;
    }
    tc__draft_sort(&d);
    return tc__draft_emit(&d, out);
}
