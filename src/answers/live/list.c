/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/live/list.h"

#include "base/limits.h"
#include "base/time.h"
#include "live/live.h"
#include "verdict/render.h"

#include <stdlib.h>

/* Incidents that a daemon may be told to keep. */
#define ITEMS_MAX ((size_t)1 << 20)
/* Escapes in hostile input may need more than a verdict is made to fit. */
#define VERDICT_BYTES_MAX (TC_VERDICT_JSON_MAX * 64)
/* Most verdicts are shorter. */
#define VERDICT_BYTES_FIRST ((size_t)8 << 10)
/* Less of an id says too little. */
#define ID_LEAST 4

static tc_status add(void *context, const struct tc_verdict *v)
{
    struct tc_live_list *l = context;
    TC_TRY(tc_grow_items(l->items, l->cap, l->count + 1, ITEMS_MAX));
    l->items[l->count++] = v;
    return TC_OK;
}

tc_status tc_live_list_read(const struct tc_asked *asked, struct tc_live_list *out,
                            struct tc_error *err)
{
    struct tc_live_list list = {0};
    if (tc_live_list(asked->live, SIZE_MAX, add, &list) != TC_OK) {
        tc_live_list_fini(&list);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the list of incidents");
    }
    *out = list;
    return TC_OK;
}

void tc_live_list_fini(struct tc_live_list *l)
{
    free(l->items);
    *l = (struct tc_live_list){0};
}

tc_status tc_live_list_find(const struct tc_live_list *l, struct tc_slice id,
                            const struct tc_verdict **out, struct tc_error *err)
{
    const struct tc_verdict *found = NULL;
    for (size_t i = 0; i < l->count; i++) {
        const struct tc_verdict *v = l->items[i];
        if (tc_slice_eq(v->incident_id, id)) {
            *out = v;
            return TC_OK;
        }
        if (id.len < ID_LEAST || !tc_slice_starts(v->incident_id, id)) {
            continue;
        }
        if (found != NULL) {
            return tc_fail(err, TC_E_USAGE, 0, "several incidents begin with \"%.*s\": say more",
                           (int)tc_slice_head(id, TC_INCIDENT_ID_LEN).len, id.ptr);
        }
        found = v;
    }
    if (found == NULL) {
        return tc_fail(err, TC_E_NOTFOUND, 0,
                       "no incident \"%.*s\" is kept; older ones are in the warehouse's "
                       "verdict_fact",
                       (int)tc_slice_head(id, 2 * TC_INCIDENT_ID_LEN).len, id.ptr);
    }
    *out = found;
    return TC_OK;
}

void tc_live_put_verdict(struct tc_grow *g, const struct tc_verdict *v,
                         const struct tc_sources *sources)
{
    for (size_t room = VERDICT_BYTES_FIRST; tc_grow_room(g, room); room *= 4) {
        struct tc_buf before = g->buf;
        tc_verdict_render_json(&g->buf, v, sources);
        if (!g->buf.overflowed) {
            return;
        }
        g->buf = before;
        if (room > VERDICT_BYTES_MAX) {
            g->failed = true;
        }
    }
}

void tc_live_put_where(struct tc_json_out *j, const struct tc_scope *s)
{
    tc_json_put_some(j, "node", s->node);
    tc_json_put_some(j, "namespace", s->ns);
    tc_json_put_some(j, "pod", s->pod);
    tc_json_put_some(j, "container", s->container);
    tc_json_put_some(j, "job", s->job);
    tc_json_put_some(j, "gpu_uuid", s->gpu_uuid);
    if (s->pci.known) {
        char text[16];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_bdf(&b, s->pci);
        tc_json_put_plain(j, "pci", tc_buf_slice(&b));
    }
    if (s->gpu_index >= 0) {
        tc_json_put_i64(j, "gpu_index", s->gpu_index);
    }
    if (s->rank >= 0) {
        tc_json_put_i64(j, "rank", s->rank);
    }
}

void tc_live_put_brief(struct tc_json_out *j, const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    tc_json_add_object(j);
    tc_json_put_plain(j, "incident_id", v->incident_id);
    tc_json_put_plain(j, "story", tc_live_story_id(v));
    tc_json_put_plain(j, "pattern", f->pattern_name);
    tc_json_put_plain(j, "status", tc_live_is_open(v) ? TC_LIT("open") : TC_LIT("resolved"));
    tc_json_put_cstr(j, "severity", tc_severity_name(f->severity));
    tc_json_put_cstr(j, "confidence", tc_confidence_name(f->confidence));
    tc_json_put_str(j, "headline", f->headline);
    tc_json_put_bool(j, "root", v->cause_count == 0);
    tc_live_put_time(j, "first_seen", v->first_ns);
    tc_live_put_time(j, "last_seen", f->last_ns);
    tc_json_put_object(j, "where");
    tc_live_put_where(j, &f->scope);
    tc_json_end_object(j);
    tc_json_end_object(j);
}
