/* SPDX-License-Identifier: Apache-2.0 */
/* Who is compared with whom: jobs, ranks, lanes, their seats, and the cohorts that are open. */
#include "detect/straggler/priv.h"

#include <string.h>

/* A cohort waits this long for members that have not been heard of. */
#define LAG_NS (60 * TC_SECOND)
/* Once so many cohorts had every seat of a lane, that is taken for all of its members. */
#define SETTLED 4
/* Room for ranks that a lane without a list of members has not heard of. */
#define ROOM_NEW 64
#define ROOM_OLD 8
/* Cohorts that are looked at for one that grew and lies behind newer ones. */
#define BEHIND_MAX 1024
/* A sequence id that was judged so long ago starts again: the job was restarted. */
#define RESTART_NS (60 * TC_SECOND)
/* A checkpoint whose end was lost does not excuse for ever. */
#define CHECKPOINT_MAX_NS (600 * TC_SECOND)
#define COHORT_BYTES_MIN (8 + sizeof(struct strag_cohort) + 2 * sizeof(struct strag_slot))

static void reset(struct straggler *st)
{
    tc_arena_reset(&st->text);
    tc_map_reset(&st->name_index);
    tc_map_reset(&st->job_index);
    tc_map_reset(&st->rank_index);
    tc_map_reset(&st->lane_index);
    tc_map_reset(&st->seat_index);
    tc_map_reset(&st->cohort_index);
    tc_ring_reset(&st->cohorts);
    st->name_count = 0;
    st->job_count = 0;
    st->rank_count = 0;
    st->lane_count = 0;
    st->seat_count = 0;
    st->culprit_count = 0;
    tc__quota_reset(&st->quota);
}

static void set_bounds(struct straggler *st)
{
    const struct tc_detector_base *base = &st->base;
    st->most = (struct strag_most){
        .jobs = tc_detector_room(base, STRAG_JOBS_MAX),
        .ranks = tc_detector_room(base, STRAG_RANKS_MAX),
        .lanes = tc_detector_room(base, STRAG_LANES_MAX),
        .seats = tc_detector_room(base, STRAG_SEATS_MAX),
        .names = tc_detector_room(base, STRAG_NAMES_MAX),
        .names_bytes = tc_detector_room(base, STRAG_NAMES_BYTES),
        .ring_bytes = tc_detector_room(base, STRAG_RING_BYTES),
        .slots = (uint32_t)tc_detector_room(base, STRAG_SLOTS_MAX),
        .due = tc_detector_room(base, STRAG_DUE_MAX),
        .hot = tc_detector_room(base, STRAG_HOT_MAX),
    };
}

bool tc__strag_init(struct straggler *st)
{
    set_bounds(st);
    struct tc_arena *arena = st->base.arena;
    unsigned char *text = tc_arena_alloc(arena, st->most.names_bytes, 1, 16);
    st->names = tc_new(arena, struct tc_slice, st->most.names);
    st->jobs = tc_new(arena, struct strag_job, st->most.jobs);
    st->ranks = tc_new(arena, struct strag_rank, st->most.ranks);
    st->lanes = tc_new(arena, struct strag_lane, st->most.lanes);
    st->seats = tc_new(arena, struct strag_seat, st->most.seats);
    st->pairs = tc_new(arena, struct tc_sort_pair, (size_t)2 * st->most.slots);
    st->due = st->base.lag_ns > 0 ? tc_new(arena, struct tc_sort_pair, 2 * st->most.due) : NULL;
    st->culprits = tc_new(arena, struct strag_culprit, STRAG_CULPRITS_MAX);
    st->hot = tc_new(arena, struct strag_hot, st->most.hot);
    bool ok = tc_map_init(&st->name_index, arena, st->most.names) &&
              tc_map_init(&st->job_index, arena, st->most.jobs) &&
              tc_map_init(&st->rank_index, arena, st->most.ranks) &&
              tc_map_init(&st->lane_index, arena, st->most.lanes) &&
              tc_map_init(&st->seat_index, arena, st->most.seats) &&
              tc_ring_init_growing(&st->cohorts, arena, st->most.ring_bytes) &&
              tc_map_init(&st->cohort_index, arena, st->most.ring_bytes / COHORT_BYTES_MIN);
    if (!ok || !tc_arena_ok(arena)) {
        return false;
    }
    tc_arena_init_zeroed(&st->text, "straggler names", text, st->most.names_bytes);
    return true;
}

