/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a dataloader_hang verdict. */
#include "detect/dataloader_hang/priv.h"
#include "detect/detector.h"
#include "detect/finding_priv.h"

#define ATTRS_MAX 2
#define EVIDENCE_MAX 4
/* The fixed words of all strings together, with numbers, times and quotes. */
#define WORDS_BYTES 3072
/* Separators and a time. */
#define KEY_WORDS_BYTES 40

static void put_pod(struct tc_buf *b, const struct dl_pod *pod)
{
    if (pod->podless) {
        tc_buf_lit(b, "rank ");
        tc_buf_i64(b, pod->first_rank);
        return;
    }
    tc_buf_lit(b, "pod ");
    if (pod->ns.len > 0 && pod->name.len > 0) {
        tc_buf_str(b, pod->ns);
        tc_buf_char(b, '/');
    }
    tc_buf_str(b, pod->name.len > 0 ? pod->name : pod->uid);
}

static void put_place(struct tc_buf *b, const struct dl_pod *pod)
{
    put_pod(b, pod);
    if (pod->node.len > 0) {
        tc_buf_lit(b, " on node ");
        tc_buf_str(b, pod->node);
    }
}

/* "<what>:<pod>:<time>": a uid for what came without one. */
static struct tc_slice made_uid(struct tc_buf *b, struct tc_slice what, const struct dl_pod *pod,
                                int64_t time_ns)
{
    size_t start = b->len;
    tc_buf_str(b, what);
    tc_buf_char(b, ':');
    if (pod->name.len > 0) {
        tc_buf_str(b, pod->ns);
        tc_buf_char(b, '/');
    }
    tc_buf_str(b, pod->name.len > 0 ? pod->name : pod->uid);
    tc_buf_char(b, ':');
    tc_buf_time(b, time_ns);
    return tc_buf_since(b, start);
}

static struct tc_slice headline(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_incident *in = &pod->incident;
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_str(b, pod->podless ? TC_LIT("Training of ") : TC_LIT("Training in "));
    put_place(b, pod);
    tc_buf_str(b, in->end.known ? TC_LIT(" stood still for ") : TC_LIT(" has stood still for "));
    tc_buf_duration(b, in->stall.seconds * TC_SECOND);
    if (in->stall.step >= 0) {
        tc_buf_lit(b, " at step ");
        tc_buf_i64(b, in->stall.step);
    }
    if (in->error.known) {
        tc_buf_lit(b, ": its data loader failed");
        if (in->error.what.len > 0) {
            tc_buf_lit(b, " with ");
            tc_buf_str(b, tc__dl_word(&in->error.what));
        }
    } else {
        tc_buf_lit(b, ": a volume could not be mounted on the node (");
        tc_buf_str(b, tc__dl_word(&in->storage.what));
        tc_buf_char(b, ')');
    }
    return tc_buf_since(b, start);
}

static struct tc_slice remediation(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_incident *in = &pod->incident;
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    if (in->error.known) {
        tc_buf_str(b, pod->podless ? TC_LIT("For ") : TC_LIT("In "));
        put_place(b, pod);
        tc_buf_lit(b, ": find out why the loader failed: an OOM kill of a worker, a full "
                      "/dev/shm, a file that cannot be read. Give workers more memory or lower "
                      "num_workers and prefetch_factor, set a DataLoader timeout, then restart "
                      "the job from its last checkpoint.");
        if (in->storage.known) {
            tc_buf_lit(b, " A mount failed on the node as well: check the storage first.");
        }
    } else {
        tc_buf_lit(b, "On node ");
        tc_buf_str(b, pod->node);
        tc_buf_lit(b, ": check the volume that could not be mounted, its server and the CSI "
                      "driver. Once it mounts, restart ");
        put_pod(b, pod);
        tc_buf_lit(b, "; if it does not, move the pod to another node.");
    }
    return tc_buf_since(b, start);
}

