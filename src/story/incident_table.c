/* SPDX-License-Identifier: Apache-2.0 */
#include "story/incident_table.h"

#include "base/arena.h"
#include "base/table/grow.h"

#include <stdlib.h>
#include <string.h>

/* What an object may take in an arena besides its bytes: alignment, and ASan's gap. */
#define SLACK 32
#define SLOTS_FIRST 64

static size_t string_bytes(struct tc_slice s)
{
    return s.len == 0 ? 0 : s.len + SLACK;
}

#define SCOPE_STRINGS(s) \
    &(s)->node, &(s)->ns, &(s)->pod, &(s)->pod_uid, &(s)->container, &(s)->job, &(s)->gpu_uuid

static size_t scope_bytes(const struct tc_scope *s)
{
    const struct tc_slice *strings[] = {SCOPE_STRINGS(s)};
    size_t bytes = sizeof *s;
    for (size_t i = 0; i < TC_COUNT(strings); i++) {
        bytes += string_bytes(*strings[i]);
    }
    return bytes;
}

static size_t attr_bytes(const struct tc_attr *a)
{
    size_t bytes = string_bytes(a->key);
    switch (a->type) {
    case TC_ATTR_STRING:
        return bytes + string_bytes(a->string);
    case TC_ATTR_INT:
    case TC_ATTR_BOOL:
        return bytes;
    case TC_ATTR_INTS:
        return bytes + a->count * sizeof a->ints[0] + SLACK;
    case TC_ATTR_STRINGS:
        bytes += a->count * sizeof a->strings[0] + SLACK;
        for (size_t i = 0; i < a->count; i++) {
            bytes += string_bytes(a->strings[i]);
        }
        return bytes;
    case TC_ATTR_SCOPES:
        bytes += SLACK;
        for (size_t i = 0; i < a->count; i++) {
            bytes += scope_bytes(&a->scopes[i]);
        }
        return bytes;
    }
    return bytes;
}

/* The strings of a finding itself and of its scope, so that nobody has to list them twice. */
#define FINDING_STRINGS(f)                                                                    \
    {                                                                                         \
        &(f)->pattern_id, &(f)->pattern_name, &(f)->key, &(f)->discriminator, &(f)->headline, \
            &(f)->remediation, SCOPE_STRINGS(&(f)->scope)                                     \
    }

static size_t verdict_bytes(const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    const struct tc_slice *strings[] = FINDING_STRINGS(f);
    size_t bytes = string_bytes(v->incident_id) + string_bytes(v->group) + 3 * SLACK;
    for (size_t i = 0; i < TC_COUNT(strings); i++) {
        bytes += string_bytes(*strings[i]);
    }
    for (size_t i = 0; i < f->attr_count; i++) {
        bytes += sizeof f->attrs[i] + attr_bytes(&f->attrs[i]);
    }
    for (size_t i = 0; i < f->evidence_count; i++) {
        const struct tc_evidence *e = &f->evidence[i];
        bytes +=
            sizeof *e + string_bytes(e->kind) + string_bytes(e->uid) + string_bytes(e->description);
    }
    for (size_t i = 0; i < v->cause_count; i++) {
        bytes += sizeof v->causes[i] + string_bytes(v->causes[i].incident_id) +
                 string_bytes(v->causes[i].why);
    }
    return bytes;
}

/* A copy of an array; NULL, and a full arena, when there is no room. */
static void *copy_array(struct tc_arena *a, const void *from, size_t count, size_t size)
{
    void *to = tc_arena_alloc(a, count, size, alignof(max_align_t));
    if (to != NULL && count > 0) {
        memcpy(to, from, count * size);
    }
    return to;
}

static void own(struct tc_arena *a, struct tc_slice *s)
{
    *s = s->len == 0 ? TC_EMPTY : tc_arena_copy(a, *s);
}

static void copy_attr(struct tc_arena *a, struct tc_attr *attr)
{
    own(a, &attr->key);
    switch (attr->type) {
    case TC_ATTR_STRING:
        own(a, &attr->string);
        break;
    case TC_ATTR_INT:
    case TC_ATTR_BOOL:
        break;
    case TC_ATTR_INTS:
        attr->ints = copy_array(a, attr->ints, attr->count, sizeof attr->ints[0]);
        break;
    case TC_ATTR_STRINGS: {
        struct tc_slice *strings =
            copy_array(a, attr->strings, attr->count, sizeof attr->strings[0]);
        for (size_t i = 0; strings != NULL && i < attr->count; i++) {
            own(a, &strings[i]);
        }
        attr->strings = strings;
        break;
    }
    case TC_ATTR_SCOPES: {
        struct tc_scope *scopes = copy_array(a, attr->scopes, attr->count, sizeof attr->scopes[0]);
        for (size_t i = 0; scopes != NULL && i < attr->count; i++) {
            struct tc_slice *strings[] = {SCOPE_STRINGS(&scopes[i])};
            for (size_t n = 0; n < TC_COUNT(strings); n++) {
                own(a, strings[n]);
            }
        }
        attr->scopes = scopes;
        break;
    }
    }
}