/* A table is full: everything starts anew, unless that is the work of who asks for more. */
static uint32_t full(struct straggler *st)
{
    if (tc__quota_refused(&st->quota)) {
        st->base.presser = st->base.sender;
        st->base.dropped++;
        return STRAG_NONE;
    }
    st->base.dropped += st->seat_count;
    reset(st);
    return STRAG_NONE;
}

/* Whether the sender of the event may make another entry of a table. */
static bool admits(struct straggler *st, size_t count, size_t max)
{
    return count < max && tc__quota_admits(&st->quota, st->base.sender, count, max);
}

/* One copy of every name; empty when there is no room for another. */
static struct tc_slice intern(struct straggler *st, struct tc_slice s)
{
    if (s.len == 0) {
        return TC_EMPTY;
    }
    struct tc_map_iter it = tc_map_find(&st->name_index, tc_slice_hash(s, 0));
    for (uint64_t at; (at = tc_map_next(&st->name_index, &it)) != 0;) {
        if (tc_slice_eq(st->names[at - 1], s)) {
            return st->names[at - 1];
        }
    }
    if (!admits(st, st->name_count, st->most.names) ||
        !tc__quota_admits(&st->quota, st->base.sender, st->text.used, st->text.size) ||
        st->text.size - st->text.used < s.len + 64) {
        st->base.dropped++;
        return TC_EMPTY;
    }
    tc__quota_take(&st->quota, st->base.sender);
    st->names[st->name_count++] = tc_arena_copy(&st->text, s);
    (void)tc_map_add_found(&st->name_index, &it, st->name_count, 0);
    return st->names[st->name_count - 1];
}

uint32_t tc__strag_job(struct straggler *st, struct tc_slice name)
{
    struct tc_map_iter it = tc_map_find(&st->job_index, tc_slice_hash(name, 1));
    for (uint64_t at; (at = tc_map_next(&st->job_index, &it)) != 0;) {
        if (tc_slice_eq(st->jobs[at - 1].name, name)) {
            return (uint32_t)at - 1;
        }
    }
    bool admitted = admits(st, st->job_count, st->most.jobs);
    struct tc_slice kept = admitted ? intern(st, name) : TC_EMPTY;
    if (kept.len != name.len || !admitted) {
        return full(st);
    }
    tc__quota_take(&st->quota, st->base.sender);
    st->jobs[st->job_count] = (struct strag_job){.name = kept,
                                                 .step = -1,
                                                 .step_ns = TC_TIME_NONE,
                                                 .ckpt_begin_ns = TC_TIME_NONE,
                                                 .ckpt_end_ns = TC_TIME_NONE};
    (void)tc_map_add_found(&st->job_index, &it, ++st->job_count, 0);
    return st->job_count - 1;
}

uint32_t tc__strag_rank(struct straggler *st, uint32_t job, int32_t rank)
{
    uint64_t hash = tc_hash_mix(job, (uint64_t)rank);
    struct tc_map_iter it = tc_map_find(&st->rank_index, hash);
    for (uint64_t at; (at = tc_map_next(&st->rank_index, &it)) != 0;) {
        const struct strag_rank *r = &st->ranks[at - 1];
        if (r->job == job && r->scope.rank == rank) {
            return (uint32_t)at - 1;
        }
    }
    if (!admits(st, st->rank_count, st->most.ranks)) {
        return full(st);
    }
    tc__quota_take(&st->quota, st->base.sender);
    struct strag_rank *r = &st->ranks[st->rank_count];
    *r = (struct strag_rank){
        .scope = TC_SCOPE_NONE, .job = job, .culprit = STRAG_NONE, .step_ns = TC_TIME_NONE};
    r->scope.rank = rank;
    r->scope.job = st->jobs[job].name;
    (void)tc_map_add_found(&st->rank_index, &it, ++st->rank_count, 0);
    return st->rank_count - 1;
}

