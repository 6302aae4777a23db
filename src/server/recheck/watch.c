/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open incidents that live detection knows nothing of: only another look can say that they are
 * over.
 */
#include "base/table/grow.h"
#include "base/time.h"
#include "server/recheck/priv.h"

#include <stdio.h>
#include <string.h>

/* One is looked at for so long, after pauses that begin with this. */
#define WATCH_NS (2 * 3600 * TC_SECOND)
#define WATCH_FIRST_NS (60 * TC_SECOND)
/* What a stretch is said to have arrived before now: it need not wait for more. */
#define ARRIVED_NS (2 * TC_SECOND)

/* Keeps it when there is room, and memory. */
static struct tc__watched *add(struct tc_recheck *r, struct tc_slice pattern_id,
                               struct tc_slice key, size_t most)
{
    if (r->watched_count >= most || key.len > TC__WATCHED_KEY_MAX ||
        tc_grow_items(r->watched, r->watched_cap, r->watched_count + 1, most) != TC_OK) {
        return NULL;
    }
    struct tc__watched *w = &r->watched[r->watched_count++];
    *w = (struct tc__watched){.key_len = key.len, .pause_ns = WATCH_FIRST_NS};
    (void)snprintf(w->pattern_id, sizeof w->pattern_id, "%.*s", TC_FMT(pattern_id));
    (void)tc_put_str(w->key, key);
    return w;
}

void tc__recheck_watch(struct tc_recheck *r, const struct tc_finding *f, struct tc_slice key,
                       int64_t now_ns)
{
    struct tc__watched *w = add(r, f->pattern_id, key, TC__WATCHED_MAX);
    if (w != NULL) {
        w->first_ns = f->first_ns;
        w->until_ns = now_ns + WATCH_NS;
        w->next_ns = now_ns + WATCH_FIRST_NS;
    }
}

/* The newest of them; there may be several of one incident, and it may be over by the last. */
void tc_recheck_restore(struct tc_recheck *r, const struct tc_incident_mark *mark)
{
    if (mark->status == TC_VERDICT_RESOLVED) {
        return;
    }
    if (r->watched_count == TC__RESTORED_MAX) {
        r->watched[r->restored++ % TC__RESTORED_MAX] = r->watched[--r->watched_count];
    }
    struct tc__watched *w = add(r, mark->pattern_id, mark->key, TC__RESTORED_MAX);
    if (w != NULL) {
        w->is_restored = true;
        w->first_ns = mark->first_ns;
        w->until_ns = mark->detected_ns + WATCH_NS;
    }
}

static bool is_listed_before(const struct tc_recheck *r, const struct tc__watched *w)
{
    for (const struct tc__watched *o = r->watched; o < w; o++) {
        if (o->key_len == w->key_len && memcmp(o->key, w->key, w->key_len) == 0 &&
            strcmp(o->pattern_id, w->pattern_id) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether it is to be looked at no more. */
static bool is_done(const struct tc_recheck *r, const struct tc__watched *w, int64_t now_ns)
{
    struct tc_slice pattern_id = tc_slice_cstr(w->pattern_id);
    struct tc_slice key = tc_slice_make(w->key, w->key_len);
    return now_ns > w->until_ns || tc_live_is_over(r->live, pattern_id, key) ||
           (w->is_restored &&
            (tc_live_is_kept(r->live, pattern_id, key) || is_listed_before(r, w)));
}

void tc__recheck_look(struct tc_recheck *r, int64_t now_ns)
{
    for (size_t i = 0; i < r->watched_count;) {
        struct tc__watched *w = &r->watched[i];
        if (now_ns < w->next_ns) {
            i++;
            continue;
        }
        if (is_done(r, w, now_ns) || i >= TC__WATCHED_MAX) {
            *w = r->watched[--r->watched_count];
            continue;
        }
        if (!w->is_restored) {
            w->pause_ns *= 2;
            tc_live_add_stretch(r->live,
                                &(struct tc_stretch){.from_ns = w->first_ns,
                                                     .to_ns = now_ns,
                                                     .arrived_from_ns = now_ns - ARRIVED_NS,
                                                     .arrived_to_ns = now_ns - ARRIVED_NS,
                                                     .looked = true});
        }
        w->is_restored = false;
        w->next_ns = now_ns + w->pause_ns;
        i++;
    }
}
