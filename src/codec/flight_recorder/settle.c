/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the records of a dump say only together. PyTorch follows what it waits for:
 * of sends and receives issued as one batch that is the record that closes it,
 * "coalesced". The parts before it have its sequence id and stay "scheduled" for
 * ever. Some backends have no such record even for collectives; then only
 * pg_status tells that they completed.
 */
#include "codec/flight_recorder/priv.h"

/*
 * The parts of a batch of transfers take over that it completed. The record that closes
 * it counts as a transfer itself: older versions say that it is none.
 */
static void close_batch(struct tc__fr_reader *r, struct tc__fr_record *closing)
{
    struct tc_ev_nccl *end = &closing->ev;
    for (size_t before = closing->before; before != 0;) {
        struct tc__fr_record *part = &r->dump->records[before - 1];
        struct tc_ev_nccl *ev = &part->ev;
        if (!ev->is_p2p || part->closes_batch || ev->seq != closing->p2p_seq ||
            ev->group_key != end->group_key) {
            break;
        }
        end->is_p2p = true;
        end->seq = closing->p2p_seq;
        if (end->state == TC_NCCL_COMPLETED && ev->state != TC_NCCL_COMPLETED) {
            ev->state = TC_NCCL_COMPLETED;
            ev->started_ns = end->started_ns;
            ev->completed_ns = end->completed_ns;
        }
        before = part->before;
    }
}

void tc__fr_link(struct tc__fr_reader *r, struct tc__fr_group *group, struct tc__fr_status *status,
                 struct tc__fr_record *record)
{
    size_t *last = group != NULL ? &group->last : &r->last_loose;
    record->before = *last;
    *last = (size_t)(record - r->dump->records) + 1;
    if (record->closes_batch) {
        close_batch(r, record);
    }
    if (status != NULL) {
        status->has_p2p |= record->ev.is_p2p;
        status->has_last |= !record->ev.is_p2p && record->ev.seq == status->ev.completed;
    }
}

/*
 * pg_status counts transfers too. Where the dump has none, and has the collective that is said
 * to be the last completed one, it tells of collectives: those up to it have completed, because
 * a group completes them in order.
 */
void tc__fr_settle(struct tc__fr_reader *r)
{
    for (size_t i = 0; r->dump->status_count > 0 && i < r->dump->record_count; i++) {
        struct tc__fr_record *record = &r->dump->records[i];
        if (record->ev.state != TC_NCCL_SCHEDULED) {
            continue;
        }
        const struct tc__fr_status *status = tc__fr_status_of(r, record);
        if (status != NULL && status->has_last && !status->has_p2p &&
            record->ev.seq <= status->ev.completed) {
            record->ev.state = TC_NCCL_COMPLETED;
        }
    }
}
