/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes by their names. The kernel log says "gpu07.example.org", Kubernetes "gpu07", a monitor
 * "10.0.0.7": one node, and every event of it goes under the name that came first. Records are kept
 * under that name, so it never changes; what else is heard only leads to it.
 *
 * A short name and a full one are the same node while one domain is known for the short one. With
 * two domains (two clusters) nobody knows which of them the short name means: from then on each
 * name stands for itself.
 *
 * Where a node stands is for those who show it: nothing is joined by it.
 */
#include "directory/directory_priv.h"

#include <string.h>

struct node {
    struct tc_entry entry;
    struct tc_slice key;  /* its first label, or its address */
    struct tc_slice name; /* what it goes by */
    struct tc_slice full; /* with its domain; "" while none was heard of */
    struct tc_slice rack; /* where it stands; "" while nobody said */
    struct tc_slice zone;
    uint8_t doubts; /* how often in a row it was said to stand elsewhere */
    bool shared;    /* several nodes have this label or address */
};

static const size_t TEXTS[] = {
    offsetof(struct node, key),  offsetof(struct node, name), offsetof(struct node, full),
    offsetof(struct node, rack), offsetof(struct node, zone),
};

/* Two that contradict each other would have a place written anew with each event: another is taken
 * when it was said so often, and nothing else. */
#define DOUBTS_MAX 4

/* Names of hosts are the same in capitals: a bit that tells them apart is set in every byte. */
static uint64_t hash_key(const void *entry, uint32_t name)
{
    const uint64_t capitals = UINT64_C(0x2020202020202020);
    struct tc_slice key = ((const struct node *)entry)->key;
    uint64_t hash = key.len;
    (void)name;
    while (key.len > 0) {
        uint64_t part = 0;
        size_t len = key.len < sizeof part ? key.len : sizeof part;
        memcpy(&part, key.ptr, len);
        hash = tc_hash_mix(hash, part | capitals);
        key = tc_slice_from(key, len);
    }
    return hash | 1;
}

static bool same_key(const void *a, const void *b, uint32_t name)
{
    struct tc_slice x = ((const struct node *)a)->key;
    struct tc_slice y = ((const struct node *)b)->key;
    (void)name;
    return tc_slice_eq(x, y) || tc_slice_eq_nocase(x, y);
}

const struct tc__table_kind tc__node_kind = {
    .size = sizeof(struct node),
    .texts = TEXTS,
    .text_count = TC_COUNT(TEXTS),
    .name_count = 1,
    .hash = hash_key,
    .same = same_key,
};
_Static_assert(sizeof(struct node) <= TC__ENTRY_BYTES_MAX, "a node fits");

/* "10.0.0.7", "fe80::1": no part of it means anything by itself. */
static bool is_address(struct tc_slice name)
{
    if (tc_slice_find_byte(name, ':') != TC_NPOS) {
        return true;
    }
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c != '.' && (c < '0' || c > '9')) {
            return false;
        }
    }
    return true;
}

struct tc_slice tc_directory_host_label(struct tc_slice name)
{
    size_t dot = tc_slice_find_byte(name, '.');
    return dot == TC_NPOS || is_address(name) ? name : tc_slice_head(name, dot);
}

bool tc_directory_is_same_host(struct tc_slice a, struct tc_slice b)
{
    struct tc_slice shorter = a.len < b.len ? a : b;
    struct tc_slice longer = a.len < b.len ? b : a;
    return tc_slice_eq_nocase(tc_slice_head(longer, shorter.len), shorter) &&
           (longer.len == shorter.len || longer.ptr[shorter.len] == '.');
}

void tc__nodes_moved(struct tc__nodes *n)
{
    n->last = TC_EMPTY;
    n->stood = NULL;
}

static struct node *keep_node(struct tc__nodes *n, struct node *known, const struct node *value,
                              struct tc_sort_pair *order)
{
    tc__nodes_moved(n);
    if (!tc__table_has_room(&n->table)) {
        tc__table_make_room(&n->table, order);
        known = tc__table_find(&n->table, value, 0);
    }
    return tc__table_write(&n->table, known, value);
}

