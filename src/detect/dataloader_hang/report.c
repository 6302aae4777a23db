/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a dataloader_hang verdict. */
#include "detect/dataloader_hang/priv.h"
#include "detect/detector.h"
#include "detect/words_priv.h"
#include "event/format.h"

static void write_pod(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct dl_pod *pod = arg->object;
    if (pod->podless) {
        tc_format(b, "rank {}", pod->first_rank);
    } else if (pod->name.len > 0) {
        tc_format(b, "pod {}", tc_as_pod(pod->ns, pod->name));
    } else {
        tc_format(b, "pod {}", pod->uid);
    }
}

static struct tc_arg pod_name(const struct dl_pod *pod)
{
    return tc_as_written(write_pod, pod);
}

static void write_place(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct dl_pod *pod = arg->object;
    tc_format(b, "{}{}", pod_name(pod), tc_when(pod->node.len > 0, " on node {}", pod->node));
}

static struct tc_arg place(const struct dl_pod *pod)
{
    return tc_as_written(write_place, pod);
}

/* The producer's uid, or "<what>:<pod>:<time>" for what came without one. */
static struct tc_slice uid_of(struct tc_draft *d, struct tc_slice uid, struct tc_slice what,
                              const struct dl_pod *pod, int64_t time_ns)
{
    if (uid.len > 0) {
        return uid;
    }
    return tc__draft_format(d, "{}:{}{}:{}", what, tc_when(pod->name.len > 0, "{}/", pod->ns),
                            pod->name.len > 0 ? pod->name : pod->uid, tc_as_time(time_ns));
}

static struct tc_slice headline(struct tc_draft *d, const struct dl_pod *pod, int64_t stall_ns)
{
    const struct dl_incident *in = &pod->incident;
    struct tc_slice error = tc__dl_word(&in->error.what);
    struct tc_slice reason = tc__dl_word(&in->storage.what);
    return tc__draft_format(
        d, "Training {} {} {} still for {}{}: {}{}", pod->podless ? "of" : "in", place(pod),
        in->end.known ? "stood" : "has stood", tc_as_duration(stall_ns),
        tc_when(in->stall.step >= 0, " at step {}", in->stall.step),
        in->error.known ? "its data loader failed" : "a volume could not be mounted on the node",
        in->error.known ? tc_when(error.len > 0, " ({})", tc__as_fault(error))
                        : tc_when(true, " ({})", reason));
}

static struct tc_slice remediation(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_incident *in = &pod->incident;
    if (!in->error.known) {
        return tc__draft_format(d,
                                "On node {}: check the volume that could not be mounted, its "
                                "server and the CSI driver. Once it mounts, restart {}; if it does "
                                "not, move the pod to another node.",
                                pod->node, pod_name(pod));
    }
    return tc__draft_format(
        d,
        "{} {}: find out why the loader failed: an OOM kill of a worker, a full /dev/shm, a file "
        "that cannot be read. Give workers more memory or lower num_workers and prefetch_factor, "
        "set a DataLoader timeout, then restart the job from its last checkpoint.{}",
        pod->podless ? "For" : "In", place(pod),
        in->storage.known ? " A mount failed on the node as well: check the storage first." : "");
}

static void put_stall(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_stall *stall = &pod->incident.stall;
    struct tc_slice what = stall->tracked ? TC_LIT("train_step") : TC_LIT("train_stall");
    bool known = stall->step >= 0;
    struct tc_arg length = tc_as_duration(stall->seconds * TC_SECOND);
    tc__draft_piece(d, TC_LIT("training_step_stall"), stall->time_ns, stall->raw,
                    uid_of(d, tc__dl_word(&stall->uid), what, pod, stall->time_ns),
                    stall->tracked
                        ? tc__draft_format(d, "The last step{} ended; none did in the {} since",
                                           tc_when(known, " {}", stall->step), length)
                        : tc__draft_format(d, "No step ended for {}{}", length,
                                           tc_when(known, " after step {}", stall->step)));
}

