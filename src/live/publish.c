/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the engine's verdicts to what leaves. Verdicts are kept by incident, linked, and compared
 * with what was told before by a hash over what a reader would notice, links included.
 */
#include "base/time.h"
#include "live/live_priv.h"

#include <stdlib.h>

/* Of incidents_max that make room at once: all are linked first, so each that comes in a storm pays
 * for the linking of this many. */
#define FORGET_SHARE 8
/* Of incidents_max that are free when room is made, between two events. */
#define SPARE_SHARE 32

/*
 * The last bits of a hash say how much the links told: causes, whether it is a root, whether it is
 * part of a story. So what was told before can be seen to have been more.
 */
#define CAUSES_MASK UINT64_C(0xf)
#define ROOT_BIT UINT64_C(0x10)
#define GROUP_BIT UINT64_C(0x20)
#define LINK_BITS UINT64_C(0x3f)

static uint64_t told_hash(const struct tc_verdict *v)
{
    uint64_t causes = v->cause_count < CAUSES_MASK ? v->cause_count : CAUSES_MASK;
    uint64_t links =
        causes | (v->finding->root ? ROOT_BIT : 0) | (v->group.len > 0 ? GROUP_BIT : 0);
    uint64_t h = tc_hash_mix(v->content, v->status == TC_VERDICT_RESOLVED);
    h = tc_slice_hash(v->finding->discriminator, h);
    h = tc_slice_hash(v->group, h);
    for (size_t i = 0; i < v->cause_count; i++) {
        h = tc_slice_hash(v->causes[i].incident_id, h);
        h = tc_slice_hash(v->causes[i].why, h);
    }
    h = tc_hash_mix(h, v->cause_count);
    const struct tc_recurrence *past = v->recurrence;
    for (size_t i = 0; past != NULL && i < past->earlier_count; i++) {
        h = tc_slice_hash(past->earlier[i].incident_id, h ^ (uint64_t)past->count);
    }
    return (h & ~LINK_BITS) | links;
}

static bool is_over(enum tc_verdict_status status)
{
    return status == TC_VERDICT_RESOLVED;
}

/* ---- telling ---- */

/*
 * A replay does not reach back to everything that an earlier process linked. That a link is
 * missing after it is no news; what the finding says is, and so is a link more.
 */
static bool only_lost_links(const struct tc_verdict *v, const struct tc_incident_said *said,
                            uint64_t hash)
{
    return said->earlier && said->content == v->content &&
           is_over((enum tc_verdict_status)said->status) == is_over(v->status) &&
           ((hash & CAUSES_MASK) < (said->hash & CAUSES_MASK) ||
            (~hash & said->hash & (ROOT_BIT | GROUP_BIT)) != 0);
}

static tc_status say(struct tc_live *l, struct tc_incident_entry *kept,
                     enum tc_verdict_status status, uint64_t hash)
{
    struct tc_verdict out = kept->verdict;
    struct tc_incident_mark mark = {.pattern_id = out.finding->pattern_id,
                                    .key = out.finding->key,
                                    .incident_id = out.incident_id,
                                    .status = status,
                                    .first_ns = out.first_ns,
                                    .detected_ns = out.detected_ns,
                                    .content = out.content,
                                    .told = hash,
                                    .offence = tc_offence_of(&out)};
    out.status = status;
    TC_TRY(l->out.verdict(l->out.context, &out, &mark));
    TC_TRY(tc_incidents_note_told(tc_engine_incidents(l->engine), &mark, false));
    kept->said = (struct tc_incident_said){.hash = hash,
                                           .content = out.content,
                                           .at_ns = l->arrived_ns,
                                           .status = (uint8_t)status,
                                           .opened = true,
                                           .checked = kept->said.checked};
    l->counts.verdicts++;
    l->counts.opened += status == TC_VERDICT_OPEN;
    l->counts.updated += status == TC_VERDICT_UPDATED;
    l->counts.resolved += status == TC_VERDICT_RESOLVED;
    return TC_OK;
}

