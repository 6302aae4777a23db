/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_fault: a GPU or its firmware is broken, and one fact proves it. docs/patterns/gpu_fault.md
 * says which facts, which Xids are other patterns', and what ends it.
 *
 * Kept by GPU: one incident that grows. Kept by node: the scrapes, and when the driver was loaded.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/gpu_fault/priv.h"
#include "detect/words_priv.h"

#define ARENA_BYTES ((size_t)72 << 20)

#define BIT(kind) TC_EVENT_BIT(TC_EVENT_##kind)
#define XID_RECOVERY 154
/* Sentences that take back what others said. */
#define INIT_OK TC_LIT("gpu_init_ok")
#define LOAD_OK TC_LIT("driver_load_ok")
#define RESET_OK TC_LIT("gpu_reset_ok")
#define RELEASED_OK TC_LIT("gpu_released_ok")

/* Samples that only a GPU that answers gives. */
static bool is_answer(const struct tc_ev_metric *m)
{
    return m->metric == TC_METRIC_GPU_TEMP || m->metric == TC_METRIC_GPU_MEM_TEMP ||
           m->metric == TC_METRIC_GPU_UTIL || m->metric == TC_METRIC_GPU_POWER ||
           m->metric == TC_METRIC_GPU_SM_CLOCK;
}

/* Flags of hbm_ecc that ask for a reset. */
static bool is_flag(const struct tc_ev_metric *m)
{
    return m->value > 0 &&
           (m->metric == TC_METRIC_GPU_ROW_PENDING || m->metric == TC_METRIC_GPU_ROW_FAILURE ||
            m->metric == TC_METRIC_GPU_PAGES_PENDING);
}

static bool wants_metric(const struct tc_ev_metric *m)
{
    return is_answer(m) || is_flag(m) || m->metric == TC_METRIC_GPU_XID_LAST ||
           m->metric == TC_METRIC_GPU_XID_COUNT;
}

/* The GPU of an open incident is known by more names than were told. */
static tc_status on_names(struct gpuf_state *st, const struct tc_gpu *names,
                          const struct gpuf_gpu *known, const struct tc_sink *out)
{
    struct gpuf_incident *in = known == NULL ? NULL : tc__gpuf_incident_of(st, known);
    bool more = in != NULL && in->end == GPUF_OPEN && in->told != GPUF_NONE &&
                (tc__gpuf_names(names) & ~in->told_names) != 0;
    return more ? tc__gpuf_tell_soon(st, in, out) : TC_OK;
}

static void note_owned(struct gpuf_gpu *gpu, int64_t time_ns)
{
    gpu->owned_ns = time_ns > gpu->owned_ns ? time_ns : gpu->owned_ns;
}

static tc_status note_fact(struct gpuf_state *st, const struct tc_event *ev,
                           const struct tc_gpu *names, struct gpuf_gpu *gpu, struct gpuf_fact *fact,
                           const struct tc_sink *out)
{
    struct gpuf_news n = {
        .names = names, .gpu = gpu, .time_ns = ev->time_ns, .raw = ev->raw, .fact = fact};
    fact->uid_len =
        tc__text_keep(fact->uid, GPUF_UID_MAX, ev->uid.len <= GPUF_UID_MAX ? ev->uid : TC_EMPTY);
    return tc__gpuf_note(st, &n, out);
}

/* An Xid as an exporter tells it, which has no text. */
static tc_status on_exported(struct gpuf_state *st, const struct tc_event *ev,
                             const struct tc_gpu *names, struct gpuf_gpu *gpu, int64_t code,
                             const struct tc_sink *out)
{
    struct gpuf_fact fact = {.sort = GPUF_XID,
                             .code = (int32_t)code,
                             .kind = tc__gpuf_xid_kind(st->base.xids, code),
                             .pid = -1,
                             .exported = true};
    if (tc__gpuf_is_owned(code)) {
        note_owned(gpu, ev->time_ns);
    }
    return fact.kind == GPUF_NONE ? TC_OK : note_fact(st, ev, names, gpu, &fact, out);
}

/* The gauge never clears: only that it became another says that something happened. */
static tc_status on_xid_last(struct gpuf_state *st, const struct tc_event *ev,
                             const struct tc_gpu *names, struct gpuf_gpu *gpu,
                             const struct tc_sink *out)
{
    bool known = gpu->xid_last_ns != TC_TIME_NONE;
    if (known && ev->time_ns <= gpu->xid_last_ns) {
        return TC_OK;
    }
    bool changed = known && gpu->xid_last != ev->metric.value;
    gpu->xid_last = ev->metric.value;
    gpu->xid_last_ns = ev->time_ns;
    bool is_code = ev->metric.value >= 1 && ev->metric.value < INT32_MAX;
    return changed && is_code ? on_exported(st, ev, names, gpu, (int64_t)ev->metric.value, out)
                              : TC_OK;
}

