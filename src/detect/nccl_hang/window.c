/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "detect/nccl_hang/priv.h"

#include <string.h>

#define SHORT_CALL 64 /* see tc_copy_64 */

static void set_bounds(struct nccl_hang *st)
{
    const struct tc_detector_base *base = &st->base;
    st->most = (struct nccl_most){
        .ranks = tc_detector_room(base, NCCL_RANKS_MAX),
        .seats = tc_detector_room(base, NCCL_SEATS_MAX),
        .statuses = tc_detector_room(base, NCCL_STATUS_MAX),
        .pending = tc_detector_room(base, NCCL_PENDING_MAX),
        .targets = tc_detector_room(base, NCCL_TARGETS_MAX),
        .ring_bytes = tc_detector_room(base, NCCL_RING_BYTES),
        .names_bytes = tc_detector_room(base, NCCL_NAMES_BYTES),
        .eval_bytes = tc_detector_room(base, NCCL_EVAL_BYTES),
    };
}

static bool make_tables(struct nccl_hang *st, struct tc_arena *a)
{
    st->ranks = tc_new(a, struct nccl_rank, st->most.ranks);
    st->groups = tc_new(a, struct nccl_group, NCCL_GROUPS_MAX);
    st->seats = tc_new(a, struct nccl_seat, st->most.seats);
    st->statuses = tc_new(a, struct nccl_status, st->most.statuses);
    st->pending = tc_new(a, struct tc_sort_pair, 2 * st->most.pending);
    st->ops = tc_new(a, struct nccl_op, st->most.pending);
    st->lists = tc_new(a, uint32_t, st->most.pending);
    st->created = tc_new(a, int64_t, st->most.pending);
    st->targets = tc_new(a, struct nccl_target, st->most.targets);
    st->open = tc_new(a, struct nccl_open, NCCL_OPEN_MAX);
    st->desk = tc_new(a, struct nccl_desk, 1);
    int32_t *ints = tc_new(a, int32_t, (size_t)5 * TC_VERDICT_RANKS_MAX);
    uint32_t *named = tc_new(a, uint32_t, TC_VERDICT_RANKS_MAX);
    unsigned char *names = tc_new(a, unsigned char, st->most.names_bytes);
    unsigned char *eval = tc_new(a, unsigned char, st->most.eval_bytes);
    if (eval == NULL) {
        return false;
    }
    st->desk->ints = ints;
    st->desk->named = named;
    tc_arena_init_zeroed(&st->names, "nccl_hang.names", names, st->most.names_bytes);
    tc_arena_init_zeroed(&st->eval, "nccl_hang.eval", eval, st->most.eval_bytes);
    return tc_map_init(&st->rank_index, a, st->most.ranks) &&
           tc_map_init(&st->group_index, a, NCCL_GROUPS_MAX) &&
           tc_map_init(&st->seat_index, a, st->most.seats) &&
           tc_map_init(&st->status_index, a, st->most.statuses) &&
           tc_ring_init(&st->records, a, st->most.ring_bytes) &&
           tc_map_init(&st->record_index, a, st->most.ring_bytes / sizeof(struct nccl_record));
}

/* The tables are empty. */
static void forget(struct nccl_hang *st)
{
    st->last = st->seats; /* nobody's, until it is the first one's: nothing fits it */
    st->last->after = st->last;
    st->open_serial = 0;
    st->job_count = st->rank_count = st->group_count = st->seat_count = st->status_count = 0;
    st->next_expiry_ns = INT64_MIN;
    st->newest_ns = INT64_MIN;
    st->aged = TC_RING_NONE;
    st->indexed = TC_RING_NONE;
    st->dirty = false;
    st->unjudged = false;
}

tc_status tc__nccl_init(struct nccl_hang *st)
{
    st->now_ns = TC_TIME_NONE;
    set_bounds(st);
    if (!make_tables(st, st->base.arena)) {
        return TC_E_NOMEM;
    }
    forget(st);
    return TC_OK;
}

/* The window starts anew, and says so. */
static void restart(struct nccl_hang *st)
{
    uint64_t dropped = st->records.dropped_count;
    memset(st->seats, 0, st->seat_count * sizeof *st->seats);
    forget(st);
    tc_arena_reset(&st->names);
    tc_map_reset(&st->rank_index);
    tc_map_reset(&st->group_index);
    tc_map_reset(&st->seat_index);
    tc_map_reset(&st->status_index);
    tc_map_reset(&st->record_index);
    tc_ring_reset(&st->records);
    memset(st->open, 0, NCCL_OPEN_MAX * sizeof *st->open);
    tc__quota_reset(&st->quota);
    st->records.dropped_count = dropped;
    st->restarts++;
}