/* One incident, when there is something new to say about it and it is time. */
static tc_status tell_one(struct tc_live *l, size_t at, bool all)
{
    struct tc_incident_entry *kept = &tc_story_verdicts(l->story)->items[at];
    const struct tc_verdict *v = &kept->verdict;
    const struct tc_incident_said *said = &kept->said;
    uint64_t hash = l->hashes[at];
    if (said->opened && (said->hash == hash || only_lost_links(v, said, hash))) {
        return TC_OK;
    }
    if (!said->opened) {
        /* Every incident is opened, once, before anything else is told of it. */
        TC_TRY(say(l, kept, TC_VERDICT_OPEN, hash));
        return is_over(v->status) ? say(l, kept, TC_VERDICT_RESOLVED, hash) : TC_OK;
    }
    bool turned = is_over((enum tc_verdict_status)said->status) != is_over(v->status);
    int64_t due_ns = said->at_ns == TC_TIME_NONE ? TC_TIME_NONE : said->at_ns + TC__UPDATE_NS;
    if (!all && !turned && due_ns > l->arrived_ns) {
        l->tell_ns = due_ns < l->tell_ns ? due_ns : l->tell_ns;
        return TC_OK;
    }
    return say(l, kept, is_over(v->status) ? TC_VERDICT_RESOLVED : TC_VERDICT_UPDATED, hash);
}

/* When new statements are taken into account: at once where they are few. */
static int64_t place_due(const struct tc_live *l)
{
    struct tc_directory_counts known;
    tc_directory_counts(tc_engine_directory(l->engine), &known);
    return l->placed_ns + TC__PLACE_PAUSE_NS(known.statements);
}

static tc_status link_stories(struct tc_live *l)
{
    const struct tc_directory *directory = tc_engine_directory(l->engine);
    struct tc_turn turn = tc__live_turn(l);
    if (l->hash_at > 0) {
        return TC_OK; /* that is done */
    }
    TC_TRY(l->link_anew ? tc_story_link(l->story, directory, &turn)
                        : tc_story_relink(l->story, directory, &turn));
    if (l->link_anew) {
        l->placed_ns = l->arrived_ns;
        l->linked_version = tc_directory_version(directory);
    }
    return TC_OK;
}

static tc_status hash_all(struct tc_live *l)
{
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    while (l->hash_at < kept->count) {
        l->hashes[l->hash_at] = told_hash(&kept->items[l->hash_at].verdict);
        l->hash_at++;
        if (tc__live_is_spent(l)) {
            return TC_E_AGAIN;
        }
    }
    return TC_OK;
}

/* Begins a linking, or goes on with it. */
static tc_status link_all(struct tc_live *l, bool anew)
{
    if (!l->linking) {
        l->linking = true;
        l->link_anew = anew || place_due(l) <= l->arrived_ns;
        l->hash_at = 0;
    }
    tc_status status = link_stories(l);
    status = status == TC_OK ? hash_all(l) : status;
    if (status == TC_E_AGAIN) {
        return status;
    }
    l->linking = false;
    l->changed = status != TC_OK; /* then the hashes are of no use */
    l->linked_ns = status == TC_OK ? l->arrived_ns : l->linked_ns;
    return status;
}

/* When links are due to be made anew. */
static int64_t link_due(const struct tc_live *l)
{
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    bool moved = kept->count > 0 &&
                 tc_directory_version(tc_engine_directory(l->engine)) != l->linked_version;
    if (l->urgent) {
        return l->linked_ns + TC__LINK_PAUSE_NS(kept->count);
    }
    int64_t due_ns = l->changed || moved ? l->linked_ns + TC__UPDATE_NS : INT64_MAX;
    return moved && !l->changed && due_ns < place_due(l) ? place_due(l) : due_ns;
}

/* `anew`: with all that was said of who runs where until now. */
static tc_status tell(struct tc_live *l, bool all, bool anew)
{
    bool stale =
        l->changed || tc_directory_version(tc_engine_directory(l->engine)) != l->linked_version;
    bool rest = l->tell_at > 0; /* of one that was put off: nothing has changed since */
    all = all || l->tell_all;
    bool link = l->linking || (!rest && ((all && stale) || link_due(l) <= l->arrived_ns));
    if (!link && !rest && !(all && l->untold) && l->tell_ns > l->arrived_ns) {
        return TC_OK;
    }
    if (link || l->changed) { /* what a change let go of cannot be told */
        tc_status status = link_all(l, anew);
        l->tell_all = all && status == TC_E_AGAIN;
        l->tell_ns = status == TC_OK ? l->tell_ns : l->arrived_ns;
        TC_TRY(status);
    }
    const struct tc_incident_table *kept = tc_story_verdicts(l->story);
    l->untold = true;
    l->tell_ns = l->tell_at == 0 ? INT64_MAX : l->tell_later_ns;
    for (size_t i = l->tell_at; i < kept->count; i++) {
        uint64_t said = l->counts.verdicts;
        tc_status status = tell_one(l, i, all);
        bool is_cut = status == TC_OK && l->counts.verdicts > said && tc__live_is_spent(l);
        if (is_cut || status != TC_OK) { /* the rest is told the next time */
            l->tell_at = is_cut ? i + 1 : 0;
            l->tell_all = is_cut ? all : l->tell_all;
            l->tell_later_ns = l->tell_ns;
            l->tell_ns = l->arrived_ns;
            return is_cut ? TC_E_AGAIN : status;
        }
    }
    l->tell_at = 0;
    l->tell_all = false;
    l->urgent = false;
    l->untold = l->tell_ns != INT64_MAX;
    return TC_OK;
}

