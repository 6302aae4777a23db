/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the original accepts and should not: values that contradict each other, digests that are
 * none, booleans for integers, keys that nobody reads.
 */
#include "base/digest.h"
#include "base/table/sort.h"
#include "contract/check_priv.h"

#include <math.h>
#include <stdlib.h>

#define S(literal) TC_LIT(literal)

/* Weights that were rounded to a few digits still sum to 1. */
#define WEIGHTS_TOLERANCE 1e-6
/* Lengths of a mix that are compared with their short form. */
#define MIX_MAX 256
/* Values that are compared with those of the workload; what has more differs. */
#define SAME_MAX 4096

static bool is_kind(const struct tc_yaml_node *n, enum tc_yaml_kind kind)
{
    return n != NULL && n->kind == kind;
}

static bool is_digest(struct tc_slice s)
{
    struct tc_digest digest;
    return tc_digest_parse_exact(s, &digest);
}

static void check_digest(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    if (v.node == NULL || (v.node->kind == TC_YAML_STRING && is_digest(tc_yaml_text(v.node)))) {
        return;
    }
    tc__check_tell_that(k, r->path, v, true, "expected sha256: and 64 lower-case hex digits{}",
                        tc__as_found(v));
}

static void check_pinned(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    if (!is_kind(v.node, TC_YAML_STRING) || v.node->text.len == 0) {
        tc__check_tell_that(k, r->path, v, true, "expected non-empty string{}", tc__as_found(v));
        return;
    }
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice text = tc_yaml_text(v.node);
    struct tc_slice head = tc_slice_cut(text, '@', &rest);
    if (head.len < text.len && !is_digest(rest)) {
        tc__check_tell_that(k, r->path, v, true,
                            "expected sha256: and 64 lower-case hex digits behind the @");
    }
}

static void check_differs(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    struct tc_slice other = tc__contract_string(k->c, r->words[0]);
    if (is_kind(v.node, TC_YAML_STRING) && v.node->text.len > 0 &&
        tc_slice_eq(other, tc_yaml_text(v.node))) {
        tc__check_tell_that(k, r->path, v, true, "is the same as {}", r->words[0]);
    }
}

/* An integer of at least `low` under a key of an item. */
static void check_tokens(struct tc__check *k, const char *path, struct tc__value v, double low)
{
    if (!is_kind(v.node, TC_YAML_INT) || tc__contract_number(v.node) < low) {
        tc__check_tell_that(k, path, v, true, "must be an integer >= {}{}", low, tc__as_found(v));
    }
}

/* One length; its weight, or NaN. */
static double check_length(struct tc__check *k, const char *list, size_t i, struct tc__value item)
{
    char path[TC__PATH_MAX];
    if (!is_kind(item.node, TC_YAML_MAPPING)) {
        tc__check_tell_that(k, tc__check_item(path, sizeof path, list, i, ""), item, true,
                            "expected mapping{}", tc__as_found(item));
        return (double)NAN;
    }
    struct tc__value in = tc__contract_find(item, S("inputTokens"));
    struct tc__value out = tc__contract_find(item, S("outputTokens"));
    struct tc__value weight = tc__contract_find(item, S("weight"));
    check_tokens(k, tc__check_item(path, sizeof path, list, i, ".inputTokens"), in, 1);
    if (out.node != NULL) {
        check_tokens(k, tc__check_item(path, sizeof path, list, i, ".outputTokens"), out, 0);
    }
    bool is_number = is_kind(weight.node, TC_YAML_REAL) || is_kind(weight.node, TC_YAML_INT);
    double number = is_number ? tc__contract_number(weight.node) : 0;
    if (number > 0 && number <= 1) {
        return number;
    }
    tc__check_tell_that(k, tc__check_item(path, sizeof path, list, i, ".weight"), weight, true,
                        "must be a number > 0 and <= 1{}", tc__as_found(weight));
    return (double)NAN;
}

