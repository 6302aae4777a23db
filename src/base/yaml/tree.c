/* SPDX-License-Identifier: Apache-2.0 */
/* Events into a tree: values into collections, merge keys when their mapping ends. */
#include "base/yaml/tree.h"

#include "base/assert.h"
#include "base/limits.h"
#include "base/os/block.h"
#include "base/table/sort.h"
#include "base/yaml/scalar_priv.h"
#include "base/yaml/screen.h"

#include <string.h>

#define S(literal) TC_LIT(literal)
#define TAG(name) TC__YAML_TAG(name)

/* Of the core schema. */
#define ANCHOR_NAME_MAX 128
#define ALIASES_MAX 65536
/* Lists of more mappings to merge are not written by anybody. */
#define MERGED_LIST_MAX 64
/* What a value takes: a node, an entry, two pointers to sort it by, and marks between them. */
#define VALUE_BYTES (sizeof(struct tc_yaml_node) + sizeof(struct tc_yaml_entry) + 32 + 32)

/* Entries in their order. */
struct chain {
    struct tc_yaml_entry *first;
    struct tc_yaml_entry *last;
    size_t count;
};

struct frame {
    struct tc_yaml_node *node;
    struct tc_yaml_node *key; /* of the pair whose value comes next, or NULL */
    struct chain entries;
    struct chain merges; /* pairs with merge keys */
};

struct anchor {
    struct tc_slice name;
    struct tc_yaml_node *node;
};

/* Invariant: depth <= options->depth_max, anchor_count <= options->anchors_max. */
struct builder {
    struct tc_yaml_tree *tree;
    const struct tc_yaml_options *options;
    struct tc_yaml_failure *failure;
    struct tc_slice source;
    struct frame frames[TC_JSON_DEPTH_MAX];
    size_t depth;
    struct anchor anchors[TC_YAML_ANCHORS_MAX];
    size_t anchor_count;
    size_t alias_count;
    size_t documents;
    size_t offset;               /* of the event */
    struct tc_yaml_place key_at; /* of the last key that is a scalar */
};

static const struct {
    tc_status status;
    const char *words;
} FAULTS[] = {
#define TC_YAML_FAULT(name, status, words) {status, words},
    TC_YAML_FAULT_MAP(TC_YAML_FAULT)
#undef TC_YAML_FAULT
};

tc_status tc_yaml_fault_status(enum tc_yaml_fault fault)
{
    return FAULTS[fault].status;
}

const char *tc_yaml_fault_words(const struct tc_yaml_options *options, enum tc_yaml_fault fault)
{
    const char *own = options->own_words == NULL ? NULL : options->own_words[fault];
    return own != NULL ? own : FAULTS[fault].words;
}

static void set_failure(struct tc_yaml_failure *f, enum tc_yaml_stage stage,
                        struct tc_yaml_place at, size_t offset, const char *words)
{
    struct tc_buf b = tc_buf_make(f->problem.text, sizeof f->problem.text - 1);
    f->stage = stage;
    f->offset = offset;
    f->problem.at = at;
    tc_buf_str(&b, tc_slice_cstr(words));
    f->problem.text[b.len] = '\0';
}

static tc_status refuse(struct builder *b, enum tc_yaml_fault fault, struct tc_yaml_place at)
{
    set_failure(b->failure, TC_YAML_TREE, at, b->offset, tc_yaml_fault_words(b->options, fault));
    b->failure->fault = fault;
    return tc_yaml_fault_status(fault);
}

static struct frame *top(struct builder *b)
{
    return b->depth == 0 ? NULL : &b->frames[b->depth - 1];
}

static bool is_key_next(const struct frame *f)
{
    return f != NULL && f->node->kind != TC_YAML_LIST && f->key == NULL;
}

