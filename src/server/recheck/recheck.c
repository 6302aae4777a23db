/* SPDX-License-Identifier: Apache-2.0 */
#include "server/recheck/recheck.h"

#include "base/format.h"
#include "base/time.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "offline/pipeline.h"
#include "server/recheck/priv.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Nothing late has come for so long, or the first of it so long ago: it is time to look. */
#define QUIET_NS (2 * TC_SECOND)
#define LONGEST_NS (10 * TC_SECOND)
/* The pause after a recheck: so many times its processor time, and while nothing new is found
 * twice the last one, up to the longest. */
#define PAUSE_SHARE 10
#define PAUSE_MAX_NS (600 * TC_SECOND)
/* Events wait for others before they are told to be late: their batch came so long before at most.
 */
#define HELD_NS (10 * TC_SECOND)
/* A stretch and when it was told, no further apart than this: all that came between is read. */
#define WHOLE_NS (2 * 3600 * TC_SECOND)
/* Findings that are taken over in one turn of the loop. */
#define ADOPTED_PER_TURN 64
#define NICENESS 10

struct tc_recheck *tc_recheck_create(const struct tc_config *config, struct tc_live *live,
                                     struct tc_cited *cited, const char *evidence_dir)
{
    struct tc_recheck *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    r->config = *config;
    r->live = live;
    r->cited = cited;
    r->evidence_dir = evidence_dir;
    return r;
}

static void end_thread(struct tc_recheck *r)
{
    (void)pthread_join(r->thread, NULL);
    r->state = TC__RECHECK_IDLE;
}

/* Gives up what a recheck holds. */
static void release(struct tc_recheck *r)
{
    tc_ordered_destroy(r->ordered);
    r->ordered = NULL;
    tc_offline_fini(&r->offline);
    r->offline = (struct tc_offline){0};
    r->state = TC__RECHECK_IDLE;
}

void tc_recheck_destroy(struct tc_recheck *r)
{
    if (r == NULL) {
        return;
    }
    atomic_store(&r->cancel, true);
    if (r->state == TC__RECHECK_RUNNING) {
        end_thread(r);
    }
    release(r);
    free(r->watched);
    free(r);
}

void tc_recheck_configure(struct tc_recheck *r, const struct tc_config *config)
{
    r->config = *config;
}

/* ---- the thread ---- */

/* Whether a finding cites what came late. */
static bool cites_late(const struct tc_recheck *r, const struct tc_finding *f)
{
    for (size_t i = 0; i < f->evidence_count; i++) {
        int64_t arrival_ns = 0;
        int64_t time_ns = f->evidence[i].time_ns;
        if (tc_ordered_arrival(r->ordered, f->evidence[i].raw.source, &arrival_ns) &&
            arrival_ns >= r->late.arrived_from_ns - HELD_NS &&
            arrival_ns <= r->late.arrived_to_ns && time_ns >= r->late.from_ns &&
            time_ns <= r->late.to_ns) {
            return true;
        }
    }
    return false;
}

static bool has_digest(const struct tc_recheck *r, uint64_t number)
{
    for (size_t i = 0; i < r->digest_count; i++) {
        if (r->digests[i].number == number) {
            return true;
        }
    }
    return false;
}

static void make_digests_of(struct tc_recheck *r, const struct tc_finding *f)
{
    for (size_t i = 0; i < f->evidence_count && r->digest_count < TC__DIGESTS_MAX; i++) {
        struct tc__digest_of *to = &r->digests[r->digest_count];
        struct tc_error err = {0};
        uint64_t number = tc_ordered_batch(r->ordered, f->evidence[i].raw.source);
        if (number == 0 || has_digest(r, number)) {
            continue;
        }
        to->number = number;
        r->digest_count += tc_ordered_digest(r->ordered, number, &to->digest, &err) == TC_OK;
    }
}

/* Who tells the findings needs the digests of what they cite: here nobody waits for them. */
static void make_digests(struct tc_recheck *r)
{
    const struct tc_incident_table *found = tc_story_verdicts(r->offline.story);
    r->digest_count = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (cites_late(r, &found->items[i].finding)) {
            make_digests_of(r, &found->items[i].finding);
        }
    }
}

static void *run(void *context)
{
    struct tc_recheck *r = context;
    struct timespec spent = {0};
    struct tc_offline_watch watch = {0};
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    r->status = tc_offline_run_stored(&r->offline, r->ordered, r->end_ns, &watch, &r->error);
    /* By time: what others are explained by comes first. */
    tc_incident_table_sort(tc_story_verdicts(r->offline.story));
    make_digests(r);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    r->spent_ns = (int64_t)spent.tv_sec * TC_SECOND + spent.tv_nsec;
    atomic_store(&r->done, true);
    return NULL;
}

/* ---- the beginning ---- */

