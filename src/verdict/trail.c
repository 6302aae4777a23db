/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/time.h"
#include "verdict/text_priv.h"

#define STAMP_MAX 48
#define DAY_NS (86400 * TC_SECOND)

void tc__page_title(struct tc__page *p, const char *title)
{
    tc__page_blank(p, TC__TEXT_MARGIN);
    tc__page_style(p, TC__TEXT_BOLD);
    tc__page_text(p, tc_slice_cstr(title));
    tc__page_style(p, TC__TEXT_PLAIN);
    tc__page_line(p);
}

void tc__page_more(struct tc__page *p, size_t more, const char *where)
{
    if (more > 0) {
        tc__page_blank(p, TC__TEXT_BLOCK);
        tc__page_text(p, TC_LIT("\xe2\x80\xa6 and "));
        tc__page_number(p, more);
        tc__page_text(p, TC_LIT(" more "));
        tc__page_text(p, tc_slice_cstr(where));
        tc__page_line(p);
    }
}

/* Undated pieces come last; equal times keep the order of the verdict. */
static bool is_before(const struct tc_evidence *a, const struct tc_evidence *b)
{
    if (!tc_time_is_date(a->time_ns) || !tc_time_is_date(b->time_ns)) {
        return tc_time_is_date(a->time_ns) && !tc_time_is_date(b->time_ns);
    }
    return a->time_ns < b->time_ns;
}

static bool same_bytes(const struct tc_raw *a, const struct tc_raw *b)
{
    return a->source == b->source && a->offset == b->offset && a->length == b->length;
}

/* Whether one of the first `count` pieces stands on the same bytes: another pattern's. */
static bool is_known(const struct tc__trail *t, size_t count, const struct tc_evidence *e)
{
    for (size_t i = 0; i < count && e->raw.source != TC_SOURCE_NONE; i++) {
        if (t->pieces[i]->time_ns == e->time_ns && same_bytes(&t->pieces[i]->raw, &e->raw)) {
            return true;
        }
    }
    return false;
}

void tc__trail_add(struct tc__trail *t, const struct tc_finding *f, size_t most)
{
    size_t taken = 0;
    bool others = t->count > 0;
    for (size_t i = 0; i < f->evidence_count; i++) {
        const struct tc_evidence *e = &f->evidence[i];
        if (others && is_known(t, t->count, e)) {
            continue;
        }
        if (taken == most || t->count == TC_VERDICT_EVIDENCE_MAX) {
            t->left_out += f->evidence_count - i;
            return;
        }
        size_t at = t->count++;
        for (; at > 0 && is_before(e, t->pieces[at - 1]); at--) {
            t->pieces[at] = t->pieces[at - 1];
        }
        t->pieces[at] = e;
        taken++;
    }
}

void tc__trail_end(struct tc__trail *t, size_t shown)
{
    if (t->count > shown) {
        t->left_out += t->count - shown;
        t->count = shown;
    }
    for (size_t i = 1; i < t->count; i++) {
        int64_t first = t->pieces[0]->time_ns;
        int64_t now = t->pieces[i]->time_ns;
        t->relative = t->relative || (tc_time_is_date(now) && now / DAY_NS != first / DAY_NS);
    }
}

/* The time of one piece: of day, or since the first when they are of different days. */
static void stamp(struct tc_buf *b, const struct tc__trail *t, size_t i)
{
    int64_t first = t->pieces[0]->time_ns;
    int64_t now = t->pieces[i]->time_ns;
    if (!tc_time_is_date(now)) {
        tc_buf_lit(b, "undated");
    } else if (t->relative && i > 0 && now != first) {
        tc_buf_char(b, '+');
        tc_buf_duration(b, now - first);
    } else if (t->relative) {
        tc_buf_time(b, now - now % TC_SECOND);
    } else {
        char text[STAMP_MAX];
        struct tc_buf full = tc_buf_make(text, sizeof text);
        int64_t ms = now - now % (TC_SECOND / 1000);
        tc_buf_time(&full, ms);
        tc_buf_str(b, tc_slice_make(text + 11, full.len - 12)); /* between "T" and "Z" */
        tc_buf_str(b, ms % TC_SECOND == 0 ? TC_LIT(".000") : TC_EMPTY);
    }
}

void tc__page_timeline(struct tc__page *p, const struct tc__trail *t)
{
    unsigned width = 0;
    char text[STAMP_MAX];
    for (size_t i = 0; i < t->count; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        stamp(&b, t, i);
        width = b.len > width ? (unsigned)b.len : width;
    }
    tc__page_title(p, "Timeline");
    for (size_t i = 0; i < t->count; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        stamp(&b, t, i);
        const struct tc_evidence *e = t->pieces[i];
        tc__page_blank(p, TC__TEXT_BLOCK + width - (unsigned)b.len);
        tc__page_text(p, tc_buf_slice(&b));
        tc__page_blank(p, 2);
        tc__page_paragraph(p, 0, TC__TEXT_BLOCK + width + 2,
                           e->description.len > 0 ? e->description : e->kind);
    }
    tc__page_more(p, t->left_out, "in --json");
}

static bool was_quoted(const struct tc__trail *t, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (same_bytes(&t->pieces[j]->raw, &t->pieces[i]->raw)) {
            return true;
        }
    }
    return false;
}

void tc__page_evidence(struct tc__page *p, const struct tc__trail *t,
                       const struct tc_sources *sources)
{
    bool titled = false;
    for (size_t i = 0; i < t->count; i++) {
        const struct tc_raw *raw = &t->pieces[i]->raw;
        struct tc_source_view view;
        if (raw->source == TC_SOURCE_NONE || was_quoted(t, i) ||
            !sources->view(sources->context, raw->source, &view)) {
            continue;
        }
        if (!titled) {
            tc__page_title(p, "Evidence");
            titled = true;
        }
        tc__page_quote(p, TC__TEXT_BLOCK, &view, raw);
    }
}
