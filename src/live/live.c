/* SPDX-License-Identifier: Apache-2.0 */
#include "live/live.h"

#include "base/time.h"
#include "live/live_priv.h"

#include <stdlib.h>

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
        l->hashes = calloc(l->config.incidents_max, sizeof *l->hashes);
        ok =
            l->story != NULL && l->hashes != NULL && tc__reorder_init(&l->hold, config->hold_bytes);
    }
    if (!ok) {
        tc_live_destroy(l);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the events that wait and the verdicts");
    }
    struct tc_engine_out taken = {.verdict = tc__live_take,
                                  .context = l,
                                  .lag_ns = TC__LAG_NS,
                                  .statements = TC_STATEMENTS_LATEST,
                                  .told_max = l->config.told_max};
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
    now.incidents_max = l->config.incidents_max;
    now.told_max = l->config.told_max;
    l->config = now;
}

tc_status tc_live_restore(struct tc_live *l, const struct tc_incident_mark *mark)
{
    return tc_incidents_note_told(tc_engine_incidents(l->engine), mark, true);
}

/* ---- time ---- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

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

/* An event that has waited goes to the engine. */
static tc_status hand_over(void *context, const struct tc_event *ev, bool past)
{
    struct tc_live *l = context;
    int64_t engine_ns = tc_engine_now(l->engine);
    if (ev->time_ns == TC_TIME_NONE) {
        l->counts.undated++;
    } else if (ev->time_ns < engine_ns) {
        if (!past && engine_ns - ev->time_ns > l->config.lateness_ns) {
            l->counts.too_late++;
            return TC_OK;
        }
        l->counts.late++;
    } else if (!past) {
        l->newest_ns = ev->time_ns;
        l->newest_passed_ns = l->passed_ns;
    }
    l->handed = true;
    return tc_engine_feed(l->engine, ev);
}

static tc_status release(struct tc_live *l)
{
    return tc__reorder_release(&l->hold, l->arrived_ns, l->clock_ns, hand_over, l);
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
        if (!released) {
            TC_TRY(release(l));
        } else if (ahead) {
            TC_TRY(tc__reorder_flush_ahead(&l->hold, hand_over, l, &l->counts.cut_short));
        } else {
            TC_TRY(tc__reorder_flush_near(&l->hold, hand_over, l, &l->counts.cut_short));
        }
    }
}

tc_status tc_live_feed(struct tc_live *l, const struct tc_event *ev, int64_t arrival_ns, bool past)
{
    move_clocks(l, arrival_ns);
    l->counts.events++;
    if (ev->time_ns != TC_TIME_NONE) {
        if (ev->time_ns < 0 || ev->time_ns > TC_TIME_MAX) {
            l->counts.misdated++;
            return TC_OK;
        }
        if (ev->time_ns - l->clock_ns > l->config.ahead_ns) {
            l->counts.ahead++;
            return TC_OK;
        }
    }
    if (l->config.hold_ns == 0 && ev->time_ns <= l->clock_ns) {
        TC_TRY(release(l)); /* what a longer hold kept, and what was ahead */
        return hand_over(l, ev, past);
    }
    return keep(l, ev, past);
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

tc_status tc_live_end_of_file(struct tc_live *l, int64_t now_ns)
{
    move_clocks(l, now_ns);
    TC_TRY(tc__reorder_release(&l->hold, INT64_MAX - 1, l->clock_ns, hand_over, l));
    if (l->settle_ns == INT64_MAX) {
        l->settle_max_ns = l->arrived_ns + TC__SETTLE_MAX_NS;
    }
    l->settle_ns = sooner(l->arrived_ns + TC__SETTLE_NS, l->settle_max_ns);
    return tc__live_publish(l, false);
}

tc_status tc_live_replaying(struct tc_live *l, bool on)
{
    bool was = l->replaying;
    l->replaying = on;
    if (on || !was) {
        return TC_OK;
    }
    /* What waits at the end of the replay came before anything that comes now. */
    l->replaying = true;
    TC_TRY(tc__reorder_release(&l->hold, INT64_MAX - 1, l->clock_ns, hand_over, l));
    TC_TRY(conclude(l));
    l->replaying = false;
    if (l->settle_ns != INT64_MAX) { /* more files may be on their way */
        l->settle_ns = l->arrived_ns + TC__SETTLE_NS;
    }
    return tc__live_publish(l, true);
}

tc_status tc_live_drain(struct tc_live *l, int64_t now_ns)
{
    move_clocks(l, now_ns);
    TC_TRY(tc__reorder_release(&l->hold, INT64_MAX - 1, INT64_MAX - 1, hand_over, l));
    TC_TRY(conclude(l));
    TC_TRY(settle(l));
    return tc__live_publish(l, true);
}

int64_t tc_live_due(const struct tc_live *l)
{
    if (l->wall_ns == TC_TIME_NONE) {
        return TC_TIME_NONE;
    }
    int64_t due_ns = l->arrived_ns + TC__PULSE_NS;
    due_ns = sooner(due_ns, tc__reorder_due_near(&l->hold));
    due_ns = sooner(due_ns, tc__live_publish_due(l));
    due_ns = sooner(due_ns, l->settle_ns);
    int64_t wait_ns = due_ns - l->arrived_ns;
    int64_t ahead_ns = tc__reorder_due_ahead(&l->hold);
    wait_ns = ahead_ns == INT64_MAX ? wait_ns : sooner(wait_ns, ahead_ns - l->clock_ns);
    return l->wall_ns + (wait_ns > 0 ? wait_ns : 0);
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

tc_status tc_live_list(struct tc_live *l, size_t count, tc_verdict_fn verdict, void *context)
{
    /* What changed since the last linking has let go of what links point at. */
    if (l->changed) {
        TC_TRY(tc_story_relink(l->story, tc_engine_directory(l->engine)));
    }
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    for (size_t i = 0; i < kept->count && i < count; i++) {
        TC_TRY(verdict(context, &kept->items[kept->count - 1 - i].verdict));
    }
    return TC_OK;
}