static void put_error(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_sign *error = &pod->incident.error;
    struct tc_slice kind = TC_LIT("dataloader_error");
    tc__draft_piece(
        d, kind, error->time_ns, error->raw,
        uid_of(d, tc__dl_word(&error->uid), kind, pod, error->time_ns),
        tc__draft_format(
            d, "The data loader{} failed{}{}",
            tc_when(error->rank >= 0, " of rank {}", error->rank),
            tc_when(error->what.len > 0, " ({})", tc__as_fault(tc__dl_word(&error->what))),
            tc_when(error->message.len > 0, ": {}", tc__dl_quote(&error->message))));
}

static void put_storage(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_sign *storage = &pod->incident.storage;
    struct tc_slice given = tc__dl_word(&storage->uid);
    tc__draft_piece(d, TC_LIT("storage_event"), storage->time_ns, storage->raw,
                    tc__text_or(given, tc__draft_format(d, "storage_event:{}:{}", pod->node,
                                                        tc_as_time(storage->time_ns))),
                    tc__draft_format(d, "{} on node {}{}", tc__dl_word(&storage->what), pod->node,
                                     tc_when(storage->message.len > 0, ": {}",
                                             tc__dl_quote(&storage->message))));
}

/* What ended the stall. */
static void put_end(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_incident *in = &pod->incident;
    struct tc_slice what = in->pod_ended ? TC_LIT("pod_end") : TC_LIT("train_step");
    tc__draft_piece(d, TC_LIT("training_step_stall"), in->end.time_ns, in->end.raw,
                    uid_of(d, TC_EMPTY, what, pod, in->end.time_ns),
                    in->pod_ended ? TC_LIT("The pod ended")
                                  : tc__draft_format(d, "{} ended: training goes on",
                                                     in->end.step >= 0
                                                         ? tc_when(true, "Step {}", in->end.step)
                                                         : TC_ARG("A step")));
}

/* In order of time, so that the trail reads as it happened; ends last. */
static void put_evidence(struct tc_draft *d, const struct dl_pod *pod)
{
    const struct dl_incident *in = &pod->incident;
    put_stall(d, pod);
    if (in->error.known) {
        put_error(d, pod);
    }
    if (in->storage.known) {
        put_storage(d, pod);
    }
    if (in->end.known) {
        put_end(d, pod);
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

struct tc_slice tc__dl_key(const struct dl_pod *pod, char text[DL_KEY_MAX])
{
    struct tc_buf b = tc_buf_make(text, DL_KEY_MAX);
    /* The next stall of the pod is another incident. */
    int64_t second_ns = pod->incident.start_ns - pod->incident.start_ns % TC_SECOND;
    return tc_format(&b, "{}/{}/{}@{}", pod->ns, pod->name, pod->uid, tc_as_time(second_ns));
}

/* As long as a report says, or as can be seen: what is told later makes it longer. */
static int64_t stall_length(const struct tc_finding *f, const struct dl_incident *in)
{
    int64_t seen_ns = tc_time_is_date(in->start_ns) ? f->last_ns - in->start_ns : 0;
    return tc__dl_max(seen_ns - seen_ns % TC_SECOND, in->stall.seconds * TC_SECOND);
}

tc_status tc__dl_report(const struct dl_pod *pod, bool incomplete, struct tc_arena *scratch,
                        const struct tc_sink *out)
{
    const struct dl_incident *in = &pod->incident;
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_dataloader_hang, scratch);
    struct tc_finding *f = &d.finding;
    f->key = pod->key;
    f->resolved = in->end.known;
    f->incomplete = incomplete;
    f->severity = TC_SEVERITY_CRITICAL;
    f->confidence = TC_CONFIDENCE_FULL;
    f->discriminator = in->error.known ? TC_LIT("worker_killed") : TC_LIT("storage_event");
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
    put_evidence(&d, pod);
    int64_t stall_ns = stall_length(f, in);
    f->headline = headline(&d, pod, stall_ns);
    tc__draft_attr_int(&d, TC_LIT("tracecore.alert.dataloader_hang.stall_seconds"),
                       stall_ns / TC_SECOND);
    if (!in->error.known) {
        tc__draft_attr_text(&d, TC_LIT("event.reason"), tc__dl_word(&in->storage.what));
    }
    return tc__draft_emit(&d, out);
}
