/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/window_pod_priv.h"

/* The keys of TC_WINDOW_POD_KEYS. */
enum { BY_UID, BY_PLACE, BY_NAME };

/* Keep the three kinds of names apart in the index of a window without a type. */
enum { SEED_UID = 1, SEED_PLACE = 2, SEED_NAME = 3 };

static bool same_uid(const void *record, const void *key)
{
    const struct tc_window_pod *a = record;
    const struct tc_window_pod *b = key;
    return tc_slice_eq(a->uid, b->uid);
}

static bool same_name(const void *record, const void *key)
{
    const struct tc_window_pod *a = record;
    const struct tc_window_pod *b = key;
    return tc_slice_eq(a->name, b->name) && tc_slice_eq(a->ns, b->ns);
}

static bool same_place(const void *record, const void *key)
{
    const struct tc_window_pod *a = record;
    const struct tc_window_pod *b = key;
    return same_name(a, b) && tc_slice_eq(a->node, b->node);
}

static uint64_t name_hash(const struct tc_window_pod *pod)
{
    return tc_slice_hash(pod->name, tc_slice_hash(pod->ns, SEED_NAME));
}

static struct tc_window_place find_uid(const struct tc_window *w, const struct tc_window_pod *pod)
{
    return tc__window_find(w, &w->index, tc_slice_hash(pod->uid, SEED_UID), same_uid, pod);
}

static struct tc_window_place find_place(const struct tc_window *w, const struct tc_window_pod *pod,
                                         uint64_t name)
{
    uint64_t hash = tc_hash_mix(tc_slice_hash(pod->node, SEED_PLACE), name);
    return tc__window_find(w, &w->index, hash, same_place, pod);
}

static struct tc_window_place find_name(const struct tc_window *w, const struct tc_window_pod *pod,
                                        uint64_t name)
{
    return tc__window_find(w, &w->index, name, same_name, pod);
}

static void *find_by(const struct tc_window *w, unsigned which, const struct tc_window_pod *pod)
{
    if (w->type != NULL) {
        return tc__window_get_by(w, which, pod);
    }
    return which == BY_UID     ? find_uid(w, pod).record
           : which == BY_PLACE ? find_place(w, pod, name_hash(pod)).record
                               : find_name(w, pod, name_hash(pod)).record;
}

static bool agree(struct tc_slice a, struct tc_slice b)
{
    return a.len == 0 || b.len == 0 || tc_slice_eq(a, b);
}

static bool may_be(const struct tc_window_pod *a, const struct tc_window_pod *b)
{
    return a != NULL && agree(a->uid, b->uid) && agree(a->node, b->node) && agree(a->ns, b->ns) &&
           agree(a->name, b->name);
}

void *tc__window_pod_find(const struct tc_window *w, const void *key)
{
    const struct tc_window_pod *pod = key;
    struct tc_window_pod *found = NULL;
    if (pod->uid.len > 0) {
        found = find_by(w, BY_UID, pod);
        if (may_be(found, pod)) {
            return found;
        }
    }
    /* Only a pod whose uid nobody told, here or there, is looked for by its name. */
    if (pod->name.len == 0 || (pod->uid.len > 0 && !w->bare)) {
        return NULL;
    }
    if (pod->node.len > 0) {
        found = find_by(w, BY_PLACE, pod);
        if (may_be(found, pod)) {
            return found;
        }
    }
    found = find_by(w, BY_NAME, pod);
    return may_be(found, pod) ? found : NULL;
}

void tc__window_pod_put(struct tc_window *w, const void *record)
{
    const struct tc_window_pod *pod = record;
    if (w->type != NULL) { /* it was added by its uid */
        w->bare = w->bare || pod->uid.len == 0;
        if (pod->name.len > 0 && pod->node.len > 0) {
            tc__window_index(w, BY_PLACE, pod);
        }
        if (pod->name.len > 0) {
            tc__window_index(w, BY_NAME, pod);
        }
        return;
    }
    if (pod->uid.len > 0) {
        tc__window_put(w, &w->index, find_uid(w, pod), pod);
    } else {
        w->bare = true;
    }
    if (pod->name.len == 0) {
        return;
    }
    uint64_t name = name_hash(pod);
    if (pod->node.len > 0) {
        tc__window_put(w, &w->index, find_place(w, pod, name), pod);
    }
    tc__window_put(w, &w->index, find_name(w, pod, name), pod);
}

static bool same_node(const void *record, const void *key)
{
    const struct tc_window_pod *a = record;
    const struct tc_window_pod *b = key;
    return tc_slice_eq(a->node, b->node);
}

static struct tc_window_place find_node(const struct tc_window *w, const struct tc_window_pod *pod)
{
    return tc__window_find(w, &w->chains, tc_slice_hash(pod->node, 0), same_node, pod);
}

void *tc__window_pod_push(struct tc_window *w, struct tc_arena *scratch, const void *pod,
                          size_t size, const size_t *offsets, size_t offset_count, int64_t now_ns)
{
    const struct tc_window_pod *names = pod;
    struct tc_window_place chain = {0};
    if (names->node.len > 0) {
        chain = find_node(w, names);
    }
    struct tc_window_pod *kept =
        tc__window_push(w, scratch, pod, size, offsets, offset_count, now_ns);
    if (kept == NULL) {
        return NULL;
    }
    tc__window_pod_put(w, kept);
    if (kept->node.len > 0) {
        tc__window_chain(w, chain, kept);
    }
    return kept;
}

void *tc__window_pod_of_node(const struct tc_window *w, struct tc_slice node)
{
    struct tc_window_pod key = {.node = node};
    return find_node(w, &key).record;
}
