/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_link_fault: a network port of a node flaps, is down, errs or loses packets.
 * docs/patterns/network_link_fault.md says what it claims and what it never does.
 *
 * Ports are kept by node and device, and found by PCI address too, since the kernel
 * names one card in several ways. Nodes are kept for two reasons: a link that is
 * down is a fault only while its node lives, and ports that go down together were
 * taken down together.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/network_link_fault/priv.h"

/* What was not heard of for this long is forgotten. */
#define KEPT_NS (2 * 86400 * TC_SECOND)

#define PORT_RING_BYTES ((size_t)32 << 20)
#define NAME_RING_BYTES ((size_t)1 << 20)
#define NODE_RING_BYTES ((size_t)2 << 20)
#define ARENA_BYTES ((size_t)44 << 20)

/* Another name of a port than its first. A card may get any number of them. */
struct link_name {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice text;
    uint64_t port;
};

#define BY_PCI 1

static const struct tc_record_type PORT = {
    .size = sizeof(struct link_port),
    .texts = {TC_TEXT(struct link_port, node), TC_TEXT(struct link_port, first_name)},
    .keys = {{TC_FIELD(struct link_port, node), TC_FIELD(struct link_port, first_name)},
             [BY_PCI] = {TC_FIELD(struct link_port, node), TC_FIELD(struct link_port, pci)}},
};
static const struct tc_record_type NAME = {
    .size = sizeof(struct link_name),
    .texts = {TC_TEXT(struct link_name, node), TC_TEXT(struct link_name, text)},
    .keys = {{TC_FIELD(struct link_name, node), TC_FIELD(struct link_name, text)}},
};
static const struct tc_record_type NODE = {
    .size = sizeof(struct link_node),
    .texts = {TC_TEXT(struct link_node, name)},
    .keys = {{TC_FIELD(struct link_node, name)}},
};

static struct link_port new_port(struct tc_slice node, struct tc_slice device, struct tc_bdf pci)
{
    struct link_port p = {.node = node, .first_name = device, .pci = pci};
    for (unsigned s = 0; s < LINK_SOURCES; s++) {
        p.logs[s].changed_ns = TC_TIME_NONE;
    }
    p.before.time_ns = TC_TIME_NONE;
    p.scrape.time_ns = TC_TIME_NONE;
    p.loss.calm_ns = TC_TIME_NONE;
    p.down_ns = TC_TIME_NONE;
    p.shut_ns = TC_TIME_NONE;
    p.admin_ns = TC_TIME_NONE;
    p.gauge.time_ns = TC_TIME_NONE;
    p.alive_ns = TC_TIME_NONE;
    p.up.time_ns = TC_TIME_NONE;
    return p;
}

/*
 * Another name of a port; whether it is to be found by it. It goes by the first name, and of those
 * that come at one time by the last in the alphabet: mlx5_3 rather than ens1f0np0.
 */
static bool take_name(const struct link_state *st, struct link_port *p, struct tc_slice name)
{
    bool better = p->born_ns == st->base.now_ns && p->faults == 0 && name.len <= sizeof p->name &&
                  tc_slice_cmp(name, p->device) > 0;
    if (!better && p->has_alias) {
        return false;
    }
    p->has_alias = true;
    if (better) {
        memcpy(p->name, name.ptr, name.len);
        p->device = tc_slice_make(p->name, name.len);
    }
    return true;
}

static struct link_port *find_name(const struct link_state *st, const struct link_port *key)
{
    struct link_port *p = tc__window_get(&st->ports, key);
    if (p != NULL && p->moved != TC_RING_NONE) {
        return tc__window_at(&st->ports, p->moved);
    }
    struct link_name other = {.node = key->node, .text = key->first_name};
    struct link_name *name = p == NULL ? tc__window_get(&st->names, &other) : NULL;
    if (name == NULL) {
        return p;
    }
    name->head.seen_ns = st->base.now_ns;
    return tc__window_at(&st->ports, name->port);
}

/*
 * A port by its name, without an address until now, and what stands at that address: both are one,
 * told by the kernel under one name and by an exporter under the other.
 */
static struct link_port *same_card(const struct link_state *st, struct link_port *named,
                                   const struct link_port *key)
{
    struct link_port *at = tc__window_get_by(&st->ports, BY_PCI, key);
    if (at == NULL || at == named || named->faults != 0 || at->has_alias) {
        return named;
    }
    tc__link_absorb(at, named);
    at->has_alias = true;
    named->moved = at->head.pos;
    return at;
}

static struct link_port *add_port(struct link_state *st, struct link_port *p)
{
    p->born_ns = st->base.now_ns;
    struct link_port *kept = tc__window_add(&st->ports, p, st->base.now_ns);
    if (kept != NULL) {
        kept->device = kept->first_name;
    }
    return kept;
}