static uint32_t seat_index(const struct nccl_hang *st, const struct nccl_seat *s)
{
    return (uint32_t)(s - st->seats);
}

/* NULL when a table is full. */
static struct nccl_seat *look_up_seat(struct nccl_hang *st, const struct tc_event *ev)
{
    const struct tc_ev_nccl *n = &ev->nccl;
    struct nccl_seat *guess = st->last->after;
    if (guess->key == n->group_key && guess->number == ev->scope.rank &&
        seat_index(st, guess) < st->seat_count) {
        return guess;
    }
    uint32_t group = tc__nccl_group_of(st, ev->scope.job, n->group_key, n->group, n->group_desc);
    uint32_t seat = group == NCCL_NONE ? NCCL_NONE : tc__nccl_seat_of(st, group, ev->scope.rank);
    if (seat == NCCL_NONE) {
        return NULL;
    }
    st->last->after = &st->seats[seat];
    return st->last->after;
}

static bool on_group(struct nccl_hang *st, const struct tc_event *ev)
{
    uint32_t g = tc__nccl_group_of(st, ev->scope.job, ev->group.group_key, ev->group.group,
                                   ev->group.group_desc);
    if (g == NCCL_NONE) {
        return false;
    }
    if (st->groups[g].members_known) {
        return true;
    }
    st->groups[g].members_known = ev->group.ranks.len > 0;
    int32_t rank = 0;
    for (size_t at = 0; tc_rank_list_next(ev->group.ranks, &at, &rank);) {
        if (tc__nccl_seat_of(st, g, rank) == NCCL_NONE) {
            return false;
        }
    }
    return true;
}

static bool on_dump(struct nccl_hang *st, const struct tc_event *ev)
{
    struct nccl_rank *r = tc__nccl_event_rank(st, ev);
    if (r == NULL) {
        return false;
    }
    bool unreadable = ev->dump.error.len > 0;
    if (unreadable && r->dump == NCCL_DUMP_READ) {
        return true;
    }
    r->dump = unreadable                  ? NCCL_DUMP_UNREADABLE
              : ev->dump.entries >= 0     ? NCCL_DUMP_READ
              : r->dump == NCCL_DUMP_NONE ? NCCL_DUMP_SIGNALLED
                                          : r->dump;
    r->error = tc_arena_copy(&st->names, tc_slice_head(ev->dump.error, NCCL_TEXT_MAX));
    r->dump_raw = ev->raw;
    r->dump_ns = ev->time_ns;
    st->dirty = true;
    return tc_arena_ok(&st->names);
}

static uint64_t record_hash(uint32_t seat, bool is_p2p, int64_t seq)
{
    return tc_hash_mix(((uint64_t)seat << 1 | is_p2p) + 1, (uint64_t)seq);
}

/* Dumps tell of each record once: the index is made when a record is first looked for. */
static void index_records(struct nccl_hang *st)
{
    uint64_t pos = st->indexed;
    const struct nccl_record *r = tc_ring_after(&st->records, pos, &pos);
    for (; r != NULL; r = tc_ring_follow(&st->records, r, &pos)) {
        /* It has room for as many records as the ring. */
        bool added = tc_map_add(&st->record_index, record_hash(r->seat, r->is_p2p, r->seq), pos,
                                st->records.tail);
        TC_ASSERT(added);
        st->indexed = pos;
    }
}

/* Transfers of one batch share a sequence id. */
static bool is_transfer(const struct nccl_record *r, const struct tc_ev_nccl *n)
{
    return !n->is_p2p || (r->peer == n->peer && r->is_send == n->is_send);
}

static struct nccl_record *find_record(struct nccl_hang *st, const struct nccl_seat *s,
                                       const struct tc_ev_nccl *n)
{
    uint32_t seat = seat_index(st, s);
    index_records(st);
    struct tc_map_iter it = tc_map_find(&st->record_index, record_hash(seat, n->is_p2p, n->seq));
    for (uint64_t pos; (pos = tc_map_next(&st->record_index, &it)) != 0;) {
        struct nccl_record *r = tc_ring_at(&st->records, pos);
        if (r != NULL && r->seat == seat && r->seq == n->seq && r->is_p2p == n->is_p2p &&
            is_transfer(r, n)) {
            return r;
        }
    }
    return NULL;
}

/* The parts of a call that are kept. */
struct call {
    struct tc_slice op;
    struct tc_slice sizes;
    struct tc_slice dtypes;
};

