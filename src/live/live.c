/* SPDX-License-Identifier: Apache-2.0 */
#include "live/live.h"

#include "base/time.h"
#include "event/fields.h"
#include "live/live_priv.h"

#include <stdlib.h>
#include <string.h>

tc_status tc_live_create(const struct tc_live_config *config, const struct tc_live_out *out,
                         struct tc_live **out_live, struct tc_error *err)
{
    struct tc_live *l = calloc(1, sizeof *l);
    bool ok = l != NULL;
    if (ok) {
        l->config = *config;
        l->config.incidents_max = config->incidents_max < 1 ? 1 : config->incidents_max;
        l->config.incidents_max = l->config.incidents_max < TC_INCIDENT_TABLE_MAX
                                      ? l->config.incidents_max
                                      : TC_INCIDENT_TABLE_MAX;
        l->config.told_max = config->told_max < 1 ? 1 : config->told_max;
        l->out = *out;
        l->wall_ns = l->clock_ns = l->newest_ns = TC_TIME_NONE;
        l->tell_ns = l->settle_ns = INT64_MAX;
        l->linked_ns = l->placed_ns = INT64_MIN / 2; /* the first link waits for nothing */
        l->story = tc_story_create();
        l->hashes = calloc(tc__live_incidents_most(l), sizeof *l->hashes);
        l->late.near_ns = config->margin_ns;
        ok = l->story != NULL && l->hashes != NULL &&
             tc__reorder_init(&l->hold, config->hold_bytes) && tc_sources_init(&l->sources) &&
             tc_lru_init(&l->states, TC__STATES_MAX, 1);
    }
    if (!ok) {
        tc_live_destroy(l);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the events that wait and the verdicts");
    }
    struct tc_engine_out taken = {.verdict = tc__live_take,
                                  .context = l,
                                  .lag_ns = TC__LAG_NS,
                                  .statements = TC_STATEMENTS_LATEST,
                                  .gpus = l->config.gpus,
                                  .told_max = l->config.told_max};
    tc_offenders_configure(tc_story_offenders(l->story), &l->config.offenders);
    tc_status status = tc_engine_create(&taken, &l->engine, err);
    if (status != TC_OK) {
        tc_live_destroy(l);
        return status;
    }
    *out_live = l;
    return TC_OK;
}

void tc_live_destroy(struct tc_live *l)
{
    if (l == NULL) {
        return;
    }
    tc_engine_destroy(l->engine);
    tc_story_destroy(l->story);
    tc__reorder_fini(&l->hold);
    tc_sources_fini(&l->sources);
    tc_lru_fini(&l->states);
    free(l->hashes);
    free(l);
}

struct tc_engine *tc_live_engine(struct tc_live *l)
{
    return l->engine;
}

void tc_live_configure(struct tc_live *l, const struct tc_live_config *config)
{
    struct tc_live_config now = *config;
    now.hold_bytes = l->config.hold_bytes;
    now.gpus = l->config.gpus;
    now.incidents_max = l->config.incidents_max;
    now.told_max = l->config.told_max;
    l->config = now;
    l->late.near_ns = now.margin_ns;
    tc_offenders_configure(tc_story_offenders(l->story), &now.offenders);
    l->changed = true; /* the past of what is kept may count otherwise now */
}

void tc_live_slice(struct tc_live *l, bool (*is_spent)(void *context), void *context)
{
    l->is_spent = is_spent;
    l->spent_context = context;
}

tc_status tc_live_restore(struct tc_live *l, const struct tc_incident_mark *mark)
{
    TC_TRY(tc_incidents_note_told(tc_engine_incidents(l->engine), mark, true));
    return tc_offenders_note(tc_story_offenders(l->story), mark->incident_id, mark->pattern_id,
                             mark->first_ns, mark->status == TC_VERDICT_RESOLVED, &mark->offence);
}

/* ---- time ---- */

/* Where engine time would be if nobody had sent anything since the newest event. */
static int64_t present(const struct tc_live *l)
{
    return l->newest_ns == TC_TIME_NONE ? TC_TIME_NONE
                                        : l->newest_ns + (l->passed_ns - l->newest_passed_ns);
}

