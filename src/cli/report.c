/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include "base/grow.h"
#include "base/limits.h"
#include "cli/say.h"
#include "offline/groups.h"

#include <stdlib.h>

/* A verdict is made to fit TC_VERDICT_JSON_MAX; escapes in hostile input may need more. */
#define RENDER_MAX (TC_VERDICT_JSON_MAX * 64)
/* Consequences of one cause that are listed before they are only counted. */
#define CONSEQUENCES_SHOWN 12

struct report {
    struct tc_incident_table *kept;
    const struct tc_sources *sources;
    const struct tc_report_style *style;
    struct tc_output *out;
    char *data;
    size_t cap;
    bool too_large;
};

/* A verdict, and what is told under it. */
struct entry {
    const struct tc_verdict *verdict;
    struct tc_follower followers[CONSEQUENCES_SHOWN];
    size_t count;
    size_t more;
};

static void render(const struct report *r, struct tc_buf *b, const struct entry *e)
{
    if (r->style->json) {
        tc_verdict_render_json(b, e->verdict, r->sources);
        tc_buf_char(b, '\n');
    } else {
        tc_verdict_render_story(b, e->verdict, e->followers, e->count, e->more, r->sources,
                                &r->style->text);
    }
}

/* One entry, whole or not at all. */
static tc_status put_entry(struct report *r, const struct entry *e)
{
    for (;;) {
        struct tc_buf b = tc_buf_make(r->data, r->cap);
        if (r->data != NULL) {
            render(r, &b, e);
            if (!b.overflowed) {
                (void)tc_output_put(r->out, tc_buf_slice(&b));
                return TC_OK;
            }
        }
        size_t cap = r->cap == 0 ? TC_VERDICT_JSON_MAX : r->cap * 2;
        tc_status status = tc_grow_items(r->data, r->cap, cap, RENDER_MAX);
        if (status == TC_E_LIMIT) {
            tc_say("detect", "incident %.*s is left out: it needs more than %zu MiB of output",
                   TC_FMT(e->verdict->incident_id), RENDER_MAX >> 20);
            r->too_large = true;
            return TC_OK;
        }
        TC_TRY(status);
    }
}

/* The verdicts that tell something new first, then those that are more of the same. */
static void add_followers(const struct tc_incident_table *k, struct entry *e, const size_t *list,
                          size_t count)
{
    for (int brief = 0; brief <= 1; brief++) {
        for (size_t i = 0; i < count; i++) {
            if (tc_group_is_repeat(k, list[i]) != (brief == 1)) {
                continue;
            }
            if (e->count == CONSEQUENCES_SHOWN) {
                e->more++;
            } else {
                e->followers[e->count++] =
                    (struct tc_follower){&k->items[list[i]].verdict, brief == 1};
            }
        }
    }
}

/* Those that explain others come first, then what stands alone. */
static tc_status put_text(struct report *r, const struct tc_groups *g)
{
    const struct tc_incident_table *k = r->kept;
    bool some = false;
    for (int roots = 1; roots >= 0; roots--) {
        for (size_t i = 0; i < k->count; i++) {
            const struct tc_incident_entry *v = &k->items[i];
            bool listed = !r->style->all && g->origins[i] != TC_INCIDENT_NONE;
            if (listed || v->finding.root != (roots == 1)) {
                continue;
            }
            if (some) {
                (void)tc_output_put(r->out, TC_LIT("\n"));
            }
            some = true;
            struct entry e = {.verdict = &v->verdict};
            if (!r->style->all) {
                add_followers(k, &e, g->list + g->first[i], g->first[i + 1] - g->first[i]);
            }
            TC_TRY(put_entry(r, &e));
        }
    }
    return TC_OK;
}

static tc_status put_json(struct report *r)
{
    for (size_t i = 0; i < r->kept->count; i++) {
        struct entry e = {.verdict = &r->kept->items[i].verdict};
        TC_TRY(put_entry(r, &e));
    }
    return TC_OK;
}

tc_status tc_report(struct tc_incident_table *kept, const struct tc_sources *sources,
                    const struct tc_report_style *style, struct tc_output *out)
{
    struct report r = {.kept = kept, .sources = sources, .style = style, .out = out};
    struct tc_groups g = {0};
    tc_status status = TC_OK;
    if (style->json) {
        status = put_json(&r);
    } else {
        status = tc_groups_init(&g, kept);
        status = status == TC_OK ? put_text(&r, &g) : status;
    }
    tc_groups_fini(&g);
    free(r.data);
    return status == TC_OK && r.too_large ? TC_E_LIMIT : status;
}
