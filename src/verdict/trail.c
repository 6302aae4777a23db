/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/time.h"
#include "verdict/page_priv.h"

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

void tc__page_more(struct tc__page *p, size_t more)
{
    if (more > 0) {
        tc__page_blank(p, TC__TEXT_BLOCK);
        tc__page_text(p, TC_LIT("\xe2\x80\xa6 and "));
        tc__page_number(p, more);
        tc__page_text(p, TC_LIT(" more, see --all"));
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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool tc__evidence_is_alike(const struct tc_evidence *a, const struct tc_evidence *b)
{
    struct tc_slice x = a->description;
    struct tc_slice y = b->description;
    if (x.len == 0 || y.len == 0 || !tc_slice_eq(a->kind, b->kind)) {
        return false;
    }
    size_t i = 0;
    size_t k = 0;
    while (i < x.len && k < y.len) {
        if (is_digit(x.ptr[i]) && is_digit(y.ptr[k])) {
            for (; i < x.len && is_digit(x.ptr[i]); i++) {
            }
            for (; k < y.len && is_digit(y.ptr[k]); k++) {
            }
        } else if (x.ptr[i++] != y.ptr[k++]) {
            return false;
        }
    }
    return i == x.len && k == y.len;
}

static void fold_alike(struct tc__trail *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (kept > 0 && tc__evidence_is_alike(t->pieces[kept - 1], t->pieces[i])) {
            t->alike[kept - 1]++;
            t->until_ns[kept - 1] = t->pieces[i]->time_ns;
        } else {
            t->pieces[kept++] = t->pieces[i];
        }
    }
    t->count = kept;
}

void tc__trail_end(struct tc__trail *t, size_t shown, bool fold)
{
    if (fold) {
        fold_alike(t);
    }
    for (; t->count > shown; t->count--) {
        t->left_out += 1 + t->alike[t->count - 1];
    }
    for (size_t i = 1; i < t->count; i++) {
        int64_t first = t->pieces[0]->time_ns;
        int64_t now = t->pieces[i]->time_ns;
        t->relative = t->relative || (tc_time_is_date(now) && now / DAY_NS != first / DAY_NS);
    }
}

/* A time: of day, or since the first when they are of different days. */
static void stamp(struct tc_buf *b, const struct tc__trail *t, int64_t now)
{
    int64_t first = t->pieces[0]->time_ns;
    if (!tc_time_is_date(now)) {
        tc_buf_lit(b, "undated");
    } else if (t->relative && now != first) {
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

static void put_alike(struct tc__page *p, const struct tc__trail *t, size_t i, unsigned indent)
{
    char text[STAMP_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc__page_blank(p, indent);
    tc__page_text(p, TC_LIT("and "));
    tc__page_number(p, t->alike[i]);
    tc__page_text(p, TC_LIT(" alike"));
    if (tc_time_is_date(t->until_ns[i])) {
        stamp(&b, t, t->until_ns[i]);
        tc__page_text(p, TC_LIT(", the last at "));
        tc__page_text(p, tc_buf_slice(&b));
    }
    tc__page_line(p);
}

void tc__page_timeline(struct tc__page *p, const struct tc__trail *t)
{
    unsigned width = 0;
    char text[STAMP_MAX];
    for (size_t i = 0; i < t->count; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        stamp(&b, t, t->pieces[i]->time_ns);
        width = b.len > width ? (unsigned)b.len : width;
    }
    tc__page_title(p, "Timeline");
    for (size_t i = 0; i < t->count; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        stamp(&b, t, t->pieces[i]->time_ns);
        const struct tc_evidence *e = t->pieces[i];
        tc__page_blank(p, TC__TEXT_BLOCK + width - (unsigned)b.len);
        tc__page_text(p, tc_buf_slice(&b));
        tc__page_blank(p, 2);
        tc__page_paragraph(p, 0, TC__TEXT_BLOCK + width + 2,
                           e->description.len > 0 ? e->description : e->kind);
        if (t->alike[i] > 0) {
            put_alike(p, t, i, TC__TEXT_BLOCK + width + 2);
        }
    }
    tc__page_more(p, t->left_out);
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
        tc__page_proof(p, TC__TEXT_BLOCK, &view, raw);
    }
}