static struct tc_evidence stall_evidence(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_stall *stall = &pod->incident.stall;
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {
        .kind = TC_LIT("training_step_stall"),
        .uid = tc__dl_word(&stall->uid),
        .time_ns = stall->time_ns,
        .raw = stall->raw,
    };
    if (out.uid.len == 0) {
        struct tc_slice what = stall->tracked ? TC_LIT("train_step") : TC_LIT("train_stall");
        out.uid = made_uid(b, what, pod, stall->time_ns);
    }
    size_t start = b->len;
    if (stall->tracked) {
        tc_buf_lit(b, "The last step");
        if (stall->step >= 0) {
            tc_buf_char(b, ' ');
            tc_buf_i64(b, stall->step);
        }
        tc_buf_lit(b, " ended; none did in the ");
        tc_buf_i64(b, stall->seconds);
        tc_buf_lit(b, " s since");
    } else {
        tc_buf_lit(b, "No step ended for ");
        tc_buf_i64(b, stall->seconds);
        tc_buf_lit(b, " s");
        if (stall->step >= 0) {
            tc_buf_lit(b, " after step ");
            tc_buf_i64(b, stall->step);
        }
    }
    out.description = tc_buf_since(b, start);
    return out;
}

static void put_quote(struct tc_buf *b, const struct dl_sign *sign)
{
    if (sign->message.len > 0) {
        tc_buf_lit(b, ": ");
        tc_buf_str(b, tc__dl_quote(&sign->message));
    }
}

static struct tc_evidence error_evidence(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_sign *error = &pod->incident.error;
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {
        .kind = TC_LIT("dataloader_error"),
        .uid = tc__dl_word(&error->uid),
        .time_ns = error->time_ns,
        .raw = error->raw,
    };
    if (out.uid.len == 0) {
        out.uid = made_uid(b, out.kind, pod, error->time_ns);
    }
    size_t start = b->len;
    tc_buf_lit(b, "The data loader");
    if (error->rank >= 0) {
        tc_buf_lit(b, " of rank ");
        tc_buf_i64(b, error->rank);
    }
    tc_buf_lit(b, " failed");
    if (error->what.len > 0) {
        tc_buf_lit(b, " with ");
        tc_buf_str(b, tc__dl_word(&error->what));
    }
    put_quote(b, error);
    out.description = tc_buf_since(b, start);
    return out;
}

static struct tc_evidence storage_evidence(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_sign *storage = &pod->incident.storage;
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {
        .kind = TC_LIT("storage_event"),
        .uid = tc__dl_word(&storage->uid),
        .time_ns = storage->time_ns,
        .raw = storage->raw,
    };
    size_t start = b->len;
    if (out.uid.len == 0) {
        tc_buf_lit(b, "storage_event:");
        tc_buf_str(b, pod->node);
        tc_buf_char(b, ':');
        tc_buf_time(b, storage->time_ns);
        out.uid = tc_buf_since(b, start);
        start = b->len;
    }
    tc_buf_str(b, tc__dl_word(&storage->what));
    tc_buf_lit(b, " on node ");
    tc_buf_str(b, pod->node);
    put_quote(b, storage);
    out.description = tc_buf_since(b, start);
    return out;
}

/* What ended the stall. */
static struct tc_evidence end_evidence(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_incident *in = &pod->incident;
    struct tc_buf *b = &d->text;
    struct tc_slice what = in->pod_ended ? TC_LIT("pod_end") : TC_LIT("train_step");
    struct tc_evidence out = {
        .kind = TC_LIT("training_step_stall"),
        .uid = made_uid(b, what, pod, in->end.time_ns),
        .time_ns = in->end.time_ns,
        .raw = in->end.raw,
    };
    size_t start = b->len;
    if (in->pod_ended) {
        tc_buf_lit(b, "The pod ended");
    } else if (in->end.step >= 0) {
        tc_buf_lit(b, "Step ");
        tc_buf_i64(b, in->end.step);
        tc_buf_lit(b, " ended: training goes on");
    } else {
        tc_buf_lit(b, "A step ended: training goes on");
    }
    out.description = tc_buf_since(b, start);
    return out;
}

