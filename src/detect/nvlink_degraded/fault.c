/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of GPUs and switches. A fault waits as long as something may join it: the
 * GPUs behind a switch report within seconds of it, before or after, and are then
 * evidence of the switch's incident and not incidents of their own.
 */
#include "detect/nvlink_degraded/priv.h"
#include "detect/words_priv.h"
#include "event/sxid.h"
#include "event/xid.h"

/* A fault is not cleared by silence, but a day later it is another incident. */
#define EPISODE_NS (86400 * TC_SECOND)
/* Switches of one node that are looked at; a DGX-2 has 12. */
#define SWITCHES_VISITED_MAX 64

/* The others, of NVLink 5, say themselves how grave they are. */
#define XID_NVLINK 74

#define RING_BYTES ((size_t)8 << 20)

/* A GPU of the book is found by its id alone, whatever else became known of it. */
#define BY_ID 1

static const struct tc_record_type DEVICE = {
    .size = sizeof(struct nvlink_device),
    .texts = {TC_TEXT(struct nvlink_device, node), TC_TEXT(struct nvlink_device, uuid),
              TC_TEXT(struct nvlink_device, name)},
    .keys = {{TC_FIELD(struct nvlink_device, role), TC_FIELD(struct nvlink_device, id),
              TC_FIELD(struct nvlink_device, node), TC_FIELD(struct nvlink_device, name),
              TC_FIELD(struct nvlink_device, pci)},
             [BY_ID] = {TC_FIELD(struct nvlink_device, id)}},
    .chain = {TC_FIELD(struct nvlink_device, role), TC_FIELD(struct nvlink_device, node)},
};

static struct nvlink_device *find_device(const struct nvlink_state *st,
                                         const struct nvlink_device *key)
{
    return tc__window_get_by(&st->devices, key->id != 0 ? BY_ID : 0, key);
}

static struct nvlink_device *get_device(struct nvlink_state *st, struct nvlink_device *key)
{
    struct nvlink_device *known = find_device(st, key);
    if (known != NULL) {
        return known;
    }
    key->news_ns = TC_WAITING_NEVER;
    key->joined_ns = TC_TIME_NONE;
    key->resolved_ns = TC_TIME_NONE;
    for (size_t i = 0; i < NVLINK_DENIALS; i++) {
        key->denials[i].time_ns = TC_TIME_NONE;
    }
    struct nvlink_device *kept = tc__window_add(&st->devices, key, st->base.now_ns);
    if (kept != NULL && kept->id != 0) {
        tc__window_index(&st->devices, BY_ID, kept);
    }
    return kept;
}

struct nvlink_device *tc__nvlink_gpu(struct nvlink_state *st, const struct tc_gpu *gpu)
{
    struct nvlink_device key = {.role = NVLINK_GPU};
    struct nvlink_device *known = NULL;
    for (unsigned i = 0; known == NULL && i < TC_GPU_IDS && tc_gpu_id(gpu, i) != 0; i++) {
        key.id = tc_gpu_id(gpu, i);
        known = find_device(st, &key);
    }
    key.id = gpu->id;
    key.node = gpu->node;
    key.uuid = gpu->uuid;
    key.pci = gpu->pci;
    key.index = gpu->index;
    return known != NULL ? known : get_device(st, &key);
}

struct nvlink_device *tc__nvlink_switch(struct nvlink_state *st, struct tc_slice node,
                                        struct tc_slice name)
{
    struct nvlink_device key = {.role = NVLINK_SWITCH, .node = node, .name = name, .index = -1};
    return get_device(st, &key);
}

static struct nvlink_device *device_at(struct nvlink_state *st, enum nvlink_role role,
                                       struct tc_slice node, struct tc_bdf pci)
{
    struct nvlink_device key = {.role = role, .node = node, .pci = pci, .index = -1};
    return get_device(st, &key);
}

