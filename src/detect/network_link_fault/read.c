/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the kernel log and samples of metrics, put down to ports. */
#include "detect/network_link_fault/priv.h"

/* The same line again within this time is the same fact from another log. */
#define REPEAT_NS (10 * TC_SECOND)
/* IBV_WC_RETRY_EXC_ERR */
#define IB_RETRY_EXCEEDED 12

/* Interfaces without a cable of their own: pods', bridges, tunnels, bonds and VLANs. */
static bool is_virtual(struct tc_slice device)
{
    return device.len == 0 || tc_slice_eq(device, TC_LIT("lo")) ||
           tc_slice_find_byte(device, '.') != TC_NPOS ||
           tc_slice_find_byte(device, '@') != TC_NPOS ||
           tc_slice_starts_any(device, "veth", "cali", "lxc", "docker", "br-", "cni", "flannel",
                               "virbr", "tun", "tap", "cilium", "vxlan", "bond", "team", "dummy",
                               "kube-", "ifb", "nodelocal", "ovs-", "genev", "wg", "ip6tnl",
                               "tunl0", "vlan", "antrea", "weave", "gre");
}

/* It takes a third port to see a burst: the ones before are excused, too. */
static void excuse(struct link_state *st, const struct link_node *n)
{
    for (unsigned i = 0; i < LINK_BURST_PORTS - 1; i++) {
        struct link_port *p = tc__window_at(&st->ports, n->burst_first[i]);
        if (p == NULL || p->burst != n->burst) {
            continue;
        }
        for (unsigned s = 0; s < LINK_KERNEL_SOURCES; s++) {
            if ((p->burst_sources & 1U << s) != 0) {
                tc__link_unmark(&p->logs[s]);
            }
        }
        p->burst_sources = 0;
        p->down_shared = true;
    }
}

/* Several ports of a node at once are a reboot, a driver or a switch: not one port's fault. */
static bool is_shared(struct link_state *st, struct link_node *n, struct link_port *p,
                      int64_t time_ns)
{
    if (n->burst == 0 || time_ns - n->burst_ns > LINK_BURST_NS) {
        n->burst = ++st->bursts;
        n->burst_ports = 0;
    }
    n->burst_ns = time_ns > n->burst_ns ? time_ns : n->burst_ns;
    if (p->burst != n->burst) {
        p->burst = n->burst;
        p->burst_sources = 0;
        if (n->burst_ports < LINK_BURST_PORTS - 1) {
            n->burst_first[n->burst_ports] = p->head.pos;
        } else if (n->burst_ports == LINK_BURST_PORTS - 1) {
            excuse(st, n);
        }
        n->burst_ports += n->burst_ports < LINK_BURST_PORTS;
    }
    return n->burst_ports == LINK_BURST_PORTS;
}

static void list_down(struct link_state *st, struct link_node *n, const struct link_port *p)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n->down_count; i++) {
        const struct link_port *other = tc__window_at(&st->ports, n->down[i]);
        bool down = other != NULL && other != p && other->down_ns != TC_TIME_NONE;
        n->down[kept] = n->down[i];
        kept += down;
    }
    n->down_count = kept;
    if (kept == LINK_DOWN_MAX) {
        st->base.dropped++;
        return;
    }
    n->down[n->down_count++] = p->head.pos;
}

static void set_down(struct link_state *st, struct link_node *n, struct link_port *p,
                     const struct tc_event *ev)
{
    if (p->down_ns == TC_TIME_NONE) {
        p->down_ns = ev->time_ns;
        p->down_raw = ev->raw;
        p->alive_ns = TC_TIME_NONE;
        p->down_shared = false;
        list_down(st, n, p);
    }
}

static tc_status set_up(struct link_state *st, struct link_port *p, const struct tc_event *ev,
                        const struct tc_sink *out)
{
    for (unsigned s = 0; s < LINK_KERNEL_SOURCES; s++) {
        p->logs[s].down = false;
    }
    p->gauge.time_ns = TC_TIME_NONE;
    if (p->down_ns == TC_TIME_NONE || ev->time_ns < p->down_ns) {
        return TC_OK;
    }
    p->up = (struct link_mark){ev->time_ns, 1, ev->raw};
    /* How often it went down is judged when it is known whether others did, too. */
    tc_status status =
        tc__link_down_bit(p) != 0 ? tc__link_judge(st, p, 0, ev->time_ns, out) : TC_OK;
    p->down_ns = TC_TIME_NONE;
    p->alive_ns = TC_TIME_NONE;
    p->partial = false;
    return status;
}