/* libfyaml marks the text below the bar of a block: goes back to the bar. */
static struct tc_yaml_place place_of_bar(const struct builder *b, const struct tc_yaml_event *event,
                                         struct tc_yaml_place at)
{
    const char *text = b->source.ptr;
    size_t bar = event->start < b->source.len ? event->start : b->source.len;
    while (bar > 0 && text[bar - 1] != (event->style == TC_YAML_LITERAL ? '|' : '>')) {
        bar--;
        at.line -= text[bar] == '\n' && at.line > 1 ? 1 : 0;
    }
    size_t start = bar;
    while (start > 0 && text[start - 1] != '\n') {
        start--;
    }
    at.column = (unsigned)(bar - start);
    return at;
}

static struct tc_yaml_place place_of(struct builder *b, const struct tc_yaml_event *event)
{
    struct tc_yaml_place at = event->at;
    bool is_scalar = event->type == TC_YAML_SCALAR;
    bool is_signed = b->options->places == TC_YAML_AT_SIGN;
    if (at.line == 0) {
        const struct frame *f = top(b);
        return b->options->places == TC_YAML_AT_TEXT    ? b->failure->last
               : b->options->places == TC_YAML_AT_QUOTE ? b->key_at
               : f == NULL                              ? (struct tc_yaml_place){1, 1}
               : f->key == NULL                         ? f->node->at
                                                        : f->key->at;
    }
    at.line += b->options->lines_before;
    if (b->options->places != TC_YAML_AT_TEXT && at.column > 1 &&
        ((is_scalar && event->style == TC_YAML_QUOTED) ||
         (is_signed && event->type == TC_YAML_ALIAS))) {
        at.column--;
    }
    bool is_block =
        is_scalar && (event->style == TC_YAML_LITERAL || event->style == TC_YAML_FOLDED);
    return is_signed && is_block ? place_of_bar(b, event, at) : at;
}

static tc_status add_node(struct builder *b, enum tc_yaml_kind kind,
                          const struct tc_yaml_event *event, struct tc_yaml_place at,
                          struct tc_yaml_node **out)
{
    struct tc_yaml_tree *t = b->tree;
    struct tc_yaml_node *n =
        t->node_count == b->options->values_max ? NULL : tc_new(&t->arena, struct tc_yaml_node, 1);
    if (n == NULL) {
        return refuse(b, TC_YAML_FAULT_TOO_MANY, at);
    }
    *n = (struct tc_yaml_node){.kind = kind,
                               .number = (uint32_t)t->node_count++,
                               .is_plain =
                                   event->type == TC_YAML_SCALAR && event->style == TC_YAML_PLAIN,
                               .has_anchor = event->has_anchor,
                               .has_tag = event->has_tag,
                               .at = at};
    *out = n;
    return TC_OK;
}

static tc_status add_entry(struct builder *b, struct chain *chain, struct tc_yaml_entry entry)
{
    struct tc_yaml_tree *t = b->tree;
    struct tc_yaml_entry *e = t->entry_count == b->options->values_max
                                  ? NULL
                                  : tc_new(&t->arena, struct tc_yaml_entry, 1);
    if (e == NULL) {
        return refuse(b, TC_YAML_FAULT_TOO_MANY, entry.at);
    }
    t->entry_count++;
    *e = entry;
    e->next = NULL;
    *(chain->first == NULL ? &chain->first : &chain->last->next) = e;
    chain->last = e;
    chain->count++;
    return TC_OK;
}

static tc_status add_text(struct builder *b, struct tc_slice s, struct tc_yaml_place at,
                          struct tc_slice *out)
{
    *out = tc_arena_copy(&b->tree->arena, s);
    return tc_arena_ok(&b->tree->arena) ? TC_OK : refuse(b, TC_YAML_FAULT_TOO_MANY, at);
}

static bool is_merge_key(const struct builder *b, const struct tc_yaml_node *n)
{
    return b->options->schema == TC_YAML_PYTHON_1_1 && n->kind == TC_YAML_STRING && n->is_plain &&
           tc_slice_eq(n->text, S("<<"));
}

