/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the original accepts and should not: values that contradict each other, digests that are
 * none, booleans for integers, keys that nobody reads.
 */
#include "base/sort.h"
#include "contract/check_priv.h"

#include <math.h>
#include <stdlib.h>

#define S(literal) TC_LIT(literal)

/* Weights that were rounded to a few digits still sum to 1. */
#define WEIGHTS_TOLERANCE 1e-6
#define DIGEST_HEX 64
/* Lengths of a mix that are compared with their short form. */
#define MIX_MAX 256
/* Values that are compared with those of the workload; what has more differs. */
#define SAME_MAX 4096

static bool is_kind(const struct tc__node *n, enum tc__kind kind)
{
    return n != NULL && n->kind == kind;
}

static void tell(struct tc__check *k, const char *path, struct tc__value v, const char *what)
{
    tc_buf_str(tc__check_say(k), tc_slice_cstr(what));
    tc__check_tell(k, path, v, true);
}

static bool is_digest(struct tc_slice s)
{
    if (!tc_slice_starts(s, S("sha256:")) || s.len != 7 + DIGEST_HEX) {
        return false;
    }
    for (size_t i = 7; i < s.len; i++) {
        bool hex = (s.ptr[i] >= '0' && s.ptr[i] <= '9') || (s.ptr[i] >= 'a' && s.ptr[i] <= 'f');
        if (!hex) {
            return false;
        }
    }
    return true;
}

static void check_digest(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    if (v.node == NULL ||
        (v.node->kind == TC__STRING && is_digest(tc__contract_text(k->c, v.node)))) {
        return;
    }
    tc_buf_lit(tc__check_say(k), "expected sha256: and 64 lower-case hex digits");
    tc__check_found(k, v);
    tc__check_tell(k, r->path, v, true);
}

static void check_pinned(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    if (!is_kind(v.node, TC__STRING) || v.node->text_len == 0) {
        tc_buf_lit(tc__check_say(k), "expected non-empty string");
        tc__check_found(k, v);
        tc__check_tell(k, r->path, v, true);
        return;
    }
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice text = tc__contract_text(k->c, v.node);
    struct tc_slice head = tc_slice_cut(text, '@', &rest);
    if (head.len < text.len && !is_digest(rest)) {
        tell(k, r->path, v, "expected sha256: and 64 lower-case hex digits behind the @");
    }
}

static void check_differs(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    struct tc_slice other = tc__contract_string(k->c, r->words[0]);
    if (is_kind(v.node, TC__STRING) && v.node->text_len > 0 &&
        tc_slice_eq(other, tc__contract_text(k->c, v.node))) {
        struct tc_buf *b = tc__check_say(k);
        tc_buf_lit(b, "is the same as ");
        tc_buf_str(b, tc_slice_cstr(r->words[0]));
        tc__check_tell(k, r->path, v, true);
    }
}

/* An integer of at least `low` under a key of an item. */
static void check_tokens(struct tc__check *k, const char *path, struct tc__value v, double low)
{
    if (!is_kind(v.node, TC__INT) || v.node->real < low) {
        struct tc_buf *b = tc__check_say(k);
        tc_buf_lit(b, "must be an integer >= ");
        tc_buf_f64(b, low);
        tc__check_found(k, v);
        tc__check_tell(k, path, v, true);
    }
}

/* One length; its weight, or NaN. */
static double check_length(struct tc__check *k, const char *list, size_t i, struct tc__value item)
{
    char path[TC__PATH_MAX];
    if (!is_kind(item.node, TC__MAPPING)) {
        tc_buf_lit(tc__check_say(k), "expected mapping");
        tc__check_found(k, item);
        tc__check_tell(k, tc__check_item(path, sizeof path, list, i, ""), item, true);
        return (double)NAN;
    }
    struct tc__value in = tc__contract_find(k->c, item, S("inputTokens"));
    struct tc__value out = tc__contract_find(k->c, item, S("outputTokens"));
    struct tc__value weight = tc__contract_find(k->c, item, S("weight"));
    check_tokens(k, tc__check_item(path, sizeof path, list, i, ".inputTokens"), in, 1);
    if (out.node != NULL) {
        check_tokens(k, tc__check_item(path, sizeof path, list, i, ".outputTokens"), out, 0);
    }
    bool is_number = is_kind(weight.node, TC__REAL) || is_kind(weight.node, TC__INT);
    if (is_number && weight.node->real > 0 && weight.node->real <= 1) {
        return weight.node->real;
    }
    tc_buf_lit(tc__check_say(k), "must be a number > 0 and <= 1");
    tc__check_found(k, weight);
    tc__check_tell(k, tc__check_item(path, sizeof path, list, i, ".weight"), weight, true);
    return (double)NAN;
}

