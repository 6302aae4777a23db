/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods in a window, found by uid, by name on a node and by name. Each of these
 * leads to one record only, the newest, so many pods of one name cost what one
 * costs. Not every event names the node or the uid of its pod.
 */
#ifndef TC_DETECT_WINDOW_POD_PRIV_H
#define TC_DETECT_WINDOW_POD_PRIV_H

#include "detect/window_priv.h"

/* What a record of a pod begins with; "" is not known. */
struct tc_window_pod {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice name;
    struct tc_slice uid;
};

/* True when `type` begins like struct tc_window_pod, so that one may be read as the other. */
#define TC_WINDOW_IS_POD(type)                                       \
    (offsetof(type, head) == offsetof(struct tc_window_pod, head) && \
     offsetof(type, node) == offsetof(struct tc_window_pod, node) && \
     offsetof(type, ns) == offsetof(struct tc_window_pod, ns) &&     \
     offsetof(type, name) == offsetof(struct tc_window_pod, name) && \
     offsetof(type, uid) == offsetof(struct tc_window_pod, uid))

/* The keys of a record type of pods, in the order in which tc__window_pod_find asks for them. */
#define TC_WINDOW_POD_KEYS(type)                                                                 \
    {                                                                                            \
        {TC_FIELD(type, uid)}, {TC_FIELD(type, node), TC_FIELD(type, ns), TC_FIELD(type, name)}, \
            {TC_FIELD(type, ns), TC_FIELD(type, name)},                                          \
    }

/*
 * The newest record that is about the same pod: what is not known is no
 * difference, but a name must be known, or the uid. NULL when there is none.
 */
void *tc__window_pod_find(const struct tc_window *w, const void *pod);
/* Makes its names lead to a pod that was just added by tc__window_add. */
void tc__window_pod_put(struct tc_window *w, const void *pod);

/* The newest pod of a node, from which w->chains leads to the others; NULL when there is none. */
void *tc__window_pod_of_node(const struct tc_window *w, struct tc_slice node);

#endif