/* A record of that call; its text is the caller's to write. */
static inline struct nccl_record *push_record(struct nccl_hang *st, const struct nccl_seat *s,
                                              const struct tc_event *ev, const struct call *c)
{
    const struct tc_ev_nccl *n = &ev->nccl;
    size_t text_len = c->op.len + c->sizes.len + c->dtypes.len;
    uint64_t pos = TC_RING_NONE;
    struct nccl_record *r = tc_ring_push_raw(&st->records, sizeof *r + text_len, &pos);
    st->newest_pos = pos;
    st->newest_ns = ev->time_ns > st->newest_ns ? ev->time_ns : st->newest_ns;
    r->pos = pos;
    r->place = s->place | (uint64_t)n->is_p2p << NCCL_SEQ_BITS | ((uint64_t)n->seq & NCCL_SEQ_MASK);
    r->created_ns = ev->time_ns;
    r->seq = n->seq;
    r->raw = ev->raw;
    r->seat = seat_index(st, s);
    r->rank_at = s->rank;
    r->rank = s->number;
    r->peer = n->peer;
    r->open = 0;
    r->state = n->state;
    r->is_p2p = n->is_p2p;
    r->is_send = n->is_send;
    r->from_dump = n->from_dump;
    st->unjudged |= n->from_dump;
    r->timed_out = n->timed_out;
    r->len.op = (uint16_t)c->op.len;
    r->len.sizes = (uint16_t)c->sizes.len;
    r->len.dtypes = (uint16_t)c->dtypes.len;
    r->len.all = (uint16_t)text_len;
    return r;
}

static bool is_room_short(const struct nccl_hang *st)
{
    return st->records.head + NCCL_RECORD_BYTES_MAX > st->records.limit;
}

/* Completed records are kept without text: they only say that a late one is not news. */
static TC_SELDOM tc_status add_long_record(struct nccl_hang *st, const struct nccl_seat *s,
                                           const struct tc_event *ev)
{
    const struct tc_ev_nccl *n = &ev->nccl;
    struct call c = {TC_EMPTY, TC_EMPTY, TC_EMPTY};
    if (n->state != TC_NCCL_COMPLETED) {
        c = (struct call){tc_slice_head(n->op, NCCL_TEXT_MAX),
                          tc_slice_head(n->sizes_in, NCCL_TEXT_MAX),
                          tc_slice_head(n->dtypes_in, NCCL_TEXT_MAX)};
    }
    if (is_room_short(st) && tc__nccl_is_pressed(st, s)) {
        return TC_OK;
    }
    struct nccl_record *r = push_record(st, s, ev, &c);
    (void)tc_put_str(tc_put_str(tc_put_str(r->text, c.op), c.sizes), c.dtypes);
    return TC_OK;
}

/* Most calls are short: with nothing to cut, and copied without a call. */
static TC_SELDOM tc_status add_record(struct nccl_hang *st, const struct nccl_seat *s,
                                      const struct tc_event *ev)
{
    const struct tc_ev_nccl *n = &ev->nccl;
    struct call c = {n->op, n->sizes_in, n->dtypes_in};
    if (n->state == TC_NCCL_COMPLETED || c.op.len + c.sizes.len + c.dtypes.len > SHORT_CALL) {
        return add_long_record(st, s, ev);
    }
    if (is_room_short(st) && tc__nccl_is_pressed(st, s)) {
        return TC_OK;
    }
    struct nccl_record *r = push_record(st, s, ev, &c);
    char *p = r->text;
    tc_copy_64(p, c.op.ptr, c.op.len);
    p += c.op.len;
    tc_copy_64(p, c.sizes.ptr, c.sizes.len);
    p += c.sizes.len;
    tc_copy_64(p, c.dtypes.ptr, c.dtypes.len);
    return TC_OK;
}

/* Completed always supersedes; otherwise the later one does, and of two at once the further one. */
static tc_status change_record(struct nccl_hang *st, struct nccl_record *r,
                               const struct tc_event *ev, const struct tc_sink *out)
{
    if (r->state == TC_NCCL_COMPLETED) {
        return TC_OK;
    }
    r->timed_out |= ev->nccl.timed_out;
    if (ev->nccl.state == TC_NCCL_COMPLETED) {
        r->state = TC_NCCL_COMPLETED;
        r->raw = ev->raw;
        int64_t when = ev->nccl.completed_ns == TC_TIME_NONE ? ev->time_ns : ev->nccl.completed_ns;
        return r->open != 0 ? tc__nccl_report_done(st, r, when, false, out) : TC_OK;
    }
    if (ev->time_ns >= r->created_ns && ev->nccl.state > r->state) {
        r->state = ev->nccl.state;
        r->raw = ev->raw;
    }
    return TC_OK;
}

