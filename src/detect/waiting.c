/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/waiting_priv.h"

#include "base/assert.h"

bool tc__waiting_init(struct tc_waiting *due, struct tc_arena *arena, size_t max)
{
    *due = (struct tc_waiting){.max = max, .next_ns = TC_WAITING_NEVER};
    due->names = tc_new(arena, uint64_t, max);
    return due->names != NULL;
}

/* Forgets the names of records that have left the window. */
static void sweep(struct tc_waiting *due, const struct tc_window *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < due->count; i++) {
        if (tc__window_at(w, due->names[i]) != NULL) {
            due->names[kept++] = due->names[i];
        }
    }
    due->count = kept;
}

void tc__waiting_add(struct tc_waiting *due, const struct tc_window *w, const void *record,
                     int64_t due_ns, tc_waiting_before_fn before)
{
    if (due->count == due->max && !due->running) {
        sweep(due, w);
    }
    TC_ASSERT(due->count < due->max);
    size_t at = due->count++;
    /* Records start to wait in the order of time, mostly: the place is near the end. */
    for (; at > 0 && !due->running; at--) {
        const void *other = tc__window_at(w, due->names[at - 1]);
        if (other != NULL && !before(record, other)) {
            break;
        }
        due->names[at] = due->names[at - 1];
    }
    due->names[at] = ((const struct tc_window_head *)record)->pos;
    tc__waiting_hasten(due, due_ns);
}

tc_status tc__waiting_run(struct tc_waiting *due, const struct tc_window *w, int64_t now_ns,
                          tc_waiting_visit_fn visit, void *state, const struct tc_sink *out)
{
    if (now_ns < due->next_ns) {
        return TC_OK;
    }
    tc_status status = TC_OK;
    sweep(due, w);
    size_t kept = 0;
    size_t count = due->count;
    due->next_ns = TC_WAITING_NEVER;
    due->running = true;
    for (size_t i = 0; i < count; i++) {
        void *record = tc__window_at(w, due->names[i]);
        int64_t next_ns = TC_WAITING_NEVER;
        if (status == TC_OK) {
            status = visit(state, record, now_ns, out, &next_ns);
        }
        next_ns = status == TC_OK ? next_ns : now_ns;
        if (next_ns != TC_WAITING_NEVER) {
            due->names[kept++] = due->names[i];
            tc__waiting_hasten(due, next_ns);
        }
    }
    for (size_t i = count; i < due->count; i++) {
        due->names[kept++] = due->names[i];
    }
    due->count = kept;
    due->running = false;
    return status;
}