/* Our clock shows now_ns. */
static void move_clocks(struct tc_live *l, int64_t now_ns)
{
    now_ns = now_ns < 0 ? 0 : now_ns > TC_TIME_MAX ? TC_TIME_MAX : now_ns;
    if (now_ns == l->wall_ns) {
        return;
    }
    if (l->wall_ns == TC_TIME_NONE) {
        l->clock_ns = now_ns;
    } else if (now_ns > l->wall_ns) {
        int64_t step_ns = now_ns - l->wall_ns;
        l->arrived_ns += step_ns;
        step_ns = step_ns < TC__STEP_MAX_NS ? step_ns : TC__STEP_MAX_NS;
        l->passed_ns += step_ns;
        l->clock_ns += step_ns; /* and what it jumped, below */
    }
    l->wall_ns = now_ns;
    /* A clock that went back is believed when those who send agree with it. */
    if (l->clock_ns < now_ns || l->clock_ns > TC_TIME_MAX ||
        (l->clock_ns > now_ns && present(l) <= now_ns + l->config.ahead_ns)) {
        l->clock_ns = now_ns;
    }
}

/* ---- events ---- */

/* The state of an object is dated when it began, and told for as long as it holds. */
static bool is_state(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_POD_STATE || ev->kind == TC_EVENT_NODE_CONDITION;
}

static bool is_known_state(struct tc_live *l, const struct tc_event *ev)
{
    uint64_t h = tc_hash_mix((uint64_t)ev->time_ns, ev->kind);
    struct tc_lru_key key;
    h = tc_slice_hash(ev->scope.node, h);
    key.words[0] = tc_slice_hash(ev->scope.pod, h);
    key.words[1] = tc_slice_hash(ev->scope.pod_uid, h);
    if (ev->kind == TC_EVENT_NODE_CONDITION) {
        key.words[1] = tc_slice_hash(ev->k8s.type, h);
    }
    bool known = tc_lru_find(&l->states, key) != NULL;
    (void)tc_lru_put(&l->states, key, false);
    return known;
}

/* It cannot be judged with others of its time any more: that time is to be checked again. */
static void mark_late(struct tc_live *l, const struct tc_event *ev, int64_t engine_ns)
{
    struct tc_stretch stretch = {.from_ns = ev->time_ns,
                                 .to_ns = ev->time_ns,
                                 .arrived_from_ns = l->clock_ns,
                                 .arrived_to_ns = l->clock_ns,
                                 .events = 1};
    int64_t late_ns = engine_ns - ev->time_ns;
    bool too_old = late_ns > l->config.window_ns;
    l->counts.too_late++;
    if (is_state(ev)) {
        if (!too_old && !is_known_state(l, ev)) {
            tc_stretches_add(&l->late, &stretch);
        }
        return;
    }
    struct tc_source *source = tc_sources_note_late(&l->sources, ev, late_ns, l->clock_ns);
    if (too_old) {
        source->unjudged = true;
        l->counts.unjudged++;
    } else {
        tc_stretches_add(&l->late, &stretch);
    }
}

static tc_status tidy(struct tc_live *l)
{
    struct tc_turn turn = tc__live_turn(l);
    tc_status status = tc_engine_keep_room(l->engine, &turn);
    l->tidying = status == TC_E_AGAIN;
    return status;
}

tc_status tc__live_go_on(struct tc_live *l)
{
    TC_TRY(l->tidying ? tidy(l) : TC_OK);
    TC_TRY(tc__live_keep_room(l));
    return tc__live_go_on_telling(l);
}

/* An event that has waited goes to the engine. */
static tc_status hand_over(void *context, const struct tc_event *ev, bool past)
{
    struct tc_live *l = context;
    int64_t engine_ns = tc_engine_now(l->engine);
    past = past || ev->kind == TC_EVENT_RANK_PLACE; /* dated from when on it holds */
    if (ev->time_ns == TC_TIME_NONE) {
        l->counts.undated++;
    } else if (ev->time_ns < engine_ns) {
        if (!past && engine_ns - ev->time_ns > l->config.lateness_ns) {
            mark_late(l, ev, engine_ns);
            return tc__live_is_spent(l) ? TC_E_AGAIN : TC_OK;
        }
        l->counts.late++;
    } else if (!past) {
        l->newest_ns = ev->time_ns;
        l->newest_passed_ns = l->passed_ns;
    }
    l->handed = true;
    TC_TRY(tc_engine_feed(l->engine, ev));
    TC_TRY(tidy(l));
    TC_TRY(tc__live_keep_room(l));
    return tc__live_is_spent(l) ? TC_E_AGAIN : TC_OK;
}