/* A value into the collection that is open. */
static tc_status place_value(struct builder *b, struct tc_yaml_node *node, struct tc_yaml_place at)
{
    struct frame *f = top(b);
    if (f == NULL) {
        b->tree->root = node;
        return TC_OK;
    }
    if (is_key_next(f)) {
        if (tc_yaml_is_collection(node) && b->options->schema != TC_YAML_TEXT) {
            return refuse(b, TC_YAML_FAULT_KEY, at);
        }
        f->key = node;
        b->key_at = tc_yaml_is_collection(node) || node->kind == TC_YAML_UNKNOWN ? b->key_at : at;
        return TC_OK;
    }
    struct tc_yaml_entry e = {.key = f->key, .value = node, .at = at};
    f->key = NULL;
    if (e.key != NULL && is_merge_key(b, e.key)) {
        return add_entry(b, &f->merges, e);
    }
    TC_TRY(add_entry(b, &f->entries, e));
    f->node->first = f->entries.first;
    f->node->count = f->entries.count;
    return TC_OK;
}

static struct anchor *find_anchor(struct builder *b, struct tc_slice name)
{
    for (size_t i = b->anchor_count; i > 0; i--) {
        if (tc_slice_eq(name, b->anchors[i - 1].name)) {
            return &b->anchors[i - 1];
        }
    }
    return NULL;
}

static tc_status add_anchor(struct builder *b, const struct tc_yaml_event *event,
                            struct tc_yaml_node *node)
{
    bool is_core = b->options->schema == TC_YAML_CORE_1_2;
    if (!event->has_anchor || b->options->schema == TC_YAML_TEXT) {
        return TC_OK;
    }
    if (!is_core && find_anchor(b, event->anchor) != NULL) {
        return refuse(b, TC_YAML_FAULT_ANCHOR_TWICE, node->at);
    }
    if (b->anchor_count == b->options->anchors_max ||
        (is_core && event->anchor.len > ANCHOR_NAME_MAX)) {
        return refuse(b, TC_YAML_FAULT_MANY_ANCHORS, node->at);
    }
    struct anchor *a = &b->anchors[b->anchor_count++];
    a->node = node;
    return add_text(b, event->anchor, node->at, &a->name);
}

static tc_status on_scalar(struct builder *b, const struct tc_yaml_event *event,
                           struct tc_yaml_place at)
{
    enum tc_yaml_schema schema = b->options->schema;
    bool is_key = is_key_next(top(b));
    struct tc_yaml_node *n = NULL;
    TC_TRY(add_node(b, TC_YAML_STRING, event, at, &n));
    n->text = event->text;
    bool is_sign = schema == TC_YAML_PYTHON_1_1 && n->is_plain && event->tag.len == 0 &&
                   (tc_slice_eq(n->text, S("<<")) || tc_slice_eq(n->text, S("=")));
    if (!(is_key && is_sign)) {
        enum tc_yaml_fault fault = tc__yaml_resolve(n, event->tag, schema);
        bool is_tag = fault == TC_YAML_FAULT_TAG || fault == TC_YAML_FAULT_TAG_VALUE;
        bool is_text = is_key && schema == TC_YAML_CORE_1_2;
        if (fault != TC_YAML_FAULT_NONE && (is_tag || !is_text)) {
            return refuse(b, fault, at);
        }
        if (is_text && event->has_anchor) {
            return refuse(b, TC_YAML_FAULT_KEY_ANCHOR, at);
        }
        n->kind = is_text ? TC_YAML_STRING : n->kind;
    }
    TC_TRY(add_text(b, event->text, at, &n->text));
    TC_TRY(add_anchor(b, event, n));
    return place_value(b, n, at);
}