uint32_t tc__strag_lane(struct straggler *st, uint32_t job, enum strag_basis basis, uint64_t key,
                        struct tc_slice group)
{
    uint64_t hash = tc_hash_mix(tc_hash_mix(key, job), (uint64_t)basis);
    struct tc_map_iter it = tc_map_find(&st->lane_index, hash);
    for (uint64_t at; (at = tc_map_next(&st->lane_index, &it)) != 0;) {
        const struct strag_lane *lane = &st->lanes[at - 1];
        if (lane->key == key && lane->job == job && lane->basis == basis) {
            return (uint32_t)at - 1;
        }
    }
    if (!admits(st, st->lane_count, st->most.lanes)) {
        return full(st);
    }
    tc__quota_take(&st->quota, st->base.sender);
    st->lanes[st->lane_count] = (struct strag_lane){
        .key = key,
        .job = job,
        .basis = (uint8_t)basis,
        .first_seat = STRAG_NONE,
        .closed_seq = -1,
        .closed_ns = INT64_MIN,
        .opened_ns = INT64_MIN,
        .group = intern(st, group),
    };
    (void)tc_map_add_found(&st->lane_index, &it, ++st->lane_count, 0);
    return st->lane_count - 1;
}

uint32_t tc__strag_seat(struct straggler *st, uint32_t lane, uint32_t rank, uint32_t peer)
{
    uint64_t hash = tc_hash_mix(tc_hash_mix(lane, rank), peer);
    struct tc_map_iter it = tc_map_find(&st->seat_index, hash);
    for (uint64_t at; (at = tc_map_next(&st->seat_index, &it)) != 0;) {
        const struct strag_seat *s = &st->seats[at - 1];
        if (s->lane == lane && s->rank == rank && s->peer == peer) {
            return (uint32_t)at - 1;
        }
    }
    if (!admits(st, st->seat_count, st->most.seats)) {
        return full(st);
    }
    tc__quota_take(&st->quota, st->base.sender);
    struct strag_lane *l = &st->lanes[lane];
    st->seats[st->seat_count] = (struct strag_seat){
        .lane = lane,
        .rank = rank,
        .peer = peer,
        .slot = l->seat_count++,
        .next = l->first_seat,
        .culprit = STRAG_NONE,
        .done_ns = {INT64_MIN, INT64_MIN},
        .created_ns = INT64_MIN,
        .held_ns = st->ranks[rank].held_ns,
    };
    l->first_seat = st->seat_count;
    l->whole = 0;
    (void)tc_map_add_found(&st->seat_index, &it, ++st->seat_count, 0);
    return st->seat_count - 1;
}

static void learn(struct straggler *st, struct tc_slice *io, struct tc_slice news)
{
    if (news.len > 0 && !tc_slice_eq(*io, news)) {
        *io = intern(st, news);
    }
}

void tc__strag_place(struct straggler *st, struct strag_rank *rank, const struct tc_scope *scope)
{
    struct tc_scope *known = &rank->scope;
    learn(st, &known->node, scope->node);
    learn(st, &known->ns, scope->ns);
    learn(st, &known->pod, scope->pod);
    learn(st, &known->pod_uid, scope->pod_uid);
    learn(st, &known->container, scope->container);
    learn(st, &known->gpu_uuid, scope->gpu_uuid);
    known->pci = scope->pci.known ? scope->pci : known->pci;
    known->gpu_index = scope->gpu_index >= 0 ? scope->gpu_index : known->gpu_index;
}

/* Judges a cohort that leaves the ring, and before it what is older and has moved behind it. */
static void judge_in_turn(struct straggler *st, struct strag_cohort *c)
{
    const struct strag_lane *lane = &st->lanes[c->lane];
    while (lane->moved > (c->moved ? 1U : 0U)) {
        struct strag_cohort *first = c;
        uint64_t pos = c->pos;
        struct strag_cohort *o = c;
        for (unsigned i = 0; o != NULL && i < BEHIND_MAX; i++) {
            bool older = o->lane == c->lane && o->moved && !o->closed && o->seq < first->seq;
            first = older ? o : first;
            o = tc_ring_follow(&st->cohorts, o, &pos);
        }
        if (first == c) {
            break;
        }
        tc__strag_judge(st, first);
    }
    tc__strag_judge(st, c);
}

