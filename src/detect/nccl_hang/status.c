/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each rank says of its process groups: the last collective it enqueued, and completed.
 */
#include "detect/nccl_hang/priv.h"

static uint64_t status_hash(uint32_t rank, int64_t pg_id)
{
    return tc_hash_mix(rank + 1, (uint64_t)pg_id);
}

static struct nccl_status *find_status(const struct nccl_hang *st, uint32_t rank, int64_t pg_id)
{
    struct tc_map_iter it = tc_map_find(&st->status_index, status_hash(rank, pg_id));
    for (uint64_t v; (v = tc_map_next(&st->status_index, &it)) != 0;) {
        struct nccl_status *s = &st->statuses[v - 1];
        if (s->rank == rank && s->pg_id == pg_id) {
            return s;
        }
    }
    return NULL;
}

bool tc__nccl_on_status(struct nccl_hang *st, const struct tc_event *ev)
{
    struct nccl_rank *r = tc__nccl_event_rank(st, ev);
    if (r == NULL) {
        return false;
    }
    uint32_t rank = (uint32_t)(r - st->ranks);
    struct nccl_status *s = find_status(st, rank, ev->status.pg_id);
    if (s == NULL) {
        if (st->status_count == st->most.statuses ||
            !tc__quota_admits(&st->quota, st->base.sender, st->status_count, st->most.statuses) ||
            !tc_map_add(&st->status_index, status_hash(rank, ev->status.pg_id),
                        st->status_count + 1, 0)) {
            return false;
        }
        s = &st->statuses[st->status_count++];
    }
    *s = (struct nccl_status){.rank = rank,
                              .pg_id = ev->status.pg_id,
                              .enqueued = ev->status.enqueued,
                              .completed = ev->status.completed,
                              .raw = ev->raw};
    return true;
}

/*
 * pg_id is process-local. Where the rank has no entry that links it to the group
 * (a rank that stopped may have none at all), the id its fellow members use is
 * taken: they made the group in the same order.
 */
const struct nccl_status *tc__nccl_status_of(const struct nccl_hang *st,
                                             const struct nccl_seat *seat)
{
    int64_t pg_id = seat->pg_id;
    if (st->status_count == 0) {
        return NULL;
    }
    uint32_t next = st->groups[seat->group].first_seat;
    for (; pg_id < 0 && next != NCCL_NONE; next = st->seats[next].next) {
        pg_id = st->seats[next].pg_id;
    }
    return pg_id < 0 ? NULL : find_status(st, seat->rank, pg_id);
}
