/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scrapes of a node: which GPUs an exporter or an inventory has, and has no more. Samples of a
 * node within one second are one scrape. A scrape is judged when the next one begins.
 */
#include "detect/gpu_fault/priv.h"
#include "detect/words_priv.h"

#define RING_BYTES ((size_t)16 << 20)
#define SCRAPE_NS TC_SECOND
/* A list of fewer GPUs says too little about one that is not in it. */
#define LISTED_MIN 4
/* Rare scrapes: so many missed ones are enough where they are far apart. */
#define RARE_SCRAPES 2

static const struct tc_record_type NODE = {
    .size = sizeof(struct gpuf_node),
    .texts = {TC_TEXT(struct gpuf_node, node)},
    .keys = {{TC_FIELD(struct gpuf_node, node)}},
};

bool tc__gpuf_nodes_init(struct gpuf_state *st)
{
    return tc__window_open(&st->nodes, &st->base, &NODE, RING_BYTES, TC_KEPT_ALWAYS);
}

/* NULL when none is known. */
static struct gpuf_node *known_node(const struct gpuf_state *st, struct tc_slice name)
{
    struct gpuf_node key; /* some kilobytes, of which only the name is looked at */
    key.node = name;
    return tc__window_get(&st->nodes, &key);
}

/* The same, made when there is none. NULL when scratch is full. */
static struct gpuf_node *node_of(struct gpuf_state *st, struct tc_slice name)
{
    struct gpuf_node *known = known_node(st, name);
    if (known != NULL) {
        return known;
    }
    struct gpuf_node fresh = {.node = name, .load_ns = TC_TIME_NONE, .scrape_ns = TC_TIME_NONE};
    return tc__window_add(&st->nodes, &fresh, st->base.now_ns);
}

tc_status tc__gpuf_on_load(struct gpuf_state *st, const struct tc_event *ev)
{
    struct gpuf_node *node = node_of(st, ev->scope.node.len > 0 ? ev->scope.node : TC__NO_NODE);
    if (node == NULL) {
        return TC_E_NOMEM;
    }
    if (ev->time_ns > node->load_ns) {
        node->load_ns = ev->time_ns;
        node->load_raw = ev->raw;
    }
    return TC_OK;
}

/* The place of a GPU among those of its node, a new one when `make`; NULL when there is none. */
static struct gpuf_slot *slot_of(struct gpuf_node *node, const struct tc_gpu *names, bool make)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        for (unsigned k = 0; k < TC_GPU_IDS && tc_gpu_id(names, k) != 0; k++) {
            if (node->slots[i].gpu == tc_gpu_id(names, k)) {
                return &node->slots[i];
            }
        }
    }
    if (!make || node->slot_count == GPUF_SLOTS_MAX) {
        return NULL;
    }
    struct gpuf_slot *slot = &node->slots[node->slot_count++];
    *slot = (struct gpuf_slot){.gpu = names->id, .first_ns = TC_TIME_NONE, .last_ns = TC_TIME_NONE};
    return slot;
}

void tc__gpuf_on_release(const struct gpuf_state *st, const struct tc_gpu *names)
{
    struct gpuf_node *node = known_node(st, names->node);
    struct gpuf_slot *slot = node == NULL ? NULL : slot_of(node, names, false);
    if (slot != NULL) {
        slot->released = true;
    }
}

static unsigned count_bits(uint32_t bits)
{
    return (unsigned)__builtin_popcount(bits);
}

/* The GPU is gone: that is a fact like others. */
static tc_status note_gone(struct gpuf_state *st, const struct gpuf_node *node,
                           struct gpuf_slot *slot, const struct tc_sink *out)
{
    struct tc_scope scope = tc__gpu_scope(node->node, tc_slice_make(slot->uuid, slot->uuid_len),
                                          slot->pci, slot->index);
    const struct tc_gpu *names = tc_directory_gpu(st->directory, &scope);
    if (names == NULL) {
        st->base.ignored++;
        return TC_OK;
    }
    names = tc__gpuf_join_gone(st, slot, names);
    struct gpuf_fact fact = {.sort = GPUF_ABSENT,
                             .kind = tc__gpuf_sort_kind(GPUF_ABSENT),
                             .pid = -1,
                             .missed = slot->missed,
                             .sampled_ns = slot->last_ns,
                             .sampled_raw = slot->last_raw};
    struct gpuf_news n = {.names = names,
                          .gpu = tc__gpuf_gpu(st, names),
                          .time_ns = slot->missed_ns,
                          .raw = slot->missed_raw,
                          .fact = &fact};
    slot->told = true;
    return n.gpu == NULL ? TC_E_NOMEM : tc__gpuf_note(st, &n, out);
}

