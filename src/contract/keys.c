/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict about keys: those that no row has, those that are no strings, and those that are there
 * twice. Keys that begin with x- are the user's own, and so are all below a row that is open.
 */
#include "contract/check_priv.h"

#define S(literal) TC_LIT(literal)
/* Levels of the table of rules, lists and their items counted apart. */
#define LEVELS_MAX 16

struct level {
    const struct tc_yaml_node *node;
    const struct tc_yaml_entry *next;
    size_t index;   /* of the item */
    size_t pattern; /* lengths of both paths at this level */
    size_t path;
};

/* Invariant: depth <= LEVELS_MAX. */
struct walk {
    struct tc__check *k;
    struct level levels[LEVELS_MAX];
    size_t depth;
    char pattern_text[TC__PATH_MAX];
    char path_text[TC__PATH_MAX];
    struct tc_buf pattern; /* spec.layers[].name */
    struct tc_buf path;    /* spec.layers[2].name */
};

static bool is_open(struct tc_slice pattern)
{
    size_t count = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    for (size_t i = 0; i < count; i++) {
        if (rules[i].kind == TC__OPEN && tc_slice_eq(pattern, tc_slice_cstr(rules[i].path))) {
            return true;
        }
    }
    return false;
}

/* The name of a row that is a child of the pattern; empty when it is none. */
static struct tc_slice child_name(struct tc_slice pattern, const struct tc__rule *r)
{
    struct tc_slice name = tc_slice_cstr(r->path);
    if (!tc_slice_starts(name, pattern)) {
        return TC_EMPTY;
    }
    name = tc_slice_from(name, pattern.len);
    if (pattern.len > 0) {
        if (name.len == 0 || name.ptr[0] != '.') {
            return TC_EMPTY;
        }
        name = tc_slice_from(name, 1);
    }
    return tc_slice_contains(name, S(".")) || tc_slice_contains(name, S("[")) ? TC_EMPTY : name;
}

static bool has_children(struct tc_slice pattern)
{
    size_t count = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    for (size_t i = 0; i < count; i++) {
        if (child_name(pattern, &rules[i]).len > 0) {
            return true;
        }
    }
    return false;
}

static void tell_unknown(struct walk *w, struct tc_slice parent, struct tc_slice key,
                         struct tc__value at)
{
    size_t count = 0;
    const struct tc__rule *rules = tc__contract_rules(&count);
    struct tc_slice nearest = TC_EMPTY;
    size_t least = key.len / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        struct tc_slice name = child_name(parent, &rules[i]);
        size_t distance = name.len == 0 ? TC_DISTANCE_MAX : tc_slice_distance(key, name);
        if (distance < least) {
            least = distance;
            nearest = name;
        }
    }
    w->path_text[w->path.len] = '\0';
    tc__check_tell_that(w->k, w->path_text, at, true, "unknown key{}",
                        tc_when(nearest.len > 0, "; did you mean {}?", nearest));
}

static void push(struct walk *w, const struct tc_yaml_node *n)
{
    if (w->depth < LEVELS_MAX) {
        w->levels[w->depth++] = (struct level){
            .node = n, .next = tc_yaml_first(n), .pattern = w->pattern.len, .path = w->path.len};
    }
}

/* What is written once more after this pair, or is no string, is told; true when it is done. */
static bool is_told(struct walk *w, const struct tc_yaml_entry *e, const struct tc_yaml_node *key)
{
    struct tc__value at = {NULL, key->at};
    if (e->is_overridden || key->kind != TC_YAML_STRING) {
        w->path_text[w->path.len] = '\0';
        if (!e->is_merged) {
            tc__check_tell_that(w->k, w->path_text, at, true, "{}",
                                e->is_overridden ? "the key is there twice; the last one counts"
                                                 : "the key is no string; write it in quotes");
        }
        return true;
    }
    return false;
}

static void on_pair(struct walk *w, const struct level *l, const struct tc_yaml_entry *e)
{
    const struct tc_yaml_node *key = e->key;
    const struct tc_yaml_node *value = e->value;
    struct tc_slice name = tc_yaml_text(key);
    struct tc_slice parent = tc_slice_head(tc_buf_slice(&w->pattern), l->pattern);
    if (l->pattern > 0) {
        tc_buf_char(&w->pattern, '.');
        tc_buf_char(&w->path, '.');
    }
    if (name.len == 0) {
        tc_buf_lit(&w->path, "\"\"");
    }
    tc_buf_printable(&w->path, tc_slice_head(name, TC__QUOTED_MAX));
    tc_buf_str(&w->pattern, tc_slice_head(name, TC__QUOTED_MAX + 1));
    if (is_told(w, e, key) || tc_slice_starts(name, S("x-"))) {
        return;
    }
    struct tc_slice pattern = tc_buf_slice(&w->pattern);
    if (tc__contract_rule(pattern) == NULL) {
        if (!is_open(parent) && !e->is_merged) {
            tell_unknown(w, parent, name, (struct tc__value){NULL, key->at});
        }
        return;
    }
    if ((value->kind == TC_YAML_MAPPING && has_children(pattern)) || value->kind == TC_YAML_LIST) {
        push(w, value);
    }
}

static void on_item(struct walk *w, const struct level *l, const struct tc_yaml_entry *e)
{
    const struct tc_yaml_node *value = e->value;
    tc_buf_lit(&w->pattern, "[]");
    (void)tc_format(&w->path, "[{}]", l->index);
    if (value->kind == TC_YAML_MAPPING && has_children(tc_buf_slice(&w->pattern))) {
        push(w, value);
    }
}

void tc__strict_keys(struct tc__check *k)
{
    struct walk w = {.k = k};
    w.pattern = tc_buf_make(w.pattern_text, sizeof w.pattern_text);
    w.path = tc_buf_make(w.path_text, sizeof w.path_text - 1);
    push(&w, tc__contract_root(k->c).node);
    while (w.depth > 0 && !tc__check_is_full(k)) {
        struct level *l = &w.levels[w.depth - 1];
        const struct tc_yaml_entry *e = l->next;
        w.pattern.len = l->pattern;
        w.path.len = l->path;
        if (e == NULL) {
            w.depth--;
            continue;
        }
        l->next = e->next;
        if (l->node->kind == TC_YAML_MAPPING) {
            on_pair(&w, l, e);
        } else {
            on_item(&w, l, e);
            l->index++;
        }
    }
}