/* Judges cohorts, the oldest first, until one more of that size fits. */
static void make_room(struct straggler *st, uint32_t capacity)
{
    size_t bytes = sizeof(struct tc_ring_record) + sizeof(struct strag_cohort) +
                   capacity * sizeof(struct strag_slot);
    struct tc_ring *r = &st->cohorts;
    struct tc_ring_shift shift;
    uint64_t pos = TC_RING_NONE;
    /* What wraps around wastes less than its own size. */
    while (r->size - (size_t)(r->head - r->tail) < 2 * bytes) {
        if (tc_ring_grow(r, &shift)) {
            continue;
        }
        struct strag_cohort *oldest = tc_ring_oldest(r, &pos);
        if (oldest == NULL) {
            return;
        }
        if (!oldest->closed) {
            st->lanes[oldest->lane].lost = true;
            st->base.dropped++;
            judge_in_turn(st, oldest);
        }
        tc_ring_pop(r);
    }
}

static uint64_t cohort_hash(uint32_t lane, int64_t seq)
{
    return tc_hash_mix(lane, (uint64_t)seq);
}

/* An empty cohort, found by its sequence id or as the one that is open; NULL when it is too large.
 */
static struct strag_cohort *push_cohort(struct straggler *st, uint32_t lane, int64_t seq,
                                        uint32_t capacity)
{
    struct strag_lane *l = &st->lanes[lane];
    size_t bytes = sizeof(struct strag_cohort) + capacity * sizeof(struct strag_slot);
    uint64_t pos = TC_RING_NONE;
    struct strag_cohort *c = tc_ring_push(&st->cohorts, bytes, &pos);
    if (c == NULL) {
        return NULL;
    }
    c->pos = pos;
    c->seq = seq;
    c->lane = lane;
    c->capacity = capacity;
    for (uint32_t i = 0; i < capacity; i++) {
        c->slots[i].seat = STRAG_NONE;
    }
    if (seq >= 0) {
        (void)tc_map_add(&st->cohort_index, cohort_hash(lane, seq), pos, st->cohorts.tail);
        l->cached_pos = pos;
    } else {
        l->open_pos = pos;
    }
    return c;
}

static struct strag_cohort *open_cohort(struct straggler *st, uint32_t lane, int64_t seq,
                                        int64_t time_ns)
{
    struct strag_lane *l = &st->lanes[lane];
    uint32_t capacity = l->seat_count + (l->whole < SETTLED ? ROOM_NEW : ROOM_OLD);
    capacity = l->listed > capacity || (l->listed >= l->seat_count && l->listed > 0) ? l->listed
                                                                                     : capacity;
    capacity = capacity < st->most.slots ? capacity : st->most.slots;
    make_room(st, capacity);
    struct strag_cohort *c = push_cohort(st, lane, seq, capacity);
    if (c == NULL) {
        return NULL;
    }
    c->first_ns = time_ns;
    c->last_ns = time_ns;
    c->before_ns = l->opened_ns == INT64_MIN ? time_ns : l->opened_ns;
    c->step = st->jobs[l->job].step;
    l->opened_ns = time_ns;
    l->open_count++;
    return c;
}

/*
 * The lane has more members than was thought when the cohort was opened: a larger one takes its
 * place. NULL when there cannot be as many, or when it had to be judged to make room.
 */