bool tc__live_is_telling(const struct tc_live *l)
{
    return l->linking || l->tell_at > 0;
}

tc_status tc__live_go_on_telling(struct tc_live *l)
{
    return tc__live_is_telling(l) ? tell(l, false, false) : TC_OK;
}

tc_status tc__live_publish(struct tc_live *l, bool all)
{
    return l->replaying ? TC_OK : tell(l, all, all);
}

int64_t tc__live_publish_due(const struct tc_live *l)
{
    int64_t due_ns = link_due(l);
    return l->replaying ? INT64_MAX : (due_ns < l->tell_ns ? due_ns : l->tell_ns);
}

/* ---- taking ---- */

static void forget_some(struct tc_live *l)
{
    size_t kept = tc_story_verdicts(l->story)->count;
    size_t most = l->config.incidents_max;
    size_t count = most / FORGET_SHARE + 1 + (kept > most ? kept - most : 0);
    tc_story_forget(l->story, count);
    l->counts.forgotten += count;
    l->changed = true;
}

/* Everything is told before some of it is forgotten, in a replay too, and while the engine waits:
 * one event had more findings than there is room for over incidents_max. */
static tc_status make_room(struct tc_live *l)
{
    if (tc_story_verdicts(l->story)->count < tc__live_incidents_most(l)) {
        return TC_OK;
    }
    bool was_whole = l->is_whole;
    l->is_whole = true;
    tc_status status = tell(l, true, false);
    l->is_whole = was_whole;
    if (status == TC_OK) {
        forget_some(l);
    }
    return status;
}

size_t tc__live_incidents_most(const struct tc_live *l)
{
    size_t most = l->config.incidents_max;
    most = most / SPARE_SHARE > 0 ? 2 * most : most;
    return most < TC_INCIDENT_TABLE_MAX ? most : TC_INCIDENT_TABLE_MAX;
}

/* The same between two events, where it can be put off. */
tc_status tc__live_keep_room(struct tc_live *l)
{
    size_t spare = l->config.incidents_max / SPARE_SHARE;
    if (spare == 0 || tc_story_verdicts(l->story)->count <= l->config.incidents_max - spare) {
        return TC_OK;
    }
    if (!l->tell_all) { /* one that is under way and leaves something out */
        TC_TRY(tc__live_go_on_telling(l));
    }
    TC_TRY(tell(l, true, false));
    forget_some(l);
    return TC_OK;
}

/* What was told of an incident before it left the stories, or before a restart. */
static void recall(struct tc_live *l, struct tc_incident_entry *kept)
{
    const struct tc_incident_told *told = tc_incidents_told(
        tc_engine_incidents(l->engine), kept->finding.pattern_id, kept->finding.key);
    if (told != NULL) {
        kept->said = (struct tc_incident_said){.hash = told->hash,
                                               .content = told->content,
                                               .at_ns = TC_TIME_NONE,
                                               .status = told->status,
                                               .opened = true,
                                               .earlier = told->earlier};
    }
}

tc_status tc__live_take(void *context, const struct tc_verdict *v)
{
    struct tc_live *l = context;
    struct tc_incident_table *kept = tc_story_verdicts(l->story);
    size_t at = tc_incident_table_find(kept, v->incident_id);
    bool fresh = at == TC_INCIDENT_NONE;
    if (fresh) {
        TC_TRY(make_room(l));
    } else if (tc__live_keeps_checked(l, &kept->items[at], v->finding)) {
        return TC_OK;
    }
    TC_TRY(tc_story_add(l->story, v));
    struct tc_incident_entry *entry = &kept->items[tc_incident_table_find(kept, v->incident_id)];
    if (fresh) {
        recall(l, entry);
    }
    entry->said.checked = l->adopting;
    l->changed = true;
    l->linking = false; /* what was under way knows nothing of it */
    l->tell_at = 0;
    l->urgent = l->urgent || !entry->said.opened ||
                is_over((enum tc_verdict_status)entry->said.status) != is_over(v->status);
    return TC_OK;
}
