/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include "base/limits.h"
#include "cli/say.h"

#include <stdlib.h>

/* A verdict is made to fit TC_VERDICT_JSON_MAX; escapes in hostile input may need more. */
#define RENDER_MAX (TC_VERDICT_JSON_MAX * 64)
/* Consequences of one cause that are listed before they are only counted. */
#define CONSEQUENCES_SHOWN 12
/* Causes of causes; a longer chain, or a circle, is shown in full. */
#define CHAIN_MAX 64
#define ELLIPSIS "\xe2\x80\xa6"

struct report {
    struct tc_kept *kept;
    const struct tc_sources *sources;
    const struct tc_report_style *style;
    struct tc_output *out;
    char *data;
    size_t cap;
    bool too_large;
};

static void render(const struct report *r, struct tc_buf *b, const struct tc_verdict *v)
{
    if (r->style->json) {
        tc_verdict_render_json(b, v, r->sources);
        tc_buf_char(b, '\n');
    } else {
        tc_verdict_render_text(b, v, r->sources, &r->style->text);
    }
}

/* One verdict, whole or not at all. */
static tc_status put_verdict(struct report *r, const struct tc_verdict *v)
{
    for (;;) {
        struct tc_buf b = tc_buf_make(r->data, r->cap);
        if (r->data != NULL) {
            render(r, &b, v);
            if (!b.overflowed) {
                (void)tc_output_put(r->out, tc_buf_slice(&b));
                return TC_OK;
            }
        }
        size_t cap = r->cap == 0 ? TC_VERDICT_JSON_MAX : r->cap * 2;
        if (cap > RENDER_MAX) {
            tc_say("detect", "incident %.*s is left out: it needs more than %zu MiB of output",
                   TC_FMT(v->incident_id), RENDER_MAX >> 20);
            r->too_large = true;
            return TC_OK;
        }
        char *data = realloc(r->data, cap);
        if (data == NULL) {
            return TC_E_NOMEM;
        }
        r->data = data;
        r->cap = cap;
    }
}

/* The first cause that is among what was kept. */
static size_t cause_of(const struct tc_kept *k, size_t index)
{
    const struct tc_verdict *v = &k->items[index].verdict;
    for (size_t i = 0; i < v->cause_count; i++) {
        size_t at = v->causes[i].incident_id.len == 0 ? TC_KEPT_NONE
                                                      : tc_kept_find(k, v->causes[i].incident_id);
        if (at != TC_KEPT_NONE) {
            return at;
        }
    }
    return TC_KEPT_NONE;
}

/* The verdict under which this one is listed, or TC_KEPT_NONE: it stands for itself. */
static size_t origin_of(const struct tc_kept *k, size_t index)
{
    size_t at = index;
    for (unsigned steps = 0; steps < CHAIN_MAX; steps++) {
        if (k->items[at].finding.root) {
            return at == index ? TC_KEPT_NONE : at;
        }
        size_t cause = cause_of(k, at);
        if (cause == TC_KEPT_NONE) {
            return at == index ? TC_KEPT_NONE : at;
        }
        at = cause;
    }
    return TC_KEPT_NONE;
}

/*
 * The headline of a consequence on one line, and its pattern where that is another than the
 * cause's. Width counts code points of the escaped text.
 */
static void put_consequence(struct report *r, const struct tc_kept_verdict *v)
{
    struct tc_slice cause = r->kept->items[v->cause].finding.pattern_name;
    char text[2048];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    char escaped[1024];
    struct tc_buf headline = tc_buf_make(escaped, sizeof escaped);
    tc_buf_printable(&headline, tc_slice_head(v->finding.headline, sizeof escaped / 4));
    tc_buf_lit(&b, "    ");
    if (!tc_slice_eq(cause, v->finding.pattern_name)) {
        tc_buf_printable(&b, tc_slice_head(v->finding.pattern_name, 64));
        tc_buf_lit(&b, "  ");
    }
    unsigned column = (unsigned)b.len;
    struct tc_slice rest = tc_buf_slice(&headline);
    size_t end = 0;
    size_t cut = 0; /* where the ellipsis would go */
    for (unsigned at = column; end < rest.len; at++) {
        size_t len = 1;
        while (end + len < rest.len && ((unsigned char)rest.ptr[end + len] & 0xc0) == 0x80) {
            len++;
        }
        if (at + 1 > r->style->text.columns) {
            break;
        }
        cut = at + 2 > r->style->text.columns ? cut : end + len;
        end += len;
    }
    tc_buf_str(&b, tc_slice_head(rest, end < rest.len ? cut : end));
    tc_buf_str(&b, end < rest.len ? TC_LIT(ELLIPSIS) : TC_EMPTY);
    tc_buf_char(&b, '\n');
    (void)tc_output_put(r->out, tc_buf_slice(&b));
}