static void on_down(struct link_state *st, struct link_node *n, struct link_port *p,
                    enum link_source source, const struct tc_event *ev)
{
    struct link_log *log = &p->logs[source];
    bool starting = ev->uptime_ns != TC_TIME_NONE && ev->uptime_ns < st->knobs.boot_ns;
    bool again = log->down && ev->time_ns - log->changed_ns < REPEAT_NS;
    if (again) {
        return;
    }
    log->down = true;
    log->changed_ns = ev->time_ns;
    if (starting) {
        return;
    }
    set_down(st, n, p, ev);
    if (is_shared(st, n, p, ev->time_ns)) {
        p->down_shared = true;
        return;
    }
    tc__link_mark(log, ev->time_ns, 1, ev->raw);
    p->burst_sources |= 1U << source;
    st->base.dropped += !tc__waiting_add(&st->settling, p, ev->time_ns + LINK_BURST_NS);
}

static tc_status on_link_line(struct link_state *st, struct link_node *n, struct link_port *p,
                              enum link_source source, bool up, const struct tc_event *ev,
                              const struct tc_sink *out)
{
    struct link_log *log = &p->logs[source];
    if (log->changed_ns != TC_TIME_NONE && ev->time_ns < log->changed_ns) {
        st->base.late++;
        return TC_OK;
    }
    if (!up) {
        on_down(st, n, p, source, ev);
        return TC_OK;
    }
    log->down = false;
    log->changed_ns = ev->time_ns;
    /* A bond comes up after its card, and says nothing of a card that is still down. */
    return source == LINK_BY_BOND && p->logs[LINK_BY_DRIVER].down ? TC_OK : set_up(st, p, ev, out);
}

static tc_status on_module(struct link_state *st, const struct tc_event *ev, bool hot,
                           const struct tc_sink *out)
{
    struct link_port *p = tc__link_port(st, ev->scope.node, ev->fault.device, ev->scope.pci);
    if (p == NULL) {
        return TC_E_NOMEM;
    }
    bool late = p->cable_first.count > 0 && ev->time_ns <= p->cable_last.time_ns;
    if (late || !tc__tell(&p->cable_tellers, ev->raw.source, ev->time_ns)) {
        return TC_OK;
    }
    p->cable_last = (struct link_mark){ev->time_ns, p->cable_last.count + 1, ev->raw};
    p->cable_first = p->cable_first.count == 0 ? p->cable_last : p->cable_first;
    p->cable_hot = p->cable_hot || hot;
    return tc__link_judge(st, p, tc__link_down_bit(p), ev->time_ns, out);
}

/*
 * A transfer that the peer did not acknowledge, however often it was sent: the way to the peer, or
 * the peer. Other states of completions are mistakes of programs, or what follows from this one.
 */
static tc_status on_completion(struct link_state *st, const struct tc_event *ev,
                               const struct tc_sink *out)
{
    if (ev->fault.status != IB_RETRY_EXCEEDED) {
        return TC_OK;
    }
    struct link_port *p =
        tc__link_port(st, ev->scope.node, ev->fault.device, (struct tc_bdf){.known = false});
    if (p == NULL) {
        return TC_E_NOMEM;
    }
    struct link_mark mark = {ev->time_ns, p->retry_last.count + 1, ev->raw};
    p->retry_first = p->retry_first.count == 0 ? mark : p->retry_first;
    p->retry_last = mark;
    return tc__link_judge(st, p, tc__link_down_bit(p), ev->time_ns, out);
}

tc_status tc__link_on_fault(struct link_state *st, struct link_node *n, const struct tc_event *ev,
                            const struct tc_sink *out)
{
    static const struct {
        const char *fault;
        enum link_source source;
        bool up;
    } lines[] = {
        {"link_down", LINK_BY_DRIVER, false},     {"link_up", LINK_BY_DRIVER, true},
        {"ib_link_down", LINK_BY_IB_CORE, false}, {"ib_link_up", LINK_BY_IB_CORE, true},
        {"bond_link_down", LINK_BY_BOND, false},  {"bond_link_up", LINK_BY_BOND, true},
    };
    struct tc_slice fault = ev->fault.fault;
    bool hot = tc_slice_eq(fault, TC_LIT("port_module_high_temperature"));
    if (tc_slice_eq(fault, LINK_COMPLETION_ERROR)) {
        return on_completion(st, ev, out);
    }
    if (hot || tc_slice_eq(fault, TC_LIT("port_module_error"))) {
        return on_module(st, ev, hot, out);
    }
    for (unsigned i = 0; i < TC_COUNT(lines); i++) {
        if (tc_slice_eq(fault, tc_slice_cstr(lines[i].fault)) && !is_virtual(ev->fault.device)) {
            struct link_port *p =
                tc__link_port(st, ev->scope.node, ev->fault.device, ev->scope.pci);
            return p == NULL ? TC_E_NOMEM
                             : on_link_line(st, n, p, lines[i].source, lines[i].up, ev, out);
        }
    }
    return TC_OK;
}