static void end_episode(struct nvlink_device *d)
{
    d->fatal.first.known = false;
    d->fatal.last.known = false;
    d->minor.last.known = false;
    d->down.first.known = false;
    d->storm.first.known = false;
    d->joined.first.known = false;
    d->gpu_count = 0;
    d->unit_len = 0;
    d->has_registers = false;
    d->said = false;
    d->news_ns = TC_WAITING_NEVER;
    d->open = false;
    for (size_t i = 0; i < TC_COUNT(d->links); i++) {
        d->links[i] = 0;
    }
}

enum nvlink_reason tc__nvlink_reason(const struct nvlink_device *d)
{
    if (d->fatal.first.known && d->role == NVLINK_SWITCH) {
        return NVLINK_FATAL_SXID;
    }
    if (d->down.first.known) {
        return NVLINK_LINK_DOWN;
    }
    if (d->fatal.first.known) {
        return NVLINK_XID;
    }
    return d->storm.first.known ? NVLINK_ERROR_STORM : NVLINK_NOTHING;
}

void tc__nvlink_begin(struct nvlink_device *d, int64_t time_ns)
{
    const struct tc_mark *last = d->fatal.first.known ? &d->fatal.last : &d->down.last;
    if (tc__nvlink_reason(d) > NVLINK_ERROR_STORM && last->known &&
        time_ns - last->time_ns > EPISODE_NS) {
        end_episode(d);
    }
}

/* The order in which devices are told of. */
static bool told_before(const void *a, const void *b)
{
    const struct nvlink_device *x = a;
    const struct nvlink_device *y = b;
    if (x->since_ns != y->since_ns) {
        return x->since_ns < y->since_ns;
    }
    int order = tc_slice_cmp(x->node, y->node);
    order = order != 0 ? order : (int)x->role - (int)y->role;
    order = order != 0 ? order : tc_slice_cmp(x->uuid, y->uuid);
    order = order != 0 ? order : tc_slice_cmp(x->name, y->name);
    return order != 0 ? order < 0 : tc__pci_number(x->pci) < tc__pci_number(y->pci);
}

bool tc__nvlink_devices_init(struct nvlink_state *st)
{
    size_t devices = RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct nvlink_device), 0);
    return tc__window_open(&st->devices, &st->base, &DEVICE, RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__waiting_init(&st->due, st->base.arena, &st->devices, devices, told_before);
}

void tc__nvlink_announce(struct nvlink_state *st, struct nvlink_device *d, int64_t time_ns,
                         int64_t due_ns)
{
    /* What comes back soon after it went is the same incident. */
    bool again = d->resolved_ns != TC_TIME_NONE && time_ns - d->resolved_ns <= st->window_ns;
    if (!d->open && d->news_ns == TC_WAITING_NEVER && !again) {
        d->since_ns = time_ns;
    }
    d->news_ns = due_ns < d->news_ns ? due_ns : d->news_ns;
    if (d->waits) {
        tc__waiting_hasten(&st->due, due_ns);
        return;
    }
    d->waits = tc__waiting_add(&st->due, d, due_ns);
}

bool tc__nvlink_has_link(const struct nvlink_device *d, int64_t link)
{
    return link >= 0 && link < NVLINK_LINKS_MAX && (d->links[link / 64] >> link % 64 & 1) != 0;
}

/* A link that was not among those of the episode. */
static bool is_new_link(const struct nvlink_device *d, int64_t link)
{
    return link >= 0 && link < NVLINK_LINKS_MAX && !tc__nvlink_has_link(d, link);
}

void tc__nvlink_add_link(struct nvlink_device *d, int64_t link)
{
    if (link >= 0 && link < NVLINK_LINKS_MAX) {
        d->links[link / 64] |= UINT64_C(1) << link % 64;
    }
}