/* Another board is in its place: by address, or where that is not known a new one of its number;
 * where that is not known either, any that is new. */
static bool is_replaced(const struct gpuf_node *node, const struct gpuf_slot *slot)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        const struct gpuf_slot *s = &node->slots[i];
        bool by_pci = s->pci.known && slot->pci.known;
        if ((node->present & UINT32_C(1) << i) != 0 && s->first_ns > slot->last_ns &&
            (by_pci ? tc_bdf_eq(s->pci, slot->pci) : s->index == slot->index)) {
            return true;
        }
    }
    return false;
}

/* A GPU that is not in the scrape. */
static tc_status miss(struct gpuf_state *st, struct gpuf_node *node, struct gpuf_slot *slot,
                      const struct tc_sink *out)
{
    unsigned lost = count_bits(slot->companions & ~node->present) + 1;
    unsigned all = count_bits(slot->companions) + 1;
    bool others = (slot->companions & node->present) != 0;
    if (slot->released || slot->told || !others || (lost > 1 && 2 * lost >= all) ||
        is_replaced(node, slot)) {
        return TC_OK;
    }
    if (slot->missed++ == 0) {
        slot->missed_ns = node->scrape_ns;
        slot->missed_raw = node->scrape_raw;
    }
    int64_t absent_ns = node->scrape_ns - slot->last_ns;
    bool complete = node->listed_count == 1 || node->listed_count == count_bits(node->present);
    bool listed = slot->listed && complete && lost == 1 && all >= LISTED_MIN;
    bool often = slot->missed >= st->scrapes && absent_ns / st->scrapes >= slot->interval_ns;
    bool rare = slot->missed >= RARE_SCRAPES && absent_ns / RARE_SCRAPES >= slot->interval_ns &&
                absent_ns / st->scrapes >= st->absent_ns / RARE_SCRAPES;
    bool gone = absent_ns >= st->absent_ns && (often || rare || listed);
    return gone ? note_gone(st, node, slot, out) : TC_OK;
}

static tc_status end_scrape(struct gpuf_state *st, struct gpuf_node *node,
                            const struct tc_sink *out)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        struct gpuf_slot *slot = &node->slots[i];
        uint32_t bit = UINT32_C(1) << i;
        if ((node->present & bit) != 0) {
            slot->companions = node->present & ~bit;
        } else {
            TC_TRY(miss(st, node, slot, out));
        }
    }
    node->present = 0;
    return TC_OK;
}

tc_status tc__gpuf_end_scrapes(struct gpuf_state *st, const struct tc_sink *out)
{
    uint64_t pos = 0;
    struct gpuf_node *node = tc_ring_oldest(&st->nodes.ring, &pos);
    for (; node != NULL; node = tc_ring_next(&st->nodes.ring, pos, &pos)) {
        if (node->present != 0) {
            TC_TRY(end_scrape(st, node, out));
        }
    }
    return TC_OK;
}

/* nvidia-smi lists all GPUs of the node. */
static bool is_listed(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_GPU_INVENTORY && tc_slice_eq(ev->fault.fault, TC_LIT("listed"));
}

