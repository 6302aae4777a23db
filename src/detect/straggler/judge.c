/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who was late in a cohort. In a collective everyone ends at about the same
 * moment, so who waited least, from its own entry to its own end, entered last:
 * that needs no common clock. A member that has waited for someone else since
 * the last cohort, in another group of its job, is given that time: it is held up
 * itself.
 */
#include "detect/straggler/priv.h"

/* Where steps are told but none of them for so long, time is what counts. */
#define STEPS_LOST_NS (600 * TC_SECOND)
/* A pause is no period: an interval is taken for so many periods at most. */
#define PAUSE_PERIODS 20
#define INTERVALS_MIN 3
/* Members of a collective whose arrivals are compared without its end. */
#define ARRIVALS_MAX 128
#define MS (TC_SECOND / 1000)

static int64_t strag_period(const struct strag_lane *lane)
{
    int64_t sorted[STRAG_INTERVALS];
    uint32_t n = lane->interval_count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        for (; k > 0 && sorted[k - 1] > lane->intervals[i]; k--) {
            sorted[k] = sorted[k - 1];
        }
        sorted[k] = lane->intervals[i];
    }
    return n == 0 ? 0 : sorted[n / 2];
}

static void push_interval(struct strag_lane *lane, int64_t interval_ns)
{
    int64_t longest_ns = strag_period(lane) * PAUSE_PERIODS;
    interval_ns += lane->extra_ns;
    lane->extra_ns = 0;
    if (lane->interval_count >= INTERVALS_MIN && interval_ns > longest_ns) {
        interval_ns = longest_ns;
    }
    lane->intervals[lane->interval_at] = interval_ns;
    lane->interval_at = (lane->interval_at + 1) % STRAG_INTERVALS;
    lane->interval_count += lane->interval_count < STRAG_INTERVALS;
}

/*
 * Collectives come in bursts. One that follows at once the last one that counted
 * cannot show that someone was late, whoever was: it does not count.
 */
static bool follows_at_once(const struct straggler *st, const struct strag_lane *lane,
                            int64_t interval_ns)
{
    int64_t since_ns = lane->extra_ns + interval_ns;
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < lane->interval_count; i++) {
        sum_ns += lane->intervals[i];
    }
    return lane->interval_count >= INTERVALS_MIN &&
           (since_ns <= st->floor_ms * MS ||
            since_ns * 100 < sum_ns / lane->interval_count * st->margin_percent);
}

static bool is_late(const struct straggler *st, int64_t late_ns, int64_t peers_ns)
{
    return late_ns > st->floor_ms * MS &&
           late_ns * 100 > (peers_ns > 0 ? peers_ns : 0) * st->margin_percent;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How long a time is; less than nothing, or far too long, is no measurement. */
static bool measured(int64_t from_ns, int64_t to_ns, int64_t *out_ns)
{
    *out_ns = to_ns - from_ns;
    return to_ns >= from_ns && *out_ns < STRAG_LONGEST_NS;
}

/*
 * What a member of a collective waited: from when it could take part to its end. A call that was
 * queued before the one before it had ended could take part only then.
 */
static bool wait_of(const struct strag_slot *slot, const struct strag_seat *seat, bool by_start,
                    int64_t *out_ns)
{
    int64_t from_ns = by_start ? slot->started_ns : slot->created_ns;
    int64_t end_ns = slot->completed_ns;
    if (end_ns == TC_TIME_NONE) {
        return false;
    }
    if (seat->done_ns[0] <= end_ns) {
        from_ns = later(from_ns, seat->done_ns[0]);
    }
    return measured(from_ns, end_ns, out_ns);
}

/* Sets slot->value_ns of a collective and gives how many can be compared. */
static uint32_t measure_waits(struct straggler *st, struct strag_cohort *c)
{
    bool by_start = true;
    int64_t least_ns = INT64_MAX;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->capacity; i++) {
        const struct strag_slot *slot = &c->slots[i];
        by_start = by_start && (slot->seat == STRAG_NONE || slot->started_ns != TC_TIME_NONE);
    }
    for (uint32_t i = 0; i < c->capacity; i++) {
        struct strag_slot *slot = &c->slots[i];
        slot->usable = slot->seat != STRAG_NONE &&
                       wait_of(slot, &st->seats[slot->seat], by_start, &slot->value_ns);
        if (slot->usable) {
            n++;
            least_ns = slot->value_ns < least_ns ? slot->value_ns : least_ns;
        }
    }
    for (uint32_t i = 0; i < c->capacity && n > 0; i++) {
        struct strag_slot *slot = &c->slots[i];
        if (slot->usable) {
            struct strag_rank *rank = &st->ranks[st->seats[slot->seat].rank];
            int64_t waited_ns = slot->value_ns - least_ns;
            slot->value_ns += rank->held_ns - st->seats[slot->seat].held_ns;
            rank->held_ns += waited_ns;
            st->seats[slot->seat].held_ns = rank->held_ns;
        }
    }
    return n;
}

