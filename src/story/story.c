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

struct tc_story {
    struct tc_incident_table kept;
    struct block link; /* what the verdicts' causes point into */
    struct block place;
    struct tc__lookup lookup;
    bool placed; /* lookup can be used again */
    uint64_t link_steps;
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
    block_fini(&s->link);
    block_fini(&s->place);
    tc_incident_table_fini(&s->kept);
    free(s);
}

tc_status tc_story_add(void *context, const struct tc_verdict *v)
{
    struct tc_story *s = context;
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

static bool place_all(struct tc_story *s, const struct tc_directory *directory)
{
    s->placed = block_reset(&s->place, "places", block_bytes(s, directory)) &&
                tc__lookup_init(&s->lookup, directory, &s->kept, &s->place.arena);
    return s->placed;
}

static tc_status link_all(struct tc_story *s, const struct tc_directory *directory, bool anew)
{
    tc_incident_table_sort(&s->kept);
    tc_incident_table_unlink(&s->kept);
    if (s->kept.count == 0) {
        return TC_OK;
    }
    if (!block_reset(&s->link, "story", block_bytes(s, directory)) ||
        (anew && !place_all(s, directory))) {
        return TC_E_NOMEM;
    }
    s->lookup.steps = 0;
    tc_status status = tc__link(&s->kept, &s->lookup, &s->link.arena);
    s->link_steps = s->lookup.steps;
    if (status != TC_OK) {
        tc_incident_table_unlink(&s->kept);
    }
    return status;
}

tc_status tc_story_link(struct tc_story *s, const struct tc_directory *directory)
{
    return link_all(s, directory, true);
}

tc_status tc_story_relink(struct tc_story *s, const struct tc_directory *directory)
{
    bool usable = s->placed && tc_view_is_usable(&s->lookup.view, directory);
    return link_all(s, directory, !usable);
}

struct tc_incident_table *tc_story_verdicts(struct tc_story *s)
{
    return &s->kept;
}

uint64_t tc_story_steps(const struct tc_story *s)
{
    return s->link_steps;
}