/* Records without a date do not age: the ring has the last word on them. */
static int64_t age_of(const struct nccl_hang *st, int64_t created_ns)
{
    return tc_time_is_date(created_ns) ? st->now_ns - created_ns : 0;
}

/* What was held when time moved on by hours, as when files of long ago come before the first that
 * tells of now, is judged before it goes. */
static tc_status judge_expiring(struct nccl_hang *st, const struct tc_sink *out)
{
    uint64_t pos = TC_RING_NONE;
    const struct nccl_record *r = tc_ring_oldest(&st->records, &pos);
    bool is_expiring = r != NULL && age_of(st, r->created_ns) > st->retention_ns;
    return is_expiring && st->unjudged ? tc__nccl_evaluate(st, true, out) : TC_OK;
}

static void expire(struct nccl_hang *st)
{
    uint64_t pos = TC_RING_NONE;
    const struct nccl_record *r = NULL;
    bool is_empty = st->records.tail == st->records.head;
    if (!is_empty && age_of(st, st->newest_ns) > st->retention_ns) { /* all of them */
        tc_ring_clear(&st->records);
    }
    while ((r = tc_ring_oldest(&st->records, &pos)) != NULL &&
           age_of(st, r->created_ns) > st->retention_ns) {
        tc_ring_pop(&st->records);
    }
    if (r == NULL && st->record_index.used > 0) {
        tc_map_reset(&st->record_index);
    }
    /* Nothing can expire before the oldest there is now has reached its age. */
    st->next_expiry_ns =
        r == NULL ? st->now_ns + 1 : st->now_ns - age_of(st, r->created_ns) + st->retention_ns + 1;
}

static void note_place(struct nccl_hang *st, struct nccl_seat *seat, const struct tc_scope *s)
{
    struct nccl_rank *r = &st->ranks[seat->rank];
    if (!tc__quota_admits(&st->quota, st->base.sender, st->names.used, st->most.names_bytes)) {
        (void)tc__quota_refused(&st->quota);
        r->seen = true;
        return;
    }
    if (r->node.len == 0 && s->node.len > 0) {
        r->node = tc_arena_copy(&st->names, tc_slice_head(s->node, NCCL_TEXT_MAX));
    }
    if (r->pod.len == 0 && s->pod.len > 0) {
        r->ns = tc_arena_copy(&st->names, tc_slice_head(s->ns, NCCL_TEXT_MAX));
        r->pod = tc_arena_copy(&st->names, tc_slice_head(s->pod, NCCL_TEXT_MAX));
    }
    r->seen = true;
    seat->claim = r->node.len > 0 && r->pod.len > 0 ? (uint32_t)seat->number + 1 : 0;
}

/*
 * A rank that completes what it issued a whole threshold after the record we hold of it has
 * gone on: the completion of that record was lost.
 */
static TC_SELDOM tc_status end_overtaken(struct nccl_hang *st, struct nccl_seat *s,
                                         const struct tc_event *ev, const struct tc_sink *out)
{
    struct nccl_record *r = tc_ring_at(&st->records, s->open_pos);
    if (r == NULL || r->state == TC_NCCL_COMPLETED) {
        s->open_pos = TC_RING_NONE;
        return TC_OK;
    }
    if (ev->nccl.seq <= r->seq || ev->time_ns - r->created_ns < st->threshold_ns) {
        return TC_OK;
    }
    s->open_pos = TC_RING_NONE;
    r->state = TC_NCCL_COMPLETED;
    r->raw = ev->raw;
    return tc__nccl_report_done(st, r, ev->time_ns, false, out);
}

/* The window may hold a record of it. */
static TC_SELDOM tc_status on_held_record(struct nccl_hang *st, const struct nccl_seat *s,
                                          const struct tc_event *ev, const struct tc_sink *out)
{
    const struct tc_ev_nccl *n = &ev->nccl;
    struct nccl_record *r = find_record(st, s, n);
    if (r != NULL) {
        return change_record(st, r, ev, out);
    }
    bool is_news = n->is_p2p || (n->state != TC_NCCL_COMPLETED && n->seq > s->done_max);
    return is_news ? add_record(st, s, ev) : TC_OK;
}

/*
 * Collectives of a group complete in order on a rank, so the highest completed one
 * stands for all below it: completed ones need no record, and one that comes late
 * says nothing.
 */