static void check_mix(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    double sum = 0;
    uint32_t at = is_kind(v.node, TC__LIST) ? v.node->first : TC__NONE;
    const struct tc__entry *e = NULL;
    if (at == TC__NONE) {
        return;
    }
    for (size_t i = 0; !tc__check_is_full(k) && (e = tc__contract_entry(k->c, at)) != NULL;
         at = e->next, i++) {
        struct tc__value item = {tc__contract_node(k->c, e->value), e->line, e->column};
        sum += check_length(k, r->path, i, item);
    }
    if (!isnan(sum) && fabs(sum - 1) > WEIGHTS_TOLERANCE) {
        struct tc_buf *b = tc__check_say(k);
        tc_buf_lit(b, "the weights sum to ");
        tc_buf_f64(b, sum);
        tc_buf_lit(b, ", not to 1");
        tc__check_tell(k, r->path, v, true);
    }
}

static bool number_at(const char **io_at, char before, double *out)
{
    const char *at = *io_at;
    char *end = NULL;
    if (*at != before || at[1] < '0' || at[1] > '9') {
        return false;
    }
    *out = strtod(at + 1, &end);
    *io_at = end;
    return end != at + 1;
}

/* "[{512/128@0.7},{1024/256@0.3}]", the short form of a mix that templates use. */
static bool is_short_form(const struct tc__check *k, struct tc_slice text,
                          const struct tc__node *mix)
{
    char bytes[MIX_MAX * 32];
    size_t n = 0;
    for (size_t i = 0; i < text.len && n + 1 < sizeof bytes; i++) {
        if (text.ptr[i] != ' ') {
            bytes[n++] = text.ptr[i];
        }
    }
    bytes[n] = '\0';
    const char *at = bytes;
    uint32_t next = mix->first;
    for (size_t i = 0; next != TC__NONE; i++) {
        const struct tc__entry *e = tc__contract_entry(k->c, next);
        struct tc__value item = {tc__contract_node(k->c, e->value), 0, 0};
        static const char *const keys[] = {"inputTokens", "outputTokens", "weight"};
        static const char before[] = {'{', '/', '@'};
        if (*at++ != (i == 0 ? '[' : ',') || item.node->kind != TC__MAPPING) {
            return false;
        }
        for (size_t j = 0; j < 3; j++) {
            double number = 0;
            struct tc__value v = tc__contract_find(k->c, item, tc_slice_cstr(keys[j]));
            bool is_number = is_kind(v.node, TC__INT) || is_kind(v.node, TC__REAL);
            if (!number_at(&at, before[j], &number) || !is_number ||
                fabs(number - v.node->real) > WEIGHTS_TOLERANCE) {
                return false;
            }
        }
        if (*at++ != '}') {
            return false;
        }
        next = e->next;
    }
    return at[0] == ']' && at[1] == '\0';
}

/* Two values side by side. */
struct couple {
    const struct tc__node *a;
    const struct tc__node *b;
};

/* Invariant: count <= SAME_MAX, and so are the steps: aliases cannot make it long. */
struct sameness {
    const struct tc_contract *c;
    struct couple todo[SAME_MAX];
    size_t count;
    size_t steps;
};

static bool is_number(const struct tc__node *n)
{
    return n->kind == TC__INT || n->kind == TC__REAL;
}

static bool add_couple(struct sameness *s, uint32_t a, uint32_t b)
{
    if (s->steps == SAME_MAX || s->count == SAME_MAX) {
        return false;
    }
    s->steps++;
    s->todo[s->count++] = (struct couple){tc__contract_node(s->c, a), tc__contract_node(s->c, b)};
    return true;
}