static struct strag_cohort *grow_cohort(struct straggler *st, struct strag_cohort *c, uint32_t slot)
{
    uint64_t pos = c->pos;
    uint32_t capacity = 2 * c->capacity > slot ? 2 * c->capacity : slot + ROOM_NEW;
    capacity = capacity < st->most.slots ? capacity : st->most.slots;
    if (slot >= capacity) {
        return NULL;
    }
    make_room(st, capacity);
    c = tc_ring_at(&st->cohorts, pos);
    struct strag_cohort *more =
        c == NULL || c->closed ? NULL : push_cohort(st, c->lane, c->seq, capacity);
    if (more == NULL) {
        return NULL;
    }
    pos = more->pos;
    memcpy(more, c, sizeof *c + c->capacity * sizeof c->slots[0]);
    more->pos = pos;
    more->capacity = capacity;
    st->lanes[c->lane].moved += !c->moved;
    more->moved = true;
    c->closed = true;
    return more;
}

static struct strag_cohort *find_cohort(struct straggler *st, uint32_t lane, int64_t seq,
                                        int64_t time_ns)
{
    struct strag_lane *l = &st->lanes[lane];
    struct strag_cohort *c = tc_ring_at(&st->cohorts, seq < 0 ? l->open_pos : l->cached_pos);
    if (c != NULL && !c->closed && (seq < 0 || c->seq == seq)) {
        return c;
    }
    struct tc_map_iter it = tc_map_find(&st->cohort_index, cohort_hash(lane, seq));
    for (uint64_t pos; seq >= 0 && (pos = tc_map_next(&st->cohort_index, &it)) != 0;) {
        c = tc_ring_at(&st->cohorts, pos);
        if (c != NULL && c->lane == lane && c->seq == seq && !c->closed) {
            l->cached_pos = pos;
            return c;
        }
    }
    return open_cohort(st, lane, seq, time_ns);
}

/* The job was restarted and counts from the beginning: nothing of before holds. */
static void restart_lane(struct straggler *st, struct strag_lane *lane)
{
    lane->closed_seq = -1;
    lane->opened_ns = INT64_MIN;
    lane->interval_count = 0;
    lane->interval_at = 0;
    lane->extra_ns = 0;
    for (uint32_t s = lane->first_seat; s != STRAG_NONE; s = st->seats[s].next) {
        struct strag_seat *seat = &st->seats[s];
        seat->history = 0;
        seat->counted = 0;
        seat->pending = false;
        seat->done_ns[0] = INT64_MIN;
        seat->done_ns[1] = INT64_MIN;
        seat->created_ns = INT64_MIN;
    }
}

/* Whether the job does something else than training as usual at a time since the cohort before. */
static bool is_excused(const struct strag_job *job, const struct strag_cohort *c, int64_t time_ns)
{
    if (job->pausing || job->ckpt_begin_ns == TC_TIME_NONE) {
        return job->pausing;
    }
    bool ended = job->ckpt_end_ns >= job->ckpt_begin_ns;
    int64_t end_ns = ended ? job->ckpt_end_ns : job->ckpt_begin_ns + CHECKPOINT_MAX_NS;
    return job->ckpt_begin_ns <= time_ns && end_ns >= c->before_ns;
}

struct strag_slot *tc__strag_slot(struct straggler *st, uint32_t seat, int64_t seq, int64_t time_ns,
                                  struct strag_cohort **out_cohort)
{
    struct strag_seat *s = &st->seats[seat];
    struct strag_lane *lane = &st->lanes[s->lane];
    if (seq >= 0 && seq <= lane->closed_seq) {
        if (time_ns - RESTART_NS <= lane->closed_ns) {
            st->base.late++;
            return NULL;
        }
        restart_lane(st, lane);
    }
    struct strag_cohort *c = find_cohort(st, s->lane, seq, time_ns);
    if (c != NULL && s->slot >= c->capacity) {
        c = grow_cohort(st, c, s->slot);
    }
    if (c == NULL) {
        lane->lost = true;
        st->base.dropped++;
        return NULL;
    }
    struct strag_slot *slot = &c->slots[s->slot];
    if (slot->seat == STRAG_NONE) {
        *slot = (struct strag_slot){.seat = seat,
                                    .created_ns = TC_TIME_NONE,
                                    .started_ns = TC_TIME_NONE,
                                    .completed_ns = TC_TIME_NONE};
        c->count++;
    }
    c->first_ns = time_ns < c->first_ns ? time_ns : c->first_ns;
    c->last_ns = time_ns > c->last_ns ? time_ns : c->last_ns;
    c->excused = c->excused || is_excused(&st->jobs[lane->job], c, time_ns);
    *out_cohort = c;
    return slot;
}