/* A fault is part of the episode, and `news` or one of a link that was not among them. */
static void add_fatal(struct nvlink_state *st, struct nvlink_device *d, const struct tc_event *ev,
                      bool news)
{
    const struct tc_ev_xid *x = &ev->xid;
    struct tc_mark mark = tc__mark(ev);
    news = news || is_new_link(d, x->link);
    if (tc__mark_first(&d->fatal.first, &mark)) {
        d->fatal.code = x->code;
        d->fatal.link = x->link;
    }
    (void)tc__mark_last(&d->fatal.last, &mark);
    tc__nvlink_add_link(d, x->link);
    if (news) {
        tc__nvlink_announce(st, d, ev->time_ns, ev->time_ns + st->join_ns + 1);
    }
}

/* How often it was not fatal does not matter: the last of them is kept as evidence. */
static void add_minor(struct nvlink_device *d, const struct tc_event *ev)
{
    struct tc_mark mark = tc__mark(ev);
    if (tc__mark_last(&d->minor.last, &mark)) {
        d->minor.code = ev->xid.code;
        d->minor.link = ev->xid.link;
    }
}

void tc__nvlink_sxid(struct nvlink_state *st, const struct tc_event *ev)
{
    const struct tc_ev_xid *x = &ev->xid;
    if (!ev->scope.pci.known || x->code < 0) {
        st->base.ignored++;
        return;
    }
    struct nvlink_device *d = device_at(st, NVLINK_SWITCH, ev->scope.node, ev->scope.pci);
    if (d == NULL) {
        return;
    }
    const struct tc_sxid *known = tc_sxid_find(x->code);
    bool said = tc_slice_eq(x->severity, TC_LIT("fatal"));
    bool fatal =
        said || (x->severity.len == 0 && known != NULL && known->reach != TC_SXID_NONFATAL);
    if (!fatal) {
        add_minor(d, ev);
        if (x->severity.len > 0) {
            d->denials[x->code % NVLINK_DENIALS].code = x->code;
            d->denials[x->code % NVLINK_DENIALS].time_ns = ev->time_ns;
        }
        return;
    }
    tc__nvlink_begin(d, ev->time_ns);
    add_fatal(st, d, ev, !d->open || (said && !d->said));
    d->said = d->said || said;
}

/*
 * The switch whose fatal error lies within reach of [from_ns, to_ns] on that node: the
 * one that failed first, then the one with the lowest address. NULL when there is none.
 */
static struct nvlink_device *find_culprit(const struct nvlink_state *st, struct tc_slice node,
                                          int64_t from_ns, int64_t to_ns)
{
    struct nvlink_device *best = NULL;
    struct nvlink_device key = {.role = NVLINK_SWITCH, .node = node};
    struct nvlink_device *d = node.len == 0 ? NULL : tc__window_newest(&st->devices, &key);
    for (unsigned i = 0; d != NULL && i < SWITCHES_VISITED_MAX; i++) {
        bool near = d->fatal.first.known && d->fatal.first.time_ns - st->join_ns <= to_ns &&
                    d->fatal.last.time_ns + st->join_ns >= from_ns;
        if (near && (best == NULL || d->fatal.first.time_ns < best->fatal.first.time_ns ||
                     (d->fatal.first.time_ns == best->fatal.first.time_ns &&
                      tc__pci_number(d->pci) < tc__pci_number(best->pci)))) {
            best = d;
        }
        d = tc__window_older(&st->devices, d);
    }
    return best;
}

/*
 * The GPU's fault becomes evidence of the switch's incident. What samples say of a switch's
 * links adds nothing to its SXid.
 */