static inline __attribute__((always_inline)) tc_status on_record(struct nccl_hang *st,
                                                                 struct nccl_seat *s,
                                                                 const struct tc_event *ev,
                                                                 const struct tc_sink *out)
{
    const struct tc_ev_nccl *n = &ev->nccl;
    int64_t *job_last_ns = &st->job_last_ns[s->place >> NCCL_JOB_SHIFT];
    st->last = s;
    if (ev->time_ns > *job_last_ns) {
        *job_last_ns = ev->time_ns;
    }
    if (n->pg_id >= 0) {
        s->pg_id = n->pg_id;
    }
    if (n->is_p2p) {
        st->groups[s->group].has_p2p = true;
        s->moved_ns = ev->time_ns > s->moved_ns ? ev->time_ns : s->moved_ns;
        return on_held_record(st, s, ev, out);
    }
    int64_t seq = n->seq;
    if (n->state == TC_NCCL_COMPLETED) {
        s->done_max = seq > s->done_max ? seq : s->done_max;
        return seq <= s->held_max            ? on_held_record(st, s, ev, out)
               : s->open_pos == TC_RING_NONE ? TC_OK
                                             : end_overtaken(st, s, ev, out);
    }
    if (seq <= s->held_max) {
        return on_held_record(st, s, ev, out);
    }
    if (seq <= s->done_max) {
        return TC_OK;
    }
    s->held_max = seq;
    return add_record(st, s, ev);
}

/* A table is full: the window starts anew. What hangs is told before it is forgotten. */
static tc_status make_room(struct nccl_hang *st, const struct tc_sink *out)
{
    struct nccl_all jobs;
    if (tc__quota_refused(&st->quota)) { /* of who filled it nothing more is taken */
        st->base.presser = st->base.sender;
        st->base.dropped++;
        return TC_OK;
    }
    tc__nccl_collect(st, &jobs);
    st->lost += jobs.count;
    TC_TRY(tc__nccl_evaluate(st, true, out));
    restart(st);
    return TC_OK;
}

static tc_status move_clock(struct nccl_hang *st, int64_t time_ns, const struct tc_sink *out)
{
    if (time_ns > st->now_ns) {
        st->now_ns = time_ns;
    }
    if (st->now_ns >= st->next_expiry_ns) {
        TC_TRY(judge_expiring(st, out));
        expire(st);
    }
    return TC_OK;
}

TC_SELDOM tc_status tc__nccl_on_other(struct nccl_hang *st, const struct tc_event *ev,
                                      const struct tc_sink *out)
{
    if (ev->scope.rank < 0 && ev->kind != TC_EVENT_NCCL_GROUP) {
        st->base.ignored++;
        return TC_OK;
    }
    TC_TRY(move_clock(st, ev->time_ns, out));
    for (int attempt = 0; attempt < 2; attempt++) {
        bool kept = ev->kind == TC_EVENT_NCCL_GROUP    ? on_group(st, ev)
                    : ev->kind == TC_EVENT_NCCL_STATUS ? tc__nccl_on_status(st, ev)
                                                       : on_dump(st, ev);
        if (kept) {
            break;
        }
        TC_TRY(make_room(st, out));
    }
    return TC_OK;
}

/* A record that needs more than its seat's line. */
static TC_SELDOM tc_status on_unusual_record(struct nccl_hang *st, const struct tc_event *ev,
                                             const struct tc_sink *out)
{
    if (ev->scope.rank < 0 || ev->time_ns == TC_TIME_NONE || ev->nccl.seq < 0) {
        st->base.ignored++;
        return TC_OK;
    }
    TC_TRY(move_clock(st, ev->time_ns, out));
    struct nccl_seat *s = look_up_seat(st, ev);
    if (s == NULL) {
        TC_TRY(make_room(st, out));
        s = look_up_seat(st, ev);
        if (s == NULL) {
            return TC_OK;
        }
    }
    if (s->claim == 0) {
        note_place(st, s, &ev->scope);
    }
    return on_record(st, s, ev, out);
}

tc_status tc__nccl_on_record(struct nccl_hang *st, const struct tc_event *ev,
                             const struct tc_sink *out)
{
    /* Records come in the same order again and again: who followed last time is a good guess. */
    struct nccl_seat *s = st->last->after;
    int64_t rank = ev->scope.rank;
    int64_t now_ns = ev->time_ns > st->now_ns ? ev->time_ns : st->now_ns;
    /* No rank and no time are negative ones, too. */
    if (s->key != ev->nccl.group_key || s->claim != (uint32_t)rank + 1 ||
        (rank | ev->nccl.seq | ev->time_ns) < 0 || now_ns >= st->next_expiry_ns) {
        return on_unusual_record(st, ev, out);
    }
    st->now_ns = now_ns;
    return on_record(st, s, ev, out);
}