bool tc__live_is_spent(const struct tc_live *l)
{
    return !l->is_whole && l->is_spent != NULL && l->is_spent(l->spent_context);
}

static bool is_spent(void *context)
{
    return tc__live_is_spent(context);
}

struct tc_turn tc__live_turn(struct tc_live *l)
{
    return (struct tc_turn){is_spent, l};
}

/* Goes on with what was put off, to the event: in the order in which it would have gone on. */
static tc_status hand_rest(struct tc_live *l)
{
    TC_TRY(tc__live_go_on(l));
    tc_status status = TC_OK;
    switch (l->handing) {
    case TC__HANDING_NONE:
        return TC_OK;
    case TC__HANDING_DUE:
        status =
            tc__reorder_release(&l->hold, l->handing_due_ns, l->handing_clock_ns, hand_over, l);
        break;
    case TC__HANDING_NEAR:
        status =
            tc__reorder_flush_near(&l->hold, &l->handing_left, hand_over, l, &l->counts.cut_short);
        break;
    case TC__HANDING_AHEAD:
        status =
            tc__reorder_flush_ahead(&l->hold, &l->handing_left, hand_over, l, &l->counts.cut_short);
        break;
    }
    l->handing = status == TC_E_AGAIN ? l->handing : TC__HANDING_NONE;
    return status;
}

static tc_status release_due(struct tc_live *l, int64_t due_ns, int64_t clock_ns)
{
    TC_TRY(hand_rest(l));
    l->handing = TC__HANDING_DUE;
    l->handing_due_ns = due_ns;
    l->handing_clock_ns = clock_ns;
    return hand_rest(l);
}

static tc_status release(struct tc_live *l)
{
    return release_due(l, l->arrived_ns, l->clock_ns);
}

static tc_status flush(struct tc_live *l, bool ahead)
{
    l->handing = ahead ? TC__HANDING_AHEAD : TC__HANDING_NEAR;
    l->handing_left = ahead ? tc__reorder_half_ahead(&l->hold) : tc__reorder_half_near(&l->hold);
    return hand_rest(l);
}

/* The hold is over for what was handed over: what it leads to need not wait for more. */
static tc_status conclude(struct tc_live *l)
{
    if (!l->handed) {
        return TC_OK;
    }
    l->handed = false;
    return tc_engine_tick(l->engine);
}

static tc_status keep(struct tc_live *l, const struct tc_event *ev, bool past)
{
    /* What will be past when its hold is over needs no place by its date. */
    bool ahead = ev->time_ns > l->clock_ns + l->config.hold_ns;
    if (!tc__reorder_fits(&l->hold, ev)) {
        l->counts.too_large++;
        return TC_OK;
    }
    for (bool released = false;; released = true) {
        if (ahead ? tc__reorder_add_ahead(&l->hold, ev, past)
                  : tc__reorder_add(&l->hold, ev, l->arrived_ns + l->config.hold_ns, past)) {
            return TC_OK;
        }
        TC_TRY(released ? flush(l, ahead) : release(l));
    }
}

void tc_live_sender(struct tc_live *l, uint32_t sender)
{
    l->hold.sender = sender;
}