/* In order of time, so that the trail reads as it happened; ends last. */
static void put_evidence(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_incident *in = &pod->incident;
    tc__draft_evidence(d, stall_evidence(d, pod));
    if (in->error.known) {
        tc__draft_evidence(d, error_evidence(d, pod));
    }
    if (in->storage.known) {
        tc__draft_evidence(d, storage_evidence(d, pod));
    }
    if (in->end.known) {
        tc__draft_evidence(d, end_evidence(d, pod));
    }
    tc__draft_sort(d);
    if (d->full) { /* emit says so */
        return;
    }
    int64_t first_ns = d->evidence[0].time_ns;
    int64_t last_ns = d->evidence[d->finding.evidence_count - 1].time_ns;
    d->finding.first_ns = first_ns < in->start_ns ? first_ns : in->start_ns;
    d->finding.last_ns = tc__dl_max(last_ns, in->end.known ? 0 : in->stall.to_ns);
}

bool tc__dl_key(struct dl_pod *pod, struct tc_arena *arena)
{
    size_t len = pod->ns.len + pod->name.len + pod->uid.len + KEY_WORDS_BYTES;
    char *text = tc_new(arena, char, len);
    if (text == NULL) {
        return false;
    }
    struct tc_buf b = tc_buf_make(text, len);
    tc_buf_str(&b, pod->ns);
    tc_buf_char(&b, '/');
    tc_buf_str(&b, pod->name);
    tc_buf_char(&b, '/');
    tc_buf_str(&b, pod->uid);
    tc_buf_char(&b, '@');
    /* The next stall of the pod is another incident. */
    tc_buf_time(&b, pod->incident.start_ns - pod->incident.start_ns % TC_SECOND);
    pod->key = tc_buf_slice(&b);
    return true;
}

tc_status tc__dl_report(const struct dl_pod *pod, bool incomplete, struct tc_arena *scratch,
                        const struct tc_sink *out)
{
    const struct dl_incident *in = &pod->incident;
    /* How often each name is written, at most. */
    size_t text_bytes =
        WORDS_BYTES + 8 * pod->node.len + 6 * (pod->ns.len + pod->name.len + pod->uid.len);
    struct tc_draft d;
    tc__draft_begin(&d, &tc_detector_dataloader_hang, scratch, text_bytes, ATTRS_MAX, EVIDENCE_MAX);
    struct tc_finding *f = &d.finding;
    f->key = pod->key;
    f->resolved = in->end.known;
    f->incomplete = incomplete;
    f->severity = TC_SEVERITY_CRITICAL;
    f->confidence = TC_CONFIDENCE_FULL;
    f->discriminator = in->error.known ? TC_LIT("worker_killed") : TC_LIT("storage_event");
    f->headline = headline(&d, pod);
    f->remediation = remediation(&d, pod);
    f->scope.node = pod->node;
    f->scope.ns = pod->ns;
    f->scope.pod = pod->name;
    f->scope.pod_uid = pod->podless ? TC_EMPTY : pod->uid;
    f->scope.container = pod->container;
    f->scope.job = pod->job;
    f->scope.rank = in->error.known && in->error.rank >= 0 ? in->error.rank
                    : in->stall.rank >= 0                  ? in->stall.rank
                                                           : pod->first_rank;
    tc__draft_attr_int(&d, TC_LIT("tracecore.alert.dataloader_hang.stall_seconds"),
                       in->stall.seconds);
    if (!in->error.known) {
        tc__draft_attr_text(&d, TC_LIT("event.reason"), tc__dl_word(&in->storage.what));
    }
    put_evidence(&d, pod);
    return tc__draft_emit(&d, out);
}
