/* SPDX-License-Identifier: Apache-2.0 */
#include "story/story.h"

#include "base/os/block.h"
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

/* A linking: who runs where is worked out, if that is to be done; then what follows from what. */
enum stage { STAGE_NONE, STAGE_PLACING, STAGE_LINKING };

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
    uint64_t link_steps;
    uint64_t changes;
};

struct tc_story *tc_story_create(void)
{
    return calloc(1, sizeof(struct tc_story));
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

/* What was found becomes the verdicts'. */
static void show_links(struct tc_story *s, const struct tc__links *links)
{
    for (size_t i = 0; i < s->kept.count; i++) {
        struct tc_incident_entry *v = &s->kept.items[i];
        v->verdict.causes = links[i].causes;
        v->verdict.cause_count = links[i].cause_count;
        v->verdict.group = links[i].group;
        v->finding.discriminator = links[i].discriminator;
        v->finding.root = links[i].root;
        v->story = links[i].story;
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

static tc_status go_on(struct tc_story *s, const struct tc_turn *turn)
{
    const struct tc__links *links = NULL;
    if (s->stage == STAGE_PLACING) {
        TC_TRY(tc_view_make(&s->lookup.view, turn));
        s->placed = true;
        s->stage = STAGE_LINKING;
    }
    TC_TRY(tc__linker_go_on(s->linker, turn, &links));
    s->link_steps = s->lookup.steps;
    show_links(s, links);
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
