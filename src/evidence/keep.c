/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is deleted when there is more than is to be kept: the oldest objects that no verdict cites,
 * and cited ones only when no other is left. Where objects are shipped, only what was: then more
 * may be kept than is to be. What somebody still has to read (tc_store_hold) is deleted last, when
 * hold_bytes more than that are there.
 */
#include "evidence/store_priv.h"

/* Objects that are looked at together, so that citations.idx is read once for all of them. */
#define LOOK 1024

struct candidates {
    struct tc__totals ranges[LOOK];
    uint64_t lines[LOOK];
    bool cited[LOOK];
    size_t count;
};

static bool mark_cited(void *context, const struct tc__citation *citation)
{
    struct candidates *c = context;
    size_t low = 0;
    size_t high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->ranges[middle].last < citation->number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < c->count && c->ranges[low].first <= citation->number) {
        c->cited[low] = true;
    }
    return true;
}

/* Batches of it that somebody still has to read, at most. */
static uint64_t held_batches(const struct tc_store *s, const struct tc__totals *t)
{
    uint64_t from = atomic_load(&s->shared->held_from);
    if (from == 0 || t->last < from) {
        return 0;
    }
    uint64_t left = t->last - from + 1;
    return left < t->batches ? left : t->batches;
}

static tc_status delete_object(struct tc_store *s, uint64_t line, struct tc__object *o,
                               struct tc_error *err)
{
    uint64_t held = held_batches(s, &o->totals);
    /* A process that dies in between finds the line and goes on from there. */
    TC_TRY(tc__objects_mark(s, line, o, TC__OBJECT_GOING, err));
    TC_TRY(tc__objects_delete(s, line, o, err));
    (void)pthread_mutex_lock(&s->shared->mutex);
    tc__objects_count(&s->objects, o, false);
    s->shared->stats.deleted++;
    s->shared->stats.deleted_held += held;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    return TC_OK;
}

/* The next LOOK objects that may be deleted, from *io_line on. `shipped` NULL: any that is kept. */
static void gather(struct tc__index *ix, struct tc__index *shipped, uint64_t *io_line,
                   struct candidates *c)
{
    c->count = 0;
    for (; *io_line < ix->lines && c->count < LOOK; (*io_line)++) {
        struct tc__object o;
        if (tc__index_line(ix, *io_line, &o) && o.state == TC__OBJECT_KEPT &&
            (shipped == NULL || tc__index_has(shipped, &o))) {
            c->ranges[c->count] = o.totals;
            c->lines[c->count] = *io_line;
            c->cited[c->count++] = false;
        }
    }
}

/* Objects, and what waits to be one, beyond what is to be kept. */
static bool is_too_much(struct tc_store *s, uint64_t most)
{
    (void)pthread_mutex_lock(&s->shared->mutex);
    uint64_t bytes = s->objects.kept_bytes + s->shared->waiting_bytes;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    return bytes > most;
}

/* What a pass may delete, until there is no more than `most`. */
struct pass {
    bool cited_too;
    bool held_too;
    uint64_t most;
};

/* One pass over the objects, oldest first. The newest one stays in any case. */
static tc_status go_over(struct tc_store *s, struct tc__index *ix, struct tc__index *shipped,
                         struct candidates *c, const struct pass *p, struct tc_error *err)
{
    uint64_t line = s->objects.first_kept;
    while (line < ix->lines && is_too_much(s, p->most)) {
        gather(ix, shipped, &line, c);
        int error = p->cited_too ? 0 : tc__cite_each(s->dir, mark_cited, NULL, c);
        if (error != 0) {
            return tc__store_io_error(s, error, "read the citations in", s->dir, err);
        }
        for (size_t i = 0; i < c->count && is_too_much(s, p->most); i++) {
            struct tc__object o;
            bool is_held = !p->held_too && held_batches(s, &c->ranges[i]) > 0;
            if (!c->cited[i] && !is_held && c->lines[i] + 1 < ix->lines &&
                tc__index_line(ix, c->lines[i], &o)) {
                TC_TRY(delete_object(s, c->lines[i], &o, err));
            }
        }
        /* What was marked is read anew. */
        ix->chunk_len = 0;
    }
    while (s->objects.first_kept < ix->lines) {
        struct tc__object o;
        if (!tc__index_line(ix, s->objects.first_kept, &o) || o.state == TC__OBJECT_KEPT) {
            break;
        }
        s->objects.first_kept++;
    }
    return TC_OK;
}

tc_status tc__keep(struct tc_store *s, struct tc_error *err)
{
    struct tc__index ix;
    struct tc__index shipped = {.fd = -1};
    struct candidates c;
    uint64_t keep = s->config.keep_bytes;
    uint64_t hold = s->config.hold_bytes;
    uint64_t most = hold < UINT64_MAX - keep ? keep + hold : UINT64_MAX;
    const struct pass passes[] = {{false, false, keep}, {true, false, keep}, {true, true, most}};
    if (keep == 0 || !is_too_much(s, keep)) {
        return TC_OK;
    }
    struct tc__index *only = s->shipping.is_on ? &shipped : NULL;
    int error = tc__index_open(&ix, s->dir);
    error = error == 0 && only != NULL ? tc__index_open_shipped(only, s->dir) : error;
    if (error != 0) {
        tc__index_close(&ix);
        return tc__store_io_error(s, error, "read the index in", s->dir, err);
    }
    tc_status status = TC_OK;
    for (size_t i = 0; i < TC_COUNT(passes) && status == TC_OK; i++) {
        status = go_over(s, &ix, only, &c, &passes[i], err);
    }
    tc__index_close(&ix);
    tc__index_close(&shipped);
    return status;
}
