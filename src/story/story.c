/* SPDX-License-Identifier: Apache-2.0 */
#include "story/story.h"

#include "base/os/block.h"
#include "offender/offender.h"
#include "story/story_priv.h"

#include <stdlib.h>

/* Address space for one linking; only what the verdicts need is touched. */
#define LINK_BYTES_MIN ((size_t)64 << 20)
#define LINK_BYTES_A_VERDICT ((size_t)8 << 10)
/* A statement and its names, of which it has up to seven, and their index. */
#define LINK_BYTES_A_STATEMENT ((size_t)2 << 10)
#define LINK_BYTES_MAX ((size_t)1 << 30)

/* Memory that is taken anew only when it is too small: pages that were used stay at hand. */
struct block {
    struct tc_block *of;
    struct tc_arena arena;
};

/* Verdicts whose past is looked at between two questions whether there is time. */
#define JUDGED_AT_ONCE 64

/* A linking: who runs where is worked out, if that is to be done; then what follows from what; then
 * what has failed before. */
enum stage { STAGE_NONE, STAGE_PLACING, STAGE_LINKING, STAGE_JUDGING };

/*
 * Invariant: the verdicts' links point into links[shown], and into what is the verdict's own.
 * Linking writes into the other one.
 */
struct tc_story {
    struct tc_incident_table kept;
    struct block links[2];
    size_t shown;
    struct block work; /* of a linking */
    struct block place;
    struct tc__lookup lookup;
    bool placed; /* lookup can be used again */
    enum stage stage;
    struct tc__linker *linker;
    const struct tc__links *found; /* by the linker */
    struct tc_judgement *judged;   /* in the arena of the links */
    size_t judge_at;
    struct tc_offenders *offenders;
    uint64_t link_steps;
    uint64_t changes;
};

struct tc_story *tc_story_create(void)
{
    struct tc_story *s = calloc(1, sizeof *s);
    if (s != NULL) {
        s->offenders = tc_offenders_create();
    }
    if (s != NULL && s->offenders == NULL) {
        tc_story_destroy(s);
        return NULL;
    }
    return s;
}

struct tc_offenders *tc_story_offenders(struct tc_story *s)
{
    return s->offenders;
}

static void block_fini(struct block *b)
{
    if (b->of != NULL) {
        tc_arena_fini(&b->arena);
        tc_block_free(b->of);
        *b = (struct block){0};
    }
}

/* An empty arena of at least size bytes; false when there is no memory. */
static bool block_reset(struct block *b, const char *name, size_t size)
{
    if (b->of != NULL && b->of->size >= size) {
        tc_arena_reset(&b->arena);
        return true;
    }
    block_fini(b);
    b->of = tc_block_new(size);
    if (b->of == NULL) {
        return false;
    }
    tc_arena_init_zeroed(&b->arena, name, b->of->bytes, size);
    return true;
}

void tc_story_destroy(struct tc_story *s)
{
    if (s == NULL) {
        return;
    }
    block_fini(&s->links[0]);
    block_fini(&s->links[1]);
    block_fini(&s->work);
    block_fini(&s->place);
    tc_incident_table_fini(&s->kept);
    tc_offenders_destroy(s->offenders);
    free(s);
}

/* Gives up what is under way; the links stay as they were. */
static void stop_linking(struct tc_story *s)
{
    s->stage = STAGE_NONE;
}

tc_status tc_story_add(void *context, const struct tc_verdict *v)
{
    struct tc_story *s = context;
    stop_linking(s);
    s->changes++;
    struct tc_offence offence = tc_offence_of(v);
    TC_TRY(tc_offenders_note(s->offenders, v->incident_id, v->finding->pattern_id, v->first_ns,
                             v->status == TC_VERDICT_RESOLVED, &offence));
    return tc_incident_table_add(&s->kept, v);
}

static size_t block_bytes(const struct tc_story *s, const struct tc_directory *directory)
{
    struct tc_directory_counts counts;
    tc_directory_counts(directory, &counts);
    size_t bytes = LINK_BYTES_MIN + s->kept.count * LINK_BYTES_A_VERDICT;
    bytes += counts.statements * LINK_BYTES_A_STATEMENT;
    return bytes < LINK_BYTES_MAX ? bytes : LINK_BYTES_MAX;
}

/* What was found becomes the verdict's. */
static void show(struct tc_incident_entry *v, const struct tc__links *links,
                 const struct tc_judgement *judged)
{
    tc_incident_entry_unlink(v);
    v->verdict.causes = links->causes;
    v->verdict.cause_count = links->cause_count;
    v->verdict.group = links->group;
    v->finding.discriminator = links->discriminator;
    v->finding.root = links->root;
    v->story = links->story;
    if (judged->recurrence != NULL) {
        v->verdict.recurrence = judged->recurrence;
        v->finding.headline = judged->headline;
        v->finding.remediation = judged->remediation;
        v->finding.severity =
            v->verdict.status == TC_VERDICT_RESOLVED ? v->own_severity : TC_SEVERITY_CRITICAL;
    }
}