static struct tc_slice node_of(const struct straggler *st, const struct strag_slot *slot)
{
    return st->ranks[st->seats[slot->seat].rank].scope.node;
}

/* The arrival in the middle of those on one node; TC_TIME_NONE when there are too few. */
static int64_t node_middle(const struct straggler *st, const struct strag_cohort *c,
                           struct tc_slice node)
{
    int64_t times[ARRIVALS_MAX];
    size_t n = 0;
    for (uint32_t i = 0; i < c->capacity; i++) {
        if (c->slots[i].seat == STRAG_NONE || !tc_slice_eq(node_of(st, &c->slots[i]), node)) {
            continue;
        }
        size_t at = n++;
        for (; at > 0 && times[at - 1] > c->slots[i].created_ns; at--) {
            times[at] = times[at - 1];
        }
        times[at] = c->slots[i].created_ns;
    }
    return n < STRAG_MEMBERS_MIN ? TC_TIME_NONE : times[n / 2];
}

/*
 * Without an end, arrivals can be compared where one clock measured them: on each node against the
 * one in the middle there. A node that is late as a whole cannot be told from one whose clock is
 * wrong. Ranks whose node nobody names are taken to share one, but for those of dumps, which come
 * from all hosts of a job.
 */
static uint32_t measure_arrivals(struct straggler *st, struct strag_cohort *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->capacity; i++) {
        const struct strag_slot *slot = &c->slots[i];
        bool placed = slot->seat == STRAG_NONE || node_of(st, slot).len > 0 || !slot->from_dump;
        if (!placed || slot->completed_ns != TC_TIME_NONE || c->count > ARRIVALS_MAX) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < c->capacity; i++) {
        struct strag_slot *slot = &c->slots[i];
        slot->usable = false;
        if (slot->seat == STRAG_NONE) {
            continue;
        }
        int64_t middle_ns = node_middle(st, c, node_of(st, slot));
        if (middle_ns != TC_TIME_NONE) {
            slot->usable = true;
            slot->value_ns = middle_ns - slot->created_ns;
            n++;
        }
    }
    /* As waits: the last has none. */
    int64_t least_ns = INT64_MAX;
    for (uint32_t i = 0; i < c->capacity; i++) {
        least_ns =
            c->slots[i].usable && c->slots[i].value_ns < least_ns ? c->slots[i].value_ns : least_ns;
    }
    for (uint32_t i = 0; i < c->capacity; i++) {
        c->slots[i].value_ns -= c->slots[i].usable ? least_ns : 0;
    }
    return n;
}

/* The faster side of a transfer did not wait for the other: that is how long the link took. */
static uint32_t measure_transfers(struct straggler *st, struct strag_cohort *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->capacity; i++) {
        struct strag_slot *slot = &c->slots[i];
        slot->usable = slot->seat != STRAG_NONE && slot->created_ns != TC_TIME_NONE &&
                       slot->started_ns != TC_TIME_NONE;
        if (slot->usable) {
            const struct strag_seat *seat = &st->seats[slot->seat];
            slot->value_ns =
                slot->created_ns < slot->started_ns ? slot->created_ns : slot->started_ns;
            st->ranks[seat->rank].held_ns += slot->created_ns - slot->value_ns;
            st->ranks[seat->peer].held_ns += slot->started_ns - slot->value_ns;
            n++;
        }
    }
    return n;
}

static uint32_t measure_steps(struct strag_cohort *c)
{
    for (uint32_t i = 0; i < c->capacity; i++) {
        struct strag_slot *slot = &c->slots[i];
        slot->usable = slot->seat != STRAG_NONE;
        slot->value_ns = slot->completed_ns;
    }
    return c->count;
}