/* `is_dated`: by its source, whose clock may be fast. */
static tc_status feed(struct tc_live *l, const struct tc_event *ev, bool past, bool is_dated)
{
    struct tc_event corrected;
    TC_TRY(hand_rest(l));
    if (is_dated) {
        if (ev->time_ns < 0 || ev->time_ns > TC_TIME_MAX) {
            l->counts.misdated++;
            return TC_OK;
        }
        if (ev->time_ns - l->clock_ns > (past ? l->config.ahead_ns : TC_SOURCE_AHEAD_MAX_NS)) {
            l->counts.misdated++;
            return TC_OK;
        }
        uint32_t sender = l->hold.sender != 0 ? l->hold.sender : ev->sender;
        int64_t fast_ns =
            past ? 0 : tc_sources_ahead(&l->sources, ev, sender, l->clock_ns, l->config.ahead_ns);
        if (fast_ns > 0) {
            l->counts.ahead++;
            corrected = *ev;
            tc_event_shift(&corrected, -fast_ns);
            ev = &corrected;
        }
    }
    if (l->config.hold_ns == 0 && ev->time_ns <= l->clock_ns) {
        struct tc_event sent = *ev;
        sent.sender = l->hold.sender != 0 ? l->hold.sender : ev->sender;
        TC_TRY(release(l)); /* what a longer hold kept, and what was ahead */
        tc_status status = hand_over(l, &sent, past);
        return status == TC_E_AGAIN ? TC_OK : status; /* it has gone */
    }
    return keep(l, ev, past);
}

tc_status tc_live_feed(struct tc_live *l, const struct tc_event *ev, int64_t arrival_ns, bool past)
{
    move_clocks(l, arrival_ns);
    tc_status status = feed(l, ev, past, ev->time_ns != TC_TIME_NONE);
    l->counts.events += status != TC_E_AGAIN;
    return status;
}

tc_status tc_live_feed_undated(struct tc_live *l, const struct tc_event *ev, int64_t time_ns,
                               int64_t arrival_ns)
{
    move_clocks(l, arrival_ns);
    struct tc_event dated = *ev;
    dated.time_ns = time_ns;
    tc_status status = feed(l, &dated, false, false);
    l->counts.events += status != TC_E_AGAIN;
    return status;
}

/* Time passes without events, silence_ns behind, and never ahead of our clock. */
static tc_status pass_time(struct tc_live *l)
{
    int64_t now_ns = present(l);
    if (now_ns == TC_TIME_NONE) {
        return TC_OK;
    }
    now_ns -= l->config.silence_ns;
    return tc_engine_advance(l->engine, now_ns < l->clock_ns ? now_ns : l->clock_ns);
}

/* Files that ended are to be settled. What they say has waited at first_ns or later, and all of it
 * at ended_ns. */
static void settle_later(struct tc_live *l, int64_t first_ns)
{
    if (l->settle_ns == INT64_MAX) {
        l->settle_first_ns = first_ns;
    }
    int64_t quiet_ns = l->settle_found ? TC__SETTLE_FOUND_NS : TC__SETTLE_NS;
    int64_t most_ns = l->settle_found ? TC__SETTLE_FOUND_MAX_NS : TC__SETTLE_MAX_NS;
    l->settle_ns = tc__live_sooner(l->ended_ns + quiet_ns, l->settle_first_ns + most_ns);
}

/*
 * Files that ended are settled. Where nobody sends anything about the present, no time passes that
 * would bring out what detectors hold back: there it is as at the end of all input.
 */
static tc_status settle(struct tc_live *l)
{
    if (l->settle_ns == INT64_MAX) {
        return TC_OK;
    }
    l->settle_ns = INT64_MAX;
    if (l->ended_ns > l->arrived_ns) { /* what the last of them says still waits */
        settle_later(l, l->arrived_ns);
    } else {
        l->settle_found = false;
    }
    return l->newest_ns == TC_TIME_NONE ? tc_engine_finish(l->engine, TC_TIME_NONE)
                                        : tc_engine_settle(l->engine);
}

tc_status tc_live_advance(struct tc_live *l, int64_t now_ns)
{
    move_clocks(l, now_ns);
    TC_TRY(release(l));
    TC_TRY(conclude(l));
    TC_TRY(pass_time(l));
    if (l->settle_ns <= l->arrived_ns) {
        TC_TRY(settle(l));
    }
    return tc__live_publish(l, false);
}

tc_status tc_live_end_of_file(struct tc_live *l, int64_t now_ns, bool found)
{
    move_clocks(l, now_ns);
    /* What it says waits with what others said, and is all there when the hold is over. Where
     * nobody said anything, more files may follow at once: each is whole for the next. */
    bool waits = tc__reorder_has_present(&l->hold);
    TC_TRY(waits ? release(l) : release_due(l, INT64_MAX - 1, l->clock_ns));
    l->ended_ns = l->arrived_ns + (waits ? l->config.hold_ns : 0);
    l->settle_found = l->settle_found || found;
    settle_later(l, l->ended_ns);
    return tc__live_publish(l, false);
}

