/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "verdict/render.h"
#include "verdict/text_priv.h"

/* How much of a long list a person is shown; --json has all of it. */
#define LIST_SHOWN 16
#define EVIDENCE_SHOWN 8
#define EVIDENCE_OF_FOLLOWER 4
#define STORY_SHOWN 20
#define STAMP_MAX 48

#define MARGIN TC__TEXT_MARGIN
#define BLOCK TC__TEXT_BLOCK

/* Two columns behind what is there, or on the next line; broken only when no line holds it. */
static void put_header_word(struct tc__page *p, struct tc_slice word)
{
    if (p->at + 2 + tc__text_width(word) > p->columns) {
        tc__page_line(p);
    }
    struct tc__flow flow = tc__flow_begin(p, 2, 2);
    tc__flow_word(&flow, word);
}

static void put_header(struct tc__page *p, const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    static const char *const words[] = {"INFO", "WARNING", "CRITICAL"};
    static const enum tc__text_style styles[] = {TC__TEXT_INFO, TC__TEXT_WARNING,
                                                 TC__TEXT_CRITICAL};
    char stamp[STAMP_MAX];
    struct tc_buf time = tc_buf_make(stamp, sizeof stamp);
    if (!tc_time_is_date(v->first_ns)) {
        tc_buf_lit(&time, "undated");
    } else {
        tc_buf_time(&time, v->first_ns - v->first_ns % TC_SECOND);
    }
    tc__page_style(p, styles[f->severity]);
    tc__page_text(p, tc_slice_cstr(words[f->severity]));
    tc__page_style(p, TC__TEXT_PLAIN);
    struct tc_slice rest[] = {f->pattern_name, f->discriminator,
                              v->status == TC_VERDICT_RESOLVED ? TC_LIT("resolved") : TC_EMPTY};
    for (size_t i = 0; i < TC_COUNT(rest); i++) {
        if (rest[i].len > 0) {
            put_header_word(p, rest[i]);
        }
    }
    /* The time ends where the line does, on a line of its own when this one is full. */
    unsigned width = (unsigned)time.len;
    if (p->at + 2 + width > p->columns) {
        tc__page_line(p);
    }
    tc__page_blank(p, p->columns > p->at + width ? p->columns - p->at - width : 0);
    tc__page_text(p, tc_buf_slice(&time));
    tc__page_line(p);
}

/* "name value", with a dot between items. */
static void put_item(struct tc__flow *flow, struct tc_slice name, struct tc_slice value)
{
    if (value.len == 0) {
        return;
    }
    if (flow->started) {
        tc__flow_word(flow, TC_LIT("\xc2\xb7"));
    }
    tc__flow_together(flow, name, value);
    tc__flow_words(flow, name);
    tc__flow_words(flow, value);
}

static void put_number(struct tc__flow *flow, struct tc_slice name, int64_t value)
{
    char text[24];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_i64(&b, value);
    put_item(flow, name, tc_buf_slice(&b));
}

static void put_scope(struct tc__flow *flow, const struct tc_scope *s)
{
    put_item(flow, TC_LIT("job"), s->job);
    put_item(flow, TC_LIT("node"), s->node);
    put_item(flow, TC_LIT("namespace"), s->ns);
    put_item(flow, TC_LIT("pod"), s->pod);
    put_item(flow, TC_LIT("container"), s->container);
    /* "GPU-34d8..." says what it is by itself. */
    put_item(flow, tc_slice_starts(s->gpu_uuid, TC_LIT("GPU-")) ? TC_EMPTY : TC_LIT("GPU"),
             s->gpu_uuid);
    if (s->pci.known) {
        char text[16];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_bdf(&b, s->pci);
        put_item(flow, TC_LIT("PCI"), tc_buf_slice(&b));
    }
    if (s->gpu_index >= 0 && s->gpu_uuid.len == 0) {
        put_number(flow, TC_LIT("GPU index"), s->gpu_index);
    }
    if (s->rank >= 0) {
        put_number(flow, TC_LIT("rank"), s->rank);
    }
    if (s->pid >= 0) {
        put_number(flow, TC_LIT("pid"), s->pid);
    }
}

