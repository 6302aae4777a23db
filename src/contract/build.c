/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract's graph: values into collections, merge keys when their mapping ends. What they copy
 * counts as values do, so that a small text stays small.
 */
#include "base/sort.h"
#include "contract/build_priv.h"

#include <stdlib.h>

#define S(literal) TC_LIT(literal)

tc_status tc__build_refuse(const struct tc__build *b, struct tc__place p, const char *why)
{
    return tc_fail(b->err, TC_E_MALFORMED, p.at, "line %u, column %u: %s", p.line, p.column, why);
}

tc_status tc__build_no_memory(const struct tc__build *b)
{
    return tc_fail(b->err, TC_E_NOMEM, 0, "no memory for the contract");
}

/* Room for one more in an array that doubles. */
static bool grow(void **items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap) {
        return true;
    }
    size_t wanted = *cap == 0 ? 256 : *cap * 2;
    void *grown = realloc(*items, wanted * size);
    if (grown == NULL) {
        return false;
    }
    *items = grown;
    *cap = wanted;
    return true;
}

tc_status tc__build_node(struct tc__build *b, enum tc__kind kind, struct tc__place p, uint32_t *out)
{
    struct tc_contract *c = b->c;
    if (c->node_count == TC__CONTRACT_NODES_MAX) {
        return tc__build_refuse(b, p, "too many values for a contract");
    }
    void *nodes = c->nodes;
    if (!grow(&nodes, c->node_count, &c->node_cap, sizeof *c->nodes)) {
        return tc__build_no_memory(b);
    }
    c->nodes = nodes;
    *out = (uint32_t)c->node_count;
    c->nodes[c->node_count++] = (struct tc__node){
        .kind = kind, .line = p.line, .column = p.column, .first = TC__NONE, .last = TC__NONE};
    return TC_OK;
}

static tc_status add_entry(struct tc__build *b, struct tc__entry entry, struct tc__place p,
                           uint32_t *out)
{
    struct tc_contract *c = b->c;
    if (c->entry_count == TC__CONTRACT_NODES_MAX) {
        return tc__build_refuse(b, p, "too many values for a contract");
    }
    void *entries = c->entries;
    if (!grow(&entries, c->entry_count, &c->entry_cap, sizeof *c->entries)) {
        return tc__build_no_memory(b);
    }
    c->entries = entries;
    *out = (uint32_t)c->entry_count;
    c->entries[c->entry_count++] = entry;
    return TC_OK;
}

/* A list of entries from `first` to `last`. */
static void chain(struct tc_contract *c, uint32_t *first, uint32_t *last, uint32_t entry)
{
    c->entries[entry].next = TC__NONE;
    if (*first == TC__NONE) {
        *first = entry;
    } else {
        c->entries[*last].next = entry;
    }
    *last = entry;
}

tc_status tc__build_text(struct tc__build *b, struct tc_slice s, size_t *out)
{
    struct tc_contract *c = b->c;
    if (s.len > c->text_cap - c->text_len) {
        size_t wanted = (c->text_cap + s.len) * 2;
        char *grown = realloc(c->text, wanted);
        if (grown == NULL) {
            return tc__build_no_memory(b);
        }
        c->text = grown;
        c->text_cap = wanted;
    }
    *out = c->text_len;
    if (s.len > 0) {
        memcpy(c->text + c->text_len, s.ptr, s.len);
    }
    c->text_len += s.len;
    return TC_OK;
}

static bool is_merge_key(const struct tc__build *b, uint32_t node)
{
    const struct tc__node *n = &b->c->nodes[node];
    return n->kind == TC__STRING && n->plain && tc_slice_eq(tc__contract_text(b->c, n), S("<<"));
}

static bool is_open(const struct tc__build *b, uint32_t node)
{
    for (size_t i = 0; i < b->depth; i++) {
        if (b->frames[i].node == node) {
            return true;
        }
    }
    return false;
}

/* A merge takes mappings that have ended. */
static tc_status check_merged(const struct tc__build *b, uint32_t node, struct tc__place p)
{
    if (b->c->nodes[node].kind != TC__MAPPING) {
        return tc__build_refuse(b, p, "<< takes a mapping or a list of mappings");
    }
    return is_open(b, node) ? tc__build_refuse(b, p, "<< takes a mapping that it is part of")
                            : TC_OK;
}