tc_status tc_live_replaying(struct tc_live *l, bool on)
{
    bool was = l->replaying;
    l->replaying = on;
    if (on || !was) {
        return on || !l->tell_all ? TC_OK : tc__live_publish(l, true);
    }
    /* What waits at the end of the replay came before anything that comes now. */
    l->replaying = true;
    TC_TRY(release_due(l, INT64_MAX - 1, l->clock_ns));
    TC_TRY(conclude(l));
    l->replaying = false;
    if (l->settle_ns != INT64_MAX) { /* more files may be on their way */
        l->settle_ns = INT64_MAX;
        l->ended_ns = l->arrived_ns;
        settle_later(l, l->ended_ns);
    }
    return tc__live_publish(l, true);
}

static tc_status drain(struct tc_live *l)
{
    TC_TRY(release_due(l, INT64_MAX - 1, INT64_MAX - 1));
    TC_TRY(conclude(l));
    l->ended_ns = l->arrived_ns;
    TC_TRY(settle(l));
    return tc__live_publish(l, true);
}

tc_status tc_live_drain(struct tc_live *l, int64_t now_ns)
{
    move_clocks(l, now_ns);
    l->is_whole = true;
    tc_status status = drain(l);
    l->is_whole = false;
    return status;
}

int64_t tc_live_due(const struct tc_live *l)
{
    if (l->wall_ns == TC_TIME_NONE) {
        return TC_TIME_NONE;
    }
    if (l->handing != TC__HANDING_NONE || l->tidying) {
        return l->wall_ns;
    }
    int64_t due_ns = l->arrived_ns + TC__PULSE_NS;
    due_ns = tc__live_sooner(due_ns, tc__reorder_due_near(&l->hold));
    due_ns = tc__live_sooner(due_ns, tc__live_publish_due(l));
    due_ns = tc__live_sooner(due_ns, l->settle_ns);
    int64_t wait_ns = due_ns - l->arrived_ns;
    int64_t ahead_ns = tc__reorder_due_ahead(&l->hold);
    wait_ns = ahead_ns == INT64_MAX ? wait_ns : tc__live_sooner(wait_ns, ahead_ns - l->clock_ns);
    return l->wall_ns + (wait_ns > 0 ? wait_ns : 0);
}

bool tc_live_is_behind(const struct tc_live *l)
{
    return l->handing != TC__HANDING_NONE || l->tidying || tc__live_is_telling(l);
}

size_t tc_live_room(const struct tc_live *l)
{
    size_t used = tc__reorder_near_bytes(&l->hold);
    return tc_live_is_behind(l) || used > l->hold.near.size ? 0 : l->hold.near.size - used;
}

tc_status tc_live_cut_short(struct tc_live *l)
{
    TC_ASSERT(!tc_live_is_behind(l));
    return flush(l, false);
}

size_t tc_live_room_max(const struct tc_live *l)
{
    return l->hold.near.size;
}

void tc_live_counts(const struct tc_live *l, struct tc_live_counts *out)
{
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    *out = l->counts;
    out->told_forgotten = tc_engine_incidents(l->engine)->told->forgotten;
    out->held = tc__reorder_count(&l->hold);
    out->incidents = kept->count;
    out->open = 0;
    for (size_t i = 0; i < kept->count; i++) {
        out->open += kept->items[i].verdict.status != TC_VERDICT_RESOLVED;
    }
    struct tc_directory_counts known;
    tc_directory_counts(tc_engine_directory(l->engine), &known);
    out->places = known.statements;
    out->places_forgotten = known.statements_forgotten;
    out->engine_ns = tc_engine_now(l->engine);
}

uint64_t tc_live_changes(const struct tc_live *l)
{
    return tc_story_changes(l->story);
}

tc_status tc_live_list(struct tc_live *l, size_t count, tc_verdict_fn verdict, void *context)
{
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    for (size_t i = 0; i < kept->count && i < count; i++) {
        TC_TRY(verdict(context, &kept->items[kept->count - 1 - i].verdict));
    }
    return TC_OK;
}