/* The GPU is in the scrape that is being read. */
static void see(struct gpuf_node *node, struct gpuf_slot *slot, const struct tc_event *ev,
                const struct tc_gpu *names)
{
    bool same = slot->last_ns == ev->time_ns;
    if (slot->last_ns != TC_TIME_NONE && slot->last_ns < node->scrape_ns) {
        slot->interval_ns = node->scrape_ns - slot->last_ns;
    }
    slot->first_ns = slot->first_ns == TC_TIME_NONE ? ev->time_ns : slot->first_ns;
    slot->last_raw = same && !tc__raw_before(ev->raw, slot->last_raw) ? slot->last_raw : ev->raw;
    slot->last_ns = ev->time_ns;
    slot->listed = slot->listed && same;
    slot->missed = 0;
    slot->told = false;
    slot->released = false;
    slot->pci = names->pci;
    slot->index = names->index;
    slot->uuid_len = tc__text_keep(slot->uuid, GPUF_UUID_MAX,
                                   names->uuid.len <= GPUF_UUID_MAX ? names->uuid : TC_EMPTY);
    node->present |= UINT32_C(1) << (slot - node->slots);
}

static tc_status count_sample(struct gpuf_state *st, struct gpuf_node *node,
                              const struct tc_event *ev, const struct tc_gpu *names,
                              const struct tc_sink *out)
{
    struct gpuf_slot *slot = slot_of(node, names, true);
    if (slot == NULL || ev->time_ns < node->scrape_ns) {
        st->base.late += slot != NULL ? 1 : 0;
        return TC_OK;
    }
    bool begins = node->scrape_ns == TC_TIME_NONE || ev->time_ns - node->scrape_ns >= SCRAPE_NS;
    if (begins) {
        TC_TRY(end_scrape(st, node, out));
        node->scrape_ns = ev->time_ns;
        node->scrape_raw = ev->raw;
        node->listed_count = 0;
    } else if (ev->time_ns == node->scrape_ns && tc__raw_before(ev->raw, node->scrape_raw)) {
        node->scrape_raw = ev->raw;
    }
    see(node, slot, ev, names);
    if (is_listed(ev)) {
        slot->listed = true;
        node->listed_count = ev->fault.count;
    }
    return TC_OK;
}

/* What the sample ends: an incident from before the driver was loaded, or that it was gone. */
static enum gpuf_end end_by(const struct gpuf_node *node, const struct gpuf_incident *in,
                            const struct tc_event *ev)
{
    bool dated = tc_time_is_date(in->last_ns) == tc_time_is_date(ev->time_ns);
    if (!dated || in->end != GPUF_OPEN || ev->time_ns <= in->last_ns) {
        return GPUF_OPEN;
    }
    if (tc__gpuf_gravest(in)->kind == GPUF_GONE) {
        return GPUF_RETURNED;
    }
    bool loaded = node != NULL && node->load_ns != TC_TIME_NONE && node->load_ns > in->last_ns &&
                  node->load_ns <= ev->time_ns;
    return loaded ? GPUF_ANSWERED : GPUF_OPEN;
}

tc_status tc__gpuf_on_sample(struct gpuf_state *st, const struct tc_event *ev,
                             const struct tc_gpu *names, const struct tc_sink *out)
{
    bool counts = ev->kind != TC_EVENT_DRIVER_FAULT && ev->scope.rank < 0 && names->node.len > 0 &&
                  tc_time_is_date(ev->time_ns);
    struct gpuf_node *node = counts ? node_of(st, names->node) : known_node(st, names->node);
    if (counts && node == NULL) {
        return TC_E_NOMEM;
    }
    /* The kernel names a GPU when it fails, too. */
    const struct gpuf_gpu *gpu =
        ev->kind == TC_EVENT_GPU_INVENTORY ? NULL : tc__gpuf_known(st, names);
    struct gpuf_incident *in = gpu == NULL ? NULL : tc__gpuf_incident_of(st, gpu);
    enum gpuf_end end = in == NULL ? GPUF_OPEN : end_by(node, in, ev);
    if (end != GPUF_OPEN) {
        in->load_ns = end == GPUF_ANSWERED ? node->load_ns : TC_TIME_NONE;
        in->load_raw = end == GPUF_ANSWERED ? node->load_raw : (struct tc_raw){0};
        TC_TRY(tc__gpuf_end(st, in, end, ev, out));
    }
    return counts ? count_sample(st, node, ev, names, out) : TC_OK;
}