/* The kind of a collection, and whether its tag wants pairs; TC_YAML_UNKNOWN for another tag. */
static enum tc_yaml_kind collection_kind(const struct builder *b, const struct tc_yaml_event *event,
                                         bool *out_pairs)
{
    struct tc_slice tag = event->tag;
    bool is_python = b->options->schema == TC_YAML_PYTHON_1_1;
    *out_pairs = is_python && !event->is_mapping &&
                 (tc_slice_eq(tag, TAG("omap")) || tc_slice_eq(tag, TAG("pairs")));
    if (is_python && event->is_mapping && tc_slice_eq(tag, TAG("set"))) {
        return TC_YAML_SET;
    }
    bool is_usual = b->options->schema == TC_YAML_TEXT || tag.len == 0 ||
                    tc_slice_eq(tag, S("!")) ||
                    tc_slice_eq(tag, event->is_mapping ? TAG("map") : TAG("seq"));
    return !is_usual && !*out_pairs ? TC_YAML_UNKNOWN
           : event->is_mapping      ? TC_YAML_MAPPING
                                    : TC_YAML_LIST;
}

static tc_status on_open(struct builder *b, const struct tc_yaml_event *event,
                         struct tc_yaml_place at)
{
    struct tc_yaml_node *n = NULL;
    bool is_pairs = false;
    enum tc_yaml_kind kind = collection_kind(b, event, &is_pairs);
    if (b->options->schema == TC_YAML_CORE_1_2 && is_key_next(top(b))) {
        return refuse(b, TC_YAML_FAULT_KEY, at);
    }
    if (kind == TC_YAML_UNKNOWN) {
        return refuse(b, TC_YAML_FAULT_TAG, at);
    }
    if (b->depth == b->options->depth_max) {
        return refuse(b, TC_YAML_FAULT_TOO_DEEP, at);
    }
    TC_TRY(add_node(b, kind, event, at, &n));
    n->is_pairs = is_pairs;
    n->is_open = true;
    TC_TRY(add_anchor(b, event, n));
    /* Placed now, so that an alias inside of it finds it. */
    TC_TRY(place_value(b, n, at));
    b->frames[b->depth++] = (struct frame){.node = n};
    return TC_OK;
}

static tc_status on_alias(struct builder *b, const struct tc_yaml_event *event,
                          struct tc_yaml_place at)
{
    bool is_core = b->options->schema == TC_YAML_CORE_1_2;
    struct tc_yaml_node *n = NULL;
    if (b->options->schema == TC_YAML_TEXT) {
        TC_TRY(add_node(b, TC_YAML_UNKNOWN, event, at, &n));
        n->has_anchor = true;
        return place_value(b, n, at);
    }
    if (is_core && b->alias_count++ == ALIASES_MAX) {
        return refuse(b, TC_YAML_FAULT_MANY_ALIASES, at);
    }
    if (is_core && is_key_next(top(b))) {
        return refuse(b, TC_YAML_FAULT_KEY_ALIAS, at);
    }
    const struct anchor *a = find_anchor(b, event->text);
    if (a == NULL) {
        return refuse(b, TC_YAML_FAULT_ALIAS, at);
    }
    if (is_core && tc_yaml_is_collection(a->node) && a->node->is_open) {
        return refuse(b, TC_YAML_FAULT_ALIAS_INSIDE, at);
    }
    return place_value(b, a->node, at);
}

/* ---- the end of a collection ---- */

/* Copies of the pairs of a mapping that has ended, behind the others of a chain. */
static tc_status copy_pairs(struct builder *b, const struct tc_yaml_node *from, struct chain *to,
                            struct tc_yaml_place at)
{
    if (from->kind != TC_YAML_MAPPING) {
        return refuse(b, TC_YAML_FAULT_MERGE, at);
    }
    if (from->is_open) {
        return refuse(b, TC_YAML_FAULT_MERGE_INSIDE, at);
    }
    for (const struct tc_yaml_entry *e = from->first; e != NULL; e = e->next) {
        struct tc_yaml_entry copy = *e;
        copy.is_merged = true;
        TC_TRY(add_entry(b, to, copy));
    }
    return TC_OK;
}

/* The mappings of a list, the last one first: where two have a key the first one's counts. */
static tc_status copy_list(struct builder *b, const struct tc_yaml_node *list, struct chain *to,
                           struct tc_yaml_place at)
{
    const struct tc_yaml_node *items[MERGED_LIST_MAX];
    size_t count = 0;
    if (list->count > MERGED_LIST_MAX || list->is_open) {
        return refuse(b, TC_YAML_FAULT_MERGE_LIST, at);
    }
    for (const struct tc_yaml_entry *e = list->first; e != NULL; e = e->next) {
        items[count++] = e->value;
    }
    while (count > 0) {
        TC_TRY(copy_pairs(b, items[--count], to, at));
    }
    return TC_OK;
}