struct tc_slice tc__nodes_learn(struct tc__nodes *n, struct tc_slice name,
                                struct tc_sort_pair *order)
{
    if (name.len == 0 || name.len > TC_SCOPE_TEXT_MAX || tc_slice_eq(name, n->last)) {
        return name;
    }
    struct tc_slice key = tc_directory_host_label(name);
    bool full = key.len < name.len;
    struct node *known = tc__table_find(&n->table, &(struct node){.key = key}, 0);
    if (known == NULL) {
        struct node first = {.key = key, .name = name, .full = full ? name : TC_EMPTY};
        return keep_node(n, NULL, &first, order)->name;
    }
    known->entry.heard = ++n->table.heard;
    if (known->shared || !full ||
        (known->full.len >= name.len && tc_directory_is_same_host(known->full, name))) {
        bool same = tc_slice_eq(known->name, name);
        n->last = same && !known->shared ? known->name : n->last;
        return same || known->shared ? name : known->name;
    }
    struct node next = *known;
    next.shared = known->full.len > 0 && !tc_directory_is_same_host(known->full, name);
    next.full = name;
    known = keep_node(n, known, &next, order);
    return known->shared ? name : known->name;
}

void tc__nodes_learn_address(struct tc__nodes *n, struct tc_slice address, struct tc_slice node,
                             struct tc_sort_pair *order)
{
    if (address.len == 0 || address.len > TC_SCOPE_TEXT_MAX || !is_address(address)) {
        return;
    }
    struct node next = {.key = address, .name = node};
    struct node *known = tc__table_find(&n->table, &next, 0);
    if (known != NULL && tc_slice_eq(known->name, node)) {
        return;
    }
    /* Until somebody said whose it is, an address was a name like any other. */
    next.shared = known != NULL && !tc_slice_eq(known->name, address);
    (void)keep_node(n, known, &next, order);
}

/* Whether somebody says something else than what is known. */
static bool is_news(struct tc_slice known, struct tc_slice said)
{
    return said.len > 0 && said.len <= TC_SCOPE_TEXT_MAX && !tc_slice_eq(known, said);
}

/* Whether the node of which the last place was told is said to stand there again. */
static bool stands_still(const struct node *last, struct tc_slice name, struct tc_slice rack,
                         struct tc_slice zone)
{
    return last != NULL && last->doubts == 0 && tc_slice_eq(last->name, name) &&
           !is_news(last->rack, rack) && !is_news(last->zone, zone);
}

void tc__nodes_stand(struct tc__nodes *n, struct tc_slice name, struct tc_slice rack,
                     struct tc_slice zone)
{
    if (stands_still(n->stood, name, rack, zone)) {
        return;
    }
    struct node key = {.key = tc_directory_host_label(name)};
    struct node *known = tc__table_find(&n->table, &key, 0);
    /* Nothing moves: the event that says so has the name from here. Once there is room it is said
     * again. */
    if (known == NULL || known->shared || !tc__table_has_room(&n->table)) {
        return;
    }
    bool other_rack = is_news(known->rack, rack);
    bool other_zone = is_news(known->zone, zone);
    bool contradicts = (other_rack && known->rack.len > 0) || (other_zone && known->zone.len > 0);
    known->doubts = contradicts ? known->doubts + 1 : 0;
    if ((other_rack || other_zone) && (!contradicts || known->doubts >= DOUBTS_MAX)) {
        struct node next = *known;
        next.rack = other_rack ? rack : known->rack;
        next.zone = other_zone ? zone : known->zone;
        next.doubts = 0;
        (void)tc__table_write(&n->table, known, &next);
    }
    n->stood = tc_slice_eq(known->name, name) ? known : NULL;
}

void tc__nodes_each(const struct tc__nodes *n,
                    void (*take)(void *context, const struct tc_node *node), void *context)
{
    for (uint32_t i = 0; i < n->table.count; i++) {
        const struct node *node = tc__table_at(&n->table, i);
        bool is_own = tc_slice_eq_nocase(node->key, tc_directory_host_label(node->name));
        if (is_own && !node->shared && tc__table_is_current(&n->table, node)) {
            const struct tc_node found = {node->name, node->rack, node->zone};
            take(context, &found);
        }
    }
}
