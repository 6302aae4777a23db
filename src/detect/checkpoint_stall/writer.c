/* SPDX-License-Identifier: Apache-2.0 */
/* Which begins and ends belong to one checkpoint of a writer. */
#include "detect/checkpoint_stall/priv.h"

/* A begin of the same checkpoint within this is the same begin, told by another clock. */
#define AGAIN_NS (60 * TC_SECOND)

bool tc__ckpt_ends(const struct ckpt_writer *w, int64_t step)
{
    return tc__ckpt_same_step(w->step, step) || step > w->step;
}

bool tc__ckpt_is_next(const struct ckpt_writer *old, const struct ckpt_writer *w)
{
    if (old->begin_ns != w->begin_ns) {
        bool again = old->step == w->step && old->end_ns == TC_TIME_NONE &&
                     w->begin_ns - old->begin_ns <= AGAIN_NS; /* said again, by another */
        return old->begin_ns < w->begin_ns && !again;
    }
    if (old->step != w->step) {
        return old->step < w->step;
    }
    int order = tc_slice_cmp(old->path, w->path);
    order = order == 0 ? tc_slice_cmp(old->uid, w->uid) : order;
    return (order == 0 ? tc_slice_cmp(old->container, w->container) : order) < 0;
}