static void join(struct nvlink_state *st, struct nvlink_device *gpu, struct nvlink_device *culprit,
                 int64_t now_ns)
{
    if (gpu->role == NVLINK_SWITCH) {
        gpu->joined_ns = culprit->since_ns;
        end_episode(gpu);
        return;
    }
    const struct nvlink_sign *s = gpu->fatal.first.known ? &gpu->fatal : &gpu->down;
    if (tc__mark_first(&culprit->joined.first, &s->first)) {
        culprit->joined.code = gpu->fatal.first.known ? s->code : -1;
    }
    (void)tc__mark_last(&culprit->joined.last, &s->last);
    if (gpu->joined_ns != culprit->since_ns) {
        gpu->joined_ns = culprit->since_ns;
        culprit->gpu_count++;
        tc__nvlink_announce(st, culprit, now_ns, now_ns + 1);
    }
    end_episode(gpu);
}

/* True when the line says more than those before it. */
static bool add_registers(struct nvlink_device *d, const struct tc_ev_xid *x)
{
    uint32_t words[TC_NVLINK_REGISTERS];
    if (x->code != XID_NVLINK || !tc_nvlink_registers(x->message, words)) {
        return false;
    }
    bool is_news = !d->has_registers;
    for (size_t i = 0; i < TC_NVLINK_REGISTERS; i++) {
        uint32_t known = d->has_registers ? d->registers[i] : 0;
        is_news = is_news || (words[i] & ~known) != 0;
        d->registers[i] = known | words[i];
    }
    d->has_registers = true;
    return is_news;
}

void tc__nvlink_xid(struct nvlink_state *st, const struct tc_event *ev)
{
    const struct tc_ev_xid *x = &ev->xid;
    if (!tc_xid_is_nvlink(x->code)) {
        return;
    }
    const struct tc_gpu *gpu = tc_directory_event_gpu(st->directory);
    struct nvlink_device *d = NULL;
    if (gpu != NULL) {
        d = tc__nvlink_gpu(st, gpu);
    } else if (ev->scope.pci.known) {
        d = device_at(st, NVLINK_GPU, ev->scope.node, ev->scope.pci);
    }
    if (d == NULL) {
        st->base.ignored++;
        return;
    }
    if (x->code != XID_NVLINK && !tc_slice_eq(x->severity, TC_LIT("fatal"))) {
        add_minor(d, ev);
        return;
    }
    tc__nvlink_begin(d, ev->time_ns);
    bool is_news = add_registers(d, x);
    add_fatal(st, d, ev, is_news || !d->open || d->told < NVLINK_XID);
    d->said = true;
    if (d->unit_len == 0) {
        d->unit_len = tc__text_keep(d->unit, NVLINK_UNIT_MAX, x->unit);
    }
}

void tc__nvlink_driver_fault(struct nvlink_state *st, const struct tc_event *ev)
{
    if (!tc_slice_eq(ev->fault.fault, TC_LIT("nvlink_discovery_failed")) ||
        ev->scope.node.len == 0) {
        return;
    }
    struct nvlink_device *d = device_at(st, NVLINK_NODE, ev->scope.node, (struct tc_bdf){0});
    if (d != NULL) {
        struct tc_mark mark = tc__mark(ev);
        (void)tc__mark_last(&d->minor.last, &mark);
    }
}

/* What the driver said about all the links of the node, when it was at that time. */
static const struct nvlink_device *node_of(const struct nvlink_state *st,
                                           const struct nvlink_device *d)
{
    struct nvlink_device key = {.role = NVLINK_NODE, .node = d->node, .index = -1};
    const struct nvlink_device *node = find_device(st, &key);
    if (node == NULL || !node->minor.last.known) {
        return NULL;
    }
    int64_t apart_ns = node->minor.last.time_ns - d->since_ns;
    return apart_ns >= -st->window_ns && apart_ns <= st->window_ns ? node : NULL;
}

/*
 * The number alone made it fatal, and another line of the same error says that it
 * was not: the driver prints one error on several lines, not all with its severity.
 */
static bool is_denied(const struct nvlink_state *st, const struct nvlink_device *d)
{
    if (d->said || d->open || !d->fatal.first.known) {
        return false;
    }
    size_t at = (size_t)(d->fatal.code % NVLINK_DENIALS);
    int64_t apart_ns = d->denials[at].time_ns == TC_TIME_NONE
                           ? INT64_MAX
                           : d->denials[at].time_ns - d->fatal.first.time_ns;
    return d->denials[at].code == d->fatal.code && apart_ns >= -st->join_ns &&
           apart_ns <= st->join_ns;
}