/* Merged pairs come before the mapping's own, which so win. */
static tc_status merge(struct builder *b, struct frame *f)
{
    struct chain merged = {0};
    for (const struct tc_yaml_entry *e = f->merges.first; e != NULL; e = e->next) {
        TC_TRY(e->value->kind == TC_YAML_LIST ? copy_list(b, e->value, &merged, e->at)
                                              : copy_pairs(b, e->value, &merged, e->at));
    }
    if (merged.first != NULL) {
        merged.last->next = f->entries.first;
        f->node->first = merged.first;
        f->node->count += merged.count;
    }
    return TC_OK;
}

/* By kind and text; equal ones stay as they came. */
static int compare_keys(const void *left, const void *right, void *context)
{
    (void)context;
    const struct tc_yaml_node *a = ((const struct tc_yaml_entry *)left)->key;
    const struct tc_yaml_node *b = ((const struct tc_yaml_entry *)right)->key;
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return tc_slice_cmp(a->text, b->text);
}

static bool is_before(struct tc_yaml_place a, struct tc_yaml_place b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column);
}

/* Of pairs with one key the last one counts. The core schema refuses the first one too many. */
static tc_status settle_keys(struct builder *b, const struct tc_yaml_node *n)
{
    struct tc_arena *arena = &b->tree->arena;
    const struct tc_yaml_node *twice = NULL;
    size_t count = 0;
    if (n->count > b->options->keys_max) {
        return refuse(b, TC_YAML_FAULT_MANY_KEYS, n->at);
    }
    if (n->count < 2) {
        return TC_OK;
    }
    tc_arena_mark mark = tc_arena_snapshot(arena);
    const void **pairs = tc_new(arena, const void *, n->count * 2);
    if (pairs == NULL) {
        return refuse(b, TC_YAML_FAULT_TOO_MANY, n->at);
    }
    for (const struct tc_yaml_entry *e = n->first; e != NULL; e = e->next) {
        pairs[count++] = e;
    }
    tc_sort_ptrs(pairs, pairs + count, count, compare_keys, NULL);
    for (size_t i = 0; i + 1 < count; i++) {
        const struct tc_yaml_entry *e = pairs[i + 1];
        if (compare_keys(pairs[i], e, NULL) == 0) {
            /* Ours, and not const but for the sorting. */
            ((struct tc_yaml_entry *)(uintptr_t)pairs[i])->is_overridden = true;
            twice = twice == NULL || is_before(e->key->at, twice->at) ? e->key : twice;
        }
    }
    tc_arena_rewind(arena, mark);
    return twice != NULL && b->options->schema == TC_YAML_CORE_1_2
               ? refuse(b, TC_YAML_FAULT_KEY_TWICE, twice->at)
               : TC_OK;
}

static tc_status on_close(struct builder *b, struct tc_yaml_place at)
{
    /* libfyaml closes only what it opened. */
    TC_ASSERT(b->depth > 0);
    struct frame *f = &b->frames[b->depth - 1];
    struct tc_yaml_node *n = f->node;
    TC_TRY(merge(b, f));
    b->depth--;
    n->is_open = false;
    if (n->kind == TC_YAML_MAPPING && b->options->schema != TC_YAML_TEXT) {
        return settle_keys(b, n);
    }
    for (const struct tc_yaml_entry *e = n->first; n->is_pairs && e != NULL; e = e->next) {
        if (e->value->kind != TC_YAML_MAPPING || e->value->count != 1) {
            return refuse(b, TC_YAML_FAULT_TAG_PAIRS, at);
        }
    }
    return TC_OK;
}