static void copy_finding(struct tc_arena *a, struct tc_finding *f)
{
    struct tc_slice *strings[] = FINDING_STRINGS(f);
    for (size_t i = 0; i < TC_COUNT(strings); i++) {
        own(a, strings[i]);
    }
    struct tc_attr *attrs = copy_array(a, f->attrs, f->attr_count, sizeof *attrs);
    for (size_t i = 0; attrs != NULL && i < f->attr_count; i++) {
        copy_attr(a, &attrs[i]);
    }
    struct tc_evidence *evidence = copy_array(a, f->evidence, f->evidence_count, sizeof *evidence);
    for (size_t i = 0; evidence != NULL && i < f->evidence_count; i++) {
        own(a, &evidence[i].kind);
        own(a, &evidence[i].uid);
        own(a, &evidence[i].description);
    }
    f->attrs = attrs;
    f->evidence = evidence;
    f->causes = NULL; /* the verdict's causes have the ids */
    f->cause_count = 0;
}

static tc_status copy_verdict(struct tc_incident_entry *to, const struct tc_verdict *v)
{
    size_t bytes = verdict_bytes(v);
    struct tc_arena a;
    to->block = malloc(bytes);
    if (to->block == NULL) {
        return TC_E_NOMEM;
    }
    tc_arena_init(&a, "verdict", to->block, bytes);
    to->finding = *v->finding;
    to->verdict = *v;
    copy_finding(&a, &to->finding);
    own(&a, &to->verdict.incident_id);
    own(&a, &to->verdict.group);
    struct tc_verdict_cause *causes = copy_array(&a, v->causes, v->cause_count, sizeof *causes);
    for (size_t i = 0; causes != NULL && i < v->cause_count; i++) {
        own(&a, &causes[i].incident_id);
        own(&a, &causes[i].why);
    }
    to->verdict.causes = causes;
    to->own_causes = causes;
    to->own_cause_count = v->cause_count;
    to->own_discriminator = to->finding.discriminator;
    to->own_headline = to->finding.headline;
    to->own_remediation = to->finding.remediation;
    to->own_severity = to->finding.severity;
    to->own_root = to->finding.root;
    to->verdict.recurrence = NULL;
    bool ok = tc_arena_ok(&a);
    tc_arena_fini(&a);
    if (!ok) {
        free(to->block);
        to->block = NULL;
        return TC_E_NOMEM;
    }
    return TC_OK;
}

static struct tc_slice id_of(const struct tc_incident_table *k, size_t index)
{
    return k->items[index].verdict.incident_id;
}

/* The slot of an id, or the empty one where it would go. */
static size_t slot_of(const struct tc_incident_table *k, struct tc_slice id)
{
    size_t mask = k->slot_count - 1;
    size_t at = (size_t)tc_slice_hash(id, 0) & mask;
    while (k->slots[at] != 0 && !tc_slice_eq(id_of(k, k->slots[at] - 1), id)) {
        at = (at + 1) & mask;
    }
    return at;
}

size_t tc_incident_table_find(const struct tc_incident_table *k, struct tc_slice incident_id)
{
    if (k->slot_count == 0) {
        return TC_INCIDENT_NONE;
    }
    uint32_t found = k->slots[slot_of(k, incident_id)];
    return found == 0 ? TC_INCIDENT_NONE : found - 1;
}

static void index_all(struct tc_incident_table *k)
{
    memset(k->slots, 0, k->slot_count * sizeof *k->slots);
    for (size_t i = 0; i < k->count; i++) {
        k->slots[slot_of(k, id_of(k, i))] = (uint32_t)i + 1;
    }
}

/* Room for one more verdict, with the index at most half full. */
static tc_status make_room(struct tc_incident_table *k)
{
    if (k->count < k->cap) {
        return TC_OK;
    }
    size_t cap = k->cap == 0 ? SLOTS_FIRST / 2 : k->cap * 2;
    size_t item_cap = k->cap;
    TC_TRY(tc_grow_items(k->items, item_cap, cap, UINT32_MAX / 2));
    for (size_t i = 0; i < k->count; i++) {
        k->items[i].verdict.finding = &k->items[i].finding; /* the array may have moved */
    }
    uint32_t *slots = calloc(cap * 2, sizeof *slots);
    if (slots == NULL) {
        return TC_E_NOMEM;
    }
    free(k->slots);
    k->slots = slots;
    k->slot_count = cap * 2;
    k->cap = cap;
    index_all(k);
    return TC_OK;
}