/* Xids of one number in the last minutes: as long as they are counted they are the same ones. */
static tc_status on_xid_count(struct gpuf_state *st, const struct tc_event *ev,
                              const struct tc_gpu *names, struct gpuf_gpu *gpu,
                              const struct tc_sink *out)
{
    int64_t code = 0;
    if (!(ev->metric.value >= 1) || !tc_slice_is_i64(ev->metric.device, &code) || code < 1 ||
        code > INT32_MAX) {
        return TC_OK;
    }
    const struct gpuf_incident *in = tc__gpuf_incident_of(st, gpu);
    for (size_t i = 0; in != NULL && in->end == GPUF_OPEN && i < in->fact_count; i++) {
        if (in->facts[i].sort == GPUF_XID && in->facts[i].code == code) {
            return TC_OK;
        }
    }
    return on_exported(st, ev, names, gpu, code, out);
}

static tc_status on_metric(struct gpuf_state *st, const struct tc_event *ev,
                           const struct tc_gpu *names, const struct tc_sink *out)
{
    if (is_answer(&ev->metric)) {
        return tc__gpuf_on_sample(st, ev, names, out);
    }
    struct gpuf_gpu *gpu = tc__gpuf_gpu(st, names);
    if (gpu == NULL) {
        return TC_E_NOMEM;
    }
    if (is_flag(&ev->metric)) {
        note_owned(gpu, ev->time_ns);
        return TC_OK;
    }
    return ev->metric.metric == TC_METRIC_GPU_XID_LAST ? on_xid_last(st, ev, names, gpu, out)
                                                       : on_xid_count(st, ev, names, gpu, out);
}

/* "GPU recovery action changed ... to 0x0 (None)", or the driver has reset it: it is over. */
static tc_status on_recovered(struct gpuf_state *st, const struct tc_event *ev,
                              const struct gpuf_gpu *gpu, enum gpuf_end end,
                              const struct tc_sink *out)
{
    struct gpuf_incident *in = gpu == NULL ? NULL : tc__gpuf_incident_of(st, gpu);
    bool ends = in != NULL && in->end == GPUF_OPEN && ev->time_ns > in->last_ns &&
                tc_time_is_date(in->last_ns) == tc_time_is_date(ev->time_ns);
    return ends ? tc__gpuf_end(st, in, end, ev, out) : TC_OK;
}

static tc_status on_xid(struct gpuf_state *st, const struct tc_event *ev,
                        const struct tc_gpu *names, struct gpuf_gpu *known,
                        const struct tc_sink *out)
{
    struct gpuf_fact fact;
    enum gpuf_action action = GPUF_NO_ACTION;
    bool is_fact = tc__gpuf_fact_of(st->base.xids, ev, &fact);
    bool owned = tc__gpuf_is_owned(ev->xid.code);
    bool cleared = ev->xid.code == XID_RECOVERY && !is_fact &&
                   tc__gpuf_recovery(ev->xid.message, &action) && action == GPUF_NO_ACTION;
    bool strikes = !is_fact && tc__gpuf_is_application(st->base.xids, ev->xid.code);
    if (!is_fact && !owned && !cleared && !strikes) {
        return TC_OK;
    }
    struct gpuf_gpu *gpu = known != NULL ? known : tc__gpuf_gpu(st, names);
    if (gpu == NULL) {
        return TC_E_NOMEM;
    }
    if (strikes) {
        return tc__gpuf_strike(st, ev, names, gpu, out);
    }
    if (owned) {
        note_owned(gpu, ev->time_ns);
    }
    return is_fact   ? note_fact(st, ev, names, gpu, &fact, out)
           : cleared ? on_recovered(st, ev, gpu, GPUF_ACTION_NONE, out)
                     : TC_OK;
}

static bool is_sentence(const struct tc_event *ev, struct tc_slice fault)
{
    return ev->kind == TC_EVENT_DRIVER_FAULT && tc_slice_eq(ev->fault.fault, fault);
}

static tc_status on_sentence(struct gpuf_state *st, const struct tc_event *ev,
                             const struct tc_gpu *names, const struct tc_sink *out)
{
    struct gpuf_fact fact;
    if (is_sentence(ev, INIT_OK)) {
        return tc__gpuf_on_sample(st, ev, names, out);
    }
    if (is_sentence(ev, RELEASED_OK)) {
        tc__gpuf_on_release(st, names);
        return TC_OK;
    }
    if (is_sentence(ev, RESET_OK)) {
        return on_recovered(st, ev, tc__gpuf_known(st, names), GPUF_WAS_RESET, out);
    }
    if (!tc__gpuf_fact_of(st->base.xids, ev, &fact)) {
        return TC_OK;
    }
    struct gpuf_gpu *gpu = tc__gpuf_gpu(st, names);
    return gpu == NULL ? TC_E_NOMEM : note_fact(st, ev, names, gpu, &fact, out);
}

/* The driver was loaded, or the node booted. */
static bool is_load(const struct tc_event *ev)
{
    if (ev->kind == TC_EVENT_K8S_EVENT) {
        return tc_slice_eq(ev->k8s.reason, TC_LIT("Rebooted")) &&
               tc_slice_eq(ev->k8s.object_kind, TC_LIT("Node")) && ev->scope.node.len > 0;
    }
    return is_sentence(ev, LOAD_OK);
}