/* Keys that count. */
static size_t key_count(const struct tc_contract *c, const struct tc__node *n)
{
    size_t count = 0;
    for (const struct tc__entry *e = tc__contract_entry(c, n->first); e != NULL;
         e = tc__contract_entry(c, e->next)) {
        count += e->overridden ? 0 : 1;
    }
    return count;
}

/* What is inside of two lists or two mappings comes next. */
static bool compare_inside(struct sameness *s, struct couple now)
{
    bool is_list = now.a->kind == TC__LIST;
    const struct tc__entry *e = tc__contract_entry(s->c, now.a->first);
    const struct tc__entry *other = tc__contract_entry(s->c, now.b->first);
    if (is_list ? now.a->count != now.b->count : key_count(s->c, now.a) != key_count(s->c, now.b)) {
        return false;
    }
    for (; e != NULL; e = tc__contract_entry(s->c, e->next)) {
        if (!is_list) {
            other = tc__contract_pair(s->c, now.b,
                                      tc__contract_text(s->c, tc__contract_node(s->c, e->key)));
        }
        if (!e->overridden && (other == NULL || !add_couple(s, e->value, other->value))) {
            return false;
        }
        other = is_list ? tc__contract_entry(s->c, other->next) : NULL;
    }
    return true;
}

static bool compare_couple(struct sameness *s, struct couple now)
{
    if (is_number(now.a) && is_number(now.b)) {
        return now.a->real == now.b->real;
    }
    if (now.a->kind != now.b->kind) {
        return false;
    }
    switch (now.a->kind) {
    case TC__NULL:
        return true;
    case TC__BOOL:
        return now.a->integer == now.b->integer;
    case TC__LIST:
    case TC__MAPPING:
        return compare_inside(s, now);
    case TC__INT:
    case TC__REAL:
    case TC__STRING:
    case TC__TIME:
    case TC__BYTES:
    case TC__SET:
        break;
    }
    return tc_slice_eq(tc__contract_text(s->c, now.a), tc__contract_text(s->c, now.b));
}

static bool is_equal(const struct tc__check *k, const struct tc__node *a, const struct tc__node *b)
{
    if (b->kind == TC__LIST && a->kind == TC__STRING) {
        return is_short_form(k, tc__contract_text(k->c, a), b);
    }
    struct sameness *s = calloc(1, sizeof *s);
    bool same = s != NULL;
    if (same) {
        s->c = k->c;
        s->todo[s->count++] = (struct couple){a, b};
    }
    while (same && s->count > 0) {
        same = compare_couple(s, s->todo[--s->count]);
    }
    free(s);
    return same;
}

/* Members that the workload has as well. */
static void check_same(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    struct tc__value workload =
        tc__contract_find(k->c, tc__contract_root(k->c), S("spec.workload"));
    if (!is_kind(v.node, TC__MAPPING) || !is_kind(workload.node, TC__MAPPING)) {
        return;
    }
    for (const struct tc__entry *e = tc__contract_entry(k->c, workload.node->first); e != NULL;
         e = tc__contract_entry(k->c, e->next)) {
        const struct tc__node *key = tc__contract_node(k->c, e->key);
        struct tc_slice name = tc__contract_text(k->c, key);
        const struct tc__entry *fixed = key->kind == TC__STRING && !e->overridden
                                            ? tc__contract_pair(k->c, v.node, name)
                                            : NULL;
        if (fixed == NULL ||
            is_equal(k, tc__contract_node(k->c, fixed->value), tc__contract_node(k->c, e->value))) {
            continue;
        }
        char path[TC__PATH_MAX];
        struct tc_buf p = tc_buf_make(path, sizeof path - 1);
        tc_buf_str(&p, tc_slice_cstr(r->path));
        tc_buf_char(&p, '.');
        tc_buf_printable(&p, tc_slice_head(name, TC__QUOTED_MAX));
        path[p.len] = '\0';
        struct tc_buf *b = tc__check_say(k);
        tc_buf_lit(b, "differs from spec.workload.");
        tc_buf_printable(b, tc_slice_head(name, TC__QUOTED_MAX));
        tc__check_tell(k, path, (struct tc__value){NULL, fixed->line, fixed->column}, true);
    }
}

