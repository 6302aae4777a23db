/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/window_pod_priv.h"

/* The keys of TC_WINDOW_POD_KEYS. */
enum { BY_UID, BY_PLACE, BY_NAME };

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
        found = tc__window_get_by(w, BY_UID, pod);
        if (may_be(found, pod)) {
            return found;
        }
    }
    /* Only a pod whose uid nobody told, here or there, is looked for by its name. */
    if (pod->name.len == 0 || (pod->uid.len > 0 && !w->bare)) {
        return NULL;
    }
    if (pod->node.len > 0) {
        found = tc__window_get_by(w, BY_PLACE, pod);
        if (may_be(found, pod)) {
            return found;
        }
    }
    found = tc__window_get_by(w, BY_NAME, pod);
    return may_be(found, pod) ? found : NULL;
}

void tc__window_pod_put(struct tc_window *w, const void *record)
{
    const struct tc_window_pod *pod = record;
    w->bare = w->bare || pod->uid.len == 0;
    if (pod->name.len > 0 && pod->node.len > 0) {
        tc__window_index(w, BY_PLACE, pod);
    }
    if (pod->name.len > 0) {
        tc__window_index(w, BY_NAME, pod);
    }
}

void *tc__window_pod_of_node(const struct tc_window *w, struct tc_slice node)
{
    struct tc_window_pod key = {.node = node};
    return tc__window_newest(w, &key);
}
