/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/story/report.h"

#include "base/limits.h"
#include "base/line_marks.h"
#include "base/table/grow.h"
#include "cli/output/say.h"

#include <stdlib.h>

/* A verdict is made to fit TC_VERDICT_JSON_MAX; escapes in hostile input may need more. */
#define RENDER_MAX (TC_VERDICT_JSON_MAX * 64)

struct report {
    const struct tc_sources *sources;
    const struct tc_report_style *style;
    struct tc_text_style text; /* of it, with marks */
    struct tc_output *out;
    struct tc_overview overview;
    char *data;
    size_t cap;
    bool too_large;
};

/* What is rendered at once: the overview's head or a line of it, a page, or a verdict as JSON. */
enum part { PART_HEAD, PART_LINE, PART_PAGE, PART_JSON };

static void render(const struct report *r, struct tc_buf *b, enum part part,
                   const struct tc_story_text *story)
{
    const struct tc_text_style *style = &r->text;
    switch (part) {
    case PART_HEAD:
        tc_overview_render_head(b, &r->overview, style);
        break;
    case PART_LINE:
        tc_overview_render_line(b, &r->overview, story, style);
        break;
    case PART_PAGE:
        tc_verdict_render_story(b, story, r->sources, style);
        break;
    case PART_JSON:
        tc_verdict_render_json(b, story->verdicts[0], r->sources);
        tc_buf_char(b, '\n');
        break;
    }
}

/* One part, whole or not at all. */
static tc_status put_part(struct report *r, enum part part, const struct tc_story_text *story)
{
    for (;;) {
        struct tc_buf b = tc_buf_make(r->data, r->cap);
        if (r->data != NULL) {
            render(r, &b, part, story);
            if (!b.overflowed) {
                (void)tc_output_put(r->out, tc_buf_slice(&b));
                return TC_OK;
            }
        }
        size_t cap = r->cap == 0 ? TC_VERDICT_JSON_MAX : r->cap * 2;
        tc_status status = tc_grow_items(r->data, r->cap, cap, RENDER_MAX);
        if (status == TC_E_LIMIT && story != NULL) {
            tc_say(r->style->command,
                   "incident %.*s is left out: it needs more than %zu MiB of output",
                   TC_FMT(story->verdicts[0]->incident_id), RENDER_MAX >> 20);
            r->too_large = true;
            return TC_OK;
        }
        TC_TRY(status);
    }
}

/* One page, or with --all one per verdict. */
static tc_status put_story(struct report *r, const struct tc_story_text *story)
{
    if (!r->style->text.all) {
        return put_part(r, PART_PAGE, story);
    }
    for (size_t i = 0; i < story->count; i++) {
        struct tc_story_text one = {story->verdicts + i, 1, 1, story->number};
        if (i > 0) {
            (void)tc_output_put(r->out, TC_LIT("\n"));
        }
        TC_TRY(put_part(r, PART_PAGE, &one));
    }
    return TC_OK;
}

static tc_status put_text(struct report *r, struct tc_stories *s)
{
    bool several = s->count > 1;
    bool overview = several || (r->style->brief && s->count > 0);
    for (size_t i = 0; i < s->count; i++) {
        s->items[i].text.number = overview ? i + 1 : 0;
        tc_overview_add(&r->overview, &s->items[i].sum);
    }
    if (overview) {
        TC_TRY(put_part(r, PART_HEAD, NULL));
    }
    for (size_t i = 0; overview && i < s->count; i++) {
        TC_TRY(put_part(r, PART_LINE, &s->items[i].text));
    }
    for (size_t i = 0; !r->style->brief && i < s->count; i++) {
        if (overview || i > 0) {
            (void)tc_output_put(r->out, TC_LIT("\n"));
        }
        TC_TRY(put_story(r, &s->items[i].text));
    }
    return TC_OK;
}

static tc_status put_json(struct report *r, const struct tc_incident_table *kept,
                          const struct tc_stories *s)
{
    for (size_t i = 0; i < kept->count; i++) {
        const struct tc_verdict *v = &kept->items[i].verdict;
        struct tc_story_text one = {&v, 1, 1, 0};
        if (s->shown[i]) {
            TC_TRY(put_part(r, PART_JSON, &one));
        }
    }
    return TC_OK;
}

tc_status tc_report(const struct tc_incident_table *kept, struct tc_stories *stories,
                    const struct tc_sources *sources, const struct tc_report_style *style,
                    struct tc_output *out)
{
    struct report r = {.sources = sources, .style = style, .text = style->text, .out = out};
    /* Without memory for them, lines are counted for each piece of evidence. */
    r.text.marks = style->json ? NULL : calloc(1, sizeof *r.text.marks);
    tc_status status = style->json ? put_json(&r, kept, stories) : put_text(&r, stories);
    free(r.text.marks);
    free(r.data);
    return status == TC_OK && r.too_large ? TC_E_LIMIT : status;
}
