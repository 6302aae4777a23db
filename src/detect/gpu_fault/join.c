/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an incident says of another one: two tellings of one GPU under different names, and several
 * GPUs of a node that break together. Only the incidents that began last are looked at.
 */
#include "detect/gpu_fault/priv.h"
#include "detect/words_priv.h"

/* Tellings of one fault are not further apart: a device plugin's log is a few seconds behind. */
#define TELLING_NS (60 * TC_SECOND)
/* GPUs that break together break within moments. */
#define TOGETHER_NS (10 * TC_SECOND)

void tc__gpuf_join_begin(struct gpuf_state *st, const struct gpuf_incident *in)
{
    st->recent[st->recent_count++ % GPUF_RECENT_MAX] = in->head.pos;
}

static size_t recent_count(const struct gpuf_state *st)
{
    return st->recent_count < GPUF_RECENT_MAX ? st->recent_count : GPUF_RECENT_MAX;
}

void tc__gpuf_join_move(struct gpuf_state *st, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < recent_count(st); i++) {
        st->recent[i] = st->recent[i] == from ? to : st->recent[i];
    }
}

/* The i-th of those that are still there and open; NULL. */
static struct gpuf_incident *recent(const struct gpuf_state *st, size_t i)
{
    struct gpuf_incident *in = tc__window_at(&st->incidents, st->recent[i]);
    return in != NULL && in->end == GPUF_OPEN ? in : NULL;
}

static bool is_near(int64_t a_ns, int64_t b_ns, int64_t near_ns)
{
    return tc_time_is_date(a_ns) && tc_time_is_date(b_ns) && tc__apart(a_ns, b_ns) <= near_ns;
}

/* The GPU of an incident, as the directory knows it; NULL. */
static const struct tc_gpu *names_of(const struct gpuf_state *st, const struct gpuf_incident *in)
{
    struct tc_scope scope = tc__gpu_scope(in->node, in->uuid, in->pci, in->index);
    return tc_directory_gpu(st->directory, &scope);
}

static bool is_nowhere(struct tc_slice node)
{
    return node.len == 0 || tc_slice_eq(node, TC__NO_NODE);
}

/* Whether one has what the other lacks, and nothing that they both have differs. */
static bool completes(const struct tc_gpu *a, const struct tc_gpu *b)
{
    bool one_each = (a->uuid.len > 0) != (b->uuid.len > 0) && a->pci.known != b->pci.known &&
                    (a->uuid.len > 0) == b->pci.known;
    return one_each &&
           (is_nowhere(a->node) || is_nowhere(b->node) || tc_slice_eq(a->node, b->node));
}

/* Whether an incident has, by its own names, what a GPU has: then it does not complete it, and
 * need not be looked up. In a storm most of the last incidents are of that sort. */
static bool has_the_same(const struct gpuf_incident *in, const struct tc_gpu *names)
{
    return (in->pci.known && names->pci.known) || (in->uuid.len > 0 && names->uuid.len > 0);
}

static bool has_xid(const struct gpuf_incident *in, int64_t code, int64_t time_ns)
{
    for (size_t i = 0; i < in->fact_count; i++) {
        const struct gpuf_fact *f = &in->facts[i];
        if (f->sort == GPUF_XID && f->code == code &&
            (is_near(f->span.first_ns, time_ns, TELLING_NS) ||
             is_near(f->span.last_ns, time_ns, TELLING_NS))) {
            return true;
        }
    }
    return false;
}

/* What they are called together, by the directory, whose names are copied: it learns. */
static const struct tc_gpu *learn_both(struct gpuf_state *st, const struct tc_gpu *a,
                                       const struct tc_gpu *b, int64_t time_ns)
{
    char node[TC_SCOPE_TEXT_MAX];
    char uuid[TC_SCOPE_TEXT_MAX];
    struct tc_slice of = is_nowhere(a->node) ? b->node : a->node;
    struct tc_slice id = a->uuid.len > 0 ? a->uuid : b->uuid;
    if (of.len > sizeof node || id.len > sizeof uuid) {
        return NULL;
    }
    memcpy(node, of.len == 0 ? "" : of.ptr, of.len);
    memcpy(uuid, id.ptr, id.len);
    struct tc_scope scope = tc__gpu_scope(tc_slice_make(node, of.len), tc_slice_make(uuid, id.len),
                                          a->pci.known ? a->pci : b->pci, -1);
    return tc_directory_join_gpu(st->directory, &scope, time_ns);
}

const struct tc_gpu *tc__gpuf_join_xid(struct gpuf_state *st, const struct tc_event *ev,
                                       const struct tc_gpu *names)
{
    const struct tc_gpu *found = NULL;
    if (ev->kind != TC_EVENT_XID || (names->uuid.len > 0) == names->pci.known) {
        return names;
    }
    for (size_t i = 0; i < recent_count(st); i++) {
        const struct gpuf_incident *in = recent(st, i);
        if (in == NULL || in->gpu == names->id || has_the_same(in, names) ||
            !has_xid(in, ev->xid.code, ev->time_ns)) {
            continue;
        }
        const struct tc_gpu *other = names_of(st, in);
        if (other == NULL || other == names || !completes(names, other)) {
            continue;
        }
        if (found != NULL && found != other) {
            return names; /* it may be either */
        }
        found = other;
    }
    const struct tc_gpu *joined = found == NULL ? NULL : learn_both(st, names, found, ev->time_ns);
    return joined != NULL ? joined : names;
}

const struct tc_gpu *tc__gpuf_join_gone(struct gpuf_state *st, const struct gpuf_slot *slot,
                                        const struct tc_gpu *names)
{
    const struct tc_gpu *found = NULL;
    if (names->pci.known || names->uuid.len == 0) {
        return names;
    }
    for (size_t i = 0; i < recent_count(st); i++) {
        const struct gpuf_incident *in = recent(st, i);
        const struct tc_gpu *other = in == NULL ? NULL : names_of(st, in);
        if (other == NULL || other == names || is_nowhere(other->node) ||
            !completes(names, other) || !is_near(in->last_ns, slot->missed_ns, TELLING_NS)) {
            continue;
        }
        if (found != NULL && found != other) {
            return names;
        }
        found = other;
    }
    const struct tc_gpu *joined =
        found == NULL ? NULL : learn_both(st, names, found, slot->missed_ns);
    return joined != NULL ? joined : names;
}

unsigned tc__gpuf_join_others(const struct gpuf_state *st, const struct gpuf_incident *in)
{
    unsigned count = 0;
    for (size_t i = 0; i < recent_count(st); i++) {
        const struct gpuf_incident *other = recent(st, i);
        if (other != NULL && other != in && !is_nowhere(in->node) && other->gpu != in->gpu &&
            tc_slice_eq(other->node, in->node) &&
            is_near(other->first_ns, in->first_ns, TOGETHER_NS) &&
            tc__gpuf_gravest(other)->kind == tc__gpuf_gravest(in)->kind) {
            count++;
        }
    }
    return count;
}