static void show_links(struct tc_story *s)
{
    for (size_t i = 0; i < s->kept.count; i++) {
        show(&s->kept.items[i], &s->found[i], &s->judged[i]);
    }
    s->shown = 1 - s->shown;
    s->changes++;
    tc_incident_table_arrange(&s->kept);
}

static bool begin_linking(struct tc_story *s, size_t bytes)
{
    struct block *links = &s->links[1 - s->shown];
    s->lookup.steps = 0;
    if (!block_reset(&s->work, "story", bytes) || !block_reset(links, "links", bytes)) {
        return false;
    }
    s->linker = tc__linker_begin(&s->kept, &s->lookup, &s->work.arena, &links->arena);
    return s->linker != NULL;
}

static bool begin_placing(struct tc_story *s, const struct tc_directory *directory, size_t bytes)
{
    s->placed = false;
    return block_reset(&s->place, "places", bytes) &&
           tc__lookup_begin(&s->lookup, directory, &s->kept, &s->place.arena);
}

static tc_status begin(struct tc_story *s, const struct tc_directory *directory, bool anew)
{
    size_t bytes = block_bytes(s, directory);
    tc_incident_table_sort(&s->kept);
    if ((anew && !begin_placing(s, directory, bytes)) || !begin_linking(s, bytes)) {
        return TC_E_NOMEM;
    }
    s->stage = anew ? STAGE_PLACING : STAGE_LINKING;
    return TC_OK;
}

/* How often what each verdict is about has failed. */
static tc_status judge(struct tc_story *s, const struct tc_turn *turn)
{
    struct tc_arena *arena = &s->links[1 - s->shown].arena;
    if (s->judge_at == 0) {
        s->judged = tc_new(arena, struct tc_judgement, s->kept.count);
    }
    if (s->judged == NULL) {
        return TC_E_NOMEM;
    }
    while (s->judge_at < s->kept.count) {
        /* With the detector's own words: those that are shown are of the last time. */
        const struct tc_incident_entry *kept = &s->kept.items[s->judge_at];
        struct tc_finding own = kept->finding;
        struct tc_verdict v = kept->verdict;
        own.headline = kept->own_headline;
        own.remediation = kept->own_remediation;
        v.finding = &own;
        TC_TRY(tc_offenders_judge(s->offenders, &v, arena, &s->judged[s->judge_at]));
        if (++s->judge_at % JUDGED_AT_ONCE == 0 && tc_turn_is_spent(turn)) {
            return TC_E_AGAIN;
        }
    }
    return TC_OK;
}

static tc_status go_on(struct tc_story *s, const struct tc_turn *turn)
{
    if (s->stage == STAGE_PLACING) {
        TC_TRY(tc_view_make(&s->lookup.view, turn));
        s->placed = true;
        s->stage = STAGE_LINKING;
    }
    if (s->stage == STAGE_LINKING) {
        TC_TRY(tc__linker_go_on(s->linker, turn, &s->found));
        s->link_steps = s->lookup.steps;
        s->judge_at = 0;
        s->stage = STAGE_JUDGING;
    }
    TC_TRY(judge(s, turn));
    show_links(s);
    s->stage = STAGE_NONE;
    return TC_OK;
}

static tc_status link_all(struct tc_story *s, const struct tc_directory *directory, bool anew,
                          const struct tc_turn *turn)
{
    if (s->kept.count == 0) {
        return TC_OK;
    }
    tc_status status = s->stage == STAGE_NONE ? begin(s, directory, anew) : TC_OK;
    if (status == TC_OK) {
        status = go_on(s, turn);
    }
    if (status != TC_OK && status != TC_E_AGAIN) {
        stop_linking(s);
        s->changes++;
        tc_incident_table_unlink(&s->kept);
    }
    return status;
}

tc_status tc_story_link(struct tc_story *s, const struct tc_directory *directory,
                        const struct tc_turn *turn)
{
    return link_all(s, directory, true, turn);
}

tc_status tc_story_relink(struct tc_story *s, const struct tc_directory *directory,
                          const struct tc_turn *turn)
{
    bool usable = s->placed && tc_view_is_usable(&s->lookup.view, directory);
    return link_all(s, directory, !usable, turn);
}

void tc_story_forget(struct tc_story *s, size_t count)
{
    stop_linking(s);
    s->changes++;
    tc_incident_table_forget(&s->kept, count);
}

struct tc_incident_table *tc_story_verdicts(struct tc_story *s)
{
    return &s->kept;
}

uint64_t tc_story_changes(const struct tc_story *s)
{
    return s->changes;
}

uint64_t tc_story_steps(const struct tc_story *s)
{
    return s->link_steps;
}