static tc_status on_event(void *context, const struct tc_yaml_event *event)
{
    struct builder *b = context;
    struct tc_yaml_place at = place_of(b, event);
    if (event->at.line > 0) {
        b->failure->last = at;
        b->offset = event->start;
    }
    switch (event->type) {
    case TC_YAML_DOCUMENT_START:
        /* Neither a key nor a list is around it. */
        at = event->at.line == 0 && b->options->places == TC_YAML_AT_SIGN ? event->at : at;
        return ++b->documents == 1 ? TC_OK : refuse(b, TC_YAML_FAULT_DOCUMENTS, at);
    case TC_YAML_OPEN:
        return on_open(b, event, at);
    case TC_YAML_CLOSE:
        return on_close(b, at);
    case TC_YAML_SCALAR:
        return on_scalar(b, event, at);
    case TC_YAML_ALIAS:
        return on_alias(b, event, at);
    case TC_YAML_DOCUMENT_END:
        break;
    }
    return TC_OK;
}

/* Keys after which the reading ended have a value that is not known. */
static void keep_last_keys(struct builder *b)
{
    const struct tc_yaml_event nothing = {.type = TC_YAML_ALIAS};
    struct tc_yaml_failure before = *b->failure;
    for (; b->depth > 0; b->depth--) {
        const struct frame *f = top(b);
        struct tc_yaml_node *n = NULL;
        if (f->key != NULL && add_node(b, TC_YAML_UNKNOWN, &nothing, f->key->at, &n) == TC_OK) {
            (void)place_value(b, n, f->key->at);
        }
    }
    /* What was wrong first is told. */
    *b->failure = before;
}

static tc_status read_events(struct builder *b)
{
    struct tc_yaml_failure *f = b->failure;
    struct tc_yaml_problem problem;
    size_t screened = 0;
    tc_status status = TC_OK;
    const char *why = tc_yaml_screen(b->source, &screened, &status);
    if (why != NULL) {
        struct tc_yaml_place at = tc_yaml_place_of(b->source, screened);
        at.line += b->options->lines_before;
        set_failure(f, TC_YAML_SCREEN, at, screened, why);
        return status;
    }
    status = tc_yaml_events(b->source, on_event, b, &problem);
    if (problem.text[0] != '\0') {
        problem.at.line += problem.at.line > 0 ? b->options->lines_before : 0;
        set_failure(f, TC_YAML_PARSER, problem.at, b->offset, problem.text);
    }
    if (status != TC_OK && b->options->schema == TC_YAML_TEXT) {
        keep_last_keys(b);
    }
    return status;
}

tc_status tc_yaml_tree_read(struct tc_slice text, const struct tc_yaml_options *options,
                            struct tc_yaml_tree *out, struct tc_yaml_failure *out_failure)
{
    struct builder b = {.tree = out, .options = options, .failure = out_failure, .source = text};
    /* No text has more values than twice its bytes ("[:,:]" comes near), but what is merged. */
    size_t most = options->schema == TC_YAML_PYTHON_1_1 ? SIZE_MAX : 2 * text.len + 8;
    size_t values = options->values_max < most ? options->values_max : most;
    /* Escapes can be half as long again without them: "\L" is three bytes. */
    size_t bytes = values * VALUE_BYTES + 2 * text.len;
    TC_ASSERT(options->values_max <= UINT32_MAX && options->depth_max <= TC_JSON_DEPTH_MAX &&
              options->anchors_max <= TC_YAML_ANCHORS_MAX);
    *out = (struct tc_yaml_tree){.block = tc_block_new(bytes)};
    *out_failure = (struct tc_yaml_failure){.last = {1, 1}};
    if (out->block == NULL) {
        return TC_E_NOMEM;
    }
    tc_arena_init_zeroed(&out->arena, "yaml", out->block->bytes, bytes);
    b.source = text.len == 0 ? S("") : text;
    return read_events(&b);
}

void tc_yaml_tree_fini(struct tc_yaml_tree *t)
{
    tc_arena_fini(&t->arena);
    tc_block_free(t->block);
    *t = (struct tc_yaml_tree){0};
}
