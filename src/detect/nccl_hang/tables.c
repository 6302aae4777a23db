/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, ranks, groups and seats: tables that are given up together, and whose share of them and of
 * the ring a sender takes. */
#include "detect/nccl_hang/priv.h"

/* Whether the sender of the event may fill a table further, and the names. */
static bool admits(struct nccl_hang *st, size_t count, size_t max)
{
    return tc__quota_admits(&st->quota, st->base.sender, count, max) &&
           tc__quota_admits(&st->quota, st->base.sender, st->names.used, st->most.names_bytes);
}

static uint32_t job_of(struct nccl_hang *st, struct tc_slice job)
{
    for (uint32_t i = 0; i < st->job_count; i++) {
        if (tc_slice_eq(st->jobs[i], job)) {
            return i;
        }
    }
    if (st->job_count == NCCL_JOBS_MAX || !admits(st, st->job_count, NCCL_JOBS_MAX)) {
        return NCCL_NONE;
    }
    tc__quota_take(&st->quota, st->base.sender);
    st->job_last_ns[st->job_count] = TC_TIME_NONE;
    st->jobs[st->job_count] = tc_arena_copy(&st->names, job);
    return tc_arena_ok(&st->names) ? st->job_count++ : NCCL_NONE;
}

static uint32_t rank_of(struct nccl_hang *st, uint32_t job, int32_t rank)
{
    uint64_t hash = tc_hash_mix(job + 1, (uint64_t)(uint32_t)rank);
    struct tc_map_iter it = tc_map_find(&st->rank_index, hash);
    for (uint64_t v; (v = tc_map_next(&st->rank_index, &it)) != 0;) {
        const struct nccl_rank *r = &st->ranks[v - 1];
        if (r->job == job && r->rank == rank) {
            return (uint32_t)(v - 1);
        }
    }
    if (st->rank_count == st->most.ranks || !admits(st, st->rank_count, st->most.ranks) ||
        !tc_map_add(&st->rank_index, hash, st->rank_count + 1, 0)) {
        return NCCL_NONE;
    }
    tc__quota_take(&st->quota, st->base.sender);
    st->ranks[st->rank_count] = (struct nccl_rank){.job = job, .rank = rank};
    return st->rank_count++;
}

uint32_t tc__nccl_group_of(struct nccl_hang *st, struct tc_slice job, uint64_t key,
                           struct tc_slice name, struct tc_slice desc)
{
    struct tc_map_iter it = tc_map_find(&st->group_index, key);
    uint64_t v = tc_map_next(&st->group_index, &it);
    if (v != 0) {
        return (uint32_t)(v - 1);
    }
    uint32_t j = job_of(st, job);
    if (j == NCCL_NONE || !admits(st, st->group_count, NCCL_GROUPS_MAX)) {
        return NCCL_NONE;
    }
    struct nccl_group g = {.key = key,
                           .job = j,
                           .first_seat = NCCL_NONE,
                           .name = tc_arena_copy(&st->names, tc_slice_head(name, NCCL_TEXT_MAX)),
                           .desc = tc_arena_copy(&st->names, tc_slice_head(desc, NCCL_TEXT_MAX))};
    g.plain =
        tc_slice_is_plain(g.name) && tc_slice_is_plain(g.desc) && tc_slice_is_plain(st->jobs[j]);
    if (!tc_arena_ok(&st->names) || st->group_count == NCCL_GROUPS_MAX ||
        !tc_map_add(&st->group_index, key, st->group_count + 1, 0)) {
        return NCCL_NONE;
    }
    struct tc_buf hex = tc_buf_make(g.hex, sizeof g.hex);
    tc_buf_hex(&hex, key, sizeof g.hex);
    tc__quota_take(&st->quota, st->base.sender);
    st->groups[st->group_count] = g;
    return st->group_count++;
}

static uint64_t seat_hash(uint32_t group, int32_t rank)
{
    return tc_hash_mix(group + 1, (uint64_t)(uint32_t)rank);
}

uint32_t tc__nccl_seat(const struct nccl_hang *st, uint32_t group, int32_t rank)
{
    struct tc_map_iter it = tc_map_find(&st->seat_index, seat_hash(group, rank));
    for (uint64_t v; (v = tc_map_next(&st->seat_index, &it)) != 0;) {
        const struct nccl_seat *s = &st->seats[v - 1];
        if (s->group == group && s->number == rank) {
            return (uint32_t)(v - 1);
        }
    }
    return NCCL_NONE;
}

uint32_t tc__nccl_seat_of(struct nccl_hang *st, uint32_t group, int32_t rank)
{
    uint32_t found = tc__nccl_seat(st, group, rank);
    if (found != NCCL_NONE) {
        return found;
    }
    struct nccl_group *g = &st->groups[group];
    uint32_t r = rank_of(st, g->job, rank);
    if (r == NCCL_NONE || st->seat_count == st->most.seats ||
        !admits(st, st->seat_count, st->most.seats) ||
        !tc_map_add(&st->seat_index, seat_hash(group, rank), st->seat_count + 1, 0)) {
        return NCCL_NONE;
    }
    st->seats[st->seat_count] = (struct nccl_seat){
        .key = g->key,
        .place = (uint64_t)g->job << NCCL_JOB_SHIFT | (uint64_t)group << (NCCL_SEQ_BITS + 1),
        .group = group,
        .number = rank,
        .rank = r,
        .owner = (uint16_t)(st->base.sender % TC__SHARES),
        .after = st->seats,
        .next = g->first_seat,
        .pg_id = -1,
        .moved_ns = TC_TIME_NONE,
        .done_max = -1,
        .held_max = -1};
    tc__quota_take(&st->quota, st->base.sender);
    g->first_seat = st->seat_count;
    g->seat_count++;
    return st->seat_count++;
}

struct nccl_rank *tc__nccl_event_rank(struct nccl_hang *st, const struct tc_event *ev)
{
    uint32_t job = job_of(st, ev->scope.job);
    uint32_t r = job == NCCL_NONE ? NCCL_NONE : rank_of(st, job, ev->scope.rank);
    return r == NCCL_NONE ? NULL : &st->ranks[r];
}

/* How many records that find the ring full come between two looks at whose they are. */
#define LOOK_COUNT 4096

/* The sender whose records fill more than half of the ring, when there are others; NCCL_NONE. */
static uint32_t find_presser(const struct nccl_hang *st)
{
    uint32_t counts[TC__SHARES] = {0};
    uint32_t total = 0;
    uint32_t senders = 0;
    uint32_t most = 0;
    uint64_t pos = TC_RING_NONE;
    const struct nccl_record *r = tc_ring_oldest(&st->records, &pos);
    for (; r != NULL; r = tc_ring_follow(&st->records, r, &pos)) {
        uint32_t owner = st->seats[r->seat].owner;
        senders += counts[owner]++ == 0;
        most = counts[owner] > counts[most] ? owner : most;
        total++;
    }
    return senders > 1 && counts[most] > total / 2 ? most : NCCL_NONE;
}

/*
 * The ring is full, and most of it is of the sender of this record: it is not kept, so that it
 * pushes out nothing of others.
 */
bool tc__nccl_is_pressed(struct nccl_hang *st, const struct nccl_seat *s)
{
    if (st->records.size - (size_t)(st->records.head - st->records.tail) >= NCCL_RECORD_BYTES_MAX) {
        return false;
    }
    if (st->looks++ % LOOK_COUNT == 0) {
        st->presser = find_presser(st);
    }
    if (s->owner != st->presser) {
        return false;
    }
    st->base.presser = s->owner;
    st->base.dropped++;
    return true;
}