static void check_mix(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    double sum = 0;
    const struct tc_yaml_entry *e = is_kind(v.node, TC_YAML_LIST) ? v.node->first : NULL;
    if (e == NULL) {
        return;
    }
    for (size_t i = 0; !tc__check_is_full(k) && e != NULL; e = e->next, i++) {
        struct tc__value item = {e->value, e->at};
        sum += check_length(k, r->path, i, item);
    }
    if (!isnan(sum) && fabs(sum - 1) > WEIGHTS_TOLERANCE) {
        tc__check_tell_that(k, r->path, v, true, "the weights sum to {}, not to 1", sum);
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
static bool is_short_form(struct tc_slice text, const struct tc_yaml_node *mix)
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
    const struct tc_yaml_entry *e = mix->first;
    for (size_t i = 0; e != NULL; e = e->next, i++) {
        struct tc__value item = {e->value, {0, 0}};
        static const char *const keys[] = {"inputTokens", "outputTokens", "weight"};
        static const char before[] = {'{', '/', '@'};
        if (*at++ != (i == 0 ? '[' : ',') || item.node->kind != TC_YAML_MAPPING) {
            return false;
        }
        for (size_t j = 0; j < 3; j++) {
            double number = 0;
            struct tc__value v = tc__contract_find(item, tc_slice_cstr(keys[j]));
            bool is_number = is_kind(v.node, TC_YAML_INT) || is_kind(v.node, TC_YAML_REAL);
            if (!number_at(&at, before[j], &number) || !is_number ||
                fabs(number - tc__contract_number(v.node)) > WEIGHTS_TOLERANCE) {
                return false;
            }
        }
        if (*at++ != '}') {
            return false;
        }
    }
    return at[0] == ']' && at[1] == '\0';
}

/* Two values side by side. */
struct couple {
    const struct tc_yaml_node *a;
    const struct tc_yaml_node *b;
};

/* Invariant: count <= SAME_MAX, and so are the steps: aliases cannot make it long. */
struct sameness {
    struct couple todo[SAME_MAX];
    size_t count;
    size_t steps;
};

static bool is_number(const struct tc_yaml_node *n)
{
    return n->kind == TC_YAML_INT || n->kind == TC_YAML_REAL;
}

static bool add_couple(struct sameness *s, const struct tc_yaml_node *a,
                       const struct tc_yaml_node *b)
{
    if (s->steps == SAME_MAX || s->count == SAME_MAX) {
        return false;
    }
    s->steps++;
    s->todo[s->count++] = (struct couple){a, b};
    return true;
}

/* Keys that count. */
static size_t key_count(const struct tc_yaml_node *n)
{
    size_t count = 0;
    for (const struct tc_yaml_entry *e = tc_yaml_first(n); e != NULL; e = e->next) {
        count += e->is_overridden ? 0 : 1;
    }
    return count;
}

/* What is inside of two lists or two mappings comes next. */
static bool compare_inside(struct sameness *s, struct couple now)
{
    bool is_list = now.a->kind == TC_YAML_LIST;
    const struct tc_yaml_entry *e = tc_yaml_first(now.a);
    const struct tc_yaml_entry *other = tc_yaml_first(now.b);
    if (is_list ? now.a->count != now.b->count : key_count(now.a) != key_count(now.b)) {
        return false;
    }
    for (; e != NULL; e = e->next) {
        if (!is_list) {
            other = tc__contract_pair(now.b, tc_yaml_text(e->key));
        }
        if (!e->is_overridden && (other == NULL || !add_couple(s, e->value, other->value))) {
            return false;
        }
        other = is_list ? other->next : NULL;
    }
    return true;
}

static bool compare_couple(struct sameness *s, struct couple now)
{
    if (is_number(now.a) && is_number(now.b)) {
        return tc__contract_number(now.a) == tc__contract_number(now.b);
    }
    if (now.a->kind != now.b->kind) {
        return false;
    }
    switch (now.a->kind) {
    case TC_YAML_NULL:
        return true;
    case TC_YAML_BOOL:
        return tc__contract_number(now.a) == tc__contract_number(now.b);
    case TC_YAML_LIST:
    case TC_YAML_MAPPING:
        return compare_inside(s, now);
    case TC_YAML_INT:
    case TC_YAML_REAL:
    case TC_YAML_STRING:
    case TC_YAML_TIME:
    case TC_YAML_BYTES:
    case TC_YAML_SET:
    case TC_YAML_UNKNOWN:
        break;
    }
    return tc_slice_eq(tc_yaml_text(now.a), tc_yaml_text(now.b));
}

static bool is_equal(const struct tc_yaml_node *a, const struct tc_yaml_node *b)
{
    if (b->kind == TC_YAML_LIST && a->kind == TC_YAML_STRING) {
        return is_short_form(tc_yaml_text(a), b);
    }
    struct sameness *s = calloc(1, sizeof *s);
    bool same = s != NULL;
    if (same) {
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
    struct tc__value workload = tc__contract_find(tc__contract_root(k->c), S("spec.workload"));
    if (!is_kind(v.node, TC_YAML_MAPPING) || !is_kind(workload.node, TC_YAML_MAPPING)) {
        return;
    }
    for (const struct tc_yaml_entry *e = tc_yaml_first(workload.node); e != NULL; e = e->next) {
        const struct tc_yaml_node *key = e->key;
        struct tc_slice name = tc_yaml_text(key);
        const struct tc_yaml_entry *fixed = key->kind == TC_YAML_STRING && !e->is_overridden
                                                ? tc__contract_pair(v.node, name)
                                                : NULL;
        if (fixed == NULL || is_equal(fixed->value, e->value)) {
            continue;
        }
        char path[TC__PATH_MAX];
        struct tc_buf p = tc_buf_make(path, sizeof path - 1);
        (void)tc_format(&p, "{}.{}", r->path, tc__as_printable(name));
        path[p.len] = '\0';
        struct tc__value at = {NULL, fixed->at};
        tc__check_tell_that(k, path, at, true, "differs from spec.workload.{}",
                            tc__as_printable(name));
    }
}

static struct tc_slice item_text(const void *entry)
{
    return tc_yaml_text(((const struct tc_yaml_entry *)entry)->value);
}

static int compare_items(const void *left, const void *right, void *context)
{
    (void)context;
    return tc_slice_cmp(item_text(left), item_text(right));
}

static bool has_item_row(const char *path)
{
    char text[TC__PATH_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_str(&b, tc_slice_cstr(path));
    tc_buf_lit(&b, "[]");
    return tc__contract_rule(tc_buf_slice(&b)) != NULL;
}

/* Names in a list: strings, each once. */
static void check_names(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    size_t count = 0;
    if (!is_kind(v.node, TC_YAML_LIST) || has_item_row(r->path)) {
        return;
    }
    const void **items = calloc(v.node->count * 2 + 1, sizeof *items);
    for (const struct tc_yaml_entry *e = v.node->first; e != NULL; e = e->next) {
        struct tc__value item = {e->value, e->at};
        if (is_kind(item.node, TC_YAML_STRING) && items != NULL) {
            items[count++] = e;
        } else if (!is_kind(item.node, TC_YAML_STRING) && !tc_yaml_is_collection(item.node)) {
            tc__check_tell_that(k, r->path, item, true, "expected names{}", tc__as_found(item));
        }
    }
    if (items != NULL) {
        tc_sort_ptrs(items, items + count, count, compare_items, NULL);
    }
    for (size_t i = 0; i + 1 < count; i++) {
        const struct tc_yaml_entry *e = items[i + 1];
        if (compare_items(items[i], e, NULL) == 0) {
            struct tc_buf *b = tc__check_say(k);
            tc__check_quote(b, item_text(e));
            tc_buf_lit(b, " is there twice");
            tc__check_tell(k, r->path, (struct tc__value){NULL, e->at}, true);
        }
    }
    free(items);
}

static void check_blanks(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    if (is_kind(v.node, TC_YAML_STRING) && v.node->text.len > 0 &&
        tc_slice_trim(tc_yaml_text(v.node)).len == 0) {
        tc__check_tell_that(k, r->path, v, true, "expected non-empty string, found blanks");
    }
}

static void check_integer(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    if (is_kind(v.node, TC_YAML_BOOL) && tc__contract_number(v.node) >= r->low) {
        tc__check_tell_that(k, r->path, v, true, "expected integer, found a boolean");
    }
}

static void check_price(struct tc__check *k, const struct tc__rule *r, struct tc__value v)
{
    double price =
        v.node == NULL || is_kind(v.node, TC_YAML_BOOL) ? 0 : tc__contract_number(v.node);
    if (v.node != NULL && !(price > 0 && isfinite(price))) {
        tc__check_tell_that(k, r->path, v, true, "expected a number above 0{}", tc__as_found(v));
    }
}

const tc__check_fn tc__strict_checks[TC__RULE_KINDS] = {
    [TC__IS_STRING] = check_blanks, [TC__AT_LEAST] = check_integer,
    [TC__IS_LIST] = check_names,    [TC__SAME_AS_WORKLOAD] = check_same,
    [TC__MIX] = check_mix,          [TC__IS_DIGEST] = check_digest,
    [TC__IS_PINNED] = check_pinned, [TC__DIFFERS] = check_differs,
    [TC__IS_PRICE] = check_price,
};
