/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets room for a connection, and who makes it: docs/internals/connections.md. */
#include "net/net_priv.h"

/* A part of the shared connections is kept for each listener. */
static size_t share_of(const struct tc_net *n)
{
    return n->limits.connections_max / TC_NET_SHARE;
}

bool tc__net_has_room(const struct tc__listener *l)
{
    const struct tc_net *n = l->net;
    size_t share = share_of(n);
    size_t shared = 0;
    size_t kept = 0; /* for the others, and not in use */
    if (l->is_apart) {
        return l->connections < n->limits.own_connections_max;
    }
    for (size_t i = 0; i < n->listener_count; i++) {
        const struct tc__listener *other = &n->listeners[i];
        shared += other->is_apart ? 0 : other->connections;
        if (other != l && !other->is_apart && other->fd >= 0 && other->connections < share) {
            kept += share - other->connections;
        }
    }
    return shared < n->limits.connections_max &&
           (l->connections < share || shared + kept < n->limits.connections_max);
}

/* What c is doing; its output and its end are the loop's business, the rest its protocol's. */
static enum tc_use use_of(struct tc_conn *c, int64_t *out_since_ns)
{
    const struct tc_proto *proto = c->of->proto;
    if (c->busy > 0 || c->dirty || c->phase == TC__CONN_DEAD) {
        return TC_USE_BUSY;
    }
    if (c->phase == TC__CONN_LINGERING) {
        *out_since_ns = c->own_at - TC_NET_LINGER_NS;
        return TC_USE_IDLE;
    }
    if (c->pending > 0) { /* the peer has taken nothing since then */
        *out_since_ns = c->own_at - c->net->limits.write_timeout_ns;
        return c->own_at != 0 ? TC_USE_SLOW : TC_USE_BUSY;
    }
    return c->phase == TC__CONN_OPEN && proto->use != NULL
               ? proto->use(c, tc__conn_state(c), out_since_ns)
               : TC_USE_BUSY;
}

/* The order in which connections make room; 0: this one does not. */
static int rank_of(enum tc_use use, int64_t age_ns)
{
    bool is_old = age_ns >= TC_NET_EVICT_NS;
    switch (use) {
    case TC_USE_BEGUN:
        return is_old ? 1 : 4;
    case TC_USE_IDLE:
        return is_old ? 2 : 0;
    case TC_USE_SLOW:
        return is_old ? 3 : 0;
    case TC_USE_BUSY:
        break;
    }
    return 0;
}

static bool may_make_room(const struct tc_conn *c, const struct tc__listener *l)
{
    return c->of == l ||
           (!l->is_apart && !c->of->is_apart && c->of->connections > share_of(l->net));
}

bool tc__net_evict(const struct tc__listener *l, bool anywhere)
{
    struct tc_net *n = l->net;
    tc__net_turn(n); /* those that were accepted in this turn may be asked too */
    struct tc_conn *first = NULL;
    int first_rank = 0;
    int64_t first_since_ns = 0;
    int64_t now_ns = tc_net_mono_ns(n);
    for (struct tc_conn *c = n->all; c != NULL; c = c->all.next) {
        int64_t since_ns = now_ns;
        if (!anywhere && !may_make_room(c, l)) {
            continue;
        }
        enum tc_use use = use_of(c, &since_ns);
        int rank = rank_of(use, now_ns - since_ns);
        if (rank != 0 && (first == NULL || rank < first_rank ||
                          (rank == first_rank && since_ns < first_since_ns))) {
            first = c;
            first_rank = rank;
            first_since_ns = since_ns;
        }
    }
    if (first == NULL) {
        return false;
    }
    tc__conn_why(first, TC_COUNT_CONN_CLOSED_LIMIT);
    tc__conn_destroy(first);
    return true;
}

bool tc__net_urgent_left(const struct tc__listener *l)
{
    int64_t left_ns = TC_NET_URGENT_COUNT * TC_NET_URGENT_NS;
    return l->is_apart && l->net->urgent_until_ns - tc_net_mono_ns(l->net) < left_ns;
}

bool tc__net_take_urgent(const struct tc__listener *l)
{
    struct tc_net *n = l->net;
    if (!tc__net_urgent_left(l)) {
        return false;
    }
    int64_t now_ns = tc_net_mono_ns(n);
    n->urgent_until_ns =
        (n->urgent_until_ns > now_ns ? n->urgent_until_ns : now_ns) + TC_NET_URGENT_NS;
    return true;
}
