/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml/members_priv.h"

#include "base/json_raw.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    struct tc_slice key;
    struct tc_slice value;
};

struct pairs {
    struct pair *items;
    size_t count;
    size_t cap;
    tc_status status;
};

/* Sorted by the key's hash, equal ones in order; NULL without memory. The caller frees it. */
static struct tc_sort_pair *by_hash(const struct pair *items, size_t count)
{
    struct tc_sort_pair *pairs = calloc(count, 2 * sizeof *pairs);
    for (size_t i = 0; pairs != NULL && i < count; i++) {
        pairs[i] = (struct tc_sort_pair){tc_slice_hash(items[i].key, 0), i};
    }
    if (pairs != NULL) {
        tc_sort_keys(pairs, pairs + count, count);
    }
    return pairs;
}

/*
 * Whether a later pair has the key of the one at sorted[at]; the next one is in *out_later. Keys
 * of one hash that differ are as good as never there.
 */
static bool has_later(const struct pair *items, const struct tc_sort_pair *sorted, size_t count,
                      size_t at, size_t *out_later)
{
    for (size_t i = at + 1; i < count && sorted[i].key == sorted[at].key; i++) {
        if (tc_slice_eq(items[sorted[i].value].key, items[sorted[at].value].key)) {
            *out_later = sorted[i].value;
            return true;
        }
    }
    return false;
}

static void add_pair(struct pairs *p, struct tc_slice key, struct tc_slice value)
{
    if (p->status == TC_OK && p->count == TC__YAML_MEMBERS_MAX) {
        p->status = TC_E_LIMIT;
    }
    if (p->status == TC_OK && p->count == p->cap) {
        size_t cap = p->cap == 0 ? 64 : p->cap * 2;
        struct pair *items = realloc(p->items, cap * sizeof *items);
        if (items == NULL) {
            p->status = TC_E_NOMEM;
            return;
        }
        p->items = items;
        p->cap = cap;
    }
    if (p->status == TC_OK) {
        p->items[p->count++] = (struct pair){key, value};
    }
}

static struct tc_slice part(const char *json, size_t from, size_t to)
{
    return tc_slice_make(json + from, to - from);
}

tc_status tc__yaml_find_twice(const char *json, const struct tc__yaml_member *members, size_t count,
                              size_t *out_at)
{
    struct pairs p = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        add_pair(&p, part(json, members[i].key, members[i].key + members[i].key_len), TC_EMPTY);
    }
    struct tc_sort_pair *sorted = p.status == TC_OK && count > 0 ? by_hash(p.items, count) : NULL;
    tc_status status = p.status != TC_OK             ? p.status
                       : sorted == NULL && count > 0 ? TC_E_NOMEM
                                                     : TC_OK;
    size_t first = count;
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        size_t later = count;
        if (has_later(p.items, sorted, count, i, &later) && later < first) {
            first = later;
        }
    }
    free(sorted);
    free(p.items);
    if (status == TC_OK) {
        *out_at = first;
    }
    return status;
}

static void add_object(struct pairs *p, struct tc_slice object)
{
    struct tc_slice key;
    struct tc_slice value;
    for (size_t at = 0; tc_json_raw_member(object, &at, &key, &value);) {
        add_pair(p, key, value);
    }
}

/* What "<<" brings: a mapping, or a list of them of which the first ones win. */
static const char *add_merged(struct pairs *p, struct tc_slice value)
{
    struct tc_slice parts[TC__YAML_MERGE_MAX];
    struct tc_slice element;
    size_t count = 0;
    if (value.len > 0 && value.ptr[0] == '{') {
        add_object(p, value);
        return NULL;
    }
    if (value.len == 0 || value.ptr[0] != '[') {
        return "\"<<\" merges a mapping or a list of mappings";
    }
    for (size_t at = 0; tc_json_raw_element(value, &at, &element);) {
        if (count == TC__YAML_MERGE_MAX) {
            return "\"<<\" merges too many mappings";
        }
        if (element.ptr[0] != '{') {
            return "\"<<\" merges a mapping or a list of mappings";
        }
        parts[count++] = element;
    }
    while (count > 0) {
        add_object(p, parts[--count]);
    }
    return NULL;
}

/* Each key once, with its last value, into `to`. */
static tc_status write_once(const struct pairs *p, struct tc_buf *to)
{
    struct tc_sort_pair *sorted = p->count == 0 ? NULL : by_hash(p->items, p->count);
    if (p->count > 0 && sorted == NULL) {
        return TC_E_NOMEM;
    }
    tc_buf_char(to, '{');
    for (size_t i = 0; i < p->count; i++) {
        size_t later = 0;
        if (has_later(p->items, sorted, p->count, i, &later)) {
            /* No value is empty: this one is not written. */
            p->items[sorted[i].value].value = TC_EMPTY;
        }
    }
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i].value.len > 0) {
            tc_buf_str(to, to->len > 1 ? TC_LIT(",\"") : TC_LIT("\""));
            tc_buf_str(to, p->items[i].key);
            tc_buf_lit(to, "\":");
            tc_buf_str(to, p->items[i].value);
        }
    }
    free(sorted);
    return TC_OK;
}

tc_status tc__yaml_merge(struct tc_buf *json, size_t start, const struct tc__yaml_member *members,
                         size_t count, const char **out_why, size_t *out_at)
{
    struct pairs p = {.count = 0};
    const char *why = NULL;
    for (size_t i = 0; i < count && why == NULL; i++) {
        if (members[i].is_merge) {
            why = add_merged(&p, part(json->data, members[i].value, members[i].value_end));
            *out_at = i;
        }
    }
    for (size_t i = 0; i < count && why == NULL; i++) {
        const struct tc__yaml_member *m = &members[i];
        if (!m->is_merge) {
            add_pair(&p, part(json->data, m->key, m->key + m->key_len),
                     part(json->data, m->value, m->value_end));
        }
    }
    size_t len = json->len - start;
    char *text = why == NULL && p.status == TC_OK ? malloc(len) : NULL;
    struct tc_buf to = tc_buf_make(text, text == NULL ? 0 : len);
    tc_status status = why != NULL ? TC_E_MALFORMED : p.status;
    if (status == TC_OK) {
        status = text == NULL ? TC_E_NOMEM : write_once(&p, &to);
    }
    if (status == TC_OK) {
        memcpy(json->data + start, to.data, to.len);
        json->len = start + to.len;
    }
    *out_why = why != NULL ? why : "a mapping has too many members";
    free(text);
    free(p.items);
    return status;
}