/* Whether the port is meant to be up. */
static void on_admin(struct link_state *st, struct link_port *p, const struct tc_event *ev)
{
    bool shut = ev->metric.value == 0;
    if (p->admin_ns != TC_TIME_NONE && ev->time_ns < p->admin_ns) {
        st->base.late++;
        return;
    }
    bool second = p->admin_ns == ev->time_ns;
    p->admin_ns = ev->time_ns;
    if (shut == p->shut || (second && !shut)) { /* of two that disagree, the one that excuses */
        return;
    }
    p->shut = shut;
    p->shut_ns = ev->time_ns;
}

static tc_status on_gauge(struct link_state *st, struct link_node *n, struct link_port *p, bool up,
                          bool down, const struct tc_event *ev, const struct tc_sink *out)
{
    if (up) {
        p->seen_up = true;
        return set_up(st, p, ev, out);
    }
    if (!down || !p->seen_up) {
        return TC_OK;
    }
    if (tc__link_is_shut(p, ev->time_ns) && tc__link_down_bit(p) == 0) {
        p->gauge.time_ns = TC_TIME_NONE;
        p->down_ns = TC_TIME_NONE;
        return TC_OK;
    }
    if (p->gauge.time_ns == TC_TIME_NONE) {
        p->gauge = (struct link_mark){ev->time_ns, 1, ev->raw};
        set_down(st, n, p, ev);
    }
    bool stays = ev->time_ns - p->gauge.time_ns >= st->knobs.hold_ns;
    return stays ? tc__link_judge(st, p, 1U << LINK_DOWN, ev->time_ns, out) : TC_OK;
}

static tc_status on_flaps(struct link_state *st, struct link_port *p, enum link_source source,
                          double count, const struct tc_event *ev, const struct tc_sink *out)
{
    if (count < 1) {
        return TC_OK;
    }
    int64_t whole = count < 1e9 ? (int64_t)count : 1000000000;
    tc__link_mark(&p->logs[source], ev->time_ns, whole, ev->raw);
    return tc__link_judge(st, p, tc__link_down_bit(p), ev->time_ns, out);
}

static tc_status on_errors(struct link_state *st, struct link_port *p, struct link_rate *rate,
                           double count, const struct tc_event *ev, const struct tc_sink *out)
{
    if (count < 1) {
        return TC_OK;
    }
    int64_t whole = count < 1e15 ? (int64_t)count : 1000000000000000;
    tc__link_rate_add(rate, st->knobs.window_ns, (struct link_mark){ev->time_ns, whole, ev->raw});
    return tc__link_judge(st, p, tc__link_down_bit(p), ev->time_ns, out);
}

/* The parts of a scrape come in any order; the next scrape closes it. */
static tc_status on_scrape(struct link_state *st, struct link_port *p, const struct tc_event *ev,
                           const struct tc_sink *out)
{
    tc_status status = TC_OK;
    if (p->scrape.time_ns != TC_TIME_NONE && ev->time_ns < p->scrape.time_ns) {
        st->base.late++;
        return TC_OK;
    }
    if (p->scrape.time_ns != TC_TIME_NONE && ev->time_ns > p->scrape.time_ns) {
        int64_t closed_ns = p->scrape.time_ns;
        tc__link_close_scrape(p, &st->knobs);
        status = tc__link_judge(st, p, tc__link_down_bit(p), closed_ns, out);
    }
    if (p->before.time_ns != TC_TIME_NONE && ev->time_ns <= p->before.time_ns) {
        return status;
    }
    if (p->scrape.time_ns == TC_TIME_NONE) {
        p->scrape = p->before; /* a part that does not come has not changed */
        p->scrape.has_packets = false;
        p->scrape.time_ns = ev->time_ns;
    }
    switch (ev->metric.metric) {
    case TC_METRIC_NET_RX_PACKETS:
        p->scrape.packets = ev->metric.value;
        p->scrape.has_packets = true;
        p->scrape.raw = ev->raw;
        break;
    case TC_METRIC_NET_RX_DROPS:
        p->scrape.drops = ev->metric.value;
        break;
    default:
        p->scrape.errors = ev->metric.value;
        break;
    }
    return status;
}