/* From the cohort before to this one, as the first member that was in both saw it. */
static bool interval_of(const struct straggler *st, const struct strag_lane *lane,
                        const struct strag_cohort *c, int64_t *out_ns)
{
    for (uint32_t i = 0; i < c->capacity; i++) {
        const struct strag_slot *slot = &c->slots[i];
        if (!slot->usable) {
            continue;
        }
        const struct strag_seat *seat = &st->seats[slot->seat];
        int64_t before_ns = lane->arrivals ? seat->created_ns : seat->done_ns[0];
        int64_t now_ns = lane->arrivals ? slot->created_ns : slot->completed_ns;
        if (before_ns != INT64_MIN && measured(before_ns, now_ns, out_ns)) {
            return true;
        }
    }
    return false;
}

/* There were not two cohorts yet, so the first could not be compared with a period. */
static void settle_first(const struct straggler *st, struct strag_seat *seat, int64_t period_ns)
{
    if (seat->pending) {
        seat->pending = false;
        seat->first.peers_ns = period_ns - seat->first.late_ns;
        seat->history = is_late(st, seat->first.late_ns, seat->first.peers_ns);
        seat->counted = 1;
    }
}

/* Long enough to be no single slow step: by the job's own steps where it tells them. */
static bool goes_on(const struct straggler *st, const struct strag_lane *lane,
                    const struct strag_seat *seat)
{
    int64_t lasts_ns = seat->last.end_ns - seat->first.end_ns;
    if (lane->basis == STRAG_STEPS || lane->basis == STRAG_SAMPLES) {
        return true;
    }
    if (seat->first.step >= 0) {
        return seat->last.step - seat->first.step >= st->steps - 1 || lasts_ns >= STEPS_LOST_NS;
    }
    return lasts_ns >= st->span_ns;
}

static void note(struct straggler *st, const struct strag_lane *lane, uint32_t at,
                 const struct strag_mark *mark, bool late)
{
    struct strag_seat *seat = &st->seats[at];
    if (late) {
        if ((seat->history & 3) == 0) {
            seat->first = *mark;
        }
        /* Steps that are told from now on are counted from now on. */
        seat->first.step = seat->first.step < 0 ? mark->step : seat->first.step;
        seat->last = *mark;
    }
    seat->history = seat->history << 1 | late;
    seat->counted += seat->counted < STRAG_STEPS_MAX;
    uint32_t count = tc__strag_late_count(st, seat);
    /* A step is one measurement of a whole step: there each has to be late. */
    bool steps = lane->basis == STRAG_STEPS || lane->basis == STRAG_SAMPLES;
    int64_t most_percent = steps ? 100 : st->most_percent;
    if (late && count * 100 >= st->steps * most_percent && seat->counted >= st->steps &&
        goes_on(st, lane, seat)) {
        tc__strag_suspect(st, at);
    } else if (count == 0 && seat->culprit != STRAG_NONE) {
        tc__strag_recover(st, at, mark);
    }
}

/* The members from `from` to `to` of pairs are on one node, and that is `node` unless it is empty.
 */
static bool on_one_node(const struct straggler *st, const struct strag_cohort *c, uint32_t from,
                        uint32_t to, struct tc_slice *io_node)
{
    for (uint32_t i = from; i < to; i++) {
        struct tc_slice own = node_of(st, &c->slots[st->pairs[i].value]);
        if (own.len == 0 || (io_node->len > 0 && !tc_slice_eq(own, *io_node))) {
            return false;
        }
        *io_node = own;
    }
    return true;
}

/* Two nodes, and all ranks of one are later than all of the other: half of them are late, and it
 * is the node that is. */
static bool is_a_node_late(const struct straggler *st, const struct strag_cohort *c, uint32_t n)
{
    struct tc_slice first = TC_EMPTY;
    struct tc_slice second = TC_EMPTY;
    return n % 2 == 0 && on_one_node(st, c, 0, n / 2, &first) &&
           on_one_node(st, c, n / 2, n, &second) && !tc_slice_eq(first, second);
}

/*
 * The member in the middle: of an even number the one that makes less of a difference, of equal
 * ones the lowest rank, whatever order they came in.
 */
static const struct strag_slot *middle_of(const struct straggler *st, const struct strag_cohort *c,
                                          uint32_t n, bool waits)
{
    const struct tc_sort_pair *pairs = st->pairs;
    bool upper = waits == is_a_node_late(st, c, n);
    uint32_t at = upper ? n / 2 : (n - 1) / 2;
    uint64_t value = pairs[at].key;
    while (at > 0 && pairs[at - 1].key == value) {
        at--;
    }
    const struct strag_slot *best = &c->slots[pairs[at].value];
    for (; at < n && pairs[at].key == value; at++) {
        const struct strag_slot *slot = &c->slots[pairs[at].value];
        if (st->ranks[st->seats[slot->seat].rank].scope.rank <
            st->ranks[st->seats[best->seat].rank].scope.rank) {
            best = slot;
        }
    }
    return best;
}