static struct tc_ordered_want want_of(const struct tc_recheck *r)
{
    const struct tc_stretch *s = &r->stretch;
    int64_t margin_ns = r->config.detection_recheck_margin;
    struct tc_ordered_want want = {
        .evidence_dir = r->evidence_dir,
        .from_ns = s->from_ns - margin_ns,
        .to_ns = r->end_ns,
        .ahead_ns = r->config.detection_ahead,
        .memory_bytes = (size_t)r->config.detection_recheck_bytes,
        .cancel = &r->cancel,
    };
    int64_t late_to_ns = s->arrived_to_ns;
    want.arrived_from_ns[0] = want.from_ns - TC_SECOND;
    want.arrived_to_ns[0] = want.to_ns + r->config.detection_lateness + HELD_NS;
    want.arrived_from_ns[1] = s->arrived_from_ns - HELD_NS;
    want.arrived_to_ns[1] = late_to_ns;
    if (r->is_recorded) {
        want.arrived_from_ns[0] = s->arrived_from_ns - WHOLE_NS;
        want.arrived_to_ns[0] = late_to_ns;
    } else if (late_to_ns - want.from_ns <= WHOLE_NS && late_to_ns > want.arrived_to_ns[0]) {
        want.arrived_to_ns[0] = late_to_ns;
    }
    return want;
}

static tc_status begin(struct tc_recheck *r, struct tc_error *err)
{
    struct tc_ordered_want want = want_of(r);
    r->offline.gpus = r->config.detection_gpus;
    TC_TRY(tc_offline_prepare(&r->offline, err));
    TC_TRY(tc_config_tune(&r->config, r->offline.engine, err));
    TC_TRY(tc_ordered_create(&want, &r->ordered, err));
    atomic_store(&r->done, false);
    if (pthread_create(&r->thread, NULL, run, r) != 0) {
        return tc_fail(err, TC_E_IO, 0, "no thread can be started");
    }
    r->state = TC__RECHECK_RUNNING;
    return TC_OK;
}

/* When the next may begin. */
static void pause_after(struct tc_recheck *r, int64_t now_ns, bool is_news)
{
    int64_t spent_ns = r->spent_ns * PAUSE_SHARE;
    r->pause_ns = is_news ? 0 : 2 * r->pause_ns + TC_SECOND;
    r->pause_ns = r->pause_ns < PAUSE_MAX_NS ? r->pause_ns : PAUSE_MAX_NS;
    r->next_ns = now_ns + (spent_ns > r->pause_ns ? spent_ns : r->pause_ns);
}

static void give_up(struct tc_recheck *r, int64_t now_ns, const char *why)
{
    tc_live_give_up(r->live, &r->late);
    pause_after(r, now_ns, false);
    tc_log_fields(TC_LOG_WARN, "late events cannot be judged",
                  TC_LOG_NUMBER("events", (int64_t)r->late.events), TC_LOG_CSTR("why", why),
                  TC_LOG_CSTR("try", "tracecore detect --data-dir"));
    release(r);
}

static void start_due(struct tc_recheck *r, int64_t now_ns)
{
    struct tc_error err = {0};
    struct tc_live_counts counts;
    struct tc_stretch_wait wait = {QUIET_NS, LONGEST_NS, r->config.detection_recheck_quiet};
    if (now_ns < r->next_ns || !tc_live_take_stretch(r->live, &wait, &r->stretch)) {
        return;
    }
    tc_live_counts(r->live, &counts);
    r->late = r->stretch;
    tc_live_widen(r->live, &r->stretch);
    int64_t oldest_ns = counts.engine_ns - r->config.detection_recheck_window;
    r->stretch.from_ns = r->stretch.from_ns < oldest_ns ? oldest_ns : r->stretch.from_ns;
    r->is_recorded = now_ns - counts.engine_ns > r->config.detection_recheck_margin;
    /* More of it may be on its way: that it is silent behind its end means nothing yet. */
    r->end_ns = r->stretch.to_ns + (r->late.looked ? r->config.detection_recheck_margin : HELD_NS);
    r->end_ns = r->end_ns < counts.engine_ns ? r->end_ns : counts.engine_ns;
    tc_count(TC_COUNT_RECHECKS, 1);
    if (begin(r, &err) != TC_OK) {
        give_up(r, now_ns, err.message);
    }
}

/* ---- what was found ---- */

/* The causes of a finding by key, as detectors give them: the ids are another engine's. */
static size_t find_causes(const struct tc_recheck *r, const struct tc_incident_entry *entry,
                          struct tc_cause *out, size_t max)
{
    const struct tc_incident_table *found = tc_story_verdicts(r->offline.story);
    size_t count = 0;
    for (size_t i = 0; i < entry->own_cause_count && count < max; i++) {
        size_t at = tc_incident_table_find(found, entry->own_causes[i].incident_id);
        if (at != TC_INCIDENT_NONE) {
            out[count++] = (struct tc_cause){.key = found->items[at].finding.key,
                                             .why = entry->own_causes[i].why};
        }
    }
    return count;
}