/*
 * Faults that a fatal error of a switch explains: of a GPU, and links of a switch of which only
 * the name is known. Counters that rise are the GPU's own affair.
 */
static struct nvlink_device *culprit_of(const struct nvlink_state *st,
                                        const struct nvlink_device *d)
{
    bool victim = d->role == NVLINK_GPU || d->name.len > 0;
    if (!victim || d->open) {
        return NULL;
    }
    if (d->fatal.first.known) {
        return find_culprit(st, d->node, d->fatal.first.time_ns, d->fatal.last.time_ns);
    }
    if (d->down.first.known) {
        return find_culprit(st, d->node, d->up.time_ns, d->down.last.time_ns);
    }
    return NULL;
}

static tc_status tell(struct nvlink_state *st, struct nvlink_device *d, bool resolved,
                      const struct tc_mark *relief, int64_t now_ns, const struct tc_sink *out)
{
    if (d->storm.first.known) {
        tc__nvlink_measure(st, d);
    }
    TC_TRY(tc__nvlink_report(d, st, node_of(st, d), resolved, relief, out));
    d->open = true;
    d->told = tc__nvlink_reason(d);
    d->news_ns = TC_WAITING_NEVER;
    if (resolved) {
        d->resolved_ns = now_ns;
        end_episode(d);
    }
    return TC_OK;
}

static tc_status tell_news(struct nvlink_state *st, struct nvlink_device *d, int64_t now_ns,
                           const struct tc_sink *out)
{
    struct nvlink_device *culprit = culprit_of(st, d);
    struct tc_mark relief;
    if (culprit != NULL) {
        join(st, d, culprit, now_ns);
        return TC_OK;
    }
    if (is_denied(st, d)) {
        end_episode(d);
        return TC_OK;
    }
    bool up = d->down.first.known && tc__nvlink_all_up(st, d, &relief);
    if (up && d->open) {
        return tell(st, d, true, &relief, now_ns, out);
    }
    if (up) {
        d->down.first.known = false; /* it came back before anyone had to hear of it */
    }
    d->news_ns = TC_WAITING_NEVER;
    return tc__nvlink_reason(d) == NVLINK_NOTHING ? TC_OK : tell(st, d, false, NULL, now_ns, out);
}

static tc_status visit(void *state, void *record, int64_t now_ns, const struct tc_sink *out,
                       int64_t *io_due_ns)
{
    struct nvlink_state *st = state;
    struct nvlink_device *d = record;
    if (d->news_ns != TC_WAITING_NEVER && (now_ns >= d->news_ns || st->finishing)) {
        TC_TRY(tell_news(st, d, now_ns, out));
    }
    if (d->open && tc__nvlink_reason(d) == NVLINK_ERROR_STORM) {
        int64_t quiet_ns = d->storm.last.time_ns + st->window_ns + 1;
        if (now_ns >= quiet_ns && !st->finishing) {
            TC_TRY(tell(st, d, true, NULL, now_ns, out));
        } else if (st->finishing) {
            TC_TRY(tell(st, d, false, NULL, now_ns, out)); /* how many they were in the end */
            *io_due_ns = quiet_ns;
        } else {
            *io_due_ns = quiet_ns;
        }
    }
    *io_due_ns = d->news_ns < *io_due_ns ? d->news_ns : *io_due_ns;
    d->waits = *io_due_ns != TC_WAITING_NEVER;
    return TC_OK;
}

tc_status tc__nvlink_run(struct nvlink_state *st, int64_t now_ns, const struct tc_sink *out)
{
    return tc__waiting_run(&st->due, now_ns, visit, st, out);
}