/* "0-3, 7, 9-15": runs of numbers, the first LIST_SHOWN of them. */
static void ints_text(struct tc_buf *b, const struct tc_attr *a)
{
    size_t runs = 0;
    for (size_t i = 0; i < a->count;) {
        size_t end = i + 1;
        while (end < a->count && (int64_t)a->ints[end] == (int64_t)a->ints[end - 1] + 1) {
            end++;
        }
        if (runs++ == LIST_SHOWN) {
            tc_buf_lit(b, " \xe2\x80\xa6 (");
            tc_buf_u64(b, a->count);
            tc_buf_lit(b, " in all)");
            return;
        }
        tc_buf_str(b, i == 0 ? TC_EMPTY : TC_LIT(", "));
        tc_buf_i64(b, a->ints[i]);
        if (end > i + 1) {
            tc_buf_str(b, end == i + 2 ? TC_LIT(", ") : TC_LIT("-"));
            tc_buf_i64(b, a->ints[end - 1]);
        }
        i = end;
    }
}

static void put_strings(struct tc__flow *flow, struct tc_slice name, const struct tc_attr *a)
{
    for (size_t i = 0; i < a->count && i < LIST_SHOWN; i++) {
        put_item(flow, i == 0 ? name : TC_EMPTY, a->strings[i]);
    }
    if (a->count > LIST_SHOWN) {
        put_number(flow, TC_LIT("\xe2\x80\xa6 in all"), (int64_t)a->count);
    }
}

/* "tracecore.alert.nccl_hang.stall_seconds" is "stall seconds" to a person. */
static struct tc_slice attr_name(struct tc_buf *b, struct tc_slice key)
{
    static const struct tc_slice prefix = {"tracecore.alert.", sizeof("tracecore.alert.") - 1};
    if (tc_slice_starts(key, prefix)) {
        struct tc_slice behind = tc_slice_from(key, prefix.len);
        struct tc_slice rest;
        struct tc_slice pattern = tc_slice_cut(behind, '.', &rest);
        key = pattern.len < behind.len ? rest : behind;
    }
    for (size_t i = 0; i < key.len; i++) {
        tc_buf_char(b, key.ptr[i] == '_' ? ' ' : key.ptr[i]);
    }
    return tc_buf_slice(b);
}

static void put_attr(struct tc__flow *flow, const struct tc_attr *a)
{
    char name_text[80];
    char value_text[LIST_SHOWN * 26 + 64];
    struct tc_buf name_buf = tc_buf_make(name_text, sizeof name_text);
    struct tc_buf value = tc_buf_make(value_text, sizeof value_text);
    struct tc_slice name = attr_name(&name_buf, a->key);
    switch (a->type) {
    case TC_ATTR_STRING:
        put_item(flow, name, a->string);
        break;
    case TC_ATTR_INT:
        put_number(flow, name, a->integer);
        break;
    case TC_ATTR_BOOL:
        put_item(flow, name, a->boolean ? TC_LIT("yes") : TC_LIT("no"));
        break;
    case TC_ATTR_INTS:
        ints_text(&value, a);
        put_item(flow, name, tc_buf_slice(&value));
        break;
    case TC_ATTR_STRINGS:
        put_strings(flow, name, a);
        break;
    }
}

/* The reasons why culprits are culprits have a block of their own. */
static const struct tc_attr *find_reasons(const struct tc_finding *f)
{
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *a = &f->attrs[i];
        if (a->type == TC_ATTR_STRINGS && a->count > 0 &&
            tc_slice_ends(a->key, TC_LIT(".culprit_reasons"))) {
            return a;
        }
    }
    return NULL;
}

