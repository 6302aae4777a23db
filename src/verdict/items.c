/* SPDX-License-Identifier: Apache-2.0 */
/* Scope and attributes of a finding as items: "node gpu-07 · rank 5". */
#include "base/time.h"
#include "verdict/page_priv.h"

/* How much of a long list a person is shown; --json has all of it. */
#define LIST_SHOWN 16

void tc__flow_item(struct tc__flow *flow, struct tc_slice name, struct tc_slice value)
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
    tc__flow_item(flow, name, tc_buf_slice(&b));
}

static void put_gpu_name(struct tc__flow *flow, const struct tc_scope *s)
{
    /* "GPU-34d8..." says what it is by itself. */
    tc__flow_item(flow, tc_slice_starts(s->gpu_uuid, TC_LIT("GPU-")) ? TC_EMPTY : TC_LIT("GPU"),
                  s->gpu_uuid);
}

static void put_pci(struct tc__flow *flow, const struct tc_scope *s)
{
    if (s->pci.known) {
        char text[16];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_bdf(&b, s->pci);
        tc__flow_item(flow, TC_LIT("PCI"), tc_buf_slice(&b));
    }
}

static void put_pod(struct tc__flow *flow, const struct tc_scope *s)
{
    char text[2 * TC_SCOPE_TEXT_MAX + 2];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    if (s->pod.len > 0) {
        tc_buf_str(&b, s->ns);
        tc_buf_str(&b, s->ns.len > 0 ? TC_LIT("/") : TC_EMPTY);
        tc_buf_str(&b, s->pod);
    }
    tc__flow_item(flow, TC_LIT("pod"), tc_buf_slice(&b));
}

void tc__flow_what_and_where(struct tc__flow *flow, const struct tc_finding *f)
{
    const struct tc_scope *s = &f->scope;
    tc__flow_words(flow, f->pattern_name);
    tc__flow_words(flow, f->discriminator);
    tc__flow_item(flow, TC_LIT("node"), s->node);
    if (s->gpu_index >= 0) {
        put_number(flow, TC_LIT("GPU"), s->gpu_index);
    } else if (s->pci.known) {
        put_pci(flow, s);
    } else if (s->gpu_uuid.len > 0) {
        put_gpu_name(flow, s);
    } else {
        put_pod(flow, s);
    }
    tc__flow_item(flow, TC_LIT("job"), s->job);
    if (s->rank >= 0) {
        put_number(flow, TC_LIT("rank"), s->rank);
    }
}

/* What tc__flow_what_and_where left out. */
static void put_rest_of_scope(struct tc__flow *flow, const struct tc_scope *s)
{
    bool is_gpu = s->gpu_index >= 0 || s->pci.known || s->gpu_uuid.len > 0;
    if (is_gpu) {
        put_pod(flow, s);
    }
    tc__flow_item(flow, TC_LIT("container"), s->container);
    if (s->gpu_index >= 0 || s->pci.known) {
        put_gpu_name(flow, s);
    }
    if (s->gpu_index >= 0) {
        put_pci(flow, s);
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
        tc__flow_item(flow, i == 0 ? name : TC_EMPTY, a->strings[i]);
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

/* "stall seconds" of 420 is "stall 7 min". False when it is no such attribute. */
static bool put_seconds(struct tc__flow *flow, struct tc_slice name, const struct tc_attr *a)
{
    static const struct tc_slice unit = {" seconds", sizeof(" seconds") - 1};
    char text[32];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    if (a->type != TC_ATTR_INT || !tc_slice_ends(name, unit) || a->integer < 0 ||
        a->integer > TC_TIME_MAX / TC_SECOND) {
        return false;
    }
    tc_buf_duration(&b, a->integer * TC_SECOND);
    tc__flow_item(flow, tc_slice_head(name, name.len - unit.len), tc_buf_slice(&b));
    return true;
}

static void put_attr(struct tc__flow *flow, const struct tc_attr *a)
{
    char name_text[80];
    char value_text[LIST_SHOWN * 26 + 64];
    struct tc_buf name_buf = tc_buf_make(name_text, sizeof name_text);
    struct tc_buf value = tc_buf_make(value_text, sizeof value_text);
    struct tc_slice name = attr_name(&name_buf, a->key);
    if (put_seconds(flow, name, a)) {
        return;
    }
    switch (a->type) {
    case TC_ATTR_STRING:
        tc__flow_item(flow, name, a->string);
        break;
    case TC_ATTR_INT:
        put_number(flow, name, a->integer);
        break;
    case TC_ATTR_BOOL:
        tc__flow_item(flow, name, a->boolean ? TC_LIT("yes") : TC_LIT("no"));
        break;
    case TC_ATTR_INTS:
        ints_text(&value, a);
        tc__flow_item(flow, name, tc_buf_slice(&value));
        break;
    case TC_ATTR_STRINGS:
        put_strings(flow, name, a);
        break;
    case TC_ATTR_SCOPES: /* those of culprits, whom the remediation names with their places */
        break;
    }
}

const struct tc_attr *tc__finding_reasons(const struct tc_finding *f)
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

void tc__page_details(struct tc__page *p, const struct tc_finding *f, bool reasons_told)
{
    struct tc__flow flow = tc__flow_begin(p, TC__TEXT_BLOCK, TC__TEXT_BLOCK);
    const struct tc_attr *reasons = tc__finding_reasons(f);
    size_t before = p->b->len;
    tc__page_title(p, "Details");
    put_rest_of_scope(&flow, &f->scope);
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *a = &f->attrs[i];
        /* With a reason for each, the bare list of culprits says nothing new. */
        bool said = reasons != NULL && a->type == TC_ATTR_INTS && a->count == reasons->count &&
                    tc_slice_ends(a->key, TC_LIT(".culprit_ranks"));
        said = said || (a == reasons && reasons_told);
        if (!said && !is_in_scope(a, &f->scope) && !is_in_headline(a, f->headline)) {
            put_attr(&flow, a);
        }
    }
    tc__flow_end(&flow);
    if (!flow.started) { /* nothing to say: no title either */
        p->b->len = before;
        p->at = 0;
    }
}
