/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "verdict/render.h"
#include "verdict/text_priv.h"

/* How much of a long list a person is shown; --json has all of it. */
#define LIST_SHOWN 16
#define EVIDENCE_SHOWN 8
#define STAMP_MAX 48
#define DAY_NS (86400 * TC_SECOND)

#define MARGIN 2
#define BLOCK 4

/* The pieces of evidence in order of time, and which of them are shown. */
struct trail {
    const struct tc_evidence *all;
    size_t order[TC_VERDICT_EVIDENCE_MAX];
    size_t count;
    size_t shown;
    size_t more;
    bool relative; /* they are of different days */
};

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
    if (v->first_ns == TC_TIME_NONE) {
        tc_buf_lit(&time, "undated");
    } else {
        tc_buf_time(&time, v->first_ns - v->first_ns % TC_SECOND);
    }
    tc__page_style(p, styles[f->severity]);
    tc__page_text(p, tc_slice_cstr(words[f->severity]));
    tc__page_style(p, TC__TEXT_PLAIN);
    struct tc_slice rest[] = {f->pattern_name, f->discriminator,
                              v->status == TC_VERDICT_RESOLVED ? TC_LIT("resolved") : TC_EMPTY};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
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

static void put_title(struct tc__page *p, const char *title)
{
    tc__page_blank(p, MARGIN);
    tc__page_style(p, TC__TEXT_BOLD);
    tc__page_text(p, tc_slice_cstr(title));
    tc__page_style(p, TC__TEXT_PLAIN);
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
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
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

static void put_more(struct tc__page *p, size_t more)
{
    if (more > 0) {
        tc__page_blank(p, BLOCK);
        tc__page_text(p, TC_LIT("\xe2\x80\xa6 and "));
        tc__page_number(p, more);
        tc__page_text(p, TC_LIT(" more in --json"));
        tc__page_line(p);
    }
}

static void put_reasons(struct tc__page *p, const struct tc_attr *reasons)
{
    put_title(p, reasons->count == 1 ? "Culprit" : "Culprits");
    size_t shown = reasons->count < LIST_SHOWN ? reasons->count : LIST_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        tc__page_paragraph(p, BLOCK, BLOCK + MARGIN, reasons->strings[i]);
    }
    put_more(p, reasons->count - shown);
}

/* Undated pieces come last; equal times keep the order of the verdict. */
static bool is_before(const struct tc_evidence *a, const struct tc_evidence *b)
{
    if (a->time_ns == TC_TIME_NONE || b->time_ns == TC_TIME_NONE) {
        return a->time_ns != TC_TIME_NONE && b->time_ns == TC_TIME_NONE;
    }
    return a->time_ns < b->time_ns;
}

static struct trail make_trail(const struct tc_finding *f)
{
    struct trail t = {.all = f->evidence};
    size_t known =
        f->evidence_count < TC_VERDICT_EVIDENCE_MAX ? f->evidence_count : TC_VERDICT_EVIDENCE_MAX;
    for (; t.count < known; t.count++) {
        size_t at = t.count;
        while (at > 0 && is_before(&t.all[t.count], &t.all[t.order[at - 1]])) {
            t.order[at] = t.order[at - 1];
            at--;
        }
        t.order[at] = t.count;
    }
    t.shown = t.count < EVIDENCE_SHOWN ? t.count : EVIDENCE_SHOWN;
    t.more = f->evidence_count - t.shown;
    for (size_t i = 1; i < t.shown; i++) {
        int64_t first = t.all[t.order[0]].time_ns;
        int64_t now = t.all[t.order[i]].time_ns;
        t.relative = t.relative || (now != TC_TIME_NONE && now / DAY_NS != first / DAY_NS);
    }
    return t;
}

/* The time of one piece: of day, or since the first when they are of different days. */
static void stamp(struct tc_buf *b, const struct trail *t, size_t i)
{
    int64_t first = t->all[t->order[0]].time_ns;
    int64_t now = t->all[t->order[i]].time_ns;
    if (now == TC_TIME_NONE) {
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

static void put_timeline(struct tc__page *p, const struct trail *t)
{
    unsigned width = 0;
    char text[STAMP_MAX];
    for (size_t i = 0; i < t->shown; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        stamp(&b, t, i);
        width = b.len > width ? (unsigned)b.len : width;
    }
    put_title(p, "Timeline");
    for (size_t i = 0; i < t->shown; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        stamp(&b, t, i);
        const struct tc_evidence *e = &t->all[t->order[i]];
        tc__page_blank(p, BLOCK + width - (unsigned)b.len);
        tc__page_text(p, tc_buf_slice(&b));
        tc__page_blank(p, 2);
        tc__page_paragraph(p, 0, BLOCK + width + 2,
                           e->description.len > 0 ? e->description : e->kind);
    }
    put_more(p, t->more);
}

static bool same_bytes(const struct tc_raw *a, const struct tc_raw *b)
{
    return a->source == b->source && a->offset == b->offset && a->length == b->length;
}

static bool was_quoted(const struct trail *t, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (same_bytes(&t->all[t->order[j]].raw, &t->all[t->order[i]].raw)) {
            return true;
        }
    }
    return false;
}

static void put_evidence(struct tc__page *p, const struct trail *t,
                         const struct tc_sources *sources)
{
    bool titled = false;
    for (size_t i = 0; i < t->shown; i++) {
        const struct tc_raw *raw = &t->all[t->order[i]].raw;
        struct tc_source_view view;
        if (raw->source == TC_SOURCE_NONE || was_quoted(t, i) ||
            !sources->view(sources->context, raw->source, &view)) {
            continue;
        }
        if (!titled) {
            put_title(p, "Evidence");
            titled = true;
        }
        tc__page_quote(p, BLOCK, &view, raw);
    }
}

static void put_causes(struct tc__page *p, const struct tc_verdict *v)
{
    put_title(p, "Because of");
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

void tc_verdict_render_text(struct tc_buf *b, const struct tc_verdict *v,
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
    if (f->evidence_count > 0) {
        struct trail trail = make_trail(f);
        put_timeline(p, &trail);
        if (sources != NULL) {
            put_evidence(p, &trail, sources);
        }
    }
    if (f->remediation.len > 0) {
        put_title(p, "Next");
        tc__page_paragraph(p, BLOCK, BLOCK, f->remediation);
    }
    put_footer(p, v);
}