/* Detectors may repeat part of the scope as an attribute of theirs; once is enough. */
static bool is_in_scope(const struct tc_attr *a, const struct tc_scope *s)
{
    const struct {
        struct tc_slice suffix;
        struct tc_slice value;
    } items[] = {
        {TC_LIT(".job"), s->job},
        {TC_LIT(".node"), s->node},
        {TC_LIT(".namespace"), s->ns},
        {TC_LIT(".pod"), s->pod},
        {TC_LIT(".container"), s->container},
    };
    for (size_t i = 0; i < TC_COUNT(items); i++) {
        if (a->type == TC_ATTR_STRING && tc_slice_ends(a->key, items[i].suffix) &&
            tc_slice_eq(a->string, items[i].value)) {
            return true;
        }
    }
    return false;
}

/* What the headline says already, and counts of nothing, are left out. */
static bool is_in_headline(const struct tc_attr *a, struct tc_slice headline)
{
    char digits[24];
    struct tc_buf b = tc_buf_make(digits, sizeof digits);
    if (a->type == TC_ATTR_STRING) {
        return a->string.len > 1 && tc_slice_contains(headline, a->string);
    }
    if (a->type != TC_ATTR_INT) {
        return a->type == TC_ATTR_INTS && a->count == 0;
    }
    tc_buf_i64(&b, a->integer);
    return a->integer == 0 || (b.len > 1 && tc_slice_contains(headline, tc_buf_slice(&b)));
}

static void put_facts(struct tc__page *p, const struct tc_finding *f, const struct tc_attr *reasons)
{
    struct tc__flow flow = tc__flow_begin(p, MARGIN, MARGIN);
    put_scope(&flow, &f->scope);
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *a = &f->attrs[i];
        /* With a reason for each, the bare list of culprits says nothing new. */
        bool said = reasons != NULL && a->type == TC_ATTR_INTS && a->count == reasons->count &&
                    tc_slice_ends(a->key, TC_LIT(".culprit_ranks"));
        if (a != reasons && !said && !is_in_scope(a, &f->scope) &&
            !is_in_headline(a, f->headline)) {
            put_attr(&flow, a);
        }
    }
    tc__flow_end(&flow);
}

static void put_reasons(struct tc__page *p, const struct tc_attr *reasons)
{
    tc__page_title(p, reasons->count == 1 ? "Culprit" : "Culprits");
    size_t shown = reasons->count < LIST_SHOWN ? reasons->count : LIST_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        tc__page_paragraph(p, BLOCK, BLOCK + MARGIN, reasons->strings[i]);
    }
    tc__page_more(p, reasons->count - shown, "in --json");
}

static void put_causes(struct tc__page *p, const struct tc_verdict *v)
{
    tc__page_title(p, "Because of");
    for (size_t i = 0; i < v->cause_count; i++) {
        struct tc__flow flow = tc__flow_begin(p, BLOCK, BLOCK + MARGIN);
        if (v->causes[i].incident_id.len > 0) {
            tc__flow_words(&flow, TC_LIT("incident"));
            tc__flow_words(&flow, v->causes[i].incident_id);
        }
        tc__flow_words(&flow, v->causes[i].why);
        tc__flow_end(&flow);
    }
}

static void put_footer(struct tc__page *p, const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    struct tc__flow flow = tc__flow_begin(p, MARGIN, MARGIN);
    tc__page_style(p, TC__TEXT_DIM);
    put_item(&flow, TC_LIT("incident"), v->incident_id);
    put_item(&flow, TC_LIT("confidence"), tc_slice_cstr(tc_confidence_name(f->confidence)));
    if (f->incomplete) {
        put_item(&flow, TC_LIT("incomplete:"),
                 TC_LIT("a memory budget dropped part of the window"));
    }
    tc__page_style(p, TC__TEXT_PLAIN);
    tc__flow_end(&flow);
}

