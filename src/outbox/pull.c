/* SPDX-License-Identifier: Apache-2.0 */
/* The output that somebody else takes: the same cursor in the log as the others have. */
#include "outbox/outbox_priv.h"

/* Reads the log from the cursor on. Holds `swap`, so that the log is not exchanged meanwhile. */
static tc_status read_log(struct tc_outbox *o, size_t max,
                          tc_status (*take)(void *context, struct tc_slice json, int64_t taken_ns),
                          void *context, struct tc_outbox_place *place)
{
    (void)tc__outbox_drop(o, TC__OUTPUT_PULL, &o->pull);
    (void)pthread_mutex_lock(&o->lock);
    struct tc__out out = o->out[TC__OUTPUT_PULL];
    uint64_t end = o->log_end;
    *place = (struct tc_outbox_place){.next = out.next, .at = out.at, .turn = o->log_turn};
    (void)pthread_mutex_unlock(&o->lock);
    struct tc__record r;
    tc_status status = TC_OK;
    tc__outbox_scan_begin(&o->pull, o->log.fd, out.at, end);
    while (out.on && place->count < max && tc__outbox_scan_next(&o->pull, &r, &status)) {
        if (r.kind != TC__RECORD_VERDICT || r.number < out.next) {
            continue;
        }
        TC_TRY(take(context, r.json, r.taken_ns));
        place->count++;
        place->bytes += r.len;
        place->next = r.number + 1;
        place->at = r.at + r.len;
    }
    if (status == TC_OK && place->count == 0 && out.pending > 0) {
        tc__outbox_give_up(o, TC__OUTPUT_PULL, end);
    }
    return status;
}

tc_status tc_outbox_pull(struct tc_outbox *o, size_t max,
                         tc_status (*take)(void *context, struct tc_slice json, int64_t taken_ns),
                         void *context, struct tc_outbox_place *out_place)
{
    *out_place = (struct tc_outbox_place){0};
    if (o->pull.buf == NULL) {
        TC_TRY(tc__outbox_scan_init(&o->pull));
    }
    (void)pthread_mutex_lock(&o->swap);
    tc_status status = read_log(o, max, take, context, out_place);
    (void)pthread_mutex_unlock(&o->swap);
    return status;
}

void tc_outbox_pulled(struct tc_outbox *o, const struct tc_outbox_place *place)
{
    if (place->count == 0) {
        return;
    }
    (void)pthread_mutex_lock(&o->lock);
    /* After a compaction the offset means nothing; the one of that is before them. */
    uint64_t at = o->log_turn == place->turn ? place->at : o->out[TC__OUTPUT_PULL].at;
    tc__outbox_advance(o, TC__OUTPUT_PULL, place->next, at, place->count, place->bytes);
    (void)pthread_cond_signal(&o->work);
    (void)pthread_mutex_unlock(&o->lock);
}
