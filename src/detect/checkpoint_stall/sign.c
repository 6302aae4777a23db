/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs of storage trouble: volumes that cannot be mounted, errors in the kernel
 * log, disks whose writes take long, file systems that became read-only. Kept by
 * node, and by pod where a Kubernetes event names one.
 */
#include "detect/checkpoint_stall/priv.h"
#include "detect/finding_priv.h"
#include "detect/words_priv.h"

#include <string.h>

#define SIGN_RING_BYTES ((size_t)2 << 20)
#define DISK_RING_BYTES ((size_t)2 << 20)
/* Two counters of one scrape have the same time, or nearly. */
#define SCRAPE_NS TC_SECOND

#define OK TC_LIT("_ok")

static const struct tc_record_type SIGN = {
    .size = sizeof(struct ckpt_sign),
    .text_min = 1,
    .texts = {TC_TEXT(struct ckpt_sign, node), TC_TEXT(struct ckpt_sign, ns),
              TC_TEXT(struct ckpt_sign, pod), TC_TEXT(struct ckpt_sign, place_ns),
              TC_TEXT(struct ckpt_sign, place), TC_TEXT(struct ckpt_sign, what),
              TC_TEXT(struct ckpt_sign, device), TC_TEXT(struct ckpt_sign, uid),
              TC_TEXT(struct ckpt_sign, text)},
    .keys = {{TC_FIELD(struct ckpt_sign, of_node), TC_FIELD(struct ckpt_sign, place_ns),
              TC_FIELD(struct ckpt_sign, place), TC_FIELD(struct ckpt_sign, proof),
              TC_FIELD(struct ckpt_sign, what), TC_FIELD(struct ckpt_sign, device)}},
    .chain = {TC_FIELD(struct ckpt_sign, of_node), TC_FIELD(struct ckpt_sign, place_ns),
              TC_FIELD(struct ckpt_sign, place)},
};
static const struct tc_record_type DISK = {
    .size = sizeof(struct ckpt_disk),
    .text_min = 1,
    .texts = {TC_TEXT(struct ckpt_disk, node), TC_TEXT(struct ckpt_disk, device)},
    .keys = {{TC_FIELD(struct ckpt_disk, node), TC_FIELD(struct ckpt_disk, device)}},
};