struct link_port *tc__link_port(struct link_state *st, struct tc_slice node, struct tc_slice device,
                                struct tc_bdf pci)
{
    /* Two ports of one card may share its address. */
    pci.known = pci.known && tc_slice_find_byte(device, '/') == TC_NPOS;
    struct link_port fresh = new_port(node, device, pci);
    struct link_port *p = find_name(st, &fresh);
    if (p == NULL && pci.known) {
        p = tc__window_get_by(&st->ports, BY_PCI, &fresh);
        if (p != NULL && device.len > 0 && take_name(st, p, device)) {
            struct link_name name = {.node = node, .text = device, .port = p->head.pos};
            if (tc__window_add(&st->names, &name, st->base.now_ns) == NULL) {
                return NULL;
            }
        }
    }
    p = p != NULL && pci.known && !p->pci.known ? same_card(st, p, &fresh) : p;
    bool learned = pci.known && (p == NULL || !p->pci.known);
    p = p == NULL ? add_port(st, &fresh) : p;
    if (p == NULL) {
        return NULL;
    }
    if (learned) {
        p->pci = pci;
        tc__window_index(&st->ports, BY_PCI, p);
    }
    p->head.seen_ns = st->base.now_ns;
    return p;
}

/*
 * A port that the kernel log saw go down, and its node lives on. Behind a gap the
 * node may have been rebooted: then its ports come up within the time of a boot.
 */
static tc_status check_down(struct link_state *st, struct link_node *n, int64_t now_ns, bool last,
                            const struct tc_sink *out)
{
    for (unsigned i = 0; i < n->down_count; i++) {
        struct link_port *p = tc__window_at(&st->ports, n->down[i]);
        if (p == NULL || p->down_ns == TC_TIME_NONE || p->down_shared ||
            tc__link_down_bit(p) != 0 || p->gauge.time_ns != TC_TIME_NONE ||
            n->last_ns - p->down_ns < st->knobs.hold_ns) {
            continue;
        }
        bool unbroken = n->since_ns <= p->down_ns;
        p->alive_ns = p->alive_ns == TC_TIME_NONE ? now_ns : p->alive_ns;
        if (unbroken || last || now_ns - p->alive_ns >= st->knobs.boot_ns) {
            p->partial = !unbroken;
            TC_TRY(tc__link_judge(st, p, 1U << LINK_DOWN, n->last_ns, out));
        }
    }
    return TC_OK;
}

/* The node of an event, with its life noted. *out is NULL when it is not known and not wanted. */
static tc_status note_life(struct link_state *st, const struct tc_event *ev, bool wanted,
                           struct link_node **out)
{
    struct link_node key;
    key.name = ev->scope.node;
    struct link_node *n = tc__window_get(&st->nodes, &key);
    if (n == NULL && wanted) {
        struct link_node fresh = {
            .name = ev->scope.node, .last_ns = ev->time_ns, .since_ns = ev->time_ns};
        n = tc__window_add(&st->nodes, &fresh, st->base.now_ns);
        TC_TRY(n == NULL ? TC_E_NOMEM : TC_OK);
    }
    if (n != NULL && ev->time_ns > n->last_ns) {
        n->since_ns = ev->time_ns - n->last_ns > st->knobs.hold_ns ? ev->time_ns : n->since_ns;
        n->last_ns = ev->time_ns;
    }
    if (n != NULL) {
        n->head.seen_ns = st->base.now_ns;
    }
    *out = n;
    return TC_OK;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct link_state *st = state;
    struct link_node *n = NULL;
    bool fault = ev->kind == TC_EVENT_NETWORK_FAULT;
    bool metric = ev->kind == TC_EVENT_METRIC && tc__link_is_metric(ev);
    struct tc_slice device = fault ? ev->fault.device : metric ? ev->metric.device : TC_EMPTY;
    /* Flaps, rates and what is down are judged by times; a failed transfer needs none. */
    bool untimed = !tc_time_is_date(ev->time_ns) &&
                   !(fault && tc_slice_eq(ev->fault.fault, LINK_COMPLETION_ERROR));
    if (ev->time_ns == TC_TIME_NONE || untimed || ev->scope.node.len == 0 ||
        !tc__scope_fits(&ev->scope) || device.len > TC_SCOPE_TEXT_MAX) {
        st->base.ignored += fault || metric;
        return TC_OK;
    }
    TC_TRY(note_life(st, ev, fault || metric, &n));
    if (fault) {
        /* That a link is up again now proves how long it was down. */
        TC_TRY(check_down(st, n, ev->time_ns, false, out));
        TC_TRY(tc__link_on_fault(st, n, ev, out));
    } else if (metric) {
        TC_TRY(tc__link_on_metric(st, n, ev, out));
    }
    return n != NULL && n->down_count > 0 ? check_down(st, n, ev->time_ns, false, out) : TC_OK;
}

