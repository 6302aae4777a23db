/* SPDX-License-Identifier: Apache-2.0 */
#include "source/kubernetes/priv.h"

#include <string.h>

static bool flush(struct tc__kube_lines *l, const struct tc__kube_lines_ops *ops)
{
    if (l->ready == 0) {
        return true;
    }
    bool go_on = ops->flush(ops->context, tc_slice_make(l->bytes, l->ready), l->records);
    memmove(l->bytes, l->bytes + l->ready, l->used - l->ready);
    l->used -= l->ready;
    l->ready = 0;
    l->records = 0;
    return go_on;
}

/* Adds to the line that is being read; false: no more is wanted. */
static bool add(struct tc__kube_lines *l, struct tc_slice part,
                const struct tc__kube_lines_ops *ops)
{
    if (l->is_skipping) {
        return true;
    }
    if (part.len > sizeof l->bytes - l->used && !flush(l, ops)) {
        return false;
    }
    if (part.len > sizeof l->bytes - l->used) {
        l->used = l->ready;
        l->is_skipping = true;
        l->lost++;
        return true;
    }
    memcpy(l->bytes + l->used, part.ptr, part.len);
    l->used += part.len;
    return true;
}

/* The line is whole, with its end; false: no more is wanted. */
static bool finish(struct tc__kube_lines *l, const struct tc__kube_lines_ops *ops)
{
    if (l->is_skipping) {
        l->is_skipping = false;
        return true;
    }
    struct tc_slice line =
        tc_slice_trim(tc_slice_make(l->bytes + l->ready, l->used - l->ready - 1));
    enum tc__kube_verdict verdict = line.len == 0 ? TC__KUBE_DROP : ops->judge(ops->context, line);
    if (verdict == TC__KUBE_KEEP) {
        l->ready = l->used;
        l->records++;
    }
    l->used = l->ready;
    return verdict != TC__KUBE_END;
}

bool tc__kube_lines_feed(struct tc__kube_lines *l, struct tc_slice bytes,
                         const struct tc__kube_lines_ops *ops)
{
    bool go_on = true;
    while (go_on && bytes.len > 0) {
        size_t end = tc_slice_find_byte(bytes, '\n');
        size_t len = end == TC_NPOS ? bytes.len : end + 1;
        go_on = add(l, tc_slice_head(bytes, len), ops) && (end == TC_NPOS || finish(l, ops));
        bytes = tc_slice_from(bytes, len);
    }
    return flush(l, ops) && go_on;
}

void tc__kube_lines_begin(struct tc__kube_lines *l)
{
    l->ready = l->used = l->records = l->lost = 0;
    l->is_skipping = false;
}