/* Compares the n members that can be: pairs holds their values and slots. */
static void weigh(struct straggler *st, struct strag_lane *lane, struct strag_cohort *c, uint32_t n)
{
    bool waits = lane->basis == STRAG_COLLECTIVES;
    struct tc_sort_pair *pairs = st->pairs;
    uint32_t at = 0;
    for (uint32_t i = 0; i < c->capacity; i++) {
        if (c->slots[i].usable) {
            pairs[at++] = (struct tc_sort_pair){(uint64_t)c->slots[i].value_ns, i};
        }
    }
    tc_sort_keys(pairs, pairs + st->most.slots, n);
    const struct strag_slot *peer = middle_of(st, c, n, waits);
    int64_t middle_ns = peer->value_ns;
    int64_t interval_ns = 0;
    bool has_interval = waits && interval_of(st, lane, c, &interval_ns);
    if (has_interval && follows_at_once(st, lane, interval_ns)) {
        lane->extra_ns += interval_ns;
        return;
    }
    if (has_interval) {
        push_interval(lane, interval_ns);
    }
    int64_t period_ns = strag_period(lane);
    bool first = waits && lane->interval_count == 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct strag_slot *slot = &c->slots[pairs[i].value];
        struct strag_seat *seat = &st->seats[slot->seat];
        struct strag_mark mark = {
            .raw = slot->raw,
            .peer_raw = peer->raw,
            .time_ns = c->last_ns,
            .end_ns = waits && slot->completed_ns != TC_TIME_NONE ? slot->completed_ns : c->last_ns,
            .seq = c->seq,
            .step = c->step,
            .peer = st->seats[peer->seat].rank};
        mark.late_ns = waits ? middle_ns - slot->value_ns : slot->value_ns - middle_ns;
        mark.peers_ns = waits ? period_ns - mark.late_ns : middle_ns;
        if (first) {
            seat->first = mark;
            seat->pending = true;
            continue;
        }
        settle_first(st, seat, period_ns);
        note(st, lane, slot->seat, &mark, is_late(st, mark.late_ns, mark.peers_ns));
    }
}

/* The next cohort is measured from here. */
static void remember(struct straggler *st, const struct strag_cohort *c)
{
    for (uint32_t i = 0; i < c->capacity; i++) {
        const struct strag_slot *slot = &c->slots[i];
        if (slot->seat != STRAG_NONE) {
            struct strag_seat *seat = &st->seats[slot->seat];
            seat->created_ns = slot->created_ns;
            seat->done_ns[0] =
                slot->completed_ns == TC_TIME_NONE ? seat->done_ns[0] : slot->completed_ns;
        }
    }
}

void tc__strag_judge(struct straggler *st, struct strag_cohort *c)
{
    struct strag_lane *lane = &st->lanes[c->lane];
    c->closed = true;
    /* No seat has a place beyond: what follows walks the cohort several times. */
    c->capacity = c->capacity < lane->seat_count ? c->capacity : lane->seat_count;
    lane->open_count--;
    lane->moved -= c->moved;
    if (c->seq >= 0 && c->seq <= lane->closed_seq) {
        return;
    }
    lane->closed_seq = c->seq >= 0 ? c->seq : lane->closed_seq;
    lane->closed_ns = later(lane->closed_ns, c->last_ns);
    uint32_t n = 0;
    switch ((enum strag_basis)lane->basis) {
    case STRAG_COLLECTIVES:
        n = measure_waits(st, c);
        lane->arrivals = n == 0;
        n = n == 0 ? measure_arrivals(st, c) : n;
        break;
    case STRAG_TRANSFERS:
        n = measure_transfers(st, c);
        break;
    case STRAG_STEPS:
    case STRAG_SAMPLES:
        n = measure_steps(c);
        break;
    }
    if (n >= STRAG_MEMBERS_MIN && !c->mixed && !c->excused &&
        (c->seq < 0 || c->seq >= st->warmup)) {
        st->jobs[lane->job].judged |= lane->basis == STRAG_COLLECTIVES;
        weigh(st, lane, c, n);
    }
    if (lane->basis == STRAG_COLLECTIVES) {
        remember(st, c);
    }
}