/* "pattern  headline" on one line, cut where it does not fit. Width counts escaped code points. */
static void put_brief(struct tc__page *p, const struct tc_finding *f)
{
    char escaped[1024];
    struct tc_buf line = tc_buf_make(escaped, sizeof escaped);
    tc_buf_printable(&line, tc_slice_head(f->headline, sizeof escaped / 4));
    struct tc_slice rest = tc_buf_slice(&line);
    tc__page_blank(p, BLOCK);
    size_t end = 0;
    size_t cut = 0; /* where the ellipsis would go */
    for (unsigned at = p->at; end < rest.len && at + 1 <= p->columns; at++) {
        size_t len = 1;
        while (end + len < rest.len && ((unsigned char)rest.ptr[end + len] & 0xc0) == 0x80) {
            len++;
        }
        cut = at + 2 > p->columns ? cut : end + len;
        end += len;
    }
    tc__page_text(p, tc_slice_head(rest, end < rest.len ? cut : end));
    tc__page_text(p, end < rest.len ? TC_LIT("\xe2\x80\xa6") : TC_EMPTY);
    tc__page_line(p);
}

static void put_follower(struct tc__page *p, const struct tc_verdict *v)
{
    struct tc__flow flow = tc__flow_begin(p, BLOCK, BLOCK + MARGIN);
    tc__flow_words(&flow, v->finding->pattern_name);
    tc__flow_words(&flow, TC_LIT("\xc2\xb7"));
    tc__flow_words(&flow, v->finding->headline);
    tc__flow_end(&flow);
    for (size_t i = 0; i < v->cause_count; i++) {
        flow = tc__flow_begin(p, BLOCK + MARGIN, BLOCK + 2 * MARGIN);
        tc__flow_words(&flow, TC_LIT("because"));
        tc__flow_words(&flow, v->causes[i].why);
        tc__flow_end(&flow);
    }
}

static void put_followers(struct tc__page *p, const struct tc_follower *followers, size_t count,
                          size_t more)
{
    tc__page_title(p, "What followed");
    for (size_t i = 0; i < count; i++) {
        if (followers[i].brief) {
            put_brief(p, followers[i].verdict->finding);
        } else {
            put_follower(p, followers[i].verdict);
        }
    }
    tc__page_more(p, more, "(--all shows them)");
}

void tc_verdict_render_story(struct tc_buf *b, const struct tc_verdict *v,
                             const struct tc_follower *followers, size_t count, size_t more,
                             const struct tc_sources *sources, const struct tc_text_style *style)
{
    const struct tc_finding *f = v->finding;
    struct tc__page page = tc__page_begin(b, style);
    struct tc__page *p = &page;
    const struct tc_attr *reasons = find_reasons(f);
    put_header(p, v);
    tc__page_style(p, TC__TEXT_BOLD);
    tc__page_paragraph(p, 0, 0, f->headline);
    tc__page_style(p, TC__TEXT_PLAIN);
    put_facts(p, f, reasons);
    if (reasons != NULL) {
        put_reasons(p, reasons);
    }
    if (v->cause_count > 0) {
        put_causes(p, v);
    }
    if (count > 0) {
        put_followers(p, followers, count, more);
    }
    struct tc__trail trail = {0};
    tc__trail_add(&trail, f, EVIDENCE_SHOWN);
    for (size_t i = 0; i < count; i++) {
        if (!followers[i].brief) {
            tc__trail_add(&trail, followers[i].verdict->finding, EVIDENCE_OF_FOLLOWER);
        }
    }
    tc__trail_end(&trail, count > 0 ? STORY_SHOWN : EVIDENCE_SHOWN);
    if (trail.count > 0) {
        tc__page_timeline(p, &trail);
        if (sources != NULL) {
            tc__page_evidence(p, &trail, sources);
        }
    }
    if (f->remediation.len > 0) {
        tc__page_title(p, "Next");
        tc__page_paragraph(p, BLOCK, BLOCK, f->remediation);
    }
    put_footer(p, v);
}