bool tc__ckpt_signs_init(struct checkpoint_stall *st)
{
    return tc__window_open(&st->signs, &st->base, &SIGN, SIGN_RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__window_open(&st->disks, &st->base, &DISK, DISK_RING_BYTES, TC_KEPT_ALWAYS);
}

static tc_status keep(struct checkpoint_stall *st, const struct ckpt_sign *sign)
{
    struct ckpt_sign *known = tc__window_get(&st->signs, sign);
    bool near = known != NULL && known->cleared_ns == TC_TIME_NONE &&
                sign->first_ns - st->window_ns <= known->last_ns;
    if (near) {
        known->last_ns = sign->last_ns > known->last_ns ? sign->last_ns : known->last_ns;
        known->value = sign->value > known->value ? sign->value : known->value;
        known->head.seen_ns = st->base.now_ns;
        return TC_OK;
    }
    st->dirty = true;
    return tc__window_add(&st->signs, sign, st->base.now_ns) == NULL ? TC_E_NOMEM : TC_OK;
}

/* A sign of the event's node, at its time. */
static struct ckpt_sign sign_of(const struct tc_event *ev, struct tc_slice what,
                                struct tc_slice device, enum ckpt_proof proof)
{
    return (struct ckpt_sign){
        .node = ev->scope.node,
        .place = ev->scope.node,
        .what = what,
        .device = device,
        .proof = proof,
        .of_node = true,
        .first_ns = ev->time_ns,
        .last_ns = ev->time_ns,
        .cleared_ns = TC_TIME_NONE,
        .raw = ev->raw,
    };
}

/* The name behind `for volume "`, or the first of `unmounted volumes=[`. */
static struct tc_slice volume_of(struct tc_slice message)
{
    static const struct {
        struct tc_slice before;
        const char *end;
    } forms[] = {{{"for volume \"", 12}, "\""}, {{"unmounted volumes=[", 19}, " ,]"}};
    for (size_t i = 0; i < TC_COUNT(forms); i++) {
        size_t at = tc_slice_find(message, forms[i].before);
        if (at != TC_NPOS) {
            struct tc_slice rest = tc_slice_from(message, at + forms[i].before.len);
            size_t len = 0;
            while (len < rest.len && strchr(forms[i].end, rest.ptr[len]) == NULL) {
                len++;
            }
            return len < rest.len ? tc_slice_head(rest, len) : TC_EMPTY;
        }
    }
    return TC_EMPTY;
}

/* docs/ATTRIBUTES.md names the versions of Kubernetes that these were taken from. */
static bool is_storage_reason(struct tc_slice reason)
{
    return tc_slice_is_any(reason, "FailedMount", "FailedAttachVolume", "VolumeMountFailure",
                           "FailedMapVolume", "VolumeConditionAbnormal");
}

static tc_status take_k8s(struct checkpoint_stall *st, const struct tc_event *ev)
{
    if (!is_storage_reason(ev->k8s.reason) || tc__mount_is_config(ev->k8s.message)) {
        return TC_OK;
    }
    bool repeats = ev->k8s.first_ns >= 0 && ev->k8s.first_ns < ev->time_ns;
    struct ckpt_sign sign = sign_of(ev, ev->k8s.reason, volume_of(ev->k8s.message), CKPT_K8S);
    sign.ns = ev->scope.ns;
    sign.pod = ev->scope.pod;
    sign.uid = tc__text_clip(ev->uid, CKPT_TEXT_MAX);
    sign.text = tc__text_clip(ev->k8s.message, CKPT_TEXT_MAX);
    sign.first_ns = repeats ? ev->k8s.first_ns : ev->time_ns;
    if (sign.device.len > TC_SCOPE_TEXT_MAX) {
        sign.device = TC_EMPTY;
    }
    if (sign.node.len == 0 && sign.pod.len == 0) {
        st->base.ignored++;
        return TC_OK;
    }
    if (sign.pod.len > 0) {
        struct ckpt_sign of_pod = sign;
        of_pod.of_node = false;
        of_pod.place_ns = sign.ns;
        of_pod.place = sign.pod;
        TC_TRY(keep(st, &of_pod));
    }
    return sign.node.len > 0 ? keep(st, &sign) : TC_OK;
}

/* "nfs_ok", "lustre_ok", "ceph_ok", "path_ok": takes back what the same one said before. */
static void clear_signs(struct checkpoint_stall *st, const struct tc_event *ev)
{
    struct tc_slice family = tc_slice_head(ev->fault.fault, ev->fault.fault.len - OK.len + 1);
    struct ckpt_sign key = {.place = ev->scope.node, .of_node = true};
    struct ckpt_sign *s = tc__window_newest(&st->signs, &key);
    for (unsigned i = 0; s != NULL && i < CKPT_SIGNS_VISITED_MAX; i++) {
        if (s->cleared_ns == TC_TIME_NONE && tc_slice_starts(s->what, family) &&
            tc_slice_eq(s->device, ev->fault.device) && s->first_ns <= ev->time_ns) {
            s->cleared_ns = ev->time_ns;
        }
        s = tc__window_older(&st->signs, s);
    }
}

/* "fd0", "sr0": a floppy or optical drive, which virtual machines have without a medium in it. */
static bool is_empty_drive(struct tc_slice device)
{
    bool named = tc_slice_starts(device, TC_LIT("fd")) || tc_slice_starts(device, TC_LIT("sr"));
    uint64_t number = 0;
    return named && tc_slice_is_u64(tc_slice_from(device, 2), &number);
}

static tc_status take_kernel(struct checkpoint_stall *st, const struct tc_event *ev)
{
    if (ev->scope.node.len == 0 || ev->fault.device.len > TC_SCOPE_TEXT_MAX ||
        ev->fault.fault.len > CKPT_TEXT_MAX) {
        st->base.ignored++;
        return TC_OK;
    }
    if (tc_slice_ends(ev->fault.fault, OK)) {
        clear_signs(st, ev);
        return TC_OK;
    }
    if (is_empty_drive(ev->fault.device)) {
        return TC_OK;
    }
    struct ckpt_sign sign = sign_of(ev, ev->fault.fault, ev->fault.device, CKPT_KERNEL);
    sign.uid = tc__text_clip(ev->uid, CKPT_TEXT_MAX);
    sign.text = tc__text_clip(ev->fault.message, CKPT_TEXT_MAX);
    return keep(st, &sign);
}

static struct ckpt_disk *disk_of(struct checkpoint_stall *st, const struct tc_event *ev)
{
    struct ckpt_disk key = {
        .node = ev->scope.node,
        .device = ev->metric.device,
        .writes_ns = TC_TIME_NONE,
        .seconds_ns = TC_TIME_NONE,
        .base_ns = TC_TIME_NONE,
        .readonly_ns = TC_TIME_NONE,
    };
    return tc__window_get_or_add(&st->disks, &key, st->base.now_ns);
}

static tc_status keep_metric(struct checkpoint_stall *st, const struct tc_event *ev,
                             struct tc_slice what, int64_t since_ns, int64_t value,
                             struct tc_raw raw)
{
    bool mount = ev->metric.metric == TC_METRIC_FS_READONLY;
    struct ckpt_sign sign = sign_of(ev, what, ev->metric.device, mount ? CKPT_KERNEL : CKPT_WRITES);
    sign.mount = mount;
    sign.value = value;
    sign.first_ns = since_ns;
    sign.raw = raw;
    return keep(st, &sign);
}

/*
 * Both counters of a scrape are there: how long a write took since the scrape before. The sample of
 * the seconds proves it, whichever of the two came last.
 */
static tc_status weigh_writes(struct checkpoint_stall *st, const struct tc_event *ev,
                              struct ckpt_disk *d)
{
    if (d->writes_ns == TC_TIME_NONE || d->seconds_ns == TC_TIME_NONE) {
        return TC_OK;
    }
    int64_t apart_ns = d->writes_ns - d->seconds_ns;
    if (apart_ns > SCRAPE_NS || apart_ns < -SCRAPE_NS) {
        return TC_OK;
    }
    double writes = d->writes - d->base_writes;
    double seconds = d->seconds - d->base_seconds;
    int64_t since_ns = d->base_ns;
    d->base_writes = d->writes;
    d->base_seconds = d->seconds;
    d->base_ns = ev->time_ns;
    /* Less than before means that the counter began again. */
    if (since_ns == TC_TIME_NONE || !(writes >= 1) || !(seconds > 0)) {
        return TC_OK;
    }
    double mean_ms = seconds / writes * 1000;
    if (mean_ms < (double)st->slow_write_ns / (double)TC_SECOND * 1000) {
        return TC_OK;
    }
    return keep_metric(st, ev, TC_LIT("slow_write"), since_ns,
                       mean_ms < 1e15 ? (int64_t)mean_ms : INT64_C(1000000000000000),
                       d->seconds_raw);
}

static tc_status take_metric(struct checkpoint_stall *st, const struct tc_event *ev)
{
    uint16_t metric = ev->metric.metric;
    if (metric != TC_METRIC_STORAGE_WRITES && metric != TC_METRIC_STORAGE_WRITE_SECONDS &&
        metric != TC_METRIC_FS_READONLY) {
        return TC_OK;
    }
    if (ev->scope.node.len == 0 || ev->metric.device.len > TC_SCOPE_TEXT_MAX) {
        st->base.ignored++;
        return TC_OK;
    }
    struct ckpt_disk *d = disk_of(st, ev);
    if (d == NULL) {
        return TC_E_NOMEM;
    }
    d->head.seen_ns = st->base.now_ns;
    if (metric == TC_METRIC_FS_READONLY) {
        /* Many mounts are meant to be read-only: that one became so is the sign. */
        bool became = d->readonly_ns != TC_TIME_NONE && d->readonly < 1 && ev->metric.value >= 1;
        bool still = d->readonly_ns == TC_TIME_NONE || ev->time_ns > d->readonly_ns;
        if (!still) {
            return TC_OK;
        }
        d->readonly = ev->metric.value;
        d->readonly_ns = ev->time_ns;
        return became ? keep_metric(st, ev, TC_LIT("fs_readonly"), ev->time_ns, 0, ev->raw) : TC_OK;
    }
    bool writes = metric == TC_METRIC_STORAGE_WRITES;
    int64_t *time_ns = writes ? &d->writes_ns : &d->seconds_ns;
    if (*time_ns != TC_TIME_NONE && ev->time_ns <= *time_ns) {
        return TC_OK;
    }
    *time_ns = ev->time_ns;
    *(writes ? &d->writes : &d->seconds) = ev->metric.value;
    d->seconds_raw = writes ? d->seconds_raw : ev->raw;
    return weigh_writes(st, ev, d);
}

tc_status tc__ckpt_take_sign(struct checkpoint_stall *st, const struct tc_event *ev)
{
    if (ev->kind == TC_EVENT_K8S_EVENT) {
        return take_k8s(st, ev);
    }
    return ev->kind == TC_EVENT_STORAGE_ERROR ? take_kernel(st, ev) : take_metric(st, ev);
}

/* True when the path lies below the mount, or one of them is not known. */
static bool may_be_on(const struct ckpt_sign *s, const struct ckpt_writer *w)
{
    if (!s->mount || s->device.len == 0 || w->path.len == 0 || w->path.ptr[0] != '/') {
        return true;
    }
    return tc_slice_starts(w->path, s->device) &&
           (w->path.len == s->device.len || s->device.ptr[s->device.len - 1] == '/' ||
            w->path.ptr[s->device.len] == '/');
}

static const struct ckpt_sign *best_of(const struct checkpoint_stall *st,
                                       const struct ckpt_sign *key, const struct ckpt_writer *w,
                                       int64_t from_ns, int64_t to_ns, bool *io_left_out)
{
    const struct ckpt_sign *best = NULL;
    const struct ckpt_sign *s = tc__window_newest(&st->signs, key);
    unsigned visited = 0;
    for (; s != NULL && visited < CKPT_SIGNS_VISITED_MAX; visited++) {
        if (s->proof == key->proof && s->cleared_ns == TC_TIME_NONE && s->last_ns >= from_ns &&
            s->first_ns <= to_ns && may_be_on(s, w) &&
            (best == NULL || s->first_ns < best->first_ns)) {
            best = s;
        }
        s = tc__window_older(&st->signs, s);
    }
    *io_left_out = *io_left_out || s != NULL;
    return best;
}

/* The best sign of one kind for a writer; *out_pod says that it is of the pod itself. */
static const struct ckpt_sign *find_sign(const struct checkpoint_stall *st,
                                         const struct ckpt_writer *w, enum ckpt_proof proof,
                                         int64_t from_ns, int64_t to_ns, bool *out_pod,
                                         bool *io_left_out)
{
    const struct ckpt_sign *found = NULL;
    *out_pod = false;
    if (w->pod.len > 0) {
        struct ckpt_sign key = {.place_ns = w->ns, .place = w->pod, .proof = proof};
        found = best_of(st, &key, w, from_ns, to_ns, io_left_out);
        *out_pod = found != NULL;
    }
    if (found == NULL && w->node.len > 0) {
        struct ckpt_sign key = {.place = w->node, .of_node = true, .proof = proof};
        found = best_of(st, &key, w, from_ns, to_ns, io_left_out);
    }
    return found;
}

/* The best sign of one kind that can have to do with what became of the writer. */
static const struct ckpt_sign *sign_for(const struct checkpoint_stall *st,
                                        const struct ckpt_writer *w, enum ckpt_proof proof,
                                        bool *out_pod, bool *io_left_out)
{
    int64_t from_ns = w->begin_ns - st->window_ns;
    int64_t to_ns = w->failed ? w->end_ns + st->window_ns : st->base.now_ns;
    const struct ckpt_sign *sign = find_sign(st, w, proof, from_ns, to_ns, out_pod, io_left_out);
    int64_t gone_ns = sign == NULL || w->failed ? to_ns : tc__ckpt_peer_gone(st, w);
    return gone_ns >= to_ns ? sign
                            : find_sign(st, w, proof, from_ns, gone_ns, out_pod, io_left_out);
}

bool tc__ckpt_look(const struct checkpoint_stall *st, struct ckpt_stall *s)
{
    bool changed = false;
    for (unsigned p = 0; p < CKPT_PROOFS; p++) {
        const struct ckpt_sign *best = NULL;
        bool best_pod = false;
        uint64_t writer = TC_RING_NONE;
        for (uint32_t i = 0; i < s->writer_count && !s->pieces[p].known; i++) {
            const struct ckpt_writer *w = tc__ckpt_writer(st, s, i);
            if (w == NULL) {
                continue;
            }
            bool pod = false;
            const struct ckpt_sign *sign =
                sign_for(st, w, (enum ckpt_proof)p, &pod, &s->incomplete);
            if (sign != NULL && (best == NULL || pod > best_pod ||
                                 (pod == best_pod && sign->first_ns < best->first_ns))) {
                best = sign;
                best_pod = pod;
                writer = w->head.pos;
            }
        }
        if (best != NULL) {
            tc__ckpt_piece(&s->pieces[p], best, best_pod);
            s->pieces[p].writer = writer;
            changed = true;
        }
    }
    return changed;
}
