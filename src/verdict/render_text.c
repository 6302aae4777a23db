/* SPDX-License-Identifier: Apache-2.0 */
/* The page of one story. docs/internals/text.md says what is where on it. */
#include "base/time.h"
#include "verdict/page_priv.h"
#include "verdict/render.h"

/* How much of a trail is shown; --all shows all of it. */
#define EVIDENCE_SHOWN 8
#define EVIDENCE_OF_FOLLOWER 4
#define STORY_SHOWN 20
/* Other roots that are told, and kinds of followers. */
#define ROOTS_SHOWN 4
#define FOLDS_SHOWN 12
#define WHY_LINES 3
#define STAMP_MAX 48
#define DAY_NS (86400 * TC_SECOND)
/* Names of patterns, incidents and ranks. */
#define WORD_MAX 128

#define MARGIN TC__TEXT_MARGIN
#define BLOCK TC__TEXT_BLOCK

static void put_header(struct tc__page *p, const struct tc_story_text *s,
                       const struct tc_story_sum *sum)
{
    const struct tc_finding *f = s->verdicts[0]->finding;
    if (s->number > 0) {
        tc__page_number(p, s->number);
        tc__page_text(p, TC_LIT(". "));
    }
    tc__page_severity(p, sum);
    tc__page_blank(p, 2);
    struct tc__flow flow = tc__flow_begin(p, 0, BLOCK);
    tc__flow_what_and_where(&flow, f);
    tc__flow_end(&flow);
    tc__page_style(p, TC__TEXT_BOLD);
    tc__page_paragraph(p, 0, 0, f->headline);
    tc__page_style(p, TC__TEXT_PLAIN);
}