static void put_consequences(struct report *r, const size_t *list, size_t count)
{
    char text[96];
    if (count == 0) {
        return;
    }
    (void)tc_output_put(r->out, TC_LIT("  Also because of this\n"));
    for (size_t i = 0; i < count && i < CONSEQUENCES_SHOWN; i++) {
        put_consequence(r, &r->kept->items[list[i]]);
    }
    if (count > CONSEQUENCES_SHOWN) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_lit(&b, "    " ELLIPSIS " and ");
        tc_buf_u64(&b, count - CONSEQUENCES_SHOWN);
        tc_buf_lit(&b, " more (--all shows them)\n");
        (void)tc_output_put(r->out, tc_buf_slice(&b));
    }
}

/*
 * Consequences grouped by their origin: first[i] .. first[i + 1] of list are those of i.
 * A counting sort, so that a thousand consequences of a thousand causes cost no more.
 */
struct groups {
    size_t *first;
    size_t *list;
};

static tc_status group(struct report *r, struct groups *g)
{
    struct tc_kept *k = r->kept;
    g->first = calloc(k->count + 2, sizeof *g->first);
    g->list = calloc(k->count + 1, sizeof *g->list);
    if (g->first == NULL || g->list == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < k->count; i++) {
        k->items[i].cause = r->style->all ? TC_KEPT_NONE : origin_of(k, i);
        if (k->items[i].cause != TC_KEPT_NONE) {
            g->first[k->items[i].cause + 2]++;
        }
    }
    for (size_t i = 2; i < k->count + 2; i++) {
        g->first[i] += g->first[i - 1];
    }
    for (size_t i = 0; i < k->count; i++) {
        if (k->items[i].cause != TC_KEPT_NONE) {
            g->list[g->first[k->items[i].cause + 1]++] = i;
        }
    }
    return TC_OK;
}

/* Those that explain others come first, then what stands alone. */
static tc_status put_text(struct report *r, const struct groups *g)
{
    const struct tc_kept *k = r->kept;
    bool some = false;
    for (int roots = 1; roots >= 0; roots--) {
        for (size_t i = 0; i < k->count; i++) {
            const struct tc_kept_verdict *v = &k->items[i];
            if (v->cause != TC_KEPT_NONE || v->finding.root != (roots == 1)) {
                continue;
            }
            if (some) {
                (void)tc_output_put(r->out, TC_LIT("\n"));
            }
            some = true;
            TC_TRY(put_verdict(r, &v->verdict));
            put_consequences(r, g->list + g->first[i], g->first[i + 1] - g->first[i]);
        }
    }
    return TC_OK;
}

static tc_status put_json(struct report *r)
{
    for (size_t i = 0; i < r->kept->count; i++) {
        TC_TRY(put_verdict(r, &r->kept->items[i].verdict));
    }
    return TC_OK;
}

tc_status tc_report(struct tc_kept *kept, const struct tc_sources *sources,
                    const struct tc_report_style *style, struct tc_output *out)
{
    struct report r = {.kept = kept, .sources = sources, .style = style, .out = out};
    struct groups g = {0};
    tc_kept_sort(kept);
    tc_status status = TC_OK;
    if (style->json) {
        status = put_json(&r);
    } else {
        status = group(&r, &g);
        status = status == TC_OK ? put_text(&r, &g) : status;
    }
    free(g.first);
    free(g.list);
    free(r.data);
    return status == TC_OK && r.too_large ? TC_E_LIMIT : status;
}