/* Whether all members of the lane have done it. */
static bool is_whole(const struct strag_lane *lane, const struct strag_cohort *c)
{
    if (c->done < c->count) {
        return false;
    }
    return lane->listed > 0 ? c->count >= lane->listed
                            : c->count == lane->seat_count && lane->whole >= SETTLED;
}

void tc__strag_settle(struct straggler *st, struct strag_cohort *c)
{
    const struct strag_lane *lane = &st->lanes[c->lane];
    /* Where members are not listed, an older one may wait for some that are new: then in turn. */
    if (st->base.lag_ns == 0 && is_whole(lane, c) && (lane->listed > 0 || lane->open_count == 1)) {
        tc__strag_judge(st, c);
    }
}

/* All members have done it, and nobody lags so far behind that he could say more about it. */
static bool is_due(const struct straggler *st, const struct strag_cohort *c, int64_t now_ns)
{
    return now_ns == INT64_MAX || c->first_ns <= now_ns - LAG_NS ||
           (c->seq >= 0 && is_whole(&st->lanes[c->lane], c) &&
            (st->base.lag_ns == 0 || c->last_ns <= now_ns - st->base.lag_ns));
}

static void judge_due(struct straggler *st, struct strag_cohort *c)
{
    struct strag_lane *lane = &st->lanes[c->lane];
    bool all = c->count == lane->seat_count;
    lane->whole = all ? lane->whole + (lane->whole < SETTLED) : 0;
    judge_in_turn(st, c);
}

/* The same for one that is judged after others of its job were told of. */
static bool was_excused(const struct strag_job *job, const struct strag_cohort *c)
{
    bool excused = is_excused(job, c, c->last_ns);
    for (uint32_t i = 0; i < STRAG_CHECKPOINTS && i < job->written_count; i++) {
        excused |= job->written[i].begin_ns <= c->last_ns && job->written[i].end_ns >= c->before_ns;
    }
    return excused;
}

/*
 * Where senders lag, cohorts of different lanes do not come in the order in which they happened,
 * and who was held up in one group is known too late for the other. So they are judged together,
 * in that order, and with the checkpoints that were told meanwhile.
 */
static void judge_in_order(struct straggler *st, int64_t now_ns)
{
    size_t count = 0;
    uint64_t pos = TC_RING_NONE;
    struct strag_cohort *c = tc_ring_oldest(&st->cohorts, &pos);
    for (; c != NULL && count < st->most.due; c = tc_ring_follow(&st->cohorts, c, &pos)) {
        if (!c->closed && is_due(st, c, now_ns)) {
            st->due[count++] = (struct tc_sort_pair){(uint64_t)c->last_ns, pos};
        }
    }
    tc_sort_keys(st->due, st->due + st->most.due, count);
    for (size_t i = 0; i < count; i++) {
        c = tc_ring_at(&st->cohorts, st->due[i].value);
        if (c != NULL && !c->closed) {
            c->excused = c->excused || was_excused(&st->jobs[st->lanes[c->lane].job], c);
            judge_due(st, c);
        }
    }
}

void tc__strag_expire(struct straggler *st, int64_t now_ns)
{
    uint64_t pos = TC_RING_NONE;
    struct strag_cohort *oldest = NULL;
    if (st->base.lag_ns > 0) {
        if (now_ns < st->walked_ns + TC_SECOND && st->walked_ns != INT64_MIN) {
            return;
        }
        st->walked_ns = now_ns == INT64_MAX ? st->walked_ns : now_ns;
        judge_in_order(st, now_ns);
    }
    while ((oldest = tc_ring_oldest(&st->cohorts, &pos)) != NULL) {
        if (!oldest->closed) {
            if (!is_due(st, oldest, now_ns)) {
                return;
            }
            judge_due(st, oldest);
        }
        tc_ring_pop(&st->cohorts);
    }
}