/* "2026-03-04T05:06:41Z", or only "05:06:41Z" of a day that was named. */
static void flow_time(struct tc__flow *flow, int64_t ns, bool same_day)
{
    char text[STAMP_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_time(&b, ns - ns % TC_SECOND);
    tc__flow_words(flow, tc_slice_from(tc_buf_slice(&b), same_day ? 11 : 0));
}

static void flow_duration(struct tc__flow *flow, int64_t ns, const char *after)
{
    char text[STAMP_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_duration(&b, ns);
    tc_buf_str(&b, tc_slice_cstr(after));
    tc__flow_words(flow, tc_buf_slice(&b));
}

/* A word with what opens and closes it. */
static void flow_closed(struct tc__flow *flow, struct tc_slice before, struct tc_slice word,
                        struct tc_slice after)
{
    char text[WORD_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_str(&b, before);
    tc_buf_str(&b, tc_slice_head(word, WORD_MAX - 2));
    tc_buf_str(&b, after);
    tc__flow_word(flow, tc_buf_slice(&b));
}

/* "open since ...", or how long it lasted: from the first time that is known to the last. */
static void put_status(struct tc__page *p, const struct tc_story_sum *sum)
{
    struct tc__flow flow = tc__flow_begin(p, MARGIN, MARGIN);
    bool dated = tc_time_is_date(sum->first_ns) && tc_time_is_date(sum->last_ns);
    int64_t lasted_ns = dated ? sum->last_ns - sum->first_ns : 0;
    tc__page_style(p, TC__TEXT_DIM);
    if (!dated) {
        tc__flow_words(&flow, sum->resolved
                                  ? TC_LIT("resolved, at an unknown time; nothing needs doing")
                                  : TC_LIT("open; its time is not known (undated)"));
    } else if (sum->resolved) {
        tc__flow_words(&flow, TC_LIT("resolved: it lasted"));
        flow_duration(&flow, lasted_ns, ",");
        tc__flow_words(&flow, TC_LIT("from"));
        flow_time(&flow, sum->first_ns, false);
        tc__flow_words(&flow, TC_LIT("to"));
        flow_time(&flow, sum->last_ns, sum->last_ns / DAY_NS == sum->first_ns / DAY_NS);
        tc__flow_words(&flow, TC_LIT("\xc2\xb7 nothing needs doing"));
    } else {
        tc__flow_words(&flow, TC_LIT("open since"));
        flow_time(&flow, sum->first_ns, false);
        if (lasted_ns >= TC_SECOND) {
            tc__flow_words(&flow, TC_LIT("\xc2\xb7 last seen"));
            flow_duration(&flow, lasted_ns, "");
            tc__flow_words(&flow, TC_LIT("later"));
        }
    }
    tc__page_style(p, TC__TEXT_PLAIN);
    tc__flow_end(&flow);
}

static bool is_open(const struct tc_verdict *v)
{
    return v->status != TC_VERDICT_RESOLVED;
}

/* Whether an earlier root says to do the same. */
static bool is_told(const struct tc_story_text *s, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (is_open(s->verdicts[k]) && tc_slice_eq(s->verdicts[k]->finding->remediation,
                                                   s->verdicts[i]->finding->remediation)) {
            return true;
        }
    }
    return false;
}

/* What to do about the roots; when they are over, about the first consequence that is not. */
static void put_to_do(struct tc__page *p, const struct tc_story_text *s)
{
    size_t told = 0;
    size_t roots = s->root_count < ROOTS_SHOWN ? s->root_count : ROOTS_SHOWN;
    for (size_t i = 0; i < s->count && (i < roots || told == 0); i++) {
        const struct tc_finding *f = s->verdicts[i]->finding;
        if (!is_open(s->verdicts[i]) || f->remediation.len == 0 || is_told(s, i)) {
            continue;
        }
        if (told++ == 0) {
            tc__page_title(p, "To do");
        }
        struct tc__flow flow = tc__flow_begin(p, BLOCK, BLOCK);
        if (i >= s->root_count) {
            tc__flow_words(&flow, s->verdicts[0]->finding->pattern_name);
            tc__flow_words(&flow, TC_LIT("is over,"));
            tc__flow_words(&flow, f->pattern_name);
            tc__flow_words(&flow, TC_LIT("is not:"));
        }
        tc__flow_sentence(&flow, f->remediation);
        tc__flow_end(&flow);
    }
}

/* ---- why: at most three lines ---- */

struct why {
    struct tc__page *page;
    unsigned lines;
    bool full;
};

static unsigned lines_since(const struct tc_buf *b, size_t start)
{
    unsigned lines = 0;
    for (size_t i = start; i < b->len; i++) {
        lines += b->data[i] == '\n';
    }
    return lines;
}

/* Takes back what was written since `start` if it is too much; the first reason always stays. */
static void end_reason(struct why *w, struct tc__flow *flow, size_t start)
{
    tc__flow_end(flow);
    unsigned lines = lines_since(w->page->b, start);
    if (w->lines > 0 && w->lines + lines > WHY_LINES) {
        w->page->b->len = start;
        w->full = true;
        return;
    }
    w->lines += lines;
}

static struct tc__flow begin_reason(struct why *w, size_t *out_start)
{
    if (w->lines == 0) {
        tc__page_title(w->page, "Why");
    }
    *out_start = w->page->b->len;
    return tc__flow_begin(w->page, BLOCK, BLOCK + MARGIN);
}

static void put_causes(struct why *w, const struct tc_verdict *v)
{
    size_t start = 0;
    for (size_t i = 0; i < v->cause_count && !w->full; i++) {
        struct tc__flow flow = begin_reason(w, &start);
        tc__flow_sentence(&flow, v->causes[i].why);
        if (v->causes[i].incident_id.len > 0) {
            tc__flow_words(&flow, TC_LIT("(incident"));
            flow_closed(&flow, TC_EMPTY, v->causes[i].incident_id, TC_LIT(")"));
        }
        end_reason(w, &flow, start);
    }
}

/* "rank 12: never reached it" in two parts; the second is empty when it is not of that form. */
static struct tc_slice reason_rank(struct tc_slice reason, struct tc_slice *out_rest)
{
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice who = tc_slice_cut(reason, ':', &rest);
    uint64_t rank = 0;
    bool is_rank =
        tc_slice_starts(who, TC_LIT("rank ")) && tc_slice_is_u64(tc_slice_from(who, 5), &rank);
    *out_rest = is_rank ? rest : TC_EMPTY;
    return is_rank ? tc_slice_from(who, 5) : TC_EMPTY;
}

/* One reason, with all ranks that have the same. */
static void flow_reason(struct tc__flow *flow, const struct tc_attr *reasons, size_t at)
{
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice rank = reason_rank(reasons->strings[at], &rest);
    size_t same = 0;
    for (size_t i = at; rank.len > 0 && i < reasons->count; i++) {
        struct tc_slice other = TC_EMPTY;
        (void)reason_rank(reasons->strings[i], &other);
        same += tc_slice_eq(other, rest);
    }
    if (same < 2) {
        tc__flow_sentence(flow, reasons->strings[at]);
        return;
    }
    tc__flow_words(flow, TC_LIT("each of ranks"));
    for (size_t i = at; i < reasons->count; i++) {
        struct tc_slice other = TC_EMPTY;
        struct tc_slice number = reason_rank(reasons->strings[i], &other);
        if (tc_slice_eq(other, rest)) {
            flow_closed(flow, TC_EMPTY, number, --same > 0 ? TC_LIT(",") : TC_LIT(":"));
        }
    }
    tc__flow_sentence(flow, rest);
}

static bool was_joined(const struct tc_attr *reasons, size_t at)
{
    struct tc_slice rest = TC_EMPTY;
    (void)reason_rank(reasons->strings[at], &rest);
    for (size_t i = 0; rest.len > 0 && i < at; i++) {
        struct tc_slice other = TC_EMPTY;
        (void)reason_rank(reasons->strings[i], &other);
        if (tc_slice_eq(other, rest)) {
            return true;
        }
    }
    return false;
}

static void put_reasons(struct why *w, const struct tc_attr *reasons)
{
    size_t start = 0;
    for (size_t i = 0; i < reasons->count && !w->full; i++) {
        if (!was_joined(reasons, i)) {
            struct tc__flow flow = begin_reason(w, &start);
            flow_reason(&flow, reasons, i);
            end_reason(w, &flow, start);
        }
    }
}

/* Whether an earlier piece that was told is of the same kind. */
static bool is_kind_told(const struct tc_finding *f, size_t at, bool before, int64_t first_ns)
{
    for (size_t k = 0; k < at; k++) {
        if (tc_slice_eq(f->evidence[k].kind, f->evidence[at].kind) &&
            (f->evidence[k].time_ns < first_ns) == before) {
            return true;
        }
    }
    return false;
}

/* "(and 7 alike)": pieces behind this one that differ from it in numbers only. */
static void flow_alike(struct tc__flow *flow, const struct tc_finding *f, size_t at)
{
    char text[WORD_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    size_t alike = 0;
    for (size_t i = at + 1; i < f->evidence_count; i++) {
        alike += tc__evidence_is_alike(&f->evidence[at], &f->evidence[i]);
    }
    if (alike > 0) {
        tc_buf_lit(&b, "(and ");
        tc_buf_u64(&b, alike);
        tc_buf_lit(&b, " alike)");
        tc__flow_words(flow, tc_buf_slice(&b));
    }
}

/*
 * Without a reason of the detector's own: what was seen, one piece of each kind. What is older than
 * the incident says who is who, and comes last.
 */
static void put_facts(struct why *w, const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    size_t start = 0;
    for (int before = 0; before <= 1; before++) {
        for (size_t i = 0; i < f->evidence_count && w->lines < WHY_LINES; i++) {
            const struct tc_evidence *e = &f->evidence[i];
            if (e->description.len > 0 && (e->time_ns < v->first_ns) == (before == 1) &&
                !is_kind_told(f, i, before == 1, v->first_ns)) {
                struct tc__flow flow = begin_reason(w, &start);
                tc__flow_sentence(&flow, e->description);
                flow_alike(&flow, f, i);
                end_reason(w, &flow, start);
            }
        }
    }
}

/* Whether every reason of the detector's own was told. */
static bool put_why(struct tc__page *p, const struct tc_verdict *v)
{
    struct why w = {.page = p};
    const struct tc_attr *reasons = tc__finding_reasons(v->finding);
    put_causes(&w, v);
    if (reasons != NULL) {
        put_reasons(&w, reasons);
    } else {
        put_facts(&w, v);
    }
    return !w.full;
}

/* ---- what followed ---- */

/* What the further verdicts of a pattern are about. */
static const char *noun_of(const struct tc_finding *f, bool one)
{
    static const struct {
        const char *pattern;
        const char *one;
        const char *many;
    } nouns[] = {
        {"nccl_hang", "group", "groups"},        {"straggler", "rank", "ranks"},
        {"rank_crash", "job", "jobs"},           {"xid_correlation", "pod", "pods"},
        {"pod_evicted", "pod", "pods"},          {"host_oom", "pod", "pods"},
        {"dataloader_hang", "pod", "pods"},      {"hbm_ecc", "GPU", "GPUs"},
        {"thermal_throttle", "GPU", "GPUs"},     {"gpu_fault", "GPU", "GPUs"},
        {"network_link_fault", "port", "ports"},
    };
    for (size_t i = 0; i < TC_COUNT(nouns); i++) {
        if (tc_slice_eq(tc_slice_cstr(nouns[i].pattern), f->pattern_name)) {
            return one ? nouns[i].one : nouns[i].many;
        }
    }
    return one ? "incident" : "incidents";
}

struct fold {
    const struct tc_verdict *first;
    size_t others;
};

/* By pattern and job, in the order in which they come; what is over FOLDS_SHOWN is counted. */
static size_t fold(const struct tc_story_text *s, struct fold *folds, size_t *out_more)
{
    size_t count = 0;
    for (size_t i = s->root_count; i < s->count; i++) {
        const struct tc_finding *f = s->verdicts[i]->finding;
        size_t at = 0;
        while (at < count &&
               !(tc_slice_eq(folds[at].first->finding->pattern_name, f->pattern_name) &&
                 tc_slice_eq(folds[at].first->finding->scope.job, f->scope.job))) {
            at++;
        }
        if (at < count) {
            folds[at].others++;
        } else if (count < FOLDS_SHOWN) {
            folds[count++] = (struct fold){s->verdicts[i], 0};
        } else {
            ++*out_more;
        }
    }
    return count;
}

static void put_follower(struct tc__page *p, const struct fold *one, bool why)
{
    const struct tc_verdict *v = one->first;
    struct tc__flow flow = tc__flow_begin(p, BLOCK, BLOCK + MARGIN);
    tc__flow_sentence(&flow, v->finding->headline);
    flow_closed(&flow, TC_LIT("("), v->finding->pattern_name, TC_LIT(")"));
    tc__flow_end(&flow);
    for (size_t i = 0; why && i < v->cause_count; i++) {
        flow = tc__flow_begin(p, BLOCK + MARGIN, BLOCK + 2 * MARGIN);
        tc__flow_words(&flow, TC_LIT("because"));
        tc__flow_sentence(&flow, v->causes[i].why);
        tc__flow_end(&flow);
    }
    if (one->others > 0) {
        tc__page_blank(p, BLOCK + MARGIN);
        tc__page_text(p, TC_LIT("and "));
        tc__page_number(p, one->others);
        tc__page_text(p, TC_LIT(" other "));
        tc__page_text(p, tc_slice_cstr(noun_of(v->finding, one->others == 1)));
        tc__page_line(p);
    }
}

static void put_followers(struct tc__page *p, const struct tc_story_text *s, bool why)
{
    struct fold folds[FOLDS_SHOWN];
    size_t more = 0;
    size_t count = fold(s, folds, &more);
    if (count > 0) {
        tc__page_title(p, "What followed");
    }
    for (size_t i = 0; i < count; i++) {
        put_follower(p, &folds[i], why);
    }
    tc__page_more(p, more);
}

static void put_other_roots(struct tc__page *p, const struct tc_story_text *s)
{
    if (s->root_count > 1) {
        tc__page_title(p, "Together with");
    }
    for (size_t i = 1; i < s->root_count && i <= ROOTS_SHOWN; i++) {
        struct fold one = {s->verdicts[i], 0};
        put_follower(p, &one, false);
    }
    tc__page_more(p, s->root_count > ROOTS_SHOWN + 1 ? s->root_count - ROOTS_SHOWN - 1 : 0);
}

/* ---- the rest ---- */

/* Whether the page has told all of the timeline: its only line is the why, its time is the story's.
 */
static bool is_timeline_told(const struct tc_story_text *s, const struct tc__trail *trail)
{
    const struct tc_verdict *v = s->verdicts[0];
    return s->count == 1 && trail->count == 1 && trail->alike[0] == 0 && trail->left_out == 0 &&
           v->cause_count == 0 && tc__finding_reasons(v->finding) == NULL &&
           trail->pieces[0]->time_ns == v->finding->first_ns;
}

static void put_trail(struct tc__page *p, const struct tc_story_text *s,
                      const struct tc_sources *sources, const struct tc_text_style *style)
{
    struct tc__trail trail = {0};
    struct fold folds[FOLDS_SHOWN];
    size_t more = 0;
    size_t count = fold(s, folds, &more);
    tc__trail_add(&trail, s->verdicts[0]->finding,
                  style->all ? TC_VERDICT_EVIDENCE_MAX : EVIDENCE_SHOWN);
    for (size_t i = 1; i < s->root_count; i++) {
        tc__trail_add(&trail, s->verdicts[i]->finding, EVIDENCE_OF_FOLLOWER);
    }
    for (size_t i = 0; i < count; i++) {
        tc__trail_add(&trail, folds[i].first->finding, EVIDENCE_OF_FOLLOWER);
    }
    tc__trail_end(&trail,
                  style->all     ? TC_VERDICT_EVIDENCE_MAX
                  : s->count > 1 ? STORY_SHOWN
                                 : EVIDENCE_SHOWN,
                  !style->all);
    if (trail.count > 0 && (style->all || !is_timeline_told(s, &trail))) {
        tc__page_timeline(p, &trail);
    }
    if (trail.count > 0 && sources != NULL) {
        tc__page_evidence(p, &trail, sources);
    }
}

static void put_footer(struct tc__page *p, const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    struct tc__flow flow = tc__flow_begin(p, MARGIN, MARGIN);
    tc__page_style(p, TC__TEXT_DIM);
    tc__flow_item(&flow, TC_LIT("incident"), v->incident_id);
    tc__flow_item(&flow, TC_LIT("confidence"), tc_slice_cstr(tc_confidence_name(f->confidence)));
    if (f->incomplete) {
        tc__flow_item(&flow, TC_LIT("incomplete:"),
                      TC_LIT("a memory budget dropped part of the window"));
    }
    tc__page_style(p, TC__TEXT_PLAIN);
    tc__flow_end(&flow);
}

void tc_verdict_render_story(struct tc_buf *b, const struct tc_story_text *story,
                             const struct tc_sources *sources, const struct tc_text_style *style)
{
    struct tc__page page = tc__page_begin(b, style);
    struct tc__page *p = &page;
    const struct tc_verdict *v = story->verdicts[0];
    struct tc_story_sum sum = tc_story_sum_of(story);
    bool whole = style->all || !sum.resolved;
    bool reasons_told = true;
    put_header(p, story, &sum);
    put_status(p, &sum);
    if (!sum.resolved) {
        put_to_do(p, story);
    }
    if (whole) {
        reasons_told = put_why(p, v);
    }
    put_other_roots(p, story);
    put_followers(p, story, whole);
    if (whole) {
        put_trail(p, story, sources, style);
        tc__page_details(p, v->finding, reasons_told);
    }
    put_footer(p, v);
}