tc_status tc_incident_table_add(void *context, const struct tc_verdict *v)
{
    struct tc_incident_table *k = context;
    struct tc_incident_entry copy;
    size_t at = tc_incident_table_find(k, v->incident_id);
    if (at == TC_INCIDENT_NONE && k->count >= TC_INCIDENT_TABLE_MAX) {
        k->left_out++;
        return TC_OK;
    }
    if (at == TC_INCIDENT_NONE) {
        TC_TRY(make_room(k));
    }
    TC_TRY(copy_verdict(&copy, v));
    if (at == TC_INCIDENT_NONE) {
        at = k->count++;
        copy.said = (struct tc_incident_said){0};
        k->items[at] = copy;
        k->slots[slot_of(k, id_of(k, at))] = (uint32_t)at + 1;
    } else {
        free(k->items[at].block);
        copy.said = k->items[at].said;
        k->items[at] = copy;
    }
    k->items[at].verdict.finding = &k->items[at].finding;
    return TC_OK;
}

void tc_incident_table_fini(struct tc_incident_table *k)
{
    for (size_t i = 0; i < k->count; i++) {
        free(k->items[i].block);
    }
    free(k->items);
    free(k->slots);
    *k = (struct tc_incident_table){0};
}

void tc_incident_entry_unlink(struct tc_incident_entry *v)
{
    v->verdict.causes = v->own_causes;
    v->verdict.cause_count = v->own_cause_count;
    v->verdict.group = TC_EMPTY;
    v->verdict.recurrence = NULL;
    v->finding.discriminator = v->own_discriminator;
    v->finding.headline = v->own_headline;
    v->finding.remediation = v->own_remediation;
    v->finding.severity = v->own_severity;
    v->finding.root = v->own_root;
}

void tc_incident_table_unlink(struct tc_incident_table *k)
{
    for (size_t i = 0; i < k->count; i++) {
        tc_incident_entry_unlink(&k->items[i]);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct tc_incident_entry *x = a;
    const struct tc_incident_entry *y = b;
    uint64_t x_id = 0;
    uint64_t y_id = 0;
    if (x->verdict.first_ns != y->verdict.first_ns) {
        return x->verdict.first_ns < y->verdict.first_ns ? -1 : 1;
    }
    (void)tc_slice_u64(x->finding.pattern_id, &x_id);
    (void)tc_slice_u64(y->finding.pattern_id, &y_id);
    if (x_id != y_id) {
        return x_id < y_id ? -1 : 1;
    }
    return tc_slice_cmp(x->verdict.incident_id, y->verdict.incident_id);
}

static void sort(struct tc_incident_table *k, int (*order)(const void *a, const void *b))
{
    if (k->count == 0) {
        return;
    }
    qsort(k->items, k->count, sizeof *k->items, order);
    for (size_t i = 0; i < k->count; i++) {
        k->items[i].verdict.finding = &k->items[i].finding;
    }
    index_all(k);
}

void tc_incident_table_sort(struct tc_incident_table *k)
{
    sort(k, by_time);
}

static int by_story(const void *a, const void *b)
{
    const struct tc_incident_entry *x = a;
    const struct tc_incident_entry *y = b;
    if (x->story != y->story) {
        return x->story < y->story ? -1 : 1;
    }
    return x->finding.root != y->finding.root ? (x->finding.root ? -1 : 1) : by_time(a, b);
}

void tc_incident_table_arrange(struct tc_incident_table *k)
{
    sort(k, by_story);
}

/* Resolved before open, the weaker before the more severe, then by when it was last seen, then as
 * they are told. */
static int by_worth(const void *a, const void *b)
{
    const struct tc_incident_entry *x = a;
    const struct tc_incident_entry *y = b;
    bool x_open = x->verdict.status != TC_VERDICT_RESOLVED;
    bool y_open = y->verdict.status != TC_VERDICT_RESOLVED;
    if (x_open != y_open) {
        return x_open ? 1 : -1;
    }
    if (x->finding.severity != y->finding.severity) {
        return x->finding.severity < y->finding.severity ? -1 : 1;
    }
    if (x->finding.last_ns != y->finding.last_ns) {
        return x->finding.last_ns < y->finding.last_ns ? -1 : 1;
    }
    return by_time(a, b);
}

void tc_incident_table_forget(struct tc_incident_table *k, size_t count)
{
    count = count < k->count ? count : k->count;
    if (count == 0) {
        return;
    }
    sort(k, by_worth);
    for (size_t i = 0; i < count; i++) {
        free(k->items[i].block);
    }
    k->count -= count;
    memmove(k->items, k->items + count, k->count * sizeof *k->items);
    for (size_t i = 0; i < k->count; i++) {
        k->items[i].verdict.finding = &k->items[i].finding;
    }
    index_all(k);
}