/*
 * Whether a finding that nobody knows is to be believed: it cites what came late, or is about a
 * node that was late and begins in the stretch. Others merely begin where the reading begins.
 */
static bool is_of_late(const struct tc_recheck *r, const struct tc_finding *f)
{
    return cites_late(r, f) || (f->first_ns >= r->late.from_ns && f->first_ns <= r->late.to_ns &&
                                tc_sources_is_late(tc_live_sources(r->live), f->scope.node));
}

static tc_status adopt_one(struct tc_recheck *r, const struct tc_incident_entry *entry,
                           int64_t now_ns)
{
    struct tc_cause causes[TC__CAUSES_MAX];
    struct tc_finding f = entry->finding;
    struct tc_live_adopted adopted;
    f.causes = causes;
    f.cause_count = find_causes(r, entry, causes, TC__CAUSES_MAX);
    TC_TRY(tc_live_adopt(r->live, &f, is_of_late(r, &f), &adopted));
    if (adopted.is_news) {
        r->news++;
        tc_count(TC_COUNT_RECHECK_NEWS, 1);
    }
    if (adopted.is_opened) {
        tc__recheck_watch(r, &f, adopted.key, now_ns);
    }
    return TC_OK;
}

static struct tc_slice time_text(int64_t ns, char text[static TC_PUT_TIME_MAX])
{
    struct tc_buf b = tc_buf_make(text, TC_PUT_TIME_MAX);
    tc_buf_time(&b, ns);
    return tc_buf_slice(&b);
}

static void say_done(struct tc_recheck *r, int64_t now_ns)
{
    struct tc_ordered_counts counts;
    tc_ordered_counts(r->ordered, &counts);
    pause_after(r, now_ns, r->news > 0);
    if (!r->late.looked) { /* once more, when nothing of it has come for long */
        struct tc_stretch again = r->late;
        again.looked = true;
        tc_live_add_stretch(r->live, &again);
    }
    char from[TC_PUT_TIME_MAX];
    char to[TC_PUT_TIME_MAX];
    tc_log_fields(TC_LOG_INFO, "late events were judged with others of their time",
                  TC_LOG_NUMBER("events", (int64_t)r->late.events),
                  TC_LOG_TEXT("from", time_text(r->late.from_ns, from)),
                  TC_LOG_TEXT("to", time_text(r->late.to_ns, to)),
                  TC_LOG_NUMBER("batches", (int64_t)counts.batches),
                  TC_LOG_NUMBER("unread", (int64_t)(counts.unread + counts.damaged)),
                  TC_LOG_NUMBER("read", (int64_t)counts.events),
                  TC_LOG_NUMBER("incidents_changed", (int64_t)r->news));
    release(r);
}

static void take_over(struct tc_recheck *r, int64_t now_ns)
{
    end_thread(r);
    if (r->status != TC_OK) {
        give_up(r, now_ns,
                r->error.message[0] != '\0' ? r->error.message : tc_status_text(r->status));
        return;
    }
    for (size_t i = 0; r->cited != NULL && i < r->digest_count; i++) {
        tc_cited_know(r->cited, r->digests[i].number, &r->digests[i].digest);
    }
    r->state = TC__RECHECK_ADOPTING;
    r->adopted = 0;
    r->news = 0;
}

static tc_status adopt_some(struct tc_recheck *r, int64_t now_ns)
{
    const struct tc_incident_table *found = tc_story_verdicts(r->offline.story);
    for (size_t i = 0; i < ADOPTED_PER_TURN && r->adopted < found->count; i++) {
        TC_TRY(adopt_one(r, &found->items[r->adopted], now_ns));
        r->adopted++;
    }
    if (r->adopted == found->count) {
        say_done(r, now_ns);
    }
    return TC_OK;
}

tc_status tc_recheck_advance(struct tc_recheck *r, int64_t now_ns)
{
    if (r->state == TC__RECHECK_RUNNING && atomic_load(&r->done)) {
        take_over(r, now_ns);
    }
    if (r->state == TC__RECHECK_ADOPTING) {
        return adopt_some(r, now_ns);
    }
    if (now_ns >= r->looked_ns && now_ns - r->looked_ns < TC_SECOND) {
        return TC_OK;
    }
    r->looked_ns = now_ns;
    tc__recheck_look(r, now_ns);
    tc__recheck_say_sources(r, now_ns);
    if (r->state == TC__RECHECK_IDLE) {
        start_due(r, now_ns);
    }
    return TC_OK;
}

int64_t tc_recheck_judged_until(const struct tc_recheck *r)
{
    int64_t since_ns = tc_live_late_since(r->live);
    if (r->state != TC__RECHECK_IDLE && r->late.arrived_from_ns < since_ns) {
        since_ns = r->late.arrived_from_ns;
    }
    return since_ns == INT64_MAX ? INT64_MAX : since_ns - HELD_NS;
}