/* Judged as of when it went down: what the knobs count is not moved by the wait. */
static tc_status settle(struct link_state *st, int64_t now_ns, const struct tc_sink *out)
{
    struct link_port *p = NULL;
    int64_t due_ns = 0;
    while ((p = tc__waiting_take(&st->settling, now_ns, &due_ns)) != NULL) {
        TC_TRY(tc__link_judge(st, p, tc__link_down_bit(p), due_ns - LINK_BURST_NS, out));
    }
    return TC_OK;
}

static tc_status quieten(struct link_state *st, int64_t now_ns, const struct tc_sink *out)
{
    struct link_port *p = NULL;
    while ((p = tc__waiting_take(&st->quieting, now_ns, NULL)) != NULL) {
        p->queued = false;
        TC_TRY(tc__link_judge(st, p, tc__link_down_bit(p), now_ns, out));
    }
    return TC_OK;
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct link_state *st = state;
    (void)now_ns;
    TC_TRY(settle(st, st->base.now_ns, out));
    return quieten(st, st->base.now_ns, out);
}

/* What waited for more has seen it all. */
static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct link_state *st = state;
    uint64_t pos = TC_RING_NONE;
    if (now_ns != TC_TIME_NONE) {
        TC_TRY(on_tick(state, now_ns, out));
    }
    TC_TRY(settle(st, INT64_MAX, out));
    for (struct link_node *n = tc_ring_oldest(&st->nodes.ring, &pos); n != NULL;
         n = tc_ring_next(&st->nodes.ring, pos, &pos)) {
        TC_TRY(check_down(st, n, n->last_ns, true, out));
    }
    for (struct link_port *p = tc_ring_oldest(&st->ports.ring, &pos); p != NULL;
         p = tc_ring_next(&st->ports.ring, pos, &pos)) {
        if (p->scrape.time_ns != TC_TIME_NONE) {
            int64_t closed_ns = p->scrape.time_ns;
            tc__link_close_scrape(p, &st->knobs);
            TC_TRY(tc__link_judge(st, p, tc__link_down_bit(p), closed_ns, out));
        }
        if (p->faults != 0) { /* what has grown since it was last told */
            TC_TRY(tc__link_report(p, &st->knobs, p->faults, p->last_ns, st->base.scratch, out));
        }
    }
    return TC_OK;
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct link_state *st = state;
    bool ok = tc__window_open(&st->ports, &st->base, &PORT, PORT_RING_BYTES, KEPT_NS) &&
              tc__window_open(&st->names, &st->base, &NAME, NAME_RING_BYTES, KEPT_NS) &&
              tc__window_open(&st->nodes, &st->base, &NODE, NODE_RING_BYTES, KEPT_NS) &&
              tc__waiting_init(&st->settling, env->arena, &st->ports, LINK_QUEUE_MAX, NULL) &&
              tc__waiting_init(&st->quieting, env->arena, &st->ports, LINK_QUEUE_MAX, NULL);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("window", struct link_state, knobs.window_ns, 600, 1, 86400,
                    "time in which flaps and errors are counted, and that must pass without any"),
    TC_KNOB_NUMBER("flaps", struct link_state, knobs.flaps, 3, 2, LINK_MARKS,
                   "how often a link may go down within the window before it counts as flapping"),
    TC_KNOB_SECONDS("hold", struct link_state, knobs.hold_ns, 60, 1, 86400,
                    "how long a link must be down, or lose packets, without a break"),
    TC_KNOB_NUMBER("loss_permille", struct link_state, knobs.loss_permille, 10, 1, 999,
                   "share of packets or probes, of a thousand, that may be lost"),
    TC_KNOB_NUMBER(
        "packets", struct link_state, knobs.packets, 1000, 1, 1000000000,
        "packets that an interface must receive between two samples to be judged by its loss"),
    TC_KNOB_NUMBER("symbol_errors", struct link_state, knobs.symbol_errors, 100, 1, 1000000000,
                   "symbol or receive errors of an InfiniBand port within the window"),
    TC_KNOB_SECONDS("boot", struct link_state, knobs.boot_ns, 120, 1, 3600,
                    "how long links may take to come up after a boot"),
};

#define BIT(kind) TC_EVENT_BIT(TC_EVENT_##kind)

const struct tc_detector tc_detector_network_link_fault = {
    .id = "10",
    .name = "network_link_fault",
    .summary = "A network port that flaps, is down, errs or loses packets; names node and port",
    /* The other kinds come from the node itself: they show that it lives. */
    .kinds = BIT(NETWORK_FAULT) | BIT(METRIC) | BIT(XID) | BIT(SXID) | BIT(AER) | BIT(PCIE_LINK) |
             BIT(GPU_INVENTORY) | BIT(OOM_KILL) | BIT(MEMORY_ERROR) | BIT(STORAGE_ERROR) |
             BIT(STUCK_TASK) | BIT(PROCESS_FAULT) | BIT(DRIVER_FAULT) | BIT(TRAIN_STEP),
    .undated = true,
    .state_bytes = sizeof(struct link_state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
};