/* Whether an event can say anything here: most samples and Kubernetes' events cannot. */
static bool is_wanted(const struct tc_event *ev)
{
    struct gpuf_fact fact;
    if (ev->kind == TC_EVENT_METRIC) {
        return wants_metric(&ev->metric);
    }
    if (ev->kind == TC_EVENT_XID || ev->kind == TC_EVENT_GPU_INVENTORY ||
        ev->kind == TC_EVENT_RANK_PLACE) {
        return true;
    }
    return is_load(ev) || is_sentence(ev, INIT_OK) || is_sentence(ev, RESET_OK) ||
           is_sentence(ev, RELEASED_OK) || tc__gpuf_fact_of(NULL, ev, &fact);
}

/* The GPU of an event, also of a log that names no node. NULL when it names none. */
static const struct tc_gpu *gpu_of_event(const struct gpuf_state *st, const struct tc_event *ev)
{
    const struct tc_gpu *names = tc_directory_event_gpu(st->directory);
    bool sample = ev->kind == TC_EVENT_METRIC && !is_flag(&ev->metric);
    bool driver = ev->kind == TC_EVENT_DRIVER_FAULT;
    if (names != NULL || sample || (ev->scope.node.len > 0 && !driver)) {
        return names;
    }
    struct tc_scope scope = ev->scope;
    scope.node = scope.node.len > 0 ? scope.node : TC__NO_NODE;
    if (is_sentence(ev, RELEASED_OK)) {
        /* It may be any device. */
        return tc_directory_gpu(st->directory, &scope);
    }
    return tc_directory_learn_gpu(st->directory, &scope, ev->time_ns);
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct gpuf_state *st = state;
    if (!is_wanted(ev)) {
        return TC_OK;
    }
    if (ev->time_ns == TC_TIME_NONE || !tc__scope_fits(&ev->scope)) {
        st->base.ignored++;
        return TC_OK;
    }
    if (is_load(ev)) {
        return tc__gpuf_on_load(st, ev);
    }
    const struct tc_gpu *names = gpu_of_event(st, ev);
    if (names == NULL) {
        st->base.ignored++;
        return TC_OK;
    }
    names = tc__gpuf_join_xid(st, ev, names);
    struct gpuf_gpu *known = tc__gpuf_known(st, names);
    TC_TRY(on_names(st, names, known, out));
    return ev->kind == TC_EVENT_METRIC          ? on_metric(st, ev, names, out)
           : ev->kind == TC_EVENT_GPU_INVENTORY ? tc__gpuf_on_sample(st, ev, names, out)
           : ev->kind == TC_EVENT_XID           ? on_xid(st, ev, names, known, out)
           : ev->kind == TC_EVENT_RANK_PLACE    ? TC_OK
                                                : on_sentence(st, ev, names, out);
}

static tc_status on_advance(void *state, int64_t now_ns, const struct tc_sink *out)
{
    return tc__gpuf_tell_due(state, now_ns, out);
}

static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    (void)now_ns;
    TC_TRY(tc__gpuf_end_scrapes(state, out));
    return tc__gpuf_tell_due(state, INT64_MAX, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct gpuf_state *st = state;
    st->directory = env->directory;
    return tc__gpuf_incidents_init(st) && tc__gpuf_nodes_init(st) && tc__gpuf_suspects_init(st)
               ? TC_OK
               : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_NUMBER("scrapes", struct gpuf_state, scrapes, 4, 2, 1000,
                   "scrapes in a row that a GPU has to miss to be gone"),
    TC_KNOB_SECONDS("absent", struct gpuf_state, absent_ns, 60, 1, 86400,
                    "time that it has to be missing for"),
    TC_KNOB_SECONDS("apart", struct gpuf_state, apart_ns, 86400, 1, 30 * 86400,
                    "faults of one GPU further apart than this are two incidents"),
    TC_KNOB_NUMBER("follows", struct gpuf_state, follows, 3, 2, 30,
                   "pods, of two jobs or more, that an Xid of applications has to hit on a GPU to "
                   "make it suspect; one fewer when it is always in one GPC and TPC"),
    TC_KNOB_SECONDS("follows_within", struct gpuf_state, follows_ns, 7 * 86400, 60, 30 * 86400,
                    "time in which it has to hit them"),
};

const struct tc_detector tc_detector_gpu_fault = {
    .id = "13",
    .name = "gpu_fault",
    .summary = "A GPU or its firmware is broken; says which, what to do and what clears it.",
    .kinds = BIT(XID) | BIT(METRIC) | BIT(GPU_INVENTORY) | BIT(RANK_PLACE) | BIT(DRIVER_FAULT) |
             BIT(GPU_HEALTH) | BIT(K8S_EVENT),
    .undated = true,
    .state_bytes = sizeof(struct gpuf_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_advance = on_advance,
    .on_event = on_event,
    .on_finish = on_finish,
};