static int compare_items(const void *left, const void *right, void *context)
{
    const struct tc_contract *c = ((const struct tc__check *)context)->c;
    const struct tc__node *a = &c->nodes[((const struct tc__entry *)left)->value];
    const struct tc__node *b = &c->nodes[((const struct tc__entry *)right)->value];
    return tc_slice_cmp(tc__contract_text(c, a), tc__contract_text(c, b));
}

/* Names in a list: strings, each once. */
static void check_names(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    const struct tc_contract *c = k->c;
    size_t count = 0;
    const void **items = calloc((size_t)v.node->count * 2 + 1, sizeof *items);
    for (uint32_t at = v.node->first; at != TC__NONE; at = c->entries[at].next) {
        const struct tc__entry *e = &c->entries[at];
        const struct tc__node *n = &c->nodes[e->value];
        if (n->kind == TC__STRING && items != NULL) {
            items[count++] = e;
        } else if (n->kind != TC__STRING && n->kind != TC__LIST && n->kind != TC__MAPPING &&
                   n->kind != TC__SET) {
            struct tc__value item = {n, e->line, e->column};
            tc_buf_lit(tc__check_say(k), "expected names");
            tc__check_found(k, item);
            tc__check_tell(k, r->path, item, true);
        }
    }
    if (items != NULL) {
        tc_sort_ptrs(items, items + count, count, compare_items, k);
    }
    for (size_t i = 0; i + 1 < count; i++) {
        const struct tc__entry *e = items[i + 1];
        if (tc_slice_eq(
                tc__contract_text(c, &c->nodes[e->value]),
                tc__contract_text(c, &c->nodes[((const struct tc__entry *)items[i])->value]))) {
            struct tc_buf *b = tc__check_say(k);
            tc__check_quote(b, tc__contract_text(c, &c->nodes[e->value]));
            tc_buf_lit(b, " is there twice");
            tc__check_tell(k, r->path, (struct tc__value){NULL, e->line, e->column}, true);
        }
    }
    free(items);
}

static bool has_item_row(const char *path)
{
    char text[TC__PATH_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_str(&b, tc_slice_cstr(path));
    tc_buf_lit(&b, "[]");
    return tc__contract_rule(tc_buf_slice(&b)) != NULL;
}

void tc__strict_rule(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    switch (r->kind) {
    case TC__IS_STRING:
        if (is_kind(v.node, TC__STRING) && v.node->text_len > 0 &&
            tc_slice_trim(tc__contract_text(k->c, v.node)).len == 0) {
            tell(k, r->path, v, "expected non-empty string, found blanks");
        }
        break;
    case TC__AT_LEAST:
        if (is_kind(v.node, TC__BOOL) && (double)v.node->integer >= r->low) {
            tell(k, r->path, v, "expected integer, found a boolean");
        }
        break;
    case TC__IS_LIST:
        if (is_kind(v.node, TC__LIST) && !has_item_row(r->path)) {
            check_names(k, r, v);
        }
        break;
    case TC__SAME_AS_WORKLOAD:
        check_same(k, r, v);
        break;
    case TC__MIX:
        check_mix(k, r, v);
        break;
    case TC__IS_DIGEST:
        check_digest(k, r, v);
        break;
    case TC__IS_PINNED:
        check_pinned(k, r, v);
        break;
    case TC__DIFFERS:
        check_differs(k, r, v);
        break;
    case TC__IS_MAPPING:
    case TC__IS_BOOL:
    case TC__IS_TRUE:
    case TC__IS_WORD:
    case TC__IS_ONE_OF:
    case TC__BETWEEN:
    case TC__HAS_ITEM:
    case TC__HAS_ALL:
    case TC__HAS_ONE:
    case TC__HAS_KEYS:
    case TC__HAS_SOURCES:
    case TC__IN_ORDER:
    case TC__LAYERS:
    case TC__KNOWN:
    case TC__OPEN:
        break;
    }
}