/* A whole value: into the collection that is open. */
tc_status tc__build_place(struct tc__build *b, uint32_t node, struct tc__place p)
{
    if (b->depth == 0) {
        b->c->root = node;
        return TC_OK;
    }
    struct tc__frame *f = &b->frames[b->depth - 1];
    struct tc__entry e = {.key = TC__NONE, .value = node, .line = p.line, .column = p.column};
    bool is_pair = b->c->nodes[f->node].kind != TC__LIST;
    uint32_t at = TC__NONE;
    if (is_pair && f->key == TC__NONE) {
        enum tc__kind kind = b->c->nodes[node].kind;
        if (kind == TC__LIST || kind == TC__MAPPING || kind == TC__SET) {
            return tc__build_refuse(b, p, "a key that is not a scalar");
        }
        f->key = node;
        return TC_OK;
    }
    if (is_pair) {
        e.key = f->key;
        f->key = TC__NONE;
    }
    TC_TRY(add_entry(b, e, p, &at));
    if (is_pair && is_merge_key(b, e.key)) {
        chain(b->c, &f->merge, &f->merge_end, at);
        return TC_OK;
    }
    struct tc__node *parent = &b->c->nodes[f->node];
    chain(b->c, &parent->first, &parent->last, at);
    parent->count++;
    return TC_OK;
}

/* Behind the others of a chain: copies of the pairs of a mapping. */
static tc_status copy_pairs(struct tc__build *b, uint32_t from, uint32_t *first, uint32_t *last,
                            uint32_t *count, struct tc__place p)
{
    TC_TRY(check_merged(b, from, p));
    for (uint32_t at = b->c->nodes[from].first; at != TC__NONE; at = b->c->entries[at].next) {
        struct tc__entry e = b->c->entries[at];
        uint32_t copy = TC__NONE;
        e.merged = true;
        TC_TRY(add_entry(b, e, p, &copy));
        chain(b->c, first, last, copy);
        *count += 1;
    }
    return TC_OK;
}

/* The mappings of a list, the last one first: where two have a key the first one's counts. */
static tc_status copy_list(struct tc__build *b, uint32_t list, uint32_t *first, uint32_t *last,
                           uint32_t *count, struct tc__place p)
{
    uint32_t items = b->c->nodes[list].count;
    for (uint32_t i = items; i > 0; i--) {
        uint32_t at = b->c->nodes[list].first;
        for (uint32_t skip = 1; skip < i; skip++) {
            at = b->c->entries[at].next;
        }
        TC_TRY(copy_pairs(b, b->c->entries[at].value, first, last, count, p));
    }
    return TC_OK;
}

/* Lists of more mappings to merge are not written by anybody, and cost their square. */
#define MERGED_LIST_MAX 64

/* Merged pairs come before the mapping's own, which so win. */
tc_status tc__build_merge(struct tc__build *b, struct tc__frame *f)
{
    uint32_t first = TC__NONE;
    uint32_t last = TC__NONE;
    uint32_t count = 0;
    for (uint32_t at = f->merge; at != TC__NONE; at = b->c->entries[at].next) {
        struct tc__entry e = b->c->entries[at];
        struct tc__place p = {e.line, e.column, 0};
        if (b->c->nodes[e.value].kind != TC__LIST) {
            TC_TRY(copy_pairs(b, e.value, &first, &last, &count, p));
        } else if (b->c->nodes[e.value].count > MERGED_LIST_MAX || is_open(b, e.value)) {
            return tc__build_refuse(b, p, "<< takes a mapping or a short list of mappings");
        } else {
            TC_TRY(copy_list(b, e.value, &first, &last, &count, p));
        }
    }
    struct tc__node *n = &b->c->nodes[f->node];
    if (first != TC__NONE) {
        b->c->entries[last].next = n->first;
        n->last = n->first == TC__NONE ? last : n->last;
        n->first = first;
        n->count += count;
    }
    return TC_OK;
}

/* By kind and text, then as they came. */
static int compare_keys(const void *left, const void *right, void *context)
{
    const struct tc_contract *c = context;
    const struct tc__node *a = &c->nodes[((const struct tc__entry *)left)->key];
    const struct tc__node *b = &c->nodes[((const struct tc__entry *)right)->key];
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return tc_slice_cmp(tc__contract_text(c, a), tc__contract_text(c, b));
}

/* Of pairs with one key the last one counts. */
tc_status tc__build_overridden(struct tc__build *b, const struct tc__node *n)
{
    struct tc_contract *c = b->c;
    size_t count = 0;
    if (n->count > TC__CONTRACT_KEYS_MAX) {
        return tc__build_refuse(b, (struct tc__place){n->line, n->column, 0},
                                "too many keys in one mapping");
    }
    if (n->count < 2) {
        return TC_OK;
    }
    const void **pairs = calloc((size_t)n->count * 2, sizeof *pairs);
    if (pairs == NULL) {
        return tc__build_no_memory(b);
    }
    for (uint32_t at = n->first; at != TC__NONE; at = c->entries[at].next) {
        pairs[count++] = &c->entries[at];
    }
    tc_sort_ptrs(pairs, pairs + count, count, compare_keys, c);
    for (size_t i = 0; i + 1 < count; i++) {
        if (compare_keys(pairs[i], pairs[i + 1], c) == 0) {
            size_t index = (size_t)((const struct tc__entry *)pairs[i] - c->entries);
            c->entries[index].overridden = true;
        }
    }
    free(pairs);
    return TC_OK;
}