static tc_status on_ping(struct link_state *st, struct link_port *p, const struct tc_event *ev,
                         const struct tc_sink *out)
{
    double lost = ev->metric.value;
    if (lost < 0 || lost > 1) {
        st->base.ignored++;
        return TC_OK;
    }
    bool late = p->loss.on && ev->time_ns < p->loss.last.time_ns;
    if (late) {
        st->base.late++;
        return TC_OK;
    }
    /* A target that answers nothing is down: that is no loss on the way. */
    bool above = lost < 1 && lost * 1000 > (double)st->knobs.loss_permille;
    struct link_mark mark = {ev->time_ns, above ? (int64_t)(lost * 1e6) : 0, ev->raw};
    tc__link_lose(p, &st->knobs, mark, true);
    return tc__link_judge(st, p, tc__link_down_bit(p), ev->time_ns, out);
}

bool tc__link_is_metric(const struct tc_event *ev)
{
    switch (ev->metric.metric) {
    case TC_METRIC_IB_LINK_DOWNED:
    case TC_METRIC_IB_LINK_RECOVERY:
    case TC_METRIC_IB_SYMBOL_ERRORS:
    case TC_METRIC_IB_RCV_ERRORS:
    case TC_METRIC_IB_STATE:
    case TC_METRIC_PING_LOSS:
        return ev->metric.device.len > 0;
    case TC_METRIC_NET_CARRIER_CHANGES:
    case TC_METRIC_NET_CARRIER_DOWNS:
    case TC_METRIC_NET_UP:
    case TC_METRIC_NET_ADMIN_UP:
    case TC_METRIC_NET_RX_PACKETS:
    case TC_METRIC_NET_RX_DROPS:
    case TC_METRIC_NET_RX_ERRORS:
        return !is_virtual(ev->metric.device);
    default:
        return false;
    }
}

tc_status tc__link_on_metric(struct link_state *st, struct link_node *n, const struct tc_event *ev,
                             const struct tc_sink *out)
{
    double value = ev->metric.value;
    struct link_port *p = tc__link_port(st, ev->scope.node, ev->metric.device, ev->scope.pci);
    if (p == NULL) {
        return TC_E_NOMEM;
    }
    switch (ev->metric.metric) {
    case TC_METRIC_IB_LINK_DOWNED:
    case TC_METRIC_NET_CARRIER_DOWNS:
        value = tc__counter_rise(&p->downed, value, ev->time_ns);
        return on_flaps(st, p, LINK_BY_DOWNED, value, ev, out);
    case TC_METRIC_IB_LINK_RECOVERY:
        value = tc__counter_rise(&p->recovered, value, ev->time_ns);
        return on_flaps(st, p, LINK_BY_RECOVERY, value, ev, out);
    case TC_METRIC_NET_CARRIER_CHANGES:
        value = tc__counter_rise(&p->carrier, value, ev->time_ns) + p->carrier_rest;
        value = value < 1e9 ? value : 1e9;
        p->carrier_rest = (double)((int64_t)value % 2);
        return on_flaps(st, p, LINK_BY_CARRIER, (value - p->carrier_rest) / 2, ev, out);
    case TC_METRIC_IB_SYMBOL_ERRORS:
        value = tc__counter_rise(&p->symbols, value, ev->time_ns);
        return on_errors(st, p, &p->symbol_rate, value, ev, out);
    case TC_METRIC_IB_RCV_ERRORS:
        value = tc__counter_rise(&p->received, value, ev->time_ns);
        return on_errors(st, p, &p->receive_rate, value, ev, out);
    case TC_METRIC_IB_STATE:
        return on_gauge(st, n, p, value == 4, value == 1, ev, out);
    case TC_METRIC_NET_UP:
        return on_gauge(st, n, p, value == 1, value == 0, ev, out);
    case TC_METRIC_NET_ADMIN_UP:
        on_admin(st, p, ev);
        return TC_OK;
    case TC_METRIC_PING_LOSS:
        return on_ping(st, p, ev, out);
    default:
        return on_scrape(st, p, ev, out);
    }
}
